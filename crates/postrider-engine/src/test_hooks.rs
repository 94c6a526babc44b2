//! Faults on demand, for tests of what happens when a message kills or stalls its dispatcher.
//!
//! In a release build `no_test_hooks.rs` stands in its place, unless that is made with the feature `test-hooks`. `cargo xtask
//! tidy` holds that the names of hooks stand nowhere else, and each release build by xtask that none is in the program.

use postrider_core::{message::Payload, tenure::Delivery};

/// Off unless the environment says otherwise.
#[derive(Debug, Default)]
pub struct TestHooks {
    /// The process aborts before it attempts a message whose payload contains this text.
    abort_on: Option<String>,
    /// Before it attempts a message whose payload contains this text, no task of the process goes on
    /// for as long as the text says.
    #[cfg(debug_assertions)]
    stall_on: Option<(String, std::time::Duration)>,
}

impl TestHooks {
    /// Reads `POSTRIDER_TEST_ABORT_ON`, and `POSTRIDER_TEST_STALL_ON` (`text=seconds`).
    pub fn from_environment() -> TestHooks {
        TestHooks {
            abort_on: std::env::var("POSTRIDER_TEST_ABORT_ON").ok(),
            #[cfg(debug_assertions)]
            stall_on: std::env::var("POSTRIDER_TEST_STALL_ON").ok().and_then(|hook| {
                let (text, seconds) = hook.split_once('=')?;
                Some((text.to_owned(), std::time::Duration::from_secs(seconds.parse().ok()?)))
            }),
        }
    }

    pub fn before_attempt(&self, deliveries: &[Delivery]) {
        if let Some(poison) = &self.abort_on
            && is_among(poison, deliveries)
        {
            std::process::abort();
        }
        #[cfg(debug_assertions)]
        if let Some((text, duration)) = &self.stall_on
            && is_among(text, deliveries)
        {
            stall(*duration);
        }
    }
}

fn is_among(text: &str, deliveries: &[Delivery]) -> bool {
    deliveries.iter().any(|delivery| match &delivery.message.content.payload {
        Payload::Here(payload) => {
            payload.windows(text.len()).any(|window| window == text.as_bytes())
        }
        _ => false,
    })
}

/// Keeps every thread of the runtime from going on.
#[cfg(debug_assertions)]
fn stall(duration: std::time::Duration) {
    let until = std::time::Instant::now() + duration;
    let wait =
        move || std::thread::sleep(until.saturating_duration_since(std::time::Instant::now()));
    for _ in 0..tokio::runtime::Handle::current().metrics().num_workers() {
        tokio::spawn(async move { wait() });
    }
    wait();
}
