//! `postrider tail`
//!
//! Every committed message is shown once, however late its transaction commits. A look is the
//! difference of two snapshots, kept in memory: no consumer, no tick, nothing is written.

use std::time::Duration;

use tokio_postgres::{Client, Row, Statement};

use super::{
    Context, Failure,
    input::{parse_event_pattern, parse_object, parse_start},
    output::Output,
    suggest::Filter,
};

const START: &str = include_str!("../../../../sql/queries/watch/live_start.sql");
const SESSION: &str = include_str!("../../../../sql/queries/watch/live_session.sql");
const MESSAGES: &str = include_str!("../../../../sql/queries/watch/live_messages.sql");
const PAGE: &str = include_str!("../../../../sql/queries/watch/live_page.sql");

/// How many messages are fetched at a time.
pub const PAGE_SIZE: i64 = 100;
/// The pause after a look that has seen everything.
pub const PAUSE: Duration = Duration::from_millis(100);
/// A snapshot that has seen nothing.
const BEFORE_ALL: &str = "1:1:";

/// Show messages as they are committed
///
/// Shows what is committed from now on, or from --start, and goes on until Ctrl-C. Messages that are
/// seen together are shown in order of their ids. It reads the log itself: no consumer is needed, and
/// dispatchers and consumers are not affected.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider tail
  postrider tail --event-type 'order.*' --filter '{\"country\": \"AT\"}'
  postrider tail --start 2030-05-01T09:00:00Z --limit 1000
  postrider tail --json | jq .payload")]
pub struct Tail {
    /// Only messages of this event type, or of a pattern such as order.*; can be given more than once
    #[arg(long, value_name = "TYPE", value_parser = parse_event_pattern)]
    event_type: Vec<String>,
    /// Only payloads that contain this JSON object
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    filter: Option<String>,
    /// now, beginning, a time such as 2030-05-01T09:00:00Z, or a message's id
    #[arg(long, value_name = "START", default_value = "now", value_parser = parse_start)]
    start: String,
    /// End after so many messages
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i64).range(1..))]
    limit: Option<i64>,
}

impl Tail {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        until_interrupted(self.follow(&client, context.output)).await
    }

    async fn follow(&self, client: &Client, output: Output) -> Result<(), Failure> {
        let types = (!self.event_type.is_empty()).then_some(&self.event_type);
        let start = client.query_one(START, &[&self.start, &types]).await?;
        if start.get("is_standby") {
            let text = "tail needs the primary: on a standby no transaction is known to be running";
            return Err(Failure::Database(text.to_owned()));
        }
        // A pattern is for event types to come, too.
        for name in self.event_type.iter().filter(|name| !name.ends_with('*')) {
            Filter::EventType.check(client, Some(name)).await?;
        }
        pin_plans(client).await?;
        let mut look = Look {
            client,
            output,
            messages: client.prepare(MESSAGES).await?,
            page: client.prepare(PAGE).await?,
            patterns: start.get("type_patterns"),
            filter: self.filter.as_deref(),
            left: self.limit.unwrap_or(i64::MAX),
        };
        let mut seen: String = start.get("snapshot");
        if let Some(first) = start.get("first_id") {
            look.walk(BEFORE_ALL, &seen, first, start.get("start_at")).await?;
        }
        while look.left > 0 {
            seen = look.step(&seen).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}

/// What a run looks for, and how many messages it may still show.
struct Look<'a> {
    client: &'a Client,
    output: Output,
    messages: Statement,
    page: Statement,
    patterns: Option<Vec<String>>,
    filter: Option<&'a str>,
    left: i64,
}

impl Look<'_> {
    /// Shows what has been committed since a snapshot; the one up to which everything is shown.
    async fn step(&mut self, seen: &str) -> Result<String, Failure> {
        let size = self.left.min(PAGE_SIZE);
        let rows = self
            .client
            .query(&self.messages, &[&seen, &size, &self.patterns, &self.filter])
            .await?;
        let Some((look, messages)) = rows.split_first() else { return Ok(seen.to_owned()) };
        let top: String = look.get("snapshot");
        self.show(messages);
        if let Some(last) = messages.last()
            && messages.len() as i64 == size
        {
            let last: i64 = last.get("id");
            self.walk(seen, &top, last.saturating_add(1), None).await?;
        }
        Ok(top)
    }

    /// Shows what one snapshot sees and another did not, from an id on.
    async fn walk(
        &mut self,
        seen: &str,
        top: &str,
        mut first: i64,
        start_at: Option<String>,
    ) -> Result<(), Failure> {
        while self.left > 0 {
            let size = self.left.min(PAGE_SIZE);
            let (patterns, filter) = (&self.patterns, &self.filter);
            let rows = self
                .client
                .query(&self.page, &[&seen, &top, &size, patterns, filter, &first, &start_at])
                .await?;
            self.show(&rows);
            let Some(last) = rows.last().filter(|_| rows.len() as i64 == size) else { break };
            first = last.get::<_, i64>("id").saturating_add(1);
        }
        Ok(())
    }

    fn show(&mut self, rows: &[Row]) {
        rows.iter().for_each(|row| show_message(self.output, row));
        self.left -= rows.len() as i64;
    }
}

/// For queries that run again and again on a log that grows.
pub async fn pin_plans(client: &Client) -> Result<(), Failure> {
    Ok(client.batch_execute(SESSION).await?)
}

/// A message on a line: as an object, or when it was made, its id, what it is about, its ordering key
/// and what is in it.
pub fn show_message(output: Output, row: &Row) {
    let id: i64 = row.get("id");
    let text = |column: &str| row.get::<_, Option<String>>(column);
    let or_none = |column: &str| text(column).unwrap_or_else(|| "-".to_owned());
    let fields = [or_none("at"), id.to_string(), or_none("about"), or_none("ordering_key")];
    output.line(&or_none("message"), &fields, &or_none("content"));
}

/// Does this until it ends by itself or by Ctrl-C, which is how it is meant to end.
pub async fn until_interrupted(
    work: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}
