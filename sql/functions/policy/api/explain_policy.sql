-- postrider.explain_policy(message_id) → the schedule that each delivery of a message is on
--
-- Operator, admin, monitor. One row per endpoint and attempt: by which rule the policy was chosen that is in force
-- now (event_type, subscription, endpoint, settings), the policy, and for each attempt its status (made,
-- under_way, next, coming, unused), the wait before it without jitter, and, for what is to come, when.
-- No time is known where a delivery waits for another one of its ordering key, or for its endpoint to
-- be enabled or resumed. No rows for an endpoint that was dropped. Raises 22004 (a null id), 42704 (no
-- such message). Uses message_id, dead_letter_message, deferred_pkey, event_types_name_key, and what
-- message_status uses.
create or replace function postrider.explain_policy(p_message_id bigint)
returns table (
    endpoint_name text,
    rule text,
    policy jsonb,
    attempt integer,
    status text,
    wait_ms bigint,
    expected_at timestamptz)
language plpgsql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known record;
    event_type_policy jsonb;
begin
    if p_message_id is null then
        raise exception 'Message id must not be null' using errcode = '22004';
    end if;
    select m.targets, m.event_type, m.expires_at
    into known
    from postrider.message m
    where m.id = p_message_id;
    if not found then
        select
            array_agg(distinct l.target) as targets, max(l.event_type) as event_type,
            null::timestamptz as expires_at
        into known
        from postrider.dead_letter l
        where l.message_id = p_message_id;
        if known.targets is null then
            raise exception 'Message % does not exist', p_message_id using errcode = '42704';
        end if;
    end if;
    select t.metadata -> '_retry_policy'
    into event_type_policy
    from postrider.event_types t
    where t.name = known.event_type;

    return query
    with delivery as (
        select
            t.target, e.name, chosen.rule,
            postrider.complete_retry_policy(chosen.policy, chosen.rule) as policy,
            postrider.retry_waits(chosen.policy, chosen.rule) as waits,
            s.status not in ('pending', 'processing') as has_ended,
            s.status = 'processing' as is_under_way,
            -- How many attempts were made.
            s.retry_count + case
                when s.status = 'completed' then 1
                when s.status = 'failed'
                    then (coalesce(letter.cause, '') not in ('stale', 'endpoint_dropped'))::integer
                else 0
            end as made,
            case when not coalesce(d.is_blocked, false) and e.enabled and not e.paused
                then greatest(now(), s.next_retry_at, c.paused_until, c.probe_at)
            end as next_at,
            case when d.message_id is null then known.expires_at else d.expires_at end as expires_at
        from (
            select u.target, row_number() over (order by u.target) as place
            from unnest(known.targets) u (target)
        ) t
        join postrider.message_status(p_message_id) with ordinality s (
            endpoint_name, status, retry_count, next_retry_at, last_error, completed_at, place)
            on s.place = t.place
        join postrider.subscriptions b on b.id = t.target
        join postrider.endpoints e on e.id = b.endpoint_id
        left join postrider.circuit c on c.endpoint_id = e.id
        left join postrider.deferred d on d.message_id = p_message_id and d.target = t.target
        left join postrider.dead_letter letter
            on letter.message_id = p_message_id
            and letter.target = t.target
            and letter.status = 'failed'
        cross join lateral (
            select r.rule, r.policy
            from (
                values
                (
                    1, 'event_type',
                    case when (event_type_policy ->> 'ignore_subscription_override')::boolean
                        then event_type_policy end
                ),
                (2, 'subscription', b.retry_policy),
                (3, 'event_type', event_type_policy),
                (4, 'endpoint', e.retry_policy),
                (5, 'settings', null)
            ) r (position, rule, policy)
            where r.policy is not null
            or r.rule = 'settings'
            order by r.position
            limit 1
        ) chosen
    ), attempt as (
        select
            d.target, d.name, d.rule, d.policy, a.number, d.made, d.has_ended, d.is_under_way,
            d.expires_at, case when a.number = 1 then 0 else d.waits[a.number - 1] end as wait,
            -- The next one has its time already, and the others follow it.
            d.next_at + interval '1 ms' * sum(
                case when a.number > d.made + 1 then coalesce(d.waits[a.number - 1], 0) else 0 end
            ) over (partition by d.target order by a.number) as at
        from delivery d
        cross join lateral generate_series(
            1, greatest(cardinality(d.waits) + 1, d.made + (not d.has_ended)::integer)) a (number)
    )
    select
        a.name, a.rule, a.policy, a.number, step.status, a.wait,
        case when step.status in ('next', 'coming') then a.at end
    from attempt a
    cross join lateral (
        select case
            when a.number <= a.made then 'made'
            when a.has_ended then 'unused'
            when a.number = a.made + 1 and a.is_under_way then 'under_way'
            when a.at >= a.expires_at then 'unused'
            when a.number = a.made + 1 then 'next'
            else 'coming'
        end as status
    ) step
    order by a.target, a.number;
end;
$$;
