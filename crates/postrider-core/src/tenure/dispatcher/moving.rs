//! Where a delivery goes that is not attempted, or not yet: into a queue, behind others of its ordering key, back into the
//! table, or out of our hands.

use super::*;
use crate::{chains::Scope, wanted::EVERYWHERE};

impl Dispatcher {
    // Queues -----------------------------------------------------------------------------------------

    /// Queues a delivery that is claimed, when it is its turn.
    pub(super) fn admit(&mut self, seated: Seated) {
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

    pub(super) fn enqueue(&mut self, seated: Seated) {
        if let Some(refused) = self.endpoints.enqueue(seated) {
            self.give_back(refused);
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

    // Back into the table ----------------------------------------------------------------------------

    /// A delivery that was not attempted waits in the database, until it is due, has room, or has its
    /// turn. So does everything ready behind it of its ordering key.
    pub(super) fn give_back(&mut self, delivery: Delivery) {
        self.give_back_for(delivery, Duration::ZERO);
    }

    /// The same, for at least so long, unless it is scheduled.
    pub(super) fn give_back_for(&mut self, delivery: Delivery, pause: Duration) {
        let now = self.now;
        let timestamp = self.clock.timestamp(now);
        let link = delivery.link();
        let is_blocked = link.as_ref().is_some_and(|link| self.chains.is_blocked(link));
        let run_at = delivery.scheduled_after(timestamp);
        self.recorder.record().give_back(&delivery, run_at, pause, is_blocked, now);
        let due_at = run_at.unwrap_or_else(|| self.clock.timestamp(now + pause));
        self.note_deferred(delivery.endpoint, due_at);
        if let Some(link) = link {
            let behind = match delivery.source {
                Source::Deferred => self.chains.put_back(&link),
                Source::Log { .. } => self.chains.store(&link),
            };
            self.give_back_seated(behind);
            self.go_on(&link);
            if delivery.source == Source::Deferred {
                // Its row may be blocked, and never due.
                self.want_stored(&link);
            }
        }
    }

    pub(super) fn give_back_seated(&mut self, seated: Vec<Seated>) {
        for seated in seated {
            let delivery = self.endpoints.unseat(seated);
            self.give_back(delivery);
        }
    }

    /// A waiting delivery is not in hand any more and lies where it was.
    pub(super) fn put_back(&mut self, delivery: Delivery) {
        self.let_go(&delivery);
        let now = self.clock.timestamp(self.now);
        self.note_deferred(delivery.endpoint, now);
        if let Some(link) = delivery.link() {
            let behind = self.chains.put_back(&link);
            self.give_back_seated(behind);
            self.go_on(&link);
            // Its row may be blocked, and never due.
            self.want_stored(&link);
        }
    }

    /// Takes a waiting delivery in hand: returned when it is to be claimed. There is room for it before
    /// it is in hand itself, which for an endpoint that is stalled is all the room there is.
    pub(super) fn take_in_hand(&mut self, delivery: Delivery, now: Instant) -> Option<Seated> {
        // A retry that was granted stays granted when the policy allows fewer by now.
        let has_used_up = || delivery.retry_count > self.policy(&delivery).max_retries();
        if delivery.recovery_count > 0 && has_used_up() {
            self.hold(&delivery);
            let error = "[PERMANENT] Recovered from stale processing state";
            self.recorder.record().dead(&delivery, Cause::Stale, Some(error.to_owned()), now);
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

    // Ordering keys ----------------------------------------------------------------------------------

    /// A delivery with an ordering key is tried again later: so are those behind it.
    pub(super) fn store_followers(&mut self, delivery: &Delivery) {
        if let Some(link) = delivery.link() {
            let behind = self.chains.store(&link);
            self.give_back_seated(behind);
            self.go_on(&link);
        }
    }

    /// The next of an ordering key goes when this one's end is on record: soon, then.
    pub(super) fn hurry_for_followers(&mut self, delivery: &Delivery) {
        if let Some(link) = delivery.link()
            && self.chains.has_follower(&link)
        {
            self.recorder.record().is_urgent = true;
        }
    }

    /// The end of a delivery with an ordering key is on record.
    pub(super) fn leave_chain(&mut self, link: &Link) {
        let Left { going, wants_stored } = self.chains.leave(link);
        for delivery in going {
            self.enqueue(delivery);
        }
        if wants_stored {
            self.want_followers(link);
        }
    }

    /// Lets go what only waited for a delivery that was put down without an end.
    pub(super) fn go_on(&mut self, link: &Link) {
        for delivery in self.chains.go_on(&link.key) {
            self.enqueue(delivery);
        }
    }

    /// Fetches what is stored of a key, when nothing of it is in hand any more.
    pub(super) fn want_stored(&mut self, link: &Link) {
        if self.chains.wants_stored(link) {
            self.want_followers(link);
        }
    }

    /// Something may have changed in the table that we did not do.
    pub(super) fn want_all_stored(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let stored: Vec<(Arc<str>, EndpointId)> =
            self.chains.stored().filter(|(key, _)| is_wanted(key)).collect();
        for (key, endpoint) in stored {
            self.want_stored(&Link { key, id: MessageId(0), endpoint });
        }
    }

    /// What is stored of a key is asked for at the endpoint, or everywhere at once.
    fn want_followers(&mut self, link: &Link) {
        let at = match self.chains.scope() {
            Scope::Endpoint => link.endpoint,
            Scope::Global => EVERYWHERE,
        };
        self.followers.want(Arc::clone(&link.key), at);
    }
}
