//! Reads what the database has at the end.

use anyhow::Result;

use super::judge::{EndRow, Evidence, ExecutionRow, LossRow, Moment, RunRow};
use crate::prove::writers::connect;

/// Fills in all that stands in the database.
///
/// # Errors
///
/// When it does not answer.
pub async fn read(url: &str, evidence: &mut Evidence) -> Result<()> {
    let client = connect(url).await?;
    let executions = "select e.id, e.parameters ->> 'marker' from postrider.execution e";
    for row in client.query(executions, &[]).await? {
        evidence.executions.push(ExecutionRow { id: row.get(0), marker: row.get(1) });
    }
    let ends =
        "select f.execution_id, f.attempt, f.is_final, f.status, f.reason, f.error is not null,
            (f.result ->> 'process')::integer, (f.result ->> 'run')::bigint,
            (extract(epoch from f.requested_at) * 1000000)::bigint,
            (extract(epoch from f.started_at) * 1000000)::bigint,
            (extract(epoch from f.ended_at) * 1000000)::bigint,
            case
                when f.reason = 'worker_heartbeat_stale' then
                    (extract(epoch from (f.error ->> 'heartbeat_at')::timestamptz) * 1000000)::bigint
            end
        from postrider.execution_end f
        order by f.id";
    for row in client.query(ends, &[]).await? {
        let (process, serial): (Option<i32>, Option<i64>) = (row.get(6), row.get(7));
        evidence.ends.push(EndRow {
            execution_id: row.get(0),
            attempt: row.get(1),
            is_final: row.get(2),
            status: row.get(3),
            reason: row.get(4),
            has_error: row.get(5),
            run: process.zip(serial),
            requested_at: row.get(8),
            started_at: row.get::<_, Option<Moment>>(9),
            ended_at: row.get(10),
            heartbeat_at: row.get(11),
        });
    }
    let runs =
        "select r.process, r.serial, r.execution_id, r.attempt, r.fence, r.started_at, r.ended_at
        from fleet_proof.run r";
    for row in client.query(runs, &[]).await? {
        evidence.runs.push(RunRow {
            key: (row.get(0), row.get(1)),
            execution_id: row.get(2),
            attempt: row.get(3),
            fence: row.get(4),
            started_at: row.get(5),
            ended_at: row.get(6),
        });
    }
    let losses = "select l.details ->> 'worker', (extract(epoch from l.at) * 1000000)::bigint,
            (extract(epoch from (l.details ->> 'heartbeat_at')::timestamptz) * 1000000)::bigint
        from postrider.event_log l
        where l.event = 'worker.lost'";
    for row in client.query(losses, &[]).await? {
        evidence.losses.push(LossRow {
            worker: row.get(0),
            at: row.get(1),
            heartbeat_at: row.get(2),
        });
    }
    let live = "select count(*) from postrider.live_execution";
    evidence.live_count = client.query_one(live, &[]).await?.get(0);
    Ok(())
}
