-- postrider.check_event_type(name)
--
-- Application, operator, admin, monitor: the command line calls it for a filter that has found nothing. A name, not a
-- pattern. Raises 42704 when there is no such event type and nothing that is left says that there was:
-- neither event_log nor dead letters nor the log. Null passes. What is published is read last, and to its
-- end only for a name that nobody knows. Uses event_types_name_key, message_published_id.
create or replace function postrider.check_event_type(p_name text)
returns void
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
as $$
begin
    if p_name is null
        or exists (select from postrider.event_types t where t.name = p_name)
        or exists (
            select
            from postrider.event_log l
            where l.event = 'event_type.dropped'
            and l.details ->> 'event_type' = p_name
        )
        or exists (select from postrider.dead_letter l where l.event_type = p_name)
        or exists (select from postrider.message m where m.event_type = p_name)
    then
        return;
    end if;
    raise exception 'Event type ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;
