-- postrider.create_token(name, role, hash, expires_in) → the token's id
--
-- Admin. Lets somebody ask over HTTP who has the token: `postrider_ID_SECRET`, where SECRET is 64 hexadecimal digits and
-- `hash` their sha256, so that the database never sees it (`postrider token create` makes one). The token may what
-- the database role may that belongs to its role. Forgets tokens that were revoked or have expired 90 days ago. Logged in event_log. Raises 22004 (a null),
-- 22023 (a value that is not valid), 42710 (there is an active one of this name), 55000 (dispatchers cannot act as that role).
create or replace function postrider.create_token(
    p_name text, p_role text, p_hash bytea, p_expires_in interval default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    created_id integer;
begin
    if p_name is null or p_role is null or p_hash is null then
        raise exception 'p_name, p_role and p_hash must not be null' using errcode = '22004';
    end if;
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
        raise exception
            'Token name must be 1 to 100 letters, digits, _, ., : or -, and begin with a letter or digit, got ''%''',
            left(p_name, 100) using errcode = '22023';
    end if;
    if p_role not in ('viewer', 'operator', 'admin', 'producer') then
        raise exception 'p_role must be viewer, operator, admin or producer, got ''%''',
            left(p_role, 100) using errcode = '22023';
    end if;
    if octet_length(p_hash) <> 32 then
        raise exception 'p_hash must be the 32 bytes of a sha256, got % bytes',
            octet_length(p_hash) using errcode = '22023';
    end if;
    if p_expires_in <= interval '0' or p_expires_in > interval '3650 days' then
        raise exception 'p_expires_in must be more than 0 and at most 3650 days, got %',
            p_expires_in using errcode = '22023';
    end if;
    perform postrider.check_token_role(p_role);

    delete from postrider.api_token t
    where least(t.revoked_at, t.expires_at) < now() - interval '90 days';
    insert into postrider.api_token (name, role, hash, created_by, expires_at)
    values (p_name, p_role, p_hash, postrider.caller(), now() + p_expires_in)
    on conflict (name) where revoked_at is null do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Token ''%'' already exists', p_name
            using errcode = '42710', hint = 'Revoke it, or choose another name.';
    end if;
    insert into postrider.event_log (event, details)
    values (
        'token.created',
        jsonb_build_object(
            'name', p_name, 'id', created_id, 'by', session_user, 'before', null,
            'after', jsonb_build_object('role', p_role, 'expires_at', now() + p_expires_in)));
    return created_id;
end;
$$;
