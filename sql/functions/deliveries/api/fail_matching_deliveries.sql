-- postrider.fail_matching_deliveries(reason, endpoint, from, to, error pattern, event type, ordering key,
-- rate) → the job's id, an estimate, whether there may be more
--
-- Operator, admin. Makes a job that makes dead letters of what waits, see tell_batch, with the cause `operator` and this reason: of this
-- endpoint, of messages that were sent in [from, to), whose last error matches the POSIX regular expression, and so on;
-- what is null does not matter. With a rate so many a second.
-- Raises 22004 (a null reason), 42704 (no such endpoint or event type), 22023 (an empty time range, a pattern that is
-- none, a key or rate out of its range).
create or replace function postrider.fail_matching_deliveries(
    p_reason text,
    p_endpoint_name text default null,
    p_from timestamptz default null,
    p_to timestamptz default null,
    p_error_pattern text default null,
    p_event_type text default null,
    p_ordering_key text default null,
    p_rate integer default null,
    out job_id bigint,
    out estimate bigint,
    out has_more boolean)
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select j.job_id, j.estimate, j.has_more
    from postrider.create_delivery_job(
        'fail', p_reason, p_endpoint_name, p_from, p_to, p_error_pattern, p_event_type, p_ordering_key,
        p_rate) j;
$$;
