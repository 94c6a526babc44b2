//! What becomes of a delivery after an attempt.

use std::time::Duration;

use crate::{outcome::Outcome, policy::Policy};

/// The fate of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Delivered,
    RetryAfter(Duration),
    /// It was not attempted: later, and as before.
    Postpone,
    Dead(Cause),
}

/// Why a delivery is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The destination refused it for good.
    Rejected,
    /// The destination says that it is gone.
    Gone,
    /// The last allowed attempt failed.
    RetriesExhausted,
    /// Its dispatcher went away while holding it, more often than it may be tried.
    Stale,
    /// Its endpoint does not exist any more.
    EndpointDropped,
}

impl Cause {
    /// The cause as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Rejected => "rejected",
            Cause::Gone => "gone",
            Cause::RetriesExhausted => "retries_exhausted",
            Cause::Stale => "stale",
            Cause::EndpointDropped => "endpoint_dropped",
        }
    }
}

/// Decides after an attempt that had `retry_count` retries behind it; `dice` is uniform in 0 to 1.
///
/// A wait that the destination asked for replaces the policy's.
pub fn decide(policy: &Policy, retry_count: u32, outcome: Outcome, dice: f64) -> Decision {
    match outcome {
        Outcome::Accepted => Decision::Delivered,
        Outcome::Rejected => Decision::Dead(Cause::Rejected),
        Outcome::Gone => Decision::Dead(Cause::Gone),
        Outcome::NotSent => Decision::Postpone,
        Outcome::Unavailable { .. } | Outcome::Unknown if !policy.allows_retry(retry_count) => {
            Decision::Dead(Cause::RetriesExhausted)
        }
        Outcome::Unknown => Decision::RetryAfter(policy.wait(retry_count, dice)),
        Outcome::Unavailable { retry_after } => {
            Decision::RetryAfter(retry_after.unwrap_or_else(|| policy.wait(retry_count, dice)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Simple;

    #[test]
    fn an_outcome_and_a_policy_decide() {
        let policy = Simple { max_retries: 2, jitter: 0.0, ..Simple::default() };
        let policy = Policy::Simple(policy);
        let unavailable = Outcome::Unavailable { retry_after: None };
        let asked = Outcome::Unavailable { retry_after: Some(Duration::from_secs(77)) };
        for (retry_count, outcome, expected) in [
            (0, Outcome::Accepted, Decision::Delivered),
            (9, Outcome::Accepted, Decision::Delivered),
            (0, Outcome::Rejected, Decision::Dead(Cause::Rejected)),
            (0, Outcome::Gone, Decision::Dead(Cause::Gone)),
            (0, unavailable, Decision::RetryAfter(Duration::from_secs(10))),
            (1, unavailable, Decision::RetryAfter(Duration::from_secs(20))),
            (2, unavailable, Decision::Dead(Cause::RetriesExhausted)),
            (1, asked, Decision::RetryAfter(Duration::from_secs(77))),
            (2, asked, Decision::Dead(Cause::RetriesExhausted)),
            (0, Outcome::Unknown, Decision::RetryAfter(Duration::from_secs(10))),
            (2, Outcome::Unknown, Decision::Dead(Cause::RetriesExhausted)),
            (0, Outcome::NotSent, Decision::Postpone),
            (2, Outcome::NotSent, Decision::Postpone),
        ] {
            assert_eq!(decide(&policy, retry_count, outcome, 0.5), expected, "{outcome:?}");
        }
    }
}
