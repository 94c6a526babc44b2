//! Ordering keys while receivers fail and a dispatcher is killed again and again: the ledger says that
//! nothing is lost, and the arrivals that each key came one after the other.

mod writers;

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

pub use postrider_testkit::ledger::arrivals::{Finding, FindingKind};

use super::{SHORTEST_LEASE, faults::install, until, writers::connect};
use postrider_testkit::{
    ledger::{
        Destination, Fault, FaultKind, Ledger, Report,
        arrivals::{Arrival, check},
    },
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Answer, Behaviour, Receiver},
    stillness::Stillness,
};

/// The endpoints, each with a receiver of its own. A message goes to one of them, or to both.
pub const DESTINATIONS: [&str; 2] = ["left", "right"];
/// This share of the requests is answered 503.
const FAILING_SHARE: f64 = 0.2;
/// An answer takes up to so many milliseconds.
const LONGEST_ANSWER: u64 = 8;
/// How long the writers may take.
const LONGEST: Duration = Duration::from_secs(900);
/// How long everything may take to arrive after the last commit.
const DRAIN: Duration = Duration::from_secs(300);
const RETRY_POLICY: &str =
    r#"{"backoff": "fixed", "base_delay_seconds": 1, "max_retries": 500, "jitter": 0}"#;
/// How many findings the printed figures list.
const LISTED: usize = 10;

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub struct OrderingScale {
    pub keys: usize,
    /// At least so many messages are committed.
    pub messages: usize,
    pub writers: usize,
    /// How often at least one of the two dispatchers is killed, and started again at once.
    pub kills: usize,
    /// The time between two kills.
    pub pause: Duration,
    /// As that of the proof under faults.
    pub lease: Duration,
}

impl OrderingScale {
    pub const FULL: OrderingScale = OrderingScale {
        keys: 1_000,
        messages: 100_000,
        writers: 8,
        kills: 12,
        pause: Duration::from_secs(8),
        lease: SHORTEST_LEASE,
    };

    pub const SHORT: OrderingScale = OrderingScale {
        keys: 100,
        messages: 3_000,
        writers: 8,
        kills: 2,
        pause: Duration::from_secs(4),
        lease: Duration::from_secs(12),
    };
}

/// What came of it.
#[derive(Debug)]
pub struct OrderingFigures {
    pub report: Report,
    /// What came out of order, or while another one of its key was under way.
    pub findings: Vec<Finding>,
    pub kills: usize,
    /// From the first commit to the last arrival.
    pub duration: Duration,
}

impl OrderingFigures {
    /// Whether nothing is wrong: a finding is not, when a killed process explains it.
    pub fn is_in_order(&self) -> bool {
        self.report.is_balanced() && self.findings.iter().all(|finding| finding.is_excused)
    }

    fn count(&self, kind: FindingKind, is_excused: bool) -> usize {
        let is_it = |finding: &&Finding| (finding.kind, finding.is_excused) == (kind, is_excused);
        self.findings.iter().filter(is_it).count()
    }
}

impl fmt::Display for OrderingFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.report)?;
        for (what, kind) in [
            ("an earlier message of its key after a later one", FindingKind::Overtaken),
            ("two of one key in flight to an endpoint", FindingKind::Overlap),
        ] {
            writeln!(
                formatter,
                "  {what}: {} ({} more at a kill)",
                self.count(kind, false),
                self.count(kind, true)
            )?;
        }
        for finding in self.findings.iter().filter(|finding| !finding.is_excused).take(LISTED) {
            writeln!(formatter, "    {finding:?}")?;
        }
        write!(
            formatter,
            "  {} kills, {:.0} s from the first commit to the last arrival",
            self.kills,
            self.duration.as_secs_f64()
        )
    }
}

/// Runs writers, receivers and two dispatchers, of which one is killed now and then.
///
/// # Errors
///
/// When the run itself cannot go on. What is out of order is in the figures.
pub async fn prove_ordering(
    binary: &Path,
    scale: OrderingScale,
    seed: u64,
) -> Result<OrderingFigures> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let postgres = PrivatePostgres::start(Options::default().set("max_wal_size", "4GB"))?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    let receivers = [start_receiver(dice.u64(..))?, start_receiver(dice.u64(..))?];
    install(binary, &url)?;
    connect(&url).await?.batch_execute(&setup(&receivers, scale)).await?;

    let started_at = Instant::now();
    let mut ledger = Ledger::new(started_at);
    let stillness = Stillness::watch()?;
    let serve = || Dispatcher::start(&DispatcherOptions::serve(binary, &url));
    let mut dispatchers = [serve()?, serve()?];
    let committed = Arc::new(AtomicUsize::new(0));
    let mut writers = writers::start(&url, scale, seed, &committed, started_at);
    let mut kills = 0;
    let is_enough = || committed.load(Ordering::Relaxed) >= scale.messages;
    while kills < scale.kills || !is_enough() {
        ensure!(started_at.elapsed() < LONGEST, "not enough messages within {LONGEST:?}");
        // A random moment is the point here.
        tokio::time::sleep(scale.pause.mul_f64(dice.f64() + 0.5)).await;
        let victim = dice.usize(..dispatchers.len());
        let at = Instant::now();
        dispatchers[victim].sigkill();
        let fault = Fault::new(FaultKind::ProcessKilled, format!("dispatcher {victim}"), at);
        ledger.fault(fault.until(Instant::now()));
        dispatchers[victim] = serve()?;
        kills += 1;
    }
    while let Some(written) = writers.join_next().await {
        ledger.merge(written.context("a writer panicked")??);
    }
    drain(&url).await?;
    for dispatcher in &dispatchers {
        dispatcher.stop(Duration::from_secs(40)).await?;
    }
    stillness.record_into(&mut ledger, scale.lease);
    Ok(judge(ledger, &receivers, started_at, kills))
}

fn judge(
    mut ledger: Ledger,
    receivers: &[Receiver; 2],
    started_at: Instant,
    kills: usize,
) -> OrderingFigures {
    let mut arrivals = Vec::new();
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        let destination = Destination::from(*name);
        receiver.record_into(&mut ledger, &destination, |request| {
            Some(body_of(&request.body).get("marker")?.as_str()?.to_owned())
        });
        receiver.with_requests(|requests| {
            arrivals.extend(requests.iter().map(|request| {
                let body = body_of(&request.body);
                Arrival {
                    destination: Arc::clone(&destination),
                    key: body["key"].as_str().unwrap_or_default().to_owned(),
                    sequence: body["sequence"].as_u64().unwrap_or_default(),
                    at: request.at,
                    until: request.at + request.delay,
                }
            }));
        });
    }
    let report = ledger.check();
    // What counts is the moment of the kill; starting the next one takes no part in it.
    let death = |fault: &Fault| match fault.kind {
        FaultKind::ProcessKilled => Fault { until: fault.at, ..fault.clone() },
        _ => fault.clone(),
    };
    let deaths: Vec<Fault> = report.faults.iter().map(death).collect();
    let last = arrivals.iter().map(|arrival| arrival.at).max();
    OrderingFigures {
        findings: check(arrivals, &deaths),
        report,
        kills,
        duration: last.map_or(Duration::ZERO, |last| last - started_at),
    }
}

fn body_of(body: &[u8]) -> serde_json::Value {
    serde_json::from_slice(body).unwrap_or_default()
}

/// Fails a share of the requests, and takes its time for all.
fn start_receiver(seed: u64) -> Result<Receiver> {
    let dice = std::sync::Mutex::new(fastrand::Rng::with_seed(seed));
    Receiver::start(Behaviour::custom(move |_| {
        let mut dice = dice.lock().expect("nobody panics with it");
        let status = if dice.f64() < FAILING_SHARE { 503 } else { 200 };
        let delay = Duration::from_millis(dice.u64(0..=LONGEST_ANSWER));
        Answer { delay, ..Answer::status(status) }
    }))
}

fn setup(receivers: &[Receiver], scale: OrderingScale) -> String {
    let mut sql = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('stale_recovery_timeout', '{}');
        select postrider.create_event_type('both');
        create table ordering_key (key text primary key, sequence bigint not null);
        insert into ordering_key select 'key-' || n, 0 from generate_series(0, {}) n;",
        scale.lease.as_secs(),
        scale.keys - 1
    );
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        sql.push_str(&format!(
            "select postrider.create_endpoint('{name}', 'http', '{}');
            select postrider.subscribe('both', '{name}');",
            serde_json::json!({ "url": receiver.url() })
        ));
    }
    sql.push_str(&format!("update postrider.endpoints set retry_policy = '{RETRY_POLICY}'"));
    sql
}

/// Waits until nothing is left to deliver.
async fn drain(url: &str) -> Result<()> {
    let client = connect(url).await?;
    let client = &client;
    until("everything delivered", DRAIN, || async move {
        let is_drained = "select not exists (select from postrider.deferred)
            and not exists (
                select
                from postrider.subscriptions s
                where postrider.has_unread_messages(s.id)
            )";
        Ok(client.query_one(is_drained, &[]).await?.get(0))
    })
    .await
}
