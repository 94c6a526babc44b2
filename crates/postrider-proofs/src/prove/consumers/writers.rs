//! Applications that write in transactions of every kind: with savepoints, in two phases, long ones, with
//! an id that was taken early, in bulk, rolled back; and find out what became of each.
//!
//! Every transaction writes its name into a table of the application. So the end of one whose connection
//! broke is never guessed: it is looked up when the server is back.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinSet;
use tokio_postgres::{Client, types::ToSql};

use super::ConsumerScale;
use crate::prove::writers::connect;
use postrider_testkit::ledger::Order;

/// The event types: of every message, and of one in eight.
pub const EVENT_TYPES: [&str; 2] = ["proof.usual", "proof.seldom"];
/// An endpoint that accepts everything and sends nothing.
pub const ENDPOINT: &str = "nowhere";
const RECONNECT_PAUSE: Duration = Duration::from_millis(30);
/// The pace of an application, in milliseconds.
const PAUSE: Range<u64> = 1..16;
/// How long a transaction is prepared before it is committed, in milliseconds: mostly, and when it has
/// no locks that others wait for.
const PREPARED_SHORTLY: Range<u64> = 0..40;
const PREPARED_LONG: Range<u64> = 500..4_000;
/// The pause between two looks of a long transaction, whether it has lasted long enough.
const LOOK: Duration = Duration::from_millis(20);

/// What all writers share.
#[derive(Debug, Default)]
pub struct Shared {
    pub is_over: AtomicBool,
    /// No server is killed any more: the next long transaction is the longest.
    pub is_calm: AtomicBool,
    pub committed: AtomicUsize,
    /// How often the server was killed, and how many transactions that write in bulk were begun and came to
    /// something.
    pub kills: AtomicUsize,
    pub bulks: AtomicUsize,
    /// The long transactions that were committed when it was calm: from their id to their end.
    pub holds: Mutex<Vec<Range<Instant>>>,
}

impl Shared {
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A message, as its writer knows it.
#[derive(Debug, Clone)]
pub struct Written {
    /// `None` when the answer was lost.
    pub id: Option<i64>,
    pub marker: String,
    /// The transaction, and the place in it.
    pub place: (String, usize),
    pub order: Option<Order>,
    pub is_seldom: bool,
    /// Before the statement that wrote it: it had no id yet.
    pub began_at: Instant,
}

/// What a writer did.
#[derive(Debug, Default)]
pub struct Book {
    /// With the moment from which on it was known to be visible.
    pub committed: Vec<(Written, Instant)>,
    pub rolled_back: Vec<Written>,
    pub counts: Counts,
}

/// How many transactions of each kind were committed.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub transactions: usize,
    pub savepoints: usize,
    pub prepared: usize,
    /// Of those: prepared before the server was killed, and ended after.
    pub prepared_over_restart: usize,
    pub early: usize,
    pub bulk: usize,
    pub long: usize,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.transactions += other.transactions;
        self.savepoints += other.savepoints;
        self.prepared += other.prepared;
        self.prepared_over_restart += other.prepared_over_restart;
        self.early += other.early;
        self.bulk += other.bulk;
        self.long += other.long;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Takes its id, and writes later.
    Early,
    Savepoints,
    /// In two phases, and whether it stays prepared for long.
    Prepared {
        is_kept: bool,
    },
    Bulk,
    Long,
    RolledBack,
}

/// Others wait for its locks of keys.
const LOCKED: Kind = Kind::Prepared { is_kept: false };

/// A transaction whose end is not known.
#[derive(Debug)]
struct Pending {
    name: String,
    kind: Kind,
    written: Vec<Written>,
    /// When it is looked after.
    due: Instant,
    /// How often the server had been killed.
    kills: usize,
}

/// Starts the writers, which go on until `shared.is_over`; each returns its book. The last one writes in
/// long transactions only.
pub fn start(
    url: &str,
    scale: &ConsumerScale,
    seed: u64,
    shared: &Arc<Shared>,
) -> JoinSet<Result<Book>> {
    let mut writers = JoinSet::new();
    for number in 0..=scale.writers {
        let writer = Writer {
            number,
            scale: *scale,
            dice: fastrand::Rng::with_seed(seed ^ (number as u64 + 1) << 32),
            shared: Arc::clone(shared),
            book: Book::default(),
            pending: Vec::new(),
            serial: 0,
        };
        writers.spawn(writer.write(url.to_owned()));
    }
    writers
}

struct Writer {
    number: usize,
    scale: ConsumerScale,
    dice: fastrand::Rng,
    shared: Arc<Shared>,
    book: Book,
    pending: Vec<Pending>,
    serial: usize,
}

impl Writer {
    async fn write(mut self, url: String) -> Result<Book> {
        let mut client: Option<Client> = None;
        while !self.shared.is_over() || !self.pending.is_empty() {
            let Some(open) = client.as_ref().filter(|client| !client.is_closed()) else {
                // The server may be down: an application tries again.
                client = connect(&url).await.ok();
                if client.is_none() {
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
                continue;
            };
            let (is_over, now) = (self.shared.is_over(), Instant::now());
            let is_due = |pending: &Pending| is_over || pending.due <= now;
            let result = match self.pending.iter().position(is_due) {
                Some(index) => self.settle(open, index).await,
                // It would wait for a lock of its own.
                None if self.pending.iter().any(|pending| pending.kind == LOCKED) => Ok(()),
                None => self.transaction(open).await,
            };
            if let Err(error) = result
                && !open.is_closed()
            {
                let is_refused = error.as_db_error().is_some_and(|error| {
                    // Shut down: the connection breaks in a moment.
                    !error.code().code().starts_with("57P")
                });
                anyhow::ensure!(!is_refused, "writer {}: {error:?}", self.number);
                client = None;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.u64(PAUSE))).await;
        }
        Ok(self.book)
    }

    /// Ends a transaction that was prepared, or finds out how it ended.
    async fn settle(&mut self, client: &Client, index: usize) -> Result<(), tokio_postgres::Error> {
        let pending = &self.pending[index];
        let sql = "select exists (select from pg_prepared_xacts p where p.gid = $1)";
        let is_prepared: bool = client.query_one(sql, &[&pending.name]).await?.get(0);
        if is_prepared {
            let end = if self.dice.u8(..10) == 0 { "rollback" } else { "commit" };
            client.batch_execute(&format!("{end} prepared '{}'", pending.name)).await?;
        }
        let sql = "select exists (select from proof.writing w where w.name = $1)";
        let is_committed: bool = client.query_one(sql, &[&pending.name]).await?.get(0);
        let pending = self.pending.swap_remove(index);
        if is_committed {
            let is_over_restart =
                is_prepared && pending.kills < self.shared.kills.load(Ordering::Relaxed);
            self.book.counts.prepared_over_restart += usize::from(is_over_restart);
            self.commit(pending.kind, pending.written);
        } else {
            self.lose(pending.kind, pending.written);
        }
        Ok(())
    }

    async fn transaction(&mut self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let kind = self.choose();
        self.serial += 1;
        let name = format!("{}-{}", self.number, self.serial);
        let mut written = Vec::new();
        let is_calm = self.shared.is_calm.load(Ordering::Relaxed);
        let (began_at, kills) = (Instant::now(), self.shared.kills.load(Ordering::Relaxed));
        if let Err(error) = self.fill(client, kind, &name, &mut written).await {
            // The connection broke: nothing of it exists.
            self.lose(kind, written);
            return Err(error);
        }
        if kind == Kind::RolledBack {
            self.book.rolled_back.extend(written);
            return client.batch_execute("rollback").await;
        }
        let (end, wait) = match kind {
            Kind::Prepared { is_kept } => {
                let wait = if is_kept { PREPARED_LONG } else { PREPARED_SHORTLY };
                (format!("prepare transaction '{name}'"), self.dice.u64(wait))
            }
            _ => ("commit".to_owned(), 0),
        };
        let ended = client.batch_execute(&end).await;
        if ended.is_ok() && !matches!(kind, Kind::Prepared { .. }) {
            if kind == Kind::Long && is_calm {
                let hold = began_at..Instant::now();
                self.shared.holds.lock().expect("nobody panics with it").push(hold);
            }
            self.commit(kind, written);
            return Ok(());
        }
        self.pending.push(Pending {
            name,
            kind,
            written,
            due: Instant::now() + Duration::from_millis(wait),
            kills,
        });
        ended
    }

    fn choose(&mut self) -> Kind {
        if self.number == self.scale.writers {
            return Kind::Long;
        }
        // Locks of a key that stay prepared hold up all who write to it, this writer too.
        let may_prepare = self.pending.len() < 3;
        match self.dice.u8(..100) {
            0..12 => Kind::RolledBack,
            12..20 if may_prepare => Kind::Prepared { is_kept: self.dice.bool() },
            20..32 => Kind::Early,
            32..45 => Kind::Savepoints,
            45 if self.may_begin_bulk() => Kind::Bulk,
            _ => Kind::Plain,
        }
    }

    /// Takes one of those that there are to be.
    fn may_begin_bulk(&self) -> bool {
        let (most, bulks) = (self.scale.bulks, &self.shared.bulks);
        let next = |begun: usize| (begun < most).then_some(begun + 1);
        bulks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// A crash took it back. Somebody writes another bulk instead of one.
    fn lose(&mut self, kind: Kind, written: Vec<Written>) {
        if kind == Kind::Bulk {
            self.shared.bulks.fetch_sub(1, Ordering::Relaxed);
        }
        self.book.rolled_back.extend(written);
    }

    /// Everything up to the end of the transaction.
    async fn fill(
        &mut self,
        client: &Client,
        kind: Kind,
        name: &str,
        written: &mut Vec<Written>,
    ) -> Result<(), tokio_postgres::Error> {
        let sign = format!("insert into proof.writing (name) values ('{name}')");
        client.batch_execute("begin").await?;
        if kind == Kind::Early {
            client.batch_execute(&sign).await?;
            tokio::time::sleep(Duration::from_millis(self.dice.u64(20..300))).await;
        }
        match kind {
            Kind::Long => self.fill_long(client, name, written).await?,
            Kind::Bulk => self.send_bulk(client, name, written).await?,
            Kind::Savepoints => self.fill_savepoints(client, name, written).await?,
            _ => {
                let keys = match kind {
                    Kind::Prepared { is_kept: true } => Vec::new(),
                    _ => self.keys(),
                };
                for key in keys {
                    self.publish(client, name, Some(&key), written).await?;
                }
                for _ in 0..self.dice.usize(1..4) {
                    self.publish(client, name, None, written).await?;
                }
            }
        }
        if kind != Kind::Early {
            client.batch_execute(&sign).await?;
        }
        Ok(())
    }

    /// In the order in which all lock them.
    fn keys(&mut self) -> Vec<String> {
        let count = self.dice.usize(0..4);
        let mut keys: Vec<usize> = (0..count).map(|_| self.dice.usize(..self.scale.keys)).collect();
        keys.sort_unstable();
        keys.into_iter().map(|key| format!("key-{key}")).collect()
    }

    async fn fill_savepoints(
        &mut self,
        client: &Client,
        name: &str,
        written: &mut Vec<Written>,
    ) -> Result<(), tokio_postgres::Error> {
        for key in self.keys().into_iter().map(Some).chain([None, None]) {
            client.batch_execute("savepoint s").await?;
            if self.dice.u8(..3) == 0 {
                let mut undone = Vec::new();
                let result = self.publish(client, name, key.as_deref(), &mut undone).await;
                self.book.rolled_back.extend(undone);
                result?;
                client.batch_execute("rollback to savepoint s").await?;
            } else {
                self.publish(client, name, key.as_deref(), written).await?;
                client.batch_execute("release savepoint s").await?;
            }
        }
        Ok(())
    }

    /// Messages at the beginning, after half of the time and at the end. Its key is its own.
    async fn fill_long(
        &mut self,
        client: &Client,
        name: &str,
        written: &mut Vec<Written>,
    ) -> Result<(), tokio_postgres::Error> {
        let is_longest = self.shared.is_calm.load(Ordering::Relaxed);
        let hold = match is_longest {
            true => self.scale.longest_hold,
            false => self.scale.longest_hold.mul_f64(0.25 + 0.75 * self.dice.f64()),
        };
        for part in 0..3 {
            self.publish(client, name, Some("key-long"), written).await?;
            self.publish(client, name, None, written).await?;
            // It gets on as the machine and the server do: if one of them stands still, it lasts longer.
            let looks = if part < 2 { (hold / 2).as_millis() / LOOK.as_millis() } else { 0 };
            for _ in 0..looks {
                if self.shared.is_over() {
                    break;
                }
                tokio::time::sleep(LOOK).await;
                client.batch_execute("select").await?;
            }
        }
        Ok(())
    }

    async fn publish(
        &mut self,
        client: &Client,
        name: &str,
        key: Option<&str>,
        written: &mut Vec<Written>,
    ) -> Result<(), tokio_postgres::Error> {
        let mut order = None;
        if let Some(key) = key {
            let sql = "update proof.version set version = version + 1 where key = $1
                returning version";
            let version: i64 = client.query_one(sql, &[&key]).await?.get(0);
            order = Some(Order { key: key.to_owned(), sequence: version.unsigned_abs() });
        }
        let version = order.as_ref().map(|order| order.sequence.cast_signed());
        let is_seldom = self.dice.u8(..8) == 0;
        let marker = self.note(name, order, is_seldom, written);
        let event_type = EVENT_TYPES[usize::from(is_seldom)];
        let priority = self.dice.i32(0..=10);
        let values: [&(dyn ToSql + Sync); 5] = [&event_type, &marker, &key, &version, &priority];
        let sql = "select postrider.publish(
                $1, jsonb_build_object('marker', $2::text, 'key', $3::text, 'version', $4::bigint),
                p_priority => $5, p_ordering_key => $3)";
        let id = client.query_one(sql, &values).await?.get(0);
        if let Some(last) = written.last_mut() {
            last.id = Some(id);
        }
        Ok(())
    }

    /// Mostly more than a tick looks at.
    async fn send_bulk(
        &mut self,
        client: &Client,
        name: &str,
        written: &mut Vec<Written>,
    ) -> Result<(), tokio_postgres::Error> {
        let count = self.dice.usize(self.scale.longest_bulk / 2..=self.scale.longest_bulk);
        let markers: Vec<String> =
            (0..count).map(|_| self.note(name, None, false, written)).collect();
        let sql = "select postrider.send_batch($1, (
                select array_agg(jsonb_build_object('marker', m.marker) order by m.place)
                from unnest($2::text[]) with ordinality m (marker, place)))";
        let ids: Vec<i64> = client.query_one(sql, &[&ENDPOINT, &markers]).await?.get(0);
        for (message, id) in written.iter_mut().zip(ids) {
            message.id = Some(id);
        }
        Ok(())
    }

    /// Notes a message that is about to be written; its marker.
    fn note(
        &mut self,
        name: &str,
        order: Option<Order>,
        is_seldom: bool,
        written: &mut Vec<Written>,
    ) -> String {
        self.serial += 1;
        let marker = format!("{}-{}", self.number, self.serial);
        written.push(Written {
            id: None,
            marker: marker.clone(),
            place: (name.to_owned(), written.len()),
            order,
            is_seldom,
            began_at: Instant::now(),
        });
        marker
    }

    fn commit(&mut self, kind: Kind, written: Vec<Written>) {
        let at = Instant::now();
        let counts = &mut self.book.counts;
        counts.transactions += 1;
        match kind {
            Kind::Savepoints => counts.savepoints += 1,
            Kind::Prepared { .. } => counts.prepared += 1,
            Kind::Early => counts.early += 1,
            Kind::Bulk => counts.bulk += 1,
            Kind::Long => counts.long += 1,
            Kind::Plain | Kind::RolledBack => {}
        }
        self.shared.committed.fetch_add(written.len(), Ordering::Relaxed);
        self.book.committed.extend(written.into_iter().map(|message| (message, at)));
    }
}
