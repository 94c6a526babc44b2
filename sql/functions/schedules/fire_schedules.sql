-- postrider.fire_schedules() → in how many milliseconds to call again
--
-- Internal, by every dispatcher. Fires what is due, at most 50 times and ten times of one schedule, those first that were tried
-- least lately, and passes over what somebody has locked. Where the clock was set back: an interval fires on its beat
-- from now on when its next firing is farther away than it is long; a cron expression waits until the clock shows a time that it has not
-- shown before, unless it was wrong by more than a day. Index: none, there are 1,000 schedules at most, of a small row each.
create or replace function postrider.fire_schedules()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '200ms'
set jit = off
as $$
declare
    idle_ms constant integer := 1000;
    busy_ms constant integer := 50;
    most constant integer := 50;
    most_of_one constant integer := 10;
    began constant timestamptz := clock_timestamp();
    schedule postrider.schedule;
    fired_count integer := 0;
    has_more boolean := false;
begin
    for schedule in
        select s.*
        from postrider.schedule s
        where s.paused_at is null
        and (
            s.next_at <= began
            or s.next_at > began + s.every + interval '1 second'
            or coalesce(s.tried_at, s.created_at) > began + interval '1 day')
        -- No failure puts it off by more than a minute, unless the clock was set back.
        and (s.retry_at is null or s.retry_at not between began and began + interval '1 minute')
        order by s.tried_at nulls first, s.id
        limit most
        for update skip locked
    loop
        for turn in 1..most_of_one loop
            schedule := postrider.fire_schedule(schedule, began);
            fired_count := fired_count + 1;
            exit when schedule.next_at > began or schedule.retry_at is not null
                or fired_count >= most
                or clock_timestamp() > began + interval '300 milliseconds';
        end loop;
        has_more := has_more or schedule.next_at <= began and schedule.retry_at is null;
        if fired_count >= most or clock_timestamp() > began + interval '300 milliseconds' then
            has_more := true;
            exit;
        end if;
    end loop;
    if has_more then
        return busy_ms;
    end if;
    return (
        select least(
            idle_ms,
            1 + ceil(1000 * coalesce(extract(epoch from min(s.next_at) - clock_timestamp()), 1)))
        from postrider.schedule s
        where s.paused_at is null
        and s.next_at > clock_timestamp()
        and s.next_at < 'infinity'
    );
end;
$$;
