//! Recording: the only place that writes what became of a delivery.

use std::{collections::HashMap, sync::Arc};

use postrider_core::{
    done,
    id::{EndpointId, MessageId, Shard, Target},
    response::Response,
};
use tokio_postgres::{Client, Statement, types::ToSql};
use uuid::Uuid;

use super::{
    StoreError,
    lease::{Owned, split},
    wire::Timestamp,
};

/// What one flush records.
#[derive(Debug, Default)]
pub struct Results {
    pub done: Vec<MessageId>,
    /// Deliveries of messages that are not done yet.
    pub partly: HashMap<MessageId, Vec<Target>>,
    pub deferred: Vec<Deferred>,
    /// Deliveries that waited and need not any more.
    pub settled: Vec<(MessageId, Target)>,
    pub attempts: Vec<FailedAttempt>,
    pub dead: Vec<Dead>,
    pub expired: Vec<(MessageId, Target, EndpointId)>,
    /// Deliveries that were cancelled, which is on record, and are read now.
    pub read: Vec<(MessageId, Target)>,
    /// Messages with an idempotency key of which a delivery ended.
    pub keyed: Vec<MessageId>,
}

/// A delivery that waits from now on.
#[derive(Debug)]
pub struct Deferred {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    /// Until when it waits; `None`: `wait_ms` from when it is recorded.
    pub run_at: Option<Timestamp>,
    pub wait_ms: i64,
    pub retry_count: u32,
    pub recovery_count: u32,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub error: Option<String>,
    pub ordering_key: Option<Arc<str>>,
    /// It waits for another one of its ordering key, not for a time.
    pub is_blocked: bool,
}

#[derive(Debug)]
pub struct FailedAttempt {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    /// 1 for the first.
    pub number: u32,
    pub started_at: Timestamp,
    pub duration_ms: i32,
    pub outcome: &'static str,
    pub status: Option<i32>,
    pub error: Option<String>,
    pub correlation_id: Option<Uuid>,
    pub response: Option<Response>,
}

/// A delivery that is over without success.
#[derive(Debug)]
pub struct Dead {
    pub id: MessageId,
    pub target: Target,
    pub endpoint: EndpointId,
    pub cause: &'static str,
    pub retry_count: u32,
    pub error: Option<String>,
}

impl Results {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows it is about.
    pub fn len(&self) -> usize {
        self.done.len()
            + self.partly.len()
            + self.read.len()
            + self.keyed.len()
            + self.deferred.len()
            + self.settled.len()
            + self.attempts.len()
            + self.dead.len()
            + self.expired.len()
    }

    /// Drops what belongs to shards that are lost: their new owner decides.
    pub fn forget(&mut self, lost: &[Shard]) {
        let is_kept = |id: MessageId| !lost.contains(&id.lane().shard());
        self.done.retain(|id| is_kept(*id));
        self.partly.retain(|id, _| is_kept(*id));
        self.read.retain(|(id, _)| is_kept(*id));
        self.keyed.retain(|id| is_kept(*id));
        self.deferred.retain(|deferred| is_kept(deferred.id));
        self.settled.retain(|(id, _)| is_kept(*id));
        self.attempts.retain(|attempt| is_kept(attempt.id));
        self.dead.retain(|dead| is_kept(dead.id));
        self.expired.retain(|(id, ..)| is_kept(*id));
    }
}

/// The recording connection.
pub struct Ledger {
    id: Uuid,
    client: Arc<Client>,
    flush: Statement,
}

impl Ledger {
    pub async fn open(client: Arc<Client>, id: Uuid) -> Result<Ledger, StoreError> {
        let sql = include_str!("../../../../sql/queries/flush.sql");
        let flush = client.prepare(sql).await.map_err(StoreError::to("prepare"))?;
        Ok(Ledger { id, client, flush })
    }

    /// Forgets the plans of the flush; the next one makes new ones.
    pub async fn discard_plans(&self) -> Result<(), StoreError> {
        super::log::discard_plans(&self.client).await
    }

    /// Records everything in one transaction, or, when a shard is lost, nothing: the lost shards are
    /// returned.
    pub async fn flush(
        &self,
        owned: &[Owned],
        results: &Results,
    ) -> Result<Vec<Shard>, StoreError> {
        let (shards, epochs) = split(owned);
        let (buckets, offsets): (Vec<i64>, Vec<Vec<u8>>) =
            done::encode(&results.done).into_iter().unzip();
        let deferred = &results.deferred;
        let attempts = &results.attempts;
        let dead = &results.dead;
        let expired = &results.expired;
        let reasons = vec!["expired"; expired.len()];
        let partly: Vec<(MessageId, Target)> = results
            .partly
            .iter()
            .flat_map(|(id, targets)| targets.iter().map(|target| (*id, *target)))
            .collect();
        let parameters: [Box<dyn ToSql + Sync + Send>; 47] = [
            Box::new(self.id),
            Box::new(shards),
            Box::new(epochs),
            Box::new(buckets),
            Box::new(offsets),
            column(&partly, |(id, _)| id.0),
            column(&partly, |(_, target)| target.0),
            column(deferred, |row| row.id.0),
            column(deferred, |row| row.target.0),
            column(deferred, |row| row.endpoint.0),
            column(deferred, |row| row.run_at),
            column(deferred, |row| row.wait_ms),
            column(deferred, |row| row.retry_count as i32),
            column(deferred, |row| row.recovery_count as i32),
            column(deferred, |row| row.created_at),
            column(deferred, |row| row.expires_at),
            column(deferred, |row| row.error.clone()),
            column(deferred, |row| row.ordering_key.as_deref().map(str::to_owned)),
            column(deferred, |row| row.is_blocked),
            column(&results.settled, |(id, _)| id.0),
            column(&results.settled, |(_, target)| target.0),
            column(attempts, |row| row.id.0),
            column(attempts, |row| row.target.0),
            column(attempts, |row| row.endpoint.0),
            column(attempts, |row| row.number as i32),
            column(attempts, |row| row.started_at),
            column(attempts, |row| row.duration_ms),
            column(attempts, |row| row.outcome),
            column(attempts, |row| row.status),
            column(attempts, |row| row.error.clone()),
            column(attempts, |row| row.correlation_id),
            column(attempts, |row| row.response.as_ref().map(|response| response.headers.clone())),
            column(attempts, |row| row.response.as_ref().map(|response| response.body.to_vec())),
            column(attempts, |row| row.response.as_ref().map(|response| response.is_truncated)),
            column(dead, |row| row.id.0),
            column(dead, |row| row.target.0),
            column(dead, |row| row.endpoint.0),
            column(dead, |row| row.cause),
            column(dead, |row| row.retry_count as i32),
            column(dead, |row| row.error.clone()),
            column(expired, |(id, ..)| id.0),
            column(expired, |(_, target, _)| target.0),
            column(expired, |(.., endpoint)| endpoint.0),
            Box::new(reasons),
            column(&results.read, |(id, _)| id.0),
            column(&results.read, |(_, target)| target.0),
            column(&results.keyed, |id| id.0),
        ];
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect();
        let row = self
            .client
            .query_one(&self.flush, &parameters)
            .await
            .map_err(StoreError::to("record results"))?;
        Ok(row.get::<_, Vec<i16>>(0).into_iter().map(Shard).collect())
    }
}

/// One column of a list of rows, as a parameter.
fn column<R, T>(rows: &[R], value: impl Fn(&R) -> T) -> Box<dyn ToSql + Sync + Send>
where
    Vec<T>: ToSql + Sync + Send + 'static,
{
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}
