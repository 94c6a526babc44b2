//! The lease, and the shards that come and go with it.

use super::*;

/// The clocks are compared only when the database answered so soon.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(1);
/// By less two clocks may differ between two heartbeats.
const SET_BACK: Duration = Duration::from_secs(1);

impl Dispatcher {
    pub(super) fn beat_if_due(&mut self, now: Instant) {
        let (account, lanes) = (&self.account, &self.lanes);
        if self.tenancy.begin_beat(|| pending_count(account, lanes), now) {
            self.count_doubtful(now);
            self.command(Command::Beat(self.statistics()));
        }
    }

    /// The keeper of the lease has said something.
    pub fn take_news(&mut self, news: News, now: Instant) {
        self.set_now(now);
        match news {
            News::Renewed { asked, answered, heartbeat } => {
                self.take_beat(asked, answered, *heartbeat)
            }
            News::Over(end) => self.tenancy.fail(end),
        }
    }

    fn take_beat(&mut self, asked: Instant, answered: Instant, heartbeat: Heartbeat) {
        let took = answered.saturating_duration_since(asked);
        self.set_clock(Clock::new(answered, heartbeat.now_us), took);
        if let Some(lease) = self.tenancy.end_beat(asked, &heartbeat, self.now) {
            self.command(Command::Bound(lease));
        }
        // The middle of a round trip is off by half of it at most.
        if took <= LONGEST_MEASUREMENT {
            self.figures.note_clock_offset(heartbeat.clock_offset_ms);
        }
        // Whoever has no shard looks at no log.
        let has_leapt = heartbeat.newest_number.is_some_and(|number| self.note_newest(number));
        if has_leapt || self.is_stopping() {
            return;
        }
        let (share, held) = (heartbeat.share, heartbeat.owned.len());
        let wanted = share.saturating_sub(held).min(heartbeat.takeable_count);
        // Who is silent is to be forgotten even if it owns nothing that we want.
        if wanted > 0 || !heartbeat.silent.is_empty() {
            self.acquire(wanted, heartbeat.silent);
        }
        let active = self.lanes.active_shards();
        // A shard of which something cannot be recorded or recovered for now could not be given up.
        let excess = active.len().saturating_sub(share);
        let drained: Vec<Shard> = active
            .iter()
            .rev()
            .filter(|shard| !self.is_held(**shard))
            .take(excess)
            .copied()
            .collect();
        for shard in drained {
            self.drain(shard);
        }
    }

    /// What an answer that took so long says of the database's clock.
    fn set_clock(&mut self, clock: Clock, took: Duration) {
        let set_back = clock.behind(&self.clock);
        if set_back > SET_BACK {
            // An answer that came late looks the same.
            if set_back <= took + SET_BACK {
                return;
            }
            warn!(?set_back, "the database's clock was set back");
            self.endpoints.set_back(clock, set_back);
        }
        self.clock = clock;
        self.endpoints.clock = clock;
    }

    pub(super) fn acquire(&mut self, limit: usize, silent: Vec<Beat>) {
        if let Some(former) = self.tenancy.begin_acquiring() {
            self.ask(Query::Acquire { limit, silent, former });
        }
    }

    pub(super) fn take_acquired(&mut self, acquired: Vec<Acquired>, stored: Stored) {
        self.tenancy.end_acquiring();
        let now = self.now;
        if acquired.is_empty() {
            return;
        }
        let shards: Vec<Shard> = acquired.iter().map(|taken| taken.owned.shard).collect();
        info!(shards = ?shards.iter().map(|s| s.0).collect::<Vec<_>>(), "shards acquired");
        // What was released may be ours again before we hear that it was.
        self.forget_settled(&shards);
        for taken in acquired {
            self.note_unrecovered(taken.held);
            self.account.open(taken.owned.shard, taken.backlog);
            self.lanes.add(taken.owned, taken.lanes, now);
        }
        for link in &stored.links {
            self.chains.inherit(link);
        }
        self.account.note_counts(&shards, &stored.counts, &self.endpoints);
        self.claims.hurry(now);
        self.upkeep.ahead.set_due(now);
        self.watch.wake(now);
    }

    /// Stops reading a shard and gives back what is queued of it.
    pub(super) fn drain(&mut self, shard: Shard) {
        self.lanes.drain(shard);
        self.drop_suspects(|delivery| delivery.shard() == shard);
        self.return_queued(|delivery| delivery.shard() == shard);
        let held: Vec<Delivery> = self
            .lanes
            .iter_mut()
            .filter(|lane| lane.reader.lane().shard() == shard)
            .flat_map(|lane| lane.held.drain(..).collect::<Vec<_>>())
            .collect();
        for delivery in held {
            self.give_back(delivery);
        }
    }

    /// Releases shards of which nothing is in hand any more.
    pub(super) fn release_drained(&mut self) {
        let is_draining = !self.lanes.draining().is_empty();
        if !is_draining
            || self.tenancy.is_releasing()
            || self.claims.is_claiming()
            || !self.recorder.is_quiet()
        {
            return;
        }
        let has_in_hand = |shard: &Shard| {
            self.hands.has_any_of(*shard)
                || self.claims.has_any_of(*shard)
                || self.orphans.has_any_of(*shard)
        };
        let drained: Vec<Shard> = self
            .lanes
            .draining()
            .iter()
            .filter(|shard| self.lanes.is_settled(**shard) && !has_in_hand(shard))
            .copied()
            .collect();
        if drained.is_empty() {
            return;
        }
        self.tenancy.begin_release();
        let owned = self.lanes.owned();
        let released: Vec<Owned> =
            owned.iter().filter(|owned| drained.contains(&owned.shard)).copied().collect();
        let checkpoint = self.checkpoint(&owned);
        self.ask(Query::Release { owned, released, checkpoint });
    }

    pub(super) fn take_released(
        &mut self,
        released: &[Owned],
        result: Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.tenancy.end_release();
        result?;
        let shards = self.still_owned(released);
        info!(shards = ?shards.iter().map(|s| s.0).collect::<Vec<_>>(), "shards released");
        self.forget_settled(&shards);
        self.watch.stay_awake();
        Ok(())
    }
}

fn pending_count(account: &Account, lanes: &Lanes) -> i64 {
    account.pending() + lanes.remaining().map(|(_, left)| left.count as i64).sum::<i64>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{
        super::tests::stand::{dispatcher, renewed, take_over},
        *,
    };

    fn acquire(dispatcher: &mut Dispatcher, owned: Owned, now: Instant) {
        take_over(dispatcher, owned, BTreeMap::new(), Stored::default(), now);
    }

    fn renew(dispatcher: &mut Dispatcher, newest_number: i64, now: Instant) -> Option<End> {
        let mut news = renewed(now, now, &[]);
        if let News::Renewed { heartbeat, .. } = &mut news {
            heartbeat.newest_number = Some(newest_number);
        }
        dispatcher.take_news(news, now);
        dispatcher.take_failure()
    }

    /// It would take all that was sent meanwhile for numbers that were left out, when it is given a shard at last.
    #[test]
    fn a_dispatcher_without_a_shard_keeps_up_with_the_numbers_of_the_log() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        for count in 1..=8 {
            assert!(renew(&mut dispatcher, count << 29, now).is_none(), "{count}");
        }
        let end = format!("{:?}", renew(&mut dispatcher, 1 << 38, now));
        assert!(end.contains("numbers were left out"), "{end}");
    }

    #[test]
    fn a_leap_of_numbers_cuts_no_stop_short() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        dispatcher.stop(now);
        assert!(renew(&mut dispatcher, 1 << 38, now).is_none());
    }

    /// An answer that came late made a dispatcher forget what the database said was its own.
    #[test]
    fn what_was_released_or_lost_may_be_ours_again_when_that_is_heard() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let [before, after] = [1, 2].map(|epoch| Owned { shard: Shard(3), epoch });
        acquire(&mut dispatcher, before, now);
        dispatcher.drain(before.shard);
        acquire(&mut dispatcher, after, now);
        assert_eq!(dispatcher.lanes.active_shards(), [after.shard], "it is not being given up");
        dispatcher.take(Event::Released(vec![before], Ok(())), now);
        dispatcher.take(Event::Claimed(Ok((vec![before], Cancels::default()))), now);
        assert_eq!(dispatcher.lanes.owned(), [after]);
        dispatcher.take(Event::Claimed(Ok((vec![after], Cancels::default()))), now);
        assert_eq!(dispatcher.lanes.owned(), []);
        acquire(&mut dispatcher, after, now);
        dispatcher.take(Event::Released(vec![after], Ok(())), now);
        assert_eq!(dispatcher.lanes.owned(), []);
        assert!(dispatcher.take_failure().is_none());
    }

    /// The older checkpoint, which goes with the release, would be the newest of all if it came later: what was taken in
    /// between would be taken once more by whoever comes next.
    #[test]
    fn nothing_is_written_down_as_taken_while_a_shard_is_released() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        let [kept, released] = [1, 2].map(|shard| Owned { shard: Shard(shard), epoch: 1 });
        acquire(&mut dispatcher, kept, now);
        acquire(&mut dispatcher, released, now);
        let asked = |dispatcher: &mut Dispatcher, at: Instant| {
            let commands = dispatcher.step(at).into_iter();
            let name = |command: Command| match command {
                Command::Ask(Query::SaveCheckpoint { .. }) => Some("checkpoint"),
                Command::Ask(Query::Release { .. }) => Some("release"),
                _ => None,
            };
            commands.filter_map(name).collect::<Vec<_>>()
        };
        assert_eq!(asked(&mut dispatcher, now), ["checkpoint"]);
        dispatcher.take(Event::Claimed(Ok((Vec::new(), Cancels::default()))), now);
        dispatcher.drain(released.shard);
        assert_eq!(asked(&mut dispatcher, now), ["release"]);
        dispatcher.claims.hurry(now);
        assert!(asked(&mut dispatcher, now).is_empty());
        assert!(dispatcher.wake_at() > now, "nobody wakes for it either");
        dispatcher.take(Event::Released(vec![released], Ok(())), now);
        assert_eq!(asked(&mut dispatcher, now), ["checkpoint"]);
    }

    #[test]
    fn who_owns_nothing_sleeps() {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        dispatcher.step(now);
        let answers = [
            Event::Endpoints(Ok((Vec::new(), Vec::new()))),
            Event::Circuits(Ok(Vec::new())),
            Event::Maintained(Ok(())),
        ];
        for answer in answers {
            dispatcher.take(answer, now);
        }
        dispatcher.step(now);
        let wake_at = dispatcher.wake_at();
        assert!(
            wake_at >= now + Duration::from_secs(1),
            "it would look again and again for what is not there: {:?}",
            wake_at - now
        );
    }
}
