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

    /// Nothing is said of it: it waits as it did, is over, or is somebody else's by now. One that was read from the log is no
    /// waiting delivery; but another one in its place may be, once its shard was lost and is ours again.
    pub(super) fn let_go(&mut self, delivery: Delivery) {
        if delivery.source == Source::Deferred {
            self.forget_in_hand(delivery.place());
        }
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow::{Break, Continue};

    use super::{super::tests::stand::Stand, *};
    use crate::{
        tenure::{
            expiry::EXPIRING_MOST,
            tests::{ENDPOINT, FLOW, TARGET, endpoint, read_one, unkeyed},
        },
        waiting::ExpiryPlace,
    };

    fn delivery(number: i64) -> Delivery {
        Delivery::due(unkeyed(number), 1)
    }

    /// How many waiting deliveries the endpoint has in hand: so many more are asked for than there is room for.
    fn in_hand(stand: &mut Stand) -> usize {
        let Dispatcher { endpoints, clock, now, dice, .. } = &mut stand.dispatcher;
        endpoints.note_deferred(ENDPOINT, Timestamp(i64::MIN));
        let wanted = endpoints.wanting_deferred(clock.timestamp(*now), 9, dice).endpoints;
        wanted[0].1 - endpoints.room_for_waiting(ENDPOINT, Priority::LOWEST)
    }

    /// An endpoint that counts more than there are would be asked for less and less.
    #[test]
    fn an_endpoint_counts_what_is_in_hand_of_it_once() {
        let mut stand = Stand::new(1);
        stand.dispatcher.hold(&delivery(1));
        stand.dispatcher.hold(&delivery(1));
        stand.dispatcher.hold(&delivery(2));
        assert_eq!(in_hand(&mut stand), 2);
        stand.dispatcher.let_go(delivery(1));
        stand.dispatcher.let_go(delivery(1));
        assert_eq!(in_hand(&mut stand), 1);
        assert_eq!(stand.dispatcher.hands.count(), 1);
    }

    #[test]
    fn an_endpoint_that_came_later_does_not_count_what_was_in_hand_before() {
        let mut stand = Stand::new(1);
        let (id, early) = (EndpointId(2), (unkeyed(9).id, Target(2)));
        stand.dispatcher.hold_place(early, Some(id));
        stand.dispatcher.hold_place((unkeyed(8).id, Target(2)), None);
        stand.dispatcher.endpoints.apply(endpoint(id, 1, FLOW));
        assert!(stand.dispatcher.hands.has(early));
        let later = DueDelivery { endpoint: id, target: Target(2), ..unkeyed(1) };
        stand.dispatcher.hold(&Delivery::due(later, 1));
        stand.dispatcher.forget_in_hand(early);
        let Dispatcher { endpoints, dice, .. } = &mut stand.dispatcher;
        endpoints.note_deferred(id, Timestamp(0));
        let wanted = endpoints.wanting_deferred(Timestamp(0), 9, dice).endpoints;
        assert_eq!(wanted, [(id, endpoints.room_for_waiting(id, Priority::LOWEST) + 1)]);
    }

    #[test]
    fn what_waits_is_fetched_when_it_is_due_and_not_all_the_time() {
        let mut stand = Stand::new(1);
        let now = stand.now;
        let fetch_at = |stand: &mut Stand, wait: Duration| {
            stand.dispatcher.hands.fetch.set_due(now + DEFERRED_REFRESH);
            let at = stand.dispatcher.clock.timestamp(now + wait);
            stand.dispatcher.note_deferred(ENDPOINT, at);
            stand.dispatcher.hands.fetch.wake_at().map(|at| at - now)
        };
        let second = Duration::from_secs(1);
        for (wait, expected) in [
            (Duration::ZERO, IDLE_FETCH_PAUSE),
            (second, second),
            (DEFERRED_REFRESH + second, DEFERRED_REFRESH),
        ] {
            assert_eq!(fetch_at(&mut stand, wait), Some(expected), "{wait:?}");
        }
    }

    /// Its place in memory is that of what is claimed, and comes back with it.
    #[test]
    fn what_is_claimed_is_named_with_its_retries_and_has_a_place() {
        let mut stand = Stand::new(1);
        stand.dispatcher.claim_due(Vec::new(), Look::After);
        assert!(!stand.has_asked(|query| matches!(query, Query::Claim { .. })), "for nothing");
        let failed = DueDelivery { retry_count: 3, ..unkeyed(1) };
        let seated = stand.dispatcher.hold_seated(Delivery::due(failed, 1));
        assert_eq!(stand.dispatcher.endpoints.buffered(), 1);
        stand.dispatcher.claim_due(vec![seated], Look::BeforeAndAfter);
        let (claims, owned, look) = stand
            .asked(|query| match query {
                Query::Claim { claims, owned, look, .. } => Break((claims, owned, look)),
                query => Continue(query),
            })
            .expect("it is claimed");
        let named = claims.iter().map(|claim| (claim.id, claim.target, claim.retry_count));
        assert!(named.eq([(unkeyed(1).id, TARGET, 3)]));
        assert_eq!((owned.len(), look), (1, Look::BeforeAndAfter));
    }

    #[test]
    fn a_delivery_is_ours_in_the_epoch_in_which_it_was_read() {
        let mut stand = Stand::new(1);
        for (epoch, is_ours) in [(0, false), (1, true), (2, false)] {
            let delivery = Delivery { epoch, ..delivery(1) };
            assert_eq!(stand.dispatcher.is_ours(&delivery), is_ours, "{epoch}");
        }
        assert!(!stand.dispatcher.is_leaving(&delivery(1)));
        stand.dispatcher.drain(Shard(0));
        assert!(
            stand.dispatcher.is_leaving(&delivery(1)) && stand.dispatcher.is_ours(&delivery(1))
        );
    }

    /// It could not be given up: what somebody holds of it is neither recorded nor recovered.
    #[test]
    fn a_shard_is_held_while_something_of_it_waits_for_somebodys_transaction() {
        let mut stand = Stand::new(1);
        let claim = Claim { id: unkeyed(1).id, target: TARGET, retry_count: 0 };
        assert!(!stand.dispatcher.is_held(Shard(0)));
        stand.dispatcher.note_unrecovered(vec![claim]);
        assert!(stand.dispatcher.is_held(Shard(0)) && !stand.dispatcher.is_held(Shard(1)));
        stand.dispatcher.drop_unrecovered(|_| true);
        assert!(!stand.dispatcher.is_held(Shard(0)));
        let mut held = Gathered::default();
        held.settle(delivery(2), Settlement::Delivered, stand.now);
        stand.dispatcher.recorder.end(&mut Gathered::default(), held, stand.now);
        assert!(stand.dispatcher.is_held(Shard(0)) && !stand.dispatcher.is_held(Shard(1)));
    }

    /// No more is looked for while so much is on its way to be recorded as expired: what is held up is not.
    #[test]
    fn what_is_postponed_or_let_go_is_not_on_its_way_to_expire() {
        for is_postponed in [true, false] {
            let mut stand = Stand::new(1);
            stand.pass(IDLE_FETCH_PAUSE);
            let now = stand.now;
            for number in 1..=EXPIRING_MOST as i64 {
                stand.dispatcher.expiry.note(delivery(number).place());
            }
            stand.dispatcher.expiry.end(Some(ExpiryPlace::FIRST));
            assert_eq!(stand.dispatcher.expiry.begin(false, 0, now), None);
            stand.dispatcher.hold(&delivery(1));
            match is_postponed {
                true => stand.dispatcher.postpone(now, delivery(1)),
                false => stand.dispatcher.let_go(delivery(1)),
            }
            assert!(stand.dispatcher.expiry.begin(false, 0, now).is_some());
            assert_eq!(stand.dispatcher.hands.has(delivery(1).place()), is_postponed);
        }
    }

    /// Its shard was lost and is ours again, and what waits in its place is another delivery.
    #[test]
    fn whatever_was_read_and_is_let_go_leaves_what_waits_in_its_place_in_hand() {
        let mut stand = Stand::new(9);
        let place = (unkeyed(1).id, TARGET);
        stand.dispatcher.hold(&Delivery::due(unkeyed(1), 1));
        stand.dispatcher.let_go(read_one(unkeyed(1)));
        assert!(stand.dispatcher.hands.has(place));
        stand.dispatcher.let_go(Delivery::due(unkeyed(1), 1));
        assert!(!stand.dispatcher.hands.has(place));
    }
}
