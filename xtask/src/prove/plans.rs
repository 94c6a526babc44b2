//! Plans: no statement of ours reads more than its bound, whatever its plan was made for. The tests of
//! `crates/postrider/tests/plans.rs` judge that at 0, 1,000 and 100,000 waiting rows, and two bursts to 2,000 endpoints;
//! this runs them at a million rows, and 10,000 endpoints.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, workspace};

/// What the tests read: how many rows wait.
const VARIABLE: &str = "POSTRIDER_TEST_WAITING";

const FULL: u32 = 1_000_000;
const SHORT: u32 = 100_000;

const TESTS: [&str; 3] = [
    "plans::a_plan_made_when_nothing_waited_does_for_what_waits",
    "plans::statistics_of_what_waited_once_do_no_harm",
    "plans::a_second_burst_reads_what_the_first_did",
];

/// One after the other, because each fills tables with all of that. Prints what each statement read.
pub fn prove(is_short: bool) -> Result<()> {
    let count = if is_short { SHORT } else { FULL };
    println!("Plans: {count} waiting rows");
    let mut child = cargo()
        .current_dir(workspace())
        .args(["test", "--package", "postrider", "--test", "main", "--", "--exact"])
        .args(TESTS)
        .args(["--test-threads=1", "--nocapture"])
        .env(VARIABLE, count.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .context("running the tests of plans")?;
    let mut has_passed = false;
    for line in BufReader::new(child.stdout.take().context("no output")?).lines() {
        let line = line.context("reading what the tests of plans say")?;
        println!("{line}");
        has_passed |= is_passed(&line);
    }
    let status = child.wait().context("running the tests of plans")?;
    ensure!(status.success(), "a statement reads more than its bound, or the tests could not run");
    ensure!(has_passed, "not all of {TESTS:?} are there: their names are others now");
    println!("every statement stays within its bound");
    Ok(())
}

/// Whether this is the last line of a run in which all of them ran. Without one of a name the run ends as well.
fn is_passed(line: &str) -> bool {
    let all = TESTS.len();
    line.starts_with(&format!("test result: ok. {all} passed; 0 failed; 0 ignored; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_one_of_the_tests_proves_nothing() {
        let rest = "0 measured; 1300 filtered out; finished in 1.00s";
        for (line, expected) in [
            ("test result: ok. 3 passed; 0 failed; 0 ignored; ", true),
            ("test result: ok. 2 passed; 0 failed; 0 ignored; ", false),
            ("test result: ok. 2 passed; 0 failed; 1 ignored; ", false),
            ("test result: ok. 0 passed; 0 failed; 0 ignored; ", false),
            ("test result: FAILED. 2 passed; 1 failed; 0 ignored; ", false),
            ("1000000: metrics: 3 rows, 3 buffers", false),
        ] {
            assert_eq!(is_passed(&format!("{line}{rest}")), expected, "{line}");
        }
    }

    /// `cargo test` would pass over a name that is no test's.
    #[test]
    fn the_tests_are_there_and_read_the_variable() {
        let file = workspace().join("crates/postrider/tests/plans.rs");
        let code = std::fs::read_to_string(file).unwrap();
        for test in TESTS {
            let name = test.strip_prefix("plans::").unwrap();
            assert!(code.contains(&format!("async fn {name}()")), "{name}");
        }
        assert!(code.contains(&format!("\"{VARIABLE}\"")));
    }
}
