//! Continuous traffic, and operators who tell deliveries what to do, while dispatchers are killed and frozen,
//! connections are cut, PostgreSQL crashes, its standby goes away, and takes over in the end.
//!
//! The faults come in three parts: commits wait for a synchronous standby; they wait for nobody but the disk, which is
//! the other road to what is durable; the standby has taken over, and everybody goes on with it.

mod standby;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio_postgres::{Client, Row};

use super::{
    Scale,
    operators::{self, Verbs},
    until,
    writers::{self, DESTINATIONS, Shared, connect},
};
use postrider_testkit::{
    ledger::{
        Commit, Destination, Fault, FaultKind, Ledger, Logged, MessageId, Report, Rollback, Settled,
    },
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver, Request},
    stillness::Stillness,
};

/// How long everything may take to arrive after the last fault.
const DRAIN: Duration = Duration::from_secs(300);
/// Retries come quickly and do not end before the run does.
const RETRY_POLICY: &str =
    r#"{"backoff": "fixed", "base_delay_seconds": 1, "max_retries": 500, "jitter": 0.5}"#;
const LONG_MARKER: &str = "long";
/// No other private server has one of this name: whoever has taken the port of one that is gone turns our clients away.
const DATABASE: &str = "faults";
/// What a dispatcher says when it has found its server for the first time.
const CONNECTED: &str = " connected dispatcher=";
/// How long whatever is waited for may take, far longer than it does.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the standby is away: longer than a dispatcher waits for it before it reads anew.
const OUTAGE: Duration = Duration::from_secs(2);
const REWOUND: &str = "select count(*) from postrider.event_log where event = 'log.rewound'";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    Kill,
    Cut,
    Freeze,
    Crash,
    StandbyOutage,
    /// Commits wait for no standby any more.
    StopFollowing,
    /// They wait for the standby again.
    Follow,
    /// The primary dies for good, and the standby takes over.
    FailOver,
}

/// What a run has come to.
#[derive(Debug)]
pub struct FaultFigures {
    pub report: Report,
    pub verbs: Verbs,
    /// Commits that did not wait for the disk, or got no answer.
    pub settled: Settled,
    /// Of these, what was certainly forgotten: told to be committed, and not on the standby that took over.
    pub doomed_count: usize,
    /// How often a dispatcher said that PostgreSQL has forgotten what it had delivered.
    pub rewound_count: i64,
}

impl FaultFigures {
    /// Whether nothing was lost, invented or doubled without a cause, or delivered and forgotten, and whatever operators
    /// told came true.
    pub fn is_balanced(&self) -> bool {
        self.report.is_balanced()
            && self.verbs.are_kept()
            && self.rewound_count == 0
            && self.settled.forgotten_count >= self.doomed_count
    }
}

impl fmt::Display for FaultFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settled { kept_count, forgotten_count } = self.settled;
        writeln!(formatter, "{}", self.report)?;
        writeln!(formatter, "Commits that did not wait for the disk, or got no answer")?;
        writeln!(formatter, "  {:<24}{kept_count:>10}  in the log, and due", "kept")?;
        writeln!(
            formatter,
            "  {:<24}{forgotten_count:>10}  not in the log, a phantom if it arrived; doomed: {}",
            "forgotten", self.doomed_count
        )?;
        let verdict = if self.rewound_count == 0 { "ok" } else { "VIOLATION" };
        writeln!(
            formatter,
            "  {:<24}{:>10}  {verdict}; dispatchers that say what they delivered is gone",
            "said to be forgotten", self.rewound_count
        )?;
        write!(formatter, "{}", self.verbs)
    }
}

/// Runs writers, operators, dispatchers and faults; says what the ledger says.
///
/// # Errors
///
/// When the run itself cannot go on. A ledger that does not add up is in the report.
pub async fn prove_faults(binary: &Path, scale: Scale, seed: u64) -> Result<FaultFigures> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let receivers = [
        Receiver::start(Behaviour::Status(200))?,
        Receiver::start(Behaviour::Fraction { status: 503, share: 0.33, seed })?,
        Receiver::start(Behaviour::Status(200))?,
    ];
    let mut scene = Scene::open(binary, &receivers, scale).await?;
    let stillness = Stillness::watch()?;
    receivers[2].down()?;
    for _ in 0..scale.dispatchers {
        let dispatcher = scene.start_dispatcher().await?;
        scene.dispatchers.push(dispatcher);
    }
    scene.begin_long_transaction().await?;
    let (url, started_at) = (scene.url.clone(), scene.ledger.started_at());
    let shared = Arc::new(Shared::default());
    let mut writers = writers::start(&url, scale.writers, seed, &shared, started_at);
    let operators = operators::start(&url, scale.operators, seed, &shared);

    for disturbance in schedule(scale, &mut dice) {
        // A random moment is the point here.
        tokio::time::sleep(Duration::from_millis(dice.u64(200..1500))).await;
        scene.disturb(disturbance, &mut dice).await.with_context(|| format!("{disturbance:?}"))?;
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
    while let Some(written) = writers.join_next().await {
        scene.ledger.merge(written.context("a writer panicked")?);
    }
    let operated = operators.join_all().await;
    let settled = scene.ledger.settle(logged(&connect(&url).await?).await?);
    scene.end_long_transaction().await?;
    scene.drain().await?;

    let Scene { mut ledger, dispatchers, doomed_count, .. } = scene;
    for dispatcher in &dispatchers {
        dispatcher.stop(Duration::from_secs(90)).await?;
    }
    for (name, receiver) in DESTINATIONS.iter().zip(&receivers) {
        receiver.record_into(&mut ledger, &Destination::from(*name), marker_of);
    }
    stillness.record_into(&mut ledger, scale.lease);
    let client = connect(&url).await?;
    let verbs = operators::judge(operated, &mut ledger, &client, &receivers).await?;
    let rewound_count = client.query_one(REWOUND, &[]).await?.get(0);
    Ok(FaultFigures { report: ledger.check(), verbs, settled, doomed_count, rewound_count })
}

/// Everything that the log holds.
async fn logged(client: &Client) -> Result<Vec<Logged>> {
    let sql = "select m.id, m.payload ->> 'marker' from postrider.message m";
    let rows = client.query(sql, &[]).await?;
    let message = |row: &Row| {
        Some(Logged { id: MessageId(row.get(0)), marker: row.get::<_, Option<String>>(1)? })
    };
    Ok(rows.iter().filter_map(message).collect())
}

/// All faults in a random order within each of the three parts.
fn schedule(scale: Scale, dice: &mut fastrand::Rng) -> Vec<Disturbance> {
    let mut parts: [Vec<Disturbance>; 3] = Default::default();
    let mut deal = |count: usize, disturbance: Disturbance, among: &[usize]| {
        for number in 0..count {
            parts[among[number % among.len()]].push(disturbance);
        }
    };
    deal(scale.kills, Disturbance::Kill, &[0, 1, 2]);
    deal(scale.cuts, Disturbance::Cut, &[0, 1, 2]);
    deal(scale.freezes, Disturbance::Freeze, &[0, 1, 2]);
    // The first one where it is up to the crashing server alone what is forgotten.
    deal(scale.crashes, Disturbance::Crash, &[1, 2, 0]);
    let among: &[usize] = if scale.renews_standby { &[0, 2] } else { &[0] };
    deal(scale.standby_outages, Disturbance::StandbyOutage, among);
    for part in &mut parts {
        dice.shuffle(part);
    }
    let [mut all, alone, taken_over] = parts;
    all.push(Disturbance::StopFollowing);
    all.extend(alone);
    all.extend([Disturbance::Follow, Disturbance::FailOver]);
    all.extend(taken_over);
    all
}

/// Installs the schema with the binary that is to be proven.
pub fn install(binary: &Path, url: &str) -> Result<()> {
    let output =
        std::process::Command::new(binary).arg("migrate").env("DATABASE_URL", url).output()?;
    ensure!(output.status.success(), "migrate: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn setup(receivers: &[Receiver], lease: Duration) -> String {
    let mut sql = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('stale_recovery_timeout', '{}');",
        lease.as_secs()
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
    /// That of whichever server is the primary.
    url: String,
    dispatchers: Vec<Dispatcher>,
    ledger: Ledger,
    postgres: PrivatePostgres,
    /// It follows, whether commits wait for it or not, until it takes over.
    standby: Option<PrivatePostgres>,
    /// Whether the server that takes over gets one of its own.
    renews_standby: bool,
    lease: Duration,
    /// A transaction that has sent a message and stays open.
    long: Option<(Client, MessageId, String)>,
    doomed_count: usize,
}

impl Scene {
    /// Starts a primary and a standby for which commits wait.
    async fn open(binary: &Path, receivers: &[Receiver], scale: Scale) -> Result<Scene> {
        let options = Options::default()
            // It forgets what did not wait for the disk for longer than it usually would.
            .set("wal_writer_delay", "2s")
            // A standby that has lost its primary asks for it again soon, and finds what it has missed.
            .set("wal_retrieve_retry_interval", "200ms")
            .set("wal_keep_size", "256MB");
        let postgres = PrivatePostgres::start(options)?;
        postgres.create_database(DATABASE).await?;
        install(binary, &postgres.url_for(DATABASE))?;
        postgres.execute(DATABASE, &setup(receivers, scale.lease)).await?;
        // Before commits wait for it: it is to have no such setting when it takes over.
        let standby = postgres.standby()?;
        let (first, second) = (postgres.port(), standby.port());
        let url = format!(
            "postgres://postgres@127.0.0.1:{first},127.0.0.1:{second}/{DATABASE}\
             ?target_session_attrs=read-write"
        );
        let scene = Scene {
            binary: binary.to_owned(),
            url,
            dispatchers: Vec::new(),
            ledger: Ledger::new(Instant::now()),
            postgres,
            standby: Some(standby),
            renews_standby: scale.renews_standby,
            lease: scale.lease,
            long: None,
            doomed_count: 0,
        };
        scene.wait_for_standbys("*").await?;
        Ok(scene)
    }

    /// One that has found its server, and so does not end by itself when that is gone.
    async fn start_dispatcher(&self) -> Result<Dispatcher> {
        let dispatcher = Dispatcher::start(&DispatcherOptions::serve(&self.binary, &self.url))?;
        dispatcher.wait_for_log(CONNECTED, PATIENCE).await?;
        Ok(dispatcher)
    }

    fn ledger_age(&self) -> Duration {
        self.ledger.started_at().elapsed()
    }

    async fn disturb(&mut self, disturbance: Disturbance, dice: &mut fastrand::Rng) -> Result<()> {
        let victim = dice.usize(..self.dispatchers.len());
        let subject = format!("dispatcher {victim}");
        match disturbance {
            Disturbance::Kill => {
                let at = Instant::now();
                self.dispatchers[victim].sigkill();
                self.ledger.fault(Fault::new(FaultKind::ProcessKilled, subject, at));
                self.dispatchers[victim] = self.start_dispatcher().await?;
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
                tokio::time::sleep(self.lease + Duration::from_secs(2)).await;
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
                self.begin_long_transaction_anew().await?;
            }
            // Nothing is sent twice for it, so it is no fault that excuses anything.
            Disturbance::StandbyOutage => self.be_without_standby(OUTAGE).await?,
            Disturbance::StopFollowing => self.wait_for_standbys("").await?,
            Disturbance::Follow => self.follow().await?,
            Disturbance::FailOver => self.fail_over().await?,
        }
        Ok(())
    }

    /// The one before is gone with its server.
    async fn begin_long_transaction_anew(&mut self) -> Result<()> {
        if let Some((_, id, marker)) = self.long.take() {
            self.ledger.roll_back(Rollback { id: Some(id), marker: Some(marker) });
        }
        self.begin_long_transaction().await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_part() {
        for (scale, seed) in (0..50).flat_map(|seed| [(Scale::FULL, seed), (Scale::SHORT, seed)]) {
            let all = schedule(scale, &mut fastrand::Rng::with_seed(seed));
            let count = |part: &[Disturbance], kind: Disturbance| {
                part.iter().filter(|one| **one == kind).count()
            };
            let place = |kind: Disturbance| all.iter().position(|one| *one == kind).unwrap();
            let (stop, follow) = (place(Disturbance::StopFollowing), place(Disturbance::Follow));
            assert_eq!(place(Disturbance::FailOver), follow + 1, "{all:?}");
            let (waiting, alone, taken_over) =
                (&all[..stop], &all[stop + 1..follow], &all[follow + 2..]);

            for (kind, expected) in [
                (Disturbance::Kill, scale.kills),
                (Disturbance::Cut, scale.cuts),
                (Disturbance::Freeze, scale.freezes),
                (Disturbance::Crash, scale.crashes),
                (Disturbance::StandbyOutage, scale.standby_outages),
                (Disturbance::StopFollowing, 1),
                (Disturbance::Follow, 1),
                (Disturbance::FailOver, 1),
            ] {
                assert_eq!(count(&all, kind), expected, "{kind:?}: {all:?}");
            }
            for part in [waiting, alone, taken_over] {
                assert!(count(part, Disturbance::Kill) > 0, "{all:?}");
            }
            assert!(count(alone, Disturbance::Crash) > 0, "{all:?}");
            // Only where commits wait for it.
            assert!(count(waiting, Disturbance::StandbyOutage) > 0, "{all:?}");
            assert_eq!(count(alone, Disturbance::StandbyOutage), 0, "{all:?}");
            let has_another = count(taken_over, Disturbance::StandbyOutage) > 0;
            assert_eq!(has_another, scale.renews_standby, "{all:?}");
        }
    }
}
