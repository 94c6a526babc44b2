//! What tests of worker fleets need. No dispatcher runs: `take_executions` does the monitor's work.

use std::time::Instant;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::{Shop, producing::id_of, serving::LONG};

/// Everything that waits for its time is due now.
pub const DUE: &str = "update postrider.live_execution
    set due_at = clock_timestamp() - interval '1 second'
    where is_delayed";
/// Whoever has to be heard from has not been.
pub const STALE: &str =
    "update postrider.worker set heartbeat_at = clock_timestamp() - interval '1 hour'";

/// A worker as it was registered.
#[derive(Debug, Clone, Copy)]
pub struct Registered {
    pub id: i32,
    pub epoch: i32,
}

/// An execution and its last fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub id: i64,
    pub fence: i64,
}

pub async fn submit(client: &Client, arguments: &str) -> i64 {
    id_of(client, &format!("select postrider.submit_execution({arguments})")).await
}

pub async fn register(client: &Client, arguments: &str) -> Registered {
    let sql = format!("select worker_id, epoch from postrider.register_worker({arguments})");
    let row = client.query_one(&sql, &[]).await.unwrap_or_else(|e| panic!("{e:?}: {sql}"));
    Registered { id: row.get(0), epoch: row.get(1) }
}

pub async fn take(client: &Client, worker: i32, limit: i32) -> Vec<Held> {
    let sql = "select execution_id, fence from postrider.take_executions($1, $2)";
    let rows = client.query(sql, &[&worker, &limit]).await.unwrap();
    rows.iter().map(|row| Held { id: row.get(0), fence: row.get(1) }).collect()
}

/// The ids that a worker gets.
pub async fn taken(client: &Client, worker: i32, limit: i32) -> Vec<i64> {
    take(client, worker, limit).await.iter().map(|held| held.id).collect()
}

pub async fn start(client: &Client, held: Held) -> Option<Held> {
    let sql = "select execution_id, fence from postrider.start_execution($1, $2)";
    let row = client.query_opt(sql, &[&held.id, &held.fence]).await.unwrap();
    row.map(|row| Held { id: row.get(0), fence: row.get(1) })
}

/// Takes and starts the one execution that waits for the worker.
pub async fn run_one(client: &Client, worker: i32) -> Held {
    let held = take(client, worker, 1).await;
    start(client, *held.first().expect("something to take")).await.expect("it starts")
}

/// As [`run_one`], for one that is still to come, or that a dispatcher looks at just now.
pub async fn run_next(client: &Client, worker: i32) -> Held {
    let sql = "select execution_id, fence from postrider.take_executions($1, 1, '10 seconds')";
    let deadline = Instant::now() + LONG;
    loop {
        assert!(Instant::now() < deadline, "nothing to take in {LONG:?}");
        let row = client.query_opt(sql, &[&worker]).await.unwrap();
        if let Some(row) = row {
            let held = Held { id: row.get(0), fence: row.get(1) };
            return start(client, held).await.expect("it starts");
        }
    }
}

/// The first value of the first row that a statement returns, as text; `none` without a row, the
/// SQLSTATE where it is refused.
pub async fn answer(client: &Client, sql: &str) -> String {
    match client.simple_query(sql).await {
        Ok(messages) => messages
            .iter()
            .find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
                _ => None,
            })
            .unwrap_or_else(|| "none".to_owned()),
        Err(error) => error.code().unwrap_or_else(|| panic!("{error:?}: {sql}")).code().to_owned(),
    }
}

/// The status of an execution; `delayed` is a retry that waits for its time.
pub async fn status(client: &Client, id: i64) -> String {
    let sql = format!(
        "select case
            when retry_at is not null then 'delayed'
            when cancel_requested_at is not null then 'cancelling'
            else status
        end from postrider.executions where id = {id}"
    );
    answer(client, &sql).await
}

impl Shop {
    /// Takes and starts and ends whatever waits in the pool `default`, and forgets the workers.
    pub async fn clear_fleet(&self) {
        self.execute(
            "truncate postrider.live_execution, postrider.worker, postrider.execution,
                postrider.execution_end, postrider.execution_dead_letter, postrider.action",
        )
        .await;
    }
}
