-- postrider.retry_waits(policy, place) → the waits before all retries in ms, without jitter
--
-- Internal. The policy is a valid one or null; see complete_retry_policy for `place`. The dispatcher
-- computes the same (core/policy.rs).
create or replace function postrider.retry_waits(policy jsonb, place text default 'endpoint')
returns bigint[]
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    whole constant jsonb := postrider.complete_retry_policy(policy, place);
    form constant text := postrider.retry_policy_form(whole);
    max_retries constant integer := whole ->> 'max_retries';
    base constant bigint := whole ->> 'base_delay_seconds';
    most constant bigint := whole ->> 'max_delay_seconds';
    increment constant bigint := whole ->> 'increment_seconds';
begin
    if form = 'simple' then
        return array(
            select 1000 * case whole ->> 'backoff'
                when 'fixed' then base
                when 'linear' then least(most, base + n * increment)
                -- 2^17 s is more than any delay.
                else least(most, base * (1 << least(n, 17)))
            end
            from generate_series(0, max_retries - 1) n
            order by n
        );
    elsif form = 'schedule' then
        return array(
            select 1000 * e.seconds::bigint
            from jsonb_array_elements_text(whole -> 'schedule_seconds')
                with ordinality e (seconds, position)
            order by e.position
        );
    elsif form = 'preset' and whole ->> 'preset' = 'standard-webhooks' then
        return array[
            5000, 300000, 1800000, 7200000, 18000000, 36000000, 50400000, 72000000, 86400000];
    elsif form = 'preset' and whole ->> 'preset' = 'sns' then
        return array[20000, 20000, 20000];
    elsif form = 'preset' and whole ->> 'preset' = 'sns-customer' then
        return postrider.phased_waits(
            '{"retries_with_no_delay": 0, "minimum_delay_retries": 2, "minimum_delay": 10,
            "maximum_delay": 600, "retry_backoff_function": "geometric", "backoff_retries": 10,
            "maximum_delay_retries": 38}');
    elsif form = 'preset' then
        -- sns-managed: goes on at a constant pace as long as it may.
        return (
            postrider.phased_waits(
                '{"retries_with_no_delay": 3, "minimum_delay_retries": 2, "minimum_delay": 1,
                "maximum_delay": 20, "retry_backoff_function": "geometric", "backoff_retries": 10,
                "maximum_delay_retries": 985}')
        )[1:coalesce(max_retries, 1000)];
    end if;
    return postrider.phased_waits(whole);
end;
$$;
