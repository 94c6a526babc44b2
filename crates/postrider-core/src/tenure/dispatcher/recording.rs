//! Recording results, and forgetting what is recorded.

use super::*;

impl Dispatcher {
    pub(super) fn flush(&mut self, now: Instant) {
        let is_last = self.is_stopping() && self.endpoints.in_flight() == 0;
        let Some(recorded) = self.recorder.begin(self.hands.current(), is_last, now) else {
            return;
        };
        self.account.begin_flush(&recorded);
        self.ask(Query::Flush { owned: self.lanes.owned(), recorded });
    }

    pub(super) fn take_flush(&mut self, Flushed { mut recorded, held, lost }: Flushed) {
        trace!(stop = "take_flush", "results are on record");
        for place in &held.put_down {
            self.expiry.forget(*place);
        }
        self.recorder.end(&mut recorded, held, self.now);
        self.account.end_flush();
        self.lose(&lost);
        let changes = recorded.changes();
        self.note_waiting_from_now(&recorded);
        for ((lane, segment), count) in &recorded.finished {
            if let Some(owned) = self.lanes.get_mut(*lane) {
                owned.reader.finish(*segment, *count);
            }
        }
        for place in &recorded.put_down {
            self.hands.note_recorded(*place);
            self.forget_in_hand(*place);
        }
        self.followers.note_recorded(&recorded);
        self.account.note_recorded(&recorded, &changes);
        for link in recorded.stored() {
            self.chains.note_recorded(&link);
            // What it was put behind may be gone by now.
            self.want_stored(&link);
        }
        for link in recorded.left() {
            self.leave_chain(link);
        }
        // What waited and ended makes room for senders, too, who learn of it from a checkpoint.
        if !recorded.finished.is_empty() || !changes.is_empty() {
            self.checkpoint_soon();
        }
    }

    /// What waits from now on is looked for when its time comes, and not before: it may be the only
    /// one, and until now there was nothing to look for.
    fn note_waiting_from_now(&mut self, gathered: &Gathered) {
        let now = self.now;
        let results = &gathered.results;
        for deferred in &results.deferred {
            let wait = Duration::from_millis(deferred.wait_ms.unsigned_abs());
            let run_at = deferred.run_at.unwrap_or_else(|| self.clock.timestamp(now + wait));
            // The same rule as in postrider.flush.
            let at = match (deferred.is_blocked, deferred.expires_at) {
                (true, expires_at) => expires_at,
                (false, Some(expires_at)) => Some(run_at.min(expires_at)),
                (false, None) => Some(run_at),
            };
            if let Some(at) = at {
                self.note_deferred(deferred.endpoint, at);
            }
        }
        if gathered.put_down.len() > results.settled.len() {
            let is_recorded: HashSet<(MessageId, Target)> = results
                .settled
                .iter()
                .copied()
                .chain(results.deferred.iter().map(|deferred| (deferred.id, deferred.target)))
                .collect();
            let timestamp = self.clock.timestamp(now);
            for place in gathered.put_down.iter().filter(|place| !is_recorded.contains(place)) {
                // It was due when it was taken in hand, and a look meanwhile has passed it over.
                if let Some(endpoint) = self.endpoints.by_target(place.1) {
                    self.note_deferred(endpoint, timestamp);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
