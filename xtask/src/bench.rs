//! `cargo xtask bench`: how fast Postrider is, compared with something else in the same run.
//!
//! Every comparison alternates between the two sides in short slices and reports the median of the
//! ratios of neighbouring slices, because the speed of a machine changes from minute to minute while
//! a ratio hardly does. The servers are private, on the disk, with `fsync`; sessions wait for their
//! commits unless a line says otherwise. What it is compared with stands in `bench/*.sql`.

mod backpressure;
mod classic;
mod clients;
mod compare;
mod consumers;
mod cost;
mod engine;
mod fleet;
mod http;
mod isolation;
mod latency;
mod machine;
mod pinned;
mod publishing;
mod report;
mod senders;
mod sending;
mod stand;
mod wal;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use report::{Line, Report};
use stand::Stand;

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only this measurement.
    #[arg(long, value_name = "NAME")]
    only: Option<Measurement>,
    /// How long a measurement that goes by time takes: 10 to 3600. 300 is the full proof that a
    /// pinned horizon changes nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=3600))]
    seconds: u64,
    /// Another `postrider`, such as that of an earlier commit, for `cost`.
    #[arg(long, value_name = "PROGRAM", value_parser = program)]
    against: Option<PathBuf>,
    /// Print the result as markdown, for docs/benchmarks.md.
    #[arg(long)]
    markdown: bool,
}

/// The measurements, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// Single `send` against a plain insert.
    Single,
    /// `send_batch` against a multi-row insert.
    Batch,
    /// `publish` to 100 subscribers against a message for each.
    Publish,
    /// Single `send` while a million messages wait.
    Backpressure,
    /// WAL per message from send to finish.
    Wal,
    /// A full log and a transport that accepts at once.
    Engine,
    /// Processor time per message against that of another binary (`--against`), the server's included.
    Cost,
    /// Delivery over HTTP against the bare client.
    Http,
    /// Four senders of single messages, and their delivery.
    Senders,
    /// A session that holds an old snapshot.
    Pinned,
    /// From commit to attempt.
    Latency,
    /// The same with senders that wait for the disk and that do not, and with deliveries that wait for it
    /// and that do not.
    Durable,
    /// A failing receiver, or a flooded one, beside a good one.
    Isolation,
    /// Pages of a consumer, and how fast it drains the log; 5,000,000 messages, 2,000,000 with less than
    /// 60 seconds.
    Consumers,
    /// Executions by PostgreSQL and by RabbitMQ, to 1 and 4 workers; 20,000 in three rounds, 2,000 in one
    /// with less than 60 seconds.
    Fleet,
}

/// Runs the measurements and prints their results; what is under way is told on standard error.
///
/// # Errors
///
/// When a server, the build or a statement fails. A target that is missed is no error.
pub fn run(arguments: &Arguments) -> Result<()> {
    if cfg!(debug_assertions) {
        // Unoptimised clients would be what is measured.
        return run_optimised();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(measure(arguments))?;
    print!("{}", if arguments.markdown { report.markdown() } else { report.text() });
    Ok(())
}

/// A file, by its whole path: a dispatcher has a working folder of its own.
fn program(value: &str) -> Result<PathBuf> {
    let path = std::fs::canonicalize(value)?;
    ensure!(path.is_file(), "it is no file");
    Ok(path)
}

fn run_optimised() -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let error = Command::new(program)
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .exec();
    Err(error).context("could not run the optimised build")
}

async fn measure(arguments: &Arguments) -> Result<Report> {
    let stand = Stand::start()?;
    let mut report = Report::new(machine::describe(&stand).await?);
    for measurement in Measurement::value_variants() {
        let is_wanted = match arguments.only {
            Some(only) => only == *measurement,
            None => *measurement != Measurement::Cost || arguments.against.is_some(),
        };
        if !is_wanted {
            continue;
        }
        let name = measurement.to_possible_value().map(|value| value.get_name().to_owned());
        let name = name.unwrap_or_default();
        eprintln!("== {name}");
        let time = Duration::from_secs(arguments.seconds);
        let lines = measurement.run(&stand, time, arguments.against.as_deref()).await;
        for line in lines.with_context(|| format!("measurement `{name}` failed"))? {
            eprintln!("{line}");
            report.lines.push(line);
        }
    }
    Ok(report)
}

impl Measurement {
    async fn run(self, stand: &Stand, time: Duration, against: Option<&Path>) -> Result<Vec<Line>> {
        match self {
            Self::Cost => cost::measure(stand, against.context("it needs --against")?).await,
            Self::Single => sending::single(stand, time).await,
            Self::Batch => sending::batch(stand, time).await,
            Self::Publish => publishing::measure(stand, time).await,
            Self::Backpressure => backpressure::measure(stand, time).await,
            Self::Wal => wal::measure(stand).await,
            Self::Engine => engine::measure(stand).await,
            Self::Http => http::measure(stand).await,
            Self::Senders => senders::measure(stand, time).await,
            Self::Pinned => pinned::measure(stand, time).await,
            Self::Latency => latency::measure(stand).await,
            Self::Durable => latency::measure_durable(stand).await,
            Self::Isolation => isolation::measure(stand).await,
            Self::Consumers => consumers::measure(stand, time).await,
            Self::Fleet => fleet::measure(stand, time).await,
        }
    }
}
