//! What becomes of a delivery that is in hand.
//!
//! Whoever lets go of a delivery says one of these of it, and loses it: so it is recorded once, and what follows of its
//! ordering key is nobody's to remember (see `dispatcher/settling.rs`).

use std::time::{Duration, Instant};

use super::clock::Clock;
use crate::{decide::Cause, timestamp::Timestamp};

#[derive(Debug)]
#[must_use]
pub enum Settlement {
    Delivered,
    /// It failed, and is tried again after so long: another retry is used up.
    Retry {
        wait: Duration,
        error: String,
    },
    /// It was not attempted, and waits until then: it is its turn. No retry is used up.
    Postponed {
        run_at: Timestamp,
    },
    /// It was not attempted, and waits until `run_at`, or for what is before it, or else for so long. One that waited
    /// before is left as it was.
    GivenBack {
        run_at: Option<Timestamp>,
        pause: Duration,
        is_blocked: bool,
    },
    Dead {
        cause: Cause,
        error: Option<String>,
    },
    Expired,
    /// It was cancelled, which is on record.
    Cancelled,
}

impl Settlement {
    /// Of what waited for an endpoint that does not exist any more.
    pub const DROPPED: Settlement = Settlement::Dead { cause: Cause::EndpointDropped, error: None };

    /// Until when it waits in the table. `None`: it has ended.
    pub fn waits_until(&self, now: Instant, clock: &Clock) -> Option<Timestamp> {
        match self {
            Settlement::Retry { wait, .. } => Some(clock.timestamp(now + *wait)),
            Settlement::Postponed { run_at } => Some(*run_at),
            Settlement::GivenBack { run_at, pause, .. } => {
                Some(run_at.unwrap_or_else(|| clock.timestamp(now + *pause)))
            }
            Settlement::Delivered
            | Settlement::Dead { .. }
            | Settlement::Expired
            | Settlement::Cancelled => None,
        }
    }

    pub fn is_given_back(&self) -> bool {
        matches!(self, Settlement::GivenBack { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits is looked for then; what has ended never.
    #[test]
    fn whatever_has_not_ended_waits_until_a_moment() {
        let now = Instant::now();
        let clock = Clock::new(now - Duration::from_secs(1), crate::timestamp::EPOCH_US);
        let second = Duration::from_secs(1);
        let given_back = |run_at: Option<i64>, pause| Settlement::GivenBack {
            run_at: run_at.map(Timestamp),
            pause,
            is_blocked: false,
        };
        let dead = Settlement::Dead { cause: Cause::Gone, error: None };
        for (settlement, waits_until, is_given_back) in [
            (Settlement::Delivered, None, false),
            (Settlement::Retry { wait: second, error: String::new() }, Some(2_000_000), false),
            (Settlement::Postponed { run_at: Timestamp(7) }, Some(7), false),
            (given_back(None, Duration::ZERO), Some(1_000_000), true),
            (given_back(None, second), Some(2_000_000), true),
            (given_back(Some(9), second), Some(9), true),
            (dead, None, false),
            (Settlement::DROPPED, None, false),
            (Settlement::Expired, None, false),
            (Settlement::Cancelled, None, false),
        ] {
            let at = settlement.waits_until(now, &clock);
            assert_eq!(at, waits_until.map(Timestamp), "{settlement:?}");
            assert_eq!(settlement.is_given_back(), is_given_back, "{settlement:?}");
        }
    }
}
