-- postrider.tick_messages(tick, after_id, to_tick, look, span) → messages in the order of ordering `commit`
--
-- Internal: all readers of consumers. Of all ticks up to to_tick what comes after this message of this
-- tick: no more than `look` messages, by tick and id. A plain SQL function, so that the planner puts it
-- in its place, and a limit around it ends the walk. Uses tick_id, message_id, message_xid_id.
--
-- Three ways to the messages of a tick: stragglers with lower ids than all others, by transaction; then
-- a walk over ids; or, for few messages in a wide range of ids, all by transaction and sorted, without a
-- look at those that were in progress, however much they have written. The span (see next_ticks) spares
-- partitions that have none of them, and ways that no tick needs.
--
-- Only one index fits each way, so that a plan that was made while a partition was empty cannot choose
-- another: comparing (xid, id) and sorting by both leaves message_xid_id, `+ 0` keeps message_id out.
create or replace function postrider.tick_messages(
    p_tick bigint,
    p_after_id bigint,
    p_to_tick bigint,
    p_look integer,
    p_span postrider.tick_span default null)
returns table (
    tick bigint,
    id bigint,
    xid xid8,
    created_at timestamptz,
    scheduled_at timestamptz,
    correlation_id uuid,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text)
language sql
stable
as $$
    select
        t.id, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type, m.ordering_key,
        m.headers, m.metadata, m.payload, m.body, m.content_type
    from (
        select
            k.id, k.snapshot, k.base_xmax, k.stragglers, k.first_id, k.last_id, k.from_at, k.to_at,
            k.is_sparse, case when k.id = p_tick then p_after_id else 0 end as after_id
        from postrider.tick k
        where k.id >= p_tick
        and k.id <= p_to_tick
        and k.at between coalesce((p_span).first_at, '-infinity')
        and coalesce((p_span).last_at, 'infinity')
        and not coalesce((p_span).passed @> k.id, false)
        order by k.id
    ) t
    cross join lateral (
        (
            select s.*
            from unnest(t.stragglers) x (xid)
            cross join lateral (
                select
                    l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                    l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
                from postrider.message l
                where (l.xid, l.id) > (x.xid, t.after_id)
                and (l.xid, l.id) < (x.xid, t.first_id)
                and l.created_at between coalesce((p_span).late_from_at, '-infinity')
                and coalesce((p_span).to_at, 'infinity')
                order by l.xid, l.id
                limit p_look
            ) s
            where not t.is_sparse
            order by s.id
        )
        union all
        (
            select
                l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
            from postrider.message l
            where not t.is_sparse
            and l.id > greatest(t.after_id, t.first_id - 1)
            and l.id <= t.last_id
            and l.created_at between coalesce((p_span).from_at, '-infinity')
            and coalesce((p_span).to_at, 'infinity')
            and (l.xid >= t.base_xmax or l.xid = any (t.stragglers))
            and pg_visible_in_snapshot(l.xid, t.snapshot)
            order by l.id
        )
        union all
        (
            select
                l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
            from (
                select
                    r.id, r.xid, r.created_at, r.scheduled_at, r.correlation_id, r.event_type,
                    r.ordering_key, r.headers, r.metadata, r.payload, r.body, r.content_type
                from (
                    select
                        g.first_xid,
                        lead(g.last_xid, 1, pg_snapshot_xmax(t.snapshot)) over (order by g.first_xid)
                            as end_xid
                    from (
                        select t.base_xmax as first_xid, null::xid8 as last_xid
                        union all
                        select (x.xid::text::bigint + 1)::text::xid8, x.xid
                        from pg_snapshot_xip(t.snapshot) x (xid)
                        where x.xid >= t.base_xmax
                    ) g
                    where t.is_sparse
                ) gap
                cross join lateral (
                    select
                        n.id, n.xid, n.created_at, n.scheduled_at, n.correlation_id, n.event_type,
                        n.ordering_key, n.headers, n.metadata, n.payload, n.body, n.content_type
                    from postrider.message n
                    where n.xid >= gap.first_xid
                    and n.xid < gap.end_xid
                    and n.created_at between coalesce((p_span).sparse_from_at, '-infinity')
                    and coalesce((p_span).to_at, 'infinity')
                ) r
                union all
                select
                    r.id, r.xid, r.created_at, r.scheduled_at, r.correlation_id, r.event_type,
                    r.ordering_key, r.headers, r.metadata, r.payload, r.body, r.content_type
                from postrider.message r
                where t.is_sparse
                and r.xid = any (t.stragglers)
                and r.created_at between coalesce((p_span).sparse_from_at, '-infinity')
                and coalesce((p_span).to_at, 'infinity')
            ) l
            where l.id + 0 > t.after_id
            order by l.id + 0
        )
    ) m
    limit p_look;
$$;
