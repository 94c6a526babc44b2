-- postrider.revoke_token(name) → whether there was an active one
--
-- Admin. The token is good for nothing from the commit on. Logged in event_log. Raises 22004 (a null name), 42704 (there never
-- was one of this name).
create or replace function postrider.revoke_token(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    revoked postrider.api_token;
begin
    if p_name is null then
        raise exception 'Token name must not be null' using errcode = '22004';
    end if;
    update postrider.api_token t
    set revoked_at = clock_timestamp()
    where t.name = p_name
    and t.revoked_at is null
    returning t.* into revoked;
    if not found then
        if not exists (select from postrider.api_token t where t.name = p_name) then
            raise exception 'Token ''%'' does not exist', left(p_name, 100) using errcode = '42704';
        end if;
        return false;
    end if;
    insert into postrider.event_log (event, details)
    values (
        'token.revoked',
        jsonb_build_object(
            'name', p_name, 'id', revoked.id, 'by', session_user,
            'before', jsonb_build_object('role', revoked.role, 'expires_at', revoked.expires_at),
            'after', null));
    return true;
end;
$$;
