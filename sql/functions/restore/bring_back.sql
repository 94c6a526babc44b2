-- postrider.bring_back() → whether there is more to do at once
--
-- Internal: advance_jobs, by one dispatcher at a time. When the clock was set back, everything that is to happen
-- some time from then is to happen too late by as much: what was written before is brought back. Told by the
-- transaction that wrote the row, so nothing is brought back twice. Rows that somebody holds are passed over, and
-- there is a round again until nobody does and every transaction of before has ended. Leases of dispatchers do
-- not need it (live_dispatchers), nor what compares itself with the clock.
create or replace function postrider.bring_back()
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    shortest_pause constant interval := '2 seconds';
    most_batches constant integer := 10;
    began constant timestamptz := clock_timestamp();
    jump postrider.clock_jump;
    is_over boolean;
begin
    perform postrider.note_clock_jump();
    -- One that waits for somebody's transaction keeps no later one waiting.
    select j.*
    into jump
    from postrider.clock_jump j
    where j.finished_at is null
    and clock_timestamp() not between j.at and j.next_at
    order by j.id
    limit 1;
    if jump.id is null or not postrider.take_chore('clock') then
        return false;
    end if;
    -- As those before have left it.
    select j.*
    into jump
    from postrider.clock_jump j
    where j.id = jump.id
    and j.finished_at is null
    for update skip locked;
    if jump.id is null then
        return false;
    end if;
    if jump.xid = pg_current_xact_id_if_assigned() then
        -- Those who look for what was written before must see this one.
        return true;
    end if;
    if not jump.is_begun then
        jump.is_begun := true;
        jump.is_incomplete :=
            pg_snapshot_xmin(pg_current_snapshot()) <= jump.xid;
        jump := postrider.bring_back_rows(jump);
    end if;
    for batch in 1..most_batches loop
        exit when jump.are_messages_over and jump.are_executions_over
            or clock_timestamp() > began + interval '200 milliseconds';
        if not jump.are_messages_over then
            jump := postrider.bring_back_messages(jump);
        end if;
        if not jump.are_executions_over then
            jump := postrider.bring_back_executions(jump);
        end if;
    end loop;
    is_over := jump.are_messages_over and jump.are_executions_over;
    if is_over then
        perform postrider.ring('postrider', 'deferred');
    end if;
    -- What is still held by then has come to its time by itself.
    if is_over and (not jump.is_incomplete or clock_timestamp() > jump.at + jump.back) then
        jump.finished_at := clock_timestamp();
    elsif is_over then
        jump.message_id := 0;
        jump.target := 0;
        jump.execution_id := 0;
        jump.is_begun := false;
        jump.are_messages_over := false;
        jump.are_executions_over := false;
        jump.is_incomplete := false;
        -- Less and less often: somebody may hold something for long, and each round looks at all that waits.
        jump.next_at := clock_timestamp()
            + greatest(shortest_pause, (clock_timestamp() - jump.at) / 4);
    end if;
    update postrider.clock_jump j
    set message_id = jump.message_id,
        target = jump.target,
        execution_id = jump.execution_id,
        is_begun = jump.is_begun,
        are_messages_over = jump.are_messages_over,
        are_executions_over = jump.are_executions_over,
        is_incomplete = jump.is_incomplete,
        next_at = jump.next_at,
        brought_count = jump.brought_count,
        finished_at = jump.finished_at
    where j.id = jump.id;
    return not is_over;
end;
$$;
