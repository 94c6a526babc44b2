//! Writing down what was taken before it is attempted, and what is finished.

use super::{keys::CancelState, *};

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
        let checkpoint = self.checkpoint(&owned);
        let is_known = |owned: &Owned| self.lanes.progress(owned.shard).is_some();
        let updates_gate = now >= self.gate_at && owned.iter().all(is_known);
        if updates_gate {
            self.gate_at = now + GATE_INTERVAL;
        }
        let claimed: Vec<MessageId> =
            self.claiming.iter().map(|(delivery, _)| delivery.message.id).collect();
        self.ask(Query::SaveCheckpoint { owned, checkpoint, updates_gate, claimed });
    }

    /// There is something new to write down, which may wait for more of it.
    pub(super) fn checkpoint_soon(&mut self) {
        self.checkpoint_at.get_or_insert(self.now);
    }

    /// Where everything stands now.
    pub(super) fn checkpoint(&self, owned: &[Owned]) -> Checkpoint {
        let (lanes, done_xmin) = self.lanes.checkpoint();
        let shard_count = self.identity.shard_count;
        let backlog = |owned: &Owned| match self.lanes.progress(owned.shard) {
            Some((number, left)) => {
                let pending = self.account.pending_of(owned.shard) + left as i64;
                number + self.identity.gaps.count_above(number) - shard_count * pending
            }
            None => self.account.inherited_of(owned.shard),
        };
        Checkpoint { lanes, done_xmin, backlogs: owned.iter().map(backlog).collect() }
    }

    pub(super) fn take_claim(&mut self, (lost, cancels): ClaimAnswer) {
        self.is_claiming = false;
        let claimed = std::mem::take(&mut self.claiming);
        if !lost.is_empty() {
            // Nothing was written. The rest is claimed again under what is still ours.
            self.unclaimed.extend(claimed);
            self.lose(&lost);
            return;
        }
        for (delivery, place) in claimed {
            // One without an endpoint goes into the table first, and is looked at when it comes back.
            let state = match place {
                Place::Orphan => CancelState::None,
                _ => self.cancel_state(&delivery, &cancels),
            };
            if state != CancelState::None && place == Place::Queue {
                self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
            }
            match state {
                CancelState::None => self.put(delivery, place),
                CancelState::Cancelled => self.recorder.record().cancelled(&delivery, self.now),
                CancelState::UnderWay => self.give_back_for(delivery, CANCEL_PAUSE),
            }
        }
    }

    pub(super) fn put(&mut self, delivery: Delivery, place: Place) {
        let is_ours = self.lanes.epoch(delivery.message.id.lane().shard()) == Some(delivery.epoch);
        // A shard that is being given up gets nothing into its queues any more.
        if !is_ours || self.is_stopping || self.is_leaving(&delivery) {
            if place == Place::Queue {
                self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
            }
            if is_ours {
                self.give_back(delivery);
            }
            return;
        }
        match (place, delivery.source) {
            (Place::Queue, _) => self.admit(delivery),
            (Place::Held, Source::Log { lane, .. }) => {
                if let Some(owned) = self.lanes.get_mut(lane) {
                    owned.held.push_back(delivery);
                }
            }
            (Place::Orphan, _) => match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => {
                    self.load_endpoints.set_due(self.now);
                    self.orphans.push(delivery);
                }
            },
            (Place::Held | Place::Aside, _) => self.give_back(delivery),
        }
    }
}
