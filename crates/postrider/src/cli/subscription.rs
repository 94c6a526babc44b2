//! `postrider subscription`

use clap::Subcommand;
use serde_json::json;

use super::{Context, Failure, input::parse_object, json_rows};

const SUBSCRIPTIONS: &str = include_str!("../../../../sql/queries/subscriptions.sql");
const SUBSCRIBE: &str = include_str!("../../../../sql/queries/subscribe.sql");
const UNSUBSCRIBE: &str = include_str!("../../../../sql/queries/unsubscribe.sql");
const SWITCH_SUBSCRIPTION: &str = include_str!("../../../../sql/queries/switch_subscription.sql");

/// Show, create and end what endpoints get of what is published
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider subscription create order.paid warehouse
  postrider subscription create 'order.*' audit --filter '{\"country\": \"AT\"}'
  postrider subscription list --endpoint warehouse
  postrider subscription disable 12
  postrider subscription end 12")]
pub struct Subscription {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show subscriptions
    List {
        /// Only those of this endpoint
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
        /// Also those that were ended
        #[arg(long)]
        ended: bool,
    },
    /// Let an endpoint get what is published from now on
    Create {
        /// An event type, or a pattern: order.* for all that begin with order., * for all
        event_type: String,
        /// The endpoint's name
        endpoint: String,
        /// Only payloads that contain this JSON object
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        filter: Option<String>,
        /// Make it disabled
        #[arg(long)]
        disabled: bool,
    },
    /// End a subscription for good; what was published before is still delivered
    End {
        #[arg(value_parser = clap::value_parser!(i32).range(1..))]
        id: i32,
    },
    /// Let a subscription get events again; what was published meanwhile is not for it
    Enable {
        #[arg(value_parser = clap::value_parser!(i32).range(1..))]
        id: i32,
    },
    /// Keep events away from a subscription; what was published before is still delivered
    Disable {
        #[arg(value_parser = clap::value_parser!(i32).range(1..))]
        id: i32,
    },
}

impl Subscription {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        match &self.action {
            Action::List { endpoint, ended } => list(context, endpoint.as_deref(), *ended).await,
            Action::Create { event_type, endpoint, filter, disabled } => {
                create(context, event_type, endpoint, filter.as_deref(), !disabled).await
            }
            Action::End { id } => end(context, *id).await,
            Action::Enable { id } => switch(context, *id, true).await,
            Action::Disable { id } => switch(context, *id, false).await,
        }
    }
}

async fn list(context: &Context, endpoint: Option<&str>, ended: bool) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let rows = json_rows(&client, SUBSCRIPTIONS, &[&endpoint, &ended]).await?;
    let columns = ["id", "endpoint_name", "event_type", "filter", "enabled", "ended", "created_at"];
    context.output.list(&rows, &columns, "There are no subscriptions.");
    Ok(())
}

async fn create(
    context: &Context,
    event_type: &str,
    endpoint: &str,
    filter: Option<&str>,
    is_enabled: bool,
) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let row = client.query_one(SUBSCRIBE, &[&event_type, &endpoint, &filter, &is_enabled]).await?;
    let id: i64 = row.get(0);
    let object = json!({
        "id": id, "event_type": event_type, "endpoint_name": endpoint, "enabled": is_enabled
    });
    let sentence = format!("Subscription {id} of {endpoint} to {event_type} is created.");
    context.output.done(&object, &sentence);
    Ok(())
}

async fn end(context: &Context, id: i32) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let is_new: bool = client.query_one(UNSUBSCRIBE, &[&i64::from(id)]).await?.get(0);
    let object = json!({ "id": id, "ended": true, "changed": is_new });
    context.output.done(&object, &format!("Subscription {id} is ended."));
    Ok(())
}

async fn switch(context: &Context, id: i32, is_enabled: bool) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let row = client.query_opt(SWITCH_SUBSCRIPTION, &[&i64::from(id), &is_enabled]).await?;
    let refusal = match row.as_ref().map(|row| (row.get("is_direct"), row.get("is_ended"))) {
        None => Some("does not exist"),
        Some((true, _)) => Some("stands for its endpoint: enable or disable the endpoint"),
        Some((_, true)) => Some("has ended: create another one"),
        Some((false, false)) => None,
    };
    if let Some(refusal) = refusal {
        return Err(Failure::Failed(format!("Subscription {id} {refusal}")));
    }
    let is_changed = row.is_some_and(|row| row.get("is_changed"));
    let object = json!({ "id": id, "enabled": is_enabled, "changed": is_changed });
    let state = if is_enabled { "enabled" } else { "disabled" };
    context.output.done(&object, &format!("Subscription {id} is {state}."));
    Ok(())
}
