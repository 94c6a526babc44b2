//! Recording: the only place that writes what became of a delivery.

use postrider_core::hashing::{HashMap, HashSet};
use std::sync::Arc;

use postrider_core::{
    done,
    id::{EndpointId, MessageId, Shard, Target},
    response::Response,
};
use tokio_postgres::{Statement, types::ToSql};
use uuid::Uuid;

use super::{
    StoreError,
    bounded::Bounded,
    lease::{Owned, split},
    wire::Timestamp,
};

/// What one flush records.
#[derive(Debug, Clone, Default)]
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
#[derive(Debug, Clone)]
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
    /// It waited before: its row changes, and is not made anew when somebody has taken it away.
    pub has_waited: bool,
}

impl Deferred {
    /// When its message was sent; of a first attempt that is scheduled for later, until when it waits. The
    /// same rule as in deferred_count.sql.
    pub fn pending_since(&self) -> Timestamp {
        let is_first = self.retry_count == 0 && !self.is_blocked;
        let later = self.run_at.filter(|_| is_first);
        later.map_or(self.created_at, |at| at.max(self.created_at))
    }
}

/// What came of a try to record results.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Shards that are lost. If there are any, nothing was written.
    pub lost: Vec<Shard>,
    /// Waiting deliveries whose rows somebody else has locked. If there are any, nothing was written.
    pub held: HashSet<(MessageId, Target)>,
}

#[derive(Debug, Clone)]
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
#[derive(Debug, Clone)]
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
        self.retain(|id| !lost.contains(&id.lane().shard()));
    }

    /// Whether it is about several messages.
    fn is_divisible(&self) -> bool {
        let mut ids = self.ids();
        ids.next().is_some_and(|first| ids.any(|id| id != first))
    }

    /// The same in two parts, what belongs to one message in one of them; or in one, when it is about one
    /// message only.
    pub fn halves(mut self) -> Vec<Results> {
        if !self.is_divisible() {
            return vec![self];
        }
        let mut ids: Vec<MessageId> = self.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let middle = ids[ids.len() / 2];
        let mut later = self.clone();
        self.retain(|id| id < middle);
        later.retain(|id| id >= middle);
        vec![self, later]
    }

    fn ids(&self) -> impl Iterator<Item = MessageId> {
        let places = self.settled.iter().chain(&self.read).map(|(id, _)| *id);
        self.done
            .iter()
            .chain(&self.keyed)
            .chain(self.partly.keys())
            .copied()
            .chain(places)
            .chain(self.deferred.iter().map(|row| row.id))
            .chain(self.attempts.iter().map(|row| row.id))
            .chain(self.dead.iter().map(|row| row.id))
            .chain(self.expired.iter().map(|(id, ..)| *id))
    }

    /// What the flush takes behind the shards, in its order.
    fn columns(&self) -> Vec<Column> {
        let done = done::encode(&self.done);
        let partly: Vec<(MessageId, Target)> = self
            .partly
            .iter()
            .flat_map(|(id, targets)| targets.iter().map(|target| (*id, *target)))
            .collect();
        let mut columns = vec![
            column(&done, |row| row.bucket),
            column(&done, |row| row.offsets.clone()),
            column(&partly, |(id, _)| id.0),
            column(&partly, |(_, target)| target.0),
        ];
        columns.extend(deferred_columns(&self.deferred));
        columns.push(column(&self.settled, |(id, _)| id.0));
        columns.push(column(&self.settled, |(_, target)| target.0));
        columns.extend(attempt_columns(&self.attempts));
        columns.extend(dead_columns(&self.dead));
        columns.extend([
            column(&self.expired, |(id, ..)| id.0),
            column(&self.expired, |(_, target, _)| target.0),
            column(&self.expired, |(.., endpoint)| endpoint.0),
            column(&self.expired, |_| "expired"),
            column(&self.read, |(id, _)| id.0),
            column(&self.read, |(_, target)| target.0),
            column(&self.keyed, |id| id.0),
            column(&done, |row| row.run),
        ]);
        columns
    }

    fn retain(&mut self, is_kept: impl Fn(MessageId) -> bool) {
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

/// A parameter of the flush.
type Column = Box<dyn ToSql + Sync + Send>;

/// The recording connection.
pub struct Ledger {
    id: Uuid,
    client: Bounded,
    flush: Statement,
}

impl Ledger {
    pub async fn open(client: impl Into<Bounded>, id: Uuid) -> Result<Ledger, StoreError> {
        let client: Bounded = client.into();
        let sql = include_str!("../../../../sql/queries/flush.sql");
        let flush = client.once().prepare(sql).await.map_err(StoreError::to("prepare"))?;
        Ok(Ledger { id, client, flush })
    }

    /// Forgets the plans of the flush; the next one makes new ones.
    pub async fn discard_plans(&self) -> Result<(), StoreError> {
        super::log::discard_plans(&self.client).await
    }

    /// Records everything in one transaction, or, when a shard is lost or a row is locked, nothing. What is
    /// about several messages fails when it is too much for the bound of a statement.
    pub async fn flush(&self, owned: &[Owned], results: &Results) -> Result<Recorded, StoreError> {
        let (shards, epochs) = split(owned);
        let mut parameters: Vec<Column> =
            vec![Box::new(self.id), Box::new(shards), Box::new(epochs)];
        parameters.extend(results.columns());
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect();
        let row = match results.is_divisible() {
            true => self.client.query_divisible(&self.flush, &parameters).await,
            false => self.client.query_one(&self.flush, &parameters).await,
        };
        let row = row.map_err(StoreError::to("record results"))?;
        let ids: Option<Vec<i64>> = row.get("held_ids");
        let targets: Option<Vec<i32>> = row.get("held_targets");
        let held = std::iter::zip(ids.unwrap_or_default(), targets.unwrap_or_default());
        Ok(Recorded {
            lost: row.get::<_, Vec<i16>>("lost").into_iter().map(Shard).collect(),
            held: held.map(|(id, target)| (MessageId(id), Target(target))).collect(),
        })
    }
}

fn deferred_columns(rows: &[Deferred]) -> Vec<Column> {
    vec![
        column(rows, |row| row.id.0),
        column(rows, |row| row.target.0),
        column(rows, |row| row.endpoint.0),
        column(rows, |row| row.run_at),
        column(rows, |row| row.wait_ms),
        column(rows, |row| row.retry_count as i32),
        column(rows, |row| row.recovery_count as i32),
        column(rows, |row| row.created_at),
        column(rows, |row| row.expires_at),
        column(rows, |row| row.error.clone()),
        column(rows, |row| row.ordering_key.as_deref().map(str::to_owned)),
        column(rows, |row| row.is_blocked),
        column(rows, |row| row.has_waited),
    ]
}

fn attempt_columns(rows: &[FailedAttempt]) -> Vec<Column> {
    vec![
        column(rows, |row| row.id.0),
        column(rows, |row| row.target.0),
        column(rows, |row| row.endpoint.0),
        column(rows, |row| row.number as i32),
        column(rows, |row| row.started_at),
        column(rows, |row| row.duration_ms),
        column(rows, |row| row.outcome),
        column(rows, |row| row.status),
        column(rows, |row| row.error.clone()),
        column(rows, |row| row.correlation_id),
        column(rows, |row| row.response.as_ref().map(|response| response.headers.clone())),
        column(rows, |row| row.response.as_ref().map(|response| response.body.to_vec())),
        column(rows, |row| row.response.as_ref().map(|response| response.is_truncated)),
    ]
}

fn dead_columns(rows: &[Dead]) -> Vec<Column> {
    vec![
        column(rows, |row| row.id.0),
        column(rows, |row| row.target.0),
        column(rows, |row| row.endpoint.0),
        column(rows, |row| row.cause),
        column(rows, |row| row.retry_count as i32),
        column(rows, |row| row.error.clone()),
    ]
}

/// One column of a list of rows.
fn column<R, T>(rows: &[R], value: impl Fn(&R) -> T) -> Column
where
    Vec<T>: ToSql + Sync + Send + 'static,
{
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(numbers: std::ops::Range<i64>) -> Results {
        let ids = || numbers.clone().map(MessageId);
        Results {
            done: ids().collect(),
            partly: ids().map(|id| (id, vec![Target(1)])).collect(),
            settled: ids().map(|id| (id, Target(1))).collect(),
            expired: ids().map(|id| (id, Target(1), EndpointId(1))).collect(),
            read: ids().map(|id| (id, Target(1))).collect(),
            keyed: ids().collect(),
            ..Results::default()
        }
    }

    #[test]
    fn halves_are_everything_once_and_each_message_in_one() {
        for count in 1..9 {
            let whole = results(0..count);
            let halves = whole.clone().halves();
            assert_eq!(halves.len(), if count == 1 { 1 } else { 2 });
            assert_eq!(halves.iter().map(Results::len).sum::<usize>(), whole.len());
            let mut ids: Vec<MessageId> =
                halves.iter().flat_map(|half| half.done.clone()).collect();
            ids.sort_unstable();
            assert_eq!(ids, whole.done);
            for half in &halves {
                assert!(half.len() < whole.len() || count == 1);
                assert!(half.settled.iter().all(|(id, _)| half.done.contains(id)));
                assert!(half.partly.keys().all(|id| half.done.contains(id)));
            }
        }
    }
}
