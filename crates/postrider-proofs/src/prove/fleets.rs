//! A fleet of worker processes beside applications of every kind, while workers are killed, frozen,
//! stopped and started, dispatchers die, and PostgreSQL and RabbitMQ restart: every execution ends exactly
//! once with a reason, none runs twice at the same time, and limits hold.

mod applications;
mod judge;
mod rows;
mod scene;
mod sleepers;
mod watcher;
mod worker;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use anyhow::{Context, Result};

pub use self::worker::run_fleet_worker;

use self::{
    applications::{ACTIONS, Shared},
    judge::{Evidence, Moment, Verdict, judge},
    scene::{FaultCounts, Scene},
};

/// How many findings the printed figures list.
const LISTED: usize = 30;

/// What brings executions to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    Postgres,
    /// One worker in four gets its executions by PostgreSQL all the same.
    Rabbitmq,
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub struct FleetScale {
    pub workers: usize,
    /// Workers that fall asleep with what they have started, and speak up when others have it.
    pub sleepers: usize,
    /// At least so often one of them speaks up while another runs what it had.
    pub awakenings: usize,
    pub dispatchers: usize,
    pub applications: usize,
    /// At least so many executions are committed.
    pub executions: usize,
    /// Applications wait while more than so many have not ended.
    pub most_live: usize,
    /// A transaction submits fewer than so many.
    pub longest_transaction: usize,
    /// Some take up to so long.
    pub longest_work_ms: u64,
    /// SIGKILLs of workers.
    pub kills: usize,
    /// Workers frozen for longer than they may be silent.
    pub freezes: usize,
    /// Workers stopped by SIGTERM.
    pub stops: usize,
    /// SIGKILLs of dispatchers.
    pub dispatcher_kills: usize,
    /// Immediate shutdowns of PostgreSQL.
    pub crashes: usize,
    /// How often all connections to RabbitMQ are cut.
    pub cuts: usize,
    /// Restarts of RabbitMQ.
    pub broker_restarts: usize,
    /// The longest pause between two faults, in milliseconds.
    pub longest_pause_ms: u64,
    /// A worker counts as lost after so long without a heartbeat, and a heartbeat comes every second. That a virtual
    /// machine stands still for seconds is on no record, and so explains no loss.
    pub stale_after: Duration,
    /// How long a worker may go on with what it has lost: a heartbeat, and what a busy machine takes.
    pub grace: Duration,
}

impl FleetScale {
    pub const FULL: FleetScale = FleetScale {
        workers: 20,
        sleepers: 4,
        awakenings: 50,
        dispatchers: 2,
        applications: 6,
        executions: 50_000,
        most_live: 3_000,
        longest_transaction: 40,
        longest_work_ms: 6_000,
        kills: 30,
        freezes: 5,
        stops: 15,
        dispatcher_kills: 6,
        crashes: 1,
        cuts: 5,
        broker_restarts: 1,
        longest_pause_ms: 2_500,
        stale_after: Duration::from_secs(4),
        grace: Duration::from_secs(3),
    };

    pub const SHORT: FleetScale = FleetScale {
        workers: 6,
        sleepers: 2,
        awakenings: 1,
        dispatchers: 2,
        applications: 3,
        executions: 900,
        most_live: 300,
        longest_transaction: 20,
        longest_work_ms: 1_500,
        kills: 3,
        freezes: 1,
        stops: 2,
        dispatcher_kills: 1,
        crashes: 1,
        cuts: 1,
        broker_restarts: 1,
        longest_pause_ms: 700,
        stale_after: Duration::from_secs(8),
        grace: Duration::from_secs(8),
    };
}

/// How a worker process is started: a program that ends up in [`run_fleet_worker`].
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct FleetFigures {
    pub verdict: Verdict,
    pub faults: FaultCounts,
    /// What a look at the tables every few milliseconds found, and how often it looked.
    pub seen: Vec<String>,
    pub looks: usize,
    /// Queues of RabbitMQ in which messages were left.
    pub left_messages: Vec<String>,
    rolled_back: usize,
}

impl FleetFigures {
    /// Whether fleets keep what is promised.
    pub fn is_proven(&self) -> bool {
        self.verdict.findings.is_empty() && self.seen.is_empty() && self.left_messages.is_empty()
    }
}

impl fmt::Display for FleetFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.verdict)?;
        writeln!(
            formatter,
            "  rolled back {}; the watcher looked {} times",
            self.rolled_back, self.looks
        )?;
        write!(formatter, "  {}", self.faults)?;
        for left in &self.left_messages {
            write!(formatter, "\n  messages are left in RabbitMQ: {left}")?;
        }
        let findings = self.verdict.findings.iter().chain(&self.seen);
        let count = findings.clone().count();
        for finding in findings.take(LISTED) {
            write!(formatter, "\n  WRONG: {finding}")?;
        }
        if count > LISTED {
            write!(formatter, "\n  and {} more", count - LISTED)?;
        }
        Ok(())
    }
}

/// Runs a fleet, applications and faults; says what the judge says.
///
/// # Errors
///
/// When the run itself cannot go on, such as a worker that ends by itself.
pub async fn prove_fleets(
    binary: &Path,
    program: &WorkerProgram,
    carrier: Carrier,
    scale: FleetScale,
    seed: u64,
) -> Result<FleetFigures> {
    let mut scene = Scene::open(binary, program, carrier, scale, seed).await?;
    let shared = Arc::new(Shared::default());
    let watcher = watcher::start(scene.url().to_owned(), Arc::clone(&shared));
    let mut sleepers = sleepers::start(scene.url(), &scale, seed, &shared);
    scene.wait_for_workers().await?;
    let mut applications = applications::start(scene.url(), &scale, seed, &shared);
    scene.break_everything(&shared).await?;
    shared.is_over.store(true, Ordering::Relaxed);
    let mut evidence = Evidence {
        limits: limits(),
        grace: Moment::try_from(scale.grace.as_micros())?,
        stale_after: Moment::try_from(scale.stale_after.as_micros())?,
        ..Evidence::default()
    };
    while let Some(book) = applications.join_next().await {
        let book = book.context("an application panicked")??;
        evidence.asked.extend(book.committed);
        evidence.rolled_back.extend(book.rolled_back);
    }
    while let Some(book) = sleepers.join_next().await {
        let book = book.context("a sleeper panicked")??;
        evidence.processes.extend(book.processes);
        evidence.runs.extend(book.runs);
        evidence.answers.extend(book.answers);
    }
    scene.drain().await?;
    let left_messages = scene.left_messages().await?;
    let (seen, looks) = watcher.stop().await;
    let faults = scene.leave().await?;
    rows::read(scene.url(), &mut evidence).await?;
    evidence.processes.extend(scene.processes);
    evidence.outages = scene.outages;
    let verdict = judge(&evidence);
    Ok(FleetFigures {
        verdict,
        faults,
        seen,
        looks,
        left_messages,
        rolled_back: evidence.rolled_back.len(),
    })
}

fn limits() -> HashMap<String, usize> {
    let limited = |(name, limit, _): (&str, Option<usize>, u32)| Some((name.to_owned(), limit?));
    ACTIONS.into_iter().filter_map(limited).collect()
}

/// The name of a worker.
fn worker_name(number: usize) -> String {
    format!("worker-{number}")
}
