//! The matrix of strangers in its short form; in full by `cargo xtask prove --only strangers`.

use std::path::Path;

use xtask::prove::{self, StrangersScale};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_holds_something_open_disturbs_others() {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let binary = Path::new(env!("CARGO_BIN_EXE_postrider"));
    let figures = prove::prove_strangers(binary, StrangersScale::SHORT, seed).await.unwrap();
    println!("{figures}");
    assert!(figures.is_proven(), "seed {seed}");
}
