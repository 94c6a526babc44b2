-- postrider.retry_policy_form(policy) → nested, healthy, schedule, preset, phased or simple
--
-- Internal. The form in which a retry policy is written, by its keys; null when none of them tells.
create or replace function postrider.retry_policy_form(policy jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
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
