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
        // What somebody has locked is not looked at over and over.
        if !is_all && !claimed.is_empty() && self.postponed.len() < EXPIRED_ROWS {
            self.expired_at = now;
        }
        self.claim_due(claimed, Look::After);
    }
}
