-- postrider.key_mark(key) → a number of 32 bits that stands for an ordering key, or the queue of a pool
--
-- Internal. Everybody who may connect hears what is notified, so that no name is in it. FNV-1a, which dispatchers
-- (mark.rs of the core) and workers compute as well; of two keys with one mark both are looked at.
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
