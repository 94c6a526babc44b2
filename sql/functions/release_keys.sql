-- postrider.release_keys(ordering_keys) → how many waiting deliveries may go now
--
-- Internal. Of each of these keys, at each endpoint: when the first of all that wait there is blocked,
-- nothing blocks it any more, and it is due now, or when it is scheduled. Uses deferred_key.
create or replace function postrider.release_keys(p_ordering_keys text[])
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    released integer;
begin
    with first as (
        select distinct on (w.ordering_key, w.endpoint_id) w.message_id, w.target, w.is_blocked
        from postrider.deferred w
        where w.ordering_key = any (p_ordering_keys)
        order by w.ordering_key, w.endpoint_id, w.message_id
    ), held as (
        -- One that is locked is being released by somebody else, who may take any time.
        select d.message_id, d.target
        from first f
        join postrider.deferred d on d.message_id = f.message_id and d.target = f.target
        where f.is_blocked
        and d.is_blocked
        for update of d skip locked
    )
    update postrider.deferred d
    set is_blocked = false,
        run_at = least(d.expires_at, greatest(clock_timestamp(), (
            select m.scheduled_at
            from postrider.message m
            where m.id = d.message_id
        )))
    from held h
    where d.message_id = h.message_id
    and d.target = h.target;
    get diagnostics released = row_count;
    return released;
end;
$$;
