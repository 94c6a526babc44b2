//! What is kept in PostgreSQL, and how it is reached.

pub mod archive;
pub mod circuits;
pub mod connect;
pub mod fleet;
pub mod lease;
pub mod ledger;
pub mod log;
pub mod migrate;
pub mod wire;

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
    /// A snapshot does not list its own transaction as running.
    #[error("the log cannot be read in a transaction that has written or locked something")]
    OwnTransaction,
    /// The database lost commits that were seen before: it was restored, or crashed and recovered.
    #[error("transaction ids went back: the database was restored or recovered")]
    TransactionIdsWentBack,
    /// The answer is not what the schema promises.
    #[error("the database answered with {0}")]
    Nonsense(&'static str),
}

impl StoreError {
    /// Names what was being done: `map_err(StoreError::to("read the log"))`.
    pub fn to(action: &'static str) -> impl Fn(tokio_postgres::Error) -> StoreError {
        move |source| StoreError::Database { action, source }
    }

    /// Whether the statement was refused because a lock was not to be had in time.
    pub fn is_lock_timeout(&self) -> bool {
        match self {
            StoreError::Database { source, .. } => {
                source.code() == Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE)
            }
            _ => false,
        }
    }
}
