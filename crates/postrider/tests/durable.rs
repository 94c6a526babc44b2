//! Durable before delivered: nothing is attempted whose commit PostgreSQL may still forget.

use std::{
    collections::{HashMap, HashSet},
    io::Write as _,
    path::Path,
    process::Command,
};

use postrider_testkit::{
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::{
    expiring::check_lateness_since,
    shop::{
        Shop,
        consuming::{acknowledge, fetch, tick},
        serving::LONG,
    },
};

/// A server that writes nothing to the disk for a long time, but what somebody waits for and its WAL writer
/// ([`stop_writing`]).
pub fn late_to_write() -> Options {
    Options::default()
        .set("wal_buffers", "64MB")
        .set("autovacuum", "off")
        .set("checkpoint_timeout", "1h")
        .set("bgwriter_lru_maxpages", "0")
}

/// From now on nobody writes to the disk what was committed asynchronously, but who waits for it.
pub async fn stop_writing(shop: &Shop) {
    let writer = "select pid from pg_stat_activity where backend_type = 'walwriter'";
    let pid: i32 = shop.ask(writer).await;
    let stop = Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap();
    assert!(stop.success());
}

/// Sends so many messages, each in a transaction of its own that does not wait for the disk.
async fn send_fast(client: &Client, first: i64, count: i64) {
    let send = "select postrider.send('hooks', jsonb_build_object('n', $1::bigint))";
    let send = client.prepare(send).await.unwrap();
    for number in first..first + count {
        client.batch_execute("begin; select postrider.enable_fast_mode()").await.unwrap();
        client.query_one(&send, &[&number]).await.unwrap();
        client.batch_execute("commit").await.unwrap();
    }
}

/// Which message each id was, as it was delivered.
fn delivered(receiver: &Receiver) -> impl Iterator<Item = (i64, i64)> {
    let number =
        |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["n"].as_i64().unwrap();
    let requests = receiver.requests().into_iter();
    requests.filter_map(move |request| Some((request.id?.0, number(&request.body))))
}

/// What was delivered and is not in the log, or is another message there.
async fn forgotten(shop: &Shop, receiver: &Receiver) -> Vec<i64> {
    let client = shop.client().await;
    let rows =
        client.query("select id, (payload ->> 'n')::bigint from postrider.message", &[]).await;
    let known: HashMap<i64, i64> =
        rows.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    delivered(receiver)
        .filter(|(id, number)| known.get(id) != Some(number))
        .map(|(id, _)| id)
        .collect()
}

/// A tenure that began after the server came up owns the shards. The lease of one before may be renewed once more, on a
/// connection with its name.
const OWNED: &str = "select bool_and(coalesce(d.started_at > pg_postmaster_start_time(), false))
    from postrider.shard s
    left join postrider.dispatcher d on d.id = s.owner";

const REWOUND: &str = "select count(*) from postrider.event_log where event = 'log.rewound'";

/// Delivers while PostgreSQL crashes a few times; what it had delivered and forgotten, and how often our
/// dispatcher said so.
async fn crash_while_delivering(setting: &str) -> (Vec<i64>, i64) {
    const ROUNDS: i64 = 3;
    const COUNT: i64 = 40;
    let options = Options::default().set("wal_buffers", "64MB").set("autovacuum", "off");
    let mut shop = Shop::open_migrated_with(options).await;
    shop.execute("select postrider.set_setting('allow_internal_destinations', 'on')").await;
    shop.execute(&format!("select postrider.set_setting('deliver_before_durable', '{setting}')"))
        .await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let mut all = Vec::new();
    let mut messages = HashMap::new();
    for round in 0..ROUNDS {
        stop_writing(&shop).await;
        let before = receiver.accepted_count();
        let client = shop.client().await;
        send_fast(&client, round * 1_000, COUNT).await;
        receiver.wait_for_accepted(before + COUNT as usize, LONG).await.unwrap();
        send_fast(&client, round * 1_000 + COUNT, 5).await;
        shop.postgres.kill().unwrap();
        shop.postgres.start_again().unwrap();
        all.extend(forgotten(&shop, &receiver).await);
        shop.until(OWNED).await;
        for (id, number) in delivered(&receiver) {
            assert_eq!(*messages.entry(id).or_insert(number), number, "{id} is another message's");
        }
        receiver.clear();
    }
    (all, shop.ask(REWOUND).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_delivered_that_a_crash_takes_back() {
    let (forgotten, rewound) = crash_while_delivering("off").await;
    assert_eq!(forgotten, [0i64; 0]);
    assert_eq!(rewound, 0, "nobody says that something was forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_prefers_to_be_quick_delivers_what_a_crash_takes_back() {
    let (forgotten, rewound) = crash_while_delivering("on").await;
    assert_ne!(forgotten, [0i64; 0], "or the test above cannot fail");
    assert_eq!(rewound, 0, "a crash of the same server is no failover");
}

/// Consumers are handed what is visible. A crash may take it back, until a commit of theirs has been confirmed, which
/// keeps what they have read with what they have written.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumers_commit_keeps_what_it_has_read() {
    let mut shop = Shop::open_migrated_with(late_to_write()).await;
    shop.execute(
        "select postrider.create_endpoint('hooks', 'discard', '{}');
        select postrider.create_consumer('c');
        select postrider.set_setting('tick_interval_ms', '0');
        create table effect (message_id bigint primary key)",
    )
    .await;
    for commits in [false, true] {
        stop_writing(&shop).await;
        let client = shop.client().await;
        client.batch_execute("set synchronous_commit = off").await.unwrap();
        send_fast(&client, 1, 1).await;
        tick(&client).await.unwrap();
        client.batch_execute("begin").await.unwrap();
        let batch = fetch(&client, "c", 10).await;
        assert_eq!(batch.len(), 1, "on disk or not");
        let insert = "insert into effect select $1::bigint";
        client.execute(insert, &[&batch[0].id]).await.unwrap();
        acknowledge(&client, "c", batch[0].position).await;
        if commits {
            client.batch_execute("set local synchronous_commit = on; commit").await.unwrap();
        }
        shop.postgres.kill().unwrap();
        shop.postgres.start_again().unwrap();
        let left = "select array[
            (select count(*) from postrider.message), (select count(*) from effect),
            (select count(*) from effect join postrider.message m on m.id = message_id)]";
        let expected = i64::from(commits);
        assert_eq!(shop.ask::<Vec<i64>>(left).await, [expected; 3], "it commits: {commits}");
    }
}

/// Whether our dispatcher's commit waits for a standby.
const WAITS: &str = "select exists (
    select
    from pg_stat_activity a
    where a.application_name like 'postrider %'
    and a.wait_event = 'SyncRep')";

fn tenures(dispatcher: &Dispatcher) -> usize {
    dispatcher.log_lines().iter().filter(|line| line.contains("dispatching")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_does_not_answer_delays_deliveries_and_ends_nothing() {
    let options = Options::default().set("track_commit_timestamp", "on");
    let shop = Shop::open_to_receivers_with(options).await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut standby = shop.postgres.standby().unwrap();
    shop.wants_standby("*").await;
    let dispatcher = shop.serve().await;
    let client = shop.client().await;
    send_fast(&client, 0, 10).await;
    receiver.wait_for_accepted(10, LONG).await.unwrap();

    // Nobody confirms any more. The sender does not wait, the delivery does.
    standby.kill().unwrap();
    send_fast(&client, 10, 10).await;
    let expiring = "begin;
        select postrider.enable_fast_mode();
        select postrider.send_with_options(
            'hooks', '{}', p_expires_at => clock_timestamp() + interval '2 seconds');
        commit";
    client.batch_execute(expiring).await.unwrap();
    shop.until(WAITS).await;
    // Whoever ends the wait has made nothing durable.
    for _ in 0..3 {
        let cancel = "select bool_or(pg_cancel_backend(a.pid))
            from pg_stat_activity a where a.wait_event = 'SyncRep'";
        assert!(shop.ask::<bool>(cancel).await);
        shop.until(WAITS).await;
    }
    // Its lease goes on, one of 15 s with a sign of life every two, and health says what is the matter.
    let beats = "select count(*) from postrider.heartbeat";
    let before: i64 = shop.ask(beats).await;
    shop.until(&format!("select ({beats}) > {before} + 9")).await;
    shop.until(
        "select details like '%synchronous standby%' and status = 'degraded'
        from postrider.health_check() where component = 'dispatchers'",
    )
    .await;
    assert_eq!(receiver.accepted_count(), 10, "delivered, and on one disk only");
    assert_eq!(tenures(&dispatcher), 1);
    // What is not durable does not expire.
    shop.until(
        "select m.expires_at < clock_timestamp() - interval '6 seconds'
        from postrider.message m where m.expires_at is not null",
    )
    .await;
    let has_ended = "select exists (select from postrider.ended where reason = 'expired')";
    assert!(!shop.ask::<bool>(has_ended).await, "ended, and on one disk only");

    standby.start_again().unwrap();
    shop.until("select exists (select from pg_stat_replication where state = 'streaming')").await;
    let returned_at: String = shop.ask("select clock_timestamp()::text").await;
    receiver.wait_for_accepted(20, LONG).await.unwrap();
    shop.until(has_ended).await;
    check_lateness_since(&shop, &returned_at).await;
    shop.until("select not exists (select from postrider.queue)").await;
    assert_eq!(tenures(&dispatcher), 1);
    assert_eq!(receiver.request_count(), 20, "nothing came twice");
}

/// The standby has all that is on the primary's disk.
const IS_REPLICATED: &str = "select exists (
    select from pg_stat_replication r where r.replay_lsn >= pg_current_wal_flush_lsn())";

/// A dispatcher of whichever of the two is the primary.
async fn serve_either(shop: &Shop, standby: &PrivatePostgres) -> Dispatcher {
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/shop?target_session_attrs=read-write",
        shop.postgres.port(),
        standby.port()
    );
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    dispatcher
}

/// Sends so many, one by one, that do not wait for the standby, or as many until the server is gone.
fn send_until_it_dies(client: Client, count: i64) -> JoinHandle<()> {
    tokio::spawn(async move {
        let send = "select postrider.send('hooks', jsonb_build_object('n', $1::bigint))";
        for number in 0..count {
            let mode = if number % 2 == 0 { "off" } else { "local" };
            let set = format!("set synchronous_commit = {mode}");
            if client.batch_execute(&set).await.is_err()
                || client.query_one(send, &[&number]).await.is_err()
            {
                break;
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_delivered_is_on_the_standby_that_takes_over() {
    const COUNT: i64 = 300;
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let standby = shop.postgres.standby().unwrap();
    shop.wants_standby("*").await;
    let dispatcher = shop.serve().await;
    // It dies in the middle of it.
    let sending = send_until_it_dies(shop.client().await, COUNT);
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    shop.postgres.kill().unwrap();
    sending.await.unwrap();
    assert!(dispatcher.sigkill());
    standby.promote().await.unwrap();
    shop.postgres = standby;
    assert_eq!(forgotten(&shop, &receiver).await, [0i64; 0]);

    // Its heir goes on, and nothing is lost of what is there.
    shop.wants_standby("").await;
    let _heir = shop.serve().await;
    let sent: i64 = shop.ask("select count(*) from postrider.message").await;
    receiver.wait_for_accepted(sent as usize, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.queue)").await;
}

/// The server that takes over does not know what the dispatcher has read last, and all that it has delivered.
#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_that_lives_through_a_synchronous_failover_reports_no_loss() {
    const COUNT: i64 = 300;
    const FORGOTTEN: i64 = 20;
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut standby = shop.postgres.standby().unwrap();
    shop.wants_standby("*").await;
    let dispatcher = serve_either(&shop, &standby).await;
    send_until_it_dies(shop.client().await, COUNT).await.unwrap();
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    standby.kill().unwrap();
    send_fast(&shop.client().await, COUNT, FORGOTTEN).await;
    shop.until(WAITS).await;
    shop.postgres.kill().unwrap();
    standby.start_again().unwrap();
    standby.promote().await.unwrap();
    shop.postgres = standby;
    shop.wants_standby("").await;
    shop.until(OWNED).await;
    let kept = format!(
        "select count(*) from postrider.message where (payload ->> 'n')::bigint >= {COUNT}"
    );
    assert_eq!(shop.ask::<i64>(&kept).await, 0, "or nothing was forgotten");
    assert_eq!(forgotten(&shop, &receiver).await, [0i64; 0]);

    shop.send("hooks", json!({ "n": 2 * COUNT })).await;
    let sent: i64 = shop.ask("select count(*) from postrider.message").await;
    receiver.wait_for_accepted(sent as usize, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.queue)").await;
    assert_eq!(forgotten(&shop, &receiver).await, [0i64; 0]);
    assert_eq!(shop.ask::<i64>(REWOUND).await, 0, "nothing that was delivered was forgotten");
    let said = dispatcher.log_lines();
    assert!(!said.iter().any(|line| line.contains("forgotten")), "{said:#?}");
    assert!(tenures(&dispatcher) > 1, "it lived on");
}

/// Nobody can keep an asynchronous standby from forgetting; who has delivered says what it has forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_asynchronous_failover_forgets_is_counted() {
    check_failover(100).await;
}

/// What was read page by page, because one look at the log could not take it in, as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_asynchronous_failover_forgets_of_a_large_transaction_is_counted() {
    check_failover(6_000).await;
}

/// So many messages, sent by one transaction, are delivered and forgotten.
async fn check_failover(forgotten_count: usize) {
    const KEPT: usize = 10;
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut standby = shop.postgres.standby().unwrap();
    let dispatcher = serve_either(&shop, &standby).await;
    shop.send_many("hooks", KEPT).await;
    receiver.wait_for_accepted(KEPT, LONG).await.unwrap();
    shop.until(IS_REPLICATED).await;
    standby.kill().unwrap();
    shop.send_many("hooks", forgotten_count).await;
    receiver.wait_for_accepted(KEPT + forgotten_count, LONG).await.unwrap();

    shop.postgres.kill().unwrap();
    standby.start_again().unwrap();
    standby.promote().await.unwrap();
    shop.postgres = standby;
    shop.until(OWNED).await;
    // A tenure that ended before may have delivered some of it twice.
    let ids: HashSet<i64> = forgotten(&shop, &receiver).await.into_iter().collect();
    assert_eq!(ids.len(), forgotten_count);
    assert_eq!(shop.ask::<i64>(REWOUND).await, 1);
    let details: Value =
        shop.ask("select e.details from postrider.event_log e where e.event = 'log.rewound'").await;
    let number = |name: &str| details[name].as_u64().unwrap() as usize;
    let health = "select h.status || ': ' || h.details
        from postrider.health_check() h where h.component = 'failovers'";
    let said: String = shop.ask(health).await;
    let bytes = format!("{} bytes", details["lost_bytes"]);
    assert!(said.starts_with("degraded: ") && said.contains(&bytes), "{said}");
    let counter =
        "select metric_value from postrider.metrics() where metric_name = 'log_rewinds_total'";
    assert_eq!(shop.ask::<f64>(counter).await, 1.0);
    assert_eq!((number("former_timeline"), number("timeline")), (1, 2), "{details}");
    // A standby goes on up to 32 numbers further than it knows.
    let numbers = number("lost_numbers");
    assert!((forgotten_count - 33..=forgotten_count).contains(&numbers), "{details}");
    // Each message has some hundred bytes.
    assert!(number("lost_bytes") > 100 * forgotten_count, "{details}");
    assert!(details["left_at"].is_string(), "{details}");
    dispatcher.wait_for_log("has forgotten commits that were delivered", LONG).await.unwrap();

    // What is sent from now on has ids that nobody had, and a tenure that ends forgets nothing more.
    shop.send_many("hooks", forgotten_count).await;
    receiver.wait_for_accepted(KEPT + 2 * forgotten_count, LONG).await.unwrap();
    let ids: HashSet<_> = receiver.requests().iter().map(|request| request.id).collect();
    assert_eq!(ids.len(), KEPT + 2 * forgotten_count);
    shop.postgres.kill().unwrap();
    shop.postgres.start_again().unwrap();
    shop.until(OWNED).await;
    assert_eq!(shop.ask::<i64>(REWOUND).await, 1);
}

/// Sends `KEPT` messages that a copy of the server has, and `FORGOTTEN` that it has not; all are delivered. Nobody lives who
/// knows that: dispatcher and server are killed.
async fn deliver_what_is_forgotten(
    shop: &mut Shop,
    receiver: &Receiver,
    copy: &mut PrivatePostgres,
) {
    let dispatcher = shop.serve().await;
    shop.send_many("hooks", KEPT).await;
    receiver.wait_for_accepted(KEPT, LONG).await.unwrap();
    shop.until(IS_REPLICATED).await;
    copy.kill().unwrap();
    shop.execute("select pg_create_restore_point('forgotten')").await;
    shop.send_many("hooks", FORGOTTEN).await;
    receiver.wait_for_accepted(KEPT + FORGOTTEN, LONG).await.unwrap();
    assert!(dispatcher.sigkill());
    shop.postgres.kill().unwrap();
}

const KEPT: usize = 10;
/// More than the numbers that a server writes down in advance.
const FORGOTTEN: usize = 50;

/// What is sent once a dispatcher has looked has ids that nobody had; what the event says of the timeline.
async fn check_new_ids(shop: &Shop, receiver: &Receiver, sent_before: usize) -> Value {
    let former: HashSet<i64> = delivered(receiver).map(|(id, _)| id).collect();
    let _heir = shop.serve().await;
    let last: i64 = shop.ask("select last_value from postrider.message_sequence").await;
    shop.send_many("hooks", FORGOTTEN).await;
    let new = format!("select array_agg(id) from postrider.message where id >> 10 > {last}");
    let new: Vec<i64> = shop.ask(&new).await;
    assert_eq!(new.len(), FORGOTTEN);
    let doubled: Vec<&i64> = new.iter().filter(|id| former.contains(id)).collect();
    assert!(doubled.is_empty(), "{doubled:?} are others' ids");
    // Of those before the look some have ids that came before.
    shop.until("select not exists (select from postrider.queue)").await;
    let accepted: HashSet<i64> = delivered(receiver).map(|(id, _)| id).collect();
    assert!(new.iter().all(|id| accepted.contains(id)));
    let timeline = "select e.details from postrider.event_log e where e.event = 'log.timeline'";
    let details: Value = shop.ask(timeline).await;
    let number = |name: &str| details[name].as_u64().unwrap() as usize;
    assert_eq!((number("former_timeline"), number("timeline")), (1, 2), "{details}");
    // Perhaps some that were kept: they came after the last heartbeat as well.
    assert!((sent_before..=sent_before + KEPT).contains(&number("sent_before")), "{details}");
    details
}

/// Nobody knows what was delivered: numbers are left out.
#[tokio::test(flavor = "multi_thread")]
async fn no_id_comes_twice_after_a_failover_that_no_dispatcher_lived_through() {
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut standby = shop.postgres.standby().unwrap();
    deliver_what_is_forgotten(&mut shop, &receiver, &mut standby).await;
    standby.start_again().unwrap();
    standby.promote().await.unwrap();
    shop.postgres = standby;
    // Applications are quicker than dispatchers.
    shop.send_many("hooks", 3).await;
    let details = check_new_ids(&shop, &receiver, 3).await;
    assert!(details["numbers_left_out"].as_i64().unwrap() >= 1 << 30, "{details}");
    // Whoever comes next leaves nothing out.
    let _other = shop.serve().await;
    let count = "select count(*) from postrider.event_log where event = 'log.timeline'";
    assert_eq!(shop.ask::<i64>(count).await, 1);
    // But where somebody says that a disk was set back.
    shop.execute("update postrider.timeline set number = 0").await;
    let _next = shop.serve().await;
    assert_eq!(shop.ask::<i64>(count).await, 2);
}

/// Makes a backup one that is restored from the log in this folder, to the moment of `deliver_what_is_forgotten`.
fn restore_from(backup: &PrivatePostgres, log: &Path) {
    let data = backup.data_dir();
    let settings = format!(
        "primary_conninfo = ''\nrestore_command = 'cp \"{}/%f\" \"%p\"'\nrecovery_target_name = 'forgotten'\n\
         recovery_target_action = 'promote'\n",
        log.display()
    );
    let mut file =
        std::fs::OpenOptions::new().append(true).open(data.join("postgresql.auto.conf")).unwrap();
    file.write_all(settings.as_bytes()).unwrap();
    std::fs::rename(data.join("standby.signal"), data.join("recovery.signal")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// The same, of one backup that is restored again and again, while a sender's transaction stays open and while none does.
#[tokio::test(flavor = "multi_thread")]
async fn no_id_comes_twice_after_a_restore_to_a_moment() {
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let mut backup = shop.postgres.standby().unwrap();
    deliver_what_is_forgotten(&mut shop, &receiver, &mut backup).await;
    restore_from(&backup, &shop.postgres.data_dir().join("pg_wal"));
    let (data, kept) = (backup.data_dir(), backup.data_dir().with_extension("kept"));
    copy(&data, &kept);
    backup.start_again().unwrap();
    // Its log is read from the folder of the one that is gone.
    let _gone = std::mem::replace(&mut shop.postgres, backup);
    shop.until("select not pg_is_in_recovery()").await;
    let sender = shop.client().await;
    sender.batch_execute("begin; select postrider.send('hooks', '{\"n\": 0}')").await.unwrap();
    // What is not committed yet, nobody can count.
    let details = tokio::join!(check_new_ids(&shop, &receiver, 0), async {
        shop.until("select exists (select from postrider.event_log where event = 'log.timeline')")
            .await;
        sender.batch_execute("commit").await.unwrap();
    })
    .0;
    let left_out = details["numbers_left_out"].as_i64().unwrap();
    assert!((100_000..200_000).contains(&left_out), "{details}");
    for _ in 0..3 {
        shop.postgres.kill().unwrap();
        std::fs::remove_dir_all(&data).unwrap();
        copy(&kept, &data);
        shop.postgres.start_again().unwrap();
        shop.until("select not pg_is_in_recovery()").await;
        let details = check_new_ids(&shop, &receiver, 0).await;
        assert!(details["numbers_left_out"].as_i64().unwrap() >= 1 << 30, "{details}");
    }
}

/// A server that has a dispatcher's past, and not as far: what `confirm_position` says of a timeline 99, which this one
/// left at 0/100.
const CONFIRM: &str = "select coalesce(c.left_at::text, 'unknown') || case when c.lost_bytes > 0 then ', lost' else '' end
    from postrider.confirm_position(gen_random_uuid(), 99, '0/200', 0) c";

/// Whatever is the matter with the file of a timeline, a dispatcher goes on without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_timelines_history_that_cannot_be_read_ends_nothing() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create role keeper;
        grant usage on schema postrider to keeper;
        grant execute on all functions in schema postrider to keeper;
        grant select on postrider.message_sequence to keeper;
        grant select, insert on postrider.event_log, postrider.rewind, postrider.timeline to keeper",
    )
    .await;
    let client = shop.client().await;
    let check = async |expected: &str, for_keeper: &str| {
        for (role, expected) in [("postgres", expected), ("keeper", for_keeper)] {
            client.batch_execute(&format!("set role {role}")).await.unwrap();
            let row = client.query_one(CONFIRM, &[]).await.expect(role);
            assert_eq!(row.get::<_, &str>(0), expected, "{role}");
        }
        client.batch_execute("reset role").await.unwrap();
    };
    let history = shop.postgres.data_dir().join("pg_wal/00000001.history");
    check("unknown", "unknown").await;
    std::fs::write(&history, "98\t0/50\tno reason\n99\t0/100\tno reason\n").unwrap();
    check("0/100, lost", "unknown").await;
    shop.execute("grant execute on function pg_read_file(text, bigint, bigint, boolean) to keeper")
        .await;
    check("0/100, lost", "0/100, lost").await;
    // No text, a position that is none, and no file.
    std::fs::write(&history, b"99\t0/100\t\xff\xfe\n").unwrap();
    check("unknown", "unknown").await;
    std::fs::write(&history, "99\tFFFFFFFFFF/100\tno reason\n").unwrap();
    check("unknown", "unknown").await;
    std::fs::remove_file(&history).unwrap();
    std::fs::create_dir(&history).unwrap();
    check("unknown", "unknown").await;
    std::fs::remove_dir(&history).unwrap();
}

/// It is on this server's disk, and waits for no standby: that may be the one that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_a_failover_waits_for_the_disk_only() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    for (upto, expected) in [("'0/1'", "off"), ("'FFFF/0'", "local")] {
        let call = format!(
            "select (c).lost_bytes from (
                select postrider.confirm_position(gen_random_uuid(), 1, {upto}, 0) as c) c"
        );
        client.batch_execute("begin; set local synchronous_commit = off").await.unwrap();
        client.batch_execute(&call).await.unwrap();
        let mode = client.query_one("show synchronous_commit", &[]).await.unwrap();
        assert_eq!(mode.get::<_, &str>(0), expected, "{upto}");
        client.batch_execute("commit").await.unwrap();
    }
    assert_eq!(shop.ask::<i64>(REWOUND).await, 1);
    // What another one has lost is not said twice, and is used up all the same.
    shop.execute(
        "insert into postrider.rewind (lost_bytes, lost_numbers, highest_number)
            values (0, 1000, 1000);
        select postrider.confirm_position(gen_random_uuid(), 1, '0/1', 0);
        select postrider.use_up_numbers(0)",
    )
    .await;
    assert_eq!(shop.ask::<i64>(REWOUND).await, 1);
    assert_eq!(shop.ask::<i64>("select nextval('postrider.message_sequence')").await, 1001);
}

/// However many numbers there are: by a lock where nobody has drawn one and not ended, and one by one otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_forgotten_messages_are_used_up_whoever_draws_meanwhile() {
    const MANY: i64 = 5_000_000;
    let shop = Shop::open_migrated().await;
    // Until somebody has read the log, numbers that were used up count as messages that wait.
    shop.execute("select postrider.set_setting('max_queue_size', '0')").await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    let sender = shop.client().await;
    // The very first one, which a sequence says before it was drawn.
    shop.execute("select postrider.use_up_numbers(1)").await;
    sender.batch_execute("begin; select postrider.send('a', '1')").await.unwrap();
    let last = "select last_value from postrider.message_sequence";
    let first: i64 = shop.ask(last).await;
    assert_eq!(first, 2);
    let use_up = async |upto: i64| {
        shop.ask::<i64>(&format!("select postrider.use_up_numbers({upto})")).await
    };
    assert_eq!(use_up(first).await, 0);
    assert_eq!(use_up(first + 20).await, 0);
    assert_eq!(shop.ask::<i64>(last).await, first + 20);
    // A sender's transaction is open: a part, and nothing is set.
    let upto = first + MANY;
    let missing = use_up(upto).await;
    assert!(missing > 0 && missing < MANY - 20, "{missing}");
    assert_eq!(shop.ask::<i64>(last).await, upto - missing);
    sender.batch_execute("select postrider.send('a', '2'); commit").await.unwrap();
    assert_eq!(use_up(upto).await, 0);
    assert_eq!(shop.ask::<i64>(last).await, upto);
    let gap = "select last_number from postrider.number_gap
        where after_number = (select max(id >> 10) from postrider.message)";
    assert_eq!(shop.ask::<i64>(gap).await, upto);
    // Who is behind sets nothing back.
    assert_eq!(use_up(first + MANY / 2).await, 0);
    let id: i64 = shop.ask("select postrider.send('a', '3')").await;
    assert_eq!(id >> 10, upto + 1);
    // However far behind: dispatchers ask at each start.
    shop.execute("select setval('postrider.message_sequence', 3000000000)").await;
    assert_eq!(use_up(0).await, 0);
}
