//! The packages with which receivers of others verify and read requests, and one that knows cron, and what runs them.
//!
//! They come from pip and npm, into the target folder. What they are asked stands beside the tests
//! (`crates/postrider/tests/verifiers`).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::examples::{install_by_npm, install_by_pip};
use crate::packages::{is_on_path, succeeds};
use crate::process::{target, workspace};

/// Modules that the script for Python needs.
const MODULES: &str = "import cloudevents.core, convoy, slack_sdk, standardwebhooks, stripe, svix";
/// Packages that the script for Node.js and the receiver in docs/examples need.
const PACKAGES: [&str; 6] = [
    "@octokit/webhooks-methods",
    "@shopify/shopify-api",
    "cloudevents",
    "croner",
    "standardwebhooks",
    "svix",
];
const HINT: &str =
    "run `cargo xtask test`, which installs them by pip and npm into the target folder";

/// The command that verifies in Python.
///
/// # Errors
///
/// When a package is missing; the message says what to do.
pub fn python() -> Result<Command> {
    let python = python_folder().join("bin/python3");
    ensure!(
        succeeds(Command::new(&python).args(["-c", MODULES])),
        "the Python packages of receivers are missing: {HINT}"
    );
    let mut command = Command::new(python);
    command.arg(folder().join("verify.py"));
    Ok(command)
}

/// The command that verifies in Node.js.
///
/// # Errors
///
/// When a package is missing; the message says what to do.
pub fn node() -> Result<Command> {
    node_script("verify.mjs")
}

/// The command that tells the next times of cron expressions, in Node.js.
///
/// # Errors
///
/// When a package is missing; the message says what to do.
pub fn cron() -> Result<Command> {
    node_script("cron.mjs")
}

fn node_script(name: &str) -> Result<Command> {
    let modules = node_folder().join("node_modules");
    let are_there = PACKAGES.iter().all(|package| modules.join(package).exists());
    ensure!(
        are_there && is_on_path("node"),
        "the Node.js packages of receivers are missing: {HINT}"
    );
    let mut command = Command::new("node");
    // It looks for packages from where the script lies.
    command.arg(node_folder().join(name));
    Ok(command)
}

/// Installs what [`python`] and [`node`] need, where it is missing.
///
/// # Errors
///
/// When that does not work.
pub fn ensure_installed() -> Result<()> {
    if python().is_err() {
        install_by_pip(&python_folder(), &folder().join("requirements.txt"))?;
    }
    let folder = node_folder();
    std::fs::create_dir_all(&folder).context("could not make the folder")?;
    for file in ["package.json", "verify.mjs", "cron.mjs"] {
        std::fs::copy(self::folder().join(file), folder.join(file))
            .with_context(|| format!("could not copy {file}"))?;
    }
    if node().is_err() {
        install_by_npm(&folder)?;
    }
    python()?;
    node()?;
    Ok(())
}

fn folder() -> PathBuf {
    workspace().join("crates/postrider/tests/verifiers")
}

fn python_folder() -> PathBuf {
    target().join("verifiers/python")
}

fn node_folder() -> PathBuf {
    target().join("verifiers/node")
}
