//! Applications that send, operators, and strangers who hold rows.

use std::{sync::Arc, time::Duration};

use super::{
    State, Todo, World,
    database::{Done, PRIORITIES, Place, Verb},
    ms,
};
use crate::{
    id::{Lane, MessageId, Priority, Shard, Target},
    message::{Content, LogMessage, Targets, Terms},
    tenure::signal::Signal,
    timestamp::Timestamp,
};

/// So many ordering keys there are.
const KEYS: usize = 4;

/// How many messages the transaction of this seed sends: the first that its dice say.
pub fn message_count(seed: u64) -> usize {
    count(&mut fastrand::Rng::with_seed(seed))
}

fn count(dice: &mut fastrand::Rng) -> usize {
    dice.usize(1..=7)
}

impl World {
    pub fn send(&mut self, seed: u64) {
        let mut dice = fastrand::Rng::with_seed(seed);
        let xid = self.database.begin();
        let count = count(&mut dice);
        let mut rings = false;
        for _ in 0..count {
            let key = (dice.u32(..2) == 0).then(|| dice.usize(..KEYS));
            let shard = match key {
                Some(key) => Shard(key as i16 % self.shard_count),
                None => Shard(dice.i16(0..self.shard_count)),
            };
            let lane = match key {
                Some(_) => Lane::keyed(shard),
                None => Lane::new(shard, PRIORITIES[dice.usize(..PRIORITIES.len())]),
            };
            rings |= self.database.asleep.contains_key(&shard);
            let now = self.database.now;
            let chance = dice.u32(..20);
            let later = Timestamp(now.0 + dice.i64(0..5_000_000));
            let last = self.receivers.len() as i32;
            let first = Target(dice.i32(1..=last));
            let targets = match dice.u32(..10) {
                0 => Targets::Many((1..=last).map(Target).collect()),
                1 => Targets::Many(Box::new([])),
                _ => Targets::One(first),
            };
            let delivery_count = targets.as_slice().len();
            let row = |id: MessageId| LogMessage {
                id,
                xid,
                targets,
                terms: Terms {
                    created_at: now,
                    scheduled_at: (chance == 0).then_some(later),
                    expires_at: (chance == 1).then_some(later),
                    priority: Priority::new(id.0 as i16 & 15),
                    ordering_key: key.map(|key| Arc::from(format!("key {key}"))),
                    has_idempotency_key: false,
                },
                content: Content::gone(),
            };
            let id = self.database.insert(delivery_count, row, lane);
            self.tell(|| format!("application: transaction {xid} sends {} with {key:?}", id.0));
        }
        let wait = match dice.u32(..20) {
            0 => ms(dice.u64(..5_000)),
            _ => ms(dice.u64(..30)),
        };
        let state = if dice.u32(..6) == 0 { State::Aborted } else { State::Committed };
        let is_hard = dice.u32(..3) > 0;
        let crash_count = self.database.crash_count;
        self.later_or_calm(wait, Todo::Commit { xid, crash_count, state, rings, is_hard });
    }

    pub fn commit(&mut self, xid: u64, state: State, rings: bool, is_hard: bool) {
        self.tell(|| format!("application: transaction {xid} is {state:?}, on disk: {is_hard}"));
        self.database.end(xid, state);
        if state == State::Committed {
            if is_hard {
                self.database.harden();
            }
            if rings {
                self.database.signals.push(Signal::Ring);
            }
        }
    }

    // Operators -------------------------------------------------------------------------------------

    pub fn operate(&mut self, seed: u64) {
        let mut dice = fastrand::Rng::with_seed(seed);
        let ids: Vec<i64> = self.database.log.keys().copied().collect();
        let waiting: Vec<Place> = self.database.deferred.keys().copied().collect();
        let (xid, what) = match dice.u32(..12) {
            0..4 if !ids.is_empty() => {
                // What is new has mostly not been attempted.
                let back = dice.usize(..ids.len().min(12));
                let id = MessageId(ids[ids.len() - 1 - back]);
                (self.database.cancel(id), format!("cancels {}", id.0))
            }
            4..7 if !waiting.is_empty() => {
                let id = waiting[dice.usize(..waiting.len())].0;
                let verb = [Verb::Retry, Verb::Fail, Verb::Skip][dice.usize(..3)];
                (self.database.tell(verb, id), format!("{verb:?} of {}", id.0))
            }
            7 if !waiting.is_empty() => {
                let most = dice.usize(1..=waiting.len());
                let places: Vec<Place> = waiting.into_iter().take(most).collect();
                let what = format!("holds {places:?}");
                (Some(self.database.hold(places)), what)
            }
            8 => {
                let failed = self.database.failed();
                let luck = dice.usize(..100) % failed.len().max(1);
                let place = failed.get(luck);
                let xid = place.and_then(|place| self.database.redrive(*place));
                (xid, "redrives".to_owned())
            }
            9 => {
                let done = self.database.expire();
                return self.note_done(done);
            }
            _ => return self.switch_endpoint(&mut dice),
        };
        let Some(xid) = xid else { return };
        self.tell(|| format!("operator: transaction {xid} {what}"));
        let wait = match dice.u32(..3) {
            0 => ms(dice.u64(..3_000)),
            _ => ms(dice.u64(..50)),
        };
        let state = if dice.u32(..5) == 0 { State::Aborted } else { State::Committed };
        let crash_count = self.database.crash_count;
        self.later_or_calm(wait, Todo::EndAct { xid, crash_count, state });
    }

    pub fn end_act(&mut self, xid: u64, state: State) {
        self.tell(|| format!("operator: transaction {xid} is {state:?}"));
        let done = self.database.end_act(xid, state);
        self.note_done(done);
    }

    /// Somebody locks these rows for so long.
    pub fn hold(&mut self, places: Vec<Place>, wait: Duration) {
        let xid = self.database.hold(places);
        self.tell(|| format!("stranger: transaction {xid} holds what is in hand"));
        let crash_count = self.database.crash_count;
        self.later_or_calm(wait, Todo::EndAct { xid, crash_count, state: State::Committed });
    }

    fn note_done(&mut self, done: Done) {
        match done {
            Done::Ended(places, how) => {
                self.tell(|| format!("operator: {places:?} {how}"));
                self.ledger.end(&self.database, &places, how);
            }
            Done::Redriven(place) => {
                self.tell(|| format!("operator: {place:?} is redriven"));
                self.ledger.redrive(place);
            }
            Done::Nothing => {}
        }
    }

    fn switch_endpoint(&mut self, dice: &mut fastrand::Rng) {
        let number = dice.usize(..self.receivers.len());
        let row = &mut self.database.endpoints[number];
        let what = match dice.u32(..3) {
            0 => {
                row.is_paused = !row.is_paused;
                "switches"
            }
            1 => {
                row.is_enabled = !row.is_enabled;
                "switches"
            }
            // Another config, and nothing that it would say to a dispatcher.
            _ => {
                row.config["edited"] = row.version.into();
                "edits"
            }
        };
        row.version += 1;
        self.database.signals.push(Signal::Endpoints);
        self.tell(|| format!("operator: {what} endpoint {}", number + 1));
    }

    /// Faults end.
    pub fn calm(&mut self) {
        self.tell(|| "all is well from now on".to_owned());
        for row in &mut self.database.endpoints {
            if row.is_paused || !row.is_enabled {
                (row.is_paused, row.is_enabled) = (false, true);
                row.version += 1;
            }
        }
        self.database.signals.push(Signal::Endpoints);
    }
}
