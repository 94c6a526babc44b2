//! Circuit breakers with real dispatchers and receivers that die and come back.

use std::time::{Duration, Instant, SystemTime};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Answer, Behaviour, Receiver, Request};
use serde_json::{Value, json};

/// Retries that come quickly and do not run out.
fn patient() -> Value {
    json!({ "max_retries": 1000, "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 })
}

async fn open() -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute(
        "select postrider.set_setting('circuit_breaker_cooldown', '5');
        select postrider.set_setting('circuit_breaker_threshold', '5')",
    )
    .await;
    shop
}

async fn events(shop: &Shop) -> Vec<(String, Value)> {
    let client = shop.client().await;
    let sql =
        "select event, details from postrider.event_log where event like 'circuit.%' order by id";
    client.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The requests of each burst: those before the circuit is half-open for the first time, and those
/// from each such moment on to the next. Receiver and database have one clock here.
async fn bursts(shop: &Shop, requests: &[Request]) -> Vec<usize> {
    let sql = "select array_agg(at order by id) from postrider.event_log
        where event = 'circuit.half_open'";
    let moments: Vec<SystemTime> = shop.ask(sql).await;
    let mut sizes = vec![0; moments.len() + 1];
    for request in requests {
        sizes[moments.iter().filter(|at| **at <= request.wall_clock_at).count()] += 1;
    }
    sizes
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_dispatchers_probes_and_recovery_is_gradual() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let config = json!({ "url": receiver.url(), "concurrency": 16 });
    shop.endpoint("flaky", config, patient()).await;
    let _one = shop.serve().await;
    let _other = shop.serve().await;
    // Both own shards, or there would be one prober only.
    shop.until("select count(distinct owner) = 2 from postrider.shard").await;
    shop.send_many("flaky", 2000).await;
    shop.until("select exists (select from postrider.event_log where event = 'circuit.opened')")
        .await;

    // Three cooldowns with a probe each.
    shop.until("select count(*) >= 4 from postrider.event_log where event = 'circuit.opened'")
        .await;
    let retry_counts: i64 =
        shop.ask("select coalesce(sum(retry_count), 0) from postrider.deferred").await;
    let requests = receiver.requests();
    let bursts = bursts(&shop, &requests).await;
    assert!(bursts[0] >= 5, "{bursts:?}");
    // The next one may have begun by now.
    assert!(bursts.len() >= 4, "{bursts:?}");
    assert!(bursts[1..4].iter().all(|size| *size == 1), "one probe each: {bursts:?}");
    let shortest = "select min(e.pause)
        from (
            select at - lag(at) over (order by id) as pause
            from postrider.event_log
            where event = 'circuit.half_open'
        ) e";
    let is_cooling = format!("select ({shortest}) >= interval '5 s'");
    assert!(shop.ask::<bool>(&is_cooling).await, "a cooldown between two probes");
    assert!(retry_counts <= requests.len() as i64, "{retry_counts} retries of {}", requests.len());

    let before = receiver.request_count();
    receiver.set_behaviour(Behaviour::Delay {
        wait: Duration::from_millis(20),
        then: Box::new(Behaviour::Status(200)),
    });
    receiver.wait_for_accepted(2000, LONG).await.unwrap();
    shop.until("select state = 'closed' from postrider.circuit").await;
    assert_eq!(receiver.distinct_ids().len(), 2000);
    assert_eq!(receiver.accepted_count(), 2000, "none twice");
    let requests = receiver.requests();
    let after = &requests[before..];
    // The probe, and then few at a time: each of the two dispatchers may have one more in flight than it has had
    // answers.
    let at_once = |index: usize| {
        let at = after[index].at;
        after[..index].iter().filter(|r| at - r.at < Duration::from_millis(20)).count() + 1
    };
    for index in 1..20 {
        let (open, answered) = (at_once(index), index + 1 - at_once(index));
        assert!(open <= 2 + answered, "{:?}", (1..20).map(at_once).collect::<Vec<_>>());
    }

    let events = events(&shop).await;
    for (event, details) in &events {
        let (from, to) = (details["from"].as_str().unwrap(), details["to"].as_str().unwrap());
        let expected = match (from, to) {
            ("closed" | "half_open", "open") => "circuit.opened",
            ("open", "half_open") => "circuit.half_open",
            ("half_open", "closed") => "circuit.closed",
            other => panic!("{other:?}"),
        };
        assert_eq!(event, expected);
        assert!(details["failure_count"].as_i64().unwrap() >= 5, "{details}");
    }
    let names: Vec<&str> = events.iter().map(|(event, _)| event.as_str()).collect();
    let count = |name| names.iter().filter(|known| **known == name).count();
    assert_eq!(names[0], "circuit.opened");
    assert_eq!(*names.last().unwrap(), "circuit.closed");
    assert_eq!(count("circuit.half_open"), count("circuit.opened"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_opens_after_exactly_so_many_failures_one_after_the_other() {
    let shop = open().await;
    shop.execute("select postrider.set_setting('circuit_breaker_cooldown', '3600')").await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    let config = json!({ "url": receiver.url(), "concurrency": 1 });
    shop.endpoint("picky", config, patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("picky", 100).await;
    shop.until("select state = 'open' from postrider.circuit").await;
    assert_eq!(receiver.request_count(), 5, "rejections count, too");
    shop.until("select count(*) = 5 from postrider.dead_letter").await;
    let shown: String = shop
        .ask("select concat_ws(' ', failure_count, failing_since < last_failure_at) from postrider.circuit")
        .await;
    assert_eq!(shown, "5 t");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_lets_messages_go_at_once() {
    let shop = open().await;
    shop.execute("select postrider.set_setting('circuit_breaker_cooldown', '3600')").await;
    let receiver = Receiver::start(Behaviour::Status(500)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let dispatcher = shop.serve().await;
    shop.send_many("hooks", 500).await;
    shop.until("select state = 'open' from postrider.circuit").await;
    receiver.set_behaviour(Behaviour::Status(200));
    shop.run(&["endpoint", "reset", "hooks"]).succeed();
    receiver.wait_for_accepted(500, LONG).await.unwrap();
    let events = events(&shop).await;
    assert_eq!(events.last().unwrap().0, "circuit.reset");
    assert!(events.last().unwrap().1["failure_count"].as_i64().unwrap() >= 5);
    let again: bool = shop.ask("select postrider.reset_circuit_breaker('hooks')").await;
    assert!(!again);
    assert_eq!(shop.refusal("select postrider.reset_circuit_breaker('x')").await, "42704");
    assert_eq!(shop.refusal("select postrider.reset_circuit_breaker(null)").await, "22004");
    drop(dispatcher);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_over_from_a_killed_prober_probes_again() {
    let shop = open().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let dispatcher = shop.serve().await;
    shop.send_many("hooks", 50).await;
    shop.until("select state = 'open' from postrider.circuit").await;
    receiver.set_behaviour(Behaviour::Hang);
    shop.until("select state = 'half_open' from postrider.circuit").await;
    dispatcher.sigkill();
    receiver.set_behaviour(Behaviour::Status(200));
    let _other = shop.serve().await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    shop.until("select state = 'closed' from postrider.circuit").await;
    assert_eq!(receiver.distinct_ids().len(), 50);
}

/// Counts of writes to all tables of the schema but those that are written by the clock.
const WRITES: &str = "
    select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint
    from pg_stat_user_tables
    where schemaname = 'postrider'
    and relname !~ '^(heartbeat|checkpoint|event_log|circuit|claim|attempt)'";

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_behind_an_open_circuit_costs_no_writes() {
    let is_full = std::env::var("POSTRIDER_TEST_FULL").is_ok();
    let backlog = if is_full { 1_000_000 } else { 10_000 };
    let shop = open().await;
    shop.execute("select postrider.set_setting('max_queue_size', '0')").await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("dead", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("dead", 100).await;
    shop.until("select state = 'open' from postrider.circuit").await;
    for _ in 0..backlog / 10_000 {
        shop.send_many("dead", 10_000).await;
    }
    let opened = "select count(*) from postrider.event_log where event = 'circuit.opened'";
    // What was written while the circuit opened that often again, and how often was it tried?
    let look = async |times: i64| {
        let count: i64 = shop.ask(opened).await;
        let (writes, requests) = (shop.ask::<i64>(WRITES).await, receiver.request_count());
        shop.until(&format!("select ({opened}) >= {}", count + times)).await;
        (shop.ask::<i64>(WRITES).await - writes, receiver.request_count() - requests)
    };
    // Each probe is a retry that waits: its row is written.
    let is_quiet = |written: i64, probes: usize| written <= 4 * probes as i64 + 4;
    // All of it is read, and what was in hand when it opened is where it stays.
    let deadline = Instant::now() + LONG;
    loop {
        let (written, probes) = look(1).await;
        if is_quiet(written, probes) {
            break;
        }
        assert!(Instant::now() < deadline, "{written} rows written with {probes} probes");
    }
    let (written, probes) = look(2).await;
    println!("{backlog} behind an open circuit: {written} rows written with {probes} probes");
    assert!(probes <= 3, "{probes}");
    assert!(is_quiet(written, probes), "{written} rows written with {probes} probes");
    let touched: i64 =
        shop.ask("select count(*) from postrider.deferred where retry_count > 0").await;
    assert!(touched <= receiver.request_count() as i64);

    receiver.set_behaviour(Behaviour::Status(200));
    let all = backlog + 100;
    receiver.wait_for_accepted(all, LONG * 4).await.unwrap();
    assert_eq!(receiver.distinct_ids().len(), all);
    shop.until("select not exists (select from postrider.deferred)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_endpoint_does_not_delay_the_others() {
    let shop = open().await;
    let (good, bad) = (
        Receiver::start(Behaviour::Status(200)).unwrap(),
        Receiver::start(Behaviour::Status(200)).unwrap(),
    );
    shop.endpoint("good", json!({ "url": good.url() }), patient()).await;
    shop.endpoint("bad", json!({ "url": bad.url() }), patient()).await;
    bad.down().unwrap();
    let _dispatcher = shop.serve().await;
    shop.send_many("bad", 6_000).await;
    shop.until("select count(*) = 1 from postrider.circuit where state = 'open'").await;
    for n in 1..=20 {
        // Behind the other one it would wait for ever.
        shop.send("good", json!({})).await;
        good.wait_for_accepted(n, LONG).await.unwrap();
    }
    shop.send_many("good", 1_500).await;
    good.wait_for_accepted(1_520, LONG).await.unwrap();
    bad.up().unwrap();
    bad.wait_for_accepted(6_000, LONG * 2).await.unwrap();
    assert_eq!(bad.distinct_ids().len(), 6_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn ordering_keys_keep_their_order_through_an_open_circuit() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    shop.execute(
        "select postrider.send_with_options(
            'hooks', jsonb_build_object('n', n), p_ordering_key => 'key ' || n % 7)
        from generate_series(1, 350) n",
    )
    .await;
    shop.until("select state = 'open' from postrider.circuit").await;
    receiver.set_behaviour(Behaviour::Status(200));
    receiver.wait_for_accepted(350, LONG).await.unwrap();
    let mut last = std::collections::HashMap::new();
    let client = shop.client().await;
    for request in receiver.requests() {
        let id = request.id.unwrap().0;
        let key: String = client
            .query_one("select ordering_key from postrider.message where id = $1", &[&id])
            .await
            .unwrap()
            .get(0);
        let before = last.insert(key, id);
        assert!(before.is_none_or(|before| before <= id), "{before:?} {id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_a_receiver_asks_for_holds_for_all_dispatchers() {
    let shop = open().await;
    let receiver =
        Receiver::start(Behaviour::custom(|_| Answer::status(429).header("retry-after", "10")))
            .unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url(), "concurrency": 2 }), patient()).await;
    let one = shop.serve().await;
    let other = shop.serve().await;
    shop.until("select count(distinct owner) = 2 from postrider.shard").await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for(1, LONG).await.unwrap();
    receiver.set_behaviour(Behaviour::Status(200));
    for dispatcher in [&one, &other] {
        dispatcher.wait_for_log("asked to be left alone", LONG).await.unwrap();
    }
    shop.send_many("hooks", 500).await;
    receiver.wait_for_accepted(501, LONG).await.unwrap();
    let requests = receiver.requests();
    let pause = requests[1].at.duration_since(requests[0].at);
    assert!(pause >= Duration::from_millis(9_500), "{pause:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_fails_for_days_is_disabled() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(500)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({})).await;
    shop.until("select failing_since is not null from postrider.circuit").await;
    let retire = "select postrider.retire_failing_endpoints()";
    assert_eq!(shop.ask::<i32>(retire).await, 0, "it is off");
    shop.execute("select postrider.set_setting('auto_disable_after_days', '2')").await;
    assert_eq!(shop.ask::<i32>(retire).await, 0, "it has not failed for so long");
    // In one transaction: dispatchers look for such endpoints as well.
    let client = shop.client().await;
    let age = "begin; update postrider.circuit set failing_since = now() - interval '49 hours'";
    client.batch_execute(age).await.unwrap();
    assert_eq!(client.query_one(retire, &[]).await.unwrap().get::<_, i32>(0), 1);
    client.batch_execute("commit").await.unwrap();
    let reason: String = shop
        .ask("select details ->> 'reason' from postrider.event_log where event = 'endpoint.auto_disabled'")
        .await;
    assert_eq!(reason, "no success for 2 days");
    assert_eq!(shop.refusal("select postrider.send('hooks', '{}')").await, "55000");
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute("select postrider.enable_endpoint('hooks')").await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select failing_since is null from postrider.circuit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_gone_is_disabled_and_says_so() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(410)).unwrap();
    let config = json!({ "url": receiver.url(), "auto_disable_on_gone": true });
    shop.endpoint("gone", config, patient()).await;
    let _dispatcher = shop.serve().await;
    shop.send("gone", json!({})).await;
    shop.until("select not enabled from postrider.endpoints").await;
    shop.until(
        "select details ->> 'reason' = 'gone' from postrider.event_log
        where event = 'endpoint.auto_disabled'",
    )
    .await;
    shop.until("select count(*) = 1 from postrider.dead_letter where cause = 'gone'").await;
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute("select postrider.enable_endpoint('gone')").await;
    shop.send("gone", json!({})).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_keeps_the_row_locked_holds_up_nobody() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint("hooks", json!({ "url": receiver.url() }), patient()).await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.endpoint("good", json!({ "url": good.url() }), patient()).await;
    let _dispatcher = shop.serve().await;
    let mut client = shop.client().await;
    let transaction = client.transaction().await.unwrap();
    transaction.execute("select from postrider.circuit for update", &[]).await.unwrap();
    shop.send_many("hooks", 100).await;
    receiver.wait_for(5, LONG).await.unwrap();
    for n in 1..=10 {
        // Behind the other one it would wait for ever.
        shop.send("good", json!({})).await;
        good.wait_for_accepted(n, LONG).await.unwrap();
    }
    // Nothing more is sent to the one that has failed, although nobody could write it down.
    shop.until("select not exists (select from postrider.queue where status = 'processing' and endpoint_name = 'good')").await;
    let count = receiver.request_count();
    transaction.commit().await.unwrap();
    shop.until("select exists (select from postrider.circuit where state = 'open')").await;
    assert!(receiver.request_count() <= count + 64);
}
