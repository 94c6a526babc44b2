//! When to sleep, and who wakes us.

use super::*;

impl Dispatcher {
    /// When nothing is to be read, senders shall ring from now on.
    pub(super) fn arrange_sleep(&mut self, now: Instant) {
        let has_shards = !self.lanes.is_empty();
        if self.tenancy.identity.is_audible && has_shards && !self.lanes.is_walking() {
            self.watch.try_to_sleep(now);
        }
    }

    pub(super) fn work_at_doorbell(&mut self) {
        match self.watch.take_work() {
            Some(Bellwork::Lock) => self.ask(Query::LockDoorbell(self.lanes.shards())),
            Some(Bellwork::Unlock) => self.ask(Query::UnlockDoorbell),
            None => {}
        }
    }

    /// Heeds what notifications say. Anybody may notify, as often as they like: what they ask for is asked with pauses
    /// (see [`Chore`]), and keys are looked through later, for all of them (see [`heed_marks`](Self::heed_marks)).
    pub fn heed(&mut self, signals: impl Iterator<Item = Signal>, now: Instant) {
        self.set_now(now);
        for signal in signals {
            self.heed_one(signal);
        }
    }

    fn heed_one(&mut self, signal: Signal) {
        let now = self.now;
        match signal {
            Signal::Ring => self.watch.ring(now),
            Signal::Shards => self.tenancy.ring(),
            Signal::Endpoints => {
                self.upkeep.endpoints.ring();
                self.command(Command::Wish(Wish::Limits));
            }
            Signal::Settings => self.upkeep.settings.ring(),
            Signal::Circuits => self.upkeep.circuits.ring(),
            Signal::Consumers => self.command(Command::Wish(Wish::Consumers)),
            Signal::Jobs => self.command(Command::Wish(Wish::Job)),
            Signal::Key(mark) => self.followers.note_mark(mark),
            Signal::Asked(borrower, asked) if self.tenancy.knows(borrower) => {
                self.endpoints.note_asked(borrower, &asked);
            }
            // One that came after our last heartbeat is known by the next, and asks again until then.
            Signal::Asked(borrower, _) if borrower != self.tenancy.identity.id => {
                self.tenancy.ring()
            }
            Signal::Loans(id) if id == self.tenancy.identity.id => self.upkeep.loans.ring(),
            Signal::Asked(..) | Signal::Loans(_) | Signal::Unknown => {}
            Signal::Deferred => {
                self.upkeep.ahead.ring();
                self.account.count_soon(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::stand::{acquire, dispatcher, own, queries, renewed, switch},
        *,
    };
    use crate::tick::Written;

    /// How often it asks for each thing that is rung for. It is answered at once.
    fn asked(dispatcher: &mut Dispatcher, began: Instant, now: Instant) -> [usize; 6] {
        let mut counts = [0; 6];
        for command in dispatcher.step(now) {
            let (kind, event) = match command {
                Command::Beat(_) => {
                    counts[0] += 1;
                    dispatcher.take_news(renewed(began, now, &[]), now);
                    continue;
                }
                Command::Ask(Query::LoadVersions) => {
                    (1, Event::Endpoints(Ok((Vec::new(), Vec::new()))))
                }
                Command::Ask(Query::LoadSettings) => {
                    let (settings, event_type_policies) = (Vec::new(), Vec::new());
                    (2, Event::Settings(Ok(SharedSettings { settings, event_type_policies })))
                }
                Command::Ask(Query::LoadCircuits(_)) => (3, Event::Circuits(Ok(Vec::new()))),
                Command::Ask(Query::FetchNext(_)) => (4, Event::Waiting(Ok(Vec::new()))),
                Command::Ask(Query::Trade(owned, _)) => (5, Event::Traded(owned, Ok(Vec::new()))),
                _ => continue,
            };
            counts[kind] += 1;
            dispatcher.take(event, now);
        }
        counts
    }

    #[test]
    fn whoever_rings_is_served_at_once_and_not_all_the_time() {
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        let mut dispatcher = dispatcher(began);
        acquire(&mut dispatcher, Stored::default(), began);
        assert_eq!(asked(&mut dispatcher, began, began), [1; 6], "all is asked for at first");
        assert_eq!(asked(&mut dispatcher, began, ms(1_500)), [0; 6], "and then now and then");

        let all = [
            Signal::Shards,
            Signal::Endpoints,
            Signal::Settings,
            Signal::Circuits,
            Signal::Deferred,
            Signal::Loans(Uuid::nil()),
        ];
        let mut ring = |at: u64| {
            dispatcher.heed(all.iter().cloned(), ms(at));
            assert!(dispatcher.wake_at() <= ms(at + 200), "it would sleep");
            asked(&mut dispatcher, began, ms(at))
        };
        assert_eq!(ring(1_500), [1; 6], "at once");
        let mut counts = [0; 6];
        for at in 1_501..=3_500 {
            for (count, asked) in std::iter::zip(&mut counts, ring(at)) {
                *count += asked;
            }
        }
        assert_eq!(counts, [10, 20, 20, 20, 20, 40]);
        assert!(dispatcher.take_failure().is_none());
    }

    #[test]
    fn wishes_are_heeded_of_those_whom_a_heartbeat_has_named() {
        let began = Instant::now();
        let at = began + Duration::from_secs(1);
        let mut dispatcher = dispatcher(began);
        acquire(&mut dispatcher, Stored::default(), began);
        asked(&mut dispatcher, began, began);
        switch(&mut dispatcher, 1, true, began);

        let id = Uuid::from_u128(7);
        let wish = |dispatcher: &mut Dispatcher| {
            let signal = Signal::Asked(id, vec![(EndpointId(1), 9)]);
            dispatcher.heed(std::iter::once(signal), at);
            let [beats, .., trades] = asked(dispatcher, began, at);
            [beats, trades]
        };
        assert_eq!(wish(&mut dispatcher), [1, 0], "it may have come just now");
        assert_eq!(wish(&mut dispatcher), [0, 0], "there is no such dispatcher");
        dispatcher.take_news(renewed(began, at, &[id]), at);
        assert_eq!(wish(&mut dispatcher), [0, 1]);
        assert!(dispatcher.take_failure().is_none());
    }

    fn found_nothing(groups: Vec<TickGroup>) -> Event {
        let tick = || Tick::Rows {
            top: "10:10:".parse().unwrap(),
            rows: Vec::new(),
            last_number: 0,
            written: Written { upto: 0, flushed: 0, has_standbys: false, number: 0 },
        };
        let answers = groups.into_iter().map(|group| (group, tick(), None)).collect();
        Event::Ticked(Ok((answers, true)))
    }

    #[test]
    fn a_ring_brings_a_tick_at_once_and_a_loop_of_rings_one_now_and_then() {
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        let mut dispatcher = dispatcher(began);
        own(&mut dispatcher, began);

        // How many ticks there are in five steps, with a ring before each or without.
        let mut ticks = |at: u64, is_rung: bool| {
            let mut count = 0;
            for _ in 0..5 {
                dispatcher.heed(is_rung.then_some(Signal::Ring).into_iter(), ms(at));
                for query in queries(dispatcher.step(ms(at))) {
                    if let Query::Tick(groups) = query {
                        count += 1;
                        dispatcher.take(found_nothing(groups), ms(at));
                    }
                }
            }
            count
        };
        let counts: Vec<usize> = (0..100).map(|at| ticks(at, true)).collect();
        assert_eq!(counts, [1_usize; 100]);
        // It tries to sleep.
        (100..500).for_each(|at| _ = ticks(at, false));
        assert_eq!([false, true].map(|is_rung| ticks(500, is_rung)), [0, 1], "at once");
        assert!(dispatcher.take_failure().is_none());
    }
}
