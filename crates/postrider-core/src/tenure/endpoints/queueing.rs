//! What may come into memory for endpoints, and what is in their queues.

use std::ops::Deref;

use super::*;

/// What waits in memory for an endpoint is at most so many times what may be in flight to it.
const QUEUE_FACTOR: usize = 4;
const SMALLEST_QUEUE: usize = 1024;
/// So many messages are let in for an endpoint that may be probed: some of them may have expired.
const PROBE_ROOM: usize = 64;

/// A delivery with a place in memory at its endpoint. It is queued, or its place is given up: nobody gets the delivery
/// otherwise, so that no place is given twice or forgotten.
#[derive(Debug)]
#[must_use]
pub struct Seated(Delivery);

impl Deref for Seated {
    type Target = Delivery;

    fn deref(&self) -> &Delivery {
        &self.0
    }
}

impl Seated {
    /// It is claimed since then.
    pub fn set_claimed_at(&mut self, at: Instant) {
        self.0.claimed_at = Some(at);
    }
}

impl Endpoints {
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
    pub fn seat(&mut self, delivery: Delivery) -> Seated {
        if let Some(endpoint) = self.by_id.get_mut(&delivery.endpoint) {
            self.memory.reserve(&mut endpoint.buffer, delivery.priority());
        }
        Seated(delivery)
    }

    /// Queues a delivery; gives it back when its endpoint is gone.
    pub fn enqueue(&mut self, Seated(delivery): Seated) -> Option<Delivery> {
        let id = delivery.endpoint;
        let Some(endpoint) = self.by_id.get_mut(&id) else { return Some(delivery) };
        endpoint.buffer.push(delivery);
        self.ready.push(id);
        None
    }

    /// Gives up the place of a delivery.
    pub fn unseat(&mut self, Seated(delivery): Seated) -> Delivery {
        if let Some(endpoint) = self.by_id.get_mut(&delivery.endpoint) {
            self.memory.cancel(&mut endpoint.buffer, delivery.priority());
        }
        delivery
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

    /// Endpoints that have been left alone for a while, and for which more is queued than a probe.
    pub fn parked(&self, now: Instant) -> HashSet<EndpointId> {
        let is_parked = |id: &EndpointId| {
            self.by_id.get(id).is_some_and(|endpoint| {
                endpoint.gate.is_parked(now) && endpoint.buffer.queued_count() > PROBE_ROOM
            })
        };
        self.rests.all().filter(is_parked).collect()
    }

    /// Whether memory is so full that stalled endpoints should have nothing in it.
    pub fn is_crowded(&self) -> bool {
        self.memory.is_crowded()
    }
}

impl Endpoint {
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
