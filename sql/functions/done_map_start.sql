-- postrider.done_map_start() → the sequence number behind which done_map begins
--
-- Application, operator, admin, monitor: the view queue calls it. As low as something can be unfinished, but not
-- more than the newest 5,000 numbers: what lies before is looked up one by one.
create or replace function postrider.done_map_start()
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
    select greatest(postrider.pending_floor() >> 10, s.last_value - 5000, 0)
    from postrider.message_sequence s;
$$;
