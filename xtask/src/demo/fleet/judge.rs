//! Whether it adds up: what was asked for, what the database says became of it, and what workers did.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::journal::Stretch;

/// An execution whose submission was committed, and how it has to end.
#[derive(Debug, Clone)]
pub struct Asked {
    pub id: i64,
    pub action: &'static str,
    pub status: &'static str,
    pub reason: Option<&'static str>,
    /// It does not stop when it is asked to: SIGKILL has to end it.
    pub is_deaf: bool,
}

/// How an attempt ended, as the database has it.
#[derive(Debug, Clone)]
pub struct End {
    pub execution: i64,
    pub attempt: i32,
    pub is_final: bool,
    pub status: String,
    pub reason: Option<String>,
}

/// All that is judged.
#[derive(Debug, Default)]
pub struct Evidence {
    pub asked: Vec<Asked>,
    pub ends: Vec<End>,
    pub stretches: Vec<Stretch>,
    /// When workers were killed, in nanoseconds of the monotonic clock.
    pub killed: HashMap<String, u64>,
    /// How many of an action may run at a time.
    pub limits: Vec<(&'static str, usize)>,
}

impl Evidence {
    /// What is wrong; nothing if it adds up.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.wrong_ends();
        let stretches = match self.closed_stretches() {
            Ok(stretches) => stretches,
            Err(open) => {
                faults.extend(open);
                return faults;
            }
        };
        faults.extend(self.unrecorded(&stretches));
        faults.extend(overlaps(&stretches));
        for (action, limit) in &self.limits {
            let most = self.most_at_a_time(action);
            if most > *limit {
                faults.push(format!("{most} of {action} ran at a time, {limit} are allowed"));
            }
        }
        faults
    }

    /// How many executions of an action ran at the same time at most.
    pub fn most_at_a_time(&self, action: &str) -> usize {
        let own: HashSet<i64> = self
            .asked
            .iter()
            .filter(|asked| asked.action == action)
            .map(|asked| asked.id)
            .collect();
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for stretch in self.stretches.iter().filter(|stretch| own.contains(&stretch.execution)) {
            changes.push((stretch.from, 1));
            changes.push((self.end_of(stretch).unwrap_or(u64::MAX), -1));
        }
        // What ends at a moment makes room for what starts at it.
        changes.sort_unstable();
        let (mut now, mut most) = (0, 0);
        for (_, change) in changes {
            now += change;
            most = most.max(now);
        }
        usize::try_from(most).unwrap_or_default()
    }

    /// How many were cut off when their worker was killed.
    pub fn cut_off_count(&self) -> usize {
        let is_cut_off = |s: &&Stretch| s.to.is_none() && self.killed.contains_key(&s.worker);
        self.stretches.iter().filter(is_cut_off).count()
    }

    /// How many attempts were lost with their worker.
    pub fn lost_count(&self) -> usize {
        let is_lost = |end: &&End| end.reason.as_deref() == Some("worker_heartbeat_stale");
        self.ends.iter().filter(is_lost).count()
    }

    /// How many did not stop when they were asked to, and had to be killed.
    pub fn deaf_count(&self) -> usize {
        let is_deaf = |s: &&Stretch| s.to.is_none() && s.signalled.is_some();
        self.stretches.iter().filter(is_deaf).count()
    }

    /// When it was over: as it says itself, or by the SIGKILL that ended it or its worker.
    fn end_of(&self, stretch: &Stretch) -> Option<u64> {
        let deaf = || {
            let is_deaf = |asked: &Asked| asked.id == stretch.execution && asked.is_deaf;
            stretch.signalled.filter(|_| self.asked.iter().any(is_deaf))
        };
        stretch.to.or_else(deaf).or_else(|| self.killed.get(&stretch.worker).copied())
    }

    /// Each has to end once, and as it should; what was rolled back must not be there.
    fn wrong_ends(&self) -> Vec<String> {
        let mut ends: BTreeMap<i64, Vec<&End>> = BTreeMap::new();
        for end in self.ends.iter().filter(|end| end.is_final) {
            ends.entry(end.execution).or_default().push(end);
        }
        let mut faults = Vec::new();
        for asked in &self.asked {
            let own = ends.remove(&asked.id).unwrap_or_default();
            let [end] = own[..] else {
                faults.push(format!("{} {} ended {} times", asked.action, asked.id, own.len()));
                continue;
            };
            if (end.status.as_str(), end.reason.as_deref()) != (asked.status, asked.reason) {
                faults.push(format!(
                    "{} {} ended as {} {:?} instead of {} {:?}",
                    asked.action, asked.id, end.status, end.reason, asked.status, asked.reason
                ));
            }
        }
        faults.extend(ends.keys().map(|id| format!("{id} ended, and was not asked for")));
        faults
    }

    /// With the end that could not be written by what was killed; an error if one has none otherwise.
    fn closed_stretches(&self) -> Result<Vec<Closed<'_>>, Vec<String>> {
        let mut open = Vec::new();
        let mut closed = Vec::new();
        for stretch in &self.stretches {
            let Stretch { execution, worker, .. } = stretch;
            match self.end_of(stretch) {
                Some(to) => closed.push(Closed { stretch, to }),
                None => open.push(format!("{worker} does not say when {execution} ended")),
            }
        }
        if open.is_empty() { Ok(closed) } else { Err(open) }
    }

    /// Whatever ran has to be an attempt that the database knows, each by one worker; and whatever has
    /// completed has to have run to its end.
    fn unrecorded(&self, stretches: &[Closed<'_>]) -> Vec<String> {
        let known: HashSet<(i64, i32)> =
            self.ends.iter().map(|end| (end.execution, end.attempt)).collect();
        let mut seen = HashSet::new();
        let mut faults = Vec::new();
        for Closed { stretch: Stretch { execution, attempt, worker, .. }, .. } in stretches {
            if !known.contains(&(*execution, *attempt)) {
                faults.push(format!("{worker} ran {execution}, attempt {attempt}: not on record"));
            }
            if !seen.insert((execution, attempt)) {
                faults.push(format!("attempt {attempt} of {execution} ran twice"));
            }
        }
        let ran: HashSet<(i64, i32)> = stretches
            .iter()
            .filter(|closed| closed.stretch.to.is_some())
            .map(|closed| (closed.stretch.execution, closed.stretch.attempt))
            .collect();
        for end in self.ends.iter().filter(|end| end.status == "completed") {
            if !ran.contains(&(end.execution, end.attempt)) {
                faults.push(format!("{} completed, and nobody ran it to its end", end.execution));
            }
        }
        faults
    }
}

struct Closed<'a> {
    stretch: &'a Stretch,
    to: u64,
}

fn overlaps(stretches: &[Closed<'_>]) -> Vec<String> {
    let mut sorted: Vec<&Closed<'_>> = stretches.iter().collect();
    sorted.sort_unstable_by_key(|closed| (closed.stretch.execution, closed.stretch.from));
    let is_same = |pair: &&[&Closed<'_>]| pair[0].stretch.execution == pair[1].stretch.execution;
    sorted
        .windows(2)
        .filter(is_same)
        .filter(|pair| pair[1].stretch.from < pair[0].to)
        .map(|pair| {
            let [first, second] = [&pair[0].stretch, &pair[1].stretch];
            format!(
                "{} ran at {} and {} at the same time",
                first.execution, first.worker, second.worker
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        let asked = |id, status, reason| Asked { id, action: "a", status, reason, is_deaf: false };
        let end = |execution, attempt, is_final, status: &str, reason: Option<&str>| End {
            execution,
            attempt,
            is_final,
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
        };
        let stretch = |execution, attempt, worker: &str, from, to| Stretch {
            execution,
            attempt,
            worker: worker.to_owned(),
            pid: 1,
            from,
            signalled: None,
            to,
        };
        Evidence {
            asked: vec![asked(1, "completed", None), asked(2, "failed", Some("queue_timeout"))],
            ends: vec![
                end(1, 1, false, "failed", Some("worker_heartbeat_stale")),
                end(1, 2, true, "completed", None),
                end(2, 1, true, "failed", Some("queue_timeout")),
            ],
            stretches: vec![stretch(1, 1, "w", 10, None), stretch(1, 2, "v", 20, Some(30))],
            killed: HashMap::from([("w".to_owned(), 20)]),
            limits: vec![("a", 1)],
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Evidence), faults: &[&str]) {
        let mut evidence = evidence();
        change(&mut evidence);
        assert_eq!(evidence.faults(), faults);
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        check(|_| (), &[]);
        check(|evidence| evidence.ends.truncate(2), &["a 2 ended 0 times"]);
        check(|evidence| evidence.ends.push(evidence.ends[1].clone()), &["a 1 ended 2 times"]);
        check(
            |evidence| evidence.ends[2].reason = None,
            &["a 2 ended as failed None instead of failed Some(\"queue_timeout\")"],
        );
        check(|evidence| _ = evidence.asked.pop(), &["2 ended, and was not asked for"]);
        check(|evidence| evidence.killed.clear(), &["w does not say when 1 ended"]);
        check(
            |evidence| _ = evidence.killed.insert("w".to_owned(), 21),
            &["1 ran at w and v at the same time", "2 of a ran at a time, 1 are allowed"],
        );
        let not_run = "1 completed, and nobody ran it to its end";
        check(|evidence| evidence.stretches[1].attempt = 1, &["attempt 1 of 1 ran twice", not_run]);
        check(
            |evidence| evidence.stretches[1].attempt = 3,
            &["v ran 1, attempt 3: not on record", not_run],
        );
        check(|evidence| evidence.stretches.truncate(1), &[not_run]);
    }

    #[test]
    fn only_what_is_deaf_may_be_killed_alone() {
        let signal = |evidence: &mut Evidence| {
            evidence.killed.clear();
            evidence.stretches[0].signalled = Some(15);
        };
        check(signal, &["w does not say when 1 ended"]);
        check(
            |evidence| {
                signal(evidence);
                evidence.asked[0].is_deaf = true;
            },
            &[],
        );
    }
}
