//! One registration: from the moment at which the worker has its name until it gives it back or loses it.
//!
//! Nothing runs twice at the same time, except behind a failover that forgets heartbeats. Others get what this process is
//! running only when the database has heard nothing from it for `stale_after`, by the database's clock. Each heartbeat is
//! counted from the moment at which it was sent, so by our own clock everything has been stopped before that.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::hands::{Hands, Held};
use super::heart::{Heart, Nerve, Pulse};
use super::recorder::Recorder;
use super::runner::{Outcome, Phase, Runner};
use super::session::{Bells, Registration};
use super::taker::Taker;
use super::{Summary, Worker, WorkerTrouble};
use crate::Error;
use crate::database::Tls;

/// Without a heartbeat for this part of `stale_after` handlers are told to stop, and after the second
/// part they are stopped.
const DOUBTFUL: f64 = 0.7;
const STOPPED: f64 = 0.9;
/// How long handlers that were dropped may take to let go.
const LETTING_GO: Duration = Duration::from_secs(5);
/// How long what was given back may take to be on record. The rest goes back when we leave.
const RECORDING: Duration = Duration::from_secs(10);

/// How a registration ends.
pub(super) enum End {
    /// It was to end.
    Stopped,
    /// The worker was taken for lost, or replaced.
    Lost,
}

/// What a registration consists of.
struct Tenure<'a, T> {
    worker: &'a Worker<T>,
    heart: Heart,
    hands: Arc<Hands>,
    runner: Runner,
    phase: watch::Sender<Phase>,
    closing: watch::Sender<bool>,
    started: mpsc::UnboundedReceiver<Held>,
    taking: Option<Task>,
    recording: Option<Task>,
    running: JoinSet<Outcome>,
    give_back_at: Option<Instant>,
    is_heart_gone: bool,
    /// When the registration was good for the last time that we know of.
    good_at: Instant,
    stale_after: Duration,
    failure: Option<Error>,
    summary: &'a mut Summary,
}

/// A task that ends when this is dropped.
struct Task(JoinHandle<Result<(), Error>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Works under a registration until it ends. `registered_at` is when it was asked for.
pub(super) async fn work<T: Tls, S: Future<Output = ()>>(
    worker: &Worker<T>,
    registration: Registration,
    registered_at: Instant,
    mut shutdown: Pin<&mut S>,
    summary: &mut Summary,
) -> Result<End, Error> {
    let mut tenure = Tenure::begin(worker, registration, registered_at, summary)?;
    loop {
        if tenure.is_finished() {
            break;
        }
        let is_closing = tenure.give_back_at.is_some();
        tokio::select! {
            () = &mut shutdown, if !is_closing => tenure.close(worker.options.shutdown_timeout),
            end = tenure.step() => if let Some(end) = end {
                return Ok(end);
            }
        }
    }
    tenure.leave().await;
    match tenure.failure.take() {
        Some(error) => Err(error),
        None => Ok(End::Stopped),
    }
}

impl<'a, T: Tls> Tenure<'a, T> {
    fn begin(
        worker: &'a Worker<T>,
        registration: Registration,
        registered_at: Instant,
        summary: &'a mut Summary,
    ) -> Result<Self, Error> {
        let options = &worker.options;
        let hands = Hands::new(options.capacity as usize);
        let nerve = Nerve { beat: Arc::new(Notify::new()), trouble: watch::Sender::new(None) };
        let heart = Heart::begin(
            worker.address.clone(),
            registration,
            registered_at,
            nerve.clone(),
            worker.reporter.clone(),
        )?;
        let (recorder, ledger) = Recorder::open(worker.address.clone(), worker.reporter.clone());
        let (phase, phases) = watch::channel(Phase::default());
        let (closing, closings) = watch::channel(false);
        let (sender, started) = mpsc::unbounded_channel();
        let id = registration.worker_id;
        let queues = vec![format!("worker:{id}"), format!("pool:{}", options.pool)];
        let cancel = (format!("cancel:{id}"), Arc::clone(&nerve.beat));
        let taker = Taker {
            address: worker.address.clone(),
            worker: registration,
            hands: Arc::clone(&hands),
            bells: Bells { queues, queue: Arc::new(Notify::new()), cancel },
            nerve,
            recorder: recorder.clone(),
            started: sender,
            closing: closings,
            phase: phases.clone(),
            reporter: worker.reporter.clone(),
            has_broker: options.has_broker(),
        };
        let runner = Runner {
            handlers: Arc::clone(&worker.handlers),
            recorder,
            phase: phases,
            stop_grace: options.stop_grace,
            reporter: worker.reporter.clone(),
        };
        Ok(Self {
            worker,
            heart,
            hands,
            runner,
            phase,
            closing,
            started,
            taking: Some(Task(worker.spawn_taker(taker))),
            recording: Some(Task(tokio::spawn(ledger.run()))),
            running: JoinSet::new(),
            give_back_at: None,
            is_heart_gone: false,
            good_at: registered_at,
            stale_after: registration.stale_after,
            failure: None,
            summary,
        })
    }

    /// One thing after the other. An end of the registration that nobody wanted.
    async fn step(&mut self) -> Option<End> {
        let (doubt, end_at) = (self.doubt(), self.end_at());
        tokio::select! {
            Some(held) = self.started.recv() => {
                self.running.spawn(self.runner.clone().run(held));
            }
            Some(result) = self.running.join_next() => {
                // Our own code does not panic there; a handler's panic is an outcome.
                if let Ok(outcome) = result {
                    self.summary.count(outcome);
                }
            }
            Some((execution_id, fence)) = self.heart.cancelled.recv() => {
                self.hands.cancel(execution_id, fence);
            }
            felt = self.heart.pulse.changed(), if !self.is_heart_gone => match felt {
                Ok(()) => return self.feel().await,
                Err(_) => {
                    // It has said why, or somebody's on_trouble has panicked in its thread.
                    self.is_heart_gone = true;
                    let source = "the thread of the heartbeats has ended".into();
                    self.note(Err(Error::Database { code: None, source }));
                }
            },
            () = tokio::time::sleep_until(doubt.unwrap_or_else(Instant::now)), if doubt.is_some() => {
                self.doubt_now();
            }
            result = ended(&mut self.taking) => self.note(result),
            result = ended(&mut self.recording) => self.note(result),
            () = tokio::time::sleep_until(self.give_back_at.unwrap_or_else(Instant::now)),
                if self.is_waiting_to_give_back() =>
            {
                self.phase.send_modify(|phase| phase.is_giving_back = true);
            }
            () = tokio::time::sleep_until(end_at.unwrap_or_else(Instant::now)), if end_at.is_some() => {}
        }
        None
    }

    /// When handlers have to be told to stop, unless the heart is felt before. It does not matter whether
    /// the worker ends: what it gives back is not back yet.
    fn doubt(&self) -> Option<Instant> {
        let Phase { doubtful_until, is_lost, .. } = *self.phase.borrow();
        let is_open = doubtful_until.is_none() && !is_lost;
        is_open.then(|| self.good_at + self.stale_after.mul_f64(DOUBTFUL))
    }

    /// Looks again: the heart may have been felt while this task had to wait for a thread.
    fn doubt_now(&mut self) {
        if let Pulse::Beating(at) = *self.heart.pulse.borrow() {
            self.good_at = at;
        }
        if self.good_at.elapsed() >= self.stale_after.mul_f64(DOUBTFUL) {
            let end_at = self.good_at + self.stale_after.mul_f64(STOPPED);
            self.phase.send_modify(|phase| phase.doubtful_until = Some(end_at));
        }
    }

    async fn feel(&mut self) -> Option<End> {
        let pulse = self.heart.pulse.borrow_and_update().clone();
        match pulse {
            Pulse::Beating(at) => {
                self.good_at = at;
                self.phase.send_if_modified(|phase| phase.doubtful_until.take().is_some());
                None
            }
            Pulse::Refused => {
                self.lose().await;
                Some(if self.give_back_at.is_some() { End::Stopped } else { End::Lost })
            }
            Pulse::Failed(error) => {
                let code = error.code().map(str::to_owned);
                self.note(Err(Error::Database { code, source: Box::new(Shared(error)) }));
                None
            }
        }
    }

    /// Takes nothing any more, and lets what runs go on for so long.
    fn close(&mut self, shutdown_timeout: Duration) {
        self.closing.send_replace(true);
        self.give_back_at = Some(Instant::now() + shutdown_timeout);
    }

    fn is_waiting_to_give_back(&self) -> bool {
        self.give_back_at.is_some() && !self.phase.borrow().is_giving_back
    }

    /// A task has ended, or failed: then there is no point in going on.
    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
            self.close(Duration::ZERO);
        }
    }

    /// Whether nothing is left to be done, or nothing more can be.
    fn is_finished(&self) -> bool {
        let Some(end_at) = self.end_at() else { return false };
        let has_ended = self.taking.is_none() && self.started.is_empty() && self.running.is_empty();
        has_ended || self.recording.is_none() || Instant::now() >= end_at
    }

    /// When it ends, whatever there is still to be done.
    fn end_at(&self) -> Option<Instant> {
        let patience = self.worker.options.stop_grace + RECORDING;
        self.give_back_at.map(|at| at + patience)
    }

    /// What runs does not count any more.
    async fn lose(&mut self) {
        let running_count = self.hands.count();
        self.worker.reporter.trouble(&WorkerTrouble::Lost { running_count });
        self.phase.send_modify(|phase| phase.is_lost = true);
        // Who waits for a record need not: every fence has passed.
        (self.taking, self.recording) = (None, None);
        self.let_go().await;
    }

    /// Waits until the handlers have let go, but not for those that never do.
    async fn let_go(&mut self) {
        let running = async {
            while let Some(result) = self.running.join_next().await {
                if let Ok(outcome) = result {
                    self.summary.count(outcome);
                }
            }
        };
        if tokio::time::timeout(LETTING_GO, running).await.is_err() {
            let handler_count = self.running.len();
            self.worker.reporter.trouble(&WorkerTrouble::Stuck { handler_count });
        }
    }

    async fn leave(&mut self) {
        self.taking = None;
        if !self.running.is_empty() {
            // Their results cannot be recorded, or they do not let go.
            self.phase.send_modify(|phase| phase.is_lost = true);
            self.let_go().await;
        }
    }
}

/// Waits for the end of a task; for ever if it has ended.
async fn ended(task: &mut Option<Task>) -> Result<(), Error> {
    let Some(running) = task else { return std::future::pending().await };
    let result = (&mut running.0).await;
    *task = None;
    match result {
        Ok(result) => result,
        Err(error) => Err(Error::Database { code: None, source: Box::new(error) }),
    }
}

/// An error that another thread has as well.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Shared(Arc<Error>);
