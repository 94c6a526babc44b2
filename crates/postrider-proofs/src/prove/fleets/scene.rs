//! Everything that runs and can be disturbed: PostgreSQL, RabbitMQ, dispatchers and workers.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{
    Carrier, FleetScale, WorkerProgram,
    applications::{ACTIONS, POOLS, Shared},
    judge::{Moment, ProcessRow},
    worker::{LISTENING, VARIABLE, WorkerOrder, now},
    worker_name,
};
use crate::prove::{faults::install, until, writers::connect};
use postrider_testkit::{
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    proxy::Proxy,
    rabbitmq::{self, PrivateRabbitmq},
};

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(10);
/// How long a worker waits for what it runs when it is stopped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// How long a process may take to end in order. A machine may be busy.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(40);
/// Until enough is committed, and until nothing is left after that.
const LONGEST: Duration = Duration::from_secs(1_800);
const DRAIN: Duration = Duration::from_secs(600);
/// What a worker can run at a time.
const CAPACITIES: [usize; 4] = [4, 2, 1, 8];

#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    Stop,
    KillDispatcher,
    Crash,
    Cut,
    RestartBroker,
}

/// How often what was done.
#[derive(Debug, Default, Clone, Copy)]
pub struct FaultCounts {
    kills: usize,
    freezes: usize,
    stops: usize,
    dispatcher_kills: usize,
    crashes: usize,
    cuts: usize,
    broker_restarts: usize,
    /// Workers that the database took for lost.
    lost: i64,
    processes: usize,
}

impl fmt::Display for FaultCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} worker processes: {} killed, {} frozen, {} stopped; {} times one was taken for lost; \
             {} dispatchers killed, PostgreSQL restarted {} times, RabbitMQ {} times, its connections \
             cut {} times",
            self.processes,
            self.kills,
            self.freezes,
            self.stops,
            self.lost,
            self.dispatcher_kills,
            self.crashes,
            self.broker_restarts,
            self.cuts
        )
    }
}

/// A worker's name, and the process that has it.
#[derive(Debug)]
struct Place {
    name: String,
    pool: &'static str,
    capacity: usize,
    is_on_rabbitmq: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nobody, until then.
    Away(Instant),
    Up(Seat),
    /// Since when, and until when.
    Frozen(Seat, Moment, Instant),
    Stopping(Seat, Instant),
    /// In between.
    Moving,
}

/// A process, and its place among all of them.
#[derive(Debug)]
struct Seat {
    process: Dispatcher,
    index: usize,
}

#[derive(Debug)]
struct Broker {
    server: PrivateRabbitmq,
    proxy: Proxy,
}

/// All of it.
#[derive(Debug)]
pub struct Scene {
    binary: PathBuf,
    program: WorkerProgram,
    scale: FleetScale,
    dice: fastrand::Rng,
    places: Vec<Place>,
    dispatchers: Vec<Dispatcher>,
    /// Every process that ever was, with `ended_at` when it has.
    pub processes: Vec<ProcessRow>,
    pub outages: Vec<Range<Moment>>,
    counts: FaultCounts,
    url: String,
    broker: Option<Broker>,
    postgres: PrivatePostgres,
}

impl Scene {
    /// Starts it all.
    pub async fn open(
        binary: &Path,
        program: &WorkerProgram,
        carrier: Carrier,
        scale: FleetScale,
        seed: u64,
    ) -> Result<Self> {
        let postgres = PrivatePostgres::start(Options::default())?;
        postgres.create_database("proof").await?;
        let url = postgres.url_for("proof");
        install(binary, &url)?;
        connect(&url).await?.batch_execute(&setup(carrier, scale.stale_after)).await?;
        let broker = match carrier {
            Carrier::Postgres => None,
            Carrier::Rabbitmq => {
                let server = PrivateRabbitmq::start(rabbitmq::Options::default())?;
                let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into())?;
                Some(Broker { server, proxy })
            }
        };
        let place = |number: usize| Place {
            name: worker_name(number),
            pool: POOLS[usize::from(number % 4 == 3)],
            capacity: CAPACITIES[number % CAPACITIES.len()],
            is_on_rabbitmq: carrier == Carrier::Rabbitmq && number % 4 != 1,
            state: State::Away(Instant::now()),
        };
        let mut scene = Self {
            binary: binary.to_owned(),
            program: program.clone(),
            scale,
            dice: fastrand::Rng::with_seed(seed),
            places: (0..scale.workers).map(place).collect(),
            dispatchers: Vec::new(),
            processes: Vec::new(),
            outages: Vec::new(),
            counts: FaultCounts::default(),
            url,
            broker,
            postgres,
        };
        for _ in 0..scale.dispatchers {
            let dispatcher = scene.start_dispatcher()?;
            scene.dispatchers.push(dispatcher);
        }
        scene.look_after_all().await?;
        Ok(scene)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Until everybody has registered once. What is for a worker that was never there goes to RabbitMQ; if that one then
    /// turns out to be on PostgreSQL, a message stays in a queue that nobody reads until it expires.
    pub async fn wait_for_workers(&self) -> Result<()> {
        let client = connect(&self.url).await?;
        let wanted = (self.scale.workers + self.scale.sleepers) as i64;
        until("all workers", DRAIN, || async {
            let count = "select count(*) from postrider.worker w where w.registered_at is not null";
            Ok(client.query_one(count, &[]).await?.get::<_, i64>(0) == wanted)
        })
        .await
    }

    /// All faults, at random moments, until they are over and enough is committed.
    pub async fn break_everything(&mut self, shared: &Shared) -> Result<()> {
        let deadline = Instant::now() + LONGEST;
        let mut faults = self.schedule();
        let mut next_at = Instant::now();
        // An application that cannot go on says that it is over.
        while !shared.is_over.load(Ordering::Relaxed)
            && (!faults.is_empty() || !self.has_enough(shared))
        {
            self.look_after_all().await?;
            if next_at <= Instant::now()
                && let Some(fault) = faults.pop()
            {
                self.disturb(fault).await?;
                let pause = self.dice.u64(50..self.scale.longest_pause_ms);
                next_at = Instant::now() + Duration::from_millis(pause);
            }
            ensure!(Instant::now() < deadline, "not enough has happened within {LONGEST:?}");
            tokio::time::sleep(TICK).await;
        }
        Ok(())
    }

    fn has_enough(&self, shared: &Shared) -> bool {
        shared.committed.load(Ordering::Relaxed) >= self.scale.executions
            && shared.met.load(Ordering::Relaxed) >= self.scale.awakenings
    }

    /// Waits until every execution has ended, with all workers there.
    pub async fn drain(&mut self) -> Result<()> {
        let deadline = Instant::now() + DRAIN;
        let client = connect(&self.url).await?;
        loop {
            self.look_after_all().await?;
            let live =
                "select l.id, l.queue, l.status, l.attempt from postrider.live_execution l limit 5";
            let rows = client.query(live, &[]).await?;
            let is_quiet = self.places.iter().all(|place| matches!(place.state, State::Up(_)));
            if rows.is_empty() && is_quiet {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "not all have ended within {DRAIN:?}: {rows:?}");
            tokio::time::sleep(TICK * 5).await;
        }
    }

    /// The queues of RabbitMQ that are not empty when everything that expires has expired.
    pub async fn left_messages(&self) -> Result<Vec<String>> {
        let Some(broker) = &self.broker else { return Ok(Vec::new()) };
        let host = broker.server.host();
        let left = || -> Result<Vec<String>> {
            let queues = host.queues()?.into_iter();
            Ok(queues
                .filter(|queue| queue.ready + queue.unacknowledged > 0)
                .map(|queue| {
                    format!(
                        "{}: {} ready, {} unacknowledged, {} consumers",
                        queue.name, queue.ready, queue.unacknowledged, queue.consumers
                    )
                })
                .collect())
        };
        let emptied =
            until("empty queues", Duration::from_secs(60), || async { Ok(left()?.is_empty()) });
        match emptied.await {
            Ok(()) => Ok(Vec::new()),
            Err(_) => left(),
        }
    }

    /// Ends everybody in order.
    pub async fn leave(&mut self) -> Result<FaultCounts> {
        for place in &mut self.places {
            let State::Up(seat) = std::mem::replace(&mut place.state, State::Moving) else {
                continue;
            };
            seat.process.sigterm();
            place.state = State::Stopping(seat, Instant::now() + LEAVE_TIMEOUT);
        }
        while self.places.iter().any(|place| matches!(place.state, State::Stopping(..))) {
            for index in 0..self.places.len() {
                self.look_after(index).await?;
            }
            tokio::time::sleep(TICK).await;
        }
        for dispatcher in &self.dispatchers {
            dispatcher.sigterm();
            let status = dispatcher.wait(LEAVE_TIMEOUT).await?;
            let lines = dispatcher.log_lines();
            ensure!(status.success(), "a dispatcher did not stop well: {status}\n{lines:#?}");
        }
        let lost = "select count(*) from postrider.event_log l where l.event = 'worker.lost'";
        self.counts.lost = connect(&self.url).await?.query_one(lost, &[]).await?.get(0);
        self.counts.processes = self.processes.len();
        Ok(self.counts)
    }

    /// All faults in a random order; the last one comes first.
    fn schedule(&mut self) -> Vec<Fault> {
        let scale = self.scale;
        let has_broker = usize::from(self.broker.is_some());
        let of = |fault: Fault, count: usize| std::iter::repeat_n(fault, count);
        let mut all: Vec<Fault> = of(Fault::Kill, scale.kills)
            .chain(of(Fault::Freeze, scale.freezes))
            .chain(of(Fault::Stop, scale.stops))
            .chain(of(Fault::KillDispatcher, scale.dispatcher_kills))
            .chain(of(Fault::Crash, scale.crashes))
            .chain(of(Fault::Cut, scale.cuts * has_broker))
            .chain(of(Fault::RestartBroker, scale.broker_restarts * has_broker))
            .collect();
        self.dice.shuffle(&mut all);
        all
    }

    async fn disturb(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill => self.kill_worker().await?,
            Fault::Freeze => self.freeze_worker(),
            Fault::Stop => self.stop_worker(),
            Fault::KillDispatcher => {
                let Some(victim) = self.dispatchers.len().checked_sub(1) else { return Ok(()) };
                let victim = self.dice.usize(..=victim);
                self.dispatchers[victim].sigkill();
                self.dispatchers[victim] = self.start_dispatcher()?;
                self.counts.dispatcher_kills += 1;
            }
            Fault::Crash => {
                let began_at = now();
                self.postgres.stop_immediately()?;
                self.postgres.start_again()?;
                self.outages.push(began_at..now());
                self.counts.crashes += 1;
            }
            Fault::Cut => {
                let Some(broker) = &self.broker else { return Ok(()) };
                if self.dice.bool() {
                    broker.proxy.cut();
                } else {
                    broker.server.host().close_connections("the proof wants it so")?;
                }
                self.counts.cuts += 1;
            }
            Fault::RestartBroker => {
                let Some(broker) = &mut self.broker else { return Ok(()) };
                // It takes seconds, in which nobody looks after workers.
                let began_at = now();
                tokio::task::block_in_place(|| broker.server.restart())?;
                self.outages.push(began_at..now());
                self.counts.broker_restarts += 1;
            }
        }
        Ok(())
    }

    /// One that is up, at random. It is moving until it has a new state.
    fn victim(&mut self) -> Option<(usize, Seat)> {
        let up: Vec<usize> = (0..self.places.len())
            .filter(|index| matches!(self.places[*index].state, State::Up(_)))
            .collect();
        let index = *up.get(self.dice.usize(..up.len().max(1)))?;
        match std::mem::replace(&mut self.places[index].state, State::Moving) {
            State::Up(seat) => Some((index, seat)),
            other => {
                self.places[index].state = other;
                None
            }
        }
    }

    async fn kill_worker(&mut self) -> Result<()> {
        let Some((index, seat)) = self.victim() else { return Ok(()) };
        seat.process.sigkill();
        seat.process.wait(LEAVE_TIMEOUT).await?;
        let row = &mut self.processes[seat.index];
        (row.is_killed, row.ended_at) = (true, now());
        // Some are back before they are taken for lost, and some after.
        let away = self.dice.u64(..2 * self.scale.stale_after.as_millis() as u64);
        self.places[index].state = State::Away(Instant::now() + Duration::from_millis(away));
        self.counts.kills += 1;
        Ok(())
    }

    fn freeze_worker(&mut self) {
        let Some((index, seat)) = self.victim() else { return };
        let since = now();
        seat.process.sigstop();
        let longer = Duration::from_millis(self.dice.u64(1_500..4_000));
        let until = Instant::now() + self.scale.stale_after + longer;
        self.places[index].state = State::Frozen(seat, since, until);
        self.counts.freezes += 1;
    }

    fn stop_worker(&mut self) {
        let Some((index, seat)) = self.victim() else { return };
        seat.process.sigterm();
        self.places[index].state = State::Stopping(seat, Instant::now() + LEAVE_TIMEOUT);
        self.counts.stops += 1;
    }

    /// Does what is due for every process.
    async fn look_after_all(&mut self) -> Result<()> {
        for index in 0..self.dispatchers.len() {
            // One that finds no database when it starts ends, and whoever runs it starts it again.
            if !self.dispatchers[index].is_running() {
                self.dispatchers[index] = self.start_dispatcher()?;
            }
        }
        for index in 0..self.places.len() {
            self.look_after(index).await?;
        }
        Ok(())
    }

    /// Does what is due for a place.
    async fn look_after(&mut self, index: usize) -> Result<()> {
        let state = std::mem::replace(&mut self.places[index].state, State::Moving);
        let next = match state {
            State::Away(until) if until <= Instant::now() => State::Up(self.start_worker(index)?),
            State::Frozen(seat, since, until) if until <= Instant::now() => {
                seat.process.sigcont();
                self.processes[seat.index].frozen.push(since..now());
                State::Up(seat)
            }
            State::Stopping(seat, _) if !seat.process.is_running() => {
                let status = seat.process.wait(LEAVE_TIMEOUT).await?;
                let lines = seat.process.log_lines();
                let name = &self.places[index].name;
                // One that has just been started may not know yet what SIGTERM is.
                let is_unborn = !lines.iter().any(|line| line.ends_with(LISTENING));
                ensure!(
                    status.success() || is_unborn,
                    "{name} did not stop well: {status}\n{lines:#?}"
                );
                self.processes[seat.index].ended_at = now();
                State::Away(Instant::now() + Duration::from_millis(self.dice.u64(..3_000)))
            }
            State::Stopping(seat, deadline) => {
                ensure!(
                    Instant::now() < deadline,
                    "{} does not stop: {:#?}",
                    self.places[index].name,
                    seat.process.log_lines()
                );
                State::Stopping(seat, deadline)
            }
            State::Up(seat) => {
                ensure!(
                    seat.process.is_running(),
                    "{} ended by itself: {:#?}",
                    self.places[index].name,
                    seat.process.log_lines()
                );
                State::Up(seat)
            }
            other => other,
        };
        self.places[index].state = next;
        Ok(())
    }

    fn start_worker(&mut self, index: usize) -> Result<Seat> {
        let place = &self.places[index];
        let number = i32::try_from(self.processes.len())?;
        let order = WorkerOrder {
            number,
            database_url: self.url.clone(),
            name: place.name.clone(),
            pool: place.pool.to_owned(),
            capacity: u32::try_from(place.capacity)?,
            shutdown_timeout: SHUTDOWN_TIMEOUT,
            amqp_url: self.amqp_url().filter(|_| place.is_on_rabbitmq),
        };
        let mut options = DispatcherOptions::serve(&self.program.program, &self.url)
            .variable(VARIABLE, order.to_json());
        options.arguments.clone_from(&self.program.arguments);
        self.processes.push(ProcessRow {
            number,
            worker: place.name.clone(),
            capacity: place.capacity,
            is_killed: false,
            frozen: Vec::new(),
            silent_since: None,
            heartbeats: Vec::new(),
            ended_at: Moment::MAX,
        });
        Ok(Seat { process: Dispatcher::start(&options)?, index: self.processes.len() - 1 })
    }

    fn start_dispatcher(&self) -> Result<Dispatcher> {
        let mut options = DispatcherOptions::serve(&self.binary, &self.url);
        if let Some(url) = self.amqp_url() {
            options = options.variable("POSTRIDER_AMQP_URL", url);
        }
        Dispatcher::start(&options)
    }

    fn amqp_url(&self) -> Option<String> {
        let broker = self.broker.as_ref()?;
        Some(broker.server.host().url_through(broker.proxy.port()))
    }
}

/// The settings, the actions, and the tables of applications and workers.
fn setup(carrier: Carrier, stale_after: Duration) -> String {
    let carrier = match carrier {
        Carrier::Postgres => "postgres",
        Carrier::Rabbitmq => "rabbitmq",
    };
    let mut sql = format!(
        "select postrider.set_setting('execution_carrier', '{carrier}');
        select postrider.set_setting('worker_heartbeat_interval', '1');
        select postrider.set_setting('worker_stale_after', '{}');
        select postrider.set_setting('stale_recovery_timeout', '5');
        create schema fleet_proof;
        create table fleet_proof.submitted (name text primary key);
        create table fleet_proof.run (
            process integer, serial bigint, execution_id bigint not null, attempt integer not null,
            fence bigint not null, started_at bigint not null, ended_at bigint,
            primary key (process, serial));",
        stale_after.as_secs()
    );
    for (action, limit, _) in ACTIONS {
        if let Some(limit) = limit {
            let set = format!("select postrider.set_action('{action}', p_concurrency => {limit});");
            sql.push_str(&set);
        }
    }
    sql
}
