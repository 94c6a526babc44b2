//! Settings that a running dispatcher follows, and how soon.

use std::time::Duration;

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio::time::Instant;

/// How soon a change has to be followed on a busy machine; on a quiet one it is a fraction of a second.
const SOON: Duration = Duration::from_secs(15);

/// Changes a setting, then repeats `sql` (one boolean) until it is true; how long that took.
async fn change(shop: &Shop, name: &str, value: &str, sql: &str) {
    shop.execute(&format!("select postrider.set_setting('{name}', '{value}')")).await;
    let began = Instant::now();
    shop.until(sql).await;
    let took = began.elapsed();
    println!("{name} = {value}: followed after {took:?}");
    assert!(took < SOON, "{name}: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_take_effect_soon() {
    let shop = Shop::open_to_receivers().await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    let hanging = Receiver::start(Behaviour::Hang).unwrap();
    for (name, receiver) in [("good", &good), ("failing", &failing), ("hanging", &hanging)] {
        let config = json!({ "url": receiver.url() });
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'http', '{config}')"))
            .await;
    }
    let _dispatcher = shop.serve().await;

    change(
        &shop,
        "record_attempts",
        "all",
        "select count(postrider.send('good', '{}')) = 1
            and exists (select from postrider.attempt where outcome = 'accepted')",
    )
    .await;

    // Retries are at the end of what the default is, and sooner when that changes.
    change(
        &shop,
        "retry_base_delay",
        "1",
        "select count(postrider.send('failing', '{}')) = 1 and exists (
            select
            from postrider.deferred d
            where d.retry_count = 1
            and d.run_at < clock_timestamp() + interval '3 seconds'
        )",
    )
    .await;
    change(
        &shop,
        "default_max_retries",
        "0",
        "select count(postrider.send('failing', '{}')) = 1 and exists (
            select
            from postrider.dead_letter d
            where d.retry_count = 0
            and d.cause = 'retries_exhausted'
        )",
    )
    .await;
    shop.execute("select postrider.set_setting('http_timeout', '1')").await;
    let began = Instant::now();
    shop.until(
        "select count(postrider.send('hanging', '{}')) = 1 and exists (
            select from postrider.attempt a where a.error ilike '%1 s%' and a.status is null
        )",
    )
    .await;
    println!("http_timeout: a request has ended after {:?}", began.elapsed());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());

    change(
        &shop,
        "allow_internal_destinations",
        "off",
        "select count(postrider.send('good', '{}')) = 1 and exists (
            select from postrider.attempt a where a.error like '%allow_internal_destinations%'
        )",
    )
    .await;
    good.clear();
    shop.execute("select postrider.set_setting('allow_internal_destinations', '127.0.0.0/8')")
        .await;
    let began = Instant::now();
    while good.accepted_count() == 0 {
        assert!(began.elapsed() < SOON);
        shop.send("good", json!({})).await;
    }
    println!("allow_internal_destinations: allowed after {:?}", began.elapsed());

    shop.execute("select postrider.set_setting('max_payload_size', '1024')").await;
    let send = "select postrider.send('good', jsonb_build_object('x', repeat('x', 1100)))";
    assert_eq!(shop.refusal(send).await, "22023", "at once");
    shop.execute("select postrider.reset_setting('max_payload_size')").await;
    shop.execute(send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ordering_scope_is_followed() {
    let shop = Shop::open_to_receivers().await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    for (name, receiver) in [("good", &good), ("failing", &failing)] {
        shop.endpoint(name, json!({ "url": receiver.url() }), json!({})).await;
    }
    let _dispatcher = shop.serve().await;
    let send = |endpoint: &str, key: usize| {
        format!(
            "select postrider.send_with_options('{endpoint}', '{{}}', p_ordering_key => '{key}')"
        )
    };
    // While the scope is the endpoint, a key that waits elsewhere is no obstacle.
    shop.execute(&send("failing", 0)).await;
    failing.wait_for(1, LONG).await.unwrap();
    shop.execute(&send("good", 0)).await;
    good.wait_for_accepted(1, LONG).await.unwrap();
    shop.execute("select postrider.set_setting('ordering_scope', 'global')").await;
    let began = Instant::now();
    for key in 1.. {
        shop.execute(&send("failing", key)).await;
        failing.wait_for(key + 1, LONG).await.unwrap();
        let id: i64 = shop.ask(&send("good", key)).await;
        shop.until(&format!(
            "select postrider.is_done({id}) or exists (
                select from postrider.deferred d where d.message_id = {id} and d.is_blocked
            )"
        ))
        .await;
        if !shop.ask::<bool>(&format!("select postrider.is_done({id})")).await {
            break;
        }
    }
    println!("ordering_scope: followed after {:?}", began.elapsed());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    shop.execute("select postrider.set_setting('ordering_scope', 'endpoint')").await;
    shop.until("select not exists (select from postrider.deferred where is_blocked)").await;
}
