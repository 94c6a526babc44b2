//! When the log is looked at: over and over while something comes, and when somebody rings while nothing does.

use std::time::{Duration, Instant};

use super::chore::Chore;

/// A look that finds many rows is followed by a pause, so that the next one finds many, too; after few it comes at once.
const PAUSE: Duration = Duration::from_millis(5);
const SHORT_PAUSE: Duration = Duration::from_millis(1);
const MANY_ROWS: usize = 16;
/// So long after the last message we keep looking before senders have to ring: a commit that
/// notifies waits for every other one that does, the disk included.
const WAKEFUL: Duration = Duration::from_millis(20);
/// So long a dispatcher sleeps before it gives the doorbell back and tries again.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// While we sleep we look so often all the same: for rings that the network swallowed.
const ASLEEP_PAUSE: Duration = Duration::from_secs(1);

/// What is to be done with the doorbell's locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bellwork {
    Lock,
    Unlock,
}

/// Whether senders have to ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bell {
    /// We poll.
    Open,
    /// Trying to get all doorbell locks.
    Trying,
    /// Locked: one more look, then we may sleep.
    Armed,
    /// Sleeping until somebody rings, since then.
    Asleep(Instant),
}

#[derive(Debug)]
pub struct Watch {
    look: Chore,
    pause: Duration,
    /// No ring brings a look sooner.
    ring_at: Instant,
    /// When a look last found something, or somebody rang.
    active_at: Instant,
    bell: Bell,
    /// What is to be asked for, and whether it is under way: locking and unlocking must not overtake each other.
    work: Option<Bellwork>,
    is_at_bell: bool,
    /// The last look found nothing, and no try to sleep followed it. Without a look between two
    /// tries, a transaction that stays open after it has sent would keep us from reading.
    has_looked: bool,
    /// How far two looks are apart at most while we poll.
    longest_pause: Duration,
}

impl Watch {
    pub fn new(now: Instant, longest_pause: Duration) -> Watch {
        Watch {
            look: Chore::due(now),
            pause: SHORT_PAUSE,
            ring_at: now,
            active_at: now,
            bell: Bell::Open,
            work: None,
            is_at_bell: false,
            has_looked: false,
            longest_pause,
        }
    }

    /// When to look next, whoever rings.
    pub fn wake_at(&self) -> Option<Instant> {
        self.look.wake_at().filter(|_| self.bell != Bell::Trying)
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.wake_at().is_some_and(|at| now >= at)
    }

    pub fn is_looking(&self) -> bool {
        self.look.is_under_way()
    }

    pub fn is_asleep(&self) -> bool {
        matches!(self.bell, Bell::Asleep(_))
    }

    /// What is to be done with the doorbell now.
    pub fn take_work(&mut self) -> Option<Bellwork> {
        self.work.take()
    }

    // Looks -----------------------------------------------------------------------------------------

    pub fn begin(&mut self, now: Instant) {
        self.look.begin(now);
    }

    /// There was nothing to look at.
    pub fn pass(&mut self, now: Instant) {
        self.look.set_due(now + PAUSE);
    }

    /// A look says nothing: as if nobody had looked.
    pub fn repeat_after(&mut self, pause: Duration, now: Instant) {
        self.end(now);
        self.look.set_due(now + pause);
    }

    /// A look has found so many rows: soon again when there was something, sleeping when there was not.
    pub fn note_rows(&mut self, row_count: usize, now: Instant) {
        self.end(now);
        self.has_looked = row_count == 0;
        if row_count > 0 {
            self.active_at = now;
            self.pause = if row_count >= MANY_ROWS { PAUSE } else { SHORT_PAUSE };
            self.stay_awake();
        } else if self.bell == Bell::Armed {
            self.bell = Bell::Asleep(now);
        } else if let Bell::Asleep(since) = self.bell {
            // Whether the queue of notifications has room is asked when we try to sleep.
            if now >= since + LONGEST_SLEEP {
                self.stay_awake();
            }
        } else if self.bell == Bell::Open {
            let is_active = now.saturating_duration_since(self.active_at) < WAKEFUL;
            let longest = if is_active { PAUSE } else { self.longest_pause };
            self.pause = (self.pause * 3 / 2).min(longest);
        }
        let pause = if self.is_asleep() { ASLEEP_PAUSE } else { self.pause };
        self.look.set_due(now + pause);
    }

    fn end(&mut self, now: Instant) {
        self.look.end(now);
        self.ring_at = now + SHORT_PAUSE;
    }

    // Sleep -----------------------------------------------------------------------------------------

    /// Tries to sleep, when a look found nothing: senders shall ring from then on.
    pub fn try_to_sleep(&mut self, now: Instant) {
        let is_quiet = self.bell == Bell::Open
            && self.has_looked
            && now.saturating_duration_since(self.active_at) >= WAKEFUL
            && !self.is_at_bell
            && !self.is_looking();
        if is_quiet {
            self.bell = Bell::Trying;
            // A try that fails is repeated after the next look that finds nothing.
            self.has_looked = false;
            self.ask_for(Bellwork::Lock);
        }
    }

    /// What came of work at the doorbell.
    pub fn take_doorbell(&mut self, is_locked: bool, now: Instant) {
        self.is_at_bell = false;
        if self.bell != Bell::Trying {
            // Somebody rang meanwhile.
            if is_locked {
                self.ask_for(Bellwork::Unlock);
            }
        } else if is_locked {
            self.bell = Bell::Armed;
            self.look.set_due(now);
        } else {
            self.bell = Bell::Open;
            self.look.set_due(now + self.pause);
        }
    }

    /// Somebody rings. Anybody may, as often as they like.
    pub fn ring(&mut self, now: Instant) {
        self.active_at = now;
        self.pause = SHORT_PAUSE;
        self.look.set_due(now.max(self.ring_at));
        self.stay_awake();
    }

    /// There is something to look at.
    pub fn wake(&mut self, now: Instant) {
        self.look.set_due(now);
        self.stay_awake();
    }

    /// We are awake: senders need not ring.
    pub fn stay_awake(&mut self) {
        if matches!(self.bell, Bell::Armed | Bell::Asleep(_)) {
            self.ask_for(Bellwork::Unlock);
        }
        self.bell = Bell::Open;
    }

    fn ask_for(&mut self, work: Bellwork) {
        self.work = Some(work);
        self.is_at_bell = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watch that has looked at nothing for long enough, and that moment.
    fn quiet(began: Instant) -> (Watch, Instant) {
        let mut watch = Watch::new(began, Duration::from_millis(50));
        let now = began + WAKEFUL;
        watch.begin(now);
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), None, "it is looking");
        watch.note_rows(0, now);
        (watch, now)
    }

    /// One that sleeps.
    fn asleep(began: Instant) -> (Watch, Instant) {
        let (mut watch, now) = quiet(began);
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), Some(Bellwork::Lock));
        assert_eq!(watch.wake_at(), None, "nothing is looked at before the answer");
        watch.take_doorbell(true, now);
        assert!(watch.is_due(now) && !watch.is_asleep(), "one more look");
        watch.begin(now);
        watch.note_rows(0, now);
        assert!(watch.is_asleep());
        assert_eq!(watch.wake_at(), Some(now + ASLEEP_PAUSE));
        (watch, now)
    }

    #[test]
    fn whoever_sleeps_is_woken_by_a_ring_and_gives_the_doorbell_back() {
        let (mut watch, now) = asleep(Instant::now());
        let later = now + Duration::from_millis(500);
        watch.ring(later);
        assert!(watch.is_due(later));
        assert_eq!(watch.take_work(), Some(Bellwork::Unlock));
        watch.begin(later);
        watch.note_rows(0, later);
        // Nobody tries to sleep before it is given back, and before a while has passed.
        let quiet = later + WAKEFUL;
        watch.try_to_sleep(quiet);
        assert_eq!(watch.take_work(), None);
        watch.take_doorbell(false, quiet);
        watch.try_to_sleep(quiet);
        assert_eq!(watch.take_work(), Some(Bellwork::Lock));
    }

    #[test]
    fn a_row_keeps_it_awake_and_so_does_a_ring_before_the_doorbell_is_locked() {
        let (mut watch, now) = quiet(Instant::now());
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), Some(Bellwork::Lock));
        watch.ring(now);
        watch.take_doorbell(true, now);
        assert_eq!(watch.take_work(), Some(Bellwork::Unlock), "nobody sleeps on it");
        assert!(watch.wake_at().is_some_and(|at| at <= now + SHORT_PAUSE));
        watch.take_doorbell(false, now);
        watch.begin(now);
        watch.note_rows(1, now);
        let later = now + WAKEFUL;
        watch.try_to_sleep(later);
        assert_eq!(watch.take_work(), None, "the last look found something");
        watch.begin(later);
        watch.note_rows(MANY_ROWS, later);
        assert_eq!(watch.wake_at(), Some(later + PAUSE));
    }

    #[test]
    fn a_try_that_fails_is_repeated_after_another_look() {
        let (mut watch, now) = quiet(Instant::now());
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), Some(Bellwork::Lock));
        watch.take_doorbell(false, now);
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), None, "somebody may have sent");
        watch.begin(now);
        watch.note_rows(0, now);
        watch.try_to_sleep(now);
        assert_eq!(watch.take_work(), Some(Bellwork::Lock));
    }

    #[test]
    fn nobody_sleeps_for_longer_than_a_minute_and_looks_are_farther_and_farther_apart() {
        let (mut watch, now) = asleep(Instant::now());
        let late = now + LONGEST_SLEEP;
        for at in [now + ASLEEP_PAUSE, late] {
            assert!(watch.is_asleep());
            watch.begin(at);
            watch.note_rows(0, at);
        }
        assert_eq!(watch.take_work(), Some(Bellwork::Unlock));
        let mut at = late;
        let mut pauses = Vec::new();
        for _ in 0..20 {
            watch.begin(at);
            watch.note_rows(0, at);
            let next = watch.wake_at().unwrap();
            pauses.push(next - at);
            at = next;
        }
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&Duration::from_millis(50)));
    }
}
