use std::ops::ControlFlow::{Break, Continue};

use super::{super::tests::stand::Stand, *};
use crate::tenure::tests::{ENDPOINT, TARGET, sent, unkeyed, waiting};

fn numbers(deliveries: &[Delivery]) -> Vec<i64> {
    deliveries.iter().map(|delivery| delivery.message.id.sequence_number()).collect()
}

/// Three of an ordering key, the first of which is on its way.
fn chained(stand: &mut Stand) -> Delivery {
    stand.send((1..4).map(|number| sent(waiting(number), &[TARGET])).collect());
    let mut attempted = stand.attempted();
    assert_eq!(numbers(&attempted), [1]);
    attempted.remove(0)
}

fn link(number: i64) -> Link {
    Delivery::due(waiting(number), 1).link().unwrap()
}

/// Which keys are asked for.
fn wanted(stand: &mut Stand) -> Option<usize> {
    stand.asked(|query| match query {
        Query::FetchFollowers(asked, _) => Break(asked.len()),
        query => Continue(query),
    })
}

/// It is the first of its key, wherever it waits.
#[test]
fn what_is_behind_one_that_is_tried_again_waits_behind_it() {
    let mut stand = Stand::new(9);
    let first = chained(&mut stand);
    stand.land(first, Outcome::Unknown);
    assert!(stand.attempted().is_empty(), "nothing passes it");
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0);
    let recorded = stand.flush().expect("they are stored");
    let rows: Vec<(i64, bool, u32)> = recorded
        .results
        .deferred
        .iter()
        .map(|row| (row.id.sequence_number(), row.is_blocked, row.retry_count))
        .collect();
    assert_eq!(rows, [(1, false, 1), (2, true, 0), (3, true, 0)]);
    // What comes now is stored, too.
    stand.send(vec![sent(waiting(4), &[TARGET])]);
    assert!(stand.attempted().is_empty());
    stand.record(recorded);
    assert_eq!(stand.recorded().deferred.len(), 1);
}

/// Each ends by one road, and what is behind it goes when that is on record.
#[test]
fn whatever_ends_lets_the_next_one_go() {
    let dead = || Settlement::Dead { cause: Cause::Gone, error: None };
    for settlement in [Settlement::Delivered, dead(), Settlement::Expired, Settlement::Cancelled] {
        let mut stand = Stand::new(9);
        let first = chained(&mut stand);
        let case = format!("{settlement:?}");
        stand.dispatcher.endpoints.landed(&first);
        stand.dispatcher.settle(first, settlement);
        let recorded = stand.flush_now().expect("at once, for one waits for it");
        assert!(stand.attempted().is_empty(), "{case}");
        stand.record(recorded);
        assert_eq!(stand.attempted_numbers(), [2], "{case}");
    }
}

/// It waited for what is fetched, and had the place that this needs: neither of them came.
#[test]
fn what_is_ready_behind_something_stored_gives_its_place_back_until_that_is_fetched() {
    let mut stand = Stand::new(9);
    stand.send([2, 3].map(|number| sent(waiting(number), &[TARGET])).to_vec());
    let second = stand.attempted().remove(0);
    // One before them comes back from the dead letters.
    stand.fetch_claimed(vec![waiting(1)]);
    stand.land(second, Outcome::Accepted);
    stand.recorded();
    let first = stand.attempted().remove(0);
    assert_eq!(numbers(std::slice::from_ref(&first)), [1]);
    stand.land(first, Outcome::Accepted);
    assert_eq!(stand.dispatcher.endpoints.buffered(), 1, "the third is ready");
    stand.recorded();
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0);
    let [row] = &stand.recorded().deferred[..] else { panic!("it waits in the table") };
    assert_eq!((row.id.sequence_number(), row.is_blocked), (3, true));
    stand.pass(IDLE_FETCH_PAUSE);
    assert_eq!(wanted(&mut stand), Some(1));
}

#[test]
fn a_result_that_nobody_waits_for_waits_for_others() {
    let mut stand = Stand::new(9);
    stand.send(vec![sent(unkeyed(1), &[TARGET]), sent(waiting(2), &[TARGET])]);
    stand.land_all(Outcome::Accepted);
    assert!(stand.flush_now().is_none());
    assert_eq!(stand.recorded().done.len(), 2);
}

/// It is looked for when it is due: whoever forgets that leaves it there.
#[test]
fn what_waits_is_fetched_when_its_time_comes() {
    let second = Duration::from_secs(1);
    for (settlement, wait) in [
        (Settlement::Retry { wait: second, error: String::new() }, second),
        (Settlement::GivenBack { run_at: None, pause: second, is_blocked: false }, second),
    ] {
        let mut stand = Stand::new(9);
        stand.fetch_claimed(vec![unkeyed(1)]);
        let delivery = stand.attempted().remove(0);
        stand.dispatcher.endpoints.forget_deferred(ENDPOINT);
        stand.dispatcher.hands.fetch.set_due(stand.now + second * 9);
        let case = format!("{settlement:?}");
        stand.dispatcher.endpoints.landed(&delivery);
        stand.dispatcher.settle(delivery, settlement);
        let is_fetch = |query: &Query| matches!(query, Query::FetchDue { .. });
        stand.pass(wait - Duration::from_millis(1));
        assert!(!stand.has_asked(is_fetch), "{case}");
        stand.pass(Duration::from_millis(1));
        assert!(stand.has_asked(is_fetch), "{case}");
    }
}

#[test]
fn what_is_given_back_keeps_its_moment_and_says_whether_it_is_behind_another() {
    let mut stand = Stand::new(1);
    let later = Timestamp(stand.dispatcher.clock.timestamp(stand.now).0 + 9_000_000);
    let mut row = sent(unkeyed(1), &[TARGET]);
    row.terms.scheduled_at = Some(later);
    stand.send(vec![row]);
    let [row] = &stand.recorded().deferred[..] else { panic!("it is not due") };
    assert_eq!((row.run_at, row.is_blocked), (Some(later), false));

    let mut stand = Stand::new(1);
    stand.send((1..3).map(|number| sent(waiting(number), &[TARGET])).collect());
    assert_eq!(stand.attempted_numbers(), [1]);
    let pause = Duration::from_millis(30);
    for delivery in stand.dispatcher.take_ready(|_| true) {
        stand.dispatcher.give_back_for(delivery, pause);
    }
    let [row] = &stand.recorded().deferred[..] else { panic!("one was ready") };
    assert_eq!((row.run_at, row.wait_ms, row.is_blocked), (None, 30, true));
}

/// Its row says nothing new, and may be one that is never due.
#[test]
fn what_lies_where_it_was_is_looked_for_in_every_way() {
    let mut stand = Stand::new(9);
    stand.dispatcher.chains.inherit(&link(1));
    stand.fetch_claimed(vec![waiting(1)]);
    let delivery = stand.attempted().remove(0);
    stand.dispatcher.endpoints.landed(&delivery);
    stand.dispatcher.endpoints.forget_deferred(ENDPOINT);
    stand.dispatcher.put_back(delivery);
    assert!(!stand.dispatcher.hands.has((waiting(1).id, TARGET)));
    assert!(stand.flush().is_none(), "nothing is said of it");
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(|query| matches!(query, Query::FetchDue { .. })), "it is due");
    assert_eq!(wanted(&mut stand), Some(1), "and first of its key");
}

#[test]
fn keys_are_looked_through_when_something_may_have_changed_that_we_did_not_do() {
    let mut stand = Stand::new(9);
    let another = Link { key: "another".into(), ..link(5) };
    stand.dispatcher.chains.inherit(&link(1));
    stand.dispatcher.chains.inherit(&another);
    assert_eq!(wanted(&mut stand), None);
    stand.dispatcher.want_all_stored(|key| key == "another");
    assert_eq!(wanted(&mut stand), Some(1));
    // What has something in hand asks by itself when that has ended.
    let mut stand = Stand::new(9);
    let first = chained(&mut stand);
    stand.dispatcher.chains.inherit(&link(9));
    stand.dispatcher.want_all_stored(|_| true);
    assert_eq!(wanted(&mut stand), None);
    let _ = first;
}

/// Where keys are ordered across endpoints, the next one may be for any.
#[test]
fn what_comes_next_is_asked_for_where_it_may_be() {
    for (scope, at) in [("endpoint", ENDPOINT), ("global", EVERYWHERE)] {
        let mut stand = Stand::new(9);
        stand.set("ordering_scope", scope);
        stand.dispatcher.chains.inherit(&link(1));
        stand.dispatcher.leave_chain(&link(0));
        let asked = stand.asked(|query| match query {
            Query::FetchFollowers(asked, _) => Break(asked),
            query => Continue(query),
        });
        let places: Vec<EndpointId> = asked.unwrap().into_iter().map(|(_, at, _)| at).collect();
        assert_eq!(places, [at], "{scope}");
    }
}

/// It would be lost, with its place.
#[test]
fn what_has_its_turn_when_its_endpoint_is_gone_goes_back() {
    let mut stand = Stand::new(9);
    let seated = stand.dispatcher.hold_seated(Delivery::due(unkeyed(1), 1));
    stand.dispatcher.endpoints.compare(&[]);
    stand.dispatcher.enqueue(seated);
    let recorded = stand.flush().expect("it is put down");
    assert_eq!(recorded.put_down, [(unkeyed(1).id, TARGET)]);
}
