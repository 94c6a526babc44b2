use super::*;

fn life(seed: u64, wrong: Wrong) -> Life {
    World::new(seed, wrong).live()
}

/// How many lives the suite looks at; `POSTRIDER_TEST_LIVES` makes it more.
fn life_count() -> u64 {
    std::env::var("POSTRIDER_TEST_LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

#[test]
fn whatever_happens_every_message_ends_once_and_for_a_reason() {
    let first = std::env::var("POSTRIDER_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let first: u64 = first.unwrap_or_else(|| fastrand::u64(..1 << 32));
    let mut all = Life::default();
    for seed in first..first + life_count() {
        let life = life(seed, Wrong::Nothing);
        assert!(life.findings.is_empty(), "seed {seed}: {:#?}", life.findings);
        all.attempt_count += life.attempt_count;
        all.duplicate_count += life.duplicate_count;
        for (fault, count) in life.faults {
            *all.faults.entry(fault).or_default() += count;
        }
    }
    println!("from seed {first}: {all:#?}");
}

/// Databases that are wrong, and within how many lives that is found.
const WRONG: &[(Wrong, u64)] = &[
    (Wrong::NoLease, 50),
    (Wrong::CheckpointsLost, 50),
    (Wrong::FlushesLost, 50),
    (Wrong::SeesUncommitted, 50),
    (Wrong::TicksById, 50),
    (Wrong::NothingRecovered, 50),
    (Wrong::EndsForgotten, 50),
];

#[test]
fn what_is_wrong_is_found() {
    let mut missed: Vec<Wrong> = Vec::new();
    for (wrong, lives) in WRONG {
        let found = (0..*lives).find(|seed| !life(*seed, *wrong).findings.is_empty());
        println!("{wrong:?}: {found:?}");
        missed.extend(found.is_none().then_some(*wrong));
    }
    assert!(missed.is_empty(), "{missed:?}");
}
