//! Reading: the log, waiting deliveries, endpoints and settings.
//!
//! Reads only. All queries run on one connection of the dispatcher, whose plans are pinned
//! (`dispatcher_session.sql`).

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use postrider_core::{
    done,
    id::{EndpointId, Lane, MessageId, Shard, Target},
    reader::{LaneState, Page, Row, Which},
    snapshot::{Snapshot, Xid},
};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::{
    StoreError,
    wire::{JsonText, PgSnapshot, Targets, Timestamp, Xid8},
};

/// Payloads whose stored form is larger are fetched when they are sent.
pub const INLINE_BYTES: i32 = 2000;
/// How many ids one query of a recovery looks at.
const RECOVERY_PAGE: i64 = 20_000;

/// A message as read from the log.
#[derive(Debug, Clone)]
pub struct LogMessage {
    pub id: MessageId,
    pub xid: Xid,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub targets: Targets,
    pub content: Content,
}

/// What is sent of a message.
#[derive(Debug, Clone)]
pub struct Content {
    pub correlation_id: Option<Uuid>,
    pub headers: Option<Arc<str>>,
    pub payload: Payload,
}

#[derive(Debug, Clone)]
pub enum Payload {
    Here(Bytes),
    /// To be fetched; so many bytes long.
    Stored {
        bytes: u32,
    },
    /// Neither the log nor a dead letter has the message any more.
    Gone,
}

impl Row for LogMessage {
    fn id(&self) -> MessageId {
        self.id
    }
    fn xid(&self) -> Xid {
        self.xid
    }
    fn targets(&self) -> &[Target] {
        self.targets.as_slice()
    }
}

/// A waiting delivery that is due.
#[derive(Debug, Clone)]
pub struct DueDelivery {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub content: Content,
}

/// An endpoint as configured, secrets included.
#[derive(Clone)]
pub struct EndpointRow {
    pub id: EndpointId,
    pub name: String,
    pub protocol: String,
    pub config: serde_json::Value,
    pub retry_policy: Option<serde_json::Value>,
    pub is_enabled: bool,
    pub target: Target,
    pub version: i64,
}

/// What a tick found.
#[derive(Debug)]
pub enum Tick {
    /// All that came since the base, unordered.
    Rows { top: Snapshot, rows: Vec<LogMessage> },
    /// Too many to be taken in at once.
    TooMany { top: Snapshot },
}

/// The bounds of a walk through a window.
#[derive(Debug, Clone, Copy)]
pub struct WindowBounds {
    /// Every message of the window has a higher id.
    pub after: i64,
    /// No message of the window has a higher id.
    pub end: i64,
}

/// The reading connection with its prepared queries.
pub struct Log {
    client: Arc<Client>,
    tick: Statement,
    page: Statement,
    window: Statement,
    deferred_due: Statement,
    deferred_after: Statement,
    deferred_next: Statement,
    payload: Statement,
    candidates: Statement,
    done_between: Statement,
    endpoint_versions: Statement,
    endpoints: Statement,
    settings: Statement,
}

impl Log {
    /// Prepares all queries on a connection with a dispatcher's session settings.
    pub async fn open(client: Arc<Client>) -> Result<Log, StoreError> {
        let prepare = async |sql| client.prepare(sql).await.map_err(StoreError::to("prepare"));
        Ok(Log {
            tick: prepare(include_str!("../../../../sql/queries/tick.sql")).await?,
            page: prepare(include_str!("../../../../sql/queries/page.sql")).await?,
            window: prepare(include_str!("../../../../sql/queries/window.sql")).await?,
            deferred_due: prepare(include_str!("../../../../sql/queries/deferred_due.sql")).await?,
            deferred_after: prepare(include_str!("../../../../sql/queries/deferred_after.sql"))
                .await?,
            deferred_next: prepare(include_str!("../../../../sql/queries/deferred_next.sql"))
                .await?,
            payload: prepare(include_str!("../../../../sql/queries/payload.sql")).await?,
            candidates: prepare(include_str!("../../../../sql/queries/candidates.sql")).await?,
            done_between: prepare(include_str!("../../../../sql/queries/done_between.sql")).await?,
            endpoint_versions: prepare(include_str!(
                "../../../../sql/queries/endpoint_versions.sql"
            ))
            .await?,
            endpoints: prepare(include_str!("../../../../sql/queries/dispatcher_endpoints.sql"))
                .await?,
            settings: prepare(include_str!("../../../../sql/queries/dispatcher_settings.sql"))
                .await?,
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
        let (first, messages) = rows.split_first().ok_or(StoreError::Nonsense("an empty tick"))?;
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
        if messages.len() > limit {
            return Ok(Tick::TooMany { top });
        }
        let rows = messages.iter().map(|row| message(row, 3)).collect::<Result<_, _>>()?;
        Ok(Tick::Rows { top, rows })
    }

    /// One page of a window, in order of id.
    pub async fn page(&self, page: &Page) -> Result<Vec<LogMessage>, StoreError> {
        let targets: Vec<i32> = page.targets.iter().map(|target| target.0).collect();
        let rows = self
            .client
            .query(
                &self.page,
                &[
                    &page.lane.0,
                    &page.after,
                    &page.upto,
                    &PgSnapshot(page.top.clone()),
                    &PgSnapshot(page.base.clone()),
                    &(page.limit as i64),
                    &targets,
                    &(page.which == Which::Lag),
                    &INLINE_BYTES,
                ],
            )
            .await
            .map_err(StoreError::to("read a page of the log"))?;
        rows.iter().map(|row| message(row, 0)).collect()
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

    /// Waiting deliveries that are due, at most so many of each endpoint.
    pub async fn deferred_due(
        &self,
        wanted: &[(EndpointId, usize)],
        shards: &[Shard],
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let endpoints: Vec<i32> = wanted.iter().map(|(endpoint, _)| endpoint.0).collect();
        let limits: Vec<i64> = wanted.iter().map(|(_, most)| *most as i64).collect();
        let shards: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let rows = self
            .client
            .query(&self.deferred_due, &[&endpoints, &limits, &shards, &INLINE_BYTES])
            .await
            .map_err(StoreError::to("read waiting deliveries"))?;
        rows.iter()
            .map(|row| {
                let is_gone: bool = row.get("is_gone");
                let content = content(row, 8)?;
                Ok(DueDelivery {
                    id: MessageId(row.get(0)),
                    target: Target(row.get(1)),
                    endpoint: EndpointId(row.get(2)),
                    retry_count: row.get::<_, i32>(3) as u32,
                    recovery_count: row.get::<_, i32>(4) as u32,
                    created_at: row.get(6),
                    expires_at: row.get(7),
                    // The log's row is gone; the dead letter that was redriven has a copy.
                    content: if is_gone {
                        Content { payload: Payload::Stored { bytes: 0 }, ..content }
                    } else {
                        content
                    },
                })
            })
            .collect()
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
        Ok(rows.iter().map(|row| (EndpointId(row.get(0)), row.get(1))).collect())
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
        Ok(rows.iter().map(|row| (EndpointId(row.get(0)), row.get(1))).collect())
    }

    /// The content of one message, whole.
    pub async fn content(&self, id: MessageId, target: Target) -> Result<Content, StoreError> {
        let row = self
            .client
            .query_opt(&self.payload, &[&id.0, &target.0])
            .await
            .map_err(StoreError::to("fetch a payload"))?;
        let Some(row) = row else {
            return Ok(Content { correlation_id: None, headers: None, payload: Payload::Gone });
        };
        let JsonText(payload) = row.get("payload");
        Ok(Content {
            correlation_id: row.get("correlation_id"),
            headers: headers(row.get("headers"))?,
            payload: Payload::Here(payload),
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
        let Some(WindowBounds { mut after, end }) = bounds else { return Ok(Vec::new()) };
        let Some(oldest) = state.done.iter().min_by_key(|position| position.xmin()) else {
            return Ok(Vec::new());
        };
        // Every finished position sees what this one sees: all ids below the oldest xmin.
        let base = Snapshot::new(oldest.xmin(), oldest.xmin(), Vec::new())
            .ok_or(StoreError::Nonsense("an empty snapshot"))?;
        let mut unfinished = Vec::new();
        loop {
            let rows = self
                .client
                .query(
                    &self.candidates,
                    &[&lane.0, &after, &end, &PgSnapshot(base.clone()), &RECOVERY_PAGE],
                )
                .await
                .map_err(StoreError::to("look for unfinished messages"))?;
            let candidates: Vec<LogMessage> = rows.iter().map(candidate).collect();
            let suspects = candidates
                .iter()
                .filter(|row| state.is_taken(*row) && !state.is_finished(*row))
                .map(|row| row.id);
            unfinished.extend(self.without_done(suspects.collect()).await?);
            match candidates.last() {
                Some(last) if rows.len() as i64 == RECOVERY_PAGE => after = last.id.0,
                _ => return Ok(unfinished),
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
        let mut finished: HashSet<i64> = HashSet::new();
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
                is_enabled: row.get("enabled"),
                target: Target(row.get("direct_subscription_id")),
                version: row.get("version"),
            })
            .collect())
    }

    pub async fn settings(&self) -> Result<Vec<(String, String)>, StoreError> {
        let rows = self
            .client
            .query(&self.settings, &[])
            .await
            .map_err(StoreError::to("read the settings"))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// Forgets the plans of a connection, those inside of functions included.
pub(super) async fn discard_plans(client: &Client) -> Result<(), StoreError> {
    client
        .batch_execute(include_str!("../../../../sql/queries/discard_plans.sql"))
        .await
        .map_err(StoreError::to("discard plans"))
}

/// Columns from `at` on: id, xid, created_at, expires_at, correlation_id, targets, headers, payload,
/// payload_bytes.
fn message(row: &tokio_postgres::Row, at: usize) -> Result<LogMessage, StoreError> {
    let Xid8(xid) = row.get(at + 1);
    let payload: Option<JsonText> = row.get(at + 7);
    Ok(LogMessage {
        id: MessageId(row.get(at)),
        xid,
        created_at: row.get(at + 2),
        expires_at: row.get(at + 3),
        targets: row.get(at + 5),
        content: Content {
            correlation_id: row.get(at + 4),
            headers: headers(row.get(at + 6))?,
            payload: payload_of(payload, row.get(at + 8)),
        },
    })
}

/// Columns from `at` on: correlation_id, headers, payload, payload_bytes.
fn content(row: &tokio_postgres::Row, at: usize) -> Result<Content, StoreError> {
    Ok(Content {
        correlation_id: row.get(at),
        headers: headers(row.get(at + 1))?,
        payload: payload_of(row.get(at + 2), row.get(at + 3)),
    })
}

fn candidate(row: &tokio_postgres::Row) -> LogMessage {
    let Xid8(xid) = row.get(1);
    LogMessage {
        id: MessageId(row.get(0)),
        xid,
        created_at: Timestamp(0),
        expires_at: None,
        targets: row.get(2),
        content: Content { correlation_id: None, headers: None, payload: Payload::Gone },
    }
}

fn payload_of(payload: Option<JsonText>, bytes: Option<i32>) -> Payload {
    match payload {
        Some(JsonText(text)) => Payload::Here(text),
        None => Payload::Stored { bytes: bytes.unwrap_or(0).unsigned_abs() },
    }
}

fn headers(json: Option<JsonText>) -> Result<Option<Arc<str>>, StoreError> {
    json.map(|JsonText(text)| {
        std::str::from_utf8(&text).map(Arc::from).map_err(|_| StoreError::Nonsense("a header"))
    })
    .transpose()
}
