//! The few connections of the listener, and one way to use them: one transaction, as one role, within bounds.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_postgres::{Client, Row, Transaction, error::SqlState, types::ToSql};
use tracing::{error, warn};

use super::{problem::Problem, token::Caller};
use crate::{
    engine::chain,
    store::connect::{Connector, Session},
};

const ENTER_ROLE: &str = include_str!("../../../../sql/queries/enter_role.sql");
const LEAVE_ROLE: &str = include_str!("../../../../sql/queries/leave_role.sql");
const SESSION: &str = include_str!("../../../../sql/queries/api_session.sql");

/// So many connections, and no more.
const CONNECTIONS: usize = 2;
/// How long a request waits for one of them.
const TURN_TIME: Duration = Duration::from_secs(5);
/// How long it may take to connect.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long it may take to give up a transaction.
const ROLLBACK_TIME: Duration = Duration::from_secs(2);

pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections.
pub struct Pool {
    connector: Connector,
    turns: Semaphore,
    idle: Mutex<Vec<Session>>,
}

/// A connection in use; closed unless it is given back.
struct Lease<'a> {
    pool: &'a Pool,
    session: Session,
    _turn: SemaphorePermit<'a>,
}

impl Pool {
    pub fn new(connector: Connector) -> Pool {
        Pool { connector, turns: Semaphore::new(CONNECTIONS), idle: Mutex::default() }
    }

    /// Runs one statement in a transaction of its own, as the role of the caller, or as who we are.
    pub async fn query(
        &self,
        caller: Option<&Caller>,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Problem> {
        let mut lease = self.take().await?;
        let transaction = lease.begin().await?;
        let asked = async {
            enter(&transaction, caller).await?;
            transaction.query(sql, parameters).await.map_err(|error| Problem::database(&error))
        };
        match asked.await {
            Ok(rows) => {
                commit(transaction).await?;
                lease.give_back();
                Ok(rows)
            }
            Err(problem) => {
                if rollback(transaction).await {
                    lease.give_back();
                }
                Err(problem)
            }
        }
    }

    /// Runs a statement as a role between two of ours, all in one transaction: what it returns is given to `write`,
    /// which makes the answer, and the answer is kept by the last one. If the first one has a row, that is the answer.
    pub async fn query_once(
        &self,
        caller: &Caller,
        [first, last]: [(&str, Parameters<'_>); 2],
        (sql, parameters): (&str, Parameters<'_>),
        write: impl Fn(&[Row]) -> Result<(i16, String), Problem>,
    ) -> Result<Once, Problem> {
        let mut lease = self.take().await?;
        let transaction = lease.begin().await?;
        let refused = |error| Problem::database(&error);
        let asked = async {
            let known = transaction.query(first.0, first.1).await;
            let known = match known {
                Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                    return Ok(Once::InProgress);
                }
                known => known.map_err(refused)?,
            };
            if let Some(row) = known.into_iter().next() {
                return Ok(Once::Known(row));
            }
            enter(&transaction, Some(caller)).await?;
            let rows = transaction.query(sql, parameters).await.map_err(refused)?;
            let (status, body) = write(&rows)?;
            transaction.execute(LEAVE_ROLE, &[]).await.map_err(refused)?;
            let mut kept: Vec<&(dyn ToSql + Sync)> = last.1.to_vec();
            kept.extend([&status as &(dyn ToSql + Sync), &body]);
            transaction.execute(last.0, &kept).await.map_err(refused)?;
            Ok(Once::Done(body))
        };
        match asked.await {
            Ok(Once::InProgress) => {
                if rollback(transaction).await {
                    lease.give_back();
                }
                Ok(Once::InProgress)
            }
            Ok(once) => {
                commit(transaction).await?;
                lease.give_back();
                Ok(once)
            }
            Err(problem) => {
                if rollback(transaction).await {
                    lease.give_back();
                }
                Err(problem)
            }
        }
    }

    async fn take(&self) -> Result<Lease<'_>, Problem> {
        let Ok(Ok(turn)) = timeout(TURN_TIME, self.turns.acquire()).await else {
            let detail = "All connections of the listener are busy; nothing was done.";
            return Err(Problem::unavailable("busy", detail));
        };
        let session = match self.reuse() {
            Some(session) => session,
            None => self.connect().await?,
        };
        Ok(Lease { pool: self, session, _turn: turn })
    }

    fn reuse(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(session) = idle.pop() {
            if session.lost.reason().is_none() {
                return Some(session);
            }
        }
        None
    }

    async fn connect(&self) -> Result<Session, Problem> {
        let connecting = async {
            let session = self.connector.connect().await.map_err(|error| chain(&error))?;
            session.client.batch_execute(SESSION).await.map_err(|error| chain(&error))?;
            Ok::<_, String>(session)
        };
        let error = match timeout(CONNECT_TIME, connecting).await {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(error)) => error,
            Err(_) => "the database does not answer".to_owned(),
        };
        warn!(error, "no connection for the listener");
        let detail = "The database cannot be reached; nothing was done.";
        Err(Problem::unavailable("database_unavailable", detail))
    }
}

/// How a statement that is to be done once has ended.
pub enum Once {
    Done(String),
    /// It was done before.
    Known(Row),
    /// Somebody else is at it.
    InProgress,
}

impl Lease<'_> {
    async fn begin(&mut self) -> Result<Transaction<'_>, Problem> {
        let client: &mut Client = &mut self.session.client;
        client.transaction().await.map_err(|error| Problem::database(&error))
    }

    fn give_back(self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self.session);
    }
}

async fn enter(transaction: &Transaction<'_>, caller: Option<&Caller>) -> Result<(), Problem> {
    let Some(Caller { role, name, .. }) = caller else { return Ok(()) };
    let Err(error) = transaction.query(ENTER_ROLE, &[&role.database_kind(), name]).await else {
        return Ok(());
    };
    if error.as_db_error().is_none() {
        return Err(Problem::database(&error));
    }
    let error = chain(&error);
    error!(
        error,
        "this process may not act as the role of a token; postrider token create says how"
    );
    let detail = "The database has no such role for this process to act as; nothing was done.";
    Err(Problem::unavailable("role_unavailable", detail))
}

async fn commit(transaction: Transaction<'_>) -> Result<(), Problem> {
    transaction.commit().await.map_err(|error| Problem::database(&error))
}

/// Whether the connection can be used on.
async fn rollback(transaction: Transaction<'_>) -> bool {
    matches!(timeout(ROLLBACK_TIME, transaction.rollback()).await, Ok(Ok(())))
}
