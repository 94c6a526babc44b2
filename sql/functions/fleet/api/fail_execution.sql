-- postrider.fail_execution(execution, fence, reason, error) → the status it has now
--
-- Worker, application, admin. By the worker that has it, started or not. The reason is a word: transient_error is
-- worth a retry, and so are worker_unavailable, queue_timeout, worker_heartbeat_stale and manual_retry;
-- permanent_error and every other word are not. failed, requested (it will be retried), cancelled
-- (somebody wanted that meanwhile), or null: it has ended otherwise, or others have it by now. Raises
-- 22004 (a null id, fence or reason), 22023 (a reason that is no word, an error larger than
-- max_payload_size), 42501 (another role has registered the worker that has it).
create or replace function postrider.fail_execution(
    p_execution bigint, p_fence bigint, p_reason text, p_error jsonb default null)
returns text
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    live postrider.live_execution;
begin
    if p_reason is null then
        raise exception 'p_reason must not be null' using errcode = '22004';
    end if;
    if p_reason !~ '^[a-z][a-z0-9_]{0,62}$' then
        raise exception
            'p_reason must be a word of 1 to 63 lower-case letters, digits and _, got ''%''',
            left(p_reason, 200) using errcode = '22023';
    end if;
    perform postrider.check_size('p_error', p_error);
    select l.* into live from postrider.held_execution(p_execution, p_fence) l;
    if live.id is null then
        return null;
    end if;
    return postrider.fail_attempt(live, p_reason, p_error);
end;
$$;
