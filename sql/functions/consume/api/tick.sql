-- postrider.tick() → the id of the tick that it made; null when there is none to be made
--
-- Consumer, application, admin: by whoever is about to read, in a transaction of its own; dispatchers do it when
-- they see new messages. Makes what has been committed readable for consumers with ordering `commit`, and
-- notifies all consumers. Null when nothing is new, when somebody else makes one, when the last tick is
-- younger than tick_interval_ms, and while there is no consumer. Looks at no more than some thousand
-- messages, however many there are. Uses tick_id, message_xid_id, heartbeat_xid.
-- Raises 25001 (in a transaction that has written or locked something, or is not READ COMMITTED), 25006
-- (on a standby), 55000 (the log is from elsewhere, and nobody has adopted it).
create or replace function postrider.tick()
returns bigint
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    perform postrider.check_tick_allowed('tick');
    perform postrider.refuse_copy();
    return postrider.append_tick();
end;
$$;
