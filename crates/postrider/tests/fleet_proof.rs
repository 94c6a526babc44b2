//! A fleet of worker processes while workers, dispatchers and servers fail, judged by the workers' own
//! records: the short form of what `cargo xtask prove --only fleets` runs in full.

use std::path::Path;

use postrider_proofs::prove::{self, Carrier, FleetScale, WorkerProgram};

const BINARY: &str = env!("CARGO_BIN_EXE_postrider");

/// The workers of the proof are processes of this very program.
#[test]
#[ignore = "the proof starts it"]
fn proof_worker() {
    prove::run_fleet_worker().unwrap();
}

async fn check(carrier: Carrier) {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let arguments = ["fleet_proof::proof_worker", "--exact", "--ignored", "--nocapture"];
    let program = WorkerProgram {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(str::to_owned).to_vec(),
    };
    let scale = FleetScale::SHORT;
    let figures =
        prove::prove_fleets(Path::new(BINARY), &program, carrier, scale, seed).await.unwrap();
    println!("{figures}");
    assert!(figures.is_proven(), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_end_once_and_run_once_at_a_time() {
    check(Carrier::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_end_once_and_run_once_at_a_time_by_rabbitmq() {
    check(Carrier::Rabbitmq).await;
}
