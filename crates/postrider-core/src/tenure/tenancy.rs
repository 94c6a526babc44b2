//! The lease of a tenure: heartbeats, what comes and goes with them, and how it ends.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{
    Tenure,
    chore::Chore,
    dispatcher::{End, Identity},
};
use crate::{hashing::HashSet, lease::Heartbeat};

/// A dispatcher gives a sign of life three times within its lease, and at least so often: what people
/// see of it is no older.
const BEAT_INTERVAL: Duration = Duration::from_secs(2);
/// A beat comes early for so many deliveries more or less than were spoken of, and a quarter of those;
/// no sooner than this.
const NEWS: i64 = 1_000;
const NEWS_INTERVAL: Duration = Duration::from_millis(500);
/// Whoever rings waits so long after the last heartbeat, which writes, and which those of others wait for when somebody
/// takes shards over.
const BEAT_PAUSE: Duration = Duration::from_millis(200);
/// How long recording may take when the grace of a stop is over.
const RECORDING_GRACE: Duration = Duration::from_secs(5);
/// How far apart lines are at least that say how far a stop is: one is written when the loop wakes, as for a beat.
const DRAINING_LINE: Duration = Duration::from_secs(2);

/// How often a lease of this length is renewed.
pub fn beat_interval(lease: Duration) -> Duration {
    BEAT_INTERVAL.min(lease / 3)
}

#[derive(Debug)]
pub struct Tenancy {
    pub identity: Identity,
    /// Whose unattempted messages are known: the tenure before this one.
    former: Option<Tenure>,
    /// The other dispatchers, by the last heartbeat.
    others: HashSet<Uuid>,
    beat: Chore,
    /// When to look next whether the last beat is out of date, and what it said to be pending.
    news_at: Instant,
    pending_said: i64,
    is_acquiring: bool,
    is_releasing: bool,
    lease_length: Duration,
    /// None: nobody has asked us to stop.
    stop: Option<Stop>,
    end: Option<End>,
}

/// A stop in order.
#[derive(Debug, Clone, Copy)]
struct Stop {
    grace_ends_at: Instant,
    /// When the next line is due that says how far it is.
    line_at: Instant,
}

impl Tenancy {
    pub fn new(identity: Identity, former: Option<Tenure>, now: Instant) -> Tenancy {
        Tenancy {
            identity,
            former,
            others: HashSet::default(),
            beat: Chore::due_or_rung(now, BEAT_PAUSE),
            news_at: now,
            pending_said: 0,
            is_acquiring: false,
            is_releasing: false,
            lease_length: Duration::from_secs(15),
            stop: None,
            end: None,
        }
    }

    pub fn lease_length(&self) -> Duration {
        self.lease_length
    }

    /// Whether it lived at our last heartbeat.
    pub fn knows(&self, other: Uuid) -> bool {
        self.others.contains(&other)
    }

    /// When to look again at the latest.
    pub fn wake_at(&self, now: Instant) -> Instant {
        let at = self.beat.wake_at().unwrap_or(now + beat_interval(self.lease_length));
        self.stop.map_or(at, |stop| at.min(stop.grace_ends_at))
    }

    // Heartbeats ------------------------------------------------------------------------------------

    /// Somebody rang for shards.
    pub fn ring(&mut self) {
        self.beat.ring();
    }

    /// The first heartbeat is under way, before there is anything to say.
    pub fn begin_first_beat(&mut self, now: Instant) {
        self.beat.begin(now);
    }

    /// Begins a heartbeat, when it is time or what is pending has changed much.
    pub fn begin_beat(&mut self, pending: impl Fn() -> i64, now: Instant) -> bool {
        if self.beat.is_under_way() || !self.beat.is_due(now) && !self.has_news(&pending, now) {
            return false;
        }
        self.beat.begin(now + beat_interval(self.lease_length));
        self.news_at = now + NEWS_INTERVAL;
        self.pending_said = pending();
        true
    }

    /// Whether what is pending has changed so much that people should see it before the next beat is
    /// due: should we die, it is what they see until somebody takes over.
    fn has_news(&mut self, pending: impl Fn() -> i64, now: Instant) -> bool {
        if now < self.news_at {
            return false;
        }
        self.news_at = now + NEWS_INTERVAL;
        let change = (pending() - self.pending_said).abs();
        change >= NEWS && change * 4 >= self.pending_said
    }

    /// A heartbeat that was asked for then has its answer. Returns the length of the lease if that is another one.
    pub fn end_beat(
        &mut self,
        asked: Instant,
        heartbeat: &Heartbeat,
        now: Instant,
    ) -> Option<Duration> {
        self.beat.end(now);
        self.others = heartbeat.others.iter().map(|other| other.dispatcher).collect();
        let former = std::mem::replace(&mut self.lease_length, heartbeat.lease);
        self.beat.set_due(asked + beat_interval(self.lease_length));
        (former != self.lease_length).then_some(self.lease_length)
    }

    // Shards ----------------------------------------------------------------------------------------

    /// Begins to take shards, unless some are being taken. Returns the tenure whose unattempted messages are known.
    pub fn begin_acquiring(&mut self) -> Option<Option<Tenure>> {
        let may_begin = !self.is_acquiring;
        self.is_acquiring = true;
        may_begin.then(|| self.former.clone())
    }

    pub fn end_acquiring(&mut self) {
        self.is_acquiring = false;
    }

    pub fn is_releasing(&self) -> bool {
        self.is_releasing
    }

    pub fn begin_release(&mut self) {
        self.is_releasing = true;
    }

    pub fn end_release(&mut self) {
        self.is_releasing = false;
    }

    /// Nothing is being taken or released.
    pub fn is_settled(&self) -> bool {
        !self.is_acquiring && !self.is_releasing
    }

    // The end ---------------------------------------------------------------------------------------

    /// The tenure cannot go on, for the first reason that is given.
    pub fn fail(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    pub fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    pub fn stop(&mut self, grace: Duration, now: Instant) {
        self.stop = Some(Stop { grace_ends_at: now + grace, line_at: now + DRAINING_LINE });
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether the grace of a stop is over. What has landed is worth a little more time, what has not is left to a
    /// successor.
    pub fn is_grace_over(&self, is_recorded: bool, now: Instant) -> bool {
        self.stop.is_some_and(|stop| {
            let end = stop.grace_ends_at;
            now >= end && is_recorded || now >= end + RECORDING_GRACE
        })
    }

    /// For how long a stop may still take, when a line is due that says so.
    pub fn take_line_turn(&mut self, now: Instant) -> Option<Duration> {
        let stop = self.stop.as_mut().filter(|stop| now >= stop.line_at)?;
        stop.line_at = now + DRAINING_LINE;
        Some(stop.grace_ends_at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests;
