//! What became of deliveries, gathered until it is recorded.

use std::{collections::HashMap, time::Duration};

use postrider_core::{
    decide::Cause,
    id::{Lane, MessageId, Shard},
    outcome::{Outcome, Report},
};
use tokio::time::Instant;

use super::delivery::{Delivery, Message, Source};
use crate::store::{
    ledger::{Dead, Deferred, FailedAttempt, Results},
    wire::Timestamp,
};

/// A flush starts early when so many rows wait for it.
const FULL: usize = 1024;
/// Error texts are kept up to this length.
const ERROR_BYTES: usize = 1000;

/// Results that wait for the next flush, and what may be forgotten once they are recorded.
#[derive(Debug, Default)]
pub struct Gathered {
    pub results: Results,
    /// Rows finished per segment.
    pub finished: HashMap<(Lane, u64), usize>,
    /// Waiting deliveries that are no longer in hand.
    pub put_down: Vec<(MessageId, postrider_core::id::Target)>,
    since: Option<Instant>,
}

impl Gathered {
    /// Whether it is time to record: enough has come together, or the first result has waited long
    /// enough.
    pub fn is_due(&self, now: Instant, interval: Duration) -> bool {
        self.results.len() >= FULL || self.due_at(interval).is_some_and(|at| at <= now)
    }

    pub fn due_at(&self, interval: Duration) -> Option<Instant> {
        self.since.map(|since| since + interval)
    }

    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.finished.is_empty() && self.put_down.is_empty()
    }

    /// Drops what belongs to shards that are lost.
    pub fn forget(&mut self, lost: &[Shard]) {
        self.results.forget(lost);
        self.finished.retain(|(lane, _), _| !lost.contains(&lane.shard()));
    }

    /// A message without targets is done as it is.
    pub fn nobody(&mut self, message: &Message, source: Source, now: Instant) {
        self.since.get_or_insert(now);
        self.results.done.push(message.id);
        if let Source::Log { lane, segment } = source {
            *self.finished.entry((lane, segment)).or_default() += 1;
        }
    }

    pub fn delivered(&mut self, delivery: &Delivery, now: Instant) {
        let is_last = self.close(delivery, now);
        if delivery.source == Source::Deferred {
            self.results.settled.push((delivery.message.id, delivery.target));
            self.results.done.push(delivery.message.id);
        } else if is_last {
            self.results.done.push(delivery.message.id);
        }
    }

    /// The delivery waits and is tried again, with another retry used up.
    pub fn retry(&mut self, delivery: &Delivery, wait: Duration, error: String, now: Instant) {
        self.close_undelivered(delivery, now);
        let retry_count = delivery.retry_count + 1;
        self.defer(delivery, wait, retry_count, 0, Some(error));
    }

    /// The delivery was not attempted and waits; no retry is used up.
    pub fn give_back(&mut self, delivery: &Delivery, now: Instant) {
        self.close_undelivered(delivery, now);
        if delivery.source != Source::Deferred {
            let Delivery { retry_count, recovery_count, .. } = *delivery;
            self.defer(delivery, Duration::ZERO, retry_count, recovery_count, None);
        }
    }

    pub fn dead(&mut self, delivery: &Delivery, cause: Cause, error: Option<String>, now: Instant) {
        self.close_undelivered(delivery, now);
        self.settle(delivery);
        self.results.dead.push(Dead {
            id: delivery.message.id,
            target: delivery.target,
            endpoint: delivery.endpoint,
            cause: cause.as_str(),
            retry_count: delivery.retry_count,
            error,
        });
    }

    pub fn expired(&mut self, delivery: &Delivery, now: Instant) {
        self.close_undelivered(delivery, now);
        self.settle(delivery);
        self.results.expired.push((delivery.message.id, delivery.target, delivery.endpoint));
    }

    /// A failed attempt, for the history.
    pub fn attempt(&mut self, delivery: &Delivery, started_at: Timestamp, report: &Report) {
        self.results.attempts.push(FailedAttempt {
            id: delivery.message.id,
            target: delivery.target,
            endpoint: delivery.endpoint,
            number: delivery.retry_count + 1,
            started_at,
            duration_ms: report.duration.as_millis().min(i32::MAX as u128) as i32,
            outcome: outcome_name(report.outcome),
            status: report.status,
            error: report.error.as_deref().map(|error| capped(error).to_owned()),
        });
    }

    fn defer(
        &mut self,
        delivery: &Delivery,
        wait: Duration,
        retry_count: u32,
        recovery_count: u32,
        error: Option<String>,
    ) {
        self.results.deferred.push(Deferred {
            id: delivery.message.id,
            target: delivery.target,
            endpoint: delivery.endpoint,
            wait_ms: wait.as_millis() as i64,
            retry_count,
            recovery_count,
            created_at: delivery.message.created_at,
            expires_at: delivery.expires_at,
            error,
        });
    }

    fn settle(&mut self, delivery: &Delivery) {
        if delivery.source == Source::Deferred {
            self.results.settled.push((delivery.message.id, delivery.target));
        }
    }

    /// A message with several targets is done when the last of them is delivered or on record
    /// elsewhere; a message with one only when it is delivered.
    fn close_undelivered(&mut self, delivery: &Delivery, now: Instant) {
        if self.close(delivery, now) && delivery.message.has_many_targets() {
            self.results.done.push(delivery.message.id);
        }
    }

    fn close(&mut self, delivery: &Delivery, now: Instant) -> bool {
        self.since.get_or_insert(now);
        let is_last = delivery.message.close_one();
        match delivery.source {
            Source::Log { lane, segment } if is_last => {
                *self.finished.entry((lane, segment)).or_default() += 1;
            }
            Source::Log { .. } => {}
            Source::Deferred => self.put_down.push((delivery.message.id, delivery.target)),
        }
        is_last
    }
}

/// The error as people read it, with the class of the outcome in front.
pub fn error_text(report: &Report) -> String {
    let class = match report.outcome {
        Outcome::Rejected => "[PERMANENT]",
        Outcome::Gone => "[DISABLE]",
        Outcome::Accepted | Outcome::Unavailable { .. } => "[RETRYABLE]",
    };
    let error = report.error.as_deref().unwrap_or("no reason given");
    format!("{class} {}", capped(error))
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Unavailable { .. } => "unavailable",
        Outcome::Rejected => "rejected",
        Outcome::Gone => "gone",
    }
}

/// PostgreSQL's text holds no NUL; what a server says may be long.
fn capped(text: &str) -> &str {
    let text = text.split('\0').next().unwrap_or_default();
    &text[..text.floor_char_boundary(ERROR_BYTES)]
}
