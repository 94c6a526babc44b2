//! `postrider send`

use serde_json::json;

use super::{
    Context, Failure,
    batch::Batch,
    input::{read_bytes, read_payload},
    message_options::MessageOptions,
};

const SEND_MESSAGE: &str = include_str!("../../../../sql/queries/produce/send_message.sql");
const SEND_MESSAGES: &str = include_str!("../../../../sql/queries/produce/send_messages.sql");
const SEND_BYTES: &str = include_str!("../../../../sql/queries/produce/send_bytes.sql");

/// Send messages to an endpoint
///
/// Applications do the same in SQL, inside their own transactions: select postrider.send('orders',
/// '{"order": 1}').
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider send orders '{\"order\": 1}'
  echo '{\"order\": 1}' | postrider send orders -
  postrider send orders '{\"order\": 1}' --header x-tenant=acme --expires-in 10m
  postrider send orders '{\"order\": 1}' --priority 10 --key customer-7 --delay 1h
  postrider send labels --body-file label.pdf --content-type application/pdf
  postrider send orders --batch orders.jsonl     # one payload a line, all or nothing")]
pub struct Send {
    /// The endpoint's name
    endpoint: String,
    /// The payload, as JSON; `-` reads it from standard input
    #[arg(required_unless_present_any = ["batch", "body_file"])]
    payload: Option<String>,
    /// Send the bytes of this file as they are; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "content_type", conflicts_with = "payload")]
    body_file: Option<String>,
    /// What the file's bytes are, such as image/png
    #[arg(long, value_name = "TYPE", requires = "body_file", conflicts_with = "payload")]
    content_type: Option<String>,
    /// 0 to 10, higher ones first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i16).range(0..=10))]
    priority: i16,
    #[command(flatten)]
    options: MessageOptions,
    /// Send every line of this file as a message, in one transaction; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "body_file", "content_type", "MessageOptions"])]
    batch: Option<String>,
}

impl Send {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        match &self.batch {
            Some(file) => self.run_batch(context, file).await,
            None => self.run_single(context).await,
        }
    }

    async fn run_single(&self, context: &Context) -> Result<(), Failure> {
        let parameters = self.options.parameters(self.priority)?;
        let row = match &self.body_file {
            Some(file) => {
                let body = read_bytes(file)?;
                let parameters = parameters.after(&[&self.endpoint, &body, &self.content_type]);
                context.connect().await?.client.query_one(SEND_BYTES, &parameters).await?
            }
            None => {
                let payload = read_payload(self.payload.as_deref())?;
                let parameters = parameters.after(&[&self.endpoint, &payload]);
                context.connect().await?.client.query_one(SEND_MESSAGE, &parameters).await?
            }
        };
        let id: i64 = row.get(0);
        let sentence = format!("Message {id} is committed for endpoint {}.", self.endpoint);
        context.output.done(&json!({ "id": id }), &sentence);
        Ok(())
    }

    async fn run_batch(&self, context: &Context, file: &str) -> Result<(), Failure> {
        let mut batch = Batch::open(file)?;
        let mut client = context.connect().await?.client;
        let transaction = client.transaction().await?;
        let mut ids: Vec<i64> = Vec::new();
        loop {
            let chunk = batch.next_chunk()?;
            let row = transaction
                .query_one(SEND_MESSAGES, &[&self.endpoint, &chunk.lines, &self.priority])
                .await?;
            ids.extend(row.get::<_, Vec<i64>>(0));
            if chunk.is_last {
                break;
            }
        }
        transaction.commit().await?;
        let count = ids.len();
        let sentence = format!("{count} messages are committed for endpoint {}.", self.endpoint);
        context.output.done(&json!({ "count": count, "ids": ids }), &sentence);
        Ok(())
    }
}
