//! A dispatcher that decides nothing: it asks what it is told to ask, and keeps what it is answered.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    breaker::{Circuit, State},
    chains::Scope,
    checkpoint::{Checkpoint, Claim},
    decide::Cause,
    gaps::Gaps,
    id::{EndpointId, Lane, MessageId, Shard, Target},
    lease::Owned,
    message::LogMessage,
    moment::Moment,
    outcome::{Outcome, Report},
    reader::{LaneReader, Page, Row as _, Taken, Which},
    sharing::{Proposal, Trade},
    tenure::{
        Delivery, Gathered, Message, Settlement, Source, Tenure, TickGroup,
        command::{Counting, Event, Look, Query},
    },
    tick::Tick,
    timestamp::Timestamp,
    waiting::{DueDelivery, ExpiryPlace},
};

use uuid::Uuid;

use super::world::{Began, Place, STEP_US};

/// More than waits at an endpoint.
pub const ALL: usize = 1_000;

/// What a dispatcher asks.
#[derive(Debug, Clone)]
pub enum Ask {
    /// `is_heir`: knows what its predecessor has certainly not attempted.
    Acquire {
        limit: usize,
        is_heir: bool,
    },
    /// `full`: there is no room for messages to these.
    Tick {
        is_large: bool,
        is_merging: bool,
        full: Vec<Target>,
    },
    Page {
        lane: Lane,
        which: Which,
        limit: usize,
        full: Vec<Target>,
    },
    Checkpoint,
    Due(Vec<(EndpointId, usize)>),
    Next,
    Expired(usize),
    Followers(Vec<(Arc<str>, EndpointId)>),
    Claim(Look),
    Flush(Vec<(Place, Fate)>),
    Release(Vec<Shard>),
    Recover,
    Maintain,
    Count(Option<Vec<EndpointId>>),
    Doorbell(bool),
    Trade(Trade),
    Circuits,
    Tell(EndpointId, Told),
}

/// What is said of a circuit; times by the numbers of steps.
#[derive(Debug, Clone, Copy)]
pub enum Told {
    Fails(u32),
    Opens(i64),
    Probes,
    Closes,
    Pauses(i64),
}

/// What becomes of a delivery in hand; times by the numbers of steps.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Delivered,
    /// After so many steps.
    Retry(i64),
    Dead,
    Expired,
    Cancelled,
    GiveBack {
        until: Option<i64>,
        is_blocked: bool,
    },
    Postpone(i64),
}

pub struct Desk {
    is_global: bool,
    pub owned: Vec<Owned>,
    pub readers: BTreeMap<Lane, LaneReader>,
    /// What was read and is not written down as taken.
    pub taken: Vec<Delivery>,
    /// Messages to nobody that were read.
    nobody: Vec<(Arc<Message>, Source)>,
    /// What was fetched and not claimed.
    pub due: BTreeMap<Place, DueDelivery>,
    pub hand: BTreeMap<Place, Delivery>,
    /// What is to become of them, by what was heard.
    pub fates: BTreeMap<Place, Fate>,
    /// What its predecessors had claimed and somebody holds.
    pub held: Vec<Claim>,
    /// Results that somebody has held up.
    aside: Gathered,
    pub is_asleep: bool,
    id: Uuid,
    former: Option<Tenure>,
    circuits: BTreeMap<EndpointId, Circuit>,
}

impl Desk {
    pub fn new(id: Uuid, is_global: bool, former: Option<Tenure>) -> Desk {
        Desk {
            id,
            former,
            circuits: BTreeMap::new(),
            is_global,
            owned: Vec::new(),
            readers: BTreeMap::new(),
            taken: Vec::new(),
            nobody: Vec::new(),
            due: BTreeMap::new(),
            hand: BTreeMap::new(),
            fates: BTreeMap::new(),
            held: Vec::new(),
            aside: Gathered::default(),
            is_asleep: false,
        }
    }

    pub fn shards(&self) -> Vec<Shard> {
        self.owned.iter().map(|owned| owned.shard).collect()
    }

    /// What its successor may know: what is in memory was not attempted, but for what is in hand.
    pub fn leave(&self) -> Tenure {
        let taken = self.taken.iter().map(Delivery::place);
        let spared = taken.chain(self.due.keys().copied()).collect();
        Tenure { id: self.id, spared: Arc::new(spared) }
    }

    fn proposal(&self, endpoint: EndpointId, told: Told, began: Began) -> Proposal {
        let known = self.circuits.get(&endpoint).copied().unwrap_or_default();
        let moment = |step| Moment(began.moment(step).0);
        let mut circuit = Circuit { version: known.version + 1, ..known };
        match told {
            Told::Fails(count) => {
                circuit.failure_count = count;
                circuit.last_failure_at = Some(Moment(began.0.0));
                circuit.failing_since = circuit.failing_since.or(circuit.last_failure_at);
            }
            Told::Opens(step) => circuit.state = State::Open { probe_at: moment(step) },
            Told::Probes => {
                circuit.state =
                    State::HalfOpen { prober: self.id.as_u128(), is_prober_alive: true };
            }
            Told::Closes => {
                let last_success_at = Some(Moment(began.0.0));
                circuit = Circuit { version: known.version + 1, ..Circuit::default() };
                circuit.last_success_at = last_success_at;
            }
            Told::Pauses(step) => circuit.paused_until = Some(moment(step)),
        }
        Proposal { endpoint, known_version: known.version, circuit }
    }

    fn scope(&self) -> Scope {
        if self.is_global { Scope::Global } else { Scope::Endpoint }
    }

    /// Whether nothing of a shard is in hand or on its way.
    pub fn is_settled(&self, shard: Shard) -> bool {
        let is_of = |id: &MessageId| id.lane().shard() == shard;
        let of_readers = self.readers.iter().filter(|(lane, _)| lane.shard() == shard);
        of_readers.into_iter().all(|(_, reader)| reader.is_settled())
            && !self.taken.iter().any(|delivery| is_of(&delivery.message.id))
            && !self.hand.keys().any(|(id, _)| is_of(id))
    }

    fn forget(&mut self, lost: &[Owned]) {
        let lost: Vec<Shard> = lost.iter().map(|owned| owned.shard).collect();
        let is_kept = |id: MessageId| !lost.contains(&id.lane().shard());
        self.owned.retain(|owned| !lost.contains(&owned.shard));
        self.readers.retain(|lane, _| !lost.contains(&lane.shard()));
        self.taken.retain(|delivery| is_kept(delivery.message.id));
        self.nobody.retain(|(message, _)| is_kept(message.id));
        self.due.retain(|(id, _), _| is_kept(*id));
        self.hand.retain(|(id, _), _| is_kept(*id));
        self.fates.retain(|(id, _), _| is_kept(*id));
        self.held.retain(|claim| is_kept(claim.id));
        self.aside.forget(&lost);
    }

    // Asking ----------------------------------------------------------------------------------------

    pub fn groups(&self, is_merging: bool) -> Vec<TickGroup> {
        let mut groups: Vec<TickGroup> = Vec::new();
        for (lane, reader) in &self.readers {
            let is_merging = is_merging && reader.has_lag() && !reader.is_walking(Which::Lag);
            let Some(base) = reader.tick_base(is_merging) else { continue };
            let is_same =
                |group: &&mut TickGroup| group.base == *base && group.is_merging == is_merging;
            match groups.iter_mut().find(is_same) {
                Some(group) => group.lanes.push(*lane),
                None => {
                    groups.push(TickGroup { base: base.clone(), lanes: vec![*lane], is_merging });
                }
            }
        }
        groups
    }

    fn checkpoint(&self) -> Checkpoint {
        let lanes: Vec<_> =
            self.readers.iter().map(|(lane, reader)| (*lane, reader.state())).collect();
        let done_xmin = lanes.iter().map(|(_, state)| state.done_xmin()).min().unwrap_or(4);
        let backlogs = self.owned.iter().map(|owned| i64::from(owned.shard.0)).collect();
        Checkpoint { lanes, done_xmin, backlogs }
    }

    pub fn page(&self, lane: Lane, which: Which, limit: usize) -> Option<Page> {
        self.readers.get(&lane)?.next_page(which, limit, &Gaps::default())
    }

    /// What it asks; `None`: there is nothing to ask.
    pub fn query(&mut self, ask: &Ask, began: Began) -> Option<Query> {
        Some(match ask {
            Ask::Acquire { limit, is_heir } => Query::Acquire {
                limit: *limit,
                silent: Vec::new(),
                former: self.former.clone().filter(|_| *is_heir),
            },
            Ask::Tick { is_merging, .. } => Query::Tick(self.groups(*is_merging)),
            Ask::Page { lane, which, limit, .. } => {
                Query::ReadPage(self.page(*lane, *which, *limit)?)
            }
            Ask::Checkpoint => Query::SaveCheckpoint {
                owned: self.owned.clone(),
                checkpoint: self.checkpoint(),
                updates_gate: false,
                claimed: self.taken.iter().map(|delivery| delivery.message.id).collect(),
            },
            Ask::Due(wanted) => Query::FetchDue {
                wanted: wanted.clone(),
                shards: self.shards(),
                scope: self.scope(),
                deferrals: 0,
            },
            Ask::Next => Query::FetchNext(self.shards()),
            Ask::Expired(most) => Query::FetchExpired {
                shards: self.shards(),
                most: *most,
                after: ExpiryPlace::FIRST,
                in_hand: self.hand.keys().copied().collect(),
            },
            Ask::Followers(keys) => {
                let asked = keys.iter().map(|(key, endpoint)| (Arc::clone(key), *endpoint, 0));
                Query::FetchFollowers(asked.collect(), self.scope())
            }
            Ask::Claim(look) => {
                let claim = |row: &DueDelivery| Claim {
                    id: row.id,
                    target: row.target,
                    retry_count: row.retry_count,
                };
                Query::Claim {
                    claimed: Vec::new(),
                    owned: self.owned.clone(),
                    claims: self.due.values().map(claim).collect(),
                    look: *look,
                }
            }
            Ask::Flush(fates) => Query::Flush {
                owned: self.owned.clone(),
                recorded: Box::new(self.gather(fates, began)),
            },
            Ask::Release(shards) => Query::Release {
                owned: self.owned.clone(),
                released: self.of(shards),
                checkpoint: self.checkpoint(),
            },
            Ask::Recover => Query::Recover(self.owned.clone(), std::mem::take(&mut self.held)),
            Ask::Maintain => Query::Maintain(self.shards()),
            Ask::Count(endpoints) => Query::Count(Counting {
                began_at: Instant::now(),
                shards: self.shards(),
                endpoints: endpoints.clone(),
                changes: 0,
                is_changing: false,
            }),
            Ask::Doorbell(true) => Query::LockDoorbell(self.shards()),
            Ask::Doorbell(false) => Query::UnlockDoorbell,
            Ask::Trade(trade) => Query::Trade(self.owned.clone(), trade.clone()),
            Ask::Circuits => Query::LoadCircuits((1..=3).map(EndpointId).collect()),
            Ask::Tell(endpoint, told) => {
                let proposal = self.proposal(*endpoint, *told, began);
                // By the clock of who is never ahead of the database's.
                Query::Tell(vec![proposal], began.0)
            }
        })
    }

    fn of(&self, shards: &[Shard]) -> Vec<Owned> {
        self.owned.iter().filter(|owned| shards.contains(&owned.shard)).copied().collect()
    }

    fn gather(&mut self, fates: &[(Place, Fate)], began: Began) -> Gathered {
        let now = Instant::now();
        let mut gathered = std::mem::take(&mut self.aside);
        for (message, source) in self.nobody.drain(..) {
            gathered.nobody(&message, source, now);
        }
        let wait = |steps: i64| Duration::from_micros((steps * STEP_US).unsigned_abs());
        for (place, fate) in fates {
            let Some(delivery) = self.hand.remove(place) else { continue };
            self.fates.remove(place);
            let given_back = |run_at: Option<i64>, is_blocked| Settlement::GivenBack {
                run_at: run_at.map(|step| began.moment(step)),
                pause: Duration::ZERO,
                is_blocked,
            };
            let settlement = match *fate {
                Fate::Delivered => Settlement::Delivered,
                Fate::Retry(steps) => {
                    attempt(&mut gathered, &delivery, began);
                    Settlement::Retry { wait: wait(steps), error: "so it is".to_owned() }
                }
                Fate::Dead => {
                    attempt(&mut gathered, &delivery, began);
                    Settlement::Dead { cause: Cause::Rejected, error: None }
                }
                Fate::Expired => Settlement::Expired,
                Fate::Cancelled => Settlement::Cancelled,
                Fate::GiveBack { until, is_blocked } => given_back(until, is_blocked),
                Fate::Postpone(step) if delivery.source == Source::Deferred => {
                    Settlement::Postponed { run_at: began.moment(step) }
                }
                Fate::Postpone(step) => given_back(Some(step), false),
            };
            gathered.settle(delivery, settlement, now);
        }
        gathered
    }

    // Hearing ---------------------------------------------------------------------------------------

    pub fn take(&mut self, ask: &Ask, event: Event, now: Timestamp) {
        match (ask, event) {
            (Ask::Tick { full, .. }, Event::Ticked(Ok((groups, _)))) => {
                let mut common = None;
                for (group, tick, bounds) in groups {
                    match (tick, bounds) {
                        (Tick::Rows { top, rows, .. }, _) => {
                            let top = common.get_or_insert(top).clone();
                            self.take_rows(&group, &top, rows, full, now);
                        }
                        (Tick::TooMany { top, .. }, Some(bounds)) => {
                            let top = common.get_or_insert(top).clone();
                            for lane in &group.lanes {
                                let Some(reader) = self.readers.get_mut(lane) else { continue };
                                match reader.lag_gap().filter(|_| group.is_merging) {
                                    Some((_, tail)) => reader.open_window(
                                        Which::Lag,
                                        tail,
                                        bounds.after,
                                        bounds.end,
                                    ),
                                    None => reader.open_window(
                                        Which::Tail,
                                        top.clone(),
                                        bounds.after,
                                        bounds.end,
                                    ),
                                }
                            }
                        }
                        (Tick::TooMany { .. }, None) => panic!("a large tick without bounds"),
                    }
                }
            }
            (Ask::Page { full, .. }, Event::Paged(page, Ok((rows, left)))) => {
                let Some(reader) = self.readers.get_mut(&page.lane) else { return };
                let taken = reader.take_page(&page, rows, &left);
                self.distribute(page.lane, taken, page.which, full, now);
            }
            (_, Event::Claimed(Ok((lost, cancels)))) => {
                let taken = std::mem::take(&mut self.taken);
                for delivery in taken {
                    let place = delivery.place();
                    if cancels.under_way.contains(&place.0) {
                        let fate = Fate::GiveBack { until: None, is_blocked: false };
                        self.fates.insert(place, fate);
                    } else if cancels.committed.contains(&place) {
                        self.fates.insert(place, Fate::Cancelled);
                    }
                    self.hand.insert(place, delivery);
                }
                self.forget(&lost);
            }
            (_, Event::DueClaimed(_, Ok(answer))) => {
                for (place, row) in std::mem::take(&mut self.due) {
                    let Some(waiting) = answer.still_waiting.get(&place) else { continue };
                    if answer.unclaimed.contains(&place)
                        || waiting.is_held
                        || waiting.retry_count != row.retry_count
                        || answer.cancels.under_way.contains(&place.0)
                        || !answer.lost.is_empty()
                    {
                        continue;
                    }
                    if answer.cancels.committed.contains(&place) {
                        self.fates.insert(place, Fate::Cancelled);
                    } else if waiting.has_expired {
                        self.fates.insert(place, Fate::Expired);
                    }
                    self.hand.insert(place, Delivery::due(row, 0));
                }
                self.forget(&answer.lost);
            }
            // Of few, which ones is chance.
            (Ask::Due(wanted), Event::Due(_, _, Ok(answer)))
                if wanted.iter().all(|(_, most)| *most >= ALL) =>
            {
                self.fetch(answer.rows);
            }
            (_, Event::Followers(_, Ok(rows))) => self.fetch(rows),
            (_, Event::Expired(Ok(page))) => self.fetch(page.rows),
            (_, Event::Flushed(Ok(flushed))) => {
                for ((lane, segment), count) in &flushed.recorded.finished {
                    if let Some(reader) = self.readers.get_mut(lane) {
                        reader.finish(*segment, *count);
                    }
                }
                self.aside.take_back(flushed.held, Instant::now());
                self.forget(&flushed.lost);
            }
            (_, Event::Acquired(Ok((acquired, _)))) => {
                for taken in acquired {
                    self.forget(&[taken.owned]);
                    self.owned.push(taken.owned);
                    self.held.extend(taken.held);
                    for (lane, state) in taken.lanes {
                        self.readers.insert(lane, LaneReader::new(lane, state));
                    }
                }
            }
            (_, Event::Recovered(_, Ok(recovered))) => self.held = recovered.held,
            (_, Event::Released(released, Ok(()))) => self.forget(&released),
            (_, Event::Circuits(Ok(known))) => self.circuits.extend(known),
            (_, Event::Told(_, Ok(answers))) => {
                self.circuits
                    .extend(answers.iter().map(|answer| (answer.endpoint, answer.current)));
            }
            (Ask::Doorbell(wants), Event::Doorbell(Ok(is_locked))) => {
                self.is_asleep = *wants && is_locked;
            }
            _ => {}
        }
    }

    fn fetch(&mut self, rows: Vec<DueDelivery>) {
        for row in rows {
            let place = (row.id, row.target);
            let is_known = self.hand.contains_key(&place)
                || self.taken.iter().any(|delivery| delivery.place() == place);
            if !is_known && self.shards().contains(&row.id.lane().shard()) {
                self.due.insert(place, row);
            }
        }
    }

    fn take_rows(
        &mut self,
        group: &TickGroup,
        top: &postrider_core::snapshot::Snapshot,
        rows: Vec<LogMessage>,
        full: &[Target],
        now: Timestamp,
    ) {
        let mut by_lane: BTreeMap<Lane, Vec<LogMessage>> = BTreeMap::new();
        for row in rows {
            by_lane.entry(row.id.lane()).or_default().push(row);
        }
        for lane in &group.lanes {
            let rows = by_lane.remove(lane).unwrap_or_default();
            let Some(reader) = self.readers.get_mut(lane) else { continue };
            if let Some(taken) = reader.take_tick(group.is_merging, top, rows) {
                self.distribute(*lane, taken, Which::Tail, full, now);
            }
        }
    }

    /// As a dispatcher does it (`dispatcher/reading.rs` of the core): what there is no room for is left to the lag.
    fn distribute(
        &mut self,
        lane: Lane,
        taken: Taken<LogMessage>,
        which: Which,
        full: &[Target],
        now: Timestamp,
    ) {
        let Taken { segment, base, top, rows } = taken;
        let Some(reader) = self.readers.get_mut(&lane) else { return };
        let mut skipped: Vec<Target> = Vec::new();
        for row in rows {
            let is_due = row.terms.scheduled_at.is_none_or(|at| at <= now);
            if let Some(target) = row.only_target()
                && which == Which::Tail
                && !row.expires()
            {
                let since = row.terms.pending_since().0;
                let may_lag = is_due && !lane.is_keyed() && full.contains(&target);
                if skipped.contains(&target) {
                    reader.count_left(target, row.id, since);
                    reader.finish(segment, 1);
                    continue;
                }
                if may_lag && reader.skip(target, &base, &top, row.id, since) {
                    skipped.push(target);
                    reader.finish(segment, 1);
                    continue;
                }
            }
            let source = Source::Log { lane, segment };
            let targets = row.targets.clone();
            let message = Message::new(row);
            if targets.as_slice().is_empty() {
                self.nobody.push((Arc::clone(&message), source));
            }
            for target in targets.as_slice() {
                self.taken.push(Delivery {
                    message: Arc::clone(&message),
                    target: *target,
                    endpoint: EndpointId((target.0 - 1) % 3 + 1),
                    retry_count: 0,
                    recovery_count: 0,
                    source,
                    claimed_at: None,
                    epoch: 0,
                });
            }
        }
    }
}

fn attempt(gathered: &mut Gathered, delivery: &Delivery, began: Began) {
    let outcome = Outcome::Unavailable { retry_after: None };
    let report = Report::failed(outcome, "so it is".to_owned(), Duration::from_millis(1));
    gathered.attempt(delivery, began.0, &report);
}
