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
