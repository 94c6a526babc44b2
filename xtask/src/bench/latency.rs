//! From the commit of a message to the arrival of its attempt.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::Client;

use super::clients::Json;
use super::compare::percentile;
use super::http;
use super::report::{Line, Target};
use super::stand::{Stand, stop};
use postrider_testkit::receiver::Receiver;

const PER_SECOND: f64 = 100.0;
const TIME: Duration = Duration::from_secs(20);
/// How often the ways to commit take turns, and for how long each.
const ROUNDS: usize = 5;
const TURN: Duration = Duration::from_secs(4);
/// A dispatcher that has just started still looks around.
const WARM_UP: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(60);

/// 100 messages a second at random moments, over HTTP on loopback.
pub async fn measure(stand: &Stand) -> Result<Vec<Line>> {
    let receiver = http::receiver()?;
    let database = stand.database("latency").await?;
    database.create_http("bench", &receiver.url()).await?;
    let dispatcher = database.ready_dispatcher().await?;
    tokio::time::sleep(WARM_UP).await;
    let client = database.connect().await?;
    let latencies = send_for(&client, &receiver, TIME).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    let line = |name: &str, share: f64, bound: f64| Line {
        what: format!("commit to attempt at 100 messages/s, {name}"),
        measured: format!("{:.2} ms", percentile(latencies.clone(), share)),
        comparison: "–".to_owned(),
        value: percentile(latencies.clone(), share),
        target: Target::BelowMs(bound),
    };
    Ok(vec![line("median", 0.5, 5.0), line("p99", 0.99, 50.0)])
}

/// The same from senders that wait for the disk and from some that do not, with the dispatcher waiting for
/// it and not: the ways take turns.
pub async fn measure_durable(stand: &Stand) -> Result<Vec<Line>> {
    let receiver = http::receiver()?;
    let database = stand.database("durable").await?;
    database.create_http("bench", &receiver.url()).await?;
    let dispatcher = database.ready_dispatcher().await?;
    let client = database.connect().await?;
    let mut latencies: HashMap<(&str, &str), Vec<f64>> = HashMap::new();
    for _ in 0..ROUNDS {
        for before_durable in ["off", "on"] {
            let set = "select postrider.set_setting('deliver_before_durable', $1)";
            client.query_one(set, &[&before_durable]).await?;
            tokio::time::sleep(WARM_UP).await;
            for sender in ["on", "off"] {
                client.batch_execute(&format!("set synchronous_commit = {sender}")).await?;
                let taken = send_for(&client, &receiver, TURN).await?;
                latencies.entry((sender, before_durable)).or_default().extend(taken);
            }
        }
    }
    stop(dispatcher).await?;
    database.remove().await?;
    let mut lines = Vec::new();
    for (sender, name) in [("on", "waits for the disk"), ("off", "does not wait")] {
        for (share, of) in [(0.5, "median"), (0.99, "p99")] {
            let at = |before: &str| percentile(latencies[&(sender, before)].clone(), share);
            lines.push(Line {
                what: format!("commit to attempt, sender {name}, {of}"),
                measured: format!("{:.2} ms", at("off")),
                comparison: format!("delivered before durable: {:.2} ms", at("on")),
                value: at("off") / at("on"),
                target: Target::None,
            });
        }
    }
    Ok(lines)
}

/// Sends at random moments for so long; how many milliseconds after its commit each message arrived.
async fn send_for(client: &Client, receiver: &Receiver, time: Duration) -> Result<Vec<f64>> {
    receiver.clear();
    let send = client.prepare("select postrider.send($1, $2)").await?;
    let payload = Json::payload();
    let mut dice = fastrand::Rng::with_seed(1);
    let mut committed: HashMap<i64, Instant> = HashMap::new();
    let mut due_at = Instant::now();
    let ends_at = due_at + time;
    while due_at < ends_at {
        tokio::time::sleep_until(due_at.into()).await;
        let row = client.query_one(&send, &[&"bench", &payload]).await?;
        committed.insert(row.get(0), Instant::now());
        // Exponential gaps: no rhythm that a poll could fall into.
        due_at += Duration::from_secs_f64(-(1.0 - dice.f64()).ln() / PER_SECOND);
    }
    receiver.wait_for(committed.len(), TIMEOUT).await?;
    Ok(receiver.with_requests(|requests| {
        let latency = |request: &postrider_testkit::receiver::Request| {
            let committed_at = committed.get(&request.id?.0)?;
            Some(request.at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3)
        };
        requests.iter().filter_map(latency).collect()
    }))
}
