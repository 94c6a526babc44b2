-- postrider.masked_config(config) → the config of an endpoint without what a URL may keep secret
--
-- Operator, admin, monitor: the view endpoint_configs calls it. User, password and query string of its URL are
-- `…`, and so are pieces of its path with 20 characters and more: many services have their tokens there. Its
-- url_template is treated alike.
create or replace function postrider.masked_config(p_config jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select p_config || coalesce(
        (
            select jsonb_object_agg(
                u.name,
                regexp_replace(
                    regexp_replace(
                        regexp_replace(p_config ->> u.name, '[?#].*$', '?…'), '//[^/?#]*@', '//…@'),
                    '(?<![/:])/[^/?#]{20,}', '/…', 'g'))
            from unnest(array['url', 'url_template']) u (name)
            where jsonb_typeof(p_config -> u.name) = 'string'
        ),
        '{}');
$$;
