-- postrider.announce_subscription()
--
-- Internal: the trigger after people have changed a subscription, whoever writes. Logs the change in
-- event_log, and lets the dispatchers read the endpoint again when the retry policy is another one.
create or replace function postrider.announce_subscription()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    insert into postrider.event_log (event, endpoint_name, details)
    select
        c.event, e.name,
        jsonb_build_object('id', new.id, 'event_type', new.event_type, 'by', session_user)
        || postrider.changes_between(
            jsonb_build_object(
                'filter', old.filter, 'retry_policy', old.retry_policy, 'enabled', old.enabled),
            jsonb_build_object(
                'filter', new.filter, 'retry_policy', new.retry_policy, 'enabled', new.enabled))
    from (
        values
        ('subscription.enabled', new.enabled and not old.enabled),
        ('subscription.disabled', old.enabled and not new.enabled),
        (
            'subscription.altered',
            (new.filter, new.retry_policy) is distinct from (old.filter, old.retry_policy)
        )
    ) c (event, is_so)
    join postrider.endpoints e on e.id = new.endpoint_id
    where c.is_so;
    if new.retry_policy is distinct from old.retry_policy then
        update postrider.endpoints e set version = e.version + 1 where e.id = new.endpoint_id;
    end if;
    return null;
end;
$$;

create or replace trigger announce
after update of filter, retry_policy, enabled on postrider.subscriptions
for each row execute function postrider.announce_subscription();
