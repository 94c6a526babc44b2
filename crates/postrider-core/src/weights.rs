//! How much of what is in memory only while it is sent each endpoint may have there, and whose turn it is.
//!
//! There are several rooms, so that none of these keeps another from its own: small payloads, large ones, and those of
//! endpoints that have not shown lately that they work. Each is shared as places are (see [`crate::admit`]): one slow
//! endpoint gets half, the next half of the rest. An endpoint that has nothing under way and finds no room stands in
//! line. What becomes free is for the line, in its order, and nobody takes more until all in it have theirs. A payload that is too large
//! for any share goes beside the rooms, one at a time.

use std::collections::VecDeque;

use crate::{admit::free_places, hashing::HashSet, id::EndpointId};

/// KiB of a small payload, at most.
const SMALL_MAX: usize = 64;
/// The small ones share this part of all room.
const SMALL_PART: usize = 4;
/// Endpoints that are doubted share this part of each room.
const DOUBTFUL_PART: usize = 3;
/// So many endpoints that want more are looked at again when something became free.
const WOKEN_MOST: usize = 64;
const ROOMS: usize = 5;

/// What finds room together: small payloads, large ones, and those that go alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small,
    Large,
    Giant,
}

impl Size {
    pub const ALL: [Size; 3] = [Size::Small, Size::Large, Size::Giant];

    pub fn index(self) -> usize {
        self as usize
    }
}

#[derive(Debug, Default)]
struct Room {
    total: usize,
    taken: usize,
    /// Endpoints that have nothing here and wait for it.
    line: VecDeque<EndpointId>,
    is_in_line: HashSet<EndpointId>,
    /// Endpoints that have something here and wanted more than their share.
    greedy: VecDeque<EndpointId>,
    is_greedy: HashSet<EndpointId>,
    /// Something became free since those were looked at.
    is_looser: bool,
}

impl Room {
    fn new(total: usize) -> Room {
        Room { total, ..Room::default() }
    }

    fn fits(&self, weight: usize) -> bool {
        self.taken + weight.min(self.total) <= self.total
    }

    fn give_back(&mut self, weight: usize) {
        self.taken -= weight;
        self.is_looser |= weight > 0;
    }
}

/// What an endpoint has under way, in each room.
#[derive(Debug, Default)]
pub struct Held {
    kib: [usize; ROOMS],
    is_doubtful: bool,
}

impl Held {
    /// Of an endpoint that has not shown yet that it works.
    pub fn doubtful() -> Held {
        Held { is_doubtful: true, ..Held::default() }
    }
}

#[derive(Debug)]
pub struct Weights {
    rooms: [Room; ROOMS],
    /// The least that goes beside the rooms, in KiB.
    giant: usize,
    /// Endpoints that have left a line without a turn.
    left: Vec<EndpointId>,
}

impl Weights {
    /// `total` KiB together, and one payload that is too large for a share of it.
    pub fn new(total: usize) -> Weights {
        let small = total / SMALL_PART;
        let large = total - small;
        let [few, many] = [small / DOUBTFUL_PART, large / DOUBTFUL_PART];
        let rooms = [small - few, large - many, few, many, 1].map(Room::new);
        Weights { rooms, giant: many / 2 + 1, left: Vec::new() }
    }

    pub fn size(&self, weight: usize) -> Size {
        match weight {
            ..=SMALL_MAX => Size::Small,
            _ if weight < self.giant => Size::Large,
            _ => Size::Giant,
        }
    }

    fn index(&self, held: &Held, weight: usize) -> usize {
        Self::room_of(self.size(weight), held.is_doubtful)
    }

    fn room_of(size: Size, is_doubtful: bool) -> usize {
        match size {
            Size::Giant => ROOMS - 1,
            _ => size.index() + 2 * usize::from(is_doubtful),
        }
    }

    /// Whether an endpoint that has so much under way may take so much more. `has_turn`: it was the
    /// [first in line](Self::first_in_line) for this size, and has taken nothing of it since.
    pub fn may_take(&self, held: &Held, weight: usize, has_turn: bool) -> bool {
        let index = self.index(held, weight);
        let (room, held) = (&self.rooms[index], held.kib[index]);
        match (weight, held) {
            (0, _) => true,
            (_, 0) => (has_turn || room.line.is_empty()) && room.fits(weight),
            _ => {
                room.line.is_empty()
                    && weight <= free_places(room.total, room.taken, held, room.total)
            }
        }
    }

    /// The endpoint found no room for what it has. If it has nothing under way there, it stands in line. Otherwise it is
    /// looked at again when something becomes free that is for nobody in line.
    pub fn wait(&mut self, id: EndpointId, held: &Held, weight: usize) {
        let index = self.index(held, weight);
        let room = &mut self.rooms[index];
        if held.kib[index] == 0 {
            if room.is_in_line.insert(id) {
                room.line.push_back(id);
            }
        } else if room.is_greedy.insert(id) {
            room.greedy.push_back(id);
        }
    }

    /// Whether there is nobody to ask for in [`first_in_line`](Self::first_in_line) and [`take_woken`](Self::take_woken).
    pub fn is_quiet(&self) -> bool {
        let is_quiet =
            |room: &Room| room.line.is_empty() && (room.greedy.is_empty() || !room.is_looser);
        self.left.is_empty() && self.rooms.iter().all(is_quiet)
    }

    /// Takes the first out of a line, if there is room for what it needs by now. `needs`: what an endpoint has under
    /// way, and what its next of a size weighs.
    pub fn first_in_line<'a>(
        &mut self,
        needs: impl Fn(EndpointId, Size) -> Option<(&'a Held, usize)>,
    ) -> Option<(EndpointId, Size)> {
        for size in Size::ALL {
            for is_doubtful in [false, true] {
                let room = &mut self.rooms[Self::room_of(size, is_doubtful)];
                while let Some(id) = room.line.front().copied() {
                    let needed = needs(id, size)
                        .filter(|(held, _)| size == Size::Giant || held.is_doubtful == is_doubtful);
                    if needed.is_some_and(|(_, weight)| !room.fits(weight)) {
                        break;
                    }
                    room.line.pop_front();
                    room.is_in_line.remove(&id);
                    room.is_looser = true;
                    match needed {
                        Some(_) => return Some((id, size)),
                        None => self.left.push(id),
                    }
                }
            }
        }
        None
    }

    /// Endpoints that may find room by now: those that left a line without a turn, and some that have something under
    /// way where something became free.
    pub fn take_woken(&mut self) -> Vec<EndpointId> {
        let mut woken = std::mem::take(&mut self.left);
        for room in &mut self.rooms {
            if room.line.is_empty() && std::mem::take(&mut room.is_looser) {
                let count = room.greedy.len().min(WOKEN_MOST);
                for id in room.greedy.drain(..count) {
                    room.is_greedy.remove(&id);
                    woken.push(id);
                }
            }
        }
        woken
    }

    /// It is under way.
    pub fn take(&mut self, held: &mut Held, weight: usize) {
        let index = self.index(held, weight);
        let room = &mut self.rooms[index];
        let weight = weight.min(room.total);
        room.taken += weight;
        held.kib[index] += weight;
    }

    /// It is not in memory any more.
    pub fn put_down(&mut self, held: &mut Held, weight: usize) {
        let index = self.index(held, weight);
        let room = &mut self.rooms[index];
        let weight = weight.min(room.total).min(held.kib[index]);
        room.give_back(weight);
        held.kib[index] -= weight;
    }

    /// The endpoint has shown that it works, or that it may not. What it has under way goes along to its new rooms, which may
    /// hold too much until it is over.
    pub fn doubt(&mut self, held: &mut Held, is_doubtful: bool) {
        if held.is_doubtful == is_doubtful {
            return;
        }
        for size in [Size::Small, Size::Large] {
            let [from, to] = [held.is_doubtful, is_doubtful].map(|is| Self::room_of(size, is));
            let kib = std::mem::take(&mut held.kib[from]);
            held.kib[to] += kib;
            self.rooms[from].give_back(kib);
            self.rooms[to].taken += kib;
        }
        held.is_doubtful = is_doubtful;
    }

    /// All that an endpoint had is not counted any more.
    pub fn forget(&mut self, held: &Held) {
        for (room, kib) in self.rooms.iter_mut().zip(held.kib) {
            room.give_back(kib);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 171 KiB for small payloads, 512 for large ones, and 85 and 256 for those of endpoints that are doubted. What has more
    /// than 128 goes alone.
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

    /// Who is next when all have nothing under way and need this.
    fn next(weights: &mut Weights, weight: usize) -> Option<EndpointId> {
        let nothing = Held::default();
        weights.first_in_line(|_, _| Some((&nothing, weight))).map(|(id, _)| id)
    }

    #[test]
    fn one_slow_endpoint_leaves_half_to_the_others() {
        let mut weights = Weights::new(TOTAL);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 86);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 43);
        assert_eq!(fill(&mut weights, &mut Held::default(), 65), 3);
        assert_eq!(fill(&mut weights, &mut Held::default(), 100), 1);
        assert!(weights.may_take(&Held::default(), 128, false));
    }

    #[test]
    fn large_payloads_never_keep_small_ones_from_their_room() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        for _ in 0..4 {
            weights.take(&mut slow, 120);
        }
        weights.wait(id(1), &Held::default(), 100);
        assert_eq!(next(&mut weights, 100), None);
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
        for _ in 0..4 {
            weights.take(&mut slow, 120);
        }
        weights.wait(id(1), &Held::default(), 128);
        weights.wait(id(2), &Held::default(), 100);
        weights.wait(id(1), &Held::default(), 128);
        let nothing = Held::default();
        let needs = |asked: EndpointId, _| Some((&nothing, if asked == id(1) { 128 } else { 100 }));
        assert_eq!(weights.first_in_line(needs), None, "there is no room for the first");
        // Neither the slow one nor a newcomer takes what it waits for.
        assert!(!weights.may_take(&slow, 100, false));
        assert!(!weights.may_take(&Held::default(), 70, false));
        for _ in 0..2 {
            weights.put_down(&mut slow, 120);
        }
        assert_eq!(weights.first_in_line(needs), Some((id(1), Size::Large)));
        // It needs a token first: its turn is not lost.
        assert_eq!(weights.first_in_line(needs), Some((id(2), Size::Large)));
        assert!(weights.may_take(&Held::default(), 128, true));
        weights.take(&mut Held::default(), 128);
        assert!(weights.may_take(&Held::default(), 100, true));
        assert_eq!(weights.first_in_line(needs), None);
    }

    #[test]
    fn who_wanted_more_than_its_share_is_looked_at_again_when_the_line_has_gone() {
        let mut weights = Weights::new(TOTAL);
        let (mut slow, mut other, mut third) = (Held::default(), Held::default(), Held::default());
        fill(&mut weights, &mut slow, 96);
        weights.wait(id(1), &slow, 96);
        weights.take(&mut other, 128);
        weights.take(&mut third, 96);
        weights.wait(id(2), &Held::default(), 128);
        assert_eq!(next(&mut weights, 128), None);
        weights.put_down(&mut third, 96);
        assert_eq!(weights.take_woken(), [], "somebody is in line");
        assert_eq!(next(&mut weights, 128), Some(id(2)));
        assert_eq!(weights.take_woken(), [id(1)]);
        assert!(weights.is_quiet());
        // It hangs, and there is no room for more. Then others give theirs back.
        weights.wait(id(1), &slow, 96);
        assert_eq!(weights.take_woken(), []);
        weights.put_down(&mut other, 128);
        assert!(!weights.is_quiet());
        assert_eq!(weights.take_woken(), [id(1)]);
        // In the other room it has nothing.
        weights.wait(id(1), &slow, 64);
        assert_eq!(next(&mut weights, 64), Some(id(1)));
    }

    #[test]
    fn who_leaves_the_line_without_a_turn_is_looked_at_again() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        for _ in 0..4 {
            weights.take(&mut slow, 128);
        }
        for number in 1..=3 {
            weights.wait(id(number), &Held::default(), 100);
        }
        weights.put_down(&mut slow, 128);
        let (nothing, doubtful) = (Held::default(), Held::doubtful());
        let needs = |asked: EndpointId, _| match asked.0 {
            1 => None,
            2 => Some((&doubtful, 100)),
            _ => Some((&nothing, 100)),
        };
        assert_eq!(weights.first_in_line(needs), Some((id(3), Size::Large)));
        assert_eq!(weights.take_woken(), [id(1), id(2)]);
        assert!(weights.may_take(&slow, 20, false), "nobody is in line");
    }

    #[test]
    fn endpoints_that_are_doubted_leave_the_rest_to_those_that_work() {
        let mut weights = Weights::new(TOTAL);
        let mut hanging: Vec<Held> = (0..20).map(|_| Held::doubtful()).collect();
        for held in &mut hanging {
            fill(&mut weights, held, 70);
        }
        let mut good = Held::default();
        assert_eq!(fill(&mut weights, &mut good, 70), 3);
        // One that is doubted now takes along what it has; one that works leaves it there.
        weights.doubt(&mut good, true);
        assert_eq!(fill(&mut weights, &mut Held::default(), 70), 3);
        weights.put_down(&mut good, 70);
        weights.doubt(&mut good, false);
        weights.forget(&good);
        for held in &hanging {
            weights.forget(held);
        }
        assert_eq!(fill(&mut weights, &mut Held::doubtful(), 70), 1);
    }

    #[test]
    fn what_is_too_large_for_a_share_goes_alone_and_what_is_gone_is_not_counted() {
        let mut weights = Weights::new(TOTAL);
        let (mut held, mut slow) = (Held::default(), Held::default());
        fill(&mut weights, &mut slow, 100);
        assert!(weights.may_take(&held, 2_000, false));
        weights.take(&mut held, 2_000);
        assert!(!weights.may_take(&Held::doubtful(), 129, false));
        assert!(weights.may_take(&Held::default(), 128, false));
        weights.wait(id(1), &Held::doubtful(), 129);
        assert_eq!(next(&mut weights, 129), None);
        weights.put_down(&mut held, 2_000);
        assert_eq!(next(&mut weights, 129), Some(id(1)));
        weights.take(&mut held, 129);
        weights.forget(&held);
        assert!(weights.may_take(&Held::default(), 1_000, false));
    }
}
