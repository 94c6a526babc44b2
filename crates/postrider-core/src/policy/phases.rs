//! Policies in four phases: at once, at the minimum delay, from the minimum to the maximum, at the
//! maximum. Each ends early when an attempt succeeds.

use std::time::Duration;

use super::RETRIES_MAX;

/// The step of a linear backoff phase whose number of retries is not given, in seconds.
const LINEAR_STEP: u64 = 5;

/// How the backoff phase grows from the minimum to the maximum delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    Linear,
    Arithmetic,
    Geometric,
}

/// The four phases. Delays are in seconds, and the minimum is not greater than the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    pub retries_with_no_delay: u32,
    pub minimum_delay_retries: u32,
    pub minimum_delay: u32,
    pub maximum_delay: u32,
    pub maximum_delay_retries: u32,
    pub curve: Curve,
    /// How many retries the backoff phase has; `None`: as many as its delays ask for.
    pub backoff_retries: Option<u32>,
}

impl Phases {
    /// How many retries there are in all.
    pub fn retry_count(&self) -> u64 {
        u64::from(self.retries_with_no_delay)
            + u64::from(self.minimum_delay_retries)
            + self.backoff_count()
            + u64::from(self.maximum_delay_retries)
    }

    /// The waits before all retries, of which there are at most [`RETRIES_MAX`].
    pub fn waits(&self) -> Vec<Duration> {
        assert!(self.retry_count() <= u64::from(RETRIES_MAX), "{self:?}");
        let phase = |count: u32, seconds: u32| {
            std::iter::repeat_n(Duration::from_secs(seconds.into()), count as usize)
        };
        phase(self.retries_with_no_delay, 0)
            .chain(phase(self.minimum_delay_retries, self.minimum_delay))
            .chain((1..=self.backoff_count()).map(|number| self.backoff(number)))
            .chain(phase(self.maximum_delay_retries, self.maximum_delay))
            .collect()
    }

    fn has_fixed_step(&self) -> bool {
        self.curve == Curve::Linear && self.backoff_retries.is_none()
    }

    fn span(&self) -> u64 {
        u64::from(self.maximum_delay - self.minimum_delay)
    }

    fn backoff_count(&self) -> u64 {
        match self.backoff_retries {
            Some(count) => count.into(),
            // From the minimum to the maximum, both included.
            None if self.has_fixed_step() => self.span().div_ceil(LINEAR_STEP) + 1,
            None => (self.span() / LINEAR_STEP).max(1),
        }
    }

    /// The wait before the retry of this number, from 1, of the backoff phase.
    fn backoff(&self, number: u64) -> Duration {
        let minimum = u64::from(self.minimum_delay);
        let count = self.backoff_count();
        let (passed, steps) = (number - 1, count - 1);
        // Of the way from the minimum to the maximum.
        let part = |numerator: u64, denominator: u64| {
            let way = self.span() * 1_000 * numerator;
            Duration::from_millis(minimum * 1_000 + (2 * way + denominator) / (2 * denominator))
        };
        match self.curve {
            Curve::Linear if self.has_fixed_step() => {
                let seconds = minimum + LINEAR_STEP * passed;
                Duration::from_secs(seconds.min(self.maximum_delay.into()))
            }
            Curve::Geometric => {
                // A geometric row that starts at 0 stays there.
                let first = self.minimum_delay.max(1).min(self.maximum_delay);
                let ratio = f64::from(self.maximum_delay) / f64::from(first.max(1));
                let exponent = if count == 1 { 0.0 } else { passed as f64 / steps as f64 };
                let seconds = f64::from(first) * ratio.powf(exponent);
                Duration::from_millis((seconds * 1_000.0 + 0.5).floor() as u64)
            }
            _ if count == 1 => Duration::from_secs(minimum),
            Curve::Linear => part(passed, steps),
            Curve::Arithmetic => part(passed * number, steps * count),
        }
    }
}
