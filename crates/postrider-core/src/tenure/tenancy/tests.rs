use super::*;
use crate::{failure::Failure, gaps::Gaps, lease::Beat, tenure::tests::heartbeat};

const MS: Duration = Duration::from_millis(1);

fn tenancy(now: Instant) -> Tenancy {
    let identity =
        Identity { id: Uuid::nil(), shard_count: 1, is_audible: true, gaps: Gaps::default() };
    let former = Tenure { id: Uuid::from_u128(8), spared: Default::default() };
    Tenancy::new(identity, Some(former), now)
}

#[test]
fn a_lease_is_renewed_three_times_within_its_length_and_every_two_seconds_at_least() {
    for (lease_ms, interval_ms) in [(15_000, 2_000), (6_000, 2_000), (3_000, 1_000), (300, 100)] {
        assert_eq!(beat_interval(MS * lease_ms), MS * interval_ms);
    }
}

/// Two that are under way could be answered in another order, and the older answer would be believed.
#[test]
fn one_heartbeat_is_under_way_and_the_next_is_due_from_when_that_was_asked() {
    let now = Instant::now();
    let mut tenancy = tenancy(now);
    assert!(tenancy.begin_beat(|| 0, now));
    let much = NEWS * 9;
    assert!(!tenancy.begin_beat(|| much, now + MS * 60_000), "one at a time");
    assert_eq!(tenancy.wake_at(now), now + BEAT_INTERVAL, "nobody wakes for it meanwhile");
    let heard = now + MS * 900;
    assert_eq!(tenancy.end_beat(now, &heartbeat(&[]), heard), None, "the length is the same");
    assert_eq!(tenancy.wake_at(heard), now + BEAT_INTERVAL);
    assert!(!tenancy.begin_beat(|| 0, now + BEAT_INTERVAL - MS));
    assert!(tenancy.begin_beat(|| 0, now + BEAT_INTERVAL));

    let lease = Duration::from_secs(3);
    let shorter = Heartbeat { lease, ..heartbeat(&[]) };
    assert_eq!(tenancy.end_beat(now, &shorter, heard), Some(lease));
    assert_eq!((tenancy.lease_length(), tenancy.wake_at(heard)), (lease, now + lease / 3));
    assert_eq!(tenancy.end_beat(now, &shorter, heard), None);
}

#[test]
fn who_is_known_is_who_lived_at_the_last_heartbeat() {
    let now = Instant::now();
    let [one, two] = [1, 2].map(Uuid::from_u128);
    let mut tenancy = tenancy(now);
    for (others, expected) in [(vec![one], [true, false]), (vec![two], [false, true])] {
        let others: Vec<Beat> =
            others.into_iter().map(|dispatcher| Beat { dispatcher, seq: 1, lease: MS }).collect();
        tenancy.end_beat(now, &heartbeat(&others), now);
        assert_eq!([one, two].map(|id| tenancy.knows(id)), expected);
    }
}

/// What it said last is what people see if it dies now.
#[test]
fn a_heartbeat_comes_early_when_much_has_changed_and_no_sooner_than_that() {
    for (said, pending, is_news) in [
        (0, NEWS - 1, false),
        (0, NEWS, true),
        (NEWS, 0, true),
        (NEWS * 4, NEWS * 5, true),
        (NEWS * 4, NEWS * 5 - 1, false),
        (NEWS * 8, NEWS * 9, false),
        (NEWS * 8, NEWS * 6, true),
    ] {
        let now = Instant::now();
        let mut tenancy = tenancy(now);
        tenancy.begin_beat(|| said, now);
        tenancy.end_beat(now, &heartbeat(&[]), now);
        let case = format!("{said} {pending}");
        assert!(!tenancy.begin_beat(|| pending, now + NEWS_INTERVAL - MS), "{case}");
        assert_eq!(tenancy.begin_beat(|| pending, now + NEWS_INTERVAL), is_news, "{case}");
        if !is_news {
            // Counting costs something, so it is not done at every step.
            assert!(!tenancy.begin_beat(|| i64::MAX / 8, now + NEWS_INTERVAL + MS), "{case}");
        }
    }
}

#[test]
fn whoever_rings_for_shards_is_heard_a_moment_after_the_last_heartbeat() {
    let now = Instant::now();
    let mut tenancy = tenancy(now);
    tenancy.begin_first_beat(now);
    tenancy.end_beat(now, &heartbeat(&[]), now);
    tenancy.ring();
    assert_eq!(tenancy.wake_at(now), now + BEAT_PAUSE);
    assert!(!tenancy.begin_beat(|| 0, now + BEAT_PAUSE - MS));
    assert!(tenancy.begin_beat(|| 0, now + BEAT_PAUSE));
}

#[test]
fn shards_come_one_batch_at_a_time_and_not_while_some_go() {
    let mut tenancy = tenancy(Instant::now());
    assert!(tenancy.is_settled());
    let former = tenancy.begin_acquiring().expect("none are being taken");
    assert_eq!(former.map(|former| former.id), Some(Uuid::from_u128(8)));
    assert!(tenancy.begin_acquiring().is_none() && !tenancy.is_settled());
    tenancy.end_acquiring();
    assert!(tenancy.is_settled());
    tenancy.begin_release();
    assert!(tenancy.is_releasing() && !tenancy.is_settled());
    tenancy.end_release();
    assert!(!tenancy.is_releasing() && tenancy.is_settled());
    // Whose unattempted messages are known is said each time.
    assert!(tenancy.begin_acquiring().expect("they are taken by now").is_some());
}

#[test]
fn the_first_reason_why_a_tenure_ends_is_the_one_that_is_given() {
    let mut tenancy = tenancy(Instant::now());
    assert!(tenancy.take_end().is_none());
    tenancy.fail(End::LeaseLost);
    tenancy.fail(End::Failed(Failure::new("a connection that went with it", false)));
    assert!(matches!(tenancy.take_end(), Some(End::LeaseLost)));
    assert!(tenancy.take_end().is_none());
}

#[test]
fn a_stop_has_a_grace_and_what_has_landed_a_little_more() {
    let now = Instant::now();
    let grace = Duration::from_secs(7);
    let mut tenancy = tenancy(now);
    tenancy.begin_beat(|| 0, now);
    let ever = now + grace * 100;
    assert!(!tenancy.is_stopping() && !tenancy.is_grace_over(true, ever));
    assert!(tenancy.take_line_turn(ever).is_none());
    tenancy.stop(grace, now);
    assert!(tenancy.is_stopping());
    assert_eq!(tenancy.wake_at(now + grace - MS), now + grace);
    for (wait, is_recorded, is_over) in [
        (grace - MS, true, false),
        (grace, true, true),
        (grace, false, false),
        (grace + RECORDING_GRACE - MS, false, false),
        (grace + RECORDING_GRACE, false, true),
    ] {
        assert_eq!(tenancy.is_grace_over(is_recorded, now + wait), is_over, "{wait:?}");
    }
    let lines = [1, 2, 3, 4, 9].map(|seconds| {
        let left = tenancy.take_line_turn(now + Duration::from_secs(seconds));
        left.map(|left| left.as_secs())
    });
    assert_eq!(lines, [None, Some(5), None, Some(3), Some(0)]);
}
