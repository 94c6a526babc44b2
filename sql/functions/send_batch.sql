-- postrider.send_batch(endpoint, payloads) → the messages' ids, in the order of the payloads
--
-- Application, admin. All payloads in one statement, all or nothing. Raises what send_with_options
-- raises; an empty array writes nothing and returns an empty array.
create or replace function postrider.send_batch(p_endpoint_name text, p_payloads jsonb[])
returns bigint[]
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    writer xid8;
    target integer;
    message_ids bigint[];
    rung integer;
begin
    perform postrider.check_options(p_endpoint_name, p_payloads);
    select e.direct_subscription_id
    into target
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled;
    if target is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;

    writer := pg_current_xact_id();
    with numbered as materialized (
        select nextval('postrider.message_sequence') as sequence_number, p.payload
        from unnest(p_payloads) with ordinality p (payload, position)
        order by p.position
    ), inserted as (
        insert into postrider.message (id, xid, lane, targets, payload)
        select
            n.sequence_number * 1024 + (n.sequence_number % postrider.shard_count()) * 16,
            writer,
            (n.sequence_number % postrider.shard_count()) * 16,
            array[target],
            n.payload
        from numbered n
        returning id
    )
    select coalesce(array_agg(i.id order by i.id), '{}')
    into message_ids
    from inserted i;

    -- One ring per shard whose dispatcher sleeps; the rest hold their shared lock until commit.
    select count(pg_notify('postrider', s.shard::text))
    into rung
    from (
        select distinct ((i.id & 1023) >> 4)::integer as shard
        from unnest(message_ids) i (id)
    ) s
    where not pg_try_advisory_xact_lock_shared(1886352244, s.shard);
    return message_ids;
end;
$$;
