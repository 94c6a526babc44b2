-- postrider.has_offset(offsets, offset) → whether one of the two-byte numbers in a row of
-- postrider.done is this one
--
-- Internal. `position` finds the bytes fast, but perhaps across two numbers; then it looks behind them.
-- The offsets are fetched once: looking at a stored value byte by byte fetches all of it each time.
create or replace function postrider.has_offset(p_offsets bytea, p_offset integer)
returns boolean
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    wanted constant bytea := int2send(p_offset::smallint);
    rest bytea := p_offsets || ''::bytea;
    place integer;
begin
    loop
        place := position(wanted in rest);
        if place % 2 = 1 or place = 0 then
            return place <> 0;
        end if;
        rest := substr(rest, place + 1);
    end loop;
end;
$$;
