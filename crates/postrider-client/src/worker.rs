//! Carries out executions as a named worker, with a handler for each action.
//!
//! `tenure.rs` has the life of a registration; `taker.rs` and `rabbitmq.rs` bring executions, `runner.rs` runs
//! each, `recorder.rs` writes down what became of them, `heart.rs` says that the worker lives.
//! `session.rs` is the only one that talks to the database.

mod execution;
mod hands;
mod heart;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
mod recorder;
mod reporter;
mod runner;
mod session;
mod taker;
mod tenure;
mod trouble;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::{Config, NoTls};

use crate::Error;
use crate::consumer::poison::{Backoff, dice};
use crate::consumer::session::is_final;
use crate::database::{Address, Database, Tls};
pub use execution::{Execution, ExecutionError, Reason, Stop};
use reporter::{Caller, Reporter};
use runner::Outcome;
use session::{Commits, Profile, Registration, Session};
use taker::Taker;
use tenure::End;
pub use trouble::{WorkerEvent, WorkerTrouble};

const MOST_CAPACITY: u32 = 10_000;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Registering and leaving may wait for an execution that is being scheduled.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long leaving may take: who has not left is lost a little later.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);
const BACKOFF: Backoff =
    Backoff { shortest: Duration::from_millis(200), longest: Duration::from_secs(10) };

type OnTrouble = Arc<dyn Fn(&WorkerTrouble) + Send + Sync>;
type OnEvent = Arc<dyn Fn(&WorkerEvent) + Send + Sync>;
type Handling = Pin<Box<dyn Future<Output = Result<Value, ExecutionError>> + Send>>;
type Handler = Arc<dyn Fn(Execution) -> Handling + Send + Sync>;

/// Carries out executions: what applications submit with `postrider.submit_execution`.
///
/// A worker has a name, belongs to a pool, and runs as many executions at a time as its capacity says. Each
/// is handed to the handler of its action, and what that returns is recorded.
///
/// ```no_run
/// # async fn example(url: &str) -> Result<(), Box<dyn std::error::Error>> {
/// use postrider_client::{ExecutionError, Worker};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Resize {
///     image: String,
///     width: u32,
/// }
///
/// let summary = Worker::builder()
///     .url(url)
///     .pool("default")
///     .capacity(16)
///     .handle("resize", |execution| async move {
///         let Resize { image, width } = execution.parse()?;
///         if width == 0 {
///             return Err(ExecutionError::permanent("an image cannot have the width 0"));
///         }
///         let bytes = tokio::fs::read(&image).await.map_err(ExecutionError::transient)?;
///         // What computes for long belongs on a thread of its own.
///         let resized = tokio::task::spawn_blocking(move || resize(&bytes, width));
///         let size = resized.await.map_err(ExecutionError::transient)?.len();
///         Ok(json!({ "image": image, "bytes": size }))
///     })
///     .on_trouble(|trouble| eprintln!("worker: {trouble}"))
///     .build()?
///     .run_until(async {
///         let _ = tokio::signal::ctrl_c().await;
///     })
///     .await?;
/// println!("{} executions completed", summary.completed);
/// # Ok(())
/// # }
/// # fn resize(bytes: &[u8], width: u32) -> Vec<u8> { bytes[..width as usize].to_vec() }
/// ```
///
/// # When a handler fails
///
/// Its [`ExecutionError`] has a [`Reason`], which decides: `transient_error` is retried, as often as
/// `max_retries` of the execution allows, after waits that grow; `permanent_error` and words of one's own are
/// not. A panic is a `transient_error`, an action without a handler a `permanent_error`. A result that the
/// database does not take (larger than the setting `max_payload_size`, or with a character that it cannot
/// hold) makes the execution fail with that text.
///
/// # When a handler is to stop
///
/// Somebody has cancelled the execution, its deadline has passed, or the worker ends or is taken for lost:
/// then [`Execution::stopped`] says so, and after [`WorkerBuilder::stop_grace`] the handler's future is dropped.
/// That happens where it awaits something: a handler that never does cannot be stopped, and keeps others
/// from running; use `spawn_blocking` and look at [`Execution::is_cancelled`] there.
///
/// # Nothing runs twice at the same time
///
/// A worker says every `worker_heartbeat_interval` that it lives, from a thread and a connection that
/// nothing else uses. When the database has heard nothing for `worker_stale_after`, others get what it was
/// running. So when no heartbeat has succeeded for 0.7 of that time, by this process's monotonic clock,
/// handlers are told to stop ([`Stop::Lost`]), and at 0.9 of it they are dropped. The worker then
/// registers again. What a process does that was frozen meanwhile cannot be helped; what it wants to
/// record is refused, for its fences have passed.
///
/// A result is not lost while the database is away: recording it is tried again until there is an answer.
///
/// # One process per name
///
/// Whoever registers a name has it. The process that had it before stops what it was running and ends
/// with [`Error::WorkerReplaced`].
///
/// # Connections
///
/// It opens three: for heartbeats, for taking and listening, and for results. All need sessions of their
/// own: a pooler in transaction mode cannot stand between. A broken one is opened again, for as long as it
/// takes; what the server refuses for good (a wrong password, a missing right) ends the worker with an
/// error.
pub struct Worker<T = NoTls> {
    address: Address<T>,
    handlers: Arc<Handlers>,
    options: Options,
    reporter: Reporter,
}

#[derive(Clone)]
struct Options {
    name: String,
    pool: String,
    capacity: u32,
    labels: BTreeMap<String, String>,
    version: Option<String>,
    host: Option<String>,
    shutdown_timeout: Duration,
    stop_grace: Duration,
    #[cfg(feature = "rabbitmq")]
    amqp_url: Option<String>,
    #[cfg(feature = "rabbitmq")]
    amqp_authorities: Option<String>,
    on_trouble: Option<OnTrouble>,
    on_event: Option<OnEvent>,
}

#[derive(Clone, Default)]
struct Handlers {
    by_action: HashMap<String, Handler>,
    any: Option<Handler>,
}

/// What a worker has done, from its start to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Executions that are completed.
    pub completed: u64,
    /// Executions that have failed.
    pub failed: u64,
    /// Attempts that have failed and are retried.
    pub retried: u64,
    /// Executions that were cancelled while they ran.
    pub cancelled: u64,
    /// Executions that were given back, without having used up an attempt.
    pub released: u64,
    /// Executions whose deadline has passed.
    pub timed_out: u64,
    /// Executions whose end here does not count: they had ended otherwise, or others had them.
    pub not_counted: u64,
}

impl Summary {
    fn count(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Completed => &mut self.completed,
            Outcome::Failed => &mut self.failed,
            Outcome::Retried => &mut self.retried,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Released => &mut self.released,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::NotCounted => &mut self.not_counted,
        };
        *count += 1;
    }
}

impl Handlers {
    fn find(&self, action: &str) -> Option<&Handler> {
        self.by_action.get(action).or(self.any.as_ref())
    }
}

impl Options {
    #[cfg(feature = "rabbitmq")]
    fn has_broker(&self) -> bool {
        self.amqp_url.is_some()
    }

    #[cfg(not(feature = "rabbitmq"))]
    fn has_broker(&self) -> bool {
        false
    }
}

impl Worker {
    /// Begins to describe a worker.
    pub fn builder() -> WorkerBuilder {
        let host = host();
        let name = format!("{}-{}", host.as_deref().unwrap_or("worker"), std::process::id());
        WorkerBuilder {
            database: Database::unknown("worker"),
            handlers: Handlers::default(),
            options: Options {
                name,
                pool: "default".to_owned(),
                capacity: 1,
                labels: BTreeMap::new(),
                version: None,
                host,
                shutdown_timeout: Duration::from_secs(30),
                stop_grace: Duration::from_secs(5),
                #[cfg(feature = "rabbitmq")]
                amqp_url: None,
                #[cfg(feature = "rabbitmq")]
                amqp_authorities: None,
                on_trouble: None,
                on_event: None,
            },
        }
    }
}

impl<T> Worker<T> {
    /// The name that it registers under.
    pub fn name(&self) -> &str {
        &self.options.name
    }
}

impl<T: Tls> Worker<T> {
    /// Works until there is an error that does not go away by itself.
    ///
    /// Dropping the future drops what is running; the worker is taken for lost after `worker_stale_after`,
    /// and its executions have failed with `worker_heartbeat_stale` then. [`Worker::run_until`] stops in an
    /// orderly way.
    ///
    /// # Errors
    ///
    /// [`Error::WorkerReplaced`], [`Error::Invalid`] (a name, pool or label that the database does not
    /// take), [`Error::Database`] for a refusal that stays (rights, passwords, a schema that is not
    /// installed). What was running was given back before, if possible.
    pub async fn run(self) -> Result<Summary, Error> {
        self.run_until(std::future::pending()).await
    }

    /// [`Worker::run`] until `shutdown` is ready. Then it takes nothing new, and what is running may go on
    /// for [`WorkerBuilder::shutdown_timeout`]. The rest is told to stop, dropped, and given back without
    /// having used up an attempt; the worker gives its name back, and the result is `Ok`.
    ///
    /// ```no_run
    /// # async fn example(worker: postrider_client::Worker) -> Result<(), postrider_client::Error> {
    /// let summary = worker
    ///     .run_until(async {
    ///         let _ = tokio::signal::ctrl_c().await;
    ///     })
    ///     .await?;
    /// println!("{summary:?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Worker::run`].
    pub async fn run_until<S>(self, shutdown: S) -> Result<Summary, Error>
    where
        S: Future<Output = ()>,
    {
        let mut shutdown = pin!(shutdown);
        let mut summary = Summary::default();
        let mut last = None;
        loop {
            let registered_at = Instant::now();
            let registering = self.register(last.as_ref());
            let registration = tokio::select! {
                () = &mut shutdown => return Ok(summary),
                registration = registering => registration?,
            };
            self.reporter.registered(registration.worker_id);
            let working =
                tenure::work(&self, registration, registered_at, shutdown.as_mut(), &mut summary);
            let result = working.await;
            match result {
                Ok(End::Lost) => last = Some(registration),
                Ok(End::Stopped) => {
                    self.leave(&registration).await;
                    return Ok(summary);
                }
                Err(error) => {
                    self.leave(&registration).await;
                    return Err(error);
                }
            }
        }
    }

    /// Takes the name. Who was lost takes it again, unless another process has it by now. While a worker of another role
    /// has it, that one may be a former process of ours that has ended: then the name is free when that one has not been
    /// heard of for long enough, and otherwise there is no point in waiting any longer.
    async fn register(&self, last: Option<&Registration>) -> Result<Registration, Error> {
        let mut failure_count = 0;
        let mut last = last;
        let mut taken_since = None;
        loop {
            let asked_at = Instant::now();
            let error = match self.register_once(&mut last).await {
                Err(error)
                    if !is_final(&error) && !matches!(error, Error::WorkerReplaced { .. }) =>
                {
                    error
                }
                result => return result,
            };
            match session::stale_after(&error) {
                Some(stale_after) => {
                    let taken_since = *taken_since.get_or_insert_with(Instant::now);
                    if asked_at > taken_since + stale_after {
                        return Err(error);
                    }
                }
                // Who cannot be asked does not say that the other one still lives.
                None => taken_since = None,
            }
            failure_count += 1;
            self.reporter.failed(Caller::Registering, error);
            tokio::time::sleep(BACKOFF.wait(failure_count, dice())).await;
        }
    }

    async fn register_once(&self, last: &mut Option<&Registration>) -> Result<Registration, Error> {
        let Options { name, pool, capacity, labels, version, host, .. } = &self.options;
        let session = Session::open(&self.address, LOCK_TIMEOUT, Commits::Durable, None).await?;
        if let Some(last) = last
            && session.is_replaced(last).await?
        {
            return Err(Error::WorkerReplaced { name: name.clone() });
        }
        // If the answer is lost, whoever has the name then may be this process.
        *last = None;
        let profile = Profile {
            name,
            pool,
            capacity: i32::try_from(*capacity).unwrap_or(i32::MAX),
            labels: serde_json::to_string(labels).map_err(Error::Serialize)?,
            version: version.as_deref(),
            host: host.as_deref(),
            carrier: if self.options.has_broker() { "rabbitmq" } else { "postgres" },
        };
        session.register(&profile).await
    }

    /// Gives the name back. A worker that cannot is taken for lost a little later.
    async fn leave(&self, registration: &Registration) {
        let leaving = async {
            let session = Session::open(&self.address, LOCK_TIMEOUT, Commits::Local, None).await?;
            session.deregister(registration).await
        };
        if let Ok(Err(error)) = tokio::time::timeout(LEAVE_PATIENCE, leaving).await {
            self.reporter.trouble(&WorkerTrouble::Database { error });
        }
    }

    fn spawn_taker(&self, taker: Taker<T>) -> JoinHandle<Result<(), Error>> {
        #[cfg(feature = "rabbitmq")]
        if let Some(url) = self.options.amqp_url.clone() {
            let prefetch = u16::try_from(self.options.capacity).unwrap_or(u16::MAX);
            let Options { name, amqp_authorities, .. } = &self.options;
            let (name, authorities) = (name.clone(), amqp_authorities.clone());
            let broker = rabbitmq::Broker { url, authorities, prefetch, name };
            return tokio::spawn(taker.run_with_broker(broker));
        }
        tokio::spawn(taker.run())
    }
}

impl<T> fmt::Debug for Worker<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").field("name", &self.options.name).finish_non_exhaustive()
    }
}

/// Describes a [`Worker`].
///
/// ```
/// use std::time::Duration;
/// use postrider_client::Worker;
///
/// let worker = Worker::builder()
///     .url("postgres://app@localhost/shop")
///     .name("images-1")
///     .pool("images")
///     .capacity(8)
///     .label("zone", "a")
///     .shutdown_timeout(Duration::from_secs(60))
///     .handle_any(|execution| async move { Ok(execution.parse()?) })
///     .build()?;
/// # Ok::<(), postrider_client::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct WorkerBuilder<T = NoTls> {
    database: Database<T>,
    handlers: Handlers,
    options: Options,
}

impl<T> WorkerBuilder<T> {
    /// Where the database is, as a connection string or URL of tokio-postgres. Unless it says otherwise,
    /// a connection whose other end has vanished is given up after a minute, and the sessions are called
    /// `worker` and its name in `pg_stat_activity`.
    pub fn url(mut self, url: &str) -> Self {
        self.database.set_url(url);
        self
    }

    /// Where the database is.
    pub fn config(mut self, config: Config) -> Self {
        self.database.set_config(config);
        self
    }

    /// A connector for TLS, such as that of tokio-postgres-rustls. Without one connections are not
    /// encrypted.
    pub fn tls<U: Tls>(self, tls: U) -> WorkerBuilder<U> {
        let Self { database, handlers, options } = self;
        WorkerBuilder { database: database.with_tls(tls), handlers, options }
    }

    /// The worker's name, to which executions can be addressed: 1 to 200 letters, digits and `_.:-`, the
    /// first one a letter or digit. The host's name and the process id unless set, so that two processes on
    /// a host never take it from each other; but then each start is another worker, with a row and, by
    /// RabbitMQ, a queue of its own. Better give it a name that it keeps when it is started again.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// The pool from which it takes executions: 1 to 100 characters as those of a name, `default` unless
    /// set.
    pub fn pool(mut self, pool: impl Into<String>) -> Self {
        self.options.pool = pool.into();
        self
    }

    /// How many executions it runs at a time: 1 to 10,000, 1 unless set.
    pub fn capacity(mut self, executions: u32) -> Self {
        self.options.capacity = executions;
        self
    }

    /// Something that is worth knowing about the worker; the view `workers` shows it.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.labels.insert(key.into(), value.into());
        self
    }

    /// The version of the program, which the view `workers` shows.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.options.version = Some(version.into());
        self
    }

    /// How long what is running may go on when the worker is to end: up to a day, 30 s unless set.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.options.shutdown_timeout = timeout;
        self
    }

    /// How long a handler has between being told to stop and being dropped: up to a day, 5 s unless set.
    /// After `cancel_timeout` (a setting) an execution counts as cancelled all the same, and after its
    /// deadline as timed out: it makes room in the limit of its action then, but keeps its place among those
    /// of [`WorkerBuilder::capacity`] until the handler has ended. When the worker is taken for lost it may
    /// be less.
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.options.stop_grace = grace;
        self
    }

    /// Executions come by RabbitMQ, from this address (`amqp://` or `amqps://`): the worker consumes its queue
    /// `worker.{id}.executions`, which a dispatcher (`postrider serve` with `amqp_url`) declares and fills.
    /// Everything else goes through the database all the same. Without this, executions come by PostgreSQL.
    ///
    /// A message is acknowledged when the database has started its execution, or refused to, and before
    /// the handler runs. One that cannot be read is rejected, and goes to the dead letter queue.
    #[cfg(feature = "rabbitmq")]
    pub fn rabbitmq(mut self, amqp_url: impl Into<String>) -> Self {
        self.options.amqp_url = Some(amqp_url.into());
        self
    }

    /// With `amqps://`, certificate authorities that are trusted besides those of Mozilla: the text of a PEM
    /// file. The certificate of RabbitMQ has to be valid for the host in its address.
    #[cfg(feature = "rabbitmq")]
    pub fn rabbitmq_authorities(mut self, pem: impl Into<String>) -> Self {
        self.options.amqp_authorities = Some(pem.into());
        self
    }

    /// What carries out the executions of an action.
    pub fn handle<F, R>(mut self, action: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Execution) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ExecutionError>> + Send + 'static,
    {
        self.handlers.by_action.insert(action.into(), boxed(handler));
        self
    }

    /// What carries out the executions of all actions that have no handler of their own.
    pub fn handle_any<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Execution) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ExecutionError>> + Send + 'static,
    {
        self.handlers.any = Some(boxed(handler));
        self
    }

    /// Is called with everything that goes wrong and does not end the worker: for your log. What is tried
    /// again is told once, and [`WorkerBuilder::on_event`] says when it is over. It must not block, and
    /// is called from the thread of the heartbeats, too.
    pub fn on_trouble(mut self, report: impl Fn(&WorkerTrouble) + Send + Sync + 'static) -> Self {
        self.options.on_trouble = Some(Arc::new(report));
        self
    }

    /// Is called when the worker has registered, and when something that went wrong is over: for your log.
    /// It must not block, and is called from the thread of the heartbeats, too.
    pub fn on_event(mut self, report: impl Fn(&WorkerEvent) + Send + Sync + 'static) -> Self {
        self.options.on_event = Some(Arc::new(report));
        self
    }

    /// The worker. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`]: there is no address or no handler, or a value is out of its range.
    pub fn build(self) -> Result<Worker<T>, Error> {
        let Self { database, handlers, options } = self;
        let address = database.address(&options.name)?;
        check(&options, &handlers).map_err(Error::Misconfigured)?;
        #[cfg(feature = "rabbitmq")]
        if options.amqp_url.as_deref().is_some_and(|url| !rabbitmq::is_address(url)) {
            return Err(Error::Misconfigured("the address of RabbitMQ is not valid".to_owned()));
        }
        let reporter = Reporter::new(options.on_trouble.clone(), options.on_event.clone());
        Ok(Worker { address, handlers: Arc::new(handlers), options, reporter })
    }
}

impl<T> fmt::Debug for WorkerBuilder<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.options.name;
        formatter.debug_struct("WorkerBuilder").field("name", name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.by_action.keys()).finish()
    }
}

fn boxed<F, R>(handler: F) -> Handler
where
    F: Fn(Execution) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ExecutionError>> + Send + 'static,
{
    let handler = Arc::new(handler);
    // The handler is called in the execution's own task, so that a panic of the call is one of the future.
    Arc::new(move |execution| {
        let handler = Arc::clone(&handler);
        Box::pin(async move { handler(execution).await })
    })
}

/// The name of this machine, without what a worker's name cannot have.
fn host() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok())?;
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || "_.-".contains(*c);
    let name: String = name.trim().chars().filter(is_allowed).take(100).collect();
    let name = name.trim_start_matches(['_', '.', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn check(options: &Options, handlers: &Handlers) -> Result<(), String> {
    let Options { name, pool, capacity, shutdown_timeout, stop_grace, .. } = options;
    let has_handler = handlers.any.is_some() || !handlers.by_action.is_empty();
    let rules = [
        (is_name(name, 200), "the name must be 1 to 200 letters, digits and _.:-"),
        (is_name(pool, 100), "the pool must be 1 to 100 letters, digits and _.:-"),
        ((1..=MOST_CAPACITY).contains(capacity), "capacity must be 1 to 10,000"),
        (*shutdown_timeout <= LONGEST_TIMEOUT, "shutdown_timeout must be a day at most"),
        (*stop_grace <= LONGEST_TIMEOUT, "stop_grace must be a day at most"),
        (has_handler, "the worker has no handler: call handle or handle_any"),
    ];
    match rules.iter().find(|(is_held, _)| !is_held) {
        Some((_, rule)) => Err((*rule).to_owned()),
        None => Ok(()),
    }
}

fn is_name(name: &str, longest: usize) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    name.len() <= longest
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_allowed)
}
