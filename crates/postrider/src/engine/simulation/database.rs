//! A model of the database: the log with its transactions, shards with epochs and leases, and what dispatchers
//! write down. It answers each [`Query`] as the statements in `sql/` do, at one moment.

use postrider_core::hashing::{HashMap, HashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use postrider_core::{
    breaker::{Circuit, State as Circuits},
    id::{EndpointId, Lane, MessageId, Shard, Target},
    reader::{LaneState, Left, Page, Row, Which},
    snapshot::{Snapshot, Xid},
};
use tokio_postgres::types::PgLsn;
use uuid::Uuid;

use crate::{
    engine::{
        Tenure,
        command::{DueAnswer, DueClaimAnswer, Event, Flushed, Query},
        flush::Gathered,
    },
    store::{
        circuits::{Answer, Proposal},
        durability::Written,
        lease::{Acquired, Cancels, Checkpoint, Claim, Heartbeat, Owned, Recovered, StillWaiting},
        log::{
            DueDelivery, EndpointRow, LogMessage, SharedSettings, Stored, Tick, WaitingCount,
            WindowBounds,
        },
        wire::{EPOCH_US, Timestamp},
    },
};

/// What is wrong with this database, so that the ledger has something to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    Nothing,
    /// Shards are given away while their owner's lease lasts, and nobody refuses what it says.
    NoLease,
    /// A checkpoint is acknowledged and not written.
    CheckpointsLost,
    /// The same of one in twenty flushes.
    FlushesLost,
    /// A snapshot sees what began before it and has not ended.
    SeesUncommitted,
    /// Ticks are bounded by the highest id that was seen, not by a snapshot.
    TicksById,
    /// What a dead dispatcher had taken is not recovered.
    NothingRecovered,
    /// What was cancelled, dead or done is put back by a recovery.
    EndsForgotten,
}

pub struct Database {
    pub wrong: Wrong,
    pub now: Timestamp,
    pub lease: Duration,
    next_xid: Xid,
    running: BTreeSet<Xid>,
    /// One above the latest transaction that has ended.
    xmax: Xid,
    number: i64,
    /// Numbers behind the first, up to and with the second, that nobody gets but for a few at the beginning.
    pub gap: Option<(i64, i64)>,
    pub log: BTreeMap<i64, Logged>,
    shards: Vec<ShardRow>,
    leases: BTreeMap<Uuid, LeaseRow>,
    checkpoints: HashMap<Shard, (HashMap<Lane, LaneState>, i64)>,
    claims: Vec<(Uuid, Claim)>,
    /// Nothing of them is to be read from the log any more.
    pub done: HashSet<MessageId>,
    ended: HashSet<(MessageId, Target)>,
    /// What ended without success.
    pub failed: HashSet<(MessageId, Target)>,
    pub deferred: BTreeMap<(MessageId, Target), DeferredRow>,
    circuits: HashMap<EndpointId, Circuit>,
    endpoints: Vec<EndpointRow>,
    /// Who sleeps on a shard's doorbell.
    pub asleep: HashMap<Shard, Uuid>,
}

pub struct Logged {
    pub row: LogMessage,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Committed,
    Aborted,
}

struct ShardRow {
    owner: Option<Uuid>,
    epoch: i64,
}

struct LeaseRow {
    until: Timestamp,
    is_over: bool,
    seq: i64,
}

#[derive(Debug, Clone)]
pub struct DeferredRow {
    pub endpoint: EndpointId,
    pub run_at: Timestamp,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub expires_at: Option<Timestamp>,
}

impl Database {
    pub fn new(
        wrong: Wrong,
        shard_count: i16,
        endpoints: Vec<EndpointRow>,
        lease: Duration,
        now: Timestamp,
    ) -> Database {
        let shard = |_| ShardRow { owner: None, epoch: 0 };
        Database {
            wrong,
            now,
            lease,
            next_xid: 100,
            running: BTreeSet::new(),
            xmax: 100,
            number: 0,
            gap: None,
            log: BTreeMap::new(),
            shards: (0..shard_count).map(shard).collect(),
            leases: BTreeMap::new(),
            checkpoints: HashMap::default(),
            claims: Vec::new(),
            done: HashSet::default(),
            ended: HashSet::default(),
            failed: HashSet::default(),
            deferred: BTreeMap::new(),
            circuits: HashMap::default(),
            endpoints,
            asleep: HashMap::default(),
        }
    }

    // Transactions ------------------------------------------------------------------------------

    pub fn begin(&mut self) -> Xid {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.running.insert(xid);
        xid
    }

    pub fn end(&mut self, xid: Xid, state: State) {
        self.running.remove(&xid);
        self.xmax = self.xmax.max(xid + 1);
        for logged in self.log.values_mut().filter(|logged| logged.row.xid == xid) {
            logged.state = state;
        }
    }

    /// A dispatcher's own transactions have ids, too.
    fn write(&mut self) {
        let xid = self.begin();
        self.end(xid, State::Committed);
    }

    fn snapshot(&self) -> Snapshot {
        let in_progress: Vec<Xid> = match self.wrong {
            Wrong::SeesUncommitted => Vec::new(),
            _ => self.running.range(..self.xmax).copied().collect(),
        };
        let xmin = in_progress.first().copied().unwrap_or(self.xmax);
        Snapshot::new(xmin, self.xmax, in_progress).expect("a snapshot")
    }

    pub fn insert(&mut self, row: impl FnOnce(MessageId) -> LogMessage, lane: Lane) -> MessageId {
        self.number += 1;
        if let Some((after, last)) = self.gap
            && (after + 1..=last).contains(&self.number)
        {
            self.number = last + 1;
        }
        let id = MessageId(self.number << 10 | i64::from(lane.0));
        self.log.insert(id.0, Logged { row: row(id), state: State::Open });
        id
    }

    fn is_visible(&self, logged: &Logged) -> bool {
        match self.wrong {
            Wrong::SeesUncommitted => logged.state != State::Aborted,
            _ => logged.state == State::Committed,
        }
    }

    // Leases and the fence ------------------------------------------------------------------------

    pub fn is_live(&self, id: Uuid) -> bool {
        self.leases.get(&id).is_some_and(|lease| !lease.is_over && lease.until > self.now)
    }

    fn lost(&self, me: Uuid, owned: &[Owned]) -> Vec<Owned> {
        if self.wrong == Wrong::NoLease {
            return Vec::new();
        }
        let is_lost = |owned: &&Owned| {
            let row = &self.shards[owned.shard.0 as usize];
            row.owner != Some(me) || row.epoch != owned.epoch
        };
        owned.iter().filter(is_lost).copied().collect()
    }

    /// `None`: the lease is over.
    pub fn heartbeat(&mut self, me: Uuid) -> Option<Heartbeat> {
        self.write();
        let until = Timestamp(self.now.0 + self.lease.as_micros() as i64);
        let row = self.leases.entry(me).or_insert(LeaseRow { until, is_over: false, seq: 0 });
        if row.is_over {
            return None;
        }
        row.until = until;
        row.seq += 1;
        let live: Vec<Uuid> = self.leases.keys().copied().filter(|id| self.is_live(*id)).collect();
        let is_takeable = |row: &&ShardRow| {
            self.wrong == Wrong::NoLease && row.owner != Some(me)
                || row.owner.is_none_or(|owner| !live.contains(&owner))
        };
        let owned = |(shard, row): (usize, &ShardRow)| {
            let is_mine = row.owner == Some(me);
            is_mine.then_some(Owned { shard: Shard(shard as i16), epoch: row.epoch })
        };
        Some(Heartbeat {
            is_alive: true,
            lease: self.lease,
            share: self.shards.len().div_ceil(live.len().max(1)),
            takeable_count: self.shards.iter().filter(is_takeable).count(),
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

    fn acquire(
        &mut self,
        me: Uuid,
        limit: usize,
        former: Option<Tenure>,
    ) -> (Vec<Acquired>, Stored) {
        self.write();
        if !self.is_live(me) {
            return (Vec::new(), Stored::default());
        }
        let live: Vec<Uuid> = self.leases.keys().copied().filter(|id| self.is_live(*id)).collect();
        for (id, lease) in &mut self.leases {
            lease.is_over |= !live.contains(id);
        }
        let mut acquired = Vec::new();
        for number in 0..self.shards.len() {
            let row = &self.shards[number];
            let is_takeable = self.wrong == Wrong::NoLease && row.owner != Some(me)
                || row.owner.is_none_or(|owner| !live.contains(&owner));
            if !is_takeable || acquired.len() == limit {
                continue;
            }
            let last_owner = row.owner;
            let owned = Owned { shard: Shard(number as i16), epoch: row.epoch + 1 };
            self.shards[number] = ShardRow { owner: Some(me), epoch: owned.epoch };
            let known = self.checkpoints.get(&owned.shard);
            let backlog = known.map_or(0, |(_, backlog)| *backlog);
            let known = known.map(|(lanes, _)| lanes.clone()).unwrap_or_default();
            let lanes: BTreeMap<Lane, LaneState> = owned
                .shard
                .lanes()
                .map(|lane| (lane, known.get(&lane).cloned().unwrap_or_default()))
                .collect();
            let spared = former.as_ref().filter(|former| Some(former.id) == last_owner);
            let spared: HashSet<MessageId> =
                spared.map(|former| former.spared.iter().copied().collect()).unwrap_or_default();
            if self.wrong != Wrong::NothingRecovered {
                for (lane, state) in &lanes {
                    self.recover_messages(*lane, state, &spared);
                }
            }
            if let Some(last_owner) = last_owner {
                self.recover_claims(owned.shard, last_owner, &spared);
            }
            acquired.push(Acquired { owned, lanes, backlog, last_owner, held: Vec::new() });
        }
        let shards: Vec<Shard> = acquired.iter().map(|taken| taken.owned.shard).collect();
        (acquired, Stored { links: Vec::new(), counts: self.counts(&shards, None) })
    }

    fn recover_messages(&mut self, lane: Lane, state: &LaneState, spared: &HashSet<MessageId>) {
        let is_left = |logged: &&Logged| {
            let row = &logged.row;
            row.id.lane() == lane
                && self.is_visible(logged)
                && state.is_taken(row)
                && !state.is_finished(row)
                && (!self.done.contains(&row.id) || self.wrong == Wrong::EndsForgotten)
        };
        let left: Vec<LogMessage> =
            self.log.values().filter(is_left).map(|logged| logged.row.clone()).collect();
        for row in left {
            for target in row.targets.as_slice() {
                let place = (row.id, *target);
                let has_ended = self.has_ended(place) && self.wrong != Wrong::EndsForgotten;
                if has_ended || self.deferred.contains_key(&place) {
                    continue;
                }
                let later = row.terms.scheduled_at.filter(|at| *at > self.now);
                let was_attempted = !spared.contains(&row.id) && later.is_none();
                self.deferred.insert(
                    place,
                    DeferredRow {
                        endpoint: EndpointId(target.0),
                        run_at: later.unwrap_or(self.now),
                        retry_count: was_attempted.into(),
                        recovery_count: was_attempted.into(),
                        expires_at: row.terms.expires_at,
                    },
                );
            }
        }
    }

    fn recover_claims(&mut self, shard: Shard, owner: Uuid, spared: &HashSet<MessageId>) {
        for (_, claim) in self.claims.iter().filter(|(by, claim)| {
            *by == owner && claim.id.lane().shard() == shard && !spared.contains(&claim.id)
        }) {
            if let Some(row) = self.deferred.get_mut(&(claim.id, claim.target))
                && row.retry_count == claim.retry_count
            {
                row.retry_count += 1;
                row.recovery_count += 1;
                row.run_at = self.now;
            }
        }
    }

    fn save_checkpoint(
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
                let lanes = of_shard.map(|(lane, state)| (*lane, state.clone())).collect();
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
        self.save_checkpoint(me, owned, checkpoint);
        for Owned { shard, epoch } in released {
            let row = &mut self.shards[shard.0 as usize];
            if row.owner == Some(me) && row.epoch == *epoch {
                row.owner = None;
            }
        }
    }

    // Reading -------------------------------------------------------------------------------------

    fn last_number(&self) -> i64 {
        self.number
    }

    fn bounds(&self, base: &Snapshot) -> WindowBounds {
        let first = self.log.values().find(|logged| !base.sees(logged.row.xid));
        WindowBounds {
            after: first.map_or(self.number << 10 | 1023, |logged| logged.row.id.0 - 1),
            end: self.number << 10 | 1023,
        }
    }

    fn page(&self, page: &Page) -> (Vec<LogMessage>, Vec<(Target, Left)>) {
        let is_in_window = |logged: &&Logged| {
            let row = &logged.row;
            row.id.lane() == page.lane
                && (page.after < row.id.0 && row.id.0 <= page.upto)
                && self.is_visible(logged)
                && page.top.sees(row.xid)
                && !page.base.sees(row.xid)
        };
        let is_of_lag = |row: &LogMessage| {
            let is_spared = page.spares_expiring && row.expires();
            row.only_target().is_some_and(|t| page.targets.contains(&t)) && !is_spared
        };
        let wanted = |row: &LogMessage| is_of_lag(row) == (page.which == Which::Lag);
        let window: Vec<&LogMessage> =
            self.log.values().filter(is_in_window).map(|logged| &logged.row).collect();
        let rows: Vec<LogMessage> = window
            .iter()
            .filter(|row| wanted(row))
            .take(page.limit)
            .map(|r| (*r).clone())
            .collect();
        let mut left: HashMap<Target, Left> = HashMap::default();
        if page.which == Which::Tail {
            let reached = page.reached(&rows);
            for row in window.iter().filter(|row| !wanted(row) && row.id.0 <= reached) {
                let Some(target) = row.only_target() else { continue };
                let since = row.terms.pending_since().0;
                let known = left.entry(target).or_insert(Left { count: 0, oldest: since });
                known.count += 1;
                known.oldest = known.oldest.min(since);
            }
        }
        (rows, left.into_iter().collect())
    }

    fn due(&self, wanted: &[(EndpointId, usize)], shards: &[Shard]) -> Vec<DueDelivery> {
        let mut all = Vec::new();
        for (endpoint, most) in wanted {
            let is_due = |(place, row): &(&(MessageId, Target), &DeferredRow)| {
                row.endpoint == *endpoint
                    && shards.contains(&place.0.lane().shard())
                    && row.run_at <= self.now
            };
            let mut due: Vec<_> = self.deferred.iter().filter(is_due).collect();
            due.sort_by_key(|(place, row)| (row.run_at, place.0));
            all.extend(due.into_iter().take(*most).map(|(place, row)| self.waiting(place, row)));
        }
        all
    }

    fn waiting(&self, (id, target): &(MessageId, Target), row: &DeferredRow) -> DueDelivery {
        let message = &self.log[&id.0].row;
        let mut terms = message.terms.clone();
        terms.expires_at = row.expires_at;
        DueDelivery {
            id: *id,
            target: *target,
            endpoint: row.endpoint,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            run_at: row.run_at,
            is_blocked: false,
            has_many_targets: message.targets.as_slice().len() > 1,
            terms,
            content: message.content.clone(),
        }
    }

    /// When the next is due, after a moment if one is named.
    fn next(&self, shards: &[Shard], after: Option<Timestamp>) -> HashMap<EndpointId, Timestamp> {
        let mut next: HashMap<EndpointId, Timestamp> = HashMap::default();
        for ((id, _), row) in &self.deferred {
            if shards.contains(&id.lane().shard()) && after.is_none_or(|at| row.run_at > at) {
                let known = next.entry(row.endpoint).or_insert(row.run_at);
                *known = (*known).min(row.run_at);
            }
        }
        next
    }

    fn counts(&self, shards: &[Shard], endpoints: Option<&[EndpointId]>) -> Vec<WaitingCount> {
        let mut counts: HashMap<(Shard, Target), (i64, Timestamp)> = HashMap::default();
        for ((id, target), row) in &self.deferred {
            let shard = id.lane().shard();
            if shards.contains(&shard) && endpoints.is_none_or(|e| e.contains(&row.endpoint)) {
                let since = self.log[&id.0].row.terms.pending_since();
                let known = counts.entry((shard, *target)).or_insert((0, since));
                *known = (known.0 + 1, known.1.min(since));
            }
        }
        let count =
            |((shard, target), (count, oldest))| WaitingCount { shard, target, count, oldest };
        counts.into_iter().map(count).collect()
    }

    // Recording -----------------------------------------------------------------------------------

    fn flush(&mut self, me: Uuid, mut owned: Vec<Owned>, mut recorded: Gathered) -> Flushed {
        self.write();
        let lost = self.lost(me, &owned);
        let shards: Vec<Shard> = lost.iter().map(|lost| lost.shard).collect();
        recorded.forget(&shards);
        owned.retain(|owned| !shards.contains(&owned.shard));
        let is_lost = self.wrong == Wrong::FlushesLost && self.next_xid.is_multiple_of(20);
        if !is_lost {
            self.record(&recorded);
        }
        Flushed { recorded, held: Gathered::default(), lost }
    }

    fn record(&mut self, recorded: &Gathered) {
        let results = &recorded.results;
        let gone: HashSet<(MessageId, Target)> = results
            .settled
            .iter()
            .filter(|place| self.deferred.remove(*place).is_none())
            .copied()
            .collect();
        self.done.extend(results.done.iter().copied());
        for (id, targets) in &results.partly {
            self.ended.extend(targets.iter().map(|target| (*id, *target)));
        }
        for row in &results.deferred {
            let place = (row.id, row.target);
            if row.has_waited && !self.deferred.contains_key(&place) {
                continue;
            }
            let later = Timestamp(self.now.0 + row.wait_ms * 1_000);
            let run_at = row.run_at.unwrap_or(later);
            let run_at = row.expires_at.map_or(run_at, |at| at.min(run_at));
            self.deferred.insert(
                place,
                DeferredRow {
                    endpoint: row.endpoint,
                    run_at,
                    retry_count: row.retry_count,
                    recovery_count: row.recovery_count,
                    expires_at: row.expires_at,
                },
            );
        }
        let dead = results.dead.iter().map(|dead| (dead.id, dead.target));
        let expired = results.expired.iter().map(|(id, target, _)| (*id, *target));
        for place in dead.chain(expired).filter(|place| !gone.contains(place)) {
            self.ended.insert(place);
            self.failed.insert(place);
        }
    }

    fn claim(&mut self, me: Uuid, owned: &[Owned], claims: &[Claim]) -> DueClaimAnswer {
        self.write();
        let lost = self.lost(me, owned);
        if !lost.is_empty() {
            return DueClaimAnswer { lost, ..DueClaimAnswer::default() };
        }
        self.claims.extend(claims.iter().map(|claim| (me, *claim)));
        let still_waiting = claims
            .iter()
            .filter_map(|claim| {
                let place = (claim.id, claim.target);
                let row = self.deferred.get(&place)?;
                let has_expired = row.expires_at.is_some_and(|at| at <= self.now);
                Some((place, StillWaiting { has_expired, is_held: false }))
            })
            .collect();
        DueClaimAnswer { still_waiting, ..DueClaimAnswer::default() }
    }

    /// Whether a delivery needs nothing any more.
    pub fn has_ended(&self, place: (MessageId, Target)) -> bool {
        let is_over = self.done.contains(&place.0) || self.ended.contains(&place);
        is_over && !self.deferred.contains_key(&place)
    }

    fn save_circuits(&mut self, proposals: &[Proposal]) -> Vec<Answer> {
        self.write();
        let save = |proposal: &Proposal| {
            let current = self.circuits.entry(proposal.endpoint).or_default();
            let is_saved = current.version == proposal.known_version;
            if is_saved {
                *current = Circuit { version: current.version + 1, ..proposal.circuit };
            }
            (proposal.endpoint, is_saved, *current)
        };
        let saved: Vec<(EndpointId, bool, Circuit)> = proposals.iter().map(save).collect();
        let answer = |(endpoint, is_saved, current)| Answer {
            endpoint,
            is_saved,
            current: self.as_known(current),
        };
        saved.into_iter().map(answer).collect()
    }

    /// Whether the prober still lives is looked up whenever somebody asks.
    fn as_known(&self, circuit: Circuit) -> Circuit {
        let state = match circuit.state {
            Circuits::HalfOpen { prober, .. } => Circuits::HalfOpen {
                prober,
                is_prober_alive: self.is_live(Uuid::from_u128(prober)),
            },
            state => state,
        };
        Circuit { state, ..circuit }
    }

    // Queries -------------------------------------------------------------------------------------

    /// What a dispatcher gets for a query. `is_large`: ticks find more than can be taken in at once.
    pub fn answer(&mut self, me: Uuid, query: Query, is_large: bool) -> Event {
        match query {
            Query::Tick(groups) => {
                let top = self.snapshot();
                let written = Written {
                    upto: PgLsn::from(0),
                    flushed: PgLsn::from(0),
                    has_standbys: false,
                    number: 0,
                };
                let ticks = groups.into_iter().map(|group| {
                    let highest = (self.wrong == Wrong::TicksById).then(|| group.base.xmax());
                    let is_new = |logged: &&Logged| {
                        let row = &logged.row;
                        group.lanes.contains(&row.id.lane())
                            && self.is_visible(logged)
                            && top.sees(row.xid)
                            && !group.base.sees(row.xid)
                            && highest.is_none_or(|highest| row.xid >= highest)
                    };
                    let rows: Vec<LogMessage> =
                        self.log.values().filter(is_new).map(|l| l.row.clone()).collect();
                    if is_large && !rows.is_empty() {
                        let bounds = self.bounds(&group.base);
                        let top = top.clone();
                        return (group, Tick::TooMany { top, written }, Some(bounds));
                    }
                    let last_number = self.last_number();
                    (group, Tick::Rows { top: top.clone(), rows, last_number, written }, None)
                });
                Event::Ticked(Ok((ticks.collect(), true)))
            }
            Query::ReadPage(page) => {
                let rows = self.page(&page);
                Event::Paged(page, Ok(rows))
            }
            Query::FetchDue { wanted, shards, deferrals, .. } => {
                let next = self.next(&shards, Some(self.now));
                let is_wanted = |(id, _): &(EndpointId, Timestamp)| {
                    wanted.iter().any(|(wanted, _)| wanted == id)
                };
                let next = next.into_iter().filter(is_wanted).collect();
                let rows = self.due(&wanted, &shards);
                Event::Due(wanted, deferrals, Ok(DueAnswer { rows, next }))
            }
            Query::FetchNext(shards) => {
                Event::Waiting(Ok(self.next(&shards, None).into_iter().collect()))
            }
            Query::FetchExpired(shards, most) => {
                let is_over = |(place, row): &(&(MessageId, Target), &DeferredRow)| {
                    shards.contains(&place.0.lane().shard())
                        && row.expires_at.is_some_and(|at| at <= self.now)
                };
                let expired = self.deferred.iter().filter(is_over).take(most);
                let rows = expired.map(|(place, row)| self.waiting(place, row)).collect();
                Event::Expired(most, Ok(rows))
            }
            Query::FetchFollowers(asked, _) => Event::Followers(asked, Ok(Vec::new())),
            Query::SaveCheckpoint { owned, checkpoint, .. } => {
                let lost = self.save_checkpoint(me, &owned, &checkpoint);
                Event::Claimed(Ok((lost, Cancels::default())))
            }
            Query::Claim { claimed, owned, claims, .. } => {
                let answer = self.claim(me, &owned, &claims);
                Event::DueClaimed(claimed, Ok(answer))
            }
            Query::Flush { owned, recorded } => {
                Event::Flushed(Ok(Box::new(self.flush(me, owned, *recorded))))
            }
            Query::Acquire { limit, former, .. } => {
                Event::Acquired(Ok(self.acquire(me, limit, former)))
            }
            Query::Recover(_, held) => {
                Event::Recovered(held, Ok(Recovered { count: 0, held: Vec::new() }))
            }
            Query::Release { owned, released, checkpoint } => {
                self.release(me, &owned, &released, &checkpoint);
                Event::Released(released, Ok(()))
            }
            Query::LoadVersions => {
                let versions = self.endpoints.iter().map(|e| (e.id, e.version)).collect();
                Event::Endpoints(Ok((versions, Vec::new())))
            }
            Query::LoadEndpoints(versions, ids) => {
                let wanted = self.endpoints.iter().filter(|e| ids.contains(&e.id));
                Event::Endpoints(Ok((versions, wanted.cloned().collect())))
            }
            Query::LoadSettings => Event::Settings(Ok(SharedSettings {
                settings: vec![("circuit_breaker_cooldown".to_owned(), "2".to_owned())],
                event_type_policies: Vec::new(),
            })),
            Query::LoadCircuits(_) => Event::Circuits(Ok(self
                .circuits
                .iter()
                .map(|(id, circuit)| (*id, self.as_known(*circuit)))
                .collect())),
            Query::Maintain(_) => Event::Maintained(Ok(())),
            Query::Count(counting) => {
                let counts = self.counts(&counting.shards, counting.endpoints.as_deref());
                Event::Counted(counting, Ok(counts))
            }
            Query::Retire(id) => Event::Retired(id, Ok(false)),
            Query::Tell(proposals, _) => {
                let asked = proposals.iter().map(|proposal| proposal.endpoint).collect();
                Event::Told(asked, Ok(self.save_circuits(&proposals)))
            }
            Query::AskForProbe(probe, proposal, _) => {
                Event::Probing(probe, Ok(self.save_circuits(&[proposal])))
            }
            Query::TakeTokens(_) => Event::Tokens(Ok(Vec::new())),
            Query::Trade(owned, _) => Event::Traded(owned, Ok(Vec::new())),
            Query::LockDoorbell(shards) => Event::Doorbell(Ok(self.lock_doorbell(me, &shards))),
            Query::UnlockDoorbell => {
                self.asleep.retain(|_, id| *id != me);
                Event::Doorbell(Ok(false))
            }
        }
    }

    /// Nobody sleeps while a sender is in flight.
    fn lock_doorbell(&mut self, me: Uuid, shards: &[Shard]) -> bool {
        let is_sent_to = |logged: &Logged| {
            logged.state == State::Open && shards.contains(&logged.row.id.lane().shard())
        };
        let is_free = |shard| self.asleep.get(shard).is_none_or(|id| *id == me);
        if self.log.values().any(is_sent_to) || !shards.iter().all(is_free) {
            return false;
        }
        self.asleep.extend(shards.iter().map(|shard| (*shard, me)));
        true
    }
}
