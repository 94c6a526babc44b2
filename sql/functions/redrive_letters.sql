-- postrider.redrive_letters(dead letter ids, rate, filter) → how many were put back
--
-- Internal. One statement: each letter that is still `failed`, and whose endpoint is there, becomes
-- `redriven` and its delivery waits again, due in the order of creation: all now, or so many a second.
-- Two calls at once put back each letter once; they lock in the same order. A delivery that waits
-- already, which no letter should have, is left as it is. Logged in event_log with the filter. Raises
-- 22023 when the rate is out of its range.
create or replace function postrider.redrive_letters(
    p_ids bigint[], p_rate integer, p_filter jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    began_at timestamptz := clock_timestamp();
    redriven integer;
begin
    if p_rate is not null and p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000 deliveries per second, got %', p_rate
            using errcode = '22023';
    end if;
    with wanted as materialized (
        select l.id
        from unnest(p_ids) i (id)
        join postrider.dead_letter l on l.id = i.id
        where l.status = 'failed'
        and exists (select from postrider.endpoints e where e.id = l.endpoint_id)
        order by l.id
        for update of l
    ), put_back as (
        update postrider.dead_letter l
        set status = 'redriven', redriven_at = began_at, redriven_by = session_user
        from wanted w
        where l.id = w.id
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at, l.ordering_key
    ), placed as (
        select
            p.message_id, p.target, p.endpoint_id, p.message_created_at, p.ordering_key,
            row_number() over (order by p.message_created_at, p.message_id, p.target) - 1 as place
        from put_back p
    ), waiting as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
        select
            p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
            -- Without a rate the microseconds keep the order.
            began_at + coalesce(
                p.place * interval '1 second' / p_rate,
                (p.place - count(*) over ()) * interval '1 microsecond'),
            p.message_created_at, p.ordering_key
        from placed p
        on conflict (message_id, target) do nothing
    )
    select count(*) into redriven from put_back p;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'dlq.redriven', p_filter ->> 'endpoint_name',
        jsonb_build_object('count', redriven, 'filter', p_filter, 'by', session_user)
        || jsonb_strip_nulls(jsonb_build_object('rate', p_rate)));
    perform pg_notify('postrider', 'deferred');
    return redriven;
end;
$$;
