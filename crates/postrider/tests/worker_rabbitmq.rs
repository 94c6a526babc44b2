//! The worker of the crate for applications, on the carrier RabbitMQ. The test is the dispatcher: it
//! declares the queue, and publishes what the database has scheduled.

use std::time::Duration;

use crate::shop::Shop;
use crate::shop::serving::LONG;
use lapin::types::{AMQPValue, FieldTable};
use postrider_client::{Error, Summary, Worker};
use postrider_testkit::rabbitmq::client::Client;
use postrider_testkit::rabbitmq::shared::{OwnHost, virtual_host};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

struct Scene {
    shop: Shop,
    host: OwnHost,
    client: Client,
}

impl Scene {
    async fn open() -> Self {
        let shop = Shop::open_migrated().await;
        shop.execute(
            "create role app login in role postrider_application;
            select postrider.set_setting('worker_heartbeat_interval', '1');
            select postrider.set_setting('worker_stale_after', '3600')",
        )
        .await;
        let host = tokio::task::spawn_blocking(virtual_host).await.unwrap().unwrap();
        let client = Client::connect(&host.url()).await.unwrap();
        client.declare_queue("dead", FieldTable::default()).await.unwrap();
        Self { shop, host, client }
    }

    fn start(&self, begun: mpsc::UnboundedSender<i64>) -> Running {
        let (stop, stopped) = oneshot::channel();
        let worker = Worker::builder()
            .url(&self.shop.postgres.url_as("app", "shop"))
            .rabbitmq(self.host.url())
            .name("w1")
            .capacity(2)
            .shutdown_timeout(Duration::ZERO)
            .stop_grace(Duration::from_millis(100))
            .on_trouble(|trouble| eprintln!("{trouble}"))
            .handle("quick", |execution| async move { Ok(json!(execution.id())) })
            .handle("endless", move |execution| {
                let _ = begun.send(execution.id());
                std::future::pending()
            })
            .build()
            .unwrap();
        let stopped = async move {
            let _ = stopped.await;
        };
        Running { stop, task: tokio::spawn(worker.run_until(stopped)) }
    }

    async fn worker_id(&self) -> i32 {
        self.shop.until("select count(*) = 1 from postrider.workers").await;
        self.shop.ask("select id from postrider.workers where name = 'w1'").await
    }

    async fn declare(&self, worker: i32) {
        let mut arguments = FieldTable::default();
        arguments.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
        arguments.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString("dead".into()));
        self.client.declare_queue(&queue(worker), arguments).await.unwrap();
    }

    async fn submit(&self, action: &str) -> i64 {
        self.shop.ask(&format!("select postrider.submit_execution('{action}')")).await
    }

    /// Schedules what waits, and publishes it so often.
    async fn dispatch(&self, copies: usize) {
        let client = self.shop.client().await;
        let sql = "select execution_id, fence, attempt, action, worker_id
            from postrider.dispatch_executions(100)";
        for row in client.query(sql, &[]).await.unwrap() {
            let (id, fence): (i64, i64) = (row.get(0), row.get(1));
            let (attempt, action): (i32, String) = (row.get(2), row.get(3));
            let body = json!({
                "message_id": format!("{id}-{fence}"), "correlation_id": null,
                "message_type": "execution.dispatch", "version": 1,
                "timestamp": "2030-01-01T00:00:00Z", "headers": {},
                "payload": {
                    "execution_id": id, "fence": fence, "action": action, "attempt": attempt,
                },
            });
            for _ in 0..copies {
                let key = queue(row.get(4));
                self.client.publish("", &key, body.to_string().as_bytes()).await.unwrap();
            }
            let note =
                "select postrider.note_published(array[$1::bigint], array[$2::bigint], true)";
            client.execute(note, &[&id, &fence]).await.unwrap();
        }
    }

    async fn until_status(&self, execution: i64, status: &str) {
        let look =
            format!("select status = '{status}' from postrider.executions where id = {execution}");
        self.shop.until(&look).await;
    }

    /// Waits until nothing lies in the worker's queue, taken or not.
    async fn until_empty(&self, worker: i32) {
        let mut pause = tokio::time::interval(Duration::from_millis(50));
        let wait = async {
            loop {
                pause.tick().await;
                let queue = self.host.queue(&queue(worker)).unwrap().unwrap();
                if (queue.ready, queue.unacknowledged) == (0, 0) {
                    return;
                }
            }
        };
        tokio::time::timeout(LONG, wait).await.unwrap();
    }
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Summary, Error>>,
}

impl Running {
    async fn stop(self) -> Summary {
        let _ = self.stop.send(());
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap().unwrap()
    }
}

fn queue(worker: i32) -> String {
    format!("worker.{worker}.executions")
}

#[tokio::test]
async fn executions_come_by_rabbitmq() {
    let scene = Scene::open().await;
    let (sender, mut begun) = mpsc::unbounded_channel();
    let worker = scene.start(sender.clone());
    let id = scene.worker_id().await;
    // Its queue is not there yet: it says that it cannot work, and tries again.
    scene.shop.until("select status = 'error' from postrider.workers").await;
    scene.declare(id).await;
    scene.shop.until("select status = 'active' from postrider.workers").await;

    // A copy of a message is refused by its fence.
    let quick = scene.submit("quick").await;
    scene.dispatch(2).await;
    scene.until_status(quick, "completed").await;
    // What nobody can read is dead-lettered, and holds nothing up.
    scene.client.publish("", &queue(id), b"{\"message_type\": 1}").await.unwrap();
    let next = scene.submit("quick").await;
    scene.dispatch(1).await;
    scene.until_status(next, "completed").await;
    scene.until_empty(id).await;
    let dead = scene.client.get("dead").await.unwrap().unwrap();
    assert_eq!(dead.body, b"{\"message_type\": 1}");

    // A running execution holds no message, outlasts a lost connection, and hears that it is cancelled.
    let endless = scene.submit("endless").await;
    scene.dispatch(1).await;
    assert_eq!(begun.recv().await, Some(endless));
    scene.until_empty(id).await;
    scene.host.close_connections("a test").unwrap();
    let status: String =
        scene.shop.ask(&format!("select postrider.cancel_execution({endless})")).await;
    assert_eq!(status, "cancelling");
    scene.until_status(endless, "cancelled").await;

    let scene = Scene { client: Client::connect(&scene.host.url()).await.unwrap(), ..scene };
    let last = scene.submit("quick").await;
    scene.shop.until("select status = 'active' from postrider.workers").await;
    scene.dispatch(1).await;
    scene.until_status(last, "completed").await;
    // A stop gives back what runs, without an attempt.
    let running = scene.submit("endless").await;
    scene.dispatch(1).await;
    assert_eq!(begun.recv().await, Some(running));
    let summary = worker.stop().await;
    assert_eq!((summary.completed, summary.cancelled, summary.released), (3, 1, 1), "{summary:?}");
    scene.until_status(running, "requested").await;
}
