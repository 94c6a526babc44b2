-- postrider.flush(dispatcher, shards, epochs, results…) → the shards that are lost
--
-- Internal. Records what became of deliveries: one call, so one message to the server and one
-- transaction that no stopped client can leave open. Writes nothing at all when one of the shards is
-- lost: the caller drops that shard's results and calls again.
--
--   done      ids of messages by bucket (see postrider.done)
--   deferred  deliveries that wait from now on: written, or changed where they waited before
--   settled   deliveries that waited and need not any more
--   attempts  failed attempts
--   dead      deliveries that are over without success: the whole message moves to dead_letter
--   ended     expired deliveries
create or replace function postrider.flush(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_done_buckets bigint[],
    p_done_offsets bytea[],
    p_deferred_ids bigint[],
    p_deferred_targets integer[],
    p_deferred_endpoints integer[],
    p_deferred_wait_ms bigint[],
    p_deferred_retry_counts integer[],
    p_deferred_recovery_counts integer[],
    p_deferred_created_at timestamptz[],
    p_deferred_expires_at timestamptz[],
    p_deferred_errors text[],
    p_settled_ids bigint[],
    p_settled_targets integer[],
    p_attempt_ids bigint[],
    p_attempt_targets integer[],
    p_attempt_endpoints integer[],
    p_attempt_numbers integer[],
    p_attempt_started_at timestamptz[],
    p_attempt_duration_ms integer[],
    p_attempt_outcomes text[],
    p_attempt_statuses integer[],
    p_attempt_errors text[],
    p_dead_ids bigint[],
    p_dead_targets integer[],
    p_dead_endpoints integer[],
    p_dead_causes text[],
    p_dead_retry_counts integer[],
    p_dead_errors text[],
    p_ended_ids bigint[],
    p_ended_targets integer[],
    p_ended_endpoints integer[],
    p_ended_reasons text[])
returns smallint[]
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost <> '{}' then
        return lost;
    end if;

    if cardinality(p_done_buckets) > 0 then
        insert into postrider.done (bucket, at, offsets)
        select d.bucket, clock_timestamp(), d.offsets
        from unnest(p_done_buckets, p_done_offsets) d (bucket, offsets);
    end if;

    if cardinality(p_attempt_ids) > 0 then
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error)
        select
            a.message_id, a.target, a.endpoint_id, a.number, a.started_at, a.duration_ms, a.outcome,
            a.status, a.error
        from unnest(
            p_attempt_ids, p_attempt_targets, p_attempt_endpoints, p_attempt_numbers,
            p_attempt_started_at, p_attempt_duration_ms, p_attempt_outcomes, p_attempt_statuses,
            p_attempt_errors)
            a (message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error);
    end if;

    if cardinality(p_dead_ids) > 0 then
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
            error_history, message_created_at, correlation_id, ordering_key, headers, metadata,
            payload)
        select
            d.message_id, d.target, d.endpoint_id, coalesce(e.name, '(dropped)'), d.cause,
            d.retry_count, d.last_error, coalesce(h.history, '[]'), m.created_at, m.correlation_id,
            m.ordering_key, m.headers, m.metadata, m.payload
        from unnest(
            p_dead_ids, p_dead_targets, p_dead_endpoints, p_dead_causes, p_dead_retry_counts,
            p_dead_errors)
            d (message_id, target, endpoint_id, cause, retry_count, last_error)
        cross join lateral postrider.kept_message(d.message_id, d.target) m
        left join postrider.endpoints e on e.id = d.endpoint_id
        left join lateral (
            select jsonb_agg(
                jsonb_build_object(
                    'attempt', a.number, 'at', a.started_at, 'duration_ms', a.duration_ms,
                    'outcome', a.outcome, 'status', a.status, 'error', a.error)
                order by a.started_at, a.number) as history
            from postrider.attempt a
            where a.message_id = d.message_id
            and a.target = d.target
        ) h on true
        on conflict (message_id, target) where status = 'failed' do nothing;
    end if;

    if cardinality(p_ended_ids) > 0 then
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select e.message_id, e.target, e.endpoint_id, e.reason
        from unnest(p_ended_ids, p_ended_targets, p_ended_endpoints, p_ended_reasons)
            e (message_id, target, endpoint_id, reason);
    end if;

    if cardinality(p_settled_ids) > 0 then
        delete from postrider.deferred w
        using unnest(p_settled_ids, p_settled_targets) s (message_id, target)
        where w.message_id = s.message_id
        and w.target = s.target;
    end if;

    if cardinality(p_deferred_ids) > 0 then
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error)
        select
            d.message_id, d.target,
            -- 0: the dispatcher had not heard of the endpoint yet.
            case
                when d.endpoint_id <> 0 then d.endpoint_id
                else coalesce(
                    (select s.endpoint_id from postrider.subscriptions s where s.id = d.target), 0)
            end,
            (d.message_id & 1023) >> 4,
            clock_timestamp() + d.wait_ms * interval '1 millisecond', d.retry_count,
            d.recovery_count, d.created_at, d.expires_at, d.last_error
        from unnest(
            p_deferred_ids, p_deferred_targets, p_deferred_endpoints, p_deferred_wait_ms,
            p_deferred_retry_counts, p_deferred_recovery_counts, p_deferred_created_at,
            p_deferred_expires_at, p_deferred_errors)
            d (message_id, target, endpoint_id, wait_ms, retry_count, recovery_count, created_at,
            expires_at, last_error)
        on conflict (message_id, target) do update
        set run_at = excluded.run_at,
            retry_count = excluded.retry_count,
            recovery_count = excluded.recovery_count,
            last_error = coalesce(excluded.last_error, deferred.last_error);
    end if;
    return '{}';
end;
$$;
