-- postrider.was_taken_back(message_id, targets) → whether all its deliveries have expired or were cancelled
--
-- Internal. Nothing came of such a message, so its idempotency key is free at once. False for a message to nobody. Uses
-- what delivery_end uses.
create or replace function postrider.was_taken_back(p_message_id bigint, p_targets integer[])
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return p_targets <> '{}' and not exists (
        select
        from unnest(p_targets) t (target)
        left join lateral postrider.delivery_end(p_message_id, t.target) f on true
        where f.status is null
        or f.status not in ('expired', 'cancelled')
    );
end;
$$;
