//! What a consumer has to say while it goes on.

use std::error::Error as StdError;
use std::fmt;

use crate::{Error, MessageId};

/// What went wrong while a consumer goes on: for your log. See
/// [`ConsumerBuilder::on_trouble`](crate::ConsumerBuilder::on_trouble).
#[derive(Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// A connection could not be made or was lost, or the database refuses for now. It is tried again.
    Database {
        /// Why.
        error: Error,
    },
    /// A batch has failed and was rolled back. Its messages come again.
    BatchFailed {
        /// The partition that it was of.
        partition: i32,
        /// Its first message.
        message: MessageId,
        /// How many messages it had.
        message_count: usize,
        /// How often the first message had failed by itself before.
        failure_count: u32,
        /// What the handler returned or panicked with, or why its work could not be committed.
        error: Box<dyn StdError + Send + Sync>,
    },
    /// A message was parked.
    Parked {
        /// The partition that it is in.
        partition: i32,
        /// The message.
        message: MessageId,
        /// How often it had failed by itself.
        failure_count: u32,
        /// The last error.
        error: String,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { error } => formatter.write_str(&describe(error)),
            Self::BatchFailed { partition, message, message_count, error, .. } => write!(
                formatter,
                "a batch of {message_count} in partition {partition}, from message {message} on, \
                 has failed: {}",
                describe(error.as_ref())
            ),
            Self::Parked { message, failure_count, error, .. } => write!(
                formatter,
                "message {message} was parked after {failure_count} failures: {error}"
            ),
        }
    }
}

/// An error with its sources, of which some say nothing new.
pub(crate) fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}
