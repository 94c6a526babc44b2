use super::{
    super::tests::stand::{acquire, attempted, claimed, claimed_as, dispatcher, queries, switch},
    *,
};
use crate::{
    tenure::tests::{ENDPOINT, waiting},
    waiting::Stored,
};

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
