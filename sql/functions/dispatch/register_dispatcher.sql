-- postrider.register_dispatcher(id, host, pid, version)
--
-- Internal. Makes a dispatcher known; its lease starts with its first heartbeat.
create or replace function postrider.register_dispatcher(
    p_dispatcher uuid, p_host text, p_pid integer, p_version text)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    insert into postrider.dispatcher (id, host, pid, version)
    values (p_dispatcher, p_host, p_pid, p_version);
$$;
