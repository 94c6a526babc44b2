//! `postrider consumer`

use clap::{Subcommand, ValueEnum};
use serde_json::json;
use tokio_postgres::{Client, Statement};

use super::{
    Context, Failure,
    input::{parse_object, parse_start},
    json_rows, json_rows_or,
    output::Output,
    suggest::{CONSUMER_NAMES, did_you_mean},
    tail::{PAGE_SIZE, PAUSE, pin_plans, show_message, until_interrupted},
};

const CREATE_CONSUMER: &str = include_str!("../../../../sql/queries/consume/create_consumer.sql");
const CONSUMERS: &str = include_str!("../../../../sql/queries/consume/consumers.sql");
const RESET_CONSUMER: &str = include_str!("../../../../sql/queries/consume/reset_consumer.sql");
const DROP_CONSUMER: &str = include_str!("../../../../sql/queries/consume/drop_consumer.sql");
const PEEK_MESSAGES: &str = include_str!("../../../../sql/queries/consume/peek_messages.sql");
const TICK: &str = include_str!("../../../../sql/queries/consume/make_tick.sql");
const PARKED_MESSAGES: &str = include_str!("../../../../sql/queries/consume/parked_messages.sql");
const MASKED_PARKED: &str =
    include_str!("../../../../sql/queries/consume/parked_messages_masked.sql");
const RESOLVE_PARKED: &str =
    include_str!("../../../../sql/queries/consume/resolve_parked_message.sql");

/// How many messages `tail` shows that does not follow.
const SHOWN_MESSAGES: i64 = 50;

/// Create, watch, move and drop named readers of the log
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider consumer create projection
  postrider consumer create billing --event-type 'order.*' --start now --partitions 4
  postrider consumer list
  postrider consumer tail projection --follow
  postrider consumer reset projection --start 2030-05-01T09:00:00Z
  postrider consumer parked projection
  postrider consumer resolve 7
  postrider consumer drop projection")]
pub struct Consumer {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a consumer
    Create {
        /// 1 to 50 letters, digits, _ . : or -
        name: String,
        /// Only messages of this event type, or of a pattern such as order.*; can be given more than
        /// once [default: everything, what is sent to endpoints too]
        #[arg(long, value_name = "TYPE")]
        event_type: Vec<String>,
        /// Only payloads that contain this JSON object
        #[arg(long, value_name = "JSON", value_parser = parse_object)]
        filter: Option<String>,
        /// beginning, now, a time such as 2030-05-01T09:00:00Z, or a message's id
        #[arg(long, value_name = "START", default_value = "beginning", value_parser = parse_start)]
        start: String,
        /// In which order it gets messages
        #[arg(long, default_value = "commit")]
        ordering: Ordering,
        /// How many processes can read it at a time
        #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=64))]
        partitions: i32,
    },
    /// Show consumers and how far they are
    List,
    /// Show what a consumer gets next, without taking it
    ///
    /// Neither moves the consumer nor keeps others from reading it. What a process has in hand is shown
    /// until it is acknowledged.
    Tail {
        /// The consumer's name
        name: String,
        /// How many at most [default: 50; with --follow, no end]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i64).range(1..))]
        limit: Option<i64>,
        /// Go on with what comes, until Ctrl-C
        #[arg(long)]
        follow: bool,
    },
    /// Let a consumer go on from another place; what it has parked stays
    Reset {
        /// The consumer's name
        name: String,
        /// beginning, now, a time such as 2030-05-01T09:00:00Z, or a message's id
        #[arg(long, value_name = "START", value_parser = parse_start)]
        start: String,
    },
    /// Remove a consumer, and what it has parked
    Drop {
        /// The consumer's name
        name: String,
    },
    /// Show the messages that consumers could not process and have passed, the newest first
    Parked {
        /// Only those of this consumer
        name: Option<String>,
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
    },
    /// Remove a parked message that has been dealt with
    Resolve {
        /// Its id, as `parked` shows it
        #[arg(value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ordering {
    /// As it was committed; nothing stalls it
    Commit,
    /// By transaction id; any transaction that is open anywhere holds it up
    Transaction,
}

impl Ordering {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Transaction => "transaction",
        }
    }
}

impl Consumer {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::Create { name, event_type, filter, start, ordering, partitions } => {
                let types = (!event_type.is_empty()).then_some(event_type);
                let ordering = ordering.name();
                let id: i64 = client
                    .query_one(
                        CREATE_CONSUMER,
                        &[name, &types, filter, start, &ordering, partitions],
                    )
                    .await?
                    .get(0);
                let object = json!({ "id": id, "name": name });
                output.done(&object, &format!("Consumer {name} is created."));
            }
            Action::List => list(&client, output).await?,
            Action::Tail { name, limit, follow: false } => {
                let limit = limit.unwrap_or(SHOWN_MESSAGES);
                Peek::open(&client, output, name, limit).await?.step().await?;
            }
            Action::Tail { name, limit, follow: true } => {
                let limit = limit.unwrap_or(i64::MAX);
                let peek = Peek::open(&client, output, name, limit).await?;
                until_interrupted(peek.follow()).await?;
            }
            Action::Reset { name, start } => {
                client.query_one(RESET_CONSUMER, &[name, start]).await?;
                let object = json!({ "name": name, "start": start });
                output.done(&object, &format!("Consumer {name} goes on from {start}."));
            }
            Action::Drop { name } => {
                client.query_one(DROP_CONSUMER, &[name]).await?;
                let object = json!({ "name": name, "dropped": true });
                output.done(&object, &format!("Consumer {name} is dropped."));
            }
            Action::Parked { name, limit } => {
                parked(&client, output, name.as_deref(), *limit).await?;
            }
            Action::Resolve { id } => {
                client.query_one(RESOLVE_PARKED, &[id]).await?;
                let object = json!({ "id": id, "resolved": true });
                output.done(&object, &format!("Parked message {id} is resolved."));
            }
        }
        Ok(())
    }
}

async fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let rows = json_rows(client, CONSUMERS, &[]).await?;
    let columns = [
        "name",
        "ordering",
        "partition",
        "position",
        "lag_messages",
        "lag_seconds",
        "last_fetched_at",
        "holder_pid",
        "parked_count",
        "waits_for_pid",
    ];
    output.list(&rows, &columns, "There are no consumers.");
    Ok(())
}

async fn parked(
    client: &Client,
    output: Output,
    consumer: Option<&str>,
    limit: i64,
) -> Result<(), Failure> {
    let rows = json_rows_or(client, [PARKED_MESSAGES, MASKED_PARKED], &[&consumer, &limit]).await?;
    if let Some(name) = consumer
        && rows.is_empty()
    {
        let known = client.query(CONSUMER_NAMES, &[]).await?;
        if known.iter().all(|row| row.get::<_, &str>(0) != name) {
            let hint = did_you_mean(client, CONSUMER_NAMES, name).await?;
            return Err(Failure::Failed(format!("Consumer '{name}' does not exist{hint}")));
        }
    }
    let columns = [
        "id",
        "consumer_name",
        "position",
        "message_id",
        "message_type",
        "ordering_key",
        "attempt_count",
        "last_error",
        "parked_at",
    ];
    output.list(&rows, &columns, "Nothing is parked.");
    Ok(())
}

/// Shows what a consumer gets next, from where it is or from where we are.
struct Peek<'a> {
    client: &'a Client,
    output: Output,
    statement: Statement,
    consumer: &'a str,
    left: i64,
    /// Behind this tick or this transaction, and this message of it.
    tick: Option<i64>,
    transaction: Option<String>,
    message: Option<i64>,
}

impl<'a> Peek<'a> {
    async fn open(
        client: &'a Client,
        output: Output,
        consumer: &'a str,
        left: i64,
    ) -> Result<Self, Failure> {
        pin_plans(client).await?;
        let statement = client.prepare(PEEK_MESSAGES).await?;
        let (tick, transaction, message) = (None, None, None);
        Ok(Self { client, output, statement, consumer, left, tick, transaction, message })
    }

    async fn follow(mut self) -> Result<(), Failure> {
        loop {
            self.step().await?;
            if self.left == 0 {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Shows all that there is, or as much as is left to show.
    async fn step(&mut self) -> Result<(), Failure> {
        // What was committed is readable once a tick was made.
        self.client.query_one(TICK, &[]).await?;
        while self.left > 0 {
            let size = i32::try_from(self.left.min(PAGE_SIZE)).unwrap_or(i32::MAX);
            let rows = self
                .client
                .query(
                    &self.statement,
                    &[&self.consumer, &size, &self.tick, &self.transaction, &self.message],
                )
                .await?;
            let Some((end, messages)) = rows.split_first() else { break };
            messages.iter().for_each(|row| show_message(self.output, row));
            self.left -= messages.len() as i64;
            let is_full = messages.len() as i64 == i64::from(size);
            let place = messages.last().filter(|_| is_full).unwrap_or(end);
            self.tick = place.get("tick");
            self.transaction = place.get("transaction_id");
            // At the end: behind all of the last tick, or of the last transaction that is surely over.
            self.message = place.get("id");
            if !is_full {
                break;
            }
        }
        Ok(())
    }
}
