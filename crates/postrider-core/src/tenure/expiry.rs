//! Where we are with looking for what has expired where it waits, a page at a time.

use std::time::{Duration, Instant};

use crate::{
    hashing::HashSet,
    id::{MessageId, Target},
    waiting::ExpiryPlace,
};

/// How often we look for what has expired where it waits.
pub const INTERVAL: Duration = Duration::from_secs(2);
/// After a page of which nothing was ours to end, the next one waits so long.
const IDLE_PAUSE: Duration = Duration::from_millis(10);
/// The next page follows at once while less than this is on its way to be recorded as expired, by several flushes.
pub const EXPIRING_MOST: usize = 8 * 1024;

#[derive(Debug)]
pub struct Expiry {
    due_at: Instant,
    is_fetching: bool,
    /// Where the page before ended, unless it was the last one.
    up_to: Option<ExpiryPlace>,
    /// When the next page may be looked at, after one of which nothing was ours to end.
    page_at: Instant,
    /// What was found so, as long as nobody holds it up and it is not on record.
    expiring: HashSet<(MessageId, Target)>,
}

impl Expiry {
    pub fn new(now: Instant) -> Expiry {
        Expiry {
            due_at: now,
            is_fetching: false,
            up_to: None,
            page_at: now,
            expiring: HashSet::default(),
        }
    }

    pub fn wake_at(&self, now: Instant) -> Instant {
        let has_next = self.up_to.is_some() && self.page_at > now;
        if has_next { self.due_at.min(self.page_at) } else { self.due_at }
    }

    /// Whether the interval is over. It begins anew.
    pub fn take_turn(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due_at;
        if is_due {
            self.due_at = now + INTERVAL;
        }
        is_due
    }

    /// Behind which place to look for a page now: the next one as soon as there is room for it, the first one, or one that
    /// there is no room for, when it is time. So what somebody holds up stops nobody. `held_count`: what is held up.
    pub fn begin(&mut self, is_time: bool, held_count: usize, now: Instant) -> Option<ExpiryPlace> {
        let goes_on = self.up_to.is_some()
            && self.expiring.len() < EXPIRING_MOST
            && held_count < EXPIRING_MOST
            && now >= self.page_at;
        if self.is_fetching || !is_time && !goes_on {
            return None;
        }
        self.is_fetching = true;
        Some(self.up_to.unwrap_or(ExpiryPlace::FIRST))
    }

    /// A page was looked at. Whoever has its rows: they are come by again in the next round.
    pub fn end(&mut self, next: Option<ExpiryPlace>) {
        self.is_fetching = false;
        self.up_to = next;
    }

    /// Nothing of the page was ours to end.
    pub fn note_idle(&mut self, now: Instant) {
        self.page_at = now + IDLE_PAUSE;
    }

    pub fn note(&mut self, place: (MessageId, Target)) {
        self.expiring.insert(place);
    }

    /// It is on record, or held up.
    pub fn forget(&mut self, place: (MessageId, Target)) {
        self.expiring.remove(&place);
    }
}
