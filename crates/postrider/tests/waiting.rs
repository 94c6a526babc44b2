//! Deliveries that wait in `postrider.deferred`, with a running dispatcher and a real receiver.

use std::time::Duration;

use crate::shop::Shop;
use postrider_testkit::{
    process::{Dispatcher, DispatcherOptions},
    receiver::{Answer, Behaviour, Receiver},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
};
use tokio_postgres::Client;

const TIMEOUT: Duration = Duration::from_secs(120);

async fn serve(shop: &Shop) -> Dispatcher {
    shop.execute("select postrider.set_setting('allow_internal_destinations', 'on')").await;
    let options = DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &shop.url());
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("shards acquired", TIMEOUT).await.unwrap();
    dispatcher
}

async fn create(shop: &Shop, name: &str, url: &str) {
    let sql = format!(
        "select postrider.create_endpoint('{name}', 'http', '{}');
        update postrider.endpoints
        set retry_policy = '{{\"base_delay_seconds\": 1, \"backoff\": \"fixed\", \"jitter\": 1}}'
        where name = '{name}'",
        json!({ "url": url, "concurrency": 4 })
    );
    shop.execute(&sql).await;
}

/// Waits until a query that returns one boolean says true.
async fn until(shop: &Shop, sql: &str) {
    let client = shop.client().await;
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
        assert!(tokio::time::Instant::now() < deadline, "not within {TIMEOUT:?}: {sql}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_message_is_accepted_once() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::FirstFail { count: 2, status: 503 }).unwrap();
    create(&shop, "flaky", &receiver.url()).await;
    // Fewer failures in a row than would open the circuit now.
    shop.execute("select postrider.set_setting('circuit_breaker_threshold', '1000')").await;
    let _dispatcher = serve(&shop).await;
    let send = "select postrider.send_batch('flaky', array_agg(jsonb_build_object('n', n)))
        from generate_series(1, 450) n";
    shop.execute(send).await;
    receiver.wait_for_accepted(450, TIMEOUT).await.unwrap();
    until(&shop, "select not exists (select from postrider.deferred)").await;
    assert_eq!(receiver.accepted_count(), 450);
    assert_eq!(receiver.request_count(), 1_350, "two failures and a success each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_does_not_wait_for_one_that_hangs_with_another_one_behind_it() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::custom(|arrival| match arrival.earlier_count {
        _ if arrival.body.windows(6).any(|part| part == b"\"hang\"") => Answer::default(),
        0 => Answer::status(503),
        _ => Answer::status(200),
    }))
    .unwrap();
    let config = json!({ "url": receiver.url(), "timeout_seconds": 100 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("hooks", config, policy).await;
    let _dispatcher = serve(&shop).await;
    let hang =
        "select postrider.send_with_options('hooks', '{\"hang\": 1}', p_ordering_key => 'k')";
    shop.execute(hang).await;
    receiver.wait_for(1, TIMEOUT).await.unwrap();
    shop.execute(hang).await;
    shop.execute("select postrider.send('hooks', '{}')").await;
    receiver.wait_for_accepted(1, TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_dropped_endpoint_becomes_a_dead_letter() {
    let shop = Shop::open_migrated().await;
    create(&shop, "gone", "http://127.0.0.1:4/").await;
    create(&shop, "read_later", "http://127.0.0.1:4/").await;
    shop.execute("select postrider.send('read_later', '{\"n\": 2}')").await;
    shop.execute("select postrider.drop_endpoint('read_later', p_force => true)").await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send('gone', '{\"n\": 1}')").await;
    until(&shop, "select exists (select from postrider.deferred where retry_count > 0)").await;
    shop.execute("select postrider.drop_endpoint('gone', p_force => true)").await;
    until(
        &shop,
        "select count(*) = 2 and bool_and(cause = 'endpoint_dropped') from postrider.dead_letter",
    )
    .await;
}

/// An administrator who drops an endpoint and does not commit yet: nothing that waits for it is locked, so
/// nobody waits for him.
#[tokio::test(flavor = "multi_thread")]
async fn a_drop_that_is_not_committed_keeps_nobody_waiting() {
    const WAITING: usize = 2_000;
    // Few, so that not even a minute of them opens the circuit.
    const RETRIED: usize = 15;
    const OTHERS: usize = 200;
    let shop = Shop::open_to_receivers().await;
    let failing = Receiver::start(Behaviour::Status(503)).unwrap();
    let good = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("gone", &failing.url()).await;
    shop.quick_endpoint("good", &good.url()).await;
    shop.execute(
        "update postrider.endpoints set retry_policy = retry_policy || '{\"max_retries\": 1000}'",
    )
    .await;
    let _dispatcher = shop.serve().await;
    let schedule = format!(
        "select count(postrider.send_with_options('gone', '{{}}', p_scheduled_at => now() + '1 day'))
        from generate_series(1, {WAITING})"
    );
    shop.execute(&schedule).await;
    shop.send_many("gone", RETRIED).await;
    shop.until(&format!(
        "select count(*) = {WAITING} + {RETRIED}
            and count(*) filter (where retry_count > 0) = {RETRIED}
        from postrider.deferred"
    ))
    .await;
    let owners = "select array_agg(distinct owner::text || epoch) from postrider.shard";
    let before: Vec<String> = shop.ask(owners).await;

    let administrator = shop.client().await;
    let pid: i32 = administrator.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let drop = "begin; select postrider.drop_endpoint('gone', p_force => true)";
    administrator.batch_execute(drop).await.unwrap();
    let attempted = failing.request_count();
    shop.send_many("good", OTHERS).await;
    good.wait_for_accepted(OTHERS, crate::shop::serving::LONG).await.unwrap();
    let recorded =
        format!("select coalesce(sum(length(offsets)) / 2, 0) = {OTHERS} from postrider.done");
    shop.until(&recorded).await;
    // Its own deliveries go on, and are recorded: nobody knows yet that it is to go.
    failing.wait_for(attempted + 3 * RETRIED, crate::shop::serving::LONG).await.unwrap();
    let waiting = format!(
        "select count(*) from pg_stat_activity a where {pid} = any (pg_blocking_pids(a.pid))"
    );
    assert_eq!(shop.ask::<i64>(&waiting).await, 0);
    administrator.batch_execute("rollback").await.unwrap();
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.job").await, 0);
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.dead_letter").await, 0);

    let drop = "select d.job_id from postrider.drop_endpoint('gone', p_force => true) d";
    let id: i64 = administrator.query_one(drop, &[]).await.unwrap().get(0);
    shop.until(&format!("select state = 'completed' from postrider.jobs where id = {id}")).await;
    shop.until(&format!(
        "select count(*) = {WAITING} + {RETRIED} and count(distinct message_id) = count(*)
            and bool_and(cause = 'endpoint_dropped' and endpoint_name = 'gone')
        from postrider.dead_letter"
    ))
    .await;
    until(&shop, "select not exists (select from postrider.deferred)").await;
    assert_eq!(shop.ask::<Vec<String>>(owners).await, before, "the tenure is the same");
    assert_eq!(good.request_count(), OTHERS, "nothing comes twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_endpoint_s_job_comes_back_to_what_is_locked() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('gone', 'discard', '{}')").await;
    shop.send_many("gone", 500).await;
    let defer = "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, 1, 1, (m.id & 1023) >> 4, now() + m.id % 7 * interval '1 second', m.created_at
        from postrider.message m";
    shop.execute(defer).await;
    let holder = shop.client().await;
    let hold = "begin;
        delete from postrider.deferred where message_id = (select min(message_id) from postrider.deferred);
        select from postrider.deferred where message_id = (select max(message_id) from postrider.deferred)
        for update";
    holder.batch_execute(hold).await.unwrap();
    shop.execute("select postrider.drop_endpoint('gone', p_force => true)").await;
    let is_waiting = "(select done_count = 498 and held_count = 2 and state = 'running'
        from postrider.jobs)";
    shop.advance_jobs_until(is_waiting).await;
    holder.batch_execute("commit").await.unwrap();
    shop.finish_jobs().await;
    let letters =
        "select count(*) = 499 and bool_and(endpoint_name = 'gone') from postrider.dead_letter";
    assert!(shop.ask::<bool>(letters).await);

    // What a dispatcher had in hand comes in behind the job.
    shop.execute(&format!("{defer} order by m.id limit 1")).await;
    assert_eq!(shop.ask::<i32>("select postrider.bury_orphans()").await, 1);
    assert_eq!(shop.ask::<i32>("select postrider.bury_orphans()").await, 0, "it has a job");
    shop.finish_jobs().await;
    let letters =
        "select count(*) = 500 and bool_and(endpoint_name = 'gone') from postrider.dead_letter";
    assert!(shop.ask::<bool>(letters).await);
}

/// Beside a transaction that stays open every row that is gone is still in the index.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_endpoint_s_job_walks_over_what_is_gone_once() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('gone', 'discard', '{}')").await;
    shop.send_many("gone", 5_000).await;
    let stranger = shop.client().await;
    let open = "begin isolation level repeatable read; select from postrider.message limit 1";
    stranger.batch_execute(open).await.unwrap();
    let defer = "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at)
        select m.id, 1, 1, (m.id & 1023) >> 4, now(), m.created_at
        from postrider.message m";
    shop.execute(defer).await;
    let dispatcher = shop.client().await;
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    dispatcher.batch_execute(session).await.unwrap();
    shop.execute("select postrider.drop_endpoint('gone', p_force => true)").await;
    // What a session reads of catalogs is no part of a batch. A slow machine has small ones.
    dispatcher.batch_execute("begin; select postrider.advance_jobs(); rollback").await.unwrap();
    let mut most = 0;
    while shop.ask::<bool>("select state = 'running' from postrider.jobs").await {
        let explain = "explain (analyze, buffers, format json) select postrider.advance_jobs()";
        let done = "select done_count from postrider.jobs";
        let before: i64 = shop.ask(done).await;
        let plan: serde_json::Value = dispatcher.query_one(explain, &[]).await.unwrap().get(0);
        let blocks = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
        let buffers = blocks("Shared Hit Blocks") + blocks("Shared Read Blocks");
        let done = shop.ask::<i64>(done).await - before;
        if done >= 50 {
            most = most.max(buffers / done);
        }
    }
    println!("{most} buffers a row");
    assert!(most < 150, "{most}");
    stranger.batch_execute("rollback").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn successes_are_recorded_when_the_setting_says_so() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send('sink', '{}')").await;
    until(&shop, "select exists (select from postrider.done)").await;
    until(&shop, "select not exists (select from postrider.attempt)").await;
    shop.execute("select postrider.set_setting('record_attempts', 'all')").await;
    until(
        &shop,
        "select count(postrider.send('sink', '{}')) = 1
            and exists (select from postrider.attempt where outcome = 'accepted')",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_gone_is_disabled_when_it_wants_that() {
    let shop = Shop::open_migrated().await;
    let receiver = Receiver::start(Behaviour::Status(410)).unwrap();
    let config = json!({ "url": receiver.url(), "auto_disable_on_gone": true });
    shop.execute(&format!("select postrider.create_endpoint('leaving', 'http', '{config}')")).await;
    create(&shop, "staying", &receiver.url()).await;
    let _dispatcher = serve(&shop).await;
    shop.execute("select postrider.send(name, '{}') from postrider.endpoints").await;
    until(&shop, "select count(*) = 2 and bool_and(cause = 'gone') from postrider.dead_letter")
        .await;
    until(
        &shop,
        "select bool_and(e.enabled = (e.name = 'staying'))
            and count(*) filter (where l.event = 'endpoint.disabled') = 1
        from postrider.endpoints e
        left join postrider.event_log l
        on l.endpoint_name = e.name
        and l.event = 'endpoint.disabled'",
    )
    .await;
}

// What somebody else holds -----------------------------------------------------------------------

/// A receiver that refuses the first attempt of what is to wait, answers later ones when it is opened, and
/// takes everything else.
struct Gate {
    url: String,
    /// The number of each attempt that came to the gate.
    arrivals: mpsc::UnboundedReceiver<u32>,
    opening: watch::Sender<bool>,
}

impl Gate {
    async fn start() -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let (opening, is_open) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_gate(stream, arrived.clone(), is_open.clone()));
            }
        });
        Gate { url, arrivals, opening }
    }

    /// Waits until so many attempts of what has waited are at the gate.
    async fn wait_for(&mut self, count: usize) {
        for _ in 0..count {
            let arrival = tokio::time::timeout(TIMEOUT, self.arrivals.recv()).await.unwrap();
            assert!(arrival.unwrap() > 1);
        }
    }

    fn open(&self) {
        self.opening.send_replace(true);
    }
}

/// Answers the requests of one connection; ends with it.
async fn serve_gate(
    stream: TcpStream,
    arrived: mpsc::UnboundedSender<u32>,
    mut is_open: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut attempt) = (0, 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            } else if let Some(value) = line.strip_prefix("postrider-attempt:") {
                attempt = value.trim().parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let mut status = "200 OK";
        if body.windows(6).any(|part| part == b"\"wait\"") {
            if attempt == 1 {
                status = "503 Not Now";
            } else {
                let _ = arrived.send(attempt);
                let _ = is_open.wait_for(|is_open| *is_open).await;
            }
        }
        stream
            .write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())
            .await?;
    }
}

/// Three deliveries that have waited and are in flight again, and a stranger's transaction that does
/// this before they are answered.
async fn held(hold: &str) -> (Shop, Gate, Dispatcher, Client) {
    let shop = Shop::open_to_receivers().await;
    let mut gate = Gate::start().await;
    let config = json!({ "url": gate.url, "timeout_seconds": 300 });
    let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("held", config, policy).await;
    shop.execute("select postrider.create_endpoint('good', 'discard', '{}')").await;
    let dispatcher = serve(&shop).await;
    for n in 1..=3 {
        shop.send("held", json!({ "wait": n })).await;
    }
    gate.wait_for(3).await;
    let stranger = shop.client().await;
    stranger.batch_execute(&format!("begin; {hold}")).await.unwrap();
    gate.open();
    (shop, gate, dispatcher, stranger)
}

const OTHERS_ARE_DONE: &str = "select count(*) = 21 and bool_and(postrider.is_done(m.id))
    from postrider.message m
    where not m.payload ? 'wait'";

async fn send_others(shop: &Shop) {
    shop.send_many("good", 20).await;
    shop.send("held", json!({ "n": 21 })).await;
}

/// `is_locked`: the results of what the stranger holds are recorded only when it is done.
async fn check_held(hold: &str, end: &str, is_locked: bool) {
    let (shop, mut gate, _dispatcher, stranger) = held(hold).await;
    send_others(&shop).await;
    until(&shop, OTHERS_ARE_DONE).await;
    let none_is_done = "select not bool_or(postrider.is_done(m.id))
        from postrider.message m
        where m.payload ? 'wait'";
    assert!(!is_locked || shop.ask::<bool>(none_is_done).await, "{hold}");
    stranger.batch_execute(end).await.unwrap();
    until(
        &shop,
        "select count(*) = 24 and bool_and(postrider.is_done(m.id))
            and not exists (select from postrider.deferred)
        from postrider.message m",
    )
    .await;
    let is_one_tenure = "select count(distinct h.dispatcher) = 1 from postrider.heartbeat h";
    assert!(shop.ask::<bool>(is_one_tenure).await, "{hold}");
    assert!(gate.arrivals.try_recv().is_err(), "{hold}: nothing comes twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_has_locked_holds_up_nothing_else() {
    for (hold, end) in [
        ("select from postrider.deferred for update", "rollback"),
        ("update postrider.deferred set run_at = now()", "commit"),
        ("delete from postrider.deferred", "rollback"),
        ("delete from postrider.deferred", "commit"),
    ] {
        check_held(hold, end, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_being_dropped_holds_up_no_other() {
    for end in ["rollback", "commit"] {
        check_held("select postrider.drop_endpoint('held', true)", end, false).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_that_dies_beside_a_stranger_leaves_all_to_the_next() {
    let (shop, mut gate, dispatcher, stranger) =
        held("select from postrider.deferred for update").await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '5')").await;
    send_others(&shop).await;
    until(&shop, OTHERS_ARE_DONE).await;
    assert!(dispatcher.sigkill());
    let next = serve(&shop).await;
    // Its tenure, and the last one's, lasts: one that ends leaves more that nobody knows of.
    shop.execute("select postrider.reset_setting('stale_recovery_timeout')").await;
    shop.send_many("good", 20).await;
    until(&shop, &OTHERS_ARE_DONE.replace("21", "41")).await;
    // Nor is it forgotten by one that stops in order, and does not wait for it.
    assert!(next.sigterm());
    assert!(next.wait(TIMEOUT).await.unwrap().success());
    let _last = serve(&shop).await;
    shop.send_many("good", 20).await;
    until(&shop, &OTHERS_ARE_DONE.replace("21", "61")).await;
    assert!(gate.arrivals.try_recv().is_err(), "not before it is known what became of it");
    stranger.batch_execute("rollback").await.unwrap();
    gate.wait_for(3).await;
    until(
        &shop,
        "select not exists (select from postrider.deferred)
            and (select bool_and(postrider.is_done(m.id)) from postrider.message m)
            and (select count(*) = 3 from postrider.attempt a where a.outcome = 'unknown')",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_has_locked_is_not_attempted() {
    let shop = Shop::open_to_receivers().await;
    let mut gate = Gate::start().await;
    gate.open();
    let policy = json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0 });
    shop.endpoint("held", json!({ "url": gate.url }), policy).await;
    let former = serve(&shop).await;
    let first = shop.send("held", json!({ "wait": 1 })).await;
    shop.send("held", json!({ "wait": 2 })).await;
    until(&shop, "select count(*) = 2 from postrider.deferred").await;
    assert!(former.sigterm());
    former.wait(TIMEOUT).await.unwrap();
    shop.execute("update postrider.deferred set run_at = now()").await;
    let stranger = shop.client().await;
    let lock = format!("select from postrider.deferred where message_id = {first} for update");
    stranger.batch_execute(&format!("begin; {lock}")).await.unwrap();
    let _dispatcher = serve(&shop).await;
    gate.wait_for(1).await;
    until(
        &shop,
        &format!("select exists (select from postrider.claim where message_ids @> array[{first}::bigint])"),
    )
    .await;
    until(&shop, "select count(*) = 1 from postrider.deferred").await;
    assert!(gate.arrivals.try_recv().is_err(), "only the other one was attempted");
    stranger.batch_execute("rollback").await.unwrap();
    gate.wait_for(1).await;
    until(&shop, "select not exists (select from postrider.deferred)").await;
}
