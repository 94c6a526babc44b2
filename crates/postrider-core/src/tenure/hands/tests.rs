use std::time::Duration;

use super::*;
use crate::{
    tenure::tests::{ENDPOINT, of_shard, unkeyed},
    waiting::DueDelivery,
};

fn place(number: i64) -> Place {
    (unkeyed(number).id, unkeyed(number).target)
}

fn lost(number: i64, recovery_count: u32) -> Delivery {
    Delivery::due(DueDelivery { recovery_count, ..unkeyed(number) }, 1)
}

fn numbers<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> Vec<i64> {
    deliveries.into_iter().map(|delivery| delivery.message.id.sequence_number()).collect()
}

/// What is in hand is not taken twice, and its endpoint, which counts it, hears of its end once.
#[test]
fn what_is_in_hand_is_so_once_and_until_it_is_put_down() {
    for seed in 0..100 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut hands = Hands::new(Instant::now());
        let mut held: HashMap<Place, Option<EndpointId>> = HashMap::default();
        for _ in 0..60 {
            let row = of_shard(unkeyed(dice.i64(1..6)), Shard(dice.i16(..2)));
            let (place, endpoint) = ((row.id, row.target), dice.bool().then_some(ENDPOINT));
            match dice.bool() {
                true => {
                    let is_fresh = !held.contains_key(&place);
                    assert_eq!(hands.hold(place, endpoint), is_fresh, "seed {seed}");
                    held.entry(place).or_insert(endpoint);
                }
                false => {
                    let counted_by = held.remove(&place).flatten();
                    assert_eq!(hands.forget(place), counted_by, "seed {seed}");
                }
            }
            assert_eq!(hands.has(place), held.contains_key(&place), "seed {seed}");
            assert_eq!(hands.count(), held.len());
            assert_eq!(hands.places().collect::<HashSet<_>>(), held.keys().copied().collect());
            for shard in [0, 1].map(Shard) {
                let has_any = held.keys().any(|(id, _)| id.lane().shard() == shard);
                assert_eq!(hands.has_any_of(shard), has_any, "seed {seed}");
            }
        }
    }
}

/// It would be fetched once more, as it was before.
#[test]
fn what_is_recorded_while_a_fetch_is_under_way_is_known_when_that_is_answered() {
    let now = Instant::now();
    let mut hands = Hands::new(now);
    hands.note_recorded(place(1));
    hands.fetch.begin(now);
    hands.note_recorded(place(2));
    assert_eq!(hands.end_fetch(now), HashSet::from_iter([place(2)]));
    hands.fetch.begin(now);
    assert!(hands.end_fetch(now).is_empty(), "the next answer shows it");
}

#[test]
fn what_is_postponed_comes_back_at_its_moment_the_first_one_first() {
    for seed in 0..100 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        let mut hands = Hands::new(began);
        hands.fetch.set_due(ms(1_000));
        // When, and which: those of one moment in the order in which they came.
        let mut waiting: Vec<(u64, i64)> = Vec::new();
        for number in 1..40 {
            let at = dice.u64(..50);
            hands.postpone(ms(at), lost(number, 0));
            waiting.push((at, number));
            if number % 4 == 0 {
                let now = dice.u64(..50);
                waiting.sort_by_key(|(at, _)| *at);
                let due: Vec<_> = waiting.extract_if(.., |(at, _)| *at <= now).collect();
                let taken = hands.take_postponed(ms(now));
                assert!(numbers(&taken).into_iter().eq(due.iter().map(|(_, number)| *number)));
            }
            let first = waiting.iter().map(|(at, _)| *at).min().unwrap_or(1_000);
            assert_eq!(
                (hands.wake_at(), hands.postponed_count()),
                (Some(ms(first)), waiting.len())
            );
        }
    }
}

#[test]
fn one_suspect_is_tried_at_a_time_the_least_suspicious_first() {
    let mut hands = Hands::new(Instant::now());
    let now = Timestamp(100);
    let mut expired = DueDelivery { recovery_count: SUSPECT_AFTER, ..unkeyed(9) };
    expired.terms.expires_at = Some(now);
    hands.suspect(Delivery::due(expired, 1));
    assert!(hands.take_suspect(now).is_none(), "what has expired ends by itself");
    for (number, recovery_count) in [(1, 4), (2, 2), (3, 3)] {
        hands.suspect(lost(number, recovery_count));
    }
    for expected in [2, 3, 1] {
        let suspect = hands.take_suspect(now).expect("none is being tried");
        assert_eq!(numbers([&suspect]), [expected]);
        hands.try_out(&suspect);
        assert_eq!(hands.current(), Some(place(expected)));
        assert!(hands.is_current(&suspect) && !hands.is_current(&lost(8, 2)));
        assert!(hands.take_suspect(now).is_none(), "one at a time");
        hands.clear(place(8));
        assert!(hands.take_suspect(now).is_none(), "that was another one");
        // Its end is on record, or it is not attempted after all.
        match expected {
            2 => hands.clear(place(expected)),
            _ => _ = hands.forget(place(expected)),
        }
    }
    assert!(hands.has_suspects() && hands.take_suspect(now).is_none());
    let is_any = |_: &Delivery| true;
    assert_eq!(numbers(&hands.extract_suspects(is_any)), [9]);
    assert!(!hands.has_suspects());
}

/// Another one may be on its way, and if that kills us, this one was in our hands, too.
#[test]
fn a_suspect_that_was_postponed_has_to_wait_for_its_turn_again() {
    let now = Instant::now();
    let mut hands = Hands::new(now);
    let current = lost(2, SUSPECT_AFTER);
    hands.try_out(&current);
    for delivery in [lost(1, SUSPECT_AFTER), current, lost(3, SUSPECT_AFTER - 1)] {
        hands.postpone(now, delivery);
    }
    assert_eq!(numbers(&hands.take_postponed(now)), [2, 3]);
    assert_eq!(numbers(&hands.extract_suspects(|_| true)), [1]);
}

#[test]
fn only_so_many_suspects_are_kept_at_hand() {
    let mut hands = Hands::new(Instant::now());
    for number in 1..=SUSPECTS_AT_HAND as i64 {
        assert!(hands.has_room_for_suspects(), "{number}");
        hands.suspect(lost(number, 2));
    }
    assert!(!hands.has_room_for_suspects());
}

#[test]
fn what_is_certainly_not_being_attempted_is_known_wherever_it_is() {
    let now = Instant::now();
    let mut hands = Hands::new(now);
    hands.postpone(now, lost(1, 0));
    hands.suspect(lost(2, 2));
    hands.note_unbegun(vec![lost(3, 0), lost(4, 0)]);
    assert_eq!(numbers(hands.idle()), [1, 2, 3, 4]);
    // What came too late has been claimed.
    let mut extracted = numbers(&hands.extract(|_| true));
    extracted.sort_unstable();
    assert_eq!((extracted, numbers(hands.idle())), (vec![1, 2], vec![3, 4]));
}

#[test]
fn what_somebody_holds_is_recovered_later_and_once_at_a_time() {
    let now = Instant::now();
    let claim = |number| Claim { id: place(number).0, target: place(number).1, retry_count: 0 };
    let mut hands = Hands::new(now);
    hands.fetch.set_due(now + HELD_PAUSE * 9);
    assert!(hands.begin_recovery(now).is_none(), "there is nothing to recover");
    hands.note_unrecovered(vec![claim(1), claim(2)]);
    assert_eq!(hands.wake_at(), Some(now));
    assert_eq!(hands.begin_recovery(now).map(|claims| claims.len()), Some(2));
    assert!(hands.begin_recovery(now + HELD_PAUSE).is_none(), "it is under way");
    hands.end_recovery(now);
    assert!(hands.begin_recovery(now).is_none());
    assert_eq!(hands.wake_at(), Some(now + HELD_PAUSE));
    assert_eq!(hands.extract_unrecovered(|claim| claim.id == place(1).0).len(), 1);
    let left = hands.begin_recovery(now + HELD_PAUSE).expect("it is tried again");
    assert_eq!(left.iter().map(|claim| claim.id).collect::<Vec<_>>(), [place(2).0]);
    assert_eq!(hands.unrecovered().len(), 1, "they are kept until they are recovered");
    hands.end_recovery(now);
    hands.extract_unrecovered(|_| true);
    assert_eq!(hands.wake_at(), Some(now + HELD_PAUSE * 9), "nobody wakes for nothing");
}
