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
