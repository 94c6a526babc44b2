-- postrider.message_status(message_id) → how far each delivery of a message is, in order of target
--
-- Application, operator, admin, monitor. Status: pending, processing (a dispatcher has it), completed, failed
-- (in the dead letter queue), expired, cancelled, skipped. No row for a published message that nobody
-- subscribed to. A redriven message whose partition is gone is found by its dead letters. Raises 22004
-- (a null id), 42704 (no such message). Uses message_id, dead_letter_message, deferred_pkey, and what
-- delivery_end uses.
create or replace function postrider.message_status(p_message_id bigint)
returns table (
    endpoint_name text,
    status text,
    retry_count integer,
    next_retry_at timestamptz,
    last_error text,
    completed_at timestamptz)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known record;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.xid, m.targets, m.endpoint_name, m.scheduled_at, m.expires_at is not null as expires
    into known
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        select
            null::xid8 as xid, array_agg(l.target) as targets, null::text as endpoint_name,
            null::timestamptz as scheduled_at, false as expires
        into known
        from (
            select distinct l.target
            from postrider.dead_letter l
            where l.message_id = p_message_id
        ) l;
        if known.targets is null then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
    end if;

    return query
    select
        coalesce(known.endpoint_name, e.name, letter.endpoint_name),
        case
            when d.message_id is not null and (
                d.is_blocked
                or d.run_at > now()
                or not postrider.is_claimed(d.message_id, d.target, d.retry_count)
            ) then 'pending'
            when d.message_id is not null then 'processing'
            when ending.status is not null then ending.status
            -- Its dead letter was cleaned up.
            when known.xid is null or known.xid < postrider.done_before() then 'failed'
            when postrider.is_taken(
                p_message_id, known.xid, case when known.expires then '{}' else known.targets end)
            then 'processing'
            else 'pending'
        end,
        coalesce(d.retry_count, ending.retry_count, history.failed_count),
        case
            when d.message_id is not null then
                case when not d.is_blocked and d.run_at > now() then d.run_at end
            when ending.status is null and known.scheduled_at > now() then known.scheduled_at
        end,
        coalesce(d.last_error, ending.last_error, history.error),
        case when ending.status = 'completed' then ending.at end
    from unnest(known.targets) t (target)
    left join postrider.subscriptions s on s.id = t.target
    left join postrider.endpoints e on e.id = s.endpoint_id
    left join postrider.deferred d on d.message_id = p_message_id and d.target = t.target
    left join lateral postrider.delivery_end(p_message_id, t.target) ending on true
    cross join lateral (
        select
            count(*)::integer as failed_count,
            (array_agg(a.error order by a.started_at desc))[1] as error
        from postrider.attempt a
        where a.message_id = p_message_id
        and a.target = t.target
        and a.outcome <> 'accepted'
    ) history
    left join lateral (
        select l.endpoint_name
        from postrider.dead_letter l
        where l.message_id = p_message_id
        and l.target = t.target
        order by l.id desc
        limit 1
    ) letter on true
    order by t.target;
end;
$$;
