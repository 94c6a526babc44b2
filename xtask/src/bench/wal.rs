//! How much is written ahead for a message, from its transaction until it is done.

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::types::ToSql;

use super::clients::{Clients, Commit, Json};
use super::compare::alternate;
use super::report::{Line, Target};
use super::stand::{Database, Stand, stop};

const ROUNDS: usize = 3;
/// The last checkpoint of a dispatcher follows so long after the last delivery.
const SETTLING: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(300);

/// Messages sent one by one, and by the thousand; a dispatcher runs all the time.
pub async fn measure(stand: &Stand) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (batch_size, batch_count) in [(1, 20_000), (1_000, 200)] {
        let database = stand.database("wal").await?;
        database.create_discard("bench").await?;
        database.client.batch_execute(include_str!("plain.sql")).await?;
        let dispatcher = database.ready_dispatcher().await?;
        let mut sent = 0;
        let compared = alternate(
            ROUNDS,
            async || {
                sent += batch_size * batch_count;
                ours(&database, batch_size, batch_count, sent).await
            },
            async || theirs(&database, batch_size, batch_count).await,
        )
        .await?;
        stop(dispatcher).await?;
        database.remove().await?;
        let sent = if batch_size == 1 { "one by one" } else { "in batches of 1,000" };
        lines.push(Line {
            what: format!("WAL per message from send to finish, sent {sent}"),
            measured: format!("{:.0} bytes", compared.ours),
            comparison: format!("plain INSERT alone: {:.0} bytes", compared.theirs),
            value: compared.ratio,
            target: Target::AtMost(1.3),
        });
    }
    Ok(lines)
}

/// `sent` is how many messages the database will have seen afterwards.
async fn ours(
    database: &Database<'_>,
    batch_size: usize,
    batch_count: usize,
    sent: usize,
) -> Result<f64> {
    let payloads = vec![Json::payload(); batch_size];
    let parameters: [&(dyn ToSql + Sync); 2] = [&"bench", &payloads];
    let single: [&(dyn ToSql + Sync); 2] = [&"bench", &payloads[0]];
    let begin = begin(database).await?;
    if batch_size == 1 {
        repeat(database, "select postrider.send($1, $2)", batch_count, &single).await?;
    } else {
        repeat(database, "select postrider.send_batch($1, $2)", batch_count, &parameters).await?;
    }
    database.wait_for_done(sent as i64, TIMEOUT).await?;
    tokio::time::sleep(SETTLING).await;
    end(database, begin, batch_size * batch_count).await
}

async fn theirs(database: &Database<'_>, batch_size: usize, batch_count: usize) -> Result<f64> {
    let payloads = vec![Json::payload(); batch_size];
    let (lane, targets): (i16, Vec<i32>) = (0, vec![1]);
    let many: [&(dyn ToSql + Sync); 3] = [&lane, &targets, &payloads];
    let single: [&(dyn ToSql + Sync); 3] = [&lane, &targets, &payloads[0]];
    // The dispatcher idles: what it writes meanwhile is on the other side's bill, where it belongs.
    let begin = begin(database).await?;
    if batch_size == 1 {
        repeat(database, include_str!("plain_insert.sql"), batch_count, &single).await?;
    } else {
        repeat(database, include_str!("plain_insert_many.sql"), batch_count, &many).await?;
    }
    end(database, begin, batch_size * batch_count).await
}

/// Runs a statement so many times, each in its own transaction.
pub async fn repeat(
    database: &Database<'_>,
    sql: &str,
    count: usize,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<()> {
    let clients = Clients::open(database, 1, Commit::Waits, sql).await?;
    clients.repeat(count, parameters).await
}

/// The position in the log, in bytes, right after a checkpoint.
pub async fn begin(database: &Database<'_>) -> Result<i64> {
    database.checkpoint().await?;
    position(database).await
}

/// Bytes per message since `begin`.
pub async fn end(database: &Database<'_>, begin: i64, message_count: usize) -> Result<f64> {
    Ok((position(database).await? - begin) as f64 / message_count as f64)
}

async fn position(database: &Database<'_>) -> Result<i64> {
    let sql = "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint";
    Ok(database.client.query_one(sql, &[]).await?.get(0))
}
