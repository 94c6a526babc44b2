//! The calls of a worker, on connections of its own.
//!
//! Every call has a limit. A connection that listens is always drained: what it hears is turned into
//! wake-ups at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row};
use uuid::Uuid;

use super::recorder::Entry;
use crate::connection::tokio_postgres::failure;
use crate::consumer::session::within;
use crate::database::{Address, Tls};
use crate::error::{Error, Unknown};

/// How long the database may take for what it does at once.
const PATIENCE: Duration = Duration::from_secs(30);

type Parameters<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// A connection; closed when it goes.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    connection: JoinHandle<()>,
}

/// What the commits of a session wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commits {
    /// For the disk, and the standbys that are waited for, if not for more: no crash takes back what a handler was told
    /// or has said.
    Durable,
    /// For the disk alone: signs of life and a farewell must not come late, whatever becomes of a standby.
    Local,
}

/// A worker's name, held by this process under an epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registration {
    pub(super) worker_id: i32,
    pub(super) epoch: i32,
    pub(super) heartbeat_interval: Duration,
    pub(super) stale_after: Duration,
    /// Nobody rings where transactions can be prepared.
    pub(super) is_polling: bool,
}

/// What a name is registered with.
#[derive(Debug)]
pub(super) struct Profile<'a> {
    pub(super) name: &'a str,
    pub(super) pool: &'a str,
    pub(super) capacity: i32,
    pub(super) labels: String,
    pub(super) version: Option<&'a str>,
    pub(super) host: Option<&'a str>,
    pub(super) carrier: &'a str,
}

/// An execution that was started for this worker.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) id: i64,
    pub(super) fence: i64,
    pub(super) action: String,
    pub(super) parameters: Box<RawValue>,
    pub(super) attempt: u32,
    pub(super) max_retries: u32,
    pub(super) timeout: Duration,
    pub(super) deadline_at: SystemTime,
    pub(super) correlation_id: Option<Uuid>,
    /// When it was asked for, by our clock: its timeout has begun no sooner.
    pub(super) asked_at: Instant,
}

/// What the database thinks that we have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Possession {
    pub(super) execution_id: i64,
    pub(super) fence: i64,
    pub(super) is_running: bool,
}

/// Whom notifications wake.
#[derive(Debug, Clone)]
pub(super) struct Bells {
    pub(super) queues: Vec<String>,
    /// There is something in one of the queues.
    pub(super) queue: Arc<Notify>,
    /// Somebody wants an execution of this worker cancelled.
    pub(super) cancel: (String, Arc<Notify>),
}

impl Session {
    /// A connection whose waits for locks end after `lock_timeout`.
    pub(super) async fn open<T: Tls>(
        address: &Address<T>,
        lock_timeout: Duration,
        commits: Commits,
        bells: Option<Bells>,
    ) -> Result<Self, Error> {
        let connecting = address.config.connect(address.tls.clone());
        let (client, mut connection) = within(PATIENCE, connecting).await?;
        let is_listening = bells.is_some();
        // Calls report what it ends with.
        let connection = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let (AsyncMessage::Notification(heard), Some(bells)) = (message, &bells) {
                    bells.ring(heard.payload());
                }
            }
        });
        let session = Self { client, connection };
        let lock_timeout = format!("{}ms", lock_timeout.as_millis());
        let waits_for_standbys = commits == Commits::Durable;
        let sql = include_str!("../../sql/worker_session.sql");
        session
            .query(sql, &[(&lock_timeout, Type::TEXT), (&waits_for_standbys, Type::BOOL)])
            .await?;
        if is_listening {
            let listen = include_str!("../../sql/listen_worker.sql");
            within(PATIENCE, session.client.batch_execute(listen)).await?;
        }
        Ok(session)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) async fn register(&self, profile: &Profile<'_>) -> Result<Registration, Error> {
        let sql = include_str!("../../sql/register_worker.sql");
        let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
            (&profile.name, Type::TEXT),
            (&profile.pool, Type::TEXT),
            (&profile.capacity, Type::INT4),
            (&profile.labels, Type::TEXT),
            (&profile.version, Type::TEXT),
            (&profile.host, Type::TEXT),
            (&profile.carrier, Type::TEXT),
        ];
        let row = one(self.query(sql, &parameters).await?)?;
        Ok(Registration {
            worker_id: column(&row, 0)?,
            epoch: column(&row, 1)?,
            heartbeat_interval: milliseconds(column(&row, 2)?),
            stale_after: milliseconds(column(&row, 3)?),
            is_polling: column(&row, 4)?,
        })
    }

    pub(super) async fn is_replaced(&self, worker: &Registration) -> Result<bool, Error> {
        let sql = include_str!("../../sql/worker_is_replaced.sql");
        column(&one(self.query(sql, &by(worker)).await?)?, 0)
    }

    /// The executions that are to be cancelled, with their fences.
    pub(super) async fn beat(
        &self,
        worker: &Registration,
        error: Option<&str>,
    ) -> Result<Vec<(i64, i64)>, Error> {
        let sql = include_str!("../../sql/worker_heartbeat.sql");
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&worker.worker_id, Type::INT4), (&worker.epoch, Type::INT4), (&error, Type::TEXT)];
        let rows = self.query(sql, &parameters).await?;
        rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?))).collect()
    }

    pub(super) async fn deregister(&self, worker: &Registration) -> Result<(), Error> {
        self.query(include_str!("../../sql/deregister_worker.sql"), &by(worker)).await?;
        Ok(())
    }

    /// Takes and starts executions, `limit` at most.
    pub(super) async fn take(
        &self,
        worker: &Registration,
        limit: usize,
    ) -> Result<Vec<Content>, Error> {
        let sql = include_str!("../../sql/take_executions.sql");
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&worker.worker_id, Type::INT4), (&worker.epoch, Type::INT4), (&limit, Type::INT4)];
        let asked_at = Instant::now();
        let rows = self.query(sql, &parameters).await?;
        rows.iter().map(|row| Content::read(row, asked_at)).collect()
    }

    /// Starts what a broker has brought; what must not be started any more is not among the result.
    #[cfg(feature = "rabbitmq")]
    pub(super) async fn start(
        &self,
        worker: &Registration,
        executions: &[i64],
        fences: &[i64],
    ) -> Result<Vec<Content>, Error> {
        let sql = include_str!("../../sql/start_executions.sql");
        let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
            (&worker.epoch, Type::INT4),
            (&executions, Type::INT8_ARRAY),
            (&fences, Type::INT8_ARRAY),
        ];
        let asked_at = Instant::now();
        let rows = self.query(sql, &parameters).await?;
        rows.iter().map(|row| Content::read(row, asked_at)).collect()
    }

    pub(super) async fn possessions(
        &self,
        worker: &Registration,
    ) -> Result<Vec<Possession>, Error> {
        let sql = include_str!("../../sql/worker_executions.sql");
        let rows = self.query(sql, &by(worker)).await?;
        let read = |row| {
            let status: &str = column(row, 2)?;
            Ok(Possession {
                execution_id: column(row, 0)?,
                fence: column(row, 1)?,
                is_running: status == "running",
            })
        };
        rows.iter().map(read).collect()
    }

    /// Says that we are about to sleep: true when that is said and nobody is submitting at the moment.
    pub(super) async fn doze(&self, queues: &[String]) -> Result<bool, Error> {
        let (doze, is_quiet) =
            (include_str!("../../sql/doze_worker.sql"), include_str!("../../sql/is_quiet.sql"));
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&queues, Type::TEXT_ARRAY)];
        // Sent one behind the other, without waiting for the first answer.
        let (said, quiet) =
            tokio::try_join!(self.query(doze, &parameters), self.query(is_quiet, &parameters))?;
        Ok(column(&one(said)?, 0)? && column(&one(quiet)?, 0)?)
    }

    pub(super) async fn wake(&self, queues: &[String]) -> Result<(), Error> {
        let sql = include_str!("../../sql/wake_worker.sql");
        self.query(sql, &[(&queues, Type::TEXT_ARRAY)]).await?;
        Ok(())
    }

    /// Writes down what has become of executions, all or nothing; each one's status then.
    pub(super) async fn record(&self, entries: &[Entry]) -> Result<Vec<Option<String>>, Error> {
        let sql = include_str!("../../sql/record_executions.sql");
        let kinds: Vec<&str> = entries.iter().map(|entry| entry.note.kind()).collect();
        let executions: Vec<i64> = entries.iter().map(|entry| entry.execution_id).collect();
        let fences: Vec<i64> = entries.iter().map(|entry| entry.fence).collect();
        let reasons: Vec<Option<&str>> = entries.iter().map(|entry| entry.note.reason()).collect();
        let values: Vec<Option<String>> = entries.iter().map(|entry| entry.note.value()).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&kinds, Type::TEXT_ARRAY),
            (&executions, Type::INT8_ARRAY),
            (&fences, Type::INT8_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
            (&values, Type::TEXT_ARRAY),
        ];
        let mut statuses = vec![None; entries.len()];
        for row in self.query(sql, &parameters).await? {
            let position: i64 = column(&row, 0)?;
            let index = usize::try_from(position - 1).ok();
            if let Some(status) = index.and_then(|index| statuses.get_mut(index)) {
                *status = column(&row, 1)?;
            }
        }
        Ok(statuses)
    }

    pub(super) async fn status(&self, execution_id: i64) -> Result<Option<String>, Error> {
        let sql = include_str!("../../sql/execution_status.sql");
        let rows = self.query(sql, &[(&execution_id, Type::INT8)]).await?;
        rows.first().map(|row| column(row, 0)).transpose()
    }

    async fn query(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Error> {
        let call = self.client.query_typed(sql, parameters);
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(result) => result.map_err(|error| Error::new(failure(error), Unknown::Nothing)),
            Err(elapsed) => Err(Error::Database { code: None, source: Box::new(elapsed) }),
        }
    }
}

/// Of a name that was refused because a worker of another role has it: after what time without a heartbeat it is free.
pub(super) fn stale_after(error: &Error) -> Option<Duration> {
    let Error::Database { source, .. } = error else { return None };
    let refused = source.downcast_ref::<tokio_postgres::Error>()?.as_db_error()?;
    if refused.code().code() != "55006" {
        return None;
    }
    let seconds = refused.detail()?.strip_prefix("worker_stale_after is ")?.strip_suffix(" s")?;
    seconds.parse().ok().map(Duration::from_secs)
}

impl Drop for Session {
    fn drop(&mut self) {
        // What it still does nobody waits for. The server rolls back when it sees the end.
        self.connection.abort();
    }
}

impl Bells {
    fn ring(&self, payload: &str) {
        let (cancel, is_to_cancel) = &self.cancel;
        if payload == cancel {
            is_to_cancel.notify_one();
        } else if self.queues.iter().any(|queue| mark(queue).to_string() == payload) {
            self.queue.notify_one();
        }
    }
}

/// What stands for a queue in a notification, which everybody may hear: as `postrider.key_mark`.
fn mark(queue: &str) -> u32 {
    let step = |mark: u32, byte: u8| (mark ^ u32::from(byte)).wrapping_mul(16_777_619);
    queue.bytes().fold(2_166_136_261, step)
}

impl Content {
    /// Reads a row of `take_executions.sql` or `start_executions.sql`.
    fn read(row: &Row, asked_at: Instant) -> Result<Self, Error> {
        let correlation_id: Option<&str> = column(row, 8)?;
        let (attempt, max_retries): (i32, i32) = (column(row, 4)?, column(row, 5)?);
        Ok(Self {
            id: column(row, 0)?,
            fence: column(row, 1)?,
            action: column(row, 2)?,
            parameters: RawValue::from_string(column(row, 3)?).map_err(unreadable)?,
            attempt: u32::try_from(attempt).unwrap_or_default(),
            max_retries: u32::try_from(max_retries).unwrap_or_default(),
            timeout: milliseconds(column(row, 6)?),
            deadline_at: column(row, 7)?,
            correlation_id: correlation_id.map(str::parse).transpose().map_err(unreadable)?,
            asked_at,
        })
    }
}

fn by(worker: &Registration) -> [(&(dyn ToSql + Sync), Type); 2] {
    [(&worker.worker_id, Type::INT4), (&worker.epoch, Type::INT4)]
}

fn one(rows: Vec<Row>) -> Result<Row, Error> {
    let none = || Error::Database { code: None, source: "the database returned no row".into() };
    rows.into_iter().next().ok_or_else(none)
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, Error> {
    row.try_get(index).map_err(unreadable)
}

fn milliseconds(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or_default())
}

/// What a Postrider that we know does not return.
fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Database { code: None, source: Box::new(source) }
}
