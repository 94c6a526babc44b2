//! Deliveries that wait in the database, by endpoint: when there is something to fetch, and how much.

use super::*;

impl Endpoints {
    /// How many endpoints have waiting deliveries.
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
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
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};
    use crate::{
        flow::Flow,
        tenure::tests::{FLOW, disabled, endpoint},
    };

    const NOW: Timestamp = Timestamp(1_000_000);

    /// Endpoints that are as in [`known`], by a clock that says [`NOW`].
    fn at_now(flows: &[Flow]) -> Endpoints {
        let mut endpoints = known(flows, Instant::now());
        endpoints.clock = Clock::new(endpoints.now, NOW.since_1970());
        endpoints
    }

    fn wanting(endpoints: &Endpoints, most: usize) -> Wanting {
        endpoints.wanting_deferred(NOW, most, &mut fastrand::Rng::with_seed(1))
    }

    fn summary(endpoints: &Endpoints) -> (Vec<i32>, bool, Option<i64>) {
        let Wanting { endpoints, is_any_due, next } = wanting(endpoints, 64);
        let mut ids: Vec<i32> = endpoints.into_iter().map(|(id, _)| id.0).collect();
        ids.sort_unstable();
        (ids, is_any_due, next.map(|at| at.0 - NOW.0))
    }

    #[test]
    fn what_is_due_is_fetched_where_there_is_room_and_the_rest_is_looked_for_when_it_is_due() {
        let second = Duration::from_secs(1);
        let full = Flow { max_in_memory: Some(1), ..FLOW };
        let mut endpoints = at_now(&[FLOW, FLOW, full, FLOW, FLOW]);
        assert_eq!(summary(&endpoints), (vec![], false, None), "nothing waits");
        for (id, us) in [(1, 0), (2, 1), (3, -5), (4, -5), (5, -5)] {
            endpoints.note_deferred(EndpointId(id), Timestamp(NOW.0 + us));
        }
        queue(&mut endpoints, EndpointId(3), 1..2);
        endpoints.note_in_hand(EndpointId(3));
        open(&mut endpoints, EndpointId(4), second);
        endpoints.apply(disabled(endpoint(EndpointId(5), 2, FLOW)));
        assert_eq!(summary(&endpoints), (vec![1], true, Some(1)));
        // Where there is no room yet it is looked again soon.
        endpoints.forget_deferred(EndpointId(1));
        assert_eq!(summary(&endpoints), (vec![], true, Some(1)));
        endpoints.forget_deferred(EndpointId(3));
        endpoints.forget_deferred(EndpointId(2));
        assert_eq!(summary(&endpoints), (vec![], false, Some(1_000_000)), "when that is over");
        assert_eq!(endpoints.waiting_count(), 2);
    }

    /// Those in hand are in the table, too, and would be all that is found.
    #[test]
    fn as_many_are_asked_for_as_there_is_room_for_beside_those_in_hand() {
        let id = EndpointId(1);
        let flow = Flow { max_in_memory: Some(10), ..FLOW };
        let mut endpoints = at_now(&[flow]);
        endpoints.note_deferred(id, NOW);
        assert_eq!(wanting(&endpoints, 64).endpoints, [(id, 10)]);
        (0..3).for_each(|_| endpoints.note_in_hand(id));
        assert_eq!(wanting(&endpoints, 64).endpoints, [(id, 13)]);
        // What is counted too often or for an endpoint that came later does no harm.
        (0..9).for_each(|_| endpoints.note_out_of_hand(id));
        assert_eq!(wanting(&endpoints, 64).endpoints, [(id, 10)]);
    }

    #[test]
    fn the_first_that_is_due_counts_whoever_says_so_and_in_which_order() {
        for seed in 0..50 {
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut endpoints = at_now(&[FLOW; 3]);
            let mut first: HashMap<EndpointId, i64> = HashMap::default();
            for _ in 0..30 {
                let (id, us) = (EndpointId(dice.i32(1..5)), dice.i64(1..100));
                let (is_known, at) = (id.0 <= 3, Timestamp(NOW.0 + us));
                match dice.u8(..3) {
                    0 => {
                        endpoints.forget_deferred(id);
                        first.remove(&id);
                        continue;
                    }
                    1 => {
                        let unknown = endpoints.note_waiting(vec![(id, at)]);
                        assert_eq!(unknown.is_empty(), is_known, "seed {seed}");
                    }
                    _ => endpoints.note_deferred(id, at),
                }
                if is_known {
                    let known = first.entry(id).or_insert(us);
                    *known = (*known).min(us);
                }
                let next = first.values().min().copied();
                assert_eq!(summary(&endpoints), (vec![], false, next), "seed {seed}");
                assert_eq!(endpoints.waiting_count(), first.len(), "seed {seed}");
            }
        }
    }

    #[test]
    fn chance_gives_each_endpoint_its_turn_however_many_are_due() {
        let mut endpoints = at_now(&[FLOW; 20]);
        (1..=20).for_each(|id| endpoints.note_deferred(EndpointId(id), NOW));
        let mut dice = fastrand::Rng::with_seed(1);
        let mut seen: HashSet<EndpointId> = HashSet::default();
        for _ in 0..100 {
            let wanted = endpoints.wanting_deferred(NOW, 2, &mut dice).endpoints;
            assert_eq!(wanted.len(), 2);
            seen.extend(wanted.into_iter().map(|(id, _)| id));
        }
        assert_eq!(seen.len(), 20);
    }
}
