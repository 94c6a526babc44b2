//! The values of which tests of a tenure are made.

use std::{sync::Arc, time::Duration};

use super::{Delivery, Message, Source};
use crate::{
    configuration::{EndpointRow, OpenedEndpoint},
    flow::Flow,
    id::{Edition, EndpointId, MessageId, Priority, Shard, Target},
    lease::{Beat, Heartbeat},
    message::{Content, LogMessage, Targets, Terms},
    offer::Offer,
    outcome::{Outcome, Report},
    timestamp::Timestamp,
    waiting::DueDelivery,
};

pub const ENDPOINT: EndpointId = EndpointId(1);
pub const TARGET: Target = Target(1);

/// A message of the one ordering key, as it waits.
pub fn waiting(number: i64) -> DueDelivery {
    DueDelivery {
        id: MessageId(number << 10 | 15),
        target: TARGET,
        endpoint: ENDPOINT,
        retry_count: 0,
        recovery_count: 0,
        run_at: Timestamp(i64::MIN),
        is_blocked: false,
        has_many_targets: false,
        terms: Terms {
            created_at: Timestamp(0),
            scheduled_at: None,
            expires_at: None,
            priority: Priority::new(0),
            ordering_key: Some("key".into()),
            has_idempotency_key: false,
        },
        content: Content::gone(),
    }
}

/// A message without an ordering key, as it waits.
pub fn unkeyed(number: i64) -> DueDelivery {
    let row = waiting(number);
    DueDelivery {
        id: MessageId(number << 10),
        terms: Terms { ordering_key: None, ..row.terms },
        ..row
    }
}

/// The same of another shard.
pub fn of_shard(row: DueDelivery, shard: Shard) -> DueDelivery {
    DueDelivery { id: MessageId(row.id.0 | i64::from(shard.0) << 4), ..row }
}

/// A message in the log, to these targets, as it would wait.
pub fn sent(row: DueDelivery, targets: &[Target]) -> LogMessage {
    let DueDelivery { id, terms, content, .. } = row;
    LogMessage { id, xid: 9, targets: Targets::Many(targets.into()), terms, content }
}

/// The deliveries of a message that was read from the log.
pub fn read(row: LogMessage) -> Vec<Delivery> {
    let (lane, targets) = (row.id.lane(), row.targets.clone());
    let message = Message::new(row);
    let delivery = |target: &Target| Delivery {
        message: Arc::clone(&message),
        target: *target,
        endpoint: EndpointId(target.0),
        retry_count: 0,
        recovery_count: 0,
        source: Source::Log { lane, segment: 0 },
        claimed_at: None,
        epoch: 1,
    };
    targets.as_slice().iter().map(delivery).collect()
}

/// The only delivery of a message that was read from the log.
pub fn read_one(row: DueDelivery) -> Delivery {
    let target = row.target;
    read(sent(row, &[target])).remove(0)
}

pub fn report(outcome: Outcome) -> Report {
    match outcome {
        Outcome::Accepted => Report::accepted(Duration::ZERO),
        _ => Report::failed(outcome, "an error".to_owned(), Duration::ZERO),
    }
}

pub const FLOW: Flow = Flow { concurrency: 1, rate: None, max_in_memory: None, is_limited: false };

/// An endpoint that takes so much, with the target of the same number.
pub fn endpoint(id: EndpointId, version: i64, flow: Flow) -> OpenedEndpoint {
    let row = EndpointRow {
        id,
        name: format!("number {}", id.0),
        protocol: "any".to_owned(),
        config: serde_json::json!({}),
        retry_policy: None,
        target_policies: Vec::new(),
        is_enabled: true,
        is_paused: false,
        targets: vec![Target(id.0)],
        version,
    };
    let offer =
        Offer { edition: Edition(1), flow, batch_limit: 1_024, is_disabled_when_gone: false };
    (row, Ok(offer))
}

/// The same, to which nothing is to be sent.
pub fn disabled((row, offer): OpenedEndpoint) -> OpenedEndpoint {
    (EndpointRow { is_enabled: false, ..row }, offer)
}

/// The answer to a heartbeat: all is as it was, at the beginning of the database's time.
pub fn heartbeat(others: &[Beat]) -> Heartbeat {
    Heartbeat {
        is_alive: true,
        lease: Duration::from_secs(15),
        share: 1,
        takeable_count: 0,
        owned: Vec::new(),
        newest_number: Some(0),
        now_us: 0,
        clock_offset_ms: 0,
        others: others.to_vec(),
        silent: Vec::new(),
    }
}
