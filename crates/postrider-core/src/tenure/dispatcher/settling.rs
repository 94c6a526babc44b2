//! What becomes of a delivery that was in hand, and what that means for others of its ordering key.

use super::*;
use crate::{chains::Scope, wanted::EVERYWHERE};

impl Dispatcher {
    /// The road out of hand: it is recorded, looked for when its time comes, and those of its ordering key wait behind it,
    /// or go when its end is on record. Beside it are only put_back and let_go, for what is left as it was.
    pub(super) fn settle(&mut self, delivery: Delivery, settlement: Settlement) {
        trace!(stop = "settle", message_id = delivery.message.id.0, target_id = delivery.target.0);
        let (endpoint, link) = (delivery.endpoint, delivery.link());
        let waits_until = settlement.waits_until(self.now, &self.clock);
        let is_given_back = settlement.is_given_back();
        let is_as_before = is_given_back && delivery.source == Source::Deferred;
        self.recorder.settle(delivery, settlement, self.now);
        if let Some(at) = waits_until {
            self.note_deferred(endpoint, at);
        }
        let Some(link) = link else { return };
        if waits_until.is_some() {
            self.wait_behind(&link, is_as_before);
        }
        // The next one goes when this is on record: soon, then.
        if !is_given_back && self.chains.has_follower(&link) {
            self.recorder.hurry();
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
        let is_blocked = delivery.link().is_some_and(|link| self.chains.is_blocked(&link));
        let run_at = delivery.scheduled_after(self.clock.timestamp(self.now));
        self.settle(delivery, Settlement::GivenBack { run_at, pause, is_blocked });
    }

    pub(super) fn give_back_seated(&mut self, seated: Vec<Seated>) {
        for seated in seated {
            let delivery = self.endpoints.unseat(seated);
            self.give_back(delivery);
        }
    }

    /// A waiting delivery is not in hand any more and lies where it was.
    pub(super) fn put_back(&mut self, delivery: Delivery) {
        self.note_deferred(delivery.endpoint, self.clock.timestamp(self.now));
        let link = delivery.link();
        self.let_go(delivery);
        if let Some(link) = link {
            self.wait_behind(&link, true);
        }
    }

    // Ordering keys ----------------------------------------------------------------------------------

    /// One of an ordering key waits in the table from now on, or where it was: so does everything ready behind it.
    fn wait_behind(&mut self, link: &Link, is_as_before: bool) {
        let behind = match is_as_before {
            true => self.chains.put_back(link),
            false => self.chains.store(link),
        };
        self.give_back_seated(behind);
        self.go_on(link);
        if is_as_before {
            // Its row may be blocked, and never due.
            self.want_stored(link);
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
            // It would wait for what is fetched, and have the places that this needs.
            let behind = self.chains.take_behind_stored(link);
            self.give_back_seated(behind);
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

    pub(super) fn enqueue(&mut self, seated: Seated) {
        if let Some(refused) = self.endpoints.enqueue(seated) {
            self.give_back(refused);
        }
    }
}

#[cfg(test)]
mod tests;
