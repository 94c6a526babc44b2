//! When this machine stood still, as machines of tests do for some seconds now and then: leases end then, whatever is
//! proven, and what was not on record yet comes twice.
//!
//! A thread that does nothing but wake up is the control: what it overslept, everybody has.

use std::{
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::ledger::{Fault, FaultKind, Ledger};

/// How long it sleeps.
const LOOK: Duration = Duration::from_millis(50);
/// Whoever wakes up so late has not been waiting for a processor.
const STILL: Duration = Duration::from_secs(1);
/// So long before and after a fault something may be under way that is noted or recorded late, if the machine stands still.
const NEAR: Duration = Duration::from_secs(3);

/// A thread that looks until this goes.
#[derive(Debug)]
pub struct Stillness {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Range<Instant>>>>,
}

impl Stillness {
    /// Begins to look.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn watch() -> io::Result<Stillness> {
        let is_over = Arc::new(AtomicBool::new(false));
        let looks = Arc::clone(&is_over);
        let thread =
            std::thread::Builder::new().name("stillness".to_owned()).spawn(move || look(&looks))?;
        Ok(Stillness { is_over, thread: Some(thread) })
    }

    /// When it stood still since then.
    pub fn stop(mut self) -> Vec<Range<Instant>> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    /// Enters what excuses duplicates into a ledger that has all other faults.
    pub fn record_into(self, ledger: &mut Ledger, lease: Duration) {
        let faults = self.faults(lease, ledger.faults());
        faults.into_iter().for_each(|fault| ledger.fault(fault));
    }

    /// The same as what excuses duplicates: what can have ended a lease of this length, and what made others of these
    /// faults worse.
    pub fn faults(self, lease: Duration, others: &[Fault]) -> Vec<Fault> {
        let still = self.stop();
        let has_excuse = |time: &&Range<Instant>| {
            can_end_a_lease(time, &still, lease) || is_beside_one(time, others)
        };
        let fault = |time: &Range<Instant>| {
            Fault::new(FaultKind::StoodStill, "the machine", time.start).until(time.end)
        };
        still.iter().filter(has_excuse).map(fault).collect()
    }
}

impl Drop for Stillness {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Whether it stood still for a quarter of a lease then, together with what is no further away than a lease. Who renews in
/// time has more than that left.
fn can_end_a_lease(time: &Range<Instant>, still: &[Range<Instant>], lease: Duration) -> bool {
    let is_near = |other: &&Range<Instant>| {
        other.start <= time.end + lease && time.start <= other.end + lease
    };
    let together: Duration =
        still.iter().filter(is_near).map(|other| other.end - other.start).sum();
    together >= lease / 4
}

/// Whether it stood still so near to a fault that what was under way then was noted or recorded late.
fn is_beside_one(time: &Range<Instant>, faults: &[Fault]) -> bool {
    faults.iter().any(|fault| fault.at <= time.end + NEAR && time.start <= fault.until + NEAR)
}

fn look(is_over: &AtomicBool) -> Vec<Range<Instant>> {
    let mut still = Vec::new();
    let mut before = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        let now = Instant::now();
        if now - before > STILL {
            still.push(before..now);
        }
        before = now;
    }
    still
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_no_lease_excuses_nothing() {
        let origin = Instant::now();
        let at = |milliseconds| origin + Duration::from_millis(milliseconds);
        let still = [
            at(0)..at(1_100),
            at(20_000)..at(21_300),
            at(60_000)..at(61_100),
            at(64_000)..at(65_100),
        ];
        let ends = |seconds| {
            let lease = Duration::from_secs(seconds);
            let ends = still.iter().map(|time| can_end_a_lease(time, &still, lease));
            ends.collect::<Vec<_>>()
        };
        assert_eq!(ends(5), [false, true, true, true]);
        assert_eq!(ends(8), [false, false, true, true]);
        assert_eq!(ends(12), [false; 4]);

        let kill = Fault::new(FaultKind::ProcessKilled, "dispatcher", at(19_000));
        let beside = still.iter().map(|time| is_beside_one(time, std::slice::from_ref(&kill)));
        assert_eq!(beside.collect::<Vec<_>>(), [false, true, false, false]);
    }
}
