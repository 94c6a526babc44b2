-- postrider.retry_phases(policy) → the four phases of a policy, in whichever words it is written
--
-- Internal. Delays in seconds; backoff_retries is below zero when numRetries leaves fewer than none to
-- the backoff phase.
create or replace function postrider.retry_phases(policy jsonb)
returns table (
    retries_with_no_delay bigint,
    minimum_delay_retries bigint,
    minimum_delay bigint,
    maximum_delay bigint,
    maximum_delay_retries bigint,
    curve text,
    -- Linear in steps of 5 s.
    has_fixed_step boolean,
    backoff_retries bigint)
language sql
immutable
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        k.none, k.minimum_count, k.minimum, k.maximum, k.maximum_count, k.curve,
        k.curve = 'linear' and k.backoff is null and k.total is null,
        case
            when k.total is not null
                then k.total - k.none - k.minimum_count - k.maximum_count
            when k.backoff is not null then k.backoff
            when k.curve = 'linear' then (k.maximum - k.minimum + 4) / 5 + 1
            else greatest((k.maximum - k.minimum) / 5, 1)
        end
    from (
        select
            coalesce(w.words ->> 'retries_with_no_delay', w.words ->> 'numNoDelayRetries', '3')::bigint
                as none,
            coalesce(w.words ->> 'minimum_delay_retries', w.words ->> 'numMinDelayRetries', '3')::bigint
                as minimum_count,
            coalesce(w.words ->> 'minimum_delay', w.words ->> 'minDelayTarget', '5')::bigint as minimum,
            coalesce(w.words ->> 'maximum_delay', w.words ->> 'maxDelayTarget', '30')::bigint as maximum,
            coalesce(w.words ->> 'maximum_delay_retries', w.words ->> 'numMaxDelayRetries', '3')::bigint
                as maximum_count,
            coalesce(w.words ->> 'retry_backoff_function', w.words ->> 'backoffFunction', 'linear')
                as curve,
            (w.words ->> 'backoff_retries')::bigint as backoff,
            (w.words ->> 'numRetries')::bigint as total
        from (select coalesce(policy -> 'healthyRetryPolicy', policy)) w (words)
    ) k;
$$;
