//! Where everything stands, for the database and for people.

use super::*;

impl Dispatcher {
    /// Where everything stands now.
    pub(super) fn checkpoint(&self, owned: &[Owned]) -> Checkpoint {
        let (lanes, done_xmin) = self.lanes.checkpoint();
        let shard_count = self.tenancy.identity.shard_count;
        let backlog = |owned: &Owned| match self.lanes.progress(owned.shard) {
            Some((number, left)) => {
                let pending = self.account.pending_of(owned.shard) + left as i64;
                number + self.tenancy.identity.gaps.count_above(number) - shard_count * pending
            }
            None => self.account.inherited_of(owned.shard),
        };
        Checkpoint { lanes, done_xmin, backlogs: owned.iter().map(backlog).collect() }
    }

    /// Notes the newest number of the log. Whether it has leapt over a gap that we do not know: then the tenure ends, for a
    /// walk would look at each number of the gap, and all would count as messages that wait.
    pub(super) fn note_newest(&mut self, number: i64) -> bool {
        let has_leapt = self.tenancy.identity.gaps.note_newest(number) && !self.is_stopping();
        if has_leapt {
            let error = "message numbers were left out; a new tenure goes round them";
            self.tenancy.fail(End::Failed(Failure::new(error, false)));
        }
        has_leapt
    }

    /// There is something new to write down, which may wait for more of it.
    pub(super) fn checkpoint_soon(&mut self) {
        self.claims.note_news(self.now);
    }

    /// What is said of this dispatcher with a heartbeat.
    pub(super) fn statistics(&self) -> Statistics {
        let (pending, pending_endpoint_count) =
            self.account.figures(&self.endpoints, self.lanes.remaining());
        Statistics {
            in_flight: self.endpoints.in_flight(),
            buffered: self.endpoints.buffered(),
            shards: self.lanes.shards().iter().map(|shard| shard.0).collect(),
            pending,
            pending_endpoint_count,
            ..self.figures.statistics().clone()
        }
    }

    /// The policy in force for a delivery now.
    pub(super) fn policy(&self, delivery: &Delivery) -> Policy {
        self.policies.of(delivery, self.endpoints.policies(delivery.endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::stand::Stand, *};
    use crate::tenure::tests::{ENDPOINT, TARGET, sent, unkeyed};

    /// Senders subtract it from the newest number of the log, and are refused when that is too much.
    #[test]
    fn the_backlog_is_the_number_that_was_read_without_what_is_pending() {
        for shard_count in [1, 2] {
            let mut stand = Stand::new(1);
            stand.dispatcher.tenancy.identity.shard_count = shard_count;
            let owned = stand.dispatcher.lanes.owned();
            let backlogs = |stand: &Stand| stand.dispatcher.checkpoint(&owned).backlogs;
            stand.dispatcher.account.open(Shard(0), 42);
            assert_eq!(backlogs(&stand), [42], "nothing is known yet");
            stand.send((1..=3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
            assert_eq!(backlogs(&stand), [3 - 3 * shard_count]);
            stand.land_all(Outcome::Accepted);
            stand.recorded();
            assert_eq!(backlogs(&stand), [3 - 2 * shard_count]);
        }
    }

    /// Numbers that nobody was given are no messages that wait.
    #[test]
    fn a_gap_ahead_counts_as_read() {
        let mut stand = Stand::new(1);
        stand.dispatcher.tenancy.identity.gaps = Gaps::new(vec![(1_000, 3_000)], 0);
        stand.send(vec![sent(unkeyed(1), &[TARGET])]);
        let owned = stand.dispatcher.lanes.owned();
        assert_eq!(stand.dispatcher.checkpoint(&owned).backlogs, [2_000]);
    }

    #[test]
    fn numbers_that_leap_over_what_nobody_knows_end_the_tenure() {
        let mut stand = Stand::new(1);
        assert!(!stand.dispatcher.note_newest(1_000));
        assert!(stand.dispatcher.take_failure().is_none());
        assert!(stand.dispatcher.note_newest(1 << 40));
        assert!(matches!(stand.dispatcher.take_failure(), Some(End::Failed(_))));
    }

    #[test]
    fn a_heartbeat_says_what_is_where() {
        let mut stand = Stand::new(1);
        stand.send((1..=3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
        let landed = stand.attempted().remove(0);
        let said = stand.dispatcher.statistics();
        assert_eq!((said.in_flight, said.buffered, said.shards), (1, 2, vec![0]));
        assert_eq!(
            said.pending.iter().map(|at| (at.endpoint, at.count)).collect::<Vec<_>>(),
            [(ENDPOINT, 3)]
        );
        stand.land(landed, Outcome::Rejected);
        let said = stand.dispatcher.statistics();
        assert_eq!((said.in_flight, said.messages_processed, said.error_count), (0, 1, 1));
        assert_eq!(said.pending[0].count, 3, "it is not on record yet");
    }
}
