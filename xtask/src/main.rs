//! `cargo xtask`: the commands of those who work on Postrider.

mod ci;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::process::workspace;
use xtask::tidy;

/// Commands of those who work on Postrider.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything that has to pass before a commit: format, lints, tidy, tests.
    Ci,
    /// Run the tests; PostgreSQL is installed first when there is none.
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
    Tidy,
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
        Command::Ci => ci::run(),
        Command::Test { filters } => ci::test(&filters),
        Command::Schema { check } => run_schema(check),
        Command::Tidy => run_tidy(),
    }
}

fn run_schema(check: bool) -> Result<()> {
    tokio::runtime::Runtime::new()?.block_on(xtask::schema::write_or_check(check))
}

fn run_tidy() -> Result<()> {
    let violations = tidy::check(workspace())?;
    for violation in &violations {
        eprintln!("{violation}");
    }
    anyhow::ensure!(violations.is_empty(), "tidy found {} violations", violations.len());
    Ok(())
}
