use super::{
    super::tests::stand::{acquire, claimed, dispatcher, edit, edit_flow, queries},
    *,
};
use crate::{
    breaker::State,
    chains::Link,
    flow::Flow,
    id::Edition,
    moment::Moment,
    rate::Rate,
    sharing::Proposal,
    tenure::{
        command::DueAnswer,
        tests::{ENDPOINT, unkeyed, waiting},
    },
    waiting::Stored,
};

/// A dispatcher that has asked for the probe of its only endpoint, and the answer that grants it.
fn asked(now: Instant) -> (Dispatcher, Event) {
    let mut dispatcher = dispatcher(now);
    edit(&mut dispatcher, 1, Edition(1), true, now);
    let first = waiting(1);
    let link = Link { key: "key".into(), id: first.id, endpoint: ENDPOINT };
    acquire(&mut dispatcher, Stored { links: vec![link], counts: Vec::new() }, now);
    let probe_at = Moment(dispatcher.clock.timestamp(now).0);
    let open = Circuit { state: State::Open { probe_at }, ..Circuit::default() };
    dispatcher.take(Event::Circuits(Ok(vec![(ENDPOINT, Circuit { version: 2, ..open })])), now);
    let answer = DueAnswer { rows: vec![first], next: Vec::new() };
    dispatcher.take(Event::Due(vec![(ENDPOINT, 10)], 0, Ok(answer)), now);
    let claim = queries(dispatcher.step(now)).find_map(claimed).expect("it is claimed");
    dispatcher.take(claim, now);
    let granted = queries(dispatcher.step(now)).find_map(|query| match query {
        Query::AskForProbe(probe, Proposal { endpoint, circuit, .. }, _) => {
            let answer = Answer { endpoint, is_saved: true, current: circuit };
            Some(Event::Probing(probe, Ok(vec![answer])))
        }
        _ => None,
    });
    (dispatcher, granted.expect("it is asked for"))
}

/// The editions by which something is attempted, and those that are closed, in order.
fn uses(commands: Vec<Command>) -> Vec<(&'static str, u64)> {
    let name = |command| match command {
        Command::Attempt { edition: Ok(edition), .. } => Some(("attempt", edition.0)),
        Command::Close(edition) => Some(("close", edition.0)),
        _ => None,
    };
    commands.into_iter().filter_map(name).collect()
}

#[test]
fn a_probe_goes_by_the_edition_of_the_moment_when_it_is_granted() {
    let now = Instant::now();
    let (mut dispatcher, granted) = asked(now);
    edit(&mut dispatcher, 2, Edition(2), true, now);
    assert_eq!(uses(dispatcher.step(now)), [("close", 1)], "nothing keeps it open");
    dispatcher.take(granted, now);
    edit(&mut dispatcher, 3, Edition(3), true, now);
    assert_eq!(uses(dispatcher.step(now)), [("attempt", 2), ("close", 2)]);
    assert!(dispatcher.take_failure().is_none());
}

#[test]
fn a_probe_of_an_endpoint_that_is_gone_does_not_go() {
    let now = Instant::now();
    let (mut dispatcher, granted) = asked(now);
    dispatcher.take(Event::Endpoints(Ok((Vec::new(), Vec::new()))), now);
    dispatcher.take(granted, now);
    assert_eq!(uses(dispatcher.step(now)), [("close", 1)]);
    assert!(dispatcher.take_failure().is_none());
    let flush =
        queries(dispatcher.step(now + Duration::from_secs(1))).find_map(|query| match query {
            Query::Flush { recorded, .. } => Some(recorded),
            _ => None,
        });
    let dead = flush.expect("its end is recorded").results.dead;
    assert_eq!(dead.iter().map(|dead| dead.cause).collect::<Vec<_>>(), ["endpoint_dropped"]);
}

/// Only the tick or a ring of somebody else woke us, up to a second later.
#[test]
fn what_waits_for_tokens_goes_as_soon_as_they_may_be_used_and_asks_for_more() {
    let wanted = |commands| {
        queries(commands).find_map(|query| match query {
            Query::TakeTokens(wanted) => Some(wanted[0].count),
            _ => None,
        })
    };
    for wait in [0, 700].map(Duration::from_millis) {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let rate = Rate { per_second: 1, burst: 1 };
        let flow =
            Flow { concurrency: 2, rate: Some(rate), max_in_memory: None, is_limited: false };
        edit_flow(&mut dispatcher, 1, Edition(1), true, flow, now);
        acquire(&mut dispatcher, Stored::default(), now);
        let answer = DueAnswer { rows: vec![unkeyed(1), unkeyed(2)], next: Vec::new() };
        dispatcher.take(Event::Due(vec![(ENDPOINT, 10)], 0, Ok(answer)), now);
        // Before it is known what is lent there is one place.
        for query in queries(dispatcher.step(now)) {
            match query {
                Query::Trade(owned, _) => {
                    dispatcher.take(Event::Traded(owned, Ok(Vec::new())), now);
                }
                query => claimed(query).into_iter().for_each(|claim| dispatcher.take(claim, now)),
            }
        }
        let count = wanted(dispatcher.step(now)).expect("a token is asked for");
        let granted = Granted { endpoint: ENDPOINT, count, wait };
        dispatcher.take(Event::Tokens(Ok(vec![granted])), now);
        let at = now + wait;
        if at > now {
            assert_eq!(uses(dispatcher.step(now)), []);
            assert!(dispatcher.wake_at() <= at);
        }
        let commands = dispatcher.step(at);
        let more =
            commands.iter().any(|command| matches!(command, Command::Ask(Query::TakeTokens(_))));
        assert_eq!((uses(commands), more), (vec![("attempt", 1)], true), "{wait:?}");
        assert!(dispatcher.take_failure().is_none());
    }
}
