//! What strangers hold, and what goes on beside them.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use tokio_postgres::Client;

use crate::prove::{faults::install, until, writers::connect};
use postrider_testkit::{
    ledger::MessageId,
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Answer, Arrival, Behaviour, Receiver, Request},
};

pub const DATABASE: &str = "proof";
/// How long anything that goes on may take, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);
const DISPATCHERS: usize = 2;
/// Messages of one round, and events among them.
const SENDS: usize = 20;
const EVENTS: usize = 5;
const REJECTED: usize = 20;
/// Places of the endpoint `burst`, and messages of a burst, which are all one dispatcher's: each has an equal part of
/// the places, and more than that only if the others lend theirs.
const PLACES: usize = 16;
const BURST: usize = 48;
/// So many bursts are tried at most.
const BURSTS: usize = 10;
/// So long a request of a burst takes: others have that often the time to lend.
const BURST_WAIT: Duration = Duration::from_millis(500);
/// Messages that `failing` refuses again and again, for a minute or two: dispatchers claim, attempt and flush their rows
/// all the time, and strangers hold them.
const STAYING: usize = 8;
/// So often it refuses each of them, at random, so that they are not accepted all at once. Fewer in a row than open a
/// circuit, and fewer than there are retries.
const REFUSALS: std::ops::Range<i64> = 60..120;
/// Messages of one round that `failing` refuses once. They are sent while strangers hold what they hold.
const PASSING: usize = 2;
/// So long a request of `failing` takes: so long its row is in hand at least.
const REFUSAL_WAIT: Duration = Duration::from_millis(200);
/// How far two looks are apart at what is in hand for a moment.
const LOOK: Duration = Duration::from_millis(10);
/// Such a part of the lease later than it was sent a request may be noted: it lay in the kernel when its dispatcher was
/// killed, and a receiver may stand still, too. What the dead one owned others have only when its lease is over.
const LATE_OF_LEASE: u32 = 2;

const SETUP: &str = include_str!("setup.sql");
const WAIT: &str = include_str!("wait.sql");

pub struct Scene {
    pub postgres: PrivatePostgres,
    binary: PathBuf,
    url: String,
    pub owner: Client,
    good: Receiver,
    held: Receiver,
    burst: Receiver,
    bursts: usize,
    failing: Receiver,
    /// Everything that `failing` is to get in the end.
    refused: usize,
    /// What waits for `failing` when a round begins behind which nothing is held any more.
    left_behind: Option<LeftBehind>,
    lease: Duration,
    dispatchers: Vec<Dispatcher>,
    /// When a dispatcher was killed.
    kills: Vec<Instant>,
    /// Everything that `good` is to get, and what of it a consumer is to read.
    sent: usize,
    events: usize,
    read: usize,
    tenures: Vec<String>,
    pub dice: fastrand::Rng,
}

/// What came of everything going on once.
#[derive(Debug)]
pub struct Round {
    /// How long each step took.
    pub times: Vec<(&'static str, Duration)>,
    /// Buffers that all sessions of the database have touched meanwhile, as far as they have reported it.
    pub buffers: i64,
}

/// Deliveries that wait, since when, and how many requests their receiver had got by then.
#[derive(Debug)]
struct LeftBehind {
    at: Instant,
    requests: usize,
    ids: HashSet<MessageId>,
}

impl LeftBehind {
    /// When each that waited was attempted, of these requests: the first time since, or when it was accepted before.
    fn attempts(&self, requests: &[Request]) -> HashMap<MessageId, Instant> {
        let mut attempts = HashMap::new();
        for (number, request) in requests.iter().enumerate() {
            let Some(id) = request.id.filter(|id| self.ids.contains(id)) else { continue };
            if number >= self.requests || request.is_accepted() {
                attempts.entry(id).or_insert(request.at);
            }
        }
        attempts
    }
}

/// 64 numbers in a row are of one shard.
const SKIP: &str = "select nextval('postrider.message_sequence')
    from generate_series(1, 64 - (select s.last_value % 64 from postrider.message_sequence s))";

/// What waits for `failing`.
const REFUSED: &str = "
    select d.message_id
    from postrider.deferred d
    join postrider.endpoints e on e.id = d.endpoint_id
    where e.name = 'failing'";

/// A dispatcher that has a row of `failing` in hand: its process and its id.
const BUSY: &str = "
    select o.pid, o.id::text
    from postrider.deferred d
    join postrider.endpoints e on e.id = d.endpoint_id
    join postrider.shard s on s.shard = d.shard
    join postrider.dispatcher o on o.id = s.owner
    where e.name = 'failing'
    and postrider.is_in_hand(d.message_id, d.target, d.retry_count)
    limit 1";

/// Whether all shards belong to others than this one, and each of them has some.
const TAKEN_OVER: &str = "
    select bool_and(s.owner is not null and s.owner <> $1::text::uuid) and count(distinct s.owner) = $2
    from postrider.shard s";

/// Dispatchers that live.
const LIVING: &str = "select l.id::text from postrider.live_dispatchers() l (id) order by 1";

/// Blocks found in memory or read.
const BUFFERS: &str = "select (d.blks_hit + d.blks_read)::bigint from pg_stat_database d
    where d.datname = current_database()";

/// What a worker sends: without it, one is taken for lost in the course of the full form.
const HEARTBEAT: &str = "
    select count(h.execution_id)
    from postrider.worker w
    left join postrider.worker_heartbeat(w.id) h on true
    where w.name = $1";

/// Of these sessions: how many hold a relation of ours in a mode that stands in somebody's way, and of how many
/// `health_check` says so.
const NAMED: &str = "
    select
        count(s.pid),
        count(s.pid) filter (where exists (
            select
            from pg_locks l
            where l.pid = s.pid
            and h.details like format(
                '%%pid %s (role %s, application stranger, %% holds %s on postrider.%%',
                s.pid, s.usename, l.mode))),
        h.details
    from postrider.health_check() h
    left join pg_stat_activity s
        on s.pid = any ($1)
        and exists (
            select
            from pg_locks l
            join pg_class c on c.oid = l.relation and c.relnamespace = 'postrider'::regnamespace
            where l.pid = s.pid
            and l.granted
            and l.mode <> 'AccessShareLock')
    where h.component = 'locks'
    group by h.details";

impl Scene {
    pub async fn open(binary: &Path, lease: Duration, dice: fastrand::Rng) -> Result<Scene> {
        let options = Options { max_connections: 900, ..Options::default() };
        let postgres = PrivatePostgres::start(options.set("max_locks_per_transaction", 256))?;
        postgres.create_database(DATABASE).await?;
        let url = postgres.url_for(DATABASE);
        install(binary, &url)?;
        let owner = connect(&url).await?;
        let good = Receiver::start(Behaviour::Status(200))?;
        let held = Receiver::start(Behaviour::Status(400))?;
        let late = Behaviour::Delay { wait: BURST_WAIT, then: Box::new(Behaviour::Status(200)) };
        let burst = Receiver::start(late)?;
        let failing = Receiver::start(Behaviour::custom(refuse))?;
        let setup = SETUP
            .replace("{lease}", &lease.as_secs().to_string())
            .replace("{good}", &good.url())
            .replace("{held}", &held.url())
            .replace("{burst}", &burst.url())
            .replace("{failing}", &failing.url());
        owner.batch_execute(&setup).await?;
        let mut scene = Scene {
            postgres,
            binary: binary.to_owned(),
            url,
            owner,
            good,
            held,
            burst,
            bursts: 0,
            failing,
            refused: 0,
            left_behind: None,
            lease,
            dispatchers: Vec::new(),
            kills: Vec::new(),
            sent: 0,
            events: 0,
            read: 0,
            tenures: Vec::new(),
            dice,
        };
        for _ in 0..DISPATCHERS {
            scene.start_dispatcher(PATIENCE).await?;
        }
        scene.prepare().await?;
        scene.ended_tenures().await?;
        Ok(scene)
    }

    /// One more, which has shards.
    async fn start_dispatcher(&mut self, patience: Duration) -> Result<()> {
        let dispatcher = Dispatcher::start(&DispatcherOptions::serve(&self.binary, &self.url))?;
        dispatcher.wait_for_log("shards acquired", patience).await?;
        self.dispatchers.push(dispatcher);
        Ok(())
    }

    /// Dead letters, waiting messages, a parked one, executions in every state, a job.
    async fn prepare(&mut self) -> Result<()> {
        let fail = format!(
            "select postrider.send('held', to_jsonb(n)) from generate_series(1, {REJECTED}) n;
            select postrider.publish('held', '{{}}') from generate_series(1, 5)"
        );
        self.owner.batch_execute(&fail).await?;
        let letters = "select count(*) >= 25 from postrider.dead_letter";
        self.wait_for("dead letters", letters).await?;
        self.owner.batch_execute(WAIT).await?;
        let first = "select exists (
            select from postrider.deferred d where d.ordering_key = 'scheduled' and not d.is_blocked)";
        self.wait_for("the first of an ordering key", first).await?;
        // The job has a rate at which it does not end before we do.
        self.owner
            .batch_execute(
                "select postrider.create_replay(
                    'held', now() - interval '1 hour', now() + interval '1 hour', p_rate => 1)",
            )
            .await?;
        self.owner.execute("select postrider.tick()", &[]).await?;
        self.wait_for(
            "something to park",
            "select exists (select from postrider.peek_messages('held'))",
        )
        .await?;
        self.owner
            .batch_execute(
                "begin;
                select postrider.park_message('held', (
                    select min(m.position) from postrider.fetch_messages('held', 3) m), 1, 'no reason');
                commit",
            )
            .await?;
        let start = "with taken as materialized (
                select t.execution_id, t.fence
                from postrider.worker w
                cross join postrider.take_executions(w.id, 3) t
                where w.name = 'held'
            ), first as (
                select t.execution_id, t.fence from taken t order by t.execution_id limit 2
            )
            select s.execution_id, s.fence
            from first f
            cross join postrider.start_execution(f.execution_id, f.fence) s";
        let started = self.owner.query(start, &[]).await?;
        let failed = started.first().context("no execution was started")?;
        let (execution, fence): (i64, i64) = (failed.get(0), failed.get(1));
        self.owner
            .execute(
                "select postrider.fail_execution($1, $2, 'permanent_error')",
                &[&execution, &fence],
            )
            .await?;
        Ok(())
    }

    /// Everything that has nothing to do with strangers, once: what took how long.
    pub async fn go_on(&mut self, client: &Client) -> Result<Round> {
        let buffers = self.buffers().await?;
        let requests = self.failing.request_count();
        let mut times = Vec::new();
        let mut began = Instant::now();
        let mut took = |what: &'static str, time: Option<Duration>| {
            times.push((what, time.unwrap_or_else(|| began.elapsed())));
            began = Instant::now();
        };
        self.send(client).await?;
        let passing = self.send_refused(client).await?;
        took("send", None);
        self.good.wait_for_accepted(self.sent, PATIENCE).await.context("deliveries to `good`")?;
        took("deliver", None);
        let lend = self.lend(client).await?;
        took("lend", Some(lend));
        tokio::time::timeout(PATIENCE, self.read(client))
            .await
            .context("the consumer `good`")??;
        took("consume", None);
        tokio::time::timeout(PATIENCE, execute(client)).await.context("executions of `good`")??;
        took("execute", None);
        let cancel = "select postrider.cancel_message(postrider.send_with_options(
            'good', '{}', p_scheduled_at => now() + interval '1 day'))";
        tokio::time::timeout(PATIENCE, client.execute(cancel, &[]))
            .await
            .context("cancelling")??;
        took("cancel", None);
        let health = "select count(*) from postrider.health_check()";
        tokio::time::timeout(PATIENCE, self.owner.execute(health, &[]))
            .await
            .context("health")??;
        took("health", None);
        // Their second is over by now, mostly.
        until("what `failing` has refused once is accepted", PATIENCE, || async {
            Ok(self.failing.with_requests(|all| {
                let accepted = all[requests..].iter().filter(|request| request.is_accepted());
                let accepted: HashSet<_> = accepted.filter_map(|request| request.id).collect();
                passing.is_subset(&accepted)
            }))
        })
        .await?;
        took("retry", None);
        let buffers = self.buffers().await? - buffers;
        Ok(Round { times, buffers })
    }

    async fn buffers(&self) -> Result<i64> {
        Ok(self.owner.query_one(BUFFERS, &[]).await?.get(0))
    }

    async fn send(&mut self, client: &Client) -> Result<()> {
        for n in 0..SENDS {
            let key = (n % 4 == 0).then_some("good");
            let send = "select postrider.send_with_options(
                'good', to_jsonb($1::bigint), p_ordering_key => $2)";
            client.execute(send, &[&(n as i64), &key]).await?;
        }
        for _ in 0..EVENTS {
            client.execute("select postrider.publish('good', '{}')", &[]).await?;
        }
        self.sent += SENDS + EVENTS;
        self.events += EVENTS;
        Ok(())
    }

    /// To `failing`: what is to be refused once, and as much as has been accepted of what it refuses for long. Each of
    /// another shard.
    async fn send_refused(&mut self, client: &Client) -> Result<HashSet<MessageId>> {
        let send = "select postrider.send('failing', jsonb_build_object('refusals', $1::bigint))";
        let waiting = client.query(REFUSED, &[]).await?.len();
        for _ in waiting..STAYING {
            client.execute(SKIP, &[]).await?;
            client.execute(send, &[&self.dice.i64(REFUSALS)]).await?;
            self.refused += 1;
        }
        let mut passing = HashSet::new();
        for _ in 0..PASSING {
            client.execute(SKIP, &[]).await?;
            passing.insert(MessageId(client.query_one(send, &[&1_i64]).await?.get(0)));
            self.refused += 1;
        }
        Ok(passing)
    }

    /// Nothing is held any more: of what waits for `failing` now all has to go on.
    pub async fn note_waiting(&mut self) -> Result<()> {
        let at = Instant::now();
        let requests = self.failing.request_count();
        let rows = self.owner.query(REFUSED, &[]).await?;
        let ids = rows.iter().map(|row| MessageId(row.get(0))).collect();
        self.left_behind = Some(LeftBehind { at, requests, ids });
        Ok(())
    }

    /// Everything that has nothing to do with strangers, once, and what had waited for `failing` before.
    pub async fn go_on_with_all(&mut self, client: &Client) -> Result<Round> {
        let mut round = self.go_on(client).await?;
        round.times.push(("resume", self.resume().await?));
        Ok(round)
    }

    /// Each delivery that waited for `failing` when nothing was held any more has been attempted since: how long that
    /// took. One that was accepted before then has only to be recorded.
    async fn resume(&mut self) -> Result<Duration> {
        let behind = self.left_behind.take().context("nobody has noted what waits")?;
        let attempts = || self.failing.with_requests(|all| behind.attempts(all));
        let left = || {
            let attempted: HashSet<_> = attempts().into_keys().collect();
            behind.ids.difference(&attempted).copied().collect::<Vec<_>>()
        };
        let ended = until("all is attempted", PATIENCE, || async { Ok(left().is_empty()) }).await;
        ended.with_context(|| {
            format!("of {} that waited, {:?} were not attempted", behind.ids.len(), left())
        })?;
        let last = attempts().into_values().max();
        Ok(last.map_or(Duration::ZERO, |at| at.saturating_duration_since(behind.at)))
    }

    /// Bursts that one dispatcher has, until the other one has lent it places: how long that burst took. On a slow machine a burst may be over before places are lent.
    async fn lend(&mut self, client: &Client) -> Result<Duration> {
        let mut peaks = Vec::new();
        for _ in 0..BURSTS {
            let began = Instant::now();
            let peak = self.burst(client).await?;
            if peak > PLACES / DISPATCHERS + 1 {
                return Ok(began.elapsed());
            }
            peaks.push(peak);
        }
        bail!("bursts had {peaks:?} of {PLACES} places: nobody has lent them any")
    }

    /// A burst that one dispatcher has: how many places it had.
    async fn burst(&mut self, client: &Client) -> Result<usize> {
        client.execute(SKIP, &[]).await?;
        self.burst.forget_peak();
        let send = format!(
            "select postrider.send_batch('burst', array_agg(to_jsonb(n)))
            from generate_series(1, {BURST}) n"
        );
        client.execute(&send, &[]).await?;
        self.bursts += 1;
        let wait = self.burst.wait_for_accepted(self.bursts * BURST, PATIENCE);
        wait.await.context("deliveries to `burst`")?;
        Ok(self.burst.in_flight_peak())
    }

    async fn read(&mut self, client: &Client) -> Result<()> {
        while self.read < self.events {
            client.execute("select postrider.tick()", &[]).await?;
            client.batch_execute("begin").await?;
            let fetch = "select position from postrider.fetch_messages('good', 100)";
            let rows = client.query(fetch, &[]).await?;
            if let Some(last) = rows.last() {
                let position: i64 = last.get(0);
                client.execute("select postrider.acknowledge('good', $1)", &[&position]).await?;
            }
            client.batch_execute("commit").await?;
            self.read += rows.len();
        }
        Ok(())
    }

    /// A dump and a migration that has nothing to change, at the same time.
    pub async fn look_after(&self) -> Result<()> {
        let mut dump = tokio::process::Command::new(self.postgres.bin_dir().join("pg_dump"));
        dump.args(["--schema=postrider", "--file=/dev/null", "-d", &self.url]);
        let mut migrate = tokio::process::Command::new(&self.binary);
        migrate.arg("migrate").env("DATABASE_URL", &self.url);
        let (dump, migrate) = tokio::try_join!(
            async { tokio::time::timeout(PATIENCE, dump.output()).await.context("pg_dump") },
            async { tokio::time::timeout(PATIENCE, migrate.output()).await.context("migrate") }
        )?;
        for output in [dump?, migrate?] {
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// `health_check` says who holds what of ours: session, role and lock, of three at once.
    pub async fn are_named(&self, holders: &[i32]) -> Result<()> {
        let row = self.owner.query_one(NAMED, &[&holders]).await?;
        let (held, named): (i64, i64) = (row.get(0), row.get(1));
        let details: String = row.get(2);
        // A vacuum has no role; it may be one of the three.
        let vacuums = details.matches(" (active, for ").count() as i64;
        ensure!(
            named + vacuums >= held.min(3),
            "health names {named} of {held} strangers: {details}"
        );
        Ok(())
    }

    /// The worker whose rows strangers hold lives on, as soon as they let it.
    pub async fn keep_worker(&self) -> Result<()> {
        self.owner.execute(HEARTBEAT, &[&"held"]).await?;
        Ok(())
    }

    /// Kills a dispatcher that has a delivery to `failing` in hand, and starts another one. Returns when all shards of
    /// the dead one belong to others, and each has some.
    ///
    /// # Errors
    ///
    /// When that does not come about, or the other one's tenure ends, too.
    pub async fn replace_dispatcher(&mut self) -> Result<()> {
        let patience = self.lease + PATIENCE;
        let deadline = Instant::now() + PATIENCE;
        let busy = loop {
            if let Some(row) = self.owner.query_opt(BUSY, &[]).await? {
                break row;
            }
            ensure!(Instant::now() < deadline, "nothing of `failing` is in hand");
            tokio::time::sleep(LOOK).await;
        };
        let (pid, id): (i32, String) = (busy.get(0), busy.get(1));
        let place = self.dispatchers.iter().position(|one| i64::from(one.pid()) == i64::from(pid));
        let dead = self.dispatchers.swap_remove(place.context("it is none of ours")?);
        self.kills.push(Instant::now());
        dead.sigkill();
        dead.wait(PATIENCE).await?;
        self.start_dispatcher(patience).await?;
        let count = DISPATCHERS as i64;
        until("all of a dead dispatcher's is taken over", patience, || async {
            Ok(self.owner.query_one(TAKEN_OVER, &[&id, &count]).await?.get(0))
        })
        .await?;
        let now = self.living().await?;
        let before = std::mem::replace(&mut self.tenures, now);
        let is_there = |one: &String| *one == id || self.tenures.contains(one);
        ensure!(
            self.tenures.len() == DISPATCHERS && before.iter().all(is_there),
            "tenures ended when {id} was killed: {before:?} became {:?}",
            self.tenures
        );
        Ok(())
    }

    async fn living(&self) -> Result<Vec<String>> {
        Ok(self.owner.query(LIVING, &[]).await?.iter().map(|row| row.get(0)).collect())
    }

    /// Says so when other dispatchers live than the last time: a tenure has ended.
    pub async fn ended_tenures(&mut self) -> Result<Option<String>> {
        let now = self.living().await?;
        let before = std::mem::replace(&mut self.tenures, now);
        let now = &self.tenures;
        Ok((before != *now).then(|| format!("tenures ended: {before:?} became {now:?}")))
    }

    /// Lets go what waited all the time: all of it arrives, and nothing that arrived came twice.
    pub async fn drain(&mut self) -> Result<()> {
        self.held.set_behaviour(Behaviour::Status(200));
        let waiting: i64 = self
            .owner
            .query_one(
                "select count(*) from postrider.queue q
                where q.endpoint_name = 'held'
                and (q.scheduled_at is null or q.scheduled_at <= now())",
                &[],
            )
            .await?
            .get(0);
        ensure!(waiting >= 40, "{waiting} messages wait for `held`");
        self.owner.execute("select postrider.resume_endpoint('held')", &[]).await?;
        self.held
            .wait_for_accepted(waiting as usize, PATIENCE)
            .await
            .context("the backlog of `held`")?;
        self.failing.set_behaviour(Behaviour::Status(200));
        self.failing
            .wait_for_accepted(self.refused, PATIENCE)
            .await
            .context("what waits for `failing`")?;
        let late = self.lease / LATE_OF_LEASE;
        for (name, receiver) in [
            ("good", &self.good),
            ("held", &self.held),
            ("burst", &self.burst),
            ("failing", &self.failing),
        ] {
            let again = receiver.with_requests(|requests| came_again(requests, &self.kills, late));
            ensure!(again.is_empty(), "{name}: came again without a cause: {again:?}");
        }
        for dispatcher in &self.dispatchers {
            dispatcher.stop(PATIENCE).await?;
        }
        Ok(())
    }

    async fn wait_for(&self, what: &str, sql: &str) -> Result<()> {
        until(what, PATIENCE, || async { Ok(self.owner.query_one(sql, &[]).await?.get(0)) }).await
    }

    /// A connection of an application that has nothing to do with strangers.
    pub async fn bystander(&self) -> Result<Client> {
        let client = connect(&self.url).await?;
        client.batch_execute("set application_name = 'bystander'").await?;
        Ok(client)
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }
}

/// Refuses each message as often as it says.
fn refuse(arrival: &Arrival<'_>) -> Answer {
    let payload: serde_json::Value = serde_json::from_slice(arrival.body).unwrap_or_default();
    let refusals = payload["refusals"].as_u64().unwrap_or_default();
    let status = if u64::from(arrival.earlier_count) < refusals { 503 } else { 200 };
    Answer { delay: REFUSAL_WAIT, ..Answer::status(status) }
}

/// Messages that came again after they had been accepted, or with the number of an attempt that had come. Who was
/// killed between the two is the only cause: it had not recorded yet what became of the first.
fn came_again(requests: &[Request], kills: &[Instant], late: Duration) -> Vec<MessageId> {
    let mut last: HashMap<MessageId, &Request> = HashMap::new();
    let mut again = Vec::new();
    for request in requests {
        let Some(id) = request.id else { continue };
        let Some(before) = last.insert(id, request) else { continue };
        let is_again = before.is_accepted() || request.attempt <= before.attempt;
        let has_cause = kills.iter().any(|at| before.at <= *at + late && *at <= request.at);
        if is_again && !has_cause {
            again.push(id);
        }
    }
    again
}

async fn execute(client: &Client) -> Result<()> {
    let submit = "select postrider.submit_execution('good', p_pool => 'good')";
    client.execute(submit, &[]).await?;
    client.execute(HEARTBEAT, &[&"good"]).await?;
    loop {
        let take = "select t.execution_id, t.fence
            from postrider.worker w
            cross join postrider.take_executions(w.id, 1) t
            where w.name = 'good'";
        let Some(row) = client.query_opt(take, &[]).await? else { continue };
        let (execution, fence): (i64, i64) = (row.get(0), row.get(1));
        let start = "select s.fence from postrider.start_execution($1, $2) s";
        let fence: i64 = client.query_one(start, &[&execution, &fence]).await?.get(0);
        let complete = "select postrider.complete_execution($1, $2)";
        client.execute(complete, &[&execution, &fence]).await?;
        return Ok(());
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn request(id: i64, attempt: u32, status: u16, at: Instant) -> Request {
        Request {
            id: Some(MessageId(id)),
            attempt,
            path: "/".to_owned(),
            at,
            wall_clock_at: SystemTime::now(),
            status: Some(status),
            delay: Duration::ZERO,
            body: Default::default(),
            headers: Default::default(),
        }
    }

    #[test]
    fn what_comes_again_needs_a_kill_between_the_two() {
        let at = |seconds| Instant::now() + Duration::from_secs(seconds);
        let (first, second, third) = (at(10), at(20), at(30));
        let retried = [request(1, 1, 503, first), request(1, 2, 200, second)];
        let came_again = |requests: &[Request], kills: &[Instant]| {
            super::came_again(requests, kills, Duration::from_secs(1))
        };
        assert!(came_again(&retried, &[]).is_empty());
        let accepted_twice = [request(1, 1, 200, first), request(1, 2, 200, second)];
        let attempted_twice = [request(1, 2, 503, first), request(1, 2, 200, second)];
        for requests in [accepted_twice, attempted_twice] {
            assert_eq!(came_again(&requests, &[]), [MessageId(1)]);
            assert_eq!(came_again(&requests, &[third]), [MessageId(1)], "killed afterwards");
            assert_eq!(came_again(&requests, &[at(5)]), [MessageId(1)], "killed before");
            assert!(came_again(&requests, &[at(15)]).is_empty());
        }
    }
}
