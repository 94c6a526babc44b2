//! What an operator tells single deliveries that wait: retry now, fail, skip.

use crate::shop::{Shop, changing_the_log, producing::check_refusal, serving::LONG};
use postrider_testkit::receiver::{Answer, Arrival, Behaviour, Receiver};
use serde_json::{Value, json};
use tokio_postgres::Client;

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// A retry that nobody waits for.
fn patient() -> Value {
    json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0, "max_retries": 5 })
}

/// What stands in a message's body as `n`.
fn number(arrival: &Arrival<'_>) -> i64 {
    serde_json::from_slice::<Value>(arrival.body).unwrap()["n"].as_i64().unwrap()
}

/// Refuses message 1, and accepts all others.
fn first_refused() -> Behaviour {
    Behaviour::custom(|arrival| Answer::status(if number(arrival) == 1 { 503 } else { 200 }))
}

async fn send_keyed(shop: &Shop, n: i64) -> i64 {
    let options = "p_ordering_key => 'k', p_idempotency_key";
    let sql = format!(
        "select postrider.send_with_options('hooks', '{{\"n\": {n}}}', {options} => 'id-{n}')"
    );
    shop.ask(&sql).await
}

/// Waits until the message has failed once and waits.
async fn until_failed_once(shop: &Shop, id: i64) {
    let waits = "select from postrider.deferred where retry_count = 1 and message_id";
    shop.until(&format!("select exists ({waits} = {id})")).await;
}

/// Status and last error of a message for one endpoint.
async fn status(shop: &Shop, id: i64) -> Value {
    let sql = "select jsonb_build_array(s.status, s.last_error)";
    shop.ask(&format!("{sql} from postrider.message_status({id}) s")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_retry_can_be_retried_at_once() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let id = shop.send("hooks", json!({ "n": 1 })).await;
    until_failed_once(&shop, id).await;
    assert_eq!(shop.ask::<i32>(&format!("select postrider.retry_delivery({id})")).await, 1);
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!(status(&shop, id).await[0], "completed");
    assert_eq!(receiver.request_count(), 2);
    let logged: Value = shop
        .ask("select details - 'role' from postrider.event_log where event = 'delivery.retried'")
        .await;
    let expected = json!({
        "message_id": id, "by": "postgres", "before": {"status": "waiting"}, "after": {"status": "due"}
    });
    assert_eq!(logged, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_failed_or_skipped_is_not_attempted_and_the_next_of_its_key_is() {
    for (verb, ends_as, error) in
        [("fail", "failed", "[OPERATOR] no such order"), ("skip", "skipped", "no such order")]
    {
        let shop = Shop::open_to_receivers().await;
        shop.execute("select postrider.set_setting('idempotency_window', '0')").await;
        let receiver = Receiver::start(first_refused()).unwrap();
        shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
        let _dispatcher = shop.serve().await;
        let first = send_keyed(&shop, 1).await;
        until_failed_once(&shop, first).await;
        let second = send_keyed(&shop, 2).await;
        let is_blocked = "select exists (select from postrider.deferred where is_blocked)";
        shop.until(is_blocked).await;
        let call = format!("select postrider.{verb}_delivery({first}, 'hooks', 'no such order')");
        assert_eq!(shop.ask::<i32>(&call).await, 1);
        assert_eq!(status(&shop, first).await, json!([ends_as, error]));
        receiver.wait_for_accepted(1, LONG).await.unwrap();
        shop.until("select not exists (select from postrider.deferred)").await;
        assert_eq!(status(&shop, second).await[0], "completed");
        let numbers: Vec<_> = receiver.requests().iter().map(|r| r.id.unwrap().0).collect();
        assert_eq!(numbers, [first, second], "{verb}");
        // Without a window the idempotency key is free.
        assert_ne!(send_keyed(&shop, 1).await, first);
        let letters: Value = shop
            .ask(
                "select coalesce(jsonb_agg(jsonb_build_array(
                    cause, retry_count, last_error, jsonb_array_length(error_history))), '[]')
                from postrider.dead_letter",
            )
            .await;
        let expected = if verb == "fail" { json!([["operator", 1, error, 1]]) } else { json!([]) };
        assert_eq!(letters, expected);
        let archived: Value = shop
            .ask(&format!(
                "select jsonb_build_array(status, last_error, retry_count)
                from postrider.archive where id = {first}"
            ))
            .await;
        assert_eq!(archived, json!([ends_as, error, 1]));
        assert_eq!(shop.refusal(&call).await, "55000", "it has ended");
    }
}

/// Where a key waits across endpoints, what is skipped or failed at one lets it go on at all of them, in order.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_waits_across_endpoints_goes_on_at_each() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| {
        Answer::status(if number(arrival) % 10 == 1 { 503 } else { 200 })
    }))
    .unwrap();
    for name in ["a", "b", "c"] {
        shop.endpoint(name, json!({ "url": receiver.url() }), patient()).await;
    }
    shop.execute("select postrider.set_setting('ordering_scope', 'global')").await;
    let _dispatcher = shop.serve().await;
    let mut expected = Vec::new();
    for (round, verb) in (1..).zip(["skip", "fail"]) {
        let mut ids = Vec::new();
        for (n, endpoint) in (round * 10 + 1..).zip(["a", "b", "c", "a"]) {
            let send = format!(
                "select postrider.send_with_options('{endpoint}', '{{\"n\": {n}}}', p_ordering_key => 'k')"
            );
            ids.push(shop.ask::<i64>(&send).await);
        }
        until_failed_once(&shop, ids[0]).await;
        shop.until("select count(*) = 3 from postrider.deferred where is_blocked").await;
        expected.push(ids[0]);
        // What has no key waits for nobody.
        expected.push(shop.send("b", json!({ "n": 0 })).await);
        receiver.wait_for(expected.len(), LONG).await.unwrap();
        let call = format!("select postrider.{verb}_delivery({}, 'a', 'r')", ids[0]);
        assert_eq!(shop.ask::<i32>(&call).await, 1);
        expected.extend(&ids[1..]);
        receiver.wait_for(expected.len(), LONG).await.unwrap();
        shop.until("select not exists (select from postrider.deferred)").await;
        let requested: Vec<i64> = receiver.requests().iter().map(|r| r.id.unwrap().0).collect();
        assert_eq!(requested, expected, "{verb}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_being_attempted_is_refused() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| match arrival.earlier_count {
        0 => Answer::status(503),
        _ => Answer::default(),
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", config, policy).await;
    let _dispatcher = shop.serve().await;
    let id = shop.send("hooks", json!({ "n": 1 })).await;
    receiver.wait_for(2, LONG).await.unwrap();
    let client = shop.client().await;
    let text = format!("A dispatcher has the delivery of message {id} to endpoint 'hooks' in hand");
    for call in
        ["retry_delivery({})", "fail_delivery({}, null, 'r')", "skip_delivery({}, 'hooks', 'r')"]
    {
        let sql = format!("select postrider.{}", call.replace("{}", &id.to_string()));
        check_refusal(&client, (&sql, "55006", &text)).await;
    }
    let waits = "select count(*) = 1 and bool_and(retry_count = 1) from postrider.deferred";
    assert!(shop.ask::<bool>(waits).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_counts_from_the_commit() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let dispatcher = shop.serve().await;
    let mut ids = Vec::new();
    for n in 0..2 {
        ids.push(shop.send("hooks", json!({ "n": n })).await);
    }
    for id in &ids {
        until_failed_once(&shop, *id).await;
    }
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    let (kept, undone) = (shop.client().await, shop.client().await);
    batch(&kept, &format!("begin; select postrider.skip_delivery({}, null, 'r')", ids[0])).await;
    batch(&undone, &format!("begin; select postrider.skip_delivery({}, null, 'r')", ids[1])).await;
    // Nobody waits for them, neither another operator nor a dispatcher.
    for id in &ids {
        let again = format!("select postrider.skip_delivery({id}, null, 'r')");
        assert_eq!(shop.refusal(&again).await, "55006");
    }
    batch(&undone, "rollback").await;
    batch(&undone, &format!("begin; select postrider.retry_delivery({})", ids[1])).await;
    let _dispatcher = shop.serve().await;
    let other = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("other", &other.url()).await;
    shop.send("other", json!({})).await;
    other.wait_for_accepted(1, LONG).await.unwrap();
    assert_eq!(receiver.request_count(), 2);
    batch(&kept, "commit").await;
    batch(&undone, "commit").await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!(status(&shop, ids[0]).await[0], "skipped");
    assert_eq!(status(&shop, ids[1]).await[0], "completed");
    assert_eq!(receiver.request_count(), 3);
}

/// Two operators who each held what the other waits for would both give up, and begin again.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_who_waits_for_the_message_holds_nothing_of_it() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let id = shop.send("hooks", json!({ "n": 1 })).await;
    until_failed_once(&shop, id).await;
    let (holder, waiting) = (shop.client().await, shop.client().await);
    let hold = format!("begin; select from postrider.message where id = {id} for update");
    batch(&holder, &hold).await;
    let skip = format!("select postrider.skip_delivery({id}, null, 'r')");
    let skipped = tokio::spawn(async move { waiting.batch_execute(&skip).await });
    shop.until(
        "select exists (
            select
            from pg_stat_activity a
            where a.query like '%skip_delivery%'
            and a.pid <> pg_backend_pid()
            -- It waits for a second, or has while the machine stood still.
            and (a.wait_event = 'PgSleep' or a.state = 'idle')
        )",
    )
    .await;
    let lock = format!("select from postrider.deferred where message_id = {id} for update nowait");
    batch(&holder, &lock).await;
    let refusal = skipped.await.unwrap().unwrap_err();
    assert_eq!(refusal.code().unwrap().code(), "55006");
    batch(&holder, "rollback").await;
}

/// A dispatcher has read two messages that are being cancelled and lets them wait; then it dies. One is cancelled, the
/// other is not: nobody ends the first once more, nor the second while that is open.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_cancelled_while_it_was_read_is_ended_once() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let mut ids = Vec::new();
    for n in 0..2 {
        ids.push(shop.send("hooks", json!({ "n": n })).await);
    }
    let (kept, undone) = (shop.client().await, shop.client().await);
    batch(&kept, &format!("begin; select postrider.cancel_message({})", ids[0])).await;
    batch(&undone, &format!("begin; select postrider.cancel_message({})", ids[1])).await;
    let dispatcher = shop.serve().await;
    shop.until("select count(*) = 2 from postrider.deferred").await;
    dispatcher.sigkill();
    dispatcher.wait(LONG).await.unwrap();
    shop.execute("update postrider.deferred set expires_at = now()").await;
    let tell = "select jsonb_build_array(t.told_count, t.held_count)
        from (
            select array_agg(d.message_id) as ids, array_agg(d.target) as targets
            from postrider.deferred d
        ) d
        cross join lateral postrider.tell_deliveries(
            'skip', d.ids, d.targets, 'r', null, null) t";
    assert_eq!(shop.ask::<Value>(tell).await, json!([0, 2]));
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 0);
    batch(&kept, "commit").await;
    assert_eq!(shop.ask::<Value>(tell).await, json!([0, 1]));
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 0);
    let (first, second) = (ids[0], ids[1]);
    assert!(!shop.ask::<bool>(&format!("select postrider.cancel_message({first})")).await);
    let skip = |id: i64| format!("select postrider.skip_delivery({id}, null, 'r')");
    assert_eq!(shop.refusal(&skip(first)).await, "55000");
    assert_eq!(shop.refusal(&skip(second)).await, "55006");
    batch(&undone, "rollback").await;
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 1);
    let _dispatcher = shop.serve().await;
    shop.until("select not exists (select from postrider.deferred)").await;
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert_eq!(status(&shop, first).await[0], "cancelled");
    assert_eq!(status(&shop, second).await[0], "expired");
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.ended").await, 2);
    assert_eq!(receiver.request_count(), 0);
}

/// An endpoint is dropped while a message to it was cancelled and waits: it becomes no dead letter.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_cancelled_while_it_was_read_becomes_no_dead_letter_of_a_dropped_endpoint() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let id = shop.send("hooks", json!({ "n": 1 })).await;
    let canceller = shop.client().await;
    batch(&canceller, &format!("begin; select postrider.cancel_message({id})")).await;
    let dispatcher = shop.serve().await;
    shop.until("select count(*) = 1 from postrider.deferred").await;
    dispatcher.sigkill();
    dispatcher.wait(LONG).await.unwrap();
    shop.execute("select postrider.drop_endpoint('hooks', p_force => true)").await;
    shop.execute("select postrider.advance_jobs()").await;
    let job = "select jsonb_build_array(j.state, j.done_count) from postrider.job j";
    assert_eq!(shop.ask::<Value>(job).await, json!(["running", 0]));
    batch(&canceller, "commit").await;
    let _dispatcher = shop.serve().await;
    shop.until("select state = 'completed' from postrider.job").await;
    assert_eq!(shop.ask::<Value>(job).await, json!(["completed", 0]));
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.dead_letter").await, 0);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.ended").await, 1);
    assert_eq!(receiver.request_count(), 0);
}

/// What waits of a message that the log has forgotten goes with its endpoint, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_dropped_with_what_waits_of_forgotten_messages() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.send('sink', '{}');
        select postrider.bury(array[m.id], m.targets, array[1], array['rejected'], array[1], array['503'])
        from postrider.message m;",
    )
    .await;
    shop.execute(&changing_the_log("delete from postrider.message")).await;
    for call in ["redrive_all()", "drop_endpoint('sink', true)"] {
        shop.execute(&format!("select postrider.{call}")).await;
        shop.until(
            "select postrider.advance_jobs() is null or not exists (
            select from postrider.job j where j.state <> 'completed')",
        )
        .await;
    }
    let done = "select j.done_count from postrider.job j where j.kind = 'drop'";
    assert_eq!(shop.ask::<i64>(done).await, 1);
    assert!(!shop.ask::<bool>("select exists (select from postrider.deferred)").await);
}

/// A dispatcher has given up a delivery whose dispatchers have died too often, and cannot record it because an
/// operator is about to skip it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_skipped_becomes_no_dead_letter_behind_that() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let dispatcher = shop.serve().await;
    let id = shop.send("hooks", json!({ "n": 1 })).await;
    until_failed_once(&shop, id).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    shop.execute(
        "update postrider.deferred set recovery_count = 1, retry_count = 99, run_at = now()",
    )
    .await;
    let operator = shop.client().await;
    batch(&operator, &format!("begin; select postrider.skip_delivery({id}, null, 'r')")).await;
    let dispatcher = shop.serve().await;
    dispatcher.wait_for_log("somebody's transaction has locked", LONG).await.unwrap();
    batch(&operator, "commit").await;
    // Recorded, so that the dispatcher may go.
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    assert_eq!(status(&shop, id).await, json!(["skipped", "r"]));
    assert!(!shop.ask::<bool>("select exists (select from postrider.dead_letter)").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_published_message_one_delivery_is_told_or_all() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.execute("select postrider.create_event_type('e')").await;
    for name in ["a", "b", "c"] {
        shop.endpoint(name, json!({ "url": receiver.url() }), patient()).await;
        shop.execute(&format!("select postrider.subscribe('e', '{name}')")).await;
    }
    let _dispatcher = shop.serve().await;
    let id: i64 = shop.ask("select postrider.publish('e', '{\"n\": 1}')").await;
    shop.until("select count(*) = 3 and bool_and(retry_count = 1) from postrider.deferred").await;
    let tell = async |call: &str| -> i32 {
        shop.ask(&format!("select postrider.{}", call.replace("{}", &id.to_string()))).await
    };
    assert_eq!(tell("skip_delivery({}, 'b', 'r')").await, 1);
    assert_eq!(tell("fail_delivery({}, null, 'r')").await, 2);
    let ends: Vec<String> = shop
        .ask(&format!(
            "select array_agg(s.endpoint_name || ' ' || s.status order by s.endpoint_name)
            from postrider.message_status({id}) s"
        ))
        .await;
    assert_eq!(ends, ["a failed", "b skipped", "c failed"]);
    let endpoints: Vec<String> = shop
        .ask(
            "select array_agg(event || ' ' || endpoint_name order by id) from postrider.event_log
            where event like 'delivery.%'",
        )
        .await;
    assert_eq!(endpoints, ["delivery.skipped b", "delivery.failed a", "delivery.failed c"]);
    // What was put back can be told again.
    let put_back = "select count(postrider.redrive_message(l.id)) from postrider.dead_letter l";
    assert_eq!(shop.ask::<i64>(put_back).await, 2);
    receiver.wait_for(5, LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_told_is_refused_with_the_reason() {
    let shop = Shop::open_to_receivers().await;
    shop.allow_far_schedules().await;
    let receiver = Receiver::start(first_refused()).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    shop.endpoint("other", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let delivered = shop.send("hooks", json!({ "n": 0 })).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    let first = send_keyed(&shop, 1).await;
    until_failed_once(&shop, first).await;
    let blocked = send_keyed(&shop, 2).await;
    let scheduled: i64 = shop
        .ask("select postrider.send_with_options('hooks', '{}', p_scheduled_at => '2100-01-01Z')")
        .await;
    shop.until("select count(*) = 3 from postrider.deferred").await;
    let client = shop.client().await;
    batch(&client, "set timezone to 'UTC'").await;
    let nothing = format!("No delivery of message {delivered} waits");
    for (call, code, text) in [
        ("retry_delivery(null)".to_owned(), "22004", "Message id must not be null"),
        ("skip_delivery(1, null, null)".to_owned(), "22004", "Reason must not be null"),
        (
            "fail_delivery(1, null, '  ')".to_owned(),
            "22023",
            "p_reason must have 1 to 1000 characters and not only spaces, got 2",
        ),
        (
            "skip_delivery(1, null, repeat('x', 1001))".to_owned(),
            "22023",
            "p_reason must have 1 to 1000 characters and not only spaces, got 1001",
        ),
        ("retry_delivery(5)".to_owned(), "42704", "Message 5 does not exist"),
        (format!("retry_delivery({first}, 'none')"), "42704", "Endpoint 'none' does not exist"),
        (format!("retry_delivery({delivered})"), "55000", &nothing),
        (
            format!("skip_delivery({first}, 'other', 'r')"),
            "55000",
            &format!("No delivery of message {first} waits for endpoint 'other'"),
        ),
        (
            format!("retry_delivery({blocked})"),
            "55000",
            &format!(
                "The delivery of message {blocked} to endpoint 'hooks' waits for an earlier one of \
                 its ordering key"
            ),
        ),
        (
            format!("retry_delivery({scheduled})"),
            "55000",
            &format!("Message {scheduled} is scheduled for 2100-01-01 00:00:00+00"),
        ),
    ] {
        check_refusal(&client, (&format!("select postrider.{call}"), code, text)).await;
    }
    for level in ["repeatable read", "serializable"] {
        batch(&client, &format!("begin isolation level {level}")).await;
        let text = format!(
            "retry_delivery needs a transaction with isolation level READ COMMITTED, this is {}",
            level.to_uppercase()
        );
        let sql = format!("select postrider.retry_delivery({first})");
        check_refusal(&client, (&sql, "25001", &text)).await;
        batch(&client, "rollback").await;
    }
    // Who is behind and who is scheduled can be ended.
    for id in [blocked, scheduled] {
        let sql = format!("select postrider.skip_delivery({id}, null, 'r')");
        assert_eq!(shop.ask::<i32>(&sql).await, 1);
        assert_eq!(status(&shop, id).await[0], "skipped");
    }
    assert_eq!(receiver.request_count(), 2);
}
