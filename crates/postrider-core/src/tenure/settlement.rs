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
