//! The doorbell: how a sender wakes a dispatcher that sleeps, without a row and without a lost ring.
//!
//! A sender takes the shared lock of its shard until its transaction ends; it fails only while the
//! shard's dispatcher sleeps on the exclusive lock, and then the sender notifies. A dispatcher that
//! gets all exclusive locks knows that no sender is in flight: one more tick, and it may sleep.

use postrider_core::id::Shard;

use super::{StoreError, bounded::Bounded};

/// The locks, on a connection whose session they belong to.
pub struct Doorbell {
    client: Bounded,
    /// Whether we would hear it; else nobody shall ring.
    pub is_audible: bool,
}

impl Doorbell {
    /// Listens for rings on the connection, if it can.
    pub async fn open(client: Bounded, is_listening: bool) -> Result<Doorbell, StoreError> {
        if is_listening {
            client
                .batch_execute(include_str!("../../../sql/queries/dispatch/listen.sql"))
                .await
                .map_err(StoreError::to("listen"))?;
        }
        Ok(Doorbell { client, is_audible: is_listening })
    }

    /// Locks the doorbells of all these shards, or none.
    pub async fn lock(&self, shards: &[Shard]) -> Result<bool, StoreError> {
        let shards: Vec<i32> = shards.iter().map(|shard| i32::from(shard.0)).collect();
        let sql = include_str!("../../../sql/queries/dispatch/doorbell_lock.sql");
        let row = self
            .client
            .query_one(sql, &[&shards])
            .await
            .map_err(StoreError::to("lock the doorbell"))?;
        let is_locked = row.get::<_, i64>("got") == shards.len() as i64;
        if !is_locked {
            self.unlock().await?;
        }
        Ok(is_locked)
    }

    pub async fn unlock(&self) -> Result<(), StoreError> {
        self.client
            .batch_execute(include_str!("../../../sql/queries/dispatch/doorbell_unlock.sql"))
            .await
            .map_err(StoreError::to("unlock the doorbell"))
    }
}
