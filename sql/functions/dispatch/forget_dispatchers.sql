-- postrider.forget_dispatchers() → how many were forgotten
--
-- Internal, by any dispatcher once a minute. Dispatchers whose lease has run out and who own nothing. Not a
-- part of heartbeat, which must wait for nobody.
create or replace function postrider.forget_dispatchers()
returns integer
language sql
set search_path = pg_catalog, postrider, pg_temp
as $$
    with forgotten as (
        delete from postrider.dispatcher d
        where d.id not in (select l.id from postrider.live_dispatchers() l (id))
        -- Who has just begun has no heartbeat yet. One that began in the future did so before the clock was set back.
        and d.started_at not between clock_timestamp() - (
            select make_interval(secs => s.value::double precision)
            from postrider.setting s
            where s.name = 'stale_recovery_timeout'
        ) and clock_timestamp()
        and not exists (select from postrider.shard s where s.owner = d.id)
        returning d.id
    )
    select count(*)::integer from forgotten;
$$;
