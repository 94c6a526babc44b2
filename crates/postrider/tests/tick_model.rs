//! Ticks as PostgreSQL makes them, against what its snapshots say: of random transactions every committed
//! message is in the first tick whose snapshot sees it, and comes from `tick_messages` in its place,
//! wherever a reader begins and however much it looks at.

use std::collections::BTreeMap;

use crate::shop::{
    Shop,
    producing::{CREATE, ids_of},
};
use postrider_core::snapshot::{Snapshot, Xid};
use postrider_testkit::postgres::Options;
use tokio_postgres::Client;

const SESSIONS: usize = 6;
const STEPS: usize = 600;
/// More than a tick looks at.
const BULK: usize = 4_200;
/// What readers of the log have set.
const PLANS: &str = "set plan_cache_mode = force_generic_plan;
    set enable_seqscan = off;
    set enable_bitmapscan = off;
    set enable_hashjoin = off;
    set enable_mergejoin = off;
    set max_parallel_workers_per_gather = 0;
    set jit = off";

/// Behind this message of this tick.
type Place = (i64, i64);

/// A session, and what it has written in the transaction that is open.
struct Session {
    client: Client,
    is_open: bool,
    ids: Vec<i64>,
    /// How much it had written when each of its savepoints began.
    savepoints: Vec<usize>,
}

/// Random transactions, of which one statement after the other is run.
struct History {
    dice: fastrand::Rng,
    sessions: Vec<Session>,
    /// Also makes the ticks.
    other: Client,
    prepared: Vec<(String, Vec<i64>)>,
    committed: Vec<i64>,
    serial: usize,
    /// What each tick held as soon as it was there.
    at_first: BTreeMap<i64, Vec<Place>>,
}

/// A row of `postrider.tick`.
struct Tick {
    id: i64,
    snapshot: Snapshot,
    stragglers: Vec<Xid>,
    first_id: i64,
    message_count: Option<i32>,
    is_sparse: bool,
}

impl History {
    async fn open(shop: &Shop, seed: u64) -> History {
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(Session {
                client: shop.client().await,
                is_open: false,
                ids: Vec::new(),
                savepoints: Vec::new(),
            });
        }
        let other = shop.client().await;
        other.batch_execute(PLANS).await.unwrap();
        History {
            dice: fastrand::Rng::with_seed(seed),
            sessions,
            other,
            prepared: Vec::new(),
            committed: Vec::new(),
            serial: 0,
            at_first: BTreeMap::new(),
        }
    }

    async fn step(&mut self) {
        let index = self.dice.usize(..self.sessions.len());
        match self.dice.u8(..40) {
            0..16 => {
                let count = self.dice.usize(1..6);
                self.write(index, count).await;
            }
            16..18 => {
                self.begin(index).await;
                self.run(index, "select pg_current_xact_id()").await;
            }
            18 | 19 => self.savepoint(index).await,
            20 | 21 => self.end_savepoint(index).await,
            22..26 => self.end(index, true).await,
            26 => self.end(index, false).await,
            27 => self.prepare(index).await,
            28 => self.end_prepared().await,
            29 => {
                let count = self.dice.usize(1..1_500);
                self.burn(count).await;
            }
            _ => self.tick().await,
        }
    }

    async fn run(&self, index: usize, sql: &str) {
        let client = &self.sessions[index].client;
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    async fn begin(&mut self, index: usize) {
        if !self.sessions[index].is_open {
            self.run(index, "begin").await;
            self.sessions[index].is_open = true;
        }
    }

    async fn write(&mut self, index: usize, count: usize) {
        self.begin(index).await;
        let sql = format!(
            "select postrider.send_batch_with_priority('a', array_agg('{{}}'::jsonb), {})
            from generate_series(1, {count})",
            self.dice.u8(0..=10)
        );
        let ids = ids_of(&self.sessions[index].client, &sql).await;
        self.sessions[index].ids.extend(ids);
    }

    async fn savepoint(&mut self, index: usize) {
        self.begin(index).await;
        self.run(index, "savepoint s").await;
        let session = &mut self.sessions[index];
        session.savepoints.push(session.ids.len());
    }

    async fn end_savepoint(&mut self, index: usize) {
        let Some(begin) = self.sessions[index].savepoints.pop() else { return };
        if self.dice.bool() {
            self.run(index, "release savepoint s").await;
        } else {
            self.run(index, "rollback to savepoint s; release savepoint s").await;
            self.sessions[index].ids.truncate(begin);
        }
    }

    async fn end(&mut self, index: usize, is_committed: bool) {
        if !std::mem::take(&mut self.sessions[index].is_open) {
            return;
        }
        self.run(index, if is_committed { "commit" } else { "rollback" }).await;
        self.sessions[index].savepoints.clear();
        let ids = std::mem::take(&mut self.sessions[index].ids);
        self.committed.extend(ids.into_iter().filter(|_| is_committed));
    }

    async fn prepare(&mut self, index: usize) {
        if !std::mem::take(&mut self.sessions[index].is_open) {
            return;
        }
        self.serial += 1;
        let name = format!("history-{}", self.serial);
        self.run(index, &format!("prepare transaction '{name}'")).await;
        self.sessions[index].savepoints.clear();
        self.prepared.push((name, std::mem::take(&mut self.sessions[index].ids)));
    }

    async fn end_prepared(&mut self) {
        if self.prepared.is_empty() {
            return;
        }
        let (name, ids) = self.prepared.swap_remove(self.dice.usize(..self.prepared.len()));
        let is_committed = self.dice.u8(..4) > 0;
        let end = if is_committed { "commit" } else { "rollback" };
        self.other.batch_execute(&format!("{end} prepared '{name}'")).await.unwrap();
        self.committed.extend(ids.into_iter().filter(|_| is_committed));
    }

    /// Numbers of the sequence that no message has.
    async fn burn(&self, count: usize) {
        let sql = format!(
            "select count(nextval('postrider.message_sequence')) from generate_series(1, {count})"
        );
        self.other.batch_execute(&sql).await.unwrap();
    }

    async fn tick(&mut self) {
        let made = self.other.query_one("select postrider.tick()", &[]).await.unwrap();
        if let Some(id) = made.get::<_, Option<i64>>(0) {
            let found = tick_messages(&self.other, (id, 0), id, 100_000).await;
            self.at_first.insert(id, found);
        }
    }

    /// One tick of each kind at least: few messages far apart, more than it looks at, and transactions
    /// that were open at the tick before, with ids below and among those of the others.
    async fn every_kind(&mut self) {
        for index in 0..SESSIONS {
            self.end(index, true).await;
        }
        self.tick().await;
        self.write(0, 2).await;
        self.burn(1_000).await;
        self.write(0, 2).await;
        self.end(0, true).await;
        self.tick().await;

        for late in [3, BULK] {
            self.write(1, late).await;
            // With a higher transaction id, so that a snapshot lists the one before.
            self.write(0, 1).await;
            self.end(0, true).await;
            self.tick().await;
            self.write(0, 2).await;
            self.write(1, 2).await;
            self.write(0, 2).await;
            self.end(0, true).await;
            self.end(1, true).await;
            self.tick().await;
        }
        self.write(2, BULK).await;
        self.write(3, 5).await;
        self.end(3, true).await;
        self.end(2, true).await;
        self.tick().await;
    }

    async fn finish(&mut self) {
        for index in 0..SESSIONS {
            self.end(index, true).await;
        }
        while !self.prepared.is_empty() {
            self.end_prepared().await;
        }
        self.tick().await;
    }
}

async fn tick_messages(client: &Client, from: Place, to_tick: i64, look: i32) -> Vec<Place> {
    let sql = "select array_agg(m.tick), array_agg(m.id)
        from postrider.tick_messages($1, $2, $3, $4) m";
    let row = client.query_one(sql, &[&from.0, &from.1, &to_tick, &look]).await.unwrap();
    let column = |index| row.get::<_, Option<Vec<i64>>>(index).unwrap_or_default();
    column(0).into_iter().zip(column(1)).collect()
}

async fn ticks(client: &Client) -> Vec<Tick> {
    let sql = "select
            t.id, t.snapshot::text, t.stragglers::text[], t.first_id, t.message_count, t.is_sparse
        from postrider.tick t
        order by t.id";
    let rows = client.query(sql, &[]).await.unwrap();
    let tick = |row: &tokio_postgres::Row| Tick {
        id: row.get(0),
        snapshot: row.get::<_, &str>(1).parse().unwrap(),
        stragglers: row.get::<_, Vec<&str>>(2).iter().map(|xid| xid.parse().unwrap()).collect(),
        first_id: row.get(3),
        message_count: row.get(4),
        is_sparse: row.get(5),
    };
    rows.iter().map(tick).collect()
}

async fn messages(client: &Client) -> Vec<(i64, Xid)> {
    let rows =
        client.query("select m.id, m.xid::text from postrider.message m", &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get::<_, &str>(1).parse().unwrap())).collect()
}

/// Every message in its place, by the snapshots alone.
fn expected(ticks: &[Tick], messages: &[(i64, Xid)]) -> Vec<Place> {
    let tick_of = |xid: Xid| {
        let tick = ticks.iter().find(|tick| tick.snapshot.sees(xid));
        tick.unwrap_or_else(|| panic!("transaction {xid} is in no tick")).id
    };
    let mut places: Vec<Place> = messages.iter().map(|(id, xid)| (tick_of(*xid), *id)).collect();
    places.sort_unstable();
    places
}

/// Where readers of a tick may begin: before it, in the midst, between messages, at its end.
fn places_in(expected: &[Place], tick: i64, dice: &mut fastrand::Rng) -> Vec<Place> {
    let of_it: Vec<Place> = expected.iter().copied().filter(|place| place.0 == tick).collect();
    let last = of_it[of_it.len() - 1];
    let middle = of_it[dice.usize(..of_it.len())];
    vec![(tick - 1, i64::MAX), (tick, 0), middle, (tick, middle.1 - 1), last]
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_hold_what_their_snapshots_say_wherever_a_reader_begins() {
    let seed: u64 =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let options = Options { max_prepared_transactions: 64, ..Options::default() };
    let shop = Shop::open_migrated_with(options).await;
    shop.execute(CREATE).await;
    shop.execute("select postrider.set_setting('tick_interval_ms', '0')").await;
    shop.execute("select postrider.create_consumer('model')").await;

    let mut history = History::open(&shop, seed).await;
    for step in 0..STEPS {
        if step == STEPS / 2 {
            history.every_kind().await;
        }
        history.step().await;
    }
    history.finish().await;

    let client = &history.other;
    let (ticks, messages) = (ticks(client).await, messages(client).await);
    let mut ids: Vec<i64> = messages.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    history.committed.sort_unstable();
    assert_eq!(ids, history.committed);
    let expected = expected(&ticks, &messages);
    let at_first: Vec<Place> = history.at_first.values().flatten().copied().collect();
    assert!(at_first == expected, "ticks that did not hold what they hold now");

    let kinds = kinds(&ticks);
    println!("{} messages in {} ticks: {kinds:?}", messages.len(), ticks.len());
    assert!(kinds.values().all(|ticks| !ticks.is_empty()), "{kinds:?}");
    let mut checked = 0;
    for tick in kinds.values().flat_map(|ticks| ticks.iter().take(8)).copied() {
        for from in places_in(&expected, tick, &mut history.dice) {
            for (look, to_tick) in [(1, tick), (7, tick + 2), (100, i64::MAX), (5_000, tick + 9)] {
                let found = tick_messages(client, from, to_tick, look).await;
                let wanted: Vec<Place> = expected
                    .iter()
                    .filter(|place| **place > from && place.0 <= to_tick)
                    .take(look as usize)
                    .copied()
                    .collect();
                assert!(
                    found == wanted,
                    "{from:?} to {to_tick}, {look}: {found:?}, not {wanted:?}"
                );
                checked += 1;
            }
        }
    }
    println!("{checked} pages");
    check_transactions(client, &messages).await;
}

/// The ticks of each kind that there must be.
fn kinds(ticks: &[Tick]) -> BTreeMap<&'static str, Vec<i64>> {
    let of = |is_it: &dyn Fn(&Tick) -> bool| {
        ticks.iter().filter(|tick| is_it(tick)).map(|tick| tick.id).collect::<Vec<_>>()
    };
    let has_late = |tick: &Tick| !tick.stragglers.is_empty();
    BTreeMap::from([
        ("dense", of(&|tick| !tick.is_sparse && tick.message_count.is_some())),
        ("sparse", of(&|tick| tick.is_sparse)),
        ("large", of(&|tick| tick.message_count.is_none())),
        ("large, with stragglers", of(&|tick| tick.message_count.is_none() && has_late(tick))),
        ("stragglers", of(&|tick| !tick.is_sparse && has_late(tick) && tick.first_id > 0)),
    ])
}

/// The other ordering: by transaction and id, when none is open.
async fn check_transactions(client: &Client, messages: &[(i64, Xid)]) {
    let mut expected: Vec<(Xid, i64)> = messages.iter().map(|(id, xid)| (*xid, *id)).collect();
    expected.sort_unstable();
    let sql = "select array_agg(m.xid::text), array_agg(m.id)
        from postrider.transaction_messages($1::text::xid8, $2, 1000) m";
    let (mut found, mut from) = (Vec::new(), (0, 0));
    loop {
        let row = client.query_one(sql, &[&from.0.to_string(), &from.1]).await.unwrap();
        let Some(xids) = row.get::<_, Option<Vec<&str>>>(0) else { break };
        let xids = xids.into_iter().map(|xid| xid.parse::<Xid>().unwrap());
        found.extend(xids.zip(row.get::<_, Vec<i64>>(1)));
        from = found[found.len() - 1];
    }
    assert!(found == expected, "{} of {}", found.len(), expected.len());
}
