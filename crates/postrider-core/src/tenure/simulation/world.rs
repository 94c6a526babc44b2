//! The dispatcher in a simulated world: the very code that decides in production, around it a model of the
//! database, applications that commit and roll back, operators, receivers that fail, and dispatchers that die, freeze
//! and come back. One seed decides everything, so a life that went wrong can be looked at again and again.

mod applications;
mod faults;
mod ledger;
mod nodes;
mod proof;
mod transports;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    time::{Duration, Instant},
};

use uuid::Uuid;

use self::{
    ledger::Ledger,
    nodes::{Clockwork, Node},
};
use super::{
    database::{self, Database, Looking, Place, State, Takeover},
    wrong::Wrong,
};
use crate::{
    configuration::EndpointRow,
    hashing,
    id::{EndpointId, Target},
    lease::Beat,
    snapshot::Xid,
    tenure::{
        Tenure,
        command::{Event, Query},
        news::News,
        signal::Signal,
    },
    timestamp::Timestamp,
};

const LEASE: Duration = Duration::from_secs(3);
const LONGEST_LIFE: Duration = Duration::from_secs(700);
/// Nor may it take more steps than this.
const MOST_STEPS: usize = 100_000;
/// Once all is well nothing that comes from outside takes longer.
const LONGEST_CALM_US: i64 = 500_000;
/// A life has so many at least.
const MESSAGES: usize = 50;
/// What is wrong with the order of maps would be another thing in each process.
const HASHING: u64 = 1;
/// Sequence numbers that nobody gets, in some lives: more than anybody could walk through.
const GAP: i64 = 1 << 40;
const FIRST_MOMENT: Timestamp = Timestamp(1_000_000_000);

/// A life that is to be lived.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    wrong: Wrong,
    /// What does not happen in it, of what is planned: by its number.
    dropped: BTreeSet<usize>,
    is_traced: bool,
}

/// What happens at a moment.
enum Todo {
    /// An application begins a transaction and sends something.
    Send {
        seed: u64,
    },
    Commit {
        xid: Xid,
        crash_count: u32,
        state: State,
        rings: bool,
        is_hard: bool,
    },
    /// An operator or a stranger does something.
    Operate {
        seed: u64,
    },
    EndAct {
        xid: Xid,
        crash_count: u32,
        state: State,
    },
    /// A query arrives at the database, and its answer leaves.
    Run {
        node: usize,
        query: Box<Query>,
    },
    /// The same of its later statements.
    Look {
        node: usize,
        looking: Looking,
    },
    /// The next part of a takeover.
    Recover {
        node: usize,
        takeover: Takeover,
    },
    /// A statement of somebody who is gone, which the server has been slow with.
    Straggle {
        node: usize,
        query: Box<Query>,
    },
    /// What a wrong driver has said to be done before.
    WriteLate {
        node: usize,
        query: Box<Query>,
    },
    Beat {
        node: usize,
        asked: Instant,
        silent: Vec<Beat>,
    },
    Take {
        node: usize,
        event: Box<Event>,
    },
    News {
        node: usize,
        news: News,
    },
    Heed {
        node: usize,
        signal: Signal,
    },
    Accept {
        by: Uuid,
        place: Place,
    },
    Wake {
        node: usize,
        number: u64,
    },
    Fault {
        seed: u64,
    },
    /// The database's machine loses its power.
    Crash,
    /// Faults end: everything that is switched off is switched on.
    Calm,
    Start {
        former: Option<Tenure>,
    },
}

/// What is to happen, the earliest first, and of one moment what was planned first. What it is lies still, because some
/// of it is large: only its place moves about in the heap.
#[derive(Default)]
struct Agenda {
    heap: BinaryHeap<Reverse<(Timestamp, u64, usize)>>,
    todos: Vec<Option<Todo>>,
    free: Vec<usize>,
    next_number: u64,
}

impl Agenda {
    fn push(&mut self, at: Timestamp, todo: Todo) {
        let place = self.free.pop().unwrap_or(self.todos.len());
        match self.todos.get_mut(place) {
            Some(free) => *free = Some(todo),
            None => self.todos.push(Some(todo)),
        }
        self.heap.push(Reverse((at, self.next_number, place)));
        self.next_number += 1;
    }

    fn pop(&mut self) -> Option<(Timestamp, Todo)> {
        let Reverse((at, _, place)) = self.heap.pop()?;
        self.free.push(place);
        self.todos[place].take().map(|todo| (at, todo))
    }
}

struct World {
    dice: fastrand::Rng,
    began: Instant,
    agenda: Agenda,
    wrong: Wrong,
    database: Database,
    nodes: Vec<Node>,
    clockwork: Clockwork,
    ledger: Ledger,
    receivers: Vec<Receiver>,
    shard_count: i16,
    calm_at: Timestamp,
    /// After so many more parts of takeovers whoever is in one dies.
    takeover_dies_after: Option<u32>,
    planned: usize,
    trace: Option<Vec<String>>,
    counts: Counts,
}

/// How an endpoint behaves while there are faults.
#[derive(Clone, Copy)]
struct Receiver {
    failing_percent: u32,
    /// Answers that are lost, of what was accepted or not.
    losing_percent: u32,
    /// What is not sent, for a reason of the dispatcher's.
    unsent_percent: u32,
    slowest_ms: u64,
}

/// What a life came to.
#[derive(Debug, Default)]
struct Life {
    findings: Vec<String>,
    trace: Vec<String>,
    /// How much of it was planned, and could be left out.
    planned: usize,
    counts: Counts,
}

/// What is counted of a life, and of many.
#[derive(Debug, Default)]
struct Counts {
    message_count: usize,
    attempt_count: usize,
    duplicate_count: usize,
    loan_count: usize,
    step_count: usize,
    /// So often a dispatcher was asked what is to be done, and nothing was.
    idle_count: usize,
    lasted: Duration,
    faults: BTreeMap<&'static str, usize>,
    /// What a dispatcher had done last when it was gone, and what it waited for.
    crashes: BTreeMap<(&'static str, String), usize>,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn endpoint(number: i32, dice: &mut fastrand::Rng) -> EndpointRow {
    let most_retries = [0, 3, 100, 100][dice.usize(..4)];
    EndpointRow {
        id: EndpointId(number),
        name: format!("endpoint {number}"),
        // Which one does not matter: nothing is sent.
        protocol: "any".to_owned(),
        config: serde_json::json!({ "concurrency": dice.u32(1..=4) }),
        retry_policy: Some(serde_json::json!({
            "max_retries": most_retries, "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0
        })),
        target_policies: Vec::new(),
        is_enabled: true,
        is_paused: false,
        targets: vec![Target(number)],
        version: 1,
    }
}

impl World {
    fn new(plan: &Plan) -> World {
        hashing::fix(HASHING);
        let mut dice = fastrand::Rng::with_seed(plan.seed);
        let shard_count = [1, 1, 2, 2, 3, 4][dice.usize(..6)];
        let endpoint_count = dice.i32(1..=4);
        let rows = (1..=endpoint_count).map(|number| endpoint(number, &mut dice)).collect();
        let receivers = (0..endpoint_count)
            .map(|_| Receiver {
                failing_percent: [0, 0, 20, 100][dice.usize(..4)],
                losing_percent: [0, 0, 10][dice.usize(..3)],
                unsent_percent: [0, 0, 5][dice.usize(..3)],
                slowest_ms: [5, 50, 2_000][dice.usize(..3)],
            })
            .collect();
        let faulty = ms([2_000, 4_000, 8_000][dice.usize(..3)]);
        let mut world = World {
            began: Instant::now(),
            agenda: Agenda::default(),
            wrong: plan.wrong,
            database: Database::new(plan.wrong, shard_count, rows, LEASE, FIRST_MOMENT),
            nodes: Vec::new(),
            clockwork: Clockwork::new(&mut dice),
            ledger: Ledger::default(),
            receivers,
            shard_count,
            calm_at: Timestamp(FIRST_MOMENT.0 + faulty.as_micros() as i64),
            takeover_dies_after: None,
            planned: 0,
            trace: plan.is_traced.then(Vec::new),
            counts: Counts::default(),
            dice,
        };
        world.plan(faulty, &plan.dropped);
        world
    }

    /// Everything that comes from outside. Each thing has dice of its own, so that it stays as it is when another one
    /// is left out.
    fn plan(&mut self, faulty: Duration, dropped: &BTreeSet<usize>) {
        self.database.is_global = self.dice.u32(..3) == 0;
        // Nine of twelve are idle, and cost as much as the others.
        self.database.has_all_lanes = self.dice.u32(..6) == 0;
        if self.dice.u32(..4) == 0 {
            let after = self.dice.i64(0..MESSAGES as i64);
            self.database.gap = Some((after, after + GAP));
        }
        for _ in 0..self.dice.usize(1..=3) {
            let wait = ms(self.dice.u64(..500));
            self.later(wait, Todo::Start { former: None });
        }
        self.at(self.calm_at, Todo::Calm);
        let longest = faulty.as_millis() as u64;
        let mut message_count = 0;
        while message_count < MESSAGES {
            let seed = self.dice.u64(..);
            message_count += applications::message_count(seed);
            self.plan_one(longest, dropped, Todo::Send { seed });
        }
        for _ in 0..self.dice.usize(0..=15) {
            let seed = self.dice.u64(..);
            self.plan_one(longest, dropped, Todo::Operate { seed });
        }
        for _ in 0..self.dice.usize(3..=7) {
            let seed = self.dice.u64(..);
            self.plan_one(longest, dropped, Todo::Fault { seed });
        }
    }

    fn plan_one(&mut self, longest: u64, dropped: &BTreeSet<usize>, todo: Todo) {
        let wait = ms(self.dice.u64(..longest));
        if !dropped.contains(&self.planned) {
            self.later(wait, todo);
        }
        self.planned += 1;
    }

    fn later(&mut self, wait: Duration, todo: Todo) {
        // A part of a microsecond would be no time at all.
        let wait = wait.as_nanos().div_ceil(1_000) as i64;
        self.at(Timestamp(self.database.clock.0 + wait), todo);
    }

    /// Nobody is kept waiting for long once all is well.
    fn later_or_calm(&mut self, wait: Duration, todo: Todo) {
        let calm = Timestamp(self.calm_at.max(self.database.clock).0 + LONGEST_CALM_US);
        let at = Timestamp(self.database.clock.0 + wait.as_micros() as i64);
        self.at(at.min(calm), todo);
    }

    fn at(&mut self, at: Timestamp, todo: Todo) {
        self.agenda.push(at, todo);
    }

    /// The way to the database or back.
    fn way(&mut self) -> Duration {
        match self.dice.u32(..40) {
            0 => ms(self.dice.u64(..300)),
            _ => Duration::from_micros(self.dice.u64(50..3_000)),
        }
    }

    fn tell(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let at = (self.database.clock.0 - FIRST_MOMENT.0) as f64 / 1e6;
            trace.push(format!("{at:>10.6} {}", text()));
        }
    }

    fn live(mut self) -> Life {
        let last = Timestamp(FIRST_MOMENT.0 + LONGEST_LIFE.as_micros() as i64);
        let mut steps = 0;
        while let Some((at, todo)) = self.agenda.pop() {
            self.database.set_time(at);
            steps += 1;
            if at >= last || steps > MOST_STEPS {
                let left = Duration::from_micros((at.0 - FIRST_MOMENT.0) as u64);
                self.ledger.findings.push(format!("no end after {left:?} and {steps} steps"));
                break;
            }
            let may_end = self.act(todo);
            if !self.ledger.findings.is_empty() || may_end && self.is_over() {
                break;
            }
        }
        self.ledger.judge(&self.database);
        Life {
            findings: self.ledger.findings,
            trace: self.trace.unwrap_or_default(),
            planned: self.planned,
            counts: Counts {
                message_count: self.database.log.len(),
                attempt_count: self.ledger.attempt_count,
                duplicate_count: self.ledger.duplicate_count,
                loan_count: self.database.loan_count,
                step_count: steps,
                lasted: Duration::from_micros((self.database.clock.0 - FIRST_MOMENT.0) as u64),
                ..self.counts
            },
        }
    }

    fn is_over(&self) -> bool {
        let is_open = |logged: &database::Logged| logged.state == State::Open;
        self.database.clock >= self.calm_at
            && !self.database.log.values().any(is_open)
            && !self.database.is_anything_open()
            && Ledger::is_drained(&self.database)
    }

    /// Whether it may have been the last thing that had to happen.
    fn act(&mut self, todo: Todo) -> bool {
        let may_end = match &todo {
            Todo::Run { query, .. } | Todo::Straggle { query, .. } => {
                matches!(**query, Query::Flush { .. })
            }
            Todo::WriteLate { .. } | Todo::EndAct { .. } | Todo::Commit { .. } => true,
            Todo::Calm | Todo::Start { .. } => true,
            _ => false,
        };
        match todo {
            Todo::Send { seed } => self.send(seed),
            Todo::Commit { xid, crash_count, state, rings, is_hard } => {
                if crash_count == self.database.crash_count {
                    self.commit(xid, state, rings, is_hard);
                }
            }
            Todo::Operate { seed } => self.operate(seed),
            Todo::EndAct { xid, crash_count, state } => {
                if crash_count == self.database.crash_count {
                    self.end_act(xid, state);
                }
            }
            Todo::Accept { by, place } => {
                self.tell(|| format!("receiver: has {} to {}", place.0.0, place.1.0));
                self.ledger.accept(place, by);
            }
            Todo::Start { former } => self.start(former),
            Todo::Fault { seed } => self.fault(seed),
            Todo::Crash => self.crash(),
            Todo::Calm => self.calm(),
            other => self.act_for_node(other),
        }
        for signal in std::mem::take(&mut self.database.signals) {
            self.notify(&signal);
        }
        may_end
    }

    fn notify(&mut self, signal: &Signal) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].dispatcher.is_some() {
                let way = self.way();
                self.later(way, Todo::Heed { node, signal: signal.clone() });
            }
        }
    }
}

/// As in the program.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(test)]
mod tests;
