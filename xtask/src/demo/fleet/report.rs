//! What a play adds up to, and the plays on all carriers side by side.

use std::fmt::Write;

use super::judge::Evidence;

/// What happened on one carrier.
#[derive(Debug)]
pub struct Report {
    carrier: &'static str,
    /// Each with its name.
    rows: Vec<(String, String)>,
    notes: Vec<String>,
    /// Everything that is wrong, or that was to be shown and did not happen.
    pub faults: Vec<String>,
}

impl Report {
    pub fn new(carrier: &'static str, evidence: &Evidence, rolled_back_count: usize) -> Self {
        let faults = evidence.faults();
        let mut report = Self { carrier, rows: Vec::new(), notes: Vec::new(), faults };
        report.row("executions asked for", evidence.asked.len());
        for (name, count) in endings(evidence) {
            report.row(&name, count);
        }
        report.row("rolled back, never seen again", rolled_back_count);
        let earlier = evidence.ends.iter().filter(|end| !end.is_final);
        report.row("attempts that were repeated", earlier.count());
        report.row("attempts lost with the killed worker", evidence.lost_count());
        report.row("programs that died with it", evidence.cut_off_count());
        report.row("ignored SIGTERM, got SIGKILL", evidence.deaf_count());
        for (action, limit) in &evidence.limits {
            let most = evidence.most_at_a_time(action);
            report.row(&format!("most {action} at a time, {limit} allowed"), most);
        }
        report
    }

    pub fn row(&mut self, name: &str, value: impl ToString) {
        self.rows.push((name.to_owned(), value.to_string()));
    }

    pub fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    pub fn is_balanced(&self) -> bool {
        self.faults.is_empty()
    }
}

/// How many executions ended in which way.
fn endings(evidence: &Evidence) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for end in evidence.ends.iter().filter(|end| end.is_final) {
        let reason = end.reason.as_ref().filter(|reason| **reason != end.status);
        let name = match reason {
            Some(reason) => format!("  {} ({reason})", end.status),
            None => format!("  {}", end.status),
        };
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_unstable();
    counts
}

/// All of it in one table, and what is wrong.
pub fn side_by_side(reports: &[Report]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in reports.iter().flat_map(|report| &report.rows) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = "\nThe ledger of executions".to_owned();
    let mut cells = |name: &str, value: &dyn Fn(&Report) -> String| {
        let _ = write!(text, "\n{name:<42}");
        for report in reports {
            let _ = write!(text, "{:>10}", value(report));
        }
    };
    cells("carrier", &|report| report.carrier.to_owned());
    for name in names {
        cells(name, &|report| {
            let row = report.rows.iter().find(|(known, _)| known == name);
            row.map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
        });
    }
    for report in reports {
        for note in &report.notes {
            let _ = write!(text, "\n\n{note}");
        }
    }
    for report in reports.iter().filter(|report| !report.is_balanced()) {
        let faults = report.faults.join("\n  ");
        let _ = write!(text, "\n\n{} DOES NOT ADD UP:\n  {faults}", report.carrier);
    }
    if reports.iter().all(Report::is_balanced) {
        text.push_str("\n\nThe ledger adds up: each ended once, as it should, and nothing ran twice at a time.");
    }
    text
}
