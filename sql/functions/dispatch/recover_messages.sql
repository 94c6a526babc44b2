-- postrider.recover_messages(dispatcher, shards, epochs, message_ids, attempted, spared_ids, spared_targets) → how many
-- deliveries
--
-- Internal. Messages that the last owner of their shard had read and not recorded as done become
-- waiting deliveries, due now: where they may have been attempted with one retry used up, and that
-- attempt in the history. Those that are spared were not attempted, whatever became of the message's others. Of an
-- ordering key only the first may have been, at its endpoint or, as ordering_scope says, across all, so the others are
-- blocked and keep their retries; so does one that was the first until another with a lower number committed or was
-- redriven, and one that waits already: it is attempted after a claim, which recover_claims finds. What is recorded
-- otherwise (delivered in part, dead, ended) stays as it is.
create or replace function postrider.recover_messages(
    p_dispatcher uuid,
    p_shards smallint[],
    p_epochs bigint[],
    p_message_ids bigint[],
    p_attempted boolean,
    p_spared_ids bigint[] default '{}',
    p_spared_targets integer[] default '{}')
returns integer
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set lock_timeout = '500ms'
as $$
declare
    is_global constant boolean := exists (
        select
        from postrider.setting s
        where s.name = 'ordering_scope'
        and s.value = 'global'
    );
    recovered integer;
    -- What did not wait before: no dispatcher claims what it attempts of these.
    fresh_ids bigint[];
    fresh_targets integer[];
    places tid[];
    -- Those that are let go and were not attempted.
    spared tid[];
begin
    if postrider.lost_shards(p_dispatcher, p_shards, p_epochs) <> '{}' then
        return 0;
    end if;
    with put_back as (
        insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, retry_count, recovery_count,
            message_created_at, expires_at, last_error, ordering_key, is_blocked)
        select
            m.id, t.target,
            coalesce((select s.endpoint_id from postrider.subscriptions s where s.id = t.target), 0),
            m.lane >> 4,
            case
                when o.is_blocked then coalesce(m.expires_at, 'infinity')
                when m.scheduled_at > clock_timestamp() then least(m.scheduled_at, m.expires_at)
                else clock_timestamp()
            end,
            o.retry_count, o.retry_count, m.created_at, m.expires_at,
            case when o.retry_count = 1 then '[RETRYABLE] Recovered from stale processing state' end,
            m.ordering_key, o.is_blocked
        from unnest(p_message_ids) i (id)
        cross join lateral (
            select k.*
            from postrider.message k
            where k.id >= i.id
            and k.id <= i.id
            order by k.id
            limit 1
        ) m
        cross join lateral unnest(m.targets) t (target)
        cross join lateral (
            select
                m.ordering_key is not null,
                (
                    p_attempted
                    and m.ordering_key is null
                    and (m.scheduled_at is null or m.scheduled_at <= clock_timestamp())
                    and not exists (
                        select
                        from unnest(p_spared_ids, p_spared_targets) s (id, target)
                        where s.id = m.id
                        and s.target = t.target
                    )
                )::integer
        ) o (is_blocked, retry_count)
        where not postrider.is_deferred(m.id, t.target)
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
        cross join lateral (
            select k.correlation_id
            from postrider.message k
            where k.id >= p.message_id
            and k.id <= p.message_id
            order by k.id
            limit 1
        ) m
        where p.retry_count > 0
    )
    select count(*), array_agg(p.message_id), array_agg(p.target)
    into recovered, fresh_ids, fresh_targets
    from put_back p;

    -- What was cancelled before it was read has been read now, and has ended.
    select array_agg(c.ctid)
    into places
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select o.ctid
        from postrider.cancellation o
        where o.message_id = i.id
        and exists (select from postrider.delivery_end(o.message_id, o.target))
        offset 0
        for update skip locked
    ) c;
    delete from postrider.cancellation c
    where c.ctid = any (places);

    -- One that is locked is being cancelled or has expired, in a transaction that may stay open.
    select
        array_agg(d.ctid) filter (where d.may_be_attempted and f.is_first),
        array_agg(d.ctid) filter (where not (d.may_be_attempted and f.is_first))
    into places, spared
    from unnest(p_message_ids) i (id)
    cross join lateral (
        select k.scheduled_at
        from postrider.message k
        where k.id >= i.id
        and k.id <= i.id
        order by k.id
        limit 1
    ) m
    cross join lateral (
        select
            w.ctid, w.ordering_key,
            p_attempted
                and (w.message_id, w.target) in (select * from unnest(fresh_ids, fresh_targets))
                and not exists (
                    select
                    from unnest(p_spared_ids, p_spared_targets) s (id, target)
                    where s.id = w.message_id
                    and s.target = w.target
                ) as may_be_attempted
        from postrider.deferred w
        where w.message_id = i.id
        and w.is_blocked
        and not exists (
            select
            from postrider.deferred b
            where b.ordering_key is not null
            and (b.ordering_key, b.endpoint_id, b.message_id) >= (w.ordering_key, w.endpoint_id, 0)
            and (b.ordering_key, b.endpoint_id, b.message_id)
                < (w.ordering_key, w.endpoint_id, w.message_id)
            offset 0
        )
        offset 0
        for update skip locked
    ) d
    cross join lateral (
        select not is_global or not exists (
            select
            from postrider.deferred b
            where b.ordering_key || '' is not null
            and (b.ordering_key || '', b.message_id) >= (d.ordering_key, 0)
            and (b.ordering_key || '', b.message_id) < (d.ordering_key, i.id)
            offset 0
        )
    ) f (is_first)
    where m.scheduled_at is null
    or m.scheduled_at <= clock_timestamp();
    update postrider.deferred d
    set is_blocked = false,
        run_at = clock_timestamp()
    where d.ctid = any (spared);
    with released as (
        update postrider.deferred d
        set is_blocked = false,
            run_at = clock_timestamp(),
            retry_count = d.retry_count + 1,
            recovery_count = d.recovery_count + 1,
            last_error = '[RETRYABLE] Recovered from stale processing state'
        where d.ctid = any (places)
        returning d.message_id, d.target, d.endpoint_id, d.retry_count
    )
    insert into postrider.attempt (
        message_id, target, endpoint_id, number, started_at, duration_ms, outcome, error,
        correlation_id)
    select
        r.message_id, r.target, r.endpoint_id, r.retry_count, clock_timestamp(), 0, 'unknown',
        'Recovered from stale processing state', m.correlation_id
    from released r
    cross join lateral (
        select k.correlation_id
        from postrider.message k
        where k.id >= r.message_id
        and k.id <= r.message_id
        order by k.id
        limit 1
    ) m;
    return recovered;
end;
$$;
