//! What passes between the dispatcher, which decides, and its driver, which does.

use std::time::{Duration, Instant};

use super::{
    Tenure, clock::Clock, delivery::Delivery, endpoints::Seated, flush::Gathered, lanes::TickGroup,
};
use crate::{
    breaker::Circuit,
    caretaker::Wish,
    chains::Scope,
    checkpoint::{Cancels, Checkpoint, Claim, StillWaiting},
    configuration::{OpenedEndpoint, SharedSettings},
    failure::Failure,
    hashing::{HashMap, HashSet},
    id::{Edition, EndpointId, MessageId, Shard, Target},
    lease::{Acquired, Beat, Owned, Recovered},
    message::LogMessage,
    outcome::Report,
    reader::{self, Page},
    sharing::{Answer, Granted, Loan, Proposal, Trade, Wanted},
    statistics::Statistics,
    tick::{Tick, WindowBounds},
    timestamp::Timestamp,
    transport_settings,
    waiting::{DueDelivery, ExpiredPage, ExpiryPlace, Stored, WaitingCount},
};

/// What the dispatcher wants done.
pub enum Command {
    Ask(Query),
    /// Each lands by itself, as an [`Event`].
    Attempt {
        /// By which transport, or why there is none.
        edition: Result<Edition, String>,
        deliveries: Vec<Delivery>,
        /// What time it is: what expires while its payload is fetched is not attempted.
        clock: Clock,
    },
    /// Renew the lease, and say this of us. Its keeper answers.
    Beat(Statistics),
    /// The lease has another length, and so have the bounds of statements.
    Bound(Duration),
    /// Whether deliveries wait until what was read is durable.
    WaiveDurability(bool),
    /// Something has made a chore worth doing sooner.
    Wish(Wish),
    /// How messages are sent from now on.
    Follow(transport_settings::Settings),
    /// Nothing goes by this edition any more. What is under way may end.
    Close(Edition),
}

/// What is asked of the database. Each is answered by one [`Event`].
pub enum Query {
    /// Look at what is new in these lanes.
    Tick(Vec<TickGroup>),
    ReadPage(Page),
    /// What is due at these endpoints, at most so many of each, and when there is more.
    FetchDue {
        wanted: Vec<(EndpointId, usize)>,
        shards: Vec<Shard>,
        scope: Scope,
        /// Flushes that may change the answer, so far.
        deferrals: u64,
    },
    /// When something is due next.
    FetchNext(Vec<Shard>),
    /// What waits and has expired: so many rows behind this place, whoever has them.
    FetchExpired {
        shards: Vec<Shard>,
        most: usize,
        after: ExpiryPlace,
        in_hand: Vec<(MessageId, Target)>,
    },
    /// What waits next of these ordering keys.
    FetchFollowers(Vec<Asked>, Scope),
    /// Write down where everything stands, and look whether what was taken with it is cancelled.
    SaveCheckpoint {
        owned: Vec<Owned>,
        checkpoint: Checkpoint,
        updates_gate: bool,
        claimed: Vec<MessageId>,
    },
    /// Write down that waiting deliveries are in hand, and look whether they still wait.
    Claim {
        claimed: Vec<Seated>,
        owned: Vec<Owned>,
        claims: Vec<Claim>,
        look: Look,
    },
    Flush {
        owned: Vec<Owned>,
        recorded: Box<Gathered>,
    },
    /// Take at most so many shards, and forget who is silent.
    Acquire {
        limit: usize,
        silent: Vec<Beat>,
        former: Option<Tenure>,
    },
    Recover(Vec<Owned>, Vec<Claim>),
    /// Give up shards of which nothing is in hand any more.
    Release {
        owned: Vec<Owned>,
        released: Vec<Owned>,
        checkpoint: Checkpoint,
    },
    LoadVersions,
    /// Read these endpoints, of all of which these versions are known.
    LoadEndpoints(Vec<(EndpointId, i64)>, Vec<EndpointId>),
    LoadSettings,
    LoadCircuits(Vec<EndpointId>),
    /// Plans are made anew, and ordering keys released of whose release nobody has told us.
    Maintain(Vec<Shard>),
    Count(Counting),
    Retire(EndpointId),
    /// Tell others what became of circuits.
    Tell(Vec<Proposal>, Timestamp),
    AskForProbe(Box<Probe>, Proposal, Timestamp),
    TakeTokens(Vec<Wanted>),
    Trade(Vec<Owned>, Trade),
    LockDoorbell(Vec<Shard>),
    UnlockDoorbell,
}

/// What came of a command.
pub enum Event {
    /// What ticks have found, and whether it is durable.
    Ticked(Result<(Vec<GroupTick>, bool), Failure>),
    Paged(Page, Result<LeftPage, Failure>),
    Due(Vec<(EndpointId, usize)>, u64, Result<DueAnswer, Failure>),
    Waiting(Result<Vec<(EndpointId, Timestamp)>, Failure>),
    /// Waiting deliveries that have expired.
    Expired(Result<ExpiredPage, Failure>),
    Followers(Vec<Asked>, Result<Vec<DueDelivery>, Failure>),
    Claimed(Result<ClaimAnswer, Failure>),
    DueClaimed(Vec<Seated>, Result<DueClaimAnswer, Failure>),
    /// What came of an attempt, and when it began.
    Landed(Delivery, Report, Instant),
    /// The lease was over before they were attempted.
    Late(Vec<Delivery>),
    Flushed(Result<Box<Flushed>, Failure>),
    Acquired(Result<(Vec<Acquired>, Stored), Failure>),
    /// What was claimed by a former owner and locked by somebody, and what came of a recovery.
    Recovered(Vec<Claim>, Result<Recovered, Failure>),
    Released(Vec<Owned>, Result<(), Failure>),
    Endpoints(Result<KnownEndpoints, Failure>),
    Settings(Result<SharedSettings, Failure>),
    Doorbell(Result<bool, Failure>),
    Maintained(Result<(), Failure>),
    Counted(Counting, Result<Vec<WaitingCount>, Failure>),
    /// Whether an endpoint that is gone was disabled by us.
    Retired(EndpointId, Result<bool, Failure>),
    Circuits(Result<Vec<(EndpointId, Circuit)>, Failure>),
    /// What became of circuits that we wanted to change.
    Told(Vec<EndpointId>, Result<Vec<Answer>, Failure>),
    /// The same, of one that was to let a probe through.
    Probing(Box<Probe>, Result<Vec<Answer>, Failure>),
    Tokens(Result<Vec<Granted>, Failure>),
    /// The loans, as the owner of these shards has to heed them.
    Traded(Vec<Owned>, Result<Vec<Loan>, Failure>),
}

/// What came of a try to record.
pub struct Flushed {
    pub recorded: Gathered,
    /// What somebody has locked, to be tried again.
    pub held: Gathered,
    pub lost: Vec<Owned>,
}

/// Every endpoint's version, and those endpoints that were read anew.
pub type KnownEndpoints = (Vec<(EndpointId, i64)>, Vec<OpenedEndpoint>);

/// What a page found, and what it leaves to the lag.
pub type LeftPage = (Vec<LogMessage>, Vec<(Target, reader::Left)>);

/// A count of waiting deliveries that is under way.
pub struct Counting {
    pub began_at: Instant,
    pub shards: Vec<Shard>,
    /// All endpoints, or these.
    pub endpoints: Option<Vec<EndpointId>>,
    /// How often something had changed before, and whether something was about to.
    pub changes: u64,
    pub is_changing: bool,
}

/// What a tick found for one group of lanes; with bounds when that is to be walked through.
pub type GroupTick = (TickGroup, Tick, Option<WindowBounds>);

/// A delivery that goes when the probe of its endpoint is ours.
pub struct Probe {
    pub endpoint: EndpointId,
    pub delivery: Delivery,
}

/// The shards that are lost, and what was cancelled of what was claimed.
pub type ClaimAnswer = (Vec<Owned>, Cancels);

/// What is known of waiting deliveries after an attempt to claim them.
#[derive(Default)]
pub struct DueClaimAnswer {
    /// If there are any, nothing was claimed.
    pub lost: Vec<Owned>,
    pub cancels: Cancels,
    pub still_waiting: HashMap<(MessageId, Target), StillWaiting>,
    /// They were held, and not claimed.
    pub unclaimed: HashSet<(MessageId, Target)>,
}

/// An ordering key that was asked for, at which endpoint, and the version of its chain then.
pub use crate::wanted::Asked;

pub struct DueAnswer {
    pub rows: Vec<DueDelivery>,
    pub next: Vec<(EndpointId, Timestamp)>,
}

/// When it is looked whether somebody holds what is claimed, or cancels it in a transaction that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nobody is likely to.
    After,
    /// What is held is not claimed at all.
    BeforeAndAfter,
}
