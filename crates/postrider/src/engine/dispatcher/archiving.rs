//! The archive: partitions made and dropped, jobs and replays taken further, and endpoints that are full.
//!
//! Neither may end a tenure: what fails is said, and tried again.

use super::{
    super::{Options, chain},
    *,
};
use crate::store::archive::{self, Upkeep};

/// A chore that is done again and again, one at a time, and says itself when next.
#[derive(Debug)]
pub(super) struct Repeated {
    at: Instant,
    is_under_way: bool,
}

impl Repeated {
    pub fn new(at: Instant) -> Self {
        Self { at, is_under_way: false }
    }

    /// It is wanted now. One that is under way says anew when it ends.
    pub fn want(&mut self, now: Instant) {
        self.at = now;
    }

    /// When it begins, unless it is under way.
    pub fn due_at(&self) -> Option<Instant> {
        (!self.is_under_way).then_some(self.at)
    }

    fn begin(&mut self, now: Instant) -> bool {
        let is_due = self.due_at().is_some_and(|at| now >= at);
        self.is_under_way |= is_due;
        is_due
    }

    pub fn end(&mut self, answer: Result<Duration, StoreError>, failure: &'static str) {
        self.is_under_way = false;
        let pause = answer.unwrap_or_else(|error| {
            warn!(error = %chain(&error), "{failure}");
            REPLAY_PAUSE
        });
        self.at = Instant::now() + pause;
    }
}

impl Dispatcher {
    pub(super) fn keep_archive(&mut self, now: Instant) {
        if self.replays.begin(now) {
            let chores = Arc::clone(&self.chores);
            self.send(async move { Event::ReplaysAdvanced(chores.lease.advance_replays().await) });
        }
        if self.jobs.begin(now) {
            let chores = Arc::clone(&self.chores);
            self.send(async move { Event::JobsAdvanced(chores.lease.advance_jobs().await) });
        }
        if self.limits.begin(now) {
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
