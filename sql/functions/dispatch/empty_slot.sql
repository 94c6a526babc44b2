-- postrider.empty_slot(table, slot) → whether there was something in it, and is not any more
--
-- Internal: rotate_slots. Waits for nobody: whoever has read the table in a transaction keeps it from being
-- truncated until that ends, and an application's transaction is as long as it likes. Then rows are
-- deleted, some thousand each time; or, where deletes are published and the table has no replica identity, stay
-- until it can be truncated.
create or replace function postrider.empty_slot(p_table text, p_slot smallint)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    most_rows constant integer := 10000;
    part constant text := format('postrider.%I', format('%s_%s', p_table, p_slot));
    deleted_count bigint;
begin
    if not postrider.is_slot_filled(p_table, p_slot) then
        return false;
    end if;
    begin
        execute format('lock table %s in access exclusive mode nowait', part);
        execute format('truncate %s', part);
        return true;
    exception
        when lock_not_available then null;
    end;
    begin
        execute format(
            'delete from %1$s d where d.ctid = any (array(select k.ctid from %1$s k limit %2$s))', part,
            most_rows);
        get diagnostics deleted_count = row_count;
        return deleted_count < most_rows;
    exception
        when object_not_in_prerequisite_state then
            return false;
    end;
end;
$$;
