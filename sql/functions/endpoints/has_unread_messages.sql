-- postrider.has_unread_messages(target) → whether the log holds a message for it that is not finished
--
-- Internal. Reads the log from the oldest checkpoint on, so its cost grows with the backlog, not with
-- the log. Uses message_xid_id.
create or replace function postrider.has_unread_messages(p_target integer)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, postrider, pg_temp
as $$
declare
    since xid8 := postrider.done_before();
begin
    return exists (
        select
        from postrider.message m
        where m.xid >= since
        and p_target = any (m.targets)
        and not exists (select from postrider.delivery_end(m.id, p_target))
        and not exists (
            select
            from postrider.deferred d
            where d.message_id = m.id
            and d.target = p_target
        )
    );
end;
$$;
