//! What goes wrong between us and the database, and what may be done about it.

use std::{error::Error, io};

use postrider_core::failure::Failure;
use tokio_postgres::error::SqlState;

use crate::bounded;

/// What went wrong between a dispatcher and its database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A statement failed, or its connection.
    #[error("could not {action}")]
    Database { action: &'static str, source: tokio_postgres::Error },
    /// The connection has ended by itself.
    #[error("the connection to the database was lost")]
    Closed,
    /// No transaction is listed as running on a standby, so nothing can be read from it safely.
    #[error("the database is a standby; a dispatcher needs the primary")]
    Standby,
    /// The log is from elsewhere, and nobody has said that this database is to deliver from it.
    #[error(
        "nothing is delivered from database \"{database}\": {sign}; `postrider adopt` makes the log its own"
    )]
    Foreign { database: String, sign: String },
    /// A snapshot does not list its own transaction as running.
    #[error("the log cannot be read in a transaction that has written or locked something")]
    OwnTransaction,
    /// The database lost commits that were seen before: it was restored, or crashed and recovered.
    #[error("transaction ids went back: the database was restored or recovered")]
    TransactionIdsWentBack,
    /// Nothing came back in the time that there was.
    #[error("the database did not answer in time")]
    Silent,
    /// A part of us that asks the database, or waits for what others ask, has panicked.
    #[error("{0} panicked")]
    Panicked(&'static str),
    /// The answer is not what the schema promises.
    #[error("the database answered with {0}")]
    Unexpected(&'static str),
}

impl StoreError {
    /// Names what was being done: `map_err(StoreError::to("read the log"))`.
    pub fn to(action: &'static str) -> impl Fn(tokio_postgres::Error) -> StoreError {
        move |source| StoreError::Database { action, source }
    }

    /// Whether the statement was refused because a lock was not to be had in time.
    pub fn is_lock_timeout(&self) -> bool {
        self.has_code(&SqlState::LOCK_NOT_AVAILABLE)
    }

    /// Whether the statement took longer than it may.
    pub fn is_statement_timeout(&self) -> bool {
        self.has_code(&SqlState::QUERY_CANCELED)
    }

    /// Whether the statement has certainly done nothing, and may well succeed the next time.
    pub fn is_passing(&self) -> bool {
        match self {
            StoreError::Database { source, .. } => bounded::is_passing(source),
            _ => false,
        }
    }

    /// Whether the server has said so: the connection is fine.
    pub fn is_refusal(&self) -> bool {
        match self {
            StoreError::Database { source, .. } => {
                source.as_db_error().is_some() && !source.is_closed()
            }
            _ => false,
        }
    }

    /// Whether the connection was lost.
    pub fn is_loss(&self) -> bool {
        match self {
            StoreError::Closed => true,
            StoreError::Database { source, .. } => is_loss(source),
            _ => false,
        }
    }

    fn has_code(&self, code: &SqlState) -> bool {
        match self {
            StoreError::Database { source, .. } => source.code() == Some(code),
            _ => false,
        }
    }
}

/// For those who decide, and ask no more of it than this.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let is_passing = error.is_passing();
        Failure::new(error, is_passing)
    }
}

/// Whether a server that was there ends, is starting, or has dropped the connection.
pub fn is_outage(error: &tokio_postgres::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match io_error(error) {
        Some(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        None => is_ended(error),
    }
}

/// Whether a server that was there cannot be reached any more, whatever the network says of it.
pub fn is_loss(error: &tokio_postgres::Error) -> bool {
    io_error(error).is_some() || is_ended(error)
}

fn is_ended(error: &tokio_postgres::Error) -> bool {
    const STATES: [SqlState; 3] =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.is_closed() || error.code().is_some_and(|code| STATES.contains(code))
}

fn io_error(error: &tokio_postgres::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}
