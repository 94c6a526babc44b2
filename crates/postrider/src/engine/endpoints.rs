//! The endpoints as this process knows them: how to reach each, what waits for it, how much it may
//! take.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use postrider_core::{
    admit::free_places,
    id::{EndpointId, PRIORITY_COUNT, Priority, Target},
    outcome::Report,
    policy::{Policy, PolicyOverride},
};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{delivery::Delivery, queue::RankedQueue};
use crate::{
    store::{log::EndpointRow, wire::Timestamp},
    transport::{self, Shared, Transport},
};

/// What waits in memory for an endpoint is at most so many times what may be in flight to it.
const QUEUE_FACTOR: usize = 4;
const SMALLEST_QUEUE: usize = 1024;
/// This part of it belongs to each priority alone, so that none is kept out by higher ones.
const OWN_SHARE: usize = 16;
/// This part of it belongs to what waits in the database, so that a flood in the log does not keep out
/// what is due.
const WAITING_SHARE: usize = 4;
/// An endpoint with something in flight and no answer for so long is stalled: until it answers, it
/// gets a small share of what is in flight, and hardly anything in memory.
const STALLED_AFTER: Duration = Duration::from_millis(500);
const STALLED_SHARE: usize = 16;
/// Endpoints that have accepted nothing lately share this part of what may be in flight, so that any
/// number of them leaves the rest to those that work. One place each they get besides, to show
/// whether they do.
const DOUBTFUL_PART: usize = 2;
/// So many failures in a row are worth a line in the log.
const FAILING_AFTER: u32 = 10;

/// One endpoint.
pub struct Endpoint {
    pub name: Arc<str>,
    version: i64,
    targets: Vec<Target>,
    is_enabled: bool,
    /// Why it cannot be sent to, when its config is not understood.
    transport: Result<Arc<dyn Transport>, String>,
    own_policy: PolicyOverride,
    pub queue: RankedQueue,
    /// Deliveries, by priority, that come into the queue when they are claimed and it is their turn.
    reserved: [usize; PRIORITY_COUNT as usize],
    in_flight: usize,
    /// When its first waiting delivery is due; `None`: it has none, as far as is known.
    pub deferred_at: Option<Timestamp>,
    /// Waiting deliveries that are in hand.
    pub deferred_in_hand: usize,
    /// Asked to be left alone until then.
    paused_until: Option<Instant>,
    failures_in_a_row: u32,
    /// When something was last answered, or first sent after a rest.
    answered_at: Instant,
    /// It has accepted something, and has neither stalled nor kept failing since.
    is_trusted: bool,
}

/// All of them, and what they share.
pub struct Endpoints {
    shared: Arc<Shared>,
    by_id: HashMap<EndpointId, Endpoint>,
    by_target: HashMap<Target, EndpointId>,
    /// Endpoints that may have something to send now.
    ready: VecDeque<EndpointId>,
    is_ready: HashSet<EndpointId>,
    /// Endpoints that have waiting deliveries, as far as is known.
    waiting: HashSet<EndpointId>,
    paused: HashSet<EndpointId>,
    defaults: Policy,
    max_in_flight: usize,
    max_buffered: usize,
    pub in_flight: usize,
    /// Of those, to endpoints that are not trusted.
    doubtful_in_flight: usize,
    /// In queues or about to be.
    pub buffered: usize,
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
    pub transport: Result<Arc<dyn Transport>, String>,
    pub deliveries: Vec<Delivery>,
}

impl Endpoints {
    pub fn new(shared: Arc<Shared>, max_in_flight: usize, max_buffered: usize) -> Endpoints {
        Endpoints {
            shared,
            by_id: HashMap::new(),
            by_target: HashMap::new(),
            ready: VecDeque::new(),
            is_ready: HashSet::new(),
            waiting: HashSet::new(),
            paused: HashSet::new(),
            defaults: Policy::default(),
            max_in_flight,
            max_buffered,
            in_flight: 0,
            doubtful_in_flight: 0,
            buffered: 0,
        }
    }

    pub fn set_defaults(&mut self, defaults: Policy) {
        self.defaults = defaults;
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn get_mut(&mut self, id: EndpointId) -> Option<&mut Endpoint> {
        self.by_id.get_mut(&id)
    }

    pub fn is_known(&self, id: EndpointId) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn by_target(&self, target: Target) -> Option<EndpointId> {
        self.by_target.get(&target).copied()
    }

    /// The endpoints of these versions that are not known or known in another version. Endpoints
    /// that are not among them are gone; what waited for those is returned.
    pub fn compare(&mut self, versions: &[(EndpointId, i64)]) -> Comparison {
        let current: HashMap<EndpointId, i64> = versions.iter().copied().collect();
        let gone: Vec<EndpointId> =
            self.by_id.keys().filter(|id| !current.contains_key(id)).copied().collect();
        let mut orphans = Vec::new();
        for id in &gone {
            if let Some(mut endpoint) = self.by_id.remove(id) {
                for target in &endpoint.targets {
                    self.by_target.remove(target);
                }
                self.buffered -= endpoint.buffered();
                self.in_flight -= endpoint.in_flight;
                if !endpoint.is_trusted {
                    self.doubtful_in_flight -= endpoint.in_flight;
                }
                orphans.extend(endpoint.queue.take(|_| true));
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
        let own_policy = row.retry_policy.map(serde_json::from_value).transpose();
        let own_policy = own_policy.unwrap_or_else(|error| {
            warn!(endpoint = %row.name, %error, "retry policy is not understood");
            None
        });
        let fresh = Endpoint {
            name: row.name.into(),
            version: row.version,
            targets: row.targets,
            is_enabled: row.is_enabled,
            transport,
            own_policy: own_policy.unwrap_or_default(),
            queue: RankedQueue::default(),
            reserved: [0; PRIORITY_COUNT as usize],
            in_flight: 0,
            deferred_at: None,
            deferred_in_hand: 0,
            paused_until: None,
            failures_in_a_row: 0,
            answered_at: Instant::now(),
            is_trusted: false,
        };
        self.by_target.extend(fresh.targets.iter().map(|target| (*target, row.id)));
        match self.by_id.get_mut(&row.id) {
            Some(known) => {
                known.name = fresh.name;
                known.version = fresh.version;
                known.targets = fresh.targets;
                known.is_enabled = fresh.is_enabled;
                known.transport = fresh.transport;
                known.own_policy = fresh.own_policy;
            }
            None => {
                self.by_id.insert(row.id, fresh);
            }
        }
        self.wake(row.id);
    }

    /// How many more deliveries of a priority the endpoint may have in memory. What waits with a
    /// lower priority takes no room away, and a part belongs to each priority alone.
    pub fn room(&self, id: EndpointId, priority: Priority) -> usize {
        let Some(endpoint) = self.by_id.get(&id) else { return 0 };
        if !endpoint.is_enabled || endpoint.is_paused() {
            return 0;
        }
        let limit = endpoint.queue_limit();
        let held = endpoint.buffered_from(priority);
        let room = free_places(self.max_buffered, self.buffered, held, limit);
        let own = (limit / OWN_SHARE).max(1).saturating_sub(endpoint.buffered_of(priority));
        room.max(own.min(self.max_buffered.saturating_sub(self.buffered)))
    }

    /// How many more deliveries that wait in the database may come into memory, besides what is read
    /// from the log.
    pub fn room_for_waiting(&self, id: EndpointId, priority: Priority) -> usize {
        let Some(endpoint) = self.by_id.get(&id) else { return 0 };
        if !endpoint.is_enabled || endpoint.is_paused() {
            return 0;
        }
        let own = (endpoint.queue_limit() / WAITING_SHARE).max(1);
        let own = own.saturating_sub(endpoint.deferred_in_hand);
        let own = own.min(self.max_buffered.saturating_sub(self.buffered));
        let room = self.room(id, priority);
        // Half of it is left to what is read from the log.
        let room = if room > endpoint.buffered_from(priority) { room } else { 0 };
        room.max(own)
    }

    /// Whether an endpoint has used up less than half of what it may have in memory.
    pub fn is_hungry(&self, target: Target, priority: Priority) -> bool {
        let Some(id) = self.by_target(target) else { return true };
        let held = self.by_id.get(&id).map_or(0, |endpoint| endpoint.buffered_from(priority));
        self.room(id, priority) > held
    }

    /// A delivery will be queued once it is claimed and has its turn.
    pub fn reserve(&mut self, id: EndpointId, priority: Priority) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.reserved[priority.index()] += 1;
            self.buffered += 1;
        }
    }

    /// Queues a delivery that was reserved; gives it back when its endpoint is gone.
    pub fn enqueue(&mut self, delivery: Delivery) -> Option<Delivery> {
        let id = delivery.endpoint;
        let Some(endpoint) = self.by_id.get_mut(&id) else { return Some(delivery) };
        endpoint.reserved[delivery.priority().index()] -= 1;
        endpoint.queue.push(delivery);
        self.wake(id);
        None
    }

    /// Undoes a reservation.
    pub fn cancel_reservation(&mut self, id: EndpointId, priority: Priority) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.reserved[priority.index()] -= 1;
            self.buffered -= 1;
        }
    }

    /// The endpoint may have something to do.
    pub fn wake(&mut self, id: EndpointId) {
        if self.is_ready.insert(id) {
            self.ready.push_back(id);
        }
    }

    /// The next batch that may go now; endpoints take turns.
    pub fn next_batch(&mut self) -> Option<Batch> {
        while self.in_flight < self.max_in_flight {
            let id = self.ready.pop_front()?;
            self.is_ready.remove(&id);
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            if !endpoint.is_enabled || endpoint.is_paused() {
                continue;
            }
            let batch_limit = endpoint.transport.as_ref().map_or(64, |t| t.batch_limit());
            let now = Instant::now();
            let limit = match endpoint.is_stalled(now) {
                true => endpoint.concurrency().div_ceil(STALLED_SHARE),
                false => endpoint.concurrency(),
            };
            let free = |total, taken| free_places(total, taken, endpoint.in_flight, limit);
            let places = free(self.max_in_flight, self.in_flight);
            let places = match endpoint.is_trusted {
                true => places,
                false => free(self.max_in_flight / DOUBTFUL_PART, self.doubtful_in_flight)
                    .max(usize::from(endpoint.in_flight == 0))
                    .min(places),
            };
            let count = places.min(batch_limit).min(endpoint.queue.len());
            if count == 0 {
                continue;
            }
            let deliveries: Vec<Delivery> =
                std::iter::from_fn(|| endpoint.queue.pop()).take(count).collect();
            if endpoint.in_flight == 0 {
                endpoint.answered_at = now;
            }
            endpoint.in_flight += count;
            if !endpoint.is_trusted {
                self.doubtful_in_flight += count;
            }
            let transport = endpoint.transport.clone();
            let has_more = !endpoint.queue.is_empty();
            self.in_flight += count;
            self.buffered -= count;
            if has_more {
                self.wake(id);
            }
            return Some(Batch { endpoint: id, transport, deliveries });
        }
        None
    }

    /// Deliveries of a batch are back.
    pub fn landed(&mut self, id: EndpointId, count: usize) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.in_flight -= count;
            self.in_flight -= count;
            if !endpoint.is_trusted {
                self.doubtful_in_flight -= count;
            }
            self.wake(id);
        }
    }

    /// Leaves an endpoint alone until then.
    pub fn pause(&mut self, id: EndpointId, until: Instant) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            let later = endpoint.paused_until.map_or(until, |known| known.max(until));
            endpoint.paused_until = Some(later);
            self.paused.insert(id);
        }
    }

    /// Ends the pauses whose time has come; when the next one ends.
    pub fn end_pauses(&mut self, now: Instant) -> Option<Instant> {
        let until = |id: &EndpointId| self.by_id.get(id).and_then(|e| e.paused_until);
        let ended: Vec<EndpointId> =
            self.paused.iter().filter(|id| until(id).is_none_or(|at| at <= now)).copied().collect();
        let next = self.paused.iter().filter_map(until).filter(|at| *at > now).min();
        for id in ended {
            self.paused.remove(&id);
            self.wake(id);
        }
        next
    }

    /// Takes deliveries out of the queues, for giving them back.
    pub fn take_queued(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for endpoint in self.by_id.values_mut().filter(|endpoint| !endpoint.queue.is_empty()) {
            taken.extend(endpoint.queue.take(&mut is_wanted));
        }
        self.buffered -= taken.len();
        taken
    }

    /// How many endpoints have waiting deliveries.
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    fn set_trust(&mut self, id: EndpointId, is_trusted: bool) {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        match (endpoint.is_trusted, is_trusted) {
            (false, true) => self.doubtful_in_flight -= endpoint.in_flight,
            (true, false) => self.doubtful_in_flight += endpoint.in_flight,
            _ => return,
        }
        endpoint.is_trusted = is_trusted;
    }

    /// Endpoints that have stalled are not trusted until they accept something again.
    pub fn doubt_stalled(&mut self, now: Instant) {
        let is_stalled = |endpoint: &Endpoint| endpoint.is_trusted && endpoint.is_stalled(now);
        let stalled: Vec<EndpointId> =
            self.by_id.iter().filter(|(_, e)| is_stalled(e)).map(|(id, _)| *id).collect();
        for id in stalled {
            self.set_trust(id, false);
        }
    }

    /// Whether memory is so full that stalled endpoints should have nothing in it.
    pub fn is_crowded(&self) -> bool {
        self.buffered * 2 >= self.max_buffered
    }

    /// Endpoints that have not answered for a while.
    pub fn stalled(&self, now: Instant) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| e.is_stalled(now)).map(|(id, _)| *id).collect()
    }

    pub fn disabled(&self) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| !e.is_enabled).map(|(id, _)| *id).collect()
    }

    /// What there is to fetch of waiting deliveries, from `most` endpoints at most.
    pub fn wanting_deferred(&self, now: Timestamp, most: usize) -> Wanting {
        let mut wanted = Vec::new();
        let mut next: Option<Timestamp> = None;
        let mut is_any_due = false;
        for id in &self.waiting {
            let Some(endpoint) = self.by_id.get(id) else { continue };
            let Some(at) = endpoint.deferred_at else { continue };
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
        fastrand::shuffle(&mut wanted);
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

    /// The policy in force for an endpoint now.
    pub fn policy(&self, id: EndpointId) -> Policy {
        let own = self.by_id.get(&id).map(|endpoint| &endpoint.own_policy);
        own.map_or(self.defaults, |own| self.defaults.overridden(own))
    }

    /// Learns from an attempt. Says once when an endpoint fails all the time, and once when it
    /// delivers again.
    pub fn note_outcome(&mut self, id: EndpointId, is_accepted: bool, report: &Report) {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        if is_accepted || report.status.is_some() {
            endpoint.answered_at = Instant::now();
        }
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

impl Endpoint {
    fn is_stalled(&self, now: Instant) -> bool {
        self.in_flight > 0 && now >= self.answered_at + STALLED_AFTER
    }

    fn is_paused(&self) -> bool {
        self.paused_until.is_some_and(|until| until > Instant::now())
    }

    fn concurrency(&self) -> usize {
        self.transport.as_ref().map_or(1, |transport| transport.concurrency())
    }

    fn buffered(&self) -> usize {
        self.buffered_from(Priority::LOWEST)
    }

    /// What is in memory of one priority and higher ones.
    fn buffered_from(&self, priority: Priority) -> usize {
        let reserved: usize = self.reserved[priority.index()..].iter().sum();
        self.queue.len_from(priority) + reserved
    }

    fn buffered_of(&self, priority: Priority) -> usize {
        self.queue.len_of(priority) + self.reserved[priority.index()]
    }

    /// What it may have in memory.
    fn queue_limit(&self) -> usize {
        match self.is_stalled(Instant::now()) {
            true => 1,
            false => (self.concurrency() * QUEUE_FACTOR).max(SMALLEST_QUEUE),
        }
    }
}
