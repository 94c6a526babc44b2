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

    /// Heeds what notifications say. Anybody may notify, as often as they like: keys are looked through later, for all
    /// of them (see [`heed_marks`](Self::heed_marks)).
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
            Signal::Shards => self.beat_at = now,
            Signal::Endpoints => {
                self.endpoints_at = now;
                self.command(Command::Wish(Wish::Limits));
            }
            Signal::Settings => self.settings_at = now,
            Signal::Circuits => self.circuits_at = now,
            Signal::Consumers => self.command(Command::Wish(Wish::Consumers)),
            Signal::Jobs => self.command(Command::Wish(Wish::Job)),
            Signal::Key(mark) => self.note_mark(mark),
            Signal::Asked(borrower, asked) if borrower != self.identity.id => {
                self.endpoints.note_asked(borrower, &asked);
            }
            Signal::Loans(id) if id == self.identity.id => self.endpoints.doubt_loans(),
            Signal::Asked(..) | Signal::Loans(_) => {}
            Signal::Deferred => {
                self.refresh_deferred_at = now;
                self.is_deferred_news = self.is_refreshing_deferred;
                self.count_soon();
            }
        }
    }
}
