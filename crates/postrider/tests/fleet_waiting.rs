//! Who waits for what: a worker that waits for work keeps nobody else from theirs, and an execution waits
//! where somebody looks.

use std::time::{Duration, Instant};

use crate::shop::Shop;

/// The longest wait there is: what is held to its end is held too long.
const WAIT: &str = "60 seconds";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_waits_for_an_action_at_its_limit_holds_no_lock() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.set_setting('worker_stale_after', '3600');
        select postrider.set_action('resize', p_concurrency => 1);
        select postrider.register_worker('a', p_capacity => 9);
        select postrider.register_worker('b', p_capacity => 9);
        select postrider.submit_execution('resize', p_worker => 'a') from generate_series(1, 2);
        select postrider.submit_execution('resize', p_worker => 'b')",
    )
    .await;
    let id = async |name: &str| {
        shop.ask::<i32>(&format!("select id from postrider.workers where name = '{name}'")).await
    };
    let (a, b) = (id("a").await, id("b").await);
    let take = format!("select count(*) from postrider.take_executions({a}, 9)");
    assert_eq!(shop.ask::<i64>(&take).await, 1, "the action's limit");

    let waiting = shop.client().await;
    let cancel = waiting.cancel_token();
    let pid: i32 = waiting.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let sql = format!("select * from postrider.take_executions({a}, 9, '{WAIT}')");
    let waiter = tokio::spawn(async move { waiting.query(&sql, &[]).await });
    // It has looked and sleeps.
    shop.until(&format!(
        "select coalesce(bool_or(wait_event = 'PgSleep'), false) from pg_stat_activity where pid = {pid}"
    ))
    .await;

    let began = Instant::now();
    let sql = format!(
        "select postrider.submit_execution('report', p_worker => 'b');
        select count(*) from postrider.take_executions({b}, 9);
        select postrider.deregister_worker({a})"
    );
    shop.execute(&sql).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    let scheduled = "select scheduled_count from postrider.workers where name = 'b'";
    assert_eq!(shop.ask::<i64>(scheduled).await, 1);

    let _ = cancel.cancel_query(tokio_postgres::NoTls).await;
    assert!(waiter.await.unwrap().is_err(), "it has left, or was cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_for_a_worker_that_is_away_and_a_pool_goes_to_the_pool() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.set_setting('worker_stale_after', '3600');
            select postrider.register_worker('best');
            select postrider.register_worker('other', p_capacity => 9)",
        )
        .await
        .unwrap();
    let submit = "select postrider.submit_execution(
            'resize', p_worker => 'best', p_pool => 'default', p_max_retries => 1)";
    let taken = async |name: &str, wait: &str| {
        let sql = format!(
            "select t.execution_id, t.fence
            from postrider.worker w, postrider.take_executions(w.id, 9, '{wait}') t
            where w.name = '{name}'"
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(i64, i64)>>()
    };

    // Its retry is due when the worker has left.
    let id = shop.ask::<i64>(submit).await;
    assert_eq!(taken("other", "0").await, []);
    let [(first, fence)] = taken("best", "0").await[..] else { panic!("it is there") };
    assert_eq!(first, id);
    let fail = format!("select postrider.fail_execution({id}, {fence}, 'transient_error')");
    assert_eq!(shop.ask::<String>(&fail).await, "requested");
    shop.execute(
        "select postrider.deregister_worker(id) from postrider.worker where name = 'best'",
    )
    .await;
    // A wait may end early when it has done the monitor's work.
    let mut late = Vec::new();
    while late.is_empty() {
        late = taken("other", "30 seconds").await;
    }
    assert_eq!(late.iter().map(|t| t.0).collect::<Vec<_>>(), [id]);

    // It is submitted when the worker is away.
    let id = shop.ask::<i64>(submit).await;
    assert_eq!(taken("other", "0").await.iter().map(|t| t.0).collect::<Vec<_>>(), [id]);
    // For nobody but that worker it waits.
    let alone = "select postrider.submit_execution('resize', p_worker => 'best')";
    let id = shop.ask::<i64>(alone).await;
    assert_eq!(taken("other", "0").await, []);
    shop.execute("select postrider.register_worker('best')").await;
    assert_eq!(taken("best", "0").await.iter().map(|t| t.0).collect::<Vec<_>>(), [id]);
}
