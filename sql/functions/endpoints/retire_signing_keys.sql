-- postrider.retire_signing_keys() → of how many endpoints keys were taken away
--
-- Internal, by any dispatcher every few seconds: keys whose time is over sign no more. The last one of an endpoint stays, so
-- that nothing goes out unsigned by accident: it was given anew by config while it was about to end. An endpoint that
-- somebody has locked is left for the next time, and one whose config is refused keeps nobody else's keys. Its keys are
-- read behind its lock: who has changed them has committed. Uses signing_key_retires_at, endpoints_pkey.
create or replace function postrider.retire_signing_keys()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    changed_count integer := 0;
    held_id integer;
    keys jsonb;
    left_keys jsonb;
begin
    for held_id in
        select e.id
        from postrider.endpoints e
        where e.id = any (array(
            select k.endpoint_id
            from postrider.signing_key k
            where k.retires_at <= now()
        ))
        for no key update of e skip locked
    loop
        select s.config -> 'signing_keys'
        into keys
        from postrider.endpoint_secret s
        where s.endpoint_id = held_id;
        left_keys := postrider.keys_that_sign(held_id, keys);
        continue when left_keys = keys;
        begin
            if left_keys = '[]' then
                update postrider.signing_key k
                set retires_at = null
                where k.endpoint_id = held_id
                and k.id = postrider.signing_key_id(keys ->> 0);
            end if;
            perform postrider.change_signing_keys(held_id, keys);
            changed_count := changed_count + 1;
        exception
            when others then
                raise warning 'keys of endpoint % are not retired: %', held_id, sqlerrm;
        end;
    end loop;
    return changed_count;
end;
$$;
