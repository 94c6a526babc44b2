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
    forgotten integer;
begin
    delete from postrider.idempotency_key k
    using (
        select o.destination, o.key
        from postrider.idempotency_key o
        where o.ended_at is not null
        and o.created_at + postrider.idempotency_window() <= clock_timestamp()
        order by o.ended_at
        limit 10000
        for update skip locked
    ) old
    where k.destination = old.destination
    and k.key = old.key;
    get diagnostics forgotten = row_count;
    return forgotten;
end;
$$;
