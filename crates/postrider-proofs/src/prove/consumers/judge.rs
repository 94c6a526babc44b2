//! What was written against what followed from it. Pure: data goes in, findings come out.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    readers::{CONSUMERS, Consumer, Effect, Joins, Ordered, ReadBook},
    writers::{Book, Written},
    wrong::Read,
};
use postrider_testkit::ledger::{
    Commit, Destination, Ledger, MessageId, Report, Request, Rollback,
};

/// How many findings of a kind are kept.
const LISTED: usize = 5;
/// How long after a crash is still a part of it: connections come back, the log is read again.
const AFTERMATH: Duration = Duration::from_secs(3);

/// A row of `proof.effect`. Rows come by consumer, partition and ordinal.
#[derive(Debug, Clone)]
pub struct EffectRow {
    pub consumer: &'static Consumer,
    pub partition: i32,
    pub ordinal: i64,
    pub id: i64,
    pub position: i64,
    pub tick: Option<i64>,
    pub xid: u64,
    pub marker: Option<String>,
    pub key: Option<String>,
    pub version: Option<i64>,
}

impl EffectRow {
    /// Where it stands in the order of its consumer.
    fn place(&self) -> (u64, i64) {
        match self.consumer.ordering {
            Ordered::ByCommit => (self.tick.unwrap_or_default().cast_unsigned(), self.id),
            Ordered::ByTransaction => (self.xid, self.id),
        }
    }
}

/// Everything that is known of a run.
#[derive(Debug)]
pub struct Evidence {
    pub started_at: Instant,
    pub written: Book,
    pub read: Vec<ReadBook>,
    pub effects: Vec<EffectRow>,
    /// When the server was down.
    pub crashes: Vec<Range<Instant>>,
    /// Long transactions that were committed, with no crash beside them.
    pub holds: Vec<Range<Instant>>,
    pub behind_the_last: Read,
    pub below_the_oldest: Read,
}

/// How long readers waited for what was committed.
#[derive(Debug, Default, Clone, Copy)]
pub struct Delays {
    /// The longest transaction.
    pub hold: Duration,
    /// Consumers with ordering `commit`, for what was committed beside the longest transaction.
    pub commit: Duration,
    /// The same at any time, without what a crash delayed: bulks take a reader their time.
    pub commit_at_any_time: Duration,
    /// Consumers with ordering `transaction`, beside the longest transaction.
    pub transaction: Duration,
    /// The reader below the oldest transaction, likewise.
    pub below_the_oldest: Duration,
}

/// What it comes to.
#[derive(Debug)]
pub struct Verdict {
    pub report: Report,
    pub findings: Vec<String>,
    /// What a reader behind the last position has lost.
    pub lost_behind_the_last: usize,
    /// Later versions of a key before earlier ones, where the order is that of transactions.
    pub inversions_by_transaction: usize,
    pub delays: Delays,
}

/// Adds it all up.
pub fn judge(evidence: &Evidence) -> Verdict {
    let by_consumer = by_consumer(&evidence.effects);
    let mut findings = Findings::default();
    for consumer in &CONSUMERS {
        let rows = by_consumer.get(consumer.name).map_or(&[][..], |rows| &rows[..]);
        check_order(rows, &mut findings);
        check_keys(consumer, rows, &mut findings);
        if consumer.ordering == Ordered::ByCommit {
            check_transactions(rows, &evidence.written, &mut findings);
            check_visible_first(consumer, rows, &evidence.written, &mut findings);
        }
    }
    check_one_order(&by_consumer, &evidence.written, &mut findings);
    check_memory(evidence, &mut findings);
    let delays = measure(evidence);
    check_stalls(evidence, delays, &mut findings);
    for id in committed_ids(&evidence.written) {
        if !evidence.below_the_oldest.contains_key(&id) {
            findings.add("the reader below the oldest transaction lost", id);
        }
    }
    findings.all.extend(evidence.read.iter().flat_map(|book| book.findings.iter().cloned()));
    let is_unread = |id: &i64| !evidence.behind_the_last.contains_key(id);
    let mut report = settle(evidence).check();
    // Requests have no moment here; see Delays.
    report.latency = None;
    Verdict {
        report,
        findings: findings.all,
        lost_behind_the_last: committed_ids(&evidence.written).filter(is_unread).count(),
        inversions_by_transaction: by_consumer
            .get("strict")
            .map_or(0, |rows| inversions(rows).count()),
        delays,
    }
}

/// Findings, of each kind the first few.
#[derive(Debug, Default)]
struct Findings {
    all: Vec<String>,
    counts: HashMap<String, usize>,
}

impl Findings {
    fn add(&mut self, kind: &str, what: impl std::fmt::Debug) {
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count <= LISTED {
            self.all.push(format!("{kind}: {what:?}"));
        }
    }
}

type Rows<'a> = Vec<&'a EffectRow>;

fn by_consumer(effects: &[EffectRow]) -> HashMap<&'static str, Rows<'_>> {
    let mut by_consumer: HashMap<_, Rows<'_>> = HashMap::new();
    for row in effects {
        by_consumer.entry(row.consumer.name).or_default().push(row);
    }
    by_consumer
}

fn committed_ids(book: &Book) -> impl Iterator<Item = i64> {
    book.committed.iter().filter_map(|(message, _)| message.id)
}

/// The ledger: nothing lost, invented or doubled, and where it is promised no key inverted. It is told
/// of no fault, so nothing excuses a duplicate.
fn settle(evidence: &Evidence) -> Ledger {
    let mut ledger = Ledger::new(evidence.started_at);
    for consumer in &CONSUMERS {
        let destination: Destination = Arc::from(consumer.name);
        let wanted = |message: &Written| !consumer.is_seldom_only || message.is_seldom;
        let is_ordered = consumer.ordering == Ordered::ByCommit;
        for (message, at) in evidence.written.committed.iter().filter(|(m, _)| wanted(m)) {
            ledger.commit(Commit {
                destination: destination.clone(),
                id: message.id.map(MessageId),
                marker: Some(message.marker.clone()),
                order: message.order.clone().filter(|_| is_ordered),
                at: *at,
                is_certain: true,
            });
        }
    }
    for message in &evidence.written.rolled_back {
        let (id, marker) = (message.id.map(MessageId), Some(message.marker.clone()));
        ledger.roll_back(Rollback { id, marker });
    }
    for (index, row) in evidence.effects.iter().enumerate() {
        ledger.request(Request {
            destination: row.consumer.name.into(),
            id: Some(MessageId(row.id)),
            marker: row.marker.clone(),
            attempt: 1,
            // What counts is the order.
            at: evidence.started_at + Duration::from_nanos(index as u64),
            is_accepted: true,
        });
    }
    ledger
}

/// Within a partition: ordinals without a gap, places strictly rising.
fn check_order(rows: &[&EffectRow], findings: &mut Findings) {
    let mut last: HashMap<i32, &EffectRow> = HashMap::new();
    for row in rows {
        let before = last.insert(row.partition, row);
        if row.ordinal != before.map_or(1, |before| before.ordinal + 1) {
            findings.add("an ordinal twice, or none", row);
        }
        if before.is_some_and(|before| before.place() >= row.place()) {
            findings.add("an earlier place after a later one", row);
        }
        let has_tick = row.consumer.ordering == Ordered::ByCommit;
        if row.position != row.id >> 10 || row.tick.is_some() != has_tick {
            findings.add("a position or tick that is none", row);
        }
    }
}

/// One key, one partition; and in the order of commits its versions rise.
fn check_keys(consumer: &Consumer, rows: &[&EffectRow], findings: &mut Findings) {
    let mut partitions: HashMap<&str, i32> = HashMap::new();
    for row in rows {
        if let Some(key) = &row.key
            && *partitions.entry(key).or_insert(row.partition) != row.partition
        {
            findings.add("a key in two partitions", row);
        }
    }
    if consumer.ordering == Ordered::ByCommit {
        for row in inversions(rows) {
            findings.add("an earlier version of a key after a later one", row);
        }
    }
}

fn inversions<'a>(rows: &'a [&'a EffectRow]) -> impl Iterator<Item = &'a EffectRow> {
    let mut versions: HashMap<&str, i64> = HashMap::new();
    rows.iter().copied().filter(move |row| {
        let (Some(key), Some(version)) = (&row.key, row.version) else { return false };
        let before = versions.insert(key, version);
        before.is_some_and(|before| before >= version)
    })
}

/// Messages of one transaction are in one tick, in the order in which they were written.
fn check_transactions(rows: &[&EffectRow], book: &Book, findings: &mut Findings) {
    let places: HashMap<i64, &(String, usize)> =
        book.committed.iter().filter_map(|(m, _)| Some((m.id?, &m.place))).collect();
    let mut ticks: HashMap<&str, Option<i64>> = HashMap::new();
    let mut last: HashMap<(&str, i32), usize> = HashMap::new();
    for row in rows {
        let Some((transaction, place)) = places.get(&row.id).copied() else { continue };
        if *ticks.entry(transaction).or_insert(row.tick) != row.tick {
            findings.add("a transaction in two ticks", row);
        }
        let before = last.insert((transaction, row.partition), *place);
        if before.is_some_and(|before| before >= *place) {
            findings.add("a transaction in another order than it was written in", row);
        }
    }
}

/// What was committed and visible before another message took its id comes first.
fn check_visible_first(
    consumer: &Consumer,
    rows: &[&EffectRow],
    book: &Book,
    findings: &mut Findings,
) {
    let times: HashMap<i64, (Instant, Instant)> =
        book.committed.iter().filter_map(|(m, at)| Some((m.id?, (m.began_at, *at)))).collect();
    let mut in_order: Rows<'_> = rows.to_vec();
    // Partitions promise it together: they are parts of one order.
    in_order.sort_by_key(|row| row.place());
    let mut earliest: Option<Instant> = None;
    for row in in_order.iter().rev() {
        let Some((began_at, committed_at)) = times.get(&row.id) else { continue };
        if earliest.is_some_and(|earliest| earliest < *began_at) {
            let kind = "before what was visible when it took its id";
            findings.add(kind, (consumer.name, row));
        }
        earliest = Some(earliest.map_or(*committed_at, |earliest| earliest.min(*committed_at)));
    }
}

/// All consumers with one ordering see one order, partitions taken together; who wants a part sees that
/// part of it.
fn check_one_order(by_consumer: &HashMap<&str, Rows<'_>>, book: &Book, findings: &mut Findings) {
    let seldom: HashSet<i64> =
        book.committed.iter().filter(|(m, _)| m.is_seldom).filter_map(|(m, _)| m.id).collect();
    let order = |consumer: &Consumer| {
        let mut places: Vec<(u64, i64)> = by_consumer
            .get(consumer.name)
            .map_or(Vec::new(), |rows| rows.iter().map(|row| row.place()).collect());
        if consumer.partitions > 1 {
            places.sort_unstable();
        }
        places
    };
    for ordering in [Ordered::ByCommit, Ordered::ByTransaction] {
        let mut like_it = CONSUMERS.iter().filter(|consumer| consumer.ordering == ordering);
        let Some(first) = like_it.next() else { continue };
        let all = order(first);
        for other in like_it {
            let is_wanted =
                |place: &&(u64, i64)| !other.is_seldom_only || seldom.contains(&place.1);
            let wanted: Vec<(u64, i64)> = all.iter().filter(is_wanted).copied().collect();
            let found = order(other);
            if found != wanted {
                let place = wanted.iter().zip(&found).position(|(a, b)| a != b);
                let what = (first.name, other.name, wanted.len(), found.len(), place);
                findings.add("two orders", what);
            }
        }
    }
}

/// What was committed is in the table, and nothing else: no effect went, none came from a rollback.
fn check_memory(evidence: &Evidence, findings: &mut Findings) {
    let mut remembered: HashSet<(&str, Effect)> = HashSet::new();
    for book in &evidence.read {
        for (effect, _) in &book.effects {
            if !remembered.insert((book.consumer.name, *effect)) {
                findings.add("committed twice", (book.consumer.name, effect));
            }
        }
    }
    for row in &evidence.effects {
        let effect = Effect { partition: row.partition, ordinal: row.ordinal, id: row.id };
        if !remembered.remove(&(row.consumer.name, effect)) {
            findings.add("an effect that nobody committed", row);
        }
    }
    for effect in remembered {
        findings.add("committed, and no effect of it is there", effect);
    }
}

/// Between two moments lies a crash, or what comes of it.
fn is_disturbed(crashes: &[Range<Instant>], from: Instant, until: Instant) -> bool {
    crashes.iter().any(|crash| from <= crash.end + AFTERMATH && until >= crash.start)
}

fn measure(evidence: &Evidence) -> Delays {
    let committed: HashMap<i64, Instant> =
        evidence.written.committed.iter().filter_map(|(m, at)| Some((m.id?, *at))).collect();
    let longest_hold = evidence.holds.iter().max_by_key(|hold| hold.end - hold.start);
    let is_beside = |from: Instant| longest_hold.is_some_and(|hold| hold.contains(&from));
    let hold = longest_hold.map_or(Duration::ZERO, |hold| hold.end - hold.start);
    let mut delays = Delays { hold, ..Delays::default() };
    for book in evidence.read.iter().filter(|book| follows(book.consumer)) {
        for (effect, at) in &book.effects {
            let Some(from) = committed.get(&effect.id).copied() else { continue };
            let delay = at.saturating_duration_since(from);
            let if_it = |counts: bool| if counts { delay } else { Duration::ZERO };
            let beside = if_it(is_beside(from));
            match book.consumer.ordering {
                Ordered::ByCommit => {
                    let calm = if_it(!is_disturbed(&evidence.crashes, from, *at));
                    delays.commit = delays.commit.max(beside);
                    delays.commit_at_any_time = delays.commit_at_any_time.max(calm);
                }
                Ordered::ByTransaction => delays.transaction = delays.transaction.max(beside),
            }
        }
    }
    for (id, at) in &evidence.below_the_oldest {
        if let Some(from) = committed.get(id).copied().filter(|from| is_beside(*from)) {
            let delay = at.saturating_duration_since(from);
            delays.below_the_oldest = delays.below_the_oldest.max(delay);
        }
    }
    delays
}

/// Whether it was there all the time, so that it has nothing to catch up with.
fn follows(consumer: &Consumer) -> bool {
    consumer.joins == Joins::AtFirst
}

/// A long transaction holds up the reader below it, and none of the consumers with ordering `commit`.
fn check_stalls(evidence: &Evidence, delays: Delays, findings: &mut Findings) {
    let Some(hold) = evidence.holds.iter().max_by_key(|hold| hold.end - hold.start) else {
        findings.add("no long transaction was committed", ());
        return;
    };
    let committed_within = |span: Duration| -> HashSet<i64> {
        let committed = evidence.written.committed.iter();
        let early = committed.filter(|(_, at)| (hold.start..hold.start + span).contains(at));
        early.filter_map(|(message, _)| message.id).collect()
    };
    // Even a machine that is busy has read it by the end. One that stood still at first has committed nothing in
    // the first quarter.
    let spans = [delays.hold / 4, delays.hold / 2].map(|span| (span, committed_within(span)));
    let first = spans.into_iter().find(|(_, early)| !early.is_empty());
    let (span, early) = first.unwrap_or_default();
    if early.is_empty() || delays.below_the_oldest < delays.hold - span {
        findings.add("the reader below the oldest transaction did not stall", delays);
    }
    for book in &evidence.read {
        let is_it = book.consumer.ordering == Ordered::ByCommit && follows(book.consumer);
        for (effect, at) in book.effects.iter().filter(|_| is_it) {
            if early.contains(&effect.id) && *at >= hold.end {
                findings.add("stalled behind a long transaction", (book.consumer.name, effect));
            }
        }
    }
}

#[cfg(test)]
mod tests;
