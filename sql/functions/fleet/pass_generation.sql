-- postrider.pass_generation()
--
-- Internal, by check_generations: the newest generation that others can see is the present one from now on. Never back
-- to an older one, which may have been given up: so one at a time, and only for this moment, whoever calls it.
create or replace function postrider.pass_generation()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    newest integer;
begin
    lock table postrider.execution_generation in share update exclusive mode nowait;
    select g.id
    into newest
    from postrider.execution_generation g
    where g.xid is distinct from pg_current_xact_id_if_assigned()
    order by g.id desc
    limit 1;
    if newest > pg_sequence_last_value('postrider.present_generation') then
        perform setval('postrider.present_generation', newest);
    end if;
    -- Lets go of the lock; the sequence stays.
    raise sqlstate 'PR001';
exception
    when sqlstate 'PR001' or lock_not_available then null;
end;
$$;
