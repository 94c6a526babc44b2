//! Writing down what was taken before it is attempted, and what is finished.

use super::{keys::CancelState, *};

impl Dispatcher {
    /// Writes down what was taken, and what is finished; one checkpoint at a time.
    pub(super) fn claim(&mut self, now: Instant) {
        // What a release writes down is older, and nobody but we says which of two arrives first.
        if !self.claims.is_due(now) || self.tenancy.is_releasing() {
            return;
        }
        let owned = self.lanes.owned();
        if owned.is_empty() {
            return self.claims.pass();
        }
        let claimed = self.claims.begin(now);
        trace!(stop = "claim", shards = owned.len());
        let checkpoint = self.checkpoint(&owned);
        let is_known = |owned: &Owned| self.lanes.progress(owned.shard).is_some();
        let updates_gate = owned.iter().all(is_known) && self.claims.take_gate_turn(now);
        self.ask(Query::SaveCheckpoint { owned, checkpoint, updates_gate, claimed });
    }

    pub(super) fn take_claim(&mut self, (lost, cancels): ClaimAnswer) {
        if !lost.is_empty() {
            // Nothing was written. The rest is claimed again under what is still ours.
            self.claims.abandon();
            return self.lose(&lost);
        }
        for placed in self.claims.end() {
            // One without an endpoint goes into the table first, and is looked at when it comes back.
            let state = match &placed {
                Placed::Orphan(_) => CancelState::None,
                other => self.cancel_state(other.delivery(), &cancels),
            };
            match state {
                CancelState::None => self.put(placed),
                CancelState::Cancelled => {
                    let delivery = self.unplace(placed);
                    self.settle(delivery, Settlement::Cancelled);
                }
                CancelState::UnderWay => {
                    let delivery = self.unplace(placed);
                    self.give_back_for(delivery, CANCEL_PAUSE);
                }
            }
        }
    }

    fn put(&mut self, placed: Placed) {
        let delivery = placed.delivery();
        trace!(stop = "put", message_id = delivery.message.id.0, target_id = delivery.target.0);
        let is_ours = self.is_ours(delivery);
        // A shard that is being given up gets nothing into its queues any more.
        if !is_ours || self.is_stopping() || self.is_leaving(delivery) {
            let delivery = self.unplace(placed);
            return match is_ours {
                true => self.give_back(delivery),
                false => self.let_go(delivery),
            };
        }
        match placed {
            Placed::Queue(seated) => self.admit(seated),
            Placed::Held(delivery) => match delivery.source {
                Source::Log { lane, .. } => self.lanes.hold(lane, delivery),
                Source::Deferred => self.give_back(delivery),
            },
            Placed::Orphan(delivery) => match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => {
                    self.upkeep.endpoints.set_due(self.now);
                    self.orphans.add(delivery);
                }
            },
            Placed::Aside(delivery) => self.give_back(delivery),
        }
    }
}

#[cfg(test)]
mod tests;
