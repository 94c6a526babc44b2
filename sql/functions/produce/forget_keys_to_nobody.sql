-- postrider.forget_keys_to_nobody(most) → how many were forgotten
--
-- Internal, by any dispatcher once a minute. Idempotency keys of messages that had no target: none of their
-- deliveries ends, so that no end is noted. They go when their window is over and the log has dropped the message: a
-- key that is seen is seen with its message, in one statement. One that a sender is taking at the moment is left to it.
-- Uses idempotency_key_message_id, message_id.
create or replace function postrider.forget_keys_to_nobody(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    created_before constant timestamptz := clock_timestamp() - postrider.idempotency_window();
    old tid[];
begin
    select array_agg(o.ctid)
    into old
    from (
        select k.ctid
        from postrider.idempotency_key k
        where k.message_id < (select m.id from postrider.message m order by m.id limit 1)
        and k.ended_at is null
        and k.created_at < created_before
        -- What waits elsewhere has not ended.
        and not exists (select from postrider.deferred d where d.message_id = k.message_id)
        order by k.message_id
        limit p_most
        for update of k skip locked
    ) o;
    delete from postrider.idempotency_key k
    where k.ctid = any (old);
    return coalesce(cardinality(old), 0);
end;
$$;
