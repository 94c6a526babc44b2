//! The ledger checker: what was committed against what arrived.
//!
//! Producers record what committed and what rolled back, receivers record every request, and
//! whoever disturbs the run records each fault. [`Ledger::check`] then says what was lost, what
//! should never have existed, what came out of order, and which duplicates no fault explains. It
//! is pure: data goes in, a [`Report`] comes out.
//!
//! A message is recognized by its id, and by a *marker*: a text that the producer wrote into the
//! payload. The marker tells messages apart whose ids are unknown (their transaction ended in an
//! error) or used twice (PostgreSQL may hand out the ids of transactions that a crash undid again),
//! and shows an altered payload.
//!
//! Where nobody was told for certain whether a transaction committed, the log of the database decides in
//! the end ([`Ledger::settle`]).

pub mod arrivals;
mod check;
mod report;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use report::{
    Altered, Duplicate, Latency, Lost, OutOfOrder, Phantom, PhantomCause, Report, Reused,
};

/// The id of a message, as `postrider.send` returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub i64);

/// Where messages arrive: the name of an endpoint or of a receiver.
pub type Destination = Arc<str>;

/// A message to one destination in a transaction that committed, or may have.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Where it has to arrive. A message with several targets is recorded once for each.
    pub destination: Destination,
    /// The id; `None` when the producer never learned it. Then there has to be a marker.
    pub id: Option<MessageId>,
    /// What the payload carries.
    pub marker: Option<String>,
    /// The ordering key and the place among its messages, in the order of commits.
    pub order: Option<Order>,
    /// When the commit returned.
    pub at: Instant,
    /// False when the answer to `commit` was lost, or did not wait for the disk: the message may or may
    /// not exist, until [`Ledger::settle`].
    pub is_certain: bool,
}

/// The place of a message among those of its ordering key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The ordering key.
    pub key: String,
    /// Rises with every message of the key.
    pub sequence: u64,
}

/// A message that was written and rolled back: it never existed.
#[derive(Debug, Clone)]
pub struct Rollback {
    /// The id, when it was known before the rollback.
    pub id: Option<MessageId>,
    /// What the payload carried.
    pub marker: Option<String>,
}

/// A message that the log of the database holds.
#[derive(Debug, Clone)]
pub struct Logged {
    /// Its id.
    pub id: MessageId,
    /// What its payload carries.
    pub marker: String,
}

/// What became of deliveries whose commit was in doubt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settled {
    /// The log holds them: they were committed.
    pub kept_count: usize,
    /// It does not: they never existed, whatever their sender was told.
    pub forgotten_count: usize,
}

/// A request that arrived at a destination.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where.
    pub destination: Destination,
    /// The message id it carried.
    pub id: Option<MessageId>,
    /// The marker in its body.
    pub marker: Option<String>,
    /// The number of the attempt it carried, from 1.
    pub attempt: u32,
    /// When it arrived.
    pub at: Instant,
    /// Whether the answer accepted it.
    pub is_accepted: bool,
}

/// A delivery that ended without being accepted, and may.
#[derive(Debug, Clone)]
pub struct End {
    /// Where the message was to arrive.
    pub destination: Destination,
    /// The message.
    pub id: MessageId,
    /// How it ended.
    pub kind: EndKind,
}

/// How a delivery ended without being accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    /// It is in the dead letter queue.
    DeadLettered,
    /// Its time ran out.
    Expired,
    /// Somebody cancelled it.
    Cancelled,
    /// An operator ended it without a dead letter.
    Skipped,
}

/// A disturbance: the only excuse for a duplicate.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// To whom, for the report: `dispatcher 2`.
    pub subject: String,
    /// When it began.
    pub at: Instant,
    /// When it was over: the server was up again, the process continued. The same as `at` for a
    /// fault without a length.
    pub until: Instant,
}

/// What kind of disturbance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// A dispatcher got SIGKILL.
    ProcessKilled,
    /// A dispatcher was frozen by SIGSTOP from `at` until `until`.
    ProcessStopped,
    /// Database connections of a dispatcher were cut.
    ConnectionsCut,
    /// PostgreSQL was down from `at` until `until`.
    PostgresCrashed,
    /// PostgreSQL died for good, and its standby, which had followed until `at`, was in its place at `until`:
    /// what did not wait for the standby between them is gone.
    FailedOver,
    /// The machine stood still from `at` until `until`, and nobody had meant it to.
    StoodStill,
    /// Answers of one destination were lost: it was cut off, or too slow.
    AnswersLost {
        /// The destination; others have no excuse.
        destination: Destination,
    },
}

impl Fault {
    /// A fault without a length.
    pub fn new(kind: FaultKind, subject: impl Into<String>, at: Instant) -> Self {
        Self { kind, subject: subject.into(), at, until: at }
    }

    /// Sets when it was over.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Self { until, ..self }
    }
}

/// How near to a fault a duplicate has to be to be excused by it.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// The longest time from the acceptance of a message until that is safely recorded: the flush
    /// interval, up to three times `wal_writer_delay` with `synchronous_commit = off`, and what a machine
    /// under load stands still.
    pub flush: Duration,
    /// The longest time from the sending of a request until the receiver notes it, on a machine
    /// under load; also between the fault and the note of it.
    pub arrival: Duration,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { flush: Duration::from_secs(3), arrival: Duration::from_secs(1) }
    }
}

/// Everything that was recorded in a run.
#[derive(Debug, Clone)]
pub struct Ledger {
    started_at: Instant,
    commits: Vec<Commit>,
    rollbacks: Vec<Rollback>,
    requests: Vec<Request>,
    ends: Vec<End>,
    faults: Vec<Fault>,
    logged: Vec<Logged>,
}

impl Ledger {
    /// An empty ledger. Moments in the report count from `started_at`.
    pub fn new(started_at: Instant) -> Self {
        Self {
            started_at,
            commits: Vec::new(),
            rollbacks: Vec::new(),
            requests: Vec::new(),
            ends: Vec::new(),
            faults: Vec::new(),
            logged: Vec::new(),
        }
    }

    /// The moment that the report counts from.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Records a message that committed, or may have.
    ///
    /// # Panics
    ///
    /// When it has neither an id nor a marker: then it could never be recognized.
    pub fn commit(&mut self, commit: Commit) {
        assert!(commit.id.is_some() || commit.marker.is_some(), "a commit needs an id or a marker");
        self.commits.push(commit);
    }

    /// What committed, or may have.
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Records a message that was rolled back.
    ///
    /// # Panics
    ///
    /// As [`Self::commit`].
    pub fn roll_back(&mut self, rollback: Rollback) {
        assert!(
            rollback.id.is_some() || rollback.marker.is_some(),
            "a rollback needs an id or a marker"
        );
        self.rollbacks.push(rollback);
    }

    /// Records a request that arrived.
    pub fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Records a delivery that ended without being accepted.
    pub fn end(&mut self, end: End) {
        self.ends.push(end);
    }

    /// Records a fault.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Takes over what another part of the run recorded.
    pub fn merge(&mut self, other: Ledger) {
        self.commits.extend(other.commits);
        self.rollbacks.extend(other.rollbacks);
        self.requests.extend(other.requests);
        self.ends.extend(other.ends);
        self.faults.extend(other.faults);
        self.logged.extend(other.logged);
    }

    /// Decides by the log, all of it, when everything is recorded and nothing commits any more: what is in doubt
    /// and there was committed, what is in doubt and not there was rolled back. Without a marker it stays in doubt.
    pub fn settle(&mut self, logged: Vec<Logged>) -> Settled {
        let known: HashMap<&str, MessageId> =
            logged.iter().map(|message| (message.marker.as_str(), message.id)).collect();
        let mut settled = Settled::default();
        for commit in std::mem::take(&mut self.commits) {
            if commit.is_certain || commit.marker.is_none() {
                self.commits.push(commit);
                continue;
            }
            let found = commit.marker.as_deref().and_then(|marker| known.get(marker).copied());
            match found {
                Some(id) => {
                    settled.kept_count += 1;
                    let id = commit.id.or(Some(id));
                    self.commits.push(Commit { id, is_certain: true, ..commit });
                }
                None => {
                    settled.forgotten_count += 1;
                    // Its id may be another message's by now.
                    self.rollbacks.push(Rollback { id: None, marker: commit.marker });
                }
            }
        }
        self.logged.extend(logged);
        settled
    }

    /// The faults.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether a fault excuses that what was accepted at `accepted_at` was not on record at `until`, by the default
    /// [`Tolerance`].
    pub fn excuses(&self, destination: &Destination, accepted_at: Instant, until: Instant) -> bool {
        check::is_excused(self, destination, accepted_at, until, Tolerance::default())
    }

    /// Adds it all up with the default [`Tolerance`].
    pub fn check(&self) -> Report {
        self.check_with(Tolerance::default())
    }

    /// Adds it all up.
    pub fn check_with(&self, tolerance: Tolerance) -> Report {
        check::check(self, tolerance)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessKilled => formatter.write_str("killed"),
            Self::ProcessStopped => formatter.write_str("frozen"),
            Self::ConnectionsCut => formatter.write_str("connections cut"),
            Self::PostgresCrashed => formatter.write_str("PostgreSQL crashed"),
            Self::FailedOver => formatter.write_str("its standby took over"),
            Self::StoodStill => formatter.write_str("stood still"),
            Self::AnswersLost { destination } => write!(formatter, "answers of {destination} lost"),
        }
    }
}

#[cfg(test)]
mod tests;
