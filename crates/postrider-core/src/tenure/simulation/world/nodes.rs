//! Dispatchers, and what their drivers do for them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{
    LEASE, Todo, World, Wrong,
    database::{Looking, Luck, Takeover},
    ms,
    transports::Transports,
};
use crate::{
    checkpoint::{Cancels, Claim},
    gaps::Gaps,
    lease::Beat,
    outcome::{Outcome, Report},
    tenure::{
        Pace, Tenure,
        command::{Asked, Command, DueAnswer, DueClaimAnswer, Event, Flushed, Query},
        delivery::Delivery,
        dispatcher::{Dispatcher, End, Identity},
        endpoints::Endpoints,
        flush::Gathered,
        news::News,
        silence::Silence,
    },
    timestamp::Timestamp,
    waiting::DueDelivery,
};

/// Once all is well a receiver answers so soon.
const SLOWEST_CALM_MS: u64 = 50;

/// By so much a clock may be faster or slower than the world's, so that two differ by less than the tenth by which a
/// lease is shortened.
const DRIFT_PPM: i64 = 50_000;

/// A driver sleeps so long at least, by life. While it is woken for nothing it is woken later and later, as on a machine
/// that has other things to do.
const SHORTEST_PAUSES: [Duration; 3] = [ms(1), ms(4), ms(16)];
const LONGEST_PAUSE: Duration = ms(256);
/// A dispatcher that is woken again and again and has nothing to do, because it wants to be woken at once, would take all of a
/// processor. So often in a row it may be; and at once is within so long.
const MOST_RESTLESS: usize = 4;
const AT_ONCE: Duration = Duration::from_millis(1);
/// So long it may be at what a dispatcher has told it to do, by life. What comes meanwhile is taken in, and looked at
/// together.
const LONGEST_TURNS_US: [i64; 3] = [500, 4_000, 16_000];

/// The keeper of a lease tries again so soon when it could not renew it.
const BEAT_PAUSE: Duration = ms(100);

/// A tenure. A node that is gone stays in its place and hears nothing.
pub struct Node {
    pub id: Uuid,
    pub dispatcher: Option<Dispatcher>,
    pub fence: Instant,
    /// It hears nothing before.
    pub frozen_until: Timestamp,
    /// The database has crashed since.
    pub is_cut: bool,
    /// What it knows of the others.
    silence: Silence,
    /// The connection of its lease is lost until then.
    pub is_unheard_until: Timestamp,
    /// It dies when it has done so much more.
    pub dies_after: Option<u32>,
    /// What it has done last.
    pub last: &'static str,
    /// When it wants to be woken, and when that is looked at: the number of what is planned for it.
    wake_at: Timestamp,
    planned_wake: Option<(Timestamp, u64)>,
    wake_count: u64,
    /// So long it sleeps at least.
    pause: Duration,
    /// How often in a row it had nothing to do, had heard nothing, and wanted to be woken at once.
    restless: usize,
    /// It is at what it was told to do until then.
    is_at_work_until: Timestamp,
    drift_ppm: i64,
    in_flight: usize,
    transports: Transports,
    /// What it waits for.
    asked: Vec<(&'static str, usize)>,
}

/// How clocks go, and how quick drivers are.
pub struct Clockwork {
    drifts: Vec<i64>,
    longest_turn_us: i64,
    shortest_pause: Duration,
}

impl Clockwork {
    pub fn new(dice: &mut fastrand::Rng) -> Clockwork {
        let is_exact = dice.bool();
        let mut drift = || if is_exact { 0 } else { dice.i64(-DRIFT_PPM..=DRIFT_PPM) };
        let drifts = (0..4).map(|_| drift()).collect();
        Clockwork {
            drifts,
            longest_turn_us: LONGEST_TURNS_US[dice.usize(..3)],
            shortest_pause: SHORTEST_PAUSES[dice.usize(..3)],
        }
    }

    fn drift(&self, node: usize) -> i64 {
        self.drifts[node % self.drifts.len()]
    }
}

impl Node {
    /// What it waits for, and whether something is in flight.
    pub fn state(&self) -> String {
        let kept = ["acquire", "checkpoint", "claim", "flush", "release", "recovery"];
        let is_asked =
            |name: &&str| self.asked.iter().any(|(asked, count)| asked == name && *count > 0);
        let mut parts: Vec<&str> = kept.into_iter().filter(is_asked).collect();
        parts.extend((self.in_flight > 0).then_some("in flight"));
        let is_stopping = self.dispatcher.as_ref().is_some_and(Dispatcher::is_stopping);
        parts.extend(is_stopping.then_some("stopping"));
        parts.join("+")
    }

    /// How many answers of this kind it waits for.
    fn asked(&mut self, name: &'static str) -> &mut usize {
        let place = self.asked.iter().position(|(known, _)| *known == name);
        let place = place.unwrap_or_else(|| {
            self.asked.push((name, 0));
            self.asked.len() - 1
        });
        &mut self.asked[place].1
    }
}

fn query_name(query: &Query) -> &'static str {
    match query {
        Query::Tick(_) => "tick",
        Query::ReadPage(_) => "page",
        Query::SaveCheckpoint { .. } => "checkpoint",
        Query::Claim { .. } => "claim",
        Query::Flush { .. } => "flush",
        Query::Acquire { .. } => "acquire",
        Query::Release { .. } => "release",
        Query::Recover(..) => "recovery",
        Query::FetchDue { .. } => "due",
        Query::FetchFollowers(..) => "followers",
        Query::FetchExpired { .. } => "expired",
        Query::Tell(..) | Query::AskForProbe(..) | Query::LoadCircuits(_) => "circuits",
        Query::LockDoorbell(_) | Query::UnlockDoorbell => "doorbell",
        _ => "upkeep",
    }
}

fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Ticked(_) => "tick",
        Event::Paged(..) => "page",
        Event::Claimed(_) => "checkpoint",
        Event::DueClaimed(..) => "claim",
        Event::Flushed(_) => "flush",
        Event::Acquired(_) => "acquire",
        Event::Released(..) => "release",
        Event::Recovered(..) => "recovery",
        Event::Due(..) => "due",
        Event::Followers(..) => "followers",
        Event::Expired(..) => "expired",
        Event::Told(..) | Event::Probing(..) | Event::Circuits(_) => "circuits",
        Event::Doorbell(_) => "doorbell",
        Event::Landed(..) => "landing",
        _ => "upkeep",
    }
}

/// What a query is about, for people.
fn details(query: &Query) -> String {
    match query {
        Query::SaveCheckpoint { claimed, .. } => {
            format!("{:?}", claimed.iter().map(|id| id.0).collect::<Vec<_>>())
        }
        Query::Claim { claims, .. } => {
            let place = |claim: &Claim| (claim.id.0, claim.target.0, claim.retry_count);
            format!("{:?}", claims.iter().map(place).collect::<Vec<_>>())
        }
        Query::FetchFollowers(asked, _) => {
            let place = |(key, at, version): &Asked| (key.to_string(), at.0, *version);
            format!("{:?}", asked.iter().map(place).collect::<Vec<_>>())
        }
        Query::Flush { recorded, .. } => {
            let results = &recorded.results;
            let done: Vec<i64> = results.done.iter().map(|id| id.0).collect();
            let waiting: Vec<_> = results
                .deferred
                .iter()
                .map(|row| (row.id.0, row.target.0, row.retry_count, row.is_blocked))
                .collect();
            let settled: Vec<_> = results.settled.iter().map(|(id, t)| (id.0, t.0)).collect();
            let put_down: Vec<_> = recorded.put_down.iter().map(|(id, t)| (id.0, t.0)).collect();
            format!(
                "done {done:?}, waiting {waiting:?}, settled {settled:?}, put down {put_down:?}"
            )
        }
        _ => String::new(),
    }
}

/// What an answer brings, for people.
fn findings(event: &Event) -> String {
    let place = |row: &DueDelivery| (row.id.0, row.target.0, row.retry_count, row.is_blocked);
    match event {
        Event::Due(_, _, Ok(DueAnswer { rows, .. })) | Event::Followers(_, Ok(rows)) => {
            format!("{:?}", rows.iter().map(place).collect::<Vec<_>>())
        }
        Event::Expired(Ok(page)) => {
            format!("{:?}", page.rows.iter().map(place).collect::<Vec<_>>())
        }
        Event::DueClaimed(claimed, Ok(answer)) => {
            let waiting = claimed.iter().filter(|delivery| {
                let place = (delivery.message.id, delivery.target);
                answer.still_waiting.get(&place).is_some_and(|waiting| !waiting.is_held)
            });
            format!("{:?}", waiting.map(|delivery| delivery.message.id.0).collect::<Vec<_>>())
        }
        _ => String::new(),
    }
}

/// What goes on all the time would hide the rest.
fn is_worth_telling(name: &str) -> bool {
    !["tick", "upkeep", "doorbell", "circuits"].contains(&name)
}

impl World {
    /// By the clock of the node's host.
    pub fn instant(&self, node: usize) -> Instant {
        let now = self.database.clock.0;
        let drift = now * self.clockwork.drift(node) / 1_000_000;
        self.began + Duration::from_micros((now + drift) as u64)
    }

    pub fn start(&mut self, former: Option<Tenure>) {
        let number = self.nodes.len();
        let id = Uuid::from_u128(number as u128 + 1);
        self.tell(|| format!("node {number}: starts"));
        if let Some(former) = &former {
            self.database.unregister(former.id);
        }
        let now = self.instant(number);
        let pace = Pace {
            shutdown_grace: ms(5_000),
            max_buffered_messages: 64,
            flush_interval: ms(5),
            poll_interval: ms(500),
        };
        let identity = Identity {
            id,
            shard_count: i64::from(self.shard_count),
            is_audible: self.dice.bool(),
            gaps: Gaps::new(self.database.gap.into_iter().collect(), self.database.number),
        };
        let endpoints = Endpoints::new(100, 64, now);
        let dice = fastrand::Rng::with_seed(self.dice.u64(..));
        let mut dispatcher = Dispatcher::new(pace, identity, endpoints, former, now, dice);
        let luck = Luck { is_large: false, is_late: false };
        for query in [Query::LoadSettings, Query::LoadCircuits(Vec::new())] {
            dispatcher.take(self.database.answer(id, query, luck, now), now);
        }
        let Event::Endpoints(Ok((versions, _))) =
            self.database.answer(id, Query::LoadVersions, luck, now)
        else {
            unreachable!("versions are what was asked for");
        };
        let ids = versions.iter().map(|(id, _)| *id).collect();
        let mut known = self.database.answer(id, Query::LoadEndpoints(versions, ids), luck, now);
        let mut transports = Transports::default();
        if let Event::Endpoints(Ok((_, rows))) = &mut known {
            transports.open(rows, self.wrong);
        }
        dispatcher.take(known, now);
        dispatcher.first_beat();
        self.nodes.push(Node {
            id,
            dispatcher: Some(dispatcher),
            fence: now + LEASE,
            frozen_until: Timestamp(0),
            is_cut: false,
            silence: Silence::default(),
            is_unheard_until: Timestamp(0),
            dies_after: None,
            last: "start",
            wake_at: Timestamp(0),
            planned_wake: None,
            wake_count: 0,
            pause: self.clockwork.shortest_pause,
            restless: 0,
            is_at_work_until: Timestamp(0),
            drift_ppm: self.clockwork.drift(number),
            in_flight: 0,
            transports,
            asked: Vec::new(),
        });
        self.database.sessions.insert(id);
        self.later(Duration::ZERO, Todo::Beat { node: number, asked: now, silent: Vec::new() });
    }

    /// What concerns one of them.
    pub fn act_for_node(&mut self, todo: Todo) {
        match todo {
            Todo::Run { node, query } => self.run(node, query),
            Todo::Look { node, looking } if self.arrives(node) => {
                let event = self.database.look(looking);
                self.answer(node, event);
            }
            Todo::Recover { node, takeover } if self.arrives(node) => self.recover(node, takeover),
            Todo::Straggle { node, query } if !self.nodes[node].is_cut => {
                self.run_now(node, *query);
            }
            Todo::WriteLate { node, query } if self.arrives(node) => {
                self.write_late(node, *query);
            }
            Todo::Beat { node, asked, silent } if self.arrives(node) => {
                self.beat(node, asked, silent);
            }
            Todo::Look { .. } | Todo::Recover { .. } | Todo::WriteLate { .. } => {}
            Todo::Straggle { .. } | Todo::Beat { .. } => {}
            other => self.hear(other),
        }
    }

    /// Whether something that was on its way to the database gets there: from a dead process some does.
    fn arrives(&mut self, node: usize) -> bool {
        let known = &self.nodes[node];
        !known.is_cut && (known.dispatcher.is_some() || self.dice.bool())
    }

    /// What comes to a node.
    fn hear(&mut self, todo: Todo) {
        let (Todo::Take { node, .. }
        | Todo::News { node, .. }
        | Todo::Heed { node, .. }
        | Todo::Wake { node, .. }) = &todo
        else {
            unreachable!("it concerns a node");
        };
        let node = *node;
        let until = self.nodes[node].frozen_until;
        if until > self.database.clock {
            return self.at(until, todo);
        }
        let now = self.instant(node);
        match todo {
            Todo::Take { event, .. } => {
                self.note_event(node, &event);
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.take(*event, now);
                }
            }
            Todo::News { mut news, .. } => {
                if let News::Renewed { asked, answered, heartbeat } = &mut news {
                    *answered = now;
                    self.nodes[node].silence.note(&heartbeat.others, now);
                    let lasts = match self.wrong {
                        Wrong::LeaseTakenForLonger => heartbeat.lease * 2,
                        _ => heartbeat.lease - heartbeat.lease / 10,
                    };
                    self.nodes[node].fence = *asked + lasts;
                }
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.take_news(news, now);
                }
            }
            Todo::Heed { signal, .. } => {
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher {
                    dispatcher.heed(std::iter::once(signal), now);
                }
            }
            Todo::Wake { number, .. } if !self.is_woken(node, number) => return,
            Todo::Wake { .. } => return self.step(node),
            _ => {}
        }
        self.nodes[node].restless = 0;
        self.turn_to(node);
    }

    /// Something has come: it looks what is to be done, once it has done what it was told before.
    fn turn_to(&mut self, node: usize) {
        let known = &mut self.nodes[node];
        if self.database.clock >= known.is_at_work_until {
            return self.step(node);
        }
        known.wake_at = known.is_at_work_until;
        self.plan_wake(node);
    }

    /// Whether it wants to be woken by now. If it does later, that is planned.
    fn is_woken(&mut self, node: usize, number: u64) -> bool {
        let known = &mut self.nodes[node];
        if known.planned_wake.is_none_or(|(_, planned)| planned != number) {
            return false;
        }
        known.planned_wake = None;
        let is_time = self.database.clock >= known.wake_at;
        if !is_time {
            self.plan_wake(node);
        }
        is_time
    }

    /// It is woken when it wants to be, if not before: most wishes are replaced by another one long before that.
    fn plan_wake(&mut self, node: usize) {
        let known = &mut self.nodes[node];
        if known.planned_wake.is_some_and(|(at, _)| at <= known.wake_at) {
            return;
        }
        known.wake_count += 1;
        let (at, number) = (known.wake_at, known.wake_count);
        known.planned_wake = Some((at, number));
        self.at(at, Todo::Wake { node, number });
    }

    fn note_event(&mut self, node: usize, event: &Event) {
        if self.nodes[node].dispatcher.is_none() {
            return;
        }
        let name = event_name(event);
        self.nodes[node].last = name;
        let id = self.nodes[node].id;
        match event {
            Event::Landed(delivery, report, _) => {
                self.nodes[node].in_flight -= 1;
                self.nodes[node].pause = self.clockwork.shortest_pause;
                self.ledger.hear(delivery, id, report.outcome);
                let (message, outcome) = (delivery.message.id.0, report.outcome);
                self.tell(|| format!("node {node}: {message} is {outcome:?}"));
            }
            _ => {
                let count = self.nodes[node].asked(name);
                *count = count.saturating_sub(1);
                if self.trace.is_some() && is_worth_telling(name) {
                    self.tell(|| format!("node {node}: hears of its {name} {}", findings(event)));
                }
            }
        }
    }

    // At the database ---------------------------------------------------------------------------------

    fn run(&mut self, node: usize, query: Box<Query>) {
        let is_left = self.nodes[node].dispatcher.is_none() && !self.nodes[node].is_cut;
        // Locks of a session end with it, and a checkpoint that was asked for later would wait for a release on the
        // same connection.
        let is_prompt = matches!(
            *query,
            Query::LockDoorbell(_) | Query::UnlockDoorbell | Query::Release { .. }
        );
        if is_left && !is_prompt && self.dice.u32(..3) == 0 {
            let wait = ms(self.dice.u64(..4_000));
            self.later_or_calm(wait, Todo::Straggle { node, query });
        } else if self.arrives(node) {
            self.run_now(node, *query);
        }
    }

    fn run_now(&mut self, node: usize, query: Query) {
        let id = self.nodes[node].id;
        let now = self.instant(node);
        let luck = Luck { is_large: self.dice.u32(..8) == 0, is_late: self.dice.u32(..12) == 0 };
        let way = Duration::from_micros(self.dice.u64(50..2_000));
        match query {
            Query::SaveCheckpoint { owned, checkpoint, claimed, .. } => {
                let lost = self.database.save_checkpoint(id, &owned, checkpoint);
                let looking = Looking::Checkpoint { lost, claimed };
                self.later(way, Todo::Look { node, looking });
            }
            Query::Claim { claimed, owned, claims, look } => {
                let looking = self.database.claim(id, claimed, &owned, claims, look);
                self.later(way, Todo::Look { node, looking });
            }
            Query::Acquire { limit, former, silent } => {
                let taken = self.database.take_shards(id, limit, &silent);
                self.tell(|| format!("database: node {node} takes {taken:?}"));
                self.take_over(node, Takeover::new(taken, former));
            }
            query => {
                let mut event = self.database.answer(id, query, luck, now);
                if let Event::Endpoints(Ok((_, rows))) = &mut event {
                    self.nodes[node].transports.open(rows, self.wrong);
                }
                self.answer(node, event);
            }
        }
    }

    /// One part of a takeover after the other, until one is its last.
    fn recover(&mut self, node: usize, mut takeover: Takeover) {
        if !takeover.taken.is_empty()
            && let Some(left) = &mut self.takeover_dies_after
        {
            if *left == 0 && self.nodes[node].dispatcher.is_some() {
                self.takeover_dies_after = None;
                *self.counts.faults.entry("killed inside a takeover").or_default() += 1;
                return self.kill(node);
            }
            *left = left.saturating_sub(1);
        }
        let id = self.nodes[node].id;
        let before = self.database.unclaimed(&takeover.taken);
        let recovered = self.database.recover(id, &mut takeover);
        self.ledger.judge_recovery(&self.database, &before);
        match recovered {
            Some(acquired) => self.answer(node, Event::Acquired(Ok(acquired))),
            None => self.take_over(node, takeover),
        }
    }

    /// The next part of a takeover leaves: none of somebody who is gone, and one of somebody who is frozen once it goes
    /// on.
    fn take_over(&mut self, node: usize, takeover: Takeover) {
        let known = &self.nodes[node];
        if known.dispatcher.is_none() {
            return;
        }
        let soon = Timestamp(self.database.clock.0 + self.dice.i64(50..2_000));
        let at = soon.max(known.frozen_until);
        self.at(at, Todo::Recover { node, takeover });
    }

    fn answer(&mut self, node: usize, event: Event) {
        if self.wrong == Wrong::SlotLeaked && matches!(event, Event::Probing(..)) {
            return;
        }
        let way = self.way();
        self.later(way, Todo::Take { node, event: Box::new(event) });
    }

    fn beat(&mut self, node: usize, asked: Instant, silent: Vec<Beat>) {
        if self.nodes[node].is_unheard_until > self.database.clock {
            return self.beat_again(node);
        }
        let id = self.nodes[node].id;
        let answered = self.instant(node);
        let news = match self.database.heartbeat(id, silent) {
            None => News::Over(End::LeaseLost),
            Some(heartbeat) => News::Renewed { asked, answered, heartbeat: Box::new(heartbeat) },
        };
        let way = self.way();
        self.later(way, Todo::News { node, news });
    }

    /// The keeper of a lease tries again with another connection, unless its process is gone; once it goes on, if it is
    /// frozen.
    fn beat_again(&mut self, node: usize) {
        let known = &self.nodes[node];
        if known.dispatcher.is_none() {
            return;
        }
        let soon = Timestamp(self.database.clock.0 + BEAT_PAUSE.as_micros() as i64);
        let at = soon.max(known.frozen_until);
        let asked = self.instant(node);
        let silent = known.silence.over(LEASE, asked);
        self.at(at, Todo::Beat { node, asked, silent });
    }

    fn write_late(&mut self, node: usize, query: Query) {
        let id = self.nodes[node].id;
        let now = self.instant(node);
        match query {
            Query::SaveCheckpoint { owned, checkpoint, .. } => {
                self.database.save_checkpoint(id, &owned, checkpoint);
            }
            Query::Claim { owned, claims, .. } => {
                self.database.write_claims(id, &owned, &claims);
            }
            Query::Flush { owned, recorded } => {
                self.database.flush(id, owned, *recorded, now);
            }
            _ => unreachable!("these are what comes late"),
        }
    }

    // As the driver does it ---------------------------------------------------------------------------

    pub fn step(&mut self, node: usize) {
        let now = self.instant(node);
        let is_over = now >= self.nodes[node].fence && self.wrong != Wrong::NoFence;
        let Some(dispatcher) = &mut self.nodes[node].dispatcher else { return };
        if dispatcher.take_failure().is_some() || is_over {
            return self.end_tenure(node);
        }
        if dispatcher.is_finished(now) {
            return self.say_goodbye(node);
        }
        let commands = dispatcher.step(now);
        drop(dispatcher.take_measured());
        let wake_at = match self.wrong {
            Wrong::NeverAsleep => now,
            _ => dispatcher.wake_at(),
        };
        let is_idle = commands.is_empty();
        self.counts.idle_count += usize::from(is_idle);
        for command in commands {
            if let Some(left) = &mut self.nodes[node].dies_after {
                if *left == 0 {
                    return self.kill(node);
                }
                *left -= 1;
            }
            self.start_command(node, command);
        }
        let turn_us = self.dice.i64(..=self.clockwork.longest_turn_us);
        let known = &mut self.nodes[node];
        let longer = (known.pause * 8).min(LONGEST_PAUSE);
        known.pause = if is_idle { longer } else { self.clockwork.shortest_pause };
        let is_restless = is_idle && wake_at <= now + AT_ONCE;
        known.restless = if is_restless { known.restless + 1 } else { 0 };
        if known.restless == MOST_RESTLESS {
            self.ledger.findings.push(format!("node {node} does not sleep, and has nothing to do"));
        }
        known.is_at_work_until = Timestamp(self.database.clock.0 + turn_us);
        let wake_at = wake_at.max(now + known.pause);
        let wake_at = match self.wrong {
            Wrong::NoFence => wake_at,
            _ => wake_at.min(self.nodes[node].fence),
        };
        // As long as it takes by the database's clock.
        let wait = wake_at.saturating_duration_since(now).as_micros() as i64 + 1;
        let wait = wait * 1_000_000 / (1_000_000 + self.nodes[node].drift_ppm) + 1;
        let known = &mut self.nodes[node];
        known.wake_at = known.is_at_work_until.max(Timestamp(self.database.clock.0 + wait));
        self.plan_wake(node);
    }

    fn say_goodbye(&mut self, node: usize) {
        self.tell(|| format!("node {node}: stops"));
        let id = self.nodes[node].id;
        let Some(dispatcher) = self.nodes[node].dispatcher.take() else { return };
        if let Some(kept) = dispatcher.goodbye().kept {
            self.database.release(id, &kept.owned, &kept.released, kept.checkpoint);
        }
        self.database.unregister(id);
        self.database.sessions.remove(&id);
        self.ledger.end_tenure(id);
        let wait = ms(self.dice.u64(..2_000));
        self.later_or_calm(wait, Todo::Start { former: None });
    }

    /// It knows that its lease is over, and starts anew.
    pub fn end_tenure(&mut self, node: usize) {
        self.tell(|| format!("node {node}: its tenure ends"));
        let id = self.nodes[node].id;
        let Some(dispatcher) = self.nodes[node].dispatcher.take() else { return };
        self.ledger.end_tenure(id);
        self.database.sessions.remove(&id);
        let former = Tenure { id, spared: Arc::new(dispatcher.spared()) };
        let wait = ms(self.dice.u64(..200));
        self.later(wait, Todo::Start { former: Some(former) });
    }

    fn start_command(&mut self, node: usize, command: Command) {
        match command {
            Command::Ask(query) => {
                let name = query_name(&query);
                self.nodes[node].last = name;
                *self.nodes[node].asked(name) += 1;
                if self.trace.is_some() && is_worth_telling(name) {
                    self.tell(|| format!("node {node}: asks for its {name} {}", details(&query)));
                }
                self.ask(node, query);
            }
            Command::Attempt { edition, deliveries, .. } => {
                self.nodes[node].last = "attempt";
                let transports = &self.nodes[node].transports;
                if !edition.as_ref().is_ok_and(|edition| transports.is_open(*edition)) {
                    self.find(format!("node {node}: attempts by {edition:?}, which is not open"));
                }
                for delivery in deliveries {
                    self.attempt(node, delivery);
                }
            }
            Command::Beat(_) => {
                self.nodes[node].last = "heartbeat";
                let (way, asked) = (self.way(), self.instant(node));
                let silent = self.nodes[node].silence.over(LEASE, asked);
                self.later(way, Todo::Beat { node, asked, silent });
            }
            Command::Bound(_) | Command::WaiveDurability(_) | Command::Wish(_) => {}
            Command::Close(edition) => {
                if !self.nodes[node].transports.close(edition) {
                    self.find(format!("node {node}: closes {edition:?}, which is not open"));
                }
            }
            Command::Follow(_) => {}
        }
    }

    /// The dispatcher has said something that its driver cannot do.
    fn find(&mut self, text: String) {
        self.ledger.findings.push(text);
    }

    fn ask(&mut self, node: usize, mut query: Query) {
        let way = self.way();
        let late = ms(self.dice.u64(100..1_500));
        let answer = match (self.wrong, &mut query) {
            (Wrong::ClaimAfterAttempt, Query::SaveCheckpoint { .. }) => {
                Some(Event::Claimed(Ok((Vec::new(), Cancels::default()))))
            }
            (Wrong::ClaimedBeforeWritten, Query::Claim { claimed, claims, .. }) => {
                let looking = Looking::Claim {
                    claimed: std::mem::take(claimed),
                    claims: claims.clone(),
                    lost: Vec::new(),
                    unclaimed: DueClaimAnswer::default().unclaimed,
                };
                Some(self.database.look(looking))
            }
            (Wrong::DoneBeforeRecorded, Query::Flush { .. }) => {
                let Query::Flush { owned, recorded } = query else { unreachable!() };
                let mut later = Box::new(Gathered::default());
                later.results = recorded.results.clone();
                let query = Query::Flush { owned, recorded: later };
                self.later(late, Todo::WriteLate { node, query: Box::new(query) });
                let held = Gathered::default();
                let flushed = Flushed { recorded: *recorded, held, lost: Vec::new() };
                return self.later(
                    way,
                    Todo::Take { node, event: Box::new(Event::Flushed(Ok(flushed.into()))) },
                );
            }
            _ => return self.later(way, Todo::Run { node, query: Box::new(query) }),
        };
        if let Some(event) = answer {
            self.later(late, Todo::WriteLate { node, query: Box::new(query) });
            self.later(way, Todo::Take { node, event: Box::new(event) });
        }
    }

    fn attempt(&mut self, node: usize, delivery: Delivery) {
        let by = self.nodes[node].id;
        let is_calm = self.database.clock > self.calm_at;
        let started = self.instant(node);
        let receiver = self.receivers[delivery.endpoint.0 as usize - 1];
        let place = (delivery.message.id, delivery.target);
        self.tell(|| format!("node {node}: attempts {place:?}, retry {}", delivery.retry_count));
        self.ledger.begin(&self.database, by, &delivery);
        self.nodes[node].in_flight += 1;
        let slowest_ms =
            if is_calm { receiver.slowest_ms.min(SLOWEST_CALM_MS) } else { receiver.slowest_ms };
        let takes = ms(self.dice.u64(..=slowest_ms));
        let mut chance = |percent| !is_calm && self.dice.u32(..100) < percent;
        let outcome = if chance(receiver.unsent_percent) {
            Outcome::NotSent
        } else if chance(receiver.failing_percent) {
            Outcome::Unavailable { retry_after: None }
        } else if chance(receiver.losing_percent) {
            Outcome::Unknown
        } else {
            Outcome::Accepted
        };
        let is_taken =
            outcome == Outcome::Accepted || outcome == Outcome::Unknown && self.dice.bool();
        if is_taken {
            for _ in 0..=u8::from(self.wrong == Wrong::SentTwice) {
                self.later(takes / 2, Todo::Accept { by, place });
            }
        }
        if self.wrong == Wrong::TicketDropped && self.dice.u32(..20) == 0 {
            return;
        }
        let outcome = match (self.wrong, outcome) {
            (Wrong::RecordBeforeAttempt, _) => Outcome::Accepted,
            (Wrong::UnknownIsAccepted, Outcome::Unknown) => Outcome::Accepted,
            (_, outcome) => outcome,
        };
        let report = match outcome {
            Outcome::Accepted => Report::accepted(takes),
            outcome => Report::failed(outcome, "as it happens".to_owned(), takes),
        };
        let takes = if self.wrong == Wrong::RecordBeforeAttempt { Duration::ZERO } else { takes };
        let event = Box::new(Event::Landed(delivery, report, started));
        self.later(takes, Todo::Take { node, event });
    }
}
