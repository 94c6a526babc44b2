//! `postrider subscription`

use clap::Subcommand;
use serde_json::json;
use tokio_postgres::{Row, types::ToSql};

use super::{
    Context, Failure,
    input::{parse_object, parse_object_or_null},
    json_rows,
    suggest::Filter,
};

const SUBSCRIPTIONS: &str = include_str!("../../../../sql/queries/endpoints/subscriptions.sql");
const SUBSCRIBE: &str = include_str!("../../../../sql/queries/endpoints/subscribe.sql");
const UNSUBSCRIBE: &str = include_str!("../../../../sql/queries/endpoints/unsubscribe.sql");
const ALTER_SUBSCRIPTION: &str =
    include_str!("../../../../sql/queries/endpoints/alter_subscription.sql");
const SWITCH_SUBSCRIPTION: &str =
    include_str!("../../../../sql/queries/endpoints/switch_subscription.sql");

/// Show, create and end what endpoints get of what is published
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider subscription create order.paid warehouse
  postrider subscription create 'order.*' audit --filter '{\"country\": \"AT\"}'
  postrider subscription list --endpoint warehouse
  postrider subscription alter 12 --retry-policy '{\"minimum_delay\": 10, \"maximum_delay\": 60}'
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
        /// The retry policy of what comes by it, as JSON
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        retry_policy: Option<String>,
        /// Make it disabled
        #[arg(long)]
        disabled: bool,
    },
    /// Change a subscription's filter or retry policy
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Alter {
        #[arg(value_parser = clap::value_parser!(i32).range(1..))]
        id: i32,
        /// Only payloads that contain this JSON object; `null` for all
        #[arg(long, value_name = "JSON", group = "change", value_parser = parse_object_or_null)]
        filter: Option<String>,
        /// The retry policy of what comes by it, as JSON; `null` for none of its own
        #[arg(long, value_name = "JSON", group = "change", value_parser = parse_object_or_null)]
        retry_policy: Option<String>,
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
            Action::Create { event_type, endpoint, filter, retry_policy, disabled } => {
                let (filter, policy) = (filter.as_deref(), retry_policy.as_deref());
                create(context, event_type, endpoint, filter, policy, !disabled).await
            }
            Action::Alter { id, filter, retry_policy } => {
                alter(context, *id, filter.as_deref(), retry_policy.as_deref()).await
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
    if rows.is_empty() {
        Filter::Endpoint.check(&client, endpoint).await?;
    }
    let columns = [
        "id",
        "endpoint_name",
        "event_type",
        "filter",
        "retry_policy",
        "enabled",
        "ended",
        "created_at",
    ];
    context.output.list(&rows, &columns, "There are no subscriptions.");
    Ok(())
}

async fn create(
    context: &Context,
    event_type: &str,
    endpoint: &str,
    filter: Option<&str>,
    retry_policy: Option<&str>,
    is_enabled: bool,
) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let row = client
        .query_one(SUBSCRIBE, &[&event_type, &endpoint, &filter, &is_enabled, &retry_policy])
        .await?;
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
    refuse(id, row.as_ref(), "enable or disable the endpoint")?;
    let is_changed = row.is_some_and(|row| row.get("is_changed"));
    let object = json!({ "id": id, "enabled": is_enabled, "changed": is_changed });
    let state = if is_enabled { "enabled" } else { "disabled" };
    context.output.done(&object, &format!("Subscription {id} is {state}."));
    Ok(())
}

async fn alter(
    context: &Context,
    id: i32,
    filter: Option<&str>,
    retry_policy: Option<&str>,
) -> Result<(), Failure> {
    let client = context.connect().await?.client;
    let parameters: [&(dyn ToSql + Sync); 3] = [&i64::from(id), &filter, &retry_policy];
    let row = client.query_opt(ALTER_SUBSCRIPTION, &parameters).await?;
    refuse(id, row.as_ref(), "alter the endpoint")?;
    let object = json!({ "id": id, "altered": true });
    context.output.done(&object, &format!("Subscription {id} is altered."));
    Ok(())
}

/// Says why there is nothing to change, if there is not: `instead` helps with one that stands for its
/// endpoint.
fn refuse(id: i32, row: Option<&Row>, instead: &str) -> Result<(), Failure> {
    let refusal = match row.map(|row| (row.get("is_direct"), row.get("is_ended"))) {
        None => "does not exist".to_owned(),
        Some((true, _)) => format!("stands for its endpoint: {instead}"),
        Some((_, true)) => "has ended: create another one".to_owned(),
        Some((false, false)) => return Ok(()),
    };
    Err(Failure::Failed(format!("Subscription {id} {refusal}")))
}
