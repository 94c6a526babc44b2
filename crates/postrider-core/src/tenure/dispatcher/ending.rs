//! How a tenure ends: in order, or not.

use super::*;

impl Dispatcher {
    /// Begins a graceful stop: nothing new, what is in flight may land.
    pub fn stop(&mut self, now: Instant) {
        self.set_now(now);
        info!(in_flight = self.endpoints.in_flight(), "stopping");
        self.tenancy.stop(self.pace.shutdown_grace, now);
        self.drop_suspects(|_| true);
        // They stay claimed, and are left to a successor.
        for claim in self.hands.unrecovered().to_vec() {
            self.forget_in_hand((claim.id, claim.target));
        }
        self.return_queued(|_| true);
        let held: Vec<Delivery> = self
            .lanes
            .iter_mut()
            .flat_map(|lane| lane.held.drain(..).collect::<Vec<_>>())
            .collect();
        let orphans = self.orphans.take_fresh().into_iter().chain(self.orphans.take_asked());
        for delivery in held.into_iter().chain(orphans) {
            self.give_back(delivery);
        }
    }

    /// Whether a stop may end: everything has landed and is on record, or the grace is over.
    pub fn is_finished(&mut self, now: Instant) -> bool {
        if !self.is_stopping() {
            return false;
        }
        self.set_now(now);
        let is_idle = self.endpoints.in_flight() == 0
            && self.lanes.page_count() == 0
            && !self.watch.is_looking();
        let is_claimed = self.claims.is_empty()
            && !self.hands.fetch.is_under_way()
            && !self.followers.is_fetching();

        if is_claimed {
            // What was being read when the stop began has come in since.
            self.return_queued(|_| true);
        }
        let is_recorded = is_claimed && self.recorder.is_done();
        let is_settled = self.hands.count() == 0 && self.tenancy.is_settled();
        if is_idle && is_recorded && is_settled {
            return true;
        }
        self.say_how_far(now);
        self.tenancy.is_grace_over(is_recorded, now)
    }

    /// Tells whoever waits for the stop what it waits for.
    fn say_how_far(&mut self, now: Instant) {
        if let Some(left) = self.tenancy.take_line_turn(now) {
            info!(
                in_flight = self.endpoints.in_flight(),
                in_hand = self.hands.count(),
                grace_left_seconds = left.as_secs(),
                "draining"
            );
        }
    }

    /// What there is to be said at the end.
    pub fn goodbye(&self) -> Goodbye {
        let owned = self.lanes.owned();
        let is_clean = self.endpoints.in_flight() == 0 && self.recorder.is_empty();
        let kept = (!owned.is_empty() && is_clean).then(|| {
            // What is not released is taken over, and what was claimed of it recovered.
            let is_released = |owned: &&Owned| !self.is_held(owned.shard);
            Kept {
                checkpoint: self.checkpoint(&owned),
                released: owned.iter().filter(is_released).copied().collect(),
                statistics: self.statistics(),
                owned,
            }
        });
        Goodbye { lease_length: self.tenancy.lease_length(), kept }
    }

    /// Which deliveries were certainly not attempted. What was decided and not begun is one of them: a retry of it would
    /// be used up, and where there is none it would die without an attempt. Of its message another one may have been
    /// attempted.
    pub fn spared(mut self) -> Vec<(MessageId, Target)> {
        let mut spared: Vec<(MessageId, Target)> =
            self.endpoints.take_queued(|_| true).iter().map(Delivery::place).collect();
        spared.extend(self.take_ready(|_| true).iter().map(Delivery::place));
        spared.extend(self.claims.deliveries().map(Delivery::place));
        for lane in self.lanes.iter_mut() {
            spared.extend(lane.held.iter().map(Delivery::place));
        }
        spared.extend(self.hands.idle().chain(self.orphans.iter()).map(Delivery::place));
        for command in &self.commands {
            match command {
                Command::Attempt { deliveries, .. } => {
                    spared.extend(deliveries.iter().map(Delivery::place))
                }
                Command::Ask(Query::Claim { claimed, .. }) => {
                    spared.extend(claimed.iter().map(|seated| seated.place()));
                }
                Command::Ask(Query::AskForProbe(probe, ..)) => spared.push(probe.delivery.place()),
                _ => {}
            }
        }
        spared
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::stand::dispatcher, *};
    use crate::tenure::tests::{TARGET, unkeyed};

    fn delivery(number: i64) -> Delivery {
        Delivery::due(unkeyed(number), 1)
    }

    /// The tenure ends between a decision and what it would have begun.
    #[test]
    fn what_was_decided_and_not_begun_is_spared() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let (edition, deliveries) = (Err("none".to_owned()), vec![delivery(1), delivery(2)]);
        let clock = dispatcher.clock;
        dispatcher.command(Command::Attempt { edition, deliveries, clock });
        let claimed = vec![dispatcher.endpoints.seat(delivery(3))];
        dispatcher.ask(Query::Claim {
            claimed,
            owned: Vec::new(),
            claims: Vec::new(),
            look: Look::After,
        });
        dispatcher.hands.postpone(now, delivery(4));
        dispatcher.take(Event::Late(vec![delivery(5)]), now);
        assert!(matches!(dispatcher.take_failure(), Some(End::Failed(_))));
        let mut spared = dispatcher.spared();
        spared.sort_unstable();
        assert_eq!(spared, [1, 2, 3, 4, 5].map(|number| (unkeyed(number).id, TARGET)));
    }
}
