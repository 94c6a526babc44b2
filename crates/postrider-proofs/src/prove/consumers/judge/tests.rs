//! A run without a fault passes; each kind of fault is found.

use super::*;
use crate::prove::consumers::readers::ReadCounts;
use postrider_testkit::ledger::Order;

const SECOND: Duration = Duration::from_secs(1);

/// Ten messages of five transactions, a second apart, each transaction in a tick of its own, read by
/// everybody half a second after its commit; and a long one that is read at the end.
fn evidence() -> Evidence {
    let started_at = Instant::now();
    let at = |seconds: f64| started_at + Duration::from_secs_f64(seconds);
    let mut written = Book::default();
    for number in 0..10_usize {
        let transaction = number / 2;
        let message = Written {
            id: Some((number as i64 + 1) << 10),
            marker: format!("marker-{number}"),
            place: (format!("transaction-{transaction}"), number % 2),
            order: Some(Order { key: "key".to_owned(), sequence: number as u64 + 1 }),
            is_seldom: number % 3 == 0,
            began_at: at(transaction as f64),
        };
        written.committed.push((message, at(transaction as f64 + 0.1)));
    }
    let mut evidence = Evidence {
        started_at,
        written,
        read: Vec::new(),
        effects: Vec::new(),
        crashes: Vec::new(),
        holds: vec![at(0.0)..at(4.0)],
        behind_the_last: Read::new(),
        below_the_oldest: Read::new(),
    };
    for consumer in &CONSUMERS {
        read_all(&mut evidence, consumer);
    }
    for (message, committed_at) in &evidence.written.committed {
        let id = message.id.unwrap();
        evidence.below_the_oldest.insert(id, (*committed_at).max(at(4.0)));
    }
    evidence
}

fn read_all(evidence: &mut Evidence, consumer: &'static Consumer) {
    let mut book = ReadBook {
        consumer,
        effects: Vec::new(),
        counts: ReadCounts::default(),
        findings: Vec::new(),
    };
    let wanted = |message: &&(Written, Instant)| !consumer.is_seldom_only || message.0.is_seldom;
    for (index, (message, at)) in evidence.written.committed.iter().filter(wanted).enumerate() {
        let id = message.id.unwrap();
        let transaction = (id >> 10) as u64 / 2;
        let effect = Effect { partition: 0, ordinal: index as i64 + 1, id };
        book.effects.push((effect, *at + SECOND / 2));
        evidence.effects.push(EffectRow {
            consumer,
            partition: 0,
            ordinal: effect.ordinal,
            id,
            position: id >> 10,
            tick: (consumer.ordering == Ordered::ByCommit).then_some(((id >> 10) - 1) / 2 + 1),
            xid: 100 + transaction,
            marker: Some(message.marker.clone()),
            key: Some("key".to_owned()),
            version: Some(id >> 10),
        });
    }
    evidence.read.push(book);
}

/// The rows of the first consumer come first.
fn spoilt(spoil: impl Fn(&mut Evidence)) -> Verdict {
    let mut evidence = evidence();
    spoil(&mut evidence);
    judge(&evidence)
}

#[test]
fn a_run_without_a_fault_passes() {
    let verdict = spoilt(|_| {});
    assert_eq!(verdict.findings, Vec::<String>::new());
    assert!(verdict.report.is_balanced(), "{}", verdict.report);
    assert_eq!(verdict.lost_behind_the_last, 10);
    assert_eq!(verdict.delays.hold, 4 * SECOND);
    assert_eq!(verdict.delays.commit, SECOND / 2);
    assert_eq!(verdict.delays.commit_at_any_time, SECOND / 2);
}

#[test]
fn what_is_lost_or_doubled_is_found() {
    let lost = spoilt(|evidence| _ = evidence.effects.remove(9));
    assert_eq!(lost.report.lost.len(), 1);
    let doubled = spoilt(|evidence| {
        let again = evidence.effects[9].clone();
        evidence.effects.insert(10, again);
    });
    assert_eq!(doubled.report.duplicates.len(), 1);
    assert!(!doubled.report.is_balanced());
    let invented = spoilt(|evidence| {
        let (message, _) = evidence.written.committed.pop().unwrap();
        evidence.written.rolled_back.push(message);
    });
    assert_eq!(invented.report.phantoms.len(), CONSUMERS.len());
}

#[test]
fn each_kind_of_disorder_is_found() {
    fn check(kind: &str, spoil: impl Fn(&mut Evidence)) {
        let verdict = spoilt(spoil);
        let is_it = |finding: &String| finding.starts_with(kind);
        assert!(verdict.findings.iter().any(is_it), "{kind}: {:?}", verdict.findings);
    }
    check("an ordinal twice", |evidence| evidence.effects[3].ordinal = 3);
    check("an earlier place", |evidence| evidence.effects[3].tick = Some(1));
    check("a position or tick", |evidence| evidence.effects[3].tick = None);
    check("a key in two partitions", |evidence| evidence.effects[9].partition = 1);
    check("an earlier version", |evidence| evidence.effects[9].version = Some(1));
    check("a transaction in two ticks", |evidence| evidence.effects[9].tick = Some(6));
    check("a transaction in another order", |evidence| {
        evidence.written.committed[1].0.place.1 = 0;
    });
    check("before what was visible", |evidence| {
        let began_at = evidence.started_at + 4 * SECOND;
        evidence.written.committed[0].0.began_at = began_at;
    });
    check("two orders", |evidence| evidence.effects[9].tick = Some(6));
    check("an effect that nobody committed", |evidence| {
        evidence.read[0].effects.pop();
    });
    check("committed, and no effect", |evidence| _ = evidence.effects.remove(9));
    check("committed twice", |evidence| {
        let again = evidence.read[0].effects[0];
        evidence.read[0].effects.push(again);
    });
    check("the reader below the oldest transaction lost", |evidence| {
        evidence.below_the_oldest.clear();
    });
    check("the reader below the oldest transaction did not stall", |evidence| {
        for at in evidence.below_the_oldest.values_mut() {
            *at = (*at).min(evidence.started_at + 2 * SECOND);
        }
    });
    check("stalled behind a long transaction", |evidence| {
        evidence.read[0].effects[0].1 = evidence.started_at + 5 * SECOND;
    });
    check("no long transaction", |evidence| evidence.holds.clear());
}
