//! Programs of others that we need, installed from Debian's packages where they are missing and that
//! is possible.
//!
//! Everything that is needed stands in one list, [`ensure_all`]. Services that come with a package are
//! never used, and not started by us: what we run are processes of our own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Error, Result, anyhow, ensure};

use crate::{examples, pgbouncer, postgres, rabbitmq, verifiers};

/// Installs the packages that are its arguments, after whoever else is installing something. A policy file, unless the machine has one of its
/// own, keeps a package from starting a service of the system.
const APT_SCRIPT: &str = r#"
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=300 update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
"#;

/// Finds all that the tests need, and installs what is missing.
///
/// This is for the command that runs the tests and not for a test: tests run in parallel, apt does
/// not.
///
/// # Errors
///
/// The first that is missing and cannot be installed; the message says what to install.
pub fn ensure_all() -> Result<()> {
    let postgres = postgres::ensure_installed()?;
    eprintln!("PostgreSQL {} in {}", postgres.version(), postgres.bin_dir().display());
    eprintln!("PgBouncer: {}", pgbouncer::ensure_installed()?.display());
    eprintln!("RabbitMQ {}", rabbitmq::ensure_installed()?.version());
    eprintln!("Python with psycopg: {}", examples::ensure_python()?.display());
    eprintln!("libfaketime: {}", postgres::clock::ensure_installed()?.display());
    eprintln!("Node.js with pg: {}", examples::ensure_node()?.display());
    examples::ensure_others()?;
    eprintln!("Go with lib/pq, Java with JDBC, Ruby with ActiveRecord");
    verifiers::ensure_installed()?;
    ensure_servers()?;
    eprintln!("nginx, tinyproxy, microsocks");
    Ok(())
}

/// The server that wants certificates, and the proxies, that the transport's tests start.
fn ensure_servers() -> Result<()> {
    let has = |program: &str| {
        ensure!(is_program(Path::new(program)), "found no {program}, which a Debian package has");
        Ok(())
    };
    find_all_or_install(&[
        (&["nginx-light"], &|| has("/usr/sbin/nginx")),
        (&["tinyproxy-bin"], &|| has("/usr/bin/tinyproxy")),
        (&["microsocks"], &|| has("/usr/bin/microsocks")),
    ])
}

/// What `find` finds; if it finds nothing, the Debian packages are installed, when we may (as root, or
/// with a `sudo` that asks for no password), and it looks again.
///
/// # Errors
///
/// That of `find`, which says what to install, when that cannot be done or does not help.
pub fn find_or_install<T>(packages: &[&str], find: impl Fn() -> Result<T>) -> Result<T> {
    find().or_else(|missing| {
        install(packages, missing)?;
        find()
    })
}

/// Debian packages, and whether what they bring is there.
pub(crate) type Need<'a> = (&'a [&'a str], &'a dyn Fn() -> Result<()>);

/// The same for several, with one call of apt for all that is missing.
///
/// # Errors
///
/// Those of all that are missing after that.
pub(crate) fn find_all_or_install(needs: &[Need<'_>]) -> Result<()> {
    let look = || {
        let (mut packages, mut errors) = (Vec::new(), Vec::new());
        for (names, find) in needs {
            if let Err(error) = find() {
                packages.extend_from_slice(names);
                errors.push(format!("{error:#}"));
            }
        }
        (packages, errors.join("\n"))
    };
    let (packages, missing) = look();
    if packages.is_empty() {
        return Ok(());
    }
    install(&packages, anyhow!(missing))?;
    let (packages, missing) = look();
    ensure!(packages.is_empty(), missing);
    Ok(())
}

/// Installs Debian packages, if we may; if not, what is missing is the error.
fn install(packages: &[&str], missing: Error) -> Result<()> {
    if !is_on_path("apt-get") {
        return Err(missing);
    }
    // SAFETY: geteuid has no preconditions.
    let mut command = if unsafe { libc::geteuid() } == 0 {
        Command::new("sh")
    } else if succeeds(Command::new("sudo").args(["-n", "true"])) {
        let mut command = Command::new("sudo");
        command.args(["-n", "sh"]);
        command
    } else {
        return Err(missing);
    };
    let names = packages.join(" ");
    eprintln!("installing the Debian packages {names}");
    let output = command
        .args(["-c", APT_SCRIPT, "sh"])
        .args(packages)
        .output()
        .context("could not run apt-get")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(missing.context(format!("apt-get could not install {names}:\n{said}")));
    }
    Ok(())
}

/// Whether a program is in one of the folders of `PATH`.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Runs a command and drops what it prints.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
