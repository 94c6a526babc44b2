//! Every table stays level: with the same traffic each month, none grows for ever.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use crate::book::{paths_below, text_of};
use crate::shop::{Shop, consuming::drain, serving::LONG};
use postrider_testkit::{
    postgres::{Options, clock::MovableClock},
    receiver::{Behaviour, Receiver},
};
use serde_json::json;
use tokio_postgres::Client;

/// The server's clock goes on by so much at a time, which is longer than anything is kept. Rotating tables
/// are in another part of three each time.
const STEPS: i64 = 6;
const STEP_SECONDS: i64 = 100 * 86_400 + 600;

/// What has no row of its own in this traffic, and why that is level.
const NOT_FILLED: &[(&str, &str)] = &[
    ("fence", "is locked and never written"),
    ("api_token", "is made by hand; the next one forgets those that ended 90 days ago"),
    ("api_request", "a row for each request over HTTP with a key, forgotten after a day"),
    ("clock_jump", "keeps what is not finished, and the newest: another takes away those that are"),
    ("tick_turn", "is locked and never written"),
    ("tick_passing", "is locked and never written"),
    ("generation_lock", "is locked and never written"),
    (
        "action_slot",
        "as many as an action may run at once, 10,000 at most, which go with it; none without that limit",
    ),
    ("live_execution", "a row goes when its execution ends"),
    ("deferred", "a row goes when its delivery ends"),
    (
        "full_endpoint",
        "at most a row for each endpoint with a limit, which goes when it is free again",
    ),
    ("loan", "at most a row for each endpoint and shard, which goes with its borrower"),
    (
        "log_change",
        "its row goes with the transaction that writes it: adopt, or what erases messages",
    ),
    (
        "number_gap",
        "a row for each time that the log was adopted, or that a server was promoted or restored, which \
        readers need as long as the database lives",
    ),
    (
        "rewind",
        "a row for each dispatcher that lives through a failover that has forgotten what was delivered, once, as long \
        as the database lives: log_rewinds_total counts them",
    ),
    ("cancellation", "a row goes when its message is read, and dispatchers read at once"),
    ("partly_done", "is written where some targets of a message are done; has months like done"),
    ("parked_message", "waits for somebody to resolve it, as its page says"),
];

/// What is written while time goes by: a slow machine has more of it in a step. What has months is seen to be
/// dropped before each step, and what rotates to be gone two steps later (`LEFT_OVER`).
const BY_TIME: &[&str] = &["heartbeat", "checkpoint", "claim", "rate_grant", "done", "tick"];

/// The caretaker's statements (sql/queries) that keep tables level. `no_table_grows_for_ever` does them itself, at the
/// moments that it needs.
const CHORES: &[&str] = &[
    "forget_dispatchers",
    "forget_idempotency_keys",
    "forget_keys_to_nobody",
    "clean_up",
    "forget_consumer_rows",
    "roll_up_executions",
    "forget_executions",
    "forget_requests",
    "make_partitions",
    "cleanup_old_archive_partitions",
    "rotate_slots",
];

/// What else the caretaker runs, and who shows that it does.
const OTHER_CHORES: &[&str] = &[
    // What these let pass is waited for where they belong: replay, dead_letters, draining, recurring, signing, ticks.
    "advance_replays",
    "advance_jobs",
    "update_full_endpoints",
    "fire_schedules",
    "retire_signing_keys",
    "advance_ticks",
    // keys_freed
    "recheck_idempotency_keys",
    // Below.
    "bury_orphans",
    "retire_failing_endpoints",
    "needs_archive_upkeep",
    "upkeep_session",
];

/// What is out of date, or due: by which statement it goes, how it is made, and what holds afterwards, and not before.
const OUTDATED: &[(&str, &str, &str)] = &[
    (
        "forget_dispatchers",
        "insert into postrider.dispatcher (id, host, pid, version, started_at)
        values ('00000000-0000-0000-0000-00000000dead', 'gone', 1, '0', 'epoch')",
        "not exists (select from postrider.dispatcher where host = 'gone')",
    ),
    (
        "forget_idempotency_keys",
        "insert into postrider.idempotency_key (destination, key, message_id, payload_hash, created_at, ended_at)
        values (1, 'ended', 1, '', 'epoch', 'epoch')",
        "not exists (select from postrider.idempotency_key where key = 'ended')",
    ),
    (
        "forget_keys_to_nobody",
        "insert into postrider.idempotency_key (destination, key, message_id, payload_hash, created_at)
        values (1, 'to nobody', 2, '', 'epoch')",
        "not exists (select from postrider.idempotency_key where key = 'to nobody')",
    ),
    (
        "clean_up",
        "insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, message_created_at,
            priority, payload, failed_at)
        values (3, 1, 1, 'a', 'rejected', 0, now(), 0, '1', 'epoch')",
        "not exists (select from postrider.dead_letter where message_id = 3)",
    ),
    (
        "clean_up",
        "insert into postrider.event_log (event, at) values ('outdated', 'epoch')",
        "not exists (select from postrider.event_log where event = 'outdated')",
    ),
    (
        "clean_up",
        "insert into postrider.replay (
            endpoint_id, endpoint_name, from_ts, to_ts, state, position, last_id, position_at, finished_at)
        values (1, 'a', now(), now() + interval '1 hour', 'completed', 1, 1, now(), 'epoch')",
        "not exists (select from postrider.replay)",
    ),
    (
        "clean_up",
        "select postrider.create_event_type('placed');
        select postrider.unsubscribe(postrider.subscribe('placed', 'a'));
        update postrider.subscriptions set ended_at = 'epoch' where event_type = 'placed'",
        "not exists (select from postrider.subscriptions where event_type = 'placed')",
    ),
    (
        "forget_consumer_rows",
        "select postrider.create_consumer('c');
        insert into postrider.consumer_lease (consumer_id, member, partitions, lease_until, joined_at)
        select c.id, gen_random_uuid(), '{}', 'epoch', 'epoch' from postrider.consumer c",
        "not exists (select from postrider.consumer_lease)",
    ),
    (
        "roll_up_executions",
        "select postrider.submit_execution('counted');
        select postrider.cancel_execution(e.id) from postrider.execution e",
        "exists (select from postrider.execution_statistics where action = 'counted')",
    ),
    (
        "forget_executions",
        "insert into postrider.execution_statistics (
            hour, pool, action, worker_id, status, reason, attempt_count, ended_count, started_count,
            running_seconds, waiting_seconds)
        values ('epoch', '', 'old', 0, 'completed', '', 1, 1, 1, 1, 1)",
        "not exists (select from postrider.execution_statistics where action = 'old')",
    ),
    (
        "forget_requests",
        "insert into postrider.api_token (name, role, hash, created_by)
        values ('old', 'viewer', sha256('token'), 'me');
        insert into postrider.api_request (token_id, key, fingerprint, at)
        select t.id, 'old', '', 'epoch' from postrider.api_token t",
        "not exists (select from postrider.api_request)",
    ),
    (
        "make_partitions",
        "do $$
        begin
            execute format('drop table postrider.%I', (
                select p.name
                from postrider.partitions p
                where p.table_name = 'attempt'
                and p.from_at is not null
                order by p.from_at desc
                limit 1));
        end;
        $$",
        "not exists (select from postrider.missing_partitions(postrider.partition_months_ahead()))",
    ),
    (
        "cleanup_old_archive_partitions",
        "create table postrider.attempt_old partition of postrider.attempt
            for values from ('2001-01-01 00:00+00') to ('2001-02-01 00:00+00')",
        "to_regclass('postrider.attempt_old') is null",
    ),
    (
        "rotate_slots",
        "update postrider.rotation set since = 'epoch'",
        "(select r.since > 'epoch' from postrider.rotation r)",
    ),
    (
        "bury_orphans",
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, 999, 999, (m.id & 1023) >> 4, now() + interval '1 day', m.created_at
        from postrider.message m",
        "exists (select from postrider.job where kind = 'drop' and endpoint_id = 999)",
    ),
    (
        "retire_failing_endpoints",
        "select postrider.set_setting('auto_disable_after_days', '2');
        update postrider.circuit set failing_since = 'epoch', last_failure_at = now()
        where endpoint_id = (select e.id from postrider.endpoints e where e.name = 'failing')",
        "(select not e.enabled from postrider.endpoints e where e.name = 'failing')",
    ),
];

/// Rows up to the number `$1`, by table: a slot is emptied in the third step after it was begun. The newest of each shard and dispatcher stays.
const LEFT_OVER: &str = "
    select 'heartbeat', count(*)
    from postrider.heartbeat h
    where h.seq <= $1
    and not exists (
        select
        from postrider.dispatcher d
        where d.id = h.dispatcher
        and h.seq = (select max(n.seq) from postrider.heartbeat n where n.dispatcher = d.id))
    union all
    select 'checkpoint', count(*)
    from postrider.checkpoint c
    where c.seq <= $1
    and not exists (
        select
        from postrider.shard s
        where c.seq = (
            select max(n.seq) from postrider.checkpoint n where n.shards @> array[s.shard]))
    union all
    select 'claim', count(*) from postrider.claim c where c.seq <= $1
    union all
    select 'rate_grant', count(*) from postrider.rate_grant g where g.seq <= $1";

/// So many steps later nothing is left of what there was before a step.
const ROTATION: usize = 2;

/// Nothing is left of the step before in tables that have months.
const IS_CLEAN: &str = "
    select not exists (
        select
        from postrider.partitions p
        where p.to_at < clock_timestamp() - interval '70 days')";

fn source(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A chore's statement, as the settings say.
fn statement(chore: &str) -> String {
    text_of(&paths_below("sql/queries", ".sql")[chore]).replace("$1", "null")
}

/// What stands behind each `before`, up to `after`, where that is a name.
fn names<'a>(text: &'a str, before: &str, after: &str) -> BTreeSet<&'a str> {
    let is_name = |name: &&str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    text.split(before)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once(after)?.0))
        .filter(is_name)
        .collect()
}

/// The statements that a function runs, and those that it calls in the same file.
fn statements(file: &str, function: &str) -> BTreeSet<String> {
    let begin = format!("{function}(");
    let body = file.split("fn ").find(|part| part.starts_with(&begin));
    let body = body.unwrap_or_else(|| panic!("there is no function {function}"));
    let run = |(name, path): (String, String)| body.contains(&path).then_some(name);
    let queries = paths_below("sql/queries", ".sql").into_iter();
    let mut found: BTreeSet<String> = queries.filter_map(run).collect();
    for called in names(file, "fn ", "(") {
        if called != function && body.contains(&format!("{called}(")) {
            found.extend(statements(file, called));
        }
    }
    found
}

/// The same at each step; `n` makes names differ.
fn traffic(n: i64) -> String {
    format!(
        "select postrider.send_with_options('good', '{{}}', p_idempotency_key => 'key-{n}-' || k)
        from generate_series(1, 20) k;
        select postrider.publish('placed', '{{}}', p_idempotency_key => 'key-{n}-' || k)
        from generate_series(1, 20) k;
        select postrider.publish('unwanted', '{{}}', p_idempotency_key => 'key-{n}-' || k)
        from generate_series(1, 20) k;
        select postrider.send('bad', '{{}}') from generate_series(1, 20);
        select postrider.cancel_message(postrider.send_with_options(
            'good', '{{}}', p_scheduled_at => now() + interval '1 hour')) from generate_series(1, 5);
        select postrider.unsubscribe(postrider.subscribe('unwanted', 'bad'));
        select postrider.create_endpoint('passing-{n}', 'discard', '{{}}');
        select postrider.drop_endpoint('passing-{n}', true);
        select postrider.create_consumer('passing-{n}');
        select postrider.drop_consumer('passing-{n}');
        select postrider.lease_partitions('c', gen_random_uuid()) from generate_series(1, 30);
        select postrider.register_worker('passing-{n}-' || k) from generate_series(1, 30) k;
        select postrider.deregister_worker(w.id) from postrider.worker w where w.name like 'passing-{n}-%';
        select postrider.note_broker('process-{n}-' || k, true, 0, null) from generate_series(1, 30) k;
        select postrider.keep_dead_letter('x', '{{}}', '{{}}') from generate_series(1, 30);
        select postrider.submit_execution('quick', '{{}}') from generate_series(1, 30);
        select postrider.register_worker('w', p_capacity => 1000);
        do $$
        declare
            w integer := (select w.id from postrider.worker w where w.name = 'w');
        begin
            perform postrider.complete_execution(s.execution_id, s.fence)
            from postrider.take_executions(w, 100) t
            cross join lateral postrider.start_execution(t.execution_id, t.fence) s;
        end;
        $$;"
    )
}

/// Figures of hours, of which there is one in a step, are kept for 400 days.
const FIGURES: &[&str] = &["dead_letter_statistics", "execution_statistics"];
const FIGURES_KEPT: i64 = 400 * 86_400 / STEP_SECONDS + 2;

/// Time goes on, somebody reads tables that rotate and stays, and there is the same traffic as ever. Who reads, and the last
/// number of what rotates before.
async fn make_step(shop: &mut Shop, clock: &MovableClock, step: i64) -> (Client, i64) {
    let before = shop.ask("select last_value from postrider.rotation_sequence").await;
    // It ends today: timeouts do not work in the future (see MovableClock).
    clock.set((step + 1 - STEPS) * STEP_SECONDS).unwrap();
    shop.postgres.restart().unwrap();
    let (reader, client) = (shop.client().await, shop.client().await);
    reader
        .batch_execute(
            "begin;
            select from postrider.checkpoint, postrider.claim, postrider.heartbeat, postrider.rate_grant
            limit 1",
        )
        .await
        .unwrap();
    // What somebody reads at the moment goes a minute later.
    let deadline = Instant::now() + LONG;
    loop {
        // Each in a transaction of its own, as the dispatcher does them, perhaps at the same time.
        for chore in CHORES {
            client.batch_execute(&statement(chore)).await.unwrap();
        }
        if shop.ask::<bool>(IS_CLEAN).await {
            break;
        }
        assert!(Instant::now() < deadline, "months are kept for longer than they are wanted");
    }
    // How long they are kept goes by the oldest month.
    client.batch_execute("select postrider.forget_subscriptions(10000)").await.unwrap();
    client.batch_execute(&traffic(step)).await.unwrap();
    let ended = "select coalesce(bool_and(postrider.has_ended_everywhere(m.id, m.targets)), true)
        from postrider.message m where m.targets <> '{}'";
    shop.until(ended).await;
    client
        .batch_execute(
            "select postrider.redrive_matching('bad', p_rate => null);
            select postrider.create_replay('good', now() - interval '1 day', now() + interval '1 day',
                null, null, null, null);",
        )
        .await
        .unwrap();
    shop.until("select not exists (select from postrider.job where state = 'running')").await;
    shop.until("select not exists (select from postrider.replay where state = 'running')").await;
    shop.until(ended).await;
    client.query("select postrider.begin_batch('c', 0, 10)", &[]).await.unwrap();
    drain(&client, "c", 100).await;
    (reader, before)
}

/// What is still there of steps that are over, of tables that rotate.
async fn left_over(client: &Client, before: i64) -> Vec<String> {
    let rows = client.query(LEFT_OVER, &[&before]).await.unwrap();
    assert_eq!(rows.len(), 4);
    let rows = rows.iter().map(|row| (row.get::<_, &str>(0), row.get::<_, i64>(1)));
    rows.filter(|(_, count)| *count > 0)
        .map(|(table, count)| format!("{table} has {count} rows up to number {before}"))
        .collect()
}

/// How many rows every table has that is not a partition of another, and how many partitions there are.
async fn sizes(client: &Client) -> BTreeMap<String, i64> {
    let sql = "select c.relname::text from pg_class c
        where c.relnamespace = 'postrider'::regnamespace
        and c.relkind in ('r', 'p')
        and not c.relispartition";
    let mut sizes = BTreeMap::new();
    for row in client.query(sql, &[]).await.unwrap() {
        let name: String = row.get(0);
        let count = format!("select count(*) from postrider.\"{name}\"");
        sizes.insert(name, client.query_one(&count, &[]).await.unwrap().get(0));
    }
    let parts = "select count(*) from pg_class c
        where c.relnamespace = 'postrider'::regnamespace and c.relispartition";
    sizes.insert("partitions".to_owned(), client.query_one(parts, &[]).await.unwrap().get(0));
    sizes
}

#[tokio::test(flavor = "multi_thread")]
async fn no_table_grows_for_ever() {
    let clock = MovableClock::new().unwrap();
    clock.set(-STEPS * STEP_SECONDS).unwrap();
    let options = Options { installation: Some(clock.installation()), ..Options::default() };
    let mut shop = Shop::open_migrated_with(options).await;
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let bad = Receiver::start(Behaviour::Status(400)).unwrap();
    shop.execute(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('circuit_breaker_threshold', '1000');
        select postrider.set_setting('archive_retention_months', '1');
        select postrider.set_setting('dlq_retention_days', '10');
        select postrider.set_setting('event_log_retention_days', '10');
        select postrider.set_setting('execution_retention_days', '10');
        select postrider.set_setting('idempotency_window', '3600');
        select postrider.create_event_type('placed');
        select postrider.create_event_type('unwanted');
        select postrider.create_consumer('c', p_partitions => 2);
        select postrider.set_action('quick')",
    )
    .await;
    shop.endpoint("good", json!({ "url": good.url(), "rate_limit_per_second": 1000 }), json!({}))
        .await;
    shop.endpoint("bad", json!({ "url": bad.url() }), json!({})).await;
    shop.execute(
        "select postrider.subscribe('placed', 'good');
        select postrider.create_schedule('daily', 'every 1 day', p_endpoint_name => 'good')",
    )
    .await;
    let _dispatcher = shop.serve().await;

    let (mut seen, mut begins, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..STEPS {
        let (reader, before) = make_step(&mut shop, &clock, step).await;
        begins.push(before);
        let client = shop.client().await;
        seen.push(sizes(&client).await);
        if let Some(before) = begins.iter().rev().nth(ROTATION) {
            wrong.extend(left_over(&client, *before).await);
        }
        drop(reader);
    }
    for table in seen[0].keys() {
        let sizes: Vec<i64> = seen.iter().map(|sizes| sizes[table]).collect();
        println!("{table}: {sizes:?}");
        let (former, last) = sizes.split_at(sizes.len() - 2);
        let most = former.iter().max().unwrap();
        let allowed = match table.as_str() {
            by_time if BY_TIME.contains(&by_time) => most * 3 + 9,
            figures if FIGURES.contains(&figures) => FIGURES_KEPT,
            _ => *most,
        };
        if last.iter().any(|count| *count > allowed) {
            wrong.push(format!("{table} grows: {sizes:?}"));
        }
        let kind = table.trim_end_matches(|last: char| last.is_ascii_digit() || last == '_');
        let is_excused = NOT_FILLED.iter().any(|(name, _)| *name == kind);
        if is_excused != sizes.iter().all(|count| *count == 0) {
            wrong.push(format!("{table} is to be tried, or to be excused: {sizes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is done by hand above is what a dispatcher does, all of it and nothing else.
#[test]
fn the_chores_are_those_of_the_caretaker() {
    let caretaker = source("postrider-engine/src/caretaker.rs");
    let mut found = BTreeSet::new();
    for (before, path) in [
        ("chores.", "postrider-store/src/chores.rs"),
        ("ticks.", "postrider-store/src/chores.rs"),
        ("archive::", "postrider-store/src/archive.rs"),
    ] {
        let file = source(path);
        let called = names(&caretaker, before, "(");
        assert!(!called.is_empty(), "the caretaker calls nothing of {path}");
        for function in called {
            let run = statements(&file, function);
            assert!(!run.is_empty(), "{function} runs no statement");
            found.extend(run);
        }
    }
    let listed = CHORES.iter().chain(OTHER_CHORES).map(|chore| (*chore).to_owned());
    assert_eq!(found, listed.collect::<BTreeSet<_>>());
    let tried: BTreeSet<&str> = OUTDATED.iter().map(|(chore, ..)| *chore).collect();
    let untried = CHORES.iter().filter(|chore| !tried.contains(**chore)).collect::<Vec<_>>();
    assert!(untried.is_empty(), "nothing waits for {untried:?} below");
}

/// It does them as soon as it has begun, and every minute: all by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_does_every_chore() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint(n, 'discard', '{}') from unnest(array['a', 'failing']) n;
        select postrider.send('a', '{}')",
    )
    .await;
    for (chore, outdate, is_done) in OUTDATED {
        shop.execute(outdate).await;
        assert!(!shop.ask::<bool>(&format!("select {is_done}")).await, "{chore}: {is_done}");
    }
    let _dispatcher = shop.serve().await;
    for (chore, _, is_done) in OUTDATED {
        let took = shop.until_within(LONG, &format!("select {is_done}")).await;
        println!("{chore}: {took:?}");
    }
}
