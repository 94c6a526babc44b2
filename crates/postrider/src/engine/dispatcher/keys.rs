//! Ordering keys, and every other reason for which a delivery that is claimed does not go yet.

use postrider_core::{
    chains::Scope,
    mark::mark,
    wanted::{Asked, Asking, EVERYWHERE},
};

use super::*;

/// Whether a delivery that was claimed may be attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelState {
    None,
    /// It was cancelled, which is on record.
    Cancelled,
    /// Somebody is about to cancel it and has not committed yet.
    UnderWay,
}

impl Dispatcher {
    /// Queues a delivery that is claimed and has a reserved place, when it is its turn.
    pub(super) fn admit(&mut self, delivery: Delivery) {
        let Some(link) = delivery.link() else {
            self.enqueue(delivery);
            return;
        };
        match self.chains.offer(&link, delivery) {
            Turn::Go(delivery) => self.enqueue(delivery),
            Turn::Wait => {}
            Turn::Behind(delivery) => {
                self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
                self.give_back(delivery);
            }
        }
    }

    pub(super) fn enqueue(&mut self, delivery: Delivery) {
        if let Some(refused) = self.endpoints.enqueue(delivery) {
            self.give_back(refused);
        }
    }

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
            self.give_back_reserved(behind);
            self.go_on(&link);
            if delivery.source == Source::Deferred {
                // Its row may be blocked, and never due.
                self.want_stored(&link);
            }
        }
    }

    /// Fetches what is stored of a key, when nothing of it is in hand any more.
    pub(super) fn want_stored(&mut self, link: &Link) {
        if self.chains.wants_stored(link) {
            let (key, at) = self.place_of(Arc::clone(&link.key), link.endpoint);
            self.followers.want(key, at);
        }
    }

    /// Where what is stored of a key is asked for: at the endpoint, or everywhere at once.
    fn place_of(&self, key: Arc<str>, endpoint: EndpointId) -> (Arc<str>, EndpointId) {
        match self.chains.scope() {
            Scope::Endpoint => (key, endpoint),
            Scope::Global => (key, EVERYWHERE),
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

    /// Lets go what only waited for a delivery that was put down without an end.
    pub(super) fn go_on(&mut self, link: &Link) {
        for delivery in self.chains.go_on(&link.key) {
            self.enqueue(delivery);
        }
    }

    pub(super) fn give_back_reserved(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
            self.give_back(delivery);
        }
    }

    /// Gives back what is queued, or ready and waits for its turn.
    pub(super) fn return_queued(&mut self, is_wanted: impl Fn(&Delivery) -> bool) {
        let ready = self.chains.take_ready(&is_wanted);
        for delivery in &ready {
            self.endpoints.cancel_reservation(delivery.endpoint, delivery.priority());
        }
        let mut returned = self.endpoints.take_queued(&is_wanted);
        returned.extend(ready);
        // In order, so that of each ordering key the first is not blocked.
        returned.sort_unstable_by_key(|delivery| delivery.message.id);
        for delivery in returned {
            self.give_back(delivery);
        }
    }

    /// A delivery with an ordering key is tried again later: so are those behind it.
    pub(super) fn store_followers(&mut self, delivery: &Delivery) {
        if let Some(link) = delivery.link() {
            let behind = self.chains.store(&link);
            self.give_back_reserved(behind);
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
            let (key, at) = self.place_of(Arc::clone(&link.key), link.endpoint);
            self.followers.want(key, at);
        }
    }

    pub(super) fn set_ordering_scope(&mut self, scope: Scope) {
        if self.chains.scope() == scope {
            return;
        }
        info!(?scope, "ordering scope changed");
        self.recorder.note_deferral();
        for delivery in self.chains.set_scope(scope) {
            self.enqueue(delivery);
        }
        self.followers.clear();
        self.want_all_stored(|_| true);
    }

    // What waits in the table for its turn ---------------------------------------------------------

    /// Heeds what notifications have said of keys.
    pub(super) fn heed_marks(&mut self, now: Instant) {
        if let Some(marks) = self.followers.take_marks(self.chains.len(), now) {
            self.want_all_stored(|stored| marks.contains(&mark(stored)));
        }
    }

    /// Fetches what comes next of ordering keys of which nothing is in hand any more.
    pub(super) fn fetch_followers(&mut self, now: Instant) {
        let (chains, endpoints) = (&self.chains, &self.endpoints);
        let room = |endpoint, priority| match endpoints.is_known(endpoint) {
            false => Room::Gone,
            true if endpoints.room_for_waiting(endpoint, priority) > 0 => Room::Some,
            true => Room::None,
        };
        let asking = |key: &str| match (chains.is_known(key), chains.version(key)) {
            (false, _) => Asking::Gone,
            (true, None) => Asking::NotNow,
            (true, Some(version)) => Asking::At(version),
        };
        if let Some(asked) = self.followers.begin(room, asking, now) {
            self.ask(Query::FetchFollowers(asked, self.chains.scope()));
        }
    }

    pub(super) fn take_followers(&mut self, asked: Vec<Asked>, rows: Vec<DueDelivery>) {
        let told = self.followers.end(&asked, self.now);
        let mut by_key: HashMap<(Arc<str>, EndpointId), Vec<DueDelivery>> = HashMap::default();
        let is_global = self.chains.scope() == Scope::Global;
        for row in rows {
            let Some(key) = row.terms.ordering_key.clone() else { continue };
            let asked_of =
                |(asked, at, _): &&Asked| *asked == key && (is_global || *at == row.endpoint);
            let Some((_, at, _)) = asked.iter().find(asked_of) else { continue };
            by_key.entry((key, *at)).or_default().push(row);
        }
        let mut claimed = Vec::new();
        for (key, endpoint, version) in asked {
            // Something was stored since: the answer may lack it. Or somebody has ended something.
            if self.chains.version(&key) != Some(version) || told.contains(&mark(&key)) {
                continue;
            }
            let rows = by_key.remove(&(Arc::clone(&key), endpoint)).unwrap_or_default();
            if rows.iter().any(|row| self.followers.is_returned((row.id, row.target))) {
                continue;
            }
            claimed.extend(self.take_followers_of(&key, endpoint, rows));
        }
        if claimed.is_empty() {
            self.followers.pause(IDLE_FETCH_PAUSE, self.now);
        }
        self.claim_due(claimed, Look::After);
    }

    /// Takes in hand what may go of one ordering key: from the front up to the first that has to wait
    /// for something else than its turn.
    fn take_followers_of(
        &mut self,
        key: &Arc<str>,
        endpoint: EndpointId,
        rows: Vec<DueDelivery>,
    ) -> Vec<Delivery> {
        let now = self.now;
        let timestamp = self.clock.timestamp(now);
        let is_all = rows.len() < LINKS_IN_HAND;
        let mut claimed: Vec<Delivery> = Vec::new();
        let mut ending: Vec<Delivery> = Vec::new();
        let mut stopped_at = None;
        let mut last = None;
        for row in rows {
            let place = (row.id, row.target);
            if self.followers.has_ended(place) {
                last = Some(row.id);
                continue;
            }
            let is_waiting = !row.is_blocked && row.run_at > timestamp;
            let shard = row.id.lane().shard();
            let epoch = self.lanes.epoch(shard).filter(|_| !self.hands.has(place));
            let (Some(epoch), false) = (epoch, is_waiting || row.recovery_count >= SUSPECT_AFTER)
            else {
                // It is fetched when it is due, or as a suspect.
                self.note_deferred(row.endpoint, row.run_at);
                stopped_at = Some(row.id);
                break;
            };
            let delivery = Delivery::due(row, epoch);
            last = Some(delivery.message.id);
            // One that is not known is new, and read soon, or gone, and its rows end: there is no room at it.
            let is_known = self.endpoints.is_known(delivery.endpoint);
            if is_known && delivery.is_expired(timestamp) {
                // It ends where it is, once nobody can cancel it any more.
                self.hold(&delivery);
                self.endpoints.reserve(delivery.endpoint, delivery.priority());
                ending.push(delivery);
                continue;
            }
            if is_known && delivery.scheduled_after(timestamp).is_some() {
                stopped_at = last;
                if claimed.is_empty() {
                    // It is its turn, and not yet its time, which its row has to say.
                    self.hold(&delivery);
                    self.endpoints.reserve(delivery.endpoint, delivery.priority());
                    claimed.push(delivery);
                }
                break;
            }
            if self.endpoints.room_for_waiting(delivery.endpoint, delivery.priority()) == 0 {
                if claimed.is_empty() {
                    if self.chains.scope() == Scope::Global {
                        let room = (delivery.endpoint, delivery.priority());
                        self.followers.park(key, endpoint, room);
                    }
                    return ending;
                }
                stopped_at = last;
                break;
            }
            self.hold(&delivery);
            self.endpoints.reserve(delivery.endpoint, delivery.priority());
            claimed.push(delivery);
        }
        let bound = match (stopped_at, last) {
            (Some(at), _) => Some(at),
            (None, Some(last)) if !is_all => Some(MessageId(last.0 + 1)),
            _ => None,
        };
        // What was asked for is all over by now: there may be more behind it.
        let wants_more = claimed.is_empty() && stopped_at.is_none() && bound.is_some();
        if !wants_more {
            self.followers.forget(key, endpoint);
        }
        for delivery in &claimed {
            if let Some(link) = delivery.link() {
                self.chains.fetch(&link, true);
            }
        }
        for delivery in self.chains.note_stored(key, endpoint, bound) {
            self.enqueue(delivery);
        }
        claimed.extend(ending);
        claimed
    }

    // Cancellations ----------------------------------------------------------------------------------

    pub(super) fn cancel_state(&self, delivery: &Delivery, cancels: &Cancels) -> CancelState {
        if cancels.committed.contains(&(delivery.message.id, delivery.target)) {
            CancelState::Cancelled
        } else if cancels.under_way.contains(&delivery.message.id) {
            CancelState::UnderWay
        } else {
            CancelState::None
        }
    }

    /// Claims again what could not be decided when it was claimed.
    pub(super) fn retry_postponed(&mut self, now: Instant) {
        let mut claimed = Vec::new();
        for delivery in self.hands.take_postponed(now) {
            claimed.extend(self.take_in_hand(delivery, now));
        }
        self.claim_due(claimed, Look::BeforeAndAfter);
    }
}

#[cfg(test)]
pub(in crate::engine) mod tests;
