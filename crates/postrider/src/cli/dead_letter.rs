//! `postrider dlq`

use clap::Subcommand;
use serde_json::json;
use tokio_postgres::{Client, types::ToSql};

use super::{
    Context, Failure, job::Waiting, json_rows, json_rows_or, past::parse_past, suggest::Filter,
};

const DEAD_LETTERS: &str = include_str!("../../../../sql/queries/dead_letters/dead_letters.sql");
const DEAD_LETTER: &str = include_str!("../../../../sql/queries/dead_letters/dead_letter.sql");
const DEAD_LETTER_MASKED: &str =
    include_str!("../../../../sql/queries/dead_letters/dead_letter_masked.sql");
const REDRIVE_MESSAGE: &str =
    include_str!("../../../../sql/queries/dead_letters/redrive_message.sql");
const REDRIVE_MATCHING: &str =
    include_str!("../../../../sql/queries/dead_letters/redrive_matching.sql");
const SUMMARY: &str = include_str!("../../../../sql/queries/dead_letters/dlq_summary.sql");
const CLEANUP: &str = include_str!("../../../../sql/queries/dead_letters/cleanup_dlq.sql");

/// Show dead letters, put them back, remove old ones
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider dlq list --endpoint orders
  postrider dlq show 17
  postrider dlq redrive 17
  postrider dlq redrive --endpoint orders --rate 50
  postrider dlq redrive --from yesterday --cause retries_exhausted
  postrider dlq redrive --from 2026-11-21T08:00Z --to 2026-11-21T09:30Z --error 'HTTP 50[234]'")]
pub struct DeadLetter {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show dead letters, the newest first
    List {
        /// Only those of this endpoint
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
        /// Also those that were put back
        #[arg(long)]
        redriven: bool,
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
    },
    /// Show a dead letter with its payload, or the length and type of its bytes, and all its attempts
    Show { id: i64 },
    /// Count dead letters by endpoint
    Summary,
    /// Put dead letters back: they are delivered again, with the same message id
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Redrive {
        /// The dead letter with this id
        #[arg(group = "which", conflicts_with_all = ["Matching", "all", "rate", "no_wait"])]
        id: Option<i64>,
        #[command(flatten)]
        matching: Matching,
        /// All there are
        #[arg(long, group = "which", conflicts_with = "Matching")]
        all: bool,
        /// So many deliveries a second, and not all at once
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=100_000))]
        rate: Option<i32>,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Remove those that are older than the setting dlq_retention_days, as dispatchers do by themselves
    Cleanup,
}

/// Which dead letters: those for which all of this holds.
#[derive(Debug, clap::Args)]
struct Matching {
    /// Those of this endpoint
    #[arg(long, value_name = "NAME", group = "which")]
    endpoint: Option<String>,
    /// Those that failed at or after this moment, such as 2026-11-21T08:00Z, 2026-11-21, yesterday or 2h
    #[arg(long, value_name = "MOMENT", group = "which", value_parser = parse_past)]
    from: Option<String>,
    /// Those that failed before this moment
    #[arg(long, value_name = "MOMENT", group = "which", value_parser = parse_past)]
    to: Option<String>,
    /// Those whose last error matches this POSIX regular expression
    #[arg(long, value_name = "PATTERN", group = "which")]
    error: Option<String>,
    /// Those that failed for this cause: rejected, gone, retries_exhausted, stale, operator,
    /// endpoint_dropped
    #[arg(long, value_name = "CAUSE", group = "which")]
    cause: Option<String>,
    /// Those of messages published with this event type
    #[arg(long, value_name = "NAME", group = "which")]
    event_type: Option<String>,
}

impl DeadLetter {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List { endpoint, redriven, limit } => {
                let rows = json_rows(&client, DEAD_LETTERS, &[endpoint, redriven, limit]).await?;
                if rows.is_empty() {
                    Filter::Endpoint.check(&client, endpoint.as_deref()).await?;
                }
                let columns = [
                    "id",
                    "endpoint_name",
                    "event_type",
                    "message_id",
                    "status",
                    "cause",
                    "retry_count",
                    "failed_at",
                    "last_error",
                ];
                output.list(&rows, &columns, "There are no dead letters.");
            }
            Action::Show { id } => {
                let rows = json_rows_or(&client, [DEAD_LETTER, DEAD_LETTER_MASKED], &[id]).await?;
                let missing = || Failure::Failed(format!("Dead letter {id} does not exist"));
                output.object(rows.first().ok_or_else(missing)?);
            }
            Action::Redrive { id: Some(id), .. } => {
                let message: i64 = client.query_one(REDRIVE_MESSAGE, &[id]).await?.get(0);
                let object = json!({ "redriven": 1, "message_id": message });
                output.done(&object, &format!("Message {message} will be delivered again."));
            }
            Action::Redrive { matching, rate, waiting, .. } => {
                let Matching { endpoint, from, to, error, cause, event_type } = matching;
                let parameters: [&(dyn ToSql + Sync); 7] =
                    [endpoint, from, to, error, cause, event_type, rate];
                let made = waiting.make(&client, REDRIVE_MATCHING, &parameters).await?;
                match waiting.wait(&client, output, &made).await? {
                    Some(count) => {
                        let sentence = format!("{count} messages will be delivered again.");
                        output.done(&json!({ "redriven": count, "job_id": made.id }), &sentence);
                    }
                    None => output.done(&made.object(), &made.sentence()),
                }
            }
            Action::Summary => {
                let rows = json_rows(&client, SUMMARY, &[]).await?;
                let columns = [
                    "endpoint_name",
                    "failed_count",
                    "redriven_count",
                    "oldest_failed_at",
                    "newest_failed_at",
                ];
                output.list(&rows, &columns, "There are no dead letters.");
            }
            Action::Cleanup => {
                let count = cleanup(&client).await?;
                let sentence = format!("{count} dead letters were removed.");
                output.done(&json!({ "removed": count }), &sentence);
            }
        }
        Ok(())
    }
}

/// Until there is nothing to remove: a call removes a bounded number.
async fn cleanup(client: &Client) -> Result<i64, Failure> {
    let mut removed = 0;
    loop {
        let count: i32 = client.query_one(CLEANUP, &[]).await?.get(0);
        removed += i64::from(count);
        if count == 0 {
            return Ok(removed);
        }
    }
}
