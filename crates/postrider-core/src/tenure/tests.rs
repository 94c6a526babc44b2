//! The values of which tests of a tenure are made.

use std::time::Duration;

use crate::{
    id::{EndpointId, MessageId, Priority, Target},
    lease::{Beat, Heartbeat},
    message::{Content, LogMessage, Targets, Terms},
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

/// A message in the log, to these targets, as it would wait.
pub fn sent(row: DueDelivery, targets: &[Target]) -> LogMessage {
    let DueDelivery { id, terms, content, .. } = row;
    LogMessage { id, xid: 9, targets: Targets::Many(targets.into()), terms, content }
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
