//! All that runs and is disturbed: PostgreSQL, dispatchers, receivers, and transactions that stay open.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio_postgres::Client;

use super::disk::Disk;
use super::schedule::{DESTINATIONS, DISPATCHERS, Disturbance, Mood, PICKY, Planned};
use super::writers::{APPLICATION_NAME, KEYS};
use crate::prove::{faults::install, writers::connect};
use postrider_testkit::ledger::{
    Commit, Destination, Fault, FaultKind, Ledger, MessageId, Rollback,
};
use postrider_testkit::postgres::{Options, PrivatePostgres};
use postrider_testkit::process::{Dispatcher, DispatcherOptions};
use postrider_testkit::receiver::{Answer, Behaviour, Ending as AnswerEnding, Receiver};

/// The shortest lease there is, in seconds.
const LEASE: &str = "5";
/// How long a dispatcher may take to finish what is in flight.
const STOP_TIMEOUT: Duration = Duration::from_secs(90);
/// How long PostgreSQL may take to recover by itself when the disk is free again.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(10);
const RECOVERY_LOOK: Duration = Duration::from_millis(50);
/// More than PostgreSQL keeps in store.
const LONGEST_WAL_MIB: usize = 256;
/// Half a round of flapping.
const FLAP: Duration = Duration::from_millis(300);
const LONGEST_SLOW_ANSWER: u64 = 1_500;
const ENDLESS_PIECE: usize = 16 * 1024;
/// Retries come quickly and do not end before the run does.
const RETRY_POLICY: &str =
    r#"{"backoff": "fixed", "base_delay_seconds": 1, "max_retries": 500, "jitter": 0.5}"#;

pub struct Scene {
    // Before `postgres`: dispatchers end before their server.
    dispatchers: Vec<Place>,
    pub postgres: PrivatePostgres,
    /// Where its data are, if the disk can be filled.
    disk: Option<Disk>,
    pub receivers: Vec<Receiver>,
    /// Faults, and what the late transactions sent.
    pub ledger: Ledger,
    binary: PathBuf,
    pub url: String,
    folder: PathBuf,
    seed: u64,
    /// What has begun and ends later.
    pending: Vec<(Instant, Ending)>,
    /// How often each receiver's mood has changed: the end of an earlier one means nothing.
    moods: [u64; DESTINATIONS.len()],
    late_count: usize,
}

/// Where a dispatcher runs, one process after the other.
struct Place {
    process: Dispatcher,
    frozen_at: Option<Instant>,
}

enum Ending {
    Thaw {
        dispatcher: usize,
        pid: u32,
    },
    Heal {
        destination: usize,
        mood: u64,
    },
    Flap {
        destination: usize,
        mood: u64,
        is_up: bool,
    },
    /// The transaction ends with the connection.
    LetGo(Client),
    Commit(LateTransaction),
}

struct LateTransaction {
    client: Client,
    id: MessageId,
    marker: String,
}

impl Scene {
    /// Starts everything, with the schema installed.
    ///
    /// # Errors
    ///
    /// When something does not start.
    pub async fn open(
        binary: &Path,
        folder: &Path,
        disk: Option<Disk>,
        seed: u64,
        has_two_phases: bool,
    ) -> Result<Scene> {
        let options = Options {
            base_folder: disk.as_ref().map(|disk| disk.path().to_owned()),
            max_prepared_transactions: if has_two_phases { 20 } else { 0 },
            ..Options::default()
        };
        // Small, so that a full disk meets the WAL soon, too.
        let options = options.set("max_wal_size", "128MB").set("min_wal_size", "32MB");
        let postgres = PrivatePostgres::start(options)?;
        postgres.create_database("chaos").await?;
        let url = postgres.url_for("chaos");
        install(binary, &url)?;
        let receivers = (0..DESTINATIONS.len())
            .map(|destination| Receiver::start(usual(destination, seed)))
            .collect::<Result<Vec<_>>>()?;
        connect(&url).await?.batch_execute(&setup(&receivers)).await?;
        let mut scene = Scene {
            dispatchers: Vec::new(),
            postgres,
            disk,
            receivers,
            ledger: Ledger::new(Instant::now()),
            binary: binary.to_owned(),
            url,
            folder: folder.to_owned(),
            seed,
            pending: Vec::new(),
            moods: [0; DESTINATIONS.len()],
            late_count: 0,
        };
        for number in 0..DISPATCHERS {
            let process = scene.start_dispatcher(number)?;
            scene.dispatchers.push(Place { process, frozen_at: None });
        }
        Ok(scene)
    }

    /// Lets all faults happen at their times, and ends them.
    ///
    /// # Errors
    ///
    /// When something does not come up again, or a dispatcher ends that nobody has ended.
    pub async fn play(&mut self, schedule: &[Planned], time: Duration) -> Result<()> {
        let started_at = self.ledger.started_at();
        for planned in schedule {
            self.wait_until(started_at + planned.at).await?;
            let at = started_at.elapsed().as_secs_f64();
            println!("{at:>9.3} s  {}", planned.disturbance);
            let result = self.disturb(planned.disturbance).await;
            result.with_context(|| planned.disturbance.to_string())?;
        }
        self.wait_until(started_at + time).await?;
        for (_, ending) in std::mem::take(&mut self.pending) {
            self.end(ending).await?;
        }
        self.check_dispatchers().await
    }

    /// From now on every receiver accepts everything, and nobody is switched off or paused.
    ///
    /// # Errors
    ///
    /// When a receiver does not come back.
    pub async fn heal(&mut self) -> Result<()> {
        for (destination, receiver) in self.receivers.iter().enumerate() {
            self.moods[destination] += 1;
            receiver.set_behaviour(Behaviour::Status(200));
            receiver.up()?;
        }
        let sql = "select postrider.enable_endpoint(e.name), postrider.resume_endpoint(e.name)
            from postrider.endpoints e";
        Ok(connect(&self.url).await?.batch_execute(sql).await?)
    }

    /// Ends the dispatchers as a deployment does.
    ///
    /// # Errors
    ///
    /// When one does not stop well.
    pub async fn stop_dispatchers(&mut self) -> Result<()> {
        for dispatcher in 0..self.dispatchers.len() {
            self.stop_dispatcher(dispatcher).await?;
        }
        Ok(())
    }

    async fn wait_until(&mut self, moment: Instant) -> Result<()> {
        loop {
            let next = self.pending.iter().enumerate().min_by_key(|(_, (at, _))| *at);
            let next = next.map(|(place, (at, _))| (place, *at)).filter(|(_, at)| *at <= moment);
            let wake_at = next.map_or(moment, |(_, at)| at);
            tokio::time::sleep_until(wake_at.into()).await;
            self.check_dispatchers().await?;
            match next {
                Some((place, _)) => {
                    let (_, ending) = self.pending.swap_remove(place);
                    self.end(ending).await?;
                }
                None => return Ok(()),
            }
        }
    }

    async fn disturb(&mut self, disturbance: Disturbance) -> Result<()> {
        let at = Instant::now();
        match disturbance {
            Disturbance::Kill { dispatcher } => {
                self.dispatchers[dispatcher].process.sigkill();
                self.note_thaw(dispatcher);
                let name = format!("dispatcher {dispatcher}");
                self.ledger.fault(Fault::new(FaultKind::ProcessKilled, name, at));
                self.dispatchers[dispatcher].process = self.start_dispatcher(dispatcher)?;
            }
            Disturbance::Freeze { dispatcher, time } => {
                self.thaw(dispatcher);
                let place = &mut self.dispatchers[dispatcher];
                place.process.sigstop();
                place.frozen_at = Some(at);
                let pid = place.process.pid();
                self.pending.push((at + time, Ending::Thaw { dispatcher, pid }));
            }
            Disturbance::Deploy { dispatcher } => {
                self.thaw(dispatcher);
                self.stop_dispatcher(dispatcher).await?;
                self.dispatchers[dispatcher].process = self.start_dispatcher(dispatcher)?;
            }
            Disturbance::CutDispatchers { percent } => {
                self.cut("postrider %", percent).await?;
                let fault = Fault::new(FaultKind::ConnectionsCut, "dispatchers", at);
                self.ledger.fault(fault.until(Instant::now()));
            }
            Disturbance::CutWriters { percent } => self.cut(APPLICATION_NAME, percent).await?,
            Disturbance::CrashPostgres => self.restart(PrivatePostgres::stop_immediately, at)?,
            Disturbance::KillPostgres => self.restart(PrivatePostgres::kill, at)?,
            Disturbance::RestartPostgres => self.restart(PrivatePostgres::stop, at)?,
            Disturbance::FillDisk { time } => self.fill_disk(time, at).await?,
            Disturbance::Mood { destination, mood, time } => {
                self.change_mood(destination, mood, time, at)?;
            }
            Disturbance::PinHorizon { time } => {
                let client = connect(&self.url).await?;
                let sql = "begin isolation level repeatable read; select pg_current_xact_id()";
                client.batch_execute(sql).await?;
                self.pending.push((at + time, Ending::LetGo(client)));
            }
            Disturbance::LateCommit { time } => {
                let late = self.begin_late().await?;
                self.pending.push((at + time, Ending::Commit(late)));
            }
        }
        Ok(())
    }

    async fn end(&mut self, ending: Ending) -> Result<()> {
        match ending {
            Ending::Thaw { dispatcher, pid } => {
                if self.dispatchers[dispatcher].process.pid() == pid {
                    self.thaw(dispatcher);
                }
            }
            Ending::Heal { destination, mood } if self.moods[destination] == mood => {
                let receiver = &self.receivers[destination];
                receiver.set_behaviour(usual(destination, self.seed));
                receiver.up()?;
            }
            Ending::Flap { destination, mood, is_up } if self.moods[destination] == mood => {
                if is_up {
                    self.receivers[destination].up()?;
                } else {
                    self.take_down(destination)?;
                }
            }
            Ending::Heal { .. } | Ending::Flap { .. } => {}
            Ending::LetGo(client) => drop(client),
            Ending::Commit(late) => self.commit_late(late).await,
        }
        Ok(())
    }

    fn start_dispatcher(&self, number: usize) -> Result<Dispatcher> {
        let log = self.folder.join(format!("dispatcher-{number}.log"));
        Dispatcher::start(&DispatcherOptions::serve(&self.binary, &self.url).log_file(log))
    }

    async fn stop_dispatcher(&mut self, dispatcher: usize) -> Result<()> {
        self.dispatchers[dispatcher].process.stop(STOP_TIMEOUT).await
    }

    /// None of them ends by itself, but for one that has never found a server: that is a mistake of who has started it, who
    /// starts it again.
    async fn check_dispatchers(&mut self) -> Result<()> {
        for number in 0..self.dispatchers.len() {
            let process = &self.dispatchers[number].process;
            if process.is_running() {
                continue;
            }
            // What it said at last may be on its way.
            process.wait(STOP_TIMEOUT).await?;
            let lines = process.log_lines();
            let is_all = lines.len() as u64 == process.log_position();
            ensure!(
                is_all && has_found_no_server(&lines),
                "dispatcher {number} has ended by itself: {:#?}",
                lines.last_chunk::<10>().map_or(&lines[..], |last| &last[..])
            );
            println!("dispatcher {number} has found no server, and is started again");
            self.dispatchers[number].process = self.start_dispatcher(number)?;
        }
        Ok(())
    }

    fn thaw(&mut self, dispatcher: usize) {
        self.dispatchers[dispatcher].process.sigcont();
        self.note_thaw(dispatcher);
    }

    fn note_thaw(&mut self, dispatcher: usize) {
        if let Some(at) = self.dispatchers[dispatcher].frozen_at.take() {
            let name = format!("dispatcher {dispatcher}");
            let fault = Fault::new(FaultKind::ProcessStopped, name, at);
            self.ledger.fault(fault.until(Instant::now()));
        }
    }

    async fn cut(&self, application: &str, percent: u32) -> Result<()> {
        let sql = "select pg_terminate_backend(a.pid)
            from pg_stat_activity a
            where a.application_name like $1
            and random() * 100 < $2::integer";
        connect(&self.url).await?.execute(sql, &[&application, &(percent as i32)]).await?;
        Ok(())
    }

    fn restart(&mut self, stop: fn(&mut PrivatePostgres) -> Result<()>, at: Instant) -> Result<()> {
        tokio::task::block_in_place(|| {
            stop(&mut self.postgres)?;
            self.postgres.start_again()
        })?;
        let fault = Fault::new(FaultKind::PostgresCrashed, "PostgreSQL", at);
        self.ledger.fault(fault.until(Instant::now()));
        Ok(())
    }

    /// First the tables cannot grow, which is an error for who writes; then the WAL cannot, which is the
    /// end of the server.
    async fn fill_disk(&mut self, time: Duration, at: Instant) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        disk.fill()?;
        tokio::time::sleep(time / 2).await;
        // What is refused is meant to be.
        let _ = tokio::time::timeout(time / 2, fill_wal(&self.url)).await;
        tokio::time::sleep_until((at + time).into()).await;
        disk.free()?;
        if !self.recovers().await {
            tokio::task::block_in_place(|| {
                self.postgres.kill()?;
                self.postgres.start_again()
            })?;
        }
        let fault = Fault::new(FaultKind::PostgresCrashed, "PostgreSQL (disk full)", at);
        self.ledger.fault(fault.until(Instant::now()));
        Ok(())
    }

    /// Whether PostgreSQL answers again by itself.
    async fn recovers(&self) -> bool {
        let deadline = Instant::now() + RECOVERY_PATIENCE;
        while self.postgres.pid().is_some() && Instant::now() < deadline {
            if connect(&self.url).await.is_ok() {
                return true;
            }
            tokio::time::sleep(RECOVERY_LOOK).await;
        }
        false
    }

    fn change_mood(
        &mut self,
        destination: usize,
        mood: Mood,
        time: Duration,
        at: Instant,
    ) -> Result<()> {
        self.moods[destination] += 1;
        let number = self.moods[destination];
        let receiver = &self.receivers[destination];
        receiver.up()?;
        match mood {
            Mood::Down => self.take_down(destination)?,
            Mood::Flapping => {
                let mut is_up = false;
                let mut moment = at;
                while moment < at + time {
                    let flap = Ending::Flap { destination, mood: number, is_up };
                    self.pending.push((moment, flap));
                    is_up = !is_up;
                    moment += FLAP;
                }
            }
            mood => receiver.set_behaviour(behaviour(mood, self.seed)),
        }
        if mood == Mood::Endless {
            // Its one thread is busy writing, and may be too late for other requests.
            self.lose_answers(destination, at, at + time);
        }
        self.pending.push((at + time, Ending::Heal { destination, mood: number }));
        Ok(())
    }

    /// Answers on their way are lost.
    fn take_down(&mut self, destination: usize) -> Result<()> {
        let at = Instant::now();
        self.receivers[destination].down()?;
        self.lose_answers(destination, at, Instant::now());
        Ok(())
    }

    fn lose_answers(&mut self, destination: usize, at: Instant, until: Instant) {
        let name = DESTINATIONS[destination];
        let kind = FaultKind::AnswersLost { destination: Destination::from(name) };
        self.ledger.fault(Fault::new(kind, format!("receiver {name}"), at).until(until));
    }

    async fn begin_late(&mut self) -> Result<LateTransaction> {
        self.late_count += 1;
        let marker = format!("late-{}", self.late_count);
        let client = connect(&self.url).await?;
        client.batch_execute("begin").await?;
        let sql = "select postrider.send('steady', jsonb_build_object('marker', $1::text))";
        let id = MessageId(client.query_one(sql, &[&marker]).await?.get(0));
        Ok(LateTransaction { client, id, marker })
    }

    async fn commit_late(&mut self, late: LateTransaction) {
        let LateTransaction { client, id, marker } = late;
        if client.is_closed() {
            self.ledger.roll_back(Rollback { id: Some(id), marker: Some(marker) });
            return;
        }
        let committed = client.batch_execute("commit").await;
        self.ledger.commit(Commit {
            destination: "steady".into(),
            id: Some(id),
            marker: Some(marker),
            order: None,
            at: Instant::now(),
            is_certain: committed.is_ok(),
        });
    }
}

/// Writes WAL until there is no more space for it.
async fn fill_wal(url: &str) -> Result<()> {
    let client = connect(url).await?;
    for _ in 0..LONGEST_WAL_MIB {
        let sql = "select pg_logical_emit_message(false, 'chaos', repeat('x', 1048576))";
        client.batch_execute(sql).await?;
    }
    Ok(())
}

/// How a receiver behaves when nothing is wrong with it.
fn usual(destination: usize, seed: u64) -> Behaviour {
    let dice = std::sync::Mutex::new(fastrand::Rng::with_seed(seed ^ destination as u64));
    Behaviour::custom(move |_| {
        let mut dice = dice.lock().expect("nobody panics with it");
        let status = match DESTINATIONS[destination] {
            "flaky" if dice.u8(..5) == 0 => 503,
            _ if destination == PICKY && dice.u8(..20) == 0 => 422,
            _ => 200,
        };
        let delay = Duration::from_millis(dice.u64(0..8));
        Answer { delay, ..Answer::status(status).ending("thank you", AnswerEnding::Plain) }
    })
}

fn behaviour(mood: Mood, seed: u64) -> Behaviour {
    let endless = |ending| {
        let piece = vec![b'x'; ENDLESS_PIECE];
        Behaviour::custom(move |_| Answer::status(200).ending(piece.clone(), ending))
    };
    match mood {
        Mood::Down | Mood::Flapping => Behaviour::Status(200),
        Mood::Slow => {
            let dice = std::sync::Mutex::new(fastrand::Rng::with_seed(seed));
            Behaviour::custom(move |_| {
                let mut dice = dice.lock().expect("nobody panics with it");
                let delay = Duration::from_millis(dice.u64(100..LONGEST_SLOW_ANSWER));
                Answer { delay, ..Answer::status(200) }
            })
        }
        Mood::Hanging => Behaviour::Hang,
        Mood::Resetting => {
            Behaviour::custom(|_| Answer { ending: AnswerEnding::Cut, ..Answer::default() })
        }
        Mood::Busy => Behaviour::custom(|_| Answer::status(429).header("retry-after", 2)),
        Mood::Failing => Behaviour::Status(503),
        Mood::Gone => Behaviour::Status(410),
        Mood::Endless => endless(AnswerEnding::Endless),
        Mood::Dripping => endless(AnswerEnding::Dripping(Duration::from_millis(100))),
    }
}

fn setup(receivers: &[Receiver]) -> String {
    let mut sql = format!(
        "select postrider.set_setting(s.name, s.value)
        from (values
            ('allow_internal_destinations', 'on'), ('stale_recovery_timeout', '{LEASE}'),
            ('idempotency_window', '3600'), ('record_attempts', 'all'), ('capture_response', 'on'),
            ('response_body_max_size', '2000'), ('circuit_breaker_cooldown', '5')) s (name, value)
        join postrider.setting k on k.name = s.name;
        select postrider.create_event_type(t.name)
        from (values ('order.made'), ('plain.note')) t (name);
        create table ordering_key (key text primary key, sequence bigint not null);
        insert into ordering_key select 'key-' || n, 0 from generate_series(0, {}) n;",
        KEYS - 1
    );
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        let config = serde_json::json!({
            "url": receiver.url(),
            "timeout_seconds": 5,
            "connect_timeout_seconds": 2,
        });
        sql.push_str(&format!("select postrider.create_endpoint('{name}', 'http', '{config}');"));
    }
    sql.push_str(
        "select
            postrider.subscribe('order.made', 'steady'),
            postrider.subscribe('order.made', 'flaky', '{\"big\": true}'),
            postrider.subscribe('order.*', 'switched'),
            postrider.subscribe('plain.note', 'steady'),
            postrider.subscribe('plain.*', 'picky');",
    );
    sql.push_str(&format!("update postrider.endpoints set retry_policy = '{RETRY_POLICY}'"));
    sql
}

/// Whether a dispatcher with this log, which is all that it has said, ended because there was no server. One that was connected
/// once, or that a server has told to come again, tries again by itself.
fn has_found_no_server(lines: &[String]) -> bool {
    let says = |text: &str| lines.iter().any(|line| line.contains(text));
    let was_there = says(" connected dispatcher=") || says("the database cannot be used yet");
    let last = lines.last().is_some_and(|line| line.contains("could not connect to database"));
    last && !was_there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_never_found_a_server_may_end() {
        let told = "2026-11-26T12:00:00Z  INFO it listens for HTTP address=127.0.0.1:1";
        let connected = "2026-11-26T12:00:00Z  INFO connected dispatcher=1 database=proof";
        let later = "2026-11-26T12:00:00Z  WARN the database cannot be used yet error=starting up";
        let dispatching = "2026-11-26T12:00:00Z  INFO dispatching dispatcher=1 database=proof";
        let ended = "postrider: could not connect to database proof: connection refused";
        for (lines, expected) in [
            (vec![ended], true),
            (vec![told, ended], true),
            (vec![], false),
            (vec![told], false),
            (vec![ended, told], false),
            // Connected, and the server was lost before anything was dispatched.
            (vec![connected, ended], false),
            (vec![later, ended], false),
            (vec![connected, dispatching, ended], false),
        ] {
            let lines: Vec<_> = lines.into_iter().map(str::to_owned).collect();
            assert_eq!(has_found_no_server(&lines), expected, "{lines:?}");
        }
    }
}
