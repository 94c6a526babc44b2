//! How much may wait, with a running dispatcher and real receivers.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;

const LIMIT: i64 = 20_000;
/// What the check may err by.
const ERROR: i64 = LIMIT / 100 + 10_000;

/// How many deliveries wait or are under way, counted.
const BACKLOG: &str = "select (
        select coalesce(sum(cardinality(m.targets)), 0)
        from postrider.message m
    ) - (
        select coalesce(sum(octet_length(d.offsets) / 2), 0)
        from postrider.done d
    ) - (
        select count(*)
        from postrider.ended
    ) - (
        select count(*)
        from postrider.dead_letter
    )";

async fn open(url: &str) -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute(&format!("select postrider.set_setting('max_queue_size', '{LIMIT}')")).await;
    let policy = json!({ "base_delay_seconds": 2, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": url }), policy).await;
    shop
}

/// Sends until it is refused, 500 at a time, at most so many; how many were taken.
async fn fill(shop: &Shop, most: i64) -> i64 {
    let client = shop.client().await;
    let send = "select postrider.send_batch('hooks', array_agg('{}'::jsonb))
        from generate_series(1, 500)";
    let mut sent = 0;
    while sent < most {
        if let Err(error) = client.batch_execute(send).await {
            let error = error.as_db_error().unwrap();
            assert_eq!(error.code().code(), "53400");
            assert!(error.message().starts_with("[postrider] Queue backpressure: "), "{error}");
            return sent;
        }
        sent += 500;
    }
    panic!("{sent} were taken although the limit is {LIMIT}");
}

async fn check_full(shop: &Shop) {
    let backlog: i64 = shop.ask(&format!("select ({BACKLOG})::bigint")).await;
    println!("refused at {backlog}, limit {LIMIT}");
    assert!((LIMIT - ERROR..=LIMIT + ERROR).contains(&backlog), "{backlog}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_is_refused_while_too_much_waits() {
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let shop = open(&receiver.url()).await;
    let _dispatcher = shop.serve().await;
    fill(&shop, 2 * LIMIT).await;
    check_full(&shop).await;
    let batch = "select postrider.send_batch('hooks', array_fill('{}'::jsonb, array[500]))";
    // It errs by what is not read yet: when all is, there may be room for some more.
    let client = shop.client().await;
    let refused = loop {
        check_gate(&shop, LIMIT).await;
        if let Err(error) = client.batch_execute(batch).await {
            break error;
        }
    };
    assert_eq!(refused.code().unwrap().code(), "53400");

    // As soon as there is room, it works again.
    shop.execute("select postrider.set_setting('http_timeout', '1')").await;
    receiver.set_behaviour(Behaviour::Status(200));
    let began = tokio::time::Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(10));
    let mut delivered = receiver.accepted_count();
    while client.batch_execute(batch).await.is_err() {
        assert!((delivered as i64) < ERROR, "still refused with {delivered} delivered");
        assert!(began.elapsed() < LONG, "still refused");
        look.tick().await;
        delivered = receiver.accepted_count();
    }
    println!("works again with {delivered} delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_retry_counts() {
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let shop = open(&receiver.url()).await;
    let policy = json!({ "base_delay_seconds": 3600, "max_delay_seconds": 3600, "jitter": 0 });
    shop.execute(&format!("update postrider.endpoints set retry_policy = '{policy}'")).await;
    shop.execute("select postrider.set_setting('max_queue_size', '990')").await;
    let _dispatcher = shop.serve().await;
    // Fewer than would open the endpoint's circuit.
    shop.send_many("hooks", 890).await;
    shop.until("select count(*) = 890 from postrider.deferred where retry_count = 1").await;
    // All of it is read and waits; a rolled-back transaction uses up numbers and nothing else.
    shop.execute(
        "begin;
        select postrider.send_batch('hooks', array_agg('{}'::jsonb)) from generate_series(1, 90);
        rollback;",
    )
    .await;
    let client = shop.client().await;
    check_gate(&shop, 990).await;
    for _ in 0..50 {
        client
            .batch_execute("begin; select postrider.send('hooks', '{}'); rollback")
            .await
            .unwrap();
    }
    check_gate(&shop, 990).await;
    // As exactly as the gate agrees: there is room for a hundred, give or take sixteen.
    shop.send_many("hooks", 80).await;
    shop.until("select count(*) = 970 from postrider.deferred where retry_count = 1").await;
    check_gate(&shop, 990).await;
    let more = "select postrider.send_batch('hooks', array_fill('{}'::jsonb, array[40]))";
    assert_eq!(shop.refusal(more).await, "53400");
    // What ends makes room although nothing is read from the log meanwhile.
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute(
        "update postrider.deferred set run_at = clock_timestamp();
        select pg_notify('postrider', 'deferred')",
    )
    .await;
    receiver.wait_for_accepted(970, LONG).await.unwrap();
    check_gate(&shop, 990).await;
}

/// What the gate lets through is what the limit leaves.
pub async fn check_gate(shop: &Shop, limit: i64) {
    let room = "select pg_sequence_last_value('postrider.message_gate')
        - pg_sequence_last_value('postrider.message_sequence')";
    // A gate is set by a checkpoint that has something to say, or by a send that finds it shut.
    let agrees = format!(
        "select postrider.update_gate() is not null
        and abs(({room}) - ({limit} - ({BACKLOG}))) <= 16"
    );
    let took = shop.until_within(LONG, &agrees).await;
    let room: i64 = shop.ask(room).await;
    let backlog: i64 = shop.ask(&format!("select ({BACKLOG})::bigint")).await;
    println!("room {room} with {backlog} of {limit} waiting, {took:?} later");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_agrees_with_the_backlog_after_any_traffic() {
    let receiver =
        Receiver::start(Behaviour::Fraction { status: 503, share: 0.3, seed: 1 }).unwrap();
    let shop = open(&receiver.url()).await;
    shop.execute(
        "select postrider.create_event_type('e'); select postrider.subscribe('e', 'hooks')",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let client = shop.client().await;
    for _ in 0..150 {
        let sql = match dice.u8(..5) {
            0 => "begin; select postrider.send('hooks', '{}'); rollback".to_owned(),
            1 => "select postrider.publish('e', '{}')".to_owned(),
            2 => "select postrider.cancel_message(postrider.send_with_options('hooks', '{}',
                p_scheduled_at => now() + interval '100 milliseconds'))"
                .to_owned(),
            3 => "select postrider.send_with_options('hooks', '{}',
                p_expires_at => now() + interval '1 second', p_ordering_key => 'k')"
                .to_owned(),
            _ => format!(
                "select postrider.send_batch('hooks', array_agg('{{}}'::jsonb))
                from generate_series(1, {})",
                dice.u8(1..)
            ),
        };
        client.batch_execute(&sql).await.unwrap();
    }
    receiver.set_behaviour(Behaviour::Status(200));
    shop.until("select not exists (select from postrider.deferred)").await;
    shop.until(&format!("select ({BACKLOG}) = 0")).await;
    check_gate(&shop, LIMIT).await;
}

/// Waits until sending to the endpoint is refused, or until it is not; what was taken meanwhile is rolled back.
async fn until_it_is_full(shop: &Shop, endpoint: &str, is_full: bool) {
    let client = shop.client().await;
    let send = format!("begin; select postrider.send('{endpoint}', '{{}}'); rollback");
    let began = tokio::time::Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    loop {
        let refused = client.batch_execute(&send).await.err();
        if let Some(error) = &refused {
            let text = format!(
                "[postrider] Queue backpressure: 1 more on top of what waits for endpoint '{endpoint}' \
                 would exceed limit 100"
            );
            let error = error.as_db_error().unwrap();
            assert_eq!((error.code().code(), error.message()), ("53400", text.as_str()));
            client.batch_execute("rollback").await.unwrap();
        }
        if refused.is_some() == is_full {
            return;
        }
        assert!(began.elapsed() < LONG, "{endpoint} should be full: {is_full}");
        look.tick().await;
    }
}

/// A mark is looked for, and its table locked, where the endpoint has a limit.
async fn only_who_has_a_limit_pays_for_it(shop: &Shop) {
    let client = shop.client().await;
    let looks = "select exists (
            select
            from pg_locks l
            where l.pid = pg_backend_pid()
            and l.relation = 'postrider.full_endpoint'::regclass)";
    for (endpoint, expected) in [("other", false), ("paused", true)] {
        for call in [
            format!("send_with_options('{endpoint}', '{{}}')"),
            format!("send_with_options('{endpoint}', '{{}}', p_idempotency_key => 'k')"),
            format!("send_bytes('{endpoint}', 'x', 'text/plain')"),
            format!("send_bytes('{endpoint}', 'x', 'text/plain', p_idempotency_key => 'k')"),
        ] {
            client.batch_execute(&format!("begin; select postrider.{call}")).await.unwrap();
            let is_looking: bool = client.query_one(looks, &[]).await.unwrap().get(0);
            client.batch_execute("rollback").await.unwrap();
            assert_eq!(is_looking, expected, "{call}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_endpoint_refuses_its_own_senders_only() {
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let shop = Shop::open_to_receivers().await;
    let config = json!({ "url": receiver.url(), "max_queue_size": 100 });
    for endpoint in ["paused", "broken", "dropped"] {
        shop.endpoint(endpoint, config.clone(), json!({})).await;
    }
    shop.execute(
        "select postrider.create_endpoint('other', 'discard', '{}');
        select postrider.create_event_type('e'), postrider.create_event_type('other');
        select postrider.subscribe('e', 'paused'), postrider.subscribe('e', 'other'),
            postrider.subscribe('other', 'other');
        select postrider.pause_endpoint(name) from unnest(array['paused', 'dropped']) name",
    )
    .await;
    only_who_has_a_limit_pays_for_it(&shop).await;
    let dispatchers = [shop.serve().await, shop.serve().await];
    shop.send_many("paused", 99).await;
    let event = "select postrider.publish('e', '{}')";
    shop.execute(event).await;
    until_it_is_full(&shop, "paused", true).await;
    let batch = "select postrider.send_batch('paused', array['{}'::jsonb])";
    let bytes = "select postrider.send_bytes('paused', 'x', 'text/plain')";
    for sql in [batch, event, bytes] {
        assert_eq!(shop.refusal(sql).await, "53400", "{sql}");
    }
    shop.send_many("other", 500).await;
    shop.execute("select postrider.publish('other', '{}')").await;

    // It is free when a tenth of it is; or by another limit.
    shop.execute(
        "select postrider.alter_endpoint('paused', config || '{\"max_queue_size\": 200}')
        from postrider.endpoints where name = 'paused'",
    )
    .await;
    until_it_is_full(&shop, "paused", false).await;
    shop.send_many("paused", 1).await;
    shop.execute(
        "select postrider.alter_endpoint('paused', config || '{\"max_queue_size\": 100}')
        from postrider.endpoints where name = 'paused'",
    )
    .await;
    until_it_is_full(&shop, "paused", true).await;
    shop.execute("select postrider.resume_endpoint('paused')").await;
    until_it_is_full(&shop, "paused", false).await;

    // What waits for a circuit counts, until it expires.
    shop.execute(
        "select postrider.set_setting('circuit_breaker_threshold', '1');
        select postrider.set_setting('circuit_breaker_cooldown', '3600')",
    )
    .await;
    receiver.set_behaviour(Behaviour::Status(503));
    // Whoever has locked the endpoint, and does not end, keeps it neither full nor free.
    let holder = shop.client().await;
    holder.batch_execute("begin; select postrider.subscribe('other', 'broken')").await.unwrap();
    shop.execute(
        "select postrider.send_with_options('broken', '{}', p_expires_at => now() + interval '30 s')
        from generate_series(1, 100)",
    )
    .await;
    until_it_is_full(&shop, "broken", true).await;
    until_it_is_full(&shop, "broken", false).await;
    holder.batch_execute("rollback").await.unwrap();

    shop.send_many("dropped", 100).await;
    until_it_is_full(&shop, "dropped", true).await;
    // Nobody would take the mark away.
    for dispatcher in &dispatchers {
        dispatcher.stop(LONG).await.unwrap();
    }
    shop.send_many("dropped", 1).await;
    let publish =
        "begin; select postrider.subscribe('e', 'dropped'), postrider.publish('e', '{}'); rollback";
    shop.execute(publish).await;
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.full_endpoint").await, 1);
    let _dispatcher = shop.serve().await;
    until_it_is_full(&shop, "dropped", true).await;
    shop.execute("select postrider.drop_endpoint('dropped', true)").await;
    shop.endpoint("dropped", config, json!({})).await;
    shop.send_many("dropped", 99).await;
    shop.send_many("other", 500).await;
    shop.until("select count(*) = 1 from postrider.job where state = 'completed'").await;
}
