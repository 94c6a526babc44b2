//! The database as the simulation has it, against PostgreSQL: random histories of senders, operators, and dispatchers
//! that decide nothing, and after each step the same answer and the same rows. What is chosen follows from what
//! PostgreSQL has answered, so a history is played there once and then to any number of models: to the one that the
//! simulation trusts, and to those that are wrong on purpose, which have to be found.
//!
//! `SEED` plays one history, `STEPS` says how long it is.

mod desk;
mod history;
mod model;
mod postgres;
mod telling;
mod world;

use history::{Player, Step};
use model::Model;
use postgres::Postgres;
use postrider_core::tenure::simulation::Wrong;

/// One of each scope of ordering keys at least.
const SEEDS: [u64; 2] = [1, 2];
const STEPS: usize = 300;

/// What has happened, and what was heard of it.
struct History {
    seed: u64,
    is_global: bool,
    endpoints: Vec<postrider_core::configuration::EndpointRow>,
    all: Vec<postrider_core::id::Target>,
    steps: Vec<(Step, Vec<String>)>,
}

impl History {
    async fn play(seed: u64, step_count: usize) -> History {
        let is_global = seed.is_multiple_of(2);
        let mut dice = fastrand::Rng::with_seed(seed);
        let world = Postgres::open(is_global).await;
        let (endpoints, all) = (world.endpoints.clone(), world.all.clone());
        let mut player = Player::new(world, is_global);
        let mut steps = Vec::new();
        for _ in 0..step_count {
            let mut step = player.choose(&mut dice);
            let heard = player.play(&mut step).await;
            steps.push((step, heard));
        }
        History { seed, is_global, endpoints, all, steps }
    }

    /// The first step at which this model answers something else, and how.
    async fn compare(&self, wrong: Wrong) -> Option<(usize, String)> {
        let model = Model::new(wrong, self.is_global, self.endpoints.clone(), self.all.clone());
        let mut player = Player::new(model, self.is_global);
        for (number, (step, expected)) in self.steps.iter().enumerate() {
            let heard = player.play(&mut step.clone()).await;
            if heard != *expected {
                let lacking = expected.iter().filter(|line| !heard.contains(line));
                let more = heard.iter().filter(|line| !expected.contains(line));
                let lines: Vec<String> = lacking
                    .map(|line| format!("  PostgreSQL: {line}"))
                    .chain(more.map(|line| format!("  the model:  {line}")))
                    .collect();
                return Some((number, lines.join("\n")));
            }
        }
        None
    }

    fn tell(&self, number: usize, difference: &str) -> String {
        let steps = self.steps[..=number].iter().enumerate();
        let steps: Vec<String> = steps.map(|(n, (step, _))| format!("{n:>4} {step:?}")).collect();
        format!("{}\nSEED={} step {number}:\n{difference}", steps.join("\n"), self.seed)
    }
}

/// Databases that are wrong on purpose, in what histories do here: a crash forgets nothing, nobody borrows, and what a
/// driver does wrong is not the database's.
const WRONG: &[Wrong] = &[
    Wrong::NoLease,
    Wrong::CutOffForgotten,
    Wrong::HeldForgotten,
    Wrong::CheckpointsLost,
    Wrong::FlushesLost,
    Wrong::SeesUncommitted,
    Wrong::TicksById,
    Wrong::TicksByXmin,
    Wrong::WindowTooLate,
    Wrong::PageCut,
    Wrong::NothingRecovered,
    Wrong::RecoverySkips,
    Wrong::EndsForgotten,
    Wrong::CheckpointAhead,
    Wrong::ReleasedUnwritten,
    Wrong::ClaimsForgotten,
    Wrong::RetryNotRaised,
    Wrong::WaitingCharged,
    Wrong::SettledKept,
    Wrong::PartlyIsAll,
    Wrong::CancelsIgnored,
    Wrong::CancelsUnderWayIgnored,
    Wrong::KeysIgnored,
    Wrong::KeysLost,
    Wrong::ExpiryIgnored,
    Wrong::ScheduleIgnored,
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_of_the_database_answers_as_postgresql_does() {
    let seeds = number("SEED").map_or_else(|| SEEDS.to_vec(), |seed| vec![seed]);
    let step_count = number("STEPS").map_or(STEPS, |count| count as usize);
    for seed in seeds {
        println!("SEED={seed}");
        let began = std::time::Instant::now();
        let history = History::play(seed, step_count).await;
        println!("{step_count} steps in {:?}", began.elapsed());
        if let Some((number, difference)) = history.compare(Wrong::Nothing).await {
            panic!("{}", history.tell(number, &difference));
        }
        for wrong in WRONG {
            let found = history.compare(*wrong).await;
            println!("{wrong:?}: {:?}", found.map(|(n, _)| (n, &history.steps[n].0)));
        }
        let mut kinds: std::collections::BTreeMap<String, usize> = Default::default();
        for (step, heard) in &history.steps {
            let text = format!("{step:?}");
            let kind: String =
                text.chars().take_while(|c| *c != '{' && *c != '[').take(14).collect();
            let has = heard.iter().any(|l| {
                l.chars().next().is_some_and(|c| c.is_ascii_digit())
                    || l.starts_with("answer Some")
                    || l.contains("recovered")
            });
            *kinds.entry(format!("{kind} {has}")).or_default() += 1;
        }
        println!("{kinds:?}");
    }
}
