//! Endpoints of which we have seen something that the others have not heard of, and when they are told.

use std::time::{Duration, Instant};

use crate::{hashing::HashSet, id::EndpointId};

/// So often we look for what others have to be told of.
const TELL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub struct Untold {
    ids: HashSet<EndpointId>,
    /// When there may be something to tell.
    tell_at: Option<Instant>,
}

impl Untold {
    /// There is something of the endpoint, for now or for before long.
    pub fn add(&mut self, id: EndpointId, is_urgent: bool, now: Instant) {
        self.ids.insert(id);
        let soonest = if is_urgent { now } else { now + TELL_INTERVAL };
        self.tell_at = Some(self.tell_at.map_or(soonest, |known| known.min(soonest)));
    }

    /// The endpoint is gone.
    pub fn forget(&mut self, id: EndpointId) {
        self.ids.remove(&id);
    }

    pub fn has(&self, id: EndpointId) -> bool {
        self.ids.contains(&id)
    }

    pub fn wake_at(&self) -> Option<Instant> {
        self.tell_at
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.tell_at.is_some_and(|at| now >= at)
    }

    /// Looks at all of them; those of which nothing is left to be told leave.
    pub fn look(&mut self, now: Instant, mut is_untold: impl FnMut(EndpointId) -> bool) {
        self.ids.retain(|id| is_untold(*id));
        self.tell_at = (!self.ids.is_empty()).then(|| now + TELL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_urgent_is_told_at_once_and_the_rest_before_long() {
        let now = Instant::now();
        let soon = now + TELL_INTERVAL;
        let (one, two) = (EndpointId(1), EndpointId(2));
        let mut untold = Untold::default();
        assert_eq!(untold.wake_at(), None);
        for (id, is_urgent, wake_at) in [(one, false, soon), (two, true, now), (one, false, now)] {
            untold.add(id, is_urgent, now);
            assert_eq!(untold.wake_at(), Some(wake_at), "{id:?}");
        }
        assert!(untold.is_due(now));
        untold.look(now, |id| id == one);
        assert_eq!(untold.wake_at(), Some(soon), "something is left");
        assert!(untold.has(one) && !untold.has(two) && !untold.is_due(now));
        untold.look(soon, |_| false);
        assert_eq!(untold.wake_at(), None);
    }
}
