//! What expires where it waits: for an endpoint that is disabled or takes nothing, or behind others.
//!
//! It waits in memory, to be sent, or in the table: nothing that expires is left in the log (see
//! [`LaneReader::spares_expiring`]). Deliveries that are due are fetched, expired ones among them. For an
//! endpoint that takes nothing nothing is fetched, so what has expired is looked for by itself, whatever
//! its endpoint, a page at a time: each begins where the one before ended, whoever has its rows, so that no
//! look costs more than a page and nothing that somebody has locked hides the rest. Only its owner can tell
//! whether a waiting delivery is in hand, which the claims in the database do not say: one that was given back
//! was claimed, too.

use super::*;

impl Dispatcher {
    /// Looks at a page of what has expired, if it is time to.
    pub(super) fn fetch_expired(&mut self, now: Instant) {
        if !self.lanes.has_active() {
            return;
        }
        let is_time = self.expiry.take_turn(now);
        if is_time {
            self.end_expired(now);
        }
        let held = self.hands.postponed_count() + self.recorder.held_count();
        let Some(after) = self.expiry.begin(is_time, held, now) else { return };
        let (shards, in_hand) = (self.lanes.active_shards(), self.hands.places().collect());
        self.ask(Query::FetchExpired { shards, most: EXPIRED_ROWS, after, in_hand });
    }

    /// Ends what has expired and waits in memory: for a place in flight, or for its turn.
    fn end_expired(&mut self, now: Instant) {
        let timestamp = self.clock.timestamp(now);
        let has_expired = |delivery: &Delivery| delivery.is_expired(timestamp);
        let ready = self.take_ready(has_expired);
        for delivery in self.endpoints.take_queued(has_expired).into_iter().chain(ready) {
            self.settle(delivery, Settlement::Expired);
        }
        // They are in hand, and not claimed yet: not while somebody holds them either.
        let suspects = self.hands.extract_suspects(has_expired).into_iter();
        let seated = suspects.map(|suspect| self.endpoints.seat(suspect)).collect();
        self.claim_due(seated, Look::BeforeAndAfter);
    }

    pub(super) fn take_expired(&mut self, page: ExpiredPage) {
        self.expiry.end(page.next);
        if self.is_stopping() {
            return;
        }
        let timestamp = self.clock.timestamp(self.now);
        let mut claimed = Vec::new();
        for row in page.rows {
            let place = (row.id, row.target);
            let epoch = self.lanes.epoch(row.id.lane().shard());
            // An endpoint that is not known is new, and its rows are come by again, or gone, and they end otherwise.
            let is_passed = self.hands.has(place) || !self.endpoints.is_known(row.endpoint);
            let (Some(epoch), false) = (epoch, is_passed) else { continue };
            let delivery = Delivery::due(row, epoch);
            if delivery.is_expired(timestamp) && !self.is_leaving(&delivery) {
                // It ends wherever it is in its chain. One that has ended since it was read waits no
                // more, as the claim shows.
                self.expiry.note(place);
                claimed.push(self.hold_seated(delivery));
            }
        }
        if claimed.is_empty() {
            self.expiry.note_idle(self.now);
        }
        self.claim_due(claimed, Look::After);
    }
}

#[cfg(test)]
mod tests {
    use crate::{timestamp::Timestamp, waiting::ExpiryPlace};

    use super::{
        super::tests::stand::{acquire, dispatcher, queries, switch},
        *,
    };
    use crate::tenure::{
        expiry::{EXPIRING_MOST, INTERVAL as EXPIRY_INTERVAL},
        tests::{TARGET, waiting},
    };

    #[test]
    fn a_suspect_that_expires_ends_before_its_turn() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let timestamp = dispatcher.clock.timestamp(now);
        let expiry = |after_us: i64| Some(Timestamp(timestamp.0 + after_us));
        for (number, expires_at) in [(1, None), (2, expiry(-1)), (3, expiry(60_000_000))] {
            let mut row = waiting(number);
            row.terms.expires_at = expires_at;
            row.recovery_count = SUSPECT_AFTER;
            let suspect = Delivery::due(row, 1);
            dispatcher.hold(&suspect);
            dispatcher.hands.suspect(suspect);
        }
        dispatcher.end_expired(now);
        let number = |delivery: &Delivery| delivery.message.id.0 >> 10;
        let ending: Vec<i64> =
            claimed(&mut dispatcher).iter().map(|seated| number(seated)).collect();
        let suspected: Vec<i64> = dispatcher.hands.extract(|_| true).iter().map(number).collect();
        assert_eq!((ending, suspected), (vec![2], vec![1, 3]));
    }

    /// A dispatcher that owns the only shard.
    fn owner(now: Instant) -> Dispatcher {
        let mut dispatcher = dispatcher(now);
        acquire(&mut dispatcher, Stored::default(), now);
        dispatcher.commands.clear();
        dispatcher
    }

    /// What it claims.
    fn claimed(dispatcher: &mut Dispatcher) -> Vec<Seated> {
        let claim =
            queries(std::mem::take(&mut dispatcher.commands)).find_map(|query| match query {
                Query::Claim { claimed, .. } => Some(claimed),
                _ => None,
            });
        claim.expect("something is claimed")
    }

    /// From where on it is looked, if so, and what is in hand then.
    fn look(dispatcher: &mut Dispatcher, now: Instant) -> Option<(ExpiryPlace, usize)> {
        dispatcher.set_now(now);
        dispatcher.fetch_expired(now);
        queries(std::mem::take(&mut dispatcher.commands)).find_map(|query| match query {
            Query::FetchExpired { after, in_hand, .. } => Some((after, in_hand.len())),
            _ => None,
        })
    }

    fn place(number: i64) -> ExpiryPlace {
        ExpiryPlace { expires_at: Timestamp(number), ..ExpiryPlace::FIRST }
    }

    #[test]
    fn a_look_goes_on_where_the_one_before_stopped_and_begins_anew_after_the_last() {
        let now = Instant::now();
        let mut dispatcher = owner(now);
        let found = |next| Event::Expired(Ok(ExpiredPage { rows: Vec::new(), next }));
        assert_eq!(look(&mut dispatcher, now), Some((ExpiryPlace::FIRST, 0)));
        assert_eq!(look(&mut dispatcher, now + 3 * EXPIRY_INTERVAL), None, "it is under way");
        let now = now + 3 * EXPIRY_INTERVAL;
        assert!(dispatcher.expiry.wake_at(now) > now, "nobody wakes for it meanwhile");
        dispatcher.take(found(Some(place(5))), now);
        assert_eq!(look(&mut dispatcher, now), None, "nothing of that page could be ended");
        let now = now + IDLE_FETCH_PAUSE;
        assert!(dispatcher.wake_at() <= now);
        assert_eq!(look(&mut dispatcher, now), Some((place(5), 0)));
        dispatcher.take(found(None), now);
        assert_eq!(look(&mut dispatcher, now), None, "that was the last one");
        let now = now + EXPIRY_INTERVAL;
        assert_eq!(look(&mut dispatcher, now), Some((ExpiryPlace::FIRST, 0)));
    }

    #[test]
    fn no_more_expires_at_a_time_than_can_be_recorded_and_what_is_held_up_stops_nobody() {
        let now = Instant::now();
        let mut dispatcher = owner(now);
        let expired = Some(Timestamp(dispatcher.clock.timestamp(now).0 - 1));
        // What is at an endpoint that is not known yet is passed over.
        let rows = || {
            (1..=EXPIRING_MOST as i64).map(|number| {
                let mut row = waiting(number);
                (row.terms.expires_at, row.terms.ordering_key) = (expired, None);
                row
            })
        };
        assert!(look(&mut dispatcher, now).is_some());
        let page =
            || Event::Expired(Ok(ExpiredPage { rows: rows().collect(), next: Some(place(5)) }));
        dispatcher.take(page(), now);
        assert_eq!(queries(std::mem::take(&mut dispatcher.commands)).count(), 0);
        switch(&mut dispatcher, 1, true, now);
        let now = now + IDLE_FETCH_PAUSE;
        dispatcher.set_now(now);
        dispatcher.commands.clear();
        dispatcher.take(page(), now);
        let mut claimed = claimed(&mut dispatcher);
        assert_eq!(claimed.len(), EXPIRING_MOST);
        assert_eq!(look(&mut dispatcher, now), None, "there is no room for more");
        // Somebody has one of them: it is claimed again later.
        let held = dispatcher.endpoints.unseat(claimed.remove(0));
        let id = held.message.id;
        dispatcher.postpone(now + HELD_PAUSE, held);
        assert_eq!(look(&mut dispatcher, now), Some((place(5), EXPIRING_MOST)));
        // It is asked in any case after a while.
        dispatcher.expiry.note((id, TARGET));
        dispatcher.expiry.end(Some(place(5)));
        assert_eq!(look(&mut dispatcher, now), None);
        let later = now + EXPIRY_INTERVAL;
        assert_eq!(look(&mut dispatcher, later), Some((place(5), EXPIRING_MOST)));
    }
}
