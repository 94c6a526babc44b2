//! What executions promise, with a real dispatcher and real workers, on both carriers alike.

use std::sync::Arc;

use crate::shop::Shop;
use crate::shop::serving::LONG;
use postrider_client::{ExecutionError, Summary, Worker};
use postrider_testkit::process::{Dispatcher, DispatcherOptions};
use postrider_testkit::rabbitmq::shared::{OwnHost, virtual_host};
use postrider_testkit::rabbitmq::{Options, PrivateRabbitmq};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// How executions get to workers here.
enum Carrier {
    Postgres,
    Shared(OwnHost),
    Private(PrivateRabbitmq),
}

impl Carrier {
    fn url(&self) -> Option<String> {
        match self {
            Self::Postgres => None,
            Self::Shared(host) => Some(host.url()),
            Self::Private(broker) => Some(broker.url()),
        }
    }

    fn name(&self) -> &'static str {
        if self.url().is_some() { "rabbitmq" } else { "postgres" }
    }
}

struct Scene {
    shop: Shop,
    carrier: Carrier,
    _dispatcher: Dispatcher,
}

impl Scene {
    async fn open(carrier: Carrier, settings: &[(&str, &str)]) -> Self {
        let shop = Shop::open_migrated().await;
        shop.execute("create role app login in role postrider_application").await;
        let own = [
            ("execution_carrier", carrier.name()),
            ("worker_heartbeat_interval", "1"),
            // Longer than a process of a busy machine may be silent.
            ("worker_stale_after", "10"),
        ];
        for (name, value) in own.iter().chain(settings) {
            shop.execute(&format!("select postrider.set_setting('{name}', '{value}')")).await;
        }
        let mut options = shop.serve_options();
        if let Some(url) = carrier.url() {
            options = options.variable("POSTRIDER_AMQP_URL", &url);
        }
        let dispatcher = Dispatcher::start(&options).unwrap();
        dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
        Self { shop, carrier, _dispatcher: dispatcher }
    }

    /// A worker with the actions `echo`, which returns its parameters, and `wait`, which says that it has
    /// begun and waits until it is told to end. It is there, and may be sent to, when this returns.
    async fn worker(&self, begun: mpsc::UnboundedSender<i64>, end: Arc<Notify>) -> Running {
        let (stop, stopped) = oneshot::channel();
        let (troubles, trouble) = mpsc::unbounded_channel();
        let mut worker = Worker::builder()
            .url(&self.shop.postgres.url_as("app", "shop"))
            .name("w1")
            .capacity(4)
            .on_trouble(move |trouble| {
                let _ = troubles.send(trouble.to_string());
            })
            .handle("echo", |execution| async move { Ok(execution.parse::<Value>()?) })
            .handle("wait", move |execution| {
                let end = Arc::clone(&end);
                let _ = begun.send(execution.id());
                async move {
                    end.notified().await;
                    Ok::<_, ExecutionError>(json!({ "waited": true }))
                }
            });
        if let Some(url) = self.carrier.url() {
            worker = worker.rabbitmq(url);
        }
        let stopped = async move {
            let _ = stopped.await;
        };
        let task = tokio::spawn(worker.build().unwrap().run_until(stopped));
        let active = "select count(*) = 1 from postrider.workers where status = 'active'";
        self.shop.until(active).await;
        Running { stop, task, trouble }
    }

    /// `postrider worker` as a process, with a shell script for every execution.
    async fn process(&self, name: &str, script: &str) -> Dispatcher {
        let mut options = DispatcherOptions::serve(
            env!("CARGO_BIN_EXE_postrider"),
            &self.shop.postgres.url_as("app", "shop"),
        );
        if let Some(url) = self.carrier.url() {
            options = options.variable("POSTRIDER_AMQP_URL", &url);
        }
        let arguments = ["worker", "--name", name, "--exec", "/bin/sh", "--", "-c", script];
        options.arguments = arguments.map(str::to_owned).to_vec();
        let process = Dispatcher::start(&options).unwrap();
        self.shop
            .until(&format!(
                "select count(*) = 1 from postrider.workers where name = '{name}' and status = 'active'"
            ))
            .await;
        process
    }

    async fn submit(&self, arguments: &str) -> i64 {
        self.shop.ask(&format!("select postrider.submit_execution({arguments})")).await
    }

    async fn ended(&self, id: i64, status: &str) -> Value {
        self.shop
            .until(&format!("select status = '{status}' from postrider.executions where id = {id}"))
            .await;
        self.shop
            .ask(&format!("select to_jsonb(e) from postrider.executions e where id = {id}"))
            .await
    }
}

/// A worker in a task of its own.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Summary, postrider_client::Error>>,
    trouble: mpsc::UnboundedReceiver<String>,
}

impl Running {
    /// Stops it; returns what it has done, and what troubled it.
    async fn stop(mut self) -> (Summary, Vec<String>) {
        let _ = self.stop.send(());
        let summary = tokio::time::timeout(LONG, self.task).await.unwrap().unwrap().unwrap();
        let mut troubles = Vec::new();
        while let Ok(trouble) = self.trouble.try_recv() {
            troubles.push(trouble);
        }
        (summary, troubles)
    }
}

async fn what_is_taken_in_time_completes_whatever_it_takes(carrier: Carrier) {
    let settings = [("worker_stale_after", "3600"), ("max_payload_size", "16777216")];
    let scene = Scene::open(carrier, &settings).await;
    let (begun, mut beginnings) = mpsc::unbounded_channel();
    let end = Arc::new(Notify::new());
    let worker = scene.worker(begun, Arc::clone(&end)).await;

    // It runs longer than it may wait, and longer than the broker waits for acknowledgements.
    let long = scene.submit("'wait', p_timeout => '1 hour', p_ttl => '10 seconds'").await;
    assert_eq!(beginnings.recv().await, Some(long));
    scene
        .shop
        .until("select clock_timestamp() > started_at + interval '12 seconds' from postrider.executions")
        .await;
    let quick = scene.submit("'echo', '{\"n\": [1, null]}'").await;
    assert_eq!(scene.ended(quick, "completed").await["result"], json!({ "n": [1, null] }));
    let status: String =
        scene.shop.ask(&format!("select status from postrider.executions where id = {long}")).await;
    assert_eq!(status, "running", "its time to live does not count any more");
    end.notify_one();
    assert_eq!(scene.ended(long, "completed").await["result"], json!({ "waited": true }));

    // Ten megabytes there and back, and not one byte more than the limit.
    let large =
        scene.submit("'echo', jsonb_build_object('text', repeat('x', 10 * 1024 * 1024))").await;
    let text = scene.ended(large, "completed").await["result"]["text"].take();
    assert_eq!(text.as_str().unwrap().len(), 10 * 1024 * 1024);
    scene.shop.execute("select postrider.set_setting('max_payload_size', '1048576')").await;
    let refused = scene
        .shop
        .refusal("select postrider.submit_execution('echo', to_jsonb(repeat('x', 1048575)))")
        .await;
    assert_eq!(refused, "22023");
    let limit = scene.submit("'echo', to_jsonb(repeat('x', 1048574))").await;
    scene.ended(limit, "completed").await;

    let (summary, troubles) = worker.stop().await;
    assert_eq!((summary.completed, troubles), (4, vec![]));
    let dead: i64 = scene.shop.ask("select count(*) from postrider.execution_dead_letter").await;
    assert_eq!(dead, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_in_time_completes_whatever_it_takes_by_postgresql() {
    what_is_taken_in_time_completes_whatever_it_takes(Carrier::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_in_time_completes_whatever_it_takes_by_rabbitmq() {
    let impatient =
        Options::default().set("consumer_timeout", 6000).set("channel_tick_interval", 200);
    let broker = tokio::task::spawn_blocking(|| PrivateRabbitmq::start(impatient));
    let broker = broker.await.unwrap().unwrap();
    what_is_taken_in_time_completes_whatever_it_takes(Carrier::Private(broker)).await;
}

async fn who_is_not_there_and_who_dies_is_found_out(carrier: Carrier) {
    let scene = Scene::open(carrier, &[("worker_queue_ttl_ms", "2000")]).await;

    // Nobody: it fails when its time is over.
    let nobody = scene.submit("'resize', p_worker => 'nobody'").await;
    let failed = scene.ended(nobody, "failed").await;
    assert_eq!(failed["reason"], "queue_timeout");
    assert_eq!(failed["error"]["error"], "Worker queue TTL expired");
    assert_eq!(
        failed["error"]["message"],
        "Worker did not process execution within configured TTL"
    );
    let waited: f64 = scene
        .shop
        .ask(&format!(
            "select extract(epoch from ended_at - created_at)::float8
            from postrider.executions where id = {nobody}"
        ))
        .await;
    assert!(waited >= 2.0, "{waited}");

    // Killed: what it was running is retried by another one, or has failed, and says why.
    scene.shop.execute("select postrider.set_setting('worker_queue_ttl_ms', '300000')").await;
    let first = scene.process("w1", "sleep 1000").await;
    let retried = scene.submit("'resize', p_max_retries => 1").await;
    scene
        .shop
        .until(&format!("select status = 'running' from postrider.executions where id = {retried}"))
        .await;
    // It has room for one: these wait, one for it alone.
    let alone = scene.submit("'resize', p_worker => 'w1'").await;
    assert!(first.sigkill());
    let _second = scene.process("w2", "cat").await;
    let ended = scene.ended(retried, "completed").await;
    assert_eq!(
        (&ended["worker"], &ended["attempt"], &ended["retry_reason"]),
        (&json!("w2"), &json!(2), &json!("worker_heartbeat_stale"))
    );
    let status: String = scene
        .shop
        .ask(&format!("select status from postrider.executions where id = {alone}"))
        .await;
    assert!(["requested", "scheduled"].contains(&status.as_str()), "{status}");
    // It comes back, and has what waited for it.
    let third = scene.process("w1", "cat").await;
    let ended = scene.ended(alone, "completed").await;
    assert_eq!((&ended["worker"], &ended["attempt"]), (&json!("w1"), &json!(1)));

    let failing = scene.submit("'resize', p_worker => 'w1'").await;
    scene.ended(failing, "completed").await;
    assert!(third.sigkill());
    let fourth = scene.process("w3", "sleep 1000").await;
    let lost = scene.submit("'resize', p_worker => 'w3'").await;
    scene
        .shop
        .until(&format!("select status = 'running' from postrider.executions where id = {lost}"))
        .await;
    assert!(fourth.sigkill());
    let failed = scene.ended(lost, "failed").await;
    assert_eq!(
        (&failed["reason"], &failed["worker"]),
        (&json!("worker_heartbeat_stale"), &json!("w3"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_there_and_who_dies_is_found_out_by_postgresql() {
    who_is_not_there_and_who_dies_is_found_out(Carrier::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_there_and_who_dies_is_found_out_by_rabbitmq() {
    let host = tokio::task::spawn_blocking(virtual_host).await.unwrap().unwrap();
    who_is_not_there_and_who_dies_is_found_out(Carrier::Shared(host)).await;
}
