//! Handing deliveries to transports, and what becomes of them.

use super::*;

impl Dispatcher {
    pub(super) fn attempt(&mut self, now: Instant) {
        if self.is_stopping {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        while let Some(batch) = self.endpoints.next_batch() {
            let Batch { endpoint, is_probe, transport, deliveries } = batch;
            let count = deliveries.len();
            let (expired, deliveries): (Vec<_>, Vec<_>) =
                deliveries.into_iter().partition(|delivery| delivery.is_expired(timestamp));
            for delivery in &expired {
                self.gathered.expired(delivery, now);
            }
            let is_stale =
                |delivery: &Delivery| delivery.claimed_at.is_some_and(|at| now >= at + CLAIM_AGE);
            let (stale, mut deliveries): (Vec<_>, Vec<_>) =
                deliveries.into_iter().partition(is_stale);
            self.endpoints.landed(endpoint, count - deliveries.len());
            for delivery in stale {
                self.put_back(delivery);
            }
            if is_probe {
                if let Some(delivery) = deliveries.pop() {
                    self.ask_for_probe(Probe { endpoint, transport, delivery }, now);
                }
            } else if !deliveries.is_empty() {
                self.start_attempt(endpoint, transport, deliveries);
            }
        }
    }

    pub(super) fn start_attempt(
        &mut self,
        endpoint: EndpointId,
        transport: Result<Arc<dyn crate::transport::Transport>, String>,
        deliveries: Vec<Delivery>,
    ) {
        self.options.test_hooks.before_attempt(&deliveries);
        let report = self.report.clone();
        let log = Arc::clone(&self.log);
        let fetched = Arc::clone(&self.fetched);
        let fence = self.keeper.fence().clone();
        let attempt = async move {
            let started = Instant::now();
            if started >= fence.at() {
                // The process was stopped in between, and a heartbeat may have got through since.
                let late = StoreError::Nonsense("an attempt that began after its lease");
                let _ = report.send(Event::Retired(endpoint, Err(late)));
                return;
            }
            let deadline = started + LONGEST_ATTEMPT;
            let reports = match &transport {
                Ok(transport) => {
                    let (envelopes, permits) = envelopes(&log, &fetched, &deliveries).await;
                    let reports = match envelopes {
                        Ok(envelopes) => Arc::clone(transport).attempt(envelopes, deadline).await,
                        Err(text) => unavailable(deliveries.len(), &text),
                    };
                    drop(permits);
                    reports
                }
                Err(error) => unavailable(deliveries.len(), error),
            };
            debug_assert_eq!(reports.len(), deliveries.len());
            let landed = deliveries.into_iter().zip(reports).collect();
            let _ = report.send(Event::Landed(endpoint, landed, started));
        };
        self.tasks.spawn(attempt);
    }

    pub(super) fn take_landed(
        &mut self,
        id: EndpointId,
        landed: Vec<(Delivery, Report)>,
        started: Instant,
    ) {
        let now = Instant::now();
        self.endpoints.landed(id, landed.len());
        let me = self.circuits.prober();
        for (delivery, report) in landed {
            let is_accepted = report.outcome == Outcome::Accepted;
            let place = (delivery.message.id, delivery.target);
            self.endpoints.note_outcome(id, place, is_accepted, &report, me);
            let shard = delivery.message.id.lane().shard();
            if self.lanes.epoch(shard) != Some(delivery.epoch) {
                self.let_go(&delivery);
                continue;
            }
            self.statistics.messages_processed += 1;
            if !is_accepted {
                self.statistics.error_count += 1;
                self.statistics.last_error = report.error.clone();
                debug!(
                    message = delivery.message.id.0,
                    attempt = delivery.retry_count + 1,
                    error = report.error.as_deref(),
                    "attempt failed"
                );
            }
            if !is_accepted || self.records_successes || report.response.is_some() {
                self.gathered.attempt(&delivery, self.clock.timestamp(started), &report);
            }
            if report.outcome == Outcome::Gone && self.endpoints.retire(id) {
                let chores = Arc::clone(&self.chores);
                self.send(async move { Event::Retired(id, chores.retire(id, "gone").await) });
            }
            if let Outcome::Unavailable { retry_after: Some(asked) } = report.outcome {
                self.endpoints.ask_for_pause(id, asked, now);
            }
            let error = || error_text(&report);
            if !is_accepted && !self.endpoints.is_known(id) {
                // Whatever waited for the endpoint is a dead letter by now, and this would wait, too.
                self.gathered.dead(&delivery, Cause::EndpointDropped, Some(error()), now);
                self.hurry_for_followers(&delivery);
                continue;
            }
            let decision = match report.outcome {
                Outcome::Accepted => Decision::Delivered,
                outcome => {
                    let policy = self.policy(&delivery);
                    decide(&policy, delivery.retry_count, outcome, fastrand::f64())
                }
            };
            match decision {
                Decision::Delivered => self.gathered.delivered(&delivery, now),
                Decision::RetryAfter(wait) => {
                    self.gathered.retry(&delivery, wait, error(), now);
                    self.store_followers(&delivery);
                    self.note_deferred(id, self.clock.timestamp(now + wait));
                }
                Decision::Dead(cause) => self.gathered.dead(&delivery, cause, Some(error()), now),
            }
            self.hurry_for_followers(&delivery);
        }
    }

    /// The policy in force for a delivery now.
    pub(super) fn policy(&self, delivery: &Delivery) -> Policy {
        self.policies.of(delivery, self.endpoints.policies(delivery.endpoint))
    }
}

type Permits = Vec<tokio::sync::OwnedSemaphorePermit>;

/// What is sent of the deliveries, payloads that did not come along fetched.
async fn envelopes(
    log: &Log,
    fetched: &Arc<Semaphore>,
    deliveries: &[Delivery],
) -> (Result<Vec<Envelope>, String>, Permits) {
    // All at once: batches that wait for each other with a part in hand would wait for ever.
    let kib: u64 = deliveries
        .iter()
        .map(|delivery| match delivery.message.content.payload {
            Payload::Stored { bytes } => u64::from(bytes / 1024 + 1),
            _ => 0,
        })
        .sum();
    let mut permits = Vec::new();
    if kib > 0
        && let Ok(permit) =
            Arc::clone(fetched).acquire_many_owned(kib.min(FETCHED_KIB as u64) as u32).await
    {
        permits.push(permit);
    }
    let mut envelopes = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let mut content = delivery.message.content.clone();
        if let Payload::Stored { .. } = content.payload {
            content = match log.content(delivery.message.id, delivery.target).await {
                Ok(content) => content,
                Err(error) => return (Err(error.to_string()), permits),
            };
        }
        let Payload::Here(payload) = content.payload else {
            error!(message = delivery.message.id.0, "the message is gone from the log");
            return (Err("the message is gone from the log".to_owned()), permits);
        };
        envelopes.push(Envelope {
            message_id: delivery.message.id.0,
            attempt: delivery.retry_count + 1,
            correlation_id: content.correlation_id,
            event_type: content.event_type,
            replay_of: content.replay_of.map(|id| id.0),
            headers: content.headers,
            content_type: content.content_type,
            payload,
        });
    }
    (Ok(envelopes), permits)
}

fn unavailable(count: usize, error: &str) -> Vec<Report> {
    let report = Report {
        outcome: Outcome::Unavailable { retry_after: None },
        status: None,
        error: Some(error.to_owned()),
        duration: Duration::ZERO,
        response: None,
    };
    vec![report; count]
}
