//! The programs in docs/examples and what runs them.
//!
//! Libraries come from the machine, from Debian's packages, or, where that does not work, from pip and
//! npm into the target folder; never into the repository and never among the user's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::packages::{find_or_install, is_on_path, succeeds};
use crate::process::{target, workspace};

/// Where Debian keeps the libraries of Node.js.
const DEBIAN_NODE: &str = "/usr/share/nodejs";

/// The folder of the examples.
pub fn folder() -> PathBuf {
    workspace().join("docs/examples")
}

/// A Python with psycopg 3: in the target folder, in `PATH`, or the system's.
///
/// # Errors
///
/// When there is none; the message says what to install.
pub fn python() -> Result<PathBuf> {
    let mut candidates =
        [python_folder().join("bin/python3"), "python3".into(), "/usr/bin/python3".into()]
            .into_iter();
    let works = |python: &PathBuf| {
        let script = "import psycopg; exit(int(psycopg.__version__.split('.')[0]) < 3)";
        succeeds(Command::new(python).args(["-c", script]))
    };
    candidates.find(works).context(
        "found no Python with psycopg 3.\n\
         Install them: `apt-get install python3-psycopg` on Debian and Ubuntu, or \
         `pip install 'psycopg[binary]'`; or run `cargo xtask test`, which does it.",
    )
}

/// [`python`]; what is missing is installed by apt, or else by pip into the target folder.
///
/// # Errors
///
/// When neither works.
pub fn ensure_python() -> Result<PathBuf> {
    find_or_install(&["python3", "python3-psycopg"], python).or_else(|missing| {
        if !is_on_path("python3") {
            return Err(missing);
        }
        let folder = python_folder();
        eprintln!("installing psycopg into {}", folder.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            .and_then(|()| {
                run(Command::new(folder.join("bin/python3"))
                    .args(["-m", "pip", "install", "--quiet", "-r"])
                    .arg(self::folder().join("python/requirements.txt")))
            })
            .map_err(|error| missing.context(format!("{error:#}")))?;
        python()
    })
}

/// A folder with `node_modules/pg` for Node.js, in which a program finds it.
///
/// # Errors
///
/// When Node.js or the library is missing; the message says what to install.
pub fn node() -> Result<PathBuf> {
    let folder = node_folder();
    let modules = folder.join("node_modules");
    if !modules.join("pg").exists() && Path::new(DEBIAN_NODE).join("pg").exists() {
        // A link to all of Debian's libraries, in which they find each other.
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::os::unix::fs::symlink(DEBIAN_NODE, &modules))
            .with_context(|| format!("could not make {}", modules.display()))?;
    }
    ensure!(
        is_on_path("node") && modules.join("pg").exists(),
        "found no Node.js with its library pg.\n\
         Install them: `apt-get install nodejs node-pg` on Debian and Ubuntu; elsewhere install \
         Node.js and npm, and run `cargo xtask test`, which gets the library."
    );
    Ok(folder)
}

/// [`node`]; the library is installed by npm into the target folder where there is npm, otherwise both
/// by apt.
///
/// # Errors
///
/// When neither works.
pub fn ensure_node() -> Result<PathBuf> {
    if node().is_err() && is_on_path("node") && is_on_path("npm") {
        let folder = node_folder();
        eprintln!("installing pg into {}", folder.display());
        std::fs::create_dir_all(&folder).context("could not make the folder")?;
        std::fs::copy(self::folder().join("node/package.json"), folder.join("package.json"))
            .context("could not copy package.json")?;
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"];
        if let Err(error) = run(Command::new("npm").args(install).current_dir(&folder)) {
            eprintln!("{error:#}");
        }
    }
    find_or_install(&["nodejs", "node-pg"], node)
}

fn python_folder() -> PathBuf {
    target().join("examples/python")
}

fn node_folder() -> PathBuf {
    target().join("examples/node")
}

/// Runs a command to its end.
///
/// # Errors
///
/// With what it said, when it failed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("could not run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed ({}):\n{said}", output.status);
    Ok(())
}
