//! What others may lock, held as strongly as they are able to, while dispatchers go on.

use std::time::Instant;

use crate::shop::{Shop, serving::LONG};
use postrider_store::connect::{Connector, DatabaseUrl};
use postrider_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use tokio_postgres::{Client, SimpleQueryMessage, error::SqlState};

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

/// A login that may do nothing but connect.
async fn stranger(shop: &Shop) -> Client {
    shop.execute("create role stranger login").await;
    let config = shop.postgres.url_as("stranger", "shop").parse::<tokio_postgres::Config>();
    let (client, connection) = config.unwrap().connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Every advisory lock that dispatchers have ever used, but the doorbell's.
const ALL: &str = "select pg_advisory_lock(k.class, k.key)
    from (
        select 1886352244, g.key from generate_series(1000, 1005) g (key)
        union all
        select c.class, g.key
        from (values (1886352245), (1886352246)) c (class)
        cross join generate_series(0, 300) g (key)
    ) k (class, key)";

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_every_advisory_lock_stops_nothing() {
    let shop = Shop::open_to_receivers().await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    let stranger = stranger(&shop).await;
    batch(&stranger, ALL).await;

    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config = json!({ "url": receiver.url(), "rate_limit_per_second": 1000 });
    shop.endpoint("limited", config, json!({})).await;
    let killed = shop.serve().await;
    shop.send_many("limited", 50).await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    let later = "select postrider.send_with_options('limited', '{}', p_scheduled_at => now() + interval '1 year')";
    let id: i64 = shop.ask(later).await;
    shop.until("select exists (select from postrider.deferred)").await;
    assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({id})")).await);

    killed.sigkill();
    let _successor = shop.serve().await;
    shop.send_many("limited", 50).await;
    receiver.wait_for_accepted(100, LONG).await.unwrap();

    // Chores: something is to be done, and is done.
    let month = "select count(*) from postrider.partitions where table_name = 'message'";
    let before: i64 = shop.ask(month).await;
    assert!(shop.ask::<i32>("select postrider.maintain_archive_partitions(12)").await > 0);
    assert!(shop.ask::<i64>(month).await > before);
    shop.execute(
        "insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        select (postrider.current_slot() + 1) % 3, gen_random_uuid(), '{}', '{}', '{}'",
    )
    .await;
    shop.let_a_slot_pass().await;
    // Unless the dispatcher is at it just now.
    shop.execute("select postrider.rotate_slots()").await;
    shop.until("select not exists (select from postrider.claim c where c.message_ids = '{}')")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_may_lock_what_dispatchers_lock() {
    let shop = Shop::open_migrated().await;
    for role in ["postrider_admin", "postrider_application", "postrider_monitor"] {
        for table in [
            "fence",
            "chore",
            "rate_turn",
            "cancel_bucket",
            "loan",
            "worker_lock",
            "action_slot",
            "generation_lock_0",
            "generation_lock_31",
        ] {
            for mode in ["access share", "row share", "exclusive"] {
                let sql = format!("set role {role}; lock table postrider.{table} in {mode} mode");
                assert_eq!(shop.refusal(&format!("begin; {sql}")).await, "42501", "{sql}");
            }
            let sql = format!("set role {role}; select from postrider.{table} for key share");
            assert_eq!(shop.refusal(&sql).await, "42501", "{sql}");
        }
    }
}

/// What this makes or drops in a transaction, and what comes behind it at once; the last row.
async fn begin_with(client: &Client, sql: &str, then: &str) -> String {
    // A dispatcher may hold what is to be locked at each of its tries, and it tries again once a minute.
    let deadline = Instant::now() + LONG;
    loop {
        // Between two that are sent apart, this machine may stand still for longer than is allowed.
        let sql = format!("begin; select 1 / {sql}; {then}");
        let error = match client.simple_query(&sql).await {
            Ok(messages) => {
                let rows = messages.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                    _ => None,
                });
                return rows.last().unwrap_or_default();
            }
            Err(error) => error,
        };
        let is_refused = error.code().is_some_and(|code| {
            [SqlState::DIVISION_BY_ZERO, SqlState::LOCK_NOT_AVAILABLE].contains(code)
        });
        assert!(is_refused, "{error:?}: {sql}");
        assert!(Instant::now() < deadline, "a lock is never to be had: {sql}");
        batch(client, "rollback").await;
    }
}

/// What is locked for that stops everybody.
#[tokio::test(flavor = "multi_thread")]
async fn who_stays_after_making_or_dropping_partitions_is_ended() {
    let shop = Shop::open_to_receivers().await;
    // Only this administrator drops partitions.
    shop.execute("select postrider.set_setting('archive_retention_months', '120')").await;
    shop.execute(
        "create table postrider.message_2020_01 partition of postrider.message
            for values from ('2020-01-01+00') to ('2020-02-01+00');
        create role administrator login in role postrider_admin",
    )
    .await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let partitions = "select string_agg(p.name, ' ' order by p.name) from postrider.partitions p";
    let before: String = shop.ask(partitions).await;
    let gone =
        "select not exists (select from pg_stat_activity a where a.usename = 'administrator')";
    let mut count = 0;
    for sql in
        ["postrider.maintain_archive_partitions(12)", "postrider.cleanup_old_archive_partitions(1)"]
    {
        for is_busy in [false, true] {
            let held = shop.postgres.connect_as("administrator", "shop").await.unwrap();
            begin_with(&held, sql, "select 1").await;
            if is_busy {
                let error = held.batch_execute("select pg_sleep(3600)").await.unwrap_err();
                // Where this machine stood still, it was ended while it was idle.
                let code = error.code().map_or("", SqlState::code);
                assert!(["57014", "25P03", "25P04", ""].contains(&code), "{code}: {sql}");
            } else {
                shop.until(gone).await;
            }
            count += 1;
            shop.send("hooks", json!({})).await;
            receiver.wait_for_accepted(count, LONG).await.unwrap();
            assert_eq!(shop.ask::<String>(partitions).await, before, "{sql}");
        }
        let quick = shop.client().await;
        batch(&quick, "set idle_in_transaction_session_timeout = '700ms'").await;
        let bounds = "select current_setting('idle_in_transaction_session_timeout') || ' '
            || current_setting('statement_timeout')";
        let then = format!("{bounds}; rollback");
        let within = begin_with(&quick, sql, &then).await;
        assert_eq!(within, "700ms 5s", "what was less stays");
        let after: String = quick.query_one(bounds, &[]).await.unwrap().get(0);
        assert_eq!(after, "700ms 0", "for that transaction only");
    }
    // The chore is taken all the same where there is nothing to do.
    for sql in [
        "postrider.maintain_archive_partitions(0)",
        "postrider.cleanup_old_archive_partitions(120)",
    ] {
        let held = shop.postgres.connect_as("administrator", "shop").await.unwrap();
        begin_with(&held, &format!("(1 + {sql})"), "select 1").await;
        shop.until(gone).await;
    }
}

/// From PostgreSQL 17 on a limit of a transaction would end what runs as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_takes_its_time_to_drop_partitions_is_not_ended() {
    let shop = Shop::open_to_receivers().await;
    shop.execute(
        "create table postrider.message_2020_01 partition of postrider.message
            for values from ('2020-01-01+00') to ('2020-02-01+00');
        create function slow() returns event_trigger language plpgsql as $$
            begin perform pg_sleep(6); end $$;
        create event trigger slow on sql_drop execute function slow()",
    )
    .await;
    let dropped: i32 = shop.ask("select postrider.cleanup_old_archive_partitions(1)").await;
    assert_eq!(dropped, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_holds_up_no_takeover() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    // What pg_dump does at its start, with every table.
    let dump = shop.client().await;
    let tables: String = shop
        .ask(
            "select string_agg(format('postrider.%I', c.relname), ', ')
            from pg_class c
            where c.relnamespace = 'postrider'::regnamespace and c.relkind in ('r', 'p')",
        )
        .await;
    batch(&dump, "begin isolation level repeatable read read only").await;
    batch(&dump, &format!("lock table {tables} in access share mode")).await;
    let first = shop.serve().await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    first.sigterm();
    assert!(first.wait(LONG).await.unwrap().success());
    assert!(shop.ask::<bool>("select bool_and(owner is null) from postrider.shard").await);
    let _second = shop.serve().await;
    shop.send("hooks", json!({})).await;
    receiver.wait_for_accepted(2, LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_that_hangs_holds_up_a_takeover_until_it_is_ended() {
    let shop = Shop::open_to_receivers().await;
    let former = "00000000-0000-0000-0000-000000000001";
    shop.execute(&format!("update postrider.shard set owner = '{former}', epoch = epoch + 1"))
        .await;
    let hanging = shop.client().await;
    batch(&hanging, &format!("set application_name = 'postrider {former}'")).await;
    batch(&hanging, "begin; lock table postrider.fence in row share mode").await;
    // One that lives is left alone, and nobody else is touched.
    let other = shop.client().await;
    batch(&other, "begin; lock table postrider.fence in row share mode").await;
    assert_eq!(shop.ask::<i32>("select postrider.end_stale_flushes()").await, 1);
    shop.until(
        "select not exists (
            select from pg_stat_activity where application_name like 'postrider 0000%')",
    )
    .await;
    batch(&other, "commit").await;
    let _dispatcher = shop.serve().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_handed_out_beside_open_transactions() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let config = json!({ "url": receiver.url(), "rate_limit_per_second": 1000 });
    shop.endpoint("limited", config, json!({})).await;
    shop.execute("select postrider.create_consumer('reader')").await;
    let ids = "select (select id from postrider.endpoints) = (select id from postrider.consumer)";
    assert!(shop.ask::<bool>(ids).await, "the test is about equal numbers");
    let member = shop.client().await;
    batch(&member, "begin; select postrider.lease_partitions('reader', gen_random_uuid())").await;
    let administrator = shop.client().await;
    batch(
        &administrator,
        "begin;
        update postrider.endpoints set config = config || '{\"concurrency\": 3}';
        select postrider.reset_circuit_breaker('limited');",
    )
    .await;
    let _dispatcher = shop.serve().await;
    shop.send_many("limited", 50).await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    assert!(shop.ask::<bool>("select exists (select from postrider.rate_turn)").await);
    // What is left of an endpoint goes with the next rotation.
    batch(&administrator, "rollback").await;
    shop.until("select not exists (select from postrider.deferred)").await;
    let unread =
        "select not bool_or(postrider.has_unread_messages(s.id)) from postrider.subscriptions s";
    shop.until(unread).await;
    shop.execute("select postrider.drop_endpoint('limited')").await;
    shop.let_a_slot_pass().await;
    // Unless the dispatcher is at it just now.
    shop.execute("select postrider.rotate_slots()").await;
    shop.until("select not exists (select from postrider.rate_turn)").await;
}

/// The rows of `postrider.cancel_bucket`: so many messages later one is in the same bucket.
const BUCKETS: usize = 1024;

#[tokio::test(flavor = "multi_thread")]
async fn an_open_cancellation_delays_its_own_message_alone() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let (kept, undone) = (shop.client().await, shop.client().await);
    let cancelled = shop.send("hooks", json!({})).await;
    let refused = shop.send("hooks", json!({})).await;
    batch(&kept, &format!("begin; select postrider.cancel_message({cancelled})")).await;
    batch(&undone, &format!("begin; select postrider.cancel_message({refused})")).await;
    let _dispatcher = shop.serve().await;
    shop.send_many("hooks", 2 * BUCKETS).await;
    receiver.wait_for_accepted(2 * BUCKETS, LONG).await.unwrap();
    // The same of what waits until it is due, which it is not before somebody is about to cancel it.
    let soon = "select postrider.send_with_options(
        'hooks', '{}', p_scheduled_at => clock_timestamp() + interval '10 seconds')";
    let late: i64 = shop.ask(soon).await;
    batch(&undone, &format!("select postrider.cancel_message({late})")).await;
    for _ in 0..2 {
        shop.ask::<i64>(soon).await;
    }
    receiver.wait_for_accepted(2 * BUCKETS + 2, LONG).await.unwrap();
    let ids = || receiver.distinct_ids().into_iter().map(|id| id.0).collect::<Vec<_>>();
    assert!(![cancelled, refused, late].iter().any(|id| ids().contains(id)));
    batch(&kept, "commit").await;
    batch(&undone, "rollback").await;
    receiver.wait_for_accepted(2 * BUCKETS + 4, LONG).await.unwrap();
    assert!(ids().contains(&refused) && ids().contains(&late) && !ids().contains(&cancelled));
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert!(!ids().contains(&cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_may_cancel_any_number_of_messages() {
    const MORE_THAN_IS_REMEMBERED: usize = 1_100;
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    shop.send_many("hooks", MORE_THAN_IS_REMEMBERED).await;
    let client = shop.client().await;
    let entries = async || -> i64 {
        let sql = "select count(*) from pg_locks where pid = pg_backend_pid()";
        client.query_one(sql, &[]).await.unwrap().get(0)
    };
    let cancel = |most: usize| {
        format!(
            "select count(*) from (
                select postrider.cancel_message(m.id) as c
                from (
                    select m.id
                    from postrider.message m
                    where not exists (select from postrider.ended e where e.message_id = m.id)
                    order by m.id
                    limit {most}
                ) m
            ) c
            where c.c"
        )
    };
    batch(&client, "begin").await;
    let count: i64 = client.query_one(&cancel(50), &[]).await.unwrap().get(0);
    let few = entries().await;
    let rest = cancel(MORE_THAN_IS_REMEMBERED);
    let count = count + client.query_one(&rest, &[]).await.unwrap().get::<_, i64>(0);
    assert_eq!(count as usize, MORE_THAN_IS_REMEMBERED);
    assert_eq!(entries().await, few, "entries of the lock table");
    let _dispatcher = shop.serve().await;
    shop.send_many("hooks", 10).await;
    receiver.wait_for_accepted(10, LONG).await.unwrap();
    batch(&client, "commit").await;
    shop.send_many("hooks", 10).await;
    receiver.wait_for_accepted(20, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.cancellation)").await;
    assert_eq!(receiver.request_count(), 20);
}

/// Whether a dispatcher sleeps: it holds its doorbells.
const SLEEPS: &str = "select exists (
    select
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid and a.application_name like 'postrider %'
    where l.locktype = 'advisory' and l.classid = 1886352244 and l.mode = 'ExclusiveLock')";

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_the_doorbells_keeps_nobody_waiting() {
    let shop = Shop::open_to_receivers().await;
    let stranger = stranger(&shop).await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let mut sent = 0;
    for mode in ["_shared", ""] {
        shop.until(SLEEPS).await;
        // Who asks for a lock that the sleeper has gets it when it wakes up.
        let holds =
            format!("select pg_advisory_lock{mode}(1886352244, k) from generate_series(0, 63) k");
        let (holding, ringing) = tokio::join!(stranger.batch_execute(&holds), async {
            shop.until(
                "select exists (select from pg_locks where locktype = 'advisory' and not granted)",
            )
            .await;
            loop {
                shop.send("hooks", json!({})).await;
                sent += 1;
                receiver.wait_for_accepted(sent, LONG).await.unwrap();
                if !shop.ask::<bool>("select exists (select from pg_locks where locktype = 'advisory' and not granted)").await {
                    break;
                }
            }
        });
        holding.unwrap();
        let () = ringing;
        for _ in 0..20 {
            shop.send("hooks", json!({})).await;
            sent += 1;
            receiver.wait_for_accepted(sent, LONG).await.unwrap();
            assert!(!shop.ask::<bool>("select exists (select from pg_locks where locktype = 'advisory' and not granted)").await);
        }
        assert!(!shop.ask::<bool>(SLEEPS).await);
        batch(&stranger, "select pg_advisory_unlock_all()").await;
    }
    shop.until(SLEEPS).await;
}

/// Makes the cluster's queue of notifications as full as this.
fn fill(usage: &str) -> String {
    format!(
        "create or replace function postrider.notification_queue_usage()
        returns double precision language sql as 'select {usage}::double precision'"
    )
}

/// Somebody seems to sleep at every shard, who may be a stranger: a sender has reason to ring.
#[tokio::test(flavor = "multi_thread")]
async fn a_sender_does_not_ring_while_the_queue_of_notifications_is_filled() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let stranger = stranger(&shop).await;
    batch(&stranger, "select pg_advisory_lock(1886352244, k) from generate_series(0, 63) k").await;
    let connector = Connector::new(&DatabaseUrl::new(shop.url()), None, "test").unwrap();
    let mut listener = connector.connect().await.unwrap();
    batch(&listener.client, "listen postrider").await;
    for (usage, seconds, is_rung) in [("0.51", 7, false), ("0.5", 8, true), ("1", 9, false)] {
        shop.execute(&fill(usage)).await;
        let setting = format!("set_setting('http_timeout', '{seconds}')");
        for call in ["send('sink', '{}')", "send_batch('sink', array['{}']::jsonb[])", &setting] {
            shop.execute(&format!("select postrider.{call}")).await;
            shop.execute("notify postrider, 'over'").await;
            let mut heard = 0;
            while listener.notifications.recv().await.unwrap().payload() != "over" {
                heard += 1;
            }
            assert_eq!(heard > 0, is_rung, "{call}, {usage}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_rings_while_the_queue_of_notifications_is_filled() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    shop.execute(&fill("0.51")).await;
    let dispatcher = shop.serve().await;
    let health = "select status || ': ' || details from postrider.health_check()
        where component = 'dispatchers'";
    let said: String = shop.ask(health).await;
    assert!(said.starts_with("degraded") && said.contains("notifications is 51 % full"), "{said}");
    let listener = shop.client().await;
    for count in 1..=2 {
        shop.send("hooks", json!({})).await;
        receiver.wait_for_accepted(count, LONG).await.unwrap();
        // Longer than it stays awake after the last message.
        let ticks = "select count(*) from postrider.heartbeat";
        let beats: i64 = shop.ask(ticks).await;
        shop.until(&format!("select ({ticks}) > {beats}")).await;
        assert!(!shop.ask::<bool>(SLEEPS).await);
    }
    drop((listener, dispatcher));
    shop.execute(&fill("0.5")).await;
    let _dispatcher = shop.serve().await;
    shop.until(SLEEPS).await;
    let said: String = shop.ask(health).await;
    assert!(!said.contains("notifications"), "{said}");
}
