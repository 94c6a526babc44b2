//! Applications that send in order: each takes the counters of its keys under a row lock, and keeps a
//! book of what it sent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement, types::ToSql};

use super::{DESTINATIONS, OrderingScale};
use crate::prove::writers::connect;
use postrider_testkit::ledger::{Commit, Ledger, MessageId, Order, Rollback};

const LONGEST_BATCH: usize = 3;

/// A message in a transaction that has not ended.
struct Sent {
    destinations: &'static [&'static str],
    id: MessageId,
    marker: String,
    order: Order,
}

/// Starts the writers, which go on until enough is committed; each returns its ledger.
pub fn start(
    url: &str,
    scale: OrderingScale,
    seed: u64,
    committed: &Arc<AtomicUsize>,
    started_at: Instant,
) -> JoinSet<Result<Ledger>> {
    let mut writers = JoinSet::new();
    for number in 0..scale.writers {
        let writer = Writer {
            number,
            keys: scale.keys,
            dice: fastrand::Rng::with_seed(seed ^ (number as u64) << 32),
            ledger: Ledger::new(started_at),
            serial: 0,
        };
        writers.spawn(writer.write(url.to_owned(), scale.messages, Arc::clone(committed)));
    }
    writers
}

/// What a writer says, prepared.
struct Statements {
    lock: Statement,
    count: Statement,
    /// To each destination alone, and to both.
    sends: [Statement; 3],
}

const BOTH: usize = DESTINATIONS.len();

impl Statements {
    async fn prepare(client: &Client) -> Result<Statements> {
        let lock = "select sequence + 1 from ordering_key where key = $1 for update";
        let count = "update ordering_key set sequence = $2 where key = $1";
        let message = "jsonb_build_object('key', $1::text, 'sequence', $2::bigint,
            'marker', $3::text), p_priority => $4::smallint, p_ordering_key => $1::text";
        let send = |name: &str| format!("select postrider.send_with_options('{name}', {message})");
        let [left, right] = DESTINATIONS.map(send);
        let publish = format!("select postrider.publish('both', {message})");
        Ok(Statements {
            lock: client.prepare(lock).await?,
            count: client.prepare(count).await?,
            sends: [
                client.prepare(&left).await?,
                client.prepare(&right).await?,
                client.prepare(&publish).await?,
            ],
        })
    }
}

struct Writer {
    number: usize,
    keys: usize,
    dice: fastrand::Rng,
    ledger: Ledger,
    serial: usize,
}

impl Writer {
    async fn write(
        mut self,
        url: String,
        enough: usize,
        committed: Arc<AtomicUsize>,
    ) -> Result<Ledger> {
        let client = connect(&url).await?;
        let statements = Statements::prepare(&client).await?;
        while committed.load(Ordering::Relaxed) < enough {
            let count = self.transaction(&client, &statements).await?;
            committed.fetch_add(count, Ordering::Relaxed);
            // Faster than what is delivered at times, so that long chains wait.
            tokio::time::sleep(Duration::from_millis(self.dice.u64(0..4))).await;
        }
        Ok(self.ledger)
    }

    /// One transaction; how many messages it committed.
    async fn transaction(&mut self, client: &Client, statements: &Statements) -> Result<usize> {
        let count = self.dice.usize(1..=LONGEST_BATCH);
        let mut keys: Vec<usize> = (0..count).map(|_| self.dice.usize(..self.keys)).collect();
        if self.dice.bool() {
            let one = keys[0];
            keys.fill(one);
        }
        // Locks are taken in one order, so that no two transactions wait for each other.
        keys.sort_unstable();
        client.batch_execute("begin").await?;
        let mut sent = Vec::new();
        for key in keys {
            sent.push(self.send(client, statements, format!("key-{key}")).await?);
        }
        let is_committed = self.dice.u8(..5) > 0;
        client.batch_execute(if is_committed { "commit" } else { "rollback" }).await?;
        self.note(sent, is_committed);
        Ok(if is_committed { count } else { 0 })
    }

    async fn send(
        &mut self,
        client: &Client,
        statements: &Statements,
        key: String,
    ) -> Result<Sent> {
        self.serial += 1;
        let marker = format!("{}-{}", self.number, self.serial);
        let sequence: i64 = client.query_one(&statements.lock, &[&key]).await?.get(0);
        client.execute(&statements.count, &[&key, &sequence]).await?;
        let priority = self.dice.i16(0..=10);
        let choice = self.dice.usize(..statements.sends.len());
        let destinations = match choice {
            BOTH => &DESTINATIONS[..],
            one => &DESTINATIONS[one..=one],
        };
        let values: [&(dyn ToSql + Sync); 4] = [&key, &sequence, &marker, &priority];
        let row = client.query_one(&statements.sends[choice], &values).await?;
        Ok(Sent {
            destinations,
            id: MessageId(row.get(0)),
            marker,
            order: Order { key, sequence: sequence.unsigned_abs() },
        })
    }

    fn note(&mut self, sent: Vec<Sent>, is_committed: bool) {
        let at = Instant::now();
        for message in sent {
            if !is_committed {
                let (id, marker) = (Some(message.id), Some(message.marker));
                self.ledger.roll_back(Rollback { id, marker });
                continue;
            }
            for destination in message.destinations {
                self.ledger.commit(Commit {
                    destination: (*destination).into(),
                    id: Some(message.id),
                    marker: Some(message.marker.clone()),
                    order: Some(message.order.clone()),
                    at,
                    is_certain: true,
                });
            }
        }
    }
}
