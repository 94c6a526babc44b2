//! What a look at the log finds.

use crate::{message::LogMessage, snapshot::Snapshot};

/// What a tick found.
#[derive(Debug)]
pub enum Tick {
    /// All that came since the base, unordered.
    Rows {
        top: Snapshot,
        rows: Vec<LogMessage>,
        /// The newest sequence number at that moment.
        last_number: i64,
        written: Written,
    },
    /// Too many to be taken in at once.
    TooMany { top: Snapshot, written: Written },
}

/// The bounds of a walk through a window.
#[derive(Debug, Clone, Copy)]
pub struct WindowBounds {
    /// Every message of the window has a higher id.
    pub after: i64,
    /// No message of the window has a higher id.
    pub end: i64,
}

/// Up to where the write-ahead log had come when something was read: places in it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// All that was visible then was written before.
    pub upto: u64,
    /// So much is on the primary's disk.
    pub flushed: u64,
    /// Commits are to wait for standbys.
    pub has_standbys: bool,
    /// The highest message number that was read.
    pub number: i64,
}

impl Written {
    /// Of both, read one after the other in any order: what is durable only goes on.
    pub fn with(self, other: Option<Written>) -> Written {
        let Some(other) = other else { return self };
        Written {
            upto: self.upto.max(other.upto),
            flushed: self.flushed.max(other.flushed),
            has_standbys: self.has_standbys || other.has_standbys,
            number: self.number.max(other.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups of a tick are read one after the other, and the last one need not have the highest number.
    #[test]
    fn what_several_groups_have_seen_is_the_most_of_each() {
        let written = |upto: u64, flushed: u64, has_standbys, number| Written {
            upto,
            flushed,
            has_standbys,
            number,
        };
        let (first, second) = (written(10, 5, true, 900), written(12, 8, false, 30));
        assert_eq!(first.with(None), first);
        assert_eq!(second.with(Some(first)), written(12, 8, true, 900));
        assert_eq!(first.with(Some(second)), written(12, 8, true, 900));
    }
}
