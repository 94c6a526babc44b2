//! Deliveries that wait in `postrider.deferred`, with a running dispatcher and a real receiver.

mod shop;

use std::time::Duration;

use serde_json::json;
use shop::Shop;
use xtask::{
    process::{Dispatcher, DispatcherOptions},
    receiver::{Answer, Behaviour, Receiver},
};

const TIMEOUT: Duration = Duration::from_secs(120);

async fn serve(shop: &Shop) -> Dispatcher {
    shop.execute("select postrider.set_setting('allow_internal_destinations', 'on')").await;
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &shop.url());
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", TIMEOUT).await.unwrap();
    dispatcher
}

async fn create(shop: &Shop, name: &str, url: &str) {
    let sql = format!(
        "select postrider.create_endpoint('{name}', 'http', '{}');
        update postrider.endpoints
        set retry_policy = '{{\"base_delay_seconds\": 1, \"backoff\": \"fixed\", \"jitter\": 1}}'
        where name = '{name}'",
        json!({ "url": url, "concurrency": 4 })
    );
    shop.execute(&sql).await;
}

/// Waits until a query that returns one boolean says true.
async fn until(shop: &Shop, sql: &str) {
    let client = shop.client().await;
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
        assert!(tokio::time::Instant::now() < deadline, "not within {TIMEOUT:?}: {sql}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_message_is_accepted_once() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 2, status: 503 }).unwrap();
    create(&shop, "flaky", &receiver.url()).await;
    // Fewer failures in a row than would open the circuit now.
    shop.execute("select postrider.set_setting('circuit_breaker_threshold', '1000')").await;
    let _dispatcher = serve(&shop).await;
    let send = "select postrider.send_batch('flaky', array_agg(jsonb_build_object('n', n)))
        from generate_series(1, 450) n";
    shop.execute(send).await;
    receiver.wait_for_accepted(450, TIMEOUT).await.unwrap();
    until(&shop, "select not exists (select from postrider.deferred)").await;
    assert_eq!(receiver.accepted_count(), 450);
    assert_eq!(receiver.request_count(), 1_350, "two failures and a success each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_does_not_wait_for_one_that_hangs_with_another_one_behind_it() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| match arrival.earlier_count {
        _ if arrival.body.windows(6).any(|part| part == b"\"hang\"") => Answer::default(),
        0 => Answer::status(503),
        _ => Answer::status(200),
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", config, policy).await;
    let _dispatcher = serve(&shop).await;
    let hang =
        "select postrider.send_with_options('hooks', '{\"hang\": 1}', p_ordering_key => 'k')";
    shop.execute(hang).await;
    receiver.wait_for(1, TIMEOUT).await.unwrap();
    shop.execute(hang).await;
    shop.execute("select postrider.send('hooks', '{}')").await;
    receiver.wait_for_accepted(1, TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_dropped_endpoint_becomes_a_dead_letter() {
    let shop = Shop::open_migrated().await;
    create(&shop, "gone", "http://127.0.0.1:9/").await;
    create(&shop, "read_later", "http://127.0.0.1:9/").await;
    shop.execute("select postrider.send('read_later', '{\"n\": 2}')").await;
    shop.execute("select postrider.drop_endpoint('read_later', p_force => true)").await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send('gone', '{\"n\": 1}')").await;
    until(&shop, "select exists (select from postrider.deferred where retry_count > 0)").await;
    shop.execute("select postrider.drop_endpoint('gone', p_force => true)").await;
    until(
        &shop,
        "select count(*) = 2 and bool_and(cause = 'endpoint_dropped') from postrider.dead_letter",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn successes_are_recorded_when_the_setting_says_so() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send('sink', '{}')").await;
    until(&shop, "select exists (select from postrider.done)").await;
    until(&shop, "select not exists (select from postrider.attempt)").await;
    shop.execute("select postrider.set_setting('record_attempts', 'all')").await;
    until(
        &shop,
        "select count(postrider.send('sink', '{}')) = 1
            and exists (select from postrider.attempt where outcome = 'accepted')",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_gone_is_disabled_when_it_wants_that() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::Status(410)).unwrap();
    let config = json!({ "url": receiver.url(), "auto_disable_on_gone": true });
    shop.execute(&format!("select postrider.create_endpoint('leaving', 'http', '{config}')")).await;
    create(&shop, "staying", &receiver.url()).await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send(name, '{}') from postrider.endpoints").await;
    until(&shop, "select count(*) = 2 and bool_and(cause = 'gone') from postrider.dead_letter")
        .await;
    until(
        &shop,
        "select bool_and(e.enabled = (e.name = 'staying'))
            and count(*) filter (where l.event = 'endpoint.disabled') = 1
        from postrider.endpoints e
        left join postrider.event_log l
        on l.endpoint_name = e.name
        and l.event = 'endpoint.disabled'",
    )
    .await;
}
