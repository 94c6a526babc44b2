-- postrider.uncancelled(places) → those of these waiting deliveries that nobody has cancelled, and how many somebody
-- may be cancelling
--
-- Internal, for who has locked them and wants to end them. A message may be cancelled while a dispatcher reads it: the
-- dispatcher lets it wait until that transaction is over (see "Cancelling" in ARCHITECTURE.md), so for a moment a row
-- waits of which it is on record how it has ended. That row is the dispatcher's to take away. Only what was never
-- attempted can be cancelled like that. A lock first and then a look: what is committed by then is seen. Uses message_id,
-- cancellation_pkey.
create or replace function postrider.uncancelled(
    p_places tid[],
    out free tid[],
    out under_way_count bigint)
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    doubtful tid[];
    decided tid[];
begin
    select
        coalesce(array_agg(d.ctid), '{}'),
        coalesce(
            array_agg(d.ctid)
            filter (
                where m.is_decided
                or not exists (select from postrider.message k where k.id = d.message_id)
            ),
            '{}')
    into doubtful, decided
    from postrider.deferred d
    left join lateral (
        select true as is_decided
        from postrider.message k
        where k.id = d.message_id
        offset 0
        for key share skip locked
    ) m on true
    where d.ctid = any (p_places)
    and d.retry_count = 0
    and d.recovery_count = 0;
    under_way_count := cardinality(doubtful) - cardinality(decided);
    select coalesce(array_agg(d.ctid order by d.message_id, d.target), '{}')
    into free
    from postrider.deferred d
    where d.ctid = any (p_places)
    and (d.ctid = any (decided) or d.ctid <> all (doubtful))
    and not exists (
        select
        from postrider.cancellation c
        where c.message_id = d.message_id
        and c.target = d.target
    );
end;
$$;
