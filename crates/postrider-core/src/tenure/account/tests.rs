use super::*;
use crate::tenure::{
    Delivery, Settlement,
    tests::{ENDPOINT, FLOW, TARGET, endpoint, of_shard, read_one, unkeyed},
};

const SHARDS: [Shard; 2] = [Shard(0), Shard(1)];

fn endpoints(now: Instant) -> Endpoints {
    let mut known = Endpoints::new(100, 64, now);
    known.apply(endpoint(ENDPOINT, 1, FLOW));
    known
}

/// Each delivery for itself: what the account follows without looking at any.
#[derive(Default)]
struct Model {
    ours: Vec<Shard>,
    in_hand: Vec<Delivery>,
    /// What is in hand and about to be recorded, and whether it waits from then on.
    recording: Vec<(Shard, i64)>,
    /// What waits, by shard, as far as it is known, and what of it is about to end.
    waiting: [i64; SHARDS.len()],
    ending: [i64; SHARDS.len()],
}

impl Model {
    fn pending_of(&self, shard: Shard) -> i64 {
        let in_hand = self.in_hand.iter().filter(|delivery| delivery.shard() == shard).count();
        let recording = self.recording.iter().filter(|(other, _)| *other == shard).count();
        (in_hand + recording) as i64 + self.waiting[shard.0 as usize]
    }

    fn record(&mut self) {
        for (shard, waits) in self.recording.drain(..) {
            self.waiting[shard.0 as usize] += waits;
        }
        for (waiting, ending) in std::iter::zip(&mut self.waiting, &mut self.ending) {
            *waiting -= std::mem::take(ending);
        }
    }

    /// Nothing of it counts any more, whatever comes of it.
    fn lose(&mut self, shard: Shard) {
        self.ours.retain(|other| *other != shard);
        self.in_hand.retain(|delivery| delivery.shard() != shard);
        self.recording.retain(|(other, _)| *other != shard);
        (self.waiting[shard.0 as usize], self.ending[shard.0 as usize]) = (0, 0);
    }
}

/// A flush of what became of some that were in hand, and of some that waited.
fn settle_some(model: &mut Model, number: i64, now: Instant, dice: &mut fastrand::Rng) -> Gathered {
    let mut gathered = Gathered::default();
    for _ in 0..dice.usize(..4) {
        let retry = Settlement::Retry { wait: Duration::ZERO, error: String::new() };
        let (settlement, waits) = match dice.u8(..3) {
            0 => (Settlement::Delivered, 0),
            1 => (Settlement::Expired, 0),
            _ => (retry, 1),
        };
        let has_waiting =
            |shard: &Shard| model.waiting[shard.0 as usize] > model.ending[shard.0 as usize];
        if dice.bool() && !model.in_hand.is_empty() {
            let delivery = model.in_hand.swap_remove(dice.usize(..model.in_hand.len()));
            model.recording.push((delivery.shard(), waits));
            gathered.settle(delivery, settlement, now);
        } else if let Some(shard) = SHARDS.into_iter().find(has_waiting) {
            model.ending[shard.0 as usize] += 1 - waits;
            let delivery = Delivery::due(of_shard(unkeyed(number), shard), 1);
            gathered.settle(delivery, settlement, now);
        }
    }
    gathered
}

/// What is pending follows what is taken, recorded, counted, lost and taken over, whatever comes when.
#[test]
fn what_is_pending_is_what_was_taken_and_has_not_ended() {
    for seed in 0..200 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        let known = endpoints(now);
        let (mut account, mut model) = (Account::new(now), Model::default());
        let mut flush: Option<Gathered> = None;
        for number in 1..80 {
            let shard = SHARDS[dice.usize(..SHARDS.len())];
            let is_ours = model.ours.contains(&shard);
            match dice.u8(..12) {
                0..5 if is_ours => {
                    account.take_in_hand(shard, TARGET, Timestamp(number));
                    model.in_hand.push(read_one(of_shard(unkeyed(number), shard)));
                }
                5..7 if flush.is_none() => {
                    let gathered = settle_some(&mut model, number, now, &mut dice);
                    account.begin_flush(&gathered);
                    flush = Some(gathered);
                }
                // What was begun for a shard may be over when that is lost.
                7..9 => {
                    let Some(gathered) = flush.take() else { continue };
                    account.end_flush();
                    account.note_recorded(&gathered, &gathered.changes());
                    model.record();
                }
                9 if is_ours && flush.is_none() => {
                    // Others have sent something there, or ended it.
                    let count = dice.i64(0..9);
                    model.waiting[shard.0 as usize] = count;
                    let waiting =
                        WaitingCount { shard, target: TARGET, count, oldest: Timestamp(0) };
                    let counting = account.begin_count(vec![shard], None, now);
                    assert!(account.take_count(&counting, &[waiting], &known, now));
                }
                10 if is_ours => {
                    account.close(&[shard]);
                    model.lose(shard);
                }
                // It comes back when all that was begun for it is over.
                11 if !is_ours && flush.is_none() => {
                    account.open(shard, 7);
                    model.ours.push(shard);
                }
                _ => {}
            }
            let expected = SHARDS.map(|shard| model.pending_of(shard));
            let case = format!("seed {seed}, step {number}");
            assert_eq!(SHARDS.map(|shard| account.pending_of(shard)), expected, "{case}");
            assert_eq!(account.pending(), expected.iter().sum::<i64>(), "{case}");
            // People see the same.
            let (figures, _) = account.figures(&known, std::iter::empty());
            assert_eq!(figures.iter().map(|at| at.count).sum::<i64>(), account.pending(), "{case}");
        }
    }
}

#[test]
fn what_a_former_owner_has_said_is_kept_as_long_as_the_shard_is_ours() {
    let mut account = Account::new(Instant::now());
    assert_eq!(account.inherited_of(SHARDS[0]), 0);
    account.open(SHARDS[0], 42);
    account.take_in_hand(SHARDS[0], TARGET, Timestamp(0));
    assert_eq!((account.inherited_of(SHARDS[0]), account.pending_of(SHARDS[0])), (42, 1));
    account.close(&SHARDS[..1]);
    assert_eq!((account.inherited_of(SHARDS[0]), account.pending()), (0, 0));
}

/// A flush of one that waits from now on.
fn deferring(now: Instant) -> Gathered {
    let mut gathered = Gathered::default();
    let retry = Settlement::Retry { wait: Duration::ZERO, error: String::new() };
    gathered.settle(read_one(unkeyed(1)), retry, now);
    gathered
}

/// What was recorded meanwhile may be in the count or not: it would be counted twice, or never.
#[test]
fn a_count_is_believed_when_nothing_was_recorded_meanwhile() {
    let record = |account: &mut Account, gathered: &Gathered| {
        account.end_flush();
        account.note_recorded(gathered, &gathered.changes());
    };
    let began = Instant::now();
    let soon = began + COUNT_PAUSE;
    let known = endpoints(began);
    let counts =
        [WaitingCount { shard: SHARDS[0], target: TARGET, count: 9, oldest: Timestamp(0) }];
    // When the flush begins and when it ends: before the count begins, during it, or behind it.
    for (begins, ends, is_believed) in
        [(0, 0, true), (0, 1, false), (0, 2, false), (1, 1, false), (1, 2, false), (2, 2, true)]
    {
        let mut account = Account::new(began);
        account.open(SHARDS[0], 0);
        let gathered = deferring(began);
        let do_at = |account: &mut Account, at: u8| {
            if begins == at {
                account.begin_flush(&gathered);
            }
            if ends == at {
                record(account, &gathered);
            }
        };
        do_at(&mut account, 0);
        let counting = account.begin_count(vec![SHARDS[0]], None, began);
        do_at(&mut account, 1);
        let case = format!("{begins} {ends}");
        assert_eq!(account.take_count(&counting, &counts, &known, soon), is_believed, "{case}");
        let next_at =
            if is_believed { began + COUNT_INTERVAL } else { soon + COUNT_PAUSE * COUNT_PART };
        assert_eq!(account.count_at(), Some(next_at.min(began + COUNT_INTERVAL)), "{case}");
    }
}

#[test]
fn a_count_that_was_disturbed_is_believed_when_no_better_one_was_to_be_had_for_long() {
    let began = Instant::now();
    let known = endpoints(began);
    let counts =
        [WaitingCount { shard: SHARDS[0], target: TARGET, count: 9, oldest: Timestamp(0) }];
    let mut account = Account::new(began);
    let disturbed = |account: &mut Account, now: Instant| {
        let counting = account.begin_count(vec![SHARDS[0]], None, now);
        account.begin_flush(&deferring(now));
        account.end_flush();
        account.take_count(&counting, &counts, &known, now)
    };
    let late = began + COUNT_INTERVAL;
    assert!(!disturbed(&mut account, late - COUNT_PAUSE));
    assert!(disturbed(&mut account, late));
    assert_eq!(account.pending_of(SHARDS[0]), 9);
    assert!(!disturbed(&mut account, late + COUNT_PAUSE), "that one is not old");
}

#[test]
fn a_count_comes_now_and_then_and_soon_when_somebody_says_that_something_has_changed() {
    let began = Instant::now();
    let mut account = Account::new(began);
    let due = began + COUNT_INTERVAL;
    assert_eq!(account.count_at(), Some(due));
    assert!(!account.take_turn(due - Duration::from_millis(1)) && account.take_turn(due));
    assert_eq!(account.count_at(), Some(due + COUNT_INTERVAL));
    account.count_soon(due);
    assert_eq!(account.count_at(), Some(due + DEFERRED_COUNT_DELAY));
    account.begin_count(vec![SHARDS[0]], None, due);
    assert_eq!(account.count_at(), None, "one at a time");
    account.abandon_count(due);
    assert_eq!(account.count_at(), Some(due + DEFERRED_COUNT_DELAY), "it is tried again");
    assert!(account.take_turn(due + DEFERRED_COUNT_DELAY));
    account.begin_count(vec![SHARDS[0]], None, due);
    account.abandon_count(due);
    assert_eq!(account.count_at(), Some(due + COUNT_PAUSE));
}

/// It is looked for at those endpoints alone, which says nothing of what senders go by.
#[test]
fn the_oldest_is_looked_for_where_it_has_gone_and_one_count_is_under_way_at_a_time() {
    let now = Instant::now();
    let known = endpoints(now);
    let mut account = Account::new(now);
    account.open(SHARDS[0], 0);
    let waiting = |count, oldest| WaitingCount { shard: SHARDS[0], target: TARGET, count, oldest };
    account.note_counts(&SHARDS[..1], &[waiting(2, Timestamp(0))], &known);
    assert!(account.doubtful(&known).is_empty());
    let mut gathered = Gathered::default();
    gathered.settle(Delivery::due(unkeyed(1), 1), Settlement::Delivered, now);
    account.begin_flush(&gathered);
    account.end_flush();
    account.note_recorded(&gathered, &gathered.changes());
    assert_eq!(account.doubtful(&known), [ENDPOINT]);
    let counting = account.begin_count(vec![SHARDS[0]], Some(vec![ENDPOINT]), now);
    assert!(account.doubtful(&known).is_empty(), "a count is under way");
    assert!(!account.take_count(&counting, &[waiting(1, Timestamp(5))], &known, now));
    assert!(account.doubtful(&known).is_empty(), "it has been found");
    let (figures, _) = account.figures(&known, std::iter::empty());
    assert_eq!(figures.iter().map(|at| at.oldest).collect::<Vec<_>>(), [Timestamp(5)]);
    assert_eq!(account.pending_of(SHARDS[0]), 1);
}
