//! `cargo xtask chaos`: random faults against continuous traffic that uses every feature; the ledger
//! decides.
//!
//! The faults and their times come from the seed alone and are printed before anything runs. Everything
//! else is real and takes the time it takes. What is wrong is told with its history, and logs and data
//! stay in the target folder.
//!
//! What a crash may have taken back, a commit that did not wait for the disk or got no answer, is looked up in the
//! log at the end. No fault here takes back what is on disk, so what is not in the log must not have arrived.

mod administrator;
mod book;
mod disk;
mod judge;
mod scene;
mod schedule;
mod writers;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use book::Book;
use disk::Disk;
use judge::{Stored, Verdict};
use scene::Scene;
pub use schedule::{Disturbance, Mood, Planned, schedule};

use crate::prove::{SHORTEST_LEASE, writers::connect};
use postrider_testkit::process::{self, Profile, postrider_binary};
use postrider_testkit::stillness::Stillness;

const WRITERS: usize = 4;
/// How long the short form sends and disturbs.
const SHORT: Duration = Duration::from_secs(45);
/// How long everything may take to arrive after the last fault.
const DRAIN: Duration = Duration::from_secs(360);
/// The pause between two looks at what is left.
const LOOK: Duration = Duration::from_millis(500);

/// How it is run.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// How long messages are sent and faults happen.
    #[arg(long, default_value_t = 10)]
    pub minutes: u64,
    /// What the faults come from. Without it a new number, which is printed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// A form of about a minute, instead of `--minutes`.
    #[arg(long)]
    pub short: bool,
    /// Build the dispatchers with optimizations: longer to build, faster to run.
    #[arg(long)]
    pub release: bool,
}

/// Runs it and prints what came of it.
///
/// # Errors
///
/// When something is lost, invented, doubled without a cause, out of order, early, late or left over,
/// and when something does not come up again.
pub fn run(options: &Options) -> Result<()> {
    // Before the first thread.
    let disk = Disk::mount();
    postrider_testkit::postgres::ensure_installed()?;
    let profile = if options.release { Profile::Release } else { Profile::Debug };
    let binary = postrider_binary(profile, &[])?;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let time = if options.short { SHORT } else { Duration::from_secs(options.minutes * 60) };
    ensure!(!time.is_zero(), "--minutes must be at least 1");
    let plan = schedule(seed, time);
    let folder = process::target().join("chaos").join(seed.to_string());
    // What an earlier run left.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let listed: Vec<String> = plan.iter().map(ToString::to_string).collect();
    let listed = format!("seed {seed}, {time:?}\n{}\n", listed.join("\n"));
    fs::write(folder.join("schedule.txt"), &listed)?;
    println!("{listed}The schedule is in {}.", folder.display());
    let missing = disk.as_ref().err().map(|error| {
        format!("LEFT OUT: the disk does not get full, because this needs a mount: {error:#}")
    });
    if let Some(missing) = &missing {
        println!("{missing}");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let stage = Stage { binary, folder: folder.clone(), seed, time };
    runtime.block_on(stage.play(disk.ok(), &plan))?;
    if let Some(missing) = &missing {
        println!("{missing}");
    }
    // The schedule stays.
    for entry in fs::read_dir(&folder)?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "log") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

struct Stage {
    binary: PathBuf,
    folder: PathBuf,
    seed: u64,
    time: Duration,
}

impl Stage {
    async fn play(&self, disk: Option<Disk>, plan: &[Planned]) -> Result<()> {
        // A run has prepared transactions or notifications: together they cannot be had.
        let has_two_phases = self.seed % 2 == 1;
        println!("two-phase commits: {}", if has_two_phases { "yes" } else { "no" });
        let mut scene =
            Scene::open(&self.binary, &self.folder, disk, self.seed, has_two_phases).await?;
        let result = self.play_on(&mut scene, plan, has_two_phases).await;
        match result {
            Ok(verdict) if verdict.is_good() => {
                println!("{verdict}");
                Ok(())
            }
            Ok(verdict) => {
                println!("{verdict}");
                self.tell(&scene, &verdict).await;
                self.keep(&mut scene);
                bail!("not all is well (seed {}); see {}", self.seed, self.folder.display())
            }
            Err(error) => {
                self.keep(&mut scene);
                Err(error.context(format!(
                    "the run broke off (seed {}); see {}",
                    self.seed,
                    self.folder.display()
                )))
            }
        }
    }

    async fn play_on(
        &self,
        scene: &mut Scene,
        plan: &[Planned],
        has_two_phases: bool,
    ) -> Result<Verdict> {
        let started_at = scene.ledger.started_at();
        let stillness = Stillness::watch()?;
        let shared = Arc::default();
        let seed = self.seed;
        let mut writers =
            writers::start(&scene.url, WRITERS, seed, has_two_phases, &shared, started_at);
        let is_over = Arc::new(AtomicBool::new(false));
        let administrator = administrator::administrate(scene.url.clone(), seed, is_over.clone());
        let administrator = tokio::spawn(administrator);
        let played = scene.play(plan, self.time).await;
        shared.is_over.store(true, Ordering::Relaxed);
        is_over.store(true, Ordering::Relaxed);
        played?;

        let mut book = Book::new(started_at);
        while let Some(written) = writers.join_next().await {
            book.merge(written.context("a writer panicked")?);
        }
        administrator.await.context("the administrator panicked")?;
        scene.heal().await?;
        let drained_at = Instant::now();
        let is_drained = drain(&scene.url).await;
        println!(
            "{} transactions; drained in {:.1} s",
            shared.transactions.load(Ordering::Relaxed),
            drained_at.elapsed().as_secs_f64()
        );
        // As far as it could be written: the log lies on the disk that was full.
        let log = scene.postgres.log();
        let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
        println!(
            "PostgreSQL said {} times that no space is left, and recovered {} times from a crash",
            count("No space left on device"),
            count("redo starts at")
        );
        scene.stop_dispatchers().await?;
        let stored = Stored::read(&connect(&scene.url).await?).await?;
        if !is_drained {
            book.problems.push(format!("messages are left {DRAIN:?} after the last fault"));
        }
        let ledger = std::mem::replace(
            &mut scene.ledger,
            postrider_testkit::ledger::Ledger::new(started_at),
        );
        book.ledger.merge(ledger);
        stillness.record_into(&mut book.ledger, SHORTEST_LEASE);
        Ok(judge::judge(book, &scene.receivers, stored))
    }

    /// Prints the history of what is wrong.
    async fn tell(&self, scene: &Scene, verdict: &Verdict) {
        let Ok(client) = connect(&scene.url).await else { return };
        let started_at = verdict.report.started_at;
        for id in verdict.suspects() {
            println!("{}", judge::history(&client, id, &scene.receivers, started_at).await);
        }
    }

    /// Keeps the server's log and data.
    fn keep(&self, scene: &mut Scene) {
        let log = scene.postgres.log();
        let stopped = tokio::task::block_in_place(|| scene.postgres.stop());
        let kept = fs::write(self.folder.join("postgresql.log"), log)
            .map_err(Into::into)
            .and(stopped)
            .and(copy(&scene.postgres.data_dir(), &self.folder.join("data")));
        if let Err(error) = kept {
            println!("could not keep everything: {error:#}");
        }
    }
}

/// Waits until nothing is left to deliver, redriving what was refused; whether that was in time.
async fn drain(url: &str) -> bool {
    let deadline = Instant::now() + DRAIN;
    let is_drained = "select not exists (select from postrider.deferred)
        and not exists (select from postrider.dead_letter where status = 'failed')
        and not exists (
            select
            from postrider.subscriptions s
            where postrider.has_unread_messages(s.id)
        )";
    while Instant::now() < deadline {
        if let Ok(client) = connect(url).await {
            let redrive = "select postrider.redrive_all()
                where not exists (select from postrider.job where state = 'running')";
            let _ = client.batch_execute(redrive).await;
            if client.query_one(is_drained, &[]).await.is_ok_and(|row| row.get(0)) {
                return true;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    false
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(status.success(), "cp -a {} {}: {status}", from.display(), to.display());
    Ok(())
}
