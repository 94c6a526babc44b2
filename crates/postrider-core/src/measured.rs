//! What is to be counted of attempts and endpoints, for whoever watches a process.

use std::{sync::Arc, time::Duration};

use crate::{
    id::EndpointId,
    outcome::{Outcome, Report},
};

/// One thing that has happened: they are taken in that order.
#[derive(Debug)]
pub enum Measured {
    /// An attempt has ended.
    Attempt { endpoint: EndpointId, name: Arc<str>, sample: Sample },
    /// The endpoint is gone.
    Gone(EndpointId),
}

/// What is counted of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub outcome: Outcome,
    pub status: Option<i32>,
    /// How long it took.
    pub duration: Duration,
    /// How long it is since its message was sent or was due.
    pub latency: Duration,
}

impl Sample {
    pub fn new(report: &Report, latency: Duration) -> Sample {
        Sample {
            outcome: report.outcome,
            status: report.status,
            duration: report.duration,
            latency,
        }
    }
}
