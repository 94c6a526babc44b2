-- postrider.create_delivery_job(kind, reason, endpoint, from, to, error pattern, event type, ordering key, rate) → the
-- job's id, an estimate, whether there may be more
--
-- Internal: retry_matching_deliveries, fail_matching_deliveries and skip_matching_deliveries. Makes a job for what
-- waits now and matches, see tell_batch. The estimate is a count among the first 10,000 that wait. Raises 22004,
-- 42704, 22023. Uses deferred_due or deferred_pkey.
create or replace function postrider.create_delivery_job(
    p_kind text,
    p_reason text,
    p_endpoint_name text,
    p_from timestamptz,
    p_to timestamptz,
    p_error_pattern text,
    p_event_type text,
    p_ordering_key text,
    p_rate integer,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    look_at constant integer := 10000;
    wanted integer;
    wanted_deliveries constant jsonb := jsonb_strip_nulls(
        jsonb_build_object(
            'from', p_from, 'to', p_to, 'error_pattern', p_error_pattern,
            'event_type', p_event_type, 'ordering_key', p_ordering_key));
begin
    if p_kind <> 'retry' then
        perform postrider.check_reason(p_reason);
    end if;
    if p_endpoint_name is not null then
        select e.id into wanted from postrider.endpoints e where e.name = p_endpoint_name;
        if wanted is null then
            raise exception 'Endpoint ''%'' does not exist', p_endpoint_name
                using errcode = '42704';
        end if;
    end if;
    perform postrider.check_event_type(p_event_type);
    if p_from >= p_to then
        raise exception 'p_from must be before p_to, got % and %', p_from, p_to
            using errcode = '22023';
    end if;
    if length(p_ordering_key) not between 1 and 255 then
        raise exception 'p_ordering_key must have 1 to 255 characters, got %', length(p_ordering_key)
            using errcode = '22023';
    end if;
    if p_rate not between 1 and 100000 then
        raise exception 'p_rate must be between 1 and 100000 deliveries per second, got %', p_rate
            using errcode = '22023';
    end if;
    begin
        perform '' ~ p_error_pattern;
    exception
        when invalid_regular_expression then
            raise exception 'p_error_pattern must be a POSIX regular expression, got ''%''',
                left(p_error_pattern, 200) using errcode = '22023', detail = sqlerrm;
    end;
    select count(*) filter (where w.is_wanted), count(*) = look_at
    into estimate, has_more
    from (
        select
            postrider.is_delivery_wanted(
                wanted_deliveries, d.message_id, d.target, d.message_created_at, d.last_error,
                d.ordering_key)
            and (p_kind <> 'retry' or d.run_at > clock_timestamp() and not d.is_blocked)
            as is_wanted
        from postrider.deferred d
        where wanted is null
        or d.endpoint_id = wanted
        limit look_at
    ) w;
    job_id := postrider.create_job(
        p_kind, wanted, p_endpoint_name,
        wanted_deliveries || jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_rate,
        (select (s.last_value << 10) | 1023 from postrider.message_sequence s), estimate, has_more);
end;
$$;
