//! The order service of the demo: a small application with a table of its own.
//!
//! It works as an application would: it writes its rows and sends its messages in one transaction,
//! which commits or does not. And it keeps a book of what it did, by which it is known what has to
//! arrive and what must not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use postrider_testkit::{
    ledger::{Commit, Ledger, MessageId, Rollback},
    receiver::Request,
};
use tokio::{sync::watch, task::JoinSet};
use tokio_postgres::{Client, NoTls};

use super::{DESTINATIONS, UNKNOWN_ITEM};

/// How many connections take orders.
const CLERK_COUNT: u64 = 4;
/// How long a clerk rests between two orders: the load of a shop, not of a benchmark.
const REST: Duration = Duration::from_millis(10);
/// One order in so many, the first after ten, is for something the warehouse does not know.
const UNKNOWN_ITEM_EVERY: u64 = 200;
const FIRST_UNKNOWN_ITEM: u64 = 10;
/// How many messages a batch has.
const BATCH: u64 = 10;
const ITEMS: [&str; 4] = ["book", "lamp", "chair", "kettle"];

/// What the transaction of an order does.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Commit,
    RollBack,
    /// Sends in a savepoint that is released.
    ReleaseSavepoint,
    /// Sends in a savepoint that is rolled back, then goes on.
    RollBackSavepoint,
    /// Sends a batch besides.
    Batch,
}

/// The open shop.
pub struct Shop {
    clerks: JoinSet<Result<Book>>,
    is_open: watch::Sender<bool>,
    counts: Arc<Counts>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Counts {
    committed: [AtomicUsize; DESTINATIONS.len()],
    rolled_back: AtomicUsize,
    refused: AtomicUsize,
}

/// What committed and what did not.
#[derive(Debug, Default)]
pub struct Book {
    commits: Vec<Commit>,
    rollbacks: Vec<(&'static str, Rollback)>,
    /// Orders that committed.
    pub order_count: i64,
}

/// A message that was sent in a transaction whose end is not known yet.
#[derive(Debug)]
struct Sent {
    destination: usize,
    id: MessageId,
    marker: String,
}

/// One who takes orders, on a connection of its own.
struct Clerk {
    number: u64,
    client: Client,
    dice: fastrand::Rng,
    book: Book,
    counts: Arc<Counts>,
}

/// A transaction that sends at the beginning of the run and commits at its end.
pub struct LongTransaction {
    client: Client,
    sent: Vec<Sent>,
}

impl Shop {
    /// Makes the table of orders and lets the clerks begin.
    pub async fn open(url: &str, seed: u64) -> Result<Self> {
        let setup = connect(url).await?;
        setup
            .batch_execute(
                "create table orders (clerk bigint, number bigint, item text not null, \
                 primary key (clerk, number))",
            )
            .await?;
        let (is_open, open) = watch::channel(true);
        let counts = Arc::new(Counts::default());
        let mut clerks = JoinSet::new();
        for number in 1..=CLERK_COUNT {
            let clerk = Clerk {
                number,
                client: connect(url).await?,
                dice: fastrand::Rng::with_seed(seed.wrapping_add(number)),
                book: Book::default(),
                counts: Arc::clone(&counts),
            };
            clerks.spawn(clerk.work(open.clone()));
        }
        Ok(Self { clerks, is_open, counts })
    }

    /// Lets the clerks finish their last orders.
    pub async fn close(&mut self) -> Result<Book> {
        self.is_open.send_replace(false);
        let mut book = Book::default();
        while let Some(clerk) = self.clerks.join_next().await {
            let own = clerk.context("a clerk panicked")?.context("a clerk could not go on")?;
            book.commits.extend(own.commits);
            book.rollbacks.extend(own.rollbacks);
            book.order_count += own.order_count;
        }
        Ok(book)
    }

    /// Committed messages by destination.
    pub fn committed_counts(&self) -> Vec<usize> {
        self.counts.committed.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Messages that were sent and rolled back.
    pub fn rolled_back_count(&self) -> usize {
        self.counts.rolled_back.load(Ordering::Relaxed)
    }

    /// Committed messages that the warehouse refuses.
    pub fn refused_count(&self) -> usize {
        self.counts.refused.load(Ordering::Relaxed)
    }
}

impl Clerk {
    async fn work(mut self, open: watch::Receiver<bool>) -> Result<Book> {
        for order in 1.. {
            if !*open.borrow() {
                break;
            }
            self.take_order(order).await?;
            tokio::time::sleep(REST).await;
        }
        Ok(self.book)
    }

    /// One transaction.
    async fn take_order(&mut self, order: u64) -> Result<()> {
        let is_unknown = order % UNKNOWN_ITEM_EVERY == FIRST_UNKNOWN_ITEM;
        let item = if is_unknown { UNKNOWN_ITEM } else { ITEMS[self.dice.usize(..ITEMS.len())] };
        let plan = if is_unknown { Plan::Commit } else { self.plan() };

        self.client.batch_execute("begin").await?;
        let insert = "insert into orders (clerk, number, item) values ($1, $2, $3)";
        let (clerk, number) = (self.number as i64, order as i64);
        self.client.execute(insert, &[&clerk, &number, &item]).await?;
        let mut sent = Vec::new();
        for destination in 0..DESTINATIONS.len() {
            sent.push(self.send(destination, order, item).await?);
        }
        match plan {
            Plan::Commit | Plan::RollBack => {}
            Plan::ReleaseSavepoint => {
                self.client.batch_execute("savepoint gift").await?;
                sent.push(self.send(0, order, "gift").await?);
                self.client.batch_execute("release savepoint gift").await?;
            }
            Plan::RollBackSavepoint => {
                self.client.batch_execute("savepoint coupon").await?;
                let undone = self.send(0, order, "coupon").await?;
                self.client.batch_execute("rollback to savepoint coupon").await?;
                self.roll_back(vec![undone]);
                // What is sent after it belongs to the transaction again.
                sent.push(self.send(0, order, "note").await?);
            }
            Plan::Batch => sent.extend(self.send_batch(0, order).await?),
        }
        if matches!(plan, Plan::RollBack) {
            self.client.batch_execute("rollback").await?;
            self.roll_back(sent);
        } else {
            self.client.batch_execute("commit").await?;
            if is_unknown {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
            }
            self.book.commit(sent, &self.counts);
            self.book.order_count += 1;
        }
        Ok(())
    }

    fn plan(&mut self) -> Plan {
        match self.dice.u32(..100) {
            ..60 => Plan::Commit,
            60..80 => Plan::RollBack,
            80..88 => Plan::ReleaseSavepoint,
            88..96 => Plan::RollBackSavepoint,
            _ => Plan::Batch,
        }
    }

    async fn send(&self, destination: usize, order: u64, item: &str) -> Result<Sent> {
        let marker = format!("{}-{order}-{}-{item}", self.number, DESTINATIONS[destination]);
        send(&self.client, destination, marker, item).await
    }

    async fn send_batch(&self, destination: usize, order: u64) -> Result<Vec<Sent>> {
        let markers: Vec<String> =
            (0..BATCH).map(|part| format!("{}-{order}-part-{part}", self.number)).collect();
        let payloads: Vec<String> = markers.iter().map(|marker| payload(marker, "part")).collect();
        let sql = "select postrider.send_batch($1, $2::text[]::jsonb[])";
        let row = self.client.query_one(sql, &[&DESTINATIONS[destination], &payloads]).await?;
        let ids: Vec<i64> = row.get(0);
        let messages = ids.into_iter().zip(markers);
        Ok(messages.map(|(id, marker)| Sent { destination, id: MessageId(id), marker }).collect())
    }

    fn roll_back(&mut self, sent: Vec<Sent>) {
        self.counts.rolled_back.fetch_add(sent.len(), Ordering::Relaxed);
        self.book.roll_back(sent);
    }
}

impl LongTransaction {
    /// Sends one message to each destination and stays open.
    pub async fn begin(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        client.batch_execute("begin").await?;
        let mut sent = Vec::new();
        for (destination, name) in DESTINATIONS.iter().enumerate() {
            sent.push(send(&client, destination, format!("long-{name}"), "inventory").await?);
        }
        Ok(Self { client, sent })
    }

    /// Commits at last.
    pub async fn commit(self, book: &mut Book, shop: &Shop) -> Result<()> {
        self.client.batch_execute("commit").await?;
        book.commit(self.sent, &shop.counts);
        Ok(())
    }
}

impl Book {
    fn commit(&mut self, sent: Vec<Sent>, counts: &Counts) {
        let at = Instant::now();
        for message in sent {
            counts.committed[message.destination].fetch_add(1, Ordering::Relaxed);
            self.commits.push(Commit {
                destination: DESTINATIONS[message.destination].into(),
                id: Some(message.id),
                marker: Some(message.marker),
                order: None,
                at,
                is_certain: true,
            });
        }
    }

    fn roll_back(&mut self, sent: Vec<Sent>) {
        self.rollbacks.extend(sent.into_iter().map(|message| {
            let rollback = Rollback { id: Some(message.id), marker: Some(message.marker) };
            (DESTINATIONS[message.destination], rollback)
        }));
    }

    /// The ids of all messages that committed, ascending.
    pub fn committed_ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> =
            self.commits.iter().filter_map(|commit| commit.id).map(|id| id.0).collect();
        ids.sort_unstable();
        ids
    }

    /// Enters what was sent to a destination into a ledger.
    pub fn record_into(&self, ledger: &mut Ledger, destination: &str) {
        for commit in self.commits.iter().filter(|commit| &*commit.destination == destination) {
            ledger.commit(commit.clone());
        }
        for (_, rollback) in self.rollbacks.iter().filter(|(name, _)| *name == destination) {
            ledger.roll_back(rollback.clone());
        }
    }
}

/// Connects; the connection ends with the client.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // The client reports a broken connection at its next statement.
        let _ = connection.await;
    });
    Ok(client)
}

async fn send(client: &Client, destination: usize, marker: String, item: &str) -> Result<Sent> {
    let sql = "select postrider.send($1, $2::text::jsonb)";
    let payload = payload(&marker, item);
    let row = client.query_one(sql, &[&DESTINATIONS[destination], &payload]).await?;
    Ok(Sent { destination, id: MessageId(row.get(0)), marker })
}

fn payload(marker: &str, item: &str) -> String {
    serde_json::json!({ "type": "order.placed", "item": item, "marker": marker }).to_string()
}

/// The marker of the message that a request brought.
pub fn marker_of(request: &Request) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(&request.body).ok()?;
    body["marker"].as_str().map(str::to_owned)
}
