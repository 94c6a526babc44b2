-- postrider.drop_event_type(name) → true
--
-- Admin. Nothing can be published to it any more; what was published before is delivered. Logged in
-- event_log. Raises 22004 (a null name), 42704 (no such event type), 55000 (there are subscriptions
-- to exactly this event type; patterns do not count).
create or replace function postrider.drop_event_type(p_name text)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    dropped postrider.event_types;
    subscription_count bigint;
begin
    if p_name is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    select t.* into dropped from postrider.event_types t where t.name = p_name for update;
    if dropped.id is null then
        raise exception 'Event type ''%'' does not exist', p_name using errcode = '42704';
    end if;
    select count(*)
    into subscription_count
    from postrider.subscriptions s
    where s.event_type = p_name
    and s.ended_at is null;
    if subscription_count > 0 then
        raise exception 'Event type ''%'' has subscriptions (%)', p_name, subscription_count
            using errcode = '55000', hint = 'End them with postrider.unsubscribe first.';
    end if;
    delete from postrider.event_types t where t.id = dropped.id;
    insert into postrider.event_log (event, details)
    values (
        'event_type.dropped',
        jsonb_build_object(
            'event_type', p_name, 'id', dropped.id, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'description', dropped.description, 'schema', dropped.schema,
                'metadata', dropped.metadata)));
    return true;
end;
$$;
