-- postrider.erase_letters(dead letter ids) → how many messages, dead letters, parked messages and attempts were erased,
-- how many deliveries were cancelled, and how many letters are held
--
-- Internal: a step of erase_batch, for letters whose message is not in the log any more, or was erased there. What waits
-- of one that was redriven is cancelled first: nothing but the letter has the message then. Attempts are in partitions
-- of their own, and may be left. They go first: by the letter the job knows whose they are. What is in hand or locked
-- is held. Uses dead_letter_pkey, deferred_pkey, attempt_message_id.
create or replace function postrider.erase_letters(
    p_ids bigint[],
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
    letters record;
    told record;
begin
    message_count := 0;
    letter_count := 0;
    parked_count := 0;
    attempt_count := 0;
    cancelled_count := 0;
    held_count := 0;
    if p_ids = '{}' then
        return;
    end if;
    select
        coalesce(array_agg(l.id), '{}') as ids,
        coalesce(array_agg(l.message_id), '{}') as message_ids,
        coalesce(array_agg(l.target), '{}') as targets
    into letters
    from unnest(p_ids) i (id)
    cross join lateral (
        select k.id, k.message_id, k.target
        from postrider.dead_letter k
        where k.id = i.id
        and not exists (
            select
            from postrider.message m
            where m.id = k.message_id
            and m.erased_at is null
        )
        offset 0
        for update of k skip locked
    ) l;
    told := postrider.tell_deliveries(
        'cancel', letters.message_ids, letters.targets, null, null, null);
    cancelled_count := told.told_count;
    attempt_count := postrider.take_out_of_attempts(array(
        select distinct l.message_id
        from unnest(letters.message_ids, letters.targets) l (message_id, target)
        where not postrider.is_deferred(l.message_id, l.target)
    ));
    letter_count := postrider.take_out_of_letters(array(
        select l.id
        from unnest(letters.ids, letters.message_ids, letters.targets) l (id, message_id, target)
        where not postrider.is_deferred(l.message_id, l.target)
        and not exists (
            select
            from postrider.attempt a
            where a.message_id = l.message_id
            and (a.error <> '(erased)' or a.response_body is not null)
        )
    ));
    held_count := cardinality(p_ids) - letter_count;
end;
$$;
