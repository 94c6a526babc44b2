//! Worker fleets: executions move from generation to generation, and none is left in one that was given up,
//! whoever had a transaction open meanwhile.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::shop::{
    Shop,
    executing::{register, start, submit, take, taken},
    producing::pid_of,
};
use postrider_testkit::postgres::Options;
use tokio_postgres::Client;

/// The present generation is full, and one second old.
const FULL: &str = "update postrider.execution_generation
    set ends_with = begins_after, created_at = created_at - interval '1 s'
    where id = (select last_value from postrider.present_generation)";
const PATIENT: &str = "select postrider.set_setting('worker_stale_after', '3600')";
const CHECK: &str = "select postrider.check_generations()";

async fn generations(client: &Client) -> Vec<i32> {
    let sql = "select g.id from postrider.execution_generation g order by g.id";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn present(client: &Client) -> i64 {
    let sql = "select last_value from postrider.present_generation";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// The next generation begins.
async fn turn(client: &Client) {
    let before = present(client).await;
    client.batch_execute(FULL).await.unwrap();
    while present(client).await == before {
        client.batch_execute(CHECK).await.unwrap();
    }
}

/// Whatever old generation can be given up is, each look being at one of them; these stay.
async fn settle(client: &Client, expected: &[i64]) {
    let expected: Vec<i32> = expected.iter().map(|id| i32::try_from(*id).unwrap()).collect();
    let settled = async {
        while generations(client).await != expected {
            client.batch_execute(CHECK).await.unwrap();
        }
        for _ in 0..20 {
            client.batch_execute(CHECK).await.unwrap();
        }
    };
    let is_over = tokio::time::timeout(Duration::from_mins(1), settled).await.is_ok();
    assert_eq!((generations(client).await, is_over), (expected, true));
}

async fn fleet() -> (Shop, Client, i32) {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(PATIENT).await.unwrap();
    let w = register(&client, "'w', p_capacity => 1000").await.id;
    (shop, client, w)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_moves_and_keeps_its_place() {
    let (_shop, client, w) = fleet().await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(submit(&client, "'a'").await);
    }
    let held = take(&client, w, 2).await;
    let running = start(&client, held[0]).await.unwrap();
    turn(&client).await;
    // Nothing moves as long as more than a tenth is left, and more than twenty.
    settle(&client, &[1, 2]).await;
    let late = submit(&client, "'a'").await;
    let urgent = submit(&client, "'a', p_priority => 5").await;
    assert_eq!(taken(&client, w, 28).await[..2], [urgent, ids[2]]);
    client
        .batch_execute(
            "select postrider.complete_execution(s.execution_id, s.fence)
            from postrider.live_execution l
            cross join lateral postrider.start_execution(l.id, l.fence) s
            where l.id between 3 and 29 and l.status = 'scheduled'",
        )
        .await
        .unwrap();
    turn(&client).await;
    turn(&client).await;
    settle(&client, &[present(&client).await]).await;
    // Who runs or has it does not notice; what waits is still before what came later.
    let newest = submit(&client, "'a'").await;
    let sql = "select postrider.complete_execution($1, $2)";
    let ended = client.query_one(sql, &[&running.id, &running.fence]).await.unwrap();
    assert!(ended.get::<_, bool>(0));
    assert!(start(&client, held[1]).await.is_some());
    assert_eq!(taken(&client, w, 100).await, [ids[29], late, newest]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generation_lasts_as_long_as_a_transaction_that_wrote_into_it() {
    let options = Options::default().set("max_prepared_transactions", "4");
    let shop = Shop::open_migrated_with(options).await;
    let client = shop.client().await;
    client.batch_execute(PATIENT).await.unwrap();
    let w = register(&client, "'w', p_capacity => 1000").await.id;

    let open = shop.client().await;
    open.batch_execute("begin").await.unwrap();
    let first = submit(&open, "'open'").await;
    let snapshot = shop.client().await;
    snapshot
        .batch_execute("begin isolation level repeatable read; select 1 from postrider.worker")
        .await
        .unwrap();
    let undone = shop.client().await;
    undone.batch_execute("begin; savepoint s").await.unwrap();
    submit(&undone, "'undone'").await;
    undone.batch_execute("rollback to s").await.unwrap();
    let prepared = shop.client().await;

    for _ in 0..3 {
        turn(&client).await;
    }
    let second = present(&client).await;
    settle(&client, &[1, second]).await;
    prepared.batch_execute("begin").await.unwrap();
    let third = submit(&prepared, "'prepared'").await;
    prepared.batch_execute("prepare transaction 'p'").await.unwrap();
    // An old snapshot sees none of the new generations, and writes into the present one.
    let by_snapshot = submit(&snapshot, "'snapshot'").await;
    // What was rolled back to a savepoint holds nothing.
    let again = submit(&undone, "'again'").await;
    for _ in 0..3 {
        turn(&client).await;
    }
    settle(&client, &[1, second, present(&client).await]).await;
    assert!(taken(&client, w, 100).await.is_empty());

    open.batch_execute("commit").await.unwrap();
    snapshot.batch_execute("commit").await.unwrap();
    undone.batch_execute("commit").await.unwrap();
    client.batch_execute("commit prepared 'p'").await.unwrap();
    turn(&client).await;
    settle(&client, &[present(&client).await]).await;
    let all = BTreeSet::from_iter(taken(&client, w, 100).await);
    assert_eq!(all, BTreeSet::from([first, third, by_snapshot, again]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generation_begins_once_others_see_it() {
    let (shop, client, w) = fleet().await;
    let other = shop.client().await;
    client.batch_execute(FULL).await.unwrap();
    other.batch_execute("begin").await.unwrap();
    for _ in 0..3 {
        other.batch_execute(CHECK).await.unwrap();
    }
    assert_eq!(generations(&other).await, [1, 2]);
    assert_eq!(present(&client).await, 1);
    let id = submit(&client, "'a'").await;
    // Nobody waits for who keeps that to himself: others begin another one, and go on.
    turn(&client).await;
    assert!(present(&client).await > 2);
    let ids = [id, submit(&client, "'a'").await];
    other.batch_execute(CHECK).await.unwrap();
    other.batch_execute("commit").await.unwrap();
    // The one that comes too late is never the present one.
    assert!(present(&client).await > 2);
    settle(&client, &[present(&client).await]).await;
    assert_eq!(taken(&client, w, 10).await, ids);

    // Where a transaction has one snapshot nothing is decided.
    let before = (generations(&client).await, present(&client).await);
    client.batch_execute(FULL).await.unwrap();
    client.batch_execute("begin isolation level repeatable read").await.unwrap();
    for _ in 0..3 {
        client.batch_execute(CHECK).await.unwrap();
    }
    client.batch_execute("commit").await.unwrap();
    assert_eq!((generations(&client).await, present(&client).await), before);
    turn(&client).await;
    assert!(present(&client).await > before.1);

    // A dump has the sequence as it is later than the table: what was written meanwhile is found again.
    client.batch_execute("select setval('postrider.present_generation', 100)").await.unwrap();
    let found_again = submit(&client, "'a'").await;
    client.batch_execute(CHECK).await.unwrap();
    assert_eq!(taken(&client, w, 10).await, [found_again]);
}

/// Between the look which generation is present and the lock of it another one may begin.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_too_late_writes_into_the_next_generation() {
    let (shop, client, w) = fleet().await;
    let holding = shop.client().await;
    holding
        .batch_execute("begin; lock table postrider.generation_lock_1 in exclusive mode")
        .await
        .unwrap();
    let late = shop.client().await;
    let pid = pid_of(&late).await;
    let submitting = tokio::spawn(async move { submit(&late, "'late'").await });
    let is_waiting = format!("select cardinality(pg_blocking_pids({pid})) > 0");
    shop.until(&is_waiting).await;
    turn(&client).await;
    // Nobody gives it up while he waits; and if somebody did, he would look again.
    holding.batch_execute("rollback").await.unwrap();
    let id = submitting.await.unwrap();
    let sql = "select l.generation::bigint from postrider.live_execution l where l.id = $1";
    let row = client.query_one(sql, &[&id]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), present(&client).await);
    settle(&client, &[present(&client).await]).await;
    assert_eq!(taken(&client, w, 10).await, [id]);
}

/// No two share a lock, however many pass beside an open transaction, and however many stay.
#[tokio::test(flavor = "multi_thread")]
async fn each_generation_that_is_there_has_a_lock_of_its_own() {
    let (shop, client, w) = fleet().await;
    let open = shop.client().await;
    open.batch_execute("begin").await.unwrap();
    let first = submit(&open, "'open'").await;
    for _ in 0..40 {
        turn(&client).await;
        settle(&client, &[1, present(&client).await]).await;
    }
    assert!(present(&client).await > 33);
    let distinct = "select count(distinct id % 32) = count(*) from postrider.execution_generation";
    assert!(shop.ask::<bool>(distinct).await);
    // With as many as locks none begins, and executions go on in the present one.
    let fill = "select postrider.submit_execution('a') from generate_series(1, 25)";
    loop {
        let before = generations(&client).await;
        client.batch_execute(fill).await.unwrap();
        client.batch_execute(FULL).await.unwrap();
        for _ in 0..4 {
            client.batch_execute(CHECK).await.unwrap();
        }
        if generations(&client).await == before {
            break;
        }
    }
    assert_eq!(generations(&client).await.len(), 32);
    assert!(shop.ask::<bool>(distinct).await);
    open.batch_execute("commit").await.unwrap();
    let waiting = shop.ask::<i64>("select count(*) from postrider.live_execution").await;
    let mut all = taken(&client, w, 1000).await;
    assert!(all.contains(&first));
    let end = "select postrider.complete_execution(s.execution_id, s.fence)
        from postrider.live_execution l
        cross join lateral postrider.start_execution(l.id, l.fence) s
        where l.status = 'scheduled'";
    client.batch_execute(end).await.unwrap();
    all.extend(taken(&client, w, 1000).await);
    assert_eq!(all.len() as i64, waiting);
    client.batch_execute(end).await.unwrap();
    turn(&client).await;
    settle(&client, &[present(&client).await]).await;
}

/// What was given up is not even looked at, however long vacuum is kept from removing it; and what a restore
/// brings back is.
#[tokio::test(flavor = "multi_thread")]
async fn looks_begin_with_the_oldest_generation() {
    let (shop, client, w) = fleet().await;
    let oldest = "select last_value from postrider.oldest_generation";
    for _ in 0..3 {
        turn(&client).await;
    }
    settle(&client, &[present(&client).await]).await;
    assert_eq!(shop.ask::<i64>(oldest).await, present(&client).await);
    // Not before others see that the one before it is gone.
    turn(&client).await;
    let other = shop.client().await;
    other.batch_execute("begin").await.unwrap();
    let id = submit(&client, "'a'").await;
    for _ in 0..40 {
        other.batch_execute(CHECK).await.unwrap();
    }
    assert!(shop.ask::<i64>(oldest).await < present(&client).await);
    other.batch_execute("rollback").await.unwrap();
    client.batch_execute("select setval('postrider.oldest_generation', 1000)").await.unwrap();
    let client = shop.client().await;
    let found = async {
        while taken(&client, w, 10).await != [id] {
            client.batch_execute(CHECK).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_mins(1), found).await.unwrap();
}

/// Applications submit and take back, workers take and end, and generations pass as fast as they can.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_however_fast_generations_pass() {
    const APPLICATIONS: u64 = 4;
    const TRANSACTIONS: usize = 120;
    let (shop, client, w) = fleet().await;
    let is_over = Arc::new(AtomicBool::new(false));
    // Nobody moves anything any more, so that what is there can be taken.
    let is_quiet = Arc::new(AtomicBool::new(false));
    let turning = {
        let (client, is_over) = (shop.client().await, Arc::clone(&is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                client.batch_execute(FULL).await.unwrap();
                for _ in 0..4 {
                    client.batch_execute(CHECK).await.unwrap();
                }
            }
        })
    };
    let mut applications = Vec::new();
    for application in 0..APPLICATIONS {
        let client = shop.client().await;
        let mut random = fastrand::Rng::with_seed(application);
        applications.push(tokio::spawn(async move {
            let mut committed = Vec::new();
            for _ in 0..TRANSACTIONS {
                let level = ["read committed", "repeatable read"][random.usize(..2)];
                client.batch_execute(&format!("begin isolation level {level}")).await.unwrap();
                let mut ids = Vec::new();
                for _ in 0..random.usize(1..5) {
                    ids.push(submit(&client, "'a'").await);
                }
                client.batch_execute("savepoint s").await.unwrap();
                let undone = submit(&client, "'a'").await;
                match random.bool() {
                    true => client.batch_execute("rollback to s").await.unwrap(),
                    false => ids.push(undone),
                }
                match random.u8(..10) {
                    0 => client.batch_execute("rollback").await.unwrap(),
                    _ => {
                        client.batch_execute("commit").await.unwrap();
                        committed.extend(ids);
                    }
                }
            }
            committed
        }));
    }
    let working = {
        let (client, is_quiet) = (shop.client().await, Arc::clone(&is_quiet));
        tokio::spawn(async move {
            let mut ended = Vec::new();
            loop {
                let is_last = is_quiet.load(Ordering::Relaxed);
                let held = take(&client, w, 20).await;
                if held.is_empty() && is_last {
                    return ended;
                }
                for one in held {
                    let running = start(&client, one).await.expect("nobody else has it");
                    let sql = "select postrider.complete_execution($1, $2)";
                    let row = client.query_one(sql, &[&running.id, &running.fence]).await.unwrap();
                    assert!(row.get::<_, bool>(0));
                    ended.push(one.id);
                }
            }
        })
    };
    let mut committed = Vec::new();
    for application in applications {
        committed.extend(application.await.unwrap());
    }
    is_over.store(true, Ordering::Relaxed);
    turning.await.unwrap();
    is_quiet.store(true, Ordering::Relaxed);
    let mut ended = working.await.unwrap();
    ended.sort_unstable();
    committed.sort_unstable();
    assert_eq!(ended, committed);
    assert!(present(&client).await > 5, "generations passed meanwhile");
    settle(&client, &[present(&client).await]).await;
}
