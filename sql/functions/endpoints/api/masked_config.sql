-- postrider.masked_config(config) → the config of an endpoint without what a URL may keep secret
--
-- Operator, admin, monitor: the view endpoint_configs calls it. User, password and query string of its URL are
-- `…`, and so are pieces of its path with 20 characters and more: many services have their tokens there. A
-- piece is what stands between slashes, wherever behind scheme and host. Its url_template is treated alike.
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
                o.origin
                || regexp_replace(substr(t.text, length(o.origin) + 1), '[^/?#]{20,}', '…', 'g'))
            from unnest(array['url', 'url_template']) u (name)
            cross join lateral regexp_replace(
                regexp_replace(p_config ->> u.name, '[?#].*$', '?…'), '//[^/?#]*@', '//…@') t (text)
            cross join lateral coalesce(substring(t.text from '^[^:/?#]+://[^/?#]*'), '') o (origin)
            where jsonb_typeof(p_config -> u.name) = 'string'
        ),
        '{}');
$$;
