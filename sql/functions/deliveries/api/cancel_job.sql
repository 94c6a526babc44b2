-- postrider.cancel_job(job_id) → whether it was running
--
-- Operator, admin. Ends a job where it is; what it has done stays done. Logged in event_log. Raises 22004 (a null
-- id), 42704 (no such job), 55000 (a job that buries what waits for an endpoint that is gone).
create or replace function postrider.cancel_job(p_job_id bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.job;
begin
    if p_job_id is null then
        raise exception 'Job id must not be null' using errcode = '22004';
    end if;
    select j.* into known from postrider.job j where j.id = p_job_id for update;
    if known.id is null then
        raise exception 'Job % does not exist', p_job_id using errcode = '42704';
    end if;
    if known.state <> 'running' then
        return false;
    end if;
    if known.kind = 'drop' then
        raise exception 'Job % cannot be cancelled: its endpoint is gone', p_job_id
            using errcode = '55000';
    end if;
    update postrider.job j
    set state = 'cancelled', finished_at = clock_timestamp(), metadata = null
    where j.id = known.id;
    insert into postrider.event_log (event, endpoint_name, details)
    values (
        'job.cancelled', known.endpoint_name,
        jsonb_build_object(
            'id', known.id, 'kind', known.kind, 'count', known.done_count, 'by', session_user,
            'before', jsonb_build_object('state', 'running'),
            'after', jsonb_build_object('state', 'cancelled')));
    return true;
end;
$$;
