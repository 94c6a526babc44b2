//! A log that was written by another database is not delivered before somebody adopts it; then nothing is lost,
//! and no id is given away twice.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use crate::book::Page;
use crate::shop::{
    Shop, changing_the_log,
    consuming::{acknowledge, drain, fetch, tick},
    producing::id_of,
    run,
    serving::LONG,
};
use postrider_store::lease;
use postrider_testkit::{
    postgres::Options,
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};
use serde_json::json;
use tokio_postgres::Client;

const SESSION: &str = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
const FINISHED: i64 = 100_000;
const UNFINISHED: i64 = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_log_is_adopted_within_a_dispatchers_limits() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    shop.send_many("sink", FINISHED as usize).await;
    let dispatcher = shop.serve().await;
    let count = "select coalesce(sum(octet_length(d.offsets) / 2), 0) from postrider.done d";
    shop.until(&format!("select ({count}) = {FINISHED}")).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    shop.send_many("sink", UNFINISHED as usize).await;
    // As if the counter of this cluster stood far behind.
    let ahead = "update postrider.message set xid = ((xid::text)::bigint + 1000000000)::text::xid8";
    shop.execute(&changing_the_log(ahead)).await;

    let client = shop.client().await;
    client.batch_execute(SESSION).await.unwrap();
    client.batch_execute("set statement_timeout = 0").await.unwrap();
    assert!(lease::confirm_origin(&client).await.is_err());
    let began = Instant::now();
    let adopted =
        "select coalesce(sum(a.unfinished_messages), -1)::bigint from postrider.adopt() a";
    let unfinished: i64 = client.query_one(adopted, &[]).await.unwrap().get(0);
    println!("adopted {} messages in {:?}", FINISHED + UNFINISHED, began.elapsed());
    assert_eq!(unfinished, UNFINISHED);
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    lease::confirm_origin(&client).await.unwrap();
    let again: i64 = client.query_one(adopted, &[]).await.unwrap().get(0);
    assert_eq!(again, -1, "once is enough");

    // What is new is far ahead, and all of it is one walk, which goes round what lies between. Nobody counts
    // that as waiting.
    shop.send_many("sink", UNFINISHED as usize).await;
    let _dispatcher = shop.serve().await;
    let all = FINISHED + 2 * UNFINISHED;
    let refused = format!(
        "select ({count}) >= {all} from (select postrider.send('sink', '{{}}') offset 0) s limit 1"
    );
    let sent = "select count(*) from postrider.message";
    shop.until(&refused).await;
    let sent: i64 = shop.ask(sent).await;
    shop.until(&format!("select ({count}) >= {sent}")).await;
    assert_eq!(shop.ask::<i64>(&format!("select ({count})::bigint")).await, sent);
    let depth =
        "select m.metric_value from postrider.metrics() m where m.metric_name = 'queue_depth'";
    shop.until(&format!("select ({depth}) < 1000")).await;
}

/// All that a consumer gets, whichever of its partitions has something.
async fn drain_all(client: &Client, consumer: &str) -> Vec<i64> {
    let mut ids = Vec::new();
    loop {
        let more = drain(client, consumer, 3).await;
        if more.is_empty() {
            return ids;
        }
        ids.extend(more);
    }
}

/// Fetches and acknowledges so many.
async fn read(client: &Client, consumer: &str, count: usize) {
    client.batch_execute("begin").await.unwrap();
    let batch = fetch(client, consumer, count).await;
    assert_eq!(batch.len(), count, "{consumer}");
    acknowledge(client, consumer, batch[count - 1].position).await;
    client.batch_execute("commit").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_go_on_where_they_were() {
    const COMMIT: [&str; 8] =
        ["begun", "inside", "all", "none", "split", "now", "from", "filtered"];
    const TRANSACTION: [&str; 4] = ["t_begun", "t_all", "t_none", "t_now"];
    let shop = Shop::open_to_consumers().await;
    let (client, early) = (shop.client().await, shop.client().await);
    let burn = "do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop;
        end $$";
    client.batch_execute(burn).await.unwrap();
    client
        .batch_execute(
            "select postrider.create_consumer(name)
            from unnest(array['begun', 'inside', 'all', 'none', 'idle']) name;
            select postrider.create_consumer('split', p_partitions => 3);
            select postrider.create_consumer('filtered', p_filter => '{\"n\": 2}');
            select postrider.create_consumer(name, p_ordering => 'transaction')
            from unnest(array['t_begun', 't_all', 't_none']) name",
        )
        .await
        .unwrap();
    let send = async |from: i64, to: i64| {
        for n in from..to {
            // Some transactions have several messages.
            let sql = format!(
                "select postrider.send('a', '{{\"n\": {}}}')
                from generate_series(1, 1 + {n} % 3)",
                n % 4
            );
            client.batch_execute(&sql).await.unwrap();
            if n % 5 == 0 {
                tick(&client).await;
            }
        }
    };

    // Some of it has ended, some has not.
    let dispatcher = shop.serve().await;
    early.batch_execute("begin").await.unwrap();
    let late = id_of(&early, "select postrider.send('a', '{\"n\": 1}')").await;
    send(0, 20).await;
    let ended = "select not exists (
        select from postrider.message m where not postrider.is_done(m.id))";
    shop.until(ended).await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    send(20, 40).await;
    tick(&client).await;
    let middle = id_of(&client, "select id from postrider.message order by id offset 50 limit 1");
    let middle = middle.await;
    let starts = format!(
        "select postrider.create_consumer('from', p_start => '{middle}');
        select postrider.create_consumer('now', p_start => 'now');
        select postrider.create_consumer('t_now', p_start => 'now', p_ordering => 'transaction')"
    );
    client.batch_execute(&starts).await.unwrap();
    read(&client, "begun", 30).await;
    read(&client, "inside", 32).await;
    read(&client, "split", 5).await;
    read(&client, "split", 4).await;
    read(&client, "filtered", 3).await;
    early.batch_execute("commit").await.unwrap();
    read(&client, "t_begun", 31).await;
    send(40, 50).await;
    assert!(drain(&client, "all", 100).await.contains(&late));
    drain(&client, "t_all", 100).await;
    send(50, 53).await;
    drain(&client, "idle", 100).await;

    let dump = shop.dump_all("shop");
    let younger = Shop::open().await;
    younger.psql("shop", &[], &dump).succeed();
    let restored = younger.client().await;
    // The same for all that follows in both: what was not read at the time of the dump, and what comes.
    let lags = "select array_agg(c.message_count order by c.name, c.partition)
        from postrider.consumers c";
    let before = client.query_one(lags, &[]).await.unwrap().get::<_, Vec<i64>>(0);
    for refused in [
        "select postrider.tick()",
        "select * from postrider.fetch_messages('begun')",
        "select * from postrider.begin_batch('begun', 0, 10)",
    ] {
        assert_eq!(younger.refusal(refused).await, "55000", "{refused}");
    }
    // Somebody sends before it is adopted.
    let native = id_of(&restored, "select postrider.send('a', '{\"n\": 2}')").await;

    younger.run(&["serve"]).fail(3, "`postrider adopt`");
    younger.run(&["adopt", "--yes"]).succeed();
    assert_eq!(restored.query_one(lags, &[]).await.unwrap().get::<_, Vec<i64>>(0), before);
    let new = id_of(&restored, "select postrider.send('a', '{\"n\": 2}')").await;
    assert_eq!(drain_all(&restored, "idle").await, [native, new]);
    for name in COMMIT.into_iter().chain(TRANSACTION) {
        let mut expected = drain_all(&client, name).await;
        expected.extend([native, new]);
        let lag: i64 = younger
            .ask(&format!(
                "select sum(c.lag_messages)::bigint from postrider.consumers c
                where c.name = '{name}'"
            ))
            .await;
        let mut found = drain_all(&restored, name).await;
        assert_eq!(lag, i64::try_from(found.len()).unwrap(), "{name}");
        if COMMIT.contains(&name) && name != "split" {
            assert!(found.is_sorted(), "{name}: {found:?}");
        }
        if TRANSACTION.contains(&name) {
            assert_eq!(found.last(), Some(&new), "{name}");
        }
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }

    // Who begins again gets all of it, and goes on as everybody does.
    for name in ["inside", "t_begun"] {
        let reset = format!("select postrider.reset_consumer('{name}', 'beginning')");
        restored.batch_execute(&reset).await.unwrap();
        let mut found = drain(&restored, name, 100).await;
        found.sort_unstable();
        let every: Vec<i64> =
            younger.ask("select array_agg(m.id order by m.id) from postrider.message m").await;
        assert_eq!(found, every, "{name}");
    }
}

const SIGN: &str = "select coalesce(postrider.foreign_sign(), 'none')";

#[tokio::test(flavor = "multi_thread")]
async fn every_position_of_every_shard_counts() {
    const AHEAD: &str = "((pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 7)::text)";
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_consumer('reader', p_partitions => 3);
        select postrider.create_consumer('older', p_ordering => 'transaction')",
    )
    .await;
    let dispatcher = shop.serve().await;
    shop.send_many("sink", 100).await;
    shop.until("select not exists (select from postrider.queue)").await;
    shop.until("select exists (select from postrider.tick)").await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    let client = shop.client().await;
    read_one(&client, "older").await;
    let state = |path: &str, text: &str| {
        // Of one shard, whatever checkpoint speaks of it; all others stay as they are.
        format!(
            "insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
            select c.slot, c.owner, '{{5}}', c.done_xmin, c.backlogs[1:1],
                jsonb_set(c.state, '{{0,state,{path}}}', to_jsonb({text}))
            from postrider.checkpoint c where c.shards @> '{{5}}' order by c.seq desc limit 1"
        )
    };
    let snapshot = format!("format('3:%s:', {AHEAD})");
    let listed = format!("format('3:%s:%s', {AHEAD}, {AHEAD}::bigint - 1)");
    let window = format!(
        "jsonb_build_object('base', '3:3:', 'window',
            jsonb_build_object('top', {snapshot}, 'id', 0, 'end', 1))"
    );
    for (change, sign) in [
        ("select 1".to_owned(), "none"),
        (state("tail", &format!("jsonb_build_object('base', {snapshot})")), "shard 5 is at"),
        (state("tail", &format!("jsonb_build_object('base', {listed})")), "shard 5 is at"),
        (state("tail", &window), "shard 5 is at"),
        (
            state("done", &format!("jsonb_build_array(jsonb_build_object('base', {snapshot}))")),
            "shard 5 is at",
        ),
        (
            format!(
                "insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
                select c.slot, c.owner, '{{9}}', {AHEAD}::xid8, c.backlogs[1:1], c.state
                from postrider.checkpoint c where c.shards @> '{{9}}' order by c.seq desc limit 1"
            ),
            "shard 9 is at",
        ),
        (format!("update postrider.heartbeat set xid = {AHEAD}::xid8"), "a heartbeat is at"),
        (
            format!("update postrider.tick set xid = {AHEAD}::xid8"),
            "the newest tick is at",
        ),
        (
            format!("update postrider.tick set snapshot = {snapshot}::pg_snapshot"),
            "the snapshot of the newest tick is at",
        ),
        (
            format!("update postrider.consumer_position set xid = {AHEAD}::xid8 where xid is not null"),
            "consumer older is at",
        ),
        (
            format!(
                "update postrider.consumer set start_snapshot = {snapshot}::pg_snapshot, start_id = 1
                where name = 'reader'"
            ),
            "the start of consumer reader is at",
        ),
        (
            format!("update postrider.execution_rollup set horizon = {AHEAD}::xid8"),
            "the horizon of the figures of executions is at",
        ),
        (
            format!(
                "insert into postrider.log_change default values;
                update postrider.message set xid = {AHEAD}::xid8
                where id = (select max(id) from postrider.message);
                delete from postrider.log_change"
            ),
            "the newest message is at",
        ),
        ("select postrider.send('sink', '{}')".to_owned(), "none"),
        ("delete from postrider.identity".to_owned(), "it was written by another database"),
        (
            "update postrider.identity set database_oid = 1".to_owned(),
            "it was written by another database (oid 1,",
        ),
        (
            "update postrider.identity set relation_oid = 1".to_owned(),
            "it was written by another database",
        ),
        // The row is not the one that was written: no upgrade has brought it here.
        (
            "update postrider.identity set system_identifier = 1".to_owned(),
            "it was written in another cluster (system identifier 1)",
        ),
    ] {
        client.batch_execute("begin").await.unwrap();
        client.batch_execute(&change).await.unwrap_or_else(|error| panic!("{error:?}: {change}"));
        let found: String = client.query_one(SIGN, &[]).await.unwrap().get(0);
        assert!(found.starts_with(sign), "{found}: {change}");
        client.batch_execute("rollback").await.unwrap();
    }

    // What a transaction has written itself may be ahead of all that it sees as ended.
    let other = shop.client().await;
    other.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
    client.batch_execute("begin; select postrider.send('sink', '{}')").await.unwrap();
    assert_eq!(client.query_one(SIGN, &[]).await.unwrap().get::<_, String>(0), "none");
    client.batch_execute("rollback").await.unwrap();
    other.batch_execute("rollback").await.unwrap();

    // Sequences are not replicated with the rest.
    for (sequence, sign) in
        [("message_sequence", "message "), ("rotation_sequence", "a checkpoint has the number")]
    {
        let former: i64 = shop.ask(&format!("select last_value from postrider.{sequence}")).await;
        shop.execute(&format!("select setval('postrider.{sequence}', 1)")).await;
        let found: String = shop.ask(SIGN).await;
        assert!(found.starts_with(sign), "{found}");
        shop.run(&["serve"]).fail(3, &found);
        shop.execute(&format!("select setval('postrider.{sequence}', {former})")).await;
    }
    assert_eq!(shop.ask::<String>(SIGN).await, "none");
    let looked = shop.run(&["adopt", "--yes"]).succeed();
    assert!(looked.stdout.contains("Nothing is to be adopted"), "{looked:?}");
}

/// Fetches and acknowledges one message.
async fn read_one(client: &Client, consumer: &str) {
    read(client, consumer, 1).await;
}

/// A database with something of everything: delivered, waiting and unread messages, and a consumer.
struct Original {
    shop: Shop,
    receiver: Receiver,
    dispatcher: Option<Dispatcher>,
    /// Sent before the copy is made, and not delivered.
    unfinished: Vec<i64>,
}

impl Original {
    async fn open(options: Options) -> Original {
        let shop = Shop::open_migrated_with(options).await;
        shop.execute(
            "select postrider.set_setting('allow_internal_destinations', 'on');
            select postrider.set_setting('capture_response', 'on');
            select postrider.create_consumer('reader');
            select * from postrider.register_worker('w');
            select postrider.submit_execution('resize', '{}');
            select t.* from postrider.worker w
            cross join lateral postrider.take_executions(w.id) t",
        )
        .await;
        let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
        shop.quick_endpoint("hooks", &receiver.url()).await;
        let dispatcher = shop.serve().await;
        shop.execute(
            r#"select postrider.send_with_options(
                'hooks', '{"name": "secret-7"}', p_ordering_key => 'customer-7')"#,
        )
        .await;
        for _ in 1..20 {
            shop.send("hooks", json!({ "is": "delivered" })).await;
        }
        receiver.wait_for_accepted(20, LONG).await.unwrap();
        shop.until("select not exists (select from postrider.queue)").await;
        dispatcher.sigterm();
        assert!(dispatcher.wait(LONG).await.unwrap().success());
        let mut unfinished = Vec::new();
        for _ in 0..10 {
            unfinished.push(shop.send("hooks", json!({ "is": "unfinished" })).await);
        }
        // Cancelled before anybody has read them.
        for _ in 0..2 {
            let id = shop.send("hooks", json!({ "is": "cancelled" })).await;
            assert!(shop.ask::<bool>(&format!("select postrider.cancel_message({id})")).await);
        }
        Original { shop, receiver, dispatcher: None, unfinished }
    }

    /// Goes on: delivers what is left and something new. All of it has arrived once.
    async fn go_on(&mut self) -> Vec<i64> {
        self.dispatcher = Some(self.shop.serve().await);
        let mut sent = self.unfinished.clone();
        for _ in 0..10 {
            sent.push(self.shop.send("hooks", json!({ "is": "of the original" })).await);
        }
        self.receiver.wait_for_accepted(20 + sent.len(), LONG).await.unwrap();
        self.shop.until("select not exists (select from postrider.queue)").await;
        assert_eq!(self.receiver.request_count(), 20 + sent.len());
        sent
    }
}

/// The newest sequence number that the log has given away.
async fn number_of(client: &Client) -> i64 {
    let number = "select s.last_value from postrider.message_sequence s";
    client.query_one(number, &[]).await.unwrap().get(0)
}

/// What a copy at this address does: nothing of what the original does, until it is adopted; then what was left, once,
/// and what is new, under ids that the original never had.
async fn check_copy(original: &mut Original, url: &str, doubtful: Option<i64>) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let copy_receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let refused = run(url, &["serve"], "").fail(3, "nothing is delivered from database");
    assert!(refused.stderr.contains("`postrider adopt`"), "{refused:?}");
    let health = run(url, &["health"], "");
    assert_eq!(health.code, 2, "{health:?}");
    assert!(health.stdout.contains("before `postrider adopt`"), "{health:?}");
    assert!(run(url, &["status"], "").succeed().stdout.contains("before `postrider adopt`"));
    for sql in [
        "select * from postrider.fetch_messages('reader')",
        "select postrider.tick()",
        "select * from postrider.register_worker('w')",
        "select * from postrider.worker_heartbeat((select w.id from postrider.worker w))",
        "select * from postrider.take_executions((select w.id from postrider.worker w))",
        "select s.* from postrider.live_execution l
        cross join lateral postrider.start_execution(l.id, l.fence) s",
    ] {
        let error = client.batch_execute(sql).await.expect_err(sql);
        assert_eq!(error.code().unwrap().code(), "55000", "{sql}");
    }
    let looked = run(url, &["adopt"], "");
    assert_eq!(looked.code, 1, "{looked:?}");
    assert!(looked.stdout.contains("Nothing was changed"), "{looked:?}");
    // Given up at its last moment, it has changed nothing: no number is left out that nobody knows of.
    let before = number_of(&client).await;
    client.batch_execute("begin; select from postrider.adopt(); rollback").await.unwrap();
    assert_eq!(number_of(&client).await, before);
    // Who sends notices nothing.
    let mut expected = original.unfinished.clone();
    if doubtful != Some(0) {
        expected
            .push(id_of(&client, "select postrider.send('hooks', '{\"is\": \"early\"}')").await);
    }

    let of_original = original.go_on().await;
    // One was read while it was cancelled: it waits until a dispatcher takes it away.
    let waits = "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select c.message_id, c.target, e.id, m.lane >> 4, now(), m.created_at
        from postrider.cancellation c
        join postrider.message m on m.id = c.message_id
        join postrider.endpoints e on e.name = m.endpoint_name
        order by c.message_id
        limit 1";
    assert_eq!(client.execute(waits, &[]).await.unwrap(), 1);
    let cancellations = "select count(*) from postrider.cancellation";
    assert_eq!(client.query_one(cancellations, &[]).await.unwrap().get::<_, i64>(0), 2);
    let adopted = run(url, &["adopt", "--yes", "--json"], "").json();
    assert_eq!(adopted["adopted"], true, "{adopted}");
    assert_eq!(adopted["unfinished_messages"], expected.len(), "{adopted}");
    assert_eq!(adopted["doubtful_messages"].as_i64(), doubtful, "{adopted}");
    let events = "select count(*) from postrider.event_log where event = 'log.adopted'";
    assert_eq!(client.query_one(events, &[]).await.unwrap().get::<_, i64>(0), 1);
    let left = "select (select count(*) from postrider.dispatcher)
        + (select count(*) from postrider.heartbeat)";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert_eq!(client.query_one(cancellations, &[]).await.unwrap().get::<_, i64>(0), 1);

    let to_copy = format!(
        "update postrider.endpoints set config = config || '{{\"url\": \"{}\"}}' where name = 'hooks'",
        copy_receiver.url()
    );
    client.batch_execute(&to_copy).await.unwrap();
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
    for _ in 0..10 {
        let new =
            id_of(&client, "select postrider.send('hooks', '{\"is\": \"of the copy\"}')").await;
        assert!(new > of_original.iter().max().unwrap() + (1 << 40), "{new}");
        expected.push(new);
    }
    copy_receiver.wait_for_accepted(expected.len(), LONG).await.unwrap();
    let worker = "select h.* from postrider.register_worker('w') w
        cross join lateral postrider.worker_heartbeat(w.worker_id, w.epoch) h";
    client.batch_execute(worker).await.unwrap();
    let settled = "select not exists (select from postrider.queue)
        and not exists (select from postrider.cancellation)";
    while !client.query_one(settled, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(received(&copy_receiver), expected);
    let every = "select count(*) from postrider.message";
    let every: i64 = client.query_one(every, &[]).await.unwrap().get(0);
    client.batch_execute("select postrider.tick()").await.unwrap();
    assert_eq!(drain(&client, "reader", 100).await.len() as i64, every);
    let count = 20 + of_original.len();
    assert_eq!(original.receiver.request_count(), count, "the copy has sent nothing there");
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
}

/// The ids of all requests, in order.
fn received(receiver: &Receiver) -> Vec<i64> {
    let requests = receiver.requests();
    let mut ids: Vec<i64> = requests.iter().filter_map(|request| Some(request.id?.0)).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_in_another_cluster_is_delivered_once_it_is_adopted() {
    let mut original = Original::open(Options::default()).await;
    let dump = original.shop.dump_all("shop");
    let other = Shop::open().await;
    other.psql("shop", &[], &dump).succeed();
    check_copy(&mut original, &other.url(), Some(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_in_another_database_is_delivered_once_it_is_adopted() {
    let mut original = Original::open(Options::default()).await;
    original.shop.postgres.create_database("copy").await.unwrap();
    original.shop.restore("shop", "copy");
    let url = original.shop.postgres.url_for("copy");
    check_copy(&mut original, &url, Some(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_made_of_another_is_delivered_once_it_is_adopted() {
    let mut original = Original::open(Options::default()).await;
    original.shop.postgres.execute("postgres", "create database copy template shop").await.unwrap();
    let url = original.shop.postgres.url_for("copy");
    check_copy(&mut original, &url, None).await;
}

/// Whoever adopts it again has another database that knows as little of what the first one has sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_dump_that_is_adopted_again_gives_away_other_ids() {
    const COUNT: usize = 50;
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    shop.send_many("sink", COUNT).await;
    let mut given = HashSet::new();
    for copy in ["first", "second", "third"] {
        shop.postgres.create_database(copy).await.unwrap();
        shop.restore("shop", copy);
        let url = shop.postgres.url_for(copy);
        run(&url, &["adopt", "--yes"], "").succeed();
        let client = shop.postgres.connect_to(copy).await.unwrap();
        for _ in 0..COUNT {
            let id = id_of(&client, "select postrider.send('sink', '1')").await;
            assert!(given.insert(id), "{id} came twice, the second time in the {copy} copy");
        }
        // What was left out counts as nothing that waits.
        let waiting = "select h.pending_messages from postrider.get_endpoint_health('sink') h";
        let waiting: i64 = client.query_one(waiting, &[]).await.unwrap().get(0);
        assert_eq!(waiting, 2 * COUNT as i64, "in the {copy} copy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_go_on_where_the_clock_says_and_a_margin_further_at_least() {
    const MARGIN: i64 = 1 << 30;
    /// Where the clock is at the beginning of 2027.
    const LINE: i64 = 365 * 86_400 * 8_192;
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let number = async |last: i64, at: &str| {
        let sql = "select postrider.restart_number($1, $2, $3::text::timestamptz)";
        client.query_one(sql, &[&last, &MARGIN, &at]).await.unwrap().get::<_, i64>(0)
    };
    for (last, at, expected) in [
        (0, "2027-01-01 00:00:00+00", LINE),
        (0, "2027-01-01 00:00:01+00", LINE + 8_192),
        (LINE - MARGIN, "2027-01-01 00:00:00+00", LINE),
        // It is as far already: a margin or two.
        (LINE - MARGIN + 1, "2027-01-01 00:00:00+00", LINE + MARGIN),
        (LINE, "2027-01-01 00:00:00+00", LINE + MARGIN),
        (LINE + 10_000, "2027-01-01 00:00:00+00", LINE + 2 * MARGIN),
        // By the clock all the same.
        (LINE + 10_000, "2027-01-01 00:00:01+00", LINE + 2 * MARGIN + 8_192),
        (5 * LINE, "2026-01-01 00:00:00+00", (5 * LINE + MARGIN - 1) / MARGIN * MARGIN + MARGIN),
        // A clock that is wrong, or has come to what JavaScript can read.
        (7, "2025-12-31 23:59:59+00", MARGIN + 7),
        (7, "2060-01-10 13:37:04+00", MARGIN + 7),
        (7, "9999-12-31 00:00:00+00", MARGIN + 7),
        (7, "0001-01-01 00:00:00+00", MARGIN + 7),
    ] {
        assert_eq!(number(last, at).await, expected, "{last} at {at}");
    }
    let highest = number(0, "2060-01-10 13:37:03.9+00").await;
    assert!(highest < 1 << 43 && highest > (1 << 43) - 8_192, "{highest}");
}

/// Rows alone, put back where they come from, say nothing of it: neither the tables are others nor is anything ahead.
/// Whoever does that says so, and no id is given away again that was given away since the dump.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_put_back_are_adopted_when_somebody_says_so() {
    let original = Original::open(Options::default()).await;
    let (shop, receiver) = (&original.shop, &original.receiver);
    let rows = shop.dump_data("shop");
    let lost = shop.send("hooks", json!({ "is": "sent since" })).await;
    let empty = "do $do$
        begin
            execute (
                select 'truncate ' || string_agg(c.oid::regclass::text, ', ')
                from pg_class c
                where c.relnamespace = 'postrider'::regnamespace
                and c.relkind in ('r', 'p')
                and not c.relispartition
                and c.relname <> 'endpoints');
            truncate postrider.endpoints cascade;
        end;
        $do$";
    shop.execute(empty).await;
    let restore = format!("set session_replication_role = replica;\n{rows}");
    shop.psql("shop", &[], &restore).succeed();
    assert_eq!(shop.ask::<String>(SIGN).await, "none");
    let next = "select s.last_value < {} from postrider.message_sequence s";
    assert!(shop.ask::<bool>(&next.replace("{}", &(lost >> 10).to_string())).await);

    shop.execute("delete from postrider.identity").await;
    shop.run(&["serve"]).fail(3, "`postrider adopt`");
    shop.run(&["adopt", "--yes"]).succeed();
    let new = shop.send("hooks", json!({ "is": "new" })).await;
    assert!(new > lost + (1 << 40), "{new}, and {lost} was given away before");
    let _dispatcher = shop.serve().await;
    receiver.wait_for_accepted(31, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.queue)").await;
    let mut expected = original.unfinished.clone();
    expected.push(new);
    assert_eq!(received(receiver)[20..], expected);
}

/// Publishes as the docs say it. The last month of two tables is missing by then: one has an identity, one has none.
async fn publish_all(shop: &Shop) {
    let missing = "do $$
        declare
            part record;
        begin
            for part in
                select distinct on (p.table_name) p.name
                from postrider.partitions p
                where p.table_name in ('message', 'done')
                and p.from_at is not null
                order by p.table_name, p.from_at desc
            loop
                execute format('drop table postrider.%I', part.name);
            end loop;
        end;
        $$";
    shop.execute(missing).await;
    let page = Page::read("docs/operations.md");
    let examples = page.examples();
    let publish = examples.iter().find(|one| one.block.text.contains("create publication"));
    shop.execute(&publish.unwrap().block.text).await;
}

/// Partitions are made and slots are emptied, though deletes are published and most tables have no identity.
async fn check_upkeep(shop: &Shop) {
    let upkeep = "select postrider.maintain_archive_partitions(postrider.partition_months_ahead())";
    assert_eq!(shop.ask::<i32>(upkeep).await, 2);
    let newest = "select c.relreplident = 'f'
        from postrider.partitions p
        join pg_class c on c.oid = format('postrider.%I', p.name)::regclass
        where p.table_name = 'message'
        and p.from_at is not null
        order by p.from_at desc
        limit 1";
    assert!(shop.ask::<bool>(newest).await, "what is sent then can be erased as well");

    let slot =
        "insert into postrider.rate_grant (slot, endpoint_id, used_until) values (0, 0, now())";
    shop.execute(slot).await;
    let reader = shop.client().await;
    reader.batch_execute("begin; select count(*) from postrider.rate_grant_0").await.unwrap();
    let empty = "select postrider.empty_slot('rate_grant', 0::smallint)";
    assert!(!shop.ask::<bool>(empty).await, "somebody reads it");
    reader.batch_execute("commit").await.unwrap();
    assert!(shop.ask::<bool>(empty).await);
}

/// What is erased in the original is erased in the copy, which nobody else can change.
async fn check_erasing(original: &Shop, copy: &Shop) {
    const CUSTOMERS: &str = "from postrider.message m
        join postrider.attempt a on a.message_id = m.id
        where m.ordering_key = 'customer-7'";
    for shop in [original, copy] {
        let there =
            format!("select count(*) = 1 and bool_and(a.response_body is not null) {CUSTOMERS}");
        assert!(shop.ask::<bool>(&there).await);
        assert!(shop.dump_data("shop").contains("secret-7"));
    }
    original.execute("select * from postrider.erase_messages('customer-7')").await;
    original.finish_jobs().await;
    for shop in [original, copy] {
        let gone = format!(
            "select count(*) = 1
            and bool_and(m.erased_at is not null and m.payload = 'null' and a.response_body is null)
            {CUSTOMERS}"
        );
        shop.until(&gone).await;
        assert!(!shop.dump_data("shop").contains("secret-7"));
    }
    let change = "update postrider.message set payload = '1' where ordering_key = 'customer-7'";
    for shop in [original, copy] {
        assert_eq!(shop.refusal(change).await, "P0001");
    }
    let change = format!("set session_replication_role = replica; {change}");
    assert_eq!(original.refusal(&change).await, "P0001", "it is no copy");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replicated_log_is_delivered_once_it_is_adopted() {
    let mut original = Original::open(Options::default().set("wal_level", "logical")).await;
    let other = Shop::open().await;
    let schema = format!("{}\n{}", original.shop.dump_roles(), original.shop.dump("shop"));
    other.psql("shop", &[], &schema).succeed();
    original.shop.execute("select postrider.create_endpoint('gone', 'discard', '{}')").await;
    publish_all(&original.shop).await;
    other
        .execute(&format!(
            "create subscription copies connection '{}' publication shop",
            original.shop.url()
        ))
        .await;
    let synced = "select not exists (select from pg_subscription_rel r where r.srsubstate <> 'r')";
    other.until(synced).await;
    // What has its triggers there as well arrives as it is here: they do nothing with it a second time.
    original
        .shop
        .execute(
            "delete from postrider.endpoints where name = 'gone';
            select postrider.set_setting('http_timeout', '20');
            select postrider.create_event_type('e'), postrider.subscribe('e', 'hooks');
            update postrider.subscriptions set enabled = false where event_type = 'e'",
        )
        .await;
    check_upkeep(&original.shop).await;
    check_erasing(&original.shop, &other).await;
    // Something comes while it follows, and all of it is there.
    let last = original.shop.send("hooks", json!({ "is": "unfinished" })).await;
    original.unfinished.push(last);
    other
        .until(&format!("select exists (select from postrider.message m where m.id = {last})"))
        .await;
    let followed = "select (select array_agg(e.name) from postrider.endpoints e) = '{hooks}'
        and (select s.value from postrider.setting s where s.name = 'http_timeout') = '20'
        and (select not s.enabled from postrider.subscriptions s where s.event_type = 'e')
        and (select count(*) from postrider.event_log l where l.event = 'endpoint.dropped') = 1";
    assert!(other.ask::<bool>(followed).await);
    other.execute("drop subscription copies").await;
    original.shop.execute("drop publication shop").await;
    check_copy(&mut original, &other.url(), Some(0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_and_an_upgraded_cluster_go_on() {
    let mut shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let dispatcher = shop.serve().await;
    shop.send_many("hooks", 50).await;
    receiver.wait_for_accepted(50, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.queue)").await;
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    shop.send_many("hooks", 50).await;
    let standby = shop.postgres.standby().unwrap();
    shop.postgres.kill().unwrap();
    standby.promote().await.unwrap();
    shop.postgres = standby;
    assert_eq!(shop.ask::<String>(SIGN).await, "none");
    let heir = shop.serve().await;
    receiver.wait_for_accepted(100, LONG).await.unwrap();
    heir.sigterm();
    assert!(heir.wait(LONG).await.unwrap().success());

    // As pg_upgrade leaves it: another cluster, and the same files.
    shop.execute(
        "update postrider.identity set system_identifier = 1;
        update postrider.identity i set mark = i.xmin",
    )
    .await;
    // What somebody may do to a table, before or afterwards, leaves it the same.
    shop.execute("vacuum (full, freeze) postrider.identity").await;
    let upgraded = shop.serve().await;
    shop.send_many("hooks", 1).await;
    receiver.wait_for_accepted(101, LONG).await.unwrap();
    upgraded.sigterm();
    assert!(upgraded.wait(LONG).await.unwrap().success());
    let remembered =
        "select count(*) filter (where i.system_identifier = postrider.system_identifier()
            and i.mark = i.xmin) = 1
        and (select count(*) from postrider.event_log where event = 'cluster.upgraded') = 1
        from postrider.identity i";
    assert!(shop.ask::<bool>(remembered).await);
    assert_eq!(receiver.request_count(), 101);

    // But not when something is ahead.
    shop.execute(
        "update postrider.identity set system_identifier = 1;
        update postrider.identity i set mark = i.xmin;
        update postrider.heartbeat set xid = '1000000000'",
    )
    .await;
    shop.run(&["serve"]).fail(3, "a heartbeat is at transaction 1000000000");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_know_the_cluster_goes_by_what_it_knows() {
    async fn serve_once(url: &str) {
        let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), url);
        let dispatcher = Dispatcher::start(&options).unwrap();
        dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
        dispatcher.sigterm();
        assert!(dispatcher.wait(LONG).await.unwrap().success());
    }
    let shop = Shop::open().await;
    shop.execute("revoke execute on function pg_control_system() from public").await;
    let sql = "create role keeper login; alter database shop owner to keeper";
    shop.postgres.execute("postgres", sql).await.unwrap();
    let url = shop.postgres.url_as("keeper", "shop");
    let known = "select i.system_identifier is not null from postrider.identity i";
    let upgrades = "select count(*) from postrider.event_log where event = 'cluster.upgraded'";
    run(&url, &["migrate"], "").succeed();
    serve_once(&url).await;
    assert!(!shop.ask::<bool>(known).await);
    let copy = "create database copy template shop owner keeper";
    shop.postgres.execute("postgres", copy).await.unwrap();
    let copy = shop.postgres.url_as("keeper", "copy");
    run(&copy, &["serve"], "").fail(3, "`postrider adopt`");
    run(&copy, &["adopt", "--yes"], "").succeed();
    serve_once(&copy).await;

    // Who may ask later remembers it, and who may not any more goes by the rest.
    shop.execute("grant execute on function pg_control_system() to keeper").await;
    serve_once(&url).await;
    assert!(shop.ask::<bool>(known).await);
    assert_eq!(shop.ask::<i64>(upgrades).await, 0);
    shop.execute("revoke execute on function pg_control_system() from keeper").await;
    serve_once(&url).await;
    assert!(shop.ask::<bool>(known).await);
}
