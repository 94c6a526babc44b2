//! The rules that the requests of one ordering key keep at one destination.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{Destination, Fault, FaultKind};

/// How long after a fault a request of before may still come in: it lay in the kernel, and whoever takes it
/// stands still now and then.
const LATE: Duration = Duration::from_secs(3);

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub destination: Destination,
    pub key: String,
    pub sequence: u64,
    pub at: Instant,
    /// It was not answered before.
    pub until: Instant,
}

/// What is wrong with two requests of one key that arrived one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The second belongs before the first.
    Overtaken,
    /// The second came before the first was answered.
    Overlap,
}

/// Two requests of one key that break a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub destination: Destination,
    pub key: String,
    /// The sequences of both.
    pub first: u64,
    pub second: u64,
    /// There was a fault between them: whoever sent the first is not there any more, does not know
    /// what was answered, or was asleep.
    pub is_excused: bool,
}

/// What breaks the rules: of one key the sequence never falls, and a request never arrives while the
/// one before is under way. A fault between two requests excuses both; lost answers, at their destination.
pub fn check(mut arrivals: Vec<Arrival>, faults: &[Fault]) -> Vec<Finding> {
    // Stable: what arrived at one instant stays in the order in which it was recorded.
    arrivals.sort_by_key(|arrival| arrival.at);
    let mut last: HashMap<(Destination, String), Arrival> = HashMap::new();
    let mut findings = Vec::new();
    for arrival in arrivals {
        let place = (arrival.destination.clone(), arrival.key.clone());
        if let Some(before) = last.get(&place) {
            let is_excused = faults.iter().any(|fault| {
                let is_here = match &fault.kind {
                    FaultKind::AnswersLost { destination } => *destination == arrival.destination,
                    _ => true,
                };
                is_here && before.at <= fault.until + LATE && fault.at <= arrival.at
            });
            let finding = |kind| Finding {
                kind,
                destination: arrival.destination.clone(),
                key: arrival.key.clone(),
                first: before.sequence,
                second: arrival.sequence,
                is_excused,
            };
            if arrival.sequence < before.sequence {
                findings.push(finding(FindingKind::Overtaken));
            }
            if arrival.at < before.until {
                findings.push(finding(FindingKind::Overlap));
            }
        }
        last.insert(place, arrival);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in requests of one key: sequence, arrival and answer in milliseconds.
    fn found(requests: &[(u64, u64, u64)], kills: &[u64]) -> Vec<(FindingKind, u64, u64, bool)> {
        let origin = Instant::now();
        let moment = |milliseconds: &u64| origin + Duration::from_millis(*milliseconds);
        let arrivals = requests.iter().map(|(sequence, at, until)| Arrival {
            destination: "somewhere".into(),
            key: "k".to_owned(),
            sequence: *sequence,
            at: moment(at),
            until: moment(until),
        });
        let kill = |at| Fault::new(FaultKind::ProcessKilled, "dispatcher", moment(at));
        let kills: Vec<Fault> = kills.iter().map(kill).collect();
        let findings = check(arrivals.collect(), &kills);
        findings.iter().map(|f| (f.kind, f.first, f.second, f.is_excused)).collect()
    }

    #[test]
    fn one_after_the_other_is_fine_and_so_is_the_same_again() {
        assert_eq!(found(&[(1, 0, 5), (1, 5, 9), (2, 9, 10), (4, 11, 12)], &[]), []);
    }

    #[test]
    fn an_earlier_one_must_not_come_after_a_later_one() {
        let requests = [(1, 0, 1), (2, 2, 3), (1, 4, 5)];
        assert_eq!(found(&requests, &[]), [(FindingKind::Overtaken, 2, 1, false)]);
    }

    #[test]
    fn two_must_not_be_under_way_unless_the_sender_of_the_first_was_killed() {
        let requests = [(1, 0, 9_000), (1, 8_000, 8_001)];
        assert_eq!(found(&requests, &[]), [(FindingKind::Overlap, 1, 1, false)]);
        assert_eq!(found(&requests, &[3_000]), [(FindingKind::Overlap, 1, 1, true)]);
        assert_eq!(found(&requests, &[8_500]), [(FindingKind::Overlap, 1, 1, false)]);
    }
}
