-- postrider.has_tick_turn(table, is_patient) → whether this transaction has the lock, of tick_turn or tick_passing
--
-- Internal: append_tick. Waits some moments for whoever has it, if it is to be patient. A lock of a relation gives
-- the transaction no id, and nobody else can have it.
create or replace function postrider.has_tick_turn(p_table text, p_is_patient boolean)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '50ms'
as $$
begin
    execute format(
        'lock table postrider.%I in share update exclusive mode%s', p_table,
        case when p_is_patient then '' else ' nowait' end);
    return true;
exception
    when lock_not_available then
        return false;
end;
$$;
