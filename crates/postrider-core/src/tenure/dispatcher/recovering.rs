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
