//! `postrider replay`

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::{
    Context, Failure,
    input::{parse_message, parse_object},
    json_rows_or,
    past::parse_past,
};

const REPLAY_MESSAGE: &str = include_str!("../../../../sql/queries/archive/replay_message.sql");
const REPLAY_RANGE: &str = include_str!("../../../../sql/queries/archive/replay_range.sql");
const CREATE_REPLAY: &str = include_str!("../../../../sql/queries/archive/create_replay.sql");
const CANCEL_REPLAY: &str = include_str!("../../../../sql/queries/archive/cancel_replay.sql");
const REPLAYS: &str = include_str!("../../../../sql/queries/archive/replays.sql");
const MASKED: &str = include_str!("../../../../sql/queries/archive/replays_masked.sql");

/// Send messages again that have ended, as new ones that name the old ones
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider replay message 1024
  postrider replay range orders --from 2h --to now --status failed
  postrider replay create orders --from 2030-05-01T00:00:00Z --to 2030-05-02T00:00:00Z --rate 100
  postrider replay list
  postrider replay cancel 7")]
pub struct Replay {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Send one message again, to all its endpoints that are left
    Message {
        /// The message's id
        #[arg(value_name = "MESSAGE", value_parser = parse_message)]
        id: i64,
    },
    /// Send again what an endpoint got in a range of time, all at once
    Range {
        #[command(flatten)]
        range: EndpointRange,
    },
    /// Let dispatchers send it again, step by step
    Create {
        #[command(flatten)]
        range: EndpointRange,
        /// Only messages published with this event type
        #[arg(long, value_name = "TYPE")]
        event_type: Option<String>,
        /// Only payloads that contain this JSON object
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        filter: Option<String>,
        /// How many per second at most [default: as fast as they are taken]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=100_000))]
        rate: Option<i32>,
    },
    /// Show the jobs, the newest first
    List {
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
    },
    /// End a job; what it has sent stays sent
    Cancel {
        /// The job's id
        #[arg(value_name = "REPLAY", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
}

#[derive(Debug, clap::Args)]
struct EndpointRange {
    /// The endpoint's name
    endpoint: String,
    /// Messages that were created from this time on, such as 2030-05-01T09:00:00Z, 2030-05-01, yesterday or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    from: String,
    /// Messages that were created before this time
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    to: String,
    /// Only deliveries that ended so
    #[arg(long)]
    status: Option<Status>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Completed,
    Failed,
    Expired,
    Cancelled,
    Skipped,
}

impl EndpointRange {
    fn status(&self) -> Option<&'static str> {
        self.status.map(|status| match status {
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Expired => "expired",
            Status::Cancelled => "cancelled",
            Status::Skipped => "skipped",
        })
    }
}

impl Replay {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::Message { id } => {
                let message: i64 = client.query_one(REPLAY_MESSAGE, &[id]).await?.get(0);
                let object = json!({ "message_id": message, "replay_of": id });
                output.done(&object, &format!("Message {id} is sent again as {message}."));
            }
            Action::Range { range } => {
                let status = range.status();
                let EndpointRange { endpoint, from, to, .. } = range;
                let row = client.query_opt(REPLAY_RANGE, &[endpoint, from, to, &status]).await?;
                let missing = || Failure::Failed(format!("Endpoint '{endpoint}' does not exist"));
                let count: i32 = row.ok_or_else(missing)?.get(0);
                let sentence = format!("{count} messages are sent again.");
                output.done(&json!({ "replayed": count }), &sentence);
            }
            Action::Create { range, event_type, filter, rate } => {
                let EndpointRange { endpoint, from, to, .. } = range;
                let status = range.status();
                let row = client
                    .query_one(
                        CREATE_REPLAY,
                        &[endpoint, from, to, &status, event_type, filter, rate],
                    )
                    .await?;
                let id: i64 = row.get(0);
                let sentence = format!("Replay {id} is created; dispatchers do it.");
                output.done(&json!({ "replay_id": id }), &sentence);
            }
            Action::List { limit } => {
                let rows = json_rows_or(&client, [REPLAYS, MASKED], &[limit]).await?;
                let columns = [
                    "id",
                    "endpoint_name",
                    "state",
                    "from_ts",
                    "to_ts",
                    "rate",
                    "replayed_count",
                    "progress",
                    "last_error",
                ];
                output.list(&rows, &columns, "There are no replays.");
            }
            Action::Cancel { id } => {
                let is_cancelled: bool = client.query_one(CANCEL_REPLAY, &[id]).await?.get(0);
                let sentence = if is_cancelled {
                    format!("Replay {id} is cancelled.")
                } else {
                    format!("Replay {id} was over already.")
                };
                output.done(&json!({ "replay_id": id, "cancelled": is_cancelled }), &sentence);
            }
        }
        Ok(())
    }
}
