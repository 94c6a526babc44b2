//! The programs in docs/examples and what runs them.
//!
//! Libraries come from the machine, from Debian's packages, or, where that does not work, from pip and
//! npm into the target folder; never into the repository and never among the user's own. What is
//! compiled is compiled into the target folder, too.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::packages::{find_all_or_install, find_or_install, is_on_path, succeeds};
use crate::process::{target, workspace};

/// Where Debian keeps the libraries of Node.js.
const DEBIAN_NODE: &str = "/usr/share/nodejs";
/// Where Debian keeps the driver for Go.
const DEBIAN_GO: &str = "/usr/share/gocode/src/github.com/lib/pq";
/// What `go mod vendor` would write about it. The version is that of the example's go.mod, with which
/// Go compares it.
const GO_MODULES: &str = "# github.com/lib/pq v1.10.7\n## explicit\ngithub.com/lib/pq\n\
    github.com/lib/pq/oid\ngithub.com/lib/pq/scram\n";
/// Where Debian keeps the driver for Java.
const DEBIAN_JAVA: &str = "/usr/share/java/postgresql.jar";

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
        install_by_pip(&folder, &self::folder().join("python/requirements.txt"))
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
        std::fs::create_dir_all(&folder).context("could not make the folder")?;
        std::fs::copy(self::folder().join("node/package.json"), folder.join("package.json"))
            .context("could not copy package.json")?;
        if let Err(error) = install_by_npm(&folder) {
            eprintln!("{error:#}");
        }
    }
    find_or_install(&["nodejs", "node-pg"], node)
}

/// Finds what [`go`], [`java`] and [`ruby`] need; what is missing is installed by one call of apt.
///
/// # Errors
///
/// When that does not work.
pub fn ensure_others() -> Result<()> {
    find_all_or_install(&[
        (&["golang-go", "golang-github-lib-pq-dev"], &|| find_go().map(drop)),
        (&["default-jdk-headless", "libpostgresql-jdbc-java"], &|| find_java().map(drop)),
        (&["ruby", "ruby-activerecord", "ruby-pg"], &|| ruby().map(drop)),
    ])
}

/// The example for Go, compiled.
///
/// # Errors
///
/// When Go or its driver is missing (the message says what to install), or it does not compile.
pub fn go() -> Result<PathBuf> {
    let folder = find_go()?;
    let mut build = Command::new("go");
    build.args(["build", "-mod=vendor", "-o", "orders", "."]).current_dir(&folder);
    // As it would be anywhere: no settings of the user's, and nothing of another project.
    build.env("GOCACHE", target().join("examples/go-cache")).env("GOPATH", target().join("go"));
    build.env("GO111MODULE", "on").env("GOFLAGS", "").env("GOWORK", "off").env("GOENV", "off");
    run(&mut build)?;
    Ok(folder.join("orders"))
}

/// A folder with the example and, in `vendor`, the driver.
fn find_go() -> Result<PathBuf> {
    let folder = target().join("examples/go");
    let driver = folder.join("vendor/github.com/lib/pq");
    std::fs::create_dir_all(folder.join("vendor/github.com/lib"))
        .context("could not make the folder")?;
    for file in ["go.mod", "main.go"] {
        std::fs::copy(self::folder().join("go").join(file), folder.join(file))
            .with_context(|| format!("could not copy {file}"))?;
    }
    if !driver.exists() && Path::new(DEBIAN_GO).exists() {
        std::os::unix::fs::symlink(DEBIAN_GO, &driver)
            .with_context(|| format!("could not make {}", driver.display()))?;
    }
    if driver.is_symlink() {
        std::fs::write(folder.join("vendor/modules.txt"), GO_MODULES)
            .context("could not write modules.txt")?;
    }
    ensure!(
        is_on_path("go") && driver.exists(),
        "found no Go with its driver lib/pq.\n\
         Install them: `apt-get install golang-go golang-github-lib-pq-dev` on Debian and Ubuntu; \
         elsewhere install Go, and run `go mod vendor` in {}.",
        folder.display()
    );
    Ok(folder)
}

/// The command that runs the example for Java, compiled: a program and its arguments.
///
/// # Errors
///
/// When Java or its driver is missing (the message says what to install), or it does not compile.
pub fn java() -> Result<Vec<OsString>> {
    let driver = find_java()?;
    let folder = java_folder();
    let mut compile = Command::new("javac");
    compile.arg("-d").arg(&folder).arg(self::folder().join("java/Send.java"));
    run(&mut compile)?;
    let mut path = driver.into_os_string();
    path.push(":");
    path.push(folder);
    // It runs for a moment, in which little compiling and one thread for garbage are enough.
    let options = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"];
    let options = options.into_iter().map(OsString::from);
    Ok(options.chain([path, "Send".into()]).collect())
}

/// The driver of JDBC.
fn find_java() -> Result<PathBuf> {
    let folder = java_folder();
    std::fs::create_dir_all(&folder).context("could not make the folder")?;
    let own = folder.join("postgresql.jar");
    let driver = [own.clone(), DEBIAN_JAVA.into()].into_iter().find(|path| path.exists());
    driver.filter(|_| is_on_path("java") && is_on_path("javac")).with_context(|| {
        format!(
            "found no Java with PostgreSQL's JDBC driver.\n\
             Install them: `apt-get install default-jdk-headless libpostgresql-jdbc-java` on Debian \
             and Ubuntu; elsewhere install a JDK, and put the driver at {}.",
            own.display()
        )
    })
}

/// A Ruby with ActiveRecord and pg.
///
/// # Errors
///
/// When there is none; the message says what to install.
pub fn ruby() -> Result<PathBuf> {
    ensure!(
        succeeds(Command::new("ruby").args(["-e", "require 'active_record'; require 'pg'"])),
        "found no Ruby with ActiveRecord and pg.\n\
         Install them: `apt-get install ruby ruby-activerecord ruby-pg` on Debian and Ubuntu, or \
         `gem install activerecord pg`."
    );
    Ok("ruby".into())
}

fn java_folder() -> PathBuf {
    target().join("examples/java")
}

fn python_folder() -> PathBuf {
    target().join("examples/python")
}

fn node_folder() -> PathBuf {
    target().join("examples/node")
}

/// Makes a Python environment in the folder, with these packages.
///
/// # Errors
///
/// With what was said, when that fails.
pub(crate) fn install_by_pip(folder: &Path, requirements: &Path) -> Result<()> {
    eprintln!("installing packages for Python into {}", folder.display());
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    run(Command::new(folder.join("bin/python3"))
        .args(["-m", "pip", "install", "--quiet", "-r"])
        .arg(requirements))
}

/// Installs what the package.json in the folder names.
///
/// # Errors
///
/// With what npm said, when that fails.
pub(crate) fn install_by_npm(folder: &Path) -> Result<()> {
    eprintln!("installing packages for Node.js into {}", folder.display());
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"];
    run(Command::new("npm").args(install).current_dir(folder))
}

/// Runs a command to its end.
///
/// # Errors
///
/// With what it said, when it failed.
fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("could not run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed ({}):\n{said}", output.status);
    Ok(())
}
