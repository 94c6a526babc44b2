-- postrider.keep_endpoint()
--
-- Internal: the trigger before every delete of an endpoint and before every truncate, whoever writes, also where
-- session_replication_role turns other triggers off (see is_replicating). Raises 55000 when messages wait
-- for it and nothing will bury them: drop_endpoint has made a job for that by then. Uses job_drop_running.
create or replace function postrider.keep_endpoint()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    found_name text;
begin
    if not postrider.is_replicating() then
        if tg_op = 'TRUNCATE' then
            select e.name
            into found_name
            from postrider.endpoints e
            where postrider.has_waiting_messages(e.id)
            order by e.id
            limit 1;
        elsif not exists (
                select
                from postrider.job j
                where j.kind = 'drop'
                and j.state = 'running'
                and j.endpoint_id = old.id
            )
            and postrider.has_waiting_messages(old.id)
        then
            found_name := old.name;
        end if;
    end if;
    if found_name is not null then
        raise exception 'Endpoint ''%'' has messages waiting for it', found_name
            using errcode = '55000',
                hint = 'postrider.drop_endpoint with p_force => true moves them to the dead letter queue.';
    end if;
    if tg_op = 'TRUNCATE' then
        return null;
    end if;
    return old;
end;
$$;

create or replace trigger keep
before delete on postrider.endpoints
for each row execute function postrider.keep_endpoint();

create or replace trigger keep_all
before truncate on postrider.endpoints
for each statement execute function postrider.keep_endpoint();

-- Replaced, a trigger fires as others do until this says otherwise.
alter table postrider.endpoints enable always trigger keep;
alter table postrider.endpoints enable always trigger keep_all;
