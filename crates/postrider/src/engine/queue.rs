//! What waits in memory for one endpoint, by priority.

use std::collections::VecDeque;

use postrider_core::{
    id::{PRIORITY_COUNT, Priority},
    ranks::next_rank,
    weights::Size,
};

use super::delivery::Delivery;

/// Each priority in the order in which it was queued; see [`next_rank`] for who is next. What found no room for its
/// payload is set aside, and lets those pass that need no such room.
#[derive(Default)]
pub struct RankedQueue {
    ranks: [VecDeque<Delivery>; PRIORITY_COUNT as usize],
    aside: [VecDeque<Delivery>; Size::ALL.len()],
    /// How many there are of each priority, set aside or not.
    counts: [usize; PRIORITY_COUNT as usize],
    turn: u32,
}

impl RankedQueue {
    pub fn len(&self) -> usize {
        self.counts.iter().sum()
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
        self.counts[delivery.priority().index()] += 1;
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

    /// The next one that is not set aside.
    pub fn pop(&mut self) -> Option<Delivery> {
        let priority = self.next_rank()?;
        self.turn = self.turn.wrapping_add(1);
        self.counts[priority.index()] -= 1;
        self.ranks[priority.index()].pop_front()
    }

    /// The first of those of one size that are set aside.
    pub fn aside(&self, size: Size) -> Option<&Delivery> {
        self.aside[size.index()].front()
    }

    /// Sets aside what [`pop`](Self::pop) would take.
    pub fn set_aside(&mut self, size: Size) {
        if let Some(delivery) = self.pop() {
            self.counts[delivery.priority().index()] += 1;
            self.aside[size.index()].push_back(delivery);
        }
    }

    pub fn pop_aside(&mut self, size: Size) -> Option<Delivery> {
        let delivery = self.aside[size.index()].pop_front()?;
        self.counts[delivery.priority().index()] -= 1;
        Some(delivery)
    }

    /// Takes out some, whatever their priority.
    pub fn take(&mut self, mut is_wanted: impl FnMut(&Delivery) -> bool) -> Vec<Delivery> {
        let mut taken = Vec::new();
        for part in self.aside.iter_mut().chain(&mut self.ranks) {
            let (out, kept): (VecDeque<Delivery>, VecDeque<Delivery>) =
                std::mem::take(part).into_iter().partition(&mut is_wanted);
            *part = kept;
            taken.extend(out);
        }
        for delivery in &taken {
            self.counts[delivery.priority().index()] -= 1;
        }
        taken
    }
}
