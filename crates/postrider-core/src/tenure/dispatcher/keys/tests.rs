use std::collections::BTreeMap;

use super::*;
use crate::{
    configuration::EndpointRow,
    flow::Flow,
    id::Edition,
    message::{Content, Terms},
    offer::Offer,
    waiting::Stored,
};

pub const ENDPOINT: EndpointId = EndpointId(1);
const TARGET: Target = Target(1);

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

/// A message of the one ordering key, as it waits.
pub fn waiting(number: i64) -> DueDelivery {
    DueDelivery {
        id: MessageId(number << 10 | 15),
        target: TARGET,
        endpoint: ENDPOINT,
        retry_count: 0,
        recovery_count: 0,
        run_at: Timestamp(i64::MIN),
        is_blocked: false,
        has_many_targets: false,
        terms: Terms {
            created_at: Timestamp(0),
            scheduled_at: None,
            expires_at: None,
            priority: Priority::new(0),
            ordering_key: Some("key".into()),
            has_idempotency_key: false,
        },
        content: Content::gone(),
    }
}

/// It owns the only shard, of which this is stored.
pub fn acquire(dispatcher: &mut Dispatcher, stored: Stored, now: Instant) {
    let acquired = Acquired {
        owned: Owned { shard: Shard(0), epoch: 1 },
        lanes: BTreeMap::new(),
        backlog: 0,
        last_owner: None,
        held: Vec::new(),
    };
    dispatcher.take(Event::Acquired(Ok((vec![acquired], stored))), now);
}

pub fn queries(commands: Vec<Command>) -> impl Iterator<Item = Query> {
    commands.into_iter().filter_map(|command| match command {
        Command::Ask(query) => Some(query),
        _ => None,
    })
}

/// What is attempted, and with how many retries.
fn attempted(commands: &[Command]) -> Vec<(MessageId, u32)> {
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
fn claimed_as(query: Query, now: impl Fn(&Seated) -> (u32, Option<Timestamp>)) -> Option<Event> {
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

/// It was passed over in the answer, because it had been put down since: what is behind it went first.
#[test]
fn what_is_put_down_and_waits_on_is_passed_by_nobody() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(now);
    switch(&mut dispatcher, 1, true, now);
    let [first, second] = [1, 2].map(waiting);
    let link = Link { key: "key".into(), id: first.id, endpoint: ENDPOINT };
    acquire(&mut dispatcher, Stored { links: vec![link], counts: Vec::new() }, now);
    let answer = DueAnswer { rows: vec![first.clone()], next: Vec::new() };
    dispatcher.take(Event::Due(vec![(ENDPOINT, 10)], 0, Ok(answer)), now);
    let claim = queries(dispatcher.step(now)).find_map(claimed).expect("the first is claimed");

    // It is queued, and its endpoint is switched off and on again.
    switch(&mut dispatcher, 2, false, now);
    dispatcher.take(claim, now);
    switch(&mut dispatcher, 3, false, now);
    switch(&mut dispatcher, 4, true, now);
    let asked = queries(dispatcher.step(now)).find_map(|query| match query {
        Query::FetchFollowers(asked, _) => Some(asked),
        _ => None,
    });
    let asked = asked.expect("what waits of the key is asked for");
    let later = now + Duration::from_millis(10);
    let flush = queries(dispatcher.step(later)).find_map(|query| match query {
        Query::Flush { recorded, .. } => Some(*recorded),
        _ => None,
    });
    let recorded = flush.expect("that it is put down is recorded");
    let flushed = Flushed { recorded, held: Gathered::default(), lost: Vec::new() };
    dispatcher.take(Event::Flushed(Ok(Box::new(flushed))), later);
    dispatcher.take(Event::Followers(asked, Ok(vec![first.clone(), second])), later);

    let mut ids = Vec::new();
    for query in queries(dispatcher.step(later)) {
        if let Query::Claim { claims, .. } = query {
            ids.extend(claims.iter().map(|claim| claim.id));
        }
    }
    assert!(ids.is_empty() || ids[0] == first.id, "{ids:?}");
    assert!(dispatcher.take_failure().is_none());
}

/// Were it attempted before, and its dispatcher gone, a recovery would find the expired one before it and take it for not
/// attempted.
#[test]
fn what_is_behind_an_expired_one_goes_when_that_end_is_on_record() {
    let now = Instant::now();
    let mut dispatcher = dispatcher(now);
    switch(&mut dispatcher, 1, true, now);
    let [mut first, second] = [1, 2].map(waiting);
    first.terms.expires_at = Some(Timestamp(dispatcher.clock.timestamp(now).0 - 1));
    let link = Link { key: "key".into(), id: first.id, endpoint: ENDPOINT };
    acquire(&mut dispatcher, Stored { links: vec![link.clone()], counts: Vec::new() }, now);
    dispatcher.want_stored(&link);
    let asked = queries(dispatcher.step(now)).find_map(|query| match query {
        Query::FetchFollowers(asked, _) => Some(asked),
        _ => None,
    });
    let asked = asked.expect("what waits of the key is asked for");
    dispatcher.take(Event::Followers(asked, Ok(vec![first, second.clone()])), now);
    let claim = queries(dispatcher.step(now)).find_map(claimed).expect("both are claimed");
    dispatcher.take(claim, now);
    let later = now + Duration::from_millis(10);
    let mut commands = dispatcher.step(now);
    commands.extend(dispatcher.step(later));
    assert_eq!(attempted(&commands), []);
    let flush = queries(commands).find_map(|query| match query {
        Query::Flush { recorded, .. } => Some(*recorded),
        _ => None,
    });
    let recorded = flush.expect("that it has expired is recorded");
    let flushed = Flushed { recorded, held: Gathered::default(), lost: Vec::new() };
    dispatcher.take(Event::Flushed(Ok(Box::new(flushed))), later);
    assert_eq!(attempted(&dispatcher.step(later)), [(second.id, 0)]);
    assert!(dispatcher.take_failure().is_none());
}

/// It had ended and was brought back while it was in hand: it has all its retries again, and expires no more.
#[test]
fn what_was_brought_back_before_it_was_claimed_is_fetched_anew() {
    let failed = DueDelivery { retry_count: 1, ..waiting(1) };
    let mut expiring = waiting(1);
    expiring.terms.expires_at = Some(Timestamp(i64::MAX));
    for before in [failed, expiring] {
        is_fetched_anew(before);
    }
}

/// What is fetched like this, and waits without retries and without an end when it is claimed.
fn is_fetched_anew(before: DueDelivery) {
    let now = Instant::now();
    let mut dispatcher = dispatcher(now);
    switch(&mut dispatcher, 1, true, now);
    acquire(&mut dispatcher, Stored::default(), now);
    let due = |row| DueAnswer { rows: vec![row], next: Vec::new() };
    dispatcher.take(Event::Due(vec![(ENDPOINT, 10)], 0, Ok(due(before))), now);
    let answer = |query| claimed_as(query, |_| (0, None));
    let claim = queries(dispatcher.step(now)).find_map(answer).expect("it is claimed");
    dispatcher.take(claim, now);
    assert_eq!(attempted(&dispatcher.step(now)), []);
    let later = now + Duration::from_millis(20);
    assert!(dispatcher.wake_at() <= later, "it is due");

    dispatcher.take(Event::Due(vec![(ENDPOINT, 10)], 0, Ok(due(waiting(1)))), later);
    let claim = queries(dispatcher.step(later)).find_map(claimed).expect("it is claimed again");
    dispatcher.take(claim, later);
    assert_eq!(attempted(&dispatcher.step(later)), [(waiting(1).id, 0)]);
}
