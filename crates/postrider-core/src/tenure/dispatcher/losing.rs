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

#[cfg(test)]
mod tests {
    use super::{
        super::tests::stand::{Stand, take_over, unread},
        *,
    };
    use crate::tenure::tests::{TARGET, of_shard, read_one, sent, unkeyed, waiting};

    const LOST: Owned = Owned { shard: Shard(1), epoch: 1 };

    /// It owns two shards, and has of each whatever can be in hand.
    fn full() -> Stand {
        let mut stand = Stand::new(1);
        let now = stand.now;
        take_over(&mut stand.dispatcher, LOST, unread(LOST.shard), Stored::default(), now);
        for shard in [0, 1].map(Shard) {
            let place = |number| {
                let row = of_shard(unkeyed(number), shard);
                (row.id, row.target)
            };
            let due = |number| Delivery::due(of_shard(unkeyed(number), shard), 1);
            // Two of an ordering key, of which one has its turn.
            for number in [1, 2] {
                let mut row = of_shard(waiting(number), shard);
                row.terms.ordering_key = Some(format!("key {}", shard.0).into());
                let row = sent(row, &[TARGET]);
                let source = Source::Log { lane: row.id.lane(), segment: 0 };
                stand.dispatcher.accept(row, source, 1, Which::Tail);
            }
            for placed in stand.dispatcher.claims.extract(|delivery| delivery.shard() == shard) {
                let Placed::Queue(seated) = placed else { panic!("there is room") };
                stand.dispatcher.admit(seated);
            }
            let unclaimed = sent(of_shard(unkeyed(3), shard), &[TARGET]);
            let source = Source::Log { lane: unclaimed.id.lane(), segment: 0 };
            stand.dispatcher.accept(unclaimed, source, 1, Which::Tail);
            for number in [4, 5] {
                stand.dispatcher.hold(&due(number));
            }
            stand.dispatcher.hands.suspect(due(4));
            stand.dispatcher.postpone(now, due(5));
            let (id, target) = place(6);
            stand.dispatcher.note_unrecovered(vec![Claim { id, target, retry_count: 0 }]);
            stand.dispatcher.orphans.add(read_one(of_shard(unkeyed(7), shard)));
            stand.dispatcher.hold(&due(8));
            stand.dispatcher.settle(due(8), Settlement::Delivered);
        }
        stand
    }

    /// Whoever has it now says what becomes of it, and we would be the second to say something.
    #[test]
    fn nothing_of_a_shard_that_is_lost_is_ours_to_say_and_all_of_the_others_is() {
        let mut stand = full();
        stand.dispatcher.lose(&[LOST]);
        let dispatcher = &mut stand.dispatcher;
        assert_eq!(dispatcher.lanes.shards(), [Shard(0)]);
        assert_eq!(dispatcher.endpoints.buffered(), 3, "queued, ready and unclaimed");
        assert!(dispatcher.claims.has_any_of(Shard(0)) && !dispatcher.claims.has_any_of(Shard(1)));
        assert!(
            dispatcher.orphans.has_any_of(Shard(0)) && !dispatcher.orphans.has_any_of(Shard(1))
        );
        assert_eq!(dispatcher.hands.unrecovered().len(), 1);
        assert_eq!((dispatcher.chains.len(), dispatcher.account.pending_of(Shard(1))), (1, 0));
        let mut in_hand: Vec<i64> =
            dispatcher.hands.places().map(|(id, _)| id.sequence_number()).collect();
        in_hand.sort_unstable();
        // What came of one is out of hand with the next flush.
        assert_eq!(in_hand, [4, 5, 6, 8, 8]);
        let mut spared = stand.dispatcher.spared();
        spared.sort_unstable_by_key(|(id, _)| id.sequence_number());
        let numbers = spared.iter().map(|(id, _)| (id.lane().shard().0, id.sequence_number()));
        assert!(numbers.eq([1, 2, 3, 4, 5, 7].map(|number| (0, number))), "{spared:?}");
    }

    #[test]
    fn what_came_of_deliveries_of_a_shard_that_is_lost_is_not_recorded() {
        let mut stand = full();
        stand.dispatcher.lose(&[LOST]);
        let recorded = stand.flush().expect("that of the other one is");
        assert_eq!(recorded.results.settled, [(of_shard(unkeyed(8), Shard(0)).id, TARGET)]);
        assert_eq!(recorded.put_down.len(), 2, "both are out of hand");
    }

    /// Answers may come late: it may be ours again by then.
    #[test]
    fn what_is_lost_in_another_epoch_is_kept() {
        let mut stand = full();
        let buffered = stand.dispatcher.endpoints.buffered();
        stand.dispatcher.lose(&[Owned { epoch: 0, ..LOST }, Owned { epoch: 2, ..LOST }]);
        assert_eq!(stand.dispatcher.lanes.owned().len(), 2);
        assert_eq!(stand.dispatcher.endpoints.buffered(), buffered);
        let known =
            [LOST, Owned { shard: Shard(0), epoch: 2 }, Owned { shard: Shard(7), epoch: 1 }];
        assert_eq!(stand.dispatcher.still_owned(&known), [LOST.shard]);
    }

    /// Its places would be taken for ever.
    #[test]
    fn what_lands_of_a_shard_that_was_lost_gives_its_place_back_and_says_nothing() {
        let mut stand = Stand::new(1);
        stand.send(vec![sent(unkeyed(1), &[TARGET])]);
        let delivery = stand.attempted().remove(0);
        stand.dispatcher.lose(&[Owned { shard: Shard(0), epoch: 1 }]);
        assert_eq!(stand.dispatcher.in_flight(), 1);
        stand.land(delivery, Outcome::Accepted);
        assert_eq!((stand.dispatcher.in_flight(), stand.flush().is_none()), (0, true));
    }
}
