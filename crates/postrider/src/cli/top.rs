//! `postrider top`

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{Context, Failure, Output, json_rows, tail::until_interrupted};

const HEALTH: &str = include_str!("../../../../sql/queries/watch/health_check.sql");
const DISPATCHERS: &str = include_str!("../../../../sql/queries/watch/worker_status.sql");
const ENDPOINTS: &str = include_str!("../../../../sql/queries/endpoints/status_endpoints.sql");

/// How many endpoints are shown, those with the most first.
const ENDPOINTS_MAX: i64 = 20;

/// Show live who delivers how much, and what is pending where
///
/// A dispatcher's figures are as old as its last sign of life. Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider top
  postrider top --interval 5
  postrider top --output jsonl --count 10 > figures")]
pub struct Top {
    /// How many seconds apart looks are
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    interval: u64,
    /// End after so many looks
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// What dispatchers had processed, and when that was.
struct Before {
    at: Instant,
    dispatchers: Vec<Value>,
}

impl Top {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        until_interrupted(self.follow(context, &client)).await
    }

    async fn follow(&self, context: &Context, client: &Client) -> Result<(), Failure> {
        let mut before = None;
        let mut left = self.count.unwrap_or(u64::MAX);
        loop {
            let at = Instant::now();
            let mut dispatchers = json_rows(client, DISPATCHERS, &[]).await?;
            let health = json_rows(client, HEALTH, &[]).await?;
            let endpoints = json_rows(client, ENDPOINTS, &[&ENDPOINTS_MAX]).await?;
            add_rates(&mut dispatchers, before.as_ref(), at);
            let object = json!({
                "dispatchers": dispatchers, "endpoints": endpoints, "health": health
            });
            let output = context.output.again();
            output.report(&object, || text(output, &object));
            before = Some(Before { at, dispatchers });
            left -= 1;
            if left == 0 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(self.interval)).await;
        }
    }
}

/// How many messages each has processed a second since the last look.
fn add_rates(dispatchers: &mut [Value], before: Option<&Before>, now: Instant) {
    let Some(before) = before else { return };
    let seconds = now.duration_since(before.at).as_secs_f64();
    for row in dispatchers {
        let former = before.dispatchers.iter().find(|former| former["id"] == row["id"]);
        let then = former.and_then(|former| former["messages_processed"].as_i64());
        if let (Some(then), Some(now)) = (then, row["messages_processed"].as_i64())
            && seconds > 0.0
        {
            row["per_second"] = ((now - then).max(0) as f64 / seconds).round().into();
        }
    }
}

fn text(output: Output, object: &Value) -> String {
    let rows = |name: &str| object[name].as_array().cloned().unwrap_or_default();
    let table = |rows: &[Value], columns: &[&str], nothing: &str| match rows.is_empty() {
        true => nothing.to_owned(),
        false => output.table(rows, columns),
    };
    let unwell: Vec<Value> =
        rows("health").into_iter().filter(|row| row["status"] != "healthy").collect();
    let of_dispatchers = [
        "host",
        "pid",
        "per_second",
        "in_flight",
        "messages_processed",
        "error_count",
        "heartbeat_at",
    ];
    let of_endpoints = [
        "endpoint_name",
        "pending_messages",
        "oldest_pending_message",
        "circuit_state",
        "enabled",
        "paused",
    ];
    [
        table(&rows("dispatchers"), &of_dispatchers, "No dispatcher is running."),
        table(&rows("endpoints"), &of_endpoints, "Nothing is pending."),
        table(&unwell, &["component", "status", "details"], "All is healthy."),
    ]
    .join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_same_dispatcher() {
        let row = |id: i64, count: i64| json!({"id": id, "messages_processed": count});
        let start = Instant::now();
        let before = Before { at: start, dispatchers: vec![row(1, 100), row(2, 900)] };
        let mut now = [row(1, 300), row(2, 0), row(3, 50)];
        add_rates(&mut now, Some(&before), start + Duration::from_secs(2));
        let rates: Vec<_> = now.iter().map(|row| row["per_second"].as_f64()).collect();
        assert_eq!(rates, [Some(100.0), Some(0.0), None]);
        let mut first = [row(1, 300)];
        add_rates(&mut first, None, start);
        assert_eq!(first[0].get("per_second"), None);
    }
}
