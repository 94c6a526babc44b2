-- postrider.is_delivery_wanted(filter, message_id, target, created_at, last_error, ordering_key) → whether the filter
-- of a job lets this waiting delivery through
--
-- Internal. The message is looked at only if its event type matters. Uses message_id, dead_letter_message.
create or replace function postrider.is_delivery_wanted(
    p_filter jsonb,
    p_message_id bigint,
    p_target integer,
    p_created_at timestamptz,
    p_last_error text,
    p_ordering_key text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known text;
begin
    if not coalesce(
        (not p_filter ? 'from' or p_created_at >= (p_filter ->> 'from')::timestamptz)
        and (not p_filter ? 'to' or p_created_at < (p_filter ->> 'to')::timestamptz)
        and (not p_filter ? 'error_pattern' or p_last_error ~ (p_filter ->> 'error_pattern'))
        and (not p_filter ? 'ordering_key' or p_ordering_key = p_filter ->> 'ordering_key'),
        false)
    then
        return false;
    end if;
    if not p_filter ? 'event_type' then
        return true;
    end if;
    select m.event_type
    into known
    from postrider.message m
    where m.id >= p_message_id
    and m.id <= p_message_id
    order by m.id
    limit 1;
    if not found then
        -- It was put back after its partition was dropped.
        select l.event_type
        into known
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = p_target
        order by l.id desc
        limit 1;
    end if;
    return coalesce(known = p_filter ->> 'event_type', false);
end;
$$;
