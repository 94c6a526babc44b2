//! What has to pass before a commit, step by step and timed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postrider_testkit::packages;
use postrider_testkit::postgres::{TEMPLATES_VARIABLE, Templates};
use postrider_testkit::process::{self, BINARY_VARIABLE, tested_binary, workspace};
use postrider_testkit::rabbitmq::shared::{self, Share};

use crate::advisories::{self, Advisories};

/// A step: its name and what it does, given the path of this program. Asked for later, the system says that the
/// program is deleted, for building the tests builds it anew.
type Step = (&'static str, fn(&Path) -> Result<()>);

/// In this order: what fails fast comes first.
const STEPS: &[Step] = &[
    ("format", |_| cargo(&["fmt", "--all", "--check"])),
    ("tidy", |_| crate::run_tidy()),
    ("lint", |_| cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    // What is released has none of what only tests ask for, such as the simulation in the core.
    ("released", |_| {
        cargo(&["clippy", "--package", "postrider", "--bins", "--", "-D", "warnings"])
    }),
    ("build", |_| tested_binary().map(drop)),
    ("schema", |program| own(program, &["schema", "--check"])),
    ("test", |_| test(&[])),
    ("demo", |program| own(program, &["demo", "--short"])),
    ("fleet", |program| own(program, &["demo", "--short", "--fleet"])),
    ("chaos", |program| own(program, &["chaos", "--short", "--seed", "4"])),
];

/// Runs all steps up to the first that fails, and prints how long each took.
pub fn run() -> Result<()> {
    let program = std::env::current_exe().context("could not find this program")?;
    let started_at = Instant::now();
    let mut times = Vec::new();
    let mut result = Ok(());
    for (name, step) in STEPS {
        eprintln!("== {name}");
        let step_started_at = Instant::now();
        result = step(&program).with_context(|| format!("step `{name}` failed"));
        times.push((*name, step_started_at.elapsed(), verdict(&result).to_owned()));
        if result.is_err() {
            break;
        }
    }
    eprintln!("== advisories");
    let asked_at = Instant::now();
    let found = advisories::check();
    let said = match &found {
        Ok(Advisories::NotChecked(reason)) => format!("NOT CHECKED: {reason}"),
        other => verdict(other).to_owned(),
    };
    eprintln!("{said}");
    times.push(("advisories", asked_at.elapsed(), said));
    let result = result.and(found.map(drop).context("step `advisories` failed"));
    eprintln!("== summary");
    for (name, time, verdict) in times {
        print_time(name, time, &verdict);
    }
    print_time("all", started_at.elapsed(), verdict(&result));
    result
}

fn verdict<T>(result: &Result<T>) -> &'static str {
    if result.is_ok() { "ok" } else { "FAILED" }
}

/// Makes sure that there are servers and what the examples need, builds the binary, makes the
/// clusters that tests copy, runs the tests whose name contains one of the filters (all without one).
///
/// Programs of others are installed here and not by a test: tests run in parallel, apt does not.
pub fn test(filters: &[String]) -> Result<()> {
    packages::ensure_all()?;
    let binary = tested_binary()?;
    // The tests run the program that cargo builds for them, and not another one.
    let migrator = std::env::var_os(BINARY_VARIABLE).is_none().then_some(binary.as_path());
    let templates = tokio::runtime::Runtime::new()?.block_on(Templates::make(migrator))?;
    // It starts a server when the first test asks for one, and ends with the tests.
    let rabbitmq = Share::start()?;
    let run = |fixed: &[&str]| {
        let arguments = fixed.iter().copied().chain(filters.iter().map(String::as_str));
        run_cargo(
            process::cargo()
                .args(arguments)
                .env(TEMPLATES_VARIABLE, templates.path())
                .env(shared::VARIABLE, rabbitmq.address()),
        )
    };
    if !is_installed("cargo-nextest") {
        return run(&["test", "--workspace", "--no-fail-fast", "--quiet", "--"]);
    }
    let threads = format!("--test-threads={}", test_thread_count());
    let shown = ["--status-level=slow", "--final-status-level=fail"];
    run(&["nextest", "run", "--workspace", "--no-fail-fast", &threads, shown[0], shown[1]])?;
    if !filters.is_empty() {
        return Ok(());
    }
    // What nextest leaves out; the applications' crate is the one whose examples are read.
    run(&["test", "--doc", "--package", "postrider-client", "--all-features", "--quiet", "--"])
}

/// Half of the time of most tests is waiting, for a lease to end or for a dispatcher, so there are four of them for each
/// processor. Those that measure how soon messages arrive count as four (`.config/nextest.toml`).
fn test_thread_count() -> usize {
    4 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs cargo in the workspace; what it prints is shown.
fn cargo(arguments: &[&str]) -> Result<()> {
    run_cargo(process::cargo().args(arguments))
}

fn run_cargo(command: &mut Command) -> Result<()> {
    let status = command.current_dir(workspace()).status().context("could not run cargo")?;
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    ensure!(status.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}

/// Runs this program again, on the binary that the tests have. In a process of its own: what chaos mounts is seen
/// only by threads that begin after that.
fn own(program: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).env(BINARY_VARIABLE, tested_binary()?);
    let status = command.status().context("could not run it")?;
    ensure!(status.success(), "`cargo xtask {}` failed", arguments.join(" "));
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn print_time(name: &str, time: Duration, verdict: &str) {
    eprintln!("{name:<10}{:>8.1} s  {verdict}", time.as_secs_f64());
}
