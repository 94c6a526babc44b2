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
        // What is in hand may have expired, and must not keep the rest out of sight.
        let most = EXPIRED_ROWS + self.in_hand.len();
        self.ask(Query::FetchExpired(shards, most));
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

    pub(super) fn take_expired(&mut self, most: usize, rows: Vec<DueDelivery>) {
        self.is_fetching_expired = false;
        if self.is_stopping {
            return;
        }
        let now = self.now;
        let timestamp = self.clock.timestamp(now);
        let is_all = rows.len() < most;
        let mut claimed = Vec::new();
        for row in rows {
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
        // What somebody has locked since is not looked at over and over.
        if !is_all && !claimed.is_empty() && self.postponed.len() < EXPIRED_ROWS {
            self.expired_at = now;
        }
        self.claim_due(claimed, Look::After);
    }
}

#[cfg(test)]
mod tests {
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
}
