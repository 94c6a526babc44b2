-- postrider.has_ended_everywhere(message_id, targets) → whether the message has ended at all these targets
--
-- Internal. See delivery_end.
create or replace function postrider.has_ended_everywhere(p_message_id bigint, p_targets integer[])
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return not exists (
        select
        from unnest(p_targets) t (target)
        where not exists (select from postrider.delivery_end(p_message_id, t.target))
    );
end;
$$;
