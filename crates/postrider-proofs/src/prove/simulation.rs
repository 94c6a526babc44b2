//! The dispatcher in a simulated world. That world is compiled with the tests of the core alone, so these are what runs: this
//! builds them in a profile of their own and says how long they go on.

use anyhow::{Result, ensure};

use super::tests_run;
use postrider_testkit::process::cargo;

const TEST: &str = "tenure::simulation::world::tests::lives_go_on_as_long_as_they_are_told";

/// Lives from this seed on, for so many seconds.
pub fn prove(seconds: u64, seed: u64) -> Result<()> {
    println!("Simulation: {seconds} s");
    let mut tests = cargo();
    tests
        .args(["test", "--profile", "simulation", "--package", "postrider-core", "--lib", "--"])
        .args(["--exact", TEST, "--ignored", "--nocapture"])
        .env("POSTRIDER_SIMULATION_SECONDS", seconds.to_string())
        .env("POSTRIDER_SIMULATION_SEED", seed.to_string());
    let failure = "a life went wrong, or the simulation could not run";
    let has_passed = tests_run::run(tests, 1, "the simulation", failure)?;
    ensure!(has_passed, "there is no test {TEST}: nothing was simulated");
    println!("nothing was lost, doubled without a cause, out of order, or stuck");
    Ok(())
}
