//! The settings of the process: flags before environment before file.
//!
//! The environment has `POSTRIDER_` and the field's name in capitals, and `DATABASE_URL`; the file is
//! TOML with the fields' names as keys (`--config` or `POSTRIDER_CONFIG`). Whatever is wrong is
//! reported with the field's name, the rule and the bound.
//!
//! What all dispatchers of a database share (timeouts of HTTP, the lease, …) is not here but in the
//! table `postrider.setting`.

use std::{
    ffi::OsString,
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use postrider_core::{environment::Environment, networks::InternalDestinations};
use postrider_engine::Wake;
use postrider_fleet::rabbitmq::AmqpUrl;
use postrider_store::{connect::DatabaseUrl, libpq};
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// The most name servers that can be named, as many as resolv.conf takes.
const NAME_SERVERS_MAX: usize = 3;
const DNS_PORT: u16 = 53;
/// The most threads that can be asked for.
const THREADS_MAX: i64 = 1_024;

/// The settings of a process that talks to a database.
#[derive(Debug, Clone)]
pub struct Config {
    /// `database_url`: where the database is, as a URL or as keywords. Required. Also taken from
    /// `DATABASE_URL`, and from the file named by `POSTRIDER_DATABASE_URL_FILE` or by the key
    /// `database_url_file`, for secrets that are mounted as files.
    pub database_url: DatabaseUrl,
    /// `database_ca_file`: certificate authorities (PEM) that are trusted for the database besides
    /// those of the system and of Mozilla. Naming one also turns the check of the certificate on
    /// where `sslmode` is `prefer`.
    pub database_ca_file: Option<PathBuf>,
    /// `amqp_url`: the RabbitMQ for workers with the carrier `rabbitmq`. Also taken from the file named
    /// by `POSTRIDER_AMQP_URL_FILE` or by the key `amqp_url_file`. Without it there is none.
    pub amqp_url: Option<AmqpUrl>,
    /// `amqp_ca_file`: certificate authorities (PEM) that are trusted for RabbitMQ besides those of
    /// Mozilla.
    pub amqp_ca_file: Option<PathBuf>,
    /// `http_ca_file`: certificate authorities (PEM) that are trusted for receivers besides those of
    /// Mozilla.
    pub http_ca_file: Option<PathBuf>,
    /// `log_format`: `text` (default) or `json`.
    pub log_format: LogFormat,
    /// `log_level`: `error`, `warn`, `info` (default), `debug`, `trace`, or a filter such as
    /// `info,postrider_engine=debug`.
    pub log_level: String,
    /// What is not wrong, and had better be otherwise: files with passwords that others may read.
    pub warnings: Vec<String>,
    /// What only `postrider serve` uses.
    pub serve: ServeConfig,
}

/// The settings of a dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeConfig {
    /// `shutdown_grace_seconds` (30; 0 to 3600): how long a stopping dispatcher waits for what is in
    /// flight.
    pub shutdown_grace: Duration,
    /// `max_in_flight` (1024; 1 to 65536): how many deliveries are under way at a time, over all
    /// endpoints.
    pub max_in_flight: usize,
    /// `max_buffered_messages` (8192; 64 to 1000000): how many messages are held in memory.
    pub max_buffered_messages: usize,
    /// `flush_interval_ms` (5; 1 to 1000): how long a result waits for others to be recorded with.
    pub flush_interval: Duration,
    /// `poll_interval_ms` (50; 1 to 10000): the longest pause between two looks into the log while
    /// messages are being sent. While none are, the dispatcher is woken.
    pub poll_interval: Duration,
    /// `threads` (one per core; 1 to 1024): how many threads deliver.
    pub threads: usize,
    /// `wake`: `auto` (default), `listen` or `poll`.
    pub wake: Wake,
    /// `internal_destinations` (`by-setting`; `never`, or networks): what the database's setting
    /// `allow_internal_destinations` may allow at most.
    pub internal_destinations: InternalDestinations,
    /// `name_servers`: who is asked for the addresses of receivers' names, instead of the system's.
    pub name_servers: Vec<SocketAddr>,
    /// `listen` (127.0.0.1:8780): where the API, metrics and health are served; `off`: nowhere.
    pub listen: Listen,
    /// `behind_proxy` (false): something in front of the listener speaks TLS, so it may listen elsewhere than on
    /// this machine alone. Nobody is trusted for coming from this machine then.
    pub behind_proxy: bool,
}

/// Where a process listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    Off,
    /// On [`DEFAULT_LISTEN`], and if that is taken, nowhere.
    Default,
    /// Here, or the process does not start.
    At(SocketAddr),
}

/// Where a process listens that was not told.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8780);

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What the command line says. A flag that is absent leaves the word to the environment and the
/// file.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Flags {
    /// Read settings from this TOML file [env: POSTRIDER_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The database: postgres://user@host:port/database [env: DATABASE_URL or
    /// POSTRIDER_DATABASE_URL]
    ///
    /// Everybody on the machine can see the arguments of a process: put a password into the
    /// environment, into the file, or into a file named by POSTRIDER_DATABASE_URL_FILE.
    #[arg(long, global = true, value_name = "URL")]
    pub database_url: Option<String>,
    /// Trust the certificate authorities in this PEM file too [env: POSTRIDER_DATABASE_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub database_ca_file: Option<PathBuf>,
    /// How to log: text or json [env: POSTRIDER_LOG_FORMAT]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// What to log: error, warn, info, debug, trace, or a filter [env: POSTRIDER_LOG_LEVEL]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// What the command line of `postrider serve` says on top.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ServeFlags {
    /// How long to wait for what is in flight when stopping: 0 to 3600, by default 30 [env:
    /// POSTRIDER_SHUTDOWN_GRACE_SECONDS]
    #[arg(long, value_name = "SECONDS")]
    pub shutdown_grace_seconds: Option<i64>,
    /// How many deliveries may be under way at a time: 1 to 65536, by default 1024 [env:
    /// POSTRIDER_MAX_IN_FLIGHT]
    #[arg(long, value_name = "COUNT")]
    pub max_in_flight: Option<i64>,
    /// How many messages may be held in memory: 64 to 1000000, by default 8192 [env:
    /// POSTRIDER_MAX_BUFFERED_MESSAGES]
    #[arg(long, value_name = "COUNT")]
    pub max_buffered_messages: Option<i64>,
    /// How long a result waits for others to be recorded with: 1 to 1000, by default 5 [env:
    /// POSTRIDER_FLUSH_INTERVAL_MS]
    #[arg(long, value_name = "MS")]
    pub flush_interval_ms: Option<i64>,
    /// The longest pause between two looks into the log while messages are being sent: 1 to 10000,
    /// by default 50 [env: POSTRIDER_POLL_INTERVAL_MS]
    #[arg(long, value_name = "MS")]
    pub poll_interval_ms: Option<i64>,
    /// How many threads deliver: by default one per core [env: POSTRIDER_THREADS]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<i64>,
    /// How to learn of new messages: listen, poll (where the connection cannot LISTEN), or auto, the
    /// default: poll where the server allows prepared transactions, else listen [env: POSTRIDER_WAKE]
    #[arg(long, value_name = "HOW")]
    pub wake: Option<String>,
    /// Which internal addresses the setting allow_internal_destinations may allow at most: by-setting,
    /// the default, never, or networks such as 10.0.0.0/8 [env: POSTRIDER_INTERNAL_DESTINATIONS]
    #[arg(long, value_name = "NETWORKS")]
    pub internal_destinations: Option<String>,
    /// Ask these servers for the addresses of receivers instead of the system's: up to three
    /// addresses, with or without a port, separated by commas [env: POSTRIDER_NAME_SERVERS]
    #[arg(long, value_name = "ADDRESSES")]
    pub name_servers: Option<String>,
    /// Serve the API, metrics and health here: an address with a port, by default 127.0.0.1:8780, or off
    /// [env: POSTRIDER_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Something in front of the listener speaks TLS: it may listen beyond this machine [env:
    /// POSTRIDER_BEHIND_PROXY]
    #[arg(long)]
    pub behind_proxy: bool,
    /// Trust the certificate authorities in this PEM file too for receivers [env:
    /// POSTRIDER_HTTP_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub http_ca_file: Option<PathBuf>,
    /// The RabbitMQ for workers that get their executions by it:
    /// amqp://user:password@host:5672/virtual%20host, or amqps:// for TLS [env: POSTRIDER_AMQP_URL]
    ///
    /// Everybody on the machine can see the arguments of a process: put a password into the
    /// environment, into the file, or into a file named by POSTRIDER_AMQP_URL_FILE.
    #[arg(long, value_name = "URL")]
    pub amqp_url: Option<String>,
    /// Trust the certificate authorities in this PEM file too for RabbitMQ [env:
    /// POSTRIDER_AMQP_CA_FILE]
    #[arg(long, value_name = "FILE")]
    pub amqp_ca_file: Option<PathBuf>,
}

/// Why the settings cannot be used. The text names the field.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A field that is required is nowhere.
    #[error(
        "database_url is required: pass --database-url, or set DATABASE_URL or PGHOST, or write it \
         into the file given by --config"
    )]
    NoDatabase,
    /// A value that its field cannot have.
    #[error("{field} must be {rule}, got {value}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What it must be, with the bounds.
        rule: String,
        /// What it is.
        value: String,
    },
    /// A file cannot be read.
    #[error("{field}: {path} cannot be read: {reason}")]
    Unreadable {
        /// The field that names the file.
        field: &'static str,
        /// The file, unless it is rather a URL, which may have a password.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is not TOML, has a key that is not known, or a value of the wrong type.
    #[error("configuration: {0}")]
    Malformed(String),
    /// What libpq would do with the environment cannot be done here.
    #[error("{0}")]
    Libpq(String),
    /// A variable is not text.
    #[error("{0}")]
    Environment(String),
}

/// The fields as they are written, before they are checked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    database_url: Option<String>,
    database_url_file: Option<PathBuf>,
    database_ca_file: Option<PathBuf>,
    amqp_url: Option<String>,
    amqp_url_file: Option<PathBuf>,
    amqp_ca_file: Option<PathBuf>,
    log_format: Option<String>,
    log_level: Option<String>,
    shutdown_grace_seconds: Option<i64>,
    max_in_flight: Option<i64>,
    max_buffered_messages: Option<i64>,
    flush_interval_ms: Option<i64>,
    poll_interval_ms: Option<i64>,
    threads: Option<i64>,
    wake: Option<String>,
    internal_destinations: Option<String>,
    name_servers: Option<String>,
    http_ca_file: Option<PathBuf>,
    listen: Option<String>,
    behind_proxy: Option<bool>,
}

/// The fields that the environment may set, as `POSTRIDER_` and the name in capitals. Others with
/// that beginning are somebody else's.
const FIELDS: [&str; 20] = [
    "database_url",
    "database_url_file",
    "database_ca_file",
    "amqp_url",
    "amqp_url_file",
    "amqp_ca_file",
    "log_format",
    "log_level",
    "shutdown_grace_seconds",
    "max_in_flight",
    "max_buffered_messages",
    "flush_interval_ms",
    "poll_interval_ms",
    "threads",
    "wake",
    "internal_destinations",
    "name_servers",
    "http_ca_file",
    "listen",
    "behind_proxy",
];

/// What is wrong, without what stands there: a line of the file may hold a password.
fn describe(error: &config::ConfigError) -> String {
    use config::ConfigError as E;
    match error {
        E::Type { origin, expected, key, .. } => {
            let key = key.as_deref().unwrap_or("a value");
            let origin = origin.as_deref().map(|origin| format!(" in {origin}"));
            format!("{key} must be {expected}{}", origin.unwrap_or_default())
        }
        E::At { error, key, .. } => {
            let key = key.as_deref().map(|key| format!("{key}: "));
            format!("{}{}", key.unwrap_or_default(), describe(error))
        }
        E::FileParse { cause, .. } => {
            let text = cause.to_string();
            // The line, and below it what stands there.
            let place = text.lines().next().and_then(|line| line.strip_prefix("TOML parse error "));
            format!("the file is not TOML{}", place.map(|at| format!(" {at}")).unwrap_or_default())
        }
        E::Message(text) if text.starts_with("unknown field `") => {
            let name = text.split('`').nth(1).unwrap_or_default();
            let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            match name.len() <= 40 && name.bytes().all(is_name) {
                true => text.clone(),
                false => "it has a key that is not known".to_owned(),
            }
        }
        _ => "a value is not of the right type".to_owned(),
    }
}

impl From<config::ConfigError> for ConfigError {
    fn from(error: config::ConfigError) -> Self {
        Self::Malformed(describe(&error))
    }
}

impl Config {
    /// Puts flags, environment and file together and checks every field.
    ///
    /// # Errors
    ///
    /// The first field that is wrong.
    pub fn load(
        flags: &Flags,
        serve: &ServeFlags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let (written, environment, warnings) = gather(flags, serve, environment)?;
        written.check(&environment, warnings)
    }

    /// Checks what is said about logging, for commands that need nothing else.
    ///
    /// # Errors
    ///
    /// The first field of those that is wrong.
    pub fn check_logging(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        let (written, ..) = gather(flags, &ServeFlags::default(), environment)?;
        log_level(written.log_level).and(log_format(written.log_format.as_deref())).map(|_| ())
    }
}

/// Puts flags, environment and file together.
fn gather(
    flags: &Flags,
    serve: &ServeFlags,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(Written, Environment, Vec<String>), ConfigError> {
    let environment: Environment = environment.into_iter().collect();
    check_environment(&environment)?;
    let file = flags.config.clone();
    let file = file.or_else(|| environment.get("POSTRIDER_CONFIG").map(PathBuf::from));
    let from_file = file.as_deref().map(read_file).transpose()?.unwrap_or_default();
    let has_password = [&from_file.database_url, &from_file.amqp_url]
        .into_iter()
        .flatten()
        .any(|url| has_password(url));
    let open = file.filter(|path| has_password && is_open_to_all(path));
    let warnings = open.map(|path| open_file("config", &path)).into_iter().collect();
    let from_environment = read_environment(&environment)?;
    let from_flags = Written {
        database_url: flags.database_url.clone(),
        database_url_file: None,
        database_ca_file: flags.database_ca_file.clone(),
        amqp_url: serve.amqp_url.clone(),
        amqp_url_file: None,
        amqp_ca_file: serve.amqp_ca_file.clone(),
        log_format: flags.log_format.clone(),
        log_level: flags.log_level.clone(),
        shutdown_grace_seconds: serve.shutdown_grace_seconds,
        max_in_flight: serve.max_in_flight,
        max_buffered_messages: serve.max_buffered_messages,
        flush_interval_ms: serve.flush_interval_ms,
        poll_interval_ms: serve.poll_interval_ms,
        threads: serve.threads,
        wake: serve.wake.clone(),
        internal_destinations: serve.internal_destinations.clone(),
        name_servers: serve.name_servers.clone(),
        http_ca_file: serve.http_ca_file.clone(),
        listen: serve.listen.clone(),
        behind_proxy: serve.behind_proxy.then_some(true),
    };
    Ok((from_flags.or(from_environment).or(from_file), environment, warnings))
}

/// Whether there is a password in it: `user:password@`, or the keyword.
fn has_password(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    authority.is_some_and(|(credentials, _)| credentials.contains(':')) || has_keyword(url)
}

fn has_keyword(url: &str) -> bool {
    let mut parts = url.split("password").skip(1);
    parts.any(|behind| behind.trim_start().starts_with('='))
}

fn is_open_to_all(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

fn open_file(field: &str, path: &Path) -> String {
    format!("{field}: {} holds a password and may be read by everybody: chmod o-r", path.display())
}

fn read_file(path: &Path) -> Result<Written, ConfigError> {
    let text = fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        field: "config",
        path: shown(path),
        reason: error.to_string(),
    })?;
    let source = config::File::from_str(&text, config::FileFormat::Toml);
    let written = config::Config::builder().add_source(source).build();
    written.and_then(config::Config::try_deserialize).map_err(|error| {
        ConfigError::Malformed(format!("{}: {}", path.display(), describe(&error)))
    })
}

/// The variable of a field.
fn variable_of(field: &str) -> String {
    format!("POSTRIDER_{}", field.to_uppercase())
}

/// Those of ours are text or not set. Those of libpq count when a database is connected to.
fn check_environment(environment: &Environment) -> Result<(), ConfigError> {
    let others = ["POSTRIDER_CONFIG", "DATABASE_URL", "DATABASE_URL_FILE", "PGSSLROOTCERT"];
    let fields = FIELDS.iter().map(|field| variable_of(field));
    fields
        .chain(others.map(str::to_owned))
        .try_for_each(|name| environment.check(&name).map_err(ConfigError::Environment))
}

/// `DATABASE_URL` stands behind the variables of our own name.
fn read_environment(environment: &Environment) -> Result<Written, ConfigError> {
    let variable = |field: &&str| {
        let name = variable_of(field);
        environment.get(&name).map(|value| (name, value.clone()))
    };
    let known = FIELDS.iter().filter_map(variable).collect();
    let source = config::Environment::with_prefix("POSTRIDER").source(Some(known));
    let written = config::Config::builder().add_source(source).build()?;
    let mut written: Written = written.try_deserialize()?;
    // "system" are those that are trusted anyway; that they are asked is libpq's business.
    if written.database_ca_file.is_none() {
        let file = environment.get("PGSSLROOTCERT").filter(|file| *file != "system");
        written.database_ca_file = file.map(PathBuf::from);
    }
    if written.database_url.is_none() && written.database_url_file.is_none() {
        written.database_url = environment.get("DATABASE_URL").cloned();
        written.database_url_file = environment.get("DATABASE_URL_FILE").map(PathBuf::from);
    }
    Ok(written)
}

impl Written {
    /// What `self` does not say, `other` says.
    fn or(self, other: Self) -> Self {
        let has_database = self.database_url.is_some() || self.database_url_file.is_some();
        let (database_url, database_url_file) = if has_database {
            (self.database_url, self.database_url_file)
        } else {
            (other.database_url, other.database_url_file)
        };
        let has_broker = self.amqp_url.is_some() || self.amqp_url_file.is_some();
        let (amqp_url, amqp_url_file) = if has_broker {
            (self.amqp_url, self.amqp_url_file)
        } else {
            (other.amqp_url, other.amqp_url_file)
        };
        Self {
            database_url,
            database_url_file,
            database_ca_file: self.database_ca_file.or(other.database_ca_file),
            amqp_url,
            amqp_url_file,
            amqp_ca_file: self.amqp_ca_file.or(other.amqp_ca_file),
            log_format: self.log_format.or(other.log_format),
            log_level: self.log_level.or(other.log_level),
            shutdown_grace_seconds: self.shutdown_grace_seconds.or(other.shutdown_grace_seconds),
            max_in_flight: self.max_in_flight.or(other.max_in_flight),
            max_buffered_messages: self.max_buffered_messages.or(other.max_buffered_messages),
            flush_interval_ms: self.flush_interval_ms.or(other.flush_interval_ms),
            poll_interval_ms: self.poll_interval_ms.or(other.poll_interval_ms),
            threads: self.threads.or(other.threads),
            wake: self.wake.or(other.wake),
            internal_destinations: self.internal_destinations.or(other.internal_destinations),
            name_servers: self.name_servers.or(other.name_servers),
            http_ca_file: self.http_ca_file.or(other.http_ca_file),
            listen: self.listen.or(other.listen),
            behind_proxy: self.behind_proxy.or(other.behind_proxy),
        }
    }

    fn check(
        self,
        environment: &Environment,
        mut warnings: Vec<String>,
    ) -> Result<Config, ConfigError> {
        let mut read = |field: &'static str, url: Option<String>, file: Option<PathBuf>| {
            let (None, Some(path)) = (&url, file) else { return Ok(url) };
            let text = read_secret(field, &path)?;
            if has_password(&text) && is_open_to_all(&path) {
                warnings.push(open_file(field, &path));
            }
            Ok::<_, ConfigError>(Some(text))
        };
        let database_url = read("database_url_file", self.database_url, self.database_url_file)?;
        let amqp_url = read("amqp_url_file", self.amqp_url, self.amqp_url_file)?;
        let (database_url, warning) =
            libpq::complete(database_url.as_deref(), environment).map_err(ConfigError::Libpq)?;
        warnings.extend(warning);
        let database_url = database_url.ok_or(ConfigError::NoDatabase)?;
        let log_format = log_format(self.log_format.as_deref())?;
        let wake = match self.wake.as_deref() {
            None | Some("auto") => Wake::Auto,
            Some("listen") => Wake::Listen,
            Some("poll") => Wake::Poll,
            Some(other) => return Err(invalid("wake", "auto, listen or poll", other)),
        };
        let log_level = log_level(self.log_level)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as i64;
        let threads = self.threads.or(Some(cores.min(THREADS_MAX)));
        let grace = bounded("shutdown_grace_seconds", self.shutdown_grace_seconds, 30, (0, 3_600))?;
        let flush = bounded("flush_interval_ms", self.flush_interval_ms, 5, (1, 1_000))?;
        let poll = bounded("poll_interval_ms", self.poll_interval_ms, 50, (1, 10_000))?;
        let behind_proxy = self.behind_proxy.unwrap_or_default();
        let serve = ServeConfig {
            shutdown_grace: Duration::from_secs(grace),
            max_in_flight: bounded("max_in_flight", self.max_in_flight, 1_024, (1, 65_536))?
                as usize,
            max_buffered_messages: bounded(
                "max_buffered_messages",
                self.max_buffered_messages,
                8_192,
                (64, 1_000_000),
            )? as usize,
            flush_interval: Duration::from_millis(flush),
            poll_interval: Duration::from_millis(poll),
            threads: bounded("threads", threads, 1, (1, THREADS_MAX))? as usize,
            wake,
            internal_destinations: internal_destinations(self.internal_destinations.as_deref())?,
            name_servers: name_servers(self.name_servers.as_deref().unwrap_or_default())?,
            listen: listen(self.listen.as_deref(), behind_proxy)?,
            behind_proxy,
        };
        Ok(Config {
            database_url: DatabaseUrl::new(database_url.trim()),
            database_ca_file: self.database_ca_file,
            amqp_url: amqp_url.map(|url| AmqpUrl::new(url.trim())),
            amqp_ca_file: self.amqp_ca_file,
            http_ca_file: self.http_ca_file,
            log_format,
            log_level,
            warnings,
            serve,
        })
    }
}

fn internal_destinations(value: Option<&str>) -> Result<InternalDestinations, ConfigError> {
    match value {
        None | Some("by-setting") => Ok(InternalDestinations::On),
        Some("never") => Ok(InternalDestinations::Off),
        Some(networks) => match networks.parse() {
            Ok(networks @ InternalDestinations::Only(_)) => Ok(networks),
            _ => {
                let rule = "by-setting, never, or networks such as `10.0.0.0/8, fd00::/8`";
                Err(invalid("internal_destinations", rule, networks))
            }
        },
    }
}

fn name_servers(value: &str) -> Result<Vec<SocketAddr>, ConfigError> {
    let parse = |server: &str| {
        let server = server.trim();
        let bare = server.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS_PORT));
        bare.or_else(|_| server.parse()).ok()
    };
    let servers = value.split(',').filter(|server| !server.trim().is_empty());
    let servers: Option<Vec<_>> = servers.map(parse).collect();
    servers.filter(|servers| servers.len() <= NAME_SERVERS_MAX).ok_or_else(|| {
        invalid("name_servers", "up to three addresses such as `10.0.0.2, 10.0.0.3:5353`", value)
    })
}

/// There is no TLS here, and tokens are not sent in the clear over a network.
fn listen(value: Option<&str>, behind_proxy: bool) -> Result<Listen, ConfigError> {
    let value = match value {
        None => return Ok(Listen::Default),
        Some("off") => return Ok(Listen::Off),
        Some(value) => value.trim(),
    };
    let at: SocketAddr = value.parse().map_err(|_| {
        invalid("listen", "an address with a port such as 127.0.0.1:8780, or off", value)
    })?;
    if at.ip().to_canonical().is_loopback() || behind_proxy {
        return Ok(Listen::At(at));
    }
    let rule = "an address of this machine alone, such as 127.0.0.1:8780, unless behind_proxy says that \
                something in front of it speaks TLS";
    Err(invalid("listen", rule, value))
}

fn log_format(written: Option<&str>) -> Result<LogFormat, ConfigError> {
    match written {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(invalid("log_format", "text or json", other)),
    }
}

/// A level, or levels of parts of the program. A word that is no level would count as the name of a part
/// that there is not, and nothing would be logged.
fn log_level(written: Option<String>) -> Result<String, ConfigError> {
    let text = written.unwrap_or_else(|| "info".to_owned());
    let is_level = |word: &str| {
        let levels = ["off", "error", "warn", "info", "debug", "trace"];
        levels.iter().any(|level| word.trim().eq_ignore_ascii_case(level))
    };
    let is_part = |part: &str| {
        let part = part.trim();
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte))
    };
    let is_valid = text.split(',').all(|directive| match directive.split_once('=') {
        Some((part, level)) => is_part(part) && is_level(level),
        None => is_level(directive),
    });
    if is_valid && EnvFilter::try_new(&text).is_ok() {
        return Ok(text);
    }
    let rule = "error, warn, info, debug, trace, or a filter such as `info,postrider=debug`";
    Err(invalid("log_level", rule, &text))
}

/// A URL in place of a file's name is not shown.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains("://") || text.contains('@') { "what it names".to_owned() } else { text }
}

/// A secret that stands in a file of its own, usually with a line end behind it.
fn read_secret(field: &'static str, path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        field,
        path: shown(path),
        reason: error.to_string(),
    })
}

fn bounded(
    field: &'static str,
    value: Option<i64>,
    default: u64,
    (minimum, maximum): (i64, i64),
) -> Result<u64, ConfigError> {
    let Some(value) = value else { return Ok(default) };
    if (minimum..=maximum).contains(&value) {
        return Ok(value.unsigned_abs());
    }
    Err(invalid(field, &format!("between {minimum} and {maximum}"), value))
}

fn invalid(field: &'static str, rule: &str, value: impl ToString) -> ConfigError {
    ConfigError::Invalid { field, rule: rule.to_owned(), value: value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)], flags: Flags) -> Result<Config, ConfigError> {
        let folder = std::env::temp_dir().join(format!("postrider-config-{}", fastrand::u64(..)));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("postrider.toml");
        fs::write(&path, file).unwrap();
        let flags = Flags { config: Some(path), ..flags };
        let environment = environment.iter().map(|&(name, value)| (name.into(), value.into()));
        let loaded = Config::load(&flags, &ServeFlags::default(), environment);
        fs::remove_dir_all(folder).unwrap();
        loaded
    }

    #[track_caller]
    fn check_error(file: &str, environment: &[(&str, &str)], expected: &[&str]) {
        let url = Flags { database_url: Some("postgres://h/db".to_owned()), ..Flags::default() };
        let text = load(file, environment, url).unwrap_err().to_string();
        for part in expected {
            assert!(text.contains(part), "`{part}` is not in `{text}`");
        }
    }

    #[test]
    fn an_error_names_the_field_the_rule_and_the_bound() {
        check_error(
            "max_in_flight = 0",
            &[],
            &["max_in_flight must be between 1 and 65536, got 0"],
        );
        check_error("threads = -1", &[], &["threads must be between 1 and 1024, got -1"]);
        check_error("wake = 'never'", &[], &["wake must be auto, listen or poll, got never"]);
        check_error("log_format = 'xml'", &[], &["log_format must be text or json, got xml"]);
        check_error("", &[("POSTRIDER_LOG_LEVEL", "info,=,=")], &["log_level must be"]);
        check_error("max_in_flight = 'many'", &[], &["max_in_flight", "integer", "postrider.toml"]);
        check_error("", &[("POSTRIDER_THREADS", "many")], &["threads", "integer", "environment"]);
        check_error("max_inflight = 5", &[], &["unknown field `max_inflight`", "postrider.toml"]);
        check_error("[serve]\nthreads = 5", &[], &["serve"]);
        check_error("threads = ", &[], &["configuration"]);
    }

    #[test]
    fn what_the_database_may_allow_has_a_bound() {
        let bound = |value: &str| {
            let file = format!("database_url = 'host=h'\ninternal_destinations = '{value}'");
            load(&file, &[], Flags::default()).unwrap().serve.internal_destinations
        };
        assert_eq!(bound("by-setting"), InternalDestinations::On);
        assert_eq!(bound("never"), InternalDestinations::Off);
        assert_eq!(bound("10.0.0.0/8"), "10.0.0.0/8".parse().unwrap());
        for wrong in ["on", "off", "10.0.0.0/33", "localhost"] {
            let file = format!("internal_destinations = '{wrong}'");
            check_error(&file, &[], &["internal_destinations must be by-setting, never,", wrong]);
        }
    }

    #[test]
    fn name_servers_are_addresses() {
        let file = "database_url = 'host=h'\nname_servers = '10.0.0.2, [::1]:5353,127.0.0.1:9'";
        let servers = load(file, &[], Flags::default()).unwrap().serve.name_servers;
        let expected = ["10.0.0.2:53", "[::1]:5353", "127.0.0.1:9"].map(|s| s.parse().unwrap());
        assert_eq!(servers, expected);
        check_error("name_servers = 'dns.example.com'", &[], &["name_servers must be up to three"]);
        check_error("name_servers = '::1,::2,::3,::4'", &[], &["name_servers must be up to three"]);
    }

    #[test]
    fn nothing_listens_beyond_this_machine_without_a_proxy() {
        let listen = |line: &str| {
            let file = format!("database_url = 'host=h'\n{line}");
            load(&file, &[], Flags::default()).map(|config| config.serve.listen)
        };
        assert_eq!(listen("").unwrap(), Listen::Default);
        assert_eq!(listen("listen = 'off'").unwrap(), Listen::Off);
        for address in ["127.0.0.1:0", "127.8.9.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            let at = Listen::At(address.parse().unwrap());
            assert_eq!(listen(&format!("listen = '{address}'")).unwrap(), at);
        }
        for address in ["0.0.0.0:8780", "[::]:8780", "10.1.2.3:80", "192.0.2.1:80"] {
            let file = format!("listen = '{address}'");
            check_error(&file, &[], &["listen must be an address of this machine alone", address]);
            let file = format!("behind_proxy = true\n{file}");
            assert_eq!(listen(&file).unwrap(), Listen::At(address.parse().unwrap()));
        }
        for wrong in ["8780", "localhost:8780", "127.0.0.1", "on", ""] {
            let file = format!("listen = '{wrong}'");
            check_error(&file, &[], &["listen must be an address with a port"]);
        }
        let environment = [("POSTRIDER_LISTEN", "0.0.0.0:1"), ("POSTRIDER_BEHIND_PROXY", "true")];
        let config = load("database_url = 'host=h'", &environment, Flags::default()).unwrap();
        assert_eq!(config.serve.listen, Listen::At("0.0.0.0:1".parse().unwrap()));
    }

    #[test]
    fn a_level_that_is_none_is_refused() {
        for level in
            ["verbose", "infoo", "", "info,", "warn=debug=x", "postrider=loud", "5", "a[b]=info"]
        {
            let flags = Flags { log_level: Some(level.to_owned()), ..Flags::default() };
            let error = Config::check_logging(&flags, []).unwrap_err().to_string();
            assert!(error.starts_with("log_level must be"), "{level}: {error}");
        }
        for level in ["info", "DEBUG", "off", "info,postrider=debug", "warn,postrider_engine=trace"]
        {
            let flags = Flags { log_level: Some(level.to_owned()), ..Flags::default() };
            Config::check_logging(&flags, []).unwrap_or_else(|error| panic!("{level}: {error}"));
        }
    }

    #[test]
    fn no_error_quotes_what_stands_in_the_file() {
        for file in [
            "database_url = postgres://u:s3cret@h/db",
            "database_url = 'postgres://u:s3cret@h/db",
            "postgres://u:s3cret@h/db",
            "threads = 'postgres://u:s3cret@h/db'",
            "database_url = ['postgres://u:s3cret@h/db']",
            "'postgres://u:s3cret@h/db' = 1",
            "threads = 5\nthreads = 's3cret'",
            "[database_url]\ns3cret = 1",
        ] {
            let error = load(file, &[], Flags::default()).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("s3cret") && text.contains("postrider.toml"), "{file}: {text}");
        }
        check_error("threads = 5\nwake = x", &[], &["not TOML at line 2"]);
        let error = load("", &[("POSTRIDER_THREADS", "s3cret")], Flags::default()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn a_password_that_everybody_may_read_is_warned_of() {
        let path = std::env::temp_dir().join(format!("postrider-open-{}", fastrand::u64(..)));
        let warnings = |mode: u32, text: &str, as_config: bool| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let name = path.to_str().unwrap().to_owned();
            let variable =
                if as_config { "POSTRIDER_CONFIG" } else { "POSTRIDER_DATABASE_URL_FILE" };
            let environment = [(variable.into(), name.into())];
            Config::load(&Flags::default(), &ServeFlags::default(), environment).unwrap().warnings
        };
        let url = "postgres://u:s3cret@h/db";
        let file = format!("database_url = '{url}'");
        for (text, as_config) in
            [(file.as_str(), true), (url, false), ("host=h password=s3cret", false)]
        {
            let said = warnings(0o644, text, as_config);
            assert_eq!(said.len(), 1, "{text}");
            assert!(said[0].contains("chmod") && !said[0].contains("s3cret"), "{said:?}");
            assert_eq!(warnings(0o640, text, as_config), [""; 0], "{text}");
        }
        assert_eq!(warnings(0o644, "postgres://u@h/db", false), [""; 0]);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_environment_of_libpq_counts() {
        let config = load("", &[("PGHOST", "db"), ("PGSSLROOTCERT", "/ca.pem")], Flags::default());
        let config = config.unwrap();
        assert_eq!(config.database_url.expose(), "host=db");
        assert_eq!(config.database_ca_file, Some(PathBuf::from("/ca.pem")));
        let error = load("database_url = 'host=h'", &[("PGSERVICE", "s")], Flags::default());
        assert!(error.unwrap_err().to_string().starts_with("PGSERVICE is set"));
    }

    #[test]
    fn a_variable_that_is_no_text_is_refused_by_its_name() {
        use std::os::unix::ffi::OsStringExt;
        let load = |variable: &str, url: &str| {
            let value = OsString::from_vec(b"s3cret\xff".to_vec());
            let flags = Flags { database_url: Some(url.to_owned()), ..Flags::default() };
            let environment = [(variable.into(), value)];
            Config::load(&flags, &ServeFlags::default(), environment)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        for variable in [
            "POSTRIDER_AMQP_URL",
            "POSTRIDER_CONFIG",
            "DATABASE_URL",
            "PGPASSWORD",
            "PGHOST",
            "PGSSLMODE",
            "PGSERVICE",
            "PGSSLROOTCERT",
            "PGPASSFILE",
            "HOME",
        ] {
            let error = load(variable, "host=h").unwrap_err();
            assert!(error.starts_with(&format!("{variable} is set to something")), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        // Nobody asks these, or not here.
        load("LANG", "host=h").unwrap();
        load("POSTRIDER_SOMEBODY_ELSES", "host=h").unwrap();
        load("HOME", "host=h user=u password=p").unwrap();
    }

    #[test]
    fn flags_come_before_environment_before_file() {
        let file =
            "database_url = 'host=file'\nthreads = 3\nmax_in_flight = 3\nlog_format = 'json'";
        let environment = [
            ("POSTRIDER_DATABASE_URL", "host=ours"),
            ("DATABASE_URL", "host=theirs"),
            ("POSTRIDER_MAX_IN_FLIGHT", "4"),
            ("POSTRIDER_THREADS", ""),
            ("POSTRIDER_OF_SOMEBODY_ELSE", "x"),
        ];
        let flag = Flags { database_url: Some("host=flag".to_owned()), ..Flags::default() };
        let with_flag = load(file, &environment, flag).unwrap();
        assert_eq!(with_flag.database_url.expose(), "host=flag");
        assert_eq!((with_flag.serve.threads, with_flag.serve.max_in_flight), (3, 4));
        assert_eq!(with_flag.log_format, LogFormat::Json);

        let url = |environment: &[_]| {
            let config = load(file, environment, Flags::default()).unwrap();
            config.database_url.expose().to_owned()
        };
        assert_eq!(url(&environment), "host=ours");
        assert_eq!(url(&environment[1..]), "host=theirs");
        assert_eq!(url(&environment[2..]), "host=file");
    }

    #[test]
    fn a_missing_database_is_said_and_defaults_hold() {
        let error = load("", &[], Flags::default()).unwrap_err();
        assert!(error.to_string().starts_with("database_url is required"), "{error}");
        let config = load("database_url = 'host=h'", &[], Flags::default()).unwrap();
        assert_eq!(config.serve.shutdown_grace, Duration::from_secs(30));
        assert_eq!(config.serve.flush_interval, Duration::from_millis(5));
        assert_eq!(config.serve.max_buffered_messages, 8_192);
        assert_eq!((config.log_level.as_str(), config.log_format), ("info", LogFormat::Text));
    }

    #[test]
    fn the_broker_is_optional_and_a_nearer_source_of_it_counts() {
        let file = "database_url = 'host=h'\namqp_url = 'amqp://file'\namqp_ca_file = '/ca.pem'";
        let broker = |environment: &[_]| {
            let config = load(file, environment, Flags::default()).unwrap();
            config.amqp_url.map(|url| url.expose().to_owned())
        };
        assert_eq!(broker(&[]).as_deref(), Some("amqp://file"));
        assert_eq!(
            broker(&[("POSTRIDER_AMQP_URL", " amqp://ours ")]).as_deref(),
            Some("amqp://ours")
        );
        let error = load(file, &[("POSTRIDER_AMQP_URL_FILE", "/nowhere")], Flags::default());
        assert!(error.unwrap_err().to_string().starts_with("amqp_url_file: "));
        let without = load("database_url = 'host=h'", &[], Flags::default()).unwrap();
        assert_eq!((without.amqp_url, without.amqp_ca_file), (None, None));
    }

    #[test]
    fn the_database_can_stand_in_a_file_of_its_own() {
        let path = std::env::temp_dir().join(format!("postrider-secret-{}", fastrand::u64(..)));
        fs::write(&path, "host=secret\n").unwrap();
        let name = path.to_str().unwrap();
        let config = load("", &[("POSTRIDER_DATABASE_URL_FILE", name)], Flags::default()).unwrap();
        assert_eq!(config.database_url.expose(), "host=secret");
        fs::remove_file(&path).unwrap();
        let error = load("", &[("POSTRIDER_DATABASE_URL_FILE", name)], Flags::default());
        assert!(error.unwrap_err().to_string().starts_with("database_url_file: "));
    }
}
