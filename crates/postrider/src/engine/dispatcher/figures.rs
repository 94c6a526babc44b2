//! Figures of executions: what has ended since the last time is added to them.
//!
//! Figures that are late must not end a tenure: what fails is said, and tried again.

use super::{super::chain, *};

impl Dispatcher {
    pub(super) fn roll_up_executions(&mut self, now: Instant) {
        if self.is_rolling_up || now < self.roll_up_at {
            return;
        }
        self.is_rolling_up = true;
        self.roll_up_at = now + ROLL_UP_INTERVAL;
        let chores = Arc::clone(&self.chores);
        self.send(
            async move { Event::ExecutionsRolledUp(chores.lease.roll_up_executions().await) },
        );
    }

    pub(super) fn take_roll_up(&mut self, answer: Result<i32, StoreError>) {
        self.is_rolling_up = false;
        match answer {
            Ok(0) => {}
            Ok(row_count) => debug!(row_count, "executions are rolled up"),
            Err(error) => warn!(error = %chain(&error), "executions are not rolled up"),
        }
    }
}
