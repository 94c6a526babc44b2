//! Transactions of strangers that stay open.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio_postgres::{Client, error::SqlState};

use super::catalog::{Hold, Leaves};
use crate::prove::until;
use postrider_testkit::postgres::PrivatePostgres;

/// A stranger that waits for another one is held in the next group instead.
const BEGIN: &str = "set application_name = 'stranger'; set lock_timeout = '100ms'; begin";
/// How long their ends may take.
const GOING: Duration = Duration::from_secs(60);
/// What the owner does before waits for no stranger.
const BEFORE: &str = "begin; set local lock_timeout = '100ms'";
/// What a session holds: whether it has a transaction id or a lock on a relation of ours that stands in the way of more
/// than those who lock all of it, and how many advisory locks. `for update` of no row and an update of none lock
/// the relation, too, in modes that everybody has who changes something.
const HELD: &str = "
    select
        a.backend_xid is not null or exists (
            select
            from pg_locks l
            join pg_class c on c.oid = l.relation and c.relnamespace = 'postrider'::regnamespace
            where l.pid = a.pid
            and l.granted
            and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')),
        (
            select count(*)
            from pg_locks l
            where l.pid = a.pid
            and l.granted
            and l.locktype = 'advisory'
        )
    from pg_stat_activity a
    where a.pid = $1";
/// What a busy transaction does.
const BUSY: &str = "set local statement_timeout = 0; select pg_sleep(3600)";

/// One that is open.
pub struct Held {
    pub hold: Hold,
    pub pid: i32,
    /// Its connection; a busy one's statement runs in a task of its own.
    _client: Arc<Client>,
}

/// What came of a try to open one.
pub enum Opened {
    Held(Box<Held>),
    /// Somebody has what it wants.
    Later,
    /// A dispatcher has the delivery in hand that it is about, or another stranger has it locked.
    InHand,
    /// It is done, and what it should have left behind is not there: somebody else has it, or there is none.
    Nothing,
    /// The statement is refused for another reason.
    Refused(String),
}

/// Runs the statement in a transaction that stays open.
pub async fn open(
    postgres: &PrivatePostgres,
    database: &str,
    owner: &Client,
    hold: &Hold,
) -> Result<Opened> {
    let client = postgres.connect_as(&hold.login, database).await?;
    client.batch_execute(BEGIN).await?;
    let pid = client.query_one("select pg_backend_pid()", &[]).await?.get(0);
    if let Some(before) = hold.statement.before {
        let before = owner.batch_execute(&format!("{BEFORE}; {before}; commit")).await;
        if let Err(error) = before {
            owner.batch_execute("rollback").await?;
            return match error.code() {
                Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(Opened::Later),
                _ => Ok(Opened::Refused(format!("what is done before: {}", text_of(&error)))),
            };
        }
    }
    if let Err(error) = client.simple_query(&hold.statement.sql).await {
        let waiting = [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED];
        if error.code().is_some_and(|code| waiting.contains(code)) {
            return Ok(Opened::Later);
        }
        if error.code() == Some(&SqlState::OBJECT_IN_USE) {
            return Ok(Opened::InHand);
        }
        return Ok(Opened::Refused(text_of(&error)));
    }
    let row = owner.query_one(HELD, &[&pid]).await?;
    let (holds_something, advisory_count): (bool, i64) = (row.get(0), row.get(1));
    match hold.statement.leaves {
        Leaves::Something if !holds_something => return Ok(Opened::Nothing),
        Leaves::AdvisoryLocks if advisory_count == 0 => return Ok(Opened::Nothing),
        Leaves::Nothing if holds_something || advisory_count > 0 => {
            let text = "it is listed as holding nothing, and holds something";
            return Ok(Opened::Refused(text.to_owned()));
        }
        _ => {}
    }
    let client = Arc::new(client);
    if hold.is_busy {
        let client = Arc::clone(&client);
        // It ends with the connection.
        tokio::spawn(async move { client.batch_execute(BUSY).await });
    }
    Ok(Opened::Held(Box::new(Held { hold: hold.clone(), pid, _client: client })))
}

fn text_of(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Ends them all, which rolls them back.
pub async fn release(owner: &Client, held: Vec<Held>) -> Result<()> {
    let pids: Vec<i32> = held.iter().map(|held| held.pid).collect();
    owner.execute("select pg_terminate_backend(p) from unnest($1::integer[]) p", &[&pids]).await?;
    let are_gone = "select not exists (select from pg_stat_activity a where a.pid = any ($1))";
    until("strangers are gone", GOING, || async {
        Ok(owner.query_one(are_gone, &[&pids]).await?.get(0))
    })
    .await
}
