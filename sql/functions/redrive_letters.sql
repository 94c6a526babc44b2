-- postrider.redrive_letters(dead letter ids) → how many were put back
--
-- Internal. One statement: each letter that is still `failed` becomes `redriven` and its delivery
-- waits again, due in the order of creation; two calls at once put back each letter once.
create or replace function postrider.redrive_letters(p_ids bigint[])
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    redriven integer;
begin
    with put_back as (
        update postrider.dead_letter l
        set status = 'redriven', redriven_at = clock_timestamp()
        where l.id = any (p_ids)
        and l.status = 'failed'
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at, l.ordering_key
    )
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
    select
        p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
        clock_timestamp() - interval '1 microsecond' * (count(*) over () - row_number() over (
            order by p.message_created_at, p.message_id)),
        p.message_created_at, p.ordering_key
    from put_back p;
    get diagnostics redriven = row_count;
    perform pg_notify('postrider', 'deferred');
    return redriven;
end;
$$;
