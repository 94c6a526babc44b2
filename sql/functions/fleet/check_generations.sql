-- postrider.check_generations()
--
-- Internal, by every dispatcher, and by take_executions where none lives. Begins a generation
-- of executions when the present one is full: a second later at the earliest, and the larger the more there
-- are, so that they stay few at any backlog. It is the present one from the next look on, when others see
-- its row, and as little is one that was given up forgotten before. Looks at one of the old ones: when no more
-- than a tenth of it is left, that moves to the present one, and once it is empty, and no transaction is open
-- that has written into it, it is given up. A snapshot of before that could miss some: only where each
-- statement has its own. Whoever keeps the transaction open keeps nobody else from doing all that: others begin
-- one with another id, and its lock is not that of any that is there. While there are as many as locks, none
-- begins. Uses live_execution_due.
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
    lock_count constant integer := 32;
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
    old_end bigint;
    few bigint;
    left_over bigint[];
begin
    if current_setting('transaction_isolation') <> 'read committed' then
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
        perform postrider.pass_generation();
    elsif newest.id is distinct from present then
        -- After a restore the sequence may be ahead of the table.
        insert into postrider.execution_generation (id, begins_after, ends_with)
        select present, last_id, last_id + smallest
        where postrider.reserve_generation(present)
        on conflict do nothing;
    elsif newest.ends_with <= last_id
        -- In the future: the clock was set back.
        and newest.created_at not between clock_timestamp() - shortest and clock_timestamp()
    then
        for next_id in present + 1..present + lock_count loop
            -- Looked at again once it is ours: somebody may have begun it until then.
            if not exists (
                select from postrider.live_generation g where g.id % lock_count = next_id % lock_count
            )
                and postrider.reserve_generation(next_id)
            then
                insert into postrider.execution_generation (id, begins_after, ends_with)
                select next_id, last_id, last_id + smallest * (generation_count + 1)
                where not exists (
                    select from postrider.live_generation g where g.id % lock_count = next_id % lock_count
                );
                exit;
            end if;
        end loop;
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
    select g.begins_after
    into old_end
    from postrider.execution_generation g
    where g.id > old.id
    order by g.id
    limit 1;
    few := least(greatest((old_end - old.begins_after) / 10, least_moved), most_moved);
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
    if not postrider.is_generation_left(old.id) then
        return;
    end if;
    -- A statement of its own, which sees whatever was written by those who were in it.
    perform
    from postrider.live_execution l
    where l.generation = old.id
    and l.due_at is not null
    limit 1;
    if not found then
        delete from postrider.execution_generation g
        where g.id = any (array(
            select o.id
            from postrider.execution_generation o
            where o.id = old.id
            for update skip locked
        ));
    end if;
end;
$$;
