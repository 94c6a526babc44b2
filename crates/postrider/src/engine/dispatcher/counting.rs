//! Counting what waits in the table, now and then: what is known of it otherwise follows what is
//! recorded here, and others write there, too.

use super::*;

impl Dispatcher {
    pub(super) fn count_waiting(&mut self, now: Instant) {
        if self.count.is_due(now) {
            self.count.set_due(now + COUNT_INTERVAL);
            self.start_counting(now, None);
        }
    }

    /// Somebody else has changed what waits.
    pub(super) fn count_soon(&mut self) {
        self.count.hurry(self.now + DEFERRED_COUNT_DELAY);
    }

    /// Looks for the oldest where that has gone.
    pub(super) fn count_doubtful(&mut self, now: Instant) {
        if self.count.is_under_way() || self.is_stopping {
            return;
        }
        let doubtful = self.pending.doubtful(&self.endpoints);
        if !doubtful.is_empty() {
            self.start_counting(now, Some(doubtful));
        }
    }

    fn start_counting(&mut self, now: Instant, endpoints: Option<Vec<EndpointId>>) {
        let shards = self.lanes.active_shards();
        if shards.is_empty() {
            return;
        }
        self.count.start();
        let counting = Counting {
            began_at: now,
            shards,
            endpoints,
            changes: self.waiting_changes,
            is_changing: self.is_changing_waiting,
        };
        self.ask(Query::Count(counting));
    }

    pub(super) fn take_counts(
        &mut self,
        counting: Counting,
        counts: Result<Vec<WaitingCount>, StoreError>,
    ) -> Result<(), StoreError> {
        self.count.end(self.now);
        match counts {
            Err(error) if error.is_passing() => {
                self.count.hurry(self.now + COUNT_PAUSE);
            }
            counts => self.note_counts(counting, &counts?),
        }
        Ok(())
    }

    fn note_counts(&mut self, counting: Counting, counts: &[WaitingCount]) {
        let is_owned = |shard: &Shard| self.lanes.epoch(*shard).is_some();
        let shards: Vec<Shard> = counting.shards.into_iter().filter(is_owned).collect();
        let counts: Vec<WaitingCount> =
            counts.iter().filter(|count| is_owned(&count.shard)).copied().collect();
        let was_disturbed = counting.is_changing || counting.changes != self.waiting_changes;
        let endpoints = counting.endpoints.as_deref();
        let now = self.now;
        if was_disturbed && endpoints.is_none() {
            let pause = COUNT_PAUSE.max((now - counting.began_at) * COUNT_PART);
            self.count.hurry(now + pause);
        }
        // What was recorded meanwhile is in the count or not. It is believed all the same when no better
        // one was to be had for long.
        let is_overdue = endpoints.is_none() && now >= self.counted_at + COUNT_INTERVAL;
        if was_disturbed && !is_overdue {
            return;
        }
        self.pending.note_counts(&shards, endpoints, &self.endpoints, &counts);
        if endpoints.is_none() {
            self.counted_at = now;
            self.note_waiting_counts(&shards, &counts);
            // Senders go by it.
            self.checkpoint_soon();
        }
    }

    /// What was counted in the table of waiting deliveries.
    pub(super) fn note_waiting_counts(&mut self, shards: &[Shard], counts: &[WaitingCount]) {
        for shard in shards {
            let of_shard = counts.iter().filter(|count| count.shard == *shard);
            let waiting = of_shard.map(|count| count.count).sum();
            self.backlogs.entry(*shard).or_default().waiting = waiting;
        }
    }
}
