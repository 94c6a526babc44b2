//! Faults while messages flow, judged by the ledger, and a message that kills its dispatcher.
//!
//! The short form of what `cargo xtask prove` runs in full.

mod shop;

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use shop::{Shop, serving::LONG};
use xtask::{
    process::{Dispatcher, DispatcherOptions},
    prove::{self, Scale},
    receiver::{Behaviour, Receiver},
};

const BINARY: &str = env!("CARGO_BIN_EXE_postrider");
const POISON: &str = "skull and crossbones";
/// What a supervisor and five leases take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_invented_or_doubled_without_a_cause() {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let report = prove::prove_faults(Path::new(BINARY), Scale::SHORT, seed).await.unwrap();
    println!("{report}");
    assert!(report.is_balanced(), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_backlog_for_many_endpoints_takes_little_memory() {
    let figures = prove::prove_memory(Path::new(BINARY), 20_000, 200).await.unwrap();
    println!("{figures}");
    assert!(figures.peak_bytes < 300_000_000, "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_kills_its_dispatcher_ends_as_a_dead_letter_and_no_other() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let other = Receiver::start(Behaviour::Status(200)).unwrap();
    let policy = json!({ "max_retries": 3, "base_delay_seconds": 1, "jitter": 0 });
    shop.endpoint("hooks", json!({ "url": receiver.url() }), policy.clone()).await;
    shop.endpoint("other", json!({ "url": other.url() }), policy).await;
    shop.send_many("hooks", 300).await;
    let poison = shop.send("hooks", json!({ "text": POISON })).await;
    shop.send_many("hooks", 300).await;
    shop.send_many("other", 300).await;

    // A supervisor starts it again whenever it died.
    let options =
        DispatcherOptions::serve(BINARY, &shop.url()).variable("POSTRIDER_TEST_ABORT_ON", POISON);
    let began = Instant::now();
    let mut deaths = 0;
    let is_dead = "select exists (select from postrider.dead_letter)";
    let mut dispatcher = Dispatcher::start(&options).unwrap();
    while !shop.ask::<bool>(is_dead).await {
        assert!(began.elapsed() < PATIENCE, "no dead letter after {deaths} deaths");
        if dispatcher.wait(Duration::from_millis(100)).await.is_ok() {
            deaths += 1;
            dispatcher = Dispatcher::start(&options).unwrap();
        }
    }
    println!("a dead letter after {deaths} deaths and {:?}", began.elapsed());
    receiver.wait_for_accepted(600, LONG).await.unwrap();
    other.wait_for_accepted(300, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;

    let letters: Vec<Value> =
        shop.ask("select array_agg(to_jsonb(dead_letter)) from postrider.dead_letter").await;
    let [letter] = &letters[..] else { panic!("{letters:#?}") };
    assert_eq!(letter["message_id"], poison);
    assert_eq!(letter["cause"], "stale");
    assert_eq!(letter["retry_count"], deaths);
    let error = letter["last_error"].as_str().unwrap();
    assert!(error.contains("Recovered from stale processing state"), "{error}");
    // It may be attempted as often as its policy allows, the first time included.
    assert_eq!(deaths, 4);
    let ids: BTreeSet<_> = receiver.distinct_ids().into_iter().map(|id| id.0).collect();
    assert!(!ids.contains(&poison));

    // Sent again, it is one more dead letter; what is sent meanwhile arrives.
    assert!(dispatcher.is_running());
    shop.send_many("hooks", 10).await;
    receiver.wait_for_accepted(610, LONG).await.unwrap();
}
