//! `postrider event-type`

use clap::Subcommand;
use serde_json::json;

use super::{
    Context, Failure,
    input::{parse_json, parse_object, parse_object_or_null},
    json_rows,
};

const EVENT_TYPES: &str = include_str!("../../../../sql/queries/endpoints/event_types.sql");
const CREATE_EVENT_TYPE: &str =
    include_str!("../../../../sql/queries/endpoints/create_event_type.sql");
const ALTER_EVENT_TYPE: &str =
    include_str!("../../../../sql/queries/endpoints/alter_event_type.sql");
const DROP_EVENT_TYPE: &str = include_str!("../../../../sql/queries/endpoints/drop_event_type.sql");

/// Show, create and drop the names under which events are published
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider event-type create order.paid --description 'the money has arrived'
  postrider event-type alter order.paid --retry-policy '{\"maximum_delay\": 60}'
  postrider event-type list
  postrider event-type drop order.paid")]
pub struct EventType {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all event types
    List,
    /// Make an event type
    Create {
        /// Parts of letters, digits, _ or -, with dots between them
        name: String,
        /// What it means, for people
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// A JSON Schema of its payloads, for people and tools; nothing is checked against it
        #[arg(long, value_name = "JSON", value_parser = parse_json)]
        schema: Option<String>,
        /// A JSON object of yours
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        metadata: Option<String>,
        /// The retry policy of its events, as JSON: the entry _retry_policy of the metadata
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        retry_policy: Option<String>,
    },
    /// Change an event type; what is not mentioned stays
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Alter {
        name: String,
        /// What it means, for people; an empty text for nothing
        #[arg(long, value_name = "TEXT", group = "change")]
        description: Option<String>,
        /// A JSON Schema of its payloads; `null` for none
        #[arg(long, value_name = "JSON", group = "change", value_parser = parse_json)]
        schema: Option<String>,
        /// A JSON object instead of the one that is there, retry policy included; `null` for none
        #[arg(long, value_name = "JSON", group = "change", value_parser = parse_object_or_null)]
        metadata: Option<String>,
        /// The retry policy of its events, as JSON; `null` for none of its own
        #[arg(long, value_name = "JSON", group = "change", value_parser = parse_object_or_null)]
        retry_policy: Option<String>,
    },
    /// Remove an event type; what was published before is still delivered
    Drop { name: String },
}

impl EventType {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List => {
                let rows = json_rows(&client, EVENT_TYPES, &[]).await?;
                let columns = ["name", "description", "created_at"];
                output.list(&rows, &columns, "There are no event types.");
            }
            Action::Create { name, description, schema, metadata, retry_policy } => {
                let row = client
                    .query_one(
                        CREATE_EVENT_TYPE,
                        &[name, description, schema, metadata, retry_policy],
                    )
                    .await?;
                let object = json!({ "id": row.get::<_, i64>(0), "name": name });
                output.done(&object, &format!("Event type {name} is created."));
            }
            Action::Alter { name, description, schema, metadata, retry_policy } => {
                let count = client
                    .execute(ALTER_EVENT_TYPE, &[name, description, schema, metadata, retry_policy])
                    .await?;
                if count == 0 {
                    let text = format!("Event type '{name}' does not exist");
                    return Err(Failure::Failed(text));
                }
                let object = json!({ "name": name, "altered": true });
                output.done(&object, &format!("Event type {name} is altered."));
            }
            Action::Drop { name } => {
                client.query_one(DROP_EVENT_TYPE, &[name]).await?;
                let object = json!({ "name": name, "dropped": true });
                output.done(&object, &format!("Event type {name} is dropped."));
            }
        }
        Ok(())
    }
}
