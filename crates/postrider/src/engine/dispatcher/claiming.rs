//! Writing down what was taken before it is attempted, and what is finished.

use super::*;

impl Dispatcher {
    /// Writes down what was taken, and what is finished; one checkpoint at a time.
    pub(super) fn claim(&mut self, now: Instant) {
        let is_interval_over =
            self.checkpoint_at.is_some_and(|last| now >= last + CHECKPOINT_INTERVAL);
        if self.is_claiming || self.unclaimed.is_empty() && !is_interval_over {
            return;
        }
        let owned = self.lanes.owned();
        if owned.is_empty() {
            self.checkpoint_at = None;
            return;
        }
        self.is_claiming = true;
        self.checkpoint_at = (!self.unclaimed.is_empty()).then_some(now);
        self.claiming = std::mem::take(&mut self.unclaimed);
        let (states, done_xmin) = self.lanes.checkpoint();
        let lease = Arc::clone(&self.lease);
        self.send(async move {
            Event::Claimed(lease.save_checkpoint(&owned, done_xmin, &states).await)
        });
    }

    pub(super) fn take_claim(&mut self, lost: Vec<Shard>) {
        self.is_claiming = false;
        let claimed = std::mem::take(&mut self.claiming);
        if !lost.is_empty() {
            // Nothing was written. The rest is claimed again under what is still ours.
            self.unclaimed.extend(claimed);
            self.lose(&lost);
            return;
        }
        for (delivery, place) in claimed {
            self.put(delivery, place);
        }
    }

    pub(super) fn put(&mut self, delivery: Delivery, place: Place) {
        let is_ours = self.lanes.epoch(delivery.message.id.lane().shard()) == Some(delivery.epoch);
        // A shard that is being given up gets nothing into its queues any more.
        if !is_ours || self.is_stopping || self.is_leaving(&delivery) {
            if place == Place::Queue {
                self.endpoints.cancel_reservation(delivery.endpoint);
            }
            if is_ours {
                self.gathered.give_back(&delivery, Instant::now());
            }
            return;
        }
        match (place, delivery.source) {
            (Place::Queue, _) => {
                if let Some(refused) = self.endpoints.enqueue(delivery) {
                    self.set_aside(&refused);
                }
            }
            (Place::Held, Source::Log { lane, .. }) => {
                if let Some(owned) = self.lanes.get_mut(lane) {
                    owned.held.push_back(delivery);
                }
            }
            (Place::Orphan, _) => {
                self.endpoints_at = Instant::now();
                self.orphans.push(delivery);
            }
            (Place::Held | Place::Aside, _) => self.set_aside(&delivery),
        }
    }
}
