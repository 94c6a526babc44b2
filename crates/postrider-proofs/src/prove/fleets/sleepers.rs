//! Workers that fall asleep with what they have started, and wake up when others have it: whatever they
//! say then must not count.
//!
//! They speak SQL alone and do all that a well-behaved worker avoids. The Rust `Worker` stops by itself
//! before it is taken for lost, so that nothing of it would ever come too late. Their work takes no
//! time; its result is what comes late. While they are awake, their heartbeats are as rare as may be.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Error, Row, error::SqlState, types::ToSql};

use super::{
    FleetScale,
    applications::Shared,
    judge::{AnswerRow, Call, Moment, ProcessRow, RunRow},
    worker::now,
};
use crate::prove::writers::connect;

/// They are mostly asleep: what is for all of them has to be started soon, or expires.
pub const POOL: &str = "sleepers";
const CAPACITY: i32 = 4;
/// They are no processes of the machine: their numbers are above those.
const FIRST_PROCESS: i32 = 1_000_000;
/// So many times a sleeper registers at most.
const MOST_SHIFTS: i32 = 10_000;
/// The pause between two heartbeats, in hundredths of what a worker may be silent.
const HEARTBEAT_PAUSE: Range<u32> = 40..75;
const TAKE_WAIT_MS: f64 = 200.0;
/// So long after it was to be lost, what it had is mostly with another.
const OVERSLEPT: Duration = Duration::from_secs(5);
/// Between taking and starting.
const HESITATION_MS: Range<u64> = 0..200;
const LOOK_PAUSE: Duration = Duration::from_millis(20);
const RECONNECT_PAUSE: Duration = Duration::from_millis(30);

/// What the sleepers did.
#[derive(Debug, Default)]
pub struct SleeperBook {
    /// One for each time that one has registered.
    pub processes: Vec<ProcessRow>,
    pub runs: Vec<RunRow>,
    pub answers: Vec<AnswerRow>,
}

/// The name of a sleeper.
pub fn sleeper_name(number: usize) -> String {
    format!("sleeper-{number}")
}

/// Starts them; they go on until `shared.is_over`, and each returns its book.
pub fn start(
    url: &str,
    scale: &FleetScale,
    seed: u64,
    shared: &Arc<Shared>,
) -> JoinSet<Result<SleeperBook>> {
    let mut sleepers = JoinSet::new();
    for number in 0..scale.sleepers {
        let sleeper = Sleeper {
            name: sleeper_name(number),
            stale_after: scale.stale_after,
            next_process: FIRST_PROCESS + number as i32 * MOST_SHIFTS,
            dice: fastrand::Rng::with_seed(seed ^ (number as u64 + 1) << 48),
            shared: Arc::clone(shared),
            book: SleeperBook::default(),
        };
        let (url, shared) = (url.to_owned(), Arc::clone(shared));
        sleepers.spawn(async move {
            let result = sleeper.live(&url).await;
            if result.is_err() {
                shared.is_over.store(true, Ordering::Relaxed);
            }
            result
        });
    }
    sleepers
}

struct Sleeper {
    name: String,
    stale_after: Duration,
    next_process: i32,
    dice: fastrand::Rng,
    shared: Arc<Shared>,
    book: SleeperBook,
}

/// From registering on.
#[derive(Debug)]
struct Shift {
    worker_id: i32,
    epoch: i32,
    heartbeat_at: Instant,
}

/// What it has started and not finished.
#[derive(Debug)]
struct Held {
    run: RunRow,
    /// What it was scheduled with.
    first_fence: i64,
}

impl Sleeper {
    async fn live(mut self, url: &str) -> Result<SleeperBook> {
        while !self.is_over() {
            let Ok(client) = connect(url).await else {
                tokio::time::sleep(RECONNECT_PAUSE).await;
                continue;
            };
            if let Err(error) = self.shift(&client).await {
                // The server is shut down, or it was taken for lost already.
                let is_expected = error.as_db_error().is_none_or(|error| {
                    error.code().code().starts_with("57P") || is_refusal(error.code())
                });
                anyhow::ensure!(is_expected, "{}: {error:?}", self.name);
            }
            // Whatever it had it has no more.
            self.note_silence(now());
        }
        Ok(self.book)
    }

    /// Registers, takes, falls asleep, and wakes up when others have everything it had, or after long enough.
    async fn shift(&mut self, client: &Client) -> Result<(), Error> {
        let mut shift = self.register(client).await?;
        let mut held = Vec::new();
        let mut heartbeats = 0;
        while !self.is_over() && (held.is_empty() || heartbeats == 0) {
            self.take(client, &shift, &mut held).await?;
            let pause = self.stale_after * self.dice.u32(HEARTBEAT_PAUSE) / 100;
            if shift.heartbeat_at.elapsed() > pause {
                shift.heartbeat_at = Instant::now();
                self.beat(client, &shift).await?;
                heartbeats += 1;
            }
        }
        self.note_silence(now());
        let asleep_at = Instant::now();
        let longest = self.stale_after + OVERSLEPT;
        while !held.is_empty() && !self.is_over() && asleep_at.elapsed() < longest {
            self.look(client, &shift, &mut held).await?;
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        let leave = "select postrider.deregister_worker($1, $2)";
        client.execute(leave, &[&shift.worker_id, &shift.epoch]).await?;
        Ok(())
    }

    async fn register(&mut self, client: &Client) -> Result<Shift, Error> {
        let number = self.next_process;
        self.next_process += 1;
        let heartbeat_at = Instant::now();
        self.book.processes.push(ProcessRow {
            number,
            worker: self.name.clone(),
            capacity: CAPACITY.unsigned_abs() as usize,
            is_killed: false,
            frozen: Vec::new(),
            silent_since: None,
            heartbeats: vec![now()],
            ended_at: Moment::MAX,
        });
        let register = "select r.worker_id, r.epoch
            from postrider.register_worker($1, $2, $3, p_carrier => 'postgres') r";
        let row = client.query_one(register, &[&self.name, &POOL, &CAPACITY]).await?;
        Ok(Shift { worker_id: row.get(0), epoch: row.get(1), heartbeat_at })
    }

    /// Starts what it gets. Of some it says at once that it is completed.
    async fn take(
        &mut self,
        client: &Client,
        shift: &Shift,
        held: &mut Vec<Held>,
    ) -> Result<(), Error> {
        let take = "select t.execution_id, t.fence
            from postrider.take_executions($1, $2, $3 * interval '1 millisecond', $4) t";
        let values: [&(dyn ToSql + Sync); 4] =
            [&shift.worker_id, &CAPACITY, &TAKE_WAIT_MS, &shift.epoch];
        let taken = client.query(take, &values).await?;
        if !taken.is_empty() {
            // Meanwhile another one may try to start what it was once given.
            tokio::time::sleep(Duration::from_millis(self.dice.u64(HESITATION_MS))).await;
        }
        let start = "select s.execution_id, s.fence, s.attempt
            from postrider.start_execution($1, $2, $3) s";
        for row in taken {
            let (id, first_fence): (i64, i64) = (row.get(0), row.get(1));
            let started = client.query_opt(start, &[&id, &first_fence, &shift.epoch]).await?;
            let Some(row) = started else { continue };
            let next = Held { run: self.note_run(&row), first_fence };
            if self.dice.u8(..4) == 0 {
                self.call(client, Call::Complete, &next).await?;
            } else {
                held.push(next);
            }
        }
        Ok(())
    }

    /// The run is over as soon as it has begun.
    fn note_run(&mut self, row: &Row) -> RunRow {
        let process = self.next_process - 1;
        let at = now();
        let run = RunRow {
            key: (process, self.book.runs.len() as i64),
            execution_id: row.get(0),
            attempt: row.get(2),
            fence: row.get(1),
            started_at: at,
            ended_at: Some(at),
        };
        self.book.runs.push(run.clone());
        run
    }

    /// Refused when the worker is lost.
    async fn beat(&mut self, client: &Client, shift: &Shift) -> Result<(), Error> {
        let asked_at = now();
        let beat = "select from postrider.worker_heartbeat($1, $2)";
        client.query(beat, &[&shift.worker_id, &shift.epoch]).await?;
        if let Some(process) = self.book.processes.last_mut() {
            process.heartbeats.push(asked_at);
        }
        Ok(())
    }

    /// Whether a heartbeat counts when the worker itself is lost, too.
    async fn is_heard(&mut self, client: &Client, shift: &Shift) -> Result<bool, Error> {
        match self.beat(client, shift).await {
            Ok(()) => Ok(true),
            Err(error) if error.code().is_some_and(is_refusal) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Wakes up for each that others have, or nobody any more.
    async fn look(
        &mut self,
        client: &Client,
        shift: &Shift,
        held: &mut Vec<Held>,
    ) -> Result<(), Error> {
        let ids: Vec<i64> = held.iter().map(|held| held.run.execution_id).collect();
        let live = "select l.id, l.fence, l.status
            from postrider.live_execution l
            where l.id = any ($1)";
        let rows = client.query(live, &[&ids]).await?;
        let mut waiting = Vec::new();
        for held in held.drain(..) {
            let row = rows.iter().find(|row| row.get::<_, i64>(0) == held.run.execution_id);
            let state = row.map(|row| (row.get::<_, i64>(1), row.get::<_, &str>(2)));
            match state {
                Some((fence, _)) if fence == held.run.fence => waiting.push(held),
                // In between it speaks now and then, and is still waiting for the next run.
                Some((_, status @ ("requested" | "scheduled"))) => {
                    if status == "scheduled" || self.dice.u8(..20) == 0 {
                        self.speak_late(client, &held).await?;
                        if self.is_heard(client, shift).await? {
                            // It would go on being there for nothing. The rest is for the judge.
                            continue;
                        }
                    }
                    waiting.push(held);
                }
                _ => {
                    self.speak_late(client, &held).await?;
                    if state.is_some() {
                        self.shared.met.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        *held = waiting;
        Ok(())
    }

    /// Everything that one could say about an execution, with the fences it had, in any order.
    async fn speak_late(&mut self, client: &Client, held: &Held) -> Result<(), Error> {
        let mut calls = Call::ALL;
        self.dice.shuffle(&mut calls);
        for call in calls {
            self.call(client, call, held).await?;
        }
        Ok(())
    }

    async fn call(&mut self, client: &Client, call: Call, held: &Held) -> Result<(), Error> {
        let run = &held.run;
        let fence = if call == Call::Start { held.first_fence } else { run.fence };
        let result = json!({ "process": run.key.0, "run": run.key.1 }).to_string();
        let sql = match call {
            Call::Start => "select exists (select from postrider.start_execution($1, $2))",
            Call::Extend => "select postrider.extend_execution($1, $2, '1 minute')",
            Call::Complete => "select postrider.complete_execution($1, $2, $3::text::jsonb)",
            Call::Fail => {
                "select postrider.fail_execution($1, $2, 'overslept', $3::text::jsonb) is not null"
            }
            Call::Release => "select postrider.release_execution($1, $2)",
        };
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&run.execution_id, &fence];
        if matches!(call, Call::Complete | Call::Fail) {
            values.push(&result);
        }
        let asked_at = now();
        let is_accepted: bool = client.query_one(sql, &values).await?.get(0);
        self.book.answers.push(AnswerRow { run: run.key, call, asked_at, is_accepted });
        Ok(())
    }

    /// From now on it does not do its part.
    fn note_silence(&mut self, since: Moment) {
        if let Some(process) = self.book.processes.last_mut() {
            process.silent_since.get_or_insert(since);
        }
    }

    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }
}

/// 55000: it has to register again.
fn is_refusal(code: &SqlState) -> bool {
    *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
}
