//! Resolves host names: DNS as `/etc/resolv.conf` says, and `/etc/hosts`, without a thread for each name.
//!
//! The operating system's own resolver takes a thread until the name servers answer or are given up: some hundreds of
//! names whose servers are dead use up any number of threads, and nobody else's names are resolved.
//! Here a name that is waited for is a socket. A name is asked for once at a time, by whomever it is wanted. Answers
//! are kept for as long as they say, up to a minute, and failures for a short time: what is kept waits for nobody.
//!
//! Everything else waits in the lane of how the last look-up of its name went: quick, slow, failed, or none so far.
//! What turns out slow in the lane of quick ones leaves it, and is begun anew in that of slow ones: nobody has a
//! place there for more than half a second, whatever its name servers do, and nobody comes back before it was quick again.

use std::{
    collections::HashMap,
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
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

/// How many names of each lane are asked for at a time. Each takes a socket or two.
const QUICK_LANE: usize = 64;
const SLOW_LANE: usize = 128;
const FAILED_LANE: usize = 64;
const NEW_LANE: usize = 512;
/// The longest time of a look-up that is quick.
const QUICK_MAX: Duration = Duration::from_millis(500);
/// The longest time for a name, over all servers and attempts.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an answer is kept at most.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(60);
/// How long a name that could not be resolved is not asked for again.
const FAILURE_AGE: Duration = Duration::from_secs(5);
/// Who gives a look-up up sooner than the shortest connect timeout does so for another reason than the name.
const PATIENCE_MIN: Duration = Duration::from_millis(900);
/// Of so many names it is remembered how they fared, and what their addresses are.
const KNOWN_MAX: usize = 16 * 1024;
/// The most addresses of one name that are used.
const ADDRESSES_MAX: usize = 16;
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
    quick: Semaphore,
    slow: Semaphore,
    failed: Semaphore,
    new: Semaphore,
}

impl Lanes {
    fn of(&self, lane: Lane) -> &Semaphore {
        match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
            Lane::Failed => &self.failed,
            Lane::New => &self.new,
        }
    }
}

/// Which other names a name waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Quick,
    Slow,
    Failed,
    New,
}

/// A name is in the lane of how its last look-up went.
fn lane_of(last: Option<&Last>) -> Lane {
    match last {
        Some(Last::Resolved { took, .. }) if *took <= QUICK_MAX => Lane::Quick,
        Some(Last::Resolved { .. }) => Lane::Slow,
        Some(Last::Failed { .. }) => Lane::Failed,
        None => Lane::New,
    }
}

/// What is known of a name.
#[derive(Debug, Default)]
struct Known {
    last: Option<Last>,
    under_way: Option<WeakShared<Asking>>,
}

/// How the last look-up of a name went.
#[derive(Debug, Clone)]
enum Last {
    Resolved { took: Duration, answer: Answer },
    Failed { at: Instant },
}

#[derive(Debug, Clone)]
struct Answer {
    addresses: Vec<IpAddr>,
    until: Instant,
    /// The configuration that it was asked under.
    files: Files,
}

impl Last {
    /// What is said now without another look-up.
    fn kept(self, now: Instant, files: Files) -> Option<io::Result<Vec<IpAddr>>> {
        match self {
            Self::Resolved { answer, .. } if now < answer.until && answer.files == files => {
                Some(Ok(answer.addresses))
            }
            Self::Failed { at } if now < at + FAILURE_AGE => {
                Some(Err(io::ErrorKind::NotFound.into()))
            }
            _ => None,
        }
    }
}

/// A look-up that is under way, for all who wait for it. It is given up when none of them waits any longer.
type Asking = BoxFuture<'static, Result<Vec<IpAddr>, Arc<io::Error>>>;

/// When the system's files were changed.
type Files = [Option<SystemTime>; 2];

/// A resolver, and the state of the files that it was made by.
struct Loaded {
    resolver: Arc<TokioResolver>,
    looked_at: Instant,
    files: Files,
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
            quick: Semaphore::new(QUICK_LANE),
            slow: Semaphore::new(SLOW_LANE),
            failed: Semaphore::new(FAILED_LANE),
            new: Semaphore::new(NEW_LANE),
        };
        Self { servers, loaded: Mutex::default(), known: Mutex::default(), lanes }
    }

    /// The addresses of a name, 16 at most.
    ///
    /// # Errors
    ///
    /// When there are none, or no server says so in time. It counts as a failure as well when everybody who waits for
    /// a name gives up after nearly a second.
    pub async fn look_up(self: &Arc<Self>, name: &str) -> io::Result<Vec<IpAddr>> {
        let (_, files) = self.loaded()?;
        if let Some(kept) = self.last(name).and_then(|last| last.kept(Instant::now(), files)) {
            return kept;
        }
        let found = self.under_way(name).await;
        found.map_err(|error| io::Error::new(error.kind(), error))
    }

    /// The look-up of a name that is under way, or a new one.
    fn under_way(self: &Arc<Self>, name: &str) -> Shared<Asking> {
        let mut all = lock(&self.known);
        let known = entry(&mut all, name);
        let under_way = known.under_way.as_ref().and_then(WeakShared::upgrade);
        if let Some(look_up) = under_way
            && look_up.peek().is_none()
        {
            return look_up;
        }
        let (names, name) = (Arc::clone(self), name.to_owned());
        let look_up = async move { names.find(&name).await.map_err(Arc::new) }.boxed().shared();
        known.under_way = look_up.downgrade();
        look_up
    }

    /// Asks for a name when its lane has a place.
    async fn find(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut lane = lane_of(self.last(name).as_ref());
        loop {
            let _permit = self.lanes.of(lane).acquire().await.map_err(io::Error::other)?;
            let limit = if lane == Lane::Quick { QUICK_MAX } else { LOOKUP_TIMEOUT };
            match timeout(limit, self.ask(name, lane)).await {
                Ok(found) => return found,
                Err(_) if lane == Lane::Quick => {
                    self.note_late(name);
                    lane = Lane::Slow;
                }
                Err(late) => return Err(late.into()),
            }
        }
    }

    async fn ask(&self, name: &str, lane: Lane) -> io::Result<Vec<IpAddr>> {
        // Of the other way to read a name an underscore inside a label is an error; service names have them.
        let host = Name::from_ascii(name).map_err(io::Error::other)?;
        let (resolver, files) = self.loaded()?;
        let question = Question { names: self, name, lane, asked_at: Instant::now(), last: None };
        let found = resolver.lookup_ip(host).await.map_err(io::Error::other);
        let at = Instant::now();
        let answer = found.and_then(|found| {
            let addresses: Vec<_> = found.iter().take(ADDRESSES_MAX).collect();
            if addresses.is_empty() {
                return Err(io::ErrorKind::NotFound.into());
            }
            let until = Instant::from_std(found.valid_until()).min(at + ANSWER_AGE_MAX);
            Ok(Answer { addresses, until, files })
        });
        let last = match &answer {
            Ok(answer) => Last::Resolved { took: at - question.asked_at, answer: answer.clone() },
            Err(_) => Last::Failed { at },
        };
        question.end(last);
        answer.map(|answer| answer.addresses)
    }

    fn last(&self, name: &str) -> Option<Last> {
        lock(&self.known).get(name)?.last.clone()
    }

    fn note(&self, name: &str, last: Last) {
        entry(&mut lock(&self.known), name).last = Some(last);
    }

    /// A name that was quick is not: its next look-up begins among slow ones, where a quick answer brings it back.
    fn note_late(&self, name: &str) {
        if let Some(known) = lock(&self.known).get_mut(name)
            && let Some(Last::Resolved { took, .. }) = &mut known.last
        {
            *took = QUICK_MAX + Duration::from_millis(1);
        }
    }

    /// The resolver of now, and the state of the files that it was made by.
    fn loaded(&self) -> io::Result<(Arc<TokioResolver>, Files)> {
        let mut loaded = lock(&self.loaded);
        let now = Instant::now();
        if let Some(loaded) = loaded.as_mut() {
            let is_fresh = now.duration_since(loaded.looked_at) < SYSTEM_PERIOD;
            if is_fresh || loaded.files == modified() {
                loaded.looked_at = if is_fresh { loaded.looked_at } else { now };
                return Ok((Arc::clone(&loaded.resolver), loaded.files));
            }
        }
        let files = modified();
        let resolver = Arc::new(self.load()?);
        *loaded = Some(Loaded { resolver: Arc::clone(&resolver), looked_at: now, files });
        Ok((resolver, files))
    }

    fn load(&self) -> io::Result<TokioResolver> {
        let (config, mut options) = match &self.servers[..] {
            // As the C library does where there is no configuration: a server on this host.
            [] => read_system_conf()
                .unwrap_or_else(|_| asking(&[SocketAddr::from((Ipv4Addr::LOCALHOST, DNS_PORT))])),
            servers => asking(servers),
        };
        // Answers are kept here, where they can be had without a place in a lane.
        options.cache_size = 0;
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

/// What is known of a name, to be changed.
fn entry<'a>(all: &'a mut HashMap<Box<str>, Known>, name: &str) -> &'a mut Known {
    if all.len() >= KNOWN_MAX && !all.contains_key(name) {
        // Whoever makes up names is forgotten first.
        all.retain(|_, known| matches!(known.last, Some(Last::Resolved { .. })));
        if all.len() >= KNOWN_MAX {
            all.clear();
        }
    }
    all.entry(name.into()).or_default()
}

/// A name that is being asked for. What becomes of it is noted however that ends.
struct Question<'a> {
    names: &'a Names,
    name: &'a str,
    lane: Lane,
    asked_at: Instant,
    /// Nothing yet, or never: the question was dropped.
    last: Option<Last>,
}

impl Question<'_> {
    fn end(mut self, last: Last) {
        self.last = Some(last);
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let last = match self.last.take() {
            Some(last) => last,
            // Whoever leaves the lane of quick ones goes on in another, however late it is by then.
            None if self.lane == Lane::Quick => return,
            None if self.asked_at.elapsed() < PATIENCE_MIN => return,
            None => Last::Failed { at: Instant::now() },
        };
        self.names.note(self.name, last);
    }
}

fn modified() -> Files {
    SYSTEM_FILES.map(|path| fs::metadata(path).and_then(|file| file.modified()).ok())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub mod tests;
