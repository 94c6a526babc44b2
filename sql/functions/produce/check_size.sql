-- postrider.check_size(parameter, value)
--
-- Internal. Null passes. Raises 22023 when the value is longer than the setting max_payload_size.
create or replace function postrider.check_size(p_parameter text, p_value jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    size constant bigint := octet_length(p_value::text);
    size_limit bigint;
begin
    -- Nothing is below the least value of the setting.
    if size <= 1024 then
        return;
    end if;
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_payload_size';
    if size > size_limit then
        raise exception '% must be at most % bytes (max_payload_size), got %', p_parameter,
            size_limit, size using errcode = '22023';
    end if;
end;
$$;
