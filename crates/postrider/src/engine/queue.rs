//! What waits in memory for one endpoint, by priority.

use std::collections::VecDeque;

use postrider_core::{
    id::{PRIORITY_COUNT, Priority},
    ranks::next_rank,
};

use super::delivery::Delivery;

/// Each priority in the order in which it was queued; see [`next_rank`] for who is next.
#[derive(Default)]
pub struct RankedQueue {
    ranks: [VecDeque<Delivery>; PRIORITY_COUNT as usize],
    len: usize,
    turn: u32,
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
        self.ranks[priority.index()].len()
    }

    /// How many there are of one priority and higher ones.
    pub fn len_from(&self, priority: Priority) -> usize {
        self.ranks[priority.index()..].iter().map(VecDeque::len).sum()
    }

    pub fn push(&mut self, delivery: Delivery) {
        self.len += 1;
        self.ranks[delivery.priority().index()].push_back(delivery);
    }

    /// What [`pop`](Self::pop) takes.
    pub fn front(&self) -> Option<&Delivery> {
        self.ranks[self.next_rank()?.index()].front()
    }

    fn next_rank(&self) -> Option<Priority> {
        let fronts = self.ranks.each_ref().map(|rank| rank.front().map(|d| d.message.id));
        next_rank(&fronts, self.turn)
    }

    pub fn pop(&mut self) -> Option<Delivery> {
        let priority = self.next_rank()?;
        self.turn = self.turn.wrapping_add(1);
        self.len -= 1;
        self.ranks[priority.index()].pop_front()
    }

    /// Takes out some, whatever their priority.
    pub fn take(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for rank in &mut self.ranks {
            let (out, kept): (VecDeque<Delivery>, VecDeque<Delivery>) =
                std::mem::take(rank).into_iter().partition(&mut is_wanted);
            *rank = kept;
            taken.extend(out);
        }
        self.len -= taken.len();
        taken
    }
}
