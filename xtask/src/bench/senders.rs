//! Four senders of single messages at full speed, and their delivery at the same time.

use std::time::Duration;

use anyhow::Result;
use tokio_postgres::types::ToSql;

use super::classic::{Delivery, Workers};
use super::clients::{Clients, Commit, Json};
use super::compare::{alternate, median};
use super::http;
use super::report::{Line, Target, count, per_second};
use super::stand::{Stand, stop};

const SENDER_COUNT: usize = 4;
const ROUNDS: usize = 3;
const WARM_UP: Duration = Duration::from_secs(1);

/// What a slice showed.
struct Slice {
    sent_per_second: f64,
    delivered_per_second: f64,
    /// Sent and not delivered at the end.
    lag: f64,
}

/// Nothing to do for the transport, and HTTP on loopback.
pub async fn measure(stand: &Stand, time: Duration) -> Result<Vec<Line>> {
    let slice_time = time / (2 * ROUNDS as u32);
    let receiver = http::receiver()?;
    let mut lines = Vec::new();
    for delivery in [Delivery::Discard, Delivery::Http(receiver.url())] {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        let compared = alternate(
            ROUNDS,
            async || {
                receiver.clear();
                own.push(ours(stand, &delivery, slice_time).await?);
                Ok(own.last().map_or(f64::NAN, |slice| slice.delivered_per_second))
            },
            async || {
                receiver.clear();
                other.push(theirs(stand, &delivery, slice_time).await?);
                Ok(other.last().map_or(f64::NAN, |slice| slice.delivered_per_second))
            },
        )
        .await?;
        let over = match delivery {
            Delivery::Discard => "accepted at once",
            Delivery::Http(_) => "over HTTP",
        };
        lines.push(Line {
            what: format!("end to end, 4 senders of single messages, {over}"),
            measured: describe(&own),
            comparison: format!("classic design: {}", describe(&other)),
            value: compared.ratio,
            target: Target::Above(1.0),
        });
    }
    Ok(lines)
}

fn describe(slices: &[Slice]) -> String {
    let of = |value: fn(&Slice) -> f64| median(slices.iter().map(value).collect());
    format!(
        "{} delivered, {} sent, lag {}",
        per_second(of(|slice| slice.delivered_per_second)),
        per_second(of(|slice| slice.sent_per_second)),
        count(of(|slice| slice.lag)),
    )
}

async fn ours(stand: &Stand, delivery: &Delivery, time: Duration) -> Result<Slice> {
    let database = stand.database("senders").await?;
    match delivery {
        Delivery::Discard => database.create_discard("bench").await?,
        Delivery::Http(url) => database.create_http("bench", url).await?,
    }
    let dispatcher = database.ready_dispatcher().await?;
    let sql = "select postrider.send($1, $2)";
    let clients = Clients::open(&database, SENDER_COUNT, Commit::Waits, sql).await?;
    let payload = Json::payload();
    let parameters: [&(dyn ToSql + Sync); 2] = [&"bench", &payload];
    let warmed_up = clients.run(WARM_UP, &parameters).await?;
    let before = database.done_count(0).await?;
    let sent = clients.run(time, &parameters).await?;
    let after = database.done_count(0).await?;
    stop(dispatcher).await?;
    database.remove().await?;
    Ok(Slice {
        sent_per_second: sent.per_second(),
        delivered_per_second: (after - before) as f64 / sent.time.as_secs_f64(),
        lag: (warmed_up.count + sent.count) as f64 - after as f64,
    })
}

async fn theirs(stand: &Stand, delivery: &Delivery, time: Duration) -> Result<Slice> {
    let database = stand.database("classic").await?;
    database.client.batch_execute(include_str!("classic.sql")).await?;
    let workers = Workers::start(&database, delivery);
    let sql = include_str!("classic_send.sql");
    let clients = Clients::open(&database, SENDER_COUNT, Commit::Waits, sql).await?;
    let payload = Json::payload();
    let parameters: [&(dyn ToSql + Sync); 2] = [&1, &payload];
    let warmed_up = clients.run(WARM_UP, &parameters).await?;
    let before = workers.delivered_count();
    let sent = clients.run(time, &parameters).await?;
    let after = workers.delivered_count();
    workers.stop()?;
    database.remove().await?;
    Ok(Slice {
        sent_per_second: sent.per_second(),
        delivered_per_second: (after - before) as f64 / sent.time.as_secs_f64(),
        lag: (warmed_up.count + sent.count) as f64 - after as f64,
    })
}
