//! How one lane of the log is read: every committed message exactly once, nobody held up.
//!
//! A lane has two readers. The *tail* takes what has been committed since its last tick, and never
//! waits: a message whose endpoint has no room is left where it is, and its target is noted as
//! *skipped* from that position on. The *lag* follows behind and takes only what was skipped, as fast
//! as the endpoints concerned have room; when it has caught up with the tail it is gone. So a flooded
//! endpoint costs a second walk over the log instead of a write per message.
//!
//! The lane also knows up to where everything is finished. All of it together is the lane's
//! checkpoint: whoever takes the lane over goes on from there.
//!
//! Pure: the caller runs the queries that [`LaneReader`] asks for and brings the rows.

use std::collections::{BTreeMap, btree_map::Entry};

use serde::{Deserialize, Serialize};

use crate::{
    gaps::Gaps,
    id::{Lane, MessageId, Target},
    position::{Position, Window},
    snapshot::{Snapshot, Xid},
};

/// How many targets of one lane may be skipped at a time.
pub const SKIPPED_LIMIT: usize = 32;

/// In how many ranges of ids a checkpoint says at most what is not finished.
pub const OPEN_RANGES_LIMIT: usize = 8;

/// A page walks over at least so many sequence numbers, and at most over [`WIDEST_SPAN`].
const NARROWEST_SPAN: i64 = 1 << 15;
const WIDEST_SPAN: i64 = 1 << 20;

/// What the reader has to know of a row of the log.
pub trait Row {
    fn id(&self) -> MessageId;
    fn xid(&self) -> Xid;
    fn targets(&self) -> &[Target];
    /// Whether the message expires some time.
    fn expires(&self) -> bool;

    /// The target of a message that has just one. Only such messages are skipped.
    fn only_target(&self) -> Option<Target> {
        match self.targets() {
            [target] => Some(*target),
            _ => None,
        }
    }
}

/// A row that says when it was sent, which is what the age of a backlog goes by.
pub trait Aged: Row {
    /// In microseconds since 2000-01-01 UTC.
    fn created_at(&self) -> i64;

    /// Since when it is pending: later than it was sent where it is scheduled for later.
    fn pending_since(&self) -> i64 {
        self.created_at()
    }
}

/// The state of a lane that survives its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneState {
    /// Everything before it was taken, or left for the lag.
    pub tail: Position,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lag: Option<Lag>,
    /// What lies before *all* of these positions is finished.
    pub done: Vec<Position>,
    /// What was taken and has an id in none of these ranges is finished, wherever it lies: for who looks
    /// from outside, and would ask for each message behind one that hangs. `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open: Option<Vec<(i64, i64)>>,
}

/// The reader of what was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// Everything skipped before it was taken.
    pub position: Position,
    /// From where on each target is left to the lag.
    pub skipped: BTreeMap<Target, Position>,
    /// What of each target is left to it.
    #[serde(default)]
    pub remaining: BTreeMap<Target, Left>,
    /// Nothing that expires is skipped: nobody would see that its time is over. Lags of older versions
    /// have such messages, too.
    #[serde(default)]
    pub spares_expiring: bool,
    /// No message is left to it that has a higher id. `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last: Option<i64>,
}

/// How much of something is left, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub count: u64,
    /// Since when the oldest of it is pending, in microseconds since 2000-01-01 UTC. Once some of it was
    /// taken: when the newest of that was sent, because what follows is not known before it is read.
    pub oldest: i64,
}

impl Lag {
    /// What was left has no higher id than `id`.
    fn reach(&mut self, id: i64) {
        self.last = self.last.map(|last| last.max(id));
    }

    fn add(&mut self, target: Target, added: Left) {
        if added.count == 0 {
            return;
        }
        let left = self.remaining.entry(target).or_insert(Left { count: 0, ..added });
        left.count += added.count;
        left.oldest = left.oldest.min(added.oldest);
    }

    fn take(&mut self, target: Target, created_at: i64) {
        let Some(left) = self.remaining.get_mut(&target) else { return };
        left.count = left.count.saturating_sub(1);
        left.oldest = left.oldest.max(created_at);
        if left.count == 0 {
            self.remaining.remove(&target);
        }
    }
}

impl LaneState {
    /// A lane that nobody has read yet.
    pub fn new() -> LaneState {
        LaneState {
            tail: Position::start(),
            lag: None,
            done: vec![Position::start()],
            open: Some(Vec::new()),
        }
    }

    /// Whether a committed message may have been attempted by an owner that left this state.
    pub fn is_taken(&self, row: &impl Row) -> bool {
        match (&self.lag, self.is_skipped(row)) {
            (Some(lag), true) => lag.position.is_behind(row.xid(), row.id()),
            _ => self.tail.is_behind(row.xid(), row.id()),
        }
    }

    /// Whether everything about the message is on record.
    pub fn is_finished(&self, row: &impl Row) -> bool {
        self.done.iter().all(|position| position.is_behind(row.xid(), row.id()))
    }

    /// Whether it may be that something about the message is not on record: more is known than what
    /// [`Self::is_finished`] says.
    pub fn may_wait(&self, row: &impl Row) -> bool {
        let id = row.id().0;
        match &self.open {
            Some(open) => {
                let is_open = open.iter().any(|(first, last)| (*first..=*last).contains(&id));
                is_open || !self.is_taken(row)
            }
            None => !self.is_finished(row),
        }
    }

    /// Whether the message is the lag's to take.
    fn is_skipped(&self, row: &impl Row) -> bool {
        let (Some(lag), Some(target)) = (&self.lag, row.only_target()) else { return false };
        let is_spared = lag.spares_expiring && row.expires();
        let since = lag.skipped.get(&target).filter(|_| !is_spared);
        since.is_some_and(|position| !position.is_behind(row.xid(), row.id()))
    }

    /// The oldest transaction that may have written an unfinished message.
    pub fn done_xmin(&self) -> Xid {
        self.done.iter().map(Position::xmin).min().unwrap_or(0)
    }
}

impl Default for LaneState {
    fn default() -> LaneState {
        LaneState::new()
    }
}

/// Which of a lane's two readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    Tail,
    Lag,
}

/// A page to be read: rows of `lane` with `after < id <= upto` that `top` sees and `base` does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub which: Which,
    pub lane: Lane,
    pub after: i64,
    pub upto: i64,
    pub top: Snapshot,
    pub base: Snapshot,
    /// The tail wants all but these, the lag only these (messages with one target).
    pub targets: Vec<Target>,
    /// Messages that expire are the tail's, whatever their target.
    pub spares_expiring: bool,
    pub limit: usize,
}

impl Page {
    /// Up to which id these rows are all there is.
    pub fn reached<R: Row>(&self, rows: &[R]) -> i64 {
        let is_full = rows.len() >= self.limit;
        rows.last().filter(|_| is_full).map_or(self.upto, |row| row.id().0)
    }
}

/// Rows that were taken together.
#[derive(Debug)]
pub struct Taken<R> {
    /// Hand it back to [`LaneReader::finish`] once per row.
    pub segment: u64,
    pub base: Snapshot,
    pub top: Snapshot,
    /// In order of id.
    pub rows: Vec<R>,
}

/// One lane of the log, read by its owner.
#[derive(Debug)]
pub struct LaneReader {
    lane: Lane,
    tail: Position,
    lag: Option<Lag>,
    tail_span: i64,
    lag_span: i64,
    next_segment: u64,
    /// What has rows that are not on record, by number: what has ended behind one that hangs is gone.
    segments: BTreeMap<u64, Segment>,
    lag_segments: BTreeMap<u64, Segment>,
    /// What had been taken beyond the base of the merging tick that was the last to take something.
    merged: Option<Merged>,
}

/// A merging tick begins where the lag stood: behind that the tail had taken some messages and left others.
#[derive(Debug)]
struct Merged {
    tail: Snapshot,
    skipped: BTreeMap<Target, Position>,
}

#[derive(Debug)]
struct Segment {
    start: Position,
    open: usize,
    /// The lowest and the highest id of its rows.
    ids: (i64, i64),
}

impl LaneReader {
    /// Goes on from a checkpoint; what it says to be taken must have been recovered.
    pub fn new(lane: Lane, state: LaneState) -> LaneReader {
        LaneReader {
            lane,
            tail: state.tail,
            lag: state.lag,
            tail_span: NARROWEST_SPAN,
            lag_span: NARROWEST_SPAN,
            next_segment: 0,
            segments: BTreeMap::new(),
            lag_segments: BTreeMap::new(),
            merged: None,
        }
    }

    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// What has to be written down before the rows that were taken are attempted.
    pub fn state(&self) -> LaneState {
        let first = |segments: &BTreeMap<u64, Segment>| {
            segments.first_key_value().map(|(_, segment)| segment.start.clone())
        };
        let mut done = vec![first(&self.segments).unwrap_or_else(|| self.tail.clone())];
        done.extend(first(&self.lag_segments));
        done.extend(self.lag.as_ref().map(|lag| lag.position.clone()));
        done.dedup();
        let open = Some(self.open_ranges());
        LaneState { tail: self.tail.clone(), lag: self.lag.clone(), done, open }
    }

    /// Where the ids of what is taken and not on record lie, in order, in a few ranges.
    fn open_ranges(&self) -> Vec<(i64, i64)> {
        let segments = self.segments.values().chain(self.lag_segments.values());
        few_ranges(segments.map(|segment| segment.ids).collect())
    }

    /// The snapshot from which the next tick reads this lane; `None` while its tail walks through a
    /// window. With `is_merging`, from where its lag stands, if that has no window of its own: the
    /// tick then takes what was skipped, too, and the lag is gone.
    pub fn tick_base(&self, is_merging: bool) -> Option<&Snapshot> {
        if self.tail.window.is_some() {
            return None;
        }
        match &self.lag {
            Some(lag) if is_merging && lag.position.window.is_none() => Some(&lag.position.base),
            _ => Some(&self.tail.base),
        }
    }

    /// Takes the rows of a tick in order of id. Rows outside of the tick are ignored.
    pub fn take_tick<R: Aged>(
        &mut self,
        is_merging: bool,
        top: &Snapshot,
        rows: Vec<R>,
    ) -> Option<Taken<R>> {
        let base = self.tick_base(is_merging)?.clone();
        let is_merging = is_merging && self.lag_without_window();
        let (mut rows, left) = match rows.is_empty() {
            // Most of a tick's lanes have none.
            true => (rows, Vec::new()),
            false => self.new_and_left(is_merging, top, &base, rows),
        };
        if let Some(lag) = &mut self.lag {
            for row in &left {
                let Some(target) = row.only_target() else { continue };
                lag.add(target, Left { count: 1, oldest: row.pending_since() });
                lag.reach(row.id().0);
            }
        }
        if !rows.is_empty() {
            tracing::trace!(stop = "take_tick", taken = rows.len());
        }
        rows.sort_unstable_by_key(Row::id);
        let start = Position::at(base.clone());
        let former = std::mem::replace(&mut self.tail, Position::at(top.clone()));
        self.merged = None;
        if is_merging && let Some(lag) = self.lag.take() {
            self.merged = Some(Merged { tail: former.base, skipped: lag.skipped });
        }
        // A merging tick begins where the lag stood, which may lie before open segments of the tail.
        let which = if is_merging { Which::Lag } else { Which::Tail };
        let segment = self.open_segment(which, start, &rows);
        Some(Taken { segment, base, top: top.clone(), rows })
    }

    /// The rows of a tick that are to be taken, and those that are left to the lag.
    fn new_and_left<R: Aged>(
        &self,
        is_merging: bool,
        top: &Snapshot,
        base: &Snapshot,
        rows: Vec<R>,
    ) -> (Vec<R>, Vec<R>) {
        let state = self.bare_state();
        let is_new = |row: &R| top.sees(row.xid()) && !base.sees(row.xid()) && !state.is_taken(row);
        rows.into_iter().filter(is_new).partition(|row| is_merging || !state.is_skipped(row))
    }

    /// Starts a walk from the tail's base to `top`, for a tick that is too large to be taken in whole.
    /// No message of it has an id of `after` or below, or above `end`.
    pub fn open_window(&mut self, which: Which, top: Snapshot, after: i64, end: i64) {
        let position = match which {
            Which::Tail => &mut self.tail,
            Which::Lag => match &mut self.lag {
                Some(lag) => &mut lag.position,
                None => return,
            },
        };
        if position.window.is_none() {
            position.window = Some(Window { top, id: after, end });
        }
    }

    /// From where to where the lag has to walk next: it needs a window (see [`Self::open_window`])
    /// when a merging tick was too large. `None` when it has one, or nowhere to go.
    pub fn lag_gap(&self) -> Option<(Snapshot, Snapshot)> {
        let lag = self.lag.as_ref()?;
        let has_gap = lag.position.window.is_none() && lag.position.base != self.tail.base;
        has_gap.then(|| (lag.position.base.clone(), self.tail.base.clone()))
    }

    /// The next page of a reader that walks through a window. It ends in no gap.
    pub fn next_page(&self, which: Which, limit: usize, gaps: &Gaps) -> Option<Page> {
        let lag = self.lag.as_ref();
        let (position, span) = match which {
            Which::Tail => (&self.tail, self.tail_span),
            Which::Lag => (&lag?.position, self.lag_span),
        };
        let window = position.window.as_ref()?;
        let end = match which {
            Which::Tail => window.end,
            Which::Lag => self.lag_end(window),
        };
        Some(Page {
            which,
            lane: self.lane,
            after: window.id,
            upto: end.min(gaps.end_of(window.id.saturating_add(span << 10))),
            top: window.top.clone(),
            base: position.base.clone(),
            targets: lag.map(|lag| lag.skipped.keys().copied().collect()).unwrap_or_default(),
            spares_expiring: self.spares_expiring(),
            limit,
        })
    }

    /// Takes the rows of a page that [`Self::next_page`] asked for.
    /// `left` of a tail's page: what of its targets lies between `page.after` and [`Page::reached`].
    pub fn take_page<R: Aged>(
        &mut self,
        page: &Page,
        rows: Vec<R>,
        left: &[(Target, Left)],
    ) -> Taken<R> {
        let is_full = rows.len() >= page.limit;
        let reached = page.reached(&rows);
        let state = self.bare_state();
        let is_wanted = |row: &R| match page.which {
            Which::Tail => !state.is_skipped(row),
            Which::Lag => state.is_skipped(row),
        };
        let rows: Vec<R> = rows.into_iter().filter(is_wanted).collect();
        if let Some(lag) = &mut self.lag {
            match page.which {
                Which::Tail => {
                    for (target, left) in left.iter().filter(|(_, left)| left.count > 0) {
                        lag.add(*target, *left);
                        lag.reach(reached);
                    }
                }
                Which::Lag => {
                    for row in &rows {
                        let Some(target) = row.only_target() else { continue };
                        lag.take(target, row.created_at());
                    }
                }
            }
        }
        self.merged = None;
        let start = Position::within(page.base.clone(), page.top.clone(), page.after, reached);
        let segment = self.open_segment(page.which, start, &rows);
        self.advance(page.which, reached, is_full);
        Taken { segment, base: page.base.clone(), top: page.top.clone(), rows }
    }

    /// Leaves a target's messages, from the one with this id on, to the lag. `since` is from when on
    /// that one is pending. `false` when too many targets are left already, or when some of them were taken.
    /// Those that expire stay the tail's, if [`Self::spares_expiring`].
    pub fn skip(
        &mut self,
        target: Target,
        base: &Snapshot,
        top: &Snapshot,
        id: MessageId,
        since: i64,
    ) -> bool {
        let first = Left { count: 1, oldest: since };
        // What was taken before must not be left again: it would be taken twice.
        let taken = self.merged.as_ref().map(|merged| (merged.skipped.get(&target), &merged.tail));
        let from = match taken {
            // What lay before where it was left. What has come late below that id cannot be left.
            Some((Some(position), _)) => {
                let last = position.window.as_ref().map_or(i64::MAX, |window| window.id);
                if id.0 <= last {
                    return false;
                }
                &position.base
            }
            // All that the tail had seen.
            Some((None, tail)) => tail,
            None => base,
        };
        let position = Position::within(from.clone(), top.clone(), id.0 - 1, i64::MAX);
        match &mut self.lag {
            Some(lag) => {
                let has_room =
                    lag.skipped.len() < SKIPPED_LIMIT || lag.skipped.contains_key(&target);
                if has_room {
                    lag.skipped.entry(target).or_insert(position);
                    lag.add(target, first);
                    lag.reach(id.0);
                }
                has_room
            }
            None => {
                // The lag starts at the window in which the first message was skipped. In a window
                // that the tail still walks through, it walks behind it.
                let start = match &self.tail.window {
                    Some(window) => Position::within(
                        self.tail.base.clone(),
                        window.top.clone(),
                        id.0 - 1,
                        window.end,
                    ),
                    None => Position::at(base.clone()),
                };
                self.lag_span = NARROWEST_SPAN;
                self.lag = Some(Lag {
                    position: start,
                    skipped: [(target, position)].into(),
                    remaining: [(target, first)].into(),
                    spares_expiring: true,
                    last: Some(id.0),
                });
                true
            }
        }
    }

    /// Whether no message that expires may be left to the lag. Only a lag of an older version has some.
    pub fn spares_expiring(&self) -> bool {
        self.lag.as_ref().is_none_or(|lag| lag.spares_expiring)
    }

    /// One more message of a skipped target is left to the lag.
    pub fn count_left(&mut self, target: Target, id: MessageId, since: i64) {
        if let Some(lag) = &mut self.lag {
            lag.add(target, Left { count: 1, oldest: since });
            lag.reach(id.0);
        }
    }

    /// The targets that are left to the lag now.
    pub fn skipped(&self) -> impl Iterator<Item = Target> + '_ {
        self.lag.iter().flat_map(|lag| lag.skipped.keys().copied())
    }

    pub fn is_walking(&self, which: Which) -> bool {
        match which {
            Which::Tail => self.tail.window.is_some(),
            Which::Lag => self.lag.as_ref().is_some_and(|lag| lag.position.window.is_some()),
        }
    }

    /// How many messages were skipped and not taken since, as far as it is known.
    pub fn left(&self) -> u64 {
        self.remaining().map(|(_, left)| left.count).sum()
    }

    /// The same for each target of which there is any.
    pub fn remaining(&self) -> impl Iterator<Item = (Target, Left)> + '_ {
        self.lag.iter().flat_map(|lag| lag.remaining.iter().map(|(target, left)| (*target, *left)))
    }

    /// Up to which id the tail walked in its window; `None` when it walks through none.
    pub fn walked_up_to(&self) -> Option<MessageId> {
        self.tail.window.as_ref().map(|window| MessageId(window.id))
    }

    pub fn has_lag(&self) -> bool {
        self.lag.is_some()
    }

    /// Says that `count` rows of a segment are on record.
    pub fn finish(&mut self, segment: u64, count: usize) {
        for segments in [&mut self.segments, &mut self.lag_segments] {
            let Entry::Occupied(mut known) = segments.entry(segment) else { continue };
            known.get_mut().open = known.get().open.saturating_sub(count);
            if known.get().open == 0 {
                known.remove();
            }
        }
    }

    /// Whether every row that was taken is on record.
    pub fn is_settled(&self) -> bool {
        self.segments.is_empty() && self.lag_segments.is_empty()
    }

    fn bare_state(&self) -> LaneState {
        LaneState { tail: self.tail.clone(), lag: self.lag.clone(), done: Vec::new(), open: None }
    }

    fn lag_without_window(&self) -> bool {
        self.lag.as_ref().is_some_and(|lag| lag.position.window.is_none())
    }

    /// The lag walks no farther than the tail has come.
    fn lag_end(&self, window: &Window) -> i64 {
        match &self.tail.window {
            Some(tail) if tail.top == window.top => tail.id,
            _ => window.end,
        }
    }

    /// Of rows in order of id.
    fn open_segment<R: Row>(&mut self, which: Which, start: Position, rows: &[R]) -> u64 {
        let number = self.next_segment;
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            self.next_segment += 1;
            let segments = match which {
                Which::Tail => &mut self.segments,
                Which::Lag => &mut self.lag_segments,
            };
            let ids = (first.id().0, last.id().0);
            segments.insert(number, Segment { start, open: rows.len(), ids });
        }
        number
    }

    fn advance(&mut self, which: Which, reached: i64, is_full: bool) {
        let widened =
            |span: i64| if is_full { NARROWEST_SPAN } else { (span * 2).min(WIDEST_SPAN) };
        match which {
            Which::Tail => {
                self.tail_span = widened(self.tail_span);
                move_on(&mut self.tail, reached);
            }
            Which::Lag => {
                self.lag_span = widened(self.lag_span);
                let has_met_tail = {
                    let Some(lag) = &mut self.lag else { return };
                    let is_shared = lag.position.window.as_ref().map(|window| &window.top)
                        == self.tail.window.as_ref().map(|window| &window.top);
                    if is_shared {
                        let tail_id = self.tail.window.as_ref().map_or(i64::MAX, |tail| tail.id);
                        if let Some(window) = &mut lag.position.window {
                            window.id = window.id.max(reached);
                        }
                        reached >= tail_id
                    } else {
                        move_on(&mut lag.position, reached);
                        lag.position == self.tail
                    }
                };
                if has_met_tail {
                    self.lag = None;
                }
            }
        }
    }
}

/// These ranges of ids, and of what lies between them as little as no more than [`OPEN_RANGES_LIMIT`] ranges leave
/// out. In order.
pub fn few_ranges(mut all: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    if all.is_empty() {
        return all;
    }
    all.sort_unstable();
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for (first, last) in all {
        match ranges.last_mut() {
            Some(range) if first <= range.1 => range.1 = range.1.max(last),
            _ => ranges.push((first, last)),
        }
    }
    // The widest gaps are what saves looking.
    let mut gaps: Vec<usize> = (1..ranges.len()).collect();
    gaps.sort_by_key(|place| std::cmp::Reverse(ranges[*place].0 - ranges[*place - 1].1));
    gaps.truncate(OPEN_RANGES_LIMIT - 1);
    gaps.sort_unstable();
    let ends = gaps.iter().copied().chain([ranges.len()]);
    let starts = [0].into_iter().chain(gaps.iter().copied());
    let span = |(start, end): (usize, usize)| (ranges[start].0, ranges[end - 1].1);
    starts.zip(ends).map(span).collect()
}

/// Moves a position on in its window, and behind the window at its end.
fn move_on(position: &mut Position, reached: i64) {
    let Some(window) = &mut position.window else { return };
    window.id = window.id.max(reached);
    if window.id >= window.end {
        *position = Position::at(window.top.clone());
    }
}

#[cfg(test)]
mod tests;
