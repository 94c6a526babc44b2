//! Ordering keys of which the next waiting delivery has to be fetched, and what may have changed while one is.

use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{chore::Chore, flush::Gathered};
use crate::{
    hashing::HashSet,
    id::{EndpointId, MessageId, Priority, Target},
    mark::mark,
    wanted::{Asked, Asking, WantedKeys},
};

/// Ordering keys whose waiting deliveries are fetched by one query.
const KEYS_AT_ONCE: usize = 64;
/// When none of the keys that are wanted may be asked for, we look again after so long: soon, when it is for a record.
const RECORD_PAUSE: Duration = Duration::from_millis(1);
const NO_ROOM_PAUSE: Duration = Duration::from_millis(10);
/// For so long per key that is known, notifications about keys are collected before they are heeded again.
const PAUSE_PER_KEY: Duration = Duration::from_micros(5);
/// So many are heeded at once.
const MOST_MARKS: usize = 65_536;
/// So many answers in a row are given up because somebody rang a key meanwhile.
const HEEDED_IN_A_ROW: u32 = 8;
/// Keys are asked for at an endpoint that is gone so often.
const GONE_PAUSE: Duration = Duration::from_secs(1);

/// Whether something of a key may be fetched for an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Some,
    None,
    /// The endpoint is gone, or not known yet.
    Gone,
}

#[derive(Debug)]
pub struct Followers {
    wanted: WantedKeys,
    fetch: Chore,
    /// What ended while a fetch was under way, and what was put down and waits on: it may be the first of its key, and is
    /// in hand no more.
    ended: HashSet<(MessageId, Target)>,
    returned: HashSet<(MessageId, Target)>,
    /// Marks of keys of which something may have gone from the table since they were asked for: the answer may show it
    /// as it was before, and be the last.
    told: HashSet<u32>,
    /// How many answers in a row were given up for those.
    heeded_in_a_row: u32,
    /// When keys are asked for next at endpoints that are gone. Nobody wakes for it: while a key is wanted that may not be
    /// asked for, we look for room every few milliseconds anyway.
    gone_at: Instant,
    /// Marks of keys of which notifications have said something, and when they are heeded.
    marks: HashSet<u32>,
    marks_at: Instant,
}

impl Followers {
    pub fn new(now: Instant) -> Followers {
        Followers {
            wanted: WantedKeys::default(),
            fetch: Chore::due(now),
            ended: HashSet::default(),
            returned: HashSet::default(),
            told: HashSet::default(),
            heeded_in_a_row: 0,
            gone_at: now,
            marks: HashSet::default(),
            marks_at: now,
        }
    }

    /// Something of the key is to be fetched there.
    pub fn want(&mut self, key: Arc<str>, at: EndpointId) {
        self.wanted.insert(key, at);
    }

    /// The same, once there is room at an endpoint.
    pub fn park(&mut self, key: &Arc<str>, at: EndpointId, room: (EndpointId, Priority)) {
        self.wanted.park(key, at, room);
    }

    /// Nothing more of the key is to be fetched there.
    pub fn forget(&mut self, key: &Arc<str>, at: EndpointId) {
        self.wanted.remove(key, at);
    }

    pub fn clear(&mut self) {
        self.wanted.clear();
    }

    pub fn is_fetching(&self) -> bool {
        self.fetch.is_under_way()
    }

    pub fn wake_at(&self) -> Option<Instant> {
        let fetch_at = self.fetch.wake_at().filter(|_| !self.wanted.is_empty());
        let marks_at = (!self.marks.is_empty()).then_some(self.marks_at);
        [fetch_at, marks_at].into_iter().flatten().min()
    }

    // What others do --------------------------------------------------------------------------------

    /// Something of the keys with this mark was ended or put back by somebody else.
    pub fn note_mark(&mut self, mark: u32) {
        self.marks.insert(mark);
        if self.is_fetching() {
            self.told.insert(mark);
        }
    }

    /// The marks that are heeded now. Anybody may notify, as often as they like: all keys, so many, are looked through
    /// for it, and not all the time.
    pub fn take_marks(&mut self, key_count: usize, now: Instant) -> Option<HashSet<u32>> {
        if self.marks.is_empty() || (now < self.marks_at && self.marks.len() < MOST_MARKS) {
            return None;
        }
        self.marks_at = now + PAUSE_PER_KEY * u32::try_from(key_count).unwrap_or(u32::MAX);
        Some(std::mem::take(&mut self.marks))
    }

    // Fetching --------------------------------------------------------------------------------------

    /// Begins a fetch, of these keys.
    pub fn begin(
        &mut self,
        room: impl Fn(EndpointId, Priority) -> Room,
        asking: impl Fn(&str) -> Asking,
        now: Instant,
    ) -> Option<Vec<Asked>> {
        if self.wanted.is_empty() || !self.fetch.is_due(now) {
            return None;
        }
        let (is_time_for_gone, is_gone_looked_at) = (now >= self.gone_at, Cell::new(false));
        let has_room = |endpoint, priority| match room(endpoint, priority) {
            Room::Some => true,
            Room::None => false,
            // What waited at one that is gone ends, which may take a while, and then the next may go.
            Room::Gone => {
                is_gone_looked_at.set(is_time_for_gone);
                is_time_for_gone
            }
        };
        let (asked, is_any_busy) = self.wanted.next(KEYS_AT_ONCE, has_room, asking);
        if is_gone_looked_at.get() {
            self.gone_at = now + GONE_PAUSE;
        }
        if asked.is_empty() {
            // What they wait for may come any time.
            self.pause(if is_any_busy { RECORD_PAUSE } else { NO_ROOM_PAUSE }, now);
            return None;
        }
        self.fetch.begin(now);
        self.ended.clear();
        self.returned.clear();
        Some(asked)
    }

    /// The next fetch waits so long.
    pub fn pause(&mut self, pause: Duration, now: Instant) {
        self.fetch.set_due(now + pause);
    }

    /// These results are on record, while a fetch may be under way.
    pub fn note_recorded(&mut self, recorded: &Gathered) {
        if self.is_fetching() {
            self.returned.extend(&recorded.put_down);
            self.ended.extend(&recorded.results.settled);
        }
    }

    /// A fetch of these has an answer. Returns the marks of keys that somebody rang meanwhile: these are fetched again. Anybody may
    /// ring, at any rate, so only a few answers in a row are given up for it; then they are taken, and the keys asked for
    /// once more.
    pub fn end(&mut self, asked: &[Asked], now: Instant) -> HashSet<u32> {
        self.fetch.end(now);
        let mut told = std::mem::take(&mut self.told);
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

    /// Whether it ended while it was fetched.
    pub fn has_ended(&self, place: (MessageId, Target)) -> bool {
        self.ended.contains(&place)
    }

    /// Whether it was put down while it was fetched, and waits on: it is before the rest of its key, and may be due at
    /// another time by now.
    pub fn is_returned(&self, place: (MessageId, Target)) -> bool {
        self.returned.contains(&place) && !self.has_ended(place)
    }
}

#[cfg(test)]
mod tests;
