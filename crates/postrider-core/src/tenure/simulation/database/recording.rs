//! What dispatchers write down: claims, and what became of deliveries.

use std::{sync::Arc, time::Instant};

use uuid::Uuid;

use super::{Database, DeferredRow, Place, Wrong};
use crate::{
    checkpoint::{Cancels, Claim, StillWaiting},
    hashing::{HashMap, HashSet},
    id::{MessageId, Shard},
    lease::Owned,
    results::Deferred,
    tenure::{
        command::{DueClaimAnswer, Event, Flushed, Look},
        endpoints::Seated,
        flush::Gathered,
    },
    timestamp::Timestamp,
};

/// What was written down, and what is looked for after that.
pub enum Looking {
    Checkpoint { lost: Vec<Owned>, claimed: Vec<MessageId> },
    Claim { claimed: Vec<Seated>, claims: Vec<Claim>, lost: Vec<Owned>, unclaimed: HashSet<Place> },
}

impl Database {
    /// Writes claims down, but for what is held when it was looked at before.
    pub fn claim(
        &mut self,
        me: Uuid,
        claimed: Vec<Seated>,
        owned: &[Owned],
        mut claims: Vec<Claim>,
        look: Look,
    ) -> Looking {
        let mut unclaimed = HashSet::default();
        if look == Look::BeforeAndAfter {
            let ids: Vec<MessageId> = claims.iter().map(|claim| claim.id).collect();
            let under_way = self.cancels(&ids).under_way;
            let held = claims.extract_if(.., |claim| {
                under_way.contains(&claim.id) || self.is_locked(&(claim.id, claim.target))
            });
            unclaimed.extend(held.map(|claim| (claim.id, claim.target)));
        }
        let lost = match claims.is_empty() {
            true => Vec::new(),
            false => self.write_claims(me, owned, &claims),
        };
        Looking::Claim { claimed, claims, lost, unclaimed }
    }

    pub fn write_claims(&mut self, me: Uuid, owned: &[Owned], claims: &[Claim]) -> Vec<Owned> {
        self.write();
        let lost = self.lost(me, owned);
        if lost.is_empty() && self.wrong != Wrong::ClaimsForgotten {
            self.claims.extend(claims.iter().map(|claim| (me, *claim)));
        }
        lost
    }

    /// What is to be seen once something is written down.
    pub fn look(&self, looking: Looking) -> Event {
        match looking {
            Looking::Checkpoint { lost, claimed } => {
                let cancels = self.cancels(&claimed);
                Event::Claimed(Ok((lost, cancels)))
            }
            Looking::Claim { claimed, claims, lost, unclaimed } => {
                let claims_of = claims.iter().map(|claim| claim.id);
                let ids: Vec<MessageId> =
                    claims_of.chain(unclaimed.iter().map(|(id, _)| *id)).collect();
                let cancels = self.cancels(&ids);
                let still_waiting = self.still_waiting(&claims);
                let answer = DueClaimAnswer { lost, cancels, still_waiting, unclaimed };
                Event::DueClaimed(claimed, Ok(answer))
            }
        }
    }

    pub fn cancels(&self, claimed: &[MessageId]) -> Cancels {
        if self.wrong == Wrong::CancelsIgnored {
            return Cancels::default();
        }
        let is_under_way = |id: &&MessageId| self.message_locks.contains_key(id);
        let under_way = match self.wrong {
            Wrong::CancelsUnderWayIgnored => HashSet::default(),
            _ => claimed.iter().filter(is_under_way).copied().collect(),
        };
        Cancels { committed: Arc::new(self.cancellations.iter().copied().collect()), under_way }
    }

    fn still_waiting(&self, claims: &[Claim]) -> HashMap<Place, StillWaiting> {
        let waiting = |claim: &Claim| {
            let place = (claim.id, claim.target);
            let row = self.deferred.get(&place)?;
            let is_over = row.expires_at.is_some_and(|at| at <= self.now);
            let has_expired = is_over && self.wrong != Wrong::ExpiryIgnored;
            let is_held = self.is_locked(&place);
            let (retry_count, expires_at) = (row.retry_count, row.expires_at);
            Some((place, StillWaiting { has_expired, is_held, retry_count, expires_at }))
        };
        claims.iter().filter_map(waiting).collect()
    }

    pub fn flush(
        &mut self,
        me: Uuid,
        owned: Vec<Owned>,
        mut recorded: Gathered,
        now: Instant,
    ) -> Flushed {
        self.write();
        let lost = self.lost(me, &owned);
        let shards: Vec<Shard> = lost.iter().map(|lost| lost.shard).collect();
        recorded.forget(&shards);
        let results = &recorded.results;
        let waited = results.deferred.iter().filter(|row| row.has_waited);
        let changed = waited.map(|row| (row.id, row.target)).chain(results.settled.iter().copied());
        let is_held = |place: &Place| self.is_locked(place) && self.deferred.contains_key(place);
        let held: HashSet<Place> = changed.filter(is_held).collect();
        let mut aside = Gathered::default();
        if !held.is_empty() {
            aside.take_back(recorded.set_aside(&held), now);
        }
        let is_lost = self.wrong == Wrong::FlushesLost && self.next_xid.is_multiple_of(20);
        if !is_lost {
            self.record(&recorded);
        }
        Flushed { recorded, held: aside, lost }
    }

    /// See `flush.sql`.
    fn record(&mut self, recorded: &Gathered) {
        let results = &recorded.results;
        let gone: HashSet<Place> = results
            .settled
            .iter()
            .filter(|place| !self.deferred.contains_key(place))
            .copied()
            .collect();
        self.done.extend(results.done.iter().copied());
        for (id, targets) in &results.partly {
            self.partly.extend(targets.iter().map(|target| (*id, *target)));
            if self.wrong == Wrong::PartlyIsAll {
                self.done.insert(*id);
            }
        }
        for attempt in &results.attempts {
            *self.attempts.entry((attempt.id, attempt.target)).or_default() += 1;
        }
        for dead in &results.dead {
            let place = (dead.id, dead.target);
            if !gone.contains(&place) {
                self.letters.insert(place, false);
            }
        }
        let expired = results.expired.iter().map(|(id, target, _)| (*id, *target));
        self.ended.extend(expired.filter(|place| !gone.contains(place)));
        if self.wrong != Wrong::SettledKept {
            for place in &results.settled {
                self.deferred.remove(place);
            }
        }
        for row in &results.deferred {
            self.defer(row);
        }
        for place in &results.read {
            self.cancellations.remove(place);
        }
    }

    fn defer(&mut self, row: &Deferred) {
        let place = (row.id, row.target);
        if row.has_waited && !self.deferred.contains_key(&place) {
            return;
        }
        let later = Timestamp(self.now.0 + row.wait_ms * 1_000);
        let known = self.deferred.get(&place);
        let mut deferred = DeferredRow {
            endpoint: row.endpoint,
            run_at: None,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            expires_at: known.map_or(row.expires_at, |known| known.expires_at),
            key: known.map_or(row.ordering_key.clone(), |known| known.key.clone()),
            is_blocked: row.is_blocked,
        };
        deferred.wait((!row.is_blocked).then_some(row.run_at.unwrap_or(later)));
        self.deferred.insert(place, deferred);
    }
}
