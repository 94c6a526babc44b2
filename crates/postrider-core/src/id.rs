//! Identifiers, each a type of its own, so that they cannot be swapped.

/// A message's public id: `sequence number × 1024 + lane`. Ordered by sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub i64);

/// `shard × 16 + priority`, 0 to 1023.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub i16);

/// A fixed share of the log, owned by one dispatcher at a time, 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub i16);

/// A subscription: where one copy of a message goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Target(pub i32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub i32);

/// Priorities are 0 to 10, higher first.
pub const PRIORITY_COUNT: i16 = 11;

impl MessageId {
    pub fn lane(self) -> Lane {
        Lane((self.0 & 1023) as i16)
    }

    pub fn sequence_number(self) -> i64 {
        self.0 >> 10
    }
}

impl Lane {
    pub fn new(shard: Shard, priority: i16) -> Lane {
        Lane(shard.0 * 16 + priority)
    }

    pub fn shard(self) -> Shard {
        Shard(self.0 >> 4)
    }

    pub fn priority(self) -> i16 {
        self.0 & 15
    }
}

impl Shard {
    /// The shard's lanes, highest priority first.
    pub fn lanes(self) -> impl Iterator<Item = Lane> {
        (0..PRIORITY_COUNT).rev().map(move |priority| Lane::new(self, priority))
    }
}
