//! The judge: what committed against what arrived, and whether each thing that happened has a cause.

use postrider_core::hashing::{HashMap, HashSet};
use postrider_core::id::{MessageId, Target};
use uuid::Uuid;

use super::database::{Database, State};
use crate::{engine::delivery::Delivery, store::wire::Timestamp};

/// The dispatcher's clock is behind the database's by the way of an answer.
const CLOCK_SLACK_US: i64 = 400_000;
/// A delivery has its own clock when it is decided to go, and goes a moment later.
type Place = (MessageId, Target);

#[derive(Default)]
pub struct Ledger {
    attempts: HashMap<Place, Vec<Attempt>>,
    accepted: HashMap<Place, u32>,
    /// Tenures that are over, as nobody but they themselves may doubt.
    over: HashSet<Uuid>,
    pub findings: Vec<String>,
    pub attempt_count: usize,
    pub duplicate_count: usize,
}

struct Attempt {
    by: Uuid,
    was_accepted: bool,
    /// Its dispatcher has heard how it ended.
    is_heard: bool,
    heard_accepted: bool,
}

impl Ledger {
    fn find(&mut self, place: Place, text: &str) {
        let (MessageId(id), Target(target)) = place;
        self.findings.push(format!("message {id} to {target}: {text}"));
    }

    /// A delivery leaves.
    pub fn begin(&mut self, database: &Database, by: Uuid, delivery: &Delivery, now: Timestamp) {
        let place = (delivery.message.id, delivery.target);
        self.attempt_count += 1;
        if database.log.get(&place.0.0).map(|logged| logged.state) != Some(State::Committed) {
            self.find(place, "attempted, and not committed");
        }
        let terms = &delivery.message.terms;
        if terms.scheduled_at.is_some_and(|at| now < at) {
            self.find(place, "attempted before its time");
        }
        if terms.expires_at.is_some_and(|at| now.0 > at.0 + CLOCK_SLACK_US) {
            self.find(place, "attempted after it had expired");
        }
        let before = self.attempts.entry(place).or_default();
        let is_twice = before.iter().any(|a| !a.is_heard && a.by == by);
        let is_live = |id: Uuid| !self.over.contains(&id) && database.is_live(id);
        let is_twice_live = before.iter().any(|a| !a.is_heard && is_live(a.by));
        let was_told = before.iter().any(|a| a.heard_accepted && is_live(a.by));
        before.push(Attempt { by, was_accepted: false, is_heard: false, heard_accepted: false });
        if is_twice {
            self.find(place, "twice in flight in one tenure");
        } else if is_twice_live {
            self.find(place, "in flight from two tenures that both live");
        }
        if was_told {
            self.find(
                place,
                "attempted again by somebody, though who knows that it was accepted lives",
            );
        }
    }

    /// The receiver has taken it.
    pub fn accept(&mut self, place: Place, by: Uuid) {
        let count = self.accepted.entry(place).or_default();
        *count += 1;
        self.duplicate_count += usize::from(*count > 1);
        if let Some(attempts) = self.attempts.get_mut(&place)
            && let Some(attempt) = attempts.iter_mut().rev().find(|attempt| attempt.by == by)
        {
            attempt.was_accepted = true;
        }
    }

    /// The dispatcher has heard how an attempt ended.
    pub fn hear(&mut self, place: Place, by: Uuid, is_accepted: bool) {
        if let Some(attempts) = self.attempts.get_mut(&place)
            && let Some(attempt) = attempts.iter_mut().find(|a| a.by == by && !a.is_heard)
        {
            attempt.is_heard = true;
            attempt.heard_accepted = is_accepted;
        }
    }

    pub fn end_tenure(&mut self, id: Uuid) {
        self.over.insert(id);
    }

    /// Whether everything that committed has ended.
    pub fn is_drained(database: &Database) -> bool {
        let committed = database.log.values().filter(|logged| logged.state == State::Committed);
        let mut places = committed.flat_map(|logged| {
            logged.row.targets.as_slice().iter().map(|target| (logged.row.id, *target))
        });
        database.deferred.is_empty()
            // A message to nobody has no place: nobody records it that a dead dispatcher had taken.
            && places.all(|place| database.has_ended(place))
    }

    /// At the end.
    pub fn judge(&mut self, database: &Database) {
        for logged in database.log.values().filter(|logged| logged.state == State::Committed) {
            for target in logged.row.targets.as_slice() {
                let place = (logged.row.id, *target);
                let accepted = self.accepted.get(&place).copied().unwrap_or(0);
                if !database.has_ended(place) {
                    self.find(place, "lost: it has not ended");
                }
                if database.has_ended(place) && !database.failed.contains(&place) && accepted == 0 {
                    self.find(place, "recorded as delivered, and nobody has it");
                }
                // Who has heard that it was accepted, and lives on, has recorded it: then nobody repeats it. Who is
                // still frozen at the end may have lost its lease before it could.
                let is_known = |attempt: &&Attempt| {
                    attempt.was_accepted
                        && attempt.heard_accepted
                        && !self.over.contains(&attempt.by)
                        && database.is_live(attempt.by)
                };
                let tries = self.attempts.get(&place).map_or(&[][..], |attempts| attempts);
                if tries.iter().filter(is_known).count() > 1 {
                    self.find(place, "accepted twice, without a cause");
                }
            }
        }
    }
}
