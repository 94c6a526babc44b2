//! `postrider cancel`

use serde_json::json;

use super::{Context, Failure, input::parse_message};

const CANCEL_MESSAGE: &str = include_str!("../../../../sql/queries/produce/cancel_message.sql");

/// Take back a message, as far as it has not been attempted
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider cancel 1024
  postrider cancel 1024 --json | jq .cancelled")]
pub struct Cancel {
    /// The message's id
    #[arg(value_name = "MESSAGE", value_parser = parse_message)]
    id: i64,
}

impl Cancel {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let Self { id } = self;
        let client = context.connect().await?.client;
        let is_cancelled: bool = client.query_one(CANCEL_MESSAGE, &[id]).await?.get(0);
        let sentence = if is_cancelled {
            format!("Message {id} is cancelled wherever it had not been attempted.")
        } else {
            format!(
                "Nothing was cancelled: message {id} has been attempted or has ended, or it does not exist."
            )
        };
        let object = json!({ "message_id": id, "cancelled": is_cancelled });
        context.output.done(&object, &sentence);
        Ok(())
    }
}
