//! The values of which tests of a tenure are made.

use crate::{
    id::{EndpointId, MessageId, Priority, Target},
    message::{Content, Terms},
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
