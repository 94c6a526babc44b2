//! Random histories: what happens is chosen by what PostgreSQL has answered so far.

use std::sync::Arc;

use postrider_core::{
    id::{EndpointId, MessageId, Shard, Target},
    lease::Beat,
    reader::Which,
    sharing::Trade,
    tenure::{
        Tenure,
        command::Look,
        simulation::database::{Contents, Verb},
    },
};
use uuid::Uuid;

use super::{
    desk::{ALL, Ask, Desk, Fate, Told},
    telling::Telling,
    world::{Act, Draft, Place, To, World},
};

const KEYS: usize = 2;
const SESSIONS: usize = 5;

/// One thing that happens.
#[derive(Debug, Clone)]
pub enum Step {
    Pass(i64),
    Burn(i64),
    Send {
        session: usize,
        draft: Draft,
        id: Option<MessageId>,
    },
    End {
        session: usize,
        is_committed: bool,
    },
    Act {
        session: usize,
        act: Act,
    },
    Expire,
    Start {
        dispatcher: usize,
        id: Uuid,
        is_seen: bool,
    },
    /// `takes_for_dead`: all others that it has heard of.
    Beat {
        dispatcher: usize,
        takes_for_dead: bool,
    },
    Unregister(usize),
    Vanish(usize),
    /// It takes so many shards over and is gone.
    CutOff(usize, usize),
    Ask(usize, Ask),
}

impl Step {
    /// Whether nothing is on record by it that was not before; if it was wrong to say so, a later step shows it.
    pub fn only_looks(&self) -> bool {
        match self {
            Step::Pass(_) | Step::Burn(_) | Step::Send { .. } | Step::Start { .. } => true,
            Step::Ask(_, ask) => !matches!(
                ask,
                Ask::Acquire { .. }
                    | Ask::Flush(_)
                    | Ask::Release(_)
                    | Ask::Recover
                    | Ask::Maintain
            ),
            _ => false,
        }
    }
}

/// A world, and what has happened in it.
pub struct Player<W> {
    pub world: W,
    is_global: bool,
    desks: [Option<Desk>; 2],
    former: [Option<Tenure>; 2],
    heard: [Vec<Beat>; 2],
    now: i64,
    /// When each was heard last.
    beaten: [i64; 2],
    /// What was not rolled back.
    sent: Vec<(MessageId, usize)>,
    /// The place of the transaction of each session that sends.
    senders: Vec<Option<usize>>,
    /// The sessions with a transaction of an operator's.
    actors: Vec<bool>,
    contents: Contents,
    dispatcher_count: u128,
}

impl<W: World> Player<W> {
    pub fn new(world: W, is_global: bool) -> Player<W> {
        Player {
            world,
            is_global,
            desks: [None, None],
            former: [None, None],
            heard: [Vec::new(), Vec::new()],
            now: 0,
            beaten: [-1; 2],
            sent: Vec::new(),
            senders: vec![None; SESSIONS],
            actors: vec![false; SESSIONS],
            contents: Contents::default(),
            dispatcher_count: 0,
        }
    }

    /// What is heard of it, and what is on record then.
    pub async fn play(&mut self, step: &mut Step) -> Vec<String> {
        let mut lines = match step {
            Step::Ask(dispatcher, ask) => self.ask(*dispatcher, ask).await,
            Step::Beat { dispatcher, takes_for_dead } => {
                self.beat(*dispatcher, *takes_for_dead).await
            }
            _ => self.happen(step).await,
        };
        if !step.only_looks() {
            self.contents = self.world.contents().await;
            let telling = self.telling(&[], &[]);
            lines.extend(telling.contents(&self.contents));
        }
        lines
    }

    fn telling<'a>(&'a self, asked: &'a [MessageId], in_hand: &'a [Place]) -> Telling<'a> {
        Telling {
            began: self.world.began(),
            xids: self.world.xids(),
            sent: &self.sent,
            asked,
            in_hand,
        }
    }

    async fn happen(&mut self, step: &mut Step) -> Vec<String> {
        match step {
            Step::Pass(steps) => {
                self.now += *steps;
                self.world.pass(*steps).await;
            }
            Step::Burn(count) => self.world.burn(*count).await,
            Step::Send { session, draft, id } => {
                let sent = self.world.send(*session, draft, *id).await;
                let place = *self.senders[*session].get_or_insert(self.world.xids().len() - 1);
                self.sent.push((sent, place));
                *id = Some(sent);
                return vec![format!("sent {}", sent.0)];
            }
            Step::End { session, is_committed } => {
                let sender = self.senders[*session].take();
                self.sent.retain(|(_, place)| *is_committed || Some(*place) != sender);
                self.actors[*session] = false;
                self.world.end(*session, *is_committed).await;
            }
            Step::Act { session, act } => {
                let answer = self.world.act(*session, act).await;
                self.actors[*session] = answer.is_some();
                return vec![format!("answer {answer:?}")];
            }
            Step::Expire => return vec![format!("expired {}", self.world.expire().await)],
            Step::Start { dispatcher, id, is_seen } => {
                self.beaten[*dispatcher] = -1;
                let former = self.former[*dispatcher].take();
                self.desks[*dispatcher] = Some(Desk::new(*id, self.is_global, former));
                self.dispatcher_count += 1;
                self.world.start(*dispatcher, *id, *is_seen).await;
            }
            Step::Unregister(dispatcher) => self.world.unregister(*dispatcher).await,
            Step::Vanish(dispatcher) => {
                self.former[*dispatcher] = self.desks[*dispatcher].take().map(|desk| desk.leave());
                self.world.vanish(*dispatcher).await;
            }
            Step::CutOff(dispatcher, limit) => {
                self.desks[*dispatcher] = None;
                let taken = self.world.take_shards(*dispatcher, *limit).await;
                self.world.vanish(*dispatcher).await;
                let mut lines: Vec<String> =
                    taken.iter().map(|taken| format!("{taken:?}")).collect();
                lines.sort();
                return lines;
            }
            Step::Beat { .. } | Step::Ask(..) => unreachable!("these are somewhere else"),
        }
        Vec::new()
    }

    async fn beat(&mut self, dispatcher: usize, takes_for_dead: bool) -> Vec<String> {
        self.beaten[dispatcher] = self.now;
        let heard = std::mem::take(&mut self.heard[dispatcher]);
        let silent = if takes_for_dead { heard } else { Vec::new() };
        let heartbeat = self.world.beat(dispatcher, silent).await;
        let lines = self.telling(&[], &[]).heartbeat(heartbeat.as_ref());
        if let Some(heartbeat) = heartbeat {
            self.heard[dispatcher] = heartbeat.others;
        }
        lines
    }

    async fn ask(&mut self, dispatcher: usize, ask: &Ask) -> Vec<String> {
        let began = self.world.began();
        let Some(desk) = &mut self.desks[dispatcher] else { return Vec::new() };
        let in_hand: Vec<Place> = desk.hand.keys().copied().collect();
        let asked: Vec<MessageId> = match ask {
            Ask::Checkpoint => desk.taken.iter().map(|delivery| delivery.message.id).collect(),
            _ => desk.due.keys().map(|(id, _)| *id).collect(),
        };
        if matches!(ask, Ask::Tick { .. }) {
            self.world.stir().await;
        }
        let event = match ask {
            Ask::Tick { is_large: true, is_merging, .. } => {
                let groups = desk.groups(*is_merging);
                self.world.large_tick(dispatcher, groups).await
            }
            ask => {
                let Some(query) = desk.query(ask, began) else { return Vec::new() };
                self.world.ask(dispatcher, query).await
            }
        };
        let lines = self.telling(&asked, &in_hand).event(&event);
        let now = began.moment(self.now);
        if let Some(desk) = &mut self.desks[dispatcher] {
            desk.take(ask, event, now);
        }
        lines
    }

    // Choosing --------------------------------------------------------------------------------------

    pub fn choose(&self, dice: &mut fastrand::Rng) -> Step {
        loop {
            let step = match dice.u32(..100) {
                0..18 => self.choose_send(dice),
                18..32 => self.choose_end(dice),
                32..40 => self.choose_act(dice),
                40..43 => Some(Step::Pass(dice.i64(1..=2))),
                43 => Some(Step::Burn(dice.i64(1..=50))),
                44 => Some(Step::Expire),
                _ => self.choose_for_dispatcher(dice),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn choose_send(&self, dice: &mut fastrand::Rng) -> Option<Step> {
        let session = dice.usize(..SESSIONS);
        if self.actors[session] {
            return None;
        }
        let draft = Draft {
            to: match dice.u32(..12) {
                0 | 1 => To::All,
                2 => To::Nobody,
                _ => To::Endpoint(dice.usize(..3)),
            },
            key: (dice.u32(..3) == 0).then(|| dice.usize(..KEYS)),
            priority: [0, 0, 0, 5][dice.usize(..4)],
            scheduled: (dice.u32(..8) == 0).then(|| self.now + dice.i64(0..=3)),
            expires: None,
        };
        let after = draft.scheduled.unwrap_or(self.now).max(self.now);
        let expires = (dice.u32(..6) == 0).then(|| after + dice.i64(1..=3));
        Some(Step::Send { session, draft: Draft { expires, ..draft }, id: None })
    }

    fn choose_end(&self, dice: &mut fastrand::Rng) -> Option<Step> {
        let session = dice.usize(..SESSIONS);
        let is_open = self.senders[session].is_some() || self.actors[session];
        is_open.then(|| Step::End { session, is_committed: dice.u32(..6) > 0 })
    }

    fn choose_act(&self, dice: &mut fastrand::Rng) -> Option<Step> {
        let session = dice.usize(..SESSIONS);
        if self.actors[session] || self.senders[session].is_some() {
            return None;
        }
        let waiting: Vec<Place> = self.contents.deferred.keys().copied().collect();
        let act = match dice.u32(..10) {
            0..4 => {
                let back = dice.usize(..self.sent.len().clamp(1, 12));
                Act::Cancel(self.sent.iter().rev().nth(back)?.0)
            }
            // Who finds it held waits for a second: only where nobody holds anything.
            4..7 if !self.actors.contains(&true) => {
                let verb = [Verb::Retry, Verb::Fail, Verb::Skip][dice.usize(..3)];
                Act::Tell(verb, dice.choice(&waiting)?.0)
            }
            7 => {
                // Preferably what a dispatcher has in hand.
                let is_in_hand = |place: &&Place| {
                    self.desks.iter().flatten().any(|desk| desk.hand.contains_key(place))
                };
                let in_hand: Vec<Place> = waiting.iter().filter(is_in_hand).copied().collect();
                let some = if in_hand.is_empty() { waiting } else { in_hand };
                Act::Hold(some.into_iter().filter(|_| dice.bool()).take(3).collect())
            }
            _ => {
                let letters =
                    self.contents.letters.iter().filter(|(_, is_redriven)| !**is_redriven);
                let letters: Vec<Place> = letters.map(|(place, _)| *place).collect();
                Act::Redrive(*dice.choice(&letters)?)
            }
        };
        Some(Step::Act { session, act })
    }

    fn choose_for_dispatcher(&self, dice: &mut fastrand::Rng) -> Option<Step> {
        let dispatcher = dice.usize(..2);
        let Some(desk) = &self.desks[dispatcher] else {
            let id = Uuid::from_u128(self.dispatcher_count + 1);
            let is_seen = dice.bool();
            return (dice.u32(..3) == 0).then_some(Step::Start { dispatcher, id, is_seen });
        };
        let beat = |takes_for_dead| Some(Step::Beat { dispatcher, takes_for_dead });
        if self.beaten[dispatcher] < self.now && dice.u32(..3) == 0 {
            return beat(false);
        }
        // What was read or fetched goes on mostly, and what goes on ends.
        if !desk.taken.is_empty() && dice.bool() {
            return Some(Step::Ask(dispatcher, Ask::Checkpoint));
        }
        if !desk.due.is_empty() && dice.bool() {
            let look = if dice.bool() { Look::After } else { Look::BeforeAndAfter };
            return Some(Step::Ask(dispatcher, Ask::Claim(look)));
        }
        if !desk.hand.is_empty() && dice.u32(..6) == 0 {
            return Some(Step::Ask(dispatcher, self.choose_fates(desk, dice)));
        }
        if dice.u32(..4) == 0
            && let Some(page) = self.choose_page(desk, dice)
        {
            return Some(Step::Ask(dispatcher, page));
        }
        let may_vanish = !desk.is_asleep;
        // Somebody may hold what its successor has to recover.
        if self.actors.contains(&true) && !desk.hand.is_empty() && may_vanish && dice.u32(..12) == 0
        {
            return Some(Step::Vanish(dispatcher));
        }
        let is_alone = self.desks.iter().flatten().count() == 1;
        let acquire = |dice: &mut fastrand::Rng| Ask::Acquire {
            limit: dice.usize(2..=8),
            is_heir: dice.bool(),
        };
        let ask = match dice.u32(..64) {
            // Its locks end with its session, and that at once.
            0 if may_vanish => return Some(Step::Vanish(dispatcher)),
            2 if may_vanish && (is_alone || dice.u32(..3) == 0) => {
                return Some(Step::CutOff(dispatcher, dice.usize(2..=8)));
            }
            60 => Ask::Circuits,
            61 => Ask::Tell(EndpointId(dice.i32(1..=3)), self.choose_told(dice)),
            62 | 63 if !desk.owned.is_empty() => self.choose_trade(desk, dice),
            1 if dice.u32(..3) == 0 => return Some(Step::Unregister(dispatcher)),
            1..4 => return beat(dice.u32(..3) == 0),
            4..8 => acquire(dice),
            8..14 if desk.owned.is_empty() => acquire(dice),
            14..18 if desk.owned.is_empty() && is_alone => return Some(Step::Pass(2)),
            _ if desk.owned.is_empty() => return None,
            8..14 => Ask::Tick { is_large: false, is_merging: false, full: Vec::new() },
            14..23 => Ask::Tick {
                is_large: dice.bool(),
                is_merging: dice.u32(..3) == 0,
                full: full(dice),
            },
            23..27 => self.choose_page(desk, dice)?,
            27..33 => Ask::Checkpoint,
            33..38 => {
                let most = if dice.u32(..4) == 0 { dice.usize(1..=2) } else { ALL };
                Ask::Due((1..=3).map(|id| (EndpointId(id), most)).collect())
            }
            38 => Ask::Next,
            39 | 40 => Ask::Expired(dice.usize(1..=6)),
            41 | 42 => {
                let key = Arc::from(format!("key {}", dice.usize(..KEYS)));
                Ask::Followers(vec![(key, EndpointId(dice.i32(1..=3)))])
            }
            43..47 => Ask::Claim(if dice.bool() { Look::After } else { Look::BeforeAndAfter }),
            47..54 => self.choose_fates(desk, dice),
            54 => {
                let settled = desk.shards().into_iter().filter(|shard| desk.is_settled(*shard));
                Ask::Release(settled.filter(|_| dice.bool()).collect())
            }
            55 => Ask::Recover,
            56 => Ask::Maintain,
            57 => Ask::Count(dice.bool().then(|| vec![EndpointId(1), EndpointId(3)])),
            58 => Ask::Doorbell(!desk.is_asleep),
            _ => return Some(Step::Pass(2)),
        };
        Some(Step::Ask(dispatcher, ask))
    }

    fn choose_told(&self, dice: &mut fastrand::Rng) -> Told {
        match dice.u32(..6) {
            0 => Told::Fails(dice.u32(1..=5)),
            1 => Told::Opens(self.now + dice.i64(0..=2)),
            2 | 3 => Told::Probes,
            4 => Told::Closes,
            _ => Told::Pauses(self.now + dice.i64(0..=2)),
        }
    }

    /// Of one endpoint: something is lent to the other dispatcher, and something is given back.
    fn choose_trade(&self, desk: &Desk, dice: &mut fastrand::Rng) -> Ask {
        let endpoint = EndpointId(dice.i32(1..=3));
        let borrower = Uuid::from_u128(dice.u128(1..=self.dispatcher_count + 1));
        let lent = desk.shards().into_iter().filter(|_| dice.u32(..3) == 0);
        let lent = lent.map(|shard| (endpoint, shard, borrower)).collect();
        let returned = (0..16).filter(|_| dice.u32(..3) == 0);
        let returned = returned.map(|shard| (endpoint, Shard(shard))).collect();
        Ask::Trade(Trade { lent, returned, asked: Vec::new() })
    }

    fn choose_page(&self, desk: &Desk, dice: &mut fastrand::Rng) -> Option<Ask> {
        let mut walking = Vec::new();
        for (lane, reader) in &desk.readers {
            for which in [Which::Tail, Which::Lag] {
                // Of the lanes that are read page by page mostly those that have something.
                let has_some = self.sent.iter().any(|(id, _)| id.lane() == *lane);
                if reader.is_walking(which) && (has_some || dice.u32(..80) == 0) {
                    walking.push((*lane, which));
                }
            }
        }
        let (lane, which) = *dice.choice(&walking)?;
        Some(Ask::Page { lane, which, limit: dice.usize(1..=3), full: full(dice) })
    }

    fn choose_fates(&self, desk: &Desk, dice: &mut fastrand::Rng) -> Ask {
        let mut fates = Vec::new();
        for (place, delivery) in &desk.hand {
            if dice.u32(..3) == 0 {
                continue;
            }
            let is_keyed = delivery.message.terms.ordering_key.is_some();
            let chosen = match dice.u32(..12) {
                0..5 => Fate::Delivered,
                5..7 => Fate::Retry(dice.i64(0..=2)),
                7 | 8 => Fate::Dead,
                9 => Fate::GiveBack {
                    until: dice.bool().then(|| self.now + dice.i64(0..=2)),
                    is_blocked: is_keyed && dice.bool(),
                },
                10 => Fate::Postpone(self.now + dice.i64(0..=2)),
                _ if delivery.message.terms.expires_at.is_some() => Fate::Expired,
                _ => Fate::Delivered,
            };
            fates.push((*place, desk.fates.get(place).copied().unwrap_or(chosen)));
        }
        Ask::Flush(fates)
    }
}

/// Targets to which there is no room.
fn full(dice: &mut fastrand::Rng) -> Vec<Target> {
    (1..=3).filter(|_| dice.u32(..3) == 0).map(Target).collect()
}
