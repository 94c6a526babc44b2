-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by
-- `cargo xtask ci`. Partitions by month are left out. Dumped by PostgreSQL 15

-- Name: postrider; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA postrider;

-- Name: acquire_shards(uuid, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer) RETURNS TABLE(shard smallint, epoch bigint, state jsonb, last_owner uuid)
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
    select t.shard, t.epoch, newest.state, t.owner
    from taken t
    left join lateral (
        select c.state
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
    else
        if new.enabled <> old.enabled then
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

-- Name: bury_deferred(integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury_deferred(p_endpoint_id integer, p_cause text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    buried integer;
begin
    with given_up as (
        delete from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
        returning d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error
    )
    insert into postrider.dead_letter (
        message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
        error_history, message_created_at, correlation_id, ordering_key, headers, metadata, payload)
    select
        g.message_id, g.target, g.endpoint_id, coalesce(e.name, '(dropped)'), p_cause, g.retry_count, g.last_error,
        coalesce(h.history, '[]'), m.created_at, m.correlation_id, m.ordering_key, m.headers,
        m.metadata, m.payload
    from given_up g
    left join postrider.endpoints e on e.id = g.endpoint_id
    cross join lateral postrider.kept_message(g.message_id, g.target) m
    left join lateral (
        select jsonb_agg(
            jsonb_build_object(
                'attempt', a.number, 'at', a.started_at, 'duration_ms', a.duration_ms,
                'outcome', a.outcome, 'status', a.status, 'error', a.error)
            order by a.started_at, a.number) as history
        from postrider.attempt a
        where a.message_id = g.message_id
        and a.target = g.target
    ) h on true
    on conflict (message_id, target) where status = 'failed' do nothing;
    get diagnostics buried = row_count;
    return buried;
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

-- Name: check_options(text, jsonb[], smallint, timestamp with time zone, text, timestamp with time zone, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_options(p_endpoint_name text, p_payloads jsonb[], p_priority smallint DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    size_limit bigint;
    largest bigint;
    header record;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    if p_payloads is null or array_position(p_payloads, null) is not null then
        raise exception 'Payload must not be null' using errcode = '22004';
    end if;
    if p_priority is null or p_priority not between 0 and 10 then
        raise exception 'Priority must be between 0 and 10, got %', coalesce(p_priority::text, 'null')
            using errcode = '22023';
    end if;
    if p_priority <> 0 then
        raise exception 'Option p_priority is not supported yet' using errcode = '0A000';
    end if;
    if p_scheduled_at is not null then
        raise exception 'Option p_scheduled_at is not supported yet' using errcode = '0A000';
    end if;
    if p_idempotency_key is not null then
        raise exception 'Option p_idempotency_key is not supported yet' using errcode = '0A000';
    end if;
    if p_ordering_key is not null then
        raise exception 'Option p_ordering_key is not supported yet' using errcode = '0A000';
    end if;
    if p_expires_at <= clock_timestamp() then
        raise exception 'p_expires_at must be in the future, got %', p_expires_at
            using errcode = '22023';
    end if;

    if p_headers is not null then
        if jsonb_typeof(p_headers) <> 'object' then
            raise exception 'p_headers must be an object of text values, got %',
                jsonb_typeof(p_headers) using errcode = '22023';
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

    select max(octet_length(p.payload::text))
    into largest
    from unnest(p_payloads) p (payload);
    -- The setting's lowest value is 1 KiB: smaller payloads need no look-up.
    if largest > 1024 then
        select s.value::bigint
        into size_limit
        from postrider.setting s
        where s.name = 'max_payload_size';
        if largest > size_limit then
            raise exception 'Payload of % bytes exceeds max_payload_size of % bytes',
                largest, size_limit using errcode = '22023';
        end if;
    end if;
end;
$_$;

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

-- Name: current_slot(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.current_slot() RETURNS smallint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    select (floor(extract(epoch from clock_timestamp()) / 600)::bigint % 3)::smallint;
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
    LANGUAGE sql STABLE
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

-- Name: flush(uuid, smallint[], bigint[], bigint[], bytea[], bigint[], integer[], integer[], bigint[], integer[], integer[], timestamp with time zone[], timestamp with time zone[], text[], bigint[], integer[], bigint[], integer[], integer[], integer[], timestamp with time zone[], integer[], text[], integer[], text[], bigint[], integer[], integer[], text[], integer[], text[], bigint[], integer[], integer[], text[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[]) RETURNS smallint[]
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
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
            error_history, message_created_at, correlation_id, ordering_key, headers, metadata,
            payload)
        select
            d.message_id, d.target, d.endpoint_id, coalesce(e.name, '(dropped)'), d.cause,
            d.retry_count, d.last_error, coalesce(h.history, '[]'), m.created_at, m.correlation_id,
            m.ordering_key, m.headers, m.metadata, m.payload
        from unnest(
            p_dead_ids, p_dead_targets, p_dead_endpoints, p_dead_causes, p_dead_retry_counts,
            p_dead_errors)
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
            message_created_at, expires_at, last_error)
        select
            d.message_id, d.target,
            -- 0: the dispatcher had not heard of the endpoint yet.
            case
                when d.endpoint_id <> 0 then d.endpoint_id
                else coalesce(
                    (select s.endpoint_id from postrider.subscriptions s where s.id = d.target), 0)
            end,
            (d.message_id & 1023) >> 4,
            clock_timestamp() + d.wait_ms * interval '1 millisecond', d.retry_count,
            d.recovery_count, d.created_at, d.expires_at, d.last_error
        from unnest(
            p_deferred_ids, p_deferred_targets, p_deferred_endpoints, p_deferred_wait_ms,
            p_deferred_retry_counts, p_deferred_recovery_counts, p_deferred_created_at,
            p_deferred_expires_at, p_deferred_errors)
            d (message_id, target, endpoint_id, wait_ms, retry_count, recovery_count, created_at,
            expires_at, last_error)
        on conflict (message_id, target) do update
        set run_at = excluded.run_at,
            retry_count = excluded.retry_count,
            recovery_count = excluded.recovery_count,
            last_error = coalesce(excluded.last_error, deferred.last_error);
    end if;
    return '{}';
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
        and not postrider.is_done(m.id)
        and not exists (
            select
            from postrider.dead_letter l
            where l.message_id = m.id
            and l.target = p_target
        )
        and not exists (
            select
            from postrider.ended e
            where e.message_id = m.id
            and e.target = p_target
        )
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

-- Name: is_done(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_done(p_message_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select exists (
        select
        from postrider.done d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
        where d.bucket = p_message_id >> 22
        and get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1)
            = (p_message_id >> 10) & 4095
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

-- Name: kept_message(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) RETURNS TABLE(created_at timestamp with time zone, correlation_id uuid, ordering_key text, headers jsonb, metadata jsonb, payload jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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
    foreach parent in array array['message', 'done', 'ended', 'attempt'] loop
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
        new.updated_at := now();
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
        last_error = '[RETRYABLE] Recovered from stale processing state'
    from claimed c
    where d.message_id = c.message_id
    and d.target = c.target
    and d.retry_count = c.retry_count
    and d.shard = any (p_shards);
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
        message_created_at, expires_at, last_error)
    select
        m.id, t.target, coalesce(s.endpoint_id, 0), m.lane >> 4, clock_timestamp(),
        p_attempted::integer, p_attempted::integer, m.created_at, m.expires_at,
        case when p_attempted then '[RETRYABLE] Recovered from stale processing state' end
    from unnest(p_message_ids) i (id)
    join postrider.message m on m.lane = (i.id & 1023)::smallint and m.id = i.id
    cross join lateral unnest(m.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    where not exists (
        select
        from postrider.dead_letter l
        where l.message_id = m.id
        and l.target = t.target
    )
    and not exists (
        select
        from postrider.ended e
        where e.message_id = m.id
        and e.target = t.target
    )
    on conflict (message_id, target) do nothing;
    get diagnostics recovered = row_count;
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
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at
    )
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, message_created_at)
    select
        p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
        clock_timestamp() - interval '1 microsecond' * (count(*) over () - row_number() over (
            order by p.message_created_at, p.message_id)),
        p.message_created_at
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

-- Name: save_checkpoint(uuid, smallint[], bigint[], xid8, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_state jsonb) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lost smallint[];
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.checkpoint (slot, owner, shards, done_xmin, state)
        values (postrider.current_slot(), p_dispatcher, p_shards, p_done_xmin, p_state);
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    writer xid8;
    target integer;
    message_ids bigint[];
    rung integer;
begin
    perform postrider.check_options(p_endpoint_name, p_payloads);
    select e.direct_subscription_id
    into target
    from postrider.endpoints e
    where e.name = p_endpoint_name
    and e.enabled;
    if target is null then
        perform postrider.refuse_endpoint(p_endpoint_name);
    end if;

    writer := pg_current_xact_id();
    with numbered as materialized (
        select nextval('postrider.message_sequence') as sequence_number, p.payload
        from unnest(p_payloads) with ordinality p (payload, position)
        order by p.position
    ), inserted as (
        insert into postrider.message (id, xid, lane, targets, payload)
        select
            n.sequence_number * 1024 + (n.sequence_number % postrider.shard_count()) * 16,
            writer,
            (n.sequence_number % postrider.shard_count()) * 16,
            array[target],
            n.payload
        from numbered n
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

-- Name: send_with_options(text, jsonb, smallint, timestamp with time zone, text, uuid, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority smallint DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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

-- Name: set_setting(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.set_setting(name text, value text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.setting;
    checked text;
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
    perform pg_notify('postrider', 'settings');
    return checked;
end;
$$;

-- Name: shard_count(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.shard_count() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$select 16$$;

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
    state jsonb NOT NULL
);

-- Name: checkpoint_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    state jsonb NOT NULL
);

-- Name: checkpoint_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.checkpoint_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
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
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb NOT NULL,
    CONSTRAINT dead_letter_check CHECK (((status = 'redriven'::text) = (redriven_at IS NOT NULL))),
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
    CONSTRAINT deferred_recovery_count_check CHECK ((recovery_count >= 0)),
    CONSTRAINT deferred_retry_count_check CHECK ((retry_count >= 0))
);

-- Name: dispatcher; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.dispatcher (
    id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

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

-- Name: installation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.installation (
    singleton boolean DEFAULT true NOT NULL,
    product_version text NOT NULL,
    fingerprint text NOT NULL,
    installed_at timestamp with time zone DEFAULT now() NOT NULL,
    migrated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT installation_singleton_check CHECK (singleton)
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
    targets integer[] NOT NULL,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb NOT NULL
)
PARTITION BY RANGE (created_at);

-- Name: message_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.message_default (
    id bigint NOT NULL,
    xid xid8 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    scheduled_at timestamp with time zone,
    expires_at timestamp with time zone,
    correlation_id uuid,
    lane smallint NOT NULL,
    targets integer[] NOT NULL,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb NOT NULL
);

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

-- Name: shard; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.shard (
    shard smallint NOT NULL,
    owner uuid,
    epoch bigint DEFAULT 0 NOT NULL,
    CONSTRAINT shard_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

-- Name: subscriptions; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.subscriptions (
    id integer NOT NULL,
    endpoint_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
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

-- Name: dead_letter_failed; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX dead_letter_failed ON postrider.dead_letter USING btree (message_id, target) WHERE (status = 'failed'::text);

-- Name: dead_letter_message; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_message ON postrider.dead_letter USING btree (message_id, target, id);

-- Name: deferred_due; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_due ON postrider.deferred USING btree (endpoint_id, shard, run_at, message_id);

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

-- Name: message_lane_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_lane_id ON ONLY postrider.message USING btree (lane, id);

-- Name: message_default_lane_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_lane_id_idx ON postrider.message_default USING btree (lane, id);

-- Name: message_xid_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_xid_id ON ONLY postrider.message USING btree (xid, id);

-- Name: message_default_xid_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_xid_id_idx ON postrider.message_default USING btree (xid, id);

-- Name: subscriptions_endpoint_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_endpoint_id ON postrider.subscriptions USING btree (endpoint_id);

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

-- Name: message_default_lane_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_lane_id ATTACH PARTITION postrider.message_default_lane_id_idx;

-- Name: message_default_xid_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_xid_id ATTACH PARTITION postrider.message_default_xid_id_idx;

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

-- Name: FUNCTION bury_deferred(p_endpoint_id integer, p_cause text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_deferred(p_endpoint_id integer, p_cause text) FROM PUBLIC;

-- Name: FUNCTION bury_orphans(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_orphans() FROM PUBLIC;

-- Name: FUNCTION check_config_headers(key text, headers jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_config_headers(key text, headers jsonb) FROM PUBLIC;

-- Name: FUNCTION check_options(p_endpoint_name text, p_payloads jsonb[], p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_options(p_endpoint_name text, p_payloads jsonb[], p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb) FROM PUBLIC;

-- Name: TABLE setting; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.setting TO postrider_admin;
GRANT SELECT ON TABLE postrider.setting TO postrider_monitor;

-- Name: FUNCTION check_setting(p_setting postrider.setting, p_value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) FROM PUBLIC;

-- Name: FUNCTION create_endpoint(name text, protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION current_slot(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.current_slot() FROM PUBLIC;

-- Name: FUNCTION disable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION done_before(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.done_before() FROM PUBLIC;

-- Name: FUNCTION drop_endpoint(endpoint_name text, p_force boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean) TO postrider_admin;

-- Name: FUNCTION edit_distance(a text, b text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.edit_distance(a text, b text) FROM PUBLIC;

-- Name: FUNCTION enable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION end_stale_flushes(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.end_stale_flushes() FROM PUBLIC;

-- Name: FUNCTION flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[]) FROM PUBLIC;

-- Name: FUNCTION get_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.get_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_monitor;

-- Name: FUNCTION has_unread_messages(p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_unread_messages(p_target integer) FROM PUBLIC;

-- Name: FUNCTION heartbeat(p_dispatcher uuid, p_statistics jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb) FROM PUBLIC;

-- Name: FUNCTION is_done(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_done(p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_foreign(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_foreign() FROM PUBLIC;

-- Name: FUNCTION is_http_url(url text, maximum bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_http_url(url text, maximum bigint) FROM PUBLIC;

-- Name: FUNCTION kept_message(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION live_dispatchers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.live_dispatchers() FROM PUBLIC;

-- Name: FUNCTION lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION maintain_archive_partitions(p_months_ahead integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_admin;

-- Name: FUNCTION prepare_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_endpoint() FROM PUBLIC;

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

-- Name: FUNCTION release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION reset_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reset_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_setting(name text) TO postrider_admin;

-- Name: FUNCTION rotate_slots(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rotate_slots() FROM PUBLIC;

-- Name: FUNCTION save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_state jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_state jsonb) FROM PUBLIC;

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

-- Name: FUNCTION send_with_options(p_endpoint_name text, p_payload jsonb, p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority smallint, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;

-- Name: FUNCTION set_setting(name text, value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.set_setting(name text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_setting(name text, value text) TO postrider_admin;

-- Name: FUNCTION shard_count(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.shard_count() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_admin;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_monitor;

-- Name: FUNCTION unregister_dispatcher(p_dispatcher uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) FROM PUBLIC;

-- Name: FUNCTION validate_endpoint_config(protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION validate_retry_policy(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) TO postrider_admin;

-- Name: TABLE attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.attempt TO postrider_admin;
GRANT SELECT ON TABLE postrider.attempt TO postrider_monitor;

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

-- Name: TABLE deferred; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.deferred TO postrider_admin;
GRANT SELECT ON TABLE postrider.deferred TO postrider_monitor;

-- Name: TABLE dispatcher; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dispatcher TO postrider_admin;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_monitor;

-- Name: TABLE done; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.done TO postrider_admin;
GRANT SELECT ON TABLE postrider.done TO postrider_monitor;

-- Name: TABLE ended; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.ended TO postrider_admin;
GRANT SELECT ON TABLE postrider.ended TO postrider_monitor;

-- Name: TABLE endpoints; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.config; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(config) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.retry_policy; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(retry_policy) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.enabled; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(enabled) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: TABLE event_log; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.event_log TO postrider_admin;
GRANT SELECT ON TABLE postrider.event_log TO postrider_monitor;

-- Name: TABLE heartbeat; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.heartbeat TO postrider_admin;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_monitor;

-- Name: TABLE installation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.installation TO postrider_admin;
GRANT SELECT ON TABLE postrider.installation TO postrider_monitor;

-- Name: TABLE message; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.message TO postrider_admin;

-- Name: TABLE migration; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.migration TO postrider_admin;
GRANT SELECT ON TABLE postrider.migration TO postrider_monitor;

-- Name: TABLE shard; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.shard TO postrider_admin;
GRANT SELECT ON TABLE postrider.shard TO postrider_monitor;

-- Name: TABLE subscriptions; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.subscriptions TO postrider_admin;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_monitor;

-- Name: TABLE transport_option; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.transport_option TO postrider_admin;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_monitor;
