//! Plans: no statement of ours reads more than its bound, whatever its plan was made for. The tests of
//! `crates/postrider/tests/plans.rs` judge that at 0, 1,000 and 100,000 waiting rows, and two bursts to 2,000 endpoints;
//! this runs them at a million rows, and 10,000 endpoints.

use anyhow::{Result, ensure};

use super::tests_run;
use postrider_testkit::process::cargo;

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
    let mut tests = cargo();
    tests
        .args(["test", "--package", "postrider", "--test", "main", "--", "--exact"])
        .args(TESTS)
        .args(["--test-threads=1", "--nocapture"])
        .env(VARIABLE, count.to_string());
    let failure = "a statement reads more than its bound, or the tests could not run";
    let has_passed = tests_run::run(tests, TESTS.len(), "the tests of plans", failure)?;
    ensure!(has_passed, "not all of {TESTS:?} are there: their names are others now");
    println!("every statement stays within its bound");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_testkit::process::workspace;

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
