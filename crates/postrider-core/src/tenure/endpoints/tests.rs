use super::*;
use crate::{
    configuration::EndpointRow,
    flow::Flow,
    id::Shard,
    message::Payload,
    rate::Rate,
    tenure::tests::{FLOW, endpoint, report, unkeyed},
    waiting::DueDelivery,
};

/// A dispatcher that owns the only shard and knows endpoints with these flows, numbered from one.
pub fn known(flows: &[Flow], now: Instant) -> Endpoints {
    known_of(1, flows, now)
}

/// The same, of so many shards.
pub fn known_of(shard_count: usize, flows: &[Flow], now: Instant) -> Endpoints {
    let mut endpoints = Endpoints::new(100, 4_000, now);
    own(&mut endpoints, shard_count);
    for (id, flow) in (1..).map(EndpointId).zip(flows) {
        endpoints.apply(endpoint(id, 1, *flow));
    }
    endpoints
}

/// It owns the first of so many shards, and knows that nothing is lent.
pub fn own(endpoints: &mut Endpoints, shard_count: usize) {
    let owned = Owned { shard: Shard(0), epoch: 1 };
    endpoints.set_share(std::iter::once(owned), shard_count);
    endpoints.next_trade(endpoints.now).expect("loans are read when shards come");
    endpoints.take_loans(&[owned], &[]);
}

pub fn taking(concurrency: usize) -> Flow {
    Flow { concurrency, ..FLOW }
}

/// What goes to the endpoint; `kib`: of a payload that has to be fetched, if it weighs anything.
pub fn to(id: EndpointId, number: i64, kib: u32) -> Delivery {
    let mut row = DueDelivery { endpoint: id, target: Target(id.0), ..unkeyed(number) };
    if kib > 0 {
        row.content.payload = Payload::Stored { bytes: (kib - 1) * 1024 };
    }
    Delivery::due(row, 1)
}

/// These are queued for an endpoint.
pub fn queue(endpoints: &mut Endpoints, id: EndpointId, numbers: impl Iterator<Item = i64>) {
    for number in numbers {
        let seated = endpoints.seat(to(id, number, 0));
        assert!(endpoints.enqueue(seated).is_none());
    }
}

pub fn number(delivery: &Delivery) -> i64 {
    delivery.message.id.sequence_number()
}

/// All that may go now, batch by batch.
pub fn going(endpoints: &mut Endpoints) -> Vec<Delivery> {
    std::iter::from_fn(|| endpoints.next_batch()).flat_map(|batch| batch.deliveries).collect()
}

/// The circuit of an endpoint stands like this, as others have said lately.
pub fn circuit(endpoints: &mut Endpoints, id: EndpointId, state: State) {
    let circuit = Circuit { version: 1_000, state, ..Circuit::default() };
    endpoints.learn(vec![(id, circuit)], endpoints.now);
}

/// It is left alone for so long.
pub fn open(endpoints: &mut Endpoints, id: EndpointId, cooldown: Duration) {
    let probe_at = endpoints.moment(endpoints.now).after(cooldown);
    circuit(endpoints, id, State::Open { probe_at });
}

/// Where each delivery is, as one would note it by hand.
#[derive(Default)]
struct Model {
    seated: Vec<Seated>,
    queued: Vec<(EndpointId, i64)>,
    flying: Vec<Delivery>,
    known: Vec<EndpointId>,
}

impl Model {
    /// A place is one of an endpoint that is known.
    fn counts(&self) -> (usize, usize) {
        let is_known = |id: &EndpointId| self.known.contains(id);
        let seated = self.seated.iter().filter(|seated| is_known(&seated.endpoint)).count();
        let flying = self.flying.iter().filter(|delivery| is_known(&delivery.endpoint)).count();
        (seated + self.queued.len(), flying)
    }

    /// They leave the queue: of one endpoint and one kind in order.
    fn leave(&mut self, deliveries: &[Delivery], case: &str) {
        for delivery in deliveries {
            let entry = (delivery.endpoint, number(delivery));
            let place = self.queued.iter().position(|other| *other == entry);
            self.queued.remove(place.expect(case));
        }
    }

    fn step(&mut self, endpoints: &mut Endpoints, number: i64, dice: &mut fastrand::Rng) {
        let id = EndpointId(dice.i32(1..6));
        match dice.u8(..12) {
            0..4 => {
                let kib = if dice.bool() { dice.u32(..5_000) } else { 0 };
                self.seated.push(endpoints.seat(to(id, number, kib)));
            }
            4..7 if !self.seated.is_empty() => {
                let seated = self.seated.swap_remove(dice.usize(..self.seated.len()));
                let entry = (seated.endpoint, seated.message.id.sequence_number());
                match endpoints.enqueue(seated) {
                    None => self.queued.push(entry),
                    Some(refused) => assert!(!self.known.contains(&refused.endpoint)),
                }
            }
            7 if !self.seated.is_empty() => {
                let seated = self.seated.swap_remove(dice.usize(..self.seated.len()));
                let _ = endpoints.unseat(seated);
            }
            8 => {
                let batch = endpoints.next_batch().map(|batch| batch.deliveries);
                self.leave(batch.as_deref().unwrap_or_default(), "it was queued");
                self.flying.extend(batch.into_iter().flatten());
            }
            9 | 10 if !self.flying.is_empty() => {
                let delivery = self.flying.swap_remove(dice.usize(..self.flying.len()));
                endpoints.landed(&delivery);
                // Those that do not answer lose what trust they have, and others gain it.
                endpoints.doubt_stalled(endpoints.now + Duration::from_secs(1));
                let accepted = report(Outcome::Accepted);
                endpoints.note_outcome(delivery.endpoint, delivery.place(), &accepted, 7);
            }
            11 if number % 8 == 0 => {
                // One is dropped, or another one made.
                match self.known.iter().position(|known| *known == id) {
                    Some(place) => _ = self.known.swap_remove(place),
                    None => return,
                }
                let versions: Vec<_> = self.known.iter().map(|id| (*id, 1)).collect();
                let orphans = endpoints.compare(&versions).orphans;
                self.leave(&orphans, "it was queued there");
                assert!(self.queued.iter().all(|(other, _)| *other != id));
            }
            _ => {
                let taken = endpoints.take_queued(|_| dice.u8(..4) == 0);
                self.leave(&taken, "it was queued");
            }
        }
    }
}

/// A place that is not given back is lost until the tenure ends; one that is given back twice lets too many in.
#[test]
fn no_place_is_given_twice_or_forgotten_and_all_that_is_queued_goes() {
    for seed in 0..150 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let flows = [1, 2, 3, 8, 100].map(taking);
        let mut endpoints = known(&flows, Instant::now());
        let mut model = Model { known: (1..=5).map(EndpointId).collect(), ..Model::default() };
        for number in 1..200 {
            model.step(&mut endpoints, number, &mut dice);
            let counts = (endpoints.buffered(), endpoints.in_flight());
            assert_eq!(counts, model.counts(), "seed {seed}, step {number}");
            for (id, flow) in (1..).map(EndpointId).zip(flows) {
                let flying = model.flying.iter().filter(|delivery| delivery.endpoint == id);
                assert!(flying.count() <= flow.concurrency, "seed {seed}: too many at a time");
            }
        }
        for seated in std::mem::take(&mut model.seated) {
            let _ = endpoints.unseat(seated);
        }
        // Nobody has to be told that there is something to send.
        loop {
            let batch = going(&mut endpoints);
            model.leave(&batch, "it was queued");
            model.flying.extend(batch);
            if model.flying.is_empty() {
                break;
            }
            model.flying.drain(..).for_each(|delivery| endpoints.landed(&delivery));
        }
        assert_eq!(model.queued, [], "seed {seed}: it is never sent");
        assert_eq!((endpoints.buffered(), endpoints.in_flight()), (0, 0), "seed {seed}");
    }
}

#[test]
fn endpoints_that_are_new_changed_or_gone_are_found_by_their_versions() {
    let mut endpoints = known(&[FLOW; 3], Instant::now());
    let [one, two, three, four] = [1, 2, 3, 4].map(EndpointId);
    let found = endpoints.compare(&[(one, 1), (two, 2), (four, 1)]);
    assert_eq!((found.changed, found.gone), (vec![two, four], vec![three]));
    assert_eq!(found.retired, [Edition(1)], "nothing goes by it any more");
    assert!(endpoints.is_known(two) && !endpoints.is_known(three) && !endpoints.is_known(four));
    assert_eq!(endpoints.by_target(Target(3)), None);
    endpoints.doubt_version(one);
    endpoints.apply(endpoint(two, 2, FLOW));
    let found = endpoints.compare(&[(one, 1), (two, 2)]);
    assert_eq!((found.changed, found.gone), (vec![one], vec![]));
    // A restore has brought an older one back.
    assert_eq!(endpoints.compare(&[(one, 0), (two, 1)]).changed, [two]);
}

/// It would wake us for ever, or be asked for by a query that does not know it.
#[test]
fn nobody_looks_after_an_endpoint_that_is_gone() {
    let now = Instant::now();
    let rate = Some(Rate { per_second: 1, burst: 1 });
    let mut endpoints = known(&[Flow { rate, ..FLOW }], now);
    let id = EndpointId(1);
    queue(&mut endpoints, id, 1..3);
    assert!(endpoints.next_batch().is_none(), "it has no token");
    circuit(&mut endpoints, id, State::HalfOpen { prober: 7, is_prober_alive: true });
    let place = to(id, 9, 0).place();
    endpoints.note_outcome(id, place, &report(Outcome::Unknown), 7);
    assert_eq!((endpoints.open(), endpoints.thirst.is_due(now)), (vec![id], true));
    assert!(endpoints.untold.has(id));
    let orphans = endpoints.compare(&[]).orphans;
    assert_eq!(orphans.iter().map(number).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((endpoints.open(), endpoints.thirst.is_due(now)), (vec![], false));
    assert!(!endpoints.untold.has(id) && endpoints.next_batch().is_none());
    assert_eq!(endpoints.transport(id), None);
}

#[test]
fn a_config_is_taken_over_and_what_is_under_way_goes_on() {
    let now = Instant::now();
    let id = EndpointId(1);
    let slow = Some(Rate { per_second: 1, burst: 1 });
    let fast = Some(Rate { per_second: 2, burst: 2 });
    let mut endpoints = known(&[Flow { rate: slow, ..taking(2) }], now);
    queue(&mut endpoints, id, 1..9);
    assert!(endpoints.next_batch().is_none());
    endpoints.wanted_tokens(now);
    let grant = Granted { endpoint: id, count: 1, wait: Duration::ZERO };
    endpoints.take_tokens(vec![grant], now);
    let edit = |endpoints: &mut Endpoints, edition, version, rate| {
        let (row, offer) = endpoint(id, version, Flow { rate, ..taking(2) });
        let offer = offer.map(|offer| Offer { edition, ..offer });
        endpoints.apply((row, offer))
    };
    assert_eq!(edit(&mut endpoints, Edition(1), 2, slow), None, "it is the same transport");
    assert_eq!(going(&mut endpoints).len(), 1, "its tokens are as good as before");
    assert_eq!(edit(&mut endpoints, Edition(2), 3, fast), Some(Edition(1)));
    assert_eq!((endpoints.in_flight(), endpoints.buffered()), (1, 7));
    assert!(going(&mut endpoints).is_empty(), "by another rate it has none");
    assert_eq!(endpoints.transport(id), Some(Ok(Edition(2))));
    let (row, _) = endpoint(id, 4, FLOW);
    assert_eq!(endpoints.apply((row, Err("no such host".to_owned()))), Some(Edition(2)));
    assert_eq!(endpoints.transport(id), Some(Err("no such host".to_owned())));
}

#[test]
fn nothing_goes_to_an_endpoint_that_is_disabled_or_paused_until_it_is_not() {
    let id = EndpointId(1);
    for (is_enabled, is_paused, count) in
        [(true, false, 1), (false, false, 0), (true, true, 0), (false, true, 0)]
    {
        let mut endpoints = known(&[FLOW], Instant::now());
        queue(&mut endpoints, id, 1..2);
        let (row, offer) = endpoint(id, 2, FLOW);
        endpoints.apply((EndpointRow { is_enabled, is_paused, ..row }, offer));
        assert_eq!(endpoints.disabled().len(), 1 - count, "{is_enabled} {is_paused}");
        assert_eq!(going(&mut endpoints).len(), count, "{is_enabled} {is_paused}");
        endpoints.apply(endpoint(id, 3, FLOW));
        assert_eq!(going(&mut endpoints).len(), 1 - count, "{is_enabled} {is_paused}");
    }
}

#[test]
fn an_endpoint_that_is_gone_for_good_is_retired_once_and_if_it_wants_that() {
    let id = EndpointId(1);
    for wants in [true, false] {
        let mut endpoints = known(&[], Instant::now());
        assert!(!endpoints.retire(id), "there is none");
        let (row, offer) = endpoint(id, 1, FLOW);
        let offer = offer.map(|offer| Offer { is_disabled_when_gone: wants, ..offer });
        endpoints.apply((row, offer));
        assert_eq!([endpoints.retire(id), endpoints.retire(id)], [wants, false]);
        assert_eq!(endpoints.disabled().contains(&id), wants);
    }
}

/// By the clock as it was before, it would be left alone for as long as that was set back.
#[test]
fn a_clock_that_is_set_back_keeps_no_endpoint_waiting() {
    let now = Instant::now();
    let rate = Some(Rate { per_second: 1, burst: 1 });
    let [one, two] = [1, 2].map(EndpointId);
    let mut endpoints = known(&[FLOW, Flow { rate, ..FLOW }], now);
    let hour = Duration::from_secs(3_600);
    endpoints.clock = Clock::new(now, 3_600_000_000);
    open(&mut endpoints, one, Duration::from_secs(30));
    queue(&mut endpoints, two, 1..2);
    assert!(endpoints.next_batch().is_none());
    assert_eq!(endpoints.wanted_tokens(now).len(), 1);
    let wait = Duration::from_secs(2);
    endpoints.take_tokens(vec![Granted { endpoint: two, count: 1, wait }], now);
    endpoints.set_back(Clock::new(now, 0), hour);
    let later = now + wait;
    endpoints.now = later;
    endpoints.wanted_tokens(later);
    assert_eq!(going(&mut endpoints).len(), 1, "its token may be used when it was said");
    let blocked_until = endpoints.by_id[&one].gate.blocked_until(&endpoints.clock);
    assert_eq!(blocked_until, Some(now + Duration::from_secs(30)));
}

/// As much of an endpoint as of the log is ours, and something in any case.
#[test]
fn our_part_of_an_endpoint_is_that_of_our_shards() {
    for (shard_count, expected) in [(1, 8), (2, 4), (4, 2), (64, 1)] {
        let mut endpoints = known_of(shard_count, &[taking(8)], Instant::now());
        queue(&mut endpoints, EndpointId(1), 1..20);
        assert_eq!(going(&mut endpoints).len(), expected, "{shard_count}");
    }
}
