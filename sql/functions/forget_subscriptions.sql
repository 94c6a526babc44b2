-- postrider.forget_subscriptions(most) → how many were removed
--
-- Internal, by any dispatcher once a minute. Subscriptions that ended long before the oldest message that the
-- log may still hold: nothing names them any more. What waits elsewhere names its endpoint. A week is left
-- for an unsubscribe whose transaction stayed open: until its end messages went to the subscription. Reads
-- the whole table, a row for each subscription.
create or replace function postrider.forget_subscriptions(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    kept_from constant timestamptz := least(
        (
            select min(p.from_at)
            from postrider.partitions p
            where p.table_name = 'message'
        ),
        (select min(m.created_at) from postrider.message_default m)) - interval '7 days';
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
