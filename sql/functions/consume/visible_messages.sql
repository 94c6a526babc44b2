-- postrider.visible_messages(xid, after_id, look) → committed messages behind a place, by transaction
--
-- Internal. What comes after this message of this transaction, by transaction id and message id: no more
-- than `look` messages. Transactions that are open are never looked at, however much they wrote, and the
-- caller's own is left out. Uses message_xid_id.
create or replace function postrider.visible_messages(p_xid xid8, p_after_id bigint, p_look integer)
returns table (
    id bigint,
    xid xid8,
    created_at timestamptz,
    event_type text,
    ordering_key text,
    payload jsonb)
language sql
stable
as $$
    select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
    from (
        select
            g.first_xid,
            lead(g.last_xid, 1, pg_snapshot_xmax(pg_current_snapshot())) over (order by g.first_xid)
                as end_xid
        from (
            select p_xid as first_xid, null::xid8 as last_xid
            union all
            select (x.xid::text::bigint + 1)::text::xid8, x.xid
            from pg_snapshot_xip(pg_current_snapshot()) x (xid)
            where x.xid >= p_xid
        ) g
    ) b
    cross join lateral (
        select v.id, v.xid, v.created_at, v.event_type, v.ordering_key, v.payload
        from postrider.message v
        where (v.xid, v.id) > (p_xid, p_after_id)
        and v.xid >= b.first_xid
        and v.xid < b.end_xid
        order by v.xid, v.id
        limit p_look
    ) m
    where m.xid is distinct from pg_current_xact_id_if_assigned()
    limit p_look;
$$;
