//! Endpoints that are left alone: because their circuit is not closed, or because they asked for it.

use std::time::Instant;

use crate::{hashing::HashSet, id::EndpointId};

#[derive(Debug, Default)]
pub struct Rests {
    /// Endpoints whose circuit is not closed.
    open: HashSet<EndpointId>,
    /// Endpoints that have a pause or a cooldown, which ends by itself.
    paused: HashSet<EndpointId>,
    /// When the first of those ends.
    next_end: Option<Instant>,
}

impl Rests {
    /// Its circuit is closed, or is not. Whether that is news.
    pub fn note_circuit(&mut self, id: EndpointId, is_closed: bool) -> bool {
        match is_closed {
            true => self.open.remove(&id),
            false => self.open.insert(id),
        }
    }

    /// It has a pause or a cooldown until then.
    pub fn pause(&mut self, id: EndpointId, until: Instant) {
        self.paused.insert(id);
        self.next_end = Some(self.next_end.map_or(until, |next| next.min(until)));
    }

    /// The endpoint is gone.
    pub fn forget(&mut self, id: EndpointId) {
        self.open.remove(&id);
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = EndpointId> {
        self.open.union(&self.paused).copied()
    }

    /// When the first pause or cooldown ends.
    pub fn next_end(&self) -> Option<Instant> {
        self.next_end
    }

    /// Those whose pause or cooldown is over. `until`: when an endpoint's ends, as is known by now.
    pub fn take_ended(
        &mut self,
        now: Instant,
        until: impl Fn(EndpointId) -> Option<Instant>,
    ) -> Vec<EndpointId> {
        let mut ended = Vec::new();
        if self.next_end.is_none_or(|next| now < next) {
            return ended;
        }
        let mut next: Option<Instant> = None;
        for id in &self.paused {
            match until(*id).filter(|at| *at > now) {
                None => ended.push(*id),
                Some(at) => next = Some(next.map_or(at, |known| known.min(at))),
            }
        }
        self.next_end = next;
        for id in &ended {
            self.paused.remove(id);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pause_ends_when_it_is_over_by_what_is_known_then() {
        let now = Instant::now();
        let ms = |ms| now + Duration::from_millis(ms);
        let (one, two, three) = (EndpointId(1), EndpointId(2), EndpointId(3));
        let mut rests = Rests::default();
        for (id, until) in [(one, 200), (two, 100), (three, 100)] {
            rests.pause(id, ms(until));
        }
        assert_eq!(rests.next_end(), Some(ms(100)));
        assert!(rests.take_ended(ms(99), |_| None).is_empty(), "nobody is looked at before");
        // The second has been extended, and the third is gone.
        let until = |id: EndpointId| match id.0 {
            1 => Some(ms(200)),
            2 => Some(ms(300)),
            _ => None,
        };
        assert_eq!(rests.take_ended(ms(100), until), [three]);
        assert_eq!(rests.next_end(), Some(ms(200)));
        assert_eq!(rests.take_ended(ms(250), until), [one]);
        assert_eq!(rests.take_ended(ms(300), until), [two]);
        assert_eq!((rests.next_end(), rests.all().count()), (None, 0));
    }

    #[test]
    fn a_circuit_is_news_when_it_changes_and_each_endpoint_is_left_alone_once() {
        let mut rests = Rests::default();
        for (number, is_closed, is_news) in
            [(1, true, false), (1, false, true), (1, false, false), (2, false, true)]
        {
            assert_eq!(rests.note_circuit(EndpointId(number), is_closed), is_news, "{number}");
        }
        rests.pause(EndpointId(1), Instant::now());
        assert_eq!(rests.all().count(), 2);
        assert!(rests.note_circuit(EndpointId(2), true));
        assert_eq!(rests.all().collect::<Vec<_>>(), [EndpointId(1)]);
        rests.forget(EndpointId(1));
        assert_eq!(rests.all().count(), 1, "its pause ends by itself");
    }
}
