-- postrider.recover_messages(dispatcher, shards, epochs, message_ids, attempted) → how many deliveries
--
-- Internal. Messages that the last owner of their shard had read and not recorded as done become
-- waiting deliveries, due now: with one retry used up where they may have been attempted. What is
-- recorded otherwise (waiting, dead, ended) stays as it is.
create or replace function postrider.recover_messages(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_message_ids bigint[],
    p_attempted boolean)
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    recovered integer;
begin
    perform pg_advisory_xact_lock_shared(1886352244, 1000);
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return 0;
    end if;
    insert into postrider.deferred (
        message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
        message_created_at, expires_at, last_error)
    select
        m.id, t.target, coalesce(s.endpoint_id, 0), m.lane >> 4, clock_timestamp(),
        p_attempted::integer, p_attempted::integer, m.created_at, m.expires_at,
        case when p_attempted then '[RETRYABLE] Recovered from stale processing state' end
    from unnest(p_message_ids) i (id)
    join postrider.message m on m.lane = (i.id & 1023)::smallint and m.id = i.id
    cross join lateral unnest(m.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    where not exists (
        select
        from postrider.dead_letter l
        where l.message_id = m.id
        and l.target = t.target
    )
    and not exists (
        select
        from postrider.ended e
        where e.message_id = m.id
        and e.target = t.target
    )
    on conflict (message_id, target) do nothing;
    get diagnostics recovered = row_count;
    return recovered;
end;
$$;
