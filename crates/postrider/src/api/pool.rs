//! The few connections of the listener, and the ways to use them: one transaction as the role of a token, or one
//! statement of ours, within bounds.
//!
//! Guarantees: nothing that is done for a client runs with the rights of this process; a connection that is busy or in a
//! transaction is never used on; and who waited in vain hears whether something may have been done.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::StatusCode;
use postrider_core::failure::chain;
use postrider_store::connect::{Connector, Session};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, error::Elapsed, timeout, timeout_at},
};
use tokio_postgres::{
    Client, Row,
    error::{Severity, SqlState},
    types::ToSql,
};
use tracing::{debug, error, warn};

use super::{
    bound::Written,
    problem::{Code, Problem},
    token::{Caller, Role},
};

const BEGIN: &str = include_str!("../../../../sql/queries/access/api_begin.sql");
const COMMIT: &str = include_str!("../../../../sql/queries/access/api_commit.sql");
const ROLLBACK: &str = include_str!("../../../../sql/queries/access/api_rollback.sql");
const ENTER_ROLE: &str = include_str!("../../../../sql/queries/access/enter_role.sql");
const LEAVE_ROLE: &str = include_str!("../../../../sql/queries/access/leave_role.sql");
const SESSION: &str = include_str!("../../../../sql/queries/access/api_session.sql");

/// So many connections for what is done for clients, and no more.
const CONNECTIONS: usize = 3;
/// How many of them one token has at most, whatever it asks for: one is left to others. Two, so that what asks again while
/// its first request waits, as for a standby, hears what it waits for.
const CONNECTIONS_OF_TOKEN: usize = 2;
/// And for what we ask ourselves: who a token is, and figures, which may take long. A commit that waits for a standby
/// may keep each of the others for as long as the standby is away, and nothing that is asked here waits for one.
const QUESTIONS: usize = 2;
/// How long a request waits for one of them.
const TURN_TIME: Duration = Duration::from_secs(5);
/// How long it may take to connect.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long all may take that a transaction does before its commit.
const WORK_TIME: Duration = Duration::from_secs(12);
/// How long a client waits for a commit.
pub const COMMIT_TIME: Duration = Duration::from_secs(10);
/// How long it may take to give up a transaction, or to ask for that.
const ROLLBACK_TIME: Duration = Duration::from_secs(2);

/// A statement that is run as the role of a token.
#[derive(Debug, Clone, Copy)]
pub struct Statement {
    pub sql: &'static str,
    /// What a viewer runs instead, who may not read what an application wrote.
    pub masked: Option<&'static str>,
}

impl Statement {
    pub const fn of(sql: &'static str) -> Statement {
        Statement { sql, masked: None }
    }

    fn of_role(&self, role: &str) -> &'static str {
        let masked = self.masked.filter(|_| role == Role::Viewer.name());
        masked.unwrap_or(self.sql)
    }
}

pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections.
pub struct Pool {
    clients: Arc<Turns>,
    questions: Arc<Turns>,
    connections: Arc<Connections>,
}

/// Places for connections, of which each is used for one purpose.
struct Turns {
    free: Arc<Semaphore>,
    /// Those that each token may have, of tokens that have one or wait for one.
    shares: Mutex<HashMap<i32, Arc<Semaphore>>>,
    /// Whether the database did not answer the last time that its answer was waited for here. What is done for clients may
    /// wait for a standby, which says nothing of what is asked.
    is_silent: AtomicBool,
}

/// A place, and the part of its token's share, where it is used for one.
struct Place {
    _share: Option<OwnedSemaphorePermit>,
    _turn: OwnedSemaphorePermit,
}

struct Connections {
    connector: Connector,
    idle: Mutex<Vec<Session>>,
}

/// A connection in use. Unless it is given back it is severed: something may be under way.
struct Lease {
    session: Option<Session>,
    connections: Arc<Connections>,
    turns: Arc<Turns>,
    _place: Place,
}

/// How a statement that is to be done once has ended.
pub enum Once {
    Done(String),
    /// It was done before.
    Known(Row),
}

impl Pool {
    pub fn new(connector: Connector) -> Pool {
        Pool {
            clients: Arc::new(Turns::new(CONNECTIONS)),
            questions: Arc::new(Turns::new(QUESTIONS)),
            connections: Arc::new(Connections { connector, idle: Mutex::default() }),
        }
    }

    /// Whether connections for questions that are busy are so because the database does not answer.
    pub fn is_silent(&self) -> bool {
        self.questions.is_silent.load(Ordering::Relaxed)
    }

    /// Runs one statement of ours, with the rights of this process.
    pub async fn ask(
        &self,
        until: Instant,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Problem> {
        let lease = self.take(&self.questions, None, until).await?;
        match timeout_at(until, lease.client().query(sql, parameters)).await {
            Ok(Ok(rows)) => {
                lease.give_back();
                Ok(rows)
            }
            Ok(Err(error)) => {
                if is_refusal(&error) {
                    lease.give_back();
                }
                Err(Problem::database(&error))
            }
            Err(_) => {
                lease.cancel();
                Err(too_slow())
            }
        }
    }

    /// Runs one statement in a transaction of its own, as the role of the caller.
    pub async fn query(
        &self,
        caller: &Caller,
        statement: Statement,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Problem> {
        self.query_or_check(caller, (statement, parameters), None).await
    }

    /// The same for a list: where it shows nothing, `check` is run, too, which refuses what nobody knows.
    pub async fn query_or_check(
        &self,
        caller: &Caller,
        (statement, parameters): (Statement, Parameters<'_>),
        check: Option<(&str, Parameters<'_>)>,
    ) -> Result<Vec<Row>, Problem> {
        let lease = self.take(&self.clients, Some(caller.token), caller.until).await?;
        let client = lease.client();
        let working = async {
            client.batch_execute(BEGIN).await.map_err(refused)?;
            let role = enter(client, caller).await?;
            let rows = client.query(statement.of_role(&role), parameters).await.map_err(refused)?;
            if let Some((sql, parameters)) = check.filter(|_| shows_nothing(&rows)) {
                client.query(sql, parameters).await.map_err(refused)?;
            }
            Ok(rows)
        };
        let worked = timeout_at(work_until(caller), working).await;
        lease.end(worked).await
    }

    /// Runs a statement as a role between two of ours, all in one transaction: what it returns is given to `write`,
    /// which makes the answer, and the answer is kept by the last one. If the first one has a row, that is the answer.
    pub async fn query_once(
        &self,
        caller: &Caller,
        [first, last]: [(&str, Parameters<'_>); 2],
        (statement, parameters): (Statement, Parameters<'_>),
        write: impl Fn(&[Row]) -> Result<(i16, String), Problem>,
    ) -> Result<Once, Problem> {
        let lease = self.take(&self.clients, Some(caller.token), caller.until).await?;
        let client = lease.client();
        let working = async {
            client.batch_execute(BEGIN).await.map_err(refused)?;
            let known = client.query(first.0, first.1).await.map_err(|error| claimed(&error))?;
            // Answers that are kept are as well only for a token that holds.
            let role = enter(client, caller).await?;
            if let Some(row) = known.into_iter().next() {
                return Ok(Once::Known(row));
            }
            let sql = statement.of_role(&role);
            let rows = client.query(sql, parameters).await.map_err(refused)?;
            let (status, body) = write(&rows)?;
            client.execute(LEAVE_ROLE, &[]).await.map_err(refused)?;
            let mut kept: Vec<&(dyn ToSql + Sync)> = last.1.to_vec();
            kept.extend([&status as &(dyn ToSql + Sync), &body]);
            client.execute(last.0, &kept).await.map_err(refused)?;
            Ok(Once::Done(body))
        };
        match timeout_at(work_until(caller), working).await {
            Ok(Ok(Once::Known(row))) => {
                lease.roll_back().await;
                Ok(Once::Known(row))
            }
            worked => lease.end(worked).await,
        }
    }

    async fn take(
        &self,
        turns: &Arc<Turns>,
        token: Option<i32>,
        until: Instant,
    ) -> Result<Lease, Problem> {
        let turn_until = until.min(Instant::now() + TURN_TIME);
        let Ok(Some(place)) = timeout_at(turn_until, turns.wait(token)).await else {
            let detail = "All connections of the listener, or those that one token may have, are busy; \
                          nothing was done.";
            return Err(Problem::unavailable(Code::Busy, detail));
        };
        let session = match self.connections.reuse() {
            Some(session) => session,
            None => self.connections.connect(turns, until).await?,
        };
        let connections = Arc::clone(&self.connections);
        Ok(Lease { session: Some(session), connections, turns: Arc::clone(turns), _place: place })
    }
}

impl Turns {
    fn new(count: usize) -> Turns {
        let free = Arc::new(Semaphore::new(count));
        Turns { free, shares: Mutex::default(), is_silent: AtomicBool::default() }
    }

    /// The next place, in the order in which they were asked for. Who has its token's share already waits apart, and
    /// keeps no one from a place.
    async fn wait(&self, token: Option<i32>) -> Option<Place> {
        let share = match token {
            Some(token) => Some(self.share(token).acquire_owned().await.ok()?),
            None => None,
        };
        let turn = Arc::clone(&self.free).acquire_owned().await.ok()?;
        Some(Place { _share: share, _turn: turn })
    }

    fn share(&self, token: i32) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has or wants a part of one holds it, and takes it here only.
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let share = shares.entry(token);
        Arc::clone(share.or_insert_with(|| Arc::new(Semaphore::new(CONNECTIONS_OF_TOKEN))))
    }
}

impl Connections {
    fn reuse(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(session) = idle.pop() {
            if session.lost.reason().is_none() {
                return Some(session);
            }
        }
        None
    }

    async fn connect(&self, turns: &Turns, until: Instant) -> Result<Session, Problem> {
        let connecting = async {
            let session = self.connector.connect().await.map_err(|error| chain(&error))?;
            session.client.batch_execute(SESSION).await.map_err(|error| chain(&error))?;
            Ok::<_, String>(session)
        };
        let until = until.min(Instant::now() + CONNECT_TIME);
        let error = match timeout_at(until, connecting).await {
            Ok(Ok(session)) => return Ok(session),
            Ok(Err(error)) => error,
            Err(_) => "the database does not answer".to_owned(),
        };
        turns.is_silent.store(true, Ordering::Relaxed);
        warn!(error, "no connection for the listener");
        let detail = "The database cannot be reached; nothing was done.";
        Err(Problem::unavailable(Code::DatabaseUnavailable, detail))
    }
}

impl Lease {
    fn client(&self) -> &Client {
        &self.session.as_ref().expect("it is there until it is given back").client
    }

    /// Ends a transaction: commits what was done, or gives it up.
    async fn end<T>(self, worked: Result<Result<T, Problem>, Elapsed>) -> Result<T, Problem> {
        match worked {
            Ok(Ok(done)) => self.commit().await.map(|()| done),
            Ok(Err(problem)) => {
                self.roll_back().await;
                Err(problem)
            }
            Err(_) => {
                self.cancel();
                Err(too_slow())
            }
        }
    }

    async fn commit(self) -> Result<(), Problem> {
        match timeout(COMMIT_TIME, self.client().batch_execute(COMMIT)).await {
            Ok(Ok(())) => {
                self.give_back();
                Ok(())
            }
            Ok(Err(error)) if is_refusal(&error) => {
                self.give_back();
                Err(Problem::database(&error))
            }
            Ok(Err(error)) => {
                warn!(error = chain(&error), "the outcome of a commit is unknown");
                Err(Problem::outcome_unknown())
            }
            Err(_) => {
                warn!("the outcome of a commit is unknown: the database does not answer");
                self.turns.is_silent.store(true, Ordering::Relaxed);
                tokio::spawn(self.linger());
                Err(Problem::outcome_unknown())
            }
        }
    }

    /// Waits for a commit that nobody else waits for. It is not cancelled: where it waits for a standby, that would make
    /// visible what no standby has. And it keeps its place for as long as the connection lives: a backend that waits for a
    /// standby does not notice that its client has gone, so whoever went on without it would leave one behind each time.
    async fn linger(self) {
        if self.client().check_connection().await.is_ok() {
            self.give_back();
        }
    }

    async fn roll_back(self) {
        if let Ok(Ok(())) = timeout(ROLLBACK_TIME, self.client().batch_execute(ROLLBACK)).await {
            self.give_back();
        }
    }

    /// Something took too long: the server is asked to give it up, and the connection ends.
    fn cancel(self) {
        self.turns.is_silent.store(true, Ordering::Relaxed);
        let token = self.client().cancel_token();
        tokio::spawn(async move {
            let cancelling = self.connections.connector.cancel(token);
            if let Ok(Err(error)) = timeout(ROLLBACK_TIME, cancelling).await {
                debug!(error = chain(&error), "a statement could not be cancelled");
            }
            drop(self);
        });
    }

    fn give_back(mut self) {
        self.turns.is_silent.store(false, Ordering::Relaxed);
        let mut idle = self.connections.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.session.take());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.sever();
        }
    }
}

fn work_until(caller: &Caller) -> Instant {
    caller.until.min(Instant::now() + WORK_TIME)
}

/// From now on with the rights of the token's role, if the token holds. Says which one.
async fn enter(client: &Client, caller: &Caller) -> Result<String, Problem> {
    let rows = match client.query(ENTER_ROLE, &[&caller.token, &&*caller.request_id]).await {
        Ok(rows) => rows,
        Err(error) => return Err(not_entered(&error)),
    };
    let [row] = rows.as_slice() else { return Err(Problem::unauthorized()) };
    match row.get("is_entered") {
        true => Ok(row.get("role")),
        false => Err(Problem::internal()),
    }
}

/// Whether a list has no item, or no more than how far it has looked.
fn shows_nothing(rows: &[Row]) -> bool {
    rows.first().is_none_or(|row| row.get::<_, Option<Written>>(0).is_none())
}

fn not_entered(error: &tokio_postgres::Error) -> Problem {
    const HOW: &str =
        "this process may not act as the role of a token; postrider token create says how";
    let (status, detail) = match error.code() {
        Some(&SqlState::INVALID_PARAMETER_VALUE) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The database does not have the role of this token; nothing was done.",
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => (
            StatusCode::FORBIDDEN,
            "This process may not act as the role of this token; nothing was done.",
        ),
        _ => return Problem::database(error),
    };
    error!(error = chain(error), "{HOW}");
    Problem::new(status, Code::RoleUnavailable, detail)
}

/// Why a key could not be claimed.
fn claimed(error: &tokio_postgres::Error) -> Problem {
    if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return Problem::database(error);
    }
    let detail = "A request with this Idempotency-Key is in progress.";
    Problem::new(StatusCode::CONFLICT, Code::IdempotencyInProgress, detail)
}

fn refused(error: tokio_postgres::Error) -> Problem {
    Problem::database(&error)
}

/// Before a commit: it will not be done any more, for the connection ends.
fn too_slow() -> Problem {
    Problem::timeout("The database took too long; nothing was done.")
}

/// Whether the server has said no, and the connection goes on.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(|error| error.parsed_severity());
    severity == Some(Severity::Error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_store::connect::DatabaseUrl;

    #[tokio::test]
    async fn what_is_done_for_clients_says_nothing_of_what_is_asked() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Nobody listens there.
        drop(listener);
        let url = DatabaseUrl::new(format!("postgresql://postrider@{address}/postrider"));
        let pool = Pool::new(Connector::new(&url, None, "test").unwrap());
        let until = Instant::now() + CONNECT_TIME;
        assert!(pool.take(&pool.clients, Some(1), until).await.is_err());
        assert!(!pool.is_silent());
        assert!(pool.take(&pool.questions, None, until).await.is_err());
        assert!(pool.is_silent());
    }

    #[tokio::test]
    async fn a_token_leaves_a_place_to_others_and_nothing_behind() {
        let turns = Turns::new(CONNECTIONS);
        // At once, or not.
        let place = async |token| timeout(Duration::ZERO, turns.wait(token)).await.ok().flatten();
        let first = place(Some(1)).await.unwrap();
        let second = place(Some(1)).await.unwrap();
        assert!(place(Some(1)).await.is_none(), "it has its share");
        let other = place(Some(2)).await.unwrap();
        assert!(place(Some(3)).await.is_none(), "there are no more");
        // What is given back is for whoever asks, and its share as well.
        drop(first);
        let first = place(Some(1)).await.unwrap();
        drop((first, second, other));
        let last = place(None).await.unwrap();
        assert!(place(Some(4)).await.is_some());
        assert_eq!(turns.shares.lock().unwrap().keys().collect::<Vec<_>>(), [&4]);
        drop(last);
    }
}
