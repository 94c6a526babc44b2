//! `cargo xtask demo --fleet`: work handed to workers in real transactions, of which each ends once,
//! whatever happens to the workers.
//!
//! A private PostgreSQL, a dispatcher, three `postrider worker` processes that run a program for each
//! execution; the same again with a private RabbitMQ. One worker is killed while it works; one execution is
//! for a worker that does not exist, one is cancelled while it runs, one takes too long and ignores SIGTERM,
//! and every seventh transaction is rolled back. At the end the database's records and the journal of
//! the programs are judged against what was asked for.

pub mod handler;
mod journal;
mod judge;
mod report;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use journal::Journal;
use judge::{Asked, End, Evidence};
use postrider_testkit::{
    postgres::{self, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions, Profile, postrider_binary},
    rabbitmq::{self, PrivateRabbitmq},
};
use report::Report;
use serde_json::{Value, json};
use tokio_postgres::{Client, Transaction};

use super::{Options, orders::connect, quoted};

const RABBITMQ: &str = "rabbitmq";
/// How executions get to workers; the play is performed on each of them.
const CARRIERS: [&str; 2] = ["postgres", RABBITMQ];
const DEAD_LETTER_QUEUE: &str = "postrider.dlx.queue";

const POOL: &str = "default";
const KILLED: &str = "worker-2";
const NOBODY: &str = "worker-9";
/// How many executions a worker runs at a time.
const CAPACITY: &str = "4";
/// How many of an action may run at a time.
const LIMITS: [(&str, usize); 2] = [("report", 1), ("resize", 3)];

/// So many seconds after its time to live an execution must have ended that nobody took.
const EXPIRY_GRACE: f64 = 10.0;
const NOBODY_TTL: f64 = 3.0;

/// One transaction in so many is rolled back.
const ROLLED_BACK_EVERY: usize = 7;
const SUBMIT_INTERVAL: Duration = Duration::from_millis(50);
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const PRINT_INTERVAL: Duration = Duration::from_secs(2);
const END_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the demo.
///
/// # Errors
///
/// When something does not work at all, when it does not add up, and on Ctrl-C.
pub fn run(options: &Options) -> Result<()> {
    postgres::ensure_installed()?;
    rabbitmq::ensure_installed()?;
    let profile = if options.release { Profile::Release } else { Profile::Debug };
    let binary = postrider_binary(profile, &[])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let result = runtime.block_on(async {
        // When the play is dropped, its servers and processes end with it.
        tokio::select! {
            result = play_all(options, &binary) => result,
            _ = tokio::signal::ctrl_c() => bail!("interrupted; nothing is left running"),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn play_all(options: &Options, binary: &Path) -> Result<()> {
    let mut reports = Vec::new();
    for carrier in CARRIERS {
        reports.push(play(options, binary, carrier).await?);
    }
    println!("{}", report::side_by_side(&reports));
    ensure!(reports.iter().all(Report::is_balanced), "the ledger does not add up");
    Ok(())
}

async fn play(options: &Options, binary: &Path, carrier: &'static str) -> Result<Report> {
    let mut run = Run::start(binary, carrier).await?;
    run.submit_backlog().await?;
    run.submit_for(Duration::from_secs(1)).await?;
    run.kill_worker().await?;
    run.cancel().await?;
    run.submit_for(Duration::from_secs(if options.short { 3 } else { 20 })).await?;
    run.wait_for_all().await?;
    run.end().await
}

/// What somebody wants done.
#[derive(Debug, Clone)]
struct Order {
    action: &'static str,
    parameters: Value,
    worker: Option<&'static str>,
    pool: Option<&'static str>,
    ttl: Option<f64>,
    timeout: Option<f64>,
    /// How it has to end.
    status: &'static str,
    reason: Option<&'static str>,
}

impl Order {
    /// One for anybody, that takes this long and completes.
    fn new(action: &'static str, work_ms: u64) -> Self {
        Self {
            action,
            parameters: json!({ "ms": work_ms }),
            worker: None,
            pool: Some(POOL),
            ttl: None,
            timeout: None,
            status: "completed",
            reason: None,
        }
    }

    /// One for this worker alone, that has to end otherwise.
    fn ending(mut self, worker: &'static str, status: &'static str, reason: &'static str) -> Self {
        (self.worker, self.pool) = (Some(worker), None);
        (self.status, self.reason) = (status, Some(reason));
        self
    }

    async fn submit(&self, transaction: &Transaction<'_>) -> Result<Asked> {
        let sql = "select postrider.submit_execution(
                $1, $2::text::jsonb, p_worker => $3, p_pool => $4,
                p_ttl => make_interval(secs => $5), p_timeout => make_interval(secs => $6))";
        let Self { action, worker, pool, ttl, timeout, status, reason, .. } = self;
        let parameters = self.parameters.to_string();
        let row =
            transaction.query_one(sql, &[action, &parameters, worker, pool, ttl, timeout]).await?;
        let is_deaf = self.parameters["is_deaf"] == true;
        Ok(Asked { id: row.get(0), action, status, reason: *reason, is_deaf })
    }
}

/// The demo while it runs.
struct Run {
    carrier: &'static str,
    client: Client,
    workers: Vec<(&'static str, Dispatcher)>,
    dispatcher: Dispatcher,
    journal: Journal,
    folder: tempfile::TempDir,
    binary: PathBuf,
    url: String,
    /// Both run until they are dropped.
    rabbitmq: Option<PrivateRabbitmq>,
    _postgres: PrivatePostgres,
    asked: Vec<Asked>,
    rolled_back_count: usize,
    transaction_count: usize,
    killed: HashMap<String, u64>,
    started_at: Instant,
    printed_at: Option<Instant>,
    bar: ProgressBar,
}

impl Run {
    async fn start(binary: &Path, carrier: &'static str) -> Result<Self> {
        let postgres = PrivatePostgres::start(postgres::Options::default())?;
        println!("A private PostgreSQL {} listens on {}.", postgres.version(), postgres.port());
        let rabbitmq = match carrier {
            RABBITMQ => Some(PrivateRabbitmq::start(rabbitmq::Options::default())?),
            _ => None,
        };
        if let Some(rabbitmq) = &rabbitmq {
            println!("A private RabbitMQ {} listens on {}.", rabbitmq.version(), rabbitmq.port());
        }
        postgres.execute("postgres", "create role shop login").await?;
        postgres.execute("postgres", "create database shop owner shop").await?;
        let url = postgres.url_as("shop", "shop");
        set_up(binary, &url, carrier).await?;
        let options = with_broker(DispatcherOptions::serve(binary, &url), rabbitmq.as_ref());
        let dispatcher = Dispatcher::start(&options)?;
        dispatcher.wait_for_log("dispatching", STOP_TIMEOUT).await?;
        let style = ProgressStyle::with_template("{bar:30} {msg}")?;
        let folder = tempfile::tempdir()?;
        let mut run = Self {
            carrier,
            client: connect(&url).await?,
            workers: Vec::new(),
            dispatcher,
            journal: Journal::open(&folder.path().join("journal"))?,
            folder,
            binary: binary.to_owned(),
            url,
            rabbitmq,
            _postgres: postgres,
            asked: Vec::new(),
            rolled_back_count: 0,
            transaction_count: 0,
            killed: HashMap::new(),
            started_at: Instant::now(),
            printed_at: None,
            bar: ProgressBar::new(0).with_style(style),
        };
        run.start_workers(&["worker-1", KILLED, "worker-3"]).await?;
        run.postrider(&["worker", "list"]).await?;
        run.started_at = Instant::now();
        Ok(run)
    }

    /// Starts `postrider worker` processes, and waits until they are ready to work.
    async fn start_workers(&mut self, names: &[&'static str]) -> Result<()> {
        let program = std::env::current_exe()?;
        let program = program.to_str().context("this program has a name that is no text")?;
        let journal = self.folder.path().join("journal");
        let journal = journal.to_str().context("the folder has a name that is no text")?;
        for name in names {
            let options = DispatcherOptions::serve(&self.binary, &self.url);
            let mut options = with_broker(options, self.rabbitmq.as_ref());
            let worker = ["worker", "--name", name, "--pool", POOL, "--capacity", CAPACITY];
            let patience = ["--kill-after-seconds", "1"];
            let exec = ["--exec", program, "--", "fleet-handler", "--worker", name];
            options.arguments = [&worker[..], &patience, &exec, &["--journal", journal]]
                .concat()
                .into_iter()
                .map(str::to_owned)
                .collect();
            self.workers.push((name, Dispatcher::start(&options)?));
        }
        self.wait_for("the workers to be there", async |run| {
            let sql = "select count(*) from postrider.workers w \
                       where w.name = any($1) and w.status = 'active'";
            let count: i64 = run.client.query_one(sql, &[&names]).await?.get(0);
            Ok(usize::try_from(count)? == names.len())
        })
        .await
    }

    async fn postrider(&self, arguments: &[&str]) -> Result<()> {
        let shown = postrider_output(&self.binary, &self.url, arguments).await?;
        self.bar.suspend(|| println!("{shown}"));
        Ok(())
    }

    fn say(&self, text: &str) {
        let seconds = self.started_at.elapsed().as_secs_f64();
        self.bar.suspend(|| println!("{seconds:5.1} s  {text}"));
    }

    /// All of it in one transaction, which is rolled back now and then.
    async fn submit(&mut self, orders: &[Order], rolls_back: bool) -> Result<Vec<i64>> {
        let transaction = self.client.transaction().await?;
        let mut asked = Vec::new();
        for order in orders {
            asked.push(order.submit(&transaction).await?);
        }
        if rolls_back {
            transaction.rollback().await?;
            self.rolled_back_count += asked.len();
            return Ok(Vec::new());
        }
        transaction.commit().await?;
        let ids = asked.iter().map(|asked| asked.id).collect();
        self.asked.extend(asked);
        Ok(ids)
    }

    /// Much that is not urgent, then a little that is; and what cannot end well.
    async fn submit_backlog(&mut self) -> Result<()> {
        let mail = |number: u64| {
            let mut order = Order::new("mail", 80 + number % 5 * 20);
            if number % 15 == 7 {
                order.parameters["fails"] = "permanent_error".into();
                (order.status, order.reason) = ("failed", Some("permanent_error"));
            } else if number % 10 == 3 {
                order.parameters["fails"] = "transient_error".into();
            }
            order
        };
        let mails: Vec<Order> = (0..150).map(mail).collect();
        self.submit(&mails, false).await?;
        self.say("150 mails are asked for in one transaction. Some will fail, some only at first.");
        let alerts: Vec<Order> = (0..10).map(|_| Order::new("alert", 10)).collect();
        self.submit(&alerts, false).await?;
        self.say("10 alerts follow, with a higher priority.");
        let mut nobody = Order::new("resize", 10).ending(NOBODY, "failed", "queue_timeout");
        nobody.ttl = Some(NOBODY_TTL);
        // The action would have it tried again.
        nobody.action = "archive";
        let mut stuck = Order::new("stuck", 60_000).ending("worker-1", "timeout", "timeout");
        stuck.timeout = Some(2.0);
        stuck.parameters["is_deaf"] = true.into();
        let index = Order::new("index", 60_000).ending("worker-3", "cancelled", "cancelled");
        self.submit(&[nobody, stuck, index], false).await?;
        self.say("One execution is for a worker that does not exist, and may wait 3 s for it;");
        self.say("one hangs, ignores SIGTERM and may run for 2 s; one would run for a minute.");
        Ok(())
    }

    /// A transaction every moment, for some time.
    async fn submit_for(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        let mut ticks = tokio::time::interval(SUBMIT_INTERVAL);
        while Instant::now() < end {
            ticks.tick().await;
            self.transaction_count += 1;
            let number = self.transaction_count;
            let mut orders = vec![Order::new("resize", 60 + (number % 4) as u64 * 40)];
            if number.is_multiple_of(4) {
                orders.push(Order::new("report", 100));
            }
            self.submit(&orders, number.is_multiple_of(ROLLED_BACK_EVERY)).await?;
            self.look().await?;
        }
        Ok(())
    }

    /// Kills a worker in the middle of something long.
    async fn kill_worker(&mut self) -> Result<()> {
        let mut export = Order::new("export", 2_000);
        export.worker = Some(KILLED);
        let id = self.submit(&[export], false).await?[0];
        self.wait_for("the export to run", async |run| Ok(run.is_running(id)?)).await?;
        let (_, worker) = &self.workers[1];
        ensure!(worker.sigkill(), "{KILLED} was not there to be killed");
        worker.wait(STOP_TIMEOUT).await?;
        self.killed.insert(KILLED.to_owned(), journal::now());
        self.say(&format!("{KILLED} got SIGKILL while it ran export {id} and others."));
        self.start_workers(&["worker-4"]).await?;
        self.say("worker-4 comes instead. What the dead one had is tried again elsewhere.");
        Ok(())
    }

    /// Cancels what runs too long for somebody's taste.
    async fn cancel(&mut self) -> Result<()> {
        let index = self.asked.iter().find(|asked| asked.action == "index");
        let id = index.context("an index was asked for")?.id;
        self.wait_for("the index to run", async |run| Ok(run.is_running(id)?)).await?;
        self.postrider(&["execution", "cancel", &id.to_string()]).await
    }

    fn is_running(&self, id: i64) -> Result<bool> {
        let stretches = self.journal.read()?;
        Ok(stretches.iter().any(|stretch| stretch.execution == id && stretch.to.is_none()))
    }

    async fn wait_for(
        &mut self,
        what: &str,
        is_so: impl AsyncFn(&Self) -> Result<bool>,
    ) -> Result<()> {
        let deadline = Instant::now() + END_TIMEOUT;
        while !is_so(self).await? {
            ensure!(Instant::now() < deadline, "waited {END_TIMEOUT:?} for {what}");
            self.look().await?;
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        Ok(())
    }

    async fn wait_for_all(&mut self) -> Result<()> {
        self.say("Nothing more is asked for. What is under way goes on to its end.");
        self.wait_for("everything to end", async |run| {
            let sql = "select not exists (select from postrider.live_execution)";
            Ok(run.client.query_one(sql, &[]).await?.get(0))
        })
        .await
    }

    /// Shows how far everything is.
    async fn look(&mut self) -> Result<()> {
        for (name, worker) in &self.workers {
            if !worker.is_running() && !self.killed.contains_key(*name) {
                bail!("{name} ended by itself: {}", worker.log_lines().join("\n"));
            }
        }
        if self.asked.is_empty() {
            return Ok(());
        }
        let is_recent = |at: Instant| at.elapsed() < LOOK_INTERVAL;
        if self.printed_at.is_some_and(is_recent) {
            return Ok(());
        }
        let sql = "select coalesce(sum(n.count), 0)::bigint, \
                       coalesce(string_agg(n.count || ' ' || n.status, ', ' order by n.status), '') \
                   from ( \
                       select l.status, count(*) from postrider.live_execution l group by 1 \
                   ) n (status, count)";
        let row = self.client.query_one(sql, &[]).await?;
        let (live_count, summary): (i64, String) = (row.get(0), row.get(1));
        let ended_count = self.asked.len() - usize::try_from(live_count)?;
        let line = format!("{ended_count} of {} ended; {summary}", self.asked.len());
        self.bar.set_length(self.asked.len() as u64);
        self.bar.set_position(ended_count as u64);
        self.bar.set_message(line.clone());
        if self.bar.is_hidden() && self.printed_at.is_none_or(|at| at.elapsed() >= PRINT_INTERVAL) {
            self.printed_at = Some(Instant::now());
            self.say(&line);
        }
        Ok(())
    }

    /// Stops what still runs, and says what it adds up to.
    async fn end(mut self) -> Result<Report> {
        self.bar.finish_and_clear();
        self.say("All have ended. The workers and the dispatcher are asked to stop (SIGTERM).");
        let queues = self.show_queues().await?;
        let is_left = |(name, _): &&(&str, Dispatcher)| !self.killed.contains_key(*name);
        let left: Vec<_> = self.workers.iter().filter(is_left).map(|(_, worker)| worker).collect();
        for group in [&left[..], &[&self.dispatcher]] {
            for process in group {
                process.sigterm();
            }
            for process in group {
                let status = process.wait(STOP_TIMEOUT).await?;
                ensure!(status.success(), "a process ended with {status}");
            }
        }
        self.postrider(&["worker", "list"]).await?;
        self.postrider(&["execution", "dead-letters"]).await?;
        let evidence = Evidence {
            ends: self.ends().await?,
            stretches: self.journal.read()?,
            asked: std::mem::take(&mut self.asked),
            killed: std::mem::take(&mut self.killed),
            limits: LIMITS.to_vec(),
        };
        let mut report = Report::new(self.carrier, &evidence, self.rolled_back_count);
        report.faults.extend(Self::missing(&evidence));
        report.faults.extend(self.left_behind(&evidence));
        self.follow_dead_letter(&mut report, queues.as_ref()).await?;
        Ok(report)
    }

    /// The queues of RabbitMQ; the last one has to be empty, for everything in it was handled.
    async fn show_queues(&mut self) -> Result<Option<Vec<rabbitmq::Queue>>> {
        if self.rabbitmq.is_none() {
            return Ok(None);
        }
        self.wait_for("the dead letter queue to be empty", async |run| {
            let dead = run.queues()?.into_iter().find(|queue| queue.name == DEAD_LETTER_QUEUE);
            Ok(dead.is_some_and(|queue| queue.ready + queue.unacknowledged == 0))
        })
        .await?;
        let queues = self.queues()?;
        for rabbitmq::Queue { name, ready, arguments, .. } in &queues {
            self.say(&format!("queue {name}: {ready} ready, {arguments}"));
        }
        Ok(Some(queues))
    }

    fn queues(&self) -> Result<Vec<rabbitmq::Queue>> {
        self.rabbitmq.as_ref().map_or(Ok(Vec::new()), |rabbitmq| rabbitmq.host().queues())
    }

    /// How what nobody took came to its end: by the clock, or through the queues of the broker.
    async fn follow_dead_letter(
        &self,
        report: &mut Report,
        queues: Option<&Vec<rabbitmq::Queue>>,
    ) -> Result<()> {
        let sql = "select d.execution_id, d.worker_id, d.carrier, d.outcome, d.x_death::text, \
                       extract(epoch from f.ended_at - f.requested_at)::float8 \
                   from postrider.execution_dead_letter d \
                   join postrider.execution_end f on f.execution_id = d.execution_id \
                   where d.action = 'archive'";
        let rows = self.client.query(sql, &[]).await?;
        let [row] = &rows[..] else {
            report.faults.push(format!("{} dead letters instead of one", rows.len()));
            return Ok(());
        };
        let waited: f64 = row.get(5);
        report.row("waited for a worker that never came, 3 s", format!("{waited:.1} s"));
        if !(NOBODY_TTL..=NOBODY_TTL + EXPIRY_GRACE).contains(&waited) {
            report.faults.push(format!("what nobody took ended after {waited:.1} s"));
        }
        let Some(queues) = queues else { return Ok(()) };
        let (id, worker, carrier): (i64, i32, &str) = (row.get(0), row.get(1), row.get(2));
        let deaths: Value = serde_json::from_str(row.get::<_, Option<&str>>(4).unwrap_or("null"))?;
        let (queue, death) = (format!("worker.{worker}.executions"), &deaths[0]);
        let key = &death["routing-keys"][0];
        let exchange = queues
            .iter()
            .find(|known| known.name == queue)
            .map_or(&Value::Null, |known| &known.arguments["x-dead-letter-exchange"]);
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        report.note(format!(
            "execution {id}: {} ─{}→ {} ─{}→ {} → {DEAD_LETTER_QUEUE} → dispatcher: {}",
            text(&death["exchange"]),
            text(key),
            text(&death["queue"]),
            text(&death["reason"]),
            text(exchange),
            row.get::<_, &str>(3),
        ));
        if carrier != RABBITMQ || death["queue"] != queue || death["reason"] != "expired" {
            report.faults.push(format!("no dead letter of RabbitMQ: {carrier}, x-death {deaths}"));
        }
        Ok(())
    }

    /// Processes that should have ended.
    fn left_behind(&self, evidence: &Evidence) -> Vec<String> {
        let journal = self.folder.path().join("journal").into_os_string().into_encoded_bytes();
        let is_ours = |pid: u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(journal.len()).any(|window| window == journal)
        };
        let left = evidence.stretches.iter().filter(|stretch| is_ours(stretch.pid));
        left.map(|stretch| format!("process {} of {} is left", stretch.pid, stretch.worker))
            .collect()
    }

    async fn ends(&self) -> Result<Vec<End>> {
        let sql = "select execution_id, attempt, is_final, status, reason \
                   from postrider.execution_end order by id";
        let rows = self.client.query(sql, &[]).await?;
        let end = |row: &tokio_postgres::Row| End {
            execution: row.get(0),
            attempt: row.get(1),
            is_final: row.get(2),
            status: row.get(3),
            reason: row.get(4),
        };
        Ok(rows.iter().map(end).collect())
    }

    /// What was to be shown and did not happen.
    fn missing(evidence: &Evidence) -> Vec<String> {
        let mut missing = Vec::new();
        let first_of = |action: &str| -> Vec<u64> {
            let is_own = |id| evidence.asked.iter().any(|a| a.id == id && a.action == action);
            let own = evidence.stretches.iter().filter(|s| s.attempt == 1 && is_own(s.execution));
            own.map(|stretch| stretch.from).collect()
        };
        if first_of("alert").into_iter().max() >= first_of("mail").into_iter().max() {
            missing.push("the alerts did not overtake the mails".to_owned());
        }
        if evidence.cut_off_count() == 0 {
            missing.push("the killed worker did nothing at that moment".to_owned());
        }
        if evidence.lost_count() == 0 {
            missing.push("nothing of the killed worker was tried again".to_owned());
        }
        if evidence.deaf_count() != 1 {
            missing.push("nothing had to be killed because it ignored SIGTERM".to_owned());
        }
        missing
    }
}

/// The database, and what is special about this fleet: short intervals and few of a kind at a time.
async fn set_up(binary: &Path, url: &str, carrier: &str) -> Result<()> {
    let postrider = async |arguments: &[&str]| postrider(binary, url, arguments).await;
    postrider(&["migrate"]).await?;
    postrider(&["setting", "set", "execution_carrier", carrier]).await?;
    postrider(&["setting", "set", "worker_heartbeat_interval", "1"]).await?;
    // A machine that stands still for some seconds loses no worker: what it ran would end otherwise than it has to.
    postrider(&["setting", "set", "worker_stale_after", "8"]).await?;
    for (action, limit) in LIMITS {
        let limit = limit.to_string();
        let set = ["action", "set", action, "--concurrency", &limit, "--max-retries", "3"];
        postrider(&set).await?;
    }
    for (action, priority) in [("alert", "9"), ("mail", "0"), ("export", "0")] {
        let set = ["action", "set", action, "--priority", priority, "--max-retries", "3"];
        postrider(&set).await?;
    }
    Ok(())
}

fn with_broker(
    options: DispatcherOptions,
    rabbitmq: Option<&PrivateRabbitmq>,
) -> DispatcherOptions {
    match rabbitmq {
        Some(rabbitmq) => options.variable("POSTRIDER_AMQP_URL", rabbitmq.url()),
        None => options,
    }
}

/// Runs a command of the binary and shows it with its answer.
async fn postrider(binary: &Path, url: &str, arguments: &[&str]) -> Result<()> {
    println!("{}", postrider_output(binary, url, arguments).await?);
    Ok(())
}

async fn postrider_output(binary: &Path, url: &str, arguments: &[&str]) -> Result<String> {
    let output = tokio::process::Command::new(binary)
        .args(arguments)
        .env("DATABASE_URL", url)
        .kill_on_drop(true)
        .output()
        .await
        .context("could not run postrider")?;
    let command = arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`postrider {command}` failed:\n{}", complaint.trim_end());
    let answer = String::from_utf8_lossy(&output.stdout).trim_end().replace('\n', "\n  ");
    Ok(format!("$ postrider {command}\n  {answer}"))
}
