//! What goes to endpoints now, and what is learned when it is back.

use super::*;

/// An endpoint that is stalled may have this part of its concurrency in flight.
const STALLED_SHARE: usize = 16;
/// So many failures in a row are worth a line in the log.
const FAILING_AFTER: u32 = 10;

impl Endpoints {
    /// The next batch that may go now; endpoints take turns.
    pub fn next_batch(&mut self) -> Option<Batch> {
        while !self.flights.is_full() {
            let id = match self.first_in_line() {
                Some(id) => id,
                None => self.ready.pop()?,
            };
            let Some((permit, places)) = self.places(id) else {
                self.rest_on(id);
                continue;
            };
            let moment = self.moment(self.now);
            let Some(endpoint) = self.by_id.get_mut(&id) else { continue };
            let mut count = places.min(endpoint.buffer.queued_count());
            if let Some(bucket) = endpoint.bucket.as_mut().filter(|_| count > 0) {
                count = count.min(bucket.available(moment));
                if count == 0 {
                    self.thirst.add(id);
                }
            }
            if count == 0 {
                self.want_loan(id, permit);
                continue;
            }
            let deliveries = endpoint.take_batch(count, &mut self.memory, &mut self.flights);
            let count = deliveries.len();
            if count == 0 {
                continue;
            }
            trace!(stop = "next_batch", endpoint = id.0, deliveries = count);
            if let Some(bucket) = &mut endpoint.bucket {
                bucket.take(count);
            }
            self.flights.begin(&mut endpoint.flight, count, self.now);
            let edition = endpoint.transport();
            if endpoint.buffer.has_queued() {
                self.ready.push(id);
            }
            let is_probe = permit == Permit::Probe;
            return Some(Batch { endpoint: id, is_probe, edition, deliveries });
        }
        None
    }

    /// What may be sent to an endpoint now, and how many deliveries; `None`: nothing.
    fn places(&self, id: EndpointId) -> Option<(Permit, usize)> {
        let endpoint = self.by_id.get(&id)?;
        let permit = self.permit(endpoint);
        let concurrency = self.concurrency(endpoint);
        let limit = match (permit, endpoint.flight.is_stalled(self.now)) {
            (Permit::None, _) => return None,
            (Permit::Probe, _) => endpoint.flight.count() + 1,
            (Permit::Some(limit), _) => limit.min(concurrency),
            (Permit::All, true) => concurrency.div_ceil(STALLED_SHARE),
            (Permit::All, false) => concurrency,
        };
        let batch_limit = match permit {
            Permit::Probe => 1,
            _ => endpoint.offer.as_ref().map_or(64, |offer| offer.batch_limit),
        };
        Some((permit, self.flights.free(&endpoint.flight, limit).min(batch_limit)))
    }

    /// Nothing may go to an endpoint. Its pause or cooldown may have been over, and be so no more: the clock is
    /// corrected with each heartbeat.
    fn rest_on(&mut self, id: EndpointId) {
        let Some(endpoint) = self.by_id.get(&id) else { return };
        if let Some(until) = endpoint.gate.blocked_until(&self.clock).filter(|at| *at > self.now) {
            self.rests.pause(id, until);
        }
    }

    /// The next endpoint that has waited for room for a payload, and has it now.
    fn first_in_line(&mut self) -> Option<EndpointId> {
        if self.flights.is_line_quiet() {
            return None;
        }
        let (by_id, now, clock, rules) = (&self.by_id, self.now, &self.clock, self.rules);
        let first = self.flights.first_in_line(|id, size| {
            let endpoint = by_id.get(&id)?;
            let waiting = endpoint.buffer.front(Kinds::only(size))?;
            let may_go = endpoint.permit(now, clock, rules) != Permit::None;
            may_go.then(|| (&endpoint.flight, waiting.weight()))
        });
        for id in self.flights.take_woken() {
            self.ready.push(id);
        }
        let (id, size) = first?;
        self.by_id.get_mut(&id)?.flight.set_turn(size, true);
        Some(id)
    }

    /// Nothing of an endpoint may go: if it has all of our part of it under way, others may lend theirs.
    fn want_loan(&mut self, id: EndpointId, permit: Permit) {
        let Some(endpoint) = self.by_id.get(&id) else { return };
        let is_full =
            permit == Permit::All && endpoint.flight.count() >= self.concurrency(endpoint);
        if is_full && self.owned_shards < self.shard_count && endpoint.buffer.has_queued() {
            self.loans.want(id, self.now);
        }
    }

    /// A delivery of a batch is back.
    pub fn landed(&mut self, delivery: &Delivery) {
        if let Some(endpoint) = self.by_id.get_mut(&delivery.endpoint) {
            self.flights.land(&mut endpoint.flight, delivery.weight());
            self.ready.push(delivery.endpoint);
        }
    }

    /// Endpoints that have not answered for a while.
    pub fn stalled(&self, now: Instant) -> HashSet<EndpointId> {
        self.by_id.iter().filter(|(_, e)| e.flight.is_stalled(now)).map(|(id, _)| *id).collect()
    }

    /// Endpoints that have stalled are not trusted until they accept something again.
    pub fn doubt_stalled(&mut self, now: Instant) {
        let is_stalled = |flight: &Flight| flight.is_trusted() && flight.is_stalled(now);
        let stalled: Vec<EndpointId> =
            self.by_id.iter().filter(|(_, e)| is_stalled(&e.flight)).map(|(id, _)| *id).collect();
        for id in stalled {
            self.set_trust(id, false);
        }
    }

    fn set_trust(&mut self, id: EndpointId, is_trusted: bool) {
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        self.flights.set_trust(&mut endpoint.flight, is_trusted);
    }

    /// Learns from an attempt. Says once when an endpoint fails all the time, and once when it
    /// delivers again.
    pub fn note_outcome(
        &mut self,
        id: EndpointId,
        place: (MessageId, Target),
        report: &Report,
        me: Prober,
    ) {
        let is_accepted = report.outcome == Outcome::Accepted;
        let now = self.now;
        let at = self.moment(now);
        let Some(ours) = self.by_id.get(&id).map(|endpoint| self.concurrency(endpoint)) else {
            return;
        };
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        // Of our part something may be lent just now: it does not say when a recovery is over.
        let whole = endpoint.flow().map_or(1, |flow| flow.concurrency);
        if report.is_answer {
            endpoint.flight.note_answer(now);
        }
        let is_probe = endpoint.gate.end_probe(place);
        if report.outcome == Outcome::NotSent {
            // Nothing was learned of it.
            if is_probe {
                self.abandon_probe(id, me);
            }
            return;
        }
        endpoint.gate.note(is_probe, is_accepted, at, me, whole);
        if matches!(report.outcome, Outcome::Unavailable { .. } | Outcome::Unknown) {
            endpoint.gate.back_off(ours);
        }
        // That it works is told once for many.
        if is_probe || !is_accepted || !self.untold.has(id) {
            self.tell(id);
        }
        let Some(endpoint) = self.by_id.get_mut(&id) else { return };
        if is_accepted {
            if endpoint.failures_in_a_row >= FAILING_AFTER {
                info!(endpoint = %endpoint.name, "endpoint delivers again");
            }
            endpoint.failures_in_a_row = 0;
            self.set_trust(id, true);
            return;
        }
        endpoint.failures_in_a_row = endpoint.failures_in_a_row.saturating_add(1);
        if endpoint.failures_in_a_row == FAILING_AFTER {
            let error = report.error.as_deref().unwrap_or_default();
            warn!(endpoint = %endpoint.name, error, "endpoint keeps failing");
            self.set_trust(id, false);
        }
    }
}

impl Endpoint {
    /// Takes up to so many deliveries out of the queue, as far as there is room for their payloads. Those that find none let
    /// those pass that need none, or another one.
    fn take_batch(
        &mut self,
        most: usize,
        memory: &mut Memory,
        flights: &mut Flights,
    ) -> Vec<Delivery> {
        let (mut batch, mut kinds) = (Vec::new(), Kinds::ALL);
        // A turn in line is for what has waited for it, whatever else is next.
        for size in Size::ALL {
            if batch.len() == most || !self.flight.has_turn(size) {
                continue;
            }
            let only = Kinds::only(size);
            match self.buffer.front(only).map(Delivery::weight) {
                Some(weight) if flights.finds_room(self.id, &mut self.flight, size, weight) => {
                    batch.extend(memory.pop(&mut self.buffer, only));
                }
                Some(_) => kinds.leave_out(size),
                None => self.flight.set_turn(size, false),
            }
        }
        while batch.len() < most
            && let Some(weight) = self.buffer.front(kinds).map(Delivery::weight)
        {
            match Size::of(weight) {
                Some(size) if !flights.finds_room(self.id, &mut self.flight, size, weight) => {
                    kinds.leave_out(size);
                }
                _ => batch.extend(memory.pop(&mut self.buffer, kinds)),
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests;
