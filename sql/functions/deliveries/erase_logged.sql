-- postrider.erase_logged(message_ids) → how many messages, dead letters, parked messages and attempts were erased, how
-- many deliveries were cancelled, and how many messages are held
--
-- Internal: a step of erase_batch. What has not ended of these messages is cancelled, as cancel_batch does it. Of a
-- message that has ended everywhere everything goes that somebody wrote: payload or body, headers and metadata in the
-- log, in its dead letters and where consumers have parked it, and what was answered to its attempts. Ids, keys, times
-- and what became of it stay. The copies go first, and the message, by which the job knows, only when none is left:
-- what is in hand or locked is held. Letters are locked before anybody looks whether the message has ended, so that no
-- redrive comes between. Dispatchers, who read what nobody has erased, find what was taken out through the door that
-- log_change is. Uses message_id, deferred_pkey, dead_letter_message, attempt_message_id and the index of
-- parked_message by consumer.
create or replace function postrider.erase_logged(
    p_message_ids bigint[],
    out message_count bigint,
    out letter_count bigint,
    out parked_count bigint,
    out attempt_count bigint,
    out cancelled_count bigint,
    out held_count bigint)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    waiting record;
    told record;
    since xid8;
    ended bigint[];
    letters bigint[];
    parked bigint[];
begin
    message_count := 0;
    letter_count := 0;
    parked_count := 0;
    attempt_count := 0;
    cancelled_count := 0;
    held_count := 0;
    if p_message_ids = '{}' then
        return;
    end if;
    select
        coalesce(array_agg(d.message_id), '{}') as message_ids,
        coalesce(array_agg(d.target), '{}') as targets
    into waiting
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select w.message_id, w.target
        from postrider.deferred w
        where w.message_id = i.id
        offset 0
    ) d;
    if waiting.message_ids <> '{}' then
        told := postrider.tell_deliveries(
            'cancel', waiting.message_ids, waiting.targets, null, null, null);
        cancelled_count := told.told_count;
    end if;
    -- Locks the messages, too.
    told := postrider.cancel_unread(p_message_ids, array(
        select distinct t.target
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select m.targets
            from postrider.message m
            where m.id >= i.id
            and m.id <= i.id
            order by m.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
    ));
    cancelled_count := cancelled_count + told.cancelled_count;
    letters := array(
        select l.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id
            from postrider.dead_letter k
            where k.message_id = i.id
            and k.erased_at is null
            offset 0
            for update skip locked
        ) l
    );
    since := postrider.done_before();
    ended := array(
        select m.id
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.id, k.xid, k.targets
            from postrider.message k
            where k.id = i.id
            offset 0
            for update skip locked
        ) m
        where not exists (
            select
            from unnest(m.targets) t (target)
            where postrider.ended_status(m.id, t.target, m.xid, since) is null
        )
    );
    letter_count := postrider.take_out_of_letters(array(
        select l.id
        from unnest(letters) i (id)
        cross join lateral (
            select k.id, k.message_id
            from postrider.dead_letter k
            where k.id = i.id
            offset 0
        ) l
        where l.message_id = any (ended)
    ));
    parked := array(
        select k.id
        from unnest(ended) i (id)
        cross join postrider.consumer c
        cross join lateral (
            select p.id
            from postrider.parked_message p
            where p.consumer_id = c.id
            and p.message_id = i.id
            and p.erased_at is null
            offset 0
        ) k
    );
    attempt_count := postrider.take_out_of_attempts(ended);
    select e.parked_count into parked_count from postrider.erase_parked(parked) e;
    ended := array(
        select i.id
        from unnest(ended) i (id)
        where not exists (
            select
            from postrider.dead_letter l
            where l.message_id = i.id
            and l.erased_at is null
        )
        and not exists (
            select
            from postrider.consumer c
            join postrider.parked_message k on k.consumer_id = c.id and k.message_id = i.id
            where k.erased_at is null
        )
        and not exists (
            select
            from postrider.attempt a
            where a.message_id = i.id
            and (a.error <> '(erased)' or a.response_body is not null)
        )
    );
    if ended <> '{}' then
        insert into postrider.log_change default values;
        update postrider.message m
        set payload = 'null',
            body = null,
            content_type = null,
            headers = null,
            metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
            erased_at = clock_timestamp()
        where m.id = any (ended);
        delete from postrider.log_change c where c.xid = pg_current_xact_id();
    end if;
    message_count := cardinality(ended);
    held_count := cardinality(p_message_ids) - message_count;
end;
$$;
