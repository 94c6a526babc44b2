//! A connection to the database, and the calls of a consumer on it.
//!
//! Every call has a limit. Statements have no names and limits end with their transaction, so a pooler in
//! transaction mode may stand between.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{CancelToken, Client, GenericClient, IsolationLevel, Row, Transaction};
use uuid::Uuid;

use super::message::Message;
use crate::connection::tokio_postgres::failure;
use crate::database::{Address, Tls};
use crate::error::{Error, Unknown};

/// How long the database may take for what it does at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request to cancel a statement may take.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    connection: JoinHandle<()>,
}

/// What `begin_batch` has said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) batch_size: i32,
    pub(super) failure_count: u32,
}

/// The limits of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) idle: Duration,
    pub(super) wait: Duration,
}

impl<T: Tls> Address<T> {
    pub(super) async fn open(&self) -> Result<Session, Error> {
        let connecting = self.config.connect(self.tls.clone());
        let (client, connection) = within(PATIENCE, connecting).await?;
        // Calls report what it ends with.
        let connection = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Session { client, connection })
    }

    /// Asks the server to end a statement; what comes of it is seen there.
    pub(super) async fn cancel(&self, statement: &CancelToken) {
        let request = statement.cancel_query(self.tls.clone());
        let _ = tokio::time::timeout(CANCEL_PATIENCE, request).await;
    }
}

impl Session {
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    pub(super) async fn lease(
        &self,
        consumer: &str,
        member: Uuid,
        lease: Duration,
    ) -> Result<Vec<i32>, Error> {
        let sql = include_str!("../../sql/lease_partitions.sql");
        let (member, lease) = (member.to_string(), microseconds(lease));
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&consumer, Type::TEXT), (&member, Type::TEXT), (&lease, Type::INT8)];
        one(&self.client, sql, &parameters).await?.try_get(0).map_err(database)
    }

    pub(super) async fn release(&self, consumer: &str, member: Uuid) -> Result<(), Error> {
        let sql = include_str!("../../sql/release_partitions.sql");
        let member = member.to_string();
        one(&self.client, sql, &[(&consumer, Type::TEXT), (&member, Type::TEXT)]).await?;
        Ok(())
    }

    pub(super) async fn begin_batch(
        &self,
        consumer: &str,
        partition: i32,
        batch_size: i32,
    ) -> Result<Begun, Error> {
        let sql = include_str!("../../sql/begin_batch.sql");
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&consumer, Type::TEXT), (&partition, Type::INT4), (&batch_size, Type::INT4)];
        let row = one(&self.client, sql, &parameters).await?;
        let failure_count: i32 = row.try_get(1).map_err(database)?;
        let failure_count = u32::try_from(failure_count).unwrap_or_default();
        Ok(Begun { batch_size: row.try_get(0).map_err(database)?, failure_count })
    }

    /// `fetch_messages` needs READ COMMITTED, whatever the role's default is.
    pub(super) async fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        let started = self.client.build_transaction();
        within(PATIENCE, started.isolation_level(IsolationLevel::ReadCommitted).start()).await
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What it still does nobody waits for. The server rolls back when it sees the end.
        self.connection.abort();
    }
}

pub(super) async fn fetch(
    transaction: &Transaction<'_>,
    consumer: &str,
    partition: i32,
    batch_size: i32,
    limits: Limits,
) -> Result<Vec<Message>, Error> {
    let idle = format!("{}ms", limits.idle.as_millis());
    // A fetch may pass messages that nobody wants for a while, after it has waited.
    let statement = limits.idle.max(PATIENCE) + limits.wait;
    let statement = format!("{}ms", statement.as_millis());
    let wait = microseconds(limits.wait);
    let set: [(&(dyn ToSql + Sync), Type); 2] = [(&idle, Type::TEXT), (&statement, Type::TEXT)];
    let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
        (&consumer, Type::TEXT),
        (&batch_size, Type::INT4),
        (&wait, Type::INT8),
        (&partition, Type::INT4),
    ];
    let (sql, next) = (
        include_str!("../../sql/limit_transaction.sql"),
        include_str!("../../sql/fetch_messages.sql"),
    );
    // Sent one behind the other, without waiting for the first answer.
    let both = async {
        tokio::try_join!(
            transaction.query_typed(sql, &set),
            transaction.query_typed(next, &parameters)
        )
    };
    let (_, rows) = within(limits.wait + PATIENCE, both).await?;
    rows.iter().map(Message::read).collect()
}

pub(super) async fn acknowledge(
    transaction: &Transaction<'_>,
    consumer: &str,
    position: i64,
) -> Result<(), Error> {
    let sql = include_str!("../../sql/acknowledge.sql");
    one(transaction, sql, &[(&consumer, Type::TEXT), (&position, Type::INT8)]).await?;
    Ok(())
}

pub(super) async fn park(
    transaction: &Transaction<'_>,
    consumer: &str,
    position: i64,
    attempt_count: u32,
    error: &str,
) -> Result<(), Error> {
    let sql = include_str!("../../sql/park_message.sql");
    let attempt_count = i32::try_from(attempt_count).unwrap_or(i32::MAX);
    // A text in PostgreSQL has none of these.
    let error = error.replace('\0', "");
    let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
        (&consumer, Type::TEXT),
        (&position, Type::INT8),
        (&attempt_count, Type::INT4),
        (&error, Type::TEXT),
    ];
    one(transaction, sql, &parameters).await?;
    Ok(())
}

pub(super) async fn commit(transaction: Transaction<'_>) -> Result<(), Error> {
    within(PATIENCE, transaction.commit()).await
}

/// Whether the session can be used again.
pub(super) async fn rollback(transaction: Transaction<'_>) -> bool {
    within(PATIENCE, transaction.rollback()).await.is_ok()
}

async fn one(
    client: &impl GenericClient,
    sql: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Row, Error> {
    within(PATIENCE, client.query_typed_one(sql, parameters)).await
}

pub(crate) async fn within<R>(
    limit: Duration,
    call: impl Future<Output = Result<R, tokio_postgres::Error>>,
) -> Result<R, Error> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(database),
        Err(elapsed) => Err(Error::Database { code: None, source: Box::new(elapsed) }),
    }
}

fn database(error: tokio_postgres::Error) -> Error {
    Error::new(failure(error), Unknown::Consumer)
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Whether the same call would be refused again, and again: somebody has to do something about it.
pub(crate) fn is_final(error: &Error) -> bool {
    // Not what a recovering, restarting or overloaded server says, and not lost connections.
    const CLASSES: [&str; 5] = ["0A", "22", "28", "3D", "3F"];
    const CODES: [&str; 5] = ["25001", "42501", "42704", "42883", "42P01"];
    let code = error.code();
    code.is_some_and(|code| {
        CODES.contains(&code) || CLASSES.iter().any(|class| code.starts_with(class))
    })
}
