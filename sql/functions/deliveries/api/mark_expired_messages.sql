-- postrider.mark_expired_messages() → how many deliveries have expired
--
-- Operator, admin. Ends what waits in postrider.deferred and has expired, at whatever endpoint, without waiting
-- for anybody; see expire_waiting. 10,000 at most, because others meet what its transaction has locked. A
-- dispatcher does so every few seconds for its own shards, and ends also what it has claimed and not
-- attempted, which only it can tell. Logged in event_log if there were any.
create or replace function postrider.mark_expired_messages()
returns integer
language sql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    with expired as materialized (
        select postrider.expire_waiting(10000) as delivery_count
    ), logged as (
        insert into postrider.event_log (event, details)
        select
            'messages.expired',
            jsonb_build_object('count', e.delivery_count, 'by', session_user)
        from expired e
        where e.delivery_count > 0
    )
    select e.delivery_count from expired e;
$$;
