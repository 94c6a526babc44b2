-- postrider.uncancelled(places) → those of these waiting deliveries that nobody has cancelled, and how many somebody
-- may be cancelling
--
-- Internal, for who has locked them and wants to end them. A message may be cancelled while a dispatcher reads it: the
-- dispatcher lets it wait until that transaction is over (see "Cancelling" in ARCHITECTURE.md), so for a moment a row
-- waits of which it is on record how it has ended. That row is the dispatcher's to take away. A lock
-- first (is_being_cancelled) and then a look: what is committed by then is seen. Uses message_id, cancellation_pkey.
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
    under_way tid[];
begin
    under_way := array(
        select d.ctid
        from postrider.deferred d
        where d.ctid = any (p_places)
        and postrider.is_being_cancelled(d.message_id, d.retry_count, d.recovery_count)
    );
    under_way_count := cardinality(under_way);
    select coalesce(array_agg(d.ctid order by d.message_id, d.target), '{}')
    into free
    from postrider.deferred d
    where d.ctid = any (p_places)
    and d.ctid <> all (under_way)
    and not exists (
        select
        from postrider.cancellation c
        where c.message_id = d.message_id
        and c.target = d.target
    );
end;
$$;
