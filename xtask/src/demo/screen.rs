//! What is seen while the demo runs: lines of a terminal that change, or plain lines elsewhere.

use std::{
    cell::{Cell, OnceCell},
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::DESTINATIONS;

/// How often a line is printed where lines cannot change.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

/// How far everything is.
#[derive(Debug)]
pub struct Progress {
    pub elapsed: Duration,
    /// Committed messages by destination.
    pub committed: Vec<usize>,
    pub rolled_back: usize,
    /// Messages accepted and requests received, by destination.
    pub arrived: Vec<(usize, usize)>,
    /// How many shards each dispatcher owns.
    pub shard_counts: Vec<i64>,
    /// Deliveries that wait for a retry.
    pub waiting_count: i64,
}

/// The screen.
pub struct Screen {
    is_terminal: bool,
    /// Made when there is something to show.
    live: OnceCell<Live>,
    printed_at: Cell<Option<Instant>>,
}

/// Lines that change.
struct Live {
    all: MultiProgress,
    destinations: Vec<ProgressBar>,
    summary: ProgressBar,
}

impl Screen {
    /// A screen for whoever reads standard output.
    pub fn new() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self { is_terminal, live: OnceCell::new(), printed_at: Cell::new(None) }
    }

    /// Prints a line that stays.
    pub fn say(&self, text: &str) {
        match self.live.get() {
            Some(live) => live.all.suspend(|| println!("{text}")),
            None => println!("{text}"),
        }
    }

    /// Shows how far everything is.
    pub fn show(&self, progress: &Progress) {
        if self.is_terminal {
            self.live.get_or_init(Live::new).show(progress);
            return;
        }
        let is_recent = |at: Instant| at.elapsed() < PLAIN_INTERVAL;
        if !self.printed_at.get().is_some_and(is_recent) {
            self.printed_at.set(Some(Instant::now()));
            println!("{:5.1} s  {}", progress.elapsed.as_secs_f64(), progress.line());
        }
    }

    /// Leaves only the lines that stay.
    pub fn end(&self) {
        if let Some(live) = self.live.get() {
            // A terminal that is gone shows nothing anyway.
            let _ = live.all.clear();
        }
    }
}

impl Live {
    fn new() -> Self {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{prefix:>10} {bar:30} {msg}")
            .expect("the template is well-formed");
        let bar = |name: &'static str| {
            let bar = all.add(ProgressBar::new(0).with_style(style.clone()));
            bar.set_prefix(name);
            bar
        };
        let destinations = DESTINATIONS.map(bar).into();
        let plain = ProgressStyle::with_template("{msg}").expect("the template is well-formed");
        let summary = all.add(ProgressBar::new(0).with_style(plain));
        Self { all, destinations, summary }
    }

    fn show(&self, progress: &Progress) {
        let counts = progress.committed.iter().zip(&progress.arrived);
        for (bar, (committed, (accepted, requests))) in self.destinations.iter().zip(counts) {
            bar.set_length(*committed as u64);
            bar.set_position(*accepted as u64);
            bar.set_message(format!("{accepted} of {committed} arrived, in {requests} requests"));
        }
        self.summary.set_message(progress.summary());
    }
}

impl Progress {
    /// All of it in a line.
    pub fn line(&self) -> String {
        let counts = self.committed.iter().zip(&self.arrived).zip(DESTINATIONS);
        let parts: Vec<_> = counts
            .map(|((committed, (accepted, _)), name)| format!("{name} {accepted}/{committed}"))
            .collect();
        format!("{}; {}", parts.join(", "), self.summary())
    }

    fn summary(&self) -> String {
        let shards = self.shard_counts.iter().map(i64::to_string).collect::<Vec<_>>();
        format!(
            "{} rolled back, {} wait for a retry, shards of dispatchers 1 and 2: {}",
            self.rolled_back,
            self.waiting_count,
            shards.join(" and ")
        )
    }
}
