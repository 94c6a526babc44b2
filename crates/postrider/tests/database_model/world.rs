//! What both worlds are asked alike: the simulation's and PostgreSQL's.

use postrider_core::{
    id::{MessageId, Target},
    lease::{Beat, Heartbeat, Taken},
    snapshot::Xid,
    tenure::{
        TickGroup,
        command::{Event, Query},
        simulation::database::{Contents, Verb},
    },
    timestamp::Timestamp,
};
use uuid::Uuid;

/// A delivery.
pub type Place = (MessageId, Target);

/// Time passes in steps, which are far longer than a history takes.
pub const STEP_US: i64 = 600_000_000;
/// What is real of it comes behind the beginning of a step.
const MARGIN_US: i64 = 60_000_000;
/// Shorter than two steps and longer than one.
pub const LEASE_SECONDS: i64 = 900;

/// When a world began, so that its times are told in steps.
#[derive(Debug, Clone, Copy)]
pub struct Began(pub Timestamp);

impl Began {
    /// When a step begins.
    pub fn moment(self, step: i64) -> Timestamp {
        Timestamp(self.0.0 - MARGIN_US + step * STEP_US)
    }

    /// In which step a time lies.
    pub fn step(self, at: Timestamp) -> i64 {
        (at.0 - self.0.0 + MARGIN_US).div_euclid(STEP_US)
    }
}

/// A message that is to be sent; times by the numbers of steps.
#[derive(Debug, Clone)]
pub struct Draft {
    pub to: To,
    pub key: Option<usize>,
    pub priority: i16,
    pub scheduled: Option<i64>,
    pub expires: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
pub enum To {
    /// The endpoint in this place.
    Endpoint(usize),
    /// All of them, by their subscriptions.
    All,
    Nobody,
}

/// What somebody does in a transaction that is ended later.
#[derive(Debug, Clone)]
pub enum Act {
    Hold(Vec<Place>),
    Cancel(MessageId),
    Tell(Verb, MessageId),
    Redrive(Place),
}

pub trait World {
    fn began(&self) -> Began;
    /// The transactions that have sent something, in their order.
    fn xids(&self) -> &[Xid];

    /// Time goes on by so many steps.
    async fn pass(&mut self, steps: i64);
    /// In a transaction of this session. `id`: as the other world has it, for the lane.
    async fn send(&mut self, session: usize, draft: &Draft, id: Option<MessageId>) -> MessageId;
    /// Numbers that no message has.
    async fn burn(&mut self, count: i64);
    async fn end(&mut self, session: usize, is_committed: bool);
    /// How much it will have done; `None`: it is refused, or there is nothing to do, and no transaction.
    async fn act(&mut self, session: usize, act: &Act) -> Option<usize>;
    /// How much has expired.
    async fn expire(&mut self) -> usize;

    /// A dispatcher is registered. Where it `is_seen`, others know by its connections whether it is there.
    async fn start(&mut self, dispatcher: usize, id: Uuid, is_seen: bool);
    /// It is gone, and so are its connections.
    async fn vanish(&mut self, dispatcher: usize);
    /// It takes shards over and is gone before it has recovered anything.
    async fn take_shards(&mut self, dispatcher: usize, limit: usize) -> Vec<Taken>;
    async fn beat(&mut self, dispatcher: usize, silent: Vec<Beat>) -> Option<Heartbeat>;
    /// It ends its lease.
    async fn unregister(&mut self, dispatcher: usize);
    /// A transaction that writes nothing: no two snapshots around it are the same, which counts where a lag has caught up.
    async fn stir(&mut self);
    async fn ask(&mut self, dispatcher: usize, query: Query) -> Event;
    /// A tick that finds more than can be taken in at once, if it finds anything.
    async fn large_tick(&mut self, dispatcher: usize, groups: Vec<TickGroup>) -> Event;

    async fn contents(&mut self) -> Contents;
}
