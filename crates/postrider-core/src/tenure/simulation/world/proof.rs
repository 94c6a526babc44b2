//! Many lives, one after the other: what they came to, and what is told of one that went wrong.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Counts, Life, Plan, World, Wrong};

/// A life that goes wrong is made shorter by so many tries at most.
const MOST_TRIES: usize = 400;
/// So much of a trace is told, from its end.
const TRACE_LINES: usize = 1_000;

/// How long to go on.
#[derive(Debug, Clone, Copy)]
pub struct Stint {
    pub first_seed: u64,
    pub lasts: Duration,
    pub fewest_lives: u64,
    pub threads: usize,
}

/// What all of them came to.
#[derive(Debug, Default)]
pub struct Summary {
    pub life_count: u64,
    pub failing_seeds: BTreeSet<u64>,
    counts: Counts,
    took: Duration,
    /// Of a processor, where it can be told: others may want it, too.
    processor_time: Option<Duration>,
}

pub fn plan(seed: u64, wrong: Wrong) -> Plan {
    Plan { seed, wrong, dropped: BTreeSet::new(), is_traced: false }
}

pub fn live(plan: &Plan) -> Life {
    World::new(plan).live()
}

/// Lives until the time is over, or one goes wrong.
pub fn live_on(stint: Stint) -> Summary {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let has_failed = AtomicBool::new(false);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..stint.threads {
            scope.spawn(|| {
                let mut own = Summary::default();
                let began_with = processor_time();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = began.elapsed() >= stint.lasts && number >= stint.fewest_lives;
                    if is_over || has_failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let seed = stint.first_seed.wrapping_add(number);
                    let life = live(&plan(seed, Wrong::Nothing));
                    if !life.findings.is_empty() {
                        has_failed.store(true, Ordering::Relaxed);
                    }
                    own.add(Summary::of(seed, life));
                }
                own.processor_time =
                    processor_time().zip(began_with).map(|(end, begin)| end - begin);
                summary.lock().expect("nobody panics with it").add(own);
            });
        }
    });
    let mut summary = summary.into_inner().expect("nobody panics with it");
    summary.took = began.elapsed();
    summary
}

/// How long this thread has had a processor.
fn processor_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.message_count += other.message_count;
        self.attempt_count += other.attempt_count;
        self.duplicate_count += other.duplicate_count;
        self.loan_count += other.loan_count;
        self.step_count += other.step_count;
        self.idle_count += other.idle_count;
        self.lasted += other.lasted;
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (place, count) in other.crashes {
            *self.crashes.entry(place).or_default() += count;
        }
    }
}

impl Summary {
    /// What one life came to.
    fn of(seed: u64, life: Life) -> Summary {
        Summary {
            life_count: 1,
            failing_seeds: (!life.findings.is_empty()).then_some(seed).into_iter().collect(),
            counts: life.counts,
            took: Duration::ZERO,
            processor_time: None,
        }
    }

    fn add(&mut self, other: Summary) {
        self.life_count += other.life_count;
        self.failing_seeds.extend(other.failing_seeds);
        self.counts.add(other.counts);
        let times = self.processor_time.into_iter().chain(other.processor_time);
        self.processor_time = times.reduce(|one, another| one + another);
    }

    /// Where dispatchers were gone: for each thing that they had done last, in how many states, and how often.
    pub fn coverage(&self) -> String {
        let mut moments: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for ((moment, _), count) in &self.counts.crashes {
            let known = moments.entry(moment).or_default();
            *known = (known.0 + 1, known.1 + count);
        }
        let line = |(moment, (states, count)): (&&str, &(usize, usize))| {
            format!("  {moment:12} {count:>8} crashes in {states:>4} states")
        };
        moments.iter().map(line).collect::<Vec<String>>().join("\n")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_second = self.life_count as f64 / self.took.as_secs_f64();
        writeln!(f, "{} lives in {:.1?}: {per_second:.0}/s", self.life_count, self.took)?;
        if let Some(time) = self.processor_time {
            let per_second = self.life_count as f64 / time.as_secs_f64();
            writeln!(
                f,
                "{per_second:.0} in a second of a processor, of which they had {time:.1?}"
            )?;
        }
        writeln!(
            f,
            "{} messages, {} attempts, {} accepted again, {} loans",
            self.counts.message_count,
            self.counts.attempt_count,
            self.counts.duplicate_count,
            self.counts.loan_count
        )?;
        writeln!(
            f,
            "{} steps in {:.0?} of their own time; in {} a dispatcher had nothing to do",
            self.counts.step_count, self.counts.lasted, self.counts.idle_count
        )?;
        for (fault, count) in &self.counts.faults {
            writeln!(f, "  {fault:28} {count:>8}")?;
        }
        let states: BTreeSet<&String> =
            self.counts.crashes.keys().map(|(_, state)| state).collect();
        writeln!(f, "{} moments × states, {} states:", self.counts.crashes.len(), states.len())?;
        f.write_str(&self.coverage())
    }
}

/// The same life with less in it, as long as it goes wrong.
pub fn shrink(mut plan: Plan) -> Plan {
    let planned = live(&plan).planned;
    let mut tries = 0;
    let mut size = planned.div_ceil(2).max(1);
    loop {
        let kept: Vec<usize> = (0..planned).filter(|n| !plan.dropped.contains(n)).collect();
        let mut has_shrunk = false;
        for part in kept.chunks(size) {
            let mut smaller = plan.clone();
            smaller.dropped.extend(part);
            tries += 1;
            if tries > MOST_TRIES {
                return plan;
            }
            if !live(&smaller).findings.is_empty() {
                plan = smaller;
                has_shrunk = true;
            }
        }
        match (size, has_shrunk) {
            (1, false) => return plan,
            (1, true) => {}
            _ => size = size.div_ceil(2),
        }
    }
}

/// What happened in a life that went wrong, for people.
pub fn tell(plan: Plan) -> String {
    let plan = Plan { is_traced: true, ..shrink(plan) };
    let life = live(&plan);
    let from = life.trace.len().saturating_sub(TRACE_LINES);
    let kept = life.planned - plan.dropped.len();
    format!(
        "{}\nseed {}, {kept} of {} things that were planned: {:#?}",
        life.trace[from..].join("\n"),
        plan.seed,
        life.planned,
        life.findings
    )
}
