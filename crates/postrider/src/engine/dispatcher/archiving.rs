//! The archive: partitions made and dropped, jobs and replays taken further, and endpoints that are full.
//!
//! Neither may end a tenure: what fails is said, and tried again.

use super::{
    super::{Options, chain},
    *,
};
use crate::store::archive::{self, Upkeep};

impl Dispatcher {
    pub(super) fn keep_archive(&mut self, now: Instant) {
        if !self.is_advancing_replays && now >= self.replays_at {
            self.is_advancing_replays = true;
            let chores = Arc::clone(&self.chores);
            self.send(async move { Event::ReplaysAdvanced(chores.lease.advance_replays().await) });
        }
        if !self.is_advancing_jobs && now >= self.jobs_at {
            self.is_advancing_jobs = true;
            let chores = Arc::clone(&self.chores);
            self.send(async move { Event::JobsAdvanced(chores.lease.advance_jobs().await) });
        }
        if !self.is_judging_limits && now >= self.limits_at {
            self.is_judging_limits = true;
            let chores = Arc::clone(&self.chores);
            self.send(
                async move { Event::LimitsJudged(chores.lease.update_full_endpoints().await) },
            );
        }
        if !self.is_in_upkeep && now >= self.upkeep_at {
            self.is_in_upkeep = true;
            self.upkeep_at = now + MAINTENANCE;
            let (options, chores) = (Arc::clone(&self.options), Arc::clone(&self.chores));
            self.send(async move { Event::Upkept(upkeep(&options, &chores.lease).await) });
        }
    }

    pub(super) fn take_replays(&mut self, answer: Result<Duration, StoreError>) {
        self.is_advancing_replays = false;
        let pause = answer.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "replays do not advance");
            REPLAY_PAUSE
        });
        self.replays_at = Instant::now() + pause;
    }

    pub(super) fn take_jobs(&mut self, answer: Result<Duration, StoreError>) {
        self.is_advancing_jobs = false;
        let pause = answer.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "jobs do not advance");
            REPLAY_PAUSE
        });
        self.jobs_at = Instant::now() + pause;
    }

    pub(super) fn take_limits(&mut self, answer: Result<Duration, StoreError>) {
        self.is_judging_limits = false;
        let pause = answer.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "nobody looks whether endpoints are full");
            REPLAY_PAUSE
        });
        self.limits_at = Instant::now() + pause;
    }

    pub(super) fn take_upkeep(&mut self, answer: Result<Upkeep, String>) {
        self.is_in_upkeep = false;
        match answer {
            Ok(Upkeep { created_count: 0, dropped_count: 0 }) => {}
            Ok(Upkeep { created_count, dropped_count }) => {
                info!(created_count, dropped_count, "partitions are kept up");
            }
            Err(error) => warn!(error, "partitions are not kept up"),
        }
    }
}

/// Connects only if there is something to do.
async fn upkeep(options: &Options, lease: &Lease) -> Result<Upkeep, String> {
    if !lease.needs_archive_upkeep().await.map_err(|error| chain(&error))? {
        return Ok(Upkeep::default());
    }
    let session = options.connector.connect().await.map_err(|error| chain(&error))?;
    archive::upkeep(&session.client).await.map_err(|error| chain(&error))
}
