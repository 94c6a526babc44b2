-- postrider.check_auth(config) → nothing
--
-- Internal. Raises 22023 if members of `auth` do not fit its type, or if another header of the config would stand in the
-- place of one of its headers. The options are good, each for itself. The dispatcher asks the same.
create or replace function postrider.check_auth(p_config jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    auth constant jsonb := p_config -> 'auth';
    kind constant text := auth ->> 'type';
    required constant text[] := case kind
        when 'basic' then array['username']
        when 'bearer' then array['token']
        when 'api_key' then array['value']
        when 'hmac' then array['header', 'key']
        when 'sigv4' then array['access_key_id', 'region', 'secret_access_key', 'service']
    end;
    optional constant text[] := case kind
        when 'basic' then array['password']
        when 'api_key' then array['header', 'query']
        when 'hmac' then array['digest', 'encoding', 'prefix']
        when 'sigv4' then array['session_token']
        else '{}'
    end;
    headers text[];
    problem text;
begin
    if auth is null then
        return;
    end if;

    select format('auth.%s is not for auth.type %s', m.name, kind)
    into problem
    from jsonb_object_keys(auth) m (name)
    where m.name <> all (array['type'] || required || optional)
    order by m.name collate "C"
    limit 1;
    if problem is null then
        select format('auth.%s is required where auth.type is %s', m.name, kind)
        into problem
        from unnest(required) with ordinality m (name, place)
        where not auth ? m.name
        order by m.place
        limit 1;
    end if;
    if problem is null and kind = 'api_key' and (auth ? 'header') = (auth ? 'query') then
        problem := 'auth must have either header or query';
    elsif problem is null and kind = 'basic' and position(':' in auth ->> 'username') > 0 then
        problem := 'auth.username must not contain a colon';
    end if;

    headers := case
        when kind in ('basic', 'bearer') then array['authorization']
        when kind = 'sigv4' then
            array['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token']
        when auth ? 'header' then array[lower(auth ->> 'header')]
        else '{}'
    end;
    if problem is null
        and (
            'content-type' = any (headers)
            or exists (
                select
                from jsonb_each_text(
                    case when jsonb_typeof(p_config -> 'signature') = 'object' then p_config -> 'signature' end) s
                where s.key in ('header', 'id_header', 'timestamp_header')
                and lower(s.value) = any (headers)
            )
        )
    then
        problem := 'auth.header must not be content-type or a header of the signature';
    end if;
    if problem is null then
        select format('%s: header `%s` is set by auth', o.name, lower(h.name))
        into problem
        from unnest(array['headers', 'header_templates']) with ordinality o (name, place)
        cross join lateral jsonb_object_keys(coalesce(p_config -> o.name, '{}')) h (name)
        where lower(h.name) = any (headers)
        order by o.place, h.name collate "C"
        limit 1;
    end if;
    if problem is not null then
        raise exception 'config.%', problem
            using errcode = '22023';
    end if;
end;
$$;
