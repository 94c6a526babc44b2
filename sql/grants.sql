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
    producing constant text[] := array['send', 'send_with_options', 'send_batch'];
    watching constant text[] := array['get_setting', 'shard_count'];
    managing constant text[] := array[
        'create_endpoint', 'alter_endpoint', 'drop_endpoint', 'enable_endpoint', 'disable_endpoint',
        'validate_endpoint_config', 'validate_retry_policy', 'set_setting', 'reset_setting',
        'redrive_message', 'redrive_endpoint', 'redrive_all', 'maintain_archive_partitions'];
    -- Neither payloads nor what else an application wrote.
    visible constant text[] := array[
        'attempt', 'checkpoint', 'deferred', 'dispatcher', 'done', 'ended', 'endpoints', 'event_log',
        'heartbeat', 'installation', 'migration', 'setting', 'shard', 'subscriptions',
        'transport_option'];
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
                    when 'postrider_admin' then producing || watching || managing
                    when 'postrider_application' then producing
                    else watching
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
                else false
            end
        loop
            execute format('grant select on %s to %I', granted.name, wanted);
        end loop;
    end loop;

    if exists (select from pg_roles r where r.rolname = 'postrider_admin') then
        grant update (config, retry_policy, enabled) on postrider.endpoints to postrider_admin;
    end if;
    if exists (select from pg_roles r where r.rolname = 'postrider_monitor') then
        grant select (
            id, message_id, target, endpoint_id, endpoint_name, status, cause, retry_count,
            last_error, failed_at, redriven_at, message_created_at, correlation_id)
        on postrider.dead_letter to postrider_monitor;
    end if;
end;
$do$;
