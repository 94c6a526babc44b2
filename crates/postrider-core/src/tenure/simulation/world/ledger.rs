//! The judge: what committed against what arrived, and whether each thing that happened has a cause.

use std::{collections::BTreeMap, sync::Arc};

use uuid::Uuid;

use super::database::{Database, Logged, Place, State};
use crate::{
    hashing::{HashMap, HashSet},
    id::{EndpointId, MessageId, Target},
    outcome::Outcome,
    tenure::delivery::Delivery,
    timestamp::Timestamp,
};

/// The dispatcher's clock is behind the database's by the way of an answer, or by a second where one came so late that
/// the clock seems to have been set back, and drifts until the next.
const CLOCK_SLACK_US: i64 = 1_500_000;
const CLOCK_AHEAD_US: i64 = 300_000;
const LONGEST_ATTEMPT_US: i64 = 3_000_000;

#[derive(Default)]
pub struct Ledger {
    attempts: HashMap<Place, Vec<Attempt>>,
    accepted: HashMap<Place, u32>,
    /// So often each has left.
    sent: HashMap<Place, usize>,
    /// What is to come in order: the messages of each ordering key, by scope.
    chains: BTreeMap<(Arc<str>, Option<EndpointId>), Vec<Link>>,
    /// Tenures that are over, as nobody but they themselves may doubt.
    over: HashSet<Uuid>,
    /// What somebody was told has ended, and how.
    ended: HashMap<Place, &'static str>,
    /// So often each was redriven.
    redrives: HashMap<Place, usize>,
    /// What a tenure has not heard of yet, and since when.
    in_flight: HashMap<(EndpointId, Uuid), Vec<(Place, Timestamp)>>,
    /// So often the database had forgotten something.
    crash_count: u32,
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
    /// Nothing was sent, as its dispatcher has heard.
    was_unsent: bool,
    crash_count: u32,
}

/// A message of an ordering key, as it is attempted.
struct Link {
    id: MessageId,
    place: Place,
    crash_count: u32,
}

impl Ledger {
    fn find(&mut self, place: Place, text: &str) {
        let (MessageId(id), Target(target)) = place;
        self.findings.push(format!("message {id} to {target}: {text}"));
    }

    fn is_live(&self, database: &Database, id: Uuid) -> bool {
        !self.over.contains(&id) && database.is_live(id)
    }

    /// A delivery leaves.
    pub fn begin(&mut self, database: &Database, by: Uuid, delivery: &Delivery) {
        let place = (delivery.message.id, delivery.target);
        self.attempt_count += 1;
        *self.sent.entry(place).or_default() += 1;
        if database.is_lease_over(by) {
            self.find(place, "attempted by a dispatcher whose lease is over");
        }
        self.judge_terms(database, place);
        self.judge_others(database, by, place);
        self.judge_retries(database, delivery);
        self.judge_order(database, place, delivery.endpoint);
        self.judge_places(database, by, place, delivery.endpoint);
        let crash_count = self.crash_count;
        self.attempts.entry(place).or_default().push(Attempt {
            by,
            was_accepted: false,
            is_heard: false,
            heard_accepted: false,
            was_unsent: false,
            crash_count,
        });
    }

    /// Whether it may go at all, and at this time.
    fn judge_terms(&mut self, database: &Database, place: Place) {
        let earliest = database.earliest();
        let Some(logged) = database.log.get(&place.0.0) else {
            return self.find(place, "attempted, and forgotten");
        };
        if logged.state != State::Committed {
            self.find(place, "attempted, and not committed");
        }
        let terms = &logged.row.terms;
        // What was due by the clock before it was set back may be taken by then, and go later; and so may what is due by
        // the clock of somebody who has not heard of it.
        if terms.scheduled_at.is_some_and(|at| database.latest().0 + CLOCK_AHEAD_US < at.0) {
            self.find(place, "attempted before its time");
        }
        // What is redriven does not expire any more.
        let expires_at = terms
            .expires_at
            .filter(|_| database.deferred.get(&place).is_none_or(|row| row.expires_at.is_some()));
        if expires_at.is_some_and(|at| earliest.0 > at.0 + CLOCK_SLACK_US) {
            self.find(place, "attempted after it had expired");
        }
        if let Some(end) = self.ended.get(&place) {
            self.find(place, &format!("attempted after it had {end}, as somebody was told"));
        } else if database.has_ended(place) {
            self.find(place, "attempted, though its end is on record");
        }
    }

    /// Who else has it.
    fn judge_others(&mut self, database: &Database, by: Uuid, place: Place) {
        let Some(before) = self.attempts.get(&place) else { return };
        let is_twice = before.iter().any(|a| !a.is_heard && a.by == by);
        let is_twice_live = before.iter().any(|a| !a.is_heard && self.is_live(database, a.by));
        let was_told = before.iter().any(|a| a.heard_accepted && self.is_live(database, a.by));
        if is_twice {
            self.find(place, "twice in flight in one tenure");
        } else if is_twice_live {
            self.find(place, "in flight from two tenures that both live");
        }
        if was_told {
            self.find(place, "attempted again, though who knows that it was accepted lives");
        }
    }

    /// Whether each attempt is counted, and nothing else.
    fn judge_retries(&mut self, database: &Database, delivery: &Delivery) {
        let place = (delivery.message.id, delivery.target);
        let recorded = database.attempts.get(&place).copied().unwrap_or(0);
        if recorded != delivery.retry_count {
            let text =
                format!("{} retries, and {recorded} attempts on record", delivery.retry_count);
            self.find(place, &text);
        }
        let before = self.attempts.get(&place).map_or(&[][..], |attempts| attempts);
        let counted = before.iter().filter(|a| !a.was_unsent && a.crash_count == self.crash_count);
        let more = counted.count().saturating_sub(delivery.retry_count as usize);
        if more > 0 && more > self.uncounted(database, place) {
            self.find(place, "attempted before, and no retry is used up");
        }
    }

    /// What waited and was in nobody's hands has its retries when a dispatcher has died.
    pub fn judge_recovery(&mut self, database: &Database, unclaimed: &[(Place, u32)]) {
        for (place, before) in unclaimed {
            if database.deferred.get(place).is_some_and(|row| row.retry_count > *before) {
                self.find(*place, "a retry is used up, and nobody had claimed it");
            }
        }
    }

    /// Whether it is its turn.
    fn judge_order(&mut self, database: &Database, place: Place, endpoint: EndpointId) {
        let Some(logged) = database.log.get(&place.0.0) else { return };
        let Some(key) = &logged.row.terms.ordering_key else { return };
        let scope = (!database.is_global).then_some(endpoint);
        let inserted_at = logged.inserted_at;
        let is_in_scope = |target: &Target| database.is_global || target.0 == endpoint.0;
        let mut findings = Vec::new();
        for other in database.before_of_key(key, place.0) {
            let row = &other.row;
            let is_of_same = row.xid == logged.row.xid && other.committed_at == logged.committed_at;
            let is_before = is_of_same || other.committed_at.is_some_and(|at| at < inserted_at);
            if !is_before {
                continue;
            }
            for target in row.targets.as_slice().iter().filter(|target| is_in_scope(target)) {
                let earlier = (row.id, *target);
                // What has expired ends wherever it is.
                let horizon = Timestamp(database.latest().0 + CLOCK_AHEAD_US);
                let is_late = row.terms.expires_at.is_some_and(|at| at <= horizon);
                let is_over = database.has_ended(earlier) || self.ended.contains_key(&earlier);
                let is_over = is_over || is_late;
                // One that is redriven comes when it comes.
                let is_back = database.is_redriven(earlier);
                if !is_over && !is_back {
                    findings.push(format!("goes before {} to {}", earlier.0.0, target.0));
                }
            }
        }
        let chain = self.chains.entry((Arc::clone(key), scope)).or_default();
        let crash_count = self.crash_count;
        let is_passed = |link: &&Link| {
            let later = database.log.get(&link.id.0);
            link.id > place.0
                && link.crash_count == crash_count
                && logged
                    .committed_at
                    .is_some_and(|at| later.is_some_and(|later| at < later.inserted_at))
        };
        if let Some(link) = chain.iter().find(is_passed) {
            findings.push(format!("goes after {}", link.id.0));
        }
        let others: Vec<Place> =
            chain.iter().filter(|link| link.id != place.0).map(|link| link.place).collect();
        if !chain.iter().any(|link| link.place == place) {
            chain.push(Link { id: place.0, place, crash_count });
        }
        let is_back = database.is_redriven(place);
        findings.retain(|text| !is_back || !text.starts_with("goes after"));
        for other in others {
            let attempts = self.attempts.get(&other).map_or(&[][..], |attempts| attempts);
            if attempts.iter().any(|a| !a.is_heard && self.is_live(database, a.by)) {
                findings.push(format!("in flight beside {} of its key", other.0.0));
            }
        }
        for text in findings {
            self.find(place, &text);
        }
    }

    /// Whether the endpoint gets more at a time than it should.
    fn judge_places(&mut self, database: &Database, by: Uuid, place: Place, endpoint: EndpointId) {
        let in_flight = self.in_flight.entry((endpoint, by)).or_default();
        in_flight.push((place, database.clock));
        let own = in_flight.len();
        let of_endpoint = self.in_flight.iter().filter(|((id, _), _)| *id == endpoint);
        let live = of_endpoint.filter(|((_, by), _)| self.is_live(database, *by));
        // What began before was answered long ago, though a dispatcher that is frozen may not have heard of it.
        let is_under_way = |(_, began_at): &&(Place, Timestamp)| {
            database.clock.0 - began_at.0 <= LONGEST_ATTEMPT_US
        };
        let (mut count, mut tenures) = (0, 0);
        for (_, in_flight) in live {
            count += in_flight.iter().filter(is_under_way).count();
            tenures += 1;
        }
        let row = database.endpoints.iter().find(|row| row.id == endpoint);
        let most = row.and_then(|row| row.config["concurrency"].as_u64()).unwrap_or(0) as usize;
        // Whoever gives a shard away may have in flight what it began with it.
        let is_settled = database.clock.0 - database.moved_at.0 > LONGEST_ATTEMPT_US;
        let part = match is_settled {
            true => database.places(by, endpoint, most),
            false => most,
        };
        // A probe goes beside what is in flight.
        let probe = usize::from(database.has_failed_once(endpoint));
        if own > part + probe {
            let text = format!("{own} in flight to {} from one tenure, not {part}", endpoint.0);
            self.findings.push(text);
        }
        // Parts are rounded up, and everybody has one place.
        if is_settled && count > most + probe + tenures - 1 {
            self.findings.push(format!("{count} in flight to {}, not {most}", endpoint.0));
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
    pub fn hear(&mut self, delivery: &Delivery, by: Uuid, outcome: Outcome) {
        let place = (delivery.message.id, delivery.target);
        if let Some(in_flight) = self.in_flight.get_mut(&(delivery.endpoint, by))
            && let Some(number) = in_flight.iter().position(|(other, _)| *other == place)
        {
            in_flight.swap_remove(number);
        }
        if let Some(attempts) = self.attempts.get_mut(&place)
            && let Some(attempt) = attempts.iter_mut().find(|a| a.by == by && !a.is_heard)
        {
            attempt.is_heard = true;
            attempt.heard_accepted = outcome == Outcome::Accepted;
            attempt.was_unsent = outcome == Outcome::NotSent;
        }
    }

    pub fn end_tenure(&mut self, id: Uuid) {
        self.over.insert(id);
    }

    /// Somebody was told that these have ended.
    pub fn end(&mut self, database: &Database, places: &[Place], how: &'static str) {
        for place in places {
            self.ended.insert(*place, how);
            if how != "cancelled" {
                continue;
            }
            let attempts = self.attempts.get(place).map_or(&[][..], |attempts| attempts);
            let is_known = |a: &&Attempt| a.crash_count == self.crash_count && !a.was_unsent;
            let known = attempts.iter().filter(is_known);
            // Whoever lives has it on record that it was taken. Of what was recovered that may not be on record.
            let is_in_hand = known.clone().any(|a| self.is_live(database, a.by));
            let count = known.count();
            if is_in_hand || count > 0 && count > self.uncounted(database, *place) {
                self.find(*place, "cancelled, and had been attempted");
            }
        }
    }

    pub fn redrive(&mut self, place: Place) {
        self.ended.remove(&place);
        self.attempts.remove(&place);
        *self.redrives.entry(place).or_default() += 1;
    }

    /// The database came back without these.
    pub fn crash(&mut self, forgotten: &[MessageId]) {
        self.crash_count += 1;
        let was_sent = |place: &&Place| forgotten.contains(&place.0);
        let mut sent: Vec<Place> = self.attempts.keys().filter(was_sent).copied().collect();
        sent.sort_unstable();
        for place in sent {
            self.find(place, "attempted, and forgotten by the database");
        }
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
                } else if database.is_delivered(place) && accepted == 0 {
                    self.find(place, "recorded as delivered, and nobody has it");
                } else if database.is_delivered(place) && self.ended.contains_key(&place) {
                    self.find(place, "recorded as delivered, and ended otherwise");
                }
                if accepted as usize > self.sent.get(&place).copied().unwrap_or(0) {
                    self.find(place, "accepted more often than attempted");
                }
                // Who has heard that it was accepted, and lives on, has recorded it: then nobody repeats it. Who is
                // still frozen at the end may have lost its lease before it could.
                let is_known = |attempt: &&Attempt| {
                    attempt.was_accepted
                        && attempt.heard_accepted
                        && self.is_live(database, attempt.by)
                };
                let tries = self.attempts.get(&place).map_or(&[][..], |attempts| attempts);
                if tries.iter().filter(is_known).count() > 1 {
                    self.find(place, "accepted twice, without a cause");
                }
            }
        }
    }

    /// So many attempts may be recovered as if they had not been.
    fn uncounted(&self, database: &Database, place: Place) -> usize {
        let Some(logged) = database.log.get(&place.0.0) else { return 0 };
        let scheduled_at = logged.row.terms.scheduled_at;
        let set_back = scheduled_at.map_or(0, |at| database.set_back_count(at));
        set_back + self.passer_count(database, place, logged)
    }

    /// How many deliveries of the same ordering key with a lower number committed after this one was sent, or were
    /// redriven, whatever has become of them since: each may come between an attempt and its recovery, which holds for
    /// attempted only what has the lowest number of its key.
    fn passer_count(&self, database: &Database, place: Place, logged: &Logged) -> usize {
        let Some(key) = &logged.row.terms.ordering_key else { return 0 };
        let is_in_scope = |target: &&Target| database.is_global || **target == place.1;
        let passers = database.before_of_key(key, place.0).map(|other| {
            let targets = other.row.targets.as_slice().iter().filter(is_in_scope);
            let is_late = other.committed_at.is_some_and(|at| at >= logged.inserted_at);
            let redrives = |target: &Target| self.redrives.get(&(other.row.id, *target));
            let redriven: usize = targets.clone().filter_map(redrives).sum();
            if is_late { targets.count() + redriven } else { redriven }
        });
        passers.sum()
    }
}
