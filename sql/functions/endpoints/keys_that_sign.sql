-- postrider.keys_that_sign(endpoint_id, keys) → those keys that have not retired
--
-- Internal. In their order. Uses signing_key_pkey.
create or replace function postrider.keys_that_sign(p_endpoint_id integer, p_keys jsonb)
returns jsonb
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select coalesce(jsonb_agg(g.key order by g.place), '[]')
    from jsonb_array_elements_text(p_keys) with ordinality g (key, place)
    where not exists (
        select
        from postrider.signing_key k
        where k.endpoint_id = p_endpoint_id
        and k.id = postrider.signing_key_id(g.key)
        and k.retires_at <= now()
    );
$$;
