//! Proofs: long runs under faults, judged by the ledger. `cargo xtask prove` runs them in full, the
//! tests of `crates/postrider` in a short form.

mod batch;
mod consumers;
pub(crate) mod faults;
mod fleets;
mod memory;
mod operators;
mod ordering;
mod plans;
mod poison;
mod receivers;
mod simulation;
mod strangers;
mod tests_run;
mod views;
pub(crate) mod writers;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

pub use batch::{BatchFigures, prove_batch};
pub use consumers::{ConsumerFigures, ConsumerScale, prove_consumers};
pub use faults::{FaultFigures, prove_faults};
pub use fleets::{
    Carrier, FleetFigures, FleetScale, WorkerProgram, prove_fleets, run_fleet_worker,
};
pub use memory::{MemoryFigures, prove_memory};
pub use ordering::{OrderingFigures, OrderingScale, prove_ordering};
pub use poison::{PoisonFigures, prove_poison};
pub use receivers::{ReceiverFigures, ReceiverScale, prove_receivers};
pub use strangers::{StrangersFigures, StrangersScale, prove_strangers};

use postrider_testkit::process::{Profile, postrider_binary};

/// The shortest lease there is.
pub const SHORTEST_LEASE: Duration = Duration::from_secs(5);

/// How much of everything a proof under faults has.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// At least so many messages are committed, and more if the faults take longer.
    pub messages: usize,
    pub writers: usize,
    /// Who tell deliveries what to do, at random.
    pub operators: usize,
    pub dispatchers: usize,
    /// Rounds of SIGKILL of a random dispatcher.
    pub kills: usize,
    /// How often every connection of every dispatcher is cut.
    pub cuts: usize,
    /// How often a dispatcher is frozen for longer than its lease.
    pub freezes: usize,
    /// How often PostgreSQL is killed and started again.
    pub crashes: usize,
    /// How often the synchronous standby, for which commits wait, is killed and started again.
    pub standby_outages: usize,
    /// Whether the standby that takes over gets one of its own, for which commits wait to the end.
    pub renews_standby: bool,
    /// How long dispatchers keep their shards without a sign of life. A tenure that ends by itself is no excuse for
    /// what is doubled, and a virtual machine stands still for seconds now and then.
    pub lease: Duration,
}

impl Scale {
    pub const FULL: Scale = Scale {
        messages: 200_000,
        writers: 8,
        operators: 3,
        dispatchers: 3,
        kills: 20,
        cuts: 10,
        freezes: 2,
        crashes: 3,
        standby_outages: 3,
        renews_standby: true,
        lease: SHORTEST_LEASE,
    };

    pub const SHORT: Scale = Scale {
        messages: 6_000,
        writers: 4,
        operators: 2,
        dispatchers: 2,
        kills: 3,
        cuts: 2,
        freezes: 1,
        crashes: 1,
        standby_outages: 1,
        renews_standby: false,
        lease: Duration::from_secs(8),
    };
}

/// How the proofs are run.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// A form of a minute or two.
    #[arg(long)]
    pub short: bool,
    /// What the dice start from. Without it a new number, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Only this one.
    #[arg(long)]
    pub only: Option<Proof>,
    /// How long the simulation goes on; it takes a minute unless told, and a quarter of that in short.
    #[arg(long)]
    pub seconds: Option<u64>,
}

/// The proofs that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Proof {
    /// Nothing is lost, invented or doubled while everything breaks.
    Faults,
    /// Messages of one ordering key come one after the other while dispatchers are killed.
    Ordering,
    /// A message that kills its dispatcher takes no other along.
    Poison,
    /// A large backlog takes little memory.
    Memory,
    /// A batch of a million is in order, and is delivered once.
    Batch,
    /// Consumers lose nothing, see nothing twice and one order while everything breaks.
    Consumers,
    /// Executions of a fleet end once, and run once at a time, while everything breaks.
    Fleets,
    /// No receiver, whatever it does, stops a dispatcher or slows it down for others.
    Receivers,
    /// Nobody who holds something open, whatever the role, disturbs anybody else.
    Strangers,
    /// No statement reads more than its bound, at a million waiting rows too, whatever its plan was made for.
    Plans,
    /// The views of the queue and of what became of messages cost the same with five million messages.
    Views,
    /// The dispatcher in a simulated world: thousands of lives.
    Simulation,
}

impl Proof {
    const ALL: [Proof; 12] = [
        Proof::Faults,
        Proof::Ordering,
        Proof::Poison,
        Proof::Memory,
        Proof::Batch,
        Proof::Consumers,
        Proof::Fleets,
        Proof::Receivers,
        Proof::Strangers,
        Proof::Plans,
        Proof::Views,
        Proof::Simulation,
    ];
}

/// Runs the proofs and prints what they found.
///
/// # Errors
///
/// When something was lost, invented, out of order or doubled without a cause, or took more memory
/// than allowed.
pub fn run(options: &Options) -> Result<()> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("seed {seed} (repeat with --seed {seed})");
    if options.only == Some(Proof::Simulation) {
        return simulation::prove(seconds(options), seed);
    }
    postrider_testkit::postgres::ensure_installed()?;
    match options.only {
        Some(Proof::Plans) => return plans::prove(options.short),
        Some(Proof::Views) => return views::prove(options.short),
        _ => {}
    }
    let binary = postrider_binary(Profile::Release, &["--features", "test-hooks"])?;
    let proofs = options.only.map_or(Proof::ALL.to_vec(), |only| vec![only]);
    let runtime = tokio::runtime::Runtime::new()?;
    for proof in proofs {
        let began = Instant::now();
        match proof {
            Proof::Simulation => simulation::prove(seconds(options), seed)?,
            Proof::Plans => plans::prove(options.short)?,
            Proof::Views => views::prove(options.short)?,
            proof => runtime.block_on(run_one(proof, &binary, options.short, seed))?,
        }
        println!("took {:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// How long the simulation goes on.
fn seconds(options: &Options) -> u64 {
    options.seconds.unwrap_or(if options.short { 15 } else { 60 })
}

async fn run_one(proof: Proof, binary: &Path, is_short: bool, seed: u64) -> Result<()> {
    match proof {
        Proof::Faults => {
            let scale = if is_short { Scale::SHORT } else { Scale::FULL };
            println!("Faults: {scale:?}");
            let figures = prove_faults(binary, scale, seed).await?;
            println!("{figures}");
            ensure!(figures.is_balanced(), "the ledger does not add up (seed {seed})");
        }
        Proof::Ordering => {
            let scale = if is_short { OrderingScale::SHORT } else { OrderingScale::FULL };
            println!("Ordering keys: {scale:?}");
            let figures = prove_ordering(binary, scale, seed).await?;
            println!("{figures}");
            ensure!(figures.is_in_order(), "ordering keys do not hold (seed {seed})");
        }
        Proof::Poison => {
            println!("Poison: a message that kills its dispatcher");
            println!("{}", prove_poison(binary).await?);
        }
        Proof::Memory => run_memory(binary, is_short).await?,
        Proof::Batch => {
            let messages = if is_short { 50_000 } else { 1_000_000 };
            println!("Batch: {messages} messages in one call");
            let figures = prove_batch(binary, messages).await?;
            println!("{figures}");
            ensure!(figures.is_proven(), "a large batch does not hold");
        }
        Proof::Consumers => {
            let scale = if is_short { ConsumerScale::SHORT } else { ConsumerScale::FULL };
            println!("Consumers: {scale:?}");
            let figures = prove_consumers(binary, scale, seed).await?;
            println!("{figures}");
            ensure!(figures.is_proven(), "consumers do not hold (seed {seed})");
        }
        Proof::Fleets => run_fleets(binary, is_short, seed).await?,
        Proof::Simulation | Proof::Plans | Proof::Views => {
            unreachable!("tests of the workspace, which cargo runs")
        }
        Proof::Strangers => {
            let scale = if is_short { StrangersScale::SHORT } else { StrangersScale::FULL };
            println!("Strangers: {scale:?}");
            let figures = prove_strangers(binary, scale, seed).await?;
            println!("{figures}");
            ensure!(figures.is_proven(), "strangers disturb others (seed {seed})");
        }
        Proof::Receivers => {
            let scale = if is_short { ReceiverScale::SHORT } else { ReceiverScale::FULL };
            println!("Receivers: {scale:?}");
            let figures = prove_receivers(binary, scale).await?;
            println!("{figures}");
            ensure!(figures.is_proven(), "receivers do not hold");
        }
    }
    Ok(())
}

/// A large backlog, and how much memory it takes.
async fn run_memory(binary: &Path, is_short: bool) -> Result<()> {
    let (messages, endpoints, http_every, keys) =
        if is_short { (20_000, 200, 100, 5_000) } else { (2_000_000, 10_000, 1, 500_000) };
    println!("Memory: {messages} messages waiting for {endpoints} endpoints, {keys} keys");
    let figures = prove_memory(binary, messages, endpoints, http_every, keys).await?;
    println!("{figures}");
    // Some 135 MB are what 10,000 endpoints and what is queued for them take. The rest are 1,000 to 3,000 connections, used,
    // idle or about to be closed, and what is under way on them: the slower their receiver, the more.
    ensure!(figures.peak_bytes < 350_000_000, "more than 350 MB");
    // 10,000 endpoints are still there, some 10 kB each, and a key takes 0.4 kB.
    ensure!(figures.keys_peak_bytes < 400_000_000, "more than 400 MB for keys");
    Ok(())
}

/// A fleet by each carrier, one after the other.
async fn run_fleets(binary: &Path, is_short: bool, seed: u64) -> Result<()> {
    let scale = if is_short { FleetScale::SHORT } else { FleetScale::FULL };
    let program = WorkerProgram {
        program: std::env::current_exe()?,
        arguments: vec!["proof-worker".to_owned()],
    };
    for carrier in [Carrier::Postgres, Carrier::Rabbitmq] {
        println!("Fleets, by {carrier:?}: {scale:?}");
        let figures = prove_fleets(binary, &program, carrier, scale, seed).await?;
        println!("{figures}");
        ensure!(figures.is_proven(), "fleets do not hold (seed {seed})");
    }
    Ok(())
}

/// Asks a question again until the answer is what is waited for.
async fn until<F: Future<Output = Result<bool>>>(
    what: &str,
    timeout: Duration,
    mut is_so: impl FnMut() -> F,
) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        // While PostgreSQL restarts there is no answer, which is not yet the end.
        if is_so().await.unwrap_or(false) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{what}: not within {timeout:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
