//! Leases, shards and what a former owner has left behind.

use std::collections::{BTreeMap, BTreeSet};

use postrider_core::{
    hashing::HashSet,
    id::{EndpointId, Lane, MessageId, Shard},
    reader::{LaneState, Row},
};
use uuid::Uuid;

use super::{Database, DeferredRow, LeaseRow, Logged, Place, ShardRow, Wrong};
use crate::{
    engine::Tenure,
    store::{
        lease::{Acquired, Checkpoint, Claim, Heartbeat, Owned, Recovered, Taken},
        log::{LogMessage, Stored},
        wire::{EPOCH_US, Timestamp},
    },
};

impl Database {
    pub fn is_live(&self, id: Uuid) -> bool {
        self.leases.get(&id).is_some_and(|lease| !lease.is_over && lease.until > self.now)
    }

    fn live(&self) -> Vec<Uuid> {
        self.leases.keys().copied().filter(|id| self.is_live(*id)).collect()
    }

    fn is_takeable(&self, row: &ShardRow, me: Uuid, live: &[Uuid]) -> bool {
        self.wrong == Wrong::NoLease && row.owner != Some(me)
            || row.owner.is_none_or(|owner| !live.contains(&owner))
    }

    /// `None`: the lease is over.
    pub fn heartbeat(&mut self, me: Uuid) -> Option<Heartbeat> {
        self.write();
        let until = Timestamp(self.now.0 + self.lease.as_micros() as i64);
        let row = self.leases.entry(me).or_insert(LeaseRow { until, is_over: false, seq: 0 });
        if row.is_over || row.until <= self.now && row.seq > 0 {
            row.is_over = true;
            return None;
        }
        row.until = until;
        row.seq += 1;
        let live = self.live();
        let owned = |(shard, row): (usize, &ShardRow)| {
            let is_mine = row.owner == Some(me);
            is_mine.then_some(Owned { shard: Shard(shard as i16), epoch: row.epoch })
        };
        Some(Heartbeat {
            is_alive: true,
            lease: self.lease,
            share: self.shards.len().div_ceil(live.len().max(1)),
            takeable_count: self
                .shards
                .iter()
                .filter(|row| self.is_takeable(row, me, &live))
                .count(),
            owned: self.shards.iter().enumerate().filter_map(owned).collect(),
            now_us: self.now.0 + EPOCH_US,
            clock_offset_ms: 0,
            others: Vec::new(),
            silent: Vec::new(),
        })
    }

    pub fn unregister(&mut self, me: Uuid) {
        if let Some(lease) = self.leases.get_mut(&me) {
            lease.is_over = true;
        }
        self.asleep.retain(|_, id| *id != me);
    }

    /// `take_shards`: takes them, which is one transaction.
    pub fn take_shards(&mut self, me: Uuid, limit: usize) -> Vec<Taken> {
        self.write();
        if !self.is_live(me) {
            return Vec::new();
        }
        let live = self.live();
        for (id, lease) in &mut self.leases {
            lease.is_over |= !live.contains(id);
        }
        let mut taken = Vec::new();
        for number in 0..self.shards.len() {
            let row = &self.shards[number];
            if !self.is_takeable(row, me, &live) || taken.len() == limit {
                continue;
            }
            let mut unrecovered = row.unrecovered.clone();
            unrecovered.extend(row.owner);
            let last_owner = row.owner.or(unrecovered.last().copied());
            self.moved_at = self.now;
            let owned = Owned { shard: Shard(number as i16), epoch: row.epoch + 1 };
            self.shards[number] = ShardRow { owner: Some(me), epoch: owned.epoch, unrecovered };
            taken.push(Taken { owned, last_owner });
        }
        taken
    }

    /// How they were left, which is the next statement.
    pub fn acquired(&self, taken: &[Taken]) -> Vec<Acquired> {
        let acquire = |taken: &Taken| {
            let Taken { owned, last_owner } = *taken;
            let known = self.checkpoints.get(&owned.shard);
            let backlog = known.map_or(0, |(_, backlog)| *backlog);
            let lanes: BTreeMap<Lane, LaneState> = owned
                .shard
                .lanes()
                .map(|lane| {
                    let state = known.and_then(|(lanes, _)| lanes.get(&lane));
                    (lane, state.cloned().unwrap_or_default())
                })
                .collect();
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

    /// Makes what the last owners left behind wait, which is several more.
    pub fn recover(
        &mut self,
        me: Uuid,
        acquired: &mut [Acquired],
        former: Option<&Tenure>,
    ) -> Stored {
        let spared = |owner: Option<Uuid>| -> HashSet<Place> {
            let former = former.filter(|former| Some(former.id) == owner);
            former.map(|f| f.spared.iter().copied().collect()).unwrap_or_default()
        };
        if self.wrong != Wrong::NothingRecovered {
            for taken in &*acquired {
                for (lane, state) in &taken.lanes {
                    let left = self.unfinished(*lane, state);
                    self.recover_messages(me, &[taken.owned], &left, &spared(taken.last_owner));
                }
            }
        }
        let owners: BTreeSet<Uuid> = acquired.iter().filter_map(|taken| taken.last_owner).collect();
        for owner in owners {
            let was_its = |taken: &&mut Acquired| taken.last_owner == Some(owner);
            let mut of_owner: Vec<&mut Acquired> = acquired.iter_mut().filter(was_its).collect();
            self.recover_claims(me, &mut of_owner, &spared(Some(owner)));
        }
        let shards: Vec<Shard> = acquired.iter().map(|taken| taken.owned.shard).collect();
        self.release_stored_keys(&shards);
        Stored { links: self.stored_keys(&shards), counts: self.counts(&shards, None) }
    }

    /// See `recover_claims.sql`: of shards that had one last owner.
    fn recover_claims(
        &mut self,
        me: Uuid,
        acquired: &mut [&mut Acquired],
        spared: &HashSet<Place>,
    ) {
        let owned: Vec<Owned> = acquired.iter().map(|taken| taken.owned).collect();
        let shards = owned.iter().map(|owned| owned.shard);
        let claims = shards.flat_map(|shard| self.claims_left(shard, spared)).collect();
        let held = self.recover_waiting(me, &owned, claims).held;
        for taken in acquired {
            let is_of_shard = |claim: &&Claim| claim.id.lane().shard() == taken.owned.shard;
            taken.held = held.iter().filter(is_of_shard).copied().collect();
        }
        if self.lost(me, &owned).is_empty() {
            for owned in owned {
                self.shards[owned.shard.0 as usize].unrecovered.clear();
            }
        }
    }

    fn unfinished(&self, lane: Lane, state: &LaneState) -> Vec<MessageId> {
        let is_left = |logged: &&Logged| {
            let row = &logged.row;
            row.id.lane() == lane
                && self.is_visible(logged)
                && state.is_taken(row)
                && !state.is_finished(row)
                && (!self.done.contains(&row.id) || self.wrong == Wrong::EndsForgotten)
        };
        let mut left: Vec<MessageId> =
            self.log.values().filter(is_left).map(|logged| logged.row.id()).collect();
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
            endpoint: EndpointId(place.1.0),
            run_at: None,
            retry_count: is_counted.into(),
            recovery_count: is_counted.into(),
            expires_at: row.terms.expires_at,
            key: row.terms.ordering_key.clone(),
            is_blocked,
        };
        deferred.wait((!is_blocked).then_some(later.unwrap_or(self.now)));
        if is_counted {
            *self.attempts.entry(place).or_default() += 1;
        }
        self.deferred.insert(place, deferred);
    }

    /// Of those whose claims nobody has recovered.
    fn claims_left(&self, shard: Shard, spared: &HashSet<Place>) -> Vec<Claim> {
        let owners = &self.shards[shard.0 as usize].unrecovered;
        let is_left = |(by, claim): &&(Uuid, Claim)| {
            owners.contains(by)
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
        self.claims.extend(held.iter().map(|claim| (me, *claim)));
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
        checkpoint: &Checkpoint,
    ) -> Vec<Owned> {
        self.write();
        let lost = self.lost(me, owned);
        if lost.is_empty() && self.wrong != Wrong::CheckpointsLost {
            for (owned, backlog) in owned.iter().zip(&checkpoint.backlogs) {
                let of_shard = checkpoint.lanes.iter().filter(|(l, _)| l.shard() == owned.shard);
                let as_written = |state: &LaneState| match self.wrong {
                    Wrong::CheckpointAhead => LaneState { done: Vec::new(), ..state.clone() },
                    _ => state.clone(),
                };
                let lanes = of_shard.map(|(lane, state)| (*lane, as_written(state))).collect();
                self.checkpoints.insert(owned.shard, (lanes, *backlog));
            }
        }
        lost
    }

    pub fn release(
        &mut self,
        me: Uuid,
        owned: &[Owned],
        released: &[Owned],
        checkpoint: &Checkpoint,
    ) {
        if self.wrong == Wrong::ReleasedUnwritten {
            self.checkpoints.remove(&released.first().map_or(Shard(0), |owned| owned.shard));
        } else {
            self.save_checkpoint(me, owned, checkpoint);
        }
        for Owned { shard, epoch } in released {
            let row = &mut self.shards[shard.0 as usize];
            if row.owner == Some(me) && row.epoch == *epoch {
                row.owner = None;
            }
        }
    }

    /// See `claim_holders.sql`: of a message's shard.
    pub fn claim_holders(&self, id: MessageId) -> Vec<Uuid> {
        let row = &self.shards[id.lane().shard().0 as usize];
        row.unrecovered.iter().copied().chain(row.owner).collect()
    }

    /// Whether a dispatcher has taken the message, by the newest checkpoint.
    pub fn is_taken(&self, row: &LogMessage) -> bool {
        let known = self.checkpoints.get(&row.id.lane().shard());
        let state = known.and_then(|(lanes, _)| lanes.get(&row.id.lane()));
        state.is_some_and(|state| state.is_taken(row))
    }
}
