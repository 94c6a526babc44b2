//! A model of the database: the log with its transactions, shards with epochs and leases, and what dispatchers
//! write down. It answers each [`Query`] as the statements in `sql/` do, each at one moment.

mod contents;
mod operating;
mod owning;
mod reading;
mod recording;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
    time::{Duration, Instant},
};

use uuid::Uuid;

pub use self::{
    contents::Contents,
    operating::{Act, Done, Verb},
    owning::Takeover,
    recording::Looking,
};
use super::wrong::Wrong;
use crate::{
    breaker::{Circuit, State as Circuits},
    checkpoint::Claim,
    configuration::{EndpointRow, SharedSettings},
    flow::Flow,
    hashing::{HashMap, HashSet},
    id::{Edition, EndpointId, Lane, MessageId, Shard, Target},
    lease::Owned,
    message::LogMessage,
    offer::Offer,
    places::places_of,
    reader::LaneState,
    sharing::{Answer, Loan, Proposal, Trade},
    snapshot::{Snapshot, Xid},
    tenure::{
        command::{DueAnswer, Event, Query},
        signal::Signal,
    },
    timestamp::Timestamp,
};

pub type Place = (MessageId, Target);

/// PostgreSQL writes down so many sequence numbers in advance: after a crash they are gone.
const NUMBERS_AHEAD: i64 = 32;

/// Priorities of what is sent without an ordering key, where shards have few lanes.
pub const PRIORITIES: [i16; 4] = [0, 0, 0, 5];

/// So many messages go at a time.
const BATCH_LIMIT: usize = 1_024;
/// So much of an endpoint may be in memory.
const MAX_IN_MEMORY: usize = 3;

/// A tenure that does not hear that the clock was set has ended by then.
const LATEST_NEWS_US: i64 = 6_000_000;

#[derive(Clone)]
pub struct Database {
    pub wrong: Wrong,
    /// By the database's own clock, which may be set, and by the world's, which nobody sets.
    pub now: Timestamp,
    pub clock: Timestamp,
    /// The latest that it has ever been by the first.
    latest: Timestamp,
    /// How far the first was ahead of the second, and since when.
    skews: Vec<(Timestamp, i64)>,
    pub lease: Duration,
    /// Ordering keys hold across endpoints.
    pub is_global: bool,
    /// Shards have all their lanes, or those only to which something is sent in simulated lives.
    pub has_all_lanes: bool,
    next_xid: Xid,
    running: BTreeSet<Xid>,
    /// One above the latest transaction that has ended.
    xmax: Xid,
    pub number: i64,
    /// Numbers behind the first, up to and with the second, that nobody gets but for a few at the beginning.
    pub gap: Option<(i64, i64)>,
    pub log: BTreeMap<i64, Logged>,
    /// What transactions that are open have written, the newest transaction that has written anything, and all
    /// messages of each ordering key in the order of their ids: what could be found in the log.
    written: HashMap<Xid, Vec<i64>>,
    newest_xid: Xid,
    of_key: HashMap<Arc<str>, Vec<i64>>,
    shards: Vec<ShardRow>,
    /// When a shard was last taken or released.
    pub moved_at: Timestamp,
    leases: BTreeMap<Uuid, LeaseRow>,
    /// Who has a connection.
    pub sessions: HashSet<Uuid>,
    /// Of each shard.
    checkpoints: Vec<SavedShard>,
    claims: Vec<(Uuid, Claim)>,
    done: HashSet<MessageId>,
    partly: HashSet<Place>,
    /// What ended without success and without a letter.
    ended: HashSet<Place>,
    /// Dead letters; `true`: redriven.
    letters: BTreeMap<Place, bool>,
    /// So many attempts are on record.
    pub attempts: HashMap<Place, u32>,
    pub deferred: BTreeMap<Place, DeferredRow>,
    cancellations: BTreeSet<Place>,
    /// What transactions of operators and strangers have locked.
    row_locks: HashMap<Place, Xid>,
    message_locks: HashMap<MessageId, Xid>,
    acts: BTreeMap<Xid, Act>,
    circuits: HashMap<EndpointId, Circuit>,
    /// Who has borrowed this shard's part of what an endpoint takes at a time.
    loans: BTreeMap<(EndpointId, Shard), Uuid>,
    /// How often that has happened.
    pub loan_count: usize,
    pub endpoints: Vec<EndpointRow>,
    /// Who sleeps on a shard's doorbell.
    pub asleep: HashMap<Shard, Uuid>,
    /// Notifications that are to leave.
    pub signals: Vec<Signal>,
    /// What is on disk, while somebody is about to pull the plug.
    on_disk: Option<Box<Database>>,
    /// How often that has happened.
    pub crash_count: u32,
}

#[derive(Clone)]
pub struct Logged {
    pub row: LogMessage,
    pub state: State,
    /// By the world's clock.
    pub inserted_at: Timestamp,
    pub committed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Committed,
    Aborted,
}

#[derive(Clone)]
struct ShardRow {
    owner: Option<Uuid>,
    epoch: i64,
    unrecovered: Vec<Uuid>,
}

/// Where a shard's lanes stand by its newest checkpoint.
#[derive(Clone, Default)]
struct SavedShard {
    /// Those of other shards that were written down with it, too.
    lanes: Arc<Vec<(Lane, LaneState)>>,
    backlog: i64,
}

#[derive(Clone)]
struct LeaseRow {
    until: Timestamp,
    is_over: bool,
    seq: i64,
}

#[derive(Debug, Clone)]
pub struct DeferredRow {
    pub endpoint: EndpointId,
    /// `None`: it is blocked.
    pub run_at: Option<Timestamp>,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub expires_at: Option<Timestamp>,
    pub key: Option<Arc<str>>,
    pub is_blocked: bool,
}

/// What chance has to say about an answer.
#[derive(Clone, Copy)]
pub struct Luck {
    /// Ticks find more than can be taken in at once.
    pub is_large: bool,
    /// The disk or a standby is late.
    pub is_late: bool,
}

impl DeferredRow {
    fn is_due(&self, now: Timestamp) -> bool {
        self.run_at.is_some_and(|at| at <= now)
    }

    /// It waits until then, or until it has expired.
    fn wait(&mut self, run_at: Option<Timestamp>) {
        self.run_at = match (run_at, self.expires_at) {
            (Some(at), Some(end)) => Some(at.min(end)),
            (at, end) => at.or(end),
        };
    }
}

impl Database {
    pub fn new(
        wrong: Wrong,
        shard_count: i16,
        endpoints: Vec<EndpointRow>,
        lease: Duration,
        now: Timestamp,
    ) -> Database {
        let shard = |_| ShardRow { owner: None, epoch: 0, unrecovered: Vec::new() };
        Database {
            wrong,
            now,
            clock: now,
            latest: now,
            skews: vec![(now, 0)],
            lease,
            is_global: false,
            has_all_lanes: true,
            next_xid: 100,
            running: BTreeSet::new(),
            xmax: 100,
            number: 0,
            gap: None,
            log: BTreeMap::new(),
            written: HashMap::default(),
            newest_xid: 0,
            of_key: HashMap::default(),
            shards: (0..shard_count).map(shard).collect(),
            moved_at: now,
            leases: BTreeMap::new(),
            sessions: HashSet::default(),
            checkpoints: vec![SavedShard::default(); shard_count as usize],
            claims: Vec::new(),
            done: HashSet::default(),
            partly: HashSet::default(),
            ended: HashSet::default(),
            letters: BTreeMap::new(),
            attempts: HashMap::default(),
            deferred: BTreeMap::new(),
            cancellations: BTreeSet::new(),
            row_locks: HashMap::default(),
            message_locks: HashMap::default(),
            acts: BTreeMap::new(),
            circuits: HashMap::default(),
            loans: BTreeMap::new(),
            loan_count: 0,
            endpoints,
            asleep: HashMap::default(),
            signals: Vec::new(),
            on_disk: None,
            crash_count: 0,
        }
    }

    // Clocks --------------------------------------------------------------------------------------

    /// The world's clock goes on, and with it the database's.
    pub fn set_time(&mut self, at: Timestamp) {
        let skew = self.skews.last().map_or(0, |(_, skew)| *skew);
        (self.clock, self.now) = (at, Timestamp(at.0 + skew));
        self.latest = self.latest.max(self.now);
    }

    /// Somebody sets the database's clock.
    pub fn set_clock(&mut self, by_us: i64) {
        let skew = self.skews.last().map_or(0, |(_, skew)| *skew);
        self.skews.push((self.clock, skew + by_us));
        self.set_time(self.clock);
    }

    /// The earliest that this moment may be for a dispatcher that has not heard yet that the clock was set.
    pub fn earliest(&self) -> Timestamp {
        self.believed().min().unwrap_or(self.now)
    }

    /// The latest that it may be for such a one, or was when something was taken that was due by then.
    pub fn latest(&self) -> Timestamp {
        self.believed().max().map_or(self.latest, |at| at.max(self.latest))
    }

    /// How often the clock was set back to before this moment. What was due at it, and was attempted, was not due any more
    /// then, and is recovered as if it had not been attempted.
    pub fn set_back_count(&self, before: Timestamp) -> usize {
        let is_back = |pair: &&[(Timestamp, i64)]| {
            let [(_, former), (since, skew)] = pair else { return false };
            skew < former && since.0 + skew < before.0
        };
        self.skews.windows(2).filter(is_back).count()
    }

    /// What this moment may be for dispatchers: the clock may have been set, and not all have heard of it.
    fn believed(&self) -> impl Iterator<Item = Timestamp> {
        let heard = self.clock.0 - LATEST_NEWS_US;
        let until = self.skews.iter().skip(1).map(|(since, _)| *since).chain([self.clock]);
        let believed = self.skews.iter().zip(until).filter(move |(_, until)| until.0 >= heard);
        believed.map(|((_, skew), _)| Timestamp(self.clock.0 + skew))
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
        let now = self.clock;
        for id in self.written.remove(&xid).unwrap_or_default() {
            let logged = self.log.get_mut(&id).expect("it was written");
            logged.state = state;
            logged.committed_at = (state == State::Committed).then_some(now);
        }
    }

    /// A dispatcher's own transactions have ids, too, and write nothing into the log.
    fn write(&mut self) {
        let xid = self.next_xid;
        self.next_xid += 1;
        self.xmax = self.xmax.max(xid + 1);
    }

    fn snapshot(&self) -> Snapshot {
        let in_progress: Vec<Xid> = match self.wrong {
            Wrong::SeesUncommitted => Vec::new(),
            _ => self.running.range(..self.xmax).copied().collect(),
        };
        let xmin = in_progress.first().copied().unwrap_or(self.xmax);
        Snapshot::new(xmin, self.xmax, in_progress).expect("a snapshot")
    }

    /// A message takes as many numbers as it has deliveries, and the last is its own.
    pub fn insert(
        &mut self,
        delivery_count: usize,
        row: impl FnOnce(MessageId) -> LogMessage,
        lane: Lane,
    ) -> MessageId {
        self.number += delivery_count.max(1) as i64;
        if let Some((after, last)) = self.gap
            && (after + 1..=last).contains(&self.number)
        {
            self.number = last + 1;
        }
        let id = MessageId(self.number << 10 | i64::from(lane.0));
        let row = row(id);
        self.newest_xid = self.newest_xid.max(row.xid);
        self.written.entry(row.xid).or_default().push(id.0);
        if let Some(key) = &row.terms.ordering_key {
            self.of_key.entry(Arc::clone(key)).or_default().push(id.0);
        }
        let inserted_at = self.clock;
        let logged = Logged { row, state: State::Open, inserted_at, committed_at: None };
        self.log.insert(id.0, logged);
        id
    }

    /// Numbers that no message has.
    pub fn burn(&mut self, count: i64) {
        self.number += count;
    }

    /// The messages of an ordering key below this one, from the first on.
    pub fn before_of_key(&self, key: &Arc<str>, id: MessageId) -> impl Iterator<Item = &Logged> {
        let ids = self.of_key.get(key).map_or(&[][..], |ids| ids);
        let before = &ids[..ids.partition_point(|other| *other < id.0)];
        before.iter().map(|id| &self.log[id])
    }

    fn is_visible(&self, logged: &Logged) -> bool {
        match self.wrong {
            Wrong::SeesUncommitted => logged.state != State::Aborted,
            _ => logged.state == State::Committed,
        }
    }

    // Crashes -------------------------------------------------------------------------------------

    /// From now on commits that do not wait for the disk may be forgotten.
    pub fn endanger(&mut self) {
        self.on_disk = None;
        self.on_disk = Some(Box::new(self.clone()));
    }

    /// A commit waits for the disk, and with it all that was committed before.
    pub fn harden(&mut self) {
        if self.on_disk.is_some() {
            self.endanger();
        }
    }

    /// It comes back with what was on disk. What it has forgotten of what was committed.
    pub fn crash(&mut self) -> Vec<MessageId> {
        let Some(kept) = self.on_disk.take() else { return Vec::new() };
        let lost = std::mem::replace(self, *kept);
        (self.now, self.clock, self.latest) = (lost.now, lost.clock, lost.latest);
        self.skews = lost.skews;
        self.number = lost.number + NUMBERS_AHEAD;
        self.crash_count = lost.crash_count + 1;
        for xid in std::mem::take(&mut self.running) {
            self.xmax = self.xmax.max(xid + 1);
        }
        for id in std::mem::take(&mut self.written).into_values().flatten() {
            let logged = self.log.remove(&id);
            let key = logged.and_then(|logged| logged.row.terms.ordering_key);
            if let Some(ids) = key.and_then(|key| self.of_key.get_mut(&key)) {
                ids.retain(|other| *other != id);
            }
        }
        self.row_locks.clear();
        self.message_locks.clear();
        self.acts.clear();
        self.asleep.clear();
        self.signals.clear();
        self.sessions.clear();
        let committed = lost.log.into_values().filter(|logged| logged.state == State::Committed);
        let is_lost = |logged: &Logged| !self.log.contains_key(&logged.row.id.0);
        committed.filter(is_lost).map(|logged| logged.row.id).collect()
    }

    // What is on record ----------------------------------------------------------------------------

    /// Whether a delivery needs nothing any more.
    pub fn has_ended(&self, place: Place) -> bool {
        let is_over = self.is_delivered(place) || self.has_failed(place);
        is_over && !self.deferred.contains_key(&place)
    }

    pub fn is_delivered(&self, place: Place) -> bool {
        self.done.contains(&place.0) && !self.has_failed(place) || self.partly.contains(&place)
    }

    pub fn has_failed(&self, place: Place) -> bool {
        self.ended.contains(&place) || self.letters.get(&place) == Some(&false)
    }

    /// Whether somebody's transaction has not ended.
    pub fn is_anything_open(&self) -> bool {
        !self.acts.is_empty()
    }

    pub fn is_redriven(&self, place: Place) -> bool {
        self.letters.get(&place) == Some(&true)
    }

    // Circuits ---------------------------------------------------------------------------------------

    fn save_circuits(&mut self, proposals: &[Proposal]) -> Vec<Answer> {
        self.write();
        let save = |proposal: &Proposal| {
            let current = self.circuits.entry(proposal.endpoint).or_default();
            let is_saved = current.version == proposal.known_version;
            if is_saved {
                *current = Circuit {
                    last_success_at: current.last_success_at.max(proposal.circuit.last_success_at),
                    last_failure_at: current.last_failure_at.max(proposal.circuit.last_failure_at),
                    ..proposal.circuit
                };
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

    /// See `trade_places.sql`.
    fn trade(&mut self, me: Uuid, owned: &[Owned], trade: Trade) -> Vec<Loan> {
        let live = self.live(&[]);
        let is_mine = |shard: &Shard| owned.iter().any(|owned| owned.shard == *shard);
        self.loans.retain(|(_, shard), by| !is_mine(shard) || live.contains(by));
        let mut heard: Vec<Uuid> = trade.lent.iter().map(|(.., borrower)| *borrower).collect();
        for place in &trade.returned {
            if self.loans.get(place) == Some(&me) {
                self.loans.remove(place);
            }
            heard.extend(self.shards[place.1.0 as usize].owner.filter(|owner| *owner != me));
        }
        if !trade.lent.is_empty() {
            self.write();
            let lost = self.lost(me, owned);
            for (endpoint, shard, borrower) in trade.lent {
                let is_kept = is_mine(&shard) && !lost.iter().any(|lost| lost.shard == shard);
                if is_kept
                    && live.contains(&borrower)
                    && let Entry::Vacant(free) = self.loans.entry((endpoint, shard))
                {
                    free.insert(borrower);
                    self.loan_count += 1;
                }
            }
        }
        heard.sort_unstable();
        heard.dedup();
        self.signals.extend(heard.into_iter().map(Signal::Loans));
        if !trade.asked.is_empty() {
            self.signals.push(Signal::Asked(me, trade.asked));
        }
        let is_told = self.wrong != Wrong::LoansUnheeded;
        let is_heeded = |((_, shard), by): &(&(EndpointId, Shard), &Uuid)| {
            is_told && is_mine(shard) || **by == me
        };
        let heeded = self.loans.iter().filter(is_heeded);
        let loan = |(&(endpoint, shard), by): (&(EndpointId, Shard), &Uuid)| Loan {
            endpoint,
            shard,
            is_borrowed: *by == me,
        };
        heeded.map(loan).collect()
    }

    /// How many may be in flight from this dispatcher to an endpoint that takes so many: of each shard either its owner
    /// uses the part or whoever has borrowed it.
    pub fn places(&self, id: Uuid, endpoint: EndpointId, concurrency: usize) -> usize {
        let is_used = |(number, row): &(usize, &ShardRow)| {
            let borrower = self.loans.get(&(endpoint, Shard(*number as i16))).copied();
            borrower.or(row.owner) == Some(id)
        };
        let parts = self.shards.iter().enumerate().filter(is_used).count();
        places_of(concurrency, parts, self.shards.len())
    }

    /// Whether somebody may have sent a probe to an endpoint: its circuit may have been open.
    pub fn has_failed_once(&self, endpoint: EndpointId) -> bool {
        self.circuits.get(&endpoint).is_some_and(|circuit| circuit.last_failure_at.is_some())
    }

    /// Where messages to this target go.
    fn endpoint_of(&self, target: Target) -> EndpointId {
        let row = self.endpoints.iter().find(|row| row.targets.contains(&target));
        row.map_or(EndpointId(0), |row| row.id)
    }

    // Queries -------------------------------------------------------------------------------------

    /// What a dispatcher gets for any query, all of it at one moment. `now`: by its own clock.
    pub fn ask(&mut self, me: Uuid, query: Query, luck: Luck, now: Instant) -> Event {
        match query {
            Query::SaveCheckpoint { owned, checkpoint, claimed, .. } => {
                let lost = self.save_checkpoint(me, &owned, checkpoint);
                self.look(Looking::Checkpoint { lost, claimed })
            }
            Query::Claim { claimed, owned, claims, look } => {
                let looking = self.claim(me, claimed, &owned, claims, look);
                self.look(looking)
            }
            Query::Acquire { limit, silent, former } => {
                let mut takeover = Takeover::new(self.take_shards(me, limit, &silent), former);
                loop {
                    if let Some(acquired) = self.recover(me, &mut takeover) {
                        return Event::Acquired(Ok(acquired));
                    }
                }
            }
            query => self.answer(me, query, luck, now),
        }
    }

    /// What a dispatcher gets for a query that is one statement. `now`: by its own clock.
    pub fn answer(&mut self, me: Uuid, query: Query, luck: Luck, now: Instant) -> Event {
        match query {
            Query::Tick(groups) => Event::Ticked(Ok(self.tick(groups, luck))),
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
            Query::FetchExpired { shards, most, after, in_hand } => {
                Event::Expired(Ok(self.expired(&shards, most, after, &in_hand)))
            }
            Query::FetchFollowers(asked, _) => {
                let rows = self.followers(&asked);
                Event::Followers(asked, Ok(rows))
            }
            Query::Flush { owned, recorded } => {
                Event::Flushed(Ok(Box::new(self.flush(me, owned, *recorded, now))))
            }
            Query::Recover(owned, held) => {
                let recovered = self.recover_waiting(me, &owned, held.clone());
                Event::Recovered(held, Ok(recovered))
            }
            Query::Release { owned, released, checkpoint } => {
                self.release(me, &owned, &released, checkpoint);
                Event::Released(released, Ok(()))
            }
            Query::Maintain(shards) => {
                self.release_stored_keys(&shards);
                Event::Maintained(Ok(()))
            }
            Query::Count(counting) => {
                let counts = self.counts(&counting.shards, counting.endpoints.as_deref());
                Event::Counted(counting, Ok(counts))
            }
            Query::Tell(proposals, _) => {
                let asked = proposals.iter().map(|proposal| proposal.endpoint).collect();
                Event::Told(asked, Ok(self.save_circuits(&proposals)))
            }
            Query::AskForProbe(probe, proposal, _) => {
                Event::Probing(probe, Ok(self.save_circuits(&[proposal])))
            }
            Query::TakeTokens(_) => Event::Tokens(Ok(Vec::new())),
            Query::Trade(owned, trade) => {
                let loans = self.trade(me, &owned, trade);
                Event::Traded(owned, Ok(loans))
            }
            Query::LockDoorbell(shards) => Event::Doorbell(Ok(self.lock_doorbell(me, &shards))),
            Query::UnlockDoorbell => {
                self.asleep.retain(|_, id| *id != me);
                Event::Doorbell(Ok(false))
            }
            Query::SaveCheckpoint { .. } | Query::Claim { .. } | Query::Acquire { .. } => {
                unreachable!("these are several statements")
            }
            other => self.answer_about_endpoints(other),
        }
    }

    fn answer_about_endpoints(&self, query: Query) -> Event {
        match query {
            Query::LoadVersions => {
                let versions = self.endpoints.iter().map(|e| (e.id, e.version)).collect();
                Event::Endpoints(Ok((versions, Vec::new())))
            }
            Query::LoadEndpoints(versions, ids) => {
                let rows = || self.endpoints.iter().filter(|row| ids.contains(&row.id));
                let read = |id| rows().find(|row| row.id == id).map(|row| row.version);
                let versions =
                    versions.into_iter().map(|(id, known)| (id, read(id).unwrap_or(known)));
                let opened = rows().map(|row| (row.clone(), Ok(offer(row)))).collect();
                Event::Endpoints(Ok((versions.collect(), opened)))
            }
            Query::LoadSettings => {
                let scope = if self.is_global { "global" } else { "endpoint" };
                Event::Settings(Ok(SharedSettings {
                    settings: vec![
                        ("circuit_breaker_cooldown".to_owned(), "2".to_owned()),
                        ("ordering_scope".to_owned(), scope.to_owned()),
                    ],
                    event_type_policies: Vec::new(),
                }))
            }
            Query::LoadCircuits(asked) => {
                let is_worth_telling = |(_, circuit): &(&EndpointId, &Circuit)| {
                    circuit.state != Circuits::Closed
                        || circuit.failure_count > 0
                        || circuit.paused_until.is_some_and(|until| until.0 > self.now.0)
                };
                let others = self.circuits.iter().filter(is_worth_telling).map(|(id, _)| *id);
                let mut ids: Vec<EndpointId> = asked.into_iter().chain(others).collect();
                ids.sort_unstable();
                ids.dedup();
                let known = |id: EndpointId| {
                    let circuit = self.circuits.get(&id).copied().unwrap_or_default();
                    (id, self.as_known(circuit))
                };
                Event::Circuits(Ok(ids.into_iter().map(known).collect()))
            }
            Query::Retire(id) => Event::Retired(id, Ok(false)),
            _ => unreachable!("asked about endpoints"),
        }
    }

    /// Nobody sleeps while a sender is in flight.
    fn lock_doorbell(&mut self, me: Uuid, shards: &[Shard]) -> bool {
        let is_sent_to = |id: &i64| shards.contains(&MessageId(*id).lane().shard());
        let is_free = |shard| self.asleep.get(shard).is_none_or(|id| *id == me);
        if self.written.values().flatten().any(is_sent_to) || !shards.iter().all(is_free) {
            return false;
        }
        self.asleep.extend(shards.iter().map(|shard| (*shard, me)));
        true
    }

    /// The shards of these that somebody else owns by now.
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
}

/// What a transport of the endpoint would offer: nothing of that changes in a life but its edition, which the driver fills in.
fn offer(row: &EndpointRow) -> Offer {
    let concurrency = row.config["concurrency"].as_u64().expect("a number") as usize;
    let max_in_memory = Some(MAX_IN_MEMORY);
    Offer {
        edition: Edition(0),
        flow: Flow { concurrency, rate: None, max_in_memory, is_limited: false },
        batch_limit: BATCH_LIMIT,
        is_disabled_when_gone: false,
    }
}
