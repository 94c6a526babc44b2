-- postrider.advance_jobs() → in how many milliseconds to call again
--
-- Internal, by every dispatcher. Sees to what a clock that was set back leaves in the future (bring_back), and
-- takes the job that has waited longest, and that no other dispatcher has
-- in hand, one batch further: its rows and its position change in one transaction, so that no death of a
-- dispatcher leaves a row out or does one twice. A batch ends after a fifth of a second, and waits for
-- nobody longer than that: rows that somebody else has locked are passed over, and come back to. The job
-- is not over before. What fails is in last_error, and is tried again. By index only, whatever the
-- session says. Uses job_running.
create or replace function postrider.advance_jobs()
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '200ms'
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
declare
    idle_ms constant integer := 1000;
    busy_ms constant integer := 50;
    began constant timestamptz := clock_timestamp();
    job postrider.job;
    batch record;
    pause_ms integer := idle_ms;
begin
    begin
        if postrider.bring_back() then
            pause_ms := busy_ms;
        end if;
    exception
        when query_canceled or others then
            raise warning 'what the clock has left in the future is not brought back yet: %', sqlerrm;
    end;
    select j.*
    into job
    from postrider.job j
    where j.state = 'running'
    -- Nothing is put off by a minute, unless the clock was set back.
    and j.next_at not between clock_timestamp() and clock_timestamp() + interval '1 minute'
    order by j.next_at
    limit 1
    for update skip locked;
    if job.id is null then
        return pause_ms;
    end if;

    begin
        case job.kind
            when 'drop' then batch := postrider.bury_batch(job);
            when 'redrive' then batch := postrider.redrive_batch(job);
            when 'cancel' then batch := postrider.cancel_batch(job);
            when 'erase' then batch := postrider.erase_batch(job);
            else batch := postrider.tell_batch(job);
        end case;
    exception
        -- A batch that takes too long stands aside, too: others' jobs go on.
        when query_canceled or others then
            update postrider.job j
            set last_error = sqlerrm, next_at = clock_timestamp() + interval '5 seconds'
            where j.id = job.id;
            return busy_ms;
    end;
    update postrider.job j
    set state = case when batch.is_over then 'completed' else 'running' end,
        position = batch.reached,
        held_from = batch.held_from,
        held_count = batch.held_count,
        paced_to = batch.paced_to,
        next_at = clock_timestamp() + batch.pause,
        done_count = j.done_count + batch.done_count,
        last_error = null,
        finished_at = case when batch.is_over then clock_timestamp() end
    where j.id = job.id;
    if batch.is_over then
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'job.completed', job.endpoint_name,
            jsonb_build_object(
                'id', job.id, 'kind', job.kind, 'count', job.done_count + batch.done_count));
    end if;
    -- As long as it took: another half is left to others.
    return greatest(busy_ms, 1000 * extract(epoch from clock_timestamp() - began))::integer;
end;
$$;
