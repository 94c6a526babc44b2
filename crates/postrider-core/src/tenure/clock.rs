//! The database's time, told by the local monotonic clock between two heartbeats.

use std::time::{Duration, Instant};

use crate::timestamp::{EPOCH_US, Timestamp};

/// When the lease ends by the local clock, and what time it is by the database's.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    at: Instant,
    database_us: i64,
}

impl Clock {
    /// `unix_us` is what the database said; `answered` is when we heard it. What it says first has
    /// to wait for its turn there, so only this side is sure: we are behind its time by the way back,
    /// and never ahead of it, and nothing goes before it is due.
    pub fn new(answered: Instant, unix_us: i64) -> Clock {
        Clock { at: answered, database_us: unix_us - EPOCH_US }
    }

    /// The database's time at a local instant.
    pub fn timestamp(&self, at: Instant) -> Timestamp {
        let since = match at.checked_duration_since(self.at) {
            Some(since) => since.as_micros() as i64,
            None => -((self.at - at).as_micros() as i64),
        };
        Timestamp(self.database_us + since)
    }

    /// By how much it is behind what another one would say, which was set before.
    pub fn behind(&self, former: &Clock) -> Duration {
        let behind = former.timestamp(self.at).0 - self.database_us;
        Duration::from_micros(behind.max(0).unsigned_abs())
    }

    /// The local instant of a database's time; in the past: `self.at` at the earliest.
    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        let ahead = (timestamp.0 - self.database_us).max(0).unsigned_abs();
        // Farther away than a day is looked at again before.
        self.at + Duration::from_micros(ahead).min(Duration::from_secs(86_400))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn the_databases_time_goes_on_from_what_it_said() {
        let heard = Instant::now() + DAY;
        let clock = Clock::new(heard, EPOCH_US + 5_000_000);
        for (at, us) in [
            (heard, 5_000_000),
            (heard + Duration::from_millis(3), 5_003_000),
            (heard - Duration::from_secs(7), -2_000_000),
        ] {
            assert_eq!(clock.timestamp(at), Timestamp(us));
        }
    }

    #[test]
    fn what_is_over_is_now_and_what_is_far_away_is_looked_at_before() {
        let heard = Instant::now();
        let clock = Clock::new(heard, EPOCH_US);
        for (us, ahead) in [
            (-1, Duration::ZERO),
            (i64::MIN / 2, Duration::ZERO),
            (0, Duration::ZERO),
            (1_500, Duration::from_micros(1_500)),
            (86_400_000_000, DAY),
            (i64::MAX, DAY),
        ] {
            assert_eq!(clock.instant(Timestamp(us)), heard + ahead, "{us}");
        }
        let later = heard + Duration::from_millis(20);
        assert_eq!(clock.instant(clock.timestamp(later)), later);
    }

    #[test]
    fn a_clock_is_behind_another_by_what_it_was_set_back() {
        let heard = Instant::now();
        let later = heard + Duration::from_secs(2);
        let former = Clock::new(heard, EPOCH_US);
        for (us, behind) in [(2_000_000, 0), (5_000_000, 0), (500_000, 1_500_000)] {
            let clock = Clock::new(later, EPOCH_US + us);
            assert_eq!(clock.behind(&former), Duration::from_micros(behind), "{us}");
        }
    }
}
