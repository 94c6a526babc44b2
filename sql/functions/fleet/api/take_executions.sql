-- postrider.take_executions(worker, limit, wait, epoch) → executions for this worker to start
--
-- Worker, application, admin. For workers on the carrier postgres. They are scheduled for it then: nobody else
-- gets them until their time to live is over, it gives them back, or it is lost. Never more than its
-- capacity has room for, together with what it has already. Waits until there is something, at most for
-- p_wait (0 to 60 seconds); it may return earlier with nothing, when it has done the timeout monitor's
-- work. In a transaction of its own. Raises 22004 (a null worker), 22023 (a value out of its range), 25001 (isolation
-- level), 42501 (another role has registered it), 42704 (no such worker), 55000 (it has to register again, or gets its
-- executions by RabbitMQ, or in a copy that nobody has adopted).
create or replace function postrider.take_executions(
    p_worker integer,
    p_limit integer default 1,
    p_wait interval default null,
    p_epoch integer default null)
returns table (
    execution_id bigint,
    fence bigint,
    action text,
    parameters jsonb,
    attempt integer,
    priority integer,
    expires_at timestamptz,
    correlation_id uuid)
language plpgsql
rows 100
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
#variable_conflict use_column
declare
    most_executions constant integer := 10000;
    shortest_pause constant double precision := 0.005;
    longest_pause constant double precision := 0.05;
    deadline constant timestamptz := clock_timestamp() + coalesce(p_wait, '0');
    pause double precision := shortest_pause;
    known postrider.worker;
begin
    if p_limit is null or p_limit not between 1 and most_executions then
        raise exception 'p_limit must be between 1 and %, got %', most_executions,
            coalesce(p_limit::text, 'null') using errcode = '22023';
    end if;
    perform postrider.check_duration('p_wait', p_wait, '0 seconds', '60 seconds');
    perform postrider.refuse_copy();
    -- An older snapshot does not see what others have been given since: more would be scheduled than limits and
    -- capacity allow.
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            'take_executions needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    known := postrider.live_worker(p_worker, p_epoch);
    while clock_timestamp() < deadline loop
        begin
            return query
            select t.*
            from postrider.take_at_once(p_worker, p_limit, known.epoch) t;
            if found or pg_current_xact_id_if_assigned() is not null then
                -- What was written, if only by the monitor, is to be seen by others.
                return;
            end if;
            raise sqlstate 'PR001';
        exception
            -- No lock is held while it sleeps.
            when sqlstate 'PR001' then null;
        end;
        perform pg_sleep(
            least(pause, greatest(extract(epoch from deadline - clock_timestamp()), 0.001)));
        pause := least(pause * 2, longest_pause);
    end loop;
    return query
    select t.*
    from postrider.take_at_once(p_worker, p_limit, known.epoch) t;
end;
$$;
