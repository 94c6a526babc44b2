//! A private RabbitMQ: own port, own temporary folder, never as root, gone afterwards.
//!
//! Guarantees:
//! - The server is started from the Erlang applications on the machine ([`Installation::find`]); a
//!   server of the system is never used, nor its settings, cookie or name server: ours runs without
//!   epmd.
//! - It is gone when the value is dropped, when our process is interrupted, and when our process is
//!   killed: the kernel kills it (`PR_SET_PDEATHSIG`), its helpers end with it, and the folder is
//!   removed by its watchdog or swept by the next start.
//! - Any number of servers can run at once.
//!
//! Starting, stopping, killing and asking block the calling thread. A start costs about three
//! seconds of a processor: tests that do not hurt the server use [`shared::virtual_host`].

pub mod client;
mod control;
mod installation;
pub mod shared;
mod virtual_host;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::child::{self, Process};
use crate::port;
use crate::postgres::PORT_TRIES;
use crate::postgres::folder::Folder;
use control::Control;
pub use installation::{Installation, ensure_installed};
use virtual_host::binary;
pub use virtual_host::{Binding, Exchange, Queue, VirtualHost};

/// How long a start may take on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(180);
/// How long an orderly stop may take.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long killed processes may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two looks while we wait for the start.
const RETRY_PAUSE: Duration = Duration::from_millis(20);
/// How many of the last lines of the server's log an error shows.
const LOG_TAIL_LINES: usize = 40;

/// The files in the data folder with what it shows who it is with.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// The virtual host that every server has.
const DEFAULT_HOST: &str = "/";

/// How a private server is set up.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings of the application `rabbit`, as name and Erlang term.
    pub settings: Vec<(String, String)>,
    /// Where the temporary folder is made; `None` means the system's temporary folder. When we are
    /// root, other users must be able to reach it.
    pub base_folder: Option<PathBuf>,
    /// It listens on a second port, which speaks nothing but TLS.
    pub tls: Option<Tls>,
}

/// What a server shows who it is with, both in PEM.
#[derive(Debug, Clone)]
pub struct Tls {
    pub certificate: String,
    pub key: String,
}

impl Options {
    /// Adds a setting of the application `rabbit`; its value is an Erlang term.
    ///
    /// Worth knowing: `consumer_timeout` (milliseconds, or `undefined`) is how long a consumer may
    /// keep a message without an answer before its channel is closed. It is looked at every
    /// `channel_tick_interval` (60,000 ms), so a short one needs that to be short, too.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// Erlang's own form of the configuration: reading rabbitmq.conf takes a second.
    fn advanced_config(&self, port: u16, tls_port: Option<u16>, data: &Path) -> String {
        let mut fixed = vec![
            ("tcp_listeners", format!("[{{\"127.0.0.1\", {port}}}]")),
            ("num_tcp_acceptors", "2".to_owned()),
            ("disk_free_limit", "50000000".to_owned()),
            (
                "log",
                "[{console, [{enabled, true}, {level, info}]}, {file, [{file, false}]}]".to_owned(),
            ),
        ];
        if let Some(port) = tls_port {
            let file = |name: &str| data.join(name).display().to_string();
            fixed.extend([
                ("ssl_listeners", format!("[{{\"127.0.0.1\", {port}}}]")),
                ("num_ssl_acceptors", "2".to_owned()),
                (
                    "ssl_options",
                    format!(
                        "[{{certfile, \"{}\"}}, {{keyfile, \"{}\"}}, {{verify, verify_none}}]",
                        file(CERTIFICATE),
                        file(KEY)
                    ),
                ),
            ]);
        }
        let settings: Vec<String> = fixed
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(self.settings.iter().cloned())
            .map(|(name, value)| format!("  {{{name}, {value}}}"))
            .collect();
        format!("[{{rabbit, [\n{}\n]}}].\n", settings.join(",\n"))
    }
}

/// A running (or stopped, or killed) server of our own. Dropping it removes every trace.
#[derive(Debug)]
pub struct PrivateRabbitmq {
    // Before `folder`: the process has to be gone when the folder is removed.
    process: Option<Process>,
    folder: Folder,
    port: u16,
    tls_port: Option<u16>,
    installation: Installation,
    options: Options,
}

impl PrivateRabbitmq {
    /// Starts a server with an empty data folder.
    ///
    /// The user is `guest` with the password `guest`.
    ///
    /// # Errors
    ///
    /// When RabbitMQ is not installed (the message says what to install), or does not come up (the
    /// message ends with its log).
    pub fn start(options: Options) -> Result<Self> {
        let installation = Installation::find()?;
        let folder = Folder::create(options.base_folder.as_deref())?;
        let mut server =
            Self { process: None, folder, port: 0, tls_port: None, installation, options };
        server.link_applications()?;
        for _ in 0..PORT_TRIES {
            server.port = port::find_free()?;
            server.tls_port = server.options.tls.as_ref().map(|_| port::find_free()).transpose()?;
            if let Launch::Ready = server.launch()? {
                return Ok(server);
            }
        }
        bail!("found no port that stayed free until RabbitMQ started ({PORT_TRIES} tries)")
    }

    /// The virtual host `/`, which every server has.
    pub fn host(&self) -> VirtualHost {
        VirtualHost { control: self.control(), name: DEFAULT_HOST.to_owned(), port: self.port }
    }

    /// Makes a virtual host in which `guest` may do everything.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn create_host(&self, name: &str) -> Result<VirtualHost> {
        let host = VirtualHost { control: self.control(), name: name.to_owned(), port: self.port };
        host.evaluate(
            "ok = rabbit_vhost:add(HOST, <<\"xtask\">>), \
             ok = rabbit_auth_backend_internal:set_permissions(<<\"guest\">>, HOST, <<\".*\">>, \
                  <<\".*\">>, <<\".*\">>, <<\"xtask\">>).",
        )?;
        Ok(host)
    }

    /// Removes a virtual host with all that is in it; its connections are closed.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or there is none of that name.
    pub fn drop_host(&self, name: &str) -> Result<()> {
        let expression = format!("rabbit_vhost:delete({}, <<\"xtask\">>).", binary(name));
        self.control().evaluate(&expression)?;
        Ok(())
    }

    /// The address of the virtual host `/`.
    pub fn url(&self) -> String {
        self.host().url()
    }

    /// The TCP port on 127.0.0.1. It stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The TCP port on 127.0.0.1 that speaks TLS, if it was asked for.
    pub fn tls_port(&self) -> Option<u16> {
        self.tls_port
    }

    /// The version of the server, such as `3.10.8`.
    pub fn version(&self) -> &str {
        self.installation.version()
    }

    /// The process id of the server while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().filter(|process| process.is_running()).map(Process::pid)
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        std::fs::read(self.folder.log())
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }

    /// Raises the disk alarm, or ends it: while it lasts, the server reads nothing from connections
    /// that publish, and tells clients so (`connection.blocked`).
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn set_disk_alarm(&self, is_raised: bool) -> Result<()> {
        let resource = "{resource_limit, disk, node()}";
        self.control().evaluate(&match is_raised {
            true => format!("rabbit_alarm:set_alarm({{{resource}, []}})."),
            false => format!("rabbit_alarm:clear_alarm({resource})."),
        })?;
        Ok(())
    }

    /// Stops the server in order: connections are closed with a reason, queues are written. The
    /// folder stays.
    ///
    /// # Errors
    ///
    /// When it does not stop in time.
    pub fn stop(&mut self) -> Result<()> {
        let Some(process) = &self.process else { return Ok(()) };
        let helpers = descendants(process.pid());
        process.signal(libc::SIGTERM);
        let deadline = Instant::now() + STOP_TIMEOUT;
        ensure!(
            process.wait_blocking(STOP_TIMEOUT).is_some()
                && child::wait_until_gone(&helpers, deadline),
            "RabbitMQ did not stop within {STOP_TIMEOUT:?}; its log ends:\n{}",
            self.log_tail()
        );
        self.process = None;
        Ok(())
    }

    /// Kills the server with SIGKILL, all its processes, as a crash of the machine would.
    ///
    /// When it returns, all of them are gone, so that [`Self::start_again`] works.
    ///
    /// # Errors
    ///
    /// When one of the processes does not disappear in time.
    pub fn kill(&mut self) -> Result<()> {
        let Some(process) = self.process.take() else { return Ok(()) };
        let deadline = Instant::now() + KILL_TIMEOUT;
        let helpers = descendants(process.pid());
        process.signal(libc::SIGKILL);
        for &pid in &helpers {
            // SAFETY: kill has no memory effects; the process was ours a moment ago.
            unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
        }
        let is_gone = process.wait_blocking(KILL_TIMEOUT).is_some()
            && child::wait_until_gone(&helpers, deadline);
        ensure!(is_gone, "processes of RabbitMQ are still there {KILL_TIMEOUT:?} after SIGKILL");
        Ok(())
    }

    /// Starts the server again after [`Self::stop`] or [`Self::kill`], on the same port, with what
    /// was durable.
    ///
    /// # Errors
    ///
    /// When it does not come up (the message ends with its log), or is running.
    pub fn start_again(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "RabbitMQ is running; stop or kill it first");
        match self.launch()? {
            Launch::Ready => Ok(()),
            Launch::PortTaken => bail!("port {} was taken while RabbitMQ was down", self.port),
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

    fn control(&self) -> Control {
        Control::at(self.folder.socket().join("control"))
    }

    fn applications(&self) -> PathBuf {
        self.folder.data().join("applications")
    }

    fn link_applications(&self) -> Result<()> {
        let folder = self.applications();
        std::fs::create_dir(&folder).context("could not make the folder of the applications")?;
        for application in self.installation.applications() {
            let name = application.file_name().unwrap_or_default();
            std::os::unix::fs::symlink(&application, folder.join(name))
                .context("could not link an application")?;
        }
        Ok(())
    }

    fn launch(&mut self) -> Result<Launch> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.log())
            .context("could not open the log file of RabbitMQ")?;
        let log_start = log.metadata()?.len() as usize;
        let control = self.control();
        // That of a killed server would keep the next one from listening there.
        let _ = std::fs::remove_file(control.socket());
        let mut command = self.command(&control)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let (process, ()) =
            Process::spawn(command, libc::SIGKILL, |_| ()).context("could not run `erl`")?;
        let deadline = Instant::now() + START_TIMEOUT;
        while !control.is_ready() {
            if let Some(status) = process.status() {
                let log = self.log();
                if log.get(log_start..).unwrap_or(&log).contains("eaddrinuse") {
                    return Ok(Launch::PortTaken);
                }
                bail!("RabbitMQ ended at its start ({status}); its log ends:\n{}", self.log_tail());
            }
            ensure!(
                Instant::now() < deadline,
                "RabbitMQ did not start within {START_TIMEOUT:?}; its log ends:\n{}",
                self.log_tail()
            );
            std::thread::sleep(RETRY_PAUSE);
        }
        self.process = Some(process);
        Ok(Launch::Ready)
    }

    /// The server itself, without the shell script that usually starts it: that one waits beside it,
    /// and it is the server that has to die with us.
    fn command(&self, control: &Control) -> Result<Command> {
        let data = self.folder.data();
        let config = data.join("advanced.config");
        std::fs::write(&config, self.options.advanced_config(self.port, self.tls_port, &data))
            .context("could not write advanced.config")?;
        if let Some(Tls { certificate, key }) = &self.options.tls {
            for (name, text) in [(CERTIFICATE, certificate), (KEY, key)] {
                std::fs::write(data.join(name), text)
                    .with_context(|| format!("could not write {name}"))?;
            }
        }
        let plugins = data.join("enabled_plugins");
        std::fs::write(&plugins, "[].\n").context("could not write enabled_plugins")?;
        let mut command = self.folder.command("erl".as_ref());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", &data)
            .env("SYS_PREFIX", "")
            .env("ERL_LIBS", self.applications())
            .env("ERL_CRASH_DUMP_SECONDS", "0")
            .env("ERL_MAX_PORTS", "4096")
            .env("ERL_MAX_ETS_TABLES", "50000")
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_NODENAME", NODE)
            .env("RABBITMQ_PLUGINS_DIR", self.applications())
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins)
            .env("RABBITMQ_CONFIG_FILE", data.join("rabbitmq"))
            .env("RABBITMQ_ADVANCED_CONFIG_FILE", config)
            .env("RABBITMQ_GENERATED_CONFIG_DIR", data.join("generated"))
            .env("RABBITMQ_FEATURE_FLAGS_FILE", data.join("feature_flags"))
            .env("RABBITMQ_MNESIA_BASE", data.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", data.join("log"))
            .env("RABBITMQ_PID_FILE", data.join("pid"))
            .current_dir(&data);
        // Few threads that do not spin; a name without epmd, whose port stands in the arguments.
        command
            .args(["-noinput", "-boot", "start_sasl", "+W", "w", "+S", "2:2", "+SDio", "4"])
            .args(["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"])
            .args(["-sname", NODE, "-start_epmd", "false"])
            .args(["-erl_epmd_port", &port::find_free()?.to_string()])
            .args(["-kernel", "inet_dist_use_interface", "{127,0,0,1}"])
            .args(["-kernel", "prevent_overlapping_partitions", "false"])
            .args(["-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false"])
            .args(["-s", "rabbit", "boot", "-eval", &control.program()]);
        Ok(command)
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

/// The name of the node, which names its data: the same over restarts. Without epmd several servers
/// may have the same.
const NODE: &str = "private@localhost";

impl Drop for PrivateRabbitmq {
    fn drop(&mut self) {
        // The data is about to be thrown away: the quickest end is the best one.
        if let Err(error) = self.kill() {
            eprintln!("private RabbitMQ: {error:#}");
        }
    }
}

enum Launch {
    Ready,
    PortTaken,
}

/// The children of a process, their children and so on.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut parents = child::children_of(pid);
    while let Some(parent) = parents.pop() {
        found.push(parent);
        parents.extend(child::children_of(parent));
    }
    found
}

#[cfg(test)]
mod tests;
