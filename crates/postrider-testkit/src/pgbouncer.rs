//! A private PgBouncer in transaction mode before a private PostgreSQL.
//!
//! Own port, own folder, never as root; it ends with the value, and the kernel kills it when our
//! process ends. A PgBouncer of the system is never used.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::child::Process;
use crate::postgres::folder::Folder;
use crate::postgres::{PORT_TRIES, PrivatePostgres, accepts_sessions};
use crate::{packages, port};

/// How long a start may take.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// The pause between two looks while we wait for the start.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// How a private PgBouncer is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many connections to the server each pair of role and database may have.
    pub pool_size: u16,
    /// The roles that may connect, without a password.
    pub roles: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { pool_size: 2, roles: vec!["postgres".to_owned()] }
    }
}

/// A running PgBouncer of our own. Dropping it removes every trace.
#[derive(Debug)]
pub struct PrivatePgBouncer {
    // Before `folder`: the process has to be gone when the folder is removed.
    process: Process,
    folder: Folder,
    port: u16,
}

impl PrivatePgBouncer {
    /// Starts a pooler in transaction mode for all databases of a server.
    ///
    /// # Errors
    ///
    /// When PgBouncer is not installed (the message says what to install), or does not come up (the
    /// message ends with its log).
    pub fn start(postgres: &PrivatePostgres, options: &Options) -> Result<Self> {
        let program = find()?;
        for _ in 0..PORT_TRIES {
            let folder = Folder::create(None)?;
            let port = port::find_free()?;
            let users: String =
                options.roles.iter().map(|role| format!("\"{role}\" \"\"\n")).collect();
            let users_file = folder.data().join("users.txt");
            std::fs::write(&users_file, users).context("could not write users.txt")?;
            // sqlx asks for extra_float_digits, which PgBouncer does not follow per client.
            let config = format!(
                "[databases]\n\
                 * = host=127.0.0.1 port={}\n\
                 [pgbouncer]\n\
                 listen_addr = 127.0.0.1\n\
                 listen_port = {port}\n\
                 unix_socket_dir =\n\
                 auth_type = trust\n\
                 auth_file = {}\n\
                 pool_mode = transaction\n\
                 default_pool_size = {}\n\
                 max_client_conn = 200\n\
                 ignore_startup_parameters = extra_float_digits\n",
                postgres.port(),
                users_file.display(),
                options.pool_size
            );
            let config_file = folder.data().join("pgbouncer.ini");
            std::fs::write(&config_file, config).context("could not write pgbouncer.ini")?;
            let log = std::fs::File::create(folder.log()).context("could not write the log")?;
            let mut command = folder.command(&program);
            command.arg(&config_file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
            let (process, ()) = Process::spawn(command, libc::SIGKILL, |_| ())
                .with_context(|| format!("could not run {}", program.display()))?;
            let pooler = Self { process, folder, port };
            if pooler.wait_for_start()? {
                return Ok(pooler);
            }
        }
        bail!("found no port that stayed free until PgBouncer started ({PORT_TRIES} tries)")
    }

    /// The address of a database for a role.
    pub fn url_as(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read(self.folder.log())
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }

    /// Whether it came up; false when somebody else took the port.
    fn wait_for_start(&self) -> Result<bool> {
        let deadline = Instant::now() + START_TIMEOUT;
        while !accepts_sessions(self.port) {
            if let Some(status) = self.process.status() {
                let log = self.log();
                if log.contains("Address already in use") {
                    return Ok(false);
                }
                bail!("PgBouncer ended at its start ({status}); it said:\n{log}");
            }
            ensure!(
                Instant::now() < deadline,
                "PgBouncer did not accept connections within {START_TIMEOUT:?}; it said:\n{}",
                self.log()
            );
            std::thread::sleep(RETRY_PAUSE);
        }
        Ok(true)
    }
}

/// Finds the program, and installs the Debian package `pgbouncer` when it is missing and we may.
///
/// # Errors
///
/// When it is missing and cannot be installed; the message says what to install.
pub fn ensure_installed() -> Result<PathBuf> {
    packages::find_or_install(&["pgbouncer"], find)
}

/// Looks in the folders of `PATH`, and in those for administrators, which are not in everybody's.
fn find() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let folders = folders.chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let mut programs = folders.map(|folder| folder.join("pgbouncer"));
    programs.find(|program| packages::is_program(program)).context(
        "found no PgBouncer.\n\
         Install it: `apt-get install pgbouncer` on Debian and Ubuntu, `dnf install pgbouncer` on \
         Fedora, `brew install pgbouncer` on macOS.",
    )
}

#[cfg(test)]
mod tests {
    use tokio_postgres::NoTls;

    use super::*;
    use crate::child;

    #[tokio::test]
    async fn sessions_share_connections_and_nothing_stays_behind() {
        let postgres = PrivatePostgres::start(crate::postgres::Options::default()).unwrap();
        let options = Options { pool_size: 1, ..Options::default() };
        let pooler = PrivatePgBouncer::start(&postgres, &options).unwrap();
        let mut pids = Vec::new();
        for _ in 0..3 {
            let url = pooler.url_as("postgres", "postgres");
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let messages = client.simple_query("select pg_backend_pid()").await.unwrap();
            pids.push(messages.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            }));
        }
        pids.dedup();
        assert_eq!(pids.len(), 1, "{}", pooler.log());
        let (pid, folder) = (pooler.process.pid(), pooler.folder.data());
        drop(pooler);
        assert!(!child::is_alive(pid));
        assert!(!folder.exists());
    }
}
