//! One event for many subscribers against a message for each of them.

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::types::ToSql;

use super::clients::{Clients, Commit, Json};
use super::compare::alternate;
use super::report::{Line, Target, per_second};
use super::stand::{Database, Stand};
use super::wal;

const SUBSCRIBER_COUNT: usize = 100;
const SLICE: Duration = Duration::from_millis(1500);
const WARM_UP: Duration = Duration::from_millis(300);
/// How often an event is published for one figure of WAL, and how many figures there are.
const WAL_EVENT_COUNT: usize = 20;
const WAL_ROUNDS: usize = 3;

const PUBLISH: &str = "select postrider.publish('bench', $1)";
/// Events in one transaction, where their commit weighs little.
const EVENTS_AT_ONCE: usize = 20;

/// What else gets an event to all subscribers.
struct Other {
    name: &'static str,
    sql: &'static str,
    /// How often the statement runs for one event.
    repetition: usize,
    /// For how many events one run is, here and there.
    events: usize,
    targets: [Target; 2],
}

const OTHERS: [Other; 4] = [
    Other {
        name: "100 times `send`, each in its own transaction",
        sql: "select postrider.send('bench1', $1)",
        repetition: SUBSCRIBER_COUNT,
        events: 1,
        targets: [Target::AtLeast(20.0), Target::AtMost(0.05)],
    },
    Other {
        name: "100 times `send` in one statement",
        sql: include_str!("send_to_each.sql"),
        repetition: 1,
        events: 1,
        targets: [Target::None, Target::AtMost(0.05)],
    },
    Other {
        name: "the same, 20 events in one transaction",
        sql: include_str!("send_many_to_each.sql"),
        repetition: 1,
        events: EVENTS_AT_ONCE,
        targets: [Target::AtLeast(20.0), Target::AtMost(0.05)],
    },
    Other {
        name: "`send_batch` of 100",
        sql: include_str!("send_copies.sql"),
        repetition: 1,
        events: 1,
        targets: [Target::None, Target::None],
    },
];

/// Time and WAL of an event for 100 subscribers, by one client.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let database = stand.database("publishing").await?;
    database.client.batch_execute(include_str!("subscribers.sql")).await?;
    let payload = Json::payload();
    let parameters: [&(dyn ToSql + Sync); 1] = [&payload];
    let mut lines = Vec::new();
    for other in &OTHERS {
        lines.push(compare_time(&database, other, &parameters, time / 3).await?);
        lines.push(compare_wal(&database, other, &parameters).await?);
    }
    database.remove().await?;
    Ok(lines)
}

async fn compare_time(
    database: &Database<'_>,
    other: &Other,
    parameters: &[&(dyn ToSql + Sync)],
    time: Duration,
) -> Result<Line> {
    let ours = Clients::open(database, 1, Commit::Waits, &publish(other)).await?;
    let theirs = Clients::open(database, 1, Commit::Waits, other.sql).await?;
    ours.run(WARM_UP, parameters).await?;
    theirs.run(WARM_UP, parameters).await?;
    database.checkpoint().await?;
    let events = other.events as f64;
    let pairs = (time.as_secs_f64() / SLICE.as_secs_f64() / 2.0).ceil() as usize;
    let compared = alternate(
        pairs.max(3),
        async || Ok(ours.run(SLICE, parameters).await?.per_second() * events),
        async || {
            let per_second = theirs.run(SLICE, parameters).await?.per_second();
            Ok(per_second * events / other.repetition as f64)
        },
    )
    .await?;
    Ok(Line {
        what: "`publish` to 100 subscribers".to_owned(),
        measured: per_second(compared.ours),
        comparison: format!("{}: {}", other.name, per_second(compared.theirs)),
        value: compared.ratio,
        target: other.targets[0],
    })
}

async fn compare_wal(
    database: &Database<'_>,
    other: &Other,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Line> {
    let per_event = async |sql: &str, repetition: usize| {
        let begin = wal::begin(database).await?;
        let runs = WAL_EVENT_COUNT / other.events * repetition;
        wal::repeat(database, sql, runs, parameters).await?;
        wal::end(database, begin, WAL_EVENT_COUNT).await
    };
    let compared = alternate(
        WAL_ROUNDS,
        async || per_event(&publish(other), 1).await,
        async || per_event(other.sql, other.repetition).await,
    )
    .await?;
    Ok(Line {
        what: "WAL of `publish` to 100 subscribers".to_owned(),
        measured: format!("{:.0} bytes", compared.ours),
        comparison: format!("{}: {:.0} bytes", other.name, compared.theirs),
        value: compared.ratio,
        target: other.targets[1],
    })
}

fn publish(other: &Other) -> String {
    match other.events {
        1 => PUBLISH.to_owned(),
        events => format!("{PUBLISH} from generate_series(1, {events})"),
    }
}
