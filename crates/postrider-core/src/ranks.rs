//! Which of several queues, one per priority, is next.
//!
//! The highest priority goes first, with one exception: every eighth turn belongs to whatever has
//! waited longest, so that low priorities are slowed down by high ones and never stopped.

use crate::id::{MessageId, PRIORITY_COUNT, Priority};

/// One turn of so many is the longest waiting one's.
pub const SHARED_TURN: u32 = 8;

/// The queue that is next, given the id at the front of each (by priority; `None`: empty). `turn`
/// counts what was taken so far.
pub fn next_rank(
    fronts: &[Option<MessageId>; PRIORITY_COUNT as usize],
    turn: u32,
) -> Option<Priority> {
    let filled = fronts
        .iter()
        .enumerate()
        .filter_map(|(index, front)| front.map(|id| (Priority::new(index as i16), id)));
    if turn % SHARED_TURN == SHARED_TURN - 1 {
        filled.min_by_key(|(_, id)| *id).map(|(priority, _)| priority)
    } else {
        filled.max_by_key(|(priority, _)| *priority).map(|(priority, _)| priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fronts(ids: &[(i16, i64)]) -> [Option<MessageId>; PRIORITY_COUNT as usize] {
        let mut fronts = [None; PRIORITY_COUNT as usize];
        for (priority, id) in ids {
            fronts[Priority::new(*priority).index()] = Some(MessageId(*id));
        }
        fronts
    }

    #[test]
    fn the_highest_priority_goes_first() {
        let waiting = fronts(&[(0, 1), (3, 2), (10, 3)]);
        for turn in 0..7 {
            assert_eq!(next_rank(&waiting, turn), Some(Priority::new(10)));
        }
        assert_eq!(next_rank(&fronts(&[]), 0), None);
        assert_eq!(next_rank(&fronts(&[(4, 9)]), 7), Some(Priority::new(4)));
    }

    #[test]
    fn every_eighth_turn_is_the_longest_waiting_ones() {
        let waiting = fronts(&[(0, 5), (3, 2), (10, 30)]);
        assert_eq!(next_rank(&waiting, 7), Some(Priority::new(3)));
        assert_eq!(next_rank(&waiting, 15), Some(Priority::new(3)));
        assert_eq!(next_rank(&waiting, 16), Some(Priority::new(10)));
    }
}
