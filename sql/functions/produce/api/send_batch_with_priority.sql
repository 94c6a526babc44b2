-- postrider.send_batch_with_priority(endpoint, payloads, priority) → the messages' ids, in the order
-- of the payloads
--
-- Producer, application, admin. All payloads in one statement, all or nothing. Raises what send_with_options
-- raises; an empty array writes nothing and returns an empty array.
create or replace function postrider.send_batch_with_priority(
    p_endpoint_name text, p_payloads jsonb[], p_priority integer default 0)
returns bigint[]
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    writer xid8;
    target integer := postrider.direct_target(p_endpoint_name);
    message_ids bigint[];
    largest bigint;
    rung integer;
begin
    if p_payloads is null then
        raise exception 'Payloads must not be null' using errcode = '22004';
    end if;
    select case when count(*) = count(p.payload) then coalesce(max(octet_length(p.payload::text)), 0) end
    into largest
    from unnest(p_payloads) p (payload);
    perform postrider.check_options(largest, p_priority);
    perform postrider.check_room(cardinality(p_payloads), array[target]);

    writer := pg_current_xact_id();
    with numbered as materialized (
        select nextval('postrider.message_sequence') as sequence_number, p.payload
        from unnest(p_payloads) with ordinality p (payload, position)
        order by p.position
    ), placed as (
        select
            n.sequence_number,
            (((n.sequence_number >> 6) % postrider.shard_count()) * 16 + p_priority)::smallint as lane,
            n.payload
        from numbered n
    ), inserted as (
        insert into postrider.message (id, xid, lane, priority, targets, endpoint_name, payload)
        select
            p.sequence_number * 1024 + p.lane, writer, p.lane, p_priority, array[target],
            p_endpoint_name, p.payload
        from placed p
        returning id
    )
    select coalesce(array_agg(i.id order by i.id), '{}')
    into message_ids
    from inserted i;

    -- One ring per shard whose dispatcher sleeps; the rest hold their shared lock until commit.
    select count(postrider.ring('postrider', s.shard::text))
    into rung
    from (
        select distinct ((i.id & 1023) >> 4)::integer as shard
        from unnest(message_ids) i (id)
    ) s
    where not pg_try_advisory_xact_lock_shared(1886352244, s.shard);
    return message_ids;
end;
$$;
