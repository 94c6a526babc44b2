//! Metrics of this process: their names, what each says, and how they are written for Prometheus.
//!
//! A counter is one atomic addition, and its handle is kept by who counts. What a dispatcher has measured comes as values
//! (`Measured`), which its driver hands over. No label has more values than there are endpoints. The metrics of the database
//! are others, which `postrider.metrics()` counts.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use postrider_core::{
    id::EndpointId,
    measured::{Measured, Sample},
    outcome::Outcome,
};
use postrider_store::migrate::PRODUCT_VERSION;
use prometheus::{
    Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder, core::Collector,
};

/// The metrics of a process, with what each says.
pub const ATTEMPTS: (&str, &str) = (
    "postrider_delivery_attempts_total",
    "Attempts of this process that have ended, by outcome and class of the answer.",
);
pub const ATTEMPT_DURATION: (&str, &str) = (
    "postrider_delivery_duration_seconds",
    "How long attempts of this process took, from the first byte to the answer.",
);
pub const LATENCY: (&str, &str) = (
    "postrider_end_to_end_latency_seconds",
    "From the send, or the time it was scheduled for, until the endpoint accepted it.",
);
pub const IN_FLIGHT: (&str, &str) =
    ("postrider_process_in_flight", "Attempts of this process that are under way.");
pub const FLUSH_DURATION: (&str, &str) =
    ("postrider_flush_duration_seconds", "How long it took to record results.");
pub const TENURES_ENDED: (&str, &str) = (
    "postrider_tenures_ended_total",
    "How often this process lost its lease or its database, or stopped.",
);
pub const CONNECT_FAILURES: (&str, &str) = (
    "postrider_database_connect_failures_total",
    "Tries of this process to connect and begin that failed.",
);
pub const READY: (&str, &str) = ("postrider_process_ready", "1 while this process delivers.");
pub const STARTED: (&str, &str) =
    ("postrider_process_start_timestamp_seconds", "When this process began.");
pub const PROGRAM: (&str, &str) = ("postrider_program_info", "The version of this program; 1.");
pub const REQUESTS: (&str, &str) = (
    "postrider_http_requests_total",
    "Requests that the listener of this process has answered, by class of the status.",
);
pub const FIGURES_AGE: (&str, &str) = (
    "postrider_database_figures_age_seconds",
    "How old the figures of the database are that follow.",
);

/// All names of this process's metrics.
pub const NAMES: [&str; 12] = [
    ATTEMPTS.0,
    ATTEMPT_DURATION.0,
    LATENCY.0,
    IN_FLIGHT.0,
    FLUSH_DURATION.0,
    TENURES_ENDED.0,
    CONNECT_FAILURES.0,
    READY.0,
    STARTED.0,
    PROGRAM.0,
    REQUESTS.0,
    FIGURES_AGE.0,
];

/// Attempts and messages: from what a receiver on the same machine takes to the longest timeout.
const ATTEMPT_BUCKETS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// A message that is retried takes hours.
const LATENCY_BUCKETS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0, 3_600.0, 86_400.0,
];
const FLUSH_BUCKETS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// So many endpoints have figures of their own; those of all others are added up.
const ENDPOINTS_MAX: usize = 1_000;
/// Outcome and class of what nearly all attempts are.
const ACCEPTED: (&str, &str) = ("accepted", "2xx");
/// The label of those others. No endpoint can be called so.
const OTHERS: &str = "(others)";

/// The metrics of a process.
pub struct Telemetry {
    registry: Registry,
    attempts: IntCounterVec,
    durations: HistogramVec,
    latencies: HistogramVec,
    pub in_flight: IntGauge,
    pub flushes: Histogram,
    tenures: IntCounterVec,
    pub connect_failures: IntCounter,
    pub ready: IntGauge,
    requests: IntCounterVec,
    endpoints: Mutex<Endpoints>,
}

/// The endpoints that have figures of their own. They belong to the process: a tenure that follows another goes on with
/// the same series, and finds the same room.
#[derive(Default)]
struct Endpoints {
    by_id: HashMap<EndpointId, Arc<Meter>>,
    /// With how many have the name: one that is made anew under the name of another may be seen before that is gone.
    by_name: HashMap<Arc<str>, (Arc<Meter>, usize)>,
    others: Option<Arc<Meter>>,
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Telemetry")
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        let opts = |(name, help): (&str, &str)| Opts::new(name, help);
        let counters = |what, labels: &[&str]| {
            IntCounterVec::new(opts(what), labels).expect("the name is valid")
        };
        let histogram = |(name, help): (&str, &str), buckets: &[f64]| {
            HistogramOpts::new(name, help).buckets(buckets.to_vec())
        };
        let histograms = |what, buckets| {
            HistogramVec::new(histogram(what, buckets), &["endpoint"]).expect("the name is valid")
        };
        let flushes = histogram(FLUSH_DURATION, FLUSH_BUCKETS);
        let telemetry = Self {
            registry: Registry::new(),
            attempts: counters(ATTEMPTS, &["endpoint", "outcome", "class"]),
            durations: histograms(ATTEMPT_DURATION, ATTEMPT_BUCKETS),
            latencies: histograms(LATENCY, LATENCY_BUCKETS),
            in_flight: IntGauge::with_opts(opts(IN_FLIGHT)).expect("the name is valid"),
            flushes: Histogram::with_opts(flushes).expect("the name is valid"),
            tenures: counters(TENURES_ENDED, &["reason"]),
            connect_failures: IntCounter::with_opts(opts(CONNECT_FAILURES))
                .expect("the name is valid"),
            ready: IntGauge::with_opts(opts(READY)).expect("the name is valid"),
            requests: counters(REQUESTS, &["class"]),
            endpoints: Mutex::default(),
        };
        for reason in ["lease_lost", "failed", "stopped"] {
            telemetry.tenures.with_label_values(&[reason]);
        }
        let program = IntGauge::with_opts(opts(PROGRAM).const_label("version", PRODUCT_VERSION))
            .expect("the name is valid");
        program.set(1);
        let started = Gauge::with_opts(opts(STARTED)).expect("the name is valid");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        let all: [Box<dyn Collector>; 11] = [
            Box::new(telemetry.attempts.clone()),
            Box::new(telemetry.durations.clone()),
            Box::new(telemetry.latencies.clone()),
            Box::new(telemetry.in_flight.clone()),
            Box::new(telemetry.flushes.clone()),
            Box::new(telemetry.tenures.clone()),
            Box::new(telemetry.connect_failures.clone()),
            Box::new(telemetry.ready.clone()),
            Box::new(telemetry.requests.clone()),
            Box::new(program),
            Box::new(started),
        ];
        for collector in all {
            telemetry.registry.register(collector).expect("each name is there once");
        }
        telemetry
    }
}

impl Telemetry {
    /// A tenure is over: `lease_lost`, `failed` or `stopped`.
    pub fn end_tenure(&self, reason: &str) {
        self.tenures.with_label_values(&[reason]).inc();
    }

    /// A request was answered with this status.
    pub fn answered(&self, status: u16) {
        self.requests.with_label_values(&[class(Some(i32::from(status)))]).inc();
    }

    /// The figures of an endpoint: its own, or, once there are enough of those, what all others share.
    fn meter(&self, id: EndpointId, name: &Arc<str>) -> Arc<Meter> {
        let mut endpoints = self.endpoints();
        let Endpoints { by_id, by_name, others } = &mut *endpoints;
        if let Some(meter) = by_id.get(&id) {
            return Arc::clone(meter);
        }
        let make = |name: &Arc<str>| Arc::new(Meter::new(self, Arc::clone(name)));
        if by_id.len() >= ENDPOINTS_MAX {
            return Arc::clone(others.get_or_insert_with(|| make(&OTHERS.into())));
        }
        let (meter, count) = by_name.entry(Arc::clone(name)).or_insert_with(|| (make(name), 0));
        *count += 1;
        by_id.insert(id, Arc::clone(meter));
        Arc::clone(meter)
    }

    /// These endpoints are gone: so are their figures.
    fn forget(&self, gone: impl IntoIterator<Item = EndpointId>) {
        let mut endpoints = self.endpoints();
        for id in gone {
            let Some(meter) = endpoints.by_id.remove(&id) else { continue };
            if let Entry::Occupied(mut entry) = endpoints.by_name.entry(Arc::clone(&meter.name)) {
                let (_, count) = entry.get_mut();
                *count -= 1;
                if *count == 0 {
                    entry.remove();
                    self.remove(&meter);
                }
            }
        }
    }

    /// Each series has a place of its own: no others are walked.
    fn remove(&self, meter: &Meter) {
        let name = &*meter.name;
        let counted = meter.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for (outcome, class) in counted.keys().copied().chain([ACCEPTED]) {
            let _ = self.attempts.remove_label_values(&[name, outcome, class]);
        }
        let _ = self.durations.remove_label_values(&[name]);
        let _ = self.latencies.remove_label_values(&[name]);
    }

    fn endpoints(&self) -> MutexGuard<'_, Endpoints> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All metrics of this process, as Prometheus reads them.
    pub fn exposition(&self) -> String {
        let mut text = String::new();
        // It fails for a metric without samples, which `gather` leaves out.
        let _ = TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text);
        text
    }
}

/// The class of a status: one of seven.
fn class(status: Option<i32>) -> &'static str {
    match status {
        None => "none",
        Some(100..200) => "1xx",
        Some(200..300) => "2xx",
        Some(300..400) => "3xx",
        Some(400..500) => "4xx",
        Some(500..600) => "5xx",
        Some(_) => "other",
    }
}

/// What one tenure counts of its endpoints, with the handles at hand.
#[derive(Debug)]
pub struct Meters {
    telemetry: Arc<Telemetry>,
    by_endpoint: HashMap<EndpointId, Arc<Meter>>,
}

/// The figures of one endpoint, or of all others.
struct Meter {
    name: Arc<str>,
    /// Accepted with 2xx: what nearly all attempts are.
    accepted: IntCounter,
    /// What else has come, by outcome and class.
    counted: Mutex<HashMap<(&'static str, &'static str), IntCounter>>,
    duration: Histogram,
    latency: Histogram,
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Meter({})", self.name)
    }
}

impl Meters {
    pub fn new(telemetry: Arc<Telemetry>) -> Meters {
        Meters { telemetry, by_endpoint: HashMap::new() }
    }

    /// Counts what a dispatcher has measured, in its order.
    pub fn take(&mut self, measured: Vec<Measured>) {
        for measured in measured {
            match measured {
                Measured::Attempt { endpoint, name, sample } => self.note(endpoint, &name, &sample),
                Measured::Gone(endpoint) => self.forget(endpoint),
            }
        }
    }

    /// An attempt has ended.
    fn note(&mut self, id: EndpointId, name: &Arc<str>, sample: &Sample) {
        let telemetry = &self.telemetry;
        let meter = self.by_endpoint.entry(id).or_insert_with(|| telemetry.meter(id, name));
        if sample.outcome != Outcome::NotSent {
            meter.duration.observe(sample.duration.as_secs_f64());
        }
        match (sample.outcome.name(), class(sample.status)) {
            ACCEPTED => meter.accepted.inc(),
            labels => meter.count(telemetry, labels),
        }
        if sample.outcome == Outcome::Accepted {
            meter.latency.observe(sample.latency.as_secs_f64());
        }
    }

    /// The endpoint is gone: so are its figures.
    fn forget(&mut self, id: EndpointId) {
        self.by_endpoint.remove(&id);
        self.telemetry.forget([id]);
    }

    /// These are the endpoints that there are when a tenure begins: those that were dropped since an earlier one are forgotten.
    pub fn begin(&mut self, current: impl IntoIterator<Item = EndpointId>) {
        let current: HashSet<EndpointId> = current.into_iter().collect();
        let known: Vec<EndpointId> = self.telemetry.endpoints().by_id.keys().copied().collect();
        self.telemetry.forget(known.into_iter().filter(|id| !current.contains(id)));
    }
}

impl Meter {
    fn new(telemetry: &Telemetry, name: Arc<str>) -> Meter {
        let (outcome, class) = ACCEPTED;
        Meter {
            accepted: telemetry.attempts.with_label_values(&[&*name, outcome, class]),
            counted: Mutex::default(),
            duration: telemetry.durations.with_label_values(&[&*name]),
            latency: telemetry.latencies.with_label_values(&[&*name]),
            name,
        }
    }

    fn count(&self, telemetry: &Telemetry, labels: (&'static str, &'static str)) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, class) = labels;
        let make = || telemetry.attempts.with_label_values(&[&*self.name, outcome, class]);
        counted.entry(labels).or_insert_with(make).inc();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use postrider_core::outcome::Report;

    use super::*;

    fn note(
        meters: &mut Meters,
        endpoint: EndpointId,
        name: &Arc<str>,
        report: &Report,
        latency: Duration,
    ) {
        let (name, sample) = (Arc::clone(name), Sample::new(report, latency));
        meters.take(vec![Measured::Attempt { endpoint, name, sample }]);
    }

    #[test]
    fn the_names_are_the_golden_ones() {
        let telemetry = Arc::new(Telemetry::default());
        let mut meters = Meters::new(Arc::clone(&telemetry));
        let report = Report { status: Some(200), ..Report::accepted(Duration::from_millis(7)) };
        note(&mut meters, EndpointId(1), &"orders".into(), &report, Duration::from_millis(70));
        telemetry.answered(200);
        let text = telemetry.exposition();
        let mut types: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        types.sort_unstable();
        let golden = include_str!("../testdata/metrics.txt");
        assert_eq!(types.join("\n"), golden.trim_end());
        let mut names: Vec<&str> = types.iter().filter_map(|line| line.split(' ').next()).collect();
        names.push(FIGURES_AGE.0);
        names.sort_unstable();
        let mut all = NAMES;
        all.sort_unstable();
        assert_eq!(names, all);
    }

    #[test]
    fn attempts_are_counted_by_endpoint_outcome_and_class_until_the_endpoint_is_gone() {
        let telemetry = Arc::new(Telemetry::default());
        let mut meters = Meters::new(Arc::clone(&telemetry));
        let (id, name) = (EndpointId(1), Arc::from("orders"));
        let accepted = Report { status: Some(204), ..Report::accepted(Duration::from_millis(7)) };
        let unavailable = Outcome::Unavailable { retry_after: None };
        let failed = Report::failed(unavailable, "refused".to_owned(), Duration::ZERO);
        for report in
            [&accepted, &accepted, &failed, &Report { status: Some(503), ..failed.clone() }]
        {
            note(&mut meters, id, &name, report, Duration::from_secs(2));
        }
        note(&mut meters, EndpointId(2), &"other".into(), &accepted, Duration::from_secs(2));
        let text = telemetry.exposition();
        for line in [
            "postrider_delivery_attempts_total{class=\"2xx\",endpoint=\"orders\",outcome=\"accepted\"} 2",
            "postrider_delivery_attempts_total{class=\"none\",endpoint=\"orders\",outcome=\"unavailable\"} 1",
            "postrider_delivery_attempts_total{class=\"5xx\",endpoint=\"orders\",outcome=\"unavailable\"} 1",
            "postrider_delivery_duration_seconds_count{endpoint=\"orders\"} 4",
            "postrider_end_to_end_latency_seconds_bucket{endpoint=\"orders\",le=\"1\"} 0",
            "postrider_end_to_end_latency_seconds_bucket{endpoint=\"orders\",le=\"2.5\"} 2",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
        meters.forget(id);
        let text = telemetry.exposition();
        assert!(!text.contains("orders") && text.contains("endpoint=\"other\""), "{text}");
    }

    #[test]
    fn labels_have_a_bound() {
        let telemetry = Arc::new(Telemetry::default());
        let mut meters = Meters::new(Arc::clone(&telemetry));
        let report = Report::accepted(Duration::ZERO);
        for id in 0..ENDPOINTS_MAX as i32 + 50 {
            note(&mut meters, EndpointId(id), &format!("e{id}").into(), &report, Duration::ZERO);
        }
        assert_eq!(durations(&telemetry).count(), ENDPOINTS_MAX + 1);
        let others = durations(&telemetry).find(|(name, _)| name == OTHERS);
        assert_eq!(others, Some((OTHERS.to_owned(), 50)));
        // Room that one leaves is for the next one.
        meters.forget(EndpointId(0));
        note(&mut meters, EndpointId(-1), &"new".into(), &report, Duration::ZERO);
        assert_eq!(durations(&telemetry).count(), ENDPOINTS_MAX + 1);
        assert!(durations(&telemetry).any(|counted| counted == ("new".to_owned(), 1)));
    }

    /// How many attempts of each endpoint were timed.
    fn durations(telemetry: &Telemetry) -> impl Iterator<Item = (String, u64)> {
        let lines: Vec<_> = telemetry
            .exposition()
            .lines()
            .filter_map(|line| {
                let rest =
                    line.strip_prefix("postrider_delivery_duration_seconds_count{endpoint=\"")?;
                let (name, count) = rest.split_once("\"} ")?;
                Some((name.to_owned(), count.parse().unwrap()))
            })
            .collect();
        lines.into_iter()
    }

    #[test]
    fn a_new_tenure_goes_on_with_the_same_series_within_the_same_bound() {
        let telemetry = Arc::new(Telemetry::default());
        let report = Report::accepted(Duration::ZERO);
        let most = ENDPOINTS_MAX as i32;
        // The other way round in the second tenure.
        let orders: [Vec<i32>; 2] = [(0..most + 50).collect(), (0..most + 50).rev().collect()];
        for ids in orders {
            let mut meters = Meters::new(Arc::clone(&telemetry));
            for id in ids {
                note(
                    &mut meters,
                    EndpointId(id),
                    &format!("e{id}").into(),
                    &report,
                    Duration::ZERO,
                );
            }
        }
        assert_eq!(durations(&telemetry).count(), ENDPOINTS_MAX + 1);
        for (name, count) in durations(&telemetry) {
            assert_eq!(count, if name == OTHERS { 100 } else { 2 }, "{name}");
        }
        // What was dropped between two tenures leaves nothing behind.
        let mut meters = Meters::new(Arc::clone(&telemetry));
        meters.begin((10..20).map(EndpointId));
        assert_eq!(durations(&telemetry).count(), 10 + 1);
        let left = telemetry.exposition();
        assert!(!left.contains("\"e9\"") && left.contains("\"e19\""), "{left}");
    }

    #[test]
    fn an_endpoint_that_is_made_anew_keeps_the_series_of_its_name() {
        let telemetry = Arc::new(Telemetry::default());
        let mut meters = Meters::new(Arc::clone(&telemetry));
        let report = Report::accepted(Duration::ZERO);
        let failed = Report { outcome: Outcome::Unknown, ..report.clone() };
        for (id, report) in [(1, &failed), (2, &report)] {
            note(&mut meters, EndpointId(id), &"orders".into(), report, Duration::ZERO);
        }
        meters.forget(EndpointId(1));
        note(&mut meters, EndpointId(2), &"orders".into(), &report, Duration::ZERO);
        assert_eq!(durations(&telemetry).collect::<Vec<_>>(), [("orders".to_owned(), 3)]);
        meters.forget(EndpointId(2));
        assert_eq!(durations(&telemetry).count(), 0);
        assert!(!telemetry.exposition().contains("orders"));
    }
}
