-- postrider.transaction_messages(xid, after_id, look, to_xid) → messages in the order of ordering `transaction`
--
-- Internal: all readers of consumers. What comes after this message of this transaction, by transaction
-- id and message id, below the oldest transaction that is open anywhere in the cluster: no more than
-- `look` messages. Or below to_xid: what was the oldest one a moment ago, where two looks have to see the
-- same. A plain SQL function, like tick_messages. Uses message_xid_id: the row comparison is one range
-- of it.
create or replace function postrider.transaction_messages(
    p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8 default null)
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
        null::bigint, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type,
        m.ordering_key, m.headers, m.metadata, m.payload, m.body, m.content_type
    from postrider.message m
    where (m.xid, m.id) > (p_xid, p_after_id)
    and m.xid < coalesce(p_to_xid, pg_snapshot_xmin(pg_current_snapshot()))
    -- Spares a reader with ordering `commit` all partitions.
    and m.created_at >= case when p_xid is null then 'infinity'::timestamptz else '-infinity' end
    order by m.xid, m.id
    limit p_look;
$$;
