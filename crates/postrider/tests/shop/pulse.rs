//! A control for what is to come soon: how long the machine, the server or this process stood still meanwhile.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

use super::Shop;

/// How far two beats are apart where nothing stands still.
const BEAT: Duration = Duration::from_millis(20);
/// A beat that comes later than this after the one before shows that something stood still.
const LATE: Duration = Duration::from_millis(100);

/// Commits a transaction over and over until it is dropped, and notes when one was late.
pub struct Pulse {
    beats: Arc<Mutex<Beats>>,
    task: JoinHandle<()>,
}

struct Beats {
    newest: Instant,
    /// From one beat to the next that was late.
    pauses: Vec<(Instant, Instant)>,
}

impl Pulse {
    pub async fn of(shop: &Shop) -> Pulse {
        let client = shop.client().await;
        let beats = Beats { newest: Instant::now(), pauses: Vec::new() };
        let beats = Arc::new(Mutex::new(beats));
        let noted = Arc::clone(&beats);
        let task = tokio::spawn(async move {
            // With an id of its own a transaction is committed as one that has written.
            while client.execute("select pg_current_xact_id()", &[]).await.is_ok() {
                noted.lock().unwrap_or_else(PoisonError::into_inner).beat();
                tokio::time::sleep(BEAT).await;
            }
        });
        Pulse { beats, task }
    }

    /// When something stood still: all of it so far, from the first on.
    pub fn pauses(&self) -> Vec<(Instant, Instant)> {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // One whose server is gone has ended, and says nothing more.
        let is_late = !self.task.is_finished() && now - beats.newest > LATE;
        let current = is_late.then_some((beats.newest, now));
        beats.pauses.iter().copied().chain(current).collect()
    }

    /// For how long something stood still so far.
    pub fn still(&self) -> Duration {
        self.pauses().iter().map(|(from, to)| *to - *from).sum()
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

impl Drop for Pulse {
    fn drop(&mut self) {
        self.task.abort();
    }
}
