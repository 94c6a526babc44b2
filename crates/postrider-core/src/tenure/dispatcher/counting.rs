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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow::{Break, Continue};

    use super::{super::tests::stand::Stand, *};
    use crate::tenure::tests::{TARGET, unkeyed};

    const MINUTE: Duration = Duration::from_secs(60);

    fn count(stand: &mut Stand) -> Option<Counting> {
        stand.asked(|query| match query {
            Query::Count(counting) => Break(counting),
            query => Continue(query),
        })
    }

    fn found(count: i64) -> Vec<WaitingCount> {
        let waiting = |shard| WaitingCount { shard, target: TARGET, count, oldest: Timestamp(0) };
        vec![waiting(Shard(0)), waiting(Shard(1))]
    }

    /// What people see.
    fn shown(stand: &Stand) -> i64 {
        stand.dispatcher.statistics().pending.iter().map(|at| at.count).sum()
    }

    #[test]
    fn what_waits_is_counted_now_and_then_in_the_shards_that_are_ours() {
        let mut stand = Stand::new(1);
        stand.pass(MINUTE - Duration::from_millis(1));
        assert!(count(&mut stand).is_none());
        stand.pass(Duration::from_millis(1));
        let counting = count(&mut stand).expect("it is time");
        assert_eq!((&counting.shards, counting.endpoints.is_none()), (&vec![Shard(0)], true));
        stand.pass(MINUTE);
        assert!(count(&mut stand).is_none(), "one at a time");
        // Whatever is counted of others is not ours.
        stand.take(Event::Counted(counting, Ok(found(5))));
        assert_eq!(stand.dispatcher.account.pending(), 5);
        assert_eq!(shown(&stand), 5);
        assert!(stand.dispatcher.claims.wake_at().is_some(), "senders learn of it");
    }

    #[test]
    fn what_was_counted_of_a_shard_that_is_lost_by_then_is_not_taken_for_ours() {
        let mut stand = Stand::new(1);
        stand.pass(MINUTE);
        let counting = count(&mut stand).expect("it is time");
        stand.dispatcher.lose(&[Owned { shard: Shard(0), epoch: 1 }]);
        stand.take(Event::Counted(counting, Ok(found(5))));
        assert_eq!((stand.dispatcher.account.pending(), shown(&stand)), (0, 0));
    }

    #[test]
    fn whoever_owns_nothing_counts_nothing() {
        let mut stand = Stand::new(1);
        stand.dispatcher.lose(&[Owned { shard: Shard(0), epoch: 1 }]);
        stand.pass(MINUTE * 2);
        assert!(count(&mut stand).is_none());
        assert!(stand.dispatcher.account.count_at().is_some(), "it does once it owns something");
    }

    #[test]
    fn a_count_that_took_too_long_is_tried_again() {
        let mut stand = Stand::new(1);
        stand.pass(MINUTE);
        let counting = count(&mut stand).expect("it is time");
        stand.take(Event::Counted(counting, Err(Failure::new("too long", true))));
        assert!(count(&mut stand).is_none());
        stand.pass(Duration::from_secs(5));
        assert!(count(&mut stand).is_some());
    }

    /// What people see of the oldest is as old as what is pending, whenever a heartbeat says it.
    #[test]
    fn the_oldest_is_looked_for_with_a_heartbeat_when_it_may_have_gone() {
        for is_stopping in [false, true] {
            let mut stand = Stand::new(1);
            stand.dispatcher.account.note_counts(
                &[Shard(0)],
                &found(2)[..1],
                &stand.dispatcher.endpoints,
            );
            stand.fetch_claimed(vec![unkeyed(1)]);
            stand.land_all(Outcome::Accepted);
            stand.recorded();
            if is_stopping {
                let now = stand.now;
                stand.dispatcher.stop(now);
            }
            stand.pass(Duration::from_secs(2));
            let counting = count(&mut stand);
            let endpoints = counting.map(|counting| counting.endpoints);
            assert_eq!(endpoints, (!is_stopping).then(|| Some(vec![EndpointId(1)])));
        }
    }
}
