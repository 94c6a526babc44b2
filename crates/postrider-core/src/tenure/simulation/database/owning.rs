//! Leases, shards and what a former owner has left behind.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use uuid::Uuid;

use super::{Database, DeferredRow, LeaseRow, PRIORITIES, Place, SavedShard, ShardRow, Wrong};
use crate::{
    checkpoint::{Checkpoint, Claim},
    hashing::HashSet,
    id::{Lane, MessageId, Shard},
    lease::{Acquired, Beat, Heartbeat, Owned, Recovered, Taken},
    message::LogMessage,
    reader::LaneState,
    tenure::{Tenure, signal::Signal},
    timestamp::{EPOCH_US, Timestamp},
    waiting::Stored,
};

/// Whether something may be sent to this lane in a simulated life.
fn is_sent_to(lane: Lane) -> bool {
    lane.is_keyed() || PRIORITIES.iter().any(|priority| lane == Lane::new(lane.shard(), *priority))
}

/// A takeover, statement by statement. Whoever takes over may be gone between any two of them.
pub struct Takeover {
    pub taken: Vec<Taken>,
    /// How they were left, once that is read.
    acquired: Vec<Acquired>,
    former: Option<Tenure>,
    /// What is still to come of it.
    parts: VecDeque<Part>,
}

/// A part of a takeover, after the shards are taken.
enum Part {
    /// How they were left is read.
    Checkpoints,
    /// What was read of one of them and not recorded waits again.
    Messages(usize),
    /// What a last owner had claimed, in all shards that it had.
    Claims(Uuid),
    /// What is first of its ordering key may go.
    Keys,
    /// What waits is read.
    Waiting,
}

impl Takeover {
    pub fn new(taken: Vec<Taken>, former: Option<Tenure>) -> Takeover {
        let owners: BTreeSet<Uuid> = taken.iter().filter_map(|taken| taken.last_owner).collect();
        let mut parts = VecDeque::from([Part::Checkpoints]);
        parts.extend((0..taken.len()).map(Part::Messages));
        parts.extend(owners.into_iter().map(Part::Claims));
        parts.extend([Part::Keys, Part::Waiting]);
        Takeover { taken, acquired: Vec::new(), former, parts }
    }

    /// What the former tenure had and has certainly not attempted, where it was the last owner.
    fn spared(&self, last_owner: Option<Uuid>) -> HashSet<Place> {
        let former = self.former.as_ref().filter(|former| Some(former.id) == last_owner);
        former.map(|former| former.spared.iter().copied().collect()).unwrap_or_default()
    }
}

impl Database {
    /// See `live_dispatchers.sql`.
    fn is_live_to(&self, id: Uuid, silent: &[Beat]) -> bool {
        self.leases.get(&id).is_some_and(|lease| {
            let is_silent = |beat: &Beat| (beat.dispatcher, beat.seq) == (id, lease.seq);
            !lease.is_over
                && (lease.until > self.now || self.sessions.contains(&id))
                && !silent.iter().any(is_silent)
        })
    }

    pub fn is_live(&self, id: Uuid) -> bool {
        self.is_live_to(id, &[])
    }

    /// Whether somebody has ended its lease.
    pub fn is_lease_over(&self, id: Uuid) -> bool {
        self.leases.get(&id).is_none_or(|lease| lease.is_over)
    }

    pub fn live(&self, silent: &[Beat]) -> Vec<Uuid> {
        self.leases.keys().copied().filter(|id| self.is_live_to(*id, silent)).collect()
    }

    fn is_takeable(&self, row: &ShardRow, me: Uuid, live: &[Uuid]) -> bool {
        self.wrong == Wrong::NoLease && row.owner != Some(me)
            || row.owner.is_none_or(|owner| !live.contains(&owner))
    }

    /// See `heartbeat.sql`. `None`: the lease is over.
    pub fn heartbeat(&mut self, me: Uuid, silent: Vec<Beat>) -> Option<Heartbeat> {
        self.write();
        let until = Timestamp(self.now.0 + self.lease.as_micros() as i64);
        let row = self.leases.entry(me).or_insert(LeaseRow { until, is_over: false, seq: 0 });
        if row.is_over {
            return None;
        }
        row.until = until;
        row.seq += 1;
        let live = self.live(&silent);
        let owned = |(shard, row): (usize, &ShardRow)| {
            let is_mine = row.owner == Some(me);
            is_mine.then_some(Owned { shard: Shard(shard as i16), epoch: row.epoch })
        };
        let beat = |(id, row): (&Uuid, &LeaseRow)| {
            let beat = Beat { dispatcher: *id, seq: row.seq, lease: self.lease };
            (*id != me && !row.is_over).then_some(beat)
        };
        let (shards, count) = (self.shards.len(), live.len().max(1));
        let before = live.iter().filter(|id| **id < me).count();
        Some(Heartbeat {
            is_alive: true,
            lease: self.lease,
            // What does not divide evenly goes to the first.
            share: shards / count + usize::from(before < shards % count),
            takeable_count: self
                .shards
                .iter()
                .filter(|row| self.is_takeable(row, me, &live))
                .count(),
            owned: self.shards.iter().enumerate().filter_map(owned).collect(),
            newest_number: Some(self.number),
            now_us: self.now.0 + EPOCH_US,
            clock_offset_ms: 0,
            others: self.leases.iter().filter_map(beat).collect(),
            silent,
        })
    }

    pub fn unregister(&mut self, me: Uuid) {
        let never = LeaseRow { until: self.now, is_over: true, seq: 0 };
        self.leases.entry(me).or_insert(never).is_over = true;
        self.asleep.retain(|_, id| *id != me);
    }

    /// `take_shards`: takes them, which is one transaction.
    pub fn take_shards(&mut self, me: Uuid, limit: usize, silent: &[Beat]) -> Vec<Taken> {
        self.write();
        let live = self.live(silent);
        if !live.contains(&me) {
            return Vec::new();
        }
        for (id, lease) in &mut self.leases {
            lease.is_over |= !live.contains(id);
        }
        let mut taken = Vec::new();
        let is_takeable = |number: &usize| self.is_takeable(&self.shards[*number], me, &live);
        let mut takeable: Vec<usize> = (0..self.shards.len()).filter(is_takeable).collect();
        // What nobody has comes last.
        takeable.sort_by_key(|number| {
            let owner = self.shards[*number].owner;
            (owner.is_none(), owner, *number)
        });
        for number in takeable.into_iter().take(limit) {
            let row = &self.shards[number];
            let mut unrecovered = match self.wrong {
                Wrong::CutOffForgotten => Vec::new(),
                _ => row.unrecovered.clone(),
            };
            let has_claimed = |owner: &Uuid| self.claims.iter().any(|(by, _)| by == owner);
            unrecovered.extend(row.owner.filter(has_claimed));
            let last_owner = row.owner.or(unrecovered.last().copied());
            self.moved_at = self.clock;
            let owned = Owned { shard: Shard(number as i16), epoch: row.epoch + 1 };
            self.shards[number] = ShardRow { owner: Some(me), epoch: owned.epoch, unrecovered };
            taken.push(Taken { owned, last_owner });
        }
        taken
    }

    /// How they were left, which is the next statement.
    fn acquired(&self, taken: &[Taken]) -> Vec<Acquired> {
        let acquire = |taken: &Taken| {
            let Taken { owned, last_owner } = *taken;
            let SavedShard { lanes: known, backlog } = &self.checkpoints[owned.shard.0 as usize];
            let backlog = *backlog;
            let read = owned.shard.lanes().filter(|lane| self.has_all_lanes || is_sent_to(*lane));
            let mut lanes: BTreeMap<Lane, LaneState> =
                read.map(|lane| (lane, LaneState::default())).collect();
            lanes.extend(known.iter().filter(|(lane, _)| lane.shard() == owned.shard).cloned());
            Acquired { owned, lanes, backlog, last_owner, held: Vec::new() }
        };
        taken.iter().map(acquire).collect()
    }

    /// What waits and no last owner has claimed, with the retries that it has used up.
    pub fn unclaimed(&self, taken: &[Taken]) -> Vec<(Place, u32)> {
        let shards = taken.iter().map(|taken| taken.owned.shard.0 as usize);
        let owners: HashSet<Uuid> =
            shards.flat_map(|shard| &self.shards[shard].unrecovered).copied().collect();
        let by_owner = self.claims.iter().filter(|(by, _)| owners.contains(by));
        let claimed: HashSet<Place> = by_owner.map(|(_, claim)| (claim.id, claim.target)).collect();
        let waiting = self.deferred.iter().filter(|(place, _)| !claimed.contains(place));
        waiting.map(|(place, row)| (*place, row.retry_count)).collect()
    }

    /// The next part of a takeover. The last one says what was taken, and what waits there.
    pub fn recover(
        &mut self,
        me: Uuid,
        takeover: &mut Takeover,
    ) -> Option<(Vec<Acquired>, Stored)> {
        let part = takeover.parts.pop_front().expect("it ends with what waits");
        let shards: Vec<Shard> = takeover.taken.iter().map(|taken| taken.owned.shard).collect();
        match part {
            Part::Checkpoints => takeover.acquired = self.acquired(&takeover.taken),
            Part::Messages(number) => {
                let taken = &takeover.acquired[number];
                self.recover_shard(me, taken, &takeover.spared(taken.last_owner));
            }
            Part::Claims(owner) => {
                let spared = takeover.spared(Some(owner));
                self.recover_claims(me, owner, &mut takeover.acquired, &spared);
            }
            Part::Keys => self.release_stored_keys(&shards),
            Part::Waiting => {
                let (links, counts) = (self.stored_keys(&shards), self.counts(&shards, None));
                let acquired = std::mem::take(&mut takeover.acquired);
                return Some((acquired, Stored { links, counts }));
            }
        }
        None
    }

    /// What was read of a shard and not recorded.
    fn recover_shard(&mut self, me: Uuid, taken: &Acquired, spared: &HashSet<Place>) {
        if self.wrong == Wrong::NothingRecovered {
            return;
        }
        let of_shard = self.ids_of(taken.owned.shard);
        for (lane, state) in &taken.lanes {
            let left = self.unfinished(*lane, state, &of_shard);
            self.recover_messages(me, &[taken.owned], &left, spared);
        }
    }

    /// See `recover_claims.sql`: of all shards that had this last owner.
    fn recover_claims(
        &mut self,
        me: Uuid,
        owner: Uuid,
        acquired: &mut [Acquired],
        spared: &HashSet<Place>,
    ) {
        let was_its = |taken: &&Acquired| taken.last_owner == Some(owner);
        let owned: Vec<Owned> = acquired.iter().filter(was_its).map(|taken| taken.owned).collect();
        let left = |taken: &Acquired| self.claims_left(taken, spared);
        let claims: Vec<Claim> = acquired.iter().filter(was_its).flat_map(left).collect();
        let held = self.recover_waiting(me, &owned, claims).held;
        for taken in acquired.iter_mut().filter(|taken| taken.last_owner == Some(owner)) {
            let is_of_shard = |claim: &&Claim| claim.id.lane().shard() == taken.owned.shard;
            taken.held = held.iter().filter(is_of_shard).copied().collect();
        }
        if self.lost(me, &owned).is_empty() {
            for owned in owned {
                self.shards[owned.shard.0 as usize].unrecovered.clear();
            }
        }
    }

    /// All messages of a shard.
    fn ids_of(&self, shard: Shard) -> Vec<MessageId> {
        let ids = self.log.keys().map(|id| MessageId(*id));
        ids.filter(|id| id.lane().shard() == shard).collect()
    }

    fn unfinished(&self, lane: Lane, state: &LaneState, ids: &[MessageId]) -> Vec<MessageId> {
        let is_left = |id: &&MessageId| {
            if id.lane() != lane {
                return false;
            }
            let logged = &self.log[&id.0];
            let row = &logged.row;
            self.is_visible(logged)
                && state.is_taken(row)
                && !state.is_finished(row)
                && (!self.done.contains(&row.id) || self.wrong == Wrong::EndsForgotten)
        };
        let mut left: Vec<MessageId> = ids.iter().filter(is_left).copied().collect();
        if self.wrong == Wrong::RecoverySkips {
            left.pop();
        }
        left
    }

    /// See `recover_messages.sql`.
    fn recover_messages(
        &mut self,
        me: Uuid,
        owned: &[Owned],
        ids: &[MessageId],
        spared: &HashSet<Place>,
    ) {
        if ids.is_empty() || !self.lost(me, owned).is_empty() {
            return;
        }
        let mut fresh: HashSet<Place> = HashSet::default();
        for id in ids {
            let row = self.log[&id.0].row.clone();
            for target in row.targets.as_slice() {
                let place = (row.id, *target);
                let has_ended = self.has_ended(place) && self.wrong != Wrong::EndsForgotten;
                if !has_ended && !self.deferred.contains_key(&place) {
                    self.put_back_taken(place, &row, !spared.contains(&place));
                    fresh.insert(place);
                }
            }
        }
        // What was cancelled before it was read has been read now, and has ended.
        let read: Vec<Place> = self.cancellations.iter().copied().collect();
        for place in read.into_iter().filter(|place| ids.contains(&place.0)) {
            if self.has_ended(place) {
                self.cancellations.remove(&place);
            }
        }
        let now = self.now;
        let is_first_of = |database: &Database, place: &Place| {
            let row = &database.deferred[place];
            let is_scheduled = database.log[&place.0.0].row.terms.scheduled_at;
            row.is_blocked
                && !database.is_locked(place)
                && is_scheduled.is_none_or(|at| at <= now)
                && !database.is_behind(place, row, false)
        };
        let places: Vec<Place> =
            self.deferred.keys().filter(|place| ids.contains(&place.0)).copied().collect();
        let firsts: Vec<Place> = places.into_iter().filter(|p| is_first_of(self, p)).collect();
        let counted: Vec<bool> = firsts
            .iter()
            .map(|place| {
                // What waited before is attempted after a claim.
                let may_be = fresh.contains(place) || self.wrong == Wrong::WaitingCharged;
                may_be && !spared.contains(place) && !self.is_behind_anywhere(place, self.is_global)
            })
            .collect();
        for (place, is_counted) in firsts.into_iter().zip(counted) {
            let row = self.deferred.get_mut(&place).expect("it waits");
            row.is_blocked = false;
            row.run_at = Some(now);
            if is_counted {
                row.retry_count += 1;
                row.recovery_count += 1;
                *self.attempts.entry(place).or_default() += 1;
            }
        }
    }

    fn put_back_taken(&mut self, place: Place, row: &LogMessage, were_attempted: bool) {
        let later = row.terms.scheduled_at.filter(|at| *at > self.now);
        let is_blocked = row.terms.ordering_key.is_some();
        let is_counted = were_attempted && later.is_none() && !is_blocked;
        let mut deferred = DeferredRow {
            endpoint: self.endpoint_of(place.1),
            run_at: None,
            retry_count: is_counted.into(),
            recovery_count: is_counted.into(),
            expires_at: row.terms.expires_at,
            key: row.terms.ordering_key.clone(),
            is_blocked,
        };
        match later {
            // It is due whenever it expires.
            None if !is_blocked => deferred.run_at = Some(self.now),
            later => deferred.wait(later.filter(|_| !is_blocked)),
        }
        if is_counted {
            *self.attempts.entry(place).or_default() += 1;
        }
        self.deferred.insert(place, deferred);
    }

    /// Of those whose claims nobody has recovered.
    fn claims_left(&self, taken: &Acquired, spared: &HashSet<Place>) -> Vec<Claim> {
        let shard = taken.owned.shard;
        let owners = &self.shards[shard.0 as usize].unrecovered;
        let is_left = |(by, claim): &&(Uuid, Claim)| {
            (owners.contains(by) || taken.last_owner == Some(*by))
                && claim.id.lane().shard() == shard
                && !spared.contains(&(claim.id, claim.target))
        };
        let mut claims: Vec<Claim> = Vec::new();
        for (_, claim) in self.claims.iter().filter(is_left) {
            let is_same = |other: &Claim| {
                (other.id, other.target, other.retry_count)
                    == (claim.id, claim.target, claim.retry_count)
            };
            if !claims.iter().any(is_same) {
                claims.push(*claim);
            }
        }
        claims
    }

    /// What waits as this dispatcher has claimed it.
    pub fn claimed_by(&self, id: Uuid) -> Vec<Place> {
        let is_in_hand = |(by, claim): &&(Uuid, Claim)| {
            let row = self.deferred.get(&(claim.id, claim.target));
            *by == id && row.is_some_and(|row| row.retry_count == claim.retry_count)
        };
        let claims = self.claims.iter().filter(is_in_hand);
        let mut places: Vec<Place> = claims.map(|(_, claim)| (claim.id, claim.target)).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// See `recover_waiting.sql`.
    pub fn recover_waiting(
        &mut self,
        me: Uuid,
        owned: &[Owned],
        mut claims: Vec<Claim>,
    ) -> Recovered {
        if !self.lost(me, owned).is_empty() {
            return Recovered { count: 0, held: claims };
        }
        let shards: Vec<Shard> = owned.iter().map(|owned| owned.shard).collect();
        claims.retain(|claim| {
            let place = (claim.id, claim.target);
            self.deferred.get(&place).is_some_and(|row| {
                row.retry_count == claim.retry_count
                    && shards.contains(&claim.id.lane().shard())
                    && !self.is_behind(&place, row, self.is_global)
            })
        });
        let (held, free): (Vec<Claim>, Vec<Claim>) =
            claims.into_iter().partition(|claim| self.is_locked(&(claim.id, claim.target)));
        if self.wrong != Wrong::HeldForgotten {
            self.claims.extend(held.iter().map(|claim| (me, *claim)));
        }
        let count = free.len() as i32;
        if self.wrong == Wrong::RetryNotRaised {
            return Recovered { count, held };
        }
        for claim in free {
            let place = (claim.id, claim.target);
            let row = self.deferred.get_mut(&place).expect("it waits");
            row.run_at = Some(self.now);
            row.retry_count += 1;
            row.recovery_count += 1;
            row.is_blocked = false;
            *self.attempts.entry(place).or_default() += 1;
        }
        Recovered { count, held }
    }

    pub fn save_checkpoint(
        &mut self,
        me: Uuid,
        owned: &[Owned],
        checkpoint: Checkpoint,
    ) -> Vec<Owned> {
        self.write();
        let lost = self.lost(me, owned);
        if lost.is_empty() && self.wrong != Wrong::CheckpointsLost {
            let mut lanes = checkpoint.lanes;
            if self.wrong == Wrong::CheckpointAhead {
                lanes.iter_mut().for_each(|(_, state)| state.done = Vec::new());
            }
            let lanes = Arc::new(lanes);
            for (owned, backlog) in owned.iter().zip(checkpoint.backlogs) {
                let saved = SavedShard { lanes: Arc::clone(&lanes), backlog };
                self.checkpoints[owned.shard.0 as usize] = saved;
            }
        }
        lost
    }

    /// See `release_shards.sql`, which rings.
    pub fn release(
        &mut self,
        me: Uuid,
        owned: &[Owned],
        released: &[Owned],
        checkpoint: Checkpoint,
    ) {
        if self.wrong == Wrong::ReleasedUnwritten {
            let shard = released.first().map_or(0, |owned| owned.shard.0);
            self.checkpoints[shard as usize] = SavedShard::default();
        } else {
            self.save_checkpoint(me, owned, checkpoint);
        }
        for Owned { shard, epoch } in released {
            let row = &mut self.shards[shard.0 as usize];
            if row.owner == Some(me) && row.epoch == *epoch {
                row.owner = None;
                self.moved_at = self.clock;
            }
        }
        self.signals.push(Signal::Shards);
    }

    /// See `claim_holders.sql`: of a message's shard.
    pub fn claim_holders(&self, id: MessageId) -> Vec<Uuid> {
        let row = &self.shards[id.lane().shard().0 as usize];
        row.unrecovered.iter().copied().chain(row.owner).collect()
    }

    /// Whether a dispatcher has taken the message, by the newest checkpoint.
    pub fn is_taken(&self, row: &LogMessage) -> bool {
        let SavedShard { lanes, .. } = &self.checkpoints[row.id.lane().shard().0 as usize];
        let state = lanes.iter().find(|(lane, _)| *lane == row.id.lane());
        state.is_some_and(|(_, state)| state.is_taken(row))
    }
}
