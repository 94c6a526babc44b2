//! What became of deliveries, gathered until it is recorded.

use std::{collections::HashMap, time::Duration};

use postrider_core::{
    chains::Link,
    decide::Cause,
    id::{Lane, MessageId, Shard, Target},
    outcome::{Outcome, Report},
};
use tokio::time::Instant;

use super::{
    delivery::{Delivery, Message, Source},
    pending::{Ages, Change},
};
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
    pub put_down: Vec<(MessageId, Target)>,
    /// Deliveries with ordering keys that ended, and those that wait in the table from now on.
    pub left: Vec<Link>,
    pub stored: Vec<Link>,
    /// What is no longer in hand of what was read from the log, and how what waits changes.
    pub closed: HashMap<(Shard, Target), Ages>,
    pub waiting: HashMap<(Shard, Target), Change>,
    /// Something waits for what is gathered here.
    pub is_urgent: bool,
    since: Option<Instant>,
}

impl Gathered {
    /// Whether it is time to record: enough has come together, or the first result has waited long
    /// enough.
    pub fn is_due(&self, now: Instant, interval: Duration) -> bool {
        self.is_urgent
            || self.results.len() >= FULL
            || self.due_at(interval).is_some_and(|at| at <= now)
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
        self.closed.retain(|(shard, _), _| !lost.contains(shard));
        self.waiting.retain(|(shard, _), _| !lost.contains(shard));
        let is_kept = |link: &Link| !lost.contains(&link.id.lane().shard());
        self.left.retain(is_kept);
        self.stored.retain(is_kept);
    }

    /// A message without targets is done as it is.
    pub fn nobody(&mut self, message: &Message, source: Source, now: Instant) {
        self.since.get_or_insert(now);
        self.results.done.push(message.id);
        if message.terms.has_idempotency_key {
            self.results.keyed.push(message.id);
        }
        if let Source::Log { lane, segment } = source {
            *self.finished.entry((lane, segment)).or_default() += 1;
        }
    }

    pub fn delivered(&mut self, delivery: &Delivery, now: Instant) {
        let id = delivery.message.id;
        let is_last = self.end(delivery, now);
        match delivery.source {
            // Other deliveries of it may be in the log still, so it is not for this one to say that
            // the message is done.
            Source::Deferred if delivery.message.has_many_targets => {
                self.results.partly.entry(id).or_default().push(delivery.target);
            }
            Source::Deferred => self.results.done.push(id),
            Source::Log { .. } if is_last => self.done(id),
            Source::Log { .. } => {
                self.results.partly.entry(id).or_default().push(delivery.target);
            }
        }
    }

    /// The delivery waits and is tried again, with another retry used up.
    pub fn retry(&mut self, delivery: &Delivery, wait: Duration, error: String, now: Instant) {
        self.close_undelivered(delivery, now);
        let deferred = Deferred {
            wait_ms: wait.as_millis() as i64,
            retry_count: delivery.retry_count + 1,
            recovery_count: 0,
            error: Some(error),
            ..waiting(delivery)
        };
        self.defer(delivery, deferred);
    }

    /// The delivery was not attempted and waits until `run_at`, or for what is before it; no retry is
    /// used up. One that waited before is left as it was.
    pub fn give_back(
        &mut self,
        delivery: &Delivery,
        run_at: Option<Timestamp>,
        is_blocked: bool,
        now: Instant,
    ) {
        self.close_undelivered(delivery, now);
        if delivery.source != Source::Deferred {
            self.defer(delivery, Deferred { run_at, is_blocked, ..waiting(delivery) });
        }
    }

    /// A waiting delivery was not attempted and waits on, until `run_at`: it is its turn then.
    pub fn postpone(&mut self, delivery: &Delivery, run_at: Timestamp, now: Instant) {
        self.close_undelivered(delivery, now);
        self.defer(delivery, Deferred { run_at: Some(run_at), ..waiting(delivery) });
    }

    pub fn dead(&mut self, delivery: &Delivery, cause: Cause, error: Option<String>, now: Instant) {
        self.end_undelivered(delivery, now);
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
        self.end_undelivered(delivery, now);
        self.results.expired.push((delivery.message.id, delivery.target, delivery.endpoint));
    }

    /// The delivery was cancelled, which is on record.
    pub fn cancelled(&mut self, delivery: &Delivery, now: Instant) {
        self.end_undelivered(delivery, now);
        self.results.read.push((delivery.message.id, delivery.target));
    }

    /// An attempt, for the history.
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
            correlation_id: delivery.message.content.correlation_id,
            response: report.response.as_deref().cloned(),
        });
    }

    fn defer(&mut self, delivery: &Delivery, deferred: Deferred) {
        if delivery.source != Source::Deferred {
            self.waiting.entry(place(delivery)).or_default().came(created_at(delivery));
        }
        self.stored.extend(delivery.link());
        self.results.deferred.push(deferred);
    }

    fn end(&mut self, delivery: &Delivery, now: Instant) -> bool {
        let is_last = self.close(delivery, now);
        if delivery.source == Source::Deferred {
            self.results.settled.push((delivery.message.id, delivery.target));
            self.waiting.entry(place(delivery)).or_default().left(created_at(delivery));
        }
        if delivery.message.terms.has_idempotency_key {
            self.results.keyed.push(delivery.message.id);
        }
        self.left.extend(delivery.link());
        is_last
    }

    fn end_undelivered(&mut self, delivery: &Delivery, now: Instant) {
        let is_last = self.end(delivery, now);
        self.done_elsewhere(delivery, is_last);
    }

    fn close_undelivered(&mut self, delivery: &Delivery, now: Instant) {
        let is_last = self.close(delivery, now);
        self.done_elsewhere(delivery, is_last);
    }

    /// A message with several targets is done when the last of them is delivered or on record
    /// elsewhere; a message with one only when it is delivered.
    fn done_elsewhere(&mut self, delivery: &Delivery, is_last: bool) {
        let is_read = matches!(delivery.source, Source::Log { .. });
        if is_last && is_read && delivery.message.has_many_targets {
            self.done(delivery.message.id);
        }
    }

    fn done(&mut self, id: MessageId) {
        self.results.done.push(id);
        self.results.partly.remove(&id);
    }

    fn close(&mut self, delivery: &Delivery, now: Instant) -> bool {
        self.since.get_or_insert(now);
        let is_last = delivery.message.close_one();
        match delivery.source {
            Source::Log { lane, segment } => {
                self.closed.entry(place(delivery)).or_default().add(created_at(delivery));
                if is_last {
                    *self.finished.entry((lane, segment)).or_default() += 1;
                }
            }
            Source::Deferred => self.put_down.push((delivery.message.id, delivery.target)),
        }
        is_last
    }
}

/// Where a delivery counts as pending.
fn place(delivery: &Delivery) -> (Shard, Target) {
    (delivery.message.id.lane().shard(), delivery.target)
}

fn created_at(delivery: &Delivery) -> Timestamp {
    delivery.message.terms.created_at
}

/// The delivery as it waits, due now.
fn waiting(delivery: &Delivery) -> Deferred {
    Deferred {
        id: delivery.message.id,
        target: delivery.target,
        endpoint: delivery.endpoint,
        run_at: None,
        wait_ms: 0,
        retry_count: delivery.retry_count,
        recovery_count: delivery.recovery_count,
        created_at: delivery.message.terms.created_at,
        expires_at: delivery.message.terms.expires_at,
        error: None,
        ordering_key: delivery.message.terms.ordering_key.clone(),
        is_blocked: false,
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
