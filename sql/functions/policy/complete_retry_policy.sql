-- postrider.complete_retry_policy(policy, place) → the policy with what it leaves out
--
-- Internal. A simple policy takes it from the settings, and null stands for all of them; a schedule or
-- preset has the default jitter. `place`: endpoint, subscription, event_type, settings; what a policy
-- means that has no key that tells its form depends on it.
create or replace function postrider.complete_retry_policy(policy jsonb, place text)
returns jsonb
language sql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select case
        when policy is null
            or coalesce(
                postrider.retry_policy_form(policy),
                case when place in ('endpoint', 'settings') then 'simple' end) = 'simple'
        then (
            select
                jsonb_build_object('backoff', 'exponential', 'jitter', 0.1)
                || jsonb_object_agg(f.field, s.value::integer)
                || coalesce(policy, '{}')
            from (
                values
                ('max_retries', 'default_max_retries'),
                ('base_delay_seconds', 'retry_base_delay'),
                ('max_delay_seconds', 'retry_max_delay'),
                ('increment_seconds', 'retry_increment')
            ) f (field, name)
            join postrider.setting s on s.name = f.name
        )
        when postrider.retry_policy_form(policy) in ('schedule', 'preset')
            then '{"jitter": 0.1}' || policy
        else policy
    end;
$$;
