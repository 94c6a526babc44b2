//! Resolves host names: DNS as `/etc/resolv.conf` says, and `/etc/hosts`, without a thread for each name.
//!
//! The operating system's own resolver takes a thread until the name servers answer or are given up: some hundreds of
//! names whose servers are dead use up any number of threads, and nobody else's names are resolved.
//! Here a name that is waited for is a socket. What is not resolved is asked for once at a time, by whomever it is
//! wanted; answers are kept for as long as they say, up to a minute, and failures for a short time. Names that
//! were resolved before wait for no others, and names that failed before only for each other.

use std::{
    collections::HashMap,
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts},
    net::runtime::TokioRuntimeProvider,
    proto::rr::Name,
    system_conf::read_system_conf,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

/// How many names are asked for at a time that were resolved before, that nothing is known of, and that
/// failed before. Each takes a socket or two.
const RESOLVED_LANE: usize = 64;
const NEW_LANE: usize = 512;
const FAILED_LANE: usize = 64;
/// The longest time for a name, over all servers and attempts.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an answer is kept at most.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(60);
/// How long a name that could not be resolved is not asked for again.
const FAILURE_AGE: Duration = Duration::from_secs(5);
/// Who gives a look-up up sooner than the shortest connect timeout does so for another reason than the name.
const PATIENCE_MIN: Duration = Duration::from_millis(900);
/// Of so many names it is remembered how they fared.
const KNOWN_MAX: usize = 16 * 1024;
/// How many answers are kept.
const ANSWERS_MAX: u64 = 8 * 1024;
/// How many questions may be open at one server.
const QUESTIONS_MAX: usize = 1_024;
/// How often the system's configuration is looked at.
const SYSTEM_PERIOD: Duration = Duration::from_secs(5);
const SYSTEM_FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// Resolves names for everybody in the process.
#[derive(Debug)]
pub struct Names {
    /// Instead of the system's; none: the system's.
    servers: Vec<SocketAddr>,
    loaded: Mutex<Option<Loaded>>,
    known: Mutex<HashMap<Box<str>, Known>>,
    lanes: Lanes,
}

#[derive(Debug)]
struct Lanes {
    resolved: Semaphore,
    new: Semaphore,
    failed: Semaphore,
}

/// How a name fared.
#[derive(Debug, Clone, Copy)]
enum Known {
    Resolved,
    Failed { at: Instant },
}

/// A resolver, and the state of the files that it was made by.
struct Loaded {
    resolver: Arc<TokioResolver>,
    looked_at: Instant,
    files: [Option<SystemTime>; 2],
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Loaded").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Names {
    /// Asks these servers, or those of the system if there are none here.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        let lanes = Lanes {
            resolved: Semaphore::new(RESOLVED_LANE),
            new: Semaphore::new(NEW_LANE),
            failed: Semaphore::new(FAILED_LANE),
        };
        Self { servers, loaded: Mutex::default(), known: Mutex::default(), lanes }
    }

    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// When there are none, or no server says so in time. Dropping the future after nearly a second counts as a
    /// failure as well.
    pub async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = match self.known(name) {
            Some(Known::Resolved) => self.lanes.resolved.acquire().await,
            None => self.lanes.new.acquire().await,
            Some(Known::Failed { .. }) => self.lanes.failed.acquire().await,
        };
        let _permit = permit.map_err(io::Error::other)?;
        // Somebody else may have found out meanwhile.
        if let Some(Known::Failed { at }) = self.known(name)
            && at.elapsed() < FAILURE_AGE
        {
            return Err(io::ErrorKind::NotFound.into());
        }
        // Of the other way to read a name an underscore inside a label is an error; service names have them.
        let host = Name::from_ascii(name).map_err(io::Error::other)?;
        let resolver = self.resolver()?;
        let question = Question { names: self, name, asked_at: Instant::now(), is_resolved: None };
        let answer = timeout(LOOKUP_TIMEOUT, resolver.lookup_ip(host)).await;
        let addresses = answer.map_err(io::Error::from).and_then(|found| {
            let addresses: Vec<_> = found.map_err(io::Error::other)?.iter().collect();
            if addresses.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(addresses) }
        });
        question.end(addresses.is_ok());
        addresses
    }

    fn known(&self, name: &str) -> Option<Known> {
        lock(&self.known).get(name).copied()
    }

    fn note(&self, name: &str, fared: Known) {
        let mut known = lock(&self.known);
        if known.len() >= KNOWN_MAX && !known.contains_key(name) {
            // Whoever makes up names is forgotten first.
            known.retain(|_, fared| matches!(fared, Known::Resolved));
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
        }
        known.insert(name.into(), fared);
    }

    fn resolver(&self) -> io::Result<Arc<TokioResolver>> {
        let mut loaded = lock(&self.loaded);
        let now = Instant::now();
        if let Some(loaded) = loaded.as_mut() {
            let is_fresh = now.duration_since(loaded.looked_at) < SYSTEM_PERIOD;
            if is_fresh || loaded.files == modified() {
                loaded.looked_at = if is_fresh { loaded.looked_at } else { now };
                return Ok(Arc::clone(&loaded.resolver));
            }
        }
        let files = modified();
        let resolver = Arc::new(self.load()?);
        *loaded = Some(Loaded { resolver: Arc::clone(&resolver), looked_at: now, files });
        Ok(resolver)
    }

    fn load(&self) -> io::Result<TokioResolver> {
        let (config, mut options) = match &self.servers[..] {
            // As the C library does where there is no configuration: a server on this host.
            [] => read_system_conf()
                .unwrap_or_else(|_| asking(&[SocketAddr::from((Ipv4Addr::LOCALHOST, DNS_PORT))])),
            servers => asking(servers),
        };
        options.cache_size = ANSWERS_MAX;
        options.positive_max_ttl = Some(ANSWER_AGE_MAX);
        options.negative_max_ttl = Some(FAILURE_AGE);
        options.num_concurrent_reqs = 1;
        options.max_active_requests = QUESTIONS_MAX;
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = options;
        builder.build().map_err(io::Error::other)
    }
}

const DNS_PORT: u16 = 53;

fn asking(servers: &[SocketAddr]) -> (ResolverConfig, ResolverOpts) {
    let servers = servers.iter().map(|server| {
        let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
        for connection in &mut connections {
            connection.port = server.port();
        }
        NameServerConfig::new(server.ip(), true, connections.into())
    });
    (ResolverConfig::from_name_servers(servers.collect()), ResolverOpts::default())
}

/// A name that is being asked for. What becomes of it is noted however that ends.
struct Question<'a> {
    names: &'a Names,
    name: &'a str,
    asked_at: Instant,
    /// Nothing yet, or never: the question was dropped.
    is_resolved: Option<bool>,
}

impl Question<'_> {
    fn end(mut self, is_resolved: bool) {
        self.is_resolved = Some(is_resolved);
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let fared = match self.is_resolved {
            Some(true) => Known::Resolved,
            None if self.asked_at.elapsed() < PATIENCE_MIN => return,
            Some(false) | None => Known::Failed { at: Instant::now() },
        };
        self.names.note(self.name, fared);
    }
}

fn modified() -> [Option<SystemTime>; 2] {
    SYSTEM_FILES.map(|path| fs::metadata(path).and_then(|file| file.modified()).ok())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub mod tests;
