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

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};
    use crate::{
        flow::Flow,
        tenure::tests::{FLOW, disabled, endpoint, report},
    };

    const ONE: EndpointId = EndpointId(1);

    fn rooms(endpoints: &Endpoints) -> [usize; 2] {
        [endpoints.room(ONE, Priority::LOWEST), endpoints.room_for_waiting(ONE, Priority::LOWEST)]
    }

    #[test]
    fn there_is_room_for_what_may_go_before_long() {
        let now = Instant::now();
        let mut endpoints = known(&[FLOW], now);
        assert_eq!(endpoints.room(EndpointId(2), Priority::LOWEST), 0, "nobody knows it");
        assert_eq!(rooms(&endpoints), [SMALLEST_QUEUE; 2]);
        open(&mut endpoints, ONE, Duration::from_secs(1));
        assert_eq!(rooms(&endpoints), [0; 2], "it is left alone");
        endpoints.now = now + Duration::from_secs(1);
        assert_eq!(rooms(&endpoints), [PROBE_ROOM; 2], "for a probe");
        queue(&mut endpoints, ONE, 1..4);
        assert_eq!(rooms(&endpoints), [PROBE_ROOM - 3; 2]);
        circuit(&mut endpoints, ONE, State::Closed);
        assert_eq!(rooms(&endpoints)[0], SMALLEST_QUEUE - 3);
        endpoints.apply(disabled(endpoint(ONE, 2, FLOW)));
        assert_eq!(rooms(&endpoints), [0; 2]);
    }

    #[test]
    fn an_endpoint_has_in_memory_what_it_says_or_some_times_what_it_takes() {
        for (concurrency, max_in_memory, expected) in
            [(1, None, SMALLEST_QUEUE), (400, None, 400 * QUEUE_FACTOR), (400, Some(10), 10)]
        {
            let flow = Flow { max_in_memory, ..taking(concurrency) };
            let endpoints = known(&[flow], Instant::now());
            assert_eq!(rooms(&endpoints)[0], expected, "{flow:?}");
        }
    }

    #[test]
    fn one_that_does_not_answer_has_hardly_anything_in_memory() {
        let now = Instant::now();
        let mut endpoints = known(&[FLOW], now);
        queue(&mut endpoints, ONE, 1..2);
        let flying = going(&mut endpoints);
        endpoints.now = now + Duration::from_secs(1);
        assert_eq!(rooms(&endpoints), [1; 2]);
        assert_eq!(endpoints.stalled(endpoints.now), HashSet::from_iter([ONE]));
        endpoints.note_outcome(ONE, flying[0].place(), &report(Outcome::Accepted), 7);
        assert_eq!(rooms(&endpoints), [SMALLEST_QUEUE; 2]);
    }

    /// It would be asked for what it cannot take, or not for what it can.
    #[test]
    fn an_endpoint_is_hungry_while_less_than_half_of_its_room_is_used() {
        let flow = Flow { max_in_memory: Some(10), ..FLOW };
        let mut endpoints = known(&[flow], Instant::now());
        assert!(endpoints.is_hungry(Target(9), Priority::LOWEST), "nobody knows how full that is");
        for number in 1..=10 {
            queue(&mut endpoints, ONE, number..=number);
            let is_hungry = endpoints.is_hungry(Target(1), Priority::LOWEST);
            assert_eq!(is_hungry, number < 5, "{number}");
        }
    }

    #[test]
    fn what_comes_for_an_endpoint_that_is_gone_is_given_back() {
        let mut endpoints = known(&[FLOW], Instant::now());
        let [first, second] = [1, 2].map(|number| endpoints.seat(to(ONE, number, 0)));
        endpoints.compare(&[]);
        assert_eq!(endpoints.buffered(), 0);
        assert_eq!(endpoints.enqueue(first).map(|refused| number(&refused)), Some(1));
        assert_eq!(number(&endpoints.unseat(second)), 2);
        let _ = endpoints.seat(to(ONE, 3, 0));
        assert_eq!(endpoints.buffered(), 0);
    }

    /// Nothing lands, so nobody else would look.
    #[test]
    fn what_stood_behind_something_that_is_taken_out_may_go() {
        let mut endpoints = known(&[taking(9)], Instant::now());
        let queue = |endpoints: &mut Endpoints, number, kib| {
            let seated = endpoints.seat(to(ONE, number, kib));
            assert!(endpoints.enqueue(seated).is_none());
        };
        queue(&mut endpoints, 1, 4_096);
        assert_eq!(going(&mut endpoints).len(), 1);
        queue(&mut endpoints, 2, 8_000);
        queue(&mut endpoints, 3, 100);
        assert!(going(&mut endpoints).is_empty(), "it wants more than its share");
        assert_eq!(endpoints.take_queued(|delivery| delivery.weight() == 8_000).len(), 1);
        assert_eq!(going(&mut endpoints).iter().map(number).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn what_is_parked_is_more_than_a_probe_at_one_that_has_been_left_alone_for_a_while() {
        let now = Instant::now();
        let later = now + Duration::from_secs(60);
        for (count, is_open, at, is_parked) in [
            (PROBE_ROOM as i64, true, later, false),
            (PROBE_ROOM as i64 + 1, true, later, true),
            (PROBE_ROOM as i64 + 1, true, later - Duration::from_millis(1), false),
            (PROBE_ROOM as i64 + 1, false, later, false),
        ] {
            let mut endpoints = known(&[FLOW], now);
            queue(&mut endpoints, ONE, 1..=count);
            if is_open {
                open(&mut endpoints, ONE, Duration::from_secs(600));
            }
            assert_eq!(endpoints.parked(at).contains(&ONE), is_parked, "{count} {is_open}");
        }
    }

    #[test]
    fn memory_is_crowded_when_half_of_it_is_taken() {
        let mut endpoints = known(&[taking(1_000)], Instant::now());
        queue(&mut endpoints, ONE, 1..2_000);
        assert!(!endpoints.is_crowded());
        queue(&mut endpoints, ONE, 2_000..2_001);
        assert!(endpoints.is_crowded());
        going(&mut endpoints);
        assert!(!endpoints.is_crowded(), "what is on its way is not queued");
    }
}
