//! Why a call has failed, so that a caller can branch.

use std::error::Error as StdError;
use std::fmt;

use crate::MessageId;

/// Why a call has failed, and nothing has been written; or why a consumer or a worker has stopped.
///
/// ```no_run
/// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), postrider_client::Error> {
/// use postrider_client::{Error, Postrider};
///
/// match Postrider::send(transaction, "warehouse", &"hello").await {
///     Ok(message) => println!("sent as {message}"),
///     Err(Error::QueueFull(refusal)) => println!("later: {refusal}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no endpoint of this name (SQLSTATE 42704).
    #[error("{0}")]
    UnknownEndpoint(Refusal),
    /// There is no event type of this name (SQLSTATE 42704).
    #[error("{0}")]
    UnknownEventType(Refusal),
    /// There is no consumer of this name (SQLSTATE 42704).
    #[error("{0}")]
    UnknownConsumer(Refusal),
    /// The endpoint is disabled (SQLSTATE 55000).
    #[error("{0}")]
    Disabled(Refusal),
    /// A value is out of its range, too large, or not what JSON in PostgreSQL can hold (a SQLSTATE of
    /// class 22). The same call fails again.
    #[error("{0}")]
    Invalid(Refusal),
    /// As many messages wait as the setting `max_queue_size` allows (SQLSTATE 53400), or the role has named as
    /// many workers that have never registered as `max_unknown_workers` allows. The same call works when some
    /// have been delivered, or are gone.
    #[error("{0}")]
    QueueFull(Refusal),
    /// The idempotency key belongs to a message with another payload (SQLSTATE 23505).
    #[error("{0}")]
    IdempotencyConflict(Refusal),
    /// A payload, header or metadata could not be written as JSON.
    #[error("could not write the payload as JSON")]
    Serialize(#[source] serde_json::Error),
    /// What a consumer or a worker is to do or where its database is cannot be understood.
    #[error("{0}")]
    Misconfigured(String),
    /// A message has failed as often as `Poison::Stop` allows. It is still the next one of its consumer.
    #[error("message {message} at position {position} has failed {failure_count} times")]
    Poisoned {
        /// The message.
        message: MessageId,
        /// Its position.
        position: i64,
        /// How many batches that began with it have come to nothing.
        failure_count: u32,
        /// The last error of the handler.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// Another process has registered under the worker's name, and has it now.
    #[error("another process has registered as worker '{name}'")]
    WorkerReplaced {
        /// The worker's name.
        name: String,
    },
    /// Anything else: a lost connection, a missing right, a schema that is not installed, a
    /// serialization failure, ….
    #[error("could not call Postrider in the database")]
    Database {
        /// The SQLSTATE, if the database has answered.
        code: Option<String>,
        /// The error of the driver.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// What Postrider has said when it refused a call.
///
/// ```no_run
/// # fn example(refusal: postrider_client::Refusal) {
/// println!("{} ({})", refusal.message(), refusal.code());
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// What a driver reports.
#[derive(Debug)]
pub struct Failure {
    pub(crate) refusal: Option<Refusal>,
    pub(crate) source: Box<dyn StdError + Send + Sync>,
}

/// What a call looks up by name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unknown {
    Endpoint,
    EventType,
    #[cfg(feature = "tokio-postgres")]
    Consumer,
    Nothing,
}

impl Error {
    /// The SQLSTATE, if the database has refused the call.
    ///
    /// ```no_run
    /// # fn example(error: postrider_client::Error) {
    /// let is_worth_a_retry = matches!(error.code(), Some("40001" | "40P01" | "53400"));
    /// # }
    /// ```
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::UnknownEndpoint(refusal)
            | Self::UnknownEventType(refusal)
            | Self::UnknownConsumer(refusal)
            | Self::Disabled(refusal)
            | Self::Invalid(refusal)
            | Self::QueueFull(refusal)
            | Self::IdempotencyConflict(refusal) => Some(&refusal.code),
            Self::Serialize(_)
            | Self::Misconfigured(_)
            | Self::Poisoned { .. }
            | Self::WorkerReplaced { .. } => None,
            Self::Database { code, .. } => code.as_deref(),
        }
    }

    pub(crate) fn new(failure: Failure, unknown: Unknown) -> Self {
        let Failure { refusal, source } = failure;
        let Some(refusal) = refusal else { return Self::Database { code: None, source } };
        match (refusal.code.as_str(), unknown) {
            ("42704", Unknown::Endpoint) => Self::UnknownEndpoint(refusal),
            ("42704", Unknown::EventType) => Self::UnknownEventType(refusal),
            #[cfg(feature = "tokio-postgres")]
            ("42704", Unknown::Consumer) => Self::UnknownConsumer(refusal),
            ("55000", Unknown::Endpoint) => Self::Disabled(refusal),
            ("53400", _) => Self::QueueFull(refusal),
            ("23505", _) => Self::IdempotencyConflict(refusal),
            (code, _) if code.starts_with("22") => Self::Invalid(refusal),
            _ => Self::Database { code: Some(refusal.code), source },
        }
    }

    pub(crate) fn too_large(size: usize, limit: usize) -> Self {
        let message = format!("{size} bytes are more than the {limit} that one call may have");
        Self::Invalid(Refusal { code: "22023".to_owned(), message, hint: None })
    }

    /// The function has returned no id, which a Postrider that we know does not.
    pub(crate) fn no_id() -> Self {
        Self::Database { code: None, source: "the database returned no message id".into() }
    }
}

impl Refusal {
    /// The SQLSTATE.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What is wrong, as listed in Postrider's documentation of errors.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, if there is a hint.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
