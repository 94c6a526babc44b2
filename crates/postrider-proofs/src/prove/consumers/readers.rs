//! Applications that consume by the SQL functions alone, as an application in any language would: fetch,
//! write what follows from it, acknowledge, commit. One transaction in ten comes to nothing on purpose.
//!
//! What followed from a message is a row of `proof.effect`, in the same transaction. Its ordinal counts
//! the effects of a partition, by the table itself: were a partition in two hands at once, two effects
//! would have one ordinal.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Error, error::SqlState, types::ToSql};

use super::writers::EVENT_TYPES;
use crate::prove::writers::connect;

const RECONNECT_PAUSE: Duration = Duration::from_millis(30);
/// After a fetch that found nothing, in milliseconds.
const IDLE_PAUSE: std::ops::Range<u64> = 20..60;
const LARGEST_BATCH: i32 = 1_000;

/// A consumer of the run.
#[derive(PartialEq, Eq)]
pub struct Consumer {
    pub name: &'static str,
    pub ordering: Ordered,
    pub partitions: i32,
    pub is_seldom_only: bool,
    /// How many processes share it.
    pub processes: usize,
    /// Whether they call tick() themselves.
    pub is_ticking: bool,
    pub joins: Joins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    ByCommit,
    ByTransaction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joins {
    AtFirst,
    /// Between two crashes, and reads from the beginning.
    Later,
    /// When nobody writes any more, and reads from the beginning.
    AtLast,
}

const PLAIN: Consumer = Consumer {
    name: "",
    ordering: Ordered::ByCommit,
    partitions: 1,
    is_seldom_only: false,
    processes: 1,
    is_ticking: true,
    joins: Joins::AtFirst,
};

/// All of them. The first one is what the others with its ordering are compared with.
pub const CONSUMERS: [Consumer; 8] = [
    Consumer { name: "shared", processes: 2, ..PLAIN },
    Consumer { name: "waiting", is_ticking: false, ..PLAIN },
    Consumer { name: "seldom", is_seldom_only: true, ..PLAIN },
    Consumer { name: "partitioned", partitions: 4, processes: 3, ..PLAIN },
    Consumer { name: "late", joins: Joins::Later, ..PLAIN },
    Consumer { name: "last", joins: Joins::AtLast, ..PLAIN },
    Consumer { name: "strict", ordering: Ordered::ByTransaction, ..PLAIN },
    Consumer {
        name: "strict.partitioned",
        ordering: Ordered::ByTransaction,
        partitions: 3,
        processes: 2,
        ..PLAIN
    },
];

impl fmt::Debug for Consumer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Consumer {
    pub fn create(&self) -> String {
        let event_types = match self.is_seldom_only {
            true => format!("array['{}']", EVENT_TYPES[1]),
            false => "null".to_owned(),
        };
        let ordering = match self.ordering {
            Ordered::ByCommit => "commit",
            Ordered::ByTransaction => "transaction",
        };
        format!(
            "select postrider.create_consumer(
                '{}', {event_types}, p_start => 'beginning', p_ordering => '{ordering}',
                p_partitions => {})",
            self.name, self.partitions
        )
    }
}

/// An effect that was committed, as its process remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Effect {
    pub partition: i32,
    pub ordinal: i64,
    pub id: i64,
}

/// What a process did.
#[derive(Debug)]
pub struct ReadBook {
    pub consumer: &'static Consumer,
    /// With the moment of the fetch.
    pub effects: Vec<(Effect, Instant)>,
    pub counts: ReadCounts,
    pub findings: Vec<String>,
}

#[derive(Debug, Default, Clone, Copy)]
pub struct ReadCounts {
    pub batches: usize,
    /// Acknowledged in part.
    pub partial: usize,
    pub rolled_back: usize,
    /// Of those: the connection was closed, or the backend terminated.
    pub dropped: usize,
    pub terminated: usize,
    /// Commits without an answer.
    pub uncertain: usize,
    /// Acknowledged in another transaction than that of the fetch: refused.
    pub refused: usize,
}

impl ReadCounts {
    pub fn add(&mut self, other: ReadCounts) {
        self.batches += other.batches;
        self.partial += other.partial;
        self.rolled_back += other.rolled_back;
        self.dropped += other.dropped;
        self.terminated += other.terminated;
        self.uncertain += other.uncertain;
        self.refused += other.refused;
    }
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Commit,
    RollBack,
    /// The effects are there, and nothing is acknowledged.
    RollBackUnacknowledged,
    Drop,
    Terminate,
}

/// Starts the processes of a consumer, which go on until `is_drained` and nothing comes; each returns its book.
pub fn start(
    processes: &mut JoinSet<Result<ReadBook>>,
    url: &str,
    consumer: &'static Consumer,
    seed: u64,
    is_drained: &Arc<AtomicBool>,
) {
    for number in 0..consumer.processes {
        let place = CONSUMERS.iter().position(|other| other == consumer).unwrap_or_default();
        let process = Process {
            consumer,
            dice: fastrand::Rng::with_seed(seed ^ ((place * 8 + number) as u64 + 1) << 40),
            book: ReadBook {
                consumer,
                effects: Vec::new(),
                counts: ReadCounts::default(),
                findings: Vec::new(),
            },
            doubtful: Vec::new(),
        };
        processes.spawn(process.read(url.to_owned(), Arc::clone(is_drained)));
    }
}

/// A message, as it was fetched.
struct Fetched {
    id: i64,
    position: i64,
    xid: String,
    tick: Option<i64>,
    marker: Option<String>,
    key: Option<String>,
    version: Option<i64>,
    partition: i32,
}

struct Process {
    consumer: &'static Consumer,
    dice: fastrand::Rng,
    book: ReadBook,
    /// Effects of a transaction whose commit was not answered.
    doubtful: Vec<(Effect, Instant)>,
}

impl Process {
    async fn read(mut self, url: String, is_drained: Arc<AtomicBool>) -> Result<ReadBook> {
        let mut client: Option<Client> = None;
        loop {
            let is_last = is_drained.load(Ordering::Relaxed);
            let Some(open) = client.take().filter(|client| !client.is_closed()) else {
                client = connect(&url).await.ok();
                if client.is_none() {
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
                continue;
            };
            match self.turn(&open).await {
                Ok(None) if is_last => return Ok(self.book),
                Ok(Some(Ending::Drop | Ending::Terminate)) => {}
                Ok(_) => client = Some(open),
                Err(error) => self.note_error(&error),
            }
        }
    }

    /// That a server is shut down or a connection breaks is what happens here; anything else is not.
    fn note_error(&mut self, error: &Error) {
        if let Some(refused) = error.as_db_error()
            && !refused.code().code().starts_with("57P")
        {
            self.book.findings.push(format!("{}: {refused:?}", self.consumer.name));
        }
    }

    /// A transaction; how it ended, if it found anything.
    async fn turn(&mut self, client: &Client) -> Result<Option<Ending>, Error> {
        self.resolve(client).await?;
        if self.consumer.is_ticking {
            client.execute("select postrider.tick()", &[]).await?;
        }
        client.batch_execute("begin").await?;
        let ending = match self.dice.u8(..40) {
            0 => Ending::RollBack,
            1 => Ending::RollBackUnacknowledged,
            2 => Ending::Drop,
            3 => Ending::Terminate,
            _ => Ending::Commit,
        };
        let mut effects = Vec::new();
        let mut last = None;
        // Another fetch of the same transaction goes on behind what is acknowledged.
        let rounds = if self.dice.u8(..8) == 0 { 2 } else { 1 };
        for round in 0..rounds {
            last = self.batch(client, ending, round == 0, &mut effects).await?.or(last);
        }
        let Some(last) = last else {
            client.batch_execute("commit").await?;
            tokio::time::sleep(Duration::from_millis(self.dice.u64(IDLE_PAUSE))).await;
            return Ok(None);
        };
        self.book.counts.rolled_back += usize::from(ending != Ending::Commit);
        match ending {
            Ending::RollBack | Ending::RollBackUnacknowledged => {
                client.batch_execute("rollback").await?;
            }
            Ending::Drop => self.book.counts.dropped += 1,
            Ending::Terminate => {
                self.book.counts.terminated += 1;
                let sql = "select pg_terminate_backend(pg_backend_pid())";
                let ended = client.batch_execute(sql).await;
                if ended.is_ok() {
                    self.book.findings.push("a terminated backend went on".to_owned());
                }
            }
            Ending::Commit => {
                self.doubtful = effects;
                client.batch_execute("commit").await?;
                self.book.counts.batches += 1;
                self.book.effects.append(&mut self.doubtful);
                if self.dice.u8(..30) == 0 {
                    self.acknowledge_too_late(client, last).await?;
                }
            }
        }
        Ok(Some(ending))
    }

    /// What became of a commit without an answer.
    async fn resolve(&mut self, client: &Client) -> Result<(), Error> {
        let Some((first, _)) = self.doubtful.first() else { return Ok(()) };
        let sql = "select exists (
                select
                from proof.effect e
                where e.consumer = $1
                and e.partition = $2
                and e.ordinal = $3
                and e.message_id = $4
            )";
        let values: [&(dyn ToSql + Sync); 4] =
            [&self.consumer.name, &first.partition, &first.ordinal, &first.id];
        let is_committed: bool = client.query_one(sql, &values).await?.get(0);
        self.book.counts.uncertain += 1;
        if is_committed {
            self.book.effects.append(&mut self.doubtful);
        }
        self.doubtful.clear();
        Ok(())
    }

    /// Fetches, writes effects, acknowledges; the last position that it was through with.
    async fn batch(
        &mut self,
        client: &Client,
        ending: Ending,
        is_first: bool,
        effects: &mut Vec<(Effect, Instant)>,
    ) -> Result<Option<i64>, Error> {
        let fetched = self.fetch(client, is_first).await?;
        let at = Instant::now();
        if fetched.is_empty() {
            return Ok(None);
        }
        let mut rest = &fetched[..];
        for count in self.cuts(fetched.len()) {
            let (now, later) = rest.split_at(count);
            let written = self.write(client, now).await?;
            effects.extend(written.into_iter().map(|effect| (effect, at)));
            if ending != Ending::RollBackUnacknowledged {
                self.acknowledge(client, now[now.len() - 1].position).await?;
            }
            rest = later;
        }
        self.book.counts.partial += usize::from(!rest.is_empty());
        Ok(Some(fetched[fetched.len() - rest.len() - 1].position))
    }

    /// How a batch is acknowledged: mostly in one step, or in two, or not to its end.
    fn cuts(&mut self, count: usize) -> Vec<usize> {
        let part = self.dice.usize(1..=count);
        match self.dice.u8(..8) {
            0 => vec![part],
            1 if part < count => vec![part, count - part],
            2 if part + 1 < count => vec![part, 1],
            _ => vec![count],
        }
    }

    async fn fetch(&mut self, client: &Client, is_first: bool) -> Result<Vec<Fetched>, Error> {
        let limit = match self.dice.u8(..6) {
            0 => self.dice.i32(1..=10),
            1 => self.dice.i32(1..=100),
            _ => self.dice.i32(1..=LARGEST_BATCH),
        };
        let partition = (self.consumer.partitions > 1 && self.dice.bool())
            .then(|| self.dice.i32(0..self.consumer.partitions));
        // Who holds a partition and waits for another may meet one who does so the other way round.
        let may_wait = is_first && (self.consumer.partitions == 1 || partition.is_some());
        let waits_for_holder = may_wait && self.dice.u8(..8) == 0;
        let wait_ms = if self.dice.u8(..4) == 0 { self.dice.f64() * 200.0 } else { 0.0 };
        let sql = "select
                f.message_id, f.position, f.transaction_id::text, f.tick, f.data ->> 'marker',
                f.data ->> 'key', (f.data ->> 'version')::bigint,
                postrider.message_partition(f.ordering_key, f.message_id, $6)
            from postrider.fetch_messages(
                $1, $2, $3::float8 * interval '1 millisecond', $4, $5) f";
        let values: [&(dyn ToSql + Sync); 6] = [
            &self.consumer.name,
            &limit,
            &wait_ms,
            &partition,
            &waits_for_holder,
            &self.consumer.partitions,
        ];
        let rows = client.query(sql, &values).await?;
        let fetched: Vec<Fetched> = rows
            .iter()
            .map(|row| Fetched {
                id: row.get(0),
                position: row.get(1),
                xid: row.get(2),
                tick: row.get(3),
                marker: row.get(4),
                key: row.get(5),
                version: row.get(6),
                partition: row.get(7),
            })
            .collect();
        let wanted = partition.or(fetched.first().map(|first| first.partition));
        if fetched.len() > limit as usize
            || fetched.iter().any(|message| Some(message.partition) != wanted)
        {
            self.book.findings.push(format!(
                "{}: {} messages for a limit of {limit}, or of another partition than {wanted:?}",
                self.consumer.name,
                fetched.len()
            ));
        }
        Ok(fetched)
    }

    async fn write(&self, client: &Client, messages: &[Fetched]) -> Result<Vec<Effect>, Error> {
        fn column<'a, T>(messages: &'a [Fetched], value: impl Fn(&'a Fetched) -> T) -> Vec<T> {
            messages.iter().map(value).collect()
        }
        let sql = "insert into proof.effect (
                consumer, partition, ordinal, message_id, position, xid, tick, marker, key, version)
            select
                $1, $2, m.place + coalesce(
                    (
                        select max(e.ordinal)
                        from proof.effect e
                        where e.consumer = $1
                        and e.partition = $2
                    ), 0),
                m.message_id, m.position, m.xid::xid8, m.tick, m.marker, m.key, m.version
            from unnest(
                $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::text[],
                $9::bigint[]
            ) with ordinality m (
                message_id, position, xid, tick, marker, key, version, place)
            order by m.place
            returning ordinal, message_id";
        let partition = messages.first().map_or(0, |first| first.partition);
        let values: [&(dyn ToSql + Sync); 9] = [
            &self.consumer.name,
            &partition,
            &column(messages, |message| message.id),
            &column(messages, |message| message.position),
            &column(messages, |message| message.xid.as_str()),
            &column(messages, |message| message.tick),
            &column(messages, |message| message.marker.as_deref()),
            &column(messages, |message| message.key.as_deref()),
            &column(messages, |message| message.version),
        ];
        let rows = client.query(sql, &values).await?;
        let effect =
            |row: &tokio_postgres::Row| Effect { partition, ordinal: row.get(0), id: row.get(1) };
        Ok(rows.iter().map(effect).collect())
    }

    async fn acknowledge(&self, client: &Client, position: i64) -> Result<u64, Error> {
        let sql = "select postrider.acknowledge($1, $2)";
        client.execute(sql, &[&self.consumer.name, &position]).await
    }

    /// By then somebody else may have read the same.
    async fn acknowledge_too_late(&mut self, client: &Client, last: i64) -> Result<(), Error> {
        match self.acknowledge(client, last).await {
            Err(error) if error.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => {
                self.book.counts.refused += 1;
                Ok(())
            }
            Err(error) => Err(error),
            Ok(_) => {
                let text = "acknowledged outside the transaction of the fetch";
                self.book.findings.push(format!("{}: {text}", self.consumer.name));
                Ok(())
            }
        }
    }
}
