//! What a dispatcher does for executions in the database.
//!
//! Each call is one statement and so one transaction, and waits for no lock longer than half a second:
//! whatever fails is done again later, by the same caller or another.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::broadcast;
use tokio_postgres::{
    Client, Statement,
    error::{DbError, SqlState},
    types::ToSql,
};
use tracing::warn;
use uuid::Uuid;

use super::{
    StoreError,
    connect::{ConnectError, Connector, Session},
    durability, lease,
    migrate::{self, SchemaError},
};

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An execution that is to be published.
#[derive(Debug, Clone)]
pub struct Dispatched {
    pub execution_id: i64,
    pub fence: i64,
    pub attempt: i32,
    pub action: String,
    pub worker_id: i32,
    /// How long it may still wait until somebody has started it; 0: not at all.
    pub expires_in_ms: i64,
    pub correlation_id: Option<Uuid>,
}

/// A dead letter that could be read.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    pub execution_id: i64,
    pub fence: i64,
    /// What the broker says about it.
    pub x_death: Value,
    pub details: Value,
}

/// A worker that gets its executions by RabbitMQ, and where they wait until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressee {
    pub worker_id: i32,
    /// The names of its own queue and of its pool's.
    pub queues: [String; 2],
}

/// How executions are to be carried, by the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub worker_queue_ttl_ms: i64,
    pub reads_dead_letters: bool,
    pub dead_letter_exchange: String,
    pub dead_letter_ttl_ms: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            worker_queue_ttl_ms: 300_000,
            reads_dead_letters: true,
            dead_letter_exchange: "postrider.dlx".to_owned(),
            dead_letter_ttl_ms: 86_400_000,
        }
    }
}

/// A connection that looks after executions.
pub struct Fleet {
    client: Client,
    check_executions: Statement,
    check_generations: Statement,
    check_workers: Statement,
    next_execution_due: Statement,
}

/// What only the RabbitMQ carrier does.
pub struct Carrier {
    client: Client,
    dispatch: Statement,
    note_published: Statement,
    handle_dead_letters: Statement,
    keep_dead_letter: Statement,
    doze: Statement,
    are_quiet: Statement,
    make_durable: Statement,
    /// What the server says beside its answers.
    notices: Mutex<broadcast::Receiver<DbError>>,
}

/// How executions are reached, and which schema has to be there.
#[derive(Clone)]
pub struct Access {
    connector: Connector,
    transport_options: Arc<Value>,
}

impl Access {
    /// The schema is that of this program with the options of these transports ([`migrate`]).
    pub fn new(connector: Connector, transport_options: Value) -> Access {
        Access { connector, transport_options: Arc::new(transport_options) }
    }

    /// A connection set up for executions; the schema is that of this program.
    ///
    /// # Errors
    ///
    /// When it cannot be made, the schema is another one, or the log is from elsewhere.
    pub async fn session(&self) -> Result<Session, OpenError> {
        let session = self.connector.connect().await?;
        session
            .client
            .batch_execute(include_str!("../../../sql/queries/fleet/fleet_session.sql"))
            .await
            .map_err(StoreError::to("prepare the session"))?;
        migrate::check(&session.client, &self.transport_options).await?;
        // A copy does what its original does, too: with the same workers, perhaps by the same broker.
        lease::confirm_origin(&session.client).await?;
        Ok(session)
    }
}

impl Fleet {
    /// Prepares the queries.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn open(client: Client) -> Result<Fleet, StoreError> {
        let prepare = async |sql| client.prepare(sql).await.map_err(StoreError::to("prepare"));
        Ok(Fleet {
            check_executions: prepare(include_str!(
                "../../../sql/queries/fleet/check_executions.sql"
            ))
            .await?,
            check_generations: prepare(include_str!(
                "../../../sql/queries/fleet/check_generations.sql"
            ))
            .await?,
            check_workers: prepare(include_str!("../../../sql/queries/fleet/check_workers.sql"))
                .await?,
            next_execution_due: prepare(include_str!(
                "../../../sql/queries/fleet/next_execution_due.sql"
            ))
            .await?,
            client,
        })
    }

    /// Whatever has expired, `most` of it at a time; returns how many it was about.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn check_executions(&self, most: i32) -> Result<i32, StoreError> {
        let row = self.client.query_one(&self.check_executions, &[&most]).await;
        Ok(row.map_err(StoreError::to("check executions"))?.get("checked"))
    }

    /// Begins and gives up generations of executions.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn check_generations(&self) -> Result<(), StoreError> {
        let row = self.client.query_one(&self.check_generations, &[]).await;
        row.map_err(StoreError::to("check generations of executions")).map(drop)
    }

    /// Looks for workers that are lost; returns how many were.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn check_workers(&self) -> Result<i32, StoreError> {
        let row = self.client.query_one(&self.check_workers, &[]).await;
        Ok(row.map_err(StoreError::to("check workers"))?.get("lost"))
    }

    /// In how many milliseconds there is something to check, less than 0 if it is late.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn next_due_ms(&self) -> Result<Option<i64>, StoreError> {
        let row = self.client.query_one(&self.next_execution_due, &[]).await;
        Ok(row.map_err(StoreError::to("look for what is due"))?.get("due_in_ms"))
    }

    /// Whether there are workers that get their executions by RabbitMQ.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn needs_broker(&self) -> Result<bool, StoreError> {
        Ok(!rabbitmq_workers(&self.client).await?.is_empty())
    }
}

impl Carrier {
    /// Prepares the queries. `notices`: what the server says on this connection beside its answers.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn open(
        client: Client,
        notices: broadcast::Receiver<DbError>,
    ) -> Result<Carrier, StoreError> {
        let prepare = async |sql| client.prepare(sql).await.map_err(StoreError::to("prepare"));
        Ok(Carrier {
            dispatch: prepare(include_str!("../../../sql/queries/fleet/dispatch_executions.sql"))
                .await?,
            note_published: prepare(include_str!("../../../sql/queries/fleet/note_published.sql"))
                .await?,
            handle_dead_letters: prepare(include_str!(
                "../../../sql/queries/fleet/handle_dead_letters.sql"
            ))
            .await?,
            keep_dead_letter: prepare(include_str!(
                "../../../sql/queries/fleet/keep_dead_letter.sql"
            ))
            .await?,
            doze: prepare(include_str!("../../../sql/queries/fleet/doze_publisher.sql")).await?,
            are_quiet: prepare(include_str!("../../../sql/queries/fleet/queues_are_quiet.sql"))
                .await?,
            make_durable: prepare(include_str!("../../../sql/queries/dispatch/make_durable.sql"))
                .await?,
            notices: Mutex::new(notices),
            client,
        })
    }

    /// Listens for changed settings, new workers, and executions that wait. Whether anybody rings for
    /// those: not where transactions can be prepared.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn listen(&self) -> Result<bool, StoreError> {
        let sql = include_str!("../../../sql/queries/fleet/listen_fleet.sql");
        self.client.batch_execute(sql).await.map_err(StoreError::to("listen"))?;
        Ok(!lease::may_prepare(&self.client).await?)
    }

    /// Whether nothing can be asked on this connection any more.
    pub fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    /// The settings as they are now.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn settings(&self) -> Result<Settings, StoreError> {
        let sql = include_str!("../../../sql/queries/settings/dispatcher_settings.sql");
        let rows = self.client.query(sql, &[]).await.map_err(StoreError::to("read settings"))?;
        let mut settings = Settings::default();
        for row in rows {
            let (name, value): (&str, &str) = (row.get("name"), row.get("value"));
            match name {
                "worker_queue_ttl_ms" => {
                    settings.worker_queue_ttl_ms =
                        value.parse().unwrap_or(settings.worker_queue_ttl_ms);
                }
                "dead_letter.enabled" => settings.reads_dead_letters = value == "on",
                "dead_letter.exchange" => settings.dead_letter_exchange = value.to_owned(),
                "dead_letter.ttl_ms" => {
                    settings.dead_letter_ttl_ms =
                        value.parse().unwrap_or(settings.dead_letter_ttl_ms);
                }
                _ => {}
            }
        }
        Ok(settings)
    }

    /// The workers that get their executions by RabbitMQ, there or not.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn workers(&self) -> Result<Vec<Addressee>, StoreError> {
        rabbitmq_workers(&self.client).await
    }

    /// Those of these workers that were removed.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn gone(&self, workers: &[i32]) -> Result<Vec<i32>, StoreError> {
        let sql = include_str!("../../../sql/queries/fleet/gone_workers.sql");
        let rows = self.client.query(sql, &[&workers]).await;
        let rows = rows.map_err(StoreError::to("look for removed workers"))?;
        Ok(rows.iter().map(|row| row.get("id")).collect())
    }

    /// Takes at most so many executions that are to be published, durably.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn dispatch(&self, most: i32) -> Result<Vec<Dispatched>, StoreError> {
        let rows = self.client.query(&self.dispatch, &[&most]).await;
        let rows = rows.map_err(StoreError::to("take executions for RabbitMQ"))?;
        let dispatched = rows.iter().map(|row| Dispatched {
            execution_id: row.get("execution_id"),
            fence: row.get("fence"),
            attempt: row.get("attempt"),
            action: row.get("action"),
            worker_id: row.get("worker_id"),
            expires_in_ms: row.get("expires_in_ms"),
            correlation_id: row.get("correlation_id"),
        });
        let dispatched: Vec<Dispatched> = dispatched.collect();
        if !dispatched.is_empty() {
            self.until_durable().await?;
        }
        Ok(dispatched)
    }

    /// Somebody may have ended a commit's wait for a standby: it counts as done then, with a warning. A later commit
    /// whose wait nobody ends has all before it on the standbys, too.
    async fn until_durable(&self) -> Result<(), StoreError> {
        while self.has_warned() {
            warn!(
                "somebody has ended a commit's wait for a synchronous standby; its executions are \
                 published when a standby has them"
            );
            let committed = self.client.query_one(&self.make_durable, &[]).await;
            committed.map_err(StoreError::to("make executions durable"))?;
        }
        Ok(())
    }

    fn has_warned(&self) -> bool {
        let mut notices = self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        durability::has_warned(&mut notices)
    }

    /// Says that we are about to sleep at these queues, asks whether nobody is submitting, and takes what
    /// there is, in this order: whoever submits and does not see that we sleep is seen by us. Until
    /// [`Carrier::wake`], whoever submits rings, and `is_repeated` need not say it again.
    ///
    /// Returns whether nobody was submitting, if it could be said, and what was taken, whatever became of the other: it is
    /// scheduled.
    pub async fn doze(
        &self,
        queues: &[String],
        most: i32,
        is_repeated: bool,
    ) -> (Result<Option<bool>, StoreError>, Result<Vec<Dispatched>, StoreError>) {
        let doze = async {
            match is_repeated {
                true => Ok(true),
                false => self.client.query_one(&self.doze, &[&queues]).await.map(|row| row.get(0)),
            }
        };
        let are_quiet = async { self.client.query_one(&self.are_quiet, &[&queues]).await };
        // Sent one behind the other, without waiting for an answer.
        let (dozing, quiet, found) = tokio::join!(biased; doze, are_quiet, self.dispatch(most));
        let is_quiet = match (dozing, quiet) {
            (Ok(is_said), Ok(row)) => Ok(is_said.then(|| row.get("is_quiet"))),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        (is_quiet.map_err(StoreError::to("say that executions shall be rung for")), found)
    }

    /// Says that nobody needs to ring.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn wake(&self) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/doorbell_unlock.sql");
        self.client.batch_execute(sql).await.map_err(StoreError::to("stop being rung for"))
    }

    /// Notes that the broker has the messages of these executions. `is_dead_lettered`: what expires
    /// among them comes to a handler.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn note_published(
        &self,
        executions: &[i64],
        fences: &[i64],
        is_dead_lettered: bool,
    ) -> Result<(), StoreError> {
        let parameters: [&(dyn ToSql + Sync); 3] = [&executions, &fences, &is_dead_lettered];
        let row = self.client.query_one(&self.note_published, &parameters).await;
        row.map(drop).map_err(StoreError::to("note what is published"))
    }

    /// Records these dead letters in one transaction, and returns what became of each.
    ///
    /// # Errors
    ///
    /// When one of them cannot be recorded: then none was.
    pub async fn handle_dead_letters(
        &self,
        letters: &[&DeadLetter],
    ) -> Result<Vec<String>, StoreError> {
        let executions: Vec<i64> = letters.iter().map(|letter| letter.execution_id).collect();
        let fences: Vec<i64> = letters.iter().map(|letter| letter.fence).collect();
        let x_deaths: Vec<&Value> = letters.iter().map(|letter| &letter.x_death).collect();
        let details: Vec<&Value> = letters.iter().map(|letter| &letter.details).collect();
        let parameters: [&(dyn ToSql + Sync); 4] = [&executions, &fences, &x_deaths, &details];
        let rows = self.client.query(&self.handle_dead_letters, &parameters).await;
        let rows = rows.map_err(StoreError::to("record dead letters"))?;
        Ok(rows.iter().map(|row| row.get("outcome")).collect())
    }

    /// Keeps a message that cannot be read.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn keep_dead_letter(
        &self,
        body: &[u8],
        x_death: &Value,
        details: &Value,
    ) -> Result<(), StoreError> {
        let parameters: [&(dyn ToSql + Sync); 3] = [&body, x_death, details];
        let row = self.client.query_one(&self.keep_dead_letter, &parameters).await;
        row.map(drop).map_err(StoreError::to("keep a dead letter"))
    }

    /// Says how the connection to RabbitMQ is.
    ///
    /// # Errors
    ///
    /// When the statement fails.
    pub async fn note_broker(
        &self,
        process: &str,
        is_connected: bool,
        dead_letter_depth: Option<i64>,
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/fleet/note_broker.sql");
        let parameters: [&(dyn ToSql + Sync); 4] =
            [&process, &is_connected, &dead_letter_depth, &error];
        let row = self.client.query_one(sql, &parameters).await;
        row.map(drop).map_err(StoreError::to("note how RabbitMQ is"))
    }
}

async fn rabbitmq_workers(client: &Client) -> Result<Vec<Addressee>, StoreError> {
    let sql = include_str!("../../../sql/queries/fleet/rabbitmq_workers.sql");
    let rows = client.query(sql, &[]).await.map_err(StoreError::to("list workers"))?;
    let addressees = rows.iter().map(|row| Addressee {
        worker_id: row.get("id"),
        queues: [row.get("own_queue"), row.get("pool_queue")],
    });
    Ok(addressees.collect())
}

/// Whether the same statement may succeed on the same connection in a moment.
pub fn is_passing(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let passing = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::QUERY_CANCELED,
    ];
    source.code().is_some_and(|code| passing.contains(code))
}
