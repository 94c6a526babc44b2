//! `postrider publish`

use serde_json::json;

use super::{Context, Failure, batch::Batch, input::read_payload, message_options::MessageOptions};

const PUBLISH_EVENT: &str = include_str!("../../../../sql/queries/produce/publish_event.sql");
const PUBLISH_EVENTS: &str = include_str!("../../../../sql/queries/produce/publish_events.sql");

/// Send a message to all endpoints that subscribe to an event type
///
/// Applications do the same in SQL, inside their own transactions: select
/// postrider.publish('order.paid', '{"order": 1}').
///
/// Each line of a batch is an object with `event_type`, `payload`, and any of `priority`,
/// `scheduled_at`, `expires_at`, `ordering_key`, `idempotency_key`, `correlation_id`, `headers`,
/// `metadata`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider publish order.paid '{\"order\": 1}'
  echo '{\"order\": 1}' | postrider publish order.paid -
  postrider publish order.paid '{\"order\": 1}' --key order-1 --idempotency-key paid-1
  echo '{\"event_type\": \"order.paid\", \"payload\": {\"order\": 1}}' | postrider publish --batch -")]
pub struct Publish {
    /// The event type's name
    #[arg(required_unless_present = "batch")]
    event_type: Option<String>,
    /// The payload, as JSON; `-` reads it from standard input
    #[arg(required_unless_present = "batch")]
    payload: Option<String>,
    /// 0 to 10, higher ones first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i16).range(0..=10))]
    priority: i16,
    #[command(flatten)]
    options: MessageOptions,
    /// Publish every line of this file as an event, in one transaction; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["event_type", "payload", "priority", "MessageOptions"])]
    batch: Option<String>,
}

impl Publish {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        match &self.batch {
            Some(file) => run_batch(context, file).await,
            None => self.run_single(context).await,
        }
    }

    async fn run_single(&self, context: &Context) -> Result<(), Failure> {
        let event_type = self.event_type.as_deref().unwrap_or_default();
        let options = self.options.parameters(self.priority)?;
        let payload = read_payload(self.payload.as_deref())?;
        let parameters = options.after(&[&event_type, &payload]);
        let row = context.connect().await?.client.query_one(PUBLISH_EVENT, &parameters).await?;
        let id: i64 = row.get(0);
        let sentence = format!("Message {id} is committed for event type {event_type}.");
        context.output.done(&json!({ "id": id }), &sentence);
        Ok(())
    }
}

async fn run_batch(context: &Context, file: &str) -> Result<(), Failure> {
    let mut batch = Batch::open(file)?;
    let mut client = context.connect().await?.client;
    let transaction = client.transaction().await?;
    let mut ids: Vec<i64> = Vec::new();
    loop {
        let chunk = batch.next_chunk()?;
        // Every line is a JSON value of its own, so this is an array of them and nothing else.
        let events = format!("[{}]", chunk.lines.join(","));
        let row = transaction.query_one(PUBLISH_EVENTS, &[&events]).await;
        let row = row.map_err(|error| batch.placed(&chunk, error.into()))?;
        ids.extend(row.get::<_, Vec<i64>>(0));
        if chunk.is_last {
            break;
        }
    }
    transaction.commit().await?;
    let count = ids.len();
    let sentence = format!("{count} events are committed.");
    context.output.done(&json!({ "count": count, "ids": ids }), &sentence);
    Ok(())
}
