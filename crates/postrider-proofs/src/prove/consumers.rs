//! Consumers of both orderings beside writers of every kind, while processes give up, connections break
//! and PostgreSQL crashes: nothing is lost, nothing has two effects, and there is one order.
//!
//! In the same run two readers that look right show what they are worth: one behind the last position
//! loses messages, and one below the oldest open transaction stands still behind a long one.

mod judge;
mod readers;
mod writers;
mod wrong;

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::Client;

pub use self::judge::Delays;

use self::{
    judge::{EffectRow, Evidence, Verdict, judge},
    readers::{CONSUMERS, Consumer, Joins, ReadBook, ReadCounts},
    writers::{Book, Counts, ENDPOINT, EVENT_TYPES, Shared},
    wrong::Wrong,
};
use super::{faults::install, until, writers::connect};
use postrider_testkit::{
    ledger::Report,
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
};

/// How long the writers may take after the last crash.
const LONGEST: Duration = Duration::from_secs(900);
/// How long everything may take to be read after the last commit, and how long nothing may come of it.
const DRAIN: Duration = Duration::from_secs(600);
const STANDSTILL: Duration = Duration::from_secs(20);
/// After so many messages writers are back from a crash.
const RESUMED: usize = 50;
/// How many findings the printed figures list.
const LISTED: usize = 30;

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub struct ConsumerScale {
    pub writers: usize,
    /// At least so many messages are committed.
    pub messages: usize,
    /// How many counters there are, each behind the lock of its row.
    pub keys: usize,
    /// Transactions with up to so many messages, and how many of them.
    pub longest_bulk: usize,
    pub bulks: usize,
    /// How long a transaction stays open.
    pub longest_hold: Duration,
    /// Immediate shutdowns of PostgreSQL, and the time between two.
    pub crashes: usize,
    pub pause: Duration,
}

impl ConsumerScale {
    pub const FULL: ConsumerScale = ConsumerScale {
        writers: 8,
        messages: 120_000,
        keys: 300,
        longest_bulk: 8_000,
        bulks: 10,
        longest_hold: Duration::from_secs(20),
        crashes: 3,
        pause: Duration::from_secs(25),
    };

    pub const SHORT: ConsumerScale = ConsumerScale {
        writers: 6,
        messages: 3_000,
        keys: 300,
        longest_bulk: 5_000,
        bulks: 2,
        longest_hold: Duration::from_secs(6),
        crashes: 3,
        pause: Duration::from_secs(3),
    };
}

/// What came of it.
#[derive(Debug)]
pub struct ConsumerFigures {
    /// Each message counts once for every consumer that wants it.
    pub report: Report,
    pub findings: Vec<String>,
    pub messages: usize,
    pub ticks: i64,
    pub crashes: usize,
    /// What a reader behind the last position has lost.
    pub lost_behind_the_last: usize,
    /// Later versions of a key before earlier ones, for the consumer with ordering `transaction`.
    pub inversions_by_transaction: usize,
    pub delays: Delays,
    written: Counts,
    read: ReadCounts,
}

impl ConsumerFigures {
    /// Whether consumers keep what is promised, and the wrong readers are shown to be wrong.
    pub fn is_proven(&self) -> bool {
        self.report.is_balanced() && self.findings.is_empty() && self.lost_behind_the_last > 0
    }

    /// What did not happen, so that nothing is proven about it.
    fn untried(&self) -> impl Iterator<Item = String> + use<> {
        let (written, read) = (self.written, self.read);
        let counts = [
            ("a transaction with savepoints", written.savepoints),
            ("a transaction in two phases", written.prepared),
            ("a transaction with an early id", written.early),
            ("a long transaction", written.long),
            ("a transaction in bulk", written.bulk),
            ("a batch acknowledged in part", read.partial),
            (
                "a batch rolled back for each twenty committed",
                read.rolled_back * 20 / read.batches.max(1),
            ),
            ("a connection closed", read.dropped),
            ("a backend terminated", read.terminated),
        ];
        let missing = counts.into_iter().filter(|(_, count)| *count == 0);
        missing.map(|(what, _)| format!("not tried: {what}"))
    }
}

impl fmt::Display for ConsumerFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, read, delays) = (self.written, self.read, self.delays);
        writeln!(formatter, "{}", self.report)?;
        writeln!(
            formatter,
            "  {} messages of {} transactions: {} with savepoints, {} in two phases ({} over a \
             crash), {} with an early id, {} long, {} in bulk",
            self.messages,
            written.transactions,
            written.savepoints,
            written.prepared,
            written.prepared_over_restart,
            written.early,
            written.long,
            written.bulk
        )?;
        writeln!(
            formatter,
            "  {} consumers, {} ticks, {} batches committed; {} acknowledged in part, {} rolled back \
             ({} connections closed, {} backends terminated), {} without an answer, {} refused \
             because they came too late",
            CONSUMERS.len(),
            self.ticks,
            read.batches,
            read.partial,
            read.rolled_back,
            read.dropped,
            read.terminated,
            read.uncertain,
            read.refused
        )?;
        writeln!(formatter, "  {} immediate shutdowns of PostgreSQL", self.crashes)?;
        writeln!(
            formatter,
            "  lost by a reader behind the last position: {}",
            self.lost_behind_the_last
        )?;
        writeln!(
            formatter,
            "  keys inverted by the order of transactions: {}",
            self.inversions_by_transaction
        )?;
        writeln!(
            formatter,
            "  longest transaction {:.1} s; beside it the longest delay of consumers with ordering \
             commit {:.2} s, transaction {:.1} s, of a reader below the oldest transaction {:.1} s",
            delays.hold.as_secs_f64(),
            delays.commit.as_secs_f64(),
            delays.transaction.as_secs_f64(),
            delays.below_the_oldest.as_secs_f64()
        )?;
        writeln!(
            formatter,
            "  longest delay of consumers with ordering commit at any time without a crash: {:.2} s",
            delays.commit_at_any_time.as_secs_f64()
        )?;
        write!(formatter, "  findings: {}", self.findings.len())?;
        for finding in self.findings.iter().take(LISTED) {
            write!(formatter, "\n    {finding}")?;
        }
        Ok(())
    }
}

/// Runs writers, consumers, a dispatcher in a part of the time, and crashes.
///
/// # Errors
///
/// When the run itself cannot go on. What is lost, doubled or out of order is in the figures.
pub async fn prove_consumers(
    binary: &Path,
    scale: ConsumerScale,
    seed: u64,
) -> Result<ConsumerFigures> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let options = Options { max_prepared_transactions: 64, ..Options::default() };
    let postgres = PrivatePostgres::start(options.set("max_wal_size", "4GB"))?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    install(binary, &url)?;
    connect(&url).await?.batch_execute(&setup(&scale)).await?;

    let mut scene = Scene {
        // Who sleeps is rung up by NOTIFY, which a transaction in two phases may not do.
        serve: DispatcherOptions::serve(binary, &url).argument("--wake").argument("poll"),
        url: url.clone(),
        seed,
        postgres,
        crashes: Vec::new(),
        shared: Arc::new(Shared::default()),
        is_drained: Arc::new(AtomicBool::new(false)),
        processes: JoinSet::new(),
    };
    let started_at = Instant::now();
    scene.join(Joins::AtFirst).await?;
    let [behind_the_last, below_the_oldest] =
        [Wrong::BehindTheLastPosition, Wrong::BelowTheOldestTransaction]
            .map(|wrong| tokio::spawn(wrong::read(wrong, url.clone(), scene.is_drained.clone())));
    let writers = writers::start(&url, &scale, seed, &scene.shared);
    scene.disturb(&scale, &mut dice).await?;
    let written = scene.finish(writers, &scale).await?;
    let read = scene.drain(&written).await?;

    let client = connect(&url).await?;
    let wrong_ticks = wrong_ticks(&client).await?;
    let ticks = "select count(*) from postrider.tick";
    let ticks: i64 = client.query_one(ticks, &[]).await?.get(0);
    let holds = scene.shared.holds.lock().expect("nobody panics with it").clone();
    let evidence = Evidence {
        started_at,
        written,
        read,
        effects: effects(&client).await?,
        crashes: scene.crashes,
        holds,
        behind_the_last: behind_the_last.await?,
        below_the_oldest: below_the_oldest.await?,
    };
    let mut figures = add_up(&evidence, judge(&evidence), ticks);
    if wrong_ticks > 0 {
        let text = format!("{wrong_ticks} messages in another tick than where they became visible");
        figures.findings.push(text);
    }
    figures.findings.extend(figures.untried());
    Ok(figures)
}

fn add_up(evidence: &Evidence, verdict: Verdict, ticks: i64) -> ConsumerFigures {
    let mut read = ReadCounts::default();
    for book in &evidence.read {
        read.add(book.counts);
    }
    ConsumerFigures {
        report: verdict.report,
        findings: verdict.findings,
        messages: evidence.written.committed.len(),
        ticks,
        crashes: evidence.crashes.len(),
        lost_behind_the_last: verdict.lost_behind_the_last,
        inversions_by_transaction: verdict.inversions_by_transaction,
        delays: verdict.delays,
        written: evidence.written.counts,
        read,
    }
}

fn setup(scale: &ConsumerScale) -> String {
    let mut sql = format!(
        "select postrider.create_endpoint('{ENDPOINT}', 'discard', '{{}}');
        create schema proof;
        create table proof.writing (name text primary key);
        create table proof.version (key text primary key, version bigint not null);
        insert into proof.version
        select 'key-' || n, 0
        from generate_series(0, {}) n
        union all
        select 'key-long', 0;
        create table proof.effect (
            consumer text not null,
            partition integer not null,
            ordinal bigint not null,
            message_id bigint not null,
            position bigint not null,
            xid xid8 not null,
            tick bigint,
            marker text,
            key text,
            version bigint
        );
        create index effect_ordinal on proof.effect (consumer, partition, ordinal);",
        scale.keys - 1
    );
    for event_type in EVENT_TYPES {
        sql.push_str(&format!("select postrider.create_event_type('{event_type}');"));
    }
    sql
}

/// Everything that runs beside the writers.
struct Scene {
    serve: DispatcherOptions,
    url: String,
    seed: u64,
    postgres: PrivatePostgres,
    crashes: Vec<Range<Instant>>,
    shared: Arc<Shared>,
    is_drained: Arc<AtomicBool>,
    processes: JoinSet<Result<ReadBook>>,
}

impl Scene {
    /// Makes the consumers that join now, and starts their processes.
    async fn join(&mut self, joins: Joins) -> Result<()> {
        let client = connect(&self.url).await?;
        for consumer in CONSUMERS.iter().filter(|consumer| consumer.joins == joins) {
            client.batch_execute(&consumer.create()).await?;
            let (processes, is_drained) = (&mut self.processes, &self.is_drained);
            readers::start(processes, &self.url, consumer, self.seed, is_drained);
        }
        Ok(())
    }

    /// Shuts PostgreSQL down again and again. Between the second crash and the third no dispatcher
    /// lives, so consumers have to do without.
    async fn disturb(&mut self, scale: &ConsumerScale, dice: &mut fastrand::Rng) -> Result<()> {
        let mut dispatcher = Some(Dispatcher::start(&self.serve)?);
        for number in 1..=scale.crashes {
            // A random moment is the point here.
            tokio::time::sleep(scale.pause.mul_f64(dice.f64() + 0.5)).await;
            let at = Instant::now();
            self.shared.kills.fetch_add(1, Ordering::Relaxed);
            self.postgres.stop_immediately()?;
            self.postgres.start_again()?;
            self.crashes.push(at..Instant::now());
            if number == 2 {
                dispatcher = None;
                self.join(Joins::Later).await?;
            }
            if number == 3 {
                dispatcher = Some(Dispatcher::start(&self.serve)?);
            }
        }
        let shared = &self.shared;
        let before = shared.committed.load(Ordering::Relaxed);
        until("writers go on", LONGEST, || async {
            Ok(shared.committed.load(Ordering::Relaxed) > before + RESUMED)
        })
        .await?;
        shared.is_calm.store(true, Ordering::Relaxed);
        until("enough messages, and a long transaction", LONGEST, || async {
            let has_held = !shared.holds.lock().expect("nobody panics with it").is_empty();
            Ok(has_held && shared.committed.load(Ordering::Relaxed) >= scale.messages)
        })
        .await?;
        if let Some(dispatcher) = dispatcher {
            dispatcher.stop(Duration::from_secs(40)).await?;
        }
        Ok(())
    }

    /// Lets the writers come to an end.
    async fn finish(
        &mut self,
        mut writers: JoinSet<Result<Book>>,
        scale: &ConsumerScale,
    ) -> Result<Book> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let mut written = Book::default();
        while let Some(book) = writers.join_next().await {
            let book = book.context("a writer panicked")??;
            written.committed.extend(book.committed);
            written.rolled_back.extend(book.rolled_back);
            written.counts.add(book.counts);
        }
        // Nobody commits without all answers.
        let has_id = |(message, _): &(writers::Written, Instant)| message.id.is_some();
        ensure!(written.committed.iter().all(has_id), "committed without an id");
        ensure!(self.crashes.len() == scale.crashes, "{} crashes", self.crashes.len());
        self.join(Joins::AtLast).await?;
        Ok(written)
    }

    /// Waits until everything is read, or nothing comes any more.
    async fn drain(&mut self, written: &Book) -> Result<Vec<ReadBook>> {
        let seldom = written.committed.iter().filter(|(message, _)| message.is_seldom).count();
        let wanted = |consumer: &Consumer| match consumer.is_seldom_only {
            true => seldom,
            false => written.committed.len(),
        };
        let client = connect(&self.url).await?;
        let began = Instant::now();
        let (mut last, mut changed_at) = (HashMap::new(), began);
        loop {
            let counts = counts(&client).await?;
            let count = |consumer: &Consumer| counts.get(consumer.name).copied().unwrap_or(0);
            if CONSUMERS.iter().all(|consumer| count(consumer) >= wanted(consumer)) {
                break;
            }
            if counts != last {
                (last, changed_at) = (counts, Instant::now());
            }
            // What is missing is for the judge.
            if changed_at.elapsed() > STANDSTILL || began.elapsed() > DRAIN {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.is_drained.store(true, Ordering::Relaxed);
        let mut read = Vec::new();
        while let Some(book) = self.processes.join_next().await {
            read.push(book.context("a consumer panicked")??);
        }
        Ok(read)
    }
}

/// How many effects each consumer has.
async fn counts(client: &Client) -> Result<HashMap<String, usize>> {
    let sql = "select e.consumer, count(*) from proof.effect e group by e.consumer";
    let rows = client.query(sql, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as usize)).collect())
}

/// How many messages are in another tick than the first that counts and whose snapshot sees them.
async fn wrong_ticks(client: &Client) -> Result<i64> {
    let sql = "with passed as materialized (
            select postrider.passed_ticks(0) as ticks
        )
        select count(*)
        from proof.effect e
        cross join passed p
        left join postrider.tick t on t.id = e.tick and not p.ticks @> t.id
        left join lateral (
            select b.snapshot
            from postrider.tick b
            where b.id < e.tick
            and not p.ticks @> b.id
            order by b.id desc
            limit 1
        ) b on true
        where e.tick is not null
        and (
            t.id is null
            or not pg_visible_in_snapshot(e.xid, t.snapshot)
            or pg_visible_in_snapshot(e.xid, b.snapshot))";
    Ok(client.query_one(sql, &[]).await?.get(0))
}

async fn effects(client: &Client) -> Result<Vec<EffectRow>> {
    let sql = "select
            e.partition, e.ordinal, e.message_id, e.position, e.tick, e.xid::text, e.marker, e.key,
            e.version
        from proof.effect e
        where e.consumer = $1
        order by e.partition, e.ordinal, e.ctid";
    let mut effects = Vec::new();
    for consumer in &CONSUMERS {
        for row in client.query(sql, &[&consumer.name]).await? {
            effects.push(EffectRow {
                consumer,
                partition: row.get(0),
                ordinal: row.get(1),
                id: row.get(2),
                position: row.get(3),
                tick: row.get(4),
                xid: row.get::<_, &str>(5).parse().context("a transaction id")?,
                marker: row.get(6),
                key: row.get(7),
                version: row.get(8),
            });
        }
    }
    Ok(effects)
}
