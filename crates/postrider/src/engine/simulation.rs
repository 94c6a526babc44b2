//! The dispatcher in a simulated world: the very code that decides in production, around it a model of the
//! database, applications that commit and roll back, receivers that fail, and dispatchers that die, freeze and
//! come back. One seed decides everything, so a life that went wrong can be looked at again and again.

mod database;
mod ledger;

use postrider_core::hashing::HashMap;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    sync::{Arc, OnceLock},
    time::Duration,
};

use postrider_core::{
    gaps::Gaps,
    id::{EndpointId, Lane, MessageId, Priority, Shard, Target},
    outcome::{Outcome, Report},
};
use tokio::time::Instant;
use uuid::Uuid;

use self::{
    database::{Database, State, Wrong},
    ledger::Ledger,
};
use super::{
    Pace, Tenure,
    command::{Command, Event, Query},
    delivery::Delivery,
    dispatcher::{Dispatcher, Identity, Signal},
    endpoints::Endpoints,
    keeper::News,
};
use crate::{
    store::{
        log::{Content, EndpointRow, LogMessage, Payload, Terms},
        wire::{Targets, Timestamp},
    },
    transport::{PROTOCOLS, Settings, Shared},
};

const LEASE: Duration = Duration::from_secs(3);
/// Faults end after so long; then everything has to come to an end.
const FAULTS: Duration = Duration::from_secs(20);
const LONGEST_LIFE: Duration = Duration::from_secs(600);
/// Nor may it take more steps than this.
const MOST_STEPS: usize = 300_000;
const MESSAGES: usize = 60;
/// Sequence numbers that nobody gets, in some lives: more than anybody could walk through.
const GAP: i64 = 1 << 40;

/// What happens at a moment.
enum Todo {
    /// An application begins a transaction and sends something.
    Send {
        count: usize,
    },
    Commit {
        xid: u64,
        state: State,
        rings: bool,
    },
    /// A query arrives at the database, and its answer leaves.
    Run {
        node: usize,
        query: Query,
    },
    Beat {
        node: usize,
        asked: Instant,
    },
    Take {
        node: usize,
        event: Event,
    },
    News {
        node: usize,
        news: News,
    },
    Heed {
        node: usize,
    },
    Accept {
        by: Uuid,
        place: (MessageId, Target),
    },
    Wake {
        node: usize,
        number: u64,
    },
    Fault,
    Start {
        former: Option<Tenure>,
    },
}

/// A tenure. A node that is gone stays in its place and hears nothing.
struct Node {
    id: Uuid,
    dispatcher: Option<Dispatcher>,
    fence: Instant,
    /// It hears nothing before.
    frozen_until: Timestamp,
    /// The last wish to be woken.
    wake_number: u64,
}

struct World {
    dice: fastrand::Rng,
    began: Instant,
    agenda: BinaryHeap<Reverse<(Timestamp, u64)>>,
    todos: HashMap<u64, Todo>,
    next_todo: u64,
    database: Database,
    nodes: Vec<Node>,
    ledger: Ledger,
    endpoints: Vec<Receiver>,
    shard_count: i16,
    faults_end: Timestamp,
    faults: BTreeMap<&'static str, usize>,
}

/// How an endpoint behaves while there are faults.
#[derive(Clone, Copy)]
struct Receiver {
    failing_percent: u32,
    /// Answers that are lost, of what was accepted.
    losing_percent: u32,
    /// What is not sent, for a reason of the dispatcher's.
    unsent_percent: u32,
    slowest_ms: u64,
}

/// What a life came to.
#[derive(Debug, Default)]
struct Life {
    findings: Vec<String>,
    attempt_count: usize,
    duplicate_count: usize,
    faults: BTreeMap<&'static str, usize>,
}

fn shared() -> Arc<Shared> {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    Arc::clone(SHARED.get_or_init(|| Shared::new(Settings::default())))
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl World {
    fn new(seed: u64, wrong: Wrong) -> World {
        let mut dice = fastrand::Rng::with_seed(seed);
        let shard_count = dice.i16(1..=4);
        let endpoint_count = dice.i32(1..=4);
        let endpoint = |number: i32| EndpointRow {
            id: EndpointId(number),
            name: format!("endpoint {number}"),
            // Which one does not matter: nothing is sent.
            protocol: PROTOCOLS[0].name.to_owned(),
            config: serde_json::json!({ "concurrency": 2, "max_in_memory": 3 }),
            retry_policy: Some(serde_json::json!({
                "max_retries": 100, "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0
            })),
            target_policies: Vec::new(),
            is_enabled: true,
            is_paused: false,
            targets: vec![Target(number)],
            version: 1,
        };
        let rows = (1..=endpoint_count).map(endpoint).collect();
        let endpoints = (0..endpoint_count)
            .map(|_| Receiver {
                failing_percent: [0, 0, 20, 100][dice.usize(..4)],
                losing_percent: [0, 0, 10][dice.usize(..3)],
                unsent_percent: [0, 0, 5][dice.usize(..3)],
                slowest_ms: [5, 50, 2_000][dice.usize(..3)],
            })
            .collect();
        let now = Timestamp(1_000_000_000);
        let mut world = World {
            began: Instant::now(),
            agenda: BinaryHeap::new(),
            todos: HashMap::default(),
            next_todo: 0,
            database: Database::new(wrong, shard_count, rows, LEASE, now),
            nodes: Vec::new(),
            ledger: Ledger::default(),
            endpoints,
            shard_count,
            faults_end: Timestamp(now.0 + FAULTS.as_micros() as i64),
            faults: BTreeMap::new(),
            dice,
        };
        if world.dice.u32(..4) == 0 {
            let after = world.dice.i64(0..MESSAGES as i64);
            world.database.gap = Some((after, after + GAP));
        }
        for _ in 0..world.dice.usize(1..=3) {
            let wait = ms(world.dice.u64(..500));
            world.later(wait, Todo::Start { former: None });
        }
        let mut sent = 0;
        while sent < MESSAGES {
            let count = world.dice.usize(1..=10);
            let wait = ms(world.dice.u64(..FAULTS.as_millis() as u64));
            world.later(wait, Todo::Send { count });
            sent += count;
        }
        for _ in 0..world.dice.usize(0..=5) {
            let wait = ms(world.dice.u64(500..FAULTS.as_millis() as u64));
            world.later(wait, Todo::Fault);
        }
        world
    }

    fn instant(&self) -> Instant {
        self.began + Duration::from_micros(self.database.now.0 as u64)
    }

    fn later(&mut self, wait: Duration, todo: Todo) {
        // A part of a microsecond would be no time at all.
        let wait = wait.as_nanos().div_ceil(1_000) as i64;
        self.at(Timestamp(self.database.now.0 + wait), todo);
    }

    fn at(&mut self, at: Timestamp, todo: Todo) {
        let number = self.next_todo;
        self.next_todo += 1;
        self.todos.insert(number, todo);
        self.agenda.push(Reverse((at, number)));
    }

    /// The way to the database or back.
    fn way(&mut self) -> Duration {
        match self.dice.u32(..40) {
            0 => ms(self.dice.u64(..300)),
            _ => Duration::from_micros(self.dice.u64(50..3_000)),
        }
    }

    fn live(mut self) -> Life {
        let first = self.database.now;
        let last = Timestamp(first.0 + LONGEST_LIFE.as_micros() as i64);
        let mut steps = 0;
        while let Some(Reverse((at, number))) = self.agenda.pop() {
            self.database.now = at;
            steps += 1;
            if at >= last || steps > MOST_STEPS {
                let left = Duration::from_micros((at.0 - first.0) as u64);
                self.ledger.findings.push(format!("no end after {left:?} and {steps} steps"));
                break;
            }
            let Some(todo) = self.todos.remove(&number) else { continue };
            self.act(todo);
            let is_quiet = at > self.faults_end && !self.has_open_transactions();
            if !self.ledger.findings.is_empty() || is_quiet && Ledger::is_drained(&self.database) {
                break;
            }
        }
        self.ledger.judge(&self.database);
        Life {
            findings: self.ledger.findings,
            attempt_count: self.ledger.attempt_count,
            duplicate_count: self.ledger.duplicate_count,
            faults: self.faults,
        }
    }

    fn has_open_transactions(&self) -> bool {
        self.database.log.values().any(|logged| logged.state == State::Open)
    }

    fn act(&mut self, todo: Todo) {
        match todo {
            Todo::Send { count } => self.send(count),
            Todo::Commit { xid, state, rings } => {
                self.database.end(xid, state);
                if rings {
                    for node in 0..self.nodes.len() {
                        let way = self.way();
                        self.later(way, Todo::Heed { node });
                    }
                }
            }
            Todo::Run { node, query } => {
                let is_large = self.dice.u32(..8) == 0;
                let id = self.nodes[node].id;
                let event = self.database.answer(id, query, is_large);
                let way = self.way();
                self.later(way, Todo::Take { node, event });
            }
            Todo::Beat { node, asked } => self.beat(node, asked),
            Todo::Accept { by, place } => self.ledger.accept(place, by),
            Todo::Start { former } => self.start(former),
            Todo::Fault => self.fault(),
            Todo::Take { node, event } => {
                if let Some(until) = self.frozen(node) {
                    return self.at(until, Todo::Take { node, event });
                }
                self.hear(node, &event);
                let now = self.instant();
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.take(event, now);
                }
                self.step(node);
            }
            Todo::News { node, news } => {
                if let Some(until) = self.frozen(node) {
                    return self.at(until, Todo::News { node, news });
                }
                if let News::Renewed { asked, heartbeat, .. } = &news {
                    let lease = heartbeat.lease;
                    self.nodes[node].fence = *asked + lease - lease / 10;
                }
                let now = self.instant();
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.take_news(news, now);
                }
                self.step(node);
            }
            Todo::Heed { node } => {
                if let Some(until) = self.frozen(node) {
                    return self.at(until, Todo::Heed { node });
                }
                let now = self.instant();
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.heed(std::iter::once(Signal::Ring), now);
                }
                self.step(node);
            }
            Todo::Wake { node, number } => {
                if let Some(until) = self.frozen(node) {
                    return self.at(until, Todo::Wake { node, number });
                }
                if self.nodes[node].wake_number == number {
                    self.step(node);
                }
            }
        }
    }

    fn frozen(&self, node: usize) -> Option<Timestamp> {
        let until = self.nodes[node].frozen_until;
        (until > self.database.now).then_some(until)
    }

    // Applications ----------------------------------------------------------------------------------

    fn send(&mut self, count: usize) {
        let xid = self.database.begin();
        let mut rings = false;
        for _ in 0..count {
            let shard = Shard(self.dice.i16(0..self.shard_count));
            let lane = Lane::new(shard, [0, 0, 0, 5][self.dice.usize(..4)]);
            rings |= self.database.asleep.contains_key(&shard);
            let now = self.database.now;
            let chance = self.dice.u32(..20);
            let later = Timestamp(now.0 + self.dice.i64(0..10_000_000));
            let last = self.endpoints.len() as i32;
            let first = Target(self.dice.i32(1..=last));
            let targets = match self.dice.u32(..10) {
                0 => Targets::Many((1..=last).map(Target).collect()),
                1 => Targets::Many(Box::new([])),
                _ => Targets::One(first),
            };
            let row = |id: MessageId| LogMessage {
                id,
                xid,
                targets,
                terms: Terms {
                    created_at: now,
                    scheduled_at: (chance == 0).then_some(later),
                    expires_at: (chance == 1).then_some(later),
                    priority: Priority::new(id.0 as i16 & 15),
                    ordering_key: None,
                    has_idempotency_key: false,
                },
                content: Content {
                    correlation_id: None,
                    event_type: None,
                    headers: None,
                    payload: Payload::Gone,
                    content_type: None,
                    replay_of: None,
                },
            };
            self.database.insert(row, lane);
        }
        let wait = match self.dice.u32(..20) {
            0 => ms(self.dice.u64(..8_000)),
            _ => ms(self.dice.u64(..30)),
        };
        let state = if self.dice.u32(..6) == 0 { State::Aborted } else { State::Committed };
        self.later(wait, Todo::Commit { xid, state, rings: rings && state == State::Committed });
    }

    // Dispatchers -----------------------------------------------------------------------------------

    fn start(&mut self, former: Option<Tenure>) {
        let number = self.nodes.len();
        let id = Uuid::from_u128(number as u128 + 1);
        if let Some(former) = &former {
            self.database.unregister(former.id);
        }
        let now = self.instant();
        let pace = Pace {
            shutdown_grace: ms(5_000),
            max_buffered_messages: 64,
            flush_interval: ms(5),
            poll_interval: ms(50),
        };
        let identity = Identity {
            id,
            shard_count: i64::from(self.shard_count),
            is_audible: self.dice.bool(),
            gaps: Gaps::new(self.database.gap.into_iter().collect()),
        };
        let endpoints = Endpoints::new(shared(), 100, 64, now);
        let dice = fastrand::Rng::with_seed(self.dice.u64(..));
        let mut dispatcher = Dispatcher::new(pace, identity, endpoints, former, now, dice);
        for query in [Query::LoadSettings, Query::LoadCircuits(Vec::new())] {
            dispatcher.take(self.database.answer(id, query, false), now);
        }
        let Event::Endpoints(Ok((versions, _))) =
            self.database.answer(id, Query::LoadVersions, false)
        else {
            unreachable!("versions are what was asked for");
        };
        let ids = versions.iter().map(|(id, _)| *id).collect();
        let known = self.database.answer(id, Query::LoadEndpoints(versions, ids), false);
        dispatcher.take(known, now);
        dispatcher.first_beat();
        let fence = now + LEASE;
        let frozen_until = Timestamp(0);
        let dispatcher = Some(dispatcher);
        self.nodes.push(Node { id, dispatcher, fence, frozen_until, wake_number: 0 });
        self.later(Duration::ZERO, Todo::Beat { node: number, asked: now });
    }

    fn beat(&mut self, node: usize, asked: Instant) {
        let id = self.nodes[node].id;
        let news = match self.database.heartbeat(id) {
            None => News::Over(super::dispatcher::End::LeaseLost),
            Some(heartbeat) => {
                News::Renewed { asked, answered: self.instant(), heartbeat: Box::new(heartbeat) }
            }
        };
        let way = self.way();
        self.later(way, Todo::News { node, news });
    }

    /// As the driver does it.
    fn step(&mut self, node: usize) {
        let now = self.instant();
        let Some(dispatcher) = &mut self.nodes[node].dispatcher else { return };
        let is_over = dispatcher.take_failure().is_some() || now >= self.nodes[node].fence;
        if is_over {
            return self.end_tenure(node);
        }
        let Some(dispatcher) = &mut self.nodes[node].dispatcher else { return };
        if dispatcher.is_finished(now) {
            let goodbye = dispatcher.goodbye();
            let id = self.nodes[node].id;
            if let Some(kept) = goodbye.kept {
                self.database.release(id, &kept.owned, &kept.released, &kept.checkpoint);
            }
            self.database.unregister(id);
            self.nodes[node].dispatcher = None;
            self.ledger.end_tenure(id);
            let wait = ms(self.dice.u64(..2_000));
            return self.later(wait, Todo::Start { former: None });
        }
        let commands = dispatcher.step(now);
        let wake_at = dispatcher.wake_at();
        for command in commands {
            self.start_command(node, command);
        }
        let wake_at = wake_at.max(now + ms(1)).min(self.nodes[node].fence);
        self.nodes[node].wake_number += 1;
        let number = self.nodes[node].wake_number;
        let wait = wake_at.saturating_duration_since(now);
        self.later(wait, Todo::Wake { node, number });
    }

    fn start_command(&mut self, node: usize, command: Command) {
        match command {
            Command::Ask(query) => {
                let way = self.way();
                self.later(way, Todo::Run { node, query });
            }
            Command::Attempt { deliveries, .. } => self.attempt(node, deliveries),
            Command::Beat(_) => {
                let (way, asked) = (self.way(), self.instant());
                self.later(way, Todo::Beat { node, asked });
            }
            Command::Bound(_) | Command::WaiveDurability(_) | Command::Wish(_) => {}
        }
    }

    fn attempt(&mut self, node: usize, deliveries: Vec<Delivery>) {
        let by = self.nodes[node].id;
        let is_quiet = self.database.now > self.faults_end;
        let started = self.instant();
        for delivery in deliveries {
            let receiver = self.endpoints[delivery.endpoint.0 as usize - 1];
            self.ledger.begin(&self.database, by, &delivery, self.database.now);
            let takes = ms(self.dice.u64(..=receiver.slowest_ms));
            let mut chance = |percent| !is_quiet && self.dice.u32(..100) < percent;
            let outcome = if chance(receiver.unsent_percent) {
                Outcome::NotSent
            } else if chance(receiver.failing_percent) {
                Outcome::Unavailable { retry_after: None }
            } else if chance(receiver.losing_percent) {
                Outcome::Unknown
            } else {
                Outcome::Accepted
            };
            if matches!(outcome, Outcome::Accepted | Outcome::Unknown) {
                let place = (delivery.message.id, delivery.target);
                self.later(takes / 2, Todo::Accept { by, place });
            }
            let report = match outcome {
                Outcome::Accepted => Report::accepted(takes),
                outcome => Report::failed(outcome, "as it happens".to_owned(), takes),
            };
            let event = Event::Landed(delivery, report, started);
            self.later(takes, Todo::Take { node, event });
        }
    }

    fn hear(&mut self, node: usize, event: &Event) {
        if let Event::Landed(delivery, report, _) = event
            && self.nodes[node].dispatcher.is_some()
        {
            let place = (delivery.message.id, delivery.target);
            let is_accepted = report.outcome == Outcome::Accepted;
            self.ledger.hear(place, self.nodes[node].id, is_accepted);
        }
    }

    /// It knows that its lease is over, and starts anew.
    fn end_tenure(&mut self, node: usize) {
        let id = self.nodes[node].id;
        let Some(dispatcher) = self.nodes[node].dispatcher.take() else { return };
        self.ledger.end_tenure(id);
        let former = Tenure { id, spared: Arc::new(dispatcher.spared()) };
        let wait = ms(self.dice.u64(..200));
        self.later(wait, Todo::Start { former: Some(former) });
    }

    // Faults ------------------------------------------------------------------------------------------

    fn fault(&mut self) {
        let live: Vec<usize> =
            (0..self.nodes.len()).filter(|n| self.nodes[*n].dispatcher.is_some()).collect();
        if live.is_empty() {
            return;
        }
        let node = live[self.dice.usize(..live.len())];
        let name = match self.dice.u32(..4) {
            0 => {
                // Its process is gone.
                self.ledger.end_tenure(self.nodes[node].id);
                self.nodes[node].dispatcher = None;
                let wait = ms(self.dice.u64(..6_000));
                self.later(wait, Todo::Start { former: None });
                "killed"
            }
            1 => {
                let wait = self.dice.i64(0..8_000_000);
                self.nodes[node].frozen_until = Timestamp(self.database.now.0 + wait);
                "frozen"
            }
            2 => {
                self.end_tenure(node);
                "its connection cut"
            }
            _ => {
                let now = self.instant();
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher
                    && !dispatcher.is_stopping()
                {
                    dispatcher.stop(now);
                }
                self.step(node);
                "stopped"
            }
        };
        *self.faults.entry(name).or_default() += 1;
    }
}

#[cfg(test)]
mod tests;
