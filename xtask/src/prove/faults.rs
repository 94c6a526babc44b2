//! Continuous traffic, and operators who tell deliveries what to do, while dispatchers are killed and frozen,
//! connections are cut, PostgreSQL crashes and its standby goes away.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio_postgres::Client;

use super::{
    Scale,
    operators::{self, Verbs},
    until,
    writers::{self, DESTINATIONS, Shared, connect},
};
use crate::{
    ledger::{Commit, Destination, Fault, FaultKind, Ledger, MessageId, Report, Rollback},
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver, Request},
};

/// The shortest lease there is.
pub const LEASE: Duration = Duration::from_secs(5);
/// How long everything may take to arrive after the last fault.
const DRAIN: Duration = Duration::from_secs(300);
/// Retries come quickly and do not end before the run does.
const RETRY_POLICY: &str =
    r#"{"backoff": "fixed", "base_delay_seconds": 1, "max_retries": 500, "jitter": 0.5}"#;
const LONG_MARKER: &str = "long";

enum Disturbance {
    Kill,
    Cut,
    Freeze,
    Crash,
    StandbyOutage,
}

/// What a run has come to.
#[derive(Debug)]
pub struct FaultFigures {
    pub report: Report,
    pub verbs: Verbs,
}

impl FaultFigures {
    /// Whether nothing was lost, invented or doubled without a cause, and whatever operators told came true.
    pub fn is_balanced(&self) -> bool {
        self.report.is_balanced() && self.verbs.are_kept()
    }
}

impl fmt::Display for FaultFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.report, self.verbs)
    }
}

/// Runs writers, operators, dispatchers and faults; says what the ledger says.
///
/// # Errors
///
/// When the run itself cannot go on. A ledger that does not add up is in the report.
pub async fn prove_faults(binary: &Path, scale: Scale, seed: u64) -> Result<FaultFigures> {
    let mut dice = fastrand::Rng::with_seed(seed);
    // It forgets what did not wait for the disk for longer than it usually would.
    let options = Options::default()
        .set("wal_writer_delay", "2s")
        // A standby that has lost its primary asks for it again soon.
        .set("wal_retrieve_retry_interval", "200ms");
    let postgres = PrivatePostgres::start(options)?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    let receivers = [
        Receiver::start(Behaviour::Status(200))?,
        Receiver::start(Behaviour::Fraction { status: 503, share: 0.33, seed })?,
        Receiver::start(Behaviour::Status(200))?,
    ];
    install(binary, &url)?;
    let client = connect(&url).await?;
    client.batch_execute(&setup(&receivers)).await?;
    receivers[2].down()?;
    let standby = postgres.standby()?;
    let follow = "alter system set synchronous_standby_names = '*'";
    client.batch_execute(follow).await?;
    client.batch_execute("select pg_reload_conf()").await?;

    let started_at = Instant::now();
    let mut scene = Scene {
        binary: binary.to_owned(),
        url: url.clone(),
        dispatchers: Vec::new(),
        ledger: Ledger::new(started_at),
        postgres,
        standby,
        started_count: 0,
        long: None,
    };
    for _ in 0..scale.dispatchers {
        let dispatcher = scene.start_dispatcher()?;
        scene.dispatchers.push(dispatcher);
    }
    scene.begin_long_transaction().await?;
    let shared = Arc::new(Shared::default());
    let mut writers = writers::start(&url, scale.writers, seed, &shared, started_at);
    let operators = operators::start(&url, scale.operators, seed, &shared);

    for disturbance in schedule(scale, &mut dice) {
        // A random moment is the point here.
        tokio::time::sleep(Duration::from_millis(dice.u64(200..1500))).await;
        scene.disturb(&disturbance, &mut dice).await?;
        if scene.ledger_age() > Duration::from_secs(5) {
            receivers[2].up()?;
        }
    }
    receivers[2].up()?;
    until("enough messages", Duration::from_secs(900), || async {
        Ok(shared.committed.load(Ordering::Relaxed) >= scale.messages)
    })
    .await?;
    shared.is_over.store(true, Ordering::Relaxed);
    let mut hasty = Vec::new();
    while let Some(written) = writers.join_next().await {
        let written = written.context("a writer panicked")?;
        scene.ledger.merge(written.ledger);
        hasty.extend(written.hasty);
    }
    let operated = operators.join_all().await;
    let forgotten = settle(&mut scene.ledger, &connect(&url).await?, hasty).await?;
    println!("  {forgotten} messages of asynchronous commits were forgotten by PostgreSQL");
    scene.end_long_transaction().await?;
    scene.drain().await?;

    let Scene { mut ledger, dispatchers, .. } = scene;
    for dispatcher in &dispatchers {
        dispatcher.stop(Duration::from_secs(90)).await?;
    }
    for (name, receiver) in DESTINATIONS.iter().zip(&receivers) {
        receiver.record_into(&mut ledger, &Destination::from(*name), marker_of);
    }
    let client = connect(&url).await?;
    let verbs = operators::judge(operated, &mut ledger, &client, &receivers).await?;
    Ok(FaultFigures { report: ledger.check(), verbs })
}

/// Commits that did not wait for the disk: what the log has was committed, what it has not never existed,
/// whatever its sender was told. Returns how many it has not.
async fn settle(ledger: &mut Ledger, client: &Client, hasty: Vec<Commit>) -> Result<usize> {
    let sql = "select m.id, m.payload ->> 'marker' from postrider.message m";
    let rows = client.query(sql, &[]).await?;
    let known: HashMap<String, i64> = rows
        .iter()
        .filter_map(|row| Some((row.get::<_, Option<String>>(1)?, row.get(0))))
        .collect();
    let mut forgotten = 0;
    for commit in hasty {
        let id = commit.marker.as_ref().and_then(|marker| known.get(marker));
        match id {
            Some(id) => {
                ledger.commit(Commit { id: Some(MessageId(*id)), is_certain: true, ..commit })
            }
            None => {
                forgotten += 1;
                // Its id may be another message's by now.
                ledger.roll_back(Rollback { id: None, marker: commit.marker });
            }
        }
    }
    Ok(forgotten)
}

/// All faults in a random order.
fn schedule(scale: Scale, dice: &mut fastrand::Rng) -> Vec<Disturbance> {
    let mut all = Vec::new();
    all.extend((0..scale.kills).map(|_| Disturbance::Kill));
    all.extend((0..scale.cuts).map(|_| Disturbance::Cut));
    all.extend((0..scale.freezes).map(|_| Disturbance::Freeze));
    all.extend((0..scale.crashes).map(|_| Disturbance::Crash));
    all.extend((0..scale.standby_outages).map(|_| Disturbance::StandbyOutage));
    dice.shuffle(&mut all);
    all
}

/// Installs the schema with the binary that is to be proven.
pub fn install(binary: &Path, url: &str) -> Result<()> {
    let output =
        std::process::Command::new(binary).arg("migrate").env("DATABASE_URL", url).output()?;
    ensure!(output.status.success(), "migrate: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn setup(receivers: &[Receiver]) -> String {
    let mut sql = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('stale_recovery_timeout', '{}');",
        LEASE.as_secs()
    );
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        sql.push_str(&format!(
            "select postrider.create_endpoint('{name}', 'http', '{}');",
            serde_json::json!({ "url": receiver.url() })
        ));
    }
    sql.push_str(&format!("update postrider.endpoints set retry_policy = '{RETRY_POLICY}'"));
    sql
}

/// The marker in the body of a request.
fn marker_of(request: &Request) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(&request.body).ok()?;
    Some(body.get("marker")?.as_str()?.to_owned())
}

/// Everything that runs and can be disturbed.
struct Scene {
    binary: PathBuf,
    url: String,
    dispatchers: Vec<Dispatcher>,
    ledger: Ledger,
    postgres: PrivatePostgres,
    /// Commits wait for it.
    standby: PrivatePostgres,
    started_count: usize,
    /// A transaction that has sent a message and stays open.
    long: Option<(tokio_postgres::Client, MessageId, String)>,
}

impl Scene {
    fn start_dispatcher(&mut self) -> Result<Dispatcher> {
        self.started_count += 1;
        Dispatcher::start(&DispatcherOptions::serve(&self.binary, &self.url))
    }

    fn ledger_age(&self) -> Duration {
        self.ledger.started_at().elapsed()
    }

    async fn disturb(&mut self, disturbance: &Disturbance, dice: &mut fastrand::Rng) -> Result<()> {
        let victim = dice.usize(..self.dispatchers.len());
        let subject = format!("dispatcher {victim}");
        match disturbance {
            Disturbance::Kill => {
                let at = Instant::now();
                self.dispatchers[victim].sigkill();
                self.ledger.fault(Fault::new(FaultKind::ProcessKilled, subject, at));
                self.dispatchers[victim] = self.start_dispatcher()?;
            }
            Disturbance::Cut => {
                let client = connect(&self.url).await?;
                let at = Instant::now();
                client
                    .batch_execute(
                        "select pg_terminate_backend(pid) from pg_stat_activity
                        where application_name like 'postrider %'",
                    )
                    .await?;
                let all = "all dispatchers";
                let fault = Fault::new(FaultKind::ConnectionsCut, all, at).until(Instant::now());
                self.ledger.fault(fault);
            }
            Disturbance::Freeze => {
                let at = Instant::now();
                self.dispatchers[victim].sigstop();
                tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
                self.dispatchers[victim].sigcont();
                let fault =
                    Fault::new(FaultKind::ProcessStopped, subject, at).until(Instant::now());
                self.ledger.fault(fault);
            }
            Disturbance::Crash => {
                let at = Instant::now();
                self.postgres.kill()?;
                self.postgres.start_again()?;
                let fault = Fault::new(FaultKind::PostgresCrashed, "PostgreSQL", at);
                self.ledger.fault(fault.until(Instant::now()));
                if let Some((_, id, marker)) = self.long.take() {
                    self.ledger.roll_back(Rollback { id: Some(id), marker: Some(marker) });
                }
                self.begin_long_transaction().await?;
            }
            // Nothing is sent twice for it, so it is no fault that excuses anything.
            Disturbance::StandbyOutage => {
                self.standby.kill()?;
                tokio::time::sleep(Duration::from_secs(2)).await;
                self.standby.start_again()?;
            }
        }
        Ok(())
    }

    async fn begin_long_transaction(&mut self) -> Result<()> {
        let client = connect(&self.url).await?;
        client.batch_execute("begin").await?;
        let marker = format!("{LONG_MARKER}-{}", fastrand::u64(..));
        let row = client
            .query_one(
                "select postrider.send('good', jsonb_build_object('marker', $1::text))",
                &[&marker],
            )
            .await?;
        self.long = Some((client, MessageId(row.get(0)), marker));
        Ok(())
    }

    async fn end_long_transaction(&mut self) -> Result<()> {
        let (client, id, marker) = self.long.take().context("the long transaction is gone")?;
        client.batch_execute("commit").await?;
        self.ledger.commit(Commit {
            destination: "good".into(),
            id: Some(id),
            marker: Some(marker),
            order: None,
            at: Instant::now(),
            is_certain: true,
        });
        Ok(())
    }

    /// Waits until nothing is left to deliver.
    async fn drain(&self) -> Result<()> {
        let url = &self.url;
        until("everything delivered", DRAIN, || async move {
            let client = connect(url).await?;
            let row = client
                .query_one(
                    "select not exists (select from postrider.deferred)
                    and not exists (
                        select
                        from postrider.subscriptions s
                        where postrider.has_unread_messages(s.id)
                    )",
                    &[],
                )
                .await?;
            Ok(row.get(0))
        })
        .await
    }
}
