//! How long to wait before trying again, and when to speak of it.

use std::time::Duration;

use tokio::time::Instant;

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// How often trouble that lasts is logged.
const REMINDER: Duration = Duration::from_secs(60);

/// Waits that double from a tenth of a second to half a minute, with jitter.
#[derive(Debug, Default)]
pub struct Backoff {
    failure_count: u32,
}

impl Backoff {
    /// The wait after one more failure; `dice` is between 0 and 1. Half of it is chance, so that those
    /// who failed together do not come back together.
    pub fn next(&mut self, dice: f64) -> Duration {
        let full = SHORTEST.saturating_mul(1 << self.failure_count.min(16)).min(LONGEST);
        self.failure_count = self.failure_count.saturating_add(1);
        full.mul_f64(0.5 + dice / 2.0).max(SHORTEST)
    }

    /// It has worked.
    pub fn reset(&mut self) {
        self.failure_count = 0;
    }
}

/// Trouble is logged when it begins, every minute while it lasts, and when it is over.
#[derive(Debug, Default)]
pub struct Trouble {
    logged_at: Option<Instant>,
}

impl Trouble {
    /// Whether to log it now.
    pub fn is_worth_logging(&mut self, now: Instant) -> bool {
        let is_due = self.logged_at.is_none_or(|at| now >= at + REMINDER);
        if is_due {
            self.logged_at = Some(now);
        }
        is_due
    }

    /// It is over; whether anybody has heard of it.
    pub fn end(&mut self) -> bool {
        self.logged_at.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_half_a_minute_and_half_of_each_is_chance() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..10).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000]);
        assert_eq!(backoff.next(0.0), Duration::from_secs(15));
        backoff.reset();
        assert_eq!(backoff.next(0.0), SHORTEST);
    }

    #[test]
    fn trouble_is_logged_once_a_minute_until_it_ends() {
        let (mut trouble, now) = (Trouble::default(), Instant::now());
        assert!(trouble.is_worth_logging(now));
        assert!(!trouble.is_worth_logging(now + REMINDER / 2));
        assert!(trouble.is_worth_logging(now + REMINDER));
        assert!(trouble.end() && !trouble.end());
        assert!(trouble.is_worth_logging(now + REMINDER));
    }
}
