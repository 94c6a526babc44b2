//! Counting what waits in the table, now and then: what is known of it otherwise follows what is
//! recorded here, and others write there, too.

use super::*;

impl Dispatcher {
    pub(super) fn count_waiting(&mut self, now: Instant) {
        if self.account.take_turn(now) {
            self.start_counting(now, None);
        }
    }

    /// Looks for the oldest where that has gone.
    pub(super) fn count_doubtful(&mut self, now: Instant) {
        if self.is_stopping() {
            return;
        }
        let doubtful = self.account.doubtful(&self.endpoints);
        if !doubtful.is_empty() {
            self.start_counting(now, Some(doubtful));
        }
    }

    fn start_counting(&mut self, now: Instant, endpoints: Option<Vec<EndpointId>>) {
        let shards = self.lanes.active_shards();
        if !shards.is_empty() {
            let counting = self.account.begin_count(shards, endpoints, now);
            self.ask(Query::Count(counting));
        }
    }

    pub(super) fn take_counts(
        &mut self,
        counting: Counting,
        counts: Result<Vec<WaitingCount>, Failure>,
    ) -> Result<(), Failure> {
        let now = self.now;
        if counts.as_ref().is_err_and(Failure::is_passing) {
            self.account.abandon_count(now);
            return Ok(());
        }
        let is_owned = |shard: &Shard| self.lanes.epoch(*shard).is_some();
        let shards = counting.shards.into_iter().filter(is_owned).collect();
        let counting = Counting { shards, ..counting };
        let counts: Vec<WaitingCount> =
            counts?.into_iter().filter(|count| is_owned(&count.shard)).collect();
        if self.account.take_count(&counting, &counts, &self.endpoints, now) {
            self.checkpoint_soon();
        }
        Ok(())
    }
}
