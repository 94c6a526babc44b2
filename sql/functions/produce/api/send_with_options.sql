-- postrider.send_with_options(endpoint, payload, options…) → the message's id
--
-- Producer, application, admin. Writes one message for one endpoint in the caller's transaction: it exists if
-- and only if that transaction commits. Returns the id of the first message, and writes nothing, when
-- the idempotency key is held by a message with the same payload, even if the endpoint is disabled or full by now.
-- Raises 42704 (no such endpoint), 55000 (disabled), 22004 (null name or payload), 22023 (a value out of its range),
-- 23505 (the idempotency key belongs to another payload), 53400 (the log or the endpoint is full).
--
-- `p_priority` is an integer, although a smallint would do: a literal 5 is an integer, for which
-- PostgreSQL finds no function that takes a smallint; a second function that takes the other type
-- would make calls with untyped parameters, as many drivers send them, ambiguous.
--
-- The transaction id is taken before the sequence number: a reader may then conclude from a
-- transaction id how low a sequence number can be (postrider.heartbeat, sequence_floor).
create or replace function postrider.send_with_options(
    p_endpoint_name text,
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
    writer xid8;
    sequence_number bigint;
    shard integer;
    lane integer;
    message_id bigint;
    target integer;
begin
    if p_endpoint_name is null or p_payload is null or octet_length(p_payload::text) > 1024
        or p_priority is distinct from 0 or p_headers is not null or p_metadata is not null
        or p_expires_at is not null or p_scheduled_at is not null or p_ordering_key is not null
        or p_idempotency_key is not null
    then
        if p_endpoint_name is null then
            raise exception 'Endpoint name must not be null' using errcode = '22004';
        end if;
        perform postrider.check_options(
            octet_length(p_payload::text), p_priority, p_scheduled_at, p_idempotency_key,
            p_expires_at, p_ordering_key, p_headers, p_metadata);
        if p_idempotency_key is not null then
            -- Enabled or not: that counts for a new message only (append_message), and this may be a repeat.
            select e.direct_subscription_id
            into target
            from postrider.endpoints e
            where e.name = p_endpoint_name;
            if target is null then
                perform postrider.refuse_endpoint(p_endpoint_name);
            end if;
            return postrider.append_message(
                target, p_endpoint_name, null, p_payload, null, null, p_priority,
                p_scheduled_at, p_idempotency_key, p_correlation_id, p_expires_at, p_ordering_key,
                p_headers, p_metadata);
        end if;
    end if;
    if pg_sequence_last_value('postrider.message_sequence')
        >= pg_sequence_last_value('postrider.message_gate')
    then
        perform postrider.check_room(1);
    end if;

    writer := pg_current_xact_id();
    sequence_number := nextval('postrider.message_sequence');
    if p_ordering_key is null then
        shard := (sequence_number >> 6) % postrider.shard_count();
        lane := shard * 16 + p_priority;
    else
        shard := postrider.key_shard(p_ordering_key);
        lane := shard * 16 + 15;
    end if;

    insert into postrider.message (
        id, xid, scheduled_at, expires_at, correlation_id, lane, priority, targets, endpoint_name,
        ordering_key, headers, metadata, payload)
    select
        sequence_number * 1024 + lane, writer, p_scheduled_at, p_expires_at, p_correlation_id, lane,
        p_priority, array[e.direct_subscription_id], p_endpoint_name, p_ordering_key, p_headers,
        p_metadata, p_payload
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled
    and not (
        e.has_limit
        and postrider.is_marked_full(e.id, (e.config ->> 'max_queue_size')::bigint)
    )
    returning id into message_id;

    if message_id is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;

    -- The doorbell: the shared lock fails only while the shard's dispatcher sleeps on the exclusive
    -- one. See "Waking" in ARCHITECTURE.md.
    if not pg_try_advisory_xact_lock_shared(1886352244, shard) then
        perform postrider.ring('postrider', shard::text);
    end if;
    return message_id;
end;
$$;
