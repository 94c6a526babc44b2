//! What becomes of a delivery that was in hand: back into the table, and what that means for others of its ordering key.

use super::*;
use crate::{chains::Scope, wanted::EVERYWHERE};

impl Dispatcher {
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

    pub(super) fn enqueue(&mut self, seated: Seated) {
        if let Some(refused) = self.endpoints.enqueue(seated) {
            self.give_back(refused);
        }
    }
}
