//! Runs one execution: its handler in a task of its own, and beside it whoever tells it to stop.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use super::execution::{Execution, ExecutionError, Reason, Stop};
use super::hands::Held;
use super::recorder::{Note, Recorder};
use super::reporter::Reporter;
use super::{Handlers, WorkerTrouble};

/// What holds for all executions of the worker. Any of it may hold together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Phase {
    /// It could not say for long that it lives: everything has to have ended by this moment.
    pub(super) doubtful_until: Option<Instant>,
    /// It was taken for lost. Nothing of what it runs counts any more.
    pub(super) is_lost: bool,
    /// It ends, and gives back what has not ended.
    pub(super) is_giving_back: bool,
}

impl Phase {
    /// Whether nothing is in the way of what it runs.
    pub(super) fn is_working(&self) -> bool {
        *self == Self::default()
    }
}

/// What became of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Failed,
    Retried,
    Cancelled,
    Released,
    TimedOut,
    NotCounted,
}

/// What running an execution takes.
#[derive(Clone)]
pub(super) struct Runner {
    pub(super) handlers: Arc<Handlers>,
    pub(super) recorder: Recorder,
    pub(super) phase: watch::Receiver<Phase>,
    pub(super) stop_grace: Duration,
    pub(super) reporter: Reporter,
}

/// A task that ends when this is dropped.
struct Task(JoinHandle<Result<Value, ExecutionError>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Runner {
    /// Runs it to its end, and to the record of that.
    pub(super) async fn run(mut self, held: Held) -> Outcome {
        let content = &held.content;
        let Some(handler) = self.handlers.find(&content.action) else {
            let text = format!("this worker has no handler for '{}'", content.action);
            let error = ExecutionError::permanent(text).titled("No handler");
            return self.record(&held, Some(Err(error)), None).await;
        };
        let (content, signal) = (Arc::clone(content), Arc::clone(&held.signal));
        let execution = Execution::new(content, signal, self.recorder.clone());
        let mut task = Task(tokio::spawn(handler(execution)));
        let (result, stop) = self.attend(&held, &mut task).await;
        self.record(&held, result.and_then(ended), stop).await
    }

    /// Waits for the end of the handler, or sees to it.
    async fn attend(
        &mut self,
        held: &Held,
        task: &mut Task,
    ) -> (Option<Result<Result<Value, ExecutionError>, JoinError>>, Option<Stop>) {
        let mut stop = held.signal.stop.subscribe();
        let mut deadline = held.signal.deadline.subscribe();
        let mut drop_at = None;
        loop {
            let phase = *self.phase.borrow_and_update();
            let end_at = if phase.is_lost { Some(Instant::now()) } else { phase.doubtful_until };
            if let Some(end_at) = end_at {
                held.signal.stop(Stop::Lost);
                drop_at = Some(drop_at.map_or(end_at, |known: Instant| known.min(end_at)));
            }
            if phase.is_giving_back {
                held.signal.stop(Stop::Shutdown);
            }
            let reason = *stop.borrow_and_update();
            if reason.is_some() && drop_at.is_none() {
                drop_at = Some(Instant::now() + self.stop_grace);
            }
            let deadline_at = *deadline.borrow_and_update();
            tokio::select! {
                biased;
                result = &mut task.0 => return (Some(result), *held.signal.stop.borrow()),
                _ = stop.changed() => {}
                Ok(()) = self.phase.changed() => {}
                _ = deadline.changed() => {}
                () = tokio::time::sleep_until(drop_at.unwrap_or(deadline_at)) => {
                    if drop_at.is_some() {
                        task.0.abort();
                        // Until it has let go: nobody else may have it before.
                        return (Some((&mut task.0).await), reason);
                    }
                    held.signal.stop(Stop::Timeout);
                }
            }
        }
    }

    /// Writes down how it has ended.
    async fn record(
        &self,
        held: &Held,
        result: Option<Result<Value, ExecutionError>>,
        stop: Option<Stop>,
    ) -> Outcome {
        if self.phase.borrow().is_lost {
            return Outcome::NotCounted;
        }
        let content = &held.content;
        let note = match (result, stop) {
            (Some(Ok(result)), _) => Note::Complete { result: result.to_string() },
            (_, Some(Stop::Timeout)) => return Outcome::TimedOut,
            (_, Some(Stop::Lost | Stop::Shutdown)) => Note::Release,
            (Some(Err(error)), None) => {
                Note::Fail { reason: error.reason().as_str().to_owned(), error: error.to_json() }
            }
            (Some(Err(error)), Some(Stop::Cancelled)) => {
                Note::Fail { reason: "cancelled".to_owned(), error: error.to_json() }
            }
            (None, _) => {
                let message = "The handler was told to stop, and was stopped";
                let error = json!({ "error": "Cancelled", "message": message });
                Note::Fail { reason: "cancelled".to_owned(), error }
            }
        };
        let recorded = self.recorder.record(content.id, content.fence, note).await;
        let (execution, action) = (content.id, content.action.clone());
        let status = match recorded {
            Ok(status) => status,
            Err(error) => {
                self.reporter.trouble(&WorkerTrouble::NotRecorded { execution, action, error });
                return Outcome::NotCounted;
            }
        };
        match status.as_deref() {
            Some("completed") => Outcome::Completed,
            Some("requested") => Outcome::Retried,
            Some("cancelled") => Outcome::Cancelled,
            Some("released") => Outcome::Released,
            Some(_) => Outcome::Failed,
            None => {
                if stop.is_none() && !self.phase.borrow().is_lost {
                    self.reporter.trouble(&WorkerTrouble::NotCounted { execution, action });
                }
                Outcome::NotCounted
            }
        }
    }
}

/// What the handler has returned; nothing when it was dropped.
fn ended(
    result: Result<Result<Value, ExecutionError>, JoinError>,
) -> Option<Result<Value, ExecutionError>> {
    match result {
        Ok(result) => Some(result),
        Err(error) => {
            let panic = error.try_into_panic().ok()?;
            let text = format!("the handler panicked: {}", said(panic.as_ref()));
            let error = ExecutionError::with_reason(Reason::TransientError, text);
            Some(Err(error.titled("Handler panicked")))
        }
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a text")
}
