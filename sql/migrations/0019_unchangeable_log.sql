-- Messages in the log cannot be changed, whoever asks: owner and superusers, too. Whatever has to (rebase_log)
-- says so by a row here, in the same transaction, and takes it away before the end of that. A table, because
-- a setting of the session anybody may set.
create table postrider.log_change (
    xid xid8 primary key default pg_current_xact_id()
);

-- Here and not among the functions that every migrate installs again: its trigger is made once, for that locks
-- the log against all who send. Partitions get it with the table that they become a part of.
create function postrider.refuse_log_change()
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
    raise exception 'Message % cannot be changed: the log is append-only', old.id
        using errcode = 'P0001',
            hint = 'Cancel it with postrider.cancel_message, or send another one.';
end;
$$;

create trigger refuse_change
before update on postrider.message
for each row execute function postrider.refuse_log_change();
-- Also where session_replication_role turns other triggers off.
alter table postrider.message enable always trigger refuse_change;
