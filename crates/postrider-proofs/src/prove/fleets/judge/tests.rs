//! Made-up histories: the good one passes, and whatever is changed in it is found.

use super::*;

const SECOND: Moment = 1_000_000;

fn asked(marker: &str) -> Asked {
    Asked {
        marker: marker.to_owned(),
        action: "limited".to_owned(),
        max_retries: 1,
        ttl_ms: 10_000,
        timeout_ms: 60_000,
        failures: 0,
        reason: "transient_error".to_owned(),
        is_cancelled: false,
    }
}

fn end(execution_id: i64, attempt: i32, status: &str, reason: Option<&str>) -> EndRow {
    EndRow {
        execution_id,
        attempt,
        is_final: true,
        status: status.to_owned(),
        reason: reason.map(str::to_owned),
        has_error: status != "completed",
        heartbeat_at: None,
        run: None,
        requested_at: SECOND,
        started_at: Some(2 * SECOND),
        ended_at: 4 * SECOND,
    }
}

fn run(key: RunKey, execution_id: i64, attempt: i32, time: Range<Moment>) -> RunRow {
    RunRow {
        key,
        execution_id,
        attempt,
        fence: time.start,
        started_at: time.start,
        ended_at: Some(time.end),
    }
}

fn process(number: i32) -> ProcessRow {
    ProcessRow {
        number,
        worker: format!("worker-{number}"),
        capacity: 2,
        is_killed: false,
        frozen: Vec::new(),
        silent_since: None,
        heartbeats: Vec::new(),
        ended_at: 100 * SECOND,
    }
}

/// Execution 1 completes at once; execution 2 fails once in worker 0, and completes in worker 1.
fn good() -> Evidence {
    let mut second = asked("b");
    second.failures = 1;
    let mut first_end = end(1, 1, "completed", None);
    first_end.run = Some((0, 0));
    let mut failed = end(2, 1, "failed", Some("transient_error"));
    failed.is_final = false;
    let mut second_end = end(2, 2, "completed", None);
    second_end.run = Some((1, 0));
    (second_end.requested_at, second_end.started_at) = (5 * SECOND, Some(6 * SECOND));
    second_end.ended_at = 8 * SECOND;
    Evidence {
        asked: vec![asked("a"), second],
        rolled_back: ["c".to_owned()].into(),
        executions: vec![
            ExecutionRow { id: 1, marker: "a".to_owned() },
            ExecutionRow { id: 2, marker: "b".to_owned() },
        ],
        ends: vec![first_end, failed, second_end],
        runs: vec![
            run((0, 0), 1, 1, 2 * SECOND..4 * SECOND - 1),
            run((0, 1), 2, 1, 2 * SECOND..4 * SECOND - 1),
            run((1, 0), 2, 2, 6 * SECOND..8 * SECOND - 1),
        ],
        processes: vec![process(0), process(1)],
        answers: Vec::new(),
        losses: Vec::new(),
        limits: [("limited".to_owned(), 2)].into(),
        outages: Vec::new(),
        live_count: 0,
        grace: SECOND,
        stale_after: 2 * SECOND,
    }
}

/// What is found when the good history is changed.
fn found(change: impl FnOnce(&mut Evidence)) -> Vec<String> {
    let mut evidence = good();
    change(&mut evidence);
    judge(&evidence).findings
}

/// Exactly one finding, with these words.
fn check(words: &str, change: impl FnOnce(&mut Evidence)) {
    let findings = found(change);
    assert!(findings.len() == 1 && findings[0].contains(words), "{words}: {findings:?}");
}

/// Worker 0 loses the second execution, which worker 1 runs from second 6 on.
fn lose(evidence: &mut Evidence, ends_at: Option<Moment>) {
    evidence.asked[1].failures = 0;
    evidence.ends[1].reason = Some("worker_heartbeat_stale".to_owned());
    evidence.runs[1].ended_at = ends_at;
}

#[test]
fn a_good_history_is_good() {
    assert_eq!(found(|_| ()), Vec::<String>::new());
}

#[test]
fn what_was_committed_is_there_and_what_was_rolled_back_is_not() {
    check("committed, and lost", |evidence| evidence.asked.push(asked("d")));
    check("rolled back, and there", |evidence| {
        evidence.executions.push(ExecutionRow { id: 3, marker: "c".to_owned() });
    });
    check("nobody asked", |evidence| {
        evidence.executions.push(ExecutionRow { id: 3, marker: "e".to_owned() });
    });
    check("does not exist", |evidence| {
        evidence.runs.push(run((1, 1), 9, 1, 10 * SECOND..11 * SECOND));
    });
}

#[test]
fn an_execution_has_one_end() {
    check("ended 0 times", |evidence| {
        evidence.ends.remove(0);
    });
    check("ended 2 times", |evidence| {
        let again = evidence.ends[0].clone();
        evidence.ends.push(again);
    });
    check("after its end", |evidence| evidence.ends[1].ended_at = 9 * SECOND);
    check("left in live_execution", |evidence| evidence.live_count = 1);
}

#[test]
fn an_end_has_its_reason() {
    check("no reason", |evidence| {
        evidence.ends[2].status = "failed".to_owned();
    });
    check("without an error", |evidence| {
        evidence.ends[0] = end(1, 1, "failed", Some("transient_error"));
        evidence.ends[0].has_error = false;
    });
    check("nobody cancelled", |evidence| {
        evidence.ends[0] = end(1, 1, "cancelled", Some("cancelled"));
    });
    check("and not transient_error", |evidence| {
        evidence.ends[0] = end(1, 1, "failed", Some("permanent_error"));
    });
    check("in attempt 1 of 2", |evidence| {
        evidence.ends[0] = end(1, 1, "failed", Some("transient_error"));
    });
    check("expired after 3000 ms", |evidence| {
        evidence.asked[0].max_retries = 0;
        evidence.ends[0] = end(1, 1, "failed", Some("queue_timeout"));
        evidence.ends[0].started_at = None;
    });
    check("expired, and it had been started", |evidence| {
        evidence.asked[0].max_retries = 0;
        evidence.asked[0].ttl_ms = 2_000;
        evidence.ends[0] = end(1, 1, "failed", Some("queue_timeout"));
    });
    check("after 2000 of 60000 ms", |evidence| {
        evidence.ends[0] = end(1, 1, "timeout", Some("timeout"));
    });
    check("never ran, and nothing", |evidence| {
        evidence.asked[0].timeout_ms = 2_000;
        evidence.ends[0] = end(1, 1, "timeout", Some("timeout"));
        evidence.runs.remove(0);
    });
    check("process 0 was well", |evidence| lose(evidence, Some(4 * SECOND - 1)));
}

#[test]
fn a_result_is_that_of_the_run_that_has_the_execution() {
    check("not that of a run", |evidence| evidence.ends[0].run = None);
    check("that of attempt 1", |evidence| evidence.ends[2].run = Some((0, 1)));
    check("had lost it", |evidence| {
        evidence.runs[2].fence = 1;
        evidence.runs[1].fence = 2;
    });
    check("does not succeed", |evidence| evidence.asked[1].failures = 2);
}

#[test]
fn there_are_no_more_attempts_than_allowed() {
    let findings = found(|evidence| evidence.asked[1].max_retries = 0);
    assert!(findings.iter().any(|finding| finding.contains("one too many")), "{findings:?}");
    let findings = found(|evidence| evidence.ends[1].reason = Some("permanent_error".to_owned()));
    assert!(findings.iter().any(|finding| finding.contains("retried after")), "{findings:?}");
    let again = |evidence: &mut Evidence| {
        evidence.runs.push(run((1, 1), 1, 1, SECOND..SECOND + 1));
        evidence.runs[0].fence = SECOND * 9;
    };
    check("ran 2 times", again);
    // Given back, it may run again.
    assert!(
        found(|evidence| {
            again(evidence);
            let mut released = end(1, 1, "released", None);
            released.is_final = false;
            (released.started_at, released.ended_at) = (Some(SECOND), SECOND + 1);
            evidence.ends.push(released);
        })
        .is_empty()
    );
}

#[test]
fn two_runs_at_the_same_time_are_found_unless_one_was_just_frozen() {
    let findings = found(|evidence| evidence.runs[1].ended_at = Some(7 * SECOND));
    assert!(findings.iter().any(|finding| finding.contains("same time")), "{findings:?}");
    // Killed: it ends with its process.
    let killed = |evidence: &mut Evidence, at: Moment| {
        lose(evidence, None);
        evidence.processes[0].is_killed = true;
        evidence.processes[0].ended_at = at;
        evidence.runs[0].ended_at = Some(3 * SECOND);
    };
    assert!(found(|evidence| killed(evidence, 3 * SECOND)).is_empty());
    let findings = found(|evidence| killed(evidence, 7 * SECOND));
    assert!(findings.iter().any(|finding| finding.contains("same time")), "{findings:?}");
    // Frozen: for a moment.
    let frozen = |evidence: &mut Evidence, ends_at: Moment| {
        lose(evidence, Some(ends_at));
        evidence.processes[0].frozen.push(3 * SECOND..7 * SECOND);
    };
    let verdict = {
        let mut evidence = good();
        frozen(&mut evidence, 7 * SECOND + 100_000);
        judge(&evidence)
    };
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
    assert_eq!((verdict.frozen_overlaps, verdict.longest_overlap), (1, 100_000));
    let findings = found(|evidence| frozen(evidence, 9 * SECOND));
    assert!(findings.iter().any(|finding| finding.contains("went on")), "{findings:?}");
}

/// Worker 0 falls asleep with the second execution at second 2, and loses it at second 4.
fn asleep(evidence: &mut Evidence) {
    lose(evidence, Some(2 * SECOND));
    evidence.ends[1].heartbeat_at = Some(2 * SECOND - 1);
    evidence.processes[0].silent_since = Some(2 * SECOND);
    evidence.processes[0].heartbeats = vec![SECOND, 2 * SECOND - 2];
    evidence.losses.push(LossRow {
        worker: "worker-0".to_owned(),
        at: 4 * SECOND,
        heartbeat_at: 2 * SECOND - 1,
    });
}

fn answer(run: RunKey, call: Call, asked_at: Moment, is_accepted: bool) -> AnswerRow {
    AnswerRow { run, call, asked_at, is_accepted }
}

#[test]
fn who_has_lost_an_execution_is_not_listened_to() {
    let verdict = {
        let mut evidence = good();
        asleep(&mut evidence);
        evidence.answers = vec![
            answer((0, 0), Call::Complete, 3 * SECOND, true),
            answer((0, 1), Call::Extend, 3 * SECOND, true),
            answer((0, 1), Call::Complete, 5 * SECOND, false),
            answer((0, 1), Call::Release, 7 * SECOND, false),
        ];
        judge(&evidence)
    };
    assert_eq!(verdict.findings, Vec::<String>::new());
    assert_eq!((verdict.late_calls, verdict.late_calls_beside_a_run), (2, 1));
    for call in Call::ALL {
        check("when others had it", |evidence| {
            asleep(evidence);
            evidence.answers.push(answer((0, 1), call, 5 * SECOND, true));
        });
    }
    // Whether or not the database says that it was lost.
    let findings = found(|evidence| {
        evidence.runs[1].ended_at = Some(2 * SECOND);
        evidence.ends.remove(1);
        evidence.answers.push(answer((0, 1), Call::Complete, 7 * SECOND, true));
    });
    assert!(findings[0].contains("when others had it"), "{findings:?}");
    check("it has ended otherwise", |evidence| {
        asleep(evidence);
        evidence.answers.push(answer((0, 1), Call::Complete, 3 * SECOND, true));
    });
}

#[test]
fn nobody_is_lost_who_was_not_silent_for_long_enough() {
    assert_eq!(found(asleep), Vec::<String>::new());
    check("worker-0: lost after 900 ms", |evidence| {
        asleep(evidence);
        evidence.losses[0].at = 2 * SECOND + 900_000 - 1;
    });
    check("silent for 1999 ms", |evidence| {
        asleep(evidence);
        evidence.ends[1].heartbeat_at = Some(2 * SECOND + 1);
    });
    check("after a heartbeat of it was accepted", |evidence| {
        asleep(evidence);
        evidence.processes[0].heartbeats.push(2 * SECOND + 1);
    });
    check("after a heartbeat of it was accepted", |evidence| {
        asleep(evidence);
        evidence.processes[0].heartbeats.push(5 * SECOND);
    });
}

#[test]
fn what_the_database_has_ended_does_not_go_on_for_long() {
    let timeout = |evidence: &mut Evidence, longer: Moment| {
        evidence.asked[0].timeout_ms = 2_000;
        evidence.ends[0] = end(1, 1, "timeout", Some("timeout"));
        evidence.runs[0].ended_at = Some(4 * SECOND + longer);
    };
    assert!(found(|evidence| timeout(evidence, SECOND / 2)).is_empty());
    check("went on for 3000 ms", |evidence| timeout(evidence, 3 * SECOND));
    // What it has ended itself it does not go on with at all.
    check("went on", |evidence| evidence.runs[0].ended_at = Some(4 * SECOND + 1_000));
}

#[test]
fn limits_and_capacities_hold() {
    check("2 of limited at a time, and not 1", |evidence| {
        evidence.limits.insert("limited".to_owned(), 1);
    });
    check("ran 2 at a time, and not 1", |evidence| evidence.processes[0].capacity = 1);
    // One after the other is one at a time.
    assert_eq!(most_at_a_time([1..3, 3..5, 4..4].into_iter()), 1);
    assert_eq!(most_at_a_time([1..4, 3..5, 3..6].into_iter()), 3);
}
