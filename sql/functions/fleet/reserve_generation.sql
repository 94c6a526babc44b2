-- postrider.reserve_generation(generation) → whether this transaction may begin it
--
-- Internal, by check_generations. Holds its lock to the end of the transaction, in a mode that keeps nobody from
-- entering it. Not while somebody else has the same in mind, or leaves one that has the same lock.
create or replace function postrider.reserve_generation(p_generation integer)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    execute format(
        'lock table postrider.generation_lock_%s in share update exclusive mode nowait',
        p_generation % 32);
    return true;
exception
    when lock_not_available then return false;
end;
$$;
