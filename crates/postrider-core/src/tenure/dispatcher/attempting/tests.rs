use super::{super::tests::stand::Stand, *};
use crate::{
    flow::Flow,
    offer::Offer,
    tenure::tests::{ENDPOINT, FLOW, TARGET, endpoint, sent, unkeyed},
    timestamp::EPOCH_US,
};

/// A waiting delivery that is queued and cannot go before another one has landed.
fn queued(row: DueDelivery) -> (Stand, Delivery) {
    let mut stand = Stand::new(1);
    stand.send(vec![sent(unkeyed(9), &[TARGET])]);
    let first = stand.attempted().remove(0);
    stand.fetch_claimed(vec![row]);
    assert!(stand.attempted().is_empty());
    (stand, first)
}

#[test]
fn what_has_expired_while_it_was_queued_is_not_attempted() {
    let mut row = unkeyed(1);
    row.terms.expires_at = Some(Timestamp(1_000_000 - EPOCH_US));
    let (mut stand, first) = queued(row);
    stand.pass(Duration::from_secs(2));
    stand.land(first, Outcome::Accepted);
    assert!(stand.attempted().is_empty());
    assert_eq!(stand.recorded().expired, [(unkeyed(1).id, TARGET, ENDPOINT)]);
    assert_eq!((stand.dispatcher.in_flight(), stand.dispatcher.endpoints.buffered()), (0, 0));
}

/// Others go by its claim for a while only: they may have taken it for lost.
#[test]
fn what_was_claimed_too_long_ago_is_claimed_again_before_it_goes() {
    for (wait, attempted) in [(CLAIM_AGE - Duration::from_millis(1), vec![1]), (CLAIM_AGE, vec![])]
    {
        let (mut stand, first) = queued(unkeyed(1));
        stand.pass(wait);
        stand.land(first, Outcome::Accepted);
        assert_eq!(stand.attempted_numbers(), attempted, "{wait:?}");
        if attempted.is_empty() {
            assert_eq!(stand.dispatcher.in_flight(), 0);
            stand.pass(IDLE_FETCH_PAUSE);
            assert!(stand.has_asked(|query| matches!(query, Query::FetchDue { .. })), "it is due");
            stand.fetch_claimed(vec![unkeyed(1)]);
            assert_eq!(stand.attempted_numbers(), [1]);
        }
    }
}

#[test]
fn each_outcome_has_one_end_and_one_record() {
    let retry_after = Some(Duration::from_secs(77));
    for (outcome, retry_count, ends, wait_ms, attempts) in [
        (Outcome::Accepted, 0, "done", None, 0),
        (Outcome::Rejected, 0, "rejected", None, 1),
        (Outcome::Gone, 0, "gone", None, 1),
        (Outcome::Unknown, 10, "retries_exhausted", None, 1),
        (Outcome::Unavailable { retry_after }, 0, "waits", Some(77_000), 1),
        (Outcome::NotSent, 10, "waits", Some(0), 0),
    ] {
        let mut stand = Stand::new(1);
        stand.fetch_claimed(vec![DueDelivery { retry_count, ..unkeyed(1) }]);
        stand.land_all(outcome);
        assert_eq!(stand.dispatcher.in_flight(), 0, "{outcome:?}");
        let run_at = stand.dispatcher.clock.timestamp(stand.now + UNSENT_PAUSE);
        let results = stand.recorded();
        let found = match (&results.done[..], &results.dead[..], &results.deferred[..]) {
            ([_], [], []) => ("done", None),
            ([], [dead], []) => (dead.cause, None),
            ([], [], [row]) => {
                // A wait that was asked for, or what could not leave for a reason of ours, as it was.
                let is_unsent = outcome == Outcome::NotSent;
                assert_eq!(row.run_at, is_unsent.then_some(run_at));
                assert_eq!(row.retry_count, retry_count + u32::from(!is_unsent));
                ("waits", Some(row.wait_ms))
            }
            _ => panic!("{outcome:?}: {results:?}"),
        };
        assert_eq!(found, (ends, wait_ms), "{outcome:?}");
        assert_eq!(
            results.attempts.len(),
            attempts,
            "{outcome:?}: what was not sent is no attempt"
        );
        let measured = stand.dispatcher.take_measured().len();
        assert_eq!(measured, 1, "{outcome:?}: people see each");
    }
}

#[test]
fn an_endpoint_that_is_gone_is_retired_by_whoever_hears_it_first() {
    let mut stand = Stand::new(9);
    let (row, offer) = endpoint(ENDPOINT, 2, Flow { concurrency: 9, ..FLOW });
    let offer = offer.map(|offer| Offer { is_disabled_when_gone: true, ..offer });
    stand.dispatcher.endpoints.apply((row, offer));
    stand.send((1..3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    let is_retired = |query: &Query| matches!(query, Query::Retire(ENDPOINT));
    let mut retired = 0;
    for delivery in stand.attempted() {
        stand.land(delivery, Outcome::Gone);
        retired += usize::from(stand.has_asked(is_retired));
    }
    assert_eq!(retired, 1);
}

#[test]
fn an_endpoint_that_asks_for_it_gets_nothing_for_as_long() {
    let mut stand = Stand::new(1);
    stand.send((1..3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    let second = Duration::from_secs(1);
    stand.land_all(Outcome::Unavailable { retry_after: Some(second) });
    assert!(stand.attempted().is_empty());
    stand.pass(second - Duration::from_millis(1));
    assert!(stand.attempted().is_empty());
    stand.pass(Duration::from_millis(1));
    assert_eq!(stand.attempted_numbers(), [2]);
}

/// Whatever waited for it is a dead letter by now, and this would wait for ever.
#[test]
fn what_lands_behind_the_end_of_its_endpoint_is_delivered_or_dead() {
    for (outcome, done, causes) in [
        (Outcome::Accepted, 1, vec![]),
        (Outcome::Unknown, 0, vec!["endpoint_dropped"]),
        (Outcome::NotSent, 0, vec!["endpoint_dropped"]),
    ] {
        let mut stand = Stand::new(1);
        stand.send(vec![sent(unkeyed(1), &[TARGET])]);
        let delivery = stand.attempted().remove(0);
        stand.take(Event::Endpoints(Ok((Vec::new(), Vec::new()))));
        stand.land(delivery, outcome);
        let results = stand.recorded();
        assert_eq!(results.done.len(), done, "{outcome:?}");
        assert!(results.dead.iter().map(|dead| dead.cause).eq(causes), "{outcome:?}");
    }
}

/// Its owner by now has it, and says what becomes of it.
#[test]
fn what_was_read_in_another_epoch_is_not_recorded_and_gives_its_place_back() {
    let mut stand = Stand::new(1);
    stand.send(vec![sent(unkeyed(1), &[TARGET])]);
    let delivery = stand.attempted().remove(0);
    stand.land(Delivery { epoch: 0, ..delivery }, Outcome::Accepted);
    assert_eq!(stand.dispatcher.in_flight(), 0);
    assert!(stand.flush().is_none());
}

#[test]
fn whoever_stops_attempts_nothing_more() {
    let (mut stand, first) = queued(unkeyed(1));
    let now = stand.now;
    stand.dispatcher.stop(now);
    stand.land(first, Outcome::Accepted);
    // What came while it stopped is given back when the stop may end.
    let seated = stand.dispatcher.hold_seated(Delivery::due(unkeyed(2), 1));
    stand.dispatcher.enqueue(seated);
    assert!(stand.attempted().is_empty());
}

/// The history has what failed, and what was accepted where that is wanted.
#[test]
fn attempts_are_kept_for_the_history_as_the_settings_say() {
    for (value, expected) in [("failed", 0), ("all", 1)] {
        let mut stand = Stand::new(1);
        stand.set("record_attempts", value);
        stand.send(vec![sent(unkeyed(1), &[TARGET])]);
        stand.land_all(Outcome::Accepted);
        assert_eq!(stand.recorded().attempts.len(), expected, "{value}");
    }
}

/// How long it took is measured from when it was due, which may be later than it was sent.
#[test]
fn what_people_see_is_how_long_it_is_since_it_was_due() {
    let mut stand = Stand::new(1);
    let mut row = sent(unkeyed(1), &[TARGET]);
    let at = stand.dispatcher.clock.timestamp(stand.now);
    row.terms.created_at = Timestamp(at.0 - 5_000_000);
    row.terms.scheduled_at = Some(Timestamp(at.0 - 2_000_000));
    stand.send(vec![row]);
    let delivery = stand.attempted().remove(0);
    stand.pass(Duration::from_secs(1));
    stand.land(delivery, Outcome::Accepted);
    let latencies: Vec<Duration> = stand
        .dispatcher
        .take_measured()
        .into_iter()
        .map(|measured| match measured {
            Measured::Attempt { sample, .. } => sample.latency,
            Measured::Gone(_) => panic!("nothing is gone"),
        })
        .collect();
    assert_eq!(latencies, [Duration::from_secs(3)]);
}
