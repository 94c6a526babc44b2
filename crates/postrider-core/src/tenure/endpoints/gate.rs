//! Whether anything may go to an endpoint: its circuit, our probe of it, and the pause that it asked for.

use std::time::{Duration, Instant};

use crate::{
    breaker::{Breaker, Circuit, Permit, Prober, Rules},
    id::{EndpointId, MessageId, Target},
    moment::Moment,
    sharing::{Answer, Proposal},
    tenure::clock::Clock,
    timestamp::Timestamp,
};

/// What is queued for an endpoint that is left alone stays in memory for so long.
const PARKED_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct Gate {
    breaker: Breaker,
    /// Asked to be left alone until then.
    paused_until: Option<Instant>,
    /// The delivery that is our probe, while it is in flight.
    probe: Option<(MessageId, Target)>,
    /// Since when nothing goes there, for its circuit or because it asked for that.
    left_alone_at: Option<Instant>,
}

impl Gate {
    /// What may be sent now.
    pub fn permit(&self, now: Instant, clock: &Clock, rules: Rules) -> Permit {
        if self.is_paused(now) {
            return Permit::None;
        }
        let moment = match self.breaker.is_closed() {
            true => Moment(0),
            false => Moment(clock.timestamp(now).0),
        };
        self.breaker.permit(moment, rules)
    }

    pub fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    pub fn is_circuit_closed(&self) -> bool {
        self.breaker.is_closed()
    }

    /// Until when nothing is to be sent: a pause that it asked for, or the cooldown of its circuit.
    pub fn blocked_until(&self, clock: &Clock) -> Option<Instant> {
        let cooldown = self.breaker.probe_at().map(|at| clock.instant(Timestamp(at.0)));
        self.paused_until.max(cooldown)
    }

    // Left alone ------------------------------------------------------------------------------------

    /// Heeds what the circuit has become. Whether the endpoint asks to be left alone.
    pub fn heed(&mut self, now: Instant, clock: &Clock) -> bool {
        let moment = Moment(clock.timestamp(now).0);
        let asked_until = self.breaker.paused_until().filter(|until| *until > moment);
        self.paused_until = asked_until.map(|until| clock.instant(Timestamp(until.0)));
        match self.breaker.is_closed() && asked_until.is_none() {
            true => self.left_alone_at = None,
            false => _ = self.left_alone_at.get_or_insert(now),
        }
        asked_until.is_some()
    }

    /// Its pause or cooldown is over. After a cooldown a probe comes first.
    pub fn end_rest(&mut self) {
        if self.breaker.is_closed() {
            self.left_alone_at = None;
        }
    }

    pub fn is_left_alone(&self) -> bool {
        self.left_alone_at.is_some()
    }

    /// It has been left alone for a while.
    pub fn is_parked(&self, now: Instant) -> bool {
        self.left_alone_at.is_some_and(|at| now >= at + PARKED_AFTER)
    }

    // Attempts --------------------------------------------------------------------------------------

    /// The probe is ours, and this is it.
    pub fn begin_probe(&mut self, place: (MessageId, Target)) {
        self.probe = Some(place);
    }

    /// The probe is ours, and is not sent.
    pub fn abandon_probe(&mut self, me: Prober) {
        self.probe = None;
        self.breaker.abandon_probe(me);
    }

    /// A delivery has landed. Whether it was our probe, which is over with it.
    pub fn end_probe(&mut self, place: (MessageId, Target)) -> bool {
        self.probe.take_if(|probe| *probe == place).is_some()
    }

    /// An attempt has ended, with an outcome. `limit`: what the endpoint takes at a time, from all dispatchers.
    pub fn note(
        &mut self,
        is_probe: bool,
        is_accepted: bool,
        at: Moment,
        me: Prober,
        limit: usize,
    ) {
        match is_probe {
            true => self.breaker.note_probe(is_accepted, at, me, limit),
            false => self.breaker.note(is_accepted, at, limit),
        }
    }

    /// It was unavailable: it gets less at a time than this for a while.
    pub fn back_off(&mut self, limit: usize) {
        self.breaker.back_off(limit);
    }

    /// The endpoint asked to be left alone until then.
    pub fn note_pause(&mut self, until: Moment) {
        self.breaker.note_pause(until);
    }

    // What others hear and say ----------------------------------------------------------------------

    /// When there is something to tell; `None`: nothing, as far as is known.
    pub fn tell_at(&self, now: Moment, rules: Rules) -> Option<Moment> {
        self.breaker.tell_at(now, rules)
    }

    /// What others are told. `id`: the endpoint's.
    pub fn propose(&mut self, id: EndpointId, now: Moment, rules: Rules) -> Proposal {
        let known_version = self.breaker.circuit().version;
        let circuit = self.breaker.propose(now, rules);
        Proposal { endpoint: id, known_version, circuit }
    }

    /// The same, to get the probe for us.
    pub fn propose_probe(
        &mut self,
        id: EndpointId,
        now: Moment,
        me: Prober,
        rules: Rules,
    ) -> Proposal {
        let known_version = self.breaker.circuit().version;
        let circuit = self.breaker.propose_probe(now, me, rules);
        Proposal { endpoint: id, known_version, circuit }
    }

    /// What became of a proposal.
    pub fn take_answer(&mut self, answer: Option<&Answer>, now: Moment) {
        match answer {
            Some(Answer { is_saved: true, .. }) => self.breaker.saved(now),
            Some(Answer { current, .. }) => self.breaker.refused(*current, now),
            // It was dropped, and we shall hear of it.
            None => self.breaker.refused(*self.breaker.circuit(), now),
        }
    }

    /// The circuit as it was read. Whether it is another one than was known.
    pub fn learn(&mut self, circuit: Circuit) -> bool {
        let is_news = *self.breaker.circuit() != circuit;
        if is_news {
            self.breaker.learn(circuit);
        }
        is_news
    }

    /// The database's clock has been set back and says `now`.
    pub fn set_back(&mut self, by: Duration, now: Moment) {
        self.breaker.set_back(by, now);
    }
}

#[cfg(test)]
mod tests {
    use crate::breaker::State;

    use super::*;

    const RULES: Rules = Rules { threshold: 10, cooldown: Duration::from_secs(30) };

    #[test]
    fn an_endpoint_is_left_alone_by_its_circuit_and_because_it_asked_for_it() {
        let now = Instant::now();
        let clock = Clock::new(now, 0);
        let moment = |ms| Moment(clock.timestamp(now).0).after(Duration::from_millis(ms));
        let at = |ms| now + Duration::from_millis(ms);
        // A pause, the end of a cooldown, what may be sent now, and until when nothing may.
        for (paused, cooldown, permit, blocked_until) in [
            (None, None, Permit::All, None),
            (Some(0), None, Permit::All, None),
            (Some(200), None, Permit::None, Some(at(200))),
            (None, Some(300), Permit::None, Some(at(300))),
            (None, Some(0), Permit::Probe, Some(at(0))),
            (Some(200), Some(300), Permit::None, Some(at(300))),
            (Some(400), Some(300), Permit::None, Some(at(400))),
            (Some(400), Some(0), Permit::None, Some(at(400))),
        ] {
            let mut gate = Gate::default();
            let probe_at = cooldown.map(moment);
            let circuit = Circuit {
                version: 2,
                state: probe_at.map_or(State::Closed, |probe_at| State::Open { probe_at }),
                paused_until: paused.map(moment),
                ..Circuit::default()
            };
            assert!(gate.learn(circuit) && !gate.learn(circuit));
            let case = format!("{paused:?} {cooldown:?}");
            assert_eq!(gate.heed(now, &clock), paused > Some(0), "{case}");
            assert_eq!(gate.permit(now, &clock, RULES), permit, "{case}");
            assert_eq!(gate.blocked_until(&clock), blocked_until, "{case}");
            assert_eq!(gate.is_left_alone(), permit != Permit::All, "{case}");
            assert_eq!(gate.is_parked(now + PARKED_AFTER), gate.is_left_alone(), "{case}");
            assert!(!gate.is_parked(now), "{case}");
            gate.end_rest();
            assert_eq!(gate.is_left_alone(), cooldown.is_some(), "{case}");
        }
    }

    #[test]
    fn an_endpoint_is_left_alone_since_it_was_first() {
        let now = Instant::now();
        let clock = Clock::new(now, 0);
        let mut gate = Gate::default();
        gate.note_pause(Moment(clock.timestamp(now).0).after(PARKED_AFTER * 2));
        for wait in [Duration::ZERO, PARKED_AFTER / 2] {
            assert!(gate.heed(now + wait, &clock));
        }
        assert!(gate.is_parked(now + PARKED_AFTER));
        assert!(!gate.heed(now + PARKED_AFTER * 2, &clock));
        assert!(!gate.is_left_alone());
    }

    #[test]
    fn only_our_probe_ends_it_and_once() {
        let place = |number| (MessageId(number), Target(1));
        let mut gate = Gate::default();
        assert!(!gate.end_probe(place(1)));
        gate.begin_probe(place(1));
        assert!(!gate.end_probe(place(2)));
        assert!(gate.end_probe(place(1)) && !gate.end_probe(place(1)));
        gate.begin_probe(place(3));
        gate.abandon_probe(7);
        assert!(!gate.end_probe(place(3)));
    }
}
