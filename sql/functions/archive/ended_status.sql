-- postrider.ended_status(message_id, target, xid, done_before) → how a delivery ended; null while it has not
--
-- Internal: replays. As the view archive says it: completed, failed, expired, cancelled or skipped. Uses what
-- delivery_end uses.
create or replace function postrider.ended_status(
    p_message_id bigint, p_target integer, p_xid xid8, p_done_before xid8)
returns text
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    known text;
begin
    select f.status into known from postrider.delivery_end(p_message_id, p_target) f;
    if known is null and p_xid < p_done_before
        and not postrider.is_deferred(p_message_id, p_target)
    then
        -- Its dead letter was cleaned up.
        return 'failed';
    end if;
    return known;
end;
$$;
