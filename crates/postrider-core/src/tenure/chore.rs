//! Something that is done over and over, once at a time: when it is due, and whether it is under way.
//!
//! Some of it can be rung for. Anybody may notify, as often as they like. Whoever rings is served at once, but no sooner
//! than a while after the last answer: all who ring before that are served together.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct Chore {
    /// When it is due, whether somebody rings or not. None: only when somebody does.
    due_at: Option<Instant>,
    is_under_way: bool,
    /// None: nobody rings for it.
    ring: Option<Ring>,
    /// What comes of all that. It is asked at each step, and changes seldom.
    wake_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Ring {
    /// Somebody rang, and it was not begun since.
    is_rung: bool,
    earliest_at: Instant,
    pause: Duration,
}

impl Chore {
    /// One that is due then.
    pub fn due(at: Instant) -> Chore {
        Chore { due_at: Some(at), is_under_way: false, ring: None, wake_at: Some(at) }
    }

    /// One that is due now, and whenever somebody rings for it: with so long a pause after each answer.
    pub fn due_or_rung(now: Instant, pause: Duration) -> Chore {
        let ring = Ring { is_rung: false, earliest_at: now, pause };
        Chore { ring: Some(ring), ..Chore::due(now) }
    }

    /// One that is due when somebody rings for it.
    pub fn rung(now: Instant, pause: Duration) -> Chore {
        Chore { due_at: None, wake_at: None, ..Chore::due_or_rung(now, pause) }
    }

    pub fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// When it is to be begun. None: it is under way, or waits for a ring.
    pub fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    fn settle(&mut self) {
        let rung_at = self.ring.filter(|ring| ring.is_rung).map(|ring| ring.earliest_at);
        let at = [self.due_at, rung_at].into_iter().flatten().min();
        self.wake_at = at.filter(|_| !self.is_under_way);
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.wake_at().is_some_and(|at| now >= at)
    }

    /// Whether it is due. Then it is done at once, and due again then.
    pub fn take_turn(&mut self, now: Instant, next_at: Instant) -> bool {
        let is_due = self.is_due(now);
        if is_due {
            self.set_due(next_at);
        }
        is_due
    }

    /// Somebody rings.
    pub fn ring(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.is_rung = true;
            self.settle();
        }
    }

    /// It is under way from now on, and due again then.
    pub fn begin(&mut self, next_at: Instant) {
        self.due_at = self.due_at.map(|_| next_at);
        self.start();
    }

    /// It is under way from now on, and due again when it was to be.
    pub fn start(&mut self) {
        self.is_under_way = true;
        if let Some(ring) = &mut self.ring {
            // Whoever rings from now on may know of more than the answer does.
            ring.is_rung = false;
        }
        self.settle();
    }

    pub fn end(&mut self, now: Instant) {
        self.is_under_way = false;
        if let Some(ring) = &mut self.ring {
            ring.earliest_at = now + ring.pause;
        }
        self.settle();
    }

    /// It is due then, whatever was said before.
    pub fn set_due(&mut self, at: Instant) {
        self.due_at = Some(at);
        self.settle();
    }

    /// It is due then at the latest.
    pub fn hurry(&mut self, at: Instant) {
        self.due_at = Some(self.due_at.map_or(at, |due_at| due_at.min(at)));
        self.settle();
    }

    /// It is due then at the earliest.
    pub fn put_off(&mut self, at: Instant) {
        self.due_at = self.due_at.map(|due_at| due_at.max(at));
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_when_it_is_time_or_somebody_rings_and_not_while_it_is_under_way() {
        let now = Instant::now();
        let ms = |ms| now + Duration::from_millis(ms);
        let mut chore = Chore::due_or_rung(now, Duration::from_millis(100));
        assert!(chore.is_due(now));
        chore.begin(ms(2_000));
        chore.ring();
        assert_eq!(chore.wake_at(), None, "nobody wakes for it");
        chore.end(ms(30));
        assert_eq!(chore.wake_at(), Some(ms(130)), "after a pause");
        chore.begin(ms(2_000));
        chore.end(ms(140));
        assert_eq!(chore.wake_at(), Some(ms(2_000)));
        chore.hurry(ms(3_000));
        chore.put_off(ms(1_000));
        assert_eq!(chore.wake_at(), Some(ms(2_000)));
        chore.hurry(ms(1_000));
        assert!(!chore.is_due(ms(999)) && chore.is_due(ms(1_000)));
        chore.put_off(ms(4_000));
        assert_eq!(chore.wake_at(), Some(ms(4_000)));
        chore.set_due(ms(500));
        assert_eq!(chore.wake_at(), Some(ms(500)));
        let turns = [499, 500, 501].map(|at| chore.take_turn(ms(at), ms(700)));
        assert_eq!((turns, chore.wake_at()), ([false, true, false], Some(ms(700))));
    }

    #[test]
    fn one_that_is_only_rung_for_waits_for_that() {
        let now = Instant::now();
        let mut chore = Chore::rung(now, Duration::from_millis(50));
        chore.put_off(now);
        assert_eq!(chore.wake_at(), None);
        chore.ring();
        assert!(chore.is_due(now));
        chore.begin(now);
        chore.end(now);
        assert_eq!(chore.wake_at(), None);
        let mut quiet = Chore::due(now + Duration::from_secs(1));
        quiet.ring();
        assert!(!quiet.is_due(now), "nobody can ring for it");
    }
}
