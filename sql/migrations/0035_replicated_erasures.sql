-- What was erased where a log was written is erased in the copy of it that logical replication keeps.

-- As before, and with what the other triggers have from is_replicating, which a migration does not call: rows that
-- another database has changed come as they are there.
create or replace function postrider.refuse_log_change()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, postrider, pg_temp
as $$
begin
    if exists (
        select
        from postrider.log_change c
        where c.xid = pg_current_xact_id_if_assigned()
    )
    then
        return new;
    end if;
    -- This session writes what another database has, and this is a copy of it, which delivers nothing.
    if current_setting('session_replication_role') = 'replica'
        and not exists (
            select
            from postrider.identity i
            where i.relation_oid = i.tableoid
            and i.database_oid = (select d.oid from pg_database d where d.datname = current_database())
        )
    then
        return new;
    end if;
    raise exception 'Message % cannot be changed: the log is append-only', old.id
        using errcode = 'P0001',
            hint = 'Cancel it with postrider.cancel_message, or send another one.';
end;
$$;
