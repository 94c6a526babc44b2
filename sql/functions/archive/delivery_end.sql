-- postrider.delivery_end(message_id, target) → how a delivery ended; no row while it has not
--
-- Internal. Status: completed, failed (a dead letter, or one that has been cleaned up), expired,
-- cancelled, skipped (last_error: why). A delivery that waits has not ended,
-- whatever is on record of it from before. Uses deferred_pkey, dead_letter_failed, ended_message_id,
-- partly_done_message_id, done_run.
create or replace function postrider.delivery_end(p_message_id bigint, p_target integer)
returns table (status text, at timestamptz, retry_count integer, last_error text)
language plpgsql
stable
rows 1
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if exists (
        select
        from postrider.deferred d
        where d.message_id = p_message_id
        and d.target = p_target
    ) then
        return;
    end if;
    return query
    select 'failed', l.failed_at, l.retry_count, l.last_error
    from postrider.dead_letter l
    where l.message_id = p_message_id
    and l.target = p_target
    and l.status <> 'redriven';
    if found then
        return;
    end if;
    return query
    select e.reason, e.at, null::integer, e.note
    from postrider.ended e
    where e.message_id = p_message_id
    and e.target = p_target
    order by e.at desc
    limit 1;
    if found then
        return;
    end if;
    return query
    select 'completed', p.at, null::integer, null::text
    from postrider.partly_done p
    where p.message_id = p_message_id
    and p.targets @> array[p_target]
    limit 1;
    if found then
        return;
    end if;
    return query
    select 'completed', d.at, null::integer, null::text
    from (
        select r.at, r.offsets
        from postrider.done r
        where r.bucket = p_message_id >> 22
        and r.run = (p_message_id >> 16 & 63)::smallint
        union all
        -- Of older versions.
        select r.at, r.offsets
        from postrider.done r
        where r.bucket = p_message_id >> 22
        and r.run is null
    ) d
    where postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    order by d.at desc
    limit 1;
end;
$$;
