//! When to sleep, and who wakes us.

use postrider_core::mark::mark;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_postgres::Notification;

use super::*;
use crate::engine::wake;

const SIGNALS_AT_ONCE: usize = 1_024;

type Notifications = broadcast::Receiver<Notification>;

/// What the next notification says; nothing more when the connection has ended.
pub(super) async fn next_signal(notifications: &mut Notifications) -> Option<Signal> {
    match notifications.recv().await {
        Ok(notification) => Some(wake::signal(notification.payload())),
        // Some were missed; what they would have said is found by looking.
        Err(RecvError::Lagged(_)) => Some(Signal::Ring),
        Err(RecvError::Closed) => None,
    }
}

impl Dispatcher {
    /// When a tick found nothing and nothing else is to be read, senders shall ring from now on.
    pub(super) fn arrange_sleep(&mut self) {
        let is_quiet = self.bell == Bell::Open
            && self.has_looked
            && self.active_at.elapsed() >= WAKEFUL
            && !self.is_at_bell
            && self.doorbell.is_audible
            && !self.is_ticking
            && !self.lanes.is_walking();
        let shards = self.lanes.shards();
        if !is_quiet || shards.is_empty() {
            return;
        }
        self.bell = Bell::Trying;
        self.is_at_bell = true;
        // A try that fails is repeated after the next empty tick.
        self.has_looked = false;
        let doorbell = Arc::clone(&self.doorbell);
        self.send(async move { Event::Doorbell(doorbell.lock(&shards).await) });
    }

    pub(super) fn take_doorbell(&mut self, is_locked: bool) {
        self.is_at_bell = false;
        if self.bell != Bell::Trying {
            // Somebody rang meanwhile.
            if is_locked {
                self.unlock_doorbell();
            }
            return;
        }
        let now = Instant::now();
        if is_locked {
            self.bell = Bell::Armed;
            self.tick_at = now;
        } else {
            self.bell = Bell::Open;
            self.tick_at = now + self.tick_pause;
        }
    }

    /// We are awake: senders need not ring.
    pub(super) fn ring_off(&mut self) {
        if matches!(self.bell, Bell::Armed | Bell::Asleep(_)) {
            self.unlock_doorbell();
        }
        self.bell = Bell::Open;
    }

    pub(super) fn unlock_doorbell(&mut self) {
        self.is_at_bell = true;
        let doorbell = Arc::clone(&self.doorbell);
        self.send(async move { Event::Doorbell(doorbell.unlock().await.map(|()| false)) });
    }

    /// Heeds this one and what has come since. Anybody may notify, as often as they like: keys are looked
    /// through once for all of them.
    pub(super) fn heed(&mut self, first: Signal, notifications: &mut Notifications) {
        let mut marks = HashSet::new();
        self.heed_one(first, &mut marks);
        for _ in 0..SIGNALS_AT_ONCE {
            let signal = match notifications.try_recv() {
                Ok(notification) => wake::signal(notification.payload()),
                Err(TryRecvError::Lagged(_)) => Signal::Ring,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            };
            self.heed_one(signal, &mut marks);
        }
        if !marks.is_empty() {
            self.want_all_stored(|stored| marks.contains(&mark(stored)));
        }
    }

    fn heed_one(&mut self, signal: Signal, marks: &mut HashSet<u32>) {
        let now = Instant::now();
        match signal {
            Signal::Ring => {
                self.active_at = now;
                self.tick_pause = SHORT_TICK_PAUSE;
                self.tick_at = now;
                self.ring_off();
            }
            Signal::Shards => self.beat_at = now,
            Signal::Endpoints => {
                self.endpoints_at = now;
                self.wishes.add(Wish::Limits);
            }
            Signal::Settings => self.settings_at = now,
            Signal::Circuits => self.circuits_at = now,
            Signal::Consumers => self.wishes.add(Wish::Consumers),
            Signal::Jobs => self.wishes.add(Wish::Job),
            Signal::Key(mark) => {
                marks.insert(mark);
            }
            Signal::Asked(borrower, asked) if borrower != self.me() => {
                self.endpoints.note_asked(borrower, &asked);
            }
            Signal::Loans(id) if id == self.me() => self.endpoints.doubt_loans(),
            Signal::Asked(..) | Signal::Loans(_) => {}
            Signal::Deferred => {
                self.refresh_deferred_at = now;
                self.is_deferred_news = self.is_refreshing_deferred;
                self.count_soon();
            }
        }
    }
}
