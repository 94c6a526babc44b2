//! What the AMQP client and the broker do alone with as many messages of the same size.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Confirmation};
use postrider_testkit::rabbitmq::client::Client;
use serde_json::json;
use tokio::sync::oneshot;

use super::workers::CAPACITY;

const QUEUE: &str = "bench";
/// As the dispatcher has it: how many are published together, and how many such batches at a time.
const BATCH: usize = 500;
const BATCHES: usize = 4;
const TIMEOUT: Duration = Duration::from_secs(60);

/// A publisher on a virtual host of its own.
pub struct Bare {
    url: String,
    publisher: Client,
}

impl Bare {
    pub async fn open(url: &str) -> Result<Self> {
        let publisher = Client::connect(url).await?;
        publisher.declare_queue(QUEUE, FieldTable::default()).await?;
        Ok(Self { url: url.to_owned(), publisher })
    }

    /// How many messages a second are published alone, and published and consumed at the same time.
    pub async fn measure(&self, message_count: usize) -> Result<(f64, f64)> {
        let began_at = Instant::now();
        self.publish(message_count).await?;
        let published = message_count as f64 / began_at.elapsed().as_secs_f64();
        let (ready, _is_ready) = oneshot::channel();
        consume(&self.url, message_count, ready).await?;
        Ok((published, self.move_all(message_count).await?))
    }

    /// The consumer is there first, on a thread of its own as a worker is.
    async fn move_all(&self, message_count: usize) -> Result<f64> {
        let (ready, is_ready) = oneshot::channel();
        let url = self.url.clone();
        let consumer = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(consume(&url, message_count, ready))
        });
        // An error shows when the thread is joined.
        let is_there = is_ready.await.is_ok();
        let began_at = Instant::now();
        if is_there {
            self.publish(message_count).await?;
        }
        let joined = tokio::task::spawn_blocking(move || consumer.join()).await?;
        joined.ok().context("the consumer panicked")??;
        Ok(message_count as f64 / began_at.elapsed().as_secs_f64())
    }

    /// Persistent, mandatory, and confirmed.
    async fn publish(&self, message_count: usize) -> Result<()> {
        let starts = (0..message_count).step_by(BATCH);
        stream::iter(starts.map(|start| async move {
            let end = message_count.min(start + BATCH);
            try_join_all((start..end).map(|number| self.publish_one(number))).await
        }))
        .buffer_unordered(BATCHES)
        .try_for_each(|_| async { Ok(()) })
        .await
    }

    async fn publish_one(&self, number: usize) -> Result<()> {
        let (body, properties) = envelope(number);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let channel = &self.publisher.channel;
        let confirmed = channel
            .basic_publish("".into(), QUEUE.into(), options, &body, properties)
            .await?
            .await?;
        ensure!(matches!(confirmed, Confirmation::Ack(None)), "not taken: {confirmed:?}");
        Ok(())
    }
}

/// So many messages, each acknowledged by itself.
async fn consume(url: &str, message_count: usize, ready: oneshot::Sender<()>) -> Result<()> {
    let client = Client::connect(url).await?;
    client.channel.basic_qos(CAPACITY, BasicQosOptions::default()).await?;
    let options = BasicConsumeOptions::default();
    let mut consumer = client
        .channel
        .basic_consume(QUEUE.into(), "".into(), options, FieldTable::default())
        .await?;
    // Not everybody waits for it.
    let _ = ready.send(());
    for _ in 0..message_count {
        let delivery = tokio::time::timeout(TIMEOUT, consumer.next()).await;
        let delivery = delivery.context("no message came")?.context("the queue is gone")??;
        delivery.acker.ack(BasicAckOptions::default()).await?;
    }
    client.connection.close(200, "".into()).await?;
    Ok(())
}

/// What the dispatcher publishes for an execution.
fn envelope(number: usize) -> (Vec<u8>, BasicProperties) {
    let message_id = format!("{}-{}", 10_000 + number, 30_000 + number);
    let body = json!({
        "message_id": message_id,
        "correlation_id": null,
        "message_type": "execution.dispatch",
        "version": 1,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "headers": {},
        "payload": {
            "execution_id": 10_000 + number,
            "fence": 30_000 + number,
            "action": "bench",
            "attempt": 1,
        },
    });
    let properties = BasicProperties::default()
        .with_message_id(message_id.into())
        .with_type("execution.dispatch".into())
        .with_timestamp(1_767_225_600)
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_expiration("3600000".into());
    (body.to_string().into_bytes(), properties)
}
