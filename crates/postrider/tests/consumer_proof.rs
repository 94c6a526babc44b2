//! Consumers beside writers of every kind, while PostgreSQL crashes, judged by the ledger: the short form of
//! what `cargo xtask prove --only consumers` runs in full.

use std::path::Path;

use postrider_proofs::prove::{self, ConsumerScale};

const BINARY: &str = env!("CARGO_BIN_EXE_postrider");

#[tokio::test(flavor = "multi_thread")]
async fn consumers_lose_nothing_see_nothing_twice_and_one_order() {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let scale = ConsumerScale::SHORT;
    let figures = prove::prove_consumers(Path::new(BINARY), scale, seed).await.unwrap();
    println!("{figures}");
    assert!(figures.is_proven(), "seed {seed}");
}
