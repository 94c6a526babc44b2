//! What one endpoint costs another: a receiver that fails beside one that works, and a flood.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use postrider_testkit::receiver::{Behaviour, Keep, Receiver};

use super::clients::Json;
use super::compare::{alternate, percentile};
use super::http;
use super::report::{Line, Target, per_second};
use super::stand::{Database, Stand, stop};

const ROUNDS: usize = 5;
const MESSAGE_COUNT: usize = 40_000;
const FLOOD: usize = 500_000;
/// What the flooded endpoint takes: a small part of what comes.
const FLOODED_RATE: u32 = 1_000;
const SINGLES: usize = 400;
const PACE: Duration = Duration::from_millis(25);
const TIMEOUT: Duration = Duration::from_secs(300);

/// A good receiver alone and beside one that refuses half of its requests; single messages behind a
/// flood of half a million.
pub async fn measure(stand: &Stand) -> Result<Vec<Line>> {
    let good = http::receiver()?;
    let bad = Receiver::start_with(
        Behaviour::Fraction { status: 503, share: 0.5, seed: 1 },
        Keep::default(),
    )?;
    let compared = alternate(
        ROUNDS,
        async || deliver(stand, &good, Some(&bad)).await,
        async || deliver(stand, &good, None).await,
    )
    .await?;
    let mut lines = vec![Line {
        what: "to a good receiver while another one answers 503 to half of its requests".to_owned(),
        measured: per_second(compared.ours),
        comparison: format!("alone: {}", per_second(compared.theirs)),
        value: compared.ratio,
        target: Target::Above(0.5),
    }];
    lines.extend(flood(stand).await?);
    Ok(lines)
}

/// How fast `good` gets its messages.
async fn deliver(stand: &Stand, good: &Receiver, bad: Option<&Receiver>) -> Result<f64> {
    let database = stand.database("isolation").await?;
    database.create_http("good", &good.url()).await?;
    send(&database, "good", MESSAGE_COUNT).await?;
    if let Some(bad) = bad {
        database.create_http("bad", &bad.url()).await?;
        send(&database, "bad", MESSAGE_COUNT).await?;
        bad.clear();
    }
    database.checkpoint().await?;
    good.clear();
    let began_at = Instant::now();
    let dispatcher = database.dispatcher()?;
    good.wait_for_accepted(MESSAGE_COUNT, TIMEOUT).await?;
    let rate = MESSAGE_COUNT as f64 / began_at.elapsed().as_secs_f64();
    stop(dispatcher).await?;
    database.remove().await?;
    Ok(rate)
}

async fn send(database: &Database<'_>, endpoint: &str, count: usize) -> Result<()> {
    let sql = "select postrider.send_batch($1, array_fill($2::jsonb, array[$3::integer]))";
    let each = 1_000;
    for _ in 0..count / each {
        let payload = Json::payload();
        database.client.execute(sql, &[&endpoint, &payload, &(each as i32)]).await?;
    }
    Ok(())
}

/// Single messages while another endpoint is flooded, and while its flood waits.
async fn flood(stand: &Stand) -> Result<Vec<Line>> {
    let (good, flooded) = (http::receiver()?, http::receiver()?);
    let database = stand.database("flood").await?;
    database.create_http("good", &good.url()).await?;
    let limited = "select postrider.create_endpoint('flooded', 'http', jsonb_build_object(
        'url', $1::text, 'rate_limit_per_second', $2::integer))";
    database.client.execute(limited, &[&flooded.url(), &(FLOODED_RATE as i32)]).await?;
    let dispatcher = database.ready_dispatcher().await?;
    let url = database.url();
    let flooding = tokio::spawn(async move {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let sql = "select postrider.send_batch('flooded', array_fill($1::jsonb, array[10000]))";
        for _ in 0..FLOOD / 10_000 {
            client.execute(sql, &[&Json::payload()]).await?;
        }
        Ok::<(), anyhow::Error>(())
    });
    flooded.wait_for_accepted(1, TIMEOUT).await?;
    let mut during = Vec::new();
    while !flooding.is_finished() {
        during.extend(singles(&database, &good, 20).await?);
    }
    flooding.await??;
    let behind = singles(&database, &good, SINGLES).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    let line = |when: &str, waits: &[f64], share: f64, name: &str, target: Target| Line {
        what: format!("commit to attempt of a single message {when}, {name}"),
        measured: format!("{:.1} ms", percentile(waits.to_vec(), share)),
        comparison: "–".to_owned(),
        value: percentile(waits.to_vec(), share),
        target,
    };
    let (pours, waits) =
        ("while 500,000 for another endpoint are sent", "while 500,000 for another endpoint wait");
    Ok(vec![
        line(pours, &during, 0.5, "median", Target::BelowMs(200.0)),
        line(pours, &during, 1.0, "longest", Target::None),
        line(waits, &behind, 0.5, "median", Target::BelowMs(200.0)),
        line(waits, &behind, 1.0, "longest", Target::BelowMs(200.0)),
    ])
}

/// From the commit to the arrival of so many messages, in milliseconds.
async fn singles(database: &Database<'_>, good: &Receiver, count: usize) -> Result<Vec<f64>> {
    let before = good.request_count();
    let mut committed: HashMap<i64, Instant> = HashMap::new();
    let mut pace = tokio::time::interval(PACE);
    for _ in 0..count {
        pace.tick().await;
        let send = "select postrider.send('good', '{}')";
        let id: i64 = database.client.query_one(send, &[]).await?.get(0);
        committed.insert(id, Instant::now());
    }
    good.wait_for(before + count, TIMEOUT).await?;
    Ok(good.with_requests(|requests| {
        let wait = |request: &postrider_testkit::receiver::Request| {
            let committed_at = committed.get(&request.id?.0)?;
            Some(request.at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3)
        };
        requests.iter().filter_map(wait).collect()
    }))
}
