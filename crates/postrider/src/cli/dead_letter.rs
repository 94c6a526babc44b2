//! `postrider dlq`

use clap::Subcommand;
use serde_json::json;

use super::{Context, Failure, json_rows};

const DEAD_LETTERS: &str = include_str!("../../../../sql/queries/dead_letters.sql");
const DEAD_LETTER: &str = include_str!("../../../../sql/queries/dead_letter.sql");
const REDRIVE_MESSAGE: &str = include_str!("../../../../sql/queries/redrive_message.sql");
const REDRIVE_ENDPOINT: &str = include_str!("../../../../sql/queries/redrive_endpoint.sql");
const REDRIVE_ALL: &str = include_str!("../../../../sql/queries/redrive_all.sql");

/// Show dead letters and put them back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider dlq list --endpoint orders
  postrider dlq show 17
  postrider dlq redrive 17
  postrider dlq redrive --endpoint orders")]
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
    /// Put dead letters back: they are delivered again, with the same message id
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Redrive {
        /// The dead letter with this id
        #[arg(group = "which")]
        id: Option<i64>,
        /// All of this endpoint
        #[arg(long, value_name = "NAME", group = "which")]
        endpoint: Option<String>,
        /// All there are
        #[arg(long, group = "which")]
        all: bool,
    },
}

impl DeadLetter {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List { endpoint, redriven, limit } => {
                let rows = json_rows(&client, DEAD_LETTERS, &[endpoint, redriven, limit]).await?;
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
                let rows = json_rows(&client, DEAD_LETTER, &[id]).await?;
                let missing = || Failure::Failed(format!("Dead letter {id} does not exist"));
                output.object(rows.first().ok_or_else(missing)?);
            }
            Action::Redrive { id: Some(id), .. } => {
                let message: i64 = client.query_one(REDRIVE_MESSAGE, &[id]).await?.get(0);
                let object = json!({ "redriven": 1, "message_id": message });
                output.done(&object, &format!("Message {message} will be delivered again."));
            }
            Action::Redrive { endpoint, .. } => {
                let row = match endpoint {
                    Some(endpoint) => client.query_one(REDRIVE_ENDPOINT, &[endpoint]).await?,
                    None => client.query_one(REDRIVE_ALL, &[]).await?,
                };
                let count: i32 = row.get(0);
                let sentence = format!("{count} messages will be delivered again.");
                output.done(&json!({ "redriven": count }), &sentence);
            }
        }
        Ok(())
    }
}
