//! Faults on demand, for tests of what happens when a message kills its dispatcher.

use super::delivery::Delivery;
use crate::store::log::Payload;

/// Off unless the environment says otherwise.
#[derive(Debug, Default)]
pub struct TestHooks {
    /// The process aborts before it attempts a message whose payload contains this text.
    abort_on: Option<String>,
}

impl TestHooks {
    /// Reads `POSTRIDER_TEST_ABORT_ON`.
    pub fn from_environment() -> TestHooks {
        TestHooks { abort_on: std::env::var("POSTRIDER_TEST_ABORT_ON").ok() }
    }

    pub fn before_attempt(&self, deliveries: &[Delivery]) {
        let Some(poison) = &self.abort_on else { return };
        let is_poisoned = |delivery: &Delivery| match &delivery.message.content.payload {
            Payload::Here(payload) => {
                payload.windows(poison.len()).any(|window| window == poison.as_bytes())
            }
            _ => false,
        };
        if deliveries.iter().any(is_poisoned) {
            std::process::abort();
        }
    }
}
