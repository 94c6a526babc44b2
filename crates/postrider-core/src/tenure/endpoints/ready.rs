//! Endpoints that may have something to send now. They take turns, and each is in line once.

use std::collections::VecDeque;

use crate::{hashing::HashSet, id::EndpointId};

#[derive(Debug, Default)]
pub struct Ready {
    line: VecDeque<EndpointId>,
    is_in_line: HashSet<EndpointId>,
}

impl Ready {
    /// It comes last, unless it is in line.
    pub fn push(&mut self, id: EndpointId) {
        if self.is_in_line.insert(id) {
            self.line.push_back(id);
        }
    }

    /// Takes the first out of the line.
    pub fn pop(&mut self) -> Option<EndpointId> {
        let id = self.line.pop_front()?;
        self.is_in_line.remove(&id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_line_once_and_comes_last_when_it_comes_again() {
        let mut ready = Ready::default();
        for number in [1, 2, 1, 3, 2] {
            ready.push(EndpointId(number));
        }
        assert_eq!(ready.pop(), Some(EndpointId(1)));
        ready.push(EndpointId(1));
        let rest: Vec<i32> = std::iter::from_fn(|| ready.pop()).map(|id| id.0).collect();
        assert_eq!(rest, [2, 3, 1]);
    }
}
