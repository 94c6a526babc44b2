//! Partitions: made ahead, and dropped when they are old.
//!
//! Runs on a connection of its own, made for the purpose: moving rows out of a default partition may
//! take long, and what a dispatcher lives by must not wait behind it.

use tokio_postgres::Client;

use super::StoreError;

/// How many calls make or drop partitions before the connection is given back. What is left then is
/// found by the next look.
const CALLS: usize = 50;

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Upkeep {
    pub created_count: i32,
    pub dropped_count: i32,
}

/// Prepares a connection for this.
pub async fn prepare(client: &Client) -> Result<(), StoreError> {
    client
        .batch_execute(include_str!("../../../sql/queries/archive/upkeep_session.sql"))
        .await
        .map_err(StoreError::to("prepare the session"))
}

/// Makes the partitions of the coming `months_ahead`, or of as many as usual, for somebody who has asked for it.
pub async fn maintain(client: &Client, months_ahead: Option<i32>) -> Result<i32, StoreError> {
    let sql = include_str!("../../../sql/queries/archive/maintain_archive_partitions.sql");
    let row = client.query_one(sql, &[&months_ahead]).await;
    Ok(row.map_err(StoreError::to("create partitions"))?.get("answer"))
}

/// Makes the partitions that are missing.
async fn make(client: &Client) -> Result<i32, StoreError> {
    let sql = include_str!("../../../sql/queries/archive/make_partitions.sql");
    let row = client.query_one(sql, &[]).await;
    Ok(row.map_err(StoreError::to("create partitions"))?.get("answer"))
}

/// Drops partitions that ended so many months ago, or as long ago as the setting says: as many as can
/// be dropped now, a few at a time.
pub async fn cleanup(client: &Client, retention_months: Option<i32>) -> Result<i32, StoreError> {
    let sql = include_str!("../../../sql/queries/archive/cleanup_old_archive_partitions.sql");
    let mut dropped_count = 0;
    for _ in 0..CALLS {
        let row = client.query_one(sql, &[&retention_months]).await;
        let count: i32 = row.map_err(StoreError::to("drop partitions"))?.get("answer");
        dropped_count += count;
        if count == 0 {
            break;
        }
    }
    Ok(dropped_count)
}

/// Both, as the settings say.
pub async fn upkeep(client: &Client) -> Result<Upkeep, StoreError> {
    prepare(client).await?;
    // Old ones are dropped even if a lock keeps new ones from being made.
    let created = make(client).await;
    let dropped_count = cleanup(client, None).await?;
    Ok(Upkeep { created_count: created?, dropped_count })
}
