-- postrider.create_job(kind, endpoint_id, endpoint_name, filter, rate, last_id, estimate, has_more) → the
-- job's id
--
-- Internal. What a verb over many rows does in its caller's transaction: one row, which dispatchers see
-- after the commit (advance_jobs). Null: what waits for this endpoint has a job. Logged in event_log. Uses
-- job_drop_running.
create or replace function postrider.create_job(
    p_kind text,
    p_endpoint_id integer,
    p_endpoint_name text,
    p_filter jsonb,
    p_rate integer,
    p_last_id bigint,
    p_estimate bigint,
    p_has_more boolean)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    job_id bigint;
begin
    insert into postrider.job (
        kind, endpoint_id, endpoint_name, filter, rate, last_id, estimate, has_more, created_by)
    values (
        p_kind, p_endpoint_id, p_endpoint_name, p_filter, p_rate, p_last_id, p_estimate, p_has_more,
        postrider.caller())
    on conflict do nothing
    returning id into job_id;
    if job_id is null then
        return null;
    end if;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'job.created', p_endpoint_name,
        jsonb_strip_nulls(
            jsonb_build_object(
                'id', job_id, 'kind', p_kind, 'filter', nullif(p_filter, '{}'), 'rate', p_rate,
                'by', session_user))
        || jsonb_build_object('before', null, 'after', jsonb_build_object('state', 'running')));
    perform postrider.ring('postrider', 'jobs');
    return job_id;
end;
$$;
