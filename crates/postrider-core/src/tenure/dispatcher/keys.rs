//! Ordering keys, and every other reason for which a delivery that is claimed does not go yet.

use super::*;
use crate::{
    chains::Scope,
    mark::mark,
    wanted::{Asked, Asking},
};

/// Whether a delivery that was claimed may be attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelState {
    None,
    /// It was cancelled, which is on record.
    Cancelled,
    /// Somebody is about to cancel it and has not committed yet.
    UnderWay,
}

/// A waiting delivery of an ordering key, when it is its turn.
enum Follower {
    /// Its end is on record by now.
    Over,
    /// It is of this endpoint and fetched when it is due, or as a suspect.
    Later(EndpointId, Timestamp),
    Expired(Delivery),
    /// It is scheduled for later.
    Early(Delivery),
    /// It goes when there is room.
    Crowded((EndpointId, Priority)),
    Going(Delivery),
}

impl Dispatcher {
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
    ) -> Vec<Seated> {
        let is_all = rows.len() < LINKS_IN_HAND;
        let mut claimed: Vec<Seated> = Vec::new();
        let mut ending: Vec<Seated> = Vec::new();
        let mut stopped_at = None;
        let mut last = None;
        for row in rows {
            let id = row.id;
            match self.follower(row) {
                Follower::Over => {}
                Follower::Later(of, run_at) => {
                    self.note_deferred(of, run_at);
                    stopped_at = Some(id);
                }
                Follower::Expired(delivery) => {
                    // It ends where it is, once nobody can cancel it any more. What is behind it goes when that is on
                    // record: by what waits, a recovery tells what was not attempted.
                    ending.push(self.hold_seated(delivery));
                }
                Follower::Early(delivery) => {
                    stopped_at = Some(id);
                    if claimed.is_empty() {
                        // It is its turn, and not yet its time, which its row has to say.
                        claimed.push(self.hold_seated(delivery));
                    }
                }
                Follower::Crowded(room) if claimed.is_empty() => {
                    if self.chains.scope() == Scope::Global {
                        self.followers.park(key, endpoint, room);
                    }
                    return ending;
                }
                Follower::Crowded(_) => stopped_at = Some(id),
                Follower::Going(delivery) => {
                    claimed.push(self.hold_seated(delivery));
                }
            }
            if stopped_at.is_some() {
                break;
            }
            last = Some(id);
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
        claimed.extend(ending);
        self.note_fetched(key, endpoint, &claimed, bound);
        claimed
    }

    /// What may become of a waiting delivery when it is its turn.
    fn follower(&self, row: DueDelivery) -> Follower {
        let timestamp = self.clock.timestamp(self.now);
        let place = (row.id, row.target);
        if self.followers.has_ended(place) {
            return Follower::Over;
        }
        let is_waiting = !row.is_blocked && row.run_at > timestamp;
        let epoch = self.lanes.epoch(row.id.lane().shard()).filter(|_| !self.hands.has(place));
        let (Some(epoch), false) = (epoch, is_waiting || row.recovery_count >= SUSPECT_AFTER)
        else {
            return Follower::Later(row.endpoint, row.run_at);
        };
        let delivery = Delivery::due(row, epoch);
        // One that is not known is new, and read soon, or gone, and its rows end: there is no room at it.
        let is_known = self.endpoints.is_known(delivery.endpoint);
        if is_known && delivery.is_expired(timestamp) {
            Follower::Expired(delivery)
        } else if is_known && delivery.scheduled_after(timestamp).is_some() {
            Follower::Early(delivery)
        } else if self.endpoints.room_for_waiting(delivery.endpoint, delivery.priority()) == 0 {
            Follower::Crowded((delivery.endpoint, delivery.priority()))
        } else {
            Follower::Going(delivery)
        }
    }

    /// These of a key are in hand, and of what else the table has of it none is before `bound`.
    fn note_fetched(
        &mut self,
        key: &Arc<str>,
        endpoint: EndpointId,
        claimed: &[Seated],
        bound: Option<MessageId>,
    ) {
        for seated in claimed {
            if let Some(link) = seated.link() {
                self.chains.fetch(&link, true);
            }
        }
        for delivery in self.chains.note_stored(key, endpoint, bound) {
            self.enqueue(delivery);
        }
    }

    // Cancellations ----------------------------------------------------------------------------------

    pub(super) fn cancel_state(&self, delivery: &Delivery, cancels: &Cancels) -> CancelState {
        if cancels.committed.contains(&delivery.place()) {
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
            claimed.extend(self.take_in_hand(delivery));
        }
        self.claim_due(claimed, Look::BeforeAndAfter);
    }
}

#[cfg(test)]
mod tests;
