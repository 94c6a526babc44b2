//! A dispatcher in memory, and what its driver would answer.

use std::collections::BTreeMap;

use super::super::*;
use crate::{
    configuration::EndpointRow,
    flow::Flow,
    id::Edition,
    offer::Offer,
    reader::LaneState,
    tenure::tests::{ENDPOINT, TARGET, heartbeat},
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
    let flow = Flow { concurrency: 1, rate: None, max_in_memory: None, is_limited: false };
    edit_flow(dispatcher, version, edition, is_enabled, flow, now);
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
    let row = EndpointRow {
        id: ENDPOINT,
        name: "one".to_owned(),
        protocol: "any".to_owned(),
        config: serde_json::json!({ "concurrency": 1 }),
        retry_policy: None,
        target_policies: Vec::new(),
        is_enabled,
        is_paused: false,
        targets: vec![TARGET],
        version,
    };
    let offer = Ok(Offer { edition, flow, batch_limit: 1_024, is_disabled_when_gone: false });
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
