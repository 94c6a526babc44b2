-- postrider.create_endpoint(name, protocol, config) → the endpoint's id
--
-- Admin. Makes an endpoint and its direct subscription, the target that stands for "send to this
-- endpoint". Options that are secret are kept apart and never shown again. Raises 22004 (a null),
-- 22023 (a name or config that is not valid), 42710 (the name is taken).
create or replace function postrider.create_endpoint(name text, protocol text, config jsonb)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    direct_id integer;
    created_id integer;
begin
    if create_endpoint.name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if create_endpoint.protocol is null then
        raise exception 'Protocol must not be null' using errcode = '22004';
    end if;
    if create_endpoint.config is null then
        raise exception 'Config must not be null' using errcode = '22004';
    end if;
    if create_endpoint.name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$' then
        raise exception
            'Endpoint name must be 1 to 200 letters, digits, or _ . : -, beginning with a letter or digit, got ''%''',
            left(create_endpoint.name, 200) using errcode = '22023';
    end if;

    direct_id := nextval(pg_get_serial_sequence('postrider.subscriptions', 'id'));
    insert into postrider.endpoints (name, protocol, config, direct_subscription_id)
    values (
        create_endpoint.name, create_endpoint.protocol, create_endpoint.config, direct_id)
    on conflict on constraint endpoints_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Endpoint ''%'' already exists', create_endpoint.name
            using errcode = '42710';
    end if;
    insert into postrider.subscriptions (id, endpoint_id)
    overriding system value
    values (direct_id, created_id);
    return created_id;
end;
$$;
