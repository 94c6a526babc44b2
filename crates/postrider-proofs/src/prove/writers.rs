//! Applications that send in transactions of every kind and keep a book of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use postrider_testkit::ledger::{Commit, Ledger, MessageId, Rollback};

/// Where messages go.
pub const DESTINATIONS: [&str; 3] = ["good", "flaky", "late"];
const LONGEST_BATCH: usize = 40;

/// What all writers share.
#[derive(Debug, Default)]
pub struct Shared {
    pub is_over: AtomicBool,
    pub committed: AtomicUsize,
}

/// A message that was sent in a transaction whose end is not known yet.
struct Sent {
    destination: &'static str,
    id: Option<MessageId>,
    marker: String,
}

/// Starts writers that go on until `shared.is_over`; each returns its book. Commits that did not wait for the disk are
/// in doubt there, because PostgreSQL may have forgotten them when it crashed, and so are those without an answer.
pub fn start(
    url: &str,
    count: usize,
    seed: u64,
    shared: &Arc<Shared>,
    started_at: Instant,
) -> JoinSet<Ledger> {
    let mut writers = JoinSet::new();
    for number in 0..count {
        let writer = Writer {
            number,
            url: url.to_owned(),
            dice: fastrand::Rng::with_seed(seed ^ (number as u64) << 32),
            ledger: Ledger::new(started_at),
            serial: 0,
        };
        writers.spawn(writer.write(Arc::clone(shared)));
    }
    writers
}

struct Writer {
    number: usize,
    url: String,
    dice: fastrand::Rng,
    ledger: Ledger,
    serial: usize,
}

impl Writer {
    async fn write(mut self, shared: Arc<Shared>) -> Ledger {
        while !shared.is_over.load(Ordering::Relaxed) {
            // The server may be down: an application tries again.
            let Ok(client) = connect(&self.url).await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            while !shared.is_over.load(Ordering::Relaxed) {
                match self.transaction(&client).await {
                    Ok(count) => {
                        shared.committed.fetch_add(count, Ordering::Relaxed);
                    }
                    Err(_) => break,
                }
                // The pace of an application, not of a benchmark.
                tokio::time::sleep(Duration::from_millis(self.dice.u64(1..12))).await;
            }
        }
        self.ledger
    }

    /// One transaction; how many messages it committed.
    async fn transaction(&mut self, client: &Client) -> Result<usize> {
        let mut sent = Vec::new();
        let is_hasty = self.dice.u8(..4) == 0;
        let written = self.fill(client, is_hasty, &mut sent).await;
        if let Err(error) = written {
            // The connection broke: nothing of it exists.
            self.roll_back(sent);
            return Err(error);
        }
        if self.dice.u8(..5) == 0 {
            let rolled_back = client.batch_execute("rollback").await;
            self.roll_back(sent);
            rolled_back?;
            return Ok(0);
        }
        let committed = client.batch_execute("commit").await;
        let at = Instant::now();
        let count = sent.len();
        for message in sent {
            self.ledger.commit(Commit {
                destination: message.destination.into(),
                id: message.id,
                marker: Some(message.marker),
                order: None,
                at,
                is_certain: committed.is_ok() && !is_hasty,
            });
        }
        committed.context("commit")?;
        Ok(count)
    }

    async fn fill(&mut self, client: &Client, is_hasty: bool, sent: &mut Vec<Sent>) -> Result<()> {
        let fast = if is_hasty { "; select postrider.enable_fast_mode()" } else { "" };
        client.batch_execute(&format!("begin{fast}")).await?;
        for _ in 0..self.dice.usize(1..4) {
            match self.dice.u8(..10) {
                0 => {
                    client.batch_execute("savepoint s").await?;
                    let mut undone = Vec::new();
                    let result = self.send(client, &mut undone).await;
                    self.roll_back(undone);
                    result?;
                    client.batch_execute("rollback to savepoint s").await?;
                }
                1 | 2 => {
                    client.batch_execute("savepoint s").await?;
                    self.send(client, sent).await?;
                    client.batch_execute("release savepoint s").await?;
                }
                3 => self.send_batch(client, sent).await?,
                _ => self.send(client, sent).await?,
            }
        }
        Ok(())
    }

    async fn send(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let (destination, marker) = self.next();
        sent.push(Sent { destination, id: None, marker: marker.clone() });
        // Some expire while they wait.
        let life = (self.dice.u8(..20) == 0).then(|| self.dice.i32(1..6));
        let row = client
            .query_one(
                "select postrider.send_with_options(
                    $1, jsonb_build_object('marker', $2::text),
                    p_expires_at => clock_timestamp() + $3::integer * interval '1 second')",
                &[&destination, &marker, &life],
            )
            .await?;
        if let Some(last) = sent.last_mut() {
            last.id = Some(MessageId(row.get(0)));
        }
        Ok(())
    }

    async fn send_batch(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let count = self.dice.usize(2..LONGEST_BATCH);
        let (destination, _) = self.next();
        let markers: Vec<String> = (0..count).map(|_| self.next().1).collect();
        let first = sent.len();
        let unknown = |marker: &String| Sent { destination, id: None, marker: marker.clone() };
        sent.extend(markers.iter().map(unknown));
        let row = client
            .query_one(
                "select postrider.send_batch($1, (
                    select array_agg(jsonb_build_object('marker', m.marker) order by m.place)
                    from unnest($2::text[]) with ordinality m (marker, place)))",
                &[&destination, &markers],
            )
            .await?;
        let ids: Vec<i64> = row.get(0);
        for (message, id) in sent[first..].iter_mut().zip(ids) {
            message.id = Some(MessageId(id));
        }
        Ok(())
    }

    fn next(&mut self) -> (&'static str, String) {
        self.serial += 1;
        let destination = DESTINATIONS[self.dice.usize(..DESTINATIONS.len())];
        (destination, format!("{}-{}", self.number, self.serial))
    }

    fn roll_back(&mut self, sent: Vec<Sent>) {
        for message in sent {
            self.ledger.roll_back(Rollback { id: message.id, marker: Some(message.marker) });
        }
    }
}

/// A connection whose task runs on the current runtime.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
