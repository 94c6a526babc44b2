//! What a handler gets, and what it may say when it fails.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::recorder::{Note, Recorder};
use super::session::Content;
use crate::Error;

/// An execution that a handler is to carry out. Clones are about the same one.
///
/// ```no_run
/// # use postrider_client::{Execution, ExecutionError};
/// #[derive(serde::Deserialize)]
/// struct Resize { image: String, width: u32 }
///
/// async fn resize(execution: Execution) -> Result<serde_json::Value, ExecutionError> {
///     let Resize { image, width } = execution.parse()?;
///     Ok(serde_json::json!({ "image": format!("{image}-{width}") }))
/// }
/// ```
#[derive(Clone)]
pub struct Execution {
    content: Arc<Content>,
    signal: Arc<Signal>,
    recorder: Recorder,
}

/// Why a handler is told to stop. See [`Execution::stopped`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// Somebody wants it cancelled.
    Cancelled,
    /// Its deadline has passed.
    Timeout,
    /// The worker is taken for lost, or soon will be: it could not say that it lives. Others may get the
    /// execution next.
    Lost,
    /// The worker has waited for it as long as it may when it ends. It is given back.
    Shutdown,
}

/// What is told to an execution that runs.
#[derive(Debug)]
pub(super) struct Signal {
    pub(super) stop: watch::Sender<Option<Stop>>,
    pub(super) deadline: watch::Sender<Instant>,
}

impl Signal {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { stop: watch::Sender::new(None), deadline: watch::Sender::new(deadline) }
    }

    /// Tells it to stop; the first reason counts.
    pub(super) fn stop(&self, reason: Stop) {
        self.stop.send_if_modified(|stop| stop.is_none() && stop.replace(reason).is_none());
    }
}

impl Execution {
    pub(super) fn new(content: Arc<Content>, signal: Arc<Signal>, recorder: Recorder) -> Self {
        Self { content, signal, recorder }
    }

    /// Its id, as `submit_execution` returned it.
    pub fn id(&self) -> i64 {
        self.content.id
    }

    /// What is to be done.
    pub fn action(&self) -> &str {
        &self.content.action
    }

    /// With what, as the database writes it.
    pub fn parameters(&self) -> &RawValue {
        &self.content.parameters
    }

    /// The parameters, read as a `P`; [`serde_json::Value`] is one.
    ///
    /// # Errors
    ///
    /// When they are none. With `?` in a handler that is a permanent error.
    pub fn parse<P: DeserializeOwned>(&self) -> Result<P, serde_json::Error> {
        serde_json::from_str(self.content.parameters.get())
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.content.attempt
    }

    /// How often it may be retried.
    pub fn max_retries(&self) -> u32 {
        self.content.max_retries
    }

    /// What it belongs to, if whoever submitted it has said so.
    pub fn correlation_id(&self) -> Option<Uuid> {
        self.content.correlation_id
    }

    /// By when it must have ended, by the database's clock, as it was at its start.
    pub fn deadline(&self) -> SystemTime {
        self.content.deadline_at
    }

    /// How long it may still run, [`Execution::extend`] included.
    pub fn remaining(&self) -> Duration {
        self.signal.deadline.borrow().saturating_duration_since(Instant::now())
    }

    /// The fence under which it was started: for calls of `complete_execution` in a transaction of the
    /// handler's own.
    pub fn fence(&self) -> i64 {
        self.content.fence
    }

    /// Waits until the handler is to stop, and says why. From then on it has
    /// [`WorkerBuilder::stop_grace`](crate::WorkerBuilder::stop_grace), or less when the worker is taken
    /// for lost; after that its future is dropped.
    pub async fn stopped(&self) -> Stop {
        let mut stop = self.signal.stop.subscribe();
        let stopped = stop.wait_for(Option::is_some).await;
        stopped.ok().and_then(|stop| *stop).unwrap_or(Stop::Lost)
    }

    /// Waits until the handler is to stop, whatever the reason.
    pub async fn cancelled(&self) {
        self.stopped().await;
    }

    /// Whether the handler is to stop, whatever the reason.
    pub fn is_cancelled(&self) -> bool {
        self.signal.stop.borrow().is_some()
    }

    /// From now on it may take so much longer: a millisecond to 30 days. False: it is not this worker's
    /// any more, or somebody wants it cancelled; stop.
    ///
    /// # Errors
    ///
    /// [`Error::Database`] when the time is out of its range. While the database is away it waits.
    pub async fn extend(&self, timeout: Duration) -> Result<bool, Error> {
        let asked_at = Instant::now();
        let note = Note::Extend { timeout };
        let status = self.recorder.record(self.content.id, self.content.fence, note).await?;
        if status.is_some() {
            self.signal.deadline.send_replace(asked_at + timeout);
        }
        Ok(status.is_some())
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Content { id, action, attempt, .. } = &*self.content;
        formatter
            .debug_struct("Execution")
            .field("id", id)
            .field("action", action)
            .field("attempt", attempt)
            .finish_non_exhaustive()
    }
}

/// Why an execution has failed: the word that decides whether it is retried.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The worker cannot do it now. Retried.
    WorkerUnavailable,
    /// Nobody started it in time. Retried.
    QueueTimeout,
    /// Its worker was lost. Retried.
    WorkerHeartbeatStale,
    /// Another try may work. Retried.
    TransientError,
    /// Somebody wants it again. Retried.
    ManualRetry,
    /// The same would happen again. Not retried.
    PermanentError,
    /// A word of one's own: 1 to 63 lower-case letters, digits and `_`, a letter first. Not retried.
    Other(String),
}

impl Reason {
    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::WorkerUnavailable => "worker_unavailable",
            Self::QueueTimeout => "queue_timeout",
            Self::WorkerHeartbeatStale => "worker_heartbeat_stale",
            Self::TransientError => "transient_error",
            Self::ManualRetry => "manual_retry",
            Self::PermanentError => "permanent_error",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Reason {
    fn from(word: &str) -> Self {
        let known = [
            Self::WorkerUnavailable,
            Self::QueueTimeout,
            Self::WorkerHeartbeatStale,
            Self::TransientError,
            Self::ManualRetry,
            Self::PermanentError,
        ];
        let found = known.into_iter().find(|reason| reason.as_str() == word);
        found.unwrap_or_else(|| Self::Other(word.to_owned()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a handler returns when it has failed.
///
/// ```
/// use postrider_client::{ExecutionError, Reason};
///
/// let error = ExecutionError::transient("the printer is out of paper")
///     .details(serde_json::json!({ "printer": 7 }));
/// assert_eq!(error.reason(), &Reason::TransientError);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ExecutionError {
    reason: Reason,
    title: &'static str,
    message: String,
    details: Option<Value>,
}

impl ExecutionError {
    /// Another try may work: it is retried if it has retries left.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::with_reason(Reason::TransientError, message)
    }

    /// The same would happen again: it is not retried.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::with_reason(Reason::PermanentError, message)
    }

    /// For this reason. [`Reason`] says which ones are retried.
    pub fn with_reason(reason: impl Into<Reason>, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { reason: reason.into(), title: "Execution failed", message, details: None }
    }

    /// Anything else that is worth knowing, kept with the error.
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Why.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn titled(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// What is kept in the column `error`.
    pub(super) fn to_json(&self) -> Value {
        let mut error = json!({
            "error": self.title,
            // A text in PostgreSQL has none of these.
            "message": self.message.replace('\0', ""),
            "reason": self.reason.as_str(),
        });
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        error
    }
}

impl fmt::Display for ExecutionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.reason)
    }
}

impl std::error::Error for ExecutionError {}

impl From<serde_json::Error> for ExecutionError {
    fn from(error: serde_json::Error) -> Self {
        Self::permanent(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_its_word() {
        for word in ["transient_error", "permanent_error", "manual_retry", "out_of_paper"] {
            assert_eq!(Reason::from(word).as_str(), word);
        }
        assert_eq!(Reason::from("queue_timeout"), Reason::QueueTimeout);
    }

    #[test]
    fn the_first_reason_to_stop_counts() {
        let signal = Signal::new(Instant::now());
        signal.stop(Stop::Timeout);
        signal.stop(Stop::Shutdown);
        assert_eq!(*signal.stop.borrow(), Some(Stop::Timeout));
    }
}
