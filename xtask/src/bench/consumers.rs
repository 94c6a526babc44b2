//! What reading the log by a consumer costs: single pages, and whole backlogs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::clients::PAYLOAD;
use super::compare::{alternate, median, percentile};
use super::report::{Line, Target, count, per_second};
use super::stand::{Database, Stand};

/// How long it has to be asked for at least for a log of full size.
const FULL: Duration = Duration::from_secs(60);
const FULL_COUNT: i64 = 5_000_000;
const SHORT_COUNT: i64 = 2_000_000;
/// A batch, and what most transactions and ticks of the log hold.
const BATCH: i64 = 1_000;
const PAGE: i64 = 100;
const PAGE_CALLS: usize = 500;
/// How much of the log each side drains before it is the other one's turn.
const SLICE: i64 = 200_000;
/// Ticks of two messages, for each thousand messages of the log.
const TINY_TICKS: i64 = 20;
const PARTITIONS: i64 = 4;
const PARTITION_TIME: Duration = Duration::from_secs(10);

/// The log that is read, by what it consists of from its beginning on.
struct Log {
    /// Messages in the first tick, in transactions of 1,000.
    large: i64,
    /// Ticks of 1,000 that follow.
    ticks: i64,
    /// Ticks of two messages that follow.
    tiny: i64,
}

impl Log {
    fn of(total: i64) -> Self {
        let tiny = total / BATCH * TINY_TICKS;
        let large = total / 2;
        Self { large, ticks: (total - large - 2 * tiny) / BATCH, tiny }
    }

    fn middle_tick(&self) -> i64 {
        1 + self.ticks / 2
    }

    fn first_tiny(&self) -> i64 {
        self.ticks + 2
    }

    /// Behind all others comes one tick with a page.
    fn last_tick(&self) -> i64 {
        self.ticks + self.tiny + 2
    }

    fn count(&self) -> i64 {
        self.large + self.ticks * BATCH + 2 * self.tiny + PAGE
    }
}

/// Pages of 100, and draining in batches of 1,000 that are acknowledged and committed one by one.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let database = stand.database("consumers").await?;
    let log = Log::of(if time < FULL { SHORT_COUNT } else { FULL_COUNT });
    fill(&database, &log).await?;
    database.checkpoint().await?;
    let mut lines = pages(&database, &log).await?;
    lines.push(drain_line(&database, &log, "commit").await?);
    lines.push(drain_line(&database, &log, "transaction").await?);
    lines.push(tiny(&database, &log).await?);
    lines.push(filtered(&database, &log).await?);
    lines.push(partitioned(&database).await?);
    database.remove().await?;
    Ok(lines)
}

async fn fill(database: &Database<'_>, log: &Log) -> Result<()> {
    let client = database.connect().await?;
    let set = "set synchronous_commit = off;
        select postrider.set_setting('tick_interval_ms', '0');
        select postrider.create_consumer('commit');
        select postrider.create_consumer('transaction', p_ordering => 'transaction');
        select postrider.create_event_type('bench.rare');
        select postrider.create_consumer('filtered', array['bench.rare']);
        select postrider.create_consumer('partitioned', p_partitions => 4)";
    client.batch_execute(set).await?;
    let parts = [
        (log.large / BATCH, BATCH, false),
        (log.ticks, BATCH, true),
        (log.tiny, 2, true),
        (1, PAGE, true),
    ];
    for (number, (transaction_count, message_count, makes_ticks)) in parts.iter().enumerate() {
        let set = "select
            set_config('bench.payload', $1, false),
            set_config('bench.transaction_count', $2, false),
            set_config('bench.message_count', $3, false),
            set_config('bench.makes_ticks', $4, false)";
        let values =
            [transaction_count.to_string(), message_count.to_string(), makes_ticks.to_string()];
        client.execute(set, &[&PAYLOAD, &values[0], &values[1], &values[2]]).await?;
        client.batch_execute(include_str!("consumers_fill.sql")).await?;
        if number == 0 {
            client.batch_execute("select postrider.tick()").await?;
        }
    }
    client.batch_execute("vacuum analyze").await?;
    Ok(())
}

/// Puts a consumer behind a message of a tick; the tick's beginning is 0.
async fn place(client: &Client, consumer: &str, tick: i64, message_id: i64) -> Result<()> {
    let sql = include_str!("consumers_place.sql");
    client.execute(sql, &[&consumer, &tick, &message_id]).await?;
    Ok(())
}

async fn pages(database: &Database<'_>, log: &Log) -> Result<Vec<Line>> {
    let in_large = (log.large / 2) << 10;
    let places = [
        ("commit", "the tail, a new tick of 100", log.last_tick(), 0),
        ("commit", "the middle of a backlog, ticks of 1,000", log.middle_tick(), 0),
        ("commit", "the middle of a tick of half the log", 1, in_large),
        ("commit", "among ticks of 2 messages", log.first_tiny() + log.tiny / 2, 0),
        ("transaction", "the tail", log.last_tick(), 0),
        ("transaction", "the middle of a backlog", log.middle_tick(), 0),
    ];
    let mut lines = Vec::new();
    for (consumer, what, tick, message_id) in places {
        let client = database.connect().await?;
        place(&client, consumer, tick, message_id).await?;
        let (times, buffers) = page_costs(&client, consumer).await?;
        let what =
            format!("page of 100 of {} messages, `{consumer}`: {what}", count(log.count() as f64));
        lines.push(Line {
            what: what.clone(),
            measured: format!(
                "median {:.2} ms, p99 {:.2} ms",
                median(times.clone()),
                percentile(times.clone(), 0.99)
            ),
            comparison: "–".to_owned(),
            value: median(times),
            target: Target::BelowMs(2.0),
        });
        lines.push(Line {
            what: format!("{what}, buffers"),
            measured: count(buffers),
            comparison: "–".to_owned(),
            value: buffers,
            target: Target::AtMostBuffers(50.0),
        });
    }
    Ok(lines)
}

/// How long calls take in one session, in milliseconds, and the buffers that one touches.
async fn page_costs(client: &Client, consumer: &str) -> Result<(Vec<f64>, f64)> {
    let fetch = client.prepare("select * from postrider.fetch_messages($1, $2)").await?;
    let limit = PAGE as i32;
    let mut times = Vec::new();
    for call in 0..=PAGE_CALLS {
        client.batch_execute("begin").await?;
        let began_at = Instant::now();
        let rows = client.query(&fetch, &[&consumer, &limit]).await?;
        // The first call makes the plans.
        if call > 0 {
            times.push(began_at.elapsed().as_secs_f64() * 1000.0);
        }
        anyhow::ensure!(rows.len() as i64 == PAGE, "a page of {} messages", rows.len());
        client.batch_execute("rollback").await?;
    }
    let explain = format!(
        "explain (analyze, buffers, format json)
        select * from postrider.fetch_messages('{consumer}', {PAGE})"
    );
    let rows = client.simple_query(&explain).await?;
    let plan = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let plan: serde_json::Value = serde_json::from_str(plan.context("no plan")?)?;
    let touched = ["Shared Hit Blocks", "Shared Read Blocks"]
        .map(|name| plan[0]["Plan"][name].as_f64().unwrap_or(f64::NAN));
    Ok((times, touched.iter().sum()))
}

/// A session that drains a consumer, or a partition of one.
struct Reader {
    client: Client,
    fetch: tokio_postgres::Statement,
    acknowledge: tokio_postgres::Statement,
    consumer: &'static str,
    partition: Option<i32>,
}

impl Reader {
    async fn open(
        database: &Database<'_>,
        consumer: &'static str,
        partition: Option<i32>,
    ) -> Result<Self> {
        let client = database.connect().await?;
        let fetch = "select * from postrider.fetch_messages($1, $2, p_partition => $3)";
        let fetch = client.prepare(fetch).await?;
        let acknowledge = client.prepare("select postrider.acknowledge($1, $2)").await?;
        Ok(Self { client, fetch, acknowledge, consumer, partition })
    }

    /// One batch in one transaction; how many messages it had.
    async fn batch(&self) -> Result<i64> {
        self.client.batch_execute("begin").await?;
        let limit = BATCH as i32;
        let rows =
            self.client.query(&self.fetch, &[&self.consumer, &limit, &self.partition]).await?;
        if let Some(last) = rows.last() {
            let position: i64 = last.get("position");
            self.client.execute(&self.acknowledge, &[&self.consumer, &position]).await?;
        }
        self.client.batch_execute("commit").await?;
        Ok(rows.len() as i64)
    }

    /// Messages a second, until there were so many.
    async fn drain(&self, message_count: i64) -> Result<f64> {
        let began_at = Instant::now();
        let mut drained = 0;
        while drained < message_count {
            drained += self.batch().await?;
        }
        Ok(drained as f64 / began_at.elapsed().as_secs_f64())
    }
}

/// Half of the log in turns with a cursor over the same rows.
async fn drain_line(database: &Database<'_>, log: &Log, consumer: &'static str) -> Result<Line> {
    let reader = Reader::open(database, consumer, None).await?;
    // The beginning of the large tick, then those of 1,000.
    place(&reader.client, consumer, 1, 0).await?;
    let cursor = database.connect().await?;
    cursor.batch_execute("begin; set local enable_seqscan = off").await?;
    cursor.batch_execute(include_str!("consumers_cursor.sql")).await?;
    let next = cursor.prepare(&format!("fetch {BATCH} from log_reader")).await?;
    let compared = alternate(
        ((log.large + log.ticks * BATCH) / SLICE) as usize,
        async || reader.drain(SLICE).await,
        async || {
            let began_at = Instant::now();
            for _ in 0..SLICE / BATCH {
                cursor.query(&next, &[]).await?;
            }
            Ok(SLICE as f64 / began_at.elapsed().as_secs_f64())
        },
    )
    .await?;
    Ok(Line {
        what: format!(
            "one consumer drains the log in batches of 1,000, acknowledged and committed, `{consumer}`"
        ),
        measured: per_second(compared.ours),
        comparison: format!(
            "`select *` of the same rows by a cursor: {} (ratio {:.2})",
            per_second(compared.theirs),
            compared.ratio
        ),
        value: compared.ours,
        target: Target::AtLeastPerSecond(150_000.0),
    })
}

async fn tiny(database: &Database<'_>, log: &Log) -> Result<Line> {
    let reader = Reader::open(database, "commit", None).await?;
    place(&reader.client, "commit", log.first_tiny(), 0).await?;
    let rate = reader.drain(2 * log.tiny).await?;
    Ok(information(
        format!("the same among {} ticks of 2 messages", count(log.tiny as f64)),
        per_second(rate),
    ))
}

async fn filtered(database: &Database<'_>, log: &Log) -> Result<Line> {
    let reader = Reader::open(database, "filtered", None).await?;
    let began_at = Instant::now();
    let mut found = 0;
    // A page may be short: then it has passed as much as one call may.
    while found < log.count() / 10_000 {
        found += reader.batch().await?;
    }
    let rate = log.count() as f64 / began_at.elapsed().as_secs_f64();
    Ok(information(
        "a consumer that wants one message in 10,000: messages passed".to_owned(),
        per_second(rate),
    ))
}

async fn partitioned(database: &Database<'_>) -> Result<Line> {
    let mut readers = Vec::new();
    for partition in 0..PARTITIONS {
        let partition = i32::try_from(partition)?;
        readers.push(Reader::open(database, "partitioned", Some(partition)).await?);
    }
    let began_at = Instant::now();
    let drained = try_join_all(readers.iter().map(async |reader| {
        let mut drained = 0;
        while began_at.elapsed() < PARTITION_TIME {
            let batch = reader.batch().await?;
            drained += batch;
            if batch == 0 {
                break;
            }
        }
        Ok::<i64, anyhow::Error>(drained)
    }))
    .await?;
    let rate = drained.iter().sum::<i64>() as f64 / began_at.elapsed().as_secs_f64();
    Ok(information(
        "four partitions by four processes, each reading past the messages of the others"
            .to_owned(),
        per_second(rate),
    ))
}

fn information(what: String, measured: String) -> Line {
    Line { what, measured, comparison: "–".to_owned(), value: f64::NAN, target: Target::None }
}
