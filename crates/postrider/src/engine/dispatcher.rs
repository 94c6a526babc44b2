//! The dispatcher: one task that owns all state of one tenure and decides what happens next.
//!
//! A tenure lasts from registering under a fresh id until the lease, a connection or the process
//! ends. Queries and attempts run in tasks of their own and report back as events. Nothing survives a
//! tenure in memory: the next one starts from the checkpoints in the database.
//!
//! The order that makes it safe: what is read is written down as taken (`save_checkpoint`,
//! `save_claim`) *before* it is attempted, and forgotten only *after* its result is recorded.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use postrider_core::{
    decide::{Cause, Decision, decide},
    id::{EndpointId, Lane, MessageId, Shard, Target},
    outcome::{Outcome, Report},
    reader::{LaneReader, Page, Row, Taken, Which},
    snapshot::Snapshot,
};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::{JoinError, JoinSet},
    time::Instant,
};
use tracing::{debug, error, info, warn};
use uuid::Uuid;

use super::{
    Options, Tenure,
    clock::Clock,
    delivery::{Delivery, Message, Source},
    endpoints::{Batch, Endpoints},
    flush::{Gathered, error_text},
    lanes::{Lanes, OwnedLane, TickGroup},
    settings::Settings,
    wake::Doorbell,
};
use crate::{
    store::{
        StoreError,
        lease::{Acquired, Claim, Heartbeat, Lease, Owned, Statistics},
        ledger::Ledger,
        log::{DueDelivery, EndpointRow, Log, LogMessage, Payload, Tick, WindowBounds},
        wire::Timestamp,
    },
    transport::Envelope,
};

/// A tick that finds more rows becomes a window.
const TICK_ROWS: usize = 4_000;
const PAGE_ROWS: usize = 1_000;
/// Pages under way at a time, so that the server reads one while we take in the other.
const PAGES_AT_ONCE: usize = 2;
/// Endpoints whose waiting deliveries are fetched by one query.
const DUE_ENDPOINTS: usize = 64;
/// A fetch of waiting deliveries that brought nothing new is not repeated before.
const IDLE_FETCH_PAUSE: Duration = Duration::from_millis(10);
const ENDPOINT_REFRESH: Duration = Duration::from_secs(2);
const DEFERRED_REFRESH: Duration = Duration::from_secs(5);
const MAINTENANCE: Duration = Duration::from_secs(60);
/// A skipped delivery waits so long in the log; then it is set aside, so that the log before it can
/// be forgotten.
const LAG_PATIENCE: Duration = Duration::from_secs(60);
/// A checkpoint that says no more than that things are finished is written so often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(500);
/// From this many losses in a row on, deliveries are attempted one at a time.
const SUSPECT_AFTER: u32 = 2;
/// So many of them are kept at hand.
const SUSPECTS_AT_HAND: usize = 1_000;
/// Payloads that do not come along are in memory only while they are sent: up to so many KiB.
const FETCHED_KIB: usize = 64 * 1024;
/// A tick after many rows waits, so that the next has many, too; after few it comes at once.
const TICK_PAUSE: Duration = Duration::from_millis(5);
const SHORT_TICK_PAUSE: Duration = Duration::from_millis(1);
const MANY_ROWS: usize = 16;
/// How long recording may take when the grace of a stop is over.
const RECORDING_GRACE: Duration = Duration::from_secs(5);
/// How often memory is looked at.
const MAKE_ROOM_INTERVAL: Duration = Duration::from_millis(100);
/// What an attempt may take at most, whatever its transport's timeouts are.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(900);

/// What a task reports.
enum Event {
    Ticked(Vec<(TickGroup, Tick, Option<WindowBounds>)>, Result<(), StoreError>),
    Paged(Page, Result<Vec<LogMessage>, StoreError>),
    Due(Vec<(EndpointId, usize)>, u64, Result<DueAnswer, StoreError>),
    Waiting(Result<Vec<(EndpointId, Timestamp)>, StoreError>),
    Claimed(Result<Vec<Shard>, StoreError>),
    DueClaimed(Vec<Delivery>, Result<Vec<Shard>, StoreError>),
    Landed(EndpointId, Vec<(Delivery, Report)>, Instant),
    Flushed(Box<Gathered>, Result<Vec<Shard>, StoreError>),
    Beat(Instant, Result<Heartbeat, StoreError>),
    Acquired(Result<Vec<Acquired>, StoreError>),
    Released(Vec<Shard>, Result<(), StoreError>),
    Endpoints(Result<(Vec<(EndpointId, i64)>, Vec<EndpointRow>), StoreError>),
    Settings(Result<Vec<(String, String)>, StoreError>),
    Doorbell(Result<bool, StoreError>),
    Maintained(Result<(), StoreError>),
    Retired(Result<(), StoreError>),
}

struct DueAnswer {
    rows: Vec<DueDelivery>,
    next: Vec<(EndpointId, Timestamp)>,
}

/// Why a tenure ended.
#[derive(Debug)]
pub enum End {
    /// The process was asked to stop, and everything is given back.
    Stopped,
    /// The lease ran out: another dispatcher may own our shards.
    LeaseLost,
    Failed(StoreError),
}

/// Wakes the loop for something else than an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Ring,
    Shards,
    Endpoints,
    Settings,
    Deferred,
}

pub struct Dispatcher {
    options: Arc<Options>,
    lease: Arc<Lease>,
    log: Arc<Log>,
    ledger: Arc<Ledger>,
    doorbell: Arc<Doorbell>,
    events: mpsc::UnboundedReceiver<Event>,
    report: mpsc::UnboundedSender<Event>,
    tasks: JoinSet<()>,
    fetched: Arc<Semaphore>,
    /// Whose unattempted messages are known: the tenure before this one.
    former: Option<Tenure>,

    clock: Clock,
    fence: Instant,
    beat_at: Instant,
    is_beating: bool,
    is_acquiring: bool,
    is_releasing: bool,
    lease_length: Duration,

    lanes: Lanes,
    endpoints: Endpoints,
    gathered: Gathered,
    is_flushing: bool,

    make_room_at: Instant,
    tick_at: Instant,
    tick_pause: Duration,
    is_ticking: bool,
    pages: usize,
    bell: Bell,
    /// The doorbell is being locked or unlocked: the two must not overtake each other.
    is_at_bell: bool,
    /// The last tick found nothing, and no try to sleep followed it. Without a tick between two
    /// tries, a transaction that stays open after it has sent would keep us from reading.
    has_looked: bool,

    /// Taken and not yet written down as taken, with where each goes then.
    unclaimed: Vec<(Delivery, Place)>,
    claiming: Vec<(Delivery, Place)>,
    is_claiming: bool,
    checkpoint_at: Option<Instant>,

    in_hand: HashSet<(MessageId, Target)>,
    /// What was recorded while a fetch was under way: its answer may show it as it was before.
    put_down: HashSet<(MessageId, Target)>,
    due_at: Instant,
    is_fetching_due: bool,
    /// Flushes that wrote waiting deliveries and are under way or over.
    deferrals: u64,
    refresh_deferred_at: Instant,
    is_refreshing_deferred: bool,
    /// Waiting deliveries whose dispatcher died more than once, and whether one is being attempted.
    suspects: Vec<Delivery>,
    has_suspect: bool,

    /// For targets that are not known (yet), and those among them that were there when the endpoints
    /// that are being loaded were asked for.
    orphans: Vec<Delivery>,
    orphans_asked: Vec<Delivery>,
    endpoints_at: Instant,
    is_loading_endpoints: bool,
    settings_at: Instant,
    is_loading_settings: bool,
    maintenance_at: Instant,
    is_maintaining: bool,

    records_successes: bool,
    statistics: Statistics,
    is_stopping: bool,
    grace_ends_at: Option<Instant>,
    failure: Option<End>,
}

/// Where a delivery goes once it is written down as taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The endpoint's queue, where a place is reserved.
    Queue,
    /// The lag's own hands.
    Held,
    /// The table of waiting deliveries.
    Aside,
    /// Nowhere before all endpoints are known.
    Orphan,
}

/// Whether senders have to ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bell {
    /// We poll.
    Open,
    /// Trying to get all doorbell locks.
    Trying,
    /// Locked: one more tick, then we may sleep.
    Armed,
    /// Sleeping until somebody rings.
    Asleep,
}

impl Dispatcher {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        options: Arc<Options>,
        lease: Arc<Lease>,
        log: Arc<Log>,
        ledger: Arc<Ledger>,
        doorbell: Arc<Doorbell>,
        endpoints: Endpoints,
        former: Option<Tenure>,
    ) -> Dispatcher {
        let (report, events) = mpsc::unbounded_channel();
        let now = Instant::now();
        Dispatcher {
            clock: Clock::new(now, 0),
            fence: now,
            beat_at: now,
            is_beating: false,
            is_acquiring: false,
            is_releasing: false,
            lease_length: Duration::from_secs(15),
            lanes: Lanes::default(),
            endpoints,
            gathered: Gathered::default(),
            is_flushing: false,
            make_room_at: now,
            tick_at: now,
            tick_pause: SHORT_TICK_PAUSE,
            is_ticking: false,
            pages: 0,
            bell: Bell::Open,
            is_at_bell: false,
            has_looked: false,
            unclaimed: Vec::new(),
            claiming: Vec::new(),
            is_claiming: false,
            checkpoint_at: None,
            in_hand: HashSet::new(),
            put_down: HashSet::new(),
            due_at: now,
            is_fetching_due: false,
            deferrals: 0,
            refresh_deferred_at: now,
            is_refreshing_deferred: false,
            suspects: Vec::new(),
            has_suspect: false,
            orphans: Vec::new(),
            orphans_asked: Vec::new(),
            endpoints_at: now,
            is_loading_endpoints: false,
            settings_at: now,
            is_loading_settings: false,
            maintenance_at: now,
            is_maintaining: false,
            records_successes: false,
            statistics: Statistics::default(),
            is_stopping: false,
            grace_ends_at: None,
            failure: None,
            fetched: Arc::new(Semaphore::new(FETCHED_KIB)),
            tasks: JoinSet::new(),
            former,
            options,
            lease,
            log,
            ledger,
            doorbell,
            events,
            report,
        }
    }

    /// Runs until the tenure ends. `is_asked_to_stop` turns true when the process is to stop.
    pub async fn run(
        mut self,
        mut signals: mpsc::UnboundedReceiver<Signal>,
        mut is_asked_to_stop: watch::Receiver<bool>,
        mut lost: watch::Receiver<bool>,
    ) -> (End, Tenure) {
        let first = self.begin().await;
        if let Err(error) = first {
            return (End::Failed(error), self.leave());
        }
        let end = loop {
            if let Some(end) = self.failure.take() {
                break end;
            }
            if Instant::now() >= self.fence {
                break End::LeaseLost;
            }
            if self.is_stopping && self.is_finished() {
                break self.say_goodbye().await;
            }
            self.step();
            let wake_at = self.wake_at();
            tokio::select! {
                biased;
                _ = lost.wait_for(|is_lost| *is_lost) => {
                    break End::Failed(StoreError::Nonsense("a closed connection"));
                }
                Some(event) = self.events.recv() => {
                    self.take(event);
                    // Whatever else has come in is taken in before deciding again.
                    for _ in 0..256 {
                        let Ok(event) = self.events.try_recv() else { break };
                        self.take(event);
                    }
                }
                Some(signal) = signals.recv() => self.heed(signal),
                _ = is_asked_to_stop.wait_for(|is_asked| *is_asked), if !self.is_stopping => {
                    self.stop();
                }
                () = tokio::time::sleep_until(wake_at) => {}
                Some(joined) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    self.check_joined(joined);
                    while let Some(joined) = self.tasks.try_join_next() {
                        self.check_joined(joined);
                    }
                }
            }
        };
        (end, self.leave())
    }

    /// A task that panicked never reports what it was to report: the tenure cannot go on.
    fn check_joined(&mut self, joined: Result<(), JoinError>) {
        if let Err(error) = joined
            && error.is_panic()
        {
            error!(%error, "a task of the dispatcher panicked");
            self.failure = Some(End::Failed(StoreError::Nonsense("a panic in our own code")));
        }
    }

    /// Registers, takes the first heartbeat and reads what there is to know.
    async fn begin(&mut self) -> Result<(), StoreError> {
        let host = super::host_name();
        self.lease.register(&host, std::process::id() as i32, crate::store::migrate::PRODUCT_VERSION).await?;
        if let Some(former) = &self.former {
            self.lease.unregister(former.id).await?;
        }
        let settings = self.log.settings().await?;
        self.apply_settings(&settings);
        let versions = self.log.endpoint_versions().await?;
        self.load_endpoints(versions).await?;
        let asked = Instant::now();
        let heartbeat = self.lease.heartbeat(&self.statistics).await?;
        self.beat(asked, heartbeat);
        Ok(())
    }

    async fn load_endpoints(&mut self, versions: Vec<(EndpointId, i64)>) -> Result<(), StoreError> {
        let (changed, _) = self.endpoints.compare(&versions);
        for ids in changed.chunks(1000) {
            for row in self.log.endpoints(ids).await? {
                self.endpoints.apply(row);
            }
        }
        Ok(())
    }

    // What to do next ---------------------------------------------------------------------------

    /// Starts everything that can be started now.
    fn step(&mut self) {
        let now = Instant::now();
        self.endpoints.end_pauses(now);
        if !self.is_stopping {
            self.make_room(now);
            self.empty_held(now);
        }
        self.attempt(now);
        self.flush(now);
        self.claim(now);
        self.beat_if_due(now);
        self.release_drained();
        if !self.is_stopping {
            self.read(now);
            self.try_suspect(now);
            self.fetch_due(now);
            self.refresh(now);
            self.arrange_sleep();
        }
    }

    /// When the loop has to look again even if nothing happens.
    fn wake_at(&mut self) -> Instant {
        let now = Instant::now();
        let mut at = self.fence.min(self.beat_at);
        let flush_at = self.gathered.due_at(self.options.flush_interval);
        at = at.min(flush_at.filter(|_| !self.is_flushing).unwrap_or(at));
        at = at.min(self.grace_ends_at.unwrap_or(at));
        if !self.is_stopping {
            if !self.is_ticking && self.bell != Bell::Trying {
                at = at.min(self.tick_at);
            }
            at = at.min(self.due_at).min(self.endpoints_at).min(self.settings_at);
            at = at.min(self.refresh_deferred_at).min(self.maintenance_at);
            at = at.min(self.endpoints.end_pauses(now).unwrap_or(at));
        }
        if let Some(last) = self.checkpoint_at {
            at = at.min(last + CHECKPOINT_INTERVAL);
        }
        // A moment that has passed and was not used is waited for by an event.
        if at <= now { now + Duration::from_millis(1) } else { at }
    }

    fn send<F>(&mut self, task: F)
    where
        F: Future<Output = Event> + Send + 'static,
    {
        let report = self.report.clone();
        self.tasks.spawn(async move {
            // The receiver is gone only when the tenure is over.
            let _ = report.send(task.await);
        });
    }

    // Reading -----------------------------------------------------------------------------------

    fn read(&mut self, now: Instant) {
        let endpoints = &self.endpoints;
        if self.bell == Bell::Asleep && self.lanes.can_merge(|reader| has_room(endpoints, reader)) {
            self.ring_off();
            self.tick_at = now;
        }
        if !self.is_ticking && self.bell != Bell::Trying && now >= self.tick_at {
            self.tick();
        }
        // A page must fit into what may be in memory, however little that is.
        let page_rows = PAGE_ROWS.min(self.options.max_buffered_messages / 4);
        while self.pages < PAGES_AT_ONCE {
            // What has no room stays in the log or is set aside, so a page needs memory for a moment
            // only: full queues of some never keep us from reading on for others.
            if self.unclaimed.len() + self.pages * page_rows > 2 * page_rows {
                break;
            }
            let endpoints = &self.endpoints;
            let wants = |lane: &OwnedLane| wanted_of_lag(endpoints, lane, now);
            let Some(page) = self.lanes.start_page(page_rows, wants) else { break };
            self.pages += 1;
            let log = Arc::clone(&self.log);
            self.send(async move {
                let rows = log.page(&page).await;
                Event::Paged(page, rows)
            });
        }
    }

    fn tick(&mut self) {
        let endpoints = &self.endpoints;
        let groups = self.lanes.start_tick(|reader| has_room(endpoints, reader));
        if groups.is_empty() {
            self.tick_at = Instant::now() + TICK_PAUSE;
            return;
        }
        self.is_ticking = true;
        let log = Arc::clone(&self.log);
        self.send(async move {
            let mut answers = Vec::new();
            let result = tick_groups(&log, groups, &mut answers).await;
            Event::Ticked(answers, result)
        });
    }

    fn take_tick(&mut self, answers: Vec<(TickGroup, Tick, Option<WindowBounds>)>) {
        self.is_ticking = false;
        let mut row_count = 0;
        let mut common: Option<Snapshot> = None;
        for (group, answer, bounds) in answers {
            for lane in &group.lanes {
                self.lanes.free(*lane);
            }
            match (answer, bounds) {
                (Tick::Rows { top, rows }, _) => {
                    let top = common.get_or_insert(top).clone();
                    row_count += rows.len();
                    self.take_tick_rows(&group, &top, rows);
                }
                (Tick::TooMany { top }, Some(bounds)) => {
                    let top = common.get_or_insert(top).clone();
                    row_count += TICK_ROWS;
                    self.lanes.open_windows(&group, &top, bounds);
                }
                (Tick::TooMany { .. }, None) => {}
            }
        }
        self.after_tick(row_count);
    }

    fn take_tick_rows(&mut self, group: &TickGroup, top: &Snapshot, rows: Vec<LogMessage>) {
        let mut by_lane: HashMap<Lane, Vec<LogMessage>> = HashMap::new();
        for row in rows {
            by_lane.entry(row.id.lane()).or_default().push(row);
        }
        for lane in &group.lanes {
            let rows = by_lane.remove(lane).unwrap_or_default();
            let Some(owned) = self.lanes.get_mut(*lane) else { continue };
            let Some(taken) = owned.reader.take_tick(group.is_merging, top, rows) else { continue };
            self.distribute(*lane, taken, Which::Tail);
        }
    }

    /// After a tick: soon again when there was something, sleeping when there was not.
    fn after_tick(&mut self, row_count: usize) {
        let now = Instant::now();
        self.has_looked = row_count == 0;
        if row_count > 0 {
            self.tick_pause = if row_count >= MANY_ROWS { TICK_PAUSE } else { SHORT_TICK_PAUSE };
            self.ring_off();
        } else if self.bell == Bell::Armed {
            self.bell = Bell::Asleep;
        } else if self.bell == Bell::Open {
            self.tick_pause = (self.tick_pause * 3 / 2).min(self.options.poll_interval);
        }
        self.tick_at = match self.bell {
            // A ring wakes us; this is for rings that the network swallowed.
            Bell::Asleep => now + Duration::from_secs(1),
            _ => now + self.tick_pause,
        };
    }

    fn take_page(&mut self, page: Page, rows: Vec<LogMessage>) {
        self.pages -= 1;
        self.lanes.free(page.lane);
        let Some(owned) = self.lanes.get_mut(page.lane) else { return };
        if page.which == Which::Lag && !rows.is_empty() {
            owned.lag_moved_at = Instant::now();
        }
        let taken = owned.reader.take_page(&page, rows);
        self.distribute(page.lane, taken, page.which);
    }

    /// Finds a place for every message that was taken: in its endpoint's queue, or behind in the log.
    fn distribute(&mut self, lane: Lane, taken: Taken<LogMessage>, which: Which) {
        let Taken { segment, base, top, rows } = taken;
        let Some(epoch) = self.lanes.epoch(lane.shard()) else { return };
        let mut skipped: HashSet<Target> = HashSet::new();
        for row in rows {
            if let Some(target) = row.only_target()
                && which == Which::Tail
            {
                let endpoint = self.endpoints.by_target(target);
                let is_full = endpoint.is_some_and(|id| self.endpoints.room(id) == 0);
                let is_left = skipped.contains(&target)
                    || is_full && self.skip(lane, target, &base, &top, row.id);
                if is_left {
                    skipped.insert(target);
                    if let Some(owned) = self.lanes.get_mut(lane) {
                        owned.reader.finish(segment, 1);
                    }
                    continue;
                }
            }
            self.accept(row, Source::Log { lane, segment }, epoch, which);
        }
    }

    fn skip(
        &mut self,
        lane: Lane,
        target: Target,
        base: &Snapshot,
        top: &Snapshot,
        id: MessageId,
    ) -> bool {
        let Some(owned) = self.lanes.get_mut(lane) else { return false };
        if !owned.reader.has_lag() {
            owned.lag_moved_at = Instant::now();
        }
        owned.reader.skip(target, base, top, id)
    }

    /// Takes a message in: one delivery for each of its targets.
    fn accept(&mut self, row: LogMessage, source: Source, epoch: i64, which: Which) {
        let targets = row.targets.clone();
        let expires_at = row.expires_at;
        let message = Message::new(row);
        if targets.as_slice().is_empty() {
            self.gathered.nobody(&message, source, Instant::now());
        }
        for target in targets.as_slice() {
            let endpoint = self.endpoints.by_target(*target);
            let delivery = Delivery {
                message: Arc::clone(&message),
                target: *target,
                endpoint: endpoint.unwrap_or(EndpointId(0)),
                retry_count: 0,
                recovery_count: 0,
                expires_at,
                source,
                epoch,
            };
            let place = match endpoint {
                None => Place::Orphan,
                Some(endpoint) if self.endpoints.room(endpoint) > 0 => {
                    self.endpoints.reserve(endpoint);
                    Place::Queue
                }
                Some(_) if which == Which::Lag => Place::Held,
                Some(_) => Place::Aside,
            };
            self.unclaimed.push((delivery, place));
        }
    }

    /// Lets what the lag holds into queues that have room again. What blocks a hungry endpoint behind
    /// it, or has waited too long, is set aside.
    fn empty_held(&mut self, now: Instant) {
        let mut aside = Vec::new();
        for lane in self.lanes.iter_mut() {
            while let Some(front) = lane.held.front() {
                if self.endpoints.room(front.endpoint) > 0 {
                    self.endpoints.reserve(front.endpoint);
                    lane.lag_moved_at = now;
                    if let Some(delivery) = lane.held.pop_front()
                        && let Some(lost) = self.endpoints.enqueue(delivery)
                    {
                        aside.push(lost);
                    }
                    continue;
                }
                let blocked = front.target;
                let is_in_the_way = lane
                    .reader
                    .skipped()
                    .any(|target| target != blocked && self.endpoints.is_hungry(target));
                if !is_in_the_way && now < lane.lag_moved_at + LAG_PATIENCE {
                    break;
                }
                aside.extend(lane.held.pop_front());
            }
        }
        for delivery in aside {
            self.set_aside(&delivery);
        }
    }

    /// Sets aside what is queued for endpoints that do not answer, when memory is short: others need
    /// the places.
    fn make_room(&mut self, now: Instant) {
        if now < self.make_room_at {
            return;
        }
        self.make_room_at = now + MAKE_ROOM_INTERVAL;
        for delivery in self.endpoints.take_stalled(now) {
            self.return_unattempted(&delivery);
            self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
        }
    }

    /// The delivery waits in the database until its endpoint has room.
    fn set_aside(&mut self, delivery: &Delivery) {
        let now = Instant::now();
        self.gathered.give_back(delivery, now);
        self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
    }

    // Claiming ----------------------------------------------------------------------------------

    /// Writes down what was taken, and what is finished; one checkpoint at a time.
    fn claim(&mut self, now: Instant) {
        let is_interval_over =
            self.checkpoint_at.is_some_and(|last| now >= last + CHECKPOINT_INTERVAL);
        if self.is_claiming || self.unclaimed.is_empty() && !is_interval_over {
            return;
        }
        let owned = self.lanes.owned();
        if owned.is_empty() {
            self.checkpoint_at = None;
            return;
        }
        self.is_claiming = true;
        self.checkpoint_at = (!self.unclaimed.is_empty()).then_some(now);
        self.claiming = std::mem::take(&mut self.unclaimed);
        let (states, done_xmin) = self.lanes.checkpoint();
        let lease = Arc::clone(&self.lease);
        self.send(async move {
            Event::Claimed(lease.save_checkpoint(&owned, done_xmin, &states).await)
        });
    }

    fn take_claim(&mut self, lost: Vec<Shard>) {
        self.is_claiming = false;
        let claimed = std::mem::take(&mut self.claiming);
        if !lost.is_empty() {
            // Nothing was written. The rest is claimed again under what is still ours.
            self.unclaimed.extend(claimed);
            self.lose(&lost);
            return;
        }
        for (delivery, place) in claimed {
            self.put(delivery, place);
        }
    }

    fn put(&mut self, delivery: Delivery, place: Place) {
        let is_ours =
            self.lanes.epoch(delivery.message.id.lane().shard()) == Some(delivery.epoch);
        if !is_ours || self.is_stopping {
            if place == Place::Queue {
                self.endpoints.cancel_reservation(delivery.endpoint);
            }
            if is_ours {
                self.gathered.give_back(&delivery, Instant::now());
            }
            return;
        }
        match (place, delivery.source) {
            (Place::Queue, _) => {
                if let Some(refused) = self.endpoints.enqueue(delivery) {
                    self.set_aside(&refused);
                }
            }
            (Place::Held, Source::Log { lane, .. }) => {
                if let Some(owned) = self.lanes.get_mut(lane) {
                    owned.held.push_back(delivery);
                }
            }
            (Place::Orphan, _) => {
                self.endpoints_at = Instant::now();
                self.orphans.push(delivery);
            }
            (Place::Held | Place::Aside, _) => self.set_aside(&delivery),
        }
    }

    // Waiting deliveries ------------------------------------------------------------------------

    fn fetch_due(&mut self, now: Instant) {
        if self.is_fetching_due || now < self.due_at {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        let (wanted, next) = self.endpoints.wanting_deferred(timestamp, DUE_ENDPOINTS);
        // Looking costs a step per endpoint that has something waiting.
        let pause = Duration::from_micros(500 + self.endpoints.waiting_count() as u64);
        let next = next.map_or(now + DEFERRED_REFRESH, |at| self.clock.instant(at));
        self.due_at = if self.endpoints.waiting_count() > 0 {
            next.clamp(now + pause, now + pause.max(Duration::from_millis(20)))
        } else {
            next
        };
        let shards = self.lanes.active_shards();
        if wanted.is_empty() || shards.is_empty() {
            return;
        }
        self.is_fetching_due = true;
        let deferrals = self.deferrals;
        let log = Arc::clone(&self.log);
        self.send(async move {
            let endpoints: Vec<EndpointId> = wanted.iter().map(|(id, _)| *id).collect();
            let answer = async {
                // In this order: what becomes due in between is in both answers, not in none.
                let next = log.deferred_after(&endpoints, &shards).await?;
                let rows = log.deferred_due(&wanted, &shards).await?;
                Ok(DueAnswer { rows, next })
            };
            let answer = answer.await;
            Event::Due(wanted, deferrals, answer)
        });
    }

    /// `is_current`: nothing that the answer may have missed was recorded meanwhile.
    fn take_due(&mut self, wanted: Vec<(EndpointId, usize)>, is_current: bool, answer: DueAnswer) {
        self.is_fetching_due = false;
        let now = Instant::now();
        let mut counts: HashMap<EndpointId, usize> = HashMap::new();
        let mut fresh = Vec::new();
        let mut suspects: Vec<DueDelivery> = Vec::new();
        let mut is_complete = true;
        let put_down = std::mem::take(&mut self.put_down);
        for row in answer.rows {
            *counts.entry(row.endpoint).or_default() += 1;
            let key = (row.id, row.target);
            if self.in_hand.contains(&key) || put_down.contains(&key) {
                continue;
            }
            if row.recovery_count >= SUSPECT_AFTER {
                suspects.push(row);
            } else {
                fresh.push(row);
            }
        }
        for row in suspects {
            let Some(epoch) = self.lanes.epoch(row.id.lane().shard()) else { continue };
            if self.suspects.len() < SUSPECTS_AT_HAND {
                let suspect = Delivery::due(row, epoch);
                self.hold(&suspect);
                self.suspects.push(suspect);
            } else {
                is_complete = false;
            }
        }
        let next: HashMap<EndpointId, Timestamp> = answer.next.into_iter().collect();
        for (endpoint, most) in wanted {
            let is_exhausted = counts.get(&endpoint).copied().unwrap_or(0) < most;
            if is_exhausted && is_current && is_complete {
                self.endpoints.forget_deferred(endpoint);
                if let Some(at) = next.get(&endpoint) {
                    self.endpoints.note_deferred(endpoint, *at);
                }
            }
        }
        let mut claimed = Vec::new();
        for row in fresh {
            let Some(epoch) = self.lanes.epoch(row.id.lane().shard()) else { continue };
            let delivery = Delivery::due(row, epoch);
            self.hold(&delivery);
            claimed.extend(self.take_in_hand(delivery, now));
        }
        if claimed.is_empty() {
            // All is in hand or waits for its turn: asking again at once would not help.
            self.due_at = self.due_at.max(now + IDLE_FETCH_PAUSE);
        }
        self.claim_due(claimed);
    }

    /// Decides about a waiting delivery that is in hand: returned when it is to be claimed.
    fn take_in_hand(&mut self, delivery: Delivery, now: Instant) -> Option<Delivery> {
        let max_retries = self.endpoints.policy(delivery.endpoint).max_retries;
        if delivery.retry_count > max_retries {
            let error = "[PERMANENT] Recovered from stale processing state";
            self.gathered.dead(&delivery, Cause::Stale, Some(error.to_owned()), now);
            return None;
        }
        if self.endpoints.room(delivery.endpoint) == 0 {
            self.put_back(&delivery);
            self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
            return None;
        }
        self.endpoints.reserve(delivery.endpoint);
        Some(delivery)
    }

    /// A waiting delivery is in hand from now on: it is not fetched again.
    fn hold(&mut self, delivery: &Delivery) {
        if self.in_hand.insert((delivery.message.id, delivery.target))
            && let Some(endpoint) = self.endpoints.get_mut(delivery.endpoint)
        {
            endpoint.deferred_in_hand += 1;
        }
    }

    /// Attempts deliveries that were in the hands of a dispatcher whenever it died one at a time, the
    /// least suspicious first: if one of them is to blame, the others get away.
    fn try_suspect(&mut self, now: Instant) {
        while !self.has_suspect {
            let least = (0..self.suspects.len()).min_by_key(|i| self.suspects[*i].recovery_count);
            let Some(least) = least else { return };
            let delivery = self.suspects.swap_remove(least);
            if let Some(delivery) = self.take_in_hand(delivery, now) {
                self.has_suspect = true;
                self.claim_due(vec![delivery]);
            }
        }
    }

    /// Suspects that have not been claimed are not ours to attempt any more.
    fn drop_suspects(&mut self, is_dropped: impl Fn(&Delivery) -> bool) {
        let (dropped, kept): (Vec<Delivery>, Vec<Delivery>) =
            std::mem::take(&mut self.suspects).into_iter().partition(is_dropped);
        self.suspects = kept;
        for delivery in &dropped {
            self.put_back(delivery);
        }
    }

    fn claim_due(&mut self, claimed: Vec<Delivery>) {
        if claimed.is_empty() {
            return;
        }
        let claims: Vec<Claim> = claimed
            .iter()
            .map(|delivery| Claim {
                id: delivery.message.id,
                target: delivery.target,
                retry_count: delivery.retry_count,
            })
            .collect();
        let owned = self.lanes.owned();
        let lease = Arc::clone(&self.lease);
        self.send(async move {
            let answer = lease.save_claim(&owned, &claims).await;
            Event::DueClaimed(claimed, answer)
        });
    }

    fn take_due_claim(&mut self, claimed: Vec<Delivery>, lost: Vec<Shard>) {
        let is_refused = !lost.is_empty();
        self.lose(&lost);
        for delivery in claimed {
            let is_ours = self.lanes.epoch(delivery.message.id.lane().shard()).is_some();
            if is_refused || !is_ours {
                self.endpoints.cancel_reservation(delivery.endpoint);
                self.let_go(&delivery);
                self.endpoints
                    .note_deferred(delivery.endpoint, self.clock.timestamp(Instant::now()));
            } else if let Some(orphan) = self.endpoints.enqueue(delivery) {
                self.let_go(&orphan);
            }
        }
    }

    /// A waiting delivery is no longer in hand, and if it was a suspect, the next may be tried.
    fn let_go(&mut self, delivery: &Delivery) {
        self.clear_suspect(delivery);
        self.put_back(delivery);
    }

    fn put_back(&mut self, delivery: &Delivery) {
        if self.in_hand.remove(&(delivery.message.id, delivery.target))
            && let Some(endpoint) = self.endpoints.get_mut(delivery.endpoint)
        {
            endpoint.deferred_in_hand = endpoint.deferred_in_hand.saturating_sub(1);
        }
    }

    fn clear_suspect(&mut self, delivery: &Delivery) {
        if delivery.source == Source::Deferred && delivery.recovery_count >= SUSPECT_AFTER {
            self.has_suspect = false;
        }
    }

    // Attempting --------------------------------------------------------------------------------

    fn attempt(&mut self, now: Instant) {
        if self.is_stopping {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        while let Some(Batch { endpoint, transport, deliveries }) = self.endpoints.next_batch() {
            let count = deliveries.len();
            let (expired, deliveries): (Vec<_>, Vec<_>) =
                deliveries.into_iter().partition(|delivery| delivery.is_expired(timestamp));
            for delivery in &expired {
                self.clear_suspect(delivery);
                self.gathered.expired(delivery, now);
            }
            if deliveries.is_empty() {
                self.endpoints.landed(endpoint, count);
                continue;
            }
            self.endpoints.landed(endpoint, expired.len());
            self.start_attempt(endpoint, transport, deliveries);
        }
    }

    fn start_attempt(
        &mut self,
        endpoint: EndpointId,
        transport: Result<Arc<dyn crate::transport::Transport>, String>,
        deliveries: Vec<Delivery>,
    ) {
        self.options.test_hooks.before_attempt(&deliveries);
        let report = self.report.clone();
        let log = Arc::clone(&self.log);
        let fetched = Arc::clone(&self.fetched);
        let fence = self.fence;
        let attempt = async move {
            let started = Instant::now();
            if started >= fence {
                // The process was stopped in between; the tenure is over.
                return;
            }
            let deadline = started + LONGEST_ATTEMPT;
            let reports = match &transport {
                Ok(transport) => {
                    let (envelopes, permits) = envelopes(&log, &fetched, &deliveries).await;
                    let reports = match envelopes {
                        Ok(envelopes) => {
                            Arc::clone(transport).attempt(envelopes, deadline).await
                        }
                        Err(text) => unavailable(deliveries.len(), &text),
                    };
                    drop(permits);
                    reports
                }
                Err(error) => unavailable(deliveries.len(), error),
            };
            debug_assert_eq!(reports.len(), deliveries.len());
            let landed = deliveries.into_iter().zip(reports).collect();
            let _ = report.send(Event::Landed(endpoint, landed, started));
        };
        self.tasks.spawn(attempt);
    }

    fn take_landed(&mut self, id: EndpointId, landed: Vec<(Delivery, Report)>, started: Instant) {
        let now = Instant::now();
        self.endpoints.landed(id, landed.len());
        let policy = self.endpoints.policy(id);
        for (delivery, report) in landed {
            let shard = delivery.message.id.lane().shard();
            self.clear_suspect(&delivery);
            if self.lanes.epoch(shard) != Some(delivery.epoch) {
                self.let_go(&delivery);
                continue;
            }
            self.statistics.messages_processed += 1;
            let is_accepted = report.outcome == Outcome::Accepted;
            self.endpoints.note_outcome(id, is_accepted, report.error.as_deref());
            if !is_accepted {
                self.statistics.error_count += 1;
                self.statistics.last_error = report.error.clone();
                debug!(
                    message = delivery.message.id.0,
                    attempt = delivery.retry_count + 1,
                    error = report.error.as_deref(),
                    "attempt failed"
                );
            }
            if !is_accepted || self.records_successes {
                self.gathered.attempt(&delivery, self.clock.timestamp(started), &report);
            }
            if report.outcome == Outcome::Gone && self.endpoints.retire(id) {
                let lease = Arc::clone(&self.lease);
                self.send(async move { Event::Retired(lease.disable_endpoint(id).await) });
            }
            let error = || error_text(&report);
            match decide(&policy, delivery.retry_count, report.outcome, fastrand::f64()) {
                Decision::Delivered => self.gathered.delivered(&delivery, now),
                Decision::RetryAfter(wait) => {
                    if let Outcome::Unavailable { retry_after: Some(asked) } = report.outcome {
                        self.endpoints.pause(id, now + asked);
                    }
                    self.gathered.retry(&delivery, wait, error(), now);
                    self.endpoints.note_deferred(id, self.clock.timestamp(now + wait));
                    self.due_at = self.due_at.min(now + wait);
                }
                Decision::Dead(cause) => self.gathered.dead(&delivery, cause, Some(error()), now),
            }
        }
    }

    // Recording ---------------------------------------------------------------------------------

    fn flush(&mut self, now: Instant) {
        let is_due = self.gathered.is_due(now, self.options.flush_interval)
            || self.is_stopping && self.endpoints.in_flight == 0;
        if self.is_flushing || self.gathered.is_empty() || !is_due {
            return;
        }
        self.is_flushing = true;
        let mut gathered = std::mem::take(&mut self.gathered);
        self.deferrals += u64::from(!gathered.results.deferred.is_empty());
        let ledger = Arc::clone(&self.ledger);
        let mut owned = self.lanes.owned();
        self.send(async move {
            let mut all_lost: Vec<Shard> = Vec::new();
            loop {
                match ledger.flush(&owned, &gathered.results).await {
                    Ok(lost) if lost.is_empty() => {
                        return Event::Flushed(Box::new(gathered), Ok(all_lost));
                    }
                    Ok(lost) => {
                        gathered.forget(&lost);
                        owned.retain(|owned| !lost.contains(&owned.shard));
                        all_lost.extend(lost);
                    }
                    Err(error) => return Event::Flushed(Box::new(gathered), Err(error)),
                }
            }
        });
    }

    fn take_flush(&mut self, gathered: &Gathered, lost: &[Shard]) {
        self.is_flushing = false;
        self.lose(lost);
        if !gathered.results.deferred.is_empty() {
            self.deferrals += 1;
            let now = Instant::now();
            for deferred in &gathered.results.deferred {
                let wait = Duration::from_millis(deferred.wait_ms.unsigned_abs());
                let at = self.clock.timestamp(now + wait);
                self.endpoints.note_deferred(deferred.endpoint, at);
            }
        }
        for ((lane, segment), count) in &gathered.finished {
            if let Some(owned) = self.lanes.get_mut(*lane) {
                owned.reader.finish(*segment, *count);
            }
        }
        for (id, target) in &gathered.put_down {
            if self.is_fetching_due {
                self.put_down.insert((*id, *target));
            }
            if self.in_hand.remove(&(*id, *target))
                && let Some(endpoint) = self.endpoints.by_target(*target)
                && let Some(endpoint) = self.endpoints.get_mut(endpoint)
            {
                endpoint.deferred_in_hand = endpoint.deferred_in_hand.saturating_sub(1);
            }
        }
        if !gathered.finished.is_empty() && self.checkpoint_at.is_none() {
            self.checkpoint_at = Some(Instant::now());
        }
    }

    // Owning ------------------------------------------------------------------------------------

    fn beat_if_due(&mut self, now: Instant) {
        if self.is_beating || now < self.beat_at {
            return;
        }
        self.is_beating = true;
        self.beat_at = now + self.lease_length / 3;
        self.statistics.in_flight = self.endpoints.in_flight;
        self.statistics.buffered = self.endpoints.buffered;
        let lease = Arc::clone(&self.lease);
        let statistics = self.statistics.clone();
        self.send(async move {
            let asked = Instant::now();
            Event::Beat(asked, lease.heartbeat(&statistics).await)
        });
    }

    fn beat(&mut self, asked: Instant, heartbeat: Heartbeat) {
        self.is_beating = false;
        if !heartbeat.is_alive {
            self.failure = Some(End::LeaseLost);
            return;
        }
        self.clock = Clock::new(asked, heartbeat.now_us);
        self.lease_length = heartbeat.lease;
        // The lease counts from a moment after we asked, so this ends before it does.
        self.fence = asked + heartbeat.lease - heartbeat.lease / 10;
        self.beat_at = asked + heartbeat.lease / 3;
        if self.is_stopping {
            return;
        }
        let (share, held) = (heartbeat.share, heartbeat.owned.len());
        if held < share && heartbeat.takeable_count > 0 {
            self.acquire((share - held).min(heartbeat.takeable_count));
        }
        let active = self.lanes.active_shards();
        for shard in active.iter().rev().take(active.len().saturating_sub(share)) {
            self.drain(*shard);
        }
    }

    fn acquire(&mut self, limit: usize) {
        if self.is_acquiring {
            return;
        }
        self.is_acquiring = true;
        let lease = Arc::clone(&self.lease);
        let log = Arc::clone(&self.log);
        let former = self.former.clone();
        self.send(async move { Event::Acquired(acquire(&lease, &log, limit, former).await) });
    }

    fn take_acquired(&mut self, acquired: Vec<Acquired>) {
        self.is_acquiring = false;
        let now = Instant::now();
        if acquired.is_empty() {
            return;
        }
        let shards: Vec<i16> = acquired.iter().map(|taken| taken.owned.shard.0).collect();
        info!(?shards, "shards acquired");
        for taken in acquired {
            self.lanes.add(taken.owned, taken.lanes, now);
        }
        self.checkpoint_at = Some(now - CHECKPOINT_INTERVAL);
        self.refresh_deferred_at = now;
        self.tick_at = now;
        self.ring_off();
    }

    /// Stops reading a shard and gives back what is queued of it.
    fn drain(&mut self, shard: Shard) {
        self.lanes.drain(shard);
        self.drop_suspects(|delivery| delivery.message.id.lane().shard() == shard);
        let queued = self
            .endpoints
            .take_queued(|_, delivery| delivery.message.id.lane().shard() == shard);
        for delivery in queued {
            self.return_unattempted(&delivery);
        }
    }

    fn return_unattempted(&mut self, delivery: &Delivery) {
        self.clear_suspect(delivery);
        self.gathered.give_back(delivery, Instant::now());
    }

    /// Releases shards of which nothing is in hand any more.
    fn release_drained(&mut self) {
        if self.is_releasing || self.is_claiming || self.is_flushing || !self.gathered.is_empty() {
            return;
        }
        let has_in_hand = |shard: &Shard| {
            self.in_hand.iter().any(|(id, _)| id.lane().shard() == *shard)
                || self.unclaimed.iter().any(|(d, _)| d.message.id.lane().shard() == *shard)
                || self
                    .orphans
                    .iter()
                    .chain(&self.orphans_asked)
                    .any(|d| d.message.id.lane().shard() == *shard)
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
        self.is_releasing = true;
        let owned = self.lanes.owned();
        let released: Vec<Owned> =
            owned.iter().filter(|owned| drained.contains(&owned.shard)).copied().collect();
        let (states, done_xmin) = self.lanes.checkpoint();
        let lease = Arc::clone(&self.lease);
        self.send(async move {
            let result = async {
                lease.save_checkpoint(&owned, done_xmin, &states).await?;
                lease.release(&released).await
            };
            let result = result.await;
            Event::Released(drained, result)
        });
    }

    /// Shards that somebody else owns now: nothing of them is ours to say.
    fn lose(&mut self, lost: &[Shard]) {
        if lost.is_empty() {
            return;
        }
        warn!(shards = ?lost.iter().map(|shard| shard.0).collect::<Vec<_>>(), "shards lost");
        self.lanes.remove(lost);
        self.gathered.forget(lost);
        self.drop_suspects(|delivery| lost.contains(&delivery.message.id.lane().shard()));
        let is_lost = |delivery: &Delivery| lost.contains(&delivery.message.id.lane().shard());
        let dropped = self.endpoints.take_queued(|_, delivery| is_lost(delivery));
        for delivery in &dropped {
            self.let_go(delivery);
        }
        let unclaimed = std::mem::take(&mut self.unclaimed);
        for (delivery, place) in unclaimed {
            if !is_lost(&delivery) {
                self.unclaimed.push((delivery, place));
            } else if place == Place::Queue {
                self.endpoints.cancel_reservation(delivery.endpoint);
            }
        }
        self.orphans.retain(|delivery| !is_lost(delivery));
        self.orphans_asked.retain(|delivery| !is_lost(delivery));
    }

    // Keeping up with the database --------------------------------------------------------------

    fn refresh(&mut self, now: Instant) {
        if !self.is_loading_endpoints && now >= self.endpoints_at {
            self.is_loading_endpoints = true;
            self.orphans_asked.append(&mut self.orphans);
            self.endpoints_at = now + ENDPOINT_REFRESH;
            let log = Arc::clone(&self.log);
            self.send(async move {
                Event::Endpoints(log.endpoint_versions().await.map(|versions| (versions, vec![])))
            });
        }
        if !self.is_loading_settings && now >= self.settings_at {
            self.is_loading_settings = true;
            self.settings_at = now + ENDPOINT_REFRESH;
            let log = Arc::clone(&self.log);
            self.send(async move { Event::Settings(log.settings().await) });
        }
        let shards = self.lanes.active_shards();
        if !self.is_refreshing_deferred && now >= self.refresh_deferred_at && !shards.is_empty() {
            self.is_refreshing_deferred = true;
            let log = Arc::clone(&self.log);
            self.send(async move { Event::Waiting(log.deferred_next(&shards).await) });
        }
        if !self.is_maintaining && now >= self.maintenance_at {
            self.is_maintaining = true;
            self.maintenance_at = now + MAINTENANCE;
            let lease = Arc::clone(&self.lease);
            let (log, ledger) = (Arc::clone(&self.log), Arc::clone(&self.ledger));
            self.send(async move {
                let result = async {
                    log.discard_plans().await?;
                    ledger.discard_plans().await?;
                    lease.bury_orphans().await?;
                    lease.rotate_slots().await?;
                    lease.maintain_partitions().await
                };
                let result = result.await;
                Event::Maintained(result.map(|_| ()))
            });
        }
    }

    fn take_endpoints(&mut self, versions: &[(EndpointId, i64)], rows: Vec<EndpointRow>) {
        for row in rows {
            self.endpoints.apply(row);
        }
        let (changed, dropped) = self.endpoints.compare(versions);
        let now = Instant::now();
        for delivery in dropped {
            self.clear_suspect(&delivery);
            self.gathered.dead(&delivery, Cause::EndpointDropped, None, now);
        }
        if !changed.is_empty() {
            let log = Arc::clone(&self.log);
            let versions = versions.to_vec();
            self.send(async move {
                let rows = async {
                    let mut rows = Vec::new();
                    for ids in changed.chunks(1000) {
                        rows.extend(log.endpoints(ids).await?);
                    }
                    // One that changed meanwhile is found by the next comparison.
                    let read: HashMap<EndpointId, i64> =
                        rows.iter().map(|row| (row.id, row.version)).collect();
                    let versions = versions
                        .into_iter()
                        .filter(|(id, _)| !changed.contains(id) || read.contains_key(id))
                        .map(|(id, version)| (id, read.get(&id).copied().unwrap_or(version)))
                        .collect();
                    Ok((versions, rows))
                };
                let rows = rows.await;
                Event::Endpoints(rows)
            });
            return;
        }
        self.is_loading_endpoints = false;
        // Every endpoint that existed when they were read is known now: what has none is for one that
        // was dropped.
        for delivery in std::mem::take(&mut self.orphans_asked) {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.set_aside(&Delivery { endpoint, ..delivery }),
                None => self.gathered.dead(&delivery, Cause::EndpointDropped, None, now),
            }
        }
        // Disabled endpoints keep nothing in memory.
        let queued = self.endpoints.take_queued(|endpoint, _| !endpoint.is_enabled());
        for delivery in queued {
            self.return_unattempted(&delivery);
            self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
        }
    }

    fn apply_settings(&mut self, rows: &[(String, String)]) {
        let settings = Settings::new(rows);
        self.endpoints.set_defaults(settings.policy);
        self.records_successes = settings.records_successes;
        let shared = self.endpoints.shared();
        if *shared.settings() != settings.transport {
            shared.apply(settings.transport);
        }
    }

    // Sleeping ----------------------------------------------------------------------------------

    /// When a tick found nothing and nothing else is to be read, senders shall ring from now on.
    fn arrange_sleep(&mut self) {
        let is_quiet = self.bell == Bell::Open
            && self.has_looked
            && !self.is_at_bell
            && self.doorbell.is_audible
            && !self.is_ticking
            && !self.lanes.is_walking();
        let shards = self.lanes.shards();
        if !is_quiet || shards.is_empty() {
            return;
        }
        self.bell = Bell::Trying;
        self.is_at_bell = true;
        // A try that fails is repeated after the next empty tick.
        self.has_looked = false;
        let doorbell = Arc::clone(&self.doorbell);
        self.send(async move { Event::Doorbell(doorbell.lock(&shards).await) });
    }

    fn take_doorbell(&mut self, is_locked: bool) {
        self.is_at_bell = false;
        if self.bell != Bell::Trying {
            // Somebody rang meanwhile.
            if is_locked {
                self.unlock_doorbell();
            }
            return;
        }
        let now = Instant::now();
        if is_locked {
            self.bell = Bell::Armed;
            self.tick_at = now;
        } else {
            self.bell = Bell::Open;
            self.tick_at = now + self.tick_pause;
        }
    }

    /// We are awake: senders need not ring.
    fn ring_off(&mut self) {
        if matches!(self.bell, Bell::Armed | Bell::Asleep) {
            self.unlock_doorbell();
        }
        self.bell = Bell::Open;
    }

    fn unlock_doorbell(&mut self) {
        self.is_at_bell = true;
        let doorbell = Arc::clone(&self.doorbell);
        self.send(async move { Event::Doorbell(doorbell.unlock().await.map(|()| false)) });
    }

    fn heed(&mut self, signal: Signal) {
        let now = Instant::now();
        match signal {
            Signal::Ring => {
                self.tick_pause = SHORT_TICK_PAUSE;
                self.tick_at = now;
                self.ring_off();
            }
            Signal::Shards => self.beat_at = now,
            Signal::Endpoints => self.endpoints_at = now,
            Signal::Settings => self.settings_at = now,
            Signal::Deferred => self.refresh_deferred_at = now,
        }
    }

    // Events ------------------------------------------------------------------------------------

    fn take(&mut self, event: Event) {
        if let Err(error) = self.try_take(event) {
            if self.failure.is_none() {
                self.failure = Some(End::Failed(error));
            }
        }
    }

    fn try_take(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Ticked(answers, result) => {
                result?;
                self.take_tick(answers);
            }
            Event::Paged(page, rows) => {
                let rows = rows?;
                self.take_page(page, rows);
            }
            Event::Due(wanted, deferrals, answer) => {
                let answer = answer?;
                self.take_due(wanted, deferrals == self.deferrals, answer);
            }
            Event::Waiting(next) => {
                self.is_refreshing_deferred = false;
                self.refresh_deferred_at = Instant::now() + DEFERRED_REFRESH;
                let unknown = self.endpoints.note_waiting(next?);
                if !unknown.is_empty() {
                    self.endpoints_at = Instant::now();
                }
                self.due_at = Instant::now();
            }
            Event::Claimed(lost) => self.take_claim(lost?),
            Event::DueClaimed(claimed, lost) => self.take_due_claim(claimed, lost?),
            Event::Landed(id, landed, started) => self.take_landed(id, landed, started),
            Event::Flushed(gathered, lost) => self.take_flush(&gathered, &lost?),
            Event::Beat(asked, heartbeat) => self.beat(asked, heartbeat?),
            Event::Acquired(acquired) => self.take_acquired(acquired?),
            Event::Released(shards, result) => {
                self.is_releasing = false;
                result?;
                info!(shards = ?shards.iter().map(|s| s.0).collect::<Vec<_>>(), "shards released");
                self.lanes.remove(&shards);
                self.ring_off();
            }
            Event::Endpoints(answer) => {
                let (versions, rows) = answer?;
                self.take_endpoints(&versions, rows);
            }
            Event::Settings(rows) => {
                self.is_loading_settings = false;
                self.apply_settings(&rows?);
            }
            Event::Retired(result) => {
                result?;
                self.endpoints_at = Instant::now();
            }
            Event::Doorbell(is_locked) => self.take_doorbell(is_locked?),
            Event::Maintained(result) => {
                self.is_maintaining = false;
                match result {
                    Err(error) if error.is_lock_timeout() => {
                        debug!("maintenance waits for a quiet moment");
                    }
                    other => other?,
                }
            }
        }
        Ok(())
    }

    // Ending ------------------------------------------------------------------------------------

    /// Begins a graceful stop: nothing new, what is in flight may land.
    fn stop(&mut self) {
        info!(in_flight = self.endpoints.in_flight, "stopping");
        self.is_stopping = true;
        self.drop_suspects(|_| true);
        self.grace_ends_at = Some(Instant::now() + self.options.shutdown_grace);
        for delivery in self.endpoints.take_queued(|_, _| true) {
            self.return_unattempted(&delivery);
        }
        let held: Vec<Delivery> =
            self.lanes.iter_mut().flat_map(|lane| lane.held.drain(..).collect::<Vec<_>>()).collect();
        for delivery in held {
            self.return_unattempted(&delivery);
        }
        let orphans = std::mem::take(&mut self.orphans);
        for delivery in orphans.into_iter().chain(std::mem::take(&mut self.orphans_asked)) {
            self.return_unattempted(&delivery);
        }
    }

    /// Whether a stop may end: everything has landed and is on record, or the grace is over.
    fn is_finished(&mut self) -> bool {
        let now = Instant::now();
        let is_idle = self.endpoints.in_flight == 0 && self.pages == 0 && !self.is_ticking;
        let is_claimed = !self.is_claiming && !self.is_fetching_due && self.unclaimed.is_empty();
        if is_claimed {
            // What was being read when the stop began has come in since.
            for delivery in self.endpoints.take_queued(|_, _| true) {
                self.return_unattempted(&delivery);
            }
        }
        let is_recorded = is_claimed && self.gathered.is_empty() && !self.is_flushing;
        let is_settled = self.in_hand.is_empty() && !self.is_acquiring && !self.is_releasing;
        if is_idle && is_recorded && is_settled {
            return true;
        }
        // What has landed is worth a little more time, what has not is left to a successor.
        self.grace_ends_at.is_some_and(|at| {
            now >= at && is_recorded || now >= at + RECORDING_GRACE
        })
    }

    async fn say_goodbye(&mut self) -> End {
        let owned = self.lanes.owned();
        let (states, done_xmin) = self.lanes.checkpoint();
        let is_clean = self.endpoints.in_flight == 0 && self.gathered.is_empty();
        let result = async {
            if !owned.is_empty() && is_clean {
                self.lease.save_checkpoint(&owned, done_xmin, &states).await?;
                self.lease.release(&owned).await?;
            }
            self.lease.unregister(self.lease.id()).await
        };
        match result.await {
            Ok(()) => End::Stopped,
            Err(error) => End::Failed(error),
        }
    }

    /// What the next tenure may know: which messages were certainly not attempted.
    fn leave(mut self) -> Tenure {
        self.tasks.abort_all();
        let mut spared: Vec<MessageId> =
            self.endpoints.take_queued(|_, _| true).iter().map(|d| d.message.id).collect();
        spared.extend(self.unclaimed.iter().chain(&self.claiming).map(|(d, _)| d.message.id));
        for lane in self.lanes.iter_mut() {
            spared.extend(lane.held.iter().map(|delivery| delivery.message.id));
        }
        Tenure { id: self.lease.id(), spared: Arc::new(spared) }
    }
}

/// Whether all that a lane has skipped could be taken in now.
fn has_room(endpoints: &Endpoints, reader: &LaneReader) -> bool {
    reader.skipped().all(|target| endpoints.is_hungry(target))
}

/// How many messages that were skipped could be taken now; some, when they have waited too long.
fn wanted_of_lag(endpoints: &Endpoints, lane: &OwnedLane, now: Instant) -> usize {
    let is_impatient = now >= lane.lag_moved_at + LAG_PATIENCE;
    let room: usize = lane
        .reader
        .skipped()
        .filter(|target| endpoints.is_hungry(*target))
        .map(|target| endpoints.by_target(target).map_or(PAGE_ROWS, |id| endpoints.room(id)))
        .sum();
    if is_impatient { PAGE_ROWS } else { room }
}

/// Ticks all groups so that they end at one snapshot: the first one's. The others see at least that
/// much, and what is beyond it is left to the next tick.
async fn tick_groups(
    log: &Log,
    groups: Vec<TickGroup>,
    answers: &mut Vec<(TickGroup, Tick, Option<WindowBounds>)>,
) -> Result<(), StoreError> {
    for group in groups {
        let tick = log.tick(&group.base, &group.lanes, TICK_ROWS).await?;
        let bounds = match &tick {
            Tick::TooMany { .. } => Some(log.window(&group.base, &group.lanes).await?),
            Tick::Rows { .. } => None,
        };
        answers.push((group, tick, bounds));
    }
    Ok(())
}

/// Takes shards and makes what their last owner left behind wait for us.
async fn acquire(
    lease: &Lease,
    log: &Log,
    limit: usize,
    former: Option<Tenure>,
) -> Result<Vec<Acquired>, StoreError> {
    let acquired = match lease.acquire(limit).await {
        Err(error) if error.is_lock_timeout() => {
            let ended = lease.end_stale_flushes().await?;
            warn!(ended, "a takeover was held up by connections of a dead dispatcher");
            return Ok(Vec::new());
        }
        other => other?,
    };
    let spared = |owner: Uuid| {
        former
            .as_ref()
            .filter(|former| former.id == owner)
            .map(|former| former.spared.to_vec())
            .unwrap_or_default()
    };
    for taken in &acquired {
        let owned = [taken.owned];
        let known: HashSet<MessageId> =
            taken.last_owner.map(spared).unwrap_or_default().into_iter().collect();
        let mut count = 0;
        for (lane, state) in &taken.lanes {
            let left: Vec<MessageId> = log.unfinished(*lane, state).await?;
            let (unattempted, attempted): (Vec<MessageId>, Vec<MessageId>) =
                left.into_iter().partition(|id| known.contains(id));
            if !attempted.is_empty() {
                count += lease.recover_messages(&owned, &attempted, true).await?;
            }
            if !unattempted.is_empty() {
                count += lease.recover_messages(&owned, &unattempted, false).await?;
            }
        }
        if let Some(owner) = taken.last_owner {
            let known: Vec<MessageId> = known.into_iter().collect();
            count += lease.recover_claims(&owned, owner, &known).await?;
        }
        if count > 0 {
            warn!(shard = taken.owned.shard.0, count, "recovered deliveries of a lost dispatcher");
        }
    }
    Ok(acquired)
}

type Permits = Vec<tokio::sync::OwnedSemaphorePermit>;

/// What is sent of the deliveries, payloads that did not come along fetched.
async fn envelopes(
    log: &Log,
    fetched: &Arc<Semaphore>,
    deliveries: &[Delivery],
) -> (Result<Vec<Envelope>, String>, Permits) {
    let mut permits = Vec::new();
    let mut envelopes = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let mut content = delivery.message.content.clone();
        if let Payload::Stored { bytes } = content.payload {
            let kib = (bytes / 1024 + 1).min(FETCHED_KIB as u32);
            if let Ok(permit) = Arc::clone(fetched).acquire_many_owned(kib).await {
                permits.push(permit);
            }
            content = match log.content(delivery.message.id, delivery.target).await {
                Ok(content) => content,
                Err(error) => return (Err(error.to_string()), permits),
            };
        }
        let Payload::Here(payload) = content.payload else {
            error!(message = delivery.message.id.0, "the message is gone from the log");
            return (Err("the message is gone from the log".to_owned()), permits);
        };
        envelopes.push(Envelope {
            message_id: delivery.message.id.0,
            attempt: delivery.retry_count + 1,
            correlation_id: content.correlation_id,
            headers: content.headers,
            payload,
        });
    }
    (Ok(envelopes), permits)
}

fn unavailable(count: usize, error: &str) -> Vec<Report> {
    let report = Report {
        outcome: Outcome::Unavailable { retry_after: None },
        status: None,
        error: Some(error.to_owned()),
        duration: Duration::ZERO,
    };
    vec![report; count]
}
