//! Sequence numbers that nobody was given, in long runs: whoever walks over ids goes round them.
//!
//! A log that was adopted, or of which a failover took back millions, goes on with its numbers far ahead, so that no id
//! comes twice. Without this a walk would look at millions of empty places, and all of them would count as messages
//! that wait.

/// Numbers behind the first, up to and with the second.
pub type Gap = (i64, i64);

/// Between two looks at a log nobody draws so many numbers: somebody has left them out.
const LEAP: i64 = 1 << 30;

/// All gaps of a log, in order, and how far its numbers had come when that was known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    gaps: Vec<Gap>,
    /// The newest number of the log at the last look: a tick, or a heartbeat.
    newest: i64,
}

impl Gaps {
    /// They may come in any order, and do not overlap. `newest` is the newest number of the log before they were read.
    pub fn new(mut gaps: Vec<Gap>, newest: i64) -> Gaps {
        gaps.sort_unstable();
        Gaps { gaps, newest }
    }

    /// What is left of the ids behind `after`, up to and with `end`: pieces of the same kind, in order. At
    /// least one, which may be empty.
    pub fn pieces(&self, mut after: i64, end: i64) -> Vec<(i64, i64)> {
        let mut pieces = Vec::new();
        for (first, last) in &self.gaps {
            let (first, last) = (last_id(*first), last_id(*last));
            if last <= after || first >= end {
                continue;
            }
            if first > after {
                pieces.push((after, first));
            }
            after = last;
        }
        if after < end || pieces.is_empty() {
            pieces.push((after.min(end), end));
        }
        pieces
    }

    /// The end of the gap that this id lies in; where it lies in none, the id.
    pub fn end_of(&self, id: i64) -> i64 {
        let gap =
            self.gaps.iter().find(|(first, last)| last_id(*first) < id && id < last_id(*last));
        gap.map_or(id, |(_, last)| last_id(*last))
    }

    /// Notes the newest number of the log. Whether it has leapt since the last look, over a gap that is none of these.
    pub fn note_newest(&mut self, newest: i64) -> bool {
        let before = self.newest;
        self.newest = newest.max(before);
        newest - before - (self.count_above(before) - self.count_above(newest)) >= LEAP
    }

    /// How many of the numbers above this one are in gaps.
    pub fn count_above(&self, number: i64) -> i64 {
        self.gaps.iter().map(|(after, last)| (last - number.max(*after)).max(0)).sum()
    }
}

/// The highest id that this sequence number can have.
fn last_id(sequence_number: i64) -> i64 {
    (sequence_number << 10) | 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_round_gaps() {
        let (million, billion) = (1_000_000_i64, 1_000_000_000_i64);
        let gaps = Gaps::new(vec![(8 * billion, 9 * billion), (100, billion)], 0);
        let id = last_id;
        let (first, second) = (id(100), id(8 * billion));
        for (after, end, expected) in [
            (0, id(50), vec![(0, id(50))]),
            (0, first, vec![(0, first)]),
            (0, id(5 * million), vec![(0, first)]),
            (0, id(2 * billion), vec![(0, first), (id(billion), id(2 * billion))]),
            (
                0,
                id(10 * billion),
                vec![(0, first), (id(billion), second), (id(9 * billion), id(10 * billion))],
            ),
            (first, id(2 * billion), vec![(id(billion), id(2 * billion))]),
            (id(5 * million), id(2 * billion), vec![(id(billion), id(2 * billion))]),
            (id(5 * million), id(6 * million), vec![(id(6 * million), id(6 * million))]),
            (id(billion), id(billion + 1), vec![(id(billion), id(billion + 1))]),
            (7, 7, vec![(7, 7)]),
        ] {
            assert_eq!(gaps.pieces(after, end), expected, "({after}, {end}]");
        }
        assert_eq!(Gaps::default().pieces(5, 9), [(5, 9)]);
        for (at, end) in
            [(first, first), (first + 1, id(billion)), (id(billion), id(billion)), (9, 9)]
        {
            assert_eq!(gaps.end_of(at), end);
        }
    }

    #[test]
    fn a_leap_over_a_gap_that_is_not_known_is_seen() {
        for (before, now, expected) in [
            (0, 99, false),
            (0, LEAP - 1, false),
            (50, 200 + LEAP, false),
            (LEAP, 99 + LEAP, false),
            (200 + LEAP, 199 + 2 * LEAP, false),
            (200 + LEAP, 200 + 2 * LEAP, true),
            (50, 200 + 2 * LEAP, true),
        ] {
            let mut gaps = Gaps::new(vec![(100, 100 + LEAP)], before);
            assert_eq!(gaps.note_newest(now), expected, "{before}, {now}");
            assert!(!gaps.note_newest(now), "{now} is noted");
        }
    }

    #[test]
    fn what_nobody_was_given_does_not_count() {
        let gaps = Gaps::new(vec![(100, 200), (1_000, 2_000)], 0);
        for (number, expected) in
            [(0, 1_100), (100, 1_100), (150, 1_050), (200, 1_000), (1_999, 1), (2_000, 0)]
        {
            assert_eq!(gaps.count_above(number), expected, "{number}");
        }
    }
}
