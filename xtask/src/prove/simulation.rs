//! The dispatcher in a simulated world. What decides in it is private to the crate, so its tests are what runs: this
//! builds them in release and says how long they go on.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::workspace;

const TEST: &str = "engine::simulation::tests::lives_go_on_as_long_as_they_are_told";

/// Lives from this seed on, for so many seconds.
pub fn prove(seconds: u64, seed: u64) -> Result<()> {
    println!("Simulation: {seconds} s");
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .current_dir(workspace())
        .args(["test", "--quiet", "--release", "--package", "postrider", "--lib", "--"])
        .args(["--exact", TEST, "--ignored", "--nocapture"])
        .env("POSTRIDER_SIMULATION_SECONDS", seconds.to_string())
        .env("POSTRIDER_SIMULATION_SEED", seed.to_string())
        .status()
        .context("running the simulation")?;
    ensure!(status.success(), "a life went wrong, or the simulation could not run");
    println!("nothing was lost, doubled without a cause, out of order, or stuck");
    Ok(())
}
