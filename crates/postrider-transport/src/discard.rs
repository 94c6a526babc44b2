//! `discard`: accepts every message at once and sends nothing.
//!
//! For measuring what everything else costs, and for switching an endpoint to /dev/null without
//! its messages piling up.

use std::{sync::Arc, time::Duration};

use postrider_core::{flow::Flow, outcome::Report};
use tokio::time::Instant;

use super::{
    Attempts, ConfigError, ConfigOption, DefaultValue, Envelope, OptionKind, Protocol, Shared,
    Ticket, Transport,
    config::Checked,
    flow::{self, with_flow},
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
pub const OPTIONS: &[ConfigOption] = &with_flow::<{ OWN.len() + flow::OPTIONS.len() }>(OWN);

const OWN: &[ConfigOption] = &[ConfigOption {
    name: "concurrency",
    kind: OptionKind::Integer { min: 1, max: 65_536 },
    required: false,
    default: DefaultValue::Integer(1_024),
    description: "How many messages may be in flight at a time.",
    secret: false,
}];

struct Discard {
    flow: Flow,
}

fn open(config: &Checked<'_>, _: &Arc<Shared>) -> Result<Arc<dyn Transport>, ConfigError> {
    Ok(Arc::new(Discard { flow: flow::read(config) }))
}

impl Transport for Discard {
    fn batch_limit(&self) -> usize {
        BATCH_LIMIT
    }

    fn flow(&self) -> Flow {
        self.flow
    }

    fn attempt(self: Arc<Self>, batch: Vec<(Envelope, Ticket)>, _: Instant) -> Attempts {
        for (_, ticket) in batch {
            ticket.report(Report::accepted(Duration::ZERO));
        }
        Box::pin(std::future::ready(()))
    }
}
