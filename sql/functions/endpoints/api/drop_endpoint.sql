-- postrider.drop_endpoint(endpoint_name, force) → the job's id, an estimate, whether there may be more
--
-- Admin. Removes an endpoint with its secrets and subscriptions; messages keep the number of their
-- target. Raises 22004 (a null name), 42704 (no such endpoint), 55000 (messages wait for it) unless
-- forced: then what waits moves to the dead letter queue with the cause `endpoint_dropped`, what is in
-- postrider.deferred by a job after the commit (bury_batch), and what is not read yet by the dispatcher
-- that reads it. Nothing of postrider.deferred is locked here, for flush would wait for it. The estimate
-- is a count up to 10,000. Uses deferred_due.
create or replace function postrider.drop_endpoint(
    endpoint_name text,
    p_force boolean default false,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
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
