//! The dispatcher in a simulated world. What decides in it is private to the crate, so its tests are what runs: this
//! builds them in release and says how long they go on.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::process::workspace;

const TEST: &str = "engine::simulation::tests::lives_go_on_as_long_as_they_are_told";

/// Lives from this seed on, for so many seconds.
pub fn prove(seconds: u64, seed: u64) -> Result<()> {
    println!("Simulation: {seconds} s");
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(program)
        .current_dir(workspace())
        .args(["test", "--release", "--package", "postrider", "--lib", "--"])
        .args(["--exact", TEST, "--ignored", "--nocapture"])
        .env("POSTRIDER_SIMULATION_SECONDS", seconds.to_string())
        .env("POSTRIDER_SIMULATION_SEED", seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .context("running the simulation")?;
    let mut has_passed = false;
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line.context("reading what the simulation says")?;
        println!("{line}");
        has_passed |= is_passed(&line);
    }
    let status = child.wait().context("running the simulation")?;
    ensure!(status.success(), "a life went wrong, or the simulation could not run");
    ensure!(has_passed, "there is no test {TEST}: nothing was simulated");
    println!("nothing was lost, doubled without a cause, out of order, or stuck");
    Ok(())
}

/// Whether this is the last line of a run in which the one test ran. Without one of its name the run ends as well.
fn is_passed(line: &str) -> bool {
    line.starts_with("test result: ok. 1 passed; 0 failed; 0 ignored; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_the_test_proves_nothing() {
        let rest = "0 measured; 300 filtered out; finished in 1.00s";
        for (line, expected) in [
            ("test result: ok. 1 passed; 0 failed; 0 ignored; ", true),
            ("test result: ok. 0 passed; 0 failed; 0 ignored; ", false),
            ("test result: ok. 0 passed; 0 failed; 1 ignored; ", false),
            ("test result: ok. 11 passed; 0 failed; 0 ignored; ", false),
            ("test result: FAILED. 0 passed; 1 failed; 0 ignored; ", false),
            ("a line of a life: ", false),
        ] {
            assert_eq!(is_passed(&format!("{line}{rest}")), expected, "{line}");
        }
    }
}
