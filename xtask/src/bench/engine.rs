//! What the engine does alone: the log is full and the transport accepts at once.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::classic::{Delivery, Workers};
use super::clients::{Json, PAYLOAD};
use super::compare::alternate;
use super::report::{Line, Target, per_second};
use super::stand::{Database, Stand, stop};

const ROUNDS: usize = 3;
const MESSAGE_COUNT: i32 = 1_000_000;
/// The classic design gets a part of them in each round: its rate does not depend on how many wait.
const CLASSIC_COUNT: i32 = MESSAGE_COUNT / 2;
const ENDPOINT_COUNT: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(900);

/// With one endpoint and with several.
pub async fn measure(stand: &Stand) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for endpoint_count in [1, ENDPOINT_COUNT] {
        let compared = alternate(
            ROUNDS,
            async || ours(stand, endpoint_count).await,
            async || theirs(stand).await,
        )
        .await?;
        let endpoints = if endpoint_count == 1 { "one endpoint" } else { "8 endpoints" };
        lines.push(Line {
            what: format!("engine alone, 1,000,000 waiting for {endpoints}"),
            measured: per_second(compared.ours),
            comparison: format!("classic design, 2 workers: {}", per_second(compared.theirs)),
            value: compared.ratio,
            target: Target::AtLeast(6.0),
        });
    }
    Ok(lines)
}

/// Fills the log with messages for all endpoints in turn.
pub async fn fill(database: &Database<'_>, message_count: i32) -> Result<()> {
    let client = database.connect().await?;
    let set = "select set_config('bench.payload', $1, false), set_config('bench.message_count', $2, false)";
    client.execute(set, &[&PAYLOAD, &message_count.to_string()]).await?;
    client.batch_execute("set synchronous_commit = off").await?;
    client.batch_execute(include_str!("fill.sql")).await?;
    Ok(())
}

/// From the start of the process until everything is on record.
async fn ours(stand: &Stand, endpoint_count: usize) -> Result<f64> {
    let database = stand.database("engine").await?;
    for number in 0..endpoint_count {
        database.create_discard(&format!("bench-{number}")).await?;
    }
    fill(&database, MESSAGE_COUNT).await?;
    database.checkpoint().await?;
    let began_at = Instant::now();
    let dispatcher = database.dispatcher()?;
    let ended_at = database.wait_for_done(MESSAGE_COUNT.into(), TIMEOUT).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    Ok(f64::from(MESSAGE_COUNT) / (ended_at - began_at).as_secs_f64())
}

async fn theirs(stand: &Stand) -> Result<f64> {
    let database = stand.database("classic").await?;
    database.client.batch_execute(include_str!("classic.sql")).await?;
    let fill = include_str!("classic_fill.sql");
    database.client.execute(fill, &[&1, &MESSAGE_COUNT, &Json::payload()]).await?;
    database.client.batch_execute("analyze classic.queue").await?;
    database.checkpoint().await?;
    let began_at = Instant::now();
    let workers = Workers::start(&database, &Delivery::Discard);
    workers.wait_for(CLASSIC_COUNT.into(), TIMEOUT).await?;
    let rate = workers.delivered_count() as f64 / began_at.elapsed().as_secs_f64();
    workers.stop()?;
    database.remove().await?;
    Ok(rate)
}
