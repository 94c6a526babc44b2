//! `postrider job`, and waiting for a job with its progress on the screen.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use clap::Subcommand;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_postgres::Client;

use super::{Context, Failure, Output, json_rows};

const JOBS: &str = include_str!("../../../../sql/queries/deliveries/jobs.sql");
const JOB: &str = include_str!("../../../../sql/queries/deliveries/job.sql");
const CANCEL_JOB: &str = include_str!("../../../../sql/queries/deliveries/cancel_job.sql");

/// The pause between two looks at a job.
const LOOK: Duration = Duration::from_millis(200);
/// The pause between two lines where none can be written over.
const LINE: Duration = Duration::from_secs(5);
/// What a process that is interrupted ends with, as a shell says it.
const INTERRUPTED: u8 = 130;

/// Show and cancel what commands over many messages have left to dispatchers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider job list
  postrider job show 7
  postrider job cancel 7")]
pub struct Job {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the jobs, the newest first
    List {
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
    },
    /// Show one job
    Show {
        /// The job's id
        #[arg(value_name = "JOB", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
    /// End a job; what it has done stays done
    Cancel {
        /// The job's id
        #[arg(value_name = "JOB", value_parser = clap::value_parser!(i64).range(1..))]
        id: i64,
    },
}

/// Whether a command waits for the job that it makes.
#[derive(Debug, clap::Args)]
pub struct Waiting {
    /// Print the job's id and do not wait for it
    #[arg(long)]
    no_wait: bool,
}

/// A job that was made just now.
#[derive(Debug)]
pub struct Made {
    pub id: i64,
    /// How much it will do, and whether there may be more.
    estimate: i64,
    has_more: bool,
}

impl Job {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List { limit } => {
                let rows = json_rows(&client, JOBS, &[limit]).await?;
                let columns = [
                    "id",
                    "kind",
                    "endpoint_name",
                    "state",
                    "done_count",
                    "estimate",
                    "held_count",
                    "created_by",
                    "created_at",
                    "last_error",
                ];
                output.list(&rows, &columns, "There are no jobs.");
            }
            Action::Show { id } => output.object(&find(&client, *id).await?),
            Action::Cancel { id } => {
                let is_cancelled: bool = client.query_one(CANCEL_JOB, &[id]).await?.get(0);
                let sentence = if is_cancelled {
                    format!("Job {id} is cancelled.")
                } else {
                    format!("Job {id} was over already.")
                };
                output.done(&json!({ "job_id": id, "cancelled": is_cancelled }), &sentence);
            }
        }
        Ok(())
    }
}

impl Waiting {
    /// Runs a statement that makes a job.
    pub async fn make(
        &self,
        client: &Client,
        sql: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Made, Failure> {
        let row = client.query_one(sql, parameters).await?;
        Ok(Made {
            id: row.get("job_id"),
            estimate: row.get("estimate"),
            has_more: row.get("has_more"),
        })
    }

    /// Waits for the job if that is wanted; how much it has done, or `None` if it was not waited for.
    ///
    /// # Errors
    ///
    /// That it came to another end than its own, or that we were interrupted.
    pub async fn wait(
        &self,
        client: &Client,
        output: Output,
        made: &Made,
    ) -> Result<Option<i64>, Failure> {
        if self.no_wait {
            return Ok(None);
        }
        if made.estimate == 0 && !made.has_more {
            return Ok(Some(0));
        }
        let job = tokio::select! {
            job = follow(client, output, made.id) => job?,
            _ = tokio::signal::ctrl_c() => {
                Progress::new(output).clear();
                let id = made.id;
                output.notice(&format!(
                    "job {id} goes on without us: see `postrider job show {id}`, or end it with \
                     `postrider job cancel {id}`"
                ));
                return Err(Failure::Shown(INTERRUPTED));
            }
        };
        if job["state"] != "completed" {
            let state = job["state"].as_str().unwrap_or_default();
            return Err(Failure::Failed(format!("Job {} is {state}", made.id)));
        }
        Ok(job["done_count"].as_i64())
    }
}

impl Made {
    /// As an object, for who does not wait.
    pub fn object(&self) -> Value {
        json!({ "job_id": self.id, "estimate": self.estimate, "has_more": self.has_more })
    }

    /// The same in a sentence.
    pub fn sentence(&self) -> String {
        let more = if self.has_more { "at least " } else { "" };
        format!("Job {} is made; dispatchers do it ({more}{} messages).", self.id, self.estimate)
    }
}

async fn find(client: &Client, id: i64) -> Result<Value, Failure> {
    let rows = json_rows(client, JOB, &[&id]).await?;
    let missing = || Failure::Failed(format!("Job {id} does not exist"));
    rows.into_iter().next().ok_or_else(missing)
}

/// Looks at the job until it is over.
async fn follow(client: &Client, output: Output, id: i64) -> Result<Value, Failure> {
    let mut progress = Progress::new(output);
    loop {
        let job = find(client, id).await?;
        if job["state"] != "running" {
            progress.clear();
            return Ok(job);
        }
        progress.show(&describe(&job));
        tokio::time::sleep(LOOK).await;
    }
}

/// How a running job stands.
fn describe(job: &Value) -> String {
    let number = |name: &str| job[name].as_i64().unwrap_or_default();
    let (done, estimate) = (number("done_count"), number("estimate"));
    let more = if job["has_more"] == true { "more than " } else { "about " };
    let mut text = format!("job {}: {done} of {more}{}", number("id"), estimate.max(done));
    match number("held_count") {
        0 => {}
        held => text.push_str(&format!("; {held} are in hand, or held by other transactions")),
    }
    if let Some(error) = job["last_error"].as_str() {
        text.push_str(&format!("; {error}"));
    }
    if job["has_dispatcher"] == false {
        text.push_str("; it waits for a dispatcher: start `postrider serve`");
    }
    text
}

/// One line on standard error that is written anew, or one now and then where that cannot be.
struct Progress {
    output: Output,
    is_terminal: bool,
    shown: Option<(String, Instant)>,
}

impl Progress {
    fn new(output: Output) -> Self {
        Self { output, is_terminal: std::io::stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, text: &str) {
        let is_due = self
            .shown
            .as_ref()
            .is_none_or(|(shown, at)| shown != text && (self.is_terminal || at.elapsed() >= LINE));
        if self.output.is_json() || !is_due {
            return;
        }
        self.shown = Some((text.to_owned(), Instant::now()));
        if !self.is_terminal {
            return self.output.notice(text);
        }
        let line: String = text.chars().take(self.output.width().saturating_sub(1)).collect();
        // Nothing can be done for a reader who has gone.
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
    }

    fn clear(&self) {
        if self.is_terminal && !self.output.is_json() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
