//! A control for what is to come soon: how long the machine or the server stood still meanwhile.
//!
//! It has a thread of its own: what is judged may run in this process, and hold up whatever runs beside it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tokio_postgres::NoTls;

use super::Shop;

/// How far two beats are apart where nothing stands still.
const BEAT: Duration = Duration::from_millis(20);
/// A beat that comes later than this after the one before shows that something stood still.
const LATE: Duration = Duration::from_millis(100);

/// Commits a transaction over and over until it is dropped, and notes when one was late.
pub struct Pulse {
    shared: Arc<Shared>,
}

struct Shared {
    beats: Mutex<Beats>,
    is_over: AtomicBool,
}

struct Beats {
    newest: Instant,
    /// From one beat to the next that was late.
    pauses: Vec<(Instant, Instant)>,
}

impl Pulse {
    pub async fn of(shop: &Shop) -> Pulse {
        let beats = Beats { newest: Instant::now(), pauses: Vec::new() };
        let shared = Arc::new(Shared { beats: Mutex::new(beats), is_over: AtomicBool::new(false) });
        let (begun, has_begun) = oneshot::channel();
        let (url, beating) = (shop.url(), Arc::clone(&shared));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(beating.beat(&url, begun));
        });
        has_begun.await.unwrap();
        Pulse { shared }
    }

    /// When something stood still: all of it so far, from the first on.
    pub fn pauses(&self) -> Vec<(Instant, Instant)> {
        let beats = self.shared.lock();
        let now = Instant::now();
        // One whose server is gone has ended, and says nothing more.
        let is_over = self.shared.is_over.load(Ordering::Relaxed);
        let is_late = !is_over && now - beats.newest > LATE;
        let current = is_late.then_some((beats.newest, now));
        beats.pauses.iter().copied().chain(current).collect()
    }

    /// For how long something stood still so far.
    pub fn still(&self) -> Duration {
        self.pauses().iter().map(|(from, to)| *to - *from).sum()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn beat(&self, url: &str, begun: oneshot::Sender<()>) {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        // Connecting is no pause.
        self.lock().newest = Instant::now();
        let _ = begun.send(());
        // With an id of its own a transaction is committed as one that has written.
        while !self.is_over.load(Ordering::Relaxed)
            && client.execute("select pg_current_xact_id()", &[]).await.is_ok()
        {
            self.lock().beat();
            tokio::time::sleep(BEAT).await;
        }
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Beats {
    fn beat(&mut self) {
        let now = Instant::now();
        if now - self.newest > LATE {
            self.pauses.push((self.newest, now));
        }
        self.newest = now;
    }
}
