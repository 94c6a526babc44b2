//! Each rule finds what breaks it, and lets pass what a fault explains.

use std::collections::HashMap;

use bytes::Bytes;
use hyper::HeaderMap;

use super::*;
use postrider_testkit::ledger::{Commit, Ledger};

const SECOND: Duration = Duration::from_secs(1);

/// A run in which message 1 was sent to `steady`, with these terms.
struct Run {
    at: Instant,
    wall_clock_at: SystemTime,
    book: Book,
    faults: Vec<Fault>,
}

impl Run {
    fn new(terms: impl Fn(SystemTime) -> Terms) -> Run {
        // So that moments before it exist.
        let at = Instant::now() + 100 * SECOND;
        let wall_clock_at = SystemTime::now();
        let mut book = Book::new(at);
        book.ledger = Ledger::new(at);
        book.ledger.commit(Commit {
            destination: "steady".into(),
            id: Some(MessageId(1)),
            marker: Some("m".to_owned()),
            order: None,
            at,
            is_certain: true,
        });
        book.terms = HashMap::from([("m".to_owned(), terms(wall_clock_at))]);
        Run { at, wall_clock_at, book, faults: Vec::new() }
    }

    /// Cancelled after so many seconds.
    fn cancelled(mut self, seconds: u32) -> Run {
        let at = self.at + seconds * SECOND;
        let id = MessageId(1);
        self.book.cancels.push(Cancel { id, marker: "m".to_owned(), at, is_certain: true });
        self
    }

    fn fault(mut self, kind: FaultKind, from: u32, until: u32) -> Run {
        let fault = Fault::new(kind, "somebody", self.at + from * SECOND);
        self.faults.push(fault.until(self.at + until * SECOND));
        self
    }

    /// What is found when its request arrives after so many seconds.
    #[track_caller]
    fn check(&self, seconds: u32, expected: Option<&str>) {
        let request = Request {
            id: Some(MessageId(1)),
            attempt: 1,
            path: "/".to_owned(),
            at: self.at + seconds * SECOND,
            wall_clock_at: self.wall_clock_at + seconds * SECOND,
            status: Some(200),
            delay: Duration::ZERO,
            body: Bytes::from_static(br#"{"marker": "m"}"#),
            headers: HeaderMap::new(),
        };
        let mut findings = Vec::new();
        check_times("steady", &[request], &self.book, &self.faults, &mut findings);
        match (expected, &findings[..]) {
            (None, []) => {}
            (Some(text), [one]) if one.text.contains(text) => {}
            (expected, found) => panic!("{expected:?}, and found {found:?}"),
        }
    }
}

#[test]
fn nothing_comes_before_its_time() {
    let run = Run::new(|now| Terms { scheduled_at: Some(now + 5 * SECOND), expires_at: None });
    run.check(5, None);
    run.check(4, Some("too early"));
}

#[test]
fn nothing_comes_after_it_has_expired_unless_its_dispatcher_slept() {
    let new = || Run::new(|now| Terms { scheduled_at: None, expires_at: Some(now + 5 * SECOND) });
    new().check(5, None);
    new().check(9, Some("after it had expired"));
    new().fault(FaultKind::ProcessKilled, 4, 9).check(9, Some("after it had expired"));
    new().fault(FaultKind::ProcessStopped, 4, 9).check(9, None);
    new().fault(FaultKind::ProcessStopped, 1, 3).check(9, Some("after it had expired"));
}

#[test]
fn what_was_taken_back_does_not_come() {
    let new = || Run::new(|_| Terms::default()).cancelled(5);
    Run::new(|_| Terms::default()).check(9, None);
    new().check(9, Some("cancelled"));
    new().check(1, Some("cancelled"));
    // The server forgot that it had been attempted; after that nothing excuses it.
    new().fault(FaultKind::PostgresCrashed, 2, 3).check(1, None);
    new().fault(FaultKind::PostgresCrashed, 2, 3).check(9, Some("cancelled"));
}

#[test]
fn what_ends_without_arriving_was_allowed_to() {
    let check = |run: &Run, stored: Stored, expected: &[&str]| {
        let mut findings = Vec::new();
        check_ends(&stored, &run.book, &mut findings);
        let found: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
        assert_eq!(found, expected);
    };
    let ended = |reason: &str| Stored {
        ended: vec![("steady".to_owned(), MessageId(1), reason.to_owned())],
        ..Stored::default()
    };
    let letter = |name: &str, cause: &str, status: &str| Stored {
        dead_letters: vec![(name.to_owned(), MessageId(1), cause.to_owned(), status.to_owned())],
        ..Stored::default()
    };
    let plain = Run::new(|_| Terms::default());
    let expires = Run::new(|now| Terms { scheduled_at: None, expires_at: Some(now) });
    let cancelled = Run::new(|_| Terms::default()).cancelled(1);
    check(&plain, ended("expired"), &["message 1 at steady has ended: expired"]);
    check(&plain, ended("cancelled"), &["message 1 at steady has ended: cancelled"]);
    check(&expires, ended("expired"), &[]);
    check(&cancelled, ended("cancelled"), &[]);
    check(&cancelled, Stored::default(), &["message 1 was cancelled, and nothing says so"]);
    check(&plain, letter("picky", "rejected", "redriven"), &[]);
    for (name, cause, status) in [
        ("steady", "rejected", "redriven"),
        ("picky", "stale", "redriven"),
        ("picky", "gone", "failed"),
    ] {
        let text = format!("message 1 at {name} is a dead letter: {cause}, {status}");
        check(&plain, letter(name, cause, status), &[&text]);
    }
    let waiting = vec![("flaky".to_owned(), MessageId(1))];
    let waiting = Stored { waiting, ..Stored::default() };
    check(&plain, waiting, &["message 1 still waits at flaky"]);
}

#[test]
fn what_a_crash_took_back_has_not_arrived_and_what_it_left_has() {
    let check = |is_logged: bool, has_arrived: bool| {
        let Run { at, mut book, .. } = Run::new(|_| Terms::default());
        let fast = Commit {
            destination: "steady".into(),
            id: Some(MessageId(2)),
            marker: Some("fast".to_owned()),
            order: None,
            at,
            is_certain: false,
        };
        book.ledger.commit(fast);
        let mut stored = Stored::default();
        for (id, marker, is_logged, has_arrived) in
            [(1, "m", true, true), (2, "fast", is_logged, has_arrived)]
        {
            let (id, marker) = (MessageId(id), marker.to_owned());
            if has_arrived {
                book.ledger.request(postrider_testkit::ledger::Request {
                    destination: "steady".into(),
                    id: Some(id),
                    marker: Some(marker.clone()),
                    attempt: 1,
                    at,
                    is_accepted: true,
                });
            }
            if is_logged {
                stored.logged.push(Logged { id, marker });
            }
        }
        let verdict = judge(book, &[], stored);
        assert_eq!(verdict.is_good(), is_logged == has_arrived, "{verdict}");
        verdict.report
    };
    check(true, true);
    check(false, false);
    assert_eq!(check(true, false).lost.len(), 1);
    assert_eq!(check(false, true).phantoms.len(), 1);
}

#[test]
fn a_marker_is_found_in_any_body() {
    let check = |body: &[u8], expected| assert_eq!(marker_of(body).as_deref(), expected);
    check(br#"{"marker": "1-2", "order": null}"#, Some("1-2"));
    check(b"\x00\xff\x00marker=\xff\x00marker=3-4", Some("3-4"));
    check(b"\x00garbage", None);
    check(b"{}", None);
}
