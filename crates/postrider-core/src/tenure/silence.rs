//! Who has been silent for the time of a lease: told by our own clock, for the database's may be set back or
//! forward.

use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::{hashing::HashMap, lease::Beat};

/// The newest heartbeats of the other dispatchers, and since when each is known.
#[derive(Debug, Default)]
pub struct Silence(HashMap<Uuid, (Beat, Instant)>);

impl Silence {
    /// These are the newest, as an answer says that came just now. Who is not among them is gone.
    pub fn note(&mut self, newest: &[Beat], answered: Instant) {
        let former = std::mem::take(&mut self.0);
        let since = |beat: &Beat| match former.get(&beat.dispatcher) {
            Some((known, since)) if known.seq == beat.seq => *since,
            _ => answered,
        };
        self.0 = newest.iter().map(|beat| (beat.dispatcher, (*beat, since(beat)))).collect();
    }

    /// Those whose newest heartbeat has been the same for as long as the lease lasts that it was given, and
    /// for a lease of this length. Each has ended its own by then: it counts from before it asked.
    pub fn over(&self, lease: Duration, now: Instant) -> Vec<Beat> {
        let is_over = |(beat, since): &&(Beat, Instant)| now > *since + beat.lease.max(lease);
        self.0.values().filter(is_over).map(|(beat, _)| *beat).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_nothing_new_for_a_lease_is_silent() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let beat = |dispatcher, seq, lease| Beat {
            dispatcher: Uuid::from_u128(dispatcher),
            seq,
            lease: Duration::from_secs(lease),
        };
        let lease = Duration::from_secs(10);
        let mut silence = Silence::default();
        silence.note(&[beat(1, 5, 10), beat(2, 6, 10), beat(3, 7, 60)], at(0));
        silence.note(&[beat(1, 5, 10), beat(2, 8, 10), beat(3, 7, 60)], at(5));
        assert_eq!(silence.over(lease, at(10)), []);
        assert_eq!(silence.over(lease, at(11)), [beat(1, 5, 10)]);
        assert_eq!(silence.over(Duration::from_secs(12), at(11)), [], "leases are longer by now");
        silence.note(&[beat(2, 8, 10), beat(3, 7, 60)], at(12));
        assert_eq!(silence.over(lease, at(14)), [], "the first one is gone");
        assert_eq!(silence.over(lease, at(16)), [beat(2, 8, 10)]);
        assert_eq!(silence.over(lease, at(61)).len(), 2);
    }
}
