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

use crate::ledger::{Fault, FaultKind};

/// How long it sleeps.
const LOOK: Duration = Duration::from_millis(50);
/// Whoever wakes up so late has not been waiting for a processor.
const STILL: Duration = Duration::from_secs(1);

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

    /// The same as what excuses duplicates.
    pub fn faults(self) -> Vec<Fault> {
        let fault = |time: Range<Instant>| {
            Fault::new(FaultKind::StoodStill, "the machine", time.start).until(time.end)
        };
        self.stop().into_iter().map(fault).collect()
    }
}

impl Drop for Stillness {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
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
