//! Handing deliveries to transports.

use std::{sync::Arc, time::Duration};

use postrider_core::{
    id::EndpointId,
    outcome::{Outcome, Report},
};
use tokio::{sync::Semaphore, time::Instant};
use tracing::error;

use super::Driver;
use crate::{
    engine::{command::Event, delivery::Delivery},
    store::log::{Log, Payload},
    transport::{Envelope, Transport},
};

/// Payloads that do not come along are in memory only while they are sent: up to so many KiB.
pub const FETCHED_KIB: usize = 64 * 1024;
/// What an attempt may take at most, whatever its transport's timeouts are.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(900);

impl Driver {
    pub fn attempt(
        &mut self,
        endpoint: EndpointId,
        transport: Result<Arc<dyn Transport>, String>,
        deliveries: Vec<Delivery>,
    ) {
        self.options.test_hooks.before_attempt(&deliveries);
        let report = self.report.clone();
        let log = Arc::clone(&self.connections.log);
        let fetched = Arc::clone(&self.fetched);
        let fence = self.keeper.fence().clone();
        self.tasks.spawn(async move {
            let started = Instant::now();
            if started >= fence.at() {
                // The process was stopped in between, and a heartbeat may have got through since.
                let _ = report.send(Event::Late(deliveries));
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
        });
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
