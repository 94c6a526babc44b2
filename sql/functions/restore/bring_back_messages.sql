-- postrider.bring_back_messages(jump) → the same, a batch further
--
-- Internal: bring_back. Waiting deliveries whose time was set by us: for a retry, or because they had no room.
-- What waits for the time that its sender gave it goes on to, and what waits for another one of its ordering key has
-- no time. One that was written just after the clock was set back may go too early. In hand or not: nobody who has
-- it in hand looks at its time. Uses deferred_pkey, message_id.
create or replace function postrider.bring_back_messages(p_jump postrider.clock_jump)
returns postrider.clock_jump
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most constant integer := 1000;
    at constant timestamptz := clock_timestamp();
    looked_at integer;
    ids bigint[];
    targets integer[];
    changed_count integer;
begin
    select
        count(*), coalesce(max(w.message_id), 0),
        coalesce((array_agg(w.target order by w.message_id desc, w.target desc))[1], 0),
        coalesce(array_agg(w.message_id) filter (where w.is_late), '{}'),
        coalesce(array_agg(w.target) filter (where w.is_late), '{}')
    into looked_at, p_jump.message_id, p_jump.target, ids, targets
    from (
        select
            d.message_id, d.target,
            case
                when d.run_at <= at or d.is_blocked or not postrider.is_older(d.xmin, p_jump.xid) then false
                when d.retry_count > 0 then true
                else coalesce(d.run_at > (
                    select m.scheduled_at
                    from postrider.message m
                    where m.id >= d.message_id
                    and m.id <= d.message_id
                    order by m.id
                    limit 1
                ), true)
            end as is_late
        from postrider.deferred d
        where (d.message_id, d.target) > (p_jump.message_id, p_jump.target)
        order by d.message_id, d.target
        limit most
    ) w;
    p_jump.are_messages_over := looked_at < most;
    if ids = '{}' then
        return p_jump;
    end if;
    update postrider.deferred d
    set run_at = d.run_at - p_jump.back
    where d.ctid = any (array(
        select k.ctid
        from unnest(ids, targets) i (message_id, target)
        cross join lateral (
            select w.ctid
            from postrider.deferred w
            where w.message_id = i.message_id
            and w.target = i.target
            and postrider.is_older(w.xmin, p_jump.xid)
            offset 0
            for update skip locked
        ) k
    ));
    get diagnostics changed_count = row_count;
    p_jump.is_incomplete := p_jump.is_incomplete or changed_count < cardinality(ids);
    p_jump.brought_count := p_jump.brought_count + changed_count;
    if changed_count > 0 then
        perform postrider.ring('postrider', 'deferred');
    end if;
    return p_jump;
end;
$$;
