//! RabbitMQ and Erlang on this machine, and how to get them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::packages;

/// Where Debian and Ubuntu, and others, keep one folder per version.
const FOLDERS: [&str; 2] = ["/usr/lib/rabbitmq/lib", "/opt/rabbitmq"];

/// The start of the names of applications that are plugins, which we do without.
const PLUGIN: &str = "rabbitmq_";
/// The one application whose name begins like that of a plugin and which the server needs.
const PRELAUNCH: &str = "rabbitmq_prelaunch";

/// A folder with the server's Erlang applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    applications: PathBuf,
    version: String,
}

impl Installation {
    /// Looks for the server: the folder that `RABBITMQ_HOME` names, then /usr/lib/rabbitmq/lib and
    /// /opt/rabbitmq. Erlang has to be in `PATH`.
    ///
    /// # Errors
    ///
    /// When there is none; the message says what to install.
    pub fn find() -> Result<Self> {
        let homes = std::env::var_os("RABBITMQ_HOME").map(PathBuf::from).into_iter();
        let homes = homes.chain(FOLDERS.iter().flat_map(|folder| subfolders(Path::new(folder))));
        let found = homes.filter(|_| packages::is_on_path("erl")).find_map(|home| Self::at(&home));
        found.context(
            "found no RabbitMQ server.\n\
             Install it: `apt-get install rabbitmq-server` on Debian and Ubuntu, `dnf install \
             rabbitmq-server` on Fedora; or set RABBITMQ_HOME to the folder that holds `plugins`, \
             and have `erl` in PATH.",
        )
    }

    /// The version, such as `3.10.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folders of the applications that the server consists of.
    ///
    /// Erlang looks for a module in every folder that it is told about; without the plugins the
    /// start costs a third less.
    pub(super) fn applications(&self) -> Vec<PathBuf> {
        let mut all = subfolders(&self.applications);
        all.retain(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            !name.starts_with(PLUGIN) || name.starts_with(PRELAUNCH)
        });
        all
    }

    fn at(home: &Path) -> Option<Self> {
        let applications = home.join("plugins");
        let version = subfolders(&applications).into_iter().find_map(|folder| {
            let version = folder.file_name()?.to_str()?.strip_prefix("rabbit-")?;
            version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
        })?;
        Some(Self { applications, version })
    }
}

/// Finds RabbitMQ, and installs the Debian package `rabbitmq-server` when it is missing and we may.
///
/// # Errors
///
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_installed() -> Result<Installation> {
    packages::find_or_install(&["rabbitmq-server"], Installation::find)
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort_unstable();
    folders
}
