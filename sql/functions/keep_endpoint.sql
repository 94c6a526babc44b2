-- postrider.keep_endpoint()
--
-- Internal: the trigger before every delete of an endpoint, whoever writes. Raises 55000 when messages wait
-- for it and nothing will bury them: drop_endpoint has made a job for that by then. Uses job_drop_running.
create or replace function postrider.keep_endpoint()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if not exists (
            select
            from postrider.job j
            where j.kind = 'drop'
            and j.state = 'running'
            and j.endpoint_id = old.id
        )
        and postrider.has_waiting_messages(old.id)
    then
        raise exception 'Endpoint ''%'' has messages waiting for it', old.name
            using errcode = '55000',
                hint = 'postrider.drop_endpoint with p_force => true moves them to the dead letter queue.';
    end if;
    return old;
end;
$$;

create or replace trigger keep
before delete on postrider.endpoints
for each row execute function postrider.keep_endpoint();
