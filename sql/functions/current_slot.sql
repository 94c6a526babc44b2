-- postrider.current_slot() → the slot that rotated tables are written to
--
-- Internal. Slots change every ten minutes; the one after the current is empty or waits to be
-- emptied (rotate_slots).
create or replace function postrider.current_slot()
returns smallint
language sql
stable
set search_path = pg_catalog
as $$
    select (floor(extract(epoch from clock_timestamp()) / 600)::bigint % 3)::smallint;
$$;
