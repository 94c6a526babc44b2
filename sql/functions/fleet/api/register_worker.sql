-- postrider.register_worker(name, pool, capacity, labels, version, host, carrier) → its id and epoch
--
-- Worker, application, admin. Whoever registers a name has it from then on, under a new epoch: nobody acts for the worker
-- without the rights of the role that registered it (42501), or registers it until it has left or was lost (55006), but
-- that the role admin may register every name; calls of a
-- process before it are refused (55000), and what that one had running has failed with the reason
-- worker_unavailable, or is retried. A heartbeat every
-- `heartbeat_interval` keeps it alive: that of the settings, or a third of `stale_after` if that is less. In a
-- transaction of its own. Waits some seconds for a transaction that gives this worker executions, submits the
-- first one to it, or changes it. Raises 22004 (a null name, pool or capacity), 22023 (a value that is not
-- valid), 55000 (in a copy that nobody has adopted), 55006 (that one has not ended; it lives, and another role has
-- registered it).
create or replace function postrider.register_worker(
    p_name text,
    p_pool text default 'default',
    p_capacity integer default 1,
    p_labels jsonb default '{}',
    p_version text default null,
    p_host text default null,
    p_carrier text default null)
returns table (
    worker_id integer,
    epoch integer,
    heartbeat_interval interval,
    stale_after interval)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '5s'
as $$
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
        registered := postrider.addressed_worker(p_name, p_pool);
        perform postrider.lock_worker(registered, true);
        perform postrider.refuse_living_worker(registered.id);
        update postrider.worker w
        set pool = p_pool,
            labels = coalesce(p_labels, '{}'),
            carrier = coalesce(p_carrier, postrider.get_setting('execution_carrier')),
            status = 'active',
            capacity = p_capacity,
            epoch = w.epoch + 1,
            lost_fence = null,
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
