//! Every kind of violation is detected, and nothing else is called one.

use super::*;

/// A small language for a run: times are milliseconds since its start, everything goes to `shop`
/// unless said otherwise, and message 7 carries the marker `m7`.
struct Run {
    ledger: Ledger,
    start: Instant,
}

impl Run {
    fn new() -> Self {
        let start = Instant::now();
        Self { ledger: Ledger::new(start), start }
    }

    fn at(&self, at_ms: u64) -> Instant {
        self.start + Duration::from_millis(at_ms)
    }

    fn commit(mut self, id: i64, at_ms: u64) -> Self {
        let at = self.at(at_ms);
        self.ledger.commit(Commit { at, ..commit(id) });
        self
    }

    fn ordered(mut self, id: i64, key: &str, sequence: u64) -> Self {
        let order = Some(Order { key: key.to_owned(), sequence });
        let at = self.at(0);
        self.ledger.commit(Commit { order, at, ..commit(id) });
        self
    }

    fn roll_back(mut self, id: Option<i64>, marker: Option<&str>) -> Self {
        let (id, marker) = (id.map(MessageId), marker.map(str::to_owned));
        self.ledger.roll_back(Rollback { id, marker });
        self
    }

    fn accept(self, id: i64, at_ms: u64) -> Self {
        let request = request(id);
        self.request(Request { is_accepted: true, ..request }, at_ms)
    }

    fn refuse(self, id: i64, at_ms: u64) -> Self {
        self.request(request(id), at_ms)
    }

    fn request(mut self, request: Request, at_ms: u64) -> Self {
        let at = self.at(at_ms);
        self.ledger.request(Request { at, ..request });
        self
    }

    fn end(mut self, id: i64, kind: EndKind) -> Self {
        self.ledger.end(End { destination: "shop".into(), id: MessageId(id), kind });
        self
    }

    fn fault(mut self, kind: FaultKind, at_ms: u64, until_ms: u64) -> Self {
        let fault = Fault::new(kind, "somebody", self.at(at_ms)).until(self.at(until_ms));
        self.ledger.fault(fault);
        self
    }

    /// Until success is recorded 2,000 ms pass at most, and 1,000 ms on the way.
    fn check(self) -> Report {
        let [flush, arrival] = [2, 1].map(Duration::from_secs);
        self.ledger.check_with(Tolerance { flush, arrival })
    }
}

fn commit(id: i64) -> Commit {
    Commit {
        destination: "shop".into(),
        id: Some(MessageId(id)),
        marker: Some(format!("m{id}")),
        order: None,
        at: Instant::now(),
        is_certain: true,
    }
}

fn request(id: i64) -> Request {
    Request {
        destination: "shop".into(),
        id: Some(MessageId(id)),
        marker: Some(format!("m{id}")),
        attempt: 1,
        at: Instant::now(),
        is_accepted: false,
    }
}

/// The findings as (lost, phantoms, altered, out of order, duplicates, unexplained duplicates).
fn findings(report: &Report) -> [usize; 6] {
    let findings = [
        report.lost.len(),
        report.phantoms.len(),
        report.altered.len(),
        report.out_of_order.len(),
        report.duplicates.len(),
        report.unexplained().count(),
    ];
    let [lost, phantoms, altered, out_of_order, _, unexplained] = findings;
    let violations = lost + phantoms + altered + out_of_order + unexplained + report.reused.len();
    assert_eq!(report.is_balanced(), violations == 0, "{report}");
    let printed = report.to_string();
    assert_eq!(printed.contains("NOT BALANCED"), violations > 0, "{printed}");
    assert_eq!(printed.contains("VIOLATION"), violations > 0, "{printed}");
    findings
}

#[test]
fn a_clean_run_is_balanced() {
    let report = Run::new()
        .commit(1, 0)
        .commit(2, 0)
        .commit(3, 0)
        .commit(4, 0)
        .roll_back(Some(5), Some("m5"))
        .accept(1, 10)
        .refuse(2, 10)
        .accept(2, 30)
        .refuse(3, 10)
        .end(3, EndKind::DeadLettered)
        .end(4, EndKind::Expired)
        .check();
    assert_eq!(findings(&report), [0; 6]);
    assert_eq!((report.committed_count, report.delivered_count, report.request_count), (4, 2, 4));
    assert_eq!((report.dead_lettered_count, report.expired_count), (1, 1));
    assert_eq!(report.rolled_back_count, 1);
    let latency = report.latency.unwrap();
    assert_eq!((latency.median.as_millis(), latency.maximum.as_millis()), (10, 30));
}

#[test]
fn a_message_that_is_never_accepted_is_lost() {
    let report = Run::new().commit(1, 0).commit(2, 5).refuse(2, 10).check();
    assert_eq!(findings(&report), [2, 0, 0, 0, 0, 0]);
    assert!(!report.lost[0].was_attempted);
    assert!(report.lost[1].was_attempted);
    assert!(report.to_string().contains("lost: message 2 (`m2`) to shop, committed +0.005 s"));
}

#[test]
fn an_end_elsewhere_is_no_excuse() {
    let mut run = Run::new().commit(1, 0);
    let kind = EndKind::DeadLettered;
    run.ledger.end(End { destination: "other".into(), id: MessageId(1), kind });
    assert_eq!(findings(&run.check()), [1, 0, 0, 0, 0, 0]);
}

#[test]
fn a_message_sent_to_two_destinations_has_to_reach_both() {
    let mut run = Run::new().commit(1, 0).accept(1, 10);
    run.ledger.commit(Commit { destination: "other".into(), ..commit(1) });
    assert_eq!(findings(&run.check()), [1, 0, 0, 0, 0, 0]);
}

#[test]
fn a_request_without_a_commit_is_a_phantom_even_when_refused() {
    let other = |id| Request { destination: "other".into(), ..request(id) };
    let by_id = |id| Request { marker: None, ..request(id) };
    let by_marker = |id| Request { id: None, ..request(id) };
    let cases = [
        (Run::new().roll_back(Some(5), None).refuse(5, 1), PhantomCause::RolledBack),
        (Run::new().roll_back(None, Some("m5")).refuse(5, 1), PhantomCause::RolledBack),
        (Run::new().roll_back(Some(5), Some("m5")).accept(5, 1), PhantomCause::RolledBack),
        (Run::new().roll_back(Some(5), None).request(by_id(5), 1), PhantomCause::RolledBack),
        (Run::new().request(by_id(5), 1), PhantomCause::Unknown),
        (Run::new().request(by_marker(5), 1), PhantomCause::Unknown),
        (Run::new().commit(5, 0).accept(5, 1).request(other(5), 2), PhantomCause::OtherDestination),
        (
            Run::new()
                .commit(5, 0)
                .accept(5, 1)
                .request(Request { id: Some(MessageId(6)), ..request(5) }, 2),
            PhantomCause::OtherId { committed: Some(MessageId(5)) },
        ),
    ];
    for (number, (run, cause)) in cases.into_iter().enumerate() {
        let report = run.check();
        assert_eq!(findings(&report), [0, 1, 0, 0, 0, 0], "case {number}: {report}");
        assert_eq!(report.phantoms[0].cause, cause, "case {number}");
    }
}

#[test]
fn a_rolled_back_message_under_the_id_of_a_committed_one_is_a_phantom() {
    // After a crash PostgreSQL handed out the id 5 again, to the message with marker `m5`.
    let reused = Run::new().roll_back(Some(5), Some("gone")).commit(5, 10).accept(5, 20);
    assert_eq!(findings(&reused.check()), [0; 6]);
    let run = Run::new().roll_back(Some(5), Some("gone")).commit(5, 10).accept(5, 20);
    let gone = Request { marker: Some("gone".to_owned()), ..request(5) };
    assert_eq!(findings(&run.request(gone, 30).check()), [0, 1, 0, 0, 0, 0]);
}

#[test]
fn another_payload_is_altered() {
    for marker in [Some("m1 but cut".to_owned()), None] {
        let other = Request { marker, is_accepted: true, ..request(1) };
        let report = Run::new().commit(1, 0).request(other, 5).check();
        assert_eq!(findings(&report), [0, 0, 1, 0, 0, 0]);
    }
}

#[test]
fn an_uncertain_commit_may_arrive_or_not() {
    let uncertain = Commit { id: None, is_certain: false, ..commit(1) };
    for is_accepted in [true, false] {
        let mut run = Run::new();
        run.ledger.commit(uncertain.clone());
        let run = if is_accepted { run.accept(1, 5) } else { run };
        let report = run.check();
        assert_eq!(findings(&report), [0; 6]);
        assert_eq!((report.uncertain_count, report.delivered_count), (1, usize::from(is_accepted)));
    }
}

#[test]
fn an_id_is_never_that_of_two_messages() {
    let other = |id| Request { marker: Some("m2".to_owned()), is_accepted: true, ..request(id) };
    let elsewhere = |id| Request { destination: "other".into(), ..other(id) };
    let second = |is_certain| Commit { id: Some(MessageId(1)), is_certain, ..commit(2) };
    let committed = |is_certain| {
        let mut run = Run::new().commit(1, 0).accept(1, 10);
        run.ledger.commit(second(is_certain));
        run
    };
    let logged = |id, marker: &str| {
        let mut run = Run::new().commit(1, 0).accept(1, 10);
        run.ledger.settle(vec![Logged { id: MessageId(id), marker: marker.to_owned() }]);
        run
    };
    let cases = [
        ("once", Run::new().commit(1, 0).accept(1, 10).accept(1, 20), false),
        ("two committed, and each arrived", committed(true).request(other(1), 20), true),
        ("two committed, and one arrived", committed(true), true),
        ("the second was perhaps committed", committed(false), false),
        (
            "the second was perhaps committed, and arrived",
            committed(false).request(other(1), 20),
            true,
        ),
        (
            "a rolled back one",
            Run::new().roll_back(Some(1), Some("m2")).commit(1, 0).accept(1, 1),
            false,
        ),
        (
            "delivered and forgotten, elsewhere",
            Run::new().roll_back(None, Some("m2")).commit(1, 0).request(elsewhere(1), 1),
            true,
        ),
        ("another one in the log", logged(1, "m2"), true),
        ("the same one in the log", logged(1, "m1"), false),
    ];
    for (name, run, expected) in cases {
        let report = run.check();
        assert_eq!(!report.reused.is_empty(), expected, "{name}: {report}");
        findings(&report);
        if expected {
            assert_eq!(report.reused[0].id, MessageId(1), "{name}");
            assert_eq!(report.reused[0].markers, ["m1", "m2"], "{name}");
            assert!(report.to_string().contains("an id twice: message 1: `m1`, `m2`"), "{report}");
        }
    }
}

#[test]
fn what_is_in_doubt_is_settled_by_the_log() {
    let in_doubt = |id| Commit { is_certain: false, ..commit(id) };
    let logged = |id| Logged { id: MessageId(id), marker: format!("m{id}") };
    let run = |requests: &[i64]| {
        let mut run = Run::new().commit(1, 0).accept(1, 10);
        run.ledger.commit(Commit { id: None, ..in_doubt(2) });
        run.ledger.commit(in_doubt(3));
        let run = requests.iter().fold(run, |run, id| run.accept(*id, 20));
        let mut ledger = run.ledger;
        let settled = ledger.settle(vec![logged(1), logged(2)]);
        assert_eq!(settled, Settled { kept_count: 1, forgotten_count: 1 });
        ledger.check()
    };
    let report = run(&[2]);
    assert_eq!(findings(&report), [0; 6]);
    assert_eq!((report.committed_count, report.uncertain_count), (2, 0));
    assert_eq!((report.delivered_count, report.rolled_back_count), (2, 1));
    // It was committed, and has to arrive; it was forgotten, and must not.
    assert_eq!(findings(&run(&[])), [1, 0, 0, 0, 0, 0]);
    let report = run(&[2, 3]);
    assert_eq!(findings(&report), [0, 1, 0, 0, 0, 0]);
    assert_eq!(report.phantoms[0].cause, PhantomCause::RolledBack);
    // Its id is free again.
    let mut reused = Run::new().ledger;
    reused.commit(in_doubt(3));
    reused.settle(vec![Logged { id: MessageId(3), marker: "another".to_owned() }]);
    assert_eq!(findings(&reused.check()), [0; 6]);
}

#[test]
fn overtaking_within_a_key_is_out_of_order() {
    let two = || Run::new().ordered(1, "k", 1).ordered(2, "k", 2);
    let cases = [
        ("in order", two().accept(1, 10).accept(2, 20), 0),
        ("retried in order", two().refuse(1, 10).accept(1, 20).refuse(2, 30).accept(2, 40), 0),
        ("the later first", two().accept(2, 10).accept(1, 20), 1),
        ("the later while the earlier waits", two().refuse(1, 10).accept(2, 20).accept(1, 30), 1),
        ("the later tried too early", two().refuse(2, 5).accept(1, 10).accept(2, 20), 1),
        ("at once, recorded in order", two().accept(1, 10).accept(2, 10), 0),
        (
            "a dead letter holds nobody up",
            two().refuse(1, 10).end(1, EndKind::DeadLettered).accept(2, 20),
            0,
        ),
        (
            "a redriven dead letter may come later",
            two().refuse(1, 10).end(1, EndKind::DeadLettered).accept(2, 20).accept(1, 30),
            0,
        ),
        (
            "other keys do not matter",
            Run::new().ordered(1, "k", 1).ordered(2, "other", 2).accept(2, 10).accept(1, 20),
            0,
        ),
        ("a key is not needed", Run::new().commit(1, 0).commit(2, 0).accept(2, 1).accept(1, 2), 0),
    ];
    for (name, run, expected) in cases {
        let report = run.check();
        assert_eq!(findings(&report), [0, 0, 0, expected, 0, 0], "{name}: {report}");
    }
}

#[test]
fn one_late_message_overtaken_by_two_counts_twice() {
    let run = Run::new().ordered(1, "k", 1).ordered(2, "k", 2).ordered(3, "k", 3);
    let report = run.accept(2, 10).accept(3, 20).accept(1, 30).check();
    let pairs: Vec<_> = report.out_of_order.iter().map(|o| (o.earlier, o.later)).collect();
    assert_eq!(pairs, [(1, 2), (1, 3)]);
}

#[test]
fn a_duplicate_needs_a_fault_near_its_first_acceptance() {
    use FaultKind::{
        AnswersLost, ConnectionsCut, FailedOver, PostgresCrashed, ProcessKilled, ProcessStopped,
        StoodStill,
    };
    let twice = |first, second| Run::new().commit(1, 0).accept(1, first).accept(1, second);
    let lost_at = |name: &str| AnswersLost { destination: name.into() };
    let cases = [
        ("no fault at all", twice(10_000, 30_000), false),
        ("killed soon after", twice(10_000, 30_000).fault(ProcessKilled, 11_000, 11_000), true),
        ("killed long after", twice(10_000, 30_000).fault(ProcessKilled, 13_000, 13_000), false),
        (
            "killed just before it arrived",
            twice(10_000, 30_000).fault(ProcessKilled, 9_500, 9_500),
            true,
        ),
        ("killed long before", twice(10_000, 30_000).fault(ProcessKilled, 8_000, 8_000), false),
        (
            "killed after the second",
            twice(10_000, 10_100).fault(ProcessKilled, 11_900, 11_900),
            false,
        ),
        ("connections cut", twice(10_000, 11_000).fault(ConnectionsCut, 10_500, 10_500), true),
        (
            "connections cut long after",
            twice(10_000, 30_000).fault(ConnectionsCut, 20_000, 20_000),
            false,
        ),
        (
            "accepted while PostgreSQL is down",
            twice(15_000, 30_000).fault(PostgresCrashed, 10_000, 20_000),
            true,
        ),
        (
            "accepted before the crash",
            twice(5_000, 30_000).fault(PostgresCrashed, 10_000, 20_000),
            false,
        ),
        (
            "accepted when the standby did not follow any more",
            twice(11_000, 30_000).fault(FailedOver, 10_000, 20_000),
            true,
        ),
        (
            "accepted while the standby followed",
            twice(5_000, 30_000).fault(FailedOver, 10_000, 20_000),
            false,
        ),
        (
            "accepted when the machine went on",
            twice(20_500, 30_000).fault(StoodStill, 10_000, 20_000),
            true,
        ),
        (
            "accepted long before the machine stood still",
            twice(5_000, 30_000).fault(StoodStill, 10_000, 20_000),
            false,
        ),
        ("frozen in flight", twice(10_000, 26_000).fault(ProcessStopped, 10_500, 40_000), true),
        (
            "a successor's own duplicate",
            twice(20_000, 26_000).fault(ProcessStopped, 10_500, 40_000),
            false,
        ),
        (
            "sent when it continued",
            twice(26_000, 40_200).fault(ProcessStopped, 10_500, 40_000),
            true,
        ),
        (
            "sent long after it continued",
            twice(26_000, 45_000).fault(ProcessStopped, 10_500, 40_000),
            false,
        ),
        ("its answer was lost", twice(10_000, 12_000).fault(lost_at("shop"), 10_000, 10_000), true),
        (
            "another's answer was lost",
            twice(10_000, 12_000).fault(lost_at("other"), 10_000, 10_000),
            false,
        ),
    ];
    for (name, run, is_explained) in cases {
        let report = run.check();
        let expected = [0, 0, 0, 0, 1, usize::from(!is_explained)];
        assert_eq!(findings(&report), expected, "{name}: {report}");
    }
}

#[test]
fn each_repetition_needs_its_own_fault() {
    let report = Run::new()
        .commit(1, 0)
        .accept(1, 10_000)
        .accept(1, 20_000)
        .accept(1, 30_000)
        .fault(FaultKind::ProcessKilled, 40_000, 40_000)
        .fault(FaultKind::ProcessKilled, 10_100, 10_100)
        .check();
    assert_eq!(findings(&report), [0, 0, 0, 0, 2, 1]);
    assert_eq!(report.duplicates_by_fault(), [0, 1]);
    assert!(report.to_string().contains("somebody killed; duplicates explained: 1"));
}

#[test]
fn a_refused_attempt_is_no_duplicate() {
    let report = Run::new().commit(1, 0).refuse(1, 10).refuse(1, 20).accept(1, 30).check();
    assert_eq!(findings(&report), [0; 6]);
}

#[test]
fn merging_brings_everything_along() {
    let other = Run::new().commit(1, 0).roll_back(Some(2), None).accept(1, 1);
    let other = other.end(3, EndKind::Cancelled).fault(FaultKind::ProcessKilled, 0, 0);
    let mut run = Run::new();
    run.ledger.merge(other.ledger);
    let report = run.check();
    assert_eq!((report.committed_count, report.delivered_count, report.cancelled_count), (1, 1, 1));
    assert_eq!((report.rolled_back_count, report.faults.len()), (1, 1));
}

#[test]
#[should_panic(expected = "a commit needs an id or a marker")]
fn a_commit_that_cannot_be_recognized_is_refused() {
    let mut run = Run::new();
    run.ledger.commit(Commit { id: None, marker: None, ..commit(1) });
}
