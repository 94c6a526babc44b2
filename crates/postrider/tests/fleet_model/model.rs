//! What the functions of fleets decide, as a machine in memory: from a state, a call and a moment to an answer and the
//! next state. One carrier (PostgreSQL), one caller after the other, no dispatcher.

use std::collections::BTreeMap;

use serde::Deserialize;

const SECOND: i64 = 1_000_000;
/// What stands for a fence that was drawn by the call.
pub const NEW_FENCE: i64 = -1;
/// What has come to a pool so recently is left to better workers as far as they have room.
const HEAD_START: i64 = SECOND;
const MOST_RESERVED: i64 = 100;
/// How far back a probe looks.
const PROBED: i64 = 300 * SECOND;
const PROBED_ATTEMPTS: usize = 50;

/// A moment in microseconds, or the bounds between which it has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "i64")]
pub struct Moment {
    pub earliest: i64,
    pub latest: i64,
}

impl From<i64> for Moment {
    fn from(at: i64) -> Moment {
        Moment { earliest: at, latest: at }
    }
}

impl Moment {
    fn plus(self, length: i64) -> Moment {
        Moment { earliest: self.earliest + length, latest: self.latest + length }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    pub id: i32,
    pub name: String,
    pub pool: String,
    pub status: String,
    pub is_cordoned: bool,
    pub capacity: i64,
    pub epoch: i32,
    pub heartbeat_at: Option<Moment>,
    pub health: String,
    pub failure_streak: i64,
    pub failure_rate: f64,
    pub queue_depth: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Action {
    pub name: String,
    pub concurrency: Option<i64>,
    pub slots: i64,
}

/// What was asked for.
#[derive(Debug, Clone, Deserialize)]
pub struct Order {
    pub id: i64,
    pub action: String,
    pub worker_id: Option<i32>,
    pub pool: Option<String>,
    pub priority: i32,
    pub ttl_ms: i64,
    pub timeout_ms: i64,
    pub max_retries: i32,
    pub is_repeated: bool,
}

/// What has not ended.
#[derive(Debug, Clone, Deserialize)]
pub struct Live {
    pub id: i64,
    pub action: String,
    pub queue: String,
    pub pool: Option<String>,
    pub status: String,
    pub is_delayed: bool,
    pub priority: i32,
    pub attempt: i32,
    pub max_retries: i32,
    pub retry_reason: Option<String>,
    pub fence: i64,
    pub worker_id: Option<i32>,
    pub worker_epoch: Option<i32>,
    pub slot: Option<i64>,
    pub ttl_ms: i64,
    pub timeout_ms: i64,
    pub requested_at: Moment,
    pub started_at: Option<Moment>,
    pub expires_at: Moment,
    pub deadline_at: Option<Moment>,
    pub is_to_be_cancelled: bool,
    pub due_at: Moment,
}

/// How an attempt ended.
#[derive(Debug, Clone, Deserialize)]
pub struct Ended {
    pub execution_id: i64,
    pub attempt: i32,
    pub is_final: bool,
    pub status: String,
    pub reason: Option<String>,
    pub retry_reason: Option<String>,
    pub worker_id: Option<i32>,
    pub was_started: bool,
    pub ended_at: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Letter {
    pub execution_id: i64,
    pub attempt: i32,
    pub outcome: String,
    pub worker_id: Option<i32>,
}

/// Everything that is decided upon.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// In seconds.
    pub stale_after: i64,
    pub cancel_timeout: i64,
    pub fails_when_lost: bool,
    pub workers: BTreeMap<i32, Worker>,
    pub actions: BTreeMap<String, Action>,
    pub orders: BTreeMap<i64, Order>,
    pub live: BTreeMap<i64, Live>,
    pub ended: Vec<Ended>,
    pub letters: Vec<Letter>,
}

#[derive(Debug, Clone)]
pub enum Call {
    Register { name: String, pool: String, capacity: i64 },
    Heartbeat { worker: i32, epoch: Option<i32>, has_error: bool },
    Deregister { worker: i32, epoch: Option<i32> },
    DropWorker { name: String },
    Cordon { name: String, is_cordoned: bool },
    Submit { order: Order, worker: Option<String> },
    Take { worker: i32, limit: i64, epoch: Option<i32> },
    Start { id: i64, fence: i64, epoch: Option<i32> },
    Extend { id: i64, fence: i64, seconds: i64 },
    Complete { id: i64, fence: i64 },
    Fail { id: i64, fence: i64, reason: &'static str },
    Release { id: i64, fence: i64 },
    Cancel { id: i64 },
    Retry { id: i64 },
    SetAction { name: String, concurrency: Option<i64> },
    SetPolicy { fails_when_lost: bool },
    CheckWorkers,
    CheckExecutions,
}

/// What the database has chosen, and no rule could foretell.
pub struct Chosen {
    pub workers: BTreeMap<String, i32>,
    pub execution: i64,
}

/// What a call says, as text, or the SQLSTATE with which it is refused.
pub type Answer = Result<String, &'static str>;

const MUST_REGISTER: &str = "55000";
const NOT_NOW: &str = "55000";
const UNKNOWN: &str = "42704";

fn own_queue(worker: i32) -> String {
    format!("worker:{worker}")
}

fn pool_queue(pool: &str) -> String {
    format!("pool:{pool}")
}

fn is_worth_retrying(reason: &str) -> bool {
    [
        "worker_unavailable",
        "queue_timeout",
        "worker_heartbeat_stale",
        "transient_error",
        "manual_retry",
    ]
    .contains(&reason)
}

impl Fleet {
    pub fn apply(&mut self, call: &Call, at: i64, chosen: &Chosen) -> Answer {
        match call {
            Call::Register { name, pool, capacity } => {
                self.register(chosen.workers[name], name, pool, *capacity, at)
            }
            Call::Heartbeat { worker, epoch, has_error } => {
                self.heartbeat(*worker, *epoch, *has_error, at)
            }
            Call::Deregister { worker, epoch } => self.deregister(*worker, *epoch, at),
            Call::DropWorker { name } => self.drop_worker(name),
            Call::Cordon { name, is_cordoned } => {
                let worker = self.workers.values_mut().find(|worker| worker.name == *name);
                let worker = worker.ok_or(UNKNOWN)?;
                let is_change = worker.is_cordoned != *is_cordoned;
                worker.is_cordoned = *is_cordoned;
                Ok(is_change.to_string())
            }
            Call::Submit { order, worker } => {
                let mut order = Order { id: chosen.execution, ..order.clone() };
                if let Some(name) = worker {
                    let id = chosen.workers[name];
                    self.know_worker(id, name, order.pool.as_deref());
                    order.worker_id = Some(id);
                }
                self.append(order, at)
            }
            Call::Take { worker, limit, epoch } => self.take(*worker, *limit, *epoch, at),
            Call::Start { id, fence, epoch } => self.start(*id, *fence, *epoch, at),
            Call::Extend { id, fence, seconds } => {
                let live = self.live.get_mut(id).filter(|live| {
                    live.fence == *fence && live.status == "running" && !live.is_to_be_cancelled
                });
                let Some(live) = live else { return Ok("false".to_owned()) };
                live.due_at = (at + seconds * SECOND).into();
                live.deadline_at = Some(live.due_at);
                Ok("true".to_owned())
            }
            Call::Complete { id, fence } => {
                let live = self.held(*id, *fence).filter(|live| live.status == "running");
                let Some(live) = live else { return Ok("false".to_owned()) };
                self.end(&live, "completed", None, at);
                Ok("true".to_owned())
            }
            Call::Fail { id, fence, reason } => {
                let Some(live) = self.held(*id, *fence) else { return Ok("null".to_owned()) };
                Ok(self.fail(&live, reason, at).to_owned())
            }
            Call::Release { id, fence } => {
                let Some(live) = self.held(*id, *fence) else { return Ok("false".to_owned()) };
                self.give_back(&live, false, at);
                Ok("true".to_owned())
            }
            Call::Cancel { id } => self.cancel(*id, at),
            Call::Retry { id } => {
                let order = self.orders.get(id).ok_or(UNKNOWN)?.clone();
                if self.live.contains_key(id) {
                    return Err(NOT_NOW);
                }
                let worker_id = order.worker_id.filter(|id| self.workers.contains_key(id));
                if order.worker_id != worker_id && order.pool.is_none() {
                    return Err(NOT_NOW);
                }
                let again = Order { id: chosen.execution, is_repeated: true, worker_id, ..order };
                self.append(again, at)
            }
            Call::SetAction { name, concurrency } => {
                let slots = self.actions.get(name).map_or(0, |action| action.slots);
                let slots = slots.max(concurrency.unwrap_or(0));
                let action = Action { name: name.clone(), concurrency: *concurrency, slots };
                self.actions.insert(name.clone(), action);
                Ok("null".to_owned())
            }
            Call::SetPolicy { fails_when_lost } => {
                self.fails_when_lost = *fails_when_lost;
                Ok(if *fails_when_lost { "fail" } else { "reroute" }.to_owned())
            }
            Call::CheckWorkers => Ok(self.check_workers(at).to_string()),
            Call::CheckExecutions => Ok(self.check_executions(at).to_string()),
        }
    }

    // Workers -------------------------------------------------------------------------------------

    fn know_worker(&mut self, id: i32, name: &str, pool: Option<&str>) {
        self.workers.entry(id).or_insert_with(|| Worker {
            id,
            name: name.to_owned(),
            pool: pool.unwrap_or("default").to_owned(),
            status: "inactive".to_owned(),
            is_cordoned: false,
            capacity: 1,
            epoch: 0,
            heartbeat_at: None,
            health: "healthy".to_owned(),
            failure_streak: 0,
            failure_rate: 0.0,
            queue_depth: 0,
        });
    }

    /// The worker, if it need not register again.
    fn known(&self, id: i32, epoch: Option<i32>) -> Result<&Worker, &'static str> {
        let worker = self.workers.get(&id).ok_or(UNKNOWN)?;
        let is_present = epoch.is_none_or(|epoch| epoch == worker.epoch);
        if worker.status == "inactive" || !is_present { Err(MUST_REGISTER) } else { Ok(worker) }
    }

    fn register(&mut self, id: i32, name: &str, pool: &str, capacity: i64, at: i64) -> Answer {
        self.know_worker(id, name, Some(pool));
        let worker = self.workers.get_mut(&id).expect("it is known");
        worker.pool = pool.to_owned();
        worker.capacity = capacity;
        worker.status = "active".to_owned();
        worker.epoch += 1;
        worker.heartbeat_at = Some(at.into());
        let epoch = worker.epoch;
        self.recover(id, Some("worker_unavailable"), false, at);
        Ok(format!("{id} {epoch}"))
    }

    fn heartbeat(&mut self, id: i32, epoch: Option<i32>, has_error: bool, at: i64) -> Answer {
        self.known(id, epoch)?;
        let (health, streak, rate, depth) = self.probe(id, at);
        let worker = self.workers.get_mut(&id).expect("it is known");
        worker.heartbeat_at = Some(at.into());
        worker.status = if has_error { "error" } else { "active" }.to_owned();
        (worker.health, worker.failure_streak) = (health.to_owned(), streak);
        (worker.failure_rate, worker.queue_depth) = (rate, depth);
        if has_error {
            let is_left = |live: &Live| live.status == "scheduled" && live.pool.is_some();
            for live in self.of_worker(id).into_iter().filter(is_left) {
                self.give_back(&live, true, at);
            }
        }
        let to_stop = self.of_worker(id);
        let to_stop = to_stop.iter().filter(|l| l.status == "running" && l.is_to_be_cancelled);
        Ok(listed(to_stop.map(|live| live.id.to_string())))
    }

    /// Health, failures in a row, rate of failures and what waits for it.
    fn probe(&self, id: i32, at: i64) -> (&'static str, i64, f64, i64) {
        let of_worker = self.ended.iter().rev().filter(|ended| ended.worker_id == Some(id));
        let counts = |ended: &&Ended| {
            ["completed", "failed", "timeout"].contains(&ended.status.as_str())
                && ended.was_started
                && ended.ended_at.earliest > at - PROBED
        };
        let recent: Vec<bool> = of_worker
            .take(PROBED_ATTEMPTS)
            .filter(counts)
            .map(|ended| ended.status != "completed")
            .collect();
        let failures = recent.iter().filter(|is_failure| **is_failure).count();
        let streak = recent.iter().take_while(|is_failure| **is_failure).count() as i64;
        let rate = if recent.len() >= 10 { failures as f64 / recent.len() as f64 } else { 0.0 };
        let is_waiting = |live: &&Live| live.status == "scheduled" && live.worker_id == Some(id);
        let depth = self.live.values().filter(is_waiting).count() as i64;
        let health = match (streak, rate, depth) {
            _ if streak >= 10 || rate >= 0.7 || depth >= 100 => "unhealthy",
            _ if streak >= 3 || rate >= 0.3 || depth >= 50 => "degraded",
            _ => "healthy",
        };
        (health, streak, rate, depth)
    }

    fn deregister(&mut self, id: i32, epoch: Option<i32>, at: i64) -> Answer {
        match self.known(id, epoch) {
            Err(MUST_REGISTER) => return Ok("false".to_owned()),
            known => known?,
        };
        let worker = self.workers.get_mut(&id).expect("it is known");
        worker.status = "inactive".to_owned();
        worker.epoch += 1;
        self.recover(id, None, true, at);
        Ok("true".to_owned())
    }

    fn drop_worker(&mut self, name: &str) -> Answer {
        let worker = self.workers.values().find(|worker| worker.name == name).ok_or(UNKNOWN)?;
        let id = worker.id;
        let is_its = |live: &Live| live.worker_id == Some(id) || live.queue == own_queue(id);
        if worker.status != "inactive" || self.live.values().any(is_its) {
            return Err(NOT_NOW);
        }
        self.workers.remove(&id);
        Ok("null".to_owned())
    }

    /// What a worker has that is scheduled or running, the oldest first.
    fn of_worker(&self, id: i32) -> Vec<Live> {
        self.live.values().filter(|live| live.worker_id == Some(id)).cloned().collect()
    }

    /// What becomes of what a process has left behind. `reason`: none if it has left by itself.
    fn recover(&mut self, id: i32, reason: Option<&str>, is_leaving: bool, at: i64) {
        let epoch = self.workers[&id].epoch;
        let is_failing = is_leaving && reason.is_some() && self.fails_when_lost;
        for live in self.of_worker(id) {
            if live.worker_epoch.is_some_and(|of| of >= epoch) {
                continue;
            }
            match (live.status.as_str(), reason) {
                ("running", Some(reason)) => {
                    self.fail(&live, reason, at);
                }
                ("running", None) => self.give_back(&live, live.pool.is_some(), at),
                _ if live.pool.is_some() => self.give_back(&live, is_leaving, at),
                _ if is_failing => {
                    self.fail(&live, "worker_unavailable", at);
                }
                _ => self.give_back(&live, false, at),
            }
        }
        if !is_leaving {
            return;
        }
        let waits = |live: &&Live| {
            live.queue == own_queue(id) && live.status == "requested" && !live.is_delayed
        };
        let waiting: Vec<Live> = self.live.values().filter(waits).cloned().collect();
        for live in waiting {
            if live.pool.is_some() {
                self.give_back(&live, true, at);
            } else if is_failing {
                self.fail(&live, "worker_unavailable", at);
            }
        }
    }

    /// How many were lost.
    fn check_workers(&mut self, at: i64) -> usize {
        let latest = at - self.stale_after * SECOND;
        let is_lost = |worker: &&Worker| {
            worker.status != "inactive"
                && worker.heartbeat_at.is_some_and(|heard| heard.earliest < latest)
        };
        let lost: Vec<i32> = self.workers.values().filter(is_lost).map(|w| w.id).collect();
        for id in &lost {
            let worker = self.workers.get_mut(id).expect("it is known");
            worker.status = "inactive".to_owned();
            worker.epoch += 1;
        }
        for id in &lost {
            self.recover(*id, Some("worker_heartbeat_stale"), true, at);
        }
        let gone = self.workers.values().filter(|worker| worker.status == "inactive");
        let queues: Vec<String> = gone.map(|worker| own_queue(worker.id)).collect();
        let is_kept = |live: &&Live| {
            queues.contains(&live.queue)
                && live.pool.is_some()
                && live.status == "requested"
                && !live.is_delayed
        };
        let kept: Vec<Live> = self.live.values().filter(is_kept).cloned().collect();
        for live in kept {
            self.give_back(&live, true, at);
        }
        lost.len()
    }

    // From requested to scheduled -----------------------------------------------------------------

    fn append(&mut self, order: Order, at: i64) -> Answer {
        let queue = match (order.worker_id, &order.pool) {
            (Some(worker), _) => own_queue(worker),
            (None, pool) => pool_queue(pool.as_deref().unwrap_or("default")),
        };
        let expires_at = Moment::from(at + order.ttl_ms * 1_000);
        let live = Live {
            id: order.id,
            action: order.action.clone(),
            queue,
            pool: order.pool.clone(),
            status: "requested".to_owned(),
            is_delayed: false,
            priority: order.priority,
            attempt: 1,
            max_retries: order.max_retries,
            retry_reason: order.is_repeated.then(|| "manual_retry".to_owned()),
            fence: NEW_FENCE,
            worker_id: None,
            worker_epoch: None,
            slot: None,
            ttl_ms: order.ttl_ms,
            timeout_ms: order.timeout_ms,
            requested_at: at.into(),
            started_at: None,
            expires_at,
            deadline_at: None,
            is_to_be_cancelled: false,
            due_at: expires_at,
        };
        let id = order.id;
        self.live.insert(id, live);
        self.orders.insert(id, order);
        Ok(id.to_string())
    }

    fn take(&mut self, id: i32, limit: i64, epoch: Option<i32>, at: i64) -> Answer {
        let known = self.known(id, epoch)?.clone();
        // No dispatcher does the monitor's work.
        self.check_workers(at);
        self.check_executions(at);
        let mut taken = self.schedule(&known, limit, at);
        taken.sort_by_key(|id| (-self.live[id].priority, *id));
        let shown = taken.iter().map(|id| {
            let live = &self.live[id];
            format!("{id}/{}/{}", live.attempt, live.priority)
        });
        Ok(listed(shown))
    }

    fn load(&self, worker: i32) -> i64 {
        self.live.values().filter(|live| live.worker_id == Some(worker)).count() as i64
    }

    /// Those that may get something of a pool: rank, room and id, the best first.
    fn pool_workers(&self, pool: &str, at: i64) -> Vec<(i32, i64, i32)> {
        let latest = at - self.stale_after * SECOND;
        let may = |worker: &&Worker| {
            worker.pool == pool
                && worker.status == "active"
                && !worker.is_cordoned
                && worker.heartbeat_at.is_some_and(|heard| heard.earliest > latest)
        };
        let ranked = self.workers.values().filter(may).map(|worker| {
            let rank = ["healthy", "degraded"].iter().position(|h| *h == worker.health);
            let room = (worker.capacity - self.load(worker.id)).max(0);
            (rank.unwrap_or(2) as i32, room, worker.id)
        });
        let ranked: Vec<_> = ranked.collect();
        let has_better = ranked.iter().any(|(rank, ..)| *rank < 2);
        ranked.into_iter().filter(|(rank, ..)| *rank < 2 || !has_better).collect()
    }

    fn schedule(&mut self, known: &Worker, limit: i64, at: i64) -> Vec<i64> {
        let present = self.workers[&known.id].clone();
        if present.epoch != known.epoch || present.is_cordoned {
            return Vec::new();
        }
        let room = limit.min(present.capacity - self.load(present.id));
        let mut taken = self.schedule_queue(&present, &own_queue(present.id), room, 0, at, at);
        let left = room - taken.len() as i64;
        let ranks = self.pool_workers(&present.pool, at);
        let own = ranks.iter().find(|(.., id)| *id == present.id).copied();
        let Some((rank, free, _)) = own.filter(|(_, free, _)| left > 0 && *free > 0) else {
            return taken;
        };
        let is_better = |other: &&(i32, i64, i32)| (other.0, -other.1) < (rank, -free);
        let reserved: i64 = ranks.iter().filter(is_better).map(|(_, free, _)| free).sum();
        let reserved = reserved.min(MOST_RESERVED);
        let queue = pool_queue(&present.pool);
        let since = at - HEAD_START;
        taken.extend(self.schedule_queue(&present, &queue, left.min(free), reserved, since, at));
        taken
    }

    /// How many more of an action may be scheduled, without a bound if it has no limit.
    fn room_of(&self, action: &str, most: i64) -> i64 {
        let limit = self.actions.get(action).and_then(|action| action.concurrency);
        let has_place = |live: &&Live| live.action == action && live.status != "requested";
        let admitted = self.live.values().filter(has_place).count() as i64;
        limit.map_or(most, |limit| most.min(limit - admitted)).max(0)
    }

    /// `reserved`: so many of those that have come since a moment are left to others.
    fn schedule_queue(
        &mut self,
        worker: &Worker,
        queue: &str,
        limit: i64,
        reserved: i64,
        since: i64,
        at: i64,
    ) -> Vec<i64> {
        let mut waiting: BTreeMap<&str, Vec<&Live>> = BTreeMap::new();
        for live in self.live.values() {
            let may = live.queue == queue
                && live.status == "requested"
                && !live.is_delayed
                && live.expires_at.earliest > at
                && (live.pool.is_none() || worker.status != "inactive");
            if may && limit > 0 {
                waiting.entry(&live.action).or_default().push(live);
            }
        }
        let mut candidates: Vec<&Live> = Vec::new();
        for (action, mut of_action) in waiting {
            of_action.sort_by_key(|live| (-live.priority, live.id));
            of_action.truncate(self.room_of(action, limit + reserved) as usize);
            candidates.extend(of_action);
        }
        let old = candidates.iter().filter(|live| live.requested_at.earliest <= since).count();
        let allowed = (candidates.len() as i64 - reserved).max(old as i64).min(limit);
        let allowed = allowed.min(worker.capacity - self.load(worker.id)).max(0);
        candidates.sort_by_key(|live| (-live.priority, live.id));
        let chosen: Vec<i64> =
            candidates.into_iter().take(allowed as usize).map(|live| live.id).collect();
        for id in &chosen {
            let slot = self.free_slot(&self.live[id].action);
            let live = self.live.get_mut(id).expect("it waits");
            live.status = "scheduled".to_owned();
            live.fence = NEW_FENCE;
            live.worker_id = Some(worker.id);
            live.worker_epoch = Some(worker.epoch);
            live.slot = slot;
            live.due_at = live.expires_at;
        }
        chosen
    }

    /// The lowest that nobody has; none if the action has no limit.
    fn free_slot(&self, action: &str) -> Option<i64> {
        let action = self.actions.get(action).filter(|action| action.concurrency.is_some())?;
        let is_taken = |slot: &i64| {
            self.live.values().any(|l| l.action == action.name && l.slot == Some(*slot))
        };
        (1..=action.slots).find(|slot| !is_taken(slot))
    }

    // Attempts ------------------------------------------------------------------------------------

    fn start(&mut self, id: i64, fence: i64, epoch: Option<i32>, at: i64) -> Answer {
        let scheduled = self.live.get(&id).filter(|l| l.fence == fence && l.status == "scheduled");
        let Some(worker_id) = scheduled.and_then(|live| live.worker_id) else {
            return Ok("none".to_owned());
        };
        let known = self.known(worker_id, epoch).map(|worker| worker.epoch);
        let live = self.live.get_mut(&id).expect("it is scheduled");
        match known {
            Ok(worker_epoch) if live.expires_at.earliest > at => {
                live.status = "running".to_owned();
                live.fence = NEW_FENCE;
                live.worker_epoch = Some(worker_epoch);
                live.started_at = Some(at.into());
                live.due_at = (at + live.timeout_ms * 1_000).into();
                live.deadline_at = Some(live.due_at);
                Ok(format!("{id}/{}", live.attempt))
            }
            // Only who says which process it is hears that it has to register.
            Err(code) if epoch.is_some() => Err(code),
            _ => Ok("none".to_owned()),
        }
    }

    /// What is scheduled or running under this fence.
    fn held(&self, id: i64, fence: i64) -> Option<Live> {
        let live = self.live.get(&id)?;
        (live.fence == fence && live.status != "requested").then(|| live.clone())
    }

    fn note_end(
        &mut self,
        live: &Live,
        is_final: bool,
        status: &str,
        reason: Option<&str>,
        at: i64,
    ) {
        let is_given_back = status == "released";
        self.ended.push(Ended {
            execution_id: live.id,
            attempt: live.attempt,
            is_final,
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
            retry_reason: live.retry_reason.clone().filter(|_| !is_given_back),
            worker_id: live.worker_id,
            was_started: live.started_at.is_some(),
            ended_at: at.into(),
        });
    }

    fn end(&mut self, live: &Live, status: &str, reason: Option<&str>, at: i64) {
        self.note_end(live, true, status, reason, at);
        self.live.remove(&live.id);
    }

    /// An attempt has failed: the status that the execution has then.
    fn fail(&mut self, live: &Live, reason: &str, at: i64) -> &'static str {
        if live.is_to_be_cancelled {
            self.end(live, "cancelled", Some("cancelled"), at);
            return "cancelled";
        }
        if !is_worth_retrying(reason) || live.attempt > live.max_retries {
            self.end(live, "failed", Some(reason), at);
            return "failed";
        }
        self.note_end(live, false, "failed", Some(reason), at);
        // A second before the first, doubled with each, and a fifth more or less.
        let pause = (1_i64 << (live.attempt - 1).min(20)).min(300) * SECOND;
        let run_at = Moment { earliest: at + pause * 8 / 10, latest: at + pause * 12 / 10 };
        let kept = self.live.get_mut(&live.id).expect("it lives");
        free(kept);
        kept.is_delayed = true;
        kept.attempt += 1;
        kept.retry_reason = Some(reason.to_owned());
        kept.requested_at = run_at;
        kept.due_at = run_at;
        kept.expires_at = run_at.plus(live.ttl_ms * 1_000);
        "requested"
    }

    /// It waits again, and no attempt is used up.
    fn give_back(&mut self, live: &Live, to_pool: bool, at: i64) {
        let was_running = live.status == "running";
        if was_running && live.is_to_be_cancelled {
            return self.end(live, "cancelled", Some("cancelled"), at);
        }
        if was_running {
            self.note_end(live, false, "released", None, at);
        }
        let kept = self.live.get_mut(&live.id).expect("it lives");
        free(kept);
        if let Some(pool) = live.pool.as_ref().filter(|_| to_pool) {
            kept.queue = pool_queue(pool);
        }
        if was_running {
            kept.requested_at = at.into();
            kept.expires_at = (at + live.ttl_ms * 1_000).into();
        }
        kept.due_at = kept.expires_at;
    }

    fn cancel(&mut self, id: i64, at: i64) -> Answer {
        let Some(live) = self.live.get_mut(&id) else {
            let is_end = |ended: &&Ended| ended.execution_id == id && ended.is_final;
            return self.ended.iter().find(is_end).map(|end| end.status.clone()).ok_or(UNKNOWN);
        };
        if live.status != "running" {
            let live = live.clone();
            self.end(&live, "cancelled", Some("cancelled"), at);
            return Ok("cancelled".to_owned());
        }
        if !live.is_to_be_cancelled {
            let latest = at + self.cancel_timeout * SECOND;
            live.is_to_be_cancelled = true;
            if latest < live.due_at.earliest {
                live.due_at = latest.into();
            }
        }
        Ok("cancelling".to_owned())
    }

    /// The timeout monitor: how many it was about.
    fn check_executions(&mut self, at: i64) -> usize {
        let is_due = |live: &&Live| live.due_at.earliest <= at;
        let mut due: Vec<Live> = self.live.values().filter(is_due).cloned().collect();
        due.sort_by_key(|live| live.due_at.earliest);
        for live in &due {
            if live.is_delayed {
                let kept = self.live.get_mut(&live.id).expect("it lives");
                kept.is_delayed = false;
                kept.due_at = kept.expires_at;
            } else if live.status == "running" && live.is_to_be_cancelled {
                self.end(live, "cancelled", Some("cancelled"), at);
            } else if live.status == "running" {
                self.end(live, "timeout", Some("timeout"), at);
            } else {
                self.expire(live, at);
            }
        }
        due.len()
    }

    fn expire(&mut self, live: &Live, at: i64) {
        let addressed = live.worker_id.or_else(|| self.orders[&live.id].worker_id);
        let outcome = match self.fail(live, "queue_timeout", at) {
            "requested" => "retried",
            outcome => outcome,
        };
        self.letters.push(Letter {
            execution_id: live.id,
            attempt: live.attempt,
            outcome: outcome.to_owned(),
            worker_id: addressed,
        });
    }
}

/// Nobody has it any more.
fn free(live: &mut Live) {
    live.status = "requested".to_owned();
    live.fence = NEW_FENCE;
    (live.worker_id, live.worker_epoch, live.slot) = (None, None, None);
    (live.started_at, live.deadline_at) = (None, None);
}

pub fn listed(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    parts.join(" ")
}
