-- postrider.rotate_signing_key(endpoint, overlap) → the new key
--
-- Admin. A new key for HMAC-SHA256 (v1) signs from now on, and those that did so until now go on for the overlap, 0 to
-- 30 days, so that receivers can change. One that was to end sooner does. Keys for ed25519 (v1a) stay. The new key is
-- returned this once. Raises 22004 (a null), 22023 (the overlap; a protocol that signs nothing; ten keys), 42704 (no
-- such endpoint), 55000 (its config says that nothing is signed).
create or replace function postrider.rotate_signing_key(
    endpoint text, overlap interval default '24 hours')
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    held record := postrider.lock_signing_keys(rotate_signing_key.endpoint, true);
    added text := postrider.make_signing_key();
    ends_at timestamptz;
    former jsonb;
begin
    perform postrider.check_key_pause('overlap', rotate_signing_key.overlap);
    select jsonb_object_agg(k.id, k.retires_at)
    into former
    from postrider.signing_key k
    where k.endpoint_id = held.endpoint_id;
    ends_at := now() + rotate_signing_key.overlap;
    update postrider.signing_key k
    set retires_at = ends_at
    where k.endpoint_id = held.endpoint_id
    and k.kind = 'v1'
    and coalesce(k.retires_at > ends_at, true);
    perform postrider.change_signing_keys(held.endpoint_id, jsonb_build_array(added) || held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.rotated', rotate_signing_key.endpoint,
        jsonb_build_object(
            'by', session_user, 'id', postrider.signing_key_id(added), 'others_retire_at', ends_at,
            'before', jsonb_build_object('retire_at', former),
            'after', jsonb_build_object(
                'retire_at', (
                    select jsonb_object_agg(k.id, k.retires_at)
                    from postrider.signing_key k
                    where k.endpoint_id = held.endpoint_id))));
    return added;
end;
$$;
