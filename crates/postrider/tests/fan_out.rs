//! Messages with several targets, with a running dispatcher and real receivers.

use std::{collections::HashMap, time::Duration};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Keep, Receiver};
use serde_json::{Value, json};

fn start(behaviour: Behaviour) -> Receiver {
    Receiver::start_with(behaviour, Keep { body: true, headers: true }).unwrap()
}

/// An endpoint that subscribes to all orders.
async fn subscribe(shop: &Shop, name: &str, config: Value) {
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint(name, config, policy).await;
    shop.execute(&format!("select postrider.subscribe('order.*', '{name}')")).await;
}

async fn open() -> Shop {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.create_event_type('order.paid')").await;
    shop
}

fn publish(count: usize) -> String {
    format!(
        "select count(postrider.publish('order.paid', jsonb_build_object('n', n)))
        from generate_series(1, {count}) n"
    )
}

/// How the deliveries to an endpoint ended, and how many of each; those that have not: `open`.
async fn ends(shop: &Shop, endpoint: &str) -> HashMap<String, i64> {
    let client = shop.client().await;
    let sql = "select coalesce(d.status, 'open'), count(*)
        from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        join postrider.subscriptions s on s.id = t.target
        join postrider.endpoints e on e.id = s.endpoint_id
        left join lateral postrider.delivery_end(m.id, t.target) d on true
        where e.name = $1
        group by 1";
    let rows = client.query(sql, &[&endpoint]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What arrives is on record a moment later.
async fn until_ends(shop: &Shop, endpoint: &str, expected: HashMap<String, i64>) {
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let found = ends(shop, endpoint).await;
        if found == expected {
            return;
        }
        let is_late = tokio::time::Instant::now() >= deadline;
        assert!(!is_late, "{endpoint}: {found:?} instead of {expected:?}");
    }
}

fn all(status: &str, count: i64) -> HashMap<String, i64> {
    HashMap::from([(status.to_owned(), count)])
}

#[tokio::test(flavor = "multi_thread")]
async fn each_target_goes_its_own_way() {
    let shop = open().await;
    let (good, slow) = (
        start(Behaviour::Status(200)),
        start(Behaviour::Delay {
            wait: Duration::from_millis(500),
            then: Box::new(Behaviour::Status(200)),
        }),
    );
    let (failing, refusing) = (start(Behaviour::Status(503)), start(Behaviour::Status(400)));
    subscribe(&shop, "good", json!({ "url": good.url() })).await;
    subscribe(&shop, "slow", json!({ "url": slow.url(), "concurrency": 4 })).await;
    subscribe(&shop, "failing", json!({ "url": failing.url() })).await;
    subscribe(&shop, "refusing", json!({ "url": refusing.url() })).await;
    shop.execute(
        "select postrider.create_endpoint('down', 'http', '{\"url\": \"http://127.0.0.1:4/\"}')",
    )
    .await;
    shop.execute("select postrider.subscribe('*', 'down')").await;
    let _dispatcher = shop.serve().await;
    shop.execute(&publish(200)).await;
    good.wait_for_accepted(200, LONG).await.unwrap();
    println!("the slow one has {} when the good one has all", slow.accepted_count());
    // At that it would need 25 s for all.
    assert!(slow.accepted_count() < 200, "the good one waited for the slow one");
    slow.set_behaviour(Behaviour::Status(200));
    slow.wait_for_accepted(200, LONG).await.unwrap();
    failing.wait_for(400, LONG).await.unwrap();
    shop.until("select count(*) = 200 from postrider.dead_letter where cause = 'rejected'").await;
    shop.until("select count(*) = 400 from postrider.deferred where retry_count > 0").await;
    for (name, expected) in [
        ("good", all("completed", 200)),
        ("slow", all("completed", 200)),
        ("failing", all("open", 200)),
        ("down", all("open", 200)),
        ("refusing", all("failed", 200)),
    ] {
        until_ends(&shop, name, expected).await;
    }
    failing.set_behaviour(Behaviour::Status(200));
    failing.wait_for_accepted(200, LONG).await.unwrap();
    shop.until("select count(*) = 200 from postrider.deferred").await;
    until_ends(&shop, "failing", all("completed", 200)).await;
    for (receiver, name) in [(&good, "good"), (&slow, "slow"), (&refusing, "refusing")] {
        assert_eq!(receiver.request_count(), 200, "{name}");
    }
    for request in good.requests() {
        assert_eq!(request.headers["postrider-event-type"], "order.paid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_one_target_hangs_gives_no_other_a_second_copy() {
    let shop = open().await;
    let receivers: Vec<Receiver> = (0..3).map(|_| start(Behaviour::Status(200))).collect();
    for (index, receiver) in receivers.iter().enumerate() {
        subscribe(&shop, &format!("good-{index}"), json!({ "url": receiver.url() })).await;
    }
    let hanging = start(Behaviour::Hang);
    subscribe(&shop, "hanging", json!({ "url": hanging.url(), "timeout_seconds": 100 })).await;
    let killed = shop.serve().await;
    shop.execute(&publish(300)).await;
    for receiver in &receivers {
        receiver.wait_for_accepted(300, LONG).await.unwrap();
    }
    hanging.wait_for(1, LONG).await.unwrap();
    // What is delivered is on record, and nothing of it because a message is done as a whole.
    shop.until(
        "select count(*) = 900
        from postrider.partly_done p
        cross join lateral unnest(p.targets) t (target)",
    )
    .await;
    // Short only now: a tenure that ends before the kill attempts things twice.
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    killed.sigkill();
    hanging.set_behaviour(Behaviour::Status(200));
    let _successor = shop.serve().await;
    hanging.wait_for_accepted(300, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    for (index, receiver) in receivers.iter().enumerate() {
        assert_eq!(receiver.request_count(), 300, "target {index}");
    }
    for name in ["good-0", "good-1", "good-2", "hanging"] {
        until_ends(&shop, name, all("completed", 300)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_hold_for_every_target() {
    let shop = open().await;
    let (one, two) = (start(Behaviour::Status(200)), start(Behaviour::Status(200)));
    subscribe(&shop, "one", json!({ "url": one.url(), "headers": { "x-a": "endpoint" } })).await;
    subscribe(&shop, "two", json!({ "url": two.url() })).await;
    let _dispatcher = shop.serve().await;
    let correlation_id = "0190a6a5-7d8a-7cc1-8f3e-000000000002";
    // In one transaction: the second is never seen when the first is over.
    let ids: Vec<i64> = shop
        .ask(&format!(
            r#"select array[
                postrider.publish(
                    'order.paid', '{{}}', p_priority => 7::smallint,
                    p_scheduled_at => clock_timestamp() + interval '4 seconds',
                    p_expires_at => clock_timestamp() + interval '1 hour',
                    p_correlation_id => '{correlation_id}', p_ordering_key => 'k',
                    p_headers => '{{"x-a": "message"}}'),
                postrider.publish(
                    'order.paid', '{{}}', p_ordering_key => 'k',
                    p_expires_at => clock_timestamp() + interval '300 milliseconds')]"#
        ))
        .await;
    let (id, expired) = (ids[0], ids[1]);
    for receiver in [&one, &two] {
        receiver.wait_for_accepted(1, LONG).await.unwrap();
        let requests = receiver.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].id.unwrap().0, id);
        assert_eq!(requests[0].headers["x-a"], "message");
        assert_eq!(requests[0].headers["postrider-correlation-id"], correlation_id);
        let due: f64 = shop
            .ask(&format!(
                "select extract(epoch from scheduled_at)::float8 from postrider.message
                where id = {id}"
            ))
            .await;
        let at = requests[0].wall_clock_at.duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(at.as_secs_f64() >= due);
    }
    shop.until("select count(*) = 2 from postrider.ended where reason = 'expired'").await;
    let ended: i64 = shop.ask("select min(message_id) from postrider.ended").await;
    assert_eq!(ended, expired, "it waited behind its key and expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_targets_of_a_message_are_those_of_the_moment_it_was_published() {
    let shop = open().await;
    let (kept, ended) = (start(Behaviour::Status(200)), start(Behaviour::Status(200)));
    subscribe(&shop, "kept", json!({ "url": kept.url() })).await;
    subscribe(&shop, "ended", json!({ "url": ended.url() })).await;
    shop.execute(&publish(50)).await;
    shop.execute(
        "select postrider.disable_endpoint('kept');
        select postrider.unsubscribe(s.id)
        from postrider.subscriptions s
        join postrider.endpoints e on e.id = s.endpoint_id
        where e.name = 'ended'
        and s.event_type is not null",
    )
    .await;
    let _dispatcher = shop.serve().await;
    ended.wait_for_accepted(50, LONG).await.unwrap();
    assert_eq!(kept.request_count(), 0);
    shop.execute("select postrider.enable_endpoint('kept')").await;
    kept.wait_for_accepted(50, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!((kept.request_count(), ended.request_count()), (50, 50));

    let new = start(Behaviour::Status(200));
    shop.execute(&format!(
        "begin;
        select postrider.create_endpoint('new', 'http', '{}');
        select postrider.subscribe('order.paid', 'new');
        {};
        commit;",
        json!({ "url": new.url() }),
        publish(5)
    ))
    .await;
    new.wait_for_accepted(5, LONG).await.unwrap();
    kept.wait_for_accepted(55, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!((new.request_count(), kept.request_count(), ended.request_count()), (5, 55, 50));
}
