-- postrider.check_signing_keys(config) → nothing
--
-- Internal: the last that validate_endpoint_config asks of a config whose options are good, each for itself. Raises 22023
-- for a key that does not sign by the endpoint's scheme. The dispatcher asks the same.
create or replace function postrider.check_signing_keys(p_config jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    signature text := coalesce(p_config ->> 'signature', 'standard-webhooks');
    is_standard constant boolean := signature in ('standard-webhooks', 'svix');
    has_base64_keys constant boolean := coalesce(p_config #>> '{signature,key}' = 'base64', false);
    problem text;
begin
    if jsonb_typeof(p_config -> 'signing_keys') is distinct from 'array' or signature = 'none' then
        return;
    end if;
    select p.problem
    into problem
    from jsonb_array_elements_text(p_config -> 'signing_keys') with ordinality k (key, place)
    cross join lateral (
        select case
            when is_standard and starts_with(k.key, 'raw:')
            then 'a key that begins with raw: signs by other schemes than standard-webhooks and svix'
            when not is_standard and starts_with(k.key, 'whsk_')
            then 'a key that begins with whsk_ signs by standard-webhooks and svix only'
            when has_base64_keys and starts_with(k.key, 'raw:')
                and not postrider.is_base64(substr(k.key, 5))
            then 'a key that begins with raw: is base64 behind it where signature.key is base64'
        end
    ) p (problem)
    where p.problem is not null
    order by k.place
    limit 1;
    if problem is not null then
        raise exception 'config.signing_keys: %', problem
            using errcode = '22023';
    end if;
end;
$$;
