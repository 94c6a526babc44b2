use super::{super::tests::*, *};
use crate::{
    flow::Flow,
    id::Shard,
    rate::Rate,
    tenure::tests::{FLOW, report},
};

const ONE: EndpointId = EndpointId(1);
const ME: Prober = 7;

fn end(endpoints: &mut Endpoints, id: EndpointId, outcome: Outcome) {
    endpoints.note_outcome(id, to(id, 9_999, 0).place(), &report(outcome), ME);
}

/// It has failed so often that its circuit opens.
fn trip(endpoints: &mut Endpoints, id: EndpointId) {
    (0..10).for_each(|_| end(endpoints, id, Outcome::Unknown));
}

fn answer(proposal: &Proposal, is_saved: bool, current: Circuit) -> Answer {
    Answer { endpoint: proposal.endpoint, is_saved, current }
}

#[test]
fn an_endpoint_that_asks_to_be_left_alone_is_left_alone_by_all_until_then() {
    let now = Instant::now();
    let second = Duration::from_secs(1);
    let mut endpoints = known(&[FLOW, FLOW], now);
    endpoints.ask_for_pause(ONE, second, now);
    queue(&mut endpoints, ONE, 1..2);
    assert!(endpoints.next_batch().is_none());
    assert!(endpoints.is_left_alone(Target(1)) && !endpoints.is_left_alone(Target(2)));
    assert!(!endpoints.is_left_alone(Target(9)), "nobody knows that one");
    assert_eq!(endpoints.open(), [ONE], "it is read again, for it may ask others for less");
    let told = endpoints.proposals(now);
    let paused_until: Vec<_> = told.iter().map(|told| told.circuit.paused_until).collect();
    assert_eq!(paused_until, [Some(endpoints.moment(now + second))], "at once");
    assert_eq!(endpoints.end_pauses(now), Some(now + second));
    endpoints.now = now + second;
    assert_eq!(endpoints.end_pauses(endpoints.now), None);
    assert!(!endpoints.is_left_alone(Target(1)));
    assert_eq!(going(&mut endpoints).len(), 1, "nobody else has to wake it");
}

/// Each is told once, and nothing that is seen meanwhile is lost.
#[test]
fn what_opens_a_circuit_is_told_at_once_and_again_when_it_was_not_saved() {
    let now = Instant::now();
    let mut endpoints = known(&[FLOW], now);
    trip(&mut endpoints, ONE);
    assert_eq!(endpoints.tell_at(), Some(now));
    let told = endpoints.proposals(now);
    assert!(matches!(
        told[..],
        [Proposal { circuit: Circuit { state: State::Open { .. }, .. }, .. }]
    ));
    assert!(endpoints.proposals(now + Duration::from_secs(99)).is_empty(), "it is under way");
    // Somebody else was quicker, and says less.
    let current = Circuit { version: 5, failure_count: 1, ..Circuit::default() };
    assert!(!endpoints.take_answers(&[ONE], &[answer(&told[0], false, current)], now));
    let told = endpoints.proposals(now);
    let [Proposal { known_version, circuit, .. }] = told[..] else { panic!("it is told again") };
    assert_eq!((known_version, circuit.failure_count), (5, 11), "theirs and ours");
    endpoints.take_answers(&[ONE], &[answer(&told[0], true, circuit)], now);
    assert!(endpoints.is_left_alone(Target(1)));
    assert_eq!(endpoints.end_pauses(now), Some(now + Duration::from_secs(30)));
    assert!(endpoints.proposals(now + Duration::from_secs(99)).is_empty(), "it is said");
}

#[test]
fn only_so_many_are_told_at_a_time_and_the_rest_soon() {
    let now = Instant::now();
    let count = PROPOSALS + 1;
    let mut endpoints = known(&vec![FLOW; count], now);
    for id in 1..=count as i32 {
        trip(&mut endpoints, EndpointId(id));
    }
    assert_eq!(endpoints.proposals(now).len(), PROPOSALS);
    let next = endpoints.tell_at().expect("one is left");
    assert_eq!(endpoints.proposals(next).len(), 1);
    assert_eq!(endpoints.tell_at(), None);
}

/// It has something due, and nobody would fetch it before long.
#[test]
fn whoever_hears_that_an_endpoint_is_free_says_so() {
    let now = Instant::now();
    let closed = Circuit { version: 2_000, ..Circuit::default() };
    let paused = Circuit { paused_until: Some(Moment(i64::MAX / 2)), ..closed };
    for (current, is_free) in [(closed, true), (paused, false)] {
        for is_read in [true, false] {
            let mut endpoints = known(&[FLOW], now);
            open(&mut endpoints, ONE, Duration::from_secs(9));
            queue(&mut endpoints, ONE, 1..2);
            assert!(endpoints.next_batch().is_none());
            let found = match is_read {
                true => endpoints.learn(vec![(ONE, current), (EndpointId(9), closed)], now),
                false => {
                    endpoints.propose_probe(ONE, ME, now);
                    let answer = Answer { endpoint: ONE, is_saved: false, current };
                    endpoints.take_answers(&[ONE, EndpointId(9)], &[answer], now)
                }
            };
            assert_eq!(found, is_free, "{is_read}");
            assert_eq!(going(&mut endpoints).len(), usize::from(is_free), "{is_read}");
            assert!(!endpoints.learn(vec![(ONE, current)], now), "that is no news");
        }
    }
}

/// The row was locked when we asked for the probe, so nothing changes when it is read.
#[test]
fn a_probe_whose_prober_is_dead_is_asked_for_again() {
    let now = Instant::now();
    let mut endpoints = known(&[FLOW], now);
    let state = State::HalfOpen { prober: 8, is_prober_alive: false };
    circuit(&mut endpoints, ONE, state);
    queue(&mut endpoints, ONE, 1..2);
    let batch = endpoints.next_batch().expect("it may be probed");
    endpoints.propose_probe(ONE, ME, now);
    // There is no answer of it.
    endpoints.take_answers(&[ONE], &[], now);
    for delivery in batch.deliveries {
        endpoints.landed(&delivery);
        let seated = endpoints.seat(delivery);
        assert!(endpoints.enqueue(seated).is_none());
    }
    assert!(endpoints.next_batch().is_none(), "not at once");
    endpoints.now = now + Duration::from_secs(1);
    let same = Circuit { version: 1_000, state, ..Circuit::default() };
    endpoints.learn(vec![(ONE, same)], endpoints.now);
    assert!(endpoints.next_batch().is_some_and(|batch| batch.is_probe));
}

#[test]
fn a_probe_that_we_have_nothing_for_is_given_up_and_others_hear_of_it() {
    let now = Instant::now();
    let mut endpoints = known(&[FLOW], now);
    circuit(&mut endpoints, ONE, State::HalfOpen { prober: ME, is_prober_alive: true });
    assert!(endpoints.proposals(now).is_empty());
    endpoints.abandon_probe(ONE, ME);
    assert!(
        matches!(endpoints.proposals(now)[..], [told] if matches!(told.circuit.state, State::Open { .. }))
    );
}

fn limited(per_second: u32) -> Flow {
    Flow { rate: Some(Rate { per_second, burst: per_second }), ..taking(100) }
}

#[test]
fn tokens_are_asked_for_where_something_waits_for_them_and_used_once() {
    let now = Instant::now();
    let mut endpoints = known(&[limited(5), limited(5), FLOW], now);
    assert!(endpoints.wanted_tokens(now).is_empty() && endpoints.tokens_at().is_none());
    queue(&mut endpoints, ONE, 1..10);
    queue(&mut endpoints, EndpointId(3), 1..2);
    assert_eq!(going(&mut endpoints).len(), 1, "what has no limit needs none");
    let wanted = endpoints.wanted_tokens(now);
    let asked: Vec<_> = wanted.iter().map(|wanted| (wanted.endpoint, wanted.count)).collect();
    assert_eq!(asked, [(ONE, 5)]);
    assert!(endpoints.wanted_tokens(now).is_empty(), "they are asked for");
    let wait = Duration::from_millis(300);
    let granted = |count, wait| vec![Granted { endpoint: ONE, count, wait }];
    endpoints.take_tokens(granted(5, wait), now);
    assert!(endpoints.wanted_tokens(now).is_empty(), "they may not be used yet");
    assert_eq!((endpoints.tokens_at(), going(&mut endpoints).len()), (Some(now + wait), 0));
    endpoints.now = now + wait;
    assert!(endpoints.wanted_tokens(endpoints.now).is_empty());
    assert_eq!(going(&mut endpoints).len(), 5);
    let wanted = endpoints.wanted_tokens(endpoints.now);
    assert_eq!(wanted.len(), 1, "there is more to send");
    endpoints.take_queued(|_| true);
    endpoints.take_tokens(granted(0, Duration::ZERO), endpoints.now);
    assert!(endpoints.wanted_tokens(endpoints.now).is_empty());
    assert_eq!(endpoints.tokens_at(), None, "nobody wakes for what is not there any more");
}

/// Each dispatcher asks for its part of the burst.
#[test]
fn tokens_are_shared_by_as_many_as_own_shards() {
    for (shard_count, expected) in [(1, 6), (2, 3), (3, 2)] {
        let now = Instant::now();
        let mut endpoints = known_of(shard_count, &[limited(6)], now);
        queue(&mut endpoints, ONE, 1..20);
        assert!(endpoints.next_batch().is_none());
        assert_eq!(endpoints.wanted_tokens(now)[0].count, expected, "{shard_count}");
    }
}

#[test]
fn tokens_are_asked_for_some_endpoints_at_a_time_and_for_the_rest_at_once() {
    let now = Instant::now();
    let count = THIRSTY + 1;
    let mut endpoints = known(&vec![limited(5); count], now);
    for id in 1..=count as i32 {
        queue(&mut endpoints, EndpointId(id), 1..2);
    }
    assert!(endpoints.next_batch().is_none());
    let first = endpoints.wanted_tokens(now);
    assert_eq!((first.len(), endpoints.tokens_at()), (THIRSTY, Some(now)));
    let rest = endpoints.wanted_tokens(now);
    assert_eq!(rest.len(), 1);
    assert!(first.iter().all(|wanted| wanted.endpoint != rest[0].endpoint));
}

#[test]
fn what_others_wish_is_heeded_where_we_know_the_endpoint() {
    let now = Instant::now();
    let mut endpoints = known_of(2, &[taking(8)], now);
    let (owned, other) = (Owned { shard: Shard(0), epoch: 1 }, Uuid::from_u128(9));
    endpoints.note_asked(other, &[(EndpointId(9), 1)]);
    assert!(endpoints.next_trade(now).is_none(), "there is no such endpoint");
    endpoints.note_asked(other, &[(ONE, 1)]);
    let trade = endpoints.next_trade(now).expect("it is heeded");
    assert_eq!(trade.lent, [(ONE, owned.shard, other)], "we have nothing to send");
    assert!(endpoints.is_trading() && endpoints.trade_at().is_none());
    endpoints.take_loans(&[owned], &[]);
    assert!(!endpoints.is_trading());
    endpoints.doubt_loans();
    assert!(endpoints.next_trade(now).is_some(), "they are read again");
}

#[test]
fn what_is_lent_to_us_is_used_at_once() {
    let now = Instant::now();
    let mut endpoints = known_of(2, &[taking(8)], now);
    queue(&mut endpoints, ONE, 1..20);
    assert_eq!(going(&mut endpoints).len(), 4);
    endpoints.next_trade(now).expect("more could go");
    let loan = Loan { endpoint: ONE, shard: Shard(1), is_borrowed: true };
    endpoints.take_loans(&[Owned { shard: Shard(0), epoch: 1 }], &[loan]);
    assert_eq!(going(&mut endpoints).len(), 4);
}
