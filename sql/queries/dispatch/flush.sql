-- See postrider.flush. By name: most of these are lists of numbers, which PostgreSQL would not tell apart.
select *
from postrider.flush(
    p_dispatcher => $1, p_shards => $2, p_epochs => $3, p_done_buckets => $4, p_done_offsets => $5,
    p_partly_ids => $6, p_partly_targets => $7, p_deferred_ids => $8, p_deferred_targets => $9,
    p_deferred_endpoints => $10, p_deferred_run_at => $11, p_deferred_wait_ms => $12,
    p_deferred_retry_counts => $13, p_deferred_recovery_counts => $14, p_deferred_created_at => $15,
    p_deferred_expires_at => $16, p_deferred_errors => $17, p_deferred_keys => $18,
    p_deferred_blocked => $19, p_deferred_waited => $20, p_settled_ids => $21,
    p_settled_targets => $22, p_attempt_ids => $23, p_attempt_targets => $24,
    p_attempt_endpoints => $25, p_attempt_numbers => $26, p_attempt_started_at => $27,
    p_attempt_duration_ms => $28, p_attempt_outcomes => $29, p_attempt_statuses => $30,
    p_attempt_errors => $31, p_attempt_correlation_ids => $32, p_attempt_headers => $33,
    p_attempt_bodies => $34, p_attempt_truncated => $35, p_dead_ids => $36, p_dead_targets => $37,
    p_dead_endpoints => $38, p_dead_causes => $39, p_dead_retry_counts => $40, p_dead_errors => $41,
    p_ended_ids => $42, p_ended_targets => $43, p_ended_endpoints => $44, p_ended_reasons => $45,
    p_read_ids => $46, p_read_targets => $47, p_keyed_ids => $48, p_done_runs => $49
);
