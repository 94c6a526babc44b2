//! When to sleep, and who wakes us.

use super::*;

impl Dispatcher {
    /// When a tick found nothing and nothing else is to be read, senders shall ring from now on.
    pub(super) fn arrange_sleep(&mut self) {
        let is_quiet = self.bell == Bell::Open
            && self.has_looked
            && self.now - self.active_at >= WAKEFUL
            && !self.is_at_bell
            && self.identity.is_audible
            && !self.is_ticking
            && !self.lanes.is_walking();
        let shards = self.lanes.shards();
        if !is_quiet || shards.is_empty() {
            return;
        }
        self.bell = Bell::Trying;
        self.is_at_bell = true;
        // A try that fails is repeated after the next empty tick.
        self.has_looked = false;
        self.ask(Query::LockDoorbell(shards));
    }

    pub(super) fn take_doorbell(&mut self, is_locked: bool) {
        self.is_at_bell = false;
        if self.bell != Bell::Trying {
            // Somebody rang meanwhile.
            if is_locked {
                self.unlock_doorbell();
            }
            return;
        }
        let now = self.now;
        if is_locked {
            self.bell = Bell::Armed;
            self.tick_at = now;
        } else {
            self.bell = Bell::Open;
            self.tick_at = now + self.tick_pause;
        }
    }

    /// We are awake: senders need not ring.
    pub(super) fn ring_off(&mut self) {
        if matches!(self.bell, Bell::Armed | Bell::Asleep(_)) {
            self.unlock_doorbell();
        }
        self.bell = Bell::Open;
    }

    pub(super) fn unlock_doorbell(&mut self) {
        self.is_at_bell = true;
        self.ask(Query::UnlockDoorbell);
    }

    /// Heeds what notifications say. Anybody may notify, as often as they like: what they ask for is asked with pauses
    /// (see [`Rings`]), and keys are looked through later, for all of them (see [`heed_marks`](Self::heed_marks)).
    pub fn heed(&mut self, signals: impl Iterator<Item = Signal>, now: Instant) {
        self.set_now(now);
        for signal in signals {
            self.heed_one(signal);
        }
    }

    fn heed_one(&mut self, signal: Signal) {
        let now = self.now;
        match signal {
            Signal::Ring => {
                self.active_at = now;
                self.tick_pause = SHORT_TICK_PAUSE;
                self.tick_at = now;
                self.ring_off();
            }
            Signal::Shards => self.rings.shards.ring(),
            Signal::Endpoints => {
                self.rings.endpoints.ring();
                self.command(Command::Wish(Wish::Limits));
            }
            Signal::Settings => self.rings.settings.ring(),
            Signal::Circuits => self.rings.circuits.ring(),
            Signal::Consumers => self.command(Command::Wish(Wish::Consumers)),
            Signal::Jobs => self.command(Command::Wish(Wish::Job)),
            Signal::Key(mark) => self.note_mark(mark),
            Signal::Asked(borrower, asked) if borrower != self.identity.id => {
                self.endpoints.note_asked(borrower, &asked);
            }
            Signal::Loans(id) if id == self.identity.id => self.endpoints.doubt_loans(),
            Signal::Asked(..) | Signal::Loans(_) => {}
            Signal::Deferred => {
                self.rings.deferred.ring();
                self.count_soon();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::keys::tests::{acquire, dispatcher},
        *,
    };

    fn renewed(began: Instant, now: Instant) -> News {
        let heartbeat = Heartbeat {
            is_alive: true,
            lease: Duration::from_secs(15),
            share: 1,
            takeable_count: 0,
            owned: Vec::new(),
            now_us: (now - began).as_micros() as i64,
            clock_offset_ms: 0,
            others: Vec::new(),
            silent: Vec::new(),
        };
        News::Renewed { asked: now, answered: now, heartbeat: Box::new(heartbeat) }
    }

    /// How often it asks for each thing that is rung for. It is answered at once.
    fn asked(dispatcher: &mut Dispatcher, began: Instant, now: Instant) -> [usize; 5] {
        let mut counts = [0; 5];
        for command in dispatcher.step(now) {
            let (kind, event) = match command {
                Command::Beat(_) => {
                    counts[0] += 1;
                    dispatcher.take_news(renewed(began, now), now);
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
        assert_eq!(asked(&mut dispatcher, began, began), [1; 5], "all is asked for at first");
        assert_eq!(asked(&mut dispatcher, began, ms(1_500)), [0; 5], "and then now and then");

        let all = [
            Signal::Shards,
            Signal::Endpoints,
            Signal::Settings,
            Signal::Circuits,
            Signal::Deferred,
        ];
        let mut ring = |at: u64| {
            dispatcher.heed(all.iter().cloned(), ms(at));
            assert!(dispatcher.wake_at() <= ms(at + 200), "it would sleep");
            asked(&mut dispatcher, began, ms(at))
        };
        assert_eq!(ring(1_500), [1; 5], "at once");
        let mut counts = [0; 5];
        for at in 1_501..=3_500 {
            for (count, asked) in std::iter::zip(&mut counts, ring(at)) {
                *count += asked;
            }
        }
        assert_eq!(counts, [10, 20, 20, 20, 20]);
        assert!(dispatcher.take_failure().is_none());
    }
}
