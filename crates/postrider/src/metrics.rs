//! Metrics of the database: what each says, and how they are written for Prometheus.
//!
//! They come from `postrider.metrics()`. Those of this process are counted by the engine ([`postrider_engine::telemetry`]).

use serde_json::Value;

/// What stands before every name.
const PREFIX: &str = "postrider_";

/// What each metric of the database says.
const HELP: &[(&str, &str)] = &[
    ("broker_connected", "1 when a dispatcher that has a broker is connected to it."),
    ("build_info", "The version that last migrated the schema; always 1."),
    ("clock_offset_seconds", "How far a dispatcher's clock is ahead of the database's."),
    ("dead_letter_queue_depth", "Messages in the dead letter queue of the broker."),
    ("dead_letters_estimate", "Rows of dead letters, redriven ones included, by table statistics."),
    ("default_partition_rows", "1 when a default partition has rows, which it should not."),
    ("dispatchers", "Live dispatchers."),
    ("endpoint_circuit_failure_count", "Failed attempts in a row."),
    ("endpoint_circuit_state", "0 closed, 1 half-open, 2 open."),
    ("endpoint_enabled", "1 when the endpoint is enabled."),
    ("endpoint_last_success_timestamp_seconds", "When the endpoint last accepted something."),
    (
        "endpoint_oldest_pending_seconds",
        "Age of the oldest message that is due; 0 without any, or while paused.",
    ),
    ("endpoint_paused", "1 when the endpoint is paused, by people or because it asked for it."),
    ("endpoint_pending_messages", "Deliveries that have not ended."),
    ("errors_total", "Failed attempts of a dispatcher."),
    ("execution_dead_letters_total", "Executions nobody started in time, and other dead letters."),
    ("execution_retries_total", "Attempts of executions that failed and were retried."),
    ("executions", "Executions of a pool that have not ended, as far as they are counted."),
    ("executions_ended_total", "Executions that have ended."),
    (
        "executions_oldest_scheduled_seconds",
        "Age of the oldest scheduled execution; 0 without any.",
    ),
    ("executions_overdue", "Executions that have been scheduled for more than 5 minutes."),
    ("in_flight", "Attempts of a dispatcher that are under way."),
    (
        "log_rewinds_total",
        "Findings of dispatchers that the server had forgotten what was delivered.",
    ),
    ("messages_processed_total", "Attempts of a dispatcher that have ended."),
    ("oldest_transaction_seconds", "Age of the oldest open transaction of the cluster."),
    ("oldest_unread_seconds", "Age of the oldest message that no dispatcher has read."),
    ("partition_horizon_seconds", "How long from now on a table has partitions."),
    ("pool_capacity", "How many executions the active workers of a pool can have at a time."),
    ("pool_free_capacity", "How many more they can take."),
    ("pool_scaling_signal_seconds", "How long a pool takes to work off what waits."),
    ("queue_depth", "About how many deliveries are pending, as senders are told."),
    ("queue_limit", "How many may be (max_queue_size); 0: as many as you like."),
    ("shards", "Shards of the log."),
    ("shards_owned", "Shards that a live dispatcher reads."),
    ("unread_messages", "Deliveries that no dispatcher has read."),
    ("workers", "Workers of a pool."),
];

/// Rows of `postrider.metrics()`, in order of name, as Prometheus reads them.
pub fn exposition(rows: &[Value]) -> String {
    let mut lines = Vec::new();
    let mut last = None;
    for row in rows {
        let text = |field: &str| row[field].as_str().unwrap_or_default();
        let name = text("metric_name");
        if last != Some(name) {
            if let Some((_, help)) = HELP.iter().find(|(known, _)| *known == name) {
                lines.push(format!("# HELP {PREFIX}{name} {help}"));
            }
            lines.push(format!("# TYPE {PREFIX}{name} {}", text("metric_type")));
            last = Some(name);
        }
        lines.push(format!("{PREFIX}{name}{} {}", labels(&row["labels"]), row["metric_value"]));
    }
    lines.join("\n")
}

fn labels(labels: &Value) -> String {
    let label = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    let labels: Vec<String> = labels.as_object().into_iter().flatten().map(label).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn samples_of_one_metric_stand_together_and_labels_are_escaped() {
        let row = |name: &str, value: f64, labels: Value, kind: &str| json!({ "metric_name": name, "metric_value": value, "labels": labels, "metric_type": kind });
        let rows = [
            row("errors_total", 3.0, json!({ "dispatcher": "a", "host": "x\"\\\n" }), "counter"),
            row("errors_total", 0.5, json!({ "dispatcher": "b", "host": "y" }), "counter"),
            row("shards", 16.0, json!({}), "gauge"),
        ];
        let expected = "\
# HELP postrider_errors_total Failed attempts of a dispatcher.
# TYPE postrider_errors_total counter
postrider_errors_total{dispatcher=\"a\",host=\"x\\\"\\\\\\n\"} 3.0
postrider_errors_total{dispatcher=\"b\",host=\"y\"} 0.5
# HELP postrider_shards Shards of the log.
# TYPE postrider_shards gauge
postrider_shards 16.0";
        assert_eq!(exposition(&rows), expected);
    }
}
