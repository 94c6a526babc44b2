//! How much of what is in memory only while it is sent each endpoint may have there, and whose turn it is.
//!
//! There are several rooms, so that none of these keeps another from its own: small payloads, large ones, and those of
//! endpoints that have not shown lately that they work. Each is shared as places are (see [`crate::admit`]): one slow
//! endpoint gets half, the next half of the rest. An endpoint that has nothing under way and finds no room stands in
//! line. What becomes free is for the line, in its order, and nobody takes more until all in it have theirs. A payload that
//! is too large for any share goes beside the rooms: one at a time of endpoints that work, and one of the others.

use std::collections::VecDeque;

use crate::{admit::free_places, hashing::HashSet, id::EndpointId};

/// KiB of a small payload, at most.
const SMALL_MAX: usize = 64;
/// KiB of a large one, at most: what has more has no share.
const LARGE_MAX: usize = 8 * 1024;
/// The small ones share this part of all room.
const SMALL_PART: usize = 4;
/// Endpoints that are doubted share this part of each room.
const DOUBTFUL_PART: usize = 3;
/// So many endpoints that want more are looked at again when something became free.
const WOKEN_MOST: usize = 64;
const ROOMS: usize = 2 * Size::ALL.len();

/// What finds room together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small,
    Large,
    Giant,
}

impl Size {
    pub const ALL: [Size; 3] = [Size::Small, Size::Large, Size::Giant];

    /// Of a payload that weighs so many KiB; `None`: it weighs nothing, and needs no room.
    pub fn of(weight: usize) -> Option<Size> {
        match weight {
            0 => None,
            1..=SMALL_MAX => Some(Size::Small),
            _ if weight <= LARGE_MAX => Some(Size::Large),
            _ => Some(Size::Giant),
        }
    }

    pub fn index(self) -> usize {
        self as usize
    }

    fn room(self, is_doubtful: bool) -> usize {
        self.index() + Size::ALL.len() * usize::from(is_doubtful)
    }

    /// What a payload takes of its room.
    fn part(self, weight: usize) -> usize {
        if self == Size::Giant { 1 } else { weight }
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

    fn fits(&self, part: usize) -> bool {
        self.taken + part <= self.total
    }

    fn give_back(&mut self, part: usize) {
        self.taken -= part;
        self.is_looser |= part > 0;
    }
}

/// What an endpoint has under way, in each room.
#[derive(Debug, Default)]
pub struct Held {
    parts: [usize; ROOMS],
    is_doubtful: bool,
}

impl Held {
    /// Of an endpoint that has not shown yet that it works.
    pub fn doubtful() -> Held {
        Held { is_doubtful: true, ..Held::default() }
    }

    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// The endpoint has shown that it works, or that it may not: it takes from other rooms. What it has under way stays
    /// where it was taken until it is over.
    pub fn set_doubtful(&mut self, is_doubtful: bool) {
        self.is_doubtful = is_doubtful;
    }
}

#[derive(Debug)]
pub struct Weights {
    rooms: [Room; ROOMS],
    /// Endpoints that have left a line without a turn.
    left: Vec<EndpointId>,
}

impl Weights {
    /// `total` KiB together, and two payloads that are too large for a share of it.
    pub fn new(total: usize) -> Weights {
        let small = total / SMALL_PART;
        let large = total - small;
        let [few, many] = [small / DOUBTFUL_PART, large / DOUBTFUL_PART];
        let rooms = [small - few, large - many, 1, few, many, 1].map(Room::new);
        Weights { rooms, left: Vec::new() }
    }

    /// Whether an endpoint that has so much under way may take so much more. `has_turn`: it was the
    /// [first in line](Self::first_in_line) for this size, and has taken nothing of it since.
    pub fn may_take(&self, held: &Held, weight: usize, has_turn: bool) -> bool {
        let Some(size) = Size::of(weight) else { return true };
        let (index, part) = (size.room(held.is_doubtful), size.part(weight));
        let (room, held) = (&self.rooms[index], held.parts[index]);
        match held {
            0 => (has_turn || room.line.is_empty()) && room.fits(part),
            _ => {
                room.line.is_empty()
                    && part <= free_places(room.total, room.taken, held, room.total)
            }
        }
    }

    /// The endpoint found no room for what it has. If it has nothing under way there, it stands in line. Otherwise it is
    /// looked at again when something becomes free that is for nobody in line.
    pub fn wait(&mut self, id: EndpointId, held: &Held, size: Size) {
        let index = size.room(held.is_doubtful);
        let room = &mut self.rooms[index];
        if held.parts[index] == 0 {
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
        let rooms = Size::ALL.into_iter().flat_map(|size| [(size, false), (size, true)]);
        for (size, is_doubtful) in rooms {
            let room = &mut self.rooms[size.room(is_doubtful)];
            while let Some(id) = room.line.front().copied() {
                let needed = needs(id, size).filter(|(held, _)| held.is_doubtful == is_doubtful);
                if needed.is_some_and(|(_, weight)| !room.fits(size.part(weight))) {
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
        let Some(size) = Size::of(weight) else { return };
        let (index, part) = (size.room(held.is_doubtful), size.part(weight));
        self.rooms[index].taken += part;
        held.parts[index] += part;
    }

    /// It is not in memory any more. In which room it was is not known, if the endpoint has things in both: what was taken
    /// while something else was thought of it is over first.
    pub fn put_down(&mut self, held: &mut Held, weight: usize) {
        let Some(size) = Size::of(weight) else { return };
        let mut part = size.part(weight);
        for is_doubtful in [!held.is_doubtful, held.is_doubtful] {
            let index = size.room(is_doubtful);
            let given = part.min(held.parts[index]);
            self.rooms[index].give_back(given);
            held.parts[index] -= given;
            part -= given;
        }
    }

    /// All that an endpoint had is not counted any more.
    pub fn forget(&mut self, held: &Held) {
        for (room, part) in self.rooms.iter_mut().zip(held.parts) {
            room.give_back(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,923 KiB for small payloads, 32,768 for large ones, and 5,461 and 16,384 for those of endpoints that are doubted.
    const TOTAL: usize = 64 * 1024;

    fn id(number: i32) -> EndpointId {
        EndpointId(number)
    }

    /// Takes as many as it may: so many KiB.
    fn fill(weights: &mut Weights, held: &mut Held, weight: usize) -> usize {
        let mut count = 0;
        while weights.may_take(held, weight, false) {
            weights.take(held, weight);
            count += 1;
        }
        count * weight
    }

    /// Who is next when all have nothing under way and need this.
    fn next(weights: &mut Weights, weight: usize) -> Option<EndpointId> {
        let nothing = Held::default();
        weights.first_in_line(|_, _| Some((&nothing, weight))).map(|(id, _)| id)
    }

    /// Of one that has as much of the large room as leaves room for nothing.
    fn all_of_it(weights: &mut Weights) -> Held {
        let mut held = Held::default();
        for _ in 0..4 {
            weights.take(&mut held, 8_192);
        }
        held
    }

    #[test]
    fn one_slow_endpoint_leaves_half_to_the_others() {
        let mut weights = Weights::new(TOTAL);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 5_462);
        assert_eq!(fill(&mut weights, &mut Held::default(), 1), 2_731);
        assert_eq!(fill(&mut weights, &mut Held::default(), 128), 16_384);
        assert_eq!(fill(&mut weights, &mut Held::default(), 128), 8_192);
        assert!(weights.may_take(&Held::default(), 8_192, false));
    }

    #[test]
    fn large_payloads_never_keep_small_ones_from_their_room() {
        let mut weights = Weights::new(TOTAL);
        let slow = all_of_it(&mut weights);
        assert!(!weights.may_take(&Held::default(), 65, false));
        assert!(weights.may_take(&Held::default(), 64, false));
        assert!(weights.may_take(&slow, 64, false));
        assert!(weights.may_take(&Held::default(), 8_193, false));
    }

    #[test]
    fn what_weighs_nothing_always_goes() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = Held::default();
        fill(&mut weights, &mut slow, 64);
        weights.wait(id(1), &Held::default(), Size::Small);
        assert!(weights.may_take(&Held::default(), 0, false));
        assert!(weights.may_take(&slow, 0, false));
    }

    #[test]
    fn what_becomes_free_belongs_to_the_first_in_line() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = all_of_it(&mut weights);
        for number in [1, 2, 1] {
            weights.wait(id(number), &Held::default(), Size::Large);
        }
        weights.put_down(&mut slow, 4_096);
        let nothing = Held::default();
        let needs =
            |asked: EndpointId, _| Some((&nothing, if asked == id(1) { 8_000 } else { 100 }));
        assert_eq!(weights.first_in_line(needs), None, "there is no room for the first");
        // Neither the slow one nor a newcomer takes what it waits for.
        assert!(!weights.may_take(&slow, 100, false));
        assert!(!weights.may_take(&Held::default(), 100, false));
        weights.put_down(&mut slow, 4_096);
        assert_eq!(weights.first_in_line(needs), Some((id(1), Size::Large)));
        // It needs a token first: its turn is not lost.
        assert_eq!(weights.first_in_line(needs), Some((id(2), Size::Large)));
        assert!(weights.may_take(&Held::default(), 8_000, true));
        weights.take(&mut Held::default(), 8_000);
        assert!(weights.may_take(&Held::default(), 100, true));
        assert_eq!(weights.first_in_line(needs), None);
    }

    #[test]
    fn who_wanted_more_than_its_share_is_looked_at_again_when_the_line_has_gone() {
        let mut weights = Weights::new(TOTAL);
        let (mut slow, mut other, mut third) = (Held::default(), Held::default(), Held::default());
        fill(&mut weights, &mut slow, 128);
        weights.wait(id(1), &slow, Size::Large);
        weights.take(&mut other, 8_192);
        weights.take(&mut third, 8_192);
        weights.wait(id(2), &Held::default(), Size::Large);
        assert_eq!(next(&mut weights, 8_192), None);
        weights.put_down(&mut third, 8_192);
        assert_eq!(weights.take_woken(), [], "somebody is in line");
        assert_eq!(next(&mut weights, 8_192), Some(id(2)));
        assert_eq!(weights.take_woken(), [id(1)]);
        assert!(weights.is_quiet());
        // It hangs, and there is no room for more. Then others give theirs back.
        weights.wait(id(1), &slow, Size::Large);
        assert_eq!(weights.take_woken(), []);
        weights.put_down(&mut other, 8_192);
        assert!(!weights.is_quiet());
        assert_eq!(weights.take_woken(), [id(1)]);
        // In the other room it has nothing.
        weights.wait(id(1), &slow, Size::Small);
        assert_eq!(next(&mut weights, 64), Some(id(1)));
    }

    #[test]
    fn who_leaves_the_line_without_a_turn_is_looked_at_again() {
        let mut weights = Weights::new(TOTAL);
        let mut slow = all_of_it(&mut weights);
        for number in 1..=3 {
            weights.wait(id(number), &Held::default(), Size::Large);
        }
        weights.put_down(&mut slow, 8_192);
        let (nothing, doubtful) = (Held::default(), Held::doubtful());
        let needs = |asked: EndpointId, _| match asked.0 {
            1 => None,
            2 => Some((&doubtful, 100)),
            _ => Some((&nothing, 100)),
        };
        assert_eq!(weights.first_in_line(needs), Some((id(3), Size::Large)));
        assert_eq!(weights.take_woken(), [id(1), id(2)]);
        assert!(weights.may_take(&Held::default(), 100, false), "nobody is in line");
    }

    #[test]
    fn endpoints_that_are_doubted_leave_the_rest_to_those_that_work() {
        let mut weights = Weights::new(TOTAL);
        let mut hanging: Vec<Held> = (0..20).map(|_| Held::doubtful()).collect();
        for held in &mut hanging {
            fill(&mut weights, held, 1_024);
        }
        let mut good = Held::default();
        assert_eq!(fill(&mut weights, &mut good, 1_024), 16_384);
        assert!(weights.may_take(&Held::default(), 9_000, false));
        weights.take(&mut hanging[0], 9_000);
        assert!(weights.may_take(&Held::default(), 9_000, false));
        assert!(!weights.may_take(&Held::doubtful(), 9_000, false));
    }

    #[test]
    fn what_is_under_way_is_counted_until_it_is_over_whatever_is_thought_of_its_endpoint() {
        let mut weights = Weights::new(TOTAL);
        let mut taken = 0;
        let mut stalled = Vec::new();
        for _ in 0..30 {
            let mut held = Held::default();
            taken += fill(&mut weights, &mut held, 1_024);
            held.set_doubtful(true);
            taken += fill(&mut weights, &mut held, 1_024);
            stalled.push(held);
        }
        assert!((40_000..=TOTAL).contains(&taken), "{taken}");
        for held in &mut stalled {
            while held.parts.iter().any(|part| *part > 0) {
                weights.put_down(held, 1_024);
            }
        }
        assert_eq!(fill(&mut weights, &mut Held::default(), 1_024), 16_384);
        assert_eq!(fill(&mut weights, &mut Held::doubtful(), 1_024), 8_192);
    }

    #[test]
    fn what_was_taken_while_it_was_doubted_is_over_however_busy_it_is_since() {
        let mut weights = Weights::new(TOTAL);
        let mut busy = Held::doubtful();
        let count = fill(&mut weights, &mut busy, 1_024) / 1_024;
        busy.set_doubtful(false);
        for _ in 0..count {
            weights.put_down(&mut busy, 1_024);
            weights.take(&mut busy, 1_024);
        }
        assert_eq!(fill(&mut weights, &mut Held::doubtful(), 1_024), 8_192);
        assert_eq!(busy.parts.iter().sum::<usize>(), count * 1_024);
    }

    #[test]
    fn what_is_too_large_for_a_share_goes_alone_and_what_is_gone_is_not_counted() {
        let mut weights = Weights::new(TOTAL);
        let (mut held, mut slow) = (Held::default(), Held::default());
        fill(&mut weights, &mut slow, 128);
        assert!(weights.may_take(&held, 60_000, false));
        weights.take(&mut held, 60_000);
        assert!(!weights.may_take(&Held::default(), 8_193, false));
        assert!(weights.may_take(&Held::default(), 8_192, false));
        weights.wait(id(1), &Held::default(), Size::Giant);
        assert_eq!(next(&mut weights, 9_000), None);
        weights.put_down(&mut held, 60_000);
        assert_eq!(next(&mut weights, 9_000), Some(id(1)));
        weights.take(&mut held, 9_000);
        weights.forget(&held);
        assert!(weights.may_take(&Held::default(), 9_000, false));
    }
}
