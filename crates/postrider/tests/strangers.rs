//! The matrix of strangers in its short form; in full by `cargo xtask prove --only strangers`.

use std::path::Path;

use postrider_proofs::prove::{self, StrangersScale};

/// Which role holds what beside whom; `prove` takes another one each time.
const SEED: u64 = 1;

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_holds_something_open_disturbs_others() {
    let binary = Path::new(env!("CARGO_BIN_EXE_postrider"));
    let figures = prove::prove_strangers(binary, StrangersScale::SHORT, SEED).await.unwrap();
    assert!(figures.is_proven(), "{figures}");
}
