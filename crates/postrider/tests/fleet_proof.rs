//! A fleet of worker processes while workers, dispatchers and servers fail, judged by the workers' own
//! records: the short form of what `cargo xtask prove --only fleets` runs in full.

mod shop;

use std::path::Path;

use shop::Shop;
use xtask::prove::{self, Carrier, FleetScale, WorkerProgram};

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
    let arguments = ["proof_worker", "--exact", "--ignored", "--nocapture"];
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

#[tokio::test]
async fn a_worker_gets_what_was_committed_while_it_waited_for_a_lock() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.register_worker('one', p_capacity => 10);
        select postrider.set_action('a.limited', p_concurrency => 1);
        select postrider.submit_execution('a.limited')",
    )
    .await;
    let holder = shop.postgres.connect_to("shop").await.unwrap();
    holder.batch_execute("begin").await.unwrap();
    holder.execute("select postrider.lock_worker(1)", &[]).await.unwrap();
    let submitter = shop.postgres.connect_to("shop").await.unwrap();
    submitter.batch_execute("begin; select postrider.submit_execution('b.free')").await.unwrap();

    let taker = shop.postgres.connect_to("shop").await.unwrap();
    let take = tokio::spawn(async move {
        let take = "select execution_id from postrider.take_executions(1, 10)";
        taker.query(take, &[]).await.unwrap().len()
    });
    shop.until(
        "select exists (
            select from pg_stat_activity where query like '%take_executions(1, 10)'
            and wait_event_type = 'Lock')",
    )
    .await;
    submitter.batch_execute("commit").await.unwrap();
    holder.batch_execute("commit").await.unwrap();
    let taken = take.await.unwrap();
    let scheduled: i64 =
        shop.ask("select count(*) from postrider.live_execution where status = 'scheduled'").await;
    assert_eq!((taken, scheduled), (2, 2));
}
