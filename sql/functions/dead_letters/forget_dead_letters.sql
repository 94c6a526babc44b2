-- postrider.forget_dead_letters(most) → how many were removed
--
-- Internal, by cleanup_dlq, and by any dispatcher once a minute. Dead letters whose retention is over,
-- the oldest first, at most so many. One whose delivery waits stays: the message may be nowhere else.
-- One that is locked is being redriven, and left alone. That a delivery has failed stays on record in
-- postrider.ended for as long as its message is in the log, or it would look delivered where its
-- message had other targets, and hold its idempotency key for ever. Uses dead_letter_retention,
-- deferred_pkey, message_id.
create or replace function postrider.forget_dead_letters(p_most integer)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    kept_from timestamptz := clock_timestamp() - make_interval(days => (
        select s.value::integer
        from postrider.setting s
        where s.name = 'dlq_retention_days'
    ));
    places tid[];
begin
    select array_agg(o.ctid)
    into places
    from (
        select l.ctid
        from postrider.dead_letter l
        where coalesce(l.redriven_at, l.failed_at) < kept_from
        and not postrider.is_deferred(l.message_id, l.target)
        order by coalesce(l.redriven_at, l.failed_at)
        limit p_most
        for update of l skip locked
    ) o;
    with gone as (
        delete from postrider.dead_letter l
        where l.ctid = any (places)
        returning l.message_id, l.target, l.endpoint_id, l.status, l.failed_at
    )
    insert into postrider.ended (message_id, target, endpoint_id, reason, at)
    select g.message_id, g.target, g.endpoint_id, 'failed', g.failed_at
    from gone g
    where g.status = 'failed'
    and exists (
        select
        from postrider.message m
        where m.id >= g.message_id
        and m.id <= g.message_id
        order by m.id
        offset 0
    );
    return coalesce(cardinality(places), 0);
end;
$$;
