-- postrider.get_worker_status() → one row per live dispatcher, the one that runs longest first
--
-- Operator, admin, monitor. A dispatcher is live while its lease lasts (acting_dispatchers). Its numbers are those of its last
-- heartbeat and count from its start, or since it lost the database; `clock_offset` is how far its
-- host's clock is ahead of this database's. Uses heartbeat_dispatcher, from its end.
create or replace function postrider.get_worker_status()
returns table (
    id uuid,
    host text,
    pid integer,
    version text,
    shards smallint[],
    started_at timestamptz,
    heartbeat_at timestamptz,
    messages_processed bigint,
    in_flight integer,
    error_count bigint,
    last_error text,
    clock_offset interval)
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select
        d.id, d.host, d.pid, d.version,
        array(
            select s.shard
            from postrider.shard s
            where s.owner = d.id
            order by s.shard
        ),
        d.started_at, newest.at,
        coalesce((newest.statistics ->> 'messages_processed')::bigint, 0),
        coalesce((newest.statistics ->> 'in_flight')::integer, 0),
        coalesce((newest.statistics ->> 'error_count')::bigint, 0),
        newest.statistics ->> 'last_error',
        (newest.statistics ->> 'clock_offset_ms')::double precision * interval '1 millisecond'
    from postrider.dispatcher d
    cross join lateral (
        select h.at, h.statistics
        from postrider.heartbeat h
        where h.dispatcher = d.id
        order by h.seq desc
        limit 1
    ) newest
    where d.id in (select a.id from postrider.acting_dispatchers() a (id))
    order by d.started_at, d.id;
$$;
