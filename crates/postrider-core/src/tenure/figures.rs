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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::tests::{ENDPOINT, report};

    #[test]
    fn attempts_are_counted_and_the_last_error_stays_until_there_is_another_one() {
        let mut figures = Figures::default();
        let rejected = Report { error: Some("no".to_owned()), ..report(Outcome::Rejected) };
        for (report, processed, errors, last) in [
            (report(Outcome::Accepted), 1, 0, None),
            (rejected, 2, 1, Some("no")),
            (report(Outcome::Accepted), 3, 1, Some("no")),
            (report(Outcome::Unknown), 4, 2, Some("an error")),
        ] {
            figures.note_attempt(&report);
            let said = figures.statistics();
            let counts = (said.messages_processed, said.error_count, said.last_error.as_deref());
            assert_eq!(counts, (processed, errors, last));
        }
        figures.note_clock_offset(-3);
        assert_eq!(figures.statistics().clock_offset_ms, Some(-3));
    }

    /// Whoever watches forgets an endpoint when it is gone: an attempt behind that would bring it back for ever.
    #[test]
    fn what_is_to_be_counted_is_handed_over_once_and_in_order() {
        let mut figures = Figures::default();
        let (name, latency) = (Arc::from("one"), Duration::from_millis(7));
        figures.meter(ENDPOINT, &name, &report(Outcome::Accepted), latency);
        figures.note_gone(&[ENDPOINT, EndpointId(2)]);
        figures.meter(EndpointId(3), &name, &report(Outcome::Gone), latency);
        let measured: Vec<_> = figures
            .take_measured()
            .into_iter()
            .map(|measured| match measured {
                Measured::Attempt { endpoint, sample, .. } => {
                    assert_eq!(sample.latency, latency);
                    (endpoint.0, Some(sample.outcome))
                }
                Measured::Gone(endpoint) => (endpoint.0, None),
            })
            .collect();
        let expected =
            [(1, Some(Outcome::Accepted)), (1, None), (2, None), (3, Some(Outcome::Gone))];
        assert_eq!(measured, expected);
        assert!(figures.take_measured().is_empty());
    }
}
