-- postrider.add_signing_key(endpoint, key) → the key
--
-- Admin. One more key signs what is sent to the endpoint: a new one for HMAC-SHA256 (v1), or the one that is given,
-- whsec_… or whsk_… (v1a). It is returned this once; nothing shows it again. At most ten keys sign. Raises 22004 (a
-- null name), 42704 (no such endpoint), 22023 (its protocol signs nothing, it is no key, or there are ten), 42710 (the
-- endpoint has the key already), 55000 (its config says that nothing is signed).
create or replace function postrider.add_signing_key(endpoint text, key text default null)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    held record := postrider.lock_signing_keys(add_signing_key.endpoint, true);
    added text := coalesce(add_signing_key.key, postrider.make_signing_key());
begin
    if held.keys ? added then
        raise exception 'Endpoint ''%'' has this key already', add_signing_key.endpoint
            using errcode = '42710';
    end if;
    perform postrider.change_signing_keys(held.endpoint_id, jsonb_build_array(added) || held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.added', add_signing_key.endpoint,
        jsonb_build_object(
            'by', session_user, 'id', postrider.signing_key_id(added), 'before', null,
            'after', jsonb_build_object('retires_at', null)));
    return added;
end;
$$;
