//! Executions for workers behind a real RabbitMQ: how they get there, and what expires there.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::{
    process::Dispatcher,
    proxy::Proxy,
    rabbitmq::{
        Binding, Exchange, Options, PrivateRabbitmq, Queue, VirtualHost,
        client::Client,
        shared::{OwnHost, virtual_host},
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;

const DEAD: &str = "postrider.dlx.queue";

/// A shop whose executions go by RabbitMQ, and a virtual host for them.
async fn open(settings: &[(&str, &str)]) -> (Shop, OwnHost) {
    (open_shop(settings).await, virtual_host().unwrap())
}

async fn open_shop(settings: &[(&str, &str)]) -> Shop {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.set_setting('execution_carrier', 'rabbitmq')").await;
    for (name, value) in settings {
        set(&shop, name, value).await;
    }
    shop
}

async fn set(shop: &Shop, name: &str, value: &str) {
    shop.execute(&format!("select postrider.set_setting('{name}', '{value}')")).await;
}

/// A dispatcher that knows this broker.
fn serve(shop: &Shop, url: &str) -> Dispatcher {
    let options = shop.serve_options().variable("POSTRIDER_AMQP_URL", url);
    Dispatcher::start(&options).unwrap()
}

async fn connected(shop: &Shop, host: &VirtualHost) -> Dispatcher {
    let dispatcher = serve(shop, &host.url());
    dispatcher.wait_for_log("connected to RabbitMQ", LONG).await.unwrap();
    dispatcher
}

/// Submits so many for a worker, and returns the worker's id.
async fn submit(shop: &Shop, worker: &str, count: usize) -> i32 {
    let submit = format!(
        "select count(postrider.submit_execution('resize', p_worker => '{worker}'))
        from generate_series(1, {count})"
    );
    let _: i64 = shop.ask(&submit).await;
    shop.ask(&format!("select id from postrider.worker where name = '{worker}'")).await
}

fn queue_of(worker: i32) -> String {
    format!("worker.{worker}.executions")
}

/// Waits until the broker's view of a queue is as it should be.
async fn until_queue(host: &VirtualHost, name: &str, is_so: impl Fn(&Queue) -> bool) -> Queue {
    let began = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    loop {
        let queue = host.queue(name).unwrap();
        if let Some(queue) = &queue
            && is_so(queue)
        {
            return queue.clone();
        }
        assert!(began.elapsed() < LONG, "{name} did not become so: {queue:?}");
        look.tick().await;
    }
}

/// How many dead letters came out with each outcome.
async fn outcomes(shop: &Shop) -> Value {
    let counts = "select coalesce(jsonb_object_agg(outcome, n), '{}') from (
        select outcome, count(*) n from postrider.execution_dead_letter group by outcome) c";
    shop.ask(counts).await
}

/// A commit whose wait for a standby somebody ends counts as done, with a warning.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_published_that_the_standby_does_not_have() {
    let (shop, host) = open(&[]).await;
    let mut standby = shop.postgres.standby().unwrap();
    shop.wants_standby("*").await;
    let _dispatcher = connected(&shop, &host).await;
    let worker = submit(&shop, "absent", 1).await;
    let name = queue_of(worker);
    until_queue(&host, &name, |queue| queue.ready == 1).await;

    standby.kill().unwrap();
    let client = shop.client().await;
    client.batch_execute("set synchronous_commit = local").await.unwrap();
    let again = "select postrider.submit_execution('resize', p_worker => 'absent')";
    client.batch_execute(again).await.unwrap();
    // Whatever waits, until it is what is to be published.
    let cancel = "select
            coalesce(max(a.pid) filter (where a.query like '%dispatch_executions%'), 0)
        from (
            select s.pid, s.query from pg_stat_activity s where s.wait_event = 'SyncRep' offset 0
        ) a
        where pg_cancel_backend(a.pid)";
    let began = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let pid = loop {
        let pid: i32 = shop.ask(cancel).await;
        if pid > 0 {
            break pid;
        }
        assert!(began.elapsed() < LONG, "nothing was to be published");
        look.tick().await;
    };
    for _ in 0..3 {
        // It waits again, before it publishes.
        shop.until(&format!(
            "select exists (
                select
                from pg_stat_activity a
                where a.pid = {pid}
                and a.wait_event = 'SyncRep'
                and a.query like '%pg_logical_emit_message%')"
        ))
        .await;
        assert!(shop.ask::<bool>(&format!("select pg_cancel_backend({pid})")).await);
    }
    assert_eq!(host.queue(&name).unwrap().unwrap().ready, 1, "published, and on one disk only");
    standby.start_again().unwrap();
    until_queue(&host, &name, |queue| queue.ready == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_takes_travels_through_the_broker_and_fails() {
    let (shop, host) =
        open(&[("worker_queue_ttl_ms", "5000"), ("dead_letter.enabled", "off")]).await;
    let dispatcher = connected(&shop, &host).await;
    let worker = submit(&shop, "absent", 1).await;
    let name = queue_of(worker);

    // Into the queue of the worker, with everything declared as it should be.
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    let queue = until_queue(&host, &name, |_| true).await;
    let arguments = json!({ "x-message-ttl": 5000, "x-dead-letter-exchange": "postrider.dlx",
        "x-dead-letter-routing-key": "execution.dead" });
    assert_eq!((queue.arguments, queue.is_durable), (arguments, true));
    let exchange = |name: &str, kind: &str| Exchange {
        name: name.to_owned(),
        kind: kind.to_owned(),
        is_durable: true,
    };
    assert_eq!(
        host.exchanges().unwrap(),
        [exchange("postrider.dlx", "direct"), exchange("postrider.executions", "topic")]
    );
    let binding = |exchange: &str, queue: &str, key: &str| Binding {
        exchange: exchange.to_owned(),
        queue: queue.to_owned(),
        key: key.to_owned(),
    };
    let key = format!("execution.dispatch.worker.{worker}");
    assert_eq!(
        host.bindings().unwrap(),
        [
            binding("postrider.dlx", DEAD, "execution.dead"),
            binding("postrider.executions", &name, &key)
        ]
    );
    shop.until("select is_published and status = 'scheduled' from postrider.live_execution").await;
    // Nobody but the handler ends it, however long the rest takes.
    shop.execute("update postrider.live_execution set due_at = now() + interval '1 hour'").await;

    // Out of it into the dead letter queue, where it stays as long as nobody reads.
    let dead = until_queue(&host, DEAD, |queue| queue.ready == 1).await;
    assert_eq!(dead.arguments, json!({ "x-message-ttl": 86_400_000 }));
    until_queue(&host, &name, |queue| queue.ready == 0).await;

    // And to the handler.
    set(&shop, "dead_letter.enabled", "on").await;
    shop.until("select status = 'failed' from postrider.executions").await;
    let taken: f64 = shop
        .ask("select extract(epoch from ended_at - created_at)::double precision from postrider.executions")
        .await;
    assert!(taken >= 5.0, "{taken}");
    let error: Value = shop.ask("select error from postrider.executions").await;
    assert_eq!(error["error"], "Worker queue TTL expired");
    assert_eq!(error["message"], "Worker did not process execution within configured TTL");
    let death: Value = shop
        .ask("select x_death from postrider.execution_dead_letter where outcome = 'failed'")
        .await;
    let first = &death[0];
    assert_eq!((&first["queue"], &first["reason"]), (&json!(name), &json!("expired")), "{death}");
    assert_eq!(first["exchange"], "postrider.executions", "{death}");
    assert_eq!((&first["count"], &first["routing-keys"]), (&json!(1), &json!([key])), "{death}");
    assert!(first["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{death}");
    assert!(first["original-expiration"].is_string(), "{death}");
    until_queue(&host, DEAD, |queue| (queue.ready, queue.unacknowledged) == (0, 0)).await;

    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
    // The broker may not have noticed yet.
    let began = Instant::now();
    while host.connection_count().unwrap() > 0 {
        assert!(began.elapsed() < LONG, "connections are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_dead_letter_is_recorded_by_what_it_is_about() {
    // Nobody says that the worker lives.
    let (shop, host) = open(&[
        ("worker_queue_ttl_ms", "5000"),
        ("dead_letter.enabled", "off"),
        ("worker_stale_after", "3600"),
    ])
    .await;
    let _one = connected(&shop, &host).await;
    let _two = connected(&shop, &host).await;
    let client = Client::connect(&host.url()).await.unwrap();

    // Twenty that expired, each twice in the dead letter queue: for two handlers.
    submit(&shop, "absent", 20).await;
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    shop.execute("update postrider.live_execution set due_at = now() + interval '1 hour'").await;
    until_queue(&host, DEAD, |queue| queue.ready == 20).await;
    for _ in 0..20 {
        let message = client.wait_for(DEAD).await.unwrap();
        for _ in 0..2 {
            client.publish("postrider.dlx", "execution.dead", &message.body).await.unwrap();
        }
    }

    // One that has ended, one that runs, one whose fence has passed, one that never was.
    set(&shop, "worker_queue_ttl_ms", "600000").await;
    let sql = shop.client().await;
    let row = sql
        .query_one(
            "select w.worker_id from postrider.register_worker('here', 'p', 10, p_carrier => 'postgres') w",
            &[],
        )
        .await
        .unwrap();
    let worker: i32 = row.get(0);
    let submit_here = "select postrider.submit_execution('resize', p_worker => 'here')";
    let ended: i64 = shop.ask(submit_here).await;
    shop.execute(&format!("select postrider.cancel_execution({ended})")).await;
    let running: i64 = shop.ask(submit_here).await;
    let passed: i64 = shop.ask(submit_here).await;
    let taken = sql
        .query("select execution_id, fence from postrider.take_executions($1, 10)", &[&worker])
        .await
        .unwrap();
    assert_eq!(taken.len(), 2);
    let fence =
        |id: i64| -> i64 { taken.iter().find(|row| row.get::<_, i64>(0) == id).unwrap().get(1) };
    let start =
        format!("select fence from postrider.start_execution({running}, {})", fence(running));
    let running_fence: i64 = shop.ask(&start).await;
    for (execution, fence) in
        [(ended, 1), (running, running_fence), (passed, fence(passed) - 1), (1 << 40, 1)]
    {
        let body = json!({ "message_id": "m", "correlation_id": null, "version": 1,
            "message_type": "execution.dispatch", "timestamp": "2026-01-01T00:00:00Z",
            "headers": {}, "payload": { "execution_id": execution, "fence": fence,
            "action": "resize", "attempt": 1 } });
        client
            .publish("postrider.dlx", "execution.dead", body.to_string().as_bytes())
            .await
            .unwrap();
    }
    client.publish("postrider.dlx", "execution.dead", b"\0not\xffJSON").await.unwrap();
    let huge = vec![b'x'; 3 << 20];
    client.publish("postrider.dlx", "execution.dead", &huge).await.unwrap();

    set(&shop, "dead_letter.enabled", "on").await;
    shop.until("select count(*) = 46 from postrider.execution_dead_letter").await;
    until_queue(&host, DEAD, |queue| (queue.ready, queue.unacknowledged) == (0, 0)).await;
    // Of two messages about the same execution one ends it, and the other finds it ended.
    let expected = json!({ "failed": 20, "terminal": 21, "running": 1, "passed": 1, "unknown": 1,
        "unreadable": 2 });
    assert_eq!(outcomes(&shop).await, expected);
    let once: bool = shop
        .ask(
            "select count(*) = 20 and count(distinct execution_id) = 20
            from postrider.execution_end where is_final and status = 'failed'",
        )
        .await;
    assert!(once);
    let status: String =
        shop.ask(&format!("select status from postrider.executions where id = {running}")).await;
    assert_eq!(status, "running");
    let kept: Vec<u8> = shop
        .ask(
            "select body from postrider.execution_dead_letter
            where outcome = 'unreadable' order by length(body) limit 1",
        )
        .await;
    assert_eq!(kept, b"\0not\xffJSON");
    let sizes: Value = shop
        .ask(
            "select jsonb_build_array(length(body), details -> 'size_bytes')
            from postrider.execution_dead_letter
            where outcome = 'unreadable' order by length(body) desc limit 1",
        )
        .await;
    assert_eq!(sizes, json!([1 << 20, 3 << 20]));
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_times_to_live_replace_empty_queues_and_leave_others_alone() {
    let (shop, host) = open(&[("worker_queue_ttl_ms", "600000")]).await;
    let dispatcher = connected(&shop, &host).await;
    let (full, empty) = (submit(&shop, "full", 1).await, submit(&shop, "empty", 1).await);
    until_queue(&host, &queue_of(full), |queue| queue.ready == 1).await;
    until_queue(&host, &queue_of(empty), |queue| queue.ready == 1).await;
    let client = Client::connect(&host.url()).await.unwrap();
    client.wait_for(&queue_of(empty)).await.unwrap();

    set(&shop, "worker_queue_ttl_ms", "1000").await;
    until_queue(&host, &queue_of(empty), |queue| queue.arguments["x-message-ttl"] == 1000).await;
    let warning = "RabbitMQ refuses to make this as it should be";
    let line = dispatcher.wait_for_log(warning, LONG).await.unwrap();
    assert!(line.contains(&queue_of(full)), "{line}");
    let kept = host.queue(&queue_of(full)).unwrap().unwrap();
    assert_eq!((kept.ready, &kept.arguments["x-message-ttl"]), (1, &json!(600_000)));

    // The shorter time holds in the queue that stayed, as soon as the message before has gone.
    client.wait_for(&queue_of(full)).await.unwrap();
    submit(&shop, "full", 1).await;
    shop.until("select exists (select from postrider.executions where status = 'failed')").await;
    // The one before was taken out of the queue and never started; it has its long time to live.
    let said = dispatcher.log_lines().iter().filter(|line| line.contains(warning)).count();
    assert_eq!(said, 1, "{:?}", dispatcher.log_lines());

    // What lives longer than the queue lets it comes back, and is published again.
    let sql = "select postrider.submit_execution('long', p_worker => 'empty', p_ttl => '1 hour')";
    let long: i64 = shop.ask(sql).await;
    shop.until(&format!(
        "select count(*) >= 2 from postrider.execution_dead_letter
        where execution_id = {long} and outcome = 'returned'"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_down_or_cut_off_loses_nothing() {
    let settings = [("worker_queue_ttl_ms", "600000"), ("worker_stale_after", "3600")];
    let (shop, host) = open(&settings).await;
    let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], host.port()))).unwrap();
    proxy.refuse(true);
    let dispatcher = serve(&shop, &host.url_through(proxy.port()));
    let line = dispatcher.wait_for_log("executions are not published", LONG).await.unwrap();
    assert!(!line.contains("guest:guest"), "{line}");

    // The PostgreSQL side goes on meanwhile, and nothing is dispatched.
    let worker = submit(&shop, "worker", 1).await;
    shop.execute(
        "select postrider.register_worker('other', 'other', p_carrier => 'postgres');
        select postrider.submit_execution('resize', p_worker => 'other', p_ttl => '1 second')",
    )
    .await;
    shop.until("select exists (select from postrider.executions where status = 'failed')").await;
    let status: String = shop
        .ask(&format!(
            "select status from postrider.live_execution where queue = 'worker:{worker}'"
        ))
        .await;
    assert_eq!(status, "requested");

    proxy.refuse(false);
    until_queue(&host, &queue_of(worker), |queue| queue.ready == 1).await;
    let taking = tokio::spawn(work(shop.client().await, host.url(), queue_of(worker), 501));
    for _ in 0..5 {
        submit(&shop, "worker", 100).await;
        proxy.cut();
        proxy.wait_for_open(|count| count > 0).await;
    }
    tokio::time::timeout(LONG, taking).await.unwrap().unwrap();
    let ends: (i64, i64) = {
        let client = shop.client().await;
        let sql = "select count(*), count(distinct execution_id) from postrider.execution_end
            where is_final and status = 'completed'";
        let row = client.query_one(sql, &[]).await.unwrap();
        (row.get(0), row.get(1))
    };
    assert_eq!(ends, (501, 501));
}

/// Takes messages out of a queue and does what a worker does, until so many executions are completed.
async fn work(sql: tokio_postgres::Client, url: String, queue: String, count: usize) {
    sql.batch_execute("select postrider.register_worker('worker', 'default', 1000)").await.unwrap();
    let client = Client::connect(&url).await.unwrap();
    let mut completed = 0;
    while completed < count {
        let Some(message) = client.get(&queue).await.unwrap() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let envelope: Value = serde_json::from_slice(&message.body).unwrap();
        let number = |name: &str| envelope["payload"][name].as_i64().unwrap();
        let start = "select execution_id, fence from postrider.start_execution($1, $2)";
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&number("execution_id"), &number("fence")];
        let Some(started) = sql.query_opt(start, &parameters).await.unwrap() else { continue };
        let complete = "select postrider.complete_execution($1, $2)";
        let (id, fence): (i64, i64) = (started.get(0), started.get(1));
        completed +=
            usize::from(sql.query_one(complete, &[&id, &fence]).await.unwrap().get::<_, bool>(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_wait_while_the_database_is_down() {
    let is_full = std::env::var_os("POSTRIDER_TEST_FULL").is_some();
    let down = Duration::from_secs(if is_full { 20 } else { 2 });
    // All have to be on their way, and the database down, before the first of them expires.
    let (mut shop, host) = open(&[("worker_queue_ttl_ms", "8000")]).await;
    let _dispatcher = connected(&shop, &host).await;
    submit(&shop, "absent", 200).await;
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    shop.postgres.stop().unwrap();
    let stopped_at = Instant::now();
    // They expire while nobody can record them.
    until_queue(&host, DEAD, |queue| queue.ready > 0).await;
    tokio::time::sleep_until(stopped_at + down).await;
    shop.postgres.start_again().unwrap();
    shop.until("select count(*) = 200 from postrider.executions where status = 'failed'").await;
    until_queue(&host, DEAD, |queue| (queue.ready, queue.unacknowledged) == (0, 0)).await;
    let heard: bool = shop
        .ask(
            "select count(distinct execution_id) = 200 from postrider.execution_dead_letter
            where x_death is not null",
        )
        .await;
    assert!(heard);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_holds_executions_back_and_a_restart_loses_none() {
    let shop = open_shop(&[("worker_queue_ttl_ms", "600000")]).await;
    let mut server = PrivateRabbitmq::start(Options::default()).unwrap();
    let dispatcher = connected(&shop, &server.host()).await;
    let worker = submit(&shop, "worker", 1).await;
    until_queue(&server.host(), &queue_of(worker), |queue| queue.ready == 1).await;
    shop.until("select bool_and(is_published) from postrider.live_execution").await;

    // The broker tells of its alarm who publishes: so one is on its way, and comes back.
    server.set_disk_alarm(true).unwrap();
    submit(&shop, "worker", 1).await;
    dispatcher.wait_for_log("it has an alarm", LONG).await.unwrap();
    submit(&shop, "worker", 1).await;
    shop.until(
        "select count(*) filter (where status = 'requested') = 2 from postrider.live_execution",
    )
    .await;
    server.set_disk_alarm(false).unwrap();
    shop.until("select bool_and(is_published) from postrider.live_execution").await;

    // What is published as the server goes down is published again, or was kept.
    submit(&shop, "worker", 200).await;
    server.restart().unwrap();
    submit(&shop, "worker", 200).await;
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    let client = Client::connect(&server.url()).await.unwrap();
    let mut found = BTreeSet::new();
    while let Some(message) = client.get(&queue_of(worker)).await.unwrap() {
        let envelope: Value = serde_json::from_slice(&message.body).unwrap();
        let number = |name: &str| envelope["payload"][name].as_i64().unwrap();
        found.insert((number("execution_id"), number("fence")));
    }
    let sql = shop.client().await;
    let live = sql.query("select id, fence from postrider.live_execution", &[]).await.unwrap();
    assert_eq!(live.len(), 403);
    assert!(live.iter().all(|row| found.contains(&(row.get(0), row.get(1)))));

    // It ends though the broker does not answer.
    drop(server);
    dispatcher.sigterm();
    assert!(dispatcher.wait(LONG).await.unwrap().success());
}
