//! Transactions of strangers that stay open.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio_postgres::{Client, error::SqlState};

use super::catalog::Hold;
use crate::{postgres::PrivatePostgres, prove::until};

/// A stranger that waits for another one is held in the next group instead.
const BEGIN: &str = "set application_name = 'stranger'; set lock_timeout = '100ms'; begin";
/// How long their ends may take.
const GOING: Duration = Duration::from_secs(60);
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
    /// The statement is refused for another reason.
    Refused(String),
}

/// Runs the statement in a transaction that stays open.
pub async fn open(postgres: &PrivatePostgres, database: &str, hold: &Hold) -> Result<Opened> {
    let client = postgres.connect_as(&hold.login, database).await?;
    client.batch_execute(BEGIN).await?;
    let pid = client.query_one("select pg_backend_pid()", &[]).await?.get(0);
    if let Err(error) = client.simple_query(&hold.statement).await {
        let waiting = [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED];
        if error.code().is_some_and(|code| waiting.contains(code)) {
            return Ok(Opened::Later);
        }
        if error.code() == Some(&SqlState::OBJECT_IN_USE) {
            return Ok(Opened::InHand);
        }
        let text = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
        return Ok(Opened::Refused(text));
    }
    let client = Arc::new(client);
    if hold.is_busy {
        let client = Arc::clone(&client);
        // It ends with the connection.
        tokio::spawn(async move { client.batch_execute(BUSY).await });
    }
    Ok(Opened::Held(Box::new(Held { hold: hold.clone(), pid, _client: client })))
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
