//! The pull consumer of the demo: it enters every message into a table, in the shop's own database.
//!
//! What it enters and how far it is commit in one transaction, so that a batch that is rolled back
//! leaves nothing behind and comes again.

use anyhow::{Context, Result};
use tokio::{sync::watch, task::JoinHandle};
use tokio_postgres::Client;

use super::orders::connect;

pub const CONSUMER: &str = "projection";
/// One batch in so many is rolled back.
const ROLLED_BACK_EVERY: u64 = 5;
const BATCH_SIZE: i32 = 20;

/// The consumer at work.
pub struct Projection {
    task: JoinHandle<Result<Reading>>,
    is_closing: watch::Sender<bool>,
}

/// What it did.
#[derive(Debug, Default)]
pub struct Reading {
    /// What was entered, in the order of the entries.
    pub entered: Vec<i64>,
    pub batch_count: u64,
    pub rolled_back_count: u64,
}

impl Projection {
    /// Makes the table and begins to read.
    pub async fn start(url: &str) -> Result<Self> {
        let client = connect(url).await?;
        let table = "create table entries (number bigint generated always as identity, \
                     message_id bigint not null, item text)";
        client.batch_execute(table).await?;
        let (is_closing, closing) = watch::channel(false);
        Ok(Self { task: tokio::spawn(work(client, closing)), is_closing })
    }

    /// Lets it read what there is.
    pub async fn finish(self) -> Result<Reading> {
        self.is_closing.send_replace(true);
        self.task.await.context("the consumer panicked")?.context("the consumer could not go on")
    }
}

async fn work(client: Client, closing: watch::Receiver<bool>) -> Result<Reading> {
    let mut reading = Reading::default();
    let fetch = "select position, message_id, data ->> 'item' \
                 from postrider.fetch_messages($1, $2, interval '200 milliseconds')";
    let enter = "insert into entries (message_id, item) values ($1, $2)";
    loop {
        let is_closing = *closing.borrow();
        client.batch_execute("begin").await?;
        let batch = client.query(fetch, &[&CONSUMER, &BATCH_SIZE]).await?;
        for row in &batch {
            let (id, item): (i64, Option<&str>) = (row.get(1), row.get(2));
            client.execute(enter, &[&id, &item]).await?;
        }
        let Some(last) = batch.last() else {
            client.batch_execute("commit").await?;
            if is_closing {
                break;
            }
            continue;
        };
        let position: i64 = last.get(0);
        client.execute("select postrider.acknowledge($1, $2)", &[&CONSUMER, &position]).await?;
        reading.batch_count += 1;
        if reading.batch_count % ROLLED_BACK_EVERY == 0 {
            client.batch_execute("rollback").await?;
            reading.rolled_back_count += 1;
        } else {
            client.batch_execute("commit").await?;
        }
    }
    let entries = client.query("select message_id from entries order by number", &[]).await?;
    reading.entered = entries.iter().map(|row| row.get(0)).collect();
    Ok(reading)
}
