-- postrider.prepare_subscription()
--
-- Internal: the trigger before a subscription is made or changed by people, whoever writes, also where
-- session_replication_role turns other triggers off (see is_replicating). Raises 22004 and 22023 with the column and
-- the rule when a value is not valid, and 55000 for the one that stands for its endpoint.
create or replace function postrider.prepare_subscription()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.is_replicating() then
        return new;
    end if;
    if tg_op = 'UPDATE'
        and new.event_type is null
        and (new.filter, new.retry_policy, new.enabled)
            is distinct from (old.filter, old.retry_policy, old.enabled)
    then
        raise exception 'Subscription % stands for its endpoint and cannot be changed', new.id
            using errcode = '55000', hint = 'Change the endpoint.';
    end if;
    if new.enabled is null then
        raise exception 'enabled must not be null' using errcode = '22004';
    end if;
    if jsonb_typeof(new.filter) <> 'object' then
        raise exception 'filter must be an object, got %', jsonb_typeof(new.filter)
            using errcode = '22023';
    end if;
    perform postrider.validate_retry_policy(new.retry_policy);
    return new;
end;
$$;

create or replace trigger prepare
before insert or update of filter, retry_policy, enabled on postrider.subscriptions
for each row execute function postrider.prepare_subscription();

-- Replaced, a trigger fires as others do until this says otherwise.
alter table postrider.subscriptions enable always trigger prepare;
