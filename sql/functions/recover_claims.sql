-- postrider.recover_claims(dispatcher, shards, epochs, last_owner, spared) → how many were recovered
--
-- Internal. Waiting deliveries that the last owner had in hand when it went away: due now, one retry
-- used up, and the attempt that may have been made in the history. Those whose message id is among the spared are known not to have been attempted, and so are
-- those behind another one of their ordering key.
create or replace function postrider.recover_claims(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_last_owner uuid,
    p_spared bigint[])
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
    with claimed as (
        select distinct r.message_id, r.target, r.retry_count
        from postrider.claim c
        cross join lateral unnest(c.message_ids, c.targets, c.retry_counts)
            r (message_id, target, retry_count)
        where c.owner = p_last_owner
        and r.message_id <> all (p_spared)
    ), put_back as (
        update postrider.deferred d
        set run_at = clock_timestamp(),
            retry_count = d.retry_count + 1,
            recovery_count = d.recovery_count + 1,
            is_blocked = false,
            last_error = '[RETRYABLE] Recovered from stale processing state'
        from claimed c
        where d.message_id = c.message_id
        and d.target = c.target
        and d.retry_count = c.retry_count
        and d.shard = any (p_shards)
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key = d.ordering_key
            and b.endpoint_id = d.endpoint_id
            and b.message_id < d.message_id
        )
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    ), noted as (
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
            correlation_id)
        select
            p.message_id, p.target, p.endpoint_id, p.retry_count, clock_timestamp(), 0, 'unknown',
            'Recovered from stale processing state', m.correlation_id
        from put_back p
        left join postrider.message m on m.id = p.message_id
    )
    select count(*) into recovered from put_back p;
    return recovered;
end;
$$;
