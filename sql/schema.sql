-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by
-- `cargo xtask ci`. Partitions by month are left out. Dumped by PostgreSQL 15

-- Name: postrider; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA postrider;

-- Name: acquire_shards(uuid, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer) RETURNS TABLE(shard smallint, epoch bigint, state jsonb, backlog bigint, last_owner uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$
declare
    live uuid[];
begin
    perform pg_advisory_xact_lock(1886352244, 1000);
    select coalesce(array_agg(l.id), '{}') into live from postrider.live_dispatchers() l (id);
    if p_dispatcher <> all (live) then
        return;
    end if;

    return query
    with takeable as (
        select s.shard, s.owner
        from postrider.shard s
        where s.owner is null
        or s.owner <> all (live)
        order by s.owner nulls last, s.shard
        limit p_limit
    ), taken as (
        update postrider.shard s
        set owner = p_dispatcher, epoch = s.epoch + 1
        from takeable t
        where s.shard = t.shard
        returning s.shard, s.epoch, t.owner
    ), logged as (
        insert into postrider.event_log (event, details)
        select
            'lease.taken_over',
            jsonb_build_object('shards', jsonb_agg(t.shard), 'from', t.owner, 'by', p_dispatcher)
        from taken t
        where t.owner is not null
        group by t.owner
    )
    select t.shard, t.epoch, newest.state, newest.backlog, t.owner
    from taken t
    left join lateral (
        select c.state, c.backlogs[array_position(c.shards, t.shard)] as backlog
        from postrider.checkpoint c
        where c.shards @> array[t.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
end;
$$;

-- Name: alter_endpoint(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if alter_endpoint.endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if alter_endpoint.new_config is null then
        raise exception 'Config must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set config = alter_endpoint.new_config
    where e.name = alter_endpoint.endpoint_name;
    if not found then
        raise exception 'Endpoint ''%'' does not exist', alter_endpoint.endpoint_name
            using errcode = '42704';
    end if;
    return true;
end;
$$;

-- Name: announce_endpoint(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.announce_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    details jsonb := jsonb_build_object('by', session_user);
begin
    if tg_op = 'DELETE' then
        insert into postrider.event_log (event, endpoint_name, details)
        values ('endpoint.dropped', old.name, details || jsonb_build_object('id', old.id));
    elsif tg_op = 'INSERT' then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'endpoint.created', new.name,
            details || jsonb_build_object('id', new.id, 'protocol', new.protocol));
    elsif new.version = old.version then
        return null;
    elsif new.updated_at <> old.updated_at then
        if new.enabled <> old.enabled then
            update postrider.subscriptions s
            set is_endpoint_enabled = new.enabled
            where s.endpoint_id = new.id;
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                case when new.enabled then 'endpoint.enabled' else 'endpoint.disabled' end,
                new.name, details);
        end if;
        -- A config that differs in a secret only looks the same here.
        if new.enabled = old.enabled
            or (new.config, new.retry_policy) is distinct from (old.config, old.retry_policy)
        then
            insert into postrider.event_log (event, endpoint_name, details)
            values ('endpoint.altered', new.name, details);
        end if;
    end if;
    perform pg_notify('postrider', 'endpoints');
    return null;
end;
$$;

-- Name: event_types; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.event_types (
    id integer NOT NULL,
    name text NOT NULL,
    patterns text[] NOT NULL,
    description text,
    schema jsonb,
    metadata jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT event_types_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT event_types_name_check CHECK (((length(name) <= 200) AND (name ~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$'::text))),
    CONSTRAINT event_types_schema_check CHECK ((jsonb_typeof(schema) = ANY (ARRAY['object'::text, 'boolean'::text])))
);

-- Name: append_message(integer, text, postrider.event_types, jsonb, bytea, text, integer, timestamp with time zone, text, uuid, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    targets integer[] := array[p_direct_target];
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
    end if;
    perform postrider.check_room(greatest(cardinality(targets), 1));

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
        perform pg_notify('postrider', shard::text);
    end if;
    return message_id;
end;
$$;

-- Name: bury(bigint[], integer[], integer[], text[], integer[], text[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    buried integer;
begin
    insert into postrider.dead_letter (
        message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
        error_history, message_created_at, correlation_id, priority, event_type, ordering_key,
        headers, metadata, payload, body, content_type)
    select
        d.message_id, d.target, d.endpoint_id, coalesce(e.name, '(dropped)'), d.cause,
        d.retry_count, d.last_error, coalesce(h.history, '[]'), m.created_at, m.correlation_id,
        m.priority, m.event_type, m.ordering_key, m.headers, m.metadata, m.payload, m.body,
        m.content_type
    from unnest(p_message_ids, p_targets, p_endpoint_ids, p_causes, p_retry_counts, p_errors)
        d (message_id, target, endpoint_id, cause, retry_count, last_error)
    cross join lateral postrider.kept_message(d.message_id, d.target) m
    left join postrider.endpoints e on e.id = d.endpoint_id
    left join lateral (
        select jsonb_agg(
            jsonb_build_object(
                'attempt', a.number, 'at', a.started_at, 'duration_ms', a.duration_ms,
                'outcome', a.outcome, 'status', a.status, 'error', a.error)
            order by a.started_at, a.number) as history
        from postrider.attempt a
        where a.message_id = d.message_id
        and a.target = d.target
    ) h on true
    on conflict (message_id, target) where status = 'failed' do nothing;
    get diagnostics buried = row_count;
    return buried;
end;
$$;

-- Name: bury_deferred(integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury_deferred(p_endpoint_id integer, p_cause text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    message_ids bigint[];
    buried integer;
begin
    with given_up as (
        delete from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
        returning d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error
    )
    select
        array_agg(g.message_id),
        postrider.bury(
            array_agg(g.message_id), array_agg(g.target), array_agg(g.endpoint_id),
            array_agg(p_cause), array_agg(g.retry_count), array_agg(g.last_error))
    into message_ids, buried
    from given_up g;
    perform postrider.free_idempotency_keys(message_ids);
    return coalesce(buried, 0);
end;
$$;

-- Name: bury_orphans(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury_orphans() RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with recursive waiting as (
        (
            select d.endpoint_id
            from postrider.deferred d
            order by d.endpoint_id
            limit 1
        )
        union all
        select (
            select d.endpoint_id
            from postrider.deferred d
            where d.endpoint_id > w.endpoint_id
            order by d.endpoint_id
            limit 1
        )
        from waiting w
        where w.endpoint_id is not null
    )
    select coalesce(sum(postrider.bury_deferred(w.endpoint_id, 'endpoint_dropped')), 0)::integer
    from waiting w
    where w.endpoint_id is not null
    and not exists (select from postrider.endpoints e where e.id = w.endpoint_id);
$$;

-- Name: cancel_lock(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_lock(p_message_id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select ((p_message_id >> 10) & 2147483647)::integer;
$$;

-- Name: cancel_message(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_message(p_message_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    waiting integer[];
    ordering_keys text[];
    unread integer[];
    sequence_value bigint;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'cancel_message needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    perform pg_advisory_xact_lock(1886352245, postrider.cancel_lock(p_message_id));
    sequence_value := nextval('postrider.cancel_sequence');

    with given_up as (
        delete from postrider.deferred d
        where d.message_id = p_message_id
        and d.retry_count = 0
        and d.recovery_count = 0
        and not exists (
            select
            from postrider.attempt a
            where a.message_id = d.message_id
            and a.target = d.target
        )
        and not exists (
            select
            from postrider.dead_letter l
            where l.message_id = d.message_id
            and l.target = d.target
        )
        and not exists (
            select
            from postrider.claim c
            where c.message_ids @> array[d.message_id]
        )
        returning d.target, d.ordering_key, d.is_blocked
    )
    -- What was blocked has blocked nobody: what is before it does, and may be in flight.
    select
        coalesce(array_agg(g.target), '{}'),
        array_agg(g.ordering_key) filter (where g.ordering_key is not null and not g.is_blocked)
    into waiting, ordering_keys
    from given_up g;

    with marked as (
        insert into postrider.cancellation (message_id, target)
        select m.id, t.target
        from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        where m.id = p_message_id
        and t.target <> all (waiting)
        and not postrider.is_taken(m.id, m.xid, m.targets)
        and not exists (
            select
            from postrider.deferred d
            where d.message_id = m.id
            and d.target = t.target
        )
        and not exists (select from postrider.delivery_end(m.id, t.target))
        on conflict (message_id, target) do nothing
        returning target
    )
    select coalesce(array_agg(m.target), '{}') into unread from marked m;
    if waiting || unread = '{}' then
        return false;
    end if;

    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select p_message_id, t.target, coalesce(s.endpoint_id, 0), 'cancelled'
    from unnest(waiting || unread) t (target)
    left join postrider.subscriptions s on s.id = t.target;
    perform postrider.free_idempotency_keys(array[p_message_id]);
    -- What is behind it is the dispatcher's to let go: a row that we changed would be locked until our
    -- caller commits, and the dispatcher waits for no application.
    perform pg_notify('postrider', 'key ' || k.ordering_key)
    from (select distinct o.ordering_key from unnest(ordering_keys) o (ordering_key)) k;
    return true;
end;
$$;

-- Name: check_config_headers(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_config_headers(key text, headers jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    -- Those of HTTP itself and ours; `postrider-*` besides. The dispatcher has the same list.
    reserved constant text[] := array[
        'connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive',
        'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
        'transfer-encoding', 'upgrade', 'webhook-id', 'webhook-signature', 'webhook-timestamp'];
    header record;
    problem text;
begin
    for header in
        select h.key as name, h.value
        from jsonb_each_text(check_config_headers.headers) h
        order by h.key collate "C"
    loop
        problem := case
            when header.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' then
                format('`%s` is not a valid header name',
                    regexp_replace(left(header.name, 64), '[[:cntrl:]]', '?', 'g'))
            when header.value ~ '[\u0001-\u0008\u000a-\u001f\u007f]' then
                format('header `%s` must not contain control characters', header.name)
            when lower(header.name) = any (reserved)
            or starts_with(lower(header.name), 'postrider-') then
                format('header `%s` is reserved', lower(header.name))
        end;
        if problem is not null then
            raise exception 'config.%: %', check_config_headers.key, problem
                using errcode = '22023';
        end if;
    end loop;
end;
$_$;

-- Name: check_options(bigint, integer, timestamp with time zone, text, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    size_limit bigint;
    header record;
begin
    if p_largest_payload is null then
        raise exception 'Payload must not be null' using errcode = '22004';
    end if;
    if p_priority is null or p_priority not between 0 and 10 then
        raise exception 'Priority must be between 0 and 10, got %', coalesce(p_priority::text, 'null')
            using errcode = '22023';
    end if;
    if not isfinite(p_scheduled_at) then
        raise exception 'p_scheduled_at must be a finite time, got %', p_scheduled_at
            using errcode = '22023';
    end if;
    if p_expires_at <= clock_timestamp() then
        raise exception 'p_expires_at must be in the future, got %', p_expires_at
            using errcode = '22023';
    end if;
    if p_expires_at <= p_scheduled_at then
        raise exception 'p_expires_at must be after p_scheduled_at, got % and %',
            p_expires_at, p_scheduled_at using errcode = '22023';
    end if;
    if length(p_idempotency_key) not between 1 and 255 then
        raise exception 'p_idempotency_key must have 1 to 255 characters, got %',
            length(p_idempotency_key) using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %',
            length(p_ordering_key) using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' then
        raise exception 'p_metadata must be an object, got %', jsonb_typeof(p_metadata)
            using errcode = '22023';
    end if;

    if p_headers is not null then
        if jsonb_typeof(p_headers) <> 'object' then
            raise exception 'p_headers must be an object of text values, got %',
                jsonb_typeof(p_headers) using errcode = '22023';
        end if;
        -- Longer ones would never be sent.
        if octet_length(p_headers::text) > 32768 then
            raise exception 'p_headers must not be longer than 32768 bytes, got %',
                octet_length(p_headers::text) using errcode = '22023';
        end if;
        for header in select h.key, h.value from jsonb_each(p_headers) h loop
            if header.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,200}$' then
                raise exception 'p_headers: "%" is not a header name', header.key
                    using errcode = '22023';
            end if;
            if jsonb_typeof(header.value) <> 'string'
                or (header.value #>> '{}') ~ '[\u0001-\u0008\u000a-\u001f\u007f]'
            then
                raise exception 'p_headers.% must be text without control characters', header.key
                    using errcode = '22023';
            end if;
        end loop;
    end if;

    -- The setting's lowest value is 1 KiB: smaller payloads need no look-up.
    if p_largest_payload > 1024 then
        select s.value::bigint
        into size_limit
        from postrider.setting s
        where s.name = 'max_payload_size';
        if p_largest_payload > size_limit then
            raise exception 'Payload of % bytes exceeds max_payload_size of % bytes',
                p_largest_payload, size_limit using errcode = '22023';
        end if;
    end if;
end;
$_$;

-- Name: check_room(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_room(p_count bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    used bigint := coalesce(pg_sequence_last_value('postrider.message_sequence'), 0);
    backlog bigint;
    size_limit bigint;
begin
    if used + p_count <= pg_sequence_last_value('postrider.message_gate') then
        return;
    end if;
    -- The gate may be older than the last checkpoint, or a change of the setting.
    if used + p_count <= postrider.update_gate() then
        return;
    end if;
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    backlog := size_limit - (pg_sequence_last_value('postrider.message_gate') - used);
    raise exception
        '[postrider] Queue backpressure: % more on top of about % waiting messages would exceed limit %',
        p_count, greatest(backlog, 0), size_limit
        using errcode = '53400',
            hint = 'Send again when messages have been delivered, or raise the setting max_queue_size.';
end;
$$;

-- Name: setting; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.setting (
    name text NOT NULL,
    value text NOT NULL,
    default_value text NOT NULL,
    kind text NOT NULL,
    minimum bigint,
    maximum bigint,
    choices text[],
    unit text,
    description text NOT NULL,
    CONSTRAINT setting_kind_check CHECK ((kind = ANY (ARRAY['integer'::text, 'switch'::text, 'choice'::text, 'networks'::text])))
);

-- Name: check_setting(postrider.setting, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    trimmed text := btrim(p_value);
    expected text;
    networks text;
begin
    case p_setting.kind
    when 'integer' then
        if trimmed ~ '^[+-]?[0-9]{1,18}$'
            and trimmed::bigint between p_setting.minimum and p_setting.maximum
        then
            return trimmed::bigint::text;
        end if;
        expected := concat_ws(' ', 'between', p_setting.minimum, 'and', p_setting.maximum, p_setting.unit);
    when 'switch' then
        if trimmed in ('on', 'off') then
            return trimmed;
        end if;
        expected := 'on or off';
    when 'choice' then
        if trimmed = any (p_setting.choices) then
            return trimmed;
        end if;
        expected := 'one of ' || array_to_string(p_setting.choices, ', ');
    when 'networks' then
        if trimmed in ('on', 'off') then
            return trimmed;
        end if;
        expected := 'off, on, or up to 1000 networks such as 10.0.0.0/8, fd00::/8';
        begin
            select string_agg(network(btrim(n.network)::inet)::text, ', ' order by n.position)
            into networks
            from unnest(string_to_array(trimmed, ',')) with ordinality n (network, position)
            having count(*) <= 1000;
        exception
            when invalid_text_representation then null;
        end;
        if networks is not null then
            return networks;
        end if;
    end case;
    raise exception 'Setting ''%'' must be %, got ''%''', p_setting.name, expected, left(p_value, 200)
        using errcode = '22023';
end;
$_$;

-- Name: claim_idempotency_key(integer, text, bytea, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    holder_id bigint;
begin
    loop
        insert into postrider.idempotency_key (destination, key, message_id, payload_hash)
        values (p_destination, p_key, p_message_id, p_payload_hash)
        on conflict (destination, key) do nothing;
        if found then
            return p_message_id;
        end if;
        -- It may have been freed meanwhile.
        holder_id := postrider.idempotency_key_holder(p_destination, p_key, p_payload_hash);
        if holder_id is not null then
            return holder_id;
        end if;
    end loop;
end;
$$;

-- Name: create_endpoint(text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    direct_id integer;
    created_id integer;
begin
    if create_endpoint.name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if create_endpoint.protocol is null then
        raise exception 'Protocol must not be null' using errcode = '22004';
    end if;
    if create_endpoint.config is null then
        raise exception 'Config must not be null' using errcode = '22004';
    end if;
    if create_endpoint.name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$' then
        raise exception
            'Endpoint name must be 1 to 200 letters, digits, or _ . : -, beginning with a letter or digit, got ''%''',
            left(create_endpoint.name, 200) using errcode = '22023';
    end if;

    direct_id := nextval(pg_get_serial_sequence('postrider.subscriptions', 'id'));
    insert into postrider.endpoints (name, protocol, config, direct_subscription_id)
    values (
        create_endpoint.name, create_endpoint.protocol, create_endpoint.config, direct_id)
    on conflict on constraint endpoints_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Endpoint ''%'' already exists', create_endpoint.name
            using errcode = '42710';
    end if;
    insert into postrider.subscriptions (id, endpoint_id)
    overriding system value
    values (direct_id, created_id);
    return created_id;
end;
$_$;

-- Name: create_event_type(text, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_event_type(p_name text, p_description text DEFAULT NULL::text, p_schema jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    created_id integer;
begin
    if p_name is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    if length(p_name) > 200 or p_name !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$' then
        raise exception
            'Event type must be 1 to 200 letters, digits, _ or - in parts divided by dots, got ''%''',
            left(p_name, 200) using errcode = '22023';
    end if;
    if jsonb_typeof(p_schema) not in ('object', 'boolean') then
        raise exception 'p_schema must be a JSON Schema (an object or a boolean), got %',
            jsonb_typeof(p_schema) using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' then
        raise exception 'p_metadata must be an object, got %', jsonb_typeof(p_metadata)
            using errcode = '22023';
    end if;

    insert into postrider.event_types (name, patterns, description, schema, metadata)
    select
        p_name,
        array[p_name, '*'] || array(
            select array_to_string(n.parts[1:i], '.') || '.*'
            from (select string_to_array(p_name, '.')) n (parts)
            cross join lateral generate_series(1, cardinality(n.parts) - 1) i
        ),
        p_description, p_schema, p_metadata
    on conflict on constraint event_types_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Event type ''%'' already exists', p_name using errcode = '42710';
    end if;
    insert into postrider.event_log (event, details)
    values (
        'event_type.created',
        jsonb_build_object('event_type', p_name, 'id', created_id, 'by', session_user));
    return created_id;
end;
$_$;

-- Name: current_slot(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.current_slot() RETURNS smallint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    select (floor(extract(epoch from clock_timestamp()) / 600)::bigint % 3)::smallint;
$$;

-- Name: delivery_end(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.delivery_end(p_message_id bigint, p_target integer) RETURNS TABLE(status text, at timestamp with time zone, retry_count integer, last_error text)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if exists (
        select
        from postrider.deferred d
        where d.message_id = p_message_id
        and d.target = p_target
    ) then
        return;
    end if;
    return query
    select 'failed', l.failed_at, l.retry_count, l.last_error
    from postrider.dead_letter l
    where l.message_id = p_message_id
    and l.target = p_target
    and l.status = 'failed';
    if found then
        return;
    end if;
    return query
    select e.reason, e.at, null::integer, null::text
    from postrider.ended e
    where e.message_id = p_message_id
    and e.target = p_target
    order by e.at desc
    limit 1;
    if found then
        return;
    end if;
    return query
    select 'completed', p.at, null::integer, null::text
    from postrider.partly_done p
    where p.message_id = p_message_id
    and p.targets @> array[p_target]
    limit 1;
    if found then
        return;
    end if;
    return query
    select 'completed', d.at, null::integer, null::text
    from postrider.done d
    where d.bucket = p_message_id >> 22
    and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    order by d.at desc
    limit 1;
end;
$$;

-- Name: describe_end(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 5
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known record;
    history record;
begin
    select f.status, f.at, f.retry_count, f.last_error
    into known
    from postrider.delivery_end(p_message_id, p_target) f;
    select count(*) as failed_count, (array_agg(a.error order by a.started_at desc))[1] as error
    into history
    from postrider.attempt a
    where a.message_id = p_message_id
    and a.target = p_target
    and a.outcome <> 'accepted';
    return jsonb_build_object(
        'status', coalesce(known.status, 'failed'), 'at', known.at,
        'retry_count', coalesce(known.retry_count, history.failed_count),
        'last_error', coalesce(known.last_error, history.error));
end;
$$;

-- Name: direct_target(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.direct_target(p_endpoint_name text) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    target integer;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.direct_subscription_id
    into target
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled;
    if target is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;
    return target;
end;
$$;

-- Name: disable_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.disable_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set enabled = false
    where e.name = p_endpoint_name
    and e.enabled;
    if found then
        return true;
    end if;
    if not exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return false;
end;
$$;

-- Name: done_before(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.done_before() RETURNS xid8
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select (min(coalesce(newest.done_xmin, '3')::text::numeric))::text::xid8
    from postrider.shard s
    left join lateral (
        select c.done_xmin
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
$$;

-- Name: done_map(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.done_map() RETURNS bytea
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with finished as materialized (
        select (d.bucket << 12) + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1) as number
        from (
            -- Fetched once, not byte by byte.
            select o.bucket, o.offsets || ''::bytea as offsets
            from postrider.done o
            where o.bucket >= postrider.done_map_start() >> 12
            offset 0
        ) d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    )
    select string_agg(
        case when f.number is null then '\x00'::bytea else '\x01'::bytea end, ''::bytea order by n)
    from (select postrider.done_map_start(), s.last_value from postrider.message_sequence s)
        b (start, last)
    cross join lateral generate_series(b.start + 1, b.last) n
    left join (select distinct number from finished) f on f.number = n;
$$;

-- Name: done_map_start(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.done_map_start() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select greatest(postrider.pending_floor() >> 10, s.last_value - 5000, 0)
    from postrider.message_sequence s;
$$;

-- Name: drop_endpoint(text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    dropped postrider.endpoints;
    has_deferred boolean;
    has_unread boolean;
begin
    if drop_endpoint.endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.*
    into dropped
    from postrider.endpoints e
    where e.name = drop_endpoint.endpoint_name
    for update;
    if dropped.id is null then
        raise exception 'Endpoint ''%'' does not exist', drop_endpoint.endpoint_name
            using errcode = '42704';
    end if;

    select exists (select from postrider.deferred d where d.endpoint_id = dropped.id)
    into has_deferred;
    select coalesce(bool_or(postrider.has_unread_messages(s.id)), false)
    into has_unread
    from postrider.subscriptions s
    where s.endpoint_id = dropped.id;
    if (has_deferred or has_unread) and p_force is not true then
        raise exception 'Endpoint ''%'' has messages waiting for it', dropped.name
            using errcode = '55000',
                hint = 'p_force => true moves them to the dead letter queue.';
    end if;
    perform postrider.bury_deferred(dropped.id, 'endpoint_dropped');
    delete from postrider.endpoints e where e.id = dropped.id;
    return true;
end;
$$;

-- Name: drop_event_type(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_event_type(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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
        jsonb_build_object('event_type', p_name, 'id', dropped.id, 'by', session_user));
    return true;
end;
$$;

-- Name: edit_distance(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.edit_distance(a text, b text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    name_max constant integer := 64;
    a_letters constant text[] := string_to_array(left(edit_distance.a, name_max), null);
    b_letters constant text[] := string_to_array(left(edit_distance.b, name_max), null);
    -- The distances from the letters of a so far to each beginning of b, the empty one first.
    distances integer[] := array(select generate_series(0, cardinality(b_letters)));
    diagonal integer;
    above integer;
begin
    for line in 1 .. cardinality(a_letters) loop
        diagonal := distances[1];
        distances[1] := line;
        for place in 1 .. cardinality(b_letters) loop
            above := distances[place + 1];
            distances[place + 1] := least(
                diagonal + (a_letters[line] <> b_letters[place])::integer,
                distances[place] + 1,
                above + 1);
            diagonal := above;
        end loop;
    end loop;
    return distances[cardinality(b_letters) + 1];
end;
$$;

-- Name: enable_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.enable_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set enabled = true
    where e.name = p_endpoint_name
    and not e.enabled;
    if found then
        return true;
    end if;
    if not exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return false;
end;
$$;

-- Name: enable_fast_mode(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.enable_fast_mode() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform set_config('synchronous_commit', 'off', true);
end;
$$;

-- Name: end_stale_flushes(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.end_stale_flushes() RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select count(pg_terminate_backend(a.pid))::integer
    from pg_stat_activity a
    where a.datname = current_database()
    and a.usename = current_user
    and a.application_name like 'postrider %'
    and a.pid <> pg_backend_pid()
    and a.application_name not in (
        select 'postrider ' || l.id
        from postrider.live_dispatchers() l (id)
    )
    and exists (
        select
        from pg_locks k
        where k.pid = a.pid
        and k.locktype = 'advisory'
        and k.classid = 1886352244
        and k.objid = 1000
        and k.granted
    );
$$;

-- Name: ended_ceiling(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.ended_ceiling() RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    newest_bucket bigint := (select d.bucket from postrider.done d order by d.bucket desc limit 1);
    newest_offset integer;
begin
    select max(get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1))
    into newest_offset
    from postrider.done d
    cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    where d.bucket = newest_bucket;
    return greatest(
        0, (((newest_bucket << 12) | newest_offset) << 10) | 1023,
        (
            select p.message_id
            from postrider.partly_done p
            order by p.message_id desc
            limit 1
        ),
        (
            select e.message_id
            from postrider.ended e
            order by e.message_id desc
            limit 1
        ),
        (
            select l.message_id
            from postrider.dead_letter l
            order by l.message_id desc
            limit 1
        ));
end;
$$;

-- Name: flush(uuid, smallint[], bigint[], bigint[], bytea[], bigint[], integer[], bigint[], integer[], integer[], timestamp with time zone[], bigint[], integer[], integer[], timestamp with time zone[], timestamp with time zone[], text[], text[], boolean[], bigint[], integer[], bigint[], integer[], integer[], integer[], timestamp with time zone[], integer[], text[], integer[], text[], bigint[], integer[], integer[], text[], integer[], text[], bigint[], integer[], integer[], text[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost <> '{}' then
        return lost;
    end if;

    if cardinality(p_done_buckets) > 0 then
        insert into postrider.done (bucket, at, offsets)
        select d.bucket, clock_timestamp(), d.offsets
        from unnest(p_done_buckets, p_done_offsets) d (bucket, offsets);
    end if;

    if cardinality(p_partly_ids) > 0 then
        insert into postrider.partly_done (message_id, at, targets)
        select p.message_id, clock_timestamp(), array_agg(p.target)
        from unnest(p_partly_ids, p_partly_targets) p (message_id, target)
        group by p.message_id;
    end if;

    if cardinality(p_attempt_ids) > 0 then
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error)
        select
            a.message_id, a.target, a.endpoint_id, a.number, a.started_at, a.duration_ms, a.outcome,
            a.status, a.error
        from unnest(
            p_attempt_ids, p_attempt_targets, p_attempt_endpoints, p_attempt_numbers,
            p_attempt_started_at, p_attempt_duration_ms, p_attempt_outcomes, p_attempt_statuses,
            p_attempt_errors)
            a (message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error);
    end if;

    if cardinality(p_dead_ids) > 0 then
        perform postrider.bury(
            p_dead_ids, p_dead_targets, p_dead_endpoints, p_dead_causes, p_dead_retry_counts,
            p_dead_errors);
    end if;

    if cardinality(p_ended_ids) > 0 then
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select e.message_id, e.target, e.endpoint_id, e.reason
        from unnest(p_ended_ids, p_ended_targets, p_ended_endpoints, p_ended_reasons)
            e (message_id, target, endpoint_id, reason);
    end if;

    if cardinality(p_settled_ids) > 0 then
        delete from postrider.deferred w
        using unnest(p_settled_ids, p_settled_targets) s (message_id, target)
        where w.message_id = s.message_id
        and w.target = s.target;
    end if;

    if cardinality(p_deferred_ids) > 0 then
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error, ordering_key, is_blocked)
        select
            d.message_id, d.target,
            -- 0: the dispatcher had not heard of the endpoint yet.
            case
                when d.endpoint_id <> 0 then d.endpoint_id
                else coalesce(
                    (select s.endpoint_id from postrider.subscriptions s where s.id = d.target), 0)
            end,
            (d.message_id & 1023) >> 4,
            case
                when d.is_blocked then coalesce(d.expires_at, 'infinity')
                else least(
                    coalesce(
                        d.run_at, clock_timestamp() + d.wait_ms * interval '1 millisecond'),
                    d.expires_at)
            end,
            d.retry_count, d.recovery_count, d.created_at, d.expires_at, d.last_error,
            d.ordering_key, d.is_blocked
        from unnest(
            p_deferred_ids, p_deferred_targets, p_deferred_endpoints, p_deferred_run_at,
            p_deferred_wait_ms, p_deferred_retry_counts, p_deferred_recovery_counts,
            p_deferred_created_at, p_deferred_expires_at, p_deferred_errors, p_deferred_keys,
            p_deferred_blocked)
            d (message_id, target, endpoint_id, run_at, wait_ms, retry_count, recovery_count,
            created_at, expires_at, last_error, ordering_key, is_blocked)
        on conflict (message_id, target) do update
        set run_at = excluded.run_at,
            retry_count = excluded.retry_count,
            recovery_count = excluded.recovery_count,
            last_error = coalesce(excluded.last_error, deferred.last_error),
            is_blocked = excluded.is_blocked;
    end if;

    if cardinality(p_read_ids) > 0 then
        delete from postrider.cancellation c
        using unnest(p_read_ids, p_read_targets) r (message_id, target)
        where c.message_id = r.message_id
        and c.target = r.target;
    end if;

    if cardinality(p_keyed_ids) > 0 then
        perform postrider.free_idempotency_keys(p_keyed_ids);
    end if;
    return '{}';
end;
$$;

-- Name: forget_idempotency_keys(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_idempotency_keys() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    forgotten integer;
begin
    delete from postrider.idempotency_key k
    using (
        select o.destination, o.key
        from postrider.idempotency_key o
        where o.ended_at is not null
        and o.created_at + postrider.idempotency_window() <= clock_timestamp()
        order by o.ended_at
        limit 10000
        for update skip locked
    ) old
    where k.destination = old.destination
    and k.key = old.key;
    get diagnostics forgotten = row_count;
    return forgotten;
end;
$$;

-- Name: free_idempotency_keys(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    if postrider.idempotency_window() = interval '0' then
        with ended as materialized (
            select k.destination, k.key
            from postrider.idempotency_key k
            join postrider.message m on m.id = k.message_id
            where k.message_id = any (p_message_ids)
            and k.ended_at is null
            and postrider.has_ended_everywhere(m.id, m.targets)
            for update of k skip locked
        )
        delete from postrider.idempotency_key k
        using ended e
        where k.destination = e.destination
        and k.key = e.key;
    else
        with ended as materialized (
            select k.destination, k.key
            from postrider.idempotency_key k
            join postrider.message m on m.id = k.message_id
            where k.message_id = any (p_message_ids)
            and k.ended_at is null
            and postrider.has_ended_everywhere(m.id, m.targets)
            for update of k skip locked
        )
        update postrider.idempotency_key k
        set ended_at = clock_timestamp()
        from ended e
        where k.destination = e.destination
        and k.key = e.key;
    end if;
end;
$$;

-- Name: get_setting(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.get_setting(name text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_value text;
begin
    if get_setting.name is null then
        raise exception 'Setting name must not be null' using errcode = '22004';
    end if;
    select s.value into found_value from postrider.setting s where s.name = get_setting.name;
    if found_value is null then
        raise exception 'Setting ''%'' does not exist', get_setting.name using errcode = '42704';
    end if;
    return found_value;
end;
$$;

-- Name: has_ended(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 20
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (select from postrider.delivery_end(p_message_id, p_target));
end;
$$;

-- Name: has_ended_everywhere(bigint, integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return not exists (
        select
        from unnest(p_targets) t (target)
        where not exists (select from postrider.delivery_end(p_message_id, t.target))
    );
end;
$$;

-- Name: has_offset(bytea, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_offset(p_offsets bytea, p_offset integer) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    wanted constant bytea := int2send(p_offset::smallint);
    rest bytea := p_offsets || ''::bytea;
    place integer;
begin
    loop
        place := position(wanted in rest);
        if place % 2 = 1 or place = 0 then
            return place <> 0;
        end if;
        rest := substr(rest, place + 1);
    end loop;
end;
$$;

-- Name: has_unread_messages(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_unread_messages(p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    since xid8 := postrider.done_before();
begin
    return exists (
        select
        from postrider.message m
        where m.xid >= since
        and p_target = any (m.targets)
        and not exists (select from postrider.delivery_end(m.id, p_target))
        and not exists (
            select
            from postrider.deferred d
            where d.message_id = m.id
            and d.target = p_target
        )
    );
end;
$$;

-- Name: heartbeat(uuid, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb) RETURNS TABLE(is_alive boolean, lease_ms bigint, takeable_count integer, share integer, shards smallint[], epochs bigint[], now_us bigint, floor_xid xid8, sequence_floor bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lease interval;
    newest timestamptz;
    live uuid[];
    live_count integer;
    shard_count integer;
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    select make_interval(secs => s.value::double precision)
    into lease
    from postrider.setting s
    where s.name = 'stale_recovery_timeout';

    select h.lease_until
    into newest
    from postrider.heartbeat h
    where h.dispatcher = p_dispatcher
    order by h.seq desc
    limit 1;
    is_alive := newest is null or newest > clock_timestamp();
    is_alive := is_alive
        and exists (select from postrider.dispatcher d where d.id = p_dispatcher);

    if is_alive then
        -- Read before this transaction has an id: whoever gets a higher one numbers above it.
        -- A sequence that nobody has used yet says 1 although 1 is still to come.
        select s.last_value - (not s.is_called)::integer
        into sequence_floor
        from postrider.message_sequence s;
        floor_xid := pg_current_xact_id();
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
        values (
            postrider.current_slot(), p_dispatcher, clock_timestamp(), clock_timestamp() + lease,
            floor_xid, heartbeat.sequence_floor, p_statistics);
        delete from postrider.dispatcher d
        where d.id not in (select l.id from postrider.live_dispatchers() l (id))
        and d.started_at < clock_timestamp() - lease
        and not exists (select from postrider.shard s where s.owner = d.id);
    end if;

    select coalesce(array_agg(l.id), '{}') into live from postrider.live_dispatchers() l (id);
    lease_ms := (extract(epoch from lease) * 1000)::bigint;
    live_count := greatest(cardinality(live), 1);
    select
        count(*),
        count(*) filter (where s.owner is null or s.owner <> all (live)),
        coalesce(array_agg(s.shard order by s.shard) filter (where s.owner = p_dispatcher), '{}'),
        coalesce(array_agg(s.epoch order by s.shard) filter (where s.owner = p_dispatcher), '{}')
    into shard_count, takeable_count, shards, epochs
    from postrider.shard s;
    -- What does not divide evenly goes to the first of the living, so that nobody stays without.
    select shard_count / greatest(live_count, 1)
        + (count(*) < shard_count % greatest(live_count, 1))::integer
    into share
    from unnest(live) l (id)
    where l.id < p_dispatcher;
    now_us := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    return next;
end;
$$;

-- Name: idempotency_key_holder(integer, text, bytea); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    holder postrider.idempotency_key;
begin
    select k.*
    into holder
    from postrider.idempotency_key k
    where k.destination = p_destination
    and k.key = p_key;
    if holder.key is null then
        return null;
    end if;

    if holder.created_at + postrider.idempotency_window() <= clock_timestamp()
        and (
            holder.ended_at is not null
            or not exists (
                select
                from postrider.message m
                where m.id = holder.message_id
                and (m.targets = '{}' or not postrider.has_ended_everywhere(m.id, m.targets))
            )
        )
    then
        delete from postrider.idempotency_key k
        where k.destination = p_destination
        and k.key = p_key
        and k.message_id = holder.message_id;
        return null;
    end if;

    if holder.payload_hash <> p_payload_hash then
        raise exception 'Idempotency key ''%'' conflict: same key with different payload', p_key
            using errcode = '23505',
                hint = format('The key belongs to message %s.', holder.message_id);
    end if;
    return holder.message_id;
end;
$$;

-- Name: idempotency_window(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.idempotency_window() RETURNS interval
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return make_interval(secs => s.value::double precision)
    from postrider.setting s
    where s.name = 'idempotency_window';
end;
$$;

-- Name: is_claimed(bigint, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (
        select
        from (
            select c.message_ids, c.targets, c.retry_counts
            from postrider.claim c
            where c.owner = (
                select s.owner
                from postrider.shard s
                where s.shard = (p_message_id & 1023) >> 4
            )
            order by c.seq desc
            limit 200
        ) newest
        where newest.message_ids @> array[p_message_id]
        and exists (
            select
            from unnest(newest.message_ids, newest.targets, newest.retry_counts)
                r (message_id, target, retry_count)
            where r.message_id = p_message_id
            and r.target = p_target
            and r.retry_count = p_retry_count
        )
    );
end;
$$;

-- Name: is_deferred(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 10
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (
        select
        from postrider.deferred d
        where d.message_id = p_message_id
        and d.target = p_target
    );
end;
$$;

-- Name: is_done(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_done(p_message_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select exists (
        select
        from postrider.done d
        where d.bucket = p_message_id >> 22
        and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    );
$$;

-- Name: is_foreign(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_foreign() RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        coalesce(
            (select m.xid from postrider.message m order by m.xid desc limit 1)
            >= pg_snapshot_xmax(pg_current_snapshot()), false)
        or coalesce(
            (select c.done_xmin from postrider.checkpoint c order by c.seq desc limit 1)
            > pg_snapshot_xmax(pg_current_snapshot()), false);
$$;

-- Name: is_http_url(text, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_http_url(url text, maximum bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    select length(is_http_url.url) <= is_http_url.maximum
    and is_http_url.url ~ '^[!-~]+$'
    and is_http_url.url !~ '[#"<>\\`]'
    -- scheme, bracketed IPv6 address or host name, port, path or query
    and is_http_url.url ~* ('^https?://'
        '(\[[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*\]|[a-z0-9_][a-z0-9_.-]{0,252})'
        '(:[0-9]{1,5})?'
        '([/?].*)?$')
    and coalesce(
        substring(is_http_url.url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer
            between 1 and 65535,
        true);
$_$;

-- Name: is_position_behind(jsonb, xid8, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select pg_visible_in_snapshot(p_xid, (p_position ->> 'base')::pg_snapshot)
        or coalesce(
            p_message_id <= (p_position #>> '{window,id}')::bigint
            and pg_visible_in_snapshot(p_xid, (p_position #>> '{window,top}')::pg_snapshot), false);
$$;

-- Name: is_taken(bigint, xid8, integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lane integer := p_message_id & 1023;
    whole jsonb;
    lane_state jsonb;
    skipped jsonb;
begin
    select c.state
    into whole
    from postrider.checkpoint c
    where c.shards @> array[(lane >> 4)::smallint]
    order by c.seq desc
    limit 1;
    -- A group without lanes stands for all that no other group names.
    select g.value -> 'state'
    into lane_state
    from jsonb_array_elements(whole) g
    where g.value -> 'lanes' @> to_jsonb(lane)
    or not g.value ? 'lanes'
    order by g.value ? 'lanes' desc
    limit 1;
    if lane_state is null then
        return false;
    end if;
    if cardinality(p_targets) = 1 then
        skipped := lane_state #> array['lag', 'skipped', p_targets[1]::text];
        if skipped is not null
            and not postrider.is_position_behind(skipped, p_xid, p_message_id)
        then
            return postrider.is_position_behind(
                lane_state #> '{lag,position}', p_xid, p_message_id);
        end if;
    end if;
    return postrider.is_position_behind(lane_state -> 'tail', p_xid, p_message_id);
end;
$$;

-- Name: kept_message(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) RETURNS TABLE(created_at timestamp with time zone, correlation_id uuid, priority smallint, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return query
    select
        m.created_at, m.correlation_id, m.priority, m.event_type, m.ordering_key, m.headers,
        m.metadata, m.payload, m.body, m.content_type
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        return query
        select
            l.message_created_at, l.correlation_id, l.priority, l.event_type, l.ordering_key,
            l.headers, l.metadata, l.payload, l.body, l.content_type
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = p_target
        order by l.id desc
        limit 1;
    end if;
end;
$$;

-- Name: key_shard(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.key_shard(p_ordering_key text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
declare
    digest bytea := sha256(convert_to(p_ordering_key, 'UTF8'));
begin
    return (get_byte(digest, 0) * 256 + get_byte(digest, 1)) % postrider.shard_count();
end;
$$;

-- Name: live_dispatchers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.live_dispatchers() RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until > clock_timestamp();
$$;

-- Name: lost_shards(uuid, smallint[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) RETURNS smallint[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select coalesce(array_agg(r.shard), '{}')
    from unnest(p_shards, p_epochs) r (shard, epoch)
    where not exists (
        select
        from postrider.shard s
        where s.shard = r.shard
        and s.epoch = r.epoch
        and s.owner = p_dispatcher
    );
$$;

-- Name: maintain_archive_partitions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer DEFAULT 3) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '2s'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
    parent text;
    month timestamptz;
    partition text;
    created integer := 0;
begin
    if p_months_ahead is null or p_months_ahead not between 0 and 120 then
        raise exception 'p_months_ahead must be between 0 and 120, got %',
            coalesce(p_months_ahead::text, 'null') using errcode = '22023';
    end if;
    perform pg_advisory_xact_lock(1886352244, 1002);
    foreach parent in array array['message', 'done', 'partly_done', 'ended', 'attempt'] loop
        for month in
            select generate_series(
                date_trunc('month', now()),
                date_trunc('month', now()) + make_interval(months => p_months_ahead),
                interval '1 month')
        loop
            partition := format('%s_%s', parent, to_char(month, 'YYYY_MM'));
            continue when to_regclass('postrider.' || partition) is not null;
            execute format(
                'create table postrider.%I (like postrider.%I including all)', partition, parent);
            execute format(
                'alter table postrider.%I attach partition postrider.%I for values from (%L) to (%L)',
                parent, partition, month, month + interval '1 month');
            created := created + 1;
        end loop;
    end loop;
    return created;
end;
$$;

-- Name: matching_targets(text[], jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.matching_targets(p_patterns text[], p_payload jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return coalesce(array_agg(first.id order by first.id), '{}')
    from (
        select min(s.id) as id
        from postrider.subscriptions s
        where s.event_type = any (p_patterns)
        and s.ended_at is null
        and s.enabled
        and s.is_endpoint_enabled
        and (s.filter is null or p_payload @> s.filter)
        group by s.endpoint_id
    ) first;
end;
$$;

-- Name: message_status(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.message_status(p_message_id bigint) RETURNS TABLE(endpoint_name text, status text, retry_count integer, next_retry_at timestamp with time zone, last_error text, completed_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known record;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.xid, m.targets, m.endpoint_name, m.scheduled_at
    into known
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        select
            null::xid8 as xid, array_agg(l.target) as targets, null::text as endpoint_name,
            null::timestamptz as scheduled_at
        into known
        from (
            select distinct l.target
            from postrider.dead_letter l
            where l.message_id = p_message_id
        ) l;
        if known.targets is null then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
    end if;

    return query
    select
        coalesce(known.endpoint_name, e.name, letter.endpoint_name),
        case
            when d.message_id is not null and (
                d.is_blocked
                or d.run_at > now()
                or not postrider.is_claimed(d.message_id, d.target, d.retry_count)
            ) then 'pending'
            when d.message_id is not null then 'processing'
            when ending.status is not null then ending.status
            -- Its dead letter was cleaned up.
            when known.xid is null or known.xid < postrider.done_before() then 'failed'
            when postrider.is_taken(p_message_id, known.xid, known.targets) then 'processing'
            else 'pending'
        end,
        coalesce(d.retry_count, ending.retry_count, history.failed_count),
        case
            when d.message_id is not null then
                case when not d.is_blocked and d.run_at > now() then d.run_at end
            when ending.status is null and known.scheduled_at > now() then known.scheduled_at
        end,
        coalesce(d.last_error, ending.last_error, history.error),
        case when ending.status = 'completed' then ending.at end
    from unnest(known.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    left join postrider.endpoints e on e.id = s.endpoint_id
    left join postrider.deferred d on d.message_id = p_message_id and d.target = t.target
    left join lateral postrider.delivery_end(p_message_id, t.target) ending on true
    cross join lateral (
        select
            count(*)::integer as failed_count,
            (array_agg(a.error order by a.started_at desc))[1] as error
        from postrider.attempt a
        where a.message_id = p_message_id
        and a.target = t.target
        and a.outcome <> 'accepted'
    ) history
    left join lateral (
        select l.endpoint_name
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = t.target
        order by l.id desc
        limit 1
    ) letter on true
    order by t.target;
end;
$$;

-- Name: pending_floor(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pending_floor() RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    since xid8 := postrider.done_before();
begin
    return coalesce(
        (
            select (h.sequence_floor << 10) | 1023
            from postrider.heartbeat h
            where h.xid < since
            order by h.xid desc
            limit 1
        ), 0);
end;
$$;

-- Name: prepare_endpoint(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.prepare_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    secret_names text[];
    secrets jsonb := '{}';
    whole jsonb;
begin
    if tg_op = 'UPDATE' then
        if (new.id, new.name, new.protocol, new.direct_subscription_id)
            is distinct from (old.id, old.name, old.protocol, old.direct_subscription_id)
        then
            raise exception
                'Name and protocol of endpoint ''%'' cannot be changed: create another one', old.name
                using errcode = '22023';
        end if;
        if (new.config, new.retry_policy, new.enabled)
            is not distinct from (old.config, old.retry_policy, old.enabled)
        then
            return new;
        end if;
        select s.config into secrets from postrider.endpoint_secret s where s.endpoint_id = old.id;
        new.version := old.version + 1;
        new.updated_at := clock_timestamp();
    end if;

    if new.retry_policy is not null then
        perform postrider.validate_retry_policy(new.retry_policy);
    end if;
    if tg_op = 'UPDATE' and new.config is not distinct from old.config then
        return new;
    end if;

    select coalesce(array_agg(o.name), '{}')
    into secret_names
    from postrider.transport_option o
    where o.protocol = new.protocol
    and o.secret;
    whole := new.config;
    if jsonb_typeof(whole) = 'object' then
        whole := coalesce(secrets, '{}') || whole;
        whole := whole - array(
            select n.name
            from unnest(secret_names) n (name)
            where whole -> n.name = 'null'
        );
    end if;
    perform postrider.validate_endpoint_config(new.protocol, whole);

    new.config := whole - secret_names;
    select jsonb_object_agg(w.key, w.value)
    into secrets
    from jsonb_each(whole) w
    where w.key = any (secret_names);
    if secrets is null then
        delete from postrider.endpoint_secret s where s.endpoint_id = new.id;
    else
        insert into postrider.endpoint_secret (endpoint_id, config)
        values (new.id, secrets)
        on conflict (endpoint_id) do update
        set config = excluded.config;
    end if;
    return new;
end;
$$;

-- Name: publish(text, jsonb, integer, timestamp with time zone, text, uuid, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.event_types;
begin
    if p_event_type is null then
        raise exception 'Event type must not be null' using errcode = '22004';
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

-- Name: publish_batch(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.publish_batch(p_events jsonb) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    fields constant text[] := array[
        'event_type', 'payload', 'priority', 'scheduled_at', 'idempotency_key', 'correlation_id',
        'expires_at', 'ordering_key', 'headers', 'metadata'];
    given record;
    field record;
    nearest text;
    priority integer;
    scheduled_at timestamptz;
    expires_at timestamptz;
    correlation_id uuid;
    message_ids bigint[] := '{}';
    place bigint;
    state text;
    message text;
    hint text;
begin
    if p_events is null then
        raise exception 'Events must not be null' using errcode = '22004';
    end if;
    if jsonb_typeof(p_events) <> 'array' then
        raise exception 'p_events must be an array of objects, got %', jsonb_typeof(p_events)
            using errcode = '22023';
    end if;
    begin
        for given in
            select e.event, e.position - 1 as place
            from jsonb_array_elements(p_events) with ordinality e (event, position)
            order by e.position
        loop
            place := given.place;
            if jsonb_typeof(given.event) <> 'object' then
                raise exception 'p_events[%] must be an object, got %',
                    given.place, jsonb_typeof(given.event) using errcode = '22023';
            end if;
            for field in select f.key, jsonb_typeof(f.value) as type from jsonb_each(given.event) f loop
                if field.key <> all (fields) then
                    select f.name
                    into nearest
                    from unnest(fields) f (name)
                    order by postrider.edit_distance(field.key, f.name), f.name collate "C"
                    limit 1;
                    raise exception 'p_events[%].% is not a known key (did you mean %?)',
                        given.place, left(field.key, 64), nearest using errcode = '22023';
                end if;
                if field.key = 'priority' and field.type not in ('number', 'null')
                    or field.key not in ('payload', 'priority', 'headers', 'metadata')
                    and field.type not in ('string', 'null')
                then
                    raise exception 'p_events[%].% must be %, got %',
                        given.place, field.key,
                        case field.key when 'priority' then 'a number' else 'a text' end,
                        field.type using errcode = '22023';
                end if;
            end loop;
            priority := coalesce((given.event ->> 'priority')::integer, 0);
            scheduled_at := (given.event ->> 'scheduled_at')::timestamptz;
            expires_at := (given.event ->> 'expires_at')::timestamptz;
            correlation_id := (given.event ->> 'correlation_id')::uuid;
            message_ids := message_ids || postrider.publish(
                given.event ->> 'event_type', given.event -> 'payload', priority, scheduled_at,
                given.event ->> 'idempotency_key', correlation_id, expires_at,
                given.event ->> 'ordering_key', nullif(given.event -> 'headers', 'null'),
                nullif(given.event -> 'metadata', 'null'));
        end loop;
    exception
        -- Whatever is wrong with an event, the error says with which one.
        when others then
            get stacked diagnostics
                state = returned_sqlstate, message = message_text, hint = pg_exception_hint;
            if left(state, 2) = '22' and state <> '22004' then
                state := '22023';
            end if;
            if left(message, 9) <> 'p_events[' then
                message := format('p_events[%s]: %s', place, message);
            end if;
            if hint = '' then
                raise exception using errcode = state, message = message;
            end if;
            raise exception using errcode = state, message = message, hint = hint;
    end;
    return message_ids;
end;
$$;

-- Name: rebase_log(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.rebase_log() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'auto'
    SET enable_seqscan TO 'on'
    SET enable_bitmapscan TO 'on'
    SET enable_hashjoin TO 'on'
    SET enable_mergejoin TO 'on'
    AS $$
declare
    unfinished bigint;
    positions jsonb;
begin
    perform pg_advisory_xact_lock(1886352244, 1000);
    if not postrider.is_foreign() then
        return null;
    end if;
    lock table postrider.message in share row exclusive mode;

    create temporary table finished on commit drop as
    select distinct (d.bucket << 12)
        + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1) as sequence_number
    from postrider.done d
    cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i;
    analyze finished;

    -- What is open of messages with several targets waits from now on: read again, they would go to all.
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, expires_at, ordering_key,
        is_blocked)
    select
        o.id, t.target, coalesce(s.endpoint_id, 0), o.lane >> 4,
        least(greatest(clock_timestamp(), o.scheduled_at), o.expires_at), o.created_at, o.expires_at,
        o.ordering_key, o.ordering_key is not null
    from postrider.message o
    cross join lateral unnest(o.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    left join finished f on f.sequence_number = o.id >> 10
    where cardinality(o.targets) > 1
    and f.sequence_number is null
    and not exists (select from postrider.delivery_end(o.id, t.target))
    on conflict (message_id, target) do nothing;

    with marked as (
        update postrider.message m
        set xid = case when settled.is_finished then '3'::xid8 else pg_current_xact_id() end
        from (
            select
                o.id,
                f.sequence_number is not null
                or not exists (
                    select
                    from unnest(o.targets) t (target)
                    where not exists (
                        select
                        from postrider.deferred d
                        where d.message_id = o.id
                        and d.target = t.target
                    )
                    and not exists (
                        select
                        from postrider.dead_letter l
                        where l.message_id = o.id
                        and l.target = t.target
                    )
                    and not exists (
                        select
                        from postrider.ended e
                        where e.message_id = o.id
                        and e.target = t.target
                    )
                    and not exists (
                        select
                        from postrider.partly_done p
                        where p.message_id = o.id
                        and p.targets @> array[t.target]
                    )
                ) as is_finished
            from postrider.message o
            left join finished f on f.sequence_number = o.id >> 10
        ) settled
        where m.id = settled.id
        returning settled.is_finished
    )
    select count(*) filter (where not m.is_finished) into unfinished from marked m;

    -- Whatever was read before is forgotten; everyone starts behind what is finished.
    update postrider.shard s set owner = null, epoch = s.epoch + 1;
    delete from postrider.dispatcher;
    delete from postrider.heartbeat;
    delete from postrider.claim;
    delete from postrider.checkpoint;
    -- Everyone begins at the start of the log, and only what is not finished counts as waiting.
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        postrider.current_slot(), '00000000-0000-0000-0000-000000000000',
        array_agg(s.shard order by s.shard), '3', array_agg(n.last_value - unfinished), '[]'
    from postrider.shard s
    cross join postrider.message_sequence n;
    perform postrider.update_gate();
    insert into postrider.event_log (event, details)
    values ('log.rebased', jsonb_build_object('unfinished_messages', unfinished));
    return unfinished;
end;
$$;

-- Name: recover_claims(uuid, smallint[], bigint[], uuid, bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    recovered integer;
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return 0;
    end if;
    with claimed as (
        select distinct r.message_id, r.target, r.retry_count
        from postrider.claim c
        cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
            r (message_id, target, retry_count)
        where c.owner = p_last_owner
        and r.message_id <> all (p_spared)
    )
    update postrider.deferred d
    set run_at = clock_timestamp(),
        retry_count = d.retry_count + 1,
        recovery_count = d.recovery_count + 1,
        is_blocked = false,
        last_error = '[RETRYABLE] Recovered from stale processing state'
    from claimed c
    where d.message_id = c.message_id
    and d.target = c.target
    and d.retry_count = c.retry_count
    and d.shard = any (p_shards)
    and not exists (
        select
        from postrider.deferred b
        where b.ordering_key = d.ordering_key
        and b.endpoint_id = d.endpoint_id
        and b.message_id < d.message_id
    );
    get diagnostics recovered = row_count;
    return recovered;
end;
$$;

-- Name: recover_messages(uuid, smallint[], bigint[], bigint[], boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    recovered integer;
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return 0;
    end if;
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
        message_created_at, expires_at, last_error, ordering_key, is_blocked)
    select
        m.id, t.target, coalesce(s.endpoint_id, 0), m.lane >> 4,
        case
            when o.is_blocked then coalesce(m.expires_at, 'infinity')
            when m.scheduled_at > clock_timestamp() then least(m.scheduled_at, m.expires_at)
            else clock_timestamp()
        end,
        o.retry_count, o.retry_count, m.created_at, m.expires_at,
        case when o.retry_count = 1 then '[RETRYABLE] Recovered from stale processing state' end,
        m.ordering_key, o.is_blocked
    from unnest(p_message_ids) i (id)
    join postrider.message m on m.id = i.id
    cross join lateral unnest(m.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    cross join lateral (
        select
            m.ordering_key is not null,
            (
                p_attempted
                and m.ordering_key is null
                and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
            )::integer
    ) o (is_blocked, retry_count)
    where not exists (
        select
        from postrider.deferred d
        where d.message_id = m.id
        and d.target = t.target
    )
    and not exists (select from postrider.delivery_end(m.id, t.target))
    on conflict (message_id, target) do nothing;
    get diagnostics recovered = row_count;

    -- What was cancelled before it was read has been read now, and has ended.
    delete from postrider.cancellation c
    where c.message_id = any (p_message_ids)
    and exists (select from postrider.delivery_end(c.message_id, c.target));

    update postrider.deferred d
    set is_blocked = false,
        run_at = clock_timestamp(),
        retry_count = d.retry_count + p_attempted::integer,
        recovery_count = d.recovery_count + p_attempted::integer,
        last_error = case
            when p_attempted then '[RETRYABLE] Recovered from stale processing state'
            else d.last_error
        end
    from postrider.message m
    where d.message_id = any (p_message_ids)
    and d.is_blocked
    and m.id = d.message_id
    and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
    and not exists (
        select
        from postrider.deferred b
        where b.ordering_key = d.ordering_key
        and b.endpoint_id = d.endpoint_id
        and b.message_id < d.message_id
    );
    return recovered;
end;
$$;

-- Name: redrive_all(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_all() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.redrive_letters(array(
        select l.id
        from postrider.dead_letter l
        join postrider.endpoints e on e.id = l.endpoint_id
        where l.status = 'failed'
    ));
$$;

-- Name: redrive_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_endpoint(p_endpoint_name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    wanted integer;
begin
    select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
    if wanted is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return postrider.redrive_letters(array(
        select l.id
        from postrider.dead_letter l
        where l.endpoint_id = wanted
        and l.status = 'failed'
    ));
end;
$$;

-- Name: redrive_letters(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_letters(p_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    redriven integer;
begin
    with put_back as (
        update postrider.dead_letter l
        set status = 'redriven', redriven_at = clock_timestamp()
        where l.id = any (p_ids)
        and l.status = 'failed'
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at, l.ordering_key
    )
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
    select
        p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
        clock_timestamp() - interval '1 microsecond' * (count(*) over () - row_number() over (
            order by p.message_created_at, p.message_id)),
        p.message_created_at, p.ordering_key
    from put_back p;
    get diagnostics redriven = row_count;
    perform pg_notify('postrider', 'deferred');
    return redriven;
end;
$$;

-- Name: redrive_message(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_message(p_dlq_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    redriven bigint;
begin
    if postrider.redrive_letters(array[p_dlq_id]) = 0 then
        if exists (select from postrider.dead_letter l where l.id = p_dlq_id) then
            raise exception 'Dead letter % has been redriven before', p_dlq_id
                using errcode = '55000';
        end if;
        raise exception 'Dead letter % does not exist', p_dlq_id using errcode = '42704';
    end if;
    select l.message_id into redriven from postrider.dead_letter l where l.id = p_dlq_id;
    return redriven;
end;
$$;

-- Name: refuse_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_endpoint(p_endpoint_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' is disabled', p_endpoint_name using errcode = '55000';
    end if;
    raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
end;
$$;

-- Name: register_dispatcher(uuid, text, integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    insert into postrider.dispatcher (id, host, pid, version)
    values (p_dispatcher, p_host, p_pid, p_version);
$$;

-- Name: release_keys(text[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_keys(p_ordering_keys text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    released integer;
begin
    with first as (
        select distinct on (w.ordering_key, w.endpoint_id) w.message_id, w.target, w.is_blocked
        from postrider.deferred w
        where w.ordering_key = any (p_ordering_keys)
        order by w.ordering_key, w.endpoint_id, w.message_id
    ), held as (
        -- One that is locked is being released by somebody else, who may take any time.
        select d.message_id, d.target
        from first f
        join postrider.deferred d on d.message_id = f.message_id and d.target = f.target
        where f.is_blocked
        and d.is_blocked
        for update of d skip locked
    )
    update postrider.deferred d
    set is_blocked = false,
        run_at = least(d.expires_at, greatest(clock_timestamp(), (
            select m.scheduled_at
            from postrider.message m
            where m.id = d.message_id
        )))
    from held h
    where d.message_id = h.message_id
    and d.target = h.target;
    get diagnostics released = row_count;
    return released;
end;
$$;

-- Name: release_shards(uuid, smallint[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    released integer;
begin
    perform pg_advisory_xact_lock(1886352244, 1000);
    update postrider.shard s
    set owner = null
    from unnest(p_shards, p_epochs) r (shard, epoch)
    where s.shard = r.shard
    and s.epoch = r.epoch
    and s.owner = p_dispatcher;
    get diagnostics released = row_count;
    perform pg_notify('postrider', 'shards');
    return released;
end;
$$;

-- Name: reset_setting(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.reset_setting(name text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_value text;
begin
    if reset_setting.name is null then
        raise exception 'Setting name must not be null' using errcode = '22004';
    end if;
    select s.default_value
    into found_value
    from postrider.setting s
    where s.name = reset_setting.name;
    if found_value is null then
        raise exception 'Setting ''%'' does not exist', reset_setting.name using errcode = '42704';
    end if;
    return postrider.set_setting(reset_setting.name, found_value);
end;
$$;

-- Name: rotate_slots(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.rotate_slots() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
declare
    next_slot smallint := (postrider.current_slot() + 1) % 3;
    emptied integer := 0;
    is_filled boolean;
    is_needed boolean;
begin
    if not pg_try_advisory_xact_lock(1886352244, 1003) then
        return 0;
    end if;
    select exists (
        select
        from postrider.shard s
        cross join lateral (
            select c.slot
            from postrider.checkpoint c
            where c.shards @> array[s.shard]
            order by c.seq desc
            limit 1
        ) newest
        where newest.slot = next_slot
    ) into is_needed;
    select exists (select from postrider.checkpoint c where c.slot = next_slot) into is_filled;
    if is_filled and not is_needed then
        execute format('truncate postrider.checkpoint_%s', next_slot);
        emptied := emptied + 1;
    end if;

    select exists (select from postrider.claim c where c.slot = next_slot) into is_filled;
    if is_filled then
        execute format('truncate postrider.claim_%s', next_slot);
        emptied := emptied + 1;
    end if;

    select exists (
        select
        from postrider.heartbeat h
        where h.slot = next_slot
        and h.lease_until > clock_timestamp()
    ) into is_needed;
    select exists (select from postrider.heartbeat h where h.slot = next_slot) into is_filled;
    if is_filled and not is_needed then
        execute format('truncate postrider.heartbeat_%s', next_slot);
        emptied := emptied + 1;
    end if;
    return emptied;
end;
$$;

-- Name: save_checkpoint(uuid, smallint[], bigint[], xid8, bigint[], jsonb, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
        values (
            postrider.current_slot(), p_dispatcher, p_shards, p_done_xmin, p_backlogs, p_state);
        if p_updates_gate then
            perform postrider.update_gate();
        end if;
    end if;
    return lost;
end;
$$;

-- Name: save_claim(uuid, smallint[], bigint[], bigint[], integer[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        values (
            postrider.current_slot(), p_dispatcher, p_message_ids, p_targets, p_retry_counts);
    end if;
    return lost;
end;
$$;

-- Name: send(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send(endpoint_name text, payload jsonb) RETURNS bigint
    LANGUAGE sql
    AS $$
    select postrider.send_with_options(endpoint_name, payload);
$$;

-- Name: send_batch(text, jsonb[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) RETURNS bigint[]
    LANGUAGE sql
    AS $$
    select postrider.send_batch_with_priority(p_endpoint_name, p_payloads);
$$;

-- Name: send_batch_with_priority(text, jsonb[], integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer DEFAULT 0) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    writer xid8;
    target integer := postrider.direct_target(p_endpoint_name);
    message_ids bigint[];
    largest bigint;
    rung integer;
begin
    if p_payloads is null then
        raise exception 'Payloads must not be null' using errcode = '22004';
    end if;
    select case when count(*) = count(p.payload) then coalesce(max(octet_length(p.payload::text)), 0) end
    into largest
    from unnest(p_payloads) p (payload);
    perform postrider.check_options(largest, p_priority);
    perform postrider.check_room(cardinality(p_payloads));

    writer := pg_current_xact_id();
    with numbered as materialized (
        select nextval('postrider.message_sequence') as sequence_number, p.payload
        from unnest(p_payloads) with ordinality p (payload, position)
        order by p.position
    ), placed as (
        select
            n.sequence_number,
            (((n.sequence_number >> 6) % postrider.shard_count()) * 16 + p_priority)::smallint as lane,
            n.payload
        from numbered n
    ), inserted as (
        insert into postrider.message (id, xid, lane, priority, targets, endpoint_name, payload)
        select
            p.sequence_number * 1024 + p.lane, writer, p.lane, p_priority, array[target],
            p_endpoint_name, p.payload
        from placed p
        returning id
    )
    select coalesce(array_agg(i.id order by i.id), '{}')
    into message_ids
    from inserted i;

    -- One ring per shard whose dispatcher sleeps; the rest hold their shared lock until commit.
    select count(pg_notify('postrider', s.shard::text))
    into rung
    from (
        select distinct ((i.id & 1023) >> 4)::integer as shard
        from unnest(message_ids) i (id)
    ) s
    where not pg_try_advisory_xact_lock_shared(1886352244, s.shard);
    return message_ids;
end;
$$;

-- Name: send_bytes(text, bytea, text, integer, timestamp with time zone, text, uuid, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_content_type is null then
        raise exception 'Content type must not be null' using errcode = '22004';
    end if;
    if length(p_content_type) > 255
        or p_content_type !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]+/[A-Za-z0-9!#$%&''*+.^_`|~-]+([ \t]*;[\u0020-\u007e]*)?$'
    then
        raise exception
            'p_content_type must be a media type of at most 255 characters such as image/png, got ''%''',
            left(p_content_type, 100) using errcode = '22023';
    end if;
    perform postrider.check_options(
        octet_length(p_body), p_priority, p_scheduled_at, p_idempotency_key, p_expires_at,
        p_ordering_key, p_headers, p_metadata);
    return postrider.append_message(
        postrider.direct_target(p_endpoint_name), p_endpoint_name, null, null, p_body,
        p_content_type, p_priority, p_scheduled_at, p_idempotency_key, p_correlation_id,
        p_expires_at, p_ordering_key, p_headers, p_metadata);
end;
$_$;

-- Name: send_with_options(text, jsonb, integer, timestamp with time zone, text, uuid, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    writer xid8;
    sequence_number bigint;
    shard integer;
    lane integer;
    message_id bigint;
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
            return postrider.append_message(
                postrider.direct_target(p_endpoint_name), p_endpoint_name, null, p_payload, null,
                null, p_priority, p_scheduled_at, p_idempotency_key, p_correlation_id, p_expires_at,
                p_ordering_key, p_headers, p_metadata);
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

-- Name: set_setting(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.set_setting(name text, value text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.setting;
    checked text;
    gate bigint;
begin
    if set_setting.name is null or set_setting.value is null then
        raise exception 'Setting name and value must not be null' using errcode = '22004';
    end if;
    select s.* into known from postrider.setting s where s.name = set_setting.name for update;
    if known.name is null then
        raise exception 'Setting ''%'' does not exist', set_setting.name using errcode = '42704';
    end if;
    checked := postrider.check_setting(known, set_setting.value);
    if checked = known.value then
        return checked;
    end if;

    update postrider.setting s
    set value = checked
    where s.name = known.name;
    insert into postrider.event_log (event, details)
    values (
        'setting.changed',
        jsonb_build_object(
            'name', known.name, 'from', known.value, 'to', checked, 'by', session_user));
    if known.name = 'max_queue_size' then
        -- Down at once, and up when a send finds the log full: until this is committed others see
        -- the old limit, and a gate that a rollback left too low is set right by who comes to it.
        gate := pg_sequence_last_value('postrider.message_gate');
        if postrider.update_gate() > gate then
            perform setval('postrider.message_gate', gate);
        end if;
    end if;
    perform pg_notify('postrider', 'settings');
    return checked;
end;
$$;

-- Name: shard_count(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.shard_count() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$select 16$$;

-- Name: subscribe(text, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb DEFAULT NULL::jsonb, p_options jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    endpoint postrider.endpoints;
    created_id integer;
    option record;
begin
    if p_event_type is null then
        raise exception 'Event type must not be null' using errcode = '22004';
    end if;
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_event_type <> '*'
        and (length(p_event_type) > 202
            or p_event_type !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?$')
    then
        raise exception
            'p_event_type must be an event type, or a pattern such as order.* or *, got ''%''',
            left(p_event_type, 202) using errcode = '22023';
    end if;
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if jsonb_typeof(p_options) <> 'object' then
        raise exception 'p_options must be an object, got %', jsonb_typeof(p_options)
            using errcode = '22023';
    end if;
    for option in
        select o.key, jsonb_typeof(o.value) as type
        from jsonb_each(coalesce(p_options, '{}')) o
    loop
        if option.key <> 'enabled' then
            raise exception 'p_options.% is not a known key (did you mean enabled?)',
                left(option.key, 64) using errcode = '22023';
        end if;
        if option.type <> 'boolean' then
            raise exception 'p_options.enabled must be true or false, got %', option.type
                using errcode = '22023';
        end if;
    end loop;

    -- The locks keep both from being dropped until this is committed.
    if right(p_event_type, 1) <> '*' then
        perform from postrider.event_types t where t.name = p_event_type for key share;
        if not found then
            raise exception 'Event type ''%'' does not exist', p_event_type using errcode = '42704';
        end if;
    end if;
    select e.*
    into endpoint
    from postrider.endpoints e
    where e.name = p_endpoint_name
    for no key update;
    if endpoint.id is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;

    insert into postrider.subscriptions (
        endpoint_id, event_type, filter, enabled, is_endpoint_enabled)
    values (
        endpoint.id, p_event_type, p_filter, coalesce((p_options ->> 'enabled')::boolean, true),
        endpoint.enabled)
    returning id into created_id;
    -- Dispatchers learn of the new target with the endpoint's next version.
    update postrider.endpoints e set version = e.version + 1 where e.id = endpoint.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'subscription.created', p_endpoint_name,
        jsonb_build_object('id', created_id, 'event_type', p_event_type, 'by', session_user));
    return created_id;
end;
$_$;

-- Name: unregister_dispatcher(uuid); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform pg_advisory_xact_lock(1886352244, 1000);
    delete from postrider.dispatcher d where d.id = p_dispatcher;
end;
$$;

-- Name: unsubscribe(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.unsubscribe(p_subscription_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.subscriptions;
begin
    if p_subscription_id is null then
        raise exception 'Subscription must not be null' using errcode = '22004';
    end if;
    select s.*
    into known
    from postrider.subscriptions s
    where s.id = p_subscription_id
    for update;
    if known.id is null then
        raise exception 'Subscription % does not exist', p_subscription_id using errcode = '42704';
    end if;
    if known.event_type is null then
        raise exception 'Subscription % stands for its endpoint and cannot be ended',
            p_subscription_id using errcode = '55000', hint = 'Drop or disable the endpoint.';
    end if;
    if known.ended_at is not null then
        return false;
    end if;
    update postrider.subscriptions s set ended_at = now() where s.id = known.id;
    insert into postrider.event_log (event, endpoint_name, details)
    select
        'subscription.ended', e.name,
        jsonb_build_object(
            'id', known.id, 'event_type', known.event_type, 'by', session_user)
    from postrider.endpoints e
    where e.id = known.endpoint_id;
    return true;
end;
$$;

-- Name: update_gate(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.update_gate() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    size_limit bigint;
    base bigint;
begin
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    if size_limit = 0 then
        return setval('postrider.message_gate', 9223372036854775807);
    end if;
    select floor(sum(coalesce(newest.backlog, 0)) / count(*))
    into base
    from postrider.shard s
    left join lateral (
        select c.backlogs[array_position(c.shards, s.shard)] as backlog
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
    return setval('postrider.message_gate', greatest(base + size_limit, 0));
end;
$$;

-- Name: validate_endpoint_config(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    name_max constant integer := 64;
    -- How much of a name may differ from one that is still taken for it, in parts of a thousand.
    difference_max constant integer := 666;
    given record;
    known postrider.transport_option;
    number numeric;
    is_valid boolean;
    expected text;
    hint text;
begin
    if validate_endpoint_config.protocol is null or validate_endpoint_config.config is null then
        raise exception 'protocol and config must not be null'
            using errcode = '22004';
    end if;
    if not exists (
        select
        from postrider.transport_option o
        where o.protocol = validate_endpoint_config.protocol
    ) then
        raise exception 'unknown protocol `%`; known protocols: %',
            left(validate_endpoint_config.protocol, name_max),
            (
                select string_agg(p.protocol, ', ' order by p.protocol collate "C")
                from (select distinct o.protocol from postrider.transport_option o) p
            )
            using errcode = '22023';
    end if;
    if jsonb_typeof(validate_endpoint_config.config) <> 'object' then
        raise exception 'config must be an object'
            using errcode = '22023';
    end if;

    for given in
        select c.key, c.value, c.value #>> '{}' as word, jsonb_typeof(c.value) as type
        from jsonb_each(validate_endpoint_config.config) c
        order by c.key collate "C"
    loop
        select o.*
        into known
        from postrider.transport_option o
        where o.protocol = validate_endpoint_config.protocol
        and o.name = given.key;

        if not found then
            select 'did you mean ' || d.name || '?'
            into hint
            from (
                select o.name,
                    postrider.edit_distance(given.key, o.name) * 1000
                    / greatest(length(left(given.key, name_max)), length(o.name)) as difference
                from postrider.transport_option o
                where o.protocol = validate_endpoint_config.protocol
            ) d
            where d.difference <= difference_max
            order by d.difference, d.name collate "C"
            limit 1;
            raise exception 'config.% is not a known option of protocol %; %',
                left(given.key, name_max),
                validate_endpoint_config.protocol,
                coalesce(hint, (
                    select 'known options: ' || string_agg(o.name, ', ' order by o.name collate "C")
                    from postrider.transport_option o
                    where o.protocol = validate_endpoint_config.protocol
                ))
                using errcode = '22023';
        end if;

        case known.kind
        when 'text' then
            is_valid := given.type = 'string'
                and length(given.word) between known.minimum and known.maximum
                and given.word !~ '[\u0001-\u001f\u007f]';
            expected := format('a text of %s to %s characters without control characters',
                known.minimum, known.maximum);
        when 'integer' then
            -- 5.0 is not one: the dispatcher would read it as a fraction.
            number := case when given.type = 'number' and given.word ~ '^-?[0-9]+$'
                then given.word::numeric end;
            is_valid := coalesce(number between known.minimum and known.maximum, false);
            expected := format('an integer from %s to %s', known.minimum, known.maximum);
        when 'boolean' then
            is_valid := given.type = 'boolean';
            expected := 'true or false';
        when 'one_of' then
            is_valid := given.type = 'string' and known.choices ? given.word;
            expected := format('one of %s', (
                select string_agg(c.choice, ', ' order by c.place)
                from jsonb_array_elements_text(known.choices) with ordinality c (choice, place)
            ));
        when 'url' then
            is_valid := given.type = 'string'
                and postrider.is_http_url(given.word, known.maximum);
            expected := format(
                'an http:// or https:// address of at most %s characters with a host, and without '
                'a user name, a fragment, spaces, quotes or other than ASCII characters',
                known.maximum);
        when 'map', 'headers' then
            is_valid := given.type = 'object'
                and (
                    select count(*) <= known.maximum
                    and coalesce(bool_and(jsonb_typeof(e.value) = 'string'), true)
                    from jsonb_each(
                        case when given.type = 'object' then given.value else '{}' end) e
                );
            expected := format('an object of at most %s texts', known.maximum);
        end case;
        if not is_valid then
            raise exception 'config.% must be %', known.name, expected
                using errcode = '22023';
        end if;
        if known.kind = 'headers' then
            perform postrider.check_config_headers(known.name, given.value);
        end if;
    end loop;

    select o.*
    into known
    from postrider.transport_option o
    where o.protocol = validate_endpoint_config.protocol
    and o.required
    and not validate_endpoint_config.config ? o.name
    order by o.name collate "C"
    limit 1;
    if found then
        raise exception 'config.% is required', known.name
            using errcode = '22023';
    end if;
    return true;
end;
$_$;

-- Name: validate_retry_policy(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.validate_retry_policy(policy jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    fields constant text[] := array[
        'max_retries', 'backoff', 'base_delay_seconds', 'max_delay_seconds', 'increment_seconds',
        'jitter'];
    given record;
    minimum integer;
    maximum integer;
    nearest text;
begin
    if policy is null then
        return true;
    end if;
    if jsonb_typeof(policy) <> 'object' then
        raise exception 'retry_policy must be an object' using errcode = '22023';
    end if;

    for given in
        select f.key, f.value, f.value #>> '{}' as word, jsonb_typeof(f.value) as type
        from jsonb_each(policy) f
        order by f.key collate "C"
    loop
        if given.key in ('schedule_seconds', 'preset') then
            raise exception 'retry_policy.% is not supported yet', given.key using errcode = '0A000';
        end if;
        if given.key <> all (fields) then
            select f.name
            into nearest
            from unnest(fields) f (name)
            order by postrider.edit_distance(given.key, f.name), f.name collate "C"
            limit 1;
            raise exception 'retry_policy.% is not a known key (did you mean %?)',
                left(given.key, 64), nearest using errcode = '22023';
        end if;

        minimum := case given.key when 'max_retries' then 0 else 1 end;
        maximum := case given.key
            when 'max_retries' then 1000
            when 'max_delay_seconds' then 86400
            else 3600
        end;
        case given.key
        when 'backoff' then
            if given.type <> 'string' or given.word not in ('exponential', 'linear', 'fixed') then
                raise exception 'retry_policy.backoff must be one of exponential, linear, fixed'
                    using errcode = '22023';
            end if;
        when 'jitter' then
            if given.type <> 'number' then
                raise exception 'retry_policy.jitter must be a number' using errcode = '22023';
            end if;
            if given.word::numeric not between 0 and 1 then
                raise exception 'retry_policy.jitter must be between 0 and 1, got %',
                    left(given.word, 64) using errcode = '22023';
            end if;
        else
            -- 5.0 is not one: the dispatcher would read it as a fraction.
            if given.type <> 'number' or given.word !~ '^-?[0-9]+$' then
                raise exception 'retry_policy.% must be an integer', given.key
                    using errcode = '22023';
            end if;
            if given.word::numeric < minimum or given.word::numeric > maximum then
                raise exception 'retry_policy.% must be between % and %, got %',
                    given.key, minimum, maximum, left(given.word, 64) using errcode = '22023';
            end if;
        end case;
    end loop;
    return true;
end;
$_$;

-- Name: endpoints; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.endpoints (
    id integer NOT NULL,
    name text NOT NULL,
    protocol text NOT NULL,
    config jsonb NOT NULL,
    retry_policy jsonb,
    enabled boolean DEFAULT true NOT NULL,
    direct_subscription_id integer NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT endpoints_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text))
);

-- Name: message; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.message (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    scheduled_at timestamp with time zone,
    expires_at timestamp with time zone,
    correlation_id uuid,
    lane smallint NOT NULL,
    priority smallint NOT NULL,
    targets integer[] NOT NULL,
    endpoint_name text,
    event_type text,
    ordering_key text,
    idempotency_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    CONSTRAINT message_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL))))
)
PARTITION BY RANGE (created_at);

-- Name: subscriptions; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.subscriptions (
    id integer NOT NULL,
    endpoint_id integer NOT NULL,
    event_type text,
    filter jsonb,
    enabled boolean DEFAULT true NOT NULL,
    is_endpoint_enabled boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT subscriptions_check CHECK (((event_type IS NOT NULL) OR ((filter IS NULL) AND enabled AND (ended_at IS NULL)))),
    CONSTRAINT subscriptions_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text))
);

-- Name: archive; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.archive AS
 SELECT a.id,
    a.endpoint_name,
    NULL::text AS event_type,
    (a.ending ->> 'status'::text) AS status,
    a.payload,
    a.body,
    a.content_type,
    ((a.ending ->> 'retry_count'::text))::integer AS retry_count,
    (a.ending ->> 'last_error'::text) AS last_error,
    a.priority,
    a.scheduled_at,
    a.idempotency_key,
    a.correlation_id,
    a.expires_at,
    a.ordering_key,
    a.headers,
    a.metadata,
    a.created_at,
    ((a.ending ->> 'at'::text))::timestamp with time zone AS ended_at,
        CASE
            WHEN ((a.ending ->> 'status'::text) = 'completed'::text) THEN ((a.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS completed_at,
        CASE
            WHEN ((a.ending ->> 'status'::text) = 'failed'::text) THEN ((a.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS failed_at,
    a.target
   FROM ( SELECT p.id,
            p.endpoint_name,
            m.payload,
            m.body,
            m.content_type,
            m.priority,
            m.scheduled_at,
            m.idempotency_key,
            m.correlation_id,
            m.expires_at,
            m.ordering_key,
            m.headers,
            m.metadata,
            m.created_at,
            m.targets[1] AS target,
            postrider.describe_end(p.id, m.targets[1]) AS ending
           FROM (( SELECT k.id,
                    k.endpoint_name
                   FROM postrider.message k
                  WHERE ((k.endpoint_name IS NOT NULL) AND (k.id <= ( SELECT postrider.ended_ceiling() AS ended_ceiling)))
                  ORDER BY k.id DESC) p
             CROSS JOIN LATERAL ( SELECT k.id,
                    k.xid,
                    k.targets,
                    k.payload,
                    k.body,
                    k.content_type,
                    k.priority,
                    k.scheduled_at,
                    k.idempotency_key,
                    k.correlation_id,
                    k.expires_at,
                    k.ordering_key,
                    k.headers,
                    k.metadata,
                    k.created_at
                   FROM postrider.message k
                  WHERE (k.id = p.id)
                 LIMIT 1) m)
          WHERE ((NOT postrider.is_deferred(m.id, m.targets[1])) AND ((m.xid < ( SELECT postrider.done_before() AS done_before)) OR postrider.has_ended(m.id, m.targets[1])))
          ORDER BY p.id DESC) a
UNION ALL
 SELECT a.id,
    a.endpoint_name,
    a.event_type,
    (a.ending ->> 'status'::text) AS status,
    a.payload,
    a.body,
    a.content_type,
    ((a.ending ->> 'retry_count'::text))::integer AS retry_count,
    (a.ending ->> 'last_error'::text) AS last_error,
    a.priority,
    a.scheduled_at,
    a.idempotency_key,
    a.correlation_id,
    a.expires_at,
    a.ordering_key,
    a.headers,
    a.metadata,
    a.created_at,
    ((a.ending ->> 'at'::text))::timestamp with time zone AS ended_at,
        CASE
            WHEN ((a.ending ->> 'status'::text) = 'completed'::text) THEN ((a.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS completed_at,
        CASE
            WHEN ((a.ending ->> 'status'::text) = 'failed'::text) THEN ((a.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS failed_at,
    a.target
   FROM ( SELECT p.id,
            p.endpoint_name,
            p.event_type,
            m.payload,
            m.body,
            m.content_type,
            m.priority,
            m.scheduled_at,
            m.idempotency_key,
            m.correlation_id,
            m.expires_at,
            m.ordering_key,
            m.headers,
            m.metadata,
            m.created_at,
            p.target,
            postrider.describe_end(p.id, p.target) AS ending
           FROM (( SELECT k.id,
                    (( SELECT jsonb_object_agg(s.id, e.name) AS jsonb_object_agg
                           FROM (postrider.subscriptions s
                             JOIN postrider.endpoints e ON ((e.id = s.endpoint_id)))) ->> (t.target)::text) AS endpoint_name,
                    k.event_type,
                    t.target
                   FROM (postrider.message k
                     CROSS JOIN LATERAL unnest(k.targets) t(target))
                  WHERE ((k.event_type IS NOT NULL) AND (k.id <= ( SELECT postrider.ended_ceiling() AS ended_ceiling)))
                  ORDER BY k.id DESC) p
             CROSS JOIN LATERAL ( SELECT k.id,
                    k.xid,
                    k.targets,
                    k.payload,
                    k.body,
                    k.content_type,
                    k.priority,
                    k.scheduled_at,
                    k.idempotency_key,
                    k.correlation_id,
                    k.expires_at,
                    k.ordering_key,
                    k.headers,
                    k.metadata,
                    k.created_at
                   FROM postrider.message k
                  WHERE (k.id = p.id)
                 LIMIT 1) m)
          WHERE ((NOT postrider.is_deferred(m.id, p.target)) AND ((m.xid < ( SELECT postrider.done_before() AS done_before)) OR postrider.has_ended(m.id, p.target)))
          ORDER BY p.id DESC) a;

-- Name: attempt; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.attempt (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    number integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL,
    status integer,
    error text
)
PARTITION BY RANGE (started_at);

-- Name: attempt_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.attempt_default (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    number integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL,
    status integer,
    error text
);

-- Name: deferred; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.deferred (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    shard smallint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    recovery_count integer DEFAULT 0 NOT NULL,
    message_created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_error text,
    ordering_key text,
    is_blocked boolean DEFAULT false NOT NULL,
    CONSTRAINT deferred_check CHECK (((NOT is_blocked) OR (ordering_key IS NOT NULL))),
    CONSTRAINT deferred_recovery_count_check CHECK ((recovery_count >= 0)),
    CONSTRAINT deferred_retry_count_check CHECK ((retry_count >= 0))
);

-- Name: blocked_keys; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.blocked_keys AS
 WITH RECURSIVE jump(ordering_key, endpoint_id) AS (
        ( SELECT d.ordering_key,
            d.endpoint_id
           FROM postrider.deferred d
          WHERE (d.ordering_key IS NOT NULL)
          ORDER BY d.ordering_key, d.endpoint_id
         LIMIT 1)
        UNION ALL
         SELECT n.ordering_key,
            n.endpoint_id
           FROM (jump j_1
             CROSS JOIN LATERAL ( SELECT d.ordering_key,
                    d.endpoint_id
                   FROM postrider.deferred d
                  WHERE ((d.ordering_key IS NOT NULL) AND (ROW(d.ordering_key, d.endpoint_id) > ROW(j_1.ordering_key, j_1.endpoint_id)))
                  ORDER BY d.ordering_key, d.endpoint_id
                 LIMIT 1) n)
        )
 SELECT j.ordering_key,
    e.name AS endpoint_name,
    ( SELECT count(*) AS count
           FROM ( SELECT
                   FROM postrider.deferred d
                  WHERE ((d.ordering_key = j.ordering_key) AND (d.endpoint_id = j.endpoint_id) AND d.is_blocked)
                 LIMIT 1000) c) AS blocked_count,
    front.message_id AS blocking_message_id,
    oldest.message_created_at AS blocked_since,
    (now() - oldest.message_created_at) AS age,
        CASE
            WHEN (NOT front.is_enabled) THEN 'endpoint disabled'::text
            WHEN (front.message_id IS NULL) THEN 'in flight'::text
            WHEN ((front.run_at <= now()) AND postrider.is_claimed(front.message_id, front.target, front.retry_count)) THEN 'in flight'::text
            WHEN ((front.retry_count > 0) OR (front.last_error IS NOT NULL)) THEN 'retry'::text
            WHEN (front.run_at > now()) THEN 'scheduled'::text
            ELSE 'in flight'::text
        END AS cause,
    front.last_error
   FROM (((jump j
     LEFT JOIN postrider.endpoints e ON ((e.id = j.endpoint_id)))
     CROSS JOIN LATERAL ( SELECT d.message_created_at
           FROM postrider.deferred d
          WHERE ((d.ordering_key = j.ordering_key) AND (d.endpoint_id = j.endpoint_id) AND d.is_blocked)
          ORDER BY d.message_id
         LIMIT 1) oldest)
     LEFT JOIN LATERAL ( SELECT f.message_id,
            f.target,
            f.run_at,
            f.retry_count,
            f.last_error,
            COALESCE(o.enabled, true) AS is_enabled
           FROM ((( SELECT d.message_id,
                    d.target,
                    d.endpoint_id,
                    d.run_at,
                    d.retry_count,
                    d.last_error,
                    d.is_blocked
                   FROM postrider.deferred d
                  WHERE ((d.ordering_key = j.ordering_key) AND (d.endpoint_id = j.endpoint_id))
                  ORDER BY d.message_id
                 LIMIT 1)
                UNION ALL
                ( SELECT d.message_id,
                    d.target,
                    d.endpoint_id,
                    d.run_at,
                    d.retry_count,
                    d.last_error,
                    d.is_blocked
                   FROM postrider.deferred d
                  WHERE ((d.ordering_key = j.ordering_key) AND (EXISTS ( SELECT
                           FROM postrider.setting s
                          WHERE ((s.name = 'ordering_scope'::text) AND (s.value = 'global'::text)))))
                  ORDER BY d.message_id
                 LIMIT 1)) f
             LEFT JOIN postrider.endpoints o ON ((o.id = f.endpoint_id)))
          WHERE (NOT f.is_blocked)
          ORDER BY f.message_id
         LIMIT 1) front ON (true));

-- Name: cancel_sequence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.cancel_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: cancellation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.cancellation (
    message_id bigint NOT NULL,
    target integer NOT NULL
);

-- Name: rotation_sequence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.rotation_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: checkpoint; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
)
PARTITION BY LIST (slot);

-- Name: checkpoint_0; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

-- Name: checkpoint_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

-- Name: checkpoint_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

-- Name: claim; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.claim (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
)
PARTITION BY LIST (slot);

-- Name: claim_0; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.claim_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

-- Name: claim_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.claim_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

-- Name: claim_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.claim_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

-- Name: dead_letter; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.dead_letter (
    id bigint NOT NULL,
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    endpoint_name text NOT NULL,
    status text DEFAULT 'failed'::text NOT NULL,
    cause text NOT NULL,
    retry_count integer NOT NULL,
    last_error text,
    error_history jsonb DEFAULT '[]'::jsonb NOT NULL,
    failed_at timestamp with time zone DEFAULT now() NOT NULL,
    redriven_at timestamp with time zone,
    message_created_at timestamp with time zone NOT NULL,
    correlation_id uuid,
    priority smallint NOT NULL,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    CONSTRAINT dead_letter_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL)))),
    CONSTRAINT dead_letter_check1 CHECK (((status = 'redriven'::text) = (redriven_at IS NOT NULL))),
    CONSTRAINT dead_letter_status_check CHECK ((status = ANY (ARRAY['failed'::text, 'redriven'::text])))
);

-- Name: dead_letter_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: dispatcher; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.dispatcher (
    id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: dlq; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.dlq AS
 SELECT l.id,
    l.message_id,
    l.endpoint_name,
    l.status,
    l.cause,
    l.retry_count,
    l.last_error,
    l.error_history,
    l.failed_at,
    l.redriven_at,
    l.message_created_at AS created_at,
    l.correlation_id,
    l.priority,
    l.event_type,
    l.ordering_key,
    l.headers,
    l.metadata,
    l.payload,
    l.body,
    l.content_type,
    l.target
   FROM postrider.dead_letter l;

-- Name: done; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.done (
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    offsets bytea NOT NULL
)
PARTITION BY RANGE (at);

-- Name: done_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.done_default (
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    offsets bytea NOT NULL
);

-- Name: ended; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.ended (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ended_reason_check CHECK ((reason = ANY (ARRAY['expired'::text, 'cancelled'::text])))
)
PARTITION BY RANGE (at);

-- Name: ended_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.ended_default (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ended_reason_check CHECK ((reason = ANY (ARRAY['expired'::text, 'cancelled'::text])))
);

-- Name: endpoint_secret; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.endpoint_secret (
    endpoint_id integer NOT NULL,
    config jsonb NOT NULL
);

-- Name: endpoints_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.endpoints ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.endpoints_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: event_log; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.event_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    event text NOT NULL,
    endpoint_name text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

-- Name: event_log_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.event_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.event_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: event_types_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.event_types ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.event_types_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: heartbeat; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.heartbeat (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    dispatcher uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    sequence_floor bigint NOT NULL,
    statistics jsonb NOT NULL
)
PARTITION BY LIST (slot);

-- Name: heartbeat_0; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.heartbeat_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    dispatcher uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    sequence_floor bigint NOT NULL,
    statistics jsonb NOT NULL
);

-- Name: heartbeat_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.heartbeat_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    dispatcher uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    sequence_floor bigint NOT NULL,
    statistics jsonb NOT NULL
);

-- Name: heartbeat_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.heartbeat_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    dispatcher uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    sequence_floor bigint NOT NULL,
    statistics jsonb NOT NULL
);

-- Name: idempotency_key; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.idempotency_key (
    destination integer NOT NULL,
    key text NOT NULL,
    message_id bigint NOT NULL,
    payload_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone
);

-- Name: installation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.installation (
    singleton boolean DEFAULT true NOT NULL,
    product_version text NOT NULL,
    fingerprint text NOT NULL,
    installed_at timestamp with time zone DEFAULT now() NOT NULL,
    migrated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT installation_singleton_check CHECK (singleton)
);

-- Name: message_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.message_default (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    scheduled_at timestamp with time zone,
    expires_at timestamp with time zone,
    correlation_id uuid,
    lane smallint NOT NULL,
    priority smallint NOT NULL,
    targets integer[] NOT NULL,
    endpoint_name text,
    event_type text,
    ordering_key text,
    idempotency_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    CONSTRAINT message_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL))))
);

-- Name: message_gate; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.message_gate
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

-- Name: message_sequence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.message_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: migration; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.migration (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

-- Name: partly_done; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.partly_done (
    message_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    targets integer[] NOT NULL
)
PARTITION BY RANGE (at);

-- Name: partly_done_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.partly_done_default (
    message_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    targets integer[] NOT NULL
);

-- Name: queue; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.queue AS
 SELECT w.id,
    w.endpoint_name,
    COALESCE((w.message).event_type, (w.letter).event_type) AS event_type,
        CASE
            WHEN ((NOT w.is_blocked) AND (w.run_at <= now()) AND postrider.is_claimed(w.id, w.target, w.retry_count)) THEN 'processing'::text
            ELSE 'pending'::text
        END AS status,
    COALESCE((w.message).payload, (w.letter).payload) AS payload,
    COALESCE((w.message).body, (w.letter).body) AS body,
    COALESCE((w.message).content_type, (w.letter).content_type) AS content_type,
    w.retry_count,
        CASE
            WHEN ((NOT w.is_blocked) AND (w.run_at > now())) THEN w.run_at
            ELSE NULL::timestamp with time zone
        END AS next_retry_at,
    w.last_error,
    COALESCE((w.message).priority, (w.letter).priority) AS priority,
    (w.message).scheduled_at AS scheduled_at,
    (w.message).idempotency_key AS idempotency_key,
    COALESCE((w.message).correlation_id, (w.letter).correlation_id) AS correlation_id,
    w.expires_at,
    w.ordering_key,
    COALESCE((w.message).headers, (w.letter).headers) AS headers,
    COALESCE((w.message).metadata, (w.letter).metadata) AS metadata,
    w.created_at,
    w.target
   FROM ( SELECT d.id,
            d.endpoint_name,
            d.is_blocked,
            d.run_at,
            d.retry_count,
            d.last_error,
            d.expires_at,
            d.ordering_key,
            d.created_at,
            d.target,
            ( SELECT m.*::postrider.message AS m
                   FROM postrider.message m
                  WHERE (m.id = d.id)
                 LIMIT 1) AS message,
            ( SELECT l.*::postrider.dead_letter AS l
                   FROM postrider.dead_letter l
                  WHERE ((l.message_id = d.id) AND (l.target = d.target) AND (NOT (EXISTS ( SELECT
                           FROM postrider.message m
                          WHERE (m.id = d.id)))))
                  ORDER BY l.id DESC
                 LIMIT 1) AS letter
           FROM ( SELECT w_1.message_id AS id,
                    e.name AS endpoint_name,
                    w_1.is_blocked,
                    w_1.run_at,
                    w_1.retry_count,
                    w_1.last_error,
                    w_1.expires_at,
                    w_1.ordering_key,
                    w_1.message_created_at AS created_at,
                    w_1.target
                   FROM (postrider.deferred w_1
                     LEFT JOIN postrider.endpoints e ON ((e.id = w_1.endpoint_id)))
                  ORDER BY w_1.message_id DESC) d
          ORDER BY d.id DESC) w
UNION ALL
 SELECT o.id,
    o.endpoint_name,
    NULL::text AS event_type,
        CASE
            WHEN postrider.is_taken(o.id, o.xid, o.targets) THEN 'processing'::text
            ELSE 'pending'::text
        END AS status,
    o.payload,
    o.body,
    o.content_type,
    0 AS retry_count,
        CASE
            WHEN (o.scheduled_at > now()) THEN o.scheduled_at
            ELSE NULL::timestamp with time zone
        END AS next_retry_at,
    NULL::text AS last_error,
    o.priority,
    o.scheduled_at,
    o.idempotency_key,
    o.correlation_id,
    o.expires_at,
    o.ordering_key,
    o.headers,
    o.metadata,
    o.created_at,
    o.targets[1] AS target
   FROM ( SELECT p.id,
            m.xid,
            m.targets,
            p.endpoint_name,
            m.payload,
            m.body,
            m.content_type,
            m.priority,
            m.scheduled_at,
            m.idempotency_key,
            m.correlation_id,
            m.expires_at,
            m.ordering_key,
            m.headers,
            m.metadata,
            m.created_at
           FROM (( SELECT k.id,
                    k.endpoint_name
                   FROM postrider.message k
                  WHERE ((k.endpoint_name IS NOT NULL) AND (k.id > ( SELECT postrider.pending_floor() AS pending_floor)) AND xid8ge(k.xid, ( SELECT postrider.done_before() AS done_before)) AND (substr(( SELECT postrider.done_map() AS done_map), (((k.id >> 10) - ( SELECT postrider.done_map_start() AS done_map_start)))::integer, 1) IS DISTINCT FROM '\x01'::bytea))
                  ORDER BY k.id DESC) p
             CROSS JOIN LATERAL ( SELECT k.id,
                    k.xid,
                    k.targets,
                    k.payload,
                    k.body,
                    k.content_type,
                    k.priority,
                    k.scheduled_at,
                    k.idempotency_key,
                    k.correlation_id,
                    k.expires_at,
                    k.ordering_key,
                    k.headers,
                    k.metadata,
                    k.created_at
                   FROM postrider.message k
                  WHERE (k.id = p.id)
                 LIMIT 1) m)
          WHERE ((NOT postrider.is_deferred(m.id, m.targets[1])) AND (NOT postrider.has_ended(m.id, m.targets[1])))
          ORDER BY p.id DESC) o
UNION ALL
 SELECT o.id,
    o.endpoint_name,
    o.event_type,
        CASE
            WHEN postrider.is_taken(o.id, o.xid, o.targets) THEN 'processing'::text
            ELSE 'pending'::text
        END AS status,
    o.payload,
    o.body,
    o.content_type,
    0 AS retry_count,
        CASE
            WHEN (o.scheduled_at > now()) THEN o.scheduled_at
            ELSE NULL::timestamp with time zone
        END AS next_retry_at,
    NULL::text AS last_error,
    o.priority,
    o.scheduled_at,
    o.idempotency_key,
    o.correlation_id,
    o.expires_at,
    o.ordering_key,
    o.headers,
    o.metadata,
    o.created_at,
    o.target
   FROM ( SELECT p.id,
            m.xid,
            m.targets,
            p.endpoint_name,
            p.event_type,
            m.payload,
            m.body,
            m.content_type,
            m.priority,
            m.scheduled_at,
            m.idempotency_key,
            m.correlation_id,
            m.expires_at,
            m.ordering_key,
            m.headers,
            m.metadata,
            m.created_at,
            p.target
           FROM (( SELECT k.id,
                    (( SELECT jsonb_object_agg(s.id, e.name) AS jsonb_object_agg
                           FROM (postrider.subscriptions s
                             JOIN postrider.endpoints e ON ((e.id = s.endpoint_id)))) ->> (t.target)::text) AS endpoint_name,
                    k.event_type,
                    t.target
                   FROM (postrider.message k
                     CROSS JOIN LATERAL unnest(k.targets) t(target))
                  WHERE ((k.event_type IS NOT NULL) AND (k.id > ( SELECT postrider.pending_floor() AS pending_floor)) AND xid8ge(k.xid, ( SELECT postrider.done_before() AS done_before)) AND (substr(( SELECT postrider.done_map() AS done_map), (((k.id >> 10) - ( SELECT postrider.done_map_start() AS done_map_start)))::integer, 1) IS DISTINCT FROM '\x01'::bytea))
                  ORDER BY k.id DESC) p
             CROSS JOIN LATERAL ( SELECT k.id,
                    k.xid,
                    k.targets,
                    k.payload,
                    k.body,
                    k.content_type,
                    k.priority,
                    k.scheduled_at,
                    k.idempotency_key,
                    k.correlation_id,
                    k.expires_at,
                    k.ordering_key,
                    k.headers,
                    k.metadata,
                    k.created_at
                   FROM postrider.message k
                  WHERE (k.id = p.id)
                 LIMIT 1) m)
          WHERE ((NOT postrider.is_deferred(m.id, p.target)) AND (NOT postrider.has_ended(m.id, p.target)))
          ORDER BY p.id DESC) o;

-- Name: shard; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.shard (
    shard smallint NOT NULL,
    owner uuid,
    epoch bigint DEFAULT 0 NOT NULL,
    CONSTRAINT shard_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

-- Name: subscriptions_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.subscriptions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: transport_option; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.transport_option (
    protocol text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    required boolean NOT NULL,
    minimum bigint,
    maximum bigint,
    choices jsonb,
    default_value jsonb,
    secret boolean NOT NULL,
    description text NOT NULL
);

-- Name: attempt_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.attempt ATTACH PARTITION postrider.attempt_default DEFAULT;

-- Name: checkpoint_0; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_0 FOR VALUES IN ('0');

-- Name: checkpoint_1; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_1 FOR VALUES IN ('1');

-- Name: checkpoint_2; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_2 FOR VALUES IN ('2');

-- Name: claim_0; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_0 FOR VALUES IN ('0');

-- Name: claim_1; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_1 FOR VALUES IN ('1');

-- Name: claim_2; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_2 FOR VALUES IN ('2');

-- Name: done_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.done ATTACH PARTITION postrider.done_default DEFAULT;

-- Name: ended_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.ended ATTACH PARTITION postrider.ended_default DEFAULT;

-- Name: heartbeat_0; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_0 FOR VALUES IN ('0');

-- Name: heartbeat_1; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_1 FOR VALUES IN ('1');

-- Name: heartbeat_2; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_2 FOR VALUES IN ('2');

-- Name: message_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.message ATTACH PARTITION postrider.message_default DEFAULT;

-- Name: partly_done_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.partly_done ATTACH PARTITION postrider.partly_done_default DEFAULT;

-- Name: cancellation cancellation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.cancellation
    ADD CONSTRAINT cancellation_pkey PRIMARY KEY (message_id, target);

-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

-- Name: deferred deferred_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.deferred
    ADD CONSTRAINT deferred_pkey PRIMARY KEY (message_id, target);

-- Name: dispatcher dispatcher_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.dispatcher
    ADD CONSTRAINT dispatcher_pkey PRIMARY KEY (id);

-- Name: endpoint_secret endpoint_secret_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoint_secret
    ADD CONSTRAINT endpoint_secret_pkey PRIMARY KEY (endpoint_id);

-- Name: endpoints endpoints_direct_subscription_id_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_direct_subscription_id_key UNIQUE (direct_subscription_id);

-- Name: endpoints endpoints_name_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_name_key UNIQUE (name);

-- Name: endpoints endpoints_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (id);

-- Name: event_log event_log_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (id);

-- Name: event_types event_types_name_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.event_types
    ADD CONSTRAINT event_types_name_key UNIQUE (name);

-- Name: event_types event_types_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.event_types
    ADD CONSTRAINT event_types_pkey PRIMARY KEY (id);

-- Name: idempotency_key idempotency_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (destination, key);

-- Name: installation installation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

-- Name: setting setting_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (name);

-- Name: shard shard_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (shard);

-- Name: subscriptions subscriptions_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);

-- Name: transport_option transport_option_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.transport_option
    ADD CONSTRAINT transport_option_pkey PRIMARY KEY (protocol, name);

-- Name: attempt_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX attempt_message_id ON ONLY postrider.attempt USING btree (message_id, target);

-- Name: attempt_default_message_id_target_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX attempt_default_message_id_target_idx ON postrider.attempt_default USING btree (message_id, target);

-- Name: checkpoint_seq; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX checkpoint_seq ON ONLY postrider.checkpoint USING btree (seq);

-- Name: checkpoint_0_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX checkpoint_0_seq_idx ON postrider.checkpoint_0 USING btree (seq);

-- Name: checkpoint_1_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX checkpoint_1_seq_idx ON postrider.checkpoint_1 USING btree (seq);

-- Name: checkpoint_2_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX checkpoint_2_seq_idx ON postrider.checkpoint_2 USING btree (seq);

-- Name: claim_owner; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX claim_owner ON ONLY postrider.claim USING btree (owner, seq);

-- Name: claim_0_owner_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX claim_0_owner_seq_idx ON postrider.claim_0 USING btree (owner, seq);

-- Name: claim_1_owner_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX claim_1_owner_seq_idx ON postrider.claim_1 USING btree (owner, seq);

-- Name: claim_2_owner_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX claim_2_owner_seq_idx ON postrider.claim_2 USING btree (owner, seq);

-- Name: dead_letter_endpoint; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_endpoint ON postrider.dead_letter USING btree (endpoint_id, id);

-- Name: dead_letter_endpoint_name; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_endpoint_name ON postrider.dead_letter USING btree (endpoint_name, id);

-- Name: dead_letter_failed; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX dead_letter_failed ON postrider.dead_letter USING btree (message_id, target) WHERE (status = 'failed'::text);

-- Name: dead_letter_message; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_message ON postrider.dead_letter USING btree (message_id, target, id);

-- Name: deferred_due; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_due ON postrider.deferred USING btree (endpoint_id, shard, run_at, message_id);

-- Name: deferred_key; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_key ON postrider.deferred USING btree (ordering_key, endpoint_id, message_id) WHERE (ordering_key IS NOT NULL);

-- Name: done_bucket; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX done_bucket ON ONLY postrider.done USING btree (bucket);

-- Name: done_default_bucket_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX done_default_bucket_idx ON postrider.done_default USING btree (bucket);

-- Name: ended_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX ended_message_id ON ONLY postrider.ended USING btree (message_id, target);

-- Name: ended_default_message_id_target_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX ended_default_message_id_target_idx ON postrider.ended_default USING btree (message_id, target);

-- Name: event_log_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX event_log_at ON postrider.event_log USING btree (at);

-- Name: heartbeat_dispatcher; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_dispatcher ON ONLY postrider.heartbeat USING btree (dispatcher, seq);

-- Name: heartbeat_0_dispatcher_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_0_dispatcher_seq_idx ON postrider.heartbeat_0 USING btree (dispatcher, seq);

-- Name: heartbeat_xid; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_xid ON ONLY postrider.heartbeat USING btree (xid);

-- Name: heartbeat_0_xid_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_0_xid_idx ON postrider.heartbeat_0 USING btree (xid);

-- Name: heartbeat_1_dispatcher_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_1_dispatcher_seq_idx ON postrider.heartbeat_1 USING btree (dispatcher, seq);

-- Name: heartbeat_1_xid_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_1_xid_idx ON postrider.heartbeat_1 USING btree (xid);

-- Name: heartbeat_2_dispatcher_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_2_dispatcher_seq_idx ON postrider.heartbeat_2 USING btree (dispatcher, seq);

-- Name: heartbeat_2_xid_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX heartbeat_2_xid_idx ON postrider.heartbeat_2 USING btree (xid);

-- Name: idempotency_key_ended_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX idempotency_key_ended_at ON postrider.idempotency_key USING btree (ended_at) WHERE (ended_at IS NOT NULL);

-- Name: idempotency_key_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX idempotency_key_message_id ON postrider.idempotency_key USING btree (message_id);

-- Name: message_endpoint_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_endpoint_id ON ONLY postrider.message USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_default_endpoint_name_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_endpoint_name_id_idx ON postrider.message_default USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_id ON ONLY postrider.message USING btree (id);

-- Name: message_default_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_id_idx ON postrider.message_default USING btree (id);

-- Name: message_published_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_published_id ON ONLY postrider.message USING btree (id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);

-- Name: message_default_id_targets_event_type_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_id_targets_event_type_idx ON postrider.message_default USING btree (id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);

-- Name: message_lane_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_lane_id ON ONLY postrider.message USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);

-- Name: message_default_lane_expr_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_lane_expr_idx ON postrider.message_default USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);

-- Name: message_xid_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_xid_id ON ONLY postrider.message USING btree (xid, id);

-- Name: message_default_xid_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_xid_id_idx ON postrider.message_default USING btree (xid, id);

-- Name: partly_done_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX partly_done_message_id ON ONLY postrider.partly_done USING btree (message_id);

-- Name: partly_done_default_message_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX partly_done_default_message_id_idx ON postrider.partly_done_default USING btree (message_id);

-- Name: subscriptions_endpoint_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_endpoint_id ON postrider.subscriptions USING btree (endpoint_id);

-- Name: subscriptions_event_type; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_event_type ON postrider.subscriptions USING btree (event_type) WHERE ((event_type IS NOT NULL) AND (ended_at IS NULL));

-- Name: attempt_default_message_id_target_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.attempt_message_id ATTACH PARTITION postrider.attempt_default_message_id_target_idx;

-- Name: checkpoint_0_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_0_seq_idx;

-- Name: checkpoint_1_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_1_seq_idx;

-- Name: checkpoint_2_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_2_seq_idx;

-- Name: claim_0_owner_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_0_owner_seq_idx;

-- Name: claim_1_owner_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_1_owner_seq_idx;

-- Name: claim_2_owner_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_2_owner_seq_idx;

-- Name: done_default_bucket_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.done_bucket ATTACH PARTITION postrider.done_default_bucket_idx;

-- Name: ended_default_message_id_target_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.ended_message_id ATTACH PARTITION postrider.ended_default_message_id_target_idx;

-- Name: heartbeat_0_dispatcher_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_0_dispatcher_seq_idx;

-- Name: heartbeat_0_xid_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_0_xid_idx;

-- Name: heartbeat_1_dispatcher_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_1_dispatcher_seq_idx;

-- Name: heartbeat_1_xid_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_1_xid_idx;

-- Name: heartbeat_2_dispatcher_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_2_dispatcher_seq_idx;

-- Name: heartbeat_2_xid_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_2_xid_idx;

-- Name: message_default_endpoint_name_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_endpoint_id ATTACH PARTITION postrider.message_default_endpoint_name_id_idx;

-- Name: message_default_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_id ATTACH PARTITION postrider.message_default_id_idx;

-- Name: message_default_id_targets_event_type_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_published_id ATTACH PARTITION postrider.message_default_id_targets_event_type_idx;

-- Name: message_default_lane_expr_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_lane_id ATTACH PARTITION postrider.message_default_lane_expr_idx;

-- Name: message_default_xid_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_xid_id ATTACH PARTITION postrider.message_default_xid_id_idx;

-- Name: partly_done_default_message_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.partly_done_message_id ATTACH PARTITION postrider.partly_done_default_message_id_idx;

-- Name: endpoints announce; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.announce_endpoint();

-- Name: endpoints prepare; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.prepare_endpoint();

-- Name: endpoint_secret endpoint_secret_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoint_secret
    ADD CONSTRAINT endpoint_secret_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: subscriptions subscriptions_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: SCHEMA postrider; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA postrider TO postrider_admin;
GRANT USAGE ON SCHEMA postrider TO postrider_application;
GRANT USAGE ON SCHEMA postrider TO postrider_monitor;

-- Name: FUNCTION acquire_shards(p_dispatcher uuid, p_limit integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer) FROM PUBLIC;

-- Name: FUNCTION alter_endpoint(endpoint_name text, new_config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) TO postrider_admin;

-- Name: FUNCTION announce_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.announce_endpoint() FROM PUBLIC;

-- Name: TABLE event_types; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.event_types TO postrider_admin;
GRANT SELECT ON TABLE postrider.event_types TO postrider_monitor;

-- Name: FUNCTION append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;

-- Name: FUNCTION bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) FROM PUBLIC;

-- Name: FUNCTION bury_deferred(p_endpoint_id integer, p_cause text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_deferred(p_endpoint_id integer, p_cause text) FROM PUBLIC;

-- Name: FUNCTION bury_orphans(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_orphans() FROM PUBLIC;

-- Name: FUNCTION cancel_lock(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_lock(p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION cancel_message(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_application;

-- Name: FUNCTION check_config_headers(key text, headers jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_config_headers(key text, headers jsonb) FROM PUBLIC;

-- Name: FUNCTION check_options(p_largest_payload bigint, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;

-- Name: FUNCTION check_room(p_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_room(p_count bigint) FROM PUBLIC;

-- Name: TABLE setting; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.setting TO postrider_admin;
GRANT SELECT ON TABLE postrider.setting TO postrider_monitor;

-- Name: FUNCTION check_setting(p_setting postrider.setting, p_value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) FROM PUBLIC;

-- Name: FUNCTION claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION create_endpoint(name text, protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) TO postrider_admin;

-- Name: FUNCTION current_slot(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.current_slot() FROM PUBLIC;

-- Name: FUNCTION delivery_end(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.delivery_end(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION describe_end(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_monitor;

-- Name: FUNCTION direct_target(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.direct_target(p_endpoint_name text) FROM PUBLIC;

-- Name: FUNCTION disable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION done_before(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.done_before() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_application;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_monitor;

-- Name: FUNCTION done_map(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.done_map() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.done_map() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.done_map() TO postrider_application;
GRANT ALL ON FUNCTION postrider.done_map() TO postrider_monitor;

-- Name: FUNCTION done_map_start(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.done_map_start() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.done_map_start() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.done_map_start() TO postrider_application;
GRANT ALL ON FUNCTION postrider.done_map_start() TO postrider_monitor;

-- Name: FUNCTION drop_endpoint(endpoint_name text, p_force boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean) TO postrider_admin;

-- Name: FUNCTION drop_event_type(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_event_type(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_event_type(p_name text) TO postrider_admin;

-- Name: FUNCTION edit_distance(a text, b text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.edit_distance(a text, b text) FROM PUBLIC;

-- Name: FUNCTION enable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION enable_fast_mode(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enable_fast_mode() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_application;

-- Name: FUNCTION end_stale_flushes(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.end_stale_flushes() FROM PUBLIC;

-- Name: FUNCTION ended_ceiling(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.ended_ceiling() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_application;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_monitor;

-- Name: FUNCTION flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION forget_idempotency_keys(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_idempotency_keys() FROM PUBLIC;

-- Name: FUNCTION free_idempotency_keys(p_message_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION get_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.get_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_monitor;

-- Name: FUNCTION has_ended(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_monitor;

-- Name: FUNCTION has_ended_everywhere(p_message_id bigint, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[]) FROM PUBLIC;

-- Name: FUNCTION has_offset(p_offsets bytea, p_offset integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_offset(p_offsets bytea, p_offset integer) FROM PUBLIC;

-- Name: FUNCTION has_unread_messages(p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_unread_messages(p_target integer) FROM PUBLIC;

-- Name: FUNCTION heartbeat(p_dispatcher uuid, p_statistics jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb) FROM PUBLIC;

-- Name: FUNCTION idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea) FROM PUBLIC;

-- Name: FUNCTION idempotency_window(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.idempotency_window() FROM PUBLIC;

-- Name: FUNCTION is_claimed(p_message_id bigint, p_target integer, p_retry_count integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_monitor;

-- Name: FUNCTION is_deferred(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_monitor;

-- Name: FUNCTION is_done(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_done(p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_foreign(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_foreign() FROM PUBLIC;

-- Name: FUNCTION is_http_url(url text, maximum bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_http_url(url text, maximum bigint) FROM PUBLIC;

-- Name: FUNCTION is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_monitor;

-- Name: FUNCTION kept_message(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION key_shard(p_ordering_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.key_shard(p_ordering_key text) FROM PUBLIC;

-- Name: FUNCTION live_dispatchers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.live_dispatchers() FROM PUBLIC;

-- Name: FUNCTION lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION maintain_archive_partitions(p_months_ahead integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_admin;

-- Name: FUNCTION matching_targets(p_patterns text[], p_payload jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.matching_targets(p_patterns text[], p_payload jsonb) FROM PUBLIC;

-- Name: FUNCTION message_status(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.message_status(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_monitor;

-- Name: FUNCTION pending_floor(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pending_floor() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_application;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_monitor;

-- Name: FUNCTION prepare_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_endpoint() FROM PUBLIC;

-- Name: FUNCTION publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;

-- Name: FUNCTION publish_batch(p_events jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish_batch(p_events jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_application;

-- Name: FUNCTION rebase_log(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rebase_log() FROM PUBLIC;

-- Name: FUNCTION recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]) FROM PUBLIC;

-- Name: FUNCTION recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean) FROM PUBLIC;

-- Name: FUNCTION redrive_all(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_all() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_all() TO postrider_admin;

-- Name: FUNCTION redrive_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION redrive_letters(p_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_letters(p_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION redrive_message(p_dlq_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) TO postrider_admin;

-- Name: FUNCTION refuse_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_endpoint(p_endpoint_name text) FROM PUBLIC;

-- Name: FUNCTION register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text) FROM PUBLIC;

-- Name: FUNCTION release_keys(p_ordering_keys text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_keys(p_ordering_keys text[]) FROM PUBLIC;

-- Name: FUNCTION release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION reset_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reset_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_setting(name text) TO postrider_admin;

-- Name: FUNCTION rotate_slots(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rotate_slots() FROM PUBLIC;

-- Name: FUNCTION save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean) FROM PUBLIC;

-- Name: FUNCTION save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) FROM PUBLIC;

-- Name: FUNCTION send(endpoint_name text, payload jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_application;

-- Name: FUNCTION send_batch(p_endpoint_name text, p_payloads jsonb[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_application;

-- Name: FUNCTION send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_application;

-- Name: FUNCTION send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;

-- Name: FUNCTION send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;

-- Name: FUNCTION set_setting(name text, value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.set_setting(name text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_setting(name text, value text) TO postrider_admin;

-- Name: FUNCTION shard_count(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.shard_count() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_monitor;

-- Name: FUNCTION subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) TO postrider_admin;

-- Name: FUNCTION unregister_dispatcher(p_dispatcher uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) FROM PUBLIC;

-- Name: FUNCTION unsubscribe(p_subscription_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) TO postrider_admin;

-- Name: FUNCTION update_gate(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.update_gate() FROM PUBLIC;

-- Name: FUNCTION validate_endpoint_config(protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION validate_retry_policy(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) TO postrider_admin;

-- Name: TABLE endpoints; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.config; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(config) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.retry_policy; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(retry_policy) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.enabled; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(enabled) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: TABLE message; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.message TO postrider_admin;

-- Name: TABLE subscriptions; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.subscriptions TO postrider_admin;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_monitor;

-- Name: COLUMN subscriptions.filter; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(filter) ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: COLUMN subscriptions.enabled; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(enabled) ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: TABLE archive; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.archive TO postrider_admin;
GRANT SELECT ON TABLE postrider.archive TO postrider_application;

-- Name: COLUMN archive.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.content_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(content_type) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.retry_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_count) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.last_error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(last_error) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.scheduled_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(scheduled_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(idempotency_key) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.expires_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(expires_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.ordering_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ordering_key) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.ended_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ended_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.completed_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(completed_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.failed_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(failed_at) ON TABLE postrider.archive TO postrider_monitor;

-- Name: COLUMN archive.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.archive TO postrider_monitor;

-- Name: TABLE attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.attempt TO postrider_admin;
GRANT SELECT ON TABLE postrider.attempt TO postrider_monitor;

-- Name: TABLE deferred; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.deferred TO postrider_admin;
GRANT SELECT ON TABLE postrider.deferred TO postrider_monitor;

-- Name: TABLE blocked_keys; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_admin;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_application;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_monitor;

-- Name: TABLE cancellation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.cancellation TO postrider_admin;

-- Name: TABLE checkpoint; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.checkpoint TO postrider_admin;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_monitor;

-- Name: TABLE claim; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.claim TO postrider_admin;

-- Name: TABLE dead_letter; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dead_letter TO postrider_admin;

-- Name: COLUMN dead_letter.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.message_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_id) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.endpoint_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_id) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.cause; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(cause) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.retry_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_count) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.last_error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(last_error) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.failed_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(failed_at) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.redriven_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(redriven_at) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.message_created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_created_at) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: TABLE dispatcher; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dispatcher TO postrider_admin;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_monitor;

-- Name: TABLE dlq; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dlq TO postrider_admin;
GRANT SELECT ON TABLE postrider.dlq TO postrider_application;

-- Name: COLUMN dlq.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.message_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_id) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.cause; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(cause) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.retry_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_count) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.last_error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(last_error) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.error_history; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(error_history) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.failed_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(failed_at) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.redriven_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(redriven_at) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.ordering_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ordering_key) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.content_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(content_type) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: COLUMN dlq.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.dlq TO postrider_monitor;

-- Name: TABLE done; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.done TO postrider_admin;
GRANT SELECT ON TABLE postrider.done TO postrider_monitor;

-- Name: TABLE ended; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.ended TO postrider_admin;
GRANT SELECT ON TABLE postrider.ended TO postrider_monitor;

-- Name: TABLE event_log; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.event_log TO postrider_admin;
GRANT SELECT ON TABLE postrider.event_log TO postrider_monitor;

-- Name: TABLE heartbeat; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.heartbeat TO postrider_admin;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_monitor;

-- Name: TABLE idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.idempotency_key TO postrider_admin;

-- Name: TABLE installation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.installation TO postrider_admin;
GRANT SELECT ON TABLE postrider.installation TO postrider_monitor;

-- Name: TABLE migration; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.migration TO postrider_admin;
GRANT SELECT ON TABLE postrider.migration TO postrider_monitor;

-- Name: TABLE partly_done; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.partly_done TO postrider_admin;

-- Name: TABLE queue; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.queue TO postrider_admin;
GRANT SELECT ON TABLE postrider.queue TO postrider_application;

-- Name: COLUMN queue.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.content_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(content_type) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.retry_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_count) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.next_retry_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(next_retry_at) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.last_error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(last_error) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.scheduled_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(scheduled_at) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(idempotency_key) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.expires_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(expires_at) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.ordering_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ordering_key) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.queue TO postrider_monitor;

-- Name: COLUMN queue.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.queue TO postrider_monitor;

-- Name: TABLE shard; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.shard TO postrider_admin;
GRANT SELECT ON TABLE postrider.shard TO postrider_monitor;

-- Name: TABLE transport_option; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.transport_option TO postrider_admin;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_monitor;
