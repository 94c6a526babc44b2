//! The dispatcher: all state of one tenure, and what is decided by it.
//!
//! It does nothing itself. Its driver tells it the time and what came in, asks what is to be done
//! now, and when to ask again. A tenure lasts from registering under a fresh id until the lease, a connection or the
//! process ends. Nothing survives it in memory: the next one starts from the checkpoints in the database.
//!
//! The order that makes it safe: what is read is written down as taken (`save_checkpoint`, `save_claim`) *before* it
//! is attempted, and forgotten only *after* its result is recorded.

mod attempting;
mod claiming;
mod counting;
mod ending;
mod expiring;
mod holding;
mod keys;
mod losing;
mod moving;
mod owning;
mod reading;
mod recording;
mod recovering;
mod refreshing;
mod settling;
mod sharing;
mod sleeping;
mod standing;
mod state;
#[cfg(test)]
pub(super) mod tests;
mod waiting;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tracing::{debug, info, trace, warn};
use uuid::Uuid;

use super::{
    Pace, Tenure,
    account::Account,
    claims::{Claims, Placed},
    clock::Clock,
    command::{
        ClaimAnswer, Command, Counting, DueAnswer, DueClaimAnswer, Event, Flushed, GroupTick, Look,
        Probe, Query,
    },
    delivery::{Delivery, Message, Source},
    endpoints::{Batch, Endpoints, Seated, Wanting},
    expiry::Expiry,
    figures::Figures,
    flush::{Gathered, error_text},
    followers::{Followers, Room},
    hands::{Hands, SUSPECT_AFTER},
    lanes::{self, Lanes, OwnedLane, TickGroup},
    news::News,
    orphans::Orphans,
    policies::Policies,
    recorder::{HELD_PAUSE, Recorder},
    settings::Settings,
    settlement::Settlement,
    signal::Signal,
    tenancy::Tenancy,
    upkeep::Upkeep,
    watching::{Bellwork, Watch},
};
use crate::{
    breaker::Circuit,
    caretaker::Wish,
    chains::{Chains, LINKS_IN_HAND, Left, Link, Turn},
    checkpoint::{Cancels, Checkpoint, Claim, StillWaiting},
    configuration::{OpenedEndpoint, SharedSettings},
    decide::{Cause, Decision, decide},
    failure::Failure,
    gaps::Gaps,
    hashing::{HashMap, HashSet},
    id::{EndpointId, Lane, MessageId, Priority, Shard, Target},
    lease::{Acquired, Beat, Heartbeat, Owned, Recovered},
    measured::Measured,
    message::LogMessage,
    outcome::{Outcome, Report},
    policy::Policy,
    reader::{self, LaneReader, Page, Row, Taken, Which},
    sharing::{Answer, Granted, Loan},
    snapshot::Snapshot,
    statistics::Statistics,
    tick::Tick,
    timestamp::Timestamp,
    waiting::{DueDelivery, ExpiredPage, Stored, WaitingCount},
};

/// A tick that finds more rows becomes a window.
pub const TICK_ROWS: usize = 4_000;
const PAGE_ROWS: usize = 1_000;
/// Pages under way at a time, so that the server reads one while we take in the other.
const PAGES_AT_ONCE: usize = 2;
/// Endpoints whose waiting deliveries are fetched by one query.
const DUE_ENDPOINTS: usize = 64;
/// A fetch of waiting deliveries that brought nothing new is not repeated before.
const IDLE_FETCH_PAUSE: Duration = Duration::from_millis(10);
/// While something is due and its endpoint has no room for it, we look so often whether it has.
const ROOM_PAUSE: Duration = Duration::from_millis(20);
const ENDPOINT_REFRESH: Duration = Duration::from_secs(2);
const DEFERRED_REFRESH: Duration = Duration::from_secs(5);
/// So many rows are looked at at a time, whoever has them: some milliseconds of the connection that reads.
const EXPIRED_ROWS: usize = 1_000;
const MAINTENANCE: Duration = Duration::from_secs(60);
/// A skipped delivery waits so long in the log; then it is set aside, so that the log before it can
/// be forgotten.
const LAG_PATIENCE: Duration = Duration::from_secs(60);
/// The same for what waits for endpoints that are left alone: a circuit that opens now and then costs no
/// write for what waits behind it, and one that stays open costs one.
const PARKED_PATIENCE: Duration = Duration::from_secs(600);
/// How often memory is looked at.
const MAKE_ROOM_INTERVAL: Duration = Duration::from_millis(100);
/// A delivery whose cancellation is under way is looked at again after so long.
const CANCEL_PAUSE: Duration = Duration::from_millis(200);
/// A claim is only good for so long: what is still queued then is claimed again. Claims are kept for
/// ten minutes at least.
const CLAIM_AGE: Duration = Duration::from_secs(240);
/// When so many results wait to be recorded, nothing more is read.
const UNRECORDED: usize = 8 * 1024;
/// What was read and is not durable yet is read again after so long.
const UNPROVEN_PAUSE: Duration = Duration::from_millis(100);

/// Why a tenure ended.
#[derive(Debug)]
pub enum End {
    /// The process was asked to stop, and everything is given back.
    Stopped,
    /// The lease ran out: another dispatcher may own our shards.
    LeaseLost,
    Failed(Failure),
}

/// What a tenure begins with.
#[derive(Debug, Clone)]
pub struct Identity {
    pub id: Uuid,
    pub shard_count: i64,
    /// Whether we would hear the doorbell.
    pub is_audible: bool,
    /// The sequence numbers that nobody was given. When others come, the tenure ends.
    pub gaps: Gaps,
}

impl Identity {
    /// Under which probes are asked for.
    pub fn prober(&self) -> u128 {
        self.id.as_u128()
    }
}

/// What is said at the end of a tenure.
pub struct Goodbye {
    /// It may take as long as the lease.
    pub lease_length: Duration,
    /// What is still owned, if all of it is on record.
    pub kept: Option<Kept>,
}

pub struct Kept {
    pub owned: Vec<Owned>,
    pub checkpoint: Checkpoint,
    /// What of it is free for others.
    pub released: Vec<Owned>,
    pub statistics: Statistics,
}

pub struct Dispatcher {
    pace: Pace,
    /// The moment of what is being decided, as the driver has told it.
    now: Instant,
    dice: fastrand::Rng,
    /// What is to be done, in this order.
    commands: Vec<Command>,
    clock: Clock,
    tenancy: Tenancy,

    lanes: Lanes,
    watch: Watch,
    claims: Claims,

    endpoints: Endpoints,
    policies: Policies,
    orphans: Orphans,
    upkeep: Upkeep,

    chains: Chains<Seated>,
    followers: Followers,
    hands: Hands,
    expiry: Expiry,

    recorder: Recorder,
    account: Account,
    figures: Figures,
}

impl Dispatcher {
    pub fn new(
        pace: Pace,
        identity: Identity,
        endpoints: Endpoints,
        former: Option<Tenure>,
        now: Instant,
        dice: fastrand::Rng,
    ) -> Dispatcher {
        Dispatcher {
            now,
            dice,
            commands: Vec::new(),
            clock: Clock::new(now, 0),
            tenancy: Tenancy::new(identity, former, now),
            lanes: Lanes::default(),
            watch: Watch::new(now, pace.poll_interval),
            claims: Claims::new(now),
            endpoints,
            policies: Policies::default(),
            orphans: Orphans::default(),
            upkeep: Upkeep::new(now),
            chains: Chains::default(),
            followers: Followers::new(now),
            hands: Hands::new(now),
            expiry: Expiry::new(now),
            recorder: Recorder::new(pace.flush_interval),
            account: Account::new(now),
            figures: Figures::default(),
            pace,
        }
    }

    /// The first heartbeat, before there is anything to say.
    pub fn first_beat(&mut self) -> Statistics {
        self.tenancy.begin_first_beat(self.now);
        self.statistics()
    }

    /// The tenure cannot go on.
    pub fn fail(&mut self, error: Failure) {
        self.tenancy.fail(End::Failed(error));
    }

    /// What is to be counted for whoever watches, since this was asked last.
    pub fn take_measured(&mut self) -> Vec<Measured> {
        self.figures.take_measured()
    }

    /// Attempts that are under way.
    pub fn in_flight(&self) -> i64 {
        self.endpoints.in_flight() as i64
    }

    /// Why the tenure cannot go on, if so.
    pub fn take_failure(&mut self) -> Option<End> {
        self.tenancy.take_end()
    }

    // What to do next ---------------------------------------------------------------------------

    /// Everything that can be started now.
    pub fn step(&mut self, now: Instant) -> Vec<Command> {
        self.set_now(now);
        let shard_count = self.tenancy.identity.shard_count as usize;
        self.endpoints.set_share(self.lanes.iter_owned(), shard_count);
        self.endpoints.end_pauses(now);
        if !self.is_stopping() {
            self.make_room(now);
            self.empty_held(now);
        }
        // Those whose tokens may be used by now go on; and some need more when they have.
        self.take_tokens(now);
        self.attempt(now);
        self.take_tokens(now);
        self.trade(now);
        self.tell(now);
        self.flush(now);
        self.claim(now);
        self.beat_if_due(now);
        self.release_drained();
        if !self.is_stopping() {
            self.read(now);
            self.try_suspect(now);
            self.fetch_due(now);
            self.heed_marks(now);
            self.fetch_followers(now);
            self.fetch_expired(now);
            self.retry_postponed(now);
            self.recover(now);
            self.refresh(now);
            self.count_waiting(now);
            self.arrange_sleep(now);
        }
        self.work_at_doorbell();
        std::mem::take(&mut self.commands)
    }

    /// When to look again even if nothing happens.
    pub fn wake_at(&mut self) -> Instant {
        let now = self.now;
        let mut at = self.tenancy.wake_at(now);
        at = at.min(self.recorder.wake_at().unwrap_or(at));
        if !self.is_stopping() {
            at = self.machines_at(at);
            if self.lanes.has_active() {
                at = at.min(self.expiry.wake_at(now));
            }
            at = at.min(self.endpoints.end_pauses(now).unwrap_or(at));
        }
        let tell_at = self.endpoints.tell_at().filter(|_| !self.upkeep.is_telling);
        at = at.min(tell_at.unwrap_or(at));
        let claim_at = self.claims.wake_at().filter(|_| !self.tenancy.is_releasing());
        at.min(claim_at.unwrap_or(at))
    }

    /// When the first of those is to go on that do nothing once we stop, if not later.
    fn machines_at(&self, latest: Instant) -> Instant {
        let may_trade = !self.endpoints.is_trading();
        let tokens_at = self.endpoints.tokens_at();
        let machines = [
            self.watch.wake_at().filter(|_| self.lanes.has_active()),
            self.hands.wake_at(),
            self.followers.wake_at(),
            self.account.count_at(),
            self.upkeep.wake_at(self.lanes.has_active(), may_trade, self.is_room_short()),
            self.mergeable_at().filter(|at| *at > self.now),
            tokens_at.filter(|_| !self.upkeep.is_asking_for_tokens),
            self.endpoints.trade_at(),
        ];
        machines.into_iter().flatten().fold(latest, Instant::min)
    }

    // Events ------------------------------------------------------------------------------------

    /// Something came in.
    pub fn take(&mut self, event: Event, now: Instant) {
        self.set_now(now);
        if let Err(error) = self.try_take(event) {
            self.tenancy.fail(End::Failed(error));
        }
    }

    /// Who takes in what. Those get a result as it is who have something to note of a failure, too.
    fn try_take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Ticked(answers) => {
                let (answers, is_durable) = answers?;
                self.take_tick(answers, is_durable);
            }
            Event::Paged(page, rows) => {
                let (rows, left) = rows?;
                self.take_page(page, rows, &left);
            }
            Event::Due(wanted, deferrals, answer) => self.take_due(wanted, deferrals, answer?),
            Event::Waiting(next) => self.take_next_due(next)?,
            Event::Expired(page) => self.take_expired(page?),
            Event::Followers(asked, rows) => self.take_followers(asked, rows?),
            Event::Claimed(answer) => self.take_claim(answer?),
            Event::DueClaimed(claimed, answer) => self.take_due_claim(claimed, answer?),
            Event::Landed(delivery, report, started) => {
                self.take_landed(delivery, &report, started)
            }
            Event::Late(deliveries) => self.take_late(deliveries)?,
            Event::Flushed(flushed) => self.take_flush(*flushed?),
            Event::Acquired(answer) => {
                let (acquired, stored) = answer?;
                self.take_acquired(acquired, stored);
            }
            Event::Recovered(asked, answer) => self.take_recovered(asked, answer)?,
            Event::Released(released, result) => self.take_released(&released, result)?,
            Event::Endpoints(answer) => {
                let (versions, rows) = answer?;
                self.take_endpoints(&versions, rows);
            }
            Event::Settings(answer) => self.take_settings(answer)?,
            Event::Retired(id, result) => self.take_retired(id, result)?,
            Event::Circuits(circuits) => self.take_circuits(circuits)?,
            Event::Told(asked, answers) => self.take_told(&asked, answers)?,
            Event::Probing(probe, answers) => self.take_probe(*probe, &answers?),
            Event::Tokens(granted) => self.take_granted(granted)?,
            Event::Traded(owned, loans) => self.take_loans(&owned, loans)?,
            Event::Doorbell(is_locked) => self.watch.take_doorbell(is_locked?, self.now),
            Event::Maintained(result) => self.end_maintenance(result)?,
            Event::Counted(counting, counts) => self.take_counts(counting, counts)?,
        }
        Ok(())
    }
}
