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
    /// What was counted and not taken yet.
    measured: Vec<Measured>,
    /// It was said which endpoints there are.
    has_told_all: bool,
}

impl Figures {
    /// What was counted since this was asked last.
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

    /// Counts an attempt for whoever watches this process.
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

    /// These are all endpoints, and these are gone.
    pub fn note_endpoints(&mut self, all: impl Iterator<Item = EndpointId>, gone: &[EndpointId]) {
        if !std::mem::replace(&mut self.has_told_all, true) {
            self.measured.push(Measured::All(all.collect()));
        }
        self.measured.extend(gone.iter().copied().map(Measured::Gone));
    }
}
