-- postrider.next_ticks(tick, after_id, look, settled_tick, has_own) → which ticks come next, and where their messages lie
--
-- Internal: all readers of consumers. The next `look` ticks behind this message of this tick that count: the last
-- of them, how many there are, and bounds that hold for all of them; while ticks are not
-- settled, none behind the last one that is known to count. Without its own, no tick of this transaction, which may
-- still be passed: what it holds is in another one then. A plain SQL function, so that the planner puts it in its
-- place. Uses tick_id.
--
-- The bounds are handed to tick_messages from outside, where PostgreSQL uses them before it starts:
-- partitions of the log, and whole ways to the messages, that it does not need it does not even open.
create or replace function postrider.next_ticks(
    p_tick bigint,
    p_after_id bigint,
    p_look integer,
    p_settled_tick bigint default null,
    p_has_own boolean default true)
returns table (
    to_tick bigint,
    tick_count bigint,
    span postrider.tick_span)
language sql
stable
as $$
    select
        coalesce(max(n.id), p_tick),
        count(n.id),
        row(
            min(n.at),
            max(n.at),
            min(n.from_at),
            max(n.to_at),
            coalesce(min(n.from_at) filter (where n.stragglers <> '{}'), 'infinity'),
            coalesce(min(n.from_at) filter (where n.is_sparse), 'infinity'),
            k.passed)::postrider.tick_span
    from (
        select postrider.passed_ticks(p_tick) as passed
        offset 0
    ) k
    left join lateral (
        select t.id, t.at, t.from_at, t.to_at, t.stragglers, t.is_sparse
        from postrider.tick t
        where t.id >= p_tick
        and (t.id > p_tick or t.last_id > p_after_id)
        and not k.passed @> t.id
        and (p_has_own or t.xid is distinct from pg_current_xact_id_if_assigned())
        and (t.id <= p_settled_tick or (select postrider.are_ticks_settled()))
        order by t.id
        limit p_look
    ) n on true
    group by k.passed;
$$;
