-- postrider.check_generations()
--
-- Internal, by every dispatcher, and by take_executions where none lives; one at a time. Begins a generation
-- of executions when the present one is full: a second later at the earliest, and the larger the more there
-- are, so that they stay few at any backlog. It is the present one from the next look on, when others see
-- its row, and as little is one that was given up forgotten before. Looks at one of the old ones: when no more than a tenth of it is left, that moves to the present
-- one, and once it is empty, and no transaction is open that has written into it, it is given up. A snapshot
-- of before that lock could miss some: only where each statement has its own. Uses live_execution_due.
create or replace function postrider.check_generations()
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    smallest constant bigint := 2000;
    shortest constant interval := '1 second';
    least_moved constant integer := 20;
    most_moved constant integer := 1000;
    present integer := pg_sequence_last_value('postrider.present_generation');
    former constant integer := present;
    oldest integer;
    -- After a restore the sequence may be ahead of the table.
    looks_everywhere constant boolean := random() < 0.01;
    -- The oldest one has the fewest left, as a rule; but it may have to stay.
    is_oldest_first constant boolean := random() < 0.5;
    last_id constant bigint :=
        coalesce(pg_sequence_last_value('postrider.execution_id_seq'), 0);
    newest postrider.execution_generation;
    old postrider.execution_generation;
    generation_count integer;
    few bigint;
    left_over bigint[];
begin
    if current_setting('transaction_isolation') <> 'read committed'
        or not pg_try_advisory_xact_lock(1886352250, 0)
    then
        return;
    end if;
    if pg_current_xact_id_if_assigned() is null then
        select least(
            (select min(g.id) from postrider.live_generation g),
            (
                select g.id
                from postrider.execution_generation g
                where looks_everywhere
                order by g.id
                limit 1
            ))
        into oldest;
        if oldest <> pg_sequence_last_value('postrider.oldest_generation') then
            perform setval('postrider.oldest_generation', oldest);
        end if;
    end if;
    select g.*
    into newest
    from postrider.execution_generation g
    order by g.id desc
    limit 1;
    select count(*) into generation_count from postrider.live_generation g;
    if newest.id > present then
        if newest.xid is distinct from pg_current_xact_id_if_assigned() then
            present := setval('postrider.present_generation', newest.id);
        end if;
    elsif newest.id is distinct from present then
        -- After a restore the sequence may be ahead of the table.
        insert into postrider.execution_generation (id, begins_after, ends_with)
        values (present, last_id, last_id + smallest);
    elsif newest.ends_with <= last_id and newest.created_at <= clock_timestamp() - shortest then
        update postrider.execution_generation g
        set ends_with = last_id
        where g.id = present;
        insert into postrider.execution_generation (id, begins_after, ends_with)
        values (present + 1, last_id, last_id + smallest * (generation_count + 1));
    end if;

    select g.*
    into old
    from postrider.execution_generation g
    where g.id >= (select s.last_value from postrider.oldest_generation s)
    -- Somebody may be about to write into one that was the present one until now.
    and g.id < former
    order by case when is_oldest_first then g.id else random() end
    limit 1;
    if not found then
        return;
    end if;
    few := least(greatest((old.ends_with - old.begins_after) / 10, least_moved), most_moved);
    left_over := array(
        select l.id
        from postrider.live_execution l
        where l.generation = old.id
        and l.due_at is not null
        limit few + 1
    );
    if cardinality(left_over) > few then
        return;
    end if;
    if cardinality(left_over) > 0 then
        update postrider.live_execution l
        set generation = postrider.enter_generation()
        where l.id = any (array(
            select o.id
            from postrider.live_execution o
            where o.id = any (left_over)
            for update skip locked
        ));
    end if;
    if not pg_try_advisory_xact_lock(1886352250, old.id) then
        return;
    end if;
    -- A statement of its own, which sees whatever was written by those who had the lock before.
    perform
    from postrider.live_execution l
    where l.generation = old.id
    and l.due_at is not null
    limit 1;
    if not found then
        delete from postrider.execution_generation g
        where g.id = old.id;
    end if;
end;
$$;
