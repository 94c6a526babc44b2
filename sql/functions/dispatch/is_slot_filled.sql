-- postrider.is_slot_filled(table, slot) → whether there is anything in it
--
-- Internal: rotate_slots, empty_slot.
create or replace function postrider.is_slot_filled(p_table text, p_slot smallint)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    is_filled boolean;
begin
    execute format(
        'select exists (select from postrider.%I)', format('%s_%s', p_table, p_slot)) into is_filled;
    return is_filled;
end;
$$;
