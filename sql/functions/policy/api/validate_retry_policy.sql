-- postrider.validate_retry_policy(policy) → true
--
-- Admin, and the triggers on endpoints, event types and subscriptions. Checks a retry policy in any of
-- its forms; null stands for no policy at all. Raises 22023 with the field's path, the rule and the
-- bound. The dispatcher makes the same checks (core/policy/parse.rs).
create or replace function postrider.validate_retry_policy(policy jsonb)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    form text;
    path text := 'retry_policy';
    healthy jsonb := policy;
    phases record;
    others bigint;
    total numeric;
begin
    if policy is null then
        return true;
    end if;
    if jsonb_typeof(policy) <> 'object' then
        raise exception 'retry_policy must be an object' using errcode = '22023';
    end if;
    form := postrider.retry_policy_form(policy);
    perform postrider.check_retry_policy_keys(policy, form, path);
    if form = 'nested' then
        path := 'retry_policy.healthyRetryPolicy';
        healthy := policy -> 'healthyRetryPolicy';
        if jsonb_typeof(healthy) <> 'object' then
            raise exception '% must be an object', path using errcode = '22023';
        end if;
        perform postrider.check_retry_policy_keys(healthy, 'healthy', path);
    end if;

    if form = 'preset' and policy ? 'max_retries' and policy ->> 'preset' <> 'sns-managed' then
        raise exception 'retry_policy.max_retries goes with the preset sns-managed only'
            using errcode = '22023';
    end if;
    if form in ('nested', 'healthy', 'phased') then
        select p.* into phases from postrider.retry_phases(policy) p;
        if phases.minimum_delay > phases.maximum_delay then
            raise exception '%.% must not be greater than %', path,
                case when form = 'phased' then 'minimum_delay' else 'minDelayTarget' end,
                case when form = 'phased' then 'maximum_delay' else 'maxDelayTarget' end
                using errcode = '22023';
        end if;
        others := phases.retries_with_no_delay + phases.minimum_delay_retries
            + phases.maximum_delay_retries;
        if phases.backoff_retries < 0 then
            raise exception 'retry_policy: the phases have % retries, numRetries allows %',
                others, healthy -> 'numRetries' using errcode = '22023';
        end if;
        if others + phases.backoff_retries > 1000 then
            raise exception 'retry_policy: the phases have % retries, at most 1000 are allowed',
                others + phases.backoff_retries using errcode = '22023';
        end if;
    end if;
    if form <> 'simple' then
        select sum(w.wait)
        into total
        from unnest(postrider.retry_waits(policy, 'event_type')) w (wait);
        if total > 2592000000 then
            raise exception
                'retry_policy: the waits add up to % s, at most 2592000 s are allowed',
                ceil(total / 1000) using errcode = '22023';
        end if;
    end if;
    return true;
end;
$$;
