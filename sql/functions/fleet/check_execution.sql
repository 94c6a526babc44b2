-- postrider.check_execution(what submit_execution was given)
--
-- Internal. Raises 22004 and 22023 with the name of the parameter, the rule and the bound.
create or replace function postrider.check_execution(
    p_action text,
    p_parameters jsonb,
    p_worker text,
    p_pool text,
    p_ttl interval,
    p_timeout interval,
    p_priority integer,
    p_max_retries integer,
    p_idempotency_key text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
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
