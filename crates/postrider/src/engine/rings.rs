//! What notifications ask for, and how soon it is asked of the database.
//!
//! Anybody may notify, as often as they like. Whoever rings is served at once, but no sooner than a while after the
//! last answer: all who ring before that are served together.

use std::time::Duration;

use tokio::time::Instant;

/// After a heartbeat, which writes, and which those of others wait for when somebody takes shards over.
const BEAT_PAUSE: Duration = Duration::from_millis(200);
/// After what is only read.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// After loans: so soon who got nothing asks again, and reads them then. Several who lend ring one after another.
const LOAN_PAUSE: Duration = Duration::from_millis(50);

/// One thing that is rung for.
#[derive(Debug, Clone, Copy)]
pub struct Ring {
    /// Somebody rang, and it was not asked for since.
    is_rung: bool,
    earliest_at: Instant,
    pause: Duration,
}

/// All that is rung for.
#[derive(Debug, Clone, Copy)]
pub struct Rings {
    pub shards: Ring,
    pub endpoints: Ring,
    pub settings: Ring,
    pub circuits: Ring,
    pub deferred: Ring,
    pub loans: Ring,
}

impl Rings {
    pub fn new(now: Instant) -> Rings {
        let ring = |pause| Ring { is_rung: false, earliest_at: now, pause };
        Rings {
            shards: ring(BEAT_PAUSE),
            endpoints: ring(LOOK_PAUSE),
            settings: ring(LOOK_PAUSE),
            circuits: ring(LOOK_PAUSE),
            deferred: ring(LOOK_PAUSE),
            loans: ring(LOAN_PAUSE),
        }
    }
}

impl Ring {
    /// Somebody rings.
    pub fn ring(&mut self) {
        self.is_rung = true;
    }

    /// When it is to be asked for, if somebody rang.
    pub fn at(&self) -> Option<Instant> {
        self.is_rung.then_some(self.earliest_at)
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.at().is_some_and(|at| now >= at)
    }

    /// It is asked for. Whoever rings from now on may know of more than the answer does.
    pub fn ask(&mut self) {
        self.is_rung = false;
    }

    pub fn answer(&mut self, now: Instant) {
        self.earliest_at = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_heeded_at_once_and_the_next_ones_together_after_a_pause() {
        let now = Instant::now();
        for ring in [Rings::new(now).shards, Rings::new(now).loans] {
            heeds_with_pauses(ring, now);
        }
    }

    fn heeds_with_pauses(mut ring: Ring, now: Instant) {
        let ms = |ms| now + Duration::from_millis(ms);
        let pause = ring.pause.as_millis() as u64;
        assert_eq!(ring.at(), None);
        ring.ring();
        assert!(ring.is_due(now));
        ring.ask();
        // While it is asked for.
        ring.ring();
        ring.answer(ms(30));
        assert_eq!(ring.at(), Some(ms(30 + pause)));
        assert!(!ring.is_due(ms(29 + pause)) && ring.is_due(ms(30 + pause)));
        ring.ask();
        ring.answer(ms(40 + pause));
        assert_eq!(ring.at(), None);
        // It was quiet for long enough.
        ring.ring();
        assert!(ring.is_due(ms(40 + 2 * pause)));
    }
}
