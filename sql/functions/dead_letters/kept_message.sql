-- postrider.kept_message(message_id, target) → the message, from the log or from its dead letter
--
-- Internal. The log's row may be gone with its partition when an old dead letter is redriven; the
-- dead letter keeps a whole copy. No row when there is neither. Uses message_id, dead_letter_message.
create or replace function postrider.kept_message(p_message_id bigint, p_target integer)
returns table (
    created_at timestamptz,
    correlation_id uuid,
    priority smallint,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    replay_of bigint)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return query
    select
        m.created_at, m.correlation_id, m.priority, m.event_type, m.ordering_key, m.headers,
        m.metadata, m.payload, m.body, m.content_type, m.replay_of
    from postrider.message m
    where m.id >= p_message_id
    and m.id <= p_message_id
    order by m.id
    limit 1;
    if not found then
        return query
        select
            l.message_created_at, l.correlation_id, l.priority, l.event_type, l.ordering_key,
            l.headers, l.metadata, l.payload, l.body, l.content_type, l.replay_of
        from (
            select k.*
            from postrider.dead_letter k
            where k.message_id = p_message_id
            and k.target = p_target
            offset 0
        ) l
        order by l.id desc
        limit 1;
    end if;
end;
$$;
