//! Endpoints that have something to send and no token of their rate limit for it, and when they are looked at.

use std::time::Instant;

use crate::{hashing::HashSet, id::EndpointId};

#[derive(Debug, Default)]
pub struct Thirst {
    ids: HashSet<EndpointId>,
    /// When one of them may go on, or ask; `None`: look.
    look_at: Option<Instant>,
}

impl Thirst {
    /// It has no token. Whoever is new is looked at at once.
    pub fn add(&mut self, id: EndpointId) {
        if self.ids.insert(id) {
            self.look_at = None;
        }
    }

    /// The endpoint is gone.
    pub fn forget(&mut self, id: EndpointId) {
        self.ids.remove(&id);
    }

    /// When there may be tokens for one of them.
    pub fn wake_at(&self) -> Option<Instant> {
        self.look_at.filter(|_| !self.ids.is_empty())
    }

    pub fn is_due(&self, now: Instant) -> bool {
        !self.ids.is_empty() && self.look_at.is_none_or(|at| now >= at)
    }

    /// Looks at all of them; those that are not thirsty any more leave.
    pub fn look(&mut self, mut is_thirsty: impl FnMut(EndpointId) -> bool) {
        self.ids.retain(|id| is_thirsty(*id));
    }

    /// They are looked at again then; `None`: at once.
    pub fn set_look_at(&mut self, at: Option<Instant>) {
        self.look_at = at;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whoever_is_new_is_looked_at_at_once_and_whoever_is_known_waits() {
        let now = Instant::now();
        let later = now + Duration::from_millis(100);
        let mut thirst = Thirst::default();
        assert!(!thirst.is_due(now), "nobody is thirsty");
        for (number, is_due) in [(1, true), (1, false), (2, true), (1, false)] {
            thirst.add(EndpointId(number));
            assert_eq!(thirst.is_due(now), is_due, "{number}");
            thirst.set_look_at(Some(later));
            assert_eq!(thirst.wake_at(), Some(later));
        }
        assert!(thirst.is_due(later));
        thirst.look(|id| id == EndpointId(2));
        assert_eq!(thirst.wake_at(), Some(later));
        thirst.forget(EndpointId(2));
        assert_eq!(thirst.wake_at(), None);
        assert!(!thirst.is_due(later));
    }
}
