//! Which fault comes when: computed from the seed before anything runs, so that the same seed repeats
//! the same run of faults.

use std::{fmt, time::Duration};

/// The time between two faults, on average.
const INTERVAL: Duration = Duration::from_millis(2_500);

/// How many dispatchers there are to be disturbed.
pub const DISPATCHERS: usize = 3;
/// Where messages go.
pub const DESTINATIONS: [&str; 4] = ["steady", "flaky", "switched", "picky"];
/// The destination that may refuse messages for good; nothing with an ordering key goes there.
pub const PICKY: usize = 3;

/// A fault and when it begins, from the start of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub at: Duration,
    pub disturbance: Disturbance,
}

/// What is done to those who take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// SIGKILL, and another process in its place.
    Kill { dispatcher: usize },
    /// SIGSTOP, and SIGCONT after a time that is shorter or longer than the lease.
    Freeze { dispatcher: usize, time: Duration },
    /// SIGTERM, and another process when it has ended.
    Deploy { dispatcher: usize },
    /// `pg_terminate_backend` of so many in a hundred of the dispatchers' connections.
    CutDispatchers { percent: u32 },
    /// The same of the writers' connections.
    CutWriters { percent: u32 },
    /// Immediate shutdown and start.
    CrashPostgres,
    /// SIGKILL of all its processes and start.
    KillPostgres,
    /// Fast shutdown and start.
    RestartPostgres,
    /// No space is left for the data and the WAL for so long.
    FillDisk { time: Duration },
    /// A receiver behaves badly for so long.
    Mood { destination: usize, mood: Mood, time: Duration },
    /// A transaction that holds a snapshot for so long.
    PinHorizon { time: Duration },
    /// A transaction that has taken an id and commits after so long.
    LateCommit { time: Duration },
}

/// How a receiver behaves badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Connections are refused.
    Down,
    /// Up and down a few times a second.
    Flapping,
    /// Takes up to one and a half seconds to answer.
    Slow,
    /// Never answers.
    Hanging,
    /// Closes the connection instead of an answer.
    Resetting,
    /// 429 with Retry-After.
    Busy,
    /// 503.
    Failing,
    /// 410, at the destination that may.
    Gone,
    /// 200 and a body without end.
    Endless,
    /// 200 and a byte now and then.
    Dripping,
}

/// What a card of the deck says; the rest is dice.
#[derive(Debug, Clone, Copy)]
enum Card {
    Kill,
    FreezeShort,
    FreezeLong,
    Deploy,
    CutDispatchers,
    CutWriters,
    CrashPostgres,
    KillPostgres,
    RestartPostgres,
    FillDisk,
    Mood(Mood),
    PinHorizon,
    LateCommit,
}

/// Every card once is every fault once; those that happen most in life come twice.
const DECK: [Card; 26] = [
    Card::Kill,
    Card::Kill,
    Card::FreezeShort,
    Card::FreezeLong,
    Card::Deploy,
    Card::Deploy,
    Card::CutDispatchers,
    Card::CutDispatchers,
    Card::CutWriters,
    Card::CrashPostgres,
    Card::KillPostgres,
    Card::RestartPostgres,
    Card::FillDisk,
    Card::PinHorizon,
    Card::LateCommit,
    Card::LateCommit,
    Card::Mood(Mood::Down),
    Card::Mood(Mood::Flapping),
    Card::Mood(Mood::Slow),
    Card::Mood(Mood::Hanging),
    Card::Mood(Mood::Resetting),
    Card::Mood(Mood::Busy),
    Card::Mood(Mood::Failing),
    Card::Mood(Mood::Gone),
    Card::Mood(Mood::Endless),
    Card::Mood(Mood::Dripping),
];

/// The faults of a run that lasts so long, spread over all of it. At least one deck of them: a run that
/// is too short for that has them closer together.
pub fn schedule(seed: u64, time: Duration) -> Vec<Planned> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let count = ((time.as_millis() / INTERVAL.as_millis()) as usize).max(DECK.len());
    let interval = time / count as u32;
    let mut deck = Vec::new();
    (0..count)
        .map(|number| {
            if deck.is_empty() {
                deck.extend(DECK);
                dice.shuffle(&mut deck);
            }
            let card = deck.pop().expect("it was filled");
            let at = interval.mul_f64(number as f64 + dice.f64());
            Planned { at: whole_milliseconds(at), disturbance: disturbance(card, &mut dice) }
        })
        .collect()
}

fn disturbance(card: Card, dice: &mut fastrand::Rng) -> Disturbance {
    let dispatcher = dice.usize(..DISPATCHERS);
    let mut time = |from, to| Duration::from_millis(dice.u64(from..to));
    match card {
        Card::Kill => Disturbance::Kill { dispatcher },
        Card::FreezeShort => Disturbance::Freeze { dispatcher, time: time(300, 3_000) },
        Card::FreezeLong => Disturbance::Freeze { dispatcher, time: time(6_500, 9_000) },
        Card::Deploy => Disturbance::Deploy { dispatcher },
        Card::CutDispatchers => Disturbance::CutDispatchers { percent: dice.u32(20..=100) },
        Card::CutWriters => Disturbance::CutWriters { percent: dice.u32(20..=100) },
        Card::CrashPostgres => Disturbance::CrashPostgres,
        Card::KillPostgres => Disturbance::KillPostgres,
        Card::RestartPostgres => Disturbance::RestartPostgres,
        Card::FillDisk => Disturbance::FillDisk { time: time(1_500, 4_000) },
        Card::PinHorizon => Disturbance::PinHorizon { time: time(5_000, 20_000) },
        Card::LateCommit => Disturbance::LateCommit { time: time(2_000, 12_000) },
        Card::Mood(mood) => {
            let time = time(1_500, 5_000);
            let destination =
                if mood == Mood::Gone { PICKY } else { dice.usize(..DESTINATIONS.len()) };
            Disturbance::Mood { destination, mood, time }
        }
    }
}

fn whole_milliseconds(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}

impl fmt::Display for Planned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:>9.3} s  {}", self.at.as_secs_f64(), self.disturbance)
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { dispatcher } => write!(formatter, "SIGKILL of dispatcher {dispatcher}"),
            Self::Freeze { dispatcher, time } => {
                write!(formatter, "SIGSTOP of dispatcher {dispatcher} for {time:?}")
            }
            Self::Deploy { dispatcher } => {
                write!(formatter, "SIGTERM of dispatcher {dispatcher}, and a new one")
            }
            Self::CutDispatchers { percent } => {
                write!(formatter, "{percent} % of the dispatchers' connections terminated")
            }
            Self::CutWriters { percent } => {
                write!(formatter, "{percent} % of the writers' connections terminated")
            }
            Self::CrashPostgres => formatter.write_str("PostgreSQL: immediate shutdown, start"),
            Self::KillPostgres => formatter.write_str("PostgreSQL: SIGKILL, start"),
            Self::RestartPostgres => formatter.write_str("PostgreSQL: fast shutdown, start"),
            Self::FillDisk { time } => write!(formatter, "the disk is full for {time:?}"),
            Self::Mood { destination, mood, time } => {
                let name = DESTINATIONS[*destination];
                write!(formatter, "receiver {name}: {mood:?} for {time:?}")
            }
            Self::PinHorizon { time } => {
                write!(formatter, "a transaction holds a snapshot for {time:?}")
            }
            Self::LateCommit { time } => {
                write!(formatter, "a transaction has sent and commits after {time:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn names(seed: u64, time: Duration) -> Vec<String> {
        schedule(seed, time).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_same_seed_repeats_the_same_faults_at_the_same_times() {
        for seed in 0..50 {
            assert_eq!(schedule(seed, 3 * MINUTE), schedule(seed, 3 * MINUTE));
        }
        assert_ne!(names(1, MINUTE), names(2, MINUTE));
        // Written down, so that a seed in a report means the same tomorrow.
        assert_eq!(names(7, MINUTE)[..3], GOLDEN);
    }

    const GOLDEN: [&str; 3] = [
        "    0.420 s  SIGTERM of dispatcher 1, and a new one",
        "    3.556 s  a transaction has sent and commits after 6.451s",
        "    6.788 s  39 % of the dispatchers' connections terminated",
    ];

    #[test]
    fn faults_are_spread_over_the_whole_run_and_none_is_left_out() {
        for (seed, minutes) in (0..50).flat_map(|seed| [(seed, 1), (seed, 10)]) {
            let time = minutes * MINUTE;
            let planned = schedule(seed, time);
            assert!(planned.is_sorted_by_key(|planned| planned.at), "seed {seed}");
            assert!(planned.iter().all(|planned| planned.at < time), "seed {seed}");
            for tenth in 0..10 {
                let part = time / 10 * tenth..time / 10 * (tenth + 1);
                assert!(planned.iter().any(|p| part.contains(&p.at)), "seed {seed}: {part:?}");
            }
            let kinds: std::collections::HashSet<String> = planned
                .iter()
                .map(|planned| match planned.disturbance {
                    Disturbance::Mood { mood, .. } => format!("{mood:?}"),
                    Disturbance::Freeze { time, .. } => format!("{}", time.as_secs() > 5),
                    other => format!("{:?}", std::mem::discriminant(&other)),
                })
                .collect();
            assert_eq!(kinds.len(), 22, "seed {seed}: {kinds:?}");
        }
    }

    #[test]
    fn only_the_picky_one_is_gone() {
        for planned in schedule(3, 30 * MINUTE) {
            if let Disturbance::Mood { destination, mood: Mood::Gone, .. } = planned.disturbance {
                assert_eq!(destination, PICKY);
            }
        }
    }
}
