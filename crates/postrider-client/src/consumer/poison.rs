//! What becomes of a message that its handler cannot process, and how long a batch that has failed waits.

use std::time::Duration;

use uuid::Uuid;

/// What becomes of a message that fails again and again.
///
/// When a batch fails, its messages come again one by one, so that the ones before the culprit are
/// processed and it is found. Failures are counted in the database: those of all processes together,
/// and one that killed its process as well. Batches that are rolled back because the connection broke,
/// because the future was dropped or because PostgreSQL was restarted count, too.
///
/// The default is `Park { after: 10 }`. A message in front stops everything behind it, so trying for ever
/// is no choice here. Ten failures with the default waits take about a minute: enough for a deadlock,
/// a restart or a short outage of whatever the handler needs. The waits do not become shorter when a
/// message is parked, only when a batch succeeds: a handler that always fails, because something is down,
/// parks a few messages a quarter of an hour and not the whole log.
///
/// A parked message is passed: later messages are processed without it. Where that is worse than
/// standing still, choose `Stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poison {
    /// The message is set aside in `postrider.parked_messages`, with the last error, and the consumer
    /// goes on.
    Park {
        /// After so many failures, at least 1.
        after: u32,
    },
    /// The consumer ends with [`Error::Poisoned`](crate::Error::Poisoned). When it is started again, it
    /// tries the message once more, so that a corrected handler goes on by itself.
    Stop {
        /// After so many failures, at least 1.
        after: u32,
    },
}

impl Poison {
    pub(super) fn after(self) -> u32 {
        match self {
            Self::Park { after } | Self::Stop { after } => after,
        }
    }
}

/// How long to wait after failures: exponential with full jitter, so that many who failed together do
/// not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) shortest: Duration,
    pub(crate) longest: Duration,
}

impl Backoff {
    /// After `failure_count` failures in a row, 1 or more; `dice` is 0 to 1.
    pub(crate) fn wait(self, failure_count: u32, dice: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(failure_count.saturating_sub(1));
        self.shortest.saturating_mul(doubled).min(self.longest).mul_f64(dice)
    }
}

/// Between 0 and 1. Random ids are at hand, and good dice.
pub(crate) fn dice() -> f64 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    // Its lower 16 bits hold the version.
    (random >> 16) as f64 / (1_u64 << 48) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let (shortest, longest) = (Duration::from_millis(200), Duration::from_secs(30));
        let backoff = Backoff { shortest, longest };
        let cases =
            [(1, 1.0, 200), (2, 1.0, 400), (3, 0.5, 400), (8, 1.0, 25_600), (9, 1.0, 30_000)];
        for (count, dice, expected) in cases {
            assert_eq!(
                backoff.wait(count, dice),
                Duration::from_millis(expected),
                "{count} {dice}"
            );
        }
        assert_eq!(backoff.wait(u32::MAX, 1.0), longest);
        assert_eq!(backoff.wait(3, 0.0), Duration::ZERO);
    }

    #[test]
    fn dice_are_between_0_and_1() {
        let rolls: Vec<f64> = (0..1000).map(|_| dice()).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)), "{rolls:?}");
        assert!(rolls.iter().any(|roll| *roll < 0.2) && rolls.iter().any(|roll| *roll > 0.8));
    }
}
