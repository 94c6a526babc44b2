-- postrider.kept_message(message_id, target) → the message, from the log or from its dead letter
--
-- Internal. The log's row may be gone with its partition when an old dead letter is redriven; the
-- dead letter keeps a whole copy. No row when there is neither.
create or replace function postrider.kept_message(p_message_id bigint, p_target integer)
returns table (
    created_at timestamptz,
    correlation_id uuid,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb)
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return query
    select m.created_at, m.correlation_id, m.ordering_key, m.headers, m.metadata, m.payload
    from postrider.message m
    where m.lane = (p_message_id & 1023)::smallint
    and m.id = p_message_id;
    if not found then
        return query
        select
            l.message_created_at, l.correlation_id, l.ordering_key, l.headers, l.metadata, l.payload
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = p_target
        order by l.id desc
        limit 1;
    end if;
end;
$$;
