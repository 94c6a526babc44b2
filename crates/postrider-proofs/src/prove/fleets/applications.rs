//! Applications that submit executions of every kind in transactions, roll some back, and cancel some.
//!
//! Every transaction writes its name into a table of the application. So the end of one whose connection
//! broke is looked up and not guessed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_postgres::{
    Client,
    error::{DbError, SqlState},
};

use super::{FleetScale, judge::Asked};
use crate::prove::writers::connect;

/// Actions, each with its limit and how much of a hundred executions is of it.
pub const ACTIONS: [(&str, Option<usize>, u32); 4] = [
    ("free", None, 68),
    ("limited.3", Some(3), 21),
    ("limited.2", Some(2), 9),
    ("single", Some(1), 2),
];
/// The pools that have workers.
pub const POOLS: [&str; 2] = ["alpha", "beta"];
/// Nobody is in it.
const EMPTY_POOL: &str = "nobody";
/// Longer than the run.
const LONG_TTL_MS: i64 = 600_000;
/// It may be over before somebody is there.
const SHORT_TTL_MS: std::ops::Range<i64> = 1_000..2_500;
/// What is for sleepers alone must not keep the run from its end.
const SHORTEST_TTL_MS: std::ops::Range<i64> = 1_000..1_500;
const LONG_TIMEOUT_MS: i64 = 600_000;
/// Longer than any timeout that is meant to pass.
const ENDLESS_WORK_MS: u64 = 600_000;
/// What a sleeper begins and another one does.
const MET_WORK_MS: std::ops::Range<u64> = 300..900;
const RECONNECT_PAUSE: Duration = Duration::from_millis(30);
const PAUSE_MS: std::ops::Range<u64> = 1..10;
/// How long an application waits when more than enough is under way.
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// How much later something is cancelled, in milliseconds.
const CANCEL_DELAY_MS: std::ops::Range<u64> = 0..1_500;

/// What all applications share.
#[derive(Debug, Default)]
pub struct Shared {
    pub is_over: AtomicBool,
    pub committed: AtomicUsize,
    /// What the watcher saw last in live_execution.
    pub live: AtomicUsize,
    /// How often a sleeper has spoken up while another ran what it had.
    pub met: AtomicUsize,
}

/// What an application did.
#[derive(Debug, Default)]
pub struct Book {
    pub committed: Vec<Asked>,
    pub rolled_back: Vec<String>,
}

/// What is submitted, and what the judge has to know of it.
#[derive(Debug)]
struct Order {
    asked: Asked,
    worker: Option<String>,
    pool: Option<String>,
    priority: i32,
    work_ms: u64,
    panics: bool,
}

/// A transaction whose end is not known.
#[derive(Debug)]
struct Pending {
    name: String,
    asked: Vec<(Asked, i64)>,
}

/// Starts them; they go on until `shared.is_over`, and each returns its book.
pub fn start(
    url: &str,
    scale: &FleetScale,
    seed: u64,
    shared: &Arc<Shared>,
) -> JoinSet<Result<Book>> {
    let mut applications = JoinSet::new();
    for number in 0..scale.applications {
        let application = Application {
            number,
            scale: *scale,
            dice: fastrand::Rng::with_seed(seed ^ (number as u64 + 1) << 32),
            shared: Arc::clone(shared),
            book: Book::default(),
            pending: None,
            to_cancel: Vec::new(),
            serial: 0,
        };
        let (url, shared) = (url.to_owned(), Arc::clone(shared));
        applications.spawn(async move {
            let result = application.work(url).await;
            if result.is_err() {
                shared.is_over.store(true, Ordering::Relaxed);
            }
            result
        });
    }
    applications
}

struct Application {
    number: usize,
    scale: FleetScale,
    dice: fastrand::Rng,
    shared: Arc<Shared>,
    book: Book,
    pending: Option<Pending>,
    /// When, the execution, and its place in the book.
    to_cancel: Vec<(Instant, i64, usize)>,
    serial: usize,
}

/// Two transactions that make the same workers known, each in another order, are told apart by PostgreSQL; one begins
/// again.
fn is_made_known_twice(error: &DbError) -> bool {
    let is_there = |place: &str| place.contains("postrider.addressed_worker");
    *error.code() == SqlState::T_R_DEADLOCK_DETECTED && error.where_().is_some_and(is_there)
}

impl Application {
    async fn work(mut self, url: String) -> Result<Book> {
        let mut client: Option<Client> = None;
        loop {
            let is_over = self.shared.is_over.load(Ordering::Relaxed);
            if is_over && self.pending.is_none() && self.to_cancel.is_empty() {
                return Ok(self.book);
            }
            let Some(open) = client.as_ref().filter(|client| !client.is_closed()) else {
                client = connect(&url).await.ok();
                if client.is_none() {
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
                continue;
            };
            if let Err(error) = self.step(open, is_over).await
                && !open.is_closed()
            {
                let is_refused = error
                    .downcast_ref::<tokio_postgres::Error>()
                    .and_then(tokio_postgres::Error::as_db_error)
                    // Shut down: the connection breaks in a moment.
                    .is_some_and(|error| {
                        !error.code().code().starts_with("57P") && !is_made_known_twice(error)
                    });
                anyhow::ensure!(!is_refused, "application {}: {error:?}", self.number);
                client = None;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.u64(PAUSE_MS))).await;
        }
    }

    async fn step(&mut self, client: &Client, is_over: bool) -> Result<()> {
        if self.pending.is_some() {
            return self.settle(client).await;
        }
        let now = Instant::now();
        if let Some(index) = self.to_cancel.iter().position(|(due, _, _)| is_over || *due <= now) {
            return self.cancel(client, index).await;
        }
        if is_over {
            return Ok(());
        }
        if self.shared.live.load(Ordering::Relaxed) > self.scale.most_live {
            tokio::time::sleep(FULL_PAUSE).await;
            return Ok(());
        }
        self.transaction(client).await
    }

    async fn transaction(&mut self, client: &Client) -> Result<()> {
        self.serial += 1;
        let name = format!("{}-{}", self.number, self.serial);
        let count = self.dice.usize(1..self.scale.longest_transaction);
        client.batch_execute("begin").await?;
        let mut asked = Vec::new();
        for place in 0..count {
            if self.dice.u8(..20) == 0 {
                client.batch_execute("savepoint s").await?;
                let undone = self.next(format!("{name}-{place}-undone"));
                self.book.rolled_back.push(undone.asked.marker.clone());
                self.submit(client, &undone).await?;
                client.batch_execute("rollback to savepoint s").await?;
            }
            let next = self.next(format!("{name}-{place}"));
            match self.submit(client, &next).await {
                Ok(id) => asked.push((next.asked, id)),
                Err(error) => {
                    self.book.rolled_back.push(next.asked.marker);
                    self.roll_back(asked);
                    return Err(error);
                }
            }
        }
        if self.dice.u8(..10) == 0 {
            let rolled_back = client.batch_execute("rollback").await;
            self.roll_back(asked);
            return Ok(rolled_back?);
        }
        let named =
            client.execute("insert into fleet_proof.submitted (name) values ($1)", &[&name]).await;
        if let Err(error) = named {
            self.roll_back(asked);
            return Err(error.into());
        }
        let pending = Pending { name, asked };
        match client.batch_execute("commit").await {
            Ok(()) => self.commit(pending),
            Err(error) => {
                self.pending = Some(pending);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Looks up what became of a transaction whose answer was lost.
    async fn settle(&mut self, client: &Client) -> Result<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let found = client
            .query_opt("select from fleet_proof.submitted s where s.name = $1", &[&pending.name])
            .await;
        match found {
            Ok(Some(_)) => self.commit(pending),
            Ok(None) => self.roll_back(pending.asked),
            Err(error) => {
                self.pending = Some(pending);
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn commit(&mut self, pending: Pending) {
        self.shared.committed.fetch_add(pending.asked.len(), Ordering::Relaxed);
        for (asked, id) in pending.asked {
            if self.dice.u32(..100) < 4 {
                let delay = Duration::from_millis(self.dice.u64(CANCEL_DELAY_MS));
                self.to_cancel.push((Instant::now() + delay, id, self.book.committed.len()));
            }
            self.book.committed.push(asked);
        }
    }

    fn roll_back(&mut self, asked: Vec<(Asked, i64)>) {
        self.book.rolled_back.extend(asked.into_iter().map(|(asked, _)| asked.marker));
    }

    async fn cancel(&mut self, client: &Client, index: usize) -> Result<()> {
        let (_, id, place) = self.to_cancel.swap_remove(index);
        // Before the call: its answer may be lost.
        self.book.committed[place].is_cancelled = true;
        client.query_one("select postrider.cancel_execution($1)", &[&id]).await?;
        Ok(())
    }

    fn next(&mut self, marker: String) -> Order {
        let action = self.action();
        let (failures, reason) = match self.dice.u32(..100) {
            0..80 => (0, "transient_error"),
            80..92 => (self.dice.i32(1..4), "transient_error"),
            92..96 => (99, "permanent_error"),
            96..99 => (99, "bad_input"),
            _ => (1, "manual_retry"),
        };
        let mut order = Order {
            asked: Asked {
                marker,
                action: action.to_owned(),
                max_retries: self.dice.i32(0..4),
                ttl_ms: LONG_TTL_MS,
                timeout_ms: LONG_TIMEOUT_MS,
                failures,
                reason: reason.to_owned(),
                is_cancelled: false,
            },
            worker: None,
            pool: Some(POOLS[usize::from(self.dice.u8(..4) == 0)].to_owned()),
            priority: self.dice.i32(0..=10),
            work_ms: self.dice.u64(..30),
            // That is a transient error.
            panics: reason == "transient_error" && failures > 0 && self.dice.u8(..10) == 0,
        };
        self.route(&mut order);
        // One that is slow stops all of an action with a limit.
        if action == ACTIONS[0].0 {
            match self.dice.u32(..1_000) {
                0..15 => {
                    order.asked.timeout_ms = self.dice.i64(200..800);
                    order.work_ms = ENDLESS_WORK_MS;
                }
                15..25 => order.work_ms = self.dice.u64(500..self.scale.longest_work_ms),
                _ => {}
            }
        }
        order
    }

    fn action(&mut self) -> &'static str {
        let mut share = self.dice.u32(..100);
        for (action, _, part) in ACTIONS {
            if share < part {
                return action;
            }
            share -= part;
        }
        ACTIONS[0].0
    }

    /// Some are for one worker alone, some for one or the pool, and some for nobody who is there.
    fn route(&mut self, order: &mut Order) {
        let worker = super::worker_name(self.dice.usize(..self.scale.workers));
        match self.dice.u32(..1_000) {
            0..120 => {
                order.worker = Some(worker);
                order.pool = None;
            }
            120..180 => order.worker = Some(worker),
            180..190 => {
                order.worker = Some(format!("ghost-{}", self.dice.u8(..3)));
                order.pool = None;
                order.asked.ttl_ms = self.dice.i64(SHORT_TTL_MS);
                order.asked.max_retries = self.dice.i32(0..2);
            }
            190..195 => {
                order.pool = Some(EMPTY_POOL.to_owned());
                order.asked.ttl_ms = self.dice.i64(SHORT_TTL_MS);
                order.asked.max_retries = self.dice.i32(0..2);
            }
            225..240 if order.asked.failures == 0 && order.asked.action == ACTIONS[0].0 => {
                let sleeper = self.dice.usize(..self.scale.sleepers);
                order.worker = Some(super::sleepers::sleeper_name(sleeper));
                order.asked.max_retries = self.dice.i32(1..4);
                // It is to be met while another runs it.
                order.priority = 10;
                order.work_ms = self.dice.u64(MET_WORK_MS);
                // Over before the sleeper wakes up, which is nobody's business once it has started.
                if self.dice.bool() {
                    order.asked.ttl_ms = self.dice.i64(SHORT_TTL_MS);
                    // Who gets it next is a sleeper, too, and not quick to start it.
                    if self.dice.u8(..3) == 0 {
                        order.asked.max_retries = 1;
                        order.asked.ttl_ms = self.dice.i64(SHORTEST_TTL_MS);
                        order.pool = Some(super::sleepers::POOL.to_owned());
                    }
                }
            }
            195..225 => order.asked.ttl_ms = self.dice.i64(SHORT_TTL_MS),
            _ => {}
        }
    }

    async fn submit(&self, client: &Client, order: &Order) -> Result<i64> {
        let asked = &order.asked;
        let parameters = json!({
            "marker": asked.marker,
            "work_ms": order.work_ms,
            "failures": asked.failures,
            "reason": asked.reason,
            "panics": order.panics,
        });
        let statement = "select postrider.submit_execution(
                $1, $2::text::jsonb, p_worker => $3, p_pool => $4,
                p_ttl => $5 * interval '1 millisecond', p_timeout => $6 * interval '1 millisecond',
                p_priority => $7, p_max_retries => $8)";
        let row = client
            .query_one(
                statement,
                &[
                    &asked.action,
                    &parameters.to_string(),
                    &order.worker,
                    &order.pool,
                    &(asked.ttl_ms as f64),
                    &(asked.timeout_ms as f64),
                    &order.priority,
                    &asked.max_retries,
                ],
            )
            .await?;
        Ok(row.get(0))
    }
}
