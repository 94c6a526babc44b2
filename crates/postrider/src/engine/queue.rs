//! What waits in memory for one endpoint, by priority.

use std::collections::VecDeque;

use postrider_core::{
    id::{MessageId, PRIORITY_COUNT, Priority},
    ranks::next_rank,
    weights::Size,
};

use super::delivery::Delivery;

const RANKS: usize = PRIORITY_COUNT as usize;
/// What needs no room for its payload, and what needs it, by size.
const KINDS: usize = 1 + Size::ALL.len();

fn kind(size: Option<Size>) -> usize {
    size.map_or(0, |size| 1 + size.index())
}

/// Each priority in the order in which it was queued; see [`next_rank`] for who is next. What needs room for its payload
/// waits apart, so that what finds none lets pass what needs none, or another one.
#[derive(Default)]
pub struct RankedQueue {
    kinds: [Ranks; KINDS],
    /// How many there are of each priority.
    counts: [usize; RANKS],
    len: usize,
    turn: u32,
}

#[derive(Default)]
struct Ranks {
    ranks: [VecDeque<Delivery>; RANKS],
    len: usize,
}

/// Which kinds may go.
#[derive(Debug, Clone, Copy)]
pub struct Kinds([bool; KINDS]);

impl Kinds {
    pub const ALL: Kinds = Kinds([true; KINDS]);

    /// None of this size.
    pub fn leave_out(&mut self, size: Size) {
        self.0[kind(Some(size))] = false;
    }
}

impl RankedQueue {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there are of one priority.
    pub fn len_of(&self, priority: Priority) -> usize {
        self.counts[priority.index()]
    }

    /// How many there are of one priority and higher ones.
    pub fn len_from(&self, priority: Priority) -> usize {
        self.counts[priority.index()..].iter().sum()
    }

    pub fn push(&mut self, delivery: Delivery) {
        let index = delivery.priority().index();
        let of_kind = &mut self.kinds[kind(Size::of(delivery.weight()))];
        of_kind.ranks[index].push_back(delivery);
        of_kind.len += 1;
        self.counts[index] += 1;
        self.len += 1;
    }

    /// What [`pop`](Self::pop) takes.
    pub fn front(&self, kinds: Kinds) -> Option<&Delivery> {
        let (kind, priority) = self.next(kinds)?;
        self.kinds[kind].ranks[priority.index()].front()
    }

    /// What is next of one size.
    pub fn front_of(&self, size: Size) -> Option<&Delivery> {
        let mut only = Kinds([false; KINDS]);
        only.0[kind(Some(size))] = true;
        self.front(only)
    }

    /// Of each priority the one that was sent first is next.
    fn next(&self, kinds: Kinds) -> Option<(usize, Priority)> {
        let mut fronts: [Option<MessageId>; RANKS] = [None; RANKS];
        let mut kind_of = [0; RANKS];
        let filled = |index: &usize| kinds.0[*index] && self.kinds[*index].len > 0;
        for kind in (0..KINDS).filter(filled) {
            for (rank, deliveries) in self.kinds[kind].ranks.iter().enumerate() {
                let Some(id) = deliveries.front().map(|delivery| delivery.message.id) else {
                    continue;
                };
                if fronts[rank].is_none_or(|first| id < first) {
                    (fronts[rank], kind_of[rank]) = (Some(id), kind);
                }
            }
        }
        let priority = next_rank(&fronts, self.turn)?;
        Some((kind_of[priority.index()], priority))
    }

    pub fn pop(&mut self, kinds: Kinds) -> Option<Delivery> {
        let (kind, priority) = self.next(kinds)?;
        let of_kind = &mut self.kinds[kind];
        let delivery = of_kind.ranks[priority.index()].pop_front()?;
        of_kind.len -= 1;
        self.counts[priority.index()] -= 1;
        self.len -= 1;
        self.turn = self.turn.wrapping_add(1);
        Some(delivery)
    }

    /// Takes out some, whatever their priority.
    pub fn take(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for of_kind in &mut self.kinds {
            let before = taken.len();
            for rank in &mut of_kind.ranks {
                let (out, kept): (VecDeque<Delivery>, VecDeque<Delivery>) =
                    std::mem::take(rank).into_iter().partition(&mut is_wanted);
                *rank = kept;
                taken.extend(out);
            }
            of_kind.len -= taken.len() - before;
        }
        for delivery in &taken {
            self.counts[delivery.priority().index()] -= 1;
        }
        self.len -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{super::dispatcher::keys::tests::waiting, *};
    use crate::store::log::Payload;

    /// `kib`: of its payload; 0: it comes along.
    fn delivery(number: i64, priority: i16, kib: u32) -> Delivery {
        let mut row = waiting(number);
        row.terms.priority = Priority::new(priority);
        if kib > 0 {
            row.content.payload = Payload::Stored { bytes: (kib - 1) * 1024 };
        }
        Delivery::due(row, 1)
    }

    /// In this order they are taken.
    fn order(queue: &mut RankedQueue, kinds: Kinds) -> Vec<i64> {
        let mut taken = Vec::new();
        while let Some(delivery) = queue.pop(kinds) {
            taken.push(delivery.message.id.0 >> 10);
        }
        taken
    }

    fn filled() -> RankedQueue {
        let mut queue = RankedQueue::default();
        for (number, priority, kib) in
            [(1, 0, 100), (2, 0, 0), (3, 0, 100), (4, 5, 100), (5, 5, 0), (6, 0, 9_000), (7, 0, 3)]
        {
            queue.push(delivery(number, priority, kib));
        }
        queue
    }

    #[test]
    fn what_needs_room_goes_in_the_order_of_all() {
        assert_eq!(order(&mut filled(), Kinds::ALL), [4, 5, 1, 2, 3, 6, 7]);
    }

    #[test]
    fn what_finds_no_room_lets_pass_what_needs_none_and_keeps_its_order() {
        let mut queue = filled();
        let mut kinds = Kinds::ALL;
        kinds.leave_out(Size::Large);
        assert_eq!(order(&mut queue, kinds), [5, 2, 6, 7]);
        assert!(queue.front(kinds).is_none());
        // What comes now with a higher priority is before those that have waited for room.
        queue.push(delivery(8, 9, 100));
        queue.push(delivery(9, 9, 0));
        assert_eq!((queue.len(), queue.len_from(Priority::new(5))), (5, 3));
        let next = queue.front_of(Size::Large).map(|delivery| delivery.message.id.0 >> 10);
        assert_eq!((next, queue.front_of(Size::Giant).is_none()), (Some(8), true));
        assert_eq!(order(&mut queue, Kinds::ALL), [8, 9, 4, 1, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn whatever_is_taken_out_is_not_counted() {
        let mut queue = filled();
        let taken = queue.take(|delivery| delivery.weight() == 100);
        assert_eq!(taken.len(), 3);
        assert_eq!((queue.len(), queue.len_of(Priority::new(5))), (4, 1));
        assert_eq!(order(&mut queue, Kinds::ALL), [5, 2, 6, 7]);
    }
}
