-- postrider.ring_workers(queue)
--
-- Internal. Wakes the workers that sleep because there was nothing for them in the queue, when this
-- transaction commits. As with a dispatcher's doorbell, no row is needed: whoever puts something into a
-- queue holds a shared lock of it to the end of the transaction, and looks whether somebody sleeps; a
-- worker says that it sleeps, and then looks whether somebody holds that lock. One of both sees the other.
-- The queue's name has that of a pool in it, and everybody may listen: it is rung with a number that stands for it.
-- Where transactions can be prepared, notifying would forbid it: there workers poll.
create or replace function postrider.ring_workers(p_queue text)
returns void
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    -- A transaction that submits to any number of queues holds no more locks than there are doors.
    queue_key constant integer := hashtext(p_queue) & 255;
begin
    if current_setting('max_prepared_transactions')::integer > 0 then
        return;
    end if;
    if pg_try_advisory_xact_lock_shared(1886352247, queue_key)
        and pg_try_advisory_lock(1886352248, queue_key)
    then
        perform pg_advisory_unlock(1886352248, queue_key);
    else
        perform postrider.ring('postrider:executions', postrider.key_mark(p_queue)::text);
    end if;
end;
$$;
