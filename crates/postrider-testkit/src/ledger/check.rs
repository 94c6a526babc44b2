//! The rules of the ledger.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use super::report::{
    Altered, Duplicate, Latency, Lost, OutOfOrder, Phantom, PhantomCause, Report, Reused,
};
use super::{
    Commit, Destination, EndKind, Fault, FaultKind, Ledger, MessageId, Request, Tolerance,
};

/// What happened to one committed delivery. Positions count the requests in order of arrival.
#[derive(Debug, Clone, Default)]
struct Fate {
    first_request: Option<usize>,
    first_acceptance: Option<usize>,
    acceptances: Vec<Instant>,
}

/// What a request turned out to be.
enum Match {
    Commit(usize),
    Altered(usize),
    Phantom(PhantomCause),
}

pub(super) fn check(ledger: &Ledger, tolerance: Tolerance) -> Report {
    let index = Index::new(ledger);
    let mut requests: Vec<&Request> = ledger.requests.iter().collect();
    // Stable: requests of one instant stay in the order in which they were recorded.
    requests.sort_by_key(|request| request.at);

    let mut fates = vec![Fate::default(); ledger.commits.len()];
    let (mut phantoms, mut altered) = (Vec::new(), Vec::new());
    for (position, request) in requests.iter().enumerate() {
        match index.find(request) {
            Match::Commit(commit) => fates[commit].note(position, request),
            Match::Altered(commit) => {
                fates[commit].note(position, request);
                altered.push(Altered {
                    destination: request.destination.clone(),
                    id: request.id,
                    expected: ledger.commits[commit].marker.clone().unwrap_or_default(),
                    arrived: request.marker.clone().unwrap_or_default(),
                });
            }
            Match::Phantom(cause) => phantoms.push(Phantom {
                destination: request.destination.clone(),
                id: request.id,
                marker: request.marker.clone(),
                cause,
            }),
        }
    }

    let ends = Ends::new(ledger);
    let certain = |commit: &&Commit| commit.is_certain;
    Report {
        started_at: ledger.started_at,
        committed_count: ledger.commits.iter().filter(certain).count(),
        uncertain_count: ledger.commits.iter().filter(|commit| !commit.is_certain).count(),
        rolled_back_count: ledger.rollbacks.len(),
        request_count: ledger.requests.len(),
        delivered_count: fates.iter().filter(|fate| fate.is_accepted()).count(),
        dead_lettered_count: ends.count(EndKind::DeadLettered),
        expired_count: ends.count(EndKind::Expired),
        cancelled_count: ends.count(EndKind::Cancelled),
        skipped_count: ends.count(EndKind::Skipped),
        lost: find_lost(ledger, &fates, &ends),
        phantoms,
        altered,
        reused: find_reused(ledger),
        out_of_order: find_out_of_order(ledger, &fates, &ends),
        duplicates: find_duplicates(ledger, &fates, tolerance),
        latency: measure_latency(ledger, &fates),
        faults: ledger.faults.clone(),
    }
}

impl Fate {
    fn note(&mut self, position: usize, request: &Request) {
        self.first_request.get_or_insert(position);
        if request.is_accepted {
            self.first_acceptance.get_or_insert(position);
            self.acceptances.push(request.at);
        }
    }

    fn is_accepted(&self) -> bool {
        self.first_acceptance.is_some()
    }
}

/// Finds the commit that a request belongs to.
struct Index<'a> {
    ledger: &'a Ledger,
    by_id: HashMap<(&'a str, MessageId), usize>,
    by_marker: HashMap<(&'a str, &'a str), usize>,
    known_ids: HashSet<MessageId>,
    rolled_back_ids: HashSet<MessageId>,
    rolled_back_markers: HashSet<&'a str>,
}

impl<'a> Index<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        let mut by_id = HashMap::new();
        let mut by_marker = HashMap::new();
        // Certain commits come last and win: an id seen in an uncertain one may have been handed
        // out again after a crash.
        let (certain, uncertain): (Vec<_>, Vec<_>) =
            ledger.commits.iter().enumerate().partition(|(_, commit)| commit.is_certain);
        for (position, commit) in uncertain.into_iter().chain(certain) {
            if let Some(id) = commit.id {
                by_id.insert((&*commit.destination, id), position);
            }
            if let Some(marker) = &commit.marker {
                by_marker.insert((&*commit.destination, marker.as_str()), position);
            }
        }
        Self {
            ledger,
            by_id,
            by_marker,
            known_ids: ledger.commits.iter().filter_map(|commit| commit.id).collect(),
            rolled_back_ids: ledger.rollbacks.iter().filter_map(|rollback| rollback.id).collect(),
            rolled_back_markers: ledger
                .rollbacks
                .iter()
                .filter_map(|rollback| rollback.marker.as_deref())
                .collect(),
        }
    }

    fn find(&self, request: &Request) -> Match {
        let destination = &*request.destination;
        if let Some(marker) = request.marker.as_deref() {
            if self.rolled_back_markers.contains(marker) {
                return Match::Phantom(PhantomCause::RolledBack);
            }
            if let Some(&commit) = self.by_marker.get(&(destination, marker)) {
                let committed = self.ledger.commits[commit].id;
                let is_same =
                    committed.is_none() || request.id.is_none() || committed == request.id;
                return if is_same {
                    Match::Commit(commit)
                } else {
                    Match::Phantom(PhantomCause::OtherId { committed })
                };
            }
        }
        let Some(id) = request.id else { return Match::Phantom(PhantomCause::Unknown) };
        if let Some(&commit) = self.by_id.get(&(destination, id)) {
            // Another marker than the commit's: the rule above has found none that fits. A request
            // whose marker could not be read carries none, which is an alteration as well.
            return match &self.ledger.commits[commit].marker {
                Some(_) => Match::Altered(commit),
                None => Match::Commit(commit),
            };
        }
        Match::Phantom(if self.rolled_back_ids.contains(&id) {
            PhantomCause::RolledBack
        } else if self.known_ids.contains(&id) {
            PhantomCause::OtherDestination
        } else {
            PhantomCause::Unknown
        })
    }
}

/// The deliveries that ended without being accepted.
struct Ends<'a> {
    kinds: HashMap<(&'a str, MessageId), EndKind>,
}

impl<'a> Ends<'a> {
    fn new(ledger: &'a Ledger) -> Self {
        let kinds = ledger.ends.iter().map(|end| ((&*end.destination, end.id), end.kind));
        Self { kinds: kinds.collect() }
    }

    fn contains(&self, commit: &Commit) -> bool {
        commit.id.is_some_and(|id| self.kinds.contains_key(&(&*commit.destination, id)))
    }

    fn count(&self, kind: EndKind) -> usize {
        self.kinds.values().filter(|&&found| found == kind).count()
    }
}

fn find_lost(ledger: &Ledger, fates: &[Fate], ends: &Ends<'_>) -> Vec<Lost> {
    let pairs = ledger.commits.iter().zip(fates);
    pairs
        .filter(|(commit, fate)| commit.is_certain && !fate.is_accepted() && !ends.contains(commit))
        .map(|(commit, fate)| Lost {
            destination: commit.destination.clone(),
            id: commit.id,
            marker: commit.marker.clone(),
            committed_at: commit.at,
            was_attempted: fate.first_request.is_some(),
        })
        .collect()
}

/// Ids under which there was more than one message: for who committed it for certain, in the log, or at any
/// receiver. What was told to a sender and forgotten may be given again, unless it was delivered before.
fn find_reused(ledger: &Ledger) -> Vec<Reused> {
    let committed = ledger.commits.iter().filter_map(|commit| commit.marker.as_deref());
    let rolled_back = ledger.rollbacks.iter().filter_map(|rollback| rollback.marker.as_deref());
    let sent: HashSet<&str> = committed.chain(rolled_back).collect();

    let certain = ledger.commits.iter().filter(|commit| commit.is_certain);
    let certain = certain.map(|commit| (commit.id, commit.marker.as_deref()));
    // A payload that nobody has sent is an altered one, and no other message.
    let arrived = ledger.requests.iter().map(|request| {
        let marker = request.marker.as_deref().filter(|marker| sent.contains(marker));
        (request.id, marker)
    });
    let logged = ledger.logged.iter();
    let logged = logged.map(|message| (Some(message.id), Some(message.marker.as_str())));

    let mut payloads: HashMap<MessageId, Vec<&str>> = HashMap::new();
    for (id, marker) in certain.chain(arrived).chain(logged) {
        let (Some(id), Some(marker)) = (id, marker) else { continue };
        let seen = payloads.entry(id).or_default();
        if !seen.contains(&marker) {
            seen.push(marker);
        }
    }
    let mut found: Vec<Reused> = payloads
        .into_iter()
        .filter(|(_, markers)| markers.len() > 1)
        .map(|(id, markers)| Reused {
            id,
            markers: markers.into_iter().map(str::to_owned).collect(),
        })
        .collect();
    found.sort_by_key(|reused| reused.id);
    found
}

/// Messages of a key reach a destination one after the other: the first request of each comes after
/// the first acceptance of all before it. Those that ended otherwise hold nobody up, and may come
/// back at any time by a redrive.
fn find_out_of_order(ledger: &Ledger, fates: &[Fate], ends: &Ends<'_>) -> Vec<OutOfOrder> {
    let mut keys: HashMap<(&Destination, &str), Vec<(u64, &Fate)>> = HashMap::new();
    for (commit, fate) in ledger.commits.iter().zip(fates) {
        if let Some(order) = &commit.order
            && !ends.contains(commit)
        {
            let messages = keys.entry((&commit.destination, &order.key)).or_default();
            messages.push((order.sequence, fate));
        }
    }
    let mut found = Vec::new();
    for ((destination, key), mut messages) in keys {
        messages.sort_by_key(|(sequence, _)| *sequence);
        // The one among the earlier messages that was accepted last.
        let mut latest: Option<(usize, u64)> = None;
        for (sequence, fate) in messages {
            if let (Some((accepted, earlier)), Some(request)) = (latest, fate.first_request)
                && request < accepted
            {
                found.push(OutOfOrder {
                    destination: destination.clone(),
                    key: key.to_owned(),
                    earlier,
                    later: sequence,
                });
            }
            latest = latest.max(fate.first_acceptance.map(|accepted| (accepted, sequence)));
        }
    }
    found.sort_by(|a, b| (&a.destination, &a.key, a.later).cmp(&(&b.destination, &b.key, b.later)));
    found
}

fn find_duplicates(ledger: &Ledger, fates: &[Fate], tolerance: Tolerance) -> Vec<Duplicate> {
    let mut found = Vec::new();
    for (commit, fate) in ledger.commits.iter().zip(fates) {
        for pair in fate.acceptances.windows(2) {
            let (first_at, second_at) = (pair[0], pair[1]);
            let excuses =
                |fault: &Fault| excuses(fault, &commit.destination, first_at, second_at, tolerance);
            found.push(Duplicate {
                destination: commit.destination.clone(),
                id: commit.id,
                marker: commit.marker.clone(),
                first_at,
                second_at,
                cause: ledger.faults.iter().position(excuses),
            });
        }
    }
    found
}

/// Whether any fault excuses that.
pub(super) fn is_excused(
    ledger: &Ledger,
    destination: &Destination,
    first_at: Instant,
    second_at: Instant,
    tolerance: Tolerance,
) -> bool {
    ledger.faults.iter().any(|fault| excuses(fault, destination, first_at, second_at, tolerance))
}

/// Whether a message accepted at `first_at` may be accepted again at `second_at` because of a fault:
/// its first attempt was in flight, or its success not yet recorded, when the fault happened.
fn excuses(
    fault: &Fault,
    destination: &Destination,
    first_at: Instant,
    second_at: Instant,
    tolerance: Tolerance,
) -> bool {
    // Adding instead of subtracting: an `Instant` cannot go below its origin.
    let unrecorded_at = |from: Instant, until: Instant| {
        first_at + tolerance.flush >= from
            && first_at <= until + tolerance.arrival
            && second_at + tolerance.arrival >= from
    };
    match &fault.kind {
        FaultKind::ProcessKilled
        | FaultKind::ConnectionsCut
        | FaultKind::PostgresCrashed
        | FaultKind::FailedOver
        | FaultKind::StoodStill => unrecorded_at(fault.at, fault.until),
        // While it is frozen its successor does flush: only what was in flight at the beginning is
        // sent again by the successor, and only what it was about to send goes out at the end.
        FaultKind::ProcessStopped => {
            let goes_out_late = first_at <= fault.until + tolerance.arrival
                && second_at + tolerance.arrival >= fault.until
                && second_at <= fault.until + tolerance.arrival;
            unrecorded_at(fault.at, fault.at) || goes_out_late
        }
        FaultKind::AnswersLost { destination: faulty } => {
            faulty == destination && unrecorded_at(fault.at, fault.until)
        }
    }
}

fn measure_latency(ledger: &Ledger, fates: &[Fate]) -> Option<Latency> {
    let mut waits: Vec<_> = ledger
        .commits
        .iter()
        .zip(fates)
        // A dispatcher can be quicker than the way of the commit's answer to the producer.
        .filter_map(|(commit, fate)| {
            Some(fate.acceptances.first()?.saturating_duration_since(commit.at))
        })
        .collect();
    waits.sort_unstable();
    let last = waits.len().checked_sub(1)?;
    let at = |percent: usize| waits[last * percent / 100];
    Some(Latency { median: at(50), p90: at(90), p99: at(99), maximum: waits[last] })
}
