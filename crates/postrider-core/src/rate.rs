//! Rate limits: how many requests an endpoint may get per second, from all dispatchers together.
//!
//! The database hands out tokens, a token for a request (`postrider.take_tokens`). A [`Bucket`] is
//! what one dispatcher holds of them. It asks for a small slice at a time, so that all get their
//! share, and lets go of what it has not used for a while.

use std::time::Duration;

use crate::moment::Moment;

/// A slice is what the rate allows in this part of a second, divided by the number of dispatchers.
const SLICES_PER_SECOND: u32 = 10;
/// A burst is what gathers in so many seconds at most.
const LONGEST_REST_S: u32 = 600;
/// Tokens that were not used for so long are gone.
const TOKENS_LAST: Duration = Duration::from_secs(1);

/// What an endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u32,
    /// What may come at once after a rest.
    pub burst: u32,
}

impl Rate {
    /// `burst`: as configured. Less than a slice would be more work than it is worth, and what has
    /// gathered for longer than ten minutes is forgotten.
    pub fn new(per_second: u32, burst: Option<u32>) -> Rate {
        let slice = per_second.div_ceil(SLICES_PER_SECOND);
        let most = per_second.saturating_mul(LONGEST_REST_S);
        Rate { per_second, burst: burst.unwrap_or(slice).clamp(slice, most) }
    }
}

/// The tokens that a dispatcher has for one endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    pub rate: Rate,
    tokens: u32,
    /// How many there were.
    granted: u32,
    /// When they may be used.
    usable_at: Moment,
    is_asking: bool,
}

impl Bucket {
    pub fn new(rate: Rate) -> Bucket {
        let start = Moment(i64::MIN);
        Bucket { rate, tokens: 0, granted: 0, usable_at: start, is_asking: false }
    }

    /// How many requests may go now.
    pub fn available(&self, now: Moment) -> usize {
        let is_usable = self.usable_at <= now && now <= self.usable_at.after(TOKENS_LAST);
        if is_usable { self.tokens as usize } else { 0 }
    }

    pub fn take(&mut self, count: usize) {
        self.tokens = self.tokens.saturating_sub(count as u32);
    }

    /// How many tokens to ask for now, for so many requests that wait, with so many dispatchers.
    pub fn ask(&mut self, waiting: usize, dispatchers: u32, now: Moment) -> Option<u32> {
        if self.is_asking || now < self.usable_at || waiting == 0 || self.available(now) > 0 {
            return None;
        }
        self.is_asking = true;
        let slice = self.rate.burst.div_ceil(dispatchers.max(1)).max(1);
        // What comes one by one, because each waits for the one before it, is not asked for one by one.
        let is_used_up = self.tokens == 0 && now <= self.usable_at.after(TOKENS_LAST);
        let likely = if is_used_up { self.granted.saturating_mul(2) } else { 1 };
        Some(slice.min(likely.max(u32::try_from(waiting).unwrap_or(u32::MAX))))
    }

    /// When something may go, or be asked for; `None`: when the answer is there.
    pub fn next_at(&self) -> Option<Moment> {
        (!self.is_asking).then_some(self.usable_at)
    }

    /// The clock that it is asked and granted by has been set back.
    pub fn set_back(&mut self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.usable_at = Moment(self.usable_at.0.saturating_sub(by));
    }

    /// The answer: so many tokens, which may be used after `wait`.
    pub fn grant(&mut self, count: u32, wait: Duration, now: Moment) {
        self.is_asking = false;
        self.tokens = count;
        self.granted = count;
        self.usable_at = now.after(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Moment {
        Moment(ms * 1000)
    }

    #[test]
    fn a_slice_is_a_tenth_of_a_second_or_the_burst_shared_by_all() {
        for (per_second, burst, dispatchers, expected) in [
            (100, None, 1, 10),
            (100, None, 2, 5),
            (100, Some(50), 2, 25),
            (100, Some(1), 1, 10),
            (5, None, 1, 1),
            (5, None, 3, 1),
            (15, None, 1, 2),
            (2, Some(99_999), 1, 1_000),
        ] {
            let mut bucket = Bucket::new(Rate::new(per_second, burst));
            assert_eq!(bucket.ask(1_000, dispatchers, at(0)), Some(expected), "{per_second}");
        }
    }

    #[test]
    fn what_comes_one_by_one_is_asked_for_in_slices() {
        let mut bucket = Bucket::new(Rate::new(100, None));
        let mut asked = Vec::new();
        for ms in 0..6 {
            let count = bucket.ask(1, 1, at(ms)).unwrap();
            asked.push(count);
            bucket.grant(count, Duration::ZERO, at(ms));
            bucket.take(count as usize);
        }
        assert_eq!(asked, [1, 2, 4, 8, 10, 10]);
        assert_eq!(bucket.ask(1, 1, at(2_000)), Some(1), "after a rest");
    }

    #[test]
    fn tokens_are_asked_for_once_and_used_or_lost() {
        let mut bucket = Bucket::new(Rate::new(100, None));
        assert_eq!(bucket.ask(0, 1, at(0)), None, "nothing waits");
        assert_eq!(bucket.ask(3, 1, at(0)), Some(3));
        assert_eq!(bucket.ask(3, 1, at(0)), None, "the answer is not there yet");
        bucket.grant(3, Duration::ZERO, at(1));
        assert_eq!(bucket.available(at(1)), 3);
        assert_eq!(bucket.ask(9, 1, at(1)), None, "there are some left");
        bucket.take(2);
        assert_eq!(bucket.available(at(1001)), 1);
        assert_eq!(bucket.available(at(1002)), 0);
        assert_eq!(bucket.ask(9, 1, at(1002)), Some(9));
        bucket.grant(9, Duration::from_millis(40), at(1003));
        assert_eq!((bucket.ask(9, 1, at(1042)), bucket.available(at(1042))), (None, 0));
        assert_eq!((bucket.ask(9, 1, at(1043)), bucket.available(at(1043))), (None, 9));
        bucket.set_back(Duration::from_millis(1000));
        assert_eq!((bucket.available(at(42)), bucket.available(at(43))), (0, 9));
        // One that has rested gets what it asks for, however far that was.
        bucket.take(9);
        bucket.set_back(Duration::from_millis(5_000));
        assert_eq!(bucket.ask(9, 1, at(-4_000)), Some(10));
    }
}
