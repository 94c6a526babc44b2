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
    removed integer;
begin
    with old as materialized (
        select l.id, l.message_id, l.target, l.endpoint_id, l.status, l.failed_at
        from postrider.dead_letter l
        where coalesce(l.redriven_at, l.failed_at) < kept_from
        and not exists (
            select
            from postrider.deferred d
            where d.message_id = l.message_id
            and d.target = l.target
        )
        order by coalesce(l.redriven_at, l.failed_at)
        limit p_most
        for update of l skip locked
    ), gone as (
        delete from postrider.dead_letter l
        using old o
        where l.id = o.id
    ), noted as (
        insert into postrider.ended (message_id, target, endpoint_id, reason, at)
        select o.message_id, o.target, o.endpoint_id, 'failed', o.failed_at
        from old o
        where o.status = 'failed'
        and exists (select from postrider.message m where m.id = o.message_id)
    )
    select count(*) into removed from old o;
    return removed;
end;
$$;
