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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::Timestamp;

    fn place(number: i64) -> ExpiryPlace {
        ExpiryPlace { expires_at: Timestamp(number), ..ExpiryPlace::FIRST }
    }

    /// Whoever wakes looks, and whoever does not look is not woken for it.
    #[test]
    fn a_round_begins_when_it_is_time_and_goes_on_page_by_page() {
        let now = Instant::now();
        let mut expiry = Expiry::new(now);
        assert!(expiry.take_turn(now) && !expiry.take_turn(now));
        assert_eq!(expiry.begin(true, 0, now), Some(ExpiryPlace::FIRST));
        assert_eq!(expiry.begin(true, 0, now), None, "one page at a time");
        expiry.end(Some(place(5)));
        assert_eq!(expiry.begin(false, 0, now), Some(place(5)), "the next at once");
        expiry.end(Some(place(6)));
        expiry.note_idle(now);
        assert_eq!(expiry.begin(false, 0, now), None, "nothing of that was ours to end");
        let soon = now + IDLE_PAUSE;
        assert_eq!(expiry.wake_at(now), soon);
        assert_eq!(expiry.begin(false, 0, soon), Some(place(6)));
        expiry.end(None);
        let due = now + INTERVAL;
        assert_eq!((expiry.begin(false, 0, soon), expiry.wake_at(soon)), (None, due));
        assert!(!expiry.take_turn(due - IDLE_PAUSE) && expiry.take_turn(due));
        assert_eq!(expiry.begin(true, 0, due), Some(ExpiryPlace::FIRST));
    }

    /// What is held up by somebody must not stop the looks for ever.
    #[test]
    fn the_next_page_waits_for_room_and_comes_in_any_case_when_it_is_time() {
        let now = Instant::now();
        let key = |number: usize| (MessageId(number as i64), Target(1));
        let mut expiry = Expiry::new(now);
        expiry.up_to = Some(place(5));
        (1..EXPIRING_MOST).for_each(|number| expiry.note(key(number)));
        for (noted, held, is_time, goes_on) in [
            (0, 0, false, true),
            (0, EXPIRING_MOST - 1, false, true),
            (0, EXPIRING_MOST, false, false),
            (0, EXPIRING_MOST, true, true),
            (1, 0, false, false),
            (1, 0, true, true),
        ] {
            (0..noted).for_each(|_| expiry.note(key(0)));
            let case = format!("{noted} {held} {is_time}");
            let expected = goes_on.then_some(place(5));
            assert_eq!(expiry.begin(is_time, held, now), expected, "{case}");
            expiry.end(Some(place(5)));
            expiry.forget(key(0));
        }
    }
}
