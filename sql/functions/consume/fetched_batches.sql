-- postrider.fetched_batches(consumer) → what fetch_messages has handed out in this transaction
--
-- Internal: acknowledge. A row for each partition of the consumer with something that is not acknowledged:
-- the position it was read from (seq), the last message, how many there are, when they were fetched, and
-- whether there is nothing more in their tick. A plain SQL function, so that the planner puts it in its place.
create or replace function postrider.fetched_batches(p_consumer postrider.consumer)
returns table (
    partition integer,
    seq bigint,
    tick bigint,
    xid xid8,
    id bigint,
    message_count bigint,
    at timestamptz,
    is_end boolean)
language sql
stable
as $$
    select
        b.partition, b.parts[1]::bigint, b.parts[2]::bigint, b.parts[3]::xid8, b.parts[4]::bigint,
        b.parts[5]::bigint, b.parts[6]::timestamptz, b.parts[7]::boolean
    from (
        select
            g.partition,
            nullif(
                current_setting(format('postrider.fetched_%s_%s', p_consumer.id, g.partition), true),
                '')::text[] as parts
        from generate_series(0, p_consumer.partition_count - 1) g (partition)
    ) b
    where b.parts is not null;
$$;
