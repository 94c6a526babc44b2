-- postrider.is_generation_left(generation) → whether nobody writes into it any more
--
-- Internal, by check_generations, about one that has passed: nobody enters it then, so a moment at which nobody has its
-- lock is enough. Keeps no lock, and waits for none.
create or replace function postrider.is_generation_left(p_generation integer)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    execute format(
        'lock table postrider.generation_lock_%s in exclusive mode nowait', p_generation % 32);
    -- Lets go of the lock.
    raise sqlstate 'PR001';
exception
    when sqlstate 'PR001' then return true;
    when lock_not_available then return false;
end;
$$;
