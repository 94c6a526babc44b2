-- postrider.known_consumer(name) → the consumer
--
-- Internal. Raises 22004 (a null name), 42704 (no such consumer).
create or replace function postrider.known_consumer(p_name text)
returns postrider.consumer
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.consumer;
begin
    if p_name is null then
        raise exception 'Consumer name must not be null' using errcode = '22004';
    end if;
    select c.* into known from postrider.consumer c where c.name = p_name;
    if not found then
        raise exception 'Consumer ''%'' does not exist', p_name using errcode = '42704';
    end if;
    return known;
end;
$$;
