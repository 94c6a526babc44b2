//! What is pending of each target, and since when: for people who watch, not for decisions. What is
//! scheduled for later counts from then on: a moment in the future says that nothing is late.
//!
//! Kept while deliveries come and go, so that nobody has to count them. What was read from the log and
//! is in hand is known to the second. What waits in the table is counted now and then; between two
//! counts its number follows what is recorded, and its oldest may be one that has gone.

use std::collections::BTreeMap;

use super::endpoints::Endpoints;
use crate::{
    hashing::{HashMap, HashSet},
    id::{EndpointId, Shard, Target},
    reader::Left,
    statistics::PendingAt,
    timestamp::Timestamp,
    waiting::WaitingCount,
};

/// So many endpoints are spoken of at most: those with the most.
const ENDPOINTS_MOST: usize = 1_000;
/// The table is looked at for the oldest of endpoints with so few waiting deliveries.
const SMALL: i64 = 10_000;

const SECOND_US: i64 = 1_000_000;

/// Deliveries by the second since which they are pending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ages(BTreeMap<i64, Second>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Second {
    count: i64,
    oldest: Timestamp,
}

/// How what waits in the table has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub count: i64,
    oldest_came: Timestamp,
    oldest_left: Timestamp,
}

/// What waits of one target in one shard, by the last count and what was recorded since.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    count: i64,
    oldest: Timestamp,
    /// The oldest may have gone.
    is_doubtful: bool,
}

#[derive(Debug, Default)]
pub struct Pending {
    in_hand: HashMap<(Shard, Target), Ages>,
    waiting: HashMap<(Shard, Target), Waiting>,
}

impl Ages {
    pub fn add(&mut self, since: Timestamp) {
        let fresh = Second { count: 0, oldest: since };
        let second = self.0.entry(since.0.div_euclid(SECOND_US)).or_insert(fresh);
        second.count += 1;
        second.oldest = second.oldest.min(since);
    }

    pub fn count(&self) -> i64 {
        self.0.values().map(|second| second.count).sum()
    }

    pub fn oldest(&self) -> Option<Timestamp> {
        self.0.values().next().map(|second| second.oldest)
    }

    fn subtract(&mut self, gone: &Ages) {
        for (second, gone) in &gone.0 {
            let Some(known) = self.0.get_mut(second) else { continue };
            known.count -= gone.count;
            if known.count <= 0 {
                self.0.remove(second);
            }
        }
    }
}

impl Default for Change {
    fn default() -> Change {
        let never = Timestamp(i64::MAX);
        Change { count: 0, oldest_came: never, oldest_left: never }
    }
}

impl Change {
    pub fn came(&mut self, since: Timestamp) {
        self.count += 1;
        self.oldest_came = self.oldest_came.min(since);
    }

    /// Not by what it was pending since: one that was counted when it was due counts from its sending on.
    pub fn left(&mut self, created_at: Timestamp) {
        self.count -= 1;
        self.oldest_left = self.oldest_left.min(created_at);
    }
}

impl Pending {
    pub fn take_in_hand(&mut self, shard: Shard, target: Target, since: Timestamp) {
        self.in_hand.entry((shard, target)).or_default().add(since);
    }

    pub fn put_down(&mut self, place: (Shard, Target), gone: &Ages) {
        if let Some(ages) = self.in_hand.get_mut(&place) {
            ages.subtract(gone);
            if ages.0.is_empty() {
                self.in_hand.remove(&place);
            }
        }
    }

    pub fn note_change(&mut self, place: (Shard, Target), change: &Change) {
        let fresh = Waiting { count: 0, oldest: change.oldest_came, is_doubtful: false };
        let waiting = self.waiting.entry(place).or_insert(fresh);
        waiting.count += change.count;
        waiting.is_doubtful |= change.oldest_left <= waiting.oldest;
        waiting.oldest = waiting.oldest.min(change.oldest_came);
        if waiting.count <= 0 {
            self.waiting.remove(&place);
        }
    }

    /// What was counted in these shards: all of it, or of these endpoints.
    pub fn note_counts(
        &mut self,
        shards: &[Shard],
        endpoints: Option<&[EndpointId]>,
        known: &Endpoints,
        counts: &[WaitingCount],
    ) {
        let endpoints: Option<HashSet<EndpointId>> =
            endpoints.map(|endpoints| endpoints.iter().copied().collect());
        self.waiting.retain(|(shard, target), _| {
            let is_of = |endpoints: &HashSet<EndpointId>| {
                known.by_target(*target).is_some_and(|id| endpoints.contains(&id))
            };
            !(shards.contains(shard) && endpoints.as_ref().is_none_or(is_of))
        });
        for WaitingCount { shard, target, count, oldest } in counts {
            let waiting = Waiting { count: *count, oldest: *oldest, is_doubtful: false };
            self.waiting.insert((*shard, *target), waiting);
        }
    }

    /// Endpoints whose oldest waiting delivery has to be looked for, and has soon been found.
    pub fn doubtful(&self, known: &Endpoints) -> Vec<EndpointId> {
        let mut counts: HashMap<EndpointId, (i64, bool)> = HashMap::default();
        for ((_, target), waiting) in &self.waiting {
            let Some(id) = known.by_target(*target) else { continue };
            let (count, is_doubtful) = counts.entry(id).or_default();
            *count += waiting.count;
            *is_doubtful |= waiting.is_doubtful;
        }
        let mut total = 0;
        let mut doubtful: Vec<(EndpointId, i64)> = counts
            .into_iter()
            .filter(|(_, (_, is_doubtful))| *is_doubtful)
            .map(|(id, (count, _))| (id, count))
            .collect();
        doubtful.sort_unstable_by_key(|(id, count)| (*count, *id));
        let is_small = |(_, count): &(EndpointId, i64)| {
            total += count;
            total <= SMALL
        };
        doubtful.into_iter().take_while(is_small).map(|(id, _)| id).collect()
    }

    pub fn forget(&mut self, shards: &[Shard]) {
        self.in_hand.retain(|(shard, _), _| !shards.contains(shard));
        self.waiting.retain(|(shard, _), _| !shards.contains(shard));
    }

    /// What is pending at each endpoint, of those with a limit and those with the most, and at how many there is
    /// anything.
    /// `left`: what the lags have before them.
    pub fn figures(
        &self,
        known: &Endpoints,
        left: impl Iterator<Item = (Target, Left)>,
    ) -> (Vec<PendingAt>, usize) {
        let mut figures: HashMap<EndpointId, PendingAt> = HashMap::default();
        let mut add = |target: Target, count: i64, oldest: Timestamp, is_left: bool| {
            let Some(endpoint) = known.by_target(target).filter(|_| count > 0) else { return };
            let fresh = PendingAt { endpoint, count: 0, oldest, left_since: None };
            let at = figures.entry(endpoint).or_insert(fresh);
            at.count += count;
            at.oldest = at.oldest.min(oldest);
            if is_left {
                at.left_since = Some(at.left_since.map_or(oldest, |since| since.min(oldest)));
            }
        };
        for ((_, target), ages) in &self.in_hand {
            add(*target, ages.count(), ages.oldest().unwrap_or(Timestamp(i64::MAX)), false);
        }
        for ((_, target), waiting) in &self.waiting {
            add(*target, waiting.count, waiting.oldest, false);
        }
        for (target, left) in left {
            add(target, left.count as i64, Timestamp(left.oldest), true);
        }
        let endpoint_count = figures.len();
        let mut figures: Vec<PendingAt> = figures.into_values().collect();
        // Senders are refused by what is said of endpoints with a limit of their own.
        figures.sort_unstable_by_key(|at| (!known.is_limited(at.endpoint), -at.count, at.endpoint));
        figures.truncate(ENDPOINTS_MOST);
        (figures, endpoint_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: (Shard, Target) = (Shard(3), Target(7));

    fn seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds * SECOND_US)
    }

    #[test]
    fn the_oldest_in_hand_is_known_when_the_oldest_is_put_down() {
        let mut pending = Pending::default();
        for second in [5, 2, 2, 9] {
            pending.take_in_hand(AT.0, AT.1, seconds(second));
        }
        let mut gone = Ages::default();
        gone.add(seconds(2));
        pending.put_down(AT, &gone);
        assert_eq!(pending.in_hand[&AT].oldest(), Some(seconds(2)));
        pending.put_down(AT, &gone);
        assert_eq!(pending.in_hand[&AT].oldest(), Some(seconds(5)));
        assert_eq!(pending.in_hand[&AT].count(), 2);
        gone.add(seconds(5));
        gone.add(seconds(9));
        pending.put_down(AT, &gone);
        assert!(pending.in_hand.is_empty());
    }

    #[test]
    fn what_waits_follows_what_is_recorded_and_doubts_its_oldest_when_that_goes() {
        let mut pending = Pending::default();
        let mut change = Change::default();
        for second in [4, 6, 8] {
            change.came(seconds(second));
        }
        pending.note_change(AT, &change);
        let waiting = pending.waiting[&AT];
        assert_eq!((waiting.count, waiting.oldest, waiting.is_doubtful), (3, seconds(4), false));
        let mut change = Change::default();
        change.left(seconds(6));
        pending.note_change(AT, &change);
        assert!(!pending.waiting[&AT].is_doubtful);
        let mut change = Change::default();
        change.left(seconds(4));
        pending.note_change(AT, &change);
        assert!(pending.waiting[&AT].is_doubtful);
        let mut change = Change::default();
        change.left(seconds(8));
        pending.note_change(AT, &change);
        assert!(pending.waiting.is_empty());
    }
}
