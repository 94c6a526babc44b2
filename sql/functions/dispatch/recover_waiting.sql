-- postrider.recover_waiting(dispatcher, shards, epochs, message_ids, targets, retry_counts) → how many were
-- recovered, and which of them somebody else holds
--
-- Internal. Waiting deliveries that a former owner had in hand: due now, one retry used up, and the attempt
-- that may have been made in the history. Those behind another one of their ordering key, at their endpoint
-- or, as ordering_scope says, at any, were not attempted. One that is locked is passed over, for the caller to come back to. It is claimed until
-- then, so that the caller's successor does, too. Writes nothing when a
-- shard is lost, and names all. Uses
-- deferred_pkey, deferred_key, deferred_key_everywhere, message_id.
create or replace function postrider.recover_waiting(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_message_ids bigint[],
    p_targets integer[],
    p_retry_counts integer[])
returns table (
    recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
as $$
declare
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    places tid[];
begin
    recovered := 0;
    held_ids := '{}';
    held_targets := '{}';
    held_retry_counts := '{}';
    if p_message_ids = '{}' then
        return next;
        return;
    end if;
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        held_ids := p_message_ids;
        held_targets := p_targets;
        held_retry_counts := p_retry_counts;
        return next;
        return;
    end if;
    select
        array_agg(d.ctid),
        coalesce(array_agg(c.message_id) filter (where d.ctid is null), '{}'),
        coalesce(array_agg(c.target) filter (where d.ctid is null), '{}'),
        coalesce(array_agg(c.retry_count) filter (where d.ctid is null), '{}')
    into places, held_ids, held_targets, held_retry_counts
    from unnest(p_message_ids, p_targets, p_retry_counts) c (message_id, target, retry_count)
    cross join lateral (
        select w.message_id
        from postrider.deferred w
        where w.message_id = c.message_id
        and w.target = c.target
        and w.retry_count = c.retry_count
        and w.shard = any (p_shards)
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key is not null
            and (b.ordering_key, b.endpoint_id, b.message_id) >= (w.ordering_key, w.endpoint_id, 0)
            and (b.ordering_key, b.endpoint_id, b.message_id)
                < (w.ordering_key, w.endpoint_id, w.message_id)
            offset 0
        )
        and not (
            is_global
            and exists (
                select
                from postrider.deferred b
                where b.ordering_key || '' is not null
                and (b.ordering_key || '', b.message_id) >= (w.ordering_key, 0)
                and (b.ordering_key || '', b.message_id) < (w.ordering_key, w.message_id)
                offset 0
            )
        )
        offset 0
    ) k
    left join lateral (
        select w.ctid
        from postrider.deferred w
        where w.message_id = c.message_id
        and w.target = c.target
        and w.retry_count = c.retry_count
        offset 0
        for update skip locked
    ) d on true;
    if held_ids <> '{}' then
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        values (
            postrider.current_slot(), p_dispatcher, held_ids, held_targets, held_retry_counts);
    end if;
    with put_back as (
        update postrider.deferred d
        set run_at = clock_timestamp(),
            retry_count = d.retry_count + 1,
            recovery_count = d.recovery_count + 1,
            is_blocked = false,
            last_error = '[RETRYABLE] Recovered from stale processing state'
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    ), noted as (
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
            correlation_id)
        select
            p.message_id, p.target, p.endpoint_id, p.retry_count, clock_timestamp(), 0, 'unknown',
            'Recovered from stale processing state', m.correlation_id
        from put_back p
        left join lateral (
            select k.correlation_id
            from postrider.message k
            where k.id >= p.message_id
            and k.id <= p.message_id
            order by k.id
            limit 1
        ) m on true
    )
    select count(*) into recovered from put_back p;
    return next;
end;
$$;
