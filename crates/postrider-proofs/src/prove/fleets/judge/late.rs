//! Whether what a worker says too late counts, and whether nobody is taken for lost too early.

use std::collections::HashMap;

use super::{Call, Case, EndRow, Moment, RunKey, RunRow, STALE, Verdict};

/// By so much an event may be older than the look that led to it: it has the time at which its transaction
/// began, and that may have waited for a lock.
const EVENT_ERROR: Moment = 1_000_000;

impl Case<'_> {
    /// Who has lost an execution cannot say anything about it any more, and what counts is what happens.
    pub(super) fn answers(&self, verdict: &mut Verdict) {
        let runs: HashMap<RunKey, &RunRow> =
            self.evidence.runs.iter().map(|run| (run.key, run)).collect();
        for answer in &self.evidence.answers {
            let Some(run) = runs.get(&answer.run) else { continue };
            let is_late = self.lost_at(run).is_some_and(|lost_at| lost_at < answer.asked_at);
            verdict.late_calls += usize::from(is_late);
            verdict.late_calls_beside_a_run +=
                usize::from(is_late && self.is_run_by_another(run, answer.asked_at));
            if answer.is_accepted && is_late {
                verdict.find(format!(
                    "execution {}: {:?} of run {:?} (fence {}) was accepted when others had it",
                    run.execution_id, answer.call, run.key, run.fence
                ));
            } else if answer.is_accepted && answer.call == Call::Complete && !self.counts(run) {
                verdict.find(format!(
                    "execution {}: the result of run {:?} was accepted, and it has ended otherwise",
                    run.execution_id, run.key
                ));
            }
        }
    }

    /// A worker is lost when it has been silent for long enough, by what the database says and by what its
    /// own record says.
    pub(super) fn losses(&self, verdict: &mut Verdict) {
        let stale_after = self.evidence.stale_after;
        for loss in &self.evidence.losses {
            let silence = loss.at - loss.heartbeat_at;
            verdict.longest_silence = verdict.longest_silence.max(silence);
            let shortest = verdict.shortest_silence.get_or_insert(silence);
            *shortest = silence.min(*shortest);
            if silence + EVENT_ERROR < stale_after {
                verdict.find(format!("{}: lost after {} ms", loss.worker, silence / 1_000));
            }
        }
        for end in self.evidence.ends.iter().filter(|end| is_stale(end)) {
            let silence = end.heartbeat_at.map_or(Moment::MAX, |at| end.ended_at - at);
            if silence < stale_after {
                verdict.find(format!(
                    "execution {}: taken from a worker that was silent for {} ms",
                    end.execution_id,
                    silence / 1_000
                ));
            }
        }
        for run in &self.evidence.runs {
            if let Some(end) = self.database_end(run).filter(|end| is_stale(end)) {
                self.heartbeats(run, end, verdict);
            }
        }
    }

    /// None was accepted for long enough before its worker was lost, and none after that.
    fn heartbeats(&self, run: &RunRow, end: &EndRow, verdict: &mut Verdict) {
        let Some(process) = self.processes.get(&run.key.0) else { return };
        let from = end.ended_at - self.evidence.stale_after;
        if let Some(at) = process.heartbeats.iter().find(|at| **at > from) {
            verdict.find(format!(
                "execution {}: taken from {} {} ms after a heartbeat of it was accepted",
                run.execution_id,
                process.worker,
                (end.ended_at - at) / 1_000
            ));
        }
    }

    /// When an execution was no longer that of a run, by whatever says so first.
    fn lost_at(&self, run: &RunRow) -> Option<Moment> {
        let ended_at =
            self.database_end(run).filter(|end| end.run != Some(run.key)).map(|end| end.ended_at);
        let later = self.runs_of(run.execution_id).iter().filter(|other| other.fence > run.fence);
        later.map(|other| other.started_at).chain(ended_at).min()
    }

    fn is_run_by_another(&self, run: &RunRow, at: Moment) -> bool {
        self.runs_of(run.execution_id)
            .iter()
            .any(|other| other.key != run.key && other.started_at <= at && at < self.end_of(other))
    }

    /// Whether its result is how the execution ended.
    fn counts(&self, run: &RunRow) -> bool {
        self.database_end(run)
            .is_some_and(|end| end.status == "completed" && end.run == Some(run.key))
    }
}

fn is_stale(end: &EndRow) -> bool {
    end.reason.as_deref() == Some(STALE)
}
