//! Two workers of the classic design, each a thread with a connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::http::Poster;
use super::stand::Database;

const WORKER_COUNT: usize = 2;
const BATCH_SIZE: i64 = 500;
/// Requests of one worker under way at a time: 64 in all.
const IN_FLIGHT: usize = 32;
/// The pause of a worker that found nothing.
const IDLE_PAUSE: Duration = Duration::from_millis(5);
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// What a worker does with a message.
#[derive(Debug, Clone)]
pub enum Delivery {
    Discard,
    /// A POST to this address.
    Http(String),
}

/// Running workers.
pub struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<()>>>,
}

#[derive(Default)]
struct Shared {
    is_stopping: AtomicBool,
    delivered: AtomicI64,
}

impl Workers {
    pub fn start(database: &Database<'_>, delivery: &Delivery) -> Self {
        let shared = Arc::<Shared>::default();
        let start = |_| {
            let (shared, url, delivery) = (Arc::clone(&shared), database.url(), delivery.clone());
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(work(&url, &delivery, &shared))
            })
        };
        let threads = (0..WORKER_COUNT).map(start).collect();
        Self { shared, threads }
    }

    /// How many messages are in the archive.
    pub fn delivered_count(&self) -> i64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Waits until so many are.
    pub async fn wait_for(&self, count: i64, timeout: Duration) -> Result<()> {
        let began_at = Instant::now();
        while self.delivered_count() < count {
            ensure!(!self.threads.iter().any(JoinHandle::is_finished), "a worker ended");
            ensure!(began_at.elapsed() < timeout, "the workers need more than {timeout:?}");
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        Ok(())
    }

    /// Ends them after the batch in hand.
    pub fn stop(self) -> Result<()> {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| anyhow!("a worker panicked"))??;
        }
        Ok(())
    }
}

async fn work(url: &str, delivery: &Delivery, shared: &Shared) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        // The client reports a broken connection at its next statement.
        let _ = connection.await;
    });
    // The same pinned plans that our dispatcher has, and no waiting for commits either.
    let session = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    client.batch_execute(session).await?;
    let claim = client.prepare(include_str!("classic_claim.sql")).await?;
    let complete = client.prepare(include_str!("classic_complete.sql")).await?;
    let poster = Poster::new();
    while !shared.is_stopping.load(Ordering::Relaxed) {
        let rows = client.query(&claim, &[&BATCH_SIZE]).await.context("could not claim")?;
        if rows.is_empty() {
            tokio::time::sleep(IDLE_PAUSE).await;
            continue;
        }
        if let Delivery::Http(url) = delivery {
            post_all(&poster, url, &rows).await?;
        }
        finish(&client, &complete, &rows).await?;
        shared.delivered.fetch_add(rows.len() as i64, Ordering::Relaxed);
    }
    Ok(())
}

async fn post_all(poster: &Poster, url: &str, rows: &[Row]) -> Result<()> {
    let posts = rows.iter().map(|row| {
        let payload: String = row.get(4);
        poster.post(url, row.get(0), Bytes::from(payload))
    });
    let mut posts = futures_util::stream::iter(posts).buffer_unordered(IN_FLIGHT);
    while let Some(posted) = posts.next().await {
        posted?;
    }
    Ok(())
}

async fn finish(client: &Client, complete: &Statement, rows: &[Row]) -> Result<()> {
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    client.execute(complete, &[&ids]).await.context("could not complete")?;
    Ok(())
}
