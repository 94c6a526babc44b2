use super::{super::tests::*, *};
use crate::tenure::tests::{FLOW, endpoint, report};

const ONE: EndpointId = EndpointId(1);
const TWO: EndpointId = EndpointId(2);
const ME: Prober = 7;

/// Which endpoint each batch is for, and what is in it.
fn batches(endpoints: &mut Endpoints) -> Vec<(i32, Vec<i64>)> {
    let batches = std::iter::from_fn(|| endpoints.next_batch());
    batches.map(|batch| (batch.endpoint.0, batch.deliveries.iter().map(number).collect())).collect()
}

/// One that has just been attempted has ended like this.
fn end(endpoints: &mut Endpoints, id: EndpointId, outcome: Outcome) {
    let delivery = to(id, 9_999, 0);
    endpoints.note_outcome(id, delivery.place(), &report(outcome), ME);
}

#[test]
fn endpoints_take_turns_and_none_gets_more_than_it_takes() {
    let mut endpoints = known(&[], Instant::now());
    for id in [ONE, TWO] {
        let (row, offer) = endpoint(id, 1, taking(5));
        endpoints.apply((row, offer.map(|offer| Offer { batch_limit: 2, ..offer })));
    }
    queue(&mut endpoints, ONE, 1..8);
    queue(&mut endpoints, TWO, 1..4);
    let expected = [(1, vec![1, 2]), (2, vec![1, 2]), (1, vec![3, 4]), (2, vec![3]), (1, vec![5])];
    assert_eq!(batches(&mut endpoints), expected);
    endpoints.landed(&to(ONE, 1, 0));
    assert_eq!(batches(&mut endpoints), [(1, vec![6])], "a place is free");
}

#[test]
fn all_endpoints_together_have_so_many_places() {
    let now = Instant::now();
    let mut endpoints = Endpoints::new(3, 100, now);
    own(&mut endpoints, 1);
    for id in [ONE, TWO] {
        endpoints.apply(endpoint(id, 1, taking(9)));
        end(&mut endpoints, id, Outcome::Accepted);
        queue(&mut endpoints, id, 1..9);
    }
    let count = going(&mut endpoints).len();
    assert_eq!((count, endpoints.in_flight()), (3, 3));
    endpoints.landed(&to(TWO, 1, 0));
    assert_eq!(going(&mut endpoints).len(), 1);
}

#[test]
fn one_that_does_not_answer_gets_a_small_share_of_what_it_takes() {
    let now = Instant::now();
    for (is_stalled, expected) in [(false, 31), (true, 1)] {
        let mut endpoints = known(&[taking(32)], now);
        end(&mut endpoints, ONE, Outcome::Accepted);
        queue(&mut endpoints, ONE, 1..2);
        assert_eq!(going(&mut endpoints).len(), 1);
        if is_stalled {
            endpoints.now = now + Duration::from_secs(1);
        }
        queue(&mut endpoints, ONE, 2..99);
        assert_eq!(going(&mut endpoints).len(), expected, "{is_stalled}");
    }
}

/// Two that are on their way are two that a receiver gets which has just come back.
#[test]
fn a_probe_goes_alone_and_when_its_time_has_come() {
    let now = Instant::now();
    let mut endpoints = known(&[taking(9)], now);
    open(&mut endpoints, ONE, Duration::from_secs(1));
    queue(&mut endpoints, ONE, 1..9);
    assert!(endpoints.next_batch().is_none(), "it is left alone");
    endpoints.now = now + Duration::from_secs(1);
    assert!(endpoints.next_batch().is_none(), "nobody has looked whether that is over");
    endpoints.end_pauses(endpoints.now);
    let batch = endpoints.next_batch().expect("it may be probed");
    assert!(batch.is_probe);
    assert_eq!(batch.deliveries.iter().map(number).collect::<Vec<_>>(), [1]);
    assert!(endpoints.propose_probe(ONE, ME, endpoints.now).is_some());
    assert!(endpoints.next_batch().is_none(), "one at a time");
}

/// The clock is corrected with each heartbeat. Nobody would come back to it.
#[test]
fn a_cooldown_that_was_over_and_is_so_no_more_is_waited_for_again() {
    let now = Instant::now();
    let mut endpoints = known(&[FLOW], now);
    open(&mut endpoints, ONE, Duration::from_secs(1));
    queue(&mut endpoints, ONE, 1..2);
    endpoints.now = now + Duration::from_secs(1);
    endpoints.end_pauses(endpoints.now);
    endpoints.clock = Clock::new(endpoints.now, 900_000);
    assert!(endpoints.next_batch().is_none());
    let over_at = endpoints.now + Duration::from_millis(100);
    assert_eq!(endpoints.end_pauses(endpoints.now), Some(over_at));
    endpoints.now = over_at;
    endpoints.end_pauses(over_at);
    assert!(endpoints.next_batch().is_some());
}

#[test]
fn an_endpoint_is_trusted_once_it_accepts_until_it_fails_all_the_time_or_stalls() {
    let now = Instant::now();
    let mut endpoints = known(&[taking(99)], now);
    let is_trusted = |endpoints: &Endpoints| endpoints.by_id[&ONE].flight.is_trusted();
    assert!(!is_trusted(&endpoints), "it is new");
    let fails = |endpoints: &mut Endpoints, count| {
        (0..count).for_each(|_| end(endpoints, ONE, Outcome::Unknown));
    };
    end(&mut endpoints, ONE, Outcome::Accepted);
    assert!(is_trusted(&endpoints));
    fails(&mut endpoints, FAILING_AFTER - 1);
    end(&mut endpoints, ONE, Outcome::Accepted);
    fails(&mut endpoints, FAILING_AFTER - 1);
    assert!(is_trusted(&endpoints), "they were not in a row");
    fails(&mut endpoints, 1);
    assert!(!is_trusted(&endpoints));
    end(&mut endpoints, ONE, Outcome::Accepted);
    queue(&mut endpoints, ONE, 1..2);
    going(&mut endpoints);
    endpoints.doubt_stalled(now);
    assert!(is_trusted(&endpoints), "it has just been asked");
    endpoints.doubt_stalled(now + Duration::from_secs(1));
    assert!(!is_trusted(&endpoints));
}

#[test]
fn what_was_not_sent_says_nothing_of_its_endpoint() {
    let mut endpoints = known(&[FLOW], Instant::now());
    (0..FAILING_AFTER * 2).for_each(|_| end(&mut endpoints, ONE, Outcome::NotSent));
    assert!(endpoints.proposals(endpoints.now + Duration::from_secs(99)).is_empty());
    assert!(endpoints.by_id[&ONE].gate.is_circuit_closed());
    assert_eq!(endpoints.by_id[&ONE].failures_in_a_row, 0);
}

/// A message that is wrong says nothing of how much its endpoint can take.
#[test]
fn an_endpoint_that_is_unavailable_gets_less_at_a_time() {
    for (outcome, expected) in [
        (Outcome::Accepted, 8),
        (Outcome::Rejected, 8),
        (Outcome::Gone, 8),
        (Outcome::Unavailable { retry_after: None }, 4),
        (Outcome::Unknown, 4),
    ] {
        let mut endpoints = known(&[taking(8)], Instant::now());
        end(&mut endpoints, ONE, Outcome::Accepted);
        end(&mut endpoints, ONE, outcome);
        queue(&mut endpoints, ONE, 1..20);
        assert_eq!(going(&mut endpoints).len(), expected, "{outcome:?}");
    }
}

/// The circuit would wait for it for ever, and nothing would be sent.
#[test]
fn a_probe_that_was_not_sent_is_given_up() {
    let now = Instant::now();
    let mut endpoints = known(&[FLOW], now);
    circuit(&mut endpoints, ONE, State::HalfOpen { prober: ME, is_prober_alive: true });
    let probe = to(ONE, 1, 0);
    endpoints.begin_probe(ONE, probe.place());
    end(&mut endpoints, ONE, Outcome::NotSent);
    assert!(endpoints.proposals(now).is_empty(), "that was another one");
    endpoints.note_outcome(ONE, probe.place(), &report(Outcome::NotSent), ME);
    let proposals = endpoints.proposals(now);
    let states: Vec<State> = proposals.iter().map(|told| told.circuit.state).collect();
    assert_eq!(states, [State::Open { probe_at: endpoints.moment(now) }]);
}

#[test]
fn others_are_asked_to_lend_when_our_part_is_in_use_and_there_is_more_to_send() {
    let now = Instant::now();
    for (shard_count, count, is_open, is_asking) in
        [(2, 9, false, true), (2, 4, false, false), (2, 9, true, false)]
    {
        let mut endpoints = known_of(shard_count, &[taking(8)], now);
        if is_open {
            open(&mut endpoints, ONE, Duration::ZERO);
        }
        queue(&mut endpoints, ONE, 1..=count);
        endpoints.end_pauses(now);
        let probe = endpoints.next_batch().filter(|batch| batch.is_probe);
        if let Some(batch) = &probe {
            endpoints.propose_probe(batch.endpoint, ME, now);
        }
        going(&mut endpoints);
        let trade = endpoints.next_trade(now);
        let asked = trade.map(|trade| trade.asked).unwrap_or_default();
        assert_eq!(!asked.is_empty(), is_asking, "{shard_count} {count} {is_open}");
    }
}

/// What finds no room lets pass what needs none, and has its turn when there is some.
#[test]
fn payloads_go_as_far_as_there_is_room_for_them() {
    let large = 8_000;
    let mut endpoints = known(&[taking(9), taking(9)], Instant::now());
    let put = |endpoints: &mut Endpoints, id, number, kib| {
        let seated = endpoints.seat(to(id, number, kib));
        assert!(endpoints.enqueue(seated).is_none());
    };
    for number in 1..3 {
        put(&mut endpoints, ONE, number, large);
    }
    put(&mut endpoints, ONE, 3, 0);
    assert_eq!(batches(&mut endpoints), [(1, vec![1, 3])], "half of the room is for others");
    put(&mut endpoints, TWO, 4, large);
    put(&mut endpoints, TWO, 5, large);
    assert_eq!(batches(&mut endpoints), [(2, vec![4])]);
    endpoints.landed(&to(ONE, 1, large));
    assert_eq!(batches(&mut endpoints), [(1, vec![2])]);
    endpoints.landed(&to(ONE, 2, large));
    endpoints.landed(&to(TWO, 4, large));
    assert_eq!(batches(&mut endpoints), [(2, vec![5])]);
}

/// Whoever came last would go first, or nobody.
#[test]
fn those_that_wait_for_room_have_it_in_the_order_in_which_they_came() {
    let large = 8_000;
    let ids = [1, 2, 3, 4].map(EndpointId);
    let mut endpoints = known(&[FLOW; 4], Instant::now());
    for (id, number) in ids.into_iter().zip(1..) {
        let seated = endpoints.seat(to(id, number, large));
        assert!(endpoints.enqueue(seated).is_none());
    }
    assert_eq!(batches(&mut endpoints), [(1, vec![1]), (2, vec![2])]);
    for (landed, next) in [(ids[0], (3, vec![3])), (ids[1], (4, vec![4]))] {
        endpoints.landed(&to(landed, 0, large));
        assert_eq!(batches(&mut endpoints), [next]);
    }
}

/// It takes less than its part at the moment.
#[test]
fn nobody_is_asked_to_lend_for_an_endpoint_that_is_slowed_down() {
    let now = Instant::now();
    for (outcome, is_asking) in [(Outcome::Accepted, true), (Outcome::Unknown, false)] {
        let mut endpoints = known_of(2, &[taking(8)], now);
        queue(&mut endpoints, ONE, 1..5);
        let flying = going(&mut endpoints);
        assert_eq!(flying.len(), 4);
        endpoints.landed(&flying[0]);
        end(&mut endpoints, ONE, outcome);
        // It says itself that it takes less by now.
        endpoints.apply(endpoint(ONE, 2, taking(4)));
        queue(&mut endpoints, ONE, 5..20);
        going(&mut endpoints);
        let trade = endpoints.next_trade(now);
        let asked = trade.map(|trade| trade.asked).unwrap_or_default();
        assert_eq!(!asked.is_empty(), is_asking, "{outcome:?}");
    }
}

#[test]
fn a_batch_says_by_which_transport_it_goes_or_why_by_none() {
    let mut endpoints = known(&[FLOW, FLOW], Instant::now());
    let (row, _) = endpoint(TWO, 2, FLOW);
    endpoints.apply((row, Err("what is that".to_owned())));
    for (id, edition) in [(ONE, Ok(Edition(1))), (TWO, Err("what is that".to_owned()))] {
        queue(&mut endpoints, id, 1..2);
        assert_eq!(endpoints.next_batch().map(|batch| batch.edition), Some(edition));
    }
}
