//! `postrider status`

use serde_json::Value;

use super::{Context, Failure, json_rows};

const HEALTH: &str = include_str!("../../../../sql/queries/watch/health_check.sql");
const DISPATCHERS: &str = include_str!("../../../../sql/queries/watch/worker_status.sql");
const ENDPOINTS: &str = include_str!("../../../../sql/queries/endpoints/status_endpoints.sql");
const TOTALS: &str = include_str!("../../../../sql/queries/watch/status_totals.sql");

/// How many endpoints are shown.
const ENDPOINTS_MAX: i64 = 100;
/// Where counting ends.
const COUNT_MAX: i64 = 10_000;

/// Show how the service does, who delivers, and what is pending where
///
/// Nothing is counted beyond 10,000, so that asking costs the same at any backlog.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider status
  postrider status --json | jq '.endpoints[] | select(.circuit_state == \"open\")'")]
pub struct Status;

impl Status {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let mut status = client.query_one(TOTALS, &[&COUNT_MAX]).await?.get::<_, Value>(0);
        status["health"] = json_rows(&client, HEALTH, &[]).await?.into();
        status["dispatchers"] = json_rows(&client, DISPATCHERS, &[]).await?.into();
        status["endpoints"] = json_rows(&client, ENDPOINTS, &[&ENDPOINTS_MAX]).await?.into();
        context.output.report(&status, || text(context, &status));
        Ok(())
    }
}

fn text(context: &Context, status: &Value) -> String {
    let list = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let table = |rows: &[Value], columns: &[&str]| context.output.table(rows, columns);
    let mut parts = vec![format!(
        "Database \"{}\": {} endpoints ({} disabled), {} dead letters.",
        status["database"].as_str().unwrap_or_default(),
        counted(&status["endpoint_count"]),
        counted(&status["disabled_endpoint_count"]),
        counted(&status["dead_letter_count"]),
    )];
    let endpoints = list("endpoints");
    if endpoints.is_empty() {
        parts.push("Nothing is pending, and every endpoint may be sent to.".to_owned());
    } else {
        let columns = [
            "endpoint_name",
            "enabled",
            "paused",
            "circuit_state",
            "pending_messages",
            "oldest_pending_message",
            "last_success_at",
            "last_failure_at",
        ];
        parts.push(table(&endpoints, &columns));
    }
    parts.push(table(&list("health"), &["component", "status", "details"]));
    let dispatchers = list("dispatchers");
    if !dispatchers.is_empty() {
        let columns = [
            "id",
            "host",
            "pid",
            "version",
            "started_at",
            "heartbeat_at",
            "messages_processed",
            "in_flight",
            "error_count",
            "shards",
        ];
        parts.push(table(&dispatchers, &columns));
    }
    parts.join("\n\n")
}

/// A count that may have ended at its limit.
fn counted(count: &Value) -> String {
    match count.as_i64() {
        Some(COUNT_MAX) => format!("{COUNT_MAX}+"),
        _ => count.to_string(),
    }
}
