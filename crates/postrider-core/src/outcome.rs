//! What an attempt came to: the only thing that is known of it after the transport.

use std::time::Duration;

use crate::response::Response;

/// The outcome of one attempt to deliver one message to one target.
///
/// A transport translates what its protocol answered into one of these; nothing after it looks at
/// a status code or an error text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The destination took responsibility for this very message.
    Accepted,
    /// It may work later: refused connections, 408, 425, 429, 5xx, a broker's nack.
    Unavailable {
        /// How long the destination asked to be left alone (1 s to 86,400 s).
        retry_after: Option<Duration>,
    },
    /// It was sent and there is no answer: it is tried again as if unavailable, and may arrive twice.
    Unknown,
    /// Nothing of it has left this process, for a reason of our own: it waits a moment, and no retry is used up.
    NotSent,
    /// It will never work: the message is dead at once.
    Rejected,
    /// The destination says that it no longer exists: dead at once.
    Gone,
}

impl Outcome {
    /// As it is called in the history of attempts and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Accepted => "accepted",
            Outcome::Unavailable { .. } => "unavailable",
            Outcome::Unknown => "unknown",
            Outcome::NotSent => "not_sent",
            Outcome::Rejected => "rejected",
            Outcome::Gone => "gone",
        }
    }
}

/// One attempt as its transport saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub outcome: Outcome,
    /// Whether the destination itself has answered, whatever it said.
    pub is_answer: bool,
    /// The protocol's own status, if it has one (an HTTP status code).
    pub status: Option<i32>,
    /// For people: what went wrong, without secrets; `None` when accepted.
    pub error: Option<String>,
    /// From the first byte of I/O for this message to its answer.
    pub duration: Duration,
    /// What was answered, where the endpoint's responses are captured.
    pub response: Option<Box<Response>>,
}

impl Report {
    /// The destination took responsibility.
    pub fn accepted(duration: Duration) -> Self {
        Self {
            outcome: Outcome::Accepted,
            is_answer: true,
            status: None,
            error: None,
            duration,
            response: None,
        }
    }

    /// There is no answer.
    pub fn failed(outcome: Outcome, error: String, duration: Duration) -> Self {
        let error = Some(error);
        Self { outcome, is_answer: false, status: None, error, duration, response: None }
    }
}
