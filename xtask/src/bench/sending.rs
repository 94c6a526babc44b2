//! `send` and `send_batch` against plain inserts.

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::types::ToSql;

use super::clients::{Clients, Commit, Json};
use super::compare::{Comparison, alternate};
use super::report::{Line, Target, per_second};
use super::stand::{Database, Stand};

const SLICE: Duration = Duration::from_millis(1500);
const BATCH_SIZE: usize = 1_000;
/// What a session costs at first (plans, caches) belongs to neither side.
const WARM_UP: Duration = Duration::from_millis(300);

const SEND: &str = "select postrider.send($1, $2)";
const SEND_BATCH: &str = "select postrider.send_batch($1, $2)";

/// Single messages, each in its own transaction, by 1 and by 16 clients.
pub async fn single(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let database = prepared(stand, "single").await?;
    let mut lines = Vec::new();
    for (commit, target) in
        [(Commit::Waits, Target::AtLeast(0.75)), (Commit::DoesNotWait, Target::None)]
    {
        for client_count in [1, 16] {
            let compared = compare_single(&database, client_count, commit, time / 2).await?;
            let clients = if client_count == 1 { "1 client" } else { "16 clients" };
            let suffix = match commit {
                Commit::Waits => "",
                Commit::DoesNotWait => ", `synchronous_commit = off` (what it costs in CPU time)",
            };
            lines.push(Line {
                what: format!("single `send`, {clients}{suffix}"),
                measured: per_second(compared.ours),
                comparison: format!("plain INSERT: {}", per_second(compared.theirs)),
                value: compared.ratio,
                target,
            });
        }
    }
    database.remove().await?;
    Ok(lines)
}

/// Batches of 1,000 by one client.
pub async fn batch(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let database = prepared(stand, "batch").await?;
    let (lane, targets) = row();
    let payloads = vec![Json::payload(); BATCH_SIZE];
    let plain = include_str!("plain_insert_many.sql");
    let sides = [
        Clients::open(&database, 1, Commit::Waits, SEND_BATCH).await?,
        Clients::open(&database, 1, Commit::Waits, plain).await?,
    ];
    let ours: [&(dyn ToSql + Sync); 2] = [&"bench", &payloads];
    let theirs: [&(dyn ToSql + Sync); 3] = [&lane, &targets, &payloads];
    let compared = compare(&database, &sides, &ours, &theirs, time / 2).await?;
    database.remove().await?;
    let rate = |batches: f64| per_second(batches * BATCH_SIZE as f64);
    Ok(vec![Line {
        what: "`send_batch` of 1,000".to_owned(),
        measured: rate(compared.ours),
        comparison: format!("INSERT … SELECT FROM unnest(payloads): {}", rate(compared.theirs)),
        value: compared.ratio,
        target: Target::AtLeast(0.75),
    }])
}

async fn prepared<'a>(stand: &'a Stand, name: &str) -> Result<Database<'a>> {
    let database = stand.database(name).await?;
    database.create_discard("bench").await?;
    database.client.batch_execute(include_str!("plain.sql")).await?;
    Ok(database)
}

/// What the plain row holds besides the payload: the same as the message.
fn row() -> (i16, Vec<i32>) {
    (0, vec![1])
}

async fn compare_single(
    database: &Database<'_>,
    client_count: usize,
    commit: Commit,
    time: Duration,
) -> Result<Comparison> {
    let (lane, targets) = row();
    let payload = Json::payload();
    let sides = [
        Clients::open(database, client_count, commit, SEND).await?,
        Clients::open(database, client_count, commit, include_str!("plain_insert.sql")).await?,
    ];
    let ours: [&(dyn ToSql + Sync); 2] = [&"bench", &payload];
    let theirs: [&(dyn ToSql + Sync); 3] = [&lane, &targets, &payload];
    compare(database, &sides, &ours, &theirs, time).await
}

async fn compare(
    database: &Database<'_>,
    [ours, theirs]: &[Clients; 2],
    our_parameters: &[&(dyn ToSql + Sync)],
    their_parameters: &[&(dyn ToSql + Sync)],
    time: Duration,
) -> Result<Comparison> {
    ours.run(WARM_UP, our_parameters).await?;
    theirs.run(WARM_UP, their_parameters).await?;
    database.checkpoint().await?;
    let pairs = (time.as_secs_f64() / SLICE.as_secs_f64() / 2.0).ceil() as usize;
    alternate(
        pairs.max(3),
        async || Ok(ours.run(SLICE, our_parameters).await?.per_second()),
        async || Ok(theirs.run(SLICE, their_parameters).await?.per_second()),
    )
    .await
}
