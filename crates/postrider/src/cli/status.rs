//! `postrider status`

use serde_json::{Value, json};

use super::{Context, Failure, json_rows};

const DISPATCHERS: &str = include_str!("../../../../sql/queries/status_dispatchers.sql");
const SHARDS: &str = include_str!("../../../../sql/queries/status_shards.sql");
const WAITING: &str = include_str!("../../../../sql/queries/status_waiting.sql");
const TOTALS: &str = include_str!("../../../../sql/queries/status_totals.sql");

/// How many endpoints with waiting deliveries are shown.
const ENDPOINTS_MAX: i64 = 100;
/// Where counting ends.
const COUNT_MAX: i64 = 10_000;

/// Show who delivers, what waits, and what stands in the way
///
/// Counts end at 10,000, so that asking costs the same at any backlog.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider status
  postrider status --json | jq '.shards[] | select(.owner == null)'")]
pub struct Status;

impl Status {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let dispatchers = json_rows(&client, DISPATCHERS, &[]).await?;
        let shards = json_rows(&client, SHARDS, &[]).await?;
        let waiting = json_rows(&client, WAITING, &[&ENDPOINTS_MAX, &COUNT_MAX]).await?;
        let mut status = client.query_one(TOTALS, &[&COUNT_MAX]).await?.get::<_, Value>(0);
        status["dispatchers"] = dispatchers.into();
        status["shards"] = shards.into();
        status["waiting"] = waiting.into();
        status["count_limit"] = json!(COUNT_MAX);
        context.output.report(&status, || text(context, &status));
        Ok(())
    }
}

fn text(context: &Context, status: &Value) -> String {
    let list = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let (dispatchers, shards, mut waiting) = (list("dispatchers"), list("shards"), list("waiting"));
    let alive: Vec<&Value> =
        dispatchers.iter().filter(|dispatcher| dispatcher["is_alive"] == true).collect();
    let is_owned = |shard: &&Value| alive.iter().any(|owner| owner["id"] == shard["owner"]);
    let owned_count = shards.iter().filter(is_owned).count();

    let mut parts = vec![format!(
        "Database \"{}\": {} endpoints ({} disabled), {} dead letters.",
        status["database"].as_str().unwrap_or_default(),
        counted(&status["endpoints"]),
        counted(&status["disabled_endpoints"]),
        counted(&status["dead_letters"]),
    )];
    parts.push(match &status["oldest_transaction"] {
        Value::Null => "No other transaction is open.".to_owned(),
        oldest => format!(
            "The oldest open transaction is {} s old ({}, pid {}, {}).",
            oldest["age_seconds"], oldest["kind"], oldest["pid"], oldest["name"]
        ),
    });
    parts.push(format!("{owned_count} of {} shards have a live dispatcher.", shards.len()));
    if dispatchers.is_empty() {
        parts.push("No dispatcher is running: start `postrider serve`.".to_owned());
    } else {
        let columns =
            ["id", "host", "pid", "version", "started_at", "heartbeat_at", "is_alive", "shards"];
        parts.push(context.output.table(&dispatchers, &columns));
    }
    if waiting.is_empty() {
        parts.push("No delivery waits for a retry.".to_owned());
    } else {
        for row in &mut waiting {
            row["waiting"] = counted(&row["waiting"]).into();
        }
        let columns = ["endpoint_name", "enabled", "waiting"];
        parts.push(context.output.table(&waiting, &columns));
    }
    parts.join("\n")
}

/// A count that may have ended at its limit.
fn counted(count: &Value) -> String {
    match count.as_i64() {
        Some(COUNT_MAX) => format!("{COUNT_MAX}+"),
        _ => count.to_string(),
    }
}
