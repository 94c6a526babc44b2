//! Looks at the tables all the time: whether more is under way than a limit or a capacity allows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::applications::Shared;
use crate::prove::writers::connect;

const PAUSE: Duration = Duration::from_millis(15);
/// What it keeps at most of what it finds.
const MOST_KEPT: usize = 100;
/// One snapshot each. What a worker has in the database is limited where the database gives it out. By RabbitMQ
/// the next message is started as soon as a handler has ended, which the database may learn a moment later, or
/// after a restart: there the workers' own records tell how many ran at a time.
const LOOK: &str = "
    select format('%s of %s at a time', count(*), l.action) as finding
    from postrider.live_execution l
    join postrider.action a on a.name = l.action
    where l.status <> 'requested'
    group by l.action, a.concurrency
    having count(*) > a.concurrency
    union all
    select format(
        'worker %s has %s executions: %s', w.name, count(*),
        string_agg(format('%s %s epoch %s', l.id, l.status, l.worker_epoch), ', '))
    from postrider.live_execution l
    join postrider.worker w on w.id = l.worker_id
    where l.carrier = 'postgres'
    group by w.id
    having count(*) > w.capacity";

/// A task that looks until it is stopped.
#[derive(Debug)]
pub struct Watcher {
    is_over: Arc<AtomicBool>,
    task: JoinHandle<(Vec<String>, usize)>,
}

/// Begins to look.
pub fn start(url: String, shared: Arc<Shared>) -> Watcher {
    let is_over = Arc::new(AtomicBool::new(false));
    let task = tokio::spawn(watch(url, shared, Arc::clone(&is_over)));
    Watcher { is_over, task }
}

impl Watcher {
    /// What it found, and how often it looked.
    pub async fn stop(self) -> (Vec<String>, usize) {
        self.is_over.store(true, Ordering::Relaxed);
        self.task.await.unwrap_or_else(|error| (vec![format!("the watcher: {error}")], 0))
    }
}

async fn watch(url: String, shared: Arc<Shared>, is_over: Arc<AtomicBool>) -> (Vec<String>, usize) {
    let mut findings = Vec::new();
    let mut looks = 0;
    let mut client: Option<Client> = None;
    while !is_over.load(Ordering::Relaxed) {
        if client.as_ref().is_none_or(Client::is_closed) {
            client = connect(&url).await.ok();
        }
        if let Some(client) = &client
            && let Ok(live) = look(client, &mut findings).await
        {
            shared.live.store(live, Ordering::Relaxed);
            looks += 1;
        }
        findings.truncate(MOST_KEPT);
        tokio::time::sleep(PAUSE).await;
    }
    (findings, looks)
}

/// How many have not ended.
async fn look(client: &Client, findings: &mut Vec<String>) -> Result<usize> {
    for row in client.query(LOOK, &[]).await? {
        findings.push(row.get(0));
    }
    let count = "select count(*) from postrider.live_execution";
    let live: i64 = client.query_one(count, &[]).await?.get(0);
    Ok(usize::try_from(live).unwrap_or(0))
}
