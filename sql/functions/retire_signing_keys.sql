-- postrider.retire_signing_keys() → of how many endpoints keys were taken away
--
-- Internal, by any dispatcher every few seconds: keys whose time is over sign no more. An endpoint that somebody has
-- locked is left for the next time. Uses signing_key_retires_at, endpoints_pkey.
create or replace function postrider.retire_signing_keys()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    changed_count integer := 0;
    held record;
begin
    for held in
        select e.id, s.config -> 'signing_keys' as keys
        from postrider.endpoints e
        join postrider.endpoint_secret s on s.endpoint_id = e.id
        where e.id = any (array(
            select k.endpoint_id
            from postrider.signing_key k
            where k.retires_at <= now()
        ))
        for no key update of e skip locked
    loop
        perform postrider.change_signing_keys(held.id, held.keys);
        changed_count := changed_count + 1;
    end loop;
    return changed_count;
end;
$$;
