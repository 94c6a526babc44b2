//! Many endpoints that hang at once or do what no receiver should, and one that does not.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_proofs::prove::{self, ReceiverScale};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;

const DEAD: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn sixty_hanging_endpoints_delay_no_other() {
    let shop = Shop::open_to_receivers().await;
    let (good, bad) = (
        Receiver::start(Behaviour::Status(200)).unwrap(),
        Receiver::start(Behaviour::Hang).unwrap(),
    );
    shop.endpoint("good", json!({ "url": good.url() }), json!({})).await;
    for number in 0..DEAD {
        shop.endpoint(&format!("bad-{number}"), json!({ "url": bad.url() }), json!({})).await;
    }
    let _dispatcher = shop.serve().await;
    for number in 0..DEAD {
        shop.send_many(&format!("bad-{number}"), 1000).await;
    }
    bad.wait_for(900, LONG).await.unwrap();
    let pulse = Pulse::of(&shop).await;
    let client = shop.client().await;
    let mut committed_at = HashMap::new();
    let mut pace = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..150 {
        pace.tick().await;
        let id: i64 =
            client.query_one("select postrider.send('good', '{}')", &[]).await.unwrap().get(0);
        committed_at.insert(id, Instant::now());
    }
    good.wait_for_accepted(150, LONG).await.unwrap();
    let mut waits: Vec<Duration> = good
        .requests()
        .iter()
        .map(|r| r.at.saturating_duration_since(committed_at[&r.id.unwrap().0]))
        .collect();
    waits.sort();
    println!(
        "commit to arrival: median {:?}, p90 {:?}, maximum {:?}; {} in flight to those that hang",
        waits[waits.len() / 2],
        waits[waits.len() * 9 / 10],
        waits.last(),
        bad.in_flight_peak()
    );
    // A place that one of those has is free after ten seconds.
    let longest = Duration::from_secs(3) + pulse.still();
    assert!(waits[waits.len() * 99 / 100] < longest, "{waits:?}");
}

/// The short form of what `cargo xtask prove --only receivers` runs in full.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_receivers_do_the_others_get_theirs_and_the_lease_stays() {
    let binary = Path::new(env!("CARGO_BIN_EXE_postrider"));
    let figures = prove::prove_receivers(binary, ReceiverScale::SHORT).await.unwrap();
    println!("{figures}");
    assert!(figures.is_proven(), "{figures}");
}
