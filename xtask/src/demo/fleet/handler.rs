//! The program that `postrider worker --exec` runs for each execution of the demo.
//!
//! It knows nothing of Postrider but what any such program is told: parameters on standard input, ids in
//! the environment, SIGTERM when it is to stop. It says in the journal what it does.

use std::{path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::Instant,
};

use super::journal::{Event, Journal};

/// What a shell says of a program that SIGTERM has ended.
const TERMINATED: i32 = 128 + libc::SIGTERM;
/// EX_TEMPFAIL of sysexits.h: another try may work.
const TEMPORARY_FAILURE: i32 = 75;
const PERMANENT_FAILURE: i32 = 1;

/// What the demo starts it with.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The worker that runs it.
    #[arg(long)]
    worker: String,
    /// The file in which it writes what it does.
    #[arg(long)]
    journal: PathBuf,
}

/// Does what the parameters say, and ends the process.
pub fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(work(options))?;
    std::process::exit(code)
}

/// Works for a while, if nobody stops it; returns the exit code.
async fn work(options: &Options) -> Result<i32> {
    // First of all: whoever stands in the journal is able to say that it was stopped.
    let mut terminated = signal(SignalKind::terminate())?;
    let (execution, attempt) =
        (variable("POSTRIDER_EXECUTION_ID")?, variable("POSTRIDER_ATTEMPT")?);
    let parameters: Value = serde_json::from_reader(std::io::stdin())?;
    let journal = Journal::open(&options.journal)?;
    let write = |event| journal.write(event, execution, attempt, &options.worker);
    write(Event::Start)?;
    let end = Instant::now() + Duration::from_millis(parameters["ms"].as_u64().unwrap_or_default());
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => break,
            _ = terminated.recv() => write(Event::Signal)?,
        }
        if parameters["is_deaf"] != true {
            write(Event::End)?;
            return Ok(TERMINATED);
        }
    }
    write(Event::End)?;
    Ok(match parameters["fails"].as_str() {
        // What is transient is over at the next attempt.
        Some("transient_error") if attempt == 1 => TEMPORARY_FAILURE,
        Some("permanent_error") => PERMANENT_FAILURE,
        _ => {
            println!("{}", json!({ "worker": options.worker }));
            0
        }
    })
}

fn variable<T: FromStr>(name: &str) -> Result<T> {
    let text = std::env::var(name).with_context(|| format!("{name} is not set"))?;
    text.parse().map_err(|_| anyhow!("{name} is `{text}`"))
}
