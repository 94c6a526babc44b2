//! Deliveries that wait, as they are found in the table of what waits.

use crate::{
    chains::Link,
    id::{EndpointId, MessageId, Shard, Target},
    message::{Content, Terms},
    timestamp::Timestamp,
};

/// A place in the order in which what waits expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpiryPlace {
    pub expires_at: Timestamp,
    pub id: MessageId,
    pub target: Target,
}

impl ExpiryPlace {
    /// Before everything.
    pub const FIRST: ExpiryPlace =
        ExpiryPlace { expires_at: Timestamp(i64::MIN), id: MessageId(0), target: Target(i32::MIN) };
}

/// What a look at a page of what has expired has found.
#[derive(Debug)]
pub struct ExpiredPage {
    /// What may be ended.
    pub rows: Vec<DueDelivery>,
    /// Where the page ends, if there may be more behind it.
    pub next: Option<ExpiryPlace>,
}

/// A waiting delivery that is due.
#[derive(Debug, Clone)]
pub struct DueDelivery {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub run_at: Timestamp,
    /// Behind another one of its ordering key, as far as the table knows.
    pub is_blocked: bool,
    /// Whether the message has other targets, too.
    pub has_many_targets: bool,
    /// `expires_at` is the delivery's own: a redriven one does not expire.
    pub terms: Terms,
    pub content: Content,
}

/// How many deliveries wait for a target in a shard, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingCount {
    pub shard: Shard,
    pub target: Target,
    pub count: i64,
    /// When the oldest of their messages was sent, but that of what is scheduled for later counts from
    /// then on.
    pub oldest: Timestamp,
}

/// What a former owner's waiting deliveries amount to, in the shards that were taken over.
#[derive(Debug, Default)]
pub struct Stored {
    /// The ordering keys among them, and the first delivery of each at each endpoint.
    pub links: Vec<Link>,
    /// How many there are.
    pub counts: Vec<WaitingCount>,
}
