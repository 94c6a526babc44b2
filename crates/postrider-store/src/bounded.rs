//! A connection of a dispatcher that has one purpose, and whose statements have a bound.
//!
//! Each of our statements is a transaction of its own, so one that ran into its bound has certainly done
//! nothing and can be repeated as it is. Who waits for long gets said who holds what it waits for.

use std::{
    ops::DerefMut,
    ptr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_postgres::{Client, Error, Row, ToStatement, error::SqlState, types::ToSql};
use tracing::{debug, warn};

use super::{
    StoreError,
    connect::{ConnectError, Connector, error_text},
};

/// No statement takes longer, however long the lease is.
const LONGEST_STATEMENT: Duration = Duration::from_secs(10);
/// What was too much for its bound gets twice the time with every try, up to this: it cannot be divided.
const LONGEST_REPEATED: Duration = Duration::from_secs(60);
/// So many statements that run into their bound fit into a lease.
const STATEMENTS_IN_A_LEASE: u32 = 3;
/// So many waits for a lock fit into the bound of a statement.
const WAITS_IN_A_STATEMENT: u32 = 3;
/// How long after a statement that ran into its bound the next try begins.
const PAUSE: Duration = Duration::from_millis(100);
/// How often we say that a connection's statements run into their bounds, and look for who is to blame.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// For so long after such a statement, the next ones are watched.
const WATCHED_FOR: Duration = Duration::from_secs(150);
/// Whoever looks begins after so long a wait: some functions of ours wait for a much shorter time than the session
/// would.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// For so long it looks, over the pauses between our tries, and for twice as long with what connecting takes.
const LOOKED_FOR: Duration = Duration::from_secs(3);

/// How long statements may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub statement: Duration,
    /// How long a statement waits for one lock.
    pub lock: Duration,
}

impl Bounds {
    /// For a connection that is used before anybody knows how long a lease is: whoever has none loses none.
    pub const BEFORE_A_LEASE: Bounds = Bounds {
        statement: LONGEST_STATEMENT,
        lock: Duration::from_millis(
            LONGEST_STATEMENT.as_millis() as u64 / WAITS_IN_A_STATEMENT as u64,
        ),
    };

    /// Far below the lease, so that nothing of ours holds anybody up for as long as that.
    pub fn for_lease(lease: Duration) -> Bounds {
        let statement = (lease / STATEMENTS_IN_A_LEASE).min(LONGEST_STATEMENT);
        Bounds { statement, lock: statement / WAITS_IN_A_STATEMENT }
    }
}

/// Sets how long the statements of a session may take from now on, whoever has made it.
///
/// # Errors
///
/// When the connection fails.
pub async fn bound(client: &Client, bounds: Bounds) -> Result<(), Error> {
    let (statement, lock) = (bounds.statement.as_millis(), bounds.lock.as_millis());
    let sql = include_str!("../../../sql/queries/dispatch/limit_statements.sql");
    client.execute(sql, &[&statement.to_string()]).await?;
    let sql = include_str!("../../../sql/queries/dispatch/limit_waits.sql");
    client.execute(sql, &[&lock.to_string()]).await?;
    Ok(())
}

/// What becomes of a statement that ran into its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It is repeated until it succeeds.
    Again,
    /// Its caller hears of it and tries again some time, with more time if it was too much.
    Later,
    /// Its caller hears of it.
    Fail,
}

/// The connection. Clones are the same one.
#[derive(Clone)]
pub struct Bounded(Arc<Inner>);

struct Inner {
    client: Arc<Client>,
    then: Then,
    /// How a look is taken at who holds us up; not for a connection that somebody else has made.
    look: Option<Look>,
    state: Mutex<State>,
}

struct Look {
    connector: Connector,
    /// What runs here, for people.
    purpose: &'static str,
    pid: i32,
}

#[derive(Default)]
struct State {
    bounds: Option<Bounds>,
    /// How often the time of a statement was doubled.
    doublings: u32,
    /// The address of the last statement that was too much. The others have more time as well until it succeeds.
    stretched: Option<usize>,
    late_at: Option<Instant>,
    /// When somebody may look again: soon after a look that was called off, seldom after one that has said something.
    look_at: Option<Instant>,
}

/// A look at who holds up one of our statements. It is called off when that has succeeded, or is not repeated.
#[derive(Default)]
struct Looking(Option<JoinHandle<()>>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl From<Arc<Client>> for Bounded {
    /// Without a bound of its own.
    fn from(client: Arc<Client>) -> Bounded {
        Bounded(Arc::new(Inner { client, then: Then::Fail, look: None, state: Mutex::default() }))
    }
}

impl Bounded {
    /// Takes over a connection that was made by `connector`.
    pub async fn new(
        client: Client,
        connector: Connector,
        purpose: &'static str,
        then: Then,
        bounds: Bounds,
    ) -> Result<Bounded, StoreError> {
        let row = client
            .query_one(include_str!("../../../sql/queries/dispatch/session_pid.sql"), &[])
            .await;
        let pid = row.map_err(StoreError::to("prepare the session"))?.get(0);
        let look = Some(Look { connector, purpose, pid });
        let state = Mutex::default();
        let bounded = Bounded(Arc::new(Inner { client: Arc::new(client), then, look, state }));
        bounded.bound(bounds).await?;
        Ok(bounded)
    }

    /// Sets how long statements may take from now on.
    pub async fn bound(&self, bounds: Bounds) -> Result<(), StoreError> {
        bound(self.once(), bounds).await.map_err(StoreError::to("prepare the session"))?;
        let mut state = self.state();
        state.bounds = Some(bounds);
        state.doublings = 0;
        state.stretched = None;
        Ok(())
    }

    /// The connection itself, for a statement that is not repeated whatever the connection is for.
    pub fn once(&self) -> &Client {
        &self.0.client
    }

    pub async fn query<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.run(statement, || self.once().query(statement, parameters)).await
    }

    pub async fn query_one<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        self.run(statement, || self.once().query_one(statement, parameters)).await
    }

    pub async fn query_opt<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Error> {
        self.run(statement, || self.once().query_opt(statement, parameters)).await
    }

    pub async fn execute<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Error> {
        self.run(statement, || self.once().execute(statement, parameters)).await
    }

    pub async fn batch_execute(&self, sql: &str) -> Result<(), Error> {
        self.run(sql, || self.once().batch_execute(sql)).await
    }

    /// The same for one whose failure its caller wants to hear of.
    pub async fn try_query<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.watch(&mut Looking::default(), || self.once().query(statement, parameters)).await
    }

    /// The same for one row, of a statement that its caller divides when it is too much.
    pub async fn query_divisible<T: ?Sized + ToStatement>(
        &self,
        statement: &T,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        let mut looking = Looking::default();
        loop {
            let ask = || self.once().query_one(statement, parameters);
            let answer = self.watch(&mut looking, ask).await;
            match answer {
                Err(error) if !is_too_much(&error) && self.is_repeated(&error) => {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    async fn run<T, F, S>(&self, statement: &S, ask: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
        S: ?Sized,
    {
        // Statements are constants, or prepared once.
        let address = ptr::from_ref(statement).cast::<()>().addr();
        let mut looking = Looking::default();
        loop {
            let answer = self.watch(&mut looking, &ask).await;
            match &answer {
                Err(error) if is_too_much(error) && self.0.then != Then::Fail => {
                    self.stretch(Some(address)).await?;
                }
                Ok(_) if self.state().stretched == Some(address) => self.stretch(None).await?,
                _ => {}
            }
            match answer {
                Err(error) if self.is_repeated(&error) => tokio::time::sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }

    fn is_repeated(&self, error: &Error) -> bool {
        self.0.then == Then::Again && is_passing(error)
    }

    /// Gives a statement twice the time, or no more than at first.
    async fn stretch(&self, stretched: Option<usize>) -> Result<(), Error> {
        let statement = {
            let mut state = self.state();
            let Some(bounds) = state.bounds else { return Ok(()) };
            state.doublings = if stretched.is_some() { (state.doublings + 1).min(6) } else { 0 };
            state.stretched = stretched;
            let longest = LONGEST_REPEATED.max(bounds.statement);
            (bounds.statement * (1 << state.doublings)).min(longest)
        };
        self.limit(statement).await
    }

    async fn limit(&self, statement: Duration) -> Result<(), Error> {
        let sql = include_str!("../../../sql/queries/dispatch/limit_statements.sql");
        self.once().execute(sql, &[&statement.as_millis().to_string()]).await?;
        Ok(())
    }

    /// Asks once. Where there was trouble lately, somebody looks who holds us up meanwhile, also over the next tries.
    async fn watch<T, F>(&self, looking: &mut Looking, ask: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (is_late, bounds) = {
            let state = self.state();
            let is_late = state.late_at.is_some_and(|at| at.elapsed() < WATCHED_FOR);
            (is_late, state.bounds)
        };
        if let Some(Bounds { lock, .. }) = bounds
            && is_late
            && looking.0.as_ref().is_none_or(JoinHandle::is_finished)
        {
            let inner = Arc::clone(&self.0);
            looking.0 = Some(tokio::spawn(async move {
                tokio::time::sleep(LOOK_AFTER.min(lock / 2)).await;
                inner.look().await;
            }));
        }
        let answer = ask().await;
        if let Err(error) = &answer
            && is_passing(error)
        {
            debug!(error = error_text(error), "a statement ran into its bound");
            self.state().late_at = Some(Instant::now());
        }
        answer
    }

    fn state(&self) -> impl DerefMut<Target = State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Says who holds what this connection waits for; seldom.
    async fn look(&self) {
        let Some(look) = &self.look else { return };
        let state = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bounds = {
            let mut state = state();
            let now = Instant::now();
            if state.look_at.is_some_and(|at| now < at) {
                return;
            }
            state.look_at = Some(now + LOOKED_FOR);
            state.bounds.unwrap_or(Bounds::BEFORE_A_LEASE)
        };
        let purpose = look.purpose;
        let found = match timeout(2 * LOOKED_FOR, look.blockers(bounds)).await {
            Ok(found) => found,
            Err(_) => Err("nobody answers whoever looks for the reason".to_owned()),
        };
        state().look_at = Some(Instant::now() + LOOK_INTERVAL);
        match found {
            Ok(blockers) if blockers.is_empty() => {
                warn!(purpose, "statements run into their bounds and are tried again");
            }
            Ok(blockers) => {
                for blocker in blockers {
                    warn!(purpose, blocker, "statements wait for another session");
                }
            }
            Err(error) => warn!(purpose, error, "statements run into their bounds"),
        }
    }
}

impl Look {
    /// On a connection made for the purpose: whatever ours wait for, it does not.
    async fn blockers(&self, bounds: Bounds) -> Result<Vec<String>, String> {
        let session =
            self.connector.connect().await.map_err(|error: ConnectError| error.to_string())?;
        bound(&session.client, bounds).await.map_err(|error| error_text(&error))?;
        let sql = include_str!("../../../sql/queries/dispatch/blockers.sql");
        let began = Instant::now();
        loop {
            let rows = session.client.query(sql, &[&self.pid]).await;
            let rows = rows.map_err(|error| error_text(&error))?;
            if !rows.is_empty() || began.elapsed() > LOOKED_FOR {
                return Ok(rows.iter().map(|row| row.get("blocker")).collect());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Whether a statement was ended for it took too long.
fn is_too_much(error: &Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// Whether a statement that failed so has certainly done nothing, and may well succeed the next time: it
/// ran into a bound, was chosen to end a deadlock, or the server was short of something.
pub fn is_passing(error: &Error) -> bool {
    let Some(code) = error.code() else { return false };
    *code == SqlState::LOCK_NOT_AVAILABLE
        || *code == SqlState::QUERY_CANCELED
        || code.code().starts_with("40")
        || code.code().starts_with("53")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_far_below_every_lease() {
        for lease in [5, 15, 60, 3600].map(Duration::from_secs) {
            let bounds = Bounds::for_lease(lease);
            assert!(bounds.statement <= lease / 3 && bounds.lock <= lease / 9, "{bounds:?}");
            assert!(bounds.statement <= LONGEST_STATEMENT);
        }
        let before = Bounds::BEFORE_A_LEASE;
        assert!(before.statement <= LONGEST_STATEMENT && before.lock <= before.statement / 3);
    }

    /// Settings of sessions, and why a bound that they lack or that is long touches no lease: see ARCHITECTURE.md.
    #[test]
    fn what_no_lease_bounds_has_bounds_in_its_settings() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/queries");
        let of_session = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("set {name} = '"))?;
            Some(rest.split('\'').next().unwrap_or_default().to_owned())
        };
        let mut found = Vec::new();
        let areas = std::fs::read_dir(folder).unwrap().map(|area| area.unwrap().path());
        for entry in areas.flat_map(|area| std::fs::read_dir(area).unwrap()) {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name.ends_with("_session") {
                let text = std::fs::read_to_string(&path).unwrap();
                let both =
                    ["statement_timeout", "lock_timeout"].map(|what| of_session(&text, what));
                found.push((name, both.map(Option::unwrap_or_default)));
            }
        }
        found.sort();
        let expected = [
            ("api_session", ["10s", "1s"]),
            // `Bounds` come on top of it, and nothing is asked before.
            ("dispatcher_session", ["60s", ""]),
            ("durability_session", ["", ""]),
            // A commit of theirs may wait for a standby.
            ("fleet_session", ["60s", "500ms"]),
            // Of a command, which has no lease.
            ("live_session", ["", ""]),
            // Its functions wait for a lock for 30 ms at most.
            ("upkeep_session", ["10min", ""]),
        ];
        let expected = expected.map(|(name, both)| (name.to_owned(), both.map(str::to_owned)));
        assert_eq!(found, expected);
    }
}
