//! How long our own tasks wait before they try again what a database or a broker refuses them. What waits for its
//! receiver goes by a retry policy instead ([`crate::policy`]).

use std::time::Duration;

/// Waits that double, with jitter.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    shortest: Duration,
    longest: Duration,
    failure_count: u32,
}

impl Backoff {
    pub const fn new(shortest: Duration, longest: Duration) -> Backoff {
        Backoff { shortest, longest, failure_count: 0 }
    }

    /// The wait after one more failure; `dice` is between 0 and 1. Half of it is chance, so that those
    /// who failed together do not come back together.
    pub fn next(&mut self, dice: f64) -> Duration {
        let full = self.shortest.saturating_mul(1 << self.failure_count.min(16)).min(self.longest);
        self.failure_count = self.failure_count.saturating_add(1);
        full.mul_f64(0.5 + dice / 2.0).max(self.shortest)
    }

    /// It has worked.
    pub fn reset(&mut self) {
        self.failure_count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_the_longest_and_half_of_each_is_chance() {
        let shortest = Duration::from_millis(100);
        let mut backoff = Backoff::new(shortest, Duration::from_secs(30));
        let waits: Vec<u128> = (0..10).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000]);
        assert_eq!(backoff.next(0.0), Duration::from_secs(15));
        backoff.reset();
        assert_eq!(backoff.next(0.0), shortest);
    }
}
