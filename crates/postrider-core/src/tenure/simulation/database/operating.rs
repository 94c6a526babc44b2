//! What operators, applications and strangers do to what was sent: cancel, retry, fail, skip, redrive, hold.

use std::sync::Arc;

use super::{Database, DeferredRow, Place, State};
use crate::{
    id::{EndpointId, MessageId, Target},
    mark::mark,
    snapshot::Xid,
    tenure::signal::Signal,
    timestamp::Timestamp,
};

/// What is done to what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Retry,
    Fail,
    Skip,
}

/// What a transaction does once it is committed, as it was when it was told to.
#[derive(Clone)]
pub enum Act {
    /// Nothing: it only holds rows.
    Hold,
    Cancel {
        waiting: Vec<Place>,
        unread: Vec<Place>,
    },
    Tell {
        verb: Verb,
        places: Vec<Place>,
        at: Timestamp,
    },
    Redrive {
        place: Place,
        endpoint: EndpointId,
        at: Timestamp,
    },
}

/// What has come of it.
pub enum Done {
    Ended(Vec<Place>, &'static str),
    Redriven(Place),
    Nothing,
}

impl Database {
    /// What a transaction will have done.
    pub fn act(&self, xid: Xid) -> Option<&Act> {
        self.acts.get(&xid)
    }

    pub fn is_locked(&self, place: &Place) -> bool {
        self.row_locks.contains_key(place)
    }

    /// Whoever of these keys is behind may go, as dispatchers are told.
    fn ring_keys(&mut self, rows: &[DeferredRow]) {
        let freed = rows.iter().filter(|row| !row.is_blocked);
        self.signals.extend(freed.filter_map(|row| Some(Signal::Key(mark(row.key.as_deref()?)))));
    }

    /// Somebody locks these rows, and nothing else.
    pub fn hold(&mut self, places: Vec<Place>) -> Xid {
        let xid = self.begin();
        for place in places {
            if self.deferred.contains_key(&place) {
                self.row_locks.entry(place).or_insert(xid);
            }
        }
        self.acts.insert(xid, Act::Hold);
        xid
    }

    /// See `cancel_message.sql`; `None`: somebody else is at it.
    pub fn cancel(&mut self, id: MessageId) -> Option<Xid> {
        let logged = self.log.get(&id.0)?;
        if logged.state != State::Committed || self.message_locks.contains_key(&id) {
            return None;
        }
        let row = logged.row.clone();
        let places = row.targets.as_slice().iter().map(|target| (id, *target));
        let places: Vec<Place> = places.collect();
        if places.iter().any(|place| self.is_locked(place)) {
            return None;
        }
        let is_claimed = self.claims.iter().any(|(_, claim)| claim.id == id);
        let may_be_given_up = |place: &&Place| {
            self.deferred.get(place).is_some_and(|row| {
                row.retry_count == 0
                    && row.recovery_count == 0
                    && self.attempts.get(place).copied().unwrap_or(0) == 0
                    && !self.letters.contains_key(place)
                    && !self.cancellations.contains(place)
                    && !is_claimed
            })
        };
        let waiting: Vec<Place> = places.iter().filter(may_be_given_up).copied().collect();
        let is_taken = self.is_taken(&row);
        let is_unread = |place: &&Place| {
            !waiting.contains(place)
                && !is_taken
                && !self.deferred.contains_key(place)
                && !self.has_ended(**place)
                && !self.cancellations.contains(place)
        };
        let unread: Vec<Place> = places.iter().filter(is_unread).copied().collect();
        let xid = self.begin();
        self.message_locks.insert(id, xid);
        self.row_locks.extend(waiting.iter().map(|place| (*place, xid)));
        self.acts.insert(xid, Act::Cancel { waiting, unread });
        Some(xid)
    }

    /// See `hold_deliveries.sql`; `None`: it is refused.
    pub fn tell(&mut self, verb: Verb, id: MessageId) -> Option<Xid> {
        if self.message_locks.contains_key(&id) {
            return None;
        }
        let is_free = |place: &&Place| !self.cancellations.contains(place);
        let places: Vec<Place> = self
            .deferred
            .range((id, Target(i32::MIN))..=(id, Target(i32::MAX)))
            .map(|(place, _)| place)
            .filter(is_free)
            .copied()
            .collect();
        let holders = self.claim_holders(id);
        let is_in_hand = |place: &Place| {
            self.claims.iter().any(|(by, claim)| {
                holders.contains(by)
                    && (claim.id, claim.target) == *place
                    && claim.retry_count == self.deferred[place].retry_count
            })
        };
        let is_refused = |place: &Place| {
            let row = &self.deferred[place];
            let scheduled_at = self.log[&id.0].row.terms.scheduled_at;
            let is_early = row.run_at.is_some_and(|at| at > self.now)
                && scheduled_at.is_some_and(|at| at > self.now);
            self.is_locked(place)
                || is_in_hand(place)
                || verb == Verb::Retry && (row.is_blocked || is_early)
        };
        if places.is_empty() || places.iter().any(is_refused) {
            return None;
        }
        let xid = self.begin();
        self.message_locks.insert(id, xid);
        self.row_locks.extend(places.iter().map(|place| (*place, xid)));
        self.acts.insert(xid, Act::Tell { verb, places, at: self.now });
        Some(xid)
    }

    /// What may be redriven.
    pub fn failed(&self) -> Vec<Place> {
        let failed = self
            .letters
            .iter()
            .filter(|(place, is_redriven)| !**is_redriven && !self.deferred.contains_key(place));
        failed.map(|(place, _)| *place).collect()
    }

    /// See `redrive_letters.sql`.
    pub fn redrive(&mut self, place: Place) -> Option<Xid> {
        if !self.failed().contains(&place) {
            return None;
        }
        let is_taken =
            |act: &Act| matches!(act, Act::Redrive { place: other, .. } if *other == place);
        if self.acts.values().any(is_taken) {
            return None;
        }
        let xid = self.begin();
        let endpoint = self.endpoint_of(place.1);
        self.acts.insert(xid, Act::Redrive { place, endpoint, at: self.now });
        Some(xid)
    }

    /// See `expire_waiting.sql`: in a transaction of its own, which waits for the disk before anybody is told.
    pub fn expire(&mut self) -> Done {
        self.write();
        let is_over = |(place, row): &(&Place, &DeferredRow)| {
            let holders = self.claim_holders(place.0);
            let is_claimed = self.claims.iter().any(|(by, claim)| {
                holders.contains(by)
                    && (claim.id, claim.target) == **place
                    && claim.retry_count == row.retry_count
            });
            row.expires_at.is_some_and(|at| at <= self.now)
                && !is_claimed
                && !self.is_locked(place)
                && !self.message_locks.contains_key(&place.0)
                && !self.cancellations.contains(place)
        };
        let places: Vec<Place> =
            self.deferred.iter().filter(is_over).map(|(place, _)| *place).collect();
        let rows = self.take_away(&places);
        self.ended.extend(places.iter().copied());
        self.ring_keys(&rows);
        self.harden();
        Done::Ended(places, "expired")
    }

    fn take_away(&mut self, places: &[Place]) -> Vec<DeferredRow> {
        places.iter().filter_map(|place| self.deferred.remove(place)).collect()
    }

    /// A transaction of somebody's ends.
    pub fn end_act(&mut self, xid: Xid, state: State) -> Done {
        self.end(xid, state);
        self.row_locks.retain(|_, by| *by != xid);
        self.message_locks.retain(|_, by| *by != xid);
        let Some(act) = self.acts.remove(&xid) else { return Done::Nothing };
        if state == State::Aborted {
            return Done::Nothing;
        }
        let done = match act {
            Act::Hold => Done::Nothing,
            Act::Cancel { waiting, unread } => {
                let rows = self.take_away(&waiting);
                self.cancellations.extend(unread.iter().copied());
                self.ended.extend(waiting.iter().chain(&unread).copied());
                self.ring_keys(&rows);
                Done::Ended([waiting, unread].concat(), "cancelled")
            }
            Act::Tell { verb: Verb::Retry, places, at: told_at } => {
                for place in places {
                    if let Some(row) = self.deferred.get_mut(&place) {
                        row.run_at = row.run_at.map(|at| at.min(told_at));
                    }
                }
                self.signals.push(Signal::Deferred);
                Done::Nothing
            }
            Act::Tell { verb, places, .. } => {
                let rows = self.take_away(&places);
                match verb {
                    Verb::Fail => self.letters.extend(places.iter().map(|place| (*place, false))),
                    _ => self.ended.extend(places.iter().copied()),
                }
                self.ring_keys(&rows);
                self.signals.push(Signal::Deferred);
                Done::Ended(places, if verb == Verb::Fail { "failed" } else { "skipped" })
            }
            Act::Redrive { place, endpoint, at } => self.bring_back(place, endpoint, at),
        };
        self.harden();
        done
    }

    /// The same message, no retries used, no expiry.
    fn bring_back(&mut self, place: Place, endpoint: EndpointId, at: Timestamp) -> Done {
        let key: Option<Arc<str>> = self.log[&place.0.0].row.terms.ordering_key.clone();
        self.letters.insert(place, true);
        self.attempts.remove(&place);
        // What was claimed before is void.
        self.claims.retain(|(_, claim)| (claim.id, claim.target) != place);
        let row = DeferredRow {
            endpoint,
            run_at: Some(at),
            retry_count: 0,
            recovery_count: 0,
            expires_at: None,
            key,
            is_blocked: false,
        };
        self.deferred.insert(place, row);
        self.signals.push(Signal::Deferred);
        Done::Redriven(place)
    }
}
