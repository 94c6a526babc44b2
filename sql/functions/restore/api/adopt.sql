-- postrider.adopt(only_look) → what showed that the log is from elsewhere, and what was done; no row when nothing shows it
--
-- Admin. From then on this database delivers what is in the log, as if it had written it: after a restore, and in
-- a copy that is to deliver beside its original. Brings the log into this cluster's transaction ids
-- (rebase_log), moves sequences ahead, forgets what dispatchers of the original have said of themselves, and remembers
-- which database this is. What the original has delivered since the copy was made is delivered again: unfinished
-- messages and waiting deliveries say how much that may be at most. What schedules would have fired since, the original has
-- fired: they go on from now (schedule.missed in event_log). Doubtful are messages that were sent here before:
-- the original may have given their ids to others. Null: the files were copied, and nobody can say. With p_only_look it changes nothing.
-- In a transaction of its own; nobody sends and no consumer reads until it ends. Raises 25001 (in a
-- transaction that has written or locked something, or is not READ COMMITTED), 25006 (on a standby), 55P03 (somebody
-- holds what has to change).
create or replace function postrider.adopt(p_only_look boolean default false)
returns table (
    found_sign text,
    unfinished_messages bigint,
    waiting_deliveries bigint,
    doubtful_messages bigint)
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '10s'
set jit = off
as $$
#variable_conflict use_variable
declare
    schedule postrider.schedule;
    at constant timestamptz := clock_timestamp();
begin
    perform postrider.check_tick_allowed('adopt');
    found_sign := postrider.foreign_sign();
    if found_sign is null then
        return;
    end if;
    if p_only_look then
        select count(*) into waiting_deliveries from postrider.deferred d;
        return next;
        return;
    end if;
    begin
        -- Whoever comes later waits behind us: no longer than a takeover keeps them waiting.
        perform set_config('lock_timeout', '1s', true);
        lock table postrider.fence in exclusive mode;
        perform set_config('lock_timeout', '10s', true);
        -- Somebody else may have been first.
        found_sign := postrider.foreign_sign();
        if found_sign is null then
            return;
        end if;
        -- A row that was copied was not written by the transaction that it names. Where files were copied nobody knows.
        if not exists (select from postrider.identity i where i.mark = i.xmin) then
            select count(*) into doubtful_messages from postrider.message m where m.xmin = m.xid::xid;
        end if;
        unfinished_messages := postrider.rebase_log();
    exception
        when lock_not_available then
            raise exception 'Nothing was adopted: somebody holds what has to change'
                using errcode = '55P03',
                    hint = 'End the transactions that send or read messages in this database, and adopt again.';
    end;
    select count(*) into waiting_deliveries from postrider.deferred d;

    delete from postrider.identity i;
    insert into postrider.identity (system_identifier, database_oid, relation_oid)
    select postrider.system_identifier(), d.oid, 'postrider.identity'::regclass
    from pg_database d
    where d.datname = current_database();
    -- The version that this writes is of the same transaction.
    update postrider.identity i set mark = i.xmin;
    -- Numbers were left out (rebase_log), whatever the timeline is.
    delete from postrider.timeline t;
    for schedule in
        select s.*
        from postrider.schedule s
        where s.next_at <= at
        order by s.id
        for update
    loop
        update postrider.schedule s
        set next_at = coalesce(
                postrider.next_firing(s.timing, s.every, s.anchor, s.time_zone, at), 'infinity'),
            tried_at = at,
            retry_at = null
        where s.id = schedule.id;
        insert into postrider.event_log (event, details)
        values (
            'schedule.missed',
            jsonb_build_object('schedule', schedule.name, 'from', schedule.next_at, 'to', at));
    end loop;
    insert into postrider.event_log (event, details)
    values (
        'log.adopted',
        jsonb_build_object(
            'found', found_sign, 'unfinished_messages', unfinished_messages,
            'waiting_deliveries', waiting_deliveries, 'doubtful_messages', doubtful_messages,
            'by', session_user));
    return next;
end;
$$;
