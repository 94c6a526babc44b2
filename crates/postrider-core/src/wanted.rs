//! Ordering keys of which the next waiting delivery has to be fetched, and whose turn it is.
//!
//! Keys are asked for by endpoint, and endpoints and keys take turns: those that get nowhere, because their endpoint has no
//! room, cost one step for all of them and hold up no other. Where keys are ordered across endpoints they are
//! asked for everywhere at once; one that turns out to wait for room at an endpoint is *parked* there until it has some.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use crate::{
    hashing::HashMap,
    id::{EndpointId, Priority},
};

/// Keys of one endpoint that are asked for at a time, while others have some too.
const SHARE: usize = 16;
/// Keys, and endpoints, that are looked at for one question.
const LOOKS: usize = 1_024;

/// What there is to say of a key that may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Nothing of it is known any more.
    Gone,
    /// Something of it is being recorded.
    NotNow,
    /// Its version, see [`Chains::version`](crate::chains::Chains::version).
    At(u64),
}

/// A key, where it is asked for, and its version.
pub type Asked = (Arc<str>, EndpointId, u64);

#[derive(Debug, Default)]
struct Keys {
    keys: BTreeSet<Arc<str>>,
    /// The one that had its turn last.
    last: Option<Arc<str>>,
}

/// The place of an endpoint for messages of a priority.
type Room = (EndpointId, Priority);

#[derive(Debug, Default)]
pub struct WantedKeys {
    by_endpoint: BTreeMap<EndpointId, Keys>,
    /// The endpoint that had its turn last.
    last: Option<EndpointId>,
    parked: BTreeMap<Room, Keys>,
    last_parked: Option<Room>,
    parked_at: HashMap<Arc<str>, (Room, EndpointId)>,
}

impl WantedKeys {
    pub fn is_empty(&self) -> bool {
        self.by_endpoint.is_empty() && self.parked.is_empty()
    }

    pub fn clear(&mut self) {
        *self = WantedKeys::default();
    }

    /// The key is to be asked for at this endpoint, whatever kept it from that.
    pub fn insert(&mut self, key: Arc<str>, endpoint: EndpointId) {
        self.leave_parking(&key);
        self.by_endpoint.entry(endpoint).or_default().keys.insert(key);
    }

    pub fn remove(&mut self, key: &Arc<str>, endpoint: EndpointId) {
        self.leave_parking(key);
        if let Some(keys) = self.by_endpoint.get_mut(&endpoint) {
            keys.keys.remove(key);
            if keys.keys.is_empty() {
                self.by_endpoint.remove(&endpoint);
            }
        }
    }

    /// The next of the key waits for room, and is asked for when there is some.
    pub fn park(&mut self, key: &Arc<str>, endpoint: EndpointId, room: Room) {
        self.remove(key, endpoint);
        self.parked.entry(room).or_default().keys.insert(Arc::clone(key));
        self.parked_at.insert(Arc::clone(key), (room, endpoint));
    }

    fn leave_parking(&mut self, key: &Arc<str>) {
        let Some((room, _)) = self.parked_at.remove(key) else { return };
        if let Some(keys) = self.parked.get_mut(&room) {
            keys.keys.remove(key);
            if keys.keys.is_empty() {
                self.parked.remove(&room);
            }
        }
    }

    /// Which keys to ask for now, `most` at most, and whether any is left out only until something is recorded.
    pub fn next(
        &mut self,
        most: usize,
        has_room: impl Fn(EndpointId, Priority) -> bool,
        asking: impl Fn(&str) -> Asking,
    ) -> (Vec<Asked>, bool) {
        self.unpark(most, &has_room);
        let is_any_busy = Cell::new(false);
        let asking = |key: &str| {
            let answer = asking(key);
            is_any_busy.set(is_any_busy.get() || answer == Asking::NotNow);
            answer
        };
        let share = SHARE.max(most / self.by_endpoint.len().max(1));
        let mut looks = LOOKS;
        let mut asked = Vec::new();
        for endpoint in turns(&self.by_endpoint, self.last.as_ref(), LOOKS) {
            if asked.len() >= most || looks == 0 {
                break;
            }
            self.last = Some(endpoint);
            // Of those that stand for all endpoints nobody knows yet where they wait.
            if endpoint != EVERYWHERE && !has_room(endpoint, Priority::LOWEST) {
                continue;
            }
            let Some(keys) = self.by_endpoint.get_mut(&endpoint) else { continue };
            keys.ask(endpoint, share.min(most - asked.len()), &mut looks, asking, &mut asked);
            if keys.keys.is_empty() {
                self.by_endpoint.remove(&endpoint);
            }
        }
        (asked, is_any_busy.get())
    }

    /// Keys that waited for room where there is some now.
    fn unpark(&mut self, most: usize, has_room: impl Fn(EndpointId, Priority) -> bool) {
        for room in turns(&self.parked, self.last_parked.as_ref(), LOOKS) {
            self.last_parked = Some(room);
            if !has_room(room.0, room.1) {
                continue;
            }
            let Some(keys) = self.parked.get_mut(&room) else { continue };
            let next: Vec<_> = keys.turns().take(most).map(Arc::clone).collect();
            keys.last = next.last().cloned();
            for key in next {
                if let Some((_, endpoint)) = self.parked_at.get(&key) {
                    self.insert(key, *endpoint);
                }
            }
        }
    }
}

/// Where a key is asked for that is ordered across all endpoints.
pub const EVERYWHERE: EndpointId = EndpointId(0);

impl Keys {
    /// All of them, from the one after the last on.
    fn turns(&self) -> impl Iterator<Item = &Arc<str>> {
        let (after, before) = match &self.last {
            Some(last) => {
                let after = self.keys.range((Excluded(Arc::clone(last)), Unbounded));
                (after, Some(self.keys.range(..=Arc::clone(last))))
            }
            None => (self.keys.range::<Arc<str>, _>(..), None),
        };
        after.chain(before.into_iter().flatten())
    }

    /// Asks for up to so many keys, from the one after the last on.
    fn ask(
        &mut self,
        endpoint: EndpointId,
        most: usize,
        looks: &mut usize,
        asking: impl Fn(&str) -> Asking,
        asked: &mut Vec<Asked>,
    ) {
        let mut gone = Vec::new();
        let mut count = 0;
        let mut last = None;
        for key in self.turns() {
            if count == most || *looks == 0 {
                break;
            }
            *looks -= 1;
            last = Some(Arc::clone(key));
            match asking(key) {
                Asking::Gone => gone.push(Arc::clone(key)),
                Asking::NotNow => {}
                Asking::At(version) => {
                    asked.push((Arc::clone(key), endpoint, version));
                    count += 1;
                }
            }
        }
        self.last = last.or(self.last.take());
        for key in gone {
            self.keys.remove(&key);
        }
    }
}

/// Up to so many keys of a map, from the one after the last on, each once.
fn turns<K: Ord + Copy, V>(map: &BTreeMap<K, V>, last: Option<&K>, most: usize) -> Vec<K> {
    match last {
        Some(last) => {
            let after = map.range((Excluded(*last), Unbounded));
            after.chain(map.range(..=*last)).take(most).map(|(key, _)| *key).collect()
        }
        None => map.keys().take(most).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: fn(&str) -> Asking = |_| Asking::At(1);

    fn key(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    fn names(asked: &[Asked]) -> Vec<&str> {
        asked.iter().map(|(key, ..)| &**key).collect()
    }

    #[test]
    fn keys_that_get_nowhere_hold_up_no_other() {
        let mut wanted = WantedKeys::default();
        for number in 0..100 {
            wanted.insert(key(&format!("{number:03}")), EVERYWHERE);
        }
        wanted.insert(key("z"), EVERYWHERE);
        let mut rounds = 0;
        // Nothing is ever removed: what was asked for gets nowhere.
        while !names(&wanted.next(64, |_, _| false, ANY).0).contains(&"z") {
            rounds += 1;
            assert!(rounds < 3);
        }
    }

    #[test]
    fn an_endpoint_without_room_costs_one_step_and_is_not_asked() {
        let mut wanted = WantedKeys::default();
        for number in 0..10_000 {
            wanted.insert(key(&number.to_string()), EndpointId(1));
        }
        wanted.insert(key("z"), EndpointId(2));
        let looks = Cell::new(0);
        let count = |_: &str| {
            looks.set(looks.get() + 1);
            Asking::At(1)
        };
        let asked = wanted.next(64, |endpoint, _| endpoint == EndpointId(2), count).0;
        assert_eq!(names(&asked), ["z"]);
        assert_eq!(looks.get(), 1);
    }

    #[test]
    fn endpoints_share_a_question() {
        let mut wanted = WantedKeys::default();
        for number in 0..1_000 {
            wanted.insert(key(&number.to_string()), EndpointId(1));
        }
        for endpoint in 2..9 {
            wanted.insert(key("a"), EndpointId(endpoint));
        }
        let mut seen = BTreeSet::new();
        for _ in 0..2 {
            let asked = wanted.next(64, |_, _| true, ANY).0;
            assert!(asked.iter().filter(|(_, at, _)| *at == EndpointId(1)).count() <= SHARE);
            seen.extend(asked.into_iter().map(|(_, at, _)| at.0));
        }
        assert_eq!(seen, (1..9).collect());
    }

    #[test]
    fn all_keys_of_an_endpoint_take_turns() {
        let mut wanted = WantedKeys::default();
        for number in 0..50 {
            wanted.insert(key(&format!("{number:02}")), EndpointId(1));
        }
        let mut seen = Vec::new();
        for _ in 0..5 {
            let asked = wanted.next(10, |_, _| true, |_| Asking::At(1)).0;
            seen.extend(names(&asked).iter().map(|name| (*name).to_owned()));
        }
        let all: BTreeSet<&String> = seen.iter().collect();
        assert_eq!((seen.len(), all.len()), (50, 50));
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_is_being_recorded_stays() {
        let mut wanted = WantedKeys::default();
        wanted.insert(key("gone"), EndpointId(1));
        wanted.insert(key("busy"), EndpointId(1));
        let asking = |key: &str| match key {
            "gone" => Asking::Gone,
            _ => Asking::NotNow,
        };
        assert!(wanted.next(64, |_, _| true, asking).0.is_empty());
        assert_eq!(names(&wanted.next(64, |_, _| true, ANY).0), ["busy"]);
        wanted.remove(&key("busy"), EndpointId(1));
        assert!(wanted.is_empty());
    }

    #[test]
    fn a_parked_key_is_asked_for_when_there_is_room() {
        let mut wanted = WantedKeys::default();
        let room = (EndpointId(7), Priority::LOWEST);
        wanted.insert(key("a"), EVERYWHERE);
        wanted.park(&key("a"), EVERYWHERE, room);
        assert!(wanted.next(64, |_, _| false, ANY).0.is_empty());
        assert!(!wanted.is_empty());
        let asked = wanted.next(64, |endpoint, _| endpoint == EndpointId(7), ANY).0;
        assert_eq!(asked, [(key("a"), EVERYWHERE, 1)]);
    }

    #[test]
    fn news_of_a_parked_key_is_heeded_at_once_and_it_is_asked_for_once() {
        let mut wanted = WantedKeys::default();
        let room = (EndpointId(7), Priority::LOWEST);
        wanted.park(&key("a"), EVERYWHERE, room);
        wanted.insert(key("a"), EVERYWHERE);
        assert_eq!(names(&wanted.next(64, |_, _| true, ANY).0), ["a"]);
        wanted.park(&key("a"), EVERYWHERE, room);
        wanted.remove(&key("a"), EVERYWHERE);
        assert!(wanted.is_empty());
    }
}
