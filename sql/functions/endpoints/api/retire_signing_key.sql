-- postrider.retire_signing_key(endpoint, key_id, after) → when it signs for the last time
--
-- Admin. A key signs until then, 0 to 30 days from now, and is forgotten. Not the last one that would go on: for an
-- endpoint whose requests are not to be signed, its config says so (signature none). Raises 22004 (a null), 22023 (the
-- time; a protocol that signs nothing), 42704 (no such endpoint or key), 55000 (it is the last one).
create or replace function postrider.retire_signing_key(
    endpoint text, key_id text, after interval default '0')
returns timestamptz
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    held record := postrider.lock_signing_keys(retire_signing_key.endpoint, false);
    ends_at timestamptz;
    former timestamptz;
begin
    perform postrider.find_signing_key(
        retire_signing_key.endpoint, held.keys, retire_signing_key.key_id);
    perform postrider.check_key_pause('after', retire_signing_key.after);
    if not exists (
        select
        from postrider.signing_key k
        where k.endpoint_id = held.endpoint_id
        and k.id <> retire_signing_key.key_id
        and k.retires_at is null
    ) then
        raise exception 'Signing key ''%'' is the last one of endpoint ''%''',
            retire_signing_key.key_id, retire_signing_key.endpoint
            using
                errcode = '55000',
                hint = 'Add another one first, or set signature to none if nothing is to be signed.';
    end if;
    ends_at := now() + retire_signing_key.after;
    select k.retires_at
    into former
    from postrider.signing_key k
    where k.endpoint_id = held.endpoint_id
    and k.id = retire_signing_key.key_id;
    update postrider.signing_key k
    set retires_at = ends_at
    where k.endpoint_id = held.endpoint_id
    and k.id = retire_signing_key.key_id;
    perform postrider.change_signing_keys(held.endpoint_id, held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.retired', retire_signing_key.endpoint,
        jsonb_build_object(
            'by', session_user, 'id', retire_signing_key.key_id, 'retires_at', ends_at,
            'before', jsonb_build_object('retires_at', former),
            'after', jsonb_build_object('retires_at', ends_at)));
    return ends_at;
end;
$$;
