//! What became of deliveries: gathered, recorded by one flush at a time, and tried again where somebody holds the rows.

use std::time::{Duration, Instant};

use tracing::{trace, warn};

use super::{
    delivery::{Delivery, Message, Source},
    flush::Gathered,
    settlement::Settlement,
};
use crate::{
    id::{MessageId, Shard, Target},
    outcome::{Outcome, Report},
    timestamp::Timestamp,
};

/// What somebody's transaction has locked is tried again after so long.
pub const HELD_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Recorder {
    gathered: Gathered,
    is_flushing: bool,
    /// Shards that were lost since the flush that is under way began. They may be ours again, in another epoch.
    lost: Vec<Shard>,
    /// Results that could not be recorded because somebody has locked the rows, and until when they are
    /// left alone.
    held: Gathered,
    held_until: Option<Instant>,
    has_said_held: bool,
    /// How often what waits has changed, by a flush that is under way or over, or otherwise: a look at it that began
    /// before may have missed something.
    deferrals: u64,
    /// How long the first result waits for others.
    interval: Duration,
    /// Whether the history has attempts that were accepted.
    keeps_successes: bool,
}

impl Recorder {
    pub fn new(interval: Duration) -> Recorder {
        Recorder {
            gathered: Gathered::default(),
            is_flushing: false,
            lost: Vec::new(),
            held: Gathered::default(),
            held_until: None,
            has_said_held: false,
            deferrals: 0,
            interval,
            keeps_successes: false,
        }
    }

    /// What became of a delivery goes with the next flush.
    pub fn settle(&mut self, delivery: Delivery, settlement: Settlement, now: Instant) {
        self.gathered.settle(delivery, settlement, now);
    }

    /// The same of a message to nobody.
    pub fn note_nobody(&mut self, message: &Message, source: Source, now: Instant) {
        self.gathered.nobody(message, source, now);
    }

    /// Something waits for what there is to record.
    pub fn hurry(&mut self) {
        self.gathered.is_urgent = true;
    }

    pub fn keep_successes(&mut self, keeps_successes: bool) {
        self.keeps_successes = keeps_successes;
    }

    /// Keeps an attempt for the history, where that is wanted.
    pub fn note_attempt(&mut self, delivery: &Delivery, started: Timestamp, report: &Report) {
        let is_failure = report.outcome != Outcome::Accepted;
        if is_failure || self.keeps_successes || report.response.is_some() {
            self.gathered.attempt(delivery, started, report);
        }
    }

    /// How many results wait for the next flush.
    pub fn waiting_count(&self) -> usize {
        self.gathered.results.len()
    }

    /// How many waiting deliveries cannot be recorded because somebody holds them.
    pub fn held_count(&self) -> usize {
        self.held.put_down.len()
    }

    pub fn deferrals(&self) -> u64 {
        self.deferrals
    }

    /// What was seen of what waits is out of date.
    pub fn note_deferral(&mut self) {
        self.deferrals += 1;
    }

    /// Nothing waits for the next flush, and none is under way. What somebody holds does not count.
    pub fn is_quiet(&self) -> bool {
        !self.is_flushing && self.gathered.is_empty()
    }

    /// All that is known is on record, or a flush that is under way says so.
    pub fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.held.is_empty()
    }

    pub fn is_done(&self) -> bool {
        !self.is_flushing && self.is_empty()
    }

    /// Whether something of a shard cannot be recorded because somebody holds it.
    pub fn is_held(&self, shard: Shard) -> bool {
        self.held.put_down.iter().any(|(id, _)| id.lane().shard() == shard)
    }

    /// When there is something to record.
    pub fn wake_at(&self) -> Option<Instant> {
        let at = [self.gathered.due_at(self.interval), self.held_until].into_iter().flatten().min();
        at.filter(|_| !self.is_flushing)
    }

    /// What is to be recorded now. `awaited`: it is recorded at once; `is_last`: and so is everything.
    pub fn begin(
        &mut self,
        awaited: Option<(MessageId, Target)>,
        is_last: bool,
        now: Instant,
    ) -> Option<Box<Gathered>> {
        if self.is_flushing {
            return None;
        }
        if self.held_until.is_some_and(|at| at <= now) {
            self.held_until = None;
            self.gathered.take_back(std::mem::take(&mut self.held), now);
        }
        let is_awaited = awaited.is_some_and(|place| self.gathered.put_down.contains(&place));
        let is_due = is_last || is_awaited || self.gathered.is_due(now, self.interval);
        if self.gathered.is_empty() || !is_due {
            return None;
        }
        self.is_flushing = true;
        trace!(stop = "begin", "results are recorded");
        let recorded = Box::new(std::mem::take(&mut self.gathered));
        self.deferrals += u64::from(!recorded.results.deferred.is_empty());
        Some(recorded)
    }

    /// A flush is over, which has not recorded what somebody holds. What it says of shards that were lost meanwhile says
    /// nothing of what is ours.
    pub fn end(&mut self, recorded: &mut Gathered, mut held: Gathered, now: Instant) {
        self.is_flushing = false;
        let lost = std::mem::take(&mut self.lost);
        recorded.forget(&lost);
        held.forget(&lost);
        self.deferrals += u64::from(!recorded.results.deferred.is_empty());
        if !held.is_empty() {
            if !self.has_said_held {
                warn!(
                    count = held.put_down.len(),
                    "somebody's transaction has locked waiting deliveries; their results are \
                     recorded when it ends"
                );
            }
            self.held.take_back(held, now);
            self.held_until.get_or_insert(now + HELD_PAUSE);
        }
        self.has_said_held = !self.held.is_empty();
    }

    /// Nothing of these shards is ours to say.
    pub fn forget(&mut self, lost: &[Shard]) {
        self.gathered.forget(lost);
        self.held.forget(lost);
        if self.is_flushing {
            self.lost.extend(lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenure::tests::waiting;

    #[test]
    fn nobody_wakes_for_what_was_lost_with_its_shard() {
        let now = Instant::now();
        let interval = Duration::from_millis(5);
        let mut recorder = Recorder::new(interval);
        let delivery = || {
            let waiting = waiting(1);
            let source = Source::Log { lane: waiting.id.lane(), segment: 0 };
            Delivery { source, ..Delivery::due(waiting, 1) }
        };
        recorder.settle(delivery(), Settlement::Expired, now);
        assert_eq!(recorder.wake_at(), Some(now + interval));
        recorder.forget(&[delivery().shard()]);
        assert_eq!(recorder.wake_at(), None);
        let later = now + interval * 10;
        assert!(recorder.begin(None, false, later).is_none());
        recorder.settle(delivery(), Settlement::Expired, later);
        assert!(recorder.wake_at().is_some());
    }
}
