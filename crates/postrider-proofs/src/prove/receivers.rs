//! Every hostile receiver beside a good one on the same dispatcher: the good one does as well as without them, no
//! tenure ends, what becomes of each attempt is what the table of kinds says, and in the end no connection to any of
//! them is left, though many never close theirs.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use tokio_postgres::Client;

use super::{faults::install, writers::connect};
use postrider_testkit::{
    hostile::{ANSWERS_HTTP2, Expected, Hostiles, KINDS, Kind, READS_WHAT_IS_LARGE, Wire},
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
    sockets,
};

/// How long all attempts of one round may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time between two looks at what connections are left.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// The time between two messages to the good receiver.
const PACE: Duration = Duration::from_millis(20);
/// How many of them are measured in each control.
const CONTROL_COUNT: usize = 100;
/// How much later than in the control the good ones may arrive, in full runs on an idle machine.
const DELAY_MAX: Duration = Duration::from_millis(200);
/// How long they may take beside any burst, hostile or not.
const BURST_MAX: Duration = Duration::from_secs(1);
/// What the dispatcher may take at its peak.
const MEMORY_MAX: u64 = 400_000_000;
/// How often messages are sent to a kind that does nothing wrong, and to one beside which the good messages came later
/// than `DELAY_MAX`, in each case to endpoints of its own: the median counts. One burst is over so soon that the slowest of
/// some twenty good messages is judged.
const BURSTS: usize = 3;
/// Of large messages one in so many is sent: few have room in memory at a time, whoever does not take them, so that a
/// part of them already fills it over and over.
const LARGE_SHARE: usize = 8;
/// One in so many attempts of a kind may time out in full, or end with a connection that it has not been sent over yet,
/// whatever the table expects. 512 connections are too much work for the one thread of the receivers, too, and some of
/// them are served too late. Only some: a kind whose attempts all time out was a silent receiver, and has not been seen
/// to end as the table says.
const LATE_SHARE: usize = 4;

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverScale {
    /// Endpoints for each kind, and messages to each.
    pub endpoints: usize,
    pub messages: usize,
    pub concurrency: usize,
    /// What attempts of hostile receivers are given: all that a slow machine needs for an answer.
    pub timeout_seconds: u32,
    /// All kinds at once, or one after the other.
    pub is_together: bool,
    /// Whether delays are judged.
    pub is_timed: bool,
}

impl ReceiverScale {
    /// 512 messages to each kind, and as many connections where memory does not bound them.
    pub const FULL: ReceiverScale = ReceiverScale {
        endpoints: 8,
        messages: 64,
        concurrency: 64,
        timeout_seconds: 2,
        is_together: false,
        is_timed: true,
    };

    pub const SHORT: ReceiverScale = ReceiverScale {
        endpoints: 1,
        messages: 2,
        concurrency: 1,
        timeout_seconds: 8,
        is_together: true,
        is_timed: false,
    };
}

/// Whether a kind does nothing wrong.
fn is_control(name: &str) -> bool {
    [READS_WHAT_IS_LARGE, ANSWERS_HTTP2].contains(&name)
}

/// What came of one kind.
#[derive(Debug, Default)]
struct KindFigures {
    name: &'static str,
    attempts: usize,
    connections: usize,
    /// What was said of how many attempts.
    reports: BTreeMap<String, usize>,
    /// Reports that the table does not expect.
    wrong: Vec<String>,
    accepted: usize,
    /// Attempts that timed out or were not sent, where the table does not expect it.
    late: usize,
    is_large: bool,
    has_tls: bool,
    /// Of each burst.
    good_p99: Vec<Duration>,
    took: Duration,
}

impl KindFigures {
    /// The median of the bursts; of two the slower one.
    fn good_p99(&self) -> Duration {
        let mut all = self.good_p99.clone();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    }

    /// Takes what came of one more burst.
    fn merge(&mut self, burst: KindFigures) {
        self.attempts += burst.attempts;
        self.connections = burst.connections;
        for (text, count) in burst.reports {
            *self.reports.entry(text).or_default() += count;
        }
        self.wrong.extend(burst.wrong);
        self.good_p99.extend(burst.good_p99);
        self.took += burst.took;
    }

    /// Takes so many attempts that ended alike.
    fn take(&mut self, kind: &Kind, is_timed: bool, (outcome, error): (&str, &str), count: usize) {
        let text =
            if error.is_empty() { outcome.to_owned() } else { format!("{outcome}: {error}") };
        let is_expected = kind.expected.fits(outcome, error);
        let is_timeout = ["timeout: no connection", "timeout: no answer within"]
            .iter()
            .any(|late| error.starts_with(late));
        // Requests share a connection there, and some have not gone out when it ends.
        let is_unsent = kind.wire == Wire::Http2
            && kind.expected != Expected::Accepted
            && outcome == "unavailable"
            && error == "the connection failed";
        let is_late = !is_expected
            && is_timed
            && ["unavailable", "unknown"].contains(&outcome)
            && (is_timeout || is_unsent);
        let is_clear = outcome == "accepted" || !error.is_empty();
        if !((is_expected || is_late) && is_clear) || error.chars().any(char::is_control) {
            self.wrong.push(format!("{text}, expected {:?}", kind.expected));
        }
        self.attempts += count;
        self.late += if is_late { count } else { 0 };
        self.accepted += if outcome == "accepted" { count } else { 0 };
        *self.reports.entry(text).or_default() += count;
    }

    /// Judges what can only be said of all attempts together.
    fn close(&mut self, kind: &Kind, expected: usize) {
        if self.attempts != expected {
            self.wrong.push(format!("{} attempts instead of {expected}", self.attempts));
        }
        if self.late > expected / LATE_SHARE {
            self.wrong.push(format!(
                "{} of {expected} attempts timed out or were not sent, expected {:?}",
                self.late, kind.expected
            ));
        }
        if matches!(kind.expected, Expected::SomeAccepted(_)) && self.accepted == 0 {
            self.wrong.push(format!("none was accepted, expected {:?}", kind.expected));
        }
    }
}

/// What came of all.
#[derive(Debug)]
pub struct ReceiverFigures {
    scale: ReceiverScale,
    kinds: Vec<KindFigures>,
    findings: Vec<String>,
    control_p99: Duration,
    good_count: usize,
    peak_bytes: u64,
}

impl ReceiverFigures {
    /// Whether nothing has happened that should not.
    pub fn is_proven(&self) -> bool {
        self.findings.is_empty() && self.kinds.iter().all(|kind| kind.wrong.is_empty())
    }

    /// How long good ones take without a hostile receiver. Large messages and TLS are work, whoever they are for: each has
    /// a kind that does nothing wrong.
    fn control_of(&self, is_large: bool, has_tls: bool) -> Duration {
        let of = |name: &str| {
            let kind = self.kinds.iter().find(|kind| kind.name == name);
            kind.map_or(Duration::ZERO, KindFigures::good_p99)
        };
        let large = if is_large { of(READS_WHAT_IS_LARGE) } else { Duration::ZERO };
        let tls = if has_tls { of(ANSWERS_HTTP2) } else { Duration::ZERO };
        self.control_p99.max(large).max(tls)
    }

    /// How much later the good ones came beside this kind than beside what does nothing wrong.
    fn delay(&self, kind: &KindFigures) -> Duration {
        kind.good_p99().saturating_sub(self.control_of(kind.is_large, kind.has_tls))
    }

    fn worst_delay(&self) -> Duration {
        self.kinds.iter().map(|kind| self.delay(kind)).max().unwrap_or_default()
    }

    fn slowest_burst(&self) -> Duration {
        self.kinds.iter().flat_map(|kind| &kind.good_p99).max().copied().unwrap_or_default()
    }

    /// How many kinds beside the controls were tried more than once.
    fn tried_again(&self) -> usize {
        let is_again = |kind: &&KindFigures| !is_control(kind.name) && kind.good_p99.len() > 1;
        self.kinds.iter().filter(is_again).count()
    }
}

impl fmt::Display for ReceiverFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| kind | attempts | connections | outcome | good p99 | took |")?;
        writeln!(formatter, "|---|---|---|---|---|---|")?;
        for kind in &self.kinds {
            let reports: Vec<_> = kind.reports.keys().map(|text| text.replace('|', "/")).collect();
            let millis = |wait: &Duration| format!("{:.0}", wait.as_secs_f64() * 1e3);
            let good: Vec<_> = kind.good_p99.iter().map(millis).collect();
            writeln!(
                formatter,
                "| {} | {} | {} | {} | {} ms | {:.1} s |",
                kind.name,
                kind.attempts,
                kind.connections,
                reports.join("; "),
                good.join(", "),
                kind.took.as_secs_f64()
            )?;
            for wrong in &kind.wrong {
                writeln!(formatter, "WRONG, {}: {wrong}", kind.name)?;
            }
        }
        for finding in &self.findings {
            writeln!(formatter, "WRONG: {finding}")?;
        }
        write!(
            formatter,
            "\n{} kinds{}, {} messages to the good receiver, each once; p99 {:.0} ms alone, {:.0} ms beside \
             large messages that are read, {:.0} ms beside HTTP/2 that is answered, and at worst {:.0} ms more; {} kinds \
             tried again, slowest burst {:.0} ms; peak memory {:.0} MB",
            self.kinds.len(),
            if self.scale.is_together { " at once" } else { "" },
            self.good_count,
            self.control_p99.as_secs_f64() * 1e3,
            self.control_of(true, false).as_secs_f64() * 1e3,
            self.control_of(false, true).as_secs_f64() * 1e3,
            self.worst_delay().as_secs_f64() * 1e3,
            self.tried_again(),
            self.slowest_burst().as_secs_f64() * 1e3,
            self.peak_bytes as f64 / 1e6
        )
    }
}

/// Runs all kinds.
///
/// # Errors
///
/// When the stage cannot be set, or attempts do not end.
pub async fn prove_receivers(binary: &Path, scale: ReceiverScale) -> Result<ReceiverFigures> {
    let postgres = PrivatePostgres::start(Options::default())?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    install(binary, &url)?;
    let folder = tempfile::tempdir()?;
    let hostiles = Hostiles::start(KINDS)?;
    let good = Receiver::start(Behaviour::Status(200))?;
    let stage = Stage { client: connect(&url).await?, hostiles, good, scale };
    stage.prepare().await?;
    let certificate = stage.hostiles.write_certificate(folder.path())?;
    let options = DispatcherOptions::serve(binary, &url)
        .variable("POSTRIDER_HTTP_CA_FILE", certificate.display())
        .variable("POSTRIDER_NAME_SERVERS", stage.hostiles.name_server);
    let dispatcher = Dispatcher::start(&options)?;
    dispatcher.wait_for_log("shards acquired", PATIENCE).await?;
    let owner = stage.owners().await?;

    let mut figures = ReceiverFigures {
        scale,
        kinds: Vec::new(),
        findings: Vec::new(),
        control_p99: stage.measure(Until::Count(CONTROL_COUNT)).await?,
        good_count: 0,
        peak_bytes: 0,
    };
    if scale.is_together {
        let all: Vec<usize> = (0..KINDS.len()).collect();
        figures.kinds = stage.play(&all, 0).await?;
    } else {
        stage.play_in_turn(&mut figures).await?;
    }
    figures.peak_bytes = dispatcher.peak_memory_bytes()?;
    let kept = stage.settle(&dispatcher).await?;
    if !kept.is_empty() {
        figures.findings.push(format!("connections are left to receivers of {kept:?}"));
    }
    stage.find(&mut figures, owner).await?;
    Ok(figures)
}

struct Stage {
    client: Client,
    hostiles: Hostiles,
    good: Receiver,
    scale: ReceiverScale,
}

const CREATE: &str = "select postrider.create_endpoint($1, 'http', $2::text::jsonb)";

/// How long messages are sent to the good receiver.
enum Until<'a> {
    Count(usize),
    /// So many attempts at these endpoints are on record.
    Attempts(i64, &'a [String]),
}

impl Stage {
    async fn prepare(&self) -> Result<()> {
        self.client
            .batch_execute(
                "select postrider.set_setting('allow_internal_destinations', '127.0.0.0/8');
                select postrider.set_setting('capture_response', 'on');
                select postrider.set_setting('circuit_breaker_threshold', '1000');
                select postrider.set_setting('max_payload_size', '8388608');
                select postrider.set_setting('default_max_retries', '0')",
            )
            .await?;
        let config = serde_json::json!({ "url": self.good.url() });
        self.client.execute(CREATE, &[&"good", &config.to_string()]).await?;
        Ok(())
    }

    /// The endpoints of a burst to one kind.
    async fn create(&self, index: usize, burst: usize) -> Result<()> {
        let kind = &KINDS[index];
        for (number, name) in self.names(index, burst).enumerate() {
            let config = serde_json::json!({
                "url": self.hostiles.url(index, kind, burst * self.scale.endpoints + number),
                "concurrency": self.scale.concurrency,
                "timeout_seconds": self.scale.timeout_seconds,
                "connect_timeout_seconds": self.scale.timeout_seconds,
            });
            self.client.execute(CREATE, &[&name, &config.to_string()]).await?;
        }
        Ok(())
    }

    fn names(&self, index: usize, burst: usize) -> impl Iterator<Item = String> {
        (0..self.scale.endpoints).map(move |number| format!("kind-{index}-{burst}-{number}"))
    }

    /// One that asks to be left alone is left alone after its first answer.
    fn count(&self, kind: &Kind) -> usize {
        match (kind.is_once, kind.payload_length) {
            (true, _) => 1,
            (false, 0) => self.scale.messages,
            (false, _) => self.scale.messages.div_ceil(LARGE_SHARE),
        }
    }

    /// One kind after the other, those that do nothing wrong first.
    async fn play_in_turn(&self, figures: &mut ReceiverFigures) -> Result<()> {
        let (controls, others): (Vec<usize>, Vec<usize>) =
            (0..KINDS.len()).partition(|index| is_control(KINDS[*index].name));
        for index in controls.into_iter().chain(others) {
            let mut kind = self.play(&[index], 0).await?.remove(0);
            for burst in 1..BURSTS {
                if !is_control(kind.name) && figures.delay(&kind) <= DELAY_MAX {
                    break;
                }
                kind.merge(self.play(&[index], burst).await?.remove(0));
            }
            println!("{}: {:.1} s", kind.name, kind.took.as_secs_f64());
            figures.kinds.push(kind);
        }
        Ok(())
    }

    /// Sends to these kinds, and to the good receiver until all attempts are on record.
    async fn play(&self, kinds: &[usize], burst: usize) -> Result<Vec<KindFigures>> {
        let began = Instant::now();
        let mut names = Vec::new();
        let mut expected = 0;
        for index in kinds {
            self.create(*index, burst).await?;
            let kind = &KINDS[*index];
            let count = self.count(kind);
            for name in self.names(*index, burst) {
                let send = format!(
                    "select postrider.send_batch('{name}', array_agg(jsonb_build_object('text', repeat('x', {}))))
                    from generate_series(1, {count})",
                    kind.payload_length
                );
                self.client.batch_execute(&send).await?;
                names.push(name);
                expected += count as i64;
            }
        }
        let good_p99 = self.measure(Until::Attempts(expected, &names)).await?;
        let mut figures = Vec::new();
        for index in kinds {
            let mut kind = self.judge(*index, burst).await?;
            kind.good_p99.push(good_p99);
            kind.took = began.elapsed();
            figures.push(kind);
        }
        Ok(figures)
    }

    /// Sends to the good receiver at a steady pace; when the 99th of 100 has arrived after its commit.
    async fn measure(&self, end: Until<'_>) -> Result<Duration> {
        let send = self.client.prepare("select postrider.send('good', '{}')").await?;
        let count = self
            .client
            .prepare(
                "select count(*) from postrider.attempts a where a.endpoint_name = any ($1::text[])",
            )
            .await?;
        let (began, before) = (Instant::now(), self.good.accepted_count());
        let mut committed_at = HashMap::new();
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let is_over = match end {
                Until::Count(count) => committed_at.len() >= count,
                Until::Attempts(expected, names) if committed_at.len() % 10 == 9 => {
                    self.client.query_one(&count, &[&names]).await?.get::<_, i64>(0) >= expected
                }
                Until::Attempts(..) => false,
            };
            if is_over {
                break;
            }
            let lacking = match end {
                Until::Attempts(expected, names) if began.elapsed() > PATIENCE => {
                    Some((expected, names))
                }
                _ => None,
            };
            ensure!(lacking.is_none(), "attempts do not end: {lacking:?}");
            let id: i64 = self.client.query_one(&send, &[]).await?.get(0);
            committed_at.insert(id, Instant::now());
        }
        self.good.wait_for_accepted(before + committed_at.len(), PATIENCE).await?;
        let mut waits: Vec<Duration> = self.good.with_requests(|requests| {
            let of = |request: &postrider_testkit::receiver::Request| {
                let committed_at = committed_at.get(&request.id?.0)?;
                Some(request.at.saturating_duration_since(*committed_at))
            };
            requests.iter().filter_map(of).collect()
        });
        waits.sort();
        Ok(waits[(waits.len() * 99).div_ceil(100) - 1])
    }

    async fn judge(&self, index: usize, burst: usize) -> Result<KindFigures> {
        let kind = &KINDS[index];
        let mut figures = KindFigures {
            name: kind.name,
            connections: self.hostiles.connection_count(index),
            is_large: kind.payload_length > 0,
            has_tls: matches!(kind.wire, Wire::Tls | Wire::Http2),
            ..KindFigures::default()
        };
        let names: Vec<_> = self.names(index, burst).collect();
        let sql = "select a.outcome, coalesce(a.error, ''), count(*)
            from postrider.attempts a
            where a.endpoint_name = any ($1)
            group by 1, 2";
        for row in self.client.query(sql, &[&names]).await? {
            let (outcome, error, count): (String, String, i64) =
                (row.get(0), row.get(1), row.get(2));
            figures.take(
                kind,
                self.scale.is_timed,
                (outcome.as_str(), error.as_str()),
                count as usize,
            );
        }
        figures.close(kind, self.count(kind) * self.scale.endpoints);
        Ok(figures)
    }

    /// Waits until the dispatcher has no connection to a hostile receiver any more; to which kinds there is one after
    /// all. What is kept for the next message goes with its endpoint.
    async fn settle(&self, dispatcher: &Dispatcher) -> Result<Vec<&'static str>> {
        let drop_all = "select count(*)
            from postrider.endpoints e
            cross join lateral postrider.drop_endpoint(e.name, true)
            where e.name like 'kind-%'";
        self.client.execute(drop_all, &[]).await?;
        let end = Instant::now() + PATIENCE;
        loop {
            let peers = sockets::peers(dispatcher.pid())?;
            let kinds = peers.iter().filter_map(|peer| self.hostiles.index_at(*peer));
            let mut kept: Vec<&str> = kinds.map(|index| KINDS[index].name).collect();
            if kept.is_empty() || Instant::now() > end {
                kept.sort_unstable();
                kept.dedup();
                return Ok(kept);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    async fn owners(&self) -> Result<Vec<String>> {
        let sql = "select distinct s.owner::text from postrider.shard s";
        Ok(self.client.query(sql, &[]).await?.iter().map(|row| row.get(0)).collect())
    }

    async fn find(&self, figures: &mut ReceiverFigures, owner: Vec<String>) -> Result<()> {
        let delay = figures.worst_delay();
        let slowest = figures.slowest_burst();
        let mut found = |is_wrong: bool, finding: String| {
            if is_wrong {
                figures.findings.push(finding);
            }
        };
        let now = self.owners().await?;
        found(now != owner, format!("a tenure has ended: {owner:?}, now {now:?}"));
        let (requests, accepted) = (self.good.request_count(), self.good.accepted_count());
        found(requests != accepted, format!("{requests} requests for {accepted} messages"));
        figures.good_count = accepted;
        found(figures.peak_bytes > MEMORY_MAX, format!("{} bytes at the peak", figures.peak_bytes));
        let is_late = self.scale.is_timed && delay > DELAY_MAX;
        found(is_late, format!("good messages came {delay:?} later"));
        let is_slow = self.scale.is_timed && slowest > BURST_MAX;
        found(is_slow, format!("good messages took {slowest:?} beside one burst"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BABBLE: &str = "protocol error: more than 32 informational answers";
    const LATE: &str = "timeout: no answer within 2 s";

    /// What is wrong with 512 attempts at a kind that ended so.
    fn judge(name: &str, is_timed: bool, ends: &[(&str, &str, usize)]) -> Vec<String> {
        let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
        let mut figures = KindFigures::default();
        for &(outcome, error, count) in ends {
            figures.take(kind, is_timed, (outcome, error), count);
        }
        figures.close(kind, 512);
        figures.wrong
    }

    #[test]
    fn a_kind_is_seen_to_end_as_expected() {
        let babbles = |late: usize| [("unknown", BABBLE, 512 - late), ("unknown", LATE, late)];
        for (late, is_timed, wrong_count) in
            [(0, true, 0), (128, true, 0), (129, true, 1), (512, true, 1), (1, false, 1)]
        {
            let wrong =
                judge("103 for ever", is_timed, &babbles(late)[..1 + usize::from(late > 0)]);
            assert_eq!(wrong.len(), wrong_count, "{late} late: {wrong:?}");
        }
        // Whoever is silent is not late.
        assert!(judge("says nothing", true, &[("unknown", LATE, 512)]).is_empty());
    }

    #[test]
    fn one_slow_burst_of_three_is_no_delay_and_two_are_one() {
        let bursts = |millis: &[u64]| {
            let good_p99 = millis.iter().copied().map(Duration::from_millis).collect();
            KindFigures { good_p99, ..KindFigures::default() }
        };
        for (millis, delay) in
            [(&[900][..], 890), (&[900, 20], 890), (&[900, 20, 30], 20), (&[900, 20, 800], 790)]
        {
            let mut kind = bursts(&millis[..1]);
            for burst in &millis[1..] {
                kind.merge(bursts(&[*burst]));
            }
            let figures = ReceiverFigures {
                scale: ReceiverScale::FULL,
                kinds: vec![kind],
                findings: Vec::new(),
                control_p99: Duration::from_millis(10),
                good_count: 0,
                peak_bytes: 0,
            };
            assert_eq!(figures.worst_delay().as_millis(), delay, "{millis:?}");
            assert_eq!(figures.slowest_burst().as_millis(), 900, "{millis:?}");
        }
    }

    #[test]
    fn where_requests_share_a_connection_one_is_accepted_at_least() {
        let drips = |accepted: usize| {
            let ends = [("unknown", LATE, 512 - accepted), ("accepted", "", accepted)];
            judge("HTTP/2: a body, a byte a second", true, &ends[..1 + usize::from(accepted > 0)])
        };
        assert!(drips(1).is_empty());
        assert_eq!(drips(0).len(), 1);
        let wrong = judge("HTTP/2: half a body", true, &[("accepted", "", 511)]);
        assert_eq!(wrong, ["511 attempts instead of 512"]);
    }
}
