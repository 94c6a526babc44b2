-- postrider.tick_content(base, top, stragglers, look) → what a tick between two snapshots holds
--
-- Internal: append_tick. How many messages, no more than one more than `look`, and their bounds. Transactions that
-- are in progress are never looked at, however much they wrote: the transactions that have ended since the
-- tick before lie in the gaps between those. Uses message_xid_id.
create or replace function postrider.tick_content(
    p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer)
returns table (
    message_count integer,
    first_id bigint,
    last_id bigint,
    from_at timestamptz,
    to_at timestamptz)
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
    with gaps as (
        select
            g.first_xid,
            lead(g.last_xid, 1, pg_snapshot_xmax(p_top)) over (order by g.first_xid) as end_xid
        from (
            select p_base_end as first_xid, null::xid8 as last_xid
            union all
            select (x.xid::text::bigint + 1)::text::xid8, x.xid
            from pg_snapshot_xip(p_top) x (xid)
            where x.xid >= p_base_end
        ) g
    )
    select
        count(*)::integer as message_count,
        min(r.id) filter (where not r.is_late) as first_id,
        max(r.id) as last_id,
        min(r.created_at) as from_at,
        max(r.created_at) as to_at
    from (
        (
            select m.id, m.created_at, false as is_late
            from gaps g
            cross join lateral (
                select n.id, n.created_at
                from postrider.message n
                where n.xid >= g.first_xid
                and n.xid < g.end_xid
                limit p_look + 1
            ) m
        )
        union all
        (
            select m.id, m.created_at, true
            from unnest(p_stragglers) x (xid)
            cross join lateral (
                select n.id, n.created_at
                from postrider.message n
                where n.xid = x.xid
                limit p_look + 1
            ) m
        )
        limit p_look + 1
    ) r;
$$;
