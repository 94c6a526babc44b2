-- postrider.drop_old_partitions(retention_months) → how many partitions were dropped
--
-- Internal, by cleanup_old_archive_partitions, whose parameter is checked here. 0 while somebody else is at it, or while a
-- transaction keeps the log locked; event_log says so once a day. Raises 22023 and 25001.
--
-- Unfinished is what lies behind done_before (unread, under way, skipped, cancelled and not read) and
-- what waits in postrider.deferred. A consumer only moves on, unless it is reset, which has to wait.
--
-- To drop a partition, PostgreSQL locks the whole table against everybody, and whoever comes while we
-- wait for that waits behind us. So all is checked first, each wait is a fraction of what senders may
-- wait, and between two tries everything is given back.
create or replace function postrider.drop_old_partitions(p_retention_months integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set timezone = 'UTC'
set lock_timeout = '10ms'
as $$
declare
    most_tries constant integer := 5;
    most_messages constant integer := 6;
    cutoff timestamptz;
    -- What ended before goes even if a consumer has not read it.
    unread_cutoff timestamptz;
    old record;
    readers text[];
    unread jsonb := '{}';
    since xid8;
    needed_from timestamptz;
    kept_from timestamptz;
    messages text[] := '{}';
    records text[];
    parents text[];
    part text;
    newest xid8;
    locked_count bigint;
begin
    if p_retention_months is null or p_retention_months not between 1 and 120 then
        raise exception 'p_retention_months must be between 1 and 120, got %',
            coalesce(p_retention_months::text, 'null') using errcode = '22023';
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception
            'cleanup_old_archive_partitions needs a transaction with isolation level READ COMMITTED, this is %',
            upper(current_setting('transaction_isolation')) using errcode = '25001';
    end if;
    if not postrider.take_chore('partitions') then
        return 0;
    end if;

    cutoff := now() - make_interval(months => p_retention_months);
    select now() - make_interval(days => nullif(s.value::integer, 0))
    into unread_cutoff
    from postrider.setting s
    where s.name = 'consumer_retention';
    -- One that is being reset or dropped: the next time.
    perform c.id from postrider.consumer c for share skip locked;
    get diagnostics locked_count = row_count;
    if locked_count < (select count(*) from postrider.consumer) then
        return 0;
    end if;
    since := postrider.done_before();
    for old in
        select l.name, l.from_at, l.to_at
        from postrider.partitions l
        where l.table_name = 'message'
        and l.to_at <= cutoff
        order by l.from_at
    loop
        exit when cardinality(messages) = most_messages;
        continue when not postrider.is_partition_finished(old.name, old.from_at, old.to_at, since);
        readers := array(
            select c.name
            from postrider.consumer c
            where not postrider.has_read_partition(c, old.name)
            order by c.name
        );
        continue when readers <> '{}' and old.to_at > coalesce(unread_cutoff, '-infinity');
        messages := messages || old.name;
        if readers <> '{}' then
            unread := unread || jsonb_build_object(old.name, readers);
        end if;
    end loop;

    select min(m.created_at) into needed_from from postrider.message_default m;
    select min(l.from_at)
    into kept_from
    from postrider.partitions l
    where l.table_name = 'message'
    and l.name <> all (messages);
    select
        coalesce(array_agg(l.name order by l.from_at, l.name), '{}'),
        coalesce(array_agg(distinct l.table_name), '{}')
    into records, parents
    from postrider.partitions l
    where l.table_name <> 'message'
    and l.to_at <= least(cutoff, needed_from, kept_from);
    if messages || records = '{}' then
        return 0;
    end if;

    for try in 1..most_tries loop
        begin
            -- In the order in which a reader comes by them: table, then partitions. Who has locked one of
            -- these has locked the table before.
            foreach part in array parents loop
                execute format('lock table only postrider.%I in access exclusive mode', part);
            end loop;
            foreach part in array records loop
                execute format('drop table postrider.%I', part);
            end loop;
            if messages <> '{}' then
                perform set_config('lock_timeout', '30ms', true);
                lock table only postrider.message in access exclusive mode;
                perform set_config('lock_timeout', '10ms', true);
            end if;
            foreach part in array messages loop
                -- Nothing has come since: whoever wrote into it held a lock until the end.
                execute format(
                    'select m.xid from postrider.%I m order by m.xid desc limit 1', part)
                into newest;
                if newest >= since then
                    raise lock_not_available;
                end if;
                execute format('drop table postrider.%I', part);
            end loop;
            insert into postrider.event_log (event, details)
            select 'partition.dropped', jsonb_build_object('partition', d.name, 'by', session_user)
            from unnest(records || messages) d (name);
            insert into postrider.event_log (event, details)
            select
                'consumer.messages_dropped',
                jsonb_build_object('consumers', u.value, 'partition', u.key, 'by', session_user)
            from jsonb_each(unread) u;
            return cardinality(records || messages);
        exception
            when lock_not_available then null;
        end;
        perform pg_sleep(0.15);
    end loop;

    insert into postrider.event_log (event, details)
    select
        'partition.drop_postponed',
        jsonb_build_object('partitions', records || messages, 'reason', 'a transaction has locked the log')
    where not exists (
        select
        from postrider.event_log e
        where e.at > now() - interval '1 day'
        and e.event = 'partition.drop_postponed'
        and e.details -> 'partitions' @> to_jsonb(records || messages)
    );
    return 0;
end;
$$;
