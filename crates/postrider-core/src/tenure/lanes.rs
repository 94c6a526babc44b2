//! The lanes of the shards that this process owns, and what is read of them next.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use super::delivery::Delivery;
use crate::{
    gaps::Gaps,
    id::{Lane, Shard, Target},
    lease::Owned,
    ranks::SHARED_TURN,
    reader::{LaneReader, LaneState, Left, Page, Which, few_ranges},
    snapshot::{Snapshot, Xid},
    tick::WindowBounds,
};

/// The pause between two ticks that take in only a part of what a lane has skipped.
const MERGE_PAUSE: Duration = Duration::from_millis(100);
/// Room for so many lanes is made for each group of a tick: a shard has twelve.
const LANES_TOGETHER: usize = 48;

/// A lane as its owner reads it.
pub struct OwnedLane {
    pub reader: LaneReader,
    /// A query about it is under way; it takes part in no other.
    is_busy: bool,
    /// What the lag took and no endpoint had room for.
    pub held: VecDeque<Delivery>,
    /// When the lag last took something, or began.
    pub lag_moved_at: Instant,
    /// When a tick may next take in a part of what was skipped and leave the rest again.
    merge_at: Instant,
    /// The newest sequence number at its last tick: nothing below it is to be read any more.
    read_number: Option<i64>,
    /// The newest sequence number when the tail's window was opened.
    window_number: Option<i64>,
}

/// How much of what a lane has skipped could be taken in now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    None,
    ForSome,
    ForAll,
}

/// All owned lanes.
#[derive(Default)]
pub struct Lanes {
    lanes: BTreeMap<Lane, OwnedLane>,
    owned: BTreeMap<Shard, i64>,
    /// Shards that are being given up: nothing more is read of them.
    draining: Vec<Shard>,
    /// The lane of the last page, so that lanes of one priority take turns.
    turn: Option<Lane>,
    turn_count: u32,
    /// How many pages are under way.
    page_count: usize,
    /// Whether some reader may walk through a window, some lane have a lag, and some lag hold something. Mostly none
    /// does, and nobody has to look at each.
    may_walk: bool,
    may_lag: bool,
    may_hold: bool,
}

/// Lanes that are read by one query, because they stand at the same snapshot.
#[derive(Debug, Clone)]
pub struct TickGroup {
    pub base: Snapshot,
    pub lanes: Vec<Lane>,
    pub is_merging: bool,
}

impl OwnedLane {
    /// A tick has brought all of it up to this sequence number; whether that is news.
    pub fn end_tick(&mut self, last_number: i64) -> bool {
        self.is_busy = false;
        self.window_number = None;
        self.read_number.replace(last_number) != Some(last_number)
    }

    fn is_walking(&self) -> bool {
        self.reader.is_walking(Which::Tail) || self.reader.is_walking(Which::Lag)
    }

    /// From when on a tick can take in the rest of its lag, if that has come so far and there is room. One that
    /// will leave a part again reads all of it again next time, so it is not done at every tick.
    fn mergeable_at(&self, room: impl Fn(&OwnedLane) -> Room, now: Instant) -> Option<Instant> {
        let has_lag = self.reader.has_lag() && self.held.is_empty();
        if !has_lag || self.reader.is_walking(Which::Lag) {
            return None;
        }
        match room(self) {
            Room::None => None,
            Room::ForSome => Some(self.merge_at),
            Room::ForAll => Some(now),
        }
    }
}

impl Lanes {
    pub fn add(&mut self, owned: Owned, states: BTreeMap<Lane, LaneState>, now: Instant) {
        self.owned.insert(owned.shard, owned.epoch);
        (self.may_walk, self.may_lag) = (true, true);
        for (lane, state) in states {
            let lane_state = OwnedLane {
                reader: LaneReader::new(lane, state),
                is_busy: false,
                held: VecDeque::new(),
                lag_moved_at: now,
                merge_at: now,
                read_number: None,
                window_number: None,
            };
            self.lanes.insert(lane, lane_state);
        }
    }

    pub fn remove(&mut self, shards: &[Shard]) {
        self.lanes.retain(|lane, _| !shards.contains(&lane.shard()));
        self.owned.retain(|shard, _| !shards.contains(shard));
        self.draining.retain(|shard| !shards.contains(shard));
    }

    pub fn get_mut(&mut self, lane: Lane) -> Option<&mut OwnedLane> {
        self.lanes.get_mut(&lane)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut OwnedLane> {
        self.lanes.values_mut()
    }

    /// The epoch under which a shard is owned.
    pub fn epoch(&self, shard: Shard) -> Option<i64> {
        self.owned.get(&shard).copied()
    }

    pub fn iter_owned(&self) -> impl Iterator<Item = Owned> + Clone {
        self.owned.iter().map(|(shard, epoch)| Owned { shard: *shard, epoch: *epoch })
    }

    pub fn owned(&self) -> Vec<Owned> {
        self.iter_owned().collect()
    }

    /// Whether there is no shard.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    pub fn shards(&self) -> Vec<Shard> {
        self.owned.keys().copied().collect()
    }

    pub fn active_shards(&self) -> Vec<Shard> {
        self.owned.keys().filter(|shard| !self.draining.contains(shard)).copied().collect()
    }

    /// Whether there is a shard that is not being given up.
    pub fn has_active(&self) -> bool {
        self.owned.len() > self.draining.len()
    }

    pub fn drain(&mut self, shard: Shard) {
        if !self.draining.contains(&shard) {
            self.draining.push(shard);
        }
    }

    pub fn draining(&self) -> &[Shard] {
        &self.draining
    }

    /// Whether nothing of a shard is in hand.
    pub fn is_settled(&self, shard: Shard) -> bool {
        self.lanes
            .values()
            .filter(|lane| lane.reader.lane().shard() == shard)
            .all(|lane| !lane.is_busy && lane.reader.is_settled())
    }

    /// A window was opened that ends at this sequence number.
    pub fn note_window(&mut self, lane: Lane, last_number: i64) {
        if let Some(owned) = self.lanes.get_mut(&lane) {
            owned.window_number = Some(last_number);
        }
    }

    /// Up to which sequence number all of a shard was read, and how much of that is left to the lag;
    /// `None` while that is not known.
    pub fn progress(&self, shard: Shard) -> Option<(i64, u64)> {
        let lanes = self.lanes.values().filter(|owned| owned.reader.lane().shard() == shard);
        let progress = lanes.map(|owned| {
            // A window may begin far back, with a transaction that took its time.
            let walked = owned.reader.walked_up_to().map(|id| id.sequence_number());
            let number = owned.read_number.max(walked.or(owned.window_number));
            number.map(|number| (number, owned.reader.left()))
        });
        progress.reduce(|one, other| {
            let ((number, left), (other_number, other_left)) = (one?, other?);
            Some((number.min(other_number), left + other_left))
        })?
    }

    /// What is left to the lags.
    pub fn remaining(&self) -> impl Iterator<Item = (Target, Left)> + '_ {
        self.lanes.values().flat_map(|owned| owned.reader.remaining())
    }

    /// Where every lane stands, and the oldest transaction that may have left something unfinished.
    pub fn checkpoint(&self) -> (Vec<(Lane, LaneState)>, Xid) {
        let mut states: Vec<(Lane, LaneState)> =
            self.lanes.iter().map(|(lane, owned)| (*lane, owned.reader.state())).collect();
        // What is open anywhere is said of all: lanes in the same state are written down once, and each would
        // be in a state of its own.
        let open = states.iter().flat_map(|(_, state)| state.open.iter().flatten().copied());
        let open = few_ranges(open.collect());
        for (_, state) in &mut states {
            state.open = Some(open.clone());
        }
        let done_xmin = states.iter().map(|(_, state)| state.done_xmin()).min().unwrap_or(0);
        (states, done_xmin)
    }

    /// The lanes to read by the next tick, in groups. `room` says for a lane how much of what was
    /// skipped of it could be taken now.
    pub fn start_tick(
        &mut self,
        room: impl Fn(&OwnedLane) -> Room,
        now: Instant,
    ) -> Vec<TickGroup> {
        let mut groups: Vec<TickGroup> = Vec::new();
        let draining = self.draining.clone();
        self.may_lag = self.may_lag && self.lanes.values().any(|owned| owned.reader.has_lag());
        for (lane, owned) in &mut self.lanes {
            if owned.is_busy || draining.contains(&lane.shard()) {
                continue;
            }
            let is_merging = owned.mergeable_at(&room, now).is_some_and(|at| now >= at);
            if is_merging {
                owned.merge_at = now + MERGE_PAUSE;
            }
            let Some(base) = owned.reader.tick_base(is_merging) else { continue };
            let group = groups.iter_mut().find(|g| g.base == *base && g.is_merging == is_merging);
            match group {
                Some(group) => group.lanes.push(*lane),
                None => {
                    // Mostly all stand at the same place.
                    let mut lanes = Vec::with_capacity(LANES_TOGETHER);
                    lanes.push(*lane);
                    groups.push(TickGroup { base: base.clone(), lanes, is_merging });
                }
            }
            owned.is_busy = true;
        }
        groups
    }

    /// A tick found too much: the lanes walk through it instead.
    pub fn open_windows(&mut self, group: &TickGroup, top: &Snapshot, bounds: WindowBounds) {
        self.may_walk = true;
        for lane in &group.lanes {
            let Some(owned) = self.lanes.get_mut(lane) else { continue };
            match owned.reader.lag_gap().filter(|_| group.is_merging) {
                Some((_, tail)) => {
                    owned.reader.open_window(Which::Lag, tail, bounds.after, bounds.end);
                }
                None => {
                    owned.reader.open_window(Which::Tail, top.clone(), bounds.after, bounds.end);
                }
            }
        }
    }

    /// What a lane's lag took waits for room.
    pub fn hold(&mut self, lane: Lane, delivery: Delivery) {
        if let Some(owned) = self.lanes.get_mut(&lane) {
            owned.held.push_back(delivery);
            self.may_hold = true;
        }
    }

    /// Whether some lag may hold something.
    pub fn may_hold(&self) -> bool {
        self.may_hold
    }

    /// The lanes whose lags hold something.
    pub fn holding(&mut self) -> impl Iterator<Item = &mut OwnedLane> {
        let holds = |owned: &OwnedLane| !owned.held.is_empty();
        self.may_hold = self.may_hold && self.lanes.values().any(holds);
        let lanes = self.may_hold.then(|| self.lanes.values_mut());
        lanes.into_iter().flatten().filter(move |owned| holds(owned))
    }

    /// Something of a lane is about to be left to its lag.
    pub fn begin_lag(&mut self, lane: Lane, now: Instant) -> Option<&mut OwnedLane> {
        self.may_lag = true;
        let owned = self.lanes.get_mut(&lane)?;
        if !owned.reader.has_lag() {
            owned.lag_moved_at = now;
        }
        Some(owned)
    }

    pub fn free(&mut self, lane: Lane) {
        if let Some(owned) = self.lanes.get_mut(&lane) {
            owned.is_busy = false;
        }
    }

    /// The next page to read: the highest priority first, lanes of one priority in turn, a lane's
    /// tail before its lag; but every eighth page is that of the reader that is farthest behind, so
    /// that none stands still for ever. `wants_lag` says how many skipped messages of a lane could be taken now.
    pub fn start_page(
        &mut self,
        limit: usize,
        wants_lag: impl Fn(&OwnedLane) -> usize,
        gaps: &Gaps,
    ) -> Option<Page> {
        self.may_walk = self.may_walk && self.lanes.values().any(OwnedLane::is_walking);
        if !self.may_walk {
            return None;
        }
        let draining = &self.draining;
        let turn = self.turn;
        let is_shared = self.turn_count % SHARED_TURN == SHARED_TURN - 1;
        let order = |lane: Lane, reader: &LaneReader| {
            let is_later_this_round = turn.is_some_and(|last| lane <= last);
            let behind = if is_shared { reader.walked_up_to() } else { None };
            (behind.is_none() && is_shared, behind, -lane.rank(), is_later_this_round, lane)
        };
        let next = self
            .lanes
            .iter()
            .filter(|(lane, owned)| !owned.is_busy && !draining.contains(&lane.shard()))
            .filter_map(|(lane, owned)| {
                if owned.reader.is_walking(Which::Tail) {
                    return Some((*lane, Which::Tail, limit));
                }
                let most = if owned.reader.is_walking(Which::Lag) && owned.held.is_empty() {
                    wants_lag(owned).min(limit)
                } else {
                    0
                };
                (most > 0).then_some((*lane, Which::Lag, most))
            })
            .min_by_key(|(lane, ..)| order(*lane, &self.lanes[lane].reader));
        let (lane, which, limit) = next?;
        self.turn = Some(lane);
        self.turn_count = self.turn_count.wrapping_add(1);
        let owned = self.lanes.get_mut(&lane)?;
        owned.is_busy = true;
        let page = owned.reader.next_page(which, limit, gaps);
        self.page_count += usize::from(page.is_some());
        page
    }

    /// How many pages are under way.
    pub fn page_count(&self) -> usize {
        self.page_count
    }

    /// A page is over, whether its lane is still ours or not.
    pub fn end_page(&mut self, lane: Lane) {
        self.page_count -= 1;
        self.free(lane);
    }

    /// Whether some tail still walks through a window.
    pub fn is_walking(&self) -> bool {
        self.may_walk && self.lanes.values().any(|owned| owned.reader.is_walking(Which::Tail))
    }

    /// From when on a tick would bring back something that was skipped. None does of what is being given up.
    pub fn mergeable_at(&self, room: impl Fn(&OwnedLane) -> Room, now: Instant) -> Option<Instant> {
        if !self.may_lag {
            return None;
        }
        let is_read = |(lane, owned): &(&Lane, &OwnedLane)| {
            !owned.is_busy && !self.draining.contains(&lane.shard())
        };
        let lanes = self.lanes.iter().filter(is_read);
        lanes.filter_map(|(_, owned)| owned.mergeable_at(&room, now)).min()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        id::MessageId,
        reader::{Aged, Row},
    };

    use super::*;

    struct Line(MessageId);

    impl Row for Line {
        fn id(&self) -> MessageId {
            self.0
        }
        fn xid(&self) -> Xid {
            9
        }
        fn targets(&self) -> &[Target] {
            &[Target(1)]
        }
        fn expires(&self) -> bool {
            false
        }
    }

    impl Aged for Line {
        fn created_at(&self) -> i64 {
            0
        }
    }

    /// Else who sleeps would be woken again and again, for a tick that is never made.
    /// These shards, and the lane of them in which something was skipped.
    fn skipping<const N: usize>(shards: [Shard; N], now: Instant) -> (Lanes, Lane) {
        let mut lanes = Lanes::default();
        for shard in shards {
            let states = shard.lanes().map(|lane| (lane, LaneState::new())).collect();
            lanes.add(Owned { shard, epoch: 1 }, states, now);
        }
        let top: Snapshot = "10:10:".parse().unwrap();
        let owned = lanes.iter_mut().next().unwrap();
        let lane = owned.reader.lane();
        let line = Line(MessageId((1 << 10) | i64::from(lane.0)));
        let taken = owned.reader.take_tick(false, &top, vec![line]).unwrap();
        assert!(owned.reader.skip(Target(1), &taken.base, &taken.top, taken.rows[0].id(), 0));
        (lanes, lane)
    }

    #[test]
    fn what_was_skipped_of_a_shard_that_is_being_given_up_is_not_brought_back() {
        let now = Instant::now();
        let (mut lanes, lane) = skipping([0, 1].map(Shard), now);

        let room = |_: &OwnedLane| Room::ForAll;
        assert_eq!(lanes.mergeable_at(room, now), Some(now));
        lanes.drain(lane.shard());
        assert_eq!(lanes.mergeable_at(room, now), None);
        let groups = lanes.start_tick(room, now);
        assert!(groups.iter().all(|group| !group.is_merging && !group.lanes.contains(&lane)));
    }

    #[test]
    fn what_was_skipped_and_can_be_taken_in_part_is_not_brought_back_at_every_tick() {
        let now = Instant::now();
        let (mut lanes, lane) = skipping([Shard(0)], now);

        let some = |_: &OwnedLane| Room::ForSome;
        assert_eq!(lanes.mergeable_at(some, now), Some(now));
        assert!(lanes.start_tick(some, now).iter().any(|group| group.is_merging));
        assert_eq!(lanes.mergeable_at(some, now), None, "a tick is under way");
        lanes.free(lane);
        assert_eq!(lanes.mergeable_at(some, now), Some(now + MERGE_PAUSE));
        assert_eq!(lanes.mergeable_at(|_| Room::None, now), None);
    }

    /// However many lanes have something in hand, each of it elsewhere: a checkpoint writes a state down once.
    #[test]
    fn lanes_that_stand_at_the_same_place_are_in_the_same_state() {
        let mut lanes = Lanes::default();
        for shard in (0..8).map(Shard) {
            let states = shard.lanes().map(|lane| (lane, LaneState::new())).collect();
            lanes.add(Owned { shard, epoch: 1 }, states, Instant::now());
        }
        let top: Snapshot = "10:10:".parse().unwrap();
        for (number, owned) in lanes.iter_mut().enumerate() {
            let lane = i64::from(owned.reader.lane().0);
            let line = Line(MessageId(((number as i64 * 1_000) << 10) | lane));
            // Every other one has nothing.
            let rows = if number % 2 == 0 { vec![line] } else { Vec::new() };
            owned.reader.take_tick(false, &top, rows).unwrap();
        }
        let (states, _) = lanes.checkpoint();
        let mut different: Vec<&LaneState> = Vec::new();
        for (_, state) in &states {
            if !different.contains(&state) {
                different.push(state);
            }
        }
        assert_eq!((states.len(), different.len()), (96, 2), "{different:?}");
        for (lane, _) in states.iter().step_by(2) {
            let open = states[0].1.open.as_ref().unwrap();
            let id = lanes.get_mut(*lane).unwrap().reader.state().open.unwrap()[0].0;
            assert!(open.iter().any(|(first, last)| (*first..=*last).contains(&id)), "{id}");
        }
    }
}
