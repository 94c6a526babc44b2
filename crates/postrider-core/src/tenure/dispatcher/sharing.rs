//! What dispatchers share about endpoints: circuits, their probes, rate limits, and concurrency.

use super::*;

impl Dispatcher {
    /// Tells the others what became of endpoints, where it changes something.
    pub(super) fn tell(&mut self, now: Instant) {
        if self.upkeep.is_telling {
            return;
        }
        let proposals = self.endpoints.proposals(now);
        if proposals.is_empty() {
            return;
        }
        self.upkeep.is_telling = true;
        self.ask(Query::Tell(proposals, self.clock.timestamp(now)));
    }

    /// Asks for the one probe of an endpoint's circuit; the delivery goes if we get it.
    pub(super) fn ask_for_probe(&mut self, probe: Probe, now: Instant) {
        let me = self.tenancy.identity.prober();
        let Some(proposal) = self.endpoints.propose_probe(probe.endpoint, me, now) else {
            self.requeue(probe);
            return;
        };
        self.ask(Query::AskForProbe(Box::new(probe), proposal, self.clock.timestamp(now)));
    }

    /// How the circuits stand that others know of.
    pub(super) fn take_circuits(
        &mut self,
        circuits: Result<Vec<(EndpointId, Circuit)>, Failure>,
    ) -> Result<(), Failure> {
        let now = self.now;
        self.upkeep.circuits.end(now);
        if self.endpoints.learn(circuits?, now) {
            self.hands.fetch.hurry(now);
        }
        Ok(())
    }

    pub(super) fn take_told(
        &mut self,
        asked: &[EndpointId],
        answers: Result<Vec<Answer>, Failure>,
    ) -> Result<(), Failure> {
        self.upkeep.is_telling = false;
        self.note_answers(asked, &answers?, self.now);
        Ok(())
    }

    /// What became of circuits that we wanted to change.
    fn note_answers(&mut self, asked: &[EndpointId], answers: &[Answer], now: Instant) {
        if self.endpoints.take_answers(asked, answers, now) {
            self.hands.fetch.hurry(now);
        }
    }

    pub(super) fn take_probe(&mut self, probe: Probe, answers: &[Answer]) {
        let (id, now) = (probe.endpoint, self.now);
        self.note_answers(&[id], answers, now);
        let is_won = answers.iter().any(|answer| answer.endpoint == id && answer.is_saved);
        let delivery = &probe.delivery;
        let is_ours = self.is_ours(delivery);
        let is_late = delivery.is_expired(self.clock.timestamp(now));
        if is_won
            && is_ours
            && !is_late
            && !self.is_stopping()
            && let Some(edition) = self.endpoints.transport(id)
        {
            // By the config of now: the one of the time when it was asked for may be out of date.
            self.endpoints.begin_probe(id, delivery.place());
            let (deliveries, clock) = (vec![probe.delivery], self.clock);
            self.command(Command::Attempt { edition, deliveries, clock });
            return;
        }
        if is_won {
            self.endpoints.abandon_probe(id, self.tenancy.identity.prober());
        }
        self.requeue(probe);
    }

    /// A delivery that was to be a probe is not sent.
    fn requeue(&mut self, Probe { delivery, .. }: Probe) {
        self.endpoints.landed(&delivery);
        if !self.is_ours(&delivery) {
            self.let_go(delivery);
        } else if self.is_stopping() || self.is_leaving(&delivery) {
            self.give_back(delivery);
        } else if !self.endpoints.is_known(delivery.endpoint) {
            // As what waits for an endpoint that is gone.
            self.settle(delivery, Settlement::DROPPED);
        } else {
            let seated = self.endpoints.seat(delivery);
            self.enqueue(seated);
        }
    }

    /// Asks for what may be sent under rate limits.
    pub(super) fn take_tokens(&mut self, now: Instant) {
        if self.upkeep.is_asking_for_tokens || self.is_stopping() {
            return;
        }
        let wanted = self.endpoints.wanted_tokens(now);
        if wanted.is_empty() {
            return;
        }
        self.upkeep.is_asking_for_tokens = true;
        self.ask(Query::TakeTokens(wanted));
    }

    /// What may be sent under rate limits.
    pub(super) fn take_granted(
        &mut self,
        granted: Result<Vec<Granted>, Failure>,
    ) -> Result<(), Failure> {
        self.upkeep.is_asking_for_tokens = false;
        self.endpoints.take_tokens(granted?, self.now);
        Ok(())
    }

    /// Lends what we do not use of endpoints' concurrency, gives back what we have borrowed, and asks for more.
    pub(super) fn trade(&mut self, now: Instant) {
        if self.is_stopping() {
            return;
        }
        // Whatever else is traded brings the loans, too, but may do so before they are what somebody rang for.
        if self.upkeep.loans.is_due(now) && !self.endpoints.is_trading() {
            self.upkeep.loans.begin(now);
            self.endpoints.doubt_loans();
        }
        let Some(trade) = self.endpoints.next_trade(now) else { return };
        self.ask(Query::Trade(self.lanes.owned(), trade));
    }

    /// The loans, as the owner of these shards has to heed them.
    pub(super) fn take_loans(
        &mut self,
        owned: &[Owned],
        loans: Result<Vec<Loan>, Failure>,
    ) -> Result<(), Failure> {
        if self.upkeep.loans.is_under_way() {
            self.upkeep.loans.end(self.now);
        }
        self.endpoints.take_loans(owned, &loans?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
