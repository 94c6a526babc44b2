//! When a dispatcher makes the next tick for consumers.
//!
//! As soon as it has seen something new, and no more often than two ticks may follow each other. Without news
//! now and then, for what another dispatcher has seen that died before it made its tick.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::lease::MadeTick;

/// How often we look without news.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// How often we look whether there are consumers; a notification tells us sooner.
const NOBODY_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct ConsumerTicks {
    has_consumers: bool,
    /// Something was seen that may be in no tick.
    has_news: bool,
    /// The try that is under way, and whether it was for news.
    under_way: Option<bool>,
    /// No sooner than the interval between ticks allows.
    earliest_at: Instant,
    due_at: Instant,
}

impl ConsumerTicks {
    pub fn new(now: Instant) -> ConsumerTicks {
        ConsumerTicks {
            has_consumers: false,
            has_news: false,
            under_way: None,
            earliest_at: now,
            due_at: now,
        }
    }

    /// There may be consumers now.
    pub fn look(&mut self, now: Instant) {
        self.due_at = now;
    }

    /// Messages were seen.
    pub fn note_news(&mut self, now: Instant) {
        self.has_news = true;
        if self.has_consumers {
            self.due_at = self.due_at.min(self.earliest_at.max(now));
        }
    }

    /// Whether to make one now; it is under way then.
    pub fn start(&mut self, now: Instant) -> bool {
        if self.under_way.is_some() || now < self.due_at {
            return false;
        }
        self.under_way = Some(std::mem::take(&mut self.has_news));
        true
    }

    /// What came of it; `None`: there are no consumers.
    pub fn take(&mut self, made: Option<MadeTick>, now: Instant) {
        let was_for_news = self.under_way.take().unwrap_or(false);
        self.has_consumers = made.is_some();
        let Some(made) = made else {
            self.has_news = false;
            self.due_at = now + NOBODY_PAUSE;
            return;
        };
        self.earliest_at = now + made.interval.max(Duration::from_millis(1));
        // It was too soon, or another one made a tick before ours was committed: once more.
        let is_worth_another = self.has_news || was_for_news && !made.is_made;
        self.due_at = if is_worth_another { self.earliest_at } else { now + IDLE_PAUSE };
    }

    /// When to start the next; none while one is under way.
    pub fn due_at(&self) -> Option<Instant> {
        self.under_way.is_none().then_some(self.due_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(20);
    const MADE: Option<MadeTick> = Some(MadeTick { is_made: true, interval: INTERVAL });
    const NOT_MADE: Option<MadeTick> = Some(MadeTick { is_made: false, interval: INTERVAL });

    /// A schedule that knows of consumers, and when it was told so.
    fn with_consumers() -> (ConsumerTicks, Instant) {
        let now = Instant::now();
        let mut ticks = ConsumerTicks::new(now);
        assert!(ticks.start(now));
        ticks.take(NOT_MADE, now);
        (ticks, now)
    }

    #[test]
    fn news_make_a_tick_as_soon_as_the_interval_allows() {
        let (mut ticks, now) = with_consumers();
        ticks.note_news(now);
        assert_eq!(ticks.due_at(), Some(now + INTERVAL));
        assert!(!ticks.start(now));
        let later = now + Duration::from_millis(300);
        assert!(ticks.start(later));
        assert_eq!(ticks.due_at(), None);
        ticks.take(MADE, later);
        assert_eq!(ticks.due_at(), Some(later + IDLE_PAUSE));
    }

    #[test]
    fn news_during_a_tick_make_another() {
        let (mut ticks, now) = with_consumers();
        let later = now + IDLE_PAUSE;
        assert!(ticks.start(later));
        ticks.note_news(later);
        ticks.take(MADE, later);
        assert_eq!(ticks.due_at(), Some(later + INTERVAL));
    }

    #[test]
    fn a_tick_that_was_not_made_for_news_is_tried_once_more() {
        let (mut ticks, now) = with_consumers();
        ticks.note_news(now);
        let at = now + INTERVAL;
        assert!(ticks.start(at));
        ticks.take(NOT_MADE, at);
        assert_eq!(ticks.due_at(), Some(at + INTERVAL));
        assert!(ticks.start(at + INTERVAL));
        ticks.take(NOT_MADE, at + INTERVAL);
        assert_eq!(ticks.due_at(), Some(at + INTERVAL + IDLE_PAUSE));
    }

    #[test]
    fn without_consumers_news_change_nothing() {
        let now = Instant::now();
        let mut ticks = ConsumerTicks::new(now);
        assert!(ticks.start(now));
        ticks.take(None, now);
        ticks.note_news(now);
        assert_eq!(ticks.due_at(), Some(now + NOBODY_PAUSE));
        ticks.look(now);
        assert_eq!(ticks.due_at(), Some(now));
    }
}
