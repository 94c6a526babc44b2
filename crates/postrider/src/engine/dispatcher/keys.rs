//! Ordering keys, and every other reason for which a delivery that is claimed does not go yet.

use std::cell::Cell;

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
            self.keys_to_fetch.insert(key, at);
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
            self.keys_to_fetch.insert(key, at);
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
        self.keys_to_fetch.clear();
        self.want_all_stored(|_| true);
    }

    // What waits in the table for its turn ---------------------------------------------------------

    /// Something of the keys with this mark was ended or put back by somebody else.
    pub(super) fn note_mark(&mut self, mark: u32) {
        self.marks.insert(mark);
        if self.follow.is_under_way() {
            self.told_marks.insert(mark);
        }
    }

    /// Heeds what was noted. Anybody may notify, as often as they like: all keys are looked through for it, and not all the
    /// time.
    pub(super) fn heed_marks(&mut self, now: Instant) {
        if self.marks.is_empty() || (now < self.marks_at && self.marks.len() < MOST_MARKS) {
            return;
        }
        let marks = std::mem::take(&mut self.marks);
        self.marks_at = now + PAUSE_PER_KEY * u32::try_from(self.chains.len()).unwrap_or(u32::MAX);
        self.want_all_stored(|stored| marks.contains(&mark(stored)));
    }

    /// Fetches what comes next of ordering keys of which nothing is in hand any more.
    pub(super) fn fetch_followers(&mut self, now: Instant) {
        if self.keys_to_fetch.is_empty() || !self.follow.is_due(now) {
            return;
        }
        let (chains, endpoints) = (&self.chains, &self.endpoints);
        let (is_time_for_gone, is_gone_looked_at) = (now >= self.gone_at, Cell::new(false));
        let (asked, is_any_busy) = self.keys_to_fetch.next(
            KEYS_AT_ONCE,
            |endpoint, priority| match endpoints.is_known(endpoint) {
                true => endpoints.room_for_waiting(endpoint, priority) > 0,
                // What waited at one that is gone ends, which may take a while, and then the next may go.
                false => {
                    is_gone_looked_at.set(is_time_for_gone);
                    is_time_for_gone
                }
            },
            |key| match (chains.is_known(key), chains.version(key)) {
                (false, _) => Asking::Gone,
                (true, None) => Asking::NotNow,
                (true, Some(version)) => Asking::At(version),
            },
        );
        if is_gone_looked_at.get() {
            self.gone_at = now + GONE_PAUSE;
        }
        if asked.is_empty() {
            // What they wait for may come any time.
            self.follow.set_due(now + if is_any_busy { RECORD_PAUSE } else { NO_ROOM_PAUSE });
            return;
        }
        self.follow.begin(now);
        self.ended_followers.clear();
        self.returned_followers.clear();
        self.ask(Query::FetchFollowers(asked, self.chains.scope()));
    }

    pub(super) fn take_followers(&mut self, asked: Vec<Asked>, rows: Vec<DueDelivery>) {
        self.follow.end(self.now);
        let told = self.take_told_marks(&asked);
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
            // What was put down since and waits on is before the rest, and may be due at another time by now.
            let is_returned = |row: &DueDelivery| {
                let place = (row.id, row.target);
                self.returned_followers.contains(&place) && !self.ended_followers.contains(&place)
            };
            if rows.iter().any(is_returned) {
                continue;
            }
            claimed.extend(self.take_followers_of(&key, endpoint, rows));
        }
        if claimed.is_empty() {
            self.follow.set_due(self.now + IDLE_FETCH_PAUSE);
        }
        self.claim_due(claimed, Look::After);
    }

    /// The marks of keys that somebody rang while they were fetched: these are fetched again. Anybody may ring, at any rate, so
    /// only a few answers in a row are given up for it; then they are taken, and the keys asked for once more.
    fn take_told_marks(&mut self, asked: &[Asked]) -> HashSet<u32> {
        let mut told = std::mem::take(&mut self.told_marks);
        let asked: HashSet<u32> = asked.iter().map(|(key, ..)| mark(key)).collect();
        told.retain(|told| asked.contains(told));
        if told.is_empty() {
            self.heeded_in_a_row = 0;
        } else if self.heeded_in_a_row < HEEDED_IN_A_ROW {
            self.heeded_in_a_row += 1;
        } else {
            self.heeded_in_a_row = 0;
            self.marks.extend(told.drain());
        }
        told
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
            if self.ended_followers.contains(&place) {
                last = Some(row.id);
                continue;
            }
            let is_waiting = !row.is_blocked && row.run_at > timestamp;
            let shard = row.id.lane().shard();
            let epoch = self.lanes.epoch(shard).filter(|_| !self.in_hand.contains_key(&place));
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
                        self.keys_to_fetch.park(key, endpoint, room);
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
            self.keys_to_fetch.remove(key, endpoint);
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
        if self.postponed.first().is_none_or(|(at, _)| *at > now) {
            return;
        }
        let later = self.postponed.partition_point(|(at, _)| *at <= now);
        let due: Vec<(Instant, Delivery)> = self.postponed.drain(..later).collect();
        let mut claimed = Vec::new();
        for (_, delivery) in due {
            let place = (delivery.message.id, delivery.target);
            if delivery.recovery_count >= SUSPECT_AFTER && self.suspect != Some(place) {
                self.suspects.push(delivery);
            } else {
                claimed.extend(self.take_in_hand(delivery, now));
            }
        }
        self.claim_due(claimed, Look::BeforeAndAfter);
    }
}

#[cfg(test)]
pub(in crate::engine) mod tests;
