//! `postrider message`

use super::{Context, Failure, json_rows};

const MESSAGE_STATUS: &str = include_str!("../../../../sql/queries/message_status.sql");

/// Show what became of a message, for each endpoint it is for
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider message 1024
  postrider message 1024 --json | jq '.[].status'")]
pub struct Message {
    /// The message's id
    #[arg(value_name = "MESSAGE", value_parser = clap::value_parser!(i64).range(1..))]
    id: i64,
}

impl Message {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let Self { id } = self;
        let client = context.connect().await?.client;
        let rows = json_rows(&client, MESSAGE_STATUS, &[id]).await?;
        if rows.is_empty() {
            let text = format!("Message {id} is for no endpoint, or does not exist (any more)");
            return Err(Failure::Failed(text));
        }
        let columns = [
            "endpoint_name",
            "status",
            "retry_count",
            "next_retry_at",
            "completed_at",
            "last_error",
        ];
        context.output.list(&rows, &columns, "");
        Ok(())
    }
}
