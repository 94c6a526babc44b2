-- postrider.recover_messages(dispatcher, shards, epochs, message_ids, attempted) → how many deliveries
--
-- Internal. Messages that the last owner of their shard had read and not recorded as done become
-- waiting deliveries, due now: where they may have been attempted with one retry used up, and that
-- attempt in the history. Of an ordering key only the first may have been, so the others are blocked
-- and keep their retries. What is recorded otherwise (waiting, delivered in part, dead, ended) stays as
-- it is.
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
    with put_back as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error, ordering_key, is_blocked)
        select
            m.id, t.target, coalesce(s.endpoint_id, 0), m.lane >> 4,
            case
                when o.is_blocked then coalesce(m.expires_at, 'infinity')
                when m.scheduled_at > clock_timestamp() then least(m.scheduled_at, m.expires_at)
                else clock_timestamp()
            end,
            o.retry_count, o.retry_count, m.created_at, m.expires_at,
            case when o.retry_count = 1 then '[RETRYABLE] Recovered from stale processing state' end,
            m.ordering_key, o.is_blocked
        from unnest(p_message_ids) i (id)
        join postrider.message m on m.id = i.id
        cross join lateral unnest(m.targets) t (target)
        left join postrider.subscriptions s on s.id = t.target
        cross join lateral (
            select
                m.ordering_key is not null,
                (
                    p_attempted
                    and m.ordering_key is null
                    and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
                )::integer
        ) o (is_blocked, retry_count)
        where not exists (
            select
            from postrider.deferred d
            where d.message_id = m.id
            and d.target = t.target
        )
        and not exists (select from postrider.delivery_end(m.id, t.target))
        on conflict (message_id, target) do nothing
        returning message_id, target, endpoint_id, retry_count
    ), noted as (
        insert into postrider.attempt (
            message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
            correlation_id)
        select
            p.message_id, p.target, p.endpoint_id, p.retry_count, clock_timestamp(), 0, 'unknown',
            'Recovered from stale processing state', m.correlation_id
        from put_back p
        join postrider.message m on m.id = p.message_id
        where p.retry_count > 0
    )
    select count(*) into recovered from put_back p;

    -- What was cancelled before it was read has been read now, and has ended.
    delete from postrider.cancellation c
    where c.message_id = any (p_message_ids)
    and exists (select from postrider.delivery_end(c.message_id, c.target));

    with first as materialized (
        -- One that is locked is being cancelled or has expired, in a transaction that may stay open.
        select d.message_id, d.target
        from postrider.deferred d
        join postrider.message m on m.id = d.message_id
        where d.message_id = any (p_message_ids)
        and d.is_blocked
        and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key = d.ordering_key
            and b.endpoint_id = d.endpoint_id
            and b.message_id < d.message_id
        )
        for update of d skip locked
    ), released as (
        update postrider.deferred d
        set is_blocked = false,
            run_at = clock_timestamp(),
            retry_count = d.retry_count + p_attempted::integer,
            recovery_count = d.recovery_count + p_attempted::integer,
            last_error = case
                when p_attempted then '[RETRYABLE] Recovered from stale processing state'
                else d.last_error
            end
        from first f
        where d.message_id = f.message_id
        and d.target = f.target
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    )
    insert into postrider.attempt (
        message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
        correlation_id)
    select
        r.message_id, r.target, r.endpoint_id, r.retry_count, clock_timestamp(), 0, 'unknown',
        'Recovered from stale processing state', m.correlation_id
    from released r
    join postrider.message m on m.id = r.message_id
    where p_attempted;
    return recovered;
end;
$$;
