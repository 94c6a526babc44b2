-- postrider.has_ended(message_id, target) → whether it is on record how the delivery ended
--
-- Application, operator, admin, monitor: views call it. Said to be cheap, but dearer than is_deferred, so that it
-- is asked after that: see there. Uses what delivery_end uses.
create or replace function postrider.has_ended(p_message_id bigint, p_target integer)
returns boolean
language plpgsql
stable
security definer
cost 20
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    return exists (select from postrider.delivery_end(p_message_id, p_target));
end;
$$;
