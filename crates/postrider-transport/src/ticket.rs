//! The report of one attempt, which comes once whatever happens.

use std::time::Duration;

use postrider_core::outcome::{Outcome, Report};

/// One attempt that is under way. Whoever has it reports what came of it as soon as that is seen; dropped,
/// it says that nobody knows.
#[must_use = "dropped, it reports that nobody knows what became of the message"]
pub struct Ticket(Option<Box<dyn FnOnce(Report) + Send>>);

impl Ticket {
    /// A ticket whose report goes there.
    pub fn new(landed: impl FnOnce(Report) + Send + 'static) -> Self {
        Self(Some(Box::new(landed)))
    }

    /// What came of this attempt.
    pub fn report(mut self, report: Report) {
        self.land(report);
    }

    fn land(&mut self, report: Report) {
        if let Some(landed) = self.0.take() {
            landed(report);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.0.is_some() {
            let error = "given up by its transport: whether it arrived is unknown".to_owned();
            self.land(Report::failed(Outcome::Unknown, error, Duration::ZERO));
        }
    }
}

/// Sends a batch and returns its reports, in the order in which they came.
#[cfg(test)]
pub async fn reports(
    transport: &std::sync::Arc<dyn super::Transport>,
    batch: Vec<super::Envelope>,
    deadline: tokio::time::Instant,
) -> Vec<(i64, Report)> {
    let (landed, mut came) = tokio::sync::mpsc::unbounded_channel();
    let ticket = |envelope: super::Envelope| {
        let (landed, id) = (landed.clone(), envelope.message_id);
        (envelope, Ticket::new(move |report| landed.send((id, report)).unwrap()))
    };
    let batch = batch.into_iter().map(ticket).collect();
    std::sync::Arc::clone(transport).attempt(batch, deadline).await;
    drop(landed);
    let mut reports = Vec::new();
    while let Some(report) = came.recv().await {
        reports.push(report);
    }
    reports
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_ticket_reports_once_and_dropped_that_nobody_knows() {
        let came = Arc::new(Mutex::new(Vec::new()));
        let ticket = || {
            let came = Arc::clone(&came);
            Ticket::new(move |report| came.lock().unwrap().push(report.outcome))
        };
        ticket().report(Report::accepted(Duration::ZERO));
        assert_eq!(*came.lock().unwrap(), [Outcome::Accepted]);
        drop(ticket());
        assert_eq!(*came.lock().unwrap(), [Outcome::Accepted, Outcome::Unknown]);
    }
}
