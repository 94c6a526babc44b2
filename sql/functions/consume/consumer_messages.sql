-- postrider.consumer_messages(consumer, partition, tick, xid, after_id, to_tick, look, span, to_xid)
-- → what it reads
--
-- Internal: all readers of consumers. What the consumer's partition reads of the next `look` messages
-- behind this place: of a tick (ordering `commit`) or of a transaction (ordering `transaction`; the
-- other is null). A plain SQL function, so that the planner puts it in its place, and a limit around it
-- ends the walk. For the span see next_ticks, for to_xid transaction_messages.
create or replace function postrider.consumer_messages(
    p_consumer postrider.consumer,
    p_partition integer,
    p_tick bigint,
    p_xid xid8,
    p_after_id bigint,
    p_to_tick bigint,
    p_look integer,
    p_span postrider.tick_span default null,
    p_to_xid xid8 default null)
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
        m.tick, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type,
        m.ordering_key, m.headers, m.metadata, m.payload, m.body, m.content_type
    from (
        select
            t.tick, t.id, t.xid, t.created_at, t.scheduled_at, t.correlation_id, t.event_type,
            t.ordering_key, t.headers, t.metadata, t.payload, t.body, t.content_type
        from postrider.tick_messages(p_tick, p_after_id, p_to_tick, p_look, p_span) t
        union all
        select
            x.tick, x.id, x.xid, x.created_at, x.scheduled_at, x.correlation_id, x.event_type,
            x.ordering_key, x.headers, x.metadata, x.payload, x.body, x.content_type
        from postrider.transaction_messages(p_xid, p_after_id, p_look, p_to_xid) x
    ) m
    where ((p_consumer).type_patterns is null or m.event_type like any ((p_consumer).type_patterns))
    and ((p_consumer).filter is null or m.payload @> (p_consumer).filter)
    and (
        (p_consumer).partition_count = 1
        or postrider.message_partition(m.ordering_key, m.id, (p_consumer).partition_count) = p_partition)
    and (
        (p_consumer).start_id is null
        or m.id >= (p_consumer).start_id
        or not pg_visible_in_snapshot(m.xid, (p_consumer).start_snapshot))
    and ((p_consumer).start_at is null or m.created_at >= (p_consumer).start_at);
$$;
