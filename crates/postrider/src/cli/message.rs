//! `postrider message`

use clap::Subcommand;
use serde_json::json;
use tokio_postgres::{Client, types::ToSql};

use super::{
    Context, Failure, Output,
    input::{parse_key, parse_message, parse_object},
    job::Waiting,
    past::parse_past,
    story,
};

const RETRY_DELIVERY: &str = include_str!("../../../../sql/queries/deliveries/retry_delivery.sql");
const FAIL_DELIVERY: &str = include_str!("../../../../sql/queries/deliveries/fail_delivery.sql");
const SKIP_DELIVERY: &str = include_str!("../../../../sql/queries/deliveries/skip_delivery.sql");
const RETRY_MATCHING: &str =
    include_str!("../../../../sql/queries/deliveries/retry_matching_deliveries.sql");
const FAIL_MATCHING: &str =
    include_str!("../../../../sql/queries/deliveries/fail_matching_deliveries.sql");
const SKIP_MATCHING: &str =
    include_str!("../../../../sql/queries/deliveries/skip_matching_deliveries.sql");

const ERASE: &str = include_str!("../../../../sql/queries/deliveries/erase_messages.sql");

/// Show a message and what became of it; retry, give up, skip or erase
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  postrider message 1024
  postrider message msg_1024
  postrider message 1024 --json | jq '.deliveries[].status'
  postrider message retry 1024
  postrider message skip 1024 --endpoint orders --reason 'withdrawn'
  postrider message retry --endpoint orders --error 'HTTP 50[234]' --rate 50
  postrider message fail --ordering-key customer-7 --reason 'closed account'
  postrider message erase --ordering-key customer-7
  postrider message erase --metadata '{\"customer\": 7}' --to 2026-01-01T00:00Z"
)]
pub struct Message {
    /// The message's id, also as receivers see it: msg_1024
    #[arg(value_name = "MESSAGE", required = true, value_parser = parse_message)]
    id: Option<i64>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make due now what waits for its retry
    Retry {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        how: How,
    },
    /// Make a dead letter of what waits
    Fail {
        #[command(flatten)]
        which: Which,
        /// Why, for who looks later
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        how: How,
    },
    /// End what waits without a dead letter; the next of its ordering key goes
    Skip {
        #[command(flatten)]
        which: Which,
        /// Why, for who looks later
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        how: How,
    },
    /// Erase what was in messages, for ever; ids and what became of them stay
    Erase {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        waiting: Waiting,
    },
}

/// All messages for which all of this holds.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("whose").required(true).multiple(true)
    .args(["ordering_key", "correlation_id", "metadata"]))]
struct Whose {
    /// Messages with this ordering key
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    ordering_key: Option<String>,
    /// Messages with this correlation id
    #[arg(long, value_name = "UUID")]
    correlation_id: Option<uuid::Uuid>,
    /// Messages whose metadata contain this object
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    metadata: Option<String>,
    /// Published with this event type
    #[arg(long, value_name = "NAME")]
    event_type: Option<String>,
    /// Sent at or after this moment, such as 2026-11-21T08:00Z, 2026-11-21, yesterday or 2h
    #[arg(long, value_name = "MOMENT", value_parser = parse_past)]
    from: Option<String>,
    /// Sent before this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_past)]
    to: Option<String>,
}

/// One message, or all deliveries that wait and for which all of this holds.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Which {
    /// The message's id
    #[arg(
        value_name = "MESSAGE",
        value_parser = parse_message,
        conflicts_with_all = ["from", "to", "error", "event_type", "ordering_key", "all", "rate", "no_wait"]
    )]
    id: Option<i64>,
    /// The delivery to this endpoint, or all to it
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    endpoint: Option<String>,
    /// Of messages that were sent at or after this moment, such as 2026-11-21T08:00Z, 2026-11-21, yesterday or 2h
    #[arg(long, value_name = "MOMENT", value_parser = parse_past, conflicts_with = "all")]
    from: Option<String>,
    /// Of messages that were sent before this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_past, conflicts_with = "all")]
    to: Option<String>,
    /// Those whose last error matches this POSIX regular expression
    #[arg(long, value_name = "PATTERN", conflicts_with = "all")]
    error: Option<String>,
    /// Of messages published with this event type
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    event_type: Option<String>,
    /// Of messages with this ordering key
    #[arg(long, value_name = "KEY", conflicts_with = "all")]
    ordering_key: Option<String>,
    /// All that wait
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct How {
    /// So many deliveries a second, and not all at once
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=100_000))]
    rate: Option<i32>,
    #[command(flatten)]
    waiting: Waiting,
}

/// What deliveries are told, and how that is said.
struct Verb<'a> {
    one: &'static str,
    matching: &'static str,
    reason: Option<&'a str>,
    /// The name of the count in JSON.
    count: &'static str,
    /// What deliveries are or do from now on: one of them, and several.
    done: [&'static str; 2],
}

impl Message {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        match (&self.action, self.id) {
            (Some(action), _) => action.run(&client, context.output).await,
            (None, id) => story::show(&client, context.output, id.unwrap_or_default()).await,
        }
    }
}

impl Action {
    async fn run(&self, client: &Client, output: Output) -> Result<(), Failure> {
        let (which, how, verb) = match self {
            Self::Erase { whose, waiting } => return whose.erase(client, output, waiting).await,
            Self::Retry { which, how } => (
                which,
                how,
                Verb {
                    one: RETRY_DELIVERY,
                    matching: RETRY_MATCHING,
                    reason: None,
                    count: "retried",
                    done: ["is due now", "are due now"],
                },
            ),
            Self::Fail { which, reason, how } => (
                which,
                how,
                Verb {
                    one: FAIL_DELIVERY,
                    matching: FAIL_MATCHING,
                    reason: Some(reason),
                    count: "failed",
                    done: ["is a dead letter now", "are dead letters now"],
                },
            ),
            Self::Skip { which, reason, how } => (
                which,
                how,
                Verb {
                    one: SKIP_DELIVERY,
                    matching: SKIP_MATCHING,
                    reason: Some(reason),
                    count: "skipped",
                    done: ["is skipped", "are skipped"],
                },
            ),
        };
        match which.id {
            Some(id) => verb.tell_one(client, output, id, which.endpoint.as_deref()).await,
            None => verb.tell_matching(client, output, which, how).await,
        }
    }
}

impl Whose {
    async fn erase(
        &self,
        client: &Client,
        output: Output,
        waiting: &Waiting,
    ) -> Result<(), Failure> {
        let Self { ordering_key, correlation_id, metadata, event_type, from, to } = self;
        let correlation_id = correlation_id.map(|id| id.to_string());
        let filter: [&(dyn ToSql + Sync); 6] =
            [ordering_key, &correlation_id, metadata, event_type, from, to];
        let made = waiting.make(client, ERASE, &filter).await?;
        match waiting.wait(client, output, &made).await? {
            Some(count) => {
                let object = json!({ "erased": count, "job_id": made.id });
                let said = match count {
                    1 => "1 message is erased.".to_owned(),
                    _ => format!("{count} messages are erased."),
                };
                output.done(&object, &said);
            }
            None => output.done(&made.object(), &made.sentence()),
        }
        Ok(())
    }
}

impl Verb<'_> {
    async fn tell_one(
        &self,
        client: &Client,
        output: Output,
        id: i64,
        endpoint: Option<&str>,
    ) -> Result<(), Failure> {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&id, &endpoint];
        if let Some(reason) = &self.reason {
            parameters.push(reason);
        }
        let count: i32 = client.query_one(self.one, &parameters).await?.get(0);
        let object = json!({ "message_id": id, self.count: count });
        output.done(
            &object,
            &format!("{} of message {id} {}.", deliveries(count.into()), self.said(count.into())),
        );
        Ok(())
    }

    async fn tell_matching(
        &self,
        client: &Client,
        output: Output,
        which: &Which,
        How { rate, waiting }: &How,
    ) -> Result<(), Failure> {
        let Which { endpoint, from, to, error, event_type, ordering_key, .. } = which;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = Vec::new();
        if let Some(reason) = &self.reason {
            parameters.push(reason);
        }
        let filter: [&(dyn ToSql + Sync); 7] =
            [endpoint, from, to, error, event_type, ordering_key, rate];
        parameters.extend(filter);
        let made = waiting.make(client, self.matching, &parameters).await?;
        match waiting.wait(client, output, &made).await? {
            Some(count) => {
                let object = json!({ self.count: count, "job_id": made.id });
                output.done(&object, &format!("{} {}.", deliveries(count), self.said(count)));
            }
            None => output.done(&made.object(), &made.sentence()),
        }
        Ok(())
    }

    fn said(&self, count: i64) -> &'static str {
        self.done[usize::from(count != 1)]
    }
}

fn deliveries(count: i64) -> String {
    match count {
        1 => "1 delivery".to_owned(),
        _ => format!("{count} deliveries"),
    }
}
