//! `postrider execution`

mod submit;

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{
    Context, Failure, json_rows, json_rows_or,
    output::Output,
    suggest::{Filter, WORKER_NAMES, did_you_mean},
    tail::pin_plans,
};

const EXECUTIONS: &str = include_str!("../../../../sql/queries/fleet/executions.sql");
const EXECUTION: &str = include_str!("../../../../sql/queries/fleet/execution.sql");
const MASKED_EXECUTION: &str = include_str!("../../../../sql/queries/fleet/execution_masked.sql");
const WORKERS: &str = include_str!("../../../../sql/queries/fleet/workers.sql");
const DEAD_LETTERS: &str = include_str!("../../../../sql/queries/fleet/execution_dead_letters.sql");
const MASKED_DEAD_LETTERS: &str =
    include_str!("../../../../sql/queries/fleet/execution_dead_letters_masked.sql");
const CANCEL_EXECUTION: &str = include_str!("../../../../sql/queries/fleet/cancel_execution.sql");
const RETRY_EXECUTION: &str = include_str!("../../../../sql/queries/fleet/retry_execution.sql");

/// How many executions one look of a list is about that shows only some of them. A look is a statement,
/// and holds a snapshot while it runs.
const LOOK_SIZE: i64 = 10_000;

/// Hand work to workers, and see what became of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider execution submit resize --parameters '{\"image\": 7}' --pool images --ttl 2m
  postrider execution submit report --parameters @report.json --worker big-one --wait
  postrider execution list --status failed --limit 20
  postrider execution list --worker big-one --before 4711
  postrider execution show 4711
  postrider execution cancel 4711
  postrider execution retry 4711
  postrider execution dead-letters")]
pub struct Execution {
    #[command(subcommand)]
    command: ExecutionCommand,
}

#[derive(Debug, Subcommand)]
enum ExecutionCommand {
    Submit(submit::Submit),
    List(List),
    /// Show an execution: what was asked for, how its attempts ended, and its dead letters
    Show {
        /// The execution's id
        #[arg(value_name = "EXECUTION", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// Cancel an execution; one that runs is stopped by its worker
    Cancel {
        /// The execution's id
        #[arg(value_name = "EXECUTION", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// Ask again for what has ended, as a new execution
    Retry {
        /// The execution's id
        #[arg(value_name = "EXECUTION", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// Show what was not started in time, and what else came out of the dead letter queue, the newest
    /// first
    DeadLetters {
        /// Only those of which this became
        #[arg(long)]
        outcome: Option<Outcome>,
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
        /// Only those with a lower id, to go on with a list
        #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        before: Option<i64>,
    },
}

/// Show executions, the newest first
///
/// With --json without parameters, result and error, which `show` has.
#[derive(Debug, clap::Args)]
struct List {
    /// Only those that are like this now
    #[arg(long)]
    status: Option<Status>,
    /// Only those of this action
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Only those for this pool
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Only those that are for this worker, or that it has or had last
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
    /// Only those with a lower id, to go on with a list
    #[arg(long, value_name = "EXECUTION", value_parser = clap::value_parser!(i64).range(1..))]
    before: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Requested,
    Scheduled,
    Running,
    Completed,
    Failed,
    Timeout,
    Cancelled,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Scheduled => "scheduled",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Outcome {
    /// The execution has failed
    Failed,
    /// It is tried again
    Retried,
    /// It waits again: its time was not over yet
    Returned,
    /// It had ended; nothing was changed
    Terminal,
    /// It was running; nothing was changed
    Running,
    /// It had gone on meanwhile; nothing was changed
    Passed,
    /// There is no such execution
    Unknown,
    /// A message that nobody could read
    Unreadable,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Retried => "retried",
            Self::Returned => "returned",
            Self::Terminal => "terminal",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Unknown => "unknown",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Execution {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        if let ExecutionCommand::Submit(submit) = &self.command {
            return submit.run(context).await;
        }
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.command {
            ExecutionCommand::Submit(_) => {}
            ExecutionCommand::List(list) => list.run(&client, output).await?,
            ExecutionCommand::Show { id } => show(&client, output, *id).await?,
            ExecutionCommand::Cancel { id } => {
                let status: String = client.query_one(CANCEL_EXECUTION, &[id]).await?.get(0);
                let sentence = match status.as_str() {
                    "cancelled" => format!("Execution {id} is cancelled."),
                    "cancelling" => {
                        format!("Execution {id} is running; its worker is told to stop.")
                    }
                    status => format!("Execution {id} had ended already: {status}."),
                };
                output.done(&json!({ "id": id, "status": status }), &sentence);
            }
            ExecutionCommand::Retry { id } => {
                let new: i64 = client.query_one(RETRY_EXECUTION, &[id]).await?.get(0);
                let object = json!({ "id": new, "retry_of": id });
                output.done(&object, &format!("Execution {id} is asked for again as {new}."));
            }
            ExecutionCommand::DeadLetters { outcome, limit, before } => {
                let outcome = outcome.map(Outcome::name);
                let rows = json_rows_or(
                    &client,
                    [DEAD_LETTERS, MASKED_DEAD_LETTERS],
                    &[&outcome, limit, before],
                )
                .await?;
                let columns = [
                    "id",
                    "at",
                    "outcome",
                    "carrier",
                    "execution_id",
                    "attempt",
                    "worker",
                    "action",
                    "reason",
                    "body_bytes",
                    "body_start",
                ];
                output.list(&rows, &columns, "Nothing was dead-lettered.");
            }
        }
        Ok(())
    }
}

impl List {
    async fn run(&self, client: &Client, output: Output) -> Result<(), Failure> {
        if let Some(worker) = &self.worker {
            let known = json_rows(client, WORKERS, &[&None::<&str>, worker]).await?;
            if known.is_empty() {
                let hint = did_you_mean(client, WORKER_NAMES, worker).await?;
                return Err(Failure::Failed(format!("Worker '{worker}' does not exist{hint}")));
            }
        }
        pin_plans(client).await?;
        let rows = self.find(client).await?;
        if rows.is_empty() {
            Filter::Action.check(client, self.action.as_deref()).await?;
            Filter::Pool.check(client, self.pool.as_deref()).await?;
        }
        let columns = [
            "id",
            "action",
            "status",
            "reason",
            "addressed_to",
            "pool",
            "worker",
            "priority",
            "attempt",
            "created_at",
            "started_at",
            "ended_at",
        ];
        output.list(&rows, &columns, "There are no such executions.");
        Ok(())
    }

    /// Looks at so many after so many, until there are enough or there is no more to look at.
    async fn find(&self, client: &Client) -> Result<Vec<Value>, Failure> {
        let Self { action, pool, worker, .. } = self;
        let status = self.status.map(Status::name);
        let shows_all = [action, pool, worker].iter().all(|filter| filter.is_none());
        let look_size = if shows_all { self.limit } else { LOOK_SIZE };
        let mut before = self.before.unwrap_or(i64::MAX);
        let mut found: Vec<Value> = Vec::new();
        loop {
            let limit = self.limit - found.len() as i64;
            let row = client
                .query_one(
                    EXECUTIONS,
                    &[&status, action, pool, worker, &limit, &before, &look_size],
                )
                .await?;
            found.extend(row.get::<_, Vec<Value>>("executions"));
            let looked_at: i64 = row.get("looked_at_count");
            if looked_at < look_size || found.len() as i64 >= self.limit {
                return Ok(found);
            }
            before = row.get("lowest_id");
        }
    }
}

async fn show(client: &Client, output: Output, id: i64) -> Result<(), Failure> {
    let execution = find(client, id).await?;
    output.report(&execution, || {
        let mut fields = execution.clone();
        let mut text = String::new();
        for (name, title, columns) in [
            (
                "attempts",
                "How its attempts ended",
                &["attempt", "status", "reason", "worker", "started_at", "ended_at", "error"][..],
            ),
            (
                "dead_letters",
                "Dead letters",
                &["id", "at", "outcome", "carrier", "attempt", "worker", "x_death", "details"],
            ),
        ] {
            let rows = fields.as_object_mut().and_then(|fields| fields.remove(name));
            if let Some(Value::Array(rows)) = rows
                && !rows.is_empty()
            {
                text += &format!("\n\n{title}:\n{}", output.table(&rows, columns));
            }
        }
        output.fields(&fields) + &text
    });
    Ok(())
}

/// An execution with all that is known about it.
async fn find(client: &Client, id: i64) -> Result<Value, Failure> {
    let mut rows = json_rows_or(client, [EXECUTION, MASKED_EXECUTION], &[&id]).await?;
    rows.pop().ok_or_else(|| Failure::Failed(format!("Execution {id} does not exist")))
}
