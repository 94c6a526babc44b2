//! What a dispatcher says of itself to people who watch.

use serde::Serialize;

use crate::{id::EndpointId, timestamp::Timestamp};

/// What a dispatcher says of itself with every heartbeat.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistics {
    pub messages_processed: u64,
    pub error_count: u64,
    pub in_flight: usize,
    pub buffered: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The shards that the rest is about.
    pub shards: Vec<i16>,
    /// What is pending at each endpoint, of those with the most.
    pub pending: Vec<PendingAt>,
    /// At how many endpoints something is pending.
    pub pending_endpoint_count: usize,
    /// How far this host's clock is ahead of the database's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<i64>,
}

/// What is pending at one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingAt {
    pub endpoint: EndpointId,
    pub count: i64,
    /// Since when the oldest of it is pending: in the future where all is scheduled for later.
    pub oldest: Timestamp,
    /// The same of what was passed over in the log and not attempted yet.
    pub left_since: Option<Timestamp>,
}

impl Serialize for PendingAt {
    /// As `[endpoint, count, oldest, left_since]`, times in microseconds since 1970.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let left_since = self.left_since.map(Timestamp::since_1970);
        let fields = (self.endpoint.0, self.count, self.oldest.since_1970(), left_since);
        fields.serialize(serializer)
    }
}
