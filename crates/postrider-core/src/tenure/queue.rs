//! What waits in memory for one endpoint, by priority.

use std::{cmp::Reverse, collections::VecDeque};

use super::delivery::Delivery;
use crate::{
    id::{MessageId, PRIORITY_COUNT, Priority},
    ranks::{SHARED_TURN, next_rank},
    weights::Size,
};

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
    pushed: u64,
    turn: u32,
}

/// Deliveries of one kind, each with its number among all that were queued.
#[derive(Default)]
struct Ranks {
    ranks: [VecDeque<(u64, Delivery)>; RANKS],
    len: usize,
    turn: u32,
}

impl Ranks {
    fn fronts(&self) -> [Option<MessageId>; RANKS] {
        self.ranks.each_ref().map(|rank| rank.front().map(|(_, delivery)| delivery.message.id))
    }

    /// Who is next of these. Whoever finds no room then is next until there is some.
    fn next(&self) -> Option<Priority> {
        next_rank(&self.fronts(), self.turn)
    }

    /// The id of the one that has waited longest.
    fn oldest(&self) -> Option<MessageId> {
        self.fronts().into_iter().flatten().min()
    }

    /// The highest priority, and the number of its first one.
    fn first(&self) -> Option<(usize, Reverse<u64>)> {
        let mut ranks = self.ranks.iter().enumerate().rev();
        ranks.find_map(|(index, rank)| Some((index, Reverse(rank.front()?.0))))
    }
}

/// Which kinds may go.
#[derive(Debug, Clone, Copy)]
pub struct Kinds([bool; KINDS]);

impl Kinds {
    pub const ALL: Kinds = Kinds([true; KINDS]);

    /// What is of this size, and nothing else.
    pub fn only(size: Size) -> Kinds {
        let mut kinds = Kinds([false; KINDS]);
        kinds.0[kind(Some(size))] = true;
        kinds
    }

    /// None of this size.
    pub fn leave_out(&mut self, size: Size) {
        self.0[kind(Some(size))] = false;
    }
}

impl RankedQueue {
    pub fn len(&self) -> usize {
        self.kinds.iter().map(|of_kind| of_kind.len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        of_kind.ranks[index].push_back((self.pushed, delivery));
        of_kind.len += 1;
        self.pushed += 1;
        self.counts[index] += 1;
    }

    /// What [`pop`](Self::pop) takes.
    pub fn front(&self, kinds: Kinds) -> Option<&Delivery> {
        let (kind, priority) = self.next(kinds)?;
        self.kinds[kind].ranks[priority.index()].front().map(|(_, delivery)| delivery)
    }

    /// The kind that is next is chosen as a priority is: that of the highest one, and every eighth time that of what has
    /// waited longest.
    fn next(&self, kinds: Kinds) -> Option<(usize, Priority)> {
        let filled = (0..KINDS).filter(|kind| kinds.0[*kind] && self.kinds[*kind].len > 0);
        let mut filled = filled.peekable();
        let first = filled.next()?;
        let kind = match filled.peek() {
            None => first,
            Some(_) if self.turn % SHARED_TURN == SHARED_TURN - 1 => {
                filled.chain([first]).min_by_key(|kind| self.kinds[*kind].oldest())?
            }
            Some(_) => filled.chain([first]).max_by_key(|kind| self.kinds[*kind].first())?,
        };
        Some((kind, self.kinds[kind].next()?))
    }

    pub fn pop(&mut self, kinds: Kinds) -> Option<Delivery> {
        let (kind, priority) = self.next(kinds)?;
        let of_kind = &mut self.kinds[kind];
        let (_, delivery) = of_kind.ranks[priority.index()].pop_front()?;
        of_kind.len -= 1;
        of_kind.turn = of_kind.turn.wrapping_add(1);
        self.turn = self.turn.wrapping_add(1);
        self.counts[priority.index()] -= 1;
        Some(delivery)
    }

    /// Takes out some, whatever their priority.
    pub fn take(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for of_kind in &mut self.kinds {
            let before = taken.len();
            for rank in &mut of_kind.ranks {
                let (out, kept): (VecDeque<_>, VecDeque<_>) =
                    std::mem::take(rank).into_iter().partition(|(_, delivery)| is_wanted(delivery));
                *rank = kept;
                taken.extend(out.into_iter().map(|(_, delivery)| delivery));
            }
            of_kind.len -= taken.len() - before;
        }
        for delivery in &taken {
            self.counts[delivery.priority().index()] -= 1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use crate::message::Payload;

    use super::{super::tests::waiting, *};

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
        let next = queue.front(Kinds::only(Size::Large));
        assert_eq!(next.map(|delivery| delivery.message.id.0 >> 10), Some(8));
        assert!(queue.front(Kinds::only(Size::Giant)).is_none());
        assert_eq!(order(&mut queue, Kinds::ALL), [8, 9, 4, 1, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn kinds_of_one_priority_go_in_the_order_in_which_they_were_queued() {
        let mut queue = RankedQueue::default();
        // What has waited in the table is older than what comes from the log.
        for (number, kib) in [(900, 3), (1, 0), (2, 0), (901, 3), (3, 0)] {
            queue.push(delivery(number, 0, kib));
        }
        assert_eq!(order(&mut queue, Kinds::ALL), [900, 1, 2, 901, 3]);
    }

    /// Low ones of one kind, while high ones of it and of another keep coming; the low one is refused for a while when it is
    /// its turn.
    #[test]
    fn high_ones_slow_low_ones_down_and_stop_none() {
        let mut queue = RankedQueue::default();
        queue.push(delivery(1, 0, 100));
        let (mut number, mut refusals, mut pops) = (1, 0, 0);
        loop {
            for kib in [0, 100] {
                number += 1;
                queue.push(delivery(number, 5, kib));
            }
            let mut kinds = Kinds::ALL;
            let is_low = |delivery: &Delivery| delivery.priority() == Priority::new(0);
            if refusals < 5 && queue.front(kinds).is_some_and(is_low) {
                refusals += 1;
                kinds.leave_out(Size::Large);
            }
            pops += 1;
            if is_low(&queue.pop(kinds).unwrap()) {
                break;
            }
            assert!(pops < 100, "it is stopped, with {refusals} refusals");
        }
        assert_eq!(refusals, 5);
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
