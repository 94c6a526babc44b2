-- postrider.announce_endpoint()
--
-- Internal: the trigger after every change of an endpoint, whoever writes. Logs the change in
-- event_log with what was before and after, of secrets only which are set and when; tells its subscriptions whether it is enabled, and wakes the dispatchers, which read
-- again what has a new version.
create or replace function postrider.announce_endpoint()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    details jsonb := jsonb_build_object('by', session_user);
    former jsonb;
    present jsonb;
begin
    if tg_op <> 'INSERT' then
        former := jsonb_build_object(
            'config', postrider.masked_config(old.config), 'retry_policy', old.retry_policy,
            'enabled', old.enabled, 'paused', old.paused);
    end if;
    if tg_op <> 'DELETE' then
        present := jsonb_build_object(
            'config', postrider.masked_config(new.config), 'retry_policy', new.retry_policy,
            'enabled', new.enabled, 'paused', new.paused);
    end if;
    if tg_op = 'DELETE' then
        insert into postrider.event_log (event, endpoint_name, details)
        values ('endpoint.dropped', old.name, details || jsonb_build_object('id', old.id, 'before', former, 'after', null));
    elsif tg_op = 'INSERT' then
        insert into postrider.circuit (endpoint_id) values (new.id);
        insert into postrider.event_log (event, endpoint_name, details)
        values (
            'endpoint.created', new.name,
            details || jsonb_build_object(
                'id', new.id, 'protocol', new.protocol, 'before', null, 'after', present,
                'secrets_set_at', (
                    select s.set_at
                    from postrider.endpoint_secret s
                    where s.endpoint_id = new.id)));
    elsif new.version = old.version then
        return null;
    elsif new.updated_at <> old.updated_at then
        if new.enabled <> old.enabled then
            update postrider.subscriptions s
            set is_endpoint_enabled = new.enabled
            where s.endpoint_id = new.id;
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                case when new.enabled then 'endpoint.enabled' else 'endpoint.disabled' end,
                new.name,
                details || postrider.changes_between(
                    jsonb_build_object('enabled', old.enabled),
                    jsonb_build_object('enabled', new.enabled)));
        end if;
        if new.enabled > old.enabled then
            -- The days without a success begin anew (auto_disable_after_days).
            update postrider.circuit c
            set version = c.version + 1, failing_since = null
            where c.endpoint_id = new.id;
        end if;
        if new.paused <> old.paused then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                case when new.paused then 'endpoint.paused' else 'endpoint.resumed' end,
                new.name,
                details || postrider.changes_between(
                    jsonb_build_object('paused', old.paused), jsonb_build_object('paused', new.paused)));
        end if;
        -- A config that differs in a secret only looks the same here.
        if (new.enabled, new.paused) = (old.enabled, old.paused)
            or (new.config, new.retry_policy) is distinct from (old.config, old.retry_policy)
        then
            insert into postrider.event_log (event, endpoint_name, details)
            values (
                'endpoint.altered', new.name,
                details
                || postrider.changes_between(
                    former - array['enabled', 'paused'], present - array['enabled', 'paused'])
                || jsonb_build_object(
                    'secrets_set_at', (
                        select s.set_at
                        from postrider.endpoint_secret s
                        where s.endpoint_id = new.id)));
        end if;
    end if;
    perform postrider.ring('postrider', 'endpoints');
    return null;
end;
$$;

create or replace trigger announce
after insert or update or delete on postrider.endpoints
for each row execute function postrider.announce_endpoint();
