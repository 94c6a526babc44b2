//! Circuit breakers: when an endpoint that keeps failing is left alone, and when it is tried again.
//!
//! A [`Circuit`] is what all dispatchers share, a row that they change by compare-and-set. A
//! [`Breaker`] is one dispatcher's part in it: what it has seen and not told yet, and how much it may
//! send. Closed lets traffic through; open lets none through until its cooldown is over; half-open lets
//! one probe through, of the one dispatcher that made it half-open.
//!
//! Pure: the caller brings the time, by the database's clock, and saves what [`Breaker::propose`] wants.

use std::time::Duration;

use crate::moment::Moment;

/// The id of a dispatcher.
pub type Prober = u128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed,
    Open {
        /// When a probe may be sent.
        probe_at: Moment,
    },
    HalfOpen {
        /// Who sends the probe.
        prober: Prober,
        /// Whether it still lives: else another one may send a probe. Who is dead once stays so.
        is_prober_alive: bool,
    },
}

/// How an endpoint does, as all dispatchers together have seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circuit {
    /// Raised by every change of what follows, but for the three times at the end alone.
    pub version: i64,
    pub state: State,
    /// Failed attempts in a row, while it is closed.
    pub failure_count: u32,
    /// The endpoint asked to be left alone until then.
    pub paused_until: Option<Moment>,
    pub last_success_at: Option<Moment>,
    pub last_failure_at: Option<Moment>,
    /// The first failure since the last success.
    pub failing_since: Option<Moment>,
}

/// When a circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// So many failed attempts in a row.
    pub threshold: u32,
    pub cooldown: Duration,
}

/// What may be sent to an endpoint now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// As much as the endpoint takes.
    All,
    /// So much at a time.
    Some(usize),
    /// One attempt, once [`Breaker::propose_probe`] is saved.
    Probe,
    None,
}

/// One dispatcher's part in an endpoint's circuit.
#[derive(Debug)]
pub struct Breaker {
    circuit: Circuit,
    seen: Seen,
    /// What is being saved, and what was seen for it.
    proposed: Option<(Circuit, Seen)>,
    /// When something was last saved, or could not be.
    told_at: Option<Moment>,
    /// What could not be saved is not proposed again before.
    not_before: Option<Moment>,
    ramp: Option<Ramp>,
}

/// What was seen and is not in the shared circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    success_at: Option<Moment>,
    failure_at: Option<Moment>,
    /// Failures since the last success in here, and when the first of them was.
    failure_count: u32,
    failing_since: Option<Moment>,
    paused_until: Option<Moment>,
    /// How our own probe ended.
    probe: Option<Probed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probed {
    Accepted,
    Failed,
    /// It was not sent after all.
    Abandoned,
}

/// After a recovery, or while some attempts fail: so much at a time, twice as much after as many
/// successes, half after a failure.
#[derive(Debug, Clone, Copy)]
struct Ramp {
    limit: usize,
    accepted: usize,
    /// It is never less.
    floor: usize,
}

/// An endpoint that is unavailable now and then still gets this part of its concurrency.
const BACK_OFF_SHARE: usize = 16;
/// Failures that may open a circuit are told so often.
const SOON: Duration = Duration::from_millis(500);
/// What happens to failures otherwise.
const LATER: Duration = Duration::from_secs(5);
/// That it works.
const RARELY: Duration = Duration::from_secs(30);
/// After something could not be saved.
const PAUSE: Duration = Duration::from_millis(200);

impl Default for Circuit {
    /// A new endpoint's.
    fn default() -> Circuit {
        Circuit {
            version: 1,
            state: State::Closed,
            failure_count: 0,
            paused_until: None,
            last_success_at: None,
            last_failure_at: None,
            failing_since: None,
        }
    }
}

impl Seen {
    /// This, and what was seen after it.
    fn then(self, later: Seen) -> Seen {
        let is_reset = later.success_at.is_some();
        Seen {
            success_at: self.success_at.max(later.success_at),
            failure_at: self.failure_at.max(later.failure_at),
            failure_count: match is_reset {
                true => later.failure_count,
                false => self.failure_count.saturating_add(later.failure_count),
            },
            failing_since: match is_reset {
                true => later.failing_since,
                false => self.failing_since.or(later.failing_since),
            },
            paused_until: self.paused_until.max(later.paused_until),
            probe: later.probe.or(self.probe),
        }
    }

    /// How many failures in a row there are after so many.
    fn failures_after(&self, count: u32) -> u32 {
        match self.success_at {
            Some(_) => self.failure_count,
            None => count.saturating_add(self.failure_count),
        }
    }
}

impl Circuit {
    fn with(self, seen: &Seen, now: Moment, rules: Rules) -> Circuit {
        let mut next = Circuit {
            paused_until: self.paused_until.max(seen.paused_until),
            last_success_at: self.last_success_at.max(seen.success_at),
            last_failure_at: self.last_failure_at.max(seen.failure_at),
            failing_since: match seen.success_at {
                Some(_) => seen.failing_since,
                None => self.failing_since.or(seen.failing_since),
            },
            ..self
        };
        match (self.state, seen.probe) {
            (State::HalfOpen { .. }, Some(Probed::Accepted)) => {
                next.state = State::Closed;
                next.failure_count = 0;
            }
            (State::HalfOpen { .. }, Some(Probed::Failed)) => {
                next.state = State::Open { probe_at: now.after(rules.cooldown) };
                next.failure_count = self.failure_count.saturating_add(1);
            }
            (State::HalfOpen { .. }, Some(Probed::Abandoned)) => {
                next.state = State::Open { probe_at: now };
            }
            // What was sent before it opened says nothing that is not known.
            (State::Open { .. } | State::HalfOpen { .. }, _) => {}
            (State::Closed, _) => {
                next.failure_count = seen.failures_after(self.failure_count);
                if next.failure_count >= rules.threshold {
                    next.state = State::Open { probe_at: now.after(rules.cooldown) };
                }
            }
        }
        next
    }

    /// Whether it differs in what the version stands for.
    fn differs(&self, other: &Circuit) -> bool {
        (self.state, self.failure_count, self.paused_until)
            != (other.state, other.failure_count, other.paused_until)
    }
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker::new(Circuit::default())
    }
}

impl Breaker {
    pub fn new(circuit: Circuit) -> Breaker {
        Breaker {
            circuit,
            seen: Seen::default(),
            proposed: None,
            told_at: None,
            not_before: None,
            ramp: None,
        }
    }

    /// The circuit as it was last known.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    pub fn is_closed(&self) -> bool {
        self.circuit.state == State::Closed
    }

    /// What may be sent now.
    pub fn permit(&self, now: Moment, rules: Rules) -> Permit {
        match self.circuit.state {
            State::Closed if self.is_tripped(rules) => Permit::None,
            State::Closed => self.ramp.map_or(Permit::All, |ramp| Permit::Some(ramp.limit)),
            _ if self.proposed.is_some() || self.not_before > Some(now) => Permit::None,
            State::Open { probe_at } if probe_at <= now => Permit::Probe,
            State::HalfOpen { is_prober_alive: false, .. } => Permit::Probe,
            State::Open { .. } | State::HalfOpen { .. } => Permit::None,
        }
    }

    /// When a probe may be sent, if nothing may be sent before.
    pub fn probe_at(&self) -> Option<Moment> {
        match self.circuit.state {
            State::Open { probe_at } => Some(probe_at).max(self.not_before),
            State::HalfOpen { .. } | State::Closed => None,
        }
    }

    /// Whether all that was seen, saved or not, opens the circuit.
    fn is_tripped(&self, rules: Rules) -> bool {
        let before = self.proposed.map(|(_, seen)| seen).unwrap_or_default();
        let all = before.then(self.seen);
        // A threshold that was lowered below what is saved opens it with the next failure: until then
        // there is nothing to propose, and nobody who would.
        all.failure_count > 0 && all.failures_after(self.circuit.failure_count) >= rules.threshold
    }

    /// An attempt that was no probe has ended. `limit`: what the endpoint takes at a time, from all dispatchers
    /// together. A recovery is over when so much may be sent.
    pub fn note(&mut self, is_accepted: bool, at: Moment, limit: usize) {
        let seen = match is_accepted {
            true => Seen { success_at: Some(at), ..Seen::default() },
            false => Seen {
                failure_at: Some(at),
                failure_count: 1,
                failing_since: Some(at),
                ..Seen::default()
            },
        };
        self.seen = self.seen.then(seen);
        if let Some(ramp) = &mut self.ramp {
            ramp.note(is_accepted);
            if ramp.limit >= limit {
                self.ramp = None;
            }
        }
    }

    /// An attempt has found the endpoint unavailable: it gets less at a time until more is accepted, so
    /// that one that refuses half of what it gets does not take half of us.
    pub fn back_off(&mut self, limit: usize) {
        if self.ramp.is_none() && self.is_closed() {
            let floor = limit.div_ceil(BACK_OFF_SHARE);
            self.ramp = Some(Ramp { limit: (limit / 2).max(floor), accepted: 0, floor });
        }
    }

    /// Our probe has ended, with an outcome. It decides only while the circuit waits for it.
    pub fn note_probe(&mut self, is_accepted: bool, at: Moment, me: Prober, limit: usize) {
        if !matches!(self.circuit.state, State::HalfOpen { prober, .. } if prober == me) {
            self.note(is_accepted, at, limit);
            return;
        }
        let seen = match is_accepted {
            true => Seen { success_at: Some(at), probe: Some(Probed::Accepted), ..Seen::default() },
            false => Seen {
                failure_at: Some(at),
                failing_since: Some(at),
                probe: Some(Probed::Failed),
                ..Seen::default()
            },
        };
        self.seen = self.seen.then(seen);
    }

    /// Our probe was not sent after all: another one may be sent at once.
    pub fn abandon_probe(&mut self, me: Prober) {
        if matches!(self.circuit.state, State::HalfOpen { prober, .. } if prober == me) {
            self.seen.probe = Some(Probed::Abandoned);
        }
    }

    /// The endpoint asked to be left alone until then.
    pub fn note_pause(&mut self, until: Moment) {
        self.seen.paused_until = self.seen.paused_until.max(Some(until));
    }

    /// Until when the endpoint asked to be left alone, as far as we have heard.
    pub fn paused_until(&self) -> Option<Moment> {
        let proposed = self.proposed.and_then(|(circuit, _)| circuit.paused_until);
        self.circuit.paused_until.max(proposed).max(self.seen.paused_until)
    }

    /// When [`Self::propose`] has something to save; `None`: nothing, as far as is known.
    pub fn tell_at(&self, now: Moment, rules: Rules) -> Option<Moment> {
        if self.proposed.is_some() || self.seen == Seen::default() {
            return None;
        }
        let next = self.circuit.with(&self.seen, now, rules);
        let since = |wait| self.told_at.map_or(now, |at| at.after(wait));
        let is_news = next.paused_until > self.circuit.paused_until
            && self.circuit.paused_until.is_none_or(|until| until <= now);
        let at = if next.state != self.circuit.state || is_news {
            now
        } else {
            let is_near = self.seen.failure_count * 2 >= rules.threshold;
            let ends_row = self.circuit.failure_count * 2 >= rules.threshold;
            let is_failing = self.seen.success_at.is_none() && self.seen.failure_count > 0;
            let has_failed = next.differs(&self.circuit)
                || next.failing_since != self.circuit.failing_since
                || next.last_failure_at != self.circuit.last_failure_at;
            match (is_near || ends_row || is_failing, has_failed) {
                (true, _) => since(SOON),
                (false, true) => since(LATER),
                (false, false) => since(RARELY),
            }
        };
        Some(self.not_before.map_or(at, |not_before| at.max(not_before)))
    }

    /// What the shared circuit is to become, where its version is still that of [`Self::circuit`]. To
    /// be answered by [`Self::saved`] or [`Self::refused`].
    pub fn propose(&mut self, now: Moment, rules: Rules) -> Circuit {
        let next = self.circuit.with(&self.seen, now, rules);
        self.put_forward(next)
    }

    /// The same for a probe: when it is saved, the probe is ours to send.
    pub fn propose_probe(&mut self, now: Moment, me: Prober, rules: Rules) -> Circuit {
        let next = self.circuit.with(&self.seen, now, rules);
        let state = State::HalfOpen { prober: me, is_prober_alive: true };
        self.put_forward(Circuit { state, ..next })
    }

    fn put_forward(&mut self, next: Circuit) -> Circuit {
        let version = self.circuit.version + i64::from(next.differs(&self.circuit));
        let next = Circuit { version, ..next };
        self.proposed = Some((next, std::mem::take(&mut self.seen)));
        next
    }

    /// What was proposed is saved.
    pub fn saved(&mut self, now: Moment) {
        let Some((circuit, _)) = self.proposed.take() else { return };
        self.told_at = Some(now);
        self.not_before = None;
        self.change(circuit);
    }

    /// What was proposed is not saved: the circuit is this by now, or somebody keeps it locked.
    pub fn refused(&mut self, current: Circuit, now: Moment) {
        let Some((_, seen)) = self.proposed.take() else { return };
        self.seen = seen.then(self.seen);
        let is_locked = current.version == self.circuit.version;
        self.not_before = is_locked.then(|| now.after(PAUSE));
        self.change(current);
    }

    /// The circuit as it was read. One that was read before ours was saved changes nothing.
    pub fn learn(&mut self, current: Circuit) {
        if self.proposed.is_none() && current.version >= self.circuit.version {
            self.change(current);
        }
    }

    /// The clock has been set back and says `now`. What is known may be of before or of since.
    pub fn set_back(&mut self, by: Duration, now: Moment) {
        self.circuit.set_back(by, now);
        self.seen.set_back(by, now);
        if let Some((circuit, seen)) = &mut self.proposed {
            circuit.set_back(by, now);
            seen.set_back(by, now);
        }
        self.told_at = self.told_at.map(|at| at.min(now));
        self.not_before = self.not_before.map(|at| at.set_back(by, now));
    }

    fn change(&mut self, circuit: Circuit) {
        let (was, is) = (self.circuit.state, circuit.state);
        self.circuit = circuit;
        if was == is {
            return;
        }
        match is {
            State::Closed => {
                self.ramp = Some(Ramp { limit: 1, accepted: 0, floor: 1 });
                // What failed while it was open was sent before.
                self.seen.failure_count = 0;
                self.seen.failing_since = None;
                // A probe that a reset has made pointless.
                self.seen.probe = None;
            }
            State::Open { .. } => {
                self.ramp = None;
                self.seen.probe = None;
            }
            State::HalfOpen { .. } => self.ramp = None,
        }
    }
}

impl Circuit {
    fn set_back(&mut self, by: Duration, now: Moment) {
        if let State::Open { probe_at } = &mut self.state {
            *probe_at = probe_at.set_back(by, now);
        }
        self.paused_until = self.paused_until.map(|at| at.set_back(by, now));
        for at in [&mut self.last_success_at, &mut self.last_failure_at, &mut self.failing_since] {
            *at = at.map(|at| at.min(now));
        }
    }
}

impl Seen {
    fn set_back(&mut self, by: Duration, now: Moment) {
        self.paused_until = self.paused_until.map(|at| at.set_back(by, now));
        for at in [&mut self.success_at, &mut self.failure_at, &mut self.failing_since] {
            *at = at.map(|at| at.min(now));
        }
    }
}

impl Ramp {
    fn note(&mut self, is_accepted: bool) {
        if !is_accepted {
            self.limit = (self.limit / 2).max(self.floor);
            self.accepted = 0;
            return;
        }
        self.accepted += 1;
        if self.accepted >= self.limit {
            self.limit = self.limit.saturating_mul(2);
            self.accepted = 0;
        }
    }
}

#[cfg(test)]
mod tests;
