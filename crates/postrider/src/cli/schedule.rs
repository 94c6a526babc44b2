//! `postrider schedule`

use clap::{Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use tokio_postgres::Client;

use super::{
    Context, Failure,
    input::{parse_header, parse_json, parse_key, parse_object, parse_seconds},
    json_rows_or,
    output::Output,
    suggest::{SCHEDULE_NAMES, explain},
};

const CREATE: &str = include_str!("../../../../sql/queries/schedules/create_schedule.sql");
const ALTER: &str = include_str!("../../../../sql/queries/schedules/alter_schedule.sql");
const PAUSE: &str = include_str!("../../../../sql/queries/schedules/pause_schedule.sql");
const RESUME: &str = include_str!("../../../../sql/queries/schedules/resume_schedule.sql");
const DROP: &str = include_str!("../../../../sql/queries/schedules/drop_schedule.sql");
const NEXT: &str = include_str!("../../../../sql/queries/schedules/next_firings.sql");
const SCHEDULES: &str = include_str!("../../../../sql/queries/schedules/schedules.sql");
const MASKED: &str = include_str!("../../../../sql/queries/schedules/schedules_masked.sql");

/// Send messages again and again: by a cron expression, or at an interval
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider schedule create report '0 9 * * MON-FRI' --time-zone Europe/Berlin --endpoint reports
  postrider schedule create ping 'every 30 seconds' --event-type heartbeat --missed skip
  postrider schedule list
  postrider schedule next report --count 10
  postrider schedule alter report --timing '0 8 * * MON-FRI'
  postrider schedule pause report
  postrider schedule resume report
  postrider schedule drop report")]
pub struct Schedule {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a schedule
    Create(Box<Create>),
    /// Change a schedule; what is not given stays
    Alter(Alter),
    /// Show all schedules
    List,
    /// Show one schedule, what it sends, and when
    Show {
        /// The schedule's name
        name: String,
    },
    /// Show when a schedule fires next
    Next {
        /// The schedule's name
        name: String,
        /// How many times
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(i32).range(1..=1_000))]
        count: i32,
    },
    /// Let a schedule fire no more, until it is resumed
    Pause {
        /// The schedule's name
        name: String,
    },
    /// Let it fire again; what would have been due meanwhile is not sent
    Resume {
        /// The schedule's name
        name: String,
    },
    /// Remove a schedule; what it has sent stays sent
    Drop {
        /// The schedule's name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct Create {
    /// 1 to 100 letters, digits, _ . : or -
    name: String,
    /// A cron expression of five fields, @daily and the like, or 'every 15 minutes'
    timing: String,
    /// In which time zone a cron expression is read
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    time_zone: String,
    #[command(flatten)]
    destination: Destination,
    /// What is sent: one JSON value
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = parse_json)]
    payload: String,
    /// What becomes of firings that nobody made in time
    #[arg(long, value_enum, default_value = "one")]
    missed: Missed,
    /// 0 to 10, higher first
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=10))]
    priority: i32,
    /// The ordering key: messages of one key reach an endpoint one after the other
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    key: Option<String>,
    /// A header to send along; can be given more than once
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// A JSON object that is kept with each message and never sent
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    metadata: Option<String>,
    /// Never attempt a message so long after it was sent: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    expires_in: Option<f64>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Destination {
    /// The endpoint that gets the messages
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// The event type to publish
    #[arg(long, value_name = "TYPE")]
    event_type: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Alter {
    /// The schedule's name
    name: String,
    #[command(flatten)]
    changes: Changes,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Changes {
    /// Another cron expression, or another interval
    #[arg(long)]
    timing: Option<String>,
    /// Another time zone
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// What becomes of firings that nobody made in time
    #[arg(long, value_enum)]
    missed: Option<Missed>,
    /// What is sent: one JSON value
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    payload: Option<String>,
    /// A JSON object with any of these and the rest, by the names that the SQL function has for them
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    changes: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Missed {
    /// None is sent for what is more than a minute late
    Skip,
    /// One message for all of them
    One,
    /// One message for each
    All,
}

impl Missed {
    fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::One => "one",
            Self::All => "all",
        }
    }
}

impl Schedule {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::Create(create) => {
                let id = create.run(&client).await?;
                let name = &create.name;
                let next = next_firings(&client, name, 1).await?;
                let object = json!({ "id": id, "name": name, "next_at": next.first() });
                let next = next.first().map_or("never", String::as_str);
                output.done(&object, &format!("Schedule {name} is created; it fires next {next}."));
            }
            Action::Alter(Alter { name, changes }) => {
                let is_altered = switch(&client, ALTER, name, Some(changes.object()?)).await?;
                let sentence = match is_altered {
                    true => format!("Schedule {name} is altered."),
                    false => format!("Schedule {name} was so before."),
                };
                output.done(&json!({ "name": name, "altered": is_altered }), &sentence);
            }
            Action::List => list(&client, output).await?,
            Action::Show { name } => {
                let row = known(&client, name).await?;
                output.object(&row);
            }
            Action::Next { name, count } => {
                let times = next_firings(&client, name, *count).await?;
                let object = json!({ "name": name, "next": times });
                output.done(&object, &times.join("\n"));
            }
            Action::Pause { name } => {
                let sentence = match switch(&client, PAUSE, name, None).await? {
                    true => format!("Schedule {name} is paused."),
                    false => format!("Schedule {name} was paused before."),
                };
                output.done(&json!({ "name": name, "paused": true }), &sentence);
            }
            Action::Resume { name } => {
                let sentence = match switch(&client, RESUME, name, None).await? {
                    true => format!("Schedule {name} fires again."),
                    false => format!("Schedule {name} was not paused."),
                };
                output.done(&json!({ "name": name, "paused": false }), &sentence);
            }
            Action::Drop { name } => {
                switch(&client, DROP, name, None).await?;
                let object = json!({ "name": name, "dropped": true });
                output.done(&object, &format!("Schedule {name} is dropped."));
            }
        }
        Ok(())
    }
}

impl Create {
    async fn run(&self, client: &Client) -> Result<i64, Failure> {
        let headers = (!self.headers.is_empty()).then(|| {
            let header = |(name, value): &(String, String)| (name.clone(), value.clone().into());
            Value::Object(self.headers.iter().map(header).collect::<Map<_, _>>()).to_string()
        });
        let row = client
            .query_one(
                CREATE,
                &[
                    &self.name,
                    &self.timing,
                    &self.time_zone,
                    &self.destination.endpoint,
                    &self.destination.event_type,
                    &self.payload,
                    &self.missed.name(),
                    &self.priority,
                    &self.key,
                    &headers,
                    &self.metadata,
                    &self.expires_in,
                ],
            )
            .await?;
        Ok(row.get(0))
    }
}

impl Changes {
    /// As the function takes them.
    fn object(&self) -> Result<String, Failure> {
        let parse = |text: &String| {
            serde_json::from_str::<Value>(text).map_err(|error| Failure::Usage(error.to_string()))
        };
        let mut object = match self.changes.as_ref().map(parse).transpose()? {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        let texts = [
            ("timing", self.timing.as_deref()),
            ("time_zone", self.time_zone.as_deref()),
            ("missed", self.missed.map(Missed::name)),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                object.insert(key.to_owned(), value.into());
            }
        }
        if let Some(payload) = &self.payload {
            object.insert("payload".to_owned(), parse(payload)?);
        }
        Ok(Value::Object(object).to_string())
    }
}

/// Calls a function that changes a schedule; whether it did.
async fn switch(
    client: &Client,
    sql: &str,
    name: &str,
    changes: Option<String>,
) -> Result<bool, Failure> {
    let row = match &changes {
        Some(changes) => client.query_one(sql, &[&name, changes]).await,
        None => client.query_one(sql, &[&name]).await,
    };
    match row {
        Ok(row) => Ok(row.get(0)),
        Err(error) => Err(explain(client, SCHEDULE_NAMES, name, error).await),
    }
}

async fn next_firings(client: &Client, name: &str, count: i32) -> Result<Vec<String>, Failure> {
    match client.query(NEXT, &[&name, &count]).await {
        Ok(rows) => Ok(rows.iter().map(|row| row.get(0)).collect()),
        Err(error) => Err(explain(client, SCHEDULE_NAMES, name, error).await),
    }
}

async fn known(client: &Client, name: &str) -> Result<Value, Failure> {
    let rows = json_rows_or(client, [SCHEDULES, MASKED], &[&Some(name)]).await?;
    match rows.into_iter().next() {
        Some(row) => Ok(row),
        // It says that there is none, and which one was meant.
        None => next_firings(client, name, 1).await.map(|_| Value::Null),
    }
}

async fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let rows = json_rows_or(client, [SCHEDULES, MASKED], &[&None::<&str>]).await?;
    let columns = [
        "name",
        "timing",
        "time_zone",
        "endpoint_name",
        "event_type",
        "missed",
        "status",
        "next_at",
        "last_at",
        "last_error",
    ];
    output.list(&rows, &columns, "There are no schedules.");
    Ok(())
}
