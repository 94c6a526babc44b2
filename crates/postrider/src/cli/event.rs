//! `postrider events`

use super::{Context, Failure, json_rows, past::parse_since, suggest::Filter};

const EVENTS: &str = include_str!("../../../../sql/queries/watch/events.sql");

/// Show what has happened: changes of endpoints and settings, takeovers and the like, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider events --since 1h
  postrider events --endpoint orders --json | jq '.[].event'")]
pub struct Events {
    /// Only what is about this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Only what has happened since this moment, such as 30m, 2d, yesterday or 2026-11-21
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<f64>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

impl Events {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&self.endpoint, &self.since, &self.limit];
        let rows = json_rows(&client, EVENTS, &parameters).await?;
        if rows.is_empty() {
            Filter::Endpoint.check(&client, self.endpoint.as_deref()).await?;
        }
        context.output.list(&rows, &["at", "event", "endpoint_name", "details"], "No such events.");
        Ok(())
    }
}
