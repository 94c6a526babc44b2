use super::*;
use crate::{
    decide::Cause,
    id::EndpointId,
    tenure::tests::{of_shard, read, read_one, report, sent, unkeyed, waiting},
    waiting::DueDelivery,
};

/// What is gathered, each thing that is said of a delivery for itself.
fn facts(gathered: &Gathered) -> Vec<(&'static str, i64, i32)> {
    let results = &gathered.results;
    let mut facts = Vec::new();
    let mut say = |what, id: MessageId, target: i32| facts.push((what, id.0, target));
    results.done.iter().for_each(|id| say("done", *id, 0));
    for (id, targets) in &results.partly {
        targets.iter().for_each(|target| say("partly", *id, target.0));
    }
    results.deferred.iter().for_each(|row| say("deferred", row.id, row.target.0));
    results.settled.iter().for_each(|(id, target)| say("settled", *id, target.0));
    results.attempts.iter().for_each(|row| say("attempt", row.id, row.target.0));
    results.dead.iter().for_each(|row| say("dead", row.id, row.target.0));
    results.expired.iter().for_each(|(id, target, _)| say("expired", *id, target.0));
    results.read.iter().for_each(|(id, target)| say("read", *id, target.0));
    gathered.put_down.iter().for_each(|(id, target)| say("put down", *id, target.0));
    gathered.ended.iter().for_each(|row| say("ended", row.id, row.target.0));
    facts.sort_unstable();
    facts
}

fn words(gathered: &Gathered) -> Vec<&'static str> {
    facts(gathered).into_iter().map(|(what, ..)| what).collect()
}

/// One of each kind.
fn settlement(kind: u8) -> Settlement {
    match kind {
        0 => Settlement::Delivered,
        1 => Settlement::Retry { wait: Duration::from_secs(1), error: String::new() },
        2 => Settlement::Postponed { run_at: Timestamp(7) },
        3 => Settlement::GivenBack { run_at: None, pause: Duration::ZERO, is_blocked: false },
        4 => Settlement::Dead { cause: Cause::Gone, error: None },
        5 => Settlement::Expired,
        _ => Settlement::Cancelled,
    }
}

const KINDS: u8 = 7;

#[test]
fn what_became_of_a_delivery_is_said_where_it_came_from() {
    let now = Instant::now();
    let of_log: [&[&str]; KINDS as usize] = [
        &["done"],
        &["deferred"],
        &["deferred"],
        &["deferred"],
        &["dead"],
        &["expired"],
        &["read"],
    ];
    let of_table: [&[&str]; KINDS as usize] = [
        &["done", "ended", "put down", "settled"],
        &["deferred", "put down"],
        &["deferred", "put down"],
        &["put down"],
        &["dead", "ended", "put down", "settled"],
        &["ended", "expired", "put down", "settled"],
        &["ended", "put down", "read", "settled"],
    ];
    for kind in 0..KINDS {
        let row = waiting(1);
        let (lane, place) = (row.id.lane(), (row.id.lane().shard(), row.target));
        let mut gathered = Gathered::default();
        gathered.settle(read_one(row.clone()), settlement(kind), now);
        assert_eq!(words(&gathered), of_log[usize::from(kind)], "{kind}");
        assert_eq!(gathered.finished.get(&(lane, 0)), Some(&1), "{kind}: its row is read");
        assert_eq!(gathered.closed[&place].count(), 1, "{kind}: it is not in hand");
        // Who is behind it may go when it has ended, and is stored behind it when it waits.
        let links = (gathered.left().count(), gathered.stored().count());
        assert_eq!(links, if (1..4).contains(&kind) { (0, 1) } else { (1, 0) }, "{kind}");

        let mut gathered = Gathered::default();
        gathered.settle(Delivery::due(row, 1), settlement(kind), now);
        assert_eq!(words(&gathered), of_table[usize::from(kind)], "{kind}");
        assert!(gathered.finished.is_empty() && gathered.closed.is_empty(), "{kind}");
        let links = (gathered.left().count(), gathered.stored().count());
        let expected = match kind {
            1 | 2 => (0, 1),
            3 => (0, 0),
            _ => (1, 0),
        };
        assert_eq!(links, expected, "{kind}");
    }
}

#[test]
fn what_waits_carries_what_is_needed_to_go_on() {
    let now = Instant::now();
    let row = DueDelivery { retry_count: 4, recovery_count: 1, ..waiting(1) };
    let given_back = Settlement::GivenBack {
        run_at: Some(Timestamp(9)),
        pause: Duration::from_millis(3),
        is_blocked: true,
    };
    let mut from_log = read_one(row.clone());
    from_log.recovery_count = 1;
    for (delivery, settlement, expected) in [
        // A retry is used up, and nobody is suspected any more.
        (Delivery::due(row.clone(), 1), settlement(1), (5, 0, None, 1_000, false, true)),
        (Delivery::due(row.clone(), 1), settlement(2), (4, 1, Some(7), 0, false, true)),
        (from_log, given_back, (0, 1, Some(9), 3, true, false)),
    ] {
        let mut gathered = Gathered::default();
        gathered.settle(delivery, settlement, now);
        let [row] = &gathered.results.deferred[..] else { panic!("one waits") };
        let Deferred { retry_count, recovery_count, wait_ms, is_blocked, has_waited, .. } = *row;
        let run_at = row.run_at.map(|at| at.0);
        let found = (retry_count, recovery_count, run_at, wait_ms, is_blocked, has_waited);
        assert_eq!(found, expected);
        assert_eq!(row.ordering_key.as_deref(), Some("key"));
    }
}

/// Its row in the log is read once, and the message is done once, when the last of its deliveries is out of hand: whoever
/// is told of it before forgets the others, and whoever is told twice or never counts wrongly.
#[test]
fn a_message_with_several_targets_is_done_when_the_last_of_them_is_out_of_hand() {
    for seed in 0..300 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        let targets: Vec<Target> = (1..=dice.i32(2..5)).map(Target).collect();
        let mut deliveries = read(sent(unkeyed(1), &targets));
        dice.shuffle(&mut deliveries);
        let (mut done, mut finished, mut delivered) = (0, 0, Vec::new());
        let mut gathered = Gathered::default();
        let count = deliveries.len();
        for (number, delivery) in deliveries.into_iter().enumerate() {
            let (kind, target) = (dice.u8(..KINDS), delivery.target);
            gathered.settle(delivery, settlement(kind), now);
            delivered.extend((kind == 0).then_some(target));
            let is_last = number + 1 == count;
            if is_last || dice.bool() {
                // It is recorded: what is in the next flush is another matter.
                let flushed = std::mem::take(&mut gathered);
                let partly: Vec<Target> = flushed.results.partly.into_values().flatten().collect();
                if !is_last {
                    assert_eq!(partly, std::mem::take(&mut delivered), "seed {seed}");
                } else {
                    assert!(partly.is_empty(), "seed {seed}: the message is done");
                }
                done += flushed.results.done.len();
                finished += flushed.finished.values().sum::<usize>();
                assert_eq!((done, finished), (usize::from(is_last), usize::from(is_last)));
            }
        }
    }
}

/// Waiting deliveries of messages with one target and with two, each with an end of its own, and some from the log.
fn mixed(dice: &mut fastrand::Rng, now: Instant) -> Gathered {
    let mut gathered = Gathered::default();
    for number in 1..9 {
        let has_many_targets = dice.bool();
        for target in 1..=1 + i32::from(has_many_targets) {
            let mut row = of_shard(waiting(number), Shard(number as i16 % 2));
            row.terms.has_idempotency_key = number < 4;
            let row = DueDelivery { target: Target(target), has_many_targets, ..row };
            let delivery = Delivery::due(row, 1);
            gathered.attempt(&delivery, Timestamp(0), &report(Outcome::Unknown));
            gathered.settle(delivery, settlement(dice.u8(..KINDS)), now);
        }
    }
    for number in 11..15 {
        let row = of_shard(unkeyed(number), Shard(number as i16 % 2));
        gathered.settle(read_one(row), settlement(dice.u8(..KINDS)), now);
    }
    gathered
}

/// Somebody holds the rows of some: all that is said of these is said later, and of the others now.
#[test]
fn what_is_set_aside_is_all_of_that_and_nothing_else_and_comes_back_whole() {
    for seed in 0..300 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        let mut gathered = mixed(&mut dice, now);
        let whole = facts(&gathered);
        let held: HashSet<(MessageId, Target)> =
            gathered.put_down.iter().filter(|_| dice.bool()).copied().collect();
        let mut part = gathered.results.clone();
        gathered.leave_out(&mut part, &held);
        let keyed = gathered.results.keyed.clone();
        let aside = gathered.set_aside(&held);
        let part = Gathered { results: part, ..Gathered::default() };

        // A message that is done without one of its deliveries has no other.
        let is_held = |(what, id, target): &(&str, i64, i32)| match *what {
            "done" => held.iter().any(|place| place.0.0 == *id),
            _ => held.contains(&(MessageId(*id), Target(*target))),
        };
        let (expected, rest): (Vec<_>, Vec<_>) = whole.iter().copied().partition(is_held);
        assert_eq!(facts(&aside), expected, "seed {seed}");
        assert_eq!(facts(&gathered), rest, "seed {seed}");
        let is_result = |fact: &(&str, i64, i32)| !["put down", "ended"].contains(&fact.0);
        let rest: Vec<_> = rest.into_iter().filter(is_result).collect();
        assert_eq!(facts(&part), rest, "seed {seed}");
        // A key is freed with the last end of its message, and that may be either.
        let ends = |(id, target): &(MessageId, Target)| {
            keyed.contains(id)
                && aside.ended.iter().any(|row| row.id == *id && row.target == *target)
        };
        assert_eq!(aside.results.keyed.len(), held.iter().filter(|place| ends(place)).count());
        assert_eq!(gathered.results.keyed, keyed);

        gathered.take_back(aside, now);
        assert_eq!(facts(&gathered), whole, "seed {seed}");
    }
}

#[test]
fn nothing_is_said_of_shards_that_are_lost_and_all_of_the_others() {
    for seed in 0..100 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut gathered = mixed(&mut dice, Instant::now());
        let is_kept = |id: MessageId| id.lane().shard() != Shard(1);
        // What is put down is not in hand any more, whoever has the shard.
        let expected: Vec<_> = facts(&gathered)
            .into_iter()
            .filter(|(what, id, _)| *what == "put down" || is_kept(MessageId(*id)))
            .collect();
        let left = gathered.left().filter(|link| is_kept(link.id)).count();
        gathered.forget(&[Shard(1)]);
        assert_eq!(facts(&gathered), expected, "seed {seed}");
        assert!(gathered.finished.keys().all(|(lane, _)| lane.shard() == Shard(0)));
        assert!(gathered.closed.keys().all(|(shard, _)| *shard == Shard(0)));
        assert_eq!((gathered.finished.len(), gathered.closed.len()), (1, 1), "seed {seed}");
        assert_eq!(gathered.left().count(), left, "seed {seed}");
    }
}

/// How what waits changes is the difference of what waited before and what waits then.
#[test]
fn what_waits_changes_by_what_comes_and_by_what_ends() {
    for seed in 0..100 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let gathered = mixed(&mut dice, Instant::now());
        let mut expected: HashMap<(Shard, Target), i64> = HashMap::default();
        for row in gathered.results.deferred.iter().filter(|row| !row.has_waited) {
            *expected.entry((row.id.lane().shard(), row.target)).or_default() += 1;
        }
        for (id, target) in &gathered.results.settled {
            *expected.entry((id.lane().shard(), *target)).or_default() -= 1;
        }
        let changes = gathered.changes();
        let counts = changes.iter().map(|(place, change)| (*place, change.count));
        assert_eq!(counts.collect::<HashMap<_, _>>(), expected, "seed {seed}");
        assert_eq!(gathered.changes_waiting(), !changes.is_empty(), "seed {seed}");
    }
    // One that waits on as it did changes nothing that is counted.
    let mut gathered = Gathered::default();
    gathered.settle(Delivery::due(waiting(1), 1), settlement(1), Instant::now());
    assert!(gathered.changes().is_empty() && !gathered.changes_waiting());
}

#[test]
fn results_are_recorded_when_the_first_has_waited_or_somebody_waits_or_there_are_many() {
    let now = Instant::now();
    let interval = Duration::from_millis(5);
    let end = now + interval;
    let mut gathered = Gathered::default();
    assert!(gathered.is_empty() && gathered.due_at(interval).is_none());
    assert!(!gathered.is_due(now + interval, interval));
    gathered.settle(read_one(unkeyed(1)), settlement(0), now);
    gathered.settle(read_one(unkeyed(2)), settlement(0), end);
    assert!(!gathered.is_empty());
    assert_eq!(gathered.due_at(interval), Some(end), "the first counts");
    assert!(!gathered.is_due(end - Duration::from_millis(1), interval));
    assert!(gathered.is_due(end, interval));
    for number in 3..FULL as i64 {
        gathered.settle(read_one(unkeyed(number)), settlement(0), now);
    }
    assert!(!gathered.is_due(now, interval));
    gathered.settle(read_one(unkeyed(FULL as i64)), settlement(0), now);
    assert!(gathered.is_due(now, interval), "enough has come together");

    let mut gathered = Gathered::default();
    gathered.settle(read_one(unkeyed(1)), settlement(0), now);
    gathered.is_urgent = true;
    assert!(gathered.is_due(now, interval));
    gathered.forget(&[Shard(1)]);
    assert!(gathered.is_due(now, interval), "something is left");
    gathered.forget(&[Shard(0)]);
    assert!(!gathered.is_due(end, interval), "nobody waits for nothing");
}

#[test]
fn a_message_to_nobody_is_done_as_it_is() {
    let now = Instant::now();
    let mut row = sent(unkeyed(1), &[]);
    row.terms.has_idempotency_key = true;
    let (id, lane) = (row.id, row.id.lane());
    let message = Message::new(row);
    let mut gathered = Gathered::default();
    gathered.nobody(&message, Source::Log { lane, segment: 3 }, now);
    assert_eq!((&gathered.results.done, &gathered.results.keyed), (&vec![id], &vec![id]));
    assert_eq!(gathered.finished.get(&(lane, 3)), Some(&1));
    assert_eq!(gathered.due_at(Duration::ZERO), Some(now));
}

#[test]
fn the_history_has_the_number_of_each_attempt_and_what_came_of_it() {
    let delivery = Delivery::due(DueDelivery { retry_count: 2, ..waiting(1) }, 1);
    let duration = Duration::from_secs(u64::MAX);
    let report = Report {
        status: Some(503),
        duration,
        ..report(Outcome::Unavailable { retry_after: None })
    };
    let mut gathered = Gathered::default();
    gathered.attempt(&delivery, Timestamp(4), &report);
    let [row] = &gathered.results.attempts[..] else { panic!("one is kept") };
    assert_eq!((row.number, row.started_at, row.duration_ms), (3, Timestamp(4), i32::MAX));
    assert_eq!((row.outcome, row.status), ("unavailable", Some(503)));
    assert_eq!((row.endpoint, row.error.as_deref()), (EndpointId(1), Some("an error")));
}

/// PostgreSQL takes no NUL in a text, and a flush that it refuses would be refused for ever.
#[test]
fn an_error_is_one_that_the_database_takes() {
    let long = "é".repeat(ERROR_BYTES);
    for (outcome, error, expected) in [
        (Outcome::Rejected, Some("no"), "[PERMANENT] no"),
        (Outcome::Gone, Some("no"), "[DISABLE] no"),
        (Outcome::Unknown, None, "[RETRYABLE] no reason given"),
        (Outcome::NotSent, Some("a\0b"), "[RETRYABLE] a"),
        (Outcome::Unknown, Some("\0"), "[RETRYABLE] "),
        (Outcome::Unknown, Some(&long), &format!("[RETRYABLE] {}", &long[..ERROR_BYTES])),
        (
            Outcome::Unknown,
            Some(&format!("x{long}")),
            &format!("[RETRYABLE] x{}", &long[..ERROR_BYTES - 2]),
        ),
    ] {
        let report = Report { error: error.map(str::to_owned), ..report(outcome) };
        assert_eq!(error_text(&report), expected);
    }
}
