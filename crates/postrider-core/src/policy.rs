//! Simple delivery policies: how long a failed delivery waits, and when it has failed for good.
//!
//! Waits are whole milliseconds, rounded half up. `retry_count` is the number of retries already
//! scheduled: 0 at the first attempt. A delivery is dead when an attempt fails and
//! `retry_count >= max_retries`.

use std::time::Duration;

use serde::Deserialize;

/// How waits grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// min(max, base × 2ⁿ)
    Exponential,
    /// min(max, base + n × increment)
    Linear,
    /// base
    Fixed,
}

/// A complete policy: every field has its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    pub max_retries: u32,
    pub backoff: Backoff,
    pub base_delay: Duration,
    pub max_delay: Duration,
    pub increment: Duration,
    /// 0 to 1: the wait is multiplied by 1 + jitter × dice.
    pub jitter: f64,
}

/// An endpoint's own `retry_policy`: what it leaves out comes from the settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyOverride {
    pub max_retries: Option<u32>,
    pub backoff: Option<Backoff>,
    pub base_delay_seconds: Option<f64>,
    pub max_delay_seconds: Option<f64>,
    pub increment_seconds: Option<f64>,
    pub jitter: Option<f64>,
}

impl Default for Policy {
    /// The defaults of the settings: 10 retries, exponential from 10 s to 300 s, jitter 0.1.
    fn default() -> Policy {
        Policy {
            max_retries: 10,
            backoff: Backoff::Exponential,
            base_delay: Duration::from_secs(10),
            max_delay: Duration::from_secs(300),
            increment: Duration::from_secs(30),
            jitter: 0.1,
        }
    }
}

impl Policy {
    /// This policy with what the endpoint says itself.
    pub fn overridden(self, by: &PolicyOverride) -> Policy {
        let seconds = |own: Option<f64>, default| own.map_or(default, seconds_or_zero);
        Policy {
            max_retries: by.max_retries.unwrap_or(self.max_retries),
            backoff: by.backoff.unwrap_or(self.backoff),
            base_delay: seconds(by.base_delay_seconds, self.base_delay),
            max_delay: seconds(by.max_delay_seconds, self.max_delay),
            increment: seconds(by.increment_seconds, self.increment),
            jitter: by.jitter.unwrap_or(self.jitter).clamp(0.0, 1.0),
        }
    }

    /// Whether a delivery that failed with so many retries behind it may be tried again.
    pub fn allows_retry(&self, retry_count: u32) -> bool {
        retry_count < self.max_retries
    }

    /// How long the retry after `retry_count` earlier ones waits; `dice` is uniform in 0 to 1.
    pub fn wait(&self, retry_count: u32, dice: f64) -> Duration {
        let base = self.base_delay.as_secs_f64();
        let max = self.max_delay.as_secs_f64();
        let exact = match self.backoff {
            Backoff::Exponential => (base * 2f64.powi(retry_count.min(1000) as i32)).min(max),
            Backoff::Linear => {
                (base + f64::from(retry_count) * self.increment.as_secs_f64()).min(max)
            }
            Backoff::Fixed => base,
        };
        let milliseconds = exact * (1.0 + self.jitter * dice) * 1000.0;
        Duration::from_millis((milliseconds + 0.5).floor() as u64)
    }
}

fn seconds_or_zero(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(backoff: Backoff, jitter: f64, dice: f64, count: u32) -> Vec<f64> {
        let policy = Policy { backoff, jitter, ..Policy::default() };
        (0..count).map(|n| policy.wait(n, dice).as_secs_f64()).collect()
    }

    #[test]
    fn waits_follow_the_published_table() {
        assert_eq!(
            waits(Backoff::Exponential, 0.0, 0.7, 7),
            [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]
        );
        assert_eq!(
            waits(Backoff::Linear, 0.0, 0.7, 11),
            [10.0, 40.0, 70.0, 100.0, 130.0, 160.0, 190.0, 220.0, 250.0, 280.0, 300.0]
        );
        assert_eq!(waits(Backoff::Fixed, 0.0, 0.7, 3), [10.0, 10.0, 10.0]);
    }

    #[test]
    fn jitter_lengthens_a_wait_by_its_fraction_of_the_dice() {
        assert_eq!(waits(Backoff::Fixed, 0.1, 0.0, 1), [10.0]);
        assert_eq!(waits(Backoff::Fixed, 0.1, 0.5, 1), [10.5]);
        assert_eq!(waits(Backoff::Exponential, 0.1, 1.0, 6)[5], 330.0);
    }

    #[test]
    fn a_huge_retry_count_saturates() {
        let policy = Policy { jitter: 0.0, ..Policy::default() };
        assert_eq!(policy.wait(u32::MAX, 1.0), Duration::from_secs(300));
    }

    #[test]
    fn an_endpoint_overrides_what_it_names() {
        let own: PolicyOverride =
            serde_json::from_str(r#"{"max_retries": 2, "base_delay_seconds": 0.5}"#).unwrap();
        let policy = Policy::default().overridden(&own);
        assert!(policy.allows_retry(1) && !policy.allows_retry(2));
        assert_eq!(policy.wait(0, 0.0), Duration::from_millis(500));
        assert!(serde_json::from_str::<PolicyOverride>(r#"{"max_retry": 2}"#).is_err());
    }
}
