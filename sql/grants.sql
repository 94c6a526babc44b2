-- Who may do what. Declares, so that a right that is taken out here is gone after the next migrate.
--
-- The owner of the schema may do everything; dispatchers run as it. The three roles are made where
-- that is allowed, and left out where it is not: nothing needs them but the people who use them.

do $do$
declare
    installer text := current_setting('postrider.installer');
    schema_owner text := current_user;
    wanted text;
    missing text[] := '{}';
begin
    -- The installer may be a superuser who acts as the schema's owner at the moment.
    perform set_config('role', installer, true);
    foreach wanted in array
        array['postrider_admin', 'postrider_application', 'postrider_monitor']
    loop
        continue when exists (select from pg_roles r where r.rolname = wanted);
        begin
            execute format('create role %I nologin', wanted);
        exception
            -- Roles belong to the whole cluster: another database's migration may be quicker.
            when duplicate_object or unique_violation then null;
            when insufficient_privilege then missing := missing || wanted;
        end;
    end loop;
    perform set_config('role', schema_owner, true);

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
    everybody constant text[] := array['postrider_admin', 'postrider_application', 'postrider_monitor'];
    producing constant text[] := array[
        'send', 'send_with_options', 'send_batch', 'send_batch_with_priority', 'send_bytes',
        'publish', 'publish_batch', 'cancel_message', 'enable_fast_mode'];
    consuming constant text[] := array[
        'fetch_messages', 'acknowledge', 'peek_messages', 'tick', 'lease_partitions', 'release_partitions',
        'begin_batch', 'park_message', 'resolve_parked_message'];
    working constant text[] := array[
        'submit_execution', 'cancel_execution', 'register_worker', 'worker_heartbeat', 'deregister_worker',
        'take_executions', 'start_execution', 'extend_execution', 'complete_execution', 'fail_execution',
        'release_execution', 'worker_executions'];
    watching constant text[] := array[
        'dlq_summary', 'explain_policy', 'get_endpoint_health', 'get_setting', 'get_worker_status',
        'health_check', 'metrics', 'shard_count'];
    -- What the views and message_status call, which run with the rights of who reads them.
    viewing constant text[] := array[
        'message_status', 'describe_end', 'done_before', 'done_map', 'done_map_start',
        'consumer_holders', 'consumer_report', 'pool_figures', 'ended_ceiling', 'has_ended', 'is_claimed', 'is_deferred', 'is_taken', 'pending_floor'];
    managing constant text[] := array[
        'create_endpoint', 'alter_endpoint', 'drop_endpoint', 'enable_endpoint', 'disable_endpoint',
        'pause_endpoint', 'resume_endpoint', 'reset_circuit_breaker',
        'create_event_type', 'drop_event_type', 'subscribe', 'unsubscribe',
        'validate_endpoint_config', 'validate_retry_policy', 'set_setting', 'reset_setting',
        'redrive_message', 'redrive_endpoint', 'redrive_all', 'redrive_matching', 'cleanup_dlq',
        'cleanup_event_log', 'mark_expired_messages', 'maintain_archive_partitions',
        'cleanup_old_archive_partitions', 'replay_message', 'replay_range', 'create_replay',
        'cancel_replay', 'create_consumer', 'reset_consumer', 'drop_consumer', 'retry_execution', 'set_action',
        'drop_action', 'cordon_worker', 'uncordon_worker', 'drop_worker'];
    readable constant text[] := array['queue', 'archive', 'dlq', 'blocked_keys', 'consumers', 'parked_messages',
        'executions', 'workers', 'pools', 'execution_dead_letters', 'execution', 'live_execution', 'live_generation',
        'execution_end',
        'execution_dead_letter', 'worker', 'action'];
    -- Neither payloads nor what else an application wrote.
    visible constant text[] := array[
        'checkpoint', 'circuit', 'deferred', 'dispatcher', 'done', 'ended', 'endpoints', 'event_log',
        'event_types', 'heartbeat', 'installation', 'migration', 'setting', 'shard', 'subscriptions',
        'transport_option', 'blocked_keys', 'partitions', 'replays', 'consumers', 'consumer', 'consumer_position',
        'tick', 'workers', 'worker', 'action', 'live_execution', 'live_generation',
        'pools', 'execution_figures', 'dead_letter_figures', 'execution_rollup', 'execution_statistics',
        'execution_total', 'dead_letter_statistics', 'dead_letter_total', 'broker_report'];
    -- Columns with what an application wrote, or an endpoint answered; of executions also what a worker did.
    written constant text[] := array[
        'payload', 'data', 'body', 'headers', 'metadata', 'response_body'];
    worked constant text[] := array['parameters', 'result', 'error', 'x_death', 'details', 'body'];
    wanted text;
    granted record;
begin
    foreach wanted in array everybody loop
        continue when not exists (select from pg_roles r where r.rolname = wanted);
        execute format('revoke all on all tables in schema postrider from %I', wanted);
        execute format('revoke all on all sequences in schema postrider from %I', wanted);
        execute format('revoke all on all functions in schema postrider from %I', wanted);
        execute format('grant usage on schema postrider to %I', wanted);

        for granted in
            select p.oid::regprocedure as signature
            from pg_proc p
            where p.pronamespace = 'postrider'::regnamespace
            and p.proname = any (
                case wanted
                    when 'postrider_admin' then producing || consuming || working || watching || viewing || managing
                    when 'postrider_application' then producing || consuming || working || viewing
                    else watching || viewing
                end)
        loop
            execute format('grant execute on function %s to %I', granted.signature, wanted);
        end loop;

        for granted in
            select c.oid::regclass as name
            from pg_class c
            where c.relnamespace = 'postrider'::regnamespace
            and c.relkind in ('r', 'p', 'v')
            and not c.relispartition
            and case wanted
                when 'postrider_admin' then c.relname <> 'endpoint_secret'
                when 'postrider_monitor' then c.relname = any (visible)
                when 'postrider_application' then c.relname = any (readable)
                else false
            end
        loop
            execute format('grant select on %s to %I', granted.name, wanted);
        end loop;
    end loop;

    if exists (select from pg_roles r where r.rolname = 'postrider_admin') then
        grant update (config, retry_policy, enabled, paused) on postrider.endpoints to postrider_admin;
        grant update (description, schema, metadata) on postrider.event_types to postrider_admin;
        grant update (filter, retry_policy, enabled) on postrider.subscriptions to postrider_admin;
    end if;
    if exists (select from pg_roles r where r.rolname = 'postrider_monitor') then
        for granted in
            select
                c.relname as name,
                string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
            from pg_class c
            join pg_attribute a on a.attrelid = c.oid
            where c.relnamespace = 'postrider'::regnamespace
            and c.relname in ('queue', 'archive', 'dlq', 'attempt', 'attempts', 'parked_messages',
                'executions', 'execution', 'execution_end', 'execution_dead_letter',
                'execution_dead_letters')
            and a.attnum > 0
            and a.attname <> all (case when c.relname like 'execution%' then worked else written end)
            group by c.relname
        loop
            execute format(
                'grant select (%s) on postrider.%I to postrider_monitor', granted.columns, granted.name);
        end loop;
        grant select (
            id, message_id, target, endpoint_id, endpoint_name, status, cause, retry_count,
            last_error, failed_at, redriven_at, redriven_by, message_created_at, correlation_id,
            priority, event_type)
        on postrider.dead_letter to postrider_monitor;
    end if;
end;
$do$;
