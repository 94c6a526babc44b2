//! `cargo xtask`: the commands of those who work on Postrider.

mod advisories;
mod bench;
mod ci;
mod demo;
mod schema;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use postrider_proofs::{chaos, prove};
use postrider_testkit::process::workspace;

/// Commands of those who work on Postrider.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure how fast it is, against something else in the same run.
    Bench(bench::Arguments),
    /// Random faults against traffic of every kind, judged by the ledger; a seed repeats them.
    Chaos(chaos::Options),
    /// Everything that has to pass before a commit: format, lints, tidy, tests.
    Ci,
    /// Show messages arriving while dispatchers die, receivers fail and transactions roll back.
    Demo(demo::Options),
    /// What the workers of the demo of fleets run for each execution.
    #[command(hide = true)]
    FleetHandler(demo::fleet::handler::Options),
    /// A worker of the proof about fleets, which starts it.
    #[command(hide = true)]
    ProofWorker,
    /// Prove the guarantees: long runs under faults, judged by the ledger.
    Prove(prove::Options),
    /// Run the tests; what they need, such as PostgreSQL, is installed first where it is missing.
    Test {
        /// Only tests whose name contains one of these.
        filters: Vec<String>,
    },
    /// Write sql/schema.sql anew, for review.
    Schema {
        /// Only compare it.
        #[arg(long)]
        check: bool,
    },
    /// Check the rules about the sources that the compiler cannot hold.
    Tidy {
        /// Only count what says how hard the engine is to reason about.
        #[arg(long)]
        count: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Chaos(options) => chaos::run(&options),
        Command::Ci => ci::run(),
        Command::Demo(options) => demo::run(&options),
        Command::FleetHandler(options) => demo::fleet::handler::run(&options),
        Command::ProofWorker => prove::run_fleet_worker(),
        Command::Prove(options) => prove::run(&options),
        Command::Test { filters } => ci::test(&filters),
        Command::Schema { check } => run_schema(check),
        Command::Tidy { count: false } => run_tidy(),
        Command::Tidy { count: true } => print_counts(),
    }
}

fn run_schema(check: bool) -> Result<()> {
    tokio::runtime::Runtime::new()?.block_on(schema::write_or_check(check))
}

fn print_counts() -> Result<()> {
    for count in tidy::count(workspace())? {
        let of = if count.of.is_empty() { String::new() } else { format!("  ({})", count.of) };
        println!("{:>6}  {}{of}", count.number, count.what);
    }
    Ok(())
}

fn run_tidy() -> Result<()> {
    let violations = tidy::check(workspace())?;
    for violation in &violations {
        eprintln!("{violation}");
    }
    anyhow::ensure!(violations.is_empty(), "tidy found {} violations", violations.len());
    Ok(())
}
