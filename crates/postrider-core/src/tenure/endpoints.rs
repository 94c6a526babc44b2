//! The endpoints as this process knows them: by which edition each is sent to, what waits for it, how much it may take. How it
//! is reached is known to the driver.
//!
//! What is known lies in values with private state, of one endpoint or of all; what these have to say to each other is
//! handed over here, and in the files for what goes on: queueing, sending, waiting, and sharing with other dispatchers.

mod flights;
mod gate;
mod memory;
mod queueing;
mod ready;
mod rests;
mod sending;
mod sharing;
mod thirst;
mod untold;
mod waiting;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tracing::{info, trace, warn};
use uuid::Uuid;

pub use self::queueing::Seated;
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
    breaker::{Circuit, Permit, Prober, Rules, State},
    configuration::OpenedEndpoint,
    flow::Flow,
    hashing::{HashMap, HashSet},
    id::{Edition, EndpointId, MessageId, Priority, Target},
    lease::Owned,
    moment::Moment,
    offer::Offer,
    outcome::{Outcome, Report},
    places::places_of,
    rate::Bucket,
    sharing::{Answer, Granted, Loan, Proposal, Trade, Wanted},
    timestamp::Timestamp,
    weights::Size,
};

/// One endpoint.
struct Endpoint {
    id: EndpointId,
    name: Arc<str>,
    version: i64,
    targets: Vec<Target>,
    is_enabled: bool,
    /// What its transport takes, or why it cannot be sent to, when its config is not understood.
    offer: Result<Offer, String>,
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
    /// The editions of those that are gone.
    pub retired: Vec<Edition>,
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
    /// Which of its transports, or why there is none.
    pub edition: Result<Edition, String>,
    pub deliveries: Vec<Delivery>,
}

impl Endpoints {
    pub fn new(max_in_flight: usize, max_buffered: usize, now: Instant) -> Endpoints {
        Endpoints {
            now,
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
    pub fn set_share(&mut self, owned: impl Iterator<Item = Owned> + Clone, total: usize) {
        self.loans.set_owned(owned);
        self.owned_shards = self.loans.owned_count();
        self.shard_count = total;
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
        let (mut retired, mut orphans) = (Vec::new(), Vec::new());
        for id in &gone {
            if let Some(endpoint) = self.by_id.remove(id) {
                self.rests.forget(*id);
                self.untold.forget(*id);
                self.thirst.forget(*id);
                retired.extend(endpoint.edition());
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
        Comparison { changed, gone, retired, orphans }
    }

    /// Takes over an endpoint's configuration. Returns its former edition if it has another one now, or none.
    pub fn apply(&mut self, (row, offer): OpenedEndpoint) -> Option<Edition> {
        if let Err(error) = &offer {
            warn!(endpoint = %row.name, %error, "endpoint cannot be opened");
        }
        let policies = EndpointPolicies::read(&row);
        let rate = offer.as_ref().ok().and_then(|offer| offer.flow.rate);
        let fresh = Endpoint {
            id: row.id,
            name: row.name.into(),
            version: row.version,
            targets: row.targets,
            is_enabled: row.is_enabled && !row.is_paused,
            offer,
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
        let retired = match self.by_id.get_mut(&row.id) {
            Some(known) => {
                let retired = known.edition().filter(|former| fresh.edition() != Some(*former));
                known.name = fresh.name;
                known.version = fresh.version;
                known.targets = fresh.targets;
                known.is_enabled = fresh.is_enabled;
                known.offer = fresh.offer;
                known.policies = fresh.policies;
                if known.bucket.map(|bucket| bucket.rate) != rate {
                    known.bucket = fresh.bucket;
                }
                retired
            }
            None => {
                self.by_id.insert(row.id, fresh);
                None
            }
        };
        self.ready.push(row.id);
        retired
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

    pub fn disabled(&self) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| !e.is_enabled).map(|(id, _)| *id).collect()
    }

    /// Takes an endpoint out of service, if it is one that wants that when it is gone. Whether it was
    /// in service and is not any more.
    pub fn retire(&mut self, id: EndpointId) -> bool {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return false };
        let wants = endpoint.offer.as_ref().is_ok_and(|offer| offer.is_disabled_when_gone);
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

    /// Which of its transports an endpoint uses now, or why it has none; `None`: there is no such endpoint.
    pub fn transport(&self, id: EndpointId) -> Option<Result<Edition, String>> {
        self.by_id.get(&id).map(Endpoint::transport)
    }

    /// The policies of an endpoint and its subscriptions.
    pub fn policies(&self, id: EndpointId) -> Option<&EndpointPolicies> {
        self.by_id.get(&id).map(|endpoint| &endpoint.policies)
    }
}

impl Endpoint {
    fn flow(&self) -> Option<Flow> {
        self.offer.as_ref().ok().map(|offer| offer.flow)
    }

    /// Which of its transports is used, or why there is none.
    fn transport(&self) -> Result<Edition, String> {
        self.offer.as_ref().map(|offer| offer.edition).map_err(String::clone)
    }

    /// Which of its transports is used, if there is any.
    fn edition(&self) -> Option<Edition> {
        self.offer.as_ref().ok().map(|offer| offer.edition)
    }

    /// What may be sent now.
    fn permit(&self, now: Instant, clock: &Clock, rules: Rules) -> Permit {
        match self.is_enabled {
            true => self.gate.permit(now, clock, rules),
            false => Permit::None,
        }
    }
}

#[cfg(test)]
mod tests;
