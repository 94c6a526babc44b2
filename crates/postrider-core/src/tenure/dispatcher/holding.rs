//! What waits in the table, in and out of our hands: what every other part of the dispatcher is made of.

use super::*;

impl Dispatcher {
    /// Whether the delivery's shard is still ours, as it was when the delivery was read.
    pub(super) fn is_ours(&self, delivery: &Delivery) -> bool {
        self.lanes.epoch(delivery.shard()) == Some(delivery.epoch)
    }

    /// Whether the delivery's shard is being given up.
    pub(super) fn is_leaving(&self, delivery: &Delivery) -> bool {
        self.lanes.draining().contains(&delivery.shard())
    }

    /// A delivery of the endpoint waits in the database until then.
    pub(super) fn note_deferred(&mut self, id: EndpointId, at: Timestamp) {
        self.endpoints.note_deferred(id, at);
        let soonest = self.now + IDLE_FETCH_PAUSE;
        self.hands.fetch.hurry(self.clock.instant(at).max(soonest));
    }

    /// A waiting delivery is in hand from now on: it is not fetched again.
    pub(super) fn hold(&mut self, delivery: &Delivery) {
        let place = delivery.place();
        self.hold_place(place, Some(delivery.endpoint));
    }

    /// The same, with a place at its endpoint.
    pub(super) fn hold_seated(&mut self, delivery: Delivery) -> Seated {
        self.hold(&delivery);
        self.endpoints.seat(delivery)
    }

    pub(super) fn hold_place(&mut self, place: (MessageId, Target), endpoint: Option<EndpointId>) {
        let known = endpoint.filter(|id| self.endpoints.is_known(*id));
        if self.hands.hold(place, known)
            && let Some(id) = known
        {
            self.endpoints.note_in_hand(id);
        }
    }

    /// Nothing is said of it: it waits as it did, is over, or is somebody else's by now.
    pub(super) fn let_go(&mut self, delivery: Delivery) {
        self.forget_in_hand(delivery.place());
    }

    /// A waiting delivery is no longer in hand; if it was the suspect, the next one may be tried.
    pub(super) fn forget_in_hand(&mut self, place: (MessageId, Target)) {
        self.expiry.forget(place);
        let counted_by = self.hands.forget(place);
        if let Some(id) = counted_by {
            self.endpoints.note_out_of_hand(id);
        }
    }

    /// A waiting delivery stays in hand, and is claimed again later.
    pub(super) fn postpone(&mut self, at: Instant, delivery: Delivery) {
        self.expiry.forget(delivery.place());
        self.hands.postpone(at, delivery);
    }

    pub(super) fn claim_due(&mut self, claimed: Vec<Seated>, look: Look) {
        if claimed.is_empty() {
            return;
        }
        let claims: Vec<Claim> = claimed
            .iter()
            .map(|delivery| Claim {
                id: delivery.message.id,
                target: delivery.target,
                retry_count: delivery.retry_count,
            })
            .collect();
        let owned = self.lanes.owned();
        self.ask(Query::Claim { claimed, owned, claims, look });
    }

    /// Whether something of a shard is to be recorded or recovered and waits for somebody's transaction.
    pub(super) fn is_held(&self, shard: Shard) -> bool {
        let mut recovered = self.hands.unrecovered().iter().map(|claim| claim.id.lane().shard());
        self.recorder.is_held(shard) || recovered.any(|other| other == shard)
    }
}
