-- postrider.free_idempotency_keys(message_ids)
--
-- Internal. Frees the keys of those of these messages that have ended at all their targets: at once,
-- or when idempotency_window is over (forget_idempotency_keys). One that an open transaction frees at
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
    held tid[];
begin
    select array_agg(k.ctid)
    into held
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
        select o.ctid
        from postrider.idempotency_key o
        where o.message_id = i.id
        and o.ended_at is null
        and postrider.has_ended_everywhere(i.id, m.targets)
        offset 0
        for update skip locked
    ) k;
    if held is null then
        return;
    end if;
    if postrider.idempotency_window() = interval '0' then
        delete from postrider.idempotency_key k
        where k.ctid = any (held);
    else
        update postrider.idempotency_key k
        set ended_at = clock_timestamp()
        where k.ctid = any (held);
    end if;
end;
$$;
