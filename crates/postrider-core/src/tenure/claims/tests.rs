use super::*;
use crate::tenure::tests::{of_shard, read_one, unkeyed};

fn taken(number: i64, shard: i16) -> Placed {
    Placed::Held(read_one(of_shard(unkeyed(number), Shard(shard))))
}

fn ids<'a>(placed: impl IntoIterator<Item = &'a Placed>) -> Vec<i64> {
    placed.into_iter().map(|placed| placed.delivery().message.id.0).collect()
}

/// Nothing comes out before a checkpoint that names it is written, all of it does then, once and in order, and what was
/// not written is named again.
#[test]
fn whatever_is_taken_comes_out_once_when_it_is_written_down() {
    for seed in 0..200 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        let mut claims = Claims::new(now);
        // What is not named by a checkpoint, and what one that is under way names.
        let (mut unclaimed, mut claiming): (Vec<i64>, Option<Vec<i64>>) = Default::default();
        for number in 1..60 {
            match dice.u8(..8) {
                0..4 => {
                    let placed = taken(number, dice.i16(..2));
                    unclaimed.extend(ids([&placed]));
                    claims.add(placed);
                }
                4 if claims.is_due(now) => {
                    assert!(claiming.is_none(), "one checkpoint at a time");
                    let named: Vec<i64> = claims.begin(now).iter().map(|id| id.0).collect();
                    assert_eq!(named, unclaimed, "seed {seed}");
                    claiming = Some(std::mem::take(&mut unclaimed));
                }
                5 if claiming.is_some() => {
                    assert_eq!(Some(ids(&claims.end())), claiming.take(), "seed {seed}");
                }
                6 if claiming.is_some() => {
                    claims.abandon();
                    unclaimed.extend(claiming.take().into_iter().flatten());
                }
                7 => {
                    let is_of_first = |id: &i64| MessageId(*id).lane().shard() == Shard(0);
                    let extracted = claims.extract(|delivery| delivery.shard() == Shard(0));
                    let expected: Vec<i64> =
                        unclaimed.extract_if(.., |id| is_of_first(id)).collect();
                    assert_eq!(ids(&extracted), expected, "seed {seed}");
                }
                _ => {}
            }
            let known: Vec<i64> =
                claims.deliveries().map(|delivery| delivery.message.id.0).collect();
            let expected: Vec<i64> =
                unclaimed.iter().chain(claiming.iter().flatten()).copied().collect();
            assert_eq!(known, expected, "seed {seed}");
            assert_eq!(claims.waiting_count(), unclaimed.len());
            assert_eq!(claims.is_claiming(), claiming.is_some());
            assert_eq!(claims.is_empty(), unclaimed.is_empty() && claiming.is_none());
            let has_any = |shard| unclaimed.iter().any(|id| MessageId(*id).lane().shard() == shard);
            for shard in [0, 1].map(Shard) {
                assert_eq!(claims.has_any_of(shard), has_any(shard), "seed {seed}");
            }
        }
    }
}

#[test]
fn what_claims_something_is_written_at_once_and_what_only_says_that_something_is_finished_waits() {
    let now = Instant::now();
    let ms = |ms| now + Duration::from_millis(ms);
    let mut claims = Claims::new(now);
    assert!(!claims.is_due(now) && claims.wake_at().is_none(), "there is nothing to say");
    claims.note_news(now);
    claims.note_news(ms(400));
    assert_eq!(claims.wake_at(), Some(ms(500)), "the first is not put off by the next");
    assert!(!claims.is_due(ms(499)) && claims.is_due(ms(500)));
    claims.pass();
    assert_eq!(claims.wake_at(), None, "there is nobody to write it for");
    claims.hurry(ms(600));
    assert!(claims.is_due(ms(600)));

    claims.add(taken(1, 0));
    assert!(claims.is_due(now), "it waits for its attempt");
    claims.begin(now);
    claims.add(taken(2, 0));
    claims.note_news(now);
    assert!(!claims.is_due(ms(900)) && claims.wake_at().is_none(), "one is under way");
    claims.end();
    assert!(claims.is_due(now));
    claims.begin(ms(700));
    claims.end();
    // What was claimed is finished some time, and nobody may say so.
    assert_eq!(claims.wake_at(), Some(ms(1_200)));
    claims.begin(ms(1_200));
    claims.end();
    assert_eq!(claims.wake_at(), None);
}

#[test]
fn senders_are_told_how_full_the_log_is_now_and_then() {
    let now = Instant::now();
    let mut claims = Claims::new(now);
    let turns = [0, 1, 199, 200, 201, 400].map(|ms| {
        let at = now + Duration::from_millis(ms);
        claims.take_gate_turn(at)
    });
    assert_eq!(turns, [true, false, false, true, false, true]);
}
