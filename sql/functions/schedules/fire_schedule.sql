-- postrider.fire_schedule(schedule, at) → the schedule as it is then
--
-- Internal: fire_schedules, which has locked the row. Sends one message for what is due and sets what is next in one
-- transaction, or neither, so that no firing is sent twice. What fails is said at the schedule, stays due, and is tried again
-- after 5 s, and after twice as long each time, up to a minute. With `skip`, what is more than a minute late is left out; with
-- `one`, everything that is due is one firing; with `all`, the next one may be due as well. One that is not due is here
-- because the clock was set back: its next firing is the first one from now on.
create or replace function postrider.fire_schedule(p_schedule postrider.schedule, p_at timestamptz)
returns postrider.schedule
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    late_after constant interval := '1 minute';
    schedule postrider.schedule := p_schedule;
    message postrider.schedule_message;
    due timestamptz := p_schedule.next_at;
    -- Later than this is the next one.
    after timestamptz := p_at;
    code text;
begin
    select m.* into message from postrider.schedule_message m where m.schedule_id = schedule.id;
    if due > p_at then
        null;
    elsif schedule.missed = 'skip' and due < p_at - late_after then
        after := p_at - late_after;
        -- One that fails has said so.
        if schedule.failed_since is null then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'schedule.missed', message.endpoint_name,
                jsonb_build_object('schedule', schedule.name, 'from', due, 'to', after));
        end if;
    else
        after := case when schedule.missed = 'all' then due else p_at end;
        schedule.last_message_id := postrider.send_scheduled(schedule.name, message, due, p_at);
        schedule.last_at := due;
        schedule.fired_count := schedule.fired_count + 1;
        if schedule.failed_since is not null then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'schedule.recovered', message.endpoint_name,
                jsonb_build_object('schedule', schedule.name, 'failed_since', schedule.failed_since));
        end if;
        schedule.failed_since := null;
        schedule.failure_count := 0;
        schedule.last_error_code := null;
        schedule.last_error := null;
    end if;
    update postrider.schedule s
    set next_at = coalesce(
            postrider.next_firing(
                schedule.timing, schedule.every, schedule.anchor, schedule.time_zone, after),
            'infinity'),
        last_at = schedule.last_at,
        last_message_id = schedule.last_message_id,
        fired_count = schedule.fired_count,
        tried_at = p_at,
        retry_at = null,
        failed_since = schedule.failed_since,
        failure_count = schedule.failure_count,
        last_error_code = schedule.last_error_code,
        last_error = schedule.last_error
    where s.id = schedule.id
    returning s.* into schedule;
    return schedule;
exception
    -- All of it is undone: nothing was sent.
    when query_canceled or others then
        get stacked diagnostics code = returned_sqlstate;
        update postrider.schedule s
        set tried_at = p_at,
            retry_at = p_at + make_interval(secs => least(60, 5 * 2 ^ least(s.failure_count, 4))),
            failed_since = coalesce(s.failed_since, p_at),
            failure_count = s.failure_count + 1,
            last_error_code = code,
            last_error = left(sqlerrm, 500)
        where s.id = p_schedule.id
        returning s.* into schedule;
        if p_schedule.last_error_code is distinct from code then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'schedule.failed', message.endpoint_name,
                jsonb_build_object(
                    'schedule', p_schedule.name, 'due_at', p_schedule.next_at, 'code', code,
                    'error', left(sqlerrm, 500)));
        end if;
        return schedule;
end;
$$;
