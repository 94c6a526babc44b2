-- postrider.is_wanted(consumer, partition, message's columns…) → whether this partition reads it
--
-- Internal: whoever counts what consumer_messages will read; the same conditions.
create or replace function postrider.is_wanted(
    p_consumer postrider.consumer,
    p_partition integer,
    p_id bigint,
    p_xid xid8,
    p_created_at timestamptz,
    p_event_type text,
    p_ordering_key text,
    p_payload jsonb)
returns boolean
language sql
stable
as $$
    select
        coalesce(
            ((p_consumer).type_patterns is null or p_event_type like any ((p_consumer).type_patterns))
            and ((p_consumer).filter is null or p_payload @> (p_consumer).filter)
            and (
                (p_consumer).partition_count = 1
                or postrider.message_partition(p_ordering_key, p_id, (p_consumer).partition_count)
                    = p_partition)
            and (
                (p_consumer).start_id is null
                or p_id >= (p_consumer).start_id
                or not pg_visible_in_snapshot(p_xid, (p_consumer).start_snapshot))
            and ((p_consumer).start_at is null or p_created_at >= (p_consumer).start_at),
            false);
$$;
