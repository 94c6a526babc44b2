-- postrider.append_message(direct_target, endpoint_name, event_type, content, options…) → its id
--
-- Internal: every way to write one message but the fast one of send_with_options, after its options
-- were checked. Either for one endpoint (its direct target and its name) or for an event type, to
-- all who subscribe to it now. Returns the holder's id, and writes nothing, when the idempotency key
-- is held, whatever has become of the endpoint since. Raises 23505, 55000 (the endpoint is disabled), 53400.
create or replace function postrider.append_message(
    p_direct_target integer,
    p_endpoint_name text,
    p_event_type postrider.event_types,
    p_payload jsonb,
    p_body bytea,
    p_content_type text,
    p_priority integer,
    p_scheduled_at timestamptz,
    p_idempotency_key text,
    p_correlation_id uuid,
    p_expires_at timestamptz,
    p_ordering_key text,
    p_headers jsonb,
    p_metadata jsonb)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    targets integer[] := array[p_direct_target];
    has_limit boolean := true;
    writer xid8;
    sequence_number bigint;
    shard integer;
    lane integer;
    message_id bigint;
    holder_id bigint;
    destination integer := coalesce(p_direct_target, -(p_event_type).id);
    payload_hash bytea;
begin
    -- Looked up first, although the claim below looks again: a repeated send then costs neither a
    -- sequence number, which would count as waiting, nor a transaction id.
    if p_idempotency_key is not null then
        payload_hash := sha256(coalesce(p_body, convert_to(p_payload::text, 'UTF8')));
        holder_id := postrider.idempotency_key_holder(
            destination, p_idempotency_key, payload_hash);
        if holder_id is not null then
            return holder_id;
        end if;
    end if;
    if p_direct_target is null then
        targets := postrider.matching_targets((p_event_type).patterns, p_payload);
    else
        select e.has_limit
        into has_limit
        from postrider.endpoints e
        where e.name = p_endpoint_name
        and e.enabled;
        if has_limit is null then
            perform postrider.refuse_endpoint(p_endpoint_name);
        end if;
    end if;
    perform postrider.check_room(
        greatest(cardinality(targets), 1), case when has_limit then targets else '{}' end);

    writer := pg_current_xact_id();
    -- As many numbers as deliveries, so that the newest number tells how much waits (update_gate).
    select max(nextval('postrider.message_sequence'))
    into sequence_number
    from generate_series(1, greatest(cardinality(targets), 1));
    if p_ordering_key is null then
        shard := (sequence_number >> 6) % postrider.shard_count();
        lane := shard * 16 + p_priority;
    else
        shard := postrider.key_shard(p_ordering_key);
        lane := shard * 16 + 15;
    end if;
    message_id := sequence_number * 1024 + lane;

    if p_idempotency_key is not null then
        holder_id := postrider.claim_idempotency_key(
            destination, p_idempotency_key, payload_hash, message_id);
        if holder_id <> message_id then
            return holder_id;
        end if;
    end if;

    insert into postrider.message (
        id, xid, scheduled_at, expires_at, correlation_id, lane, priority, targets, endpoint_name,
        event_type, ordering_key, idempotency_key, headers, metadata, payload, body, content_type)
    values (
        message_id, writer, p_scheduled_at, p_expires_at, p_correlation_id, lane, p_priority,
        targets, p_endpoint_name, (p_event_type).name, p_ordering_key, p_idempotency_key, p_headers,
        p_metadata, p_payload, p_body, p_content_type);

    if not pg_try_advisory_xact_lock_shared(1886352244, shard) then
        perform postrider.ring('postrider', shard::text);
    end if;
    return message_id;
end;
$$;
