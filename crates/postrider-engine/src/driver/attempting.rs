//! Handing deliveries to transports.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    id::Edition,
    message::Payload,
    outcome::{Outcome, Report},
    tenure::{Clock, Delivery, command::Event},
    timestamp::Timestamp,
};
use postrider_store::log::Log;
use postrider_transport::{Envelope, Ticket, Transport};
use tracing::{error, trace};

use super::Driver;

/// What an attempt may take at most, whatever its transport's timeouts are.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(900);

impl Driver {
    pub fn attempt(
        &mut self,
        edition: Result<Edition, String>,
        deliveries: Vec<Delivery>,
        clock: Clock,
    ) {
        self.options.test_hooks.before_attempt(&deliveries);
        // Now: the next command may close it.
        let transport = self.transport(edition);
        let report = self.report.clone();
        let log = Arc::clone(&self.connections.log);
        let fence = self.keeper.fence().clone();
        self.tasks.spawn(async move {
            let started = Instant::now();
            let landing = |delivery: Delivery| {
                let report = report.clone();
                // The receiver is gone only when the tenure is over.
                Ticket::new(move |came| drop(report.send(Event::Landed(delivery, came, started))))
            };
            let transport = match transport {
                Ok(transport) => transport,
                Err(report) => {
                    for delivery in deliveries {
                        landing(delivery).report(report.clone());
                    }
                    return;
                }
            };
            let (mut batch, mut not_sent) = (Vec::with_capacity(deliveries.len()), Vec::new());
            for delivery in deliveries {
                let sent = match Instant::now() >= fence.at() {
                    true => Err(not_sent_for("the lease had ended")),
                    false => envelope(&log, &delivery, transport.needs_metadata()).await,
                };
                match sent {
                    Ok(envelope) => batch.push((envelope, delivery)),
                    Err(report) => not_sent.push((delivery, report)),
                }
            }
            // What was asked of the database has taken a while.
            let now = Instant::now();
            if now >= fence.at() {
                // The process was stopped in between, and a heartbeat may have got through since.
                let batch = batch.into_iter().map(|(_, delivery)| delivery);
                let late = batch.chain(not_sent.into_iter().map(|(delivery, _)| delivery));
                let _ = report.send(Event::Late(late.collect()));
                return;
            }
            let is_over = |(_, delivery): &(_, Delivery)| delivery.is_expired(clock.timestamp(now));
            let (expired, batch): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_over);
            let error = "it expired while its payload was fetched";
            not_sent
                .extend(expired.into_iter().map(|(_, delivery)| (delivery, not_sent_for(error))));
            for (delivery, report) in not_sent {
                landing(delivery).report(report);
            }
            trace!(stop = "attempt", deliveries = batch.len());
            let batch = batch.into_iter().map(|(sent, delivery)| (sent, landing(delivery)));
            transport.attempt(batch.collect(), (started + LONGEST_ATTEMPT).into()).await;
        });
    }

    /// What deliveries go by, or what became of them without.
    fn transport(&self, edition: Result<Edition, String>) -> Result<Arc<dyn Transport>, Report> {
        let edition = edition.map_err(unavailable)?;
        self.transports.get(edition).ok_or_else(|| {
            // The fault is ours: no retry is used up.
            error!(edition = edition.0, "deliveries were handed to a transport that is not open");
            not_sent_for("its transport is not open")
        })
    }
}

/// What is sent of a delivery, what did not come along fetched; or why not.
async fn envelope(
    log: &Log,
    delivery: &Delivery,
    needs_metadata: bool,
) -> Result<Envelope, Report> {
    let mut content = delivery.message.content.clone();
    if needs_metadata || matches!(content.payload, Payload::Stored { .. }) {
        content = match log.content(delivery.message.id, delivery.target).await {
            Ok(content) => content,
            Err(error) => {
                return Err(not_sent_for(&error.to_string()));
            }
        };
    }
    let Payload::Here(payload) = content.payload else {
        error!(message_id = delivery.message.id.0, "the message is gone from the log");
        return Err(unavailable("the message is gone from the log".to_owned()));
    };
    Ok(Envelope {
        message_id: delivery.message.id.0,
        attempt: delivery.retry_count + 1,
        correlation_id: content.correlation_id,
        event_type: content.event_type,
        replay_of: content.replay_of.map(|id| id.0),
        created_at: delivery.message.terms.created_at.since_1970(),
        expires_at: delivery.message.terms.expires_at.map(Timestamp::since_1970),
        ordering_key: delivery.message.terms.ordering_key.clone(),
        metadata: content.metadata,
        headers: content.headers,
        content_type: content.content_type,
        payload,
    })
}

fn not_sent_for(error: &str) -> Report {
    Report::failed(Outcome::NotSent, error.to_owned(), Duration::ZERO)
}

fn unavailable(error: String) -> Report {
    Report::failed(Outcome::Unavailable { retry_after: None }, error, Duration::ZERO)
}
