//! What is said of a dispatcher to people who watch.

use std::{sync::Arc, time::Duration};

use crate::{
    id::EndpointId,
    measured::{Measured, Sample},
    outcome::{Outcome, Report},
    statistics::Statistics,
};

#[derive(Debug, Default)]
pub struct Figures {
    /// What a heartbeat says, besides what is counted elsewhere.
    statistics: Statistics,
    /// What is to be counted and was not taken yet.
    measured: Vec<Measured>,
}

impl Figures {
    /// What is to be counted since this was asked last.
    pub fn take_measured(&mut self) -> Vec<Measured> {
        std::mem::take(&mut self.measured)
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

    /// What is to be counted of an attempt for whoever watches this process.
    pub fn meter(
        &mut self,
        endpoint: EndpointId,
        name: &Arc<str>,
        report: &Report,
        latency: Duration,
    ) {
        let (name, sample) = (Arc::clone(name), Sample::new(report, latency));
        self.measured.push(Measured::Attempt { endpoint, name, sample });
    }

    /// These endpoints are gone.
    pub fn note_gone(&mut self, gone: &[EndpointId]) {
        self.measured.extend(gone.iter().copied().map(Measured::Gone));
    }
}
