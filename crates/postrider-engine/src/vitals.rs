//! What this process knows of itself: whether its loop lives, whether it delivers, whether it is stopping.
//!
//! Written by the engine and read by the listener, which runs in a thread of its own: nothing here waits, and nobody
//! asks the database.

use std::{
    sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A loop that has said nothing for so long hangs. Its lease is lost about then, too.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// How often the runtime that delivers says that it lives.
pub const PULSE: Duration = Duration::from_secs(1);

const CONNECTING: u8 = 0;
const DELIVERING: u8 = 1;

/// The signs of life of one process.
#[derive(Debug)]
pub struct Vitals {
    began: Instant,
    phase: AtomicU8,
    is_draining: AtomicBool,
    /// Milliseconds since `began`: of the loop of the present tenure, of the runtime that it runs in, and until when
    /// its lease lasts.
    loop_ms: AtomicU64,
    runtime_ms: AtomicU64,
    fence_ms: AtomicU64,
}

/// Why a process is not ready to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unready {
    /// It was asked to stop.
    Draining,
    /// It has no connection to the database, or no tenure yet.
    Connecting,
    /// Its lease has run out, and it has not noticed.
    LeaseOver,
}

impl Default for Vitals {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            phase: AtomicU8::new(CONNECTING),
            is_draining: AtomicBool::new(false),
            loop_ms: AtomicU64::new(0),
            runtime_ms: AtomicU64::new(0),
            fence_ms: AtomicU64::new(0),
        }
    }
}

impl Vitals {
    /// The runtime that delivers gives its tasks their turn.
    pub fn pulse(&self) {
        self.runtime_ms.store(self.milliseconds(Instant::now()), Ordering::Relaxed);
    }

    /// The loop of a tenure goes round, and its lease lasts until `fence`.
    pub fn beat(&self, fence: Instant) {
        let now = self.milliseconds(Instant::now());
        self.loop_ms.store(now, Ordering::Relaxed);
        self.fence_ms.store(self.milliseconds(fence), Ordering::Relaxed);
        self.phase.store(DELIVERING, Ordering::Release);
    }

    /// The tenure is over.
    pub fn end_tenure(&self) {
        self.phase.store(CONNECTING, Ordering::Release);
    }

    /// The process was asked to stop.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// Whether what should go round does, whatever the database does.
    pub fn is_alive(&self, now: Instant) -> bool {
        let silence =
            |at: &AtomicU64| self.milliseconds(now).saturating_sub(at.load(Ordering::Relaxed));
        let longest = SILENCE_MAX.as_millis() as u64;
        let is_delivering = self.phase.load(Ordering::Acquire) == DELIVERING;
        silence(&self.runtime_ms) <= longest
            && (!is_delivering || silence(&self.loop_ms) <= longest)
    }

    /// Whether it delivers now.
    ///
    /// # Errors
    ///
    /// Why it does not.
    pub fn readiness(&self, now: Instant) -> Result<(), Unready> {
        if self.is_draining.load(Ordering::Acquire) {
            Err(Unready::Draining)
        } else if self.phase.load(Ordering::Acquire) != DELIVERING {
            Err(Unready::Connecting)
        } else if self.milliseconds(now) >= self.fence_ms.load(Ordering::Relaxed) {
            Err(Unready::LeaseOver)
        } else {
            Ok(())
        }
    }

    fn milliseconds(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_is_silent_is_dead_and_one_that_connects_is_not() {
        let vitals = Vitals::default();
        let later = |seconds| Instant::now() + Duration::from_secs(seconds);
        vitals.pulse();
        assert!(vitals.is_alive(later(1)) && !vitals.is_alive(later(60)));
        vitals.beat(later(10));
        // The runtime goes on, the loop does not.
        vitals.runtime_ms.store(u64::MAX / 2, Ordering::Relaxed);
        assert!(vitals.is_alive(later(1)) && !vitals.is_alive(later(60)));
        vitals.end_tenure();
        assert!(vitals.is_alive(later(60)), "the database may be away for as long as it likes");
    }

    #[test]
    fn ready_is_who_has_a_lease_and_is_not_stopping() {
        let vitals = Vitals::default();
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(vitals.readiness(now), Err(Unready::Connecting));
        vitals.beat(later(10));
        assert_eq!(vitals.readiness(now), Ok(()));
        assert_eq!(vitals.readiness(later(11)), Err(Unready::LeaseOver));
        vitals.end_tenure();
        assert_eq!(vitals.readiness(now), Err(Unready::Connecting));
        vitals.beat(later(10));
        vitals.drain();
        assert_eq!(vitals.readiness(now), Err(Unready::Draining));
    }
}
