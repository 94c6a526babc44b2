//! The carrier PostgreSQL: takes executions as long as there is room, and sleeps when there are none.
//!
//! Who submits rings only for those who sleep (`ring_workers`). A worker says that it sleeps, and then
//! looks once more whether somebody is submitting or has submitted: one of both sees the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::Instant;

use super::hands::{Hands, Held};
use super::heart::Nerve;
use super::recorder::{Note, Recorder};
use super::reporter::{Caller, Reporter};
use super::runner::Phase;
use super::session::{Bells, Commits, Content, Registration, Session};
use crate::Error;
use crate::consumer::poison::{Backoff, dice};
use crate::consumer::session::is_final;
use crate::database::{Address, Tls};

/// The longest sleep without a look: for rings that a network has swallowed, and for what is left to
/// better workers for a second.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The pause while somebody submits.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The pause between looks where nobody rings.
const POLL: Duration = Duration::from_millis(100);
/// An admin may hold the lock of an action.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it is asked what the database thinks that we have.
const AUDIT: Duration = Duration::from_secs(30);
const BACKOFF: Backoff =
    Backoff { shortest: Duration::from_millis(100), longest: Duration::from_secs(5) };

/// What brings executions.
pub(super) struct Taker<T> {
    pub(super) address: Address<T>,
    pub(super) worker: Registration,
    pub(super) hands: Arc<Hands>,
    pub(super) bells: Bells,
    pub(super) nerve: Nerve,
    pub(super) recorder: Recorder,
    pub(super) started: mpsc::UnboundedSender<Held>,
    /// Take nothing any more.
    pub(super) closing: watch::Receiver<bool>,
    pub(super) phase: watch::Receiver<Phase>,
    pub(super) reporter: Reporter,
    /// Whether what is scheduled and unknown here lies in a queue of a broker.
    pub(super) has_broker: bool,
}

/// A connection, and when it was last asked what we have.
#[derive(Default)]
pub(super) struct Line {
    session: Option<Session>,
    audit_at: Option<Instant>,
    failure_count: u32,
}

impl<T: Tls> Taker<T> {
    /// Takes until it is to take nothing any more, or there is an error that does not go away by itself.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        let mut line = Line::default();
        loop {
            let Some(room) = self.reserve().await else { return Ok(()) };
            let result = self.turn(&mut line, room).await;
            self.judge(&mut line, result).await?;
        }
    }

    /// Waits for room, and for the time to use it; none when nothing is to be taken any more.
    pub(super) async fn reserve(&mut self) -> Option<OwnedSemaphorePermit> {
        let hands = Arc::clone(&self.hands);
        let phase = &mut self.phase;
        let room = async {
            // What would be taken while we may be lost had to be given back at once.
            let _ = phase.wait_for(Phase::is_working).await;
            hands.reserve().await
        };
        tokio::select! {
            biased;
            () = closed(&mut self.closing) => None,
            room = room => Some(room),
        }
    }

    async fn turn(&mut self, line: &mut Line, mut room: OwnedSemaphorePermit) -> Result<(), Error> {
        let limit = room.num_permits();
        let session = self.session(line).await?;
        let found = session.take(&self.worker, limit).await?;
        if !found.is_empty() {
            self.hand_over(found, &mut room);
            return Ok(());
        }
        if self.worker.is_polling {
            self.sleep(POLL).await;
            return Ok(());
        }
        if !session.doze(&self.bells.queues).await? {
            session.wake(&self.bells.queues).await?;
            self.sleep(BUSY_PAUSE).await;
            return Ok(());
        }
        let found = session.take(&self.worker, limit).await?;
        if found.is_empty() {
            self.sleep(LONGEST_SLEEP).await;
        } else {
            self.hand_over(found, &mut room);
        }
        session.wake(&self.bells.queues).await
    }

    /// What an error means.
    pub(super) async fn judge(
        &mut self,
        line: &mut Line,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        let Err(error) = result else {
            line.failure_count = 0;
            self.reporter.works(Caller::Taking);
            return Ok(());
        };
        line.session = None;
        if error.code() == Some("55000") {
            // The heart says what to do about it.
            self.nerve.beat.notify_one();
        } else if is_final(&error) {
            return Err(error);
        } else {
            self.reporter.failed(Caller::Taking, error);
        }
        line.failure_count += 1;
        self.sleep(BACKOFF.wait(line.failure_count, dice())).await;
        Ok(())
    }

    /// The connection, a new one if need be.
    pub(super) async fn session<'a>(&self, line: &'a mut Line) -> Result<&'a Session, Error> {
        if line.session.as_ref().is_none_or(Session::is_closed) {
            let bells = Some(self.bells.clone());
            line.session =
                Some(Session::open(&self.address, LOCK_TIMEOUT, Commits::Durable, bells).await?);
            line.audit_at = None;
            // What was heard meanwhile nobody has told us.
            self.nerve.beat.notify_one();
        }
        let session = line.session.as_ref().expect("just opened");
        if line.audit_at.is_none_or(|at| at <= Instant::now()) {
            self.audit(session).await?;
            line.audit_at = Some(Instant::now() + AUDIT);
        }
        Ok(session)
    }

    /// Gives back what the database thinks that we have and we do not know of: its answer was lost.
    async fn audit(&self, session: &Session) -> Result<(), Error> {
        for possession in session.possessions(&self.worker).await? {
            let (id, fence) = (possession.execution_id, possession.fence);
            let is_elsewhere = self.has_broker && !possession.is_running;
            if !is_elsewhere && !self.hands.is_holding(id, fence) {
                self.recorder.record(id, fence, Note::Release).await?;
            }
        }
        Ok(())
    }

    /// Lets them run. More than there is room for is never asked for.
    pub(super) fn hand_over(&self, found: Vec<Content>, room: &mut OwnedSemaphorePermit) {
        for content in found {
            let held = self.hands.hold(content, room).expect("no more than there is room for");
            // Nobody is there any more when the worker was dropped.
            let _ = self.started.send(held);
        }
    }

    /// Sleeps until it is over, or until somebody rings.
    pub(super) async fn sleep(&mut self, longest: Duration) {
        tokio::select! {
            () = tokio::time::sleep(longest) => {}
            () = self.bells.queue.notified() => {}
            () = closed(&mut self.closing) => {}
        }
    }
}

/// Waits until nothing is to be taken any more.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    // Who has gone wants nothing.
    let _ = closing.wait_for(|closing| *closing).await;
}
