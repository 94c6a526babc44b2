-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by
-- `cargo xtask ci`. Partitions by month are left out. Dumped by PostgreSQL 15

-- Name: postrider; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA postrider;

-- Name: tick_span; Type: TYPE; Schema: postrider; Owner: -

CREATE TYPE postrider.tick_span AS (
	first_at timestamp with time zone,
	last_at timestamp with time zone,
	from_at timestamp with time zone,
	to_at timestamp with time zone,
	late_from_at timestamp with time zone,
	sparse_from_at timestamp with time zone,
	passed int8multirange
);

-- Name: acknowledge(text, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
declare
    -- As many as read_partition looks at.
    tick_look constant integer := 2000;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    fetched record;
    target record;
    ahead record;
    known postrider.consumer_position;
    acknowledged_count bigint;
    new_seq bigint;
begin
    if p_position is null then
        raise exception 'p_position must not be null' using errcode = '22004';
    end if;
    select f.partition, f.seq, f.tick, f.xid, f.id, f.message_count, f.at, f.is_end
    into fetched
    from postrider.fetched_batches(reader) f
    order by f.id >> 10 = p_position desc, f.partition = (
        select postrider.message_partition(m.ordering_key, m.id, reader.partition_count)
        from postrider.message m
        where m.id between p_position << 10 and (p_position << 10) | 1023
    ) desc
    limit 1;
    if not found then
        raise exception
            'Consumer ''%'' has nothing to acknowledge: it must be in the transaction of its fetch_messages',
            p_consumer using errcode = '55000';
    end if;
    select p.* into known from postrider.newest_position(reader.id, fetched.partition) p;
    -- Nor may the note lead back, or to where nothing is yet: any session can write one.
    if known.seq is distinct from fetched.seq
        or (fetched.tick, fetched.id) <= (known.tick, known.message_id)
        or (fetched.xid, fetched.id) <= (known.xid, known.message_id)
        or fetched.tick > pg_sequence_last_value('postrider.tick_sequence')
        or fetched.xid >= pg_snapshot_xmax(pg_current_snapshot())
        or fetched.message_count not between 0 and 1000000
        or fetched.at not between now() - interval '1 day' and clock_timestamp() + interval '1 day'
        or not postrider.has_consumer_lock(reader.id, fetched.partition)
    then
        raise exception
            'Consumer ''%'' has been moved since its fetch_messages', p_consumer
            using errcode = '55000';
    end if;

    if fetched.id >> 10 = p_position then
        select
            fetched.tick as tick, fetched.xid as xid,
            case when fetched.is_end then 9223372036854775807 else fetched.id end as id
        into target;
        acknowledged_count := fetched.message_count;
    else
        -- Somewhere within the batch.
        select n.span into ahead from postrider.next_ticks(
            known.tick, known.message_id, tick_look, fetched.tick) n;
        select b.tick, b.xid, b.id, b.number
        into target
        from (
            select m.tick, m.xid, m.id, row_number() over () as number
            from (
                select c.tick, c.xid, c.id
                from postrider.consumer_messages(
                    reader, fetched.partition, known.tick, known.xid, known.message_id, fetched.tick,
                    greatest(10000, fetched.message_count)::integer, ahead.span) c
                limit fetched.message_count
            ) m
        ) b
        where b.id >> 10 = p_position;
        if not found then
            raise exception
                'p_position must be that of a message fetched and not acknowledged, got %', p_position
                using errcode = '22023';
        end if;
        acknowledged_count := target.number;
    end if;

    new_seq := postrider.append_position(
        known, target.tick, case when known.xid is not null then target.xid end, target.id,
        acknowledged_count, fetched.at);
    perform set_config(
        format('postrider.fetched_%s_%s', reader.id, fetched.partition),
        case
            when acknowledged_count = fetched.message_count then ''
            else array[
                new_seq::text, fetched.tick::text, fetched.xid::text, fetched.id::text,
                (fetched.message_count - acknowledged_count)::text, fetched.at::text,
                fetched.is_end::text
            ]::text
        end,
        true);
end;
$$;

-- Name: acquire_shards(uuid, integer, uuid[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(shard smallint, epoch bigint, state jsonb, backlog bigint, last_owner uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $$
declare
    live uuid[];
    sequence_floor bigint;
begin
    lock table postrider.fence in exclusive mode;
    select coalesce(array_agg(l.id), '{}')
    into live
    from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id);
    if p_dispatcher <> all (live) then
        return;
    end if;
    -- Read before this transaction has an id: see heartbeat.
    select s.last_value - (not s.is_called)::integer
    into sequence_floor
    from postrider.message_sequence s;
    -- By a heartbeat that ends the lease for good, and that waits for no row.
    insert into postrider.heartbeat (
        slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
    select
        postrider.current_slot(), d.id, clock_timestamp(), 'epoch', pg_current_xact_id(), sequence_floor,
        pg_snapshot_xmin(pg_current_snapshot()), '{}'
    from postrider.dispatcher d
    cross join lateral (
        select h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where d.id <> all (live)
    and newest.lease_until <> 'epoch';

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

-- Name: acting_dispatchers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.acting_dispatchers() RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.at, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until > clock_timestamp()
    and newest.at <= clock_timestamp() + interval '1 second';
$$;

-- Name: add_signing_key(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.add_signing_key(endpoint text, key text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held record := postrider.lock_signing_keys(add_signing_key.endpoint, true);
    added text := coalesce(add_signing_key.key, postrider.make_signing_key());
begin
    if held.keys ? added then
        raise exception 'Endpoint ''%'' has this key already', add_signing_key.endpoint
            using errcode = '42710';
    end if;
    perform postrider.change_signing_keys(held.endpoint_id, jsonb_build_array(added) || held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.added', add_signing_key.endpoint,
        jsonb_build_object('by', session_user, 'id', postrider.signing_key_id(added)));
    return added;
end;
$$;

-- Name: address_literal(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.address_literal(host text) RETURNS inet
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    bare constant text := lower(regexp_replace(address_literal.host, '^\[(.*)\]$', '\1'));
    parts text[] := string_to_array(regexp_replace(bare, '\.$', ''), '.');
    most constant integer := cardinality(parts);
    part text;
    radix integer;
    value bigint;
    bits bigint := 0;
begin
    if bare ~ ':' then
        -- The server also takes masks, and fewer than four numbers with dots.
        return case
            when bare ~ '^[0-9a-f:]+(?::[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+)?$' then bare::inet
        end;
    end if;
    if address_literal.host ~ '^\[' then
        return null;
    end if;
    if most not between 1 and 4 then
        return null;
    end if;
    for i in 1 .. most loop
        part := parts[i];
        radix := case
            when part ~ '^0x[0-9a-f]*$' then 16
            when part ~ '^0[0-7]+$' then 8
            when part ~ '^(0|[1-9][0-9]*)$' then 10
        end;
        if radix is null then
            return null;
        end if;
        part := case radix when 16 then substr(part, 3) else part end;
        value := 0;
        for k in 1 .. length(part) loop
            value := value * radix + strpos('0123456789abcdef', substr(part, k, 1)) - 1;
            if value > 4294967295 then
                return null;
            end if;
        end loop;
        -- The last part fills what the others leave.
        if value >= (case when i = most then 1::bigint << (8 * (5 - most)) else 256 end) then
            return null;
        end if;
        bits := bits + (value << case when i = most then 0 else 8 * (4 - i) end);
    end loop;
    return inet '0.0.0.0' + bits;
exception
    when invalid_text_representation then
        return null;
end;
$_$;

-- Name: worker; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.worker (
    id integer NOT NULL,
    name text NOT NULL,
    pool text NOT NULL,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    carrier text NOT NULL,
    status text NOT NULL,
    cordoned_at timestamp with time zone,
    capacity integer NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    version text,
    host text,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    registered_at timestamp with time zone,
    heartbeat_at timestamp with time zone,
    health text DEFAULT 'healthy'::text NOT NULL,
    failure_streak integer DEFAULT 0 NOT NULL,
    failure_rate real DEFAULT 0 NOT NULL,
    queue_depth integer DEFAULT 0 NOT NULL,
    registered_by text,
    CONSTRAINT worker_capacity_check CHECK (((capacity >= 1) AND (capacity <= 10000))),
    CONSTRAINT worker_carrier_check CHECK ((carrier = ANY (ARRAY['postgres'::text, 'rabbitmq'::text]))),
    CONSTRAINT worker_health_check CHECK ((health = ANY (ARRAY['healthy'::text, 'degraded'::text, 'unhealthy'::text]))),
    CONSTRAINT worker_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT worker_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text)),
    CONSTRAINT worker_pool_check CHECK ((pool ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'::text)),
    CONSTRAINT worker_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'error'::text])))
)
WITH (fillfactor='50');

-- Name: addressed_worker(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.addressed_worker(p_name text, p_pool text) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_worker postrider.worker;
begin
    loop
        select w.* into found_worker from postrider.worker w where w.name = p_name;
        if found and found_worker.status <> 'inactive' then
            return found_worker;
        end if;
        -- Nobody removes it then before this transaction has ended.
        perform
        from postrider.worker w
        where w.id = found_worker.id
        for key share;
        if found then
            return found_worker;
        end if;
        with made as (
            insert into postrider.worker (name, pool, carrier, status, capacity)
            values (
                p_name, coalesce(p_pool, 'default'), postrider.get_setting('execution_carrier'),
                'inactive', 1)
            on conflict (name) do nothing
            returning id
        )
        insert into postrider.worker_lock (worker_id)
        select m.id from made m;
    end loop;
end;
$$;

-- Name: admissible(text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.admissible(p_action text, p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    concurrency integer;
    admitted bigint;
begin
    select a.concurrency into concurrency from postrider.action a where a.name = p_action;
    if concurrency is null then
        return p_most;
    end if;
    select count(*)
    into admitted
    from (
        select
        from postrider.execution_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.action = p_action
            and l.scheduled_at is not null
            limit concurrency
        ) l
        limit concurrency
    ) l;
    return least(p_most, concurrency - admitted);
end;
$$;

-- Name: adopt(boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.adopt(p_only_look boolean DEFAULT false) RETURNS TABLE(found_sign text, unfinished_messages bigint, waiting_deliveries bigint, doubtful_messages bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '10s'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
begin
    perform postrider.check_tick_allowed('adopt');
    found_sign := postrider.foreign_sign();
    if found_sign is null then
        return;
    end if;
    if p_only_look then
        select count(*) into waiting_deliveries from postrider.deferred d;
        return next;
        return;
    end if;
    begin
        -- Whoever comes later waits behind us: no longer than a takeover keeps them waiting.
        perform set_config('lock_timeout', '1s', true);
        lock table postrider.fence in exclusive mode;
        perform set_config('lock_timeout', '10s', true);
        -- Somebody else may have been first.
        found_sign := postrider.foreign_sign();
        if found_sign is null then
            return;
        end if;
        -- A row that was copied was not written by the transaction that it names. Where files were copied nobody knows.
        if not exists (select from postrider.identity i where i.mark = i.xmin) then
            select count(*) into doubtful_messages from postrider.message m where m.xmin = m.xid::xid;
        end if;
        unfinished_messages := postrider.rebase_log();
    exception
        when lock_not_available then
            raise exception 'Nothing was adopted: somebody holds what has to change'
                using errcode = '55P03',
                    hint = 'End the transactions that send or read messages in this database, and adopt again.';
    end;
    select count(*) into waiting_deliveries from postrider.deferred d;

    delete from postrider.identity i;
    insert into postrider.identity (system_identifier, database_oid, relation_oid)
    select postrider.system_identifier(), d.oid, 'postrider.identity'::regclass
    from pg_database d
    where d.datname = current_database();
    -- The version that this writes is of the same transaction.
    update postrider.identity i set mark = i.xmin;
    insert into postrider.event_log (event, details)
    values (
        'log.adopted',
        jsonb_build_object(
            'found', found_sign, 'unfinished_messages', unfinished_messages,
            'waiting_deliveries', waiting_deliveries, 'doubtful_messages', doubtful_messages,
            'by', session_user));
    return next;
end;
$$;

-- Name: advance_jobs(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.advance_jobs() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '200ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    idle_ms constant integer := 1000;
    busy_ms constant integer := 50;
    began constant timestamptz := clock_timestamp();
    job postrider.job;
    batch record;
    pause_ms integer := idle_ms;
begin
    begin
        if postrider.bring_back() then
            pause_ms := busy_ms;
        end if;
    exception
        when query_canceled or others then
            raise warning 'what the clock has left in the future is not brought back yet: %', sqlerrm;
    end;
    select j.*
    into job
    from postrider.job j
    where j.state = 'running'
    -- Nothing is put off by a minute, unless the clock was set back.
    and j.next_at not between clock_timestamp() and clock_timestamp() + interval '1 minute'
    order by j.next_at
    limit 1
    for update skip locked;
    if job.id is null then
        return pause_ms;
    end if;

    begin
        case job.kind
            when 'drop' then batch := postrider.bury_batch(job);
            when 'redrive' then batch := postrider.redrive_batch(job);
            when 'cancel' then batch := postrider.cancel_batch(job);
            when 'erase' then batch := postrider.erase_batch(job);
            else batch := postrider.tell_batch(job);
        end case;
    exception
        -- A batch that takes too long stands aside, too: others' jobs go on.
        when query_canceled or others then
            update postrider.job j
            set last_error = sqlerrm, next_at = clock_timestamp() + interval '5 seconds'
            where j.id = job.id;
            return busy_ms;
    end;
    update postrider.job j
    set state = case when batch.is_over then 'completed' else 'running' end,
        position = batch.reached,
        held_from = batch.held_from,
        held_count = batch.held_count,
        paced_to = batch.paced_to,
        next_at = clock_timestamp() + batch.pause,
        done_count = j.done_count + batch.done_count,
        last_error = null,
        finished_at = case when batch.is_over then clock_timestamp() end
    where j.id = job.id;
    if batch.is_over then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'job.completed', job.endpoint_name,
            jsonb_build_object(
                'id', job.id, 'kind', job.kind, 'count', job.done_count + batch.done_count));
    end if;
    -- As long as it took: another half is left to others.
    return greatest(busy_ms, 1000 * extract(epoch from clock_timestamp() - began))::integer;
end;
$$;

-- Name: replay; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.replay (
    id bigint NOT NULL,
    endpoint_id integer NOT NULL,
    endpoint_name text NOT NULL,
    from_ts timestamp with time zone NOT NULL,
    to_ts timestamp with time zone NOT NULL,
    status text,
    event_type text,
    filter jsonb,
    rate integer,
    state text DEFAULT 'running'::text NOT NULL,
    "position" bigint NOT NULL,
    last_id bigint NOT NULL,
    position_at timestamp with time zone NOT NULL,
    paced_to timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    replayed_count bigint DEFAULT 0 NOT NULL,
    last_error text,
    created_by text DEFAULT SESSION_USER NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT replay_check CHECK ((from_ts < to_ts)),
    CONSTRAINT replay_check1 CHECK (((state = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT replay_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text)),
    CONSTRAINT replay_rate_check CHECK (((rate >= 1) AND (rate <= 100000))),
    CONSTRAINT replay_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text]))),
    CONSTRAINT replay_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'failed'::text, 'expired'::text, 'cancelled'::text, 'skipped'::text])))
)
WITH (fillfactor='50');

-- Name: advance_replay(postrider.replay); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.advance_replay(p_job postrider.replay) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    most_sent constant bigint := 2000;
    most_seen constant bigint := 20000;
    since constant xid8 := postrider.done_before();
    is_enabled boolean;
    own_targets integer[];
    used_to timestamptz := case
        when p_job.paced_to > clock_timestamp() then clock_timestamp() - interval '1 second'
        else greatest(p_job.paced_to, clock_timestamp() - interval '5 seconds')
    end;
    allowed bigint := most_sent;
    room bigint;
    is_full boolean;
    obstacle text;
    boundary bigint;
    message_ids bigint[] := '{}';
    targets integer[] := '{}';
    chosen bigint;
    sent bigint;
    new_state text := 'running';
begin
    select
        e.enabled, e.is_full,
        array(select s.id from postrider.subscriptions s where s.endpoint_id = e.id)
    into is_enabled, is_full, own_targets
    from postrider.endpoints e
    where e.id = p_job.endpoint_id;
    if is_enabled is null then
        new_state := 'failed';
        obstacle := format('Endpoint ''%s'' does not exist', p_job.endpoint_name);
    elsif not is_enabled then
        obstacle := format('Endpoint ''%s'' is disabled', p_job.endpoint_name);
    elsif is_full then
        obstacle := format('Endpoint ''%s'' is full: see its max_queue_size', p_job.endpoint_name);
    else
        allowed := least(
            allowed,
            floor(p_job.rate * extract(epoch from clock_timestamp() - used_to)));
        room := postrider.update_gate()
            - coalesce(pg_sequence_last_value('postrider.message_sequence'), 0);
        if room <= 0 then
            obstacle := 'The log is full: see max_queue_size';
        elsif allowed <= 0 then
            return false;
        end if;
    end if;
    if obstacle is not null then
        update postrider.replay r
        set state = new_state,
            last_error = obstacle,
            finished_at = case when new_state = 'failed' then clock_timestamp() end
        where r.id = p_job.id
        and (r.last_error is distinct from obstacle or new_state = 'failed');
        if new_state = 'failed' then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'replay.failed', p_job.endpoint_name,
                jsonb_build_object('id', p_job.id, 'error', obstacle));
        end if;
        return false;
    end if;
    allowed := least(allowed, room);

    select m.id
    into boundary
    from postrider.message m
    where m.id > p_job.position
    and m.id <= p_job.last_id
    order by m.id
    offset most_seen - 1
    limit 1;
    boundary := coalesce(boundary, p_job.last_id);
    select coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.target), '{}')
    into message_ids, targets
    from (
        select m.id, t.target
        from (
            select k.id, k.xid, k.targets
            from postrider.message k
            where k.id > p_job.position
            and k.id <= boundary
            and k.created_at >= p_job.from_ts
            and k.created_at < p_job.to_ts
            and k.replay_of is null
            and k.erased_at is null
            and k.targets && own_targets
            and (p_job.event_type is null or k.event_type = p_job.event_type)
            and (p_job.filter is null or k.payload @> p_job.filter)
            order by k.id
        ) m
        cross join lateral (
            select min(o.target) as target
            from unnest(m.targets) o (target)
            where o.target = any (own_targets)
        ) t
        cross join lateral postrider.ended_status(m.id, t.target, m.xid, since) e (status)
        where e.status = coalesce(p_job.status, e.status)
        order by m.id
        limit allowed
    ) c;
    chosen := cardinality(message_ids);
    -- Fewer than were chosen, if some were erased meanwhile.
    sent := cardinality(postrider.append_replays(message_ids, targets));
    if chosen = allowed then
        boundary := message_ids[chosen];
    end if;

    if boundary >= p_job.last_id then
        new_state := 'completed';
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'replay.completed', p_job.endpoint_name,
            jsonb_build_object('id', p_job.id, 'replayed', p_job.replayed_count + sent));
    end if;
    update postrider.replay r
    set state = new_state,
        position = boundary,
        position_at = coalesce(
            (
                select m.created_at
                from postrider.message m
                where m.id = boundary
                limit 1
            ), r.position_at),
        paced_to = case
            when r.rate is null then clock_timestamp()
            else used_to + sent * interval '1 second' / r.rate
        end,
        replayed_count = r.replayed_count + sent,
        last_error = null,
        finished_at = case when new_state = 'completed' then clock_timestamp() end
    where r.id = p_job.id;
    return new_state = 'running' and (p_job.rate is null or chosen < allowed or allowed = most_sent);
end;
$$;

-- Name: advance_replays(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.advance_replays() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    idle_ms constant integer := 2000;
    paced_ms constant integer := 1000;
    busy_ms constant integer := 250;
    began constant timestamptz := clock_timestamp();
    job postrider.replay;
    pause_ms integer := idle_ms;
begin
    for job in
        select r.*
        from postrider.replay r
        where r.state = 'running'
        order by r.paced_to
        for update skip locked
    loop
        pause_ms := least(
            pause_ms,
            case when postrider.advance_replay(job) then busy_ms else paced_ms end);
        exit when clock_timestamp() > began + interval '300 milliseconds';
    end loop;
    return pause_ms;
end;
$$;

-- Name: advance_sequences(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.advance_sequences() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    margin constant bigint := 4294967296;
    numbered record;
    newest bigint;
begin
    for numbered in
        select d.objid::regclass as sequence, d.refobjid::regclass as relation, a.attname as attribute
        from pg_depend d
        join pg_class c on c.oid = d.objid and c.relkind = 'S'
        join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
        where d.classid = 'pg_class'::regclass
        and d.refclassid = 'pg_class'::regclass
        and d.deptype = 'i'
        and c.relnamespace = 'postrider'::regnamespace
    loop
        execute format(
            'select setval(%L, m.newest) from %s s cross join (select max(t.%I) as newest from %s t) m
            where m.newest > s.last_value or m.newest = s.last_value and not s.is_called',
            numbered.sequence, numbered.sequence, numbered.attribute, numbered.relation);
    end loop;
    perform setval('postrider.rotation_sequence', n.newest)
    from postrider.rotation_sequence s
    cross join lateral (
        select greatest(
            (select max(c.seq) from postrider.checkpoint c),
            (select max(c.seq) from postrider.claim c),
            (select max(h.seq) from postrider.heartbeat h),
            (select max(g.seq) from postrider.rate_grant g),
            (select max(greatest(p.seq, p.generation)) from postrider.consumer_position p),
            (select max(a.seq) from postrider.consumer_attempt a),
            (select max(l.seq) from postrider.consumer_lease l)) as newest
    ) n
    where n.newest > s.last_value;
    perform setval('postrider.execution_fence', n.newest)
    from postrider.execution_fence s
    cross join lateral (
        select max(e.fence) as newest from postrider.live_execution e
    ) n
    where n.newest > s.last_value;
    -- It names the one that is written to, which has to be there.
    perform setval('postrider.present_generation', n.newest)
    from postrider.present_generation s
    cross join lateral (select max(g.id) as newest from postrider.execution_generation g) n
    where n.newest > s.last_value
    or not s.is_called;

    select greatest(s.last_value, (select m.id >> 10 from postrider.message m order by m.id desc limit 1))
    into newest
    from postrider.message_sequence s;
    perform setval('postrider.message_sequence', newest + margin);
    insert into postrider.number_gap (after_number, last_number)
    values (newest, newest + margin);
    return newest;
end;
$$;

-- Name: advance_ticks(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.advance_ticks() RETURNS TABLE(is_made boolean, interval_ms integer)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.append_tick() is not null, s.value::integer
    from postrider.setting s
    where s.name = 'tick_interval_ms'
    and exists (select from postrider.consumer c);
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
    former jsonb;
    present jsonb;
begin
    if tg_op <> 'INSERT' then
        former := jsonb_build_object(
            'config', postrider.masked_config(old.config), 'retry_policy', old.retry_policy,
            'enabled', old.enabled, 'paused', old.paused);
    end if;
    if tg_op <> 'DELETE' then
        present := jsonb_build_object(
            'config', postrider.masked_config(new.config), 'retry_policy', new.retry_policy,
            'enabled', new.enabled, 'paused', new.paused);
    end if;
    if tg_op = 'DELETE' then
        insert into postrider.event_log (event, endpoint_name, details)
        values ('endpoint.dropped', old.name, details || jsonb_build_object('id', old.id, 'before', former, 'after', null));
    elsif tg_op = 'INSERT' then
        insert into postrider.circuit (endpoint_id) values (new.id);
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'endpoint.created', new.name,
            details || jsonb_build_object(
                'id', new.id, 'protocol', new.protocol, 'before', null, 'after', present,
                'secrets_set_at', (
                    select s.set_at
                    from postrider.endpoint_secret s
                    where s.endpoint_id = new.id)));
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
                new.name,
                details || postrider.changes_between(
                    jsonb_build_object('enabled', old.enabled),
                    jsonb_build_object('enabled', new.enabled)));
        end if;
        if new.enabled > old.enabled then
            -- The days without a success begin anew (auto_disable_after_days).
            update postrider.circuit c
            set version = c.version + 1, failing_since = null
            where c.endpoint_id = new.id;
        end if;
        if new.paused <> old.paused then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                case when new.paused then 'endpoint.paused' else 'endpoint.resumed' end,
                new.name,
                details || postrider.changes_between(
                    jsonb_build_object('paused', old.paused), jsonb_build_object('paused', new.paused)));
        end if;
        -- A config that differs in a secret only looks the same here.
        if (new.enabled, new.paused) = (old.enabled, old.paused)
            or (new.config, new.retry_policy) is distinct from (old.config, old.retry_policy)
        then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'endpoint.altered', new.name,
                details
                || postrider.changes_between(
                    former - array['enabled', 'paused'], present - array['enabled', 'paused'])
                || jsonb_build_object(
                    'secrets_set_at', (
                        select s.set_at
                        from postrider.endpoint_secret s
                        where s.endpoint_id = new.id)));
        end if;
    end if;
    perform postrider.ring('postrider', 'endpoints');
    return null;
end;
$$;

-- Name: announce_event_type(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.announce_event_type() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    old_policy jsonb := case when tg_op <> 'INSERT' then old.metadata -> '_retry_policy' end;
    new_policy jsonb := case when tg_op <> 'DELETE' then new.metadata -> '_retry_policy' end;
begin
    if tg_op = 'UPDATE' and new is distinct from old then
        insert into postrider.event_log (event, details)
        values (
            'event_type.altered',
            jsonb_build_object('event_type', new.name, 'id', new.id, 'by', session_user)
            || postrider.changes_between(to_jsonb(old), to_jsonb(new)));
    end if;
    if new_policy is distinct from old_policy then
        perform postrider.ring('postrider', 'settings');
    end if;
    return null;
end;
$$;

-- Name: announce_subscription(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.announce_subscription() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    insert into postrider.event_log (event, endpoint_name, details)
    select
        c.event, e.name,
        jsonb_build_object('id', new.id, 'event_type', new.event_type, 'by', session_user)
        || postrider.changes_between(
            jsonb_build_object(
                'filter', old.filter, 'retry_policy', old.retry_policy, 'enabled', old.enabled),
            jsonb_build_object(
                'filter', new.filter, 'retry_policy', new.retry_policy, 'enabled', new.enabled))
    from (
        values
        ('subscription.enabled', new.enabled and not old.enabled),
        ('subscription.disabled', old.enabled and not new.enabled),
        (
            'subscription.altered',
            (new.filter, new.retry_policy) is distinct from (old.filter, old.retry_policy)
        )
    ) c (event, is_so)
    join postrider.endpoints e on e.id = new.endpoint_id
    where c.is_so;
    if new.retry_policy is distinct from old.retry_policy then
        update postrider.endpoints e set version = e.version + 1 where e.id = new.endpoint_id;
    end if;
    return null;
end;
$$;

-- Name: any_waiting_action(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.any_waiting_action(p_queue text) RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
    with start as materialized (
        select e.action
        from postrider.execution e
        where e.id >= (
            select min(g.begins_after)
                + ceil(random() * (max(g.ends_with) - min(g.begins_after)))::bigint
            from postrider.execution_generation g
            where g.id >= (select s.last_value from postrider.oldest_generation s)
        )
        order by e.id
        limit 1
    )
    select min(l.action)
    from postrider.live_generation g
    cross join lateral (
        select l.action
        from postrider.live_execution l
        where l.generation = g.id
        and l.queue = p_queue
        and l.status = 'requested'
        and not l.is_delayed
        and l.action >= (select s.action from start s)
        order by l.action
        limit 1
    ) l;
$$;

-- Name: execution; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution (
    id bigint NOT NULL,
    action text NOT NULL,
    parameters jsonb NOT NULL,
    worker_id integer,
    pool text,
    priority smallint NOT NULL,
    ttl_ms bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    max_retries integer NOT NULL,
    idempotency_key text,
    correlation_id uuid,
    original_execution bigint,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT execution_check CHECK (((worker_id IS NOT NULL) OR (pool IS NOT NULL)))
);

-- Name: append_execution(postrider.execution); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.append_execution(p_execution postrider.execution) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    at constant timestamptz := clock_timestamp();
    queue constant text := postrider.execution_queue(p_execution.worker_id, p_execution.pool);
    execution_id bigint;
begin
    loop
        insert into postrider.execution (
            action, parameters, worker_id, pool, priority, ttl_ms, timeout_ms, max_retries,
            idempotency_key, correlation_id, original_execution, created_at)
        values (
            p_execution.action, p_execution.parameters, p_execution.worker_id, p_execution.pool,
            p_execution.priority, p_execution.ttl_ms, p_execution.timeout_ms, p_execution.max_retries,
            p_execution.idempotency_key, p_execution.correlation_id, p_execution.original_execution, at)
        on conflict (idempotency_key) where idempotency_key is not null do nothing
        returning id into execution_id;
        exit when found;
        -- Gone if it was cleaned up in between.
        execution_id := postrider.execution_key_holder(
            p_execution.idempotency_key, p_execution.action, p_execution.parameters);
        if execution_id is not null then
            return execution_id;
        end if;
    end loop;
    insert into postrider.live_execution (
        id, generation, action, queue, pool, status, priority, max_retries, retry_reason, ttl_ms, timeout_ms,
        requested_at, expires_at, due_at)
    select
        execution_id, postrider.enter_generation(), p_execution.action, queue, p_execution.pool, 'requested',
        p_execution.priority, p_execution.max_retries,
        case when p_execution.original_execution is not null then 'manual_retry' end,
        p_execution.ttl_ms, p_execution.timeout_ms, at, t.expires_at, t.expires_at
    from (
        select at + make_interval(secs => p_execution.ttl_ms / 1000.0)
    ) t (expires_at);
    perform postrider.ring_workers(queue);
    return execution_id;
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
    perform postrider.check_room(greatest(cardinality(targets), 1), targets);

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

-- Name: rotation_sequence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.rotation_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: consumer_position; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.consumer_position (
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    consumer_id integer NOT NULL,
    partition smallint NOT NULL,
    tick bigint,
    xid xid8,
    message_id bigint NOT NULL,
    generation bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    message_count bigint NOT NULL,
    suspect_count bigint DEFAULT 0 NOT NULL,
    fetched_at timestamp with time zone,
    acknowledged_at timestamp with time zone,
    CONSTRAINT consumer_position_check CHECK (((tick IS NULL) <> (xid IS NULL)))
);

-- Name: append_position(postrider.consumer_position, bigint, xid8, bigint, bigint, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.append_position(p_from postrider.consumer_position, p_tick bigint, p_xid xid8, p_message_id bigint, p_acknowledged_count bigint, p_fetched_at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    new_seq bigint;
begin
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, generation, message_count, suspect_count,
        fetched_at, acknowledged_at)
    select
        p_from.consumer_id, p_from.partition, p_tick, p_xid, p_message_id,
        p_from.generation, p_from.message_count + p_acknowledged_count,
        greatest(
            p_from.suspect_count, (
                select a.suspect_count
                from postrider.newest_attempt(p_from.consumer_id, p_from.partition) a
                where a.generation = p_from.generation
                and a.message_count = p_from.message_count
                and p_acknowledged_count > 0
            )),
        coalesce(p_fetched_at, p_from.fetched_at),
        case when p_acknowledged_count > 0 then clock_timestamp() else p_from.acknowledged_at end
    returning seq into new_seq;
    return new_seq;
end;
$$;

-- Name: append_replays(bigint[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.append_replays(p_message_ids bigint[], p_targets integer[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    writer xid8;
    replay_ids bigint[];
    rung integer;
begin
    if p_message_ids = '{}' then
        return '{}';
    end if;
    perform postrider.check_room(cardinality(p_message_ids), p_targets);

    writer := pg_current_xact_id();
    with wanted as materialized (
        select w.message_id, array_agg(w.target order by w.target) as targets
        from unnest(p_message_ids, p_targets) w (message_id, target)
        group by w.message_id
        order by w.message_id
    ), numbered as materialized (
        -- As many numbers as deliveries, as in append_message.
        select
            w.message_id, w.targets,
            (
                select max(nextval('postrider.message_sequence'))
                from generate_series(1, cardinality(w.targets))
            ) as sequence_number
        from wanted w
    ), placed as (
        select
            n.message_id, n.targets, n.sequence_number,
            case
                when m.ordering_key is null
                then ((n.sequence_number >> 6) % postrider.shard_count()) * 16 + m.priority
                else postrider.key_shard(m.ordering_key) * 16 + 15
            end as lane,
            m.correlation_id, m.priority, m.endpoint_name, m.event_type, m.ordering_key, m.headers,
            m.metadata, m.payload, m.body, m.content_type
        from numbered n
        cross join lateral (
            select k.*
            from postrider.message k
            where k.id >= n.message_id
            and k.id <= n.message_id
            and k.erased_at is null
            order by k.id
            limit 1
        ) m
    ), inserted as (
        insert into postrider.message (
            id, xid, correlation_id, lane, priority, targets, endpoint_name, event_type, ordering_key,
            headers, metadata, payload, body, content_type, replay_of)
        select
            p.sequence_number * 1024 + p.lane, writer, p.correlation_id, p.lane, p.priority, p.targets,
            p.endpoint_name, p.event_type, p.ordering_key, p.headers, p.metadata, p.payload, p.body,
            p.content_type, p.message_id
        from placed p
        returning id
    )
    select coalesce(array_agg(i.id order by i.id), '{}')
    into replay_ids
    from inserted i;
    -- An old target is named again, by a message of today: see forget_subscriptions.
    with named as (
        select s.id
        from postrider.subscriptions s
        where s.id = any (p_targets)
        and s.ended_at < now() - interval '1 day'
        for update skip locked
    )
    update postrider.subscriptions s
    set ended_at = now()
    from named n
    where s.id = n.id;

    -- As in send_batch_with_priority.
    select count(postrider.ring('postrider', s.shard::text))
    into rung
    from (
        select distinct ((i.id & 1023) >> 4)::integer as shard
        from unnest(replay_ids) i (id)
    ) s
    where not pg_try_advisory_xact_lock_shared(1886352244, s.shard);
    return replay_ids;
end;
$$;

-- Name: append_tick(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.append_tick() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
declare
    look constant integer := 4000;
    -- A walk over ids may meet so many others for each message.
    density constant integer := 20;
    tick_interval constant interval := make_interval(secs => (
        select n.value::double precision / 1000
        from postrider.setting n
        where n.name = 'tick_interval_ms'
    ));
    former postrider.tick;
    last_tick postrider.tick;
    epoch bigint;
    is_settled boolean;
    has_turn boolean;
    is_passing boolean := false;
    top pg_snapshot;
    base_end xid8;
    stragglers xid8[];
    found record;
    ceiling bigint;
    floor_id bigint;
    new_id bigint;
begin
    if not exists (select from postrider.consumer c) then
        return null;
    end if;
    select t.* into former from postrider.tick t order by t.id desc limit 1;
    -- Left again where no tick is made: with it go the locks.
    begin
        -- Before anything is looked at: the re-base of an adopted log lets nobody build on what it takes away.
        lock table postrider.tick in row exclusive mode;
        has_turn := postrider.has_tick_turn('tick_turn', former.passes_after is null);
        if not has_turn then
            -- Those who pass do it one after the other, too, as far as they get on.
            perform postrider.has_tick_turn('tick_passing', true);
        end if;
        loop
            -- Each in a statement of its own, in this order: the last tick is seen by a snapshot that is younger
            -- than the lock and the epoch, and the tick's snapshot is younger still.
            if is_passing then
                epoch := nextval('postrider.tick_epoch');
                if epoch <= last_tick.epoch then
                    -- Sequences are not replicated with the rest.
                    epoch := setval('postrider.tick_epoch', last_tick.epoch + 1);
                end if;
            else
                epoch := coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0);
            end if;
            select t.* into last_tick from postrider.tick t order by t.id desc limit 1;
            is_settled := epoch = coalesce(last_tick.epoch, 0);
            if is_settled
                and (
                    -- They get on.
                    not has_turn and last_tick.id is distinct from former.id
                    or last_tick.at > clock_timestamp() - tick_interval
                    and last_tick.at <= clock_timestamp())
            then
                raise no_data_found;
            end if;
            top := postrider.open_snapshot();
            base_end := coalesce(pg_snapshot_xmax(last_tick.snapshot), '3');
            if pg_snapshot_xmax(top) < base_end then
                raise exception
                    'Transaction ids went back: this log is from another cluster'
                    using errcode = '55000',
                        hint = 'The original hands out the same. If this one is to go on, run `postrider adopt`.';
            end if;
            stragglers := array(
                select x.xid
                from pg_snapshot_xip(last_tick.snapshot) x (xid)
                -- Each by its index, whatever the plan was made for.
                cross join lateral (
                    select from postrider.message m where m.xid = x.xid limit 1
                ) m
                where pg_visible_in_snapshot(x.xid, top)
                order by x.xid
            );
            select c.* into found from postrider.tick_content(base_end, top, stragglers, look) c;
            if is_settled and found.message_count = 0 then
                raise no_data_found;
            end if;
            exit when is_passing or is_settled and has_turn;
            is_passing := true;
        end loop;

        -- What the snapshot sees took its number before.
        select (s.last_value << 10) | 1023 into ceiling from postrider.message_sequence s;
        if found.message_count > look then
            found.message_count := null;
            found.last_id := ceiling;
            found.from_at := '-infinity';
            found.to_at := 'infinity';
            select (greatest(
                (
                    select t.sequence_floor
                    from postrider.tick t
                    where t.xid < base_end
                    -- Whoever passes has its id from a sequence before the floor is read: see heartbeat.
                    and t.passes_after is null
                    order by t.id desc
                    limit 1
                ), (
                    select h.sequence_floor
                    from postrider.heartbeat h
                    where h.xid < base_end
                    order by h.xid desc
                    limit 1
                ), 0) + 1) << 10
            into floor_id;
            found.first_id := floor_id;
        elsif found.message_count = 0 then
            found.last_id := ceiling;
            found.from_at := clock_timestamp();
            found.to_at := found.from_at;
        end if;

        new_id := nextval('postrider.tick_sequence');
        if new_id <= last_tick.id then
            -- Sequences are not replicated with the rest.
            new_id := setval('postrider.tick_sequence', last_tick.id + 1);
        end if;
        if coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0) <> epoch then
            raise no_data_found;
        end if;
        insert into postrider.tick (
            id, epoch, passes_after, at, sequence_floor, xid, snapshot, base_xmax, stragglers, first_id,
            last_id, from_at, to_at, message_count, is_sparse)
        values (
            new_id, epoch, case when is_passing then coalesce(last_tick.id, 0) end,
            greatest(clock_timestamp(), last_tick.at, nullif(found.to_at, 'infinity')),
            ceiling >> 10, pg_current_xact_id(), top, base_end, stragglers,
            coalesce(found.first_id, found.last_id + 1), found.last_id, found.from_at, found.to_at,
            found.message_count,
            coalesce(
                found.message_count::bigint * density < (found.last_id >> 10) - (found.first_id >> 10),
                false));
        perform postrider.ring('postrider:' || c.name, '')
        from postrider.consumer c;
        return new_id;
    exception
        when no_data_found then
            return null;
    end;
end;
$$;

-- Name: are_ticks_settled(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.are_ticks_settled() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    present constant bigint := coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0);
begin
    return present = 0
        or pg_is_in_recovery()
        or present = (select t.epoch from postrider.tick t order by t.id desc limit 1);
end;
$$;

-- Name: begin_batch(text, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) RETURNS TABLE(batch_size integer, failure_count integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    most_messages constant integer := 10000;
    tick_look constant integer := 2000;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    has_ticked boolean;
    is_behind boolean;
    has_lock boolean;
    is_filled boolean := false;
    known postrider.consumer_position;
    last_attempt postrider.consumer_attempt;
    available integer;
    ahead record;
    failures integer := 0;
    suspects bigint := 0;
    allowed integer;
begin
    if p_partition is null or p_partition not between 0 and reader.partition_count - 1 then
        raise exception 'p_partition must be between 0 and %, got %', reader.partition_count - 1,
            coalesce(p_partition::text, 'null') using errcode = '22023';
    end if;
    if p_batch_size is null or p_batch_size not between 1 and most_messages then
        raise exception 'p_batch_size must be between 1 and %, got %', most_messages,
            coalesce(p_batch_size::text, 'null') using errcode = '22023';
    end if;
    perform postrider.check_tick_allowed('begin_batch');
    perform postrider.refuse_copy();

    has_ticked := postrider.append_tick() is not null;
    -- Where nothing is new nothing is under way, either.
    is_behind := postrider.is_partition_behind(reader.id, p_partition);
    has_lock := not is_behind or postrider.has_consumer_lock(reader.id, p_partition);
    -- It may have been dropped or reset meanwhile.
    reader := postrider.known_consumer(p_consumer);
    if is_behind and has_lock then
        is_filled := postrider.is_partition_filled(reader, p_partition, not has_ticked);
    end if;
    select p.* into known from postrider.newest_position(reader.id, p_partition) p;
    select a.* into last_attempt from postrider.newest_attempt(reader.id, p_partition) a;
    if last_attempt.generation = known.generation and last_attempt.message_count = known.message_count
    then
        failures := last_attempt.failure_count;
        suspects := last_attempt.suspect_count;
        if is_filled then
            -- It came to nothing. What it may have got: no more than there is now.
            select n.to_tick, n.span
            into ahead
            from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
            select count(*)
            into available
            from (
                select
                from postrider.consumer_messages(
                    reader, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick,
                    most_messages, ahead.span)
                limit last_attempt.batch_size
            ) m;
            failures := failures + case when available = 1 then 1 else 0 end;
            suspects := greatest(suspects, known.message_count + available);
        elsif not has_lock then
            -- It is under way.
            suspects := greatest(suspects, known.message_count + last_attempt.batch_size);
        end if;
    end if;
    allowed := case
        when known.message_count < greatest(known.suspect_count, suspects) then 1
        else p_batch_size
    end;
    if is_filled then
        insert into postrider.consumer_attempt (
            consumer_id, partition, generation, message_count, batch_size, failure_count,
            suspect_count)
        values (
            reader.id, p_partition, known.generation, known.message_count,
            allowed, failures, suspects);
    end if;
    return query select allowed, failures;
end;
$$;

-- Name: bring_back(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bring_back() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    shortest_pause constant interval := '2 seconds';
    most_batches constant integer := 10;
    began constant timestamptz := clock_timestamp();
    jump postrider.clock_jump;
    is_over boolean;
begin
    perform postrider.note_clock_jump();
    -- One that waits for somebody's transaction keeps no later one waiting.
    select j.*
    into jump
    from postrider.clock_jump j
    where j.finished_at is null
    and clock_timestamp() not between j.at and j.next_at
    order by j.id
    limit 1;
    if jump.id is null or not postrider.take_chore('clock') then
        return false;
    end if;
    -- As those before have left it.
    select j.*
    into jump
    from postrider.clock_jump j
    where j.id = jump.id
    and j.finished_at is null
    for update skip locked;
    if jump.id is null then
        return false;
    end if;
    if jump.xid = pg_current_xact_id_if_assigned() then
        -- Those who look for what was written before must see this one.
        return true;
    end if;
    if not jump.is_begun then
        jump.is_begun := true;
        jump.is_incomplete :=
            pg_snapshot_xmin(pg_current_snapshot()) <= jump.xid;
        jump := postrider.bring_back_rows(jump);
    end if;
    for batch in 1..most_batches loop
        exit when jump.are_messages_over and jump.are_executions_over
            or clock_timestamp() > began + interval '200 milliseconds';
        if not jump.are_messages_over then
            jump := postrider.bring_back_messages(jump);
        end if;
        if not jump.are_executions_over then
            jump := postrider.bring_back_executions(jump);
        end if;
    end loop;
    is_over := jump.are_messages_over and jump.are_executions_over;
    if is_over then
        perform postrider.ring('postrider', 'deferred');
    end if;
    -- What is still held by then has come to its time by itself.
    if is_over and (not jump.is_incomplete or clock_timestamp() > jump.at + jump.back) then
        jump.finished_at := clock_timestamp();
    elsif is_over then
        jump.message_id := 0;
        jump.target := 0;
        jump.execution_id := 0;
        jump.is_begun := false;
        jump.are_messages_over := false;
        jump.are_executions_over := false;
        jump.is_incomplete := false;
        -- Less and less often: somebody may hold something for long, and each round looks at all that waits.
        jump.next_at := clock_timestamp()
            + greatest(shortest_pause, (clock_timestamp() - jump.at) / 4);
    end if;
    update postrider.clock_jump j
    set message_id = jump.message_id,
        target = jump.target,
        execution_id = jump.execution_id,
        is_begun = jump.is_begun,
        are_messages_over = jump.are_messages_over,
        are_executions_over = jump.are_executions_over,
        is_incomplete = jump.is_incomplete,
        next_at = jump.next_at,
        brought_count = jump.brought_count,
        finished_at = jump.finished_at
    where j.id = jump.id;
    return not is_over;
end;
$$;

-- Name: clock_jump; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.clock_jump (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    back interval NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    horizon xid8,
    message_id bigint DEFAULT 0 NOT NULL,
    target integer DEFAULT 0 NOT NULL,
    execution_id bigint DEFAULT 0 NOT NULL,
    is_begun boolean DEFAULT false NOT NULL,
    are_messages_over boolean DEFAULT false NOT NULL,
    are_executions_over boolean DEFAULT false NOT NULL,
    is_incomplete boolean DEFAULT false NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    brought_count bigint DEFAULT 0 NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT clock_jump_back_check CHECK ((back > '00:00:00'::interval))
);

-- Name: bring_back_executions(postrider.clock_jump); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bring_back_executions(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    most constant integer := 1000;
    at constant timestamptz := clock_timestamp();
    looked_at integer;
    ids bigint[];
    changed_count integer;
begin
    select
        count(*), coalesce(max(w.id), 0),
        coalesce(array_agg(w.id) filter (where w.is_late), '{}')
    into looked_at, p_jump.execution_id, ids
    from (
        select
            l.id,
            l.due_at > at
            and postrider.is_older(l.xmin, p_jump.xid)
            and (
                l.is_delayed
                or greatest(l.requested_at, l.scheduled_at, l.started_at) > at) as is_late
        from postrider.live_execution l
        where l.id > p_jump.execution_id
        order by l.id
        limit most
    ) w;
    p_jump.are_executions_over := looked_at < most;
    if ids = '{}' then
        return p_jump;
    end if;
    update postrider.live_execution l
    set due_at = case
            when l.is_delayed then greatest(l.due_at - p_jump.back, at)
            else l.due_at - p_jump.back
        end,
        requested_at = case
            when l.is_delayed then greatest(l.due_at - p_jump.back, at)
            else l.requested_at
        end,
        expires_at = case
            when l.is_delayed
                then greatest(l.due_at - p_jump.back, at) + make_interval(secs => l.ttl_ms / 1000.0)
            else l.expires_at - p_jump.back
        end,
        deadline_at = l.deadline_at - p_jump.back
    where l.ctid = any (array(
        select k.ctid
        from unnest(ids) i (id)
        cross join lateral (
            select o.ctid
            from postrider.live_execution o
            where o.id = i.id
            and postrider.is_older(o.xmin, p_jump.xid)
            offset 0
            for update skip locked
        ) k
    ));
    get diagnostics changed_count = row_count;
    p_jump.is_incomplete := p_jump.is_incomplete or changed_count < cardinality(ids);
    p_jump.brought_count := p_jump.brought_count + changed_count;
    return p_jump;
end;
$$;

-- Name: bring_back_messages(postrider.clock_jump); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bring_back_messages(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    most constant integer := 1000;
    at constant timestamptz := clock_timestamp();
    looked_at integer;
    ids bigint[];
    targets integer[];
    changed_count integer;
begin
    select
        count(*), coalesce(max(w.message_id), 0),
        coalesce((array_agg(w.target order by w.message_id desc, w.target desc))[1], 0),
        coalesce(array_agg(w.message_id) filter (where w.is_late), '{}'),
        coalesce(array_agg(w.target) filter (where w.is_late), '{}')
    into looked_at, p_jump.message_id, p_jump.target, ids, targets
    from (
        select
            d.message_id, d.target,
            case
                when d.run_at <= at or d.is_blocked or not postrider.is_older(d.xmin, p_jump.xid) then false
                when d.retry_count > 0 then true
                else coalesce(d.run_at > (
                    select m.scheduled_at
                    from postrider.message m
                    where m.id >= d.message_id
                    and m.id <= d.message_id
                    order by m.id
                    limit 1
                ), true)
            end as is_late
        from postrider.deferred d
        where (d.message_id, d.target) > (p_jump.message_id, p_jump.target)
        order by d.message_id, d.target
        limit most
    ) w;
    p_jump.are_messages_over := looked_at < most;
    if ids = '{}' then
        return p_jump;
    end if;
    update postrider.deferred d
    set run_at = d.run_at - p_jump.back
    where d.ctid = any (array(
        select k.ctid
        from unnest(ids, targets) i (message_id, target)
        cross join lateral (
            select w.ctid
            from postrider.deferred w
            where w.message_id = i.message_id
            and w.target = i.target
            and postrider.is_older(w.xmin, p_jump.xid)
            offset 0
            for update skip locked
        ) k
    ));
    get diagnostics changed_count = row_count;
    p_jump.is_incomplete := p_jump.is_incomplete or changed_count < cardinality(ids);
    p_jump.brought_count := p_jump.brought_count + changed_count;
    if changed_count > 0 then
        perform postrider.ring('postrider', 'deferred');
    end if;
    return p_jump;
end;
$$;

-- Name: bring_back_rows(postrider.clock_jump); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bring_back_rows(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    at constant timestamptz := clock_timestamp();
    back constant interval := p_jump.back;
    late tid[];
    late_count integer;
    changed_count integer;
begin
    late := array(
        select c.ctid
        from postrider.circuit c
        where greatest(c.probe_at, c.paused_until, c.failing_since) > at
        and postrider.is_older(c.xmin, p_jump.xid)
    );
    update postrider.circuit c
    set version = c.version + 1,
        since = least(c.since, at),
        probe_at = case when c.probe_at > at then c.probe_at - back else c.probe_at end,
        paused_until = case when c.paused_until > at then c.paused_until - back else c.paused_until end,
        failing_since = case when c.failing_since > at then c.failing_since - back else c.failing_since end,
        last_success_at = least(c.last_success_at, at),
        last_failure_at = least(c.last_failure_at, at)
    where c.ctid = any (array(
        select k.ctid
        from postrider.circuit k
        where k.ctid = any (late)
        and postrider.is_older(k.xmin, p_jump.xid)
        for update skip locked));
    get diagnostics changed_count = row_count;
    if changed_count > 0 then
        perform postrider.ring('postrider', 'circuits');
    end if;
    late_count := cardinality(late) - changed_count;

    late := array(
        select w.ctid
        from postrider.worker w
        -- Whoever has changed the row since has not said that the worker lives.
        where w.heartbeat_at > at + interval '5 seconds'
    );
    update postrider.worker w
    set heartbeat_at = least(w.heartbeat_at - back, at)
    where w.ctid = any (array(
        select k.ctid
        from postrider.worker k
        where k.ctid = any (late)
        for update skip locked));
    get diagnostics changed_count = row_count;
    late_count := late_count + cardinality(late) - changed_count;

    late := array(
        select l.ctid
        from postrider.consumer_lease l
        where l.lease_until > at
        and (
            postrider.is_older(l.xmin, p_jump.horizon)
            or l.lease_until > at + back / 2 and postrider.is_older(l.xmin, p_jump.xid))
    );
    update postrider.consumer_lease l
    set lease_until = l.lease_until - back,
        joined_at = least(l.joined_at, at)
    where l.ctid = any (array(
        select k.ctid
        from postrider.consumer_lease k
        where k.ctid = any (late)
        and postrider.is_older(k.xmin, p_jump.xid)
        for update skip locked));
    get diagnostics changed_count = row_count;
    late_count := late_count + cardinality(late) - changed_count;
    p_jump.is_incomplete := p_jump.is_incomplete or late_count > 0;
    return p_jump;
end;
$$;

-- Name: bury(bigint[], integer[], integer[], text[], integer[], text[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    letters bigint[];
begin
    with buried as (
        insert into postrider.dead_letter (
            message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
            error_history, message_created_at, correlation_id, priority, event_type, ordering_key,
            headers, metadata, payload, body, content_type, replay_of)
        select
            d.message_id, d.target, d.endpoint_id,
            coalesce(
                (
                    select e.name
                    from postrider.endpoints e
                    where e.id = d.endpoint_id
                ),
                (
                    select j.endpoint_name
                    from postrider.job j
                    where j.kind = 'drop'
                    and j.endpoint_id = d.endpoint_id
                    order by j.id desc
                    limit 1
                ),
                '(dropped)'),
            d.cause, d.retry_count, d.last_error, postrider.error_history(d.message_id, d.target),
            m.created_at, m.correlation_id, m.priority, m.event_type, m.ordering_key, m.headers,
            m.metadata, m.payload, m.body, m.content_type, m.replay_of
        from unnest(p_message_ids, p_targets, p_endpoint_ids, p_causes, p_retry_counts, p_errors)
            d (message_id, target, endpoint_id, cause, retry_count, last_error)
        cross join lateral postrider.kept_message(d.message_id, d.target) m
        -- Looked for before: one that is being redriven would be waited for.
        where not exists (
            select
            from postrider.dead_letter l
            where l.message_id = d.message_id
            and l.target = d.target
            and l.status <> 'redriven'
            offset 0
        )
        on conflict (message_id, target) where status = 'failed' do nothing
        returning id
    )
    select coalesce(array_agg(b.id order by b.id), '{}') into letters from buried b;
    perform postrider.publish_dead_letters(letters);
    return cardinality(letters);
end;
$$;

-- Name: job; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.job (
    id bigint NOT NULL,
    kind text NOT NULL,
    endpoint_id integer,
    endpoint_name text,
    filter jsonb DEFAULT '{}'::jsonb NOT NULL,
    rate integer,
    state text DEFAULT 'running'::text NOT NULL,
    "position" jsonb,
    held_from jsonb,
    held_count bigint DEFAULT 0 NOT NULL,
    last_id bigint,
    paced_to timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    done_count bigint DEFAULT 0 NOT NULL,
    estimate bigint NOT NULL,
    has_more boolean NOT NULL,
    last_error text,
    created_by text DEFAULT SESSION_USER NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    metadata jsonb,
    CONSTRAINT job_check CHECK (((state = 'running'::text) = (finished_at IS NULL))),
    CONSTRAINT job_check1 CHECK (((kind = 'drop'::text) = (last_id IS NULL))),
    CONSTRAINT job_check2 CHECK (((kind <> 'drop'::text) OR (endpoint_id IS NOT NULL))),
    CONSTRAINT job_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text)),
    CONSTRAINT job_kind_check CHECK ((kind = ANY (ARRAY['drop'::text, 'redrive'::text, 'retry'::text, 'fail'::text, 'skip'::text, 'cancel'::text, 'erase'::text]))),
    CONSTRAINT job_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT job_rate_check CHECK (((rate >= 1) AND (rate <= 100000))),
    CONSTRAINT job_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text])))
)
WITH (fillfactor='50');

-- Name: bury_batch(postrider.job); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 50;
    began constant timestamptz := clock_timestamp();
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    given_up record;
    told record;
begin
    done_count := 0;
    reached := coalesce(p_job.position, '[-1, "-infinity", 0]');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    paced_to := p_job.paced_to;
    pause := '0';
    is_over := false;
    while done_count < most and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        execute $walk$
            with seen as materialized (
                select d.shard, d.run_at, d.message_id, d.target
                from postrider.deferred d
                where d.endpoint_id = $1
                and (d.shard, d.run_at, d.message_id + 0) > (
                    ($2 ->> 0)::smallint, ($2 ->> 1)::timestamptz, ($2 ->> 2)::bigint)
                order by d.shard, d.run_at, d.message_id + 0
                limit $3
            ), locked as materialized (
                select d.message_id, d.target, d.retry_count, d.recovery_count
                from seen s
                join postrider.deferred d on d.message_id = s.message_id and d.target = s.target
                for update of d skip locked
            ), free as materialized (
                -- What may be being cancelled is come back to.
                select l.message_id, l.target
                from locked l
                where not postrider.is_being_cancelled(l.message_id, l.retry_count, l.recovery_count)
            ), gone as (
                delete from postrider.deferred d
                using free f
                where d.message_id = f.message_id
                and d.target = f.target
                returning
                    d.message_id, d.target, d.endpoint_id, d.retry_count, d.last_error, d.ordering_key
            )
            select
                (select count(*) from seen s) as seen_count,
                (
                    select jsonb_build_array(s.shard, s.run_at, s.message_id)
                    from seen s
                    order by s.shard desc, s.run_at desc, s.message_id desc
                    limit 1
                ) as last_position,
                count(*) as gone_count,
                array_agg(g.message_id) as message_ids, array_agg(g.target) as targets,
                array_agg(g.endpoint_id) as endpoint_ids, array_agg(g.retry_count) as retry_counts,
                array_agg(g.last_error) as errors,
                array_agg(distinct g.ordering_key) filter (where g.ordering_key is not null) as keys
            from gone g
            $walk$
        into given_up
        using p_job.endpoint_id, reached, chunk_size;
        is_over := given_up.seen_count < chunk_size;
        if given_up.gone_count > 0 then
            with cancelled as (
                delete from postrider.cancellation c
                where (c.message_id, c.target) in (
                    select g.message_id, g.target
                    from unnest(given_up.message_ids, given_up.targets) g (message_id, target)
                )
                returning c.message_id, c.target
            )
            select
                count(*) as count, array_agg(g.message_id) as message_ids,
                array_agg(g.target) as targets, array_agg(g.endpoint_id) as endpoint_ids,
                array_agg('endpoint_dropped'::text) as causes,
                array_agg(g.retry_count) as retry_counts, array_agg(g.last_error) as errors
            into told
            from unnest(
                given_up.message_ids, given_up.targets, given_up.endpoint_ids,
                given_up.retry_counts, given_up.errors)
                g (message_id, target, endpoint_id, retry_count, last_error)
            where (g.message_id, g.target) not in (
                select c.message_id, c.target
                from cancelled c
            );
            done_count := done_count + told.count;
            perform postrider.bury(
                told.message_ids, told.targets, told.endpoint_ids, told.causes, told.retry_counts,
                told.errors)
            where told.count > 0;
            perform postrider.free_idempotency_keys(given_up.message_ids);
            if is_global then
                -- What waited behind them at other endpoints.
                perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
                from unnest(given_up.keys) k (ordering_key);
            end if;
        end if;
        if given_up.gone_count < given_up.seen_count then
            held_from := coalesce(held_from, reached);
            held_count := held_count + given_up.seen_count - given_up.gone_count;
        end if;
        reached := coalesce(given_up.last_position, reached);
    end loop;
    if is_over then
        if held_from is not null then
            reached := held_from;
            pause := '1 second';
            is_over := false;
        elsif exists (select from postrider.deferred d where d.endpoint_id = p_job.endpoint_id) then
            reached := null;
            is_over := false;
        end if;
        held_from := null;
        perform postrider.ring('postrider', 'deferred');
    end if;
end;
$_$;

-- Name: bury_orphans(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.bury_orphans() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    orphaned integer;
    made integer := 0;
begin
    for orphaned in
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
        select w.endpoint_id
        from waiting w
        where w.endpoint_id is not null
        and not exists (select from postrider.endpoints e where e.id = w.endpoint_id)
        and not exists (
            select
            from postrider.job j
            where j.kind = 'drop'
            and j.endpoint_id = w.endpoint_id
            and j.state = 'running'
        )
    loop
        -- Another dispatcher may have made one meanwhile.
        made := made + (postrider.create_job(
            'drop', orphaned,
            (
                select j.endpoint_name
                from postrider.job j
                where j.kind = 'drop'
                -- An order that one index has alone.
                and j.endpoint_id >= orphaned
                and j.endpoint_id <= orphaned
                order by j.endpoint_id desc, j.id desc
                limit 1
            ),
            '{}', null, null, 0, true) is not null)::integer;
    end loop;
    return made;
end;
$$;

-- Name: caller(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.caller() RETURNS text
    LANGUAGE sql STABLE
    AS $$
    select case pg_catalog.current_setting('role')
        when 'none' then session_user::text
        else pg_catalog.current_setting('role')
    end;
$$;

-- Name: can_sign(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.can_sign(p_protocol text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select exists (
        select
        from postrider.transport_option o
        where o.protocol = p_protocol
        and o.kind = 'signing_keys'
    );
$$;

-- Name: cancel_batch(postrider.job); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 200;
    began constant timestamptz := clock_timestamp();
    targets constant integer[] := array(
        select s.id
        from postrider.subscriptions s
        where s.endpoint_id = p_job.endpoint_id
    );
    seen record;
    told record;
    next jsonb;
begin
    done_count := 0;
    reached := coalesce(p_job.position, jsonb_build_object('log', postrider.pending_floor()));
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    paced_to := p_job.paced_to;
    pause := '0';
    is_over := false;
    while done_count < most and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        if reached ? 'log' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_message,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as message_ids
                from (
                    select m.id, m.targets && $3 as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $4
                ) w
                $walk$
            into seen
            using (reached ->> 'log')::bigint, p_job.last_id, targets, chunk_size;
            told := postrider.cancel_unread(seen.message_ids, targets);
            done_count := done_count + told.cancelled_count;
            next := case
                when seen.looked_at < chunk_size then jsonb_build_object('waiting', '[0, 0]'::jsonb)
                else jsonb_build_object('log', seen.last_message)
            end;
        else
            execute $walk$
                select
                    count(*) as looked_at,
                    coalesce(array_agg(w.message_id) filter (where w.is_wanted), '{}') as message_ids,
                    coalesce(array_agg(w.target) filter (where w.is_wanted), '{}') as targets,
                    (array_agg(w.message_id order by w.message_id desc, w.target desc))[1]
                        as last_message,
                    (array_agg(w.target order by w.message_id desc, w.target desc))[1] as last_target
                from (
                    select
                        d.message_id, d.target,
                        d.endpoint_id = $4
                        -- Who has put it back since the job was made wants it delivered.
                        and not exists (
                            select
                            from postrider.dead_letter l
                            where l.message_id = d.message_id
                            and l.target = d.target
                            and l.redriven_at >= $6
                        ) as is_wanted
                    from postrider.deferred d
                    where (d.message_id, d.target) > ($1, $2)
                    and d.message_id <= $3
                    order by d.message_id, d.target
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached #>> '{waiting,0}')::bigint, (reached #>> '{waiting,1}')::integer,
                p_job.last_id, p_job.endpoint_id, chunk_size, p_job.created_at;
            told := postrider.tell_deliveries(
                'cancel', seen.message_ids, seen.targets, null, null, null);
            done_count := done_count + told.told_count;
            is_over := seen.looked_at < chunk_size;
            next := jsonb_build_object(
                'waiting', jsonb_build_array(seen.last_message, seen.last_target));
        end if;
        if told.held_count > 0 then
            held_from := coalesce(held_from, reached);
            held_count := held_count + told.held_count;
        end if;
        reached := next;
    end loop;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := '1 second';
    end if;
end;
$_$;

-- Name: cancel_endpoint_messages(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    count_to constant integer := 10000;
    wanted integer;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
    if wanted is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    select count(*), count(*) = count_to
    into estimate, has_more
    from (
        select
        from postrider.deferred d
        where d.endpoint_id = wanted
        limit count_to
    ) w;
    has_more := has_more or exists (
        select
        from postrider.subscriptions s
        where s.endpoint_id = wanted
        and postrider.has_unread_messages(s.id)
    );
    job_id := postrider.create_job(
        'cancel', wanted, p_endpoint_name, '{}', null,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
end;
$$;

-- Name: cancel_execution(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_execution(p_execution bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    at constant timestamptz := clock_timestamp();
    live postrider.live_execution;
    final_status text;
begin
    if p_execution is null then
        raise exception 'p_execution must not be null' using errcode = '22004';
    end if;
    select l.* into live from postrider.live_execution l where l.id = p_execution for update;
    if not found then
        select f.status
        into final_status
        from postrider.execution_end f
        where f.execution_id = p_execution
        and f.is_final;
        if not found then
            raise exception 'Execution % does not exist', p_execution using errcode = '42704';
        end if;
        return final_status;
    end if;
    if live.status <> 'running' then
        perform postrider.end_execution(live, 'cancelled', 'cancelled', null, null);
        return 'cancelled';
    end if;
    update postrider.live_execution l
    set cancel_requested_at = at,
        due_at = least(
            l.due_at,
            at + make_interval(secs => postrider.get_setting('cancel_timeout')::integer))
    where l.id = p_execution
    and l.cancel_requested_at is null;
    if found and current_setting('max_prepared_transactions')::integer = 0 then
        perform postrider.ring('postrider:executions', 'cancel:' || live.worker_id);
    end if;
    return 'cancelling';
end;
$$;

-- Name: cancel_job(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_job(p_job_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.job;
begin
    if p_job_id is null then
        raise exception 'Job id must not be null' using errcode = '22004';
    end if;
    select j.* into known from postrider.job j where j.id = p_job_id for update;
    if known.id is null then
        raise exception 'Job % does not exist', p_job_id using errcode = '42704';
    end if;
    if known.state <> 'running' then
        return false;
    end if;
    if known.kind = 'drop' then
        raise exception 'Job % cannot be cancelled: its endpoint is gone', p_job_id
            using errcode = '55000';
    end if;
    update postrider.job j
    set state = 'cancelled', finished_at = clock_timestamp(), metadata = null
    where j.id = known.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'job.cancelled', known.endpoint_name,
        jsonb_build_object(
            'id', known.id, 'kind', known.kind, 'count', known.done_count, 'by', session_user));
    return true;
end;
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
    perform from postrider.cancel_bucket b where b.bucket = p_message_id >> 10 & 1023 for key share;
    perform from postrider.message m where m.id = p_message_id for update;
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
        -- It was cancelled before, and its row is the dispatcher's to take away.
        and not exists (
            select
            from postrider.cancellation c
            where c.message_id = d.message_id
            and c.target = d.target
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
        and not postrider.is_taken(
            m.id, m.xid, case when m.expires_at is null then m.targets else '{}' end)
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
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from (select distinct o.ordering_key from unnest(ordering_keys) o (ordering_key)) k;
    return true;
end;
$$;

-- Name: cancel_replay(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_replay(p_replay_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    cancelled record;
begin
    if p_replay_id is null then
        raise exception 'Replay id must not be null' using errcode = '22004';
    end if;
    update postrider.replay r
    set state = 'cancelled', finished_at = clock_timestamp()
    where r.id = p_replay_id
    and r.state = 'running'
    returning r.endpoint_name, r.replayed_count into cancelled;
    if found then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'replay.cancelled', cancelled.endpoint_name,
            jsonb_build_object(
                'id', p_replay_id, 'replayed', cancelled.replayed_count, 'by', session_user));
        return true;
    end if;
    if not exists (select from postrider.replay r where r.id = p_replay_id) then
        raise exception 'Replay % does not exist', p_replay_id using errcode = '42704';
    end if;
    return false;
end;
$$;

-- Name: cancel_unread(bigint[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cancel_unread(p_message_ids bigint[], p_targets integer[], OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    locked bigint[];
    unread record;
begin
    perform
    from postrider.cancel_bucket b
    where b.bucket = any (array(
        select distinct i.id >> 10 & 1023
        from unnest(p_message_ids) i (id)
    ))
    for key share;
    locked := array(
        select m.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id
            from postrider.message k
            where k.id = i.id
            offset 0
            for update skip locked
        ) m
    );
    perform nextval('postrider.cancel_sequence');
    select
        coalesce(array_agg(c.id) filter (where not c.is_taken), '{}') as message_ids,
        coalesce(array_agg(c.target) filter (where not c.is_taken), '{}') as targets,
        count(*) filter (where c.is_taken) as taken_count
    into unread
    from (
        select
            m.id, t.target,
            postrider.is_taken(
                m.id, m.xid, case when m.expires_at is null then m.targets else '{}' end) as is_taken
        from unnest(locked) i (id)
        cross join lateral (
            select k.id, k.xid, k.targets, k.expires_at
            from postrider.message k
            where k.id >= i.id
            and k.id <= i.id
            order by k.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
        where t.target = any (p_targets)
        and not postrider.is_deferred(m.id, t.target)
        and not postrider.has_ended(m.id, t.target)
        offset 0
    ) c;
    with marked as (
        insert into postrider.cancellation (message_id, target)
        select u.message_id, u.target
        from unnest(unread.message_ids, unread.targets) u (message_id, target)
        on conflict (message_id, target) do nothing
        returning message_id, target
    )
    insert into postrider.ended (message_id, target, endpoint_id, reason)
    select m.message_id, m.target, coalesce(s.endpoint_id, 0), 'cancelled'
    from marked m
    left join postrider.subscriptions s on s.id = m.target;
    get diagnostics cancelled_count = row_count;
    perform postrider.free_idempotency_keys(unread.message_ids);
    held_count := unread.taken_count + cardinality(p_message_ids) - cardinality(locked);
end;
$$;

-- Name: change_signing_keys(integer, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    update postrider.endpoints e
    set config = e.config || jsonb_build_object(
        'signing_keys', postrider.keys_that_sign(p_endpoint_id, p_keys))
    where e.id = p_endpoint_id;
$$;

-- Name: changes_between(jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.changes_between(p_before jsonb, p_after jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select case
        when bool_or(true)
        then jsonb_build_object(
            'before', jsonb_object_agg(k.key, p_before -> k.key),
            'after', jsonb_object_agg(k.key, p_after -> k.key))
        else '{}'
    end
    from (
        select jsonb_object_keys(coalesce(p_before, '{}') || coalesce(p_after, '{}'))
    ) k (key)
    where p_before -> k.key is distinct from p_after -> k.key;
$$;

-- Name: check_action_name(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_action_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_name is null
        or exists (select from postrider.action a where a.name = p_name)
        or exists (select from postrider.execution_total t where t.action = p_name)
        or exists (
            select
            from postrider.execution_end e
            where e.xid >= (select r.horizon from postrider.execution_rollup r)
            and e.action = p_name
        )
        or exists (select from postrider.live_execution l where l.action = p_name)
    then
        return;
    end if;
    raise exception 'Action ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;

-- Name: check_clock(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_clock() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when abs(worst.seconds) >= 60 then 'unhealthy'
            when abs(worst.seconds) >= 5 then 'degraded'
            else 'healthy'
        end,
        case
            when worst.seconds is null then 'no live dispatcher has compared its clock with ours yet'
            else format(
                'the clock of host %s is %s s %s the database''s', worst.host,
                round(abs(worst.seconds)::numeric, 3),
                case when worst.seconds < 0 then 'behind' else 'ahead of' end)
        end
    from (select) one
    left join lateral (
        select w.host, extract(epoch from w.clock_offset)::double precision as seconds
        from postrider.get_worker_status() w
        where w.clock_offset is not null
        order by abs(extract(epoch from w.clock_offset)) desc
        limit 1
    ) worst on true;
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

-- Name: check_consumers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_consumers() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with found (place, details) as (
        select
            1,
            format(
                'consumer %s has not read partition %s, which would have been dropped %s ago',
                k.consumer_name, k.partition_name,
                postrider.describe_age(extract(epoch from clock_timestamp() - k.since)))
        from (
            select distinct on (h.consumer_name) h.consumer_name, h.partition_name, h.since
            from postrider.retention_holders() h
            order by h.consumer_name, h.since
        ) k
        union all
        select
            2,
            format(
                'consumer %s has waited for %s for %s', w.name,
                postrider.describe_age(extract(epoch from clock_timestamp() - w.waits_since)),
                concat_ws(
                    ', ',
                    coalesce(
                        'pid ' || w.waits_for_pid,
                        format('prepared transaction %L', w.waits_for_gid),
                        'a transaction'),
                    'open for ' || postrider.describe_age(
                        extract(epoch from w.waits_for_age))))
        from (
            select distinct on (c.name)
                c.name, c.waits_since, c.waits_for_pid, c.waits_for_gid, c.waits_for_age
            from postrider.consumers c
            where c.ordering = 'transaction'
            and c.waits_since <= clock_timestamp() - interval '5 minutes'
            order by c.name, c.waits_since
        ) w
        union all
        select
            3,
            format(
                '%s holds consumer %s for %s',
                coalesce('pid ' || h.pid, format('prepared transaction %L', h.gid)), c.name,
                postrider.describe_age(extract(epoch from clock_timestamp() - h.since)))
        from (
            select distinct on (o.consumer_id) o.consumer_id, o.pid, o.gid, o.since
            from postrider.consumer_holders() o
            where o.since <= clock_timestamp() - interval '1 hour'
            order by o.consumer_id, o.since
        ) h
        join postrider.consumer c on c.id = h.consumer_id
    )
    select
        case when f.found_count > 0 then 'degraded' else 'healthy' end,
        case
            when f.found_count > 0 then f.details
            when c.consumer_count = 0 then 'there are no consumers'
            else format(
                'consumers: %s; none is kept from reading, or keeps old partitions', c.consumer_count)
        end
    from (
        select
            count(*) as found_count,
            string_agg(n.details, '; ' order by n.place, n.details) as details
        from found n
    ) f
    cross join (select count(*) as consumer_count from postrider.consumer) c;
$$;

-- Name: check_dispatchers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_dispatchers() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when origin.sign is not null or live.live_count = 0 then 'unhealthy'
            when live.silent_for > 10 or lost.lost_count > 0 or queue.usage > 0.5
                or standby.waited > 5 then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            'nothing is delivered from this log before `postrider adopt`: ' || origin.sign,
            -- In a copy, those of the original.
            case case when origin.sign is null then live.live_count end
                when 0 then 'no dispatcher is running: start `postrider serve`'
                when 1 then format(
                    '1 dispatcher is running, seen %s ago', postrider.describe_age(live.silent_for))
                when live.live_count then format(
                    '%s dispatchers are running, all seen within %s', live.live_count,
                    postrider.describe_age(live.silent_for))
            end,
            case
                when live.silent_for > 10 and origin.sign is null then format(
                    'dispatcher %s on %s (pid %s) has given no sign of life since',
                    live.id, live.host, live.pid)
            end,
            case
                when lost.lost_count > 0 and origin.sign is null then format(
                    '%s lost: dispatcher %s on %s (pid %s), last seen %s ago', lost.lost_count,
                    lost.id, lost.host, lost.pid, coalesce(postrider.describe_age(lost.age), 'never'))
            end,
            case
                when queue.usage > 0.5 then format(
                    'the queue of notifications is %s %% full, so dispatchers poll: a session listens and does not read',
                    round(100 * queue.usage))
            end,
            case
                when standby.waited > 5 then format(
                    'a commit has waited for a synchronous standby for %s, and nothing new is delivered before one answers',
                    postrider.describe_age(standby.waited))
            end)
    from (
        select
            count(*) as live_count,
            max(greatest(extract(epoch from clock_timestamp() - w.heartbeat_at), 0)) as silent_for,
            (array_agg(w.id order by w.heartbeat_at))[1] as id,
            (array_agg(w.host order by w.heartbeat_at))[1] as host,
            (array_agg(w.pid order by w.heartbeat_at))[1] as pid
        from postrider.get_worker_status() w
    ) live
    cross join (
        select
            count(*) as lost_count, (array_agg(d.id order by d.started_at))[1] as id,
            (array_agg(d.host order by d.started_at))[1] as host,
            (array_agg(d.pid order by d.started_at))[1] as pid,
            (array_agg(extract(epoch from clock_timestamp() - newest.at) order by d.started_at))[1]
                as age
        from postrider.dispatcher d
        left join lateral (
            select h.at
            from postrider.heartbeat h
            where h.dispatcher = d.id
            order by h.seq desc
            limit 1
        ) newest on true
        where exists (select from postrider.shard s where s.owner = d.id)
        and not exists (select from postrider.get_worker_status() w where w.id = d.id)
    ) lost
    cross join (select postrider.foreign_sign() as sign) origin
    cross join (select u.usage from postrider.notification_queue_usage() u (usage)) queue
    cross join (
        select max(extract(epoch from clock_timestamp() - a.query_start)) as waited
        from pg_stat_activity a
        where a.datname = current_database()
        and a.application_name like 'postrider %'
        and a.wait_event = 'SyncRep'
    ) standby;
$$;

-- Name: check_duration(text, interval, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_duration(p_parameter text, p_duration interval, p_least text, p_most text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_duration not between p_least::interval and p_most::interval then
        raise exception '% must be between % and %, got %', p_parameter, p_least, p_most, p_duration
            using errcode = '22023';
    end if;
end;
$$;

-- Name: check_endpoint_name(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_endpoint_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
begin
    if p_name is null
        or exists (select from postrider.endpoints e where e.name = p_name)
        or exists (select from postrider.dead_letter l where l.endpoint_name = p_name)
        or exists (select from postrider.message m where m.endpoint_name = p_name)
        or exists (select from postrider.job j where j.endpoint_name = p_name)
        or exists (select from postrider.replay r where r.endpoint_name = p_name)
        or exists (select from postrider.event_log l where l.endpoint_name = p_name)
    then
        return;
    end if;
    raise exception 'Endpoint ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;

-- Name: check_event_type(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_event_type(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
begin
    if p_name is null
        or exists (select from postrider.event_types t where t.name = p_name)
        or exists (
            select
            from postrider.event_log l
            where l.event = 'event_type.dropped'
            and l.details ->> 'event_type' = p_name
        )
        or exists (select from postrider.dead_letter l where l.event_type = p_name)
        or exists (select from postrider.message m where m.event_type = p_name)
    then
        return;
    end if;
    raise exception 'Event type ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;

-- Name: check_execution(text, jsonb, text, text, interval, interval, integer, integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_action is null then
        raise exception 'Action must not be null' using errcode = '22004';
    end if;
    if p_parameters is null then
        raise exception 'p_parameters must not be null' using errcode = '22004';
    end if;
    perform postrider.check_fleet_name('p_action', p_action, 200);
    perform postrider.check_fleet_name('p_worker', p_worker, 200);
    perform postrider.check_fleet_name('p_pool', p_pool, 100);
    perform postrider.check_size('p_parameters', p_parameters);
    perform postrider.check_duration('p_ttl', p_ttl, '1 second', '30 days');
    perform postrider.check_duration('p_timeout', p_timeout, '1 millisecond', '30 days');
    if p_priority not between 0 and 10 then
        raise exception 'p_priority must be between 0 and 10, got %', p_priority
            using errcode = '22023';
    end if;
    if p_max_retries not between 0 and 1000 then
        raise exception 'p_max_retries must be between 0 and 1000, got %', p_max_retries
            using errcode = '22023';
    end if;
    if length(p_idempotency_key) not between 1 and 255 then
        raise exception 'p_idempotency_key must have 1 to 255 characters, got %',
            length(p_idempotency_key) using errcode = '22023';
    end if;
end;
$$;

-- Name: check_executions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_executions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    live postrider.live_execution;
    at constant timestamptz := clock_timestamp();
    checked integer := 0;
begin
    for live in
        select l.*
        from postrider.live_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.due_at <= at
            order by l.due_at
            limit p_most
            for update skip locked
        ) l
        limit p_most
    loop
        checked := checked + 1;
        if live.is_delayed then
            update postrider.live_execution l
            set is_delayed = false,
                due_at = l.expires_at
            where l.id = live.id;
            perform postrider.ring_workers(live.queue);
        elsif live.status = 'running' and live.cancel_requested_at is not null then
            perform postrider.end_execution(live, 'cancelled', 'cancelled', null, jsonb_build_object(
                'error', 'Cancelled',
                'message', 'Worker did not stop within cancel_timeout'));
        elsif live.status = 'running' then
            perform postrider.end_execution(live, 'timeout', 'timeout', null, jsonb_build_object(
                'error', 'Execution timeout',
                'message', 'Execution did not end by its deadline',
                'timeout_ms', live.timeout_ms, 'deadline_at', live.deadline_at));
        elsif live.expires_at > at then
            perform postrider.return_execution(live, false);
        else
            perform postrider.expire_execution(
                live, coalesce(live.carrier, 'postgres'), null,
                jsonb_build_object('noticed_by', 'timeout_monitor'));
        end if;
    end loop;
    return checked;
end;
$$;

-- Name: check_fleet_name(text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_fleet_name(p_parameter text, p_name text, p_most integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
begin
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]*$' or length(p_name) > p_most then
        raise exception
            '% must be 1 to % letters, digits, _ . : or -, the first a letter or digit, got ''%''',
            p_parameter, p_most, left(p_name, 200) using errcode = '22023';
    end if;
end;
$_$;

-- Name: check_fleets(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_fleets() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    with pools as materialized (
        select
            f.pool, f.active_count + f.busy_count as live_count, f.is_waiting_in_pool,
            f.waiting_count, f.overdue_count, f.oldest_waiting_at, f.oldest_scheduled_at
        from postrider.pool_figures() f
    ), brokers as materialized (
        select
            count(*) as process_count,
            count(*) filter (where b.is_connected) as connected_count,
            max(b.dead_letter_depth) as dead_letter_depth,
            max(b.error) filter (where not b.is_connected) as error
        from postrider.broker_report b
        where b.at > clock_timestamp() - interval '30 seconds'
    ), brokered as materialized (
        select count(*) as worker_count
        from postrider.worker w
        where w.carrier = 'rabbitmq'
        and (
            w.status <> 'inactive'
            or exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.worker_id = w.id
                    limit 1
                ) l
            )
            or exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = postrider.execution_queue(w.id, null)
                    and l.status = 'requested'
                    and not l.is_delayed
                    limit 1
                ) l
            )
        )
    ), recent as materialized (
        select count(*) as letter_count
        from (
            select
            from postrider.execution_dead_letter d
            where d.at > clock_timestamp() - interval '1 minute'
            and d.outcome <> 'returned'
            limit 1000
        ) d
    ), found (place, is_severe, details) as (
        select
            1, true,
            format(
                'no worker of pool %s is active, and %s %s, the oldest for %s', p.pool,
                case when p.waiting_count >= 10000 then '10000 or more' else p.waiting_count::text end,
                case when p.waiting_count = 1 then 'execution waits' else 'executions wait' end,
                postrider.describe_age(extract(epoch from clock_timestamp() - p.oldest_waiting_at)))
        from pools p
        where p.is_waiting_in_pool
        and p.live_count = 0
        union all
        select
            2, b.connected_count = 0,
            case
                when b.process_count = 0 then format(
                    'no dispatcher has a broker (amqp_url), and %s of the workers need one',
                    w.worker_count)
                else format(
                    '%s of %s dispatchers are connected to the broker%s', b.connected_count,
                    b.process_count, coalesce(': ' || left(b.error, 200), ''))
            end
        from brokers b
        cross join brokered w
        where w.worker_count > 0
        and b.connected_count < greatest(b.process_count, 1)
        union all
        select
            3, false,
            format(
                '%s of pool %s scheduled for more than 5 min, the oldest for %s',
                case when p.overdue_count = 1 then '1 execution' else p.overdue_count || ' executions' end,
                p.pool,
                postrider.describe_age(extract(epoch from clock_timestamp() - p.oldest_scheduled_at)))
        from pools p
        where p.overdue_count > 0
        union all
        select
            4, false,
            format('%s messages in the dead letter queue of the broker', b.dead_letter_depth)
        from brokers b
        where b.dead_letter_depth > 100
        union all
        select
            5, false,
            format(
                '%s dead letters in the last minute',
                case when r.letter_count >= 1000 then '1000 or more' else r.letter_count::text end)
        from recent r
        where r.letter_count > 10
        union all
        select
            6, false,
            format(
                'worker %s %s', w.name,
                case
                    when w.status = 'error' then 'says that it cannot work'
                        || coalesce(': ' || left(w.last_error, 200), '')
                    else format(
                        'is unhealthy: %s failures in a row, %s %% of the last attempts, %s waiting',
                        w.failure_streak, round((w.failure_rate * 100)::numeric), w.queue_depth)
                end)
        from postrider.worker w
        where w.status = 'error'
        or w.status = 'active'
        and w.health = 'unhealthy'
    )
    select
        case when bool_or(f.is_severe) then 'unhealthy' when count(*) > 0 then 'degraded' else 'healthy' end,
        coalesce(
            string_agg(f.details, '; ' order by f.place, f.details) filter (where f.position <= 10)
            || case when count(*) > 10 then format('; and %s more', count(*) - 10) else '' end,
            (
                select case
                    when count(*) = 0 then 'there are no workers'
                    else format('%s workers of %s pools are active', sum(p.live_count), count(*))
                end
                from pools p
            ))
    from (
        select n.place, n.is_severe, n.details, row_number() over (order by n.place, n.details) as position
        from found n
    ) f;
$$;

-- Name: check_generations(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_generations() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    smallest constant bigint := 2000;
    shortest constant interval := '1 second';
    least_moved constant integer := 20;
    most_moved constant integer := 1000;
    lock_count constant integer := 32;
    present integer := pg_sequence_last_value('postrider.present_generation');
    former constant integer := present;
    oldest integer;
    -- After a restore the sequence may be ahead of the table.
    looks_everywhere constant boolean := random() < 0.01;
    -- The oldest one has the fewest left, as a rule; but it may have to stay.
    is_oldest_first constant boolean := random() < 0.5;
    last_id constant bigint :=
        coalesce(pg_sequence_last_value('postrider.execution_id_seq'), 0);
    newest postrider.execution_generation;
    old postrider.execution_generation;
    generation_count integer;
    old_end bigint;
    few bigint;
    left_over bigint[];
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        return;
    end if;
    if pg_current_xact_id_if_assigned() is null then
        select least(
            (select min(g.id) from postrider.live_generation g),
            (
                select g.id
                from postrider.execution_generation g
                where looks_everywhere
                order by g.id
                limit 1
            ))
        into oldest;
        if oldest <> pg_sequence_last_value('postrider.oldest_generation') then
            perform setval('postrider.oldest_generation', oldest);
        end if;
    end if;
    select g.*
    into newest
    from postrider.execution_generation g
    order by g.id desc
    limit 1;
    select count(*) into generation_count from postrider.live_generation g;
    if newest.id > present then
        perform postrider.pass_generation();
    elsif newest.id is distinct from present then
        -- After a restore the sequence may be ahead of the table.
        insert into postrider.execution_generation (id, begins_after, ends_with)
        select present, last_id, last_id + smallest
        where postrider.reserve_generation(present)
        on conflict do nothing;
    elsif newest.ends_with <= last_id
        -- In the future: the clock was set back.
        and newest.created_at not between clock_timestamp() - shortest and clock_timestamp()
    then
        for next_id in present + 1..present + lock_count loop
            -- Looked at again once it is ours: somebody may have begun it until then.
            if not exists (
                select from postrider.live_generation g where g.id % lock_count = next_id % lock_count
            )
                and postrider.reserve_generation(next_id)
            then
                insert into postrider.execution_generation (id, begins_after, ends_with)
                select next_id, last_id, last_id + smallest * (generation_count + 1)
                where not exists (
                    select from postrider.live_generation g where g.id % lock_count = next_id % lock_count
                );
                exit;
            end if;
        end loop;
    end if;

    select g.*
    into old
    from postrider.execution_generation g
    where g.id >= (select s.last_value from postrider.oldest_generation s)
    -- Somebody may be about to write into one that was the present one until now.
    and g.id < former
    order by case when is_oldest_first then g.id else random() end
    limit 1;
    if not found then
        return;
    end if;
    select g.begins_after
    into old_end
    from postrider.execution_generation g
    where g.id > old.id
    order by g.id
    limit 1;
    few := least(greatest((old_end - old.begins_after) / 10, least_moved), most_moved);
    left_over := array(
        select l.id
        from postrider.live_execution l
        where l.generation = old.id
        and l.due_at is not null
        limit few + 1
    );
    if cardinality(left_over) > few then
        return;
    end if;
    if cardinality(left_over) > 0 then
        update postrider.live_execution l
        set generation = postrider.enter_generation()
        where l.id = any (array(
            select o.id
            from postrider.live_execution o
            where o.id = any (left_over)
            for update skip locked
        ));
    end if;
    if not postrider.is_generation_left(old.id) then
        return;
    end if;
    -- A statement of its own, which sees whatever was written by those who were in it.
    perform
    from postrider.live_execution l
    where l.generation = old.id
    and l.due_at is not null
    limit 1;
    if not found then
        delete from postrider.execution_generation g
        where g.id = any (array(
            select o.id
            from postrider.execution_generation o
            where o.id = old.id
            for update skip locked
        ));
    end if;
end;
$$;

-- Name: check_key_pause(text, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_key_pause(p_name text, p_pause interval) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_pause is null then
        raise exception '% must not be null', p_name using errcode = '22004';
    end if;
    perform postrider.check_duration(p_name, p_pause, '0 seconds', '30 days');
end;
$$;

-- Name: check_lag(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_lag() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when o.stuck_age >= 600 then 'unhealthy'
            when o.age >= 60 then 'degraded'
            else 'healthy'
        end,
        case
            when o.age is null then 'nothing is overdue'
            else format(
                'the oldest delivery that could have been attempted has waited for %s (endpoint %s, %s); endpoints that are behind by a minute or more: %s',
                postrider.describe_age(o.age), o.endpoint_name, o.kind, o.behind_count)
        end
    from (
        select
            max(d.age) as age, max(d.age) filter (where not d.is_moving) as stuck_age,
            (array_agg(d.endpoint_name order by d.age desc))[1] as endpoint_name,
            (array_agg(d.kind order by d.age desc))[1] as kind,
            count(*) filter (where d.age >= 60) as behind_count
        from (
            select
                v.endpoint_name, v.kind, v.is_moving,
                greatest(extract(epoch from clock_timestamp() - v.since), 0) as age
            from postrider.overdue_deliveries() v
        ) d
    ) o;
$$;

-- Name: consumer_lease; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.consumer_lease (
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    consumer_id integer NOT NULL,
    member uuid NOT NULL,
    partitions smallint[] NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    leased_by text
);

-- Name: check_lease_role(text, postrider.consumer_lease, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_lease_role(p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_lease.lease_until > p_at and not postrider.may_act_for(p_lease.leased_by) then
        raise exception 'The lease of member % of consumer ''%'' was taken by role "%", not by "%"',
            p_lease.member, p_consumer_name, p_lease.leased_by, postrider.caller()
            using
                errcode = '42501',
                hint = format(
                    'Act as that role, grant it to "%s", or take an id of your own for the member.',
                    postrider.caller());
    end if;
end;
$$;

-- Name: check_locks(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_locks() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with sessions as materialized (
        select
            a.pid, a.usename, a.application_name, a.state, a.wait_event_type, a.xact_start,
            a.application_name like 'postrider%' and a.usesysid = n.nspowner as is_ours
        from pg_stat_activity a
        join pg_namespace n on n.nspname = 'postrider'
        where a.datname = current_database()
        and a.pid <> pg_backend_pid()
    ), waiting as materialized (
        -- Only for sessions that wait: the lock manager stands still for a moment each time.
        select b.pid, count(*) as session_count
        from sessions s
        cross join lateral unnest(pg_blocking_pids(s.pid)) b (pid)
        where s.is_ours
        and s.wait_event_type = 'Lock'
        and b.pid not in (select o.pid from sessions o where o.is_ours)
        group by b.pid
    ), held as materialized (
        select distinct on (l.pid, l.virtualtransaction)
            l.pid, l.virtualtransaction, l.mode, c.relname, m.strength
        from pg_locks l
        join pg_database d on d.oid = l.database and d.datname = current_database()
        join pg_class c on c.oid = l.relation and c.relnamespace = 'postrider'::regnamespace
        cross join lateral array_position(
            array[
                'RowShareLock', 'RowExclusiveLock', 'ShareUpdateExclusiveLock', 'ShareLock',
                'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'],
            l.mode) m (strength)
        where l.locktype = 'relation'
        and l.granted
        and m.strength is not null
        order by l.pid, l.virtualtransaction, m.strength desc, c.relname
    ), holders as (
        select
            coalesce(h.pid, w.pid) as pid, p.gid, coalesce(s.usename, p.owner) as role,
            nullif(s.application_name, '') as application_name, s.state, h.mode, h.relname,
            coalesce(h.strength >= 3, false) as is_strong, coalesce(w.session_count, 0) as session_count,
            greatest(extract(epoch from clock_timestamp() - coalesce(s.xact_start, p.prepared)), 0)
                ::double precision as age
        from held h
        full join waiting w on w.pid = h.pid
        left join sessions s on s.pid = coalesce(h.pid, w.pid)
        -- A prepared transaction keeps the number of its session's until the next restart.
        left join pg_locks t
            on h.pid is null
            and t.pid is null
            and t.locktype = 'transactionid'
            and t.virtualtransaction = h.virtualtransaction
        left join pg_prepared_xacts p on p.transaction = t.transactionid
        where not coalesce(s.is_ours, false)
        and coalesce(h.pid, w.pid) is distinct from pg_backend_pid()
    ), worst as (
        select
            r.*,
            format(
                '%s%s holds %s%s',
                case
                    when r.gid is not null then format('prepared transaction ''%s''', r.gid)
                    else format('pid %s', r.pid)
                end,
                format(
                    ' (%s)', concat_ws(
                        ', ', 'role ' || r.role, 'application ' || r.application_name, r.state,
                        'for ' || postrider.describe_age(r.age))),
                coalesce(r.mode || ' on postrider.' || r.relname, 'a lock'),
                case
                    when r.session_count > 0
                        then format(', and %s of our sessions wait for it', r.session_count)
                    else ''
                end) as sentence
        from holders r
        order by r.session_count > 0 desc, r.is_strong desc, r.age desc nulls last
        limit 3
    )
    select
        case
            when bool_or(w.session_count > 0 or w.is_strong and w.age >= 10) then 'degraded'
            else 'healthy'
        end,
        coalesce(string_agg(w.sentence, '; '), 'no open transaction holds anything of ours')
    from worst w;
$$;

-- Name: check_options(bigint, integer, timestamp with time zone, text, timestamp with time zone, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    size_limit bigint;
    most_days integer;
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
    -- The setting's lowest value is a day: a message that waits longer keeps the log from being cleaned up.
    if p_scheduled_at > clock_timestamp() + interval '24 hours' then
        select s.value::integer
        into most_days
        from postrider.setting s
        where s.name = 'max_schedule_ahead';
        if p_scheduled_at > clock_timestamp() + make_interval(hours => 24 * most_days) then
            raise exception 'p_scheduled_at must be at most % days ahead (max_schedule_ahead), got %',
                most_days, p_scheduled_at using errcode = '22023';
        end if;
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

-- Name: check_partitions(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_partitions() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when bool_or(p.is_missing or p.is_locked) then 'unhealthy'
            when bool_or(p.is_near or p.has_default_rows) then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            case
                when bool_or(p.is_missing) then format(
                    'there is no current partition of %s',
                    string_agg(p.table_name, ', ') filter (where p.is_missing))
                else format(
                    'partitions exist for the next %s',
                    postrider.describe_age(min(extract(epoch from p.horizon))))
            end,
            case
                when bool_or(p.is_locked) then format(
                    'locked, and could not be checked: %s',
                    string_agg(p.table_name, ', ') filter (where p.is_locked))
            end,
            case
                when bool_or(p.has_default_rows) then format(
                    'the default partition of %s has rows',
                    string_agg(p.table_name, ', ') filter (where p.has_default_rows))
            end,
            case
                when bool_or(p.is_missing or p.is_near)
                then 'a dispatcher makes them once a minute, or postrider.maintain_archive_partitions()'
            end)
    from (
        select
            h.table_name, h.horizon, h.has_default_rows,
            h.horizon is null as is_locked, h.horizon <= interval '0' as is_missing,
            h.horizon < case
                when h.width <= interval '25 hours' then interval '7 days'
                else interval '14 days'
            end as is_near
        from postrider.partition_horizons() h
    ) p;
$$;

-- Name: check_pool_name(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_pool_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_name is null
        or p_name = 'default'
        or exists (select from postrider.worker w where w.pool = p_name)
        or exists (
            select
            from postrider.execution_total t
            where t.pool = p_name
            and t.pool <> ''
        )
        or exists (
            select
            from postrider.execution_end e
            where e.xid >= (select r.horizon from postrider.execution_rollup r)
            and e.pool = p_name
        )
        or exists (select from postrider.live_execution l where l.pool = p_name)
    then
        return;
    end if;
    raise exception 'Pool ''%'' does not exist', left(p_name, 200) using errcode = '42704';
end;
$$;

-- Name: check_reason(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_reason(p_reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_reason is null then
        raise exception 'Reason must not be null' using errcode = '22004';
    end if;
    if btrim(p_reason) = '' or length(p_reason) > 1000 then
        raise exception 'p_reason must have 1 to 1000 characters and not only spaces, got %',
            length(p_reason) using errcode = '22023';
    end if;
end;
$$;

-- Name: check_replay(timestamp with time zone, timestamp with time zone, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_replay(p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_from_ts is null then
        raise exception 'p_from_ts must not be null' using errcode = '22004';
    end if;
    if p_to_ts is null then
        raise exception 'p_to_ts must not be null' using errcode = '22004';
    end if;
    if not isfinite(p_from_ts) then
        raise exception 'p_from_ts must be a finite time, got %', p_from_ts using errcode = '22023';
    end if;
    if not isfinite(p_to_ts) then
        raise exception 'p_to_ts must be a finite time, got %', p_to_ts using errcode = '22023';
    end if;
    if p_from_ts >= p_to_ts then
        raise exception 'p_from_ts must be before p_to_ts, got % and %', p_from_ts, p_to_ts
            using errcode = '22023';
    end if;
    if p_status not in ('completed', 'failed', 'expired', 'cancelled', 'skipped') then
        raise exception 'p_status must be completed, failed, expired, cancelled or skipped, got ''%''',
            left(p_status, 100) using errcode = '22023';
    end if;
end;
$$;

-- Name: check_retry_policy_keys(jsonb, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_retry_policy_keys(policy jsonb, form text, path text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    -- Inside of a policy it means nothing.
    common constant text[] := case when path = 'retry_policy'
        then array['ignore_subscription_override'] else '{}' end;
    field text;
    given record;
    known record;
    entry record;
    nearest text;
begin
    for given in
        select f.key, f.value, f.value #>> '{}' as word, jsonb_typeof(f.value) as type
        from jsonb_each(policy) f
        order by f.key collate "C"
    loop
        field := path || '.' || left(given.key, 64);
        if given.key = any (common) then
            if given.type <> 'boolean' then
                raise exception '% must be true or false', field using errcode = '22023';
            end if;
            continue;
        end if;
        select k.*
        into known
        from postrider.retry_policy_keys() k
        where k.name = given.key
        and (k.form = check_retry_policy_keys.form or check_retry_policy_keys.form is null)
        limit 1;
        if known.name is null then
            select n.name
            into nearest
            from (
                select k.name
                from postrider.retry_policy_keys() k
                where k.form = check_retry_policy_keys.form
                or check_retry_policy_keys.form is null
                union
                select unnest(common)
            ) n (name)
            order by postrider.edit_distance(given.key, n.name), n.name collate "C"
            limit 1;
            raise exception '% is not a known key (did you mean %?)', field, nearest
                using errcode = '22023';
        end if;

        case known.kind
        when 'object' then
            -- Its own keys are checked on their own.
            null;
        when 'word' then
            if given.type <> 'string' or given.word <> all (known.choices) then
                raise exception '% must be one of %', field, array_to_string(known.choices, ', ')
                    using errcode = '22023';
            end if;
        when 'fraction' then
            if given.type <> 'number' then
                raise exception '% must be a number', field using errcode = '22023';
            end if;
            if given.word::numeric not between 0 and 1 then
                raise exception '% must be between 0 and 1, got %', field, left(given.word, 64)
                    using errcode = '22023';
            end if;
        else
            if known.kind = 'schedule' and given.type <> 'array' then
                raise exception '% must be an array of integers', field using errcode = '22023';
            end if;
            if known.kind = 'schedule' and jsonb_array_length(given.value) > 1000 then
                raise exception '% must have at most 1000 entries, got %',
                    field, jsonb_array_length(given.value) using errcode = '22023';
            end if;
            -- An integer is checked as the only entry of a list.
            for entry in
                select
                    e.value #>> '{}' as word, jsonb_typeof(e.value) as type,
                    case when known.kind = 'schedule' then format('[%s]', e.position - 1) end as place
                from jsonb_array_elements(
                    case when known.kind = 'schedule'
                        then given.value else jsonb_build_array(given.value) end)
                    with ordinality e (value, position)
                order by e.position
            loop
                -- 5.0 is not one: the dispatcher would read it as a fraction.
                if entry.type <> 'number' or entry.word !~ '^-?[0-9]+$' then
                    raise exception '% must be an integer', field || coalesce(entry.place, '')
                        using errcode = '22023';
                end if;
                if entry.word::numeric not between known.minimum and known.maximum then
                    raise exception '% must be between % and %, got %',
                        field || coalesce(entry.place, ''), known.minimum, known.maximum,
                        left(entry.word, 64) using errcode = '22023';
                end if;
            end loop;
        end case;
    end loop;
end;
$_$;

-- Name: check_room(bigint, integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_room(p_count bigint, p_targets integer[] DEFAULT '{}'::integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    used bigint := coalesce(pg_sequence_last_value('postrider.message_sequence'), 0);
    backlog bigint;
    size_limit bigint;
    full_name text;
begin
    if p_targets <> '{}' then
        select e.name
        into full_name
        from postrider.endpoints e
        where e.is_full
        and exists (
            select
            from postrider.subscriptions s
            where s.id = any (p_targets)
            and s.endpoint_id = e.id
        )
        order by e.id
        limit 1;
        if full_name is not null then
            perform postrider.refuse_full_endpoint(full_name, p_count);
        end if;
    end if;
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
    CONSTRAINT setting_kind_check CHECK ((kind = ANY (ARRAY['integer'::text, 'switch'::text, 'choice'::text, 'networks'::text, 'name'::text])))
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
    -- Heartbeats that come late, or get lost, do not make a worker count as lost.
    beats constant integer := 3;
    other bigint;
begin
    case p_setting.kind
    when 'integer' then
        if trimmed ~ '^[+-]?[0-9]{1,18}$'
            and trimmed::bigint between p_setting.minimum and p_setting.maximum
        then
            select s.value::bigint
            into other
            from postrider.setting s
            where (p_setting.name, s.name) in (
                ('worker_heartbeat_interval', 'worker_stale_after'),
                ('worker_stale_after', 'worker_heartbeat_interval'));
            case
                when p_setting.name = 'worker_stale_after' and trimmed::bigint < beats * other then
                    expected := format(
                        'at least %s times worker_heartbeat_interval, which is %s %s', beats,
                        beats * other, p_setting.unit);
                when p_setting.name = 'worker_heartbeat_interval' and beats * trimmed::bigint > other then
                    expected := format(
                        'at most worker_stale_after divided by %s, which is %s %s', beats,
                        other / beats, p_setting.unit);
                else
                    return trimmed::bigint::text;
            end case;
        else
            expected :=
                concat_ws(' ', 'between', p_setting.minimum, 'and', p_setting.maximum, p_setting.unit);
        end if;
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
    when 'name' then
        if trimmed ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$' then
            return trimmed;
        end if;
        expected := '1 to 200 letters, digits, _ . : or -, the first a letter or digit';
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

-- Name: check_shards(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_shards() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when owned.owned_count = owned.shard_count then 'healthy'
            when owned.owned_count = 0 then 'unhealthy'
            else 'degraded'
        end,
        concat_ws(
            '; ',
            format(
                '%s of %s shards have a live dispatcher', owned.owned_count, owned.shard_count),
            case
                when owned.owned_count < owned.shard_count
                then 'without: ' || array_to_string(owned.free, ', ')
            end)
    from (
        select
            count(*) as shard_count,
            count(w.id) as owned_count,
            array_agg(s.shard order by s.shard) filter (where w.id is null) as free
        from postrider.shard s
        left join postrider.get_worker_status() w on w.id = s.owner
    ) owned;
$$;

-- Name: check_size(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_size(p_parameter text, p_value jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    size constant bigint := octet_length(p_value::text);
    size_limit bigint;
begin
    -- Nothing is below the least value of the setting.
    if size <= 1024 then
        return;
    end if;
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_payload_size';
    if size > size_limit then
        raise exception '% must be at most % bytes (max_payload_size), got %', p_parameter,
            size_limit, size using errcode = '22023';
    end if;
end;
$$;

-- Name: check_tick_allowed(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_tick_allowed(p_caller text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if pg_is_in_recovery() then
        raise exception '% needs the primary, this is a standby', p_caller using errcode = '25006';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            '% needs a transaction with isolation level READ COMMITTED, this is %', p_caller,
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if pg_current_xact_id_if_assigned() is not null then
        raise exception '% needs a transaction that has not written or locked anything', p_caller
            using errcode = '25001';
    end if;
end;
$$;

-- Name: check_transactions(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_transactions() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        case
            when t.age >= 86400 then 'unhealthy'
            when t.age >= 3600 or s.age >= 10000000 then 'degraded'
            else 'healthy'
        end,
        concat_ws(
            '; ',
            case
                when t.age is null then 'no other transaction is open'
                else format(
                    'the oldest transaction is %s old: %s', postrider.describe_age(t.age),
                    concat_ws(
                        ', ', coalesce('pid ' || t.pid, format('prepared transaction ''%s''', t.gid)),
                        'database ' || t.database, t.state,
                        'application ' || nullif(t.application_name, '')))
            end,
            case
                when s.slot_name is not null then format(
                    'replication slot %s (%s) holds back vacuum by %s transactions', s.slot_name,
                    case when s.active then 'in use' else 'not in use' end, s.age)
            end,
            case
                when h.hidden_count > 0 then format(
                    '%s sessions cannot be seen: grant pg_read_all_stats to %I', h.hidden_count,
                    current_user)
            end)
    from (select) one
    left join lateral postrider.open_transactions(1) t on true
    left join lateral (
        select
            r.slot_name, r.active,
            greatest(coalesce(age(r.xmin), 0), coalesce(age(r.catalog_xmin), 0)) as age
        from pg_replication_slots r
        where r.xmin is not null
        or r.catalog_xmin is not null
        order by 3 desc
        limit 1
    ) s on true
    cross join (
        select count(*) as hidden_count
        from pg_stat_activity a
        where a.query = '<insufficient privilege>'
    ) h;
$$;

-- Name: check_worker_role(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_worker_role(p_name text, p_registered_by text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    acting constant text := postrider.caller();
begin
    if not postrider.may_act_for(p_registered_by) then
        raise exception 'Worker ''%'' was registered by role "%", not by "%"', p_name, p_registered_by,
            acting
            using
                errcode = '42501',
                hint = format(
                    'Act as that role, grant it to "%s", or register the worker when that one has left.',
                    acting);
    end if;
end;
$$;

-- Name: check_workers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.check_workers() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    stale_after constant interval :=
        make_interval(secs => postrider.get_setting('worker_stale_after')::integer);
    -- The rest at the next look: so many at once must not keep executions from being looked at.
    most_returned constant integer := 1000;
    lost postrider.worker;
    live postrider.live_execution;
    lost_count integer := 0;
begin
    for lost in
        update postrider.worker w
        set status = 'inactive',
            epoch = w.epoch + 1
        from (
            select s.id
            from postrider.worker s
            where s.status <> 'inactive'
            and s.heartbeat_at < clock_timestamp() - stale_after
            order by s.id
            for update skip locked
        ) s
        where w.id = s.id
        returning w.*
    loop
        perform postrider.recover_worker(lost, 'worker_heartbeat_stale', true);
        insert into postrider.event_log (event, details)
        values (
            'worker.lost',
            jsonb_build_object('worker', lost.name, 'heartbeat_at', lost.heartbeat_at));
        lost_count := lost_count + 1;
    end loop;
    for lost in
        select w.*
        from postrider.worker w
        where exists (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = w.id
                and l.status = 'running'
                and l.worker_epoch < w.epoch
                limit 1
            ) l
        )
        -- Behind RabbitMQ only what was scheduled while it was lost, on the way to a queue that nobody reads.
        or (w.carrier = 'postgres' or w.status = 'inactive') and exists (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = w.id
                and l.status = 'scheduled'
                and l.worker_epoch < w.epoch
                and (w.carrier = 'postgres' or l.pool is not null)
                limit 1
            ) l
        )
    loop
        perform postrider.recover_worker(
            lost,
            case when lost.status = 'inactive' then 'worker_heartbeat_stale' else 'worker_unavailable' end,
            lost.status = 'inactive');
    end loop;
    for live in
        select l.*
        from postrider.worker w
        cross join postrider.live_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue = postrider.execution_queue(w.id, null)
            and l.queue like 'worker:%'
            and l.pool is not null
            and l.status = 'requested'
            and not l.is_delayed
            limit most_returned
            for update skip locked
        ) l
        where w.status = 'inactive'
        limit most_returned
    loop
        perform postrider.return_execution(live, true);
    end loop;
    return lost_count;
end;
$$;

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

-- Name: cleanup_dlq(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cleanup_dlq() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.forget_dead_letters(10000);
$$;

-- Name: cleanup_event_log(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cleanup_event_log() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.forget_events(10000);
$$;

-- Name: cleanup_old_archive_partitions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer DEFAULT 6) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '10ms'
    AS $$
declare
    most_tries constant integer := 5;
    most_messages constant integer := 6;
    cutoff timestamptz;
    -- What ended before goes even if a consumer has not read it.
    unread_cutoff timestamptz;
    old record;
    readers text[];
    unread jsonb := '{}';
    since xid8;
    needed_from timestamptz;
    kept_from timestamptz;
    messages text[] := '{}';
    records text[];
    parents text[];
    part text;
    newest xid8;
    locked_count bigint;
begin
    if p_retention_months is null or p_retention_months not between 1 and 120 then
        raise exception 'p_retention_months must be between 1 and 120, got %',
            coalesce(p_retention_months::text, 'null') using errcode = '22023';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            'cleanup_old_archive_partitions needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if not postrider.take_chore('partitions') then
        return 0;
    end if;

    cutoff := now() - make_interval(months => p_retention_months);
    select now() - make_interval(days => nullif(s.value::integer, 0))
    into unread_cutoff
    from postrider.setting s
    where s.name = 'consumer_retention';
    -- One that is being reset or dropped: the next time.
    perform c.id from postrider.consumer c for share skip locked;
    get diagnostics locked_count = row_count;
    if locked_count < (select count(*) from postrider.consumer) then
        return 0;
    end if;
    since := postrider.done_before();
    for old in
        select l.name, l.from_at, l.to_at
        from postrider.partitions l
        where l.table_name = 'message'
        and l.to_at <= cutoff
        order by l.from_at
    loop
        exit when cardinality(messages) = most_messages;
        continue when not postrider.is_partition_finished(old.name, old.from_at, old.to_at, since);
        readers := array(
            select c.name
            from postrider.consumer c
            where not postrider.has_read_partition(c, old.name)
            order by c.name
        );
        continue when readers <> '{}' and old.to_at > coalesce(unread_cutoff, '-infinity');
        messages := messages || old.name;
        if readers <> '{}' then
            unread := unread || jsonb_build_object(old.name, readers);
        end if;
    end loop;

    select min(m.created_at) into needed_from from postrider.message_default m;
    select min(l.from_at)
    into kept_from
    from postrider.partitions l
    where l.table_name = 'message'
    and l.name <> all (messages);
    select
        coalesce(array_agg(l.name order by l.from_at, l.name), '{}'),
        coalesce(array_agg(distinct l.table_name), '{}')
    into records, parents
    from postrider.partitions l
    where l.table_name <> 'message'
    and l.to_at <= least(cutoff, needed_from, kept_from);
    if messages || records = '{}' then
        return 0;
    end if;

    for try in 1..most_tries loop
        begin
            -- In the order in which a reader comes by them: table, then partitions. Who has locked one of
            -- these has locked the table before.
            foreach part in array parents loop
                execute format('lock table only postrider.%I in access exclusive mode', part);
            end loop;
            foreach part in array records loop
                execute format('drop table postrider.%I', part);
            end loop;
            if messages <> '{}' then
                perform set_config('lock_timeout', '30ms', true);
                lock table only postrider.message in access exclusive mode;
                perform set_config('lock_timeout', '10ms', true);
            end if;
            foreach part in array messages loop
                -- Nothing has come since: whoever wrote into it held a lock until the end.
                execute format(
                    'select m.xid from postrider.%I m order by m.xid desc limit 1', part)
                into newest;
                if newest >= since then
                    raise lock_not_available;
                end if;
                execute format('drop table postrider.%I', part);
            end loop;
            insert into postrider.event_log (event, details)
            select 'partition.dropped', jsonb_build_object('partition', d.name, 'by', session_user)
            from unnest(records || messages) d (name);
            insert into postrider.event_log (event, details)
            select
                'consumer.messages_dropped',
                jsonb_build_object('consumers', u.value, 'partition', u.key, 'by', session_user)
            from jsonb_each(unread) u;
            return cardinality(records || messages);
        exception
            when lock_not_available then null;
        end;
        perform pg_sleep(0.15);
    end loop;

    insert into postrider.event_log (event, details)
    select
        'partition.drop_postponed',
        jsonb_build_object('partitions', records || messages, 'reason', 'a transaction has locked the log')
    where not exists (
        select
        from postrider.event_log e
        where e.at > now() - interval '1 day'
        and e.event = 'partition.drop_postponed'
        and e.details -> 'partitions' @> to_jsonb(records || messages)
    );
    return 0;
end;
$$;

-- Name: complete_execution(bigint, bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb DEFAULT NULL::jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    live postrider.live_execution;
begin
    perform postrider.check_size('p_result', p_result);
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null or live.status <> 'running' then
        return false;
    end if;
    perform postrider.end_execution(live, 'completed', null, p_result, null);
    return true;
end;
$$;

-- Name: complete_retry_policy(jsonb, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.complete_retry_policy(policy jsonb, place text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select case
        when policy is null
            or coalesce(
                postrider.retry_policy_form(policy),
                case when place in ('endpoint', 'settings') then 'simple' end) = 'simple'
        then (
            select
                jsonb_build_object('backoff', 'exponential', 'jitter', 0.1)
                || jsonb_object_agg(f.field, s.value::integer)
                || coalesce(policy, '{}')
            from (
                values
                ('max_retries', 'default_max_retries'),
                ('base_delay_seconds', 'retry_base_delay'),
                ('max_delay_seconds', 'retry_max_delay'),
                ('increment_seconds', 'retry_increment')
            ) f (field, name)
            join postrider.setting s on s.name = f.name
        )
        when postrider.retry_policy_form(policy) in ('schedule', 'preset')
            then '{"jitter": 0.1}' || policy
        else policy
    end;
$$;

-- Name: confirm_origin(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.confirm_origin() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_sign constant text := postrider.foreign_sign();
    present constant bigint := postrider.system_identifier();
    former bigint;
begin
    if found_sign is not null or present is null then
        return found_sign;
    end if;
    select i.system_identifier into former from postrider.identity i;
    if former = present then
        return null;
    end if;
    -- One of those who start at the same time.
    update postrider.identity i
    set system_identifier = present
    where i.system_identifier is distinct from present;
    if found then
        update postrider.identity i set mark = i.xmin;
        insert into postrider.event_log (event, details)
        select
            'cluster.upgraded',
            jsonb_build_object('former_system_identifier', former, 'system_identifier', present)
        where former is not null;
    end if;
    return null;
end;
$$;

-- Name: confirm_position(uuid, integer, pg_lsn, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.confirm_position(p_dispatcher uuid, p_timeline integer, p_upto pg_lsn, p_number bigint, OUT timeline integer, OUT left_at pg_lsn, OUT lost_bytes numeric, OUT lost_numbers bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    -- So many numbers are used up at most; it takes some seconds.
    most_numbers constant bigint := 10000000;
    present constant pg_lsn := pg_current_wal_insert_lsn();
    history text;
begin
    timeline := ('x' || left(pg_walfile_name(present), 8))::bit(32)::integer;
    lost_bytes := 0;
    lost_numbers := 0;
    if p_upto is null then
        return;
    end if;
    -- By a statement of its own: permissions are checked before anything is decided.
    if timeline <> p_timeline
        and has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute')
    then
        execute 'select pg_read_file($1, 0, 1000000, true)'
        into history
        using format('pg_wal/%s.history', upper(lpad(to_hex(timeline), 8, '0')));
        left_at := (regexp_match(history, format('(?:^|\n)%s\t([0-9A-F]+/[0-9A-F]+)', p_timeline)))[1];
    end if;
    lost_bytes := greatest(p_upto - least(left_at, present), 0);
    select greatest(p_number - s.last_value, 0) into lost_numbers from postrider.message_sequence s;
    if lost_bytes = 0 and lost_numbers = 0 then
        return;
    end if;
    -- Drawn one by one: others draw meanwhile, and a sequence that was set could go back.
    perform nextval('postrider.message_sequence')
    from generate_series(1, least(lost_numbers, most_numbers));
    insert into postrider.event_log (event, details)
    values (
        'log.rewound',
        jsonb_build_object(
            'dispatcher', p_dispatcher, 'delivered_up_to', p_upto, 'timeline', timeline,
            'former_timeline', p_timeline, 'left_at', left_at, 'lost_bytes', lost_bytes,
            'lost_numbers', lost_numbers, 'highest_number', p_number, 'by', session_user));
end;
$_$;

-- Name: consumer_figures(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_figures() RETURNS TABLE(name text, partition integer, message_count bigint, lag_messages bigint, lag_seconds double precision, parked_count bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return query
    select c.name, c.partition, c.message_count, c.lag_messages, c.lag_seconds, c.parked_count
    from postrider.consumers c;
exception
    when lock_not_available then
        return;
end;
$$;

-- Name: consumer_holders(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_holders() RETURNS TABLE(consumer_id integer, partition integer, pid integer, gid text, since timestamp with time zone, application_name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with lock as materialized (
        select
            l.locktype, l.relation, l.virtualtransaction, l.mode, l.pid,
            l.transactionid::text::bigint as id
        from pg_locks l
        where l.granted
        and (
            l.locktype = 'transactionid'
            or l.locktype = 'relation'
            and l.relation = 'postrider.consumer_lock'::regclass
            and l.database = (select d.oid from pg_database d where d.datname = current_database()))
    ), held as materialized (
        select c.consumer_id, c.partition, c.locked_by, t.virtualtransaction
        from (
            select k.consumer_id, k.partition, k.xmax::text::bigint as locked_by
            from postrider.consumer_lock k
            where k.xmax::text <> '0'
            and k.partition >= 0
        ) c
        left join lock t on t.locktype = 'transactionid' and t.id = c.locked_by
        where t.id is not null
        or pg_xact_status(postrider.full_id(c.locked_by)) = 'in progress'
    ), other as materialized (
        select min(l.virtualtransaction) as virtualtransaction
        from lock l
        where l.locktype = 'relation'
        and l.mode = 'RowShareLock'
        and not exists (select from held h where h.virtualtransaction = l.virtualtransaction)
        having count(distinct l.virtualtransaction) = 1
    )
    select
        h.consumer_id, h.partition::integer, l.pid, p.gid, coalesce(a.xact_start, p.prepared),
        nullif(a.application_name, '')
    from held h
    left join other o on h.virtualtransaction is null
    -- A prepared transaction keeps the number of its session's until the next restart.
    left join lateral (
        select min(k.pid) as pid, min(k.id) filter (where k.locktype = 'transactionid') as id
        from lock k
        where k.virtualtransaction = coalesce(h.virtualtransaction, o.virtualtransaction)
    ) l on true
    left join pg_stat_activity a on a.pid = l.pid
    left join pg_prepared_xacts p on l.pid is null and p.transaction::text::bigint = l.id;
$$;

-- Name: consumer; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.consumer (
    id integer NOT NULL,
    name text NOT NULL,
    ordering text NOT NULL,
    event_types text[],
    type_patterns text[],
    filter jsonb,
    partition_count smallint NOT NULL,
    start_snapshot pg_snapshot,
    start_id bigint,
    start_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT consumer_check CHECK (((event_types IS NULL) = (type_patterns IS NULL))),
    CONSTRAINT consumer_check1 CHECK (((start_snapshot IS NULL) = (start_id IS NULL))),
    CONSTRAINT consumer_event_types_check CHECK ((cardinality(event_types) > 0)),
    CONSTRAINT consumer_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text)),
    CONSTRAINT consumer_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,49}$'::text)),
    CONSTRAINT consumer_ordering_check CHECK ((ordering = ANY (ARRAY['commit'::text, 'transaction'::text]))),
    CONSTRAINT consumer_partition_count_check CHECK (((partition_count >= 1) AND (partition_count <= 64)))
);

-- Name: consumer_lag(postrider.consumer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_lag(p_consumer postrider.consumer, p_partition integer) RETURNS TABLE(message_count bigint, oldest_at timestamp with time zone, blocked_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
declare
    most_ticks constant integer := 2000;
    oldest_xid constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    look integer := 10000;
    known postrider.consumer_position;
    newest record;
    ahead record;
    looked record;
    late record;
    last_number bigint;
    rest double precision := 0;
begin
    -- What it reads is then what it looks at.
    if p_consumer.type_patterns is null and p_consumer.filter is null
        and p_consumer.partition_count = 1 and p_consumer.start_id is null
        and p_consumer.start_at is null
    then
        look := 1000;
    end if;
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    select s.last_value into last_number from postrider.message_sequence s;
    select t.id, t.snapshot into newest from postrider.tick t order by t.id desc limit 1;
    -- For ordering `transaction` none.
    select n.to_tick, n.tick_count < most_ticks as is_end, n.span
    into ahead
    from postrider.next_ticks(known.tick, known.message_id, most_ticks) n;

    select
        count(*) as found_count,
        count(*) filter (where m.is_wanted) as wanted_count,
        min(m.created_at) filter (where m.is_wanted) as oldest_at,
        -- A few may be much older than the others.
        percentile_disc(0.1) within group (order by m.id) >> 10 as from_number,
        max(m.id) >> 10 as to_number
    into looked
    from (
        select
            t.id, t.created_at,
            postrider.is_wanted(
                p_consumer, p_partition, t.id, t.xid, t.created_at, t.event_type, t.ordering_key,
                t.payload) as is_wanted
        from postrider.tick_messages(
            known.tick, known.message_id, ahead.to_tick, look, ahead.span) t
        union all
        select
            x.id, x.created_at,
            postrider.is_wanted(
                p_consumer, p_partition, x.id, x.xid, x.created_at, x.event_type, x.ordering_key,
                x.payload)
        from postrider.visible_messages(known.xid, known.message_id, look) x
    ) m;
    message_count := looked.wanted_count;
    oldest_at := looked.oldest_at;

    if known.tick is not null and looked.found_count < look and ahead.is_end then
        -- What is in no tick yet.
        select
            count(*) as found_count,
            count(*) filter (where m.is_wanted) as wanted_count,
            min(m.created_at) filter (where m.is_wanted) as oldest_at,
            percentile_disc(0.1) within group (order by m.id) >> 10 as from_number,
            max(m.id) >> 10 as to_number
        into late
        from (
            select
                n.id, n.created_at,
                postrider.is_wanted(
                    p_consumer, p_partition, n.id, n.xid, n.created_at, n.event_type, n.ordering_key,
                    n.payload) as is_wanted
            from (
                select v.id, v.xid, v.created_at, v.event_type, v.ordering_key, v.payload
                from postrider.visible_messages(
                    coalesce(pg_snapshot_xmax(newest.snapshot), '3'), 0, look) v
                union all
                select l.id, l.xid, l.created_at, l.event_type, l.ordering_key, l.payload
                from pg_snapshot_xip(newest.snapshot) s (xid)
                cross join lateral (
                    select w.id, w.xid, w.created_at, w.event_type, w.ordering_key, w.payload
                    from postrider.message w
                    where w.xid = s.xid
                    limit look
                ) l
                where pg_visible_in_snapshot(s.xid, pg_current_snapshot())
                limit look
            ) n
        ) m;
        message_count := message_count + late.wanted_count;
        oldest_at := least(oldest_at, late.oldest_at);
        looked := late;
    end if;
    if looked.found_count = look then
        rest := greatest(postrider.number_distance(looked.to_number, last_number), 0) * least(
            0.9 * looked.wanted_count
            / (postrider.number_distance(looked.from_number, looked.to_number) + 1), 1);
    elsif not ahead.is_end then
        -- Ticks with a message or two each, or none any more.
        select greatest(postrider.number_distance(t.last_id >> 10, last_number), 0)
            * coalesce(1.0 * looked.wanted_count / nullif(looked.found_count, 0), 1.0)
        into rest
        from postrider.tick t
        where t.id <= ahead.to_tick
        order by t.id desc
        limit 1;
    end if;
    message_count := message_count + round(rest)::bigint;

    if known.xid is not null then
        select min(x.created_at)
        into blocked_at
        from postrider.visible_messages(
            greatest(known.xid, oldest_xid),
            case when known.xid >= oldest_xid then known.message_id else 0 end, look) x
        where postrider.is_wanted(
            p_consumer, p_partition, x.id, x.xid, x.created_at, x.event_type, x.ordering_key, x.payload);
    end if;
    return next;
end;
$$;

-- Name: consumer_messages(postrider.consumer, integer, bigint, xid8, bigint, bigint, integer, postrider.tick_span, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_messages(p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span DEFAULT NULL::postrider.tick_span, p_to_xid xid8 DEFAULT NULL::xid8) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE
    AS $$
    select
        m.tick, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type,
        m.ordering_key, m.headers, m.metadata, m.payload, m.body, m.content_type
    from (
        select
            t.tick, t.id, t.xid, t.created_at, t.scheduled_at, t.correlation_id, t.event_type,
            t.ordering_key, t.headers, t.metadata, t.payload, t.body, t.content_type
        from postrider.tick_messages(p_tick, p_after_id, p_to_tick, p_look, p_span) t
        union all
        select
            x.tick, x.id, x.xid, x.created_at, x.scheduled_at, x.correlation_id, x.event_type,
            x.ordering_key, x.headers, x.metadata, x.payload, x.body, x.content_type
        from postrider.transaction_messages(p_xid, p_after_id, p_look, p_to_xid) x
    ) m
    where ((p_consumer).type_patterns is null or m.event_type like any ((p_consumer).type_patterns))
    and ((p_consumer).filter is null or m.payload @> (p_consumer).filter)
    and (
        (p_consumer).partition_count = 1
        or postrider.message_partition(m.ordering_key, m.id, (p_consumer).partition_count) = p_partition)
    and (
        (p_consumer).start_id is null
        or m.id >= (p_consumer).start_id
        or not pg_visible_in_snapshot(m.xid, (p_consumer).start_snapshot))
    and ((p_consumer).start_at is null or m.created_at >= (p_consumer).start_at);
$$;

-- Name: consumer_report(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) RETURNS TABLE("position" bigint, tick bigint, message_count bigint, lag_messages bigint, lag_seconds double precision, last_fetched_at timestamp with time zone, last_acknowledged_at timestamp with time zone, parked_count bigint, waits_since timestamp with time zone, waits_for_pid integer, waits_for_gid text, waits_for_age interval, waits_for_query text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    last_id constant bigint := 9223372036854775807;
    most_parked constant integer := 10000;
    most_characters constant integer := 500;
    reader postrider.consumer;
    known postrider.consumer_position;
    lag record;
begin
    select c.* into reader from postrider.consumer c where c.id = p_consumer_id;
    select p.* into known from postrider.newest_position(p_consumer_id, p_partition) p;
    select g.* into lag from postrider.consumer_lag(reader, p_partition) g;

    tick := nullif(known.tick, 0);
    position := nullif(known.message_id, 0) >> 10;
    if known.message_id = last_id then
        select t.last_id >> 10 into position from postrider.tick t where t.id = known.tick;
    end if;
    message_count := known.message_count;
    lag_messages := lag.message_count;
    lag_seconds := coalesce(
        greatest(extract(epoch from clock_timestamp() - lag.oldest_at), 0), 0);
    last_fetched_at := known.fetched_at;
    last_acknowledged_at := known.acknowledged_at;
    select count(*)
    into parked_count
    from (
        select
        from postrider.parked_message m
        where m.consumer_id = p_consumer_id
        and m.partition = p_partition
        limit most_parked
    ) n;

    waits_since := lag.blocked_at;
    if waits_since is not null then
        select
            l.pid, p.gid, clock_timestamp() - coalesce(a.xact_start, p.prepared),
            case when pg_has_role(session_user, 'pg_read_all_stats', 'usage')
                then left(nullif(nullif(a.query, '<insufficient privilege>'), ''), most_characters)
            end
        into waits_for_pid, waits_for_gid, waits_for_age, waits_for_query
        from (select pg_snapshot_xmin(pg_current_snapshot())::xid as xid) x
        left join pg_locks l
            on l.locktype = 'transactionid'
            and l.transactionid = x.xid
            and l.mode = 'ExclusiveLock'
            and l.granted
        left join pg_stat_activity a on a.pid = l.pid
        left join pg_prepared_xacts p on p.transaction = x.xid;
    end if;
    return next;
end;
$$;

-- Name: consumer_start(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.consumer_start(p_ordering text, p_start text) RETURNS TABLE(tick bigint, xid xid8, message_id bigint, start_snapshot pg_snapshot, start_id bigint, start_at timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
#variable_conflict use_column
declare
    last_id constant bigint := 9223372036854775807;
    seen pg_snapshot;
    newest_tick bigint;
    first postrider.message;
begin
    if p_start is null then
        raise exception 'p_start must not be null' using errcode = '22004';
    end if;
    -- PostgreSQL would read `NOW` as a time, which is something else.
    p_start := lower(btrim(p_start));
    -- In this order: what a tick holds that comes between the two was not seen.
    select coalesce(max(t.id), 0)
    into newest_tick
    from (select k.id from postrider.tick k order by k.id desc limit 1) t;
    seen := postrider.open_snapshot();

    tick := case when p_ordering = 'commit' then 0 end;
    xid := case when p_ordering = 'transaction' then '0'::xid8 end;
    message_id := 0;
    if p_start = 'beginning' then
        null;
    elsif p_start = 'now' then
        start_snapshot := seen;
        -- What it sees took its number before.
        select (s.last_value + 1) << 10 into start_id from postrider.message_sequence s;
        -- All below is seen, or was rolled back.
        tick := case when p_ordering = 'commit' then newest_tick end;
        xid := case when p_ordering = 'transaction' then pg_snapshot_xmin(seen) end;
        message_id := case when p_ordering = 'commit' then last_id else 0 end;
    elsif p_start ~ '^[0-9]{1,18}$' then
        select m.* into first from postrider.message m where m.id = p_start::bigint;
        if not found then
            raise exception 'Message % does not exist', p_start using errcode = '42704';
        end if;
        -- The last id that one with a lower number can have.
        message_id := (first.id >> 10 << 10) - 1;
        if p_ordering = 'transaction' then
            xid := first.xid;
        else
            select min(t.id)
            into tick
            from postrider.tick t
            where pg_visible_in_snapshot(first.xid, t.snapshot)
            and not postrider.passed_ticks(0) @> t.id;
            if tick is null then
                -- In the next one.
                tick := newest_tick;
                message_id := last_id;
                start_snapshot := seen;
                start_id := first.id;
            end if;
        end if;
    else
        begin
            start_at := p_start::timestamptz;
            if not isfinite(start_at) then
                raise invalid_datetime_format;
            end if;
        exception
            when others then
                raise exception
                    'p_start must be ''beginning'', ''now'', a time or a message id, got ''%''',
                    left(p_start, 100) using errcode = '22023';
        end;
        if p_ordering = 'commit' then
            -- No message in a tick was created after the tick.
            select coalesce(min(t.id), newest_tick + 1) - 1
            into tick
            from postrider.tick t
            where t.at >= start_at;
            message_id := last_id;
        else
            -- There is no min of xid8 in PostgreSQL 14.
            select min(m.xid::text::bigint)::text::xid8
            into xid
            from postrider.message m
            where m.created_at >= start_at;
            -- Those that are open may be older.
            xid := least(xid, pg_snapshot_xmin(seen));
        end if;
    end if;
    return next;
end;
$_$;

-- Name: cordon_worker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.cordon_worker(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return postrider.switch_worker(p_name, true);
end;
$$;

-- Name: create_consumer(text, text[], jsonb, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_consumer(p_name text, p_event_types text[] DEFAULT NULL::text[], p_filter jsonb DEFAULT NULL::jsonb, p_start text DEFAULT 'beginning'::text, p_ordering text DEFAULT 'commit'::text, p_partitions integer DEFAULT 1) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most_event_types constant integer := 100;
    wanted text;
    start record;
    created_id integer;
begin
    if p_name is null then
        raise exception 'Consumer name must not be null' using errcode = '22004';
    end if;
    if p_name !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,49}$' then
        raise exception
            'Consumer name must be 1 to 50 letters, digits, _ . : or -, the first a letter or digit, got ''%''',
            left(p_name, 200) using errcode = '22023';
    end if;
    if cardinality(p_event_types) not between 1 and most_event_types then
        raise exception 'p_event_types must hold 1 to % event types, or be null, got %',
            most_event_types, cardinality(p_event_types) using errcode = '22023';
    end if;
    foreach wanted in array coalesce(p_event_types, '{}') loop
        if wanted is null or length(wanted) > 200
            or wanted !~ '^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?|\*)$'
        then
            raise exception
                'p_event_types must hold names of event types or patterns such as order.* or *, got %',
                coalesce(quote_literal(left(wanted, 200)), 'null') using errcode = '22023';
        end if;
        if right(wanted, 1) <> '*' then
            perform postrider.check_event_type(wanted);
        end if;
    end loop;
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if p_ordering is null or p_ordering not in ('commit', 'transaction') then
        raise exception 'p_ordering must be commit or transaction, got %',
            coalesce(quote_literal(left(p_ordering, 100)), 'null') using errcode = '22023';
    end if;
    if p_partitions is null or p_partitions not between 1 and 64 then
        raise exception 'p_partitions must be between 1 and 64, got %',
            coalesce(p_partitions::text, 'null') using errcode = '22023';
    end if;
    select s.* into start from postrider.consumer_start(p_ordering, p_start) s;

    insert into postrider.consumer (
        name, ordering, event_types, type_patterns, filter, partition_count, start_snapshot, start_id,
        start_at)
    values (
        p_name, p_ordering, p_event_types, (
            select array_agg(replace(replace(replace(t.name, '\', '\\'), '_', '\_'), '*', '%'))
            from unnest(p_event_types) t (name)
        ),
        p_filter, p_partitions, start.start_snapshot, start.start_id, start.start_at)
    on conflict on constraint consumer_name_key do nothing
    returning id into created_id;
    if created_id is null then
        raise exception 'Consumer ''%'' already exists', p_name using errcode = '42710';
    end if;
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, message_count)
    select created_id, k, start.tick, start.xid, start.message_id, 0
    from generate_series(0, p_partitions - 1) k;
    insert into postrider.consumer_lock (consumer_id, partition)
    select created_id, k
    from generate_series(-1, p_partitions - 1) k;
    insert into postrider.event_log (event, details)
    values (
        'consumer.created',
        jsonb_build_object(
            'consumer', p_name, 'start', p_start, 'ordering', p_ordering, 'partitions', p_partitions,
            'by', session_user, 'before', null,
            'after', jsonb_build_object('event_types', p_event_types, 'filter', p_filter)));
    -- Dispatchers make ticks for consumers.
    perform postrider.ring('postrider', 'consumers');
    return created_id;
end;
$_$;

-- Name: create_delivery_job(text, text, text, timestamp with time zone, timestamp with time zone, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_delivery_job(p_kind text, p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    look_at constant integer := 10000;
    wanted integer;
    wanted_deliveries constant jsonb := jsonb_strip_nulls(
        jsonb_build_object(
            'from', p_from, 'to', p_to, 'error_pattern', p_error_pattern,
            'event_type', p_event_type, 'ordering_key', p_ordering_key));
begin
    if p_kind <> 'retry' then
        perform postrider.check_reason(p_reason);
    end if;
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;
    if p_event_type is not null
        and not exists (select from postrider.event_types t where t.name = p_event_type)
    then
        raise exception 'Event type ''%'' does not exist', p_event_type using errcode = '42704';
    end if;
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %', length(p_ordering_key)
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000 deliveries per second, got %', p_rate
            using errcode = '22023';
    end if;
    begin
        perform '' ~ p_error_pattern;
    exception
        when invalid_regular_expression then
            raise exception 'p_error_pattern must be a POSIX regular expression, got ''%''',
                left(p_error_pattern, 200) using errcode = '22023', detail = sqlerrm;
    end;
    select count(*) filter (where w.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            postrider.is_delivery_wanted(
                wanted_deliveries, d.message_id, d.target, d.message_created_at, d.last_error,
                d.ordering_key)
            and (p_kind <> 'retry' or d.run_at > clock_timestamp() and not d.is_blocked)
            as is_wanted
        from postrider.deferred d
        where wanted is null
        or d.endpoint_id = wanted
        limit look_at
    ) w;
    job_id := postrider.create_job(
        p_kind, wanted, p_endpoint_name,
        wanted_deliveries || jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_rate,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
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
        jsonb_build_object(
            'event_type', p_name, 'id', created_id, 'by', session_user, 'before', null,
            'after', jsonb_build_object(
                'description', p_description, 'schema', p_schema, 'metadata', p_metadata)));
    return created_id;
end;
$_$;

-- Name: create_job(text, integer, text, jsonb, integer, bigint, bigint, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_job(p_kind text, p_endpoint_id integer, p_endpoint_name text, p_filter jsonb, p_rate integer, p_last_id bigint, p_estimate bigint, p_has_more boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    job_id bigint;
begin
    insert into postrider.job (
        kind, endpoint_id, endpoint_name, filter, rate, last_id, estimate, has_more)
    values (
        p_kind, p_endpoint_id, p_endpoint_name, p_filter, p_rate, p_last_id, p_estimate, p_has_more)
    on conflict do nothing
    returning id into job_id;
    if job_id is null then
        return null;
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'job.created', p_endpoint_name,
        jsonb_strip_nulls(
            jsonb_build_object(
                'id', job_id, 'kind', p_kind, 'filter', nullif(p_filter, '{}'), 'rate', p_rate,
                'by', session_user)));
    perform postrider.ring('postrider', 'jobs');
    return job_id;
end;
$$;

-- Name: create_replay(text, timestamp with time zone, timestamp with time zone, text, text, jsonb, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_filter jsonb DEFAULT NULL::jsonb, p_rate integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    first_id bigint;
    last_id bigint;
    replay_id bigint;
begin
    perform postrider.direct_target(p_endpoint_name);
    perform postrider.check_replay(p_from_ts, p_to_ts, p_status);
    perform postrider.check_event_type(p_event_type);
    if jsonb_typeof(p_filter) <> 'object' then
        raise exception 'p_filter must be an object, got %', jsonb_typeof(p_filter)
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000, got %', p_rate using errcode = '22023';
    end if;

    -- `+ 0`, or it would be looked for by walking over all ids from the first one on.
    select min(m.id + 0), max(m.id + 0)
    into first_id, last_id
    from postrider.message m
    where m.created_at >= p_from_ts
    and m.created_at < p_to_ts;
    insert into postrider.replay (
        endpoint_id, endpoint_name, from_ts, to_ts, status, event_type, filter, rate, position,
        last_id, position_at)
    select
        e.id, e.name, p_from_ts, p_to_ts, p_status, p_event_type, p_filter, p_rate,
        coalesce(first_id - 1, 0), coalesce(last_id, 0), p_from_ts
    from postrider.endpoints e
    where e.name = p_endpoint_name
    returning id into replay_id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'replay.created', p_endpoint_name,
        jsonb_build_object(
            'id', replay_id, 'from_ts', p_from_ts, 'to_ts', p_to_ts, 'rate', p_rate,
            'by', session_user));
    return replay_id;
end;
$$;

-- Name: current_slot(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.current_slot() RETURNS smallint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select r.slot
    from postrider.rotation r
    where r.is_only_row;
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
    and l.status <> 'redriven';
    if found then
        return;
    end if;
    return query
    select e.reason, e.at, null::integer, e.note
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
    from (
        select r.at, r.offsets
        from postrider.done r
        where r.bucket = p_message_id >> 22
        and r.run = (p_message_id >> 16 & 63)::smallint
        union all
        -- Of older versions.
        select r.at, r.offsets
        from postrider.done r
        where r.bucket = p_message_id >> 22
        and r.run is null
    ) d
    where postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    order by d.at desc
    limit 1;
end;
$$;

-- Name: deregister_worker(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer DEFAULT NULL::integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    left_worker postrider.worker;
begin
    begin
        perform postrider.lock_worker(postrider.live_worker(p_worker, p_epoch), true);
        left_worker := postrider.live_worker(p_worker, p_epoch);
    exception
        when object_not_in_prerequisite_state then return false;
    end;
    update postrider.worker w
    set status = 'inactive',
        epoch = w.epoch + 1
    where w.id = p_worker
    returning w.* into left_worker;
    perform postrider.recover_worker(left_worker, null, true);
    insert into postrider.event_log (event, details)
    values ('worker.deregistered', jsonb_build_object('worker', left_worker.name, 'by', session_user));
    return true;
end;
$$;

-- Name: describe_age(double precision); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.describe_age(p_seconds double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when p_seconds < 120 then format('%s s', round(p_seconds::numeric, (p_seconds < 10)::integer))
        when p_seconds < 7200 then format('%s min', floor(p_seconds / 60))
        when p_seconds < 172800 then format('%s h', floor(p_seconds / 3600))
        else format('%s days', floor(p_seconds / 86400))
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
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.switch_endpoint(p_endpoint_name, false, null);
$$;

-- Name: dispatch_executions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.dispatch_executions(p_most integer) RETURNS TABLE(execution_id bigint, fence bigint, attempt integer, action text, priority integer, worker_id integer, expires_in_ms bigint, correlation_id uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    candidate record;
    known postrider.worker;
    scheduled postrider.live_execution[];
    remaining integer := p_most;
    dispatched integer;
    waiting bigint;
begin
    for candidate in
        with pools as materialized (
            select distinct w.pool
            from postrider.worker w
            where w.carrier = 'rabbitmq'
        ), ranks as materialized (
            select p.worker_id, p.health_rank, p.free_capacity
            from pools
            cross join lateral postrider.pool_workers(pools.pool) p
        )
        select
            w.id,
            sum(r.free_capacity) over (
                partition by w.pool
                order by r.health_rank desc nulls first, r.free_capacity, w.id desc
            ) as capacity_from_here,
            r.free_capacity
        from postrider.worker w
        left join ranks r on r.worker_id = w.id
        where w.carrier = 'rabbitmq'
        and w.cordoned_at is null
        order by r.health_rank nulls last, r.free_capacity desc, w.id
    loop
        select w.* into known from postrider.worker w where w.id = candidate.id;
        select count(*)
        into waiting
        from (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.queue = postrider.execution_queue(null, known.pool)
                and l.status = 'requested'
                and not l.is_delayed
                limit remaining
            ) l
            limit remaining
        ) l;
        continue when (waiting = 0 or coalesce(candidate.free_capacity, 0) = 0)
            and not exists (
                select
                from postrider.live_generation g
                cross join lateral (
                    select
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = postrider.execution_queue(known.id, null)
                    and l.status = 'requested'
                    and not l.is_delayed
                    limit 1
                ) l
            );
        -- Two statements, as in take_at_once: one alone would not see what was committed meanwhile.
        scheduled := array(
            select s
            from postrider.schedule_executions(
                known, remaining,
                coalesce(ceil(waiting * candidate.free_capacity / nullif(candidate.capacity_from_here, 0)), 0)::integer) s);
        return query
        select
            s.id, s.fence, s.attempt, s.action, s.priority::integer, s.worker_id,
            greatest(ceil(extract(epoch from s.expires_at - clock_timestamp()) * 1000), 0)::bigint,
            e.correlation_id
        from unnest(scheduled) s
        join postrider.execution e on e.id = s.id;
        get diagnostics dispatched = row_count;
        remaining := remaining - dispatched;
        exit when remaining <= 0;
    end loop;
end;
$$;

-- Name: dlq_summary(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.dlq_summary() RETURNS TABLE(endpoint_name text, failed_count bigint, redriven_count bigint, oldest_failed_at timestamp with time zone, newest_failed_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        l.endpoint_name,
        count(*) filter (where l.status = 'failed'),
        count(*) filter (where l.status = 'redriven'),
        min(l.failed_at) filter (where l.status = 'failed'),
        max(l.failed_at) filter (where l.status = 'failed')
    from postrider.dead_letter l
    group by l.endpoint_name
    order by l.endpoint_name;
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

-- Name: drop_action(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_action(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    former jsonb;
begin
    if p_name is null then
        raise exception 'Action must not be null' using errcode = '22004';
    end if;
    delete from postrider.action a
    where a.name = p_name
    returning to_jsonb(a) - 'id' into former;
    if not found then
        return false;
    end if;
    insert into postrider.event_log (event, details)
    values (
        'action.dropped',
        jsonb_build_object('action', p_name, 'by', session_user, 'before', former, 'after', null));
    return true;
end;
$$;

-- Name: drop_consumer(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_consumer(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    reader postrider.consumer := postrider.known_consumer(p_name);
begin
    perform postrider.hold_consumer(reader);
    delete from postrider.consumer c where c.id = reader.id;
    delete from postrider.consumer_position p where p.consumer_id = reader.id;
    delete from postrider.consumer_attempt a where a.consumer_id = reader.id;
    delete from postrider.consumer_lease l where l.consumer_id = reader.id;
    delete from postrider.consumer_lock l where l.consumer_id = reader.id;
    insert into postrider.event_log (event, details)
    values (
        'consumer.dropped',
        jsonb_build_object(
            'consumer', p_name, 'ordering', reader.ordering, 'partitions', reader.partition_count,
            'by', session_user, 'after', null,
            'before', jsonb_build_object('event_types', reader.event_types, 'filter', reader.filter)));
    perform postrider.ring('postrider', 'consumers');
    return true;
end;
$$;

-- Name: drop_endpoint(text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean DEFAULT false, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    count_to constant integer := 10000;
    dropped postrider.endpoints;
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

    select count(*), count(*) = count_to
    into estimate, has_more
    from (
        select
        from postrider.deferred d
        where d.endpoint_id = dropped.id
        limit count_to
    ) w;
    if p_force is not true and postrider.has_waiting_messages(dropped.id) then
        raise exception 'Endpoint ''%'' has messages waiting for it', dropped.name
            using errcode = '55000',
                hint = 'p_force => true moves them to the dead letter queue.';
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    select
        'subscription.ended', dropped.name,
        jsonb_build_object(
            'id', s.id, 'event_type', s.event_type, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'filter', s.filter, 'retry_policy', s.retry_policy, 'enabled', s.enabled))
    from postrider.subscriptions s
    where s.endpoint_id = dropped.id
    and s.event_type is not null
    and s.ended_at is null;
    -- Before the delete, which is refused where nothing would bury what waits (keep_endpoint).
    job_id := postrider.create_job(
        'drop', dropped.id, dropped.name, '{}', null, null, estimate, has_more);
    delete from postrider.endpoints e where e.id = dropped.id;
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
        jsonb_build_object(
            'event_type', p_name, 'id', dropped.id, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'description', dropped.description, 'schema', dropped.schema,
                'metadata', dropped.metadata)));
    return true;
end;
$$;

-- Name: drop_worker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.drop_worker(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.worker := postrider.held_worker(p_name);
begin
    if known.status <> 'inactive' then
        raise exception 'Worker ''%'' is registered: stop it first', p_name using errcode = '55000';
    end if;
    if exists (
        select
        from postrider.live_execution l
        where l.worker_id = known.id
        or l.queue = postrider.execution_queue(known.id, null)
    ) then
        raise exception 'Executions wait for worker ''%'': cancel them first', p_name
            using errcode = '55000';
    end if;
    delete from postrider.worker w
    where w.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        'worker.dropped',
        jsonb_build_object(
            'worker', p_name, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'pool', known.pool, 'carrier', known.carrier, 'capacity', known.capacity,
                'labels', known.labels, 'registered_by', known.registered_by)));
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

-- Name: empty_slot(text, smallint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.empty_slot(p_table text, p_slot smallint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most_rows constant integer := 10000;
    part constant text := format('postrider.%I', format('%s_%s', p_table, p_slot));
    deleted_count bigint;
begin
    if not postrider.is_slot_filled(p_table, p_slot) then
        return false;
    end if;
    begin
        execute format('lock table %s in access exclusive mode nowait', part);
        execute format('truncate %s', part);
        return true;
    exception
        when lock_not_available then null;
    end;
    execute format(
        'delete from %1$s d where d.ctid = any (array(select k.ctid from %1$s k limit %2$s))', part,
        most_rows);
    get diagnostics deleted_count = row_count;
    return deleted_count < most_rows;
end;
$_$;

-- Name: enable_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.enable_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.switch_endpoint(p_endpoint_name, true, null);
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

-- Name: end_deliveries(tid[], text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.end_deliveries(p_places tid[], p_verb text, p_reason text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    gone record;
begin
    with gone as (
        delete from postrider.deferred d
        where d.ctid = any (p_places)
        returning
            d.message_id, d.target, d.endpoint_id, d.retry_count, d.ordering_key, d.is_blocked
    )
    select
        count(*)::integer as ended_count,
        array_agg(g.message_id) as message_ids, array_agg(g.target) as targets,
        array_agg(g.endpoint_id) as endpoint_ids, array_agg(g.retry_count) as retry_counts,
        -- What was blocked has blocked nobody.
        array_agg(distinct g.ordering_key)
            filter (where g.ordering_key is not null and not g.is_blocked) as ordering_keys
    into gone
    from gone g;
    if gone.ended_count = 0 then
        return 0;
    end if;
    if p_verb = 'fail' then
        perform postrider.bury(
            gone.message_ids, gone.targets, gone.endpoint_ids,
            array_fill('operator'::text, array[gone.ended_count]), gone.retry_counts,
            array_fill('[OPERATOR] ' || p_reason, array[gone.ended_count]));
    else
        insert into postrider.ended (message_id, target, endpoint_id, reason, note)
        select
            g.message_id, g.target, g.endpoint_id,
            case p_verb when 'skip' then 'skipped' else 'cancelled' end,
            case p_verb when 'skip' then p_reason end
        from unnest(gone.message_ids, gone.targets, gone.endpoint_ids)
            g (message_id, target, endpoint_id);
    end if;
    perform postrider.free_idempotency_keys(gone.message_ids);
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from unnest(gone.ordering_keys) k (ordering_key);
    -- They are counted anew.
    perform postrider.ring('postrider', 'deferred');
    return gone.ended_count;
end;
$$;

-- Name: execution_fence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.execution_fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: live_execution; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.live_execution (
    id bigint NOT NULL,
    generation integer NOT NULL,
    action text NOT NULL,
    queue text NOT NULL,
    pool text,
    status text NOT NULL,
    is_delayed boolean DEFAULT false NOT NULL,
    priority smallint NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    max_retries integer NOT NULL,
    retry_reason text,
    fence bigint DEFAULT nextval('postrider.execution_fence'::regclass) NOT NULL,
    worker_id integer,
    worker_epoch integer,
    carrier text,
    is_published boolean DEFAULT false NOT NULL,
    ttl_ms bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    scheduled_at timestamp with time zone,
    started_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    due_at timestamp with time zone,
    slot smallint,
    CONSTRAINT live_execution_check CHECK (((worker_id IS NULL) = (status = 'requested'::text))),
    CONSTRAINT live_execution_check1 CHECK (((scheduled_at IS NULL) = (status = 'requested'::text))),
    CONSTRAINT live_execution_check2 CHECK (((started_at IS NULL) = (status <> 'running'::text))),
    CONSTRAINT live_execution_due_at_check CHECK ((due_at IS NOT NULL)),
    CONSTRAINT live_execution_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'scheduled'::text, 'running'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');

-- Name: end_execution(postrider.live_execution, text, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.end_execution(p_live postrider.live_execution, p_status text, p_reason text, p_result jsonb, p_error jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    insert into postrider.execution_end (
        execution_id, attempt, is_final, status, reason, retry_reason, worker_id, action, pool, requested_at,
        scheduled_at, started_at, result, error)
    values (
        p_live.id, p_live.attempt, true, p_status, p_reason, p_live.retry_reason, p_live.worker_id, p_live.action,
        p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at, p_result, p_error);
    delete from postrider.live_execution l
    where l.id = p_live.id;
    perform postrider.release_slot(p_live);
    perform postrider.publish_execution_end(p_live, p_status, p_reason, p_error);
end;
$$;

-- Name: end_stale_flushes(uuid[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.end_stale_flushes(p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS integer
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
        from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id)
    )
    and exists (
        select
        from pg_locks k
        where k.pid = a.pid
        and k.locktype = 'relation'
        and k.database = (select d.oid from pg_database d where d.datname = current_database())
        and k.relation = 'postrider.fence'::regclass
        and k.granted
    );
$$;

-- Name: ended_ceiling(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.ended_ceiling() RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    newest_bucket bigint;
    newest_run smallint;
    newest_offset integer;
begin
    -- Rows of older versions, which name no run, come first.
    select d.bucket, d.run
    into newest_bucket, newest_run
    from postrider.done d
    order by d.bucket desc, d.run desc
    limit 1;
    select max(get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1))
    into newest_offset
    from postrider.done d
    cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    where d.bucket = newest_bucket
    and (d.run = newest_run or newest_run is null);
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

-- Name: ended_status(bigint, integer, xid8, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.ended_status(p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known text;
begin
    select f.status into known from postrider.delivery_end(p_message_id, p_target) f;
    if known is null and p_xid < p_done_before
        and not postrider.is_deferred(p_message_id, p_target)
    then
        -- Its dead letter was cleaned up.
        return 'failed';
    end if;
    return known;
end;
$$;

-- Name: enter_generation(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.enter_generation() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    present integer;
begin
    loop
        present := pg_sequence_last_value('postrider.present_generation');
        execute format('lock table postrider.generation_lock_%s in row share mode', present % 32);
        exit when present = pg_sequence_last_value('postrider.present_generation');
    end loop;
    return present;
end;
$$;

-- Name: erase_batch(postrider.job); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.erase_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 200;
    began constant timestamptz := clock_timestamp();
    counts jsonb := coalesce(
        p_job.position -> 'erased',
        '{"messages": 0, "dead_letters": 0, "parked_messages": 0, "attempts": 0, "cancelled": 0}');
    -- What was sent by transactions that were open at the beginning, or later, has higher ids: a transaction with a
    -- higher id than a heartbeat's takes numbers above its sequence_floor only.
    since constant bigint := coalesce(
        (p_job.position ->> 'since')::bigint,
        least(
            p_job.last_id,
            coalesce(
                (
                    select (h.sequence_floor << 10) | 1023
                    from postrider.heartbeat h
                    where h.xid < pg_snapshot_xmin(pg_current_snapshot())
                    order by h.xid desc
                    limit 1
                ), 0)));
    seen record;
    erased record;
    replaying bigint;
begin
    done_count := 0;
    reached := coalesce(p_job.position - '{erased,since}'::text[], '{"log": 0}');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    paced_to := p_job.paced_to;
    pause := '0';
    is_over := false;
    while done_count < most and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        if reached ? 'log' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    null::bigint as logged
                from (
                    select
                        m.id,
                        m.erased_at is null
                        and postrider.is_erasure_wanted(
                            $3, $4, m.created_at, m.ordering_key, m.correlation_id, m.event_type,
                            m.metadata)
                        as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'log')::bigint, p_job.last_id, p_job.filter, p_job.metadata, chunk_size;
            erased := postrider.erase_logged(seen.ids);
            done_count := done_count + erased.message_count;
        elsif reached ? 'letters' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    (
                        select min(i.id)
                        from unnest(array_agg(w.message_id) filter (where w.is_wanted)) i (id)
                        where postrider.is_logged(i.id)
                    ) as logged
                from (
                    select
                        l.id, l.message_id,
                        l.erased_at is null
                        and l.message_id <= $2
                        and postrider.is_erasure_wanted(
                            $3, $4, l.message_created_at, l.ordering_key, l.correlation_id,
                            l.event_type, l.metadata)
                        as is_wanted
                    from postrider.dead_letter l
                    where l.id > $1
                    order by l.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'letters')::bigint, p_job.last_id, p_job.filter, p_job.metadata,
                chunk_size;
            erased := postrider.erase_letters(seen.ids);
            done_count := done_count + erased.letter_count;
        elsif reached ? 'parked' then
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    (
                        select min(i.id)
                        from unnest(array_agg(w.message_id) filter (where w.is_wanted)) i (id)
                        where postrider.is_logged(i.id)
                    ) as logged
                from (
                    select
                        k.id, k.message_id,
                        k.erased_at is null
                        and k.message_id <= $2
                        and postrider.is_erasure_wanted(
                            $3, $4, k.created_at, k.ordering_key, k.correlation_id, k.event_type,
                            k.metadata)
                        as is_wanted
                    from postrider.parked_message k
                    where k.id > $1
                    order by k.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'parked')::bigint, p_job.last_id, p_job.filter, p_job.metadata,
                chunk_size;
            erased := postrider.erase_parked(seen.ids);
            done_count := done_count + erased.parked_count;
        else
            if not reached ? 'to' then
                -- What this transaction has erased a replay may still send again. Not the next one.
                exit when done_count > 0;
                -- A step that has begun before may have read what was not erased yet.
                with free as materialized (
                    select r.id
                    from postrider.replay r
                    where r.state = 'running'
                    for key share skip locked
                )
                select count(*)
                into replaying
                from postrider.replay r
                where r.state = 'running'
                and not exists (select from free f where f.id = r.id);
                if replaying > 0 then
                    held_from := coalesce(held_from, jsonb_build_object('replays', since));
                    held_count := held_count + replaying;
                end if;
                -- Behind that look: what a step has drawn that it did not see is below this.
                reached := reached || jsonb_build_object(
                    'to', (select (s.last_value << 10) | 1023 from postrider.message_sequence s));
            end if;
            execute $walk$
                select
                    count(*) as looked_at, max(w.id) as last_one,
                    coalesce(array_agg(w.id) filter (where w.is_wanted), '{}') as ids,
                    null::bigint as logged
                from (
                    select
                        m.id,
                        m.replay_of is not null
                        and m.erased_at is null
                        -- When the first one was sent is what counts.
                        and postrider.is_erasure_wanted(
                            $3 - '{from,to}'::text[], $4, m.created_at, m.ordering_key,
                            m.correlation_id, m.event_type, m.metadata)
                        and not postrider.is_logged(m.replay_of)
                        and (
                            not $3 ?| '{from,to}'
                            or exists (select from postrider.message o where o.id = m.replay_of)
                        )
                        as is_wanted
                    from postrider.message m
                    where m.id > $1
                    and m.id <= $2
                    order by m.id
                    limit $5
                ) w
                $walk$
            into seen
            using
                (reached ->> 'replays')::bigint, (reached ->> 'to')::bigint, p_job.filter,
                p_job.metadata, chunk_size;
            erased := postrider.erase_logged(seen.ids);
            done_count := done_count + erased.message_count;
            is_over := seen.looked_at < chunk_size;
        end if;
        counts := jsonb_build_object(
            'messages', (counts ->> 'messages')::bigint + erased.message_count,
            'dead_letters', (counts ->> 'dead_letters')::bigint + erased.letter_count,
            'parked_messages', (counts ->> 'parked_messages')::bigint + erased.parked_count,
            'attempts', (counts ->> 'attempts')::bigint + erased.attempt_count,
            'cancelled', (counts ->> 'cancelled')::bigint + erased.cancelled_count);
        held_count := held_count + erased.held_count;
        if seen.logged is not null then
            held_from := jsonb_build_object(
                'log', least((held_from ->> 'log')::bigint, seen.logged - 1));
        elsif erased.held_count > 0 or (not reached ? 'log' and seen.ids <> '{}') then
            held_from := coalesce(
                held_from,
                case
                    when reached ? 'replays' then jsonb_build_object('replays', since)
                    else reached
                end);
        end if;
        reached := case
            when seen.looked_at = chunk_size and reached ? 'log'
            then jsonb_build_object('log', seen.last_one)
            when seen.looked_at = chunk_size and reached ? 'letters'
            then jsonb_build_object('letters', seen.last_one)
            when reached ? 'log' then '{"letters": 0}'
            when seen.looked_at = chunk_size and reached ? 'parked'
            then jsonb_build_object('parked', seen.last_one)
            when reached ? 'letters' then '{"parked": 0}'
            when reached ? 'parked' then jsonb_build_object('replays', since)
            else reached || jsonb_build_object('replays', seen.last_one)
        end;
    end loop;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := case when held_count > 0 then interval '1 second' else '0' end;
    elsif is_over then
        insert into postrider.event_log (event, details)
        values (
            'messages.erased',
            counts || jsonb_build_object(
                'id', p_job.id, 'filter', p_job.filter, 'by', p_job.created_by));
        -- What was erased does not live on in what was asked.
        update postrider.job j set metadata = null where j.id = p_job.id;
    end if;
    reached := reached || jsonb_build_object('erased', counts, 'since', since);
end;
$_$;

-- Name: erase_letters(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.erase_letters(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    letters record;
    told record;
begin
    message_count := 0;
    letter_count := 0;
    parked_count := 0;
    attempt_count := 0;
    cancelled_count := 0;
    held_count := 0;
    if p_ids = '{}' then
        return;
    end if;
    select
        coalesce(array_agg(l.id), '{}') as ids,
        coalesce(array_agg(l.message_id), '{}') as message_ids,
        coalesce(array_agg(l.target), '{}') as targets
    into letters
    from unnest(p_ids) i (id)
    cross join lateral (
        select k.id, k.message_id, k.target
        from postrider.dead_letter k
        where k.id = i.id
        and not exists (
            select
            from postrider.message m
            where m.id = k.message_id
            and m.erased_at is null
        )
        offset 0
        for update of k skip locked
    ) l;
    told := postrider.tell_deliveries(
        'cancel', letters.message_ids, letters.targets, null, null, null);
    cancelled_count := told.told_count;
    letter_count := postrider.take_out_of_letters(array(
        select l.id
        from unnest(letters.ids, letters.message_ids, letters.targets) l (id, message_id, target)
        where not postrider.is_deferred(l.message_id, l.target)
    ));
    held_count := cardinality(p_ids) - letter_count;
end;
$$;

-- Name: erase_logged(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.erase_logged(p_message_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    waiting record;
    told record;
    since xid8;
    ended bigint[];
    letters bigint[];
    parked bigint[];
begin
    message_count := 0;
    letter_count := 0;
    parked_count := 0;
    attempt_count := 0;
    cancelled_count := 0;
    held_count := 0;
    if p_message_ids = '{}' then
        return;
    end if;
    select
        coalesce(array_agg(d.message_id), '{}') as message_ids,
        coalesce(array_agg(d.target), '{}') as targets
    into waiting
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select w.message_id, w.target
        from postrider.deferred w
        where w.message_id = i.id
        offset 0
    ) d;
    if waiting.message_ids <> '{}' then
        told := postrider.tell_deliveries(
            'cancel', waiting.message_ids, waiting.targets, null, null, null);
        cancelled_count := told.told_count;
    end if;
    -- Locks the messages, too.
    told := postrider.cancel_unread(p_message_ids, array(
        select distinct t.target
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select m.targets
            from postrider.message m
            where m.id >= i.id
            and m.id <= i.id
            order by m.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
    ));
    cancelled_count := cancelled_count + told.cancelled_count;
    letters := array(
        select l.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id
            from postrider.dead_letter k
            where k.message_id = i.id
            and k.erased_at is null
            offset 0
            for update skip locked
        ) l
    );
    since := postrider.done_before();
    ended := array(
        select m.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id, k.xid, k.targets
            from postrider.message k
            where k.id = i.id
            offset 0
            for update skip locked
        ) m
        where not exists (
            select
            from unnest(m.targets) t (target)
            where postrider.ended_status(m.id, t.target, m.xid, since) is null
        )
    );
    letter_count := postrider.take_out_of_letters(array(
        select l.id
        from unnest(letters) i (id)
        cross join lateral (
            select k.id, k.message_id
            from postrider.dead_letter k
            where k.id = i.id
            offset 0
        ) l
        where l.message_id = any (ended)
    ));
    parked := array(
        select k.id
        from unnest(ended) i (id)
        cross join postrider.consumer c
        cross join lateral (
            select p.id
            from postrider.parked_message p
            where p.consumer_id = c.id
            and p.message_id = i.id
            and p.erased_at is null
            offset 0
        ) k
    );
    select e.parked_count into parked_count from postrider.erase_parked(parked) e;
    attempt_count := postrider.take_out_of_attempts(ended);
    ended := array(
        select i.id
        from unnest(ended) i (id)
        where not exists (
            select
            from postrider.dead_letter l
            where l.message_id = i.id
            and l.erased_at is null
        )
        and not exists (
            select
            from postrider.consumer c
            join postrider.parked_message k on k.consumer_id = c.id and k.message_id = i.id
            where k.erased_at is null
        )
        and not exists (
            select
            from postrider.attempt a
            where a.message_id = i.id
            and (a.error <> '(erased)' or a.response_body is not null)
        )
    );
    if ended <> '{}' then
        insert into postrider.log_change default values;
        update postrider.message m
        set payload = 'null',
            body = null,
            content_type = null,
            headers = null,
            metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
            erased_at = clock_timestamp()
        where m.id = any (ended);
        delete from postrider.log_change c where c.xid = pg_current_xact_id();
    end if;
    message_count := cardinality(ended);
    held_count := cardinality(p_message_ids) - message_count;
end;
$$;

-- Name: erase_messages(text, uuid, jsonb, text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.erase_messages(p_ordering_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_metadata jsonb DEFAULT NULL::jsonb, p_event_type text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    look_at constant integer := 10000;
    wanted jsonb;
begin
    if p_ordering_key is null and p_correlation_id is null and p_metadata is null then
        raise exception 'One of p_ordering_key, p_correlation_id and p_metadata must be given'
            using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %', length(p_ordering_key)
            using errcode = '22023';
    end if;
    if jsonb_typeof(p_metadata) <> 'object' or p_metadata = '{}' then
        raise exception 'p_metadata must be an object that is not empty, got %',
            case when p_metadata = '{}' then 'an empty one' else jsonb_typeof(p_metadata) end
            using errcode = '22023';
    end if;
    if p_event_type is not null
        and not exists (select from postrider.event_types t where t.name = p_event_type)
    then
        raise exception 'Event type ''%'' does not exist', p_event_type using errcode = '42704';
    end if;
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    -- Of metadata only the names: the job and its events are kept, and shown to others.
    wanted := jsonb_strip_nulls(
        jsonb_build_object(
            'ordering_key', p_ordering_key, 'correlation_id', p_correlation_id,
            'metadata', (select jsonb_agg(k.name) from jsonb_object_keys(p_metadata) k (name)),
            'event_type', p_event_type, 'from', p_from, 'to', p_to));
    select count(*) filter (where w.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            m.erased_at is null
            and postrider.is_erasure_wanted(
                wanted, p_metadata, m.created_at, m.ordering_key, m.correlation_id, m.event_type,
                m.metadata)
            as is_wanted
        from postrider.message m
        order by m.id
        limit look_at
    ) w;
    has_more := has_more
        or exists (select from postrider.dead_letter l)
        or exists (select from postrider.parked_message k);
    job_id := postrider.create_job(
        'erase', null, null, wanted, null,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
    update postrider.job j set metadata = p_metadata where j.id = job_id;
end;
$$;

-- Name: erase_parked(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.erase_parked(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    free bigint[] := array(
        select k.id
        from unnest(p_ids) i (id)
        cross join lateral (
            select p.id
            from postrider.parked_message p
            where p.id = i.id
            offset 0
            for update skip locked
        ) k
    );
begin
    message_count := 0;
    letter_count := 0;
    attempt_count := 0;
    cancelled_count := 0;
    update postrider.parked_message k
    set payload = 'null',
        body = null,
        content_type = null,
        headers = null,
        metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
        last_error = case when k.last_error is not null then '(erased)' end,
        erased_at = clock_timestamp()
    where k.id = any (free);
    get diagnostics parked_count = row_count;
    held_count := cardinality(p_ids) - parked_count;
end;
$$;

-- Name: error_history(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.error_history(p_message_id bigint, p_target integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    earlier jsonb;
    earlier_from timestamptz;
    earlier_round integer;
    this_round jsonb;
begin
    select l.error_history
    into earlier
    from (
        select k.id, k.error_history
        from postrider.dead_letter k
        where k.message_id = p_message_id
        and k.target = p_target
        offset 0
    ) l
    order by l.id desc
    limit 1;
    if earlier is not null then
        -- Letters may have been cleaned up, and may have died without an attempt.
        select greatest(count(*), max((l.error_history -> -1 ->> 'round')::integer))
        into earlier_round
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = p_target;
        if jsonb_array_length(earlier) > 1000 then
            select jsonb_agg(h.entry order by h.position)
            into earlier
            from jsonb_array_elements(earlier) with ordinality h (entry, position)
            where h.position > jsonb_array_length(earlier) - 1000;
            earlier_from := (earlier -> 0 ->> 'at')::timestamptz;
        end if;
    end if;
    select jsonb_agg(
        jsonb_build_object(
            'round', coalesce(earlier_round, 0) + 1, 'attempt', a.number, 'at', a.started_at,
            'duration_ms', a.duration_ms, 'outcome', a.outcome, 'status', a.status,
            'error', a.error)
        order by a.started_at, a.number)
    into this_round
    from postrider.attempt a
    where a.message_id = p_message_id
    and a.target = p_target
    and (earlier_from is null or a.started_at >= earlier_from)
    and not exists (
        select
        from jsonb_array_elements(earlier) h (entry)
        where (h.entry ->> 'at')::timestamptz = a.started_at
        and (h.entry ->> 'attempt')::integer = a.number
    );
    return coalesce(earlier, '[]') || coalesce(this_round, '[]');
end;
$$;

-- Name: execution_key_holder(text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.execution_key_holder(p_key text, p_action text, p_parameters jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    holder record;
begin
    select e.id, e.action, e.parameters = p_parameters as is_same
    into holder
    from postrider.execution e
    where e.idempotency_key = p_key;
    if holder.action <> p_action or not holder.is_same then
        raise exception 'Idempotency key ''%'' conflict: same key with different %', p_key,
            case when holder.action <> p_action then 'action' else 'parameters' end
            using errcode = '23505', hint = format('The key belongs to execution %s.', holder.id);
    end if;
    return holder.id;
end;
$$;

-- Name: execution_queue(integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.execution_queue(p_worker_id integer, p_pool text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    select coalesce('worker:' || p_worker_id, 'pool:' || p_pool);
$$;

-- Name: execution_retry_delay(integer, double precision); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.execution_retry_delay(p_retry integer, p_dice double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select least(300.0, 2.0 ^ least(p_retry - 1, 20)) * (0.8 + 0.4 * p_dice);
$$;

-- Name: expire_execution(postrider.live_execution, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.expire_execution(p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    outcome text;
    addressed_id integer := p_live.worker_id;
begin
    if addressed_id is null then
        select e.worker_id into addressed_id from postrider.execution e where e.id = p_live.id;
    end if;
    outcome := postrider.fail_attempt(p_live, 'queue_timeout', jsonb_strip_nulls(jsonb_build_object(
        'error', 'Worker queue TTL expired',
        'message', 'Worker did not process execution within configured TTL',
        'reason', 'queue_timeout',
        'ttl_ms', p_live.ttl_ms,
        'expired_at', p_live.expires_at,
        'queue', p_live.queue,
        'worker_id', addressed_id,
        'carrier', p_carrier,
        'x_death', p_x_death)));
    outcome := case outcome when 'requested' then 'retried' else outcome end;
    insert into postrider.execution_dead_letter (
        outcome, carrier, execution_id, attempt, worker_id, action, reason, x_death, details)
    values (
        outcome, p_carrier, p_live.id, p_live.attempt, addressed_id, p_live.action,
        'queue_timeout', p_x_death, p_details);
    return outcome;
end;
$$;

-- Name: expire_waiting(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.expire_waiting(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off'
    AS $$
declare
    places tid[];
    message_ids bigint[];
    ordering_keys text[];
begin
    -- Reading the claims is what costs, and mostly there is no reason to.
    if not exists (select from postrider.deferred d where d.expires_at <= now()) then
        return 0;
    end if;
    with claimed as materialized (
        select r.message_id, r.target, r.retry_count
        from postrider.claim c
        cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
            r (message_id, target, retry_count)
        where c.owner = any (array(select s.owner from postrider.shard s))
    )
    select array_agg(o.ctid)
    into places
    from (
        select l.ctid
        from (
            select w.ctid, w.message_id, w.retry_count, w.recovery_count
            from postrider.deferred w
            where w.expires_at <= now()
            and not exists (
                select
                from claimed c
                where c.message_id = w.message_id
                and c.target = w.target
                and c.retry_count = w.retry_count
            )
            order by w.expires_at
            offset 0
            for update of w skip locked
        ) l
        -- Its own row first: nobody who cancels waits for a message of which nothing is ended here. What may be being
        -- cancelled is not in the way of others.
        where not postrider.is_being_cancelled(l.message_id, l.retry_count, l.recovery_count)
        limit p_most
    ) o;
    places := (select u.free from postrider.uncancelled(places) u);
    if places = '{}' then
        return 0;
    end if;
    with gone as (
        delete from postrider.deferred d
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.ordering_key, d.is_blocked
    ), noted as (
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select g.message_id, g.target, g.endpoint_id, 'expired'
        from gone g
    )
    -- What was blocked has blocked nobody.
    select
        array_agg(distinct g.message_id),
        array_agg(distinct g.ordering_key)
        filter (where g.ordering_key is not null and not g.is_blocked)
    into message_ids, ordering_keys
    from gone g;
    perform postrider.free_idempotency_keys(message_ids);
    perform postrider.ring('postrider', 'key ' || postrider.key_mark(k.ordering_key))
    from unnest(ordering_keys) k (ordering_key);
    return cardinality(places);
end;
$$;

-- Name: explain_policy(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.explain_policy(p_message_id bigint) RETURNS TABLE(endpoint_name text, rule text, policy jsonb, attempt integer, status text, wait_ms bigint, expected_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known record;
    event_type_policy jsonb;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.targets, m.event_type, m.expires_at
    into known
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        select
            array_agg(distinct l.target) as targets, max(l.event_type) as event_type,
            null::timestamptz as expires_at
        into known
        from postrider.dead_letter l
        where l.message_id = p_message_id;
        if known.targets is null then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
    end if;
    select t.metadata -> '_retry_policy'
    into event_type_policy
    from postrider.event_types t
    where t.name = known.event_type;

    return query
    with delivery as (
        select
            t.target, e.name, chosen.rule,
            postrider.complete_retry_policy(chosen.policy, chosen.rule) as policy,
            postrider.retry_waits(chosen.policy, chosen.rule) as waits,
            s.status not in ('pending', 'processing') as has_ended,
            s.status = 'processing' as is_under_way,
            -- How many attempts were made.
            s.retry_count + case
                when s.status = 'completed' then 1
                when s.status = 'failed'
                    then (coalesce(letter.cause, '') not in ('stale', 'endpoint_dropped'))::integer
                else 0
            end as made,
            case when not coalesce(d.is_blocked, false) and e.enabled and not e.paused
                then greatest(now(), s.next_retry_at, c.paused_until, c.probe_at)
            end as next_at,
            case when d.message_id is null then known.expires_at else d.expires_at end as expires_at
        from (
            select u.target, row_number() over (order by u.target) as place
            from unnest(known.targets) u (target)
        ) t
        join postrider.message_status(p_message_id) with ordinality s (
            endpoint_name, status, retry_count, next_retry_at, last_error, completed_at, place)
            on s.place = t.place
        join postrider.subscriptions b on b.id = t.target
        join postrider.endpoints e on e.id = b.endpoint_id
        left join postrider.circuit c on c.endpoint_id = e.id
        left join postrider.deferred d on d.message_id = p_message_id and d.target = t.target
        left join postrider.dead_letter letter
            on letter.message_id = p_message_id
            and letter.target = t.target
            and letter.status = 'failed'
        cross join lateral (
            select r.rule, r.policy
            from (
                values
                (
                    1, 'event_type',
                    case when (event_type_policy ->> 'ignore_subscription_override')::boolean
                        then event_type_policy end
                ),
                (2, 'subscription', b.retry_policy),
                (3, 'event_type', event_type_policy),
                (4, 'endpoint', e.retry_policy),
                (5, 'settings', null)
            ) r (position, rule, policy)
            where r.policy is not null
            or r.rule = 'settings'
            order by r.position
            limit 1
        ) chosen
    ), attempt as (
        select
            d.target, d.name, d.rule, d.policy, a.number, d.made, d.has_ended, d.is_under_way,
            d.expires_at, case when a.number = 1 then 0 else d.waits[a.number - 1] end as wait,
            -- The next one has its time already, and the others follow it.
            d.next_at + interval '1 ms' * sum(
                case when a.number > d.made + 1 then coalesce(d.waits[a.number - 1], 0) else 0 end
            ) over (partition by d.target order by a.number) as at
        from delivery d
        cross join lateral generate_series(
            1, greatest(cardinality(d.waits) + 1, d.made + (not d.has_ended)::integer)) a (number)
    )
    select
        a.name, a.rule, a.policy, a.number, step.status, a.wait,
        case when step.status in ('next', 'coming') then a.at end
    from attempt a
    cross join lateral (
        select case
            when a.number <= a.made then 'made'
            when a.has_ended then 'unused'
            when a.number = a.made + 1 and a.is_under_way then 'under_way'
            when a.at >= a.expires_at then 'unused'
            when a.number = a.made + 1 then 'next'
            else 'coming'
        end as status
    ) step
    order by a.target, a.number;
end;
$$;

-- Name: extend_execution(bigint, bigint, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_execution is null or p_fence is null or p_timeout is null then
        raise exception 'p_execution, p_fence and p_timeout must not be null' using errcode = '22004';
    end if;
    perform postrider.check_duration('p_timeout', p_timeout, '1 millisecond', '30 days');
    perform postrider.check_worker_role(w.name, w.registered_by)
    from postrider.live_execution l
    join postrider.worker w on w.id = l.worker_id
    where l.id = p_execution
    and l.fence = p_fence;
    update postrider.live_execution l
    set deadline_at = clock_timestamp() + p_timeout,
        due_at = clock_timestamp() + p_timeout
    where l.id = p_execution
    and l.fence = p_fence
    and l.status = 'running'
    and l.cancel_requested_at is null;
    return found;
end;
$$;

-- Name: fail_attempt(postrider.live_execution, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fail_attempt(p_live postrider.live_execution, p_reason text, p_error jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    worth_retrying constant text[] := array[
        'worker_unavailable', 'queue_timeout', 'worker_heartbeat_stale', 'transient_error',
        'manual_retry'];
    run_at timestamptz;
begin
    if p_live.cancel_requested_at is not null then
        perform postrider.end_execution(p_live, 'cancelled', 'cancelled', null, p_error);
        return 'cancelled';
    end if;
    if p_reason <> all (worth_retrying) or p_live.attempt > p_live.max_retries then
        perform postrider.end_execution(p_live, 'failed', p_reason, null, p_error);
        return 'failed';
    end if;
    insert into postrider.execution_end (
        execution_id, attempt, is_final, status, reason, retry_reason, worker_id, action, pool, requested_at,
        scheduled_at, started_at, error)
    values (
        p_live.id, p_live.attempt, false, 'failed', p_reason, p_live.retry_reason, p_live.worker_id, p_live.action,
        p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at, p_error);
    run_at := clock_timestamp()
        + make_interval(secs => postrider.execution_retry_delay(p_live.attempt, random()));
    update postrider.live_execution l
    set status = 'requested',
        is_delayed = true,
        attempt = l.attempt + 1,
        retry_reason = p_reason,
        fence = nextval('postrider.execution_fence'),
        worker_id = null,
        worker_epoch = null,
        carrier = null,
        slot = null,
        is_published = false,
        requested_at = run_at,
        scheduled_at = null,
        started_at = null,
        expires_at = run_at + make_interval(secs => l.ttl_ms / 1000.0),
        deadline_at = null,
        due_at = run_at
    where l.id = p_live.id;
    perform postrider.release_slot(p_live);
    return 'requested';
end;
$$;

-- Name: fail_delivery(bigint, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    held record;
begin
    perform postrider.check_reason(p_reason);
    select array_agg(h.place) as places, array_agg(h.endpoint_name) as names
    into held
    from postrider.hold_deliveries('fail_delivery', p_message_id, p_endpoint_name) h;
    perform postrider.end_deliveries(held.places, 'fail', p_reason);
    perform postrider.note_verb('fail', p_message_id, held.names, p_reason);
    return cardinality(held.places);
end;
$$;

-- Name: fail_execution(bigint, bigint, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    live postrider.live_execution;
begin
    if p_reason is null then
        raise exception 'p_reason must not be null' using errcode = '22004';
    end if;
    if p_reason !~ '^[a-z][a-z0-9_]{0,62}$' then
        raise exception
            'p_reason must be a word of 1 to 63 lower-case letters, digits and _, got ''%''',
            left(p_reason, 200) using errcode = '22023';
    end if;
    perform postrider.check_size('p_error', p_error);
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null then
        return null;
    end if;
    return postrider.fail_attempt(live, p_reason, p_error);
end;
$_$;

-- Name: fail_matching_deliveries(text, text, timestamp with time zone, timestamp with time zone, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select j.job_id, j.estimate, j.has_more
    from postrider.create_delivery_job(
        'fail', p_reason, p_endpoint_name, p_from, p_to, p_error_pattern, p_event_type, p_ordering_key,
        p_rate) j;
$$;

-- Name: fetch_messages(text, integer, interval, integer, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer DEFAULT 100, p_wait interval DEFAULT NULL::interval, p_partition integer DEFAULT NULL::integer, p_wait_for_holder boolean DEFAULT false) RETURNS TABLE("position" bigint, transaction_id xid8, message_id bigint, message_type text, data jsonb, headers jsonb, metadata jsonb, scheduled timestamp with time zone, tick bigint, created_at timestamp with time zone, ordering_key text, correlation_id uuid, body bytea, content_type text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    most_messages constant integer := 10000;
    longest_wait constant interval := '60 seconds';
    shortest_pause constant double precision := 0.005;
    longest_pause constant double precision := 0.05;
    look constant integer := 10000;
    deadline constant timestamptz := clock_timestamp() + coalesce(p_wait, '0');
    had_id constant boolean := pg_current_xact_id_if_assigned() is not null;
    pause double precision := shortest_pause;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    is_choosing boolean := p_partition is null and reader.partition_count > 1;
    chosen integer := coalesce(p_partition, floor(random() * reader.partition_count)::integer);
    candidate integer;
    locked_id integer;
    held integer[];
    message_count bigint;
begin
    if p_limit is null or p_limit not between 1 and most_messages then
        raise exception 'p_limit must be between 1 and %, got %', most_messages,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    if p_wait not between interval '0' and longest_wait then
        raise exception 'p_wait must be between 0 and 60 seconds, got %', p_wait
            using errcode = '22023';
    end if;
    if p_partition not between 0 and reader.partition_count - 1 then
        raise exception 'p_partition must be between 0 and %, got %', reader.partition_count - 1,
            p_partition using errcode = '22023';
    end if;
    if p_wait_for_holder and is_choosing then
        raise exception 'p_wait_for_holder needs p_partition: consumer ''%'' has % partitions',
            p_consumer, reader.partition_count using errcode = '22023';
    end if;
    perform postrider.refuse_copy();
    -- An older snapshot does not see what was acknowledged since.
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            'fetch_messages needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;

    loop
        held := '{}';
        for step in 0..case when is_choosing then reader.partition_count - 1 else 0 end loop
            candidate := (chosen + step) % reader.partition_count;
            -- The lock of a partition with nothing in it could not be given back, nor the transaction id that
            -- comes with it.
            continue when not case
                when is_choosing then postrider.is_partition_unread(reader, candidate, look)
                else postrider.is_partition_behind(reader.id, candidate)
            end;
            if p_wait_for_holder then
                perform
                from postrider.consumer_lock l
                where l.consumer_id = reader.id
                and l.partition = candidate
                for update;
            end if;
            continue when not postrider.has_consumer_lock(reader.id, candidate);
            -- It may have been dropped or reset before we had the lock.
            locked_id := reader.id;
            reader := postrider.known_consumer(p_consumer);
            continue when reader.id <> locked_id;
            held := held || candidate;
            return query
            select
                m.id >> 10, m.xid, m.id, m.event_type, m.payload, m.headers, m.metadata,
                m.scheduled_at, m.tick, m.created_at, m.ordering_key, m.correlation_id, m.body,
                m.content_type
            from postrider.read_partition(reader, candidate, p_limit) m;
            get diagnostics message_count = row_count;
            if message_count > 0 then
                return;
            end if;
        end loop;

        if reader.ordering = 'commit'
            and pg_current_xact_id_if_assigned() is null
            and not exists (select from postrider.acting_dispatchers())
            and postrider.append_tick() is not null
            -- With an id of its own it sees no younger transaction, and makes no tick.
            or not had_id
            and pg_current_xact_id_if_assigned() is not null
            and (
                reader.ordering = 'transaction'
                or not exists (select from postrider.acting_dispatchers()))
            or clock_timestamp() >= deadline
        then
            -- What it does not want of those that were not worth reading, either.
            for candidate in 0..case when is_choosing then reader.partition_count - 1 else -1 end loop
                if exists (
                        select
                        from postrider.newest_position(reader.id, candidate) p
                        cross join lateral postrider.next_ticks(p.tick, p.message_id, 1) n
                        where not postrider.is_at_end(p)
                        and (
                            n.tick_count > 0
                            or exists (
                                select from postrider.transaction_messages(p.xid, p.message_id, 1)
                            ))
                    )
                    and postrider.has_consumer_lock(reader.id, candidate)
                then
                    perform postrider.is_partition_filled(reader, candidate, false);
                    held := held || candidate;
                end if;
            end loop;
            perform postrider.note_fetch(reader.id, f.partition)
            from unnest(case when is_choosing then held else array[chosen] end) f (partition);
            return;
        end if;
        perform pg_sleep(
            least(pause, greatest(extract(epoch from deadline - clock_timestamp()), 0.001)));
        pause := least(pause * 2, longest_pause);
    end loop;
end;
$$;

-- Name: fetched_batches(postrider.consumer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.fetched_batches(p_consumer postrider.consumer) RETURNS TABLE(partition integer, seq bigint, tick bigint, xid xid8, id bigint, message_count bigint, at timestamp with time zone, is_end boolean)
    LANGUAGE sql STABLE
    AS $$
    select
        b.partition, b.parts[1]::bigint, b.parts[2]::bigint, b.parts[3]::xid8, b.parts[4]::bigint,
        b.parts[5]::bigint, b.parts[6]::timestamptz, b.parts[7]::boolean
    from (
        select
            g.partition,
            nullif(
                current_setting(format('postrider.fetched_%s_%s', p_consumer.id, g.partition), true),
                '')::text[] as parts
        from generate_series(0, p_consumer.partition_count - 1) g (partition)
    ) b
    where b.parts is not null;
$$;

-- Name: find_signing_key(text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_key text;
begin
    if p_key_id is null then
        raise exception 'Key id must not be null' using errcode = '22004';
    end if;
    select g.key
    into found_key
    from jsonb_array_elements_text(p_keys) g (key)
    where postrider.signing_key_id(g.key) = p_key_id;
    if not found then
        raise exception 'Endpoint ''%'' has no signing key ''%''', p_endpoint_name, left(p_key_id, 64)
            using errcode = '42704';
    end if;
    return found_key;
end;
$$;

-- Name: flush(uuid, smallint[], bigint[], bigint[], bytea[], bigint[], integer[], bigint[], integer[], integer[], timestamp with time zone[], bigint[], integer[], integer[], timestamp with time zone[], timestamp with time zone[], text[], text[], boolean[], boolean[], bigint[], integer[], bigint[], integer[], integer[], integer[], timestamp with time zone[], integer[], text[], integer[], text[], uuid[], jsonb[], bytea[], boolean[], bigint[], integer[], integer[], text[], integer[], text[], bigint[], integer[], integer[], text[], bigint[], integer[], bigint[], smallint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_deferred_waited boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_attempt_correlation_ids uuid[], p_attempt_headers jsonb[], p_attempt_bodies bytea[], p_attempt_truncated boolean[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[], p_done_runs smallint[] DEFAULT NULL::smallint[]) RETURNS TABLE(lost smallint[], held_ids bigint[], held_targets integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
    settled_places tid[];
    gone_ids bigint[];
    gone_targets integer[];
    waited_places tid[];
    also_held_ids bigint[];
    also_held_targets integer[];
    read_places tid[];
begin
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost <> '{}' then
        return next;
        return;
    end if;

    if cardinality(p_settled_ids) > 0 then
        select
            array_agg(d.ctid),
            array_agg(s.message_id) filter (where d.ctid is null),
            array_agg(s.target) filter (where d.ctid is null),
            array_agg(s.message_id) filter (where h.is_held),
            array_agg(s.target) filter (where h.is_held)
        into settled_places, gone_ids, gone_targets, held_ids, held_targets
        from unnest(p_settled_ids, p_settled_targets) s (message_id, target)
        left join lateral (
            select w.ctid
            from postrider.deferred w
            where w.message_id = s.message_id
            and w.target = s.target
            offset 0
            for update skip locked
        ) d on true
        cross join lateral (
            select d.ctid is null and postrider.is_deferred(s.message_id, s.target) as is_held
            offset 0
        ) h;
    end if;
    if true = any (p_deferred_waited) then
        select
            array_agg(d.ctid order by r.number),
            array_agg(r.message_id) filter (where h.is_held),
            array_agg(r.target) filter (where h.is_held)
        into waited_places, also_held_ids, also_held_targets
        from unnest(p_deferred_ids, p_deferred_targets, p_deferred_waited)
            with ordinality r (message_id, target, has_waited, number)
        left join lateral (
            select w.ctid
            from postrider.deferred w
            where r.has_waited
            and w.message_id = r.message_id
            and w.target = r.target
            offset 0
            for update skip locked
        ) d on true
        cross join lateral (
            select
                r.has_waited
                and d.ctid is null
                and postrider.is_deferred(r.message_id, r.target) as is_held
            offset 0
        ) h;
        held_ids := held_ids || also_held_ids;
        held_targets := held_targets || also_held_targets;
    end if;
    if held_ids is not null then
        return next;
        return;
    end if;

    if cardinality(p_done_buckets) > 0 then
        insert into postrider.done (bucket, run, at, offsets)
        select d.bucket, d.run, clock_timestamp(), d.offsets
        from unnest(p_done_buckets, p_done_offsets, p_done_runs) d (bucket, offsets, run);
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
            error, correlation_id, response_headers, response_body, response_truncated)
        select
            a.message_id, a.target, a.endpoint_id, a.number, a.started_at, a.duration_ms, a.outcome,
            a.status, a.error, a.correlation_id, a.response_headers, a.response_body,
            a.response_truncated
        from unnest(
            p_attempt_ids, p_attempt_targets, p_attempt_endpoints, p_attempt_numbers,
            p_attempt_started_at, p_attempt_duration_ms, p_attempt_outcomes, p_attempt_statuses,
            p_attempt_errors, p_attempt_correlation_ids, p_attempt_headers, p_attempt_bodies,
            p_attempt_truncated)
            a (message_id, target, endpoint_id, number, started_at, duration_ms, outcome, status,
            error, correlation_id, response_headers, response_body, response_truncated);
    end if;

    if cardinality(p_dead_ids) > 0 then
        -- What waited and is gone was ended by somebody else, who may have said how.
        perform postrider.bury(
            array_agg(d.message_id order by d.number), array_agg(d.target order by d.number),
            array_agg(d.endpoint_id order by d.number), array_agg(d.cause order by d.number),
            array_agg(d.retry_count order by d.number), array_agg(d.last_error order by d.number))
        from unnest(
            p_dead_ids, p_dead_targets, p_dead_endpoints, p_dead_causes, p_dead_retry_counts,
            p_dead_errors)
            with ordinality
            d (message_id, target, endpoint_id, cause, retry_count, last_error, number)
        where (d.message_id, d.target) not in (
            select g.message_id, g.target
            from unnest(gone_ids, gone_targets) g (message_id, target)
        );
    end if;

    if cardinality(p_ended_ids) > 0 then
        -- What waited and is gone was ended by somebody else, as expired, cancelled or skipped.
        insert into postrider.ended (message_id, target, endpoint_id, reason)
        select e.message_id, e.target, e.endpoint_id, e.reason
        from unnest(p_ended_ids, p_ended_targets, p_ended_endpoints, p_ended_reasons)
            e (message_id, target, endpoint_id, reason)
        where (e.message_id, e.target) not in (
            select g.message_id, g.target
            from unnest(gone_ids, gone_targets) g (message_id, target)
        );
    end if;

    if cardinality(p_settled_ids) > 0 then
        delete from postrider.deferred d
        where d.ctid = any (settled_places);
    end if;

    if true = any (p_deferred_waited) then
        update postrider.deferred w
        set run_at = case
                when d.is_blocked then coalesce(w.expires_at, 'infinity')
                else least(
                    coalesce(
                        d.run_at, clock_timestamp() + d.wait_ms * interval '1 millisecond'),
                    w.expires_at)
            end,
            retry_count = d.retry_count,
            recovery_count = d.recovery_count,
            last_error = coalesce(d.last_error, w.last_error),
            is_blocked = d.is_blocked
        from unnest(
            waited_places, p_deferred_run_at, p_deferred_wait_ms, p_deferred_retry_counts,
            p_deferred_recovery_counts, p_deferred_errors, p_deferred_blocked)
            d (place, run_at, wait_ms, retry_count, recovery_count, last_error, is_blocked)
        where w.ctid = d.place;
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
            p_deferred_blocked, p_deferred_waited)
            d (message_id, target, endpoint_id, run_at, wait_ms, retry_count, recovery_count,
            created_at, expires_at, last_error, ordering_key, is_blocked, has_waited)
        where not d.has_waited
        on conflict (message_id, target) do update
        set run_at = excluded.run_at,
            retry_count = excluded.retry_count,
            recovery_count = excluded.recovery_count,
            last_error = coalesce(excluded.last_error, deferred.last_error),
            is_blocked = excluded.is_blocked;
    end if;

    if cardinality(p_read_ids) > 0 then
        select array_agg(c.ctid)
        into read_places
        from unnest(p_read_ids, p_read_targets) r (message_id, target)
        cross join lateral (
            select o.ctid
            from postrider.cancellation o
            where o.message_id = r.message_id
            and o.target = r.target
            offset 0
            for update skip locked
        ) c;
        delete from postrider.cancellation c
        where c.ctid = any (read_places);
    end if;

    if cardinality(p_keyed_ids) > 0 then
        perform postrider.free_idempotency_keys(p_keyed_ids);
    end if;
    return next;
end;
$$;

-- Name: foreign_sign(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.foreign_sign() RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
    seen_up_to constant xid8 := pg_snapshot_xmax(pg_current_snapshot());
    -- What this transaction has written itself is seen, too.
    own constant xid8 := coalesce(pg_current_xact_id_if_assigned(), '0');
    known record;
    found_sign text;
begin
    select
        i.database_oid, i.relation_oid, i.system_identifier, i.mark = i.xmin as is_same_row
    into known
    from postrider.identity i;
    if postrider.is_copy() then
        return format(
            'it was written by another database (oid %s, table %s) than this one (oid %s, table %s)',
            coalesce(known.database_oid::text, 'unknown'), coalesce(known.relation_oid::text, 'unknown'),
            (select d.oid from pg_database d where d.datname = current_database()),
            'postrider.identity'::regclass::oid);
    end if;
    -- pg_upgrade takes the files along, and with them the row as it was written.
    if known.system_identifier <> postrider.system_identifier() and known.is_same_row is distinct from true then
        return format(
            'it was written in another cluster (system identifier %s) than this one (%s)',
            known.system_identifier, postrider.system_identifier());
    end if;

    select format(
        '%s is at transaction %s, and this cluster has only come to %s', p.place, p.xid,
        ((seen_up_to::text)::bigint - 1))
    into found_sign
    from (
        select 'the newest message' as place, m.xid, 0 as is_end
        from (
            select m.xid
            from postrider.message m
            where m.xid >= seen_up_to
            and m.xid <> own
            order by m.xid desc
            limit 1
        ) m
        union all
        -- Every snapshot in the state of every lane ends with its second number. One checkpoint is about many shards.
        select 'shard ' || c.shard, p.xid, 1
        from (
            select distinct on (newest.seq) newest.seq, s.shard, newest.done_xmin, newest.state
            from postrider.shard s
            cross join lateral (
                select k.seq, k.done_xmin, k.state
                from postrider.checkpoint k
                where k.shards @> array[s.shard]
                order by k.seq desc
                limit 1
            ) newest
            order by newest.seq, s.shard
        ) c
        cross join lateral (
            select c.done_xmin
            union all
            select split_part(v.value #>> '{}', ':', 2)::xid8
            from jsonb_path_query(
                c.state, 'strict $.** ? (@.type() == "string" && @ like_regex "^[0-9]+:[0-9]+:")') v (value)
        ) p (xid)
        union all
        select 'a heartbeat', h.xid, 0
        from (
            select h.xid
            from postrider.heartbeat h
            where h.xid >= seen_up_to
            and h.xid <> own
            order by h.xid desc
            limit 1
        ) h
        union all
        select 'the newest tick', t.xid, 0
        from (select t.xid from postrider.tick t order by t.id desc limit 1) t
        union all
        select 'the snapshot of the newest tick', pg_snapshot_xmax(t.snapshot), 1
        from (select t.snapshot from postrider.tick t order by t.id desc limit 1) t
        union all
        select format('consumer %s', c.name), p.xid, 1
        from postrider.consumer c
        cross join lateral generate_series(0, c.partition_count - 1) g (partition)
        cross join lateral postrider.newest_position(c.id, g.partition) p
        union all
        select format('the start of consumer %s', c.name), pg_snapshot_xmax(c.start_snapshot), 1
        from postrider.consumer c
        union all
        select 'the newest end of an execution', e.xid, 0
        from (
            select e.xid
            from postrider.execution_end e
            where e.xid >= seen_up_to
            and e.xid <> own
            order by e.xid desc
            limit 1
        ) e
        union all
        select 'the newest dead letter of an execution', d.xid, 0
        from (
            select d.xid
            from postrider.execution_dead_letter d
            where d.xid >= seen_up_to
            and d.xid <> own
            order by d.xid desc
            limit 1
        ) d
        union all
        select 'the horizon of the figures of executions', r.horizon, 1
        from postrider.execution_rollup r
    ) p (place, xid, is_end)
    -- A place that is an end is behind the last transaction it speaks of.
    where (p.xid > seen_up_to or p.xid = seen_up_to and p.is_end = 0)
    and p.xid <> own
    order by p.xid desc
    limit 1;
    if found_sign is not null then
        return found_sign;
    end if;

    select format(
        '%s has the number %s, and %s has only come to %s', n.place, n.number, n.sequence, n.last_value)
    into found_sign
    from (
        select 'message ' || m.id, m.id >> 10, 'message_sequence', s.last_value
        from (select m.id from postrider.message m order by m.id desc limit 1) m
        cross join postrider.message_sequence s
        union all
        select 'a checkpoint', c.seq, 'rotation_sequence', s.last_value
        from (select c.seq from postrider.checkpoint c order by c.seq desc limit 1) c
        cross join postrider.rotation_sequence s
    ) n (place, number, sequence, last_value)
    where n.number > n.last_value
    limit 1;
    return found_sign;
end;
$_$;

-- Name: forget_consumer_rows(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_consumer_rows() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with resting as materialized (
        select c.id as consumer_id, g.partition, p.seq as position_seq, a.seq as attempt_seq
        from postrider.consumer c
        cross join generate_series(0, c.partition_count - 1) g (partition)
        cross join lateral postrider.newest_position(c.id, g.partition) p
        left join lateral postrider.newest_attempt(c.id, g.partition) a on true
    ), old_positions as materialized (
        select o.ctid
        from resting r
        cross join lateral (
            select p.ctid
            from postrider.consumer_position p
            where p.consumer_id = r.consumer_id
            and p.partition = r.partition
            and p.seq < r.position_seq
            order by p.seq
            limit 10000
        ) o
        limit 10000
    ), old_attempts as materialized (
        select o.ctid
        from resting r
        cross join lateral (
            select a.ctid
            from postrider.consumer_attempt a
            where a.consumer_id = r.consumer_id
            and a.partition = r.partition
            and a.seq < r.attempt_seq
            order by a.seq
            limit 10000
        ) o
        limit 10000
    ), old_leases as materialized (
        select o.ctid
        from postrider.consumer c
        cross join lateral postrider.newest_leases(c.id) n
        cross join lateral (
            select l.ctid
            from postrider.consumer_lease l
            where l.consumer_id = c.id
            and l.member = n.member
            and l.seq <= n.seq
            and (l.seq < n.seq or n.lease_until < clock_timestamp() - interval '10 minutes')
            order by l.seq
            limit 10000
        ) o
        limit 10000
    ), positions as (
        delete from postrider.consumer_position p
        where p.ctid = any (array(select o.ctid from old_positions o))
        returning 1
    ), attempts as (
        delete from postrider.consumer_attempt a
        where a.ctid = any (array(select o.ctid from old_attempts o))
        returning 1
    ), leases as (
        delete from postrider.consumer_lease l
        where l.ctid = any (array(select o.ctid from old_leases o))
        returning 1
    )
    select
        (select count(*) from positions) + (select count(*) from attempts)
        + (select count(*) from leases);
$$;

-- Name: forget_dead_letters(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_dead_letters(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    kept_from timestamptz := clock_timestamp() - make_interval(days => (
        select s.value::integer
        from postrider.setting s
        where s.name = 'dlq_retention_days'
    ));
    places tid[];
begin
    select array_agg(o.ctid)
    into places
    from (
        select l.ctid
        from postrider.dead_letter l
        where coalesce(l.redriven_at, l.failed_at) < kept_from
        and not postrider.is_deferred(l.message_id, l.target)
        order by coalesce(l.redriven_at, l.failed_at)
        limit p_most
        for update of l skip locked
    ) o;
    with gone as (
        delete from postrider.dead_letter l
        where l.ctid = any (places)
        returning l.message_id, l.target, l.endpoint_id, l.status, l.failed_at
    )
    insert into postrider.ended (message_id, target, endpoint_id, reason, at)
    select g.message_id, g.target, g.endpoint_id, 'failed', g.failed_at
    from gone g
    where g.status = 'failed'
    and exists (
        select
        from postrider.message m
        where m.id >= g.message_id
        and m.id <= g.message_id
        order by m.id
        offset 0
    );
    return coalesce(cardinality(places), 0);
end;
$$;

-- Name: forget_dispatchers(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_dispatchers() RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with forgotten as (
        delete from postrider.dispatcher d
        where d.id not in (select l.id from postrider.live_dispatchers() l (id))
        -- Who has just begun has no heartbeat yet. One that began in the future did so before the clock was set back.
        and d.started_at not between clock_timestamp() - (
            select make_interval(secs => s.value::double precision)
            from postrider.setting s
            where s.name = 'stale_recovery_timeout'
        ) and clock_timestamp()
        and not exists (select from postrider.shard s where s.owner = d.id)
        returning d.id
    )
    select count(*)::integer from forgotten;
$$;

-- Name: forget_events(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_events(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    kept_from timestamptz := clock_timestamp() - make_interval(days => (
        select s.value::integer
        from postrider.setting s
        where s.name = 'event_log_retention_days'
    ));
    places tid[];
begin
    select array_agg(o.ctid)
    into places
    from (
        select l.ctid
        from postrider.event_log l
        where l.at < kept_from
        order by l.at
        limit p_most
        for update of l skip locked
    ) o;
    delete from postrider.event_log l
    where l.ctid = any (places);
    return coalesce(cardinality(places), 0);
end;
$$;

-- Name: forget_executions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_executions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    -- Each is looked for among all that has not ended.
    most_workers constant integer := 100;
    figures_from constant timestamptz := clock_timestamp() - interval '400 days';
    kept_from constant timestamptz := clock_timestamp()
        - make_interval(days => postrider.get_setting('execution_retention_days')::integer);
    horizon xid8;
    old_ids bigint[];
    removed integer;
    part integer;
begin
    select r.horizon into horizon from postrider.execution_rollup r;
    old_ids := array(
        select e.execution_id
        from postrider.execution_end e
        where e.ended_at < kept_from
        and e.is_final
        and e.xid < horizon
        order by e.ended_at
        limit p_most
        for update skip locked
    );
    delete from postrider.execution e
    where e.id = any (old_ids);
    get diagnostics removed = row_count;
    -- Each by its index.
    delete from postrider.execution_end e
    where e.execution_id = any (old_ids)
    and not e.is_final;
    delete from postrider.execution_end e
    where e.execution_id = any (old_ids)
    and e.is_final;

    delete from postrider.execution_dead_letter d
    using (
        select o.id
        from postrider.execution_dead_letter o
        where o.at < kept_from
        and o.xid < horizon
        order by o.at
        limit p_most
        for update skip locked
    ) old
    where d.id = old.id;
    get diagnostics part = row_count;
    removed := removed + part;

    delete from postrider.execution_statistics s
    where s.hour < figures_from;
    get diagnostics part = row_count;
    removed := removed + part;
    delete from postrider.dead_letter_statistics s
    where s.hour < figures_from;
    get diagnostics part = row_count;
    removed := removed + part;

    delete from postrider.worker w
    using (
        select o.id
        from postrider.worker o
        where o.status = 'inactive'
        and o.cordoned_at is null
        and coalesce(o.heartbeat_at, o.created_at) < kept_from
        and not exists (
            select
            from postrider.execution_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = o.id
                limit 1
            ) l
        )
        and not exists (
            select
            from postrider.live_execution l
            where l.queue = postrider.execution_queue(o.id, null)
        )
        order by o.id
        limit least(p_most, most_workers)
        for update skip locked
    ) old
    where w.id = old.id;
    get diagnostics part = row_count;
    removed := removed + part;

    -- Ids do not come back, so nobody needs these any more.
    delete from postrider.worker_lock k
    where k.worker_id = any (array(
        select o.worker_id
        from postrider.worker_lock o
        where not exists (select from postrider.worker w where w.id = o.worker_id)
        limit p_most
        for update of o skip locked
    ));
    delete from postrider.action_slot s
    using (
        select o.action_id, o.slot
        from postrider.action_slot o
        where not exists (select from postrider.action a where a.id = o.action_id)
        limit p_most
        for update of o skip locked
    ) old
    where s.action_id = old.action_id
    and s.slot = old.slot;
    return removed;
end;
$$;

-- Name: forget_idempotency_keys(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_idempotency_keys() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    ended_before constant timestamptz := clock_timestamp() - postrider.idempotency_window();
    old tid[];
begin
    select array_agg(o.ctid)
    into old
    from (
        select k.ctid
        from postrider.idempotency_key k
        -- Those that took long to end stay for longer than they must: a look at all that has ended within
        -- the window would cost more. Who sends with such a key does not wait for us (idempotency_key_holder).
        where k.ended_at <= ended_before
        order by k.ended_at
        limit 10000
        for update skip locked
    ) o;
    delete from postrider.idempotency_key k
    where k.ctid = any (old);
    return coalesce(cardinality(old), 0);
end;
$$;

-- Name: forget_jobs(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_jobs(p_most integer) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with kept as materialized (
        select clock_timestamp() - make_interval(days => s.value::integer) as kept_from
        from postrider.setting s
        where s.name = 'event_log_retention_days'
    ), old_jobs as materialized (
        select j.id
        from postrider.job j
        where j.finished_at < (select k.kept_from from kept k)
        order by j.finished_at
        limit p_most
        for update of j skip locked
    ), old_replays as materialized (
        select r.id
        from postrider.replay r
        where r.finished_at < (select k.kept_from from kept k)
        order by r.finished_at
        limit p_most
        for update of r skip locked
    ), gone_jobs as (
        delete from postrider.job j
        using old_jobs o
        where j.id = o.id
        returning j.id
    ), gone_replays as (
        delete from postrider.replay r
        using old_replays o
        where r.id = o.id
        returning r.id
    )
    select ((select count(*) from gone_jobs) + (select count(*) from gone_replays))::integer;
$$;

-- Name: forget_keys_to_nobody(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_keys_to_nobody(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
    created_before constant timestamptz := clock_timestamp() - postrider.idempotency_window();
    old tid[];
begin
    select array_agg(o.ctid)
    into old
    from (
        select k.ctid
        from postrider.idempotency_key k
        where k.message_id < (select m.id from postrider.message m order by m.id limit 1)
        and k.ended_at is null
        and k.created_at < created_before
        -- What waits elsewhere has not ended.
        and not exists (select from postrider.deferred d where d.message_id = k.message_id)
        order by k.message_id
        limit p_most
        for update of k skip locked
    ) o;
    delete from postrider.idempotency_key k
    where k.ctid = any (old);
    return coalesce(cardinality(old), 0);
end;
$$;

-- Name: forget_subscriptions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.forget_subscriptions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
    kept_from constant timestamptz := least(
        (select min(p.from_at) from postrider.partitions p where p.table_name = 'message'),
        (select m.created_at from postrider.message_default m order by m.id limit 1),
        (select d.message_created_at from postrider.deferred d order by d.message_id, d.target limit 1),
        (
            select l.message_created_at
            from postrider.dead_letter l
            where l.status = 'failed'
            order by l.message_id, l.target
            limit 1
        )) - interval '7 days';
    old integer[];
begin
    old := array(
        select s.id
        from postrider.subscriptions s
        where s.ended_at < kept_from
        order by s.ended_at
        limit p_most
        for update skip locked
    );
    delete from postrider.subscriptions s
    where s.id = any (old);
    return cardinality(old);
end;
$$;

-- Name: free_idempotency_keys(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    freed tid[];
    held tid[];
    is_over constant boolean := postrider.idempotency_window() = interval '0';
begin
    select
        array_agg(k.ctid) filter (where is_over or k.is_free),
        array_agg(k.ctid) filter (where not is_over and not k.is_free)
    into freed, held
    from (select distinct i.id from unnest(p_message_ids) i (id) order by i.id) i
    cross join lateral (
        select m.targets
        from postrider.message m
        where m.id >= i.id
        and m.id <= i.id
        order by m.id
        limit 1
    ) m
    cross join lateral (
        select o.ctid, postrider.was_taken_back(i.id, m.targets) as is_free
        from postrider.idempotency_key o
        where o.message_id = i.id
        and o.ended_at is null
        and postrider.has_ended_everywhere(i.id, m.targets)
        offset 0
        for update skip locked
    ) k;
    if freed is not null then
        delete from postrider.idempotency_key k
        where k.ctid = any (freed);
    end if;
    if held is not null then
        update postrider.idempotency_key k
        set ended_at = clock_timestamp()
        where k.ctid = any (held);
    end if;
end;
$$;

-- Name: action; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.action (
    name text NOT NULL,
    ttl_ms bigint,
    timeout_ms bigint,
    max_retries integer,
    priority smallint,
    concurrency integer,
    description text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    id integer NOT NULL,
    CONSTRAINT action_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 10000))),
    CONSTRAINT action_max_retries_check CHECK (((max_retries >= 0) AND (max_retries <= 1000))),
    CONSTRAINT action_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text)),
    CONSTRAINT action_priority_check CHECK (((priority >= 0) AND (priority <= 10))),
    CONSTRAINT action_timeout_ms_check CHECK ((timeout_ms >= 1)),
    CONSTRAINT action_ttl_ms_check CHECK ((ttl_ms >= 1000))
);

-- Name: free_slots(postrider.action); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.free_slots(p_action postrider.action) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off'
    AS $$
begin
    return array(
        with admitted as materialized (
            select l.slot
            from postrider.execution_generation g
            cross join lateral (
                select l.slot
                from postrider.live_execution l
                where l.generation = g.id
                and l.action = p_action.name
                and l.scheduled_at is not null
                limit p_action.concurrency
            ) l
            limit p_action.concurrency
        )
        select s.slot
        from postrider.action_slot s
        left join admitted a on a.slot = s.slot
        where s.action_id = p_action.id
        and a.slot is null
        order by s.slot
        limit greatest(p_action.concurrency - (select count(*) from admitted), 0)
    );
end;
$$;

-- Name: full_id(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.full_id(p_id bigint) RETURNS xid8
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    select (n.present + ((p_id - n.present + 2147483648) & 4294967295) - 2147483648)::text::xid8
    from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) n (present);
$$;

-- Name: get_endpoint_health(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.get_endpoint_health(p_endpoint_name text DEFAULT NULL::text) RETURNS TABLE(endpoint_name text, protocol text, enabled boolean, circuit_state text, circuit_failure_count integer, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, pending_messages bigint, oldest_pending_message timestamp with time zone, paused boolean, paused_until timestamp with time zone, probe_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off'
    AS $$
begin
    if p_endpoint_name is not null
        and not exists (select from postrider.endpoints e where e.name = p_endpoint_name)
    then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return query
    select
        e.name, e.protocol, e.enabled, coalesce(c.state, 'closed'), coalesce(c.failure_count, 0),
        c.last_success_at, c.last_failure_at, coalesce(round(p.delivery_count), 0)::bigint,
        case when not e.paused then p.oldest_at end, e.paused,
        case when c.paused_until > clock_timestamp() then c.paused_until end,
        c.probe_at, c.failing_since
    from postrider.endpoints e
    left join postrider.circuit c on c.endpoint_id = e.id
    left join postrider.pending_deliveries() p on p.endpoint_id = e.id
    where e.name = p_endpoint_name
    or p_endpoint_name is null
    order by e.name;
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

-- Name: get_worker_status(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.get_worker_status() RETURNS TABLE(id uuid, host text, pid integer, version text, shards smallint[], started_at timestamp with time zone, heartbeat_at timestamp with time zone, messages_processed bigint, in_flight integer, error_count bigint, last_error text, clock_offset interval)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        d.id, d.host, d.pid, d.version,
        array(
            select s.shard
            from postrider.shard s
            where s.owner = d.id
            order by s.shard
        ),
        d.started_at, newest.at,
        coalesce((newest.statistics ->> 'messages_processed')::bigint, 0),
        coalesce((newest.statistics ->> 'in_flight')::integer, 0),
        coalesce((newest.statistics ->> 'error_count')::bigint, 0),
        newest.statistics ->> 'last_error',
        (newest.statistics ->> 'clock_offset_ms')::double precision * interval '1 millisecond'
    from postrider.dispatcher d
    cross join lateral (
        select h.at, h.statistics
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where d.id in (select a.id from postrider.acting_dispatchers() a (id))
    order by d.started_at, d.id;
$$;

-- Name: handle_dead_letter(bigint, bigint, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.handle_dead_letter(p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $$
declare
    live postrider.live_execution;
    outcome text;
begin
    select l.* into live from postrider.live_execution l where l.id = p_execution for update;
    if not found then
        outcome := case
            when exists (select from postrider.execution e where e.id = p_execution) then 'terminal'
            else 'unknown'
        end;
    elsif live.status = 'running' then
        outcome := 'running';
    elsif live.fence is distinct from p_fence or live.status <> 'scheduled' then
        outcome := 'passed';
    elsif live.expires_at > clock_timestamp() + interval '100 milliseconds' then
        perform postrider.return_execution(live, false);
        outcome := 'returned';
    else
        return postrider.expire_execution(live, 'rabbitmq', p_x_death, p_details);
    end if;
    insert into postrider.execution_dead_letter (
        outcome, carrier, execution_id, attempt, worker_id, action, x_death, details)
    values (
        outcome, 'rabbitmq', p_execution, live.attempt, live.worker_id, live.action, p_x_death,
        p_details);
    return outcome;
end;
$$;

-- Name: has_consumer_lock(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_consumer_lock(p_consumer_id integer, p_partition integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform
    from postrider.consumer_lock l
    where l.consumer_id = p_consumer_id
    and l.partition = p_partition
    for update skip locked;
    return found;
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

-- Name: has_read_partition(postrider.consumer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_read_partition(p_consumer postrider.consumer, p_name text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $_$
declare
    look constant integer := 100000;
    last_id constant bigint := 9223372036854775807;
    known postrider.consumer_position;
    latest postrider.tick;
    is_needed boolean;
begin
    for k in 0..p_consumer.partition_count - 1 loop
        select p.* into known from postrider.newest_position(p_consumer.id, k) p;
        if known.xid is not null then
            execute format(
                $sql$
                with behind as (
                    select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                    from postrider.%I m
                    where (m.xid, m.id) > ($3, $4)
                    order by m.xid, m.id
                    limit $5
                )
                select
                    exists (
                        select
                        from behind b
                        where postrider.is_wanted(
                            $1, $2, b.id, b.xid, b.created_at, b.event_type, b.ordering_key, b.payload)
                    )
                    or exists (select from behind b offset $5 - 1)
                $sql$,
                p_name)
            into is_needed
            using p_consumer, k, known.xid, known.message_id, look;
        else
            -- What came before a tick that is gone is gone, too.
            select t.*
            into latest
            from postrider.tick t
            where t.id <= known.tick
            order by t.id desc
            limit 1;
            execute format(
                $sql$
                with behind as (
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from postrider.%1$I m
                        where m.xid >= $3
                        order by m.xid
                        limit $7
                    )
                    union all
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from pg_snapshot_xip($4) x (xid)
                        cross join lateral (
                            select l.id, l.xid, l.created_at, l.event_type, l.ordering_key, l.payload
                            from postrider.%1$I l
                            where l.xid = x.xid
                            limit $7
                        ) m
                    )
                    union all
                    (
                        select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
                        from postrider.%1$I m
                        where m.id > $5
                        and (m.xid >= $6 or m.xid = any ($8))
                        and pg_visible_in_snapshot(m.xid, $4)
                        order by m.id
                        limit $7
                    )
                )
                select
                    exists (
                        select
                        from behind b
                        where postrider.is_wanted(
                            $1, $2, b.id, b.xid, b.created_at, b.event_type, b.ordering_key, b.payload)
                    )
                    or exists (select from behind b offset $7 - 1)
                $sql$,
                p_name)
            into is_needed
            using
                p_consumer, k, coalesce(pg_snapshot_xmax(latest.snapshot), '0'),
                coalesce(latest.snapshot, '3:3:'),
                -- The rest of a tick that is read in part.
                case when latest.id = known.tick then known.message_id else last_id end,
                latest.base_xmax, look, latest.stragglers;
        end if;
        if is_needed then
            return false;
        end if;
    end loop;
    return true;
end;
$_$;

-- Name: has_session(uuid); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_session(p_dispatcher uuid) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (
        select
        from pg_stat_get_activity(null) a
        where a.application_name = 'postrider ' || p_dispatcher
        and a.datid = (select d.oid from pg_database d where d.datname = current_database())
    );
end;
$$;

-- Name: has_tick_turn(text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_tick_turn(p_table text, p_is_patient boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '50ms'
    AS $$
begin
    execute format(
        'lock table postrider.%I in share update exclusive mode%s', p_table,
        case when p_is_patient then '' else ' nowait' end);
    return true;
exception
    when lock_not_available then
        return false;
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

-- Name: has_waiting_messages(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_waiting_messages(p_endpoint_id integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
begin
    return exists (
        select
        from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
    )
    or exists (
        select
        from postrider.subscriptions s
        where s.endpoint_id = p_endpoint_id
        and postrider.has_unread_messages(s.id)
    );
end;
$$;

-- Name: has_wide_messages(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.has_wide_messages() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    -- In this order there is one index, whose last row says it.
    return coalesce(
        (
            select cardinality(m.targets) > 4
            from postrider.message m
            where m.event_type is not null
            order by cardinality(m.targets) > 1 desc, cardinality(m.targets) > 4 desc, m.id desc
            limit 1
        ), false);
end;
$$;

-- Name: health_check(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.health_check() RETURNS TABLE(component text, status text, details text, checked_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off'
    AS $$
declare
    checks constant text[][] := array[
        array['dispatchers', 'check_dispatchers'],
        array['shards', 'check_shards'],
        array['partitions', 'check_partitions'],
        array['lag', 'check_lag'],
        array['clock', 'check_clock'],
        array['oldest transaction', 'check_transactions'],
        array['locks', 'check_locks'],
        array['consumers', 'check_consumers'],
        array['fleets', 'check_fleets']];
    pair text[];
begin
    foreach pair slice 1 in array checks loop
        component := pair[1];
        begin
            execute format('select c.status, c.details from postrider.%I() c', pair[2])
            into strict status, details;
        exception
            when others then
                status := 'unhealthy';
                details := 'could not be checked: ' || sqlerrm;
        end;
        checked_at := clock_timestamp();
        return next;
    end loop;
end;
$$;

-- Name: heartbeat(uuid, jsonb, uuid[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb, p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(is_alive boolean, lease_ms bigint, takeable_count integer, share integer, shards smallint[], epochs bigint[], now_us bigint, floor_xid xid8, sequence_floor bigint, other_ids uuid[], other_seqs bigint[], other_lease_ms bigint[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    at timestamptz;
    lease interval;
    newest timestamptz;
    live uuid[];
    live_count integer;
    shard_count integer;
begin
    lock table postrider.fence in row share mode;
    -- After the wait, in which the clock may have been set back.
    at := clock_timestamp();
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
    is_alive := newest is distinct from 'epoch'
        and exists (select from postrider.dispatcher d where d.id = p_dispatcher);

    if is_alive then
        -- Read before this transaction has an id: whoever gets a higher one numbers above it.
        -- A sequence that nobody has used yet says 1 although 1 is still to come.
        select s.last_value - (not s.is_called)::integer
        into sequence_floor
        from postrider.message_sequence s;
        floor_xid := pg_current_xact_id();
        insert into postrider.heartbeat (
            slot, dispatcher, at, lease_until, xid, sequence_floor, horizon, statistics)
        values (
            postrider.current_slot(), p_dispatcher, at, at + lease,
            floor_xid, heartbeat.sequence_floor, pg_snapshot_xmin(pg_current_snapshot()), p_statistics);
    end if;

    select coalesce(array_agg(l.id), '{}')
    into live
    from postrider.live_dispatchers(p_silent_ids, p_silent_seqs) l (id);
    select
        coalesce(array_agg(d.id), '{}'), coalesce(array_agg(other.seq), '{}'),
        coalesce(array_agg((extract(epoch from other.lease_until - other.at) * 1000)::bigint), '{}')
    into other_ids, other_seqs, other_lease_ms
    from postrider.dispatcher d
    cross join lateral (
        select h.seq, h.at, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) other
    where d.id <> p_dispatcher
    and other.lease_until <> 'epoch';
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

-- Name: held_execution(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.held_execution(p_execution bigint, p_fence bigint) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    live postrider.live_execution;
begin
    if p_execution is null or p_fence is null then
        raise exception 'p_execution and p_fence must not be null' using errcode = '22004';
    end if;
    select l.*
    into live
    from postrider.live_execution l
    where l.id = p_execution
    and l.fence = p_fence
    and l.status <> 'requested'
    for update;
    if found then
        perform postrider.check_worker_role(w.name, w.registered_by)
        from postrider.worker w
        where w.id = live.worker_id;
        return next live;
    end if;
end;
$$;

-- Name: held_worker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.held_worker(p_name text) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.worker;
begin
    if p_name is null then
        raise exception 'Worker name must not be null' using errcode = '22004';
    end if;
    select w.* into known from postrider.worker w where w.name = p_name for update;
    if not found then
        raise exception 'Worker ''%'' does not exist', left(p_name, 200) using errcode = '42704';
    end if;
    return known;
end;
$$;

-- Name: hold_consumer(postrider.consumer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.hold_consumer(p_consumer postrider.consumer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '8s'
    AS $$
declare
    holder integer;
begin
    for k in -1..p_consumer.partition_count - 1 loop
        begin
            perform
            from postrider.consumer_lock l
            where l.consumer_id = p_consumer.id
            and l.partition = k
            for update;
        exception
            when lock_not_available then
                select h.pid
                into holder
                from postrider.consumer_holders() h
                where h.consumer_id = p_consumer.id
                and h.partition = k;
                raise exception 'Consumer ''%'' is held by another transaction', p_consumer.name
                    using errcode = '55006',
                        detail = format(
                            '%s, pid %s',
                            case when k < 0 then 'its leases' else format('partition %s', k) end,
                            coalesce(holder::text, 'unknown')),
                        hint = 'Stop its readers first.';
        end;
    end loop;
end;
$$;

-- Name: hold_deliveries(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.hold_deliveries(p_verb text, p_message_id bigint, p_endpoint_name text) RETURNS TABLE(place tid, target integer, endpoint_name text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    patience constant interval := '1 second';
    look constant double precision := 0.02;
    began constant timestamptz := clock_timestamp();
    wanted integer;
    places tid[];
    is_held boolean;
    held_at text;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception '% needs a transaction with isolation level READ COMMITTED, this is %',
            p_verb, upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;

    perform from postrider.cancel_bucket b where b.bucket = p_message_id >> 10 & 1023 for key share;
    loop
        perform from postrider.message m where m.id = p_message_id for update skip locked;
        is_held := not found
            and exists (select from postrider.message m where m.id = p_message_id);
        -- Who waits for the message holds nothing that whoever has it waits for.
        places := array(
            select d.ctid
            from postrider.deferred d
            where d.message_id = p_message_id
            and (wanted is null or d.endpoint_id = wanted)
            and not is_held
            -- It was cancelled before, and its row is the dispatcher's to take away.
            and not exists (
                select
                from postrider.cancellation c
                where c.message_id = d.message_id
                and c.target = d.target
            )
            for update of d skip locked
        );
        is_held := is_held or exists (
            select
            from postrider.deferred d
            where d.message_id = p_message_id
            and (wanted is null or d.endpoint_id = wanted)
            and d.ctid <> all (places)
            and not exists (
                select
                from postrider.cancellation c
                where c.message_id = d.message_id
                and c.target = d.target
            )
        );
        exit when not is_held;
        if clock_timestamp() not between began and began + patience then
            raise exception 'Message % is held by another transaction', p_message_id
                using errcode = '55006', hint = 'Try again when that transaction has ended.';
        end if;
        perform pg_sleep(look);
    end loop;
    if places = '{}' then
        if not exists (select from postrider.message m where m.id = p_message_id)
            and not exists (select from postrider.dead_letter l where l.message_id = p_message_id)
        then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
        raise exception 'No delivery of message % waits%', p_message_id,
            coalesce(' for endpoint ''' || p_endpoint_name || '''', '')
            using
                errcode = '55000',
                detail = (
                    select string_agg(format('%s: %s', s.endpoint_name, s.status), ', ')
                    from postrider.message_status(p_message_id) s
                ),
                hint = 'What no dispatcher has read yet is taken back by cancel_message.';
    end if;
    perform nextval('postrider.cancel_sequence');

    select coalesce(e.name, d.endpoint_id::text)
    into held_at
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    where d.ctid = any (places)
    and postrider.is_in_hand(d.message_id, d.target, d.retry_count)
    limit 1;
    if found then
        raise exception 'A dispatcher has the delivery of message % to endpoint ''%'' in hand',
            p_message_id, held_at
            using errcode = '55006', hint = 'Try again when its attempt is over.';
    end if;
    return query
    select d.ctid, d.target, coalesce(e.name, d.endpoint_id::text)
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    where d.ctid = any (places)
    order by d.target;
end;
$$;

-- Name: hold_slots(text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.hold_slots(p_action text, p_most integer) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    known postrider.action;
    free smallint[];
    held smallint[];
begin
    select a.* into known from postrider.action a where a.name = p_action;
    if known.concurrency is null then
        return null;
    end if;
    free := postrider.free_slots(known);
    held := array(
        select s.slot
        from postrider.action_slot s
        where s.action_id = known.id
        and s.slot = any (free)
        order by s.slot
        limit p_most
        for update skip locked
    );
    if held = '{}' then
        return held;
    end if;
    -- Whoever had one of them before has committed by now: then it is not free any more.
    select a.* into known from postrider.action a where a.name = p_action;
    if known.concurrency is null then
        return null;
    end if;
    free := postrider.free_slots(known);
    return array(
        select h.slot
        from unnest(held) h (slot)
        where h.slot = any (free)
        order by h.slot
    );
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

    if (case
            when holder.created_at + postrider.idempotency_window() <= clock_timestamp()
            then holder.ended_at is not null
                or not exists (
                    select
                    from postrider.message m
                    where m.id = holder.message_id
                    and (m.targets = '{}' or not postrider.has_ended_everywhere(m.id, m.targets))
                )
            else holder.ended_at is null
                and exists (
                    select
                    from postrider.message m
                    where m.id = holder.message_id
                    and postrider.was_taken_back(m.id, m.targets)
                )
        end)
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

-- Name: is_at_end(postrider.consumer_position); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_at_end(p_position postrider.consumer_position) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        p_position.tick is not null
        and p_position.message_id = 9223372036854775807
        and coalesce(pg_sequence_last_value('postrider.tick_sequence'), 0) <= p_position.tick;
$$;

-- Name: is_being_cancelled(bigint, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_being_cancelled(p_message_id bigint, p_retry_count integer, p_recovery_count integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    if p_retry_count > 0 or p_recovery_count > 0 then
        return false;
    end if;
    perform from postrider.message k where k.id = p_message_id for key share skip locked;
    -- A message that is not in the log any more cannot be cancelled either.
    return not found and exists (select from postrider.message k where k.id = p_message_id);
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

-- Name: is_copy(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_copy() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select not exists (
        select
        from postrider.identity i
        where i.relation_oid = i.tableoid
        and i.database_oid = (select d.oid from pg_database d where d.datname = current_database())
    );
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

-- Name: is_delivery_wanted(jsonb, bigint, integer, timestamp with time zone, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_delivery_wanted(p_filter jsonb, p_message_id bigint, p_target integer, p_created_at timestamp with time zone, p_last_error text, p_ordering_key text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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

-- Name: is_done(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_done(p_message_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select exists (
        select
        from postrider.done d
        where d.bucket = p_message_id >> 22
        and d.run = (p_message_id >> 16 & 63)::smallint
        and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    )
    or exists (
        select
        from postrider.done d
        where d.bucket = p_message_id >> 22
        and d.run is null
        and postrider.has_offset(d.offsets, ((p_message_id >> 10) & 4095)::integer)
    );
$$;

-- Name: is_erasure_wanted(jsonb, jsonb, timestamp with time zone, text, uuid, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_erasure_wanted(p_filter jsonb, p_metadata jsonb, p_created_at timestamp with time zone, p_ordering_key text, p_correlation_id uuid, p_event_type text, p_own_metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return coalesce(
        (not p_filter ? 'ordering_key' or p_ordering_key = p_filter ->> 'ordering_key')
        and (not p_filter ? 'correlation_id' or p_correlation_id = (p_filter ->> 'correlation_id')::uuid)
        and (not p_filter ? 'event_type' or p_event_type = p_filter ->> 'event_type')
        and (not p_filter ? 'from' or p_created_at >= (p_filter ->> 'from')::timestamptz)
        and (not p_filter ? 'to' or p_created_at < (p_filter ->> 'to')::timestamptz)
        and (not p_filter ? 'metadata' or p_own_metadata @> p_metadata),
        false);
end;
$$;

-- Name: is_generation_left(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_generation_left(p_generation integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    execute format(
        'lock table postrider.generation_lock_%s in exclusive mode nowait', p_generation % 32);
    -- Lets go of the lock.
    raise sqlstate 'PR001';
exception
    when sqlstate 'PR001' then return true;
    when lock_not_available then return false;
end;
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
    and (
        is_http_url.url !~ '^[^/]+//\['
        or postrider.address_literal(substring(is_http_url.url from '\[[^]]*\]')) is not null)
    and coalesce(
        substring(is_http_url.url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer
            between 1 and 65535,
        true);
$_$;

-- Name: is_in_hand(bigint, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_in_hand(p_message_id bigint, p_target integer, p_retry_count integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select exists (
        select
        from postrider.claim c
        where c.owner = (
            select s.owner
            from postrider.shard s
            where s.shard = (p_message_id & 1023) >> 4
        )
        and c.message_ids @> array[p_message_id]
        and exists (
            select
            from unnest(c.message_ids, c.targets, c.retry_counts)
                r (message_id, target, retry_count)
            where r.message_id = p_message_id
            and r.target = p_target
            and r.retry_count = p_retry_count
        )
    );
$$;

-- Name: is_letter_wanted(jsonb, timestamp with time zone, text, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_letter_wanted(p_filter jsonb, p_failed_at timestamp with time zone, p_last_error text, p_cause text, p_event_type text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return coalesce(
        (not p_filter ? 'from' or p_failed_at >= (p_filter ->> 'from')::timestamptz)
        and (not p_filter ? 'to' or p_failed_at < (p_filter ->> 'to')::timestamptz)
        and (not p_filter ? 'error_pattern' or p_last_error ~ (p_filter ->> 'error_pattern'))
        and (not p_filter ? 'cause' or p_cause = p_filter ->> 'cause')
        and (not p_filter ? 'event_type' or p_event_type = p_filter ->> 'event_type'),
        false);
end;
$$;

-- Name: is_logged(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_logged(p_message_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (
        select
        from postrider.message m
        where m.id = p_message_id
        and m.erased_at is null
    );
end;
$$;

-- Name: is_older(xid, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_older(p_xmin xid, p_xid xid8) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select coalesce(age(p_xmin) > age(p_xid::xid), false);
$$;

-- Name: is_partition_behind(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_partition_behind(p_consumer_id integer, p_partition integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    sign_of_life constant interval := '10 seconds';
    known postrider.consumer_position;
begin
    select p.* into known from postrider.newest_position(p_consumer_id, p_partition) p;
    -- Now and then it is looked for all the same.
    if postrider.is_at_end(known)
        and known.fetched_at between clock_timestamp() - sign_of_life and clock_timestamp()
    then
        return false;
    end if;
    if known.tick is not null then
        return exists (
            select
            from postrider.next_ticks(known.tick, known.message_id, 1) n
            where n.tick_count > 0
        );
    end if;
    return exists (select from postrider.transaction_messages(known.xid, known.message_id, 1));
end;
$$;

-- Name: is_partition_filled(postrider.consumer, integer, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_partition_filled(p_consumer postrider.consumer, p_partition integer, p_is_patient boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    look constant integer := 10000;
    tick_look constant integer := 2000;
    deadline constant timestamptz :=
        clock_timestamp() + case when p_is_patient then interval '500 milliseconds' else '0' end;
    known postrider.consumer_position;
    moved postrider.consumer_position;
    ahead record;
    to_xid xid8;
begin
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    loop
        if postrider.is_at_end(known) then
            return false;
        end if;
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
        if known.tick is not null and ahead.tick_count = 0 then
            return false;
        end if;
        to_xid := pg_snapshot_xmin(pg_current_snapshot());
        if exists (
            select
            from postrider.consumer_messages(
                p_consumer, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick, look,
                ahead.span, to_xid)
        ) then
            return true;
        end if;
        moved := postrider.pass_unwanted(known, ahead.to_tick, ahead.span, look, to_xid);
        if moved.seq = known.seq or clock_timestamp() >= deadline then
            return false;
        end if;
        known := moved;
    end loop;
end;
$$;

-- Name: is_partition_finished(text, timestamp with time zone, timestamp with time zone, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_partition_finished(p_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_done_before xid8) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    newest xid8;
    first_id bigint;
    last_id bigint;
begin
    execute format(
        $sql$
        select
            (select m.xid from postrider.%1$I m order by m.xid desc limit 1),
            (select min(m.id) from postrider.%1$I m),
            (select max(m.id) from postrider.%1$I m)
        $sql$,
        p_name)
    into newest, first_id, last_id;
    return newest is null
        or newest < p_done_before
        and not exists (
            select
            from postrider.deferred d
            where d.message_id between first_id and last_id
            and d.message_created_at >= p_from
            and d.message_created_at < p_to
        );
end;
$_$;

-- Name: is_partition_unread(postrider.consumer, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_partition_unread(p_consumer postrider.consumer, p_partition integer, p_look integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    tick_look constant integer := 2000;
    known postrider.consumer_position;
    ahead record;
begin
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;
    if postrider.is_at_end(known) then
        return false;
    end if;
    select n.to_tick, n.tick_count, n.span
    into ahead
    from postrider.next_ticks(known.tick, known.message_id, tick_look) n;
    if known.tick is not null and ahead.tick_count = 0 then
        return false;
    end if;
    return ahead.tick_count = tick_look
        or exists (
            select
            from postrider.consumer_messages(
                p_consumer, p_partition, known.tick, known.xid, known.message_id,
                ahead.to_tick, p_look, ahead.span)
        )
        or exists (
            select
            from postrider.tick_messages(
                known.tick, known.message_id, ahead.to_tick, p_look, ahead.span)
            offset p_look - 1
        )
        or exists (
            select
            from postrider.transaction_messages(known.xid, known.message_id, p_look)
            offset p_look - 1
        );
end;
$$;

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

-- Name: is_private(inet); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_private(address inet) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select regexp_replace(host(is_private.address), '^::ffff:(?=.*[.])', '')::inet <<= any (array[
        '10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7',
        'fe80::/10']::inet[]);
$$;

-- Name: is_signing_key(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_signing_key(p_key jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
    select case
        when k.text ~ '^(whsec|whsk)_([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        then (
            select
                -- Bits behind the last byte are no part of the key.
                translate(encode(d.bytes, 'base64'), E'\n', '') = d.base64
                and length(d.bytes) between case d.prefix when 'whsec' then 24 else 64 end and 64
            from (
                select
                    split_part(k.text, '_', 1) as prefix, split_part(k.text, '_', 2) as base64,
                    decode(split_part(k.text, '_', 2), 'base64') as bytes
            ) d
        )
        else false
    end
    from (
        select case when jsonb_typeof(p_key) = 'string' then p_key #>> '{}' end as text
    ) k;
$_$;

-- Name: is_slot_filled(text, smallint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_slot_filled(p_table text, p_slot smallint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    is_filled boolean;
begin
    execute format(
        'select exists (select from postrider.%I)', format('%s_%s', p_table, p_slot)) into is_filled;
    return is_filled;
end;
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

-- Name: is_wanted(postrider.consumer, integer, bigint, xid8, timestamp with time zone, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_wanted(p_consumer postrider.consumer, p_partition integer, p_id bigint, p_xid xid8, p_created_at timestamp with time zone, p_event_type text, p_ordering_key text, p_payload jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    select
        coalesce(
            ((p_consumer).type_patterns is null or p_event_type like any ((p_consumer).type_patterns))
            and ((p_consumer).filter is null or p_payload @> (p_consumer).filter)
            and (
                (p_consumer).partition_count = 1
                or postrider.message_partition(p_ordering_key, p_id, (p_consumer).partition_count)
                    = p_partition)
            and (
                (p_consumer).start_id is null
                or p_id >= (p_consumer).start_id
                or not pg_visible_in_snapshot(p_xid, (p_consumer).start_snapshot))
            and ((p_consumer).start_at is null or p_created_at >= (p_consumer).start_at),
            false);
$$;

-- Name: is_web_port(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.is_web_port(port integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select is_web_port.port <> all (array[
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
        103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445,
        465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
        993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432,
        6000, 6379, 6432, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017]);
$$;

-- Name: keep_dead_letter(bytea, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    insert into postrider.execution_dead_letter (outcome, carrier, x_death, body, details)
    values ('unreadable', 'rabbitmq', p_x_death, p_body, p_details);
$$;

-- Name: keep_endpoint(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.keep_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if not exists (
            select
            from postrider.job j
            where j.kind = 'drop'
            and j.state = 'running'
            and j.endpoint_id = old.id
        )
        and postrider.has_waiting_messages(old.id)
    then
        raise exception 'Endpoint ''%'' has messages waiting for it', old.name
            using errcode = '55000',
                hint = 'postrider.drop_endpoint with p_force => true moves them to the dead letter queue.';
    end if;
    return old;
end;
$$;

-- Name: kept_message(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) RETURNS TABLE(created_at timestamp with time zone, correlation_id uuid, priority smallint, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text, replay_of bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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

-- Name: key_mark(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.key_mark(p_key text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    bytes bytea := convert_to(p_key, 'UTF8');
    mark bigint := 2166136261;
begin
    for i in 0 .. octet_length(bytes) - 1 loop
        mark := ((mark # get_byte(bytes, i)) * 16777619) & 4294967295;
    end loop;
    return mark;
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

-- Name: keys_that_sign(integer, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.keys_that_sign(p_endpoint_id integer, p_keys jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select coalesce(jsonb_agg(g.key order by g.place), '[]')
    from jsonb_array_elements_text(p_keys) with ordinality g (key, place)
    where not exists (
        select
        from postrider.signing_key k
        where k.endpoint_id = p_endpoint_id
        and k.id = postrider.signing_key_id(g.key)
        and k.retires_at <= now()
    );
$$;

-- Name: known_circuits(integer[], boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.known_circuits(p_endpoint_ids integer[], p_with_others boolean) RETURNS TABLE(endpoint_id integer, version bigint, state text, failure_count integer, probe_at timestamp with time zone, probe_owner uuid, is_prober_alive boolean, paused_until timestamp with time zone, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return query
    select
        c.endpoint_id, c.version, c.state, c.failure_count, c.probe_at, c.probe_owner,
        c.probe_owner is not null
        and c.probe_owner in (select l.id from postrider.live_dispatchers() l (id)),
        c.paused_until, c.last_success_at, c.last_failure_at, c.failing_since
    from postrider.circuit c
    where c.endpoint_id = any (p_endpoint_ids);
    if not p_with_others then
        return;
    end if;
    -- Some of them a second time, which does no harm.
    return query
    select
        c.endpoint_id, c.version, c.state, c.failure_count, c.probe_at, c.probe_owner,
        c.probe_owner is not null
        and c.probe_owner in (select l.id from postrider.live_dispatchers() l (id)),
        c.paused_until, c.last_success_at, c.last_failure_at, c.failing_since
    from postrider.circuit c
    where c.state <> 'closed'
    or c.failure_count > 0
    or c.paused_until > clock_timestamp();
end;
$$;

-- Name: known_consumer(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.known_consumer(p_name text) RETURNS postrider.consumer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.consumer;
begin
    if p_name is null then
        raise exception 'Consumer name must not be null' using errcode = '22004';
    end if;
    select c.* into known from postrider.consumer c where c.name = p_name;
    if not found then
        raise exception 'Consumer ''%'' does not exist', p_name using errcode = '42704';
    end if;
    return known;
end;
$$;

-- Name: known_lanes(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.known_lanes() RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    with newest as materialized (
        select s.shard, c.seq, c.state, c.done_xmin
        from postrider.shard s
        cross join lateral (
            select k.seq, k.state, k.done_xmin
            from postrider.checkpoint k
            where k.shards @> array[s.shard]
            order by k.seq desc
            limit 1
        ) c
    ), grouped as materialized (
        -- One checkpoint is about many shards.
        select c.seq, g.value -> 'state' as state, g.value -> 'lanes' as lanes
        from (select distinct on (n.seq) n.seq, n.state from newest n order by n.seq) c
        cross join lateral jsonb_array_elements(c.state) g
    )
    select
        jsonb_build_object(
            'done_before', (
                select
                    case
                        when count(*) = postrider.shard_count()
                        then min(n.done_xmin::text::numeric)::text
                        else '3'
                    end
                from newest n
            ),
            'lanes', coalesce(
                (
                    select jsonb_object_agg(l.lane, g.state)
                    from grouped g
                    cross join lateral jsonb_array_elements_text(g.lanes) l (lane)
                    join newest n on n.seq = g.seq
                    and n.shard = l.lane::integer >> 4
                ), '{}'),
            'shards', coalesce(
                (
                    select jsonb_object_agg(n.shard, g.state)
                    from grouped g
                    join newest n on n.seq = g.seq
                    where g.lanes is null
                ), '{}'));
$$;

-- Name: lane_states(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lane_states() RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    looked_at_runs constant integer := 78;
    states jsonb;
    runs bigint[];
    finished jsonb;
begin
    states := postrider.known_lanes();
    runs := array(
        select distinct n.run
        from (
            select l.value -> 'open' as ranges
            from jsonb_each(states -> 'lanes') l
            union
            select h.value -> 'open'
            from jsonb_each(states -> 'shards') h
        ) o
        cross join lateral jsonb_array_elements(o.ranges) r
        cross join lateral generate_series(
            (r.value ->> 0)::bigint >> 16,
            least((r.value ->> 1)::bigint >> 16, ((r.value ->> 0)::bigint >> 16) + looked_at_runs))
            n (run)
        order by n.run
        limit looked_at_runs
    );
    -- Mostly nothing is open, and then nothing is opened to look for it.
    if cardinality(runs) > 0 then
        select jsonb_object_agg(
            (r.run >> 6 << 12) + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1), true)
        into finished
        from unnest(runs) r (run)
        cross join lateral (
            -- Fetched once, not byte by byte.
            select o.offsets || ''::bytea as offsets
            from postrider.done o
            where o.bucket = r.run >> 6
            and o.run = (r.run & 63)::smallint
            offset 0
        ) d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i;
    end if;
    return states || jsonb_build_object('done', coalesce(finished, '{}'));
end;
$$;

-- Name: lane_tails(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lane_tails() RETURNS TABLE(lane smallint, base pg_snapshot, top pg_snapshot, walked bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        (s.shard * 16 + p.place)::smallint,
        -- Before everything: nobody has read it yet.
        coalesce(g.tail ->> 'base', '4:4:')::pg_snapshot,
        (g.tail #>> '{window,top}')::pg_snapshot,
        (g.tail #>> '{window,id}')::bigint
    from postrider.shard s
    cross join unnest(array[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]) p (place)
    left join lateral (
        select c.state
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true
    left join lateral (
        -- A group without lanes stands for all that no other group names.
        select e.value #> '{state,tail}' as tail
        from jsonb_array_elements(newest.state) e
        where not e.value ? 'lanes'
        or e.value -> 'lanes' @> to_jsonb(s.shard * 16 + p.place)
        order by e.value ? 'lanes' desc
        limit 1
    ) g on true;
$$;

-- Name: lease_partitions(text, uuid, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval DEFAULT '00:00:15'::interval) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    shortest constant interval := '1 second';
    longest constant interval := '1 hour';
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    at timestamptz;
    own postrider.consumer_lease;
    others postrider.consumer_lease[];
    even_share integer;
    remainder integer;
    large_count integer;
    share integer;
    leased integer[];
begin
    if p_member is null then
        raise exception 'p_member must not be null' using errcode = '22004';
    end if;
    if p_lease is null or p_lease not between shortest and longest then
        raise exception 'p_lease must be between 1 second and 1 hour, got %',
            coalesce(p_lease::text, 'null') using errcode = '22023';
    end if;
    perform postrider.lock_leases(reader);

    -- After the lock: what others have got by then is seen.
    at := clock_timestamp();
    select l.* into own from postrider.newest_leases(reader.id) l where l.member = p_member;
    perform postrider.check_lease_role(reader.name, own, at);
    others := array(
        select l
        from postrider.newest_leases(reader.id) l
        where l.member <> p_member
        and l.lease_until > at
    );
    even_share := reader.partition_count / (cardinality(others) + 1);
    remainder := reader.partition_count % (cardinality(others) + 1);
    -- So many members may have one more; those that have it keep it.
    select count(*)
    into large_count
    from unnest(others) l
    where cardinality(l.partitions) > even_share;
    share := even_share + case when large_count < remainder then 1 else 0 end;
    -- Its own first, or what it had when its lease ran out.
    leased := array(
        select f.partition
        from (
            select p.partition
            from generate_series(0, reader.partition_count - 1) p (partition)
            where not exists (
                select
                from unnest(others) l
                where p.partition = any (l.partitions)
            )
            order by p.partition = any (coalesce(own.partitions, '{}')) desc, p.partition
            limit share
        ) f
        order by f.partition
    );
    insert into postrider.consumer_lease (
        consumer_id, member, partitions, lease_until, joined_at, leased_by)
    values (
        reader.id, p_member, leased, at + p_lease,
        case when own.lease_until > at then own.joined_at else at end,
        -- Whoever renews it for that role does not take it away.
        coalesce(case when own.lease_until > at then own.leased_by end, postrider.caller()));
    return leased;
end;
$$;

-- Name: left_kinds(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.left_kinds() RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET jit TO 'off'
    AS $$
declare
    states jsonb := postrider.known_lanes();
begin
    -- Of a target that is gone nobody knows what it was.
    return array(
        select distinct n.kind
        from (
            select l.value as state
            from jsonb_each(states -> 'lanes') l
            union all
            select h.value
            from jsonb_each(states -> 'shards') h
        ) s
        cross join lateral jsonb_object_keys(s.state #> '{lag,skipped}') k (target)
        left join postrider.subscriptions b on b.id = k.target::integer
        cross join lateral (values ('direct'), ('one')) n (kind)
        where b.id is null
        or (n.kind = 'direct') = (b.event_type is null)
    );
end;
$$;

-- Name: live_dispatchers(uuid[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.live_dispatchers(p_silent_ids uuid[] DEFAULT '{}'::uuid[], p_silent_seqs bigint[] DEFAULT '{}'::bigint[]) RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select d.id
    from postrider.dispatcher d
    cross join lateral (
        select h.seq, h.lease_until
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where newest.lease_until <> 'epoch'
    and (
        newest.lease_until > clock_timestamp()
        or p_silent_ids is not null and postrider.has_session(d.id))
    and not exists (
        select
        from unnest(p_silent_ids, p_silent_seqs) s (id, seq)
        where s.id = d.id
        and s.seq = newest.seq
    );
$$;

-- Name: live_worker(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.live_worker(p_worker_id integer, p_epoch integer) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    found_worker postrider.worker;
begin
    if p_worker_id is null then
        raise exception 'p_worker must not be null' using errcode = '22004';
    end if;
    select w.* into found_worker from postrider.worker w where w.id = p_worker_id;
    if not found then
        raise exception 'Worker % does not exist', p_worker_id using errcode = '42704';
    end if;
    if found_worker.status = 'inactive' or found_worker.epoch <> p_epoch then
        raise exception 'Worker ''%'' has to register again: %', found_worker.name,
            case
                when found_worker.status = 'inactive' then 'it is inactive'
                else format('another process has its name (epoch %s, not %s)',
                    found_worker.epoch, p_epoch)
            end using errcode = '55000';
    end if;
    -- Not before that: who has lost the name to another role hears that it has.
    perform postrider.check_worker_role(found_worker.name, found_worker.registered_by);
    return found_worker;
end;
$$;

-- Name: lock_leases(postrider.consumer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lock_leases(p_consumer postrider.consumer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    deadline constant timestamptz := clock_timestamp() + interval '5 seconds';
begin
    -- An older snapshot does not see what others have got since.
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'leases need a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    while not postrider.has_consumer_lock(p_consumer.id, -1) loop
        -- Dropped meanwhile.
        p_consumer := postrider.known_consumer(p_consumer.name);
        if clock_timestamp() > deadline then
            raise exception 'Leases of consumer ''%'' are held by another transaction', p_consumer.name
                using errcode = '55006';
        end if;
        perform pg_sleep(0.01);
    end loop;
end;
$$;

-- Name: lock_signing_keys(text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lock_signing_keys(p_endpoint_name text, p_is_adding boolean, OUT endpoint_id integer, OUT keys jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held_protocol text;
    signature text;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id, e.protocol, e.config ->> 'signature'
    into endpoint_id, held_protocol, signature
    from postrider.endpoints e
    where e.name = p_endpoint_name
    for no key update;
    if not found then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    if not postrider.can_sign(held_protocol) then
        raise exception 'Endpoint ''%'' has the protocol %, which signs nothing', p_endpoint_name,
            held_protocol using errcode = '22023';
    end if;
    if p_is_adding and signature = 'none' then
        raise exception 'Endpoint ''%'' signs nothing: its signature is none', p_endpoint_name
            using errcode = '55000', hint = 'alter_endpoint changes that.';
    end if;
    keys := coalesce(
        (
            select s.config -> 'signing_keys'
            from postrider.endpoint_secret s
            where s.endpoint_id = lock_signing_keys.endpoint_id
        ),
        '[]');
end;
$$;

-- Name: lock_worker(postrider.worker, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lock_worker(p_worker postrider.worker, p_is_changed boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
begin
    -- A former version of a function may have made the worker while 0010 was applied.
    insert into postrider.worker_lock (worker_id)
    select w.id
    from postrider.worker w
    where w.id = p_worker.id
    and not exists (select from postrider.worker_lock k where k.worker_id = w.id)
    on conflict do nothing;
    perform
    from postrider.worker_lock k
    where k.worker_id = p_worker.id
    for update;
    perform
    from postrider.worker w
    where w.id = p_worker.id
    and p_is_changed
    for no key update;
exception
    when lock_not_available then
        perform postrider.refuse_held_worker(p_worker.name);
end;
$$;

-- Name: log_ranges(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.log_ranges() RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET jit TO 'off'
    AS $$
declare
    states jsonb := postrider.known_lanes();
    known record;
    recent_from bigint;
    left_from bigint;
begin
    select
        coalesce(bool_and(p.state ? 'open'), false) as is_known,
        (min(pg_snapshot_xmin(p.tail_top)::text::numeric))::text::xid8 as unread_xid,
        min(p.tail_id) as walked,
        min(p.open_from) as open_from,
        (min(pg_snapshot_xmin(p.lag_top)::text::numeric))::text::xid8 as left_xid,
        min(p.lag_id) as left_walked,
        case when bool_and(p.lag_last is not null or p.lag_top is null) then max(p.lag_last) end
            as left_to,
        count(*) filter (where p.lag_top is not null) as lag_count
    into known
    from (
        select
            s.state,
            (coalesce(s.state #>> '{tail,window,top}', s.state #>> '{tail,base}'))::pg_snapshot
                as tail_top,
            (s.state #>> '{tail,window,id}')::bigint as tail_id,
            (s.state #>> '{open,0,0}')::bigint as open_from,
            (coalesce(s.state #>> '{lag,position,window,top}', s.state #>> '{lag,position,base}'))
                ::pg_snapshot as lag_top,
            (s.state #>> '{lag,position,window,id}')::bigint as lag_id,
            (s.state #>> '{lag,last}')::bigint as lag_last
        from (
            select l.value as state
            from jsonb_each(states -> 'lanes') l
            union all
            select h.value
            from jsonb_each(states -> 'shards') h
        ) s
    ) p;
    if not known.is_known
        or (select count(*) from jsonb_object_keys(states -> 'shards')) < postrider.shard_count()
    then
        -- A shard that nobody has read, or read by an older version.
        recent_from := postrider.pending_floor();
        return array[recent_from, recent_from, recent_from];
    end if;
    recent_from := least(
        postrider.lowest_id_since(known.unread_xid), known.walked, known.open_from - 1);
    if known.lag_count = 0 then
        return array[recent_from, recent_from, recent_from];
    end if;
    left_from := least(
        recent_from, postrider.lowest_id_since(known.left_xid), known.left_walked);
    return array[
        left_from, greatest(left_from, least(recent_from, known.left_to)), recent_from];
end;
$$;

-- Name: lost_shards(uuid, smallint[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    lock table postrider.fence in row share mode;
    -- By a snapshot that is younger than the lock.
    return (
        select coalesce(array_agg(r.shard), '{}')
        from unnest(p_shards, p_epochs) r (shard, epoch)
        where not exists (
            select
            from postrider.shard s
            where s.shard = r.shard
            and s.epoch = r.epoch
            and s.owner = p_dispatcher
        )
    );
end;
$$;

-- Name: lowest_id_since(xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.lowest_id_since(p_xid xid8) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    look constant integer := 100;
    found_count integer;
    lowest bigint;
begin
    select count(*), min(m.id) - 1
    into found_count, lowest
    from (
        select k.id
        from postrider.message k
        where k.xid >= p_xid
        order by k.xid, k.id
        limit look
    ) m;
    if found_count < look then
        -- Above everything when there is none. What is sent from now on, this statement does not see.
        return coalesce(lowest, 9223372036854775807);
    end if;
    return coalesce(
        (
            select (h.sequence_floor << 10) | 1023
            from postrider.heartbeat h
            where h.xid < p_xid
            order by h.xid desc
            limit 1
        ), 0);
end;
$$;

-- Name: maintain_archive_partitions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer DEFAULT 3) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '20ms'
    AS $_$
declare
    most_tries constant integer := 10;
    -- What is held up least comes last.
    missing record;
    moving text := $sql$
        with moved as (
            delete from postrider.%1$I r
            where r.%2$I >= %3$L
            and r.%2$I < %4$L
            returning r.*
        )
        insert into postrider.%5$I
        select m.*
        from moved m
        $sql$;
    statements text[] := '{}';
    statement text;
    created integer := 0;
begin
    if p_months_ahead is null or p_months_ahead not between 0 and 120 then
        raise exception 'p_months_ahead must be between 0 and 120, got %',
            coalesce(p_months_ahead::text, 'null') using errcode = '22023';
    end if;
    if not postrider.take_chore('partitions') then
        return 0;
    end if;

    for missing in
        select
            m.parent, m.time_column, m.name, m.from_at, m.to_at, l.name as default_name,
            row_number() over (partition by m.parent) = 1 as is_first,
            bool_or(m.from_at < now() + interval '1 hour') over (partition by m.parent) as is_written
        from postrider.missing_partitions(p_months_ahead) m
        join postrider.partitions l on l.table_name = m.parent and l.from_at is null
        order by m.parent = 'message', m.parent, m.from_at
    loop
        execute format(
            'create table postrider.%I (like postrider.%I including all)',
            missing.name, missing.parent);
        statement := format(
            moving, missing.default_name, missing.time_column, missing.from_at, missing.to_at,
            missing.name);
        execute statement;
        if missing.is_first and missing.is_written then
            statements := statements || format(
                'lock table only postrider.%I in share row exclusive mode', missing.parent);
        end if;
        if missing.is_first then
            statements := statements || format(
                'lock table postrider.%I in access exclusive mode', missing.default_name);
        end if;
        -- What came into the default partition meanwhile.
        statements := statements || statement || format(
            'alter table postrider.%I attach partition postrider.%I for values from (%L) to (%L)',
            missing.parent, missing.name, missing.from_at, missing.to_at);
        created := created + 1;
    end loop;

    for try in 1..most_tries loop
        begin
            foreach statement in array statements loop
                execute statement;
            end loop;
            return created;
        exception
            when lock_not_available then
                if try = most_tries then
                    raise;
                end if;
        end;
        perform pg_sleep(0.1);
    end loop;
end;
$_$;

-- Name: make_signing_key(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.make_signing_key() RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select 'whsec_' || encode(
        sha256(
            uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
            || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
        'base64');
$$;

-- Name: mark_expired_messages(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.mark_expired_messages() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.expire_waiting(10000);
$$;

-- Name: masked_config(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.masked_config(p_config jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
    select case
        when jsonb_typeof(p_config -> 'url') = 'string'
        then jsonb_set(
            p_config, '{url}',
            to_jsonb(regexp_replace(
                regexp_replace(
                    regexp_replace(p_config ->> 'url', '[?#].*$', '?…'), '//[^/?#]*@', '//…@'),
                '(?<=[^/:])/[^/?#]{20,}', '/…', 'g')))
        else p_config
    end;
$_$;

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

-- Name: may_act_for(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.may_act_for(p_role text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    acting constant text := postrider.caller();
begin
    return p_role is null
        or p_role = acting
        or exists (
            select
            from pg_roles r
            where r.rolname = p_role
            and pg_has_role(acting, r.oid, 'usage')
        );
end;
$$;

-- Name: may_wait(jsonb, bigint, xid8, integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 500
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    lane integer := p_message_id & 1023;
    state jsonb := coalesce(
        p_states #> array['lanes', lane::text], p_states #> array['shards', (lane >> 4)::text]);
    taken_up_to jsonb := state -> 'tail';
    skipped jsonb;
    place jsonb;
begin
    -- A lag of an older version has messages that expire, too.
    if state is null or state ? 'lag' and state #>> '{lag,spares_expiring}' is distinct from 'true' then
        return true;
    end if;
    if p_xid < (p_states ->> 'done_before')::xid8
        or p_states -> 'done' ? (p_message_id >> 10)::text
    then
        return false;
    end if;
    if state ? 'open' then
        if cardinality(p_targets) = 1 then
            skipped := state #> array['lag', 'skipped', p_targets[1]::text];
            if skipped is not null
                and not postrider.is_position_behind(skipped, p_xid, p_message_id)
            then
                taken_up_to := state #> '{lag,position}';
            end if;
        end if;
        return not postrider.is_position_behind(taken_up_to, p_xid, p_message_id)
            or exists (
                select
                from jsonb_array_elements(state -> 'open') r
                where p_message_id between (r.value ->> 0)::bigint and (r.value ->> 1)::bigint
            );
    end if;
    -- Written by an older version.
    for place in
        select d.value
        from jsonb_array_elements(state -> 'done') d
    loop
        if not postrider.is_position_behind(place, p_xid, p_message_id) then
            return true;
        end if;
    end loop;
    return not state ? 'done';
end;
$$;

-- Name: message_partition(text, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.message_partition(p_ordering_key text, p_id bigint, p_count integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select
        case
            when p_count = 1 then 0
            when p_ordering_key is null then ((p_id >> 10) % p_count)::integer
            else get_byte(sha256(convert_to(p_ordering_key, 'UTF8')), 2) % p_count
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
    select m.xid, m.targets, m.endpoint_name, m.scheduled_at, m.expires_at is not null as expires
    into known
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        select
            null::xid8 as xid, array_agg(l.target) as targets, null::text as endpoint_name,
            null::timestamptz as scheduled_at, false as expires
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
            when postrider.is_taken(
                p_message_id, known.xid, case when known.expires then '{}' else known.targets end)
            then 'processing'
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

-- Name: metrics(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.metrics() RETURNS TABLE(metric_name text, metric_value double precision, labels jsonb, metric_type text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off'
    AS $$
    with pending as materialized (
        select p.endpoint_id, p.delivery_count, p.oldest_at, p.unread, p.unread_oldest_at
        from postrider.pending_deliveries() p
    ), workers as materialized (
        select w.id, w.host, w.shards, w.messages_processed, w.error_count, w.in_flight, w.clock_offset
        from postrider.get_worker_status() w
    ), horizons as materialized (
        select h.table_name, h.horizon, h.has_default_rows
        from postrider.partition_horizons() h
    ), consumers as materialized (
        select c.name, c.partition, c.message_count, c.lag_messages, c.lag_seconds, c.parked_count
        from postrider.consumer_figures() c
    ), pools as materialized (
        select
            f.pool, f.active_count, f.busy_count, f.inactive_count, f.cordoned_count, f.error_count,
            f.capacity, f.free_capacity, f.waiting_count, f.scheduled_count, f.running_count,
            f.oldest_scheduled_at, f.overdue_count, f.scaling_signal
        from postrider.pool_figures() f
    ), brokers as materialized (
        select b.process, b.is_connected, b.dead_letter_depth
        from postrider.broker_report b
        where b.at > clock_timestamp() - interval '30 seconds'
    ), seconds (at) as (
        select clock_timestamp()
    )
    select m.name, m.value, m.labels, m.kind
    from (
        select v.name, v.value, jsonb_build_object('endpoint', e.name), 'gauge'
        from postrider.endpoints e
        left join postrider.circuit c on c.endpoint_id = e.id
        left join pending p on p.endpoint_id = e.id
        cross join seconds n
        cross join lateral (values
            (
                'endpoint_circuit_state',
                (case c.state when 'open' then 2 when 'half_open' then 1 else 0 end)::double precision
            ),
            ('endpoint_circuit_failure_count', coalesce(c.failure_count, 0)),
            ('endpoint_enabled', e.enabled::integer),
            ('endpoint_paused', (e.paused or coalesce(c.paused_until > n.at, false))::integer),
            ('endpoint_pending_messages', coalesce(round(p.delivery_count), 0)),
            (
                'endpoint_oldest_pending_seconds',
                case
                    when e.paused then 0
                    else coalesce(greatest(extract(epoch from n.at - p.oldest_at), 0), 0)
                end
            ),
            ('endpoint_last_success_timestamp_seconds', extract(epoch from c.last_success_at))
        ) v (name, value)
        union all
        select v.name, v.value, jsonb_build_object('dispatcher', w.id, 'host', w.host), v.kind
        from workers w
        cross join lateral (values
            ('messages_processed_total', w.messages_processed::double precision, 'counter'),
            ('errors_total', w.error_count, 'counter'),
            ('in_flight', w.in_flight, 'gauge'),
            ('clock_offset_seconds', extract(epoch from w.clock_offset), 'gauge')
        ) v (name, value, kind)
        union all
        select v.name, v.value, jsonb_build_object('table', h.table_name), 'gauge'
        from horizons h
        cross join lateral (values
            ('partition_horizon_seconds', extract(epoch from h.horizon)::double precision),
            ('default_partition_rows', h.has_default_rows::integer)
        ) v (name, value)
        union all
        select
            v.name, v.value, jsonb_build_object('consumer', c.name, 'partition', c.partition::text),
            v.kind
        from consumers c
        cross join lateral (values
            ('consumer_lag_messages', c.lag_messages::double precision, 'gauge'),
            ('consumer_lag_seconds', c.lag_seconds, 'gauge'),
            ('consumer_parked_messages', c.parked_count, 'gauge'),
            ('consumer_messages_total', c.message_count, 'counter')
        ) v (name, value, kind)
        union all
        select 'workers', v.value, jsonb_build_object('pool', p.pool, 'status', v.status), 'gauge'
        from pools p
        cross join lateral (values
            ('active', p.active_count),
            ('busy', p.busy_count),
            ('inactive', p.inactive_count),
            ('cordoned', p.cordoned_count),
            ('error', p.error_count)
        ) v (status, value)
        union all
        select 'executions', v.value, jsonb_build_object('pool', p.pool, 'status', v.status), 'gauge'
        from pools p
        cross join lateral (values
            ('waiting', p.waiting_count),
            ('scheduled', p.scheduled_count),
            ('running', p.running_count)
        ) v (status, value)
        union all
        select v.name, v.value, jsonb_build_object('pool', p.pool), 'gauge'
        from pools p
        cross join seconds n
        cross join lateral (values
            ('pool_capacity', p.capacity::double precision),
            ('pool_free_capacity', p.free_capacity),
            ('pool_scaling_signal_seconds', p.scaling_signal),
            (
                'executions_oldest_scheduled_seconds',
                coalesce(greatest(extract(epoch from n.at - p.oldest_scheduled_at), 0), 0)
            ),
            ('executions_overdue', p.overdue_count)
        ) v (name, value)
        union all
        select
            v.name, v.value::double precision,
            jsonb_build_object(
                'pool', t.pool, 'action', t.action, 'reason', t.reason)
            || case
                when v.name = 'executions_ended_total' then jsonb_build_object('status', t.status)
                else '{}'
            end,
            'counter'
        from postrider.execution_total t
        cross join lateral (values
            ('executions_ended_total', nullif(t.ended_count, 0)),
            (
                'execution_retries_total',
                case when t.status = 'failed' then nullif(t.attempt_count - t.ended_count, 0) end
            )
        ) v (name, value)
        union all
        select
            'execution_dead_letters_total', coalesce(t.letter_count, 0)::double precision,
            jsonb_build_object('outcome', o.outcome), 'counter'
        from unnest(array[
            'failed', 'retried', 'returned', 'terminal', 'running', 'passed', 'unknown', 'unreadable'
        ]) o (outcome)
        left join postrider.dead_letter_total t on t.outcome = o.outcome
        union all
        select
            'broker_connected', b.is_connected::integer, jsonb_build_object('process', b.process),
            'gauge'
        from brokers b
        union all
        select 'dead_letter_queue_depth', max(b.dead_letter_depth), '{}', 'gauge'
        from brokers b
        union all
        select
            'ticks_total', (
                select t.id::double precision from postrider.tick t order by t.id desc limit 1
            ), '{}', 'counter'
        union all
        select v.name, v.value, '{}', 'gauge'
        from seconds n
        cross join postrider.message_sequence q
        cross join lateral (values
            ('dispatchers', (select count(*) from workers)::double precision),
            ('shards', (select count(*) from postrider.shard)),
            ('shards_owned', (select coalesce(sum(cardinality(w.shards)), 0) from workers w)),
            (
                'unread_messages',
                (
                    select case
                        when bool_or(p.unread is null) then null
                        else coalesce(round(sum(p.unread)), 0)
                    end
                    from pending p
                )
            ),
            (
                'oldest_unread_seconds',
                (
                    select case
                        when bool_or(p.unread is null) then null
                        else coalesce(
                            greatest(extract(epoch from n.at - min(p.unread_oldest_at)), 0), 0)
                    end
                    from pending p
                )
            ),
            (
                'queue_depth',
                greatest(q.last_value - (not q.is_called)::integer - postrider.queue_base(), 0)
            ),
            (
                'queue_limit',
                (
                    select s.value::double precision
                    from postrider.setting s
                    where s.name = 'max_queue_size'
                )
            ),
            (
                'dead_letters_estimate',
                greatest(pg_stat_get_live_tuples('postrider.dead_letter'::regclass), 0)
            ),
            (
                'oldest_transaction_seconds',
                coalesce((select t.age from postrider.open_transactions(1) t), 0)
            )
        ) v (name, value)
        union all
        select 'build_info', 1, jsonb_build_object('version', i.product_version), 'gauge'
        from postrider.installation i
    ) m (name, value, labels, kind)
    where m.value is not null
    order by m.name, m.labels;
$$;

-- Name: missing_partitions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.missing_partitions(p_months_ahead integer) RETURNS TABLE(parent text, time_column text, name text, from_at timestamp with time zone, to_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $_$
declare
    today constant timestamptz := date_trunc('day', now());
    is_daily boolean;
    ahead timestamptz[];
    stranded timestamptz[];
    base record;
begin
    select s.value = 'day'
    into is_daily
    from postrider.setting s
    where s.name = 'partition_interval';
    ahead := array(
        select d.day
        from generate_series(
            today,
            case
                when is_daily then greatest(
                    today + make_interval(months => p_months_ahead), today + interval '7 days')
                else date_trunc('month', today) + make_interval(months => p_months_ahead + 1)
                    - interval '1 day'
            end,
            interval '1 day') d (day)
    );

    for base in
        select
            l.table_name, l.time_column, max(l.name) filter (where l.from_at is null) as default_name,
            array_agg(l.from_at order by l.from_at) filter (where l.from_at is not null) as lower,
            array_agg(l.to_at order by l.from_at) filter (where l.from_at is not null) as upper
        from postrider.partitions l
        group by l.table_name, l.time_column
    loop
        execute format(
            $sql$
            select coalesce(array_agg(distinct date_trunc('day', r.%1$I)), '{}')
            from postrider.%2$I r
            where isfinite(r.%1$I)
            $sql$,
            base.time_column, base.default_name)
        into stranded;

        return query
        select distinct
            base.table_name, base.time_column, w.partition, w.begins, w.ends
        from unnest(ahead || stranded) d (day)
        cross join lateral (
            select
                case
                    when is_daily or exists (
                        select
                        from unnest(base.lower, base.upper) e (begins, ends)
                        where e.begins < date_trunc('month', d.day) + interval '1 month'
                        and e.ends > date_trunc('month', d.day)
                    ) then 'day'
                    else 'month'
                end
        ) l (length)
        cross join lateral (
            select
                date_trunc(l.length, d.day),
                date_trunc(l.length, d.day) + ('1 ' || l.length)::interval,
                base.table_name || to_char(d.day, case l.length when 'day' then '_YYYY_MM_DD' else '_YYYY_MM' end)
        ) w (begins, ends, partition)
        where not exists (
            select
            from unnest(base.lower, base.upper) e (begins, ends)
            where e.begins < w.ends
            and e.ends > w.begins
        )
        and to_regclass('postrider.' || w.partition) is null;
    end loop;
end;
$_$;

-- Name: needs_archive_upkeep(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.needs_archive_upkeep() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return exists (select from postrider.missing_partitions(postrider.partition_months_ahead()))
        or exists (
            select
            from postrider.partitions l
            where l.to_at <= now() - make_interval(months => (
                select s.value::integer
                from postrider.setting s
                where s.name = 'archive_retention_months'
            ))
        );
end;
$$;

-- Name: consumer_attempt; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.consumer_attempt (
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    consumer_id integer NOT NULL,
    partition smallint NOT NULL,
    generation bigint NOT NULL,
    message_count bigint NOT NULL,
    batch_size integer NOT NULL,
    failure_count integer NOT NULL,
    suspect_count bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: newest_attempt(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.newest_attempt(p_consumer_id integer, p_partition integer) RETURNS SETOF postrider.consumer_attempt
    LANGUAGE sql STABLE
    AS $$
    select a.*
    from postrider.consumer_attempt a
    where a.consumer_id = p_consumer_id
    and a.partition = p_partition
    order by a.seq desc
    limit 1;
$$;

-- Name: newest_leases(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.newest_leases(p_consumer_id integer) RETURNS SETOF postrider.consumer_lease
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
    with recursive members as (
        (
            select l.member
            from postrider.consumer_lease l
            where l.consumer_id = p_consumer_id
            order by l.member
            limit 1
        )
        union all
        select (
                select l.member
                from postrider.consumer_lease l
                where l.consumer_id = p_consumer_id
                and l.member > m.member
                order by l.member
                limit 1
            )
        from members m
        where m.member is not null
    )
    select newest.*
    from members m
    cross join lateral (
        select l.*
        from postrider.consumer_lease l
        where l.consumer_id = p_consumer_id
        and l.member = m.member
        order by l.seq desc
        limit 1
    ) newest;
$$;

-- Name: newest_position(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.newest_position(p_consumer_id integer, p_partition integer) RETURNS SETOF postrider.consumer_position
    LANGUAGE sql STABLE
    AS $$
    select p.*
    from postrider.consumer_position p
    where p.consumer_id = p_consumer_id
    and p.partition = p_partition
    order by p.seq desc
    limit 1;
$$;

-- Name: next_ticks(bigint, bigint, integer, bigint, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.next_ticks(p_tick bigint, p_after_id bigint, p_look integer, p_settled_tick bigint DEFAULT NULL::bigint, p_has_own boolean DEFAULT true) RETURNS TABLE(to_tick bigint, tick_count bigint, span postrider.tick_span)
    LANGUAGE sql STABLE
    AS $$
    select
        coalesce(max(n.id), p_tick),
        count(n.id),
        row(
            min(n.at),
            max(n.at),
            min(n.from_at),
            max(n.to_at),
            coalesce(min(n.from_at) filter (where n.stragglers <> '{}'), 'infinity'),
            coalesce(min(n.from_at) filter (where n.is_sparse), 'infinity'),
            k.passed)::postrider.tick_span
    from (
        select postrider.passed_ticks(p_tick) as passed
        offset 0
    ) k
    left join lateral (
        select t.id, t.at, t.from_at, t.to_at, t.stragglers, t.is_sparse
        from postrider.tick t
        where t.id >= p_tick
        and (t.id > p_tick or t.last_id > p_after_id)
        and not k.passed @> t.id
        and (p_has_own or t.xid is distinct from pg_current_xact_id_if_assigned())
        and (t.id <= p_settled_tick or (select postrider.are_ticks_settled()))
        order by t.id
        limit p_look
    ) n on true
    group by k.passed;
$$;

-- Name: note_actor(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_actor() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    acting text := current_setting('role');
begin
    if new.details ->> 'by' = session_user and acting not in ('none', session_user::text) then
        new.details := new.details || jsonb_build_object('role', acting);
    end if;
    return new;
end;
$$;

-- Name: note_broker(text, boolean, bigint, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_broker(p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    delete from postrider.broker_report b
    where b.at < clock_timestamp() - interval '1 hour'
    and b.process <> p_process;
    insert into postrider.broker_report (process, at, is_connected, dead_letter_depth, error)
    values (
        p_process, clock_timestamp(), p_is_connected, p_dead_letter_depth, left(p_error, 1000))
    on conflict (process) do update
    set at = excluded.at,
        is_connected = excluded.is_connected,
        dead_letter_depth = excluded.dead_letter_depth,
        error = excluded.error;
$$;

-- Name: note_clock_jump(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_clock_jump() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    -- A clock that is corrected by less delays nothing for long.
    shortest constant interval := '2 seconds';
    -- Those that were written while nobody looked are fewer: each dispatcher writes one every two seconds.
    most_heartbeats constant bigint := (select 200 + 20 * count(*) from postrider.dispatcher d);
    last_beat record;
begin
    select h.at, h.xid, h.horizon
    into last_beat
    from (
        select b.at, b.horizon, b.xid
        from postrider.heartbeat b
        where b.xid > (select coalesce(max(j.xid), '0') from postrider.clock_jump j)
        order by b.xid desc
        limit most_heartbeats
    ) h
    where h.at > clock_timestamp() + shortest
    order by h.xid desc
    limit 1;
    if last_beat.at is null or not postrider.take_chore('clock') then
        return;
    end if;
    -- Somebody else may have noted it before.
    with noted as (
        insert into postrider.clock_jump (back, horizon)
        select last_beat.at - clock_timestamp(), last_beat.horizon
        where not exists (select from postrider.clock_jump j where j.xid > last_beat.xid)
        returning back
    ), unfinished as (
        -- By the clock that is right from now on.
        update postrider.clock_jump j
        set at = least(j.at, clock_timestamp()),
            next_at = least(j.next_at, clock_timestamp())
        where j.finished_at is null
        and exists (select from noted)
    ), former as (
        delete from postrider.clock_jump j
        where j.finished_at is not null
        and exists (select from noted)
    )
    insert into postrider.event_log (event, details)
    select 'clock.set_back', jsonb_build_object('seconds', round(extract(epoch from n.back)::numeric, 3))
    from noted n;
end;
$$;

-- Name: note_fetch(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_fetch(p_consumer_id integer, p_partition integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    sign_of_life constant interval := '10 seconds';
begin
    perform
    from postrider.newest_position(p_consumer_id, p_partition) p
    where p.fetched_at between clock_timestamp() - sign_of_life and clock_timestamp();
    if not found and postrider.has_consumer_lock(p_consumer_id, p_partition) then
        -- Not before the lock: it may have moved.
        perform postrider.append_position(p, p.tick, p.xid, p.message_id, 0, clock_timestamp())
        from postrider.newest_position(p_consumer_id, p_partition) p;
    end if;
end;
$$;

-- Name: note_page(integer, integer, bigint, bigint, xid8, bigint, bigint, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_page(p_consumer_id integer, p_partition integer, p_seq bigint, p_tick bigint, p_xid xid8, p_id bigint, p_count bigint, p_is_end boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform set_config(
        format('postrider.fetched_%s_%s', p_consumer_id, p_partition),
        array[
            p_seq::text, p_tick::text, p_xid::text, p_id::text, p_count::text,
            clock_timestamp()::text, coalesce(p_is_end, false)::text
        ]::text,
        true);
    return true;
end;
$$;

-- Name: note_published(bigint[], bigint[], boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_published(p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    noted tid[];
    queue_ttl constant bigint := postrider.get_setting('worker_queue_ttl_ms')::bigint;
    scheduled_timeout constant interval :=
        make_interval(secs => postrider.get_setting('scheduled_timeout')::integer);
    published integer;
begin
    -- What somebody else has locked counts as not published, and only that.
    select array_agg(o.ctid)
    into noted
    from unnest(p_executions, p_fences) n (id, fence)
    cross join lateral (
        select l.ctid
        from postrider.live_execution l
        where l.id = n.id
        and l.fence = n.fence
        and l.status = 'scheduled'
        offset 0
        for update skip locked
    ) o;
    update postrider.live_execution l
    set is_published = true,
        due_at = case
            when p_is_dead_lettered and l.ttl_ms = queue_ttl
                then greatest(l.scheduled_at + scheduled_timeout, l.expires_at + interval '10 seconds')
            else l.expires_at + interval '5 seconds'
        end
    where l.ctid = any (noted);
    get diagnostics published = row_count;
    return published;
end;
$$;

-- Name: note_signing_keys(integer, jsonb, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_signing_keys(p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    delete from postrider.signing_key k
    where k.endpoint_id = p_endpoint_id
    and k.id not in (
        select postrider.signing_key_id(g.key)
        from jsonb_array_elements_text(p_keys) g (key)
    );
    insert into postrider.signing_key (endpoint_id, id, kind, public_key, is_hidden)
    select
        p_endpoint_id, postrider.signing_key_id(g.key),
        case when starts_with(g.key, 'whsec_') then 'v1' else 'v1a' end,
        case
            when starts_with(g.key, 'whsk_')
            then 'whpk_' || encode(substr(decode(substr(g.key, 6), 'base64'), 33), 'base64')
        end,
        p_is_hidden
    from jsonb_array_elements_text(p_keys) g (key)
    on conflict (endpoint_id, id) do nothing;
end;
$$;

-- Name: note_verb(text, bigint, text[], text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.note_verb(p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    insert into postrider.event_log (event, endpoint_name, details)
    select
        case p_verb
            when 'retry' then 'delivery.retried'
            when 'fail' then 'delivery.failed'
            when 'skip' then 'delivery.skipped'
        end,
        n.name,
        jsonb_strip_nulls(
            jsonb_build_object('message_id', p_message_id, 'reason', p_reason, 'by', session_user))
    from unnest(p_endpoint_names) n (name);
$$;

-- Name: notification_queue_usage(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.notification_queue_usage() RETURNS double precision
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select pg_notification_queue_usage();
$$;

-- Name: number_distance(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.number_distance(p_from bigint, p_to bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select p_to - p_from - coalesce(sum(least(g.last_number, p_to) - greatest(g.after_number, p_from)), 0)::bigint
    from postrider.number_gap g
    where g.after_number < p_to
    and g.last_number > p_from;
$$;

-- Name: open_snapshot(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.open_snapshot() RETURNS pg_snapshot
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    own constant xid8 := pg_current_xact_id_if_assigned();
    seen constant pg_snapshot := pg_current_snapshot();
begin
    if own is null or not pg_visible_in_snapshot(own, seen) then
        return seen;
    end if;
    return format(
        '%s:%s:%s', least(pg_snapshot_xmin(seen), own), pg_snapshot_xmax(seen), (
            select string_agg(x.xid::text, ',' order by x.xid)
            from (
                select p.xid
                from pg_snapshot_xip(seen) p (xid)
                union
                select own
            ) x
        ));
end;
$$;

-- Name: open_transactions(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.open_transactions(p_limit integer) RETURNS TABLE(kind text, pid integer, gid text, database text, state text, application_name text, age double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        t.kind, t.pid, t.gid, t.database, t.state, t.application_name,
        greatest(extract(epoch from clock_timestamp() - t.started_at), 0)::double precision
    from (
        select
            'session', a.pid, null, a.datname::text, a.state, a.application_name, a.xact_start
        from pg_stat_activity a
        where a.xact_start is not null
        and a.pid <> pg_backend_pid()
        and a.leader_pid is null
        and a.backend_type is distinct from 'autovacuum worker'
        union all
        select 'prepared transaction', null, p.gid, p.database::text, 'prepared', null, p.prepared
        from pg_prepared_xacts p
    ) t (kind, pid, gid, database, state, application_name, started_at)
    order by t.started_at
    limit p_limit;
$$;

-- Name: overdue_deliveries(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.overdue_deliveries() RETURNS TABLE(endpoint_name text, kind text, since timestamp with time zone, is_moving boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
    with recursive waiting (endpoint_id) as (
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
    ), known (endpoint_id, kind, since) as (
        select u.endpoint_id, 'not read', u.due_since
        from postrider.unread_messages() u
        union all
        select p.endpoint_id, 'passed over', p.passed_since
        from (
            select
                (p.value ->> 0)::integer as endpoint_id,
                timestamptz 'epoch'
                + (p.value ->> 3)::double precision * interval '1 microsecond' as passed_since
            from postrider.shard_reports() r
            cross join lateral jsonb_array_elements(r.statistics -> 'pending') p
        ) p
        union all
        select w.endpoint_id, 'waiting', first.run_at
        from waiting w
        cross join postrider.shard s
        cross join lateral (
            select min(d.run_at) as run_at
            from (
                select f.message_id, f.target, f.retry_count, f.run_at
                from postrider.deferred f
                where f.endpoint_id = w.endpoint_id
                and f.shard = s.shard
                and f.run_at <= (select clock_timestamp())
                order by f.run_at
                limit 5
            ) d
            where not postrider.is_claimed(d.message_id, d.target, d.retry_count)
        ) first
    )
    select
        e.name, (array_agg(k.kind order by k.since))[1],
        greatest(min(k.since), e.updated_at, c.since, c.paused_until),
        coalesce(
            greatest(c.last_success_at, c.last_failure_at) > clock_timestamp() - interval '1 minute',
            false)
    from known k
    join postrider.endpoints e on e.id = k.endpoint_id
    left join postrider.circuit c on c.endpoint_id = e.id
    where k.since <= clock_timestamp()
    and e.enabled
    and not e.paused
    and coalesce(c.state, 'closed') = 'closed'
    and (c.paused_until is null or c.paused_until <= clock_timestamp())
    group by e.id, c.endpoint_id;
$$;

-- Name: park_message(text, bigint, integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
declare
    most_characters constant integer := 8192;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    first record;
    parked_id bigint;
begin
    if p_position is null then
        raise exception 'p_position must not be null' using errcode = '22004';
    end if;
    if p_attempt_count is null or p_attempt_count < 1 then
        raise exception 'p_attempt_count must be at least 1, got %',
            coalesce(p_attempt_count::text, 'null') using errcode = '22023';
    end if;
    if not exists (select from postrider.fetched_batches(reader)) then
        raise exception
            'Consumer ''%'' has nothing to park: it must be in the transaction of its fetch_messages',
            p_consumer using errcode = '55000';
    end if;
    select f.partition, m.*
    into first
    from postrider.fetched_batches(reader) f
    cross join lateral postrider.newest_position(reader.id, f.partition) p
    cross join lateral (
        select c.*
        from postrider.consumer_messages(
            reader, f.partition, p.tick, p.xid, p.message_id, f.tick,
            greatest(10000, f.message_count)::integer) c
        limit 1
    ) m
    where m.id >> 10 = p_position;
    if not found then
        raise exception
            'p_position must be that of the first message fetched and not acknowledged, got %',
            p_position using errcode = '22023';
    end if;
    -- Raises if the consumer has been moved meanwhile.
    perform postrider.acknowledge(p_consumer, p_position);

    insert into postrider.parked_message as k (
        consumer_id, message_id, xid, tick, partition, attempt_count, last_error, created_at,
        scheduled_at, correlation_id, event_type, ordering_key, headers, metadata, payload, body,
        content_type)
    values (
        reader.id, first.id, first.xid, first.tick, first.partition, p_attempt_count,
        left(p_error, most_characters), first.created_at, first.scheduled_at, first.correlation_id,
        first.event_type, first.ordering_key, first.headers, first.metadata, first.payload, first.body,
        first.content_type)
    on conflict on constraint parked_message_consumer_id_message_id_key do update
    set attempt_count = excluded.attempt_count,
        last_error = excluded.last_error,
        parked_at = excluded.parked_at
    returning k.id into parked_id;
    insert into postrider.event_log (event, details)
    values (
        'consumer.message_parked',
        jsonb_build_object(
            'consumer', p_consumer, 'id', parked_id, 'message_id', first.id, 'position', p_position,
            'partition', first.partition, 'attempt_count', p_attempt_count, 'by', session_user));
    return parked_id;
end;
$$;

-- Name: partition_horizons(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.partition_horizons() RETURNS TABLE(table_name text, horizon interval, width interval, has_default_rows boolean)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    part record;
    this_moment constant timestamptz := clock_timestamp();
    covered_until timestamptz;
    parent text;
begin
    foreach parent in array array['message', 'done', 'partly_done', 'ended', 'attempt', 'tick'] loop
        table_name := parent;
        begin
            covered_until := this_moment;
            width := null;
            for part in
                select b.lower::timestamptz as lower, b.upper::timestamptz as upper
                from pg_inherits i
                join pg_class c on c.oid = i.inhrelid
                cross join lateral (
                    select
                        substring(g.bound from 'FROM \(''([^'']+)''\)') as lower,
                        substring(g.bound from 'TO \(''([^'']+)''\)') as upper
                    from pg_get_expr(c.relpartbound, c.oid) g (bound)
                ) b
                where i.inhparent = format('postrider.%I', parent)::regclass
                and b.lower is not null
                and b.upper is not null
                order by 1
            loop
                continue when part.upper <= covered_until;
                exit when part.lower > covered_until;
                width := coalesce(width, part.upper - part.lower);
                covered_until := part.upper;
            end loop;
            horizon := covered_until - this_moment;
            execute format('select exists (select from postrider.%I)', parent || '_default')
            into has_default_rows;
        exception
            when lock_not_available then
                horizon := null;
                width := null;
                has_default_rows := null;
        end;
        return next;
    end loop;
end;
$$;

-- Name: partition_months_ahead(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.partition_months_ahead() RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select case s.value when 'day' then 0 else 3 end
    from postrider.setting s
    where s.name = 'partition_interval';
$$;

-- Name: pass_generation(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pass_generation() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    newest integer;
begin
    lock table postrider.execution_generation in share update exclusive mode nowait;
    select g.id
    into newest
    from postrider.execution_generation g
    where g.xid is distinct from pg_current_xact_id_if_assigned()
    order by g.id desc
    limit 1;
    if newest > pg_sequence_last_value('postrider.present_generation') then
        perform setval('postrider.present_generation', newest);
    end if;
    -- Lets go of the lock; the sequence stays.
    raise sqlstate 'PR001';
exception
    when sqlstate 'PR001' or lock_not_available then null;
end;
$$;

-- Name: pass_unwanted(postrider.consumer_position, bigint, postrider.tick_span, integer, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pass_unwanted(p_position postrider.consumer_position, p_to_tick bigint, p_span postrider.tick_span, p_look integer, p_to_xid xid8) RETURNS postrider.consumer_position
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    last_id constant bigint := 9223372036854775807;
    moved postrider.consumer_position := p_position;
    cut record;
begin
    if p_position.xid is null then
        select t.tick, null::xid8 as xid, t.id
        into cut
        from postrider.tick_messages(
            p_position.tick, p_position.message_id, p_to_tick, p_look, p_span) t
        offset p_look - 1;
    else
        select null::bigint as tick, x.xid, x.id
        into cut
        from postrider.transaction_messages(
            p_position.xid, p_position.message_id, p_look, p_to_xid) x
        order by x.xid desc, x.id desc
        limit 1;
    end if;
    if cut.id is not null or (p_to_tick, last_id) > (p_position.tick, p_position.message_id) then
        perform postrider.append_position(
            p_position, case when p_position.tick is not null then coalesce(cut.tick, p_to_tick) end,
            cut.xid, coalesce(cut.id, last_id), 0, clock_timestamp());
        select p.*
        into strict moved
        from postrider.newest_position(p_position.consumer_id, p_position.partition) p;
    end if;
    return moved;
end;
$$;

-- Name: passed_ticks(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.passed_ticks(p_tick bigint) RETURNS int8multirange
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
begin
    if pg_sequence_last_value('postrider.tick_epoch') is null then
        return '{}';
    end if;
    return (
        with recursive passing as (
            (
                select t.id, t.passes_after
                from postrider.tick t
                where t.passes_after is not null
                and t.id > p_tick
                order by t.id desc
                limit 1
            )
            union all
            select n.id, n.passes_after
            from passing p
            cross join lateral (
                select t.id, t.passes_after
                from postrider.tick t
                where t.passes_after is not null
                and t.id > p_tick
                and t.id <= p.passes_after
                order by t.id desc
                limit 1
            ) n
        )
        select coalesce(range_agg(int8range(p.passes_after + 1, p.id)), '{}')
        from passing p
    );
end;
$$;

-- Name: pause_all(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select s.switched_count, s.held from postrider.switch_all_endpoints(true) s;
$$;

-- Name: pause_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pause_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.switch_endpoint(p_endpoint_name, null, true);
$$;

-- Name: peek_messages(text, integer, bigint, xid8, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.peek_messages(p_consumer text, p_limit integer DEFAULT 100, p_after_tick bigint DEFAULT NULL::bigint, p_after_transaction xid8 DEFAULT NULL::xid8, p_after_message bigint DEFAULT NULL::bigint) RETURNS TABLE("position" bigint, partition integer, transaction_id xid8, message_id bigint, message_type text, data jsonb, headers jsonb, metadata jsonb, scheduled timestamp with time zone, tick bigint, created_at timestamp with time zone, ordering_key text, correlation_id uuid, body bytea, content_type text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    most_messages constant integer := 10000;
    -- Messages, or ticks, that are looked at in one go.
    look constant integer := 10000;
    most_ticks constant integer := 2000;
    last_id constant bigint := 9223372036854775807;
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    whole postrider.consumer := reader;
    -- Where each partition is.
    ticks bigint[];
    xids xid8[];
    ids bigint[];
    place record;
    cut record;
    ahead record;
    message_count bigint;
    found_count bigint := 0;
begin
    if p_limit is null or p_limit not between 1 and most_messages then
        raise exception 'p_limit must be between 1 and %, got %', most_messages,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    -- One walk over what all its partitions read.
    whole.partition_count := 1;
    select
        array_agg(p.tick order by p.partition), array_agg(p.xid order by p.partition),
        array_agg(p.message_id order by p.partition)
    into ticks, xids, ids
    from generate_series(0, reader.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(reader.id, g.partition) p;
    select p.tick, p.xid, p.id
    into place
    from unnest(ticks, xids, ids) p (tick, xid, id)
    order by p.tick, p.xid, p.id
    limit 1;
    if coalesce(
            (p_after_tick, coalesce(p_after_message, last_id)) > (place.tick, place.id),
            (p_after_transaction, coalesce(p_after_message, last_id)) > (place.xid, place.id))
    then
        select
            case when place.tick is not null then p_after_tick end as tick,
            case when place.xid is not null then p_after_transaction end as xid,
            coalesce(p_after_message, last_id) as id
        into place;
    end if;
    loop
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(place.tick, place.id, most_ticks) n;
        return query
        select
            m.id >> 10, k.partition, m.xid, m.id, m.event_type, m.payload, m.headers, m.metadata,
            m.scheduled_at, m.tick, m.created_at, m.ordering_key, m.correlation_id, m.body,
            m.content_type
        from postrider.consumer_messages(
            whole, 0, place.tick, place.xid, place.id, ahead.to_tick, look, ahead.span) m
        cross join lateral (
            select postrider.message_partition(m.ordering_key, m.id, reader.partition_count)
        ) k (partition)
        where case
            when place.tick is not null then (m.tick, m.id) > (ticks[k.partition + 1], ids[k.partition + 1])
            else (m.xid, m.id) > (xids[k.partition + 1], ids[k.partition + 1])
        end
        limit p_limit - found_count;
        get diagnostics message_count = row_count;
        found_count := found_count + message_count;
        exit when found_count >= p_limit;

        select c.tick, c.xid, c.id
        into cut
        from (
            select t.tick, t.xid, t.id
            from postrider.tick_messages(place.tick, place.id, ahead.to_tick, look, ahead.span) t
            union all
            select null, x.xid, x.id
            from postrider.transaction_messages(place.xid, place.id, look) x
        ) c
        offset look - 1;
        exit when cut.id is null and (place.tick is null or ahead.tick_count < most_ticks);
        select
            case when place.tick is not null then coalesce(cut.tick, ahead.to_tick) end as tick,
            case when place.xid is not null then cut.xid end as xid,
            coalesce(cut.id, last_id) as id
        into place;
    end loop;
end;
$$;

-- Name: pending_deliveries(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pending_deliveries() RETURNS TABLE(endpoint_id integer, delivery_count double precision, oldest_at timestamp with time zone, passed_since timestamp with time zone, unread double precision, unread_oldest_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    unread_ids integer[];
    unread_counts double precision[];
    unread_oldest timestamptz[];
    unread_due timestamptz[];
    is_unread_known boolean := true;
begin
    begin
        select
            array_agg(u.endpoint_id), array_agg(u.delivery_count), array_agg(u.oldest_at),
            array_agg(u.due_since)
        into unread_ids, unread_counts, unread_oldest, unread_due
        from postrider.unread_messages() u;
    exception
        when lock_not_available then is_unread_known := false;
    end;
    return query
    with reported as (
        select
            (p.value ->> 0)::integer as endpoint_id,
            sum((p.value ->> 1)::double precision * r.share) as delivery_count,
            min(s.oldest_at) filter (where s.oldest_at <= clock_timestamp()) as oldest_at,
            min(s.passed_since) filter (where s.passed_since <= clock_timestamp()) as passed_since
        from postrider.shard_reports() r
        cross join lateral jsonb_array_elements(r.statistics -> 'pending') p
        cross join lateral (
            select
                timestamptz 'epoch' + (p.value ->> 2)::double precision * interval '1 microsecond',
                timestamptz 'epoch' + (p.value ->> 3)::double precision * interval '1 microsecond'
        ) s (oldest_at, passed_since)
        group by 1
    ), unread as (
        select u.endpoint_id, u.delivery_count, u.oldest_at, u.due_since
        from unnest(unread_ids, unread_counts, unread_oldest, unread_due)
            u (endpoint_id, delivery_count, oldest_at, due_since)
    )
    select
        coalesce(r.endpoint_id, u.endpoint_id),
        coalesce(r.delivery_count, 0) + coalesce(u.delivery_count, 0),
        least(r.oldest_at, u.due_since), r.passed_since,
        case when is_unread_known then coalesce(u.delivery_count, 0) end,
        u.oldest_at
    from reported r
    full join unread u on u.endpoint_id = r.endpoint_id;
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

-- Name: phased_waits(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.phased_waits(policy jsonb) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    phases record;
    waits bigint[];
    count bigint;
    span bigint;
    -- A geometric row that starts at 0 stays there.
    first double precision;
begin
    select p.* into phases from postrider.retry_phases(policy) p;
    count := phases.backoff_retries;
    -- In milliseconds.
    span := (phases.maximum_delay - phases.minimum_delay) * 1000;
    first := least(greatest(phases.minimum_delay, 1), phases.maximum_delay);
    waits := array(
        select case
            when phases.has_fixed_step
                then least(phases.minimum_delay + 5 * (i - 1), phases.maximum_delay) * 1000
            when phases.curve in ('geometric', 'exponential') then floor(
                first * 1000 * power(
                    phases.maximum_delay / greatest(first, 1), (i - 1) / greatest(count - 1, 1)::float8)
                + 0.5)::bigint
            when count = 1 then phases.minimum_delay * 1000
            when phases.curve = 'linear' then phases.minimum_delay * 1000
                + (2 * span * (i - 1) + (count - 1)) / (2 * (count - 1))
            else phases.minimum_delay * 1000
                + (2 * span * (i - 1) * i + (count - 1) * count) / (2 * (count - 1) * count)
        end
        from generate_series(1, count) i
        order by i
    );
    return array_fill(0::bigint, array[phases.retries_with_no_delay::integer])
        || array_fill(
            phases.minimum_delay * 1000, array[phases.minimum_delay_retries::integer])
        || waits
        || array_fill(
            phases.maximum_delay * 1000, array[phases.maximum_delay_retries::integer]);
end;
$$;

-- Name: pool_figures(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pool_figures() RETURNS TABLE(pool text, active_count bigint, busy_count bigint, inactive_count bigint, cordoned_count bigint, error_count bigint, capacity bigint, free_capacity bigint, waiting_count bigint, is_waiting_in_pool boolean, scheduled_count bigint, running_count bigint, oldest_waiting_at timestamp with time zone, oldest_scheduled_at timestamp with time zone, overdue_count bigint, mean_duration double precision, scaling_signal double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
    with recursive queues (queue) as (
        select ''
        union all
        select (
            select min(l.queue)
            from postrider.live_generation g
            cross join lateral (
                select l.queue
                from postrider.live_execution l
                where l.generation = g.id
                and l.status = 'requested'
                and not l.is_delayed
                and l.queue > q.queue
                order by l.queue
                limit 1
            ) l
        )
        from queues q
        where q.queue is not null
    ), present as materialized (
        select
            w.id, w.pool, w.capacity, n.scheduled_count, n.running_count, n.oldest_scheduled_at,
            n.overdue_count,
            case
                when w.status = 'inactive' or w.heartbeat_at is null or w.heartbeat_at < s.live_from
                    then 'inactive'
                when w.cordoned_at is not null then 'cordoned'
                when w.status = 'error' then 'error'
                when n.scheduled_count + n.running_count >= w.capacity then 'busy'
                else 'active'
            end as status
        from postrider.worker w
        cross join (
            select clock_timestamp() - make_interval(secs => v.value::integer) as live_from
            from postrider.setting v
            where v.name = 'worker_stale_after'
        ) s
        cross join lateral (
            select
                count(*) filter (where l.status = 'scheduled') as scheduled_count,
                count(*) filter (where l.status = 'running') as running_count,
                min(l.scheduled_at) filter (where l.status = 'scheduled') as oldest_scheduled_at,
                count(*) filter (
                    where l.status = 'scheduled'
                    and l.scheduled_at < clock_timestamp() - interval '5 minutes') as overdue_count
            from (
                select l.status, l.scheduled_at
                from postrider.live_generation g
                cross join lateral (
                    select l.status, l.scheduled_at
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.worker_id = w.id
                    limit w.capacity + 1000
                ) l
                limit w.capacity + 1000
            ) l
        ) n
    ), queued as materialized (
        select
            q.queue, q.queue like 'pool:%' as is_pool,
            case when q.queue like 'pool:%' then substr(q.queue, 6) else w.pool end as pool
        from queues q
        left join present w on 'worker:' || w.id = q.queue
        where q.queue > ''
    ), waiting as materialized (
        select p.pool, p.is_waiting_in_pool, n.waiting_count, n.oldest_waiting_at
        from (
            select q.pool, bool_or(q.is_pool) as is_waiting_in_pool
            from queued q
            where q.pool is not null
            group by q.pool
        ) p
        cross join lateral (
            select count(*) as waiting_count, min(l.requested_at) as oldest_waiting_at
            from (
                select l.requested_at
                from queued q
                cross join lateral (
                    select l.requested_at
                    from postrider.live_generation g
                    cross join lateral (
                        select l.requested_at
                        from postrider.live_execution l
                        where l.generation = g.id
                        and l.queue = q.queue
                        and l.status = 'requested'
                        and not l.is_delayed
                        limit 10000
                    ) l
                    limit 10000
                ) l
                where q.pool = p.pool
                limit 10000
            ) l
        ) n
    ), durations as materialized (
        select
            coalesce(nullif(s.pool, ''), w.pool) as pool,
            sum(s.running_seconds) / nullif(sum(s.started_count), 0) as mean_duration
        from postrider.execution_statistics s
        left join postrider.worker w on w.id = s.worker_id
        where s.hour >= date_trunc('hour', clock_timestamp(), 'UTC') - interval '1 hour'
        and s.status in ('completed', 'failed', 'timeout')
        group by 1
    ), workers as materialized (
        select
            p.pool,
            count(*) filter (where p.status = 'active') as active_count,
            count(*) filter (where p.status = 'busy') as busy_count,
            count(*) filter (where p.status = 'inactive') as inactive_count,
            count(*) filter (where p.status = 'cordoned') as cordoned_count,
            count(*) filter (where p.status = 'error') as error_count,
            coalesce(sum(p.capacity) filter (where p.status in ('active', 'busy')), 0) as capacity,
            coalesce(sum(greatest(p.capacity - p.scheduled_count - p.running_count, 0))
                filter (where p.status = 'active'), 0)::bigint as free_capacity,
            sum(p.scheduled_count)::bigint as scheduled_count,
            sum(p.running_count)::bigint as running_count,
            min(p.oldest_scheduled_at) as oldest_scheduled_at,
            sum(p.overdue_count)::bigint as overdue_count
        from present p
        group by p.pool
    )
    select
        n.pool, coalesce(w.active_count, 0), coalesce(w.busy_count, 0), coalesce(w.inactive_count, 0),
        coalesce(w.cordoned_count, 0), coalesce(w.error_count, 0), coalesce(w.capacity, 0),
        coalesce(w.free_capacity, 0), coalesce(q.waiting_count, 0),
        coalesce(q.is_waiting_in_pool, false), coalesce(w.scheduled_count, 0),
        coalesce(w.running_count, 0), q.oldest_waiting_at, w.oldest_scheduled_at,
        coalesce(w.overdue_count, 0), d.mean_duration,
        case
            when coalesce(q.waiting_count, 0) = 0 then 0
            else q.waiting_count * d.mean_duration / nullif(w.capacity, 0)
        end
    from (
        select w.pool from workers w
        union
        select q.pool from waiting q
    ) n
    left join workers w on w.pool = n.pool
    left join waiting q on q.pool = n.pool
    left join durations d on d.pool = n.pool;
$$;

-- Name: pool_workers(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.pool_workers(p_pool text) RETURNS TABLE(worker_id integer, carrier text, health_rank integer, free_capacity bigint)
    LANGUAGE plpgsql ROWS 10
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    select r.worker_id, r.carrier, r.health_rank, r.free_capacity
    from (
        select
            w.id as worker_id, w.carrier,
            case w.health when 'healthy' then 0 when 'degraded' then 1 else 2 end as health_rank,
            greatest(w.capacity - (
                select count(*)
                from (
                    select
                    from postrider.live_generation g
                    cross join lateral (
                        select
                        from postrider.live_execution l
                        where l.generation = g.id
                        and l.worker_id = w.id
                        limit w.capacity
                    ) l
                    limit w.capacity
                ) l
            ), 0) as free_capacity,
            bool_or(w.health <> 'unhealthy') over () as has_better
        from postrider.worker w
        where w.pool = p_pool
        and w.status = 'active'
        and w.cordoned_at is null
        and w.heartbeat_at > clock_timestamp()
            - make_interval(secs => postrider.get_setting('worker_stale_after')::integer)
    ) r
    where r.health_rank < 2 or not r.has_better
    order by r.health_rank, r.free_capacity desc, r.worker_id;
end;
$$;

-- Name: prepare_endpoint(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.prepare_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    secret_names text[];
    secrets jsonb := '{}';
    whole jsonb;
    url text;
    is_generated boolean := false;
    is_other boolean;
begin
    if tg_op = 'UPDATE' then
        if (new.id, new.name, new.protocol, new.direct_subscription_id)
            is distinct from (old.id, old.name, old.protocol, old.direct_subscription_id)
        then
            raise exception
                'Name and protocol of endpoint ''%'' cannot be changed: create another one', old.name
                using errcode = '22023';
        end if;
        if (new.config, new.retry_policy, new.enabled, new.paused)
            is not distinct from (old.config, old.retry_policy, old.enabled, old.paused)
        then
            return new;
        end if;
        select s.config into secrets from postrider.endpoint_secret s where s.endpoint_id = old.id;
        new.version := old.version + 1;
        -- Whoever resumes it takes it out of what resume_all resumes.
        new.is_paused_with_all := new.is_paused_with_all and new.paused;
        -- By another limit it is judged anew.
        new.is_full := new.is_full
            and new.config -> 'max_queue_size' is not distinct from old.config -> 'max_queue_size';
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
    if tg_op = 'UPDATE'
        and postrider.url_origin(old.config ->> 'url')
            is distinct from postrider.url_origin(new.config ->> 'url')
        and exists (
            select
            from jsonb_object_keys(secrets) s (name)
            where not new.config ? s.name
            -- They are not sent.
            and s.name <> 'signing_keys'
        )
    then
        raise exception
            'The secrets of endpoint ''%'' do not follow to another scheme, host or port: give them again, or null',
            old.name
            using errcode = '22023';
    end if;
    if jsonb_typeof(whole) = 'object' then
        whole := coalesce(secrets, '{}') || whole;
        whole := whole - array(
            select n.name
            from unnest(secret_names) n (name)
            where whole -> n.name = 'null'
        );
    end if;
    -- Nothing goes out unsigned by accident.
    if tg_op = 'INSERT'
        and jsonb_typeof(new.config) = 'object'
        and not new.config ? 'signing_keys'
        and new.config ->> 'signature' is distinct from 'none'
        and postrider.can_sign(new.protocol)
    then
        is_generated := true;
        whole := whole || jsonb_build_object(
            'signing_keys', jsonb_build_array(postrider.make_signing_key()));
    end if;
    perform postrider.validate_endpoint_config(new.protocol, whole);
    url := new.config ->> 'url';
    -- A change of keys is not refused for what the rest has been since before.
    is_other := tg_op = 'INSERT' or new.config - 'signing_keys' is distinct from old.config;
    if is_other
        and not postrider.is_web_port(
            substring(url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer)
        and postrider.get_setting('allow_any_port') <> 'on'
    then
        raise exception 'Port % is not for web traffic; see allow_any_port',
            substring(url from '^[^/]+//[^/?]+:([0-9]{1,5})(?:[/?]|$)')::integer
            using errcode = '22023';
    end if;

    new.config := whole - secret_names;
    select jsonb_object_agg(w.key, w.value)
    into secrets
    from jsonb_each(whole) w
    where w.key = any (secret_names);
    if is_other
        and secrets -> 'headers' <> '{}'
        and url ~* '^http:'
        and not postrider.is_private(
            postrider.address_literal(substring(url from '^[^/]+//(\[[^]]*\]|[^/?:]+)')))
    then
        raise exception 'Secret headers are sent over plain http to private addresses only: use https'
            using errcode = '22023';
    end if;
    if secrets is null then
        delete from postrider.endpoint_secret s where s.endpoint_id = new.id;
    else
        insert into postrider.endpoint_secret (endpoint_id, config, set_at)
        select new.id, secrets, jsonb_object_agg(k.key, now()) from jsonb_object_keys(secrets) k (key)
        on conflict (endpoint_id) do update
        set config = excluded.config,
            set_at = (
                select jsonb_object_agg(
                    n.key,
                    case
                        when endpoint_secret.config -> n.key = n.value
                        then endpoint_secret.set_at -> n.key
                        else to_jsonb(now())
                    end)
                from jsonb_each(excluded.config) n
            );
    end if;
    if postrider.can_sign(new.protocol) then
        perform postrider.note_signing_keys(
            new.id, coalesce(secrets -> 'signing_keys', '[]'), is_generated);
    end if;
    return new;
end;
$_$;

-- Name: prepare_event_type(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.prepare_event_type() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if jsonb_typeof(new.schema) not in ('object', 'boolean') then
        raise exception 'schema must be a JSON Schema (an object or a boolean), got %',
            jsonb_typeof(new.schema) using errcode = '22023';
    end if;
    if jsonb_typeof(new.metadata) <> 'object' then
        raise exception 'metadata must be an object, got %', jsonb_typeof(new.metadata)
            using errcode = '22023';
    end if;
    perform postrider.validate_retry_policy(new.metadata -> '_retry_policy');
    return new;
end;
$$;

-- Name: prepare_setting(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.prepare_setting() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if new.name <> old.name then
        raise exception 'Setting ''%'' cannot be called otherwise', old.name using errcode = '22023';
    end if;
    if new.value is null then
        raise exception 'Setting name and value must not be null' using errcode = '22004';
    end if;
    if new.value <> old.value
        and (new.value <> new.default_value or new.default_value = old.default_value)
    then
        new.value := postrider.check_setting(new, new.value);
    end if;
    return new;
end;
$$;

-- Name: prepare_subscription(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.prepare_subscription() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if tg_op = 'UPDATE'
        and new.event_type is null
        and (new.filter, new.retry_policy, new.enabled)
            is distinct from (old.filter, old.retry_policy, old.enabled)
    then
        raise exception 'Subscription % stands for its endpoint and cannot be changed', new.id
            using errcode = '55000', hint = 'Change the endpoint.';
    end if;
    if new.enabled is null then
        raise exception 'enabled must not be null' using errcode = '22004';
    end if;
    if jsonb_typeof(new.filter) <> 'object' then
        raise exception 'filter must be an object, got %', jsonb_typeof(new.filter)
            using errcode = '22023';
    end if;
    perform postrider.validate_retry_policy(new.retry_policy);
    return new;
end;
$$;

-- Name: probe_worker(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.probe_worker(p_worker_id integer) RETURNS TABLE(health text, failure_streak integer, failure_rate real, queue_depth integer)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
    with recent as materialized (
        select n.status <> 'completed' as is_failure, n.position
        from (
            select t.status, t.started_at, t.ended_at, row_number() over (order by t.id desc) as position
            from (
                select f.id, f.status, f.started_at, f.ended_at
                from postrider.execution_end f
                where f.worker_id = p_worker_id
                order by f.id desc
                limit 50
            ) t
        ) n
        where n.status in ('completed', 'failed', 'timeout')
        and n.started_at is not null
        and n.ended_at > clock_timestamp() - interval '5 minutes'
    ), figures as (
        select
            (count(*) filter (where r.is_failure and r.position < s.first_success))::integer as failure_streak,
            (case
                when count(*) >= 10 then count(*) filter (where r.is_failure)::real / count(*)
                else 0
            end)::real as failure_rate
        from recent r
        cross join (
            select coalesce(min(q.position) filter (where not q.is_failure), 51) as first_success
            from recent q
        ) s
    ), waiting as (
        select count(*)::integer as queue_depth
        from (
            select
            from postrider.live_generation g
            cross join lateral (
                select
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = p_worker_id
                and l.status = 'scheduled'
                limit 10000
            ) l
            limit 10000
        ) l
    )
    select
        case
            when f.failure_streak >= 10 or f.failure_rate >= 0.7::real or w.queue_depth >= 100 then 'unhealthy'
            when f.failure_streak >= 3 or f.failure_rate >= 0.3::real or w.queue_depth >= 50 then 'degraded'
            else 'healthy'
        end,
        f.failure_streak, f.failure_rate, w.queue_depth
    from figures f
    cross join waiting w;
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

-- Name: publish_dead_letters(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.publish_dead_letters(p_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
    announced postrider.event_types;
    letter record;
    published integer := 0;
begin
    if p_ids = '{}' then
        return 0;
    end if;
    select t.* into announced from postrider.event_types t where t.name = 'postrider.dead_letter';
    if announced.id is null then
        return 0;
    end if;
    begin
        for letter in
            select
                l.correlation_id,
                jsonb_build_object(
                    'dlq_id', l.id, 'message_id', l.message_id, 'endpoint_name', l.endpoint_name,
                    'cause', l.cause, 'retry_count', l.retry_count, 'last_error', l.last_error,
                    'event_type', l.event_type, 'correlation_id', l.correlation_id,
                    'created_at', l.message_created_at, 'failed_at', l.failed_at) as payload
            from unnest(p_ids) i (id)
            cross join lateral (
                select d.*
                from postrider.dead_letter d
                where d.id >= i.id
                and d.id <= i.id
                order by d.id
                limit 1
            ) l
            where l.event_type is distinct from announced.name
            order by l.id
        loop
            perform postrider.append_message(
                null, null, announced, letter.payload, null, null, 0, null, null,
                letter.correlation_id, null, null, null, null);
            published := published + 1;
        end loop;
    exception
        when others then
            insert into postrider.event_log (event, details)
            select
                'dlq.not_published',
                jsonb_build_object(
                    'count', cardinality(p_ids), 'first_dlq_id', p_ids[1], 'error', sqlerrm)
            where not exists (
                select
                from postrider.event_log l
                where l.event = 'dlq.not_published'
                and l.at between now() - interval '1 minute' and now()
            );
            return 0;
    end;
    return published;
end;
$$;

-- Name: publish_execution_end(postrider.live_execution, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.publish_execution_end(p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
    announced postrider.event_types;
    correlation uuid;
begin
    select t.* into announced
    from postrider.event_types t
    where t.name = 'postrider.execution_ended';
    if announced.id is null then
        return false;
    end if;
    begin
        select e.correlation_id into correlation from postrider.execution e where e.id = p_live.id;
        perform postrider.append_message(
            null, null, announced,
            jsonb_build_object(
                'execution_id', p_live.id, 'action', p_live.action, 'pool', p_live.pool,
                'worker_id', p_live.worker_id, 'status', p_status, 'reason', p_reason,
                'attempt', p_live.attempt, 'error', p_error, 'correlation_id', correlation,
                'ended_at', clock_timestamp()),
            null, null, 0, null, null, correlation, null, null, null, null);
    exception
        when others then
            insert into postrider.event_log (event, details)
            select
                'execution.not_published',
                jsonb_build_object('execution_id', p_live.id, 'error', sqlerrm)
            where not exists (
                select
                from postrider.event_log l
                where l.event = 'execution.not_published'
                and l.at between now() - interval '1 minute' and now()
            );
            return false;
    end;
    return true;
end;
$$;

-- Name: queue_base(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.queue_base() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select floor(sum(coalesce(newest.backlog, 0)) / count(*))::bigint
    from postrider.shard s
    left join lateral (
        select c.backlogs[array_position(c.shards, s.shard)] as backlog
        from postrider.checkpoint c
        where c.shards @> array[s.shard]
        order by c.seq desc
        limit 1
    ) newest on true;
$$;

-- Name: read_partition(postrider.consumer, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.read_partition(p_consumer postrider.consumer, p_partition integer, p_limit integer) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    -- Messages, and ticks, that are looked at in one go, and how long one call passes unwanted ones.
    look integer := greatest(10000, p_limit);
    tick_look integer := 2000;
    passing constant interval := '500 milliseconds';
    sign_of_life constant interval := '10 seconds';
    began constant timestamptz := clock_timestamp();
    -- It reads all of the log.
    is_whole constant boolean :=
        p_consumer.type_patterns is null and p_consumer.filter is null
        and p_consumer.partition_count = 1 and p_consumer.start_id is null
        and p_consumer.start_at is null;
    known postrider.consumer_position;
    moved postrider.consumer_position;
    ahead record;
    to_xid xid8;
begin
    -- Then a page is all that has to be looked at, and there is no tick without a message.
    if is_whole then
        look := p_limit;
        tick_look := least(p_limit, tick_look);
    end if;
    select p.* into known from postrider.newest_position(p_consumer.id, p_partition) p;

    loop
        -- Now and then it is looked for all the same.
        exit when postrider.is_at_end(known) and known.fetched_at > began - sign_of_life;
        select n.to_tick, n.tick_count, n.span
        into ahead
        from postrider.next_ticks(known.tick, known.message_id, tick_look, p_has_own => false) n;
        exit when known.tick is not null and ahead.tick_count = 0;
        -- What ends meanwhile must not be passed unseen.
        to_xid := pg_snapshot_xmin(pg_current_snapshot());
        -- The last row is noted as it passes by: another look at the page would cost as much as the page.
        return query
        select
            p.tick, p.id, p.xid, p.created_at, p.scheduled_at, p.correlation_id, p.event_type,
            p.ordering_key, p.headers, p.metadata, p.payload, p.body, p.content_type
        from (
            select m.*, row_number() over () as number, count(*) over () as page_count
            from (
                select c.*
                from postrider.consumer_messages(
                    p_consumer, p_partition, known.tick, known.xid, known.message_id, ahead.to_tick,
                    look, ahead.span, to_xid) c
                limit p_limit
            ) m
        ) p
        where p.number < p.page_count
        or postrider.note_page(
            p_consumer.id, p_partition, known.seq, p.tick, p.xid, p.id, p.page_count,
            is_whole and p.page_count < p_limit and p.tick = ahead.to_tick);
        if found then
            return;
        end if;
        moved := postrider.pass_unwanted(known, ahead.to_tick, ahead.span, look, to_xid);
        exit when moved.seq = known.seq or clock_timestamp() > began + passing;
        known := moved;
    end loop;
end;
$$;

-- Name: rebase_executions(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.rebase_executions() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'auto'
    SET enable_seqscan TO 'on'
    SET enable_bitmapscan TO 'on'
    AS $$
declare
    counted constant xid8 := '3';
    uncounted constant xid8 := '4';
    known postrider.execution_rollup;
begin
    perform from postrider.chore c where c.name = 'figures' for update;
    select r.* into known from postrider.execution_rollup r;
    update postrider.execution_end e
    set xid = case
            when e.xid >= known.horizon or e.ended_at > known.at then uncounted
            else counted
        end;
    update postrider.execution_dead_letter d
    set xid = case
            when d.xid >= known.horizon or d.at > known.at then uncounted
            else counted
        end;
    update postrider.execution_rollup r
    set horizon = uncounted;
    -- The sequence may be ahead of the table.
    perform setval('postrider.oldest_generation', 1);
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
    AS $_$
declare
    last_id constant bigint := 9223372036854775807;
    first_xid constant bigint := 3;
    most_groups constant integer := 2000;
    unfinished bigint;
    floor_number bigint;
    newest_number bigint;
    tick_id bigint;
    group_count bigint;
    finished_count bigint;
    part record;
    known postrider.consumer_position;
begin
    -- Before this transaction has an id: see heartbeat.
    select s.last_value into floor_number from postrider.message_sequence s;
    -- Before the log: who reads may be about to send.
    perform
    from postrider.consumer_lock l
    order by l.consumer_id, l.partition
    for update;
    -- And whoever makes a tick.
    lock table postrider.tick in share row exclusive mode;
    -- Who sends draws a number first. Written anew, the sequence is locked, and what is set is undone with us.
    alter sequence postrider.message_sequence increment by 1;
    lock table postrider.message in share row exclusive mode;
    -- Before anything is numbered here.
    newest_number := postrider.advance_sequences();

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

    -- How far each partition of each consumer is: up to the snapshot of a tick, and in this up to an id.
    create temporary table reading on commit drop as
    select
        c.id as consumer_id, g.partition, c.partition_count, c.start_snapshot, c.start_id,
        p.xid, p.message_id, coalesce(p.fetched_at, c.created_at) as read_at,
        t.snapshot, t.sequence_floor,
        case when t.id = p.tick and p.message_id < last_id then t.base_xmax end as part_xmax, t.stragglers
    from postrider.consumer c
    cross join lateral generate_series(0, c.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(c.id, g.partition) p
    left join lateral (
        select k.id, k.snapshot, k.sequence_floor, k.base_xmax, k.stragglers
        from postrider.tick k
        where k.id <= p.tick
        order by k.id desc
        limit 1
    ) t on true;

    create temporary table settled on commit drop as
    select
        o.id, o.created_at,
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
        ) as is_finished,
        array(
            select r.consumer_id
            from reading r
            where r.partition = postrider.message_partition(o.ordering_key, o.id, r.partition_count)
            and (
                o.id >> 10 <= r.sequence_floor
                and pg_visible_in_snapshot(o.xid, r.snapshot)
                and (
                    r.part_xmax is null
                    or o.id <= r.message_id
                    or o.xid < r.part_xmax and o.xid <> all (r.stragglers)
                )
                or (o.xid, o.id) <= (r.xid, r.message_id)
                and (o.created_at <= r.read_at or o.id <= r.message_id)
                or o.id < r.start_id
                and pg_visible_in_snapshot(o.xid, r.start_snapshot)
            )
            order by r.consumer_id
        ) as readers
    from postrider.message o
    left join finished f on f.sequence_number = o.id >> 10;
    if (
        select count(*) > least(
            most_groups, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - first_xid)
        from (
            select distinct m.is_finished, m.readers
            from settled m
        ) n
    ) then
        update settled m
        set readers = array(
            select c.id
            from postrider.consumer c
            where not exists (select from settled o where c.id <> all (o.readers))
            order by c.id
        );
    end if;
    create temporary table grouped on commit drop as
    select
        g.is_finished, g.readers,
        (first_xid - 1 + row_number() over (
            order by g.is_finished desc, cardinality(g.readers) desc, g.first_id))::text::xid8 as xid
    from (
        select m.is_finished, m.readers, min(m.id) as first_id
        from settled m
        group by m.is_finished, m.readers
    ) g;
    select count(*), count(*) filter (where g.is_finished) into group_count, finished_count from grouped g;
    analyze settled;

    -- Nobody else may.
    insert into postrider.log_change default values;
    update postrider.message m
    set xid = g.xid
    from settled s
    join grouped g on g.is_finished = s.is_finished and g.readers = s.readers
    where m.id = s.id;
    delete from postrider.log_change;
    select count(*) into unfinished from settled m where not m.is_finished;

    select 1 + greatest(max(n.id), 0)
    into tick_id
    from (
        select max(t.id) as id from postrider.tick t
        union all
        select max(p.tick) from postrider.consumer_position p
    ) n;
    perform setval('postrider.tick_sequence', greatest(tick_id, s.last_value))
    from postrider.tick_sequence s;
    delete from postrider.tick;
    insert into postrider.tick (
        id, epoch, at, sequence_floor, xid, snapshot, base_xmax, stragglers, first_id, last_id, from_at,
        to_at, message_count, is_sparse)
    select
        tick_id, coalesce(pg_sequence_last_value('postrider.tick_epoch'), 0), greatest(clock_timestamp(), max(m.created_at)), floor_number, pg_current_xact_id(),
        format('%1$s:%1$s:', first_xid + group_count)::pg_snapshot, first_xid::text::xid8, '{}',
        min(m.id), max(m.id), min(m.created_at), max(m.created_at), count(*), false
    from settled m
    where exists (select from postrider.consumer)
    having count(*) > 0;
    for part in
        select
            r.consumer_id, r.partition,
            exists (select from grouped g where r.consumer_id = any (g.readers)) as is_begun,
            exists (select from grouped g where r.consumer_id <> all (g.readers)) as is_behind
        from reading r
    loop
        select p.* into known from postrider.newest_position(part.consumer_id, part.partition) p;
        perform postrider.append_position(
            known,
            case when known.tick is not null then tick_id - part.is_behind::integer end,
            case
                when known.xid is null then null
                when part.is_behind then '0'::xid8
                else (first_xid + group_count)::text::xid8
            end,
            case
                when known.tick is not null then last_id
                else 0
            end,
            0, known.fetched_at);
        update postrider.consumer c
        set start_snapshot = case when n.is_needed then n.snapshot::pg_snapshot end,
            start_id = case when n.is_needed then (newest_number + 1) << 10 end
        from (
            select
                part.is_begun and part.is_behind as is_needed,
                format(
                    '%s:%s:%s', coalesce(min(g.xid::text::bigint), first_xid + group_count),
                    first_xid + group_count,
                    string_agg(g.xid::text, ',' order by g.xid)) as snapshot
            from grouped g
            where part.consumer_id <> all (g.readers)
        ) n
        where c.id = part.consumer_id;
    end loop;
    delete from postrider.consumer_lease;

    -- Whatever was read before is forgotten; everyone starts behind what is finished. What a dump says of
    -- dispatchers is nobody's sign of life.
    update postrider.shard s set owner = null, epoch = s.epoch + 1;
    delete from postrider.dispatcher;
    delete from postrider.heartbeat;
    delete from postrider.clock_jump;
    delete from postrider.claim;
    delete from postrider.checkpoint;
    -- Everyone begins behind what is finished, and only the rest counts as waiting.
    insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
    select
        postrider.current_slot(), '00000000-0000-0000-0000-000000000000',
        array_agg(s.shard order by s.shard), (first_xid + finished_count)::text::xid8,
        array_agg(n.last_value - unfinished),
        jsonb_build_array(jsonb_build_object('state', jsonb_build_object(
            'tail', finished.position, 'done', jsonb_build_array(finished.position),
            -- Nothing was taken that is not on record.
            'open', '[]'::jsonb)))
    from postrider.shard s
    cross join postrider.message_sequence n
    cross join (
        select jsonb_build_object('base', format('%1$s:%1$s:', first_xid + finished_count))
    ) finished (position)
    group by finished.position;
    perform postrider.update_gate();
    perform postrider.rebase_executions();
    -- What was copied has changed since for nobody.
    update postrider.job j set xid = pg_current_xact_id() where j.state = 'running';
    return unfinished;
end;
$_$;

-- Name: recheck_idempotency_keys(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recheck_idempotency_keys(p_after bigint, p_most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
    seen bigint[];
    held bigint[];
begin
    select array_agg(w.message_id order by w.message_id), array_agg(w.message_id) filter (where w.ended_at is null)
    into seen, held
    from (
        select k.message_id, k.ended_at
        from postrider.idempotency_key k
        where k.message_id > p_after
        order by k.message_id
        limit p_most
    ) w;
    if held is not null then
        perform postrider.free_idempotency_keys(held);
    end if;
    return case when cardinality(seen) >= p_most then seen[p_most] else 0 end;
end;
$$;

-- Name: recover_claims(uuid, smallint[], bigint[], uuid, bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]) RETURNS TABLE(recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return query
    select w.recovered, w.held_ids, w.held_targets, w.held_retry_counts
    from (
        select
            coalesce(array_agg(d.message_id), '{}') as ids, array_agg(d.target) as targets,
            array_agg(d.retry_count) as retry_counts
        from (
            select distinct r.message_id, r.target, r.retry_count
            from postrider.claim c
            cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
                r (message_id, target, retry_count)
            where c.owner = p_last_owner
            and r.message_id <> all (p_spared)
            and (r.message_id & 1023) >> 4 = any (p_shards)
        ) d
    ) c
    cross join lateral postrider.recover_waiting(
        p_dispatcher, p_shards, p_epochs, c.ids, c.targets, c.retry_counts) w;
end;
$$;

-- Name: recover_messages(uuid, smallint[], bigint[], bigint[], boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    recovered integer;
    places tid[];
    -- Those that are let go and were not attempted.
    spared tid[];
begin
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return 0;
    end if;
    with put_back as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error, ordering_key, is_blocked)
        select
            m.id, t.target,
            coalesce((select s.endpoint_id from postrider.subscriptions s where s.id = t.target), 0),
            m.lane >> 4,
            case
                when o.is_blocked then coalesce(m.expires_at, 'infinity')
                when m.scheduled_at > clock_timestamp() then least(m.scheduled_at, m.expires_at)
                else clock_timestamp()
            end,
            o.retry_count, o.retry_count, m.created_at, m.expires_at,
            case when o.retry_count = 1 then '[RETRYABLE] Recovered from stale processing state' end,
            m.ordering_key, o.is_blocked
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.*
            from postrider.message k
            where k.id >= i.id
            and k.id <= i.id
            order by k.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
        cross join lateral (
            select
                m.ordering_key is not null,
                (
                    p_attempted
                    and m.ordering_key is null
                    and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
                )::integer
        ) o (is_blocked, retry_count)
        where not postrider.is_deferred(m.id, t.target)
        and not exists (select from postrider.delivery_end(m.id, t.target))
        on conflict (message_id, target) do nothing
        returning message_id, target, endpoint_id, retry_count
    ), noted as (
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
            correlation_id)
        select
            p.message_id, p.target, p.endpoint_id, p.retry_count, clock_timestamp(), 0, 'unknown',
            'Recovered from stale processing state', m.correlation_id
        from put_back p
        cross join lateral (
            select k.correlation_id
            from postrider.message k
            where k.id >= p.message_id
            and k.id <= p.message_id
            order by k.id
            limit 1
        ) m
        where p.retry_count > 0
    )
    select count(*) into recovered from put_back p;

    -- What was cancelled before it was read has been read now, and has ended.
    select array_agg(c.ctid)
    into places
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select o.ctid
        from postrider.cancellation o
        where o.message_id = i.id
        and exists (select from postrider.delivery_end(o.message_id, o.target))
        offset 0
        for update skip locked
    ) c;
    delete from postrider.cancellation c
    where c.ctid = any (places);

    -- One that is locked is being cancelled or has expired, in a transaction that may stay open.
    select
        array_agg(d.ctid) filter (where p_attempted and f.is_first),
        array_agg(d.ctid) filter (where not (p_attempted and f.is_first))
    into places, spared
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select k.scheduled_at
        from postrider.message k
        where k.id >= i.id
        and k.id <= i.id
        order by k.id
        limit 1
    ) m
    cross join lateral (
        select w.ctid, w.ordering_key
        from postrider.deferred w
        where w.message_id = i.id
        and w.is_blocked
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key is not null
            and (b.ordering_key, b.endpoint_id, b.message_id) >= (w.ordering_key, w.endpoint_id, 0)
            and (b.ordering_key, b.endpoint_id, b.message_id)
                < (w.ordering_key, w.endpoint_id, w.message_id)
            offset 0
        )
        offset 0
        for update skip locked
    ) d
    cross join lateral (
        select not is_global or not exists (
            select
            from (
                select k.message_id
                from postrider.deferred k
                where is_global
                and k.ordering_key = d.ordering_key
                offset 0
            ) b
            where b.message_id < i.id
        )
    ) f (is_first)
    where m.scheduled_at is null
    or m.scheduled_at <= clock_timestamp();
    update postrider.deferred d
    set is_blocked = false,
        run_at = clock_timestamp()
    where d.ctid = any (spared);
    with released as (
        update postrider.deferred d
        set is_blocked = false,
            run_at = clock_timestamp(),
            retry_count = d.retry_count + 1,
            recovery_count = d.recovery_count + 1,
            last_error = '[RETRYABLE] Recovered from stale processing state'
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    )
    insert into postrider.attempt (
        message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
        correlation_id)
    select
        r.message_id, r.target, r.endpoint_id, r.retry_count, clock_timestamp(), 0, 'unknown',
        'Recovered from stale processing state', m.correlation_id
    from released r
    cross join lateral (
        select k.correlation_id
        from postrider.message k
        where k.id >= r.message_id
        and k.id <= r.message_id
        order by k.id
        limit 1
    ) m;
    return recovered;
end;
$$;

-- Name: recover_waiting(uuid, smallint[], bigint[], bigint[], integer[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_waiting(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) RETURNS TABLE(recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    places tid[];
begin
    recovered := 0;
    held_ids := '{}';
    held_targets := '{}';
    held_retry_counts := '{}';
    if p_message_ids = '{}' then
        return next;
        return;
    end if;
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        held_ids := p_message_ids;
        held_targets := p_targets;
        held_retry_counts := p_retry_counts;
        return next;
        return;
    end if;
    select
        array_agg(d.ctid),
        coalesce(array_agg(c.message_id) filter (where d.ctid is null), '{}'),
        coalesce(array_agg(c.target) filter (where d.ctid is null), '{}'),
        coalesce(array_agg(c.retry_count) filter (where d.ctid is null), '{}')
    into places, held_ids, held_targets, held_retry_counts
    from unnest(p_message_ids, p_targets, p_retry_counts) c (message_id, target, retry_count)
    cross join lateral (
        select w.message_id
        from postrider.deferred w
        where w.message_id = c.message_id
        and w.target = c.target
        and w.retry_count = c.retry_count
        and w.shard = any (p_shards)
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key is not null
            and (b.ordering_key, b.endpoint_id, b.message_id) >= (w.ordering_key, w.endpoint_id, 0)
            and (b.ordering_key, b.endpoint_id, b.message_id)
                < (w.ordering_key, w.endpoint_id, w.message_id)
            offset 0
        )
        and not (
            is_global
            and exists (
                select
                from (
                    select o.message_id
                    from postrider.deferred o
                    where o.ordering_key = w.ordering_key
                    offset 0
                ) b
                where b.message_id < w.message_id
            )
        )
        offset 0
    ) k
    left join lateral (
        select w.ctid
        from postrider.deferred w
        where w.message_id = c.message_id
        and w.target = c.target
        and w.retry_count = c.retry_count
        offset 0
        for update skip locked
    ) d on true;
    if held_ids <> '{}' then
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        values (
            postrider.current_slot(), p_dispatcher, held_ids, held_targets, held_retry_counts);
    end if;
    with put_back as (
        update postrider.deferred d
        set run_at = clock_timestamp(),
            retry_count = d.retry_count + 1,
            recovery_count = d.recovery_count + 1,
            is_blocked = false,
            last_error = '[RETRYABLE] Recovered from stale processing state'
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    ), noted as (
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
            correlation_id)
        select
            p.message_id, p.target, p.endpoint_id, p.retry_count, clock_timestamp(), 0, 'unknown',
            'Recovered from stale processing state', m.correlation_id
        from put_back p
        left join lateral (
            select k.correlation_id
            from postrider.message k
            where k.id >= p.message_id
            and k.id <= p.message_id
            order by k.id
            limit 1
        ) m on true
    )
    select count(*) into recovered from put_back p;
    return next;
end;
$$;

-- Name: recover_worker(postrider.worker, text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.recover_worker(p_worker postrider.worker, p_reason text, p_is_leaving boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    -- Of what waits in its queue; check_workers looks after the rest.
    most_returned constant integer := 1000;
    live postrider.live_execution;
    own_queue constant text := postrider.execution_queue(p_worker.id, null);
    is_lost constant boolean := p_is_leaving and p_reason is not null;
    is_failing constant boolean := is_lost and postrider.get_setting('stale_worker_policy') = 'fail';
    error jsonb;
    is_out_of_reach boolean;
    recovered integer := 0;
begin
    error := jsonb_build_object(
        'error', case
            when is_lost then 'Worker heartbeat stale'
            else 'Worker registered again'
        end,
        'message', case
            when is_lost then 'Worker sent no heartbeat for too long'
            else 'Another process has taken over the name of the worker'
        end,
        'worker', p_worker.name, 'heartbeat_at', p_worker.heartbeat_at);
    for live in
        select l.*
        from postrider.execution_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = p_worker.id
            and l.worker_epoch < p_worker.epoch
            -- Not an order that another index has: all that waits would be walked through.
            order by l.id + 0
            for update skip locked
        ) l
    loop
        is_out_of_reach := 'postgres' in (live.carrier, p_worker.carrier);
        if live.status = 'running' and p_reason is not null then
            perform postrider.fail_attempt(live, p_reason, error);
        elsif live.status = 'running' then
            perform postrider.return_execution(live, live.pool is not null);
        elsif live.pool is not null and (p_is_leaving or is_out_of_reach) then
            perform postrider.return_execution(live, p_is_leaving);
        elsif is_failing then
            perform postrider.fail_attempt(live, 'worker_unavailable', error);
        elsif is_out_of_reach then
            perform postrider.return_execution(live, false);
        else
            continue;
        end if;
        recovered := recovered + 1;
    end loop;
    if not p_is_leaving then
        return recovered;
    end if;
    for live in
        select l.*
        from postrider.execution_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue = own_queue
            and l.status = 'requested'
            and not l.is_delayed
            and (l.pool is not null or is_failing)
            limit case when not is_failing then most_returned end
            for update skip locked
        ) l
        limit case when not is_failing then most_returned end
    loop
        if live.pool is not null then
            perform postrider.return_execution(live, true);
        else
            perform postrider.fail_attempt(live, 'worker_unavailable', error);
        end if;
        recovered := recovered + 1;
    end loop;
    return recovered;
end;
$$;

-- Name: redrive_all(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_all(p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select r.job_id, r.estimate, r.has_more
    from postrider.redrive_matching(p_rate => redrive_all.p_rate) r;
$$;

-- Name: redrive_batch(postrider.job); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 100;
    ahead constant interval := '5 seconds';
    began constant timestamptz := clock_timestamp();
    -- Without a rate the microseconds keep the order.
    gap constant interval := coalesce(interval '1 second' / p_job.rate, '1 microsecond');
    allowed bigint := most;
    look_at bigint;
    looked_at bigint;
    letters bigint[];
    last_message bigint;
    last_target integer;
    put_back bigint;
begin
    done_count := 0;
    reached := coalesce(p_job.position, '[0, 0]');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    pause := '0';
    is_over := false;
    -- What is due later than that was written before the clock was set back.
    paced_to := least(p_job.paced_to, began + ahead);
    if p_job.rate is not null then
        paced_to := greatest(paced_to, began);
        allowed := least(most, floor(p_job.rate * extract(epoch from began + ahead - paced_to)));
    end if;
    while done_count < allowed and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        look_at := least(chunk_size, allowed - done_count);
        last_message := (reached ->> 0)::bigint;
        last_target := (reached ->> 1)::integer;
        execute $walk$
            select
                count(*), coalesce(array_agg(w.id) filter (where w.is_wanted), '{}'),
                (array_agg(w.message_id order by w.message_id desc, w.target desc))[1],
                (array_agg(w.target order by w.message_id desc, w.target desc))[1]
            from (
                select
                    l.id, l.message_id, l.target,
                    l.id <= $3
                    and l.erased_at is null
                    and ($4 is null or l.endpoint_id = $4)
                    and postrider.is_letter_wanted(
                        $5, l.failed_at, l.last_error, l.cause, l.event_type)
                    and exists (select from postrider.endpoints e where e.id = l.endpoint_id)
                    as is_wanted
                from postrider.dead_letter l
                where l.status = 'failed'
                and (l.message_id, l.target) > ($1, $2)
                order by l.message_id, l.target
                limit $6
            ) w
            $walk$
        into looked_at, letters, last_message, last_target
        using last_message, last_target, p_job.last_id, p_job.endpoint_id, p_job.filter, look_at;
        is_over := looked_at < look_at;
        if letters <> '{}' then
            if p_job.rate is null then
                paced_to := greatest(paced_to, clock_timestamp() - chunk_size * gap);
            end if;
            put_back := postrider.redrive_letters(letters, p_job.created_by, paced_to, gap);
            paced_to := paced_to + put_back * gap;
            done_count := done_count + put_back;
            if put_back < cardinality(letters) then
                held_from := coalesce(held_from, reached);
                held_count := held_count + cardinality(letters) - put_back;
            end if;
        end if;
        if looked_at > 0 then
            reached := jsonb_build_array(last_message, last_target);
        end if;
    end loop;
    if done_count > 0 then
        perform postrider.ring('postrider', 'deferred');
    end if;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := '1 second';
    elsif allowed < most and done_count >= allowed then
        pause := '1 second';
    end if;
end;
$_$;

-- Name: redrive_endpoint(text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select r.job_id, r.estimate, r.has_more
    into job_id, estimate, has_more
    from postrider.redrive_matching(p_endpoint_name, p_rate => redrive_endpoint.p_rate) r;
end;
$$;

-- Name: redrive_letters(bigint[], text, timestamp with time zone, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_letters(p_ids bigint[], p_by text, p_from timestamp with time zone, p_gap interval) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    with wanted as materialized (
        -- Each by its index, whatever the plan was made for.
        select o.ctid
        from unnest(p_ids) i (id)
        cross join lateral (
            select l.ctid
            from postrider.dead_letter l
            where l.id = i.id
            and l.status = 'failed'
            and l.erased_at is null
            and exists (select from postrider.endpoints e where e.id = l.endpoint_id)
            offset 0
            for update of l skip locked
        ) o
    ), put_back as (
        update postrider.dead_letter l
        set status = 'redriven', redriven_at = clock_timestamp(), redriven_by = p_by
        where l.ctid = any (array(select w.ctid from wanted w))
        returning l.message_id, l.target, l.endpoint_id, l.message_created_at, l.ordering_key
    ), placed as (
        select
            p.message_id, p.target, p.endpoint_id, p.message_created_at, p.ordering_key,
            row_number() over (order by p.message_id, p.target) - 1 as place
        from put_back p
    ), waiting as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at, ordering_key)
        select
            p.message_id, p.target, p.endpoint_id, (p.message_id & 1023) >> 4,
            p_from + p.place * p_gap, p.message_created_at, p.ordering_key
        from placed p
        on conflict (message_id, target) do nothing
    )
    select count(*)::integer
    from put_back p;
$$;

-- Name: redrive_matching(text, timestamp with time zone, timestamp with time zone, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_matching(p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_cause text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
declare
    look_at constant integer := 10000;
    wanted integer;
    wanted_letters constant jsonb := jsonb_strip_nulls(
        jsonb_build_object(
            'from', p_from, 'to', p_to, 'error_pattern', p_error_pattern, 'cause', p_cause,
            'event_type', p_event_type));
begin
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000 deliveries per second, got %', p_rate
            using errcode = '22023';
    end if;
    if p_cause not in ('rejected', 'gone', 'retries_exhausted', 'stale', 'operator', 'endpoint_dropped') then
        raise exception
            'p_cause must be rejected, gone, retries_exhausted, stale, operator or endpoint_dropped, got ''%''',
            left(p_cause, 100) using errcode = '22023';
    end if;
    perform postrider.check_event_type(p_event_type);
    begin
        perform '' ~ p_error_pattern;
    exception
        when invalid_regular_expression then
            raise exception 'p_error_pattern must be a POSIX regular expression, got ''%''',
                left(p_error_pattern, 200) using errcode = '22023', detail = sqlerrm;
    end;
    select count(*) filter (where l.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            (wanted is null or k.endpoint_id = wanted)
            and k.erased_at is null
            and postrider.is_letter_wanted(
                wanted_letters, k.failed_at, k.last_error, k.cause, k.event_type)
            and exists (select from postrider.endpoints e where e.id = k.endpoint_id)
            as is_wanted
        from postrider.dead_letter k
        where k.status = 'failed'
        and (p_endpoint_name is null or k.endpoint_name = p_endpoint_name)
        limit look_at
    ) l;
    job_id := postrider.create_job(
        'redrive', wanted, p_endpoint_name, wanted_letters, p_rate,
        (select coalesce(max(l.id), 0) from postrider.dead_letter l), estimate, has_more);
end;
$$;

-- Name: redrive_message(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.redrive_message(p_dlq_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
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
    if postrider.redrive_letters(array[p_dlq_id], session_user, clock_timestamp(), '0') = 0 then
        raise exception 'Endpoint ''%'' of dead letter % has been dropped', letter.endpoint_name,
            p_dlq_id using errcode = '55000';
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'dlq.redriven', letter.endpoint_name,
        jsonb_build_object('dlq_id', p_dlq_id, 'by', session_user));
    perform postrider.ring('postrider', 'deferred');
    return letter.message_id;
end;
$$;

-- Name: refuse_copy(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_copy() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if postrider.is_copy() then
        raise exception 'The log in database "%" is a copy that nobody has adopted', current_database()
            using errcode = '55000',
                hint = 'The original hands out the same. If this one is to go on, run `postrider adopt`.';
    end if;
end;
$$;

-- Name: refuse_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_endpoint(p_endpoint_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if exists (
        select
        from postrider.endpoints e
        where e.name = p_endpoint_name
        and e.enabled
        -- It was full when the caller looked, and may not be any more.
        and e.config ? 'max_queue_size'
    ) then
        perform postrider.refuse_full_endpoint(p_endpoint_name, 1);
    end if;
    if exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' is disabled', p_endpoint_name using errcode = '55000';
    end if;
    raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
end;
$$;

-- Name: refuse_full_endpoint(text, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_full_endpoint(p_endpoint_name text, p_count bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    raise exception
        '[postrider] Queue backpressure: % more on top of what waits for endpoint ''%'' would exceed limit %',
        p_count, p_endpoint_name, (
            select e.config ->> 'max_queue_size'
            from postrider.endpoints e
            where e.name = p_endpoint_name
        )
        using errcode = '53400',
            hint = 'Send again when messages have been delivered, or raise max_queue_size of the endpoint.';
end;
$$;

-- Name: refuse_held_worker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_held_worker(p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    holders text;
begin
    with held as (
        select k.xmax
        from postrider.worker w
        join postrider.worker_lock k on k.worker_id = w.id
        where w.name = p_name
        union all
        select w.xmax from postrider.worker w where w.name = p_name
    )
    select string_agg(distinct l.pid::text, ', ')
    into holders
    from pg_locks l
    where l.pid <> pg_backend_pid()
    and l.granted
    and l.locktype = 'transactionid'
    and l.transactionid in (select h.xmax from held h);
    if holders is null then
        select string_agg(distinct l.pid::text, ', ')
        into holders
        from pg_locks l
        where l.pid <> pg_backend_pid()
        and l.granted
        and l.locktype = 'relation'
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and l.relation = 'postrider.worker'::regclass
        and l.mode = 'RowExclusiveLock';
    end if;
    raise exception 'Worker ''%'' is held by another transaction', left(p_name, 200)
        using errcode = '55006',
            detail = format('pid %s', coalesce(holders, 'unknown')),
            hint = 'It takes executions for this worker, submits them to it or changes it: end that transaction.';
end;
$$;

-- Name: refuse_log_change(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.refuse_log_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if exists (
        select
        from postrider.log_change c
        where c.xid = pg_current_xact_id_if_assigned()
    )
    then
        return new;
    end if;
    raise exception 'Message % cannot be changed: the log is append-only', old.id
        using errcode = 'P0001',
            hint = 'Cancel it with postrider.cancel_message, or send another one.';
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

-- Name: register_worker(text, text, integer, jsonb, text, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.register_worker(p_name text, p_pool text DEFAULT 'default'::text, p_capacity integer DEFAULT 1, p_labels jsonb DEFAULT '{}'::jsonb, p_version text DEFAULT NULL::text, p_host text DEFAULT NULL::text, p_carrier text DEFAULT NULL::text) RETURNS TABLE(worker_id integer, epoch integer, heartbeat_interval interval, stale_after interval)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$
#variable_conflict use_column
declare
    most_capacity constant integer := 10000;
    registered postrider.worker;
begin
    if p_name is null or p_pool is null or p_capacity is null then
        raise exception 'p_name, p_pool and p_capacity must not be null' using errcode = '22004';
    end if;
    perform postrider.check_fleet_name('p_name', p_name, 200);
    perform postrider.check_fleet_name('p_pool', p_pool, 100);
    if p_capacity not between 1 and most_capacity then
        raise exception 'p_capacity must be between 1 and %, got %', most_capacity, p_capacity
            using errcode = '22023';
    end if;
    if jsonb_typeof(p_labels) <> 'object' or octet_length(p_labels::text) > 8192 then
        raise exception 'p_labels must be an object of at most 8192 bytes' using errcode = '22023';
    end if;
    if p_carrier not in ('postgres', 'rabbitmq') then
        raise exception 'p_carrier must be postgres or rabbitmq, got ''%''', left(p_carrier, 100)
            using errcode = '22023';
    end if;

    perform postrider.refuse_copy();
    loop
        begin
            registered := postrider.addressed_worker(p_name, p_pool);
        exception
            when lock_not_available then
                perform postrider.refuse_held_worker(p_name);
        end;
        perform postrider.lock_worker(registered, true);
        -- Its row is locked: nobody registers it, or finds it lost, between this look and the update.
        perform postrider.check_worker_role(w.name, w.registered_by)
        from postrider.worker w
        where w.id = registered.id
        and w.status <> 'inactive'
        and w.heartbeat_at
            >= clock_timestamp() - make_interval(secs => postrider.get_setting('worker_stale_after')::integer);
        update postrider.worker w
        set pool = p_pool,
            labels = coalesce(p_labels, '{}'),
            carrier = coalesce(p_carrier, postrider.get_setting('execution_carrier')),
            status = 'active',
            capacity = p_capacity,
            epoch = w.epoch + 1,
            version = left(p_version, 100),
            host = left(p_host, 200),
            last_error = null,
            registered_by = postrider.caller(),
            registered_at = clock_timestamp(),
            heartbeat_at = clock_timestamp()
        where w.id = registered.id
        returning w.* into registered;
        -- Not if it was dropped meanwhile.
        exit when found;
    end loop;
    perform postrider.recover_worker(registered, 'worker_unavailable', false);
    insert into postrider.event_log (event, details)
    values (
        'worker.registered',
        jsonb_build_object(
            'worker', registered.name, 'pool', registered.pool, 'carrier', registered.carrier,
            'capacity', registered.capacity, 'epoch', registered.epoch, 'host', registered.host,
            'by', session_user));
    if current_setting('max_prepared_transactions')::integer = 0 then
        -- Who had the name before says that it lives, hears that it has lost the name, and stops.
        perform postrider.ring('postrider:executions', 'cancel:' || registered.id);
    end if;
    perform postrider.ring('postrider', 'workers')
    where registered.carrier = 'rabbitmq';
    return query
    select registered.id, registered.epoch, least(t.heartbeat_interval, t.stale_after / 3), t.stale_after
    from (
        select
            make_interval(secs => postrider.get_setting('worker_heartbeat_interval')::integer),
            make_interval(secs => postrider.get_setting('worker_stale_after')::integer)
    ) t (heartbeat_interval, stale_after);
end;
$$;

-- Name: release_execution(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    live postrider.live_execution;
begin
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null then
        return false;
    end if;
    perform postrider.return_execution(live, false);
    return true;
end;
$$;

-- Name: release_keys(text[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_keys(p_ordering_keys text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held tid[];
begin
    with recursive first as (
        select k.ordering_key, f.endpoint_id, f.message_id, f.target, f.is_blocked
        from unnest(p_ordering_keys) k (ordering_key)
        cross join lateral (
            select w.endpoint_id, w.message_id, w.target, w.is_blocked
            from postrider.deferred w
            where w.ordering_key is not null
            and w.ordering_key >= k.ordering_key
            and w.ordering_key <= k.ordering_key
            order by w.ordering_key, w.endpoint_id, w.message_id
            limit 1
        ) f
        union all
        select b.ordering_key, f.endpoint_id, f.message_id, f.target, f.is_blocked
        from first b
        cross join lateral (
            select w.endpoint_id, w.message_id, w.target, w.is_blocked
            from postrider.deferred w
            where w.ordering_key is not null
            and (w.ordering_key, w.endpoint_id) > (b.ordering_key, b.endpoint_id)
            and w.ordering_key <= b.ordering_key
            order by w.ordering_key, w.endpoint_id, w.message_id
            limit 1
        ) f
    )
    select array_agg(d.ctid)
    into held
    from first f
    cross join lateral (
        -- One that is locked is being released by somebody else, who may take any time.
        select w.ctid
        from postrider.deferred w
        where f.is_blocked
        and w.message_id = f.message_id
        and w.target = f.target
        and w.is_blocked
        offset 0
        for update skip locked
    ) d;
    update postrider.deferred d
    set is_blocked = false,
        run_at = least(d.expires_at, greatest(clock_timestamp(), (
            select m.scheduled_at
            from postrider.message m
            where m.id >= d.message_id
            and m.id <= d.message_id
            order by m.id
            limit 1
        )))
    where d.ctid = any (held);
    return coalesce(cardinality(held), 0);
end;
$$;

-- Name: release_partitions(text, uuid); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    reader postrider.consumer := postrider.known_consumer(p_consumer);
    at timestamptz;
    own postrider.consumer_lease;
begin
    if p_member is null then
        raise exception 'p_member must not be null' using errcode = '22004';
    end if;
    perform postrider.lock_leases(reader);
    at := clock_timestamp();
    select l.* into own from postrider.newest_leases(reader.id) l where l.member = p_member;
    perform postrider.check_lease_role(reader.name, own, at);
    if own.lease_until > at then
        insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at, leased_by)
        values (reader.id, p_member, '{}', at, own.joined_at, own.leased_by);
        return true;
    end if;
    return false;
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
    lock table postrider.fence in row share mode;
    update postrider.shard s
    set owner = null
    from unnest(p_shards, p_epochs) r (shard, epoch)
    where s.shard = r.shard
    and s.epoch = r.epoch
    and s.owner = p_dispatcher;
    get diagnostics released = row_count;
    perform postrider.ring('postrider', 'shards');
    return released;
end;
$$;

-- Name: release_slot(postrider.live_execution); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.release_slot(p_live postrider.live_execution) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_live.status <> 'requested'
        and exists (
            select
            from postrider.action a
            where a.name = p_live.action
            and a.concurrency is not null
        )
    then
        perform postrider.ring_workers(p_live.queue);
    end if;
    if p_live.carrier = 'rabbitmq' then
        perform postrider.ring_workers(postrider.execution_queue(null, w.pool))
        from postrider.worker w
        where w.id = p_live.worker_id;
    end if;
end;
$$;

-- Name: replay_message(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.replay_message(p_archive_message_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known record;
    target record;
    left_count integer := 0;
    ended_count integer := 0;
    disabled_name text;
    targets integer[] := '{}';
    replay_id bigint;
begin
    if p_archive_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.id, m.xid, m.targets, m.erased_at
    into known
    from postrider.message m
    where m.id = p_archive_message_id;
    if known.id is null then
        raise exception 'Message % does not exist', p_archive_message_id using errcode = '42704';
    end if;
    if known.erased_at is not null then
        raise exception 'Message % was erased', known.id using errcode = '55000';
    end if;

    for target in
        select
            t.target as id, e.name, e.enabled,
            postrider.ended_status(known.id, t.target, known.xid, postrider.done_before()) as status
        from unnest(known.targets) t (target)
        join postrider.subscriptions s on s.id = t.target
        join postrider.endpoints e on e.id = s.endpoint_id
        order by t.target
    loop
        left_count := left_count + 1;
        continue when target.status is null;
        ended_count := ended_count + 1;
        if target.enabled then
            targets := targets || target.id;
        else
            disabled_name := coalesce(disabled_name, target.name);
        end if;
    end loop;
    if left_count = 0 then
        raise exception 'Message % has no endpoint left', known.id using errcode = '55000';
    end if;
    if ended_count = 0 then
        raise exception 'Message % has not ended', known.id using errcode = '55000';
    end if;
    if targets = '{}' then
        perform postrider.refuse_endpoint(disabled_name);
    end if;

    -- Not erased before whoever erases sees the copy.
    perform from postrider.message m where m.id = known.id for key share;
    replay_id := (postrider.append_replays(array_fill(known.id, array[cardinality(targets)]), targets))[1];
    if replay_id is null then
        raise exception 'Message % was erased', known.id using errcode = '55000';
    end if;
    insert into postrider.event_log (event, details)
    values (
        'message.replayed',
        jsonb_build_object('message_id', replay_id, 'replay_of', known.id, 'by', session_user));
    return replay_id;
end;
$$;

-- Name: replay_range(bigint, timestamp with time zone, timestamp with time zone, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    endpoint record;
    since constant xid8 := postrider.done_before();
    own_targets integer[];
    message_ids bigint[];
    targets integer[];
    replayed integer;
begin
    if p_endpoint_id is null then
        raise exception 'Endpoint id must not be null' using errcode = '22004';
    end if;
    perform postrider.check_replay(p_from_ts, p_to_ts, p_status);
    select e.id, e.name, e.enabled into endpoint from postrider.endpoints e where e.id = p_endpoint_id;
    if endpoint.id is null then
        raise exception 'Endpoint % does not exist', p_endpoint_id using errcode = '42704';
    end if;
    if not endpoint.enabled then
        perform postrider.refuse_endpoint(endpoint.name);
    end if;
    own_targets := array(
        select s.id
        from postrider.subscriptions s
        where s.endpoint_id = endpoint.id
    );

    select coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.target), '{}')
    into message_ids, targets
    from (
        select m.id, t.target, postrider.ended_status(m.id, t.target, m.xid, since) as status
        from postrider.message m
        cross join lateral (
            select min(o.target) as target
            from unnest(m.targets) o (target)
            where o.target = any (own_targets)
        ) t
        where m.created_at >= p_from_ts
        and m.created_at < p_to_ts
        and m.replay_of is null
        and m.erased_at is null
        and m.targets && own_targets
    ) c
    where c.status = coalesce(p_status, c.status);
    -- Not erased before whoever erases sees the copy.
    perform
    from unnest(message_ids) i (id)
    cross join lateral (
        select k.id
        from postrider.message k
        where k.id = i.id
        offset 0
        for key share
    ) m;
    replayed := cardinality(postrider.append_replays(message_ids, targets));
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'range.replayed', endpoint.name,
        jsonb_build_object(
            'from_ts', p_from_ts, 'to_ts', p_to_ts, 'status', p_status, 'replayed', replayed,
            'by', session_user));
    return replayed;
end;
$$;

-- Name: reserve_generation(integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.reserve_generation(p_generation integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    execute format(
        'lock table postrider.generation_lock_%s in share update exclusive mode nowait',
        p_generation % 32);
    return true;
exception
    when lock_not_available then return false;
end;
$$;

-- Name: reset_circuit_breaker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known integer;
    former postrider.circuit;
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    select e.id into known from postrider.endpoints e where e.name = p_endpoint_name;
    if known is null then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    select c.* into former from postrider.circuit c where c.endpoint_id = known for update;
    if former.state = 'closed'
        and former.failure_count = 0
        and coalesce(former.paused_until <= clock_timestamp(), true)
    then
        return false;
    end if;
    update postrider.circuit c
    set version = c.version + 1,
        state = 'closed',
        failure_count = 0,
        since = clock_timestamp(),
        probe_at = null,
        probe_owner = null,
        paused_until = null,
        failing_since = null
    where c.endpoint_id = known;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'circuit.reset', p_endpoint_name,
        jsonb_build_object(
            'from', former.state, 'to', 'closed', 'failure_count', former.failure_count,
            'by', session_user));
    perform postrider.ring('postrider', 'circuits');
    return true;
end;
$$;

-- Name: reset_consumer(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.reset_consumer(p_name text, p_start text DEFAULT 'beginning'::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    reader postrider.consumer := postrider.known_consumer(p_name);
    start record;
    former jsonb;
begin
    select s.* into start from postrider.consumer_start(reader.ordering, p_start) s;
    perform postrider.hold_consumer(reader);
    select jsonb_object_agg(g.partition, p.message_id)
    into former
    from generate_series(0, reader.partition_count - 1) g (partition)
    cross join lateral postrider.newest_position(reader.id, g.partition) p;
    update postrider.consumer c
    set start_snapshot = start.start_snapshot,
        start_id = start.start_id,
        start_at = start.start_at
    where c.id = reader.id;
    insert into postrider.consumer_position (
        consumer_id, partition, tick, xid, message_id, message_count)
    select reader.id, k, start.tick, start.xid, start.message_id, 0
    from generate_series(0, reader.partition_count - 1) k;
    insert into postrider.event_log (event, details)
    values (
        'consumer.reset',
        jsonb_build_object(
            'consumer', p_name, 'start', p_start, 'before', former, 'after', start.message_id,
            'by', session_user));
    return true;
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

-- Name: resolve_parked_message(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.resolve_parked_message(p_parked_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    removed record;
begin
    if p_parked_id is null then
        raise exception 'Parked message id must not be null' using errcode = '22004';
    end if;
    delete from postrider.parked_message k
    where k.id = p_parked_id
    returning k.* into removed;
    if not found then
        raise exception 'Parked message % does not exist', p_parked_id using errcode = '42704';
    end if;
    insert into postrider.event_log (event, details)
    select
        'consumer.message_resolved',
        jsonb_build_object(
            'consumer', c.name, 'id', removed.id, 'message_id', removed.message_id, 'by', session_user)
    from postrider.consumer c
    where c.id = removed.consumer_id;
    return true;
end;
$$;

-- Name: resume_all(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select s.switched_count, s.held from postrider.switch_all_endpoints(false) s;
$$;

-- Name: resume_endpoint(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.resume_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select postrider.switch_endpoint(p_endpoint_name, null, false);
$$;

-- Name: retention_holders(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retention_holders() RETURNS TABLE(partition_name text, since timestamp with time zone, consumer_name text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
    most_partitions constant integer := 6;
    kept_for interval;
    most_days integer;
    old record;
begin
    select make_interval(months => s.value::integer)
    into kept_for
    from postrider.setting s
    where s.name = 'archive_retention_months';
    select s.value::integer into most_days from postrider.setting s where s.name = 'consumer_retention';
    for old in
        select l.name, l.from_at, l.to_at
        from postrider.partitions l
        where l.table_name = 'message'
        and l.to_at <= now() - kept_for
        and (most_days = 0 or l.to_at > now() - make_interval(days => most_days))
        order by l.from_at
        limit most_partitions
    loop
        continue when not postrider.is_partition_finished(
            old.name, old.from_at, old.to_at, postrider.done_before());
        return query
        select old.name, old.to_at + kept_for, c.name
        from postrider.consumer c
        where not postrider.has_read_partition(c, old.name)
        order by c.name;
    end loop;
end;
$$;

-- Name: retire_endpoint(integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retire_endpoint(p_endpoint_id integer, p_reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
declare
    retired text;
begin
    update postrider.endpoints e
    set enabled = false
    where e.id = (
        select k.id
        from postrider.endpoints k
        where k.id = p_endpoint_id
        and k.enabled
        for update skip locked
    )
    returning e.name into retired;
    if retired is null then
        return false;
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values ('endpoint.auto_disabled', retired, jsonb_build_object('reason', p_reason));
    return true;
exception
    when lock_not_available then
        return false;
end;
$$;

-- Name: retire_failing_endpoints(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retire_failing_endpoints() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    days integer;
begin
    select s.value::integer
    into days
    from postrider.setting s
    where s.name = 'auto_disable_after_days';
    if days = 0 then
        return 0;
    end if;
    return (
        select count(*) filter (where postrider.retire_endpoint(c.endpoint_id, format(
            'no success for %s days', days)))
        from postrider.circuit c
        join postrider.endpoints e on e.id = c.endpoint_id
        where e.enabled
        -- One that failed once and was sent nothing since has not failed for days.
        and c.last_failure_at >= c.failing_since + make_interval(days => days)
    );
end;
$$;

-- Name: retire_signing_key(text, text, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval DEFAULT '00:00:00'::interval) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held record := postrider.lock_signing_keys(retire_signing_key.endpoint, false);
    ends_at timestamptz;
begin
    perform postrider.find_signing_key(
        retire_signing_key.endpoint, held.keys, retire_signing_key.key_id);
    perform postrider.check_key_pause('after', retire_signing_key.after);
    if not exists (
        select
        from postrider.signing_key k
        where k.endpoint_id = held.endpoint_id
        and k.id <> retire_signing_key.key_id
        and k.retires_at is null
    ) then
        raise exception 'Signing key ''%'' is the last one of endpoint ''%''',
            retire_signing_key.key_id, retire_signing_key.endpoint
            using
                errcode = '55000',
                hint = 'Add another one first, or set signature to none if nothing is to be signed.';
    end if;
    ends_at := now() + retire_signing_key.after;
    update postrider.signing_key k
    set retires_at = ends_at
    where k.endpoint_id = held.endpoint_id
    and k.id = retire_signing_key.key_id;
    perform postrider.change_signing_keys(held.endpoint_id, held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.retired', retire_signing_key.endpoint,
        jsonb_build_object(
            'by', session_user, 'id', retire_signing_key.key_id, 'retires_at', ends_at));
    return ends_at;
end;
$$;

-- Name: retire_signing_keys(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retire_signing_keys() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    changed_count integer := 0;
    held_id integer;
    keys jsonb;
    left_keys jsonb;
begin
    for held_id in
        select e.id
        from postrider.endpoints e
        where e.id = any (array(
            select k.endpoint_id
            from postrider.signing_key k
            where k.retires_at <= now()
        ))
        for no key update of e skip locked
    loop
        select s.config -> 'signing_keys'
        into keys
        from postrider.endpoint_secret s
        where s.endpoint_id = held_id;
        left_keys := postrider.keys_that_sign(held_id, keys);
        continue when left_keys = keys;
        begin
            if left_keys = '[]' then
                update postrider.signing_key k
                set retires_at = null
                where k.endpoint_id = held_id
                and k.id = postrider.signing_key_id(keys ->> 0);
            end if;
            perform postrider.change_signing_keys(held_id, keys);
            changed_count := changed_count + 1;
        exception
            when others then
                raise warning 'keys of endpoint % are not retired: %', held_id, sqlerrm;
        end;
    end loop;
    return changed_count;
end;
$$;

-- Name: retry_delivery(bigint, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    held record;
    waits record;
begin
    select array_agg(h.place) as places, array_agg(h.endpoint_name) as names
    into held
    from postrider.hold_deliveries('retry_delivery', p_message_id, p_endpoint_name) h;
    select
        d.is_blocked, m.scheduled_at, d.ordering_key,
        coalesce(e.name, d.endpoint_id::text) as endpoint_name
    into waits
    from postrider.deferred d
    left join postrider.endpoints e on e.id = d.endpoint_id
    left join lateral (
        select k.scheduled_at
        from postrider.message k
        where k.id = d.message_id
    ) m on true
    where d.ctid = any (held.places)
    and (d.is_blocked or d.run_at > clock_timestamp() and m.scheduled_at > clock_timestamp())
    limit 1;
    if waits.is_blocked then
        raise exception
            'The delivery of message % to endpoint ''%'' waits for an earlier one of its ordering key',
            p_message_id, waits.endpoint_name
            using errcode = '55000', hint = 'Retry, fail or skip the earlier one: see blocked_keys.';
    end if;
    if waits.scheduled_at is not null then
        raise exception 'Message % is scheduled for %', p_message_id, waits.scheduled_at
            using errcode = '55000', hint = 'It is for its sender to say when it may go.';
    end if;
    update postrider.deferred d
    set run_at = least(d.run_at, clock_timestamp())
    where d.ctid = any (held.places);
    perform postrider.note_verb('retry', p_message_id, held.names, null);
    perform postrider.ring('postrider', 'deferred');
    return cardinality(held.places);
end;
$$;

-- Name: retry_execution(bigint); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_execution(p_execution bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    original postrider.execution;
begin
    if p_execution is null then
        raise exception 'p_execution must not be null' using errcode = '22004';
    end if;
    select e.* into original from postrider.execution e where e.id = p_execution;
    if not found then
        raise exception 'Execution % does not exist', p_execution using errcode = '42704';
    end if;
    if exists (select from postrider.live_execution l where l.id = p_execution) then
        raise exception 'Execution % has not ended', p_execution using errcode = '55000';
    end if;
    original.original_execution := coalesce(original.original_execution, original.id);
    original.idempotency_key := null;
    return postrider.append_execution(original);
end;
$$;

-- Name: retry_matching_deliveries(text, timestamp with time zone, timestamp with time zone, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select j.job_id, j.estimate, j.has_more
    from postrider.create_delivery_job(
        'retry', null, p_endpoint_name, p_from, p_to, p_error_pattern, p_event_type, p_ordering_key,
        p_rate) j;
$$;

-- Name: retry_phases(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_phases(policy jsonb) RETURNS TABLE(retries_with_no_delay bigint, minimum_delay_retries bigint, minimum_delay bigint, maximum_delay bigint, maximum_delay_retries bigint, curve text, has_fixed_step boolean, backoff_retries bigint)
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select
        k.none, k.minimum_count, k.minimum, k.maximum, k.maximum_count, k.curve,
        k.curve = 'linear' and k.backoff is null and k.total is null,
        case
            when k.total is not null
                then k.total - k.none - k.minimum_count - k.maximum_count
            when k.backoff is not null then k.backoff
            when k.curve = 'linear' then (k.maximum - k.minimum + 4) / 5 + 1
            else greatest((k.maximum - k.minimum) / 5, 1)
        end
    from (
        select
            coalesce(w.words ->> 'retries_with_no_delay', w.words ->> 'numNoDelayRetries', '3')::bigint
                as none,
            coalesce(w.words ->> 'minimum_delay_retries', w.words ->> 'numMinDelayRetries', '3')::bigint
                as minimum_count,
            coalesce(w.words ->> 'minimum_delay', w.words ->> 'minDelayTarget', '5')::bigint as minimum,
            coalesce(w.words ->> 'maximum_delay', w.words ->> 'maxDelayTarget', '30')::bigint as maximum,
            coalesce(w.words ->> 'maximum_delay_retries', w.words ->> 'numMaxDelayRetries', '3')::bigint
                as maximum_count,
            coalesce(w.words ->> 'retry_backoff_function', w.words ->> 'backoffFunction', 'linear')
                as curve,
            (w.words ->> 'backoff_retries')::bigint as backoff,
            (w.words ->> 'numRetries')::bigint as total
        from (select coalesce(policy -> 'healthyRetryPolicy', policy)) w (words)
    ) k;
$$;

-- Name: retry_policy_form(jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_policy_form(policy jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select case
        when policy ? 'healthyRetryPolicy' then 'nested'
        when policy ?| keys.healthy then 'healthy'
        when policy ? 'schedule_seconds' then 'schedule'
        when policy ? 'preset' then 'preset'
        when policy ?| keys.phased then 'phased'
        when policy ?| keys.simple then 'simple'
    end
    from (
        select
            array_agg(k.name) filter (where k.form = 'healthy') as healthy,
            array_agg(k.name) filter (where k.form = 'phased') as phased,
            array_agg(k.name) filter (where k.form = 'simple') as simple
        from postrider.retry_policy_keys() k
    ) keys;
$$;

-- Name: retry_policy_keys(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_policy_keys() RETURNS TABLE(form text, name text, kind text, minimum integer, maximum integer, choices text[])
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select k.form, k.name, k.kind, k.minimum, k.maximum, k.choices
    from (
        values
        ('nested', 'healthyRetryPolicy', 'object', null, null, null::text[]),
        ('healthy', 'minDelayTarget', 'integer', 0, 3600, null),
        ('healthy', 'maxDelayTarget', 'integer', 0, 86400, null),
        ('healthy', 'numRetries', 'integer', 0, 1000, null),
        ('healthy', 'numNoDelayRetries', 'integer', 0, 1000, null),
        ('healthy', 'numMinDelayRetries', 'integer', 0, 1000, null),
        ('healthy', 'numMaxDelayRetries', 'integer', 0, 1000, null),
        (
            'healthy', 'backoffFunction', 'word', null, null,
            array['linear', 'arithmetic', 'geometric', 'exponential']
        ),
        ('schedule', 'schedule_seconds', 'schedule', 0, 86400, null),
        ('schedule', 'jitter', 'fraction', 0, 1, null),
        (
            'preset', 'preset', 'word', null, null,
            array['standard-webhooks', 'sns', 'sns-managed', 'sns-customer']
        ),
        ('preset', 'max_retries', 'integer', 0, 1000, null),
        ('preset', 'jitter', 'fraction', 0, 1, null),
        ('phased', 'retries_with_no_delay', 'integer', 0, 1000, null),
        ('phased', 'minimum_delay_retries', 'integer', 0, 1000, null),
        ('phased', 'minimum_delay', 'integer', 0, 3600, null),
        ('phased', 'maximum_delay', 'integer', 0, 86400, null),
        ('phased', 'maximum_delay_retries', 'integer', 0, 1000, null),
        (
            'phased', 'retry_backoff_function', 'word', null, null,
            array['linear', 'arithmetic', 'geometric', 'exponential']
        ),
        ('phased', 'backoff_retries', 'integer', 0, 1000, null),
        ('simple', 'max_retries', 'integer', 0, 1000, null),
        ('simple', 'backoff', 'word', null, null, array['exponential', 'linear', 'fixed']),
        ('simple', 'base_delay_seconds', 'integer', 1, 3600, null),
        ('simple', 'max_delay_seconds', 'integer', 1, 86400, null),
        ('simple', 'increment_seconds', 'integer', 1, 3600, null),
        ('simple', 'jitter', 'fraction', 0, 1, null)
    ) k (form, name, kind, minimum, maximum, choices);
$$;

-- Name: retry_waits(jsonb, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.retry_waits(policy jsonb, place text DEFAULT 'endpoint'::text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    whole constant jsonb := postrider.complete_retry_policy(policy, place);
    form constant text := postrider.retry_policy_form(whole);
    max_retries constant integer := whole ->> 'max_retries';
    base constant bigint := whole ->> 'base_delay_seconds';
    most constant bigint := whole ->> 'max_delay_seconds';
    increment constant bigint := whole ->> 'increment_seconds';
begin
    if form = 'simple' then
        return array(
            select 1000 * case whole ->> 'backoff'
                when 'fixed' then base
                when 'linear' then least(most, base + n * increment)
                -- 2^17 s is more than any delay.
                else least(most, base * (1 << least(n, 17)))
            end
            from generate_series(0, max_retries - 1) n
            order by n
        );
    elsif form = 'schedule' then
        return array(
            select 1000 * e.seconds::bigint
            from jsonb_array_elements_text(whole -> 'schedule_seconds')
                with ordinality e (seconds, position)
            order by e.position
        );
    elsif form = 'preset' and whole ->> 'preset' = 'standard-webhooks' then
        return array[
            5000, 300000, 1800000, 7200000, 18000000, 36000000, 50400000, 72000000, 86400000];
    elsif form = 'preset' and whole ->> 'preset' = 'sns' then
        return array[20000, 20000, 20000];
    elsif form = 'preset' and whole ->> 'preset' = 'sns-customer' then
        return postrider.phased_waits(
            '{"retries_with_no_delay": 0, "minimum_delay_retries": 2, "minimum_delay": 10,
            "maximum_delay": 600, "retry_backoff_function": "geometric", "backoff_retries": 10,
            "maximum_delay_retries": 38}');
    elsif form = 'preset' then
        -- sns-managed: goes on at a constant pace as long as it may.
        return (
            postrider.phased_waits(
                '{"retries_with_no_delay": 3, "minimum_delay_retries": 2, "minimum_delay": 1,
                "maximum_delay": 20, "retry_backoff_function": "geometric", "backoff_retries": 10,
                "maximum_delay_retries": 985}')
        )[1:coalesce(max_retries, 1000)];
    end if;
    return postrider.phased_waits(whole);
end;
$$;

-- Name: return_execution(postrider.live_execution, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.return_execution(p_live postrider.live_execution, p_to_pool boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    at constant timestamptz := clock_timestamp();
    next_queue constant text :=
        case when p_to_pool then postrider.execution_queue(null, p_live.pool) else p_live.queue end;
    was_running constant boolean := p_live.status = 'running';
begin
    if was_running and p_live.cancel_requested_at is not null then
        perform postrider.end_execution(p_live, 'cancelled', 'cancelled', null, null);
        return;
    end if;
    if was_running then
        insert into postrider.execution_end (
            execution_id, attempt, is_final, status, worker_id, action, pool, requested_at,
            scheduled_at, started_at)
        values (
            p_live.id, p_live.attempt, false, 'released', p_live.worker_id, p_live.action,
            p_live.pool, p_live.requested_at, p_live.scheduled_at, p_live.started_at);
    end if;
    update postrider.live_execution l
    set queue = next_queue,
        status = 'requested',
        fence = nextval('postrider.execution_fence'),
        worker_id = null,
        worker_epoch = null,
        carrier = null,
        slot = null,
        is_published = false,
        requested_at = case when was_running then at else l.requested_at end,
        scheduled_at = null,
        started_at = null,
        expires_at = t.expires_at,
        deadline_at = null,
        due_at = t.expires_at
    from (
        select
            case
                when was_running then at + make_interval(secs => p_live.ttl_ms / 1000.0)
                else p_live.expires_at
            end
    ) t (expires_at)
    where l.id = p_live.id;
    perform postrider.ring_workers(next_queue);
end;
$$;

-- Name: reveal_signing_key(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held record := postrider.lock_signing_keys(reveal_signing_key.endpoint, false);
    shown text := postrider.find_signing_key(
        reveal_signing_key.endpoint, held.keys, reveal_signing_key.key_id);
begin
    update postrider.signing_key k
    set is_hidden = false
    where k.endpoint_id = held.endpoint_id
    and k.id = reveal_signing_key.key_id
    and k.is_hidden;
    if not found then
        raise exception 'Signing key ''%'' of endpoint ''%'' has been shown',
            reveal_signing_key.key_id, reveal_signing_key.endpoint
            using errcode = '55000', hint = 'rotate_signing_key makes another one.';
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.revealed', reveal_signing_key.endpoint,
        jsonb_build_object('by', session_user, 'id', reveal_signing_key.key_id));
    return shown;
end;
$$;

-- Name: ring(text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.ring(p_channel text, p_message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if pg_notification_queue_usage() <= 0.5 then
        perform pg_notify(p_channel, p_message);
    end if;
end;
$$;

-- Name: ring_workers(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.ring_workers(p_queue text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    -- A transaction that submits to any number of queues holds no more locks than there are doors.
    queue_key constant integer := hashtext(p_queue) & 255;
begin
    if current_setting('max_prepared_transactions')::integer > 0 then
        return;
    end if;
    if pg_try_advisory_xact_lock_shared(1886352247, queue_key)
        and pg_try_advisory_lock(1886352248, queue_key)
    then
        perform pg_advisory_unlock(1886352248, queue_key);
    else
        perform postrider.ring('postrider:executions', postrider.key_mark(p_queue)::text);
    end if;
end;
$$;

-- Name: roll_up_executions(integer, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.roll_up_executions(p_most integer, p_pause interval DEFAULT '00:00:00'::interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    most_totals constant integer := 1000;
    known postrider.execution_rollup;
    visible xid8;
    part xid8;
    has_room boolean;
    ended integer;
    buried integer;
begin
    select r.* into known from postrider.execution_rollup r;
    visible := pg_snapshot_xmin(pg_current_snapshot());
    -- One in the future was written before the clock was set back.
    if known.at between clock_timestamp() - p_pause and clock_timestamp()
        or not exists (
            select from postrider.execution_end e where e.xid >= known.horizon and e.xid < visible)
        and not exists (
            select
            from postrider.execution_dead_letter d
            where d.xid >= known.horizon
            and d.xid < visible)
        or not postrider.take_chore('figures')
    then
        return 0;
    end if;
    -- Somebody else may have added it since.
    select r.* into known from postrider.execution_rollup r;
    if known.at between clock_timestamp() - p_pause and clock_timestamp() or visible <= known.horizon then
        return 0;
    end if;
    -- Each bound is behind the last row that it lets in.
    foreach part in array array[
        (
            select e.xid
            from postrider.execution_end e
            where e.xid >= known.horizon
            and e.xid < visible
            order by e.xid
            offset p_most - 1
            limit 1
        ),
        (
            select d.xid
            from postrider.execution_dead_letter d
            where d.xid >= known.horizon
            and d.xid < visible
            order by d.xid
            offset p_most - 1
            limit 1
        )]
    loop
        visible := least(visible, ((part::text)::numeric + 1)::text::xid8);
    end loop;

    select count(*) < most_totals into has_room from postrider.execution_total;
    with fresh as materialized (
        select
            date_trunc('hour', e.ended_at, 'UTC') as hour, coalesce(e.pool, '') as pool, e.action,
            coalesce(e.worker_id, 0) as worker_id, e.status, coalesce(e.reason, '') as reason,
            count(*) as attempt_count,
            count(*) filter (where e.is_final) as ended_count,
            count(e.started_at) as started_count,
            coalesce(sum(greatest(extract(epoch from e.ended_at - e.started_at), 0)), 0)
                as running_seconds,
            sum(greatest(
                extract(epoch from coalesce(e.started_at, e.ended_at) - e.requested_at), 0))
                as waiting_seconds
        from postrider.execution_end e
        where e.xid >= known.horizon
        and e.xid < visible
        group by 1, 2, 3, 4, 5, 6
    ), hourly as (
        insert into postrider.execution_statistics as s (
            hour, pool, action, worker_id, status, reason, attempt_count, ended_count, started_count,
            running_seconds, waiting_seconds)
        select
            f.hour, f.pool, f.action, f.worker_id, f.status, f.reason, f.attempt_count, f.ended_count,
            f.started_count, f.running_seconds, f.waiting_seconds
        from fresh f
        on conflict (hour, pool, action, worker_id, status, reason) do update
        set attempt_count = s.attempt_count + excluded.attempt_count,
            ended_count = s.ended_count + excluded.ended_count,
            started_count = s.started_count + excluded.started_count,
            running_seconds = s.running_seconds + excluded.running_seconds,
            waiting_seconds = s.waiting_seconds + excluded.waiting_seconds
    ), named as (
        select
            case when n.is_named then f.pool else '(other)' end as pool,
            case when n.is_named then f.action else '(other)' end as action,
            f.status,
            case when n.is_named then f.reason else '(other)' end as reason,
            f.attempt_count, f.ended_count
        from fresh f
        cross join lateral (
            select has_room or exists (
                select
                from postrider.execution_total t
                where (t.pool, t.action, t.status, t.reason) = (f.pool, f.action, f.status, f.reason)
            ) as is_named
        ) n
    ), totals as (
        insert into postrider.execution_total as t (
            pool, action, status, reason, attempt_count, ended_count)
        select n.pool, n.action, n.status, n.reason, sum(n.attempt_count), sum(n.ended_count)
        from named n
        group by 1, 2, 3, 4
        on conflict (pool, action, status, reason) do update
        set attempt_count = t.attempt_count + excluded.attempt_count,
            ended_count = t.ended_count + excluded.ended_count
    )
    select coalesce(sum(f.attempt_count), 0) into ended from fresh f;

    with fresh as materialized (
        select
            date_trunc('hour', d.at, 'UTC') as hour, coalesce(d.worker_id, 0) as worker_id,
            coalesce(d.action, '') as action, coalesce(d.reason, '') as reason, d.outcome, d.carrier,
            count(*) as letter_count
        from postrider.execution_dead_letter d
        where d.xid >= known.horizon
        and d.xid < visible
        group by 1, 2, 3, 4, 5, 6
    ), hourly as (
        insert into postrider.dead_letter_statistics as s (
            hour, worker_id, action, reason, outcome, carrier, letter_count)
        select f.hour, f.worker_id, f.action, f.reason, f.outcome, f.carrier, f.letter_count
        from fresh f
        on conflict (hour, worker_id, action, reason, outcome, carrier) do update
        set letter_count = s.letter_count + excluded.letter_count
    ), totals as (
        insert into postrider.dead_letter_total as t (outcome, letter_count)
        select f.outcome, sum(f.letter_count)
        from fresh f
        group by f.outcome
        on conflict (outcome) do update
        set letter_count = t.letter_count + excluded.letter_count
    )
    select coalesce(sum(f.letter_count), 0) into buried from fresh f;

    if ended + buried > 0 then
        update postrider.execution_rollup r
        set horizon = visible,
            at = clock_timestamp();
    end if;
    return ended + buried;
end;
$$;

-- Name: rotate_signing_key(text, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval DEFAULT '24:00:00'::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    held record := postrider.lock_signing_keys(rotate_signing_key.endpoint, true);
    added text := postrider.make_signing_key();
    ends_at timestamptz;
begin
    perform postrider.check_key_pause('overlap', rotate_signing_key.overlap);
    ends_at := now() + rotate_signing_key.overlap;
    update postrider.signing_key k
    set retires_at = ends_at
    where k.endpoint_id = held.endpoint_id
    and k.kind = 'v1'
    and coalesce(k.retires_at > ends_at, true);
    perform postrider.change_signing_keys(held.endpoint_id, jsonb_build_array(added) || held.keys);
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'signing_key.rotated', rotate_signing_key.endpoint,
        jsonb_build_object(
            'by', session_user, 'id', postrider.signing_key_id(added), 'others_retire_at', ends_at));
    return added;
end;
$$;

-- Name: rotate_slots(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.rotate_slots() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    each constant interval := '10 minutes';
    -- What cannot be emptied by then, because somebody reads it all the time, is written to again.
    longest constant interval := '20 minutes';
    at constant timestamptz := clock_timestamp();
    since timestamptz;
    next_slot smallint;
    tables text[] := array['claim', 'rate_grant'];
    part text;
    emptied integer := 0;
    is_left boolean := false;
begin
    if not postrider.take_chore('slots') then
        return 0;
    end if;
    select (r.slot + 1) % 3, r.since
    into next_slot, since
    from postrider.rotation r
    where r.is_only_row
    for update skip locked;
    if not found or since between at - each and at then
        return 0;
    end if;
    if since > at then
        -- The clock was set back. Its time begins anew, so that rows are kept for long enough.
        update postrider.rotation r set since = at where r.is_only_row;
        return 0;
    end if;
    if not exists (
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
    ) then
        tables := tables || array['checkpoint'];
    end if;
    if not exists (
        select
        from postrider.dispatcher d
        cross join lateral (
            select h.slot
            from postrider.heartbeat h
            where h.dispatcher = d.id
            order by h.seq desc
            limit 1
        ) newest
        where newest.slot = next_slot
    ) then
        tables := tables || array['heartbeat'];
    end if;
    foreach part in array tables loop
        emptied := emptied + postrider.empty_slot(part, next_slot)::integer;
        is_left := is_left or postrider.is_slot_filled(part, next_slot);
    end loop;
    delete from postrider.rate_turn t
    where t.endpoint_id in (
        select d.endpoint_id
        from postrider.rate_turn d
        where not exists (select from postrider.endpoints e where e.id = d.endpoint_id)
        for update of d skip locked
    );
    if not is_left or since < at - longest then
        update postrider.rotation r set slot = next_slot, since = at where r.is_only_row;
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

-- Name: save_circuits(uuid, integer[], bigint[], bigint[], text[], integer[], timestamp with time zone[], uuid[], timestamp with time zone[], timestamp with time zone[], timestamp with time zone[], timestamp with time zone[], timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.save_circuits(p_dispatcher uuid, p_endpoint_ids integer[], p_versions bigint[], p_next_versions bigint[], p_states text[], p_failure_counts integer[], p_probe_at timestamp with time zone[], p_probers uuid[], p_paused_until timestamp with time zone[], p_last_success_at timestamp with time zone[], p_last_failure_at timestamp with time zone[], p_failing_since timestamp with time zone[], p_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(endpoint_id integer, is_saved boolean, version bigint, state text, failure_count integer, probe_at timestamp with time zone, probe_owner uuid, is_prober_alive boolean, paused_until timestamp with time zone, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    saved integer[];
    has_news boolean;
    -- Callers are never ahead of the clock otherwise, but for the little by which clocks differ in speed.
    slack constant interval := '1 second';
    too_late constant interval := case
        when p_at > clock_timestamp() + slack then p_at - clock_timestamp()
        else '0'
    end;
begin
    with wanted as (
        select
            w.endpoint_id, w.version, w.next_version, w.state, w.failure_count, w.prober,
            w.probe_at - too_late as probe_at, w.paused_until - too_late as paused_until,
            w.last_success_at - too_late as last_success_at,
            w.last_failure_at - too_late as last_failure_at,
            w.failing_since - too_late as failing_since
        from unnest(
            p_endpoint_ids, p_versions, p_next_versions, p_states, p_failure_counts, p_probe_at,
            p_probers, p_paused_until, p_last_success_at, p_last_failure_at, p_failing_since)
            w (endpoint_id, version, next_version, state, failure_count, probe_at, prober,
            paused_until, last_success_at, last_failure_at, failing_since)
    ), held as (
        -- With what it is to become, so that nothing is joined twice: without hash joins that would be
        -- the square of their number.
        select
            c.state as former_state, c.failure_count as former_count,
            c.paused_until as former_pause, w.*
        from postrider.circuit c
        join wanted w on w.endpoint_id = c.endpoint_id and w.version = c.version
        order by c.endpoint_id
        for update of c skip locked
    ), changed as (
        update postrider.circuit c
        set version = w.next_version,
            state = w.state,
            failure_count = w.failure_count,
            since = case when w.state = c.state then c.since else clock_timestamp() end,
            probe_at = w.probe_at,
            probe_owner = w.prober,
            paused_until = w.paused_until,
            last_success_at = greatest(c.last_success_at, w.last_success_at),
            last_failure_at = greatest(c.last_failure_at, w.last_failure_at),
            failing_since = w.failing_since
        from held w
        where c.endpoint_id = w.endpoint_id
        returning
            c.endpoint_id, w.former_state, c.state, w.former_count, c.failure_count, w.former_pause,
            c.paused_until, c.probe_at
    ), logged as (
        insert into postrider.event_log (event, endpoint_name, details)
        select
            case c.state
                when 'open' then 'circuit.opened'
                when 'half_open' then 'circuit.half_open'
                else 'circuit.closed'
            end,
            e.name,
            jsonb_strip_nulls(jsonb_build_object(
                'from', c.former_state, 'to', c.state,
                'failure_count', greatest(c.failure_count, c.former_count),
                'probe_at', c.probe_at, 'dispatcher', p_dispatcher))
        from changed c
        join postrider.endpoints e on e.id = c.endpoint_id
        where c.state <> c.former_state
        -- A probe that another one takes over from a dispatcher that died.
        or c.state = 'half_open'
    )
    select
        coalesce(array_agg(c.endpoint_id), '{}'),
        coalesce(
            bool_or(c.state <> c.former_state or c.paused_until is distinct from c.former_pause),
            false)
    into saved, has_news
    from changed c;
    if has_news then
        perform postrider.ring('postrider', 'circuits');
    end if;

    return query
    select
        c.endpoint_id, c.endpoint_id = any (saved), c.version, c.state, c.failure_count, c.probe_at,
        c.probe_owner, c.is_prober_alive, c.paused_until, c.last_success_at, c.last_failure_at,
        c.failing_since
    from postrider.known_circuits(p_endpoint_ids, false) c;
end;
$$;

-- Name: save_claim(uuid, smallint[], bigint[], bigint[], integer[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
    lost smallint[];
begin
    lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
    if lost = '{}' then
        insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        values (
            postrider.current_slot(), p_dispatcher, p_message_ids, p_targets, p_retry_counts);
    end if;
    return lost;
end;
$$;

-- Name: schedule_executions(postrider.worker, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.schedule_executions(p_worker postrider.worker, p_limit integer, p_pool_limit integer) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    head_start constant interval := '1 second';
    most_reserved constant integer := 100;
    at constant timestamptz := clock_timestamp();
    present postrider.worker;
    remaining integer := p_limit;
    load bigint;
    own record;
    taken integer;
begin
    select w.* into present from postrider.worker w where w.id = p_worker.id;
    if present.epoch is distinct from p_worker.epoch or present.cordoned_at is not null then
        return;
    end if;
    -- What is addressed to it waits here until it has room, or in its queue of RabbitMQ.
    if present.carrier = 'postgres' then
        select count(*)
        into load
        from postrider.execution_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.worker_id = present.id
            limit present.capacity
        ) l;
        remaining := least(remaining, present.capacity - load);
    end if;

    return query
    select s.*
    from postrider.schedule_queue(
        present, postrider.execution_queue(present.id, null), remaining, 0, at) s;
    get diagnostics taken = row_count;
    remaining := remaining - taken;
    remaining := least(remaining, p_pool_limit);
    if remaining <= 0 then
        return;
    end if;

    with ranks as materialized (
        select w.worker_id, w.health_rank, w.free_capacity
        from postrider.pool_workers(present.pool) w
    )
    select
        o.free_capacity,
        (
            select least(coalesce(sum(w.free_capacity), 0), most_reserved)
            from ranks w
            where (w.health_rank, -w.free_capacity) < (o.health_rank, -o.free_capacity)
        ) as reserved
    into own
    from ranks o
    where o.worker_id = present.id;
    if not found or own.free_capacity = 0 then
        return;
    end if;
    return query
    select s.*
    from postrider.schedule_queue(
        present, postrider.execution_queue(null, present.pool),
        least(remaining, own.free_capacity)::integer, own.reserved::integer, at - head_start) s;
end;
$$;

-- Name: schedule_queue(postrider.worker, text, integer, integer, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.schedule_queue(p_worker postrider.worker, p_queue text, p_limit integer, p_reserved integer, p_reserved_from timestamp with time zone) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    -- How long whoever schedules for RabbitMQ may take until the broker has confirmed.
    publishing constant interval := '10 seconds';
    most_rounds constant integer := 10;
    most_looked_at constant integer := 100000;
    -- So many of the actions that wait are looked at from the first one on, and as many from any other one on.
    most_actions constant integer := 100;
    action_count integer;
    remaining integer := p_limit;
    depth integer := p_limit + p_reserved;
    waiting_action text;
    candidates bigint[];
    priorities smallint[];
    requested timestamptz[];
    actions text[];
    rooms integer[];
    -- Nothing lies behind what was looked at.
    is_complete boolean;
    -- How many are wanted, what there is of them, and the slot of each, or null.
    wanted integer;
    picked bigint[];
    slots smallint[];
    chosen record;
    free smallint[];
    -- Actions of which no more fit in.
    full_actions text[] := '{}';
    found_ids bigint[];
    found_priorities smallint[];
    found_times timestamptz[];
    found_count integer;
    room integer;
    look integer;
    allowed integer;
begin
    for round in 1..most_rounds loop
        exit when remaining <= 0;
        waiting_action := '';
        action_count := 0;
        candidates := '{}';
        priorities := '{}';
        requested := '{}';
        actions := '{}';
        rooms := '{}';
        is_complete := true;
        loop
            select min(l.action)
            into waiting_action
            from postrider.live_generation g
            cross join lateral (
                select l.action
                from postrider.live_execution l
                where l.generation = g.id
                and l.queue = p_queue
                and l.status = 'requested'
                and not l.is_delayed
                and l.action > waiting_action
                order by l.action
                limit 1
            ) l;
            exit when waiting_action is null;
            action_count := action_count + 1;
            exit when action_count > 2 * most_actions;
            if action_count = most_actions then
                waiting_action := greatest(waiting_action, postrider.any_waiting_action(p_queue));
                continue;
            end if;
            continue when waiting_action = any (full_actions);
            room := postrider.admissible(waiting_action, depth);
            continue when room <= 0;
            look := case round when 1 then room else depth end;
            select array_agg(n.id), array_agg(n.priority), array_agg(n.requested_at)
            into found_ids, found_priorities, found_times
            from (
                select l.id, l.priority, l.requested_at
                from postrider.live_generation g
                cross join lateral (
                    select l.id, l.priority, l.requested_at
                    from postrider.live_execution l
                    where l.generation = g.id
                    and l.queue = p_queue
                    and l.action = waiting_action
                    and l.status = 'requested'
                    and not l.is_delayed
                    and l.expires_at > clock_timestamp()
                    -- What the pool may have as well does not follow a worker that is not there (check_workers).
                    and (l.pool is null or p_worker.status <> 'inactive')
                    order by l.priority desc, l.id
                    limit look
                ) l
                order by l.priority desc, l.id
                limit look
            ) n;
            candidates := candidates || found_ids;
            priorities := priorities || found_priorities;
            requested := requested || found_times;
            found_count := coalesce(cardinality(found_ids), 0);
            actions := actions || array_fill(waiting_action, array[found_count]);
            rooms := rooms || array_fill(room, array[found_count]);
            is_complete := is_complete and found_count < look;
        end loop;

        select greatest(
            count(*) - p_reserved,
            count(*) filter (where n.requested_at <= p_reserved_from))
        into allowed
        from unnest(requested) n (requested_at);
        allowed := least(allowed, remaining);
        exit when allowed <= 0;
        allowed := postrider.worker_room(p_worker, p_queue, allowed);
        exit when allowed <= 0;
        picked := '{}';
        slots := '{}';
        wanted := 0;
        for chosen in
            select n.action, count(*)::integer as count
            from (
                select c.action
                from (
                    select
                        o.*,
                        row_number() over (partition by o.action order by o.priority desc, o.id) as place
                    from unnest(candidates, priorities, actions, rooms) o (id, priority, action, room)
                ) c
                where c.place <= c.room
                order by c.priority desc, c.id
                limit allowed
            ) n
            group by n.action
        loop
            wanted := wanted + chosen.count;
            free := coalesce(
                postrider.hold_slots(chosen.action, chosen.count),
                array_fill(null::smallint, array[chosen.count]));
            if free = '{}' then
                full_actions := full_actions || chosen.action;
                is_complete := false;
                continue;
            end if;
            -- As many as there are slots: no more is to be locked, and what others have locked does not count.
            found_ids := array(
                select l.id
                from postrider.live_execution l
                where l.id = any (array(
                    select c.id
                    from unnest(candidates, actions) c (id, action)
                    where c.action = chosen.action
                ))
                and l.queue = p_queue
                -- Not by the index of what waits: a plan that was made when that was short would read all of it.
                and l.status || '' = 'requested'
                and not l.is_delayed
                order by l.priority desc, l.id
                limit cardinality(free)
                for update skip locked
            );
            picked := picked || found_ids;
            slots := slots || free[1:cardinality(found_ids)];
        end loop;
        return query
        update postrider.live_execution l
        set status = 'scheduled',
            fence = nextval('postrider.execution_fence'),
            worker_id = p_worker.id,
            worker_epoch = p_worker.epoch,
            carrier = p_worker.carrier,
            slot = slots[array_position(picked, l.id)],
            scheduled_at = clock_timestamp(),
            due_at = case p_worker.carrier
                when 'rabbitmq' then least(l.expires_at, clock_timestamp() + publishing)
                else l.expires_at
            end
        where l.id = any (picked)
        returning l.*;
        -- Others had what is missing: looks further.
        exit when cardinality(picked) = wanted or is_complete;
        remaining := remaining - cardinality(picked);
        depth := least(depth * 4, most_looked_at);
    end loop;
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
    perform postrider.check_room(cardinality(p_payloads), array[target]);

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
    select count(postrider.ring('postrider', s.shard::text))
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
    and not e.is_full
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

-- Name: set_action(text, interval, interval, integer, integer, integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.set_action(p_name text, p_ttl interval DEFAULT NULL::interval, p_timeout interval DEFAULT NULL::interval, p_max_retries integer DEFAULT NULL::integer, p_priority integer DEFAULT NULL::integer, p_concurrency integer DEFAULT NULL::integer, p_description text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    former jsonb;
    present jsonb;
begin
    perform postrider.check_fleet_name('p_name', p_name, 200);
    perform postrider.check_execution(
        p_name, '{}', null, null, p_ttl, p_timeout, p_priority, p_max_retries, null);
    if p_concurrency not between 1 and 10000 then
        raise exception 'p_concurrency must be between 1 and 10000, got %', p_concurrency
            using errcode = '22023';
    end if;
    if length(p_description) > 1000 then
        raise exception 'p_description must have at most 1000 characters, got %',
            length(p_description) using errcode = '22023';
    end if;
    select to_jsonb(a) - 'id' into former from postrider.action a where a.name = p_name;
    insert into postrider.action (
        name, ttl_ms, timeout_ms, max_retries, priority, concurrency, description)
    values (
        p_name, extract(epoch from p_ttl) * 1000, extract(epoch from p_timeout) * 1000, p_max_retries,
        p_priority, p_concurrency, p_description)
    on conflict (name) do update
    set ttl_ms = excluded.ttl_ms,
        timeout_ms = excluded.timeout_ms,
        max_retries = excluded.max_retries,
        priority = excluded.priority,
        concurrency = excluded.concurrency,
        description = excluded.description;
    insert into postrider.action_slot (action_id, slot)
    select a.id, g.slot
    from postrider.action a
    cross join generate_series(1, p_concurrency) g (slot)
    where a.name = p_name
    on conflict do nothing;
    select to_jsonb(a) - 'id' into present from postrider.action a where a.name = p_name;
    insert into postrider.event_log (event, details)
    values (
        'action.set',
        jsonb_build_object('action', p_name, 'concurrency', p_concurrency, 'by', session_user)
        || postrider.changes_between(former, present));
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
    recommended_ttl_ms constant bigint := 120000;
begin
    if set_setting.name is null or set_setting.value is null then
        raise exception 'Setting name and value must not be null' using errcode = '22004';
    end if;
    -- Each of these is checked against the other. In one order, so that nobody waits in a circle.
    if set_setting.name in ('worker_heartbeat_interval', 'worker_stale_after') then
        perform
        from postrider.setting s
        where s.name in ('worker_heartbeat_interval', 'worker_stale_after')
        order by s.name
        for update;
    end if;
    select s.* into known from postrider.setting s where s.name = set_setting.name for update;
    if known.name is null then
        raise exception 'Setting ''%'' does not exist', set_setting.name using errcode = '42704';
    end if;
    checked := postrider.check_setting(known, set_setting.value);
    if known.name = 'worker_queue_ttl_ms' and checked::bigint < recommended_ttl_ms then
        raise warning 'worker_queue_ttl_ms is shorter than recommended: % ms, and % ms or more are', checked,
            recommended_ttl_ms
            using hint = 'A worker that is busy or starts anew for as long loses what waits for it.';
    end if;
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
    perform postrider.ring('postrider', 'settings');
    return checked;
end;
$$;

-- Name: shard_count(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.shard_count() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$select 16$$;

-- Name: shard_reports(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.shard_reports() RETURNS TABLE(dispatcher uuid, at timestamp with time zone, share double precision, statistics jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    missing smallint[];
    named smallint[];
    left_over smallint[];
    beat record;
begin
    select coalesce(array_agg(s.shard), '{}') into missing from postrider.shard s;
    for beat in
        select h.dispatcher, h.at, h.statistics
        from postrider.heartbeat h
        order by h.xid desc
        limit 2000
    loop
        exit when missing = '{}';
        select
            coalesce(array_agg(n.shard::smallint), '{}'),
            coalesce(array_agg(n.shard::smallint) filter (where n.shard::smallint = any (missing)), '{}')
        into named, left_over
        from jsonb_array_elements_text(beat.statistics -> 'shards') n (shard);
        continue when left_over = '{}';
        dispatcher := beat.dispatcher;
        at := beat.at;
        share := cardinality(left_over) / cardinality(named)::double precision;
        statistics := beat.statistics;
        return next;
        select coalesce(array_agg(m.shard), '{}')
        into missing
        from unnest(missing) m (shard)
        where m.shard <> all (named);
    end loop;
end;
$$;

-- Name: signing_key_id(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.signing_key_id(p_key text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select left(encode(sha256(convert_to(p_key, 'UTF8')), 'hex'), 16);
$$;

-- Name: skip_delivery(bigint, text, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    held record;
begin
    perform postrider.check_reason(p_reason);
    select array_agg(h.place) as places, array_agg(h.endpoint_name) as names
    into held
    from postrider.hold_deliveries('skip_delivery', p_message_id, p_endpoint_name) h;
    perform postrider.end_deliveries(held.places, 'skip', p_reason);
    perform postrider.note_verb('skip', p_message_id, held.names, p_reason);
    return cardinality(held.places);
end;
$$;

-- Name: skip_matching_deliveries(text, text, timestamp with time zone, timestamp with time zone, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select j.job_id, j.estimate, j.has_more
    from postrider.create_delivery_job(
        'skip', p_reason, p_endpoint_name, p_from, p_to, p_error_pattern, p_event_type, p_ordering_key,
        p_rate) j;
$$;

-- Name: start_execution(bigint, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, max_retries integer, deadline_at timestamp with time zone, timeout interval, correlation_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    starting postrider.worker;
begin
    if p_execution is null or p_fence is null then
        raise exception 'p_execution and p_fence must not be null' using errcode = '22004';
    end if;
    perform postrider.refuse_copy();
    with started as (
        update postrider.live_execution l
        set status = 'running',
            fence = nextval('postrider.execution_fence'),
            worker_epoch = w.epoch,
            started_at = clock_timestamp(),
            deadline_at = clock_timestamp() + make_interval(secs => l.timeout_ms / 1000.0),
            due_at = clock_timestamp() + make_interval(secs => l.timeout_ms / 1000.0)
        from postrider.worker w
        where l.id = p_execution
        and l.fence = p_fence
        and l.status = 'scheduled'
        and l.expires_at > clock_timestamp()
        and w.id = l.worker_id
        and w.status <> 'inactive'
        and w.epoch = coalesce(p_epoch, w.epoch)
        returning l.*
    )
    select
        s.id, s.fence, s.action, e.parameters, s.attempt, s.max_retries, s.deadline_at,
        make_interval(secs => s.timeout_ms / 1000.0), e.correlation_id, s.worker_id, s.worker_epoch
    into
        execution_id, fence, action, parameters, attempt, max_retries, deadline_at, timeout, correlation_id,
        starting.id, starting.epoch
    from started s
    join postrider.execution e on e.id = s.id;
    if found then
        -- A statement of its own, behind the execution's lock: another role may have got the worker's name while that
        -- was waited for.
        perform postrider.live_worker(starting.id, starting.epoch);
        return next;
    elsif p_epoch is not null then
        -- Its message must stay in the queue: it is for the process that has the worker's name now, or
        -- will have it.
        perform postrider.live_worker(l.worker_id, p_epoch)
        from postrider.live_execution l
        where l.id = p_execution
        and l.fence = p_fence
        and l.status = 'scheduled';
    end if;
end;
$$;

-- Name: submit_execution(text, jsonb, text, text, interval, interval, integer, integer, text, uuid); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb DEFAULT '{}'::jsonb, p_worker text DEFAULT NULL::text, p_pool text DEFAULT NULL::text, p_ttl interval DEFAULT NULL::interval, p_timeout interval DEFAULT NULL::interval, p_priority integer DEFAULT NULL::integer, p_max_retries integer DEFAULT NULL::integer, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.action;
    target postrider.worker;
    execution_id bigint;
begin
    perform postrider.check_execution(
        p_action, p_parameters, p_worker, p_pool, p_ttl, p_timeout, p_priority, p_max_retries,
        p_idempotency_key);
    -- Looked up first, although the insert looks again: a repeated submission then writes nothing.
    if p_idempotency_key is not null then
        execution_id := postrider.execution_key_holder(p_idempotency_key, p_action, p_parameters);
        if execution_id is not null then
            return execution_id;
        end if;
    end if;
    select a.* into known from postrider.action a where a.name = p_action;
    if p_worker is not null then
        target := postrider.addressed_worker(p_worker, p_pool);
    end if;
    return postrider.append_execution((
        null, p_action, p_parameters, target.id,
        coalesce(p_pool, case when p_worker is null then 'default' end),
        coalesce(p_priority, known.priority, 0),
        coalesce(
            extract(epoch from p_ttl) * 1000, known.ttl_ms,
            postrider.get_setting('worker_queue_ttl_ms')::bigint),
        coalesce(
            extract(epoch from p_timeout) * 1000, known.timeout_ms,
            postrider.get_setting('execution_timeout')::bigint * 1000),
        coalesce(p_max_retries, known.max_retries, 0),
        p_idempotency_key, p_correlation_id, null, null)::postrider.execution);
end;
$$;

-- Name: subscribe(text, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb DEFAULT NULL::jsonb, p_options jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    endpoint postrider.endpoints;
    created_id integer;
    option record;
    nearest text;
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
        if option.key not in ('enabled', '_retry_policy') then
            select o.name
            into nearest
            from (values ('enabled'), ('_retry_policy')) o (name)
            order by postrider.edit_distance(option.key, o.name), o.name collate "C"
            limit 1;
            raise exception 'p_options.% is not a known key (did you mean %?)',
                left(option.key, 64), nearest using errcode = '22023';
        end if;
        if option.key = 'enabled' and option.type <> 'boolean' then
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
        endpoint_id, event_type, filter, retry_policy, enabled, is_endpoint_enabled)
    values (
        endpoint.id, p_event_type, p_filter, p_options -> '_retry_policy',
        coalesce((p_options ->> 'enabled')::boolean, true), endpoint.enabled)
    returning id into created_id;
    -- Dispatchers learn of the new target with the endpoint's next version.
    update postrider.endpoints e set version = e.version + 1 where e.id = endpoint.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'subscription.created', p_endpoint_name,
        jsonb_build_object(
            'id', created_id, 'event_type', p_event_type, 'by', session_user, 'before', null,
            'after', jsonb_build_object(
                'filter', p_filter, 'retry_policy', p_options -> '_retry_policy',
                'enabled', coalesce((p_options ->> 'enabled')::boolean, true))));
    return created_id;
end;
$_$;

-- Name: switch_all_endpoints(boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.switch_all_endpoints(p_paused boolean, OUT switched_count bigint, OUT held text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    patience constant interval := '1 second';
    look constant double precision := 0.02;
    began constant timestamptz := clock_timestamp();
    free integer[];
begin
    switched_count := 0;
    loop
        free := array(
            select e.id
            from postrider.endpoints e
            where e.paused <> p_paused
            and (p_paused or e.is_paused_with_all)
            order by e.id
            for update skip locked
        );
        update postrider.endpoints e
        set paused = p_paused,
            is_paused_with_all = p_paused
        where e.id = any (free);
        switched_count := switched_count + cardinality(free);
        held := array(
            select e.name
            from postrider.endpoints e
            where e.paused <> p_paused
            and (p_paused or e.is_paused_with_all)
            order by e.name
        );
        exit when held = '{}'
            or clock_timestamp() not between began and began + patience;
        perform pg_sleep(look);
    end loop;
    insert into postrider.event_log (event, details)
    values (
        case when p_paused then 'endpoints.paused' else 'endpoints.resumed' end,
        jsonb_build_object('count', switched_count, 'held', held, 'by', session_user));
end;
$$;

-- Name: switch_endpoint(text, boolean, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.switch_endpoint(p_endpoint_name text, p_enabled boolean, p_paused boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    if p_endpoint_name is null then
        raise exception 'Endpoint name must not be null' using errcode = '22004';
    end if;
    update postrider.endpoints e
    set enabled = coalesce(p_enabled, e.enabled),
        paused = coalesce(p_paused, e.paused)
    where e.name = p_endpoint_name
    and (e.enabled <> p_enabled or e.paused <> p_paused);
    if found then
        return true;
    end if;
    -- One that pause_all has paused is paused by itself from now on. That changes nothing for dispatchers, so
    -- announce_endpoint does not see it.
    update postrider.endpoints e
    set is_paused_with_all = false
    where e.name = p_endpoint_name
    and p_paused
    and e.is_paused_with_all;
    if found then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'endpoint.paused', p_endpoint_name,
            jsonb_build_object(
                'by', session_user, 'before', jsonb_build_object('paused', 'with all'),
                'after', jsonb_build_object('paused', true)));
        return true;
    end if;
    if not exists (select from postrider.endpoints e where e.name = p_endpoint_name) then
        raise exception 'Endpoint ''%'' does not exist', p_endpoint_name using errcode = '42704';
    end if;
    return false;
end;
$$;

-- Name: switch_worker(text, boolean); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.switch_worker(p_name text, p_is_cordoned boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known postrider.worker := postrider.held_worker(p_name);
begin
    if (known.cordoned_at is not null) = p_is_cordoned then
        return false;
    end if;
    update postrider.worker w
    set cordoned_at = case when p_is_cordoned then clock_timestamp() end
    where w.id = known.id;
    insert into postrider.event_log (event, details)
    values (
        case when p_is_cordoned then 'worker.cordoned' else 'worker.uncordoned' end,
        jsonb_build_object('worker', p_name, 'by', session_user));
    if not p_is_cordoned then
        perform postrider.ring_workers(postrider.execution_queue(known.id, null));
        perform postrider.ring_workers(postrider.execution_queue(null, known.pool));
    end if;
    return true;
end;
$$;

-- Name: system_identifier(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.system_identifier() RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    known bigint;
begin
    -- By a statement of its own: permissions are checked before anything is decided.
    if has_function_privilege('pg_control_system()', 'execute') then
        execute 'select c.system_identifier from pg_control_system() c' into known;
    end if;
    return known;
end;
$$;

-- Name: take_at_once(integer, integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_at_once(p_worker integer, p_limit integer, p_epoch integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, priority integer, expires_at timestamp with time zone, correlation_id uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    most_checked constant integer := 100;
    known postrider.worker;
    scheduled postrider.live_execution[];
begin
    known := postrider.live_worker(p_worker, p_epoch);
    if known.carrier <> 'postgres' then
        raise exception 'Worker ''%'' gets its executions by %', known.name, known.carrier
            using errcode = '55000';
    end if;
    if not exists (select from postrider.acting_dispatchers()) then
        perform postrider.check_workers();
        perform postrider.check_executions(most_checked);
        perform postrider.check_generations();
    end if;
    if exists (
        select
        from postrider.live_generation g
        cross join lateral (
            select
            from postrider.live_execution l
            where l.generation = g.id
            and l.queue in (
                postrider.execution_queue(known.id, null), postrider.execution_queue(null, known.pool))
            and l.status = 'requested'
            and not l.is_delayed
            limit 1
        ) l
    ) then
        -- Two statements: one alone would not see parameters that were committed while it looked,
        -- and so keep from the worker what is scheduled for it.
        scheduled := array(
            select s
            from postrider.schedule_executions(known, p_limit, p_limit) s
        );
        return query
        select s.id, s.fence, s.action, e.parameters, s.attempt, s.priority::integer, s.expires_at,
            e.correlation_id
        from unnest(scheduled) s
        join postrider.execution e on e.id = s.id
        order by s.priority desc, s.id;
    end if;
end;
$$;

-- Name: take_chore(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_chore(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform from postrider.chore c where c.name = p_name for update skip locked;
    return found;
end;
$$;

-- Name: take_executions(integer, integer, interval, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_executions(p_worker integer, p_limit integer DEFAULT 1, p_wait interval DEFAULT NULL::interval, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, priority integer, expires_at timestamp with time zone, correlation_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    most_executions constant integer := 10000;
    shortest_pause constant double precision := 0.005;
    longest_pause constant double precision := 0.05;
    deadline constant timestamptz := clock_timestamp() + coalesce(p_wait, '0');
    pause double precision := shortest_pause;
    known postrider.worker;
begin
    if p_limit is null or p_limit not between 1 and most_executions then
        raise exception 'p_limit must be between 1 and %, got %', most_executions,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    perform postrider.check_duration('p_wait', p_wait, '0 seconds', '60 seconds');
    perform postrider.refuse_copy();
    known := postrider.live_worker(p_worker, p_epoch);
    while clock_timestamp() < deadline loop
        begin
            return query
            select t.*
            from postrider.take_at_once(p_worker, p_limit, known.epoch) t;
            if found or pg_current_xact_id_if_assigned() is not null then
                -- What was written, if only by the monitor, is to be seen by others.
                return;
            end if;
            raise sqlstate 'PR001';
        exception
            -- No lock is held while it sleeps.
            when sqlstate 'PR001' then null;
        end;
        perform pg_sleep(
            least(pause, greatest(extract(epoch from deadline - clock_timestamp()), 0.001)));
        pause := least(pause * 2, longest_pause);
    end loop;
    return query
    select t.*
    from postrider.take_at_once(p_worker, p_limit, known.epoch) t;
end;
$$;

-- Name: take_out_of_attempts(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_out_of_attempts(p_message_ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
    attempt record;
    changed bigint := 0;
begin
    -- By partition and place: nothing else tells two attempts apart.
    for attempt in
        select a.tableoid::regclass as part, array_agg(a.place) as places
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select t.tableoid, t.ctid as place
            from postrider.attempt t
            where t.message_id = i.id
            and (t.error <> '(erased)' or t.response_body is not null)
            offset 0
            for update skip locked
        ) a
        group by a.tableoid
    loop
        execute format(
            $change$
            update %s a
            set error = case when a.error is not null then '(erased)' end,
                response_headers = null,
                response_body = null,
                response_truncated = null
            where a.ctid = any ($1)
            $change$, attempt.part)
        using attempt.places;
        changed := changed + cardinality(attempt.places);
    end loop;
    return changed;
end;
$_$;

-- Name: take_out_of_letters(bigint[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_out_of_letters(p_ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    changed bigint;
begin
    update postrider.dead_letter l
    set payload = 'null',
        body = null,
        content_type = null,
        headers = null,
        metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
        last_error = case when l.last_error is not null then '(erased)' end,
        error_history = (
            select
                coalesce(
                    jsonb_agg(
                        case
                            when h.entry ->> 'error' is null then h.entry
                            else h.entry || '{"error": "(erased)"}'
                        end
                        order by h.number),
                    '[]')
            from jsonb_array_elements(l.error_history) with ordinality h (entry, number)
        ),
        erased_at = clock_timestamp()
    where l.id = any (p_ids);
    get diagnostics changed = row_count;
    return changed;
end;
$$;

-- Name: take_tokens(integer[], integer[], integer[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.take_tokens(p_endpoint_ids integer[], p_wanted integer[], p_rates integer[], p_bursts integer[]) RETURNS TABLE(endpoint_id integer, granted integer, wait_ms integer)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    -- As many as there can be shards.
    most_dispatchers constant integer := 64;
    asked record;
    used timestamptz;
    moment timestamptz;
    each interval;
begin
    for asked in
        select w.endpoint_id, w.wanted, w.rate, w.burst
        from unnest(p_endpoint_ids, p_wanted, p_rates, p_bursts) w (endpoint_id, wanted, rate, burst)
        order by w.endpoint_id
    loop
        insert into postrider.rate_turn (endpoint_id)
        values (asked.endpoint_id)
        on conflict do nothing;
        perform from postrider.rate_turn t where t.endpoint_id = asked.endpoint_id for update;
        select g.used_until
        into used
        from postrider.rate_grant g
        where g.endpoint_id = asked.endpoint_id
        order by g.seq desc
        limit 1;
        moment := clock_timestamp();
        each := interval '1 second' / asked.rate;
        -- Nobody is ahead by more than all that dispatchers may ask for at once, unless the clock was set back.
        used := least(
            greatest(used, moment - asked.burst * each), moment + (asked.burst + most_dispatchers) * each);
        endpoint_id := asked.endpoint_id;
        granted := asked.wanted;
        used := used + asked.wanted * each;
        wait_ms := greatest(ceil(extract(epoch from used - moment) * 1000), 0);
        insert into postrider.rate_grant (slot, endpoint_id, used_until)
        values (postrider.current_slot(), asked.endpoint_id, used);
        return next;
    end loop;
end;
$$;

-- Name: target_names(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.target_names() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
    select coalesce(jsonb_object_agg(s.id, e.name), '{}')
    from postrider.subscriptions s
    join postrider.endpoints e on e.id = s.endpoint_id;
$$;

-- Name: tell_batch(postrider.job); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.tell_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $_$
declare
    most constant bigint := 1000;
    chunk_size constant bigint := 250;
    ahead constant interval := '5 seconds';
    began constant timestamptz := clock_timestamp();
    -- Without a rate the microseconds keep the order.
    gap constant interval := coalesce(interval '1 second' / p_job.rate, '1 microsecond');
    allowed bigint := most;
    look_at bigint;
    seen record;
    told record;
begin
    done_count := 0;
    reached := coalesce(p_job.position, '[0, 0]');
    held_from := p_job.held_from;
    held_count := case when held_from is null then 0 else p_job.held_count end;
    pause := '0';
    is_over := false;
    -- What is due later than that was written before the clock was set back.
    paced_to := least(p_job.paced_to, began + ahead);
    if p_job.rate is not null then
        paced_to := greatest(paced_to, began);
        allowed := least(most, floor(p_job.rate * extract(epoch from began + ahead - paced_to)));
    end if;
    while done_count < allowed and not is_over
        and clock_timestamp() < began + interval '200 milliseconds'
    loop
        look_at := least(chunk_size, allowed - done_count);
        execute $walk$
            select
                count(*) as looked_at,
                coalesce(array_agg(w.message_id) filter (where w.is_wanted), '{}') as message_ids,
                coalesce(array_agg(w.target) filter (where w.is_wanted), '{}') as targets,
                (array_agg(w.message_id order by w.message_id desc, w.target desc))[1] as last_message,
                (array_agg(w.target order by w.message_id desc, w.target desc))[1] as last_target
            from (
                select
                    d.message_id, d.target,
                    ($4 is null or d.endpoint_id = $4)
                    and (
                        $6 <> 'retry'
                        or d.run_at > clock_timestamp()
                        and not d.is_blocked
                        and postrider.is_older(d.xmin, $7)
                        and not coalesce((
                            select m.scheduled_at
                            from postrider.message m
                            where m.id >= d.message_id
                            and m.id <= d.message_id
                            order by m.id
                            limit 1
                        ) > clock_timestamp(), false)
                    )
                    -- Who has put it back since the job was made wants it delivered.
                    and not exists (
                        select
                        from postrider.dead_letter l
                        where l.message_id = d.message_id
                        and l.target = d.target
                        and l.redriven_at >= $9
                    )
                    and postrider.is_delivery_wanted(
                        $5, d.message_id, d.target, d.message_created_at, d.last_error,
                        d.ordering_key)
                    as is_wanted
                from postrider.deferred d
                where (d.message_id, d.target) > ($1, $2)
                and d.message_id <= $3
                order by d.message_id, d.target
                limit $8
            ) w
            $walk$
        into seen
        using
            (reached ->> 0)::bigint, (reached ->> 1)::integer, p_job.last_id, p_job.endpoint_id,
            p_job.filter, p_job.kind, p_job.xid, look_at, p_job.created_at;
        is_over := seen.looked_at < look_at;
        if seen.message_ids <> '{}' then
            if p_job.rate is null then
                paced_to := greatest(paced_to, clock_timestamp() - chunk_size * gap);
            end if;
            told := postrider.tell_deliveries(
                p_job.kind, seen.message_ids, seen.targets, p_job.filter ->> 'reason', paced_to, gap);
            paced_to := paced_to + told.told_count * gap;
            done_count := done_count + told.told_count;
            if told.held_count > 0 then
                held_from := coalesce(held_from, reached);
                held_count := held_count + told.held_count;
            end if;
        end if;
        if seen.looked_at > 0 then
            reached := jsonb_build_array(seen.last_message, seen.last_target);
        end if;
    end loop;
    if done_count > 0 then
        perform postrider.ring('postrider', 'deferred');
    end if;
    if is_over and held_from is not null then
        reached := held_from;
        held_from := null;
        is_over := false;
        pause := '1 second';
    elsif allowed < most and done_count >= allowed then
        pause := '1 second';
    end if;
end;
$_$;

-- Name: tell_deliveries(text, bigint[], integer[], text, timestamp with time zone, interval); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.tell_deliveries(p_verb text, p_message_ids bigint[], p_targets integer[], p_reason text, p_from timestamp with time zone, p_gap interval, OUT told_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off'
    AS $$
declare
    places tid[];
    uncancelled record;
    free tid[];
begin
    select
        coalesce(array_agg(d.ctid) filter (where d.ctid is not null), '{}'),
        count(*) filter (where d.ctid is null and postrider.is_deferred(i.message_id, i.target))
    into places, held_count
    from unnest(p_message_ids, p_targets) i (message_id, target)
    left join lateral (
        select w.ctid
        from postrider.deferred w
        where w.message_id = i.message_id
        and w.target = i.target
        offset 0
        for update skip locked
    ) d on true;
    uncancelled := postrider.uncancelled(places);
    held_count := held_count + uncancelled.under_way_count;
    with claimed as materialized (
        select r.message_id, r.target, r.retry_count
        from postrider.shard s
        join postrider.claim c on c.owner = s.owner
        cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
            r (message_id, target, retry_count)
        where (r.message_id & 1023) >> 4 = s.shard
    )
    select coalesce(array_agg(d.ctid order by d.message_id, d.target), '{}')
    into free
    from postrider.deferred d
    where d.ctid = any (uncancelled.free)
    and not exists (
        select
        from claimed c
        where c.message_id = d.message_id
        and c.target = d.target
        and c.retry_count = d.retry_count
    );
    told_count := cardinality(free);
    if p_verb <> 'retry' then
        held_count := held_count + cardinality(uncancelled.free) - told_count;
        perform postrider.end_deliveries(free, p_verb, p_reason);
        return;
    end if;
    update postrider.deferred d
    set run_at = least(d.run_at, p_from + (f.place - 1) * p_gap)
    from unnest(free) with ordinality f (ctid, place)
    where d.ctid = f.ctid;
end;
$$;

-- Name: tick(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.tick() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    perform postrider.check_tick_allowed('tick');
    perform postrider.refuse_copy();
    return postrider.append_tick();
end;
$$;

-- Name: tick_content(xid8, pg_snapshot, xid8[], integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.tick_content(p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer) RETURNS TABLE(message_count integer, first_id bigint, last_id bigint, from_at timestamp with time zone, to_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
    with gaps as (
        select
            g.first_xid,
            lead(g.last_xid, 1, pg_snapshot_xmax(p_top)) over (order by g.first_xid) as end_xid
        from (
            select p_base_end as first_xid, null::xid8 as last_xid
            union all
            select (x.xid::text::bigint + 1)::text::xid8, x.xid
            from pg_snapshot_xip(p_top) x (xid)
            where x.xid >= p_base_end
        ) g
    )
    select
        count(*)::integer as message_count,
        min(r.id) filter (where not r.is_late) as first_id,
        max(r.id) as last_id,
        min(r.created_at) as from_at,
        max(r.created_at) as to_at
    from (
        (
            select m.id, m.created_at, false as is_late
            from gaps g
            cross join lateral (
                select n.id, n.created_at
                from postrider.message n
                where n.xid >= g.first_xid
                and n.xid < g.end_xid
                limit p_look + 1
            ) m
        )
        union all
        (
            select m.id, m.created_at, true
            from unnest(p_stragglers) x (xid)
            cross join lateral (
                select n.id, n.created_at
                from postrider.message n
                where n.xid = x.xid
                limit p_look + 1
            ) m
        )
        limit p_look + 1
    ) r;
$$;

-- Name: tick_messages(bigint, bigint, bigint, integer, postrider.tick_span); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.tick_messages(p_tick bigint, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span DEFAULT NULL::postrider.tick_span) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE
    AS $$
    select
        t.id, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type, m.ordering_key,
        m.headers, m.metadata, m.payload, m.body, m.content_type
    from (
        select
            k.id, k.snapshot, k.base_xmax, k.stragglers, k.first_id, k.last_id, k.from_at, k.to_at,
            k.is_sparse, case when k.id = p_tick then p_after_id else 0 end as after_id
        from postrider.tick k
        where k.id >= p_tick
        and k.id <= p_to_tick
        and k.at between coalesce((p_span).first_at, '-infinity')
        and coalesce((p_span).last_at, 'infinity')
        and not coalesce((p_span).passed @> k.id, false)
        order by k.id
    ) t
    cross join lateral (
        (
            select s.*
            from unnest(t.stragglers) x (xid)
            cross join lateral (
                select
                    l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                    l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
                from postrider.message l
                where (l.xid, l.id) > (x.xid, t.after_id)
                and (l.xid, l.id) < (x.xid, t.first_id)
                and l.created_at between coalesce((p_span).late_from_at, '-infinity')
                and coalesce((p_span).to_at, 'infinity')
                order by l.xid, l.id
                limit p_look
            ) s
            where not t.is_sparse
            order by s.id
        )
        union all
        (
            select
                l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
            from postrider.message l
            where not t.is_sparse
            and l.id > greatest(t.after_id, t.first_id - 1)
            and l.id <= t.last_id
            and l.created_at between coalesce((p_span).from_at, '-infinity')
            and coalesce((p_span).to_at, 'infinity')
            and (l.xid >= t.base_xmax or l.xid = any (t.stragglers))
            and pg_visible_in_snapshot(l.xid, t.snapshot)
            order by l.id
        )
        union all
        (
            select
                l.id, l.xid, l.created_at, l.scheduled_at, l.correlation_id, l.event_type,
                l.ordering_key, l.headers, l.metadata, l.payload, l.body, l.content_type
            from (
                select
                    r.id, r.xid, r.created_at, r.scheduled_at, r.correlation_id, r.event_type,
                    r.ordering_key, r.headers, r.metadata, r.payload, r.body, r.content_type
                from (
                    select
                        g.first_xid,
                        lead(g.last_xid, 1, pg_snapshot_xmax(t.snapshot)) over (order by g.first_xid)
                            as end_xid
                    from (
                        select t.base_xmax as first_xid, null::xid8 as last_xid
                        union all
                        select (x.xid::text::bigint + 1)::text::xid8, x.xid
                        from pg_snapshot_xip(t.snapshot) x (xid)
                        where x.xid >= t.base_xmax
                    ) g
                    where t.is_sparse
                ) gap
                cross join lateral (
                    select
                        n.id, n.xid, n.created_at, n.scheduled_at, n.correlation_id, n.event_type,
                        n.ordering_key, n.headers, n.metadata, n.payload, n.body, n.content_type
                    from postrider.message n
                    where n.xid >= gap.first_xid
                    and n.xid < gap.end_xid
                    and n.created_at between coalesce((p_span).sparse_from_at, '-infinity')
                    and coalesce((p_span).to_at, 'infinity')
                ) r
                union all
                select
                    r.id, r.xid, r.created_at, r.scheduled_at, r.correlation_id, r.event_type,
                    r.ordering_key, r.headers, r.metadata, r.payload, r.body, r.content_type
                from postrider.message r
                where t.is_sparse
                and r.xid = any (t.stragglers)
                and r.created_at between coalesce((p_span).sparse_from_at, '-infinity')
                and coalesce((p_span).to_at, 'infinity')
            ) l
            where l.id + 0 > t.after_id
            order by l.id + 0
        )
    ) m
    limit p_look;
$$;

-- Name: trade_places(uuid, smallint[], bigint[], integer[], smallint[], uuid[], integer[], smallint[], integer[], integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.trade_places(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_lent_endpoint_ids integer[], p_lent_shards smallint[], p_borrowers uuid[], p_returned_endpoint_ids integer[], p_returned_shards smallint[], p_asked_endpoint_ids integer[], p_asked_parts integer[]) RETURNS TABLE(endpoint_id integer, shard smallint, is_borrowed boolean)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    live uuid[];
    lost smallint[];
    addressee uuid;
begin
    select coalesce(array_agg(l.id), '{}') into live from postrider.live_dispatchers() l (id);
    delete from postrider.loan l
    where l.shard = any (p_shards)
    and l.borrower <> all (live);

    delete from postrider.loan l
    using unnest(p_returned_endpoint_ids, p_returned_shards) r (endpoint_id, shard)
    where l.endpoint_id = r.endpoint_id
    and l.shard = r.shard
    and l.borrower = p_dispatcher;

    if cardinality(p_lent_shards) > 0 then
        lost := postrider.lost_shards(p_dispatcher, p_shards, p_epochs);
        insert into postrider.loan (endpoint_id, shard, borrower)
        select r.endpoint_id, r.shard, r.borrower
        from unnest(p_lent_endpoint_ids, p_lent_shards, p_borrowers) r (endpoint_id, shard, borrower)
        where r.shard = any (p_shards)
        and r.shard <> all (lost)
        and r.borrower = any (live)
        order by r.endpoint_id, r.shard
        on conflict do nothing;
    end if;

    for addressee in
        select r.borrower
        from unnest(p_borrowers) r (borrower)
        union
        select s.owner
        from unnest(p_returned_shards) r (shard)
        join postrider.shard s on s.shard = r.shard
        where s.owner <> p_dispatcher
    loop
        perform postrider.ring('postrider', 'loans ' || addressee);
    end loop;
    if cardinality(p_asked_parts) > 0 then
        perform postrider.ring(
            'postrider',
            format(
                'places %s %s', p_dispatcher,
                (
                    select string_agg(format('%s:%s', r.endpoint_id, r.parts), ' ')
                    from unnest(p_asked_endpoint_ids, p_asked_parts) r (endpoint_id, parts)
                )));
    end if;

    return query
    select l.endpoint_id, l.shard, l.borrower = p_dispatcher
    from postrider.loan l
    where l.shard = any (p_shards)
    or l.borrower = p_dispatcher;
end;
$$;

-- Name: transaction_messages(xid8, bigint, integer, xid8); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.transaction_messages(p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8 DEFAULT NULL::xid8) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE
    AS $$
    select
        null::bigint, m.id, m.xid, m.created_at, m.scheduled_at, m.correlation_id, m.event_type,
        m.ordering_key, m.headers, m.metadata, m.payload, m.body, m.content_type
    from postrider.message m
    where (m.xid, m.id) > (p_xid, p_after_id)
    and m.xid < coalesce(p_to_xid, pg_snapshot_xmin(pg_current_snapshot()))
    -- Spares a reader with ordering `commit` all partitions.
    and m.created_at >= case when p_xid is null then 'infinity'::timestamptz else '-infinity' end
    order by m.xid, m.id
    limit p_look;
$$;

-- Name: uncancelled(tid[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.uncancelled(p_places tid[], OUT free tid[], OUT under_way_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    under_way tid[];
begin
    under_way := array(
        select d.ctid
        from postrider.deferred d
        where d.ctid = any (p_places)
        and postrider.is_being_cancelled(d.message_id, d.retry_count, d.recovery_count)
    );
    under_way_count := cardinality(under_way);
    select coalesce(array_agg(d.ctid order by d.message_id, d.target), '{}')
    into free
    from postrider.deferred d
    where d.ctid = any (p_places)
    and d.ctid <> all (under_way)
    and not exists (
        select
        from postrider.cancellation c
        where c.message_id = d.message_id
        and c.target = d.target
    );
end;
$$;

-- Name: uncordon_worker(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.uncordon_worker(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return postrider.switch_worker(p_name, false);
end;
$$;

-- Name: unread_messages(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.unread_messages() RETURNS TABLE(endpoint_id integer, delivery_count double precision, oldest_at timestamp with time zone, due_since timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    look constant integer := 10000;
    last_number bigint;
begin
    select s.last_value into last_number from postrider.message_sequence s;
    return query
    with tails as materialized (
        select t.lane, t.base, t.top, t.walked
        from postrider.lane_tails() t
    ), following as materialized (
        -- Lanes that are read by ticks: what came since the one that is farthest behind.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from postrider.message m
        where m.xid >= (
            select pg_snapshot_xmax(t.base)
            from tails t
            where t.walked is null
            order by 1
            limit 1
        )
        order by m.xid, m.id
        limit look
    ), late as (
        -- And what was not committed then.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from (
            select distinct x.xid
            from tails t
            cross join lateral pg_snapshot_xip(t.base) x (xid)
            where t.walked is null
        ) x
        cross join lateral (
            select l.id, l.xid, l.lane, l.targets, l.created_at, l.scheduled_at
            from postrider.message l
            where l.xid >= x.xid
            and l.xid <= x.xid
            order by l.xid, l.id
            limit look
        ) m
        where m.id not in (select f.id from following f)
    ), walking as materialized (
        -- Lanes that are walked through: what lies behind the slowest of them.
        select m.id, m.xid, m.lane, m.targets, m.created_at, m.scheduled_at
        from postrider.message m
        where m.id > (select min(t.walked) from tails t)
        and not pg_visible_in_snapshot(
            m.xid, (
                select t.base
                from tails t
                where t.walked is not null
                order by pg_snapshot_xmax(t.base)
                limit 1
            ))
        order by m.id
        limit look
    ), following_size as materialized (
        select
            count(*) = look as is_full,
            (postrider.number_distance(min(f.id >> 10), last_number) + 1)
                / (postrider.number_distance(min(f.id >> 10), max(f.id >> 10)) + 1.0) as factor
        from following f
    ), walking_size as materialized (
        select count(*) = look as is_full, max(w.id >> 10) as up_to
        from walking w
    ), unread as (
        select
            f.id, f.targets, f.created_at, f.scheduled_at,
            case when z.is_full then greatest(z.factor, 1) else 1 end as weight
        from following f
        join tails t on t.lane = f.lane
        cross join following_size z
        where t.walked is null
        and not pg_visible_in_snapshot(f.xid, t.base)
        union all
        select l.id, l.targets, l.created_at, l.scheduled_at, 1
        from late l
        join tails t on t.lane = l.lane
        where t.walked is null
        and not pg_visible_in_snapshot(l.xid, t.base)
        union all
        -- What was passed already of a lane says how much of it comes behind the look.
        select
            w.id, w.targets,
            case when p.is_passed then null else w.created_at end,
            w.scheduled_at,
            case
                when z.is_full then
                    greatest(
                        postrider.number_distance(greatest(t.walked >> 10, z.up_to), last_number), 0)
                    / (postrider.number_distance(s.walked >> 10, z.up_to) + 1.0)
                    + (not p.is_passed)::integer
                else (not p.is_passed)::integer
            end
        from walking w
        join tails t on t.lane = w.lane
        cross join walking_size z
        cross join (select min(m.walked) as walked from tails m) s
        cross join lateral (
            select pg_visible_in_snapshot(w.xid, t.base)
                or w.id <= t.walked and pg_visible_in_snapshot(w.xid, t.top)
        ) p (is_passed)
        where t.walked is not null
    )
    select
        s.endpoint_id, sum(u.weight)::double precision, min(u.created_at),
        min(greatest(u.created_at, u.scheduled_at))
            filter (where u.created_at is not null
                and (u.scheduled_at is null or u.scheduled_at <= clock_timestamp()))
    from unread u
    cross join lateral unnest(u.targets) g (target)
    join postrider.subscriptions s on s.id = g.target
    group by s.endpoint_id
    having sum(u.weight) > 0;
end;
$$;

-- Name: unregister_dispatcher(uuid); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    lock table postrider.fence in row share mode;
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
            'id', known.id, 'event_type', known.event_type, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'filter', known.filter, 'retry_policy', known.retry_policy, 'enabled', known.enabled))
    from postrider.endpoints e
    where e.id = known.endpoint_id;
    return true;
end;
$$;

-- Name: update_full_endpoints(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.update_full_endpoints() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
    judged integer[];
    full_ones integer[];
    places tid[];
begin
    if not exists (select from postrider.endpoints e where e.config ? 'max_queue_size') then
        return 5000;
    end if;
    select
        array_agg(e.id),
        coalesce(
            array_agg(e.id) filter (
                where l.size_limit > 0
                and (p.delivery_count >= l.size_limit
                    or e.is_full and p.delivery_count > l.size_limit * 0.9)),
            '{}')
    into judged, full_ones
    from postrider.endpoints e
    cross join lateral (select (e.config ->> 'max_queue_size')::bigint) l (size_limit)
    left join postrider.pending_deliveries() p on p.endpoint_id = e.id
    where e.config ? 'max_queue_size';
    select array_agg(h.ctid)
    into places
    from (
        select e.ctid
        from postrider.endpoints e
        where e.config ? 'max_queue_size'
        and e.id = any (judged)
        and e.is_full <> (e.id = any (full_ones))
        for no key update skip locked
    ) h;
    update postrider.endpoints e
    set is_full = not e.is_full
    where e.ctid = any (places);
    return 1000;
end;
$$;

-- Name: update_gate(); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.update_gate() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    size_limit bigint;
begin
    select s.value::bigint into size_limit from postrider.setting s where s.name = 'max_queue_size';
    if size_limit = 0 then
        return setval('postrider.message_gate', 9223372036854775807);
    end if;
    return setval('postrider.message_gate', greatest(postrider.queue_base() + size_limit, 0));
end;
$$;

-- Name: url_origin(text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.url_origin(url text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    select regexp_replace(
        lower(substring(url_origin.url from '^[^/]+//[^/?]+')),
        '^(http://.*):0*80$|^(https://.*):0*443$',
        '\1\2');
$_$;

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
        when 'signing_keys' then
            is_valid := given.type = 'array'
                and (
                    select count(*) <= known.maximum
                    and count(distinct k.key) = count(*)
                    and coalesce(bool_and(postrider.is_signing_key(k.key)), true)
                    from jsonb_array_elements(
                        case when given.type = 'array' then given.value else '[]' end) k (key)
                );
            expected := format(
                'an array of at most %s keys, no two alike, each whsec_ and the base64 of 24 to 64 bytes or '
                'whsk_ and the base64 of 64 bytes, an ed25519 seed and its public key',
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
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
declare
    form text;
    path text := 'retry_policy';
    healthy jsonb := policy;
    phases record;
    others bigint;
    total numeric;
begin
    if policy is null then
        return true;
    end if;
    if jsonb_typeof(policy) <> 'object' then
        raise exception 'retry_policy must be an object' using errcode = '22023';
    end if;
    form := postrider.retry_policy_form(policy);
    perform postrider.check_retry_policy_keys(policy, form, path);
    if form = 'nested' then
        path := 'retry_policy.healthyRetryPolicy';
        healthy := policy -> 'healthyRetryPolicy';
        if jsonb_typeof(healthy) <> 'object' then
            raise exception '% must be an object', path using errcode = '22023';
        end if;
        perform postrider.check_retry_policy_keys(healthy, 'healthy', path);
    end if;

    if form = 'preset' and policy ? 'max_retries' and policy ->> 'preset' <> 'sns-managed' then
        raise exception 'retry_policy.max_retries goes with the preset sns-managed only'
            using errcode = '22023';
    end if;
    if form in ('nested', 'healthy', 'phased') then
        select p.* into phases from postrider.retry_phases(policy) p;
        if phases.minimum_delay > phases.maximum_delay then
            raise exception '%.% must not be greater than %', path,
                case when form = 'phased' then 'minimum_delay' else 'minDelayTarget' end,
                case when form = 'phased' then 'maximum_delay' else 'maxDelayTarget' end
                using errcode = '22023';
        end if;
        others := phases.retries_with_no_delay + phases.minimum_delay_retries
            + phases.maximum_delay_retries;
        if phases.backoff_retries < 0 then
            raise exception 'retry_policy: the phases have % retries, numRetries allows %',
                others, healthy -> 'numRetries' using errcode = '22023';
        end if;
        if others + phases.backoff_retries > 1000 then
            raise exception 'retry_policy: the phases have % retries, at most 1000 are allowed',
                others + phases.backoff_retries using errcode = '22023';
        end if;
    end if;
    if form <> 'simple' then
        select sum(w.wait)
        into total
        from unnest(postrider.retry_waits(policy, 'event_type')) w (wait);
        if total > 2592000000 then
            raise exception
                'retry_policy: the waits add up to % s, at most 2592000 s are allowed',
                ceil(total / 1000) using errcode = '22023';
        end if;
    end if;
    return true;
end;
$$;

-- Name: visible_messages(xid8, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.visible_messages(p_xid xid8, p_after_id bigint, p_look integer) RETURNS TABLE(id bigint, xid xid8, created_at timestamp with time zone, event_type text, ordering_key text, payload jsonb)
    LANGUAGE sql STABLE
    AS $$
    select m.id, m.xid, m.created_at, m.event_type, m.ordering_key, m.payload
    from (
        select
            g.first_xid,
            lead(g.last_xid, 1, pg_snapshot_xmax(pg_current_snapshot())) over (order by g.first_xid)
                as end_xid
        from (
            select p_xid as first_xid, null::xid8 as last_xid
            union all
            select (x.xid::text::bigint + 1)::text::xid8, x.xid
            from pg_snapshot_xip(pg_current_snapshot()) x (xid)
            where x.xid >= p_xid
        ) g
    ) b
    cross join lateral (
        select v.id, v.xid, v.created_at, v.event_type, v.ordering_key, v.payload
        from postrider.message v
        where (v.xid, v.id) > (p_xid, p_after_id)
        and v.xid >= b.first_xid
        and v.xid < b.end_xid
        order by v.xid, v.id
        limit p_look
    ) m
    where m.xid is distinct from pg_current_xact_id_if_assigned()
    limit p_look;
$$;

-- Name: was_taken_back(bigint, integer[]); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.was_taken_back(p_message_id bigint, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    AS $$
begin
    return p_targets <> '{}' and not exists (
        select
        from unnest(p_targets) t (target)
        left join lateral postrider.delivery_end(p_message_id, t.target) f on true
        where f.status is null
        or f.status not in ('expired', 'cancelled')
    );
end;
$$;

-- Name: worker_executions(integer, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, status text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
begin
    perform postrider.lock_worker(postrider.live_worker(p_worker, p_epoch), false);
    return query
    select l.id, l.fence, l.status
    from postrider.execution_generation g
    cross join lateral (
        select l.id, l.fence, l.status
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = p_worker
        offset 0
    ) l
    order by l.id;
end;
$$;

-- Name: worker_heartbeat(integer, integer, text); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer DEFAULT NULL::integer, p_error text DEFAULT NULL::text) RETURNS TABLE(execution_id bigint, fence bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    most_returned constant integer := 1000;
    live postrider.live_execution;
    known postrider.worker := postrider.live_worker(p_worker, p_epoch);
    probe record;
begin
    -- Who takes nothing here hears why.
    perform postrider.refuse_copy();
    select p.* into probe from postrider.probe_worker(p_worker) p;
    update postrider.worker w
    set heartbeat_at = clock_timestamp(),
        status = case when p_error is null then 'active' else 'error' end,
        last_error = left(p_error, 1000),
        health = probe.health,
        failure_streak = probe.failure_streak,
        failure_rate = probe.failure_rate,
        queue_depth = probe.queue_depth
    where w.id = p_worker
    and w.epoch = known.epoch
    and w.status <> 'inactive';
    if not found then
        -- It was taken for lost while we waited for its row: says so.
        known := postrider.live_worker(p_worker, known.epoch);
    end if;
    if p_error is not null then
        for live in
            select l.*
            from postrider.live_generation g
            cross join lateral (
                select l.*
                from postrider.live_execution l
                where l.generation = g.id
                and l.worker_id = p_worker
                and l.status = 'scheduled'
                and l.pool is not null
                limit most_returned
                for update skip locked
            ) l
            limit most_returned
        loop
            perform postrider.return_execution(live, true);
        end loop;
    end if;
    return query
    select l.id, l.fence
    from postrider.live_generation g
    cross join lateral (
        select l.id, l.fence
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = p_worker
        and l.status = 'running'
        and l.cancel_requested_at is not null
        offset 0
    ) l;
end;
$$;

-- Name: worker_room(postrider.worker, text, integer); Type: FUNCTION; Schema: postrider; Owner: -

CREATE FUNCTION postrider.worker_room(p_worker postrider.worker, p_queue text, p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    present postrider.worker;
    load bigint;
begin
    perform
    from postrider.worker_lock k
    where k.worker_id = p_worker.id
    for update skip locked;
    if not found then
        return 0;
    end if;
    -- Statements of their own, which see what those who had the lock before have given it.
    select w.*
    into present
    from postrider.worker w
    where w.id = p_worker.id
    and w.epoch = p_worker.epoch
    and w.cordoned_at is null;
    if not found then
        return 0;
    end if;
    if present.carrier = 'rabbitmq' and p_queue = postrider.execution_queue(present.id, null) then
        return p_most;
    end if;
    select count(*)
    into load
    from postrider.execution_generation g
    cross join lateral (
        select
        from postrider.live_execution l
        where l.generation = g.id
        and l.worker_id = present.id
        limit present.capacity
    ) l;
    return greatest(least(p_most, present.capacity - load), 0);
end;
$$;

-- Name: action_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.action ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.action_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: action_slot; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.action_slot (
    action_id integer NOT NULL,
    slot smallint NOT NULL,
    CONSTRAINT action_slot_slot_check CHECK (((slot >= 1) AND (slot <= 10000)))
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
    replay_of bigint,
    erased_at timestamp with time zone,
    CONSTRAINT message_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL))))
)
PARTITION BY RANGE (created_at);

-- Name: archive; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.archive AS
 SELECT u.id,
    u.endpoint_name,
    u.event_type,
    (e.ending ->> 'status'::text) AS status,
    m.payload,
    m.body,
    m.content_type,
    ((e.ending ->> 'retry_count'::text))::integer AS retry_count,
    (e.ending ->> 'last_error'::text) AS last_error,
    m.priority,
    m.scheduled_at,
    m.idempotency_key,
    m.correlation_id,
    m.expires_at,
    m.ordering_key,
    m.headers,
    m.metadata,
    m.created_at,
    ((e.ending ->> 'at'::text))::timestamp with time zone AS ended_at,
        CASE
            WHEN ((e.ending ->> 'status'::text) = 'completed'::text) THEN ((e.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS completed_at,
        CASE
            WHEN ((e.ending ->> 'status'::text) = 'failed'::text) THEN ((e.ending ->> 'at'::text))::timestamp with time zone
            ELSE NULL::timestamp with time zone
        END AS failed_at,
    u.target,
    m.replay_of
   FROM (((( SELECT 'direct'::text AS kind,
            NULL::boolean AS is_published,
            NULL::boolean AS is_over_one,
            NULL::boolean AS is_over_four,
            m_1.id,
            m_1.targets[1] AS target,
            m_1.endpoint_name,
            NULL::text AS event_type,
            m_1.xid
           FROM postrider.message m_1
        UNION ALL
         SELECT 'one'::text,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[1] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[1])::text),
            m_1.event_type,
            NULL::xid8
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[1] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[1])::text),
            m_1.event_type,
            NULL::xid8
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[2] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[2])::text),
            m_1.event_type,
            NULL::xid8
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[3] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[3])::text),
            m_1.event_type,
            NULL::xid8
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[4] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[4])::text),
            m_1.event_type,
            NULL::xid8
           FROM postrider.message m_1
        UNION ALL
         SELECT 'many'::text,
            true,
            true,
            true,
            p.id,
            p.target,
            (( SELECT postrider.target_names() AS target_names) ->> (p.target)::text),
            p.event_type,
            NULL::xid8
           FROM ( SELECT k.id,
                    k.event_type,
                    t.target
                   FROM (postrider.message k
                     CROSS JOIN LATERAL unnest(k.targets) t(target))
                  WHERE (( SELECT postrider.has_wide_messages() AS has_wide_messages) AND (k.event_type IS NOT NULL) AND ((cardinality(k.targets) > 1) IS TRUE) AND ((cardinality(k.targets) > 4) IS TRUE))
                  ORDER BY k.id DESC) p) u
     CROSS JOIN LATERAL ( SELECT ((u.target IS NOT NULL) AND (NOT postrider.is_deferred(u.id, u.target)) AND ((f.xid < ( SELECT postrider.done_before() AS done_before)) OR postrider.has_ended(u.id, u.target))) AS has_ended
           FROM ( SELECT COALESCE(u.xid, ( SELECT m_1.xid
                           FROM postrider.message m_1
                          WHERE ((m_1.id >= u.id) AND (m_1.id <= u.id))
                          ORDER BY m_1.id
                         LIMIT 1)) AS xid
                 OFFSET 0) f
         OFFSET 0) w)
     CROSS JOIN LATERAL ( SELECT k.payload,
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
            k.created_at,
            k.replay_of
           FROM postrider.message k
          WHERE ((k.id >= u.id) AND (k.id <= u.id))
          ORDER BY k.id
         LIMIT 1) m)
     CROSS JOIN LATERAL ( SELECT postrider.describe_end(u.id, u.target) AS ending
         OFFSET 0) e)
  WHERE (
        CASE u.kind
            WHEN 'direct'::text THEN (u.endpoint_name IS NOT NULL)
            WHEN 'one'::text THEN (u.is_published AND (u.is_over_one IS FALSE) AND (u.is_over_four IS FALSE))
            WHEN 'few'::text THEN (u.is_published AND (u.is_over_one IS TRUE) AND (u.is_over_four IS FALSE))
            ELSE true
        END AND (u.id <= ( SELECT postrider.ended_ceiling() AS ended_ceiling)) AND w.has_ended);

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
    error text,
    correlation_id uuid,
    response_headers jsonb,
    response_body bytea,
    response_truncated boolean,
    CONSTRAINT attempt_check CHECK ((((response_body IS NULL) = (response_headers IS NULL)) AND ((response_body IS NULL) = (response_truncated IS NULL))))
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
    error text,
    correlation_id uuid,
    response_headers jsonb,
    response_body bytea,
    response_truncated boolean,
    CONSTRAINT attempt_check CHECK ((((response_body IS NULL) = (response_headers IS NULL)) AND ((response_body IS NULL) = (response_truncated IS NULL))))
);

-- Name: endpoints; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.endpoints (
    id integer NOT NULL,
    name text NOT NULL,
    protocol text NOT NULL,
    config jsonb NOT NULL,
    retry_policy jsonb,
    enabled boolean DEFAULT true NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    direct_subscription_id integer NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    is_full boolean DEFAULT false NOT NULL,
    is_paused_with_all boolean DEFAULT false NOT NULL,
    CONSTRAINT endpoints_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text)),
    CONSTRAINT endpoints_paused_with_all CHECK ((paused OR (NOT is_paused_with_all)))
);

-- Name: attempts; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.attempts AS
 SELECT a.message_id,
    e.name AS endpoint_name,
    a.target,
    a.number AS attempt,
    a.started_at,
    a.duration_ms,
    a.outcome,
    a.status,
    a.error,
    a.correlation_id,
    (a.response_headers ->> 'content-type'::text) AS response_content_type,
    a.response_headers,
    a.response_body,
    a.response_truncated
   FROM (postrider.attempt a
     LEFT JOIN postrider.endpoints e ON ((e.id = a.endpoint_id)));

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

-- Name: broker_report; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.broker_report (
    process text NOT NULL,
    at timestamp with time zone NOT NULL,
    is_connected boolean NOT NULL,
    dead_letter_depth bigint,
    error text
)
WITH (fillfactor='50');

-- Name: cancel_bucket; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.cancel_bucket (
    bucket smallint NOT NULL
);

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

-- Name: chore; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.chore (
    name text NOT NULL
);

-- Name: circuit; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.circuit (
    endpoint_id integer NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    state text DEFAULT 'closed'::text NOT NULL,
    failure_count integer DEFAULT 0 NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    probe_at timestamp with time zone,
    probe_owner uuid,
    paused_until timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    failing_since timestamp with time zone,
    CONSTRAINT circuit_check CHECK (((state = 'open'::text) = (probe_at IS NOT NULL))),
    CONSTRAINT circuit_check1 CHECK (((state = 'half_open'::text) = (probe_owner IS NOT NULL))),
    CONSTRAINT circuit_failure_count_check CHECK ((failure_count >= 0)),
    CONSTRAINT circuit_state_check CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text])))
)
WITH (fillfactor='50');

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

-- Name: clock_jump_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.clock_jump ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.clock_jump_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: consumer_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.consumer ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.consumer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: consumer_lock; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.consumer_lock (
    consumer_id integer NOT NULL,
    partition smallint NOT NULL,
    CONSTRAINT consumer_lock_partition_check CHECK (((partition >= '-1'::integer) AND (partition <= 63)))
);

-- Name: consumers; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.consumers AS
 WITH holders AS MATERIALIZED (
         SELECT h_1.consumer_id,
            h_1.partition,
            h_1.pid,
            h_1.since,
            h_1.application_name
           FROM postrider.consumer_holders() h_1(consumer_id, partition, pid, gid, since, application_name)
        ), leases AS MATERIALIZED (
         SELECT n.consumer_id,
            n.member,
            n.partitions,
            n.lease_until
           FROM ( SELECT DISTINCT ON (l_1.consumer_id, l_1.member) l_1.consumer_id,
                    l_1.member,
                    l_1.partitions,
                    l_1.lease_until
                   FROM postrider.consumer_lease l_1
                  ORDER BY l_1.consumer_id, l_1.member, l_1.seq DESC) n
          WHERE (n.lease_until > clock_timestamp())
        )
 SELECT c.id,
    c.name,
    c.ordering,
    c.event_types,
    c.filter,
    g.partition,
    (c.partition_count)::integer AS partition_count,
    ('postrider:'::text || c.name) AS channel,
    r."position",
    r.tick,
    r.message_count,
    r.lag_messages,
    r.lag_seconds,
    r.last_fetched_at,
    r.last_acknowledged_at,
    h.pid AS holder_pid,
    h.since AS holder_since,
    h.application_name AS holder_application,
    l.member AS leased_to,
    l.lease_until,
    r.parked_count,
    r.waits_since,
    r.waits_for_pid,
    r.waits_for_gid,
    r.waits_for_age,
    r.waits_for_query,
    c.created_at
   FROM ((((postrider.consumer c
     CROSS JOIN LATERAL generate_series(0, (c.partition_count - 1)) g(partition))
     CROSS JOIN LATERAL postrider.consumer_report(c.id, g.partition) r("position", tick, message_count, lag_messages, lag_seconds, last_fetched_at, last_acknowledged_at, parked_count, waits_since, waits_for_pid, waits_for_gid, waits_for_age, waits_for_query))
     LEFT JOIN holders h ON (((h.consumer_id = c.id) AND (h.partition = g.partition))))
     LEFT JOIN LATERAL ( SELECT e.member,
            e.lease_until
           FROM leases e
          WHERE ((e.consumer_id = c.id) AND (g.partition = ANY (e.partitions)))
          ORDER BY e.lease_until DESC
         LIMIT 1) l ON (true));

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
    redriven_by text,
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
    replay_of bigint,
    erased_at timestamp with time zone,
    CONSTRAINT dead_letter_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL)))),
    CONSTRAINT dead_letter_check1 CHECK (((status = 'redriven'::text) = (redriven_at IS NOT NULL))),
    CONSTRAINT dead_letter_status_check CHECK ((status = ANY (ARRAY['failed'::text, 'redriven'::text])))
);

-- Name: dead_letter_statistics; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.dead_letter_statistics (
    hour timestamp with time zone NOT NULL,
    worker_id integer NOT NULL,
    action text NOT NULL,
    reason text NOT NULL,
    outcome text NOT NULL,
    carrier text NOT NULL,
    letter_count bigint NOT NULL
)
WITH (fillfactor='50');

-- Name: dead_letter_figures; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.dead_letter_figures AS
 SELECT s.hour,
    w.name AS worker,
    NULLIF(s.worker_id, 0) AS worker_id,
    NULLIF(s.action, ''::text) AS action,
    NULLIF(s.reason, ''::text) AS reason,
    s.outcome,
    s.carrier,
    s.letter_count
   FROM (postrider.dead_letter_statistics s
     LEFT JOIN postrider.worker w ON ((w.id = s.worker_id)));

-- Name: dead_letter_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: dead_letter_total; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.dead_letter_total (
    outcome text NOT NULL,
    letter_count bigint NOT NULL
)
WITH (fillfactor='50');

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
    l.redriven_by,
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
    offsets bytea NOT NULL,
    run smallint
)
PARTITION BY RANGE (at);

-- Name: done_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.done_default (
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    offsets bytea NOT NULL,
    run smallint
);

-- Name: ended; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.ended (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    note text,
    CONSTRAINT ended_note_check CHECK (((note IS NULL) OR (reason = 'skipped'::text))),
    CONSTRAINT ended_reason_check CHECK ((reason = ANY (ARRAY['expired'::text, 'cancelled'::text, 'failed'::text, 'skipped'::text])))
)
PARTITION BY RANGE (at);

-- Name: ended_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.ended_default (
    message_id bigint NOT NULL,
    target integer NOT NULL,
    endpoint_id integer NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    note text,
    CONSTRAINT ended_note_check CHECK (((note IS NULL) OR (reason = 'skipped'::text))),
    CONSTRAINT ended_reason_check CHECK ((reason = ANY (ARRAY['expired'::text, 'cancelled'::text, 'failed'::text, 'skipped'::text])))
);

-- Name: endpoint_secret; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.endpoint_secret (
    endpoint_id integer NOT NULL,
    config jsonb NOT NULL,
    set_at jsonb DEFAULT '{}'::jsonb NOT NULL
);

-- Name: endpoint_configs; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.endpoint_configs AS
 SELECT e.id,
    e.name AS endpoint_name,
    e.protocol,
    postrider.masked_config(e.config) AS config,
    ( SELECT jsonb_object_agg(k.key, (s.set_at -> k.key)) AS jsonb_object_agg
           FROM (postrider.endpoint_secret s
             CROSS JOIN LATERAL jsonb_object_keys(s.config) k(key))
          WHERE (s.endpoint_id = e.id)) AS secrets_set_at
   FROM postrider.endpoints e;

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

-- Name: execution_dead_letter; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_dead_letter (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    outcome text NOT NULL,
    carrier text NOT NULL,
    execution_id bigint,
    attempt integer,
    worker_id integer,
    action text,
    reason text,
    x_death jsonb,
    body bytea,
    details jsonb,
    CONSTRAINT execution_dead_letter_carrier_check CHECK ((carrier = ANY (ARRAY['postgres'::text, 'rabbitmq'::text]))),
    CONSTRAINT execution_dead_letter_outcome_check CHECK ((outcome = ANY (ARRAY['failed'::text, 'retried'::text, 'returned'::text, 'terminal'::text, 'running'::text, 'passed'::text, 'unknown'::text, 'unreadable'::text])))
);

-- Name: execution_dead_letter_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.execution_dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: execution_dead_letters; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.execution_dead_letters AS
 SELECT d.id,
    d.at,
    d.outcome,
    d.carrier,
    d.execution_id,
    d.attempt,
    w.name AS worker,
    d.worker_id,
    d.action,
    d.reason,
    d.x_death,
    d.body,
    d.details
   FROM (postrider.execution_dead_letter d
     LEFT JOIN postrider.worker w ON ((w.id = d.worker_id)));

-- Name: execution_end; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_end (
    id bigint NOT NULL,
    execution_id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    attempt integer NOT NULL,
    is_final boolean NOT NULL,
    status text NOT NULL,
    reason text,
    retry_reason text,
    worker_id integer,
    action text NOT NULL,
    pool text,
    requested_at timestamp with time zone NOT NULL,
    scheduled_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    result jsonb,
    error jsonb,
    CONSTRAINT execution_end_check CHECK ((is_final OR (status = ANY (ARRAY['failed'::text, 'released'::text])))),
    CONSTRAINT execution_end_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'failed'::text, 'timeout'::text, 'cancelled'::text, 'released'::text])))
);

-- Name: execution_end_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.execution_end ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_end_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: execution_statistics; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_statistics (
    hour timestamp with time zone NOT NULL,
    pool text NOT NULL,
    action text NOT NULL,
    worker_id integer NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    attempt_count bigint NOT NULL,
    ended_count bigint NOT NULL,
    started_count bigint NOT NULL,
    running_seconds double precision NOT NULL,
    waiting_seconds double precision NOT NULL
)
WITH (fillfactor='50');

-- Name: execution_figures; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.execution_figures AS
 SELECT s.hour,
    NULLIF(s.pool, ''::text) AS pool,
    s.action,
    w.name AS worker,
    NULLIF(s.worker_id, 0) AS worker_id,
    (COALESCE(sum(s.ended_count) FILTER (WHERE (s.status = 'completed'::text)), (0)::numeric))::bigint AS completed_count,
    (COALESCE(sum(s.ended_count) FILTER (WHERE (s.status = 'failed'::text)), (0)::numeric))::bigint AS failed_count,
    (COALESCE(sum(s.ended_count) FILTER (WHERE (s.status = 'timeout'::text)), (0)::numeric))::bigint AS timeout_count,
    (COALESCE(sum(s.ended_count) FILTER (WHERE (s.status = 'cancelled'::text)), (0)::numeric))::bigint AS cancelled_count,
    (COALESCE(sum((s.attempt_count - s.ended_count)) FILTER (WHERE (s.status = 'failed'::text)), (0)::numeric))::bigint AS retried_count,
    (COALESCE(sum(s.attempt_count) FILTER (WHERE (s.status = 'released'::text)), (0)::numeric))::bigint AS released_count,
    make_interval(secs => (sum(s.running_seconds) / (NULLIF(sum(s.started_count), (0)::numeric))::double precision)) AS mean_duration,
    make_interval(secs => (sum(s.waiting_seconds) / (NULLIF(sum(s.attempt_count), (0)::numeric))::double precision)) AS mean_waiting
   FROM (postrider.execution_statistics s
     LEFT JOIN postrider.worker w ON ((w.id = s.worker_id)))
  GROUP BY s.hour, s.pool, s.action, s.worker_id, w.name;

-- Name: execution_generation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_generation (
    id integer NOT NULL,
    begins_after bigint NOT NULL,
    ends_with bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

-- Name: execution_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.execution ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: execution_rollup; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_rollup (
    is_only_row boolean DEFAULT true NOT NULL,
    horizon xid8 DEFAULT '0'::xid8 NOT NULL,
    at timestamp with time zone,
    CONSTRAINT execution_rollup_is_only_row_check CHECK (is_only_row)
);

-- Name: execution_total; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.execution_total (
    pool text NOT NULL,
    action text NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    attempt_count bigint NOT NULL,
    ended_count bigint NOT NULL
)
WITH (fillfactor='50');

-- Name: executions; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.executions AS
 SELECT e.id,
    e.action,
    e.parameters,
    COALESCE(l.status, f.status) AS status,
    a.name AS addressed_to,
    e.pool,
    w.name AS worker,
    (e.priority)::integer AS priority,
    make_interval(secs => (((e.ttl_ms)::numeric / 1000.0))::double precision) AS ttl,
    make_interval(secs => (((e.timeout_ms)::numeric / 1000.0))::double precision) AS timeout,
    COALESCE(l.attempt, f.attempt) AS attempt,
    e.max_retries,
    COALESCE(l.retry_reason, f.retry_reason) AS retry_reason,
    e.original_execution,
    f.reason,
    f.result,
    f.error,
    e.created_at,
    COALESCE(l.requested_at, f.requested_at) AS requested_at,
    COALESCE(l.scheduled_at, f.scheduled_at) AS scheduled_at,
    COALESCE(l.started_at, f.started_at) AS started_at,
    f.ended_at,
    l.expires_at,
    l.deadline_at,
        CASE
            WHEN l.is_delayed THEN l.due_at
            ELSE NULL::timestamp with time zone
        END AS retry_at,
    l.cancel_requested_at,
    e.correlation_id,
    e.idempotency_key
   FROM ((((postrider.execution e
     LEFT JOIN postrider.live_execution l ON ((l.id = e.id)))
     LEFT JOIN postrider.execution_end f ON (((f.execution_id = e.id) AND f.is_final)))
     LEFT JOIN postrider.worker a ON ((a.id = e.worker_id)))
     LEFT JOIN postrider.worker w ON ((w.id = COALESCE(l.worker_id, f.worker_id))));

-- Name: fence; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.fence (
);

-- Name: generation_lock_0; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_0 (
);

-- Name: generation_lock_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_1 (
);

-- Name: generation_lock_10; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_10 (
);

-- Name: generation_lock_11; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_11 (
);

-- Name: generation_lock_12; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_12 (
);

-- Name: generation_lock_13; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_13 (
);

-- Name: generation_lock_14; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_14 (
);

-- Name: generation_lock_15; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_15 (
);

-- Name: generation_lock_16; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_16 (
);

-- Name: generation_lock_17; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_17 (
);

-- Name: generation_lock_18; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_18 (
);

-- Name: generation_lock_19; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_19 (
);

-- Name: generation_lock_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_2 (
);

-- Name: generation_lock_20; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_20 (
);

-- Name: generation_lock_21; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_21 (
);

-- Name: generation_lock_22; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_22 (
);

-- Name: generation_lock_23; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_23 (
);

-- Name: generation_lock_24; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_24 (
);

-- Name: generation_lock_25; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_25 (
);

-- Name: generation_lock_26; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_26 (
);

-- Name: generation_lock_27; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_27 (
);

-- Name: generation_lock_28; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_28 (
);

-- Name: generation_lock_29; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_29 (
);

-- Name: generation_lock_3; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_3 (
);

-- Name: generation_lock_30; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_30 (
);

-- Name: generation_lock_31; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_31 (
);

-- Name: generation_lock_4; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_4 (
);

-- Name: generation_lock_5; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_5 (
);

-- Name: generation_lock_6; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_6 (
);

-- Name: generation_lock_7; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_7 (
);

-- Name: generation_lock_8; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_8 (
);

-- Name: generation_lock_9; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.generation_lock_9 (
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
    statistics jsonb NOT NULL,
    horizon xid8
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
    statistics jsonb NOT NULL,
    horizon xid8
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
    statistics jsonb NOT NULL,
    horizon xid8
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
    statistics jsonb NOT NULL,
    horizon xid8
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

-- Name: identity; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.identity (
    singleton boolean DEFAULT true NOT NULL,
    system_identifier bigint,
    database_oid oid NOT NULL,
    relation_oid oid NOT NULL,
    mark xid,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT identity_singleton_check CHECK (singleton)
);

-- Name: installation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.installation (
    singleton boolean DEFAULT true NOT NULL,
    product_version text NOT NULL,
    fingerprint text NOT NULL,
    installed_at timestamp with time zone DEFAULT now() NOT NULL,
    migrated_at timestamp with time zone DEFAULT now() NOT NULL,
    role_prefix text DEFAULT 'postrider'::text NOT NULL,
    CONSTRAINT installation_role_prefix_check CHECK (((role_prefix ~ '^[a-z][a-z0-9_]{0,47}$'::text) AND (role_prefix !~ '^pg_'::text))),
    CONSTRAINT installation_singleton_check CHECK (singleton)
);

-- Name: job_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.job ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: jobs; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.jobs AS
 SELECT j.id,
    j.kind,
    j.endpoint_name,
    j.filter,
    j.rate,
    j.state,
    j.done_count,
    j.held_count,
    j.estimate,
    j.has_more,
    j.created_by,
    j.created_at,
    j.finished_at,
    j.last_error
   FROM postrider.job j;

-- Name: oldest_generation; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.oldest_generation
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: live_generation; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.live_generation AS
 SELECT g.id
   FROM postrider.execution_generation g
  WHERE (g.id >= ( SELECT s.last_value
           FROM postrider.oldest_generation s));

-- Name: loan; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.loan (
    endpoint_id integer NOT NULL,
    shard smallint NOT NULL,
    borrower uuid NOT NULL
);

-- Name: log_change; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.log_change (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
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
    replay_of bigint,
    erased_at timestamp with time zone,
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

-- Name: number_gap; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.number_gap (
    after_number bigint NOT NULL,
    last_number bigint NOT NULL,
    CONSTRAINT number_gap_check CHECK ((last_number > after_number))
);

-- Name: parked_message; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.parked_message (
    id bigint NOT NULL,
    consumer_id integer NOT NULL,
    message_id bigint NOT NULL,
    xid xid8 NOT NULL,
    tick bigint,
    partition smallint NOT NULL,
    attempt_count integer NOT NULL,
    last_error text,
    parked_at timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone NOT NULL,
    scheduled_at timestamp with time zone,
    correlation_id uuid,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    erased_at timestamp with time zone,
    CONSTRAINT parked_message_attempt_count_check CHECK ((attempt_count > 0)),
    CONSTRAINT parked_message_check CHECK ((((payload IS NULL) = (body IS NOT NULL)) AND ((body IS NULL) = (content_type IS NULL))))
);

-- Name: parked_message_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.parked_message ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.parked_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: parked_messages; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.parked_messages AS
 SELECT k.id,
    c.name AS consumer_name,
    (k.message_id >> 10) AS "position",
    k.message_id,
    k.xid AS transaction_id,
    k.tick,
    (k.partition)::integer AS partition,
    k.attempt_count,
    k.last_error,
    k.parked_at,
    k.created_at,
    k.event_type AS message_type,
    k.payload AS data,
    k.headers,
    k.metadata,
    k.scheduled_at AS scheduled,
    k.ordering_key,
    k.correlation_id,
    k.body,
    k.content_type
   FROM (postrider.parked_message k
     JOIN postrider.consumer c ON ((c.id = k.consumer_id)));

-- Name: partitions; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.partitions AS
 SELECT (c.relname)::text AS name,
    (p.relname)::text AS table_name,
    (a.attname)::text AS time_column,
    (b.bounds[1])::timestamp with time zone AS from_at,
    (b.bounds[2])::timestamp with time zone AS to_at
   FROM (((((pg_class p
     JOIN pg_partitioned_table k ON ((k.partrelid = p.oid)))
     JOIN pg_attribute a ON (((a.attrelid = p.oid) AND (a.attnum = k.partattrs[0]))))
     JOIN pg_inherits i ON ((i.inhparent = p.oid)))
     JOIN pg_class c ON ((c.oid = i.inhrelid)))
     LEFT JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)'::text) b(bounds) ON (true))
  WHERE ((p.relnamespace = ('postrider'::regnamespace)::oid) AND (p.relname = ANY (ARRAY['message'::name, 'done'::name, 'partly_done'::name, 'ended'::name, 'attempt'::name, 'tick'::name])));

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

-- Name: pools; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.pools AS
 SELECT f.pool,
    f.active_count,
    f.busy_count,
    f.inactive_count,
    f.cordoned_count,
    f.error_count,
    f.capacity,
    f.free_capacity,
    f.waiting_count,
    f.scheduled_count,
    f.running_count,
    f.oldest_waiting_at,
    f.oldest_scheduled_at,
    f.overdue_count,
    make_interval(secs => f.mean_duration) AS mean_duration,
    f.scaling_signal
   FROM postrider.pool_figures() f(pool, active_count, busy_count, inactive_count, cordoned_count, error_count, capacity, free_capacity, waiting_count, is_waiting_in_pool, scheduled_count, running_count, oldest_waiting_at, oldest_scheduled_at, overdue_count, mean_duration, scaling_signal);

-- Name: present_generation; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.present_generation
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: queue; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.queue AS
 SELECT u.id,
    u.endpoint_name,
    COALESCE(m.event_type, l.event_type) AS event_type,
        CASE
            WHEN
            CASE u.kind
                WHEN 'waiting'::text THEN ((NOT u.is_blocked) AND (u.run_at <= now()) AND postrider.is_claimed(u.id, u.target, u.retry_count))
                ELSE postrider.is_taken(u.id, w.xid, w.skippable)
            END THEN 'processing'::text
            ELSE 'pending'::text
        END AS status,
    COALESCE(m.payload, l.payload) AS payload,
    COALESCE(m.body, l.body) AS body,
    COALESCE(m.content_type, l.content_type) AS content_type,
    u.retry_count,
        CASE
            WHEN (u.kind = 'waiting'::text) THEN
            CASE
                WHEN ((NOT u.is_blocked) AND (u.run_at > now())) THEN u.run_at
                ELSE NULL::timestamp with time zone
            END
            WHEN (m.scheduled_at > now()) THEN m.scheduled_at
            ELSE NULL::timestamp with time zone
        END AS next_retry_at,
    u.last_error,
    COALESCE(m.priority, l.priority) AS priority,
    m.scheduled_at,
    m.idempotency_key,
    COALESCE(m.correlation_id, l.correlation_id) AS correlation_id,
        CASE
            WHEN (u.kind = 'waiting'::text) THEN u.expires_at
            ELSE m.expires_at
        END AS expires_at,
    COALESCE(u.ordering_key, m.ordering_key) AS ordering_key,
    COALESCE(m.headers, l.headers) AS headers,
    COALESCE(m.metadata, l.metadata) AS metadata,
    COALESCE(u.created_at, m.created_at) AS created_at,
    u.target,
    COALESCE(m.replay_of, l.replay_of) AS replay_of
   FROM (((( SELECT 'waiting'::text AS kind,
            false AS is_left,
            NULL::boolean AS is_published,
            NULL::boolean AS is_over_one,
            NULL::boolean AS is_over_four,
            d.message_id AS id,
            d.target,
            NULL::integer[] AS targets,
            (( SELECT postrider.target_names() AS target_names) ->> (d.target)::text) AS endpoint_name,
            NULL::xid8 AS xid,
            d.expires_at,
            d.run_at,
            d.is_blocked,
            d.retry_count,
            d.last_error,
            d.message_created_at AS created_at,
            d.ordering_key
           FROM postrider.deferred d
        UNION ALL
         SELECT 'direct'::text,
            false,
            NULL::boolean,
            NULL::boolean,
            NULL::boolean,
            m_1.id,
            m_1.targets[1] AS targets,
            m_1.targets,
            m_1.endpoint_name,
            m_1.xid,
            m_1.expires_at,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'direct'::text,
            true,
            NULL::boolean,
            NULL::boolean,
            NULL::boolean,
            m_1.id,
            m_1.targets[1] AS targets,
            m_1.targets,
            m_1.endpoint_name,
            m_1.xid,
            m_1.expires_at,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'one'::text,
            false,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[1] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[1])::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'one'::text,
            true,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[1] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[1])::text),
            m_1.xid,
            m_1.expires_at,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            false,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[1] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[1])::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            false,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[2] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[2])::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            false,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[3] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[3])::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'few'::text,
            false,
            (m_1.event_type IS NOT NULL),
            (cardinality(m_1.targets) > 1),
            (cardinality(m_1.targets) > 4),
            m_1.id,
            m_1.targets[4] AS targets,
            m_1.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (m_1.targets[4])::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM postrider.message m_1
        UNION ALL
         SELECT 'many'::text,
            false,
            true,
            true,
            true,
            p.id,
            p.target,
            p.targets,
            (( SELECT postrider.target_names() AS target_names) ->> (p.target)::text),
            NULL::xid8,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            false,
            0,
            NULL::text,
            NULL::timestamp with time zone,
            NULL::text
           FROM ( SELECT k.id,
                    k.targets,
                    t.target
                   FROM (postrider.message k
                     CROSS JOIN LATERAL unnest(k.targets) t(target))
                  WHERE (( SELECT postrider.has_wide_messages() AS has_wide_messages) AND (k.event_type IS NOT NULL) AND ((cardinality(k.targets) > 1) IS TRUE) AND ((cardinality(k.targets) > 4) IS TRUE))
                  ORDER BY k.id) p) u
     CROSS JOIN LATERAL ( SELECT f.xid,
            f.skippable,
            ((u.kind = 'waiting'::text) OR ((u.target IS NOT NULL) AND ((u.xid IS NOT NULL) OR postrider.may_wait(( SELECT postrider.lane_states() AS lane_states), u.id, f.xid, f.skippable)) AND (NOT postrider.is_deferred(u.id, u.target)) AND (NOT postrider.has_ended(u.id, u.target)))) AS is_waiting
           FROM ( SELECT c.xid,
                        CASE
                            WHEN (c.expires_at IS NULL) THEN u.targets
                            ELSE '{}'::integer[]
                        END AS skippable
                   FROM ( SELECT COALESCE(u.xid, k.xid) AS xid,
                            COALESCE(u.expires_at, k.expires_at) AS expires_at
                           FROM (( SELECT) one
                             LEFT JOIN LATERAL ( SELECT m_1.xid,
                                    m_1.expires_at
                                   FROM postrider.message m_1
                                  WHERE ((u.kind <> 'waiting'::text) AND (u.xid IS NULL) AND (m_1.id >= u.id) AND (m_1.id <= u.id))
                                  ORDER BY m_1.id
                                 LIMIT 1) k ON (true))
                         OFFSET 0) c
                 OFFSET 0) f
         OFFSET 0) w)
     LEFT JOIN LATERAL ( SELECT k.id,
            k.event_type,
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
            k.created_at,
            k.replay_of
           FROM postrider.message k
          WHERE ((k.id >= u.id) AND (k.id <= u.id))
          ORDER BY k.id
         LIMIT 1) m ON (true))
     LEFT JOIN LATERAL ( SELECT d.event_type,
            d.payload,
            d.body,
            d.content_type,
            d.priority,
            d.correlation_id,
            d.headers,
            d.metadata,
            d.replay_of
           FROM postrider.dead_letter d
          WHERE ((u.kind = 'waiting'::text) AND (m.id IS NULL) AND (d.message_id = u.id) AND (d.target = u.target))
          ORDER BY d.id DESC
         LIMIT 1) l ON (true))
  WHERE (
        CASE u.kind
            WHEN 'direct'::text THEN (u.endpoint_name IS NOT NULL)
            WHEN 'one'::text THEN (u.is_published AND (u.is_over_one IS FALSE) AND (u.is_over_four IS FALSE))
            WHEN 'few'::text THEN (u.is_published AND (u.is_over_one IS TRUE) AND (u.is_over_four IS FALSE))
            ELSE true
        END AND ((u.kind = 'waiting'::text) OR (u.id >
        CASE
            WHEN u.is_left THEN ( SELECT (postrider.log_ranges())[1] AS log_ranges)
            ELSE ( SELECT (postrider.log_ranges())[3] AS log_ranges)
        END)) AND ((NOT u.is_left) OR ((u.id <= ( SELECT (postrider.log_ranges())[2] AS log_ranges)) AND (u.kind = ANY (( SELECT postrider.left_kinds() AS left_kinds)::text[])))) AND (
        CASE u.kind
            WHEN 'direct'::text THEN false
            ELSE (NOT u.is_left)
        END OR postrider.may_wait(( SELECT postrider.lane_states() AS lane_states), u.id, u.xid,
        CASE
            WHEN (u.expires_at IS NULL) THEN u.targets
            ELSE '{}'::integer[]
        END)) AND w.is_waiting);

-- Name: rate_grant; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rate_grant (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL
)
PARTITION BY LIST (slot);

-- Name: rate_grant_0; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rate_grant_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL
);

-- Name: rate_grant_1; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rate_grant_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL
);

-- Name: rate_grant_2; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rate_grant_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL
);

-- Name: rate_turn; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rate_turn (
    endpoint_id integer NOT NULL
);

-- Name: replay_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.replay ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.replay_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: replays; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.replays AS
 SELECT r.id,
    r.endpoint_name,
    r.state,
    r.from_ts,
    r.to_ts,
    r.status,
    r.event_type,
    r.filter,
    r.rate,
    r.replayed_count,
        CASE
            WHEN (r.state = 'completed'::text) THEN (1)::numeric
            ELSE GREATEST((0)::numeric, LEAST((1)::numeric, round((EXTRACT(epoch FROM (r.position_at - r.from_ts)) / EXTRACT(epoch FROM (r.to_ts - r.from_ts))), 4)))
        END AS progress,
    r.created_by,
    r.created_at,
    r.finished_at,
    r.last_error
   FROM postrider.replay r;

-- Name: rotation; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.rotation (
    is_only_row boolean DEFAULT true NOT NULL,
    slot smallint NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT rotation_is_only_row_check CHECK (is_only_row),
    CONSTRAINT rotation_slot_check CHECK (((slot >= 0) AND (slot <= 2)))
);

-- Name: shard; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.shard (
    shard smallint NOT NULL,
    owner uuid,
    epoch bigint DEFAULT 0 NOT NULL,
    CONSTRAINT shard_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

-- Name: signing_key; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.signing_key (
    endpoint_id integer NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    public_key text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retires_at timestamp with time zone,
    is_hidden boolean DEFAULT false NOT NULL,
    CONSTRAINT signing_key_kind_check CHECK ((kind = ANY (ARRAY['v1'::text, 'v1a'::text])))
);

-- Name: signing_keys; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.signing_keys AS
 SELECT e.name AS endpoint,
    k.id,
    k.kind,
    k.created_at,
    k.retires_at,
    k.public_key,
    k.is_hidden AS can_be_revealed
   FROM (postrider.signing_key k
     JOIN postrider.endpoints e ON ((e.id = k.endpoint_id)));

-- Name: subscriptions; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.subscriptions (
    id integer NOT NULL,
    endpoint_id integer NOT NULL,
    event_type text,
    filter jsonb,
    retry_policy jsonb,
    enabled boolean DEFAULT true NOT NULL,
    is_endpoint_enabled boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT subscriptions_check CHECK (((event_type IS NOT NULL) OR ((filter IS NULL) AND (retry_policy IS NULL) AND enabled AND (ended_at IS NULL)))),
    CONSTRAINT subscriptions_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text))
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

-- Name: tick; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.tick (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    snapshot pg_snapshot NOT NULL,
    base_xmax xid8 NOT NULL,
    stragglers xid8[] NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    from_at timestamp with time zone NOT NULL,
    to_at timestamp with time zone NOT NULL,
    message_count integer,
    is_sparse boolean NOT NULL,
    sequence_floor bigint NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    passes_after bigint
)
PARTITION BY RANGE (at);

-- Name: tick_default; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.tick_default (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    xid xid8 NOT NULL,
    snapshot pg_snapshot NOT NULL,
    base_xmax xid8 NOT NULL,
    stragglers xid8[] NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    from_at timestamp with time zone NOT NULL,
    to_at timestamp with time zone NOT NULL,
    message_count integer,
    is_sparse boolean NOT NULL,
    sequence_floor bigint NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    passes_after bigint
);

-- Name: tick_epoch; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.tick_epoch
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: tick_passing; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.tick_passing (
);

-- Name: tick_sequence; Type: SEQUENCE; Schema: postrider; Owner: -

CREATE SEQUENCE postrider.tick_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: tick_turn; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.tick_turn (
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

-- Name: worker_id_seq; Type: SEQUENCE; Schema: postrider; Owner: -

ALTER TABLE postrider.worker ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.worker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: worker_lock; Type: TABLE; Schema: postrider; Owner: -

CREATE TABLE postrider.worker_lock (
    worker_id integer NOT NULL
);

-- Name: workers; Type: VIEW; Schema: postrider; Owner: -

CREATE VIEW postrider.workers AS
 SELECT w.id,
    w.name,
    w.pool,
        CASE
            WHEN (w.status = 'inactive'::text) THEN 'inactive'::text
            WHEN (w.cordoned_at IS NOT NULL) THEN 'cordoned'::text
            WHEN (w.status = 'error'::text) THEN 'error'::text
            WHEN ((n.scheduled_count + n.running_count) >= w.capacity) THEN 'busy'::text
            ELSE w.status
        END AS status,
    w.health,
    w.carrier,
    w.capacity,
    n.scheduled_count,
    n.running_count,
    w.failure_streak,
    w.failure_rate,
    w.queue_depth,
    w.labels,
    w.version,
    w.host,
    w.last_error,
    w.epoch,
    w.cordoned_at,
    w.registered_at,
    w.heartbeat_at,
    w.created_at
   FROM (postrider.worker w
     CROSS JOIN LATERAL ( SELECT count(*) FILTER (WHERE (l.status = 'scheduled'::text)) AS scheduled_count,
            count(*) FILTER (WHERE (l.status = 'running'::text)) AS running_count
           FROM (postrider.live_generation g
             CROSS JOIN LATERAL ( SELECT l_1.status
                   FROM postrider.live_execution l_1
                  WHERE ((l_1.generation = g.id) AND (l_1.worker_id = w.id))
                 OFFSET 0) l)) n);

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

-- Name: rate_grant_0; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_0 FOR VALUES IN ('0');

-- Name: rate_grant_1; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_1 FOR VALUES IN ('1');

-- Name: rate_grant_2; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_2 FOR VALUES IN ('2');

-- Name: tick_default; Type: TABLE ATTACH; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.tick ATTACH PARTITION postrider.tick_default DEFAULT;

-- Name: action action_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.action
    ADD CONSTRAINT action_pkey PRIMARY KEY (name);

-- Name: action_slot action_slot_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.action_slot
    ADD CONSTRAINT action_slot_pkey PRIMARY KEY (action_id, slot);

-- Name: broker_report broker_report_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.broker_report
    ADD CONSTRAINT broker_report_pkey PRIMARY KEY (process);

-- Name: cancel_bucket cancel_bucket_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.cancel_bucket
    ADD CONSTRAINT cancel_bucket_pkey PRIMARY KEY (bucket);

-- Name: cancellation cancellation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.cancellation
    ADD CONSTRAINT cancellation_pkey PRIMARY KEY (message_id, target);

-- Name: chore chore_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.chore
    ADD CONSTRAINT chore_pkey PRIMARY KEY (name);

-- Name: circuit circuit_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.circuit
    ADD CONSTRAINT circuit_pkey PRIMARY KEY (endpoint_id);

-- Name: clock_jump clock_jump_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.clock_jump
    ADD CONSTRAINT clock_jump_pkey PRIMARY KEY (id);

-- Name: consumer_lock consumer_lock_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.consumer_lock
    ADD CONSTRAINT consumer_lock_pkey PRIMARY KEY (consumer_id, partition);

-- Name: consumer consumer_name_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.consumer
    ADD CONSTRAINT consumer_name_key UNIQUE (name);

-- Name: consumer consumer_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.consumer
    ADD CONSTRAINT consumer_pkey PRIMARY KEY (id);

-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

-- Name: dead_letter_statistics dead_letter_statistics_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.dead_letter_statistics
    ADD CONSTRAINT dead_letter_statistics_pkey PRIMARY KEY (hour, worker_id, action, reason, outcome, carrier);

-- Name: dead_letter_total dead_letter_total_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.dead_letter_total
    ADD CONSTRAINT dead_letter_total_pkey PRIMARY KEY (outcome);

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

-- Name: execution_dead_letter execution_dead_letter_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_dead_letter
    ADD CONSTRAINT execution_dead_letter_pkey PRIMARY KEY (id);

-- Name: execution_end execution_end_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_end
    ADD CONSTRAINT execution_end_pkey PRIMARY KEY (id);

-- Name: execution_generation execution_generation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_generation
    ADD CONSTRAINT execution_generation_pkey PRIMARY KEY (id);

-- Name: execution execution_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (id);

-- Name: execution_rollup execution_rollup_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_rollup
    ADD CONSTRAINT execution_rollup_pkey PRIMARY KEY (is_only_row);

-- Name: execution_statistics execution_statistics_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_statistics
    ADD CONSTRAINT execution_statistics_pkey PRIMARY KEY (hour, pool, action, worker_id, status, reason);

-- Name: execution_total execution_total_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.execution_total
    ADD CONSTRAINT execution_total_pkey PRIMARY KEY (pool, action, status, reason);

-- Name: idempotency_key idempotency_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (destination, key);

-- Name: identity identity_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.identity
    ADD CONSTRAINT identity_pkey PRIMARY KEY (singleton);

-- Name: installation installation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

-- Name: job job_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

-- Name: live_execution live_execution_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.live_execution
    ADD CONSTRAINT live_execution_pkey PRIMARY KEY (id);

-- Name: loan loan_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.loan
    ADD CONSTRAINT loan_pkey PRIMARY KEY (endpoint_id, shard);

-- Name: log_change log_change_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.log_change
    ADD CONSTRAINT log_change_pkey PRIMARY KEY (xid);

-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

-- Name: number_gap number_gap_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.number_gap
    ADD CONSTRAINT number_gap_pkey PRIMARY KEY (after_number);

-- Name: parked_message parked_message_consumer_id_message_id_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_consumer_id_message_id_key UNIQUE (consumer_id, message_id);

-- Name: parked_message parked_message_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_pkey PRIMARY KEY (id);

-- Name: rate_turn rate_turn_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.rate_turn
    ADD CONSTRAINT rate_turn_pkey PRIMARY KEY (endpoint_id);

-- Name: replay replay_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.replay
    ADD CONSTRAINT replay_pkey PRIMARY KEY (id);

-- Name: rotation rotation_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.rotation
    ADD CONSTRAINT rotation_pkey PRIMARY KEY (is_only_row);

-- Name: setting setting_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (name);

-- Name: shard shard_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (shard);

-- Name: signing_key signing_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (endpoint_id, id);

-- Name: subscriptions subscriptions_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);

-- Name: transport_option transport_option_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.transport_option
    ADD CONSTRAINT transport_option_pkey PRIMARY KEY (protocol, name);

-- Name: worker_lock worker_lock_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.worker_lock
    ADD CONSTRAINT worker_lock_pkey PRIMARY KEY (worker_id);

-- Name: worker worker_name_key; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_name_key UNIQUE (name);

-- Name: worker worker_pkey; Type: CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

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

-- Name: consumer_attempt_newest; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX consumer_attempt_newest ON postrider.consumer_attempt USING btree (consumer_id, partition, seq);

-- Name: consumer_lease_newest; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX consumer_lease_newest ON postrider.consumer_lease USING btree (consumer_id, member, seq);

-- Name: consumer_position_newest; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX consumer_position_newest ON postrider.consumer_position USING btree (consumer_id, partition, seq);

-- Name: dead_letter_endpoint; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_endpoint ON postrider.dead_letter USING btree (endpoint_id, id);

-- Name: dead_letter_endpoint_name; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_endpoint_name ON postrider.dead_letter USING btree (endpoint_name, id);

-- Name: dead_letter_failed; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX dead_letter_failed ON postrider.dead_letter USING btree (message_id, target) WHERE (status = 'failed'::text);

-- Name: dead_letter_message; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_message ON postrider.dead_letter USING btree (message_id, target, id);

-- Name: dead_letter_retention; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_retention ON postrider.dead_letter USING btree (COALESCE(redriven_at, failed_at));

-- Name: dead_letter_summary; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX dead_letter_summary ON postrider.dead_letter USING btree (endpoint_name, status, failed_at);

-- Name: deferred_due; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_due ON postrider.deferred USING btree (endpoint_id, shard, run_at, ((message_id + 0)));

-- Name: deferred_expires_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_expires_at ON postrider.deferred USING btree (expires_at) WHERE (expires_at IS NOT NULL);

-- Name: deferred_key; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX deferred_key ON postrider.deferred USING btree (ordering_key, endpoint_id, message_id) WHERE (ordering_key IS NOT NULL);

-- Name: done_run; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX done_run ON ONLY postrider.done USING btree (bucket, run);

-- Name: done_default_bucket_run_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX done_default_bucket_run_idx ON postrider.done_default USING btree (bucket, run);

-- Name: ended_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX ended_message_id ON ONLY postrider.ended USING btree (message_id, target);

-- Name: ended_default_message_id_target_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX ended_default_message_id_target_idx ON postrider.ended_default USING btree (message_id, target);

-- Name: endpoints_full; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX endpoints_full ON postrider.endpoints USING btree (id) WHERE is_full;

-- Name: endpoints_limited; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX endpoints_limited ON postrider.endpoints USING btree (id) WHERE (config ? 'max_queue_size'::text);

-- Name: event_log_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX event_log_at ON postrider.event_log USING btree (at);

-- Name: event_types_retry_policy; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX event_types_retry_policy ON postrider.event_types USING btree (name) WHERE (metadata ? '_retry_policy'::text);

-- Name: execution_dead_letter_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_dead_letter_at ON postrider.execution_dead_letter USING btree (at);

-- Name: execution_dead_letter_execution; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_dead_letter_execution ON postrider.execution_dead_letter USING btree (execution_id);

-- Name: execution_dead_letter_xid; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_dead_letter_xid ON postrider.execution_dead_letter USING btree (xid);

-- Name: execution_end_earlier; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_end_earlier ON postrider.execution_end USING btree (execution_id) WHERE (NOT is_final);

-- Name: execution_end_ended_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_end_ended_at ON postrider.execution_end USING btree (ended_at);

-- Name: execution_end_final; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX execution_end_final ON postrider.execution_end USING btree (execution_id) WHERE is_final;

-- Name: execution_end_unsuccessful; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_end_unsuccessful ON postrider.execution_end USING btree (status, execution_id) WHERE (is_final AND (status <> 'completed'::text));

-- Name: execution_end_worker; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_end_worker ON postrider.execution_end USING btree (worker_id, id);

-- Name: execution_end_xid; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX execution_end_xid ON postrider.execution_end USING btree (xid);

-- Name: execution_idempotency_key; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX execution_idempotency_key ON postrider.execution USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);

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

-- Name: job_drop; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX job_drop ON postrider.job USING btree (endpoint_id, id) WHERE (kind = 'drop'::text);

-- Name: job_drop_running; Type: INDEX; Schema: postrider; Owner: -

CREATE UNIQUE INDEX job_drop_running ON postrider.job USING btree (endpoint_id) WHERE ((kind = 'drop'::text) AND (state = 'running'::text));

-- Name: job_finished; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX job_finished ON postrider.job USING btree (finished_at) WHERE (finished_at IS NOT NULL);

-- Name: job_running; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX job_running ON postrider.job USING btree (id) WHERE (state = 'running'::text);

-- Name: live_execution_admitted; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX live_execution_admitted ON postrider.live_execution USING btree (generation, action) WHERE (scheduled_at IS NOT NULL);

-- Name: live_execution_due; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX live_execution_due ON postrider.live_execution USING btree (generation, due_at) WHERE (due_at IS NOT NULL);

-- Name: live_execution_fallback; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX live_execution_fallback ON postrider.live_execution USING btree (generation, queue) WHERE ((queue ~~ 'worker:%'::text) AND (pool IS NOT NULL) AND (status = 'requested'::text) AND (NOT is_delayed));

-- Name: live_execution_waiting; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX live_execution_waiting ON postrider.live_execution USING btree (generation, queue, action, priority DESC, id) WHERE ((status = 'requested'::text) AND (NOT is_delayed));

-- Name: live_execution_worker; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX live_execution_worker ON postrider.live_execution USING btree (generation, worker_id, status, worker_epoch) WHERE (worker_id IS NOT NULL);

-- Name: message_created_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_created_at ON ONLY postrider.message USING brin (created_at) WITH (autosummarize='on');

-- Name: message_default_created_at_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_created_at_idx ON postrider.message_default USING brin (created_at) WITH (autosummarize='on');

-- Name: message_endpoint_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_endpoint_id ON ONLY postrider.message USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_default_endpoint_name_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_endpoint_name_id_idx ON postrider.message_default USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_published_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_published_id ON ONLY postrider.message USING btree (((cardinality(targets) > 1)), ((cardinality(targets) > 4)), id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);

-- Name: message_default_expr_expr1_id_targets_event_type_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_expr_expr1_id_targets_event_type_idx ON postrider.message_default USING btree (((cardinality(targets) > 1)), ((cardinality(targets) > 4)), id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);

-- Name: message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_id ON ONLY postrider.message USING btree (id);

-- Name: message_default_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_id_idx ON postrider.message_default USING btree (id);

-- Name: message_direct_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_direct_id ON ONLY postrider.message USING btree (id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_default_id_idx1; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_id_idx1 ON postrider.message_default USING btree (id) WHERE (endpoint_name IS NOT NULL);

-- Name: message_lane_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_lane_id ON ONLY postrider.message USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);

-- Name: message_default_lane_expr_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_lane_expr_idx ON postrider.message_default USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);

-- Name: message_xid_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_xid_id ON ONLY postrider.message USING btree (xid, id);

-- Name: message_default_xid_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX message_default_xid_id_idx ON postrider.message_default USING btree (xid, id);

-- Name: parked_message_partition; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX parked_message_partition ON postrider.parked_message USING btree (consumer_id, partition);

-- Name: partly_done_message_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX partly_done_message_id ON ONLY postrider.partly_done USING btree (message_id);

-- Name: partly_done_default_message_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX partly_done_default_message_id_idx ON postrider.partly_done_default USING btree (message_id);

-- Name: rate_grant_endpoint; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX rate_grant_endpoint ON ONLY postrider.rate_grant USING btree (endpoint_id, seq);

-- Name: rate_grant_0_endpoint_id_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX rate_grant_0_endpoint_id_seq_idx ON postrider.rate_grant_0 USING btree (endpoint_id, seq);

-- Name: rate_grant_1_endpoint_id_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX rate_grant_1_endpoint_id_seq_idx ON postrider.rate_grant_1 USING btree (endpoint_id, seq);

-- Name: rate_grant_2_endpoint_id_seq_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX rate_grant_2_endpoint_id_seq_idx ON postrider.rate_grant_2 USING btree (endpoint_id, seq);

-- Name: replay_finished; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX replay_finished ON postrider.replay USING btree (finished_at) WHERE (finished_at IS NOT NULL);

-- Name: replay_running; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX replay_running ON postrider.replay USING btree (id) WHERE (state = 'running'::text);

-- Name: signing_key_retires_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX signing_key_retires_at ON postrider.signing_key USING btree (retires_at) WHERE (retires_at IS NOT NULL);

-- Name: subscriptions_ended_at; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_ended_at ON postrider.subscriptions USING btree (ended_at) WHERE (ended_at IS NOT NULL);

-- Name: subscriptions_endpoint_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_endpoint_id ON postrider.subscriptions USING btree (endpoint_id);

-- Name: subscriptions_event_type; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX subscriptions_event_type ON postrider.subscriptions USING btree (event_type) WHERE ((event_type IS NOT NULL) AND (ended_at IS NULL));

-- Name: tick_id; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX tick_id ON ONLY postrider.tick USING btree (id);

-- Name: tick_default_id_idx; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX tick_default_id_idx ON postrider.tick_default USING btree (id);

-- Name: tick_passes_after; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX tick_passes_after ON ONLY postrider.tick USING btree (id) WHERE (passes_after IS NOT NULL);

-- Name: tick_default_id_idx1; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX tick_default_id_idx1 ON postrider.tick_default USING btree (id) WHERE (passes_after IS NOT NULL);

-- Name: worker_pool; Type: INDEX; Schema: postrider; Owner: -

CREATE INDEX worker_pool ON postrider.worker USING btree (pool);

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

-- Name: done_default_bucket_run_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.done_run ATTACH PARTITION postrider.done_default_bucket_run_idx;

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

-- Name: message_default_created_at_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_created_at ATTACH PARTITION postrider.message_default_created_at_idx;

-- Name: message_default_endpoint_name_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_endpoint_id ATTACH PARTITION postrider.message_default_endpoint_name_id_idx;

-- Name: message_default_expr_expr1_id_targets_event_type_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_published_id ATTACH PARTITION postrider.message_default_expr_expr1_id_targets_event_type_idx;

-- Name: message_default_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_id ATTACH PARTITION postrider.message_default_id_idx;

-- Name: message_default_id_idx1; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_direct_id ATTACH PARTITION postrider.message_default_id_idx1;

-- Name: message_default_lane_expr_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_lane_id ATTACH PARTITION postrider.message_default_lane_expr_idx;

-- Name: message_default_xid_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.message_xid_id ATTACH PARTITION postrider.message_default_xid_id_idx;

-- Name: partly_done_default_message_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.partly_done_message_id ATTACH PARTITION postrider.partly_done_default_message_id_idx;

-- Name: rate_grant_0_endpoint_id_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_0_endpoint_id_seq_idx;

-- Name: rate_grant_1_endpoint_id_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_1_endpoint_id_seq_idx;

-- Name: rate_grant_2_endpoint_id_seq_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_2_endpoint_id_seq_idx;

-- Name: tick_default_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.tick_id ATTACH PARTITION postrider.tick_default_id_idx;

-- Name: tick_default_id_idx1; Type: INDEX ATTACH; Schema: postrider; Owner: -

ALTER INDEX postrider.tick_passes_after ATTACH PARTITION postrider.tick_default_id_idx1;

-- Name: endpoints announce; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.announce_endpoint();

-- Name: event_types announce; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON postrider.event_types FOR EACH ROW EXECUTE FUNCTION postrider.announce_event_type();

-- Name: subscriptions announce; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER announce AFTER UPDATE OF filter, retry_policy, enabled ON postrider.subscriptions FOR EACH ROW EXECUTE FUNCTION postrider.announce_subscription();

-- Name: endpoints keep; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER keep BEFORE DELETE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.keep_endpoint();

-- Name: event_log note_actor; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER note_actor BEFORE INSERT ON postrider.event_log FOR EACH ROW EXECUTE FUNCTION postrider.note_actor();

-- Name: endpoints prepare; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.prepare_endpoint();

-- Name: event_types prepare; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.event_types FOR EACH ROW EXECUTE FUNCTION postrider.prepare_event_type();

-- Name: setting prepare; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER prepare BEFORE UPDATE ON postrider.setting FOR EACH ROW EXECUTE FUNCTION postrider.prepare_setting();

-- Name: subscriptions prepare; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE OF filter, retry_policy, enabled ON postrider.subscriptions FOR EACH ROW EXECUTE FUNCTION postrider.prepare_subscription();

-- Name: message refuse_change; Type: TRIGGER; Schema: postrider; Owner: -

CREATE TRIGGER refuse_change BEFORE UPDATE ON postrider.message FOR EACH ROW EXECUTE FUNCTION postrider.refuse_log_change();

ALTER TABLE postrider.message ENABLE ALWAYS TRIGGER refuse_change;

-- Name: circuit circuit_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.circuit
    ADD CONSTRAINT circuit_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: endpoint_secret endpoint_secret_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.endpoint_secret
    ADD CONSTRAINT endpoint_secret_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: parked_message parked_message_consumer_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_consumer_id_fkey FOREIGN KEY (consumer_id) REFERENCES postrider.consumer(id) ON DELETE CASCADE;

-- Name: signing_key signing_key_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.signing_key
    ADD CONSTRAINT signing_key_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: subscriptions subscriptions_endpoint_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: -

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Name: SCHEMA postrider; Type: ACL; Schema: -; Owner: -

GRANT USAGE ON SCHEMA postrider TO postrider_producer;
GRANT USAGE ON SCHEMA postrider TO postrider_consumer;
GRANT USAGE ON SCHEMA postrider TO postrider_worker;
GRANT USAGE ON SCHEMA postrider TO postrider_application;
GRANT USAGE ON SCHEMA postrider TO postrider_operator;
GRANT USAGE ON SCHEMA postrider TO postrider_monitor;
GRANT USAGE ON SCHEMA postrider TO postrider_admin;

-- Name: FUNCTION acknowledge(p_consumer text, p_position bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_admin;

-- Name: FUNCTION acquire_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[], p_silent_seqs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;

-- Name: FUNCTION acting_dispatchers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.acting_dispatchers() FROM PUBLIC;

-- Name: FUNCTION add_signing_key(endpoint text, key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.add_signing_key(endpoint text, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.add_signing_key(endpoint text, key text) TO postrider_admin;

-- Name: FUNCTION address_literal(host text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.address_literal(host text) FROM PUBLIC;

-- Name: TABLE worker; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.worker TO postrider_application;
GRANT SELECT ON TABLE postrider.worker TO postrider_operator;
GRANT SELECT ON TABLE postrider.worker TO postrider_monitor;
GRANT SELECT ON TABLE postrider.worker TO postrider_admin;

-- Name: FUNCTION addressed_worker(p_name text, p_pool text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.addressed_worker(p_name text, p_pool text) FROM PUBLIC;

-- Name: FUNCTION admissible(p_action text, p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.admissible(p_action text, p_most integer) FROM PUBLIC;

-- Name: FUNCTION adopt(p_only_look boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.adopt(p_only_look boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.adopt(p_only_look boolean) TO postrider_admin;

-- Name: FUNCTION advance_jobs(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.advance_jobs() FROM PUBLIC;

-- Name: TABLE replay; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.replay TO postrider_admin;

-- Name: FUNCTION advance_replay(p_job postrider.replay); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.advance_replay(p_job postrider.replay) FROM PUBLIC;

-- Name: FUNCTION advance_replays(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.advance_replays() FROM PUBLIC;

-- Name: FUNCTION advance_sequences(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.advance_sequences() FROM PUBLIC;

-- Name: FUNCTION advance_ticks(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.advance_ticks() FROM PUBLIC;

-- Name: FUNCTION alter_endpoint(endpoint_name text, new_config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) TO postrider_admin;

-- Name: FUNCTION announce_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.announce_endpoint() FROM PUBLIC;

-- Name: FUNCTION announce_event_type(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.announce_event_type() FROM PUBLIC;

-- Name: FUNCTION announce_subscription(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.announce_subscription() FROM PUBLIC;

-- Name: FUNCTION any_waiting_action(p_queue text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.any_waiting_action(p_queue text) FROM PUBLIC;

-- Name: TABLE execution; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution TO postrider_application;
GRANT SELECT ON TABLE postrider.execution TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution TO postrider_admin;

-- Name: COLUMN execution.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(action) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.worker_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker_id) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.pool; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(pool) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.ttl_ms; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ttl_ms) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.timeout_ms; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(timeout_ms) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.max_retries; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(max_retries) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(idempotency_key) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.original_execution; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(original_execution) ON TABLE postrider.execution TO postrider_monitor;

-- Name: COLUMN execution.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.execution TO postrider_monitor;

-- Name: FUNCTION append_execution(p_execution postrider.execution); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_execution(p_execution postrider.execution) FROM PUBLIC;

-- Name: TABLE event_types; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.event_types TO postrider_operator;
GRANT SELECT ON TABLE postrider.event_types TO postrider_monitor;
GRANT SELECT ON TABLE postrider.event_types TO postrider_admin;

-- Name: COLUMN event_types.description; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(description) ON TABLE postrider.event_types TO postrider_admin;

-- Name: COLUMN event_types.schema; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(schema) ON TABLE postrider.event_types TO postrider_admin;

-- Name: COLUMN event_types.metadata; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(metadata) ON TABLE postrider.event_types TO postrider_admin;

-- Name: FUNCTION append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;

-- Name: TABLE consumer_position; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumer_position TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumer_position TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumer_position TO postrider_admin;

-- Name: FUNCTION append_position(p_from postrider.consumer_position, p_tick bigint, p_xid xid8, p_message_id bigint, p_acknowledged_count bigint, p_fetched_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_position(p_from postrider.consumer_position, p_tick bigint, p_xid xid8, p_message_id bigint, p_acknowledged_count bigint, p_fetched_at timestamp with time zone) FROM PUBLIC;

-- Name: FUNCTION append_replays(p_message_ids bigint[], p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_replays(p_message_ids bigint[], p_targets integer[]) FROM PUBLIC;

-- Name: FUNCTION append_tick(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.append_tick() FROM PUBLIC;

-- Name: FUNCTION are_ticks_settled(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.are_ticks_settled() FROM PUBLIC;

-- Name: FUNCTION begin_batch(p_consumer text, p_partition integer, p_batch_size integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_admin;

-- Name: FUNCTION bring_back(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bring_back() FROM PUBLIC;

-- Name: TABLE clock_jump; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.clock_jump TO postrider_admin;

-- Name: FUNCTION bring_back_executions(p_jump postrider.clock_jump); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bring_back_executions(p_jump postrider.clock_jump) FROM PUBLIC;

-- Name: FUNCTION bring_back_messages(p_jump postrider.clock_jump); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bring_back_messages(p_jump postrider.clock_jump) FROM PUBLIC;

-- Name: FUNCTION bring_back_rows(p_jump postrider.clock_jump); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bring_back_rows(p_jump postrider.clock_jump) FROM PUBLIC;

-- Name: FUNCTION bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) FROM PUBLIC;

-- Name: TABLE job; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.job TO postrider_admin;

-- Name: FUNCTION bury_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;

-- Name: FUNCTION bury_orphans(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.bury_orphans() FROM PUBLIC;

-- Name: FUNCTION caller(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.caller() FROM PUBLIC;

-- Name: FUNCTION can_sign(p_protocol text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.can_sign(p_protocol text) FROM PUBLIC;

-- Name: FUNCTION cancel_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;

-- Name: FUNCTION cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION cancel_execution(p_execution bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_admin;

-- Name: FUNCTION cancel_job(p_job_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) TO postrider_admin;

-- Name: FUNCTION cancel_message(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_admin;

-- Name: FUNCTION cancel_replay(p_replay_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) TO postrider_admin;

-- Name: FUNCTION cancel_unread(p_message_ids bigint[], p_targets integer[], OUT cancelled_count bigint, OUT held_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cancel_unread(p_message_ids bigint[], p_targets integer[], OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;

-- Name: FUNCTION change_signing_keys(p_endpoint_id integer, p_keys jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb) FROM PUBLIC;

-- Name: FUNCTION changes_between(p_before jsonb, p_after jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.changes_between(p_before jsonb, p_after jsonb) FROM PUBLIC;

-- Name: FUNCTION check_action_name(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_action_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_admin;

-- Name: FUNCTION check_clock(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_clock() FROM PUBLIC;

-- Name: FUNCTION check_config_headers(key text, headers jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_config_headers(key text, headers jsonb) FROM PUBLIC;

-- Name: FUNCTION check_consumers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_consumers() FROM PUBLIC;

-- Name: FUNCTION check_dispatchers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_dispatchers() FROM PUBLIC;

-- Name: FUNCTION check_duration(p_parameter text, p_duration interval, p_least text, p_most text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_duration(p_parameter text, p_duration interval, p_least text, p_most text) FROM PUBLIC;

-- Name: FUNCTION check_endpoint_name(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_endpoint_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_admin;

-- Name: FUNCTION check_event_type(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_event_type(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_admin;

-- Name: FUNCTION check_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text) FROM PUBLIC;

-- Name: FUNCTION check_executions(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_executions(p_most integer) FROM PUBLIC;

-- Name: FUNCTION check_fleet_name(p_parameter text, p_name text, p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_fleet_name(p_parameter text, p_name text, p_most integer) FROM PUBLIC;

-- Name: FUNCTION check_fleets(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_fleets() FROM PUBLIC;

-- Name: FUNCTION check_generations(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_generations() FROM PUBLIC;

-- Name: FUNCTION check_key_pause(p_name text, p_pause interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_key_pause(p_name text, p_pause interval) FROM PUBLIC;

-- Name: FUNCTION check_lag(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_lag() FROM PUBLIC;

-- Name: TABLE consumer_lease; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumer_lease TO postrider_admin;

-- Name: FUNCTION check_lease_role(p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_lease_role(p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamp with time zone) FROM PUBLIC;

-- Name: FUNCTION check_locks(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_locks() FROM PUBLIC;

-- Name: FUNCTION check_options(p_largest_payload bigint, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;

-- Name: FUNCTION check_partitions(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_partitions() FROM PUBLIC;

-- Name: FUNCTION check_pool_name(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_pool_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_admin;

-- Name: FUNCTION check_reason(p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_reason(p_reason text) FROM PUBLIC;

-- Name: FUNCTION check_replay(p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_replay(p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) FROM PUBLIC;

-- Name: FUNCTION check_retry_policy_keys(policy jsonb, form text, path text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_retry_policy_keys(policy jsonb, form text, path text) FROM PUBLIC;

-- Name: FUNCTION check_room(p_count bigint, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_room(p_count bigint, p_targets integer[]) FROM PUBLIC;

-- Name: TABLE setting; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.setting TO postrider_operator;
GRANT SELECT ON TABLE postrider.setting TO postrider_monitor;
GRANT SELECT ON TABLE postrider.setting TO postrider_admin;

-- Name: FUNCTION check_setting(p_setting postrider.setting, p_value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) FROM PUBLIC;

-- Name: FUNCTION check_shards(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_shards() FROM PUBLIC;

-- Name: FUNCTION check_size(p_parameter text, p_value jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_size(p_parameter text, p_value jsonb) FROM PUBLIC;

-- Name: FUNCTION check_tick_allowed(p_caller text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_tick_allowed(p_caller text) FROM PUBLIC;

-- Name: FUNCTION check_transactions(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_transactions() FROM PUBLIC;

-- Name: FUNCTION check_worker_role(p_name text, p_registered_by text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_worker_role(p_name text, p_registered_by text) FROM PUBLIC;

-- Name: FUNCTION check_workers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.check_workers() FROM PUBLIC;

-- Name: FUNCTION claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION cleanup_dlq(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cleanup_dlq() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_dlq() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cleanup_dlq() TO postrider_admin;

-- Name: FUNCTION cleanup_event_log(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cleanup_event_log() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_event_log() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cleanup_event_log() TO postrider_admin;

-- Name: FUNCTION cleanup_old_archive_partitions(p_retention_months integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer) TO postrider_admin;

-- Name: FUNCTION complete_execution(p_execution bigint, p_fence bigint, p_result jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_admin;

-- Name: FUNCTION complete_retry_policy(policy jsonb, place text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.complete_retry_policy(policy jsonb, place text) FROM PUBLIC;

-- Name: FUNCTION confirm_origin(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.confirm_origin() FROM PUBLIC;

-- Name: FUNCTION confirm_position(p_dispatcher uuid, p_timeline integer, p_upto pg_lsn, p_number bigint, OUT timeline integer, OUT left_at pg_lsn, OUT lost_bytes numeric, OUT lost_numbers bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.confirm_position(p_dispatcher uuid, p_timeline integer, p_upto pg_lsn, p_number bigint, OUT timeline integer, OUT left_at pg_lsn, OUT lost_bytes numeric, OUT lost_numbers bigint) FROM PUBLIC;

-- Name: FUNCTION consumer_figures(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_figures() FROM PUBLIC;

-- Name: FUNCTION consumer_holders(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_holders() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_application;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_admin;

-- Name: TABLE consumer; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumer TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumer TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumer TO postrider_admin;

-- Name: FUNCTION consumer_lag(p_consumer postrider.consumer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_lag(p_consumer postrider.consumer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION consumer_messages(p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span, p_to_xid xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_messages(p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span, p_to_xid xid8) FROM PUBLIC;

-- Name: FUNCTION consumer_report(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_admin;

-- Name: FUNCTION consumer_start(p_ordering text, p_start text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.consumer_start(p_ordering text, p_start text) FROM PUBLIC;

-- Name: FUNCTION cordon_worker(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.cordon_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cordon_worker(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cordon_worker(p_name text) TO postrider_admin;

-- Name: FUNCTION create_consumer(p_name text, p_event_types text[], p_filter jsonb, p_start text, p_ordering text, p_partitions integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_consumer(p_name text, p_event_types text[], p_filter jsonb, p_start text, p_ordering text, p_partitions integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_consumer(p_name text, p_event_types text[], p_filter jsonb, p_start text, p_ordering text, p_partitions integer) TO postrider_admin;

-- Name: FUNCTION create_delivery_job(p_kind text, p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_delivery_job(p_kind text, p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;

-- Name: FUNCTION create_endpoint(name text, protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) TO postrider_admin;

-- Name: FUNCTION create_job(p_kind text, p_endpoint_id integer, p_endpoint_name text, p_filter jsonb, p_rate integer, p_last_id bigint, p_estimate bigint, p_has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_job(p_kind text, p_endpoint_id integer, p_endpoint_name text, p_filter jsonb, p_rate integer, p_last_id bigint, p_estimate bigint, p_has_more boolean) FROM PUBLIC;

-- Name: FUNCTION create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) TO postrider_admin;

-- Name: FUNCTION current_slot(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.current_slot() FROM PUBLIC;

-- Name: FUNCTION delivery_end(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.delivery_end(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION deregister_worker(p_worker integer, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_admin;

-- Name: FUNCTION describe_age(p_seconds double precision); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.describe_age(p_seconds double precision) FROM PUBLIC;

-- Name: FUNCTION describe_end(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_admin;

-- Name: FUNCTION direct_target(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.direct_target(p_endpoint_name text) FROM PUBLIC;

-- Name: FUNCTION disable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION dispatch_executions(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.dispatch_executions(p_most integer) FROM PUBLIC;

-- Name: FUNCTION dlq_summary(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.dlq_summary() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_admin;

-- Name: FUNCTION done_before(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.done_before() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_application;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_admin;

-- Name: FUNCTION drop_action(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_action(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_action(p_name text) TO postrider_admin;

-- Name: FUNCTION drop_consumer(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_consumer(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_consumer(p_name text) TO postrider_admin;

-- Name: FUNCTION drop_endpoint(endpoint_name text, p_force boolean, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION drop_event_type(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_event_type(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_event_type(p_name text) TO postrider_admin;

-- Name: FUNCTION drop_worker(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.drop_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_worker(p_name text) TO postrider_admin;

-- Name: FUNCTION edit_distance(a text, b text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.edit_distance(a text, b text) FROM PUBLIC;

-- Name: FUNCTION empty_slot(p_table text, p_slot smallint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.empty_slot(p_table text, p_slot smallint) FROM PUBLIC;

-- Name: FUNCTION enable_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION enable_fast_mode(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enable_fast_mode() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_producer;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_application;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_admin;

-- Name: FUNCTION end_deliveries(p_places tid[], p_verb text, p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.end_deliveries(p_places tid[], p_verb text, p_reason text) FROM PUBLIC;

-- Name: TABLE live_execution; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.live_execution TO postrider_application;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_operator;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_monitor;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_admin;

-- Name: FUNCTION end_execution(p_live postrider.live_execution, p_status text, p_reason text, p_result jsonb, p_error jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.end_execution(p_live postrider.live_execution, p_status text, p_reason text, p_result jsonb, p_error jsonb) FROM PUBLIC;

-- Name: FUNCTION end_stale_flushes(p_silent_ids uuid[], p_silent_seqs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.end_stale_flushes(p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;

-- Name: FUNCTION ended_ceiling(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.ended_ceiling() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_application;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_admin;

-- Name: FUNCTION ended_status(p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.ended_status(p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8) FROM PUBLIC;

-- Name: FUNCTION enter_generation(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.enter_generation() FROM PUBLIC;

-- Name: FUNCTION erase_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.erase_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;

-- Name: FUNCTION erase_letters(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.erase_letters(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;

-- Name: FUNCTION erase_logged(p_message_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.erase_logged(p_message_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;

-- Name: FUNCTION erase_messages(p_ordering_key text, p_correlation_id uuid, p_metadata jsonb, p_event_type text, p_from timestamp with time zone, p_to timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.erase_messages(p_ordering_key text, p_correlation_id uuid, p_metadata jsonb, p_event_type text, p_from timestamp with time zone, p_to timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.erase_messages(p_ordering_key text, p_correlation_id uuid, p_metadata jsonb, p_event_type text, p_from timestamp with time zone, p_to timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION erase_parked(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.erase_parked(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;

-- Name: FUNCTION error_history(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.error_history(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION execution_key_holder(p_key text, p_action text, p_parameters jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.execution_key_holder(p_key text, p_action text, p_parameters jsonb) FROM PUBLIC;

-- Name: FUNCTION execution_queue(p_worker_id integer, p_pool text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.execution_queue(p_worker_id integer, p_pool text) FROM PUBLIC;

-- Name: FUNCTION execution_retry_delay(p_retry integer, p_dice double precision); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.execution_retry_delay(p_retry integer, p_dice double precision) FROM PUBLIC;

-- Name: FUNCTION expire_execution(p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.expire_execution(p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb) FROM PUBLIC;

-- Name: FUNCTION expire_waiting(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.expire_waiting(p_most integer) FROM PUBLIC;

-- Name: FUNCTION explain_policy(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_admin;

-- Name: FUNCTION extend_execution(p_execution bigint, p_fence bigint, p_timeout interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_application;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_admin;

-- Name: FUNCTION fail_attempt(p_live postrider.live_execution, p_reason text, p_error jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fail_attempt(p_live postrider.live_execution, p_reason text, p_error jsonb) FROM PUBLIC;

-- Name: FUNCTION fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_admin;

-- Name: FUNCTION fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_admin;

-- Name: FUNCTION fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_application;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_admin;

-- Name: FUNCTION fetched_batches(p_consumer postrider.consumer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.fetched_batches(p_consumer postrider.consumer) FROM PUBLIC;

-- Name: FUNCTION find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text) FROM PUBLIC;

-- Name: FUNCTION flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_deferred_waited boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_attempt_correlation_ids uuid[], p_attempt_headers jsonb[], p_attempt_bodies bytea[], p_attempt_truncated boolean[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[], p_done_runs smallint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_deferred_waited boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_attempt_correlation_ids uuid[], p_attempt_headers jsonb[], p_attempt_bodies bytea[], p_attempt_truncated boolean[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[], p_done_runs smallint[]) FROM PUBLIC;

-- Name: FUNCTION foreign_sign(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.foreign_sign() FROM PUBLIC;

-- Name: FUNCTION forget_consumer_rows(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_consumer_rows() FROM PUBLIC;

-- Name: FUNCTION forget_dead_letters(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_dead_letters(p_most integer) FROM PUBLIC;

-- Name: FUNCTION forget_dispatchers(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_dispatchers() FROM PUBLIC;

-- Name: FUNCTION forget_events(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_events(p_most integer) FROM PUBLIC;

-- Name: FUNCTION forget_executions(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_executions(p_most integer) FROM PUBLIC;

-- Name: FUNCTION forget_idempotency_keys(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_idempotency_keys() FROM PUBLIC;

-- Name: FUNCTION forget_jobs(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_jobs(p_most integer) FROM PUBLIC;

-- Name: FUNCTION forget_keys_to_nobody(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_keys_to_nobody(p_most integer) FROM PUBLIC;

-- Name: FUNCTION forget_subscriptions(p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.forget_subscriptions(p_most integer) FROM PUBLIC;

-- Name: FUNCTION free_idempotency_keys(p_message_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) FROM PUBLIC;

-- Name: TABLE action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.action TO postrider_application;
GRANT SELECT ON TABLE postrider.action TO postrider_operator;
GRANT SELECT ON TABLE postrider.action TO postrider_monitor;
GRANT SELECT ON TABLE postrider.action TO postrider_admin;

-- Name: FUNCTION free_slots(p_action postrider.action); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.free_slots(p_action postrider.action) FROM PUBLIC;

-- Name: FUNCTION full_id(p_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.full_id(p_id bigint) FROM PUBLIC;

-- Name: FUNCTION get_endpoint_health(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION get_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.get_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_admin;

-- Name: FUNCTION get_worker_status(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.get_worker_status() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_admin;

-- Name: FUNCTION handle_dead_letter(p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.handle_dead_letter(p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb) FROM PUBLIC;

-- Name: FUNCTION has_consumer_lock(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_consumer_lock(p_consumer_id integer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION has_ended(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_admin;

-- Name: FUNCTION has_ended_everywhere(p_message_id bigint, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[]) FROM PUBLIC;

-- Name: FUNCTION has_offset(p_offsets bytea, p_offset integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_offset(p_offsets bytea, p_offset integer) FROM PUBLIC;

-- Name: FUNCTION has_read_partition(p_consumer postrider.consumer, p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_read_partition(p_consumer postrider.consumer, p_name text) FROM PUBLIC;

-- Name: FUNCTION has_session(p_dispatcher uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_session(p_dispatcher uuid) FROM PUBLIC;

-- Name: FUNCTION has_tick_turn(p_table text, p_is_patient boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_tick_turn(p_table text, p_is_patient boolean) FROM PUBLIC;

-- Name: FUNCTION has_unread_messages(p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_unread_messages(p_target integer) FROM PUBLIC;

-- Name: FUNCTION has_waiting_messages(p_endpoint_id integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_waiting_messages(p_endpoint_id integer) FROM PUBLIC;

-- Name: FUNCTION has_wide_messages(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.has_wide_messages() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_application;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_admin;

-- Name: FUNCTION health_check(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.health_check() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_admin;

-- Name: FUNCTION heartbeat(p_dispatcher uuid, p_statistics jsonb, p_silent_ids uuid[], p_silent_seqs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb, p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;

-- Name: FUNCTION held_execution(p_execution bigint, p_fence bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.held_execution(p_execution bigint, p_fence bigint) FROM PUBLIC;

-- Name: FUNCTION held_worker(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.held_worker(p_name text) FROM PUBLIC;

-- Name: FUNCTION hold_consumer(p_consumer postrider.consumer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.hold_consumer(p_consumer postrider.consumer) FROM PUBLIC;

-- Name: FUNCTION hold_deliveries(p_verb text, p_message_id bigint, p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.hold_deliveries(p_verb text, p_message_id bigint, p_endpoint_name text) FROM PUBLIC;

-- Name: FUNCTION hold_slots(p_action text, p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.hold_slots(p_action text, p_most integer) FROM PUBLIC;

-- Name: FUNCTION idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea) FROM PUBLIC;

-- Name: FUNCTION idempotency_window(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.idempotency_window() FROM PUBLIC;

-- Name: FUNCTION is_at_end(p_position postrider.consumer_position); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_at_end(p_position postrider.consumer_position) FROM PUBLIC;

-- Name: FUNCTION is_being_cancelled(p_message_id bigint, p_retry_count integer, p_recovery_count integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_being_cancelled(p_message_id bigint, p_retry_count integer, p_recovery_count integer) FROM PUBLIC;

-- Name: FUNCTION is_claimed(p_message_id bigint, p_target integer, p_retry_count integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_admin;

-- Name: FUNCTION is_copy(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_copy() FROM PUBLIC;

-- Name: FUNCTION is_deferred(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_admin;

-- Name: FUNCTION is_delivery_wanted(p_filter jsonb, p_message_id bigint, p_target integer, p_created_at timestamp with time zone, p_last_error text, p_ordering_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_delivery_wanted(p_filter jsonb, p_message_id bigint, p_target integer, p_created_at timestamp with time zone, p_last_error text, p_ordering_key text) FROM PUBLIC;

-- Name: FUNCTION is_done(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_done(p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_erasure_wanted(p_filter jsonb, p_metadata jsonb, p_created_at timestamp with time zone, p_ordering_key text, p_correlation_id uuid, p_event_type text, p_own_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_erasure_wanted(p_filter jsonb, p_metadata jsonb, p_created_at timestamp with time zone, p_ordering_key text, p_correlation_id uuid, p_event_type text, p_own_metadata jsonb) FROM PUBLIC;

-- Name: FUNCTION is_generation_left(p_generation integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_generation_left(p_generation integer) FROM PUBLIC;

-- Name: FUNCTION is_http_url(url text, maximum bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_http_url(url text, maximum bigint) FROM PUBLIC;

-- Name: FUNCTION is_in_hand(p_message_id bigint, p_target integer, p_retry_count integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_in_hand(p_message_id bigint, p_target integer, p_retry_count integer) FROM PUBLIC;

-- Name: FUNCTION is_letter_wanted(p_filter jsonb, p_failed_at timestamp with time zone, p_last_error text, p_cause text, p_event_type text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_letter_wanted(p_filter jsonb, p_failed_at timestamp with time zone, p_last_error text, p_cause text, p_event_type text) FROM PUBLIC;

-- Name: FUNCTION is_logged(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_logged(p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_older(p_xmin xid, p_xid xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_older(p_xmin xid, p_xid xid8) FROM PUBLIC;

-- Name: FUNCTION is_partition_behind(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_partition_behind(p_consumer_id integer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION is_partition_filled(p_consumer postrider.consumer, p_partition integer, p_is_patient boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_partition_filled(p_consumer postrider.consumer, p_partition integer, p_is_patient boolean) FROM PUBLIC;

-- Name: FUNCTION is_partition_finished(p_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_done_before xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_partition_finished(p_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_done_before xid8) FROM PUBLIC;

-- Name: FUNCTION is_partition_unread(p_consumer postrider.consumer, p_partition integer, p_look integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_partition_unread(p_consumer postrider.consumer, p_partition integer, p_look integer) FROM PUBLIC;

-- Name: FUNCTION is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint) FROM PUBLIC;

-- Name: FUNCTION is_private(address inet); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_private(address inet) FROM PUBLIC;

-- Name: FUNCTION is_signing_key(p_key jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_signing_key(p_key jsonb) FROM PUBLIC;

-- Name: FUNCTION is_slot_filled(p_table text, p_slot smallint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_slot_filled(p_table text, p_slot smallint) FROM PUBLIC;

-- Name: FUNCTION is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_admin;

-- Name: FUNCTION is_wanted(p_consumer postrider.consumer, p_partition integer, p_id bigint, p_xid xid8, p_created_at timestamp with time zone, p_event_type text, p_ordering_key text, p_payload jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_wanted(p_consumer postrider.consumer, p_partition integer, p_id bigint, p_xid xid8, p_created_at timestamp with time zone, p_event_type text, p_ordering_key text, p_payload jsonb) FROM PUBLIC;

-- Name: FUNCTION is_web_port(port integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.is_web_port(port integer) FROM PUBLIC;

-- Name: FUNCTION keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb) FROM PUBLIC;

-- Name: FUNCTION keep_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.keep_endpoint() FROM PUBLIC;

-- Name: FUNCTION kept_message(p_message_id bigint, p_target integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) FROM PUBLIC;

-- Name: FUNCTION key_mark(p_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.key_mark(p_key text) FROM PUBLIC;

-- Name: FUNCTION key_shard(p_ordering_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.key_shard(p_ordering_key text) FROM PUBLIC;

-- Name: FUNCTION keys_that_sign(p_endpoint_id integer, p_keys jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.keys_that_sign(p_endpoint_id integer, p_keys jsonb) FROM PUBLIC;

-- Name: FUNCTION known_circuits(p_endpoint_ids integer[], p_with_others boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.known_circuits(p_endpoint_ids integer[], p_with_others boolean) FROM PUBLIC;

-- Name: FUNCTION known_consumer(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.known_consumer(p_name text) FROM PUBLIC;

-- Name: FUNCTION known_lanes(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.known_lanes() FROM PUBLIC;

-- Name: FUNCTION lane_states(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lane_states() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_application;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_admin;

-- Name: FUNCTION lane_tails(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lane_tails() FROM PUBLIC;

-- Name: FUNCTION lease_partitions(p_consumer text, p_member uuid, p_lease interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_application;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_admin;

-- Name: FUNCTION left_kinds(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.left_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_application;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_admin;

-- Name: FUNCTION live_dispatchers(p_silent_ids uuid[], p_silent_seqs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.live_dispatchers(p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;

-- Name: FUNCTION live_worker(p_worker_id integer, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.live_worker(p_worker_id integer, p_epoch integer) FROM PUBLIC;

-- Name: FUNCTION lock_leases(p_consumer postrider.consumer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lock_leases(p_consumer postrider.consumer) FROM PUBLIC;

-- Name: FUNCTION lock_signing_keys(p_endpoint_name text, p_is_adding boolean, OUT endpoint_id integer, OUT keys jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lock_signing_keys(p_endpoint_name text, p_is_adding boolean, OUT endpoint_id integer, OUT keys jsonb) FROM PUBLIC;

-- Name: FUNCTION lock_worker(p_worker postrider.worker, p_is_changed boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lock_worker(p_worker postrider.worker, p_is_changed boolean) FROM PUBLIC;

-- Name: FUNCTION log_ranges(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.log_ranges() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_application;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_admin;

-- Name: FUNCTION lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION lowest_id_since(p_xid xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.lowest_id_since(p_xid xid8) FROM PUBLIC;

-- Name: FUNCTION maintain_archive_partitions(p_months_ahead integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_admin;

-- Name: FUNCTION make_signing_key(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.make_signing_key() FROM PUBLIC;

-- Name: FUNCTION mark_expired_messages(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.mark_expired_messages() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.mark_expired_messages() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.mark_expired_messages() TO postrider_admin;

-- Name: FUNCTION masked_config(p_config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.masked_config(p_config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_admin;

-- Name: FUNCTION matching_targets(p_patterns text[], p_payload jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.matching_targets(p_patterns text[], p_payload jsonb) FROM PUBLIC;

-- Name: FUNCTION may_act_for(p_role text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.may_act_for(p_role text) FROM PUBLIC;

-- Name: FUNCTION may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_admin;

-- Name: FUNCTION message_partition(p_ordering_key text, p_id bigint, p_count integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.message_partition(p_ordering_key text, p_id bigint, p_count integer) FROM PUBLIC;

-- Name: FUNCTION message_status(p_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.message_status(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_admin;

-- Name: FUNCTION metrics(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.metrics() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_admin;

-- Name: FUNCTION missing_partitions(p_months_ahead integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.missing_partitions(p_months_ahead integer) FROM PUBLIC;

-- Name: FUNCTION needs_archive_upkeep(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.needs_archive_upkeep() FROM PUBLIC;

-- Name: TABLE consumer_attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumer_attempt TO postrider_admin;

-- Name: FUNCTION newest_attempt(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.newest_attempt(p_consumer_id integer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION newest_leases(p_consumer_id integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.newest_leases(p_consumer_id integer) FROM PUBLIC;

-- Name: FUNCTION newest_position(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.newest_position(p_consumer_id integer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION next_ticks(p_tick bigint, p_after_id bigint, p_look integer, p_settled_tick bigint, p_has_own boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.next_ticks(p_tick bigint, p_after_id bigint, p_look integer, p_settled_tick bigint, p_has_own boolean) FROM PUBLIC;

-- Name: FUNCTION note_actor(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_actor() FROM PUBLIC;

-- Name: FUNCTION note_broker(p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_broker(p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text) FROM PUBLIC;

-- Name: FUNCTION note_clock_jump(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_clock_jump() FROM PUBLIC;

-- Name: FUNCTION note_fetch(p_consumer_id integer, p_partition integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_fetch(p_consumer_id integer, p_partition integer) FROM PUBLIC;

-- Name: FUNCTION note_page(p_consumer_id integer, p_partition integer, p_seq bigint, p_tick bigint, p_xid xid8, p_id bigint, p_count bigint, p_is_end boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_page(p_consumer_id integer, p_partition integer, p_seq bigint, p_tick bigint, p_xid xid8, p_id bigint, p_count bigint, p_is_end boolean) FROM PUBLIC;

-- Name: FUNCTION note_published(p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_published(p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean) FROM PUBLIC;

-- Name: FUNCTION note_signing_keys(p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_signing_keys(p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean) FROM PUBLIC;

-- Name: FUNCTION note_verb(p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.note_verb(p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text) FROM PUBLIC;

-- Name: FUNCTION notification_queue_usage(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.notification_queue_usage() FROM PUBLIC;

-- Name: FUNCTION number_distance(p_from bigint, p_to bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.number_distance(p_from bigint, p_to bigint) FROM PUBLIC;

-- Name: FUNCTION open_snapshot(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.open_snapshot() FROM PUBLIC;

-- Name: FUNCTION open_transactions(p_limit integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.open_transactions(p_limit integer) FROM PUBLIC;

-- Name: FUNCTION overdue_deliveries(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.overdue_deliveries() FROM PUBLIC;

-- Name: FUNCTION park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_admin;

-- Name: FUNCTION partition_horizons(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.partition_horizons() FROM PUBLIC;

-- Name: FUNCTION partition_months_ahead(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.partition_months_ahead() FROM PUBLIC;

-- Name: FUNCTION pass_generation(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pass_generation() FROM PUBLIC;

-- Name: FUNCTION pass_unwanted(p_position postrider.consumer_position, p_to_tick bigint, p_span postrider.tick_span, p_look integer, p_to_xid xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pass_unwanted(p_position postrider.consumer_position, p_to_tick bigint, p_span postrider.tick_span, p_look integer, p_to_xid xid8) FROM PUBLIC;

-- Name: FUNCTION passed_ticks(p_tick bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.passed_ticks(p_tick bigint) FROM PUBLIC;

-- Name: FUNCTION pause_all(OUT paused_count bigint, OUT held text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) TO postrider_admin;

-- Name: FUNCTION pause_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_admin;

-- Name: FUNCTION pending_deliveries(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pending_deliveries() FROM PUBLIC;

-- Name: FUNCTION pending_floor(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pending_floor() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_application;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_admin;

-- Name: FUNCTION phased_waits(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.phased_waits(policy jsonb) FROM PUBLIC;

-- Name: FUNCTION pool_figures(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pool_figures() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_application;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_admin;

-- Name: FUNCTION pool_workers(p_pool text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.pool_workers(p_pool text) FROM PUBLIC;

-- Name: FUNCTION prepare_endpoint(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_endpoint() FROM PUBLIC;

-- Name: FUNCTION prepare_event_type(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_event_type() FROM PUBLIC;

-- Name: FUNCTION prepare_setting(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_setting() FROM PUBLIC;

-- Name: FUNCTION prepare_subscription(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.prepare_subscription() FROM PUBLIC;

-- Name: FUNCTION probe_worker(p_worker_id integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.probe_worker(p_worker_id integer) FROM PUBLIC;

-- Name: FUNCTION publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;

-- Name: FUNCTION publish_batch(p_events jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish_batch(p_events jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_admin;

-- Name: FUNCTION publish_dead_letters(p_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish_dead_letters(p_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION publish_execution_end(p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.publish_execution_end(p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb) FROM PUBLIC;

-- Name: FUNCTION queue_base(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.queue_base() FROM PUBLIC;

-- Name: FUNCTION read_partition(p_consumer postrider.consumer, p_partition integer, p_limit integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.read_partition(p_consumer postrider.consumer, p_partition integer, p_limit integer) FROM PUBLIC;

-- Name: FUNCTION rebase_executions(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rebase_executions() FROM PUBLIC;

-- Name: FUNCTION rebase_log(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rebase_log() FROM PUBLIC;

-- Name: FUNCTION recheck_idempotency_keys(p_after bigint, p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recheck_idempotency_keys(p_after bigint, p_most integer) FROM PUBLIC;

-- Name: FUNCTION recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[]) FROM PUBLIC;

-- Name: FUNCTION recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean) FROM PUBLIC;

-- Name: FUNCTION recover_waiting(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_waiting(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) FROM PUBLIC;

-- Name: FUNCTION recover_worker(p_worker postrider.worker, p_reason text, p_is_leaving boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.recover_worker(p_worker postrider.worker, p_reason text, p_is_leaving boolean) FROM PUBLIC;

-- Name: FUNCTION redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION redrive_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;

-- Name: FUNCTION redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION redrive_letters(p_ids bigint[], p_by text, p_from timestamp with time zone, p_gap interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_letters(p_ids bigint[], p_by text, p_from timestamp with time zone, p_gap interval) FROM PUBLIC;

-- Name: FUNCTION redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION redrive_message(p_dlq_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) TO postrider_admin;

-- Name: FUNCTION refuse_copy(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_copy() FROM PUBLIC;

-- Name: FUNCTION refuse_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_endpoint(p_endpoint_name text) FROM PUBLIC;

-- Name: FUNCTION refuse_full_endpoint(p_endpoint_name text, p_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_full_endpoint(p_endpoint_name text, p_count bigint) FROM PUBLIC;

-- Name: FUNCTION refuse_held_worker(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_held_worker(p_name text) FROM PUBLIC;

-- Name: FUNCTION refuse_log_change(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.refuse_log_change() FROM PUBLIC;

-- Name: FUNCTION register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text) FROM PUBLIC;

-- Name: FUNCTION register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_admin;

-- Name: FUNCTION release_execution(p_execution bigint, p_fence bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_admin;

-- Name: FUNCTION release_keys(p_ordering_keys text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_keys(p_ordering_keys text[]) FROM PUBLIC;

-- Name: FUNCTION release_partitions(p_consumer text, p_member uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_application;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_admin;

-- Name: FUNCTION release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;

-- Name: FUNCTION release_slot(p_live postrider.live_execution); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.release_slot(p_live postrider.live_execution) FROM PUBLIC;

-- Name: FUNCTION replay_message(p_archive_message_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) TO postrider_admin;

-- Name: FUNCTION replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) TO postrider_admin;

-- Name: FUNCTION reserve_generation(p_generation integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reserve_generation(p_generation integer) FROM PUBLIC;

-- Name: FUNCTION reset_circuit_breaker(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION reset_consumer(p_name text, p_start text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reset_consumer(p_name text, p_start text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_consumer(p_name text, p_start text) TO postrider_admin;

-- Name: FUNCTION reset_setting(name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reset_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_setting(name text) TO postrider_admin;

-- Name: FUNCTION resolve_parked_message(p_parked_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_admin;

-- Name: FUNCTION resume_all(OUT resumed_count bigint, OUT held text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) TO postrider_admin;

-- Name: FUNCTION resume_endpoint(p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION retention_holders(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retention_holders() FROM PUBLIC;

-- Name: FUNCTION retire_endpoint(p_endpoint_id integer, p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retire_endpoint(p_endpoint_id integer, p_reason text) FROM PUBLIC;

-- Name: FUNCTION retire_failing_endpoints(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retire_failing_endpoints() FROM PUBLIC;

-- Name: FUNCTION retire_signing_key(endpoint text, key_id text, after interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval) TO postrider_admin;

-- Name: FUNCTION retire_signing_keys(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retire_signing_keys() FROM PUBLIC;

-- Name: FUNCTION retry_delivery(p_message_id bigint, p_endpoint_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) TO postrider_admin;

-- Name: FUNCTION retry_execution(p_execution bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_execution(p_execution bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_execution(p_execution bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_execution(p_execution bigint) TO postrider_admin;

-- Name: FUNCTION retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION retry_phases(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_phases(policy jsonb) FROM PUBLIC;

-- Name: FUNCTION retry_policy_form(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_policy_form(policy jsonb) FROM PUBLIC;

-- Name: FUNCTION retry_policy_keys(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_policy_keys() FROM PUBLIC;

-- Name: FUNCTION retry_waits(policy jsonb, place text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.retry_waits(policy jsonb, place text) FROM PUBLIC;

-- Name: FUNCTION return_execution(p_live postrider.live_execution, p_to_pool boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.return_execution(p_live postrider.live_execution, p_to_pool boolean) FROM PUBLIC;

-- Name: FUNCTION reveal_signing_key(endpoint text, key_id text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) TO postrider_admin;

-- Name: FUNCTION ring(p_channel text, p_message text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.ring(p_channel text, p_message text) FROM PUBLIC;

-- Name: FUNCTION ring_workers(p_queue text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.ring_workers(p_queue text) FROM PUBLIC;

-- Name: FUNCTION roll_up_executions(p_most integer, p_pause interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.roll_up_executions(p_most integer, p_pause interval) FROM PUBLIC;

-- Name: FUNCTION rotate_signing_key(endpoint text, overlap interval); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval) TO postrider_admin;

-- Name: FUNCTION rotate_slots(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.rotate_slots() FROM PUBLIC;

-- Name: FUNCTION save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean) FROM PUBLIC;

-- Name: FUNCTION save_circuits(p_dispatcher uuid, p_endpoint_ids integer[], p_versions bigint[], p_next_versions bigint[], p_states text[], p_failure_counts integer[], p_probe_at timestamp with time zone[], p_probers uuid[], p_paused_until timestamp with time zone[], p_last_success_at timestamp with time zone[], p_last_failure_at timestamp with time zone[], p_failing_since timestamp with time zone[], p_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_circuits(p_dispatcher uuid, p_endpoint_ids integer[], p_versions bigint[], p_next_versions bigint[], p_states text[], p_failure_counts integer[], p_probe_at timestamp with time zone[], p_probers uuid[], p_paused_until timestamp with time zone[], p_last_success_at timestamp with time zone[], p_last_failure_at timestamp with time zone[], p_failing_since timestamp with time zone[], p_at timestamp with time zone) FROM PUBLIC;

-- Name: FUNCTION save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) FROM PUBLIC;

-- Name: FUNCTION schedule_executions(p_worker postrider.worker, p_limit integer, p_pool_limit integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.schedule_executions(p_worker postrider.worker, p_limit integer, p_pool_limit integer) FROM PUBLIC;

-- Name: FUNCTION schedule_queue(p_worker postrider.worker, p_queue text, p_limit integer, p_reserved integer, p_reserved_from timestamp with time zone); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.schedule_queue(p_worker postrider.worker, p_queue text, p_limit integer, p_reserved integer, p_reserved_from timestamp with time zone) FROM PUBLIC;

-- Name: FUNCTION send(endpoint_name text, payload jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_admin;

-- Name: FUNCTION send_batch(p_endpoint_name text, p_payloads jsonb[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_admin;

-- Name: FUNCTION send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_admin;

-- Name: FUNCTION send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;

-- Name: FUNCTION send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;

-- Name: FUNCTION set_action(p_name text, p_ttl interval, p_timeout interval, p_max_retries integer, p_priority integer, p_concurrency integer, p_description text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.set_action(p_name text, p_ttl interval, p_timeout interval, p_max_retries integer, p_priority integer, p_concurrency integer, p_description text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_action(p_name text, p_ttl interval, p_timeout interval, p_max_retries integer, p_priority integer, p_concurrency integer, p_description text) TO postrider_admin;

-- Name: FUNCTION set_setting(name text, value text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.set_setting(name text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_setting(name text, value text) TO postrider_admin;

-- Name: FUNCTION shard_count(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.shard_count() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_admin;

-- Name: FUNCTION shard_reports(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.shard_reports() FROM PUBLIC;

-- Name: FUNCTION signing_key_id(p_key text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.signing_key_id(p_key text) FROM PUBLIC;

-- Name: FUNCTION skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_admin;

-- Name: FUNCTION skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;

-- Name: FUNCTION start_execution(p_execution bigint, p_fence bigint, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_admin;

-- Name: FUNCTION submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_application;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_admin;

-- Name: FUNCTION subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) TO postrider_admin;

-- Name: FUNCTION switch_all_endpoints(p_paused boolean, OUT switched_count bigint, OUT held text[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.switch_all_endpoints(p_paused boolean, OUT switched_count bigint, OUT held text[]) FROM PUBLIC;

-- Name: FUNCTION switch_endpoint(p_endpoint_name text, p_enabled boolean, p_paused boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.switch_endpoint(p_endpoint_name text, p_enabled boolean, p_paused boolean) FROM PUBLIC;

-- Name: FUNCTION switch_worker(p_name text, p_is_cordoned boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.switch_worker(p_name text, p_is_cordoned boolean) FROM PUBLIC;

-- Name: FUNCTION system_identifier(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.system_identifier() FROM PUBLIC;

-- Name: FUNCTION take_at_once(p_worker integer, p_limit integer, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_at_once(p_worker integer, p_limit integer, p_epoch integer) FROM PUBLIC;

-- Name: FUNCTION take_chore(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_chore(p_name text) FROM PUBLIC;

-- Name: FUNCTION take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_admin;

-- Name: FUNCTION take_out_of_attempts(p_message_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_out_of_attempts(p_message_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION take_out_of_letters(p_ids bigint[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_out_of_letters(p_ids bigint[]) FROM PUBLIC;

-- Name: FUNCTION take_tokens(p_endpoint_ids integer[], p_wanted integer[], p_rates integer[], p_bursts integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.take_tokens(p_endpoint_ids integer[], p_wanted integer[], p_rates integer[], p_bursts integer[]) FROM PUBLIC;

-- Name: FUNCTION target_names(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.target_names() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_application;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_admin;

-- Name: FUNCTION tell_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.tell_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;

-- Name: FUNCTION tell_deliveries(p_verb text, p_message_ids bigint[], p_targets integer[], p_reason text, p_from timestamp with time zone, p_gap interval, OUT told_count bigint, OUT held_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.tell_deliveries(p_verb text, p_message_ids bigint[], p_targets integer[], p_reason text, p_from timestamp with time zone, p_gap interval, OUT told_count bigint, OUT held_count bigint) FROM PUBLIC;

-- Name: FUNCTION tick(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.tick() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_application;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_admin;

-- Name: FUNCTION tick_content(p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.tick_content(p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer) FROM PUBLIC;

-- Name: FUNCTION tick_messages(p_tick bigint, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.tick_messages(p_tick bigint, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span) FROM PUBLIC;

-- Name: FUNCTION trade_places(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_lent_endpoint_ids integer[], p_lent_shards smallint[], p_borrowers uuid[], p_returned_endpoint_ids integer[], p_returned_shards smallint[], p_asked_endpoint_ids integer[], p_asked_parts integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.trade_places(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_lent_endpoint_ids integer[], p_lent_shards smallint[], p_borrowers uuid[], p_returned_endpoint_ids integer[], p_returned_shards smallint[], p_asked_endpoint_ids integer[], p_asked_parts integer[]) FROM PUBLIC;

-- Name: FUNCTION transaction_messages(p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.transaction_messages(p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8) FROM PUBLIC;

-- Name: FUNCTION uncancelled(p_places tid[], OUT free tid[], OUT under_way_count bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.uncancelled(p_places tid[], OUT free tid[], OUT under_way_count bigint) FROM PUBLIC;

-- Name: FUNCTION uncordon_worker(p_name text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.uncordon_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.uncordon_worker(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.uncordon_worker(p_name text) TO postrider_admin;

-- Name: FUNCTION unread_messages(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unread_messages() FROM PUBLIC;

-- Name: FUNCTION unregister_dispatcher(p_dispatcher uuid); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) FROM PUBLIC;

-- Name: FUNCTION unsubscribe(p_subscription_id bigint); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) TO postrider_admin;

-- Name: FUNCTION update_full_endpoints(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.update_full_endpoints() FROM PUBLIC;

-- Name: FUNCTION update_gate(); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.update_gate() FROM PUBLIC;

-- Name: FUNCTION url_origin(url text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.url_origin(url text) FROM PUBLIC;

-- Name: FUNCTION validate_endpoint_config(protocol text, config jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) TO postrider_admin;

-- Name: FUNCTION validate_retry_policy(policy jsonb); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) TO postrider_admin;

-- Name: FUNCTION visible_messages(p_xid xid8, p_after_id bigint, p_look integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.visible_messages(p_xid xid8, p_after_id bigint, p_look integer) FROM PUBLIC;

-- Name: FUNCTION was_taken_back(p_message_id bigint, p_targets integer[]); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.was_taken_back(p_message_id bigint, p_targets integer[]) FROM PUBLIC;

-- Name: FUNCTION worker_executions(p_worker integer, p_epoch integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_admin;

-- Name: FUNCTION worker_heartbeat(p_worker integer, p_epoch integer, p_error text); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_admin;

-- Name: FUNCTION worker_room(p_worker postrider.worker, p_queue text, p_most integer); Type: ACL; Schema: postrider; Owner: -

REVOKE ALL ON FUNCTION postrider.worker_room(p_worker postrider.worker, p_queue text, p_most integer) FROM PUBLIC;

-- Name: TABLE message; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.message TO postrider_admin;

-- Name: TABLE archive; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.archive TO postrider_application;
GRANT SELECT ON TABLE postrider.archive TO postrider_operator;
GRANT SELECT ON TABLE postrider.archive TO postrider_admin;

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

-- Name: COLUMN archive.replay_of; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(replay_of) ON TABLE postrider.archive TO postrider_monitor;

-- Name: TABLE attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.attempt TO postrider_operator;
GRANT SELECT ON TABLE postrider.attempt TO postrider_admin;

-- Name: COLUMN attempt.message_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_id) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.endpoint_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_id) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.number; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(number) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.started_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(started_at) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.duration_ms; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(duration_ms) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.outcome; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(outcome) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(error) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.response_headers; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(response_headers) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: COLUMN attempt.response_truncated; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(response_truncated) ON TABLE postrider.attempt TO postrider_monitor;

-- Name: TABLE endpoints; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.endpoints TO postrider_operator;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(name) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.protocol; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(protocol) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.config; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(config) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.retry_policy; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_policy) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(retry_policy) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.enabled; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(enabled) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(enabled) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.paused; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(paused) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(paused) ON TABLE postrider.endpoints TO postrider_admin;

-- Name: COLUMN endpoints.direct_subscription_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(direct_subscription_id) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.version; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(version) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.updated_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(updated_at) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.is_full; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(is_full) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: COLUMN endpoints.is_paused_with_all; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(is_paused_with_all) ON TABLE postrider.endpoints TO postrider_monitor;

-- Name: TABLE attempts; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.attempts TO postrider_operator;
GRANT SELECT ON TABLE postrider.attempts TO postrider_admin;

-- Name: COLUMN attempts.message_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_id) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.target; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(target) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.started_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(started_at) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.duration_ms; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(duration_ms) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.outcome; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(outcome) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(error) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.response_content_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(response_content_type) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.response_headers; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(response_headers) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: COLUMN attempts.response_truncated; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(response_truncated) ON TABLE postrider.attempts TO postrider_monitor;

-- Name: TABLE deferred; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.deferred TO postrider_operator;
GRANT SELECT ON TABLE postrider.deferred TO postrider_monitor;
GRANT SELECT ON TABLE postrider.deferred TO postrider_admin;

-- Name: TABLE blocked_keys; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_application;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_operator;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_monitor;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_admin;

-- Name: TABLE broker_report; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.broker_report TO postrider_operator;
GRANT SELECT ON TABLE postrider.broker_report TO postrider_monitor;
GRANT SELECT ON TABLE postrider.broker_report TO postrider_admin;

-- Name: TABLE cancellation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.cancellation TO postrider_admin;

-- Name: TABLE checkpoint; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.checkpoint TO postrider_operator;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_monitor;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_admin;

-- Name: TABLE circuit; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.circuit TO postrider_operator;
GRANT SELECT ON TABLE postrider.circuit TO postrider_monitor;
GRANT SELECT ON TABLE postrider.circuit TO postrider_admin;

-- Name: TABLE claim; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.claim TO postrider_admin;

-- Name: TABLE consumer_lock; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumer_lock TO postrider_admin;

-- Name: TABLE consumers; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.consumers TO postrider_consumer;
GRANT SELECT ON TABLE postrider.consumers TO postrider_application;
GRANT SELECT ON TABLE postrider.consumers TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumers TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumers TO postrider_admin;

-- Name: TABLE dead_letter; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dead_letter TO postrider_operator;
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

-- Name: COLUMN dead_letter.redriven_by; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(redriven_by) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.message_created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_created_at) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: COLUMN dead_letter.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.dead_letter TO postrider_monitor;

-- Name: TABLE dead_letter_statistics; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_admin;

-- Name: TABLE dead_letter_figures; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_admin;

-- Name: TABLE dead_letter_total; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_admin;

-- Name: TABLE dispatcher; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dispatcher TO postrider_operator;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_admin;

-- Name: TABLE dlq; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.dlq TO postrider_application;
GRANT SELECT ON TABLE postrider.dlq TO postrider_operator;
GRANT SELECT ON TABLE postrider.dlq TO postrider_admin;

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

-- Name: COLUMN dlq.redriven_by; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(redriven_by) ON TABLE postrider.dlq TO postrider_monitor;

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

GRANT SELECT ON TABLE postrider.done TO postrider_operator;
GRANT SELECT ON TABLE postrider.done TO postrider_monitor;
GRANT SELECT ON TABLE postrider.done TO postrider_admin;

-- Name: TABLE ended; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.ended TO postrider_operator;
GRANT SELECT ON TABLE postrider.ended TO postrider_monitor;
GRANT SELECT ON TABLE postrider.ended TO postrider_admin;

-- Name: TABLE endpoint_configs; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_operator;
GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_monitor;
GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_admin;

-- Name: TABLE event_log; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.event_log TO postrider_operator;
GRANT SELECT ON TABLE postrider.event_log TO postrider_monitor;
GRANT SELECT ON TABLE postrider.event_log TO postrider_admin;

-- Name: TABLE execution_dead_letter; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_admin;

-- Name: COLUMN execution_dead_letter.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(at) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.xid; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(xid) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.outcome; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(outcome) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.carrier; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(carrier) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.execution_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(execution_id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.worker_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker_id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(action) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: COLUMN execution_dead_letter.reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(reason) ON TABLE postrider.execution_dead_letter TO postrider_monitor;

-- Name: TABLE execution_dead_letters; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_admin;

-- Name: COLUMN execution_dead_letters.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(at) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.outcome; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(outcome) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.carrier; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(carrier) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.execution_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(execution_id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.worker; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.worker_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker_id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(action) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: COLUMN execution_dead_letters.reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(reason) ON TABLE postrider.execution_dead_letters TO postrider_monitor;

-- Name: TABLE execution_end; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_end TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_end TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_end TO postrider_admin;

-- Name: COLUMN execution_end.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.execution_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(execution_id) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.xid; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(xid) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.is_final; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(is_final) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(reason) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.retry_reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_reason) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.worker_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker_id) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(action) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.pool; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(pool) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.requested_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(requested_at) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.scheduled_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(scheduled_at) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.started_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(started_at) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: COLUMN execution_end.ended_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ended_at) ON TABLE postrider.execution_end TO postrider_monitor;

-- Name: TABLE execution_statistics; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_admin;

-- Name: TABLE execution_figures; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_figures TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_figures TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_figures TO postrider_admin;

-- Name: TABLE execution_generation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_generation TO postrider_admin;

-- Name: TABLE execution_rollup; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_admin;

-- Name: TABLE execution_total; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.execution_total TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_total TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_total TO postrider_admin;

-- Name: TABLE executions; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.executions TO postrider_application;
GRANT SELECT ON TABLE postrider.executions TO postrider_operator;
GRANT SELECT ON TABLE postrider.executions TO postrider_admin;

-- Name: COLUMN executions.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.executions TO postrider_worker;
GRANT SELECT(id) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.action; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(action) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.executions TO postrider_worker;
GRANT SELECT(status) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.addressed_to; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(addressed_to) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.pool; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(pool) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.worker; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(worker) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.priority; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(priority) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.ttl; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ttl) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.timeout; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(timeout) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.attempt; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.max_retries; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(max_retries) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.retry_reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_reason) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.original_execution; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(original_execution) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.reason; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(reason) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.requested_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(requested_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.scheduled_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(scheduled_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.started_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(started_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.ended_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ended_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.expires_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(expires_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.deadline_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(deadline_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.retry_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(retry_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.cancel_requested_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(cancel_requested_at) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.executions TO postrider_monitor;

-- Name: COLUMN executions.idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(idempotency_key) ON TABLE postrider.executions TO postrider_monitor;

-- Name: TABLE heartbeat; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.heartbeat TO postrider_operator;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_monitor;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_admin;

-- Name: TABLE idempotency_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.idempotency_key TO postrider_admin;

-- Name: TABLE installation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.installation TO postrider_producer;
GRANT SELECT ON TABLE postrider.installation TO postrider_consumer;
GRANT SELECT ON TABLE postrider.installation TO postrider_worker;
GRANT SELECT ON TABLE postrider.installation TO postrider_application;
GRANT SELECT ON TABLE postrider.installation TO postrider_operator;
GRANT SELECT ON TABLE postrider.installation TO postrider_monitor;
GRANT SELECT ON TABLE postrider.installation TO postrider_admin;

-- Name: TABLE jobs; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.jobs TO postrider_operator;
GRANT SELECT ON TABLE postrider.jobs TO postrider_monitor;
GRANT SELECT ON TABLE postrider.jobs TO postrider_admin;

-- Name: TABLE live_generation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.live_generation TO postrider_application;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_operator;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_monitor;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_admin;

-- Name: TABLE migration; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.migration TO postrider_producer;
GRANT SELECT ON TABLE postrider.migration TO postrider_consumer;
GRANT SELECT ON TABLE postrider.migration TO postrider_worker;
GRANT SELECT ON TABLE postrider.migration TO postrider_application;
GRANT SELECT ON TABLE postrider.migration TO postrider_operator;
GRANT SELECT ON TABLE postrider.migration TO postrider_monitor;
GRANT SELECT ON TABLE postrider.migration TO postrider_admin;

-- Name: TABLE parked_message; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.parked_message TO postrider_admin;

-- Name: TABLE parked_messages; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.parked_messages TO postrider_consumer;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_application;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_operator;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_admin;

-- Name: COLUMN parked_messages.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.consumer_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(consumer_name) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages."position"; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT("position") ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.message_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_id) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.transaction_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(transaction_id) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.tick; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(tick) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.partition; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(partition) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.attempt_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(attempt_count) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.parked_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(parked_at) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.message_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(message_type) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.scheduled; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(scheduled) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.ordering_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(ordering_key) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.correlation_id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(correlation_id) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: COLUMN parked_messages.content_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(content_type) ON TABLE postrider.parked_messages TO postrider_monitor;

-- Name: TABLE partitions; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.partitions TO postrider_operator;
GRANT SELECT ON TABLE postrider.partitions TO postrider_monitor;
GRANT SELECT ON TABLE postrider.partitions TO postrider_admin;

-- Name: TABLE partly_done; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.partly_done TO postrider_admin;

-- Name: TABLE pools; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.pools TO postrider_application;
GRANT SELECT ON TABLE postrider.pools TO postrider_operator;
GRANT SELECT ON TABLE postrider.pools TO postrider_monitor;
GRANT SELECT ON TABLE postrider.pools TO postrider_admin;

-- Name: TABLE queue; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.queue TO postrider_application;
GRANT SELECT ON TABLE postrider.queue TO postrider_operator;
GRANT SELECT ON TABLE postrider.queue TO postrider_admin;

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

-- Name: COLUMN queue.replay_of; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(replay_of) ON TABLE postrider.queue TO postrider_monitor;

-- Name: TABLE rate_grant; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.rate_grant TO postrider_admin;

-- Name: TABLE replays; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.replays TO postrider_operator;
GRANT SELECT ON TABLE postrider.replays TO postrider_admin;

-- Name: COLUMN replays.id; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(id) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.endpoint_name; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(endpoint_name) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.state; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(state) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.from_ts; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(from_ts) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.to_ts; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(to_ts) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.status; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(status) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.event_type; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(event_type) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.rate; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(rate) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.replayed_count; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(replayed_count) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.progress; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(progress) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.created_by; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_by) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.created_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(created_at) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.finished_at; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(finished_at) ON TABLE postrider.replays TO postrider_monitor;

-- Name: COLUMN replays.last_error; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT(last_error) ON TABLE postrider.replays TO postrider_monitor;

-- Name: TABLE rotation; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.rotation TO postrider_admin;

-- Name: TABLE shard; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.shard TO postrider_operator;
GRANT SELECT ON TABLE postrider.shard TO postrider_monitor;
GRANT SELECT ON TABLE postrider.shard TO postrider_admin;

-- Name: TABLE signing_key; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.signing_key TO postrider_operator;
GRANT SELECT ON TABLE postrider.signing_key TO postrider_monitor;
GRANT SELECT ON TABLE postrider.signing_key TO postrider_admin;

-- Name: TABLE signing_keys; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.signing_keys TO postrider_operator;
GRANT SELECT ON TABLE postrider.signing_keys TO postrider_monitor;
GRANT SELECT ON TABLE postrider.signing_keys TO postrider_admin;

-- Name: TABLE subscriptions; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.subscriptions TO postrider_operator;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_monitor;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: COLUMN subscriptions.filter; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(filter) ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: COLUMN subscriptions.retry_policy; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(retry_policy) ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: COLUMN subscriptions.enabled; Type: ACL; Schema: postrider; Owner: -

GRANT UPDATE(enabled) ON TABLE postrider.subscriptions TO postrider_admin;

-- Name: TABLE tick; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.tick TO postrider_operator;
GRANT SELECT ON TABLE postrider.tick TO postrider_monitor;
GRANT SELECT ON TABLE postrider.tick TO postrider_admin;

-- Name: TABLE tick_passing; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.tick_passing TO postrider_admin;

-- Name: TABLE tick_turn; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.tick_turn TO postrider_admin;

-- Name: TABLE transport_option; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.transport_option TO postrider_operator;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_monitor;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_admin;

-- Name: TABLE workers; Type: ACL; Schema: postrider; Owner: -

GRANT SELECT ON TABLE postrider.workers TO postrider_worker;
GRANT SELECT ON TABLE postrider.workers TO postrider_application;
GRANT SELECT ON TABLE postrider.workers TO postrider_operator;
GRANT SELECT ON TABLE postrider.workers TO postrider_monitor;
GRANT SELECT ON TABLE postrider.workers TO postrider_admin;
