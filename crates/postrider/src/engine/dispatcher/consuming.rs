//! Ticks for consumers: what we have seen, they shall be able to read.
//!
//! That they cannot be made never ends a tenure: whoever reads can make them, too.

use super::{super::chain, *};

impl Dispatcher {
    pub(super) fn advance_consumers(&mut self, now: Instant) {
        if self.consumer_ticks.start(now) {
            let side = Arc::clone(&self.takeover);
            self.send(async move { Event::ConsumersTicked(side.lease.advance_ticks().await) });
        }
    }

    pub(super) fn take_consumer_tick(&mut self, answer: Result<Option<MadeTick>, StoreError>) {
        let answer = answer.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "no ticks for consumers");
            None
        });
        self.consumer_ticks.take(answer, Instant::now());
    }
}
