//! Random histories of dispatchers that lend, die, take over and hear late.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const ALL: usize = 16;
const DISPATCHERS: usize = 5;

#[test]
fn parts_are_enough_and_no_more_than_enough() {
    for concurrency in 1..=64 {
        for all in [1, 3, 16, 64] {
            for in_flight in 1..=concurrency {
                let parts = parts_for(in_flight, concurrency, all);
                assert!(places_of(concurrency, parts, all) >= in_flight);
                assert!(parts == 0 || places_of(concurrency, parts - 1, all) < in_flight);
            }
        }
    }
}

/// What a dispatcher wants written.
#[derive(Debug, Clone, Default)]
struct Trade {
    shards: Parts,
    lent: Vec<(i16, usize)>,
    returned: Parts,
}

#[derive(Debug, Clone, Default)]
struct Dispatcher {
    is_running: bool,
    /// By the database's clock.
    has_lease: bool,
    owned: Parts,
    known: Parts,
    places: Places,
    in_flight: usize,
    queue: usize,
    to_lend: Vec<(i16, usize)>,
    trade: Option<Trade>,
    /// What the trade found; it may be written again before its answer arrives.
    answer: Option<(Parts, Parts)>,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send(usize, usize),
    Start(usize),
    Land(usize, usize),
    /// Everything has landed, and nothing waits.
    Rest(usize),
    Ask(usize, usize, usize),
    StopBorrowing(usize),
    Trade(usize),
    Write(usize),
    /// The same by who was there before.
    WriteLate(usize),
    Hear(usize),
    /// These three at once.
    Exchange(usize),
    Die(usize),
    Expire(usize),
    Acquire(usize, usize),
}

struct World {
    concurrency: usize,
    dispatchers: Vec<Dispatcher>,
    /// Who is at each place; who has died is followed by another.
    here: [usize; DISPATCHERS],
    before: [usize; DISPATCHERS],
    /// Owner of each shard.
    owners: [Option<usize>; ALL],
    /// Borrower of each shard's part.
    loans: HashMap<i16, usize>,
}

impl Dispatcher {
    fn start() -> Dispatcher {
        Dispatcher { is_running: true, has_lease: true, ..Dispatcher::default() }
    }
}

impl World {
    fn new(concurrency: usize) -> World {
        let here = std::array::from_fn(|place| place);
        let dispatchers = vec![Dispatcher::start(); DISPATCHERS];
        let (owners, loans) = ([None; ALL], HashMap::new());
        World { concurrency, dispatchers, here, before: here, owners, loans }
    }

    fn known(&self, who: usize) -> Parts {
        let me = &self.dispatchers[who];
        Parts(me.owned.0 & me.known.0)
    }

    fn limit(&self, who: usize) -> usize {
        let usable = self.dispatchers[who].places.usable(self.known(who));
        places_of(self.concurrency, usable.count(), ALL)
    }

    fn step(&mut self, step: Step) {
        let (Step::Send(place, _)
        | Step::Start(place)
        | Step::Land(place, _)
        | Step::Rest(place)
        | Step::Ask(place, ..)
        | Step::StopBorrowing(place)
        | Step::Trade(place)
        | Step::Write(place)
        | Step::WriteLate(place)
        | Step::Hear(place)
        | Step::Exchange(place)
        | Step::Die(place)
        | Step::Expire(place)
        | Step::Acquire(place, _)) = step;
        let who = self.here[place];
        let (limit, known) = (self.limit(who), self.known(who));
        let concurrency = self.concurrency;
        let me = &mut self.dispatchers[who];
        // A write may be under way when its dispatcher dies, and nothing else.
        if !me.is_running && !matches!(step, Step::Write(_) | Step::WriteLate(_) | Step::Expire(_))
        {
            return;
        }
        match step {
            Step::Send(_, count) => me.queue += count,
            Step::Start(_) => {
                let count = limit.saturating_sub(me.in_flight).min(me.queue);
                me.in_flight += count;
                me.queue -= count;
            }
            Step::Land(_, count) => me.in_flight = me.in_flight.saturating_sub(count),
            Step::Rest(_) => (me.in_flight, me.queue) = (0, 0),
            Step::Exchange(_) => {
                for step in [Step::Trade(place), Step::Write(place), Step::Hear(place)] {
                    self.step(step);
                }
            }
            Step::Ask(_, by, wanted) if by != place && me.trade.is_none() => {
                if me.places.has_borrowed() {
                    me.places.stop_borrowing();
                } else {
                    let needed = parts_for(me.in_flight + me.queue, concurrency, ALL);
                    let lent = me.places.lend(known, needed, wanted);
                    let borrower = self.here[by];
                    me.to_lend.extend(lent.shards().map(|shard| (shard, borrower)));
                }
            }
            Step::Ask(..) => {}
            Step::StopBorrowing(_) => me.places.stop_borrowing(),
            Step::Trade(_) if me.trade.is_none() => {
                let needed = parts_for(me.in_flight, concurrency, ALL);
                let returned = me.places.returnable(known, needed);
                let lent = std::mem::take(&mut me.to_lend);
                me.trade = Some(Trade { shards: me.owned, lent, returned });
                me.answer = None;
            }
            Step::Trade(_) => {}
            Step::Write(_) => self.write(who),
            Step::WriteLate(_) => self.write(self.before[place]),
            Step::Hear(_) => {
                if let (Some((lent, borrowed)), Some(trade)) = (me.answer.take(), &me.trade) {
                    me.known = trade.shards;
                    me.places.learn(lent, borrowed);
                    me.trade = None;
                }
            }
            Step::Die(_) => {
                me.is_running = false;
                me.in_flight = 0;
            }
            Step::Expire(_) => {
                // It ends its tenure by its own clock, and earlier.
                me.is_running = false;
                me.in_flight = 0;
                me.has_lease = false;
                self.before[place] = who;
                self.here[place] = self.dispatchers.len();
                self.dispatchers.push(Dispatcher::start());
            }
            Step::Acquire(_, count) => {
                for shard in 0..ALL {
                    let dispatchers = &mut self.dispatchers;
                    let is_free = self.owners[shard].is_none_or(|o| !dispatchers[o].has_lease);
                    if is_free && dispatchers[who].owned.count() < count {
                        self.owners[shard] = Some(who);
                        dispatchers[who].owned.insert(shard as i16);
                    }
                }
            }
        }
    }

    /// What `trade_places` does.
    fn write(&mut self, who: usize) {
        let Some(trade) = self.dispatchers[who].trade.clone() else { return };
        let dispatchers = &self.dispatchers;
        let is_dead = |borrower: usize| !dispatchers[borrower].has_lease;
        self.loans.retain(|shard, borrower| {
            let is_ours = trade.shards.0 >> *shard & 1 == 1;
            let is_returned = *borrower == who && trade.returned.0 >> *shard & 1 == 1;
            !(is_returned || is_ours && is_dead(*borrower))
        });
        for (shard, borrower) in trade.lent {
            if self.owners[shard as usize] == Some(who) && !is_dead(borrower) {
                self.loans.entry(shard).or_insert(borrower);
            }
        }
        let (mut lent, mut borrowed) = (Parts::default(), Parts::default());
        for (shard, borrower) in &self.loans {
            if *borrower == who {
                borrowed.insert(*shard);
            } else if trade.shards.0 >> shard & 1 == 1 {
                lent.insert(*shard);
            }
        }
        self.dispatchers[who].answer = Some((lent, borrowed));
    }

    fn check(&self) {
        let (mut held_by_all, mut in_flight, mut running) = (Parts::default(), 0, 0);
        for (who, me) in self.dispatchers.iter().enumerate().filter(|(_, known)| known.is_running) {
            // What is being given back may be another's as soon as that is written.
            let returned = me.trade.as_ref().map(|trade| trade.returned).unwrap_or_default();
            let usable = me.places.usable(self.known(who));
            let held = usable.and(me.places.borrowed.without(returned));
            assert_eq!(held.0 & held_by_all.0, 0, "used twice: {:?}", self.dispatchers);
            assert!(me.in_flight <= places_of(self.concurrency, held.count(), ALL), "{me:?}");
            held_by_all = held_by_all.and(held);
            in_flight += me.in_flight;
            running += 1;
        }
        assert!(in_flight < self.concurrency + running.max(1), "{in_flight}");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..DISPATCHERS;
    prop_oneof![
        6 => who().prop_map(|who| Step::Send(who, 100)),
        12 => who().prop_map(Step::Start),
        4 => (who(), 1..64_usize).prop_map(|(who, count)| Step::Land(who, count)),
        4 => who().prop_map(Step::Rest),
        12 => (who(), who(), 1..ALL).prop_map(|(who, by, wanted)| Step::Ask(who, by, wanted)),
        3 => who().prop_map(Step::StopBorrowing),
        3 => who().prop_map(Step::Trade),
        3 => who().prop_map(Step::Write),
        1 => who().prop_map(Step::WriteLate),
        3 => who().prop_map(Step::Hear),
        12 => who().prop_map(Step::Exchange),
        1 => who().prop_map(Step::Die),
        1 => who().prop_map(Step::Expire),
        4 => (who(), 1..ALL).prop_map(|(who, count)| Step::Acquire(who, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_part_is_used_by_two_whatever_is_late_lost_or_repeated(
        concurrency in 1..65_usize,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut world = World::new(concurrency);
        for who in 0..DISPATCHERS {
            world.step(Step::Acquire(who, ALL.div_ceil(DISPATCHERS)));
            world.step(Step::Exchange(who));
        }
        for step in steps {
            world.step(step);
            world.check();
        }
    }
}

#[test]
fn a_burst_at_one_of_four_gets_everything_and_gives_it_back() {
    for concurrency in [1, 4, 10, 64] {
        let mut world = World::new(concurrency);
        let trade = |world: &mut World, who| {
            world.step(Step::Exchange(who));
        };
        for who in 0..4 {
            world.step(Step::Acquire(who, 4));
            trade(&mut world, who);
        }
        world.step(Step::Send(0, 500));
        (1..4).for_each(|who| {
            world.step(Step::Ask(who, 0, ALL));
            trade(&mut world, who);
        });
        trade(&mut world, 0);
        world.step(Step::Start(0));
        assert_eq!(world.dispatchers[0].in_flight, concurrency);
        world.step(Step::StopBorrowing(0));
        (0..concurrency).for_each(|_| world.step(Step::Land(0, 1)));
        (0..4).for_each(|who| trade(&mut world, who));
        assert!(world.loans.is_empty());
        let expected = places_of(concurrency, 4, ALL);
        (0..4).for_each(|who| assert_eq!(world.limit(who), expected));
    }
}

#[test]
fn a_borrower_that_dies_gives_back_when_its_lease_is_over() {
    let mut world = World::new(16);
    for step in [
        Step::Acquire(0, 8),
        Step::Trade(0),
        Step::Write(0),
        Step::Hear(0),
        Step::Ask(0, 1, ALL),
        Step::Trade(0),
        Step::Write(0),
        Step::Die(1),
        Step::Hear(0),
    ] {
        world.step(step);
    }
    assert_eq!(world.limit(0), 1);
    for step in [Step::Expire(1), Step::Trade(0), Step::Write(0), Step::Hear(0)] {
        world.step(step);
    }
    assert_eq!(world.limit(0), 8);
}
