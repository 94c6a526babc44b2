-- postrider.publish(event_type, payload, options…) → the message's id
--
-- Producer, application, admin. Writes one message for all endpoints that subscribe to the event type now, in
-- the caller's transaction; the options hold for each of them. Without any subscriber the message is
-- kept in the log. Raises what send_with_options raises, 42501 (an event type of Postrider itself, whose events
-- nobody else makes: who gets them relies on that), and 42704 (no such event type).
create or replace function postrider.publish(
    p_event_type text,
    p_payload jsonb,
    p_priority integer default 0,
    p_scheduled_at timestamptz default null,
    p_idempotency_key text default null,
    p_correlation_id uuid default null,
    p_expires_at timestamptz default null,
    p_ordering_key text default null,
    p_headers jsonb default null,
    p_metadata jsonb default null)
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.event_types;
begin
    if p_event_type is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    if p_event_type like 'postrider.%' then
        raise exception 'Event types that begin with ''postrider.'' are for what Postrider itself publishes, got ''%''',
            left(p_event_type, 200) using errcode = '42501';
    end if;
    perform postrider.check_options(
        octet_length(p_payload::text), p_priority, p_scheduled_at, p_idempotency_key, p_expires_at,
        p_ordering_key, p_headers, p_metadata);
    select t.* into known from postrider.event_types t where t.name = p_event_type;
    if known.id is null then
        raise exception 'Event type ''%'' does not exist', p_event_type using errcode = '42704';
    end if;
    return postrider.append_message(
        null, null, known, p_payload, null, null, p_priority, p_scheduled_at, p_idempotency_key,
        p_correlation_id, p_expires_at, p_ordering_key, p_headers, p_metadata);
end;
$$;
