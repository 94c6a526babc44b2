//! The keeper of the lease: a thread with a runtime and a connection of its own, on which nothing else ever
//! runs. Whatever the dispatcher, its receivers or its other connections do, the lease lives on.
//!
//! It does not renew for ever for a dispatcher that hangs: one that gives no sign of life for
//! [`SILENT_LEASES`] leases loses its own.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use postrider_core::{
    failure::chain,
    lease::Heartbeat,
    statistics::Statistics,
    tenure::{End, News, Silence, beat_interval},
};
use postrider_store::{
    StoreError,
    bounded::{Bounds, Then},
    connect::Connector,
    lease::Heart,
    migrate::PRODUCT_VERSION,
    process,
};
use tokio::{sync::mpsc, time::timeout};
use tracing::{error, warn};
use uuid::Uuid;

use super::{RunError, connections};

/// For so many leases a dispatcher may be silent.
const SILENT_LEASES: u32 = 3;
/// So many tries to renew that get no answer fit into a lease.
const TRIES_IN_A_LEASE: u32 = 3;
/// How long after one that failed the next begins.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How long the first one may take, when there is no lease to lose.
const FIRST_TRY: Duration = Duration::from_secs(60);

/// Until when the lease lasts, for everything that sends: by our own clock, counted from before it was asked
/// for, and a tenth of the lease less.
#[derive(Debug, Clone)]
pub struct Fence(Arc<Mutex<Instant>>);

impl Fence {
    fn new(at: Instant) -> Fence {
        Fence(Arc::new(Mutex::new(at)))
    }

    pub fn at(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, at: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

/// The dispatcher's end. The lease is not renewed any more when it is dropped.
pub struct Keeper {
    /// Each is a wish for a heartbeat now.
    statistics: mpsc::UnboundedSender<Statistics>,
    news: mpsc::UnboundedReceiver<News>,
    fence: Fence,
    alive_at: Fence,
}

impl Keeper {
    /// Starts the thread. It connects, and registers the dispatcher, with the first heartbeat.
    pub fn start(connector: Connector, id: Uuid, lease: Duration) -> io::Result<Keeper> {
        let (statistics, wishes) = mpsc::unbounded_channel();
        let (told, news) = mpsc::unbounded_channel();
        let now = Instant::now();
        let (fence, alive_at) = (Fence::new(now), Fence::new(now));
        let keeping = Keeping {
            connector,
            id,
            lease,
            heart: None,
            is_registered: false,
            silence: Silence::default(),
            fence: fence.clone(),
            alive_at: alive_at.clone(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("lease".to_owned()).spawn(move || {
            let over = runtime.block_on(keeping.keep(wishes, &told));
            // The dispatcher may be gone.
            let _ = over.map(|end| told.send(News::Over(end)));
        })?;
        Ok(Keeper { statistics, news, fence, alive_at })
    }

    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The dispatcher does not hang.
    pub fn sign_of_life(&self) {
        self.alive_at.set(Instant::now());
    }

    /// Renews the lease now, and says this of the dispatcher from now on.
    pub fn beat(&self, statistics: Statistics) {
        // One that has ended has said why.
        let _ = self.statistics.send(statistics);
    }

    pub async fn news(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            None => News::Over(End::Failed(StoreError::Panicked("the lease's keeper").into())),
        }
    }
}

struct Keeping {
    connector: Connector,
    id: Uuid,
    lease: Duration,
    heart: Option<Heart>,
    is_registered: bool,
    /// Of the other dispatchers.
    silence: Silence,
    fence: Fence,
    alive_at: Fence,
}

impl Keeping {
    /// Renews until the dispatcher is gone, or until there is nothing left to renew: returns why then.
    async fn keep(
        mut self,
        mut wishes: mpsc::UnboundedReceiver<Statistics>,
        told: &mpsc::UnboundedSender<News>,
    ) -> Option<End> {
        let mut statistics = wishes.recv().await?;
        let mut has_lease = false;
        loop {
            let silence = self.alive_at.at().elapsed();
            if has_lease && silence > self.lease * SILENT_LEASES {
                error!(?silence, "the dispatcher hangs: its lease is not renewed any more");
                return Some(End::LeaseLost);
            }
            let limit = if has_lease { self.lease / TRIES_IN_A_LEASE } else { FIRST_TRY };
            let asked = Instant::now();
            let failure = match timeout(limit, self.renew(&statistics)).await {
                Ok(Ok(heartbeat)) if !heartbeat.is_alive => return Some(End::LeaseLost),
                Ok(Ok(heartbeat)) => {
                    let answered = Instant::now();
                    has_lease = true;
                    // The lease counts from a moment after we asked, so this ends before it does.
                    self.fence.set(asked + heartbeat.lease - heartbeat.lease / 10);
                    self.silence.note(&heartbeat.others, answered);
                    self.take_lease(heartbeat.lease).await;
                    let heartbeat = Box::new(heartbeat);
                    told.send(News::Renewed { asked, answered, heartbeat }).ok()?;
                    None
                }
                Ok(Err(error)) => Some(error),
                Err(_) => Some(StoreError::Silent),
            };
            if let Some(error) = failure {
                if !has_lease {
                    return Some(End::Failed(error.into()));
                }
                if Instant::now() >= self.fence.at() {
                    warn!(error = chain(&error), "the lease could not be renewed in time");
                    return Some(End::LeaseLost);
                }
                warn!(error = chain(&error), "the lease is not renewed yet");
                if !error.is_passing() {
                    self.heart = None;
                }
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
            // The dispatcher wishes in time, unless it is held up.
            let pause = beat_interval(self.lease) * 5 / 4;
            if let Ok(wish) = timeout(pause, wishes.recv()).await {
                statistics = wish?;
            }
            while let Ok(newer) = wishes.try_recv() {
                statistics = newer;
            }
        }
    }

    /// Asks for the lease; on a new connection where there is none.
    async fn renew(&mut self, statistics: &Statistics) -> Result<Heartbeat, StoreError> {
        let heart = match &self.heart {
            Some(heart) => heart,
            None => {
                let bounds = bounds(self.lease);
                let opened = connections::open(&self.connector, "lease", Then::Fail, bounds);
                let client = match opened.await {
                    Ok((_, client)) => client,
                    Err(RunError::Store(error)) => return Err(error),
                    Err(error) => {
                        warn!(error = chain(&error), "no connection for the lease");
                        return Err(StoreError::Closed);
                    }
                };
                self.heart.insert(Heart::open(client, self.id).await?)
            }
        };
        if !self.is_registered {
            let host = process::host_name();
            heart.register(&host, std::process::id() as i32, PRODUCT_VERSION).await?;
            self.is_registered = true;
        }
        let silent = self.silence.over(self.lease, Instant::now());
        heart.heartbeat(statistics, &silent).await
    }

    async fn take_lease(&mut self, lease: Duration) {
        if lease == self.lease {
            return;
        }
        self.lease = lease;
        if let Some(heart) = &self.heart
            && heart.bound(bounds(lease)).await.is_err()
        {
            self.heart = None;
        }
    }
}

/// How long a heartbeat may take, so that it is tried again while there is time.
fn bounds(lease: Duration) -> Bounds {
    let statement = lease / TRIES_IN_A_LEASE;
    Bounds { statement, lock: statement / 2 }
}
