-- postrider.redrive_matching(endpoint, from, to, error pattern, cause, event type, rate) → how many dead
-- letters were put back
--
-- Admin. See redrive_message. Those that failed in [from, to), whose last error matches the POSIX
-- regular expression, and so on; what is null does not matter. With a rate they are due so many a
-- second, the first at once. Dead letters of dropped endpoints stay. Raises 42704 (no such endpoint),
-- 22023 (an empty time range, a pattern that is none, a rate out of its range). Uses
-- dead_letter_summary or, of an endpoint, dead_letter_endpoint.
create or replace function postrider.redrive_matching(
    p_endpoint_name text default null,
    p_from timestamptz default null,
    p_to timestamptz default null,
    p_error_pattern text default null,
    p_cause text default null,
    p_event_type text default null,
    p_rate integer default null)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    wanted integer;
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
    begin
        perform '' ~ p_error_pattern;
    exception
        when invalid_regular_expression then
            raise exception 'p_error_pattern must be a POSIX regular expression, got ''%''',
                left(p_error_pattern, 200) using errcode = '22023', detail = sqlerrm;
    end;
    return postrider.redrive_letters(
        array(
            select l.id
            from postrider.dead_letter l
            where l.status = 'failed'
            and (wanted is null or l.endpoint_id = wanted)
            and (p_from is null or l.failed_at >= p_from)
            and (p_to is null or l.failed_at < p_to)
            and (p_error_pattern is null or l.last_error ~ p_error_pattern)
            and (p_cause is null or l.cause = p_cause)
            and (p_event_type is null or l.event_type = p_event_type)
        ),
        p_rate,
        jsonb_strip_nulls(
            jsonb_build_object(
                'endpoint_name', p_endpoint_name, 'from', p_from, 'to', p_to,
                'error_pattern', p_error_pattern, 'cause', p_cause, 'event_type', p_event_type)));
end;
$$;
