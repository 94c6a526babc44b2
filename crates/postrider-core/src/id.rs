//! Identifiers, each a type of its own, so that they cannot be swapped.

/// A message's public id: `sequence number × 1024 + lane`. Ordered by sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub i64);

/// `shard × 16 + priority`, or `shard × 16 + 15` for messages with an ordering key: 0 to 1023.
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

/// A protocol and config of an endpoint, and the transport that was opened with them. No two endpoints have the same one, and a
/// later one has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edition(pub u64);

/// Priorities are 0 to 10, higher first.
pub const PRIORITY_COUNT: i16 = 11;

/// The lane of messages with an ordering key, whatever their priority: one reader sees all messages
/// of a key in their order.
const KEYED: i16 = 15;

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

    /// The lane of a shard's messages with ordering keys.
    pub fn keyed(shard: Shard) -> Lane {
        Lane::new(shard, KEYED)
    }

    pub fn is_keyed(self) -> bool {
        self.0 & 15 == KEYED
    }

    /// The priority of its messages; without one, their own decide.
    pub fn priority(self) -> Option<Priority> {
        (!self.is_keyed()).then(|| Priority::new(self.0 & 15))
    }

    /// Lanes with a higher rank are read first: by priority, those with ordering keys before the
    /// lowest.
    pub fn rank(self) -> i16 {
        match self.0 & 15 {
            KEYED => 1,
            priority => priority * 2,
        }
    }
}

/// 0 to 10, higher first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    pub const LOWEST: Priority = Priority(0);

    /// What is out of range counts as the nearest priority there is.
    pub fn new(number: i16) -> Priority {
        Priority(number.clamp(0, PRIORITY_COUNT - 1) as u8)
    }

    /// For tables with a place per priority.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Shard {
    /// The shard's lanes.
    pub fn lanes(self) -> impl Iterator<Item = Lane> {
        let plain = (0..PRIORITY_COUNT).rev().map(move |priority| Lane::new(self, priority));
        plain.chain(std::iter::once(Lane::keyed(self)))
    }
}
