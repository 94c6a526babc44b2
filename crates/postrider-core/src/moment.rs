//! Time as a value.

use std::time::Duration;

/// A moment in microseconds, by the clock that the caller goes by: the database's, or one of its own that never
/// goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    pub fn after(self, wait: Duration) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)))
    }

    /// What is to come, by a clock that says `now` and has been set back. What is not far ahead was said after that.
    pub fn set_back(self, by: Duration, now: Moment) -> Moment {
        let back = |by: Duration| i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        if self <= now.after(by / 2) {
            return self;
        }
        Moment(self.0.saturating_sub(back(by)))
    }
}
