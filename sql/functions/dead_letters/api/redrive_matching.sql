-- postrider.redrive_matching(endpoint, from, to, error pattern, cause, event type, rate) → the job's id,
-- an estimate, whether there may be more
--
-- Operator, admin. Makes a job that puts dead letters back, see redrive_batch: those that failed in [from, to),
-- whose last error matches the POSIX regular expression, and so on; what is null does not matter. With a
-- rate they are due so many a second, the first at once. Dead letters of dropped endpoints stay. The
-- estimate is a count of those among the first 10,000 letters. Raises 42704 (no such endpoint or event
-- type), 22023 (an empty time range, a pattern that is none, no cause that there is, a rate out of its
-- range). Uses dead_letter_failed or dead_letter_summary, dead_letter_pkey.
create or replace function postrider.redrive_matching(
    p_endpoint_name text default null,
    p_from timestamptz default null,
    p_to timestamptz default null,
    p_error_pattern text default null,
    p_cause text default null,
    p_event_type text default null,
    p_rate integer default null,
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
    look_at constant integer := 10000;
    wanted integer;
    wanted_letters constant jsonb := jsonb_strip_nulls(
        jsonb_build_object(
            'from', p_from, 'to', p_to, 'error_pattern', p_error_pattern, 'cause', p_cause,
            'event_type', p_event_type));
begin
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000 deliveries per second, got %', p_rate
            using errcode = '22023';
    end if;
    if p_cause not in ('rejected', 'gone', 'retries_exhausted', 'stale', 'operator', 'endpoint_dropped') then
        raise exception
            'p_cause must be rejected, gone, retries_exhausted, stale, operator or endpoint_dropped, got ''%''',
            left(p_cause, 100) using errcode = '22023';
    end if;
    perform postrider.check_event_type(p_event_type);
    begin
        perform '' ~ p_error_pattern;
    exception
        when invalid_regular_expression then
            raise exception 'p_error_pattern must be a POSIX regular expression, got ''%''',
                left(p_error_pattern, 200) using errcode = '22023', detail = sqlerrm;
    end;
    select count(*) filter (where l.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            (wanted is null or k.endpoint_id = wanted)
            and k.erased_at is null
            and postrider.is_letter_wanted(
                wanted_letters, k.failed_at, k.last_error, k.cause, k.event_type)
            and exists (select from postrider.endpoints e where e.id = k.endpoint_id)
            as is_wanted
        from postrider.dead_letter k
        where k.status = 'failed'
        and (p_endpoint_name is null or k.endpoint_name = p_endpoint_name)
        limit look_at
    ) l;
    job_id := postrider.create_job(
        'redrive', wanted, p_endpoint_name, wanted_letters, p_rate,
        (select coalesce(max(l.id), 0) from postrider.dead_letter l), estimate, has_more);
end;
$$;
