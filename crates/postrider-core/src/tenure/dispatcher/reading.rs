//! Reading the log: ticks, pages, and a place for everything that was taken.

use super::*;

impl Dispatcher {
    pub(super) fn read(&mut self, now: Instant) {
        if self.mergeable_at().is_some_and(|at| now >= at) {
            self.watch.wake(now);
        }
        // Shards that come bring a look with them.
        if self.lanes.has_active() && self.watch.is_due(now) {
            self.look();
        }
        // A page must fit into what may be in memory, however little that is.
        let page_rows = PAGE_ROWS.min(self.pace.max_buffered_messages / 4);
        while self.lanes.page_count() < PAGES_AT_ONCE {
            // What has no room stays in the log or is set aside, so a page needs memory for a moment
            // only: full queues of some never keep us from reading on for others.
            if self.claims.waiting_count() + self.lanes.page_count() * page_rows > 2 * page_rows
                || self.recorder.waiting_count() > UNRECORDED
            {
                break;
            }
            let endpoints = &self.endpoints;
            let wants = |lane: &OwnedLane| wanted_of_lag(endpoints, lane, now);
            let gaps = &self.tenancy.identity.gaps;
            let Some(page) = self.lanes.start_page(page_rows, wants, gaps) else { break };
            self.ask(Query::ReadPage(page));
        }
    }

    /// From when on a tick would bring back something that was skipped, while we sleep. Otherwise we look soon anyway.
    pub(super) fn mergeable_at(&self) -> Option<Instant> {
        let (endpoints, now) = (&self.endpoints, self.now);
        let room = |lane: &OwnedLane| room_of(endpoints, lane, now);
        self.watch.is_asleep().then(|| self.lanes.mergeable_at(room, now)).flatten()
    }

    pub(super) fn look(&mut self) {
        let (endpoints, now) = (&self.endpoints, self.now);
        let groups = self.lanes.start_tick(|lane| room_of(endpoints, lane, now), now);
        if groups.is_empty() {
            self.watch.pass(now);
            return;
        }
        trace!(stop = "look", lanes = groups.iter().map(|group| group.lanes.len()).sum::<usize>());
        self.watch.begin(now);
        self.ask(Query::Tick(groups));
    }

    pub(super) fn take_tick(&mut self, answers: Vec<GroupTick>, is_durable: bool) {
        if !is_durable {
            // As if nobody had looked: a standby that does not answer keeps no lane busy.
            for lane in answers.iter().flat_map(|(group, ..)| &group.lanes) {
                self.lanes.free(*lane);
            }
            self.watch.repeat_after(UNPROVEN_PAUSE, self.now);
            return;
        }
        if self.has_leapt(&answers) {
            return;
        }
        let mut row_count = 0;
        let mut common: Option<Snapshot> = None;
        let mut is_news = false;
        for (group, answer, bounds) in answers {
            match (answer, bounds) {
                (Tick::Rows { top, rows, last_number, .. }, _) => {
                    let top = common.get_or_insert(top).clone();
                    row_count += rows.len();
                    is_news |= self.take_tick_rows(&group, &top, rows, last_number);
                }
                (Tick::TooMany { top, .. }, Some(bounds)) => {
                    let top = common.get_or_insert(top).clone();
                    row_count += TICK_ROWS;
                    self.lanes.open_windows(&group, &top, bounds);
                    for lane in &group.lanes {
                        self.lanes.free(*lane);
                        self.lanes.note_window(*lane, bounds.end >> 10);
                    }
                }
                (Tick::TooMany { .. }, None) => {
                    for lane in &group.lanes {
                        self.lanes.free(*lane);
                    }
                }
            }
        }
        // Numbers that were used up and rolled back are not to count as messages that wait.
        if is_news {
            self.checkpoint_soon();
        }
        if row_count > 0 {
            self.command(Command::Wish(Wish::News));
        }
        self.watch.note_rows(row_count, self.now);
    }

    /// Whether the newest number that these saw ends the tenure.
    fn has_leapt(&mut self, answers: &[GroupTick]) -> bool {
        let newest = answers.iter().filter_map(|(_, tick, bounds)| match tick {
            Tick::Rows { last_number, .. } => Some(*last_number),
            Tick::TooMany { .. } => bounds.as_ref().map(|bounds| bounds.end >> 10),
        });
        newest.max().is_some_and(|newest| self.note_newest(newest))
    }

    /// Whether a lane has come farther by it.
    fn take_tick_rows(
        &mut self,
        group: &TickGroup,
        top: &Snapshot,
        rows: Vec<LogMessage>,
        last_number: i64,
    ) -> bool {
        let mut is_news = false;
        let mut by_lane: HashMap<Lane, Vec<LogMessage>> = HashMap::default();
        for row in rows {
            by_lane.entry(row.id.lane()).or_default().push(row);
        }
        for lane in &group.lanes {
            let rows = match by_lane.is_empty() {
                true => Vec::new(),
                false => by_lane.remove(lane).unwrap_or_default(),
            };
            let Some(owned) = self.lanes.get_mut(*lane) else { continue };
            is_news |= owned.end_tick(last_number);
            // What its lag has waited with for too long is set aside: a new lag would begin where that one did.
            let may_leave = !(group.is_merging && is_impatient(&self.endpoints, owned, self.now));
            let Some(taken) = owned.reader.take_tick(group.is_merging, top, rows) else { continue };
            self.distribute(*lane, taken, Which::Tail, may_leave);
        }
        is_news
    }

    pub(super) fn take_page(
        &mut self,
        page: Page,
        rows: Vec<LogMessage>,
        left: &[(Target, reader::Left)],
    ) {
        self.lanes.end_page(page.lane);
        let Some(owned) = self.lanes.get_mut(page.lane) else { return };
        let now = self.now;
        // What comes because it has waited too long is no sign that there is room.
        let patience = patience(&self.endpoints, &owned.reader);
        let is_late = now >= owned.lag_moved_at + patience;
        // Nor is what was let in for a probe.
        let is_probe = patience == PARKED_PATIENCE;
        if page.which == Which::Lag && !rows.is_empty() && !is_late && !is_probe {
            owned.lag_moved_at = now;
        }
        let taken = owned.reader.take_page(&page, rows, left);
        self.distribute(page.lane, taken, page.which, true);
    }

    /// Finds a place for every message that was taken: in its endpoint's queue, or behind in the log, if any of them
    /// may be left there.
    fn distribute(&mut self, lane: Lane, taken: Taken<LogMessage>, which: Which, may_leave: bool) {
        let Taken { segment, base, top, rows } = taken;
        if rows.is_empty() {
            return;
        }
        let Some(epoch) = self.lanes.epoch(lane.shard()) else { return };
        let now = self.clock.timestamp(self.now);
        let mut skipped: HashSet<Target> = HashSet::default();
        for row in rows {
            // What is not due yet needs no room. With ordering keys nothing is left to the lag: it
            // would be passed by what comes later for another target of the same endpoint. Nor is what
            // expires: nobody would see in the log that its time is over.
            let is_due = row.terms.scheduled_at.is_none_or(|at| at <= now);
            let is_spared = row.expires()
                && self.lanes.get_mut(lane).is_none_or(|owned| owned.reader.spares_expiring());
            let may_lag = may_leave && is_due && !lane.is_keyed() && !is_spared;
            if let Some(target) = row.only_target()
                && which == Which::Tail
            {
                let endpoint = self.endpoints.by_target(target);
                let priority = row.terms.priority;
                let is_full =
                    may_lag && endpoint.is_some_and(|id| self.endpoints.room(id, priority) == 0);
                let is_skipped = !is_spared && skipped.contains(&target);
                if is_skipped || is_full && self.skip(lane, target, &base, &top, &row) {
                    skipped.insert(target);
                    if let Some(owned) = self.lanes.get_mut(lane) {
                        if is_skipped {
                            let since = row.terms.pending_since().0;
                            owned.reader.count_left(target, row.id, since);
                        }
                        owned.reader.finish(segment, 1);
                    }
                    continue;
                }
            }
            self.accept(row, Source::Log { lane, segment }, epoch, which);
        }
    }

    pub(super) fn skip(
        &mut self,
        lane: Lane,
        target: Target,
        base: &Snapshot,
        top: &Snapshot,
        row: &LogMessage,
    ) -> bool {
        let Some(owned) = self.lanes.begin_lag(lane, self.now) else { return false };
        owned.reader.skip(target, base, top, row.id, row.terms.pending_since().0)
    }

    /// Takes a message in: one delivery for each of its targets.
    pub(super) fn accept(&mut self, row: LogMessage, source: Source, epoch: i64, which: Which) {
        let now = self.now;
        let targets = row.targets.clone();
        let message = Message::new(row);
        if targets.as_slice().is_empty() {
            self.recorder.note_nobody(&message, source, now);
        }
        let shard = message.id.lane().shard();
        for target in targets.as_slice() {
            self.account.take_in_hand(shard, *target, message.terms.pending_since());
            let endpoint = self.endpoints.by_target(*target);
            let delivery = Delivery {
                message: Arc::clone(&message),
                target: *target,
                endpoint: endpoint.unwrap_or(EndpointId(0)),
                retry_count: 0,
                recovery_count: 0,
                source,
                claimed_at: None,
                epoch,
            };
            let placed = match endpoint {
                None => Placed::Orphan(delivery),
                Some(_) => self.place(delivery, which, now),
            };
            trace!(stop = "accept", message_id = message.id.0, target_id = target.0);
            self.claims.add(placed);
        }
    }

    /// Where a delivery to a known endpoint goes.
    fn place(&mut self, delivery: Delivery, which: Which, now: Instant) -> Placed {
        let is_later = delivery.scheduled_after(self.clock.timestamp(now)).is_some();
        let is_chained = delivery.link().is_none_or(|link| self.chains.read(&link));
        if is_later || !is_chained {
            return Placed::Aside(delivery);
        }
        if self.endpoints.room(delivery.endpoint, delivery.priority()) > 0 {
            return Placed::Queue(self.endpoints.seat(delivery));
        }
        match which {
            Which::Lag => Placed::Held(delivery),
            Which::Tail => Placed::Aside(delivery),
        }
    }

    /// Lets what the lag holds into queues that have room again. What blocks a hungry endpoint behind
    /// it, or has waited too long, is set aside.
    pub(super) fn empty_held(&mut self, now: Instant) {
        if !self.lanes.may_hold() {
            return;
        }
        let mut admitted = Vec::new();
        let mut aside = Vec::new();
        let timestamp = self.clock.timestamp(now);
        for lane in self.lanes.holding() {
            let priority = lane_priority(lane);
            while let Some(front) = lane.held.front() {
                if self.endpoints.room(front.endpoint, front.priority()) > 0 {
                    if !self.endpoints.is_left_alone(front.target) {
                        lane.lag_moved_at = now;
                    }
                    let front = lane.held.pop_front();
                    admitted.extend(front.map(|delivery| self.endpoints.seat(delivery)));
                    continue;
                }
                let blocked = front.target;
                let is_expired = front.is_expired(timestamp);
                let is_in_the_way = lane
                    .reader
                    .skipped()
                    .any(|target| target != blocked && self.endpoints.is_hungry(target, priority));
                let patience = patience(&self.endpoints, &lane.reader);
                if !is_expired && !is_in_the_way && now < lane.lag_moved_at + patience {
                    break;
                }
                aside.extend(lane.held.pop_front());
            }
        }
        for seated in admitted {
            self.admit(seated);
        }
        for delivery in aside {
            self.give_back(delivery);
        }
    }

    /// Whether somebody may need what making room sets free: it is worth waking up for. That an endpoint has stalled
    /// gives nobody anything by itself: it gets less, and is looked at whenever something is to go there.
    pub(super) fn is_room_short(&self) -> bool {
        let is_suspect_waited_for = self.hands.current().is_some() && self.hands.has_suspects();
        self.endpoints.is_crowded() || is_suspect_waited_for
    }

    /// Sets aside what is queued for endpoints that do not answer, when memory is short: others need
    /// the places.
    pub(super) fn make_room(&mut self, now: Instant) {
        if !self.upkeep.room.take_turn(now, now + MAKE_ROOM_INTERVAL) {
            return;
        }
        self.endpoints.doubt_stalled(now);
        if let Some(suspect) = self.hands.current()
            && self.endpoints.is_left_alone(suspect.1)
        {
            // Other suspects wait for it.
            self.return_queued(|delivery| delivery.place() == suspect);
        }
        let parked = self.endpoints.parked(now);
        if !parked.is_empty() {
            self.return_queued(|delivery| parked.contains(&delivery.endpoint));
        }
        if self.endpoints.is_crowded() {
            let mut stalled = self.endpoints.stalled(now);
            stalled.extend(self.endpoints.open());
            self.return_queued(|delivery| stalled.contains(&delivery.endpoint));
        }
    }
}

/// The priority for which room is asked: with ordering keys every message has its own, and there is
/// room for all when there is for the lowest.
fn lane_priority(lane: &OwnedLane) -> Priority {
    lane.reader.lane().priority().unwrap_or(Priority::LOWEST)
}

/// How much of what a lane has skipped could be taken in now: all of it, when it is to be set aside.
fn room_of(endpoints: &Endpoints, lane: &OwnedLane, now: Instant) -> lanes::Room {
    let priority = lane_priority(lane);
    if is_impatient(endpoints, lane, now) {
        return lanes::Room::ForAll;
    }
    let (mut is_any_hungry, mut is_any_full) = (false, false);
    for target in lane.reader.skipped() {
        match endpoints.is_hungry(target, priority) {
            true => is_any_hungry = true,
            false => is_any_full = true,
        }
    }
    match (is_any_hungry, is_any_full) {
        (_, false) => lanes::Room::ForAll,
        (true, true) => lanes::Room::ForSome,
        (false, true) => lanes::Room::None,
    }
}

/// How long what was skipped of a lane waits in the log: long, when it waits only for endpoints to which
/// nothing is to be sent.
fn patience(endpoints: &Endpoints, reader: &LaneReader) -> Duration {
    match reader.skipped().all(|target| endpoints.is_left_alone(target)) {
        true => PARKED_PATIENCE,
        false => LAG_PATIENCE,
    }
}

/// Whether what was skipped of a lane has waited too long in the log.
fn is_impatient(endpoints: &Endpoints, lane: &OwnedLane, now: Instant) -> bool {
    // Nobody has less patience than that.
    now >= lane.lag_moved_at + LAG_PATIENCE
        && now >= lane.lag_moved_at + patience(endpoints, &lane.reader)
}

/// How many messages that were skipped could be taken now; some, when they have waited too long.
fn wanted_of_lag(endpoints: &Endpoints, lane: &OwnedLane, now: Instant) -> usize {
    let priority = lane_priority(lane);
    let room_of = |target: Target| {
        endpoints.by_target(target).map_or(PAGE_ROWS, |id| endpoints.room(id, priority))
    };
    let room: usize = lane
        .reader
        .skipped()
        .filter(|target| endpoints.is_hungry(*target, priority))
        .map(room_of)
        .sum();
    if is_impatient(endpoints, lane, now) { PAGE_ROWS } else { room }
}

#[cfg(test)]
mod tests;
