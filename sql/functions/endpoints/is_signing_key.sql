-- postrider.is_signing_key(key) → whether this is a key that signs
--
-- Internal: what validate_endpoint_config asks of each key. A text of whsec_ and the base64 of 24 to 64 bytes, of
-- whsk_ and the base64 of 64 bytes, or of raw: and 8 to 256 characters. Whether the second half of these is the public key of the first, SQL cannot tell.
create or replace function postrider.is_signing_key(p_key jsonb)
returns boolean
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select case
        when k.text ~ '^(whsec|whsk)_([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        then (
            select
                -- Bits behind the last byte are no part of the key.
                translate(encode(d.bytes, 'base64'), E'\n', '') = d.base64
                and length(d.bytes) between case d.prefix when 'whsec' then 24 else 64 end and 64
            from (
                select
                    split_part(k.text, '_', 1) as prefix, split_part(k.text, '_', 2) as base64,
                    decode(split_part(k.text, '_', 2), 'base64') as bytes
            ) d
        )
        else coalesce(k.text ~ '^raw:[^\u0001-\u001f\u007f]{8,}$' and length(k.text) <= 4 + 256, false)
    end
    from (
        select case when jsonb_typeof(p_key) = 'string' then p_key #>> '{}' end as text
    ) k;
$$;
