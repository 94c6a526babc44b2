//! How long an idempotency key is held, with a running dispatcher and real receivers.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn send(endpoint: &str, key: &str, options: &str) -> String {
    format!(
        "select postrider.send_with_options(
            '{endpoint}', '{{}}', p_idempotency_key => '{key}'{options})"
    )
}

/// Waits until sending with the key makes another message than `first`; returns it.
async fn until_free(shop: &Shop, send: &str, first: i64) -> i64 {
    let client = shop.client().await;
    let deadline = tokio::time::Instant::now() + LONG;
    let mut look = tokio::time::interval(Duration::from_millis(10));
    loop {
        let id: i64 = client.query_one(send, &[]).await.unwrap().get(0);
        if id != first {
            return id;
        }
        assert!(tokio::time::Instant::now() < deadline, "the key is not freed: {send}");
        look.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_free_when_its_message_has_ended() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('idempotency_window', '0')").await;
    let hanging = Receiver::start(Behaviour::Hang).unwrap();
    let refusing = Receiver::start(Behaviour::Status(400)).unwrap();
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.quick_endpoint("good", &hanging.url()).await;
    shop.endpoint("refusing", json!({ "url": refusing.url() }), json!({})).await;
    shop.endpoint("failing", json!({ "url": failing.url() }), json!({})).await;
    let _dispatcher = shop.serve().await;

    let delivered = send("good", "delivered", "");
    let first: i64 = shop.ask(&delivered).await;
    hanging.wait_for(1, LONG).await.unwrap();
    assert_eq!(shop.ask::<i64>(&delivered).await, first, "it is under way");
    let conflict = delivered.replace("'{}'", "'{\"other\": 1}'");
    assert_eq!(shop.refusal(&conflict).await, "23505");
    // It is under way until its connection is cut, and is accepted when it comes again.
    hanging.set_behaviour(Behaviour::Status(200));
    hanging.down().unwrap();
    hanging.up().unwrap();
    until_free(&shop, &delivered, first).await;
    assert!(shop.ask::<bool>(&format!("select postrider.is_done({first})")).await);
    hanging.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!(hanging.accepted_count(), 2);

    let dead = send("refusing", "dead", "");
    let first: i64 = shop.ask(&dead).await;
    until_free(&shop, &dead, first).await;
    assert!(
        shop.ask::<bool>(&format!(
            "select exists (select from postrider.dead_letter where message_id = {first})"
        ))
        .await
    );

    let expired = send("failing", "expired", ", p_expires_at => now() + interval '15 seconds'");
    let first: i64 = shop.ask(&expired).await;
    failing.wait_for(1, LONG).await.unwrap();
    assert_eq!(shop.ask::<i64>(&expired).await, first, "it waits for its retry");
    until_free(&shop, &expired, first).await;

    let cancelled = send("good", "cancelled", ", p_scheduled_at => now() + interval '1 hour'");
    let first: i64 = shop.ask(&cancelled).await;
    shop.until(&format!(
        "select exists (select from postrider.deferred where message_id = {first})"
    ))
    .await;
    assert_eq!(shop.ask::<i64>(&cancelled).await, first);
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({first})")).await);
    assert_ne!(shop.ask::<i64>(&cancelled).await, first, "at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_key_is_held_until_the_last_target_has_ended() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('idempotency_window', '0')").await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    // It does not give up before it is told to succeed.
    let policy =
        json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0, "max_retries": 1000 });
    shop.execute("select postrider.create_event_type('e')").await;
    for (name, receiver) in [("good", &good), ("failing", &failing)] {
        shop.endpoint(name, json!({ "url": receiver.url() }), policy.clone()).await;
        shop.execute(&format!("select postrider.subscribe('e', '{name}')")).await;
    }
    let _dispatcher = shop.serve().await;
    let publish = "select postrider.publish('e', '{}', p_idempotency_key => 'k')";
    let first: i64 = shop.ask(publish).await;
    good.wait_for_accepted(1, LONG).await.unwrap();
    failing.wait_for(2, LONG).await.unwrap();
    assert_eq!(shop.ask::<i64>(publish).await, first);
    failing.set_behaviour(Behaviour::Status(200));
    until_free(&shop, publish, first).await;
    good.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!(good.accepted_count(), 2);
    check_unseen_end(&shop, &failing).await;
}

/// Two targets end at once, and neither transaction sees the other's end: no end frees the key. Nobody sends with it
/// again, which would free it too, and yet its row goes, by the dispatcher.
async fn check_unseen_end(shop: &Shop, failing: &Receiver) {
    let slow = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", slow.local_addr().unwrap());
    shop.endpoint("slow", json!({ "url": url, "timeout_seconds": 120 }), json!({})).await;
    failing.set_behaviour(Behaviour::Status(503));
    let policy = json!({ "base_delay_seconds": 3_600, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("later", json!({ "url": failing.url() }), policy).await;
    shop.execute(
        "select postrider.create_event_type('twice');
        select postrider.subscribe('twice', n) from unnest(array['slow', 'later']) n;
        select postrider.create_endpoint('unused', 'discard', '{}')",
    )
    .await;
    let publish = "select postrider.publish('twice', '{}', p_idempotency_key => 'unseen')";
    let id: i64 = shop.ask(publish).await;
    let accept = tokio::time::timeout(LONG, slow.accept());
    let (mut request, _) = accept.await.unwrap().unwrap();
    assert!(request.read(&mut [0; 4096]).await.unwrap() > 0, "it is under way");
    shop.until(&format!(
        "select exists (
            select
            from postrider.deferred d
            join postrider.endpoints e on e.id = d.endpoint_id
            where d.message_id = {id}
            and e.name = 'later')"
    ))
    .await;
    // One ends in a transaction that stays open, and meanwhile the other.
    let operator = shop.client().await;
    let skip = format!("begin; select postrider.skip_delivery({id}, 'later', 'seen to')");
    operator.batch_execute(&skip).await.unwrap();
    request.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    shop.until(&format!(
        "select exists (
            select
            from postrider.subscriptions s
            join postrider.endpoints e on e.id = s.endpoint_id
            cross join lateral postrider.delivery_end({id}, s.id) f
            where s.event_type = 'twice'
            and e.name = 'slow'
            and f.status = 'completed')"
    ))
    .await;
    let is_held = "select exists (select from postrider.idempotency_key where key = 'unseen')";
    assert!(shop.ask::<bool>(is_held).await, "the other end is not committed");
    operator.batch_execute("commit").await.unwrap();
    // It is looked for once a minute, and soon after an endpoint is gone.
    shop.execute("select postrider.drop_endpoint('unused')").await;
    shop.until(&is_held.replace("select exists", "select not exists")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_holds_a_key_longer() {
    let shop = Shop::open_to_receivers().await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("good", &good.url()).await;
    shop.execute("select postrider.set_setting('idempotency_window', '2')").await;
    let _dispatcher = shop.serve().await;
    let send = send("good", "k", "");
    let first: i64 = shop.ask(&send).await;
    shop.until(&format!("select postrider.is_done({first})")).await;
    // One that took longer than the window has no key any more.
    shop.until(
        "select coalesce(bool_and(k.ended_at is not null), true) from postrider.idempotency_key k",
    )
    .await;
    let second = until_free(&shop, &send, first).await;
    let apart: f64 = shop
        .ask(&format!(
            "select extract(epoch from b.created_at - a.created_at)::float8
            from postrider.message a
            join postrider.message b on b.id = {second}
            where a.id = {first}"
        ))
        .await;
    assert!(apart >= 1.9, "{apart}");
    good.wait_for_accepted(2, LONG).await.unwrap();
    assert_eq!(good.accepted_count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_nothing_came_of_is_free_at_once() {
    let shop = Shop::open_to_receivers().await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let refusing = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.quick_endpoint("good", &good.url()).await;
    shop.quick_endpoint("refusing", &refusing.url()).await;
    shop.quick_endpoint("paused", &good.url()).await;
    shop.execute("select postrider.pause_endpoint('paused')").await;
    let _dispatcher = shop.serve().await;
    // By default, whatever runs a second time sends each order once.
    for endpoint in ["good", "refusing"] {
        let again = send(endpoint, "order", "");
        let first: i64 = shop.ask(&again).await;
        shop.until("select bool_and(k.ended_at is not null) from postrider.idempotency_key k")
            .await;
        assert_eq!(shop.ask::<i64>(&again).await, first);
    }
    let expiring = send("paused", "expired", ", p_expires_at => now() + interval '5 seconds'");
    let first: i64 = shop.ask(&expiring).await;
    until_free(&shop, &expiring, first).await;
    let cancelled = send("paused", "cancelled", "");
    let first: i64 = shop.ask(&cancelled).await;
    shop.until(&format!("select postrider.cancel_message({first})")).await;
    assert_ne!(shop.ask::<i64>(&cancelled).await, first);

    // What an operator skips has ended as a dead letter has: somebody has seen to it.
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    let policy = json!({ "base_delay_seconds": 3_600, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("failing", json!({ "url": failing.url() }), policy).await;
    let skipped = send("failing", "skipped", "");
    let first: i64 = shop.ask(&skipped).await;
    shop.until(&format!(
        "select exists (select from postrider.deferred where message_id = {first})"
    ))
    .await;
    shop.execute(&format!("select postrider.skip_delivery({first}, null, 'seen to')")).await;
    let status = format!("select status from postrider.message_status({first})");
    assert_eq!(shop.ask::<String>(&status).await, "skipped");
    assert_eq!(shop.ask::<i64>(&skipped).await, first);
    assert_eq!(good.accepted_count() + refusing.request_count(), 2);
}
