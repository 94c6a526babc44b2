//! Reading: the log, waiting deliveries, endpoints and settings.
//!
//! Reads only. All queries run on one connection of the dispatcher, whose plans are pinned
//! (`dispatcher_session.sql`).

use postrider_core::hashing::HashSet;
use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use postrider_core::{
    chains::{Link, Scope},
    configuration::{EndpointRow, SharedSettings},
    done,
    gaps::Gaps,
    id::{EndpointId, Lane, MessageId, Priority, Shard, Target},
    message::{Content, LogMessage, Payload, Targets, Terms},
    reader::{self, LaneState, Left, Page, Which},
    snapshot::{Snapshot, Xid},
    tick::{Tick, WindowBounds, Written},
    timestamp::Timestamp,
    waiting::{DueDelivery, ExpiredPage, ExpiryPlace, Stored, WaitingCount},
};
use tokio_postgres::{
    Row, Statement,
    types::{PgLsn, ToSql},
};

use super::{
    StoreError,
    bounded::Bounded,
    wire::{JsonText, PgSnapshot, TargetArray, Timestamptz, Xid8},
};

/// Payloads that are larger, with their headers, are fetched when they are sent. As they are sent, not as they are
/// stored: a hundredth of it may do for that.
pub const INLINE_BYTES: i32 = 2000;
/// How many ids one query of a recovery looks at.
const RECOVERY_PAGE: i64 = 20_000;
/// So many waiting deliveries with ordering keys are looked at by one statement.
const STORED_PAGE: i64 = 2_000;

const EVENT_TYPES: &str = include_str!("../../../sql/queries/endpoints/dispatcher_event_types.sql");

/// A message that a former owner may have attempted.
struct Candidate {
    id: MessageId,
    xid: Xid,
    targets: Targets,
    expires: bool,
}

impl reader::Row for Candidate {
    fn id(&self) -> MessageId {
        self.id
    }
    fn xid(&self) -> Xid {
        self.xid
    }
    fn targets(&self) -> &[Target] {
        self.targets.as_slice()
    }
    fn expires(&self) -> bool {
        self.expires
    }
}

/// The reading connection with its prepared queries.
pub struct Log {
    client: Bounded,
    tick: Statement,
    page: Statement,
    page_left: Statement,
    window: Statement,
    deferred_due: Statement,
    deferred_after: Statement,
    deferred_next: Statement,
    deferred_expired: Statement,
    deferred_count: Statement,
    followers: Statement,
    payload: Statement,
    candidates: Statement,
    done_between: Statement,
    endpoint_versions: Statement,
    endpoints: Statement,
    settings: Statement,
    event_type_policies: Statement,
    shard_count: i32,
    gaps: Gaps,
}

impl Log {
    /// Prepares all queries on a connection with a dispatcher's session settings.
    pub async fn open(client: impl Into<Bounded>) -> Result<Log, StoreError> {
        let client: Bounded = client.into();
        let prepare =
            async |sql| client.once().prepare(sql).await.map_err(StoreError::to("prepare"));
        // Before the gaps: what is left out between the two looks is known then, and no leap.
        let shape = client
            .query_one(include_str!("../../../sql/queries/dispatch/log_shape.sql"), &[])
            .await
            .map_err(StoreError::to("ask for shards and numbers"))?;
        // Others come with an adoption, and then no tenure goes on, or behind a failover or a restore. Whoever began before
        // sees numbers leap at its next tick or heartbeat, and begins anew. If they leap by less than that, what was left out
        // counts as waiting until it has gone past it.
        let gaps = client
            .query(include_str!("../../../sql/queries/dispatch/number_gaps.sql"), &[])
            .await
            .map_err(StoreError::to("ask for gaps between numbers"))?;
        let gaps = gaps.iter().map(|row| (row.get("after_number"), row.get("last_number")));
        Ok(Log {
            shard_count: shape.get("shard_count"),
            gaps: Gaps::new(gaps.collect(), shape.get("newest_number")),
            tick: prepare(include_str!("../../../sql/queries/dispatch/tick.sql")).await?,
            page: prepare(include_str!("../../../sql/queries/dispatch/page.sql")).await?,
            page_left: prepare(include_str!("../../../sql/queries/dispatch/page_left.sql")).await?,
            window: prepare(include_str!("../../../sql/queries/dispatch/window.sql")).await?,
            deferred_due: prepare(include_str!("../../../sql/queries/dispatch/deferred_due.sql"))
                .await?,
            deferred_after: prepare(include_str!(
                "../../../sql/queries/dispatch/deferred_after.sql"
            ))
            .await?,
            deferred_expired: prepare(include_str!(
                "../../../sql/queries/dispatch/deferred_expired.sql"
            ))
            .await?,
            deferred_next: prepare(include_str!("../../../sql/queries/dispatch/deferred_next.sql"))
                .await?,
            deferred_count: prepare(include_str!(
                "../../../sql/queries/dispatch/deferred_count.sql"
            ))
            .await?,
            followers: prepare(include_str!("../../../sql/queries/dispatch/followers.sql")).await?,
            payload: prepare(include_str!("../../../sql/queries/dispatch/payload.sql")).await?,
            candidates: prepare(include_str!("../../../sql/queries/dispatch/candidates.sql"))
                .await?,
            done_between: prepare(include_str!("../../../sql/queries/dispatch/done_between.sql"))
                .await?,
            endpoint_versions: prepare(include_str!(
                "../../../sql/queries/endpoints/endpoint_versions.sql"
            ))
            .await?,
            endpoints: prepare(include_str!(
                "../../../sql/queries/endpoints/dispatcher_endpoints.sql"
            ))
            .await?,
            settings: prepare(include_str!(
                "../../../sql/queries/settings/dispatcher_settings.sql"
            ))
            .await?,
            event_type_policies: prepare(EVENT_TYPES).await?,
            client,
        })
    }

    /// What is visible in these lanes now and was not in `base`; at most `limit` rows.
    ///
    /// Refused on a standby, where no transaction is listed as running, and in a transaction that has
    /// an id, because a snapshot does not list its own transaction.
    pub async fn tick(
        &self,
        base: &Snapshot,
        lanes: &[Lane],
        limit: usize,
    ) -> Result<Tick, StoreError> {
        let lanes: Vec<i16> = lanes.iter().map(|lane| lane.0).collect();
        let running: Vec<Xid8> = base.in_progress().iter().copied().map(Xid8).collect();
        let most = limit as i64 + 1;
        let rows = self
            .client
            .query(&self.tick, &[&Xid8(base.xmax()), &lanes, &running, &most, &INLINE_BYTES])
            .await
            .map_err(StoreError::to("read the log"))?;
        let (first, messages) =
            rows.split_first().ok_or(StoreError::Unexpected("an empty tick"))?;
        if first.get("is_standby") {
            return Err(StoreError::Standby);
        }
        if first.get("has_own_transaction") {
            return Err(StoreError::OwnTransaction);
        }
        let PgSnapshot(top) = first.get("snapshot");
        if top.xmax() < base.xmax() {
            return Err(StoreError::TransactionIdsWentBack);
        }
        let written = Written {
            upto: first.get::<_, PgLsn>("written").into(),
            flushed: first.get::<_, PgLsn>("flushed").into(),
            has_standbys: first.get("has_standbys"),
            number: highest_number(
                messages.iter().map(|row| MessageId(row.get("id"))),
                limit,
                first.get("last_number"),
            ),
        };
        if messages.len() > limit {
            return Ok(Tick::TooMany { top, written });
        }
        let rows = messages.iter().map(|row| message(row, 7)).collect::<Result<_, _>>()?;
        Ok(Tick::Rows { top, rows, last_number: first.get("last_number"), written })
    }

    /// How many shards there are.
    pub fn shard_count(&self) -> i64 {
        i64::from(self.shard_count)
    }

    /// The sequence numbers that nobody was given.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// One page of a window, in order of id, and what it leaves to the lag.
    pub async fn page(
        &self,
        page: &Page,
    ) -> Result<(Vec<LogMessage>, Vec<(Target, Left)>), StoreError> {
        let targets: Vec<i32> = page.targets.iter().map(|target| target.0).collect();
        let mut rows: Vec<LogMessage> = Vec::new();
        for (after, upto) in self.gaps.pieces(page.after, page.upto) {
            let found = self
                .client
                .query(
                    &self.page,
                    &[
                        &page.lane.0,
                        &after,
                        &upto,
                        &PgSnapshot(page.top.clone()),
                        &PgSnapshot(page.base.clone()),
                        &((page.limit - rows.len()) as i64),
                        &targets,
                        &(page.which == Which::Lag),
                        &INLINE_BYTES,
                        &self.shard_count,
                        &page.spares_expiring,
                    ],
                )
                .await
                .map_err(StoreError::to("read a page of the log"))?;
            for row in &found {
                rows.push(message(row, 0)?);
            }
            if rows.len() >= page.limit {
                break;
            }
        }
        if !rows.is_sorted_by_key(|row| row.id) {
            return Err(StoreError::Unexpected("a page out of order"));
        }
        if page.which == Which::Lag || targets.is_empty() {
            return Ok((rows, Vec::new()));
        }
        let mut left: BTreeMap<Target, Left> = BTreeMap::new();
        for (after, upto) in self.gaps.pieces(page.after, page.reached(&rows)) {
            let found = self
                .client
                .query(
                    &self.page_left,
                    &[
                        &page.lane.0,
                        &after,
                        &upto,
                        &PgSnapshot(page.top.clone()),
                        &PgSnapshot(page.base.clone()),
                        &targets,
                        &self.shard_count,
                        &page.spares_expiring,
                    ],
                )
                .await
                .map_err(StoreError::to("count what a page leaves"))?;
            for row in &found {
                let Timestamptz(Timestamp(oldest)) = row.get("oldest");
                let count = row.get::<_, i64>("left_count").unsigned_abs();
                let known =
                    left.entry(Target(row.get("target"))).or_insert(Left { count: 0, oldest });
                known.count += count;
                known.oldest = known.oldest.min(oldest);
            }
        }
        Ok((rows, left.into_iter().collect()))
    }

    /// Where walks through the windows of these lanes that start at `base` begin and end. Called
    /// after the window's top was taken.
    pub async fn window(
        &self,
        base: &Snapshot,
        lanes: &[Lane],
    ) -> Result<WindowBounds, StoreError> {
        let lanes: Vec<i16> = lanes.iter().map(|lane| lane.0).collect();
        let running: Vec<Xid8> = base.in_progress().iter().copied().map(Xid8).collect();
        let row = self
            .client
            .query_one(&self.window, &[&Xid8(base.xmax()), &running, &lanes])
            .await
            .map_err(StoreError::to("find the bounds of a window"))?;
        let floor: Option<i64> = row.get("floor");
        let straggler: Option<i64> = row.get("straggler_id");
        let after = floor.map_or(0, |sequence_number| (sequence_number << 10) | 1023);
        Ok(WindowBounds {
            after: straggler.map_or(after, |id| after.min(id - 1)),
            end: row.get("last_id"),
        })
    }

    /// Waiting deliveries that are due, at most so many of each endpoint; of an ordering key in its
    /// scope only the first.
    pub async fn deferred_due(
        &self,
        wanted: &[(EndpointId, usize)],
        shards: &[Shard],
        scope: Scope,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let endpoints: Vec<i32> = wanted.iter().map(|(endpoint, _)| endpoint.0).collect();
        let limits: Vec<i64> = wanted.iter().map(|(_, most)| *most as i64).collect();
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let is_global = scope == Scope::Global;
        let rows = self
            .client
            .query(&self.deferred_due, &[&endpoints, &limits, &shards, &INLINE_BYTES, &is_global])
            .await
            .map_err(StoreError::to("read waiting deliveries"))?;
        rows.iter().map(due_delivery).collect()
    }

    /// The next waiting deliveries of ordering keys at endpoints, or anywhere in a global scope: at
    /// most so many of each, in order.
    pub async fn followers(
        &self,
        keys: &[(Arc<str>, EndpointId)],
        most: usize,
        scope: Scope,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let texts: Vec<&str> = keys.iter().map(|(key, _)| &**key).collect();
        let endpoints: Vec<i32> = keys.iter().map(|(_, endpoint)| endpoint.0).collect();
        let is_global = scope == Scope::Global;
        let rows = self
            .client
            .query(
                &self.followers,
                &[&texts, &endpoints, &(most as i64), &INLINE_BYTES, &is_global],
            )
            .await
            .map_err(StoreError::to("read what waits for an ordering key"))?;
        rows.iter().map(due_delivery).collect()
    }

    /// Sees to it that of every ordering key in these shards the first waiting delivery may go. Some keys
    /// at a time.
    pub async fn release_stored_keys(&self, shards: &[Shard]) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/release_stored_keys.sql");
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let failed = StoreError::to("release ordering keys");
        let mut last = Some(String::new());
        while let Some(key) = last {
            let row = self
                .client
                .query_one(sql, &[&shards, &key, &STORED_PAGE])
                .await
                .map_err(&failed)?;
            last = row.get("last");
        }
        Ok(())
    }

    /// What waits in shards that were taken over.
    pub async fn stored(&self, shards: &[Shard]) -> Result<Stored, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/stored_keys.sql");
        let failed = StoreError::to("look for waiting deliveries");
        let numbers: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let mut links = Vec::new();
        let mut last = Some((String::new(), 0_i32));
        while let Some((key, endpoint)) = last {
            let parameters: [&(dyn ToSql + Sync); 4] = [&numbers, &key, &endpoint, &STORED_PAGE];
            let rows = self.client.query(sql, &parameters).await.map_err(&failed)?;
            links.extend(rows.iter().filter(|row| row.get("is_wanted")).map(|row| Link {
                key: row.get::<_, &str>(0).into(),
                endpoint: EndpointId(row.get(1)),
                id: MessageId(row.get(2)),
            }));
            last =
                rows.last().filter(|row| row.get("has_more")).map(|row| (row.get(0), row.get(1)));
        }
        Ok(Stored { links, counts: self.deferred_count(shards).await? })
    }

    /// What waits in each of these shards. A shard at a time, so that what is read between two of
    /// them does not wait for all.
    pub async fn deferred_count(&self, shards: &[Shard]) -> Result<Vec<WaitingCount>, StoreError> {
        let mut counts = Vec::new();
        for shard in shards {
            let rows = self.client.query(&self.deferred_count, &[&shard.0]).await;
            let rows = rows.map_err(StoreError::to("count waiting deliveries"))?;
            counts.extend(rows.iter().map(waiting_count));
        }
        Ok(counts)
    }

    /// The same for some endpoints only.
    pub async fn deferred_count_of(
        &self,
        shards: &[Shard],
        endpoints: &[EndpointId],
    ) -> Result<Vec<WaitingCount>, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/deferred_count_of.sql");
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let endpoints: Vec<i32> = endpoints.iter().map(|endpoint| endpoint.0).collect();
        let rows = self
            .client
            .query(sql, &[&endpoints, &shards])
            .await
            .map_err(StoreError::to("count waiting deliveries"))?;
        Ok(rows.iter().map(waiting_count).collect())
    }

    /// When the next waiting delivery of these endpoints is due that is not due yet.
    pub async fn deferred_after(
        &self,
        endpoints: &[EndpointId],
        shards: &[Shard],
    ) -> Result<Vec<(EndpointId, Timestamp)>, StoreError> {
        let endpoints: Vec<i32> = endpoints.iter().map(|endpoint| endpoint.0).collect();
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let rows = self
            .client
            .query(&self.deferred_after, &[&endpoints, &shards])
            .await
            .map_err(StoreError::to("find the next waiting deliveries"))?;
        Ok(rows.iter().map(|row| (EndpointId(row.get(0)), time(row.get(1)))).collect())
    }

    /// The endpoints that have waiting deliveries, with the time at which the first of each is due.
    pub async fn deferred_next(
        &self,
        shards: &[Shard],
    ) -> Result<Vec<(EndpointId, Timestamp)>, StoreError> {
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let rows = self
            .client
            .query(&self.deferred_next, &[&shards])
            .await
            .map_err(StoreError::to("find waiting deliveries"))?;
        Ok(rows.iter().map(|row| (EndpointId(row.get(0)), time(row.get(1)))).collect())
    }

    /// A page of the waiting deliveries that have expired, behind this place, without what is sent. `in_hand`: not to be
    /// touched.
    pub async fn deferred_expired(
        &self,
        shards: &[Shard],
        most: usize,
        after: ExpiryPlace,
        in_hand: &[(MessageId, Target)],
    ) -> Result<ExpiredPage, StoreError> {
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let (ids, targets): (Vec<i64>, Vec<i32>) =
            in_hand.iter().map(|(id, target)| (id.0, target.0)).unzip();
        let (at, id, target) = (Timestamptz(after.expires_at), after.id.0, after.target.0);
        let parameters: [&(dyn ToSql + Sync); 7] =
            [&shards, &(most as i64), &at, &id, &target, &ids, &targets];
        let rows = self
            .client
            .query(&self.deferred_expired, &parameters)
            .await
            .map_err(StoreError::to("look for what has expired"))?;
        let place = |row: &Row| ExpiryPlace {
            expires_at: time(row.get("expires_at")),
            id: MessageId(row.get("message_id")),
            target: Target(row.get("target")),
        };
        let is_free = |row: &&Row| row.get("is_free");
        Ok(ExpiredPage {
            rows: rows.iter().filter(is_free).map(due_delivery).collect::<Result<_, _>>()?,
            next: rows.iter().map(place).max().filter(|_| rows.len() == most),
        })
    }

    /// The content of one message, whole, metadata included.
    pub async fn content(&self, id: MessageId, target: Target) -> Result<Content, StoreError> {
        let row = self
            .client
            .query_opt(&self.payload, &[&id.0, &target.0])
            .await
            .map_err(StoreError::to("fetch a payload"))?;
        let Some(row) = row else { return Ok(Content::gone()) };
        let json: Option<JsonText> = row.get("payload");
        let body: Option<Vec<u8>> = row.get("body");
        let payload = match (json, body) {
            (Some(JsonText(text)), _) => Payload::Here(text),
            (None, Some(body)) => Payload::Here(body.into()),
            (None, None) => Payload::Gone,
        };
        Ok(Content {
            correlation_id: row.get("correlation_id"),
            event_type: text(row.get("event_type")),
            headers: headers(row.get("headers"))?,
            metadata: headers(row.get("metadata"))?,
            payload,
            content_type: text(row.get("content_type")),
            replay_of: row.get::<_, Option<i64>>("replay_of").map(MessageId),
        })
    }

    /// Messages of a lane that a former owner may have attempted and that are not on record as done.
    pub async fn unfinished(
        &self,
        lane: Lane,
        state: &LaneState,
    ) -> Result<Vec<MessageId>, StoreError> {
        let mut bounds: Option<WindowBounds> = None;
        for position in &state.done {
            let found = self.window(&position.base, &[lane]).await?;
            bounds = Some(bounds.map_or(found, |known| WindowBounds {
                after: known.after.min(found.after),
                end: known.end.max(found.end),
            }));
        }
        let Some(WindowBounds { after, end }) = bounds else { return Ok(Vec::new()) };
        let Some(oldest) = state.done.iter().min_by_key(|position| position.xmin()) else {
            return Ok(Vec::new());
        };
        // Every finished position sees what this one sees: all ids below the oldest xmin.
        let base = Snapshot::new(oldest.xmin(), oldest.xmin(), Vec::new())
            .ok_or(StoreError::Unexpected("an empty snapshot"))?;
        let mut unfinished = Vec::new();
        for (after, end) in self.gaps.pieces(after, end) {
            self.collect_unfinished((lane, state), &base, (after, end), &mut unfinished).await?;
        }
        Ok(unfinished)
    }

    /// Those between two ids.
    async fn collect_unfinished(
        &self,
        (lane, state): (Lane, &LaneState),
        base: &Snapshot,
        (mut after, end): (i64, i64),
        unfinished: &mut Vec<MessageId>,
    ) -> Result<(), StoreError> {
        loop {
            let rows = self
                .client
                .query(
                    &self.candidates,
                    &[
                        &lane.0,
                        &after,
                        &end,
                        &PgSnapshot(base.clone()),
                        &RECOVERY_PAGE,
                        &self.shard_count,
                    ],
                )
                .await
                .map_err(StoreError::to("look for unfinished messages"))?;
            let candidates: Vec<Candidate> = rows.iter().map(candidate).collect();
            let suspects = candidates
                .iter()
                .filter(|row| state.is_taken(*row) && !state.is_finished(*row))
                .map(|row| row.id);
            unfinished.extend(self.without_done(suspects.collect()).await?);
            match candidates.last() {
                Some(last) if rows.len() as i64 == RECOVERY_PAGE => after = last.id.0,
                _ => return Ok(()),
            }
        }
    }

    async fn without_done(&self, ids: Vec<MessageId>) -> Result<Vec<MessageId>, StoreError> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(ids) };
        let rows = self
            .client
            .query(&self.done_between, &[&done::bucket(*first), &done::bucket(*last)])
            .await
            .map_err(StoreError::to("read what is done"))?;
        let mut finished: HashSet<i64> = HashSet::default();
        for row in &rows {
            finished.extend(done::decode(row.get(0), row.get(1)));
        }
        Ok(ids.into_iter().filter(|id| !finished.contains(&id.sequence_number())).collect())
    }

    /// Forgets the plans of all queries; the next run of each makes a new one.
    pub async fn discard_plans(&self) -> Result<(), StoreError> {
        discard_plans(&self.client).await
    }

    /// Every endpoint's version.
    pub async fn endpoint_versions(&self) -> Result<Vec<(EndpointId, i64)>, StoreError> {
        let rows = self
            .client
            .query(&self.endpoint_versions, &[])
            .await
            .map_err(StoreError::to("read the endpoints' versions"))?;
        Ok(rows.iter().map(|row| (EndpointId(row.get(0)), row.get(1))).collect())
    }

    pub async fn endpoints(&self, ids: &[EndpointId]) -> Result<Vec<EndpointRow>, StoreError> {
        let ids: Vec<i32> = ids.iter().map(|id| id.0).collect();
        let rows = self
            .client
            .query(&self.endpoints, &[&ids])
            .await
            .map_err(StoreError::to("read endpoints"))?;
        Ok(rows
            .iter()
            .map(|row| EndpointRow {
                id: EndpointId(row.get("id")),
                name: row.get("name"),
                protocol: row.get("protocol"),
                config: row.get("config"),
                retry_policy: row.get("retry_policy"),
                target_policies: std::iter::zip(
                    row.get::<_, Vec<i32>>("policy_targets").into_iter().map(Target),
                    row.get::<_, Vec<serde_json::Value>>("target_policies"),
                )
                .collect(),
                is_enabled: row.get("enabled"),
                is_paused: row.get("paused"),
                targets: row.get::<_, Vec<i32>>("targets").into_iter().map(Target).collect(),
                version: row.get("version"),
            })
            .collect())
    }

    /// What all dispatchers follow alike.
    pub async fn shared_settings(&self) -> Result<SharedSettings, StoreError> {
        let settings = self
            .client
            .query(&self.settings, &[])
            .await
            .map_err(StoreError::to("read the settings"))?;
        let policies = self
            .client
            .query(&self.event_type_policies, &[])
            .await
            .map_err(StoreError::to("read the event types' policies"))?;
        Ok(SharedSettings {
            settings: settings.iter().map(|row| (row.get(0), row.get(1))).collect(),
            event_type_policies: policies.iter().map(|row| (row.get(0), row.get(1))).collect(),
        })
    }
}

/// The highest message number of a tick. Of more than `limit` messages it has some in no order, and the others come in
/// pages: then it is the newest number of that moment, which is as durable as what was visible.
fn highest_number(
    ids: impl ExactSizeIterator<Item = MessageId>,
    limit: usize,
    last_number: i64,
) -> i64 {
    if ids.len() > limit {
        return last_number;
    }
    ids.map(MessageId::sequence_number).max().unwrap_or_default()
}

/// Forgets the plans of a connection, those inside of functions included.
pub(super) async fn discard_plans(client: &Bounded) -> Result<(), StoreError> {
    client
        .batch_execute(include_str!("../../../sql/queries/dispatch/discard_plans.sql"))
        .await
        .map_err(StoreError::to("discard plans"))
}

/// Columns from `at` on: id, xid, created_at, scheduled_at, expires_at, priority, targets,
/// ordering_key, has_idempotency_key, and the content's.
fn message(row: &Row, at: usize) -> Result<LogMessage, StoreError> {
    let Xid8(xid) = row.get(at + 1);
    Ok(LogMessage {
        id: MessageId(row.get(at)),
        xid,
        targets: targets(row.get(at + 6)),
        terms: Terms {
            created_at: time(row.get(at + 2)),
            scheduled_at: row.get::<_, Option<_>>(at + 3).map(time),
            expires_at: row.get::<_, Option<_>>(at + 4).map(time),
            priority: Priority::new(row.get(at + 5)),
            ordering_key: text(row.get(at + 7)),
            has_idempotency_key: row.get(at + 8),
        },
        content: content(row, at + 9)?,
    })
}

/// The columns of `deferred_due.sql` and `followers.sql`.
fn due_delivery(row: &Row) -> Result<DueDelivery, StoreError> {
    Ok(DueDelivery {
        id: MessageId(row.get(0)),
        target: Target(row.get(1)),
        endpoint: EndpointId(row.get(2)),
        retry_count: row.get::<_, i32>(3) as u32,
        recovery_count: row.get::<_, i32>(4) as u32,
        run_at: time(row.get(5)),
        is_blocked: row.get(6),
        has_many_targets: row.get(7),
        terms: Terms {
            created_at: time(row.get(8)),
            scheduled_at: row.get::<_, Option<_>>(9).map(time),
            expires_at: row.get::<_, Option<_>>(10).map(time),
            priority: Priority::new(row.get(11)),
            ordering_key: text(row.get(12)),
            has_idempotency_key: row.get(13),
        },
        content: content(row, 14)?,
    })
}

/// Columns from `at` on: correlation_id, event_type, headers, payload, body, content_type,
/// payload_bytes, replay_of.
fn content(row: &Row, at: usize) -> Result<Content, StoreError> {
    let json: Option<JsonText> = row.get(at + 3);
    let body: Option<&[u8]> = row.get(at + 4);
    let payload = match (json, body) {
        (Some(JsonText(text)), _) => Payload::Here(text),
        (None, Some(body)) => Payload::Here(Bytes::copy_from_slice(body)),
        (None, None) => {
            let bytes: Option<i32> = row.get(at + 6);
            Payload::Stored { bytes: bytes.unwrap_or(0).unsigned_abs() }
        }
    };
    Ok(Content {
        correlation_id: row.get(at),
        event_type: text(row.get(at + 1)),
        headers: headers(row.get(at + 2))?,
        metadata: None,
        payload,
        content_type: text(row.get(at + 5)),
        replay_of: row.get::<_, Option<i64>>(at + 7).map(MessageId),
    })
}

/// The columns of `deferred_count.sql` and `deferred_count_of.sql`.
fn waiting_count(row: &Row) -> WaitingCount {
    WaitingCount {
        shard: Shard(row.get("shard")),
        target: Target(row.get("target")),
        count: row.get("waiting"),
        oldest: time(row.get("oldest")),
    }
}

fn candidate(row: &Row) -> Candidate {
    let Xid8(xid) = row.get(1);
    Candidate { id: MessageId(row.get(0)), xid, targets: targets(row.get(2)), expires: row.get(3) }
}

fn time(Timestamptz(time): Timestamptz) -> Timestamp {
    time
}

fn targets(TargetArray(targets): TargetArray) -> Targets {
    targets
}

fn text(text: Option<&str>) -> Option<Arc<str>> {
    text.map(Arc::from)
}

fn headers(json: Option<JsonText>) -> Result<Option<Arc<str>>, StoreError> {
    json.map(|JsonText(text)| {
        let text = std::str::from_utf8(&text);
        text.map(Arc::from).map_err(|_| StoreError::Unexpected("headers that are no UTF-8"))
    })
    .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_than_a_tick_takes_in_the_highest_number_is_the_newest() {
        let check = |numbers: &[i64], expected| {
            let ids: Vec<MessageId> = numbers.iter().map(|n| MessageId(n * 1024 + 3)).collect();
            assert_eq!(highest_number(ids.into_iter(), 3, 90), expected, "{numbers:?}");
        };
        check(&[], 0);
        check(&[7, 80, 12], 80);
        check(&[7, 80, 12, 9], 90);
    }
}
