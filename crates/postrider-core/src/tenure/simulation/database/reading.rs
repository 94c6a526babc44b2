//! What dispatchers read: the log, and what waits.

use super::{Database, DeferredRow, Logged, Luck, Place, Wrong};
use crate::{
    chains::{LINKS_IN_HAND, Link},
    hashing::HashMap,
    id::{EndpointId, Shard, Target},
    message::LogMessage,
    reader::{Left, Page, Row, Which},
    snapshot::Snapshot,
    tenure::{
        command::{Asked, GroupTick, LeftPage},
        lanes::TickGroup,
    },
    tick::{Tick, WindowBounds, Written},
    timestamp::Timestamp,
    waiting::{DueDelivery, ExpiredPage, ExpiryPlace, WaitingCount},
};

impl Database {
    /// What is new in these lanes, and whether it is durable.
    pub fn tick(&mut self, groups: Vec<TickGroup>, luck: Luck) -> (Vec<GroupTick>, bool) {
        let top = self.snapshot();
        let mut has_news = false;
        let mut answers = Vec::new();
        for group in groups {
            let rows = self.new_rows(&group, &top);
            has_news |= !rows.is_empty();
            answers.push(self.tick_answer(group, &top, rows, luck));
        }
        if !has_news || self.wrong == Wrong::DurableIgnored {
            return (answers, true);
        }
        if !luck.is_late {
            self.harden();
        }
        (answers, !luck.is_late)
    }

    fn new_rows(&self, group: &TickGroup, top: &Snapshot) -> Vec<LogMessage> {
        // Most ticks find nothing.
        if group.base.xmin() > self.newest_xid {
            return Vec::new();
        }
        let highest = (self.wrong == Wrong::TicksById).then(|| group.base.xmax());
        let is_new = |logged: &&Logged| {
            let row = &logged.row;
            !group.base.sees(row.xid)
                && top.sees(row.xid)
                && self.is_visible(logged)
                && group.lanes.contains(&row.id.lane())
                && highest.is_none_or(|highest| row.xid >= highest)
                && (self.wrong != Wrong::TicksByXmin || row.xid < top.xmin())
        };
        self.log.values().filter(is_new).map(|logged| self.as_read(&logged.row)).collect()
    }

    fn tick_answer(
        &self,
        group: TickGroup,
        top: &Snapshot,
        rows: Vec<LogMessage>,
        luck: Luck,
    ) -> GroupTick {
        let written = Written { upto: 0, flushed: 0, has_standbys: false, number: 0 };
        let top = top.clone();
        if luck.is_large && !rows.is_empty() {
            let bounds = self.bounds(&group.base);
            return (group, Tick::TooMany { top, written }, Some(bounds));
        }
        (group, Tick::Rows { top, rows, last_number: self.number, written }, None)
    }

    fn bounds(&self, base: &Snapshot) -> WindowBounds {
        let first = self.log.values().find(|logged| !base.sees(logged.row.xid));
        let before = i64::from(self.wrong != Wrong::WindowTooLate);
        WindowBounds {
            after: first.map_or(self.number << 10 | 1023, |logged| logged.row.id.0 - before),
            end: self.number << 10 | 1023,
        }
    }

    pub fn page(&self, page: &Page) -> LeftPage {
        let is_in_window = |logged: &&Logged| {
            let row = &logged.row;
            row.id.lane() == page.lane
                && self.is_visible(logged)
                && page.top.sees(row.xid)
                && !page.base.sees(row.xid)
        };
        let is_of_lag = |row: &LogMessage| {
            let is_spared = page.spares_expiring && row.expires();
            row.only_target().is_some_and(|t| page.targets.contains(&t)) && !is_spared
        };
        let wanted = |row: &LogMessage| is_of_lag(row) == (page.which == Which::Lag);
        let walked =
            self.log.range(page.after + 1..page.upto.saturating_add(1).max(page.after + 1));
        let window = walked.map(|(_, logged)| logged).filter(is_in_window);
        let window: Vec<&LogMessage> = window.map(|logged| &logged.row).collect();
        let of_page = window.iter().filter(|row| wanted(row)).take(page.limit);
        let mut rows: Vec<LogMessage> = of_page.map(|row| self.as_read(row)).collect();
        let mut left: HashMap<Target, Left> = HashMap::default();
        if page.which == Which::Tail {
            let reached = page.reached(&rows);
            for row in window.iter().filter(|row| !wanted(row) && row.id.0 <= reached) {
                let Some(target) = row.only_target() else { continue };
                let since = row.terms.pending_since().0;
                let known = left.entry(target).or_insert(Left { count: 0, oldest: since });
                known.count += 1;
                known.oldest = known.oldest.min(since);
            }
        }
        if self.wrong == Wrong::PageCut && rows.len() > 1 {
            rows.pop();
        }
        (rows, left.into_iter().collect())
    }

    fn as_read(&self, row: &LogMessage) -> LogMessage {
        let mut row = row.clone();
        match self.wrong {
            Wrong::ExpiryIgnored => row.terms.expires_at = None,
            Wrong::ScheduleIgnored => row.terms.scheduled_at = None,
            Wrong::KeysLost => row.terms.ordering_key = None,
            _ => {}
        }
        row
    }

    // What waits ------------------------------------------------------------------------------------

    /// Whether another one of its ordering key is before it: at its endpoint, or at any.
    pub fn is_behind(&self, place: &Place, row: &DeferredRow, is_global: bool) -> bool {
        let Some(key) = &row.key else { return false };
        self.deferred.range(..(place.0, Target(i32::MIN))).any(|(_, other)| {
            other.key.as_ref() == Some(key) && (is_global || other.endpoint == row.endpoint)
        })
    }

    /// The same where keys hold across endpoints; `false` where they do not.
    pub fn is_behind_anywhere(&self, place: &Place, is_global: bool) -> bool {
        is_global && self.is_behind(place, &self.deferred[place], true)
    }

    pub fn due(&self, wanted: &[(EndpointId, usize)], shards: &[Shard]) -> Vec<DueDelivery> {
        let mut all = Vec::new();
        for (endpoint, most) in wanted {
            let is_due = |(place, row): &(&Place, &DeferredRow)| {
                row.endpoint == *endpoint
                    && shards.contains(&place.0.lane().shard())
                    && row.is_due(self.now)
                    && (row.expires_at.is_some_and(|at| at <= self.now)
                        || self.wrong == Wrong::KeysIgnored
                        || !self.is_behind(place, row, self.is_global))
            };
            let mut due: Vec<_> = self.deferred.iter().filter(is_due).collect();
            due.sort_by_key(|(place, row)| (row.run_at, place.0));
            all.extend(due.into_iter().take(*most).map(|(place, row)| self.waiting(place, row)));
        }
        all
    }

    /// See `deferred_expired.sql`.
    pub fn expired(
        &self,
        shards: &[Shard],
        most: usize,
        after: ExpiryPlace,
        in_hand: &[Place],
    ) -> ExpiredPage {
        let expiry = |(place, row): (&Place, &DeferredRow)| {
            let expires_at = row.expires_at.filter(|at| *at <= self.now)?;
            Some(ExpiryPlace { expires_at, id: place.0, target: place.1 })
        };
        let mut page: Vec<ExpiryPlace> =
            self.deferred.iter().filter_map(expiry).filter(|place| *place > after).collect();
        page.sort_unstable();
        page.truncate(most);
        let is_free = |place: &Place| {
            shards.contains(&place.0.lane().shard())
                && !in_hand.contains(place)
                && !self.is_locked(place)
        };
        let free = page.iter().map(|place| (place.id, place.target)).filter(is_free);
        ExpiredPage {
            rows: free.map(|place| self.waiting(&place, &self.deferred[&place])).collect(),
            next: page.last().copied().filter(|_| page.len() == most),
        }
    }

    pub fn followers(&self, asked: &[Asked]) -> Vec<DueDelivery> {
        let mut rows = Vec::new();
        for (key, endpoint, _) in asked {
            let is_of_key = |(_, row): &(&Place, &DeferredRow)| {
                row.key.as_ref() == Some(key) && (self.is_global || row.endpoint == *endpoint)
            };
            let of_key = self.deferred.iter().filter(is_of_key).take(LINKS_IN_HAND);
            rows.extend(of_key.map(|(place, row)| self.waiting(place, row)));
        }
        rows
    }

    fn waiting(&self, place: &Place, row: &DeferredRow) -> DueDelivery {
        let message = self.as_read(&self.log[&place.0.0].row);
        let mut terms = message.terms;
        if self.wrong != Wrong::ExpiryIgnored {
            terms.expires_at = row.expires_at;
        }
        DueDelivery {
            id: place.0,
            target: place.1,
            endpoint: row.endpoint,
            retry_count: row.retry_count,
            recovery_count: row.recovery_count,
            run_at: row.run_at.unwrap_or(Timestamp(i64::MAX)),
            is_blocked: row.is_blocked,
            has_many_targets: message.targets.as_slice().len() > 1,
            terms,
            content: message.content,
        }
    }

    /// When the next is due, after a moment if one is named.
    pub fn next(&self, shards: &[Shard], after: Option<Timestamp>) -> Vec<(EndpointId, Timestamp)> {
        let mut next: Vec<(EndpointId, Timestamp)> = Vec::new();
        for ((id, _), row) in &self.deferred {
            let at = row.run_at.unwrap_or(Timestamp(i64::MAX));
            if !shards.contains(&id.lane().shard()) || after.is_some_and(|after| at <= after) {
                continue;
            }
            match next.iter_mut().find(|(endpoint, _)| *endpoint == row.endpoint) {
                Some((_, known)) => *known = at.min(*known),
                None => next.push((row.endpoint, at)),
            }
        }
        next
    }

    /// See `deferred_count.sql`.
    pub fn counts(&self, shards: &[Shard], endpoints: Option<&[EndpointId]>) -> Vec<WaitingCount> {
        let mut counts: HashMap<(Shard, Target), (i64, Timestamp)> = HashMap::default();
        for ((id, target), row) in &self.deferred {
            let shard = id.lane().shard();
            if shards.contains(&shard) && endpoints.is_none_or(|e| e.contains(&row.endpoint)) {
                // What waits for its first attempt until later counts from then on.
                let is_first = row.retry_count == 0 && !row.is_blocked;
                let later = row.run_at.filter(|at| is_first && *at > self.now);
                let since = later.unwrap_or(self.log[&id.0].row.terms.created_at);
                let known = counts.entry((shard, *target)).or_insert((0, since));
                *known = (known.0 + 1, known.1.min(since));
            }
        }
        let count =
            |((shard, target), (count, oldest))| WaitingCount { shard, target, count, oldest };
        counts.into_iter().map(count).collect()
    }

    /// The first that waits of each ordering key of these shards at each endpoint.
    fn firsts(&self, shards: &[Shard]) -> Vec<(Place, Link)> {
        let mut firsts: Vec<(Place, Link)> = Vec::new();
        for (place, row) in &self.deferred {
            let Some(key) = &row.key else { continue };
            let is_known =
                |(_, link): &(Place, Link)| link.key == *key && link.endpoint == row.endpoint;
            if shards.contains(&place.0.lane().shard()) && !firsts.iter().any(is_known) {
                let link = Link { key: key.clone(), id: place.0, endpoint: row.endpoint };
                firsts.push((*place, link));
            }
        }
        firsts
    }

    pub fn stored_keys(&self, shards: &[Shard]) -> Vec<Link> {
        self.firsts(shards).into_iter().map(|(_, link)| link).collect()
    }

    /// See `release_keys.sql`.
    pub fn release_stored_keys(&mut self, shards: &[Shard]) {
        for (place, _) in self.firsts(shards) {
            if self.is_locked(&place) || !self.deferred[&place].is_blocked {
                continue;
            }
            let scheduled_at = self.log[&place.0.0].row.terms.scheduled_at;
            let now = self.now;
            let row = self.deferred.get_mut(&place).expect("it waits");
            row.is_blocked = false;
            row.wait(Some(scheduled_at.map_or(now, |at| at.max(now))));
        }
    }
}
