//! Worker fleets: two who decide about the same execution at the same time. One of them decides.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::shop::{
    Shop,
    executing::{DUE, Held, STALE, answer, register, run_one, start, status, submit, take},
    producing::pid_of,
};
use tokio::time::Instant;
use tokio_postgres::Client;

/// Runs `first` in a transaction that stays open, and `second` beside it until it waits for the first
/// or has ended; commits the first. What both said, and whether the second one waited.
async fn race(shop: &Shop, client: &Client, first: &str, second: &str) -> (String, String, bool) {
    client.batch_execute("begin").await.unwrap();
    let said_first = answer(client, first).await;
    let other = shop.client().await;
    let pid = pid_of(&other).await;
    let second = second.to_owned();
    let running = tokio::spawn(async move { answer(&other, &second).await });
    let blocked = format!("select cardinality(pg_blocking_pids({pid})) > 0");
    let mut is_blocked = false;
    while !running.is_finished() && !is_blocked {
        is_blocked = answer(client, &blocked).await == "t";
    }
    client.batch_execute("commit").await.unwrap();
    (said_first, running.await.unwrap(), is_blocked)
}

/// A statement of a race: `{id}`, `{fence}`, `{w}` and `{epoch}` stand for those of the execution and
/// its worker.
struct Case {
    from: &'static str,
    first: &'static str,
    second: &'static str,
    /// What both say, whether the second one waits, and the status after that.
    expected: (&'static str, &'static str, bool, &'static str),
}

const START: &str = "select 'started' from postrider.start_execution({id}, {fence})";
const COMPLETE: &str = "select postrider.complete_execution({id}, {fence})";
const CANCEL: &str = "select postrider.cancel_execution({id})";
const CHECK: &str = "select postrider.check_executions(1000)";
const LOSE: &str = "select postrider.check_workers()";
const HEARTBEAT: &str = "select count(*) from postrider.worker_heartbeat({w}, {epoch})";
const LETTER: &str = "select postrider.handle_dead_letter({id}, {fence}, null, null)";
const RELEASE: &str = "select postrider.release_execution({id}, {fence})";
const REGISTER: &str = "select epoch from postrider.register_worker('w')";
const DEREGISTER: &str = "select postrider.deregister_worker({w}, {epoch})";
/// Without the monitor's work.
const SCHEDULE: &str = "select count(*)
    from postrider.worker x
    cross join lateral postrider.schedule_executions(x, 1, 1) s
    where x.id = {w}";
const TAKE: &str = "select count(*) from postrider.take_executions({w}, 1, null, {epoch})";

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_decide_one_does() {
    let case = |from, first, second, expected| Case { from, first, second, expected };
    let cases = [
        // An expired execution is not started, and a started one does not expire.
        case("expired", CHECK, START, ("1", "none", false, "failed")),
        case("about to expire", CHECK, START, ("1", "none", true, "requested")),
        case("about to expire", START, CHECK, ("started", "0", false, "running")),
        case("expired", CHECK, CANCEL, ("1", "failed", true, "failed")),
        case("expired", CANCEL, CHECK, ("cancelled", "0", false, "cancelled")),
        case("overdue", CHECK, COMPLETE, ("1", "f", true, "timeout")),
        case("overdue", COMPLETE, CHECK, ("t", "0", false, "completed")),
        case("stale", LOSE, COMPLETE, ("1", "f", true, "failed")),
        case("stale", COMPLETE, LOSE, ("t", "1", false, "completed")),
        case("stale", LOSE, HEARTBEAT, ("1", "55000", true, "failed")),
        case("stale", HEARTBEAT, LOSE, ("0", "0", false, "running")),
        case("stale scheduled", LOSE, START, ("1", "none", true, "requested")),
        // It was locked at the first look, and is seen at the second.
        case("stale scheduled", START, LOSE, ("started", "1", false, "failed at the next look")),
        case("stale waiting", SCHEDULE, LOSE, ("1", "1", false, "requested at the next look")),
        case("scheduled", CANCEL, START, ("cancelled", "none", true, "cancelled")),
        case("scheduled", START, CANCEL, ("started", "cancelling", true, "cancelling")),
        case("running", CANCEL, COMPLETE, ("cancelling", "t", true, "completed")),
        case("running", COMPLETE, CANCEL, ("t", "completed", true, "completed")),
        case("running", COMPLETE, COMPLETE, ("t", "f", true, "completed")),
        case("running", RELEASE, COMPLETE, ("t", "f", true, "requested")),
        case("expired", RELEASE, CHECK, ("t", "0", false, "requested")),
        case("expired", CHECK, RELEASE, ("1", "f", true, "failed")),
        case("expired", LETTER, LETTER, ("failed", "terminal", true, "failed")),
        case("scheduled", LETTER, START, ("returned", "none", true, "requested")),
        case("scheduled", START, LETTER, ("started", "running", true, "running")),
        case("waiting", TAKE, TAKE, ("1", "0", false, "scheduled")),
        case("waiting", TAKE, REGISTER, ("1", "2", true, "requested")),
        case("waiting", REGISTER, TAKE, ("2", "0", false, "requested")),
        case("scheduled", DEREGISTER, START, ("t", "none", true, "requested")),
        case("scheduled", START, DEREGISTER, ("started", "t", false, "failed at the next look")),
        case("waiting", DEREGISTER, TAKE, ("t", "0", false, "requested")),
        case("waiting", TAKE, DEREGISTER, ("1", "t", true, "requested")),
    ];
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let mut wrong = Vec::new();
    for Case { from, first, second, expected } in cases {
        shop.clear_fleet().await;
        let w = register(&client, "'w', p_capacity => 5").await;
        let id = submit(&client, "'a', p_worker => 'w', p_ttl => '1 h'").await;
        let mut held = Held { id, fence: 0 };
        if !from.ends_with("waiting") {
            held = take(&client, w.id, 1).await[0];
        }
        if ["overdue", "stale", "running"].contains(&from) {
            held = start(&client, held).await.unwrap();
        }
        let past = "clock_timestamp() - interval '1 second'";
        let prepare = match from {
            "expired" => {
                format!("update postrider.live_execution set expires_at = {past}, due_at = {past}")
            }
            "about to expire" => format!("update postrider.live_execution set due_at = {past}"),
            "overdue" => {
                format!("update postrider.live_execution set deadline_at = {past}, due_at = {past}")
            }
            "stale" | "stale scheduled" | "stale waiting" => STALE.to_owned(),
            _ => String::new(),
        };
        client.batch_execute(&prepare).await.unwrap();
        let fill = |sql: &str| {
            sql.replace("{id}", &id.to_string())
                .replace("{fence}", &held.fence.to_string())
                .replace("{w}", &w.id.to_string())
                .replace("{epoch}", &w.epoch.to_string())
        };
        let (said_first, said_second, is_blocked) =
            race(&shop, &client, &fill(first), &fill(second)).await;
        let (_, _, _, then) = expected;
        if then.ends_with("at the next look") {
            client.batch_execute("select postrider.check_workers()").await.unwrap();
        }
        let found_then = status(&client, id).await;
        let finals = "select count(*) from postrider.execution_end where is_final";
        let final_count = answer(&client, finals).await;
        let found = (said_first.as_str(), said_second.as_str(), is_blocked, found_then.as_str());
        let then = then.trim_end_matches(" at the next look");
        let is_over = !["requested", "scheduled", "running", "cancelling"].contains(&then);
        let is_right = found == (expected.0, expected.1, expected.2, then)
            && final_count == i32::from(is_over).to_string();
        if !is_right {
            wrong.push(format!(
                "{from}: {first} | {second}: {found:?}, {final_count} final, not {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_keeps_nobody_else_waiting() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client
        .batch_execute("select postrider.set_action('limited', p_concurrency => 3)")
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 50").await.id;
    submit(&client, "'a'").await;
    let kept = run_one(&client, w).await;
    submit(&client, "'a'").await;
    run_one(&client, w).await;
    let head = submit(&client, "'a'").await;
    let head_too = submit(&client, "'a'").await;
    let next = submit(&client, "'a'").await;
    submit(&client, "'limited'").await;
    // Another one has submitted something to a worker before that one came, and does not end either.
    submit(&client, "'a', p_worker => 'asked'").await;
    let asking = shop.client().await;
    asking.batch_execute("begin").await.unwrap();
    submit(&asking, "'a', p_worker => 'asked'").await;
    register(&client, "'asked', 'elsewhere'").await;

    // It has completed one, cancelled what comes first, and set an action, and does not end.
    let open = shop.client().await;
    open.batch_execute(&format!(
        "begin; select postrider.complete_execution({}, {});
        select postrider.cancel_execution({head}); select postrider.cancel_execution({head_too});
        select postrider.set_action('limited', p_concurrency => 2)",
        kept.id, kept.fence
    ))
    .await
    .unwrap();
    // Who waits for it waits in vain, to the end of the test.
    client.batch_execute("set statement_timeout = '300ms'").await.unwrap();
    client.batch_execute("update postrider.live_execution set due_at = clock_timestamp() where status = 'running'").await.unwrap_err();
    client.batch_execute("set statement_timeout = '60s'").await.unwrap();
    client
        .batch_execute(&format!(
            "update postrider.live_execution set due_at = clock_timestamp()
            where status = 'running' and id <> {}",
            kept.id
        ))
        .await
        .unwrap();
    assert_eq!(answer(&client, "select postrider.check_executions(10)").await, "1");
    let got: Vec<_> = take(&client, w, 1).await;
    assert_eq!(
        got.iter().map(|h| h.id).collect::<Vec<_>>(),
        [next],
        "what comes after the locked ones"
    );
    assert_eq!(take(&client, w, 5).await.len(), 1, "the action is being set");
    client.batch_execute(STALE).await.unwrap();
    lose_all(&client, 2).await;
    assert_eq!(status(&client, next).await, "requested");
    assert_eq!(answer(&client, "select postrider.cordon_worker('asked')").await, "t");
    drops_after(&shop, asking).await;
    let letter = format!("select postrider.handle_dead_letter({head}, 1, null, null)");
    assert_eq!(answer(&client, &letter).await, "55P03");
    open.batch_execute("rollback").await.unwrap();
    // What it had kept is seen at the second look.
    assert_eq!(status(&client, kept.id).await, "running");
    assert_eq!(answer(&client, "select postrider.check_workers()").await, "0");
    assert_eq!(status(&client, kept.id).await, "failed");
    client.batch_execute(DUE).await.unwrap();
}

/// Finds so many workers lost, and no more.
async fn lose_all(client: &Client, expected: usize) {
    let mut lost = 0;
    loop {
        let found: usize = answer(client, LOSE).await.parse().expect("a count");
        if found == 0 {
            break;
        }
        lost += found;
    }
    assert_eq!(lost, expected);
}

/// Whoever removes the worker waits for who has submitted something to it, and sees that.
async fn drops_after(shop: &Shop, asking: Client) {
    let dropping = shop.client().await;
    let blocked = format!("select cardinality(pg_blocking_pids({})) > 0", pid_of(&dropping).await);
    let dropped = tokio::spawn(async move {
        dropping
            .batch_execute("delete from postrider.live_execution where queue like 'worker:%'")
            .await
            .unwrap();
        answer(&dropping, "select postrider.drop_worker('asked')").await
    });
    shop.until(&blocked).await;
    asking.batch_execute("commit").await.unwrap();
    assert_eq!(dropped.await.unwrap(), "55000");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_something_holds_nothing() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.set_setting('worker_stale_after', '1800');
            select postrider.set_action('limited', p_concurrency => 1)",
        )
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 50").await;
    let lost = register(&client, "'lost'").await;
    let blocked = submit(&client, "'limited'").await;
    let held = take(&client, w.id, 1).await[0];
    submit(&client, "'limited'").await;
    let until_asleep = async |pid: i32| {
        shop.until(&format!(
            "select coalesce(wait_event, '') = 'PgSleep' from pg_stat_activity where pid = {pid}"
        ))
        .await;
    };
    let waiter = shop.client().await;
    let pid = pid_of(&waiter).await;
    let sql = format!("select count(*) from postrider.take_executions({}, 1, '60 s')", w.id);
    let long = tokio::spawn(async move { answer(&waiter, &sql).await });
    until_asleep(pid).await;
    // Between two naps it has one for some microseconds.
    shop.until(&format!(
        "select not exists (select from pg_locks where pid = {pid} and locktype in ('advisory', 'transactionid'))"
    ))
    .await;
    // What it has to do for the monitor is seen by others, long before its wait is over.
    client
        .batch_execute(&format!(
            "update postrider.worker set heartbeat_at = now() - interval '1 hour' where id = {}",
            lost.id
        ))
        .await
        .unwrap();
    shop.until_within(
        Duration::from_secs(40),
        &format!("select status = 'inactive' from postrider.worker where id = {}", lost.id),
    )
    .await;
    assert_eq!(long.await.unwrap(), "0");
    // The place of another one is free: the one who waits gets it.
    let waiter = shop.client().await;
    let pid = pid_of(&waiter).await;
    let sql = format!("select count(*) from postrider.take_executions({}, 1, '60 s')", w.id);
    let long = tokio::spawn(async move { answer(&waiter, &sql).await });
    until_asleep(pid).await;
    answer(&client, &format!("select postrider.cancel_execution({blocked})")).await;
    assert_eq!(long.await.unwrap(), "1");
    let _ = held;
    // A process that takes over the name does not wait for the one before, which is told.
    client.batch_execute("truncate postrider.live_execution").await.unwrap();
    let waiter = shop.client().await;
    let pid = pid_of(&waiter).await;
    let sql = format!("select count(*) from postrider.take_executions({}, 1, '60 s')", w.id);
    let long = tokio::spawn(async move { answer(&waiter, &sql).await });
    until_asleep(pid).await;
    register(&client, "'w'").await;
    assert_eq!(long.await.unwrap(), "55000");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_at_the_same_time_gets_something_else() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let other_client = shop.client().await;
    let one = register(&client, "'one', p_capacity => 5").await.id;
    let two = register(&client, "'two', p_capacity => 5").await.id;
    client
        .batch_execute("select postrider.submit_execution('a') from generate_series(1, 20)")
        .await
        .unwrap();
    client.batch_execute("begin").await.unwrap();
    let first = take(&client, one, 5).await;
    let second = take(&other_client, two, 5).await;
    client.batch_execute("commit").await.unwrap();
    assert_eq!((first.len(), second.len()), (5, 5));
    // Each has the limit that the other one wants.
    shop.clear_fleet().await;
    let one = register(&client, "'one', p_capacity => 5").await.id;
    let two = register(&client, "'two', p_capacity => 5").await.id;
    client
        .batch_execute(
            "select postrider.set_action(a, p_concurrency => 3) from unnest(array['a', 'b']) a",
        )
        .await
        .unwrap();
    for arguments in ["'a', p_worker => 'one'", "'b', p_worker => 'two'"] {
        submit(&client, arguments).await;
    }
    client.batch_execute("begin").await.unwrap();
    other_client.batch_execute("begin").await.unwrap();
    assert_eq!(take(&client, one, 1).await.len(), 1);
    assert_eq!(take(&other_client, two, 1).await.len(), 1);
    let third = shop.client().await;
    for arguments in ["'a'", "'b'"] {
        submit(&third, arguments).await;
    }
    third.batch_execute("update postrider.live_execution set requested_at = requested_at - interval '1 minute' where status = 'requested' and queue = 'pool:default'").await.unwrap();
    let (first, second) = tokio::join!(take(&client, one, 5), take(&other_client, two, 5));
    client.batch_execute("commit").await.unwrap();
    other_client.batch_execute("commit").await.unwrap();
    assert!(first.len() + second.len() <= 2);
    let rest = take(&client, one, 5).await.len() + take(&other_client, two, 5).await.len();
    assert_eq!(first.len() + second.len() + rest, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_stop_an_action_with_a_limit() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 50").await.id;
    let other = register(&client, "'other', p_capacity => 50").await.id;
    let set = "select postrider.set_action('a', p_concurrency => 3)";
    client.batch_execute(set).await.unwrap();
    for _ in 0..20 {
        submit(&client, "'a'").await;
    }
    let age =
        "update postrider.live_execution set requested_at = requested_at - interval '1 minute'";
    client.batch_execute(age).await.unwrap();
    let end_all = async || {
        let sql = "select postrider.release_execution(l.id, l.fence)
            from postrider.live_execution l where l.status <> 'requested'";
        client.batch_execute(sql).await.unwrap();
    };
    // What is not committed counts as taken, and others go on with the rest.
    let open = shop.client().await;
    open.batch_execute("begin; savepoint s").await.unwrap();
    assert_eq!(take(&open, other, 3).await.len(), 3);
    assert_eq!(take(&client, w, 9).await.len(), 0);
    open.batch_execute("rollback to s").await.unwrap();
    assert_eq!(take(&open, other, 1).await.len(), 1);
    assert_eq!(take(&client, w, 9).await.len(), 2);
    assert_eq!(take(&client, w, 9).await.len(), 0);
    end_all().await;
    assert_eq!(take(&client, w, 9).await.len(), 2, "again");
    open.batch_execute("commit").await.unwrap();
    assert_eq!(take(&client, w, 9).await.len(), 0);
    end_all().await;
    // What it ends is its own until it has ended, whatever becomes of it.
    let held = take(&client, w, 3).await;
    let release = format!("select postrider.release_execution({}, {})", held[0].id, held[0].fence);
    open.batch_execute(&format!("begin; {release}")).await.unwrap();
    assert_eq!(take(&client, w, 9).await.len(), 0);
    assert_eq!(take(&open, other, 9).await.len(), 1);
    open.batch_execute("rollback").await.unwrap();
    assert_eq!(take(&client, w, 9).await.len(), 0);
    // Whoever sets or drops it changes nothing until then.
    for change in [
        "select postrider.set_action('a', p_concurrency => 1)",
        "select postrider.set_action('a', p_concurrency => 9)",
        "select postrider.set_action('a')",
        "select postrider.drop_action('a')",
    ] {
        end_all().await;
        open.batch_execute(&format!("begin; {change}")).await.unwrap();
        assert_eq!(take(&client, w, 9).await.len(), 3, "{change}");
        open.batch_execute("rollback").await.unwrap();
    }
    // A lower limit, a higher one, none, and one again count from then on.
    let set = async |change: &str| {
        client.batch_execute(&format!("select postrider.{change}")).await.unwrap();
    };
    set("set_action('a', p_concurrency => 5)").await;
    assert_eq!(take(&client, w, 9).await.len(), 2);
    set("set_action('a', p_concurrency => 2)").await;
    let end = async |count: usize| {
        let sql = format!(
            "select postrider.release_execution(l.id, l.fence) from (
                select * from postrider.live_execution where status <> 'requested'
                order by slot limit {count}) l"
        );
        client.batch_execute(&sql).await.unwrap();
    };
    // The lowest slots are free now, and three are still taken.
    end(2).await;
    assert_eq!(take(&client, w, 9).await.len(), 0);
    end(2).await;
    assert_eq!(take(&client, w, 9).await.len(), 1);
    set("drop_action('a')").await;
    assert_eq!(take(&client, w, 4).await.len(), 4);
    set("set_action('a', p_concurrency => 7)").await;
    assert_eq!(take(&client, w, 9).await.len(), 1);
    assert_eq!(take(&client, w, 9).await.len(), 0);
    // However many an open transaction has, and however few others want.
    end_all().await;
    set("set_action('a', p_concurrency => 16)").await;
    open.batch_execute("begin").await.unwrap();
    assert_eq!(take(&open, other, 15).await.len(), 15);
    assert_eq!(take(&client, w, 1).await.len(), 1);
    assert_eq!(take(&client, w, 1).await.len(), 0);
    open.batch_execute("rollback").await.unwrap();
    set("set_action('a', p_concurrency => 7)").await;
    // Slots of actions that are gone are forgotten.
    end_all().await;
    let slots = "select count(*) from postrider.action_slot";
    assert!(shop.ask::<i64>(slots).await > 16);
    client.batch_execute("select postrider.forget_executions(1000)").await.unwrap();
    assert_eq!(shop.ask::<i64>(slots).await, 16);
    assert_eq!(take(&client, w, 9).await.len(), 7);
}

/// Ways in which a transaction may hold a worker whose process comes.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_registers_waits_some_seconds_and_says_for_whom() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 2").await;
    submit(&client, "'a'").await;
    let take_one = format!("select postrider.take_executions({}, 1)", w.id);
    let submit_first = "select postrider.submit_execution('a', p_worker => 'new')";
    let holds = [
        ("w", &*take_one, "register_worker('w', p_capacity => 2)"),
        ("w", "select postrider.cordon_worker('w')", "register_worker('w', p_capacity => 2)"),
        ("new", submit_first, "register_worker('new', p_capacity => 2)"),
        ("new", submit_first, "submit_execution('b', p_worker => 'new')"),
    ];
    let checks = holds.map(|(name, hold, call)| {
        let shop = &shop;
        async move {
            let open = shop.client().await;
            open.batch_execute(&format!("begin; {hold}")).await.unwrap();
            let sql = format!("select postrider.{call}");
            let error = shop.client().await.batch_execute(&sql).await.expect_err(hold);
            let error = error.as_db_error().unwrap().clone();
            let expected = format!("Worker '{name}' is held by another transaction");
            assert_eq!((error.code().code(), error.message()), ("55006", &*expected), "{hold}");
            let pid = format!("pid {}", pid_of(&open).await);
            open.batch_execute("rollback").await.unwrap();
            assert_eq!(error.detail(), Some(&*pid), "{hold}");
        }
    });
    for check in checks {
        check.await;
    }
    let again = register(&client, "'w', p_capacity => 2").await;
    assert_eq!(again.epoch, w.epoch + 1);
    // Who takes at the same time for the same worker gets nothing, and does not wait; never more than its capacity.
    let open = shop.client().await;
    open.batch_execute("begin").await.unwrap();
    assert_eq!(take(&open, w.id, 1).await.len(), 1);
    submit(&client, "'a'").await;
    submit(&client, "'a'").await;
    assert_eq!(take(&client, w.id, 2).await.len(), 0);
    open.batch_execute("commit").await.unwrap();
    assert_eq!(take(&client, w.id, 2).await.len(), 1);
}

/// One who looked before another had the worker's lock looks again when it has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_takes_by_many_connections_gets_no_more_than_its_capacity() {
    const ROUNDS: usize = 40;
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let w = register(&client, "'w', p_capacity => 3").await.id;
    let waiting =
        "select postrider.submit_execution('a', p_worker => 'w') from generate_series(1, 60)";
    client.batch_execute(waiting).await.unwrap();
    let takers = futures_util::future::join_all((0..4).map(|_| shop.client())).await;
    let mut most = 0;
    for _ in 0..ROUNDS {
        let taken = futures_util::future::join_all(takers.iter().map(|t| take(t, w, 3))).await;
        let count: usize = taken.iter().map(Vec::len).sum();
        assert!(count <= 3, "{count} at a time");
        most = most.max(count);
        let back = "select postrider.release_execution(l.id, l.fence)
            from postrider.live_execution l where l.status = 'scheduled'";
        client.batch_execute(back).await.unwrap();
    }
    assert_eq!(most, 3);
}

/// Everybody who may connect may take every advisory lock.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_every_advisory_lock_stops_no_execution() {
    let shop = Shop::open_migrated().await;
    shop.execute("create role stranger login").await;
    let stranger = shop.postgres.connect_as("stranger", "shop").await.unwrap();
    stranger
        .batch_execute(
            "select pg_advisory_lock(c, k)
            from generate_series(1886352249, 1886352250) c, generate_series(0, 300) k",
        )
        .await
        .unwrap();
    let client = shop.client().await;
    client
        .batch_execute(
            "set statement_timeout = '20s';
            select postrider.set_action('a', p_concurrency => 3)",
        )
        .await
        .unwrap();
    let w = register(&client, "'w', p_capacity => 9").await.id;
    submit(&client, "'a'").await;
    let present = "select last_value from postrider.present_generation";
    let before: i64 = shop.ask(present).await;
    for sql in [
        "update postrider.execution_generation
        set ends_with = begins_after, created_at = created_at - interval '1 s'",
        "select postrider.check_generations()",
        "select postrider.check_generations()",
    ] {
        client.batch_execute(sql).await.unwrap();
    }
    assert!(shop.ask::<i64>(present).await > before);
    submit(&client, "'a'").await;
    assert_eq!(take(&client, w, 9).await.len(), 2);
    let sql = format!("select count(*) from postrider.worker_executions({w})");
    assert_eq!(answer(&client, &sql).await, "2");
    assert_eq!(answer(&client, &format!("select postrider.deregister_worker({w})")).await, "t");
}

/// What each connection of the soak does, with its worker, until told to stop.
async fn behave(shop: Arc<Shop>, name: String, seed: u64, is_over: Arc<AtomicBool>) {
    let mut dice = fastrand::Rng::with_seed(seed);
    let client = shop.client().await;
    let arguments = format!("'{name}', p_capacity => 4");
    let mut worker = register(&client, &arguments).await;
    let mut held: Vec<Held> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let mut call = None;
        match dice.u8(..100) {
            0..30 => {
                let sql =
                    "select execution_id, fence from postrider.take_executions($1, $2, null, $3)";
                let limit = dice.i32(1..=4);
                match client.query(sql, &[&worker.id, &limit, &worker.epoch]).await {
                    Ok(rows) => {
                        held.extend(rows.iter().map(|r| Held { id: r.get(0), fence: r.get(1) }))
                    }
                    Err(error) => {
                        assert_eq!(error.code().map(|c| c.code()), Some("55000"), "{error:?}");
                        worker = register(&client, &arguments).await;
                    }
                }
            }
            30..60 => {
                if !held.is_empty() {
                    let one = held.swap_remove(dice.usize(..held.len()));
                    held.extend(start(&client, one).await);
                }
            }
            60..85 => {
                if !held.is_empty() {
                    let Held { id, fence } = held.swap_remove(dice.usize(..held.len()));
                    let functions = [
                        "complete_execution({})",
                        "complete_execution({})",
                        "fail_execution({}, 'transient_error')",
                        "fail_execution({}, 'no')",
                        "release_execution({})",
                        "extend_execution({}, '20 ms')",
                    ];
                    let arguments = format!("{id}, {fence}");
                    call = Some(dice.choice(functions).unwrap().replace("{}", &arguments));
                }
            }
            85..90 => call = Some(format!("cancel_execution({})", dice.u32(1..=200))),
            90..94 => {
                let sql = format!("{STALE} where name = '{name}'");
                client.batch_execute(&sql).await.unwrap();
                call = Some("check_workers()".to_owned());
            }
            94..96 => worker = register(&client, &arguments).await,
            96..98 => {
                call = Some(format!("handle_dead_letter({}, 1, null, null)", dice.u32(1..=200)))
            }
            _ => call = Some("check_executions(10)".to_owned()),
        }
        if let Some(call) = call {
            let said = answer(&client, &format!("select postrider.{call}")).await;
            assert!(said.len() != 5 || said == "false", "{name}, seed {seed}: {call}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_workers_do_each_execution_ends_once_and_runs_once_at_a_time() {
    const SOAK: Duration = Duration::from_secs(5);
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    let shop = Arc::new(Shop::open_migrated().await);
    let client = shop.client().await;
    client
        .batch_execute(
            "select postrider.set_action('limited', '1 s', '30 ms', 3, p_concurrency => 3);
            select postrider.set_action('free', '2 s', '50 ms', 1);
            select postrider.submit_execution(
                case when n % 2 = 0 then 'limited' else 'free' end,
                p_worker => case when n % 5 = 0 then 'w' || n % 4 end,
                p_pool => case when n % 10 < 5 then 'default' end,
                p_priority => n % 3, p_ttl => make_interval(secs => 1 + n % 5))
            from generate_series(1, 200) n",
        )
        .await
        .unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..5)
        .map(|n| {
            tokio::spawn(behave(Arc::clone(&shop), format!("w{n}"), seed ^ n, Arc::clone(&is_over)))
        })
        .collect();
    let began = Instant::now();
    while began.elapsed() < SOAK {
        // A worker whose process has changed may have what the one before had, for a look.
        let sql = "select
                (select count(*) from postrider.live_execution l
                where l.action = 'limited' and l.status <> 'requested') > 3
                or exists (
                    select from postrider.live_execution l where l.worker_id is not null
                    group by l.worker_id having count(*) > 4)";
        assert_eq!(answer(&client, sql).await, "f", "SEED={seed}: more than a limit or a capacity");
        client.batch_execute(DUE).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    // What is left: nobody works any more, and time passes.
    for _ in 0..20 {
        client
            .batch_execute(
                "update postrider.live_execution
                set due_at = now() - interval '1 second',
                    expires_at = case when is_delayed then expires_at else now() - interval '1 second' end;
                select postrider.check_workers(); select postrider.check_executions(1000)",
            )
            .await
            .unwrap();
    }
    for (what, sql) in [
        ("not ended", "select count(*) from postrider.executions where ended_at is null"),
        (
            "not one final row",
            "select count(*) from postrider.execution e where 1 <> (
                select count(*) from postrider.execution_end f where f.execution_id = e.id and f.is_final)",
        ),
        ("no reason", "select count(*) from postrider.execution_end where status not in ('completed', 'released') and reason is null"),
        (
            "attempts with holes",
            "select count(*) from (
                select execution_id, attempt - lag(attempt, 1, 1) over (partition by execution_id order by id) as step,
                    lag(status, 1, 'released') over (partition by execution_id order by id) as earlier
                from postrider.execution_end) x
            where step <> case when earlier = 'released' then 0 else 1 end",
        ),
        (
            "running twice",
            "select count(*) from postrider.execution_end a join postrider.execution_end b
                on a.execution_id = b.execution_id and a.id < b.id
            where a.started_at is not null and b.started_at < a.ended_at",
        ),
        (
            "history after the end",
            "select count(*) from postrider.execution_end a join postrider.execution_end f
                on f.execution_id = a.execution_id and f.is_final and a.id > f.id",
        ),
    ] {
        assert_eq!(answer(&client, sql).await, "0", "SEED={seed}: {what}");
    }
    let sum = "select string_agg(concat(status, ' ', reason, ' ', n), ', ') from (
        select status, reason, count(*) as n from postrider.execution_end group by 1, 2) x";
    println!("{}", answer(&client, sum).await);
}
