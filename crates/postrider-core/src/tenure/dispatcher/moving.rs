//! Where deliveries go that are not attempted, or not yet: into a queue, or out of it again.

use super::*;

impl Dispatcher {
    // Queues -----------------------------------------------------------------------------------------

    /// Queues a delivery that is claimed, when it is its turn.
    pub(super) fn admit(&mut self, seated: Seated) {
        trace!(stop = "admit", message_id = seated.message.id.0, target_id = seated.target.0);
        let Some(link) = seated.link() else {
            self.enqueue(seated);
            return;
        };
        match self.chains.offer(&link, seated) {
            Turn::Go(seated) => self.enqueue(seated),
            Turn::Wait => {}
            Turn::Behind(seated) => {
                let delivery = self.endpoints.unseat(seated);
                self.give_back(delivery);
            }
        }
    }

    /// Gives back what is queued, or ready and waits for its turn.
    pub(super) fn return_queued(&mut self, is_wanted: impl Fn(&Delivery) -> bool) {
        let ready = self.take_ready(&is_wanted);
        let mut returned = self.endpoints.take_queued(&is_wanted);
        returned.extend(ready);
        // In order, so that of each ordering key the first is not blocked.
        returned.sort_unstable_by_key(|delivery| delivery.message.id);
        for delivery in returned {
            self.give_back(delivery);
        }
    }

    /// Takes out what is ready and waits for its turn.
    pub(super) fn take_ready(&mut self, is_wanted: impl Fn(&Delivery) -> bool) -> Vec<Delivery> {
        let ready = self.chains.take_ready(|seated: &Seated| is_wanted(seated));
        ready.into_iter().map(|seated| self.endpoints.unseat(seated)).collect()
    }

    /// The delivery, without a place where it was to go.
    pub(super) fn unplace(&mut self, placed: Placed) -> Delivery {
        match placed {
            Placed::Queue(seated) => self.endpoints.unseat(seated),
            Placed::Held(delivery) | Placed::Aside(delivery) | Placed::Orphan(delivery) => delivery,
        }
    }

    // In hand and out of it --------------------------------------------------------------------------

    /// Takes a waiting delivery in hand: returned when it is to be claimed. There is room for it before
    /// it is in hand itself, which for an endpoint that is stalled is all the room there is.
    pub(super) fn take_in_hand(&mut self, delivery: Delivery) -> Option<Seated> {
        // A retry that was granted stays granted when the policy allows fewer by now.
        let has_used_up = || delivery.retry_count > self.policy(&delivery).max_retries();
        if delivery.recovery_count > 0 && has_used_up() {
            self.hold(&delivery);
            let error = Some("[PERMANENT] Recovered from stale processing state".to_owned());
            self.settle(delivery, Settlement::Dead { cause: Cause::Stale, error });
            return None;
        }
        if self.endpoints.room_for_waiting(delivery.endpoint, delivery.priority()) == 0 {
            self.put_back(delivery);
            return None;
        }
        Some(self.hold_seated(delivery))
    }

    /// Suspects and postponed ones that have not been claimed are not ours to attempt any more.
    pub(super) fn drop_suspects(&mut self, is_dropped: impl Fn(&Delivery) -> bool) {
        for delivery in self.hands.extract(is_dropped) {
            self.put_back(delivery);
        }
    }

    /// These are not in hand any more, and fetched when they are due.
    pub(super) fn drop_unrecovered(&mut self, is_dropped: impl Fn(&Claim) -> bool) {
        let now = self.clock.timestamp(self.now);
        for claim in self.hands.extract_unrecovered(is_dropped) {
            self.forget_in_hand((claim.id, claim.target));
            if let Some(endpoint) = self.endpoints.by_target(claim.target) {
                self.note_deferred(endpoint, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
