//! Delivery policies: how long a failed delivery waits, and when it has failed for good.
//!
//! Waits are whole milliseconds, rounded half up. `retry_count` is the number of retries already
//! scheduled: 0 at the first attempt. A delivery is dead when an attempt fails and
//! `retry_count >= max_retries`. What people write is read by [`OwnPolicy`], which of several applies
//! is said by [`choose`]; `sql/functions/policy/retry_waits.sql` computes the same waits.

mod choice;
mod parse;
mod phases;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

pub use choice::{Rule, choose};
pub use parse::{OwnPolicy, Place, PolicyError};

/// No policy has more retries.
pub const RETRIES_MAX: u32 = 1_000;
/// The waits of a list do not add up to more: 30 days.
pub const TOTAL_WAIT_MAX: Duration = Duration::from_secs(30 * 86_400);
/// What a policy that may have jitter and does not mention it has.
pub const DEFAULT_JITTER: f64 = 0.1;

/// How the waits of a simple policy grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    /// min(max, base × 2ⁿ)
    Exponential,
    /// min(max, base + n × increment)
    Linear,
    /// base
    Fixed,
}

/// A policy that is a formula. Every field has its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simple {
    pub max_retries: u32,
    pub backoff: Backoff,
    pub base_delay: Duration,
    pub max_delay: Duration,
    pub increment: Duration,
    /// 0 to 1: the wait is multiplied by 1 + jitter × dice.
    pub jitter: f64,
}

/// A policy that is a list of waits, one for each retry: a schedule, a preset, or phases.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    waits: Arc<[Duration]>,
    /// 0 to 1, as in [`Simple`].
    jitter: f64,
}

/// A complete policy; cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    Simple(Simple),
    Listed(Listed),
}

impl Default for Simple {
    /// The defaults of the settings: 10 retries, exponential from 10 s to 300 s, jitter 0.1.
    fn default() -> Simple {
        Simple {
            max_retries: 10,
            backoff: Backoff::Exponential,
            base_delay: Duration::from_secs(10),
            max_delay: Duration::from_secs(300),
            increment: Duration::from_secs(30),
            jitter: DEFAULT_JITTER,
        }
    }
}

impl Simple {
    fn wait(&self, retry_count: u32) -> Duration {
        match self.backoff {
            Backoff::Exponential => {
                let factor = 2u32.checked_pow(retry_count).unwrap_or(u32::MAX);
                self.base_delay.saturating_mul(factor).min(self.max_delay)
            }
            Backoff::Linear => {
                let grown = self.increment.saturating_mul(retry_count);
                self.base_delay.saturating_add(grown).min(self.max_delay)
            }
            Backoff::Fixed => self.base_delay,
        }
    }
}

impl Policy {
    /// How many retries there are before a delivery has failed for good.
    pub fn max_retries(&self) -> u32 {
        match self {
            Policy::Simple(simple) => simple.max_retries,
            Policy::Listed(listed) => listed.waits.len() as u32,
        }
    }

    /// By which part of itself a wait may be longer, 0 to 1.
    pub fn jitter(&self) -> f64 {
        match self {
            Policy::Simple(simple) => simple.jitter,
            Policy::Listed(listed) => listed.jitter,
        }
    }

    /// Whether a delivery that failed with so many retries behind it may be tried again.
    pub fn allows_retry(&self, retry_count: u32) -> bool {
        retry_count < self.max_retries()
    }

    /// How long the retry after `retry_count` earlier ones waits; `dice` is uniform in 0 to 1. With
    /// the dice at 0 this is the wait without jitter. A retry that the policy does not allow waits as
    /// long as the last one that it does.
    pub fn wait(&self, retry_count: u32, dice: f64) -> Duration {
        let exact = match self {
            Policy::Simple(simple) => simple.wait(retry_count),
            Policy::Listed(Listed { waits, .. }) => {
                let wait = waits.get(retry_count as usize).or(waits.last());
                wait.copied().unwrap_or_default()
            }
        };
        let milliseconds = exact.as_millis() as f64 * (1.0 + self.jitter() * dice);
        Duration::from_millis((milliseconds + 0.5).floor() as u64)
    }

    /// The waits of all retries, without jitter.
    pub fn waits(&self) -> Vec<Duration> {
        (0..self.max_retries()).map(|retry_count| self.wait(retry_count, 0.0)).collect()
    }
}
