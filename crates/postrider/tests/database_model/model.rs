//! The simulation's world.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    configuration::EndpointRow,
    id::{MessageId, Priority, Target},
    lease::{Beat, Heartbeat, Taken},
    message::{Content, LogMessage, Targets, Terms},
    snapshot::Xid,
    tenure::{
        TickGroup,
        command::{Event, Query},
        simulation::{
            Wrong,
            database::{self, Contents, Database, Done, Luck, State},
        },
    },
    timestamp::Timestamp,
};
use uuid::Uuid;

use super::world::{Act, Began, Draft, LEASE_SECONDS, STEP_US, To, World};

const BEGAN: Timestamp = Timestamp(1_000_000_000_000);
const SHARDS: i16 = 16;
/// Between two things that happen in one step of time.
const MOMENT_US: i64 = 1_000;

pub struct Model {
    database: Database,
    sessions: Vec<Option<Session>>,
    dispatchers: [Uuid; 2],
    xids: Vec<Xid>,
    all: Vec<Target>,
}

#[derive(Clone, Copy)]
enum Session {
    Sends { xid: Xid, since: Timestamp },
    Acts(Xid),
}

impl Model {
    pub fn new(
        wrong: Wrong,
        is_global: bool,
        endpoints: Vec<EndpointRow>,
        all: Vec<Target>,
    ) -> Model {
        let lease = Duration::from_secs(LEASE_SECONDS as u64);
        let mut database = Database::new(wrong, SHARDS, endpoints, lease, BEGAN);
        database.is_global = is_global;
        Model {
            database,
            sessions: vec![None; 8],
            dispatchers: [Uuid::nil(); 2],
            xids: Vec::new(),
            all,
        }
    }

    fn tick_by(&mut self, us: i64) {
        self.database.set_time(Timestamp(self.database.clock.0 + us));
    }

    fn ask_with(&mut self, dispatcher: usize, query: Query, luck: Luck) -> Event {
        self.tick_by(MOMENT_US);
        self.database.ask(self.dispatchers[dispatcher], query, luck, Instant::now())
    }
}

impl World for Model {
    fn began(&self) -> Began {
        Began(BEGAN)
    }

    fn xids(&self) -> &[Xid] {
        &self.xids
    }

    async fn pass(&mut self, steps: i64) {
        self.tick_by(steps * STEP_US);
    }

    async fn send(&mut self, session: usize, draft: &Draft, id: Option<MessageId>) -> MessageId {
        self.tick_by(MOMENT_US);
        let (xid, since) = match self.sessions[session] {
            Some(Session::Sends { xid, since }) => (xid, since),
            _ => {
                let begun = (self.database.begin(), self.database.now);
                self.xids.push(begun.0);
                self.sessions[session] = Some(Session::Sends { xid: begun.0, since: begun.1 });
                begun
            }
        };
        let targets = match draft.to {
            To::Endpoint(place) => Targets::One(self.database.endpoints[place].targets[0]),
            To::All => Targets::Many(self.all.clone().into()),
            To::Nobody => Targets::Many(Box::new([])),
        };
        let began = self.began();
        let terms = Terms {
            created_at: since,
            scheduled_at: draft.scheduled.map(|step| began.moment(step)),
            expires_at: draft.expires.map(|step| began.moment(step)),
            priority: Priority::new(draft.priority),
            ordering_key: draft.key.map(|key| Arc::from(format!("key {key}"))),
            has_idempotency_key: false,
        };
        let lane = id.expect("the other world's").lane();
        let count = targets.as_slice().len();
        let row = |id| LogMessage { id, xid, targets, terms, content: Content::gone() };
        self.database.insert(count, row, lane)
    }

    async fn burn(&mut self, count: i64) {
        self.database.burn(count);
    }

    async fn end(&mut self, session: usize, is_committed: bool) {
        self.tick_by(MOMENT_US);
        let state = if is_committed { State::Committed } else { State::Aborted };
        match self.sessions[session].take() {
            Some(Session::Sends { xid, .. }) => self.database.end(xid, state),
            Some(Session::Acts(xid)) => drop(self.database.end_act(xid, state)),
            None => {}
        }
    }

    async fn act(&mut self, session: usize, act: &Act) -> Option<usize> {
        self.tick_by(MOMENT_US);
        let xid = match act {
            Act::Hold(places) => Some(self.database.hold(places.clone())),
            Act::Cancel(id) => self.database.cancel(*id),
            Act::Tell(verb, id) => self.database.tell(*verb, *id),
            Act::Redrive(place) => self.database.redrive(*place),
        }?;
        let count = match self.database.act(xid)? {
            database::Act::Hold | database::Act::Redrive { .. } => 1,
            database::Act::Cancel { waiting, unread } => {
                usize::from(waiting.len() + unread.len() > 0)
            }
            database::Act::Tell { places, .. } => places.len(),
        };
        if count == 0 {
            self.database.end_act(xid, State::Aborted);
            return None;
        }
        self.sessions[session] = Some(Session::Acts(xid));
        Some(count)
    }

    async fn expire(&mut self) -> usize {
        self.tick_by(MOMENT_US);
        match self.database.expire() {
            Done::Ended(places, _) => places.len(),
            _ => 0,
        }
    }

    async fn start(&mut self, dispatcher: usize, id: Uuid, is_seen: bool) {
        self.dispatchers[dispatcher] = id;
        if is_seen {
            self.database.sessions.insert(id);
        }
    }

    async fn vanish(&mut self, dispatcher: usize) {
        self.database.sessions.remove(&self.dispatchers[dispatcher]);
    }

    async fn take_shards(&mut self, dispatcher: usize, limit: usize) -> Vec<Taken> {
        self.tick_by(MOMENT_US);
        self.database.take_shards(self.dispatchers[dispatcher], limit, &[])
    }

    async fn beat(&mut self, dispatcher: usize, silent: Vec<Beat>) -> Option<Heartbeat> {
        self.tick_by(MOMENT_US);
        self.database.heartbeat(self.dispatchers[dispatcher], silent)
    }

    async fn unregister(&mut self, dispatcher: usize) {
        self.tick_by(MOMENT_US);
        self.database.unregister(self.dispatchers[dispatcher]);
    }

    async fn stir(&mut self) {
        let xid = self.database.begin();
        self.database.end(xid, State::Committed);
    }

    async fn ask(&mut self, dispatcher: usize, query: Query) -> Event {
        self.ask_with(dispatcher, query, Luck { is_large: false, is_late: false })
    }

    async fn large_tick(&mut self, dispatcher: usize, groups: Vec<TickGroup>) -> Event {
        let luck = Luck { is_large: true, is_late: false };
        self.ask_with(dispatcher, Query::Tick(groups), luck)
    }

    async fn contents(&mut self) -> Contents {
        self.database.contents()
    }
}
