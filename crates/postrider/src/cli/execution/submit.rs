//! `postrider execution submit`

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::{
    super::{
        Context, Failure,
        input::{parse_key, parse_seconds, parse_timeout, parse_ttl, read_json},
        output::Output,
    },
    find,
};

const SUBMIT_EXECUTION: &str =
    include_str!("../../../../../sql/queries/fleet/submit_execution.sql");
const EXECUTION_END: &str = include_str!("../../../../../sql/queries/fleet/execution_end.sql");

/// The pauses between two looks whether it has ended: they get longer, as what takes long may be seen to
/// end a little later.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Hand work to a worker, or to one of a pool
///
/// Applications do the same in SQL, inside their own transactions: select
/// postrider.submit_execution('resize', '{"image": 7}'). What is not given is taken from the action, then
/// from the settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider execution submit resize --parameters '{\"image\": 7}'
  postrider execution submit report --parameters @report.json --worker big-one --wait
  result=$(postrider execution submit sum --parameters '[1, 2]' --wait --wait-timeout 1m)

With --wait: 0 when it has completed, its result is on standard output; 1 when it has ended otherwise, or
not within --wait-timeout.")]
pub struct Submit {
    /// What is to be done
    action: String,
    /// Its parameters, as JSON; `@FILE` reads a file, `-` standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    parameters: String,
    /// The worker that is to do it, whether it is there or not
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// The pool of which one is to do it [default: default; with --worker, none]
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// How long it may wait until a worker has started it: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    ttl: Option<f64>,
    /// How long it may run
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    timeout: Option<f64>,
    /// 0 to 10, higher ones first
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..=10))]
    priority: Option<i32>,
    /// How often it is tried again when it failed for a reason that may pass
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..=1_000))]
    max_retries: Option<i32>,
    /// Submit it once: as long as an execution with this key is kept, that one is meant
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    idempotency_key: Option<String>,
    /// A UUID that is kept with it
    #[arg(long, value_name = "UUID")]
    correlation_id: Option<Uuid>,
    /// Wait until it has ended, and print its result
    #[arg(long)]
    wait: bool,
    /// Wait no longer than this; it goes on all the same
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, requires = "wait")]
    wait_timeout: Option<f64>,
}

impl Submit {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let parameters = read_json("--parameters", &self.parameters)?;
        let client = context.connect().await?.client;
        let row = client
            .query_one(
                SUBMIT_EXECUTION,
                &[
                    &self.action,
                    &parameters,
                    &self.worker,
                    &self.pool,
                    &self.ttl,
                    &self.timeout,
                    &self.priority,
                    &self.max_retries,
                    &self.idempotency_key,
                    &self.correlation_id,
                ],
            )
            .await?;
        let id: i64 = row.get(0);
        let output = context.output;
        if !self.wait {
            output.done(&json!({ "id": id }), &format!("Execution {id} is submitted."));
            return Ok(());
        }
        if !output.is_json() {
            output.notice(&format!("execution {id} is submitted; waiting for its end"));
        }
        let end = self.wait(&client, id).await?;
        show_end(&client, output, id, &end).await
    }

    /// Waits until it has ended.
    async fn wait(&self, client: &Client, id: i64) -> Result<Row, Failure> {
        let limit = self.wait_timeout.map(Duration::from_secs_f64);
        let started_at = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let statement = client.prepare(EXECUTION_END).await?;
        loop {
            if let Some(end) = client.query_opt(&statement, &[&id]).await? {
                return Ok(end);
            }
            let left = limit.map(|limit| limit.saturating_sub(started_at.elapsed()));
            if left == Some(Duration::ZERO) {
                let text = format!("Execution {id} has not ended in time; it goes on");
                return Err(Failure::Failed(text));
            }
            tokio::time::sleep(left.map_or(pause, |left| pause.min(left))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Its result where it has completed, or why it has not; with `--json` all of it.
async fn show_end(client: &Client, output: Output, id: i64, end: &Row) -> Result<(), Failure> {
    let status: &str = end.get("status");
    let is_completed = status == "completed";
    if output.is_json() {
        output.object(&find(client, id).await?);
        return if is_completed { Ok(()) } else { Err(Failure::Shown(1)) };
    }
    if is_completed {
        output.raw(end.get::<_, Option<&str>>("result").unwrap_or("null"));
        return Ok(());
    }
    let parts = [end.get::<_, Option<&str>>("reason"), end.get("error")];
    let why: Vec<&str> = parts.into_iter().flatten().filter(|part| *part != status).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
    Err(Failure::Failed(format!("Execution {id} has ended as {status}{why}")))
}
