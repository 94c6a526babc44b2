//! Keeping up with what others do: endpoints, settings, circuits, what waits, tokens and loans.

use std::time::{Duration, Instant};

use super::chore::Chore;

/// Whoever rings waits so long after what was only read last.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// The same after loans: so soon who got nothing asks again, and reads them then. Several who lend ring one after
/// another.
const LOAN_PAUSE: Duration = Duration::from_millis(50);

/// Each is done once at a time.
#[derive(Debug)]
pub struct Upkeep {
    pub endpoints: Chore,
    pub settings: Chore,
    pub circuits: Chore,
    /// Asks when something is due next.
    pub ahead: Chore,
    /// A trade that is begun because somebody rang for loans.
    pub loans: Chore,
    pub maintenance: Chore,
    /// Sets aside what is queued for endpoints that do not answer.
    pub room: Chore,
    pub is_telling: bool,
    pub is_asking_for_tokens: bool,
}

impl Upkeep {
    pub fn new(now: Instant) -> Upkeep {
        Upkeep {
            endpoints: Chore::due_or_rung(now, LOOK_PAUSE),
            settings: Chore::due_or_rung(now, LOOK_PAUSE),
            circuits: Chore::due_or_rung(now, LOOK_PAUSE),
            ahead: Chore::due_or_rung(now, LOOK_PAUSE),
            loans: Chore::rung(now, LOAN_PAUSE),
            maintenance: Chore::due(now),
            room: Chore::due(now),
            is_telling: false,
            is_asking_for_tokens: false,
        }
    }

    /// When the first of them is to be begun. `is_room_short`: it is worth waking up to make some.
    pub fn wake_at(
        &self,
        has_active: bool,
        may_trade: bool,
        is_room_short: bool,
    ) -> Option<Instant> {
        let always = [&self.endpoints, &self.settings, &self.circuits, &self.maintenance];
        let at = always.into_iter().filter_map(Chore::wake_at).min();
        let ahead_at = self.ahead.wake_at().filter(|_| has_active);
        let loans_at = self.loans.wake_at().filter(|_| may_trade);
        let room_at = self.room.wake_at().filter(|_| is_room_short);
        [at, ahead_at, loans_at, room_at].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody wakes for what could not be begun then: it would wake again and again.
    #[test]
    fn some_of_it_is_woken_for_only_when_it_can_be_begun() {
        let now = Instant::now();
        let ms = |ms| now + Duration::from_millis(ms);
        let mut upkeep = Upkeep::new(now);
        assert_eq!(upkeep.wake_at(false, false, false), Some(now), "all is read at first");
        let Upkeep { endpoints, settings, circuits, maintenance, .. } = &mut upkeep;
        for (chore, at) in [(endpoints, 900), (settings, 800), (circuits, 700), (maintenance, 600)]
        {
            chore.set_due(ms(at));
        }
        upkeep.ahead.set_due(ms(300));
        upkeep.loans.set_due(ms(200));
        upkeep.room.set_due(ms(100));
        for (has_active, may_trade, is_room_short, expected) in [
            (false, false, false, 600),
            (true, false, false, 300),
            (true, true, false, 200),
            (false, true, true, 100),
            (false, false, true, 100),
        ] {
            let at = upkeep.wake_at(has_active, may_trade, is_room_short);
            assert_eq!(at, Some(ms(expected)), "{has_active} {may_trade} {is_room_short}");
        }
        // Each of the four that are always done is woken for.
        for expected in [600, 700, 800, 900] {
            assert_eq!(upkeep.wake_at(false, false, false), Some(ms(expected)));
            let Upkeep { endpoints, settings, circuits, maintenance, .. } = &mut upkeep;
            let mut chores = [endpoints, settings, circuits, maintenance].into_iter();
            let first = chores.find(|chore| chore.wake_at() == Some(ms(expected)));
            first.expect("it is due then").start();
        }
        assert_eq!(upkeep.wake_at(false, false, false), None);
    }

    #[test]
    fn loans_are_read_when_somebody_rings_for_them_and_no_sooner_than_a_while_after_the_last() {
        let now = Instant::now();
        let mut upkeep = Upkeep::new(now);
        assert_eq!(upkeep.loans.wake_at(), None);
        for (pause, chore) in [(LOAN_PAUSE, &mut upkeep.loans), (LOOK_PAUSE, &mut upkeep.settings)]
        {
            chore.begin(now + LOOK_PAUSE * 100);
            chore.ring();
            chore.end(now);
            assert_eq!(chore.wake_at(), Some(now + pause));
        }
    }
}
