-- postrider.masked_config(config) → the config of an endpoint without what a URL may keep secret
--
-- Operator, admin, monitor: the view endpoint_configs calls it. User, password and query string of its URL are
-- `…`, and so are pieces of its path with 20 characters and more: many services have their tokens there.
create or replace function postrider.masked_config(p_config jsonb)
returns jsonb
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select case
        when jsonb_typeof(p_config -> 'url') = 'string'
        then jsonb_set(
            p_config, '{url}',
            to_jsonb(regexp_replace(
                regexp_replace(
                    regexp_replace(p_config ->> 'url', '[?#].*$', '?…'), '//[^/?#]*@', '//…@'),
                '(?<=[^/:])/[^/?#]{20,}', '/…', 'g')))
        else p_config
    end;
$$;
