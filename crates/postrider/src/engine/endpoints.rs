//! The endpoints as this process knows them: how to reach each, what waits for it, how much it may
//! take.

mod flights;
mod gate;
mod memory;
mod ready;
mod rests;
mod thirst;
mod untold;

use postrider_core::hashing::{HashMap, HashSet};
use std::{sync::Arc, time::Duration};

use postrider_core::{
    breaker::{Circuit, Permit, Prober, Rules, State},
    id::{EndpointId, MessageId, Priority, Target},
    moment::Moment,
    outcome::{Outcome, Report},
    places::places_of,
    rate::Bucket,
    weights::Size,
};
use tokio::time::Instant;
use tracing::{info, warn};
use uuid::Uuid;

use self::{
    flights::{Flight, Flights},
    gate::Gate,
    memory::{Buffer, Memory},
    ready::Ready,
    rests::Rests,
    thirst::Thirst,
    untold::Untold,
};
use super::{
    clock::Clock,
    delivery::Delivery,
    loans::{Demand, Loans},
    policies::EndpointPolicies,
    queue::Kinds,
};
use crate::{
    store::{
        circuits::{Answer, Granted, Loan, Proposal, Trade, Wanted},
        lease::Owned,
        log::EndpointRow,
        wire::Timestamp,
    },
    transport::{self, Flow, Shared, Transport},
};

/// What waits in memory for an endpoint is at most so many times what may be in flight to it.
const QUEUE_FACTOR: usize = 4;
const SMALLEST_QUEUE: usize = 1024;
/// An endpoint that is stalled may have this part of its concurrency in flight.
const STALLED_SHARE: usize = 16;
/// So many failures in a row are worth a line in the log.
const FAILING_AFTER: u32 = 10;
/// So many messages are let in for an endpoint that may be probed: some of them may have expired.
const PROBE_ROOM: usize = 64;
/// Endpoints for which tokens are asked by one query.
const THIRSTY: usize = 200;
/// Circuits that are saved by one query.
const PROPOSALS: usize = 1_000;

/// One endpoint.
struct Endpoint {
    id: EndpointId,
    name: Arc<str>,
    version: i64,
    targets: Vec<Target>,
    is_enabled: bool,
    /// Why it cannot be sent to, when its config is not understood.
    transport: Result<Arc<dyn Transport>, String>,
    policies: EndpointPolicies,
    buffer: Buffer,
    flight: Flight,
    gate: Gate,
    /// When its first waiting delivery is due; `None`: it has none, as far as is known.
    deferred_at: Option<Timestamp>,
    /// Waiting deliveries that are in hand.
    deferred_in_hand: usize,
    /// Our tokens, if it has a rate limit.
    bucket: Option<Bucket>,
    failures_in_a_row: u32,
}

/// All of them, and what they share.
pub struct Endpoints {
    shared: Arc<Shared>,
    by_id: HashMap<EndpointId, Endpoint>,
    by_target: HashMap<Target, EndpointId>,
    ready: Ready,
    /// Endpoints that have waiting deliveries, as far as is known.
    waiting: HashSet<EndpointId>,
    rests: Rests,
    untold: Untold,
    thirst: Thirst,
    pub clock: Clock,
    /// The moment of what is being decided, as the dispatcher was told it.
    pub now: Instant,
    rules: Rules,
    /// How many shards are ours, and how many there are.
    owned_shards: usize,
    shard_count: usize,
    loans: Loans,
    flights: Flights,
    memory: Memory,
}

/// How the endpoints differ from what is known of them.
pub struct Comparison {
    /// To be read (again).
    pub changed: Vec<EndpointId>,
    pub gone: Vec<EndpointId>,
    /// What was queued for those that are gone.
    pub orphans: Vec<Delivery>,
}

/// Which waiting deliveries to fetch now, and when to look again.
pub struct Wanting {
    /// Endpoints that have something due and room for it, with how many rows to ask for.
    pub endpoints: Vec<(EndpointId, usize)>,
    /// Something is due, here or where there is no room for it yet.
    pub is_any_due: bool,
    /// When the next one is due of those that are not due yet.
    pub next: Option<Timestamp>,
}

/// A batch that is to be attempted now.
pub struct Batch {
    pub endpoint: EndpointId,
    /// The circuit is open: it may go only once the probe is ours.
    pub is_probe: bool,
    pub transport: Result<Arc<dyn Transport>, String>,
    pub deliveries: Vec<Delivery>,
}

impl Endpoints {
    pub fn new(
        shared: Arc<Shared>,
        max_in_flight: usize,
        max_buffered: usize,
        now: Instant,
    ) -> Endpoints {
        Endpoints {
            now,
            shared,
            by_id: HashMap::default(),
            by_target: HashMap::default(),
            ready: Ready::default(),
            waiting: HashSet::default(),
            rests: Rests::default(),
            untold: Untold::default(),
            thirst: Thirst::default(),
            clock: Clock::new(now, 0),
            rules: Rules { threshold: 10, cooldown: Duration::from_secs(30) },
            owned_shards: 1,
            shard_count: 1,
            loans: Loans::default(),
            flights: Flights::new(max_in_flight),
            memory: Memory::new(max_buffered),
        }
    }

    /// How many deliveries are on their way.
    pub fn in_flight(&self) -> usize {
        self.flights.count()
    }

    /// How many are in queues or about to be.
    pub fn buffered(&self) -> usize {
        self.memory.taken()
    }

    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// How much of the log is ours, which is our part of what an endpoint takes at a time.
    pub fn set_share(&mut self, owned: Vec<Owned>, total: usize) {
        self.owned_shards = owned.len();
        self.shard_count = total;
        self.loans.set_owned(owned);
    }

    fn moment(&self, at: Instant) -> Moment {
        Moment(self.clock.timestamp(at).0)
    }

    /// The database's clock has been set back: what is remembered may go by it as it was before.
    pub fn set_back(&mut self, clock: Clock, by: Duration) {
        self.clock = clock;
        let now = self.moment(self.now);
        for endpoint in self.by_id.values_mut() {
            endpoint.gate.set_back(by, now);
            if let Some(bucket) = &mut endpoint.bucket {
                bucket.set_back(by);
            }
        }
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn name(&self, id: EndpointId) -> Option<&Arc<str>> {
        self.by_id.get(&id).map(|endpoint| &endpoint.name)
    }

    pub fn is_known(&self, id: EndpointId) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn by_target(&self, target: Target) -> Option<EndpointId> {
        self.by_target.get(&target).copied()
    }

    /// Whether it has a limit of its own for what waits.
    pub fn is_limited(&self, id: EndpointId) -> bool {
        self.by_id.get(&id).and_then(Endpoint::flow).is_some_and(|flow| flow.is_limited)
    }

    /// The endpoints of these versions that are not known or known in another version. Endpoints
    /// that are not among them are gone; what waited for those is returned.
    pub fn compare(&mut self, versions: &[(EndpointId, i64)]) -> Comparison {
        let current: HashMap<EndpointId, i64> = versions.iter().copied().collect();
        let gone: Vec<EndpointId> =
            self.by_id.keys().filter(|id| !current.contains_key(id)).copied().collect();
        let mut orphans = Vec::new();
        for id in &gone {
            if let Some(endpoint) = self.by_id.remove(id) {
                self.rests.forget(*id);
                self.untold.forget(*id);
                self.thirst.forget(*id);
                for target in &endpoint.targets {
                    self.by_target.remove(target);
                }
                self.flights.forget(&endpoint.flight);
                orphans.extend(self.memory.forget(endpoint.buffer));
            }
        }
        let is_changed = |(id, version): &&(EndpointId, i64)| {
            self.by_id.get(id).is_none_or(|known| known.version != *version)
        };
        let changed = versions.iter().filter(is_changed).map(|(id, _)| *id).collect();
        Comparison { changed, gone, orphans }
    }

    /// Takes over an endpoint's configuration.
    pub fn apply(&mut self, row: EndpointRow) {
        let transport = transport::open(&row.protocol, &row.config, &self.shared)
            .map_err(|error| error.to_string());
        if let Err(error) = &transport {
            warn!(endpoint = %row.name, %error, "endpoint cannot be opened");
        }
        let policies = EndpointPolicies::read(&row);
        let rate = transport.as_ref().ok().and_then(|transport| transport.flow().rate);
        let fresh = Endpoint {
            id: row.id,
            name: row.name.into(),
            version: row.version,
            targets: row.targets,
            is_enabled: row.is_enabled && !row.is_paused,
            transport,
            policies,
            buffer: Buffer::default(),
            flight: Flight::new(self.now),
            gate: Gate::default(),
            deferred_at: None,
            deferred_in_hand: 0,
            bucket: rate.map(Bucket::new),
            failures_in_a_row: 0,
        };
        self.by_target.extend(fresh.targets.iter().map(|target| (*target, row.id)));
        match self.by_id.get_mut(&row.id) {
            Some(known) => {
                known.name = fresh.name;
                known.version = fresh.version;
                known.targets = fresh.targets;
                known.is_enabled = fresh.is_enabled;
                known.transport = fresh.transport;
                known.policies = fresh.policies;
                if known.bucket.map(|bucket| bucket.rate) != rate {
                    known.bucket = fresh.bucket;
                }
            }
            None => {
                self.by_id.insert(row.id, fresh);
            }
        }
        self.ready.push(row.id);
    }

    /// How many more deliveries of a priority the endpoint may have in memory. What waits with a
    /// lower priority takes no room away, and a part belongs to each priority alone.
    pub fn room(&self, id: EndpointId, priority: Priority) -> usize {
        let Some(endpoint) = self.by_id.get(&id) else { return 0 };
        match self.permit(endpoint) {
            Permit::None => return 0,
            Permit::Probe => return PROBE_ROOM.saturating_sub(endpoint.buffer.count()),
            Permit::Some(_) | Permit::All => {}
        }
        let limit = endpoint.queue_limit(self.concurrency(endpoint), self.now);
        self.memory.room(&endpoint.buffer, priority, limit)
    }

    /// How many more deliveries that wait in the database may come into memory, besides what is read
    /// from the log.
    pub fn room_for_waiting(&self, id: EndpointId, priority: Priority) -> usize {
        let Some(endpoint) = self.by_id.get(&id) else { return 0 };
        match self.permit(endpoint) {
            Permit::None | Permit::Probe => return self.room(id, priority),
            Permit::Some(_) | Permit::All => {}
        }
        let limit = endpoint.queue_limit(self.concurrency(endpoint), self.now);
        let in_hand = endpoint.deferred_in_hand;
        self.memory.room_for_waiting(&endpoint.buffer, priority, limit, in_hand)
    }

    /// Whether an endpoint has used up less than half of what it may have in memory.
    pub fn is_hungry(&self, target: Target, priority: Priority) -> bool {
        let Some(id) = self.by_target(target) else { return true };
        let held = self.by_id.get(&id).map_or(0, |known| known.buffer.count_from(priority));
        self.room(id, priority) > held
    }

    /// A delivery will be queued once it is claimed and has its turn.
    pub fn reserve(&mut self, id: EndpointId, priority: Priority) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            self.memory.reserve(&mut endpoint.buffer, priority);
        }
    }

    /// Queues a delivery that was reserved; gives it back when its endpoint is gone.
    pub fn enqueue(&mut self, delivery: Delivery) -> Option<Delivery> {
        let id = delivery.endpoint;
        let Some(endpoint) = self.by_id.get_mut(&id) else { return Some(delivery) };
        endpoint.buffer.push(delivery);
        self.ready.push(id);
        None
    }

    /// Undoes a reservation.
    pub fn cancel_reservation(&mut self, id: EndpointId, priority: Priority) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            self.memory.cancel(&mut endpoint.buffer, priority);
        }
    }

    /// What may be sent to an endpoint now.
    fn permit(&self, endpoint: &Endpoint) -> Permit {
        endpoint.permit(self.now, &self.clock, self.rules)
    }

    /// Our part of what may be in flight to an endpoint.
    fn concurrency(&self, endpoint: &Endpoint) -> usize {
        let whole = endpoint.flow().map_or(1, |flow| flow.concurrency);
        places_of(whole, self.loans.parts(endpoint.id), self.shard_count)
    }

    /// The next batch that may go now; endpoints take turns.
    pub fn next_batch(&mut self) -> Option<Batch> {
        while !self.flights.is_full() {
            let id = match self.first_in_line() {
                Some(id) => id,
                None => self.ready.pop()?,
            };
            let Some((permit, places)) = self.places(id) else { continue };
            let moment = self.moment(self.now);
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            let mut count = places.min(endpoint.buffer.queued_count());
            if let Some(bucket) = endpoint.bucket.as_mut().filter(|_| count > 0) {
                count = count.min(bucket.available(moment));
                if count == 0 {
                    self.thirst.add(id);
                }
            }
            if count == 0 {
                self.want_loan(id, permit);
                continue;
            }
            let deliveries = endpoint.take_batch(count, &mut self.memory, &mut self.flights);
            let count = deliveries.len();
            if count == 0 {
                continue;
            }
            if let Some(bucket) = &mut endpoint.bucket {
                bucket.take(count);
            }
            self.flights.begin(&mut endpoint.flight, count, self.now);
            let transport = endpoint.transport.clone();
            if endpoint.buffer.has_queued() {
                self.ready.push(id);
            }
            let is_probe = permit == Permit::Probe;
            return Some(Batch { endpoint: id, is_probe, transport, deliveries });
        }
        None
    }

    /// What may be sent to an endpoint now, and how many deliveries; `None`: nothing.
    fn places(&self, id: EndpointId) -> Option<(Permit, usize)> {
        let endpoint = self.by_id.get(&id)?;
        let permit = self.permit(endpoint);
        let concurrency = self.concurrency(endpoint);
        let limit = match (permit, endpoint.flight.is_stalled(self.now)) {
            (Permit::None, _) => return None,
            (Permit::Probe, _) => endpoint.flight.count() + 1,
            (Permit::Some(limit), _) => limit.min(concurrency),
            (Permit::All, true) => concurrency.div_ceil(STALLED_SHARE),
            (Permit::All, false) => concurrency,
        };
        let batch_limit = match permit {
            Permit::Probe => 1,
            _ => endpoint.transport.as_ref().map_or(64, |t| t.batch_limit()),
        };
        Some((permit, self.flights.free(&endpoint.flight, limit).min(batch_limit)))
    }

    /// The next endpoint that has waited for room for a payload, and has it now.
    fn first_in_line(&mut self) -> Option<EndpointId> {
        if self.flights.is_line_quiet() {
            return None;
        }
        let (by_id, now, clock, rules) = (&self.by_id, self.now, &self.clock, self.rules);
        let first = self.flights.first_in_line(|id, size| {
            let endpoint = by_id.get(&id)?;
            let waiting = endpoint.buffer.front(Kinds::only(size))?;
            let may_go = endpoint.permit(now, clock, rules) != Permit::None;
            may_go.then(|| (&endpoint.flight, waiting.weight()))
        });
        for id in self.flights.take_woken() {
            self.ready.push(id);
        }
        let (id, size) = first?;
        self.by_id.get_mut(&id)?.flight.set_turn(size, true);
        Some(id)
    }

    /// Nothing of an endpoint may go: if it has all of our part of it under way, others may lend theirs.
    fn want_loan(&mut self, id: EndpointId, permit: Permit) {
        let Some(endpoint) = self.by_id.get(&id) else { return };
        let is_full =
            permit == Permit::All && endpoint.flight.count() >= self.concurrency(endpoint);
        if is_full && self.owned_shards < self.shard_count && endpoint.buffer.has_queued() {
            self.loans.want(id, self.now);
        }
    }

    /// A delivery of a batch is back.
    pub fn landed(&mut self, delivery: &Delivery) {
        if let Some(endpoint) = self.by_id.get_mut(&delivery.endpoint) {
            self.flights.land(&mut endpoint.flight, delivery.weight());
            self.ready.push(delivery.endpoint);
        }
    }

    /// Ends the pauses and cooldowns whose time has come; when the next one ends.
    pub fn end_pauses(&mut self, now: Instant) -> Option<Instant> {
        let (by_id, clock) = (&self.by_id, &self.clock);
        let until =
            |id: EndpointId| by_id.get(&id).and_then(|known| known.gate.blocked_until(clock));
        for id in self.rests.take_ended(now, until) {
            if let Some(endpoint) = self.by_id.get_mut(&id) {
                endpoint.gate.end_rest();
            }
            self.ready.push(id);
        }
        self.rests.next_end()
    }

    /// Takes deliveries out of the queues, for giving them back.
    pub fn take_queued(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for endpoint in self.by_id.values_mut().filter(|known| known.buffer.has_queued()) {
            taken.extend(self.memory.take(&mut endpoint.buffer, &mut is_wanted));
        }
        // What stood behind those may go.
        for delivery in &taken {
            self.ready.push(delivery.endpoint);
        }
        taken
    }

    /// How many endpoints have waiting deliveries.
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    fn set_trust(&mut self, id: EndpointId, is_trusted: bool) {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        self.flights.set_trust(&mut endpoint.flight, is_trusted);
    }

    /// Endpoints that have stalled are not trusted until they accept something again.
    pub fn doubt_stalled(&mut self, now: Instant) {
        let is_stalled = |flight: &Flight| flight.is_trusted() && flight.is_stalled(now);
        let stalled: Vec<EndpointId> =
            self.by_id.iter().filter(|(_, e)| is_stalled(&e.flight)).map(|(id, _)| *id).collect();
        for id in stalled {
            self.set_trust(id, false);
        }
    }

    /// Endpoints that have been left alone for a while, and for which more is queued than a probe.
    pub fn parked(&self, now: Instant) -> HashSet<EndpointId> {
        let is_parked = |id: &EndpointId| {
            self.by_id.get(id).is_some_and(|endpoint| {
                endpoint.gate.is_parked(now) && endpoint.buffer.queued_count() > PROBE_ROOM
            })
        };
        self.rests.all().filter(is_parked).collect()
    }

    /// Whether nothing is to be sent to an endpoint for now, whatever waits for it.
    pub fn is_left_alone(&self, target: Target) -> bool {
        let endpoint = self.by_target(target).and_then(|id| self.by_id.get(&id));
        endpoint.is_some_and(|endpoint| {
            let gate = &endpoint.gate;
            !endpoint.is_enabled || gate.is_paused(self.now) || !gate.is_circuit_closed()
        })
    }

    /// Whether memory is so full that stalled endpoints should have nothing in it.
    pub fn is_crowded(&self) -> bool {
        self.memory.is_crowded()
    }

    /// Endpoints that have not answered for a while.
    pub fn stalled(&self, now: Instant) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| e.flight.is_stalled(now)).map(|(id, _)| *id).collect()
    }

    pub fn disabled(&self) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| !e.is_enabled).map(|(id, _)| *id).collect()
    }

    /// What there is to fetch of waiting deliveries, from `most` endpoints at most.
    pub fn wanting_deferred(
        &self,
        now: Timestamp,
        most: usize,
        dice: &mut fastrand::Rng,
    ) -> Wanting {
        let mut wanted = Vec::new();
        let mut next: Option<Timestamp> = None;
        let mut is_any_due = false;
        for id in &self.waiting {
            let Some(endpoint) = self.by_id.get(id) else { continue };
            let Some(at) = endpoint.deferred_at else { continue };
            // What is due at one that is left alone is not looked for before that is over.
            let blocked_until =
                endpoint.gate.blocked_until(&self.clock).map(|at| self.clock.timestamp(at));
            if !endpoint.is_enabled {
                continue;
            }
            let at = blocked_until.map_or(at, |until| until.max(at));
            if at > now {
                next = Some(next.map_or(at, |known| known.min(at)));
            } else {
                is_any_due = true;
                let room = self.room_for_waiting(*id, Priority::LOWEST);
                if room > 0 {
                    wanted.push((*id, room + endpoint.deferred_in_hand));
                }
            }
        }
        // Chance gives every endpoint its turn, however many are due all the time.
        dice.shuffle(&mut wanted);
        wanted.truncate(most);
        Wanting { endpoints: wanted, is_any_due, next }
    }

    /// Waiting deliveries that the database knows of. Returns the endpoints that are not known here.
    pub fn note_waiting(&mut self, next: Vec<(EndpointId, Timestamp)>) -> Vec<EndpointId> {
        let (known, unknown): (Vec<_>, Vec<_>) =
            next.into_iter().partition(|(id, _)| self.by_id.contains_key(id));
        for (id, at) in known {
            self.note_deferred(id, at);
        }
        unknown.into_iter().map(|(id, _)| id).collect()
    }

    /// A delivery waits until then.
    pub fn note_deferred(&mut self, id: EndpointId, at: Timestamp) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            let earlier = endpoint.deferred_at.map_or(at, |known| known.min(at));
            endpoint.deferred_at = Some(earlier);
            self.waiting.insert(id);
        }
    }

    /// A waiting delivery of the endpoint is in hand.
    pub fn note_in_hand(&mut self, id: EndpointId) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.deferred_in_hand += 1;
        }
    }

    /// One is not any more.
    pub fn note_out_of_hand(&mut self, id: EndpointId) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.deferred_in_hand = endpoint.deferred_in_hand.saturating_sub(1);
        }
    }

    /// All that was due of an endpoint is in hand; what is known of the rest is when it is due.
    pub fn forget_deferred(&mut self, id: EndpointId) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.deferred_at = None;
        }
        self.waiting.remove(&id);
    }

    /// Takes an endpoint out of service, if it is one that wants that when it is gone. Whether it was
    /// in service and is not any more.
    pub fn retire(&mut self, id: EndpointId) -> bool {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return false };
        let wants = endpoint.transport.as_ref().is_ok_and(|t| t.is_disabled_when_gone());
        let is_retired = wants && endpoint.is_enabled;
        if is_retired {
            endpoint.is_enabled = false;
            warn!(endpoint = %endpoint.name, "endpoint is gone and was disabled");
        }
        is_retired
    }

    /// An endpoint is not as we think: the next comparison finds it changed.
    pub fn doubt_version(&mut self, id: EndpointId) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.version = 0;
        }
    }

    /// The policies of an endpoint and its subscriptions.
    pub fn policies(&self, id: EndpointId) -> Option<&EndpointPolicies> {
        self.by_id.get(&id).map(|endpoint| &endpoint.policies)
    }

    /// Learns from an attempt. Says once when an endpoint fails all the time, and once when it
    /// delivers again.
    pub fn note_outcome(
        &mut self,
        id: EndpointId,
        place: (MessageId, Target),
        report: &Report,
        me: Prober,
    ) {
        let is_accepted = report.outcome == Outcome::Accepted;
        let now = self.now;
        let at = self.moment(now);
        let Some(ours) = self.by_id.get(&id).map(|endpoint| self.concurrency(endpoint)) else {
            return;
        };
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        // Of our part something may be lent just now: it does not say when a recovery is over.
        let whole = endpoint.flow().map_or(1, |flow| flow.concurrency);
        if report.is_answer {
            endpoint.flight.note_answer(now);
        }
        let is_probe = endpoint.gate.end_probe(place);
        if report.outcome == Outcome::NotSent {
            // Nothing was learned of it.
            if is_probe {
                self.abandon_probe(id, me);
            }
            return;
        }
        endpoint.gate.note(is_probe, is_accepted, at, me, whole);
        if matches!(report.outcome, Outcome::Unavailable { .. } | Outcome::Unknown) {
            endpoint.gate.back_off(ours);
        }
        // That it works is told once for many.
        if is_probe || !is_accepted || !self.untold.has(id) {
            self.tell(id);
        }
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        if is_accepted {
            if endpoint.failures_in_a_row >= FAILING_AFTER {
                info!(endpoint = %endpoint.name, "endpoint delivers again");
            }
            endpoint.failures_in_a_row = 0;
            self.set_trust(id, true);
            return;
        }
        endpoint.failures_in_a_row = endpoint.failures_in_a_row.saturating_add(1);
        if endpoint.failures_in_a_row == FAILING_AFTER {
            let error = report.error.as_deref().unwrap_or_default();
            warn!(endpoint = %endpoint.name, error, "endpoint keeps failing");
            self.set_trust(id, false);
        }
    }
}

/// Circuits and rate limits: what is shared with other dispatchers.
impl Endpoints {
    /// The endpoint asked to be left alone for so long, by all.
    pub fn ask_for_pause(&mut self, id: EndpointId, pause: Duration, now: Instant) {
        let until = self.moment(now).after(pause);
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.note_pause(until);
            self.tell(id);
        }
        self.heed_circuit(id, now);
    }

    /// There is something of the endpoint that others have to hear of, at once or before long.
    fn tell(&mut self, id: EndpointId) {
        let now = self.now;
        let moment = self.moment(now);
        let Some(endpoint) = self.by_id.get(&id) else { return };
        let Some(at) = endpoint.gate.tell_at(moment, self.rules) else { return };
        self.untold.add(id, at <= moment, now);
    }

    /// When there may be something to tell.
    pub fn tell_at(&self) -> Option<Instant> {
        self.untold.wake_at()
    }

    /// What is to be told now.
    pub fn proposals(&mut self, now: Instant) -> Vec<Proposal> {
        if !self.untold.is_due(now) {
            return Vec::new();
        }
        let (moment, rules) = (self.moment(now), self.rules);
        let mut proposals = Vec::new();
        let by_id = &mut self.by_id;
        self.untold.look(now, |id| {
            let Some(endpoint) = by_id.get_mut(&id) else { return false };
            let Some(at) = endpoint.gate.tell_at(moment, rules) else { return false };
            if at > moment || proposals.len() >= PROPOSALS {
                return true;
            }
            proposals.push(endpoint.gate.propose(id, moment, rules));
            false
        });
        proposals
    }

    /// Asks for the probe of an endpoint whose cooldown is over.
    pub fn propose_probe(&mut self, id: EndpointId, me: Prober, now: Instant) -> Option<Proposal> {
        let (moment, rules) = (self.moment(now), self.rules);
        let endpoint = self.by_id.get_mut(&id)?;
        Some(endpoint.gate.propose_probe(id, moment, me, rules))
    }

    /// The probe is ours, and this is it.
    pub fn begin_probe(&mut self, id: EndpointId, place: (MessageId, Target)) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.begin_probe(place);
        }
    }

    /// The probe is ours, and we have nothing to send.
    pub fn abandon_probe(&mut self, id: EndpointId, me: Prober) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.abandon_probe(me);
            self.tell(id);
        }
    }

    /// What became of proposals. Whether any endpoint is not left alone any more.
    pub fn take_answers(&mut self, asked: &[EndpointId], answers: &[Answer], now: Instant) -> bool {
        let moment = self.moment(now);
        let answers: HashMap<EndpointId, &Answer> =
            answers.iter().map(|answer| (answer.endpoint, answer)).collect();
        let mut is_any_free = false;
        for id in asked {
            let Some(endpoint) = self.by_id.get_mut(id) else { continue };
            endpoint.gate.take_answer(answers.get(id).copied(), moment);
            is_any_free |= self.heed_circuit(*id, now);
            self.tell(*id);
        }
        is_any_free
    }

    /// The endpoints that are left alone, by their circuit or because they asked for it: those to be read
    /// again.
    pub fn open(&self) -> Vec<EndpointId> {
        self.rests.all().collect()
    }

    /// Circuits as they were read. Whether any endpoint is not left alone any more.
    pub fn learn(&mut self, circuits: Vec<(EndpointId, Circuit)>, now: Instant) -> bool {
        let mut is_any_free = false;
        for (id, circuit) in circuits {
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            if endpoint.gate.learn(circuit) {
                is_any_free |= self.heed_circuit(id, now);
            } else if matches!(circuit.state, State::HalfOpen { is_prober_alive: false, .. }) {
                // The row was locked when we asked for the probe.
                self.ready.push(id);
            }
        }
        is_any_free
    }

    /// Whatever a circuit has become: pauses, cooldowns, and something to do. Whether it was left alone
    /// and is not any more.
    fn heed_circuit(&mut self, id: EndpointId, now: Instant) -> bool {
        let Some(Endpoint { gate, name, .. }) = self.by_id.get_mut(&id) else { return false };
        let (was_paused, was_left_alone) = (gate.is_paused(self.now), gate.is_left_alone());
        let is_asking = gate.heed(now, &self.clock);
        if is_asking && !was_paused {
            info!(endpoint = %name, "endpoint asked to be left alone for a while");
        }
        let is_closed = gate.is_circuit_closed();
        match (self.rests.note_circuit(id, is_closed), is_closed) {
            (true, true) => info!(endpoint = %name, "circuit closed"),
            (true, false) => {
                warn!(endpoint = %name, "circuit opened: it is left alone for a while");
            }
            (false, _) => {}
        }
        let is_free = was_left_alone && !gate.is_left_alone();
        if let Some(until) = gate.blocked_until(&self.clock) {
            self.rests.pause(id, until);
            return is_free;
        }
        // Closed by now, or half-open with a prober that is dead.
        self.ready.push(id);
        is_free
    }

    /// When there may be tokens for what waits for a rate limit.
    pub fn tokens_at(&self) -> Option<Instant> {
        self.thirst.wake_at()
    }

    /// The tokens to ask for now.
    pub fn wanted_tokens(&mut self, now: Instant) -> Vec<Wanted> {
        if !self.thirst.is_due(now) {
            return Vec::new();
        }
        let moment = self.moment(now);
        let dispatchers = self.shard_count.div_ceil(self.owned_shards.max(1)) as u32;
        let mut next: Option<Moment> = None;
        let (mut wanted, mut usable) = (Vec::new(), Vec::new());
        let by_id = &mut self.by_id;
        self.thirst.look(|id| {
            let Some(endpoint) = by_id.get_mut(&id) else { return false };
            let queued = endpoint.buffer.queued_count();
            let Some(bucket) = endpoint.bucket.as_mut().filter(|_| queued > 0) else {
                return false;
            };
            if bucket.available(moment) > 0 {
                usable.push(id);
                return false;
            }
            if wanted.len() == THIRSTY {
                next = Some(moment);
            } else if let Some(count) = bucket.ask(queued, dispatchers, moment) {
                wanted.push(Wanted { endpoint: id, count, rate: bucket.rate });
            } else if let Some(at) = bucket.next_at() {
                next = Some(next.map_or(at, |known| known.min(at)));
            }
            true
        });
        for id in usable {
            self.ready.push(id);
        }
        self.thirst.set_look_at(next.map(|at| self.clock.instant(Timestamp(at.0))));
        wanted
    }

    /// Tokens that were asked for.
    pub fn take_tokens(&mut self, granted: Vec<Granted>, now: Instant) {
        let moment = self.moment(now);
        for Granted { endpoint: id, count, wait } in granted {
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            let Some(bucket) = &mut endpoint.bucket else { continue };
            bucket.grant(count, wait, moment);
        }
        self.thirst.set_look_at(None);
    }
}

/// Concurrency that goes from dispatcher to dispatcher.
impl Endpoints {
    /// Another dispatcher could use so many parts of these endpoints.
    pub fn note_asked(&mut self, borrower: Uuid, asked: &[(EndpointId, usize)]) {
        for (id, parts) in asked {
            if self.by_id.contains_key(id) {
                self.loans.note_asked(*id, borrower, *parts, self.now);
            }
        }
    }

    /// The loans are not as we think.
    pub fn doubt_loans(&mut self) {
        self.loans.doubt();
    }

    /// What was lent, given back and asked for is being written.
    pub fn is_trading(&self) -> bool {
        self.loans.is_trading()
    }

    pub fn trade_at(&self) -> Option<Instant> {
        self.loans.trade_at()
    }

    /// What is to be lent, given back and asked for now.
    pub fn next_trade(&mut self, now: Instant) -> Option<Trade> {
        let (by_id, all) = (&self.by_id, self.shard_count);
        self.loans.next_trade(now, all, |id| {
            let endpoint = by_id.get(&id);
            endpoint.map_or_else(Demand::default, |endpoint| Demand {
                concurrency: endpoint.flow().map_or(1, |flow| flow.concurrency),
                in_flight: endpoint.flight.count(),
                waiting: endpoint.buffer.count(),
            })
        })
    }

    /// All loans that the owner of these shards has to heed.
    pub fn take_loans(&mut self, owned: &[Owned], loans: &[Loan]) {
        for id in self.loans.learn(owned, loans, self.now) {
            self.ready.push(id);
        }
    }
}

impl Endpoint {
    fn flow(&self) -> Option<Flow> {
        self.transport.as_ref().ok().map(|transport| transport.flow())
    }

    /// What may be sent now.
    fn permit(&self, now: Instant, clock: &Clock, rules: Rules) -> Permit {
        match self.is_enabled {
            true => self.gate.permit(now, clock, rules),
            false => Permit::None,
        }
    }

    /// Takes up to so many deliveries out of the queue, as far as there is room for their payloads. Those that find none let
    /// those pass that need none, or another one.
    fn take_batch(
        &mut self,
        most: usize,
        memory: &mut Memory,
        flights: &mut Flights,
    ) -> Vec<Delivery> {
        let (mut batch, mut kinds) = (Vec::new(), Kinds::ALL);
        // A turn in line is for what has waited for it, whatever else is next.
        for size in Size::ALL {
            if batch.len() == most || !self.flight.has_turn(size) {
                continue;
            }
            let only = Kinds::only(size);
            match self.buffer.front(only).map(Delivery::weight) {
                Some(weight) if flights.finds_room(self.id, &mut self.flight, size, weight) => {
                    batch.extend(memory.pop(&mut self.buffer, only));
                }
                Some(_) => kinds.leave_out(size),
                None => self.flight.set_turn(size, false),
            }
        }
        while batch.len() < most
            && let Some(weight) = self.buffer.front(kinds).map(Delivery::weight)
        {
            match Size::of(weight) {
                Some(size) if !flights.finds_room(self.id, &mut self.flight, size, weight) => {
                    kinds.leave_out(size);
                }
                _ => batch.extend(memory.pop(&mut self.buffer, kinds)),
            }
        }
        batch
    }

    /// What it may have in memory.
    fn queue_limit(&self, concurrency: usize, now: Instant) -> usize {
        match self.flight.is_stalled(now) {
            true => 1,
            false => self
                .flow()
                .and_then(|flow| flow.max_in_memory)
                .unwrap_or_else(|| (concurrency * QUEUE_FACTOR).max(SMALLEST_QUEUE)),
        }
    }
}
