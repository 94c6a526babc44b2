-- postrider.check_signature_headers(config) → nothing
--
-- Internal. Raises 22023 if a header of a signature that an object describes would take the place of another one, or of
-- content-type, in a config whose options are good, each for itself. The dispatcher asks the same.
create or replace function postrider.check_signature_headers(p_config jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    headers constant text[] := array(
        select lower(m.value)
        from jsonb_each_text(case when jsonb_typeof(p_config -> 'signature') = 'object' then p_config -> 'signature' end) m
        where m.key in ('header', 'id_header', 'timestamp_header'));
begin
    if 'content-type' = any (headers)
    or (select count(distinct h.name) from unnest(headers) h (name)) < cardinality(headers) then
        raise exception 'config.signature: its headers must be different ones, and none of them content-type'
            using errcode = '22023';
    end if;
end;
$$;
