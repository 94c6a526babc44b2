-- postrider.flush(dispatcher, shards, epochs, results…) → the shards that are lost, and the waiting deliveries
-- that somebody else holds
--
-- Internal. Records what became of deliveries: one call, so one message to the server and one
-- transaction that no stopped client can leave open. Writes nothing at all when one of the shards is
-- lost, or a row of postrider.deferred that is to change is locked: the caller drops the one, sets the
-- other aside until later, and calls again. So nobody's open transaction holds up what others wait for.
-- A delivery that waited and whose row is gone was ended by somebody else, and is not made to wait again.
-- Changes rows by their place (ctid) once they are locked: no plan does that by reading the table.
--
--   done      ids of messages by bucket and run (see postrider.done); dispatchers of older versions name no run
--   partly    deliveries of messages of which other deliveries are not finished
--   deferred  deliveries that wait from now on: written, or changed where they waited before (waited);
--             until run_at, or so many milliseconds from now on, or, blocked, for what is before them
--   settled   deliveries that waited and need not any more
--   attempts  attempts that are kept: failed ones, and those whose response is captured
--   dead      deliveries that are over without success: the whole message moves to dead_letter
--   ended     expired deliveries
--   read      cancelled deliveries that were read now
--   keyed     messages with an idempotency key of which a delivery ended
create or replace function postrider.flush(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_done_buckets bigint[],
    p_done_offsets bytea[],
    p_partly_ids bigint[],
    p_partly_targets integer[],
    p_deferred_ids bigint[],
    p_deferred_targets integer[],
    p_deferred_endpoints integer[],
    p_deferred_run_at timestamptz[],
    p_deferred_wait_ms bigint[],
    p_deferred_retry_counts integer[],
    p_deferred_recovery_counts integer[],
    p_deferred_created_at timestamptz[],
    p_deferred_expires_at timestamptz[],
    p_deferred_errors text[],
    p_deferred_keys text[],
    p_deferred_blocked boolean[],
    p_deferred_waited boolean[],
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
    p_attempt_correlation_ids uuid[],
    p_attempt_headers jsonb[],
    p_attempt_bodies bytea[],
    p_attempt_truncated boolean[],
    p_dead_ids bigint[],
    p_dead_targets integer[],
    p_dead_endpoints integer[],
    p_dead_causes text[],
    p_dead_retry_counts integer[],
    p_dead_errors text[],
    p_ended_ids bigint[],
    p_ended_targets integer[],
    p_ended_endpoints integer[],
    p_ended_reasons text[],
    p_read_ids bigint[],
    p_read_targets integer[],
    p_keyed_ids bigint[],
    p_done_runs smallint[] default null)
returns table (lost smallint[], held_ids bigint[], held_targets integer[])
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
as $$
declare
    settled_places tid[];
    gone_ids bigint[];
    gone_targets integer[];
    waited_places tid[];
    also_held_ids bigint[];
    also_held_targets integer[];
    read_places tid[];
begin
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost <> '{}' then
        return next;
        return;
    end if;

    if cardinality(p_settled_ids) > 0 then
        select
            array_agg(d.ctid),
            array_agg(s.message_id) filter (where d.ctid is null),
            array_agg(s.target) filter (where d.ctid is null),
            array_agg(s.message_id) filter (where h.is_held),
            array_agg(s.target) filter (where h.is_held)
        into settled_places, gone_ids, gone_targets, held_ids, held_targets
        from unnest(p_settled_ids, p_settled_targets) s (message_id, target)
        left join lateral (
            select w.ctid
            from postrider.deferred w
            where w.message_id = s.message_id
            and w.target = s.target
            offset 0
            for update skip locked
        ) d on true
        cross join lateral (
            select d.ctid is null and postrider.is_deferred(s.message_id, s.target) as is_held
            offset 0
        ) h;
    end if;
    if true = any (p_deferred_waited) then
        select
            array_agg(d.ctid order by r.number),
            array_agg(r.message_id) filter (where h.is_held),
            array_agg(r.target) filter (where h.is_held)
        into waited_places, also_held_ids, also_held_targets
        from unnest(p_deferred_ids, p_deferred_targets, p_deferred_waited)
            with ordinality r (message_id, target, has_waited, number)
        left join lateral (
            select w.ctid
            from postrider.deferred w
            where r.has_waited
            and w.message_id = r.message_id
            and w.target = r.target
            offset 0
            for update skip locked
        ) d on true
        cross join lateral (
            select
                r.has_waited
                and d.ctid is null
                and postrider.is_deferred(r.message_id, r.target) as is_held
            offset 0
        ) h;
        held_ids := held_ids || also_held_ids;
        held_targets := held_targets || also_held_targets;
    end if;
    if held_ids is not null then
        return next;
        return;
    end if;

    if cardinality(p_done_buckets) > 0 then
        insert into postrider.done (bucket, run, at, offsets)
        select d.bucket, d.run, clock_timestamp(), d.offsets
        from unnest(p_done_buckets, p_done_offsets, p_done_runs) d (bucket, offsets, run);
    end if;

    if cardinality(p_partly_ids) > 0 then
        insert into postrider.partly_done (message_id, at, targets)
        select p.message_id, clock_timestamp(), array_agg(p.target)
        from unnest(p_partly_ids, p_partly_targets) p (message_id, target)
        group by p.message_id;
    end if;

    if cardinality(p_attempt_ids) > 0 then
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error, correlation_id, response_headers, response_body, response_truncated)
        select
            a.message_id, a.target, a.endpoint_id, a.number, a.started_at, a.duration_ms, a.outcome,
            a.status, a.error, a.correlation_id, a.response_headers, a.response_body,
            a.response_truncated
        from unnest(
            p_attempt_ids, p_attempt_targets, p_attempt_endpoints, p_attempt_numbers,
            p_attempt_started_at, p_attempt_duration_ms, p_attempt_outcomes, p_attempt_statuses,
            p_attempt_errors, p_attempt_correlation_ids, p_attempt_headers, p_attempt_bodies,
            p_attempt_truncated)
            a (message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error, correlation_id, response_headers, response_body, response_truncated);
    end if;

    if cardinality(p_dead_ids) > 0 then
        -- What waited and is gone was ended by somebody else, who may have said how.
        perform postrider.bury(
            array_agg(d.message_id order by d.number), array_agg(d.target order by d.number),
            array_agg(d.endpoint_id order by d.number), array_agg(d.cause order by d.number),
            array_agg(d.retry_count order by d.number), array_agg(d.last_error order by d.number))
        from unnest(
            p_dead_ids, p_dead_targets, p_dead_endpoints, p_dead_causes, p_dead_retry_counts,
            p_dead_errors)
            with ordinality
            d (message_id, target, endpoint_id, cause, retry_count, last_error, number)
        where (d.message_id, d.target) not in (
            select g.message_id, g.target
            from unnest(gone_ids, gone_targets) g (message_id, target)
        );
    end if;

    if cardinality(p_ended_ids) > 0 then
        -- What waited and is gone was ended by somebody else, as expired, cancelled or skipped.
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select e.message_id, e.target, e.endpoint_id, e.reason
        from unnest(p_ended_ids, p_ended_targets, p_ended_endpoints, p_ended_reasons)
            e (message_id, target, endpoint_id, reason)
        where (e.message_id, e.target) not in (
            select g.message_id, g.target
            from unnest(gone_ids, gone_targets) g (message_id, target)
        );
    end if;

    if cardinality(p_settled_ids) > 0 then
        delete from postrider.deferred d
        where d.ctid = any (settled_places);
    end if;

    if true = any (p_deferred_waited) then
        update postrider.deferred w
        set run_at = case
                when d.is_blocked then coalesce(w.expires_at, 'infinity')
                else least(
                    coalesce(
                        d.run_at, clock_timestamp() + d.wait_ms * interval '1 millisecond'),
                    w.expires_at)
            end,
            retry_count = d.retry_count,
            recovery_count = d.recovery_count,
            last_error = coalesce(d.last_error, w.last_error),
            is_blocked = d.is_blocked
        from unnest(
            waited_places, p_deferred_run_at, p_deferred_wait_ms, p_deferred_retry_counts,
            p_deferred_recovery_counts, p_deferred_errors, p_deferred_blocked)
            d (place, run_at, wait_ms, retry_count, recovery_count, last_error, is_blocked)
        where w.ctid = d.place;
    end if;

    if cardinality(p_deferred_ids) > 0 then
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error, ordering_key, is_blocked)
        select
            d.message_id, d.target,
            -- 0: the dispatcher had not heard of the endpoint yet.
            case
                when d.endpoint_id <> 0 then d.endpoint_id
                else coalesce(
                    (select s.endpoint_id from postrider.subscriptions s where s.id = d.target), 0)
            end,
            (d.message_id & 1023) >> 4,
            case
                when d.is_blocked then coalesce(d.expires_at, 'infinity')
                else least(
                    coalesce(
                        d.run_at, clock_timestamp() + d.wait_ms * interval '1 millisecond'),
                    d.expires_at)
            end,
            d.retry_count, d.recovery_count, d.created_at, d.expires_at, d.last_error,
            d.ordering_key, d.is_blocked
        from unnest(
            p_deferred_ids, p_deferred_targets, p_deferred_endpoints, p_deferred_run_at,
            p_deferred_wait_ms, p_deferred_retry_counts, p_deferred_recovery_counts,
            p_deferred_created_at, p_deferred_expires_at, p_deferred_errors, p_deferred_keys,
            p_deferred_blocked, p_deferred_waited)
            d (message_id, target, endpoint_id, run_at, wait_ms, retry_count, recovery_count,
            created_at, expires_at, last_error, ordering_key, is_blocked, has_waited)
        where not d.has_waited
        on conflict (message_id, target) do update
        set run_at = excluded.run_at,
            retry_count = excluded.retry_count,
            recovery_count = excluded.recovery_count,
            last_error = coalesce(excluded.last_error, deferred.last_error),
            is_blocked = excluded.is_blocked;
    end if;

    if cardinality(p_read_ids) > 0 then
        select array_agg(c.ctid)
        into read_places
        from unnest(p_read_ids, p_read_targets) r (message_id, target)
        cross join lateral (
            select o.ctid
            from postrider.cancellation o
            where o.message_id = r.message_id
            and o.target = r.target
            offset 0
            for update skip locked
        ) c;
        delete from postrider.cancellation c
        where c.ctid = any (read_places);
    end if;

    if cardinality(p_keyed_ids) > 0 then
        perform postrider.free_idempotency_keys(p_keyed_ids);
    end if;
    return next;
end;
$$;
