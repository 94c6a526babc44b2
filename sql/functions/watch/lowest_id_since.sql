-- postrider.lowest_id_since(xid) → an id below or at which no transaction from this one on has sent a message
--
-- Internal: log_ranges. As near as it is known: by the messages themselves where they are few, else by a heartbeat (a
-- transaction with a higher id than its takes numbers above its sequence_floor only); 0 when heartbeats are too young.
-- Uses message_xid_id, heartbeat_xid.
create or replace function postrider.lowest_id_since(p_xid xid8)
returns bigint
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    look constant integer := 100;
    found_count integer;
    lowest bigint;
begin
    select count(*), min(m.id) - 1
    into found_count, lowest
    from (
        select k.id
        from postrider.message k
        where k.xid >= p_xid
        order by k.xid, k.id
        limit look
    ) m;
    if found_count < look then
        -- Above everything when there is none. What is sent from now on, this statement does not see.
        return coalesce(lowest, 9223372036854775807);
    end if;
    return coalesce(
        (
            select (h.sequence_floor << 10) | 1023
            from postrider.heartbeat h
            where h.xid < p_xid
            order by h.xid desc
            limit 1
        ), 0);
end;
$$;
