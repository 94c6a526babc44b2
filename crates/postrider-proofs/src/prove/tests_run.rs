//! Proofs whose judge is a test: what they prove is private to another crate.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use postrider_testkit::process::workspace;

/// Runs `cargo test` with exact names and shows what it says; whether so many tests have passed. `what`: what is run.
///
/// # Errors
///
/// When the run fails: that is what `failure` says of it.
pub fn run(mut command: Command, count: usize, what: &str, failure: &str) -> Result<bool> {
    let running = || format!("running {what}");
    let mut child =
        command.current_dir(workspace()).stdout(Stdio::piped()).spawn().with_context(running)?;
    let mut has_passed = false;
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line.with_context(|| format!("reading the output of {what}"))?;
        println!("{line}");
        has_passed |= is_passed(&line, count);
    }
    let status = child.wait().with_context(running)?;
    ensure!(status.success(), "{failure}");
    Ok(has_passed)
}

/// Whether this is the last line of a run in which so many tests ran, and no other. Without one of a name the run ends
/// as well.
fn is_passed(line: &str, count: usize) -> bool {
    line.starts_with(&format!("test result: ok. {count} passed; 0 failed; 0 ignored; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_one_of_the_tests_proves_nothing() {
        let rest = "0 measured; 300 filtered out; finished in 1.00s";
        for (count, line, expected) in [
            (1, "test result: ok. 1 passed; 0 failed; 0 ignored; ", true),
            (1, "test result: ok. 0 passed; 0 failed; 0 ignored; ", false),
            (1, "test result: ok. 0 passed; 0 failed; 1 ignored; ", false),
            (1, "test result: ok. 11 passed; 0 failed; 0 ignored; ", false),
            (1, "test result: FAILED. 0 passed; 1 failed; 0 ignored; ", false),
            (1, "a line of a life: ", false),
            (3, "test result: ok. 3 passed; 0 failed; 0 ignored; ", true),
            (3, "test result: ok. 2 passed; 0 failed; 0 ignored; ", false),
            (3, "test result: ok. 2 passed; 0 failed; 1 ignored; ", false),
            (3, "test result: ok. 0 passed; 0 failed; 0 ignored; ", false),
            (3, "test result: FAILED. 2 passed; 1 failed; 0 ignored; ", false),
            (3, "1000000: metrics: 3 rows, 3 buffers", false),
        ] {
            assert_eq!(is_passed(&format!("{line}{rest}"), count), expected, "{count}: {line}");
        }
    }
}
