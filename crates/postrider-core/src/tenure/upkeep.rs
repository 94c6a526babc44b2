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
