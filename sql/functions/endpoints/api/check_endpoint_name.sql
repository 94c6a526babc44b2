-- postrider.check_endpoint_name(name)
--
-- Application, operator, admin, monitor: the command line calls it for a filter that has found nothing. Raises 42704
-- when no endpoint has this name and nothing that is left says that one had it: neither the log nor dead
-- letters, jobs, replays, nor event_log, which is read last and whole. Null passes. Uses
-- endpoints_name_key, dead_letter_endpoint_name, message_endpoint_id.
create or replace function postrider.check_endpoint_name(p_name text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
begin
    if p_name is null
        or exists (select from postrider.endpoints e where e.name = p_name)
        or exists (select from postrider.dead_letter l where l.endpoint_name = p_name)
        or exists (select from postrider.message m where m.endpoint_name = p_name)
        or exists (select from postrider.job j where j.endpoint_name = p_name)
        or exists (select from postrider.replay r where r.endpoint_name = p_name)
        or exists (select from postrider.event_log l where l.endpoint_name = p_name)
    then
        return;
    end if;
    raise exception 'Endpoint ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;
