-- postrider.prepare_endpoint()
--
-- Internal: the trigger before every insert and update of an endpoint, whoever writes, also where
-- session_replication_role turns other triggers off; not in a copy that follows its original, whose rows it would
-- change and whose secrets come as rows of their own (see is_replicating). Checks config
-- and retry policy (22023), moves secret options out of the config, and raises the version. Secrets
-- that an update does not mention stay; a secret that is given as null is taken away. To another
-- scheme, host or port they do not follow (22023): whoever may change an address need not be trusted
-- with what is sent there. Nor do headers and auth where the proxy changes or whose certificate is believed. A port that is not for web traffic is refused (22023), and so are secrets over plain http
-- where the address stands in the URL and is not private; the dispatcher judges names when it connects. A new endpoint
-- that says nothing about it gets a key that signs.
create or replace function postrider.prepare_endpoint()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    secret_names text[];
    secrets jsonb := '{}';
    whole jsonb;
    url text;
    is_generated boolean := false;
    is_other boolean;
begin
    if postrider.is_replicating() then
        return new;
    end if;
    if tg_op = 'UPDATE' then
        if (new.id, new.name, new.protocol, new.direct_subscription_id)
            is distinct from (old.id, old.name, old.protocol, old.direct_subscription_id)
        then
            raise exception
                'Name and protocol of endpoint ''%'' cannot be changed: create another one', old.name
                using errcode = '22023';
        end if;
        if (new.config, new.retry_policy, new.enabled, new.paused)
            is not distinct from (old.config, old.retry_policy, old.enabled, old.paused)
        then
            return new;
        end if;
        select s.config into secrets from postrider.endpoint_secret s where s.endpoint_id = old.id;
        new.version := old.version + 1;
        -- Whoever resumes it takes it out of what resume_all resumes.
        new.is_paused_with_all := new.is_paused_with_all and new.paused;
        new.updated_at := clock_timestamp();
    end if;

    if new.retry_policy is not null then
        perform postrider.validate_retry_policy(new.retry_policy);
    end if;
    if tg_op = 'UPDATE' and new.config is not distinct from old.config then
        return new;
    end if;

    select coalesce(array_agg(o.name), '{}')
    into secret_names
    from postrider.transport_option o
    where o.protocol = new.protocol
    and o.secret
    -- An object is stored apart as a whole.
    and position('.' in o.name) = 0;
    whole := new.config;
    if tg_op = 'UPDATE'
        and postrider.url_origin(old.config ->> 'url')
            is distinct from postrider.url_origin(new.config ->> 'url')
        and exists (
            select
            from jsonb_object_keys(secrets) s (name)
            where not new.config ? s.name
            -- They are not sent.
            and s.name <> 'signing_keys'
        )
    then
        raise exception
            'The secrets of endpoint ''%'' do not follow to another scheme, host or port: give them again, or null',
            old.name
            using errcode = '22023';
    end if;
    -- Whoever stands on the way there, or is believed to be the receiver, reads them.
    if tg_op = 'UPDATE'
        and (
            nullif(case when new.config ? 'proxy' then new.config -> 'proxy' else secrets -> 'proxy' end, 'null')
                is distinct from secrets -> 'proxy'
            or exists (
                select
                from unnest(array['ca', 'server_name', 'pins']) m (name)
                where new.config ? 'tls'
                and new.config -> 'tls' -> m.name is distinct from secrets -> 'tls' -> m.name
                -- With pins where there were none, fewer are believed.
                and (m.name <> 'pins' or jsonb_array_length(secrets -> 'tls' -> m.name) > 0)
            )
        )
        and exists (
            select
            from unnest(array['headers', 'auth']) s (name)
            where secrets ? s.name
            and not new.config ? s.name
        )
    then
        raise exception
            'headers and auth of endpoint ''%'' do not follow to another proxy, tls.ca, tls.server_name or tls.pins: '
            'give them again, or null',
            old.name
            using errcode = '22023';
    end if;
    if jsonb_typeof(whole) = 'object' then
        whole := coalesce(secrets, '{}') || whole;
        whole := whole - array(
            select n.name
            from unnest(secret_names) n (name)
            where whole -> n.name = 'null'
        );
    end if;
    -- Nothing goes out unsigned by accident.
    if tg_op = 'INSERT'
        and jsonb_typeof(new.config) = 'object'
        and not new.config ? 'signing_keys'
        and new.config ->> 'signature' is distinct from 'none'
        and postrider.can_sign(new.protocol)
    then
        is_generated := true;
        whole := whole || jsonb_build_object(
            'signing_keys', jsonb_build_array(postrider.make_signing_key()));
    end if;
    perform postrider.validate_endpoint_config(new.protocol, whole);
    url := new.config ->> 'url';
    -- A change of keys is not refused for what the rest has been since before.
    is_other := tg_op = 'INSERT' or new.config - 'signing_keys' is distinct from old.config;
    if is_other
        and not postrider.is_web_port(
            substring(url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer)
        and postrider.get_setting('allow_any_port') <> 'on'
    then
        raise exception 'Port % is not for web traffic; see allow_any_port',
            substring(url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer
            using errcode = '22023';
    end if;

    new.config := whole - secret_names;
    select jsonb_object_agg(w.key, w.value)
    into secrets
    from jsonb_each(whole) w
    where w.key = any (secret_names);
    if is_other
        and (
            secrets -> 'headers' <> '{}'
            or secrets -> 'auth' ->> 'type' in ('basic', 'bearer', 'api_key', 'oauth2')
        )
        and url ~* '^http:'
        and not postrider.is_private(
            postrider.address_literal(substring(url from '^[^/]+//(\[[^]]*\]|[^/?:]+)')))
    then
        raise exception 'Secret headers are sent over plain http to private addresses only: use https'
            using errcode = '22023';
    end if;
    if secrets is null then
        delete from postrider.endpoint_secret s where s.endpoint_id = new.id;
    else
        insert into postrider.endpoint_secret (endpoint_id, config, set_at)
        select new.id, secrets, jsonb_object_agg(k.key, now()) from jsonb_object_keys(secrets) k (key)
        on conflict (endpoint_id) do update
        set config = excluded.config,
            set_at = (
                select jsonb_object_agg(
                    n.key,
                    case
                        when endpoint_secret.config -> n.key = n.value
                        then endpoint_secret.set_at -> n.key
                        else to_jsonb(now())
                    end)
                from jsonb_each(excluded.config) n
            );
    end if;
    if postrider.can_sign(new.protocol) then
        perform postrider.note_signing_keys(
            new.id, coalesce(secrets -> 'signing_keys', '[]'), is_generated);
    end if;
    return new;
end;
$$;

create or replace trigger prepare
before insert or update on postrider.endpoints
for each row execute function postrider.prepare_endpoint();

-- Replaced, a trigger fires as others do until this says otherwise.
alter table postrider.endpoints enable always trigger prepare;
