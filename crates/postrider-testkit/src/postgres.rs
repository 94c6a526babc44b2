//! A private PostgreSQL: own port, own socket, own temporary folder, never as root, gone afterwards.
//!
//! Guarantees:
//! - The server is started from binaries on the machine ([`Installation::find`]); a server of the
//!   system is never used.
//! - It is gone when the value is dropped, when our process is interrupted, and when our process is
//!   killed: the kernel signals it (`PR_SET_PDEATHSIG`), and a watchdog, a small shell process that
//!   waits for the end of a pipe held by us, makes sure of it and removes the folder. Where the
//!   watchdog was killed along with us, the next start sweeps the folder: its name carries the id
//!   and the start time of the process that made it.
//! - Its shared memory goes with it, on each of these roads. The kernel holds a limited number of
//!   segments and frees none of its own accord, so that a killed server would leave one for good.
//! - Any number of servers can run at once.
//!
//! Starting, stopping and killing block the calling thread; what talks SQL is `async`.

pub mod clock;
pub(crate) mod folder;
mod installation;
mod shared_memory;
mod templates;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio_postgres::{Client, NoTls};

use crate::child::{self, Process};
use crate::port;
use folder::Folder;
pub use installation::{Installation, ensure_installed};
use templates::Kind;
pub use templates::{DATABASE as MIGRATED_DATABASE, Templates, VARIABLE as TEMPLATES_VARIABLE};

/// The modes of `lock table`, the strongest first.
pub const LOCK_MODES: [&str; 8] = [
    "access exclusive",
    "exclusive",
    "share row exclusive",
    "share",
    "share update exclusive",
    "row exclusive",
    "row share",
    "access share",
];

/// How long a start may take; a restart after a kill includes the recovery.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a fast stop may take: it writes a checkpoint.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an immediate stop may take at the end, before all processes are killed. PostgreSQL itself
/// waits 5 seconds for a process that does not react.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long killed processes may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a connection attempt may take while we wait for the start.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two connection attempts while we wait for the start.
const RETRY_PAUSE: Duration = Duration::from_millis(10);
/// How many ports are tried when others take them between our look and the start.
pub(crate) const PORT_TRIES: usize = 5;
/// How many of the last bytes of the server's log an error shows.
const LOG_TAIL_BYTES: usize = 3_000;

/// How a private server is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether commits wait for the disk. Off for tests: the kernel's cache survives a killed
    /// server, so a crash of PostgreSQL is real all the same. On for benchmarks.
    pub fsync: bool,
    /// `max_connections`.
    pub max_connections: u16,
    /// `max_prepared_transactions`; PostgreSQL's own default of 0 forbids them.
    pub max_prepared_transactions: u16,
    /// Further lines of `postgresql.conf`, as name and value without quotes.
    pub settings: Vec<(String, String)>,
    /// The server binaries; `None` looks for them with [`Installation::find`].
    pub installation: Option<Installation>,
    /// Where the temporary folder is made; `None` means the system's temporary folder. When we are
    /// root, other users must be able to reach it.
    pub base_folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fsync: false,
            max_connections: 200,
            max_prepared_transactions: 0,
            settings: Vec::new(),
            installation: None,
            base_folder: None,
        }
    }
}

impl Options {
    /// Adds a line to `postgresql.conf`.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    fn postgresql_conf(&self) -> String {
        let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
        let fixed = [
            ("fsync", on_off(self.fsync)),
            ("max_connections", self.max_connections.to_string()),
            ("max_prepared_transactions", self.max_prepared_transactions.to_string()),
            ("wal_level", "replica".to_owned()),
            // In files of the data folder, which go with it; those in /dev/shm survive a kill.
            ("dynamic_shared_memory_type", "mmap".to_owned()),
            // Postrider's own sessions have it off. What tests ask of views over and over is estimated
            // to be worth compiling, which took a tenth of the processors' time of all tests.
            ("jit", "off".to_owned()),
            // What is asked of a standby is answered, whatever the primary has removed since.
            ("max_standby_archive_delay", "-1".to_owned()),
            ("max_standby_streaming_delay", "-1".to_owned()),
            ("log_line_prefix", "%m [%p] %a ".to_owned()),
        ];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value));
        fixed
            .iter()
            .chain(&self.settings)
            .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")))
            .collect()
    }
}

/// A running (or stopped, or killed) server of our own. Dropping it removes every trace.
#[derive(Debug)]
pub struct PrivatePostgres {
    // Before `folder`: the process has to be gone when the folder is removed.
    process: Option<Process>,
    folder: Folder,
    port: u16,
    installation: Installation,
    options: Options,
}

impl PrivatePostgres {
    /// Makes a cluster in a temporary folder and starts it.
    ///
    /// The superuser is `postgres`; nobody needs a password.
    ///
    /// # Errors
    ///
    /// When there are no usable server binaries (the message says what to install), or when the
    /// server does not come up (the message ends with its log).
    pub fn start(options: Options) -> Result<Self> {
        let (folder, installation) = match Kind::Empty.find_for(&options) {
            Some(template) => copy_of(&template, &options)?,
            None => {
                let installation = match &options.installation {
                    Some(installation) => installation.clone(),
                    None => Installation::find()?,
                };
                let folder = Folder::create(options.base_folder.as_deref())?;
                make_cluster(&folder, &installation)?;
                (folder, installation)
            }
        };
        Self::start_made(folder, installation, options)
    }

    /// Starts a server whose database [`MIGRATED_DATABASE`] holds the schema already, as the program under
    /// test installs it; `None` when this run of the tests has no such template ([`Templates`]).
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_migrated(options: Options) -> Result<Option<Self>> {
        let Some(template) = Kind::Migrated.find_for(&options) else { return Ok(None) };
        let (folder, installation) = copy_of(&template, &options)?;
        Self::start_made(folder, installation, options).map(Some)
    }

    /// Copies this server with `pg_basebackup` and starts the copy as a hot standby that follows it.
    ///
    /// # Errors
    ///
    /// As [`Self::start`], and when `pg_basebackup` is missing or fails.
    pub fn standby(&self) -> Result<Self> {
        let folder = Folder::create(self.options.base_folder.as_deref())?;
        run(folder
            .command(&self.bin_dir().join("pg_basebackup"))
            .args(["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream"])
            .args(["--no-sync", "--username=postgres", "--host=127.0.0.1"])
            .arg(format!("--port={}", self.port))
            .arg("-D")
            .arg(folder.data()))?;
        Self::start_first(folder, self.installation.clone(), self.options.clone())
    }

    /// Makes this standby the primary; returns when it is.
    ///
    /// # Errors
    ///
    /// When it is none, or is not the primary after two minutes.
    pub async fn promote(&self) -> Result<()> {
        let client = self.connect().await?;
        let promote = "select pg_promote(true, 120)";
        let is_primary: bool =
            client.query_one(promote, &[]).await.context("could not promote it")?.get(0);
        ensure!(is_primary, "the standby did not take over");
        Ok(())
    }

    /// The address of the database `postgres`, for the superuser.
    pub fn url(&self) -> String {
        self.url_for("postgres")
    }

    /// The address of a database, for the superuser.
    pub fn url_for(&self, database: &str) -> String {
        self.url_as("postgres", database)
    }

    /// The address of a database, for a role.
    pub fn url_as(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// The TCP port on 127.0.0.1. It stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the unix socket.
    pub fn socket_dir(&self) -> PathBuf {
        self.folder.socket()
    }

    /// The data folder.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.data()
    }

    /// The folder of the server binaries.
    pub fn bin_dir(&self) -> &Path {
        self.installation.bin_dir()
    }

    /// The version of the server, such as `15.14`.
    pub fn version(&self) -> &str {
        self.installation.version()
    }

    /// The process id of the postmaster while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().filter(|process| process.is_running()).map(Process::pid)
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        std::fs::read(self.folder.log())
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }

    /// Connects to the database `postgres` as superuser. The connection's task is spawned.
    ///
    /// # Errors
    ///
    /// When the server refuses.
    pub async fn connect(&self) -> Result<Client> {
        self.connect_to("postgres").await
    }

    /// Connects to a database as superuser. The connection's task is spawned on the runtime and
    /// ends with the client.
    ///
    /// # Errors
    ///
    /// When the server refuses, or there is no such database.
    pub async fn connect_to(&self, database: &str) -> Result<Client> {
        self.connect_as("postgres", database).await
    }

    /// Connects to a database as this role, likewise.
    ///
    /// # Errors
    ///
    /// When the server refuses, or there is no such role or database.
    pub async fn connect_as(&self, role: &str, database: &str) -> Result<Client> {
        let url = self.url_as(role, database);
        let (client, connection) = tokio_postgres::connect(&url, NoTls)
            .await
            .with_context(|| format!("could not connect to {url}"))?;
        // The client reports a broken connection at its next statement; nothing is lost here.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(client)
    }

    /// Creates an empty database.
    ///
    /// # Errors
    ///
    /// When it exists already.
    pub async fn create_database(&self, name: &str) -> Result<()> {
        self.execute("postgres", &format!("create database \"{}\"", name.replace('"', "\"\"")))
            .await
    }

    /// Runs SQL statements, separated by `;`, in a database as superuser.
    ///
    /// # Errors
    ///
    /// The first statement that fails.
    pub async fn execute(&self, database: &str, sql: &str) -> Result<()> {
        let client = self.connect_to(database).await?;
        client.batch_execute(sql).await.with_context(|| format!("could not run `{sql}`"))
    }

    /// Stops the server (fast: sessions are cut, a checkpoint is written). The folder stays.
    ///
    /// # Errors
    ///
    /// When it does not stop in time.
    pub fn stop(&mut self) -> Result<()> {
        let Some(process) = &self.process else { return Ok(()) };
        process.signal(libc::SIGINT);
        ensure!(
            process.wait_blocking(STOP_TIMEOUT).is_some(),
            "PostgreSQL did not stop within {STOP_TIMEOUT:?}; its log ends:\n{}",
            self.log_tail()
        );
        self.process = None;
        Ok(())
    }

    /// Ends the server without a checkpoint and without a word to sessions (immediate shutdown): the
    /// next start recovers.
    ///
    /// # Errors
    ///
    /// When it does not end in time.
    pub fn stop_immediately(&mut self) -> Result<()> {
        let Some(process) = &self.process else { return Ok(()) };
        process.signal(libc::SIGQUIT);
        ensure!(
            process.wait_blocking(STOP_TIMEOUT).is_some(),
            "PostgreSQL did not end within {STOP_TIMEOUT:?}; its log ends:\n{}",
            self.log_tail()
        );
        self.process = None;
        Ok(())
    }

    /// Kills the server with SIGKILL, all its processes at once, as a crash of the machine would.
    ///
    /// When it returns, all of them are gone, so that [`Self::start_again`] works.
    ///
    /// # Errors
    ///
    /// When one of the processes does not disappear in time.
    pub fn kill(&mut self) -> Result<()> {
        let Some(process) = self.process.take() else { return Ok(()) };
        let deadline = Instant::now() + KILL_TIMEOUT;
        // The children are listed before the postmaster ends: one that is about to end has no working
        // folder any more, by which it is known afterwards.
        let children = child::processes_in(&self.data_dir());
        process.signal(libc::SIGKILL);
        let is_gone = process.wait_blocking(KILL_TIMEOUT).is_some()
            && child::kill(&children, deadline)
            && self.folder.kill_processes(deadline);
        ensure!(is_gone, "processes of PostgreSQL are still there {KILL_TIMEOUT:?} after SIGKILL");
        Ok(())
    }

    /// Starts the server again after [`Self::stop`] or [`Self::kill`], on the same port.
    ///
    /// # Errors
    ///
    /// When it does not come up (the message ends with its log), or is running.
    pub fn start_again(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "PostgreSQL is running; stop or kill it first");
        match self.launch()? {
            Launch::Ready => Ok(()),
            Launch::PortTaken => bail!("port {} was taken while PostgreSQL was down", self.port),
        }
    }

    /// [`Self::stop`] and [`Self::start_again`].
    ///
    /// # Errors
    ///
    /// As both.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.start_again()
    }

    /// Starts a cluster for the first time, with its options.
    fn start_made(folder: Folder, installation: Installation, options: Options) -> Result<Self> {
        let mut conf = std::fs::OpenOptions::new()
            .append(true)
            .open(folder.data().join("postgresql.conf"))
            .context("could not open postgresql.conf")?;
        conf.write_all(options.postgresql_conf().as_bytes())
            .context("could not write postgresql.conf")?;
        Self::start_first(folder, installation, options)
    }

    /// The first start chooses the port.
    fn start_first(folder: Folder, installation: Installation, options: Options) -> Result<Self> {
        let mut server = Self { process: None, folder, port: 0, installation, options };
        for _ in 0..PORT_TRIES {
            server.port = port::find_free()?;
            if let Launch::Ready = server.launch()? {
                return Ok(server);
            }
        }
        bail!("found no port that stayed free until PostgreSQL started ({PORT_TRIES} tries)")
    }

    fn launch(&mut self) -> Result<Launch> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.log())
            .context("could not open the log file of PostgreSQL")?;
        let log_start = log.metadata()?.len();
        let mut command = self.folder.command(&self.bin_dir().join("postgres"));
        command
            .arg("-D")
            .arg(self.folder.data())
            .arg("-k")
            .arg(self.folder.socket())
            .args(["-c", "listen_addresses=127.0.0.1", "-p"])
            .arg(self.port.to_string())
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        // SIGQUIT is PostgreSQL's immediate shutdown: it takes the children along and leaves no
        // shared memory behind, which SIGKILL would.
        let (process, ()) = Process::spawn(command, libc::SIGQUIT, |_| ())
            .with_context(|| format!("could not run postgres in {}", self.bin_dir().display()))?;
        let launch = self.wait_for_start(&process, log_start);
        self.process = Some(process);
        if !matches!(launch, Ok(Launch::Ready)) {
            self.end();
        }
        launch
    }

    fn wait_for_start(&self, process: &Process, log_start: u64) -> Result<Launch> {
        let deadline = Instant::now() + START_TIMEOUT;
        while !accepts_sessions(self.port) {
            if let Some(status) = process.status() {
                let log = self.log();
                let log = log.get(log_start as usize..).unwrap_or(&log);
                if log.contains("could not bind") || log.contains("could not create any TCP/IP") {
                    return Ok(Launch::PortTaken);
                }
                bail!("PostgreSQL ended at its start ({status}); it said:\n{log}");
            }
            ensure!(
                Instant::now() < deadline,
                "PostgreSQL did not accept connections within {START_TIMEOUT:?}; its log ends:\n{}",
                self.log_tail()
            );
            std::thread::sleep(RETRY_PAUSE);
        }
        Ok(Launch::Ready)
    }

    /// Ends the server the quickest way: the data is about to be thrown away.
    ///
    /// An immediate shutdown frees the shared memory. A server that does not react to it is killed,
    /// and the end of the folder frees it.
    fn end(&mut self) {
        if let Some(process) = &self.process
            && process.signal(libc::SIGQUIT)
        {
            process.wait_blocking(END_TIMEOUT);
        }
        if let Err(error) = self.kill() {
            eprintln!("private PostgreSQL: {error:#}");
        }
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let mut start = log.len().saturating_sub(LOG_TAIL_BYTES);
        while !log.is_char_boundary(start) {
            start += 1;
        }
        log[start..].to_owned()
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        self.end();
    }
}

enum Launch {
    Ready,
    PortTaken,
}

/// Makes the cluster of a folder.
fn make_cluster(folder: &Folder, installation: &Installation) -> Result<()> {
    run(folder
        .command(&installation.bin_dir().join("initdb"))
        .args(["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-U", "postgres", "-D"])
        .arg(folder.data()))
}

/// Makes a folder with a copy of a template.
fn copy_of(template: &Path, options: &Options) -> Result<(Folder, Installation)> {
    let base = options.base_folder.as_deref().or_else(|| templates::base_of(template));
    let folder = Folder::create(base)?;
    templates::copy(template, &folder)?;
    Ok((folder, Installation::find()?))
}

/// Runs a program to its end; an error carries what it printed.
fn run(command: &mut Command) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("could not run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed ({}):\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Whether the server lets a session in: it answers a start-up message with an authentication
/// request and not with an error such as "the database system is starting up".
pub(crate) fn accepts_sessions(port: u16) -> bool {
    let ask = || -> std::io::Result<u8> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        let parameters = b"user\0postgres\0database\0postgres\0\0";
        // Length including itself, then protocol version 3.0.
        let mut message = Vec::from((parameters.len() as u32 + 8).to_be_bytes());
        message.extend(0x0003_0000_u32.to_be_bytes());
        message.extend(parameters);
        stream.write_all(&message)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        stream.write_all(b"X\0\0\0\x04")?;
        Ok(kind[0])
    };
    ask().is_ok_and(|kind| kind == b'R')
}

#[cfg(test)]
mod tests;
