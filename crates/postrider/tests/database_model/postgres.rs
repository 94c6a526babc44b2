//! PostgreSQL's world, whose clock is moved.

use std::{sync::Arc, time::Duration};

use postrider_core::{
    configuration::EndpointRow,
    id::{EndpointId, MessageId, Target},
    lease::{Beat, Heartbeat, Taken},
    snapshot::Xid,
    statistics::Statistics,
    tenure::{
        TickGroup,
        command::{Event, Query},
        simulation::database::{Contents, DeferredRow, Verb},
    },
    tick::Tick,
};
use postrider_engine::asking::Asking;
use postrider_store::{
    connect::{Connector, DatabaseUrl},
    lease::Heart,
    log::Log,
    wire::{Timestamptz, Xid8},
};
use postrider_testkit::postgres::{Options, clock::MovableClock};
use tokio_postgres::{Client, Row, error::SqlState};
use uuid::Uuid;

use super::world::{Act, Began, Draft, LEASE_SECONDS, Place, STEP_US, To, World};
use crate::shop::Shop;

/// Only the past works (see `MovableClock`): a history has so much room for its time.
const FIRST_OFFSET_SECONDS: i64 = -10 * 24 * 3_600;
/// Who waits for a lock waits in vain: nothing else goes on meanwhile.
const PATIENCE: &str = "set lock_timeout = '40ms'";
/// A statement of a dispatcher that waits for somebody's transaction would wait for ever.
const STUCK: Duration = Duration::from_secs(30);
const SESSIONS: usize = 5;

pub struct Postgres {
    clock: MovableClock,
    offset: i64,
    connector: Connector,
    began: Began,
    admin: Client,
    sessions: Vec<Client>,
    /// The transactions that are open, and which of them have sent.
    open: Vec<Option<bool>>,
    dispatchers: [Option<(Heart, Asking)>; 2],
    xids: Vec<Xid>,
    pub endpoints: Vec<EndpointRow>,
    /// Those of a message to all.
    pub all: Vec<Target>,
    shop: Shop,
}

impl Postgres {
    pub async fn open(is_global: bool) -> Postgres {
        let clock = MovableClock::in_hand().unwrap();
        clock.set(FIRST_OFFSET_SECONDS).unwrap();
        let options = Options { installation: Some(clock.installation()), ..Options::default() };
        let shop = Shop::open_migrated_with(options).await;
        let scope = if is_global { "global" } else { "endpoint" };
        shop.execute(&format!(
            "select postrider.create_endpoint(n, 'discard', '{{}}') from unnest('{{a,b,c}}'::text[]) n;
            select postrider.create_event_type('all'), postrider.create_event_type('nobody');
            select postrider.subscribe('all', n) from unnest('{{a,b,c}}'::text[]) n;
            select postrider.set_setting('ordering_scope', '{scope}');
            select postrider.set_setting('stale_recovery_timeout', '{LEASE_SECONDS}')"
        ))
        .await;
        let admin = shop.client().await;
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            let session = shop.client().await;
            session.batch_execute(PATIENCE).await.unwrap();
            sessions.push(session);
        }
        let log = Log::open(Arc::new(shop.client().await)).await.unwrap();
        let ids: Vec<EndpointId> =
            log.endpoint_versions().await.unwrap().into_iter().map(|(id, _)| id).collect();
        let endpoints = log.endpoints(&ids).await.unwrap();
        let sql = "select postrider.matching_targets(t.patterns, '{}')
            from postrider.event_types t where t.name = 'all'";
        let all: Vec<i32> = admin.query_one(sql, &[]).await.unwrap().get(0);
        let row = admin.query_one("select clock_timestamp()", &[]).await.unwrap();
        let Timestamptz(began) = row.get(0);
        let url = DatabaseUrl::new(shop.url());
        Postgres {
            clock,
            offset: FIRST_OFFSET_SECONDS,
            connector: Connector::new(&url, None, "model").unwrap(),
            began: Began(began),
            admin,
            open: sessions.iter().map(|_| None).collect(),
            sessions,
            dispatchers: [None, None],
            xids: Vec::new(),
            endpoints,
            all: all.into_iter().map(Target).collect(),
            shop,
        }
    }

    fn asking(&self, dispatcher: usize) -> &Asking {
        &self.dispatchers[dispatcher].as_ref().expect("it was started").1
    }

    async fn begin(&mut self, session: usize, sends: bool) {
        if self.open[session].is_none() {
            self.sessions[session].batch_execute("begin").await.unwrap();
        }
        self.open[session] = Some(sends);
    }

    /// What a verb has said: `None` where it was refused.
    async fn say(&self, session: usize, act: &Act) -> Option<usize> {
        let client = &self.sessions[session];
        let answer = match act {
            Act::Hold(places) => {
                let (ids, targets): (Vec<i64>, Vec<i32>) =
                    places.iter().map(|(id, target)| (id.0, target.0)).unzip();
                let sql = "select 1 from unnest($1::bigint[], $2::integer[]) p (id, target)
                    join postrider.deferred d on d.message_id = p.id and d.target = p.target
                    for update of d skip locked";
                let held = client.query(sql, &[&ids, &targets]).await;
                return held.map(|_| 1).ok();
            }
            Act::Cancel(id) => {
                let sql = "select postrider.cancel_message($1)::integer";
                client.query_one(sql, &[&id.0]).await
            }
            Act::Tell(verb, id) => {
                let sql = match verb {
                    Verb::Retry => "select postrider.retry_delivery($1)",
                    Verb::Fail => "select postrider.fail_delivery($1, null, 'so it is')",
                    Verb::Skip => "select postrider.skip_delivery($1, null, 'so it is')",
                };
                client.query_one(sql, &[&id.0]).await
            }
            Act::Redrive((id, target)) => {
                let sql = "select case when postrider.redrive_message(l.id) > 0 then 1 end
                    from postrider.dead_letter l
                    where l.message_id = $1 and l.target = $2 and l.status = 'failed'";
                client.query_one(sql, &[&id.0, &target.0]).await
            }
        };
        match answer {
            Ok(row) => usize::try_from(row.get::<_, i32>(0)).ok().filter(|count| *count > 0),
            Err(error) if error.as_db_error().is_none() && !error.is_closed() => None,
            Err(error) => {
                let expected = [
                    SqlState::LOCK_NOT_AVAILABLE,
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    SqlState::OBJECT_IN_USE,
                    SqlState::UNDEFINED_OBJECT,
                ];
                let is_refusal = error.code().is_some_and(|code| expected.contains(code));
                assert!(is_refusal, "{act:?}: {error:?}");
                None
            }
        }
    }
}

impl World for Postgres {
    fn began(&self) -> Began {
        self.began
    }

    fn xids(&self) -> &[Xid] {
        &self.xids
    }

    async fn pass(&mut self, steps: i64) {
        self.offset += steps * STEP_US / 1_000_000;
        assert!(self.offset < 0, "time is up");
        self.clock.set(self.offset).unwrap();
    }

    async fn send(&mut self, session: usize, draft: &Draft, _: Option<MessageId>) -> MessageId {
        let is_first = self.open[session].is_none();
        self.begin(session, true).await;
        let client = &self.sessions[session];
        let (sql, name) = match draft.to {
            To::Endpoint(place) => {
                let sql =
                    "select postrider.send_with_options($1, '{}', $2, $3, null, null, $4, $5)";
                (sql, self.endpoints[place].name.as_str())
            }
            To::All | To::Nobody => {
                let sql =
                    "select postrider.publish($1, '{}', p_priority => $2, p_scheduled_at => $3,
                    p_expires_at => $4, p_ordering_key => $5)";
                (sql, if matches!(draft.to, To::All) { "all" } else { "nobody" })
            }
        };
        let moment = |step| Timestamptz(self.began.moment(step));
        let (scheduled, expires) = (draft.scheduled.map(moment), draft.expires.map(moment));
        let key = draft.key.map(|key| format!("key {key}"));
        let priority = i32::from(draft.priority);
        let row = client
            .query_one(sql, &[&name, &priority, &scheduled, &expires, &key])
            .await
            .unwrap_or_else(|error| panic!("{draft:?}: {error:?}"));
        let id = MessageId(row.get(0));
        if is_first {
            let row = client.query_one("select pg_current_xact_id()", &[]).await.unwrap();
            let Xid8(xid) = row.get(0);
            self.xids.push(xid);
        }
        id
    }

    async fn burn(&mut self, count: i64) {
        let sql = "select count(nextval('postrider.message_sequence')) from generate_series(1, $1::bigint)";
        self.admin.query_one(sql, &[&count]).await.unwrap();
    }

    async fn end(&mut self, session: usize, is_committed: bool) {
        if self.open[session].take().is_some() {
            let sql = if is_committed { "commit" } else { "rollback" };
            self.sessions[session].batch_execute(sql).await.unwrap();
        }
    }

    async fn act(&mut self, session: usize, act: &Act) -> Option<usize> {
        self.begin(session, false).await;
        let answer = self.say(session, act).await;
        if answer.is_none() {
            self.end(session, false).await;
        }
        answer
    }

    async fn expire(&mut self) -> usize {
        let sql = "select postrider.mark_expired_messages()";
        self.admin.query_one(sql, &[]).await.unwrap().get::<_, i32>(0) as usize
    }

    async fn start(&mut self, dispatcher: usize, id: Uuid, is_seen: bool) {
        let client = Arc::new(self.shop.client().await);
        let heart = Heart::open(client, id).await.unwrap();
        heart.register("here", 1, "0").await.unwrap();
        let lease = Duration::from_secs(LEASE_SECONDS as u64);
        let name = if is_seen { "postrider" } else { "unseen" };
        let connector = self.connector.named(&format!("{name} {id}"));
        let asking = Asking::open(&connector, id, lease).await.unwrap();
        self.dispatchers[dispatcher] = Some((heart, asking));
    }

    async fn vanish(&mut self, dispatcher: usize) {
        let Some((heart, _)) = self.dispatchers[dispatcher].take() else { return };
        let gone = format!(
            "select not exists (
                select from pg_stat_activity a where a.application_name like '% {}')",
            heart.id()
        );
        self.shop.until(&gone).await;
    }

    async fn take_shards(&mut self, dispatcher: usize, limit: usize) -> Vec<Taken> {
        self.asking(dispatcher).take_shards(limit).await.unwrap()
    }

    async fn beat(&mut self, dispatcher: usize, silent: Vec<Beat>) -> Option<Heartbeat> {
        let (heart, _) = self.dispatchers[dispatcher].as_ref().expect("it was started");
        let heartbeat = heart.heartbeat(&Statistics::default(), &silent).await.unwrap();
        heartbeat.is_alive.then_some(heartbeat)
    }

    async fn unregister(&mut self, dispatcher: usize) {
        self.asking(dispatcher).unregister().await.unwrap();
    }

    async fn stir(&mut self) {
        self.admin.batch_execute("select pg_current_xact_id()").await.unwrap();
    }

    async fn ask(&mut self, dispatcher: usize, query: Query) -> Event {
        let answer = self.asking(dispatcher).answer(query);
        tokio::time::timeout(STUCK, answer).await.expect("a statement of a dispatcher waits")
    }

    async fn large_tick(&mut self, dispatcher: usize, groups: Vec<TickGroup>) -> Event {
        let log = self.asking(dispatcher).log();
        let mut answers = Vec::new();
        for group in groups {
            let tick = log.tick(&group.base, &group.lanes, 0).await.unwrap();
            let bounds = match &tick {
                Tick::TooMany { .. } => Some(log.window(&group.base, &group.lanes).await.unwrap()),
                Tick::Rows { .. } => None,
            };
            answers.push((group, tick, bounds));
        }
        Event::Ticked(Ok((answers, true)))
    }

    async fn contents(&mut self) -> Contents {
        let rows = async |sql: &str| {
            let rows = self.admin.query(sql, &[]).await;
            rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
        };
        // One after the other without a wait.
        let (shards, waiting, done, partly, ended, letters, attempts, cancellations) = tokio::join!(
            rows("select s.owner, s.epoch, s.unrecovered from postrider.shard s order by s.shard"),
            rows(
                "select d.message_id, d.target, d.endpoint_id, nullif(d.run_at, 'infinity'),
                    d.retry_count, d.recovery_count, d.expires_at, d.ordering_key, d.is_blocked
                from postrider.deferred d"
            ),
            rows("select m.id from postrider.message m where postrider.is_done(m.id)"),
            rows("select p.message_id, t from postrider.partly_done p, unnest(p.targets) t"),
            rows("select e.message_id, e.target from postrider.ended e"),
            rows(
                "select l.message_id, l.target, bool_and(l.status = 'redriven')
                from postrider.dead_letter l group by l.message_id, l.target"
            ),
            rows(
                "select a.message_id, a.target, count(*)::integer from postrider.attempt a
                where not exists (
                    select from postrider.dead_letter l
                    where l.message_id = a.message_id and l.target = a.target)
                group by a.message_id, a.target"
            ),
            rows("select c.message_id, c.target from postrider.cancellation c"),
        );
        let places = |rows: &[Row]| rows.iter().map(place).collect();
        Contents {
            shards: shards.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect(),
            deferred: waiting.iter().map(deferred).collect(),
            done: done.iter().map(|row| MessageId(row.get(0))).collect(),
            partly: places(&partly),
            ended: places(&ended),
            letters: letters.iter().map(|row| (place(row), row.get(2))).collect(),
            attempts: attempts.iter().map(|row| (place(row), count(row.get(2)))).collect(),
            cancellations: places(&cancellations),
        }
    }
}

fn count(number: i32) -> u32 {
    u32::try_from(number).expect("a count")
}

fn place(row: &Row) -> Place {
    (MessageId(row.get(0)), Target(row.get(1)))
}

fn deferred(row: &Row) -> (Place, DeferredRow) {
    let time = |index| row.get::<_, Option<Timestamptz>>(index).map(|Timestamptz(at)| at);
    let deferred = DeferredRow {
        endpoint: EndpointId(row.get(2)),
        run_at: time(3),
        retry_count: count(row.get(4)),
        recovery_count: count(row.get(5)),
        expires_at: time(6),
        key: row.get::<_, Option<&str>>(7).map(Arc::from),
        is_blocked: row.get(8),
    };
    (place(row), deferred)
}
