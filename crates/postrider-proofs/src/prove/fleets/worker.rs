//! A worker of the fleet, as a process of its own: what it runs and when is its own record.
//!
//! Each run has a row that is committed before the work begins. Starts and ends are moments of the
//! machine's clock, taken where the work begins and ends, whenever they are written down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use postrider_client::{Execution, ExecutionError, Worker};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Client;

use super::judge::{Moment, RunKey};
use crate::prove::writers::connect;

/// Where the process finds what it is, as JSON.
pub const VARIABLE: &str = "POSTRIDER_PROOF_WORKER";
/// What it prints as soon as SIGTERM is a wish and not its end.
pub const LISTENING: &str = "listening";
/// How many records are written together at most.
const MOST_RECORDS: usize = 200;
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// How long the last records may take.
const LAST_RECORDS: Duration = Duration::from_secs(10);
/// How long a handler that is told to stop may go on.
const STOP_GRACE: Duration = Duration::from_millis(200);

/// What the process is.
#[derive(Debug, Clone)]
pub struct WorkerOrder {
    /// The number of the process: no two have the same.
    pub number: i32,
    pub database_url: String,
    pub name: String,
    pub pool: String,
    pub capacity: u32,
    pub shutdown_timeout: Duration,
    /// Its carrier is RabbitMQ.
    pub amqp_url: Option<String>,
}

impl WorkerOrder {
    /// What stands in [`VARIABLE`].
    pub fn to_json(&self) -> String {
        json!({
            "number": self.number,
            "database_url": self.database_url,
            "name": self.name,
            "pool": self.pool,
            "capacity": self.capacity,
            "shutdown_timeout_ms": self.shutdown_timeout.as_millis() as u64,
            "amqp_url": self.amqp_url,
        })
        .to_string()
    }

    fn from_json(json: &str) -> Result<Self> {
        let order: Value = serde_json::from_str(json)?;
        let text = |name: &str| order[name].as_str().map(str::to_owned);
        let number = |name: &str| order[name].as_u64().with_context(|| format!("no {name}"));
        Ok(Self {
            number: i32::try_from(number("number")?)?,
            database_url: text("database_url").context("no database_url")?,
            name: text("name").context("no name")?,
            pool: text("pool").context("no pool")?,
            capacity: u32::try_from(number("capacity")?)?,
            shutdown_timeout: Duration::from_millis(number("shutdown_timeout_ms")?),
            amqp_url: text("amqp_url"),
        })
    }
}

/// Now, by the clock of the machine.
pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::try_from(since.as_micros()).unwrap_or(Moment::MAX)
}

/// Is the worker that [`VARIABLE`] describes, until SIGTERM.
///
/// # Errors
///
/// When the variable is missing, or the worker ends by itself.
pub fn run_fleet_worker() -> Result<()> {
    let json = std::env::var(VARIABLE).with_context(|| format!("no {VARIABLE}"))?;
    let order = WorkerOrder::from_json(&json)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(work(order))
}

async fn work(order: WorkerOrder) -> Result<()> {
    let (records, writer) = Records::open(order.number, order.database_url.clone());
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    println!("{LISTENING}");
    let mut builder = Worker::builder()
        .url(&order.database_url)
        .name(&order.name)
        .pool(&order.pool)
        .capacity(order.capacity)
        .shutdown_timeout(order.shutdown_timeout)
        .stop_grace(STOP_GRACE)
        .on_trouble(|trouble| eprintln!("{trouble}"));
    if let Some(url) = &order.amqp_url {
        builder = builder.rabbitmq(url);
    }
    let worker =
        builder.handle_any(move |execution| carry_out(execution, records.clone())).build()?;
    let ended = worker
        .run_until(async move {
            terminated.recv().await;
        })
        .await;
    // The handlers are gone, and with them all who have something to write down.
    tokio::time::timeout(LAST_RECORDS, writer).await.context("records were not written")???;
    let summary = ended.context("the worker ended by itself")?;
    println!("{summary:?}");
    Ok(())
}

/// Does what the parameters say.
async fn carry_out(execution: Execution, records: Records) -> Result<Value, ExecutionError> {
    let task: Value = execution.parse()?;
    let run = records.begin(&execution).await;
    let work = Duration::from_millis(task["work_ms"].as_u64().unwrap_or(0));
    let obeys = execution.id() % 2 == 0;
    let is_stopped = tokio::select! {
        () = tokio::time::sleep(work) => false,
        _ = execution.stopped(), if obeys => true,
    };
    let key = run.end().await;
    if is_stopped {
        return Err(ExecutionError::permanent("told to stop"));
    }
    if i64::from(execution.attempt()) > task["failures"].as_i64().unwrap_or(0) {
        return Ok(json!({ "process": key.0, "run": key.1 }));
    }
    assert!(task["panics"] != json!(true), "as asked");
    let reason = task["reason"].as_str().unwrap_or_default();
    Err(ExecutionError::with_reason(reason, "as asked"))
}

/// Writes down runs.
#[derive(Debug, Clone)]
struct Records {
    process: i32,
    serial: Arc<AtomicI64>,
    records: mpsc::UnboundedSender<Record>,
}

/// A run that has begun. It ends when this goes, if not before.
#[derive(Debug)]
struct Run {
    records: Records,
    serial: i64,
    is_ended: bool,
}

#[derive(Debug)]
enum Content {
    Begin { execution_id: i64, attempt: i32, fence: i64 },
    End,
}

#[derive(Debug)]
struct Record {
    serial: i64,
    at: Moment,
    content: Content,
    written: Option<oneshot::Sender<()>>,
}

impl Records {
    fn open(process: i32, url: String) -> (Self, tokio::task::JoinHandle<Result<()>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let writer = tokio::spawn(write(process, url, receiver));
        (Self { process, serial: Arc::default(), records: sender }, writer)
    }

    /// Returns when it is on record.
    async fn begin(&self, execution: &Execution) -> Run {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let run = Run { records: self.clone(), serial, is_ended: false };
        let content = Content::Begin {
            execution_id: execution.id(),
            attempt: i32::try_from(execution.attempt()).unwrap_or(i32::MAX),
            fence: execution.fence(),
        };
        let (written, is_written) = oneshot::channel();
        self.send(Record { serial, at: now(), content, written: Some(written) });
        let _ = is_written.await;
        run
    }

    fn send(&self, record: Record) {
        // The writer lives as long as somebody can send.
        let _ = self.records.send(record);
    }
}

impl Run {
    /// Returns when it is on record.
    async fn end(mut self) -> RunKey {
        let (written, is_written) = oneshot::channel();
        self.send_end(Some(written));
        let _ = is_written.await;
        (self.records.process, self.serial)
    }

    fn send_end(&mut self, written: Option<oneshot::Sender<()>>) {
        if !std::mem::replace(&mut self.is_ended, true) {
            let record = Record { serial: self.serial, at: now(), content: Content::End, written };
            self.records.send(record);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.send_end(None);
    }
}

/// Writes what comes, all that has come together, until nobody can send any more.
async fn write(
    process: i32,
    url: String,
    mut records: mpsc::UnboundedReceiver<Record>,
) -> Result<()> {
    let mut client: Option<Client> = None;
    let mut batch = Vec::new();
    loop {
        if batch.is_empty() && records.recv_many(&mut batch, MOST_RECORDS).await == 0 {
            return Ok(());
        }
        if client.as_ref().is_none_or(Client::is_closed) {
            client = connect(&url).await.ok();
        }
        let is_written = match &client {
            Some(client) => write_batch(client, process, &batch).await.is_ok(),
            None => false,
        };
        if !is_written {
            client = None;
            tokio::time::sleep(RECONNECT_PAUSE).await;
            continue;
        }
        for written in batch.drain(..).filter_map(|record| record.written) {
            let _ = written.send(());
        }
    }
}

async fn write_batch(client: &Client, process: i32, batch: &[Record]) -> Result<()> {
    let mut begins = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut ends = (Vec::new(), Vec::new());
    for record in batch {
        match record.content {
            Content::Begin { execution_id, attempt, fence } => {
                begins.0.push(record.serial);
                begins.1.push(execution_id);
                begins.2.push(attempt);
                begins.3.push(fence);
                begins.4.push(record.at);
            }
            Content::End => {
                ends.0.push(record.serial);
                ends.1.push(record.at);
            }
        }
    }
    // A repeated one changes nothing: the answer to it may have been lost.
    let begin =
        "insert into fleet_proof.run (process, serial, execution_id, attempt, fence, started_at)
        select $1, n.serial, n.execution_id, n.attempt, n.fence, n.at
        from unnest($2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[])
            n (serial, execution_id, attempt, fence, at)
        on conflict do nothing";
    if !begins.0.is_empty() {
        client
            .execute(begin, &[&process, &begins.0, &begins.1, &begins.2, &begins.3, &begins.4])
            .await?;
    }
    let end = "update fleet_proof.run r
        set ended_at = n.at
        from unnest($2::bigint[], $3::bigint[]) n (serial, at)
        where r.process = $1
        and r.serial = n.serial";
    if !ends.0.is_empty() {
        client.execute(end, &[&process, &ends.0, &ends.1]).await?;
    }
    Ok(())
}
