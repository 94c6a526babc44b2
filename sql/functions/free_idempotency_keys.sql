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
begin
    if postrider.idempotency_window() = interval '0' then
        with ended as materialized (
            select k.destination, k.key
            from postrider.idempotency_key k
            join postrider.message m on m.id = k.message_id
            where k.message_id = any (p_message_ids)
            and k.ended_at is null
            and postrider.has_ended_everywhere(m.id, m.targets)
            for update of k skip locked
        )
        delete from postrider.idempotency_key k
        using ended e
        where k.destination = e.destination
        and k.key = e.key;
    else
        with ended as materialized (
            select k.destination, k.key
            from postrider.idempotency_key k
            join postrider.message m on m.id = k.message_id
            where k.message_id = any (p_message_ids)
            and k.ended_at is null
            and postrider.has_ended_everywhere(m.id, m.targets)
            for update of k skip locked
        )
        update postrider.idempotency_key k
        set ended_at = clock_timestamp()
        from ended e
        where k.destination = e.destination
        and k.key = e.key;
    end if;
end;
$$;
