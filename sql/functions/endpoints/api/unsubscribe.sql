-- postrider.unsubscribe(subscription_id) → whether it was in force
--
-- Admin. What was published before is still delivered. Logged in event_log. Raises 22004 (a null),
-- 42704 (no such subscription), 55000 (an endpoint's own, which cannot be ended).
create or replace function postrider.unsubscribe(p_subscription_id bigint)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known postrider.subscriptions;
begin
    if p_subscription_id is null then
        raise exception 'Subscription must not be null' using errcode = '22004';
    end if;
    select s.*
    into known
    from postrider.subscriptions s
    where s.id = p_subscription_id
    for update;
    if known.id is null then
        raise exception 'Subscription % does not exist', p_subscription_id using errcode = '42704';
    end if;
    if known.event_type is null then
        raise exception 'Subscription % stands for its endpoint and cannot be ended',
            p_subscription_id using errcode = '55000', hint = 'Drop or disable the endpoint.';
    end if;
    if known.ended_at is not null then
        return false;
    end if;
    update postrider.subscriptions s set ended_at = now() where s.id = known.id;
    insert into postrider.event_log (event, endpoint_name, details)
    select
        'subscription.ended', e.name,
        jsonb_build_object(
            'id', known.id, 'event_type', known.event_type, 'by', session_user, 'after', null,
            'before', jsonb_build_object(
                'filter', known.filter, 'retry_policy', known.retry_policy, 'enabled', known.enabled))
    from postrider.endpoints e
    where e.id = known.endpoint_id;
    return true;
end;
$$;
