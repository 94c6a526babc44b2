use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn link(id: i64, endpoint: i32) -> Link {
    Link { key: "k".into(), id: MessageId(id << 10), endpoint: EndpointId(endpoint) }
}

#[test]
fn one_goes_at_a_time_in_order() {
    let mut chains = Chains::default();
    for id in [1, 2, 3] {
        assert!(chains.read(&link(id, 7)));
    }
    assert_eq!(chains.offer(&link(2, 7), 2), Turn::Wait);
    assert_eq!(chains.offer(&link(1, 7), 1), Turn::Go(1));
    assert_eq!(chains.offer(&link(3, 7), 3), Turn::Wait);
    assert_eq!(chains.leave(&link(1, 7)), Left { going: vec![2], wants_stored: false });
    assert_eq!(chains.leave(&link(2, 7)).going, [3]);
    chains.leave(&link(3, 7));
    assert!(chains.is_empty());
}

#[test]
fn endpoints_do_not_wait_for_each_other_unless_the_scope_is_global() {
    let mut chains = Chains::default();
    for (id, endpoint) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        assert!(chains.read(&link(id, endpoint)));
        chains.offer(&link(id, endpoint), (id, endpoint));
    }
    assert_eq!(chains.leave(&link(1, 2)).going, [(2, 2)]);
    assert_eq!(chains.leave(&link(2, 2)).going, []);
    assert_eq!(chains.leave(&link(1, 1)).going, [(2, 1)]);

    let mut chains = Chains::default();
    chains.set_scope(Scope::Global);
    let mut going = Vec::new();
    for (id, endpoint) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        assert!(chains.read(&link(id, endpoint)));
        if let Turn::Go(delivery) = chains.offer(&link(id, endpoint), (id, endpoint)) {
            going.push(delivery);
        }
    }
    assert_eq!(going, [(1, 1), (1, 2)]);
    assert_eq!(chains.leave(&link(1, 2)).going, []);
    assert_eq!(chains.leave(&link(1, 1)).going, [(2, 1), (2, 2)]);
}

#[test]
fn an_earlier_one_that_comes_back_waits_for_the_one_that_is_on_its_way() {
    let mut chains = Chains::default();
    for id in [2, 3] {
        chains.read(&link(id, 7));
        chains.offer(&link(id, 7), id);
    }
    assert!(chains.fetch(&link(1, 7), true));
    assert_eq!(chains.offer(&link(1, 7), 1), Turn::Wait);
    assert_eq!(chains.leave(&link(2, 7)).going, [1]);
    assert_eq!(chains.leave(&link(1, 7)), Left { going: vec![], wants_stored: true });
    assert_eq!(chains.note_stored("k", EndpointId(7), None), [3]);

    assert!(chains.fetch(&link(1, 7), true));
    assert_eq!(chains.offer(&link(1, 7), 1), Turn::Wait);
    // 3 is tried again later.
    chains.store(&link(3, 7));
    assert_eq!(chains.go_on("k"), [1]);
}

#[test]
fn what_is_ready_and_may_be_behind_something_stored_can_be_taken_out() {
    for scope in [Scope::Endpoint, Scope::Global] {
        let mut chains = Chains::default();
        chains.set_scope(scope);
        for place in [(2, 7), (3, 7), (4, 8)] {
            chains.read(&link(place.0, place.1));
            chains.offer(&link(place.0, place.1), place);
        }
        assert_eq!(chains.take_behind_stored(&link(2, 7)), [], "nothing is stored");
        assert!(chains.fetch(&link(1, 7), true));
        assert_eq!(chains.offer(&link(1, 7), (1, 7)), Turn::Wait);
        assert_eq!(chains.leave(&link(2, 7)).going, [(1, 7)]);
        assert!(chains.leave(&link(1, 7)).wants_stored);
        let behind = chains.take_behind_stored(&link(1, 7));
        match scope {
            Scope::Endpoint => assert_eq!(behind, [(3, 7)], "the other one is on its way"),
            Scope::Global => assert_eq!(behind, [(3, 7), (4, 8)]),
        }
        assert_eq!(chains.take_behind_stored(&link(1, 7)), []);
        for (id, endpoint) in behind {
            assert!(chains.is_blocked(&link(id, endpoint)));
            assert_eq!(chains.put_back(&link(id, endpoint)), []);
        }
        assert!(chains.wants_stored(&link(1, 7)));
    }
}

#[test]
fn what_is_behind_a_retry_is_stored_and_fetched_in_order() {
    let mut chains = Chains::default();
    for id in [1, 2] {
        chains.read(&link(id, 7));
        chains.offer(&link(id, 7), id);
    }
    // 1 fails and waits in the table; 2 has to go there, too, and so has what is read from now on.
    assert_eq!(chains.store(&link(1, 7)), [2]);
    assert!(chains.is_blocked(&link(2, 7)));
    assert!(chains.store(&link(2, 7)).is_empty());
    assert!(!chains.read(&link(3, 7)));
    chains.store(&link(3, 7));
    assert_eq!(chains.version("k"), None);
    for id in [1, 2, 3] {
        chains.note_recorded(&link(id, 7));
    }
    // 1 is due.
    assert!(chains.fetch(&link(1, 7), true));
    assert_eq!(chains.offer(&link(1, 7), 1), Turn::Go(1));
    assert!(chains.has_follower(&link(1, 7)));
    let left = chains.leave(&link(1, 7));
    assert_eq!(left, Left { going: vec![], wants_stored: true });
    assert!(chains.version("k").is_some());
    for id in [2, 3] {
        assert!(chains.fetch(&link(id, 7), true));
    }
    assert!(chains.note_stored("k", EndpointId(7), None).is_empty());
    assert_eq!(chains.offer(&link(3, 7), 3), Turn::Wait);
    assert_eq!(chains.offer(&link(2, 7), 2), Turn::Go(2));
    assert_eq!(chains.leave(&link(2, 7)).going, [3]);
    assert!(!chains.leave(&link(3, 7)).wants_stored);
    assert!(chains.is_empty());
}

#[test]
fn a_fetched_one_does_not_pass_what_was_stored_meanwhile() {
    let mut chains: Chains<i64> = Chains::default();
    chains.read(&link(1, 7));
    chains.store(&link(1, 7));
    // The table was asked before 1 was in it.
    assert!(!chains.fetch(&link(5, 7), true));
    chains.note_recorded(&link(1, 7));
    assert!(!chains.fetch(&link(5, 7), false));
    assert!(chains.fetch(&link(1, 7), true));
}

#[test]
fn a_chain_in_hand_is_short() {
    let mut chains: Chains<i64> = Chains::default();
    let taken = (1..100).filter(|id| chains.read(&link(*id, 7))).count();
    assert_eq!(taken, LINKS_IN_HAND);
    assert!(chains.read(&link(100, 8)));
}

/// A dispatcher as a model: a log, a table, things that fail, and answers that come late.
struct Model {
    dice: u64,
    chains: Chains<Place>,
    table: BTreeMap<Place, bool>,
    unrecorded: Vec<(Link, Recorded)>,
    coming: Vec<Place>,
    going: BTreeSet<Place>,
    wants: BTreeSet<EndpointId>,
    asked: Option<(EndpointId, u64, Vec<Place>)>,
    done: Vec<Place>,
}

enum Recorded {
    Stored { is_blocked: bool },
    Done,
}

impl Model {
    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.dice >> 33) % sides
    }

    fn go(&mut self, place: Place) {
        let scope = self.chains.scope();
        let clash = |other: &Place| {
            *other != place && (scope == Scope::Global && other.0 != place.0 || other.1 == place.1)
        };
        assert!(!self.going.iter().any(clash), "two of a key are under way");
        let is_behind =
            |other: &Place| other.0 < place.0 && (scope == Scope::Global || other.1 == place.1);
        let unfinished = self.table.keys().chain(&self.coming).chain(&self.going);
        assert!(
            !unfinished.into_iter().any(is_behind),
            "{place:?} overtakes: table {:?} coming {:?} going {:?} chains {:?} unrecorded {}",
            self.table,
            self.coming,
            self.going,
            self.chains,
            self.unrecorded.len()
        );
        self.going.insert(place);
    }

    fn store(&mut self, place: Place) {
        let link = Link { key: "k".into(), id: place.0, endpoint: place.1 };
        let is_blocked = self.chains.is_blocked(&link);
        self.going.remove(&place);
        if self.table.contains_key(&place) {
            let behind = self.chains.put_back(&link);
            behind.into_iter().for_each(|place| self.store(place));
            return;
        }
        let behind = self.chains.store(&link);
        self.unrecorded.push((link, Recorded::Stored { is_blocked }));
        behind.into_iter().for_each(|place| self.store(place));
    }

    fn flush(&mut self) {
        for (link, recorded) in std::mem::take(&mut self.unrecorded) {
            let place = (link.id, link.endpoint);
            match recorded {
                Recorded::Stored { is_blocked } => {
                    self.table.insert(place, is_blocked);
                    self.chains.note_recorded(&link);
                }
                Recorded::Done => {
                    self.table.remove(&place);
                    self.going.remove(&place);
                    self.done.push(place);
                    let Left { going, wants_stored } = self.chains.leave(&link);
                    going.into_iter().for_each(|place| self.go(place));
                    if wants_stored {
                        self.wants.insert(link.endpoint);
                    }
                }
            }
        }
    }

    fn link_of(place: Place) -> Link {
        Link { key: "k".into(), id: place.0, endpoint: place.1 }
    }

    fn step(&mut self, next_id: &mut i64, last_id: i64) {
        match self.roll(7) {
            0 if *next_id <= last_id => {
                let endpoints = 1 + self.roll(2) as i32;
                for endpoint in 1..=endpoints {
                    let place = (MessageId(*next_id << 10), EndpointId(endpoint));
                    if self.chains.read(&Self::link_of(place)) {
                        self.coming.push(place);
                    } else {
                        self.store(place);
                    }
                }
                *next_id += 1;
            }
            1 => {
                for place in std::mem::take(&mut self.coming) {
                    match self.chains.offer(&Self::link_of(place), place) {
                        Turn::Go(place) => self.go(place),
                        Turn::Wait => {}
                        Turn::Behind(place) => self.store(place),
                    }
                }
            }
            2 | 3 => {
                let waiting: BTreeSet<Place> =
                    self.unrecorded.iter().map(|(l, _)| (l.id, l.endpoint)).collect();
                let landed: Vec<Place> =
                    self.going.iter().filter(|p| !waiting.contains(p)).copied().collect();
                if landed.is_empty() {
                    return;
                }
                let place = landed[self.roll(landed.len() as u64) as usize];
                if self.roll(4) == 0 {
                    // Fails: it waits by itself.
                    let link = Self::link_of(place);
                    self.going.remove(&place);
                    let behind = self.chains.store(&link);
                    self.unrecorded.push((link, Recorded::Stored { is_blocked: false }));
                    behind.into_iter().for_each(|place| self.store(place));
                } else {
                    self.unrecorded.push((Self::link_of(place), Recorded::Done));
                }
            }
            4 => self.flush(),
            5 => {
                // What is due by itself: of each scope the first.
                let scope = self.chains.scope();
                let rows: Vec<Place> =
                    self.table.iter().filter(|(_, b)| !**b).map(|(p, _)| *p).collect();
                for place in rows {
                    let is_first = !self.table.keys().any(|other| {
                        other.0 < place.0 && (scope == Scope::Global || other.1 == place.1)
                    });
                    let in_hand = self.going.contains(&place) || self.coming.contains(&place);
                    if is_first
                        && !in_hand
                        && self.unrecorded.is_empty()
                        && self.chains.fetch(&Self::link_of(place), true)
                    {
                        self.coming.push(place);
                    }
                }
            }
            _ => self.fetch_followers(),
        }
    }

    fn fetch_followers(&mut self) {
        let Some((endpoint, version, rows)) = self.asked.take() else {
            let Some(endpoint) = self.wants.first().copied() else { return };
            if !self.chains.is_known("k") {
                self.wants.clear();
                return;
            }
            let Some(version) = self.chains.version("k") else { return };
            let scope = self.chains.scope();
            let rows = self
                .table
                .keys()
                .filter(|place| scope == Scope::Global || place.1 == endpoint)
                .take(3)
                .copied()
                .collect();
            self.asked = Some((endpoint, version, rows));
            return;
        };
        if self.chains.version("k") != Some(version) {
            return;
        }
        self.wants.remove(&endpoint);
        let is_all = rows.len() < 3;
        let mut taken = Vec::new();
        let mut stopped_at = None;
        let mut last = None;
        for place in rows {
            let Some(is_blocked) = self.table.get(&place) else {
                last = Some(place.0);
                continue;
            };
            let in_hand = self.going.contains(&place) || self.coming.contains(&place);
            if !is_blocked || in_hand {
                stopped_at = Some(place.0);
                break;
            }
            last = Some(place.0);
            taken.push(place);
        }
        let bound = match (stopped_at, last) {
            (Some(at), _) => Some(at),
            (None, Some(last)) if !is_all => Some(MessageId(last.0 + 1)),
            _ => None,
        };
        if taken.is_empty() && stopped_at.is_none() && bound.is_some() {
            self.wants.insert(endpoint);
        }
        for place in &taken {
            self.chains.fetch(&Self::link_of(*place), true);
        }
        let going = self.chains.note_stored("k", endpoint, bound);
        self.coming.extend(taken);
        going.into_iter().for_each(|place| self.go(place));
    }
}

fn run(seed: u64, scope: Scope) {
    let mut model = Model {
        dice: seed,
        chains: Chains::default(),
        table: BTreeMap::new(),
        unrecorded: Vec::new(),
        coming: Vec::new(),
        going: BTreeSet::new(),
        wants: BTreeSet::new(),
        asked: None,
        done: Vec::new(),
    };
    model.chains.set_scope(scope);
    let (mut next_id, last_id) = (1, 60);
    let mut steps = 0;
    let is_over = |model: &Model, next_id: i64| {
        next_id > last_id
            && model.table.is_empty()
            && model.unrecorded.is_empty()
            && model.coming.is_empty()
            && model.going.is_empty()
            && model.chains.is_empty()
    };
    while !is_over(&model, next_id) {
        model.step(&mut next_id, last_id);
        steps += 1;
        assert!(steps < 100_000, "seed {seed}: stuck: {:?}", model.table);
    }
    let mut last: BTreeMap<EndpointId, MessageId> = BTreeMap::new();
    for (id, endpoint) in &model.done {
        let before = last.insert(*endpoint, *id);
        assert!(before < Some(*id), "seed {seed}: {id:?} after {before:?}");
    }
}

#[test]
fn any_history_keeps_the_order_and_comes_to_an_end() {
    for seed in 0..500 {
        run(seed, Scope::Endpoint);
        run(seed, Scope::Global);
    }
}
