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

const FLUSH: &str = include_str!("../../../sql/queries/dispatch/flush.sql");

/// A parameter of the flush: how `postrider.flush` calls it, without its `p_`, and what it gets.
type Column = (&'static str, Box<dyn ToSql + Sync + Send>);

/// The recording connection.
pub struct Ledger {
    id: Uuid,
    client: Bounded,
    flush: Statement,
}

impl Ledger {
    pub async fn open(client: impl Into<Bounded>, id: Uuid) -> Result<Ledger, StoreError> {
        let client: Bounded = client.into();
        let flush = client.once().prepare(FLUSH).await.map_err(StoreError::to("prepare"))?;
        Ok(Ledger { id, client, flush })
    }

    /// Forgets the plans of the flush; the next one makes new ones.
    pub async fn discard_plans(&self) -> Result<(), StoreError> {
        super::log::discard_plans(&self.client).await
    }

    /// Records everything in one transaction, or, when a shard is lost or a row is locked, nothing. What is
    /// about several messages fails when it is too much for the bound of a statement.
    pub async fn flush(&self, owned: &[Owned], results: &Results) -> Result<Recorded, StoreError> {
        let columns = columns(self.id, owned, results);
        let parameters: Vec<&(dyn ToSql + Sync)> =
            columns.iter().map(|(_, value)| value.as_ref() as &(dyn ToSql + Sync)).collect();
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

/// What the flush takes, in the order of its query.
fn columns(id: Uuid, owned: &[Owned], results: &Results) -> Vec<Column> {
    let (shards, epochs) = split(owned);
    let done = done::encode(&results.done);
    let partly: Vec<(MessageId, Target)> = results
        .partly
        .iter()
        .flat_map(|(id, targets)| targets.iter().map(|target| (*id, *target)))
        .collect();
    let mut columns: Vec<Column> = vec![
        ("dispatcher", Box::new(id)),
        ("shards", Box::new(shards)),
        ("epochs", Box::new(epochs)),
        column("done_buckets", &done, |row| row.bucket),
        column("done_offsets", &done, |row| row.offsets.clone()),
        column("partly_ids", &partly, |(id, _)| id.0),
        column("partly_targets", &partly, |(_, target)| target.0),
    ];
    columns.extend(deferred_columns(&results.deferred));
    columns.push(column("settled_ids", &results.settled, |(id, _)| id.0));
    columns.push(column("settled_targets", &results.settled, |(_, target)| target.0));
    columns.extend(attempt_columns(&results.attempts));
    columns.extend(dead_columns(&results.dead));
    columns.extend([
        column("ended_ids", &results.expired, |(id, ..)| id.0),
        column("ended_targets", &results.expired, |(_, target, _)| target.0),
        column("ended_endpoints", &results.expired, |(.., endpoint)| endpoint.0),
        column("ended_reasons", &results.expired, |_| "expired"),
        column("read_ids", &results.read, |(id, _)| id.0),
        column("read_targets", &results.read, |(_, target)| target.0),
        column("keyed_ids", &results.keyed, |id| id.0),
        column("done_runs", &done, |row| row.run),
    ]);
    columns
}

fn deferred_columns(rows: &[Deferred]) -> Vec<Column> {
    vec![
        column("deferred_ids", rows, |row| row.id.0),
        column("deferred_targets", rows, |row| row.target.0),
        column("deferred_endpoints", rows, |row| row.endpoint.0),
        column("deferred_run_at", rows, |row| row.run_at.map(Timestamptz)),
        column("deferred_wait_ms", rows, |row| row.wait_ms),
        column("deferred_retry_counts", rows, |row| row.retry_count as i32),
        column("deferred_recovery_counts", rows, |row| row.recovery_count as i32),
        column("deferred_created_at", rows, |row| Timestamptz(row.created_at)),
        column("deferred_expires_at", rows, |row| row.expires_at.map(Timestamptz)),
        column("deferred_errors", rows, |row| row.error.clone()),
        column("deferred_keys", rows, |row| row.ordering_key.as_deref().map(str::to_owned)),
        column("deferred_blocked", rows, |row| row.is_blocked),
        column("deferred_waited", rows, |row| row.has_waited),
    ]
}

fn attempt_columns(rows: &[FailedAttempt]) -> Vec<Column> {
    vec![
        column("attempt_ids", rows, |row| row.id.0),
        column("attempt_targets", rows, |row| row.target.0),
        column("attempt_endpoints", rows, |row| row.endpoint.0),
        column("attempt_numbers", rows, |row| row.number as i32),
        column("attempt_started_at", rows, |row| Timestamptz(row.started_at)),
        column("attempt_duration_ms", rows, |row| row.duration_ms),
        column("attempt_outcomes", rows, |row| row.outcome),
        column("attempt_statuses", rows, |row| row.status),
        column("attempt_errors", rows, |row| row.error.clone()),
        column("attempt_correlation_ids", rows, |row| row.correlation_id),
        column("attempt_headers", rows, |row| {
            row.response.as_ref().map(|response| response.headers.clone())
        }),
        column("attempt_bodies", rows, |row| {
            row.response.as_ref().map(|response| response.body.to_vec())
        }),
        column("attempt_truncated", rows, |row| {
            row.response.as_ref().map(|response| response.is_truncated)
        }),
    ]
}

fn dead_columns(rows: &[Dead]) -> Vec<Column> {
    vec![
        column("dead_ids", rows, |row| row.id.0),
        column("dead_targets", rows, |row| row.target.0),
        column("dead_endpoints", rows, |row| row.endpoint.0),
        column("dead_causes", rows, |row| row.cause),
        column("dead_retry_counts", rows, |row| row.retry_count as i32),
        column("dead_errors", rows, |row| row.error.clone()),
    ]
}

/// One column of a list of rows.
fn column<R, T>(name: &'static str, rows: &[R], value: impl Fn(&R) -> T) -> Column
where
    Vec<T>: ToSql + Sync + Send + 'static,
{
    (name, Box::new(rows.iter().map(value).collect::<Vec<T>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL sees types only, and most of these are lists of numbers.
    #[test]
    fn each_parameter_is_what_its_name_says() {
        let columns = columns(Uuid::nil(), &[], &Results::default());
        let parameters: Vec<String> = std::iter::zip(1.., &columns)
            .map(|(number, (name, _))| format!("p_{name} => ${number}"))
            .collect();
        let (_, arguments) = FLUSH.split_once("flush(").unwrap();
        let (arguments, _) = arguments.split_once(')').unwrap();
        let asked: Vec<&str> = arguments.split(',').map(str::trim).collect();
        assert_eq!(parameters, asked);
    }
}
