//! Who waits for a stranger: looked at all the time while strangers hold something.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinHandle;

use crate::prove::writers::connect;

const PAUSE: Duration = Duration::from_millis(25);
/// Sessions that wait for a lock, and who has it.
const LOOK: &str = "
    select a.pid, a.application_name, a.query, b.pid as holder
    from pg_stat_activity a
    cross join lateral unnest(pg_blocking_pids(a.pid)) b (pid)
    where a.datname = current_database()
    and a.wait_event_type = 'Lock'";

/// A session that waited for a stranger.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Its `application_name`.
    pub who: String,
    pub query: String,
    pub holder: i32,
    /// How long it was seen to wait in one piece.
    pub time: Duration,
}

#[derive(Debug)]
pub struct Watch {
    is_over: Arc<AtomicBool>,
    task: JoinHandle<Result<Vec<Wait>>>,
}

/// Begins to look for sessions that wait for one of these.
pub fn start(url: String, holders: Vec<i32>) -> Watch {
    let is_over = Arc::new(AtomicBool::new(false));
    let task = tokio::spawn(watch(url, holders, Arc::clone(&is_over)));
    Watch { is_over, task }
}

impl Watch {
    /// Who waited, and how long at most.
    pub async fn stop(self) -> Result<Vec<Wait>> {
        self.is_over.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

async fn watch(url: String, holders: Vec<i32>, is_over: Arc<AtomicBool>) -> Result<Vec<Wait>> {
    let client = connect(&url).await?;
    let mut waits: HashMap<(i32, i32, String), (Instant, Wait)> = HashMap::new();
    let mut under_way: Vec<(i32, i32, String)> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let now = Instant::now();
        let mut seen = Vec::new();
        for row in client.query(LOOK, &[]).await? {
            let (pid, holder): (i32, i32) = (row.get(0), row.get(3));
            // A stranger that waits for another one is none of our business.
            if !holders.contains(&holder) || holders.contains(&pid) {
                continue;
            }
            let (who, query): (String, String) = (row.get(1), row.get(2));
            let key = (pid, holder, query.clone());
            let wait = Wait { who, query, holder, time: Duration::ZERO };
            let (began, wait) = waits.entry(key.clone()).or_insert((now, wait));
            if !under_way.contains(&key) {
                *began = now;
            }
            wait.time = wait.time.max(now - *began);
            seen.push(key);
        }
        under_way = seen;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(waits.into_values().map(|(_, wait)| wait).collect())
}
