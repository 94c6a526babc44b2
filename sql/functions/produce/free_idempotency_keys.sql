-- postrider.free_idempotency_keys(message_ids)
--
-- Internal. Frees the keys of those of these messages that have ended at all their targets: at once where
-- nothing came of them (was_taken_back), or without an idempotency_window; otherwise when that is over
-- (forget_idempotency_keys). One that an open transaction frees at
-- the moment, a cancellation or a send, is left to it: the dispatcher waits for no application, and
-- idempotency_key_holder looks again. Without sequential scans for the reason given there. Uses idempotency_key_message_id.
create or replace function postrider.free_idempotency_keys(p_message_ids bigint[])
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    freed tid[];
    held tid[];
    is_over constant boolean := postrider.idempotency_window() = interval '0';
begin
    select
        array_agg(k.ctid) filter (where is_over or k.is_free),
        array_agg(k.ctid) filter (where not is_over and not k.is_free)
    into freed, held
    from (select distinct i.id from unnest(p_message_ids) i (id) order by i.id) i
    cross join lateral (
        select m.targets
        from postrider.message m
        where m.id >= i.id
        and m.id <= i.id
        order by m.id
        limit 1
    ) m
    cross join lateral (
        select o.ctid, postrider.was_taken_back(i.id, m.targets) as is_free
        from postrider.idempotency_key o
        where o.message_id = i.id
        and o.ended_at is null
        and postrider.has_ended_everywhere(i.id, m.targets)
        offset 0
        for update skip locked
    ) k;
    if freed is not null then
        delete from postrider.idempotency_key k
        where k.ctid = any (freed);
    end if;
    if held is not null then
        update postrider.idempotency_key k
        set ended_at = clock_timestamp()
        where k.ctid = any (held);
    end if;
end;
$$;
