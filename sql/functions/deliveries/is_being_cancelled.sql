-- postrider.is_being_cancelled(message_id, retry_count, recovery_count) → whether somebody may be cancelling a waiting
-- delivery
--
-- Internal, for who has locked the delivery's row and wants to end it; see uncancelled, which looks for what has been
-- cancelled by then. Only what was never attempted can be cancelled while it waits. Whoever cancels has locked the message;
-- otherwise it is locked here, to the end of the transaction, and nobody begins to. Waits for nobody. Uses message_id.
create or replace function postrider.is_being_cancelled(
    p_message_id bigint, p_retry_count integer, p_recovery_count integer)
returns boolean
language plpgsql
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if p_retry_count > 0 or p_recovery_count > 0 then
        return false;
    end if;
    perform from postrider.message k where k.id = p_message_id for key share skip locked;
    -- A message that is not in the log any more cannot be cancelled either.
    return not found and exists (select from postrider.message k where k.id = p_message_id);
end;
$$;
