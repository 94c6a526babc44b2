//! Handing deliveries to transports, and what becomes of them.

use super::*;

/// What could not leave for a reason of ours waits so long.
const UNSENT_PAUSE: Duration = Duration::from_secs(1);

impl Dispatcher {
    pub(super) fn attempt(&mut self, now: Instant) {
        if self.is_stopping() {
            return;
        }
        while let Some(batch) = self.endpoints.next_batch() {
            let timestamp = self.clock.timestamp(now);
            let Batch { endpoint, is_probe, edition, deliveries } = batch;
            let (expired, deliveries): (Vec<_>, Vec<_>) =
                deliveries.into_iter().partition(|delivery| delivery.is_expired(timestamp));
            for delivery in expired {
                self.endpoints.landed(&delivery);
                self.settle(delivery, Settlement::Expired);
            }
            let is_stale =
                |delivery: &Delivery| delivery.claimed_at.is_some_and(|at| now >= at + CLAIM_AGE);
            let (stale, mut deliveries): (Vec<_>, Vec<_>) =
                deliveries.into_iter().partition(is_stale);
            for delivery in stale {
                self.endpoints.landed(&delivery);
                self.put_back(delivery);
            }
            if is_probe {
                if let Some(delivery) = deliveries.pop() {
                    self.ask_for_probe(Probe { endpoint, delivery }, now);
                }
            } else if !deliveries.is_empty() {
                let clock = self.clock;
                trace!(stop = "attempt", endpoint = endpoint.0, deliveries = deliveries.len());
                self.command(Command::Attempt { edition, deliveries, clock });
            }
        }
    }

    pub(super) fn take_landed(&mut self, delivery: Delivery, report: &Report, started: Instant) {
        let now = self.now;
        let id = delivery.endpoint;
        let (message_id, target_id) = (delivery.message.id.0, delivery.target.0);
        trace!(stop = "take_landed", message_id, target_id, outcome = ?report.outcome);
        self.endpoints.landed(&delivery);
        let place = delivery.place();
        self.endpoints.note_outcome(id, place, report, self.tenancy.identity.prober());
        self.meter(&delivery, report);
        if !self.is_ours(&delivery) {
            return self.let_go(delivery);
        }
        if report.outcome != Outcome::NotSent {
            self.note_attempt(&delivery, report, started);
        }
        if report.outcome == Outcome::Gone && self.endpoints.retire(id) {
            self.ask(Query::Retire(id));
        }
        if let Outcome::Unavailable { retry_after: Some(asked) } = report.outcome {
            self.endpoints.ask_for_pause(id, asked, now);
        }
        let settlement = self.judge(&delivery, report);
        self.settle(delivery, settlement);
    }

    /// What becomes of a delivery after an attempt.
    fn judge(&mut self, delivery: &Delivery, report: &Report) -> Settlement {
        let decision = match report.outcome {
            Outcome::Accepted => Decision::Delivered,
            // Whatever waited for the endpoint is a dead letter by now, and this would wait, too.
            _ if !self.endpoints.is_known(delivery.endpoint) => {
                Decision::Dead(Cause::EndpointDropped)
            }
            outcome => {
                let policy = self.policy(delivery);
                decide(&policy, delivery.retry_count, outcome, self.dice.f64())
            }
        };
        match decision {
            Decision::Delivered => Settlement::Delivered,
            Decision::RetryAfter(wait) => Settlement::Retry { wait, error: error_text(report) },
            Decision::Postpone => {
                let run_at = self.clock.timestamp(self.now + UNSENT_PAUSE);
                Settlement::Postponed { run_at }
            }
            Decision::Dead(cause) => Settlement::Dead { cause, error: Some(error_text(report)) },
        }
    }

    /// The lease was over before these were attempted, and so is the tenure.
    pub(super) fn take_late(&mut self, deliveries: Vec<Delivery>) -> Result<(), Failure> {
        self.hands.note_unbegun(deliveries);
        let text = "attempts would have begun after the lease had ended";
        Err(Failure::new(text, false))
    }

    /// Notes what is to be counted of an attempt for whoever watches this process.
    fn meter(&mut self, delivery: &Delivery, report: &Report) {
        let since = delivery.message.terms.pending_since();
        let latency = self.clock.timestamp(self.now).0.saturating_sub(since.0).max(0);
        if let Some(name) = self.endpoints.name(delivery.endpoint) {
            let latency = Duration::from_micros(latency.unsigned_abs());
            self.figures.meter(delivery.endpoint, name, report, latency);
        }
    }

    /// Counts an attempt, and keeps it for the history where that is wanted.
    fn note_attempt(&mut self, delivery: &Delivery, report: &Report, started: Instant) {
        self.figures.note_attempt(report);
        if report.outcome != Outcome::Accepted {
            debug!(
                message_id = delivery.message.id.0,
                attempt = delivery.retry_count + 1,
                error = report.error.as_deref(),
                "attempt failed"
            );
        }
        self.recorder.note_attempt(delivery, self.clock.timestamp(started), report);
    }
}

#[cfg(test)]
mod tests;
