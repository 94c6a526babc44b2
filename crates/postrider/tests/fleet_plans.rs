//! What worker fleets touch: the calls of workers cost the same however much waits.
//!
//! The statements are inside of functions; `explain` shows how many buffers a call touches with all that
//! it calls.

use crate::shop::{
    Shop,
    executing::{Held, register, start, take},
};
use postrider_testkit::postgres::Options;
use serde_json::Value;
use tokio_postgres::{Client, SimpleQueryMessage};

/// A shop where nobody vacuums or analyzes: whoever plans a statement anew because of that, reads catalogs.
async fn open() -> Shop {
    Shop::open_migrated_with(Options::default().set("autovacuum", "off")).await
}

/// How many buffers a statement touches; what it does is undone, unless it is kept.
async fn buffers(client: &Client, sql: &str) -> u64 {
    let explained = format!("explain (analyze, buffers, format json) {sql}");
    let rows = client.simple_query(&explained).await.unwrap_or_else(|e| panic!("{e:?}: {sql}"));
    let text = rows.iter().find_map(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let plan = serde_json::from_str::<Value>(text.unwrap()).unwrap()[0]["Plan"].clone();
    ["Shared Hit Blocks", "Shared Read Blocks"]
        .iter()
        .map(|name| plan[name].as_u64().unwrap())
        .sum()
}

/// Writes executions that wait, of an action, in a queue.
async fn fill(client: &Client, action: &str, queue: &str, count: u32) {
    client
        .batch_execute(&format!(
            "with written as (
                insert into postrider.execution (
                    action, parameters, pool, priority, ttl_ms, timeout_ms, max_retries)
                select '{action}', '{{}}', 'default', 0, 3600000, 3600000, 0
                from generate_series(1, {count})
                returning id
            )
            insert into postrider.live_execution (
                id, generation, action, queue, pool, status, priority, max_retries, ttl_ms, timeout_ms, requested_at,
                expires_at, due_at)
            select
                w.id, postrider.enter_generation(), '{action}', '{queue}', 'default', 'requested', 0, 0, 3600000, 3600000,
                now() - interval '1 minute', now() + interval '1 hour', now() + interval '1 hour'
            from written w"
        ))
        .await
        .unwrap();
}

/// What the calls of a worker touch, each undone.
async fn measure(client: &Client, w: i32, scheduled: Held, running: Held) -> Vec<(String, u64)> {
    let calls = [
        format!("select count(*) from postrider.take_executions({w}, 10)"),
        "select postrider.check_executions(1000)".to_owned(),
        "select postrider.check_workers()".to_owned(),
        format!("select count(*) from postrider.worker_heartbeat({w})"),
        format!("select postrider.complete_execution({}, {})", running.id, running.fence),
        format!("select postrider.release_execution({}, {})", running.id, running.fence),
        "select count(*) from postrider.dispatch_executions(10)".to_owned(),
        "select count(*) from postrider.worker_heartbeat(2)".to_owned(),
        format!("select postrider.start_execution({}, {})", scheduled.id, scheduled.fence),
        format!(
            "select postrider.note_published(array[{}], array[{}], true)",
            scheduled.id, scheduled.fence
        ),
    ];
    let mut found = Vec::new();
    for call in calls {
        client.batch_execute("begin").await.unwrap();
        // Plans are made and catalogs read by the first one.
        buffers(client, &call).await;
        client.batch_execute("rollback; begin").await.unwrap();
        found.push((call.clone(), buffers(client, &call).await));
        client.batch_execute("rollback").await.unwrap();
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_workers_cost_the_same_however_much_waits() {
    let shop = open().await;
    let client = shop.client().await;
    // Filling the tables takes longer than a worker may be silent.
    client
        .batch_execute(
            "select postrider.set_setting('worker_stale_after', '3600');
            select postrider.set_action('blocked', p_concurrency => 1)",
        )
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 1000").await.id;
    register(&client, "'r', 'rabbits', p_capacity => 10, p_carrier => 'rabbitmq'").await;
    fill(&client, "blocked", "pool:default", 1).await;
    let scheduled = take(&client, w, 1).await[0];
    fill(&client, "free", "pool:default", 1).await;
    let running = start(&client, take(&client, w, 1).await[0]).await.unwrap();
    fill(&client, "blocked", "pool:default", 1800).await;
    fill(&client, "free", "pool:default", 100).await;
    fill(&client, "free", "pool:rabbits", 100).await;
    let small = measure(&client, w, scheduled, running).await;
    fill(&client, "blocked", "pool:default", 180_000).await;
    fill(&client, "free", "pool:default", 10_000).await;
    fill(&client, "free", "pool:rabbits", 10_000).await;
    // Many lie in RabbitMQ.
    fill(&client, "mail", "worker:2", 20_000).await;
    client
        .batch_execute(
            "update postrider.live_execution
            set status = 'scheduled', worker_id = 2, worker_epoch = 1, carrier = 'rabbitmq',
                scheduled_at = now()
            where queue = 'worker:2'",
        )
        .await
        .unwrap();
    // What busy workers have ended, `w` nothing: neither never counted, nor counted, nor counted when it was otherwise, is
    // it read by who is idle.
    client
        .batch_execute(
            "insert into postrider.execution_end (
                execution_id, xid, attempt, is_final, status, action, worker_id, requested_at, ended_at)
            select -g, g::text::xid8, 1, true, 'completed', 'free', 3 + g % 5, now(), now()
            from generate_series(1, 50000) g",
        )
        .await
        .unwrap();
    let mut large = measure(&client, w, scheduled, running).await;
    for change in [
        "vacuum analyze",
        "update postrider.execution_end set worker_id = worker_id + 100 where worker_id >= 3",
    ] {
        client.batch_execute(change).await.unwrap();
        let measured = measure(&client, w, scheduled, running).await;
        for (large, measured) in large.iter_mut().zip(measured) {
            large.1 = large.1.max(measured.1);
        }
    }
    let mut wrong = Vec::new();
    for ((call, small), (_, large)) in small.iter().zip(&large) {
        println!("{small:6} {large:6} {call}");
        // It counts up to 10,000 that lie in its queue.
        let counted = if call.contains("worker_heartbeat(2)") { 600 } else { 0 };
        if *large > small + small / 2 + 60 + counted {
            wrong.push(format!("{small} {large} {call}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whoever ends many executions leaves dead entries of indexes behind; what a call touches must not grow with
/// them, not even while an open transaction keeps vacuum from removing any.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_workers_cost_the_same_however_long_a_transaction_stays_open() {
    const ROUNDS: usize = 15;
    const IN_ROUND: u32 = 2_500;
    let shop = open().await;
    let client = shop.client().await;
    client
        .batch_execute("select postrider.set_setting('worker_stale_after', '3600')")
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 10000").await.id;
    register(&client, "'r', 'rabbits', p_capacity => 10, p_carrier => 'rabbitmq'").await;
    fill(&client, "slow", "pool:default", 2).await;
    let scheduled = take(&client, w, 1).await[0];
    let running = start(&client, take(&client, w, 1).await[0]).await.unwrap();
    let pinning = shop.client().await;
    pinning
        .batch_execute("begin isolation level repeatable read; select 1 from postrider.worker")
        .await
        .unwrap();

    let mut measured = Vec::new();
    for _ in 0..ROUNDS {
        fill(&client, "quick", "pool:default", IN_ROUND).await;
        // As in life, where that takes a second, and more calls.
        client
            .batch_execute(
                "update postrider.execution_generation set created_at = created_at - interval '1 s';
                select postrider.check_generations();
                select postrider.check_generations()",
            )
            .await
            .unwrap();
        let sql = "select s.execution_id, s.fence from postrider.take_executions($1, 10000) t
            cross join lateral postrider.start_execution(t.execution_id, t.fence) s";
        let rows = client.query(sql, &[&w]).await.unwrap();
        let (ids, fences): (Vec<i64>, Vec<i64>) =
            rows.iter().map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1))).unzip();
        assert_eq!(ids.len(), IN_ROUND as usize);
        let sql = "select count(*) filter (where postrider.complete_execution(n.id, n.fence))
            from unnest($1::bigint[], $2::bigint[]) n (id, fence)";
        let ended: i64 = client.query_one(sql, &[&ids, &fences]).await.unwrap().get(0);
        assert_eq!(ended, i64::from(IN_ROUND));
        measured.push(measure(&client, w, scheduled, running).await);
    }
    let generation_count = shop.ask::<i64>("select count(*) from postrider.execution_generation");
    assert!(generation_count.await < 6);
    // What was running all the time has come along.
    assert!(
        shop.ask::<bool>(&format!(
            "select postrider.complete_execution({}, {})",
            running.id, running.fence
        ))
        .await
    );

    let largest = |rounds: &[Vec<(String, u64)>], call: usize| {
        rounds.iter().map(|round| round[call].1).max().unwrap()
    };
    let mut wrong = Vec::new();
    for (call, (sql, _)) in measured[0].iter().enumerate() {
        let early = largest(&measured[..ROUNDS / 3], call);
        let late = largest(&measured[ROUNDS / 3..], call);
        println!("{early:6} {late:6} {sql}");
        if late > early + early / 4 + 60 {
            wrong.push(format!("{early} {late} {sql}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    pinning.batch_execute("rollback").await.unwrap();
}
