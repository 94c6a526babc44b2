-- postrider.target_names() → the endpoint's name of each target
--
-- Application, operator, admin, monitor: views call it, once. There are as many targets as subscriptions, and looking
-- one up for each row would cost more.
create or replace function postrider.target_names()
returns jsonb
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select coalesce(jsonb_object_agg(s.id, e.name), '{}')
    from postrider.subscriptions s
    join postrider.endpoints e on e.id = s.endpoint_id;
$$;
