-- postrider.advance_replays() → in how many milliseconds to call again
--
-- Internal, by every dispatcher. Takes each running job of create_replay that no other dispatcher has in
-- hand one step further: some messages are sent, and the job's position moves behind them, in one
-- transaction, under a lock by which erase_batch knows of a step. A job that cannot go on, because its endpoint is disabled or the log is full, says so in
-- last_error and waits. Uses replay_running, message_id.
create or replace function postrider.advance_replays()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    idle_ms constant integer := 2000;
    paced_ms constant integer := 1000;
    busy_ms constant integer := 250;
    began constant timestamptz := clock_timestamp();
    job postrider.replay;
    pause_ms integer := idle_ms;
begin
    for job in
        select r.*
        from postrider.replay r
        where r.state = 'running'
        order by r.paced_to
        for update skip locked
    loop
        pause_ms := least(
            pause_ms,
            case when postrider.advance_replay(job) then busy_ms else paced_ms end);
        exit when clock_timestamp() > began + interval '300 milliseconds';
    end loop;
    return pause_ms;
end;
$$;
