-- postrider.set_action(name, ttl, timeout, max_retries, priority, concurrency, description)
--
-- Admin. What executions of this action have in common, unless they say otherwise; null: the default.
-- Replaces what was set before. `concurrency` limits how many may be scheduled or running at a time, the
-- oldest of the highest priority first; a lower limit counts for what is scheduled from then on. Logged in
-- event_log. Raises 22004 (a null name), 22023 (a value out of its range).
create or replace function postrider.set_action(
    p_name text,
    p_ttl interval default null,
    p_timeout interval default null,
    p_max_retries integer default null,
    p_priority integer default null,
    p_concurrency integer default null,
    p_description text default null)
returns void
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
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
