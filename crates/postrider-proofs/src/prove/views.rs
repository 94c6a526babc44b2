//! Views: `queue`, `archive` and `message_status` cost the same at any size. The tests of
//! `crates/postrider/tests/views_at_size.rs` judge that at 60,000 messages; this runs them at five million.

use anyhow::{Result, ensure};

use super::tests_run;
use postrider_testkit::process::cargo;

/// What the tests read: whether there are five million.
const VARIABLE: &str = "POSTRIDER_TEST_FULL";

const TESTS: [&str; 3] = [
    "views_at_size::the_views_cost_the_same_at_any_size_of_what_was_sent",
    "views_at_size::the_views_cost_the_same_at_any_size_of_what_was_published",
    "views_at_size::who_asks_for_an_endpoint_that_keeps_up_does_not_look_through_what_it_was_sent",
];

/// One after the other, because each fills tables with all of that. Prints what each question read.
pub fn prove(is_short: bool) -> Result<()> {
    println!("Views: {} messages", if is_short { "60,000" } else { "5,000,000" });
    let mut tests = cargo();
    tests
        .args(["test", "--package", "postrider", "--test", "main", "--", "--exact"])
        .args(TESTS)
        .args(["--test-threads=1", "--nocapture"])
        .env_remove(VARIABLE);
    if !is_short {
        tests.env(VARIABLE, "1");
    }
    let failure = "a question costs more than its bound, or the tests could not run";
    let has_passed = tests_run::run(tests, TESTS.len(), "the tests of views", failure)?;
    ensure!(has_passed, "not all of {TESTS:?} are there: their names are others now");
    println!("every question stays within its bound");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_testkit::process::workspace;

    /// `cargo test` would pass over a name that is no test's.
    #[test]
    fn the_tests_are_there_and_read_the_variable() {
        let file = workspace().join("crates/postrider/tests/views_at_size.rs");
        let code = std::fs::read_to_string(file).unwrap();
        for test in TESTS {
            let name = test.strip_prefix("views_at_size::").unwrap();
            assert!(code.contains(&format!("async fn {name}()")), "{name}");
        }
        assert!(code.contains(&format!("\"{VARIABLE}\"")));
        assert!(code.contains("=> 5_000_000,"));
    }
}
