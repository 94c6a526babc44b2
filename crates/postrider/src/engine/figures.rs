//! What is said of a dispatcher to people who watch.

use std::{sync::Arc, time::Duration};

use postrider_core::{
    id::EndpointId,
    outcome::{Outcome, Report},
    statistics::Statistics,
};

use crate::telemetry::Meters;

#[derive(Debug, Default)]
pub struct Figures {
    /// What a heartbeat says, besides what is counted elsewhere.
    statistics: Statistics,
    /// None: nobody watches this process.
    meters: Option<Meters>,
}

impl Figures {
    /// What is attempted is counted by these from now on.
    pub fn measure(&mut self, meters: Meters) {
        self.meters = Some(meters);
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn note_clock_offset(&mut self, ms: i64) {
        self.statistics.clock_offset_ms = Some(ms);
    }

    pub fn note_attempt(&mut self, report: &Report) {
        self.statistics.messages_processed += 1;
        if report.outcome != Outcome::Accepted {
            self.statistics.error_count += 1;
            self.statistics.last_error = report.error.clone();
        }
    }

    /// Counts an attempt for whoever watches this process.
    pub fn meter(
        &mut self,
        endpoint: EndpointId,
        name: &Arc<str>,
        report: &Report,
        latency: Duration,
    ) {
        if let Some(meters) = &mut self.meters {
            meters.note(endpoint, name, report, latency);
        }
    }

    /// These are all endpoints, and these are gone.
    pub fn note_endpoints(&mut self, all: impl Iterator<Item = EndpointId>, gone: &[EndpointId]) {
        if let Some(meters) = &mut self.meters {
            meters.begin(all);
            gone.iter().for_each(|endpoint| meters.forget(*endpoint));
        }
    }
}
