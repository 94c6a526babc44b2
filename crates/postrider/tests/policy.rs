//! Which policy a running dispatcher follows, and when its retries come.

use std::time::Duration;

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

/// How much later than computed a retry may come on a busy machine, while nothing stands still.
const SLACK: f64 = 1.9;

/// The waits between the requests of one message, in seconds.
fn waits(receiver: &Receiver) -> Vec<f64> {
    receiver.with_requests(|requests| {
        requests.windows(2).map(|two| (two[1].at - two[0].at).as_secs_f64()).collect()
    })
}

/// A message that always fails is attempted after these waits and then dead.
async fn check(shop: &Shop, pulse: &Pulse, name: &str, policy: Value, expected: &[f64]) {
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.endpoint(name, json!({ "url": receiver.url() }), policy).await;
    let id = shop.send(name, json!({})).await;
    let is_dead =
        format!("select exists (select from postrider.dead_letter where message_id = {id})");
    shop.until(&is_dead).await;
    let slack = SLACK + pulse.still().as_secs_f64();
    let waits = waits(&receiver);
    println!("{name}: {waits:.2?}");
    assert_eq!(waits.len(), expected.len(), "{name}: {waits:?}");
    for (wait, expected) in waits.iter().zip(expected) {
        assert!((*expected - 0.01..expected + slack).contains(wait), "{name}: {waits:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_come_when_the_policy_says() {
    let shop = Shop::open_to_receivers().await;
    let settings = "select postrider.set_setting(name, value)
        from (values
            ('retry_base_delay', '4'), ('retry_increment', '5'), ('retry_max_delay', '8'),
            ('default_max_retries', '2')) s (name, value)";
    shop.execute(settings).await;
    let _dispatcher = shop.serve().await;
    let pulse = &Pulse::of(&shop).await;
    let policy = |policy: Value| {
        let mut whole = json!({ "jitter": 0, "max_retries": 3, "base_delay_seconds": 2 });
        whole.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
        whole
    };
    tokio::join!(
        check(&shop, pulse, "exponential", policy(json!({})), &[2.0, 4.0, 8.0]),
        check(&shop, pulse, "capped", policy(json!({ "max_delay_seconds": 4 })), &[2.0, 4.0, 4.0]),
        check(
            &shop,
            pulse,
            "linear",
            policy(json!({ "backoff": "linear", "increment_seconds": 2 })),
            &[2.0, 4.0, 6.0]
        ),
        check(&shop, pulse, "fixed", policy(json!({ "backoff": "fixed" })), &[2.0, 2.0, 2.0]),
        check(&shop, pulse, "never", json!({ "max_retries": 0 }), &[]),
        // What a policy leaves out comes from the settings.
        check(&shop, pulse, "settings", json!({ "jitter": 0 }), &[4.0, 8.0]),
        check(&shop, pulse, "half", json!({ "jitter": 0, "backoff": "linear" }), &[4.0, 8.0]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_holds_from_the_next_failure_on() {
    let shop = Shop::open_to_receivers().await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    let policy = json!({ "base_delay_seconds": 4, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let id = shop.send("hooks", json!({})).await;
    shop.until("select count(*) = 1 from postrider.deferred where retry_count = 1").await;
    // The retry that is scheduled stays, and its failure is the last.
    let lower = "update postrider.endpoints set retry_policy = '{\"max_retries\": 0}'";
    shop.execute(lower).await;
    let letter = format!("from postrider.dead_letter where message_id = {id}");
    shop.until(&format!("select exists (select {letter})")).await;
    let letter: Value = shop.ask(&format!("select to_jsonb(dead_letter) {letter}")).await;
    assert_eq!(receiver.request_count(), 2, "{letter:#}");
    assert_eq!(letter["cause"], "retries_exhausted");
    assert_eq!(letter["last_error"], "[RETRYABLE] HTTP 503 Service Unavailable");
    assert_eq!(letter["error_history"].as_array().unwrap().len(), 2);
    let wait = waits(&receiver)[0];
    let slack = SLACK + pulse.still().as_secs_f64();
    assert!((4.0..4.0 + slack).contains(&wait), "{wait}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jitter_spreads_retries() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 503 }).unwrap();
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 1 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy).await;
    let _dispatcher = shop.serve().await;
    let pulse = Pulse::of(&shop).await;
    shop.send_many("hooks", 60).await;
    receiver.wait_for_accepted(60, LONG).await.unwrap();
    let mut retried: Vec<_> =
        receiver.requests().iter().filter(|r| r.attempt == 2).map(|r| r.at).collect();
    retried.sort_unstable();
    let spread = retried[59] - retried[0];
    println!("60 retries over {spread:?}");
    // What was due while the machine stood still comes all at once.
    assert!(spread + pulse.still() > Duration::from_millis(500), "{spread:?}");
}
