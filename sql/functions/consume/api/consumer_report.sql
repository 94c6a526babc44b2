-- postrider.consumer_report(consumer_id, partition) → where it is, how far behind, what it waits for
--
-- Consumer, application, operator, admin, monitor: the view consumers calls it. Costs the same at any backlog; see
-- consumer_lag. What the schema's owner may not see of other sessions is null, and so is what they run, unless the
-- role that asks (caller, over HTTP that of the token) has pg_read_all_stats itself: other applications' values stand
-- there. Uses consumer_position_newest, parked_message_partition and what consumer_lag uses.
create or replace function postrider.consumer_report(p_consumer_id integer, p_partition integer)
returns table (
    "position" bigint,
    tick bigint,
    message_count bigint,
    lag_messages bigint,
    lag_seconds double precision,
    last_fetched_at timestamptz,
    last_acknowledged_at timestamptz,
    parked_count bigint,
    waits_since timestamptz,
    waits_for_pid integer,
    waits_for_gid text,
    waits_for_age interval,
    waits_for_query text)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    last_id constant bigint := 9223372036854775807;
    most_parked constant integer := 10000;
    most_characters constant integer := 500;
    reader postrider.consumer;
    known postrider.consumer_position;
    lag record;
begin
    select c.* into reader from postrider.consumer c where c.id = p_consumer_id;
    select p.* into known from postrider.newest_position(p_consumer_id, p_partition) p;
    select g.* into lag from postrider.consumer_lag(reader, p_partition) g;

    tick := nullif(known.tick, 0);
    position := nullif(known.message_id, 0) >> 10;
    if known.message_id = last_id then
        select t.last_id >> 10 into position from postrider.tick t where t.id = known.tick;
    end if;
    message_count := known.message_count;
    lag_messages := lag.message_count;
    lag_seconds := coalesce(
        greatest(extract(epoch from clock_timestamp() - lag.oldest_at), 0), 0);
    last_fetched_at := known.fetched_at;
    last_acknowledged_at := known.acknowledged_at;
    select count(*)
    into parked_count
    from (
        select
        from postrider.parked_message m
        where m.consumer_id = p_consumer_id
        and m.partition = p_partition
        limit most_parked
    ) n;

    waits_since := lag.blocked_at;
    if waits_since is not null then
        select
            l.pid, p.gid, clock_timestamp() - coalesce(a.xact_start, p.prepared),
            case when pg_has_role(postrider.caller(), 'pg_read_all_stats', 'usage')
                then left(nullif(nullif(a.query, '<insufficient privilege>'), ''), most_characters)
            end
        into waits_for_pid, waits_for_gid, waits_for_age, waits_for_query
        from (select pg_snapshot_xmin(pg_current_snapshot())::xid as xid) x
        left join pg_locks l
            on l.locktype = 'transactionid'
            and l.transactionid = x.xid
            and l.mode = 'ExclusiveLock'
            and l.granted
        left join pg_stat_activity a on a.pid = l.pid
        left join pg_prepared_xacts p on p.transaction = x.xid;
    end if;
    return next;
end;
$$;
