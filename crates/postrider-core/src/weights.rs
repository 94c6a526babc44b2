//! How much of what is in memory only while it is sent each endpoint may have there, and whose turn it is.
//!
//! It is shared as places are (see [`crate::admit`]): one slow endpoint gets half, the next half of the rest.
//! Who has nothing under way and finds no room stands in line, and what becomes free is theirs, in their order. What is
//! small beside the room that is left passes them, until it has been as much as all the room there is.

use std::collections::VecDeque;

use crate::{admit::free_places, hashing::HashSet, id::EndpointId};

#[derive(Debug)]
pub struct Weights {
    total: usize,
    taken: usize,
    line: VecDeque<EndpointId>,
    is_in_line: HashSet<EndpointId>,
    /// What has passed the first in line.
    passed: usize,
}

/// What is smaller than this part of what may be taken passes those in line.
const SMALL: usize = 4;

impl Weights {
    pub fn new(total: usize) -> Weights {
        let (line, is_in_line) = (VecDeque::new(), HashSet::default());
        Weights { total, taken: 0, line, is_in_line, passed: 0 }
    }

    /// Whether an endpoint that has so much under way may take so much more. `is_first`: it was the
    /// [first in line](Self::first_in_line).
    pub fn may_take(&self, holds: usize, weight: usize, is_first: bool) -> bool {
        let weight = weight.min(self.total);
        let most = match holds {
            0 => self.total - self.taken,
            _ => free_places(self.total, self.taken, holds, self.total),
        };
        let is_its_turn = (is_first && holds == 0) || self.line.is_empty();
        let may_pass = self.passed < self.total && weight * SMALL <= most;
        weight == 0 || (weight <= most && (is_its_turn || may_pass))
    }

    fn fits(&self, weight: usize) -> bool {
        weight.min(self.total) <= self.total - self.taken
    }

    /// The endpoint has nothing under way, and there was no room for what it has.
    pub fn stand_in_line(&mut self, id: EndpointId) {
        if self.is_in_line.insert(id) {
            self.line.push_back(id);
        }
    }

    /// Takes the first out of line, if there is room for what it needs by now. Who needs nothing any more leaves.
    pub fn first_in_line(
        &mut self,
        needs: impl Fn(EndpointId) -> Option<usize>,
    ) -> Option<EndpointId> {
        while let Some(id) = self.line.front().copied() {
            let needed = needs(id);
            if needed.is_some_and(|weight| !self.fits(weight)) {
                return None;
            }
            self.line.pop_front();
            self.is_in_line.remove(&id);
            self.passed = 0;
            if needed.is_some() {
                return Some(id);
            }
        }
        None
    }

    /// It is under way; what it weighs at most, for [`put_down`](Self::put_down).
    pub fn take(&mut self, weight: usize) -> usize {
        let weight = weight.min(self.total);
        self.taken += weight;
        if !self.line.is_empty() {
            self.passed += weight;
        }
        weight
    }

    /// What was taken is not in memory any more.
    pub fn put_down(&mut self, weight: usize) {
        self.taken -= weight.min(self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i32) -> EndpointId {
        EndpointId(number)
    }

    #[test]
    fn one_slow_endpoint_leaves_half_to_the_others() {
        let mut weights = Weights::new(64);
        let mut slow = 0;
        while weights.may_take(slow, 1, false) {
            slow += weights.take(1);
        }
        assert_eq!(slow, 32);
        let mut second = 0;
        while weights.may_take(second, 1, false) {
            second += weights.take(1);
        }
        assert_eq!(second, 16);
        assert!(weights.may_take(0, 16, false));
        assert!(!weights.may_take(0, 17, false));
    }

    #[test]
    fn what_weighs_nothing_always_goes() {
        let mut weights = Weights::new(8);
        weights.take(8);
        weights.stand_in_line(id(1));
        assert!(weights.may_take(0, 0, false));
        assert!(weights.may_take(8, 0, false));
    }

    #[test]
    fn what_becomes_free_belongs_to_the_first_in_line() {
        let mut weights = Weights::new(64);
        let slow = weights.take(40);
        assert!(!weights.may_take(0, 30, false));
        weights.stand_in_line(id(1));
        weights.stand_in_line(id(2));
        weights.stand_in_line(id(1));
        let needs = |asked: EndpointId| Some(if asked == id(1) { 30 } else { 1 });
        assert_eq!(weights.first_in_line(needs), None, "there is no room for the first");
        // Neither the slow one nor a newcomer takes what it waits for.
        assert!(!weights.may_take(slow, 1, false));
        assert!(!weights.may_take(0, 7, false));
        weights.put_down(10);
        assert_eq!(weights.first_in_line(needs), Some(id(1)));
        assert!(weights.may_take(0, 30, true));
        weights.take(30);
        assert_eq!(weights.first_in_line(needs), Some(id(2)));
        assert_eq!(weights.first_in_line(needs), None);
        weights.take(1);
        weights.put_down(30);
        assert!(weights.may_take(0, 30, false));
    }

    #[test]
    fn what_is_small_passes_who_stands_in_line_for_a_while() {
        let mut weights = Weights::new(64);
        weights.take(40);
        weights.stand_in_line(id(1));
        let mut passed = 0;
        // Whoever passes is quick: it has put down one before it takes the next.
        while weights.may_take(0, 2, false) {
            passed += weights.take(2);
            weights.put_down(2);
        }
        assert_eq!(passed, 64);
        weights.put_down(10);
        assert_eq!(weights.first_in_line(|_| Some(30)), Some(id(1)));
        assert!(weights.may_take(0, 30, true));
        weights.take(30);
        weights.stand_in_line(id(2));
        assert!(weights.may_take(0, 1, false), "the next in line is passed for as long");
    }

    #[test]
    fn who_needs_nothing_any_more_holds_up_nobody() {
        let mut weights = Weights::new(8);
        weights.take(8);
        weights.stand_in_line(id(1));
        weights.stand_in_line(id(2));
        weights.put_down(4);
        let needs = |asked: EndpointId| (asked == id(2)).then_some(4);
        assert_eq!(weights.first_in_line(needs), Some(id(2)));
        assert!(weights.may_take(1, 1, false), "nobody is in line");
    }

    #[test]
    fn what_is_heavier_than_all_goes_alone() {
        let mut weights = Weights::new(64);
        assert!(weights.may_take(0, 65, false));
        assert_eq!(weights.take(65), 64);
        assert!(!weights.may_take(0, 1, false));
        weights.put_down(65);
        assert!(weights.may_take(0, 1, false));
    }
}
