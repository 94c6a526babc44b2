//! `postrider metrics`

use serde_json::Value;

use super::{Context, Failure, json_rows};
use crate::metrics;

const METRICS: &str = include_str!("../../../../sql/queries/watch/metrics.sql");

/// Print the metrics, in the text format of Prometheus
///
/// For a textfile collector or a script; with --json the rows of postrider.metrics().
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider metrics > /var/lib/node_exporter/postrider.prom
  postrider metrics --json | jq '.[] | select(.metric_name == \"queue_depth\")'")]
pub struct Metrics;

impl Metrics {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let rows = json_rows(&client, METRICS, &[]).await?;
        context.output.report(&Value::from(rows.as_slice()), || metrics::exposition(&rows));
        Ok(())
    }
}
