//! What the run adds up to: the ledger, and the rules that it does not know.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Result;
use serde_json::Value;
use tokio_postgres::Client;

use super::book::{Book, Cancel, Terms};
use super::schedule::{DESTINATIONS, PICKY};
use super::writers::BYTES_MARK;
use postrider_testkit::ledger::{
    Destination, End, EndKind, Fault, FaultKind, Logged, MessageId, Report, Settled, Tolerance,
    arrivals::{self, Arrival},
};
use postrider_testkit::receiver::{Receiver, Request};

/// How far the clocks of a dispatcher and a receiver may differ.
const CLOCK: Duration = Duration::from_millis(20);
/// How long after it was sent a request may arrive: it may wait for a connection.
const LATE: Duration = Duration::from_secs(3);
/// From the arrival of a request until its result is on disk: the slowest answer, the flush, three times
/// `wal_writer_delay`, and a busy machine.
const TOLERANCE: Tolerance =
    Tolerance { flush: Duration::from_secs(5), arrival: Duration::from_secs(1) };
/// How many findings are told with their history.
pub const LISTED: usize = 10;

/// What the database holds at the end.
#[derive(Debug, Default)]
pub struct Stored {
    /// Endpoint, message, cause and status.
    pub dead_letters: Vec<(String, MessageId, String, String)>,
    /// Endpoint, message and reason.
    pub ended: Vec<(String, MessageId, String)>,
    /// Endpoint and message of what still waits.
    pub waiting: Vec<(String, MessageId)>,
    /// All messages that there are.
    pub logged: Vec<Logged>,
}

#[derive(Debug)]
pub struct Verdict {
    pub report: Report,
    /// Commits that did not wait for the disk, or got no answer.
    pub settled: Settled,
    /// What is wrong besides what the report says.
    pub findings: Vec<Finding>,
    /// Broken orders that a fault excuses.
    pub excused: usize,
    pub cancelled: usize,
    pub redriven: usize,
}

#[derive(Debug)]
pub struct Finding {
    pub text: String,
    pub message: Option<MessageId>,
}

impl Verdict {
    pub fn is_good(&self) -> bool {
        self.report.is_balanced() && self.findings.is_empty()
    }

    /// The messages with which something is wrong.
    pub fn suspects(&self) -> Vec<MessageId> {
        let report = &self.report;
        let mut ids: Vec<MessageId> = report
            .lost
            .iter()
            .filter_map(|lost| lost.id)
            .chain(report.phantoms.iter().filter_map(|phantom| phantom.id))
            .chain(report.altered.iter().filter_map(|altered| altered.id))
            .chain(report.reused.iter().map(|reused| reused.id))
            .chain(report.unexplained().filter_map(|duplicate| duplicate.id))
            .chain(self.findings.iter().filter_map(|finding| finding.message))
            .collect();
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(*id));
        ids.truncate(LISTED);
        ids
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.report)?;
        let Settled { kept_count, forgotten_count } = self.settled;
        writeln!(
            formatter,
            "  commits that did not wait for the disk, or got no answer: {kept_count} in the log, \
             {forgotten_count} not"
        )?;
        writeln!(formatter, "  taken back by cancel_message: {}", self.cancelled)?;
        writeln!(formatter, "  dead letters, all redriven and delivered: {}", self.redriven)?;
        writeln!(formatter, "  requests of one key out of turn, at a fault: {}", self.excused)?;
        for finding in self.findings.iter().take(LISTED) {
            writeln!(formatter, "  WRONG: {}", finding.text)?;
        }
        if self.findings.len() > LISTED {
            writeln!(formatter, "  WRONG: … and {} more", self.findings.len() - LISTED)?;
        }
        write!(formatter, "{}", if self.is_good() { "All is well." } else { "NOT ALL IS WELL." })
    }
}

impl Stored {
    /// # Errors
    ///
    /// When the database does not answer.
    pub async fn read(client: &Client) -> Result<Stored> {
        let dead = "select endpoint_name, message_id, cause, status from postrider.dead_letter";
        let ended = "select e.name, d.message_id, d.reason
            from postrider.ended d
            join postrider.endpoints e on e.id = d.endpoint_id";
        let waiting = "select endpoint_name, id from postrider.queue limit 1000";
        // Of a body of bytes its end, where the marker is.
        let logged = "select m.id, m.payload ->> 'marker',
                substring(m.body from greatest(octet_length(m.body) - 99, 1))
            from postrider.message m";
        let mut stored = Stored::default();
        for row in client.query(dead, &[]).await? {
            let id = MessageId(row.get(1));
            stored.dead_letters.push((row.get(0), id, row.get(2), row.get(3)));
        }
        for row in client.query(ended, &[]).await? {
            stored.ended.push((row.get(0), MessageId(row.get(1)), row.get(2)));
        }
        for row in client.query(waiting, &[]).await? {
            stored.waiting.push((row.get(0), MessageId(row.get(1))));
        }
        for row in client.query(logged, &[]).await? {
            let (marker, body): (Option<String>, Option<Vec<u8>>) = (row.get(1), row.get(2));
            if let Some(marker) = marker.or_else(|| marker_of(&body?)) {
                stored.logged.push(Logged { id: MessageId(row.get(0)), marker });
            }
        }
        Ok(stored)
    }
}

/// Adds everything up.
pub fn judge(mut book: Book, receivers: &[Receiver], mut stored: Stored) -> Verdict {
    let settled = book.ledger.settle(std::mem::take(&mut stored.logged));
    let mut findings: Vec<Finding> =
        book.problems.drain(..).map(|text| Finding { text, message: None }).collect();
    let mut arrivals = Vec::new();
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        let destination = Destination::from(*name);
        receiver.record_into(&mut book.ledger, &destination, |request| marker_of(&request.body));
        receiver.with_requests(|requests| {
            arrivals.extend(requests.iter().filter_map(|one| arrival(one, &destination)));
        });
    }
    for (destination, id, reason) in &stored.ended {
        let kind = if reason == "expired" { EndKind::Expired } else { EndKind::Cancelled };
        let destination = Destination::from(destination.as_str());
        book.ledger.end(End { destination, id: *id, kind });
    }
    // A redrive takes the expiry away.
    let redriven: HashSet<MessageId> = stored.dead_letters.iter().map(|(_, id, ..)| *id).collect();
    book.terms_of(&redriven).for_each(|terms| terms.expires_at = None);
    let report = book.ledger.check_with(TOLERANCE);
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        receiver.with_requests(|requests| {
            check_times(name, requests, &book, &report.faults, &mut findings);
        });
    }
    check_ends(&stored, &book, &mut findings);
    let broken = arrivals::check(arrivals, &report.faults);
    let excused = broken.iter().filter(|finding| finding.is_excused).count();
    for finding in broken.iter().filter(|finding| !finding.is_excused) {
        findings.push(Finding { text: format!("{finding:?}"), message: None });
    }
    Verdict {
        report,
        settled,
        findings,
        excused,
        cancelled: book.cancels.iter().filter(|cancel| cancel.is_certain).count(),
        redriven: stored.dead_letters.len(),
    }
}

/// Nothing comes before its time, after it, or although it was taken back.
fn check_times(
    name: &str,
    requests: &[Request],
    book: &Book,
    faults: &[Fault],
    findings: &mut Vec<Finding>,
) {
    let cancels: HashMap<&str, &Cancel> =
        book.cancels.iter().map(|cancel| (cancel.marker.as_str(), cancel)).collect();
    for request in requests {
        let Some(marker) = marker_of(&request.body) else { continue };
        let mut wrong = |what: String| {
            let text = format!("message `{marker}` at {name}: attempt {}: {what}", request.attempt);
            findings.push(Finding { text, message: request.id });
        };
        let Terms { scheduled_at, expires_at } =
            book.terms.get(&marker).copied().unwrap_or_default();
        let after = |moment: SystemTime| request.wall_clock_at.duration_since(moment);
        if let Some(Err(early)) = scheduled_at.map(|at| after(at - CLOCK)) {
            wrong(format!("{:?} too early", early.duration() + CLOCK));
        }
        if let Some(Ok(late)) = expires_at.map(|at| after(at + LATE))
            && !was_frozen(faults, request.at)
        {
            wrong(format!("{:?} after it had expired", late + LATE));
        }
        if let Some(cancel) = cancels.get(marker.as_str()).filter(|cancel| cancel.is_certain)
            && !is_forgotten(faults, request.at, cancel.at)
        {
            let (before, after) = (
                cancel.at.checked_duration_since(request.at),
                request.at.checked_duration_since(cancel.at),
            );
            wrong(format!("cancelled; the request came {before:?} before or {after:?} after that"));
        }
    }
}

/// A process, or the machine, may sleep between the look at the clock and the request.
fn was_frozen(faults: &[Fault], at: Instant) -> bool {
    faults.iter().any(|fault| {
        [FaultKind::ProcessStopped, FaultKind::StoodStill].contains(&fault.kind)
            && fault.at <= at
            && at <= fault.until + LATE
    })
}

/// A crash of PostgreSQL may take back that the message had been read, and with that the reason not to
/// cancel it.
fn is_forgotten(faults: &[Fault], attempted_at: Instant, cancelled_at: Instant) -> bool {
    faults.iter().any(|fault| {
        fault.kind == FaultKind::PostgresCrashed
            && attempted_at <= fault.until + LATE
            && fault.at <= cancelled_at
            && attempted_at <= cancelled_at
    })
}

/// What ended without being delivered was allowed to, and nothing waits.
fn check_ends(stored: &Stored, book: &Book, findings: &mut Vec<Finding>) {
    let mut markers: HashMap<MessageId, Vec<&str>> = HashMap::new();
    for commit in book.ledger.commits() {
        if let (Some(id), Some(marker)) = (commit.id, &commit.marker) {
            markers.entry(id).or_default().push(marker);
        }
    }
    let of = |id: &MessageId| markers.get(id).map_or(&[][..], Vec::as_slice);
    let mut wrong = |text: String, id: MessageId| {
        findings.push(Finding { text, message: Some(id) });
    };
    let cancelled: HashSet<MessageId> = book.cancels.iter().map(|cancel| cancel.id).collect();
    let mut recorded = HashSet::new();
    for (name, id, reason) in &stored.ended {
        let may = match reason.as_str() {
            "expired" => of(id).iter().any(|marker| {
                book.terms.get(*marker).is_some_and(|terms| terms.expires_at.is_some())
            }),
            _ => {
                recorded.insert(*id);
                cancelled.contains(id)
            }
        };
        if !may {
            wrong(format!("message {} at {name} has ended: {reason}", id.0), *id);
        }
    }
    for cancel in book.cancels.iter().filter(|cancel| cancel.is_certain) {
        if !recorded.contains(&cancel.id) {
            wrong(format!("message {} was cancelled, and nothing says so", cancel.id.0), cancel.id);
        }
    }
    for (name, id, cause, status) in &stored.dead_letters {
        let may = name == DESTINATIONS[PICKY] && ["rejected", "gone"].contains(&cause.as_str());
        if !may || status != "redriven" {
            wrong(format!("message {} at {name} is a dead letter: {cause}, {status}", id.0), *id);
        }
    }
    for (name, id) in &stored.waiting {
        wrong(format!("message {} still waits at {name}", id.0), *id);
    }
}

fn arrival(request: &Request, destination: &Destination) -> Option<Arrival> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let order = body.get("order")?;
    Some(Arrival {
        destination: Arc::clone(destination),
        key: order.get("key")?.as_str()?.to_owned(),
        sequence: order.get("sequence")?.as_u64()?,
        at: request.at,
        until: request.at + request.delay,
    })
}

/// The marker in a body, JSON or not.
pub fn marker_of(body: &[u8]) -> Option<String> {
    if let Ok(body) = serde_json::from_slice::<Value>(body) {
        return Some(body.get("marker")?.as_str()?.to_owned());
    }
    let at = body.windows(BYTES_MARK.len()).rposition(|window| window == BYTES_MARK)?;
    String::from_utf8(body[at + BYTES_MARK.len()..].to_vec()).ok()
}

/// Everything that is known of a message, for people.
pub async fn history(
    client: &Client,
    id: MessageId,
    receivers: &[Receiver],
    started_at: Instant,
) -> String {
    let mut lines = vec![format!("message {}:", id.0)];
    let mut requests = BTreeMap::new();
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        receiver.with_requests(|all| {
            for (place, one) in all.iter().enumerate().filter(|(_, one)| one.id == Some(id)) {
                let line = format!(
                    "  +{:.3} s  request at {name}, attempt {}, answered {:?} after {:?}, marker {:?}",
                    (one.at - started_at).as_secs_f64(),
                    one.attempt,
                    one.status,
                    one.delay,
                    marker_of(&one.body)
                );
                requests.insert((one.at, *name, place), line);
            }
        });
    }
    lines.extend(requests.into_values());
    for (table, column) in [
        ("message", "id"),
        ("attempts", "message_id"),
        ("deferred", "message_id"),
        ("dead_letter", "message_id"),
        ("ended", "message_id"),
        ("cancellation", "message_id"),
        ("partly_done", "message_id"),
    ] {
        let sql = format!(
            "select left((to_jsonb(t) - 'body' - 'response_body')::text, 700)
            from postrider.{table} t where t.{column} = $1"
        );
        match client.query(&sql, &[&id.0]).await {
            Ok(rows) => lines.extend(rows.iter().map(|row| {
                let row: String = row.get(0);
                format!("  {table}: {row}")
            })),
            Err(error) => lines.push(format!("  {table}: {error}")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
