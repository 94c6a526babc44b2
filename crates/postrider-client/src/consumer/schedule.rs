//! Which partition is read next, and by which of the connections.
//!
//! Guarantees: a partition is in one hand at a time; one that has been lost is not taken again; those that
//! are ready go in turn. A plain lock guards it, never held across an await.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// A partition, with what this process knows about it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) partition: i32,
    /// Failures in a row.
    pub(super) failure_count: u32,
    /// The position that was next when it was last looked at, and not acknowledged then.
    pub(super) seen: Option<i64>,
    /// How often it was only looked at, which the database counts as a failure.
    pub(super) look_count: u32,
    /// What the handler failed with, when this position came first.
    pub(super) last_error: Option<(i64, String)>,
    pub(super) ready_at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Schedule {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    leased: HashSet<i32>,
    in_hand: HashSet<i32>,
    waiting: VecDeque<Place>,
}

impl Place {
    fn new(partition: i32) -> Self {
        let ready_at = Instant::now();
        Self { partition, failure_count: 0, seen: None, look_count: 0, last_error: None, ready_at }
    }

    /// Notes which message is next; whether it was next already when we looked before.
    ///
    /// Failures are counted for the message that is next when a batch is begun. Between that and its fetch
    /// somebody else may have passed it. If a message was next before and is next now, the count is its own.
    pub(super) fn is_next_again(&mut self, position: i64) -> bool {
        let is_known = self.seen.replace(position) == Some(position);
        if !is_known {
            self.look_count = 0;
        }
        is_known
    }
}

impl Schedule {
    /// The partitions that are ours from now on.
    pub(super) fn set_leased(&self, partitions: &[i32]) {
        let mut state = self.lock();
        state.leased = partitions.iter().copied().collect();
        let State { leased, in_hand, waiting } = &mut *state;
        waiting.retain(|place| leased.contains(&place.partition));
        for &partition in partitions {
            if !in_hand.contains(&partition)
                && !waiting.iter().any(|place| place.partition == partition)
            {
                waiting.push_back(Place::new(partition));
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// How many partitions are ours.
    pub(super) fn leased_count(&self) -> usize {
        self.lock().leased.len()
    }

    /// Gives a partition back and takes the next one that is ready; `None`: it is time to stop.
    pub(super) async fn next(
        &self,
        back: Option<Place>,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Place> {
        if let Some(place) = back {
            let mut state = self.lock();
            state.in_hand.remove(&place.partition);
            if state.leased.contains(&place.partition) {
                state.waiting.push_back(place);
            }
            // Alone it is for whoever gives it back.
            if state.waiting.len() > 1 {
                self.changed.notify_waiters();
            }
        }
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if *stop.borrow() {
                return None;
            }
            let ready_at = match self.lock().take(Instant::now()) {
                Ok(place) => return Some(place),
                Err(ready_at) => ready_at,
            };
            tokio::select! {
                () = changed => {}
                () = until(ready_at) => {}
                _ = stop.wait_for(|stop| *stop) => return None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The first one that is ready; or when there will be one, if none waits for anything else.
    fn take(&mut self, now: Instant) -> Result<Place, Option<Instant>> {
        let ready = self.waiting.iter().position(|place| place.ready_at <= now);
        match ready.and_then(|at| self.waiting.remove(at)) {
            Some(place) => {
                self.in_hand.insert(place.partition);
                Ok(place)
            }
            None => Err(self.waiting.iter().map(|place| place.ready_at).min()),
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
