//! What executions cost by either carrier, beside a bare AMQP client that moves as many messages.

mod bare;
mod workers;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use postrider_testkit::process::{Dispatcher, workspace};
use postrider_testkit::rabbitmq::{self, PrivateRabbitmq};
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::clients::Json;
use super::compare::{median, percentile};
use super::report::{Line, Target, count, per_second};
use super::stand::{Database, Stand, stop};
use bare::Bare;
use workers::Workers;

/// How long it has to be asked for at least for all executions and rounds.
const FULL: Duration = Duration::from_secs(60);
const FULL_SIZE: Size = Size { executions: 20_000, singles: 200, rounds: 3 };
const SHORT_SIZE: Size = Size { executions: 2_000, singles: 50, rounds: 1 };
const WORKER_COUNTS: [usize; 2] = [1, 4];
/// How many executions are submitted in a transaction.
const TRANSACTION: usize = 100;
/// Singles before those that count: they make plans and open queues.
const WARM_UPS: usize = 5;
/// A worker is idle for up to so long before the next single comes.
const LONGEST_REST_MS: f64 = 100.0;
const LOOK_PAUSE: Duration = Duration::from_millis(20);
const SINGLE_LOOK_PAUSE: Duration = Duration::from_millis(2);
const TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
const POOL: &str = "bench";

#[derive(Clone, Copy)]
struct Size {
    executions: usize,
    singles: usize,
    rounds: usize,
}

/// What a round showed, all of it a second.
struct Round {
    submitted: f64,
    completed: f64,
    started: f64,
    published: f64,
    moved: f64,
}

/// A database with a dispatcher, and the broker if it is the carrier.
struct Fleet<'a> {
    database: Database<'a>,
    dispatcher: Dispatcher,
    amqp_url: Option<String>,
}

/// Both carriers with one worker and with several.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let size = if time < FULL { SHORT_SIZE } else { FULL_SIZE };
    rabbitmq::ensure_installed()?;
    let broker = PrivateRabbitmq::start(rabbitmq::Options {
        base_folder: Some(workspace().join("target").join("bench")),
        ..rabbitmq::Options::default()
    })?;
    let bare = Bare::open(&broker.create_host("bare")?.url()).await?;
    let mut lines = Vec::new();
    for by_broker in [false, true] {
        for worker_count in WORKER_COUNTS {
            let amqp_url = match by_broker {
                true => Some(broker.create_host(&format!("fleet-{worker_count}"))?.url()),
                false => None,
            };
            let fleet = Fleet::start(stand, amqp_url).await?;
            lines.extend(fleet.lines(worker_count, &bare, size).await?);
            fleet.remove().await?;
        }
    }
    Ok(lines)
}

impl<'a> Fleet<'a> {
    async fn start(stand: &'a Stand, amqp_url: Option<String>) -> Result<Self> {
        let database = stand.database("fleet").await?;
        // No execution expires while it waits for the workers of a round.
        let set = "select postrider.set_setting('worker_queue_ttl_ms', '3600000')";
        database.client.batch_execute(set).await?;
        let variables: Vec<(&str, &str)> =
            amqp_url.iter().map(|url| ("POSTRIDER_AMQP_URL", url.as_str())).collect();
        let dispatcher = database.ready_dispatcher_with(&variables).await?;
        if amqp_url.is_some() {
            dispatcher.wait_for_log("connected to RabbitMQ", CONNECT_TIMEOUT).await?;
        }
        Ok(Self { database, dispatcher, amqp_url })
    }

    async fn lines(&self, worker_count: usize, bare: &Bare, size: Size) -> Result<Vec<Line>> {
        let mut rounds = Vec::new();
        for number in 0..size.rounds {
            rounds.push(self.round(worker_count, bare, size, number % 2 == 1).await?);
        }
        let waits = self.singles(worker_count, size).await?;
        let middle = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
        let what = format!(
            "{}, {worker_count} worker{}",
            if self.amqp_url.is_some() { "RabbitMQ" } else { "PostgreSQL" },
            if worker_count == 1 { "" } else { "s" },
        );
        let line = |name: &str, measured: String, comparison: String, value: f64| Line {
            what: format!("{what}: {name}"),
            measured,
            comparison,
            value,
            target: Target::None,
        };
        let wait = |share: f64| format!("{:.2} ms", percentile(waits.clone(), share));
        Ok(vec![
            line(
                &format!(
                    "{} executions submitted, 100 a transaction",
                    count(size.executions as f64)
                ),
                per_second(middle(|round| round.submitted)),
                format!("bare AMQP publishes {}", per_second(middle(|round| round.published))),
                middle(|round| round.submitted / round.published),
            ),
            line(
                "the same taken, run and completed",
                per_second(middle(|round| round.completed)),
                format!(
                    "bare AMQP publishes and consumes {}",
                    per_second(middle(|round| round.moved))
                ),
                middle(|round| round.completed / round.moved),
            ),
            line(
                "started between the first and the last start",
                per_second(middle(|round| round.started)),
                "–".to_owned(),
                f64::NAN,
            ),
            line(
                "commit to handler of single executions, median; p99",
                format!("{}; {}", wait(0.5), wait(0.99)),
                "–".to_owned(),
                f64::NAN,
            ),
        ])
    }

    /// All executions are submitted, then the workers start; the bare client's turn is before or after.
    async fn round(
        &self,
        worker_count: usize,
        bare: &Bare,
        size: Size,
        bare_first: bool,
    ) -> Result<Round> {
        let mut moved = None;
        if bare_first {
            moved = Some(bare.measure(size.executions).await?);
        }
        self.database.checkpoint().await?;
        let (submitted, first_id) = self.submit(size.executions).await?;
        let began_at = Instant::now();
        let workers = Workers::start(&self.order(), worker_count, None)?;
        while !self.is_empty().await? {
            if workers.has_ended() {
                workers.stop()?;
                bail!("a worker ended by itself");
            }
            ensure!(began_at.elapsed() < TIMEOUT, "executions are left after {TIMEOUT:?}");
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        let completed = size.executions as f64 / began_at.elapsed().as_secs_f64();
        workers.stop()?;
        let started = self.started_rate(first_id, size.executions).await?;
        let (published, moved) = match moved {
            Some(moved) => moved,
            None => bare.measure(size.executions).await?,
        };
        eprintln!(
            "   submitted {submitted:.0}, completed {completed:.0}, started {started:.0}; \
             bare: published {published:.0}, moved {moved:.0}"
        );
        Ok(Round { submitted, completed, started, published, moved })
    }

    /// How many a second were submitted, and the first one's id.
    async fn submit(&self, execution_count: usize) -> Result<(f64, i64)> {
        let client = self.database.connect().await?;
        let submit = client.prepare(SUBMIT).await?;
        let payload = Json::payload();
        let mut first_id = None;
        let began_at = Instant::now();
        for _ in 0..execution_count / TRANSACTION {
            client.batch_execute("begin").await?;
            for _ in 0..TRANSACTION {
                let id: i64 = client.query_one(&submit, &[&payload, &POOL]).await?.get(0);
                first_id.get_or_insert(id);
            }
            client.batch_execute("commit").await?;
        }
        let rate = execution_count as f64 / began_at.elapsed().as_secs_f64();
        Ok((rate, first_id.unwrap_or_default()))
    }

    async fn is_empty(&self) -> Result<bool> {
        let sql = "select not exists (select from postrider.live_execution)";
        Ok(self.database.client.query_one(sql, &[]).await?.get(0))
    }

    /// Also makes sure that all of them were completed.
    async fn started_rate(&self, first_id: i64, execution_count: usize) -> Result<f64> {
        let sql = include_str!("fleet_started.sql");
        let row = self.database.client.query_one(sql, &[&first_id]).await?;
        let completed_count: i64 = row.get(0);
        ensure!(
            completed_count == execution_count as i64,
            "{completed_count} of {execution_count} executions were completed"
        );
        Ok(row.get(1))
    }

    /// From the commit of a single execution to its handler, one after the other, in milliseconds.
    async fn singles(&self, worker_count: usize, size: Size) -> Result<Vec<f64>> {
        let (starts, mut started) = mpsc::unbounded_channel();
        let workers = Workers::start(&self.order(), worker_count, Some(starts))?;
        let client = self.database.connect().await?;
        let submit = client.prepare(SUBMIT).await?;
        let payload = Json::payload();
        let mut dice = fastrand::Rng::with_seed(1);
        let mut waits = Vec::new();
        for number in 0..WARM_UPS + size.singles {
            tokio::time::sleep(Duration::from_secs_f64(dice.f64() * LONGEST_REST_MS / 1e3)).await;
            let id: i64 = client.query_one(&submit, &[&payload, &POOL]).await?.get(0);
            let committed_at = Instant::now();
            let Ok(Some((started_id, started_at))) =
                tokio::time::timeout(CONNECT_TIMEOUT, started.recv()).await
            else {
                workers.stop()?;
                bail!("execution {id} was not started within {CONNECT_TIMEOUT:?}");
            };
            ensure!(started_id == id, "execution {started_id} started instead of {id}");
            if number >= WARM_UPS {
                // The handler may begin before we have heard of the commit.
                let wait = started_at.saturating_duration_since(committed_at);
                waits.push(wait.as_secs_f64() * 1e3);
            }
            wait_for_end(&client, id).await?;
        }
        workers.stop()?;
        Ok(waits)
    }

    fn order(&self) -> workers::Order {
        workers::Order { database_url: self.database.url(), amqp_url: self.amqp_url.clone() }
    }

    async fn remove(self) -> Result<()> {
        stop(self.dispatcher).await?;
        self.database.remove().await
    }
}

const SUBMIT: &str = "select postrider.submit_execution('bench', $1, p_pool => $2)";

async fn wait_for_end(client: &Client, id: i64) -> Result<()> {
    let sql = "select exists (
        select from postrider.execution_end e where e.execution_id = $1 and e.is_final)";
    let began_at = Instant::now();
    while !client.query_one(sql, &[&id]).await?.get::<_, bool>(0) {
        ensure!(began_at.elapsed() < CONNECT_TIMEOUT, "execution {id} did not end");
        tokio::time::sleep(SINGLE_LOOK_PAUSE).await;
    }
    Ok(())
}
