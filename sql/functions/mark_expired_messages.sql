-- postrider.mark_expired_messages() → how many deliveries have expired
--
-- Admin. Ends what waits in postrider.deferred and has expired, at whatever endpoint, without waiting
-- for anybody; see expire_waiting. A dispatcher does so every few seconds for its own shards, and ends
-- also what it has claimed and not attempted, which only it can tell.
create or replace function postrider.mark_expired_messages()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    batch_size constant integer := 10000;
    batch integer;
    expired integer := 0;
begin
    loop
        batch := postrider.expire_waiting(batch_size);
        expired := expired + batch;
        exit when batch < batch_size;
    end loop;
    return expired;
end;
$$;
