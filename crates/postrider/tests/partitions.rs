//! Partitions: made for months or days, filled from the default partition, and dropped when they are old,
//! while senders and dispatchers go on.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::shop::{
    Shop, changing_the_log,
    producing::{check_refusals, id_of},
    serving::LONG,
};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio_postgres::Client;

/// The longest that a send may be held up; whoever waits for a transaction that is open in these tests waits to
/// the end. What the machine takes comes on top: [`keep_writing`].
const LONGEST_SEND: Duration = Duration::from_secs(1);
/// The same where rows are moved, for which writers wait.
const LONGEST_SEND_BESIDE_MOVES: Duration = Duration::from_secs(3);
const TABLES: [&str; 6] = ["message", "done", "partly_done", "ended", "attempt", "tick"];
const TABLE_COUNT: i32 = TABLES.len() as i32;

/// Makes the partitions of the month so many months ago, of all tables.
fn old_month(months_ago: i32) -> String {
    format!(
        "do $$
        declare
            begins timestamptz := date_trunc('month', now(), 'UTC') - interval '{months_ago} months';
            parent text;
        begin
            foreach parent in array array['message', 'done', 'partly_done', 'ended', 'attempt'] loop
                execute format(
                    'create table postrider.%s partition of postrider.%I for values from (%L) to (%L)',
                    parent || to_char(begins at time zone 'UTC', '_YYYY_MM'), parent, begins,
                    begins + interval '1 month');
            end loop;
        end;
        $$"
    )
}

/// Makes all that is on record as much older as messages, records and waiting deliveries can be.
fn age(months: i32) -> String {
    changing_the_log(&format!(
        "update postrider.message set created_at = created_at - interval '{months} months';
        update postrider.done set at = at - interval '{months} months';
        update postrider.partly_done set at = at - interval '{months} months';
        update postrider.ended set at = at - interval '{months} months';
        update postrider.attempt set started_at = started_at - interval '{months} months';
        update postrider.deferred
        set message_created_at = message_created_at - interval '{months} months'"
    ))
}

const OLD: &str = "select count(*)
    from postrider.partitions p
    where p.to_at <= now() - interval '6 months'";

async fn names(client: &Client, table: &str) -> Vec<String> {
    let sql = "select p.name from postrider.partitions p
        where p.table_name = $1 and p.from_at is not null order by p.from_at";
    client.query(sql, &[&table]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn maintain(client: &Client, months_ahead: i32) -> i32 {
    let sql = "select postrider.maintain_archive_partitions($1)";
    client.query_one(sql, &[&months_ahead]).await.unwrap().get(0)
}

/// Only who asks for it drops partitions.
const KEEP: &str = "select postrider.set_setting('archive_retention_months', '120')";

/// As [`maintain`], beside others who may hold a lock at each of its tries: then it is refused, and changes nothing.
async fn maintain_beside_others(client: &Client, months_ahead: i32) -> i32 {
    let sql = "select postrider.maintain_archive_partitions($1)";
    let deadline = Instant::now() + LONG;
    loop {
        match client.query_one(sql, &[&months_ahead]).await {
            Ok(row) => return row.get(0),
            Err(error) => assert_eq!(error.code().unwrap().code(), "55P03", "{error:?}"),
        }
        assert!(Instant::now() < deadline, "a lock is never to be had");
    }
}

async fn cleanup(client: &Client) -> i32 {
    let sql = "select postrider.cleanup_old_archive_partitions()";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Takes partitions away, so that what comes goes into the default ones.
async fn without_partitions(shop: &Shop) {
    shop.execute(
        "do $$
        declare
            part record;
        begin
            for part in select p.name from postrider.partitions p where p.from_at is not null loop
                execute format('drop table postrider.%I', part.name);
            end loop;
        end;
        $$",
    )
    .await;
}

/// Everything that was sent and is over, as far as dispatchers know.
const ALL_FINISHED: &str = "select not exists (
        select from postrider.message m where m.xid >= postrider.done_before())
    and not exists (select from postrider.deferred)";

/// Sends on a connection of its own, one message after the other, until it is told to stop; the longest
/// send and the ids.
fn keep_sending(
    client: Client,
    sql: &'static str,
    is_over: Arc<AtomicBool>,
) -> tokio::task::JoinHandle<(Duration, Vec<i64>)> {
    tokio::spawn(async move {
        let statement = client.prepare(sql).await.unwrap();
        let (mut longest, mut ids) = (Duration::ZERO, Vec::new());
        while !is_over.load(Ordering::Relaxed) {
            let began = Instant::now();
            ids.push(client.query_one(&statement, &[]).await.unwrap().get(0));
            longest = longest.max(began.elapsed());
        }
        (longest, ids)
    })
}

/// Writes likewise where nobody holds anybody up: its longest is what the machine takes meanwhile.
async fn keep_writing(
    shop: &Shop,
    is_over: &Arc<AtomicBool>,
) -> tokio::task::JoinHandle<(Duration, Vec<i64>)> {
    shop.execute("create table public.control ()").await;
    let write = "insert into public.control default values returning 1::bigint";
    keep_sending(shop.client().await, write, Arc::clone(is_over))
}

/// No send was held up longer than it may be, as compared with one who writes beside it.
fn check_longest(longest: Duration, control: Duration, allowed: Duration) {
    println!("longest send {longest:?}, longest write beside it {control:?}");
    assert!(longest < allowed + 3 * control, "{longest:?}, beside it {control:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interval_can_be_switched_at_any_time() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    without_partitions(&shop).await;
    let interval = async |interval: &str| {
        let sql = format!("select postrider.set_setting('partition_interval', '{interval}')");
        client.batch_execute(&sql).await.unwrap();
    };
    // So many days of the month are left, today included.
    let left: i32 = shop
        .ask(
            "select extract(day from date_trunc('month', now(), 'UTC') + interval '1 month'
                - date_trunc('day', now(), 'UTC'))::integer",
        )
        .await;
    let text = async |sql: &str| -> String { client.query_one(sql, &[]).await.unwrap().get(0) };

    interval("day").await;
    assert_eq!(maintain(&client, 0).await, 8 * TABLE_COUNT, "today and seven days more");
    let today = text("select to_char(now() at time zone 'UTC', '\"message_\"YYYY_MM_DD')").await;
    assert_eq!(names(&client, "message").await[0], today);
    assert_eq!(maintain(&client, 0).await, 0, "all are there");

    interval("month").await;
    let days_in_this_month = left.min(8);
    let is_next_touched = left < 8;
    let created = maintain(&client, 1).await;
    if is_next_touched {
        assert_eq!(created % TABLE_COUNT, 0);
    } else {
        assert_eq!(
            created,
            (left - days_in_this_month + 1) * TABLE_COUNT,
            "the rest as days, and a month"
        );
    }
    assert_eq!(maintain(&client, 1).await, 0);
    let next = text(
        "select to_char(now() at time zone 'UTC' + interval '2 months', '\"attempt_\"YYYY_MM')",
    )
    .await;
    assert!(!names(&client, "attempt").await.contains(&next));
    assert_eq!(maintain(&client, 2).await, TABLE_COUNT);
    assert!(names(&client, "attempt").await.contains(&next));

    interval("day").await;
    assert_eq!(maintain(&client, 2).await, 0, "the months are in the way");
    assert!(maintain(&client, 3).await > 0, "the days behind them");
    // Every day from today on is in exactly one partition of each table.
    let sql = "select bool_and(n.count = 1)
        from generate_series(now(), now() + interval '3 months' - interval '1 day', interval '1 day') d (at)
        cross join (select distinct p.table_name from postrider.partitions p) t
        cross join lateral (
            select count(*) from postrider.partitions p
            where p.table_name = t.table_name and p.from_at <= d.at and p.to_at > d.at) n";
    assert!(shop.ask::<bool>(sql).await);
    for table in TABLES {
        assert!(!names(&client, table).await.is_empty(), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_checked() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let months = "p_retention_months must be between 1 and 120, got";
    let cases = [
        ("select postrider.cleanup_old_archive_partitions(0)", "22023", &*format!("{months} 0")),
        (
            "select postrider.cleanup_old_archive_partitions(121)",
            "22023",
            &*format!("{months} 121"),
        ),
        (
            "select postrider.cleanup_old_archive_partitions(null)",
            "22023",
            &*format!("{months} null"),
        ),
        (
            "begin isolation level repeatable read; select postrider.cleanup_old_archive_partitions()",
            "25001",
            "cleanup_old_archive_partitions needs a transaction with isolation level READ COMMITTED, this is REPEATABLE READ",
        ),
    ];
    check_refusals(&client, &cases[..3]).await;
    for (sql, code, text) in &cases[3..] {
        let error = client.batch_execute(sql).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), (*code, *text));
        client.batch_execute("rollback").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_move_out_of_the_default_partition_while_everything_runs() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hook", &receiver.url()).await;
    // It makes partitions at its start, and looks again a minute later.
    without_partitions(&shop).await;
    let dispatcher = shop.serve().await;
    dispatcher.wait_for_log("partitions are kept up", LONG).await.unwrap();
    without_partitions(&shop).await;

    let is_over = Arc::new(AtomicBool::new(false));
    let control = keep_writing(&shop, &is_over).await;
    let send = "select postrider.send('hook', '{\"n\": 1}')";
    let sending = [
        keep_sending(shop.client().await, send, Arc::clone(&is_over)),
        keep_sending(shop.client().await, send, Arc::clone(&is_over)),
    ];
    shop.until("select count(*) > 300 from postrider.message_default").await;
    shop.until("select count(*) > 10 from postrider.done_default").await;
    // What has committed stays as it is, in every column.
    let digest = "select md5(string_agg(m::text, ',' order by m.id)) from postrider.message m
        where m.id <= $1";
    let client = shop.client().await;
    let newest = id_of(&client, "select max(id) from postrider.message").await;
    let before: String = client.query_one(digest, &[&newest]).await.unwrap().get(0);

    let created = maintain_beside_others(&client, 3).await;
    assert_eq!(created, 4 * TABLE_COUNT);
    let left: i64 = shop
        .ask(
            "select (select count(*) from postrider.message_default)
            + (select count(*) from postrider.done_default)",
        )
        .await;
    assert_eq!(left, 0);
    let after: String = client.query_one(digest, &[&newest]).await.unwrap().get(0);
    assert_eq!(before, after);

    is_over.store(true, Ordering::Relaxed);
    let (control, _) = control.await.unwrap();
    let mut ids = Vec::new();
    for task in sending {
        let (longest, sent) = task.await.unwrap();
        check_longest(longest, control, LONGEST_SEND_BESIDE_MOVES);
        ids.extend(sent);
    }
    receiver.wait_for_accepted(ids.len(), LONG).await.unwrap();
    shop.until(ALL_FINISHED).await;
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for request in receiver.requests() {
        *counts.entry(request.id.unwrap().0).or_default() += 1;
    }
    assert!(ids.iter().all(|id| counts.get(id) == Some(&1)), "each once");
    assert_eq!(counts.len(), ids.len());
    drop(dispatcher);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_default_partition_is_waited_for_briefly() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    let (client, reader) = (shop.client().await, shop.client().await);
    reader.batch_execute("begin; select count(*) from postrider.message").await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let control = keep_writing(&shop, &is_over).await;
    // Looks into the log itself, and so waits behind whoever waits for the default partition.
    let send = "select postrider.send_with_options(
            'a', '1', p_idempotency_key => 'k') from postrider.message_sequence";
    let sending = keep_sending(shop.client().await, send, Arc::clone(&is_over));
    let error = client.batch_execute("select postrider.maintain_archive_partitions(4)").await;
    let error = error.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55P03");
    is_over.store(true, Ordering::Relaxed);
    let (longest, _) = sending.await.unwrap();
    check_longest(longest, control.await.unwrap().0, LONGEST_SEND);
    reader.batch_execute("rollback").await.unwrap();
    assert_eq!(maintain(&client, 4).await, TABLE_COUNT);
}

#[tokio::test(flavor = "multi_thread")]
async fn dispatchers_make_and_drop_partitions() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.set_setting('archive_retention_months', '1')",
    )
    .await;
    without_partitions(&shop).await;
    shop.execute(&old_month(4)).await;
    shop.execute(&old_month(3)).await;
    shop.execute("select postrider.send('a', '1') from generate_series(1, 10)").await;
    let _dispatchers = (shop.serve().await, shop.serve().await);
    shop.until("select count(*) >= 20 from postrider.partitions p where p.to_at > now()").await;
    shop.until("select not exists (select from postrider.message_default)").await;
    // Empty ones hold nothing that is unfinished.
    shop.until(
        "select not exists (
            select from postrider.partitions p where p.to_at <= now() - interval '1 month')",
    )
    .await;
    let dropped: i64 = shop
        .ask("select count(*) from postrider.event_log e where e.event = 'partition.dropped'")
        .await;
    assert_eq!(dropped, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_transaction_that_has_read_the_log_does_not_make_senders_wait() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    shop.execute(KEEP).await;
    for months_ago in [9, 10] {
        shop.execute(&old_month(months_ago)).await;
    }
    let dispatcher = shop.serve().await;
    shop.send_many("a", 500).await;
    shop.until(ALL_FINISHED).await;
    shop.execute(&age(9)).await;
    let (client, reader) = (shop.client().await, shop.client().await);
    reader.batch_execute("begin; select count(*) from postrider.message").await.unwrap();

    let is_over = Arc::new(AtomicBool::new(false));
    let control = keep_writing(&shop, &is_over).await;
    let send = "select postrider.send('a', '{\"n\": 1}')";
    let sending: Vec<_> = [shop.client().await, shop.client().await]
        .into_iter()
        .map(|client| keep_sending(client, send, Arc::clone(&is_over)))
        .collect();
    assert_eq!(cleanup(&client).await, 0);
    assert_eq!(cleanup(&client).await, 0);
    let postponed = "select count(*) from postrider.event_log e
        where e.event = 'partition.drop_postponed'";
    assert_eq!(shop.ask::<i64>(postponed).await, 1, "said once");
    assert_eq!(shop.ask::<i64>(OLD).await, 10);

    reader.batch_execute("rollback").await.unwrap();
    // Others may hold it for a moment, too.
    let deadline = Instant::now() + LONG;
    let mut dropped = 0;
    while dropped < 10 {
        assert!(Instant::now() < deadline, "{dropped} dropped");
        dropped += cleanup(&client).await;
    }
    assert_eq!(shop.ask::<i64>(OLD).await, 0);
    is_over.store(true, Ordering::Relaxed);
    let (control, _) = control.await.unwrap();
    for task in sending {
        check_longest(task.await.unwrap().0, control, LONGEST_SEND);
    }
    let names: i64 = shop
        .ask(
            "select count(distinct e.details ->> 'partition') from postrider.event_log e
            where e.event = 'partition.dropped'",
        )
        .await;
    assert_eq!(names, 10);
    drop(dispatcher);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_with_an_unfinished_message_is_never_dropped() {
    // What is sent, and what happens to it before it is old.
    let cases = [
        (
            "scheduled",
            "select postrider.send_with_options('a', '1', p_scheduled_at => now() + interval '5 years')",
        ),
        ("failing", "select postrider.send('dead', '1')"),
        ("disabled", "select postrider.send('off', '1'), postrider.disable_endpoint('off')"),
        (
            "key",
            "select postrider.send_with_options('dead', '1', p_ordering_key => 'k') from generate_series(1, 3)",
        ),
        ("one of two", "select postrider.publish('order.paid', '1')"),
    ];
    for (name, sql) in cases {
        let shop = Shop::open_to_receivers().await;
        shop.allow_far_schedules().await;
        shop.execute(
            "select postrider.create_endpoint('a', 'discard', '{}'),
                postrider.create_endpoint('off', 'discard', '{}'),
                postrider.create_endpoint('dead', 'http', '{\"url\": \"http://127.0.0.1:4/\"}'),
                postrider.create_event_type('order.paid');
            select postrider.subscribe('order.paid', 'a'), postrider.subscribe('order.paid', 'dead')",
        )
        .await;
        shop.execute(KEEP).await;
        shop.execute(&old_month(9)).await;
        shop.execute(&old_month(8)).await;
        // What is for a disabled endpoint stays in the log at first. A dispatcher that runs already may hear of
        // the message before it hears that the endpoint is disabled.
        let is_skipped = name == "disabled";
        if is_skipped {
            shop.execute(sql).await;
        }
        let dispatcher = shop.serve().await;
        shop.send_many("a", 20).await;
        if !is_skipped {
            shop.execute(sql).await;
        }
        if is_skipped {
            shop.until("select count(*) > 0 from postrider.done").await;
        } else {
            shop.until("select count(*) > 0 from postrider.deferred").await;
            shop.until(
                "select not exists (
                select from postrider.message m where m.xid >= postrider.done_before())",
            )
            .await;
        }
        assert!(dispatcher.sigterm());
        dispatcher.wait(LONG).await.unwrap();
        shop.execute(&age(9)).await;
        let client = shop.client().await;
        // The month after it is empty; the records of that may tell of messages of this.
        let dropped = cleanup(&client).await;
        assert_eq!(dropped, 1, "{name}: nothing but the empty month of the log");
        assert_eq!(shop.ask::<i64>(OLD).await, 9, "{name}");
        if is_skipped {
            continue;
        }

        shop.execute("delete from postrider.deferred").await;
        assert_eq!(cleanup(&client).await, 9, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_dispatcher_has_read_is_never_dropped() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    shop.execute(KEEP).await;
    shop.execute(&old_month(9)).await;
    let client = shop.client().await;
    let id = id_of(&client, "select postrider.send('a', '1')").await;
    shop.execute(&age(9)).await;
    assert_eq!(cleanup(&client).await, 0);
    // Taken back, but nobody has read that.
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({id})")).await);
    assert_eq!(cleanup(&client).await, 0);
    let _dispatcher = shop.serve().await;
    // Either of them, whoever comes first.
    shop.until("select not exists (select from postrider.message m where m.xid >= postrider.done_before())")
        .await;
    let deadline = Instant::now() + LONG;
    while shop.ask::<i64>(OLD).await > 0 {
        assert!(Instant::now() < deadline);
        cleanup(&client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_goes_on_when_old_partitions_are_gone() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let receiver = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.endpoint("hook", json!({ "url": receiver.url() }), json!({ "max_retries": 0 })).await;
    shop.execute(KEEP).await;
    shop.execute(&old_month(9)).await;
    let first = shop.serve().await;
    let id = shop.send("hook", json!({ "n": 7 })).await;
    shop.until("select count(*) = 1 from postrider.dead_letter").await;
    shop.until(ALL_FINISHED).await;
    shop.execute(&age(9)).await;
    let client = shop.client().await;
    let deadline = Instant::now() + LONG;
    while shop.ask::<i64>(OLD).await > 0 {
        assert!(Instant::now() < deadline);
        cleanup(&client).await;
    }
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.message").await, 0);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.archive").await, 0);

    // A takeover, and the redrive of a message whose partition is gone.
    assert!(first.sigkill());
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute("select postrider.disable_endpoint('hook'), postrider.redrive_all()").await;
    shop.finish_jobs().await;
    let status = format!("select string_agg(s.status, ',') from postrider.message_status({id}) s");
    assert_eq!(shop.ask::<String>(&status).await, "pending");
    let queue = "select string_agg(format('%s %s %s', q.id, q.endpoint_name, q.payload), ',')
        from postrider.queue q";
    assert_eq!(shop.ask::<String>(queue).await, format!("{id} hook {{\"n\": 7}}"));
    shop.execute("select postrider.enable_endpoint('hook')").await;
    let _second = shop.serve().await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!(shop.ask::<String>(&status).await, "completed");
    let next = shop.send("hook", json!({ "n": 8 })).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
    shop.until(&format!(
        "select exists (select from postrider.archive a where a.id = {next} and a.status = 'completed')"
    ))
    .await;
}
