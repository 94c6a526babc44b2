-- postrider.check_executions(most) → how many it was about
--
-- Internal: the timeout monitor, by every dispatcher, and by take_executions where none lives. Lets
-- retries go whose wait is over. Ends, by compare-and-set on rows that nobody else has locked, what was
-- not started within its time to live, what has run past its deadline, and what was to be cancelled and
-- did not stop. What a broker was to have by now, and what it has not confirmed, goes back. Uses
-- live_execution_due.
create or replace function postrider.check_executions(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    live postrider.live_execution;
    at constant timestamptz := clock_timestamp();
    checked integer := 0;
begin
    for live in
        select l.*
        from postrider.live_generation g
        cross join lateral (
            select l.*
            from postrider.live_execution l
            where l.generation = g.id
            and l.due_at <= at
            order by l.due_at
            limit p_most
            for update skip locked
        ) l
        limit p_most
    loop
        checked := checked + 1;
        if live.is_delayed then
            update postrider.live_execution l
            set is_delayed = false,
                due_at = l.expires_at
            where l.id = live.id;
            perform postrider.ring_workers(live.queue);
        elsif live.status = 'running' and live.cancel_requested_at is not null then
            perform postrider.end_execution(live, 'cancelled', 'cancelled', null, jsonb_build_object(
                'error', 'Cancelled',
                'message', 'Worker did not stop within cancel_timeout'));
        elsif live.status = 'running' then
            perform postrider.end_execution(live, 'timeout', 'timeout', null, jsonb_build_object(
                'error', 'Execution timeout',
                'message', 'Execution did not end by its deadline',
                'timeout_ms', live.timeout_ms, 'deadline_at', live.deadline_at));
        elsif live.expires_at > at then
            perform postrider.return_execution(live, false);
        else
            perform postrider.expire_execution(
                live, coalesce(live.carrier, 'postgres'), null,
                jsonb_build_object('noticed_by', 'timeout_monitor'));
        end if;
    end loop;
    return checked;
end;
$$;
