//! What of endpoints' concurrency is lent to other dispatchers and borrowed from them. Who may use what is
//! decided by [`crate::places`].
//!
//! Whoever has more to send than its part allows asks. Whoever does not need its part lends it, and may ask for it
//! back like anybody else: a borrower that hears that others ask gives everything back. One trade is under way at
//! a time, so that what was read is never older than what was written. While nobody is full, nothing is traded.

use std::{
    collections::hash_map::Entry,
    time::{Duration, Instant},
};

use uuid::Uuid;

use crate::{
    hashing::HashMap,
    id::{EndpointId, Shard},
    lease::Owned,
    places::{Parts, Places, parts_for},
    sharing::{Loan, Trade},
};

/// Who asked and got nothing asks again after a while, later every time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Endpoints for which is asked by one trade, and how soon after the last.
const ASKED: usize = 50;
const ASK_INTERVAL: Duration = Duration::from_millis(20);
/// Endpoints of which others' wishes are remembered.
const WISHES: usize = 1_000;
/// Wishes for an endpoint are heeded so long after the last ones. Anybody may say that somebody wishes, and each wish
/// ends what is borrowed or lends something. Who asks and got nothing asks again after twice as long, or more.
const WISH_PAUSE: Duration = Duration::from_millis(25);
/// So often is looked whether what is borrowed is still needed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// So often is looked whether what is lent is back: borrowers say so, but may die.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct Loans {
    /// Our shards, those of them whose loans are known, and the same as parts.
    owned: Vec<Owned>,
    known: HashMap<Shard, i64>,
    parts: Parts,
    places: HashMap<EndpointId, Places>,
    /// Endpoints that have more to send than our part allows.
    wanting: HashMap<EndpointId, Asking>,
    ask_at: Option<Instant>,
    /// What others could use, and who.
    wishes: HashMap<EndpointId, (Uuid, usize)>,
    /// When the next of them may be heeded, and until when those for an endpoint wait.
    wish_at: Option<Instant>,
    resting: HashMap<EndpointId, Instant>,
    /// The loans have changed, as far as we know.
    is_stale: bool,
    is_trading: bool,
    look_at: Option<Instant>,
    refresh_at: Option<Instant>,
}

struct Asking {
    at: Instant,
    pause: Duration,
}

/// What there is to send to an endpoint.
#[derive(Default)]
pub struct Demand {
    pub concurrency: usize,
    pub in_flight: usize,
    pub waiting: usize,
}

impl Loans {
    pub fn set_owned(&mut self, owned: impl Iterator<Item = Owned> + Clone) {
        if !owned.clone().eq(self.owned.iter().copied()) {
            self.owned = owned.collect();
            let is_known = |owned: &Owned| self.known.get(&owned.shard) == Some(&owned.epoch);
            self.is_stale |= !self.owned.iter().all(is_known);
            self.count_parts();
        }
    }

    /// How many shards are ours.
    pub fn owned_count(&self) -> usize {
        self.owned.len()
    }

    /// Before its loans are known a shard is not used.
    fn count_parts(&mut self) {
        self.parts = Parts::default();
        for Owned { shard, epoch } in &self.owned {
            if self.known.get(shard) == Some(epoch) {
                self.parts.insert(shard.0);
            }
        }
    }

    /// How many parts of an endpoint's concurrency we may use.
    pub fn parts(&self, id: EndpointId) -> usize {
        match self.places.is_empty() {
            true => self.parts.count(),
            false => self.places_of(id).usable(self.parts).count(),
        }
    }

    fn places_of(&self, id: EndpointId) -> Places {
        self.places.get(&id).copied().unwrap_or_default()
    }

    /// There is more to send than our part allows.
    pub fn want(&mut self, id: EndpointId, now: Instant) {
        if let Entry::Vacant(entry) = self.wanting.entry(id) {
            entry.insert(Asking { at: now, pause: FIRST_PAUSE });
            self.ask_at = Some(self.ask_at.map_or(now, |at| at.min(now + ASK_INTERVAL)));
        }
    }

    /// Somebody else could use so many parts.
    pub fn note_asked(&mut self, id: EndpointId, borrower: Uuid, parts: usize, now: Instant) {
        if self.wishes.len() < WISHES {
            self.wishes.insert(id, (borrower, parts));
            let at = self.resting.get(&id).map_or(now, |until| now.max(*until));
            self.wish_at = Some(self.wish_at.map_or(at, |known| known.min(at)));
        }
    }

    /// The wishes that are heeded now.
    fn take_wishes(&mut self, now: Instant) -> HashMap<EndpointId, (Uuid, usize)> {
        if self.wish_at.is_none_or(|at| now < at) {
            return HashMap::default();
        }
        self.resting.retain(|_, until| now < *until);
        let (due, later): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut self.wishes)
            .into_iter()
            .partition(|(id, _)| !self.resting.contains_key(id));
        self.wish_at = later.keys().filter_map(|id| self.resting.get(id)).min().copied();
        self.resting.extend(due.keys().map(|id| (*id, now + WISH_PAUSE)));
        self.wishes = later;
        due
    }

    pub fn is_trading(&self) -> bool {
        self.is_trading
    }

    pub fn doubt(&mut self) {
        self.is_stale = true;
    }

    /// When there may be something to do.
    pub fn trade_at(&self) -> Option<Instant> {
        if self.is_trading {
            return None;
        }
        [self.ask_at, self.look_at, self.refresh_at, self.wish_at].into_iter().flatten().min()
    }

    /// What is to be written and asked now; `None`: nothing.
    pub fn next_trade(
        &mut self,
        now: Instant,
        all: usize,
        demand: impl Fn(EndpointId) -> Demand,
    ) -> Option<Trade> {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let is_asking = is_due(self.ask_at);
        if self.is_trading {
            return None;
        }
        let moments = [self.ask_at, self.look_at, self.refresh_at, self.wish_at];
        if !self.is_stale && !moments.into_iter().any(is_due) {
            return None;
        }
        let mut trade = Trade::default();
        for (id, (borrower, wanted)) in self.take_wishes(now) {
            self.heed_wish(id, borrower, wanted, all, &demand(id), &mut trade);
        }
        if is_due(self.look_at) || !self.places.is_empty() {
            self.give_back(now, all, &demand, &mut trade);
        }
        if is_asking {
            self.ask(now, all, &demand, &mut trade);
        }
        let is_idle = trade.lent.is_empty() && trade.returned.is_empty() && trade.asked.is_empty();
        if is_idle && !self.is_stale && !is_due(self.refresh_at) {
            return None;
        }
        self.is_stale = false;
        self.is_trading = true;
        Some(trade)
    }

    /// Lends what is not needed; what is borrowed is given back.
    fn heed_wish(
        &mut self,
        id: EndpointId,
        borrower: Uuid,
        wanted: usize,
        all: usize,
        demand: &Demand,
        trade: &mut Trade,
    ) {
        let mut places = self.places_of(id);
        if places.has_borrowed() {
            places.stop_borrowing();
        } else {
            let needed = parts_for(demand.in_flight + demand.waiting, demand.concurrency, all);
            let lent = places.lend(self.parts, needed, wanted);
            trade.lent.extend(lent.shards().map(|shard| (id, Shard(shard), borrower)));
        }
        if !places.is_plain() {
            self.places.insert(id, places);
        }
    }

    /// Gives back what is not needed any more, or not ours to use.
    fn give_back(
        &mut self,
        now: Instant,
        all: usize,
        demand: impl Fn(EndpointId) -> Demand,
        trade: &mut Trade,
    ) {
        let has_to_look = self.look_at.is_some_and(|at| at <= now);
        if has_to_look {
            self.look_at = Some(now + LOOK_INTERVAL);
        }
        for (id, places) in self.places.iter_mut().filter(|(_, places)| places.has_borrowed()) {
            let Demand { concurrency, in_flight, waiting } = demand(*id);
            if has_to_look && parts_for(in_flight + waiting, concurrency, all) <= self.parts.count()
            {
                places.stop_borrowing();
            }
            let returned = places.returnable(self.parts, parts_for(in_flight, concurrency, all));
            trade.returned.extend(returned.shards().map(|shard| (*id, Shard(shard))));
        }
    }

    /// Asks for endpoints that are still short of places.
    fn ask(
        &mut self,
        now: Instant,
        all: usize,
        demand: impl Fn(EndpointId) -> Demand,
        trade: &mut Trade,
    ) {
        let (places, parts) = (&self.places, self.parts);
        let mut next: Option<Instant> = None;
        self.wanting.retain(|id, asking| {
            let Demand { concurrency, in_flight, waiting } = demand(*id);
            let usable = places.get(id).copied().unwrap_or_default().usable(parts).count();
            let needed = parts_for(in_flight + waiting, concurrency, all);
            if waiting == 0 || needed <= usable {
                return false;
            }
            if asking.at <= now && trade.asked.len() < ASKED {
                trade.asked.push((*id, needed - usable));
                asking.at = now + asking.pause;
                asking.pause = (asking.pause * 2).min(LONGEST_PAUSE);
            }
            next = Some(next.map_or(asking.at, |at| at.min(asking.at)));
            true
        });
        self.ask_at = next.map(|at| at.max(now + ASK_INTERVAL));
    }

    /// All loans that the owner of these shards has to heed; the endpoints that have more places now.
    pub fn learn(&mut self, owned: &[Owned], loans: &[Loan], now: Instant) -> Vec<EndpointId> {
        self.is_trading = false;
        self.known = owned.iter().map(|owned| (owned.shard, owned.epoch)).collect();
        self.count_parts();
        let mut read: HashMap<EndpointId, (Parts, Parts)> = HashMap::default();
        for loan in loans {
            let (lent, borrowed) = read.entry(loan.endpoint).or_default();
            if loan.is_borrowed { borrowed } else { lent }.insert(loan.shard.0);
        }
        let mut changed: Vec<EndpointId> = self.places.keys().chain(read.keys()).copied().collect();
        changed.sort_unstable();
        changed.dedup();
        for id in &changed {
            let (lent, borrowed) = read.get(id).copied().unwrap_or_default();
            let mut places = self.places_of(*id);
            let former = places.usable(self.parts).count();
            places.learn(lent, borrowed);
            if places.usable(self.parts).count() > former
                && let Some(asking) = self.wanting.get_mut(id)
            {
                asking.pause = FIRST_PAUSE;
            }
            match places.is_plain() {
                true => self.places.remove(id),
                false => self.places.insert(*id, places),
            };
        }
        let has_borrowed = self.places.values().any(Places::has_borrowed);
        let has_lent = self.places.values().any(Places::has_lent);
        self.look_at = self.look_at.filter(|_| has_borrowed);
        if has_borrowed {
            self.look_at.get_or_insert(now + LOOK_INTERVAL);
        }
        self.refresh_at = has_lent.then(|| now + REFRESH_INTERVAL);
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_heeded_at_once_and_those_for_one_endpoint_with_pauses() {
        let now = Instant::now();
        let ms = |ms: u64| now + Duration::from_millis(ms);
        let nothing = |_: EndpointId| Demand::default();
        let [one, other] = [1, 2].map(EndpointId);
        let owned: Vec<Owned> =
            (0..8).map(|shard| Owned { shard: Shard(shard), epoch: 1 }).collect();
        let mut loans = Loans::default();
        loans.set_owned(owned.iter().copied());
        assert!(loans.next_trade(now, 8, nothing).is_some(), "what is lent is not known yet");
        loans.learn(&owned, &[], now);

        let borrower = Uuid::from_u128(7);
        let mut written: Vec<Loan> = Vec::new();
        let mut lent: Vec<(u64, EndpointId)> = Vec::new();
        for at in 0..100 {
            loans.note_asked(one, borrower, 1, ms(at));
            if at >= 10 {
                loans.note_asked(other, borrower, 1, ms(at));
            }
            assert!(loans.trade_at().is_some_and(|next| next <= ms(at) + WISH_PAUSE));
            let Some(trade) = loans.next_trade(ms(at), 8, nothing) else { continue };
            for (endpoint, shard, _) in trade.lent {
                lent.push((at, endpoint));
                written.push(Loan { endpoint, shard, is_borrowed: false });
            }
            loans.learn(&owned, &written, ms(at));
        }
        let expected = [0_u64, 25, 50, 75].map(|at| [(at, one), (at + 10, other)]).concat();
        assert_eq!(lent, expected);
        // Those that have come since are heeded, too.
        let end = [loans.trade_at(), loans.next_trade(ms(99), 8, nothing).map(|_| now)];
        assert_eq!(end, [Some(ms(100)), None]);
        assert!(loans.next_trade(ms(100), 8, nothing).is_some());
        assert!(WISH_PAUSE < FIRST_PAUSE, "who asks again would be heeded at every other time");
    }
}
