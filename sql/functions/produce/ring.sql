-- postrider.ring(channel, message)
--
-- Internal. Notifies when this transaction commits, unless the cluster's queue of notifications is more than
-- half full: where it is full, whoever has notified cannot commit. Whoever is not woken looks by itself: some
-- seconds later, for the next of an ordering key a minute later at most.
create or replace function postrider.ring(p_channel text, p_message text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if postrider.notification_queue_usage() <= 0.5 then
        perform pg_notify(p_channel, p_message);
    end if;
end;
$$;
