-- postrider.erase_parked(parked message ids) → how many messages, dead letters, parked messages and attempts were
-- erased, how many deliveries were cancelled, and how many are held
--
-- Internal: a step of erase_batch and erase_logged. The attempts at its message go first: where the log has the message
-- no more, nothing else tells whose they are. What somebody has locked is held. Uses parked_message_pkey,
-- attempt_message_id.
create or replace function postrider.erase_parked(
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
    free bigint[] := array(
        select k.id
        from unnest(p_ids) i (id)
        cross join lateral (
            select p.id
            from postrider.parked_message p
            where p.id = i.id
            offset 0
            for update skip locked
        ) k
    );
begin
    message_count := 0;
    letter_count := 0;
    cancelled_count := 0;
    attempt_count := postrider.take_out_of_attempts(array(
        select distinct k.message_id
        from unnest(free) i (id)
        cross join lateral (
            select p.message_id
            from postrider.parked_message p
            where p.id = i.id
            offset 0
        ) k
    ));
    update postrider.parked_message k
    set payload = 'null',
        body = null,
        content_type = null,
        headers = null,
        metadata = jsonb_build_object('postrider_erased_at', clock_timestamp()),
        last_error = case when k.last_error is not null then '(erased)' end,
        erased_at = clock_timestamp()
    where k.id = any (free)
    and not exists (
        select
        from postrider.attempt a
        where a.message_id = k.message_id
        and (a.error <> '(erased)' or a.response_body is not null)
    );
    get diagnostics parked_count = row_count;
    held_count := cardinality(p_ids) - parked_count;
end;
$$;
