//! Recording results, and forgetting what is recorded.

use super::*;

impl Dispatcher {
    pub(super) fn flush(&mut self, now: Instant) {
        let waits_for_suspect =
            self.suspect.is_some_and(|suspect| self.gathered.put_down.contains(&suspect));
        let is_due = self.gathered.is_due(now, self.options.flush_interval)
            || waits_for_suspect
            || self.is_stopping && self.endpoints.in_flight == 0;
        if self.is_flushing || self.gathered.is_empty() || !is_due {
            return;
        }
        self.is_flushing = true;
        let mut gathered = std::mem::take(&mut self.gathered);
        self.deferrals += u64::from(!gathered.results.deferred.is_empty());
        let ledger = Arc::clone(&self.ledger);
        let mut owned = self.lanes.owned();
        self.send(async move {
            let mut all_lost: Vec<Shard> = Vec::new();
            loop {
                match ledger.flush(&owned, &gathered.results).await {
                    Ok(lost) if lost.is_empty() => {
                        return Event::Flushed(Box::new(gathered), Ok(all_lost));
                    }
                    Ok(lost) => {
                        gathered.forget(&lost);
                        owned.retain(|owned| !lost.contains(&owned.shard));
                        all_lost.extend(lost);
                    }
                    Err(error) => return Event::Flushed(Box::new(gathered), Err(error)),
                }
            }
        });
    }

    pub(super) fn take_flush(&mut self, gathered: &Gathered, lost: &[Shard]) {
        self.is_flushing = false;
        self.lose(lost);
        if !gathered.results.deferred.is_empty() {
            self.deferrals += 1;
            let now = Instant::now();
            for deferred in &gathered.results.deferred {
                let wait = Duration::from_millis(deferred.wait_ms.unsigned_abs());
                let at = self.clock.timestamp(now + wait);
                self.endpoints.note_deferred(deferred.endpoint, at);
            }
        }
        for ((lane, segment), count) in &gathered.finished {
            if let Some(owned) = self.lanes.get_mut(*lane) {
                owned.reader.finish(*segment, *count);
            }
        }
        for (id, target) in &gathered.put_down {
            if self.is_fetching_due {
                self.put_down.insert((*id, *target));
            }
            self.forget_in_hand(*id, *target);
        }
        if !gathered.finished.is_empty() && self.checkpoint_at.is_none() {
            self.checkpoint_at = Some(Instant::now());
        }
    }
}
