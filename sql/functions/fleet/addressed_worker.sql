-- postrider.addressed_worker(name, pool) → the worker of this name
--
-- Internal. One that has never been there gets a row, inactive, so that executions can wait for it. While
-- another transaction does the same, or removes it, waits for its end, some seconds. Raises 55006 (it has not ended).
create or replace function postrider.addressed_worker(p_name text, p_pool text)
returns postrider.worker
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '5s'
as $$
declare
    found_worker postrider.worker;
begin
    loop
        select w.* into found_worker from postrider.worker w where w.name = p_name;
        if found and found_worker.status <> 'inactive' then
            return found_worker;
        end if;
        begin
            -- Nobody removes it then before this transaction has ended.
            perform
            from postrider.worker w
            where w.id = found_worker.id
            for key share;
            if found then
                return found_worker;
            end if;
            with made as (
                insert into postrider.worker (name, pool, carrier, status, capacity, named_by)
                values (
                    p_name, coalesce(p_pool, 'default'), postrider.get_setting('execution_carrier'),
                    'inactive', 1, postrider.caller())
                on conflict (name) do nothing
                returning id
            )
            insert into postrider.worker_lock (worker_id)
            select m.id from made m;
        exception
            when lock_not_available then
                perform postrider.refuse_held_worker(p_name);
        end;
    end loop;
end;
$$;
