-- postrider.check_room(count, targets)
--
-- Internal. Raises 53400 when so many more deliveries would exceed max_queue_size, or when one of the targets
-- belongs to an endpoint whose own limit is met. Compares two sequences and looks at the endpoints that are
-- full, so its cost does not depend on how much waits; see "Backpressure" in ARCHITECTURE.md. While no dispatcher is at
-- work, nobody knows how much waits for an endpoint, and none is full. Uses endpoints_pkey.
create or replace function postrider.check_room(p_count bigint, p_targets integer[] default '{}')
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    used bigint := coalesce(pg_sequence_last_value('postrider.message_sequence'), 0);
    backlog bigint;
    size_limit bigint;
    full_name text;
begin
    if p_targets = '{}' then
        null;
    -- Mostly there is none. What is not looked at is not locked either.
    elsif exists (select from postrider.full_endpoint f) then
        select e.name
        into full_name
        from postrider.full_endpoint f
        cross join lateral (
            select n.name, n.config
            from postrider.endpoints n
            where n.id = f.endpoint_id
            offset 0
        ) e
        where f.size_limit = (e.config ->> 'max_queue_size')::bigint
        and exists (
            select
            from postrider.subscriptions s
            where s.id = any (p_targets)
            and s.endpoint_id = f.endpoint_id
        )
        order by f.endpoint_id
        limit 1;
        if full_name is not null and exists (select from postrider.acting_dispatchers()) then
            perform postrider.refuse_full_endpoint(full_name, p_count);
        end if;
    end if;
    if used + p_count <= pg_sequence_last_value('postrider.message_gate') then
        return;
    end if;
    -- The gate may be older than the last checkpoint, or a change of the setting.
    if used + p_count <= postrider.update_gate() then
        return;
    end if;
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    backlog := size_limit - (pg_sequence_last_value('postrider.message_gate') - used);
    raise exception
        '[postrider] Queue backpressure: % more on top of about % waiting messages would exceed limit %',
        p_count, greatest(backlog, 0), size_limit
        using errcode = '53400',
            hint = 'Send again when messages have been delivered, or raise the setting max_queue_size.';
end;
$$;
