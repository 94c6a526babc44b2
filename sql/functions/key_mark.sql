-- postrider.key_mark(key) → a number of 32 bits that stands for an ordering key
--
-- Internal. Everybody who may connect hears what is notified, so that an ordering key is not in it. FNV-1a,
-- which dispatchers compute as well (engine/wake.rs); of two keys with one mark both are looked at.
create or replace function postrider.key_mark(p_key text)
returns bigint
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    bytes bytea := convert_to(p_key, 'UTF8');
    mark bigint := 2166136261;
begin
    for i in 0 .. octet_length(bytes) - 1 loop
        mark := ((mark # get_byte(bytes, i)) * 16777619) & 4294967295;
    end loop;
    return mark;
end;
$$;
