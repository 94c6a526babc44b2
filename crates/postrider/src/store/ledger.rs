//! Recording: the only place that writes what became of a delivery.

use postrider_core::{
    done,
    id::{MessageId, Shard, Target},
    lease::Owned,
    results::{Dead, Deferred, FailedAttempt, Recorded, Results},
};
use tokio_postgres::{Statement, types::ToSql};
use uuid::Uuid;

use super::{StoreError, bounded::Bounded, lease::split, wire::Timestamptz};

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
        let sql = include_str!("../../../../sql/queries/dispatch/flush.sql");
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
        parameters.extend(columns(results));
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

/// What the flush takes behind the shards, in its order.
fn columns(results: &Results) -> Vec<Column> {
    let done = done::encode(&results.done);
    let partly: Vec<(MessageId, Target)> = results
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
    columns.extend(deferred_columns(&results.deferred));
    columns.push(column(&results.settled, |(id, _)| id.0));
    columns.push(column(&results.settled, |(_, target)| target.0));
    columns.extend(attempt_columns(&results.attempts));
    columns.extend(dead_columns(&results.dead));
    columns.extend([
        column(&results.expired, |(id, ..)| id.0),
        column(&results.expired, |(_, target, _)| target.0),
        column(&results.expired, |(.., endpoint)| endpoint.0),
        column(&results.expired, |_| "expired"),
        column(&results.read, |(id, _)| id.0),
        column(&results.read, |(_, target)| target.0),
        column(&results.keyed, |id| id.0),
        column(&done, |row| row.run),
    ]);
    columns
}

fn deferred_columns(rows: &[Deferred]) -> Vec<Column> {
    vec![
        column(rows, |row| row.id.0),
        column(rows, |row| row.target.0),
        column(rows, |row| row.endpoint.0),
        column(rows, |row| row.run_at.map(Timestamptz)),
        column(rows, |row| row.wait_ms),
        column(rows, |row| row.retry_count as i32),
        column(rows, |row| row.recovery_count as i32),
        column(rows, |row| Timestamptz(row.created_at)),
        column(rows, |row| row.expires_at.map(Timestamptz)),
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
        column(rows, |row| Timestamptz(row.started_at)),
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
