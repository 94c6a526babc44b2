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
    held tid[];
begin
    with recursive first as (
        select k.ordering_key, f.endpoint_id, f.message_id, f.target, f.is_blocked
        from unnest(p_ordering_keys) k (ordering_key)
        cross join lateral (
            select w.endpoint_id, w.message_id, w.target, w.is_blocked
            from postrider.deferred w
            where w.ordering_key is not null
            and w.ordering_key >= k.ordering_key
            and w.ordering_key <= k.ordering_key
            order by w.ordering_key, w.endpoint_id, w.message_id
            limit 1
        ) f
        union all
        select b.ordering_key, f.endpoint_id, f.message_id, f.target, f.is_blocked
        from first b
        cross join lateral (
            select w.endpoint_id, w.message_id, w.target, w.is_blocked
            from postrider.deferred w
            where w.ordering_key is not null
            and (w.ordering_key, w.endpoint_id) > (b.ordering_key, b.endpoint_id)
            and w.ordering_key <= b.ordering_key
            order by w.ordering_key, w.endpoint_id, w.message_id
            limit 1
        ) f
    )
    select array_agg(d.ctid)
    into held
    from first f
    cross join lateral (
        -- One that is locked is being released by somebody else, who may take any time.
        select w.ctid
        from postrider.deferred w
        where f.is_blocked
        and w.message_id = f.message_id
        and w.target = f.target
        and w.is_blocked
        offset 0
        for update skip locked
    ) d;
    update postrider.deferred d
    set is_blocked = false,
        run_at = least(d.expires_at, greatest(clock_timestamp(), (
            select m.scheduled_at
            from postrider.message m
            where m.id >= d.message_id
            and m.id <= d.message_id
            order by m.id
            limit 1
        )))
    where d.ctid = any (held);
    return coalesce(cardinality(held), 0);
end;
$$;
