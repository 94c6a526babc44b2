-- postrider.has_session(dispatcher) → whether it is connected
--
-- Internal. By the name that its connections have. Anybody may give himself that name: it delays a takeover by
-- no more than it takes the others to see that the dispatcher is silent.
create or replace function postrider.has_session(p_dispatcher uuid)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (
        select
        from pg_stat_get_activity(null) a
        where a.application_name = 'postrider ' || p_dispatcher
        and a.datid = (select d.oid from pg_database d where d.datname = current_database())
    );
end;
$$;
