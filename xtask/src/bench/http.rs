//! Delivery over HTTP on loopback against the bare client.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use postrider_testkit::receiver::{Behaviour, Keep, Receiver};

use super::clients::PAYLOAD;
use super::compare::alternate;
use super::engine;
use super::report::{Line, Target, per_second};
use super::stand::{Stand, stop};

const ROUNDS: usize = 5;
const MESSAGE_COUNT: i32 = 100_000;
const IN_FLIGHT: i32 = 64;
const TIMEOUT: Duration = Duration::from_secs(300);

/// The bare client: the library and the settings of our own transport, and the same headers.
#[derive(Debug, Clone)]
pub struct Poster {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Poster {
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Posts a message and reads the answer; anything but a success is an error.
    pub async fn post(&self, url: &str, id: i64, body: Bytes) -> Result<()> {
        let request = Request::post(url)
            .header("content-type", "application/json")
            .header("user-agent", "Postrider/bench")
            .header("webhook-id", format!("msg_{id}"))
            .header("webhook-timestamp", "1700000000")
            .header("postrider-attempt", "1")
            .body(Full::new(body))?;
        let response = self.client.request(request).await.context("could not post")?;
        let status = response.status();
        ensure!(status.is_success(), "the receiver answered {status}");
        response.into_body().collect().await?;
        Ok(())
    }
}

/// A receiver that accepts everything and keeps only what it needs to count.
pub fn receiver() -> Result<Receiver> {
    Receiver::start_with(Behaviour::Status(200), Keep::default())
}

/// 100,000 messages that were sent in batches, against as many bare requests.
pub async fn measure(stand: &Stand) -> Result<Vec<Line>> {
    let receiver = receiver()?;
    let compared =
        alternate(ROUNDS, async || ours(stand, &receiver).await, async || theirs(&receiver).await)
            .await?;
    Ok(vec![Line {
        what: "end to end over HTTP on loopback, 100,000 waiting".to_owned(),
        measured: per_second(compared.ours),
        comparison: format!("bare client, 64 in flight: {}", per_second(compared.theirs)),
        value: compared.ratio,
        target: Target::AtLeast(0.8),
    }])
}

async fn ours(stand: &Stand, receiver: &Receiver) -> Result<f64> {
    let database = stand.database("http").await?;
    database.create_http("bench", &receiver.url()).await?;
    engine::fill(&database, MESSAGE_COUNT).await?;
    database.checkpoint().await?;
    receiver.clear();
    let began_at = Instant::now();
    let dispatcher = database.dispatcher()?;
    let ended_at = database.wait_for_done(MESSAGE_COUNT.into(), TIMEOUT).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    ensure!(receiver.request_count() == MESSAGE_COUNT as usize, "a message was sent twice");
    Ok(f64::from(MESSAGE_COUNT) / (ended_at - began_at).as_secs_f64())
}

/// As many threads as our dispatcher has: one per core.
async fn theirs(receiver: &Receiver) -> Result<f64> {
    receiver.clear();
    let url = receiver.url();
    let post_all = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let began_at = Instant::now();
        runtime.block_on(async {
            let poster = Poster::new();
            let tasks = (0..IN_FLIGHT).map(|number| {
                let (poster, url) = (poster.clone(), url.clone());
                tokio::spawn(async move {
                    for id in (number..MESSAGE_COUNT).step_by(IN_FLIGHT as usize) {
                        poster
                            .post(&url, id.into(), Bytes::from_static(PAYLOAD.as_bytes()))
                            .await?;
                    }
                    Ok::<(), anyhow::Error>(())
                })
            });
            for result in try_join_all(tasks).await? {
                result?;
            }
            Ok::<(), anyhow::Error>(())
        })?;
        Ok::<f64, anyhow::Error>(f64::from(MESSAGE_COUNT) / began_at.elapsed().as_secs_f64())
    };
    // A runtime inside a runtime needs a thread of its own.
    tokio::task::spawn_blocking(post_all).await?
}
