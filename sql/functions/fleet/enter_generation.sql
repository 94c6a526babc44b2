-- postrider.enter_generation() → the present generation of executions
--
-- Internal, by whoever writes a row into it. Holds a lock of it to the end of the transaction, so that nobody
-- gives it up before (is_generation_left). It may have passed before we had the lock, so we look again: the
-- last value of a sequence is the newest one whatever the snapshot.
create or replace function postrider.enter_generation()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    present integer;
begin
    loop
        present := pg_sequence_last_value('postrider.present_generation');
        execute format('lock table postrider.generation_lock_%s in row share mode', present % 32);
        exit when present = pg_sequence_last_value('postrider.present_generation');
    end loop;
    return present;
end;
$$;
