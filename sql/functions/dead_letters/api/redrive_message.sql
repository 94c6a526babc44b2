-- postrider.redrive_message(dlq_id) → the message's id
--
-- Operator, admin. Puts a dead letter back: same message id, no retries used, no expiry. The dead letter stays
-- and becomes `redriven`. Logged in event_log. Raises 22004 (a null id), 42704 (no such dead letter)
-- and 55000 (redriven before, erased, or its endpoint was dropped).
create or replace function postrider.redrive_message(p_dlq_id bigint)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    letter record;
begin
    if p_dlq_id is null then
        raise exception 'Dead letter id must not be null' using errcode = '22004';
    end if;
    -- Locked before it is looked at, so that of two calls the second says what the first has done.
    select l.message_id, l.status, l.endpoint_id, l.endpoint_name, l.erased_at
    into letter
    from postrider.dead_letter l
    where l.id = p_dlq_id
    for update;
    if not found then
        raise exception 'Dead letter % does not exist', p_dlq_id using errcode = '42704';
    end if;
    if letter.status <> 'failed' then
        raise exception 'Dead letter % has been redriven before', p_dlq_id using errcode = '55000';
    end if;
    if letter.erased_at is not null then
        raise exception 'Dead letter % was erased', p_dlq_id using errcode = '55000';
    end if;
    if postrider.redrive_letters(array[p_dlq_id], postrider.caller(), clock_timestamp(), '0') = 0 then
        raise exception 'Endpoint ''%'' of dead letter % has been dropped', letter.endpoint_name,
            p_dlq_id using errcode = '55000';
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'dlq.redriven', letter.endpoint_name,
        jsonb_build_object(
            'dlq_id', p_dlq_id, 'by', session_user,
            'before', jsonb_build_object('status', letter.status),
            'after', jsonb_build_object('status', 'redriven')));
    perform postrider.ring('postrider', 'deferred');
    return letter.message_id;
end;
$$;
