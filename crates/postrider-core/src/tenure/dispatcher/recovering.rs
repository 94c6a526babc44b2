//! What a former owner had claimed and somebody has locked: it is not ours to attempt before the retry that
//! its dispatcher may have used up is on record.

use super::*;

impl Dispatcher {
    pub(super) fn note_unrecovered(&mut self, held: Vec<Claim>) {
        for claim in &held {
            self.hold_place((claim.id, claim.target), self.endpoints.by_target(claim.target));
        }
        self.hands.note_unrecovered(held);
    }

    pub(super) fn recover(&mut self, now: Instant) {
        if let Some(held) = self.hands.begin_recovery(now) {
            self.ask(Query::Recover(self.lanes.owned(), held));
        }
    }

    pub(super) fn take_recovered(
        &mut self,
        asked: Vec<Claim>,
        answer: Result<Recovered, Failure>,
    ) -> Result<(), Failure> {
        self.hands.end_recovery(self.now);
        let mut over: HashSet<(MessageId, Target)> =
            asked.iter().map(|claim| (claim.id, claim.target)).collect();
        for claim in answer?.held {
            over.remove(&(claim.id, claim.target));
        }
        self.drop_unrecovered(|claim| over.contains(&(claim.id, claim.target)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow::{Break, Continue};

    use super::{
        super::tests::stand::{Stand, take_over, unread},
        *,
    };
    use crate::tenure::tests::{TARGET, unkeyed};

    fn claim(number: i64) -> Claim {
        Claim { id: unkeyed(number).id, target: TARGET, retry_count: 0 }
    }

    /// It has taken the shard over, of which somebody holds two that its former owner had claimed.
    fn taken_over() -> Stand {
        let mut stand = Stand::new(1);
        stand.dispatcher.note_unrecovered(vec![claim(1), claim(2)]);
        stand
    }

    fn asked(stand: &mut Stand) -> Option<Vec<Claim>> {
        stand.asked(|query| match query {
            Query::Recover(_, claims) => Break(claims),
            query => Continue(query),
        })
    }

    fn numbers(claims: &[Claim]) -> Vec<i64> {
        claims.iter().map(|claim| claim.id.sequence_number()).collect()
    }

    /// Its dispatcher may have used up a retry: it would be attempted once more than it may.
    #[test]
    fn what_is_held_is_not_attempted_before_it_is_recovered() {
        let mut stand = taken_over();
        stand.fetch(vec![unkeyed(1)]);
        assert!(!stand.has_asked(|query| matches!(query, Query::Claim { .. })));
        let claims = asked(&mut stand).expect("it is tried at once");
        assert_eq!(numbers(&claims), [1, 2]);
        let answer = Recovered { count: 1, held: vec![claim(2)] };
        stand.take(Event::Recovered(claims, Ok(answer)));
        // The first is fetched as it is by now, and the other one stays where it is.
        assert!(stand.dispatcher.hands.has((claim(2).id, TARGET)));
        assert!(!stand.dispatcher.hands.has((claim(1).id, TARGET)));
        stand.pass(IDLE_FETCH_PAUSE);
        assert!(stand.has_asked(|query| matches!(query, Query::FetchDue { .. })), "it is due");
        stand.fetch_claimed(vec![unkeyed(1)]);
        assert_eq!(stand.attempted_numbers(), [1]);
    }

    #[test]
    fn what_is_held_on_is_tried_again_after_a_while_and_once_at_a_time() {
        let mut stand = taken_over();
        let claims = asked(&mut stand).expect("it is tried at once");
        stand.pass(HELD_PAUSE * 3);
        assert!(asked(&mut stand).is_none(), "it is under way");
        let held = claims.clone();
        stand.take(Event::Recovered(claims, Ok(Recovered { count: 0, held })));
        let claims = asked(&mut stand).expect("the pause is over since long");
        stand.take(Event::Recovered(claims, Ok(Recovered { count: 2, held: Vec::new() })));
        stand.pass(HELD_PAUSE * 3);
        assert!(asked(&mut stand).is_none(), "nothing is left");
        assert_eq!(stand.dispatcher.hands.count(), 0);
    }

    /// One that came with another shard meanwhile was not asked for.
    #[test]
    fn what_came_while_a_recovery_was_under_way_is_kept() {
        let mut stand = taken_over();
        let claims = asked(&mut stand).expect("it is tried at once");
        let owned = Owned { shard: Shard(1), epoch: 1 };
        let now = stand.now;
        take_over(&mut stand.dispatcher, owned, unread(owned.shard), Stored::default(), now);
        stand.dispatcher.note_unrecovered(vec![claim(3)]);
        stand.take(Event::Recovered(claims, Ok(Recovered { count: 2, held: Vec::new() })));
        assert_eq!(numbers(stand.dispatcher.hands.unrecovered()), [3]);
        assert_eq!(stand.dispatcher.hands.count(), 1);
    }
}
