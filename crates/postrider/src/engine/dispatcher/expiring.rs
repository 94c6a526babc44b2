//! What expires where it waits: for an endpoint that is disabled or takes nothing, or behind others.
//!
//! It waits in memory, to be sent, or in the table: nothing that expires is left in the log (see
//! [`LaneReader::spares_expiring`]). Deliveries that are due are fetched, expired ones among them. For an
//! endpoint that takes nothing nothing is fetched, so what has expired is looked for by itself, whatever
//! its endpoint. Only its owner can tell whether a waiting delivery is in hand, which the claims in the
//! database do not say: one that was given back was claimed, too.

use super::*;

impl Dispatcher {
    pub(super) fn fetch_expired(&mut self, now: Instant) {
        let shards = self.lanes.active_shards();
        if self.is_fetching_expired || now < self.expired_at || shards.is_empty() {
            return;
        }
        self.is_fetching_expired = true;
        self.expired_at = now + EXPIRY_INTERVAL;
        self.end_expired(now);
        if self.expiry_round.1 == ExpiryPlace::FIRST {
            self.expiry_round.0 = now;
        }
        // All of it: to tell what waits in the table from the rest would cost more than that is.
        let in_hand = self.in_hand.keys().copied().collect();
        let after = self.expiry_round.1;
        self.ask(Query::FetchExpired { shards, most: EXPIRED_ROWS, after, in_hand });
    }

    /// Ends what has expired and waits in memory: for a place in flight, or for its turn.
    fn end_expired(&mut self, now: Instant) {
        let timestamp = self.clock.timestamp(now);
        let has_expired = |delivery: &Delivery| delivery.is_expired(timestamp);
        let ready = self.chains.take_ready(has_expired);
        for delivery in &ready {
            self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
        }
        for delivery in self.endpoints.take_queued(has_expired).iter().chain(&ready) {
            self.gathered.expired(delivery, now);
        }
        // They are in hand, and not claimed yet: not while somebody holds them either.
        let suspects: Vec<Delivery> = self.suspects.extract_if(.., |s| has_expired(s)).collect();
        for suspect in &suspects {
            self.endpoints.reserve(suspect.endpoint, suspect.priority());
        }
        self.claim_due(suspects, Look::BeforeAndAfter);
    }

    pub(super) fn take_expired(
        &mut self,
        found: Result<Expired, StoreError>,
    ) -> Result<(), StoreError> {
        self.is_fetching_expired = false;
        if self.is_stopping {
            return Ok(());
        }
        let found = match found {
            // It is looked for there again, after a while.
            Err(error) if error.is_passing() => return Ok(()),
            found => found?,
        };
        let now = self.now;
        self.go_on_looking(found.stopped_at, now);
        let timestamp = self.clock.timestamp(now);
        let mut claimed = Vec::new();
        for row in found.rows {
            let is_in_hand = self.in_hand.contains_key(&(row.id, row.target));
            let epoch = self.lanes.epoch(row.id.lane().shard());
            let (Some(epoch), false) = (epoch, is_in_hand) else { continue };
            let delivery = Delivery::due(row, epoch);
            if delivery.is_expired(timestamp) && !self.is_leaving(&delivery) {
                // It ends wherever it is in its chain. One that has ended since it was read waits no
                // more, as the claim shows.
                self.hold(&delivery);
                self.endpoints.reserve(delivery.endpoint, delivery.priority());
                claimed.push(delivery);
            }
        }
        self.claim_due(claimed, Look::After);
        Ok(())
    }

    /// Goes on at once until the end, and then begins anew: after a while, and when as much time has passed as the round
    /// took, for what strangers hold is looked at each time.
    fn go_on_looking(&mut self, stopped_at: Option<ExpiryPlace>, now: Instant) {
        match stopped_at {
            // What somebody has locked since it was found waits in memory.
            Some(_) if self.postponed.len() < EXPIRED_ROWS => self.expired_at = now,
            Some(_) => {}
            None => self.expired_at = now + EXPIRY_INTERVAL.max(now - self.expiry_round.0),
        }
        self.expiry_round.1 = stopped_at.unwrap_or(ExpiryPlace::FIRST);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{
        super::keys::tests::{dispatcher, queries, waiting},
        *,
    };
    use crate::store::wire::Timestamp;

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
            dispatcher.suspects.push(suspect);
        }
        dispatcher.end_expired(now);
        let numbers = |deliveries: &[Delivery]| -> Vec<i64> {
            deliveries.iter().map(|delivery| delivery.message.id.0 >> 10).collect()
        };
        let claimed =
            queries(std::mem::take(&mut dispatcher.commands)).find_map(|query| match query {
                Query::Claim { claimed, .. } => Some(claimed),
                _ => None,
            });
        assert_eq!(numbers(&claimed.expect("it is claimed")), [2]);
        assert_eq!(numbers(&dispatcher.suspects), [1, 3]);
    }

    #[test]
    fn a_look_goes_on_behind_the_one_before_and_begins_anew_at_the_end() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let mut row = waiting(1);
        row.terms.ordering_key = None;
        dispatcher.hold(&Delivery::due(row, 1));
        let acquired = Acquired {
            owned: Owned { shard: Shard(0), epoch: 1 },
            lanes: BTreeMap::new(),
            backlog: 0,
            last_owner: None,
            held: Vec::new(),
        };
        dispatcher.take(Event::Acquired(Ok((vec![acquired], Stored::default()))), now);
        dispatcher.commands.clear();
        let look = |dispatcher: &mut Dispatcher, now: Instant| {
            dispatcher.fetch_expired(now);
            queries(std::mem::take(&mut dispatcher.commands)).find_map(|query| match query {
                Query::FetchExpired { after, in_hand, .. } => Some((after, in_hand)),
                _ => None,
            })
        };
        let in_hand = vec![(MessageId(1 << 10 | 15), Target(1))];
        assert_eq!(look(&mut dispatcher, now), Some((ExpiryPlace::FIRST, in_hand.clone())));
        let place = ExpiryPlace { expires_at: Timestamp(5), ..ExpiryPlace::FIRST };
        let found = |stopped_at| Event::Expired(Ok(Expired { rows: Vec::new(), stopped_at }));
        dispatcher.take(found(Some(place)), now);
        assert_eq!(look(&mut dispatcher, now), Some((place, in_hand.clone())), "at once");
        let later = now + Duration::from_secs(7);
        dispatcher.take(found(None), later);
        assert_eq!(look(&mut dispatcher, later + EXPIRY_INTERVAL), None, "as long as it took");
        let later = later + Duration::from_secs(7);
        assert_eq!(look(&mut dispatcher, later), Some((ExpiryPlace::FIRST, in_hand)));
    }
}
