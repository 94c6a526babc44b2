//! A delivery in memory: one message on its way to one target.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use postrider_core::id::{EndpointId, Lane, MessageId, Target};

use crate::store::{
    log::{Content, DueDelivery, LogMessage},
    wire::Timestamp,
};

/// A message that was read, shared by its deliveries.
#[derive(Debug)]
pub struct Message {
    pub id: MessageId,
    pub created_at: Timestamp,
    pub content: Content,
    target_count: u32,
    open: AtomicU32,
}

/// Where a delivery came from, which is where its end is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Read from the log, in this segment of this lane.
    Log { lane: Lane, segment: u64 },
    /// A row of `postrider.deferred`, which stays until the delivery ends.
    Deferred,
}

#[derive(Debug, Clone)]
pub struct Delivery {
    pub message: Arc<Message>,
    pub target: Target,
    pub endpoint: EndpointId,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub expires_at: Option<Timestamp>,
    pub source: Source,
    /// The epoch of its shard when it was read: results of another epoch are nobody's.
    pub epoch: i64,
}

impl Message {
    pub fn new(row: LogMessage) -> Arc<Message> {
        let target_count = row.targets.as_slice().len() as u32;
        Arc::new(Message {
            id: row.id,
            created_at: row.created_at,
            content: row.content,
            target_count,
            open: AtomicU32::new(target_count),
        })
    }

    /// Notes that one delivery is over; whether it was the last.
    pub fn close_one(&self) -> bool {
        self.open.fetch_sub(1, Ordering::Relaxed) == 1
    }

    pub fn has_many_targets(&self) -> bool {
        self.target_count > 1
    }
}

impl Delivery {
    pub fn due(row: DueDelivery, epoch: i64) -> Delivery {
        let message = Message {
            id: row.id,
            created_at: row.created_at,
            content: row.content,
            target_count: 1,
            open: AtomicU32::new(1),
        };
        Delivery {
            message: Arc::new(message),
            target: row.target,
            endpoint: row.endpoint,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            expires_at: row.expires_at,
            source: Source::Deferred,
            epoch,
        }
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}
