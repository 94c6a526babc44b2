//! What a message costs in processor time, by two binaries in turn.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use postrider_testkit::child::{children_of, cpu_time};

use super::compare::alternate;
use super::engine::fill;
use super::report::{Line, Target};
use super::stand::{Stand, stop};

const ROUNDS: usize = 15;
const MESSAGE_COUNT: i32 = 300_000;
const TIMEOUT: Duration = Duration::from_secs(300);

pub async fn measure(stand: &Stand, against: &Path) -> Result<Vec<Line>> {
    let compared =
        alternate(ROUNDS, async || used(stand).await, async || used(&stand.with(against)).await)
            .await?;
    Ok(vec![Line {
        what: "processor time per message, server and dispatcher, 300,000 waiting".to_owned(),
        measured: format!("{:.2} µs", compared.ours),
        comparison: format!("the other binary: {:.2} µs", compared.theirs),
        value: compared.ratio,
        target: Target::AtMost(1.05),
    }])
}

/// Microseconds of a processor per message, from the start of the dispatcher until everything is on record. Each
/// binary has a database with its own schema.
async fn used(stand: &Stand) -> Result<f64> {
    let database = stand.database("cost").await?;
    database.create_discard("bench").await?;
    fill(&database, MESSAGE_COUNT).await?;
    database.checkpoint().await?;
    let before = server(stand)?;
    let dispatcher = database.dispatcher()?;
    database.wait_for_done(MESSAGE_COUNT.into(), TIMEOUT).await?;
    let own = cpu_time(dispatcher.pid()).context("the dispatcher has ended")?;
    let server = server(stand)?.saturating_sub(before);
    eprintln!("   dispatcher {own:?}, server {server:?}");
    stop(dispatcher).await?;
    database.remove().await?;
    Ok((own + server).as_secs_f64() * 1e6 / f64::from(MESSAGE_COUNT))
}

/// What the postmaster and its processes have used, those that have ended included.
fn server(stand: &Stand) -> Result<Duration> {
    let postmaster = stand.postgres().pid().context("the server has ended")?;
    let processes = children_of(postmaster).into_iter().chain([postmaster]);
    Ok(processes.filter_map(cpu_time).sum())
}
