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
/// Where two looks are further apart, the machine stood still between them: nobody's timeout could end a wait.
const STILL: Duration = Duration::from_millis(500);
/// Sessions that wait for a lock, who has it, and for how many milliseconds this very wait has lasted.
const LOOK: &str = "
    select
        a.pid, a.application_name, a.query, b.pid as holder,
        coalesce(extract(epoch from clock_timestamp() - l.waitstart) * 1000, 0)::float8
    from pg_stat_activity a
    join pg_locks l on l.pid = a.pid and not l.granted
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
    /// How long its longest wait was when it was last seen, without what the machine stood still of it.
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
    let mut waits: HashMap<(i32, i32, String), Wait> = HashMap::new();
    let mut looked_at = Instant::now();
    // Ends of the times that the machine stood still, and how long they were.
    let mut stills: Vec<(Instant, Duration)> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let rows = client.query(LOOK, &[]).await?;
        let now = Instant::now();
        let since = now - looked_at;
        looked_at = now;
        if since > STILL {
            stills.push((now, since));
        }
        for row in rows {
            let (pid, holder): (i32, i32) = (row.get(0), row.get(3));
            // A stranger that waits for another one is none of our business.
            if !holders.contains(&holder) || holders.contains(&pid) {
                continue;
            }
            let (who, query): (String, String) = (row.get(1), row.get(2));
            let time = Duration::from_secs_f64(f64::max(row.get(4), 0.0) / 1_000.0);
            let still = stills.iter().filter(|(end, _)| now - *end < time).map(|(_, still)| *still);
            let time = time.saturating_sub(still.sum());
            let wait = waits.entry((pid, holder, query.clone()));
            let wait = wait.or_insert(Wait { who, query, holder, time });
            wait.time = wait.time.max(time);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(waits.into_values().collect())
}
