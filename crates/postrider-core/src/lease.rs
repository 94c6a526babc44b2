//! What is owned, and what is heard of it.

use std::{collections::BTreeMap, time::Duration};

use uuid::Uuid;

use crate::{
    checkpoint::Claim,
    id::{Lane, Shard},
    reader::LaneState,
};

/// A shard and the fencing token with which it is owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    pub shard: Shard,
    pub epoch: i64,
}

/// The answer to a heartbeat.
#[derive(Debug)]
pub struct Heartbeat {
    /// `false`: the lease has run out, nothing is owned any more.
    pub is_alive: bool,
    pub lease: Duration,
    /// How many shards it should own, so that all dispatchers have equally many.
    pub share: usize,
    /// Shards that nobody owns, or whose owner's lease has run out.
    pub takeable_count: usize,
    pub owned: Vec<Owned>,
    /// The newest sequence number of the log; `None` when the lease has run out.
    pub newest_number: Option<i64>,
    /// The database's clock, in microseconds since 1970.
    pub now_us: i64,
    /// How far this host's clock is ahead of it, taken in the middle of the round trip.
    pub clock_offset_ms: i64,
    /// The newest heartbeats of the other dispatchers.
    pub others: Vec<Beat>,
    /// Those that were taken for dead.
    pub silent: Vec<Beat>,
}

/// A dispatcher's newest heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    pub dispatcher: Uuid,
    pub seq: i64,
    /// How long the lease is that it was given.
    pub lease: Duration,
}

/// A shard that was taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    pub owned: Owned,
    /// Whoever let it go without releasing it.
    pub last_owner: Option<Uuid>,
}

/// A shard that was taken, as it was left.
#[derive(Debug)]
pub struct Acquired {
    pub owned: Owned,
    pub lanes: BTreeMap<Lane, LaneState>,
    /// Its backlog by its newest checkpoint (postrider.update_gate).
    pub backlog: i64,
    /// Whoever let it go without releasing it.
    pub last_owner: Option<Uuid>,
    /// What the last owner had claimed and somebody else has locked.
    pub held: Vec<Claim>,
}

/// What came of a recovery of claimed deliveries.
#[derive(Debug)]
pub struct Recovered {
    pub count: i32,
    /// Those that somebody else has locked: to be tried again.
    pub held: Vec<Claim>,
}
