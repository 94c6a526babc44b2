//! Says that the worker lives: a thread and a connection that nothing else uses.
//!
//! A handler that keeps the runtime's threads busy does not stop it. Each beat is counted from the moment
//! at which it was sent, by our monotonic clock: the database has noted it no sooner.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use super::reporter::{Caller, Reporter};
use super::session::{Commits, Registration, Session};
use crate::Error;
use crate::consumer::poison::{Backoff, dice};
use crate::consumer::session::is_final;
use crate::database::{Address, Tls};

/// A beat happens so many times at least before the worker is taken for lost.
const BEATS: u32 = 3;
const SHORTEST_PATIENCE: Duration = Duration::from_millis(500);
const BACKOFF: Backoff =
    Backoff { shortest: Duration::from_millis(50), longest: Duration::from_secs(2) };
/// A heartbeat must not wait long for a lock: it is tried again.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// It has to register again.
const REFUSED: &str = "55000";

/// What is known about the registration.
#[derive(Debug, Clone)]
pub(super) enum Pulse {
    /// It was good at this moment.
    Beating(Instant),
    /// The worker was lost, or replaced.
    Refused,
    /// Somebody has to do something about it.
    Failed(Arc<Error>),
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Heart {
    pub(super) pulse: watch::Receiver<Pulse>,
    /// Executions to cancel, with their fences.
    pub(super) cancelled: mpsc::UnboundedReceiver<(i64, i64)>,
    stop: watch::Sender<bool>,
}

/// What others tell it.
#[derive(Debug, Clone)]
pub(super) struct Nerve {
    /// Beat now.
    pub(super) beat: Arc<Notify>,
    /// What keeps the worker from working.
    pub(super) trouble: watch::Sender<Option<String>>,
}

struct Beater<T> {
    address: Address<T>,
    worker: Registration,
    nerve: Nerve,
    pulse: watch::Sender<Pulse>,
    cancelled: mpsc::UnboundedSender<(i64, i64)>,
    reporter: Reporter,
}

impl Heart {
    /// Begins to beat; the registration was good at `registered_at`.
    pub(super) fn begin<T: Tls>(
        address: Address<T>,
        worker: Registration,
        registered_at: Instant,
        nerve: Nerve,
        reporter: Reporter,
    ) -> Result<Self, Error> {
        let (pulse, receiver) = watch::channel(Pulse::Beating(registered_at));
        let (cancelled, cancellations) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let beater = Beater { address, worker, nerve, pulse, cancelled, reporter };
        let failed = |source: std::io::Error| Error::Database { code: None, source: source.into() };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let beat = move || runtime.block_on(beater.run(stopped));
        std::thread::Builder::new()
            .name("postrider-heart".to_owned())
            .spawn(beat)
            .map_err(failed)?;
        Ok(Self { pulse: receiver, cancelled: cancellations, stop })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl<T: Tls> Beater<T> {
    async fn run(self, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => {}
            () = self.beat() => {}
        }
    }

    async fn beat(&self) {
        let Registration { heartbeat_interval, stale_after, .. } = self.worker;
        let interval = heartbeat_interval.min(stale_after / BEATS);
        let mut session = None;
        let mut failure_count = 0;
        loop {
            let sent_at = Instant::now();
            let pause = match self.beat_once(&mut session).await {
                Ok(cancelled) => {
                    failure_count = 0;
                    self.reporter.works(Caller::Heart);
                    self.pulse.send_replace(Pulse::Beating(sent_at));
                    for execution in cancelled {
                        // Nobody listens any more when the worker ends.
                        let _ = self.cancelled.send(execution);
                    }
                    interval
                }
                Err(error) if error.code() == Some(REFUSED) => {
                    self.pulse.send_replace(Pulse::Refused);
                    return;
                }
                Err(error) if is_final(&error) => {
                    self.pulse.send_replace(Pulse::Failed(Arc::new(error)));
                    return;
                }
                Err(error) => {
                    session = None;
                    failure_count += 1;
                    self.reporter.failed(Caller::Heart, error);
                    BACKOFF.wait(failure_count, dice()).min(interval)
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.nerve.beat.notified() => {}
            }
        }
    }

    async fn beat_once(&self, session: &mut Option<Session>) -> Result<Vec<(i64, i64)>, Error> {
        let patience = (self.worker.stale_after / BEATS).max(SHORTEST_PATIENCE);
        let beat = async {
            if session.as_ref().is_none_or(Session::is_closed) {
                *session =
                    Some(Session::open(&self.address, LOCK_TIMEOUT, Commits::Local, None).await?);
            }
            let session = session.as_ref().expect("just opened");
            let trouble = self.nerve.trouble.borrow().clone();
            session.beat(&self.worker, trouble.as_deref()).await
        };
        match tokio::time::timeout(patience, beat).await {
            Ok(result) => result,
            Err(elapsed) => Err(Error::Database { code: None, source: Box::new(elapsed) }),
        }
    }
}
