//! What a former owner had claimed and somebody has locked: it is not ours to attempt before the retry that
//! its dispatcher may have used up is on record.

use super::*;

impl Dispatcher {
    pub(super) fn note_unrecovered(&mut self, held: Vec<Claim>) {
        for claim in &held {
            self.hold_place((claim.id, claim.target), self.endpoints.by_target(claim.target));
        }
        self.unrecovered.extend(held);
    }

    pub(super) fn recover(&mut self, now: Instant) {
        if self.unrecovered.is_empty() || !self.recovery.is_due(now) {
            return;
        }
        self.recovery.begin(now + HELD_PAUSE);
        let (owned, held) = (self.lanes.owned(), self.unrecovered.clone());
        self.ask(Query::Recover(owned, held));
    }

    pub(super) fn take_recovered(
        &mut self,
        asked: Vec<Claim>,
        answer: Result<Recovered, StoreError>,
    ) -> Result<(), StoreError> {
        self.recovery.end(self.now);
        let mut over: HashSet<(MessageId, Target)> =
            asked.iter().map(|claim| (claim.id, claim.target)).collect();
        for claim in answer?.held {
            over.remove(&(claim.id, claim.target));
        }
        self.drop_unrecovered(|claim| over.contains(&(claim.id, claim.target)));
        Ok(())
    }

    /// These are not in hand any more, and fetched when they are due.
    pub(super) fn drop_unrecovered(&mut self, is_dropped: impl Fn(&Claim) -> bool) {
        let now = self.clock.timestamp(self.now);
        for claim in self.unrecovered.extract_if(.., |claim| is_dropped(claim)).collect::<Vec<_>>()
        {
            self.forget_in_hand(claim.id, claim.target);
            if let Some(endpoint) = self.endpoints.by_target(claim.target) {
                self.note_deferred(endpoint, now);
            }
        }
    }
}
