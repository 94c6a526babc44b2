-- postrider.current_slot() → the slot that rotated tables are written to
--
-- Internal. The one after it is empty or waits to be emptied (rotate_slots, which moves on). Uses rotation_pkey.
create or replace function postrider.current_slot()
returns smallint
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select r.slot
    from postrider.rotation r
    where r.is_only_row;
$$;
