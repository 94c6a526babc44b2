-- postrider.send_with_options(endpoint, payload, options…) → the message's id
--
-- Application, admin. Writes one message for one endpoint in the caller's transaction: it exists if
-- and only if that transaction commits. Raises 42704 (no such endpoint), 55000 (disabled), 22004
-- (null name or payload), 22023 (a value out of its range), 0A000 (an option of a later version).
--
-- The transaction id is taken before the sequence number: a reader may then conclude from a
-- transaction id how low a sequence number can be (postrider.heartbeat, sequence_floor).
create or replace function postrider.send_with_options(
    p_endpoint_name text,
    p_payload jsonb,
    p_priority smallint default 0,
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
    message_id bigint;
begin
    if p_endpoint_name is null or p_payload is null or octet_length(p_payload::text) > 1024
        or p_priority is distinct from 0 or p_headers is not null or p_expires_at is not null
        or p_scheduled_at is not null or p_idempotency_key is not null
        or p_ordering_key is not null
    then
        perform postrider.check_options(
            p_endpoint_name, array[p_payload], p_priority, p_scheduled_at, p_idempotency_key,
            p_expires_at, p_ordering_key, p_headers);
    end if;

    writer := pg_current_xact_id();
    sequence_number := nextval('postrider.message_sequence');
    shard := sequence_number % postrider.shard_count();

    insert into postrider.message (
        id, xid, expires_at, correlation_id, lane, targets, headers, metadata, payload)
    select
        sequence_number * 1024 + shard * 16, writer, p_expires_at, p_correlation_id, shard * 16,
        array[e.direct_subscription_id], p_headers, p_metadata, p_payload
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled
    returning id into message_id;

    if message_id is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;

    -- The doorbell: the shared lock fails only while the shard's dispatcher sleeps on the exclusive
    -- one. See "Waking" in ARCHITECTURE.md.
    if not pg_try_advisory_xact_lock_shared(1886352244, shard) then
        perform pg_notify('postrider', shard::text);
    end if;
    return message_id;
end;
$$;
