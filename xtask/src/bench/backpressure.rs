//! What a send costs while much waits.

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::types::ToSql;

use super::clients::{Clients, Commit, Json, PAYLOAD};
use super::compare::alternate;
use super::report::{Line, Target, per_second};
use super::stand::{Database, Stand};

const DEPTH: usize = 1_000_000;
const SLICE: Duration = Duration::from_millis(1500);
const WARM_UP: Duration = Duration::from_millis(300);

/// Single sends into a log where nothing waits and into one where a million messages do, without
/// waiting for the disk.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let empty = prepared(stand, "empty", 0).await?;
    let full = prepared(stand, "full", DEPTH).await?;
    let send = "select postrider.send('bench', $1)";
    let payload = Json::payload();
    let parameters: [&(dyn ToSql + Sync); 1] = [&payload];
    let at_empty = Clients::open(&empty, 1, Commit::DoesNotWait, send).await?;
    let at_full = Clients::open(&full, 1, Commit::DoesNotWait, send).await?;
    at_empty.run(WARM_UP, &parameters).await?;
    at_full.run(WARM_UP, &parameters).await?;
    full.checkpoint().await?;
    let pairs = (time.as_secs_f64() / SLICE.as_secs_f64() / 2.0).ceil() as usize;
    let compared = alternate(
        pairs.max(3),
        async || Ok(at_full.run(SLICE, &parameters).await?.per_second()),
        async || Ok(at_empty.run(SLICE, &parameters).await?.per_second()),
    )
    .await?;
    empty.remove().await?;
    full.remove().await?;
    Ok(vec![Line {
        what: "single `send` while 1,000,000 messages wait, `synchronous_commit = off`".to_owned(),
        measured: per_second(compared.ours),
        comparison: format!("while nothing waits: {}", per_second(compared.theirs)),
        value: compared.ratio,
        target: Target::AtLeast(0.8),
    }])
}

/// A database where so many messages wait, and twice as many may.
async fn prepared<'a>(stand: &'a Stand, name: &str, depth: usize) -> Result<Database<'a>> {
    let database = stand.database(name).await?;
    database.create_discard("bench").await?;
    let set = format!(
        "select postrider.set_setting('max_queue_size', '{}');
        set bench.payload = '{PAYLOAD}'; set bench.message_count = '{depth}'",
        2 * DEPTH
    );
    database.client.batch_execute(&set).await?;
    database.client.batch_execute(include_str!("fill.sql")).await?;
    Ok(database)
}
