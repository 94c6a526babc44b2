-- postrider.phased_waits(policy) → the waits of a policy in four phases, in ms
--
-- Internal. The policy is a valid one, in either vocabulary.
create or replace function postrider.phased_waits(policy jsonb)
returns bigint[]
language plpgsql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    phases record;
    waits bigint[];
    count bigint;
    span bigint;
    -- A geometric row that starts at 0 stays there.
    first double precision;
begin
    select p.* into phases from postrider.retry_phases(policy) p;
    count := phases.backoff_retries;
    -- In milliseconds.
    span := (phases.maximum_delay - phases.minimum_delay) * 1000;
    first := least(greatest(phases.minimum_delay, 1), phases.maximum_delay);
    waits := array(
        select case
            when phases.has_fixed_step
                then least(phases.minimum_delay + 5 * (i - 1), phases.maximum_delay) * 1000
            when phases.curve in ('geometric', 'exponential') then floor(
                first * 1000 * power(
                    phases.maximum_delay / greatest(first, 1), (i - 1) / greatest(count - 1, 1)::float8)
                + 0.5)::bigint
            when count = 1 then phases.minimum_delay * 1000
            when phases.curve = 'linear' then phases.minimum_delay * 1000
                + (2 * span * (i - 1) + (count - 1)) / (2 * (count - 1))
            else phases.minimum_delay * 1000
                + (2 * span * (i - 1) * i + (count - 1) * count) / (2 * (count - 1) * count)
        end
        from generate_series(1, count) i
        order by i
    );
    return array_fill(0::bigint, array[phases.retries_with_no_delay::integer])
        || array_fill(
            phases.minimum_delay * 1000, array[phases.minimum_delay_retries::integer])
        || waits
        || array_fill(
            phases.maximum_delay * 1000, array[phases.maximum_delay_retries::integer]);
end;
$$;
