//! Shards that are not ours any more.

use super::*;

impl Dispatcher {
    /// Those of these shards that we own in this epoch. Answers may come late: what was released or lost may be
    /// ours again by then.
    pub(super) fn still_owned(&self, known: &[Owned]) -> Vec<Shard> {
        let is_ours = |owned: &&Owned| self.lanes.epoch(owned.shard) == Some(owned.epoch);
        known.iter().filter(is_ours).map(|owned| owned.shard).collect()
    }

    /// Forgets shards of which nothing is in hand.
    pub(super) fn forget_settled(&mut self, shards: &[Shard]) {
        self.lanes.remove(shards);
        self.chains.forget_shards(shards);
        self.account.close(shards);
    }

    /// Shards that somebody else owns now: nothing of them is ours to say.
    pub(super) fn lose(&mut self, lost: &[Owned]) {
        let lost = self.still_owned(lost);
        let lost = lost.as_slice();
        if lost.is_empty() {
            return;
        }
        warn!(shards = ?lost.iter().map(|shard| shard.0).collect::<Vec<_>>(), "shards lost");
        self.lanes.remove(lost);
        self.recorder.forget(lost);
        let is_lost = |delivery: &Delivery| lost.contains(&delivery.shard());
        self.drop_suspects(is_lost);
        self.drop_unrecovered(|claim| lost.contains(&claim.id.lane().shard()));
        let ready = self.take_ready(is_lost);
        self.chains.forget_shards(lost);
        for delivery in self.endpoints.take_queued(is_lost).into_iter().chain(ready) {
            self.let_go(delivery);
        }
        self.account.close(lost);
        for placed in self.claims.extract(is_lost) {
            let delivery = self.unplace(placed);
            self.let_go(delivery);
        }
        self.orphans.forget(lost);
        // Senders to what is somebody else's need not ring for us.
        self.watch.stay_awake();
    }
}
