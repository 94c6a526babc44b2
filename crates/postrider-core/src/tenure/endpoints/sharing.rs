//! What is shared with other dispatchers: circuits, rate limits, and concurrency.

use super::*;

/// Endpoints for which tokens are asked by one query.
const THIRSTY: usize = 200;
/// Circuits that are saved by one query.
const PROPOSALS: usize = 1_000;

/// Circuits, and the pauses that endpoints asked for.
impl Endpoints {
    /// The endpoint asked to be left alone for so long, by all.
    pub fn ask_for_pause(&mut self, id: EndpointId, pause: Duration, now: Instant) {
        let until = self.moment(now).after(pause);
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.note_pause(until);
            self.tell(id);
        }
        self.heed_circuit(id, now);
    }

    /// Ends the pauses and cooldowns whose time has come; when the next one ends.
    pub fn end_pauses(&mut self, now: Instant) -> Option<Instant> {
        let (by_id, clock) = (&self.by_id, &self.clock);
        let until =
            |id: EndpointId| by_id.get(&id).and_then(|known| known.gate.blocked_until(clock));
        for id in self.rests.take_ended(now, until) {
            if let Some(endpoint) = self.by_id.get_mut(&id) {
                endpoint.gate.end_rest();
            }
            self.ready.push(id);
        }
        self.rests.next_end()
    }

    /// The endpoints that are left alone, by their circuit or because they asked for it: those to be read
    /// again.
    pub fn open(&self) -> Vec<EndpointId> {
        self.rests.all().collect()
    }

    /// Whether nothing is to be sent to an endpoint for now, whatever waits for it.
    pub fn is_left_alone(&self, target: Target) -> bool {
        let endpoint = self.by_target(target).and_then(|id| self.by_id.get(&id));
        endpoint.is_some_and(|endpoint| {
            let gate = &endpoint.gate;
            !endpoint.is_enabled || gate.is_paused(self.now) || !gate.is_circuit_closed()
        })
    }

    /// There is something of the endpoint that others have to hear of, at once or before long.
    pub(super) fn tell(&mut self, id: EndpointId) {
        let now = self.now;
        let moment = self.moment(now);
        let Some(endpoint) = self.by_id.get(&id) else { return };
        let Some(at) = endpoint.gate.tell_at(moment, self.rules) else { return };
        self.untold.add(id, at <= moment, now);
    }

    /// When there may be something to tell.
    pub fn tell_at(&self) -> Option<Instant> {
        self.untold.wake_at()
    }

    /// What is to be told now.
    pub fn proposals(&mut self, now: Instant) -> Vec<Proposal> {
        if !self.untold.is_due(now) {
            return Vec::new();
        }
        let (moment, rules) = (self.moment(now), self.rules);
        let mut proposals = Vec::new();
        let by_id = &mut self.by_id;
        self.untold.look(now, |id| {
            let Some(endpoint) = by_id.get_mut(&id) else { return false };
            let Some(at) = endpoint.gate.tell_at(moment, rules) else { return false };
            if at > moment || proposals.len() >= PROPOSALS {
                return true;
            }
            proposals.push(endpoint.gate.propose(id, moment, rules));
            false
        });
        proposals
    }

    /// Asks for the probe of an endpoint whose cooldown is over.
    pub fn propose_probe(&mut self, id: EndpointId, me: Prober, now: Instant) -> Option<Proposal> {
        let (moment, rules) = (self.moment(now), self.rules);
        let endpoint = self.by_id.get_mut(&id)?;
        Some(endpoint.gate.propose_probe(id, moment, me, rules))
    }

    /// The probe is ours, and this is it.
    pub fn begin_probe(&mut self, id: EndpointId, place: (MessageId, Target)) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.begin_probe(place);
        }
    }

    /// The probe is ours, and we have nothing to send.
    pub fn abandon_probe(&mut self, id: EndpointId, me: Prober) {
        if let Some(endpoint) = self.by_id.get_mut(&id) {
            endpoint.gate.abandon_probe(me);
            self.tell(id);
        }
    }

    /// What became of proposals. Whether any endpoint is not left alone any more.
    pub fn take_answers(&mut self, asked: &[EndpointId], answers: &[Answer], now: Instant) -> bool {
        let moment = self.moment(now);
        let answers: HashMap<EndpointId, &Answer> =
            answers.iter().map(|answer| (answer.endpoint, answer)).collect();
        let mut is_any_free = false;
        for id in asked {
            let Some(endpoint) = self.by_id.get_mut(id) else { continue };
            endpoint.gate.take_answer(answers.get(id).copied(), moment);
            is_any_free |= self.heed_circuit(*id, now);
            self.tell(*id);
        }
        is_any_free
    }

    /// Circuits as they were read. Whether any endpoint is not left alone any more.
    pub fn learn(&mut self, circuits: Vec<(EndpointId, Circuit)>, now: Instant) -> bool {
        let mut is_any_free = false;
        for (id, circuit) in circuits {
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            if endpoint.gate.learn(circuit) {
                is_any_free |= self.heed_circuit(id, now);
            } else if matches!(circuit.state, State::HalfOpen { is_prober_alive: false, .. }) {
                // The row was locked when we asked for the probe.
                self.ready.push(id);
            }
        }
        is_any_free
    }

    /// Whatever a circuit has become: pauses, cooldowns, and something to do. Whether it was left alone
    /// and is not any more.
    fn heed_circuit(&mut self, id: EndpointId, now: Instant) -> bool {
        let Some(Endpoint { gate, name, .. }) = self.by_id.get_mut(&id) else { return false };
        let (was_paused, was_left_alone) = (gate.is_paused(self.now), gate.is_left_alone());
        let is_asking = gate.heed(now, &self.clock);
        if is_asking && !was_paused {
            info!(endpoint = %name, "endpoint asked to be left alone for a while");
        }
        let is_closed = gate.is_circuit_closed();
        match (self.rests.note_circuit(id, is_closed), is_closed) {
            (true, true) => info!(endpoint = %name, "circuit closed"),
            (true, false) => {
                warn!(endpoint = %name, "circuit opened: it is left alone for a while");
            }
            (false, _) => {}
        }
        let is_free = was_left_alone && !gate.is_left_alone();
        if let Some(until) = gate.blocked_until(&self.clock) {
            self.rests.pause(id, until);
            return is_free;
        }
        // Closed by now, or half-open with a prober that is dead.
        self.ready.push(id);
        is_free
    }
}

/// Rate limits.
impl Endpoints {
    /// When there may be tokens for what waits for a rate limit.
    pub fn tokens_at(&self) -> Option<Instant> {
        self.thirst.wake_at()
    }

    /// The tokens to ask for now.
    pub fn wanted_tokens(&mut self, now: Instant) -> Vec<Wanted> {
        if !self.thirst.is_due(now) {
            return Vec::new();
        }
        let moment = self.moment(now);
        let dispatchers = self.shard_count.div_ceil(self.owned_shards.max(1)) as u32;
        let mut next: Option<Moment> = None;
        let (mut wanted, mut usable) = (Vec::new(), Vec::new());
        let by_id = &mut self.by_id;
        self.thirst.look(|id| {
            let Some(endpoint) = by_id.get_mut(&id) else { return false };
            let queued = endpoint.buffer.queued_count();
            let Some(bucket) = endpoint.bucket.as_mut().filter(|_| queued > 0) else {
                return false;
            };
            if bucket.available(moment) > 0 {
                usable.push(id);
                return false;
            }
            if wanted.len() == THIRSTY {
                next = Some(moment);
            } else if let Some(count) = bucket.ask(queued, dispatchers, moment) {
                wanted.push(Wanted { endpoint: id, count, rate: bucket.rate });
            } else if let Some(at) = bucket.next_at() {
                next = Some(next.map_or(at, |known| known.min(at)));
            }
            true
        });
        for id in usable {
            self.ready.push(id);
        }
        self.thirst.set_look_at(next.map(|at| self.clock.instant(Timestamp(at.0))));
        wanted
    }

    /// Tokens that were asked for.
    pub fn take_tokens(&mut self, granted: Vec<Granted>, now: Instant) {
        let moment = self.moment(now);
        for Granted { endpoint: id, count, wait } in granted {
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            let Some(bucket) = &mut endpoint.bucket else { continue };
            bucket.grant(count, wait, moment);
        }
        self.thirst.set_look_at(None);
    }
}

/// Concurrency that goes from dispatcher to dispatcher.
impl Endpoints {
    /// Another dispatcher could use so many parts of these endpoints.
    pub fn note_asked(&mut self, borrower: Uuid, asked: &[(EndpointId, usize)]) {
        for (id, parts) in asked {
            if self.by_id.contains_key(id) {
                self.loans.note_asked(*id, borrower, *parts, self.now);
            }
        }
    }

    /// The loans are not as we think.
    pub fn doubt_loans(&mut self) {
        self.loans.doubt();
    }

    /// What was lent, given back and asked for is being written.
    pub fn is_trading(&self) -> bool {
        self.loans.is_trading()
    }

    pub fn trade_at(&self) -> Option<Instant> {
        self.loans.trade_at()
    }

    /// What is to be lent, given back and asked for now.
    pub fn next_trade(&mut self, now: Instant) -> Option<Trade> {
        let (by_id, all) = (&self.by_id, self.shard_count);
        self.loans.next_trade(now, all, |id| {
            let endpoint = by_id.get(&id);
            endpoint.map_or_else(Demand::default, |endpoint| Demand {
                concurrency: endpoint.flow().map_or(1, |flow| flow.concurrency),
                in_flight: endpoint.flight.count(),
                waiting: endpoint.buffer.count(),
            })
        })
    }

    /// All loans that the owner of these shards has to heed.
    pub fn take_loans(&mut self, owned: &[Owned], loans: &[Loan]) {
        for id in self.loans.learn(owned, loans, self.now) {
            self.ready.push(id);
        }
    }
}

#[cfg(test)]
mod tests;
