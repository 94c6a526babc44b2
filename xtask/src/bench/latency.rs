//! From the commit of a message to the arrival of its attempt.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::clients::Json;
use super::compare::percentile;
use super::http;
use super::report::{Line, Target};
use super::stand::{Stand, stop};

const PER_SECOND: f64 = 100.0;
const TIME: Duration = Duration::from_secs(20);
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
    let send = client.prepare("select postrider.send($1, $2)").await?;
    let payload = Json::payload();
    let mut dice = fastrand::Rng::with_seed(1);
    let mut committed: HashMap<i64, Instant> = HashMap::new();
    let mut due_at = Instant::now();
    let ends_at = due_at + TIME;
    while due_at < ends_at {
        tokio::time::sleep_until(due_at.into()).await;
        let row = client.query_one(&send, &[&"bench", &payload]).await?;
        committed.insert(row.get(0), Instant::now());
        // Exponential gaps: no rhythm that a poll could fall into.
        due_at += Duration::from_secs_f64(-(1.0 - dice.f64()).ln() / PER_SECOND);
    }
    receiver.wait_for(committed.len(), TIMEOUT).await?;
    let latencies: Vec<f64> = receiver.with_requests(|requests| {
        let latency = |request: &xtask::receiver::Request| {
            let committed_at = committed.get(&request.id?.0)?;
            Some(request.at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3)
        };
        requests.iter().filter_map(latency).collect()
    });
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
