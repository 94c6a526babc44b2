//! Tells the application what goes wrong and what is over: once, however often it is tried again, and
//! however many connections notice it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{OnEvent, OnTrouble, WorkerEvent, WorkerTrouble};
use crate::Error;

/// Who talks to the database, each on a connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    Registering,
    Heart,
    Taking,
    Recording,
}

/// Shared by all of a worker.
#[derive(Clone)]
pub(super) struct Reporter {
    on_trouble: Option<OnTrouble>,
    on_event: Option<OnEvent>,
    failing: Arc<Mutex<HashMap<Caller, Kind>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It cannot be reached, or says that it starts or stops.
    Away,
    /// It is there, and refuses for now.
    Refusing,
}

impl Kind {
    fn of(error: &Error) -> Self {
        const CLASSES: [&str; 3] = ["08", "53", "57P"];
        let is_there = |code: &str| !CLASSES.iter().any(|class| code.starts_with(class));
        if error.code().is_some_and(is_there) { Self::Refusing } else { Self::Away }
    }
}

impl Reporter {
    pub(super) fn new(on_trouble: Option<OnTrouble>, on_event: Option<OnEvent>) -> Self {
        Self { on_trouble, on_event, failing: Arc::default() }
    }

    pub(super) fn trouble(&self, trouble: &WorkerTrouble) {
        if let Some(on_trouble) = &self.on_trouble {
            on_trouble(trouble);
        }
    }

    pub(super) fn event(&self, event: &WorkerEvent) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }

    /// A call has failed and is tried again.
    pub(super) fn failed(&self, caller: Caller, error: Error) {
        let kind = Kind::of(&error);
        let is_known = self.change(|failing| {
            let is_known = failing.values().any(|known| *known == kind);
            failing.insert(caller, kind);
            is_known
        });
        if !is_known {
            self.trouble(&WorkerTrouble::Database { error });
        }
    }

    /// A call has worked.
    pub(super) fn works(&self, caller: Caller) {
        self.change(|failing| failing.remove(&caller));
    }

    /// The worker has registered, and begins on new connections.
    pub(super) fn registered(&self, worker_id: i32) {
        self.change(HashMap::clear);
        self.event(&WorkerEvent::Registered { worker_id });
    }

    /// Nothing of the application's is called while the lock is held.
    fn change<R>(&self, change: impl FnOnce(&mut HashMap<Caller, Kind>) -> R) -> R {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_away =
            |failing: &HashMap<Caller, Kind>| failing.values().any(|kind| *kind == Kind::Away);
        let was_away = is_away(&failing);
        let result = change(&mut failing);
        let is_restored = was_away && !is_away(&failing);
        drop(failing);
        if is_restored {
            self.event(&WorkerEvent::DatabaseRestored);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: Option<&str>) -> Error {
        Error::Database { code: code.map(str::to_owned), source: code.unwrap_or("lost").into() }
    }

    /// A reporter, and what it has said.
    fn reporter() -> (Reporter, Arc<Mutex<Vec<String>>>) {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (troubles, events) = (Arc::clone(&said), Arc::clone(&said));
        let on_trouble: OnTrouble = Arc::new(move |trouble| {
            let code = match trouble {
                WorkerTrouble::Database { error } => error.code().unwrap_or("lost").to_owned(),
                other => other.to_string(),
            };
            troubles.lock().unwrap().push(code);
        });
        let on_event: OnEvent = Arc::new(move |event| {
            let event = format!("{event:?}");
            events.lock().unwrap().push(event);
        });
        (Reporter::new(Some(on_trouble), Some(on_event)), said)
    }

    #[test]
    fn an_outage_is_told_once_and_its_end_once() {
        let (reporter, said) = reporter();
        for _ in 0..3 {
            reporter.failed(Caller::Heart, error(None));
            reporter.failed(Caller::Taking, error(Some("57P01")));
        }
        reporter.works(Caller::Taking);
        reporter.works(Caller::Recording);
        reporter.works(Caller::Heart);
        reporter.works(Caller::Heart);
        assert_eq!(*said.lock().unwrap(), ["lost", "DatabaseRestored"]);
    }

    #[test]
    fn a_refusal_does_not_hide_an_outage() {
        let (reporter, said) = reporter();
        reporter.failed(Caller::Taking, error(Some("55P03")));
        reporter.failed(Caller::Taking, error(Some("55P03")));
        reporter.failed(Caller::Taking, error(None));
        reporter.failed(Caller::Taking, error(Some("55P03")));
        reporter.works(Caller::Taking);
        assert_eq!(*said.lock().unwrap(), ["55P03", "lost", "DatabaseRestored", "55P03"]);
    }

    #[test]
    fn who_registers_has_the_database_back() {
        let (reporter, said) = reporter();
        reporter.failed(Caller::Heart, error(None));
        reporter.failed(Caller::Registering, error(None));
        reporter.registered(7);
        reporter.works(Caller::Heart);
        let expected = ["lost", "DatabaseRestored", "Registered { worker_id: 7 }"];
        assert_eq!(*said.lock().unwrap(), expected);
    }
}
