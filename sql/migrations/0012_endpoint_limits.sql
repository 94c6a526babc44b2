-- Endpoints may have a limit of their own for what waits for them: the option max_queue_size.
alter table postrider.endpoints
    -- As much waits as the endpoint's own limit allows. Written by dispatchers (update_full_endpoints).
    add column is_full boolean not null default false;
create index endpoints_limited on postrider.endpoints (id)
where config ? 'max_queue_size';
create index endpoints_full on postrider.endpoints (id)
where is_full;
-- It has another parameter.
do $do$
declare
    former regprocedure;
begin
    for former in
        select p.oid::regprocedure
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace
        and p.proname = 'check_room'
    loop
        execute format('drop function %s', former);
    end loop;
end;
$do$;
