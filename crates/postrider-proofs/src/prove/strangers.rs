//! The matrix of strangers: for each role everything that it may call, lock or change, in a transaction that
//! stays open, while an unrelated endpoint, consumer and action, two dispatchers that lend each other places, a dump
//! and a migration go on. What strangers hold is worked on as well: an endpoint refuses what it gets, so that rows
//! which they lock are claimed, attempted and flushed all the time. Now and then a dispatcher is killed while
//! something is held.
//!
//! What there is to hold is read from the catalog, so a new function or grant is in it or the run fails. In the
//! short form each statement is one role's, as many as go together are open at once, and a group that disturbs somebody
//! is halved until it is known which; in the full form each is held alone, idle and busy.

mod catalog;
mod holding;
mod scene;
mod values;
mod watch;

use std::{collections::HashMap, fmt, path::Path, time::Duration};

use anyhow::{Result, ensure};

use self::{
    catalog::{Hold, Statement},
    holding::{Held, Opened},
    scene::{DATABASE, Round, Scene},
    watch::Wait,
};
use postrider_testkit::stillness::Stillness;

/// How long a statement of ours may wait for a stranger: lock timeouts are far below the shortest lease.
const LONGEST_WAIT: Duration = Duration::from_millis(2_500);
/// What one of others may, `tick()` for its turn. Strangers hold what they hold for longer than that.
const LONGEST_TURN: Duration = Duration::from_millis(500);
/// In the short form the lease, and so our lock timeouts, are longer, and tests of all kinds run beside it. Who waits
/// without such a timeout waits longer than this, too.
const LONGEST_WAIT_BESIDE_TESTS: Duration = Duration::from_secs(5);
const LONGEST_TURN_BESIDE_TESTS: Duration = Duration::from_secs(3);
/// How much longer than 99 of 100 without strangers 98 of 100 steps may take. Of a step that takes one of two times, a tick
/// more or less, chance alone has one in a hundred or two take the longer one.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// The same of every single step, against the longest one without strangers.
const LONGEST_STEP_DELAY: Duration = Duration::from_secs(2);
/// The same of a step of the round behind the end of what was held, as `LONGEST_STEP_DELAY`: everything goes on at once.
const SOON: Soon = Soon { times: 1, delay: LONGEST_STEP_DELAY };
/// The same beside tests of all kinds, and behind a takeover: nobody waits for something to run out that nobody wakes him from.
const SOON_BESIDE_TESTS: Soon = Soon { times: 2, delay: Duration::from_secs(8) };
/// In the short form, where tests of all kinds run beside it.
const LONGEST_STEP_DELAY_BESIDE_TESTS: Duration = Duration::from_secs(20);
/// How often a transaction beside which a step took longer than in 98 of 100 is held again. It disturbs whom it delays mostly.
const AGAIN: usize = 5;
/// How often one that is alone is tried while a dispatcher, or a vacuum, has what it wants.
const TRIES: usize = 30;
/// The same while a dispatcher has the delivery in hand that it is about, which takes as long as an attempt; and beside
/// others, of which one may hold it.
const IN_HAND_TRIES: usize = 100;
const IN_HAND_TRIES_BESIDE_OTHERS: usize = 3;
/// How far these tries are apart.
const IN_HAND_PAUSE: Duration = Duration::from_millis(150);
/// Beside strangers everything together may touch so many times as many buffers as the worst control, and so many
/// more: whoever walks over what is held again and again touches more than that.
const MOST_TIMES_THE_BUFFERS: i64 = 10;
const MOST_MORE_BUFFERS: i64 = 20_000;

/// How long a step may take when strangers have let go: so many times as long as the longest one without any, and so much
/// longer, beside what the machine stood still.
#[derive(Debug, Clone, Copy)]
pub struct Soon {
    pub times: u32,
    pub delay: Duration,
}

/// How much of the matrix is tried.
#[derive(Debug, Clone, Copy)]
pub struct StrangersScale {
    /// Servers, each with everything that goes on, among which the matrix is shared out: most of the time one waits.
    pub scenes: usize,
    /// Transactions that are open at the same time.
    pub group: usize,
    /// Each idle and busy, and not only one of both.
    pub is_full: bool,
    /// How much longer a step may take than the longest one without strangers.
    pub delay: Duration,
    /// How long one may take as soon as nothing is held any more.
    pub soon: Soon,
    /// How long a statement may wait for a stranger: one of ours, and one of others.
    pub waits: [Duration; 2],
    /// The dispatchers' lease. In the short form a machine that stands still for some seconds, as machines of tests do,
    /// must not end one.
    pub lease: Duration,
    /// In the first group and each so many after it a dispatcher is killed while something is held.
    pub kill_every: usize,
}

/// How one group is tried.
#[derive(Debug, Clone, Copy)]
struct Trial {
    delay: Duration,
    soon: Soon,
    waits: [Duration; 2],
    /// A dispatcher is killed, and another one takes its place.
    is_killed: bool,
}

impl StrangersScale {
    pub const FULL: StrangersScale = StrangersScale {
        scenes: 3,
        group: 1,
        is_full: true,
        delay: LONGEST_STEP_DELAY,
        soon: SOON,
        waits: [LONGEST_WAIT, LONGEST_TURN],
        lease: Duration::from_secs(5),
        kill_every: 10,
    };
    pub const SHORT: StrangersScale = StrangersScale {
        scenes: 1,
        group: 200,
        is_full: false,
        delay: LONGEST_STEP_DELAY_BESIDE_TESTS,
        soon: SOON_BESIDE_TESTS,
        waits: [LONGEST_WAIT_BESIDE_TESTS, LONGEST_TURN_BESIDE_TESTS],
        lease: Duration::from_secs(20),
        kill_every: usize::MAX,
    };
}

/// What came of it.
#[derive(Debug, Default)]
pub struct StrangersFigures {
    /// Transactions held, by login.
    pub held: HashMap<String, usize>,
    pub groups: usize,
    /// What strangers disturbed.
    pub faults: Vec<String>,
    /// Statements that could not be held, and why.
    pub refused: Vec<String>,
    /// How long each step took.
    pub times: HashMap<&'static str, Times>,
    /// How many buffers all steps together touched while something was held, and in controls of the same run.
    pub buffers: (Vec<i64>, Vec<i64>),
    /// How often a dispatcher was killed while something was held.
    pub killed: usize,
    /// How often a step took longer than 99 of 100 controls, and the transaction that was open was held again.
    pub held_again: usize,
    /// Steps beside each transaction that was held alone.
    steps: Vec<(Hold, Vec<(&'static str, Duration)>)>,
    /// How many transactions there are to hold, which each part has to see alike.
    all: usize,
}

/// How long a step took while something was held, when it was no more, and in controls of the same run, which come behind
/// that.
#[derive(Debug, Default)]
pub struct Times {
    pub held: Vec<Duration>,
    pub released: Vec<Duration>,
    pub control: Vec<Duration>,
}

impl StrangersFigures {
    pub fn is_proven(&self) -> bool {
        self.faults.is_empty() && self.refused.is_empty()
    }

    fn note(&mut self, round: &Round, is_control: bool) {
        let (held, control) = &mut self.buffers;
        if is_control { control } else { held }.push(round.buffers);
        for (step, time) in &round.times {
            let times = self.times.entry(step).or_default();
            if is_control { &mut times.control } else { &mut times.held }.push(*time);
        }
    }

    fn add(&mut self, other: StrangersFigures) {
        for (login, count) in other.held {
            *self.held.entry(login).or_default() += count;
        }
        self.groups += other.groups;
        self.faults.extend(other.faults);
        self.refused.extend(other.refused);
        for (step, times) in other.times {
            let all = self.times.entry(step).or_default();
            all.held.extend(times.held);
            all.released.extend(times.released);
            all.control.extend(times.control);
        }
        self.buffers.0.extend(other.buffers.0);
        self.buffers.1.extend(other.buffers.1);
        self.killed += other.killed;
        self.held_again += other.held_again;
    }

    /// The transactions beside which a step took longer than 99 of 100 controls and what chance may add, and so long it may
    /// take.
    fn slow(&self) -> Vec<(Hold, &'static str, Duration)> {
        let mut limits = HashMap::new();
        for (step, times) in &self.times {
            limits.insert(*step, percentile(99, &times.control) + LONGEST_DELAY);
        }
        let mut slow = Vec::new();
        for (hold, times) in &self.steps {
            for (step, time) in times {
                if let Some(limit) = limits.get(step).filter(|limit| time > *limit) {
                    slow.push((hold.clone(), *step, *limit));
                }
            }
        }
        slow
    }

    /// Whether a round beside strangers was as one without: quick, and without much more to read.
    fn judge(&self, round: &Round, delay: Duration) -> Vec<String> {
        let slow = self.judge_steps(&round.times, delay);
        slow.into_iter().chain(self.judge_buffers(round.buffers)).collect()
    }

    /// Whether all steps together touched not many times as many buffers as at most without strangers.
    fn judge_buffers(&self, buffers: i64) -> Option<String> {
        let Some(most) = self.buffers.1.iter().max() else {
            return Some("buffers were never read without strangers".to_owned());
        };
        (buffers > most * MOST_TIMES_THE_BUFFERS + MOST_MORE_BUFFERS).then(|| {
            format!("{buffers} buffers were touched, and {most} at most without strangers")
        })
    }

    /// Whether these steps were as quick as the longest ones without strangers.
    fn judge_steps(&self, times: &[(&'static str, Duration)], delay: Duration) -> Vec<String> {
        self.judge_against(times, |longest| longest + delay)
    }

    /// Notes a round behind the end of what was held, during which the machine stood still so long. Whether everything went
    /// on at once, as without strangers. It is no control itself: who is slow then would allow the next one to be so.
    fn judge_released(&mut self, round: &Round, soon: Soon, still: Duration) -> Vec<String> {
        let slow =
            self.judge_against(&round.times, |longest| longest * soon.times + soon.delay + still);
        for (step, time) in &round.times {
            self.times.entry(step).or_default().released.push(*time);
        }
        slow
    }

    /// Steps that took longer than is allowed when the longest one without strangers took so long. Without any of those
    /// nobody can tell.
    fn judge_against(
        &self,
        times: &[(&'static str, Duration)],
        allowed: impl Fn(Duration) -> Duration,
    ) -> Vec<String> {
        let of_step = |(step, time): &(&'static str, Duration)| {
            let Some(longest) = self.times.get(step).and_then(|times| times.control.iter().max())
            else {
                return Some(format!("{step} was never timed without strangers"));
            };
            (*time > allowed(*longest))
                .then(|| format!("{step} took {time:?}, and {longest:?} at most without strangers"))
        };
        times.iter().filter_map(of_step).collect()
    }

    /// Whether others were as quick as without strangers.
    fn judge_times(&mut self) {
        for (step, times) in &self.times {
            let (held, control) = (percentile(98, &times.held), percentile(99, &times.control));
            if held > control + LONGEST_DELAY {
                self.faults.push(format!(
                    "{step}: {held:?} at the 98th of 100, {control:?} at the 99th without"
                ));
            }
        }
    }
}

impl fmt::Display for StrangersFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut logins: Vec<_> = self.held.iter().collect();
        logins.sort();
        for (login, count) in logins {
            writeln!(formatter, "  {login}: {count} transactions held open")?;
        }
        let mut steps: Vec<_> = self.times.iter().collect();
        steps.sort_by_key(|(step, _)| **step);
        for (step, times) in steps {
            let [held, released, control] =
                [&times.held, &times.released, &times.control].map(|all| in_words(all));
            writeln!(
                formatter,
                "  {step}: {held}; when it was released {released}; in controls {control}"
            )?;
        }
        let [held, control] =
            [&self.buffers.0, &self.buffers.1].map(|all| all.iter().max().copied().unwrap_or(0));
        writeln!(formatter, "  {held} buffers in a round at most; in controls {control}")?;
        writeln!(formatter, "  {} dispatchers killed while something was held", self.killed)?;
        writeln!(formatter, "  {} steps took longer and were tried again", self.held_again)?;
        for refused in &self.refused {
            writeln!(formatter, "  NOT HELD {refused}")?;
        }
        for fault in &self.faults {
            writeln!(formatter, "  DISTURBED {fault}")?;
        }
        write!(formatter, "  {} groups, {} faults", self.groups, self.faults.len())
    }
}

/// Runs the matrix.
///
/// # Errors
///
/// When the run itself cannot go on, or what waited all the time does not arrive once in the end.
pub async fn prove_strangers(
    binary: &Path,
    scale: StrangersScale,
    seed: u64,
) -> Result<StrangersFigures> {
    let parts = (0..scale.scenes).map(|part| prove_part(binary, scale, seed, part));
    let mut figures = StrangersFigures::default();
    let parts = futures_util::future::try_join_all(parts).await?;
    ensure!(
        parts.windows(2).all(|parts| parts[0].all == parts[1].all),
        "servers differ in what there is to hold"
    );
    for part in parts {
        figures.add(part);
    }
    if scale.is_full {
        figures.judge_times();
    }
    Ok(figures)
}

/// One of the equal parts of the matrix, with a server of its own.
async fn prove_part(
    binary: &Path,
    scale: StrangersScale,
    seed: u64,
    part: usize,
) -> Result<StrangersFigures> {
    let dice = fastrand::Rng::with_seed(seed.wrapping_add(part as u64));
    let mut scene = Scene::open(binary, scale.lease, dice).await?;
    let mut figures = StrangersFigures::default();
    let all = holds(&scene, scale, seed).await?;
    figures.all = all.len();
    // What the first group is judged by.
    let faults = control(&mut scene, &mut figures).await?;
    figures.faults.extend(faults);
    let mut left: Vec<Hold> = all.into_iter().skip(part).step_by(scale.scenes).collect();
    for number in 0.. {
        if left.is_empty() {
            break;
        }
        let is_killed = number % scale.kill_every == 0;
        // Who has just taken over has more to do.
        let soon = if is_killed { SOON_BESIDE_TESTS } else { scale.soon };
        let trial = Trial { delay: scale.delay, soon, waits: scale.waits, is_killed };
        let rest = left.split_off(left.len().min(scale.group));
        let later = check(&mut scene, left, trial, &mut figures).await?;
        left = later.into_iter().chain(rest).collect();
    }
    if scale.is_full {
        hold_again(&mut scene, scale.soon, &mut figures).await?;
    }
    scene.drain().await?;
    Ok(figures)
}

/// Tells chance from whoever delays others: holds what was open beside slow steps again.
async fn hold_again(scene: &mut Scene, soon: Soon, figures: &mut StrangersFigures) -> Result<()> {
    for (hold, step, limit) in figures.slow() {
        figures.held_again += 1;
        let mut again = Vec::new();
        for _ in 0..AGAIN {
            let (held, _) = open(scene, vec![hold.clone()], figures).await?;
            let client = scene.bystander().await?;
            match scene.go_on(&client).await {
                Ok(round) => {
                    let times = round.times.iter().filter(|time| time.0 == step);
                    again.extend(times.map(|time| time.1));
                }
                Err(error) => figures.faults.push(format!("by {}: {error:#}", hold.name())),
            }
            release(scene, held).await?;
            let faults = go_on_again(scene, soon, figures).await?;
            let faults = faults.iter().map(|fault| format!("by {}: {fault}", hold.name()));
            figures.faults.extend(faults);
        }
        eprintln!("{step} beside {}: again {again:?}, {limit:?} allowed", hold.name());
        if again.iter().filter(|time| **time > limit).count() > AGAIN / 2 {
            figures.faults.push(format!("{step} by {}: {again:?}, {limit:?} allowed", hold.name()));
        }
    }
    Ok(())
}

fn in_words(times: &[Duration]) -> String {
    let Some(longest) = times.iter().max() else { return "not timed".to_owned() };
    format!(
        "{} ms at the 99th of 100, {} ms at the longest",
        percentile(99, times).as_millis(),
        longest.as_millis()
    )
}

fn percentile(percent: usize, times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get(last.min(times.len() * percent / 100)).copied().unwrap_or_default()
}

/// What every login is able to hold, in random order; in the short form each statement by one login that may.
async fn holds(scene: &Scene, scale: StrangersScale, seed: u64) -> Result<Vec<Hold>> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut holds = Vec::new();
    let mut add = |login: &str, statements: Vec<Statement>| {
        for statement in statements {
            let paces = if scale.is_full { vec![false, true] } else { vec![dice.bool()] };
            holds.extend(paces.into_iter().map(|is_busy| Hold {
                login: login.to_owned(),
                statement: statement.clone(),
                is_busy,
            }));
        }
    };
    for (login, _) in catalog::make_logins(&scene.owner).await? {
        let as_login = scene.postgres.connect_as(&login, DATABASE).await?;
        add(&login, catalog::holds_of(&scene.owner, &as_login, &login).await?);
    }
    add(catalog::OWNER, catalog::holds_of_owner());
    add("stranger", catalog::holds_of_nobody());
    dice.shuffle(&mut holds);
    let mut statements = std::collections::HashSet::new();
    holds.retain(|hold| scale.is_full || statements.insert(hold.statement.sql.clone()));
    Ok(holds)
}

/// Holds as many of these as go together; those that do not are returned. When somebody is disturbed, halves
/// are tried until it is known by whom.
async fn check(
    scene: &mut Scene,
    holds: Vec<Hold>,
    trial: Trial,
    figures: &mut StrangersFigures,
) -> Result<Vec<Hold>> {
    // What took place shortly before has its part in how long a step takes: controls come before as often as behind.
    // Behind a takeover there is none.
    let is_control_first = scene.dice.bool() || trial.is_killed;
    let mut faults = Vec::new();
    if is_control_first {
        faults.extend(control(scene, figures).await?);
    }
    let (held, later) = open(scene, holds, figures).await?;
    eprintln!("{} held, {} later", held.len(), later.len());
    if held.is_empty() {
        figures.faults.extend(faults);
        return Ok(later);
    }
    let holds: Vec<Hold> = held.iter().map(|held| held.hold.clone()).collect();
    faults.extend(disturb(scene, held, trial, figures).await?);
    // What waited for them goes on at once, or they are charged with it, and not those that are held next.
    faults.extend(go_on_again(scene, trial.soon, figures).await?);
    if !is_control_first {
        faults.extend(control(scene, figures).await?);
    }
    if !faults.is_empty() {
        eprintln!("{} held together disturb others: {faults:#?}", holds.len());
    }
    if faults.is_empty() {
        for hold in &holds {
            *figures.held.entry(hold.login.clone()).or_default() += 1;
        }
        return Ok(later);
    }
    if let [hold] = &holds[..] {
        figures.faults.extend(faults.iter().map(|fault| format!("by {}: {fault}", hold.name())));
        return Ok(later);
    }
    let before = figures.faults.len();
    let (left, right) = holds.split_at(holds.len() / 2);
    for half in [left, right] {
        let mut rest = half.to_vec();
        while !rest.is_empty() {
            rest = Box::pin(check(scene, rest, trial, figures)).await?;
        }
    }
    if figures.faults.len() == before {
        let names: Vec<String> = holds.iter().map(Hold::name).collect();
        figures.faults.push(format!("by all of these together: {faults:?}: {names:#?}"));
    }
    Ok(later)
}

async fn open(
    scene: &Scene,
    holds: Vec<Hold>,
    figures: &mut StrangersFigures,
) -> Result<(Vec<Held>, Vec<Hold>)> {
    let (mut held, mut later) = (Vec::new(), Vec::new());
    for hold in holds {
        let in_hand_tries =
            if held.is_empty() { IN_HAND_TRIES } else { IN_HAND_TRIES_BESIDE_OTHERS };
        for attempt in 1.. {
            match holding::open(&scene.postgres, DATABASE, &scene.owner, &hold).await? {
                Opened::Held(opened) => held.push(*opened),
                Opened::InHand if attempt < in_hand_tries => {
                    tokio::time::sleep(IN_HAND_PAUSE).await;
                    continue;
                }
                // What another one holds may be why it is refused.
                _ if !held.is_empty() => later.push(hold.clone()),
                Opened::Later if attempt < TRIES => continue,
                Opened::Nothing if attempt < TRIES => {
                    tokio::time::sleep(IN_HAND_PAUSE).await;
                    continue;
                }
                Opened::Later | Opened::InHand => {
                    figures.refused.push(format!("{}: it waits for a dispatcher", hold.name()));
                }
                Opened::Nothing => {
                    figures.refused.push(format!("{}: it holds nothing", hold.name()));
                }
                Opened::Refused(reason) => {
                    figures.refused.push(format!("{}: {reason}", hold.name()));
                }
            }
            break;
        }
    }
    Ok((held, later))
}

/// Everything goes on while nothing is held, and takes what it takes: what did not.
async fn control(scene: &mut Scene, figures: &mut StrangersFigures) -> Result<Vec<String>> {
    let client = scene.bystander().await?;
    scene.note_waiting().await?;
    let went_on = match scene.go_on_with_all(&client).await {
        Ok(round) => {
            figures.note(&round, true);
            scene.look_after().await
        }
        Err(error) => Err(error),
    };
    let error = went_on.err().map(|error| format!("{error:#}"));
    let faults = error.into_iter().chain(scene.ended_tenures().await?);
    Ok(faults.map(|fault| format!("with nothing held: {fault}")).collect())
}

/// Everything goes on at once after something was held: what did not.
async fn go_on_again(
    scene: &mut Scene,
    soon: Soon,
    figures: &mut StrangersFigures,
) -> Result<Vec<String>> {
    let client = scene.bystander().await?;
    let stillness = Stillness::watch()?;
    let round = scene.go_on_with_all(&client).await;
    let still = stillness.stop().iter().map(|time| time.end - time.start).sum();
    let slow = match round {
        Ok(round) => figures.judge_released(&round, soon, still),
        Err(error) => vec![format!("{error:#}")],
    };
    let slow = slow.iter().map(|fault| format!("after the end of what was held: {fault}"));
    Ok(slow.chain(scene.ended_tenures().await?).collect())
}

/// Everything else goes on while these are open: what did not.
async fn disturb(
    scene: &mut Scene,
    held: Vec<Held>,
    trial: Trial,
    figures: &mut StrangersFigures,
) -> Result<Vec<String>> {
    figures.groups += 1;
    let client = scene.bystander().await?;
    let holders: Vec<i32> = held.iter().map(|held| held.pid).collect();
    let alone = match &held[..] {
        [held] => Some(held.hold.clone()),
        _ => None,
    };
    let watch = watch::start(scene.url(), holders.clone());
    let mut faults = Vec::new();
    if trial.is_killed {
        figures.killed += 1;
        let error = scene.replace_dispatcher().await.err();
        faults.extend(error.map(|error| format!("when a dispatcher was killed: {error:#}")));
    }
    match scene.go_on(&client).await {
        // That it goes on is all. Who has just taken over reads more, and is not as quick as others.
        Ok(_) if trial.is_killed => {}
        Ok(round) => {
            faults.extend(figures.judge(&round, trial.delay));
            figures.note(&round, false);
            figures.steps.extend(alone.map(|hold| (hold, round.times)));
        }
        Err(error) => faults.push(format!("{error:#}")),
    }
    for looked in [scene.look_after().await, scene.are_named(&holders).await] {
        faults.extend(looked.err().map(|error| format!("{error:#}")));
    }
    let names: HashMap<i32, String> =
        held.iter().map(|held| (held.pid, held.hold.name())).collect();
    for wait in watch.stop().await? {
        faults.extend(fault_of(&wait, trial.waits, &names));
    }
    release(scene, held).await?;
    faults.extend(scene.ended_tenures().await?);
    Ok(faults)
}

/// Strangers let go what they hold.
async fn release(scene: &mut Scene, held: Vec<Held>) -> Result<()> {
    holding::release(&scene.owner, held).await?;
    scene.keep_worker().await?;
    scene.note_waiting().await
}

fn fault_of(
    wait: &Wait,
    [of_ours, of_others]: [Duration; 2],
    names: &HashMap<i32, String>,
) -> Option<String> {
    let longest = if wait.who.starts_with("postrider ") { of_ours } else { of_others };
    let query: String = wait.query.split_whitespace().collect::<Vec<_>>().join(" ");
    (wait.time > longest).then(|| {
        let query: String = query.chars().take(200).collect();
        format!("`{}` waited {:?} for {:?}: {query}", wait.who, wait.time, names.get(&wait.holder))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(time: Duration, buffers: i64) -> Round {
        Round { times: vec![("send", time)], buffers }
    }

    #[test]
    fn who_touches_many_times_as_many_buffers_as_without_strangers_is_disturbed() {
        let mut figures = StrangersFigures::default();
        let (time, delay) = (Duration::from_secs(1), LONGEST_STEP_DELAY);
        assert_eq!(figures.judge_buffers(1).unwrap(), "buffers were never read without strangers");
        figures.note(&round(time, 500), false);
        figures.note(&round(time, 70), true);
        figures.note(&round(time, 50), true);
        assert!(figures.judge(&round(time, 20_700), delay).is_empty());
        assert_eq!(
            figures.judge(&round(time, 20_701), delay),
            ["20701 buffers were touched, and 70 at most without strangers"]
        );
    }

    #[test]
    fn who_does_not_go_on_at_once_is_found_and_sets_no_limit() {
        let mut figures = StrangersFigures::default();
        let seconds = Duration::from_secs;
        let mut judge = |control: Option<u64>, time, soon, still| {
            if let Some(control) = control {
                figures.note(&round(seconds(control), 1), true);
            }
            figures.judge_released(&round(seconds(time), 1), soon, seconds(still))
        };
        assert_eq!(judge(None, 1, SOON, 0), ["send was never timed without strangers"]);
        let late = ["send took 11s, and 1s at most without strangers"];
        assert_eq!(judge(Some(1), 11, SOON, 0), late);
        assert_eq!(judge(None, 11, SOON_BESIDE_TESTS, 0), late, "the one before is no control");
        assert_eq!(judge(None, 10, SOON_BESIDE_TESTS, 0), [""; 0]);
        assert_eq!(judge(None, 3, SOON, 0), [""; 0]);
        assert_eq!(judge(None, 11, SOON, 8), [""; 0], "the machine stood still");
    }

    #[test]
    fn a_step_that_nothing_was_compared_with_is_a_fault() {
        let mut figures = StrangersFigures::default();
        let slow = [("send", Duration::from_secs(30))];
        let delay = LONGEST_STEP_DELAY_BESIDE_TESTS;
        assert_eq!(figures.judge_steps(&slow, delay), ["send was never timed without strangers"]);
        figures.note(&round(slow[0].1, 100), false);
        assert_eq!(figures.judge_steps(&slow, delay).len(), 1, "others that were held count not");
        figures.note(&round(Duration::from_secs(1), 100), true);
        assert_eq!(
            figures.judge_steps(&slow, delay),
            ["send took 30s, and 1s at most without strangers"]
        );
        assert_eq!(figures.judge_steps(&[("send", Duration::from_secs(21))], delay), [""; 0]);
    }
}
