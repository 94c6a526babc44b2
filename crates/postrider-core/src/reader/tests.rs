//! The reader against a model of transactions: random begins, inserts, savepoints, commits, aborts,
//! ticks, pages, full endpoints and crashes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::id::Shard;

#[derive(Debug, Clone, PartialEq)]
struct ModelRow {
    id: MessageId,
    xid: Xid,
    /// What the system column `xmin` would say: a subtransaction's id inside a savepoint.
    system_xmin: Xid,
    targets: [Target; 1],
    expires: bool,
    /// How many transactions had committed when the id was taken.
    commits_before_id: usize,
}

impl Row for ModelRow {
    fn id(&self) -> MessageId {
        self.id
    }
    fn xid(&self) -> Xid {
        self.xid
    }
    fn targets(&self) -> &[Target] {
        &self.targets
    }
    fn expires(&self) -> bool {
        self.expires
    }
}

impl Aged for ModelRow {
    /// Ids are taken in order of time.
    fn created_at(&self) -> i64 {
        self.id.0
    }
}

#[derive(Debug, Default)]
struct Transaction {
    xid: Option<Xid>,
    /// Open savepoints: where their rows begin, and their subtransaction id.
    savepoints: Vec<(usize, Xid)>,
    rows: Vec<ModelRow>,
}

/// A database: transactions, and what of them is committed.
struct Database {
    next_xid: Xid,
    latest_completed: Xid,
    next_sequence: i64,
    running: Vec<Transaction>,
    /// Committed rows with the number of the commit.
    committed: Vec<(ModelRow, usize)>,
    commit_count: usize,
}

impl Database {
    fn new() -> Database {
        Database {
            next_xid: 10,
            latest_completed: 9,
            next_sequence: 1,
            running: Vec::new(),
            committed: Vec::new(),
            commit_count: 0,
        }
    }

    fn assign_xid(&mut self, index: usize) -> Xid {
        if self.running[index].xid.is_none() {
            self.running[index].xid = Some(self.next_xid);
            self.next_xid += 1;
        }
        self.running[index].xid.unwrap()
    }

    fn insert(&mut self, index: usize, target: i32, expires: bool) {
        let xid = self.assign_xid(index);
        let id = MessageId(self.next_sequence << 10);
        self.next_sequence += 1;
        let transaction = &mut self.running[index];
        let system_xmin = transaction.savepoints.last().map_or(xid, |(_, subxid)| *subxid);
        transaction.rows.push(ModelRow {
            id,
            xid,
            system_xmin,
            targets: [Target(target)],
            expires,
            commits_before_id: self.commit_count,
        });
    }

    fn savepoint(&mut self, index: usize) {
        self.assign_xid(index);
        let subxid = self.next_xid;
        self.next_xid += 1;
        let transaction = &mut self.running[index];
        transaction.savepoints.push((transaction.rows.len(), subxid));
    }

    fn end_savepoint(&mut self, index: usize, is_released: bool) {
        let transaction = &mut self.running[index];
        if let Some((begin, _)) = transaction.savepoints.pop()
            && !is_released
        {
            transaction.rows.truncate(begin);
        }
    }

    fn end(&mut self, index: usize, is_committed: bool) {
        let transaction = self.running.swap_remove(index);
        if let Some(xid) = transaction.xid {
            // Subtransactions complete with their parent.
            self.latest_completed = self.latest_completed.max(xid);
        }
        if is_committed {
            self.commit_count += 1;
            let number = self.commit_count;
            self.committed.extend(transaction.rows.into_iter().map(|row| (row, number)));
        }
    }

    fn snapshot(&self) -> Snapshot {
        let xmax = self.latest_completed + 1;
        let running: Vec<Xid> =
            self.running.iter().filter_map(|t| t.xid).filter(|xid| *xid < xmax).collect();
        let xmin = running.iter().copied().min().unwrap_or(xmax);
        Snapshot::new(xmin, xmax, running).unwrap()
    }

    fn visible(&self) -> impl Iterator<Item = &ModelRow> {
        self.committed.iter().map(|(row, _)| row)
    }

    /// What `sql/queries/dispatch/tick.sql` returns.
    fn tick_rows(&self, base: &Snapshot) -> Vec<ModelRow> {
        let is_new =
            |row: &&ModelRow| row.xid >= base.xmax() || base.in_progress().contains(&row.xid);
        self.visible().filter(is_new).cloned().collect()
    }

    /// What `sql/queries/dispatch/page.sql` returns.
    fn page_rows(&self, page: &Page) -> Vec<ModelRow> {
        let only = page.which == Which::Lag;
        let mut rows: Vec<ModelRow> = self
            .visible()
            .filter(|row| (page.after + 1..=page.upto).contains(&row.id.0))
            .filter(|row| page.top.sees(row.xid) && !page.base.sees(row.xid))
            .filter(|row| is_left_by(page, row) == only)
            .cloned()
            .collect();
        rows.sort_by_key(|row| row.id);
        rows.truncate(page.limit);
        rows
    }

    /// What a page of the tail leaves to the lag.
    fn left_by(&self, page: &Page, reached: i64) -> Vec<(Target, Left)> {
        let left = self
            .visible()
            .filter(|row| (page.after + 1..=reached).contains(&row.id.0))
            .filter(|row| page.top.sees(row.xid) && !page.base.sees(row.xid))
            .filter(|row| is_left_by(page, row));
        by_target(left).into_iter().collect()
    }

    /// What the tail has passed and nobody has taken.
    fn left_behind(&self, state: &LaneState) -> BTreeMap<Target, Left> {
        let is_left =
            |row: &&ModelRow| state.tail.is_behind(row.xid, row.id) && !state.is_taken(*row);
        by_target(self.visible().filter(is_left))
    }
}

/// Whether the tail leaves a row of the page to the lag.
fn is_left_by(page: &Page, row: &ModelRow) -> bool {
    page.targets.contains(&row.targets[0]) && !(page.spares_expiring && row.expires)
}

fn by_target<'a>(rows: impl Iterator<Item = &'a ModelRow>) -> BTreeMap<Target, Left> {
    let mut left = BTreeMap::new();
    for row in rows {
        let of = left.entry(row.targets[0]).or_insert(Left { count: 0, oldest: i64::MAX });
        of.count += 1;
        of.oldest = of.oldest.min(row.created_at());
    }
    left
}

fn counts(left: impl Iterator<Item = (Target, Left)>) -> BTreeMap<Target, u64> {
    left.map(|(target, left)| (target, left.count)).collect()
}

/// The reader's owner: takes rows, records them as done some time later, crashes.
struct Owner {
    reader: LaneReader,
    /// Deliveries in the order in which they were taken.
    taken: Vec<ModelRow>,
    /// (segment, row) of what is not yet on record.
    open: Vec<(u64, MessageId)>,
    done: BTreeSet<MessageId>,
    /// Taken, not on record, and forgotten by the checkpoint: none, or the reader is wrong.
    lost: Vec<MessageId>,
    /// Targets whose endpoint has no room now.
    full: BTreeSet<Target>,
    /// So many rows of a target find room whenever rows are taken.
    room: usize,
    /// Of a version that left to the lag what expires, too.
    is_old: bool,
}

impl Owner {
    fn new(is_old: bool) -> Owner {
        Owner {
            reader: LaneReader::new(Lane::new(Shard(0), 0), LaneState::new()),
            taken: Vec::new(),
            open: Vec::new(),
            done: BTreeSet::new(),
            lost: Vec::new(),
            full: BTreeSet::new(),
            room: usize::MAX,
            is_old,
        }
    }

    fn tick(&mut self, database: &Database, limit: usize, is_merging: bool) {
        let Some(base) = self.reader.tick_base(is_merging).cloned() else { return };
        let top = database.snapshot();
        let rows = database.tick_rows(&base);
        if rows.len() > limit {
            // As the engine does: the walk begins below every id that the window can hold.
            let after = rows.iter().map(|row| row.id.0).min().unwrap_or(0) - 1;
            let end = database.next_sequence << 10;
            match self.reader.lag_gap().filter(|_| is_merging) {
                Some((_, top)) => self.reader.open_window(Which::Lag, top, after, end),
                None => self.reader.open_window(Which::Tail, top, after, end),
            }
            return;
        }
        if let Some(taken) = self.reader.take_tick(is_merging, &top, rows) {
            self.distribute(taken, true);
        }
    }

    fn page(&mut self, database: &Database, which: Which, limit: usize) {
        let Some(page) = self.reader.next_page(which, limit, &Gaps::default()) else { return };
        let rows = database.page_rows(&page);
        let left = match which {
            Which::Tail => database.left_by(&page, page.reached(&rows)),
            Which::Lag => Vec::new(),
        };
        let taken = self.reader.take_page(&page, rows, &left);
        self.distribute(taken, which == Which::Tail);
        let left_behind = database.left_behind(&self.reader.state());
        assert_eq!(counts(self.reader.remaining()), counts(left_behind.into_iter()));
    }

    fn distribute(&mut self, taken: Taken<ModelRow>, may_skip: bool) {
        let mut skipped = BTreeSet::new();
        let mut counts: BTreeMap<Target, usize> = BTreeMap::new();
        for row in taken.rows {
            let target = row.targets[0];
            let is_full = self.full.contains(&target)
                || counts.get(&target).is_some_and(|count| *count >= self.room);
            let is_spared = row.expires && self.reader.spares_expiring() && !self.is_old;
            let is_left = !is_spared && skipped.contains(&target)
                || may_skip
                    && !is_spared
                    && is_full
                    && self.reader.skip(target, &taken.base, &taken.top, row.id, row.created_at());
            if let Some(lag) = self.reader.lag.as_mut().filter(|_| self.is_old) {
                lag.spares_expiring = false;
            }
            if is_left {
                if !skipped.insert(target) {
                    self.reader.count_left(target, row.id, row.created_at());
                }
                self.reader.finish(taken.segment, 1);
            } else {
                *counts.entry(target).or_default() += 1;
                self.open.push((taken.segment, row.id));
                self.taken.push(row);
            }
        }
    }

    /// The target's endpoint has no room any more, or has some again.
    fn toggle(&mut self, target: Target) {
        if !self.full.remove(&target) {
            self.full.insert(target);
        }
    }

    fn record(&mut self, index: usize) {
        let (segment, id) = self.open.swap_remove(index);
        self.done.insert(id);
        self.reader.finish(segment, 1);
    }

    /// Whatever is taken and not on record, a checkpoint of this moment must not forget.
    fn check_checkpoint(&mut self, database: &Database) {
        let state = self.reader.state();
        for (_, id) in &self.open {
            let row = database.visible().find(|row| row.id == *id).expect("taken, so committed");
            if !state.is_taken(row) || state.is_finished(row) || !state.may_wait(row) {
                self.lost.push(*id);
            }
        }
        // Nor must who looks from outside pass over what is left in the log.
        let last = state.lag.as_ref().and_then(|lag| lag.last);
        for row in database.visible().filter(|row| !state.is_taken(*row)) {
            let is_left = state.tail.is_behind(row.xid, row.id);
            if !state.may_wait(row) || is_left && last.is_some_and(|last| row.id.0 > last) {
                self.lost.push(row.id);
            }
        }
    }

    /// Another owner goes on from the checkpoint, which was written after the last row was taken.
    fn crash(&mut self, database: &Database) {
        let mut text = serde_json::to_value(self.reader.state()).unwrap();
        if self.is_old
            && let Some(lag) = text.get_mut("lag").and_then(|lag| lag.as_object_mut())
        {
            // It knows nothing of that.
            lag.remove("spares_expiring");
        }
        let state: LaneState = serde_json::from_value(text).unwrap();
        for row in database.visible() {
            if state.is_taken(row) && !state.is_finished(row) && !self.done.contains(&row.id) {
                self.done.insert(row.id);
            }
        }
        let forgotten = self.open.drain(..).map(|(_, id)| id).filter(|id| !self.done.contains(id));
        self.lost.extend(forgotten);
        self.reader = LaneReader::new(self.reader.lane(), state);
        self.is_old = false;
    }
}

fn run(operations: &[(u8, u8, u8)]) -> Result<(), TestCaseError> {
    let mut database = Database::new();
    // Every other history begins with an owner of an older version.
    let is_old = operations.first().is_some_and(|(_, _, b)| b % 2 == 0);
    let mut owner = Owner::new(is_old);
    for (operation, a, b) in operations {
        let index = usize::from(*a) % database.running.len().max(1);
        let has_transaction = index < database.running.len();
        match operation % 16 {
            0 if database.running.len() < 6 => database.running.push(Transaction::default()),
            2..=5 if has_transaction => {
                for _ in 0..=b % 4 {
                    database.insert(index, i32::from(b % 3), b % 5 == 0);
                }
            }
            6 if has_transaction => database.savepoint(index),
            7 if has_transaction => database.end_savepoint(index, b % 2 == 0),
            8 | 9 if has_transaction => database.end(index, b % 4 != 0),
            10 | 11 => owner.tick(&database, 1 + usize::from(b % 8), a % 2 == 0),
            12 => owner.page(&database, Which::Tail, 1 + usize::from(b % 4)),
            13 => owner.page(&database, Which::Lag, 1 + usize::from(b % 4)),
            14 if b % 4 == 0 => owner.crash(&database),
            1 | 14 => {
                owner.toggle(Target(i32::from(a % 3)));
                owner.room = [1, 2, usize::MAX][usize::from(b % 3)];
            }
            _ if !owner.open.is_empty() => owner.record(usize::from(*b) % owner.open.len()),
            _ => {}
        }
        owner.check_checkpoint(&database);
    }
    owner.full.clear();
    owner.room = usize::MAX;
    while !database.running.is_empty() {
        database.end(0, true);
    }
    for _ in 0..2000 {
        owner.tick(&database, 5, true);
        owner.page(&database, Which::Tail, 3);
        owner.page(&database, Which::Lag, 3);
    }
    judge(&database, &owner)
}

fn judge(database: &Database, owner: &Owner) -> Result<(), TestCaseError> {
    prop_assert!(!owner.reader.has_lag(), "the lag never met the tail: {:?}", owner.reader);
    prop_assert!(owner.lost.is_empty(), "a crash forgot {:?}", owner.lost);
    let mut times_taken: BTreeMap<MessageId, usize> = BTreeMap::new();
    for row in &owner.taken {
        *times_taken.entry(row.id).or_default() += 1;
    }
    let committed: BTreeMap<MessageId, &(ModelRow, usize)> =
        database.committed.iter().map(|entry| (entry.0.id, entry)).collect();
    for id in committed.keys() {
        prop_assert_eq!(times_taken.get(id), Some(&1), "{:?} taken", id);
    }
    for id in times_taken.keys() {
        prop_assert!(committed.contains_key(id), "{:?} was rolled back", id);
    }
    // Per target: what was committed before another message took its id comes first.
    for (index, later) in owner.taken.iter().enumerate() {
        for earlier in &owner.taken[index + 1..] {
            let commit = committed[&earlier.id].1;
            // What expires passes what is left in the log.
            let is_same = earlier.targets == later.targets && earlier.expires == later.expires;
            let is_inverted = is_same && commit <= later.commits_before_id;
            prop_assert!(!is_inverted, "{:?} came after {:?}", earlier, later);
            let is_same_transaction = is_same && earlier.xid == later.xid;
            prop_assert!(!is_same_transaction || earlier.id > later.id, "order in a transaction");
        }
    }
    Ok(())
}

/// The tempting readers that lose messages.
#[derive(Debug, Clone, Copy)]
enum Broken {
    BoundedById,
    BySystemXmin,
}

fn run_broken(broken: Broken, operations: &[(u8, u8, u8)]) -> bool {
    let mut database = Database::new();
    let (mut last, mut highest) = (Snapshot::before_everything(), 0);
    let mut taken = BTreeSet::new();
    let mut tick = |database: &Database| {
        let top = database.snapshot();
        let rows: Vec<&ModelRow> = database
            .visible()
            .filter(|row| match broken {
                Broken::BoundedById => row.id.0 > highest,
                Broken::BySystemXmin => {
                    top.sees(row.system_xmin)
                        && (row.system_xmin >= last.xmax()
                            || last.in_progress().contains(&row.system_xmin))
                }
            })
            .collect();
        taken.extend(rows.iter().map(|row| row.id));
        highest = rows.iter().map(|row| row.id.0).max().unwrap_or(0).max(highest);
        last = top;
    };
    for (operation, a, b) in operations {
        let index = usize::from(*a) % database.running.len().max(1);
        let has_transaction = index < database.running.len();
        match operation % 8 {
            0 if database.running.len() < 6 => database.running.push(Transaction::default()),
            1 | 2 if has_transaction => database.insert(index, 0, false),
            3 if has_transaction => database.savepoint(index),
            4 if has_transaction => database.end_savepoint(index, true),
            5 if has_transaction => database.end(index, b % 4 != 0),
            _ => tick(&database),
        }
    }
    while !database.running.is_empty() {
        database.end(0, true);
    }
    tick(&database);
    database.visible().all(|row| taken.contains(&row.id))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_committed_message_is_taken_once_and_in_order(
        operations in proptest::collection::vec(any::<(u8, u8, u8)>(), 0..120),
    ) {
        run(&operations)?;
    }
}

#[test]
fn a_reader_bounded_by_id_or_by_system_xmin_loses_messages() {
    for broken in [Broken::BoundedById, Broken::BySystemXmin] {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let operations = proptest::collection::vec(any::<(u8, u8, u8)>(), 0..120);
        let verdict = runner.run(&operations, |operations| {
            prop_assert!(run_broken(broken, &operations), "{broken:?} lost a message");
            Ok(())
        });
        assert!(verdict.is_err(), "{broken:?} should have been caught");
    }
}

#[test]
fn a_flooded_target_is_left_to_the_lag_and_others_go_on() {
    let mut database = Database::new();
    let mut owner = Owner::new(false);
    database.running.push(Transaction::default());
    for index in 0..20 {
        database.insert(0, i32::from(index == 19), false);
    }
    database.end(0, true);
    owner.full.insert(Target(0));
    owner.tick(&database, 5, true);
    while owner.reader.is_walking(Which::Tail) {
        owner.page(&database, Which::Tail, 4);
    }
    assert_eq!(owner.taken.len(), 1, "only the other target's message");
    assert_eq!(owner.reader.skipped().collect::<Vec<_>>(), [Target(0)]);
    let left = database.left_behind(&owner.reader.state());
    assert_eq!(left[&Target(0)].count, 19);
    assert_eq!(owner.reader.remaining().collect::<BTreeMap<_, _>>(), left);

    owner.full.clear();
    while owner.reader.is_walking(Which::Lag) {
        owner.page(&database, Which::Lag, 4);
    }
    owner.tick(&database, 50, true);
    assert_eq!(owner.taken.len(), 20);
    assert!(!owner.reader.has_lag());
}

#[test]
fn a_checkpoint_remembers_what_a_merging_tick_took_from_behind_the_tail() {
    let mut database = Database::new();
    let mut owner = Owner::new(false);
    let commit = |database: &mut Database, target| {
        database.running.push(Transaction::default());
        database.insert(0, target, false);
        database.end(0, true);
    };
    owner.full.insert(Target(0));
    commit(&mut database, 0);
    owner.tick(&database, 50, false);
    commit(&mut database, 1);
    owner.tick(&database, 50, false);
    owner.full.clear();
    owner.tick(&database, 50, true);
    assert_eq!(owner.taken.len(), 2);
    owner.check_checkpoint(&database);
    assert_eq!(owner.lost, []);
}

#[test]
fn what_comes_late_behind_what_was_taken_is_not_left_again() {
    let mut database = Database::new();
    let mut owner = Owner::new(false);
    // The first one takes its id early and commits late.
    database.running.push(Transaction::default());
    database.insert(0, 0, false);
    database.running.push(Transaction::default());
    database.insert(1, 0, false);
    database.insert(1, 0, false);
    database.end(1, true);
    owner.room = 1;
    owner.tick(&database, 50, false);
    assert_eq!(owner.taken.len(), 1);
    database.end(0, true);
    owner.room = 0;
    owner.full.insert(Target(0));
    owner.tick(&database, 50, true);
    owner.full.clear();
    owner.room = usize::MAX;
    owner.tick(&database, 50, true);
    judge(&database, &owner).unwrap();
}

#[test]
fn a_checkpoint_without_what_remains_is_read() {
    let text = r#"{"tail": {"base": "9:9:"}, "done": [],
        "lag": {"position": {"base": "5:5:"}, "skipped": {"3": {"base": "6:6:"}}, "left": 7}}"#;
    let state: LaneState = serde_json::from_str(text).unwrap();
    let lag = state.lag.unwrap();
    assert_eq!(lag.skipped.len(), 1);
    assert_eq!(lag.remaining, BTreeMap::new());
}

/// What has ended behind a delivery that hangs costs a checkpoint nothing.
#[test]
fn what_has_ended_behind_one_that_hangs_is_not_looked_at() {
    const TICKS: u64 = 100_000;
    let mut reader = LaneReader::new(Lane(0), LaneState::new());
    for tick in 0..TICKS {
        let top: Snapshot = format!("{0}:{0}:", tick + 10).parse().unwrap();
        let row = |place: u64| ModelRow {
            id: MessageId(((tick * 10 + place + 1) << 10) as i64),
            xid: tick + 9,
            system_xmin: 0,
            targets: [Target(1)],
            expires: false,
            commits_before_id: 0,
        };
        let taken = reader.take_tick(false, &top, (0..10).map(row).collect()).unwrap();
        assert_eq!(taken.rows.len(), 10);
        // One of the first ten hangs, and every thousandth tick has another one.
        let hanging = usize::from(tick % (TICKS / 10) == 0);
        reader.finish(taken.segment, 10 - hanging);
    }
    let began = std::time::Instant::now();
    let state = reader.state();
    println!("a checkpoint took {:?}", began.elapsed());
    assert_eq!(reader.segments.len(), 10);
    assert_eq!(state.done, [Position::start()]);
    let open = state.open.unwrap();
    assert!(open.len() <= OPEN_RANGES_LIMIT, "{open:?}");
    assert_eq!(open[0], (1 << 10, 10 << 10));
}

#[test]
fn ranges_leave_out_the_widest_gaps() {
    assert_eq!(few_ranges(Vec::new()), []);
    assert_eq!(few_ranges(vec![(7, 9), (1, 2), (2, 3)]), [(1, 3), (7, 9)]);
    // As wide as the others, and one that is narrower.
    let mut all: Vec<(i64, i64)> = (0..9).map(|place| (place * 10, place * 10 + 5)).collect();
    all.push((87, 88));
    let few = few_ranges(all.clone());
    assert_eq!(few.len(), OPEN_RANGES_LIMIT);
    assert!(
        all.iter().all(|(first, last)| few.iter().any(|few| few.0 <= *first && *last <= few.1))
    );
    assert_eq!(few.last().unwrap().1, 88);
}
