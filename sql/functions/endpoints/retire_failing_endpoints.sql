-- postrider.retire_failing_endpoints() → how many endpoints were disabled
--
-- Internal, by any dispatcher once a minute. Disables endpoints that have failed for
-- auto_disable_after_days without a success. Index: none, a row per endpoint, and only where the setting is
-- not 0.
create or replace function postrider.retire_failing_endpoints()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
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
