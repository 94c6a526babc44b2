//! What is pending, in one account: for senders, who are refused when it is too much, and for people who watch.
//!
//! It follows what is taken and what is recorded. Others write to the table of waiting deliveries, too, so what waits
//! there is counted now and then.

use std::time::{Duration, Instant};

use super::{
    chore::Chore,
    command::Counting,
    endpoints::Endpoints,
    flush::Gathered,
    pending::{Change, Pending},
};
use crate::{
    hashing::HashMap,
    id::{EndpointId, Shard, Target},
    reader::Left,
    statistics::PendingAt,
    timestamp::Timestamp,
    waiting::WaitingCount,
};

/// Waiting deliveries are counted so often, and again after a while when the last count met with
/// changes. Counting may take a twentieth of the time.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);
const COUNT_PAUSE: Duration = Duration::from_secs(5);
const COUNT_PART: u32 = 20;
/// Who has changed what waits tells us when that is committed, and seldom once only.
const DEFERRED_COUNT_DELAY: Duration = Duration::from_millis(200);

/// How many deliveries of a shard are not finished.
#[derive(Debug, Clone, Copy, Default)]
struct Backlog {
    /// Read from the log and in hand.
    in_hand: i64,
    /// In the table of waiting deliveries.
    waiting: i64,
    /// The measure that senders go by, as a former owner has left it: until ours is known.
    inherited: i64,
}

#[derive(Debug)]
pub struct Account {
    backlogs: HashMap<Shard, Backlog>,
    pending: Pending,
    /// Flushes that changed what waits and are under way or over.
    changes: u64,
    /// The one that is under way does.
    is_changing: bool,
    count: Chore,
    /// When a count was last believed.
    counted_at: Instant,
}

impl Account {
    pub fn new(now: Instant) -> Account {
        Account {
            backlogs: HashMap::default(),
            pending: Pending::default(),
            changes: 0,
            is_changing: false,
            count: Chore::due(now + COUNT_INTERVAL),
            counted_at: now,
        }
    }

    /// A shard is ours from now on; `inherited` is what its former owner has told senders.
    pub fn open(&mut self, shard: Shard, inherited: i64) {
        self.backlogs.insert(shard, Backlog { inherited, ..Backlog::default() });
    }

    /// Shards are not ours any more.
    pub fn close(&mut self, shards: &[Shard]) {
        self.backlogs.retain(|shard, _| !shards.contains(shard));
        self.pending.forget(shards);
    }

    /// A delivery was read from the log.
    pub fn take_in_hand(&mut self, shard: Shard, target: Target, since: Timestamp) {
        self.backlogs.entry(shard).or_default().in_hand += 1;
        self.pending.take_in_hand(shard, target, since);
    }

    /// These results are about to be recorded.
    pub fn begin_flush(&mut self, recorded: &Gathered) {
        self.is_changing = recorded.changes_waiting();
        self.changes += u64::from(self.is_changing);
    }

    pub fn end_flush(&mut self) {
        self.is_changing = false;
    }

    /// These are recorded, and so what waits has changed.
    pub fn note_recorded(
        &mut self,
        recorded: &Gathered,
        changes: &HashMap<(Shard, Target), Change>,
    ) {
        // A shard may have been lost meanwhile: what is pending of it is somebody else's to count.
        for (place, ages) in &recorded.closed {
            let Some(known) = self.backlogs.get_mut(&place.0) else { continue };
            known.in_hand -= ages.count();
            self.pending.put_down(*place, ages);
        }
        for (place, change) in changes {
            let Some(known) = self.backlogs.get_mut(&place.0) else { continue };
            known.waiting += change.count;
            self.pending.note_change(*place, change);
        }
    }

    /// What is pending of a shard, besides what its lags have before them.
    pub fn pending_of(&self, shard: Shard) -> i64 {
        self.backlogs.get(&shard).map_or(0, |known| known.in_hand + known.waiting)
    }

    /// What its former owner has told senders of a shard.
    pub fn inherited_of(&self, shard: Shard) -> i64 {
        self.backlogs.get(&shard).map_or(0, |known| known.inherited)
    }

    /// The same of all shards.
    pub fn pending(&self) -> i64 {
        self.backlogs.values().map(|known| known.in_hand + known.waiting).sum()
    }

    /// See [`Pending::figures`].
    pub fn figures(
        &self,
        known: &Endpoints,
        left: impl Iterator<Item = (Target, Left)>,
    ) -> (Vec<PendingAt>, usize) {
        self.pending.figures(known, left)
    }

    // Counting --------------------------------------------------------------------------------------

    pub fn count_at(&self) -> Option<Instant> {
        self.count.wake_at()
    }

    /// Somebody else has changed what waits.
    pub fn count_soon(&mut self, now: Instant) {
        self.count.hurry(now + DEFERRED_COUNT_DELAY);
    }

    /// Whether it is time to count all that waits.
    pub fn take_turn(&mut self, now: Instant) -> bool {
        self.count.take_turn(now, now + COUNT_INTERVAL)
    }

    /// Endpoints whose oldest has gone, unless a count is under way.
    pub fn doubtful(&self, known: &Endpoints) -> Vec<EndpointId> {
        if self.count.is_under_way() { Vec::new() } else { self.pending.doubtful(known) }
    }

    pub fn begin_count(
        &mut self,
        shards: Vec<Shard>,
        endpoints: Option<Vec<EndpointId>>,
        now: Instant,
    ) -> Counting {
        self.count.start();
        let (changes, is_changing) = (self.changes, self.is_changing);
        Counting { began_at: now, shards, endpoints, changes, is_changing }
    }

    /// A count has failed, and is tried again.
    pub fn abandon_count(&mut self, now: Instant) {
        self.count.end(now);
        self.count.hurry(now + COUNT_PAUSE);
    }

    /// What was counted of shards that are ours. Returns whether all that waits is known anew: senders go by it.
    pub fn take_count(
        &mut self,
        counting: &Counting,
        counts: &[WaitingCount],
        known: &Endpoints,
        now: Instant,
    ) -> bool {
        self.count.end(now);
        let was_disturbed = counting.is_changing || counting.changes != self.changes;
        let endpoints = counting.endpoints.as_deref();
        if was_disturbed && endpoints.is_none() {
            let pause =
                COUNT_PAUSE.max(now.saturating_duration_since(counting.began_at) * COUNT_PART);
            self.count.hurry(now + pause);
        }
        // What was recorded meanwhile is in the count or not. It is believed all the same when no better
        // one was to be had for long.
        let is_overdue = endpoints.is_none() && now >= self.counted_at + COUNT_INTERVAL;
        if was_disturbed && !is_overdue {
            return false;
        }
        if endpoints.is_none() {
            self.counted_at = now;
            self.note_counts(&counting.shards, counts, known);
        } else {
            self.pending.note_counts(&counting.shards, endpoints, known, counts);
        }
        endpoints.is_none()
    }

    /// All that waits of these shards.
    pub fn note_counts(&mut self, shards: &[Shard], counts: &[WaitingCount], known: &Endpoints) {
        self.pending.note_counts(shards, None, known, counts);
        for shard in shards {
            let of_shard = counts.iter().filter(|count| count.shard == *shard);
            let waiting = of_shard.map(|count| count.count).sum();
            self.backlogs.entry(*shard).or_default().waiting = waiting;
        }
    }
}

#[cfg(test)]
mod tests;
