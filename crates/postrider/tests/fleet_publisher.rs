//! The publisher of a dispatcher with a real RabbitMQ: when it wakes, and which queues it deletes.

use std::time::Duration;

use crate::shop::{Shop, pulse::Pulse, serving::LONG};
use postrider_testkit::{
    process::Dispatcher,
    rabbitmq::{
        client::Client,
        shared::{OwnHost, virtual_host},
    },
};
use tokio::time::Instant;

/// A look without a ring comes after a second of sleep. What comes within half of that was rung for, while
/// nothing stands still.
const RUNG_WITHIN: f64 = 0.5;

/// A shop whose executions go by RabbitMQ, and a dispatcher that is connected to one.
async fn open() -> (Shop, OwnHost, Dispatcher) {
    let shop = Shop::open_migrated().await;
    let host = tokio::task::spawn_blocking(virtual_host).await.unwrap().unwrap();
    let dispatcher = serve(&shop, &host).await;
    (shop, host, dispatcher)
}

async fn serve(shop: &Shop, host: &OwnHost) -> Dispatcher {
    shop.execute(
        "select postrider.set_setting('execution_carrier', 'rabbitmq');
        select postrider.set_setting('worker_queue_ttl_ms', '600000')",
    )
    .await;
    let options = shop.serve_options().variable("POSTRIDER_AMQP_URL", host.url());
    let dispatcher = Dispatcher::start(&options).unwrap();
    dispatcher.wait_for_log("connected to RabbitMQ", LONG).await.unwrap();
    dispatcher
}

fn queue_of(worker: i32) -> String {
    format!("worker.{worker}.executions")
}

/// Whether somebody sleeps who wants to be rung for at this queue.
fn sleeps_at(queue: &str) -> String {
    format!(
        "select exists (
            select
            from pg_locks
            where locktype = 'advisory'
            and database = (select oid from pg_database where datname = current_database())
            and classid = 1886352248
            and objid = (hashtext('{queue}') & 255)::oid)"
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn who_submits_and_who_makes_room_wakes_the_publisher() {
    let (shop, _host, _dispatcher) = open().await;
    // It is there for as long as the test takes, though it sends no heartbeats.
    shop.execute("select postrider.set_setting('worker_stale_after', '3600')").await;
    let worker: i32 =
        shop.ask("select worker_id from postrider.register_worker('w', 'p', 1)").await;
    let own_queue = format!("worker:{worker}");
    let submit = "select postrider.submit_execution('resize', p_pool => 'p')";

    let pulse = Pulse::of(&shop).await;
    let (mut submitted, mut freed) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        shop.until(&sleeps_at("pool:p")).await;
        let still = pulse.still();
        let first: i64 = shop.ask(submit).await;
        let fence_of = |id: i64| {
            format!(
                "select max(fence) from postrider.live_execution
                where id = {id} and status = 'scheduled' and carrier = 'rabbitmq'"
            )
        };
        shop.until(&format!("select ({}) is not null", fence_of(first))).await;
        let wait = "select extract(epoch from scheduled_at - requested_at)::double precision
            from postrider.live_execution where id = ";
        let wait = shop.ask::<f64>(&format!("{wait}{first}")).await;
        submitted.push(wait - (pulse.still() - still).as_secs_f64());

        // There is room for one: the next waits until that has ended.
        let next: i64 = shop.ask(submit).await;
        let fence: i64 = shop.ask(&fence_of(first)).await;
        let started: i64 = shop
            .ask(&format!("select fence from postrider.start_execution({first}, {fence})"))
            .await;
        // It sleeps at both at once, and a ring wakes it for a moment.
        let both = format!("select ({}) and ({})", sleeps_at("pool:p"), sleeps_at(&own_queue));
        shop.until(&both).await;
        let still =
            format!("select status = 'requested' from postrider.executions where id = {next}");
        assert!(shop.ask::<bool>(&still).await);
        let still = pulse.still();
        shop.execute(&format!("select postrider.complete_execution({first}, {started})")).await;
        shop.until(&format!("select ({}) is not null", fence_of(next))).await;
        let wait = format!(
            "select extract(epoch from l.scheduled_at - e.ended_at)::double precision
            from postrider.live_execution l, postrider.executions e
            where l.id = {next} and e.id = {first}"
        );
        let wait = shop.ask::<f64>(&wait).await;
        freed.push(wait - (pulse.still() - still).as_secs_f64());
        shop.execute(&format!("select postrider.cancel_execution({next})")).await;
    }
    assert!(median(submitted.clone()) < RUNG_WITHIN, "{submitted:?}");
    assert!(median(freed.clone()) < RUNG_WITHIN, "{freed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_publisher_polls_where_nobody_may_ring() {
    let mut shop = Shop::open_migrated().await;
    shop.execute("alter system set max_prepared_transactions = 2").await;
    shop.postgres.stop().unwrap();
    shop.postgres.start_again().unwrap();
    let host = tokio::task::spawn_blocking(virtual_host).await.unwrap().unwrap();
    let _dispatcher = serve(&shop, &host).await;
    shop.execute("select postrider.register_worker('w', 'p', 9)").await;
    shop.execute(
        "begin;
        select postrider.submit_execution('resize', p_pool => 'p');
        prepare transaction 'one'",
    )
    .await;
    shop.execute("commit prepared 'one'").await;
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    assert!(!shop.ask::<bool>(&sleeps_at("pool:p")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_of_removed_workers_go_once_they_are_empty_and_nobody_reads_them() {
    let (shop, host, _dispatcher) = open().await;
    let names = ["empty", "full", "read", "moved", "stays", "last"];
    let mut ids = Vec::new();
    for name in names {
        shop.execute(&format!("select postrider.submit_execution('resize', p_worker => '{name}')"))
            .await;
        let id = format!("select id from postrider.worker where name = '{name}'");
        ids.push(shop.ask::<i32>(&id).await);
    }
    let queue = |name: &str| queue_of(ids[names.iter().position(|known| *known == name).unwrap()]);
    shop.until("select bool_and(is_published) from postrider.live_execution").await;
    let client = Client::connect(&host.url()).await.unwrap();
    for name in names.into_iter().filter(|name| *name != "full") {
        client.wait_for(&queue(name)).await.unwrap();
    }
    shop.execute("select postrider.cancel_execution(id) from postrider.executions").await;
    let reading = client
        .channel
        .basic_consume(
            queue("read").as_str().into(),
            "".into(),
            Default::default(),
            Default::default(),
        )
        .await
        .unwrap();

    // Only a removed one's goes, and only if nothing can be lost.
    shop.execute(
        "select postrider.register_worker('moved', p_carrier => 'postgres');
        select postrider.drop_worker(name) from unnest(array['full', 'read', 'empty']) n (name)",
    )
    .await;
    until_gone(&host, &queue("empty")).await;
    for name in ["full", "read", "moved", "stays"] {
        assert!(host.queue(&queue(name)).unwrap().is_some(), "{name}");
    }
    assert_eq!(host.queue(&queue("full")).unwrap().unwrap().ready, 1);

    // A lost connection to the broker does not make the publisher forget them.
    drop(reading);
    client.wait_for(&queue("full")).await.unwrap();
    host.close_connections("a test").unwrap();
    shop.execute("select postrider.drop_worker('last')").await;
    for name in ["full", "read", "last"] {
        until_gone(&host, &queue(name)).await;
    }
    for name in ["moved", "stays"] {
        assert!(host.queue(&queue(name)).unwrap().is_some(), "{name}");
    }
}

/// Waits until the broker has no such queue.
async fn until_gone(host: &OwnHost, name: &str) {
    let began = Instant::now();
    let mut look = tokio::time::interval(Duration::from_millis(50));
    while let Some(queue) = host.queue(name).unwrap() {
        assert!(began.elapsed() < LONG, "{name} is still there: {queue:?}");
        look.tick().await;
    }
}
