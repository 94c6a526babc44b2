//! How much of what is in memory only while it is sent each endpoint may have there, and whose turn it is.
//!
//! Small payloads have room of their own, so that large ones never keep them from it. Each room is shared as places are (see
//! [`crate::admit`]): one slow endpoint gets half, the next half of the rest. Who has nothing under way and finds no
//! room stands in line. What becomes free is theirs, in their order, and nobody takes more until they have it.

use std::collections::VecDeque;

use crate::{admit::free_places, hashing::HashSet, id::EndpointId};

/// KiB of a small payload, at most.
const SMALL_MAX: usize = 64;
/// The small ones share this part of all room.
const SMALL_PART: usize = 4;

#[derive(Debug)]
struct Room {
    total: usize,
    taken: usize,
    line: VecDeque<EndpointId>,
    is_in_line: HashSet<EndpointId>,
}

impl Room {
    fn new(total: usize) -> Room {
        Room { total, taken: 0, line: VecDeque::new(), is_in_line: HashSet::default() }
    }

    fn fits(&self, weight: usize) -> bool {
        weight.min(self.total) <= self.total - self.taken
    }
}

/// What an endpoint has under way, in each room.
#[derive(Debug, Default)]
pub struct Held([usize; 2]);

#[derive(Debug)]
pub struct Weights([Room; 2]);

impl Weights {
    /// `total` KiB together.
    pub fn new(total: usize) -> Weights {
        let small = total / SMALL_PART;
        Weights([Room::new(small), Room::new(total - small)])
    }

    fn index(weight: usize) -> usize {
        usize::from(weight > SMALL_MAX)
    }

    /// Whether an endpoint that has so much under way may take so much more. `has_turn`: it was the
    /// [first in line](Self::first_in_line) and has taken nothing since.
    pub fn may_take(&self, held: &Held, weight: usize, has_turn: bool) -> bool {
        let index = Self::index(weight);
        let (room, held) = (&self.0[index], held.0[index]);
        match (weight, held) {
            (0, _) => true,
            (_, 0) => (has_turn || room.line.is_empty()) && room.fits(weight),
            _ => {
                room.line.is_empty()
                    && weight <= free_places(room.total, room.taken, held, room.total)
            }
        }
    }

    /// The endpoint found no room for what it has. If it has nothing under way there, it stands in line; otherwise it is
    /// looked at again when something of that is over.
    pub fn wait(&mut self, id: EndpointId, held: &Held, weight: usize) {
        let index = Self::index(weight);
        let room = &mut self.0[index];
        if held.0[index] == 0 && room.is_in_line.insert(id) {
            room.line.push_back(id);
        }
    }

    /// Takes the first out of a line, if there is room for what it needs by now. Who needs nothing any more leaves.
    pub fn first_in_line(
        &mut self,
        needs: impl Fn(EndpointId) -> Option<usize>,
    ) -> Option<EndpointId> {
        for (index, room) in self.0.iter_mut().enumerate() {
            while let Some(id) = room.line.front().copied() {
                let needed = needs(id).filter(|weight| Self::index(*weight) == index);
                if needed.is_some_and(|weight| !room.fits(weight)) {
                    break;
                }
                room.line.pop_front();
                room.is_in_line.remove(&id);
                if needed.is_some() {
                    return Some(id);
                }
            }
        }
        None
    }

    /// It is under way.
    pub fn take(&mut self, held: &mut Held, weight: usize) {
        let index = Self::index(weight);
        let room = &mut self.0[index];
        let weight = weight.min(room.total);
        room.taken += weight;
        held.0[index] += weight;
    }

    /// It is not in memory any more.
    pub fn put_down(&mut self, held: &mut Held, weight: usize) {
        let index = Self::index(weight);
        let room = &mut self.0[index];
        let weight = weight.min(room.total).min(held.0[index]);
        room.taken -= weight;
        held.0[index] -= weight;
    }

    /// All that an endpoint had is not counted any more.
    pub fn forget(&mut self, held: &Held) {
        for (room, held) in self.0.iter_mut().zip(held.0) {
            room.taken -= held;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 KiB for small payloads, 768 for others.
    const TOTAL: usize = 1_024;

    fn id(number: i32) -> EndpointId {
        EndpointId(number)
    }

    /// Takes as many as it may.
    fn fill(weights: &mut Weights, held: &mut Held, weight: usize) -> usize {
        let mut count = 0;
        while weights.may_take(held, weight, false) {
            weights.take(held, weight);
            count += 1;
        }
        count
    }

    #[test]
    fn one_slow_endpoint_leaves_half_to_the_others() {
        let mut weights = Weights::new(TOTAL);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 128);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 64);
        assert_eq!(fill(&mut weights, &mut Held::default(), 96), 4);
        assert!(weights.may_take(&Held::default(), 384, false));
        assert!(!weights.may_take(&Held::default(), 385, false));
    }

    #[test]
    fn large_payloads_never_keep_small_ones_from_their_room() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        weights.take(&mut slow, 700);
        weights.wait(id(1), &Held::default(), 500);
        assert_eq!(weights.first_in_line(|_| Some(500)), None);
        assert!(!weights.may_take(&Held::default(), 65, false), "behind the one in line");
        assert!(weights.may_take(&Held::default(), 64, false));
        assert!(weights.may_take(&slow, 64, false));
    }

    #[test]
    fn what_weighs_nothing_always_goes() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        fill(&mut weights, &mut slow, 64);
        weights.wait(id(1), &Held::default(), 64);
        assert!(weights.may_take(&Held::default(), 0, false));
        assert!(weights.may_take(&slow, 0, false));
    }

    #[test]
    fn what_becomes_free_belongs_to_the_first_in_line() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        weights.take(&mut slow, 400);
        weights.wait(id(1), &Held::default(), 500);
        weights.wait(id(2), &Held::default(), 100);
        weights.wait(id(1), &Held::default(), 500);
        let needs = |asked: EndpointId| Some(if asked == id(1) { 500 } else { 100 });
        assert_eq!(weights.first_in_line(needs), None, "there is no room for the first");
        // Neither the slow one nor a newcomer takes what it waits for.
        assert!(!weights.may_take(&slow, 100, false));
        assert!(!weights.may_take(&Held::default(), 100, false));
        weights.put_down(&mut slow, 400);
        assert_eq!(weights.first_in_line(needs), Some(id(1)));
        // It needs a token first: its turn is not lost.
        assert_eq!(weights.first_in_line(needs), Some(id(2)));
        assert!(weights.may_take(&Held::default(), 500, true));
        weights.take(&mut Held::default(), 500);
        assert!(weights.may_take(&Held::default(), 100, true));
        assert_eq!(weights.first_in_line(needs), None);
    }

    #[test]
    fn who_has_something_under_way_does_not_stand_in_line() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        fill(&mut weights, &mut slow, 96);
        weights.wait(id(1), &slow, 96);
        assert_eq!(weights.first_in_line(|_| Some(96)), None);
        // In the other room it has nothing.
        weights.take(&mut Held::default(), 64);
        weights.wait(id(1), &slow, 64);
        assert_eq!(weights.first_in_line(|_| Some(64)), Some(id(1)));
    }

    #[test]
    fn who_needs_nothing_or_something_else_holds_up_nobody() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        weights.take(&mut slow, 768);
        for number in 1..=3 {
            weights.wait(id(number), &Held::default(), 100);
        }
        weights.put_down(&mut slow, 768);
        let needs = |asked: EndpointId| match asked.0 {
            1 => None,
            2 => Some(10),
            _ => Some(100),
        };
        assert_eq!(weights.first_in_line(needs), Some(id(3)));
        assert!(weights.may_take(&slow, 100, false), "nobody is in line");
    }

    #[test]
    fn what_is_heavier_than_all_goes_alone_and_what_is_gone_is_not_counted() {
        let mut weights = Weights::new(TOTAL);
        let mut held = Held::default();
        assert!(weights.may_take(&held, 2_000, false));
        weights.take(&mut held, 2_000);
        assert!(!weights.may_take(&Held::default(), 65, false));
        weights.put_down(&mut held, 2_000);
        assert!(weights.may_take(&Held::default(), 768, false));
        weights.take(&mut held, 768);
        weights.forget(&held);
        assert!(weights.may_take(&Held::default(), 768, false));
    }
}
