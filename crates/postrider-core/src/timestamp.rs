//! The database's time, as it travels.

/// 2000-01-01, where PostgreSQL counts from, in microseconds since 1970.
pub const EPOCH_US: i64 = 946_684_800_000_000;

/// `timestamptz`, in microseconds since 2000-01-01 UTC: PostgreSQL's own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// In microseconds since 1970.
    pub fn since_1970(self) -> i64 {
        self.0.saturating_add(EPOCH_US)
    }
}
