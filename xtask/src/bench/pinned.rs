//! A session that holds an old snapshot and a transaction id for the whole time, so that nothing can
//! be vacuumed.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::classic::{Delivery, Workers};
use super::clients::{Clients, Commit, Json};
use super::report::{Line, Target, count, per_second};
use super::stand::{Database, Stand, stop};

/// Messages offered per second.
const OFFERED: usize = 5_000;
const BATCH_SIZE: usize = 10;
const SENDER_COUNT: usize = 4;
const SLICES: u32 = 5;
/// The classic design shows what it shows in less time.
const CLASSIC_TIME: Duration = Duration::from_secs(60);
/// Statistics reach the server's tables late.
const STATISTICS_DELAY: Duration = Duration::from_secs(2);

/// What one side showed.
struct Course {
    /// Delivered per second, slice by slice.
    rates: Vec<f64>,
    sent: u64,
    delivered: i64,
    dead_before: i64,
    dead_after: i64,
}

/// Our rate at the end against the beginning, and the dead row versions; then the classic design.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let own = ours(stand, time).await?;
    let classic_time = time.min(CLASSIC_TIME);
    let classic = theirs(stand, classic_time).await?;
    let slice = (time / SLICES).as_secs();
    let classic_seconds = classic_time.as_secs();
    Ok(vec![
        Line {
            what: format!(
                "old snapshot held, 5,000/s offered for {} s: last {slice} s against the first",
                time.as_secs()
            ),
            measured: own.last_rate(),
            comparison: own.first_rate(),
            value: own.ratio(),
            target: Target::AtLeast(0.9),
        },
        Line {
            what: "dead row versions meanwhile, per message".to_owned(),
            measured: own.dead(),
            comparison: format!("{} messages delivered", count(own.delivered as f64)),
            value: own.dead_per_message(),
            target: Target::AtMost(0.001),
        },
        Line {
            what: format!("the same for the classic design, {classic_seconds} s"),
            measured: classic.last_rate(),
            comparison: classic.first_rate(),
            value: classic.ratio(),
            target: Target::None,
        },
        Line {
            what: "dead row versions of the classic design, per message".to_owned(),
            measured: classic.dead(),
            comparison: format!("{} messages delivered", count(classic.delivered as f64)),
            value: classic.dead_per_message(),
            target: Target::None,
        },
    ])
}

impl Course {
    fn ratio(&self) -> f64 {
        let (first, last) = (self.rates.first(), self.rates.last());
        last.copied().unwrap_or(f64::NAN) / first.copied().unwrap_or(f64::NAN)
    }

    fn first_rate(&self) -> String {
        format!("{} at first", per_second(self.rates.first().copied().unwrap_or_default()))
    }

    fn last_rate(&self) -> String {
        let lag = self.sent as f64 - self.delivered as f64;
        let rate = per_second(self.rates.last().copied().unwrap_or_default());
        format!("{rate} at last, lag {}", count(lag))
    }

    fn dead(&self) -> String {
        format!("{} → {}", count(self.dead_before as f64), count(self.dead_after as f64))
    }

    fn dead_per_message(&self) -> f64 {
        (self.dead_after - self.dead_before) as f64 / self.delivered as f64
    }
}

async fn ours(stand: &Stand, time: Duration) -> Result<Course> {
    let database = stand.database("pinned").await?;
    database.create_discard("bench").await?;
    let _pin = pin(&database).await?;
    let dispatcher = database.ready_dispatcher().await?;
    let sql = "select postrider.send_batch($1, $2)";
    let clients = Clients::open(&database, SENDER_COUNT, Commit::Waits, sql).await?;
    let payloads = vec![Json::payload(); BATCH_SIZE];
    let parameters: [&(dyn ToSql + Sync); 2] = [&"bench", &payloads];
    let delivered = async || database.done_count(0).await;
    let course = course(&database, "postrider", &clients, &parameters, time, delivered).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    Ok(course)
}

async fn theirs(stand: &Stand, time: Duration) -> Result<Course> {
    let database = stand.database("pinned").await?;
    database.client.batch_execute(include_str!("classic.sql")).await?;
    let _pin = pin(&database).await?;
    let workers = Workers::start(&database, &Delivery::Discard);
    let sql = include_str!("classic_send_many.sql");
    let clients = Clients::open(&database, SENDER_COUNT, Commit::Waits, sql).await?;
    let payloads = vec![Json::payload(); BATCH_SIZE];
    let parameters: [&(dyn ToSql + Sync); 2] = [&1, &payloads];
    let delivered = async || Ok(workers.delivered_count());
    let course = course(&database, "classic", &clients, &parameters, time, delivered).await?;
    workers.stop()?;
    database.remove().await?;
    Ok(course)
}

/// A transaction with a snapshot and an id, as long as the client lives.
async fn pin(database: &Database<'_>) -> Result<Client> {
    let client = database.connect().await?;
    client.batch_execute(include_str!("pin.sql")).await?;
    Ok(client)
}

async fn course(
    database: &Database<'_>,
    schema: &str,
    clients: &Clients,
    parameters: &[&(dyn ToSql + Sync)],
    time: Duration,
    delivered: impl AsyncFn() -> Result<i64>,
) -> Result<Course> {
    let dead_before = database.dead_tuples(schema).await?;
    let began_at = Instant::now();
    let slices = async {
        let mut counts = vec![(Instant::now(), 0)];
        for number in 1..=SLICES {
            let ends_at = began_at + time * number / SLICES;
            tokio::time::sleep_until(ends_at.into()).await;
            counts.push((Instant::now(), delivered().await?));
        }
        Ok::<Vec<(Instant, i64)>, anyhow::Error>(counts)
    };
    let batches_per_second = (OFFERED / BATCH_SIZE) as f64;
    let (sent, counts) =
        tokio::try_join!(clients.run_paced(time, batches_per_second, parameters), slices)?;
    tokio::time::sleep(STATISTICS_DELAY).await;
    let rate = |pair: &[(Instant, i64)]| {
        (pair[1].1 - pair[0].1) as f64 / (pair[1].0 - pair[0].0).as_secs_f64()
    };
    let rates: Vec<f64> = counts.windows(2).map(rate).collect();
    eprintln!("   {}", rates.iter().map(|rate| per_second(*rate)).collect::<Vec<_>>().join(", "));
    Ok(Course {
        rates,
        sent: sent.count * BATCH_SIZE as u64,
        delivered: counts.last().map_or(0, |(_, count)| *count),
        dead_before,
        dead_after: database.dead_tuples(schema).await?,
    })
}
