//! The order in which consumers read, against a model of transactions: random begins, ids taken early,
//! savepoints, messages, prepared transactions, commits, aborts, and ticks among them.
//!
//! The ticks are made and read as `sql/functions/consume/append_tick.sql` and `tick_messages.sql` do it, step by
//! step; `crates/postrider/tests/tick_model.rs` compares those with PostgreSQL's own answers. Ways that look
//! right and are not fail the same test.

use std::collections::{BTreeMap, BTreeSet};

use postrider_core::snapshot::{Snapshot, Xid};
use proptest::{prelude::*, test_runner::TestRunner};

/// A tick that finds more is not looked through.
const LOOK: usize = 6;
/// Fewer messages than one in so many ids are found by transaction.
const DENSITY: i64 = 2;
/// Of an id, what stands for the lane.
const LANE_BITS: u32 = 10;

#[derive(Debug, Clone, PartialEq)]
struct Message {
    id: i64,
    xid: Xid,
    /// How many transactions had committed when the id was taken.
    commits_before_id: usize,
}

#[derive(Debug, Default)]
struct Transaction {
    xid: Option<Xid>,
    /// The highest id of it and its savepoints.
    last_xid: Xid,
    /// Open savepoints: where their messages begin, and their subtransaction ids.
    savepoints: Vec<(usize, Xid)>,
    messages: Vec<Message>,
    /// Nothing but its end can come.
    is_prepared: bool,
}

/// A row of `postrider.tick`.
#[derive(Debug, Clone)]
struct Tick {
    snapshot: Snapshot,
    base_xmax: Xid,
    stragglers: Vec<Xid>,
    first_id: i64,
    last_id: i64,
    is_sparse: bool,
    xid: Xid,
    sequence_floor: i64,
}

/// Behind this message of this tick; ticks count from 1.
type Place = (usize, i64);

/// A database: transactions, what of them is committed, and ticks.
struct Database {
    next_xid: Xid,
    latest_completed: Xid,
    last_number: i64,
    running: Vec<Transaction>,
    /// With the number of the commit.
    committed: Vec<(Message, usize)>,
    commit_count: usize,
    ticks: Vec<Tick>,
    /// A tick that has its snapshot, and has not looked yet.
    begun: Option<Snapshot>,
}

impl Database {
    fn new() -> Database {
        Database {
            next_xid: 10,
            latest_completed: 9,
            last_number: 0,
            running: Vec::new(),
            committed: Vec::new(),
            commit_count: 0,
            ticks: Vec::new(),
            begun: None,
        }
    }

    fn new_xid(&mut self) -> Xid {
        self.next_xid += 1;
        self.next_xid - 1
    }

    fn take_xid(&mut self, index: usize) -> Xid {
        if let Some(xid) = self.running[index].xid {
            return xid;
        }
        let xid = self.new_xid();
        self.running[index].xid = Some(xid);
        self.running[index].last_xid = xid;
        xid
    }

    /// The transaction's id first, then the number, as all that write a message do.
    fn write(&mut self, index: usize, lane: u8) {
        let xid = self.take_xid(index);
        self.last_number += 1;
        let id = self.last_number << LANE_BITS | i64::from(lane);
        let commits_before_id = self.commit_count;
        self.running[index].messages.push(Message { id, xid, commits_before_id });
    }

    /// Numbers that nobody will see: of a transaction that is aborted.
    fn burn(&mut self, count: u8) {
        self.last_number += i64::from(count);
    }

    fn savepoint(&mut self, index: usize) {
        self.take_xid(index);
        let xid = self.new_xid();
        let transaction = &mut self.running[index];
        transaction.savepoints.push((transaction.messages.len(), xid));
        transaction.last_xid = xid;
    }

    /// One that is rolled back completes, while its transaction goes on.
    fn end_savepoint(&mut self, index: usize, is_released: bool) {
        let transaction = &mut self.running[index];
        if let Some((begin, xid)) = transaction.savepoints.pop()
            && !is_released
        {
            transaction.messages.truncate(begin);
            self.latest_completed = self.latest_completed.max(xid);
        }
    }

    fn end(&mut self, index: usize, is_committed: bool) {
        let transaction = self.running.swap_remove(index);
        self.latest_completed = self.latest_completed.max(transaction.last_xid);
        if is_committed {
            self.commit_count += 1;
            let number = self.commit_count;
            self.committed.extend(transaction.messages.into_iter().map(|row| (row, number)));
        }
    }

    /// `pg_current_snapshot`, as a transaction sees it that has no id, or that one.
    fn snapshot(&self, own: Option<Xid>) -> Snapshot {
        let xmax = self.latest_completed + 1;
        let is_listed = |xid: &Xid| *xid < xmax && Some(*xid) != own;
        let running: Vec<Xid> =
            self.running.iter().filter_map(|t| t.xid).filter(is_listed).collect();
        let xmin = running.iter().copied().min().unwrap_or(xmax);
        Snapshot::new(xmin, xmax, running).unwrap()
    }

    fn visible(&self) -> impl Iterator<Item = &Message> {
        self.committed.iter().map(|(message, _)| message)
    }

    /// The second half of `append_tick`: more may be visible by now than the snapshot sees.
    fn append_tick(&mut self, top: Snapshot, way: Way) {
        let base = self.ticks.last().map(|tick| tick.snapshot.clone());
        let base_xmax = base.as_ref().map_or(3, Snapshot::xmax);
        let stragglers: Vec<Xid> = base
            .iter()
            .flat_map(|base| base.in_progress())
            .copied()
            .filter(|xid| top.sees(*xid) && self.visible().any(|row| row.xid == *xid))
            .collect();
        let bound = match way {
            Way::BoundedById => self.ticks.last().map_or(0, |tick| tick.last_id),
            _ => 0,
        };
        let is_new = |row: &&Message| {
            (base_xmax..top.xmax()).contains(&row.xid) && top.sees(row.xid) && row.id > bound
        };
        let ids: Vec<i64> = self.visible().filter(is_new).map(|row| row.id).collect();
        let late: Vec<i64> =
            self.visible().filter(|row| stragglers.contains(&row.xid)).map(|row| row.id).collect();
        let count = ids.len() + late.len();
        if count == 0 {
            return;
        }
        let ceiling = self.last_number << LANE_BITS | 1023;
        let mut last_id = ids.iter().chain(&late).copied().max().unwrap_or(0);
        let mut first_id = ids.iter().copied().min().unwrap_or(last_id + 1);
        let mut is_sparse = !ids.is_empty()
            && (count as i64) * DENSITY < (last_id >> LANE_BITS) - (first_id >> LANE_BITS);
        if count > LOOK {
            let before = self.ticks.iter().rev().find(|tick| tick.xid < base_xmax);
            first_id = (before.map_or(0, |tick| tick.sequence_floor) + 1) << LANE_BITS;
            last_id = ceiling;
            is_sparse = false;
        }
        let sequence_floor = self.last_number;
        let xid = self.new_xid();
        self.latest_completed = self.latest_completed.max(xid);
        self.ticks.push(Tick {
            snapshot: top,
            base_xmax,
            stragglers,
            first_id,
            last_id,
            is_sparse,
            xid,
            sequence_floor,
        });
    }

    /// `tick_messages`: the next so many behind this place.
    fn page(&self, from: Place, limit: usize) -> Vec<(Place, &Message)> {
        let mut page = Vec::new();
        for number in from.0.max(1)..=self.ticks.len() {
            let after = if number == from.0 { from.1 } else { 0 };
            let found = self.messages_of(&self.ticks[number - 1], after);
            page.extend(found.into_iter().map(|row| ((number, row.id), row)));
        }
        page.truncate(limit);
        page
    }

    /// The three branches of `tick_messages`, one after the other.
    fn messages_of(&self, tick: &Tick, after: i64) -> Vec<&Message> {
        let sorted = |is_in: &dyn Fn(&Message) -> bool| {
            let mut found: Vec<&Message> =
                self.visible().filter(|row| row.id > after && is_in(row)).collect();
            found.sort_by_key(|row| row.id);
            found
        };
        let is_late = |row: &Message| tick.stragglers.contains(&row.xid);
        if tick.is_sparse {
            return sorted(&|row| {
                is_late(row)
                    || (tick.base_xmax..tick.snapshot.xmax()).contains(&row.xid)
                        && tick.snapshot.sees(row.xid)
            });
        }
        let mut found = sorted(&|row| is_late(row) && row.id < tick.first_id);
        found.extend(sorted(&|row| {
            (tick.first_id..=tick.last_id).contains(&row.id)
                && (row.xid >= tick.base_xmax || is_late(row))
                && tick.snapshot.sees(row.xid)
        }));
        found
    }
}

/// How ticks are made: the right way, and such as look right.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Right,
    /// What is new has higher ids than what was found before.
    BoundedById,
    /// In a transaction that has an id, and writes a message later.
    InsideATransaction,
}

/// Readers that follow while it all happens.
#[derive(Default)]
struct Readers {
    /// By tick and id.
    commit: Vec<(Place, Message)>,
    /// By transaction and id, below the oldest transaction.
    transaction: Vec<Message>,
    /// Behind the last position.
    behind_the_last: Vec<Message>,
}

impl Readers {
    fn read(&mut self, database: &Database, limit: usize) {
        let from = self.commit.last().map_or((0, 0), |(place, _)| *place);
        let page = database.page(from, limit);
        self.commit.extend(page.into_iter().map(|(place, row)| (place, row.clone())));

        let xmin = database.snapshot(None).xmin();
        let last = self.transaction.last().map_or((0, 0), |row| (row.xid, row.id));
        let mut next: Vec<&Message> =
            database.visible().filter(|row| row.xid < xmin && (row.xid, row.id) > last).collect();
        next.sort_by_key(|row| (row.xid, row.id));
        self.transaction.extend(next.into_iter().take(limit).cloned());

        let last = self.behind_the_last.last().map_or(0, |row| row.id);
        let mut next: Vec<&Message> = database.visible().filter(|row| row.id > last).collect();
        next.sort_by_key(|row| row.id);
        self.behind_the_last.extend(next.into_iter().take(limit).cloned());
    }
}

type Operations = [(u8, u8, u8)];

fn run(operations: &Operations, way: Way) -> (Database, Readers) {
    let (mut database, mut readers) = (Database::new(), Readers::default());
    for (operation, a, b) in operations {
        let index = usize::from(*a) % database.running.len().max(1);
        let is_open = database.running.get(index).is_some_and(|t| !t.is_prepared);
        match operation % 16 {
            0 | 1 if database.running.len() < 7 => database.running.push(Transaction::default()),
            2 if is_open => _ = database.take_xid(index),
            3..=5 if is_open => {
                for _ in 0..=b % 4 {
                    database.write(index, a % 8);
                }
            }
            6 if is_open => database.savepoint(index),
            7 if is_open => database.end_savepoint(index, b % 2 == 0),
            8 if is_open => database.running[index].is_prepared = true,
            9 | 10 if index < database.running.len() => database.end(index, b % 4 != 0),
            11 => database.burn(b % 64),
            12 | 13 => {
                let own = match way {
                    Way::InsideATransaction if is_open => Some(database.take_xid(index)),
                    _ => None,
                };
                let top = database.snapshot(own);
                if b % 2 == 0 {
                    database.append_tick(top, way);
                } else {
                    database.begun = Some(top);
                }
            }
            // A lock keeps others from making a tick meanwhile; here they may, and then this one is none.
            14 => {
                if let Some(top) = database.begun.take()
                    && database.ticks.last().is_none_or(|last| last.xid < top.xmax())
                {
                    database.append_tick(top, way);
                }
            }
            _ => readers.read(&database, 1 + usize::from(b % 5)),
        }
    }
    while !database.running.is_empty() {
        database.end(0, true);
    }
    let top = database.snapshot(None);
    database.append_tick(top, way);
    for _ in 0..=database.committed.len() {
        readers.read(&database, 7);
    }
    (database, readers)
}

/// What consumers with ordering `commit` are promised.
fn judge(database: &Database, read: &[(Place, Message)]) -> Result<(), TestCaseError> {
    let commits: BTreeMap<i64, usize> =
        database.committed.iter().map(|(row, number)| (row.id, *number)).collect();
    let ids: BTreeSet<i64> = read.iter().map(|(_, row)| row.id).collect();
    prop_assert_eq!(ids.len(), read.len(), "a message in two ticks");
    prop_assert_eq!(&ids, &commits.keys().copied().collect(), "lost, or invented");
    for pair in read.windows(2) {
        prop_assert!(pair[0].0 < pair[1].0, "{:?}", pair);
    }
    let mut ticks: BTreeMap<Xid, usize> = BTreeMap::new();
    for (index, ((tick, _), row)) in read.iter().enumerate() {
        // Messages of one transaction stay together; by id, as they were written.
        prop_assert_eq!(*ticks.entry(row.xid).or_insert(*tick), *tick, "{:?}", row);
        // A later tick holds nothing that was visible earlier.
        let earlier = tick.checked_sub(2).map(|before| &database.ticks[before].snapshot);
        prop_assert!(earlier.is_none_or(|snapshot| !snapshot.sees(row.xid)), "{:?}", row);
        // What was committed before another message took its id comes first.
        for (_, later) in &read[index + 1..] {
            prop_assert!(commits[&later.id] > row.commits_before_id, "{row:?} before {later:?}");
        }
    }
    Ok(())
}

fn check(operations: &Operations, sizes: &[usize]) -> Result<(), TestCaseError> {
    let (database, readers) = run(operations, Way::Right);
    judge(&database, &readers.commit)?;

    // Whoever comes late, with pages of any size, sees the same.
    let mut again: Vec<(Place, Message)> = Vec::new();
    for size in sizes.iter().copied().cycle().take(database.committed.len() + 1) {
        let from = again.last().map_or((0, 0), |(place, _)| *place);
        let page = database.page(from, size);
        again.extend(page.into_iter().map(|(place, row)| (place, row.clone())));
    }
    prop_assert_eq!(&again, &readers.commit);

    let by_transaction: Vec<(Xid, i64)> =
        readers.transaction.iter().map(|row| (row.xid, row.id)).collect();
    let mut all: Vec<(Xid, i64)> = database.visible().map(|row| (row.xid, row.id)).collect();
    all.sort_unstable();
    prop_assert_eq!(by_transaction, all);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn every_committed_message_is_in_one_tick_and_in_one_order(
        operations in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..150),
        sizes in proptest::collection::vec(1_usize..9, 1..5),
    ) {
        check(&operations, &sizes)?;
    }
}

/// The same histories show that this property does not hold.
#[track_caller]
fn is_refuted(what: &str, holds: impl Fn(&Operations) -> Result<(), TestCaseError>) {
    let operations = proptest::collection::vec(any::<(u8, u8, u8)>(), 0..150);
    let verdict = TestRunner::deterministic().run(&operations, |operations| holds(&operations));
    assert!(verdict.is_err(), "{what} should have been caught");
}

#[test]
fn ticks_that_are_made_in_ways_that_look_right_lose_messages() {
    for way in [Way::BoundedById, Way::InsideATransaction] {
        is_refuted(&format!("{way:?}"), |operations| {
            let (database, readers) = run(operations, way);
            judge(&database, &readers.commit)
        });
    }
}

#[test]
fn a_reader_behind_the_last_position_loses_messages() {
    is_refuted("position > last", |operations| {
        let (database, readers) = run(operations, Way::Right);
        prop_assert_eq!(readers.behind_the_last.len(), database.committed.len());
        Ok(())
    });
}

#[test]
fn the_order_of_transactions_is_not_that_of_commits() {
    is_refuted("order by transaction", |operations| {
        let (database, readers) = run(operations, Way::Right);
        let read: Vec<(Place, Message)> = readers
            .transaction
            .iter()
            .enumerate()
            .map(|(place, row)| ((1, place as i64), row.clone()))
            .collect();
        let commits: BTreeMap<i64, usize> =
            database.committed.iter().map(|(row, number)| (row.id, *number)).collect();
        for (index, (_, row)) in read.iter().enumerate() {
            for (_, later) in &read[index + 1..] {
                prop_assert!(commits[&later.id] > row.commits_before_id);
            }
        }
        Ok(())
    });
}

#[test]
fn the_histories_have_ticks_of_every_kind() {
    let counts = std::cell::RefCell::new([0; 4]);
    let operations = proptest::collection::vec(any::<(u8, u8, u8)>(), 0..150);
    let verdict = TestRunner::deterministic().run(&operations, |operations| {
        let (database, _) = run(&operations, Way::Right);
        for tick in &database.ticks {
            let holds = database.messages_of(tick, 0).len();
            let has_late = !tick.stragglers.is_empty();
            let mut counts = counts.borrow_mut();
            counts[0] += usize::from(tick.is_sparse);
            counts[1] += usize::from(holds > LOOK);
            counts[2] += usize::from(holds > LOOK && has_late);
            counts[3] += usize::from(!tick.is_sparse && has_late);
        }
        Ok(())
    });
    assert!(verdict.is_ok());
    assert!(counts.borrow().iter().all(|count| *count > 20), "{counts:?}");
}
