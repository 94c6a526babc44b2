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
        when 'oauth2' then array['client_id', 'token_url']
    end;
    optional constant text[] := case kind
        when 'basic' then array['password']
        when 'api_key' then array['header', 'query']
        when 'hmac' then array['digest', 'encoding', 'prefix']
        when 'sigv4' then array['session_token']
        when 'oauth2' then array[
            'algorithm', 'audience', 'client_auth', 'client_secret', 'extra', 'key_id', 'private_key', 'scopes']
        else '{}'
    end;
    client_auth constant text := coalesce(auth ->> 'client_auth', 'client_secret_basic');
    headers text[];
    -- Those of a scheme that has a name.
    of_scheme constant text[] := case p_config ->> 'signature'
        when 'convoy' then array['x-convoy-signature']
        when 'github' then array['x-hub-signature-256']
        when 'outpost' then array['x-outpost-signature', 'x-outpost-event-id', 'x-outpost-timestamp']
        when 'shopify' then array['x-shopify-hmac-sha256']
        when 'slack' then array['x-slack-signature', 'x-slack-request-timestamp']
        when 'stripe' then array['stripe-signature']
        when 'svix' then array['svix-id', 'svix-timestamp', 'svix-signature']
        else '{}'
    end;
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
    elsif problem is null and kind = 'oauth2' then
        select format('auth.%s is %s auth.client_auth %s', m.name,
            case when auth ? m.name then 'not for' else 'required where' end,
            case when auth ? m.name then '' else 'is ' end || client_auth)
        into problem
        from (
            values
                (1, 'client_secret', false, true), (2, 'algorithm', false, false), (3, 'key_id', false, false),
                (4, 'private_key', false, false), (5, 'private_key', true, true), (6, 'client_secret', true, false)
        ) m (place, name, is_required, is_for_keys)
        where m.is_for_keys = (client_auth = 'private_key_jwt')
        and m.is_required <> (auth ? m.name)
        order by m.place
        limit 1;
        if problem is null then
            select format('auth.extra must not have %s', e.name)
            into problem
            from jsonb_object_keys(coalesce(auth -> 'extra', '{}')) e (name)
            where e.name in (
                'audience', 'client_assertion', 'client_assertion_type', 'client_id', 'client_secret', 'grant_type',
                'scope')
            order by e.name collate "C"
            limit 1;
        end if;
    end if;

    headers := case
        when kind in ('basic', 'bearer', 'oauth2') then array['authorization']
        when kind = 'sigv4' then
            array['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token']
        when auth ? 'header' then array[lower(auth ->> 'header')]
        else '{}'
    end;
    if problem is null
        and (
            'content-type' = any (headers)
            or headers && of_scheme
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
