//! A dispatcher in memory, and what its driver would answer.

use std::{
    collections::BTreeMap,
    ops::ControlFlow::{self, Break, Continue},
};

use super::super::*;
use crate::{
    configuration::EndpointRow,
    flow::Flow,
    id::Edition,
    offer::Offer,
    reader::LaneState,
    results::Results,
    snapshot::Xid,
    tenure::tests::{ENDPOINT, FLOW, endpoint, heartbeat, report},
    tick::Written,
    waiting::Stored,
};

pub fn dispatcher(now: Instant) -> Dispatcher {
    let pace = Pace {
        shutdown_grace: Duration::from_secs(1),
        max_buffered_messages: 64,
        flush_interval: Duration::from_millis(5),
        poll_interval: Duration::from_millis(50),
    };
    let identity =
        Identity { id: uuid::Uuid::nil(), shard_count: 1, is_audible: true, gaps: Gaps::default() };
    let endpoints = Endpoints::new(100, 64, now);
    Dispatcher::new(pace, identity, endpoints, None, now, fastrand::Rng::with_seed(1))
}

pub fn switch(dispatcher: &mut Dispatcher, version: i64, is_enabled: bool, now: Instant) {
    edit(dispatcher, version, Edition(1), is_enabled, now);
}

/// The only endpoint is like this from now on.
pub fn edit(
    dispatcher: &mut Dispatcher,
    version: i64,
    edition: Edition,
    is_enabled: bool,
    now: Instant,
) {
    edit_flow(dispatcher, version, edition, is_enabled, FLOW, now);
}

/// The same, and so much may go to it.
pub fn edit_flow(
    dispatcher: &mut Dispatcher,
    version: i64,
    edition: Edition,
    is_enabled: bool,
    flow: Flow,
    now: Instant,
) {
    let (row, offer) = endpoint(ENDPOINT, version, flow);
    let row = EndpointRow { is_enabled, ..row };
    let offer = offer.map(|offer| Offer { edition, ..offer });
    let known = (vec![(ENDPOINT, version)], vec![(row, offer)]);
    dispatcher.take(Event::Endpoints(Ok(known)), now);
}

/// It owns the only shard, of which this is stored.
pub fn acquire(dispatcher: &mut Dispatcher, stored: Stored, now: Instant) {
    take_over(dispatcher, Owned { shard: Shard(0), epoch: 1 }, BTreeMap::new(), stored, now);
}

/// It owns the only shard, of which nobody has read anything.
pub fn own(dispatcher: &mut Dispatcher, now: Instant) {
    let owned = Owned { shard: Shard(0), epoch: 1 };
    take_over(dispatcher, owned, unread(owned.shard), Stored::default(), now);
}

/// It owns a shard, of which this is stored and whose lanes stand there.
pub fn take_over(
    dispatcher: &mut Dispatcher,
    owned: Owned,
    lanes: BTreeMap<Lane, LaneState>,
    stored: Stored,
    now: Instant,
) {
    let acquired = Acquired { owned, lanes, backlog: 0, last_owner: None, held: Vec::new() };
    dispatcher.take(Event::Acquired(Ok((vec![acquired], stored))), now);
}

/// The lanes of a shard of which nobody has read anything.
pub fn unread(shard: Shard) -> BTreeMap<Lane, LaneState> {
    shard.lanes().map(|lane| (lane, LaneState::new())).collect()
}

pub fn queries(commands: Vec<Command>) -> impl Iterator<Item = Query> {
    commands.into_iter().filter_map(|command| match command {
        Command::Ask(query) => Some(query),
        _ => None,
    })
}

/// What is attempted, and with how many retries.
pub fn attempted(commands: &[Command]) -> Vec<(MessageId, u32)> {
    let attempts = commands.iter().filter_map(|command| match command {
        Command::Attempt { deliveries, .. } => Some(deliveries),
        _ => None,
    });
    attempts.flatten().map(|delivery| (delivery.message.id, delivery.retry_count)).collect()
}

/// The answer to a claim: everything is still there as it was fetched.
pub fn claimed(query: Query) -> Option<Event> {
    claimed_as(query, |seated| (seated.retry_count, seated.message.terms.expires_at))
}

/// The same, of what waits with so many retries and until this moment by now.
pub fn claimed_as(
    query: Query,
    now: impl Fn(&Seated) -> (u32, Option<Timestamp>),
) -> Option<Event> {
    let Query::Claim { claimed, .. } = query else { return None };
    let waiting = |seated: &Seated| {
        let (retry_count, expires_at) = now(seated);
        let waits = StillWaiting { has_expired: false, is_held: false, retry_count, expires_at };
        (seated.place(), waits)
    };
    let still_waiting = claimed.iter().map(waiting).collect();
    let answer = DueClaimAnswer { still_waiting, ..DueClaimAnswer::default() };
    Some(Event::DueClaimed(claimed, Ok(answer)))
}

/// The lease is renewed: the database's time goes on as ours does.
pub fn renewed(began: Instant, now: Instant, others: &[Uuid]) -> News {
    let lease = Duration::from_secs(15);
    let others: Vec<Beat> =
        others.iter().map(|id| Beat { dispatcher: *id, seq: 1, lease }).collect();
    let now_us = (now - began).as_micros() as i64;
    let heartbeat = Heartbeat { now_us, ..heartbeat(&others) };
    News::Renewed { asked: now, answered: now, heartbeat: Box::new(heartbeat) }
}

/// A dispatcher that owns the only shard and knows the only endpoint, and whoever drives it: nothing is answered before a
/// test does it.
pub struct Stand {
    pub dispatcher: Dispatcher,
    pub now: Instant,
    /// What is to be done and was not taken out.
    pub commands: Vec<Command>,
    /// How many messages the log has, and the next transaction.
    last_number: i64,
    xmax: Xid,
}

impl Stand {
    /// Its endpoint takes so much, and nothing is under way but a look at the log.
    pub fn new(concurrency: usize) -> Stand {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        own(&mut dispatcher, now);
        edit_flow(&mut dispatcher, 1, Edition(1), true, Flow { concurrency, ..FLOW }, now);
        let mut stand = Stand { dispatcher, now, commands: Vec::new(), last_number: 0, xmax: 10 };
        stand.step();
        for command in std::mem::take(&mut stand.commands) {
            match command {
                Command::Ask(query @ Query::Tick(_)) => stand.commands.push(Command::Ask(query)),
                Command::Ask(query) => stand.answer(query),
                Command::Beat(_) => stand.dispatcher.take_news(renewed(now, now, &[]), now),
                _ => {}
            }
        }
        stand.step();
        stand
    }

    pub fn step(&mut self) {
        let commands = self.dispatcher.step(self.now);
        self.commands.extend(commands);
    }

    pub fn take(&mut self, event: Event) {
        self.dispatcher.take(event, self.now);
        assert!(self.dispatcher.take_failure().is_none());
    }

    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        self.dispatcher.set_now(self.now);
    }

    /// Takes out the first query that is wanted, of all that are asked by now.
    pub fn asked<T>(&mut self, wanted: impl Fn(Query) -> ControlFlow<T, Query>) -> Option<T> {
        self.step();
        let mut found = None;
        for command in std::mem::take(&mut self.commands) {
            match command {
                Command::Ask(query) if found.is_none() => match wanted(query) {
                    Break(answer) => found = Some(answer),
                    Continue(query) => self.commands.push(Command::Ask(query)),
                },
                command => self.commands.push(command),
            }
        }
        found
    }

    /// The same where only that matters.
    pub fn has_asked(&mut self, is_wanted: impl Fn(&Query) -> bool) -> bool {
        self.asked(|query| if is_wanted(&query) { Break(()) } else { Continue(query) }).is_some()
    }

    /// There is nothing, where that can be said.
    pub fn answer(&mut self, query: Query) {
        if let Some(event) = nothing_of(query) {
            self.take(event);
        }
    }

    /// This is the only setting that was made.
    pub fn set(&mut self, name: &str, value: &str) {
        let settings = vec![(name.to_owned(), value.to_owned())];
        let shared = SharedSettings { settings, event_type_policies: Vec::new() };
        self.take(Event::Settings(Ok(shared)));
    }

    // What comes ------------------------------------------------------------------------------------

    /// These messages are in the log, and the look at it has found them.
    pub fn read(&mut self, rows: Vec<LogMessage>) {
        self.last_number += rows.len() as i64;
        let wanted = |query| match query {
            Query::Tick(groups) => Break(groups),
            query => Continue(query),
        };
        let groups = match self.asked(wanted) {
            Some(groups) => groups,
            None => {
                self.dispatcher.watch.wake(self.now);
                self.asked(wanted).expect("it looks at the log")
            }
        };
        let (xid, last_number) = (self.xmax, self.last_number);
        self.xmax += 1;
        let top = Snapshot::new(self.xmax, self.xmax, Vec::new()).unwrap();
        let rows_of = |group: &TickGroup| -> Vec<LogMessage> {
            let is_of = |row: &&LogMessage| group.lanes.contains(&row.id.lane());
            rows.iter().filter(is_of).map(|row| LogMessage { xid, ..row.clone() }).collect()
        };
        let tick = |group: TickGroup| {
            let (top, rows) = (top.clone(), rows_of(&group));
            (group, Tick::Rows { top, rows, last_number, written: WRITTEN }, None)
        };
        self.take(Event::Ticked(Ok((groups.into_iter().map(tick).collect(), true))));
    }

    /// The same, which are written down as taken by now.
    pub fn send(&mut self, rows: Vec<LogMessage>) {
        self.read(rows);
        let claimed = self.checkpoint(Vec::new(), Cancels::default());
        claimed.expect("they are written down");
    }

    /// These are due, and are found when it is looked for that.
    pub fn fetch(&mut self, rows: Vec<DueDelivery>) {
        let deferrals = self.dispatcher.recorder.deferrals();
        let answer = DueAnswer { rows, next: Vec::new() };
        self.take(Event::Due(vec![(ENDPOINT, 1_000)], deferrals, Ok(answer)));
    }

    /// The same, which are claimed by now.
    pub fn fetch_claimed(&mut self, rows: Vec<DueDelivery>) {
        self.fetch(rows);
        let claim = self.asked(|query| match query {
            query @ Query::Claim { .. } => Break(claimed(query)),
            query => Continue(query),
        });
        self.take(claim.flatten().expect("they are claimed"));
    }

    /// The checkpoint that is asked for is written, unless some shards are lost: what it names, if there is one.
    pub fn checkpoint(&mut self, lost: Vec<Owned>, cancels: Cancels) -> Option<Vec<MessageId>> {
        let claimed = self.asked(|query| match query {
            Query::SaveCheckpoint { claimed, .. } => Break(claimed),
            query => Continue(query),
        })?;
        self.take(Event::Claimed(Ok((lost, cancels))));
        Some(claimed)
    }

    // What goes -------------------------------------------------------------------------------------

    /// What is attempted by now and was not taken out.
    pub fn attempted(&mut self) -> Vec<Delivery> {
        self.step();
        let mut attempted = Vec::new();
        for command in std::mem::take(&mut self.commands) {
            match command {
                Command::Attempt { deliveries, .. } => attempted.extend(deliveries),
                command => self.commands.push(command),
            }
        }
        attempted
    }

    /// The numbers of these.
    pub fn attempted_numbers(&mut self) -> Vec<i64> {
        let number = |delivery: &Delivery| delivery.message.id.sequence_number();
        self.attempted().iter().map(number).collect()
    }

    pub fn land(&mut self, delivery: Delivery, outcome: Outcome) {
        self.take(Event::Landed(delivery, report(outcome), self.now));
    }

    /// All that is attempted by now has ended like this.
    pub fn land_all(&mut self, outcome: Outcome) {
        for delivery in self.attempted() {
            self.land(delivery, outcome);
        }
    }

    /// What is to be recorded, once its time has come. It is under way.
    pub fn flush(&mut self) -> Option<Gathered> {
        self.pass(self.dispatcher.pace.flush_interval);
        self.flush_now()
    }

    /// The same, if its time has come.
    pub fn flush_now(&mut self) -> Option<Gathered> {
        self.asked(|query| match query {
            Query::Flush { recorded, .. } => Break(*recorded),
            query => Continue(query),
        })
    }

    /// That is on record.
    pub fn record(&mut self, recorded: Gathered) {
        let flushed = Flushed { recorded, held: Gathered::default(), lost: Vec::new() };
        self.take(Event::Flushed(Ok(Box::new(flushed))));
    }

    /// Records all there is: what it says.
    pub fn recorded(&mut self) -> Results {
        let recorded = self.flush().expect("something is recorded");
        let results = recorded.results.clone();
        self.record(recorded);
        results
    }
}

const WRITTEN: Written = Written { upto: 0, flushed: 0, has_standbys: false, number: 0 };

/// The answer to a query when there is nothing, and nothing has changed.
fn nothing_of(query: Query) -> Option<Event> {
    Some(match query {
        Query::LoadSettings => {
            let (settings, event_type_policies) = (Vec::new(), Vec::new());
            Event::Settings(Ok(SharedSettings { settings, event_type_policies }))
        }
        Query::LoadVersions => Event::Endpoints(Ok((vec![(ENDPOINT, 1)], Vec::new()))),
        Query::LoadCircuits(_) => Event::Circuits(Ok(Vec::new())),
        Query::FetchNext(_) => Event::Waiting(Ok(Vec::new())),
        Query::FetchExpired { .. } => {
            Event::Expired(Ok(ExpiredPage { rows: Vec::new(), next: None }))
        }
        Query::Maintain(_) => Event::Maintained(Ok(())),
        Query::Trade(owned, _) => Event::Traded(owned, Ok(Vec::new())),
        Query::Count(counting) => Event::Counted(counting, Ok(Vec::new())),
        Query::SaveCheckpoint { .. } => Event::Claimed(Ok((Vec::new(), Cancels::default()))),
        Query::LockDoorbell(_) | Query::UnlockDoorbell => Event::Doorbell(Ok(false)),
        _ => return None,
    })
}
