//! What the functions of fleets do, against a machine in memory that decides the same (`fleet_model/model.rs`): random
//! histories of calls, and after each one the same answer and the same state. Functions that decide wrongly are found.

mod model;

use std::{collections::BTreeMap, fmt::Write as _};

use crate::shop::{Shop, executing::answer};
use model::{
    Action, Answer, Call, Chosen, Ended, Fleet, Letter, Live, Moment, NEW_FENCE, Order, Worker,
};
use serde::Deserialize;
use tokio_postgres::{Client, Statement};

const NAMES: [&str; 4] = ["w1", "w2", "w3", "w4"];
const POOLS: [&str; 2] = ["default", "other"];
const ACTIONS: [&str; 3] = ["free", "one", "two"];
const REASONS: [&str; 4] = ["transient_error", "transient_error", "permanent_error", "own_word"];
/// No more lives at a time: the more there is, the less often two calls are about the same.
const MOST_LIVE: usize = 12;
/// Whether a time had come before a call or after it, nobody can tell when the machine stood still between them.
const LONGEST_CALL_US: i64 = 200_000;
const STALE_AFTER: i64 = 12;
const CANCEL_TIMEOUT: i64 = 8;

const OPEN: &str = "
    create function public.us(timestamptz) returns bigint
    immutable language sql as $$ select (extract(epoch from $1) * 1000000)::bigint $$;
    select
        postrider.set_setting('worker_heartbeat_interval', '4'),
        postrider.set_setting('worker_stale_after', '12'),
        postrider.set_setting('cancel_timeout', '8')";

const CLEAR: &str = "
    truncate postrider.live_execution, postrider.worker, postrider.worker_lock, postrider.execution,
        postrider.execution_end, postrider.execution_dead_letter, postrider.action, postrider.action_slot";

/// `{after}`: the last end, letter and order that are known.
const STATE: &str = "
    select jsonb_build_object(
        'at', public.us(clock_timestamp()),
        'fails_when_lost', postrider.get_setting('stale_worker_policy') = 'fail',
        'workers', (select coalesce(jsonb_agg(to_jsonb(w)), '[]') from (
            select
                w.id, w.name, w.pool, w.status, w.cordoned_at is not null as is_cordoned, w.capacity, w.epoch,
                public.us(w.heartbeat_at) as heartbeat_at, w.health, w.failure_streak, w.failure_rate,
                w.queue_depth
            from postrider.worker w) w),
        'actions', (select coalesce(jsonb_agg(to_jsonb(a)), '[]') from (
            select a.name, a.concurrency, (
                select count(*) from postrider.action_slot s where s.action_id = a.id) as slots
            from postrider.action a) a),
        'live', (select coalesce(jsonb_agg(to_jsonb(l)), '[]') from (
            select
                l.id, l.action, l.queue, l.pool, l.status, l.is_delayed, l.priority, l.attempt, l.max_retries,
                l.retry_reason, l.fence, l.worker_id, l.worker_epoch, l.slot, l.ttl_ms, l.timeout_ms,
                public.us(l.requested_at) as requested_at, public.us(l.started_at) as started_at,
                public.us(l.expires_at) as expires_at, public.us(l.deadline_at) as deadline_at,
                l.cancel_requested_at is not null as is_to_be_cancelled, public.us(l.due_at) as due_at
            from postrider.live_execution l) l),
        'orders', (select coalesce(jsonb_agg(to_jsonb(o) order by o.id), '[]') from (
            select
                e.id, e.action, e.worker_id, e.pool, e.priority, e.ttl_ms, e.timeout_ms, e.max_retries,
                e.original_execution is not null as is_repeated
            from postrider.execution e where e.id > $1) o),
        'ended', (select coalesce(jsonb_agg(to_jsonb(f) order by f.id), '[]') from (
            select
                f.id, f.execution_id, f.attempt, f.is_final, f.status, f.reason, f.retry_reason, f.worker_id,
                f.started_at is not null as was_started, public.us(f.ended_at) as ended_at
            from postrider.execution_end f
            order by f.id offset $2) f),
        'letters', (select coalesce(jsonb_agg(to_jsonb(d)), '[]') from (
            select d.execution_id, d.attempt, d.outcome, d.worker_id
            from postrider.execution_dead_letter d
            order by d.id offset $3) d))::text";

/// Time passes: everything that is on record was so much earlier.
const PASS: &str = "
    update postrider.worker w set heartbeat_at = w.heartbeat_at - {time} where w.heartbeat_at is not null;
    update postrider.live_execution l
    set requested_at = l.requested_at - {time},
        scheduled_at = l.scheduled_at - {time},
        started_at = l.started_at - {time},
        expires_at = l.expires_at - {time},
        deadline_at = l.deadline_at - {time},
        cancel_requested_at = l.cancel_requested_at - {time},
        due_at = l.due_at - {time};
    update postrider.execution_end f set ended_at = f.ended_at - {time}";

/// What is read after a call.
#[derive(Deserialize)]
struct Read {
    at: i64,
    fails_when_lost: bool,
    workers: Vec<Worker>,
    actions: Vec<Action>,
    live: Vec<Live>,
    orders: Vec<Order>,
    ended: Vec<Ended>,
    letters: Vec<Letter>,
}

/// One history, as far as it has come.
struct History<'a> {
    client: &'a Client,
    state: Statement,
    dice: fastrand::Rng,
    fleet: Fleet,
    /// When the database was read.
    at: i64,
    /// Every fence that was ever given out.
    fences: BTreeMap<i64, Vec<i64>>,
    told: Vec<String>,
    judged: usize,
}

impl History<'_> {
    async fn open(client: &Client, seed: u64) -> History<'_> {
        client.batch_execute(CLEAR).await.unwrap();
        let state = client.prepare(STATE).await.unwrap();
        let fleet =
            Fleet { stale_after: STALE_AFTER, cancel_timeout: CANCEL_TIMEOUT, ..Fleet::default() };
        let dice = fastrand::Rng::with_seed(seed);
        let (fences, told) = (BTreeMap::new(), Vec::new());
        let mut history = History { client, state, dice, fleet, at: 0, fences, told, judged: 0 };
        (history.fleet, history.at) = history.read().await;
        history
    }

    /// The state as it is on record.
    async fn read(&self) -> (Fleet, i64) {
        let newest = self.fleet.orders.last_key_value().map_or(0, |(id, _)| *id);
        let known = [newest, self.fleet.ended.len() as i64, self.fleet.letters.len() as i64];
        let row =
            self.client.query_one(&self.state, &[&known[0], &known[1], &known[2]]).await.unwrap();
        let read: Read = serde_json::from_str(row.get(0)).unwrap();
        let mut fleet = Fleet { fails_when_lost: read.fails_when_lost, ..self.fleet.clone() };
        fleet.workers = read.workers.into_iter().map(|worker| (worker.id, worker)).collect();
        fleet.actions = read.actions.into_iter().map(|a| (a.name.clone(), a)).collect();
        fleet.live = read.live.into_iter().map(|live| (live.id, live)).collect();
        fleet.orders.extend(read.orders.into_iter().map(|order| (order.id, order)));
        fleet.ended.extend(read.ended);
        fleet.letters.extend(read.letters);
        (fleet, read.at)
    }

    async fn pass(&mut self, seconds: f64) {
        self.told.push(format!("{seconds:.2} s pass"));
        let time = format!("interval '{seconds} seconds'");
        self.client.batch_execute(&PASS.replace("{time}", &time)).await.unwrap();
        let by = (seconds * 1_000_000.0).round() as i64;
        for ended in &mut self.fleet.ended {
            ended.ended_at = Moment::from(ended.ended_at.earliest - by);
        }
        (self.fleet, self.at) = self.read().await;
    }

    /// One call, or a while in which nothing happens. What differs from what was to come.
    async fn step(&mut self) -> Option<String> {
        if self.dice.u8(..8) == 0 {
            let seconds = [0.3, 0.3, 1.5, 1.5, 4.0, 12.0][self.dice.usize(..6)] + self.dice.f64();
            self.pass(f64::from((seconds * 1_000.0) as i32) / 1_000.0).await;
        }
        let call = self.call();
        let said = self.make(&call).await;
        let before = self.at;
        let (actual, after) = self.read().await;
        self.told.push(format!("{call:?}: {said:?}"));
        let (newest, known) = (self.newest_fence(), Known::of(&self.fleet));
        let chosen = Chosen {
            workers: actual.workers.values().map(|w| (w.name.clone(), w.id)).collect(),
            execution: said.as_ref().ok().and_then(|id| id.parse().ok()).unwrap_or(0),
        };
        let judge = |at: i64| {
            let mut fleet = self.fleet.clone();
            let answer = fleet.apply(&call, at, &chosen);
            let mut wrong = differences(&fleet, &actual, known, after - before, newest);
            if !is_same(&answer, &said) {
                wrong.push(format!("says {said:?}, not {answer:?}"));
            }
            (wrong, shape(&fleet, known, &answer))
        };
        let early = judge(before);
        let late = if early.0.is_empty() { None } else { Some(judge(after)) };
        // Whether something was due already, or not yet, is not to be told then.
        let is_clear =
            after - before < LONGEST_CALL_US && late.as_ref().is_some_and(|late| early.1 == late.1);
        (self.fleet, self.at) = (actual, after);
        for live in self.fleet.live.values() {
            let fences = self.fences.entry(live.id).or_default();
            if fences.last() != Some(&live.fence) {
                fences.push(live.fence);
            }
        }
        if late.is_none_or(|late| late.0.is_empty()) {
            self.judged += 1;
            return None;
        }
        is_clear.then(|| {
            let mut text = String::new();
            let from = self.told.len().saturating_sub(12);
            for line in self.told[from..].iter().chain(&early.0) {
                writeln!(text, "  {line}").unwrap();
            }
            text
        })
    }

    fn newest_fence(&self) -> i64 {
        self.fences.values().flatten().max().copied().unwrap_or(0)
    }

    // Calls ---------------------------------------------------------------------------------------

    fn call(&mut self) -> Call {
        let has_room = self.fleet.live.len() < MOST_LIVE;
        match self.dice.u8(..100) {
            0..4 => self.register(),
            4..18 => {
                let (worker, epoch) = self.worker();
                Call::Heartbeat { worker, epoch, has_error: self.dice.u8(..8) == 0 }
            }
            18..21 => {
                let (worker, epoch) = self.worker();
                Call::Deregister { worker, epoch }
            }
            21..23 => Call::DropWorker { name: self.name() },
            23..25 => Call::Cordon { name: self.name(), is_cordoned: self.dice.u8(..3) == 0 },
            25..42 if has_room => self.submit(),
            25..58 => {
                let (worker, epoch) = self.worker();
                Call::Take { worker, limit: self.dice.i64(1..4), epoch }
            }
            58..70 => {
                let (id, fence) = self.execution("scheduled");
                let of = self.fleet.live.get(&id).and_then(|live| live.worker_epoch);
                let epoch = match self.dice.u8(..4) {
                    0 => None,
                    1 => of.map(|epoch| epoch - 1),
                    _ => of,
                };
                Call::Start { id, fence, epoch }
            }
            70..73 => {
                let (id, fence) = self.execution("running");
                Call::Extend { id, fence, seconds: self.dice.i64(1..12) }
            }
            73..78 => {
                let (id, fence) = self.execution("running");
                Call::Complete { id, fence }
            }
            78..84 => {
                let (id, fence) = self.execution("running");
                Call::Fail { id, fence, reason: REASONS[self.dice.usize(..REASONS.len())] }
            }
            84..89 => {
                let (id, fence) = self.execution("running");
                Call::Release { id, fence }
            }
            89..93 => Call::Cancel { id: self.execution("running").0 },
            93 => Call::Retry { id: self.execution("ended").0 },
            94 => Call::SetAction {
                name: ACTIONS[self.dice.usize(..3)].to_owned(),
                concurrency: [None, Some(1), Some(2), Some(3)][self.dice.usize(..4)],
            },
            95 => Call::SetPolicy { fails_when_lost: self.dice.bool() },
            96..98 => Call::CheckWorkers,
            _ => Call::CheckExecutions,
        }
    }

    fn name(&mut self) -> String {
        NAMES[self.dice.usize(..NAMES.len())].to_owned()
    }

    fn pool(&mut self) -> String {
        POOLS[usize::from(self.dice.u8(..4) == 0)].to_owned()
    }

    fn register(&mut self) -> Call {
        let (name, pool) = (self.name(), self.pool());
        Call::Register { name, pool, capacity: self.dice.i64(1..4) }
    }

    /// One that lives mostly, and its present epoch mostly, or none, or the one before.
    fn worker(&mut self) -> (i32, Option<i32>) {
        let is_wanted = self.dice.u8(..10) > 0;
        let lives = |worker: &&Worker| worker.status != "inactive" || !is_wanted;
        let known: Vec<&Worker> = self.fleet.workers.values().filter(lives).collect();
        if known.is_empty() || self.dice.u8(..60) == 0 {
            return (1_000_000, None);
        }
        let worker = known[self.dice.usize(..known.len())];
        let (id, epoch) = (worker.id, worker.epoch);
        match self.dice.u8(..10) {
            0 => (id, Some(epoch - 1)),
            1..4 => (id, None),
            _ => (id, Some(epoch)),
        }
    }

    /// One that has this status mostly, with its last fence mostly.
    fn execution(&mut self, status: &str) -> (i64, i64) {
        let is_other = self.dice.u8(..8) == 0;
        // What is to be cancelled is rare.
        let is_rare = self.dice.bool();
        let of_status: Vec<&Live> =
            self.fleet.live.values().filter(|live| (live.status == status) != is_other).collect();
        let rare: Vec<i64> =
            of_status.iter().filter(|l| l.is_to_be_cancelled && is_rare).map(|l| l.id).collect();
        let of_status =
            if rare.is_empty() { of_status.iter().map(|live| live.id).collect() } else { rare };
        let any: Vec<i64> = self.fleet.orders.keys().copied().collect();
        let id = match self.dice.u8(..8) {
            1.. if !of_status.is_empty() => of_status[self.dice.usize(..of_status.len())],
            _ if !any.is_empty() => any[self.dice.usize(..any.len())],
            _ => 1_000_000_000,
        };
        let fences = self.fences.get(&id).map_or(&[][..], |fences| fences);
        let fence = match (fences, self.dice.u8(..6)) {
            ([], _) => 0,
            (fences, 0) => fences[self.dice.usize(..fences.len())],
            ([.., last], _) => *last,
        };
        (id, fence)
    }

    fn submit(&mut self) -> Call {
        let worker = (self.dice.u8(..3) == 0).then(|| self.name());
        let pool = (worker.is_none() || self.dice.bool()).then(|| self.pool());
        let order = Order {
            id: 0,
            action: ACTIONS[self.dice.usize(..3)].to_owned(),
            worker_id: None,
            pool,
            priority: self.dice.i32(0..3),
            ttl_ms: self.dice.i64(1..9) * 3_000,
            timeout_ms: self.dice.i64(1..9) * 3_000,
            max_retries: self.dice.i32(0..4),
            is_repeated: false,
        };
        Call::Submit { order, worker }
    }

    async fn make(&self, call: &Call) -> Result<String, String> {
        let said = answer(self.client, &sql_of(call)).await;
        // A SQLSTATE stands for itself.
        if said.len() == 5 && said.ends_with("000") || said == "42704" {
            Err(said)
        } else {
            Ok(said)
        }
    }
}

fn or_null<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "null".to_owned(), |value| format!("'{}'", value.to_string()))
}

fn sql_of(call: &Call) -> String {
    let truth = |call: String| {
        format!(
            "select case t when true then 'true' when false then 'false' else 'null' end from postrider.{call} t"
        )
    };
    match call {
        Call::Register { name, pool, capacity } => format!(
            "select worker_id || ' ' || epoch from postrider.register_worker('{name}', '{pool}', {capacity})"
        ),
        Call::Heartbeat { worker, epoch, has_error } => format!(
            "select coalesce(string_agg(execution_id::text, ' ' order by execution_id), 'nothing')
            from postrider.worker_heartbeat({worker}, {}, {})",
            or_null(epoch),
            if *has_error { "'out of paper'" } else { "null" }
        ),
        Call::Deregister { worker, epoch } => {
            truth(format!("deregister_worker({worker}, {})", or_null(epoch)))
        }
        Call::DropWorker { name } => {
            format!("select coalesce(nullif(postrider.drop_worker('{name}')::text, ''), 'null')")
        }
        Call::Cordon { name, is_cordoned: true } => truth(format!("cordon_worker('{name}')")),
        Call::Cordon { name, is_cordoned: false } => truth(format!("uncordon_worker('{name}')")),
        Call::Submit { order, worker } => format!(
            "select postrider.submit_execution('{}', '{{}}', {}, {}, '{} ms', '{} ms', {}, {})",
            order.action,
            or_null(worker),
            or_null(&order.pool),
            order.ttl_ms,
            order.timeout_ms,
            order.priority,
            order.max_retries
        ),
        Call::Take { worker, limit, epoch } => format!(
            "select coalesce(string_agg(
                execution_id || '/' || attempt || '/' || priority, ' '
                order by priority desc, execution_id), 'nothing')
            from postrider.take_executions({worker}, {limit}, null, {})",
            or_null(epoch)
        ),
        Call::Start { id, fence, epoch } => format!(
            "select execution_id || '/' || attempt from postrider.start_execution({id}, {fence}, {})",
            or_null(epoch)
        ),
        Call::Extend { id, fence, seconds } => {
            truth(format!("extend_execution({id}, {fence}, '{seconds} s')"))
        }
        Call::Complete { id, fence } => truth(format!("complete_execution({id}, {fence}, '1')")),
        Call::Fail { id, fence, reason } => {
            format!("select postrider.fail_execution({id}, {fence}, '{reason}')")
        }
        Call::Release { id, fence } => truth(format!("release_execution({id}, {fence})")),
        Call::Cancel { id } => format!("select postrider.cancel_execution({id})"),
        Call::Retry { id } => format!("select postrider.retry_execution({id})"),
        Call::SetAction { name, concurrency } => format!(
            "select coalesce(nullif(
                postrider.set_action('{name}', p_concurrency => {})::text, ''), 'null')",
            or_null(concurrency)
        ),
        Call::SetPolicy { fails_when_lost } => format!(
            "select postrider.set_setting('stale_worker_policy', '{}')",
            if *fails_when_lost { "fail" } else { "reroute" }
        ),
        Call::CheckWorkers => "select postrider.check_workers()".to_owned(),
        Call::CheckExecutions => "select postrider.check_executions(100)".to_owned(),
    }
}

fn is_same(answer: &Answer, said: &Result<String, String>) -> bool {
    match (answer, said) {
        (Ok(answer), Ok(said)) => answer == said,
        (Err(code), Err(said)) => code == said,
        _ => false,
    }
}

// Comparing -------------------------------------------------------------------------------------------

/// What a row has to be, and what may be anything within bounds.
struct Fields {
    text: String,
    moments: Vec<Option<Moment>>,
    fence: Option<i64>,
}

impl Fields {
    fn of_live(live: &Live) -> Fields {
        Fields {
            text: format!(
                "{} {} {} {:?} {} delayed {} priority {} attempt {} of {} {:?} worker {:?} {:?} slot {:?} {} {} cancel {}",
                live.id,
                live.action,
                live.queue,
                live.pool,
                live.status,
                live.is_delayed,
                live.priority,
                live.attempt,
                live.max_retries,
                live.retry_reason,
                live.worker_id,
                live.worker_epoch,
                live.slot,
                live.ttl_ms,
                live.timeout_ms,
                live.is_to_be_cancelled
            ),
            moments: vec![
                Some(live.requested_at),
                live.started_at,
                Some(live.expires_at),
                live.deadline_at,
                Some(live.due_at),
            ],
            fence: Some(live.fence),
        }
    }

    fn of_worker(worker: &Worker) -> Fields {
        Fields {
            text: format!(
                "{} {} {} {} cordoned {} capacity {} epoch {} {} {} {:.4} {}",
                worker.id,
                worker.name,
                worker.pool,
                worker.status,
                worker.is_cordoned,
                worker.capacity,
                worker.epoch,
                worker.health,
                worker.failure_streak,
                worker.failure_rate,
                worker.queue_depth
            ),
            moments: vec![worker.heartbeat_at],
            fence: None,
        }
    }

    fn of_end(ended: &Ended) -> Fields {
        Fields {
            text: format!(
                "{} attempt {} final {} {} {:?} {:?} worker {:?} started {}",
                ended.execution_id,
                ended.attempt,
                ended.is_final,
                ended.status,
                ended.reason,
                ended.retry_reason,
                ended.worker_id,
                ended.was_started
            ),
            moments: vec![Some(ended.ended_at)],
            fence: None,
        }
    }

    fn is_met_by(&self, actual: &Fields, slack: i64, newest_fence: i64) -> bool {
        let is_within =
            |(wanted, actual): (&Option<Moment>, &Option<Moment>)| match (wanted, actual) {
                (Some(wanted), Some(actual)) => {
                    let from = wanted.earliest - slack - 2;
                    (from..=wanted.latest + slack + 2).contains(&actual.earliest)
                }
                (None, None) => true,
                _ => false,
            };
        let is_right_fence = match (self.fence, actual.fence) {
            (Some(NEW_FENCE), Some(fence)) => fence > newest_fence,
            (wanted, fence) => wanted == fence,
        };
        self.text == actual.text
            && is_right_fence
            && self.moments.iter().zip(&actual.moments).all(is_within)
    }

    fn show(&self) -> String {
        let moment = |moment: &Option<Moment>| moment.map_or(0, |moment| moment.earliest);
        let moments: Vec<i64> = self.moments.iter().map(moment).collect();
        format!("{} at {moments:?} fence {:?}", self.text, self.fence)
    }
}

/// How much of what only grows was known before a call.
#[derive(Clone, Copy)]
struct Known {
    ends: usize,
    letters: usize,
    newest_order: i64,
}

impl Known {
    fn of(fleet: &Fleet) -> Known {
        let newest_order = fleet.orders.last_key_value().map_or(0, |(id, _)| *id);
        Known { ends: fleet.ended.len(), letters: fleet.letters.len(), newest_order }
    }
}

fn rows_of(fleet: &Fleet, known: Known) -> Vec<Fields> {
    let mut ended: Vec<Fields> = fleet.ended[known.ends..].iter().map(Fields::of_end).collect();
    // Those of one call have no order.
    ended.sort_by(|a, b| a.text.cmp(&b.text));
    let workers = fleet.workers.values().map(Fields::of_worker);
    workers.chain(fleet.live.values().map(Fields::of_live)).chain(ended).collect()
}

fn other_rows_of(fleet: &Fleet, known: Known) -> Vec<String> {
    let mut letters = fleet.letters[known.letters..].to_vec();
    letters.sort();
    let actions = fleet.actions.values().map(|action| format!("{action:?}"));
    let orders =
        fleet.orders.range(known.newest_order + 1..).map(|(_, order)| format!("{order:?}"));
    let rows = actions.chain(orders).chain(letters.iter().map(|letter| format!("{letter:?}")));
    rows.chain([fleet.fails_when_lost.to_string()]).collect()
}

fn differences(
    wanted: &Fleet,
    actual: &Fleet,
    known: Known,
    slack: i64,
    newest_fence: i64,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let (wanted_rows, actual_rows) = (rows_of(wanted, known), rows_of(actual, known));
    if wanted_rows.len() != actual_rows.len() {
        wrong.push(format!("{} rows, not {}", actual_rows.len(), wanted_rows.len()));
    }
    for (wanted, actual) in wanted_rows.iter().zip(&actual_rows) {
        if !wanted.is_met_by(actual, slack, newest_fence) {
            wrong.push(format!("is     {}", actual.show()));
            wrong.push(format!("not    {}", wanted.show()));
        }
    }
    let mut fences: Vec<i64> = actual.live.values().map(|live| live.fence).collect();
    fences.sort_unstable();
    if fences.windows(2).any(|pair| pair[0] == pair[1]) {
        wrong.push("two executions have one fence".to_owned());
    }
    let others = other_rows_of(wanted, known).into_iter().zip(other_rows_of(actual, known));
    for (wanted, actual) in others.filter(|(wanted, actual)| wanted != actual) {
        wrong.push(format!("is     {actual}"));
        wrong.push(format!("not    {wanted}"));
    }
    if wanted.orders.len() != actual.orders.len() || wanted.letters.len() != actual.letters.len() {
        wrong.push("orders or letters are missing, or too many".to_owned());
    }
    wrong
}

/// What does not depend on when exactly it was.
fn shape(fleet: &Fleet, known: Known, answer: &Answer) -> Vec<String> {
    let rows = rows_of(fleet, known).into_iter().map(|row| format!("{} {:?}", row.text, row.fence));
    rows.chain(other_rows_of(fleet, known)).chain([format!("{answer:?}")]).collect()
}

// Histories -------------------------------------------------------------------------------------------

/// Lives one history until so many calls are judged: what differs, and after how many.
async fn live(client: &Client, seed: u64, calls: usize) -> (Option<String>, usize) {
    let mut history = History::open(client, seed).await;
    while history.judged < calls {
        if let Some(wrong) = history.step().await {
            return (Some(wrong), history.judged);
        }
    }
    (None, history.judged)
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_decide_as_the_model_does() {
    let histories = if std::env::var_os("POSTRIDER_TEST_FULL").is_some() { 200 } else { 4 };
    let shop = Shop::open_migrated().await;
    shop.execute(OPEN).await;
    let client = shop.client().await;
    let first = fastrand::u64(..1_000_000);
    for seed in first..first + histories {
        let (wrong, calls) = live(&client, seed, 250).await;
        assert!(wrong.is_none(), "seed {seed}, call {calls}:\n{}", wrong.unwrap());
    }
}

/// Functions that decide wrongly: what stands in them, what instead, and the seed of a history that finds it.
const WRONG: &[(&str, &str, &str, u64)] = &[
    ("held_execution", "and l.fence = p_fence", "", 4),
    ("complete_execution", "or live.status <> 'running'", "", 0),
    ("start_execution", "and l.expires_at > clock_timestamp()", "", 2),
    ("start_execution", "and w.epoch = coalesce(p_epoch, w.epoch)", "", 0),
    ("extend_execution", "and l.cancel_requested_at is null", "", 2),
    (
        "fail_attempt",
        "p_live.attempt > p_live.max_retries",
        "p_live.attempt >= p_live.max_retries",
        0,
    ),
    (
        "fail_attempt",
        "'queue_timeout', 'worker_heartbeat_stale', ",
        "'worker_heartbeat_stale', ",
        0,
    ),
    ("fail_attempt", "p_live.cancel_requested_at is not null", "false", 1),
    ("execution_retry_delay", "2.0 ^", "4.0 ^", 0),
    ("return_execution", "was_running and p_live.cancel_requested_at is not null", "false", 5),
    ("return_execution", "case when was_running then at else l.requested_at end", "at", 0),
    ("return_execution", "case when p_to_pool then", "case when false then", 0),
    (
        "recover_worker",
        "is_failing constant boolean := is_lost and",
        "is_failing constant boolean := false and",
        0,
    ),
    ("check_workers", "epoch = w.epoch + 1", "epoch = w.epoch", 0),
    (
        "check_workers",
        "s.heartbeat_at < clock_timestamp() - stale_after",
        "s.heartbeat_at < clock_timestamp() - stale_after * 2",
        0,
    ),
    ("check_executions", "if live.is_delayed then", "if false then", 0),
    (
        "cancel_execution",
        "if live.status <> 'running' then",
        "if live.status = 'requested' then",
        0,
    ),
    ("cancel_execution", "due_at = least(", "due_at = greatest(", 1),
    (
        "schedule_executions",
        "head_start constant interval := '1 second'",
        "head_start constant interval := '1 hour'",
        5,
    ),
    ("schedule_queue", "order by c.priority desc, c.id", "order by c.id", 1),
    ("pool_workers", "w.status = 'active'", "w.status <> 'inactive'", 3),
    ("probe_worker", "r.is_failure and r.position < s.first_success", "r.is_failure", 5),
    ("worker_heartbeat", "perform postrider.return_execution(live, true);", "null;", 3),
    (
        "deregister_worker",
        "postrider.recover_worker(left_worker, null, true)",
        "postrider.recover_worker(left_worker, null, false)",
        0,
    ),
    ("expire_execution", "when 'requested' then 'retried'", "when 'requested' then 'failed'", 0),
    ("drop_worker", "if known.status <> 'inactive' then", "if false then", 8),
    ("free_slots", "and l.scheduled_at is not null", "and l.started_at is not null", 3),
];

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_decide_wrongly_are_found() {
    const MOST_HISTORIES: u64 = 40;
    let shop = Shop::open_migrated().await;
    shop.execute(OPEN).await;
    let mut missed = String::new();
    for (function, right, wrong, known) in WRONG {
        let client = shop.client().await;
        let find = format!("select pg_get_functiondef('postrider.{function}'::regproc)");
        let definition: String = client.query_one(&find, &[]).await.unwrap().get(0);
        assert!(definition.contains(right), "{function} has no {right:?}");
        client.batch_execute(&definition.replace(right, wrong)).await.unwrap();
        let mut found = None;
        // Another one after a change of the histories.
        for seed in std::iter::once(*known).chain(0..MOST_HISTORIES) {
            let (difference, calls) = live(&client, seed, 250).await;
            if difference.is_some() {
                found = Some((seed, calls));
                break;
            }
        }
        println!("{function}, {wrong:?} for {right:?}: {found:?}");
        if found.is_none() {
            writeln!(missed, "{function}: {wrong:?} for {right:?}").unwrap();
        }
        client.batch_execute(&definition).await.unwrap();
    }
    assert!(missed.is_empty(), "not found:\n{missed}");
}
