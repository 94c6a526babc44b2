-- postrider.is_position_behind(position, xid, message_id) → whether the message lies before a position
--
-- Internal. The same rule as Position::is_behind of postrider-core, on what a checkpoint holds.
create or replace function postrider.is_position_behind(
    p_position jsonb, p_xid xid8, p_message_id bigint)
returns boolean
language sql
immutable
parallel safe
set search_path = pg_catalog, postrider, pg_temp
as $$
    select pg_visible_in_snapshot(p_xid, (p_position ->> 'base')::pg_snapshot)
        or coalesce(
            p_message_id <= (p_position #>> '{window,id}')::bigint
            and pg_visible_in_snapshot(p_xid, (p_position #>> '{window,top}')::pg_snapshot), false);
$$;
