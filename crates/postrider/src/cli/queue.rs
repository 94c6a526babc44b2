//! `postrider queue`

use super::{Context, Failure, json_rows, suggest::Filter};

const QUEUE: &str = include_str!("../../../../sql/queries/deliveries/queue.sql");

/// Show what has not been delivered yet, the oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider queue
  postrider queue --endpoint orders --limit 10
  postrider queue --json | jq '.[] | select(.retry_count > 3)'")]
pub struct Queue {
    /// Only what is for this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

impl Queue {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let rows = json_rows(&client, QUEUE, &[&self.endpoint, &self.limit]).await?;
        if rows.is_empty() {
            Filter::Endpoint.check(&client, self.endpoint.as_deref()).await?;
        }
        let columns = [
            "id",
            "endpoint_name",
            "event_type",
            "status",
            "priority",
            "ordering_key",
            "scheduled_at",
            "next_retry_at",
            "retry_count",
            "last_error",
        ];
        context.output.list(&rows, &columns, "Nothing waits to be delivered.");
        Ok(())
    }
}
