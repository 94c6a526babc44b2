//! What the ledger adds up to.

use std::fmt;
use std::time::{Duration, Instant};

use super::{Destination, Fault, MessageId};

/// How many findings of a kind the printed report lists.
const LISTED: usize = 10;

/// The result of a check. Counts are deliveries: one message to one destination.
#[derive(Debug, Clone)]
pub struct Report {
    /// Moments are printed as time since this one.
    pub started_at: Instant,
    /// What certainly committed.
    pub committed_count: usize,
    /// What may have committed.
    pub uncertain_count: usize,
    /// What was rolled back.
    pub rolled_back_count: usize,
    /// All requests, accepted or not.
    pub request_count: usize,
    /// Committed, perhaps uncertainly, and accepted at least once.
    pub delivered_count: usize,
    /// What the dead letter queue holds.
    pub dead_lettered_count: usize,
    /// What expired.
    pub expired_count: usize,
    /// What was cancelled.
    pub cancelled_count: usize,
    /// What an operator ended without a dead letter.
    pub skipped_count: usize,
    /// Committed, never accepted, not ended otherwise.
    pub lost: Vec<Lost>,
    /// Requests for messages that do not exist.
    pub phantoms: Vec<Phantom>,
    /// Requests whose payload is not the committed one.
    pub altered: Vec<Altered>,
    /// Ids that were given to more than one message.
    pub reused: Vec<Reused>,
    /// Messages that overtook an earlier one of their ordering key.
    pub out_of_order: Vec<OutOfOrder>,
    /// Messages accepted again, with the fault that excuses it.
    pub duplicates: Vec<Duplicate>,
    /// From commit to first acceptance; `None` when nothing was accepted.
    pub latency: Option<Latency>,
    /// The faults of the run.
    pub faults: Vec<Fault>,
}

/// A message that never arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it should have arrived.
    pub destination: Destination,
    /// Its id.
    pub id: Option<MessageId>,
    /// Its marker.
    pub marker: Option<String>,
    /// When it committed.
    pub committed_at: Instant,
    /// Whether there was a request that was not accepted.
    pub was_attempted: bool,
}

/// A request for a message that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phantom {
    /// Where it arrived.
    pub destination: Destination,
    /// The id it carried.
    pub id: Option<MessageId>,
    /// The marker it carried.
    pub marker: Option<String>,
    /// What is wrong with it.
    pub cause: PhantomCause,
}

/// Why a request should not have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhantomCause {
    /// Its message was rolled back.
    RolledBack,
    /// Nobody sent such a message.
    Unknown,
    /// The message exists, but was not sent to this destination.
    OtherDestination,
    /// The payload is that of a message with another id.
    OtherId {
        /// The id of the message with this payload.
        committed: Option<MessageId>,
    },
}

/// A request whose payload is not the committed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// Where it arrived.
    pub destination: Destination,
    /// The id it carried.
    pub id: Option<MessageId>,
    /// The marker that was committed.
    pub expected: String,
    /// The marker that arrived; empty when there was none.
    pub arrived: String,
}

/// An id under which there was more than one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reused {
    /// The id.
    pub id: MessageId,
    /// The markers of the messages.
    pub markers: Vec<String>,
}

/// A message that overtook an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Where.
    pub destination: Destination,
    /// The ordering key.
    pub key: String,
    /// The sequence of the message that was overtaken.
    pub earlier: u64,
    /// The sequence of the one that overtook it.
    pub later: u64,
}

/// A message that was accepted again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// Where.
    pub destination: Destination,
    /// Its id.
    pub id: Option<MessageId>,
    /// Its marker.
    pub marker: Option<String>,
    /// When it was accepted.
    pub first_at: Instant,
    /// When it was accepted again.
    pub second_at: Instant,
    /// The index in [`Report::faults`] of the fault that excuses it.
    pub cause: Option<usize>,
}

/// From commit to first acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Half were quicker.
    pub median: Duration,
    /// 90 of 100 were quicker.
    pub p90: Duration,
    /// 99 of 100 were quicker.
    pub p99: Duration,
    /// The slowest.
    pub maximum: Duration,
}

impl Report {
    /// Whether the guarantees held: nothing lost, nothing from nowhere, nothing altered, no id twice,
    /// nothing out of order, no duplicate without a cause.
    pub fn is_balanced(&self) -> bool {
        self.lost.is_empty()
            && self.phantoms.is_empty()
            && self.altered.is_empty()
            && self.reused.is_empty()
            && self.out_of_order.is_empty()
            && self.unexplained().next().is_none()
    }

    /// The duplicates that no fault excuses.
    pub fn unexplained(&self) -> impl Iterator<Item = &Duplicate> {
        self.duplicates.iter().filter(|duplicate| duplicate.cause.is_none())
    }

    /// How many duplicates each fault excuses, in the order of [`Self::faults`].
    pub fn duplicates_by_fault(&self) -> Vec<usize> {
        let mut counts = vec![0; self.faults.len()];
        for fault in self.duplicates.iter().filter_map(|duplicate| duplicate.cause) {
            counts[fault] += 1;
        }
        counts
    }

    fn since_start(&self, at: Instant) -> String {
        format!("+{:.3} s", at.saturating_duration_since(self.started_at).as_secs_f64())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unexplained: Vec<&Duplicate> = self.unexplained().collect();
        let line = |formatter: &mut fmt::Formatter<'_>, name: &str, count: usize, note: &str| {
            writeln!(formatter, "  {name:<24}{count:>10}  {note}")
        };
        let verdict = |is_empty: bool| if is_empty { "ok" } else { "VIOLATION" };
        writeln!(formatter, "Ledger (deliveries)")?;
        line(formatter, "committed", self.committed_count, "")?;
        line(formatter, "perhaps committed", self.uncertain_count, "nobody knows")?;
        line(formatter, "delivered", self.delivered_count, "accepted at least once")?;
        line(formatter, "dead-lettered", self.dead_lettered_count, "")?;
        line(formatter, "expired", self.expired_count, "")?;
        line(formatter, "cancelled", self.cancelled_count, "")?;
        line(formatter, "skipped", self.skipped_count, "")?;
        line(formatter, "rolled back", self.rolled_back_count, "")?;
        line(formatter, "requests", self.request_count, "accepted or not")?;
        line(formatter, "lost", self.lost.len(), verdict(self.lost.is_empty()))?;
        line(formatter, "phantoms", self.phantoms.len(), verdict(self.phantoms.is_empty()))?;
        line(formatter, "altered", self.altered.len(), verdict(self.altered.is_empty()))?;
        line(formatter, "an id twice", self.reused.len(), verdict(self.reused.is_empty()))?;
        let is_ordered = self.out_of_order.is_empty();
        line(formatter, "out of order", self.out_of_order.len(), verdict(is_ordered))?;
        let explained = self.duplicates.len() - unexplained.len();
        line(formatter, "duplicates, explained", explained, "ok")?;
        let is_explained = unexplained.is_empty();
        line(formatter, "duplicates, unexplained", unexplained.len(), verdict(is_explained))?;
        if let Some(Latency { median, p90, p99, maximum }) = self.latency {
            let milliseconds = |wait: Duration| wait.as_secs_f64() * 1000.0;
            writeln!(
                formatter,
                "  commit to acceptance: median {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
                milliseconds(median),
                milliseconds(p90),
                milliseconds(p99),
                milliseconds(maximum)
            )?;
        }
        self.write_faults(formatter)?;
        write_findings(formatter, "lost", &self.lost, |lost| {
            let tried = if lost.was_attempted { "attempted" } else { "never attempted" };
            let at = self.since_start(lost.committed_at);
            let name = describe(lost.id, lost.marker.as_deref());
            format!("{name} to {}, committed {at}, {tried}", lost.destination)
        })?;
        write_findings(formatter, "phantom", &self.phantoms, |phantom| {
            let name = describe(phantom.id, phantom.marker.as_deref());
            format!("{name} at {}: {}", phantom.destination, phantom.cause)
        })?;
        write_findings(formatter, "altered", &self.altered, |altered| {
            let Altered { destination, id, expected, arrived } = altered;
            format!("{} at {destination}: `{arrived}` for `{expected}`", describe(*id, None))
        })?;
        write_findings(formatter, "an id twice", &self.reused, |reused| {
            format!("{}: `{}`", describe(Some(reused.id), None), reused.markers.join("`, `"))
        })?;
        write_findings(formatter, "out of order", &self.out_of_order, |order| {
            let OutOfOrder { destination, key, earlier, later } = order;
            format!("key {key} at {destination}: {later} before {earlier} was accepted")
        })?;
        write_findings(formatter, "unexplained duplicate", &unexplained, |duplicate| {
            let name = describe(duplicate.id, duplicate.marker.as_deref());
            let first = self.since_start(duplicate.first_at);
            let second = self.since_start(duplicate.second_at);
            format!("{name} at {}: {first} and {second}", duplicate.destination)
        })?;
        let verdict = if self.is_balanced() { "balanced" } else { "NOT BALANCED" };
        writeln!(formatter, "The ledger is {verdict}.")
    }
}

impl Report {
    fn write_faults(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, count) in self.faults.iter().zip(self.duplicates_by_fault()) {
            let Fault { kind, subject, at, until } = fault;
            let mut when = self.since_start(*at);
            if until > at {
                when = format!("{when} to {}", self.since_start(*until));
            }
            writeln!(formatter, "  fault {when}: {subject} {kind}; duplicates explained: {count}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PhantomCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RolledBack => formatter.write_str("it was rolled back"),
            Self::Unknown => formatter.write_str("nobody sent it"),
            Self::OtherDestination => formatter.write_str("it was sent to another destination"),
            Self::OtherId { committed } => {
                write!(formatter, "its payload is that of {}", describe(*committed, None))
            }
        }
    }
}

fn describe(id: Option<MessageId>, marker: Option<&str>) -> String {
    let id = id.map_or_else(|| "message without id".to_owned(), |id| format!("message {}", id.0));
    match marker {
        Some(marker) => format!("{id} (`{marker}`)"),
        None => id,
    }
}

/// Lists the first findings of a kind and says how many more there are.
fn write_findings<T>(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    findings: &[T],
    describe: impl Fn(&T) -> String,
) -> fmt::Result {
    for finding in findings.iter().take(LISTED) {
        writeln!(formatter, "  {name}: {}", describe(finding))?;
    }
    if findings.len() > LISTED {
        writeln!(formatter, "  {name}: … and {} more", findings.len() - LISTED)?;
    }
    Ok(())
}
