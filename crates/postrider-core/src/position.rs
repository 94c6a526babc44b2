//! Where a reader stands in a lane.
//!
//! A reader follows a lane by windows: everything that one snapshot (the *top*) sees and an earlier
//! one (the *base*) did not, in order of id. Small windows are taken in whole; through a large one the
//! reader walks page by page. A position therefore says exactly which messages lie before it, whoever
//! asks and however the asker's own windows are cut.

use serde::{Deserialize, Serialize};

use crate::{
    id::MessageId,
    snapshot::{Snapshot, Xid},
};

/// A place in one lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Everything that this snapshot sees lies before the position.
    pub base: Snapshot,
    /// The window that the reader is in, if it walks through one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window: Option<Window>,
}

/// A window that is being walked through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub top: Snapshot,
    /// Messages of the window up to this id lie before the position.
    pub id: i64,
    /// No message of the window has a higher id.
    pub end: i64,
}

impl Position {
    /// Before every message.
    pub fn start() -> Position {
        Position::at(Snapshot::before_everything())
    }

    /// Behind everything that the snapshot sees.
    pub fn at(base: Snapshot) -> Position {
        Position { base, window: None }
    }

    /// Inside the window from `base` to `top`, behind its messages up to `id`; none is above `end`.
    pub fn within(base: Snapshot, top: Snapshot, id: i64, end: i64) -> Position {
        Position { base, window: Some(Window { top, id, end }) }
    }

    /// The oldest transaction that may have written a message behind which this position is not.
    pub fn xmin(&self) -> Xid {
        self.base.xmin()
    }

    /// Whether a committed message lies before this position.
    pub fn is_behind(&self, xid: Xid, id: MessageId) -> bool {
        self.base.sees(xid)
            || self.window.as_ref().is_some_and(|window| id.0 <= window.id && window.top.sees(xid))
    }
}
