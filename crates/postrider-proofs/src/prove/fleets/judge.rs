//! What became of a fleet's executions, against what was asked for and what the workers' own records say.
//!
//! The judge has no database and no clock: it gets rows and moments, so that its tests can make them up.

mod late;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
};

/// Microseconds since 1970, by the clock of the machine, which the database and all processes share.
pub type Moment = i64;

/// Which run of which process it is.
pub type RunKey = (i32, i64);

/// Reasons after which there is another attempt, as long as there are retries.
const WORTH_RETRYING: [&str; 5] =
    ["worker_unavailable", "queue_timeout", STALE, "transient_error", "manual_retry"];
/// The reason of what a worker was running that was taken for lost.
const STALE: &str = "worker_heartbeat_stale";
/// Reasons that come from the fleet and not from the handler.
const LOSSES: [&str; 2] = ["worker_unavailable", STALE];
/// How exactly two clocks of one machine agree, in microseconds: the database rounds.
const CLOCK_ERROR: Moment = 2_000;

/// An execution that somebody committed.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Names it in its parameters.
    pub marker: String,
    pub action: String,
    pub max_retries: i32,
    pub ttl_ms: i64,
    pub timeout_ms: i64,
    /// So many attempts fail, for this reason.
    pub failures: i32,
    pub reason: String,
    /// Somebody wanted to cancel it.
    pub is_cancelled: bool,
}

/// An execution as the database has it.
#[derive(Debug, Clone)]
pub struct ExecutionRow {
    pub id: i64,
    pub marker: String,
}

/// How an attempt ended, as the database has it.
#[derive(Debug, Clone)]
pub struct EndRow {
    pub execution_id: i64,
    pub attempt: i32,
    pub is_final: bool,
    pub status: String,
    pub reason: Option<String>,
    pub has_error: bool,
    /// The last heartbeat of the worker that it was taken from.
    pub heartbeat_at: Option<Moment>,
    /// The run whose result it is.
    pub run: Option<RunKey>,
    pub requested_at: Moment,
    pub started_at: Option<Moment>,
    pub ended_at: Moment,
}

/// A handler's call, as its worker has recorded it.
#[derive(Debug, Clone)]
pub struct RunRow {
    pub key: RunKey,
    pub execution_id: i64,
    pub attempt: i32,
    /// What it was started with: who has the highest one has the execution.
    pub fence: i64,
    pub started_at: Moment,
    /// None: the process was killed before it could say so.
    pub ended_at: Option<Moment>,
}

/// A worker's process, as the harness has seen it.
#[derive(Debug, Clone)]
pub struct ProcessRow {
    pub number: i32,
    pub worker: String,
    pub capacity: usize,
    pub is_killed: bool,
    /// When it did not run although it lived.
    pub frozen: Vec<Range<Moment>>,
    /// From when on it did nothing that a worker has to do.
    pub silent_since: Option<Moment>,
    /// Since when at least it has sent heartbeats that were accepted, as it has recorded itself.
    pub heartbeats: Vec<Moment>,
    pub ended_at: Moment,
}

/// What a worker can say about an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Start,
    Extend,
    Complete,
    Fail,
    Release,
}

impl Call {
    pub const ALL: [Call; 5] =
        [Call::Start, Call::Extend, Call::Complete, Call::Fail, Call::Release];
}

/// What a worker was answered that said something about a run, with the fences that this had.
#[derive(Debug, Clone)]
pub struct AnswerRow {
    pub run: RunKey,
    pub call: Call,
    /// Before the call.
    pub asked_at: Moment,
    pub is_accepted: bool,
}

/// A worker that was taken for lost, as the database has it.
#[derive(Debug, Clone)]
pub struct LossRow {
    pub worker: String,
    pub at: Moment,
    pub heartbeat_at: Moment,
}

/// Everything that is known at the end.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub asked: Vec<Asked>,
    /// Markers of executions whose transactions were rolled back.
    pub rolled_back: HashSet<String>,
    pub executions: Vec<ExecutionRow>,
    pub ends: Vec<EndRow>,
    pub runs: Vec<RunRow>,
    pub processes: Vec<ProcessRow>,
    pub answers: Vec<AnswerRow>,
    pub losses: Vec<LossRow>,
    /// How many executions of an action may be under way at a time.
    pub limits: HashMap<String, usize>,
    /// When the database did not answer.
    pub outages: Vec<Range<Moment>>,
    /// Rows that have not ended.
    pub live_count: i64,
    /// How long a worker may go on with what it has lost, in microseconds.
    pub grace: Moment,
    /// How long a worker is silent before it is taken for lost, in microseconds.
    pub stale_after: Moment,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Verdict {
    pub findings: Vec<String>,
    pub committed: usize,
    /// Executions by their final status and reason.
    pub ends: Vec<(String, usize)>,
    pub runs: usize,
    /// Attempts that somebody else has ended, and those that were given back.
    pub lost_attempts: usize,
    pub released: usize,
    /// Runs that a frozen process went on with beside another run, and for how long at most.
    pub frozen_overlaps: usize,
    pub longest_overlap: Moment,
    /// Runs that went on after the database had ended them, and for how long at most.
    pub overruns: usize,
    pub longest_overrun: Moment,
    /// Runs that would have succeeded, and whose result does not count.
    pub refused_results: usize,
    /// Attempts that ran out of time without any run, over an outage.
    pub orphans: usize,
    /// Calls about executions that others had, or that had ended; and those while another run was under way.
    pub late_calls: usize,
    pub late_calls_beside_a_run: usize,
    /// How long workers had been silent when they were taken for lost.
    pub shortest_silence: Option<Moment>,
    pub longest_silence: Moment,
    /// How long after its time to live an execution ended, at most.
    pub latest_expiry: Moment,
    /// The most that was under way at a time, of an action with a limit, and of its limit.
    pub fullest: Vec<(String, usize, usize)>,
}

/// Judges.
pub fn judge(evidence: &Evidence) -> Verdict {
    let case = Case::new(evidence);
    let mut verdict = Verdict { committed: evidence.asked.len(), ..Verdict::default() };
    verdict.runs = evidence.runs.len();
    case.submissions(&mut verdict);
    for asked in &evidence.asked {
        if let Some(&id) = case.ids.get(asked.marker.as_str()) {
            case.execution(asked, id, &mut verdict);
            case.attempts(asked, id, &mut verdict);
            case.overlaps(asked, id, &mut verdict);
        }
    }
    case.overruns(&mut verdict);
    case.answers(&mut verdict);
    case.losses(&mut verdict);
    case.limits(&mut verdict);
    case.capacities(&mut verdict);
    if evidence.live_count != 0 {
        verdict.find(format!("{} rows are left in live_execution", evidence.live_count));
    }
    verdict
}

/// The evidence, by what is asked about it.
struct Case<'a> {
    evidence: &'a Evidence,
    ids: HashMap<&'a str, i64>,
    asked: HashMap<i64, &'a Asked>,
    /// By execution, in the order of their ends.
    ends: HashMap<i64, Vec<&'a EndRow>>,
    /// By execution, in the order of their starts.
    runs: HashMap<i64, Vec<&'a RunRow>>,
    processes: HashMap<i32, &'a ProcessRow>,
}

impl<'a> Case<'a> {
    fn new(evidence: &'a Evidence) -> Self {
        let mut ends: HashMap<i64, Vec<&EndRow>> = HashMap::new();
        for end in &evidence.ends {
            ends.entry(end.execution_id).or_default().push(end);
        }
        ends.values_mut().for_each(|ends| ends.sort_by_key(|end| end.ended_at));
        let mut runs: HashMap<i64, Vec<&RunRow>> = HashMap::new();
        for run in &evidence.runs {
            runs.entry(run.execution_id).or_default().push(run);
        }
        runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.started_at));
        let ids: HashMap<&str, i64> =
            evidence.executions.iter().map(|row| (row.marker.as_str(), row.id)).collect();
        let asked = evidence
            .asked
            .iter()
            .filter_map(|asked| Some((*ids.get(asked.marker.as_str())?, asked)))
            .collect();
        let processes = evidence.processes.iter().map(|row| (row.number, row)).collect();
        Self { evidence, ids, asked, ends, runs, processes }
    }

    /// What was committed is there, once; what was rolled back is not.
    fn submissions(&self, verdict: &mut Verdict) {
        let committed: HashSet<&str> =
            self.evidence.asked.iter().map(|asked| asked.marker.as_str()).collect();
        for marker in &committed {
            if !self.ids.contains_key(marker) {
                verdict.find(format!("{marker}: committed, and lost"));
            }
        }
        if self.ids.len() != self.evidence.executions.len() {
            verdict.find("two executions have one marker".to_owned());
        }
        for row in &self.evidence.executions {
            if self.evidence.rolled_back.contains(&row.marker) {
                verdict.find(format!("{}: rolled back, and there (id {})", row.marker, row.id));
            } else if !committed.contains(row.marker.as_str()) {
                verdict.find(format!("{}: nobody asked for it (id {})", row.marker, row.id));
            }
        }
        let known: HashSet<i64> = self.evidence.executions.iter().map(|row| row.id).collect();
        for run in &self.evidence.runs {
            if !known.contains(&run.execution_id) {
                verdict.find(format!("execution {} ran and does not exist", run.execution_id));
            }
        }
    }

    /// It has one end, and that end is the one it should have.
    fn execution(&self, asked: &Asked, id: i64, verdict: &mut Verdict) {
        let ends = self.ends_of(id);
        let finals: Vec<&&EndRow> = ends.iter().filter(|end| end.is_final).collect();
        let [end] = finals[..] else {
            verdict.find(format!("{}: it has ended {} times", asked.marker, finals.len()));
            return;
        };
        if ends.last().is_some_and(|last| !last.is_final) {
            verdict.find(format!("{}: an attempt ended after its end", asked.marker));
        }
        let name = match &end.reason {
            Some(reason) if *reason != end.status => format!("{} ({reason})", end.status),
            _ => end.status.clone(),
        };
        verdict.count(name);
        let objection = match end.status.as_str() {
            "completed" => self.completed(asked, id, end),
            "failed" => self.failed(asked, id, end),
            "timeout" => self.timed_out(asked, id, end, verdict),
            "cancelled" => (!asked.is_cancelled).then(|| "nobody cancelled it".to_owned()),
            other => Some(format!("its status is {other}")),
        };
        if let Some(objection) = objection {
            verdict.find(format!("{} (id {id}): {}: {objection}", asked.marker, end.status));
        }
        if end.status == "failed" && end.reason.as_deref() == Some("queue_timeout") {
            let expired_at = end.requested_at + asked.ttl_ms * 1_000;
            verdict.latest_expiry = verdict.latest_expiry.max(end.ended_at - expired_at);
        }
    }

    fn completed(&self, asked: &Asked, id: i64, end: &EndRow) -> Option<String> {
        if end.reason.is_some() {
            return Some("it has a reason".to_owned());
        }
        if end.attempt <= asked.failures {
            return Some(format!("attempt {} does not succeed", end.attempt));
        }
        let Some(run) = self.runs_of(id).iter().find(|run| Some(run.key) == end.run) else {
            return Some(format!("its result {:?} is not that of a run of it", end.run));
        };
        if run.attempt != end.attempt {
            return Some(format!("its result is that of attempt {}", run.attempt));
        }
        let is_last = self.runs_of(id).iter().all(|other| other.fence <= run.fence);
        (!is_last).then(|| "its result is that of a run which had lost it".to_owned())
    }

    fn failed(&self, asked: &Asked, id: i64, end: &EndRow) -> Option<String> {
        let Some(reason) = end.reason.as_deref() else {
            return Some("it has no reason".to_owned());
        };
        if !end.has_error {
            return Some(format!("{reason}, without an error"));
        }
        if WORTH_RETRYING.contains(&reason) && end.attempt != asked.max_retries + 1 {
            return Some(format!(
                "{reason} in attempt {} of {}",
                end.attempt,
                asked.max_retries + 1
            ));
        }
        self.cause(asked, id, end, reason)
    }

    /// What is wrong with the reason of a failed attempt.
    fn cause(&self, asked: &Asked, id: i64, end: &EndRow, reason: &str) -> Option<String> {
        if reason == "queue_timeout" {
            if end.started_at.is_some() {
                return Some("expired, and it had been started".to_owned());
            }
            let waited = end.ended_at - end.requested_at;
            let is_early = waited + CLOCK_ERROR < asked.ttl_ms * 1_000;
            return (is_early).then(|| format!("expired after {} ms", waited / 1_000));
        }
        let runs = self.runs_of(id);
        let run = runs.iter().rfind(|run| is_of(run, end));
        if LOSSES.contains(&reason) && reason != asked.reason {
            // Whatever it waited for was lost; what ran must have been interrupted.
            return run
                .filter(|run| !self.is_disturbed(run, end.ended_at))
                .map(|run| format!("{reason}, and process {} was well", run.key.0));
        }
        if reason != asked.reason {
            return Some(format!("{reason}, and not {}", asked.reason));
        }
        if end.attempt > asked.failures {
            return Some(format!("attempt {} does not fail", end.attempt));
        }
        run.is_none().then(|| format!("{reason}, and it never ran"))
    }

    fn timed_out(
        &self,
        asked: &Asked,
        id: i64,
        end: &EndRow,
        verdict: &mut Verdict,
    ) -> Option<String> {
        if end.reason.as_deref() != Some("timeout") || !end.has_error {
            return Some(format!("reason {:?}, error: {}", end.reason, end.has_error));
        }
        let Some(started_at) = end.started_at else { return Some("it never started".to_owned()) };
        let ran = end.ended_at - started_at;
        if ran + CLOCK_ERROR < asked.timeout_ms * 1_000 {
            return Some(format!("after {} of {} ms", ran / 1_000, asked.timeout_ms));
        }
        if self.runs_of(id).iter().any(|run| is_of(run, end)) {
            return None;
        }
        let lived = started_at - self.evidence.grace..end.ended_at;
        if self.is_interrupted(&lived) {
            verdict.orphans += 1;
            return None;
        }
        Some("it never ran, and nothing was in its way".to_owned())
    }

    /// No more attempts than allowed, no more runs than attempts.
    fn attempts(&self, asked: &Asked, id: i64, verdict: &mut Verdict) {
        let mut released: HashMap<i32, usize> = HashMap::new();
        for end in self.ends_of(id) {
            if end.attempt > asked.max_retries + 1 {
                verdict.find(format!("{}: attempt {} is one too many", asked.marker, end.attempt));
            }
            match (end.status.as_str(), end.reason.as_deref()) {
                ("released", _) => *released.entry(end.attempt).or_default() += 1,
                ("failed", Some(reason)) if !end.is_final => {
                    if !WORTH_RETRYING.contains(&reason) {
                        verdict.find(format!("{}: retried after {reason}", asked.marker));
                    } else if let Some(objection) = self.cause(asked, id, end, reason) {
                        verdict.find(format!(
                            "{} (id {id}), attempt {}: {objection}",
                            asked.marker, end.attempt
                        ));
                    }
                    verdict.lost_attempts += usize::from(LOSSES.contains(&reason));
                }
                _ => {}
            }
        }
        verdict.released += released.values().sum::<usize>();
        let mut runs: HashMap<i32, usize> = HashMap::new();
        for run in self.runs_of(id) {
            *runs.entry(run.attempt).or_default() += 1;
        }
        for (attempt, count) in runs {
            if count > 1 + released.get(&attempt).copied().unwrap_or(0) {
                verdict.find(format!(
                    "{} (id {id}): attempt {attempt} ran {count} times",
                    asked.marker
                ));
            }
        }
    }

    /// It never ran twice at the same time, unless a frozen process went on for a moment.
    fn overlaps(&self, asked: &Asked, id: i64, verdict: &mut Verdict) {
        let runs = self.runs_of(id);
        for (index, earlier) in runs.iter().enumerate() {
            for later in &runs[index + 1..] {
                let both = later.started_at..self.end_of(earlier).min(self.end_of(later));
                if both.is_empty() {
                    continue;
                }
                let active = self.active(earlier, both.clone());
                if active <= 0 {
                    continue;
                }
                verdict.longest_overlap = verdict.longest_overlap.max(active);
                verdict.frozen_overlaps += 1;
                if !self.is_after_freeze(earlier, later.started_at, self.end_of(earlier)) {
                    verdict.find(format!(
                        "{} (id {id}): two runs at the same time for {} ms: {:?} and {:?}",
                        asked.marker,
                        active / 1_000,
                        earlier.key,
                        later.key
                    ));
                }
            }
        }
    }

    /// Nobody goes on for long with what the database has ended.
    fn overruns(&self, verdict: &mut Verdict) {
        for run in &self.evidence.runs {
            let Some(end) = self.database_end(run) else { continue };
            let counts = end.run == Some(run.key);
            if !counts && self.is_success(run) && end.status != "completed" {
                verdict.refused_results += 1;
            }
            let active = self.active(run, end.ended_at..self.end_of(run));
            if active <= 0 {
                continue;
            }
            verdict.overruns += 1;
            verdict.longest_overrun = verdict.longest_overrun.max(active);
            let is_ended_by_others = matches!(end.status.as_str(), "timeout" | "cancelled")
                || end.reason.as_deref().is_some_and(|reason| LOSSES.contains(&reason));
            if !is_ended_by_others || active > self.evidence.grace {
                verdict.find(format!(
                    "execution {}: run {:?} went on for {} ms after it was {} ({:?})",
                    run.execution_id,
                    run.key,
                    active / 1_000,
                    end.status,
                    end.reason
                ));
            }
        }
    }

    /// No more than its limit of an action at any time. What the database has ended does not count.
    fn limits(&self, verdict: &mut Verdict) {
        let mut limits: Vec<_> = self.evidence.limits.iter().collect();
        limits.sort();
        for (action, &limit) in limits {
            let runs = self.evidence.runs.iter().filter(|run| {
                self.asked.get(&run.execution_id).is_some_and(|asked| asked.action == *action)
            });
            let intervals = runs.map(|run| {
                let ended_at = self.database_end(run).map_or(Moment::MAX, |end| end.ended_at);
                run.started_at..self.end_of(run).min(ended_at)
            });
            let most = most_at_a_time(intervals);
            verdict.fullest.push((action.clone(), most, limit));
            if most > limit {
                verdict.find(format!("{most} of {action} at a time, and not {limit}"));
            }
        }
    }

    /// No process runs more than it has capacity for.
    fn capacities(&self, verdict: &mut Verdict) {
        for process in &self.evidence.processes {
            let runs = self.evidence.runs.iter().filter(|run| run.key.0 == process.number);
            let most = most_at_a_time(runs.map(|run| run.started_at..self.end_of(run)));
            if most > process.capacity {
                verdict.find(format!(
                    "process {} of {} ran {most} at a time, and not {}",
                    process.number, process.worker, process.capacity
                ));
            }
        }
    }

    fn ends_of(&self, id: i64) -> &[&'a EndRow] {
        self.ends.get(&id).map_or(&[], Vec::as_slice)
    }

    fn runs_of(&self, id: i64) -> &[&'a RunRow] {
        self.runs.get(&id).map_or(&[], Vec::as_slice)
    }

    /// When a run ended: by its own record, or with its process.
    fn end_of(&self, run: &RunRow) -> Moment {
        let died_at = self.processes.get(&run.key.0).map(|process| process.ended_at);
        run.ended_at.or(died_at).unwrap_or(Moment::MAX)
    }

    /// How the database has ended what the run is about.
    fn database_end(&self, run: &RunRow) -> Option<&'a EndRow> {
        self.ends_of(run.execution_id).iter().copied().rfind(|end| is_of(run, end))
    }

    /// Whether its handler would have succeeded.
    fn is_success(&self, run: &RunRow) -> bool {
        let asked = self.asked.get(&run.execution_id);
        run.ended_at.is_some() && asked.is_some_and(|asked| run.attempt > asked.failures)
    }

    /// For how much of a time the run's process was not frozen.
    fn active(&self, run: &RunRow, time: Range<Moment>) -> Moment {
        let frozen: Moment = self.frozen(run).iter().map(|frozen| shared(frozen, &time)).sum();
        (time.end - time.start).max(0) - frozen
    }

    fn frozen(&self, run: &RunRow) -> &[Range<Moment>] {
        self.processes.get(&run.key.0).map_or(&[], |process| &process.frozen)
    }

    /// Whether the run, after another one has begun at `from`, goes on only shortly after a freeze.
    fn is_after_freeze(&self, run: &RunRow, from: Moment, to: Moment) -> bool {
        self.frozen(run).iter().any(|frozen| {
            frozen.start <= from && frozen.end <= to && to - frozen.end <= self.evidence.grace
        })
    }

    /// Whether something happened to the run's process, or to the database, before `until`.
    fn is_disturbed(&self, run: &RunRow, until: Moment) -> bool {
        let Some(process) = self.processes.get(&run.key.0) else { return false };
        let is_dead = process.is_killed && process.ended_at <= until;
        let is_frozen = process.frozen.iter().any(|frozen| frozen.start <= until);
        let is_silent = process.silent_since.is_some_and(|since| since <= until);
        is_dead || is_frozen || is_silent || self.is_interrupted(&(run.started_at..until))
    }

    /// Whether the database was away, or any process was killed or frozen, in this time.
    fn is_interrupted(&self, time: &Range<Moment>) -> bool {
        let is_within = |moment: Moment| time.start <= moment && moment <= time.end;
        self.evidence.outages.iter().any(|outage| shared(outage, time) > 0)
            || self.evidence.processes.iter().any(|process| {
                (process.is_killed && is_within(process.ended_at))
                    || process.frozen.iter().any(|frozen| shared(frozen, time) > 0)
            })
    }
}

impl Verdict {
    fn find(&mut self, finding: String) {
        self.findings.push(finding);
    }

    fn count(&mut self, name: String) {
        match self.ends.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.ends.push((name, 1)),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "  {} executions committed, {} runs", self.committed, self.runs)?;
        let mut ends: Vec<String> =
            self.ends.iter().map(|(name, count)| format!("{count} {name}")).collect();
        ends.sort();
        writeln!(formatter, "  ended: {}", ends.join(", "))?;
        writeln!(
            formatter,
            "  attempts lost with a worker and retried {}, given back {}, results refused {}, \
             without a run over an interruption {}",
            self.lost_attempts, self.released, self.refused_results, self.orphans
        )?;
        writeln!(
            formatter,
            "  of frozen workers, beside another run: {}, the longest {} ms; after the database had \
             ended it: {}, the longest {} ms",
            self.frozen_overlaps,
            self.longest_overlap / 1_000,
            self.overruns,
            self.longest_overrun / 1_000
        )?;
        writeln!(
            formatter,
            "  said about executions that the worker had lost: {}, of those while another ran it: {}; \
             taken for lost after {} to {} ms of silence",
            self.late_calls,
            self.late_calls_beside_a_run,
            self.shortest_silence.unwrap_or_default() / 1_000,
            self.longest_silence / 1_000
        )?;
        writeln!(
            formatter,
            "  the latest expiry {} ms after its time to live",
            self.latest_expiry / 1_000
        )?;
        let fullest: Vec<String> = self
            .fullest
            .iter()
            .map(|(action, most, limit)| format!("{action} {most} of {limit}"))
            .collect();
        write!(formatter, "  most at a time: {}", fullest.join(", "))
    }
}

/// Whether the end is the end of what the run is about: each start has an end of its own.
fn is_of(run: &RunRow, end: &EndRow) -> bool {
    run.attempt == end.attempt
        && end.started_at.is_some_and(|at| at <= run.started_at + CLOCK_ERROR)
}

/// How much two times have in common.
fn shared(a: &Range<Moment>, b: &Range<Moment>) -> Moment {
    (a.end.min(b.end) - a.start.max(b.start)).max(0)
}

/// The most of these that lie one upon another.
fn most_at_a_time(intervals: impl Iterator<Item = Range<Moment>>) -> usize {
    let mut edges: Vec<(Moment, i64)> = intervals
        .filter(|interval| !interval.is_empty())
        .flat_map(|interval| [(interval.start, 1), (interval.end, -1)])
        .collect();
    // What ends at a moment does so before another begins.
    edges.sort_unstable();
    let mut open = 0;
    let mut most = 0;
    for (_, step) in edges {
        open += step;
        most = most.max(open);
    }
    usize::try_from(most).unwrap_or(0)
}

#[cfg(test)]
mod tests;
