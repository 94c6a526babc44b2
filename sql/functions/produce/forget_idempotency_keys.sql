-- postrider.forget_idempotency_keys() → how many were forgotten
--
-- Internal, by any dispatcher once a minute. Keys of ended messages whose window is over. One that a
-- sender is taking at the moment is left to it. Uses idempotency_key_ended_at.
create or replace function postrider.forget_idempotency_keys()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    ended_before constant timestamptz := clock_timestamp() - postrider.idempotency_window();
    old tid[];
begin
    select array_agg(o.ctid)
    into old
    from (
        select k.ctid
        from postrider.idempotency_key k
        -- Those that took long to end stay for longer than they must: a look at all that has ended within
        -- the window would cost more. Who sends with such a key does not wait for us (idempotency_key_holder).
        where k.ended_at <= ended_before
        order by k.ended_at
        limit 10000
        for update skip locked
    ) o;
    delete from postrider.idempotency_key k
    where k.ctid = any (old);
    return coalesce(cardinality(old), 0);
end;
$$;
