-- postrider.recheck_idempotency_keys(after, most) → the last message that was looked at; 0 when it was the last
--
-- Internal, by any dispatcher once a minute. Frees keys whose messages have ended unseen: where a delivery was recorded
-- while another one of the same message was cancelled, neither transaction saw the other's end. A walk over all keys that
-- are held, so many at a time. Uses idempotency_key_message_id.
create or replace function postrider.recheck_idempotency_keys(p_after bigint, p_most integer)
returns bigint
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    seen bigint[];
    held bigint[];
begin
    select array_agg(w.message_id order by w.message_id), array_agg(w.message_id) filter (where w.ended_at is null)
    into seen, held
    from (
        select k.message_id, k.ended_at
        from postrider.idempotency_key k
        where k.message_id > p_after
        order by k.message_id
        limit p_most
    ) w;
    if held is not null then
        perform postrider.free_idempotency_keys(held);
    end if;
    return case when cardinality(seen) >= p_most then seen[p_most] else 0 end;
end;
$$;
