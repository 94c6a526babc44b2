//! What became of deliveries, gathered until it is recorded.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    delivery::{Delivery, Message, Source},
    pending::{Ages, Change},
    settlement::Settlement,
};
use crate::{
    chains::Link,
    hashing::{HashMap, HashSet},
    id::{Lane, MessageId, Shard, Target},
    outcome::{Outcome, Report},
    results::{Dead, Deferred, FailedAttempt, Results},
    timestamp::Timestamp,
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
    /// What ended of what was read from the log and has an ordering key.
    left: Vec<Link>,
    /// What ended of what waited.
    ended: Vec<Ended>,
    /// What is no longer in hand of what was read from the log.
    pub closed: HashMap<(Shard, Target), Ages>,
    /// Something waits for what is gathered here.
    pub is_urgent: bool,
    since: Option<Instant>,
}

/// A waiting delivery that ended.
#[derive(Debug, Clone)]
struct Ended {
    id: MessageId,
    target: Target,
    created_at: Timestamp,
    link: Option<Link>,
    has_many_targets: bool,
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
        self.left.retain(|link| !lost.contains(&link.id.lane().shard()));
        self.ended.retain(|ended| !lost.contains(&ended.id.lane().shard()));
        if self.is_empty() {
            // Nobody waits for nothing.
            (self.is_urgent, self.since) = (false, None);
        }
    }

    /// Whether what waits in the table changes.
    pub fn changes_waiting(&self) -> bool {
        !self.ended.is_empty() || self.results.deferred.iter().any(|row| !row.has_waited)
    }

    /// How what waits changes.
    pub fn changes(&self) -> HashMap<(Shard, Target), Change> {
        let mut changes: HashMap<(Shard, Target), Change> = HashMap::default();
        for row in self.results.deferred.iter().filter(|row| !row.has_waited) {
            let place = (row.id.lane().shard(), row.target);
            changes.entry(place).or_default().came(row.pending_since());
        }
        for ended in &self.ended {
            let place = (ended.id.lane().shard(), ended.target);
            changes.entry(place).or_default().left(ended.created_at);
        }
        changes
    }

    /// Deliveries with ordering keys that ended.
    pub fn left(&self) -> impl Iterator<Item = &Link> {
        self.left.iter().chain(self.ended.iter().filter_map(|ended| ended.link.as_ref()))
    }

    /// Deliveries with ordering keys that wait in the table from now on.
    pub fn stored(&self) -> impl Iterator<Item = Link> {
        self.results.deferred.iter().filter_map(|row| {
            let key = Arc::clone(row.ordering_key.as_ref()?);
            Some(Link { key, id: row.id, endpoint: row.endpoint })
        })
    }

    /// Takes out all that there is about these waiting deliveries.
    pub fn set_aside(&mut self, held: &HashSet<(MessageId, Target)>) -> Gathered {
        let is_held = |id: MessageId, target: Target| held.contains(&(id, target));
        let from = &mut self.results;
        let mut aside = Gathered {
            put_down: self.put_down.extract_if(.., |place| held.contains(place)).collect(),
            ended: self.ended.extract_if(.., |row| is_held(row.id, row.target)).collect(),
            ..Gathered::default()
        };
        let to = &mut aside.results;
        to.deferred = from.deferred.extract_if(.., |row| is_held(row.id, row.target)).collect();
        to.settled = from.settled.extract_if(.., |place| held.contains(place)).collect();
        to.attempts = from.attempts.extract_if(.., |row| is_held(row.id, row.target)).collect();
        to.dead = from.dead.extract_if(.., |row| is_held(row.id, row.target)).collect();
        to.expired = from.expired.extract_if(.., |row| is_held(row.0, row.1)).collect();
        to.read = from.read.extract_if(.., |place| held.contains(place)).collect();
        let mut alone = HashSet::default();
        for Ended { id, target, has_many_targets, .. } in &aside.ended {
            if !has_many_targets {
                alone.insert(*id);
            } else if let Some(targets) = from.partly.get_mut(id)
                && let Some(place) = targets.iter().position(|other| other == target)
            {
                targets.swap_remove(place);
                to.partly.entry(*id).or_default().push(*target);
            }
            // Where it has other targets, they may have ended: whoever frees the key looks at all of them.
            if from.keyed.contains(id) {
                to.keyed.push(*id);
            }
        }
        from.partly.retain(|_, targets| !targets.is_empty());
        to.done = from.done.extract_if(.., |id| alone.contains(id)).collect();
        aside
    }

    /// Takes the same out of a part of the results.
    pub fn leave_out(&self, part: &mut Results, held: &HashSet<(MessageId, Target)>) {
        let results = std::mem::take(part);
        let mut whole = Gathered { results, ended: self.ended.clone(), ..Gathered::default() };
        whole.set_aside(held);
        *part = whole.results;
    }

    /// Adds what was set aside.
    pub fn take_back(&mut self, aside: Gathered, now: Instant) {
        self.since.get_or_insert(now);
        let (from, to) = (aside.results, &mut self.results);
        to.done.extend(from.done);
        for (id, targets) in from.partly {
            to.partly.entry(id).or_default().extend(targets);
        }
        to.deferred.extend(from.deferred);
        to.settled.extend(from.settled);
        to.attempts.extend(from.attempts);
        to.dead.extend(from.dead);
        to.expired.extend(from.expired);
        to.read.extend(from.read);
        to.keyed.extend(from.keyed);
        self.put_down.extend(aside.put_down);
        self.ended.extend(aside.ended);
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

    /// What became of a delivery, which is no longer in hand.
    pub fn settle(&mut self, delivery: Delivery, settlement: Settlement, now: Instant) {
        let is_last = self.close(&delivery, now);
        let has_waited = delivery.source == Source::Deferred;
        match settlement {
            Settlement::Delivered => {
                self.end(&delivery);
                return self.deliver(&delivery, is_last);
            }
            Settlement::Retry { wait, error } => self.results.deferred.push(Deferred {
                wait_ms: wait.as_millis() as i64,
                retry_count: delivery.retry_count + 1,
                recovery_count: 0,
                error: Some(error),
                ..waiting(&delivery)
            }),
            Settlement::Postponed { run_at } => {
                let run_at = Some(run_at);
                self.results.deferred.push(Deferred { run_at, ..waiting(&delivery) });
            }
            Settlement::GivenBack { .. } if has_waited => {}
            Settlement::GivenBack { run_at, pause, is_blocked } => {
                let wait_ms = pause.as_millis() as i64;
                let row = Deferred { run_at, wait_ms, is_blocked, ..waiting(&delivery) };
                self.results.deferred.push(row);
            }
            Settlement::Dead { cause, error } => {
                self.end(&delivery);
                self.results.dead.push(Dead {
                    id: delivery.message.id,
                    target: delivery.target,
                    endpoint: delivery.endpoint,
                    cause: cause.as_str(),
                    retry_count: delivery.retry_count,
                    error,
                });
            }
            Settlement::Expired => {
                self.end(&delivery);
                let (id, target) = delivery.place();
                self.results.expired.push((id, target, delivery.endpoint));
            }
            Settlement::Cancelled => {
                self.end(&delivery);
                self.results.read.push(delivery.place());
            }
        }
        // A message with several targets is done when the last of them is delivered or on record elsewhere; a message
        // with one only when it is delivered.
        if is_last && !has_waited && delivery.message.has_many_targets {
            self.done(delivery.message.id);
        }
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
            outcome: report.outcome.name(),
            status: report.status,
            error: report.error.as_deref().map(|error| capped(error).to_owned()),
            correlation_id: delivery.message.content.correlation_id,
            response: report.response.as_deref().cloned(),
        });
    }

    fn deliver(&mut self, delivery: &Delivery, is_last: bool) {
        let id = delivery.message.id;
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

    fn end(&mut self, delivery: &Delivery) {
        if delivery.source == Source::Deferred {
            self.results.settled.push(delivery.place());
            self.ended.push(Ended {
                id: delivery.message.id,
                target: delivery.target,
                created_at: created_at(delivery),
                link: delivery.link(),
                has_many_targets: delivery.message.has_many_targets,
            });
        } else {
            self.left.extend(delivery.link());
        }
        if delivery.message.terms.has_idempotency_key {
            self.results.keyed.push(delivery.message.id);
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
                self.closed
                    .entry(place(delivery))
                    .or_default()
                    .add(delivery.message.terms.pending_since());
                if is_last {
                    *self.finished.entry((lane, segment)).or_default() += 1;
                }
            }
            Source::Deferred => self.put_down.push(delivery.place()),
        }
        is_last
    }
}

/// Where a delivery counts as pending.
fn place(delivery: &Delivery) -> (Shard, Target) {
    (delivery.shard(), delivery.target)
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
        has_waited: delivery.source == Source::Deferred,
    }
}

/// The error as people read it, with the class of the outcome in front.
pub fn error_text(report: &Report) -> String {
    let class = match report.outcome {
        Outcome::Rejected => "[PERMANENT]",
        Outcome::Gone => "[DISABLE]",
        Outcome::Accepted | Outcome::Unavailable { .. } | Outcome::Unknown | Outcome::NotSent => {
            "[RETRYABLE]"
        }
    };
    let error = report.error.as_deref().unwrap_or("no reason given");
    format!("{class} {}", capped(error))
}

/// PostgreSQL's text holds no NUL; what a server says may be long.
fn capped(text: &str) -> &str {
    let text = text.split('\0').next().unwrap_or_default();
    &text[..text.floor_char_boundary(ERROR_BYTES)]
}

#[cfg(test)]
mod tests;
