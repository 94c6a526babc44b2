//! PostgreSQL snapshots: which transactions are visible at a moment.
//!
//! The one definition of visibility that the reader, the checkpoint and the property tests share. It
//! is `pg_visible_in_snapshot`, over *top-level* transaction ids (`pg_current_xact_id()`); a row's
//! system column `xmin` is a subtransaction's id inside a savepoint and is not listed in a snapshot.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A 64-bit transaction id (`xid8`).
pub type Xid = u64;

/// `pg_snapshot`: cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Snapshot(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    xmin: Xid,
    xmax: Xid,
    in_progress: Box<[Xid]>,
}

/// A text that is not `xmin:xmax:xip,xip,…`, or whose parts contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a snapshot (xmin:xmax:xip,…)")]
pub struct InvalidSnapshot(String);

impl Snapshot {
    /// The snapshot that sees nothing that an application ever wrote.
    pub fn before_everything() -> Snapshot {
        Snapshot::new(4, 4, Vec::new()).expect("bounds are in order")
    }

    /// `None` where the parts contradict each other: `xmin` above `xmax`, or an id in progress outside
    /// of them.
    pub fn new(xmin: Xid, xmax: Xid, mut in_progress: Vec<Xid>) -> Option<Snapshot> {
        in_progress.sort_unstable();
        in_progress.dedup();
        let is_inside = in_progress.iter().all(|xid| (xmin..xmax).contains(xid));
        (xmin <= xmax && is_inside)
            .then(|| Snapshot(Arc::new(Parts { xmin, xmax, in_progress: in_progress.into() })))
    }

    /// The oldest transaction that was in progress: everything below is visible or rolled back.
    pub fn xmin(&self) -> Xid {
        self.0.xmin
    }

    /// One above the latest *completed* transaction. Running transactions may have higher ids.
    pub fn xmax(&self) -> Xid {
        self.0.xmax
    }

    /// The transactions below `xmax` that were in progress, ascending.
    pub fn in_progress(&self) -> &[Xid] {
        &self.0.in_progress
    }

    /// Whether the snapshot sees what this transaction wrote, provided that it committed.
    pub fn sees(&self, xid: Xid) -> bool {
        xid < self.0.xmin || (xid < self.0.xmax && self.0.in_progress.binary_search(&xid).is_err())
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:", self.xmin(), self.xmax())?;
        for (index, xid) in self.in_progress().iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(formatter, "{comma}{xid}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Snapshot {
    type Err = InvalidSnapshot;

    fn from_str(text: &str) -> Result<Snapshot, InvalidSnapshot> {
        let invalid = || InvalidSnapshot(text.to_owned());
        let mut parts = text.splitn(3, ':');
        let mut bound = || parts.next().and_then(|part| part.parse().ok()).ok_or_else(invalid);
        let (xmin, xmax) = (bound()?, bound()?);
        let in_progress = match parts.next().ok_or_else(invalid)? {
            "" => Vec::new(),
            list => list
                .split(',')
                .map(|xid| xid.parse().map_err(|_| invalid()))
                .collect::<Result<_, _>>()?,
        };
        Snapshot::new(xmin, xmax, in_progress).ok_or_else(invalid)
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Snapshot, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visibility_is_that_of_postgresql() {
        let snapshot: Snapshot = "10:20:12,15".parse().unwrap();
        for (xid, is_seen) in
            [(9, true), (10, true), (11, true), (12, false), (15, false), (19, true), (20, false)]
        {
            assert_eq!(snapshot.sees(xid), is_seen, "{xid}");
        }
    }

    #[test]
    fn text_round_trips_and_nonsense_is_refused() {
        for text in ["3:3:", "10:20:12,15", "7:9:7"] {
            assert_eq!(text.parse::<Snapshot>().unwrap().to_string(), text);
        }
        for text in ["", "3", "3:", "4:3:", "3:9:10", "3:9:2", "a:b:", "3:9:4,", "3:9:4:5"] {
            assert!(text.parse::<Snapshot>().is_err(), "{text}");
        }
    }
}
