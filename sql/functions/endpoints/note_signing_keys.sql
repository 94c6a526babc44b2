-- postrider.note_signing_keys(endpoint_id, keys, is_hidden)
--
-- Internal: what prepare_endpoint does when an endpoint's keys are written. Those that are new get a row in signing_key,
-- and the rows of others go. Uses signing_key_pkey.
create or replace function postrider.note_signing_keys(
    p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    delete from postrider.signing_key k
    where k.endpoint_id = p_endpoint_id
    and k.id not in (
        select postrider.signing_key_id(g.key)
        from jsonb_array_elements_text(p_keys) g (key)
    );
    insert into postrider.signing_key (endpoint_id, id, kind, public_key, is_hidden)
    select
        p_endpoint_id, postrider.signing_key_id(g.key),
        case split_part(g.key, '_', 1) when 'whsec' then 'v1' when 'whsk' then 'v1a' else 'raw' end,
        case
            when starts_with(g.key, 'whsk_')
            then 'whpk_' || encode(substr(decode(substr(g.key, 6), 'base64'), 33), 'base64')
        end,
        p_is_hidden
    from jsonb_array_elements_text(p_keys) g (key)
    on conflict (endpoint_id, id) do nothing;
end;
$$;
