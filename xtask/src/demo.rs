//! `cargo xtask demo`: messages written in real transactions, delivered whatever happens.
//!
//! Everything is real and private: a PostgreSQL of our own, the `postrider` binary as processes,
//! HTTP receivers, an order service that commits and rolls back. One receiver fails now and then,
//! one is down at first, one dispatcher is killed for good, and one transaction stays open all the
//! time. A pull consumer reads it all, too, and rolls back every fifth batch. At the end the ledger says what became of every single message.

pub mod fleet;
mod orders;
mod projection;
mod screen;
mod table;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use orders::{Book, LongTransaction, Shop};
use postrider_proofs::prove::SHORTEST_LEASE;
use postrider_testkit::{
    ledger::{End, EndKind, Fault, FaultKind, Ledger, MessageId},
    postgres::{self, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions, Profile, postrider_binary},
    receiver::{Answer, Behaviour, Receiver},
    stillness::Stillness,
};
use projection::Projection;
use screen::{Progress, Screen};
use table::Summary;
use tokio_postgres::Client;

/// Where the order service sends its messages.
const DESTINATIONS: [&str; 3] = ["billing", "email", "warehouse"];
const EMAIL: usize = 1;
const WAREHOUSE: usize = 2;

/// What the warehouse refuses until it is fixed.
const UNKNOWN_ITEM: &str = "unobtainium";
/// Retries come quickly, and often enough for a receiver that is down at first.
const RETRY_POLICY: &str =
    r#"{"backoff": "fixed", "base_delay_seconds": 1, "max_retries": 60, "jitter": 0.1}"#;
/// The shortest lease there is, in seconds.
const LEASE: &str = "5";

const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long after the last commit everything may take to arrive.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How the demo is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// A form of about 20 seconds, for CI.
    #[arg(long)]
    pub short: bool,
    /// What the dice of the order service start from. Without it a new number, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Show worker fleets instead, on PostgreSQL and then on RabbitMQ: each execution ends once, whatever happens to the workers.
    #[arg(long)]
    pub fleet: bool,
    /// Build the dispatchers with optimizations: longer to build, faster to run.
    #[arg(long)]
    pub release: bool,
}

/// When something happens, counted from the first order.
struct Script {
    warehouse_opens: Duration,
    kill: Duration,
    last_order: Duration,
}

/// Runs the demo.
///
/// # Errors
///
/// When something does not work at all, when the ledger does not add up, and on Ctrl-C.
pub fn run(options: &Options) -> Result<()> {
    if options.fleet {
        return fleet::run(options);
    }
    postgres::ensure_installed()?;
    let profile = if options.release { Profile::Release } else { Profile::Debug };
    if profile == Profile::Debug {
        eprintln!("Building postrider without optimizations (--release measures a faster one).");
    }
    let binary = postrider_binary(profile, &[])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let is_balanced = runtime.block_on(async {
        // When the play is dropped, its servers and processes end with it.
        tokio::select! {
            is_balanced = play(options, &binary) => is_balanced,
            _ = tokio::signal::ctrl_c() => bail!("interrupted; nothing is left running"),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ensure!(is_balanced?, "the ledger does not add up");
    Ok(())
}

fn script(is_short: bool) -> Script {
    let seconds = Duration::from_secs;
    if is_short {
        Script { warehouse_opens: seconds(3), kill: seconds(4), last_order: seconds(9) }
    } else {
        Script { warehouse_opens: seconds(5), kill: seconds(10), last_order: seconds(22) }
    }
}

async fn play(options: &Options, binary: &Path) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let script = script(options.short);
    let screen = Screen::new();
    screen.say(&format!("Seed {seed} (--seed {seed} rolls the same dice)."));
    let stage = Stage::set_up(binary, seed, &screen).await?;
    let mut run = Run::start(stage, screen, seed).await?;

    run.watch_until(script.warehouse_opens).await?;
    run.stage.receivers[WAREHOUSE].up()?;
    run.say("The warehouse answers now; what waits for it is retried.");

    run.watch_until(script.kill).await?;
    run.kill_first_dispatcher()?;
    run.watch_until(script.last_order).await?;

    let book = run.close_shop().await?;
    run.watch_for("everything but the refused orders to arrive", Run::has_all_but_refused).await?;
    let refused_count = run.redrive().await?;
    run.watch_for("everything to arrive", Run::has_everything).await?;
    let summary = run.end(&book, refused_count).await?;
    print!("{summary}");
    Ok(summary.is_balanced())
}

/// What the demo runs on.
struct Stage {
    receivers: Vec<Receiver>,
    /// Runs until it is dropped.
    _postgres: PrivatePostgres,
    binary: PathBuf,
    database_url: String,
}

impl Stage {
    async fn set_up(binary: &Path, seed: u64, screen: &Screen) -> Result<Self> {
        let postgres = PrivatePostgres::start(postgres::Options::default())?;
        screen.say(&format!(
            "A private PostgreSQL {} listens on port {}; the role `shop` is not a superuser.",
            postgres.version(),
            postgres.port()
        ));
        postgres.execute("postgres", "create role shop login").await?;
        postgres.execute("postgres", "create database shop owner shop").await?;
        let database_url = postgres.url_as("shop", "shop");
        let behaviours = [
            Behaviour::Status(200),
            Behaviour::Fraction { status: 503, share: 1.0 / 3.0, seed },
            Behaviour::custom(refuse_unknown_items),
        ];
        let receivers = behaviours.into_iter().map(Receiver::start).collect::<Result<_>>()?;
        let stage =
            Self { receivers, _postgres: postgres, binary: binary.to_owned(), database_url };
        stage.receivers[WAREHOUSE].down()?;

        stage.postrider(screen, &["migrate"]).await?;
        stage.postrider(screen, &["setting", "set", "allow_internal_destinations", "on"]).await?;
        stage.postrider(screen, &["setting", "set", "stale_recovery_timeout", LEASE]).await?;
        for (name, receiver) in DESTINATIONS.iter().zip(&stage.receivers) {
            let url = format!("url={}", receiver.url());
            let create = ["endpoint", "create", name, "--protocol", "http", "--set", &url];
            let policy = ["--retry-policy", RETRY_POLICY];
            stage.postrider(screen, &[&create[..], &policy[..]].concat()).await?;
        }
        stage.postrider(screen, &["consumer", "create", projection::CONSUMER]).await?;
        Ok(stage)
    }

    /// Runs a command of the binary and shows it with its answer, which is returned.
    async fn postrider(&self, screen: &Screen, arguments: &[&str]) -> Result<String> {
        let output = tokio::process::Command::new(&self.binary)
            .args(arguments)
            .env("DATABASE_URL", &self.database_url)
            .kill_on_drop(true)
            .output()
            .await
            .context("could not run postrider")?;
        let command = arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>();
        let command = format!("postrider {}", command.join(" "));
        let answer = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{command}` failed:\n{}", complaint.trim_end());
        screen.say(&format!("$ {command}\n  {}", answer.replace('\n', "\n  ")));
        Ok(answer)
    }

    fn start_dispatcher(&self) -> Result<Dispatcher> {
        let options = DispatcherOptions::serve(&self.binary, &self.database_url);
        Dispatcher::start(&options.variable("POSTRIDER_SHUTDOWN_GRACE_SECONDS", 5))
    }
}

/// As one would type it in a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=:/.".contains(&byte);
    match argument.bytes().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{argument}'"),
    }
}

fn refuse_unknown_items(arrival: &postrider_testkit::receiver::Arrival<'_>) -> Answer {
    let word = UNKNOWN_ITEM.as_bytes();
    let is_refused = arrival.body.windows(word.len()).any(|window| window == word);
    Answer::status(if is_refused { 400 } else { 200 })
}

/// The demo while it runs.
struct Run {
    dispatchers: Vec<Dispatcher>,
    shop: Shop,
    long: Option<LongTransaction>,
    projection: Option<Projection>,
    /// For looking at the tables of Postrider, as a person would with psql.
    observer: Client,
    stage: Stage,
    screen: Screen,
    stillness: Option<Stillness>,
    started_at: Instant,
    killed_at: Option<Instant>,
    taken_over_at: Option<Instant>,
    closed_at: Option<Instant>,
}

impl Run {
    async fn start(stage: Stage, screen: Screen, seed: u64) -> Result<Self> {
        let dispatchers = vec![stage.start_dispatcher()?, stage.start_dispatcher()?];
        for dispatcher in &dispatchers {
            dispatcher.wait_for_log("dispatching", STOP_TIMEOUT).await?;
        }
        let url = &stage.database_url;
        let observer = orders::connect(url).await?;
        let long = LongTransaction::begin(url).await?;
        let projection = Projection::start(url).await?;
        let started_at = Instant::now();
        let shop = Shop::open(url, seed).await?;
        let run = Self {
            dispatchers,
            shop,
            long: Some(long),
            projection: Some(projection),
            observer,
            stage,
            screen,
            stillness: Some(Stillness::watch()?),
            started_at,
            killed_at: None,
            taken_over_at: None,
            closed_at: None,
        };
        run.say("Two dispatchers run, the shop is open, and a transaction that has sent its");
        run.say("messages stays open until the end. The warehouse is down.");
        Ok(run)
    }

    fn say(&self, text: &str) {
        let seconds = self.started_at.elapsed().as_secs_f64();
        self.screen.say(&format!("{seconds:5.1} s  {text}"));
    }

    /// Shows the progress until so much time has passed since the start.
    async fn watch_until(&mut self, since_start: Duration) -> Result<()> {
        let end = self.started_at + since_start;
        while Instant::now() < end {
            self.look().await?;
            tokio::time::sleep(LOOK_INTERVAL.min(end - Instant::now().min(end))).await;
        }
        Ok(())
    }

    /// Shows the progress until something is so.
    async fn watch_for(&mut self, what: &str, is_so: fn(&Run) -> bool) -> Result<()> {
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        while !is_so(self) {
            ensure!(
                Instant::now() < deadline,
                "waited {DELIVERY_TIMEOUT:?} for {what}; {}",
                self.progress(Vec::new(), 0).line()
            );
            self.look().await?;
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        Ok(())
    }

    async fn look(&mut self) -> Result<()> {
        for (index, dispatcher) in self.dispatchers.iter().enumerate() {
            let was_killed = index == 0 && self.killed_at.is_some();
            if !dispatcher.is_running() && !was_killed {
                let lines = dispatcher.log_lines();
                let tail = lines[lines.len().saturating_sub(10)..].join("\n");
                bail!("dispatcher {} ended by itself; its log ends:\n{tail}", index + 1);
            }
        }
        let mut shard_counts = Vec::new();
        for dispatcher in &self.dispatchers {
            let pid = i32::try_from(dispatcher.pid())?;
            let sql = "select count(*) from postrider.shard s \
                       join postrider.dispatcher d on d.id = s.owner where d.pid = $1";
            shard_counts.push(self.observer.query_one(sql, &[&pid]).await?.get(0));
        }
        let sql = "select count(*) from postrider.deferred";
        let waiting_count = self.observer.query_one(sql, &[]).await?.get(0);
        if let (Some(killed_at), None) = (self.killed_at, self.taken_over_at)
            && shard_counts[0] == 0
        {
            self.taken_over_at = Some(Instant::now());
            let after = killed_at.elapsed().as_secs_f64();
            self.say(&format!("Dispatcher 2 has taken over all shards, {after:.1} s later."));
        }
        self.screen.show(&self.progress(shard_counts, waiting_count));
        Ok(())
    }

    fn progress(&self, shard_counts: Vec<i64>, waiting_count: i64) -> Progress {
        let receivers = self.stage.receivers.iter();
        Progress {
            elapsed: self.started_at.elapsed(),
            committed: self.shop.committed_counts(),
            rolled_back: self.shop.rolled_back_count(),
            arrived: receivers
                .map(|receiver| (receiver.accepted_count(), receiver.request_count()))
                .collect(),
            shard_counts,
            waiting_count,
        }
    }

    fn kill_first_dispatcher(&mut self) -> Result<()> {
        ensure!(self.dispatchers[0].sigkill(), "dispatcher 1 was not there to be killed");
        self.killed_at = Some(Instant::now());
        self.say("Dispatcher 1 got SIGKILL and stays dead. Its lease has to run out first.");
        Ok(())
    }

    /// The last orders, and the end of the long transaction.
    async fn close_shop(&mut self) -> Result<Book> {
        let mut book = self.shop.close().await?;
        self.closed_at = Some(Instant::now());
        let long = self.long.take().context("the long transaction ends once")?;
        long.commit(&mut book, &self.shop).await?;
        let sql = "select count(*) from orders";
        let order_count: i64 = self.observer.query_one(sql, &[]).await?.get(0);
        ensure!(
            order_count == book.order_count,
            "the shop committed {} orders, its table has {order_count}",
            book.order_count
        );
        self.say("The shop is closed, and the long transaction has committed.");
        Ok(book)
    }

    fn has_all_but_refused(&self) -> bool {
        self.missing_count() <= self.shop.refused_count()
    }

    fn has_everything(&self) -> bool {
        self.missing_count() == 0
    }

    fn missing_count(&self) -> usize {
        let accepted = self.stage.receivers.iter().map(Receiver::accepted_count);
        let missing = self.shop.committed_counts().into_iter().zip(accepted);
        missing.map(|(committed, accepted)| committed.saturating_sub(accepted)).sum()
    }

    /// Repairs the warehouse and puts the dead letters back. Returns how many there were.
    async fn redrive(&mut self) -> Result<usize> {
        let expected = self.shop.refused_count();
        let sql = "select count(*) from postrider.dead_letter where status = 'failed'";
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        // The answer 400 is on its way into the table.
        while self.observer.query_one(sql, &[]).await?.get::<_, i64>(0) < expected as i64 {
            ensure!(Instant::now() < deadline, "{expected} refused orders are no dead letters");
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        self.say(&format!(
            "The warehouse has refused {expected} orders for good. It is fixed now:"
        ));
        self.stage.receivers[WAREHOUSE].set_behaviour(Behaviour::Status(200));
        let list = ["dlq", "list", "--limit", "3"];
        self.stage.postrider(&self.screen, &list).await?;
        let redrive = ["dlq", "redrive", "--endpoint", DESTINATIONS[WAREHOUSE]];
        self.stage.postrider(&self.screen, &redrive).await?;
        Ok(expected)
    }

    /// Stops what still runs and adds everything up.
    async fn end(mut self, book: &Book, refused_count: usize) -> Result<Summary> {
        self.look().await?;
        self.screen.end();
        let sql = "select count(*) from postrider.deferred";
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.observer.query_one(sql, &[]).await?.get::<_, i64>(0) > 0 {
            ensure!(Instant::now() < deadline, "deliveries wait although everything has arrived");
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        let projection = self.projection.take().context("the consumer ends once")?;
        let mut reading = projection.finish().await?;
        reading.entered.sort_unstable();
        self.say("Everything has arrived. Dispatcher 2 is asked to stop (SIGTERM).");
        self.dispatchers[1].sigterm();
        let status = self.dispatchers[1].wait(STOP_TIMEOUT).await?;
        ensure!(status.success(), "dispatcher 2 ended with {status}");

        let dead = self.dead_letters().await?;
        let killed_at = self.killed_at.context("a dispatcher was killed")?;
        let fault = Fault::new(FaultKind::ProcessKilled, "dispatcher 1", killed_at);
        let stillness = self.stillness.take().context("the demo ends once")?;
        let mut faults = vec![fault];
        let still = stillness.faults(SHORTEST_LEASE, &faults);
        faults.extend(still);
        let ledger_of = |wanted: &[usize]| {
            let mut ledger = Ledger::new(self.started_at);
            for &index in wanted {
                let name = DESTINATIONS[index].into();
                book.record_into(&mut ledger, DESTINATIONS[index]);
                self.stage.receivers[index].record_into(&mut ledger, &name, orders::marker_of);
                for id in dead.iter().filter(|(name, _)| name == DESTINATIONS[index]) {
                    ledger.end(End {
                        destination: name.clone(),
                        id: id.1,
                        kind: EndKind::DeadLettered,
                    });
                }
            }
            faults.iter().for_each(|fault| ledger.fault(fault.clone()));
            ledger.check()
        };
        let closed_at = self.closed_at.context("the shop was closed")?;
        Ok(Summary {
            columns: (0..DESTINATIONS.len()).map(|index| ledger_of(&[index])).collect(),
            total: ledger_of(&[0, 1, 2]),
            refused_count,
            redriven_ids_match: self.redriven_arrived(refused_count).await?,
            open_for: closed_at - self.started_at,
            delivered_while_open: self.accepted_before(closed_at),
            takeover: self.taken_over_at.map(|at| at - killed_at),
            each_was_entered_once: reading.entered == book.committed_ids(),
            reading,
            order_count: book.order_count,
            sent_by_long_transaction: DESTINATIONS.len(),
        })
    }

    /// How many requests each destination had accepted at a moment.
    fn accepted_before(&self, at: Instant) -> Vec<usize> {
        let count = |receiver: &Receiver| {
            receiver.with_requests(|requests| {
                requests.iter().filter(|request| request.is_accepted() && request.at < at).count()
            })
        };
        self.stage.receivers.iter().map(count).collect()
    }

    /// Dead letters that were not put back.
    async fn dead_letters(&self) -> Result<Vec<(String, MessageId)>> {
        let sql = "select l.endpoint_name, l.message_id from postrider.dead_letter l \
                   where l.status = 'failed'";
        let rows = self.observer.query(sql, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), MessageId(row.get(1)))).collect())
    }

    /// Whether each dead letter that was put back was refused and later accepted under one id.
    async fn redriven_arrived(&self, expected: usize) -> Result<bool> {
        let sql = "select l.message_id from postrider.dead_letter l where l.status = 'redriven'";
        let rows = self.observer.query(sql, &[]).await?;
        let ids: Vec<_> = rows.iter().map(|row| Some(MessageId(row.get(0)))).collect();
        let was_taken_late = self.stage.receivers[WAREHOUSE].with_requests(|requests| {
            ids.iter().all(|id| {
                let mut own = requests.iter().filter(|request| request.id == *id);
                own.next().is_some_and(|first| first.status == Some(400))
                    && own.any(postrider_testkit::receiver::Request::is_accepted)
            })
        });
        Ok(ids.len() == expected && was_taken_late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        assert_eq!(quoted("url=http://127.0.0.1:80/"), "url=http://127.0.0.1:80/");
        assert_eq!(quoted(r#"{"a": 1}"#), r#"'{"a": 1}'"#);
    }
}
