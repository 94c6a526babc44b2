//! Writes down what has become of executions: what is ready together, in one transaction.
//!
//! Nothing is lost while the database is away: it is tried until there is an answer, or until the
//! registration has ended and with it every fence.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::reporter::{Caller, Reporter};
use super::session::{Commits, Session};
use crate::Error;
use crate::consumer::poison::{Backoff, dice};
use crate::consumer::session::is_final;
use crate::database::{Address, Tls};

/// What a transaction records at most.
const MOST_ENTRIES: usize = 500;
const MOST_BYTES: usize = 4 << 20;
/// An application may hold the lock of an execution that it cancels. All others shall not wait for it.
const LOCK_TIMEOUT: Duration = Duration::from_millis(250);
const BACKOFF: Backoff =
    Backoff { shortest: Duration::from_millis(100), longest: Duration::from_secs(2) };

/// What is to be written down.
#[derive(Debug)]
pub(super) enum Note {
    Complete { result: String },
    Fail { reason: String, error: Value },
    Release,
    Extend { timeout: Duration },
}

/// About which execution, and who wants to know.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) execution_id: i64,
    pub(super) fence: i64,
    pub(super) note: Note,
    answer: oneshot::Sender<Result<Option<String>, Error>>,
    /// An answer was lost: it may be on record already.
    is_repeated: bool,
    /// What was wanted was refused, and this is what is written down instead.
    is_substitute: bool,
    failure_count: u32,
}

/// Hands entries to the task.
#[derive(Debug, Clone)]
pub(super) struct Recorder(mpsc::UnboundedSender<Entry>);

/// The task's side.
pub(super) struct Ledger<T> {
    pub(super) address: Address<T>,
    pub(super) reporter: Reporter,
    entries: mpsc::UnboundedReceiver<Entry>,
    /// Those that others keep locked, with the moments of their next try.
    blocked: Vec<(Instant, Entry)>,
    session: Option<Session>,
}

impl Note {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Complete { .. } => "complete",
            Self::Fail { .. } => "fail",
            Self::Release => "release",
            Self::Extend { .. } => "extend",
        }
    }

    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Fail { reason, .. } => Some(reason),
            Self::Complete { .. } | Self::Release | Self::Extend { .. } => None,
        }
    }

    pub(super) fn value(&self) -> Option<String> {
        match self {
            Self::Complete { result } => Some(result.clone()),
            Self::Fail { error, .. } => Some(error.to_string()),
            Self::Release => None,
            Self::Extend { timeout } => Some(timeout.as_micros().to_string()),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Complete { result } => result.len(),
            Self::Fail { .. } | Self::Release | Self::Extend { .. } => 0,
        }
    }

    /// The status that an execution has when this is on record.
    fn expects(&self, status: &str) -> bool {
        match self {
            Self::Complete { .. } => status == "completed",
            Self::Fail { .. } => ["failed", "requested", "cancelled"].contains(&status),
            Self::Release => status == "requested",
            Self::Extend { .. } => false,
        }
    }
}

impl Recorder {
    pub(super) fn open<T: Tls>(address: Address<T>, reporter: Reporter) -> (Self, Ledger<T>) {
        let (sender, entries) = mpsc::unbounded_channel();
        let ledger = Ledger { address, reporter, entries, blocked: Vec::new(), session: None };
        (Self(sender), ledger)
    }

    /// The status of the execution when this is on record; none if it is not ours any more.
    pub(super) async fn record(
        &self,
        execution_id: i64,
        fence: i64,
        note: Note,
    ) -> Result<Option<String>, Error> {
        let (answer, answered) = oneshot::channel();
        let entry = Entry {
            execution_id,
            fence,
            note,
            answer,
            is_repeated: false,
            is_substitute: false,
            failure_count: 0,
        };
        if self.0.send(entry).is_err() {
            return Ok(None);
        }
        // The task ends with the registration, and every fence with it.
        answered.await.unwrap_or(Ok(None))
    }
}

impl<T: Tls> Ledger<T> {
    /// Records until there is an error that does not go away by itself.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        let mut failure_count = 0;
        let mut batch = Vec::new();
        loop {
            if batch.is_empty() && !self.gather(&mut batch).await {
                return Ok(());
            }
            match self.write(&mut batch).await {
                Ok(()) => {
                    failure_count = 0;
                    self.reporter.works(Caller::Recording);
                }
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    self.session = None;
                    failure_count += 1;
                    batch.iter_mut().for_each(|entry| entry.is_repeated = true);
                    self.reporter.failed(Caller::Recording, error);
                    tokio::time::sleep(BACKOFF.wait(failure_count, dice())).await;
                }
            }
        }
    }

    /// Waits for entries; false when nobody can have any.
    async fn gather(&mut self, batch: &mut Vec<Entry>) -> bool {
        let next_try = self.blocked.iter().map(|(at, _)| *at).min();
        tokio::select! {
            entry = self.entries.recv() => match entry {
                Some(entry) => batch.push(entry),
                None if next_try.is_none() => return false,
                None => tokio::time::sleep_until(next_try.expect("just looked at")).await,
            },
            () = tokio::time::sleep_until(next_try.unwrap_or_else(Instant::now)),
                if next_try.is_some() => {}
        }
        let now = Instant::now();
        let due = self.blocked.extract_if(.., |(at, _)| *at <= now);
        batch.extend(due.map(|(_, entry)| entry));
        let mut size: usize = batch.iter().map(|entry| entry.note.size()).sum();
        while batch.len() < MOST_ENTRIES && size < MOST_BYTES {
            let Ok(entry) = self.entries.try_recv() else { break };
            size += entry.note.size();
            batch.push(entry);
        }
        // Locks are taken in one order by all who take several.
        batch.sort_by_key(|entry| entry.execution_id);
        true
    }

    /// Writes all that it can. What stays in the batch is tried again on another connection.
    async fn write(&mut self, batch: &mut Vec<Entry>) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        if self.session.as_ref().is_none_or(Session::is_closed) {
            self.session =
                Some(Session::open(&self.address, LOCK_TIMEOUT, Commits::Durable, None).await?);
        }
        let session = self.session.as_ref().expect("just opened");
        match session.record(batch).await {
            Ok(statuses) => {
                for (entry, status) in batch.drain(..).zip(statuses) {
                    let status = settle(session, &entry, status).await;
                    let _ = entry.answer.send(Ok(status));
                }
                return Ok(());
            }
            Err(error) if is_refused_one(&error) => {}
            Err(error) => return Err(error),
        }
        // One of them is the reason; each by itself.
        while let Some(mut entry) = batch.pop() {
            let result = session.record(std::slice::from_ref(&entry)).await;
            match result {
                Ok(mut statuses) => {
                    let status = settle(session, &entry, statuses.pop().flatten()).await;
                    let _ = entry.answer.send(Ok(status));
                }
                Err(error) if is_refused_for_good(&error) => {
                    if let Some(substitute) = substitute(&error, entry) {
                        self.blocked.push((Instant::now(), substitute));
                    }
                }
                Err(error) if is_refused_one(&error) => {
                    entry.failure_count += 1;
                    let wait = BACKOFF.wait(entry.failure_count, dice());
                    self.blocked.push((Instant::now() + wait, entry));
                }
                Err(error) => {
                    batch.push(entry);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// A status that was asked for twice says less than it seems.
async fn settle(session: &Session, entry: &Entry, status: Option<String>) -> Option<String> {
    if status.is_some() || !entry.is_repeated {
        return status;
    }
    let found = session.status(entry.execution_id).await.ok().flatten()?;
    entry.note.expects(&found).then_some(found)
}

/// Whether the database has refused what was written, or could not lock it, and is there otherwise.
fn is_refused_one(error: &Error) -> bool {
    // Not what a connection, a right or a server that stops is the reason of.
    const CLASSES: [&str; 6] = ["22", "23", "40", "54", "55", "P0"];
    const CANCELLED: &str = "57014";
    error.code().is_some_and(|code| {
        code == CANCELLED || CLASSES.iter().any(|class| code.starts_with(class))
    })
}

/// Whether the same would be refused again: it is not valid, or more than the server can hold.
fn is_refused_for_good(error: &Error) -> bool {
    error.code().is_some_and(|code| code.starts_with("22") || code.starts_with("54"))
}

/// What is written down in place of a result or error that the database does not take.
fn substitute(error: &Error, entry: Entry) -> Option<Entry> {
    let is_recordable = matches!(entry.note, Note::Complete { .. } | Note::Fail { .. });
    if entry.is_substitute || !is_recordable {
        let said = crate::consumer::trouble::describe(error);
        let refused =
            Error::Database { code: error.code().map(str::to_owned), source: said.into() };
        let _ = entry.answer.send(Err(refused));
        return None;
    }
    let what = if entry.note.kind() == "complete" { "Result refused" } else { "Error refused" };
    let said = crate::consumer::trouble::describe(error).replace('\0', "");
    let error = json!({ "error": what, "message": said, "reason": "permanent_error" });
    let note = Note::Fail { reason: "permanent_error".to_owned(), error };
    Some(Entry { note, is_substitute: true, ..entry })
}
