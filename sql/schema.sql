-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by
-- `cargo xtask ci`. Bodies of functions, queries of views and partitions by month are left out. Dumped by
-- PostgreSQL 15

CREATE SCHEMA postrider;

CREATE TYPE postrider.tick_span AS (
	first_at timestamp with time zone,
	last_at timestamp with time zone,
	from_at timestamp with time zone,
	to_at timestamp with time zone,
	late_from_at timestamp with time zone,
	sparse_from_at timestamp with time zone,
	passed int8multirange
);

CREATE FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(shard smallint, epoch bigint, state jsonb, backlog bigint, last_owner uuid)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.acting_dispatchers() RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.add_signing_key(endpoint text, key text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.address_literal(host text) RETURNS inet
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

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
    lost_fence bigint,
    named_by text,
    CONSTRAINT worker_capacity_check CHECK (((capacity >= 1) AND (capacity <= 10000))),
    CONSTRAINT worker_carrier_check CHECK ((carrier = ANY (ARRAY['postgres'::text, 'rabbitmq'::text]))),
    CONSTRAINT worker_health_check CHECK ((health = ANY (ARRAY['healthy'::text, 'degraded'::text, 'unhealthy'::text]))),
    CONSTRAINT worker_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT worker_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text)),
    CONSTRAINT worker_pool_check CHECK ((pool ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$'::text)),
    CONSTRAINT worker_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'error'::text])))
)
WITH (fillfactor='50');

CREATE FUNCTION postrider.addressed_worker(p_name text, p_pool text) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '5s';

CREATE FUNCTION postrider.admissible(p_action text, p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.adopt(p_only_look boolean DEFAULT false) RETURNS TABLE(found_sign text, unfinished_messages bigint, waiting_deliveries bigint, doubtful_messages bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '10s'
    SET jit TO 'off';

CREATE FUNCTION postrider.advance_jobs() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '200ms'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off';

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

CREATE FUNCTION postrider.advance_replay(p_job postrider.replay) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.advance_replays() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.advance_sequences() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.advance_ticks() RETURNS TABLE(is_made boolean, interval_ms integer)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.alter_schedule(p_name text, p_changes jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.announce_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.announce_event_type() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.announce_subscription() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.any_waiting_action(p_queue text) RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

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

CREATE FUNCTION postrider.append_execution(p_execution postrider.execution) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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

CREATE FUNCTION postrider.append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE SEQUENCE postrider.rotation_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

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

CREATE FUNCTION postrider.append_position(p_from postrider.consumer_position, p_tick bigint, p_xid xid8, p_message_id bigint, p_acknowledged_count bigint, p_fetched_at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off';

CREATE FUNCTION postrider.append_replays(p_message_ids bigint[], p_targets integer[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.append_tick() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.are_ticks_settled() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) RETURNS TABLE(batch_size integer, failure_count integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.bring_back() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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

CREATE FUNCTION postrider.bring_back_executions(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.bring_back_messages(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.bring_back_rows(p_jump postrider.clock_jump) RETURNS postrider.clock_jump
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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

CREATE FUNCTION postrider.bury_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.bury_orphans() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.caller() RETURNS text
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.can_sign(p_protocol text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cancel_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.cancel_execution(p_execution bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cancel_job(p_job_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cancel_message(p_message_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.cancel_replay(p_replay_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cancel_unread(p_message_ids bigint[], p_targets integer[], OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.changes_between(p_before jsonb, p_after jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_action_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_auth(p_config jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.check_clock() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_config_headers(key text, headers jsonb, are_templates boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.check_config_object(p_protocol text, p_path text, p_object jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_consumers() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_dispatchers() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_duration(p_parameter text, p_duration interval, p_least text, p_most text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_egress(p_config jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_endpoint_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.check_event_type(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.check_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_executions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.check_failovers() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_fleet_name(p_parameter text, p_name text, p_most integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_fleets() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.check_generations() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.check_key_pause(p_name text, p_pause interval) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_lag() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE TABLE postrider.consumer_lease (
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    consumer_id integer NOT NULL,
    member uuid NOT NULL,
    partitions smallint[] NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    leased_by text
);

CREATE FUNCTION postrider.check_lease_role(p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_locks() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_partitions() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_pool_name(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_reason(p_reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_replay(p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_retry_policy_keys(policy jsonb, form text, path text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_room(p_count bigint, p_targets integer[] DEFAULT '{}'::integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE TABLE postrider.schedule (
    id integer NOT NULL,
    name text NOT NULL,
    timing text NOT NULL,
    every interval,
    anchor timestamp with time zone,
    time_zone text NOT NULL,
    missed text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    paused_at timestamp with time zone,
    last_at timestamp with time zone,
    last_message_id bigint,
    fired_count bigint DEFAULT 0 NOT NULL,
    tried_at timestamp with time zone,
    retry_at timestamp with time zone,
    failed_since timestamp with time zone,
    failure_count integer DEFAULT 0 NOT NULL,
    last_error_code text,
    last_error text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT schedule_check CHECK (((every IS NULL) = (anchor IS NULL))),
    CONSTRAINT schedule_every_check CHECK (((every >= '00:00:01'::interval) AND (every <= '366 days'::interval))),
    CONSTRAINT schedule_missed_check CHECK ((missed = ANY (ARRAY['skip'::text, 'one'::text, 'all'::text])))
)
WITH (fillfactor='50');

CREATE TABLE postrider.schedule_message (
    schedule_id integer NOT NULL,
    endpoint_name text,
    event_type text,
    payload jsonb NOT NULL,
    priority integer NOT NULL,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    expires_in interval,
    CONSTRAINT schedule_message_check CHECK ((num_nonnulls(endpoint_name, event_type) = 1))
);

CREATE FUNCTION postrider.check_schedule(p_schedule postrider.schedule, p_message postrider.schedule_message) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_schedules() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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
    CONSTRAINT setting_kind_check CHECK ((kind = ANY (ARRAY['integer'::text, 'switch'::text, 'choice'::text, 'networks'::text, 'name'::text, 'uri'::text])))
);

CREATE FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_shards() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_signature_headers(p_config jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.check_signing_keys(p_config jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_size(p_parameter text, p_value jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_tick_allowed(p_caller text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_token_role(p_role text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_transactions() RETURNS TABLE(status text, details text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_worker_role(p_name text, p_registered_by text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.check_workers() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.claim_holders(OUT shard smallint, OUT owner uuid) RETURNS SETOF record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.claim_request(p_token_id integer, p_key text, p_fingerprint bytea) RETURNS TABLE(fingerprint bytea, status smallint, body text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off';

CREATE FUNCTION postrider.cleanup_dlq() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cleanup_event_log() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer DEFAULT 6) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb DEFAULT NULL::jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.complete_retry_policy(policy jsonb, place text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.config_members(p_protocol text, p_path text) RETURNS TABLE(name text, key text, required boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.confirm_origin() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.confirm_position(p_dispatcher uuid, p_timeline integer, p_upto pg_lsn, p_number bigint, OUT timeline integer, OUT left_at pg_lsn, OUT lost_bytes numeric, OUT lost_numbers bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.consumer_figures() RETURNS TABLE(name text, partition integer, message_count bigint, lag_messages bigint, lag_seconds double precision, parked_count bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.consumer_holders() RETURNS TABLE(consumer_id integer, partition integer, pid integer, gid text, since timestamp with time zone, application_name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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

CREATE FUNCTION postrider.consumer_lag(p_consumer postrider.consumer, p_partition integer) RETURNS TABLE(message_count bigint, oldest_at timestamp with time zone, blocked_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.consumer_messages(p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span DEFAULT NULL::postrider.tick_span, p_to_xid xid8 DEFAULT NULL::xid8) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) RETURNS TABLE("position" bigint, tick bigint, message_count bigint, lag_messages bigint, lag_seconds double precision, last_fetched_at timestamp with time zone, last_acknowledged_at timestamp with time zone, parked_count bigint, waits_since timestamp with time zone, waits_for_pid integer, waits_for_gid text, waits_for_age interval, waits_for_query text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.consumer_start(p_ordering text, p_start text) RETURNS TABLE(tick bigint, xid xid8, message_id bigint, start_snapshot pg_snapshot, start_id bigint, start_at timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cordon_worker(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_consumer(p_name text, p_event_types text[] DEFAULT NULL::text[], p_filter jsonb DEFAULT NULL::jsonb, p_start text DEFAULT 'beginning'::text, p_ordering text DEFAULT 'commit'::text, p_partitions integer DEFAULT 1) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_delivery_job(p_kind text, p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_event_type(p_name text, p_description text DEFAULT NULL::text, p_schema jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_job(p_kind text, p_endpoint_id integer, p_endpoint_name text, p_filter jsonb, p_rate integer, p_last_id bigint, p_estimate bigint, p_has_more boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_filter jsonb DEFAULT NULL::jsonb, p_rate integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_schedule(p_name text, p_timing text, p_time_zone text DEFAULT 'UTC'::text, p_endpoint_name text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_payload jsonb DEFAULT '{}'::jsonb, p_missed text DEFAULT 'one'::text, p_priority integer DEFAULT 0, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb, p_expires_in interval DEFAULT NULL::interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.create_token(p_name text, p_role text, p_hash bytea, p_expires_in interval DEFAULT NULL::interval) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.cron_field(p_text text, p_field text, p_lowest integer, p_highest integer, p_names text[] DEFAULT '{}'::text[]) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.current_slot() RETURNS smallint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.delivery_end(p_message_id bigint, p_target integer) RETURNS TABLE(status text, at timestamp with time zone, retry_count integer, last_error text)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer DEFAULT NULL::integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.describe_age(p_seconds double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 5
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.describe_schedule(p_schedule postrider.schedule, p_message postrider.schedule_message) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.direct_target(p_endpoint_name text) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.disable_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.dispatch_executions(p_most integer) RETURNS TABLE(execution_id bigint, fence bigint, attempt integer, action text, priority integer, worker_id integer, expires_in_ms bigint, correlation_id uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.dlq_summary() RETURNS TABLE(endpoint_name text, failed_count bigint, redriven_count bigint, oldest_failed_at timestamp with time zone, newest_failed_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.done_before() RETURNS xid8
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.drop_action(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.drop_consumer(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean DEFAULT false, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.drop_event_type(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.drop_old_partitions(p_retention_months integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '10ms';

CREATE FUNCTION postrider.drop_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.drop_worker(p_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.edit_distance(a text, b text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.empty_slot(p_table text, p_slot smallint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.enable_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.enable_fast_mode() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.end_deliveries(p_places tid[], p_verb text, p_reason text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE SEQUENCE postrider.execution_fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

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

CREATE FUNCTION postrider.end_execution(p_live postrider.live_execution, p_status text, p_reason text, p_result jsonb, p_error jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.end_stale_flushes(p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.ended_ceiling() RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.ended_status(p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.enter_generation() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.enter_timeline(p_dispatcher uuid, p_timeline integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.erase_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.erase_letters(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.erase_logged(p_message_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.erase_messages(p_ordering_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_metadata jsonb DEFAULT NULL::jsonb, p_event_type text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.erase_parked(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.error_history(p_message_id bigint, p_target integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.execution_key_holder(p_key text, p_action text, p_parameters jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.execution_queue(p_worker_id integer, p_pool text) RETURNS text
    LANGUAGE sql IMMUTABLE;

CREATE FUNCTION postrider.execution_retry_delay(p_retry integer, p_dice double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.expire_execution(p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.expire_waiting(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off';

CREATE FUNCTION postrider.explain_policy(p_message_id bigint) RETURNS TABLE(endpoint_name text, rule text, policy jsonb, attempt integer, status text, wait_ms bigint, expected_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fail_attempt(p_live postrider.live_execution, p_reason text, p_error jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb DEFAULT NULL::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer DEFAULT 100, p_wait interval DEFAULT NULL::interval, p_partition integer DEFAULT NULL::integer, p_wait_for_holder boolean DEFAULT false) RETURNS TABLE("position" bigint, transaction_id xid8, message_id bigint, message_type text, data jsonb, headers jsonb, metadata jsonb, scheduled timestamp with time zone, tick bigint, created_at timestamp with time zone, ordering_key text, correlation_id uuid, body bytea, content_type text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.fetched_batches(p_consumer postrider.consumer) RETURNS TABLE(partition integer, seq bigint, tick bigint, xid xid8, id bigint, message_count bigint, at timestamp with time zone, is_end boolean)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fire_schedule(p_schedule postrider.schedule, p_at timestamp with time zone) RETURNS postrider.schedule
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.fire_schedules() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '200ms'
    SET jit TO 'off';

CREATE FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_deferred_waited boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_attempt_correlation_ids uuid[], p_attempt_headers jsonb[], p_attempt_bodies bytea[], p_attempt_truncated boolean[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[], p_done_runs smallint[] DEFAULT NULL::smallint[]) RETURNS TABLE(lost smallint[], held_ids bigint[], held_targets integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms';

CREATE FUNCTION postrider.foreign_sign() RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.forget_consumer_rows() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_dead_letters(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_dispatchers() RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_events(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_executions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.forget_idempotency_keys() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_jobs(p_most integer) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_keys_to_nobody(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

CREATE FUNCTION postrider.forget_requests(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.forget_subscriptions(p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off';

CREATE FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

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

CREATE FUNCTION postrider.free_slots(p_action postrider.action) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off';

CREATE FUNCTION postrider.full_id(p_id bigint) RETURNS xid8
    LANGUAGE sql STABLE PARALLEL SAFE;

CREATE FUNCTION postrider.get_endpoint_health(p_endpoint_name text DEFAULT NULL::text) RETURNS TABLE(endpoint_name text, protocol text, enabled boolean, circuit_state text, circuit_failure_count integer, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, pending_messages bigint, oldest_pending_message timestamp with time zone, paused boolean, paused_until timestamp with time zone, probe_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off';

CREATE FUNCTION postrider.get_setting(name text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.get_worker_status() RETURNS TABLE(id uuid, host text, pid integer, version text, shards smallint[], started_at timestamp with time zone, heartbeat_at timestamp with time zone, messages_processed bigint, in_flight integer, error_count bigint, last_error text, clock_offset interval)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.handle_dead_letter(p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s';

CREATE FUNCTION postrider.has_consumer_lock(p_consumer_id integer, p_partition integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 20
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_offset(p_offsets bytea, p_offset integer) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_read_partition(p_consumer postrider.consumer, p_name text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.has_session(p_dispatcher uuid) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_tick_turn(p_table text, p_is_patient boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '50ms';

CREATE FUNCTION postrider.has_unread_messages(p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.has_waiting_messages(p_endpoint_id integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.has_wide_messages() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.health_check() RETURNS TABLE(component text, status text, details text, checked_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off';

CREATE FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb, p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(is_alive boolean, lease_ms bigint, takeable_count integer, share integer, shards smallint[], epochs bigint[], now_us bigint, floor_xid xid8, sequence_floor bigint, other_ids uuid[], other_seqs bigint[], other_lease_ms bigint[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.held_execution(p_execution bigint, p_fence bigint) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.held_worker(p_name text) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.hold_consumer(p_consumer postrider.consumer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '8s';

CREATE FUNCTION postrider.hold_deliveries(p_verb text, p_message_id bigint, p_endpoint_name text) RETURNS TABLE(place tid, target integer, endpoint_name text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.hold_slots(p_action text, p_most integer) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.hurry_transaction() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.idempotency_window() RETURNS interval
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_admin() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_at_end(p_position postrider.consumer_position) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_awaited(p_worker_id integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_base64(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_being_cancelled(p_message_id bigint, p_retry_count integer, p_recovery_count integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_copy() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 10
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_delivery_wanted(p_filter jsonb, p_message_id bigint, p_target integer, p_created_at timestamp with time zone, p_last_error text, p_ordering_key text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_done(p_message_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_erasure_wanted(p_filter jsonb, p_metadata jsonb, p_created_at timestamp with time zone, p_ordering_key text, p_correlation_id uuid, p_event_type text, p_own_metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_generation_left(p_generation integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_header_template(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_http_url(url text, maximum bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_in_hand(p_message_id bigint, p_target integer, p_retry_count integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_letter_wanted(p_filter jsonb, p_failed_at timestamp with time zone, p_last_error text, p_cause text, p_event_type text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_logged(p_message_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_made_void(p_message_id bigint, p_target integer, p_seq bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_marked_full(p_endpoint_id integer, p_size_limit bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_older(p_xmin xid, p_xid xid8) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_operator() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_partition_behind(p_consumer_id integer, p_partition integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_partition_filled(p_consumer postrider.consumer, p_partition integer, p_is_patient boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_partition_finished(p_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_done_before xid8) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_partition_unread(p_consumer postrider.consumer, p_partition integer, p_look integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_private(address inet) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_replicating() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_reserved_header(p_name text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_signing_key(p_key jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_slot_filled(p_table text, p_slot smallint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.is_url_template(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.is_wanted(p_consumer postrider.consumer, p_partition integer, p_id bigint, p_xid xid8, p_created_at timestamp with time zone, p_event_type text, p_ordering_key text, p_payload jsonb) RETURNS boolean
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.is_web_port(port integer) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.keep_answer(p_token_id integer, p_key text, p_status smallint, p_body text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off';

CREATE FUNCTION postrider.keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.keep_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) RETURNS TABLE(created_at timestamp with time zone, correlation_id uuid, priority smallint, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text, replay_of bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.key_mark(p_key text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.key_shard(p_ordering_key text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION postrider.keys_that_sign(p_endpoint_id integer, p_keys jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.known_circuits(p_endpoint_ids integer[], p_with_others boolean) RETURNS TABLE(endpoint_id integer, version bigint, state text, failure_count integer, probe_at timestamp with time zone, probe_owner uuid, is_prober_alive boolean, paused_until timestamp with time zone, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.known_consumer(p_name text) RETURNS postrider.consumer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.known_lanes() RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.known_schedule(p_name text) RETURNS postrider.schedule
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.known_worker(p_worker_id integer, p_epoch integer) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lane_states() RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.lane_tails() RETURNS TABLE(lane smallint, base pg_snapshot, top pg_snapshot, walked bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval DEFAULT '00:00:15'::interval) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

CREATE FUNCTION postrider.leave_out_numbers(p_upto bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s';

CREATE FUNCTION postrider.leaving_worker(p_worker_id integer, p_epoch integer) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.left_kinds() RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET jit TO 'off';

CREATE FUNCTION postrider.left_names() RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.live_dispatchers(p_silent_ids uuid[] DEFAULT '{}'::uuid[], p_silent_seqs bigint[] DEFAULT '{}'::bigint[]) RETURNS SETOF uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.live_worker(p_worker_id integer, p_epoch integer) RETURNS postrider.worker
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.local_time_reached(p_local timestamp without time zone, p_time_zone text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lock_leases(p_consumer postrider.consumer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lock_signing_keys(p_endpoint_name text, p_is_adding boolean, OUT endpoint_id integer, OUT keys jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lock_worker(p_worker postrider.worker, p_is_changed boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '5s';

CREATE FUNCTION postrider.log_ranges() RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET jit TO 'off';

CREATE FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.lowest_id_since(p_xid xid8) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer DEFAULT 3) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s';

CREATE FUNCTION postrider.make_partitions(p_months_ahead integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '20ms';

CREATE FUNCTION postrider.make_signing_key() RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.mark_expired_messages() RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.masked_config(p_config jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.matching_targets(p_patterns text[], p_payload jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.may_act_for(p_role text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER COST 500
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.message_partition(p_ordering_key text, p_id bigint, p_count integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION postrider.message_status(p_message_id bigint) RETURNS TABLE(endpoint_name text, status text, retry_count integer, next_retry_at timestamp with time zone, last_error text, completed_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.metrics() RETURNS TABLE(metric_name text, metric_value double precision, labels jsonb, metric_type text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms'
    SET jit TO 'off';

CREATE FUNCTION postrider.missing_partitions(p_months_ahead integer) RETURNS TABLE(parent text, time_column text, name text, from_at timestamp with time zone, to_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC';

CREATE FUNCTION postrider.needs_archive_upkeep() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

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

CREATE FUNCTION postrider.newest_attempt(p_consumer_id integer, p_partition integer) RETURNS SETOF postrider.consumer_attempt
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.newest_leases(p_consumer_id integer) RETURNS SETOF postrider.consumer_lease
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

CREATE FUNCTION postrider.newest_position(p_consumer_id integer, p_partition integer) RETURNS SETOF postrider.consumer_position
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.next_cron_day(p_days integer[], p_has_last_day boolean, p_months integer[], p_weekdays integer[], p_weekday_places integer[], p_needs_both boolean, p_from date) RETURNS date
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.next_cron_firing(p_cron text, p_time_zone text, p_after timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.next_firing(p_timing text, p_every interval, p_anchor timestamp with time zone, p_time_zone text, p_after timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.next_firings(p_name text, p_count integer DEFAULT 5) RETURNS SETOF timestamp with time zone
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.next_ticks(p_tick bigint, p_after_id bigint, p_look integer, p_settled_tick bigint DEFAULT NULL::bigint, p_has_own boolean DEFAULT true) RETURNS TABLE(to_tick bigint, tick_count bigint, span postrider.tick_span)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.note_actor() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_broker(p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_clock_jump() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_fetch(p_consumer_id integer, p_partition integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_page(p_consumer_id integer, p_partition integer, p_seq bigint, p_tick bigint, p_xid xid8, p_id bigint, p_count bigint, p_is_end boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_published(p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.note_signing_keys(p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.note_token_use(p_id integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

CREATE FUNCTION postrider.note_verb(p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.notification_queue_usage() RETURNS double precision
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.number_distance(p_from bigint, p_to bigint) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.open_snapshot() RETURNS pg_snapshot
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.open_transactions(p_limit integer) RETURNS TABLE(kind text, pid integer, gid text, database text, state text, application_name text, age double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.overdue_deliveries() RETURNS TABLE(endpoint_name text, kind text, since timestamp with time zone, is_moving boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.parse_cron(p_cron text, OUT minutes integer[], OUT hours integer[], OUT days integer[], OUT has_last_day boolean, OUT months integer[], OUT weekdays integer[], OUT weekday_places integer[], OUT is_fixed boolean, OUT needs_both boolean) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.partition_horizons() RETURNS TABLE(table_name text, horizon interval, width interval, has_default_rows boolean)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.partition_months_ahead() RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pass_generation() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pass_unwanted(p_position postrider.consumer_position, p_to_tick bigint, p_span postrider.tick_span, p_look integer, p_to_xid xid8) RETURNS postrider.consumer_position
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.passed_ticks(p_tick bigint) RETURNS int8multirange
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pause_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pause_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.peek_messages(p_consumer text, p_limit integer DEFAULT 100, p_after_tick bigint DEFAULT NULL::bigint, p_after_transaction xid8 DEFAULT NULL::xid8, p_after_message bigint DEFAULT NULL::bigint) RETURNS TABLE("position" bigint, partition integer, transaction_id xid8, message_id bigint, message_type text, data jsonb, headers jsonb, metadata jsonb, scheduled timestamp with time zone, tick bigint, created_at timestamp with time zone, ordering_key text, correlation_id uuid, body bytea, content_type text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.pending_deliveries() RETURNS TABLE(endpoint_id integer, delivery_count double precision, oldest_at timestamp with time zone, passed_since timestamp with time zone, unread double precision, unread_oldest_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pending_floor() RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.phased_waits(policy jsonb) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.pool_figures() RETURNS TABLE(pool text, active_count bigint, busy_count bigint, inactive_count bigint, cordoned_count bigint, error_count bigint, capacity bigint, free_capacity bigint, waiting_count bigint, is_waiting_in_pool boolean, scheduled_count bigint, running_count bigint, oldest_waiting_at timestamp with time zone, oldest_scheduled_at timestamp with time zone, overdue_count bigint, mean_duration double precision, scaling_signal double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.pool_workers(p_pool text) RETURNS TABLE(worker_id integer, carrier text, health_rank integer, free_capacity bigint)
    LANGUAGE plpgsql ROWS 10
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.prepare_endpoint() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.prepare_event_type() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.prepare_setting() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.prepare_subscription() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.probe_worker(p_worker_id integer) RETURNS TABLE(health text, failure_streak integer, failure_rate real, queue_depth integer)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.publish_batch(p_events jsonb) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.publish_dead_letters(p_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC';

CREATE FUNCTION postrider.publish_execution_end(p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC';

CREATE FUNCTION postrider.queue_base() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.read_partition(p_consumer postrider.consumer, p_partition integer, p_limit integer) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.rebase_executions() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'auto'
    SET enable_seqscan TO 'on'
    SET enable_bitmapscan TO 'on';

CREATE FUNCTION postrider.rebase_log() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'auto'
    SET enable_seqscan TO 'on'
    SET enable_bitmapscan TO 'on'
    SET enable_hashjoin TO 'on'
    SET enable_mergejoin TO 'on';

CREATE FUNCTION postrider.recheck_idempotency_keys(p_after bigint, p_most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off';

CREATE FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[], p_spared_targets integer[] DEFAULT NULL::integer[]) RETURNS TABLE(recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean, p_spared_ids bigint[] DEFAULT '{}'::bigint[], p_spared_targets integer[] DEFAULT '{}'::integer[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms';

CREATE FUNCTION postrider.recover_waiting(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) RETURNS TABLE(recovered integer, held_ids bigint[], held_targets integer[], held_retry_counts integer[])
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms';

CREATE FUNCTION postrider.recover_worker(p_worker postrider.worker, p_reason text, p_is_leaving boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.redrive_all(p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.redrive_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.redrive_letters(p_ids bigint[], p_by text, p_from timestamp with time zone, p_gap interval) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.redrive_matching(p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_cause text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.redrive_message(p_dlq_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_copy() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_endpoint(p_endpoint_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_full_endpoint(p_endpoint_name text, p_count bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_held_worker(p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_living_worker(p_worker_id integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.refuse_log_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.register_worker(p_name text, p_pool text DEFAULT 'default'::text, p_capacity integer DEFAULT 1, p_labels jsonb DEFAULT '{}'::jsonb, p_version text DEFAULT NULL::text, p_host text DEFAULT NULL::text, p_carrier text DEFAULT NULL::text) RETURNS TABLE(worker_id integer, epoch integer, heartbeat_interval interval, stale_after interval)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '5s';

CREATE FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.release_keys(p_ordering_keys text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off';

CREATE FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.release_slot(p_live postrider.live_execution) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.replay_message(p_archive_message_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.reserve_generation(p_generation integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.reset_consumer(p_name text, p_start text DEFAULT 'beginning'::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off';

CREATE FUNCTION postrider.reset_setting(name text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.resolve_parked_message(p_parked_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.restart_number(p_last bigint, p_margin bigint, p_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.resume_endpoint(p_endpoint_name text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.resume_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retention_holders() RETURNS TABLE(partition_name text, since timestamp with time zone, consumer_name text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "TimeZone" TO 'UTC';

CREATE FUNCTION postrider.retire_endpoint(p_endpoint_id integer, p_reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '100ms';

CREATE FUNCTION postrider.retire_failing_endpoints() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval DEFAULT '00:00:00'::interval) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retire_signing_keys() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.retry_execution(p_execution bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_phases(policy jsonb) RETURNS TABLE(retries_with_no_delay bigint, minimum_delay_retries bigint, minimum_delay bigint, maximum_delay bigint, maximum_delay_retries bigint, curve text, has_fixed_step boolean, backoff_retries bigint)
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_policy_form(policy jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_policy_keys() RETURNS TABLE(form text, name text, kind text, minimum integer, maximum integer, choices text[])
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.retry_waits(policy jsonb, place text DEFAULT 'endpoint'::text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.return_execution(p_live postrider.live_execution, p_to_pool boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.revoke_token(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.ring(p_channel text, p_message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.ring_workers(p_queue text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.roll_up_executions(p_most integer, p_pause interval DEFAULT '00:00:00'::interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval DEFAULT '24:00:00'::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.rotate_slots() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.save_circuits(p_dispatcher uuid, p_endpoint_ids integer[], p_versions bigint[], p_next_versions bigint[], p_states text[], p_failure_counts integer[], p_probe_at timestamp with time zone[], p_probers uuid[], p_paused_until timestamp with time zone[], p_last_success_at timestamp with time zone[], p_last_failure_at timestamp with time zone[], p_failing_since timestamp with time zone[], p_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(endpoint_id integer, is_saved boolean, version bigint, state text, failure_count integer, probe_at timestamp with time zone, probe_owner uuid, is_prober_alive boolean, paused_until timestamp with time zone, last_success_at timestamp with time zone, last_failure_at timestamp with time zone, failing_since timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) RETURNS smallint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '500ms';

CREATE FUNCTION postrider.schedule_executions(p_worker postrider.worker, p_limit integer, p_pool_limit integer) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.schedule_queue(p_worker postrider.worker, p_queue text, p_limit integer, p_reserved integer, p_reserved_from timestamp with time zone) RETURNS SETOF postrider.live_execution
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.send(endpoint_name text, payload jsonb) RETURNS bigint
    LANGUAGE sql;

CREATE FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) RETURNS bigint[]
    LANGUAGE sql;

CREATE FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer DEFAULT 0) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.send_scheduled(p_name text, p_message postrider.schedule_message, p_fired_for timestamp with time zone, p_at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer DEFAULT 0, p_scheduled_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ordering_key text DEFAULT NULL::text, p_headers jsonb DEFAULT NULL::jsonb, p_metadata jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.set_action(p_name text, p_ttl interval DEFAULT NULL::interval, p_timeout interval DEFAULT NULL::interval, p_max_retries integer DEFAULT NULL::integer, p_priority integer DEFAULT NULL::integer, p_concurrency integer DEFAULT NULL::integer, p_description text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.set_setting(name text, value text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.shard_count() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION postrider.shard_reports() RETURNS TABLE(dispatcher uuid, at timestamp with time zone, share double precision, statistics jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.signing_key_id(p_key text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text DEFAULT NULL::text, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_pattern text DEFAULT NULL::text, p_event_type text DEFAULT NULL::text, p_ordering_key text DEFAULT NULL::text, p_rate integer DEFAULT NULL::integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.standing_claims(p_owners uuid[], p_shards smallint[], p_message_ids bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(message_id bigint, target integer, retry_count integer)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET enable_mergejoin TO 'off'
    SET enable_nestloop TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, max_retries integer, deadline_at timestamp with time zone, timeout interval, correlation_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb DEFAULT '{}'::jsonb, p_worker text DEFAULT NULL::text, p_pool text DEFAULT NULL::text, p_ttl interval DEFAULT NULL::interval, p_timeout interval DEFAULT NULL::interval, p_priority integer DEFAULT NULL::integer, p_max_retries integer DEFAULT NULL::integer, p_idempotency_key text DEFAULT NULL::text, p_correlation_id uuid DEFAULT NULL::uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb DEFAULT NULL::jsonb, p_options jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.switch_all_endpoints(p_paused boolean, OUT switched_count bigint, OUT held text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.switch_endpoint(p_endpoint_name text, p_enabled boolean, p_paused boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.switch_worker(p_name text, p_is_cordoned boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.system_identifier() RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.take_at_once(p_worker integer, p_limit integer, p_epoch integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, priority integer, expires_at timestamp with time zone, correlation_id uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.take_chore(p_name text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.take_executions(p_worker integer, p_limit integer DEFAULT 1, p_wait interval DEFAULT NULL::interval, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, action text, parameters jsonb, attempt integer, priority integer, expires_at timestamp with time zone, correlation_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 100
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.take_out_of_attempts(p_message_ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.take_out_of_letters(p_ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.take_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[] DEFAULT NULL::uuid[], p_silent_seqs bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(shard smallint, epoch bigint, last_owner uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET lock_timeout TO '1s';

CREATE FUNCTION postrider.take_tokens(p_endpoint_ids integer[], p_wanted integer[], p_rates integer[], p_bursts integer[]) RETURNS TABLE(endpoint_id integer, granted integer, wait_ms integer)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.target_names() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.tell_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.tell_deliveries(p_verb text, p_message_ids bigint[], p_targets integer[], p_reason text, p_from timestamp with time zone, p_gap interval, OUT told_count bigint, OUT held_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'on'
    SET jit TO 'off';

CREATE FUNCTION postrider.tick() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.tick_content(p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer) RETURNS TABLE(message_count integer, first_id bigint, last_id bigint, from_at timestamp with time zone, to_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off';

CREATE FUNCTION postrider.tick_messages(p_tick bigint, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span DEFAULT NULL::postrider.tick_span) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.timeline_end(p_former integer, p_present integer) RETURNS pg_lsn
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.timing_interval(p_timing text) RETURNS interval
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET "IntervalStyle" TO 'postgres';

CREATE FUNCTION postrider.trade_places(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_lent_endpoint_ids integer[], p_lent_shards smallint[], p_borrowers uuid[], p_returned_endpoint_ids integer[], p_returned_shards smallint[], p_asked_endpoint_ids integer[], p_asked_parts integer[]) RETURNS TABLE(endpoint_id integer, shard smallint, is_borrowed boolean)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.transaction_messages(p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8 DEFAULT NULL::xid8) RETURNS TABLE(tick bigint, id bigint, xid xid8, created_at timestamp with time zone, scheduled_at timestamp with time zone, correlation_id uuid, event_type text, ordering_key text, headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.uncancelled(p_places tid[], OUT free tid[], OUT under_way_count bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.uncordon_worker(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.unread_messages() RETURNS TABLE(endpoint_id integer, delivery_count double precision, oldest_at timestamp with time zone, due_since timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.unsubscribe(p_subscription_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.update_full_endpoints() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.update_gate() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.url_origin(url text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp';

CREATE FUNCTION postrider.use_up_numbers(p_upto bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.validate_retry_policy(policy jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.visible_messages(p_xid xid8, p_after_id bigint, p_look integer) RETURNS TABLE(id bigint, xid xid8, created_at timestamp with time zone, event_type text, ordering_key text, payload jsonb)
    LANGUAGE sql STABLE;

CREATE FUNCTION postrider.was_taken_back(p_message_id bigint, p_targets integer[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp';

CREATE FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer DEFAULT NULL::integer) RETURNS TABLE(execution_id bigint, fence bigint, status text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET enable_seqscan TO 'off';

CREATE FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer DEFAULT NULL::integer, p_error text DEFAULT NULL::text) RETURNS TABLE(execution_id bigint, fence bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off';

CREATE FUNCTION postrider.worker_room(p_worker postrider.worker, p_queue text, p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'postrider', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off';

ALTER TABLE postrider.action ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.action_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.action_slot (
    action_id integer NOT NULL,
    slot smallint NOT NULL,
    CONSTRAINT action_slot_slot_check CHECK (((slot >= 1) AND (slot <= 10000)))
);

CREATE TABLE postrider.api_request (
    token_id integer NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    status smallint,
    body text
);

CREATE TABLE postrider.api_token (
    id integer NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_token_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text, 'producer'::text])))
);

ALTER TABLE postrider.api_token ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.api_token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

CREATE VIEW postrider.archive (
    id bigint,
    endpoint_name text,
    event_type text,
    status text,
    payload jsonb,
    body bytea,
    content_type text,
    retry_count integer,
    last_error text,
    priority smallint,
    scheduled_at timestamp with time zone,
    idempotency_key text,
    correlation_id uuid,
    expires_at timestamp with time zone,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    created_at timestamp with time zone,
    ended_at timestamp with time zone,
    completed_at timestamp with time zone,
    failed_at timestamp with time zone,
    target integer,
    replay_of bigint
);

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
    has_limit boolean GENERATED ALWAYS AS ((config ? 'max_queue_size'::text)) STORED NOT NULL,
    CONSTRAINT endpoints_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$'::text)),
    CONSTRAINT endpoints_paused_with_all CHECK ((paused OR (NOT is_paused_with_all)))
);

CREATE VIEW postrider.attempts (
    message_id bigint,
    endpoint_name text,
    target integer,
    attempt integer,
    started_at timestamp with time zone,
    duration_ms integer,
    outcome text,
    status integer,
    error text,
    correlation_id uuid,
    response_content_type text,
    response_headers jsonb,
    response_body bytea,
    response_truncated boolean
);

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

CREATE VIEW postrider.blocked_keys (
    ordering_key text,
    endpoint_name text,
    blocked_count bigint,
    blocking_message_id bigint,
    blocked_since timestamp with time zone,
    age interval,
    cause text,
    last_error text
);

CREATE TABLE postrider.broker_report (
    process text NOT NULL,
    at timestamp with time zone NOT NULL,
    is_connected boolean NOT NULL,
    dead_letter_depth bigint,
    error text
)
WITH (fillfactor='50');

CREATE TABLE postrider.cancel_bucket (
    bucket smallint NOT NULL
);

CREATE SEQUENCE postrider.cancel_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE postrider.cancellation (
    message_id bigint NOT NULL,
    target integer NOT NULL
);

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

CREATE TABLE postrider.checkpoint_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

CREATE TABLE postrider.checkpoint_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

CREATE TABLE postrider.checkpoint_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    shards smallint[] NOT NULL,
    done_xmin xid8 NOT NULL,
    backlogs bigint[] NOT NULL,
    state jsonb NOT NULL
);

CREATE TABLE postrider.chore (
    name text NOT NULL
);

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

CREATE TABLE postrider.claim (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
)
PARTITION BY LIST (slot);

CREATE TABLE postrider.claim_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

CREATE TABLE postrider.claim_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

CREATE TABLE postrider.claim_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    owner uuid NOT NULL,
    message_ids bigint[] NOT NULL,
    targets integer[] NOT NULL,
    retry_counts integer[] NOT NULL
);

ALTER TABLE postrider.clock_jump ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.clock_jump_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE postrider.consumer ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.consumer_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.consumer_lock (
    consumer_id integer NOT NULL,
    partition smallint NOT NULL,
    CONSTRAINT consumer_lock_partition_check CHECK (((partition >= '-1'::integer) AND (partition <= 63)))
);

CREATE VIEW postrider.consumers (
    id integer,
    name text,
    ordering text,
    event_types text[],
    filter jsonb,
    partition integer,
    partition_count integer,
    channel text,
    "position" bigint,
    tick bigint,
    message_count bigint,
    lag_messages bigint,
    lag_seconds double precision,
    last_fetched_at timestamp with time zone,
    last_acknowledged_at timestamp with time zone,
    holder_pid integer,
    holder_since timestamp with time zone,
    holder_application text,
    leased_to uuid,
    lease_until timestamp with time zone,
    parked_count bigint,
    waits_since timestamp with time zone,
    waits_for_pid integer,
    waits_for_gid text,
    waits_for_age interval,
    waits_for_query text,
    created_at timestamp with time zone
);

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

CREATE VIEW postrider.dead_letter_figures (
    hour timestamp with time zone,
    worker text,
    worker_id integer,
    action text,
    reason text,
    outcome text,
    carrier text,
    letter_count bigint
);

ALTER TABLE postrider.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.dead_letter_total (
    outcome text NOT NULL,
    letter_count bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE postrider.dispatcher (
    id uuid NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE VIEW postrider.dlq (
    id bigint,
    message_id bigint,
    endpoint_name text,
    status text,
    cause text,
    retry_count integer,
    last_error text,
    error_history jsonb,
    failed_at timestamp with time zone,
    redriven_at timestamp with time zone,
    redriven_by text,
    created_at timestamp with time zone,
    correlation_id uuid,
    priority smallint,
    event_type text,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    payload jsonb,
    body bytea,
    content_type text,
    target integer
);

CREATE TABLE postrider.done (
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    offsets bytea NOT NULL,
    run smallint
)
PARTITION BY RANGE (at);

CREATE TABLE postrider.done_default (
    bucket bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    offsets bytea NOT NULL,
    run smallint
);

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

CREATE TABLE postrider.endpoint_secret (
    endpoint_id integer NOT NULL,
    config jsonb NOT NULL,
    set_at jsonb DEFAULT '{}'::jsonb NOT NULL
);

CREATE VIEW postrider.endpoint_configs (
    id integer,
    endpoint_name text,
    protocol text,
    config jsonb,
    secrets_set_at jsonb
);

ALTER TABLE postrider.endpoints ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.endpoints_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.event_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    event text NOT NULL,
    endpoint_name text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE postrider.event_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.event_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE postrider.event_types ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.event_types_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

ALTER TABLE postrider.execution_dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW postrider.execution_dead_letters (
    id bigint,
    at timestamp with time zone,
    outcome text,
    carrier text,
    execution_id bigint,
    attempt integer,
    worker text,
    worker_id integer,
    action text,
    reason text,
    x_death jsonb,
    body bytea,
    details jsonb
);

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

ALTER TABLE postrider.execution_end ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_end_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

CREATE VIEW postrider.execution_figures (
    hour timestamp with time zone,
    pool text,
    action text,
    worker text,
    worker_id integer,
    completed_count bigint,
    failed_count bigint,
    timeout_count bigint,
    cancelled_count bigint,
    retried_count bigint,
    released_count bigint,
    mean_duration interval,
    mean_waiting interval
);

CREATE TABLE postrider.execution_generation (
    id integer NOT NULL,
    begins_after bigint NOT NULL,
    ends_with bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

ALTER TABLE postrider.execution ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.execution_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.execution_rollup (
    is_only_row boolean DEFAULT true NOT NULL,
    horizon xid8 DEFAULT '0'::xid8 NOT NULL,
    at timestamp with time zone,
    CONSTRAINT execution_rollup_is_only_row_check CHECK (is_only_row)
);

CREATE TABLE postrider.execution_total (
    pool text NOT NULL,
    action text NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    attempt_count bigint NOT NULL,
    ended_count bigint NOT NULL
)
WITH (fillfactor='50');

CREATE VIEW postrider.executions (
    id bigint,
    action text,
    parameters jsonb,
    status text,
    addressed_to text,
    pool text,
    worker text,
    priority integer,
    ttl interval,
    timeout interval,
    attempt integer,
    max_retries integer,
    retry_reason text,
    original_execution bigint,
    reason text,
    result jsonb,
    error jsonb,
    created_at timestamp with time zone,
    requested_at timestamp with time zone,
    scheduled_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    expires_at timestamp with time zone,
    deadline_at timestamp with time zone,
    retry_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    correlation_id uuid,
    idempotency_key text
);

CREATE TABLE postrider.fence (
);

CREATE TABLE postrider.full_endpoint (
    endpoint_id integer NOT NULL,
    size_limit bigint NOT NULL
);

CREATE TABLE postrider.generation_lock_0 (
);

CREATE TABLE postrider.generation_lock_1 (
);

CREATE TABLE postrider.generation_lock_10 (
);

CREATE TABLE postrider.generation_lock_11 (
);

CREATE TABLE postrider.generation_lock_12 (
);

CREATE TABLE postrider.generation_lock_13 (
);

CREATE TABLE postrider.generation_lock_14 (
);

CREATE TABLE postrider.generation_lock_15 (
);

CREATE TABLE postrider.generation_lock_16 (
);

CREATE TABLE postrider.generation_lock_17 (
);

CREATE TABLE postrider.generation_lock_18 (
);

CREATE TABLE postrider.generation_lock_19 (
);

CREATE TABLE postrider.generation_lock_2 (
);

CREATE TABLE postrider.generation_lock_20 (
);

CREATE TABLE postrider.generation_lock_21 (
);

CREATE TABLE postrider.generation_lock_22 (
);

CREATE TABLE postrider.generation_lock_23 (
);

CREATE TABLE postrider.generation_lock_24 (
);

CREATE TABLE postrider.generation_lock_25 (
);

CREATE TABLE postrider.generation_lock_26 (
);

CREATE TABLE postrider.generation_lock_27 (
);

CREATE TABLE postrider.generation_lock_28 (
);

CREATE TABLE postrider.generation_lock_29 (
);

CREATE TABLE postrider.generation_lock_3 (
);

CREATE TABLE postrider.generation_lock_30 (
);

CREATE TABLE postrider.generation_lock_31 (
);

CREATE TABLE postrider.generation_lock_4 (
);

CREATE TABLE postrider.generation_lock_5 (
);

CREATE TABLE postrider.generation_lock_6 (
);

CREATE TABLE postrider.generation_lock_7 (
);

CREATE TABLE postrider.generation_lock_8 (
);

CREATE TABLE postrider.generation_lock_9 (
);

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

CREATE TABLE postrider.idempotency_key (
    destination integer NOT NULL,
    key text NOT NULL,
    message_id bigint NOT NULL,
    payload_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone
);

CREATE TABLE postrider.identity (
    singleton boolean DEFAULT true NOT NULL,
    system_identifier bigint,
    database_oid oid NOT NULL,
    relation_oid oid NOT NULL,
    mark xid,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT identity_singleton_check CHECK (singleton)
);

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

ALTER TABLE postrider.job ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW postrider.jobs (
    id bigint,
    kind text,
    endpoint_name text,
    filter jsonb,
    rate integer,
    state text,
    done_count bigint,
    held_count bigint,
    estimate bigint,
    has_more boolean,
    created_by text,
    created_at timestamp with time zone,
    finished_at timestamp with time zone,
    last_error text
);

CREATE SEQUENCE postrider.oldest_generation
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE VIEW postrider.live_generation (
    id integer
);

CREATE TABLE postrider.loan (
    endpoint_id integer NOT NULL,
    shard smallint NOT NULL,
    borrower uuid NOT NULL
);

CREATE TABLE postrider.log_change (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

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

CREATE SEQUENCE postrider.message_gate
    START WITH 0
    INCREMENT BY 1
    MINVALUE 0
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE postrider.message_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE postrider.migration (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE postrider.number_gap (
    after_number bigint NOT NULL,
    last_number bigint NOT NULL,
    CONSTRAINT number_gap_check CHECK ((last_number > after_number))
);

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

ALTER TABLE postrider.parked_message ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.parked_message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW postrider.parked_messages (
    id bigint,
    consumer_name text,
    "position" bigint,
    message_id bigint,
    transaction_id xid8,
    tick bigint,
    partition integer,
    attempt_count integer,
    last_error text,
    parked_at timestamp with time zone,
    created_at timestamp with time zone,
    message_type text,
    data jsonb,
    headers jsonb,
    metadata jsonb,
    scheduled timestamp with time zone,
    ordering_key text,
    correlation_id uuid,
    body bytea,
    content_type text
);

CREATE VIEW postrider.partitions (
    name text,
    table_name text,
    time_column text,
    from_at timestamp with time zone,
    to_at timestamp with time zone
);

CREATE TABLE postrider.partly_done (
    message_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    targets integer[] NOT NULL
)
PARTITION BY RANGE (at);

CREATE TABLE postrider.partly_done_default (
    message_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    targets integer[] NOT NULL
);

CREATE VIEW postrider.pools (
    pool text,
    active_count bigint,
    busy_count bigint,
    inactive_count bigint,
    cordoned_count bigint,
    error_count bigint,
    capacity bigint,
    free_capacity bigint,
    waiting_count bigint,
    scheduled_count bigint,
    running_count bigint,
    oldest_waiting_at timestamp with time zone,
    oldest_scheduled_at timestamp with time zone,
    overdue_count bigint,
    mean_duration interval,
    scaling_signal double precision
);

CREATE SEQUENCE postrider.present_generation
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE VIEW postrider.queue (
    id bigint,
    endpoint_name text,
    event_type text,
    status text,
    payload jsonb,
    body bytea,
    content_type text,
    retry_count integer,
    next_retry_at timestamp with time zone,
    last_error text,
    priority smallint,
    scheduled_at timestamp with time zone,
    idempotency_key text,
    correlation_id uuid,
    expires_at timestamp with time zone,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    created_at timestamp with time zone,
    target integer,
    replay_of bigint
);

CREATE TABLE postrider.rate_grant (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL,
    granted_at timestamp with time zone
)
PARTITION BY LIST (slot);

CREATE TABLE postrider.rate_grant_0 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL,
    granted_at timestamp with time zone
);

CREATE TABLE postrider.rate_grant_1 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL,
    granted_at timestamp with time zone
);

CREATE TABLE postrider.rate_grant_2 (
    slot smallint NOT NULL,
    seq bigint DEFAULT nextval('postrider.rotation_sequence'::regclass) NOT NULL,
    endpoint_id integer NOT NULL,
    used_until timestamp with time zone NOT NULL,
    granted_at timestamp with time zone
);

CREATE TABLE postrider.rate_turn (
    endpoint_id integer NOT NULL
);

ALTER TABLE postrider.replay ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.replay_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW postrider.replays (
    id bigint,
    endpoint_name text,
    state text,
    from_ts timestamp with time zone,
    to_ts timestamp with time zone,
    status text,
    event_type text,
    filter jsonb,
    rate integer,
    replayed_count bigint,
    progress numeric,
    created_by text,
    created_at timestamp with time zone,
    finished_at timestamp with time zone,
    last_error text
);

CREATE TABLE postrider.rewind (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    lost_bytes numeric NOT NULL,
    lost_numbers bigint NOT NULL,
    highest_number bigint NOT NULL
);

ALTER TABLE postrider.rewind ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.rewind_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.rotation (
    is_only_row boolean DEFAULT true NOT NULL,
    slot smallint NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT rotation_is_only_row_check CHECK (is_only_row),
    CONSTRAINT rotation_slot_check CHECK (((slot >= 0) AND (slot <= 2)))
);

ALTER TABLE postrider.schedule ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.schedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW postrider.schedules (
    id integer,
    name text,
    timing text,
    time_zone text,
    endpoint_name text,
    event_type text,
    missed text,
    status text,
    next_at timestamp with time zone,
    last_at timestamp with time zone,
    last_message_id bigint,
    fired_count bigint,
    paused_at timestamp with time zone,
    failed_since timestamp with time zone,
    failure_count integer,
    last_error_code text,
    last_error text,
    created_at timestamp with time zone,
    created_by text,
    payload jsonb,
    priority integer,
    ordering_key text,
    headers jsonb,
    metadata jsonb,
    expires_in interval
);

CREATE TABLE postrider.shard (
    shard smallint NOT NULL,
    owner uuid,
    epoch bigint DEFAULT 0 NOT NULL,
    unrecovered uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT shard_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

CREATE TABLE postrider.signing_key (
    endpoint_id integer NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    public_key text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retires_at timestamp with time zone,
    is_hidden boolean DEFAULT false NOT NULL,
    CONSTRAINT signing_key_kind_check CHECK ((kind = ANY (ARRAY['v1'::text, 'v1a'::text, 'raw'::text])))
);

CREATE VIEW postrider.signing_keys (
    endpoint text,
    id text,
    kind text,
    created_at timestamp with time zone,
    retires_at timestamp with time zone,
    public_key text,
    can_be_revealed boolean
);

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

ALTER TABLE postrider.subscriptions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

CREATE SEQUENCE postrider.tick_epoch
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE postrider.tick_passing (
);

CREATE SEQUENCE postrider.tick_sequence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE postrider.tick_turn (
);

CREATE TABLE postrider.timeline (
    singleton boolean DEFAULT true NOT NULL,
    number integer NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT timeline_singleton_check CHECK (singleton)
);

CREATE VIEW postrider.tokens (
    id integer,
    name text,
    role text,
    status text,
    created_at timestamp with time zone,
    created_by text,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone
);

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

ALTER TABLE postrider.worker ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.worker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE postrider.worker_lock (
    worker_id integer NOT NULL
);

CREATE VIEW postrider.workers (
    id integer,
    name text,
    pool text,
    status text,
    health text,
    carrier text,
    capacity integer,
    scheduled_count bigint,
    running_count bigint,
    failure_streak integer,
    failure_rate real,
    queue_depth integer,
    labels jsonb,
    version text,
    host text,
    last_error text,
    epoch integer,
    cordoned_at timestamp with time zone,
    registered_at timestamp with time zone,
    heartbeat_at timestamp with time zone,
    created_at timestamp with time zone
);

ALTER TABLE ONLY postrider.attempt ATTACH PARTITION postrider.attempt_default DEFAULT;
ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_0 FOR VALUES IN ('0');
ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_1 FOR VALUES IN ('1');
ALTER TABLE ONLY postrider.checkpoint ATTACH PARTITION postrider.checkpoint_2 FOR VALUES IN ('2');
ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_0 FOR VALUES IN ('0');
ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_1 FOR VALUES IN ('1');
ALTER TABLE ONLY postrider.claim ATTACH PARTITION postrider.claim_2 FOR VALUES IN ('2');
ALTER TABLE ONLY postrider.done ATTACH PARTITION postrider.done_default DEFAULT;
ALTER TABLE ONLY postrider.ended ATTACH PARTITION postrider.ended_default DEFAULT;
ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_0 FOR VALUES IN ('0');
ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_1 FOR VALUES IN ('1');
ALTER TABLE ONLY postrider.heartbeat ATTACH PARTITION postrider.heartbeat_2 FOR VALUES IN ('2');
ALTER TABLE ONLY postrider.message ATTACH PARTITION postrider.message_default DEFAULT;
ALTER TABLE ONLY postrider.partly_done ATTACH PARTITION postrider.partly_done_default DEFAULT;
ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_0 FOR VALUES IN ('0');
ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_1 FOR VALUES IN ('1');
ALTER TABLE ONLY postrider.rate_grant ATTACH PARTITION postrider.rate_grant_2 FOR VALUES IN ('2');
ALTER TABLE ONLY postrider.tick ATTACH PARTITION postrider.tick_default DEFAULT;

ALTER TABLE ONLY postrider.action
    ADD CONSTRAINT action_pkey PRIMARY KEY (name);

ALTER TABLE ONLY postrider.action_slot
    ADD CONSTRAINT action_slot_pkey PRIMARY KEY (action_id, slot);

ALTER TABLE ONLY postrider.api_request
    ADD CONSTRAINT api_request_pkey PRIMARY KEY (token_id, key);

ALTER TABLE ONLY postrider.api_token
    ADD CONSTRAINT api_token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.broker_report
    ADD CONSTRAINT broker_report_pkey PRIMARY KEY (process);

ALTER TABLE ONLY postrider.cancel_bucket
    ADD CONSTRAINT cancel_bucket_pkey PRIMARY KEY (bucket);

ALTER TABLE ONLY postrider.cancellation
    ADD CONSTRAINT cancellation_pkey PRIMARY KEY (message_id, target);

ALTER TABLE ONLY postrider.chore
    ADD CONSTRAINT chore_pkey PRIMARY KEY (name);

ALTER TABLE ONLY postrider.circuit
    ADD CONSTRAINT circuit_pkey PRIMARY KEY (endpoint_id);

ALTER TABLE ONLY postrider.clock_jump
    ADD CONSTRAINT clock_jump_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.consumer_lock
    ADD CONSTRAINT consumer_lock_pkey PRIMARY KEY (consumer_id, partition);

ALTER TABLE ONLY postrider.consumer
    ADD CONSTRAINT consumer_name_key UNIQUE (name);

ALTER TABLE ONLY postrider.consumer
    ADD CONSTRAINT consumer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.dead_letter_statistics
    ADD CONSTRAINT dead_letter_statistics_pkey PRIMARY KEY (hour, worker_id, action, reason, outcome, carrier);

ALTER TABLE ONLY postrider.dead_letter_total
    ADD CONSTRAINT dead_letter_total_pkey PRIMARY KEY (outcome);

ALTER TABLE ONLY postrider.deferred
    ADD CONSTRAINT deferred_pkey PRIMARY KEY (message_id, target);

ALTER TABLE ONLY postrider.dispatcher
    ADD CONSTRAINT dispatcher_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.endpoint_secret
    ADD CONSTRAINT endpoint_secret_pkey PRIMARY KEY (endpoint_id);

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_direct_subscription_id_key UNIQUE (direct_subscription_id);

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_name_key UNIQUE (name);

ALTER TABLE ONLY postrider.endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.event_types
    ADD CONSTRAINT event_types_name_key UNIQUE (name);

ALTER TABLE ONLY postrider.event_types
    ADD CONSTRAINT event_types_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.execution_dead_letter
    ADD CONSTRAINT execution_dead_letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.execution_end
    ADD CONSTRAINT execution_end_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.execution_generation
    ADD CONSTRAINT execution_generation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.execution_rollup
    ADD CONSTRAINT execution_rollup_pkey PRIMARY KEY (is_only_row);

ALTER TABLE ONLY postrider.execution_statistics
    ADD CONSTRAINT execution_statistics_pkey PRIMARY KEY (hour, pool, action, worker_id, status, reason);

ALTER TABLE ONLY postrider.execution_total
    ADD CONSTRAINT execution_total_pkey PRIMARY KEY (pool, action, status, reason);

ALTER TABLE ONLY postrider.full_endpoint
    ADD CONSTRAINT full_endpoint_pkey PRIMARY KEY (endpoint_id, size_limit);

ALTER TABLE ONLY postrider.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (destination, key);

ALTER TABLE ONLY postrider.identity
    ADD CONSTRAINT identity_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY postrider.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY postrider.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.live_execution
    ADD CONSTRAINT live_execution_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.loan
    ADD CONSTRAINT loan_pkey PRIMARY KEY (endpoint_id, shard);

ALTER TABLE ONLY postrider.log_change
    ADD CONSTRAINT log_change_pkey PRIMARY KEY (xid);

ALTER TABLE ONLY postrider.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY postrider.number_gap
    ADD CONSTRAINT number_gap_pkey PRIMARY KEY (after_number);

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_consumer_id_message_id_key UNIQUE (consumer_id, message_id);

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.rate_turn
    ADD CONSTRAINT rate_turn_pkey PRIMARY KEY (endpoint_id);

ALTER TABLE ONLY postrider.replay
    ADD CONSTRAINT replay_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.rewind
    ADD CONSTRAINT rewind_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.rotation
    ADD CONSTRAINT rotation_pkey PRIMARY KEY (is_only_row);

ALTER TABLE ONLY postrider.schedule_message
    ADD CONSTRAINT schedule_message_pkey PRIMARY KEY (schedule_id);

ALTER TABLE ONLY postrider.schedule
    ADD CONSTRAINT schedule_name_key UNIQUE (name);

ALTER TABLE ONLY postrider.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (name);

ALTER TABLE ONLY postrider.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY postrider.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (endpoint_id, id);

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY postrider.timeline
    ADD CONSTRAINT timeline_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY postrider.transport_option
    ADD CONSTRAINT transport_option_pkey PRIMARY KEY (protocol, name);

ALTER TABLE ONLY postrider.worker_lock
    ADD CONSTRAINT worker_lock_pkey PRIMARY KEY (worker_id);

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_name_key UNIQUE (name);

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

CREATE INDEX api_request_at ON postrider.api_request USING btree (at);

CREATE UNIQUE INDEX api_token_name ON postrider.api_token USING btree (name) WHERE (revoked_at IS NULL);

CREATE INDEX attempt_message_id ON ONLY postrider.attempt USING btree (message_id, target);
CREATE INDEX attempt_default_message_id_target_idx ON postrider.attempt_default USING btree (message_id, target);
CREATE INDEX checkpoint_seq ON ONLY postrider.checkpoint USING btree (seq);
CREATE INDEX checkpoint_0_seq_idx ON postrider.checkpoint_0 USING btree (seq);
CREATE INDEX checkpoint_1_seq_idx ON postrider.checkpoint_1 USING btree (seq);
CREATE INDEX checkpoint_2_seq_idx ON postrider.checkpoint_2 USING btree (seq);
CREATE INDEX claim_owner ON ONLY postrider.claim USING btree (owner, seq);
CREATE INDEX claim_0_owner_seq_idx ON postrider.claim_0 USING btree (owner, seq);
CREATE INDEX claim_1_owner_seq_idx ON postrider.claim_1 USING btree (owner, seq);
CREATE INDEX claim_2_owner_seq_idx ON postrider.claim_2 USING btree (owner, seq);
CREATE INDEX consumer_attempt_newest ON postrider.consumer_attempt USING btree (consumer_id, partition, seq);
CREATE INDEX consumer_lease_newest ON postrider.consumer_lease USING btree (consumer_id, member, seq);
CREATE INDEX consumer_position_newest ON postrider.consumer_position USING btree (consumer_id, partition, seq);
CREATE INDEX dead_letter_endpoint ON postrider.dead_letter USING btree (endpoint_id, id);
CREATE INDEX dead_letter_endpoint_name ON postrider.dead_letter USING btree (endpoint_name, id);

CREATE UNIQUE INDEX dead_letter_failed ON postrider.dead_letter USING btree (message_id, target) WHERE (status = 'failed'::text);

CREATE INDEX dead_letter_message ON postrider.dead_letter USING btree (message_id, target, id);
CREATE INDEX dead_letter_retention ON postrider.dead_letter USING btree (COALESCE(redriven_at, failed_at));
CREATE INDEX dead_letter_summary ON postrider.dead_letter USING btree (endpoint_name, status, failed_at);
CREATE INDEX deferred_due ON postrider.deferred USING btree (endpoint_id, shard, run_at, ((message_id + 0)));
CREATE INDEX deferred_expires_at ON postrider.deferred USING btree (expires_at, message_id, target) WHERE (expires_at IS NOT NULL);
CREATE INDEX deferred_key ON postrider.deferred USING btree (ordering_key, endpoint_id, message_id) WHERE (ordering_key IS NOT NULL);
CREATE INDEX deferred_key_everywhere ON postrider.deferred USING btree (((ordering_key || ''::text)), message_id) WHERE ((ordering_key || ''::text) IS NOT NULL);
CREATE INDEX done_run ON ONLY postrider.done USING btree (bucket, run);
CREATE INDEX done_default_bucket_run_idx ON postrider.done_default USING btree (bucket, run);
CREATE INDEX ended_message_id ON ONLY postrider.ended USING btree (message_id, target);
CREATE INDEX ended_default_message_id_target_idx ON postrider.ended_default USING btree (message_id, target);
CREATE INDEX endpoints_limited ON postrider.endpoints USING btree (id) WHERE (config ? 'max_queue_size'::text);
CREATE INDEX event_log_at ON postrider.event_log USING btree (at);
CREATE INDEX event_types_retry_policy ON postrider.event_types USING btree (name) WHERE (metadata ? '_retry_policy'::text);
CREATE INDEX execution_dead_letter_at ON postrider.execution_dead_letter USING btree (at);
CREATE INDEX execution_dead_letter_execution ON postrider.execution_dead_letter USING btree (execution_id);
CREATE INDEX execution_dead_letter_xid ON postrider.execution_dead_letter USING btree (xid);
CREATE INDEX execution_end_earlier ON postrider.execution_end USING btree (execution_id) WHERE (NOT is_final);
CREATE INDEX execution_end_ended_at ON postrider.execution_end USING btree (ended_at);

CREATE UNIQUE INDEX execution_end_final ON postrider.execution_end USING btree (execution_id) WHERE is_final;

CREATE INDEX execution_end_unsuccessful ON postrider.execution_end USING btree (status, execution_id) WHERE (is_final AND (status <> 'completed'::text));
CREATE INDEX execution_end_worker ON postrider.execution_end USING btree (worker_id, id);
CREATE INDEX execution_end_xid ON postrider.execution_end USING btree (xid);

CREATE UNIQUE INDEX execution_idempotency_key ON postrider.execution USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX heartbeat_dispatcher ON ONLY postrider.heartbeat USING btree (dispatcher, seq);
CREATE INDEX heartbeat_0_dispatcher_seq_idx ON postrider.heartbeat_0 USING btree (dispatcher, seq);
CREATE INDEX heartbeat_xid ON ONLY postrider.heartbeat USING btree (xid);
CREATE INDEX heartbeat_0_xid_idx ON postrider.heartbeat_0 USING btree (xid);
CREATE INDEX heartbeat_1_dispatcher_seq_idx ON postrider.heartbeat_1 USING btree (dispatcher, seq);
CREATE INDEX heartbeat_1_xid_idx ON postrider.heartbeat_1 USING btree (xid);
CREATE INDEX heartbeat_2_dispatcher_seq_idx ON postrider.heartbeat_2 USING btree (dispatcher, seq);
CREATE INDEX heartbeat_2_xid_idx ON postrider.heartbeat_2 USING btree (xid);
CREATE INDEX idempotency_key_ended_at ON postrider.idempotency_key USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX idempotency_key_message_id ON postrider.idempotency_key USING btree (message_id);
CREATE INDEX job_drop ON postrider.job USING btree (endpoint_id, id) WHERE (kind = 'drop'::text);

CREATE UNIQUE INDEX job_drop_running ON postrider.job USING btree (endpoint_id) WHERE ((kind = 'drop'::text) AND (state = 'running'::text));

CREATE INDEX job_finished ON postrider.job USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX job_running ON postrider.job USING btree (id) WHERE (state = 'running'::text);
CREATE INDEX live_execution_admitted ON postrider.live_execution USING btree (generation, action) WHERE (scheduled_at IS NOT NULL);
CREATE INDEX live_execution_due ON postrider.live_execution USING btree (generation, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX live_execution_fallback ON postrider.live_execution USING btree (generation, queue) WHERE ((queue ~~ 'worker:%'::text) AND (pool IS NOT NULL) AND (status = 'requested'::text) AND (NOT is_delayed));
CREATE INDEX live_execution_waiting ON postrider.live_execution USING btree (generation, queue, action, priority DESC, id) WHERE ((status = 'requested'::text) AND (NOT is_delayed));
CREATE INDEX live_execution_worker ON postrider.live_execution USING btree (generation, worker_id, status, worker_epoch) WHERE (worker_id IS NOT NULL);
CREATE INDEX message_created_at ON ONLY postrider.message USING brin (created_at) WITH (autosummarize='on');
CREATE INDEX message_default_created_at_idx ON postrider.message_default USING brin (created_at) WITH (autosummarize='on');
CREATE INDEX message_endpoint_id ON ONLY postrider.message USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);
CREATE INDEX message_default_endpoint_name_id_idx ON postrider.message_default USING btree (endpoint_name, id) WHERE (endpoint_name IS NOT NULL);
CREATE INDEX message_published_id ON ONLY postrider.message USING btree (((cardinality(targets) > 1)), ((cardinality(targets) > 4)), id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);
CREATE INDEX message_default_expr_expr1_id_targets_event_type_idx ON postrider.message_default USING btree (((cardinality(targets) > 1)), ((cardinality(targets) > 4)), id) INCLUDE (targets, event_type) WHERE (event_type IS NOT NULL);
CREATE INDEX message_id ON ONLY postrider.message USING btree (id);
CREATE INDEX message_default_id_idx ON postrider.message_default USING btree (id);
CREATE INDEX message_direct_id ON ONLY postrider.message USING btree (id) WHERE (endpoint_name IS NOT NULL);
CREATE INDEX message_default_id_idx1 ON postrider.message_default USING btree (id) WHERE (endpoint_name IS NOT NULL);
CREATE INDEX message_lane_id ON ONLY postrider.message USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);
CREATE INDEX message_default_lane_expr_idx ON postrider.message_default USING btree (lane, ((id + 0))) WHERE (((lane)::integer & 15) <> 0);
CREATE INDEX message_xid_id ON ONLY postrider.message USING btree (xid, id);
CREATE INDEX message_default_xid_id_idx ON postrider.message_default USING btree (xid, id);
CREATE INDEX parked_message_partition ON postrider.parked_message USING btree (consumer_id, partition);
CREATE INDEX partly_done_message_id ON ONLY postrider.partly_done USING btree (message_id);
CREATE INDEX partly_done_default_message_id_idx ON postrider.partly_done_default USING btree (message_id);
CREATE INDEX rate_grant_endpoint ON ONLY postrider.rate_grant USING btree (endpoint_id, seq);
CREATE INDEX rate_grant_0_endpoint_id_seq_idx ON postrider.rate_grant_0 USING btree (endpoint_id, seq);
CREATE INDEX rate_grant_1_endpoint_id_seq_idx ON postrider.rate_grant_1 USING btree (endpoint_id, seq);
CREATE INDEX rate_grant_2_endpoint_id_seq_idx ON postrider.rate_grant_2 USING btree (endpoint_id, seq);
CREATE INDEX replay_finished ON postrider.replay USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX replay_running ON postrider.replay USING btree (id) WHERE (state = 'running'::text);
CREATE INDEX signing_key_retires_at ON postrider.signing_key USING btree (retires_at) WHERE (retires_at IS NOT NULL);
CREATE INDEX subscriptions_ended_at ON postrider.subscriptions USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX subscriptions_endpoint_id ON postrider.subscriptions USING btree (endpoint_id);
CREATE INDEX subscriptions_event_type ON postrider.subscriptions USING btree (event_type) WHERE ((event_type IS NOT NULL) AND (ended_at IS NULL));
CREATE INDEX tick_id ON ONLY postrider.tick USING btree (id);
CREATE INDEX tick_default_id_idx ON postrider.tick_default USING btree (id);
CREATE INDEX tick_passes_over ON ONLY postrider.tick USING btree (id) WHERE (passes_after < (id - 1));
CREATE INDEX tick_default_id_idx1 ON postrider.tick_default USING btree (id) WHERE (passes_after < (id - 1));
CREATE INDEX worker_lost ON postrider.worker USING btree (id) WHERE (lost_fence IS NOT NULL);
CREATE INDEX worker_pool ON postrider.worker USING btree (pool);

ALTER INDEX postrider.attempt_message_id ATTACH PARTITION postrider.attempt_default_message_id_target_idx;
ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_0_seq_idx;
ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_1_seq_idx;
ALTER INDEX postrider.checkpoint_seq ATTACH PARTITION postrider.checkpoint_2_seq_idx;
ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_0_owner_seq_idx;
ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_1_owner_seq_idx;
ALTER INDEX postrider.claim_owner ATTACH PARTITION postrider.claim_2_owner_seq_idx;
ALTER INDEX postrider.done_run ATTACH PARTITION postrider.done_default_bucket_run_idx;
ALTER INDEX postrider.ended_message_id ATTACH PARTITION postrider.ended_default_message_id_target_idx;
ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_0_dispatcher_seq_idx;
ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_0_xid_idx;
ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_1_dispatcher_seq_idx;
ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_1_xid_idx;
ALTER INDEX postrider.heartbeat_dispatcher ATTACH PARTITION postrider.heartbeat_2_dispatcher_seq_idx;
ALTER INDEX postrider.heartbeat_xid ATTACH PARTITION postrider.heartbeat_2_xid_idx;
ALTER INDEX postrider.message_created_at ATTACH PARTITION postrider.message_default_created_at_idx;
ALTER INDEX postrider.message_endpoint_id ATTACH PARTITION postrider.message_default_endpoint_name_id_idx;
ALTER INDEX postrider.message_published_id ATTACH PARTITION postrider.message_default_expr_expr1_id_targets_event_type_idx;
ALTER INDEX postrider.message_id ATTACH PARTITION postrider.message_default_id_idx;
ALTER INDEX postrider.message_direct_id ATTACH PARTITION postrider.message_default_id_idx1;
ALTER INDEX postrider.message_lane_id ATTACH PARTITION postrider.message_default_lane_expr_idx;
ALTER INDEX postrider.message_xid_id ATTACH PARTITION postrider.message_default_xid_id_idx;
ALTER INDEX postrider.partly_done_message_id ATTACH PARTITION postrider.partly_done_default_message_id_idx;
ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_0_endpoint_id_seq_idx;
ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_1_endpoint_id_seq_idx;
ALTER INDEX postrider.rate_grant_endpoint ATTACH PARTITION postrider.rate_grant_2_endpoint_id_seq_idx;
ALTER INDEX postrider.tick_id ATTACH PARTITION postrider.tick_default_id_idx;
ALTER INDEX postrider.tick_passes_over ATTACH PARTITION postrider.tick_default_id_idx1;

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.announce_endpoint();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON postrider.event_types FOR EACH ROW EXECUTE FUNCTION postrider.announce_event_type();
CREATE TRIGGER announce AFTER UPDATE OF filter, retry_policy, enabled ON postrider.subscriptions FOR EACH ROW EXECUTE FUNCTION postrider.announce_subscription();
CREATE TRIGGER keep BEFORE DELETE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.keep_endpoint();

ALTER TABLE postrider.endpoints ENABLE ALWAYS TRIGGER keep;

CREATE TRIGGER keep_all BEFORE TRUNCATE ON postrider.endpoints FOR EACH STATEMENT EXECUTE FUNCTION postrider.keep_endpoint();

ALTER TABLE postrider.endpoints ENABLE ALWAYS TRIGGER keep_all;

CREATE TRIGGER note_actor BEFORE INSERT ON postrider.event_log FOR EACH ROW EXECUTE FUNCTION postrider.note_actor();
CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.endpoints FOR EACH ROW EXECUTE FUNCTION postrider.prepare_endpoint();

ALTER TABLE postrider.endpoints ENABLE ALWAYS TRIGGER prepare;

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.event_types FOR EACH ROW EXECUTE FUNCTION postrider.prepare_event_type();

ALTER TABLE postrider.event_types ENABLE ALWAYS TRIGGER prepare;

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE ON postrider.setting FOR EACH ROW EXECUTE FUNCTION postrider.prepare_setting();

ALTER TABLE postrider.setting ENABLE ALWAYS TRIGGER prepare;

CREATE TRIGGER prepare BEFORE INSERT OR UPDATE OF filter, retry_policy, enabled ON postrider.subscriptions FOR EACH ROW EXECUTE FUNCTION postrider.prepare_subscription();

ALTER TABLE postrider.subscriptions ENABLE ALWAYS TRIGGER prepare;

CREATE TRIGGER refuse_change BEFORE UPDATE ON postrider.message FOR EACH ROW EXECUTE FUNCTION postrider.refuse_log_change();

ALTER TABLE postrider.message ENABLE ALWAYS TRIGGER refuse_change;

ALTER TABLE ONLY postrider.api_request
    ADD CONSTRAINT api_request_token_id_fkey FOREIGN KEY (token_id) REFERENCES postrider.api_token(id) ON DELETE CASCADE;

ALTER TABLE ONLY postrider.circuit
    ADD CONSTRAINT circuit_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY postrider.endpoint_secret
    ADD CONSTRAINT endpoint_secret_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY postrider.parked_message
    ADD CONSTRAINT parked_message_consumer_id_fkey FOREIGN KEY (consumer_id) REFERENCES postrider.consumer(id) ON DELETE CASCADE;

ALTER TABLE ONLY postrider.schedule_message
    ADD CONSTRAINT schedule_message_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES postrider.schedule(id) ON DELETE CASCADE;

ALTER TABLE ONLY postrider.signing_key
    ADD CONSTRAINT signing_key_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY postrider.subscriptions
    ADD CONSTRAINT subscriptions_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES postrider.endpoints(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;

GRANT USAGE ON SCHEMA postrider TO postrider_producer;
GRANT USAGE ON SCHEMA postrider TO postrider_consumer;
GRANT USAGE ON SCHEMA postrider TO postrider_worker;
GRANT USAGE ON SCHEMA postrider TO postrider_application;
GRANT USAGE ON SCHEMA postrider TO postrider_operator;
GRANT USAGE ON SCHEMA postrider TO postrider_monitor;
GRANT USAGE ON SCHEMA postrider TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.acknowledge(p_consumer text, p_position bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.acquire_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.acting_dispatchers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.add_signing_key(endpoint text, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.add_signing_key(endpoint text, key text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.address_literal(host text) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.worker TO postrider_application;
GRANT SELECT ON TABLE postrider.worker TO postrider_operator;
GRANT SELECT ON TABLE postrider.worker TO postrider_monitor;
GRANT SELECT ON TABLE postrider.worker TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.addressed_worker(p_name text, p_pool text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.admissible(p_action text, p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.adopt(p_only_look boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.adopt(p_only_look boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.advance_jobs() FROM PUBLIC;
GRANT SELECT ON TABLE postrider.replay TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.advance_replay(p_job postrider.replay) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.advance_replays() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.advance_sequences() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.advance_ticks() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alter_endpoint(endpoint_name text, new_config jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.alter_schedule(p_name text, p_changes jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alter_schedule(p_name text, p_changes jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.announce_endpoint() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.announce_event_type() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.announce_subscription() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.any_waiting_action(p_queue text) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.execution TO postrider_application;
GRANT SELECT ON TABLE postrider.execution TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(action) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(worker_id) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(pool) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(ttl_ms) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(timeout_ms) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(max_retries) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(idempotency_key) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(original_execution) ON TABLE postrider.execution TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.execution TO postrider_monitor;
REVOKE ALL ON FUNCTION postrider.append_execution(p_execution postrider.execution) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.event_types TO postrider_operator;
GRANT SELECT ON TABLE postrider.event_types TO postrider_monitor;
GRANT SELECT ON TABLE postrider.event_types TO postrider_admin;
GRANT UPDATE(description) ON TABLE postrider.event_types TO postrider_admin;
GRANT UPDATE(schema) ON TABLE postrider.event_types TO postrider_admin;
GRANT UPDATE(metadata) ON TABLE postrider.event_types TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.append_message(p_direct_target integer, p_endpoint_name text, p_event_type postrider.event_types, p_payload jsonb, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.consumer_position TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumer_position TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumer_position TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.append_position(p_from postrider.consumer_position, p_tick bigint, p_xid xid8, p_message_id bigint, p_acknowledged_count bigint, p_fetched_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.append_replays(p_message_ids bigint[], p_targets integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.append_tick() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.are_ticks_settled() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.begin_batch(p_consumer text, p_partition integer, p_batch_size integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.bring_back() FROM PUBLIC;
GRANT SELECT ON TABLE postrider.clock_jump TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.bring_back_executions(p_jump postrider.clock_jump) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.bring_back_messages(p_jump postrider.clock_jump) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.bring_back_rows(p_jump postrider.clock_jump) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.bury(p_message_ids bigint[], p_targets integer[], p_endpoint_ids integer[], p_causes text[], p_retry_counts integer[], p_errors text[]) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.job TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.bury_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.bury_orphans() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.caller() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.can_sign(p_protocol text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.cancel_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_endpoint_messages(p_endpoint_name text, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_execution(p_execution bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_job(p_job_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_message(p_message_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cancel_replay(p_replay_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cancel_unread(p_message_ids bigint[], p_targets integer[], OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.change_signing_keys(p_endpoint_id integer, p_keys jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.changes_between(p_before jsonb, p_after jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_action_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_action_name(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_auth(p_config jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_config_headers(key text, headers jsonb, are_templates boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_config_object(p_protocol text, p_path text, p_object jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_consumers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_dispatchers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_duration(p_parameter text, p_duration interval, p_least text, p_most text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_egress(p_config jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_endpoint_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_endpoint_name(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_event_type(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_event_type(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_executions(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_failovers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_fleet_name(p_parameter text, p_name text, p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_fleets() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_generations() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_key_pause(p_name text, p_pause interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_lag() FROM PUBLIC;
GRANT SELECT ON TABLE postrider.consumer_lease TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_lease_role(p_consumer_name text, p_lease postrider.consumer_lease, p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_locks() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_options(p_largest_payload bigint, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_partitions() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_pool_name(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.check_pool_name(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_reason(p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_replay(p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_retry_policy_keys(policy jsonb, form text, path text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_room(p_count bigint, p_targets integer[]) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.schedule TO postrider_admin;
GRANT SELECT ON TABLE postrider.schedule_message TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_schedule(p_schedule postrider.schedule, p_message postrider.schedule_message) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_schedules() FROM PUBLIC;
GRANT SELECT ON TABLE postrider.setting TO postrider_operator;
GRANT SELECT ON TABLE postrider.setting TO postrider_monitor;
GRANT SELECT ON TABLE postrider.setting TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.check_setting(p_setting postrider.setting, p_value text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_shards() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_signature_headers(p_config jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_signing_keys(p_config jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_size(p_parameter text, p_value jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_tick_allowed(p_caller text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_token_role(p_role text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_transactions() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_worker_role(p_name text, p_registered_by text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.check_workers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.claim_holders(OUT shard smallint, OUT owner uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.claim_idempotency_key(p_destination integer, p_key text, p_payload_hash bytea, p_message_id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.claim_request(p_token_id integer, p_key text, p_fingerprint bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.cleanup_dlq() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_dlq() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cleanup_dlq() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cleanup_event_log() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_event_log() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cleanup_event_log() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cleanup_old_archive_partitions(p_retention_months integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.complete_execution(p_execution bigint, p_fence bigint, p_result jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.complete_retry_policy(policy jsonb, place text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.config_members(p_protocol text, p_path text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.confirm_origin() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.confirm_position(p_dispatcher uuid, p_timeline integer, p_upto pg_lsn, p_number bigint, OUT timeline integer, OUT left_at pg_lsn, OUT lost_bytes numeric, OUT lost_numbers bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.consumer_figures() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.consumer_holders() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_application;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.consumer_holders() TO postrider_admin;
GRANT SELECT ON TABLE postrider.consumer TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumer TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumer TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.consumer_lag(p_consumer postrider.consumer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.consumer_messages(p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span, p_to_xid xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.consumer_report(p_consumer_id integer, p_partition integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.consumer_start(p_ordering text, p_start text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.cordon_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cordon_worker(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.cordon_worker(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_consumer(p_name text, p_event_types text[], p_filter jsonb, p_start text, p_ordering text, p_partitions integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_consumer(p_name text, p_event_types text[], p_filter jsonb, p_start text, p_ordering text, p_partitions integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_delivery_job(p_kind text, p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_endpoint(name text, protocol text, config jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_event_type(p_name text, p_description text, p_schema jsonb, p_metadata jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_job(p_kind text, p_endpoint_id integer, p_endpoint_name text, p_filter jsonb, p_rate integer, p_last_id bigint, p_estimate bigint, p_has_more boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.create_replay(p_endpoint_name text, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text, p_event_type text, p_filter jsonb, p_rate integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_schedule(p_name text, p_timing text, p_time_zone text, p_endpoint_name text, p_event_type text, p_payload jsonb, p_missed text, p_priority integer, p_ordering_key text, p_headers jsonb, p_metadata jsonb, p_expires_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_schedule(p_name text, p_timing text, p_time_zone text, p_endpoint_name text, p_event_type text, p_payload jsonb, p_missed text, p_priority integer, p_ordering_key text, p_headers jsonb, p_metadata jsonb, p_expires_in interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.create_token(p_name text, p_role text, p_hash bytea, p_expires_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_token(p_name text, p_role text, p_hash bytea, p_expires_in interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.cron_field(p_text text, p_field text, p_lowest integer, p_highest integer, p_names text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.current_slot() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.delivery_end(p_message_id bigint, p_target integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.deregister_worker(p_worker integer, p_epoch integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.describe_age(p_seconds double precision) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.describe_end(p_message_id bigint, p_target integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.describe_schedule(p_schedule postrider.schedule, p_message postrider.schedule_message) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.direct_target(p_endpoint_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.disable_endpoint(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.dispatch_executions(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.dlq_summary() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.dlq_summary() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.done_before() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_application;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.done_before() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_action(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_action(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_consumer(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_consumer(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_endpoint(endpoint_name text, p_force boolean, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_event_type(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_event_type(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_old_partitions(p_retention_months integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.drop_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_schedule(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.drop_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.drop_worker(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.edit_distance(a text, b text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.empty_slot(p_table text, p_slot smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.enable_endpoint(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.enable_fast_mode() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_producer;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_application;
GRANT ALL ON FUNCTION postrider.enable_fast_mode() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.end_deliveries(p_places tid[], p_verb text, p_reason text) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_application;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_operator;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_monitor;
GRANT SELECT ON TABLE postrider.live_execution TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.end_execution(p_live postrider.live_execution, p_status text, p_reason text, p_result jsonb, p_error jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.end_stale_flushes(p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.ended_ceiling() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_application;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.ended_ceiling() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.ended_status(p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.enter_generation() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.enter_timeline(p_dispatcher uuid, p_timeline integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.erase_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.erase_letters(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.erase_logged(p_message_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.erase_messages(p_ordering_key text, p_correlation_id uuid, p_metadata jsonb, p_event_type text, p_from timestamp with time zone, p_to timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.erase_messages(p_ordering_key text, p_correlation_id uuid, p_metadata jsonb, p_event_type text, p_from timestamp with time zone, p_to timestamp with time zone, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.erase_parked(p_ids bigint[], OUT message_count bigint, OUT letter_count bigint, OUT parked_count bigint, OUT attempt_count bigint, OUT cancelled_count bigint, OUT held_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.error_history(p_message_id bigint, p_target integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.execution_key_holder(p_key text, p_action text, p_parameters jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.execution_queue(p_worker_id integer, p_pool text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.execution_retry_delay(p_retry integer, p_dice double precision) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.expire_execution(p_live postrider.live_execution, p_carrier text, p_x_death jsonb, p_details jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.expire_waiting(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.explain_policy(p_message_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_application;
GRANT ALL ON FUNCTION postrider.extend_execution(p_execution bigint, p_fence bigint, p_timeout interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.fail_attempt(p_live postrider.live_execution, p_reason text, p_error jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.fail_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.fail_execution(p_execution bigint, p_fence bigint, p_reason text, p_error jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.fail_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_application;
GRANT ALL ON FUNCTION postrider.fetch_messages(p_consumer text, p_limit integer, p_wait interval, p_partition integer, p_wait_for_holder boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.fetched_batches(p_consumer postrider.consumer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.find_signing_key(p_endpoint_name text, p_keys jsonb, p_key_id text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.fire_schedule(p_schedule postrider.schedule, p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.fire_schedules() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.flush(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_buckets bigint[], p_done_offsets bytea[], p_partly_ids bigint[], p_partly_targets integer[], p_deferred_ids bigint[], p_deferred_targets integer[], p_deferred_endpoints integer[], p_deferred_run_at timestamp with time zone[], p_deferred_wait_ms bigint[], p_deferred_retry_counts integer[], p_deferred_recovery_counts integer[], p_deferred_created_at timestamp with time zone[], p_deferred_expires_at timestamp with time zone[], p_deferred_errors text[], p_deferred_keys text[], p_deferred_blocked boolean[], p_deferred_waited boolean[], p_settled_ids bigint[], p_settled_targets integer[], p_attempt_ids bigint[], p_attempt_targets integer[], p_attempt_endpoints integer[], p_attempt_numbers integer[], p_attempt_started_at timestamp with time zone[], p_attempt_duration_ms integer[], p_attempt_outcomes text[], p_attempt_statuses integer[], p_attempt_errors text[], p_attempt_correlation_ids uuid[], p_attempt_headers jsonb[], p_attempt_bodies bytea[], p_attempt_truncated boolean[], p_dead_ids bigint[], p_dead_targets integer[], p_dead_endpoints integer[], p_dead_causes text[], p_dead_retry_counts integer[], p_dead_errors text[], p_ended_ids bigint[], p_ended_targets integer[], p_ended_endpoints integer[], p_ended_reasons text[], p_read_ids bigint[], p_read_targets integer[], p_keyed_ids bigint[], p_done_runs smallint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.foreign_sign() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_consumer_rows() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_dead_letters(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_dispatchers() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_events(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_executions(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_idempotency_keys() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_jobs(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_keys_to_nobody(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_requests(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.forget_subscriptions(p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.free_idempotency_keys(p_message_ids bigint[]) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.action TO postrider_application;
GRANT SELECT ON TABLE postrider.action TO postrider_operator;
GRANT SELECT ON TABLE postrider.action TO postrider_monitor;
GRANT SELECT ON TABLE postrider.action TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.free_slots(p_action postrider.action) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.full_id(p_id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_endpoint_health(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.get_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_setting(name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.get_worker_status() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.get_worker_status() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.handle_dead_letter(p_execution bigint, p_fence bigint, p_x_death jsonb, p_details jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_consumer_lock(p_consumer_id integer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.has_ended(p_message_id bigint, p_target integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_offset(p_offsets bytea, p_offset integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_read_partition(p_consumer postrider.consumer, p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_session(p_dispatcher uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_tick_turn(p_table text, p_is_patient boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_unread_messages(p_target integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_waiting_messages(p_endpoint_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.has_wide_messages() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_application;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.has_wide_messages() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.health_check() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.health_check() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.heartbeat(p_dispatcher uuid, p_statistics jsonb, p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.held_execution(p_execution bigint, p_fence bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.held_worker(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.hold_consumer(p_consumer postrider.consumer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.hold_deliveries(p_verb text, p_message_id bigint, p_endpoint_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.hold_slots(p_action text, p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.hurry_transaction() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.idempotency_key_holder(p_destination integer, p_key text, p_payload_hash bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.idempotency_window() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_admin() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_at_end(p_position postrider.consumer_position) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_awaited(p_worker_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_base64(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_being_cancelled(p_message_id bigint, p_retry_count integer, p_recovery_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_claimed(p_message_id bigint, p_target integer, p_retry_count integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.is_copy() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_deferred(p_message_id bigint, p_target integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.is_delivery_wanted(p_filter jsonb, p_message_id bigint, p_target integer, p_created_at timestamp with time zone, p_last_error text, p_ordering_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_done(p_message_id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_erasure_wanted(p_filter jsonb, p_metadata jsonb, p_created_at timestamp with time zone, p_ordering_key text, p_correlation_id uuid, p_event_type text, p_own_metadata jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_generation_left(p_generation integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_header_template(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_http_url(url text, maximum bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_in_hand(p_message_id bigint, p_target integer, p_retry_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_letter_wanted(p_filter jsonb, p_failed_at timestamp with time zone, p_last_error text, p_cause text, p_event_type text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_logged(p_message_id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_made_void(p_message_id bigint, p_target integer, p_seq bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_marked_full(p_endpoint_id integer, p_size_limit bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_older(p_xmin xid, p_xid xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_operator() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_partition_behind(p_consumer_id integer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_partition_filled(p_consumer postrider.consumer, p_partition integer, p_is_patient boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_partition_finished(p_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_done_before xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_partition_unread(p_consumer postrider.consumer, p_partition integer, p_look integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_position_behind(p_position jsonb, p_xid xid8, p_message_id bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_private(address inet) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_replicating() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_reserved_header(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_signing_key(p_key jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_slot_filled(p_table text, p_slot smallint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.is_taken(p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.is_url_template(p_text text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_wanted(p_consumer postrider.consumer, p_partition integer, p_id bigint, p_xid xid8, p_created_at timestamp with time zone, p_event_type text, p_ordering_key text, p_payload jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.is_web_port(port integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.keep_answer(p_token_id integer, p_key text, p_status smallint, p_body text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.keep_dead_letter(p_body bytea, p_x_death jsonb, p_details jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.keep_endpoint() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.kept_message(p_message_id bigint, p_target integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.key_mark(p_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.key_shard(p_ordering_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.keys_that_sign(p_endpoint_id integer, p_keys jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.known_circuits(p_endpoint_ids integer[], p_with_others boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.known_consumer(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.known_lanes() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.known_schedule(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.known_worker(p_worker_id integer, p_epoch integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lane_states() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_application;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.lane_states() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.lane_tails() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_application;
GRANT ALL ON FUNCTION postrider.lease_partitions(p_consumer text, p_member uuid, p_lease interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.leave_out_numbers(p_upto bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.leaving_worker(p_worker_id integer, p_epoch integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.left_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_application;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.left_kinds() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.left_names() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.left_names() TO postrider_application;
GRANT ALL ON FUNCTION postrider.left_names() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.left_names() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.left_names() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.live_dispatchers(p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.live_worker(p_worker_id integer, p_epoch integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.local_time_reached(p_local timestamp without time zone, p_time_zone text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lock_leases(p_consumer postrider.consumer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lock_signing_keys(p_endpoint_name text, p_is_adding boolean, OUT endpoint_id integer, OUT keys jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lock_worker(p_worker postrider.worker, p_is_changed boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.log_ranges() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_application;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.log_ranges() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.lost_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.lowest_id_since(p_xid xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.maintain_archive_partitions(p_months_ahead integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.make_partitions(p_months_ahead integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.make_signing_key() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.mark_expired_messages() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.mark_expired_messages() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.mark_expired_messages() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.masked_config(p_config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.masked_config(p_config jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.matching_targets(p_patterns text[], p_payload jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.may_act_for(p_role text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.may_wait(p_states jsonb, p_message_id bigint, p_xid xid8, p_targets integer[]) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.message_partition(p_ordering_key text, p_id bigint, p_count integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.message_status(p_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.message_status(p_message_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.metrics() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.missing_partitions(p_months_ahead integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.needs_archive_upkeep() FROM PUBLIC;
GRANT SELECT ON TABLE postrider.consumer_attempt TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.newest_attempt(p_consumer_id integer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.newest_leases(p_consumer_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.newest_position(p_consumer_id integer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.next_cron_day(p_days integer[], p_has_last_day boolean, p_months integer[], p_weekdays integer[], p_weekday_places integer[], p_needs_both boolean, p_from date) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.next_cron_firing(p_cron text, p_time_zone text, p_after timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.next_firing(p_timing text, p_every interval, p_anchor timestamp with time zone, p_time_zone text, p_after timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.next_firings(p_name text, p_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.next_firings(p_name text, p_count integer) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.next_firings(p_name text, p_count integer) TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.next_firings(p_name text, p_count integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.next_ticks(p_tick bigint, p_after_id bigint, p_look integer, p_settled_tick bigint, p_has_own boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_actor() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_broker(p_process text, p_is_connected boolean, p_dead_letter_depth bigint, p_error text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_clock_jump() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_fetch(p_consumer_id integer, p_partition integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_page(p_consumer_id integer, p_partition integer, p_seq bigint, p_tick bigint, p_xid xid8, p_id bigint, p_count bigint, p_is_end boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_published(p_executions bigint[], p_fences bigint[], p_is_dead_lettered boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_signing_keys(p_endpoint_id integer, p_keys jsonb, p_is_hidden boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_token_use(p_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.note_verb(p_verb text, p_message_id bigint, p_endpoint_names text[], p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.notification_queue_usage() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.number_distance(p_from bigint, p_to bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.open_snapshot() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.open_transactions(p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.overdue_deliveries() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.park_message(p_consumer text, p_position bigint, p_attempt_count integer, p_error text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.parse_cron(p_cron text, OUT minutes integer[], OUT hours integer[], OUT days integer[], OUT has_last_day boolean, OUT months integer[], OUT weekdays integer[], OUT weekday_places integer[], OUT is_fixed boolean, OUT needs_both boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.partition_horizons() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.partition_months_ahead() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.pass_generation() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.pass_unwanted(p_position postrider.consumer_position, p_to_tick bigint, p_span postrider.tick_span, p_look integer, p_to_xid xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.passed_ticks(p_tick bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pause_all(OUT paused_count bigint, OUT held text[]) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pause_endpoint(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.pause_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pause_schedule(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pause_schedule(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.peek_messages(p_consumer text, p_limit integer, p_after_tick bigint, p_after_transaction xid8, p_after_message bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.pending_deliveries() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.pending_floor() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_application;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.pending_floor() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.phased_waits(policy jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.pool_figures() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_application;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.pool_figures() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.pool_workers(p_pool text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.prepare_endpoint() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.prepare_event_type() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.prepare_setting() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.prepare_subscription() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.probe_worker(p_worker_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.publish(p_event_type text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.publish_batch(p_events jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.publish_batch(p_events jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.publish_dead_letters(p_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.publish_execution_end(p_live postrider.live_execution, p_status text, p_reason text, p_error jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.queue_base() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.read_partition(p_consumer postrider.consumer, p_partition integer, p_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.rebase_executions() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.rebase_log() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.recheck_idempotency_keys(p_after bigint, p_most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.recover_claims(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_last_owner uuid, p_spared bigint[], p_spared_targets integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.recover_messages(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_attempted boolean, p_spared_ids bigint[], p_spared_targets integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.recover_waiting(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.recover_worker(p_worker postrider.worker, p_reason text, p_is_leaving boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_all(p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.redrive_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_endpoint(p_endpoint_name text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.redrive_letters(p_ids bigint[], p_by text, p_from timestamp with time zone, p_gap interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_matching(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_cause text, p_event_type text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.redrive_message(p_dlq_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.refuse_copy() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.refuse_endpoint(p_endpoint_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.refuse_full_endpoint(p_endpoint_name text, p_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.refuse_held_worker(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.refuse_living_worker(p_worker_id integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.refuse_log_change() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.register_dispatcher(p_dispatcher uuid, p_host text, p_pid integer, p_version text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.register_worker(p_name text, p_pool text, p_capacity integer, p_labels jsonb, p_version text, p_host text, p_carrier text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.release_execution(p_execution bigint, p_fence bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.release_keys(p_ordering_keys text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_application;
GRANT ALL ON FUNCTION postrider.release_partitions(p_consumer text, p_member uuid) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.release_shards(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.release_slot(p_live postrider.live_execution) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.replay_message(p_archive_message_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.replay_range(p_endpoint_id bigint, p_from_ts timestamp with time zone, p_to_ts timestamp with time zone, p_status text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.reserve_generation(p_generation integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.reset_circuit_breaker(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.reset_consumer(p_name text, p_start text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_consumer(p_name text, p_start text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.reset_setting(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reset_setting(name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_application;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resolve_parked_message(p_parked_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.restart_number(p_last bigint, p_margin bigint, p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resume_all(OUT resumed_count bigint, OUT held text[]) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resume_endpoint(p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.resume_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_schedule(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.resume_schedule(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.retention_holders() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retire_endpoint(p_endpoint_id integer, p_reason text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retire_failing_endpoints() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retire_signing_key(endpoint text, key_id text, after interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.retire_signing_keys() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_delivery(p_message_id bigint, p_endpoint_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.retry_execution(p_execution bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_execution(p_execution bigint) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_execution(p_execution bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.retry_matching_deliveries(p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.retry_phases(policy jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retry_policy_form(policy jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retry_policy_keys() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.retry_waits(policy jsonb, place text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.return_execution(p_live postrider.live_execution, p_to_pool boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reveal_signing_key(endpoint text, key_id text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.revoke_token(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.revoke_token(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.ring(p_channel text, p_message text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.ring_workers(p_queue text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.roll_up_executions(p_most integer, p_pause interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.rotate_signing_key(endpoint text, overlap interval) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.rotate_slots() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.save_checkpoint(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_done_xmin xid8, p_backlogs bigint[], p_state jsonb, p_updates_gate boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.save_circuits(p_dispatcher uuid, p_endpoint_ids integer[], p_versions bigint[], p_next_versions bigint[], p_states text[], p_failure_counts integer[], p_probe_at timestamp with time zone[], p_probers uuid[], p_paused_until timestamp with time zone[], p_last_success_at timestamp with time zone[], p_last_failure_at timestamp with time zone[], p_failing_since timestamp with time zone[], p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.save_claim(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_message_ids bigint[], p_targets integer[], p_retry_counts integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.schedule_executions(p_worker postrider.worker, p_limit integer, p_pool_limit integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.schedule_queue(p_worker postrider.worker, p_queue text, p_limit integer, p_reserved integer, p_reserved_from timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send(endpoint_name text, payload jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_batch(p_endpoint_name text, p_payloads jsonb[]) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_batch_with_priority(p_endpoint_name text, p_payloads jsonb[], p_priority integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_bytes(p_endpoint_name text, p_body bytea, p_content_type text, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.send_scheduled(p_name text, p_message postrider.schedule_message, p_fired_for timestamp with time zone, p_at timestamp with time zone) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_application;
GRANT ALL ON FUNCTION postrider.send_with_options(p_endpoint_name text, p_payload jsonb, p_priority integer, p_scheduled_at timestamp with time zone, p_idempotency_key text, p_correlation_id uuid, p_expires_at timestamp with time zone, p_ordering_key text, p_headers jsonb, p_metadata jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.set_action(p_name text, p_ttl interval, p_timeout interval, p_max_retries integer, p_priority integer, p_concurrency integer, p_description text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_action(p_name text, p_ttl interval, p_timeout interval, p_max_retries integer, p_priority integer, p_concurrency integer, p_description text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.set_setting(name text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.set_setting(name text, value text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.shard_count() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.shard_count() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.shard_reports() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.signing_key_id(p_key text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.skip_delivery(p_message_id bigint, p_endpoint_name text, p_reason text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.skip_matching_deliveries(p_reason text, p_endpoint_name text, p_from timestamp with time zone, p_to timestamp with time zone, p_error_pattern text, p_event_type text, p_ordering_key text, p_rate integer, OUT job_id bigint, OUT estimate bigint, OUT has_more boolean) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.standing_claims(p_owners uuid[], p_shards smallint[], p_message_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.start_execution(p_execution bigint, p_fence bigint, p_epoch integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_producer;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_application;
GRANT ALL ON FUNCTION postrider.submit_execution(p_action text, p_parameters jsonb, p_worker text, p_pool text, p_ttl interval, p_timeout interval, p_priority integer, p_max_retries integer, p_idempotency_key text, p_correlation_id uuid) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.subscribe(p_event_type text, p_endpoint_name text, p_filter jsonb, p_options jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.switch_all_endpoints(p_paused boolean, OUT switched_count bigint, OUT held text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.switch_endpoint(p_endpoint_name text, p_enabled boolean, p_paused boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.switch_worker(p_name text, p_is_cordoned boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.system_identifier() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_at_once(p_worker integer, p_limit integer, p_epoch integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_chore(p_name text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.take_executions(p_worker integer, p_limit integer, p_wait interval, p_epoch integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.take_out_of_attempts(p_message_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_out_of_letters(p_ids bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_shards(p_dispatcher uuid, p_limit integer, p_silent_ids uuid[], p_silent_seqs bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.take_tokens(p_endpoint_ids integer[], p_wanted integer[], p_rates integer[], p_bursts integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.target_names() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_application;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_operator;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_monitor;
GRANT ALL ON FUNCTION postrider.target_names() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.tell_batch(p_job postrider.job, OUT done_count bigint, OUT reached jsonb, OUT held_from jsonb, OUT held_count bigint, OUT paced_to timestamp with time zone, OUT pause interval, OUT is_over boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.tell_deliveries(p_verb text, p_message_ids bigint[], p_targets integer[], p_reason text, p_from timestamp with time zone, p_gap interval, OUT told_count bigint, OUT held_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.tick() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_consumer;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_application;
GRANT ALL ON FUNCTION postrider.tick() TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.tick_content(p_base_end xid8, p_top pg_snapshot, p_stragglers xid8[], p_look integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.tick_messages(p_tick bigint, p_after_id bigint, p_to_tick bigint, p_look integer, p_span postrider.tick_span) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.timeline_end(p_former integer, p_present integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.timing_interval(p_timing text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.trade_places(p_dispatcher uuid, p_shards smallint[], p_epochs bigint[], p_lent_endpoint_ids integer[], p_lent_shards smallint[], p_borrowers uuid[], p_returned_endpoint_ids integer[], p_returned_shards smallint[], p_asked_endpoint_ids integer[], p_asked_parts integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.transaction_messages(p_xid xid8, p_after_id bigint, p_look integer, p_to_xid xid8) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.uncancelled(p_places tid[], OUT free tid[], OUT under_way_count bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.uncordon_worker(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.uncordon_worker(p_name text) TO postrider_operator;
GRANT ALL ON FUNCTION postrider.uncordon_worker(p_name text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.unread_messages() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.unregister_dispatcher(p_dispatcher uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.unsubscribe(p_subscription_id bigint) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.update_full_endpoints() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.update_gate() FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.url_origin(url text) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.use_up_numbers(p_upto bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_endpoint_config(protocol text, config jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.validate_retry_policy(policy jsonb) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.visible_messages(p_xid xid8, p_after_id bigint, p_look integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.was_taken_back(p_message_id bigint, p_targets integer[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_application;
GRANT ALL ON FUNCTION postrider.worker_executions(p_worker integer, p_epoch integer) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_worker;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_application;
GRANT ALL ON FUNCTION postrider.worker_heartbeat(p_worker integer, p_epoch integer, p_error text) TO postrider_admin;
REVOKE ALL ON FUNCTION postrider.worker_room(p_worker postrider.worker, p_queue text, p_most integer) FROM PUBLIC;
GRANT SELECT ON TABLE postrider.message TO postrider_admin;
GRANT SELECT ON TABLE postrider.archive TO postrider_application;
GRANT SELECT ON TABLE postrider.archive TO postrider_operator;
GRANT SELECT ON TABLE postrider.archive TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(content_type) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(retry_count) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(scheduled_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(idempotency_key) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(expires_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(ordering_key) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(ended_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(completed_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(failed_at) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT(replay_of) ON TABLE postrider.archive TO postrider_monitor;
GRANT SELECT ON TABLE postrider.attempt TO postrider_operator;
GRANT SELECT ON TABLE postrider.attempt TO postrider_admin;
GRANT SELECT(message_id) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(endpoint_id) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(number) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(started_at) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(duration_ms) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(outcome) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(error) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(response_headers) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT(response_truncated) ON TABLE postrider.attempt TO postrider_monitor;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_operator;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(name) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(protocol) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(config) ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT(retry_policy) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(retry_policy) ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT(enabled) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(enabled) ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT(paused) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT UPDATE(paused) ON TABLE postrider.endpoints TO postrider_admin;
GRANT SELECT(direct_subscription_id) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(version) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(updated_at) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(is_full) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(is_paused_with_all) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT(has_limit) ON TABLE postrider.endpoints TO postrider_monitor;
GRANT SELECT ON TABLE postrider.attempts TO postrider_operator;
GRANT SELECT ON TABLE postrider.attempts TO postrider_admin;
GRANT SELECT(message_id) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(attempt) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(started_at) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(duration_ms) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(outcome) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(error) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(response_content_type) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(response_headers) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT(response_truncated) ON TABLE postrider.attempts TO postrider_monitor;
GRANT SELECT ON TABLE postrider.deferred TO postrider_operator;
GRANT SELECT ON TABLE postrider.deferred TO postrider_monitor;
GRANT SELECT ON TABLE postrider.deferred TO postrider_admin;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_application;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_operator;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_monitor;
GRANT SELECT ON TABLE postrider.blocked_keys TO postrider_admin;
GRANT SELECT ON TABLE postrider.broker_report TO postrider_operator;
GRANT SELECT ON TABLE postrider.broker_report TO postrider_monitor;
GRANT SELECT ON TABLE postrider.broker_report TO postrider_admin;
GRANT SELECT ON TABLE postrider.cancellation TO postrider_admin;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_operator;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_monitor;
GRANT SELECT ON TABLE postrider.checkpoint TO postrider_admin;
GRANT SELECT ON TABLE postrider.circuit TO postrider_operator;
GRANT SELECT ON TABLE postrider.circuit TO postrider_monitor;
GRANT SELECT ON TABLE postrider.circuit TO postrider_admin;
GRANT SELECT ON TABLE postrider.claim TO postrider_admin;
GRANT SELECT ON TABLE postrider.consumer_lock TO postrider_admin;
GRANT SELECT ON TABLE postrider.consumers TO postrider_consumer;
GRANT SELECT ON TABLE postrider.consumers TO postrider_application;
GRANT SELECT ON TABLE postrider.consumers TO postrider_operator;
GRANT SELECT ON TABLE postrider.consumers TO postrider_monitor;
GRANT SELECT ON TABLE postrider.consumers TO postrider_admin;
GRANT SELECT ON TABLE postrider.dead_letter TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(message_id) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(endpoint_id) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(cause) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(retry_count) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(failed_at) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(redriven_at) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(redriven_by) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(message_created_at) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.dead_letter TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_statistics TO postrider_admin;
GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_figures TO postrider_admin;
GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_operator;
GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dead_letter_total TO postrider_admin;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_operator;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_monitor;
GRANT SELECT ON TABLE postrider.dispatcher TO postrider_admin;
GRANT SELECT ON TABLE postrider.dlq TO postrider_application;
GRANT SELECT ON TABLE postrider.dlq TO postrider_operator;
GRANT SELECT ON TABLE postrider.dlq TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(message_id) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(cause) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(retry_count) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(error_history) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(failed_at) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(redriven_at) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(redriven_by) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(ordering_key) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(content_type) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.dlq TO postrider_monitor;
GRANT SELECT ON TABLE postrider.done TO postrider_operator;
GRANT SELECT ON TABLE postrider.done TO postrider_monitor;
GRANT SELECT ON TABLE postrider.done TO postrider_admin;
GRANT SELECT ON TABLE postrider.ended TO postrider_operator;
GRANT SELECT ON TABLE postrider.ended TO postrider_monitor;
GRANT SELECT ON TABLE postrider.ended TO postrider_admin;
GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_operator;
GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_monitor;
GRANT SELECT ON TABLE postrider.endpoint_configs TO postrider_admin;
GRANT SELECT ON TABLE postrider.event_log TO postrider_operator;
GRANT SELECT ON TABLE postrider.event_log TO postrider_monitor;
GRANT SELECT ON TABLE postrider.event_log TO postrider_admin;
GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_dead_letter TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(at) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(xid) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(outcome) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(carrier) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(execution_id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(attempt) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(worker_id) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(action) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT(reason) ON TABLE postrider.execution_dead_letter TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_dead_letters TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(at) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(outcome) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(carrier) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(execution_id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(attempt) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(worker) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(worker_id) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(action) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT(reason) ON TABLE postrider.execution_dead_letters TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_end TO postrider_application;
GRANT SELECT ON TABLE postrider.execution_end TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_end TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(execution_id) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(xid) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(attempt) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(is_final) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(reason) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(retry_reason) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(worker_id) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(action) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(pool) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(requested_at) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(scheduled_at) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(started_at) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT(ended_at) ON TABLE postrider.execution_end TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_statistics TO postrider_admin;
GRANT SELECT ON TABLE postrider.execution_figures TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_figures TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_figures TO postrider_admin;
GRANT SELECT ON TABLE postrider.execution_generation TO postrider_admin;
GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_rollup TO postrider_admin;
GRANT SELECT ON TABLE postrider.execution_total TO postrider_operator;
GRANT SELECT ON TABLE postrider.execution_total TO postrider_monitor;
GRANT SELECT ON TABLE postrider.execution_total TO postrider_admin;
GRANT SELECT ON TABLE postrider.executions TO postrider_application;
GRANT SELECT ON TABLE postrider.executions TO postrider_operator;
GRANT SELECT ON TABLE postrider.executions TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.executions TO postrider_worker;
GRANT SELECT(id) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(action) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.executions TO postrider_worker;
GRANT SELECT(status) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(addressed_to) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(pool) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(worker) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(ttl) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(timeout) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(attempt) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(max_retries) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(retry_reason) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(original_execution) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(reason) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(requested_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(scheduled_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(started_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(ended_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(expires_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(deadline_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(retry_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(cancel_requested_at) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT(idempotency_key) ON TABLE postrider.executions TO postrider_monitor;
GRANT SELECT ON TABLE postrider.full_endpoint TO postrider_operator;
GRANT SELECT ON TABLE postrider.full_endpoint TO postrider_monitor;
GRANT SELECT ON TABLE postrider.full_endpoint TO postrider_admin;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_operator;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_monitor;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_admin;
GRANT SELECT ON TABLE postrider.idempotency_key TO postrider_admin;
GRANT SELECT ON TABLE postrider.installation TO postrider_producer;
GRANT SELECT ON TABLE postrider.installation TO postrider_consumer;
GRANT SELECT ON TABLE postrider.installation TO postrider_worker;
GRANT SELECT ON TABLE postrider.installation TO postrider_application;
GRANT SELECT ON TABLE postrider.installation TO postrider_operator;
GRANT SELECT ON TABLE postrider.installation TO postrider_monitor;
GRANT SELECT ON TABLE postrider.installation TO postrider_admin;
GRANT SELECT ON TABLE postrider.jobs TO postrider_operator;
GRANT SELECT ON TABLE postrider.jobs TO postrider_monitor;
GRANT SELECT ON TABLE postrider.jobs TO postrider_admin;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_application;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_operator;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_monitor;
GRANT SELECT ON TABLE postrider.live_generation TO postrider_admin;
GRANT SELECT ON TABLE postrider.migration TO postrider_producer;
GRANT SELECT ON TABLE postrider.migration TO postrider_consumer;
GRANT SELECT ON TABLE postrider.migration TO postrider_worker;
GRANT SELECT ON TABLE postrider.migration TO postrider_application;
GRANT SELECT ON TABLE postrider.migration TO postrider_operator;
GRANT SELECT ON TABLE postrider.migration TO postrider_monitor;
GRANT SELECT ON TABLE postrider.migration TO postrider_admin;
GRANT SELECT ON TABLE postrider.parked_message TO postrider_admin;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_consumer;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_application;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_operator;
GRANT SELECT ON TABLE postrider.parked_messages TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(consumer_name) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT("position") ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(message_id) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(transaction_id) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(tick) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(partition) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(attempt_count) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(parked_at) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(message_type) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(scheduled) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(ordering_key) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT(content_type) ON TABLE postrider.parked_messages TO postrider_monitor;
GRANT SELECT ON TABLE postrider.partitions TO postrider_operator;
GRANT SELECT ON TABLE postrider.partitions TO postrider_monitor;
GRANT SELECT ON TABLE postrider.partitions TO postrider_admin;
GRANT SELECT ON TABLE postrider.partly_done TO postrider_admin;
GRANT SELECT ON TABLE postrider.pools TO postrider_application;
GRANT SELECT ON TABLE postrider.pools TO postrider_operator;
GRANT SELECT ON TABLE postrider.pools TO postrider_monitor;
GRANT SELECT ON TABLE postrider.pools TO postrider_admin;
GRANT SELECT ON TABLE postrider.queue TO postrider_application;
GRANT SELECT ON TABLE postrider.queue TO postrider_operator;
GRANT SELECT ON TABLE postrider.queue TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(content_type) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(retry_count) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(next_retry_at) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(scheduled_at) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(idempotency_key) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(correlation_id) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(expires_at) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(ordering_key) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(target) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT(replay_of) ON TABLE postrider.queue TO postrider_monitor;
GRANT SELECT ON TABLE postrider.rate_grant TO postrider_admin;
GRANT SELECT ON TABLE postrider.replays TO postrider_operator;
GRANT SELECT ON TABLE postrider.replays TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(state) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(from_ts) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(to_ts) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(rate) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(replayed_count) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(progress) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(created_by) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(finished_at) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.replays TO postrider_monitor;
GRANT SELECT ON TABLE postrider.rewind TO postrider_admin;
GRANT SELECT ON TABLE postrider.rotation TO postrider_admin;
GRANT SELECT ON TABLE postrider.schedules TO postrider_operator;
GRANT SELECT ON TABLE postrider.schedules TO postrider_admin;
GRANT SELECT(id) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(name) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(timing) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(time_zone) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(endpoint_name) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(event_type) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(missed) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(status) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(next_at) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(last_at) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(last_message_id) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(fired_count) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(paused_at) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(failed_since) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(failure_count) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(last_error_code) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(last_error) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(created_at) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(created_by) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(priority) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(ordering_key) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT(expires_in) ON TABLE postrider.schedules TO postrider_monitor;
GRANT SELECT ON TABLE postrider.shard TO postrider_operator;
GRANT SELECT ON TABLE postrider.shard TO postrider_monitor;
GRANT SELECT ON TABLE postrider.shard TO postrider_admin;
GRANT SELECT ON TABLE postrider.signing_key TO postrider_operator;
GRANT SELECT ON TABLE postrider.signing_key TO postrider_monitor;
GRANT SELECT ON TABLE postrider.signing_key TO postrider_admin;
GRANT SELECT ON TABLE postrider.signing_keys TO postrider_operator;
GRANT SELECT ON TABLE postrider.signing_keys TO postrider_monitor;
GRANT SELECT ON TABLE postrider.signing_keys TO postrider_admin;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_operator;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_monitor;
GRANT SELECT ON TABLE postrider.subscriptions TO postrider_admin;
GRANT UPDATE(filter) ON TABLE postrider.subscriptions TO postrider_admin;
GRANT UPDATE(retry_policy) ON TABLE postrider.subscriptions TO postrider_admin;
GRANT UPDATE(enabled) ON TABLE postrider.subscriptions TO postrider_admin;
GRANT SELECT ON TABLE postrider.tick TO postrider_operator;
GRANT SELECT ON TABLE postrider.tick TO postrider_monitor;
GRANT SELECT ON TABLE postrider.tick TO postrider_admin;
GRANT SELECT ON TABLE postrider.tick_passing TO postrider_admin;
GRANT SELECT ON TABLE postrider.tick_turn TO postrider_admin;
GRANT SELECT ON TABLE postrider.timeline TO postrider_admin;
GRANT SELECT ON TABLE postrider.tokens TO postrider_operator;
GRANT SELECT ON TABLE postrider.tokens TO postrider_monitor;
GRANT SELECT ON TABLE postrider.tokens TO postrider_admin;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_operator;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_monitor;
GRANT SELECT ON TABLE postrider.transport_option TO postrider_admin;
GRANT SELECT ON TABLE postrider.workers TO postrider_worker;
GRANT SELECT ON TABLE postrider.workers TO postrider_application;
GRANT SELECT ON TABLE postrider.workers TO postrider_operator;
GRANT SELECT ON TABLE postrider.workers TO postrider_monitor;
GRANT SELECT ON TABLE postrider.workers TO postrider_admin;
