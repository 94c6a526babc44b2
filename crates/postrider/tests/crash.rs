//! Faults while messages flow, ordering keys, and a message that kills its dispatcher, judged by the
//! ledger: the short form of what `cargo xtask prove` runs in full.

use std::path::Path;

use postrider_proofs::prove::{self, OrderingScale, Scale};

const BINARY: &str = env!("CARGO_BIN_EXE_postrider");

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_invented_or_doubled_without_a_cause() {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let figures = prove::prove_faults(Path::new(BINARY), Scale::SHORT, seed).await.unwrap();
    println!("{figures}");
    assert!(figures.is_balanced(), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_key_come_one_after_the_other_whoever_dies() {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let scale = OrderingScale::SHORT;
    let figures = prove::prove_ordering(Path::new(BINARY), scale, seed).await.unwrap();
    println!("{figures}");
    assert!(figures.is_in_order(), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_backlog_for_many_endpoints_takes_little_memory() {
    let figures = prove::prove_memory(Path::new(BINARY), 20_000, 200, 100, 5_000).await.unwrap();
    println!("{figures}");
    assert!(figures.peak_bytes.max(figures.keys_peak_bytes) < 300_000_000, "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_in_order_and_delivered_once() {
    let figures = prove::prove_batch(Path::new(BINARY), 50_000).await.unwrap();
    println!("{figures}");
    assert!(figures.is_proven(), "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_kills_its_dispatcher_ends_as_a_dead_letter_and_no_other() {
    let figures = prove::prove_poison(Path::new(BINARY)).await.unwrap();
    println!("{figures}");
}
