//! What writers note besides the ledger: when a message may be attempted, what they took back, and what
//! they were told that cannot be.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant, SystemTime},
};

use postrider_testkit::ledger::{Commit, Ledger, MessageId};

/// What a part of the run has recorded.
#[derive(Debug)]
pub struct Book {
    pub ledger: Ledger,
    /// By marker; messages that may be attempted at any time have none.
    pub terms: HashMap<String, Terms>,
    pub cancels: Vec<Cancel>,
    /// What a statement returned against the rules.
    pub problems: Vec<String>,
}

/// When a message may be attempted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms {
    /// Not before.
    pub scheduled_at: Option<SystemTime>,
    /// Not at or after.
    pub expires_at: Option<SystemTime>,
}

/// A call of `cancel_message` that returned true, or whose answer was lost.
#[derive(Debug, Clone)]
pub struct Cancel {
    pub id: MessageId,
    pub marker: String,
    /// When the answer was there.
    pub at: Instant,
    pub is_certain: bool,
}

impl Book {
    pub fn new(started_at: Instant) -> Self {
        Self {
            ledger: Ledger::new(started_at),
            terms: HashMap::new(),
            cancels: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The terms of these messages.
    pub fn terms_of(&mut self, ids: &HashSet<MessageId>) -> impl Iterator<Item = &mut Terms> {
        let is_one = |commit: &&Commit| commit.id.is_some_and(|id| ids.contains(&id));
        let commits = self.ledger.commits().iter().filter(is_one);
        let markers: HashSet<&str> =
            commits.filter_map(|commit| commit.marker.as_deref()).collect();
        let terms = self.terms.iter_mut();
        terms.filter(move |(marker, _)| markers.contains(marker.as_str())).map(|(_, terms)| terms)
    }

    pub fn merge(&mut self, other: Book) {
        self.ledger.merge(other.ledger);
        self.terms.extend(other.terms);
        self.cancels.extend(other.cancels);
        self.problems.extend(other.problems);
    }
}

impl Terms {
    pub fn is_free(&self) -> bool {
        self.scheduled_at.is_none() && self.expires_at.is_none()
    }
}

/// A moment as `to_timestamp` takes it.
pub fn seconds(at: SystemTime) -> f64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
