//! A delivery in memory: one message on its way to one target.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use crate::{
    chains::Link,
    id::{EndpointId, Lane, MessageId, Priority, Shard, Target},
    message::{Content, LogMessage, Payload, Terms},
    timestamp::Timestamp,
    waiting::DueDelivery,
};

/// A message that was read, shared by its deliveries.
#[derive(Debug)]
pub struct Message {
    pub id: MessageId,
    pub terms: Terms,
    pub content: Content,
    pub has_many_targets: bool,
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

/// One delivery, which is a token: it is moved from hand to hand, and whoever has it last says what became of it (see
/// [`Settlement`](super::settlement::Settlement)).
#[derive(Debug)]
#[must_use]
pub struct Delivery {
    pub message: Arc<Message>,
    pub target: Target,
    pub endpoint: EndpointId,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub source: Source,
    /// When a waiting delivery was claimed: others go by that for a while only.
    pub claimed_at: Option<Instant>,
    /// The epoch of its shard when it was read: results of another epoch are nobody's.
    pub epoch: i64,
}

impl Message {
    pub fn new(row: LogMessage) -> Arc<Message> {
        let target_count = row.targets.as_slice().len() as u32;
        Arc::new(Message {
            id: row.id,
            terms: row.terms,
            content: row.content,
            has_many_targets: target_count > 1,
            open: AtomicU32::new(target_count),
        })
    }

    /// Notes that one delivery is over; whether it was the last of those that were read with it.
    pub fn close_one(&self) -> bool {
        self.open.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

impl Delivery {
    pub fn due(row: DueDelivery, epoch: i64) -> Delivery {
        let message = Message {
            id: row.id,
            terms: row.terms,
            content: row.content,
            has_many_targets: row.has_many_targets,
            open: AtomicU32::new(1),
        };
        Delivery {
            message: Arc::new(message),
            target: row.target,
            endpoint: row.endpoint,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            source: Source::Deferred,
            claimed_at: None,
            epoch,
        }
    }

    /// What names it: each of its message's deliveries has a target of its own.
    pub fn place(&self) -> (MessageId, Target) {
        (self.message.id, self.target)
    }

    pub fn shard(&self) -> Shard {
        self.message.id.lane().shard()
    }

    pub fn priority(&self) -> Priority {
        self.message.terms.priority
    }

    /// Its place in the chain of its ordering key.
    pub fn link(&self) -> Option<Link> {
        let key = Arc::clone(self.message.terms.ordering_key.as_ref()?);
        Some(Link { key, id: self.message.id, endpoint: self.endpoint })
    }

    /// KiB that are in memory only while it is sent: its payload, unless that came along with the message.
    pub fn weight(&self) -> usize {
        match self.message.content.payload {
            Payload::Stored { bytes } => bytes as usize / 1024 + 1,
            _ => 0,
        }
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.message.terms.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Until when it must not be attempted, if that is not over.
    pub fn scheduled_after(&self, now: Timestamp) -> Option<Timestamp> {
        self.message.terms.scheduled_at.filter(|at| *at > now)
    }
}
