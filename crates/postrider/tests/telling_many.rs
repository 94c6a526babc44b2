//! What an operator tells many deliveries at once: jobs over what waits, and over what was not read yet.

use std::time::{Duration, SystemTime};

use crate::shop::{Shop, producing::check_refusals, serving::LONG};
use postrider_testkit::receiver::{Answer, Behaviour, Receiver, Request};
use serde_json::{Value, json};
use tokio_postgres::Client;

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// A retry that nobody waits for.
fn patient() -> Value {
    json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0, "max_retries": 5 })
}

/// What a call that makes a job answers.
async fn made(shop: &Shop, call: &str) -> Value {
    shop.ask(&format!("select to_jsonb(r) - 'job_id' from postrider.{call} r")).await
}

/// How a job stands: its state, and how much it has done.
async fn job(shop: &Shop, kind: &str) -> Value {
    let sql = "select jsonb_build_array(j.state, j.done_count) from postrider.jobs j";
    shop.ask(&format!("{sql} where j.kind = '{kind}' order by j.id desc limit 1")).await
}

/// How the job with this id stands: its state, how much it has done, and its rate.
async fn job_of(shop: &Shop, id: i64) -> Value {
    let sql = "select jsonb_build_array(j.state, j.done_count, j.rate) from postrider.jobs j";
    shop.ask(&format!("{sql} where j.id = {id}")).await
}

/// `count` messages that have failed once with 503 and wait, and no dispatcher.
async fn failed_once(shop: &Shop, endpoint: &str, count: usize) {
    shop.send_many(endpoint, count).await;
    let dispatcher = shop.serve().await;
    let all = format!(
        "select count(*) = {count} and bool_and(d.retry_count = 1)
        from postrider.deferred d
        join postrider.endpoints e on e.id = d.endpoint_id and e.name = '{endpoint}'"
    );
    shop.until(&all).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_matches_is_retried_once() {
    // Fewer failures in a row than would open the circuit.
    const COUNT: usize = 400;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 2, status: 503 }).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    failed_once(&shop, "hooks", COUNT).await;
    let holder = shop.client().await;
    // One that somebody holds is come back to.
    batch(
        &holder,
        "begin;
        select from postrider.deferred
        where message_id = (select message_id from postrider.deferred order by 1 offset 260 limit 1)
        for update",
    )
    .await;
    let call = "retry_matching_deliveries('hooks', p_error_pattern => 'HTTP 503')";
    assert_eq!(made(&shop, call).await, json!({ "estimate": COUNT, "has_more": false }));
    let _dispatcher = shop.serve().await;
    receiver.wait_for(2 * COUNT - 1, LONG).await.unwrap();
    assert_eq!(job(&shop, "retry").await, json!(["running", COUNT - 1]));
    batch(&holder, "commit").await;
    receiver.wait_for(2 * COUNT, LONG).await.unwrap();
    shop.until("select j.state = 'completed' from postrider.jobs j").await;
    assert_eq!(job(&shop, "retry").await, json!(["completed", COUNT]));
    // Each has failed again, and waits again.
    shop.until("select bool_and(retry_count = 2) from postrider.deferred").await;
    assert_eq!(receiver.request_count(), 2 * COUNT);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_matches_is_failed_or_skipped_and_nothing_else() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    for name in ["a", "b"] {
        shop.endpoint(name, json!({ "url": receiver.url() }), patient()).await;
    }
    shop.execute(
        "select postrider.create_event_type('e'), postrider.create_event_type('f');
        select postrider.subscribe('e', 'a'), postrider.subscribe('f', 'a');
        select postrider.publish('e', '{}'), postrider.publish('f', '{}');
        select postrider.send('b', '{}') from generate_series(1, 3);
        select postrider.send_with_options('a', '{}', p_ordering_key => k)
        from unnest('{x,x,y}'::text[]) k",
    )
    .await;
    let dispatcher = shop.serve().await;
    shop.until("select count(*) = 8 from postrider.deferred").await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    // What fails later, of a message that was sent later, is not meant.
    for (call, estimate, left) in [
        ("skip_matching_deliveries('r', p_event_type => 'f')", 1, 7),
        ("fail_matching_deliveries('r', p_ordering_key => 'x')", 2, 5),
        ("skip_matching_deliveries('r', p_to => now() - interval '1 hour')", 0, 5),
        ("skip_matching_deliveries('r', 'b', p_error_pattern => 'HTTP 50[12]')", 0, 5),
        ("skip_matching_deliveries('r', 'b', now() - interval '1 hour', now())", 3, 2),
        ("fail_matching_deliveries('r')", 2, 0),
    ] {
        let expected = json!({ "estimate": estimate, "has_more": false });
        assert_eq!(made(&shop, call).await, expected, "{call}");
        shop.send("b", json!({})).await;
        shop.finish_jobs().await;
        let waiting: i64 = shop.ask("select count(*) from postrider.deferred").await;
        assert_eq!(waiting, left, "{call}");
    }
    let ends: Value = shop
        .ask(
            "select jsonb_object_agg(e.end, e.count)
            from (
                select coalesce(reason || ': ' || note, 'null') as end, count(*)
                from postrider.ended group by 1
                union all
                select cause || ': ' || last_error, count(*) from postrider.dead_letter group by 1
            ) e",
        )
        .await;
    assert_eq!(ends, json!({ "skipped: r": 4, "operator: [OPERATOR] r": 4 }));
    assert_eq!(receiver.request_count(), 7, "one was blocked, and the later ones not read");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_hand_is_come_back_to_when_its_attempt_is_over() {
    let shop = Shop::open_to_receivers().await;
    let answers = tokio::sync::watch::channel(false);
    let is_answering = answers.1.clone();
    let receiver = Receiver::start(Behaviour::custom(move |arrival| {
        match (arrival.earlier_count, *is_answering.borrow()) {
            (0, _) | (_, true) => Answer::status(503),
            _ => Answer::default(),
        }
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 5 });
    let policy =
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0, "max_retries": 100 });
    shop.endpoint("hooks", config, policy).await;
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for(2, LONG).await.unwrap();
    shop.execute("select * from postrider.skip_matching_deliveries('r', 'hooks')").await;
    shop.until("select j.held_count > 0 from postrider.job j").await;
    assert!(shop.ask::<bool>("select exists (select from postrider.deferred)").await);
    answers.0.send(true).unwrap();
    shop.until("select j.state = 'completed' from postrider.job j").await;
    assert_eq!(job(&shop, "skip").await, json!(["completed", 1]));
    assert!(
        shop.ask::<bool>("select count(*) = 1 from postrider.ended where reason = 'skipped'").await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_spreads_what_is_retried() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    failed_once(&shop, "hooks", 100).await;
    shop.execute("select * from postrider.retry_matching_deliveries(p_rate => 10)").await;
    // Five seconds ahead and no farther, in the order of messages.
    shop.advance_jobs_until("(select j.done_count >= 50 from postrider.job j)").await;
    let gaps: Value = shop
        .ask(
            "select jsonb_agg(distinct g.gap)
            from (
                select round(extract(epoch from d.run_at - lag(d.run_at) over (order by d.message_id)), 3)
                    as gap
                from postrider.deferred d
                where d.run_at < now() + interval '1 minute'
            ) g
            where g.gap is not null",
        )
        .await;
    assert_eq!(gaps.as_array().unwrap().len(), 1, "{gaps}");
    assert_eq!(gaps[0].as_f64(), Some(0.1), "{gaps}");
    assert!(shop.ask::<bool>("select postrider.cancel_job(j.id) from postrider.job j").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_sent_to_an_endpoint_is_cancelled() {
    const MANY: usize = 3_000;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let other = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    shop.quick_endpoint("other", &other.url()).await;
    shop.execute(
        "select postrider.create_event_type('e');
        select postrider.subscribe('e', 'hooks'), postrider.subscribe('e', 'other')",
    )
    .await;
    failed_once(&shop, "hooks", 50).await;
    // Nobody has read these.
    shop.send_many("hooks", MANY).await;
    shop.execute("select postrider.publish('e', '{}'), postrider.send('other', '{}')").await;
    let answer = made(&shop, "cancel_endpoint_messages('hooks')").await;
    assert_eq!(answer, json!({ "estimate": 50, "has_more": true }));
    let later = shop.send("hooks", json!({ "n": "later" })).await;
    shop.finish_jobs().await;
    assert_eq!(job(&shop, "cancel").await, json!(["completed", 50 + MANY + 1]));
    let _dispatcher = shop.serve().await;
    other.wait_for_accepted(2, LONG).await.unwrap();
    receiver.wait_for(51, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert_eq!(receiver.request_count(), 51);
    let left = format!("select count(*) = 1 and bool_and(message_id = {later})");
    shop.until(&format!("{left} from postrider.deferred")).await;
    let ends: i64 =
        shop.ask("select count(*) from postrider.ended where reason = 'cancelled'").await;
    assert_eq!(ends as usize, 50 + MANY + 1);
}

/// What is in hand of a dispatcher comes to the end of its attempt, and is cancelled then; what its endpoint
/// has no room for is cancelled at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_hangs_is_cancelled_when_its_endpoint_is_paused() {
    const MANY: usize = 5_000;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 3, "concurrency": 4 });
    shop.endpoint("hooks", config, patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("hooks", MANY).await;
    receiver.wait_for(1, LONG).await.unwrap();
    shop.execute("select postrider.pause_endpoint('hooks')").await;
    shop.execute("select * from postrider.cancel_endpoint_messages('hooks')").await;
    shop.until("select j.state = 'completed' from postrider.job j").await;
    assert_eq!(job(&shop, "cancel").await, json!(["completed", MANY]));
    assert!(!shop.ask::<bool>("select exists (select from postrider.deferred)").await);
    shop.execute("select postrider.resume_endpoint('hooks')").await;
    receiver.set_behaviour(Behaviour::Status(200));
    shop.send("hooks", json!({})).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    // What was left in the log is read now.
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert_eq!(receiver.accepted_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let mut cases = Vec::new();
    let pattern = "p_error_pattern must be a POSIX regular expression, got '('";
    for verb in ["retry", "fail", "skip"] {
        let call = |arguments: &str| {
            let reason = if verb == "retry" { "" } else { "'r', " };
            format!("select * from postrider.{verb}_matching_deliveries({reason}{arguments})")
        };
        cases.extend([
            (call("'x'"), "42704", "Endpoint 'x' does not exist"),
            (call("p_event_type => 'x'"), "42704", "Event type 'x' does not exist"),
            (
                call("'a', '2001-01-02Z', '2001-01-01Z'"),
                "22023",
                "p_from must be before p_to, got 2001-01-02 00:00:00+00 and 2001-01-01 00:00:00+00",
            ),
            (call("p_error_pattern => '('"), "22023", pattern),
            (
                call("p_ordering_key => ''"),
                "22023",
                "p_ordering_key must have 1 to 255 characters, got 0",
            ),
            (
                call("p_rate => 0"),
                "22023",
                "p_rate must be between 1 and 100000 deliveries per second, got 0",
            ),
        ]);
        if verb != "retry" {
            let without = format!("select * from postrider.{verb}_matching_deliveries(null)");
            cases.push((without, "22004", "Reason must not be null"));
        }
    }
    cases.push((
        "select * from postrider.cancel_endpoint_messages(null)".to_owned(),
        "22004",
        "Endpoint name must not be null",
    ));
    cases.push((
        "select * from postrider.cancel_endpoint_messages('x')".to_owned(),
        "42704",
        "Endpoint 'x' does not exist",
    ));
    batch(&client, "set timezone to 'UTC'").await;
    let cases: Vec<_> =
        cases.iter().map(|(sql, code, text)| (sql.as_str(), *code, *text)).collect();
    check_refusals(&client, &cases).await;
}

/// What job 2 has retried came a tenth of a second apart at the least, counted from when the job was made.
async fn check_spread(shop: &Shop, receiver: &Receiver) {
    // A dispatcher may be ahead of the database's clock by less than that.
    const SLACK: Duration = Duration::from_millis(500);
    assert_eq!(job_of(shop, 2).await, json!(["completed", 20, 10]));
    let made_at: SystemTime = shop.ask("select created_at from postrider.job where id = 2").await;
    let is_later = |request: &Request| request.is_accepted() && request.wall_clock_at >= made_at;
    let mut arrivals: Vec<SystemTime> = receiver
        .requests()
        .iter()
        .filter(|request| is_later(request))
        .map(|request| request.wall_clock_at)
        .collect();
    arrivals.sort_unstable();
    assert_eq!(arrivals.len(), 20);
    for (place, arrival) in (0_u32..).zip(&arrivals) {
        let due_at = made_at + place * Duration::from_millis(100);
        assert!(*arrival + SLACK >= due_at, "number {place} of {arrivals:?} was due at {due_at:?}");
    }
}

/// By a filter, dead letters are made and deliveries skipped on the command line, and all others wait on.
async fn check_filtered_ends(shop: &Shop, receiver: &Receiver) {
    const RATED: usize = 20;
    let former_count = receiver.request_count();
    shop.send_many("a", RATED).await;
    shop.execute(
        "select postrider.create_event_type('e');
        select postrider.subscribe('e', 'a');
        select postrider.publish('e', '{}');
        select postrider.send_with_options('a', '{}', p_ordering_key => k)
        from unnest('{x,x,y}'::text[]) k",
    )
    .await;
    // The second of one key waits for the first.
    receiver.wait_for(former_count + RATED + 3, LONG).await.unwrap();
    let waiting = "select count(*) from postrider.deferred d
        join postrider.endpoints e on e.id = d.endpoint_id and e.name = 'a'";
    let failed = format!("{waiting} where d.retry_count = 1 or d.is_blocked");
    shop.until(&format!("select ({failed}) = {}", RATED + 4)).await;

    let run =
        |arguments: &[&str]| shop.run(&[&["message"], arguments, &["--yes", "--json"]].concat());
    for (number, line, count, done_count, rate) in [
        (5, "fail --ordering-key x --reason by-key", "failed", 2, None),
        (6, "skip --event-type e --reason by-type", "skipped", 1, None),
        (7, "skip --ordering-key y --rate 1 --reason one", "skipped", 1, Some(1)),
        (
            8,
            "fail --endpoint a --error HTTP.50[3] --rate 2 --reason rated",
            "failed",
            RATED,
            Some(2),
        ),
    ] {
        let told = run(&line.split(' ').collect::<Vec<_>>()).json();
        assert_eq!(told, json!({ count: done_count, "job_id": number }), "{line}");
        assert_eq!(job_of(shop, number).await, json!(["completed", done_count, rate]));
    }
    let ends: Value = shop
        .ask(
            "select jsonb_object_agg(e.end, e.count)
            from (
                select note as end, count(*)
                from postrider.ended
                where reason = 'skipped' and note <> 'r'
                group by 1
                union all
                select last_error, count(*)
                from postrider.dead_letter
                where cause = 'operator' and last_error <> '[OPERATOR] r'
                group by 1
            ) e",
        )
        .await;
    assert_eq!(
        ends,
        json!({ "by-type": 1, "one": 1, "[OPERATOR] by-key": 2, "[OPERATOR] rated": RATED })
    );
    assert_eq!(shop.ask::<i64>(waiting).await, 0);
    assert_eq!(receiver.request_count(), former_count + RATED + 3, "what was ended came no more");
    // Two a second, and five seconds ahead at the most. The time is that of the batch's beginning, a moment before it
    // counts how many it may do.
    let early: i64 = shop
        .ask(
            "select count(*)
            from (
                select l.failed_at, row_number() over (order by l.id) as place
                from postrider.dead_letter l
                where l.last_error = '[OPERATOR] rated'
            ) n
            cross join postrider.job j
            where j.id = 8
            and j.created_at + (n.place / 2.0 - 6) * interval '1 second' > n.failed_at",
        )
        .await;
    assert_eq!(early, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_tells_one_or_many() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    for name in ["a", "b"] {
        shop.endpoint(name, json!({ "url": receiver.url() }), patient()).await;
    }
    let _dispatcher = shop.serve().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(shop.send("a", json!({})).await.to_string());
    }
    shop.send_many("b", 20).await;
    shop.until("select count(*) = 23 from postrider.deferred where retry_count = 1").await;

    let run = |arguments: &[&str]| shop.run(&[&["message"], arguments, &["--json"]].concat());
    let id = |index: usize| ids[index].parse::<i64>().unwrap();
    let expected = json!({ "message_id": id(0), "retried": 1 });
    assert_eq!(run(&["retry", &ids[0]]).json(), expected);
    let expected = json!({ "message_id": id(1), "failed": 1 });
    assert_eq!(run(&["fail", &ids[1], "--endpoint", "a", "--reason", "r"]).json(), expected);
    let said = shop.run(&["message", "skip", &ids[2], "--reason", "r"]).succeed().stdout;
    assert_eq!(said, format!("1 delivery of message {} is skipped.\n", id(2)));
    run(&["skip", &ids[2], "--reason", "r"]).fail(1, "No delivery of message");
    receiver.wait_for_accepted(1, LONG).await.unwrap();

    let made = run(&["skip", "--error", "HTTP 404", "--reason", "r", "--no-wait", "--yes"]).json();
    assert_eq!(made, json!({ "job_id": 1, "estimate": 0, "has_more": false }));
    let rated = ["retry", "--endpoint", "b", "--from", "2001-01-01T00:00Z", "--rate", "10"];
    assert_eq!(run(&rated).json(), json!({ "retried": 20, "job_id": 2 }));
    receiver.wait_for_accepted(21, LONG).await.unwrap();
    check_spread(&shop, &receiver).await;

    shop.execute("select postrider.pause_endpoint('b')").await;
    shop.send_many("b", 5).await;
    let arguments = ["endpoint", "cancel-messages", "b", "--yes", "--json"];
    assert_eq!(shop.run(&arguments).json(), json!({ "cancelled": 5, "job_id": 3 }));
    assert_eq!(shop.run(&arguments).json(), json!({ "cancelled": 0, "job_id": 4 }));
    check_filtered_ends(&shop, &receiver).await;

    for wrong in [
        &["retry"][..],
        &["skip", "5"],
        &["skip", "--error", "HTTP 404", "--reason", "r"],
        &["retry", "5", "--all"],
        &["retry", "5", "--rate", "1"],
        &["retry", "--all", "--endpoint", "a"],
        &["fail", "--rate", "1", "--reason", "r"],
        &[],
    ] {
        assert_eq!(run(wrong).code, 2, "{wrong:?}");
    }
    run(&[&ids[0]]).succeed();
}
