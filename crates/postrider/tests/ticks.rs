//! Reading the log while transactions do what transactions may do, with a running dispatcher.
//!
//! Most messages go to an endpoint that discards, and `postrider.done` is the judge: it holds the
//! sequence number of a message once per delivery, so what was lost, what came twice and what never
//! committed all show as a difference to the list of what did.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::shop::Shop;
use postrider_core::{id::Lane, snapshot::Snapshot};
use postrider_store::{StoreError, log::Log};
use postrider_testkit::{
    ledger::MessageId,
    postgres::Options,
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};
use tokio_postgres::Client;

const TIMEOUT: Duration = Duration::from_secs(120);
const SEND: &str = "select postrider.send('sink', '{\"n\": 1}')";

/// A migrated database with the endpoint `sink` and a dispatcher that has taken all shards.
async fn open(options: Options, arguments: &[&str]) -> (Shop, Dispatcher) {
    let shop = Shop::open_migrated_with(options).await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let dispatcher = serve(&shop.url(), arguments).await;
    (shop, dispatcher)
}

async fn serve(url: &str, arguments: &[&str]) -> Dispatcher {
    let mut options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), url);
    for argument in arguments {
        options = options.argument(*argument);
    }
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", TIMEOUT).await.unwrap();
    dispatcher
}

/// Waits until a query that returns one boolean says true.
async fn until(client: &Client, sql: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {sql}");
        tokio::task::yield_now().await;
    }
}

async fn until_done(client: &Client, ids: &[i64]) {
    let array: Vec<String> = ids.iter().map(i64::to_string).collect();
    let array = array.join(", ");
    let sql = format!("select bool_and(postrider.is_done(id)) from unnest(array[{array}]) i (id)");
    until(client, &sql).await;
}

/// Waits until so many deliveries are recorded, whichever they are.
async fn until_count(client: &Client, count: usize) {
    let recorded = "select coalesce(sum(octet_length(d.offsets)) / 2, 0) from postrider.done d";
    until(client, &format!("select ({recorded}) >= {count}")).await;
}

async fn is_done(client: &Client, id: i64) -> bool {
    client.query_one("select postrider.is_done($1)", &[&id]).await.unwrap().get(0)
}

/// The ids that a statement sends.
async fn ids_of(client: &Client, sql: &str) -> Vec<i64> {
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn send(client: &Client) -> i64 {
    ids_of(client, SEND).await[0]
}

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap();
}

/// Every message of the list is recorded once, and no other. A last message shows that the
/// dispatcher has read past all of them.
async fn check_delivered(client: &Client, mut expected: Vec<i64>) {
    expected.push(send(client).await);
    until_done(client, &expected[expected.len() - 1..]).await;
    until_count(client, expected.len()).await;
    let recorded = "select (d.bucket << 12)
            + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1)
        from postrider.done d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
        order by 1";
    let recorded = ids_of(client, recorded).await;
    let mut expected: Vec<i64> = expected.iter().map(|id| id >> 10).collect();
    expected.sort_unstable();
    assert_eq!(recorded, expected);
    until(client, "select not exists (select from postrider.deferred)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_begins_first_and_commits_last_is_delivered() {
    let (shop, _dispatcher) = open(Options::default(), &[]).await;
    let (first, second, third) = (shop.client().await, shop.client().await, shop.client().await);
    let mut sent = Vec::new();
    for _ in 0..20 {
        batch(&first, "begin").await;
        let slow = send(&first).await;
        batch(&second, "begin").await;
        let quick = send(&second).await;
        batch(&third, "begin").await;
        send(&third).await;
        batch(&second, "commit").await;
        batch(&third, "rollback").await;
        until_done(&second, &[quick]).await;
        assert!(!is_done(&second, slow).await, "not committed yet");
        batch(&first, "commit").await;
        until_done(&second, &[slow]).await;
        sent.extend([slow, quick]);
    }
    check_delivered(&first, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn savepoints_count_as_their_transaction() {
    let (shop, _dispatcher) = open(Options::default(), &[]).await;
    let (client, other) = (shop.client().await, shop.client().await);
    let mut sent = Vec::new();
    for _ in 0..10 {
        // The savepoint is the first to write: its own id lies above the transaction's.
        batch(&client, "begin; savepoint kept").await;
        sent.push(send(&client).await);
        batch(&client, "release kept; savepoint undone").await;
        send(&client).await;
        batch(&client, "rollback to undone; savepoint first; savepoint second").await;
        send(&client).await;
        batch(&client, "release second; rollback to first").await;
        sent.push(send(&client).await);
        // Others commit meanwhile, so that ticks end between all these ids.
        let meanwhile = send(&other).await;
        until_done(&other, &[meanwhile]).await;
        batch(&client, "savepoint open").await;
        sent.extend([meanwhile, send(&client).await]);
        batch(&client, "commit").await;
        batch(&client, "begin; savepoint gone").await;
        send(&client).await;
        batch(&client, "release gone; rollback").await;
    }
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_open_for_the_whole_run_holds_nobody_up() {
    let (shop, _dispatcher) = open(Options::default(), &[]).await;
    let (open, client) = (shop.client().await, shop.client().await);
    batch(&open, "begin").await;
    let own = send(&open).await;
    let mut sent = Vec::new();
    for _ in 0..50 {
        let id = send(&client).await;
        until_done(&client, &[id]).await;
        sent.push(id);
    }
    let many = "select unnest(postrider.send_batch('sink', array_agg('{}'::jsonb)))
        from generate_series(1, 10000)";
    sent.extend(ids_of(&client, many).await);
    until_count(&client, sent.len()).await;
    assert!(!is_done(&client, own).await, "not committed yet");
    let late = send(&open).await;
    batch(&open, "commit").await;
    until_done(&client, &[own, late]).await;
    sent.extend([own, late]);
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_early_transaction_id_may_send_late() {
    let (shop, _dispatcher) = open(Options::default(), &[]).await;
    let client = shop.client().await;
    let mut early = Vec::new();
    for _ in 0..5 {
        let other = shop.client().await;
        batch(&other, "begin; select pg_current_xact_id()").await;
        early.push(other);
    }
    let mut sent = Vec::new();
    for other in &early {
        for _ in 0..5 {
            sent.push(send(&client).await);
        }
        until_count(&client, sent.len()).await;
        let late = send(other).await;
        batch(other, "commit").await;
        sent.push(late);
    }
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_transaction_is_delivered_when_it_commits() {
    let options = Options { max_prepared_transactions: 10, ..Options::default() };
    let (shop, _dispatcher) = open(options, &[]).await;
    let (client, other) = (shop.client().await, shop.client().await);
    let mut sent = Vec::new();
    for round in 0..5 {
        // Nobody sends at this moment. A dispatcher that slept would have to be rung for, and a
        // transaction that has notified cannot be prepared.
        batch(&client, "begin").await;
        let committed = send(&client).await;
        batch(&client, &format!("prepare transaction 'committed {round}'; begin")).await;
        send(&client).await;
        batch(&client, &format!("prepare transaction 'rolled back {round}'")).await;
        let meanwhile = send(&other).await;
        until_done(&other, &[meanwhile]).await;
        assert!(!is_done(&other, committed).await, "only prepared");
        batch(&other, &format!("rollback prepared 'rolled back {round}'")).await;
        batch(&other, &format!("commit prepared 'committed {round}'")).await;
        until_done(&other, &[committed]).await;
        sent.extend([committed, meanwhile]);
    }
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_insert_is_delivered_once_while_others_send() {
    let (shop, _dispatcher) = open(Options::default(), &[]).await;
    let (bulk, client) = (shop.client().await, shop.client().await);
    let mut sent = Vec::new();
    for _ in 0..50 {
        sent.push(send(&client).await);
    }
    batch(&bulk, "begin").await;
    let many = "select unnest(postrider.send_batch('sink', array_agg(to_jsonb(n))))
        from generate_series(1, 20000) n";
    let own = ids_of(&bulk, many).await;
    for _ in 0..50 {
        sent.push(send(&client).await);
    }
    until_count(&client, sent.len()).await;
    assert!(!is_done(&client, own[0]).await, "not committed yet");
    let (committed, singles) = tokio::join!(bulk.batch_execute("commit"), async {
        let mut sent = Vec::new();
        for _ in 0..500 {
            sent.push(send(&client).await);
        }
        sent
    });
    committed.unwrap();
    sent.extend(singles);
    sent.extend(own);
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_of_a_transaction_that_has_an_id_is_refused() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let client = Arc::new(shop.client().await);
    let log = Log::open(Arc::clone(&client)).await.unwrap();
    let base = Snapshot::before_everything();
    let lanes: Vec<Lane> = (0..16).map(|shard| Lane(shard * 16)).collect();
    log.tick(&base, &lanes, 10).await.unwrap();
    batch(&client, "begin").await;
    log.tick(&base, &lanes, 10).await.unwrap();
    send(&client).await;
    let refused = log.tick(&base, &lanes, 10).await;
    assert!(matches!(refused, Err(StoreError::OwnTransaction)), "{refused:?}");
    batch(&client, "rollback").await;
    log.tick(&base, &lanes, 10).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_refused() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_consumer('c')").await;
    let standby = shop.postgres.standby().unwrap();
    let client = Arc::new(standby.connect_to("shop").await.unwrap());
    // What consumers are told there does not end when somebody has made a tick past another one.
    shop.execute("select nextval('postrider.tick_epoch')").await;
    shop.execute("select postrider.tick()").await;
    until(&client, "select exists (select from postrider.tick)").await;
    until(&client, "select postrider.are_ticks_settled()").await;
    let log = Log::open(client).await.unwrap();
    let refused = log.tick(&Snapshot::before_everything(), &[Lane(0)], 10).await;
    assert!(matches!(refused, Err(StoreError::Standby)), "{refused:?}");

    let url = standby.url_for("shop");
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &url);
    let dispatcher = Dispatcher::start(&options).unwrap();
    let text = "the database is a standby; a dispatcher needs the primary";
    dispatcher.wait_for_log(text, TIMEOUT).await.unwrap();
    assert_eq!(dispatcher.wait(TIMEOUT).await.unwrap().code(), Some(3));
}

/// All doorbell locks are taken: the dispatcher sleeps, or does so after one more look.
async fn until_asleep(client: &Client) {
    let sql = "select count(*) = 16
        from pg_locks l
        where l.locktype = 'advisory'
        and l.classid = 1886352244
        and l.objid < 64
        and l.mode = 'ExclusiveLock'";
    until(client, sql).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_wakes_the_dispatcher() {
    let (shop, _dispatcher) = open(Options::default(), &["--poll-interval-ms", "10000"]).await;
    let client = shop.client().await;
    let (mut sent, mut times) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        until_asleep(&client).await;
        let began = Instant::now();
        let id = send(&client).await;
        until_done(&client, &[id]).await;
        let took = began.elapsed();
        println!("recorded after {took:?}");
        times.push(took);
        sent.push(id);
    }
    // It looks once a second, even if nobody rings; a busy machine makes many of them late.
    times.sort_unstable();
    assert!(times[3] < Duration::from_millis(900), "{times:?}");
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_that_polls_need_not_be_woken() {
    let (shop, _dispatcher) = open(Options::default(), &["--wake", "poll"]).await;
    let client = shop.client().await;
    let mut sent = Vec::new();
    for _ in 0..10 {
        let id = send(&client).await;
        until_done(&client, &[id]).await;
        sent.push(id);
    }
    check_delivered(&client, sent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_in_a_younger_cluster_goes_on_where_it_was() {
    let (good, flaky) = (
        Receiver::start(Behaviour::Status(200)).unwrap(),
        Receiver::start(Behaviour::Status(503)).unwrap(),
    );
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let burn = "do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop;
        end $$";
    shop.execute(burn).await;
    // However long it takes, what fails is tried again, and none of it is given up or left alone.
    shop.execute(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('circuit_breaker_threshold', '1000');
        select postrider.set_setting('circuit_breaker_cooldown', '5')",
    )
    .await;
    for (name, url, retries) in
        [("good", good.url(), 9), ("flaky", flaky.url(), 1000), ("never", flaky.url(), 0)]
    {
        let sql = format!(
            "select postrider.create_endpoint('{name}', 'http', '{{\"url\": \"{url}\"}}');
            update postrider.endpoints e
            set retry_policy = '{{\"base_delay_seconds\": 1, \"backoff\": \"fixed\",
                \"jitter\": 1, \"max_retries\": {retries}}}'
            where e.name = '{name}'"
        );
        batch(&client, &sql).await;
    }
    let send = |name, count| {
        format!(
            "select unnest(postrider.send_batch('{name}', array_agg(to_jsonb(n))))
            from generate_series(1, {count}) n"
        )
    };
    let dispatcher = serve(&shop.url(), &[]).await;
    let delivered = ids_of(&client, &send("good", 300)).await;
    let waiting = ids_of(&client, &send("flaky", 20)).await;
    let dead = ids_of(&client, &send("never", 10)).await;
    until_count(&client, delivered.len()).await;
    until(&client, "select count(*) = 20 and min(retry_count) > 0 from postrider.deferred").await;
    until(&client, "select count(*) = 10 from postrider.dead_letter").await;
    dispatcher.sigterm();
    assert_eq!(dispatcher.wait(TIMEOUT).await.unwrap().code(), Some(0));
    assert_eq!(good.request_count(), delivered.len());
    let undelivered = ids_of(&client, &send("good", 200)).await;

    let younger = Shop::open().await;
    let dump = shop.dump_all("shop");
    younger.psql("shop", &[], &dump).succeed();
    good.clear();
    flaky.clear();
    flaky.set_behaviour(Behaviour::Status(200));
    let client = younger.client().await;
    until(&client, "select count(*) = 530 from postrider.message").await;
    younger.run(&["serve"]).fail(3, "`postrider adopt`");
    println!("{}", younger.run(&["adopt", "--yes"]).succeed().stdout);
    let _dispatcher = serve(&younger.url(), &[]).await;
    until(&client, "select not exists (select from postrider.deferred)").await;
    good.wait_for_accepted(undelivered.len(), TIMEOUT).await.unwrap();
    // One more shows that it goes on, and that nothing else was to come.
    let new = ids_of(&client, &send("good", 1)).await;
    until_done(&client, &new).await;
    let received = |receiver: &Receiver| {
        let mut ids: Vec<MessageId> =
            receiver.requests().iter().filter_map(|request| request.id).collect();
        ids.sort_unstable();
        ids
    };
    let as_ids = |ids: &[i64]| ids.iter().copied().map(MessageId).collect::<Vec<_>>();
    assert_eq!(received(&good), as_ids(&[undelivered, new].concat()));
    assert_eq!(received(&flaky), as_ids(&waiting));
    assert_eq!(dead.len(), 10);
    until(&client, "select count(*) = 10 from postrider.dead_letter").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_endpoint_holds_up_no_other() {
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    let hanging = Receiver::start(Behaviour::Hang).unwrap();
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.create_endpoint('good', 'http', '{{\"url\": \"{}\"}}');
        select postrider.create_endpoint('hanging', 'http',
            '{{\"url\": \"{}\", \"concurrency\": 8}}');
        select count(postrider.send(case when n % 26 = 0 then 'good' else 'hanging' end, '{{}}'))
        from generate_series(1, 52000) n",
        good.url(),
        hanging.url()
    );
    batch(&client, &sql).await;
    let _dispatcher = serve(&shop.url(), &["--max-buffered-messages", "512"]).await;
    let began = Instant::now();
    good.wait_for_accepted(2000, TIMEOUT).await.unwrap();
    let took = began.elapsed();
    println!("2,000 messages took {took:?}");
    assert!(took < TIMEOUT, "took {took:?}");
    assert_eq!(good.request_count(), 2000);
    assert_eq!(hanging.accepted_count(), 0);
    until_count(&client, 2000).await;
    // A new one is not behind those that wait.
    let began = Instant::now();
    batch(&client, "select postrider.send('good', '{}')").await;
    good.wait_for_accepted(2001, TIMEOUT).await.unwrap();
    let took = began.elapsed();
    println!("one more message took {took:?}");
    assert!(took < TIMEOUT / 2, "took {took:?}");
}
