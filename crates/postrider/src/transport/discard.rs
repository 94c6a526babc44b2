//! `discard`: accepts every message at once and sends nothing.
//!
//! For measuring what everything else costs, and for switching an endpoint to /dev/null without
//! its messages piling up.

use std::{sync::Arc, time::Duration};

use postrider_core::outcome::{Outcome, Report};
use tokio::time::Instant;

use super::{
    Attempts, ConfigError, ConfigOption, DefaultValue, Envelope, OptionKind, Protocol, Shared,
    Transport, config::Checked,
};

/// How many messages are taken at a time.
const BATCH_LIMIT: usize = 1_024;

/// The entry of the list of protocols.
pub const PROTOCOL: Protocol = Protocol {
    name: "discard",
    description: "Accepts every message at once and sends nothing: for measuring, and for \
                  switching an endpoint to /dev/null.",
    options: OPTIONS,
    open,
};

/// What the config of a `discard` endpoint may hold.
pub const OPTIONS: &[ConfigOption] = &[ConfigOption {
    name: "concurrency",
    kind: OptionKind::Integer { min: 1, max: 65_536 },
    required: false,
    default: DefaultValue::Integer(1_024),
    description: "How many messages may be in flight at a time.",
    secret: false,
}];

struct Discard {
    concurrency: usize,
}

fn open(config: &Checked<'_>, _: &Arc<Shared>) -> Result<Arc<dyn Transport>, ConfigError> {
    let concurrency = config.integer("concurrency").and_then(|count| count.try_into().ok());
    Ok(Arc::new(Discard { concurrency: concurrency.expect("checked, and has a default") }))
}

impl Transport for Discard {
    fn batch_limit(&self) -> usize {
        BATCH_LIMIT
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn attempt(self: Arc<Self>, batch: Vec<Envelope>, _: Instant) -> Attempts {
        let accepted = Report {
            outcome: Outcome::Accepted,
            status: None,
            error: None,
            duration: Duration::ZERO,
        };
        Box::pin(std::future::ready(vec![accepted; batch.len()]))
    }
}
