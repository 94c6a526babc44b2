//! `postrider action`

use clap::Subcommand;
use serde_json::json;

use super::{
    Context, Failure,
    input::{parse_timeout, parse_ttl},
    json_rows,
    suggest::{ACTION_NAMES, did_you_mean},
};

const SET_ACTION: &str = include_str!("../../../../sql/queries/fleet/set_action.sql");
const ACTIONS: &str = include_str!("../../../../sql/queries/fleet/actions.sql");
const DROP_ACTION: &str = include_str!("../../../../sql/queries/fleet/drop_action.sql");

/// Say what executions of an action have in common, such as how many may run at a time
///
/// An action needs none of this: without it, it has the defaults and no limit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider action set resize --concurrency 4 --timeout 5m --max-retries 3
  postrider action list
  postrider action drop resize")]
pub struct Action {
    #[command(subcommand)]
    command: ActionCommand,
}

#[derive(Debug, Subcommand)]
enum ActionCommand {
    /// Set what executions of an action have, unless they say otherwise; replaces what was set before
    Set {
        /// The action's name
        name: String,
        /// How long they may wait until a worker has started them: 30s, 10m, 2h, 1d [default: the setting
        /// worker_queue_ttl_ms]
        #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
        ttl: Option<f64>,
        /// How long they may run [default: the setting execution_timeout]
        #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
        timeout: Option<f64>,
        /// How often they are tried again [default: 0]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..=1_000))]
        max_retries: Option<i32>,
        /// 0 to 10, higher ones first [default: 0]
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..=10))]
        priority: Option<i32>,
        /// How many may be scheduled or running at a time [default: any number]
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=10_000))]
        concurrency: Option<i32>,
        /// What it is, for people
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Show the actions that have something set, and how many of their executions are under way
    List,
    /// Take back what was set: executions submitted from now on have the defaults, and there is no limit
    Drop {
        /// The action's name
        name: String,
    },
}

impl Action {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.command {
            ActionCommand::Set {
                name,
                ttl,
                timeout,
                max_retries,
                priority,
                concurrency,
                description,
            } => {
                client
                    .query_one(
                        SET_ACTION,
                        &[name, ttl, timeout, max_retries, priority, concurrency, description],
                    )
                    .await?;
                let object = json!({ "name": name, "set": true });
                output.done(&object, &format!("Action {name} is set."));
            }
            ActionCommand::List => {
                let rows = json_rows(&client, ACTIONS, &[]).await?;
                let columns = [
                    "name",
                    "concurrency",
                    "scheduled_count",
                    "running_count",
                    "ttl",
                    "timeout",
                    "max_retries",
                    "priority",
                    "description",
                ];
                output.list(&rows, &columns, "No action has anything set.");
            }
            ActionCommand::Drop { name } => {
                let was_there: bool = client.query_one(DROP_ACTION, &[name]).await?.get(0);
                if !was_there {
                    let hint = did_you_mean(&client, ACTION_NAMES, name).await?;
                    let text = format!("Action '{name}' has nothing set{hint}");
                    return Err(Failure::Failed(text));
                }
                let object = json!({ "name": name, "dropped": true });
                output.done(&object, &format!("Action {name} is dropped."));
            }
        }
        Ok(())
    }
}
