-- postrider.note_verb(verb, message_id, endpoint_names, reason)
--
-- Internal: what an operator has told single deliveries, in event_log.
create or replace function postrider.note_verb(
    p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text)
returns void
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    insert into postrider.event_log (event, endpoint_name, details)
    select
        case p_verb
            when 'retry' then 'delivery.retried'
            when 'fail' then 'delivery.failed'
            when 'skip' then 'delivery.skipped'
        end,
        n.name,
        jsonb_strip_nulls(
            jsonb_build_object('message_id', p_message_id, 'reason', p_reason, 'by', session_user))
        || jsonb_build_object(
            'before', jsonb_build_object('status', 'waiting'),
            'after', jsonb_build_object(
                'status', case p_verb when 'retry' then 'due' when 'fail' then 'failed' else 'skipped' end))
    from unnest(p_endpoint_names) n (name);
$$;
