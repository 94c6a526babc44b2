-- Who may do what. Declares, so that a right that is taken out here is gone after the next migrate.
--
-- The owner of the schema may do everything; dispatchers run as it. The roles are made where that is
-- allowed, and left out where it is not: nothing needs them but the people who use them. Their names
-- begin with the prefix that the database was migrated with.
--
-- No role may insert, update, delete or truncate a table as a whole: each of these would let it lock
-- the table against everybody. What is updated directly is granted by column.

do $do$
declare
    installer text := current_setting('postrider.installer');
    schema_owner text := current_user;
    requested text := nullif(current_setting('postrider.role_prefix'), '');
    kinds constant text[] := array[
        'admin', 'application', 'consumer', 'monitor', 'operator', 'producer', 'worker'];
    former text;
    prefix text;
    wanted text;
    missing text[] := '{}';
begin
    select i.role_prefix into former from postrider.installation i;
    prefix := coalesce(requested, former);
    if prefix <> former then
        update postrider.installation i set role_prefix = prefix;
        for wanted in
            select r.rolname
            from pg_roles r
            where r.rolname = any (array(select former || '_' || k.kind from unnest(kinds) k (kind)))
        loop
            execute format('revoke all on all tables in schema postrider from %I', wanted);
            execute format('revoke all on all sequences in schema postrider from %I', wanted);
            execute format('revoke all on all functions in schema postrider from %I', wanted);
            execute format('revoke all on schema postrider from %I', wanted);
        end loop;
    end if;

    -- The installer may be a superuser who acts as the schema's owner at the moment.
    perform set_config('role', installer, true);
    for wanted in select prefix || '_' || k.kind from unnest(kinds) k (kind) loop
        continue when exists (select from pg_roles r where r.rolname = wanted);
        begin
            execute format('create role %I nologin', wanted);
            -- Whoever answers over HTTP acts as the role of a token. A role that was there before may have rights
            -- elsewhere: it is for its maker to grant.
            if not (select r.rolsuper from pg_roles r where r.rolname = schema_owner) then
                execute format('grant %I to %I', wanted, schema_owner);
            end if;
        exception
            -- Roles belong to the whole cluster: another database's migration may be quicker.
            when duplicate_object or unique_violation then null;
            when insufficient_privilege then missing := missing || wanted;
        end;
    end loop;
    perform set_config('role', schema_owner, true);

    -- Those of the former prefix have lost their rights above.
    if missing <> '{}' and prefix <> former then
        raise exception 'role "%" may not create the roles of the prefix "%": %', installer, prefix,
            array_to_string(missing, ', ')
            using
                errcode = '42501',
                hint = format(
                    'Run as a superuser or a role with CREATEROLE: %s; then migrate again.',
                    (select string_agg(format('create role %I nologin', m.name), '; ')
                    from unnest(missing) m (name)));
    end if;
    if missing <> '{}' then
        raise notice 'role "%" may not create roles; skipped: %', installer,
            array_to_string(missing, ', ')
            using hint = format(
                'To have them, run as a superuser or a role with CREATEROLE: %s; then migrate again.',
                (select string_agg(format('create role %I nologin', m.name), '; ')
                from unnest(missing) m (name)));
    end if;
end;
$do$;

revoke all on schema postrider from public;
revoke all on all tables in schema postrider from public;
revoke all on all sequences in schema postrider from public;
revoke all on all functions in schema postrider from public;

do $do$
declare
    prefix text;
    producing constant text[] := array[
        'send', 'send_with_options', 'send_batch', 'send_batch_with_priority', 'send_bytes',
        'publish', 'publish_batch', 'enable_fast_mode', 'submit_execution'];
    consuming constant text[] := array[
        'fetch_messages', 'acknowledge', 'peek_messages', 'tick', 'lease_partitions', 'release_partitions',
        'begin_batch', 'park_message', 'resolve_parked_message', 'consumer_holders', 'consumer_report'];
    working constant text[] := array[
        'register_worker', 'worker_heartbeat', 'deregister_worker', 'take_executions', 'start_execution',
        'extend_execution', 'complete_execution', 'fail_execution', 'release_execution',
        'worker_executions', 'check_pool_name'];
    taking_back constant text[] := array['cancel_message', 'cancel_execution'];
    watching constant text[] := array[
        'dlq_summary', 'explain_policy', 'get_endpoint_health', 'get_setting', 'get_worker_status',
        'health_check', 'metrics', 'next_firings', 'shard_count', 'masked_config'];
    -- What the views, message_status and the command line call, with the rights of who reads them.
    viewing constant text[] := array[
        'message_status', 'check_action_name', 'check_endpoint_name', 'check_event_type', 'check_pool_name', 'describe_end', 'done_before',
        'consumer_holders', 'consumer_report', 'pool_figures', 'ended_ceiling', 'has_ended', 'has_wide_messages', 'is_claimed', 'is_deferred', 'is_taken',
        'lane_states', 'left_kinds', 'left_names', 'log_ranges', 'may_wait', 'pending_floor', 'target_names'];
    operating constant text[] := array[
        'enable_endpoint', 'disable_endpoint', 'pause_endpoint', 'resume_endpoint', 'pause_all', 'resume_all',
        'reset_circuit_breaker',
        'retry_delivery', 'fail_delivery', 'skip_delivery', 'retry_matching_deliveries',
        'fail_matching_deliveries', 'skip_matching_deliveries', 'cancel_endpoint_messages', 'redrive_message', 'redrive_endpoint', 'redrive_all', 'redrive_matching', 'cleanup_dlq',
        'cleanup_event_log', 'mark_expired_messages', 'maintain_archive_partitions', 'replay_message',
        'replay_range', 'create_replay', 'cancel_replay', 'cancel_job', 'resolve_parked_message', 'retry_execution',
        'cordon_worker', 'uncordon_worker', 'pause_schedule', 'resume_schedule'];
    managing constant text[] := array[
        'create_endpoint', 'alter_endpoint', 'drop_endpoint', 'create_event_type', 'drop_event_type',
        'subscribe', 'unsubscribe', 'validate_endpoint_config', 'validate_retry_policy', 'set_setting',
        'reset_setting', 'cleanup_old_archive_partitions', 'create_consumer', 'reset_consumer',
        'drop_consumer', 'erase_messages', 'add_signing_key', 'rotate_signing_key', 'retire_signing_key',
        'reveal_signing_key', 'set_action', 'drop_action', 'drop_worker',
        'adopt', 'create_token', 'revoke_token', 'create_schedule', 'alter_schedule', 'drop_schedule'];
    readable constant text[] := array['queue', 'archive', 'dlq', 'blocked_keys', 'consumers', 'parked_messages',
        'executions', 'workers', 'pools', 'execution_dead_letters', 'execution', 'live_execution', 'live_generation',
        'execution_end',
        'execution_dead_letter', 'worker', 'action'];
    -- Secrets, what only dispatchers lock, and the door to the log.
    withheld constant text[] := array['endpoint_secret', 'fence', 'chore', 'rate_turn', 'loan',
        'cancel_bucket', 'worker_lock', 'action_slot', 'log_change', 'identity', 'number_gap',
        'api_token', 'api_request'];
    -- Neither payloads nor what else an application wrote.
    visible constant text[] := array[
        'checkpoint', 'circuit', 'signing_key', 'signing_keys', 'deferred', 'dispatcher', 'done', 'ended',
        'endpoint_configs', 'event_log',
        'event_types', 'full_endpoint', 'heartbeat', 'installation', 'migration', 'setting', 'shard', 'subscriptions',
        'transport_option', 'blocked_keys', 'partitions', 'jobs', 'consumers', 'consumer', 'consumer_position',
        'tick', 'workers', 'worker', 'action', 'live_execution', 'live_generation',
        'pools', 'execution_figures', 'dead_letter_figures', 'execution_rollup', 'execution_statistics',
        'execution_total', 'dead_letter_statistics', 'dead_letter_total', 'broker_report', 'tokens'];
    -- With columns that the monitor does not read.
    partly_visible constant text[] := array[
        'endpoints', 'queue', 'archive', 'dlq', 'attempt', 'attempts', 'parked_messages', 'replays', 'schedules', 'executions', 'execution',
        'execution_end', 'execution_dead_letter', 'execution_dead_letters'];
    -- Columns with what an application wrote, or an endpoint answered; of executions also what a worker did.
    -- The config of an endpoint has its URL, which may be a secret: see endpoint_configs.
    written constant text[] := array[
        'payload', 'data', 'body', 'headers', 'metadata', 'response_body', 'config'];
    worked constant text[] := array['parameters', 'result', 'error', 'x_death', 'details', 'body'];
    -- Which version this is: every command of ours asks.
    versions constant text[] := array['installation', 'migration'];
    member record;
    granted record;
begin
    select i.role_prefix into prefix from postrider.installation i;
    for member in
        select k.kind, r.rolname as name, k.functions, k.relations
        from (values
            ('producer', producing, versions),
            ('consumer', consuming, array['consumers', 'parked_messages'] || versions),
            ('worker', working, array['workers'] || versions),
            (
                'application', producing || consuming || working || taking_back || viewing,
                readable || versions
            ),
            (
                'operator', taking_back || watching || viewing || operating,
                readable || visible || partly_visible || array['dead_letter']
            ),
            ('monitor', watching || viewing, visible),
            (
                'admin',
                producing || consuming || working || taking_back || watching || viewing || operating
                    || managing,
                array(
                    select c.relname::text
                    from pg_class c
                    where c.relnamespace = 'postrider'::regnamespace
                    and c.relname <> all (withheld)
                    and c.relname not like 'generation\_lock\_%')
            )
        ) k (kind, functions, relations)
        join pg_roles r on r.rolname = prefix || '_' || k.kind
    loop
        execute format('revoke all on all tables in schema postrider from %I', member.name);
        execute format('revoke all on all sequences in schema postrider from %I', member.name);
        execute format('revoke all on all functions in schema postrider from %I', member.name);
        execute format('grant usage on schema postrider to %I', member.name);

        for granted in
            select p.oid::regprocedure as signature
            from pg_proc p
            where p.pronamespace = 'postrider'::regnamespace
            and p.proname = any (member.functions)
        loop
            execute format('grant execute on function %s to %I', granted.signature, member.name);
        end loop;

        for granted in
            select c.oid::regclass as name
            from pg_class c
            where c.relnamespace = 'postrider'::regnamespace
            and c.relkind in ('r', 'p', 'v')
            and not c.relispartition
            and c.relname = any (member.relations)
        loop
            execute format('grant select on %s to %I', granted.name, member.name);
        end loop;

        if member.kind = 'admin' then
            execute format(
                'grant update (config, retry_policy, enabled, paused) on postrider.endpoints to %I',
                member.name);
            execute format(
                'grant update (description, schema, metadata) on postrider.event_types to %I',
                member.name);
            execute format(
                'grant update (filter, retry_policy, enabled) on postrider.subscriptions to %I',
                member.name);
        elsif member.kind = 'worker' then
            execute format('grant select (id, status) on postrider.executions to %I', member.name);
        elsif member.kind = 'monitor' then
            for granted in
                select
                    c.relname as name,
                    string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
                from pg_class c
                join pg_attribute a on a.attrelid = c.oid
                where c.relnamespace = 'postrider'::regnamespace
                and c.relname = any (partly_visible)
                and a.attnum > 0
                and not a.attisdropped
                and a.attname <> all (case
                    when c.relname like 'execution%' then worked
                    -- What a handler says of a failure may quote the message, and a filter does.
                    when c.relname = 'parked_messages' then written || array['last_error']
                    when c.relname = 'replays' then written || array['filter']
                    else written
                end)
                group by c.relname
            loop
                execute format(
                    'grant select (%s) on postrider.%I to %I', granted.columns, granted.name,
                    member.name);
            end loop;
            execute format(
                'grant select (
                    id, message_id, target, endpoint_id, endpoint_name, status, cause, retry_count,
                    last_error, failed_at, redriven_at, redriven_by, message_created_at, correlation_id,
                    priority, event_type)
                on postrider.dead_letter to %I', member.name);
        end if;
    end loop;
end;
$do$;
