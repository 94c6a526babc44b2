-- postrider.forget_subscriptions(most) → how many were removed
--
-- Internal, by any dispatcher once a minute. Subscriptions that ended long before the oldest message that the log may
-- still hold, that waits, or that may be redriven: nothing names them any more, and nothing will. A week is left for an
-- unsubscribe whose transaction stayed open: until its end messages went to the subscription. Uses
-- subscriptions_ended_at, deferred_pkey, dead_letter_failed.
create or replace function postrider.forget_subscriptions(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
    kept_from constant timestamptz := least(
        (select min(p.from_at) from postrider.partitions p where p.table_name = 'message'),
        (select m.created_at from postrider.message_default m order by m.id limit 1),
        (select d.message_created_at from postrider.deferred d order by d.message_id, d.target limit 1),
        (
            select l.message_created_at
            from postrider.dead_letter l
            where l.status = 'failed'
            order by l.message_id, l.target
            limit 1
        )) - interval '7 days';
    old integer[];
begin
    old := array(
        select s.id
        from postrider.subscriptions s
        where s.ended_at < kept_from
        order by s.ended_at
        limit p_most
        for update skip locked
    );
    delete from postrider.subscriptions s
    where s.id = any (old);
    return cardinality(old);
end;
$$;
