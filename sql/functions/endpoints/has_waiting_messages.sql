-- postrider.has_waiting_messages(endpoint_id) → whether messages wait for an endpoint
--
-- Internal: what drop_endpoint and a delete go by. Uses deferred_due, subscriptions_endpoint_id, and what
-- has_unread_messages uses.
create or replace function postrider.has_waiting_messages(p_endpoint_id integer)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
begin
    return exists (
        select
        from postrider.deferred d
        where d.endpoint_id = p_endpoint_id
    )
    or exists (
        select
        from postrider.subscriptions s
        where s.endpoint_id = p_endpoint_id
        and postrider.has_unread_messages(s.id)
    );
end;
$$;
