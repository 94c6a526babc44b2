//! What one customer's messages held is taken out of the log and of every copy; what became of them stays.

use crate::shop::{
    Shop,
    producing::{check_refusals, pid_of, until_blocked},
    serving::LONG,
};
use postrider_testkit::receiver::{Answer, Behaviour, Ending, Receiver};
use serde_json::{Value, json};

/// A retry that nobody waits for.
fn patient() -> Value {
    json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0, "max_retries": 5 })
}

/// By which a customer's messages belong together.
fn correlation_id(customer: u32) -> String {
    format!("00000000-0000-0000-0000-{customer:012}")
}

/// Sends one message for a customer, with a secret in everything that a sender can write, and with all by which it
/// can be found: ordering key, correlation id and metadata.
async fn send(shop: &Shop, endpoint: &str, customer: u32) -> i64 {
    let correlation_id = correlation_id(customer);
    let sql = format!(
        r#"select postrider.send_with_options(
            '{endpoint}', '{{"name": "secret-{customer}"}}',
            p_ordering_key => 'customer-{customer}',
            p_correlation_id => '{correlation_id}',
            p_headers => '{{"X-Name": "secret-{customer}"}}',
            p_metadata => '{{"customer": {customer}, "name": "secret-{customer}"}}')"#
    );
    shop.ask(&sql).await
}

/// Answers with what it got, which is kept.
fn echo(status: u16) -> Behaviour {
    Behaviour::custom(move |arrival| {
        Answer::status(status)
            .header("x-echo", String::from_utf8_lossy(arrival.body))
            .ending(arrival.body.to_vec(), Ending::Plain)
    })
}

/// How each delivery stands or has ended.
async fn status(shop: &Shop, id: i64) -> Value {
    let sql = "select jsonb_build_array(s.status, s.retry_count)";
    shop.ask(&format!("{sql} from postrider.message_status({id}) s")).await
}

/// How often a dump of the whole database has this, as text or as bytes.
fn occurrences(dump: &str, text: &str) -> usize {
    let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    dump.matches(text).count() + dump.matches(&bytes).count()
}

/// Nothing in the database says this.
async fn check_gone(shop: &Shop, text: &str) {
    let dump = shop.dump_all("shop");
    let left: Vec<&str> = dump.lines().filter(|line| occurrences(line, text) > 0).collect();
    assert_eq!(left, [""; 0]);
}

async fn made(shop: &Shop, call: &str) -> Value {
    shop.ask(&format!("select to_jsonb(r) - 'job_id' from postrider.{call} r")).await
}

/// The newest job: its state, and how much it has done.
async fn job(shop: &Shop) -> Value {
    let sql = "select jsonb_build_array(j.state, j.done_count) from postrider.jobs j";
    shop.ask(&format!("{sql} order by j.id desc limit 1")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_wrote_goes_and_what_became_of_it_stays() {
    let shop = Shop::open_to_receivers().await;
    let [good, broken, refusing] =
        [200, 503, 404].map(|status| Receiver::start(echo(status)).unwrap());
    for (name, receiver) in [("good", &good), ("broken", &broken), ("refusing", &refusing)] {
        let config = json!({ "url": receiver.url(), "capture_response": true });
        shop.endpoint(name, config, patient()).await;
    }
    shop.execute(
        "select postrider.create_consumer('c');
        select postrider.set_setting('tick_interval_ms', '0')",
    )
    .await;
    let dispatcher = shop.serve().await;
    let mut ids = Vec::new();
    for customer in [7, 8] {
        for endpoint in ["good", "broken", "refusing"] {
            ids.push(send(&shop, endpoint, customer).await);
        }
    }
    shop.until("select count(*) = 2 from postrider.deferred where retry_count = 1").await;
    shop.until("select count(*) = 2 from postrider.dead_letter").await;
    for delivered in [ids[0], ids[3]] {
        let status =
            format!("select s.status = 'completed' from postrider.message_status({delivered}) s");
        shop.until(&status).await;
    }
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    ids.push(send(&shop, "good", 7).await);
    // Two are parked, one of each customer.
    let client = shop.client().await;
    for _ in 0..4 {
        let park = "select postrider.park_message(
            'c', (select f.position from postrider.fetch_messages('c', 1) f), 1, 'no secret-7 here')";
        client.batch_execute(park).await.unwrap();
    }
    let before = shop.dump_all("shop");
    assert!(occurrences(&before, "secret-7") > 20, "{}", occurrences(&before, "secret-7"));
    let others = occurrences(&before, "secret-8");
    assert!(others > 10);

    let call = r#"erase_messages(p_metadata => '{"customer": 7}')"#;
    assert_eq!(made(&shop, call).await, json!({ "estimate": 4, "has_more": true }));
    // What is sent later is not meant.
    let later = send(&shop, "good", 7).await;
    shop.finish_jobs().await;
    assert_eq!(job(&shop).await, json!(["completed", 4]));
    let later_one = format!(
        "update postrider.message set payload = '1', headers = null, metadata = null where id = {later}"
    );
    shop.execute(&crate::shop::changing_the_log(&later_one)).await;
    let after = shop.dump_all("shop");
    let left: Vec<&str> = after.lines().filter(|line| occurrences(line, "secret-7") > 0).collect();
    // What the consumer said of the other customer's message.
    assert_eq!(left.len(), 1, "{left:#?}");
    assert_eq!(occurrences(&after, "secret-8"), others);

    for (index, expected) in [
        json!(["completed", 0]),
        json!(["cancelled", 1]),
        json!(["failed", 0]),
        json!(["completed", 0]),
        json!(["pending", 1]),
        json!(["failed", 0]),
        json!(["cancelled", 0]),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(status(&shop, ids[index]).await, expected, "message {index}");
    }
    let kept: Value = shop
        .ask(&format!(
            "select jsonb_build_array(
                m.ordering_key, m.endpoint_name, m.payload, m.metadata ? 'postrider_erased_at',
                a.outcome, a.status, a.error)
            from postrider.message m
            join postrider.attempt a on a.message_id = m.id
            where m.id = {}",
            ids[2]
        ))
        .await;
    let expected = ["customer-7", "refusing"];
    assert_eq!(kept, json!([expected[0], expected[1], null, true, "rejected", 404, "(erased)"]));
    let event: Value = shop
        .ask("select details - 'role' from postrider.event_log where event = 'messages.erased'")
        .await;
    let expected = json!({
        "id": 1, "by": "postgres", "filter": { "metadata": ["customer"] }, "messages": 4,
        "dead_letters": 1, "parked_messages": 3, "attempts": 3, "cancelled": 2,
    });
    assert_eq!(event, expected);

    // It is sent to nobody again.
    let letter: i64 =
        shop.ask("select min(id) from postrider.dead_letter where erased_at is not null").await;
    let (redrive, replay) = (
        format!("select postrider.redrive_message({letter})"),
        format!("select postrider.replay_message({})", ids[0]),
    );
    check_refusals(
        &client,
        &[
            (&redrive, "55000", &format!("Dead letter {letter} was erased")),
            (&replay, "55000", &format!("Message {} was erased", ids[0])),
        ],
    )
    .await;
    let range = "select postrider.replay_range(
        (select e.id from postrider.endpoints e where e.name = 'good'), now() - interval '1 day', now())";
    assert_eq!(shop.ask::<i32>(range).await, 1, "of the other customer");
    assert_eq!(made(&shop, "redrive_all()").await, json!({ "estimate": 1, "has_more": false }));
    shop.finish_jobs().await;
    assert_eq!(job(&shop).await, json!(["completed", 1]));
    // Consumers get what is left of it, in its place.
    let fetched: Value = shop
        .ask("select jsonb_agg(f.data order by f.position) from postrider.fetch_messages('c', 3) f")
        .await;
    assert_eq!(fetched[0], json!({ "name": "secret-8" }));
    assert_eq!(made(&shop, call).await["estimate"], json!(0));
}

/// What is in hand or locked is come back to, and keeps nobody else waiting.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_has_is_come_back_to() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let rejecting = Receiver::start(Behaviour::Status(404)).unwrap();
    // The attempt is over when the receiver goes away.
    let config = json!({ "url": receiver.url(), "timeout_seconds": 300 });
    shop.endpoint("hooks", config, patient()).await;
    shop.endpoint("refusing", json!({ "url": rejecting.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let hanging = send(&shop, "hooks", 7).await;
    let letters = [send(&shop, "refusing", 7).await, send(&shop, "refusing", 7).await];
    receiver.wait_for(1, LONG).await.unwrap();
    shop.until("select count(*) = 2 from postrider.dead_letter").await;
    let holder = shop.client().await;
    let hold = format!(
        "begin; select from postrider.dead_letter where message_id = {} for update",
        letters[0]
    );
    holder.batch_execute(&hold).await.unwrap();
    let call = r#"select * from postrider.erase_messages(p_metadata => '{"customer": 7}')"#;
    shop.execute(call).await;
    // A round is over, and has met with both.
    shop.until("select j.held_count >= 2 from postrider.job j").await;
    shop.until("select count(*) = 1 from postrider.message where erased_at is not null").await;
    assert_eq!(shop.ask::<Option<String>>("select last_error from postrider.job").await, None);
    assert_eq!(job(&shop).await, json!(["running", 1]));
    holder.batch_execute("commit").await.unwrap();
    shop.until("select count(*) = 2 from postrider.message where erased_at is not null").await;
    assert_eq!(job(&shop).await[0], "running");
    receiver.down().unwrap();
    shop.until("select j.state = 'completed' from postrider.jobs j").await;
    assert_eq!(job(&shop).await, json!(["completed", 3]));
    let all = "select bool_and(m.erased_at is not null) from postrider.message m";
    assert!(shop.ask::<bool>(all).await);
    assert_eq!(status(&shop, hanging).await, json!(["cancelled", 1]));
}

/// Each message is erased and counted once, whichever dispatcher is killed in the middle.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_nothing_out_and_counts_nothing_twice() {
    const COUNT: usize = 4_000;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let first = shop.serve().await;
    shop.execute(&format!(
        "select count(postrider.send_with_options(
            'hooks', jsonb_build_object('secret', 'secret-' || n % 2),
            p_headers => jsonb_build_object('X-Name', 'secret-' || n % 2),
            p_metadata => jsonb_build_object('customer', n % 2)))
        from generate_series(1, {COUNT}) n"
    ))
    .await;
    receiver.wait_for_accepted(COUNT, LONG).await.unwrap();
    shop.execute(r#"select * from postrider.erase_messages(p_metadata => '{"customer": 1}')"#)
        .await;
    shop.until("select j.done_count > 0 from postrider.job j").await;
    first.sigkill();
    let erased = "select count(*) from postrider.message where erased_at is not null";
    let at_kill: i64 = shop.ask(erased).await;
    let _second = shop.serve().await;
    shop.until("select j.state = 'completed' from postrider.job j").await;
    println!("{at_kill} of {} were erased at the kill", COUNT / 2);
    assert_eq!(shop.ask::<i64>(erased).await as usize, COUNT / 2);
    assert_eq!(job(&shop).await, json!(["completed", COUNT / 2]));
    let event: Value = shop
        .ask("select jsonb_agg(details -> 'messages') from postrider.event_log where event = 'messages.erased'")
        .await;
    assert_eq!(event, json!([COUNT / 2]));
    check_gone(&shop, "secret-1").await;
    let right = "select bool_and(
            m.payload ? 'secret' = (m.erased_at is null)
            and coalesce(m.headers ? 'X-Name', false) = (m.erased_at is null)
            and (m.metadata ->> 'customer' = '0') is not distinct from case when m.erased_at is null then true end)
        from postrider.message m";
    assert!(shop.ask::<bool>(right).await);
    assert_eq!(receiver.accepted_count(), COUNT, "nothing is sent again");
}

/// Customers, and by what their messages are erased: each by another of the three that one can go by.
fn filters() -> [(u32, String); 3] {
    [
        (6, "erase_messages('customer-6')".to_owned()),
        (7, r#"erase_messages(p_metadata => '{"customer": 7}')"#.to_owned()),
        (9, format!("erase_messages(p_correlation_id => '{}')", correlation_id(9))),
    ]
}

/// Dead letters, parked messages and attempts whose messages the log has no more.
#[tokio::test(flavor = "multi_thread")]
async fn copies_are_erased_when_the_log_has_nothing() {
    let shop = Shop::open_to_receivers().await;
    // What is answered is kept, and has what was sent.
    let receivers = [("hooks", 404), ("good", 200)]
        .map(|(name, status)| (name, Receiver::start(echo(status)).unwrap()));
    for (name, receiver) in &receivers {
        let config = json!({ "url": receiver.url(), "capture_response": true });
        shop.endpoint(name, config, patient()).await;
    }
    shop.execute(
        "select postrider.create_consumer('c');
        select postrider.set_setting('tick_interval_ms', '0')",
    )
    .await;
    let dispatcher = shop.serve().await;
    for (customer, _) in &filters() {
        send(&shop, "hooks", *customer).await;
    }
    // One is delivered, and of that nothing but the parked message is left.
    send(&shop, "good", 9).await;
    shop.until("select count(*) = 3 from postrider.dead_letter").await;
    shop.until("select count(*) = 4 from postrider.attempt where response_body is not null").await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    for customer in [6, 7, 9, 9] {
        let park = format!(
            "select postrider.park_message(
                'c', (select f.position from postrider.fetch_messages('c', 1) f), 1, 'secret-{customer}')"
        );
        shop.execute(&park).await;
    }
    // One waits again, and only its letter knows what is to be sent.
    shop.execute("select postrider.redrive_message(2); delete from postrider.message").await;
    for (index, (customer, call)) in filters().into_iter().enumerate() {
        let left = "select count(*) from postrider.parked_message where erased_at is null";
        assert_eq!(shop.ask::<i64>(left).await as usize, 4 - index, "the others' are left");
        assert_eq!(made(&shop, &call).await, json!({ "estimate": 0, "has_more": true }));
        shop.finish_jobs().await;
        let done = if customer == 9 { 3 } else { 2 };
        assert_eq!(job(&shop).await, json!(["completed", done]), "{call}");
        check_gone(&shop, &format!("secret-{customer}")).await;
        let attempts: Value = shop
            .ask(
                "select details -> 'attempts' from postrider.event_log
                where event = 'messages.erased' order by id desc limit 1",
            )
            .await;
        assert_eq!(attempts, json!(done - 1), "{call}");
    }
    let erased = "select count(*) from postrider.dead_letter where erased_at is not null and payload = 'null'";
    assert_eq!(shop.ask::<i64>(erased).await, 3);
    assert!(!shop.ask::<bool>("select exists (select from postrider.deferred)").await);
    assert!(
        shop.ask::<bool>(
            "select count(*) = 4 and bool_and(erased_at is not null and last_error = '(erased)')
            from postrider.parked_message"
        )
        .await
    );
}

/// A message whose transaction was open while the job looked at the log, and whose copy it finds later.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_message_that_died_is_erased_with_its_letter() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(404)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let late = shop.client().await;
    late.batch_execute(
        r#"begin;
        select postrider.send_with_options(
            'hooks', '{"name": "secret-7"}', p_ordering_key => 'late', p_metadata => '{"customer": 7}')"#,
    )
    .await
    .unwrap();
    send(&shop, "hooks", 7).await;
    shop.until("select exists (select from postrider.dead_letter)").await;
    // It keeps the job at the letters: the log has its message no more.
    let holder = shop.client().await;
    shop.execute("delete from postrider.message").await;
    holder.batch_execute("begin; select from postrider.dead_letter for update").await.unwrap();
    shop.execute(r#"select * from postrider.erase_messages(p_metadata => '{"customer": 7}')"#)
        .await;
    shop.until("select coalesce(j.held_from ? 'letters', j.position ? 'letters', false) from postrider.job j")
        .await;
    late.batch_execute("commit").await.unwrap();
    shop.until("select count(*) = 2 from postrider.dead_letter").await;
    holder.batch_execute("commit").await.unwrap();
    shop.until("select j.state = 'completed' from postrider.job j").await;
    check_gone(&shop, "secret-7").await;
    let erased: Value = shop
        .ask(
            "select jsonb_build_array(count(*), count(l.erased_at), count(m.id), count(m.erased_at))
            from postrider.dead_letter l
            left join postrider.message m on m.id = l.message_id",
        )
        .await;
    assert_eq!(erased, json!([2, 2, 1, 1]));
}

/// What has been delivered, with nobody at work.
async fn delivered_messages(shop: &Shop, count: usize) -> Vec<i64> {
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let dispatcher = shop.serve().await;
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(send(shop, "hooks", 7).await);
    }
    for id in &ids {
        let status = format!("select s.status = 'completed' from postrider.message_status({id}) s");
        shop.until(&status).await;
    }
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    ids
}

const ERASE: &str = r#"select * from postrider.erase_messages(
    p_metadata => '{"customer": 7}', p_from => now() - interval '1 day', p_to => now())"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_replays_have_copied_meanwhile_is_erased() {
    let shop = Shop::open_to_receivers().await;
    let ids = delivered_messages(&shop, 3).await;
    let create = "select postrider.create_replay('hooks', now() - interval '1 day', now())";
    shop.execute(create).await;
    // One by hand, and all by a job: both have copied, and neither has committed.
    let by_hand = shop.client().await;
    let replay = format!("begin; select postrider.replay_message({})", ids[0]);
    by_hand.batch_execute(&replay).await.unwrap();
    let step = shop.client().await;
    step.batch_execute("begin; select postrider.advance_replays()").await.unwrap();
    shop.execute(ERASE).await;
    let erased = "select count(*) from postrider.message where erased_at is not null";
    shop.advance_jobs_until(&format!(
        "({erased}) = 2 and (select j.held_count > 0 from postrider.job j)"
    ))
    .await;
    by_hand.batch_execute("commit").await.unwrap();
    // The step of the other job is not over: nobody knows what it has copied.
    shop.advance_jobs_until(&format!("({erased}) = 4")).await;
    shop.advance_jobs_until(
        "(select j.held_from is null and j.next_at > now() from postrider.job j)",
    )
    .await;
    assert_eq!(job(&shop).await[0], "running");
    step.batch_execute("commit").await.unwrap();
    shop.finish_jobs().await;
    check_gone(&shop, "secret-7").await;
    assert_eq!(job(&shop).await, json!(["completed", 7]));
    let cancelled: i64 =
        shop.ask("select count(*) from postrider.ended where reason = 'cancelled'").await;
    assert_eq!(cancelled, 4, "no replay is sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_erased_is_not_replayed() {
    let shop = Shop::open_to_receivers().await;
    let ids = delivered_messages(&shop, 2).await;
    shop.execute(ERASE).await;
    let eraser = shop.client().await;
    eraser.batch_execute("begin; select postrider.advance_jobs()").await.unwrap();
    let client = shop.client().await;
    let pid = pid_of(&client).await;
    let replay = format!("select postrider.replay_message({})", ids[0]);
    let expected = format!("Message {} was erased", ids[0]);
    let refused = async {
        check_refusals(&client, &[(&replay, "55000", &expected)]).await;
    };
    let committed = async {
        until_blocked(&shop, pid).await;
        eraser.batch_execute("commit").await.unwrap();
    };
    tokio::join!(refused, committed);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 2);
    shop.finish_jobs().await;
    check_gone(&shop, "secret-7").await;
}

/// A job's step that began before the erasure was there to be seen commits after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_beside_the_erasure_is_found() {
    let shop = Shop::open_to_receivers().await;
    delivered_messages(&shop, 2).await;
    let create = "select postrider.create_replay('hooks', now() - interval '1 day', now())";
    shop.execute(create).await;
    shop.execute(ERASE).await;
    let eraser = shop.client().await;
    eraser.batch_execute("begin; select postrider.advance_jobs()").await.unwrap();
    shop.execute("select postrider.advance_replays()").await;
    eraser.batch_execute("commit").await.unwrap();
    let copies = "select count(*) from postrider.message m
        where m.payload ? 'name' and m.replay_of is not null";
    assert_eq!(shop.ask::<i64>(copies).await, 2);
    shop.finish_jobs().await;
    check_gone(&shop, "secret-7").await;
}

/// Over months, in copies of every kind, by each filter, and with the other customers' messages between them.
#[tokio::test(flavor = "multi_thread")]
async fn every_partition_and_every_copy_is_looked_at() {
    const COUNT: u32 = 60;
    const CUSTOMERS: [u32; 4] = [6, 7, 8, 9];
    let shop = Shop::open_to_receivers().await;
    let statuses = [("good", 200), ("refusing", 404), ("broken", 503), ("hanging", 0)];
    let receivers = statuses.map(|(_, status)| match status {
        0 => Receiver::start(Behaviour::Hang).unwrap(),
        status => Receiver::start(echo(status)).unwrap(),
    });
    for ((name, _), receiver) in statuses.iter().zip(&receivers) {
        let config =
            json!({ "url": receiver.url(), "capture_response": true, "timeout_seconds": 300 });
        shop.endpoint(name, config, patient()).await;
    }
    let first = shop.serve().await;
    for number in 0..COUNT {
        let customer = CUSTOMERS[(number / 3 % 4) as usize];
        send(&shop, statuses[(number % 3) as usize].0, customer).await;
    }
    // Of each key at the broken endpoint the first is tried, and the others wait behind it.
    let tried = COUNT / 3 * 2 + CUSTOMERS.len() as u32;
    shop.until(&format!("select count(*) = {tried} from postrider.attempt")).await;
    first.sigterm();
    assert!(first.wait(LONG).await.unwrap().success());
    // As if a third were of the month before, and a third of the one before that.
    shop.execute("select postrider.maintain_archive_partitions(1)").await;
    let month = "date_trunc('month', now())";
    let partitions = [1, 2].map(|months| {
        let at = format!("{month} - interval '{months} months'");
        format!(
            "execute format(
                'create table postrider.message_mend_{months} partition of postrider.message for values from (%L) to (%L)',
                {at}, {at} + interval '1 month');"
        )
    });
    shop.execute(&format!("do $do$ begin {} end $do$", partitions.concat())).await;
    let moved = "update postrider.message m
        set created_at = m.created_at - (m.id >> 10) / 3 % 3 * interval '1 month'
        where m.created_at >= date_trunc('month', now())";
    shop.execute(&crate::shop::changing_the_log(moved)).await;
    let others = occurrences(&shop.dump_all("shop"), "secret-8");

    let _second = shop.serve().await;
    let mut hanging = Vec::new();
    for (customer, _) in &filters() {
        hanging.push(send(&shop, "hanging", *customer).await);
    }
    receivers[3].wait_for(3, LONG).await.unwrap();
    for (_, call) in &filters() {
        shop.execute(&format!("select * from postrider.{call}")).await;
    }
    let erased = "select count(*) from postrider.message where erased_at is not null";
    shop.until(&format!("select ({erased}) = {}", COUNT / 4 * 3)).await;
    // Nothing is taken out of what is in hand before its attempt is over.
    let kept = format!(
        "select count(*) from postrider.message m
        where m.payload ? 'name' and m.headers ? 'X-Name' and m.erased_at is null
        and m.id = any ('{{{},{},{}}}')",
        hanging[0], hanging[1], hanging[2]
    );
    assert_eq!(shop.ask::<i64>(&kept).await, 3);
    let states = |state: &str| {
        format!("select count(*) = 3 and bool_and(j.state = '{state}') from postrider.jobs j")
    };
    assert!(shop.ask::<bool>(&states("running")).await);
    receivers[3].down().unwrap();
    shop.until(&states("completed")).await;
    let done: Value =
        shop.ask("select jsonb_agg(j.done_count order by j.id) from postrider.jobs j").await;
    assert_eq!(done, json!([COUNT / 4 + 1, COUNT / 4 + 1, COUNT / 4 + 1]));
    for (customer, _) in &filters() {
        check_gone(&shop, &format!("secret-{customer}")).await;
    }
    assert_eq!(occurrences(&shop.dump_all("shop"), "secret-8"), others);
    let parts: Vec<i64> = shop
        .ask(
            "select array_agg(p.count)
            from (
                select count(distinct m.tableoid)
                from postrider.message m
                where m.erased_at is not null
                group by m.ordering_key
            ) p",
        )
        .await;
    assert_eq!(parts, [3, 3, 3]);
    let waiting: i64 = shop
        .ask(
            "select count(*) from postrider.deferred d
            join postrider.message m on m.id = d.message_id
            where m.erased_at is not null",
        )
        .await;
    assert_eq!(waiting, 0);
    for (table, condition) in [
        ("message", "m.headers is null and m.body is null and m.payload = 'null'"),
        ("dead_letter", "m.headers is null and m.body is null and m.payload = 'null'"),
    ] {
        let sql = format!(
            "select bool_and({condition}) and count(*) > 0 from postrider.{table} m
            where m.erased_at is not null"
        );
        assert!(shop.ask::<bool>(&sql).await, "{table}");
    }
    let attempts = "select bool_and(
            case when m.erased_at is null then a.response_body is not null
            else a.response_body is null and a.response_headers is null end)
        from postrider.attempt a
        join postrider.message m on m.id = a.message_id
        where a.status is not null";
    assert!(shop.ask::<bool>(attempts).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    client.batch_execute("set timezone to 'UTC'").await.unwrap();
    let one = "One of p_ordering_key, p_correlation_id and p_metadata must be given";
    let range = "p_from must be before p_to, got 2001-01-02 00:00:00+00 and 2001-01-01 00:00:00+00";
    let cases = [
        ("", "22023", one),
        ("p_event_type => 'x'", "22023", one),
        ("''", "22023", "p_ordering_key must have 1 to 255 characters, got 0"),
        ("repeat('x', 256)", "22023", "p_ordering_key must have 1 to 255 characters, got 256"),
        (
            "p_metadata => '[1]'",
            "22023",
            "p_metadata must be an object that is not empty, got array",
        ),
        (
            "p_metadata => '{}'",
            "22023",
            "p_metadata must be an object that is not empty, got an empty one",
        ),
        ("'k', p_event_type => 'x'", "42704", "Event type 'x' does not exist"),
        ("'k', p_from => '2001-01-02', p_to => '2001-01-01'", "22023", range),
    ]
    .map(|(arguments, code, text)| {
        (format!("select * from postrider.erase_messages({arguments})"), code, text)
    });
    let cases: Vec<_> =
        cases.iter().map(|(sql, code, text)| (sql.as_str(), *code, *text)).collect();
    check_refusals(&client, &cases).await;
    assert!(!shop.ask::<bool>("select exists (select from postrider.job)").await);
    let denied = "set role postrider_operator; select * from postrider.erase_messages('k')";
    assert_eq!(shop.refusal(denied).await, "42501");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_erases_with_its_progress() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    send(&shop, "hooks", 7).await;
    send(&shop, "hooks", 7).await;
    send(&shop, "hooks", 8).await;
    send(&shop, "hooks", 9).await;
    receiver.wait_for_accepted(4, LONG).await.unwrap();
    let run = |arguments: &[&str]| shop.run(&[&["message", "erase", "--yes"], arguments].concat());
    let said = run(&["--ordering-key", "customer-7"]).succeed().stdout;
    assert_eq!(said, "2 messages are erased.\n");
    let metadata = r#"{"customer": 8}"#;
    let told = run(&["--metadata", metadata, "--from", "2001-01-01T00:00Z", "--json"]).json();
    assert_eq!(told, json!({ "erased": 1, "job_id": 2 }));
    let told = run(&["--correlation-id", &correlation_id(9), "--json"]).json();
    assert_eq!(told, json!({ "erased": 1, "job_id": 3 }));
    let made = run(&["--correlation-id", &correlation_id(1), "--no-wait", "--json"]).json();
    assert_eq!(made, json!({ "job_id": 4, "estimate": 0, "has_more": false }));
    for wrong in [&[][..], &["--from", "2001-01-01T00:00Z"], &["--metadata", "7"]] {
        assert_eq!(run(wrong).code, 2, "{wrong:?}");
    }
}
