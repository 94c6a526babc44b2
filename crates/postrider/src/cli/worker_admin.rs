//! `postrider worker list`, `show`, `cordon`, `uncordon`, `drop`

use clap::Subcommand;
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{
    Context, Failure, json_rows,
    output::Output,
    suggest::{Filter, WORKER_NAMES, did_you_mean, explain},
};

const WORKERS: &str = include_str!("../../../../sql/queries/fleet/workers.sql");
const WORKER_EXECUTIONS: &str = include_str!("../../../../sql/queries/fleet/worker_executions.sql");
const CORDON_WORKER: &str = include_str!("../../../../sql/queries/fleet/cordon_worker.sql");
const UNCORDON_WORKER: &str = include_str!("../../../../sql/queries/fleet/uncordon_worker.sql");
const DROP_WORKER: &str = include_str!("../../../../sql/queries/fleet/drop_worker.sql");

/// How many executions `show` shows of those that a worker has, and of those that it had.
const SHOWN_EXECUTIONS: i64 = 20;

/// What can be done about workers; the rest of `postrider worker` is one.
#[derive(Debug, Subcommand)]
pub enum WorkerCommand {
    /// Show workers, by pool and name
    List {
        /// Only those of this pool
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
    },
    /// Show a worker, what it has, and how its last executions ended
    Show {
        /// The worker's name
        name: String,
    },
    /// Give a worker nothing new; what it has goes on
    Cordon {
        /// The worker's name
        name: String,
    },
    /// Let a worker get executions again
    Uncordon {
        /// The worker's name
        name: String,
    },
    /// Remove a worker that has left and that nothing waits for
    Drop {
        /// The worker's name
        name: String,
    },
}

impl WorkerCommand {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match self {
            Self::List { pool } => list(&client, output, pool.as_deref()).await,
            Self::Show { name } => show(&client, output, name).await,
            Self::Cordon { name } => {
                let is_new = switch(&client, CORDON_WORKER, name).await?;
                let object = json!({ "name": name, "cordoned": true, "changed": is_new });
                let what = if is_new { "is cordoned" } else { "was cordoned already" };
                output.done(&object, &format!("Worker {name} {what}."));
                Ok(())
            }
            Self::Uncordon { name } => {
                let is_new = switch(&client, UNCORDON_WORKER, name).await?;
                let object = json!({ "name": name, "cordoned": false, "changed": is_new });
                let what = if is_new { "gets executions again" } else { "was not cordoned" };
                output.done(&object, &format!("Worker {name} {what}."));
                Ok(())
            }
            Self::Drop { name } => {
                let dropped = client.query_one(DROP_WORKER, &[name]).await;
                if let Err(error) = dropped {
                    return Err(explain(&client, WORKER_NAMES, name, error).await);
                }
                let object = json!({ "name": name, "dropped": true });
                output.done(&object, &format!("Worker {name} is dropped."));
                Ok(())
            }
        }
    }
}

async fn list(client: &Client, output: Output, pool: Option<&str>) -> Result<(), Failure> {
    let rows = json_rows(client, WORKERS, &[&pool, &None::<&str>]).await?;
    if rows.is_empty() {
        Filter::Pool.check(client, pool).await?;
    }
    let columns = [
        "name",
        "pool",
        "status",
        "health",
        "carrier",
        "capacity",
        "scheduled_count",
        "running_count",
        "queue_depth",
        "failure_streak",
        "heartbeat_at",
        "host",
    ];
    output.list(&rows, &columns, "There are no workers.");
    Ok(())
}

async fn show(client: &Client, output: Output, name: &str) -> Result<(), Failure> {
    let mut rows = json_rows(client, WORKERS, &[&None::<&str>, &name]).await?;
    let Some(mut worker) = rows.pop() else {
        let hint = did_you_mean(client, WORKER_NAMES, name).await?;
        return Err(Failure::Failed(format!("Worker '{name}' does not exist{hint}")));
    };
    let id = worker["id"].as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
    let row = client.query_one(WORKER_EXECUTIONS, &[&id, &SHOWN_EXECUTIONS]).await?;
    let executions: Vec<Value> = row.get("executions");
    let ended: Vec<Value> = row.get("ended");
    let fields = output.fields(&worker);
    worker["executions"] = executions.clone().into();
    worker["ended"] = ended.clone().into();
    output.report(&worker, || {
        let mut text = fields;
        if !executions.is_empty() {
            let columns = ["id", "action", "status", "attempt", "started_at", "deadline_at"];
            text += &format!("\n\nWhat it has:\n{}", output.table(&executions, &columns));
        }
        if !ended.is_empty() {
            let columns = ["id", "action", "attempt", "status", "reason", "started_at", "ended_at"];
            text += &format!("\n\nWhat it had:\n{}", output.table(&ended, &columns));
        }
        text
    });
    Ok(())
}

/// Whether that was a change.
async fn switch(client: &Client, query: &str, name: &str) -> Result<bool, Failure> {
    match client.query_one(query, &[&name]).await {
        Ok(row) => Ok(row.get(0)),
        Err(error) => Err(explain(client, WORKER_NAMES, name, error).await),
    }
}
