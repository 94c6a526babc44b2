-- postrider.reveal_signing_key(endpoint, key_id) → the key
--
-- Admin. Shows a key that was made with its endpoint, once, and logs it. Raises 22004 (a null), 22023 (a protocol that
-- signs nothing), 42704 (no such endpoint or key), 55000 (it was shown before, or given by somebody who knows it).
create or replace function postrider.reveal_signing_key(endpoint text, key_id text)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    held record := postrider.lock_signing_keys(reveal_signing_key.endpoint, false);
    shown text := postrider.find_signing_key(
        reveal_signing_key.endpoint, held.keys, reveal_signing_key.key_id);
begin
    update postrider.signing_key k
    set is_hidden = false
    where k.endpoint_id = held.endpoint_id
    and k.id = reveal_signing_key.key_id
    and k.is_hidden;
    if not found then
        raise exception 'Signing key ''%'' of endpoint ''%'' has been shown',
            reveal_signing_key.key_id, reveal_signing_key.endpoint
            using errcode = '55000', hint = 'rotate_signing_key makes another one.';
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.revealed', reveal_signing_key.endpoint,
        jsonb_build_object('by', session_user, 'id', reveal_signing_key.key_id));
    return shown;
end;
$$;
