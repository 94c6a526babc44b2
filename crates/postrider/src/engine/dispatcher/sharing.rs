//! What dispatchers share about endpoints: circuits, their probes, rate limits, and concurrency.

use super::*;

impl Dispatcher {
    /// Tells the others what became of endpoints, where it changes something.
    pub(super) fn tell(&mut self, now: Instant) {
        if self.is_telling {
            return;
        }
        let proposals = self.endpoints.proposals(now);
        if proposals.is_empty() {
            return;
        }
        self.is_telling = true;
        let (circuits, at) = (Arc::clone(&self.circuits), self.clock.timestamp(now));
        self.send(async move {
            let asked = proposals.iter().map(|proposal| proposal.endpoint).collect();
            let answers = circuits.save(&proposals, at).await;
            Event::Told(asked, answers)
        });
    }

    /// Asks for the one probe of an endpoint's circuit; the delivery goes if we get it.
    pub(super) fn ask_for_probe(&mut self, probe: Probe, now: Instant) {
        let me = self.circuits.prober();
        let Some(proposal) = self.endpoints.propose_probe(probe.endpoint, me, now) else {
            self.requeue(probe);
            return;
        };
        let (circuits, at) = (Arc::clone(&self.circuits), self.clock.timestamp(now));
        let proposals: [Proposal; 1] = [proposal];
        self.send(async move {
            let answers = circuits.save(&proposals, at).await;
            Event::Probing(Box::new(probe), answers)
        });
    }

    /// What became of circuits that we wanted to change.
    pub(super) fn note_answers(&mut self, asked: &[EndpointId], answers: &[Answer], now: Instant) {
        if self.endpoints.take_answers(asked, answers, now) {
            self.due_at = self.due_at.min(now);
        }
    }

    pub(super) fn take_probe(&mut self, probe: Probe, answers: &[Answer]) {
        let (id, now) = (probe.endpoint, Instant::now());
        self.note_answers(&[id], answers, now);
        let is_won = answers.iter().any(|answer| answer.endpoint == id && answer.is_saved);
        let delivery = &probe.delivery;
        let is_ours = self.lanes.epoch(delivery.message.id.lane().shard()) == Some(delivery.epoch);
        let is_late = delivery.is_expired(self.clock.timestamp(now));
        if is_won && is_ours && !is_late && !self.is_stopping {
            self.endpoints.begin_probe(id, (delivery.message.id, delivery.target));
            self.start_attempt(id, probe.transport, vec![probe.delivery]);
            return;
        }
        if is_won {
            self.endpoints.abandon_probe(id, self.circuits.prober());
        }
        self.requeue(probe);
    }

    /// A delivery that was to be a probe is not sent.
    fn requeue(&mut self, Probe { endpoint, delivery, .. }: Probe) {
        self.endpoints.landed(endpoint, 1);
        if self.lanes.epoch(delivery.message.id.lane().shard()) != Some(delivery.epoch) {
            self.let_go(&delivery);
        } else if self.is_stopping || self.is_leaving(&delivery) {
            self.give_back(delivery);
        } else {
            self.endpoints.reserve(endpoint, delivery.priority());
            self.enqueue(delivery);
        }
    }

    /// Asks for what may be sent under rate limits.
    pub(super) fn take_tokens(&mut self, now: Instant) {
        if self.is_asking_for_tokens || self.is_stopping {
            return;
        }
        let wanted = self.endpoints.wanted_tokens(now);
        if wanted.is_empty() {
            return;
        }
        self.is_asking_for_tokens = true;
        let circuits = Arc::clone(&self.circuits);
        self.send(async move { Event::Tokens(circuits.take_tokens(&wanted).await) });
    }

    /// The id under which others know us.
    pub(super) fn me(&self) -> Uuid {
        Uuid::from_u128(self.circuits.prober())
    }

    /// Lends what we do not use of endpoints' concurrency, gives back what we have borrowed, and asks for more.
    pub(super) fn trade(&mut self, now: Instant) {
        if self.is_stopping {
            return;
        }
        let Some(trade) = self.endpoints.next_trade(now) else { return };
        let owned = self.lanes.owned();
        let circuits = Arc::clone(&self.circuits);
        self.send(async move {
            let loans = circuits.trade(&owned, &trade).await;
            Event::Traded(owned, loans)
        });
    }
}
