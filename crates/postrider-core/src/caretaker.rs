//! The caretaker: when chores are done that need no lease and may come late.
//!
//! Each is done again and again, one of its kind at a time. Who drives the caretaker tells it what came of each, and
//! what makes one worth doing sooner. Nothing in here ends a dispatcher: a chore that fails is done again later.

use std::time::Duration;

use crate::moment::Moment;

/// What is done again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// Rows whose time is over, dispatchers that are gone, deliveries to endpoints that are gone.
    Forget,
    /// Partitions of the archive are made and dropped.
    KeepPartitions,
    /// What became of executions is added to the figures.
    RollUpExecutions,
    AdvanceReplays,
    AdvanceJobs,
    /// Which endpoints have met their own limit.
    JudgeLimits,
    /// Keys whose time is over sign no more.
    RetireKeys,
    /// Messages that are sent again and again are sent.
    FireSchedules,
}

/// What makes something worth doing sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Messages were seen that consumers could read.
    News,
    /// The first consumer may have been made.
    Consumers,
    /// A job was made.
    Job,
    /// Endpoints have changed, and their limits may have.
    Limits,
    /// An endpoint is gone, and something may be on its way into the table for it.
    Orphans,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Chore(Chore),
    /// A tick for consumers.
    Tick,
}

/// What came of a try to make a tick for consumers.
#[derive(Debug, Clone, Copy)]
pub struct MadeTick {
    /// Whether there was anything to be made readable, and nobody else at it.
    pub is_made: bool,
    /// How long two ticks are apart at least.
    pub interval: Duration,
}

/// What was done is not done again sooner because somebody wishes it: anybody may, as often as they like.
const WISH_PAUSE: Duration = Duration::from_millis(100);
/// What is on its way into a table is there after so long.
const ORPHANS_PAUSE: Duration = Duration::from_secs(1);

pub struct Caretaker {
    turns: [Turn; Chore::ALL.len()],
    ticks: ConsumerTicks,
}

/// When a chore is done next.
#[derive(Debug, Clone, Copy)]
struct Turn {
    due_at: Option<Moment>,
    is_running: bool,
    /// A wish makes it due no sooner.
    wished_from: Moment,
}

impl Chore {
    pub const ALL: [Chore; 8] = [
        Chore::Forget,
        Chore::KeepPartitions,
        Chore::RollUpExecutions,
        Chore::AdvanceReplays,
        Chore::AdvanceJobs,
        Chore::JudgeLimits,
        Chore::RetireKeys,
        Chore::FireSchedules,
    ];

    /// The pause after it, unless it says itself when it is worth doing again.
    pub fn pause(self) -> Duration {
        match self {
            Chore::Forget | Chore::KeepPartitions => Duration::from_secs(60),
            Chore::RollUpExecutions | Chore::RetireKeys => Duration::from_secs(5),
            Chore::AdvanceReplays
            | Chore::AdvanceJobs
            | Chore::JudgeLimits
            | Chore::FireSchedules => Duration::from_secs(1),
        }
    }
}

impl Caretaker {
    pub fn new(now: Moment) -> Caretaker {
        let turn = Turn { due_at: Some(now), is_running: false, wished_from: now };
        Caretaker { turns: [turn; Chore::ALL.len()], ticks: ConsumerTicks::new(now) }
    }

    pub fn heed(&mut self, wish: Wish, now: Moment) {
        match wish {
            Wish::News => self.ticks.note_news(now),
            Wish::Consumers => self.ticks.look(now),
            Wish::Job => self.turns[Chore::AdvanceJobs as usize].wish(now),
            Wish::Limits => self.turns[Chore::JudgeLimits as usize].wish(now),
            Wish::Orphans => self.turns[Chore::Forget as usize].wish(now.after(ORPHANS_PAUSE)),
        }
    }

    /// What is due. It is under way from now on.
    pub fn step(&mut self, now: Moment) -> Vec<Task> {
        let mut tasks = Vec::new();
        for chore in Chore::ALL {
            if self.turns[chore as usize].begin(now) {
                tasks.push(Task::Chore(chore));
            }
        }
        if self.ticks.start(now) {
            tasks.push(Task::Tick);
        }
        tasks
    }

    /// A chore has ended. `pause`: when it says to be worth doing again.
    pub fn end(&mut self, chore: Chore, pause: Option<Duration>, now: Moment) {
        self.turns[chore as usize].end(now, now.after(pause.unwrap_or(chore.pause())));
    }

    /// What came of a tick; `None`: there are no consumers.
    pub fn end_tick(&mut self, made: Option<MadeTick>, now: Moment) {
        self.ticks.take(made, now);
    }

    /// When something is due next; `None`: all of it is under way.
    pub fn wake_at(&self) -> Option<Moment> {
        let chores = self.turns.iter().filter(|turn| !turn.is_running).filter_map(|t| t.due_at);
        chores.chain(self.ticks.due_at()).min()
    }
}

impl Turn {
    /// Somebody wishes it then, or as soon as what is under way has ended and a pause is over.
    fn wish(&mut self, at: Moment) {
        self.want(at.max(self.wished_from));
    }

    fn want(&mut self, at: Moment) {
        self.due_at = Some(self.due_at.map_or(at, |due_at| due_at.min(at)));
    }

    fn begin(&mut self, now: Moment) -> bool {
        if self.is_running || self.due_at.is_none_or(|at| now < at) {
            return false;
        }
        *self = Turn { due_at: None, is_running: true, ..*self };
        true
    }

    fn end(&mut self, now: Moment, next: Moment) {
        self.is_running = false;
        self.wished_from = now.after(WISH_PAUSE);
        // What became due meanwhile was wished.
        self.due_at = self.due_at.map(|at| at.max(self.wished_from));
        self.want(next);
    }
}

/// How often we look without news.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// How often we look whether there are consumers; a notification tells us sooner.
const NOBODY_PAUSE: Duration = Duration::from_secs(2);

/// When the next tick for consumers is made: as soon as something new was seen, and no more often than two ticks
/// may follow each other. Without news now and then, for what another dispatcher has seen that died before it
/// made its tick.
#[derive(Debug)]
struct ConsumerTicks {
    has_consumers: bool,
    /// Something was seen that may be in no tick.
    has_news: bool,
    /// The try that is under way, and whether it was for news.
    under_way: Option<bool>,
    /// No sooner than the interval between ticks allows.
    earliest_at: Moment,
    /// A look that somebody wishes is no sooner.
    wished_from: Moment,
    due_at: Moment,
}

impl ConsumerTicks {
    fn new(now: Moment) -> ConsumerTicks {
        ConsumerTicks {
            has_consumers: false,
            has_news: false,
            under_way: None,
            earliest_at: now,
            wished_from: now,
            due_at: now,
        }
    }

    /// There may be consumers now.
    fn look(&mut self, now: Moment) {
        self.due_at = self.due_at.min(now.max(self.wished_from));
    }

    /// Messages were seen.
    fn note_news(&mut self, now: Moment) {
        self.has_news = true;
        if self.has_consumers {
            self.due_at = self.due_at.min(self.earliest_at.max(now));
        }
    }

    /// Whether to make one now; it is under way then.
    fn start(&mut self, now: Moment) -> bool {
        if self.under_way.is_some() || now < self.due_at {
            return false;
        }
        self.under_way = Some(std::mem::take(&mut self.has_news));
        true
    }

    /// What came of it; `None`: there are no consumers.
    fn take(&mut self, made: Option<MadeTick>, now: Moment) {
        let was_for_news = self.under_way.take().unwrap_or(false);
        self.has_consumers = made.is_some();
        self.wished_from = now.after(WISH_PAUSE);
        let Some(made) = made else {
            self.has_news = false;
            self.due_at = now.after(NOBODY_PAUSE);
            return;
        };
        self.earliest_at = now.after(made.interval.max(Duration::from_millis(1)));
        // It was too soon, or another one made a tick before ours was committed: once more.
        let is_worth_another = self.has_news || was_for_news && !made.is_made;
        self.due_at = if is_worth_another { self.earliest_at } else { now.after(IDLE_PAUSE) };
    }

    /// When to start the next; none while one is under way.
    fn due_at(&self) -> Option<Moment> {
        self.under_way.is_none().then_some(self.due_at)
    }
}

#[cfg(test)]
mod tests;
