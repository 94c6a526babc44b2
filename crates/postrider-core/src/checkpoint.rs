//! What is written down of deliveries before they are attempted, and what is looked for then.

use std::sync::Arc;

use crate::{
    hashing::HashSet,
    id::{Lane, MessageId, Target},
    reader::LaneState,
    snapshot::Xid,
    timestamp::Timestamp,
};

/// Where all owned lanes stand.
#[derive(Debug)]
pub struct Checkpoint {
    pub lanes: Vec<(Lane, LaneState)>,
    /// The oldest transaction that may have left something unfinished.
    pub done_xmin: Xid,
    /// One per owned shard, in their order.
    pub backlogs: Vec<i64>,
}

/// Deliveries that are cancelled before they were attempted.
#[derive(Debug, Default)]
pub struct Cancels {
    pub committed: Arc<HashSet<(MessageId, Target)>>,
    /// Messages of which a cancellation is under way.
    pub under_way: HashSet<MessageId>,
}

/// A waiting delivery that is about to be attempted.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub id: MessageId,
    pub target: Target,
    pub retry_count: u32,
}

/// A waiting delivery that was claimed and is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillWaiting {
    /// By the database's clock, after the claim.
    pub has_expired: bool,
    /// Somebody else has locked it: what came of an attempt could not be recorded.
    pub is_held: bool,
    /// How many retries it has used up. If this or `expires_at` is not as it was claimed, it ended meanwhile, and was
    /// brought back.
    pub retry_count: u32,
    pub expires_at: Option<Timestamp>,
}
