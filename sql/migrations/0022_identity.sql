-- Which database this is: who has a copy of a log delivers nothing of it until somebody says so (adopt).

-- One row, written here and by adopt. Not in installation, which every migrate writes: whether the files were
-- copied or the rows shows in the row's own xmin.
create table postrider.identity (
    singleton boolean primary key default true check (singleton),
    -- Of the cluster; null where the role may not know it. pg_upgrade changes it.
    system_identifier bigint,
    -- Of the database and of this table: files that are copied keep both, rows that are copied get others.
    database_oid oid not null,
    relation_oid oid not null,
    -- The row's own xmin when it was written.
    mark xid,
    at timestamptz not null default clock_timestamp()
);

-- Sequence numbers that nobody was given and nobody will be, but for a few at the beginning: adopt went past them. Whoever walks over ids goes
-- round them, and nobody counts them as messages that wait.
create table postrider.number_gap (
    -- Behind the first, up to and with the second.
    after_number bigint primary key,
    last_number bigint not null check (last_number > after_number)
);

do $do$
declare
    cluster bigint;
begin
    -- By a statement of its own: permissions are checked before anything is decided.
    if has_function_privilege('pg_control_system()', 'execute') then
        execute 'select c.system_identifier from pg_control_system() c' into cluster;
    end if;
    insert into postrider.identity (system_identifier, database_oid, relation_oid)
    select cluster, d.oid, 'postrider.identity'::regclass
    from pg_database d
    where d.datname = current_database();
    -- The version that this writes is of the same transaction.
    update postrider.identity i set mark = i.xmin;
end;
$do$;

-- Its place took foreign_sign, which says what it has found.
do $do$
begin
    if to_regprocedure('postrider.is_foreign()') is not null then
        drop function postrider.is_foreign();
    end if;
end;
$do$;
